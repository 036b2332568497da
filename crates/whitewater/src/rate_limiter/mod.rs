//! A budget of bytes per second for the writes of flushes and compactions, for reads, or for both.
//!
//! RocksDB's generic rate limiter: bytes become available in equal refills, one
//! per period, and are not saved up for later. A request that finds too few
//! queues up by priority ([`IoPriority`]) and is served from the refills to
//! come: `User` first (jobs that writers wait for), then `High` (flushes), `Mid`
//! and `Low` (compactions); but every `fairness`-th refill serves the last three
//! in the reverse order, so that none is starved. Reads of compactions have the
//! priority of compactions, other reads the one that their options name, if they
//! name one.
//!
//! A limiter that tunes itself looks every hundred periods at the share of them
//! in which somebody had to wait. With much waiting the rate rises by a
//! twentieth, up to the maximum; with little it falls by as much, down to a
//! twentieth of the maximum, and to that at once when nobody waited.
//!
//! One limiter may serve several databases. Each asks through a [`Client`] of
//! its own, which lets its threads through when it closes.
//!
//! Invariant R1: a ticket is in one queue as long as it is in `wanted`.

use crate::stats::{Statistics, Ticker, tick};
use std::collections::{HashMap, VecDeque};
use std::fmt;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
use std::time::{Duration, Instant};
use whitewater_concurrent::system::{self, Condvar, Mutex, MutexGuard};
use whitewater_storage::sst::IoPriority;

/// Periods between two looks of a limiter that tunes itself.
const PERIODS_PER_TUNE: u64 = 100;

/// The lowest rate is this fraction of the highest.
const RANGE: u64 = 20;

/// Shares of periods with waiting, in per cent, between which a rate stays.
const CALM: u64 = 50;
const BUSY: u64 = 90;

/// What a rate limiter limits. The numbers are RocksDB's.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[cfg_attr(feature = "serde1", derive(serde::Serialize, serde::Deserialize))]
#[repr(i32)]
pub enum RateLimiterMode {
    /// Reads of compactions, and reads whose options name a priority.
    KReadsOnly = 0,
    /// Writes of flushes and compactions.
    KWritesOnly = 1,
    /// Both, by one budget.
    KAllIo = 2,
}

impl RateLimiterMode {
    /// The mode of RocksDB's number.
    #[doc(hidden)]
    pub fn from_number(number: i32) -> Option<Self> {
        use RateLimiterMode::{KAllIo, KReadsOnly, KWritesOnly};
        let modes = [KReadsOnly, KWritesOnly, KAllIo];
        modes.into_iter().find(|mode| *mode as i32 == number)
    }

    /// Whether reads are limited.
    fn limits_reads(self) -> bool {
        self != RateLimiterMode::KWritesOnly
    }

    /// Whether writes are limited.
    fn limits_writes(self) -> bool {
        self != RateLimiterMode::KReadsOnly
    }
}

/// Tells the time to a limiter.
pub(crate) trait Time: Send + Sync {
    /// Microseconds since some moment.
    fn now(&self) -> u64;
    /// How long to sleep for `micros` to pass; `None` is until woken.
    fn sleep(&self, micros: u64) -> Option<Duration>;
}

/// The time of the machine.
struct Real(Instant);

impl Time for Real {
    fn now(&self) -> u64 {
        system::since(self.0).as_micros() as u64
    }
    fn sleep(&self, micros: u64) -> Option<Duration> {
        Some(Duration::from_micros(micros))
    }
}

/// The limiter; see the module's documentation.
pub(crate) struct RateLimiter {
    time: Box<dyn Time>,
    /// Bytes per second.
    max_rate: u64,
    /// Microseconds.
    period: u64,
    fairness: u64,
    tunes_itself: bool,
    mode: RateLimiterMode,
    state: Mutex<State>,
    /// Signals those who wait: they may have been served, or time has passed.
    served: Condvar,
}

struct State {
    /// Bytes per second, and what that is per period.
    rate: u64,
    per_period: u64,
    /// Bytes left of the last refill.
    available: u64,
    /// When the next refill is due.
    next_refill: u64,
    refills: u64,
    /// Tickets of those who wait, by priority.
    queues: [VecDeque<u64>; 4],
    /// The bytes they still need.
    wanted: HashMap<u64, u64>,
    next_ticket: u64,
    /// The refill that somebody waited for last, and how many that were since
    /// the rate was tuned.
    waited_for: u64,
    drains: u64,
    /// When the rate was tuned.
    tuned: u64,
}

