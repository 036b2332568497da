//! Which sequence number each operation of a log record has.
//!
//! A record's header has the number of its first operation. How the others follow is not written in
//! the log: the write policy under which it was written decides it, and whoever reads it has to
//! know that policy. This walk over a record is the one rule for all that read logs.
//!
//! A record may hold several batches of a group: sections, markers and plain operations in any
//! order.

use super::{Op, Ops, PrepareKind, ops, sequence};
use crate::error::{Error, Result};
use crate::key::{MAX_SEQUENCE_AT_OPEN, SequenceNumber};
use std::collections::HashSet;

/// How the operations of log records use up sequence numbers.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Numbering {
    /// Each entry outside of prepared sections uses up one: every database without transactions,
    /// and the write policy `WRITE_COMMITTED`. The entries of a section take theirs at the commit,
    /// behind the entries that stand before the commit's marker. All that stand in a section have
    /// the number of what follows it, of which they use up none.
    #[default]
    PerEntry,
    /// Each batch of the record uses up one, and all of its entries have it: the write policies
    /// `WRITE_PREPARED` and `WRITE_UNPREPARED`. A batch ends with its section, with the decision on
    /// a transaction and with a noop that does not stand at its beginning. It is cut before a key
    /// that it has already; keys are compared by their bytes.
    PerBatch,
}

impl Numbering {
    /// Refuses the sections of another write policy.
    ///
    /// # Errors
    /// `NotSupported`, in RocksDB's words.
    pub fn check(self, kind: PrepareKind) -> Result<()> {
        let text = match (self, kind) {
            (Numbering::PerEntry, PrepareKind::Committed)
            | (Numbering::PerBatch, PrepareKind::Persisted | PrepareKind::Unprepared) => {
                return Ok(());
            }
            (Numbering::PerBatch, PrepareKind::Committed) => {
                "WriteCommitted txn tag when write_after_commit_ is disabled (in \
                 WritePrepared/WriteUnprepared mode)"
            }
            (Numbering::PerEntry, PrepareKind::Persisted) => {
                "WritePrepared/WriteUnprepared txn tag when write_after_commit_ is enabled (in \
                 default WriteCommitted mode)"
            }
            (Numbering::PerEntry, PrepareKind::Unprepared) => {
                "WriteUnprepared txn tag when write_after_commit_ is enabled (in default \
                 WriteCommitted mode)"
            }
        };
        Err(Error::not_supported(format_args!(
            "{text}. If it is not due to corruption, the WAL must be emptied before changing the \
             WritePolicy."
        )))
    }

    /// The other one, for readers that are told no policy.
    #[must_use]
    pub fn other(self) -> Self {
        match self {
            Numbering::PerEntry => Numbering::PerBatch,
            Numbering::PerBatch => Numbering::PerEntry,
        }
    }

    /// How the operations of the record `rep` are numbered in logs that are read with this one.
    /// The policy may have changed: with [`PerBatch`](Self::PerBatch), a record without sections
    /// and decisions ends with a noop. One that ends with an entry was written under another
    /// policy, and each of its entries used up a number.
    #[must_use]
    pub fn of_record(self, rep: &[u8]) -> Self {
        let mut last_is_entry = false;
        for op in ops(rep) {
            match op {
                Ok(Op::Entry { .. }) => last_is_entry = true,
                Ok(Op::Noop) => last_is_entry = false,
                Ok(Op::LogData(_)) => {}
                Ok(_) | Err(_) => return self,
            }
        }
        match last_is_entry {
            true => Numbering::PerEntry,
            false => self,
        }
    }

    /// Walks over the log record `rep`.
    pub fn walk(self, rep: &[u8]) -> Numbered<'_> {
        Numbered {
            ops: ops(rep),
            numbering: self,
            next: sequence(rep),
            first: sequence(rep),
            in_section: false,
            at_beginning: true,
            keys: HashSet::new(),
        }
    }
}

/// The operations of a log record with their sequence numbers. Ends after the first error.
///
/// With [`Numbering::PerEntry`], whoever comes upon the commit of a section gives its entries the
/// numbers from the commit's on, and says with [`use_up`](Self::use_up) how many these are.
#[derive(Debug)]
pub struct Numbered<'a> {
    ops: Ops<'a>,
    numbering: Numbering,
    /// Of the next operation.
    next: SequenceNumber,
    /// In the header.
    first: SequenceNumber,
    in_section: bool,
    /// No operation of the current batch has been met.
    at_beginning: bool,
    /// Column family and key of the current batch's entries, for [`Numbering::PerBatch`].
    keys: HashSet<(u32, &'a [u8])>,
}

impl<'a> Numbered<'a> {
    /// Uses up `count` numbers, for the entries of a section that was committed.
    ///
    /// # Errors
    /// `Corruption` for numbers that no entry of a database can have.
    pub fn use_up(&mut self, count: u64) -> Result<()> {
        match self.next.checked_add(count) {
            Some(next) if next <= MAX_SEQUENCE_AT_OPEN => {
                self.next = next;
                Ok(())
            }
            _ => Err(Error::corruption(format_args!(
                "write batch of {count} operations from sequence number {} on, out of range",
                self.next
            ))),
        }
    }

