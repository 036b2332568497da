//! Latencies of operations, and the table that `--histogram` prints.
//!
//! Times are recorded in nanoseconds with three significant digits, and printed in
//! microseconds in the layout of RocksDB's histogram, with its bucket limits.

use std::fmt::Write as _;

use hdrhistogram::Histogram;

use super::stats::Operation;

/// A distribution of durations.
#[derive(Clone, Debug)]
pub struct Latencies {
    nanoseconds: Histogram<u64>,
}

impl Default for Latencies {
    fn default() -> Self {
        // One hour, three digits: the arguments are constant and valid.
        let nanoseconds = Histogram::new_with_max(3_600_000_000_000, 3)
            .expect("one hour at three digits is a valid range");
        Self { nanoseconds }
    }
}

impl Latencies {
    /// Adds one duration. Anything above an hour counts as an hour.
    pub fn add(&mut self, nanoseconds: u64) {
        self.nanoseconds.saturating_record(nanoseconds);
    }

    /// Adds all durations of `other`.
    pub fn merge(&mut self, other: &Self) {
        // Both histograms have the same range, so this cannot fail.
        let merged = self.nanoseconds.add(&other.nanoseconds);
        debug_assert!(merged.is_ok());
    }

    /// The duration in microseconds that `percentile` percent do not exceed.
    pub fn micros_at(&self, percentile: f64) -> f64 {
        self.nanoseconds.value_at_percentile(percentile) as f64 / 1e3
    }

    /// The number of durations.
    pub fn count(&self) -> u64 {
        self.nanoseconds.len()
    }

    /// The mean in microseconds.
    pub fn mean_micros(&self) -> f64 {
        self.nanoseconds.mean() / 1e3
    }

    /// The maximum in microseconds.
    pub fn most_micros(&self) -> f64 {
        self.nanoseconds.max() as f64 / 1e3
    }

    /// The table of counts, percentiles and buckets; every line ends with a newline.
    pub fn table(&self) -> String {
        let all = &self.nanoseconds;
        let rule = "-".repeat(54);
        let mut text = format!(
            "Count: {} Average: {:.4}  StdDev: {:.2}\nMin: {:.0}  Median: {:.4}  Max: {:.0}\n",
            all.len(),
            all.mean() / 1e3,
            all.stdev() / 1e3,
            all.min() as f64 / 1e3,
            self.micros_at(50.0),
            all.max() as f64 / 1e3,
        );
        let _ = writeln!(
            text,
            "Percentiles: P50: {:.2} P75: {:.2} P99: {:.2} P99.9: {:.2} P99.99: {:.2}\n{rule}",
            self.micros_at(50.0),
            self.micros_at(75.0),
            self.micros_at(99.0),
            self.micros_at(99.9),
            self.micros_at(99.99),
        );
        self.write_buckets(&mut text);
        text
    }

    fn write_buckets(&self, text: &mut String) {
        let total = self.nanoseconds.len() as f64;
        let mut seen = 0;
        let mut values = self.nanoseconds.iter_recorded().peekable();
        let mut lower = 0;
        for upper in BucketLimits::default() {
            let mut count = 0;
            while let Some(value) =
                values.next_if(|value| value.value_iterated_to() <= upper * 1000)
            {
                count += value.count_at_value();
            }
            seen += count;
            if count > 0 {
                let share = count as f64 / total;
                let _ = writeln!(
                    text,
                    "{} {lower:7}, {upper:7} ] {count:8} {:7.3}% {:7.3}% {}",
                    if lower == 0 { '[' } else { '(' },
                    share * 100.0,
                    seen as f64 / total * 100.0,
                    "#".repeat((share * 20.0).round() as usize),
                );
            }
            if values.peek().is_none() {
                break;
            }
            lower = upper;
        }
    }
}

/// Adds distributions to those of the same operations.
pub fn merge_all<'a>(
    sums: &mut Vec<(Operation, Latencies)>,
    others: impl Iterator<Item = (Operation, &'a Latencies)>,
) {
    for (operation, other) in others {
        match sums.iter_mut().find(|(known, _)| *known == operation) {
            Some((_, sum)) => sum.merge(other),
            None => sums.push((operation, other.clone())),
        }
    }
}

/// The upper limits of buckets in microseconds: 1 and 2, then each 1.5 times its
/// predecessor, truncated to two significant digits.
#[derive(Default)]
struct BucketLimits {
    exact: f64,
}

impl Iterator for BucketLimits {
    type Item = u64;

    fn next(&mut self) -> Option<u64> {
        self.exact = match self.exact {
            limit if limit < 1.0 => 1.0,
            limit if limit < 2.0 => 2.0,
            limit => limit * 1.5,
        };
        if self.exact > 1e13 {
            return None;
        }
        let mut limit = self.exact as u64;
        let mut unit = 1;
        while limit / 10 > 10 {
            limit /= 10;
            unit *= 10;
        }
        Some(limit * unit)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bucket_limits_are_those_of_rocksdb() {
        let limits: Vec<_> = BucketLimits::default().take(22).collect();
        assert_eq!(
            limits,
            [
                1, 2, 3, 4, 6, 10, 15, 22, 34, 51, 76, 110, 170, 250, 380, 580, 870, 1300, 1900,
                2900, 4400, 6600
            ]
        );
    }

    #[test]
    fn the_table_counts_everything_once() {
        let mut latencies = Latencies::default();
        let mut other = Latencies::default();
        for nanoseconds in [500, 1_500, 1_600, 2_500, 1_500_000] {
            latencies.add(nanoseconds);
            other.add(nanoseconds);
        }
        latencies.merge(&other);
        let table = latencies.table();
        let mut lines = table.lines();
        assert!(
            lines
                .next()
                .is_some_and(|line| line.starts_with("Count: 10 Average: ")),
            "{table}"
        );
        assert!(
            lines.next().is_some_and(|line| line.starts_with("Min: ")),
            "{table}"
        );
        assert!(
            lines
                .next()
                .is_some_and(|line| line.starts_with("Percentiles: P50: 1.6")),
            "{table}"
        );
        let buckets: Vec<_> = lines.skip(1).collect();
        assert_eq!(
            buckets,
            [
                "[       0,       1 ]        2  20.000%  20.000% ####",
                "(       1,       2 ]        4  40.000%  60.000% ########",
                "(       2,       3 ]        2  20.000%  80.000% ####",
                "(    1300,    1900 ]        2  20.000% 100.000% ####",
            ]
        );
    }

    #[test]
    fn an_empty_table_has_no_buckets() {
        assert_eq!(Latencies::default().table().lines().count(), 4);
    }
}
