//! What logs say about transactions in two phases, for everything that replays logs.
//!
//! A prepared section is held by the name of its transaction until a later record decides on
//! it. With [`Numbering::PerEntry`], a commit inserts its entries behind those of its own record,
//! at numbers that follow theirs. Which log the *commit* stands in says whether a column family
//! still needs them: the section may be older than everything else that is needed. A decision on
//! an unknown name is on a section in a log that no memtable needed; its entries are in tables.
//!
//! With [`Numbering::PerBatch`], a section's entries are inserted where they stand, at its own
//! numbers, and a decision inserts nothing more: what a rollback puts back stands in its record.
//! Until then readers have to pass over the numbers ([`ReplayedSections::undecided`]). A
//! transaction may have written parts before it was prepared (`WRITE_UNPREPARED`). One that never
//! was prepared is to be rolled back by whoever opens the database.
//!
//! The engine may log outstanding sections again in a later log, with the numbers that they have.
//! Where a log before is still needed, it counts, and the repetition does not: the section may be
//! decided there. Once only logs from the repetition on are needed, the repetition counts, even
//! after a decision in an older log, which then has failed. The engine logs decisions behind a
//! repetition only when no older log is needed, so a commit there commits the repetition. The
//! entries of a repetition are never inserted with [`Numbering::PerBatch`]: they have been.

use super::{Batch, HEADER_SIZE, Numbering, Op, PrepareKind, ops, sequence};
use crate::error::{Error, Result};
use crate::key::{SequenceNumber, ValueType};
use std::collections::BTreeMap;

/// An entry that is replayed.
#[derive(Debug, Clone, Copy)]
pub struct ReplayedEntry<'a> {
    /// Id of the column family.
    pub cf: u32,
    /// Its type.
    pub ty: ValueType,
    /// User key.
    pub key: &'a [u8],
    /// Value, operand or end key; empty for deletions.
    pub value: &'a [u8],
    /// Its sequence number.
    pub number: SequenceNumber,
}

/// Where entries go.
pub trait Replays {
    /// The size of the timestamps of the column family `cf`, in bytes; 0 if it has none or is
    /// not known.
    fn timestamp_size(&self, cf: u32) -> usize;

    /// Takes an entry, in the order of numbers.
    ///
    /// # Errors
    /// Its own; replaying ends with them.
    fn insert(&mut self, entry: ReplayedEntry<'_>) -> Result<()>;
}

/// What one record has of a transaction on which no record decides.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ReplayedPart {
    /// The operations, with their markers.
    pub batch: Batch,
    /// The log that has it.
    pub log: u64,
    /// The number of its first operation.
    pub first: SequenceNumber,
    /// The last number of its entries, with [`Numbering::PerBatch`]; otherwise `first`.
    pub last: SequenceNumber,
}

/// A transaction on which no record decides.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ReplayedSection {
    /// What it has written, at least one part. Only [`PrepareKind::Unprepared`] makes several.
    pub parts: Vec<ReplayedPart>,
    /// Whether it was prepared. Otherwise only parts were written, and it is to be rolled back.
    pub is_prepared: bool,
}

impl ReplayedSection {
    /// The first log that has a part of it.
    pub fn log(&self) -> u64 {
        let logs = self.parts.iter().map(|part| part.log);
        logs.min().unwrap_or(0)
    }

    /// How many entries it has.
    pub fn count(&self) -> u64 {
        let counts = self.parts.iter().map(|part| u64::from(part.batch.count()));
        counts.sum()
    }

    fn one(part: ReplayedPart, is_prepared: bool) -> Self {
        ReplayedSection {
            parts: vec![part],
            is_prepared,
        }
    }

    /// Adds a part. Whatever was prepared before under that name was decided on in a record that
    /// was not read.
    fn add(&mut self, part: ReplayedPart, is_prepared: bool) {
        if self.is_prepared {
            *self = ReplayedSection::one(part, is_prepared);
        } else {
            self.parts.push(part);
            self.is_prepared = is_prepared;
        }
    }
}

/// A section that was logged again.
#[derive(Debug, Clone)]
struct Repetition {
    section: ReplayedSection,
    /// The log that was replayed before the one that has it.
    log_before: u64,
}

