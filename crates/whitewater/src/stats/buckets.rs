//! The values of one histogram that the threads of one shard have recorded.
//!
//! Values below 16 have a bucket each. Above, every power of two is divided into eight buckets,
//! so a bucket is at most an eighth as wide as its values are large. Recording a value is two
//! relaxed additions, on cache lines that threads of other shards do not touch.

use super::data::HistogramData;
use std::array::from_fn;
use std::fmt::Write;
use std::sync::atomic::{AtomicU64, Ordering};
use whitewater_concurrent::counter::Counter;

/// Values below this have a bucket each.
const EXACT: usize = 16;
/// The base-2 logarithm of the number of buckets in a power of two.
const PARTS_LOG: u32 = 3;
/// The number of buckets: those of single values, and those of the powers of two from 16 to
/// 2^63.
pub(super) const BUCKETS: usize = EXACT + ((64 - 4) << PARTS_LOG);

/// The bucket of `value`.
#[inline]
fn bucket_of(value: u64) -> usize {
    if value < EXACT as u64 {
        return value as usize;
    }
    let power = value.ilog2();
    let part = (value >> (power - PARTS_LOG)) as usize & ((1 << PARTS_LOG) - 1);
    EXACT + (((power - 4) as usize) << PARTS_LOG) + part
}

/// The smallest value of a bucket, and how many values the bucket has.
fn range_of(bucket: usize) -> (u64, u64) {
    if bucket < EXACT {
        return (bucket as u64, 1);
    }
    let power = 4 + ((bucket - EXACT) >> PARTS_LOG) as u32;
    let part = (bucket - EXACT) as u64 & ((1 << PARTS_LOG) - 1);
    let width = 1 << (power - PARTS_LOG);
    ((1 << power) + part * width, width)
}

/// What one shard has recorded.
#[derive(Debug)]
pub(super) struct Buckets {
    counts: [Counter; BUCKETS],
    sum: Counter,
    /// Written by: the shard's threads. Read by: the same threads, to avoid a needless write, and
    /// threads that look at the histogram. Publish nothing.
    min: AtomicU64,
    max: AtomicU64,
}

impl Default for Buckets {
    fn default() -> Self {
        Buckets {
            counts: from_fn(|_| Counter::new()),
            sum: Counter::new(),
            min: AtomicU64::new(u64::MAX),
            max: AtomicU64::new(0),
        }
    }
}

impl Buckets {
    #[inline]
    pub(super) fn record(&self, value: u64) {
        self.counts[bucket_of(value)].add(1);
        self.sum.add(value);
        if value < self.min.load(Ordering::Relaxed) {
            self.min.fetch_min(value, Ordering::Relaxed);
        }
        if value > self.max.load(Ordering::Relaxed) {
            self.max.fetch_max(value, Ordering::Relaxed);
        }
    }
}

/// The sum of several shards.
#[derive(Debug, Clone)]
pub(super) struct Merged {
    counts: Vec<u64>,
    sum: u64,
    min: u64,
    max: u64,
}

