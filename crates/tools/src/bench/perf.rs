//! `--perf_level`: what the threads of a benchmark have measured of the engine's
//! calls, added up.

/// Names and values that one thread measured, or the sums of several.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Measured {
    metrics: Vec<(String, u64)>,
}

impl Measured {
    /// Reads an engine's report, `name = value, name = value`.
    pub fn parse(report: &str) -> Self {
        let pairs = report.split(", ").filter_map(|pair| {
            let (name, value) = pair.trim().split_once(" = ")?;
            Some((name.to_owned(), value.parse().ok()?))
        });
        Self {
            metrics: pairs.collect(),
        }
    }

    /// Whether nothing was measured.
    pub fn is_empty(&self) -> bool {
        self.metrics.is_empty()
    }

    /// The value of a metric, if it was measured and is not 0.
    pub fn value(&self, name: &str) -> Option<u64> {
        let metric = self.metrics.iter().find(|(known, _)| known == name)?;
        Some(metric.1)
    }

    /// Adds the values of another thread.
    pub fn add(&mut self, other: Self) {
        for (name, value) in other.metrics {
            match self.metrics.iter_mut().find(|(known, _)| *known == name) {
                Some((_, sum)) => *sum = sum.wrapping_add(value),
                None => self.metrics.push((name, value)),
            }
        }
    }

    /// The report of all threads, in the form that [`parse`](Self::parse) reads.
    pub fn report(&self) -> String {
        let pairs: Vec<_> = self
            .metrics
            .iter()
            .map(|(name, value)| format!("{name} = {value}"))
            .collect();
        pairs.join(", ")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn threads_add_up_by_name() {
        let mut sum = Measured::parse("block_read_count = 2, get_read_bytes = 10");
        sum.add(Measured::parse("get_read_bytes = 5, write_wal_time = 7"));
        sum.add(Measured::parse(""));
        assert_eq!(
            sum.report(),
            "block_read_count = 2, get_read_bytes = 15, write_wal_time = 7"
        );
        assert_eq!(Measured::parse("").report(), "");
    }
}
