//! RocksDB's perf context: what the calls of one thread into the database did, and how long they
//! took.
//!
//! Every thread has its own counters, one per [`PerfMetric`] (`metric`), and a [`PerfStatsLevel`]
//! (`level`) that says which of them it updates. Nothing is shared, so nothing is atomic. At
//! [`PerfStatsLevel::Disable`], where every thread starts, [`count`] and [`timer`](fn@timer) cost
//! one load of a thread-local and a branch. The clock is read only if the level measures times.
//! The engine may measure one call of a thread that measures nothing (`measurement`).
//!
//! The counters are in this crate because reading blocks counts, too. Users see them through the
//! engine's `perf` module.

mod level;
mod measurement;
mod metric;
mod timer;

pub use level::{PerfStatsLevel, perf_stats, set_perf_stats};
pub use measurement::{Measurement, measure};
pub use metric::PerfMetric;
pub use timer::{Timer, add_nanos, timer, timer_if, wants};

use std::cell::Cell;

/// Number of metrics.
const METRICS: usize = PerfMetric::TotalMetricCount as usize;

thread_local! {
    /// The thread's counters, by metric.
    static VALUES: [Cell<u64>; METRICS] = const { [const { Cell::new(0) }; METRICS] };
}

/// Adds `n` to a counting metric, if the thread's level includes counts.
#[inline]
pub fn count(metric: PerfMetric, n: u64) {
    if counts() {
        add(metric, n);
    }
}

/// Whether the thread's level includes counts.
#[inline]
pub fn counts() -> bool {
    level::at_least(PerfStatsLevel::EnableCount)
}

/// Adds to a metric, whatever the level.
fn add(metric: PerfMetric, n: u64) {
    VALUES.with(|values| {
        if let Some(value) = values.get(metric as usize) {
            value.set(value.get().wrapping_add(n));
        }
    });
}

/// The calling thread's value of `metric`; 0 for [`PerfMetric::TotalMetricCount`], which is not a
/// metric.
pub fn value(metric: PerfMetric) -> u64 {
    VALUES.with(|values| values.get(metric as usize).map_or(0, Cell::get))
}

/// Sets all of the calling thread's counters to 0.
pub fn reset() {
    VALUES.with(|values| values.iter().for_each(|value| value.set(0)));
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn counting_follows_the_level_of_the_thread() {
        std::thread::spawn(|| {
            assert_eq!(perf_stats(), PerfStatsLevel::Disable);
            count(PerfMetric::BlockReadCount, 2);
            assert_eq!(value(PerfMetric::BlockReadCount), 0);
            set_perf_stats(PerfStatsLevel::EnableCount);
            count(PerfMetric::BlockReadCount, 2);
            count(PerfMetric::BlockReadCount, 3);
            count(PerfMetric::TotalMetricCount, 1);
            assert_eq!(value(PerfMetric::BlockReadCount), 5);
            let other = std::thread::spawn(|| (perf_stats(), value(PerfMetric::BlockReadCount)));
            assert_eq!(other.join().unwrap(), (PerfStatsLevel::Disable, 0));
            set_perf_stats(PerfStatsLevel::Disable);
            count(PerfMetric::BlockReadCount, 1);
            assert_eq!(value(PerfMetric::BlockReadCount), 5, "kept, not counted on");
            reset();
            assert_eq!(value(PerfMetric::BlockReadCount), 0);
        })
        .join()
        .unwrap();
    }
}
