//! Writes of two-phase commit: the log may get other operations than the memtables.
//!
//! A transaction is prepared by logging its *section*, its operations between two markers. A
//! later record decides: a commit or a rollback. When the section's operations are inserted
//! depends on the write policy ([`PrepareKind`]):
//! * `WRITE_COMMITTED`: by the commit, at its numbers;
//! * `WRITE_PREPARED`: by the prepare. Their numbers are undecided until the decision, which
//!   may insert operations of its own: those of the commit-time batch, or the values that a
//!   rollback restores. Those are undecided, too, until all are decided at one instant.

use std::sync::Arc;
use whitewater_concurrent::undecided::NumberRange;
use whitewater_storage::batch::replay::ReplayedSection;
use whitewater_storage::batch::{Batch, Numbering, Op, PrepareKind, sequence};
use whitewater_storage::key::SequenceNumber;
use whitewater_storage::{Result, planted};

/// The operations of a prepared transaction, between the markers that the log has around
/// them.
#[derive(Debug)]
pub(crate) struct Section {
    /// Name of the transaction.
    pub name: Arc<[u8]>,
    /// The operations, with the markers.
    pub batch: Batch,
    /// What the log has of it, each record with its first number, if these are several: RocksDB
    /// has written it in parts (`WRITE_UNPREPARED`).
    parts: Vec<(SequenceNumber, Batch)>,
    /// How many numbers its operations take if the prepare inserts them; 0 if the commit does.
    numbers: u64,
    /// The number of each operation, counted from the section's first; empty if all have the
    /// first.
    offsets: Box<[u64]>,
}

impl Section {
    /// The section of the transaction `name`: `batch`, which has its markers, of the kind `kind`.
    ///
    /// # Errors
    /// `Corruption` if the bytes are not a batch, and `NotSupported` for a section of another
    /// kind.
    pub fn new(name: &[u8], batch: Batch, kind: PrepareKind) -> Result<Self> {
        let (mut numbers, mut offsets) = (0, Vec::new());
        if kind != PrepareKind::Committed {
            let first = sequence(batch.bytes());
            let mut walk = Numbering::PerBatch.walk(batch.bytes());
            for next in walk.by_ref() {
                let (op, number) = next?;
                if let Op::Entry { .. } = op {
                    offsets.push(number - first);
                }
            }
            numbers = walk.used();
            if offsets.last().is_none_or(|last| *last == 0) {
                offsets.clear();
            }
        }
        Ok(Section {
            name: name.into(),
            batch,
            parts: Vec::new(),
            numbers,
            offsets: offsets.into(),
        })
    }

    /// The section of the transaction `name` that was `found` in logs.
    ///
    /// # Errors
    /// As for [`new`](Self::new).
    pub fn recovered(name: &[u8], found: ReplayedSection, kind: PrepareKind) -> Result<Self> {
        let parts = found.parts.into_iter();
        let mut parts: Vec<_> = parts.map(|part| (part.first, part.batch)).collect();
        let is_whole = parts.len() == 1 && found.is_prepared;
        if let Some((_, batch)) = parts.pop_if(|_| is_whole) {
            return Section::new(name, batch, kind);
        }
        let mut whole = Batch::default();
        whole.push_op(&Op::BeginPrepare(kind));
        for op in parts.iter().flat_map(|(_, part)| part.ops()) {
            let op = op?;
            if let Op::Entry { .. } | Op::LogData(_) = op {
                whole.push_op(&op);
            }
        }
        whole.push_end_prepare(name);
        Ok(Section {
            parts,
            ..Section::new(name, whole, kind)?
        })
    }

    /// The records with which a log has it, if it is prepared with the number `number`.
    pub fn records(&self, number: SequenceNumber) -> Vec<Vec<u8>> {
        let record = |(first, batch): (SequenceNumber, &Batch)| {
            let mut record = batch.bytes().to_vec();
            record[..8].copy_from_slice(&first.to_le_bytes());
            record
        };
        if self.parts.is_empty() {
            return vec![record((number, &self.batch))];
        }
        let parts = self.parts.iter().map(|(first, batch)| (*first, batch));
        parts.map(record).collect()
    }

    /// How many bytes it takes, about.
    pub fn memory(&self) -> u64 {
        let parts = self.parts.iter().map(|(_, part)| part.bytes().len());
        let batches = self.batch.bytes().len() + parts.sum::<usize>();
        (batches + size_of_val(&*self.offsets) + self.name.len()) as u64
    }

    /// Whether the prepare inserts its operations.
    pub fn is_inserted_early(&self) -> bool {
        self.numbers > 0
    }
}