/// The sections that were met and are not decided, by name.
#[derive(Debug, Clone, Default)]
pub struct ReplayedSections {
    numbering: Numbering,
    outstanding: BTreeMap<Vec<u8>, ReplayedSection>,
    /// Repetitions of sections that an older log has decided on.
    repetitions: BTreeMap<Vec<u8>, Repetition>,
    /// Logs before this number are not needed.
    first: u64,
    /// The log that is being replayed.
    log: u64,
    /// The log that was replayed before it.
    log_before: u64,
    /// The last number read from the logs before it.
    read_before: SequenceNumber,
    /// A section with that number is a new one: the last record read used up no number.
    repeats: bool,
    /// How many commits named no section that is outstanding.
    unknown_commits: u64,
}

impl ReplayedSections {
    /// None yet, of logs with that numbering.
    pub fn new(numbering: Numbering) -> Self {
        ReplayedSections {
            numbering,
            ..ReplayedSections::default()
        }
    }

    /// How the logs number their operations.
    pub fn numbering(&self) -> Numbering {
        self.numbering
    }

    /// Begins to replay log `log`. The logs before have been read up to the number `read_to`,
    /// which the next record may have, too, if it `repeats`.
    pub fn begin(&mut self, log: u64, read_to: SequenceNumber, repeats: bool) {
        self.log_before = std::mem::replace(&mut self.log, log);
        (self.read_before, self.repeats) = (read_to, repeats);
    }

    /// The log that is being replayed; 0 before the first.
    pub fn log(&self) -> u64 {
        self.log
    }

    /// How many commits so far were of names that were not prepared in the logs that were read.
    pub fn unknown_commits(&self) -> u64 {
        self.unknown_commits
    }

    /// Whether `record`, a record that was checked, is nothing but a section that was read before:
    /// an outstanding one, under whatever number, or a decided one with the number that it had.
    pub fn is_repeated(&self, record: &[u8]) -> bool {
        let body = record.get(HEADER_SIZE..).unwrap_or(&[]);
        let mut parts = self.outstanding.values().flat_map(|section| &section.parts);
        parts.any(|part| part.batch.body() == body)
            || (is_section(record) && !self.is_new(sequence(record)))
    }

    /// Checks the commits in `record`, a record that was checked, before any of it is replayed.
    /// `timestamp_size` is [`Replays::timestamp_size`].
    ///
    /// # Errors
    /// Those of [`replay`](Self::replay), without those of where the entries go.
    pub fn check(&self, record: &[u8], timestamp_size: &dyn Fn(u32) -> usize) -> Result<()> {
        if self.numbering == Numbering::PerBatch {
            return Ok(()); // a commit inserts nothing
        }
        let commits = ops(record).filter_map(|op| match op {
            Ok(Op::Commit(name) | Op::CommitAt { xid: name, .. }) => Some(name),
            _ => None,
        });
        let mut commits = commits.peekable();
        if commits.peek().is_none() {
            return Ok(());
        }
        let committed = commits.filter_map(|name| {
            let repetition = || Some(&self.repetitions.get(name)?.section);
            let section = self.outstanding.get(name).or_else(repetition)?;
            Some((name.to_vec(), section.clone()))
        });
        let mut sections = ReplayedSections {
            outstanding: committed.collect(),
            repetitions: BTreeMap::new(),
            ..*self
        };
        sections.replay(record, &mut Nowhere { timestamp_size })?;
        Ok(())
    }

