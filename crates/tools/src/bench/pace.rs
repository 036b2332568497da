//! When a benchmark thread has done enough.

use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use crate::interrupt;

/// Counts a thread's operations against its limit. Only at certain intervals of
/// operations does it look at the clock, and whether the thread must stop because
/// another thread failed or the run is to end.
#[derive(Debug)]
pub struct Pace<'s> {
    operations: u64,
    limit: u64,
    next_check: u64,
    check_every: u64,
    deadline: Option<Instant>,
    stop: &'s AtomicBool,
}

impl<'s> Pace<'s> {
    /// A pace that ends after `limit` operations, after the time `deadline`, or when
    /// `stop` is set.
    pub fn new(
        limit: u64,
        deadline: Option<Duration>,
        check_every: u64,
        stop: &'s AtomicBool,
    ) -> Self {
        Self {
            operations: 0,
            limit,
            next_check: check_every,
            check_every,
            deadline: deadline.map(|after| Instant::now() + after),
            stop,
        }
    }

    /// Whether the next `count` operations are to be done.
    pub fn more(&mut self, count: u64) -> bool {
        self.operations += count;
        if self.operations >= self.next_check && self.is_over() {
            return false;
        }
        self.operations <= self.limit
    }

    fn is_over(&mut self) -> bool {
        self.next_check = self.operations + self.check_every;
        // Relaxed: the flag carries no data; the failure itself is passed on when the
        // thread is joined.
        self.stop.load(Ordering::Relaxed)
            || interrupt::requested()
            || self
                .deadline
                .is_some_and(|deadline| Instant::now() >= deadline)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn count(mut pace: Pace<'_>, step: u64) -> u64 {
        let mut done = 0;
        while pace.more(step) {
            done += step;
        }
        done
    }

    #[test]
    fn the_limit_is_never_exceeded() {
        let stop = AtomicBool::new(false);
        assert_eq!(count(Pace::new(10_000, None, 1000, &stop), 1), 10_000);
        assert_eq!(count(Pace::new(1000, None, 1000, &stop), 512), 512);
        assert_eq!(count(Pace::new(0, None, 1000, &stop), 1), 0);
    }

    #[test]
    fn deadline_and_stop_flag_end_an_unlimited_run() {
        let stop = AtomicBool::new(false);
        let over = Pace::new(u64::MAX, Some(Duration::ZERO), 1000, &stop);
        assert_eq!(count(over, 1), 999);
        let stop = AtomicBool::new(true);
        assert_eq!(count(Pace::new(u64::MAX, None, 10, &stop), 1), 9);
    }
}
