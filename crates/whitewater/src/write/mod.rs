//! The commit sequence.
//!
//! A write goes through these steps, whatever the protocol:
//!
//! 1. *admit*: check the batch, wait out stalls ([`stall`]). A writer that
//!    sleeps here holds nothing that others need.
//! 2. *reserve*: take sequence numbers and a place in the log's order.
//! 3. *log*: put the batch into the log; with `sync`, make it durable.
//! 4. *insert*: put the entries into the memtables.
//! 5. *publish*: raise the visible sequence number.
//! 6. *acknowledge*: return.
//!
//! A protocol decides who does a step and who waits; the steps themselves are
//! behind [`CommitEnv`], which knows sequence numbers, a log write and an
//! apply, and no protocol. [`group`] is the protocol that stands: leader and
//! followers.
//!
//! Invariants (numbers of the design memo in brackets):
//! * C1 [I1]: sequence order is log order is publication order.
//! * C2 [I2]: `visible = v` only if every entry with a number up to `v` is in
//!   its memtable.
//! * C3 [I4]: `visible` only takes values at ends of batches.
//! * C4 [I8]: a write is acknowledged only after its log record was handed to
//!   the operating system, with `sync` only after a successful sync of its log
//!   and all logs before it.
//! * C5 [I15]: the first failed log write or insert stops all later writes;
//!   nothing of the failed group becomes visible, and its numbers are not
//!   used again.

pub(crate) mod group;
pub(crate) mod log;
pub(crate) mod stall;

use crate::memtable::Memtable;
use parking_lot::Mutex;
use std::sync::Arc;
use whitewater_storage::batch::Batch;
use whitewater_storage::key::SequenceNumber;
use whitewater_storage::{Error, Result};

/// The memtables that writes go to at one moment, by column family id.
/// Immutable; a switch makes a new one.
#[derive(Debug, Default, Clone)]
pub(crate) struct MemtableMap {
    by_id: Vec<(u32, Arc<Memtable>)>,
}

impl MemtableMap {
    /// A map of `entries`, ids ascending.
    pub fn new(by_id: Vec<(u32, Arc<Memtable>)>) -> Self {
        debug_assert!(by_id.is_sorted_by_key(|(id, _)| *id));
        MemtableMap { by_id }
    }

    /// The position of column family `id`.
    #[inline]
    pub fn position(&self, id: u32) -> Option<usize> {
        if self.by_id.first().is_some_and(|(first, _)| *first == id) {
            return Some(0);
        }
        self.by_id.binary_search_by_key(&id, |(id, _)| *id).ok()
    }

    /// The memtable at a position.
    #[inline]
    pub fn at(&self, position: usize) -> &Arc<Memtable> {
        &self.by_id[position].1
    }
}

/// Work that must run while no group is in flight.
pub(crate) type Barrier = Box<dyn FnOnce() -> Result<()> + Send>;

/// One caller's request to the protocol.
pub(crate) enum Request {
    /// Commit a batch.
    Write(WriteRequest),
    /// Run this between groups.
    Barrier(Mutex<Option<Barrier>>),
}

/// A batch to commit.
#[derive(Debug)]
pub(crate) struct WriteRequest {
    pub batch: Batch,
    pub sync: bool,
    pub disable_wal: bool,
    /// Ignore operations on unknown column families.
    pub ignore_missing_cf: bool,
    /// See [`WriteSpec`](crate::options::read::WriteSpec).
    pub insert_hint: bool,
}

/// The steps that every protocol shares. Implemented by the database, and by
/// a fake in the protocols' tests.
pub(crate) trait CommitEnv: Sync {
    /// Called by whoever is about to take sequence numbers, while nobody else
    /// does: refuses when writes have failed before, switches full memtables.
    fn prepare(&self) -> Result<Arc<MemtableMap>>;
    /// Told how many writes are committed together, for statistics.
    fn grouped(&self, _writes: usize) {}
    /// Takes `count` sequence numbers; returns the first.
    fn reserve(&self, count: u64) -> SequenceNumber;
    /// Logs one record, the concatenation of `parts`. In C1's order.
    fn log(&self, parts: &[&[u8]], sync: bool) -> Result<()>;
    /// Inserts a batch whose first entry gets `first`.
    fn apply(
        &self,
        memtables: &MemtableMap,
        request: &WriteRequest,
        first: SequenceNumber,
    ) -> Result<()>;
    /// Makes all entries up to `last` visible.
    fn publish(&self, last: SequenceNumber);
    /// A log write or an insert failed: refuse all later writes (C5).
    fn fail(&self, error: &Error);
}

#[cfg(test)]
mod tests;