    /// Replays a record that was checked. Returns how many numbers it uses up; one that uses up
    /// none may have taken one.
    ///
    /// # Errors
    /// `NotSupported` for sections of another write policy; `Corruption` for numbers out of
    /// range and timestamps of a wrong size; those of `to`.
    pub fn replay(&mut self, record: &[u8], to: &mut dyn Replays) -> Result<u64> {
        let mut walk = self.numbering.of_record(record).walk(record);
        let mut reading: Option<Reading> = None;
        while let Some(next) = walk.next() {
            let (op, number) = next?;
            if let Op::BeginPrepare(kind) = op {
                reading = Some(Reading::begin(kind, self.log, number));
            }
            if let Some(reading) = &mut reading {
                reading.part.batch.push_op(&op);
            }
            match op {
                Op::Entry { cf, ty, key, value } if self.is_inserted(reading.as_ref()) => {
                    to.insert(ReplayedEntry {
                        cf,
                        ty,
                        key,
                        value,
                        number,
                    })?;
                }
                Op::EndPrepare(name) => self.enter(name, reading.take(), number),
                Op::Commit(name) => walk.use_up(self.commit(name, None, number, to)?)?,
                Op::CommitAt { timestamp, xid } => {
                    walk.use_up(self.commit(xid, Some(timestamp), number, to)?)?;
                }
                Op::Rollback(name) => {
                    self.take(name);
                }
                Op::Entry { .. } | Op::LogData(_) | Op::Noop | Op::BeginPrepare(_) => {}
            }
        }
        Ok(walk.used())
    }

    /// Whether an entry of the section that is being read, if one is, is inserted where it stands.
    fn is_inserted(&self, reading: Option<&Reading>) -> bool {
        match (reading, self.numbering) {
            (None, _) => true,
            (Some(_), Numbering::PerEntry) => false,
            (Some(reading), Numbering::PerBatch) => self.is_new(reading.part.first),
        }
    }

    /// Enters the section `name`, which was read and has ended with the number `last`.
    fn enter(&mut self, name: &[u8], reading: Option<Reading>, last: SequenceNumber) {
        let Some(Reading { kind, mut part }) = reading else {
            return; // not in a record that was checked
        };
        if self.numbering == Numbering::PerBatch {
            part.last = last;
        }
        let is_prepared = kind != PrepareKind::Unprepared;
        if self.is_new(part.first) {
            self.repetitions.remove(name);
            match self.outstanding.get_mut(name) {
                Some(section) => section.add(part, is_prepared),
                None => {
                    let section = ReplayedSection::one(part, is_prepared);
                    self.outstanding.insert(name.to_vec(), section);
                }
            }
        } else if let Some(outstanding) = self.outstanding.get_mut(name) {
            // A prepared section without parts has one number only, whatever that was.
            let alone = outstanding.parts.len() == 1;
            let mut parts = outstanding.parts.iter_mut();
            if let Some(before) = parts.find(|before| alone || before.first == part.first) {
                before.log = self.log;
            }
        } else {
            self.repeat(name, part, is_prepared);
        }
    }

    fn repeat(&mut self, name: &[u8], part: ReplayedPart, is_prepared: bool) {
        let log = part.log;
        match self.repetitions.get_mut(name) {
            Some(repetition) if repetition.section.log() == log => {
                repetition.section.add(part, is_prepared);
            }
            _ => {
                let repetition = Repetition {
                    section: ReplayedSection::one(part, is_prepared),
                    log_before: self.log_before,
                };
                self.repetitions.insert(name.to_vec(), repetition);
            }
        }
    }

    /// Takes the section that a decision on `name` is on.
    fn take(&mut self, name: &[u8]) -> Option<ReplayedSection> {
        let repetition = self.repetitions.remove(name);
        let outstanding = self.outstanding.remove(name);
        outstanding.or(repetition.map(|repetition| repetition.section))
    }

    /// Whether a section with that number was not read in the logs before, or these no longer
    /// count.
    fn is_new(&self, number: SequenceNumber) -> bool {
        self.log_before < self.first
            || number > self.read_before
            || (self.repeats && number == self.read_before)
    }

    /// Inserts the entries of the section `name` from `first` on. Returns how many there are.
    fn commit(
        &mut self,
        name: &[u8],
        timestamp: Option<&[u8]>,
        first: SequenceNumber,
        to: &mut dyn Replays,
    ) -> Result<u64> {
        let Some(section) = self.take(name) else {
            self.unknown_commits += 1;
            return Ok(0);
        };
        if self.numbering == Numbering::PerBatch {
            return Ok(0); // its entries were inserted where they stood
        }
        let mut number = first;
        for op in section.parts.iter().flat_map(|part| part.batch.ops()) {
            let Op::Entry { cf, ty, key, value } = op? else {
                continue;
            };
            let size = to.timestamp_size(cf);
            let stamp = |key| timestamp.map(|time| with_timestamp(key, time, size));
            let stamped = stamp(key).transpose()?;
            let end = match ty {
                ValueType::RangeDeletion => stamp(value).transpose()?,
                _ => None,
            };
            to.insert(ReplayedEntry {
                cf,
                ty,
                key: stamped.as_deref().unwrap_or(key),
                value: end.as_deref().unwrap_or(value),
                number,
            })?;
            number += 1;
        }
        Ok(number - first)
    }

