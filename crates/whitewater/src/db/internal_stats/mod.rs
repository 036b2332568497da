//! The totals of flushes, compactions and ingestions: RocksDB's internal statistics, which
//! the properties `rocksdb.stats`, `rocksdb.cfstats` and `rocksdb.dbstats` show.
//!
//! They are kept whether statistics are on or not: a job adds to them once, under the
//! database mutex, when it is over. Nothing is counted for each write. What the database
//! writes follows from sequence numbers and sizes of logs; the number of writes is known
//! only with statistics.
//!
//! * here: the figures;
//! * [`cf_text`], [`db_text`]: RocksDB's layout of them;
//! * [`human`]: numbers in RocksDB's short forms.

pub(super) mod cf_text;
pub(super) mod db_text;
mod human;

use crate::compact::reason::CompactionReason;
use crate::stats::JobStats;
use std::collections::BTreeMap;
use std::time::{Duration, Instant};
use whitewater_concurrent::system;

/// What was ingested.
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
    /// The figures of the jobs that wrote to each level.
    levels: Vec<JobStats>,
    flushes: JobStats,
    compactions: JobStats,
    /// The number of compactions by the reason they were picked for, in RocksDB's words.
    reasons: BTreeMap<&'static str, u64>,
    ingested: Ingested,
    /// The figures when they were last written to the info log; intervals begin there.
    dumped: Dumped,
}

/// The figures at the last dump.
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

    /// Adds ingested tables.
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

    /// The figures of the jobs that wrote to `level`.
    pub fn at_level(&self, level: usize) -> JobStats {
        self.levels.get(level).copied().unwrap_or_default()
    }

    fn total(&self) -> JobStats {
        let mut total = JobStats::default();
        self.levels.iter().for_each(|level| total += *level);
        total
    }
}
