//! What flushes, compactions and ingestions amount to: RocksDB's internal
//! statistics, which the properties `rocksdb.stats`, `rocksdb.cfstats` and
//! `rocksdb.dbstats` show.
//!
//! Kept whether statistics are on or not: jobs add to them once, under the
//! database mutex, when they are over. Nothing is counted for each write; what
//! the database writes follows from sequence numbers and sizes of logs, and the
//! number of writes is known only with statistics.
//!
//! * here: the figures;
//! * [`cf_text`], [`db_text`]: RocksDB's layout of them;
//! * [`human`]: numbers as RocksDB shortens them.

pub(super) mod cf_text;
pub(super) mod db_text;
mod human;

use std::collections::BTreeMap;
use std::ops::{AddAssign, Sub};
use std::time::{Duration, Instant};
use whitewater_concurrent::system;

/// What jobs that wrote to one level did, added up. A flush writes to level 0.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct JobStats {
    pub micros: u64,
    /// CPU time, of all parts of a job.
    pub cpu_micros: u64,
    /// Bytes of inputs from levels other than the one written to.
    pub bytes_read_above: u64,
    /// Bytes of inputs from the level written to.
    pub bytes_read_same: u64,
    pub bytes_written: u64,
    /// Keys and values of the tables written, before compression.
    pub bytes_written_raw: u64,
    /// Bytes of files that were only moved.
    pub bytes_moved: u64,
    pub records_in: u64,
    pub records_out: u64,
    /// Input files, and tables written.
    pub files_in: u64,
    pub files_out: u64,
    pub count: u64,
}

impl JobStats {
    /// Bytes of all inputs.
    pub fn bytes_read(&self) -> u64 {
        self.bytes_read_above + self.bytes_read_same
    }

    /// Entries that were read and not written again.
    pub fn records_dropped(&self) -> u64 {
        self.records_in.saturating_sub(self.records_out)
    }

    /// The same operation on each figure of two.
    fn combine(self, other: Self, f: impl Fn(u64, u64) -> u64) -> Self {
        JobStats {
            micros: f(self.micros, other.micros),
            cpu_micros: f(self.cpu_micros, other.cpu_micros),
            bytes_read_above: f(self.bytes_read_above, other.bytes_read_above),
            bytes_read_same: f(self.bytes_read_same, other.bytes_read_same),
            bytes_written: f(self.bytes_written, other.bytes_written),
            bytes_written_raw: f(self.bytes_written_raw, other.bytes_written_raw),
            bytes_moved: f(self.bytes_moved, other.bytes_moved),
            records_in: f(self.records_in, other.records_in),
            records_out: f(self.records_out, other.records_out),
            files_in: f(self.files_in, other.files_in),
            files_out: f(self.files_out, other.files_out),
            count: f(self.count, other.count),
        }
    }
}

impl AddAssign for JobStats {
    fn add_assign(&mut self, other: Self) {
        *self = self.combine(other, u64::saturating_add);
    }
}

impl Sub for JobStats {
    type Output = Self;
    fn sub(self, earlier: Self) -> Self {
        self.combine(earlier, u64::saturating_sub)
    }
}

/// What was brought in from outside.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct Ingested {
    pub bytes: u64,
    pub files: u64,
    pub level0_files: u64,
    pub keys: u64,
}

/// The figures of a column family since it was opened or created.
#[derive(Debug)]
pub(crate) struct CfStats {
    since: Instant,
    /// By the level written to.
    levels: Vec<JobStats>,
    flushes: JobStats,
    compactions: JobStats,
    /// Compactions by what they were picked for, in RocksDB's words.
    reasons: BTreeMap<&'static str, u64>,
    ingested: Ingested,
    /// As they were when they were last written to LOG; intervals begin there.
    dumped: Dumped,
}

/// Figures at the last dump.
#[derive(Debug, Clone, Copy, Default)]
struct Dumped {
    up: Duration,
    jobs: JobStats,
    flushed: u64,
    ingested: Ingested,
    stalls: u64,
}

impl Default for CfStats {
    fn default() -> Self {
        CfStats {
            since: system::now(),
            levels: Vec::new(),
            flushes: JobStats::default(),
            compactions: JobStats::default(),
            reasons: BTreeMap::new(),
            ingested: Ingested::default(),
            dumped: Dumped::default(),
        }
    }
}

impl CfStats {
    /// Adds a flush.
    pub fn add_flush(&mut self, job: JobStats) {
        self.flushes += job;
        *self.level(0) += job;
    }

    /// Adds a compaction into `level`, picked for `reason`.
    pub fn add_compaction(&mut self, level: usize, reason: &'static str, job: JobStats) {
        self.compactions += job;
        *self.level(level) += job;
        *self.reasons.entry(reason).or_default() += 1;
    }

    /// Adds tables from outside.
    pub fn add_ingested(&mut self, more: Ingested) {
        let all = &mut self.ingested;
        all.bytes += more.bytes;
        all.files += more.files;
        all.level0_files += more.level0_files;
        all.keys += more.keys;
    }

    fn level(&mut self, level: usize) -> &mut JobStats {
        if self.levels.len() <= level {
            self.levels.resize(level + 1, JobStats::default());
        }
        &mut self.levels[level]
    }

    /// Jobs that wrote to `level`.
    pub fn at_level(&self, level: usize) -> JobStats {
        self.levels.get(level).copied().unwrap_or_default()
    }

    fn total(&self) -> JobStats {
        let mut total = JobStats::default();
        self.levels.iter().for_each(|level| total += *level);
        total
    }
}

/// CPU time of the calling thread so far; none passes in a simulation, whose
/// runs would not be the same.
pub(crate) fn cpu_time() -> Duration {
    use rustix::time::{ClockId, clock_gettime};
    if system::is_simulated() {
        return Duration::ZERO;
    }
    let now = clock_gettime(ClockId::ThreadCPUTime);
    Duration::new(now.tv_sec as u64, now.tv_nsec as u32)
}

/// Microseconds, as many as fit.
pub(crate) fn micros(time: Duration) -> u64 {
    u64::try_from(time.as_micros()).unwrap_or(u64::MAX)
}
