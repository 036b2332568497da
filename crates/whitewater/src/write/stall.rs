//! Admission: slowing writers down, and stopping them, while background work
//! is behind.
//!
//! A writer passes here before it joins any queue or takes a sequence number,
//! so one that sleeps never holds up another that need not, nor a switch, nor
//! the visible number. While nothing is behind, passing is one relaxed load.
//!
//! [`cause`] says what is too much, [`rate`] what delayed writers get, and
//! [`line`] in which order they go. There are two lines: writes of low
//! priority pass one of their own first, at a rate of theirs, while compaction
//! is behind.

pub(crate) mod cause;
mod line;
pub(crate) mod rate;

pub(crate) use cause::Pressure;

use line::{Line, Terms};
use rate::DelayRate;
use std::sync::atomic::{AtomicBool, AtomicU8, AtomicU64, Ordering};
use std::time::Duration;
use whitewater_storage::{Error, ErrorKind, Result};

/// Sleeps that are shorter cost more than they delay; the debt stays on the
/// books and a later writer pays it. RocksDB's interval.
const SLACK: Duration = Duration::from_millis(1);

/// The same for writes of low priority: the interval of RocksDB's rate limiter.
const LOW_PRI_SLACK: Duration = Duration::from_millis(100);

/// What all column families together ask for.
#[derive(Debug, Clone)]
pub(crate) struct Demand {
    pub pressure: Pressure,
    /// Compaction is behind, stall or not.
    pub behind: bool,
    pub rate: DelayRate,
    /// Why the stop will not end soon, if it is so.
    pub hopeless: Option<Error>,
}

/// The gate that every writer passes.
#[derive(Debug)]
pub(crate) struct StallGate {
    /// A [`Pressure`].
    /// Written by: whoever installs a version or switches a memtable, under the
    /// database mutex. Read by: every writer (relaxed: a stale value lets a few
    /// more writes pass, or sends them to the line, which knows). Publishes
    /// nothing.
    pressure: AtomicU8,
    /// Compaction is behind. Written and read as `pressure`, by writes of low
    /// priority.
    behind: AtomicBool,
    line: Line,
    low_pri: Line,
    /// Bytes per second while delayed. Written as `pressure`; a statistic.
    rate: AtomicU64,
    /// Microseconds writers slept here. Statistics.
    stall_micros: AtomicU64,
    /// Writers that waited for a budget of memory. Statistics.
    budget_stops: AtomicU64,
}

impl StallGate {
    /// An open gate.
    pub fn new() -> Self {
        StallGate {
            pressure: AtomicU8::new(Pressure::None as u8),
            behind: AtomicBool::new(false),
            line: Line::new(SLACK),
            low_pri: Line::new(LOW_PRI_SLACK),
            rate: AtomicU64::new(0),
            stall_micros: AtomicU64::new(0),
            budget_stops: AtomicU64::new(0),
        }
    }

    /// What writers are under now.
    pub fn pressure(&self) -> Pressure {
        match self.pressure.load(Ordering::Relaxed) {
            0 => Pressure::None,
            1 => Pressure::Delayed,
            _ => Pressure::Stopped,
        }
    }

    /// Changes what is asked of writers.
    pub fn set(&self, demand: Demand) {
        let Demand {
            pressure,
            behind,
            rate,
            hopeless,
        } = demand;
        self.rate.store(rate.now, Ordering::Relaxed);
        self.line.set(Terms {
            pressure,
            rate: rate.now,
            hopeless,
        });
        let behind = behind || pressure != Pressure::None;
        self.low_pri.set(Terms {
            pressure: if behind {
                Pressure::Delayed
            } else {
                Pressure::None
            },
            rate: rate.low_pri,
            hopeless: None,
        });
        self.pressure.store(pressure as u8, Ordering::Relaxed);
        self.behind.store(behind, Ordering::Relaxed);
    }

