//! openraft's state machine and snapshot builder.

use super::application::{Application, View};
use super::family::{Applied, Family, Record, State};
use crate::codec;
use crate::engine::{Change, Named, Whitewater};
use crate::error::{Cause, Error, Result, fatal};
use crate::keys::{self, APPLIED, META, Tag};
use crate::snapshot::SnapshotFiles;
use crate::snapshot::directory::Directory;
use crate::snapshot::header::Tables;
use crate::store::{Store, blocking};
use openraft::storage::RaftStateMachine;
use openraft::{
    Entry, EntryPayload, ErrorSubject, ErrorVerb, LogId, OptionalSend, RaftSnapshotBuilder,
    RaftTypeConfig, Snapshot, SnapshotMeta, StorageError, StoredMembership,
};
use std::sync::{Arc, Mutex, PoisonError};
use uuid::Uuid;

/// The state machine of a group, from [`Store::state_machine`].
pub struct StateMachine<C: RaftTypeConfig, A> {
    machine: Arc<Machine<C>>,
    application: A,
}

/// Builds snapshots of a [`StateMachine`].
pub struct SnapshotBuilder<C: RaftTypeConfig> {
    machine: Arc<Machine<C>>,
}

/// What the state machine and its builders share.
struct Machine<C: RaftTypeConfig> {
    family: Arc<Family>,
    /// Held while the state is written, exported or replaced.
    turn: tokio::sync::Mutex<()>,
    snapshot: Mutex<Option<Arc<Current<C>>>>,
}

/// The current snapshot.
struct Current<C: RaftTypeConfig> {
    meta: SnapshotMeta<C::NodeId, C::Node>,
    directory: Arc<Directory>,
    tables: Tables,
}

type Answer<C, T> = std::result::Result<T, StorageError<<C as RaftTypeConfig>::NodeId>>;

impl Store<Whitewater> {
    /// The state machine of `group`, whose requests `application` applies. One per group and node
    /// at a time. Removes what a crash has left of snapshots and unfinished installations.
    ///
    /// # Errors
    /// Those of the database and of the file system; a damaged record.
    pub fn state_machine<C: RaftTypeConfig, A: Application<C>>(
        &self,
        group: u64,
        application: A,
    ) -> std::result::Result<StateMachine<C, A>, Error> {
        let shared = self.shared();
        let record: Option<Record<C>> = shared.record(group, Tag::Snapshot)?;
        // The record may be older than the last directory, and that of the record be gone.
        let there = |record: &Record<C>| {
            let path = shared.snapshots(group).join(&record.directory);
            let mut tables = record.tables.tables.iter();
            tables.all(|table| {
                let size = shared.fs.file_size(&path.join(&table.name));
                size.is_ok_and(|size| size == table.size)
            })
        };
        let record = record.filter(there);
        let kept = record.as_ref().map(|record| &record.directory);
        let family = Arc::new(Family::open(shared.clone(), group, kept)?);
        let snapshot = record.map(|record| {
            let path = shared.snapshots(group).join(&record.directory);
            let directory = Directory::new(shared.fs.clone(), path);
            directory.stay(true);
            Arc::new(Current {
                meta: record.meta,
                directory: Arc::new(directory),
                tables: record.tables,
            })
        });
        let machine = Machine {
            family,
            turn: tokio::sync::Mutex::new(()),
            snapshot: Mutex::new(snapshot),
        };
        Ok(StateMachine {
            machine: Arc::new(machine),
            application,
        })
    }
}

impl<C: RaftTypeConfig<Entry = Entry<C>>, A: Application<C>> StateMachine<C, A> {
    /// Reads the state. To be taken before openraft gets the state machine.
    pub fn state(&self) -> State {
        State::new(self.machine.family.clone())
    }

