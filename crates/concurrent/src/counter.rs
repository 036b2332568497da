//! Counters for statistics.
//!
//! They are for numbers that are shown or compared with thresholds, never for numbers
//! that decide which memory may be accessed: they order nothing. They are std's atomics
//! in every build, so they may be statics.

use crossbeam_utils::CachePadded;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};

/// A statistics counter that wraps around at both ends.
///
/// Written and read by: any thread. Publishes: nothing; all accesses are relaxed.
#[derive(Debug, Default)]
pub struct Counter(AtomicU64);

impl Counter {
    /// A counter at zero.
    pub const fn new() -> Self {
        Counter(AtomicU64::new(0))
    }
    /// Adds `n`.
    #[inline]
    pub fn add(&self, n: u64) {
        self.0.fetch_add(n, Ordering::Relaxed);
    }
    /// Subtracts `n`.
    #[inline]
    pub fn sub(&self, n: u64) {
        self.0.fetch_sub(n, Ordering::Relaxed);
    }
    /// The value at some recent moment.
    #[inline]
    pub fn get(&self) -> u64 {
        self.0.load(Ordering::Relaxed)
    }
}

/// A number of the calling thread's own, for choosing a shard. Threads are numbered in
/// the order of their first calls.
#[inline]
pub fn thread_number() -> usize {
    /// The number of threads numbered so far. Written and read by: threads at their first
    /// call. Publishes nothing.
    static THREADS: AtomicUsize = AtomicUsize::new(0);
    thread_local!(static NUMBER: usize = crate::system::number()
        .unwrap_or_else(|| THREADS.fetch_add(1, Ordering::Relaxed)));
    // A thread whose local storage is gone shares the first thread's number.
    NUMBER.try_with(|number| *number).unwrap_or(0)
}

/// Shards of a [`Sharded`]; a power of two.
const SHARDS: usize = 16;

/// `N` counters that many threads add to. Each thread has a shard of its own, on cache
/// lines of its own, as far as there are shards. A read sums up the shards.
#[derive(Debug)]
pub struct Sharded<const N: usize> {
    shards: Box<[CachePadded<[Counter; N]>]>,
}

impl<const N: usize> Sharded<N> {
    /// Counters at zero.
    #[must_use]
    pub fn new() -> Self {
        let zeros = || CachePadded::new(std::array::from_fn(|_| Counter::new()));
        Sharded {
            shards: (0..SHARDS).map(|_| zeros()).collect(),
        }
    }

    /// Adds `n` to counter `which`.
    #[inline]
    pub fn add(&self, which: usize, n: u64) {
        self.shards[thread_number() % SHARDS][which].add(n);
    }

    /// The value of counter `which` at some recent moment. It includes every addition
    /// that happened before the call.
    #[must_use]
    pub fn get(&self, which: usize) -> u64 {
        let each = self.shards.iter().map(|shard| shard[which].get());
        each.fold(0, u64::wrapping_add)
    }
}

impl<const N: usize> Default for Sharded<N> {
    fn default() -> Self {
        Self::new()
    }
}

#[cfg(all(test, not(any(loom, shuttle))))]
mod tests {
    use super::{Counter, Sharded};

    #[test]
    fn shards_add_up() {
        let counters = Sharded::<2>::new();
        std::thread::scope(|scope| {
            for _ in 0..40 {
                scope.spawn(|| (0..100).for_each(|_| counters.add(1, 2)));
            }
        });
        assert_eq!((counters.get(0), counters.get(1)), (0, 8_000));
    }

    #[test]
    fn counts_of_many_threads_add_up() {
        static COUNTER: Counter = Counter::new();
        std::thread::scope(|scope| {
            for _ in 0..4 {
                scope.spawn(|| {
                    for _ in 0..1_000 {
                        COUNTER.add(3);
                        COUNTER.sub(1);
                    }
                });
            }
        });
        assert_eq!(COUNTER.get(), 8_000);
    }
}