    /// How many numbers the operations have used up so far. A record that has used up none may
    /// still have taken one.
    pub fn used(&self) -> u64 {
        self.next - self.first
    }

    /// The number that the next operation would get.
    pub fn next_number(&self) -> SequenceNumber {
        self.next
    }

    fn number(&mut self, op: &Op<'a>) -> Result<SequenceNumber> {
        match *op {
            Op::BeginPrepare(kind) => {
                self.numbering.check(kind)?;
                self.in_section = true;
            }
            Op::EndPrepare(_) => self.in_section = false,
            _ => {}
        }
        match self.numbering {
            Numbering::PerEntry => self.per_entry(op),
            Numbering::PerBatch => self.per_batch(op),
        }
    }

    fn per_entry(&mut self, op: &Op<'a>) -> Result<SequenceNumber> {
        let number = self.next;
        if matches!(op, Op::Entry { .. }) && !self.in_section {
            self.use_up(1)?;
        }
        Ok(number)
    }

    fn per_batch(&mut self, op: &Op<'a>) -> Result<SequenceNumber> {
        let ends = match *op {
            Op::Entry { cf, key, .. } => {
                if !self.keys.insert((cf, key)) {
                    self.use_up(1)?;
                    self.keys.clear();
                    self.keys.insert((cf, key));
                }
                false
            }
            Op::LogData(_) | Op::BeginPrepare(_) => false,
            Op::Noop => !self.at_beginning,
            Op::EndPrepare(_) | Op::Commit(_) | Op::CommitAt { .. } | Op::Rollback(_) => true,
        };
        let number = self.next;
        if ends {
            self.use_up(1)?;
            self.keys.clear();
        }
        self.at_beginning = ends || matches!(op, Op::Noop);
        Ok(number)
    }
}

