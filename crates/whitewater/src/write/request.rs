//! What is to be written, in the two forms that the protocols want it in.
//!
//! A [`Write`] is what the steps work on, and borrows what it can. A leader
//! works on requests of other threads, which have to own their batch:
//! [`WriteRequest`].
//!
//! A batch is the form in which the log, and whoever hands work to others, has
//! operations. A single one whose writer does it all by himself needs none: the
//! [`Record`](super::record::Record) makes one up if it is logged.

use whitewater_storage::Result;
use whitewater_storage::batch::{self, Batch, HEADER_SIZE};
use whitewater_storage::key::ValueType;

/// What is asked for beside the operations.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct WriteFlags {
    pub sync: bool,
    pub disable_wal: bool,
    /// See [`WriteSpec`](crate::options::read::WriteSpec).
    pub insert_hint: bool,
    /// The insert reads what is before it (`db::fold`): it begins only when
    /// all of that is in the memtables.
    pub reads_own_prefix: bool,
}

/// A batch to commit. Operations on column families that are not there take
/// their numbers and go nowhere.
#[derive(Debug)]
pub(crate) struct WriteRequest {
    pub batch: Batch,
    pub flags: WriteFlags,
}

impl WriteRequest {
    /// It, as the steps want it.
    #[inline]
    pub fn write(&self) -> Write<'_> {
        Write {
            operations: Operations::Batch(&self.batch),
            flags: self.flags,
        }
    }
}

/// Operations to commit.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Write<'a> {
    pub operations: Operations<'a>,
    pub flags: WriteFlags,
}

/// See [`Write`].
#[derive(Debug, Clone, Copy)]
pub(crate) enum Operations<'a> {
    Batch(&'a Batch),
    Single(SingleOp<'a>),
}

/// The only operation of a write, which takes a number and has no checksum.
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
}

impl Operations<'_> {
    /// Operations that take a number.
    #[inline]
    pub fn count(&self) -> u32 {
        match self {
            Operations::Batch(batch) => batch.count(),
            Operations::Single(_) => 1,
        }
    }

    /// Sequence numbers that they take. A batch without entries (log data
    /// alone) keeps its record in the order: what follows is acknowledged
    /// only when the record is in the log (C4).
    #[inline]
    pub(super) fn numbers(&self) -> u64 {
        u64::from(self.count()).max(1)
    }

    /// Bytes of the batch that they are, or would be.
    #[inline]
    pub fn size(&self) -> usize {
        match self {
            Operations::Batch(batch) => batch.bytes().len(),
            Operations::Single(one) => {
                HEADER_SIZE + batch::entry_size(one.cf, one.ty, one.key, one.value)
            }
        }
    }

    /// Whether they are what their checksums say, if they have any.
    ///
    /// # Errors
    /// `Corruption` if not.
    #[inline]
    pub fn verify(&self) -> Result<()> {
        match self {
            Operations::Batch(batch) => batch.verify(),
            Operations::Single(_) => Ok(()),
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
                let one = Operations::Single(SingleOp::new(cf, ty, key, value));
                assert_eq!(
                    one.size(),
                    Operations::Batch(&batch).size(),
                    "{ty:?} in {cf}"
                );
            }
        }
    }
}
