//! Writes of two-phase commit (`WRITE_COMMITTED`): the log gets other operations than the
//! memtables.
//!
//! A transaction is prepared by logging its *section*, its operations between two markers.
//! Nothing is inserted then. A later record decides: a commit, at whose numbers the
//! section's operations are inserted, or a rollback.

use std::sync::Arc;
use whitewater_storage::Result;
use whitewater_storage::batch::Batch;

/// The operations of a prepared transaction, between the markers that the log has around
/// them.
#[derive(Debug)]
pub(crate) struct Section {
    /// Name of the transaction.
    pub name: Box<[u8]>,
    /// The operations, with the markers.
    pub batch: Batch,
}

/// A write of two-phase commit.
#[derive(Debug)]
pub(crate) enum SectionWrite {
    /// Logs the section and inserts nothing.
    Prepare(Arc<Section>),
    /// Logs a batch that ends with the commit's marker. Inserts the operations of that
    /// batch, then those of the section.
    Commit(Arc<Section>, Batch),
    /// Logs a batch that is the rollback's marker, and inserts nothing.
    Rollback(Arc<Section>, Batch),
}

impl SectionWrite {
    /// The section that is prepared or decided.
    pub fn section(&self) -> &Arc<Section> {
        match self {
            SectionWrite::Prepare(section)
            | SectionWrite::Commit(section, _)
            | SectionWrite::Rollback(section, _) => section,
        }
    }

    /// What is logged.
    pub fn logged(&self) -> &Batch {
        match self {
            SectionWrite::Prepare(section) => &section.batch,
            SectionWrite::Commit(_, end) | SectionWrite::Rollback(_, end) => end,
        }
    }

    /// What is inserted, in the order of numbers.
    pub fn inserted(&self) -> impl Iterator<Item = &Batch> {
        let (end, section) = match self {
            SectionWrite::Commit(section, end) => (Some(end), Some(&section.batch)),
            SectionWrite::Prepare(_) | SectionWrite::Rollback(..) => (None, None),
        };
        end.into_iter().chain(section)
    }

    /// The batch that is inserted, if no other one has operations that are inserted.
    pub fn only_inserted(&self) -> Option<&Batch> {
        match self {
            SectionWrite::Commit(section, end) if end.count() == 0 => Some(&section.batch),
            _ => None,
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
        let counts = self.inserted().map(|batch| u64::from(batch.count()));
        counts.sum::<u64>().max(1)
    }

    /// Bytes that are logged or inserted.
    pub fn size(&self) -> usize {
        match self {
            SectionWrite::Commit(section, end) => end.bytes().len() + section.batch.bytes().len(),
            _ => self.logged().bytes().len(),
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
