//! A count of work in flight that other threads can wait for.
//!
//! Many threads begin and end work, each with one atomic addition. A thread that must not
//! go on before all of it has ended sleeps until the count is zero. Work may fail;
//! current and later waiters are told so.
//!
//! Invariants:
//! * N1: a thread that sees the count at zero sees what the work did.
//! * N2: no lost wake-up. A waiter announces itself in the very word that is counted
//!   down. So the thread that takes the count to zero either finds the announcement or
//!   comes before the waiter's look.

use crate::sync::{AtomicBool, AtomicU64, Ordering};
use crate::waiter::EventCount;
use crossbeam_utils::CachePadded;

/// A bit of the count: a thread waits, or has waited.
const AWAITED: u64 = 1 << 63;

/// Some of the work has failed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Failed;

/// See the [module](self).
#[derive(Debug)]
pub struct WaitGroup {
    /// The number of operations in flight, and perhaps [`AWAITED`].
    /// Written by: threads that begin work (relaxed), end it (Release) and wait
    /// (Acquire), all by read-modify-writes. Read by: the same. Zero publishes what the
    /// work did (N1).
    count: CachePadded<AtomicU64>,
    /// Written by: threads that end failed work (relaxed), before they count down. Read
    /// by: threads that have seen the count at zero (relaxed). Publishes nothing.
    failed: AtomicBool,
    event: EventCount,
}

impl Default for WaitGroup {
    fn default() -> Self {
        Self::new()
    }
}

impl WaitGroup {
    /// A group with no work in flight.
    pub fn new() -> Self {
        WaitGroup {
            count: CachePadded::new(AtomicU64::new(0)),
            failed: AtomicBool::new(false),
            event: EventCount::new(),
        }
    }

    /// Adds `n` operations in flight. Must come before whatever lets other threads wait
    /// for them.
    pub fn begin(&self, n: u64) {
        // Relaxed: it is ordered by what lets other threads wait.
        self.count.fetch_add(n, Ordering::Relaxed);
    }

    /// Counts `n` operations as ended with success.
    pub fn end(&self, n: u64) {
        // Release: pairs with the Acquire of a thread that sees zero. The writes in
        // between are read-modify-writes, so they continue the release sequence (N1).
        let before = self.count.fetch_sub(n, Ordering::Release);
        debug_assert!(before & !AWAITED >= n, "work ends once");
        if before == AWAITED | n {
            self.event.notify_all();
        }
    }

    /// Counts `n` operations as ended, some of them with a failure.
    pub fn fail(&self, n: u64) {
        // Relaxed: the Release of `end` orders it.
        self.failed.store(true, Ordering::Relaxed);
        self.end(n);
    }

    /// Whether no work is in flight and none has failed.
    pub fn is_settled(&self) -> bool {
        // Acquire: pairs with `end`.
        self.count.load(Ordering::Acquire) & !AWAITED == 0 && self.outcome().is_ok()
    }

    /// Sleeps until there is a moment at which no work is in flight.
    ///
    /// # Errors
    /// Some of the work has failed.
    pub fn wait(&self) -> Result<(), Failed> {
        loop {
            let epoch = self.event.epoch();
            // Acquire: pairs with `end` (N1). The waiter announces itself in the word
            // itself (N2). The announcement stays: a needless wake-up costs less than
            // removing it.
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
    fn waiters_see_what_the_work_did() {
        for threads in [1, 2, 16] {
            let (group, done) = (WaitGroup::new(), Number::new(0));
            group.begin(threads * 100);
            assert!(!group.is_settled());
            std::thread::scope(|scope| {
                for _ in 0..threads {
                    scope.spawn(|| {
                        for _ in 0..100 {
                            done.fetch_add(1, Relaxed);
                            group.end(1);
                        }
                    });
                }
                for _ in 0..3 {
                    scope.spawn(|| {
                        assert_eq!(group.wait(), Ok(()));
                        assert_eq!(done.load(Relaxed), threads * 100);
                        assert!(group.is_settled());
                    });
                }
            });
        }
    }

    #[test]
    fn a_failure_is_reported_from_then_on() {
        let group = WaitGroup::new();
        assert_eq!(group.wait(), Ok(()));
        group.begin(3);
        group.end(1);
        group.fail(2);
        assert_eq!(group.wait(), Err(Failed));
        assert!(!group.is_settled());
        group.begin(1);
        group.end(1);
        assert_eq!(group.wait(), Err(Failed));
    }
}
