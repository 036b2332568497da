//! Timing a call or a job for a histogram.

use super::{Histogram, Statistics};
use std::time::Instant;
use whitewater_concurrent::system;

/// Records the time from its creation until it is dropped. Made by [`time`].
#[derive(Debug)]
#[must_use = "it measures until it is dropped"]
pub(crate) struct Stopwatch<'a> {
    /// Unset when the time is not wanted.
    running: Option<(&'a Statistics, Instant)>,
    histogram: Histogram,
}

/// Measures until the result is dropped, if statistics are on and their level includes the
/// histogram. Otherwise the clock is not read.
#[inline]
pub(crate) fn time(statistics: Option<&Statistics>, histogram: Histogram) -> Stopwatch<'_> {
    let wanted = statistics.filter(|s| s.wants(histogram));
    Stopwatch {
        running: wanted.map(|s| (s, system::now())),
        histogram,
    }
}

impl Drop for Stopwatch<'_> {
    #[inline]
    fn drop(&mut self) {
        if let Some((statistics, start)) = self.running {
            finish(statistics, self.histogram, start);
        }
    }
}

// By value: a stopwatch that is not wanted then stays in registers.
#[cold]
fn finish(statistics: &Statistics, histogram: Histogram, start: Instant) {
    statistics.record(histogram, histogram.units(system::since(start)));
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