impl<'a> Iterator for Numbered<'a> {
    type Item = Result<(Op<'a>, SequenceNumber)>;

    fn next(&mut self) -> Option<Self::Item> {
        let op = match self.ops.next()? {
            Ok(op) => op,
            Err(e) => return Some(Err(e)),
        };
        let number = self.number(&op);
        if number.is_err() {
            self.ops.stop();
        }
        Some(number.map(|number| (op, number)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::batch::Batch;
    use crate::error::ErrorKind;
    use crate::key::ValueType;

    #[test]
    fn a_plain_record_tells_by_its_end_how_it_is_numbered() {
        use Numbering::{PerBatch, PerEntry};
        let of = |ops: &[Op<'_>]| PerBatch.of_record(&record(7, ops));
        assert_eq!(of(&[put(b"a"), put(b"b")]), PerEntry);
        assert_eq!(of(&[Op::Noop, put(b"a"), Op::LogData(b"x")]), PerEntry);
        assert_eq!(of(&[put(b"a"), Op::Noop]), PerBatch);
        assert_eq!(of(&[Op::LogData(b"x")]), PerBatch);
        for marker in [BEGIN, Op::Commit(b"x"), Op::Rollback(b"x")] {
            assert_eq!(of(&[marker, put(b"a")]), PerBatch, "{marker:?}");
            assert_eq!(of(&[put(b"a"), marker]), PerBatch, "{marker:?}");
        }
        let ends = record(7, &[put(b"a"), Op::Noop]);
        assert_eq!(PerEntry.of_record(&ends), PerEntry);
    }

    const BEGIN: Op<'_> = Op::BeginPrepare(PrepareKind::Committed);
    const BEGIN_PERSISTED: Op<'_> = Op::BeginPrepare(PrepareKind::Persisted);

    fn put(key: &[u8]) -> Op<'_> {
        Op::Entry {
            cf: 0,
            ty: ValueType::Value,
            key,
            value: b"v",
        }
    }

    fn record(first: SequenceNumber, ops: &[Op<'_>]) -> Vec<u8> {
        let mut b = Batch::default();
        ops.iter().for_each(|op| b.push_op(op));
        let mut rep = b.bytes().to_vec();
        rep[..8].copy_from_slice(&first.to_le_bytes());
        rep
    }

    /// The numbers of the entries and the next record's number.
    fn numbers(numbering: Numbering, rep: &[u8]) -> (Vec<SequenceNumber>, SequenceNumber) {
        let mut walk = numbering.walk(rep);
        let mut entries = Vec::new();
        for next in walk.by_ref() {
            let (op, number) = next.unwrap();
            if let Op::Entry { .. } = op {
                entries.push(number);
            }
        }
        assert_eq!(walk.next_number() - walk.used(), sequence(rep));
        (entries, walk.next_number())
    }

    /// The calls that `docs/format/wal.md` shows, as RocksDB 7.8.3 logs them under
    /// `WRITE_COMMITTED`.
    #[test]
    fn sections_of_write_committed_use_up_no_numbers() {
        let of = |first, ops: &[Op<'_>]| numbers(Numbering::PerEntry, &record(first, ops));
        assert_eq!(of(1, &[Op::Noop, put(b"k0")]), (vec![1], 2));
        let section = [BEGIN, put(b"k1"), put(b"k2"), Op::EndPrepare(b"xa")];
        assert_eq!(of(2, &section), (vec![2, 2], 2));
        let three = [Op::Noop, put(b"k3"), put(b"k0"), put(b"k3")];
        assert_eq!(of(2, &three), (vec![2, 3, 4], 5));
        assert_eq!(of(7, &[Op::Rollback(b"xc")]), (vec![], 7));
        // Records of a group: the section's entries take numbers where the commit stands.
        let group = [
            put(b"a"),
            BEGIN,
            put(b"k1"),
            put(b"k2"),
            Op::EndPrepare(b"x"),
            put(b"b"),
            Op::Commit(b"x"),
            put(b"c"),
        ];
        let rep = record(10, &group);
        let mut walk = Numbering::PerEntry.walk(&rep);
        let mut seen = Vec::new();
        while let Some(next) = walk.next() {
            let (op, number) = next.unwrap();
            seen.push(number);
            if op == Op::Commit(b"x") {
                walk.use_up(2).unwrap();
            }
        }
        assert_eq!(seen, [10, 11, 11, 11, 11, 11, 12, 14]);
        assert_eq!((walk.used(), walk.next_number()), (5, 15));
    }

    /// The same calls under `WRITE_PREPARED`.
    #[test]
    fn batches_of_write_prepared_have_one_number_each() {
        let of = |first, ops: &[Op<'_>]| numbers(Numbering::PerBatch, &record(first, ops));
        assert_eq!(of(1, &[Op::Noop, put(b"k0"), Op::Noop]), (vec![1], 2));
        let section = [
            BEGIN_PERSISTED,
            put(b"k1"),
            put(b"k2"),
            Op::EndPrepare(b"xa"),
        ];
        assert_eq!(of(2, &section), (vec![2, 2], 3));
        let three = [Op::Noop, put(b"k3"), put(b"k0"), put(b"k3"), Op::Noop];
        assert_eq!(of(3, &three), (vec![3, 3, 4], 5));
        assert_eq!(of(5, &[Op::Commit(b"xa")]), (vec![], 6));
        let undone = [put(b"k1"), put(b"k9"), Op::Rollback(b"xc")];
        assert_eq!(of(7, &undone), (vec![7, 7], 8));
        assert_eq!(
            of(10, &[Op::Noop]),
            (vec![], 10),
            "it stands at the beginning"
        );
        assert_eq!(of(10, &[Op::LogData(b"x"), Op::Noop]), (vec![], 11));
        let (ts, unprepared) = (&b"t"[..], Op::BeginPrepare(PrepareKind::Unprepared));
        let mixed = [
            unprepared,
            put(b"k"),
            Op::EndPrepare(b"x"),
            Op::CommitAt {
                timestamp: ts,
                xid: b"x",
            },
            put(b"k"),
            Op::Noop,
        ];
        assert_eq!(of(4, &mixed), (vec![4, 6], 7));
    }

    #[test]
    fn sections_of_another_write_policy_are_refused() {
        for (numbering, kind, text) in [
            (
                Numbering::PerBatch,
                PrepareKind::Committed,
                "WriteCommitted txn tag",
            ),
            (
                Numbering::PerEntry,
                PrepareKind::Persisted,
                "WritePrepared/WriteUnprepared txn tag",
            ),
            (
                Numbering::PerEntry,
                PrepareKind::Unprepared,
                "WriteUnprepared txn tag",
            ),
        ] {
            let rep = record(
                1,
                &[put(b"a"), Op::BeginPrepare(kind), Op::EndPrepare(b"x")],
            );
            let found: Vec<_> = numbering.walk(&rep).collect();
            assert_eq!(found.len(), 2, "nothing follows the error");
            let e = found[1].clone().unwrap_err();
            assert_eq!(e.kind(), ErrorKind::NotSupported);
            assert!(e.to_string().contains(text), "{e}");
            let end = "the WAL must be emptied before changing the WritePolicy.";
            assert!(e.to_string().ends_with(end), "{e}");
        }
    }

    #[test]
    fn numbers_stay_below_the_limit() {
        let rep = record(MAX_SEQUENCE_AT_OPEN - 2, &[Op::Commit(b"x"), put(b"k")]);
        let mut walk = Numbering::PerEntry.walk(&rep);
        walk.next().unwrap().unwrap();
        assert!(walk.use_up(u64::MAX).is_err());
        walk.use_up(2).unwrap();
        assert!(walk.next().unwrap().is_err());
        assert!(walk.next().is_none());
    }
}
