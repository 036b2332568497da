//! A histogram as users see it.

use super::buckets::Merged;

/// The distribution of the values that a [`Histogram`](super::Histogram) recorded, in its unit.
/// Percentiles are accurate to an eighth, usually better; values below 16 are exact. Everything
/// is 0 when nothing was recorded.
#[derive(Debug, Clone, Default)]
pub struct HistogramData {
    pub(super) median: f64,
    pub(super) p95: f64,
    pub(super) p99: f64,
    pub(super) average: f64,
    pub(super) std_dev: f64,
    pub(super) min: f64,
    pub(super) max: f64,
    pub(super) sum: u64,
    pub(super) count: u64,
}

impl HistogramData {
    /// The data of a histogram that has recorded nothing.
    pub fn new() -> HistogramData {
        HistogramData::default()
    }
    /// The median: half of the values are no larger.
    pub fn median(&self) -> f64 {
        self.median
    }
    /// The mean.
    pub fn average(&self) -> f64 {
        self.average
    }
    /// The 95th percentile: 95 of 100 values are no larger.
    pub fn p95(&self) -> f64 {
        self.p95
    }
    /// The 99th percentile: 99 of 100 values are no larger.
    pub fn p99(&self) -> f64 {
        self.p99
    }
    /// The largest value.
    pub fn max(&self) -> f64 {
        self.max
    }
    /// The smallest value.
    pub fn min(&self) -> f64 {
        self.min
    }
    /// The sum of all values. It wraps around.
    pub fn sum(&self) -> u64 {
        self.sum
    }
    /// The number of values.
    pub fn count(&self) -> u64 {
        self.count
    }
    /// The standard deviation. Like the percentiles, it is an estimate.
    pub fn std_dev(&self) -> f64 {
        self.std_dev
    }
}

/// What a [`Histogram`](super::Histogram) has recorded so far. The difference between two of them
/// is what was recorded in between, so that percentiles of the last second can be told, and not
/// only those since the beginning.
#[derive(Debug, Clone)]
pub struct HistogramCounts(pub(super) Merged);

impl HistogramCounts {
    /// The distribution of the values.
    pub fn data(&self) -> HistogramData {
        self.0.data()
    }

    /// The values that were recorded after `earlier` was taken, which is of the same histogram. The
    /// smallest and the largest of them are known to an eighth.
    pub fn since(&self, earlier: &HistogramCounts) -> HistogramCounts {
        HistogramCounts(self.0.since(&earlier.0))
    }
}
