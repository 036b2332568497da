//! Counters for statistics.
//!
//! For numbers that are shown or compared with thresholds, never for numbers
//! that say what memory may be touched: nothing is ordered by them. They are
//! std's atomics in every build, so they may be statics.

use std::sync::atomic::{AtomicU64, Ordering};

/// A statistics counter that wraps around at both ends.
///
/// Written and read by: anyone. Publishes: nothing, it is relaxed throughout.
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

#[cfg(all(test, not(any(loom, shuttle))))]
mod tests {
    use super::Counter;

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
