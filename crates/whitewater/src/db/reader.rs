//! An engine that only reads what another one writes or has written.
//!
//! It is an [`Engine`] like any other, with these exceptions:
//!
//! * R1: it has no lock, no background threads and no part of a memory budget, and it
//!   creates, changes and removes no file of the database. Its log is on an in-memory file
//!   system of its own, and is never written to.
//! * R2: it is stopped from the beginning ([`Failure::refuse`]). This refuses writes,
//!   flushes, compactions and changes of column families, and keeps obsolete files.
//! * R3: the manifest and the logs that it reads belong together, although another engine
//!   may write and delete them meanwhile. Logs are deleted, and their names used again,
//!   only after the manifest has grown. So if the manifest, once all logs are open, is as
//!   long as it was before it was read, no log was missing.
//!
//! [`Failure::refuse`]: super::failure::Failure::refuse

use super::Engine;
use super::open::Opening;
use super::secondary::Follower;
use super::state::{CfState, DbState};
use crate::column_family::ColumnFamilyData;
use crate::column_family::SharedByReaders;
use crate::memtable::{Home, Memtable};
use crate::options::CfOptions;
use crate::session_id::new_session_id;
use crate::version::set::{CfVersion, Recovered};
use crate::write::generation::End;
use crate::write::wal::{Wal, WalOptions};
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;
use whitewater_storage::fs::mem::MemFs;
use whitewater_storage::fs::{Fs, SharedOptions};
use whitewater_storage::key::SequenceNumber;
use whitewater_storage::manifest::read_current;
use whitewater_storage::wal::Segment;
use whitewater_storage::{Error, Result};

/// How long a database that is being written is read again each time its writer has changed
/// it during the read, before the reader gives up. The manifest may grow for each of
/// hundreds of tables that compactions only move.
pub(super) const PATIENCE: Duration = Duration::from_secs(10);

/// The pause before the next attempt, in which the writer can finish.
pub(super) const PAUSE: Duration = Duration::from_millis(1);

/// What an engine does with the files of its database.
#[derive(Debug)]
pub(super) enum Role {
    /// It writes the files.
    Primary,
    /// It has read the files once.
    ReadOnly,
    /// It reads what another engine writes, as far as it has caught up.
    Secondary(Box<Follower>),
}

/// The manifest in force and its length in bytes.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct ManifestStamp(PathBuf, u64);

impl ManifestStamp {
    /// Returns what is in force in `dir` now.
    ///
    /// # Errors
    /// Errors of reading CURRENT and the manifest that it names.
    pub fn take(fs: &dyn Fs, dir: &Path) -> Result<Self> {
        let mut path = read_current(fs, dir)?;
        loop {
            match fs.file_size(&path) {
                Ok(size) => return Ok(ManifestStamp(path, size)),
                Err(e) => {
                    // Perhaps another manifest was put in force, and this one deleted.
                    let now = read_current(fs, dir)?;
                    if !e.is_missing_file() || now == path {
                        return Err(e);
                    }
                    path = now;
                }
            }
        }
    }
}

impl Role {
    /// The error for anything that would change the database.
    fn refusal(&self) -> Option<Error> {
        let mode = match self {
            Role::Primary => return None,
            Role::ReadOnly => "read only",
            Role::Secondary(_) => "secondary",
        };
        Some(Error::not_supported(format_args!(
            "Not supported operation in {mode} mode."
        )))
    }
}

