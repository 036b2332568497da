//! The group commit delay: how long a thread that is about to sync waits for more
//! ranges to join.
//!
//! Threads that write, wait for a sync and write again come back together, a moment
//! after the last sync let them go. The next sync would otherwise begin at once, for
//! those few that wrote in the meantime. It is better to delay it by that moment: the
//! sync then covers all of these threads, not every other half of them. PostgreSQL's
//! `commit_delay` with `commit_siblings` and MySQL's `binlog_group_commit_sync_delay`
//! do the same, but by settings. Here the last syncs decide: the delay waits only for
//! ranges that are expected, and only as long as it pays.

use crate::sync::{AtomicU32, AtomicU64, MODELLED, Ordering, thread};
use crate::system;
use std::time::{Duration, Instant};

/// The shortest sync time for which there is a delay. Where a sync takes less than
/// this, the threads that it let go can hardly be back in time.
const MIN_SYNC_TIME: Duration = Duration::from_micros(40);

/// The longest sync time that is recorded. So a device that hung for a minute does
/// not make the next writers wait for each other for seconds.
const MAX_SYNC_TIME: Duration = Duration::from_millis(20);

/// The delay lasts at most the sync time divided by this.
const DELAY_DIVISOR: u32 = 2;

/// The delay ends when no range has joined for the sync time divided by this; see
/// [`idle_timeout`] for the bounds.
const IDLE_DIVISOR: u32 = 16;

/// The least idle timeout, within the bound of [`MAX_IDLE_DIVISOR`]: the time until a
/// thread runs that was woken on a sleeping core. In a virtual machine this takes a
/// call of the host.
const WAKE_UP_TIME: Duration = Duration::from_micros(50);

/// [`WAKE_UP_TIME`] raises the idle timeout to the sync time divided by this at most.
const MAX_IDLE_DIVISOR: u32 = 4;

/// The most syncs that are not delayed after a delay that no range joined. The number
/// doubles with each such delay, up to this.
const MAX_SKIPPED: u32 = 64;

/// What the last syncs were like. The fields are advice and publish nothing
/// (relaxed). The thread that syncs writes them, one thread at a time, and the next
/// one that does reads them.
#[derive(Debug)]
pub(super) struct GroupCommitDelay {
    /// The ranges that the last sync covered, and those that were waiting behind
    /// them when it was done.
    expected: AtomicU64,
    /// Nanoseconds that a sync takes. It falls fast, to the mean of itself and a
    /// shorter sync, and rises slowly, since a sync appears long when its thread
    /// loses its core.
    sync_time: AtomicU64,
    /// How many of the next syncs are not to be delayed.
    skip: AtomicU32,
    /// The value of `skip` after the next delay that no range joins.
    next_skip: AtomicU32,
}

impl GroupCommitDelay {
    pub fn new() -> Self {
        GroupCommitDelay {
            expected: AtomicU64::new(0),
            sync_time: AtomicU64::new(0),
            skip: AtomicU32::new(0),
            next_skip: AtomicU32::new(1),
        }
    }

    /// Lets other threads run until `present` has counted all ranges that are
    /// expected, or waiting no longer pays.
    pub fn wait(&self, mut present: impl FnMut() -> u64) {
        let count = present();
        let expected = self.expected.load(Ordering::Relaxed);
        let sync_time = Duration::from_nanos(self.sync_time.load(Ordering::Relaxed));
        // A model checker has no time, and in a simulation time stands still.
        let timeless = MODELLED || system::is_simulated();
        if count >= expected || sync_time < MIN_SYNC_TIME || timeless {
            return;
        }
        let skip = self.skip.load(Ordering::Relaxed);
        if skip > 0 {
            self.skip.store(skip - 1, Ordering::Relaxed);
            return;
        }
        let joined = yield_while(sync_time, count, expected, present) - count;
        let next = if joined > 0 {
            1
        } else {
            let skip = self.next_skip.load(Ordering::Relaxed);
            self.skip.store(skip, Ordering::Relaxed);
            MAX_SKIPPED.min(skip * 2)
        };
        self.next_skip.store(next, Ordering::Relaxed);
    }

    /// Records a sync that took `took` and covered ranges; `count` includes those
    /// that were waiting behind them when it was done.
    pub fn record_sync(&self, took: Duration, count: u64) {
        let took = took.min(MAX_SYNC_TIME).as_nanos() as u64;
        let sync_time = match self.sync_time.load(Ordering::Relaxed) {
            0 => took,
            before if took < before => before.midpoint(took),
            before => took.min(before + before / 8 + 1),
        };
        self.sync_time.store(sync_time, Ordering::Relaxed);
        self.expected.store(count, Ordering::Relaxed);
    }
}

/// How long the delay goes on without a range joining.
fn idle_timeout(sync_time: Duration) -> Duration {
    (sync_time / IDLE_DIVISOR).max(WAKE_UP_TIME.min(sync_time / MAX_IDLE_DIVISOR))
}

