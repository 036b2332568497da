//! Timing a call or a job for a histogram.

use super::{Histogram, SampledLatencies, Statistics};
use std::time::Instant;
use whitewater_concurrent::system;

/// Records the time from its creation until it is dropped. Made by [`time`] and [`time_call`].
#[derive(Debug)]
#[must_use = "it measures until it is dropped"]
pub(crate) struct Stopwatch<'a> {
    /// Unset when the time is not wanted.
    running: Option<(Records<'a>, Instant)>,
    histogram: Histogram,
}

/// Where a time is recorded.
#[derive(Debug, Clone, Copy)]
enum Records<'a> {
    All(&'a Statistics),
    Sampled(&'a SampledLatencies),
}

/// Measures until the result is dropped, if statistics are on and their level includes the
/// histogram. Otherwise the clock is not read.
#[inline]
pub(crate) fn time(statistics: Option<&Statistics>, histogram: Histogram) -> Stopwatch<'_> {
    let wanted = statistics.filter(|s| s.wants(histogram));
    Stopwatch {
        running: wanted.map(|s| (Records::All(s), system::now())),
        histogram,
    }
}

/// [`time`] for a call, which is timed in a sample while statistics are off.
#[inline]
pub(crate) fn time_call<'a>(
    statistics: Option<&'a Statistics>,
    sampled: &'a SampledLatencies,
    histogram: Histogram,
) -> Stopwatch<'a> {
    if statistics.is_some() || !SampledLatencies::is_turn() {
        return time(statistics, histogram);
    }
    Stopwatch {
        running: Some((Records::Sampled(sampled), system::now())),
        histogram,
    }
}

impl Drop for Stopwatch<'_> {
    #[inline]
    fn drop(&mut self) {
        if let Some((records, start)) = self.running {
            finish(records, self.histogram, start);
        }
    }
}

// By value: a stopwatch that is not wanted then stays in registers.
#[cold]
fn finish(records: Records<'_>, histogram: Histogram, start: Instant) {
    let took = histogram.units(system::since(start));
    match records {
        Records::All(statistics) => statistics.record(histogram, took),
        Records::Sampled(latencies) => latencies.record(histogram, took),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::stats::StatsLevel;
    use std::time::Duration;

    #[test]
    fn a_stopwatch_records_in_the_histograms_unit() {
        let statistics = Statistics::default();
        drop(time(None, Histogram::DbGet));
        drop(time(Some(&statistics), Histogram::WriteAppendNanos));
        assert_eq!(statistics.histogram(Histogram::WriteAppendNanos).count(), 0);
        statistics.set_level(StatsLevel::All);
        for histogram in [Histogram::DbGet, Histogram::WriteAppendNanos] {
            let running = time(Some(&statistics), histogram);
            std::thread::sleep(Duration::from_millis(2));
            drop(running);
        }
        let micros = statistics.histogram(Histogram::DbGet);
        assert!(micros.count() == 1 && micros.sum() >= 2_000);
        let nanos = statistics.histogram(Histogram::WriteAppendNanos);
        assert!(nanos.count() == 1 && nanos.sum() >= 2_000_000);
    }
}
