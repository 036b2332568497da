//! Measures the time of a step.

use super::level::at_least;
use super::{PerfMetric, add};
use std::time::Instant;
use whitewater_concurrent::system;

/// Adds the time from its creation to its end to a metric. Created by [`timer`].
#[derive(Debug)]
#[must_use = "it measures until it is dropped"]
pub struct Timer {
    metric: PerfMetric,
    /// Unset if the level does not measure this time.
    start: Option<Instant>,
}

impl Timer {
    /// Ends the measurement; dropping does the same.
    #[inline]
    pub fn stop(self) {}
}

impl Drop for Timer {
    #[inline]
    fn drop(&mut self) {
        if let Some(start) = self.start {
            finish(self.metric, start);
        }
    }
}

#[cold]
fn finish(metric: PerfMetric, start: Instant) {
    let nanos = system::since(start).as_nanos();
    add(metric, u64::try_from(nanos).unwrap_or(u64::MAX));
}

/// Measures the time until the result is dropped, if the thread's level includes the metric.
/// Nanoseconds.
#[inline]
pub fn timer(metric: PerfMetric) -> Timer {
    timer_if(true, metric)
}

/// [`timer`] if `wanted`, otherwise a timer that measures nothing.
#[inline]
pub fn timer_if(wanted: bool, metric: PerfMetric) -> Timer {
    let wanted = wanted && wants(metric);
    Timer {
        metric,
        start: wanted.then(system::now),
    }
}

/// Whether the thread's level measures the time of `metric`.
#[inline]
pub fn wants(metric: PerfMetric) -> bool {
    at_least(metric.level())
}

/// Adds a time that was measured already, if the level measures it. Nanoseconds.
#[inline]
pub fn add_nanos(metric: PerfMetric, nanos: u64) {
    if wants(metric) {
        add(metric, nanos);
    }
}

#[cfg(test)]
mod tests {
    use super::super::{PerfStatsLevel, set_perf_stats, value};
    use super::*;
    use std::time::Duration;

    /// Whether timers of the two metrics run at `level`.
    fn running(level: PerfStatsLevel) -> (bool, bool) {
        set_perf_stats(level);
        let runs = |metric| timer(metric).start.is_some();
        let found = (
            runs(PerfMetric::WriteWalTime),
            runs(PerfMetric::DbMutexLockNanos),
        );
        set_perf_stats(PerfStatsLevel::Disable);
        found
    }

    #[test]
    fn the_clock_is_read_only_at_levels_that_ask_for_the_metric() {
        use PerfStatsLevel::*;
        assert_eq!(running(Uninitialized), (false, false));
        assert_eq!(running(Disable), (false, false));
        assert_eq!(running(EnableCount), (false, false));
        assert_eq!(running(EnableTimeExceptForMutex), (true, false));
        assert_eq!(running(EnableTimeAndCPUTimeExceptForMutex), (true, false));
        assert_eq!(running(EnableTime), (true, true));
        assert_eq!(running(OutOfBound), (true, true));
    }

    #[test]
    fn times_add_up() {
        let metric = PerfMetric::WriteWalTime;
        let pause = Duration::from_millis(2);
        set_perf_stats(PerfStatsLevel::EnableTime);
        let before = value(metric);
        let running = timer(metric);
        std::thread::sleep(pause);
        running.stop();
        let first = value(metric) - before;
        assert!(u128::from(first) >= pause.as_nanos());
        let left_out = timer_if(false, metric);
        assert!(left_out.start.is_none());
        drop(left_out);
        assert_eq!(value(metric) - before, first);
        add_nanos(metric, 7);
        assert_eq!(value(metric) - before, first + 7);
        set_perf_stats(PerfStatsLevel::EnableCount);
        add_nanos(metric, 7);
        set_perf_stats(PerfStatsLevel::Disable);
        assert_eq!(value(metric) - before, first + 7, "times are not wanted");
    }
}
