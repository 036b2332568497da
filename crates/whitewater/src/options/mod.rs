//! Options as the engine reads them.
//!
//! * [`DbOptions`], [`CfOptions`]: declared by tables (see [`table`]).
//! * [`text`]: the text form of their values.
//! * [`prefix`]: prefix extractors; `memtable`: memtables by their names.
//! * [`sanitize`]: values that RocksDB corrects without a word are corrected
//!   here the same way; others that cannot be honoured are refused by
//!   `validate`, never ignored.
//! * [`read`]: options of one read and one write.
//!
//! The public builders are in `api::options`.

mod memtable;
pub(crate) mod prefix;
pub(crate) mod read;
pub(crate) mod sanitize;
pub(crate) mod table;
pub(crate) mod text;

#[cfg(test)]
mod tests;

use std::fmt;
use std::path::PathBuf;
use std::sync::Arc;
use whitewater_storage::fs::{Fs, SharedAccess};
use whitewater_storage::key::UserComparator;
use whitewater_storage::sst::{CompressionType, TableOptions};
use whitewater_storage::wal::RecoveryMode;
use whitewater_storage::{Error, Result};

use crate::db::archive::Clock;
use crate::memtable::MemtableKind;
use crate::memtable::budget::Budget;
use crate::read::merge::MergeOperator;
use crate::write::CommitProtocol;
use crate::write::points::Hook;
use prefix::PrefixExtractor;
use table::{OptionTable, option_struct, option_text};

option_struct! {
    /// Options of a whole database.
    #[derive(Clone)]
    pub(crate) struct DbOptions {
        /// Create the database when there is none.
        create_if_missing: bool = false;
        /// Create column families named at open that do not exist.
        create_missing_column_families: bool = false;
        /// Refuse to open a database that exists.
        error_if_exists: bool = false;
        /// Check more and stop earlier. Always so: `false` is refused.
        paranoid_checks: bool = true;
        /// Threads of background flushes and compactions together.
        max_background_jobs: i32 = 2, in 1..=1024;
        /// Threads of background flushes; -1 is a quarter of the jobs.
        max_background_flushes: i32 = -1, in -1..=1024;
        /// Threads of background compactions; -1 is the jobs that do not flush.
        max_background_compactions: i32 = -1, in -1..=1024;
        /// Tables kept open; -1 keeps all of them open.
        max_open_files: i32 = -1, in -1..=i32::MAX;
        /// Where the write-ahead log is kept; the database's directory when unset.
        wal_dir: Option<PathBuf> = None;
        /// What recovery does about damaged logs.
        wal_recovery_mode: RecoveryMode = RecoveryMode::PointInTime;
        /// Log files kept for reuse. Files.
        recycle_log_file_num: usize = 0, in 0..=1024;
        /// Age at which archived logs are deleted. Seconds; 0 is no limit.
        wal_ttl_seconds: u64 = 0;
        /// Size of the archived logs at which old ones are deleted. MiB; 0 is no limit.
        wal_size_limit_mb: u64 = 0;
        /// Keep log records in memory until they are flushed.
        manual_wal_flush: bool = false;
        /// Log bytes after which the system is asked to write them back. Bytes;
        /// 0 is never.
        wal_bytes_per_sync: u64 = 0;
        /// Compression of log records.
        wal_compression: CompressionType = CompressionType::None, check log_codec;
        /// Record synced logs in the manifest, and check at open that they are there.
        track_and_verify_wals_in_manifest: bool = false;
        /// Size of all live logs at which the oldest column family is flushed.
        /// Bytes; 0 is four times the write buffers.
        max_total_wal_size: u64 = 0;
        /// Size at which a new manifest is begun. Bytes.
        max_manifest_file_size: u64 = 1 << 30, in 1..=u64::MAX;
        /// How concurrent writes are committed; by the next two when unset.
        commit_protocol: Option<CommitProtocol> = None;
        /// Log one group of writes while the one before it is inserted.
        enable_pipelined_write: bool = false;
        /// Publish writes when they are logged, and insert them after that.
        unordered_write: bool = false;
        /// How records get into the log.
        wal_access: SharedAccess = SharedAccess::Auto;
        /// Let the writers of a group insert into the memtable in parallel.
        allow_concurrent_memtable_write: bool = true;
        /// Let waiting writers spin with yields before they sleep.
        enable_write_thread_adaptive_yield: bool = true;
        /// How long a waiting writer yields at most. Microseconds.
        write_thread_max_yield_usec: u64 = 100;
        /// A yield that took this long says that cores are busy. Microseconds.
        write_thread_slow_yield_usec: u64 = 3;
        /// Memory of all memtables at which one is flushed; without effect with a
        /// write buffer manager. Bytes; 0 is no limit.
        db_write_buffer_size: usize = 0;
        /// Most bytes of batches committed as one group, up to 64 MiB; more counts
        /// as that. Bytes.
        max_write_batch_group_size_bytes: usize = 1 << 20, in 1..=usize::MAX;
        /// Rate of writes while they are slowed down. Bytes per second; 0 is 16 MiB.
        delayed_write_rate: u64 = 0;
        /// Retries in a row of a failed flush or compaction before writes are
        /// refused. 0 is none.
        max_bgerror_resume_count: u32 = i32::MAX as u32;
        /// Longest wait before such a retry. Microseconds.
        bgerror_resume_retry_interval: u64 = 1_000_000;
        /// Old info logs kept. Files.
        keep_log_file_num: usize = 1000, in 1..=usize::MAX;
    }
    objects {
        /// The file system; the operating system's by default.
        fs: Arc<dyn Fs> = Arc::new(whitewater_storage::fs::os::OsFs);
        /// The budget of memtables' memory, shared with other databases.
        write_buffer_manager: Option<Arc<Budget>> = None;
        /// What time it is, for the age of archived logs.
        clock: Clock = Clock::default();
        /// Called at points of a write's way, in tests.
        hook: Hook = Hook::default();
        /// Collect tickers and histograms.
        statistics: Option<Arc<crate::stats::Statistics>> = None;
    }
}