    /// Lets everybody through, for the database is closing or has failed, and
    /// the steps behind the gate say so; or not any more.
    pub fn set_open(&self, open: bool) {
        self.line.set_open(open);
        self.low_pri.set_open(open);
    }

    /// Rate while delayed, bytes per second; 0 while not.
    pub fn delayed_rate(&self) -> u64 {
        if self.pressure() == Pressure::Delayed {
            self.rate.load(Ordering::Relaxed)
        } else {
            0
        }
    }

    /// Microseconds that writers have slept here.
    pub fn stall_micros(&self) -> u64 {
        self.stall_micros.load(Ordering::Relaxed)
    }

    /// Counts a writer that waited for a budget of memory.
    pub fn count_budget_stop(&self) {
        self.budget_stops.fetch_add(1, Ordering::Relaxed);
    }

    /// Writers that waited for a budget of memory.
    pub fn budget_stops(&self) -> u64 {
        self.budget_stops.load(Ordering::Relaxed)
    }

    /// Waits until a write of `bytes` may go ahead; returns how long it did.
    ///
    /// # Errors
    /// `Incomplete` at once with `no_slowdown` when it would have to wait; the
    /// failure of background work without which the wait would not end.
    #[inline]
    pub fn pass(&self, bytes: usize, no_slowdown: bool) -> Result<Duration> {
        if self.pressure() == Pressure::None {
            return Ok(Duration::ZERO);
        }
        self.pass_line(&self.line, bytes, no_slowdown.then_some("Write stall"))
    }

    /// [`StallGate::pass`] for a write of low priority, before the same for
    /// all.
    #[inline]
    pub fn pass_low_pri(&self, bytes: usize, no_slowdown: bool) -> Result<Duration> {
        if !self.behind.load(Ordering::Relaxed) {
            return Ok(Duration::ZERO);
        }
        if no_slowdown {
            // As in RocksDB, whatever the rate would allow.
            return Err(Error::new(
                ErrorKind::Incomplete,
                "Low priority write stall",
            ));
        }
        self.pass_line(&self.low_pri, bytes, None)
    }

    #[cold]
    fn pass_line(&self, line: &Line, bytes: usize, impatient: Option<&str>) -> Result<Duration> {
        let impatient = impatient.map(|text| Error::new(ErrorKind::Incomplete, text));
        let waited = line.pass(bytes, impatient)?;
        self.stall_micros
            .fetch_add(waited.as_micros() as u64, Ordering::Relaxed);
        Ok(waited)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn demand(pressure: Pressure, behind: bool) -> Demand {
        Demand {
            pressure,
            behind,
            rate: DelayRate::new(0),
            hopeless: None,
        }
    }

    #[test]
    fn writes_of_low_priority_are_throttled_before_others() {
        let gate = StallGate::new();
        assert!(gate.pass_low_pri(64 << 20, true).is_ok());
        gate.set(demand(Pressure::None, true));
        assert!(gate.pass(64 << 20, true).is_ok(), "others go on");
        let e = gate.pass_low_pri(64 << 20, true).unwrap_err();
        assert_eq!(e.kind(), ErrorKind::Incomplete);
        assert!(e.to_string().contains("Low priority write stall"), "{e}");
        assert!(gate.pass_low_pri(1, false).is_ok(), "within the rate");
        gate.set(demand(Pressure::None, false));
        assert!(gate.pass_low_pri(64 << 20, true).is_ok());
    }

    #[test]
    fn the_rate_is_told_while_it_holds() {
        let gate = StallGate::new();
        gate.set(demand(Pressure::Delayed, false));
        assert_eq!(gate.delayed_rate(), 16 << 20);
        gate.set(demand(Pressure::Stopped, false));
        assert_eq!(gate.delayed_rate(), 0);
        assert!(gate.pass(1, true).is_err());
        gate.set_open(true);
        assert!(gate.pass(1, true).is_ok());
    }
}
