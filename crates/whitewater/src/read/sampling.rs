//! Which reads count for read-triggered compaction.
//!
//! A table that is read in vain, because the value is in an older one, costs every read that
//! passes it. The option `read_triggered_compaction_threshold` says from how many such reads per
//! byte on the table is compacted (`compact::score`). To count each of them would make readers
//! write to the same memory, so a thread counts one read in [`RATE`] for all of these.

use crate::stats::Sampler;

/// The number of reads that a sampled one stands for, as in RocksDB.
pub(crate) const RATE: u64 = 1024;

thread_local! {
    static SAMPLER: Sampler = const { Sampler::new() };
}

/// Whether the read that begins is counted.
#[inline]
pub(crate) fn is_sampled() -> bool {
    SAMPLER.with(|sampler| sampler.is_turn(RATE as u32))
}
