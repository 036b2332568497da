//! The step *admit*: wait out write stalls.
//!
//! Nothing is held yet, so a writer that sleeps here is in nobody's way.

use super::env::{CommitEnv, LargeBatchTurn};
use super::request::Write;
use super::steps::Prefetched;
use super::wal::Link;
use crate::memtable::operations::Operations;
use whitewater_concurrent::system::MutexGuard;
use whitewater_storage::Result;
use whitewater_storage::batch::HEADER_SIZE;

/// The most bytes that an entry takes in a memtable beside its key and value.
const ENTRY_OVERHEAD: u64 = 128;

/// Bytes of memory from which on batches take turns. A radix tree that is not full has
/// room for one such batch, however large, and for many small ones beside it.
const LARGE: u64 = if cfg!(test) { 1 << 20 } else { 64 << 20 };

/// A write may go ahead. To be held until its commit returns, by when it is inserted: the
/// next large batch then finds out whether the memtable is full.
pub(super) struct Admitted<'e> {
    _large_turn: Option<MutexGuard<'e, LargeBatchTurn>>,
}

/// Waits until `write` may go ahead. Returns `None` if it is empty, and so complete. If it
/// has to wait, it drops what was prefetched.
///
/// # Errors
/// `Incomplete` instead of a wait with `no_slowdown`; the background error that keeps a
/// stall from ending; `Corruption` if the batch does not match its checksums.
#[inline(always)]
pub(super) fn admit<'e, E: CommitEnv>(
    env: &'e E,
    write: &Write<'_>,
    prefetched: &mut Option<Prefetched<'_, E>>,
) -> Result<Option<Admitted<'e>>> {
    let Write { operations, flags } = write;
    if is_empty(operations) {
        env.commit_empty(flags.sync)?;
        return Ok(None);
    }
    if env.may_stall(flags) {
        *prefetched = None;
        env.await_admission(operations.size(), flags)?;
    }
    // Nothing was done yet, so a mismatch concerns this write alone.
    operations.verify()?;
    // After the stalls: large batches must not wait for a stall one behind the other.
    let large_turn = is_large(operations).then(|| {
        *prefetched = None;
        env.large_batch_turn().lock()
    });
    Ok(Some(Admitted {
        _large_turn: large_turn,
    }))
}

/// Whether there is nothing to write. A link to the log before counts as nothing: a copied
/// one must not get into the middle of another log.
#[inline]
fn is_empty(operations: &Operations<'_>) -> bool {
    let Operations::Batch(batch) = operations else {
        return false;
    };
    let bytes = batch.bytes();
    batch.count() == 0 && (bytes.len() == HEADER_SIZE || Link::decode(bytes).is_some())
}

/// Whether a write takes so much memory that it waits for its turn.
#[inline(always)]
fn is_large(operations: &Operations<'_>) -> bool {
    memory_of(operations.size() as u64, operations.entries()) > LARGE
}

/// The most bytes of memory that a batch takes in memtables.
pub(crate) fn memory_of(bytes: u64, entries: u32) -> u64 {
    bytes + u64::from(entries) * ENTRY_OVERHEAD
}
