//! Writing logs as tables.

use super::tables::unknown_name;
use super::{Repair, is_damage};
use crate::db::recover::entries_outside;
use crate::memtable::{Home, Inserter, Memtable};
use crate::write::wal::Link;
use std::collections::BTreeMap;
use std::sync::Arc;
use whitewater_storage::batch::replay::{ReplayedEntry, ReplayedSections, Replays};
use whitewater_storage::batch::{self, Numbering, Op, PrepareKind};
use whitewater_storage::filename;
use whitewater_storage::key::SequenceNumber;
use whitewater_storage::wal::{LogReader, ReadOutcome};
use whitewater_storage::{Error, Result};

/// A range of numbers that a log holds without a gap.
#[derive(Debug)]
pub(super) struct Span {
    pub log: u64,
    pub first: SequenceNumber,
    pub last: SequenceNumber,
}

/// A log that is being written as tables.
struct Conversion {
    log: u64,
    memtables: BTreeMap<u32, Arc<Memtable>>,
    /// For each column family, how many writes were left out because its tables hold them.
    flushed: BTreeMap<u32, u64>,
    /// For each column family, how many writes were left out because it was dropped.
    dropped: BTreeMap<u32, u64>,
    /// For each column family, how many of the writes its tables may hold, too.
    doubtful: BTreeMap<u32, u64>,
}

impl Repair<'_> {
    /// Notes which sequence numbers the logs hold, unless that was done already.
    ///
    /// # Errors
    /// Errors of the file system, not of the logs' content.
    pub(super) fn read_numbers(&mut self, logs: &[u64]) -> Result<()> {
        if self.logged.is_some() {
            return Ok(());
        }
        let mut spans: Vec<Span> = Vec::new();
        let mut sections = ReplayedSections::new(self.sections.numbering());
        for log in logs {
            sections.begin(*log, 0, false);
            self.read_log(*log, false, &mut |_, record| {
                let first = batch::sequence(record);
                let mut used = sections.replay(record, &mut Nowhere)?;
                if sections.numbering() == Numbering::PerBatch {
                    used = used.max(entries_outside(record));
                }
                let last = (first + used).saturating_sub(1);
                match spans.last_mut() {
                    Some(span) if span.log == *log && first == span.last + 1 => span.last = last,
                    _ => spans.push(Span {
                        log: *log,
                        first,
                        last,
                    }),
                }
                Ok(())
            })?;
        }
        self.logged = Some(spans);
        Ok(())
    }

    /// How `logs` number their operations. A section tells, and the options if there is none.
    ///
    /// # Errors
    /// Errors of the file system, not of the logs' content.
    pub(super) fn numbering_of(&mut self, logs: &[u64]) -> Result<Numbering> {
        let mut numbering = self.db.write_policy.numbering();
        for log in logs {
            self.read_log(*log, false, &mut |_, record| {
                let kinds = batch::ops(record).filter_map(|op| match op {
                    Ok(Op::BeginPrepare(kind)) => Some(kind),
                    _ => None,
                });
                for kind in kinds {
                    numbering = match kind {
                        PrepareKind::Committed => Numbering::PerEntry,
                        PrepareKind::Persisted | PrepareKind::Unprepared => Numbering::PerBatch,
                    };
                }
                Ok(())
            })?;
        }
        Ok(numbering)
    }

    /// Writes everything that can be read of log `number` into tables. The log then counts
    /// as lost.
    ///
    /// # Errors
    /// Errors of the file system, not of the log's content.
    pub(super) fn convert_log(&mut self, number: u64) -> Result<()> {
        let path = filename::wal(&self.wal_dir, number);
        let mut conversion = Conversion {
            log: number,
            memtables: BTreeMap::new(),
            flushed: BTreeMap::new(),
            dropped: BTreeMap::new(),
            doubtful: BTreeMap::new(),
        };
        self.sections.begin(number, self.read_to, false);
        let batches = self.read_log(number, true, &mut |repair, record| {
            repair.apply(record, &mut conversion)
        })?;
        for (id, memtable) in std::mem::take(&mut conversion.memtables) {
            self.flush(id, &memtable)?;
        }
        self.log.write(&format!(
            "Repair: {batches} batches from {}",
            path.display()
        ));
        self.tell_of(&conversion);
        self.lost.push(path);
        Ok(())
    }

    fn tell_of(&self, conversion: &Conversion) {
        let log = conversion.log;
        let family = |id: &u32| match self.families.get(id) {
            Some(family) => format!("[{}]", family.name),
            None => format!("column family {id}"),
        };
        for (id, writes) in &conversion.flushed {
            self.log.write(&format!(
                "Repair: {writes} writes of {} in log {log:06} are in its tables",
                family(id)
            ));
        }
        for (id, writes) in &conversion.dropped {
            self.log.write(&format!(
                "Repair: {writes} writes of column family {id} in log {log:06} are left out: it was \
                 dropped"
            ));
        }
        for (id, writes) in &conversion.doubtful {
            self.log.write(&format!(
                "Repair: guess: {writes} writes of {} in log {log:06} count, although its tables may \
                 hold them: merge operands may count twice, and what was overwritten or deleted \
                 without a log may come back",
                family(id)
            ));
        }
    }

    /// Passes each batch of log `number` that can be read to `visit`. With `tell`, logs the
    /// records that cannot be read. Returns how many batches there are.
    fn read_log(
        &mut self,
        number: u64,
        tell: bool,
        visit: &mut dyn FnMut(&mut Self, &[u8]) -> Result<()>,
    ) -> Result<u64> {
        let path = filename::wal(&self.wal_dir, number);
        let mut reader = LogReader::new(self.fs.open_sequential(&path)?, number);
        let (mut record, mut batches) = (Vec::new(), 0);
        loop {
            match reader.read_record(&mut record) {
                Ok(ReadOutcome::Record) => {}
                Ok(ReadOutcome::Eof | ReadOutcome::TornTail { .. }) => return Ok(batches),
                Ok(ReadOutcome::Corrupt(e)) => {
                    self.skipped(tell, &e);
                    continue;
                }
                Err(e) if is_damage(e.kind()) => {
                    if tell {
                        self.log
                            .write(&format!("Repair: the log is read up to {e}"));
                    }
                    return Ok(batches);
                }
                Err(e) => return Err(e),
            }
            if let Err(e) = batch::check_logged(&record) {
                let e = e.in_file(&path, Some(reader.record_offset()));
                self.skipped(tell, &e);
                continue;
            }
            visit(self, &record)?;
            batches += 1;
        }
    }

    fn skipped(&self, tell: bool, e: &Error) {
        if tell {
            self.log.write(&format!("Repair: skipped: {e}"));
        }
    }

    fn apply(&mut self, record: &[u8], conversion: &mut Conversion) -> Result<()> {
        // Taken out, because the entries go to this.
        let mut sections = std::mem::take(&mut self.sections);
        let used = sections.replay(
            record,
            &mut ToMemtables {
                repair: self,
                conversion,
            },
        );
        self.sections = sections;
        let mut used = used?;
        if used == 0 && Link::decode(record).is_none() {
            used = 1; // log data alone, or a section, took a number
        }
        let first = batch::sequence(record);
        let last = (first + used).saturating_sub(1);
        self.read_to = self.read_to.max(last);
        let mut taken = last;
        if self.sections.numbering() == Numbering::PerBatch {
            // In memory, each entry has used up one.
            taken = last.max((first + entries_outside(record)).saturating_sub(1));
        }
        self.last_sequence = self.last_sequence.max(taken);
        let full = conversion.memtables.iter().filter(|(_, m)| m.is_full());
        let full: Vec<u32> = full.map(|(id, _)| *id).collect();
        for id in full {
            if let Some(memtable) = conversion.memtables.remove(&id) {
                self.flush(id, &memtable)?;
            }
        }
        Ok(())
    }

    /// Whether a logged write of column family `id` counts. Notes why it does not, and
    /// where that is a guess.
    ///
    /// # Errors
    /// Errors of [`OldManifest::needs`](super::OldManifest::needs).
    fn is_to_count(
        &self,
        id: u32,
        seq: SequenceNumber,
        conversion: &mut Conversion,
    ) -> Result<bool> {
        let has_tables = self.in_tables.contains_key(&id);
        if self.old.has_dropped(id) || (self.old.knows_no_more(id) && !has_tables) {
            *conversion.dropped.entry(id).or_default() += 1;
            return Ok(false);
        }
        // If all tables exist, the manifest is right about what is in them.
        if self.complete && !self.old.needs(id, conversion.log)? {
            *conversion.flushed.entry(id).or_default() += 1;
            return Ok(false);
        }
        if self.in_tables.get(&id).is_some_and(|newest| seq <= *newest) {
            *conversion.doubtful.entry(id).or_default() += 1;
        }
        Ok(true)
    }

    fn flush(&mut self, id: u32, memtable: &Memtable) -> Result<()> {
        if memtable.is_empty() {
            return Ok(());
        }
        memtable.seal();
        let name = self.families[&id].name.clone();
        let tombstones = memtable.raw_tombstones()?;
        let tables = self.write(id, &name, memtable.flush_iter(), tombstones)?;
        self.family(id, &name).tables.extend(tables);
        Ok(())
    }
}

