//! Replaying the logs into tables at open.
//!
//! Every log that the manifest still needs is read from front to back. Its batches go into
//! memtables, and the memtables are written as level-0 tables, which the caller records
//! together with "no older log is needed". A crash before that leaves the manifest and the
//! logs as they were, so recovery starts over (and its tables are then leftovers). Nothing
//! is ever appended to a log that was replayed, so what lies behind a cut can never come
//! back.
//!
//! Prepared sections are held until a later record decides on them (`replayed_sections`), and so
//! logs are read from `min_log_number_to_keep` on, even if every column family was flushed past
//! them. Such a *kept* log counts for its sections only. It may end in a torn record, or less far
//! than the next one says: whoever flushed past it had synced it, if a section was outstanding.
//! Damage in it stops an opening that takes prepared transactions, and another one only if a
//! section turns up that is not decided, or a commit of one that was not read. With
//! [`Numbering::PerBatch`], or if the manifest tells of undecided sections in that log, it stops
//! all of them: the entries of a damaged section may be in tables, where everyone would see them.
//!
//! An opener that only reads keeps the memtables instead ([`Tables::Keep`]). It opens all
//! logs ([`LogReplay::open_logs`]) before it checks whether they still belong to the
//! manifest that it has read.

use crate::db::background::flush;
use crate::info_log::InfoLog;
use crate::memtable::{Home, Inserter, Memtable};
use crate::options::{CfOptions, DbOptions};
use crate::snapshots::Live;
use crate::table_writer::{OutputContext, Written};
use crate::version::Version;
use crate::version::set::{CfVersion, Recovered, VersionSet};
use crate::write::wal::Link;
use crate::write_buffer_manager::BudgetClient;
use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use whitewater_storage::batch::replay::{
    ReplayedEntry, ReplayedSection, ReplayedSections, Replays,
};
use whitewater_storage::batch::{self, Numbering, Op};
use whitewater_storage::filename::{self, FileType};
use whitewater_storage::fs::{Fs, SequentialFile};
use whitewater_storage::key::{InternalComparator, SequenceNumber, ValueType};
use whitewater_storage::planted;
use whitewater_storage::wal::{LogReader, ReadOutcome, RecoveryMode};
use whitewater_storage::{Error, Result};

/// What happens to the memtables that replay fills.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Tables {
    /// The memtables are written as tables.
    Write,
    /// The memtables are kept, for an opener that only reads.
    Keep,
}

/// A log that was opened to be replayed.
#[derive(Debug)]
pub(crate) struct OpenedLog {
    pub number: u64,
    file: Box<dyn SequentialFile>,
    size: u64,
}

/// What replay needs to know.
pub(crate) struct LogReplay<'a> {
    pub fs: &'a Arc<dyn Fs>,
    pub dir: &'a Path,
    pub wal_dir: &'a Path,
    pub options: &'a DbOptions,
    pub versions: &'a VersionSet,
    pub log: &'a InfoLog,
    pub db_id: &'a str,
    pub session_id: &'a str,
    pub recovered: &'a Recovered,
    pub wanted: &'a BTreeMap<String, Arc<CfOptions>>,
    pub budget_client: Option<&'a Arc<BudgetClient>>,
    pub tables: Tables,
    /// The time by the database's clock, in seconds since 1970.
    pub now: u64,
}

/// What replay made.
#[derive(Debug, Default)]
pub(crate) struct Replayed {
    /// Level-0 tables by column family.
    pub tables: BTreeMap<u32, Written>,
    /// Memtables that were kept, by column family, oldest first.
    pub memtables: BTreeMap<u32, Vec<Arc<Memtable>>>,
    pub last_sequence: SequenceNumber,
    /// The transactions that are not decided, by name.
    pub sections: BTreeMap<Vec<u8>, ReplayedSection>,
    /// The logs that were read.
    pub logs: Vec<u64>,
    /// Logs whose records from an offset on are not part of the database: the offset by log
    /// number.
    pub cut_logs: BTreeMap<u64, u64>,
}