/// How the operations of a batch are numbered from its first number on.
#[derive(Debug, Clone, Copy)]
pub(crate) enum EntryNumbers<'a> {
    /// Each has its own.
    Ascending,
    /// The distance of each from the first; if there are none, all have the first.
    At(&'a [u64]),
}

impl EntryNumbers<'_> {
    /// The distance of operation `at`, counted from 0, from the first number.
    #[inline]
    pub fn offset(self, at: u64) -> u64 {
        match self {
            EntryNumbers::Ascending => at,
            EntryNumbers::At(offsets) => offsets.get(at as usize).copied().unwrap_or(0),
        }
    }
}

/// A write of two-phase commit.
#[derive(Debug)]
pub(crate) enum SectionWrite {
    /// Logs the section. Inserts its operations, if it is of a kind of which the prepare does.
    Prepare(Arc<Section>),
    /// Logs a batch that ends with the commit's marker. Inserts the operations of that
    /// batch, then those of the section, if the prepare has not: with the commit's timestamp, if
    /// there is a last batch, which has them so.
    Commit(Arc<Section>, Batch, Option<Batch>),
    /// Logs a batch that ends with the rollback's marker, and inserts the operations of that
    /// batch: the values from before the section, if the prepare has inserted it.
    Rollback(Arc<Section>, Batch),
}

impl SectionWrite {
    /// The section that is prepared or decided.
    pub fn section(&self) -> &Arc<Section> {
        match self {
            SectionWrite::Prepare(section)
            | SectionWrite::Commit(section, ..)
            | SectionWrite::Rollback(section, _) => section,
        }
    }

    /// What is logged.
    pub fn logged(&self) -> &Batch {
        match self {
            SectionWrite::Prepare(section) => &section.batch,
            SectionWrite::Commit(_, end, _) | SectionWrite::Rollback(_, end) => end,
        }
    }

    /// What is inserted, in the order of numbers. A batch may be without operations.
    pub fn inserted(&self) -> impl Iterator<Item = &Batch> {
        let early = self.section().is_inserted_early();
        let (end, section) = match self {
            SectionWrite::Prepare(section) => (None, early.then_some(&section.batch)),
            SectionWrite::Commit(section, end, stamped) => {
                let late = stamped.as_ref().unwrap_or(&section.batch);
                (Some(end), (!early).then_some(late))
            }
            SectionWrite::Rollback(_, end) => (Some(end), None),
        };
        end.into_iter().chain(section)
    }

    /// The batch that is inserted, if no other one has operations that are inserted.
    pub fn only_inserted(&self) -> Option<&Batch> {
        let mut batches = self.inserted().filter(|batch| batch.count() > 0);
        let only = batches.next();
        only.filter(|_| batches.next().is_none())
    }

    /// How what is inserted is numbered.
    pub fn entry_numbers(&self) -> EntryNumbers<'_> {
        planted!(SectionNumberedByEntry => return EntryNumbers::Ascending);
        match self {
            SectionWrite::Prepare(section) => EntryNumbers::At(&section.offsets),
            SectionWrite::Commit(..) | SectionWrite::Rollback(..) => EntryNumbers::Ascending,
        }
    }

    /// Operations that are inserted.
    pub fn entries(&self) -> u32 {
        let counts = self.inserted().map(Batch::count);
        counts.fold(0, u32::saturating_add)
    }

    /// Sequence numbers that it takes: one, if nothing is inserted. That number keeps its
    /// record in the order, as for a batch of log data alone.
    pub fn numbers(&self) -> u64 {
        let numbers = match self {
            SectionWrite::Prepare(section) => section.numbers,
            SectionWrite::Commit(..) | SectionWrite::Rollback(..) => {
                self.inserted().map(|batch| u64::from(batch.count())).sum()
            }
        };
        numbers.max(1)
    }

    /// The numbers that are undecided once it is visible, until its section is decided. `first`
    /// is its first number.
    pub fn undecided(&self, first: SequenceNumber) -> Option<NumberRange> {
        let inserts = match self {
            SectionWrite::Prepare(_) => true,
            SectionWrite::Commit(_, end, _) | SectionWrite::Rollback(_, end) => end.count() > 0,
        };
        (inserts && self.section().is_inserted_early()).then(|| NumberRange {
            first,
            last: first + self.numbers() - 1,
        })
    }

    /// Bytes that are logged or inserted.
    pub fn size(&self) -> usize {
        let own = self.logged().bytes().len();
        match self {
            SectionWrite::Commit(section, ..) if !section.is_inserted_early() => {
                own + section.batch.bytes().len()
            }
            _ => own,
        }
    }

    /// Compares the operations with their checksums, if they have any.
    ///
    /// # Errors
    /// `Corruption` if they do not match.
    pub fn verify(&self) -> Result<()> {
        self.logged().verify()?;
        self.inserted().try_for_each(Batch::verify)
    }
}