impl RateLimiter {
    /// A limiter of `rate` bytes per second, refilled every `period`
    /// microseconds; with `tunes_itself`, `rate` is the highest.
    pub fn new(
        rate: u64,
        period: u64,
        fairness: u64,
        tunes_itself: bool,
        mode: RateLimiterMode,
    ) -> Arc<Self> {
        let time = Real(system::now());
        Self::with_time(rate, period, fairness, tunes_itself, mode, time)
    }

    fn with_time(
        max_rate: u64,
        period: u64,
        fairness: u64,
        tunes_itself: bool,
        mode: RateLimiterMode,
        time: impl Time + 'static,
    ) -> Arc<Self> {
        let now = time.now();
        let rate = if tunes_itself {
            (max_rate / 2).max(1)
        } else {
            max_rate
        };
        Arc::new(RateLimiter {
            time: Box::new(time),
            max_rate,
            period,
            fairness,
            tunes_itself,
            mode,
            state: Mutex::new(State {
                rate,
                per_period: per_period(rate, period),
                available: 0,
                next_refill: now,
                refills: 0,
                queues: Default::default(),
                wanted: HashMap::new(),
                next_ticket: 0,
                waited_for: u64::MAX,
                drains: 0,
                tuned: now,
            }),
            served: Condvar::new(),
        })
    }

    /// The rate at present, in bytes per second.
    pub fn rate(&self) -> u64 {
        self.state.lock().rate
    }

    /// The bytes of one period: the most that a read asks for at once.
    fn burst(&self) -> u64 {
        self.state.lock().per_period
    }

    /// Waits until `bytes` may be read or written, or `let_through` says so, which is
    /// asked again after each [`wake`](Self::wake).
    fn request(&self, bytes: u64, priority: IoPriority, let_through: &AtomicBool) -> Waited {
        let start = self.time.now();
        let mut state = self.state.lock();
        let tune_after = PERIODS_PER_TUNE.saturating_mul(self.period);
        if self.tunes_itself && start >= state.tuned.saturating_add(tune_after) {
            self.tune(&mut state, start);
        }
        if start >= state.next_refill {
            self.refill(&mut state, start);
        }
        let taken = bytes.min(state.available);
        state.available -= taken;
        if taken == bytes {
            return Waited::default();
        }
        let ticket = state.next_ticket;
        state.next_ticket += 1;
        state.wanted.insert(ticket, bytes - taken);
        state.queues[priority as usize].push_back(ticket);
        let drains = self.wait(&mut state, ticket, priority, let_through);
        Waited {
            micros: Some(self.time.now().saturating_sub(start)),
            drains,
        }
    }

    /// Waits for `ticket` to be served; returns how many refills it was the
    /// first to wait for.
    fn wait(
        &self,
        state: &mut MutexGuard<'_, State>,
        ticket: u64,
        priority: IoPriority,
        let_through: &AtomicBool,
    ) -> u64 {
        let mut drains = 0;
        while state.wanted.contains_key(&ticket) {
            // Relaxed: set before `wake` takes the mutex.
            if let_through.load(Relaxed) {
                state.wanted.remove(&ticket);
                state.queues[priority as usize].retain(|other| *other != ticket); // R1
                break;
            }
            let now = self.time.now();
            if now >= state.next_refill {
                self.refill(state, now);
                continue;
            }
            if state.waited_for != state.next_refill {
                state.waited_for = state.next_refill;
                state.drains += 1;
                drains += 1;
            }
            match self.time.sleep(state.next_refill - now) {
                Some(time) => drop(self.served.wait_for(state, time)),
                None => self.served.wait(state),
            }
        }
        drains
    }

    /// Makes the bytes of one period available, and serves who waits.
    fn refill(&self, state: &mut State, now: u64) {
        state.next_refill = now.saturating_add(self.period);
        state.refills += 1;
        state.available = state.per_period;
        self.served.notify_all();
        use IoPriority::{High, Low, Mid, User};
        let order = if state.refills.is_multiple_of(self.fairness) {
            [User, Low, Mid, High]
        } else {
            [User, High, Mid, Low]
        };
        for queue in order.map(|priority| priority as usize) {
            while let Some(ticket) = state.queues[queue].front()
                && let Some(wanted) = state.wanted.get_mut(ticket)
            {
                let taken = state.available.min(*wanted);
                state.available -= taken;
                *wanted -= taken;
                if *wanted > 0 {
                    return;
                }
                state.wanted.remove(ticket);
                state.queues[queue].pop_front(); // R1
            }
        }
    }