    async fn apply_all(&self, entries: Vec<Entry<C>>) -> Result<Vec<C::R>> {
        let _turn = self.machine.turn.lock().await;
        let family = &*self.machine.family;
        let name = family.name();
        let mut applied: Applied<C> = family.applied_of(&name)?;
        let mut answers = Vec::with_capacity(entries.len());
        let mut view = View::new(family);
        for entry in entries {
            let index = entry.log_id.index;
            answers.push(match entry.payload {
                EntryPayload::Blank => self.application.no_request(),
                EntryPayload::Normal(request) => self
                    .application
                    .apply(request, &mut view)
                    .map_err(|e: Cause| {
                        Error::because(format!("application of entry {index}"), e)
                    })?,
                EntryPayload::Membership(membership) => {
                    let log_id = Some(entry.log_id.clone());
                    applied.membership = StoredMembership::new(log_id, membership);
                    self.application.no_request()
                }
            });
            applied.log_id = Some(entry.log_id);
        }
        let mut changes = view.into_changes(&name);
        let applied = Change::Put(APPLIED.to_vec(), codec::encode(&applied)?);
        changes.push((name.into(), applied));
        family.shared().write(changes).await?;
        Ok(answers)
    }
}

impl<C: RaftTypeConfig<Entry = Entry<C>>> Machine<C> {
    fn group(&self) -> u64 {
        self.family.group()
    }

    /// The change that records a snapshot, and the snapshot.
    fn current(
        &self,
        meta: SnapshotMeta<C::NodeId, C::Node>,
        directory: Arc<Directory>,
        tables: Tables,
    ) -> Result<(Named, Arc<Current<C>>)> {
        let name = directory.path.file_name().unwrap_or_default();
        let record: Record<C> = Record {
            meta,
            directory: name.to_string_lossy().into_owned(),
            tables,
        };
        let key = keys::meta(self.group(), Tag::Snapshot);
        let change = (META.into(), Change::Put(key, codec::encode(&record)?));
        let current = Current {
            meta: record.meta,
            directory,
            tables: record.tables,
        };
        Ok((change, Arc::new(current)))
    }

    /// Makes `current` the snapshot, and lets the one before it go when its last reader is done.
    fn replace(&self, current: Arc<Current<C>>) {
        current.directory.stay(true);
        let mut snapshot = self.snapshot.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(before) = snapshot.replace(current) {
            before.directory.stay(false);
        }
    }

    async fn build(&self) -> Result<Arc<Current<C>>> {
        let family = self.family.clone();
        // Most of the memtable goes to tables before appliers have to wait. If this fails, because
        // a snapshot was installed meanwhile or for good, the export finds out.
        _ = blocking(move || family.flush()).await;
        let _turn = self.turn.lock().await;
        let applied: Applied<C> = self.family.applied()?;
        let family = self.family.clone();
        let (directory, tables) = blocking(move || family.export()).await?;
        let log_id = applied.log_id.as_ref().map(LogId::to_string);
        let meta = SnapshotMeta {
            last_membership: applied.membership,
            snapshot_id: format!("{}-{}", log_id.unwrap_or_default(), Uuid::new_v4()),
            last_log_id: applied.log_id,
        };
        let (change, current) = self.current(meta, Arc::new(directory), tables)?;
        // Not synced: without the record, the state is there all the same, and so is the log, which
        // is purged after this.
        self.family.shared().write(vec![change]).await?;
        self.replace(current.clone());
        Ok(current)
    }

    async fn install(
        &self,
        meta: &SnapshotMeta<C::NodeId, C::Node>,
        mut files: SnapshotFiles,
    ) -> Result<()> {
        // A purge of what the snapshot replaces waits until this is dropped.
        let (installs, group) = (&self.family.shared().installs, self.group());
        let pending = files.take_pending();
        let _pending = pending.unwrap_or_else(|| installs.begin(group));
        let _turn = self.turn.lock().await;
        let family = self.family.clone();
        let (directory, tables, name) = blocking(move || {
            let (directory, tables) = files.finish(family.new_directory()?)?;
            let name = family.import(&directory, &tables)?;
            Ok((directory, tables, name))
        })
        .await?;
        let shared = self.family.shared().clone();
        let applied: Applied<C> = self.family.applied_of(&name)?;
        if applied.log_id != meta.last_log_id {
            shared.drop_family(&name)?;
            return Err(Error::new(format!(
                "the snapshot {} has the state of {:?}, not of {:?}",
                meta.snapshot_id, applied.log_id, meta.last_log_id
            )));
        }
        let (record, current) = self.current(meta.clone(), directory, tables)?;
        let key = keys::meta(self.group(), Tag::Family);
        let switch = (META.into(), Change::Put(key, codec::encode(&name)?));
        shared.write(vec![switch, record]).await?;
        // Before the family that it replaces is dropped.
        shared.sync().await?;
        let before = self.family.switch(name);
        self.replace(current);
        blocking(move || shared.drop_family(&before)).await
    }
}

