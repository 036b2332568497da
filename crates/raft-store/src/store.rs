//! A database with the logs, votes and states of many groups.

use crate::codec;
use crate::engine::{Change, Engine, Named, Patience, Whitewater};
use crate::error::{Error, Result};
use crate::keys::{self, LOG, META, Tag};
use crate::log::LogStore;
use crate::snapshot::directory;
use crate::snapshot::pending::Installs;
use crate::syncer::{SyncCounts, Syncer};
use openraft::RaftTypeConfig;
use serde::de::DeserializeOwned;
use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use tokio::sync::oneshot;
use tokio::task::spawn_blocking;
use whitewater::fs::Fs;
use whitewater::fs::os::OsFs;
use whitewater::{ExportImportFilesMetaData, ImportColumnFamilyOptions, Options};

/// The database of a node: logs, votes and states of all groups that the node is a member of.
/// Clones are the same database, which is closed when the last one is dropped, together with the
/// logs and state machines that came from it.
///
/// In the directory are `db`, the database, and `snapshots`, the tables of each group's snapshot.
pub struct Store<E: Engine = Whitewater> {
    shared: Arc<Shared<E>>,
}

impl<E: Engine> Clone for Store<E> {
    fn clone(&self) -> Self {
        Store {
            shared: self.shared.clone(),
        }
    }
}

/// What the clones of a store share.
pub(crate) struct Shared<E> {
    /// Before `engine`: it keeps that open.
    syncer: Syncer,
    pub engine: Arc<E>,
    pub fs: Arc<dyn Fs>,
    path: PathBuf,
    /// The names of all families.
    families: Mutex<BTreeSet<String>>,
    pub installs: Installs,
}

impl<E: Engine> Store<E> {
    /// Opens the store in the directory `path`, or creates it.
    ///
    /// # Errors
    /// The directory cannot be made, or the database cannot be opened.
    pub fn open(path: impl AsRef<Path>) -> Result<Self> {
        Self::open_with(path, E::Options::default())
    }

    /// [`open`](Self::open) with options of the database, which all families get. That missing
    /// ones are created is set here.
    ///
    /// # Errors
    /// As [`open`](Self::open); options that the engine refuses.
    pub fn open_with(path: impl AsRef<Path>, options: E::Options) -> Result<Self> {
        Self::open_on(Arc::new(OsFs), path.as_ref(), options)
    }

    fn open_on(fs: Arc<dyn Fs>, path: &Path, options: E::Options) -> Result<Self> {
        let db = path.join("db");
        fs.create_dir_all(&db)
            .map_err(|e| Error::because(format!("creation of {}", db.display()), e))?;
        let engine = Arc::new(E::open(&db, options, &["default", LOG, META])?);
        let shared = Shared {
            syncer: Syncer::start(engine.clone())?,
            families: Mutex::new(engine.families().iter().cloned().collect()),
            installs: Installs::default(),
            engine,
            fs,
            path: path.to_owned(),
        };
        Ok(Store {
            shared: Arc::new(shared),
        })
    }

    /// The log and the vote of `group`. Its clones read the log; only one node may write it.
    pub fn log<C: RaftTypeConfig>(&self, group: u64) -> LogStore<C, E> {
        LogStore::new(self.shared.clone(), group)
    }

    /// How many syncs there were since the store was opened, and how many writes shared them.
    pub fn sync_counts(&self) -> SyncCounts {
        self.shared.syncer.counts()
    }

    pub(crate) fn shared(&self) -> &Arc<Shared<E>> {
        &self.shared
    }
}

impl Store<Whitewater> {
    /// [`open_with`](Self::open_with) in a file system other than the operating system's, such as
    /// that of a test.
    ///
    /// # Errors
    /// As [`open_with`](Self::open_with).
    pub fn open_in(fs: Arc<dyn Fs>, path: impl AsRef<Path>, mut options: Options) -> Result<Self> {
        options.set_fs(fs.clone());
        Self::open_on(fs, path.as_ref(), options)
    }