option_struct! {
    /// Options of one column family.
    #[derive(Clone)]
    pub(crate) struct CfOptions {
        /// Size at which a memtable is switched and flushed. Bytes.
        write_buffer_size: usize = 64 << 20, in 64 << 10..=64 << 30;
        /// Size of one arena block. Bytes; 0 is an eighth of the write buffer,
        /// 1 MiB at most.
        arena_block_size: usize = 0, in 0..=1 << 30;
        /// Size of the huge pages to make memtables of, if the system has some
        /// reserved. Bytes; 0 is none.
        memtable_huge_page_size: usize = 0;
        /// Make memtables of transparent huge pages, where the system has them.
        memtable_transparent_huge_pages: bool = true;
        /// What keeps the entries of a memtable sorted.
        memtable: MemtableKind = MemtableKind::Auto, check memtable::check_numbers;
        /// Share of the write buffer that a memtable's Bloom filter takes; 0 is
        /// no filter.
        memtable_prefix_bloom_size_ratio: f64 = 0.0, in 0.0..=0.25;
        /// Whether whole keys go into a memtable's Bloom filter.
        memtable_whole_key_filtering: bool = false;
        /// Checksum of each entry of a memtable. Bytes: 0 (none), 1, 2, 4 or 8.
        memtable_protection_bytes_per_key: u32 = 0, check protection_bytes;
        /// Overwrite values in the active memtable instead of adding entries.
        inplace_update_support: bool = false;
        /// Locks that readers and the writer of such values share out.
        inplace_update_num_locks: usize = 10_000, in 0..=1 << 24;
        /// Merge operands of one key on top of each other in a memtable on which
        /// the next one is stored as a value; 0 is no limit.
        max_successive_merges: usize = 0;
        /// What part of a key is its prefix.
        prefix_extractor: Option<PrefixExtractor> = None;
        /// Memtables in memory before writes stop.
        max_write_buffer_number: i32 = 2, in 2..=i32::MAX;
        /// Full memtables that one flush waits for.
        min_write_buffer_number_to_merge: i32 = 1, in 1..=i32::MAX;
        /// Levels of tables.
        num_levels: usize = 7, in 2..=64;
        /// Tables in level 0 that start a compaction.
        level0_file_num_compaction_trigger: i32 = 4, in 1..=i32::MAX;
        /// Tables in level 0 that slow writes down.
        level0_slowdown_writes_trigger: i32 = 20, in 1..=i32::MAX;
        /// Tables in level 0 that stop writes.
        level0_stop_writes_trigger: i32 = 36, in 1..=i32::MAX;
        /// Compaction debt that slows writes down. Bytes; 0 is no limit.
        soft_pending_compaction_bytes_limit: u64 = 64 << 30;
        /// Compaction debt that stops writes. Bytes; 0 is no limit.
        hard_pending_compaction_bytes_limit: u64 = 256 << 30;
        /// Size of a table in level 1. Bytes.
        target_file_size_base: u64 = 64 << 20, in 1..=u64::MAX;
        /// Growth of the table size from level to level.
        target_file_size_multiplier: i32 = 1, in 1..=i32::MAX;
        /// Size of level 1. Bytes.
        max_bytes_for_level_base: u64 = 256 << 20, in 1..=u64::MAX;
        /// Growth of the level size from level to level.
        max_bytes_for_level_multiplier: f64 = 10.0, in f64::MIN_POSITIVE..=f64::MAX;
        /// Choose level sizes from the size of the last level.
        level_compaction_dynamic_level_bytes: bool = true;
        /// Most input bytes of one compaction. Bytes; 0 is 25 tables.
        max_compaction_bytes: u64 = 0;
        /// Compact only when asked to.
        disable_auto_compactions: bool = false;
        /// Compression of tables.
        compression: CompressionType = CompressionType::Snappy, check codec;
        /// Compression by level, the last for deeper ones; `compression` when empty.
        compression_per_level: Vec<CompressionType> = Vec::new(), check codecs;
        /// Compression of the last level that holds data; as the others when unset.
        bottommost_compression: Option<CompressionType> = None, check codecs;
        /// The codec's level; its own default when unset.
        compression_level: Option<i32> = None;
    }
    objects {
        /// The order of keys.
        comparator: UserComparator = UserComparator::Bytewise;
        /// Combines merge operands.
        merge_operator: Option<Arc<dyn MergeOperator>> = None;
        /// How tables are laid out.
        table: TableOptions = TableOptions::default();
    }
}

