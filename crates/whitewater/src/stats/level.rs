//! How much statistics collect.

use std::sync::atomic::{AtomicU8, Ordering};

/// How much statistics collect. Each level includes those before it.
#[derive(Debug, Copy, Clone, PartialEq, Eq)]
#[repr(u8)]
pub enum StatsLevel {
    /// Nothing.
    DisableAll = 0,
    /// Tickers.
    ExceptHistogramOrTimers = 2,
    /// Tickers and histograms of sizes; no clock is read for them.
    ExceptTimers,
    /// What `ExceptTimers` includes, and the times of calls and jobs. The default.
    ExceptDetailedTimers,
    /// What `ExceptDetailedTimers` includes, and the times of the steps of calls
    /// (`whitewater.write.*`), for which each write reads the clock several times.
    ExceptTimeForMutex,
    /// What `ExceptTimeForMutex` includes, and the waits for the database mutex
    /// (`rocksdb.db.mutex.wait.micros`).
    All,
}

/// A level that can be changed at any time.
#[derive(Debug)]
pub(super) struct CurrentLevel(
    /// Written by: threads that set the level. Read by: threads that collect (relaxed: a change
    /// that is seen late adds or loses a few samples). Publishes nothing.
    AtomicU8,
);

impl Default for CurrentLevel {
    fn default() -> Self {
        CurrentLevel(AtomicU8::new(StatsLevel::ExceptDetailedTimers as u8))
    }
}

impl CurrentLevel {
    pub(super) fn set(&self, level: StatsLevel) {
        self.0.store(level as u8, Ordering::Relaxed);
    }

    /// Whether what `level` includes is collected.
    #[inline]
    pub(super) fn includes(&self, level: StatsLevel) -> bool {
        self.0.load(Ordering::Relaxed) >= level as u8
    }
}
