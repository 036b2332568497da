//! Which reads count for read-triggered compaction.
//!
//! A table that is read in vain, because the value is in an older one, costs every read that
//! passes it. The option `read_triggered_compaction_threshold` says from how many such reads per
//! byte on the table is compacted (`compact::score`). To count each of them would make readers
//! write to the same memory, so a thread counts one read in [`RATE`] for all of these.

use std::cell::Cell;
use whitewater_concurrent::system;

/// The number of reads that a sampled one stands for, as in RocksDB.
pub(crate) const RATE: u64 = 1024;

thread_local! {
    /// The state of the thread's generator of gaps; 0 before its first read.
    static STATE: Cell<u32> = const { Cell::new(0) };
    /// The number of reads until the next sampled one.
    static GAP: Cell<u32> = const { Cell::new(0) };
}

/// Whether the read that begins is counted. Gaps are random, so that reads that alternate in a
/// pattern all have their turn.
#[inline]
pub(crate) fn is_sampled() -> bool {
    let gap = GAP.get();
    if gap > 1 {
        GAP.set(gap - 1);
        return false;
    }
    begin_gap()
}

/// Chooses the next gap. The first read of a thread is not counted: threads that read little would
/// otherwise count for much.
#[cold]
fn begin_gap() -> bool {
    // A simulated run would depend on what the thread did before.
    if system::is_simulated() {
        return false;
    }
    let is_first = STATE.get() == 0;
    let mut state = if is_first { seed() } else { STATE.get() };
    // Marsaglia's xorshift with 32 bits, which never comes to 0.
    state ^= state << 13;
    state ^= state >> 17;
    state ^= state << 5;
    STATE.set(state);
    GAP.set(state % (2 * RATE as u32) + 1);
    !is_first
}

/// A number other than 0 that differs between threads.
fn seed() -> u32 {
    use std::hash::{BuildHasher, RandomState};
    RandomState::new().hash_one(std::thread::current().id()) as u32 | 1
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_read_in_a_thousand_is_sampled_and_none_of_short_threads() {
        let sampled = (0..1000 * RATE).filter(|_| is_sampled()).count();
        assert!((800..1250).contains(&sampled), "{sampled}");
        for _ in 0..100 {
            let first = std::thread::spawn(is_sampled).join();
            assert!(!first.expect("it only reads"));
        }
    }
}
