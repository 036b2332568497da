//! How long whoever settles for others waits for more of them.
//!
//! Threads that write, wait to be settled for and write again come back
//! together, a moment after a settlement let them go. The next one, which
//! would begin at once for those who wrote meanwhile, is better delayed by
//! that moment: it is then for all of them, and not for every other half. As
//! `commit_delay` with `commit_siblings` of PostgreSQL and
//! `binlog_group_commit_sync_delay` of MySQL, but by what was seen last in
//! place of a setting: nobody is waited for who is not expected, nor for
//! longer than pays.

use crate::sync::{AtomicU64, MODELLED, Ordering, thread};
use crate::system;
use std::time::{Duration, Instant};

/// Of the time that a settlement takes: what is waited at most, as its half.
const LONGEST: u32 = 2;

/// And what is waited without anybody joining, as its sixteenth.
const PATIENCE: u32 = 16;

/// What the last settlements were like. Its words are advice and publish
/// nothing (relaxed); they are written by whoever settles, one at a time, and
/// read by the next.
#[derive(Debug)]
pub(super) struct Gathering {
    /// Ranges that were settled for, and those that were waiting behind them
    /// when that was done.
    expected: AtomicU64,
    /// Nanoseconds that it takes, a moving average.
    takes: AtomicU64,
}

impl Gathering {
    pub fn new() -> Self {
        Gathering {
            expected: AtomicU64::new(0),
            takes: AtomicU64::new(0),
        }
    }

    /// Lets others run until `present` counts all who are expected, or it is
    /// not worth it any more.
    pub fn wait(&self, mut present: impl FnMut() -> u64) {
        let expected = self.expected.load(Ordering::Relaxed);
        let mut count = present();
        // A checker has no time, and in a simulation it stands still.
        if count >= expected || MODELLED || system::is_simulated() {
            return;
        }
        let takes = Duration::from_nanos(self.takes.load(Ordering::Relaxed));
        let start = Instant::now();
        let mut joined = start;
        while count < expected {
            thread::yield_now();
            let now = Instant::now();
            let before = std::mem::replace(&mut count, present());
            if count > before {
                joined = now;
            }
            if now - start > takes / LONGEST || now - joined > takes / PATIENCE {
                return;
            }
        }
    }

    /// What a settlement of `took` was for: `count` ranges, with those behind.
    pub fn settled(&self, took: Duration, count: u64) {
        let took = u64::try_from(took.as_nanos()).unwrap_or(u64::MAX);
        let before = self.takes.load(Ordering::Relaxed);
        let takes = if before == 0 {
            took
        } else {
            before - before / 8 + took / 8
        };
        self.takes.store(takes, Ordering::Relaxed);
        self.expected.store(count, Ordering::Relaxed);
    }
}

#[cfg(all(test, not(any(loom, shuttle))))]
mod tests {
    use super::*;

    const LONG: Duration = Duration::from_secs(3600);

    /// How often somebody looked, when `joins(n)` are there at the n-th look.
    fn looks(gathering: &Gathering, joins: impl Fn(u64) -> u64) -> u64 {
        let mut looks = 0;
        gathering.wait(|| {
            looks += 1;
            joins(looks)
        });
        looks
    }

    #[test]
    fn nobody_is_waited_for_who_is_not_expected() {
        let gathering = Gathering::new();
        assert_eq!(looks(&gathering, |_| 1), 1, "nothing is known yet");
        gathering.settled(LONG, 1);
        assert_eq!(looks(&gathering, |_| 1), 1, "alone before");
        gathering.settled(LONG, 3);
        assert_eq!(looks(&gathering, |_| 3), 1, "all are there");
    }

    #[test]
    fn those_who_were_let_go_are_waited_for() {
        let gathering = Gathering::new();
        gathering.settled(LONG, 5);
        assert_eq!(looks(&gathering, |look| look), 5);
        // More than are expected may come at once.
        assert_eq!(looks(&gathering, |look| if look < 3 { 1 } else { 9 }), 3);
    }

    #[test]
    fn waiting_ends_where_it_would_not_pay() {
        let gathering = Gathering::new();
        gathering.settled(Duration::ZERO, 5);
        assert_eq!(looks(&gathering, |_| 1), 2, "settling costs nothing");
        gathering.settled(Duration::from_micros(800), 5);
        let many = looks(&gathering, |_| 1);
        assert!(many >= 2, "nobody comes");
    }

    #[test]
    fn what_a_settlement_takes_is_averaged() {
        let gathering = Gathering::new();
        gathering.settled(Duration::from_nanos(8000), 1);
        assert_eq!(gathering.takes.load(Ordering::Relaxed), 8000);
        gathering.settled(Duration::from_nanos(16_000), 1);
        assert_eq!(gathering.takes.load(Ordering::Relaxed), 9000);
        gathering.settled(Duration::MAX, 1);
        assert!(gathering.takes.load(Ordering::Relaxed) > 9000);
    }
}
