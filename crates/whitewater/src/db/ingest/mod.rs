//! Ingesting tables that were made outside the database.
//!
//! 1. *Inspect* the tables, and give them file names of the database: by hard links when
//!    they are moved, by copies otherwise. The tables and their names are durable before
//!    anything refers to them.
//! 2. *Keep writers out*: the current generation is closed, and all writers with a place in
//!    it are waited for. Readers continue.
//! 3. *Flush* memtables with keys in the tables' ranges, because a memtable is read before
//!    any table. The caller's thread does this: flush threads may be waiting for the right
//!    to switch. They leave the column family alone meanwhile (with atomic flushes, all
//!    column families), so that the caller is told of a failure instead of waiting until a
//!    flush thread has tried again.
//! 4. *Place* each table as deep as possible (`external::place`), under the numbers that
//!    follow the last write's. No automatic or manual compaction of the column family
//!    begins meanwhile, so ranges that were found free stay free.
//! 5. *Record* all tables in one edit of the manifest. The log up to here is made durable
//!    before, so that a power cut does not keep the tables and lose writes before them.
//! 6. *Show* them: the version that has them is installed together with a new memtable,
//!    then their numbers are published, and then writers continue in a generation above
//!    them.
//!
//! Tables that are ingested *behind* are older than everything in the column family: they
//! go to the last level with the number 0, and no memtable is flushed for them.
//!
//! Invariants:
//! * G1: no reader sees a later write without the tables. A reader that has the version
//!   without them has the memtable before, which no thread writes to now (V1 of
//!   `column_family`), so it sees only what came before them.
//! * G2: their numbers belong to no write: writers are kept out when the numbers are taken,
//!   and the next generation begins above them (T3 of `write::generation`).
//! * G3: a call that fails leaves nothing but files that no version names, and removes
//!   those. After a failed manifest write, which stops the database, they stay as long as
//!   some manifest may name them.
//! * G4: no job rewrites them before their numbers are visible, as S1 of `snapshots` wants it. A
//!   snapshot that is taken between 5 and 6 does not see them, and a compaction might miss it and
//!   drop what they hide. So no compaction of the column family begins before all of 6 is done,
//!   and no flush takes the new memtable.
//!
//! In a database with optimistic transactions, none validates or writes meanwhile (O1 of
//! `db::validation`).
//!
//! `incoming` has tables with a name and no place yet, `entrance` what is done while
//! writers are kept out.

mod entrance;
mod incoming;

pub(super) use incoming::{Incoming, copy};

use super::Engine;
use super::switch::NextLog;
use super::switch_guard::Gap;
use crate::column_family::ColumnFamilyData;
use crate::external::candidate::Candidate;
use crate::listener::FlushReason;
use crate::panics::{Guarded, caught};
use crate::trace;
use crate::write::generation::End;
use entrance::Entrance;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use whitewater_concurrent::system;
use whitewater_storage::{Error, ErrorKind, Result};

/// How tables are ingested; RocksDB's names.
#[derive(Debug, Clone, Copy)]
pub(crate) struct IngestSpec {
    pub move_files: bool,
    pub snapshot_consistency: bool,
    pub allow_global_seqno: bool,
    pub allow_blocking_flush: bool,
    pub ingest_behind: bool,
}

impl Default for IngestSpec {
    fn default() -> Self {
        IngestSpec {
            move_files: false,
            snapshot_consistency: true,
            allow_global_seqno: true,
            allow_blocking_flush: true,
            ingest_behind: false,
        }
    }
}

impl Engine {
    /// Ingests the tables at `paths` into `cf`, all of them or none. Later tables are newer
    /// than earlier ones.
    ///
    /// # Errors
    /// `InvalidArgument` for tables that cannot be ingested as requested; errors of the
    /// file system. Nothing has changed then.
    pub fn ingest(
        self: &Arc<Self>,
        cf: &Arc<ColumnFamilyData>,
        paths: &[PathBuf],
        spec: IngestSpec,
    ) -> Result<()> {
        let _span = trace::ingestion(&self.files.dir, &cf.name, paths.len());
        let start = system::now();
        if paths.is_empty() {
            return Err(Error::invalid("The list of files is empty"));
        }
        if spec.ingest_behind {
            check_behind_allowed(cf)?;
        }
        Self::check_healthy(&self.lock_state())?;
        let look = |path: &PathBuf| Candidate::open(&*self.files.fs, path, &cf.comparator);
        let mut candidates: Vec<_> = paths.iter().map(look).collect::<Result<_>>()?;
        for candidate in &mut candidates {
            let kind = self.options.file_checksum_gen_factory;
            candidate.file_checksum = kind.of(&*self.files.fs, &candidate.path)?;
        }
        let outside = candidates.iter().map(|c| (&*c.path, c));
        let incoming = Incoming::bring(self, cf.paths.first(), outside, spec.move_files)?;
        let mut obsolete_logs = None;
        // Numbers of 0 or of the last write's may make keys visible (E3 of `empty_ranges`).
        let suspended = self.commit.empty_ranges.suspend();
        let outcome = self.let_in(cf, incoming, spec, &mut obsolete_logs);
        drop(suspended);
        // This must not be done while writers are kept out.
        if let Some(below) = obsolete_logs {
            self.purge_obsolete_logs(below);
        }
        self.background.look_again();
        self.log_stalls();
        self.purge_obsolete_files();
        let levels = outcome?;
        if spec.move_files {
            self.remove_sources(paths.iter().map(|path| &**path));
        }
        self.info_log.write(&format!(
            "[{}] Ingested {} tables into levels {levels:?} in {} us",
            cf.name,
            paths.len(),
            system::since(start).as_micros()
        ));
        Ok(())
    }

