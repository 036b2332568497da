//! What is to be written, in the two forms that the protocols want it in.
//!
//! A [`Write`] is what the steps work on, and borrows what it can. A leader
//! works on requests of other threads, which have to own their batch:
//! [`WriteRequest`].
//!
//! A batch is the form in which the log, and whoever hands work to others, has
//! operations. A single one whose writer does it all by himself needs none: the
//! [`Record`](super::record::Record) makes one up if it is logged.

use crate::memtable::operations::Operations;
use whitewater_storage::batch::Batch;

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