impl<C: RaftTypeConfig<SnapshotData = SnapshotFiles>> Current<C> {
    /// As openraft wants it.
    fn to_snapshot(&self) -> Result<Snapshot<C>> {
        let files = SnapshotFiles::outgoing(self.directory.clone(), self.tables.clone())?;
        Ok(Snapshot {
            meta: self.meta.clone(),
            snapshot: Box::new(files),
        })
    }
}

impl<C, A> RaftStateMachine<C> for StateMachine<C, A>
where
    C: RaftTypeConfig<Entry = Entry<C>, SnapshotData = SnapshotFiles>,
    A: Application<C>,
{
    type SnapshotBuilder = SnapshotBuilder<C>;

    async fn applied_state(
        &mut self,
    ) -> Answer<
        C,
        (
            Option<LogId<C::NodeId>>,
            StoredMembership<C::NodeId, C::Node>,
        ),
    > {
        let applied: Result<Applied<C>> = self.machine.family.applied();
        let applied = applied.map_err(fatal(
            self.machine.group(),
            ErrorSubject::StateMachine,
            ErrorVerb::Read,
        ))?;
        Ok((applied.log_id, applied.membership))
    }

    async fn apply<I>(&mut self, entries: I) -> Answer<C, Vec<C::R>>
    where
        I: IntoIterator<Item = Entry<C>> + OptionalSend,
        I::IntoIter: OptionalSend,
    {
        let applied = self.apply_all(entries.into_iter().collect()).await;
        applied.map_err(fatal(
            self.machine.group(),
            ErrorSubject::StateMachine,
            ErrorVerb::Write,
        ))
    }

    async fn get_snapshot_builder(&mut self) -> SnapshotBuilder<C> {
        SnapshotBuilder {
            machine: self.machine.clone(),
        }
    }

    async fn begin_receiving_snapshot(&mut self) -> Answer<C, Box<SnapshotFiles>> {
        let directory = self.machine.family.new_directory();
        let subject = ErrorSubject::Snapshot(None);
        let directory =
            directory.map_err(fatal(self.machine.group(), subject, ErrorVerb::Write))?;
        let installs = self.machine.family.shared().installs.clone();
        let group = self.machine.group();
        let files = SnapshotFiles::incoming(directory, installs, group);
        Ok(Box::new(files))
    }

    async fn install_snapshot(
        &mut self,
        meta: &SnapshotMeta<C::NodeId, C::Node>,
        snapshot: Box<SnapshotFiles>,
    ) -> Answer<C, ()> {
        let subject = ErrorSubject::Snapshot(Some(meta.signature()));
        let installed = self.machine.install(meta, *snapshot).await;
        installed.map_err(fatal(self.machine.group(), subject, ErrorVerb::Write))
    }

    async fn get_current_snapshot(&mut self) -> Answer<C, Option<Snapshot<C>>> {
        let snapshot = &self.machine.snapshot;
        let current = (snapshot.lock().unwrap_or_else(PoisonError::into_inner)).clone();
        let snapshot = current.map(|current| current.to_snapshot()).transpose();
        let subject = ErrorSubject::Snapshot(None);
        snapshot.map_err(fatal(self.machine.group(), subject, ErrorVerb::Read))
    }
}

impl<C> RaftSnapshotBuilder<C> for SnapshotBuilder<C>
where
    C: RaftTypeConfig<Entry = Entry<C>, SnapshotData = SnapshotFiles>,
{
    async fn build_snapshot(&mut self) -> Answer<C, Snapshot<C>> {
        let built = self.machine.build().await;
        built
            .and_then(|current| current.to_snapshot())
            .map_err(fatal(
                self.machine.group(),
                ErrorSubject::Snapshot(None),
                ErrorVerb::Write,
            ))
    }
}