/// State while replaying.
struct Progress {
    out: Replayed,
    memtables: BTreeMap<u32, Arc<Memtable>>,
    sections: ReplayedSections,
    /// The log in which point-in-time recovery met damage. Later logs count only if they
    /// continue exactly where the intact part ended.
    cut: Option<u64>,
    /// An unfinished write that recovery took for the end of the log, in the mode that
    /// tolerates nothing else. No write may follow it.
    hole: Option<Error>,
    /// The last sequence number read from the logs. The manifest may know later ones, of
    /// column families that were flushed.
    read_to: SequenceNumber,
    /// The last number that the records read have used up if this engine has written them. With
    /// [`Numbering::PerBatch`] these may be more than the log tells: in memory, each entry that is
    /// in no section has used up one.
    taken_to: SequenceNumber,
    /// `read_to` is the number of a record without entries of its own, such as log data
    /// alone or a prepared section, for which RocksDB uses up no number.
    repeats: bool,
    /// Where the last record read from each log ends, in bytes.
    ends: BTreeMap<u64, u64>,
    /// The number of the first log that is needed.
    first_log: u64,
    /// Damage in a kept log that was passed over.
    damaged_kept: Option<Error>,
}

impl Progress {
    /// Whether a batch whose first number is `first` continues exactly where the logs have
    /// ended so far.
    fn goes_on(&self, first: SequenceNumber) -> bool {
        first == self.read_to + 1
            || first == self.taken_to + 1
            || (self.repeats && first == self.read_to)
    }

    /// Refuses a commit, in log `number`, of a section that may have stood where a kept log is
    /// damaged. In a kept log, a commit's entries are in tables. `before` is the number of
    /// commits of unknown names before the record.
    fn check_commits(&self, number: u64, before: u64) -> Result<()> {
        match &self.damaged_kept {
            Some(e) if number >= self.first_log && self.sections.unknown_commits() > before => {
                Err(e.clone())
            }
            _ => Ok(()),
        }
    }

    /// Notes that what follows the records read from log `number` is not part of the
    /// database.
    fn cut_here(&mut self, number: u64) {
        let end = self.ends.get(&number).copied().unwrap_or(0);
        self.out.cut_logs.insert(number, end);
    }
}

