//! The lines that scripts read: the result line, and the averages of repeated runs.
//! The format is that of RocksDB's db_bench 7.8, byte for byte.

use whitewater_memtable_bench::measure;

use super::stats::Stats;

/// The result of one run, including histograms; ends with a newline.
pub fn result(name: &str, stats: &Stats) -> String {
    let operations = stats.operations.max(1);
    let mut extra = match stats.megabytes_per_second() {
        Some(rate) => format!(" {rate:6.1} MB/s"),
        None => String::new(),
    };
    if !stats.message.is_empty() {
        extra = format!("{extra} {}", stats.message);
    }
    let mut text = format!(
        "{name:<12} : {:11.3} micros/op {} ops/sec {:.3} seconds {operations} operations;{extra}\n",
        stats.busy.as_secs_f64() * 1e6 / operations as f64,
        stats.operations_per_second() as u64,
        stats.elapsed().as_secs_f64(),
    );
    for (operation, latencies) in stats.latencies() {
        text += &format!(
            "Microseconds per {}:\n{}\n",
            operation.word(),
            latencies.table()
        );
    }
    text
}

/// The throughput of the runs of one benchmark.
#[derive(Clone, Debug, Default)]
pub struct Samples {
    operations: Vec<f64>,
    megabytes: Vec<f64>,
}

impl Samples {
    /// Adds a run.
    pub fn add(&mut self, stats: &Stats) {
        self.operations.push(stats.operations_per_second());
        self.megabytes.extend(stats.megabytes_per_second());
    }

    /// The median of operations per second; the mean of the middle two for an even number.
    pub fn median(&self) -> f64 {
        median(&self.operations)
    }

    /// The operations per second of each run.
    pub fn operations(&self) -> &[f64] {
        &self.operations
    }

    /// The megabytes per second of the runs that counted bytes.
    pub fn megabytes(&self) -> &[f64] {
        &self.megabytes
    }

    fn has_megabytes(&self) -> bool {
        self.megabytes.len() == self.operations.len()
    }

    /// The line after each run except the first: average and 95% confidence.
    pub fn so_far(&self, name: &str) -> String {
        let runs = self.operations.len();
        if runs < 2 {
            return String::new();
        }
        format!("{name} [AVG {runs} runs] : {}", self.averages())
    }

    /// The same line with the confidence as an interval.
    pub fn interval(&self, name: &str) -> String {
        let runs = self.operations.len();
        if runs < 2 {
            return String::new();
        }
        let (mean, spread) = (
            mean(&self.operations) as i64,
            confidence(&self.operations) as i64,
        );
        let mut text = format!(
            "{name} [CI95 {runs} runs] : ({}, {}) ops/sec",
            mean - spread,
            mean + spread
        );
        if self.has_megabytes() {
            let (mean, spread) = (
                crate::bench::report::mean(&self.megabytes),
                confidence(&self.megabytes),
            );
            text += &format!("; ({:.1}, {:.1}) MB/sec", mean - spread, mean + spread);
        }
        text + "\n"
    }

    /// The two lines after all runs: average and median.
    pub fn last(&self, name: &str) -> String {
        let runs = self.operations.len();
        if runs < 2 {
            return String::new();
        }
        let median_megabytes = if self.has_megabytes() {
            format!("; {:6.1} MB/sec", median(&self.megabytes))
        } else {
            String::new()
        };
        format!(
            "{name} [AVG    {runs} runs] : {}{name} [MEDIAN {runs} runs] : {} ops/sec{median_megabytes}\n",
            self.averages(),
            self.median() as i64,
        )
    }

    fn averages(&self) -> String {
        let megabytes = if self.has_megabytes() {
            format!(
                "; {:6.1} (\u{b1} {:.1}) MB/sec",
                mean(&self.megabytes),
                confidence(&self.megabytes)
            )
        } else {
            String::new()
        };
        format!(
            "{} (\u{b1} {}) ops/sec{megabytes}\n",
            mean(&self.operations) as i64,
            confidence(&self.operations) as i64
        )
    }
}

fn mean(values: &[f64]) -> f64 {
    values.iter().sum::<f64>() / values.len().max(1) as f64
}