    /// Removes all that there is of `group`, for a node that is no longer a member. Its log and
    /// state machine must not be in use. Waits for the disk. When it returns, all is gone; after
    /// an error, some of it may be, and the call can be repeated.
    ///
    /// # Errors
    /// Those of the database and of the file system.
    pub fn remove_group(&self, group: u64) -> Result<()> {
        let shared = &self.shared;
        let (from, until) = keys::range(group, &..);
        let mut changes = vec![(LOG.into(), Change::DeleteRange(from, until))];
        let records = Tag::ALL.map(|tag| Change::Delete(keys::meta(group, tag)));
        changes.extend(records.map(|change| (META.into(), change)));
        shared.engine.write(&changes, Patience::Waits)?;
        shared.engine.sync()?;
        for family in shared.state_families(group) {
            shared.drop_family(&family)?;
        }
        directory::remove_all(&*shared.fs, &shared.snapshots(group), &[])
    }
}

impl<E: Engine> Shared<E> {
    /// Makes `changes`. Does not keep the runtime's thread while the database is behind with
    /// flushes.
    pub async fn write(self: &Arc<Self>, changes: Vec<Named>) -> Result<()> {
        if !self.engine.write(&changes, Patience::GivesUp)? {
            let this = self.clone();
            blocking(move || this.engine.write(&changes, Patience::Waits)).await?;
        }
        Ok(())
    }

    /// Returns once all writes so far are durable.
    pub async fn sync(&self) -> Result<()> {
        let (sender, receiver) = oneshot::channel();
        self.when_durable(move |synced| {
            // If it fails, the receiver has gone.
            _ = sender.send(synced.map_err(|e| Error::new(e.to_string())));
        });
        receiver
            .await
            .map_err(|_| Error::new("the thread that syncs has ended"))?
    }

    /// Calls `done` once all writes so far are durable.
    pub fn when_durable(
        &self,
        done: impl FnOnce(std::result::Result<(), &Error>) + Send + 'static,
    ) {
        self.syncer.when_durable(done);
    }

    /// A small record of `group`.
    pub fn record<T: DeserializeOwned>(&self, group: u64, tag: Tag) -> Result<Option<T>> {
        let bytes = self.engine.get(META, &keys::meta(group, tag))?;
        bytes
            .map(|bytes| codec::decode(tag.name(), &bytes))
            .transpose()
    }

    /// The directory of the snapshots of `group`.
    pub fn snapshots(&self, group: u64) -> PathBuf {
        self.path.join("snapshots").join(group.to_string())
    }
}

impl<E> Shared<E> {
    fn families(&self) -> MutexGuard<'_, BTreeSet<String>> {
        // Names are put in and taken out in one step each.
        self.families.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Shared<Whitewater> {
    /// The families that have or had the state of `group`.
    pub fn state_families(&self, group: u64) -> Vec<String> {
        let prefix = keys::state_families(group);
        let families = self.families();
        let named = families
            .iter()
            .filter(|name| name.starts_with(&prefix))
            .cloned();
        named.collect()
    }

    /// Creates the family `name`, with `tables` that were exported, if there are any.
    pub fn create_family(&self, name: &str, tables: &ExportImportFilesMetaData) -> Result<()> {
        let created = if tables.get_files().is_empty() {
            self.engine.create(name)
        } else {
            let Whitewater { db, options, .. } = &*self.engine;
            let mut moving = ImportColumnFamilyOptions::new();
            moving.set_move_files(true);
            db.create_column_family_with_import(options, name, &moving, tables)
                .map_err(|e| Error::because("import of tables", e))
        };
        created.map_err(|e| e.within(format!("the column family {name}")))?;
        self.families().insert(name.to_owned());
        Ok(())
    }

    /// Drops the family `name`.
    pub fn drop_family(&self, name: &str) -> Result<()> {
        let dropped = self.engine.db.drop_cf(name);
        dropped.map_err(|e| Error::because(format!("drop of the column family {name}"), e))?;
        self.families().remove(name);
        Ok(())
    }
}

/// Runs `work` on a thread that may wait.
pub(crate) async fn blocking<T: Send + 'static>(
    work: impl FnOnce() -> Result<T> + Send + 'static,
) -> Result<T> {
    match spawn_blocking(work).await {
        Ok(result) => result,
        Err(e) => Err(Error::because("work that may wait did not end", e)),
    }
}