    /// Adapts the rate to how much was waited since the last time.
    fn tune(&self, state: &mut State, now: u64) {
        let periods = (now - state.tuned).div_ceil(self.period).max(1);
        let share = state.drains * 100 / periods;
        state.tuned = now;
        state.drains = 0;
        let min_rate = (self.max_rate / RANGE).max(1);
        let rate = u128::from(state.rate);
        let new = match share {
            0 => u128::from(min_rate),
            1..CALM => (rate * 100 / 105).max(min_rate.into()),
            _ if share > BUSY => (rate * 105).div_ceil(100).min(self.max_rate.into()),
            _ => rate,
        };
        state.rate = new as u64;
        state.per_period = per_period(state.rate, self.period);
    }

    /// Lets those who wait look again whether they are let through.
    fn wake(&self) {
        // Whoever was about to sleep sleeps by then, or has seen it.
        drop(self.state.lock());
        self.served.notify_all();
    }
}

impl fmt::Debug for RateLimiter {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("RateLimiter")
            .field("max_rate", &self.max_rate)
            .field("rate", &self.state.lock().rate)
            .finish_non_exhaustive()
    }
}

/// The bytes of one period.
fn per_period(rate: u64, period: u64) -> u64 {
    let bytes = u128::from(rate) * u128::from(period) / 1_000_000;
    u64::try_from(bytes).unwrap_or(u64::MAX).max(1)
}

/// How a request was met.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
struct Waited {
    /// Microseconds; none when there were bytes enough.
    micros: Option<u64>,
    /// Refills that it was the first to wait for.
    drains: u64,
}

/// Where requests are counted.
#[derive(Debug, Clone, Copy)]
struct Tickers {
    bytes: Ticker,
    requests: Ticker,
    /// Requests that waited, and for how long. Microseconds.
    delayed: Ticker,
    micros: Ticker,
}

const READS: Tickers = Tickers {
    bytes: Ticker::RateLimiterBytesRead,
    requests: Ticker::RateLimiterRequestsRead,
    delayed: Ticker::RateLimiterDelayedRequestsRead,
    micros: Ticker::RateLimiterTotalWaitMicrosRead,
};

const WRITES: Tickers = Tickers {
    bytes: Ticker::RateLimiterBytesWrite,
    requests: Ticker::RateLimiterRequestsWrite,
    delayed: Ticker::RateLimiterDelayedRequestsWrite,
    micros: Ticker::RateLimiterTotalWaitMicrosWrite,
};

/// One database's access to a limiter.
#[derive(Debug)]
pub(crate) struct Client {
    limiter: Arc<RateLimiter>,
    /// Set when the database closes: nothing is waited for. Written
    /// by: close, before `wake` takes the limiter's mutex. Read by: those who
    /// ask (relaxed). Publishes nothing.
    closed: AtomicBool,
    statistics: Option<Arc<Statistics>>,
}

impl Client {
    /// The access of a database with `statistics`.
    pub fn new(limiter: Arc<RateLimiter>, statistics: Option<Arc<Statistics>>) -> Arc<Self> {
        Arc::new(Client {
            limiter,
            closed: AtomicBool::new(false),
            statistics,
        })
    }

    /// Whether reads have to ask.
    pub fn limits_reads(&self) -> bool {
        self.limiter.mode.limits_reads()
    }

    /// Waits until `bytes` may be written.
    pub fn request_write(&self, bytes: u64, priority: IoPriority) {
        if self.limiter.mode.limits_writes() {
            self.request(bytes, priority, WRITES);
        }
    }

    /// Waits until some of `bytes`, which is not 0, may be read. Returns how many, at least 1: no
    /// more than come with one refill. The rest has to be asked for again.
    pub fn request_read(&self, bytes: u64, priority: IoPriority) -> u64 {
        if !self.limits_reads() || self.closed.load(Relaxed) {
            return bytes;
        }
        let granted = bytes.min(self.limiter.burst());
        self.request(granted, priority, READS);
        granted
    }

    fn request(&self, bytes: u64, priority: IoPriority, tickers: Tickers) {
        if self.closed.load(Relaxed) {
            return;
        }
        let waited = self.limiter.request(bytes, priority, &self.closed);
        let count = |ticker, n| tick(self.statistics.as_deref(), ticker, n);
        count(tickers.bytes, bytes);
        count(tickers.requests, 1);
        if let Some(micros) = waited.micros {
            count(tickers.delayed, 1);
            count(tickers.micros, micros);
            count(Ticker::NumberRateLimiterDrains, waited.drains);
        }
    }

    /// Lets this database's threads through, now and from now on.
    pub fn close(&self) {
        self.closed.store(true, Relaxed);
        self.limiter.wake();
    }
}

#[cfg(test)]
mod tests;
