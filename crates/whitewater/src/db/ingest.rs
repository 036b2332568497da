//! Bringing tables into the database that were made outside.
//!
//! 1. *Look* at the tables, and give them names of the database's own: by hard
//!    links when they are moved, by copies otherwise. They are durable, and so
//!    are their names, before anything refers to them.
//! 2. *Keep writers out*: the current generation is closed, and all that have a
//!    place in it are waited for. Readers go on.
//! 3. *Flush* memtables with keys in the tables' ranges, for a memtable is read
//!    before any table. The caller's thread does it: flush threads may be
//!    waiting for the right to switch.
//! 4. *Place* each table as deep as it can go (`external::place`), under the
//!    numbers that follow the last write's. No automatic or manual compaction of
//!    the column family begins meanwhile, so what was found to be free stays so.
//! 5. *Record* all of them in one edit of the manifest; the log up to here is
//!    durable before, so that a power cut does not keep the tables and lose
//!    writes before them.
//! 6. *Show* them: the version that has them is installed together with a new
//!    memtable, then their numbers are published, and then writers go on in a
//!    generation behind them.
//!
//! Tables that are ingested *behind* are older than all that is there: they go
//! to the last level with the number 0, and no memtable is flushed for them.
//!
//! Invariants:
//! * G1: nobody reads a later write without the tables. A reader who has the
//!   version without them has the memtable before, which nobody writes to any
//!   more (V1 of `db::cf`), so it ends at what came before them.
//! * G2: their numbers were given to no write: writers are out when they are
//!   taken, and the next generation begins behind them (T3 of
//!   `write::generation`).
//! * G3: a call that fails leaves nothing but files that no version names, and
//!   removes those; after a failed manifest write, which stops the database,
//!   they stay as long as some manifest may name them.

use super::Engine;
use super::cf::ColumnFamilyData;
use super::failure::Source;
use super::gap::Gap;
use super::internal_stats::Ingested;
use super::switch::NextLog;
use crate::compact::output::unix_seconds;
use crate::external::candidate::Candidate;
use crate::external::place::{Placed, check_behind, place};
use crate::jobs;
use crate::listener::ExternalFileIngestionInfo;
use crate::listener::queue::Happened;
use crate::memtable::Memtable;
use crate::trace;
use crate::version::range::KeyRange;
use crate::write::CommitEnv;
use crate::write::generation::End;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Instant;
use whitewater_storage::fs::Fs;
use whitewater_storage::key::{MAX_SEQUENCE, SequenceNumber, seek_key, user_key};
use whitewater_storage::manifest::{FileMetaData, VersionEdit};
use whitewater_storage::{Error, ErrorKind, Result, filename};

/// How tables are brought in. RocksDB's names.
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

/// RocksDB's epoch number of tables that came in behind: older than all others.
const BEHIND: u64 = 1;

/// Bytes copied at a time.
const CHUNK: usize = 256 << 10;

impl Engine {
    /// Brings the tables at `paths` into `cf`, later ones newer than earlier
    /// ones, all of them or none.
    ///
    /// # Errors
    /// `InvalidArgument` for tables that cannot come in as asked; those of the
    /// file system. Nothing has changed then.
    pub fn ingest(
        self: &Arc<Self>,
        cf: &Arc<ColumnFamilyData>,
        paths: &[PathBuf],
        spec: IngestSpec,
    ) -> Result<()> {
        let _span = trace::ingestion(&self.dir, &cf.name, paths.len());
        let start = Instant::now();
        if paths.is_empty() {
            return Err(Error::invalid("The list of files is empty"));
        }
        if spec.ingest_behind {
            check_behind_allowed(cf)?;
        }
        Self::check_healthy(&self.lock_state())?;
        let look = |path: &PathBuf| Candidate::open(&*self.fs, path, &cf.comparator);
        let candidates: Vec<_> = paths.iter().map(look).collect::<Result<_>>()?;
        let incoming = Incoming::bring(self, &candidates, spec.move_files)?;
        let mut obsolete_logs = None;
        let outcome = self.let_in(cf, incoming, spec, &mut obsolete_logs);
        // What must not be done with writers kept out.
        if let Some(below) = obsolete_logs {
            self.purge_obsolete_logs(below);
        }
        self.work.notify_all();
        self.done.notify_all();
        self.tell_stalls();
        self.purge_obsolete_files();
        let levels = outcome?;
        if spec.move_files {
            self.remove_sources(paths);
        }
        self.log.write(&format!(
            "[{}] Ingested {} tables into levels {levels:?} in {} us",
            cf.name,
            paths.len(),
            start.elapsed().as_micros()
        ));
        Ok(())
    }

