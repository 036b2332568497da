//! What one call adds to the counters of its thread.

use super::{METRICS, PerfMetric, PerfStatsLevel, VALUES, counts, set_perf_stats, value};
use std::cell::Cell;
use std::marker::PhantomData;

/// The growth of the thread's counters since [`measure`].
#[derive(Debug)]
#[must_use = "it measures until it is dropped"]
pub struct Measurement {
    before: [u64; METRICS],
    /// Whether the thread measured nothing before. Then it measures nothing afterwards, and its
    /// counters are as they were.
    is_borrowed: bool,
    /// Another thread's counters are others.
    _of_this_thread: PhantomData<*const ()>,
}

/// Has the calling thread measure everything until the result is dropped. A thread that measures
/// already goes on at its own level.
pub fn measure() -> Measurement {
    let is_borrowed = !counts();
    if is_borrowed {
        set_perf_stats(PerfStatsLevel::EnableTime);
    }
    Measurement {
        before: VALUES.with(|values| values.each_ref().map(Cell::get)),
        is_borrowed,
        _of_this_thread: PhantomData,
    }
}

impl Measurement {
    /// The names of the metrics that have grown, and by how much, in the order of [`PerfMetric`].
    pub fn growth(&self) -> impl Iterator<Item = (&'static str, u64)> {
        let metrics = PerfMetric::ALL.iter().zip(&self.before);
        metrics
            .map(|((metric, name), before)| (*name, value(*metric).wrapping_sub(*before)))
            .filter(|(_, growth)| *growth > 0)
    }
}

impl Drop for Measurement {
    fn drop(&mut self) {
        if self.is_borrowed {
            set_perf_stats(PerfStatsLevel::Disable);
            VALUES.with(|values| {
                for (value, before) in values.iter().zip(&self.before) {
                    value.set(*before);
                }
            });
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::{add_nanos, count, perf_stats, reset};
    use super::*;

    /// What was measured of a count and a time, in a thread whose level is `level`, and what the
    /// thread has of it afterwards.
    fn measured(level: PerfStatsLevel) -> (Vec<(&'static str, u64)>, (u64, u64)) {
        reset();
        set_perf_stats(level);
        let measurement = measure();
        count(PerfMetric::BlockReadCount, 2);
        add_nanos(PerfMetric::WriteWalTime, 3);
        let growth = measurement.growth().collect();
        drop(measurement);
        assert_eq!(perf_stats(), level);
        set_perf_stats(PerfStatsLevel::Disable);
        let left = (PerfMetric::BlockReadCount, PerfMetric::WriteWalTime);
        (growth, (value(left.0), value(left.1)))
    }

    #[test]
    fn a_thread_that_measures_nothing_is_measured_and_does_not_see_it() {
        let both = vec![("block_read_count", 2), ("write_wal_time", 3)];
        assert_eq!(measured(PerfStatsLevel::Disable), (both, (0, 0)));
    }

    #[test]
    fn a_thread_that_measures_goes_on_at_its_level() {
        let (count, time) = (("block_read_count", 2), ("write_wal_time", 3));
        let found = measured(PerfStatsLevel::EnableCount);
        assert_eq!(found, (vec![count], (2, 0)));
        let found = measured(PerfStatsLevel::EnableTime);
        assert_eq!(found, (vec![count, time], (2, 3)));
    }

    #[test]
    fn a_call_within_a_call_is_part_of_it() {
        reset();
        let outer = measure();
        count(PerfMetric::BlockReadCount, 1);
        let inner = measure();
        count(PerfMetric::BlockReadCount, 2);
        assert_eq!(inner.growth().next(), Some(("block_read_count", 2)));
        drop(inner);
        assert_eq!(outer.growth().next(), Some(("block_read_count", 3)));
    }
}
