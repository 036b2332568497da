//! The column family that has the state of a group.

use crate::codec;
use crate::engine::{Engine, Whitewater};
use crate::error::{Error, Result};
use crate::keys::{self, APPLIED, Tag};
use crate::snapshot::directory::{self, Directory};
use crate::snapshot::header::Tables;
use crate::store::Shared;
use openraft::{LogId, RaftTypeConfig, SnapshotMeta, StoredMembership};
use serde::{Deserialize, Serialize};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, PoisonError, RwLock};
use whitewater::checkpoint::Checkpoint;

/// What was applied last. In the state's family, so that it changes and moves together with that.
#[derive(Serialize, Deserialize)]
#[serde(bound = "")]
pub(crate) struct Applied<C: RaftTypeConfig> {
    pub log_id: Option<LogId<C::NodeId>>,
    pub membership: StoredMembership<C::NodeId, C::Node>,
}

impl<C: RaftTypeConfig> Default for Applied<C> {
    fn default() -> Self {
        Applied {
            log_id: None,
            membership: StoredMembership::default(),
        }
    }
}

/// The record of a group's snapshot.
#[derive(Serialize, Deserialize)]
#[serde(bound = "")]
pub(super) struct Record<C: RaftTypeConfig> {
    pub meta: SnapshotMeta<C::NodeId, C::Node>,
    /// The name of the directory that its tables are in.
    pub directory: String,
    pub tables: Tables,
}

/// The family of a group's state.
pub(crate) struct Family {
    shared: Arc<Shared<Whitewater>>,
    group: u64,
    /// Its name, which changes when a snapshot is installed. Held for reads of the family, so that
    /// a family in use is not dropped.
    name: RwLock<String>,
    /// The number of the next family or directory of this group. Whoever makes one takes it; it
    /// publishes nothing, so all operations are relaxed.
    next: AtomicU64,
}

impl Family {
    /// The family of `group`, which is created if it is not there. Removes what a crash has left
    /// of others, and directories of snapshots other than `keep`.
    pub fn open(
        shared: Arc<Shared<Whitewater>>,
        group: u64,
        keep: Option<&String>,
    ) -> Result<Self> {
        let recorded: Option<String> = shared.record(group, Tag::Family)?;
        let name = recorded.unwrap_or_else(|| keys::state_family(group, 0));
        let mut there = false;
        let mut next = 1;
        for family in shared.state_families(group) {
            next = next.max(1 + number(&family));
            if family == name {
                there = true;
            } else {
                // Imported, and not switched to; or switched from, and not dropped.
                shared.drop_family(&family)?;
            }
        }
        if !there {
            shared.create_family(&name, &Default::default())?;
        }
        next = next.max(1 + keep.map_or(0, |name| number(name)));
        let snapshots = shared.snapshots(group);
        let keep: Vec<String> = keep.into_iter().cloned().collect();
        directory::remove_all(&*shared.fs, &snapshots, &keep)?;
        Ok(Family {
            shared,
            group,
            name: RwLock::new(name),
            next: AtomicU64::new(next),
        })
    }

    pub fn shared(&self) -> &Arc<Shared<Whitewater>> {
        &self.shared
    }

    pub fn group(&self) -> u64 {
        self.group
    }

    /// Its name at the moment.
    pub fn name(&self) -> String {
        let name = self.name.read().unwrap_or_else(PoisonError::into_inner);
        name.clone()
    }

    /// The value of the application's `key`.
    pub fn get(&self, key: &[u8]) -> Result<Option<Vec<u8>>> {
        let name = self.name.read().unwrap_or_else(PoisonError::into_inner);
        (self.shared.engine).get(&name, &keys::of_application(key))
    }

    /// The application's keys from `from` on and before `until`, with their values, as long as
    /// `each` returns `true`.
    pub fn scan(
        &self,
        (from, until): (&[u8], &[u8]),
        each: &mut dyn FnMut(&[u8], &[u8]) -> bool,
    ) -> Result<()> {
        let bounds = (keys::of_application(from), keys::of_application(until));
        if bounds.0 >= bounds.1 {
            return Ok(());
        }
        let name = self.name.read().unwrap_or_else(PoisonError::into_inner);
        (self.shared.engine).scan(&name, bounds, &mut |key, value| Ok(each(&key[1..], value)))
    }

    /// What was applied last, according to the family called `name`.
    pub fn applied_of<C: RaftTypeConfig>(&self, name: &str) -> Result<Applied<C>> {
        let applied = self.shared.engine.get(name, APPLIED)?;
        let applied = applied.map(|bytes| codec::decode("what was applied last", &bytes));
        Ok(applied.transpose()?.unwrap_or_default())
    }

