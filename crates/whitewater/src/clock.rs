//! The time of day, and CPU time.

use std::fmt;
use std::sync::Arc;
use std::time::{Duration, SystemTime, UNIX_EPOCH};
use whitewater_concurrent::system;

/// The clock that tells the time of day.
#[derive(Clone)]
pub(crate) struct Clock(Arc<dyn Fn() -> SystemTime + Send + Sync>);

impl Clock {
    pub fn new(now: impl Fn() -> SystemTime + Send + Sync + 'static) -> Self {
        Clock(Arc::new(now))
    }

    /// Seconds since 1970.
    pub fn now(&self) -> u64 {
        let since = (self.0)().duration_since(UNIX_EPOCH);
        since.map_or(0, |d| d.as_secs())
    }
}

impl Default for Clock {
    fn default() -> Self {
        Clock::new(system::wall_clock)
    }
}

impl fmt::Debug for Clock {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Clock({})", self.now())
    }
}

/// Seconds since 1970.
pub(crate) fn unix_seconds() -> u64 {
    system::wall_clock()
        .duration_since(UNIX_EPOCH)
        .map_or(0, |since| since.as_secs())
}

/// The CPU time of the calling thread so far. In a simulation it stands still, since runs would
/// otherwise differ.
#[cfg(unix)]
pub(crate) fn cpu_time() -> Duration {
    use rustix::time::{ClockId, clock_gettime};
    if system::is_simulated() {
        return Duration::ZERO;
    }
    let now = clock_gettime(ClockId::ThreadCPUTime);
    Duration::new(now.tv_sec as u64, now.tv_nsec as u32)
}

/// The CPU time of the calling thread so far: unknown on this system.
#[cfg(not(unix))]
pub(crate) fn cpu_time() -> Duration {
    Duration::ZERO
}

/// A duration in microseconds, saturating.
pub(crate) fn micros(time: Duration) -> u64 {
    u64::try_from(time.as_micros()).unwrap_or(u64::MAX)
}