// The fields, defaults and documentation stand with `TableOptions`.
option_text!(TableOptions {
    block_size: usize, in 1..=1 << 30;
    block_restart_interval: usize, in 1..=65_536;
    index_block_restart_interval: usize, in 1..=65_536;
    checksum: ChecksumType;
    format_version: u32, check written_format;
    bloom_bits_per_key: Option<f64>, check bits_per_key;
    whole_key_filtering: bool;
});

use whitewater_storage::checksum::ChecksumType;

fn codec(name: &str, value: &CompressionType) -> Result<()> {
    match value {
        CompressionType::None
        | CompressionType::Snappy
        | CompressionType::Lz4
        | CompressionType::Zstd => Ok(()),
        CompressionType::Zlib | CompressionType::Bz2 | CompressionType::Lz4hc => {
            Err(Error::not_supported(format_args!(
                "option {name}: {value:?} is not built in (None, Snappy, Lz4 and Zstd are)"
            )))
        }
    }
}

fn log_codec(name: &str, value: &CompressionType) -> Result<()> {
    match value {
        CompressionType::None | CompressionType::Zstd => Ok(()),
        other => Err(Error::not_supported(format_args!(
            "option {name}: logs are not compressed with {other:?} (None and Zstd are supported)"
        ))),
    }
}

fn codecs<'a>(name: &str, values: impl IntoIterator<Item = &'a CompressionType>) -> Result<()> {
    values.into_iter().try_for_each(|value| codec(name, value))
}

fn protection_bytes(name: &str, value: &u32) -> Result<()> {
    if matches!(value, 0 | 1 | 2 | 4 | 8) {
        return Ok(());
    }
    Err(Error::not_supported(format_args!(
        "option {name} = {value}: checksums have 0, 1, 2, 4 or 8 bytes"
    )))
}

fn written_format(name: &str, value: &u32) -> Result<()> {
    if *value == 5 {
        return Ok(());
    }
    Err(Error::not_supported(format_args!(
        "option {name} = {value}: tables are written in version 5"
    )))
}

fn bits_per_key(name: &str, value: &Option<f64>) -> Result<()> {
    match value {
        Some(bits) if !(0.0..=1000.0).contains(bits) => Err(Error::invalid(format_args!(
            "option {name} = {bits} is outside 0..=1000"
        ))),
        _ => Ok(()),
    }
}

impl DbOptions {
    /// Checks what a table row can say.
    ///
    /// # Errors
    /// `InvalidArgument` or `NotSupported` naming the option.
    pub(crate) fn validate(&self) -> Result<()> {
        self.check()?;
        if !self.paranoid_checks {
            return Err(Error::not_supported(
                "option paranoid_checks=false: damage is never passed over in silence",
            ));
        }
        self.check_protocol()
    }