impl LogReplay<'_> {
    /// Opens all logs that the manifest needs.
    pub fn open_logs(&self) -> Result<Vec<OpenedLog>> {
        let open = |number| {
            let path = filename::wal(self.wal_dir, number);
            Ok(OpenedLog {
                number,
                size: self.fs.file_size(&path)?,
                file: self.fs.open_sequential(&path)?,
            })
        };
        self.logs()?.into_iter().map(open).collect()
    }

    /// Replays `logs`, which are all logs that are needed.
    pub fn run(&self, logs: Vec<OpenedLog>) -> Result<Replayed> {
        let mut progress = Progress {
            out: Replayed {
                last_sequence: self.recovered.last_sequence,
                ..Replayed::default()
            },
            memtables: BTreeMap::new(),
            sections: ReplayedSections::new(self.options.write_policy.numbering()),
            cut: None,
            hole: None,
            read_to: 0,
            taken_to: 0,
            repeats: false,
            ends: BTreeMap::new(),
            first_log: self.recovered.first_log(),
            damaged_kept: None,
        };
        for log in logs {
            self.versions.mark_file_number_used(log.number);
            progress.out.logs.push(log.number);
            self.replay(log, &mut progress)?;
        }
        self.check_tables_behind_cut(&progress)?;
        self.check_decisions_behind_cut(&progress)?;
        progress.out.sections = progress.sections.take_outstanding();
        if let Err(e) = self.check_sections(&progress.out) {
            self.remove_tables(&progress.out);
            return Err(e);
        }
        let ids: Vec<u32> = progress.memtables.keys().copied().collect();
        for id in ids {
            self.flush(id, &mut progress)?;
        }
        Ok(progress.out)
    }

    /// Refuses what would lose a prepared transaction: an opening that takes none, which would
    /// delete the logs.
    ///
    /// # Errors
    /// `NotSupported` without `allow_2pc`, in RocksDB's words; `InvalidArgument` for a section in
    /// a log whose successors are missing, or that an earlier opening went on without.
    fn check_sections(&self, replayed: &Replayed) -> Result<()> {
        if self.tables == Tables::Keep || replayed.sections.is_empty() {
            return Ok(());
        }
        if !self.options.allow_2pc {
            return Err(Error::not_supported(
                "WAL contains prepared transactions. Open with TransactionDB::Open().",
            ));
        }
        let needed = self.recovered.first_log();
        let all_older = replayed.logs.iter().all(|log| *log < needed);
        for (name, section) in &replayed.sections {
            if all_older || self.recovered.tracked.missed(section.log()).is_some() {
                let e = Error::invalid(format_args!(
                    "the log has the prepared transaction {}, and later logs are missing: they may \
                     have decided on it",
                    name.escape_ascii()
                ));
                return Err(e.in_file(&filename::wal(self.wal_dir, section.log()), None));
            }
        }
        Ok(())
    }

    /// Removes the files that were written. One that stays is removed as a leftover later.
    fn remove_tables(&self, replayed: &Replayed) {
        for (id, written) in &replayed.tables {
            let paths = self.recovered.paths_of(*id);
            for table in &written.files {
                let _ = self.fs.remove(&paths.table(table));
            }
            for file in &written.blob_files {
                let _ = self.fs.remove(&paths.blob(file.number));
            }
        }
    }

    /// Refuses tables of a column family that was flushed past the cut: it would show later
    /// writes than those that the others have lost.
    ///
    /// # Errors
    /// `Corruption` naming the damaged log and the column family.
    fn check_tables_behind_cut(&self, progress: &Progress) -> Result<()> {
        let Some(log) = progress.cut else {
            return Ok(());
        };
        let mut cfs = self.recovered.column_families.values();
        let has_tables = |v: &Version| v.levels.iter().any(|files| !files.is_empty());
        match cfs.find(|cf| cf.log_number > log && has_tables(&cf.current)) {
            None => Ok(()),
            Some(cf) => Err(Error::corruption(format_args!(
                "tables of column family {} are ahead of a damaged log",
                cf.name
            ))
            .in_file(&filename::wal(self.wal_dir, log), None)),
        }
    }

    /// Refuses a cut before a decision on a prepared section that tables go by: they have dropped
    /// what would show if it was not decided.
    ///
    /// # Errors
    /// `Corruption` naming the damaged log.
    fn check_decisions_behind_cut(&self, progress: &Progress) -> Result<()> {
        planted!(DecisionCutOff => return Ok(()));
        let (number, log) = self.recovered.tracked.decided_to();
        match progress.cut {
            Some(cut) if cut <= log && progress.read_to < number => {
                Err(Error::corruption(format_args!(
                    "tables go by a decision on a prepared transaction, with the number {number}, \
                     that is behind damage in a log"
                ))
                .in_file(&filename::wal(self.wal_dir, cut), None))
            }
            _ => Ok(()),
        }
    }

    /// Returns the numbers of the logs that are needed, ascending. Numbers of other logs
    /// are marked as used, so that no new log takes the name of an old one.
    fn logs(&self) -> Result<Vec<u64>> {
        let min = self.recovered.first_kept_log();
        let mut logs = Vec::new();
        for name in self.fs.list(self.wal_dir)? {
            if let Some(FileType::Wal(n)) = filename::parse(&name) {
                self.mark_used(n, self.wal_dir, &name)?;
                if n >= min || self.recovered.tracked.missed(n).is_some() {
                    logs.push(n);
                }
            }
        }
        // Each directory once, although thousands of column families may share it.
        let mut dirs = BTreeSet::from([self.dir]);
        // A reader makes no files, and may not be allowed to list directories.
        if self.tables == Tables::Write {
            let families = self.recovered.column_families.values();
            dirs.extend(
                families.flat_map(|family| family.current.open_with.paths.dirs().map(|dir| &**dir)),
            );
        }
        for dir in dirs {
            self.mark_used_in(dir)?;
        }
        logs.sort_unstable();
        Ok(logs)
    }

    /// Makes new files get numbers above those of the files in `dir`, but for logs.
    fn mark_used_in(&self, dir: &Path) -> Result<()> {
        for name in self.fs.list(dir)? {
            if let Some(
                FileType::Table(n)
                | FileType::Blob(n)
                | FileType::Manifest(n)
                | FileType::Options(n)
                | FileType::Temp(n),
            ) = filename::parse(&name)
            {
                self.mark_used(n, dir, &name)?;
            }
        }
        Ok(())
    }

    /// Makes new files get numbers above `n`, the number of the file `name`.
    fn mark_used(&self, n: u64, dir: &Path, name: &str) -> Result<()> {
        if n > filename::MAX_NUMBER_AT_OPEN {
            return Err(
                Error::corruption("file number out of range").in_file(&dir.join(name), None)
            );
        }
        self.versions.mark_file_number_used(n);
        Ok(())
    }

    // Long: one loop over records, with what each kind of damage means.
    fn replay(&self, log: OpenedLog, progress: &mut Progress) -> Result<()> {
        let OpenedLog { number, file, size } = log;
        let path = filename::wal(self.wal_dir, number);
        let mut reader = LogReader::new(file, number);
        let mut record = Vec::new();
        let mut batches = 0u64;
        let kept = number < progress.first_log;
        (progress.sections).begin(number, progress.read_to, progress.repeats);
        loop {
            match reader.read_record(&mut record)? {
                ReadOutcome::Record => {}
                ReadOutcome::Eof => break,
                ReadOutcome::TornTail { offset, bytes } => {
                    if !kept && self.options.wal_recovery_mode == RecoveryMode::AbsoluteConsistency
                    {
                        return Err(Error::corruption_in(&path, offset, "truncated record"));
                    }
                    self.log.write(&format!(
                        "Recovery: {} ends in a torn record at offset {offset}, {bytes} bytes dropped",
                        path.display()
                    ));
                    // What was torn off may leave a gap before the next log.
                    let mut cuts =
                        !kept && self.options.wal_recovery_mode == RecoveryMode::PointInTime;
                    planted!(TornTailForgotten => cuts = false);
                    if cuts {
                        progress.cut.get_or_insert(number);
                    }
                    break;
                }
                ReadOutcome::Corrupt(e) if reader.is_hole() && self.tolerates_hole(kept) => {
                    self.log.write(&format!(
                        "Recovery: unfinished write in the tail of {}, what is behind it is dropped: {e}",
                        path.display()
                    ));
                    progress.cut_here(number);
                    if !kept {
                        progress.hole.get_or_insert(e);
                    }
                    break;
                }
                ReadOutcome::Corrupt(e) => {
                    if self.damaged(e, number, size, progress)? {
                        break;
                    }
                    continue;
                }
            }
            if let Some(hole) = &progress.hole {
                // The log was started before the crash, and has no writes; sections that were
                // prepared may be repeated in it, by a resumption or an opening that was killed.
                if Link::decode(&record).is_some() || progress.sections.is_repeated(&record) {
                    continue;
                }
                return Err(hole.clone());
            }
            if progress.cut.is_some() {
                if !progress.goes_on(batch::sequence(&record)) {
                    self.log.write(&format!(
                        "Recovery: {} and later logs are not replayed: they do not continue the \
                         intact part before the damage",
                        path.display()
                    ));
                    progress.cut_here(number);
                    break;
                }
                progress.cut = None;
            }
            let checked = batch::check_logged(&record)
                .and_then(|()| {
                    let timestamp_size = |cf| self.timestamp_size(cf);
                    progress.sections.check(&record, &timestamp_size)
                })
                .map_err(|e| e.in_file(&path, Some(reader.record_offset())));
            if let Err(e) = checked {
                if self.damaged(e, number, size, progress)? {
                    break;
                }
                continue;
            }
            if let Some((before, e)) = broken_link(&record, progress) {
                let e = e.in_file(&path, Some(reader.record_offset()));
                if self.options.wal_recovery_mode == RecoveryMode::TolerateCorruptedTailRecords {
                    // Writers that had reserved the last places in that log were killed.
                    self.log
                        .write(&format!("Recovery: the end of a log is missing: {e}"));
                    progress.cut_here(before);
                    progress.hole.get_or_insert(e);
                    continue;
                }
                if self.damaged(e, number, size, progress)? {
                    break;
                }
                continue;
            }
            self.apply(&record, number, progress)
                .map_err(|e| e.in_file(&path, Some(reader.record_offset())))?;
            progress.ends.insert(number, reader.record_end());
            batches += 1;
        }
        self.log.write(&format!(
            "Recovery: {batches} batches from {}",
            path.display()
        ));
        Ok(())
    }

    /// Whether a hole, an unfinished write with others behind it, is the end of a log. In a kept
    /// log it is, like a torn record: the log was not synced when families were flushed past it,
    /// and so had no outstanding section.
    fn tolerates_hole(&self, kept: bool) -> bool {
        match self.options.wal_recovery_mode {
            RecoveryMode::TolerateCorruptedTailRecords => true,
            RecoveryMode::AbsoluteConsistency | RecoveryMode::PointInTime => kept,
            RecoveryMode::SkipAnyCorruptedRecord => false,
        }
    }

    /// What damage in a kept log means in every mode but the one that skips damage. All writes in
    /// the log are in tables, so nothing is cut.
    ///
    /// An opening that takes prepared transactions is refused: the damaged record may have been
    /// one, or a decision on one. Another opening goes on, since mostly such a log has no section
    /// at all: it was needed by a column family that was dropped since. It is still refused if
    /// a section turns up that is not decided, or a commit of one that was not read.
    fn damaged_kept_log(&self, e: Error, log: u64, progress: &mut Progress) -> Result<()> {
        let takes_sections = self.options.allow_2pc && self.tables == Tables::Write;
        let undecided_from = self.recovered.tracked.undecided_from();
        let hides = undecided_from > 0 && log >= undecided_from;
        if takes_sections || hides || progress.sections.numbering() == Numbering::PerBatch {
            return Err(e);
        }
        self.log.warn(&format!(
            "Recovery: passed over in a log that only prepared transactions need: {e}"
        ));
        progress.damaged_kept.get_or_insert(e);
        Ok(())
    }

    /// Decides by the recovery mode what damage means; returns whether to stop reading this
    /// log.
    fn damaged(
        &self,
        e: Error,
        log_number: u64,
        size: u64,
        progress: &mut Progress,
    ) -> Result<bool> {
        if e.kind() != whitewater_storage::ErrorKind::Corruption {
            return Err(e);
        }
        let mode = self.options.wal_recovery_mode;
        // A log that was passed over has writes that no table has.
        let kept =
            log_number < progress.first_log && self.recovered.tracked.missed(log_number).is_none();
        if kept && mode != RecoveryMode::SkipAnyCorruptedRecord {
            self.damaged_kept_log(e, log_number, progress)?;
            return Ok(false);
        }
        match mode {
            RecoveryMode::AbsoluteConsistency | RecoveryMode::TolerateCorruptedTailRecords => {
                Err(e)
            }
            RecoveryMode::PointInTime => {
                planted!(DamageReadPast => return Ok(false));
                let rest = size.saturating_sub(e.offset().unwrap_or(size));
                self.log.write(&format!(
                    "Recovery: cut at damage, {rest} bytes dropped: {e}"
                ));
                progress.cut.get_or_insert(log_number);
                progress.cut_here(log_number);
                Ok(true)
            }
            RecoveryMode::SkipAnyCorruptedRecord => {
                self.log.warn(&format!("Recovery: skipped: {e}"));
                Ok(false)
            }
        }
    }

    fn apply(&self, record: &[u8], log_number: u64, progress: &mut Progress) -> Result<()> {
        let first = batch::sequence(record);
        let unknown = progress.sections.unknown_commits();
        let mut to = ToMemtables {
            replay: self,
            log_number,
            memtables: &mut progress.memtables,
        };
        let mut used = progress.sections.replay(record, &mut to)?;
        progress.check_commits(log_number, unknown)?;
        let noted = used == 0 && Link::decode(record).is_none();
        if noted {
            used = 1; // log data alone, or a section, took a number
        }
        let mut last = (first + used).saturating_sub(1);
        planted!(NumberUsedAgain => last = last.saturating_sub(1));
        let mut taken = last;
        if progress.sections.numbering() == Numbering::PerBatch {
            taken = last.max((first + entries_outside(record)).saturating_sub(1));
        }
        progress.taken_to = progress.taken_to.max(taken);
        progress.out.last_sequence = progress.out.last_sequence.max(taken);
        progress.repeats = match noted {
            true => progress.repeats || last >= progress.read_to,
            false => progress.repeats && used == 0,
        };
        progress.read_to = progress.read_to.max(last);
        let mut full: Vec<u32> = progress
            .memtables
            .iter()
            .filter(|(_, m)| m.is_full())
            .map(|(id, _)| *id)
            .collect();
        if full.is_empty() && self.budget_client.is_some_and(BudgetClient::is_to_flush) {
            let memtables = progress.memtables.iter();
            let largest = memtables.max_by_key(|(_, m)| m.charged_bytes());
            full.extend(largest.map(|(id, _)| *id));
        }
        for id in full {
            self.flush(id, progress)?;
        }
        Ok(())
    }

    fn timestamp_size(&self, cf: u32) -> usize {
        let cf = self.recovered.column_families.get(&cf);
        cf.map_or(0, |cf| self.wanted[&cf.name].comparator.timestamp_size())
    }

    /// Upholds T1: if the log `number` were replayed now, its older writes would show as
    /// newer than the tables of what was written after an opening without it.
    fn check_not_passed_over(&self, id: u32, number: u64) -> Result<()> {
        let cf = self.recovered.column_families.get(&id);
        match (cf, self.recovered.tracked.missed(number)) {
            (Some(cf), Some(end)) if cf.log_number >= end => Err(Error::invalid(format_args!(
                "the log has writes to column family {} that were never replayed: the database \
                 was opened without this log, with another wal_dir perhaps, and has been flushed \
                 since; to go on without these writes, move the log away",
                cf.name
            ))),
            _ => Ok(()),
        }
    }

    fn flush(&self, id: u32, progress: &mut Progress) -> Result<()> {
        let Some(mem) = progress.memtables.remove(&id).filter(|m| !m.is_empty()) else {
            return Ok(());
        };
        if self.tables == Tables::Keep {
            planted!(ReadOnlySkipsLogs => return Ok(()));
            progress.out.memtables.entry(id).or_default().push(mem);
            return Ok(());
        }
        mem.seal();
        let cf = &self.recovered.column_families[&id];
        let options = &self.wanted[&cf.name];
        // A decision may come later in the logs (X4 of `snapshots`).
        let mut keeps = self.options.write_policy.inserts_undecided();
        planted!(RecoveryFlushDropsHidden => keeps = false);
        let live = match keeps {
            true => Live::everything(),
            false => Live::default(),
        };
        let ctx = OutputContext {
            fs: self.fs,
            paths: &cf.current.open_with.paths,
            versions: self.versions,
            db: self.options,
            options,
            comparator: &InternalComparator::new(options.comparator.clone()),
            cf_id: id,
            cf_name: &cf.name,
            db_id: self.db_id,
            session_id: self.session_id,
            live: &live,
            limiter: None,
            gate: None,
            now: self.now,
            cancel: &AtomicBool::new(false),
        };
        let written = flush::write_level0(&ctx, &[mem])?;
        progress.out.tables.entry(id).or_default().extend(written);
        Ok(())
    }
}