/// Puts entries into the memtables of a conversion.
struct ToMemtables<'a, 'b> {
    repair: &'a mut Repair<'b>,
    conversion: &'a mut Conversion,
}

impl Replays for ToMemtables<'_, '_> {
    fn timestamp_size(&self, _cf: u32) -> usize {
        self.repair.options.comparator.timestamp_size()
    }

    fn insert(&mut self, entry: ReplayedEntry<'_>) -> Result<()> {
        let (repair, conversion, id) = (&mut *self.repair, &mut *self.conversion, entry.cf);
        if !repair.is_to_count(id, entry.number, conversion)? {
            return Ok(());
        }
        let family = repair.family(id, &unknown_name(id)).name.clone();
        let home = Home {
            family: &family,
            budget_client: None,
        };
        let new = || Memtable::new(repair.options, home, conversion.log, 0);
        let memtable = conversion.memtables.entry(id).or_insert_with(new);
        let mut inserter = Inserter::new(false);
        inserter.add_logged(memtable, entry.ty, entry.key, entry.value, entry.number)?;
        inserter.finish()?;
        Ok(())
    }
}

/// Drops entries.
struct Nowhere;

impl Replays for Nowhere {
    fn timestamp_size(&self, _cf: u32) -> usize {
        0
    }

    fn insert(&mut self, _entry: ReplayedEntry<'_>) -> Result<()> {
        Ok(())
    }
}
