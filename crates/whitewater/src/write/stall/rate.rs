//! The rate of delayed writers, by RocksDB's rules.
//!
//! It starts at the configured rate. It falls while the debt of compactions grows, falls
//! faster near a stop and after one, rises while the debt shrinks, and rises once more when
//! a delay ends. It is kept from one delay to the next, so that writes settle at a rate
//! that the database can sustain.

use std::time::{Duration, Instant};

/// The default rate of delayed writes. Bytes per second.
const DEFAULT_RATE: u64 = 16 << 20;

/// The rate of delayed writes does not fall below this by itself; a configured rate may be
/// lower. Bytes per second.
const MIN_RATE: u64 = 16 << 10;

/// The rate of low-priority writes while compaction is behind, until a delay has set
/// another. Bytes per second.
const LOW_PRI_RATE: u64 = 1 << 20;

const DEBT_GREW: f64 = 0.8;
const NEAR_STOP: f64 = 0.6;
const DEBT_FELL: f64 = 1.0 / DEBT_GREW;
const DELAY_ENDED: f64 = 1.4;

/// Bytes that compactions have to rewrite, before a change and after it.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Debt {
    pub before: u64,
    pub now: u64,
}

/// The present rates. Bytes per second.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct DelayRate {
    /// The configured rate, which is never exceeded.
    max: u64,
    /// The rate of delayed writes.
    pub now: u64,
    /// The rate of low-priority writes while compaction is behind.
    pub low_pri: u64,
}

impl DelayRate {
    /// Starts at the configured rate `max`, 0 for the default.
    pub fn new(max: u64) -> Self {
        let max = if max == 0 { DEFAULT_RATE } else { max };
        DelayRate {
            max,
            now: max,
            low_pri: LOW_PRI_RATE,
        }
    }

    /// Sets the configured rate, 0 for the default. Delayed writes get it until the stall
    /// state is next recomputed.
    pub fn set_max(&mut self, max: u64) {
        let low_pri = self.low_pri;
        *self = DelayRate {
            low_pri,
            ..DelayRate::new(max)
        };
    }

    /// A column family is found delayed. `again`: one was delayed before. `penalize`: writes
    /// were stopped, or are close to it. `fixed`: the rate stays, since debt means nothing
    /// without automatic compactions.
    pub fn delay(&mut self, debt: Debt, again: bool, penalize: bool, fixed: bool) {
        if fixed {
            self.now = self.max;
        } else if again && self.max > MIN_RATE {
            if penalize {
                self.now = scale(self.now, NEAR_STOP).max(MIN_RATE);
            } else if debt.before > debt.now {
                self.now = scale(self.now, DEBT_FELL).min(self.max);
            } else if debt.before > 0 {
                self.now = scale(self.now, DEBT_GREW).max(MIN_RATE);
            }
        }
    }

    /// A column family is found free while one was delayed (this or another).
    pub fn recover(&mut self) {
        // The limit of low-priority writes remains after the delay.
        self.low_pri = (self.now / 4).max(1);
        self.now = scale(self.now, DELAY_ENDED).min(self.max);
    }
}

fn scale(rate: u64, by: f64) -> u64 {
    (rate as f64 * by) as u64
}

/// The time at which writes have paid for their bytes, each at the rate in force.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Account {
    /// When all admitted writes are paid for.
    paid_until: Instant,
}

impl Account {
    /// No debt.
    pub fn new(now: Instant) -> Self {
        Account { paid_until: now }
    }

    /// When `bytes` more would be paid for.
    pub fn due(&self, now: Instant, bytes: usize, rate: u64) -> Instant {
        let nanos = (bytes as u128 * 1_000_000_000) / u128::from(rate.max(1));
        let nanos = u64::try_from(nanos).unwrap_or(u64::MAX);
        let from = self.paid_until.max(now);
        // A century is as good as for ever.
        let century = Duration::from_secs(100 * 365 * 86_400);
        from + Duration::from_nanos(nanos).min(century)
    }

    /// Charges for a write that is paid for at `due`.
    pub fn charge(&mut self, due: Instant) {
        self.paid_until = due;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn debt(before: u64, now: u64) -> Debt {
        Debt { before, now }
    }

    #[test]
    fn the_rate_follows_the_debt() {
        let mut rate = DelayRate::new(1_000_000);
        rate.delay(debt(10, 20), false, true, false);
        assert_eq!(
            rate.now, 1_000_000,
            "a first delay starts at what was given"
        );
        rate.delay(debt(10, 20), true, false, false);
        assert_eq!(rate.now, 800_000);
        rate.delay(debt(20, 20), true, false, false);
        assert_eq!(rate.now, 640_000, "as much as before is too much");
        rate.delay(debt(20, 10), true, false, false);
        assert_eq!(rate.now, 800_000);
        rate.delay(debt(20, 10), true, true, false);
        assert_eq!(rate.now, 480_000, "close to a stop");
        rate.delay(debt(0, 10), true, false, false);
        assert_eq!(rate.now, 480_000, "nothing to compare with");
        rate.delay(debt(10, 20), true, true, true);
        assert_eq!(rate.now, 1_000_000, "without compactions");
    }

    #[test]
    fn the_rate_keeps_its_bounds() {
        let mut rate = DelayRate::new(1 << 20);
        for _ in 0..100 {
            rate.delay(debt(1, 2), true, false, false);
        }
        assert_eq!(rate.now, 16 << 10);
        for _ in 0..100 {
            rate.delay(debt(2, 1), true, false, false);
        }
        assert_eq!(rate.now, 1 << 20);
        let mut low = DelayRate::new(100);
        low.delay(debt(1, 2), true, true, false);
        assert_eq!(low.now, 100, "below the least rate it is left alone");
        assert_eq!(DelayRate::new(0).now, 16 << 20);
    }

    #[test]
    fn the_end_of_a_delay_is_rewarded() {
        let mut rate = DelayRate::new(1_000_000);
        rate.delay(debt(1, 2), true, true, false);
        rate.recover();
        assert_eq!((rate.now, rate.low_pri), (840_000, 150_000));
        rate.recover();
        assert_eq!(rate.now, 1_000_000);
    }

    #[test]
    fn bytes_are_paid_by_time() {
        let now = Instant::now();
        let mut account = Account::new(now);
        let due = account.due(now, 500, 1000);
        assert_eq!(due, now + Duration::from_millis(500));
        account.charge(due);
        let later = account.due(now, 250, 500);
        assert_eq!(later, now + Duration::from_secs(1));
        assert_eq!(
            account.due(later, 0, 1000),
            later,
            "time that passed without writes is not saved up"
        );
        assert!(account.due(now, usize::MAX, 1) > now);
    }
}