/// How many entries a record has, if it is no prepared section. This engine has used up a number
/// for each of these.
pub(super) fn entries_outside(record: &[u8]) -> u64 {
    match batch::ops(record).next() {
        Some(Ok(Op::BeginPrepare(_))) => 0,
        _ => u64::from(batch::count(record)),
    }
}

/// Whether entries of the log `number` for `family` are to be replayed: they were not flushed.
fn is_replayed(family: &CfVersion, number: u64) -> bool {
    planted!(ReplayNotSkipped => return true);
    number >= family.log_number
}

/// Puts entries of the log `log_number` into memtables.
struct ToMemtables<'a, 'b> {
    replay: &'a LogReplay<'b>,
    log_number: u64,
    memtables: &'a mut BTreeMap<u32, Arc<Memtable>>,
}

impl Replays for ToMemtables<'_, '_> {
    fn timestamp_size(&self, cf: u32) -> usize {
        self.replay.timestamp_size(cf)
    }

    fn insert(&mut self, entry: ReplayedEntry<'_>) -> Result<()> {
        let (replay, id) = (self.replay, entry.cf);
        if let Some(cf) = replay.recovered.column_families.get(&id)
            && is_replayed(cf, self.log_number)
        {
            let options = &replay.wanted[&cf.name];
            let mem = self.memtables.entry(id).or_insert_with(|| {
                let home = Home {
                    family: &cf.name,
                    budget_client: replay.budget_client,
                };
                Memtable::new(options, home, self.log_number, 0)
            });
            let mut inserter = Inserter::new(false);
            let ty = match entry.ty {
                // RocksDB logs them; why they are none here: `Engine::deletes_for_good`.
                ValueType::SingleDeletion if replay.options.write_policy.inserts_undecided() => {
                    ValueType::Deletion
                }
                ty => ty,
            };
            inserter.add_logged(mem, ty, entry.key, entry.value, entry.number)?;
            inserter.finish()?;
        }
        replay.check_not_passed_over(id, self.log_number)
    }
}

/// If `record` says how the log before this one ended and not all of that was read, returns
/// that log's number and what is wrong.
fn broken_link(record: &[u8], progress: &Progress) -> Option<(u64, Error)> {
    planted!(LinkIgnored => return None);
    let link = Link::decode(record)?;
    let read = progress.ends.get(&link.log_number).copied().unwrap_or(0);
    if link.log_number < progress.first_log || read >= link.size {
        return None;
    }
    let e = Error::corruption(format_args!(
        "log {:06} before this one should hold {} bytes of records and holds {read}",
        link.log_number, link.size
    ));
    Some((link.log_number, e))
}