    /// Removes the other names of tables that were moved. A name that cannot
    /// be removed does no harm.
    fn remove_sources(&self, paths: &[PathBuf]) {
        for path in paths {
            if let Err(e) = self.fs.remove(path) {
                self.log.write(&format!(
                    "removing {} failed, which was ingested: {e}",
                    path.display()
                ));
            }
        }
    }

    /// Keeps writers out while the tables come in; returns their levels.
    fn let_in(
        self: &Arc<Self>,
        cf: &Arc<ColumnFamilyData>,
        incoming: Incoming<'_>,
        spec: IngestSpec,
        obsolete_logs: &mut Option<u64>,
    ) -> Result<Vec<usize>> {
        let switching = self.switching();
        Self::check_healthy(&self.lock_state())?;
        let mem = {
            let state = self.lock_state();
            let cf = state.cfs.get(&cf.id).ok_or_else(|| dropped(cf))?;
            cf.mem.clone()
        };
        let before = self.generation.load_full();
        let mut log = match mem.is_empty() {
            true => NextLog::Same(before.log.clone()),
            false => self.next_log(&before)?,
        };
        // The one that goes with the tables, and one for readers while older ones
        // are flushed. With atomic flushes, the others' go along, whatever is in
        // this one now: a batch may yet come into it, and into theirs.
        let mut ids = vec![cf.id, cf.id];
        let others = self.with_others(vec![cf.id]);
        ids.extend(others.into_iter().filter(|&id| id != cf.id));
        let fresh = self.fresh_memtables(&ids, log.segment().log_number());
        let mut gap = Gap::new(self);
        let begun = gap.begin(&before);
        let end = begun.inspect_err(|_| log.discard(&self.wal))?;
        let waited = self.await_inserted(end.last);
        waited.inspect_err(|_| log.discard(&self.wal))?;
        let full = !mem.is_empty();
        if full && matches!(log, NextLog::Same(_)) && end.offset > before.start() {
            // Upholds S5 of `switch`.
            log = self.new_log()?;
            let number = log.segment().log_number();
            fresh.iter().for_each(|(_, m)| m.advance_wal_number(number));
        }
        let start = self.continue_in(&log, &before, end)?;
        let mut fresh = fresh.into_iter();
        let next = fresh.next().map(|(_, next)| next);
        {
            let mut state = self.lock_state();
            for (id, interim) in fresh.filter(|_| full) {
                if let Some(cf) = state.cfs.get_mut(&id) {
                    let full = std::mem::replace(&mut cf.mem, interim);
                    full.retire(end.last);
                    self.note_sealed(&cf.data, &full);
                    cf.imm.push(full);
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
        let outcome = jobs::guarded_value(|| entrance.admit(incoming, next, obsolete_logs));
        // Writers go on, whatever came of it: behind the tables' numbers, or
        // where they were.
        let (levels, last) = match outcome {
            Ok((levels, last)) => (Ok(levels), last),
            Err(e) => (Err(e), end.last),
        };
        let mut state = self.lock_state();
        if let Some(cf) = state.cfs.get_mut(&cf.id) {
            cf.ingesting = false;
        }
        self.settle_empty(&state, end.last, log.segment().log_number());
        self.install(&state, log.segment(), start, End { last, ..end });
        gap.end();
        self.weigh(&mut state, [cf.id]);
        drop(state);
        if let NextLog::New(_) = log {
            self.trim(&before.log, end.offset);
        }
        drop(switching);
        levels
    }
}

/// Whether tables may come into `cf` behind what it has.
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
    match options.reserves_last_level() {
        true => Ok(()),
        false => Err(Error::not_supported(
            "ingest_behind: FIFO compaction has no level below the others",
        )),
    }
}

fn dropped(cf: &ColumnFamilyData) -> Error {
    Error::new(
        ErrorKind::ColumnFamilyDropped,
        format_args!("column family {}", cf.name),
    )
}

/// What lets tables in while writers are kept out.
struct Entrance<'a> {
    engine: &'a Arc<Engine>,
    cf: &'a Arc<ColumnFamilyData>,
    spec: IngestSpec,
    /// The last number that a write has.
    last: SequenceNumber,
}

impl Entrance<'_> {
    /// Lets all of `incoming` in, with `next` as the memtable of later writes;
    /// returns their levels and the last number that is taken.
    fn admit(
        &self,
        mut incoming: Incoming<'_>,
        next: Option<Arc<Memtable>>,
        obsolete_logs: &mut Option<u64>,
    ) -> Result<(Vec<usize>, SequenceNumber)> {
        let engine = self.engine;
        let ranges: Vec<_> = incoming.tables.iter().map(|(c, _)| c.range()).collect();
        // What comes in behind is below memtables and tables alike.
        let in_memory = !self.spec.ingest_behind && self.is_in_memory(&ranges)?;
        if in_memory && !self.spec.allow_blocking_flush {
            return Err(Error::invalid("External file requires flush"));
        }
        // Before anything is done for it: what was asked for is possible.
        let placed = self.place(&ranges)?;
        let numbers = self.numbers(&incoming.tables, &placed, in_memory)?;
        let placed = match in_memory {
            true => {
                *obsolete_logs = jobs::flush_here(engine, self.cf.id)?;
                self.place(&ranges)?
            }
            false => placed,
        };
        drop(ranges);
        // A power cut must not keep the tables and lose writes before them.
        engine.make_durable(self.last)?;
        let now = unix_seconds();
        let new_file =
            |((table, number), (placed, &seq)): (&(&Candidate, u64), (&Placed, &u64))| {
                let (smallest, largest) = table.bounds(seq);
                let meta = FileMetaData {
                    number: *number,
                    size: table.size,
                    smallest,
                    largest,
                    smallest_seqno: seq,
                    largest_seqno: seq,
                    epoch_number: match self.spec.ingest_behind {
                        true => BEHIND,
                        false => engine.versions.new_epoch_number(self.cf.id),
                    },
                    oldest_ancester_time: now,
                    file_creation_time: now,
                    tail_size: table.tail_size,
                    ..FileMetaData::default()
                };
                (placed.level as u32, meta)
            };
        let edit = VersionEdit {
            column_family: self.cf.id,
            new_files: (incoming.tables.iter())
                .zip(placed.iter().zip(&numbers))
                .map(new_file)
                .collect(),
            ..VersionEdit::default()
        };
        let last = numbers.iter().copied().fold(self.last, u64::max);
        // From here on the files are the version set's.
        incoming.handed_over = true;
        let keys = incoming.tables.iter().map(|(c, _)| c.num_entries).sum();
        self.record(edit, next, last, keys)?;
        for (((table, number), placed), seq) in incoming.tables.iter().zip(&placed).zip(&numbers) {
            engine.note(|| {
                Happened::Ingested(ExternalFileIngestionInfo {
                    cf_name: self.cf.name.clone(),
                    external_file_path: table.path.clone(),
                    internal_file_path: engine.table_path(*number),
                    global_seqno: *seq,
                    level: placed.level,
                })
            });
        }
        if last > self.last {
            // Nobody else has a number: everything before is visible.
            let published = engine.publication.finish(self.last + 1, last);
            published.map_err(|_| engine.first_error())?;
        }
        Ok((placed.iter().map(|p| p.level).collect(), last))
    }

