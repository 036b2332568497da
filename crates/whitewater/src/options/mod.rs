//! Options as the engine reads them. The public builders are in `api`.

use std::path::PathBuf;
use std::sync::Arc;
use whitewater_storage::fs::Fs;
use whitewater_storage::key::UserComparator;
use whitewater_storage::sst::{CompressionType, TableOptions};
use whitewater_storage::wal::RecoveryMode;

pub(crate) mod read;

use crate::read::merge::MergeOperator;

/// Options of a whole database.
#[derive(Clone, Debug)]
pub(crate) struct DbOptions {
    pub create_if_missing: bool,
    pub create_missing_column_families: bool,
    pub error_if_exists: bool,
    pub paranoid_checks: bool,
    /// The file system; the operating system's by default.
    pub fs: Arc<dyn Fs>,
    pub max_background_jobs: i32,
    /// -1: keep every table open.
    pub max_open_files: i32,
    pub wal_dir: Option<PathBuf>,
    pub wal_recovery_mode: RecoveryMode,
    pub recycle_log_file_num: usize,
    pub max_total_wal_size: u64,
    pub max_manifest_file_size: u64,
    pub allow_concurrent_memtable_write: bool,
    pub enable_write_thread_adaptive_yield: bool,
    pub write_thread_max_yield_usec: u64,
    pub write_thread_slow_yield_usec: u64,
    pub max_write_batch_group_size_bytes: usize,
    /// Bytes per second while writes are slowed down; 0 picks 16 MiB/s.
    pub delayed_write_rate: u64,
    pub manual_wal_flush: bool,
    pub use_fsync: bool,
    pub keep_log_file_num: usize,
    /// Collect tickers and histograms.
    pub statistics: Option<Arc<crate::stats::Statistics>>,
}

/// Options of one column family.
#[derive(Clone)]
pub(crate) struct CfOptions {
    pub comparator: UserComparator,
    pub merge_operator: Option<Arc<dyn MergeOperator>>,
    pub write_buffer_size: usize,
    pub arena_block_size: usize,
    pub max_write_buffer_number: i32,
    pub min_write_buffer_number_to_merge: i32,
    pub num_levels: usize,
    pub level0_file_num_compaction_trigger: i32,
    pub level0_slowdown_writes_trigger: i32,
    pub level0_stop_writes_trigger: i32,
    pub soft_pending_compaction_bytes_limit: u64,
    pub hard_pending_compaction_bytes_limit: u64,
    pub target_file_size_base: u64,
    pub target_file_size_multiplier: i32,
    pub max_bytes_for_level_base: u64,
    pub max_bytes_for_level_multiplier: f64,
    pub level_compaction_dynamic_level_bytes: bool,
    pub max_compaction_bytes: u64,
    pub disable_auto_compactions: bool,
    pub compression: CompressionType,
    pub compression_per_level: Vec<CompressionType>,
    pub bottommost_compression: Option<CompressionType>,
    pub compression_level: Option<i32>,
    pub table: TableOptions,
}

impl CfOptions {
    /// The compression of tables written to `level`.
    pub fn compression_for(&self, level: usize, bottommost: bool) -> CompressionType {
        if bottommost && let Some(c) = self.bottommost_compression {
            return c;
        }
        match self
            .compression_per_level
            .get(level)
            .or(self.compression_per_level.last())
        {
            Some(c) => *c,
            None => self.compression,
        }
    }

    /// The size at which a compaction into `level` starts a new table.
    pub fn target_file_size(&self, level: usize) -> u64 {
        let mut size = self.target_file_size_base;
        for _ in 1..level.max(1) {
            size = size.saturating_mul(self.target_file_size_multiplier.max(1) as u64);
        }
        size
    }
}

impl Default for DbOptions {
    fn default() -> Self {
        DbOptions {
            create_if_missing: false,
            create_missing_column_families: false,
            error_if_exists: false,
            paranoid_checks: true,
            fs: Arc::new(whitewater_storage::fs::os::OsFs),
            max_background_jobs: 2,
            max_open_files: -1,
            wal_dir: None,
            wal_recovery_mode: RecoveryMode::PointInTime,
            recycle_log_file_num: 0,
            max_total_wal_size: 0,
            max_manifest_file_size: 1 << 30,
            allow_concurrent_memtable_write: true,
            enable_write_thread_adaptive_yield: true,
            write_thread_max_yield_usec: 100,
            write_thread_slow_yield_usec: 3,
            max_write_batch_group_size_bytes: 1 << 20,
            delayed_write_rate: 0,
            manual_wal_flush: false,
            use_fsync: false,
            keep_log_file_num: 1000,
            statistics: None,
        }
    }
}

impl Default for CfOptions {
    fn default() -> Self {
        CfOptions {
            comparator: UserComparator::Bytewise,
            merge_operator: None,
            write_buffer_size: 64 << 20,
            arena_block_size: 0,
            max_write_buffer_number: 2,
            min_write_buffer_number_to_merge: 1,
            num_levels: 7,
            level0_file_num_compaction_trigger: 4,
            level0_slowdown_writes_trigger: 20,
            level0_stop_writes_trigger: 36,
            soft_pending_compaction_bytes_limit: 64 << 30,
            hard_pending_compaction_bytes_limit: 256 << 30,
            target_file_size_base: 64 << 20,
            target_file_size_multiplier: 1,
            max_bytes_for_level_base: 256 << 20,
            max_bytes_for_level_multiplier: 10.0,
            level_compaction_dynamic_level_bytes: true,
            max_compaction_bytes: 0,
            disable_auto_compactions: false,
            compression: CompressionType::Snappy,
            compression_per_level: Vec::new(),
            bottommost_compression: None,
            compression_level: None,
            table: TableOptions::default(),
        }
    }
}

impl DbOptions {
    pub(crate) fn validate(&self) -> whitewater_storage::Result<()> {
        Ok(())
    }
    pub(crate) fn background_threads(&self) -> (usize, usize) {
        crate::jobs::thread_counts(self.max_background_jobs)
    }
}
impl CfOptions {
    pub(crate) fn validate(&self) -> whitewater_storage::Result<()> {
        Ok(())
    }
}
