//! The operations of a write, as memtables and the log take them.

use super::sections::SectionWrite;
use whitewater_storage::Result;
use whitewater_storage::batch::{self, Batch, EntryParts, HEADER_SIZE};
use whitewater_storage::key::ValueType;

/// The operations of a write: a batch, or a single operation that needs none.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Operations<'a> {
    Batch(&'a Batch),
    Single(SingleOp<'a>),
    /// Of two-phase commit: the log gets other operations than the memtables.
    Section(&'a SectionWrite),
}

/// The only operation of a write. It takes a number and has no checksum.
#[derive(Debug, Clone, Copy)]
pub(crate) struct SingleOp<'a> {
    pub cf: u32,
    pub ty: ValueType,
    pub key: &'a [u8],
    pub value: &'a [u8],
}

impl<'a> SingleOp<'a> {
    /// `value` is ignored for deletions of a key, as in a batch.
    #[inline]
    pub fn new(cf: u32, ty: ValueType, key: &'a [u8], value: &'a [u8]) -> Self {
        let value = if batch::has_value(ty) { value } else { &[] };
        SingleOp { cf, ty, key, value }
    }

    /// Bytes of the batch that it would be.
    #[inline]
    pub fn size(&self) -> usize {
        HEADER_SIZE + batch::entry_size(self.cf, self.ty, self.key, self.value)
    }

    /// The body of that batch.
    #[inline]
    pub fn in_parts(&self) -> EntryParts<'a> {
        EntryParts::new(self.cf, self.ty, self.key, self.value)
    }
}

impl Operations<'_> {
    /// Operations that the header of the log record counts.
    #[inline]
    pub fn count(&self) -> u32 {
        match self {
            Operations::Batch(batch) => batch.count(),
            Operations::Single(_) => 1,
            Operations::Section(write) => write.logged().count(),
        }
    }

    /// Operations that are inserted into memtables, at most.
    #[inline]
    pub fn entries(&self) -> u32 {
        match self {
            Operations::Section(write) => write.entries(),
            operations => operations.count(),
        }
    }

    /// Sequence numbers that they take. A batch of log data alone takes one, which keeps
    /// its record in the order: later writes are acknowledged only when the record is in
    /// the log (C4 of `write`).
    #[inline]
    pub fn numbers(&self) -> u64 {
        match self {
            Operations::Section(write) => write.numbers(),
            operations => u64::from(operations.count()).max(1),
        }
    }

    /// Bytes of the batch that they are, or would be.
    #[inline]
    pub fn size(&self) -> usize {
        match self {
            Operations::Batch(batch) => batch.bytes().len(),
            Operations::Section(write) => write.size(),
            Operations::Single(op) => op.size(),
        }
    }

    /// Compares them with their checksums, if they have any.
    ///
    /// # Errors
    /// `Corruption` if they do not match.
    #[inline]
    pub fn verify(&self) -> Result<()> {
        match self {
            Operations::Batch(batch) => batch.verify(),
            Operations::Single(_) => Ok(()),
            Operations::Section(write) => write.verify(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_operation_has_the_size_of_its_batch() {
        let (key, value) = ([7; 130], [8; 300]);
        for ty in [
            ValueType::Value,
            ValueType::Deletion,
            ValueType::SingleDeletion,
            ValueType::Merge,
            ValueType::RangeDeletion,
        ] {
            for (cf, key, value) in [
                (0, &key[..1], &value[..]),
                (1, &key[..], &value[..0]),
                (128, &key[..127], &value[..128]),
            ] {
                let mut batch = Batch::default();
                batch.push(cf, ty, key, value);
                let single = Operations::Single(SingleOp::new(cf, ty, key, value));
                assert_eq!(
                    single.size(),
                    Operations::Batch(&batch).size(),
                    "{ty:?} in {cf}"
                );
            }
        }
    }
}