impl Merged {
    /// The sum of `shards`, each at some recent moment.
    pub(super) fn of<'a>(shards: impl Iterator<Item = &'a Buckets>) -> Self {
        let mut merged = Merged {
            counts: vec![0; BUCKETS],
            sum: 0,
            min: u64::MAX,
            max: 0,
        };
        for shard in shards {
            for (sum, count) in merged.counts.iter_mut().zip(&shard.counts) {
                *sum += count.get();
            }
            merged.sum = merged.sum.wrapping_add(shard.sum.get());
            merged.min = merged.min.min(shard.min.load(Ordering::Relaxed));
            merged.max = merged.max.max(shard.max.load(Ordering::Relaxed));
        }
        merged
    }

    /// The values that were recorded after `earlier` was taken. Its extremes are known to a
    /// bucket's width, because the recorded ones are those of all values.
    pub(super) fn since(&self, earlier: &Merged) -> Merged {
        let pairs = self.counts.iter().zip(&earlier.counts);
        let counts: Vec<u64> = pairs
            .map(|(now, before)| now.saturating_sub(*before))
            .collect();
        let with_values = || (0..counts.len()).filter(|&bucket| counts[bucket] > 0);
        let least = with_values().next().map_or(u64::MAX, |at| range_of(at).0);
        let most = with_values().next_back().map_or(0, |at| {
            let (from, width) = range_of(at);
            from + (width - 1)
        });
        Merged {
            sum: self.sum.wrapping_sub(earlier.sum),
            min: if least == u64::MAX {
                least
            } else {
                least.max(self.min)
            },
            max: most.min(self.max),
            counts,
        }
    }

    /// The histogram as users see it. All 0 without values.
    pub(super) fn data(&self) -> HistogramData {
        let count: u64 = self.counts.iter().sum();
        if count == 0 {
            return HistogramData::default();
        }
        let average = self.sum as f64 / count as f64;
        let squares: f64 = self
            .counts
            .iter()
            .enumerate()
            .map(|(bucket, &n)| {
                let (least, width) = range_of(bucket);
                let middle = least as f64 + (width - 1) as f64 / 2.0;
                n as f64 * (middle - average).powi(2)
            })
            .sum();
        HistogramData {
            median: self.percentile(count, 0.50),
            p95: self.percentile(count, 0.95),
            p99: self.percentile(count, 0.99),
            average,
            std_dev: (squares / count as f64).sqrt(),
            min: self.min as f64,
            max: self.max as f64,
            sum: self.sum,
            count,
        }
    }

    /// The number of values.
    pub(super) fn count(&self) -> u64 {
        self.counts.iter().sum()
    }

    /// RocksDB's text of a histogram: a summary, then a line for each bucket with values. Empty if
    /// there are no values.
    pub(super) fn text(&self) -> String {
        let count = self.count();
        let mut out = String::new();
        if count == 0 {
            return out;
        }
        let data = self.data();
        // Writing to a string cannot fail, here and below.
        let _ = write!(
            out,
            "Count: {count} Average: {:.4}  StdDev: {:.2}\nMin: {}  Median: {:.4}  Max: {}\n\
             Percentiles: P50: {:.2} P75: {:.2} P99: {:.2} P99.9: {:.2} P99.99: {:.2}\n{}\n",
            data.average,
            data.std_dev,
            self.min,
            data.median,
            self.max,
            data.median,
            self.percentile(count, 0.75),
            data.p99,
            self.percentile(count, 0.999),
            self.percentile(count, 0.9999),
            "-".repeat(54),
        );
        let mut below = 0;
        for (bucket, &n) in self.counts.iter().enumerate().filter(|(_, n)| **n > 0) {
            below += n;
            let (least, width) = range_of(bucket);
            let share = |n: u64| n as f64 * 100.0 / count as f64;
            let (open, from) = match least {
                0 => ('[', 0),
                least => ('(', least - 1),
            };
            let marks = "#".repeat((share(n) / 5.0 + 0.5) as usize);
            let _ = writeln!(
                out,
                "{open} {from:>7}, {:>7} ] {n:>8} {:>7.3}% {:>7.3}% {marks}",
                least + (width - 1),
                share(n),
                share(below),
            );
        }
        out
    }

    /// The value that a share of all `count` values does not exceed, on the assumption that the
    /// values of a bucket are spread evenly over it.
    fn percentile(&self, count: u64, share: f64) -> f64 {
        let wanted = count as f64 * share;
        let mut below = 0.0;
        for (bucket, &n) in self.counts.iter().enumerate() {
            if n > 0 && below + n as f64 >= wanted {
                let (least, width) = range_of(bucket);
                let from = least.max(self.min) as f64;
                let to = (least + (width - 1)).min(self.max) as f64;
                return from + (wanted - below) / n as f64 * (to - from);
            }
            below += n as f64;
        }
        self.max as f64
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn buckets_follow_one_another_and_hold_their_values() {
        let mut next = 0u64;
        for bucket in 0..BUCKETS {
            let (least, width) = range_of(bucket);
            assert_eq!(least, next, "bucket {bucket}");
            assert_eq!(bucket_of(least), bucket);
            assert_eq!(bucket_of(least + (width - 1)), bucket);
            assert!(width == 1 || width * 8 <= least);
            next = least.wrapping_add(width);
        }
        assert_eq!(next, 0, "the last one ends at the largest value");
    }

    #[test]
    fn percentiles_are_close_to_the_values() {
        let shards = [Buckets::default(), Buckets::default()];
        for value in 1..=10_000u64 {
            shards[value as usize % 2].record(value);
        }
        let data = Merged::of(shards.iter()).data();
        assert_eq!((data.count, data.sum), (10_000, 50_005_000));
        assert_eq!((data.min, data.max), (1.0, 10_000.0));
        assert_eq!(data.average, 5000.5);
        let close = |found: f64, exact: f64| (found / exact - 1.0).abs() < 0.01;
        assert!(close(data.median, 5000.0), "{data:?}");
        assert!(close(data.p95, 9500.0), "{data:?}");
        assert!(close(data.p99, 9900.0), "{data:?}");
        assert!(close(data.std_dev, 2886.75), "{data:?}");
    }

    #[test]
    fn an_interval_has_its_own_values_only() {
        let shard = Buckets::default();
        (1..=1000).for_each(|value| shard.record(value));
        let before = Merged::of([&shard].into_iter());
        assert_eq!(before.since(&before).data().count, 0);
        for value in [5, 5, 5, 300] {
            shard.record(value);
        }
        let data = Merged::of([&shard].into_iter()).since(&before).data();
        assert_eq!((data.count, data.sum, data.min), (4, 315, 5.0));
        assert_eq!(data.median, 5.0);
        assert!((300.0..320.0).contains(&data.max), "{data:?}");
    }

    #[test]
    fn the_text_is_rocksdbs() {
        let shard = Buckets::default();
        assert_eq!(Merged::of([&shard].into_iter()).text(), "");
        for value in [0, 3, 3, 20] {
            shard.record(value);
        }
        let text = Merged::of([&shard].into_iter()).text();
        let lines: Vec<&str> = text.lines().collect();
        // The standard deviation is computed from the buckets.
        assert!(
            lines[0].starts_with("Count: 4 Average: 6.5000  StdDev: "),
            "{text}"
        );
        assert!(
            lines[1].starts_with("Min: 0  Median: 3.0000  Max: 20"),
            "{text}"
        );
        assert!(lines[2].starts_with("Percentiles: P50: 3.00 P75: 3.00 P99: "));
        assert_eq!(lines[3], "-".repeat(54));
        assert_eq!(
            lines[4],
            "[       0,       0 ]        1  25.000%  25.000% #####"
        );
        assert_eq!(
            lines[5],
            "(       2,       3 ]        2  50.000%  75.000% ##########"
        );
        assert_eq!(
            lines[6],
            "(      19,      21 ]        1  25.000% 100.000% #####"
        );
        assert_eq!(lines.len(), 7);
    }

    #[test]
    fn extremes_and_nothing_at_all() {
        let shard = Buckets::default();
        assert_eq!(Merged::of([&shard].into_iter()).data().count, 0);
        assert_eq!(Merged::of([].into_iter()).data().min, 0.0);
        shard.record(7);
        let data = Merged::of([&shard].into_iter()).data();
        assert_eq!((data.median, data.p99, data.std_dev), (7.0, 7.0, 0.0));
        shard.record(u64::MAX);
        let data = Merged::of([&shard].into_iter()).data();
        assert_eq!(data.max, u64::MAX as f64);
        assert_eq!(data.median, 7.0);
    }
}