    /// Records `edit`, and shows its tables to readers together with `next`
    /// (G1).
    fn record(
        &self,
        edit: VersionEdit,
        mut next: Option<Arc<Memtable>>,
        last: SequenceNumber,
        keys: u64,
    ) -> Result<()> {
        let engine = self.engine;
        let at_level0 = |(level, _): &&(u32, FileMetaData)| *level == 0;
        let came_in = Ingested {
            bytes: edit.new_files.iter().map(|(_, f)| f.size).sum(),
            files: edit.new_files.len() as u64,
            level0_files: edit.new_files.iter().filter(at_level0).count() as u64,
            keys,
        };
        let recorded = (engine.versions).log_and_apply(vec![edit], last, None, &mut |changed| {
            // Declared first, so dropped after the mutex is free.
            let mut old = Vec::new();
            let mut unused = None;
            let mut state = engine.lock_state();
            for new in changed {
                let Some(cf) = state.cfs.get_mut(&new.id) else {
                    continue;
                };
                old.push(cf.set_version(new.current.clone()));
                if let Some(next) = next.take() {
                    unused = Some(std::mem::replace(&mut cf.mem, next));
                }
                cf.publish();
            }
            if let Some(cf) = state.cfs.get_mut(&self.cf.id) {
                cf.stats.add_ingested(came_in);
            }
            engine.weigh(&mut state, changed.iter().map(|new| new.id));
            drop(state);
            drop(unused);
        });
        recorded.inspect_err(|e| engine.report(Source::Manifest, e, "recording an ingestion"))
    }

