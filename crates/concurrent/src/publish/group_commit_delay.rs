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

use crate::sync::{AtomicU32, AtomicU64, MODELLED, Ordering, thread};
use crate::system;
use std::time::{Duration, Instant};

/// What a settlement takes at least where others are waited for: less than this
/// they can hardly be back.
const WORTH_WAITING: Duration = Duration::from_micros(40);

/// What one is taken to take at most. A device that hung for a minute does not make
/// the next writers wait for each other for seconds.
const LONGEST_TAKEN: Duration = Duration::from_millis(20);

/// Of the time that a settlement takes: what is waited at most, as its half.
const LONGEST: u32 = 2;

/// And what is waited without anybody joining, as its sixteenth;
const PATIENCE: u32 = 16;

/// but no less than it takes until a thread runs that was woken on a sleeping
/// core, which a virtual machine's host has to be asked for,
const WAKE_UP: Duration = Duration::from_micros(50);

/// unless that is more than its quarter.
const MOST_PATIENCE: u32 = 4;

/// Settlements that are not delayed after one that was, for nothing: twice as
/// many each time, up to this.
const LONGEST_PAUSE: u32 = 64;

/// What the last settlements were like. Its words are advice and publish
/// nothing (relaxed); they are written by whoever settles, one at a time, and
/// read by the next.
#[derive(Debug)]
pub(super) struct GroupCommitDelay {
    /// Ranges that were settled for, and those that were waiting behind them
    /// when that was done.
    expected: AtomicU64,
    /// Nanoseconds that one takes: soon what it took last if that was less, and
    /// otherwise slowly, since it takes long where its thread loses its core.
    takes: AtomicU64,
    /// Settlements that are still not to be delayed.
    pause: AtomicU32,
    /// How many those will be after the next one that is delayed for nothing.
    next_pause: AtomicU32,
}

impl GroupCommitDelay {
    pub fn new() -> Self {
        GroupCommitDelay {
            expected: AtomicU64::new(0),
            takes: AtomicU64::new(0),
            pause: AtomicU32::new(0),
            next_pause: AtomicU32::new(1),
        }
    }

    /// Lets others run until `present` counts all who are expected, or it is
    /// not worth it any more.
    pub fn wait(&self, mut present: impl FnMut() -> u64) {
        let count = present();
        let expected = self.expected.load(Ordering::Relaxed);
        let takes = Duration::from_nanos(self.takes.load(Ordering::Relaxed));
        // A checker has no time, and in a simulation it stands still.
        let timeless = MODELLED || system::is_simulated();
        if count >= expected || takes < WORTH_WAITING || timeless {
            return;
        }
        let pause = self.pause.load(Ordering::Relaxed);
        if pause > 0 {
            self.pause.store(pause - 1, Ordering::Relaxed);
            return;
        }
        let joined = yield_while(takes, count, expected, present) - count;
        let next = if joined > 0 {
            1
        } else {
            let pause = self.next_pause.load(Ordering::Relaxed);
            self.pause.store(pause, Ordering::Relaxed);
            LONGEST_PAUSE.min(pause * 2)
        };
        self.next_pause.store(next, Ordering::Relaxed);
    }

    /// What a settlement of `took` was for: `count` ranges, with those behind.
    pub fn settled(&self, took: Duration, count: u64) {
        let took = took.min(LONGEST_TAKEN).as_nanos() as u64;
        let takes = match self.takes.load(Ordering::Relaxed) {
            0 => took,
            before if took < before => before.midpoint(took),
            before => took.min(before + before / 8 + 1),
        };
        self.takes.store(takes, Ordering::Relaxed);
        self.expected.store(count, Ordering::Relaxed);
    }
}

/// What is waited without anybody joining, where a settlement `takes` so long.
fn patience(takes: Duration) -> Duration {
    (takes / PATIENCE).max(WAKE_UP.min(takes / MOST_PATIENCE))
}

/// Yields while fewer than `expected` are there and it is worth it: how many
/// `present` counts in the end, `count` at first.
fn yield_while(
    takes: Duration,
    mut count: u64,
    expected: u64,
    mut present: impl FnMut() -> u64,
) -> u64 {
    let start = Instant::now();
    let mut joined = start;
    let patience = patience(takes);
    while count < expected {
        thread::yield_now();
        let now = Instant::now();
        let before = std::mem::replace(&mut count, present());
        if count > before {
            joined = now;
        }
        if now - start > takes / LONGEST || now - joined > patience {
            break;
        }
    }
    count
}

