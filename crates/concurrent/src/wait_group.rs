//! Work under way that somebody may have to wait out.
//!
//! Many begin and end pieces of work, each with one addition; who must not go
//! on before all of it has ended sleeps until the count is zero. Work may
//! fail, which is told to whoever waits, now and later.
//!
//! Invariants:
//! * N1: whoever sees the count at zero sees what the work did.
//! * N2: no lost wake-up. A waiter announces itself in the very word that is
//!   counted down, so whoever takes the count to zero either finds it
//!   announced or comes before the waiter's look.

use crate::sync::{AtomicBool, AtomicU64, Ordering};
use crate::waiter::EventCount;
use crossbeam_utils::CachePadded;

/// In the count: somebody waits, or has.
const AWAITED: u64 = 1 << 63;

/// Some of the work failed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Failed;

/// See the [module](self).
#[derive(Debug)]
pub struct WaitGroup {
    /// Pieces of work under way, and perhaps [`AWAITED`].
    /// Written by: who begins work (relaxed), who ends it (Release) and who
    /// waits (Acquire), all by read-modify-writes. Read by: the same. Zero
    /// publishes what the work did (N1).
    count: CachePadded<AtomicU64>,
    /// Written by: who ends work that failed (relaxed), before it counts down.
    /// Read by: who has seen the count at zero (relaxed). Publishes nothing.
    failed: AtomicBool,
    event: EventCount,
}

impl Default for WaitGroup {
    fn default() -> Self {
        Self::new()
    }
}

impl WaitGroup {
    /// Nothing is under way.
    pub fn new() -> Self {
        WaitGroup {
            count: CachePadded::new(AtomicU64::new(0)),
            failed: AtomicBool::new(false),
            event: EventCount::new(),
        }
    }

    /// Says that `n` pieces of work are under way. What lets others wait for
    /// them has to come after.
    pub fn begin(&self, n: u64) {
        // Relaxed: what lets others wait orders it.
        self.count.fetch_add(n, Ordering::Relaxed);
    }

    /// Says that `n` of them have ended well.
    pub fn end(&self, n: u64) {
        // Release: pairs with the Acquire of who sees zero; those in between
        // are read-modify-writes, so it is theirs, too (N1).
        let before = self.count.fetch_sub(n, Ordering::Release);
        debug_assert!(before & !AWAITED >= n, "ended once");
        if before == AWAITED | n {
            self.event.notify_all();
        }
    }

    /// Says that `n` of them have ended and some of it failed.
    pub fn fail(&self, n: u64) {
        // Relaxed: the Release of `end` orders it.
        self.failed.store(true, Ordering::Relaxed);
        self.end(n);
    }

    /// Whether nothing is under way, and nothing failed.
    pub fn is_settled(&self) -> bool {
        // Acquire: pairs with `end`.
        self.count.load(Ordering::Acquire) & !AWAITED == 0 && self.outcome().is_ok()
    }

    /// Returns when nothing is under way, for a moment at least. Sleeps until
    /// then.
    ///
    /// # Errors
    /// Some of the work has failed.
    pub fn wait(&self) -> Result<(), Failed> {
        loop {
            let epoch = self.event.epoch();
            // Acquire: pairs with `end` (N1). Announced in the word itself
            // (N2). The announcement stays: a needless wake-up costs less than
            // taking it back.
            if self.count.fetch_or(AWAITED, Ordering::Acquire) & !AWAITED == 0 {
                return self.outcome();
            }
            self.event.sleep(epoch);
        }
    }

    fn outcome(&self) -> Result<(), Failed> {
        if self.failed.load(Ordering::Relaxed) {
            Err(Failed)
        } else {
            Ok(())
        }
    }
}

#[cfg(all(test, not(any(loom, shuttle))))]
mod tests {
    use super::*;
    use std::sync::atomic::AtomicU64 as Number;
    use std::sync::atomic::Ordering::Relaxed;

    #[test]
    fn waiters_see_all_that_was_done() {
        for threads in [1, 2, 16] {
            let (pending, done) = (WaitGroup::new(), Number::new(0));
            pending.begin(threads * 100);
            assert!(!pending.is_settled());
            std::thread::scope(|scope| {
                for _ in 0..threads {
                    scope.spawn(|| {
                        for _ in 0..100 {
                            done.fetch_add(1, Relaxed);
                            pending.end(1);
                        }
                    });
                }
                for _ in 0..3 {
                    scope.spawn(|| {
                        assert_eq!(pending.wait(), Ok(()));
                        assert_eq!(done.load(Relaxed), threads * 100);
                        assert!(pending.is_settled());
                    });
                }
            });
        }
    }

    #[test]
    fn a_failure_is_told_for_good() {
        let pending = WaitGroup::new();
        assert_eq!(pending.wait(), Ok(()));
        pending.begin(3);
        pending.end(1);
        pending.fail(2);
        assert_eq!(pending.wait(), Err(Failed));
        assert!(!pending.is_settled());
        pending.begin(1);
        pending.end(1);
        assert_eq!(pending.wait(), Err(Failed));
    }
}