    /// The ranges of numbers, first and last, that are inserted and not decided, ascending. None
    /// with [`Numbering::PerEntry`].
    pub fn undecided(&self) -> Vec<(SequenceNumber, SequenceNumber)> {
        if self.numbering == Numbering::PerEntry {
            return Vec::new();
        }
        let parts = self.outstanding.values().flat_map(|section| &section.parts);
        let mut ranges: Vec<_> = parts.map(|part| (part.first, part.last)).collect();
        ranges.sort_unstable();
        ranges
    }

    /// Takes the transactions that are not decided, by name.
    pub fn take_outstanding(&mut self) -> BTreeMap<Vec<u8>, ReplayedSection> {
        std::mem::take(&mut self.outstanding)
    }

    /// Forgets the sections in logs before `first`, which is the first one that may have an
    /// undecided section: whatever decided on them is in tables, and may no longer be readable.
    /// The repetitions in the first log from there on count.
    pub fn forget_before(&mut self, first: u64) {
        self.first = first;
        self.outstanding.retain(|_, section| section.log() >= first);
        for (name, repetition) in std::mem::take(&mut self.repetitions) {
            if repetition.section.log() < first {
                continue;
            }
            if repetition.log_before < first {
                self.outstanding.insert(name, repetition.section);
            } else {
                self.repetitions.insert(name, repetition);
            }
        }
    }
}

/// A section whose end has not been read.
#[derive(Debug)]
struct Reading {
    kind: PrepareKind,
    part: ReplayedPart,
}

impl Reading {
    fn begin(kind: PrepareKind, log: u64, first: SequenceNumber) -> Self {
        let part = ReplayedPart {
            batch: Batch::default(),
            log,
            first,
            last: first,
        };
        Reading { kind, part }
    }
}

/// Whether `record` is one prepared section and nothing else.
fn is_section(record: &[u8]) -> bool {
    let mut all = ops(record);
    matches!(all.next(), Some(Ok(Op::BeginPrepare(_))))
        && matches!(
            all.find(|op| matches!(op, Ok(Op::EndPrepare(_)) | Err(_))),
            Some(Ok(_))
        )
        && all.next().is_none()
}

/// Drops entries, whose timestamps are of the size that it is told.
struct Nowhere<'a> {
    timestamp_size: &'a dyn Fn(u32) -> usize,
}

impl Replays for Nowhere<'_> {
    fn timestamp_size(&self, cf: u32) -> usize {
        (self.timestamp_size)(cf)
    }

    fn insert(&mut self, _: ReplayedEntry<'_>) -> Result<()> {
        Ok(())
    }
}

/// `key` with the commit's timestamp in place of its last `size` bytes.
///
/// # Errors
/// `Corruption` if the timestamp is not of that size, or the key is shorter.
fn with_timestamp(key: &[u8], timestamp: &[u8], size: usize) -> Result<Vec<u8>> {
    if size == 0 {
        return Ok(key.to_vec());
    }
    match key.len().checked_sub(size) {
        Some(len) if timestamp.len() == size => Ok([&key[..len], timestamp].concat()),
        _ => Err(Error::corruption(format_args!(
            "commit timestamp of {} bytes for a key of {} bytes in a column family with timestamps \
             of {size}",
            timestamp.len(),
            key.len()
        ))),
    }
}

#[cfg(test)]
mod per_batch;

#[cfg(test)]
mod tests {
    use super::*;

    #[derive(Default)]
    struct Found(Vec<(Vec<u8>, SequenceNumber)>);

    impl Replays for Found {
        fn timestamp_size(&self, _cf: u32) -> usize {
            0
        }

        fn insert(&mut self, entry: ReplayedEntry<'_>) -> Result<()> {
            self.0.push((entry.key.to_vec(), entry.number));
            Ok(())
        }
    }

