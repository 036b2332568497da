//! Write stalls: delaying or stopping writers while background work is behind.
//!
//! A writer passes the gate before it joins a queue or takes a sequence number,
//! so a sleeping writer never holds up a writer that need not sleep, a switch, or
//! the visible number. While nothing is behind, passing is one relaxed load.
//!
//! [`cause`] decides what counts as too much, [`rate`] how much delayed writers
//! may write, and [`fifo_queue`] which of them goes first. There are two queues:
//! low-priority writes first pass one of their own, at a rate of their own, while
//! compaction is behind.

pub(crate) mod cause;
mod fifo_queue;
pub(crate) mod rate;

pub(crate) use cause::Pressure;

use fifo_queue::{FifoQueue, StallState};
use rate::DelayRate;
use std::sync::atomic::{AtomicBool, AtomicU8, AtomicU64, Ordering};
use std::time::Duration;
use whitewater_storage::{Error, ErrorKind, Result};

/// The shortest sleep: a shorter one costs more than it delays. The debt remains and
/// a later writer sleeps for it. RocksDB's interval.
const SLACK: Duration = Duration::from_millis(1);

/// The shortest sleep of a low-priority write: the interval of RocksDB's rate limiter.
const LOW_PRI_SLACK: Duration = Duration::from_millis(100);

/// What the column families together demand of writers.
#[derive(Debug, Clone)]
pub(crate) struct Demand {
    pub pressure: Pressure,
    /// Compaction is behind, whether or not there is a stall.
    pub behind: bool,
    pub rate: DelayRate,
    /// Set if the stop will not end soon: the reason.
    pub hopeless: Option<Error>,
}

/// The gate that every writer passes.
#[derive(Debug)]
pub(crate) struct StallGate {
    /// A [`Pressure`].
    /// Written by: threads that install a version or switch a memtable, under the
    /// database mutex. Read by: every writer (relaxed: a stale value lets a few
    /// more writes pass, or sends them to the queue, which knows better).
    /// Publishes nothing.
    pressure: AtomicU8,
    /// Compaction is behind. Written like `pressure`. Read by: low-priority writes
    /// (relaxed). Publishes nothing.
    behind: AtomicBool,
    /// The log is locked, so writers are stopped whatever else there is. Written like `pressure`.
    /// Read by: writers that find the pressure (relaxed). Publishes nothing: whether they have to
    /// wait is found out under a lock.
    locked: AtomicBool,
    queue: FifoQueue,
    low_pri: FifoQueue,
    /// Bytes per second while delayed. Written like `pressure`; a statistic.
    rate: AtomicU64,
    /// Microseconds that writers slept here. A statistic.
    stall_micros: AtomicU64,
    /// Writers that waited for the write buffer manager. A statistic.
    budget_stops: AtomicU64,
}

impl StallGate {
    /// An open gate.
    pub fn new() -> Self {
        StallGate {
            pressure: AtomicU8::new(Pressure::None as u8),
            behind: AtomicBool::new(false),
            locked: AtomicBool::new(false),
            queue: FifoQueue::new(SLACK),
            low_pri: FifoQueue::new(LOW_PRI_SLACK),
            rate: AtomicU64::new(0),
            stall_micros: AtomicU64::new(0),
            budget_stops: AtomicU64::new(0),
        }
    }

    /// The present pressure on writers.
    pub fn pressure(&self) -> Pressure {
        match self.pressure.load(Ordering::Relaxed) {
            0 => Pressure::None,
            1 => Pressure::Delayed,
            _ => Pressure::Stopped,
        }
    }

    /// Changes the demand on writers.
    pub fn set(&self, demand: Demand) {
        let Demand {
            pressure,
            behind,
            rate,
            hopeless,
        } = demand;
        self.rate.store(rate.now, Ordering::Relaxed);
        self.queue.set(StallState {
            pressure,
            rate: rate.now,
            hopeless,
        });
        let behind = behind || pressure != Pressure::None;
        self.low_pri.set(StallState {
            pressure: if behind {
                Pressure::Delayed
            } else {
                Pressure::None
            },
            rate: rate.low_pri,
            hopeless: None,
        });
        let pressure = if self.is_locked() {
            Pressure::Stopped
        } else {
            pressure
        };
        self.pressure.store(pressure as u8, Ordering::Relaxed);
        self.behind.store(behind, Ordering::Relaxed);
    }

    /// Says whether the log is locked. The next [`set`](Self::set) says what else there is when
    /// it no longer is.
    pub fn lock(&self, locked: bool) {
        self.locked.store(locked, Ordering::Relaxed);
        if locked {
            self.pressure
                .store(Pressure::Stopped as u8, Ordering::Relaxed);
        }
    }

    /// Whether the log is locked, or was a moment ago.
    pub fn is_locked(&self) -> bool {
        self.locked.load(Ordering::Relaxed)
    }

    /// Starts or stops letting every writer through: while the database is closing or
    /// has failed, later steps of the commit tell the writer so.
    pub fn set_open(&self, open: bool) {
        self.queue.set_open(open);
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

    /// Counts a writer that waited for the write buffer manager.
    pub fn count_budget_stop(&self) {
        self.budget_stops.fetch_add(1, Ordering::Relaxed);
    }

    /// Writers that waited for the write buffer manager.
    pub fn budget_stops(&self) -> u64 {
        self.budget_stops.load(Ordering::Relaxed)
    }

    /// Waits until a write of `bytes` may go ahead, and returns how long that took.
    ///
    /// # Errors
    /// `Incomplete`, at once, if it would have to wait and `no_slowdown` is set; the
    /// background error that keeps the wait from ending.
    #[inline]
    pub fn pass(&self, bytes: usize, no_slowdown: bool) -> Result<Duration> {
        if self.pressure() == Pressure::None {
            return Ok(Duration::ZERO);
        }
        self.pass_queue(&self.queue, bytes, no_slowdown.then_some("Write stall"))
    }

    /// The additional gate of a low-priority write, before [`StallGate::pass`].
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
        self.pass_queue(&self.low_pri, bytes, None)
    }

    #[cold]
    fn pass_queue(
        &self,
        queue: &FifoQueue,
        bytes: usize,
        impatient: Option<&str>,
    ) -> Result<Duration> {
        let impatient = impatient.map(|text| Error::new(ErrorKind::Incomplete, text));
        let waited = queue.pass(bytes, impatient)?;
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
