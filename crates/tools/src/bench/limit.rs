//! Rate limits of what benchmark threads ask of the engine: bytes or operations
//! per second.

use std::sync::atomic::{AtomicU64, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use super::flags::Flags;

/// The longest time that a thread sleeps before it looks at the clock again.
const LONGEST_SLEEP: Duration = Duration::from_millis(100);

/// The time in nanoseconds that may be caught up. Mainly this is time that a thread
/// oversleeps, which is several times the share of one small write. RocksDB's rate
/// limiter allows the same burst.
const CATCH_UP: u64 = 100_000_000;

/// A rate that several threads keep to together. Each call books its share of time
/// after all earlier calls, and waits until that time begins.
#[derive(Debug)]
pub struct Limit {
    start: Instant,
    /// Units per second; 0 means no limit. Relaxed, because a thread that sees a new
    /// setting late only keeps to the old rate a little longer.
    rate: AtomicU64,
    /// The end of the booked time, in nanoseconds after `start`. Relaxed, because only
    /// its own value matters; it publishes no other data.
    booked: AtomicU64,
}

impl Limit {
    /// A limit of `rate` units per second; 0 means no limit.
    pub fn new(rate: u64) -> Self {
        Self {
            start: Instant::now(),
            rate: AtomicU64::new(rate),
            booked: AtomicU64::new(0),
        }
    }

    /// Changes the rate, from the next call on.
    pub fn set(&self, rate: u64) {
        self.rate.store(rate, Ordering::Relaxed);
    }

    /// Waits until `units` may be done. Returns early once `over` returns true.
    pub fn wait(&self, units: u64, over: impl Fn() -> bool) {
        let rate = self.rate.load(Ordering::Relaxed);
        if rate == 0 {
            return;
        }
        let now = self.now();
        let share = u128::from(units) * 1_000_000_000 / u128::from(rate);
        let share = u64::try_from(share).unwrap_or(u64::MAX);
        // Unbooked time before that is lost, so that no long burst follows a pause.
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

/// The limits of one run; its threads share them.
#[derive(Debug)]
pub struct Limits {
    /// Bytes per second that all writing threads write together.
    pub writes: Limit,
    /// Operations per second that all reading threads do together.
    pub reads: Limit,
    /// Writes per second of `mixgraph`.
    pub puts: Limit,
}

impl Limits {
    /// The limits that the flags ask for.
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

/// The rate that the sine flags give at a time after the start.
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
        // Oversleeping costs nothing: the next calls pass at once.
        limit.booked.store(0, Ordering::Relaxed);
        thread::sleep(Duration::from_millis(20));
        let passed = limit.now();
        limit.wait(1, || false);
        let booked = limit.booked.load(Ordering::Relaxed);
        assert!(booked >= passed.saturating_sub(CATCH_UP) + 1_000_000);
        assert!(booked <= limit.now(), "what was overslept is caught up");
        limit.set(1);
        limit.wait(1_000_000, || false);
        // The booked time is a million seconds, but the run is over.
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
