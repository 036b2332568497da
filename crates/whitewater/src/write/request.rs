//! A write, in the two forms that the protocols want it in.
//!
//! The steps work on a [`Write`], which borrows what it can. A leader works on the
//! requests of other threads, which have to own their batch: [`WriteRequest`].
//!
//! Operations come as a batch, the form of the log and of requests. A single operation
//! whose writer does everything by itself needs no batch; if it is logged, its
//! [`Record`](super::record::Record) makes one.

use crate::memtable::operations::Operations;
use whitewater_storage::batch::Batch;

/// How to commit a write.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct WriteFlags {
    pub sync: bool,
    pub disable_wal: bool,
    /// See [`WriteSpec`](crate::options::read::WriteSpec).
    pub insert_hint: bool,
    /// Fail with `Incomplete` instead of waiting for a write stall to end.
    pub no_slowdown: bool,
    /// Give way to compactions when they are behind.
    pub low_pri: bool,
    /// The insert reads everything before it (`db::merge_folding`), so it begins only when all of
    /// that is in the memtables.
    pub reads_own_prefix: bool,
}

/// A batch to commit. Operations on column families that do not exist take their numbers
/// and are not inserted.
#[derive(Debug)]
pub(crate) struct WriteRequest {
    pub batch: Batch,
    pub flags: WriteFlags,
}

impl WriteRequest {
    /// The form that the steps work on.
    #[inline]
    pub fn write(&self) -> Write<'_> {
        Write {
            operations: Operations::Batch(&self.batch),
            flags: self.flags,
        }
    }
}

/// Operations to commit, and how.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Write<'a> {
    pub operations: Operations<'a>,
    pub flags: WriteFlags,
}
