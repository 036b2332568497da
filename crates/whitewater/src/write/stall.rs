//! Slowing writers down, and stopping them, while background work is behind.
//!
//! A writer passes here before it joins any queue or takes a sequence number,
//! so one that sleeps never holds up another that need not.

use parking_lot::{Condvar, Mutex};
use std::sync::atomic::{AtomicU8, AtomicU64, Ordering};
use std::time::{Duration, Instant};
use whitewater_storage::{Error, ErrorKind, Result};

/// Bytes per second while writes are slowed down, when no rate is given.
pub(crate) const DEFAULT_DELAYED_RATE: u64 = 16 << 20;

/// How writers are treated.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
#[repr(u8)]
pub(crate) enum Pressure {
    /// They go ahead.
    #[default]
    None = 0,
    /// Together they get a fixed rate.
    Delayed = 1,
    /// They wait.
    Stopped = 2,
}

/// The gate that every writer passes.
#[derive(Debug)]
pub(crate) struct StallGate {
    /// A [`Pressure`].
    /// Written by: whoever installs a version or switches a memtable, under the
    /// database mutex and `gate`. Read by: every writer (relaxed: a stale value
    /// lets a few more writes pass or wait once more). Publishes nothing.
    pressure: AtomicU8,
    gate: Mutex<Gate>,
    changed: Condvar,
    rate: u64,
    /// Microseconds writers slept here. Statistics.
    stall_micros: AtomicU64,
}

#[derive(Debug)]
struct Gate {
    closed: bool,
    /// When the bytes admitted so far are paid for.
    paid_until: Instant,
}

impl Gate {
    /// Puts `bytes` on the books; returns when they are paid for.
    fn charge(&mut self, bytes: usize, rate: u64) -> Instant {
        let nanos = (bytes as u64).saturating_mul(1_000_000_000) / rate;
        self.paid_until = self.paid_until.max(Instant::now()) + Duration::from_nanos(nanos);
        self.paid_until
    }
}

impl StallGate {
    /// An open gate; `rate` bytes per second while delayed, 0 for the default.
    pub fn new(rate: u64) -> Self {
        StallGate {
            pressure: AtomicU8::new(Pressure::None as u8),
            gate: Mutex::new(Gate {
                closed: false,
                paid_until: Instant::now(),
            }),
            changed: Condvar::new(),
            rate: if rate == 0 {
                DEFAULT_DELAYED_RATE
            } else {
                rate
            },
            stall_micros: AtomicU64::new(0),
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

    /// Changes the pressure.
    pub fn set(&self, pressure: Pressure) {
        let before = self.pressure();
        if before != pressure {
            let mut gate = self.gate.lock();
            if before == Pressure::None || pressure == Pressure::None {
                // Debts do not outlive the delay they come from.
                gate.paid_until = Instant::now();
            }
            self.pressure.store(pressure as u8, Ordering::Relaxed);
            self.changed.notify_all();
        }
    }

    /// Lets everybody through for good: the database is closing or failed, and
    /// the steps behind the gate say so.
    pub fn open_for_good(&self) {
        self.gate.lock().closed = true;
        self.changed.notify_all();
    }

    /// Rate while delayed, bytes per second; 0 while not.
    pub fn delayed_rate(&self) -> u64 {
        if self.pressure() == Pressure::Delayed {
            self.rate
        } else {
            0
        }
    }

    /// Microseconds that writers have slept here.
    pub fn stall_micros(&self) -> u64 {
        self.stall_micros.load(Ordering::Relaxed)
    }

    /// Waits until a write of `bytes` may go ahead; returns how long it did.
    ///
    /// # Errors
    /// `Incomplete` at once with `no_slowdown` when it would have to wait.
    #[inline]
    pub fn pass(&self, bytes: usize, no_slowdown: bool) -> Result<Duration> {
        if self.pressure() == Pressure::None {
            return Ok(Duration::ZERO);
        }
        self.pass_slowly(bytes, no_slowdown)
    }

    #[cold]
    fn pass_slowly(&self, bytes: usize, no_slowdown: bool) -> Result<Duration> {
        if no_slowdown {
            return Err(Error::new(ErrorKind::Incomplete, "Write stall"));
        }
        let start = Instant::now();
        let mut gate = self.gate.lock();
        // What this write owes is put on the books once, when it first meets
        // the delay.
        let mut until = None;
        while !gate.closed {
            match self.pressure() {
                Pressure::None => break,
                Pressure::Stopped => self.changed.wait(&mut gate),
                Pressure::Delayed => {
                    let due = *until.get_or_insert_with(|| gate.charge(bytes, self.rate));
                    // Sleeps of under a millisecond cost more than they delay;
                    // the debt stays on the books and a later writer pays it.
                    if due <= Instant::now() + Duration::from_millis(1) {
                        break;
                    }
                    let _ = self.changed.wait_until(&mut gate, due);
                }
            }
        }
        drop(gate);
        let waited = start.elapsed();
        self.stall_micros
            .fetch_add(waited.as_micros() as u64, Ordering::Relaxed);
        Ok(waited)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::Arc;

    #[test]
    fn stopped_writers_wait_until_the_pressure_goes() {
        let gate = Arc::new(StallGate::new(0));
        gate.set(Pressure::Stopped);
        assert_eq!(
            gate.pass(1, true).unwrap_err().kind(),
            ErrorKind::Incomplete
        );
        let waiter = {
            let gate = gate.clone();
            std::thread::spawn(move || gate.pass(1, false))
        };
        std::thread::sleep(Duration::from_millis(5));
        assert!(!waiter.is_finished());
        gate.set(Pressure::None);
        assert!(waiter.join().unwrap().is_ok());
        assert!(gate.stall_micros() > 0);
    }

    #[test]
    fn a_gate_opened_for_good_stops_nobody() {
        let gate = StallGate::new(1);
        gate.open_for_good();
        gate.set(Pressure::Stopped);
        assert!(gate.pass(1 << 20, false).is_ok());
        gate.set(Pressure::Delayed);
        assert!(gate.pass(1 << 20, false).is_ok());
    }

    #[test]
    fn debts_do_not_outlive_their_delay() {
        let gate = Arc::new(StallGate::new(1 << 10));
        gate.set(Pressure::Delayed);
        let debtor = {
            let gate = gate.clone();
            std::thread::spawn(move || gate.pass(1 << 20, false))
        };
        while gate.gate.lock().paid_until < Instant::now() + Duration::from_secs(60) {
            std::thread::yield_now();
        }
        gate.set(Pressure::None);
        assert!(debtor.join().unwrap().is_ok());
        gate.set(Pressure::Delayed);
        assert!(gate.gate.lock().paid_until <= Instant::now());
    }
}
