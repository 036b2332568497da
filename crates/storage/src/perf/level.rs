//! How much a thread measures.

use std::cell::Cell;

/// How much the calling thread measures of what it does. Each level includes
/// those before it.
#[derive(Debug, Copy, Clone, PartialEq, Eq)]
#[repr(i32)]
pub enum PerfStatsLevel {
    /// No setting; as [`Disable`](Self::Disable).
    Uninitialized = 0,
    /// Nothing. Every thread starts with this.
    Disable,
    /// Counts and bytes.
    EnableCount,
    /// Times, but for the waits for mutexes.
    EnableTimeExceptForMutex,
    /// The same: no metric of this list is of processor time.
    EnableTimeAndCPUTimeExceptForMutex,
    /// Everything.
    EnableTime,
    /// The end of the list; as [`EnableTime`](Self::EnableTime).
    OutOfBound,
}

thread_local! {
    static LEVEL: Cell<PerfStatsLevel> = const { Cell::new(PerfStatsLevel::Disable) };
}

/// Sets how much the calling thread measures from now on. What it has measured
/// so far stays.
pub fn set_perf_stats(lvl: PerfStatsLevel) {
    LEVEL.set(lvl);
}

/// How much the calling thread measures.
pub fn perf_stats() -> PerfStatsLevel {
    LEVEL.get()
}

/// Whether the calling thread measures what `level` includes.
#[inline]
pub(super) fn at_least(level: PerfStatsLevel) -> bool {
    LEVEL.get() as i32 >= level as i32
}
