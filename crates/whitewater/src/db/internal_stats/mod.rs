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

use crate::compact::reason::CompactionReason;
use crate::stats::JobStats;
use std::collections::BTreeMap;
use std::time::{Duration, Instant};
use whitewater_concurrent::system;

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
    pub fn add_compaction(&mut self, level: usize, reason: CompactionReason, job: JobStats) {
        self.compactions += job;
        *self.level(level) += job;
        *self.reasons.entry(reason.as_str()).or_default() += 1;
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