    /// Whether a memtable has a key in one of `ranges`, or deletes some.
    fn is_in_memory(&self, ranges: &[KeyRange<'_>]) -> Result<bool> {
        let memtables = {
            let state = self.engine.lock_state();
            let cf = state.cfs.get(&self.cf.id);
            cf.map_or_else(Vec::new, |cf| cf.imm.clone())
        };
        for memtable in &memtables {
            if self.overlaps(memtable, ranges)? {
                return Ok(true);
            }
        }
        Ok(false)
    }

    fn overlaps(&self, memtable: &Memtable, ranges: &[KeyRange<'_>]) -> Result<bool> {
        let comparator = &self.cf.comparator.user;
        for tombstone in memtable.raw_tombstones()? {
            let deleted = KeyRange {
                start: Some(&tombstone.start),
                end: std::ops::Bound::Excluded(&tombstone.end),
            };
            if ranges
                .iter()
                .any(|range| range.overlaps(comparator, &deleted))
            {
                return Ok(true);
            }
        }
        let mut entries = memtable.iter();
        for range in ranges {
            match range.start {
                Some(start) => entries.seek(&seek_key(start, MAX_SEQUENCE)),
                None => entries.seek_to_first(),
            }
            if entries.valid() && !range.ends_before(comparator, user_key(entries.key())) {
                return Ok(true);
            }
            entries.status()?;
        }
        Ok(false)
    }

    fn place(&self, ranges: &[KeyRange<'_>]) -> Result<Vec<Placed>> {
        let state = self.engine.lock_state();
        let cf = state.cfs.get(&self.cf.id).ok_or_else(|| dropped(self.cf))?;
        let comparator = &self.cf.comparator.user;
        let num_levels = cf.version.levels.len();
        if self.spec.ingest_behind {
            check_behind(&cf.version, comparator, ranges)?;
            let last = Placed {
                level: num_levels - 1,
                overlaps: false,
            };
            return Ok(vec![last; ranges.len()]);
        }
        let levels = cf.levels.base_level..cf.options().compacted_levels(num_levels);
        Ok(place(&cf.version, comparator, levels, ranges))
    }

    /// The number of each table. One above all writes hides a table from
    /// snapshots, those that may be taken at any moment included; so only who
    /// does not care for snapshots, or allows no number, gets 0.
    fn numbers(
        &self,
        tables: &[(&Candidate, u64)],
        placed: &[Placed],
        in_memory: bool,
    ) -> Result<Vec<SequenceNumber>> {
        if self.spec.ingest_behind {
            return Ok(vec![0; tables.len()]);
        }
        let overlap = in_memory || placed.iter().any(|p| p.overlaps);
        let seen = self.spec.snapshot_consistency && self.engine.snapshots.count() > 0;
        let can = self.spec.allow_global_seqno && tables.iter().all(|(c, _)| c.renumbers);
        if !can && (overlap || seen) {
            return Err(Error::invalid(match self.spec.allow_global_seqno {
                false => "Global seqno is required, but disabled",
                true => "External SST file V1 does not support global seqno",
            }));
        }
        // The number 0 is for what comes in behind, where that is possible.
        let shared = !self.cf.options().reserves_last_level();
        if !can || shared && !(overlap || self.spec.snapshot_consistency) {
            return Ok(vec![0; tables.len()]);
        }
        // Tables that overlap each other need an order.
        let step = u64::from(overlap);
        let number = |i: usize| self.last + 1 + step * i as u64;
        let numbers: Vec<_> = (0..tables.len()).map(number).collect();
        match numbers.iter().any(|&n| n > MAX_SEQUENCE) {
            true => Err(Error::invalid("sequence numbers are used up")),
            false => Ok(numbers),
        }
    }
}

/// Tables in the database's directory that no version names yet.
struct Incoming<'a> {
    fs: &'a dyn Fs,
    dir: &'a Path,
    tables: Vec<(&'a Candidate, u64)>,
    handed_over: bool,
}

impl<'a> Incoming<'a> {
    /// Gives `candidates` names of the database's, durably.
    fn bring(
        engine: &'a Engine,
        candidates: &'a [Candidate],
        by_link: bool,
    ) -> Result<Incoming<'a>> {
        let mut incoming = Incoming {
            fs: &*engine.fs,
            dir: &engine.dir,
            tables: Vec::new(),
            handed_over: false,
        };
        for candidate in candidates {
            let number = engine.versions.new_file_number();
            incoming.tables.push((candidate, number));
            let path = filename::table(&engine.dir, number);
            // Where there are no links (another file system, say): a copy.
            if !(by_link && incoming.fs.link(&candidate.path, &path).is_ok()) {
                copy(incoming.fs, &candidate.path, &path)?;
            } else {
                incoming.fs.open_append(&path)?.sync()?;
            }
        }
        incoming.fs.sync_dir(incoming.dir)?;
        Ok(incoming)
    }
}

impl Drop for Incoming<'_> {
    fn drop(&mut self) {
        if self.handed_over {
            return;
        }
        for (_, number) in &self.tables {
            // One that cannot be removed is found as an orphan at the next open.
            let _ = self.fs.remove(&filename::table(self.dir, *number));
        }
    }
}

/// Copies a file, and makes the content of the copy durable. Returns its length.
pub(super) fn copy(fs: &dyn Fs, from: &Path, to: &Path) -> Result<u64> {
    let mut source = fs.open_sequential(from)?;
    let mut copy = fs.create(to)?;
    let mut chunk = vec![0; CHUNK];
    loop {
        match source.read(&mut chunk)? {
            0 => break,
            n => copy.append(&chunk[..n])?,
        }
    }
    copy.sync()?;
    Ok(copy.len())
}