#[cfg(all(test, not(any(loom, shuttle))))]
mod tests {
    use super::*;

    /// A gathering that expects `count`, and has an hour.
    fn expecting(count: u64) -> GroupCommitDelay {
        let gathering = GroupCommitDelay::new();
        gathering.settled(WORTH_WAITING, count);
        let hour = Duration::from_secs(3600).as_nanos() as u64;
        gathering.takes.store(hour, Ordering::Relaxed);
        gathering
    }

    /// How often somebody looked, when `joins(n)` are there at the n-th look.
    fn looks(gathering: &GroupCommitDelay, joins: impl Fn(u64) -> u64) -> u64 {
        let mut looks = 0;
        gathering.wait(|| {
            looks += 1;
            joins(looks)
        });
        looks
    }

    #[test]
    fn nobody_is_waited_for_who_is_not_expected() {
        let gathering = GroupCommitDelay::new();
        assert_eq!(looks(&gathering, |_| 1), 1, "nothing is known yet");
        assert_eq!(looks(&expecting(1), |_| 1), 1, "alone before");
        assert_eq!(looks(&expecting(3), |_| 3), 1, "all are there");
    }

    #[test]
    fn those_who_were_let_go_are_waited_for() {
        let gathering = expecting(5);
        assert_eq!(looks(&gathering, |look| look), 5);
        // More than are expected may come at once.
        assert_eq!(looks(&gathering, |look| if look < 3 { 1 } else { 9 }), 3);
    }

    #[test]
    fn waiting_ends_where_it_would_not_pay() {
        let gathering = GroupCommitDelay::new();
        gathering.settled(WORTH_WAITING / 2, 5);
        assert_eq!(looks(&gathering, |_| 1), 1, "settling costs nothing");
        let gathering = GroupCommitDelay::new();
        gathering.settled(WORTH_WAITING * 2, 5);
        assert!(looks(&gathering, |_| 1) >= 2, "nobody comes, and it ends");
    }

    #[test]
    fn patience_is_enough_for_a_sleeping_core() {
        let micros = |takes| patience(Duration::from_micros(takes)).as_micros();
        assert_eq!(micros(40), 10, "a quarter");
        assert_eq!(micros(200), 50);
        assert_eq!(micros(800), 50);
        assert_eq!(micros(16_000), 1000, "a sixteenth");
        for takes in (40..20_000).step_by(20) {
            assert!(
                2 * micros(takes) <= u128::from(takes),
                "less than the longest"
            );
        }
    }

    #[test]
    fn waiting_for_nothing_is_tried_again_later_and_later() {
        let gathering = GroupCommitDelay::new();
        gathering.settled(WORTH_WAITING, 5);
        let mut delayed = vec![];
        for settlement in 0..200 {
            if looks(&gathering, |_| 1) > 1 {
                delayed.push(settlement);
            }
        }
        assert_eq!(delayed, [0, 2, 5, 10, 19, 36, 69, 134, 199]);
        // Until it helps.
        gathering.takes.store(u64::MAX, Ordering::Relaxed);
        for _ in 0..64 {
            assert_eq!(looks(&gathering, |look| look), 1);
        }
        assert_eq!(looks(&gathering, |look| look), 5);
        assert_eq!(looks(&gathering, |look| look), 5);
    }

    #[test]
    fn what_a_settlement_takes_falls_fast_and_rises_slowly() {
        let gathering = GroupCommitDelay::new();
        let takes = |took| {
            gathering.settled(Duration::from_nanos(took), 1);
            gathering.takes.load(Ordering::Relaxed)
        };
        assert_eq!(takes(8000), 8000);
        assert_eq!(takes(8100), 8100);
        assert_eq!(takes(1_000_000), 8100 + 1012 + 1);
        assert_eq!(takes(113), 4613);
        assert_eq!(takes(0), 2306);
        let gathering = GroupCommitDelay::new();
        gathering.settled(Duration::MAX, 1);
        let most = LONGEST_TAKEN.as_nanos() as u64;
        assert_eq!(gathering.takes.load(Ordering::Relaxed), most);
    }
}