/// Yields while fewer than `expected` ranges are present and waiting pays. `count` is
/// the number present at first; returns the last number that `present` counted.
fn yield_while(
    sync_time: Duration,
    mut count: u64,
    expected: u64,
    mut present: impl FnMut() -> u64,
) -> u64 {
    let start = Instant::now();
    let mut joined = start;
    let idle_timeout = idle_timeout(sync_time);
    while count < expected {
        thread::yield_now();
        let now = Instant::now();
        let before = std::mem::replace(&mut count, present());
        if count > before {
            joined = now;
        }
        if now - start > sync_time / DELAY_DIVISOR || now - joined > idle_timeout {
            break;
        }
    }
    count
}

#[cfg(all(test, not(any(loom, shuttle))))]
mod tests {
    use super::*;

    /// A delay that expects `count` ranges, and a sync that takes an hour.
    fn expecting(count: u64) -> GroupCommitDelay {
        let delay = GroupCommitDelay::new();
        delay.record_sync(MIN_SYNC_TIME, count);
        let hour = Duration::from_secs(3600).as_nanos() as u64;
        delay.sync_time.store(hour, Ordering::Relaxed);
        delay
    }

    /// How often ranges were counted, when there are `joins(n)` at the n-th count.
    fn looks(delay: &GroupCommitDelay, joins: impl Fn(u64) -> u64) -> u64 {
        let mut looks = 0;
        delay.wait(|| {
            looks += 1;
            joins(looks)
        });
        looks
    }

    #[test]
    fn only_expected_ranges_are_waited_for() {
        let delay = GroupCommitDelay::new();
        assert_eq!(looks(&delay, |_| 1), 1, "no sync was recorded");
        assert_eq!(
            looks(&expecting(1), |_| 1),
            1,
            "the last sync was for one range"
        );
        assert_eq!(looks(&expecting(3), |_| 3), 1, "all are present");
    }

    #[test]
    fn ranges_as_of_the_last_sync_are_waited_for() {
        let delay = expecting(5);
        assert_eq!(looks(&delay, |look| look), 5);
        // More than expected may join at once.
        assert_eq!(looks(&delay, |look| if look < 3 { 1 } else { 9 }), 3);
    }

    #[test]
    fn the_delay_ends_when_it_no_longer_pays() {
        let delay = GroupCommitDelay::new();
        delay.record_sync(MIN_SYNC_TIME / 2, 5);
        assert_eq!(looks(&delay, |_| 1), 1, "a sync costs nothing");
        let delay = GroupCommitDelay::new();
        delay.record_sync(MIN_SYNC_TIME * 2, 5);
        assert!(
            looks(&delay, |_| 1) >= 2,
            "no range joins, and the wait ends"
        );
    }

    #[test]
    fn the_idle_timeout_covers_a_wake_up_of_a_sleeping_core() {
        let micros = |sync_time| idle_timeout(Duration::from_micros(sync_time)).as_micros();
        assert_eq!(micros(40), 10, "a quarter");
        assert_eq!(micros(200), 50);
        assert_eq!(micros(800), 50);
        assert_eq!(micros(16_000), 1000, "a sixteenth");
        for sync_time in (40..20_000).step_by(20) {
            assert!(
                2 * micros(sync_time) <= u128::from(sync_time),
                "less than the longest delay"
            );
        }
    }

    #[test]
    fn delays_that_no_range_joins_become_rarer() {
        let delay = GroupCommitDelay::new();
        delay.record_sync(MIN_SYNC_TIME, 5);
        let mut delayed = vec![];
        for sync in 0..200 {
            if looks(&delay, |_| 1) > 1 {
                delayed.push(sync);
            }
        }
        assert_eq!(delayed, [0, 2, 5, 10, 19, 36, 69, 134, 199]);
        // Until a range joins.
        delay.sync_time.store(u64::MAX, Ordering::Relaxed);
        for _ in 0..64 {
            assert_eq!(looks(&delay, |look| look), 1);
        }
        assert_eq!(looks(&delay, |look| look), 5);
        assert_eq!(looks(&delay, |look| look), 5);
    }

    #[test]
    fn the_sync_time_falls_fast_and_rises_slowly() {
        let delay = GroupCommitDelay::new();
        let sync_time = |took| {
            delay.record_sync(Duration::from_nanos(took), 1);
            delay.sync_time.load(Ordering::Relaxed)
        };
        assert_eq!(sync_time(8000), 8000);
        assert_eq!(sync_time(8100), 8100);
        assert_eq!(sync_time(1_000_000), 8100 + 1012 + 1);
        assert_eq!(sync_time(113), 4613);
        assert_eq!(sync_time(0), 2306);
        let delay = GroupCommitDelay::new();
        delay.record_sync(Duration::MAX, 1);
        let most = MAX_SYNC_TIME.as_nanos() as u64;
        assert_eq!(delay.sync_time.load(Ordering::Relaxed), most);
    }
}
