//! Limits of what benchmark threads ask of the engine: bytes or operations per
//! second.

use std::sync::atomic::{AtomicU64, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use super::flags::Flags;

/// Longest time that a thread sleeps without looking at the clock again.
const LONGEST_SLEEP: Duration = Duration::from_millis(100);

/// Time that may be caught up: what a thread oversleeps, above all, which is
/// several times the share of one small write. RocksDB's limiter hands out as
/// much at a time.
const CATCH_UP: u64 = 100_000_000;

/// A rate that threads keep together: each call books its share of time after
/// the calls before it, and waits until that time has begun.
#[derive(Debug)]
pub struct Limit {
    start: Instant,
    /// Units per second; 0: no limit. A setting that is seen late only lets
    /// the old rate stand a little longer, hence relaxed.
    rate: AtomicU64,
    /// Nanoseconds after `start` up to which time is booked. Only its own
    /// value matters, and no other data hangs on it, hence relaxed.
    booked: AtomicU64,
}

impl Limit {
    /// Of `rate` units per second; 0: none.
    pub fn new(rate: u64) -> Self {
        Self {
            start: Instant::now(),
            rate: AtomicU64::new(rate),
            booked: AtomicU64::new(0),
        }
    }

    /// Changes the rate from the next call on.
    pub fn set(&self, rate: u64) {
        self.rate.store(rate, Ordering::Relaxed);
    }

    /// Waits until `units` may be done. Ends early once `over` says so.
    pub fn wait(&self, units: u64, over: impl Fn() -> bool) {
        let rate = self.rate.load(Ordering::Relaxed);
        if rate == 0 {
            return;
        }
        let now = self.now();
        let share = u128::from(units) * 1_000_000_000 / u128::from(rate);
        let share = u64::try_from(share).unwrap_or(u64::MAX);
        // Of time that nobody booked the rest is gone: no long bursts after a pause.
        let earliest = now.saturating_sub(CATCH_UP);
        let before = self
            .booked
            .fetch_update(Ordering::Relaxed, Ordering::Relaxed, |booked| {
                Some(booked.max(earliest).saturating_add(share))
            })
            .unwrap_or_else(|booked| booked);
        loop {
            let left = before.saturating_sub(self.now());
            if left == 0 || over() {
                return;
            }
            thread::sleep(Duration::from_nanos(left).min(LONGEST_SLEEP));
        }
    }

    fn now(&self) -> u64 {
        u64::try_from(self.start.elapsed().as_nanos()).unwrap_or(u64::MAX)
    }
}

/// The limits of one run, shared by its threads.
#[derive(Debug)]
pub struct Limits {
    /// Bytes that all writing threads write, per second.
    pub writes: Limit,
    /// Operations that all reading threads do, per second.
    pub reads: Limit,
    /// Writes of `mixgraph`, in operations per second.
    pub puts: Limit,
}

impl Limits {
    /// As the flags say.
    pub fn new(flags: &Flags) -> Self {
        let writes = if flags.sine_write_rate {
            sine(flags, 0.0) as u64
        } else {
            flags.benchmark_write_rate_limit
        };
        Self {
            writes: Limit::new(writes),
            reads: Limit::new(flags.benchmark_read_rate_limit),
            puts: Limit::new(0),
        }
    }
}

/// The rate of a sine at a time after the start.
pub fn sine(flags: &Flags, seconds: f64) -> f64 {
    flags.sine_a * (flags.sine_b * seconds + flags.sine_c).sin() + flags.sine_d
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn time_is_booked_one_after_the_other() {
        let limit = Limit::new(1000);
        for _ in 0..4 {
            limit.wait(10, || false);
        }
        let booked = limit.booked.load(Ordering::Relaxed);
        assert!(booked >= 40_000_000, "four shares of 10 ms: {booked}");
        assert!(limit.now() >= 30_000_000, "the fourth waited for three");
        // Sleeping too long costs nothing: the next ones are let through.
        limit.booked.store(0, Ordering::Relaxed);
        thread::sleep(Duration::from_millis(20));
        let passed = limit.now();
        limit.wait(1, || false);
        let booked = limit.booked.load(Ordering::Relaxed);
        assert!(booked >= passed.saturating_sub(CATCH_UP) + 1_000_000);
        assert!(booked <= limit.now(), "what was overslept is caught up");
        limit.set(1);
        limit.wait(1_000_000, || false);
        // Booked for a million seconds, but the run is over.
        limit.wait(1, || true);
        limit.set(0);
        limit.wait(u64::MAX, || false);
    }

    #[test]
    fn sines() {
        let flags = Flags {
            sine_a: 1000.0,
            sine_b: std::f64::consts::PI,
            sine_d: 4500.0,
            ..Flags::default()
        };
        assert!((sine(&flags, 0.0) - 4500.0).abs() < 1e-6);
        assert!((sine(&flags, 0.5) - 5500.0).abs() < 1e-6);
    }
}