    /// What was applied last.
    pub fn applied<C: RaftTypeConfig>(&self) -> Result<Applied<C>> {
        self.applied_of(&self.name())
    }

    /// A directory for the tables of a snapshot, which does not exist yet.
    pub fn new_directory(&self) -> Result<Directory> {
        let snapshots = self.shared.snapshots(self.group);
        let fs = &self.shared.fs;
        fs.create_dir_all(&snapshots)
            .map_err(|e| Error::because("creation of a directory of snapshots", e))?;
        Ok(Directory::new(
            fs.clone(),
            snapshots.join(self.next().to_string()),
        ))
    }

    fn next(&self) -> u64 {
        self.next.fetch_add(1, Ordering::Relaxed)
    }

    /// Writes the memtables into tables, so that there is little to do for
    /// [`export`](Self::export). Waits for the disk.
    pub fn flush(&self) -> Result<()> {
        let engine = &self.shared.engine;
        let flushed = engine.db.flush_cf(&engine.family(&self.name())?);
        flushed.map_err(|e| Error::because("flush of the state", e))
    }

    /// Puts the tables of the state into a new directory. Waits for the disk.
    pub fn export(&self) -> Result<(Directory, Tables)> {
        let engine = &self.shared.engine;
        let family = engine.family(&self.name())?;
        let directory = self.new_directory()?;
        let exported = Checkpoint::new(&engine.db)
            .and_then(|checkpoint| checkpoint.export_column_family(&family, &directory.path));
        let failed = |e| Error::because("export of the state", e);
        let exported = exported.map_err(failed)?;
        let size = |name: &str| directory.fs.file_size(&directory.path.join(name));
        let files = exported.get_files().iter();
        let sizes = files.map(|file| size(file.name.trim_start_matches('/')));
        let sizes = sizes.collect::<std::result::Result<Vec<u64>, _>>();
        let tables = Tables::of_export(&exported, &sizes.map_err(failed)?);
        Ok((directory, tables))
    }

    /// Makes a family of the tables in `directory`, which stay there, and returns its name.
    /// Waits for the disk.
    pub fn import(&self, directory: &Directory, tables: &Tables) -> Result<String> {
        let name = keys::state_family(self.group, self.next());
        // The import takes files away, so it gets second names of them.
        let links = self.new_directory()?;
        let linked = (|| {
            links.fs.create_dir_all(&links.path)?;
            for table in &tables.tables {
                let (from, to) = (
                    directory.path.join(&table.name),
                    links.path.join(&table.name),
                );
                links.fs.link(&from, &to)?;
            }
            Ok(())
        })();
        linked.map_err(|e: whitewater::Error| Error::because("links of received tables", e))?;
        let import = tables.for_import(&links.path);
        self.shared.create_family(&name, &import)?;
        Ok(name)
    }

    /// Makes reads and writes go to the family `name`, and returns the name of the one before.
    pub fn switch(&self, name: String) -> String {
        let mut current = self.name.write().unwrap_or_else(PoisonError::into_inner);
        std::mem::replace(&mut *current, name)
    }
}

/// The number that the name of a family or directory ends with.
fn number(name: &str) -> u64 {
    let digits = name.rsplit('-').next().unwrap_or_default();
    digits.parse().unwrap_or_default()
}

/// Reads the state of a group, from [`StateMachine::state`](super::StateMachine::state). A read
/// sees what this node has applied; it is linearizable after
/// [`Raft::ensure_linearizable`](openraft::Raft::ensure_linearizable).
#[derive(Clone)]
pub struct State {
    family: Arc<Family>,
}

impl State {
    pub(super) fn new(family: Arc<Family>) -> Self {
        State { family }
    }

    /// The value of `key`.
    ///
    /// # Errors
    /// Those of the database.
    pub fn get(&self, key: &[u8]) -> Result<Option<Vec<u8>>> {
        self.family.get(key)
    }

    /// Calls `each` for the keys from `from` on and before `until`, in order, with their values,
    /// as long as it returns `true`. All are as they were at one moment.
    ///
    /// # Errors
    /// Those of the database.
    pub fn scan(
        &self,
        from: &[u8],
        until: &[u8],
        mut each: impl FnMut(&[u8], &[u8]) -> bool,
    ) -> Result<()> {
        self.family.scan((from, until), &mut each)
    }
}