    fn replay(sections: &mut ReplayedSections, first: u64, ops: &[Op<'_>]) -> Found {
        let mut batch = Batch::default();
        ops.iter().for_each(|op| batch.push_op(op));
        let mut record = batch.bytes().to_vec();
        record[..8].copy_from_slice(&first.to_le_bytes());
        let mut found = Found::default();
        sections.replay(&record, &mut found).unwrap();
        found
    }

    /// Prepares the section `x`, whose record has number 2.
    fn prepare_x(sections: &mut ReplayedSections) {
        let entry = Op::Entry {
            cf: 0,
            ty: ValueType::Value,
            key: b"k",
            value: b"v",
        };
        let begin = Op::BeginPrepare(PrepareKind::Committed);
        replay(sections, 2, &[begin, entry, Op::EndPrepare(b"x")]);
    }

    /// Log 10 has `x`, and a decision on it that failed if there is one.
    fn old_log(decision: Option<&Op<'_>>) -> ReplayedSections {
        let mut sections = ReplayedSections::default();
        sections.forget_before(10);
        sections.begin(10, 0, false);
        prepare_x(&mut sections);
        if let Some(decision) = decision {
            replay(&mut sections, 3, std::slice::from_ref(decision));
        }
        sections
    }

    const DECISIONS: [Option<Op<'static>>; 3] =
        [None, Some(Op::Commit(b"x")), Some(Op::Rollback(b"x"))];

    fn log_of_x(sections: &ReplayedSections) -> Option<u64> {
        sections
            .clone()
            .take_outstanding()
            .get(&b"x"[..])
            .map(ReplayedSection::log)
    }

    #[test]
    fn a_repetition_counts_once_the_log_before_is_not_needed() {
        for decision in &DECISIONS {
            // The older log is forgotten before its repetition is read, or after.
            for reads_first in [false, true] {
                let mut sections = old_log(decision.as_ref());
                if !reads_first {
                    sections.forget_before(11);
                    assert_eq!(log_of_x(&sections), None);
                }
                sections.begin(11, 4, false);
                prepare_x(&mut sections);
                sections.forget_before(11);
                let what = format!("{decision:?}, {reads_first}");
                assert_eq!(log_of_x(&sections), Some(11), "{what}");
                let found = replay(&mut sections, 9, &[Op::Commit(b"x")]);
                assert_eq!(found.0, [(b"k".to_vec(), 9)], "{what}");
                sections.forget_before(11);
                assert_eq!(log_of_x(&sections), None, "{what}");
            }
        }
    }

    #[test]
    fn a_decided_section_does_not_come_back_by_its_repetition() {
        for decision in &DECISIONS[1..] {
            let mut sections = old_log(decision.as_ref());
            sections.begin(11, 4, false);
            prepare_x(&mut sections);
            assert_eq!(log_of_x(&sections), None, "{decision:?}");
            // Nor by one in a later log, while a log between has a decision that counts.
            let mut sections = old_log(None);
            sections.begin(11, 4, false);
            prepare_x(&mut sections);
            assert_eq!(log_of_x(&sections), Some(11));
            replay(
                &mut sections,
                5,
                std::slice::from_ref(decision.as_ref().unwrap()),
            );
            sections.begin(12, 5, false);
            prepare_x(&mut sections);
            sections.forget_before(11);
            assert_eq!(log_of_x(&sections), None, "{decision:?}");
            sections.forget_before(13);
            assert_eq!(log_of_x(&sections), None, "{decision:?}");
        }
    }

    /// A reader of logs may know of the commit before it knows which logs are needed.
    #[test]
    fn a_commit_behind_a_repetition_is_on_it() {
        for decision in &DECISIONS {
            let mut sections = old_log(decision.as_ref());
            sections.begin(11, 4, false);
            prepare_x(&mut sections);
            let found = replay(&mut sections, 9, &[Op::Commit(b"x")]);
            assert_eq!(found.0, [(b"k".to_vec(), 9)], "{decision:?}");
            let found = replay(&mut sections, 10, &[Op::Commit(b"x")]);
            assert_eq!(found.0, [], "{decision:?}: once");
            sections.forget_before(11);
            assert_eq!(log_of_x(&sections), None, "{decision:?}");
        }
    }
}