    /// The combinations that RocksDB refuses, and such as contradict each
    /// other.
    fn check_protocol(&self) -> Result<()> {
        if self.unordered_write && !self.allow_concurrent_memtable_write {
            return Err(Error::invalid(
                "unordered_write is incompatible with !allow_concurrent_memtable_write",
            ));
        }
        if self.unordered_write && self.enable_pipelined_write {
            return Err(Error::invalid(
                "unordered_write is incompatible with enable_pipelined_write",
            ));
        }
        let Some(protocol) = self.commit_protocol else {
            return Ok(());
        };
        let fits = match protocol {
            CommitProtocol::Ordered => {
                self.allow_concurrent_memtable_write
                    && !self.enable_pipelined_write
                    && !self.unordered_write
            }
            CommitProtocol::Grouped => !self.enable_pipelined_write && !self.unordered_write,
            CommitProtocol::Pipelined => !self.unordered_write,
            CommitProtocol::Unordered => {
                self.allow_concurrent_memtable_write && !self.enable_pipelined_write
            }
        };
        if !fits {
            return Err(Error::invalid(format_args!(
                "commit_protocol={protocol} is incompatible with enable_pipelined_write={}, \
                 unordered_write={} and allow_concurrent_memtable_write={} together",
                self.enable_pipelined_write,
                self.unordered_write,
                self.allow_concurrent_memtable_write
            )));
        }
        Ok(())
    }

    /// The options of a column family that the database's own rule out.
    ///
    /// # Errors
    /// `InvalidArgument` naming both options.
    pub(crate) fn check_family(&self, cf: &CfOptions) -> Result<()> {
        if cf.max_successive_merges > 0 && self.protocol() == CommitProtocol::Unordered {
            // What is visible may not be inserted, so no value can be read.
            return Err(Error::invalid(
                "max_successive_merges > 0 is incompatible with unordered_write",
            ));
        }
        if cf.inplace_update_support && self.allow_concurrent_memtable_write {
            return Err(Error::invalid(
                "In-place memtable updates (inplace_update_support) is not compatible with \
                 concurrent writes (allow_concurrent_memtable_write)",
            ));
        }
        Ok(())
    }

    /// Whether obsolete logs go to the archive.
    pub(crate) fn archives_logs(&self) -> bool {
        self.wal_ttl_seconds > 0 || self.wal_size_limit_mb > 0
    }

    /// How writes are committed.
    pub(crate) fn protocol(&self) -> CommitProtocol {
        match self.commit_protocol {
            Some(protocol) => protocol,
            None if self.enable_pipelined_write => CommitProtocol::Pipelined,
            None if self.unordered_write => CommitProtocol::Unordered,
            // One insert at a time is what a leader is for.
            None if !self.allow_concurrent_memtable_write => CommitProtocol::Grouped,
            None => CommitProtocol::Ordered,
        }
    }

    /// The budget of memory for a database that is opened: the shared one, or
    /// one of its own.
    pub(crate) fn budget(&self) -> Option<Arc<Budget>> {
        let own = || (self.db_write_buffer_size > 0).then_some(self.db_write_buffer_size);
        let shared = self.write_buffer_manager.clone();
        shared.or_else(|| Some(Budget::new(own()?, false, None)))
    }

    /// How many threads flush and how many compact.
    pub(crate) fn background_threads(&self) -> (usize, usize) {
        let (flushes, compactions) = crate::jobs::thread_counts(self.max_background_jobs);
        let given = |n: i32, or: usize| if n > 0 { n as usize } else { or };
        (
            given(self.max_background_flushes, flushes),
            given(self.max_background_compactions, compactions),
        )
    }
}

impl CfOptions {
    /// Checks every option and those of the tables.
    ///
    /// # Errors
    /// `InvalidArgument` or `NotSupported` naming the option.
    pub(crate) fn validate(&self) -> Result<()> {
        self.check()?;
        memtable::check_fit(self)?;
        self.table.check()
    }

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

/// Every option as a line `name=value`, for the info log.
impl fmt::Display for DbOptions {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.dump(f)?;
        writeln!(f, "fs={:?}", self.fs)?;
        let manager = self.write_buffer_manager.is_some();
        writeln!(f, "write_buffer_manager={manager}")?;
        writeln!(f, "statistics={}", self.statistics.is_some())
    }
}

/// Every option as a line `name=value`, for the info log.
impl fmt::Display for CfOptions {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.dump(f)?;
        writeln!(f, "comparator={}", self.comparator.name())?;
        let merge = self.merge_operator.as_ref().map_or("none", |m| m.name());
        writeln!(f, "merge_operator={merge}")?;
        self.table.dump(f)?;
        let cached = self.table.block_cache.is_some();
        writeln!(f, "block_cache={cached}")
    }
}

impl fmt::Debug for DbOptions {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "DbOptions {{\n{self}}}")
    }
}

impl fmt::Debug for CfOptions {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "CfOptions {{\n{self}}}")
    }
}