impl Opening<'_> {
    /// Makes the engine of an opener that only reads `recovered` and `memtables` (by column
    /// family, oldest first).
    ///
    /// # Errors
    /// `Corruption` when there is no default column family.
    pub(super) fn into_reader(
        self,
        recovered: &Recovered,
        memtables: BTreeMap<u32, Vec<Arc<Memtable>>>,
        last: SequenceNumber,
        role: Role,
    ) -> Result<Arc<Engine>> {
        let (wal, log) = no_log()?;
        let mut state = DbState::default();
        let mut memtables = memtables;
        let tables = self.table_cache(&new_session_id());
        for cf in recovered.column_families.values() {
            let replayed = memtables.remove(&cf.id).unwrap_or_default();
            let family = self.family(cf, replayed, state.shared_by_readers(&tables));
            state.cfs.insert(cf.id, family);
        }
        if let Some(refusal) = role.refusal() {
            state.failure.refuse(refusal);
        }
        let default_cf =
            state.cfs.get(&0).map(|cf| cf.data.clone()).ok_or_else(|| {
                Error::corruption("the manifest dropped the default column family")
            })?;
        let end = End { last, offset: 0 };
        let engine = self.into_engine(state, wal, default_cf, tables, (log, end), None, role);
        // F2 of `failure`: every writer meets the refusal, and no writer is stalled.
        engine.commit.ask_for_attention();
        engine.commit.let_writers_through(true);
        Ok(engine)
    }

    fn family(
        &self,
        cf: &CfVersion,
        mut memtables: Vec<Arc<Memtable>>,
        shared: SharedByReaders,
    ) -> CfState {
        let options = self.wanted[&cf.name].clone();
        let active = memtables.pop();
        let active = active.unwrap_or_else(|| empty_memtable(&cf.name, &options));
        let (version, name) = (cf.current.clone(), cf.name.clone());
        let data = ColumnFamilyData::new(
            cf.id,
            name,
            options,
            active.clone(),
            version.clone(),
            shared,
        );
        let mut state = CfState::new(data, active, version);
        state.imm = memtables;
        state.publish();
        state
    }
}

/// A memtable that stays empty.
pub(super) fn empty_memtable(family: &str, options: &CfOptions) -> Arc<Memtable> {
    let home = Home {
        family,
        budget_client: None,
    };
    Memtable::new(options, home, 0, 0)
}

/// A log that is never written to, since an engine must have one.
fn no_log() -> Result<(Wal, Arc<Segment>)> {
    let fs = MemFs::new();
    let dir = Path::new("/log");
    fs.create_dir_all(dir)?;
    let options = WalOptions {
        recycle_limit: 0,
        expected: 0,
        shared: SharedOptions::default(),
        manual_flush: false,
        bytes_per_sync: 0,
        compressed: false,
    };
    let wal = Wal::new(Arc::new(fs), dir.to_path_buf(), options);
    let log = wal.create(1)?;
    Ok((wal, log))
}

impl Engine {
    /// Refuses operations that only a writer of the database can do.
    ///
    /// # Errors
    /// `NotSupported` from an engine that only reads.
    pub(crate) fn check_writer(&self) -> Result<()> {
        self.role.refusal().map_or(Ok(()), Err)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
    use whitewater_storage::filename;
    use whitewater_storage::manifest::set_current;

    /// A writer puts one manifest after the other in force.
    #[test]
    fn a_manifest_may_be_replaced_while_it_is_looked_at() {
        let (fs, dir) = (MemFs::new(), Path::new("/db"));
        fs.create_dir_all(dir).unwrap();
        let roll = |number: u64| {
            drop(fs.create(&filename::manifest(dir, number)).unwrap());
            set_current(&fs, dir, number).unwrap();
        };
        roll(1);
        let done = AtomicBool::new(false);
        std::thread::scope(|scope| {
            scope.spawn(|| {
                for number in 2.. {
                    roll(number);
                    fs.remove(&filename::manifest(dir, number - 1)).unwrap();
                    if done.load(Relaxed) {
                        break;
                    }
                }
            });
            let taken = (0..2_000).try_for_each(|_| ManifestStamp::take(&fs, dir).map(drop));
            done.store(true, Relaxed);
            taken.unwrap();
        });
        fs.remove(&read_current(&fs, dir).unwrap()).unwrap();
        let e = ManifestStamp::take(&fs, dir).unwrap_err();
        assert!(e.is_missing_file(), "{e}");
    }
}
