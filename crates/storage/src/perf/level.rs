//! The level of measuring: how much a thread measures.

use std::cell::Cell;

/// How much a thread measures of what it does. Each level includes the levels before it.
#[derive(Debug, Copy, Clone, PartialEq, Eq)]
#[repr(i32)]
pub enum PerfStatsLevel {
    /// Not set; the same as [`Disable`](Self::Disable).
    Uninitialized = 0,
    /// Nothing is measured. Every thread starts with this level.
    Disable,
    /// Counts and bytes.
    EnableCount,
    /// Times, except for waiting for mutexes.
    EnableTimeExceptForMutex,
    /// The same as the level before: no metric here is of processor time.
    EnableTimeAndCPUTimeExceptForMutex,
    /// Everything.
    EnableTime,
    /// The end of the list; the same as [`EnableTime`](Self::EnableTime).
    OutOfBound,
}

thread_local! {
    static LEVEL: Cell<PerfStatsLevel> = const { Cell::new(PerfStatsLevel::Disable) };
}

/// Sets how much the calling thread measures from now on. Earlier measurements stay.
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
