//! How long calls take, while statistics are off: the times of one call in [`RATE`].
//!
//! To time every call would take a tenth of the time of a small one and more. The times of a
//! sample take less than a hundredth, so they are always taken.

use super::buckets::{Buckets, Merged};
use super::sampler::Sampler;
use super::{Histogram, HistogramCounts};
use std::sync::OnceLock;

/// The number of calls for which one that is timed stands, on average.
const RATE: u32 = 128;

/// The histograms that are sampled.
const SAMPLED: [Histogram; 4] = [
    Histogram::DbGet,
    Histogram::DbMultiget,
    Histogram::DbWrite,
    Histogram::DbSeek,
];

thread_local! {
    static SAMPLER: Sampler = const { Sampler::new() };
}

/// The times of sampled calls of a database.
#[derive(Debug, Default)]
pub(crate) struct SampledLatencies {
    /// In the order of [`SAMPLED`]. Allocated when the first time is recorded. All threads share
    /// them: each records seldom.
    histograms: [OnceLock<Box<Buckets>>; SAMPLED.len()],
}

impl SampledLatencies {
    /// Whether the call that begins is timed.
    #[inline]
    pub fn is_turn() -> bool {
        SAMPLER.with(|sampler| sampler.is_turn(RATE))
    }

    /// Records a time, in the histogram's unit.
    pub fn record(&self, histogram: Histogram, value: u64) {
        if let Some(buckets) = self.of(histogram) {
            buckets.get_or_init(Box::default).record(value);
        }
    }

    /// What was recorded; `None` for a histogram that is not sampled.
    pub fn counts(&self, histogram: Histogram) -> Option<HistogramCounts> {
        let recorded = self.of(histogram)?.get();
        let recorded = recorded.iter().map(|buckets| &***buckets);
        Some(HistogramCounts(Merged::of(recorded)))
    }

    fn of(&self, histogram: Histogram) -> Option<&OnceLock<Box<Buckets>>> {
        let at = SAMPLED.iter().position(|one| *one == histogram)?;
        Some(&self.histograms[at])
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_of_calls_are_recorded_and_others_are_not() {
        let latencies = SampledLatencies::default();
        latencies.record(Histogram::DbGet, 7);
        latencies.record(Histogram::DbGet, 9);
        latencies.record(Histogram::FlushTime, 9);
        let counts = latencies.counts(Histogram::DbGet).expect("it is sampled");
        assert_eq!((counts.data().count(), counts.data().sum()), (2, 16));
        let none = latencies.counts(Histogram::DbWrite).expect("it is sampled");
        assert_eq!(none.data().count(), 0);
        assert!(latencies.counts(Histogram::FlushTime).is_none());
    }
}