/// Half the width of the 95% confidence interval of the mean, assuming a normal
/// distribution; 0 for fewer than two values.
fn confidence(values: &[f64]) -> f64 {
    if values.len() < 2 {
        return 0.0;
    }
    let mean = mean(values);
    let squares: f64 = values.iter().map(|value| (value - mean).powi(2)).sum();
    let deviation = (squares / (values.len() - 1) as f64).sqrt();
    1.959964 * deviation / (values.len() as f64).sqrt()
}

/// The median: the middle value, or the mean of the middle two; 0 for no values.
pub fn median(values: &[f64]) -> f64 {
    measure::median(values.iter().copied())
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;

    fn stats(operations: u64, bytes: u64, milliseconds: u64, message: &str) -> Stats {
        let mut stats = Stats::start();
        stats.finish = stats.start + Duration::from_millis(milliseconds);
        stats.busy = 2 * Duration::from_millis(milliseconds);
        stats.operations = operations;
        stats.bytes = bytes;
        stats.message = message.into();
        stats
    }

    #[test]
    fn result_lines() {
        assert_eq!(
            result("fillrandom", &stats(1_000_000, 116_000_000, 1446, "")),
            "fillrandom   :       2.892 micros/op 691562 ops/sec 1.446 seconds 1000000 operations;   76.5 MB/s\n"
        );
        assert_eq!(
            result("readmissing", &stats(40_000, 0, 30, "(0 of 20000 found)\n")),
            "readmissing  :       1.500 micros/op 1333333 ops/sec 0.030 seconds 40000 operations; (0 of 20000 found)\n\n"
        );
        assert_eq!(
            result(
                "updaterandom",
                &stats(40_000, 4 << 20, 2000, "( updates:20000 found:20000)")
            ),
            "updaterandom :     100.000 micros/op 20000 ops/sec 2.000 seconds 40000 operations;    2.0 MB/s ( updates:20000 found:20000)\n"
        );
        assert_eq!(
            result("deleterandom", &stats(40_000, 0, 99, "")),
            "deleterandom :       4.950 micros/op 404040 ops/sec 0.099 seconds 40000 operations;\n"
        );
        assert_eq!(
            result("compact", &stats(0, 0, 95, "")),
            "compact      :  190000.000 micros/op 10 ops/sec 0.095 seconds 1 operations;\n"
        );
    }

    #[test]
    fn histograms_follow_the_result_line() {
        let mut stats = stats(1, 0, 1, "");
        stats.add_latency(
            super::super::stats::Operation::Write,
            Duration::from_micros(5),
        );
        let text = result("fillseq", &stats);
        assert!(
            text.contains("operations;\nMicroseconds per write:\nCount: 1 Average: "),
            "{text}"
        );
        assert!(text.ends_with("####\n\n"), "{text}");
    }

    #[test]
    fn repeated_runs() {
        let mut samples = Samples::default();
        samples.add(&stats(100, 1 << 20, 1000, ""));
        assert_eq!(
            (samples.so_far("x"), samples.last("x")),
            (String::new(), String::new())
        );
        samples.add(&stats(200, 2 << 20, 1000, ""));
        assert_eq!(
            samples.so_far("fillseq"),
            "fillseq [AVG 2 runs] : 150 (\u{b1} 97) ops/sec;    1.5 (\u{b1} 1.0) MB/sec\n"
        );
        assert_eq!(
            samples.interval("fillseq"),
            "fillseq [CI95 2 runs] : (53, 247) ops/sec; (0.5, 2.5) MB/sec\n"
        );
        assert_eq!(
            samples.last("fillseq"),
            "fillseq [AVG    2 runs] : 150 (\u{b1} 97) ops/sec;    1.5 (\u{b1} 1.0) MB/sec\n\
             fillseq [MEDIAN 2 runs] : 150 ops/sec;    1.5 MB/sec\n"
        );
        samples.add(&stats(900, 0, 1000, ""));
        assert_eq!(
            samples.last("compact"),
            "compact [AVG    3 runs] : 400 (\u{b1} 493) ops/sec\ncompact [MEDIAN 3 runs] : 200 ops/sec\n"
        );
    }

    #[test]
    fn medians() {
        assert_eq!(median(&[]), 0.0);
        assert_eq!(median(&[3.0, 1.0, 2.0]), 2.0);
        assert_eq!(median(&[4.0, 1.0, 2.0, 3.0]), 2.5);
    }
}
