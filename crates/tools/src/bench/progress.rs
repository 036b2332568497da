//! What a running benchmark shows besides its result: a progress bar on a terminal,
//! the progress lines of threads, and the file of throughput over time.

use std::fs::File;
use std::io::{IsTerminal, Write};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use indicatif::{ProgressBar, ProgressStyle};

use super::clock;
use super::engine::{Failure, Result};
use super::flags::Flags;
use super::stats::Stats;

/// The operations that all threads of one run have done.
#[derive(Debug)]
pub struct Progress {
    bar: ProgressBar,
    /// Written by worker threads, read by the reporting thread. Publishes nothing
    /// else, hence relaxed.
    done: AtomicU64,
}

impl Progress {
    /// Progress towards `operations`; `None` if the end is not known.
    pub fn new(flags: &Flags, name: &str, operations: Option<u64>) -> Self {
        let wanted = flags.progress_reports
            && flags.stats_interval == 0
            && flags.stats_interval_seconds == 0;
        Self::of(wanted, "ops", name, operations)
    }

    /// Progress towards `count` things called `unit`; `None` if the end is not known.
    /// It is shown if `wanted` is set and standard error is a terminal.
    pub fn of(wanted: bool, unit: &str, name: &str, count: Option<u64>) -> Self {
        let visible = wanted && std::io::stderr().is_terminal();
        let bar = match (visible, count) {
            (false, _) => ProgressBar::hidden(),
            (true, Some(count)) => ProgressBar::new(count).with_style(style(&format!(
                "{{msg}} {{wide_bar}} {{human_pos}} {unit} {{per_sec}} {{eta}}"
            ))),
            (true, None) => ProgressBar::no_length().with_style(style(&format!(
                "{{msg}} {{human_pos}} {unit} {{per_sec}} {{elapsed}}"
            ))),
        };
        bar.set_message(name.to_owned());
        Self {
            bar,
            done: AtomicU64::new(0),
        }
    }

    /// Adds operations that a thread has done.
    pub fn add(&self, operations: u64) {
        self.done.fetch_add(operations, Ordering::Relaxed);
        self.bar.inc(operations);
    }

    /// Operations added so far.
    pub fn done(&self) -> u64 {
        self.done.load(Ordering::Relaxed)
    }

    /// Shows the name of what is being done now.
    pub fn show(&self, name: &str) {
        self.bar.set_message(name.to_owned());
    }

    /// Removes the bar from the terminal.
    pub fn finish(&self) {
        self.bar.finish_and_clear();
    }

    /// Writes `secs_elapsed,interval_qps` lines to the report file that the flags name,
    /// until `over` is set. Returns at once if no interval is set.
    ///
    /// # Errors
    /// The file cannot be written.
    pub fn report(&self, flags: &Flags, over: &AtomicBool) -> Result<()> {
        let Some(interval) = seconds(flags.report_interval_seconds) else {
            return Ok(());
        };
        let failed = |error: std::io::Error| Failure(format!("{}: {error}", flags.report_file));
        let mut file = File::create(&flags.report_file).map_err(failed)?;
        writeln!(file, "secs_elapsed,interval_qps").map_err(failed)?;
        let start = Instant::now();
        let mut next = interval;
        let mut before = 0;
        // Relaxed: the flag only ends the loop; `unpark` ends the wait.
        while !over.load(Ordering::Relaxed) {
            thread::park_timeout(next.saturating_sub(start.elapsed()));
            if start.elapsed() < next {
                continue;
            }
            let done = self.done.load(Ordering::Relaxed);
            let rate = (done - before) / interval.as_secs();
            writeln!(file, "{},{rate}", start.elapsed().as_secs()).map_err(failed)?;
            before = done;
            next += interval;
        }
        Ok(())
    }
}

fn style(template: &str) -> ProgressStyle {
    ProgressStyle::with_template(template).unwrap_or_else(|_| ProgressStyle::default_bar())
}

/// `count` seconds, or `None` if it is not positive.
pub fn seconds(count: i64) -> Option<Duration> {
    u64::try_from(count)
        .ok()
        .filter(|count| *count > 0)
        .map(Duration::from_secs)
}

/// The progress lines of one thread (`--stats_interval` and
/// `--stats_interval_seconds`).
#[derive(Debug)]
pub struct IntervalLines {
    every: u64,
    least: Duration,
    next: u64,
    last_operations: u64,
    last_time: Instant,
}

impl IntervalLines {
    /// `None` if the flags ask for no lines.
    pub fn new(flags: &Flags) -> Option<Self> {
        let least = seconds(flags.stats_interval_seconds);
        let every = match (flags.stats_interval, least) {
            (0, None) => return None,
            (0, Some(_)) => 1000,
            (every, _) => every.unsigned_abs(),
        };
        let least = least.unwrap_or_default();
        Some(Self {
            every,
            least,
            next: every,
            last_operations: 0,
            last_time: Instant::now(),
        })
    }

    /// The number of operations at which to call [`Self::line`] again.
    pub fn next(&self) -> u64 {
        self.next
    }

    /// The line to print now, if it is time for one.
    pub fn line(&mut self, thread: usize, stats: &Stats) -> Option<String> {
        if stats.operations < self.next {
            return None;
        }
        self.next = stats.operations + self.every;
        let now = Instant::now();
        let interval = (now - self.last_time).as_secs_f64();
        if now - self.last_time < self.least {
            return None;
        }
        let total = (now - stats.start).as_secs_f64();
        let fresh = stats.operations - self.last_operations;
        self.last_operations = stats.operations;
        self.last_time = now;
        Some(format!(
            "{}  ... thread {thread}: ({fresh},{}) ops and ({:.1},{:.1}) ops/second in ({interval:.6},{total:.6}) seconds",
            clock::timestamp(),
            stats.operations,
            fresh as f64 / interval.max(1e-9),
            stats.operations as f64 / total.max(1e-9),
        ))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn interval_lines_appear_every_so_many_operations() {
        let flags = Flags {
            stats_interval: 100,
            ..Flags::default()
        };
        let mut lines = IntervalLines::new(&flags).expect("an interval is set");
        let mut stats = Stats::start();
        stats.operations = 99;
        assert_eq!(lines.line(0, &stats), None);
        stats.operations = 100;
        let line = lines.line(3, &stats).expect("due");
        assert!(line.contains("... thread 3: (100,100) ops and ("), "{line}");
        assert_eq!(lines.next(), 200);
        assert!(IntervalLines::new(&Flags::default()).is_none());
    }

    #[test]
    fn lines_wait_for_their_seconds() {
        let flags = Flags {
            stats_interval_seconds: 1000,
            ..Flags::default()
        };
        let mut lines = IntervalLines::new(&flags).expect("an interval is set");
        let mut stats = Stats::start();
        stats.operations = 5000;
        assert_eq!(lines.line(0, &stats), None);
        assert_eq!(lines.next(), 6000);
    }
}