    /// Removes the original names of tables that were moved. A name that cannot be removed
    /// does no harm.
    pub(super) fn remove_sources<'a>(&self, paths: impl Iterator<Item = &'a Path>) {
        for path in paths {
            if let Err(e) = self.files.fs.remove(path) {
                self.info_log.write(&format!(
                    "removing {} failed, which was moved: {e}",
                    path.display()
                ));
            }
        }
    }

    /// Keeps writers out while the tables are ingested; returns their levels.
    // Long: the steps of an ingestion and what each failure undoes.
    fn let_in(
        self: &Arc<Self>,
        cf: &Arc<ColumnFamilyData>,
        incoming: Incoming<'_>,
        spec: IngestSpec,
        obsolete_logs: &mut Option<u64>,
    ) -> Result<Vec<usize>> {
        let _apart = self.keep_transactions_out();
        let switching = self.switching()?;
        Self::check_healthy(&self.lock_state())?;
        let mem = {
            let state = self.lock_state();
            let cf = state.cfs.get(&cf.id).ok_or_else(|| dropped(cf))?;
            cf.mem.clone()
        };
        let before = self.commit.generations.load_full();
        let mut log = if mem.is_empty() {
            NextLog::Same(before.wal.clone())
        } else {
            self.next_log(&before)?
        };
        // One memtable is installed with the tables, and one is for readers while older
        // ones are flushed. With atomic flushes, the other column families get new
        // memtables, too, whatever this memtable holds now: parts of a batch may yet come
        // into it and into theirs.
        let mut ids = vec![cf.id, cf.id];
        let others = self.with_others(vec![cf.id]);
        ids.extend(others.into_iter().filter(|&id| id != cf.id));
        let fresh = self.fresh_memtables(&ids, log.segment().log_number());
        let mut gap = Gap::new(self);
        let begun = gap.begin(&before);
        let end = begun.inspect_err(|_| log.discard(&self.commit.wal))?;
        let waited = self.await_inserted(end.last);
        waited.inspect_err(|_| log.discard(&self.commit.wal))?;
        let full = !mem.is_empty();
        if full && matches!(log, NextLog::Same(_)) && end.offset > before.start() {
            // Upholds S5 of `switch`.
            log = self.new_log()?;
            let number = log.segment().log_number();
            fresh.iter().for_each(|(_, m)| m.advance_wal_number(number));
        }
        let start = self.continue_in(&log, &before, end)?;
        fresh.iter().for_each(|(_, m)| m.begin_after(end.last));
        let mut fresh = fresh.into_iter();
        let next = fresh.next().map(|(_, next)| next);
        {
            let mut state = self.lock_state();
            for (id, interim) in fresh.filter(|_| full) {
                if let Some(cf) = state.cfs.get_mut(&id) {
                    let full = std::mem::replace(&mut cf.mem, interim);
                    full.retire(end.last);
                    self.observers.note_sealed(&cf.data, &full);
                    cf.add_retired(full, FlushReason::ExternalFileIngestion);
                    cf.publish();
                }
            }
            let cf = state.cfs.get_mut(&cf.id).ok_or_else(|| dropped(cf))?;
            cf.ingesting = true;
        }
        drop(mem);
        let entrance = Entrance {
            engine: self,
            cf,
            spec,
            last: end.last,
        };
        let outcome = caught(Guarded::Job, || {
            entrance.admit(incoming, next, obsolete_logs)
        });
        // Writers continue, whatever the outcome: above the tables' numbers, or where they
        // were.
        let (levels, last) = match outcome {
            Ok((levels, last)) => (Ok(levels), last),
            Err(e) => (Err(e), end.last),
        };
        let mut state = self.lock_state();
        if let Some(cf) = state.cfs.get_mut(&cf.id) {
            cf.ingesting = false;
        }
        self.commit
            .settle_empty(&state, end.last, log.segment().log_number());
        self.install(&state, log.segment(), start, End { last, ..end });
        gap.end();
        self.recompute_stall(&mut state, [cf.id]);
        drop(state);
        if let NextLog::New(_) = log {
            self.trim(&before.wal, end.offset);
        }
        drop(switching);
        levels
    }
}

/// Refuses to ingest tables into `cf` behind its data, if that is not allowed.
fn check_behind_allowed(cf: &ColumnFamilyData) -> Result<()> {
    let options = cf.options();
    if cf.comparator.user.timestamp_size() > 0 {
        return Err(Error::not_supported(
            "Column family with user-defined timestamps enabled doesn't support ingest behind.",
        ));
    }
    if !options.keeps_last_level_free {
        return Err(Error::invalid(
            "Can't ingest_behind file in DB with allow_ingest_behind=false",
        ));
    }
    if options.reserves_last_level() {
        Ok(())
    } else {
        Err(Error::not_supported(
            "ingest_behind: FIFO compaction has no level below the others",
        ))
    }
}

fn dropped(cf: &ColumnFamilyData) -> Error {
    Error::new(
        ErrorKind::ColumnFamilyDropped,
        format_args!("column family {}", cf.name),
    )
}
