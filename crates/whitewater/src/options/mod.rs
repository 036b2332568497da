//! Options as the engine reads them.
//!
//! * [`DbOptions`], [`CfOptions`]: declared by tables (see [`table`]).
//! * [`text`]: the text form of their values; [`assign`]: setting them by RocksDB's names;
//!   [`file`](mod@file): options files.
//! * [`compaction`]: compaction styles and their options.
//! * [`metrics`]: how statistics are published; [`paths`]: where tables are put.
//! * [`prefix`]: prefix extractors; [`memtable_kind`]: the structures of memtables; `memtable`:
//!   their names. `table_format`: formats of tables.
//! * [`commit_protocol`]: how concurrent writes are committed; [`write_policy`]: when prepared
//!   transactions are inserted.
//! * [`cache`]: block caches; [`file_checksum`]: checksums of whole tables.
//! * [`compression`]: which compression a table gets.
//! * [`sanitize`]: one rule for which values are corrected, which are hints, and which are
//!   refused (by `validate`).
//! * [`blobs`]: blob files and their cache.
//! * [`hints`]: values of options that have no effect here.
//! * [`read`]: options of one read and one write.
//! * `rows`: the tables' rows, for `stress`.
//!
//! The public builders are in `api::options`.

pub(crate) mod assign;
pub(crate) mod blobs;
pub(crate) mod cache;
pub(crate) mod commit_protocol;
pub(crate) mod compaction;
pub(crate) mod compression;
pub(crate) mod file;
pub(crate) mod file_checksum;
pub(crate) mod hints;
mod memtable;
pub(crate) mod memtable_kind;
pub(crate) mod metrics;
pub(crate) mod paths;
pub(crate) mod prefix;
pub(crate) mod read;
#[cfg(feature = "option-tables")]
pub mod rows;
pub(crate) mod sanitize;
pub(crate) mod table;
pub(crate) mod table_format;
pub(crate) mod text;
pub(crate) mod write_policy;

#[cfg(test)]
mod tests;

use std::fmt;
use std::path::PathBuf;
use std::sync::Arc;
use whitewater_storage::cache::BlockCache;
use whitewater_storage::fs::{Fs, SharedAccess};
use whitewater_storage::key::UserComparator;
use whitewater_storage::sst::{
    CompressionOptions, CompressionType, DataBlockIndexType, FilterPolicy, IndexType,
    MetadataCacheOptions, PrepopulateBlockCache, TableFormat, TableOptions,
};
use whitewater_storage::wal::RecoveryMode;
use whitewater_storage::{Error, Result};

use crate::clock::Clock;
use crate::event_queue::Listeners;
use crate::logger::{LogLevel, Logger};
use crate::operators::compaction_filter::FilterSource;
use crate::operators::merge::MergeOperator;
use crate::options::commit_protocol::CommitProtocol;
use crate::options::memtable_kind::MemtableKind;
use crate::rate_limiter::{Client, RateLimiter};
use crate::sst_file_manager::Manager;
use crate::sync_points::SyncPointHook;
use crate::thread_pools::Pools;
use crate::write_buffer_manager::Budget;
use blobs::PrepopulateBlobCache;
use cache::BLOCK_CACHE;
use compaction::{CompactionPri, CompactionStyle, DeletionTrigger, FifoOptions, UniversalOptions};
use file_checksum::FileChecksum;
use hints::Temperature;
use metrics::MetricsOptions;
use paths::DbPath;
use prefix::PrefixExtractor;
use table::{OptionTable, option_struct, option_text};
use text::OptionText;
use write_policy::WritePolicy;

/// The niceness of background threads, on systems where each thread has its own. 5 gives a
/// thread a third of a normal share of the CPU (docs/decisions/0009).
const BACKGROUND_NICE: i32 = if cfg!(target_os = "linux") { 5 } else { 0 };

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
        /// Keep the last level of column families free for tables that are
        /// ingested behind everything else.
        allow_ingest_behind: bool = false;
        /// Check more and stop earlier. This is always done: `false` is a hint without effect.
        paranoid_checks: bool = true;
        /// Total number of threads for background flushes and compactions.
        max_background_jobs: i32 = 2, into 1..=1024, changes live;
        /// Threads for background flushes; -1 is a quarter of the jobs.
        max_background_flushes: i32 = -1, into -1..=1024, changes live;
        /// Threads for background compactions; -1 is the jobs that are not for flushes.
        max_background_compactions: i32 = -1, into -1..=1024, changes live;
        /// How much nicer threads of flushes are than the one that opens the
        /// database. Steps of priority; without effect but on Linux.
        flush_nice: i32 = BACKGROUND_NICE, into 0..=19;
        /// How much nicer threads of compactions are than the one that opens the database. Steps of
        /// priority; without effect but on Linux.
        compaction_nice: i32 = BACKGROUND_NICE, into 0..=19;
        /// Largest number of threads of one compaction, in addition to the background jobs.
        max_subcompactions: u32 = 1, into 1..=1024, changes live;
        /// How much compactions read at a time from each table. Bytes; 0 leaves it to the cursors.
        compaction_readahead_size: usize = 2 << 20, into 0..=1 << 30, changes live;
        /// Tables kept open; -1 keeps all of them open.
        max_open_files: i32 = -1, into -1..=i32::MAX, changes live;
        /// Where the write-ahead log is kept; the database's directory when unset.
        wal_dir: Option<PathBuf> = None;
        /// What recovery does about damaged logs.
        wal_recovery_mode: RecoveryMode = RecoveryMode::PointInTime;
        /// Keep what transactions have prepared when the database is opened.
        allow_2pc: bool = false;
        /// Number of log files kept for reuse. Files.
        recycle_log_file_num: usize = 0, into 0..=1024;
        /// Age at which archived logs are deleted. Seconds; 0 is no limit.
        wal_ttl_seconds: u64 = 0;
        /// Size of the archived logs at which old ones are deleted. MiB; 0 is no limit.
        wal_size_limit_mb: u64 = 0;
        /// Keep log records in memory until they are flushed.
        manual_wal_flush: bool = false;
        /// Amount of log after which the system is asked to write it back. Bytes; 0 is never.
        wal_bytes_per_sync: u64 = 0, changes live;
        /// Amount of a table after which the system is asked to write it back. Bytes; 0 is never.
        bytes_per_sync: u64 = 0, changes live;
        /// Write tables with direct I/O, past the page cache.
        use_direct_io_for_flush_and_compaction: bool = false;
        /// Read tables with direct I/O, past the page cache.
        use_direct_reads: bool = false;
        /// Compression of log records: none or Zstandard. Other types are corrected to none.
        wal_compression: CompressionType = CompressionType::None;
        /// Record synced logs in the manifest, and check at open that they are there.
        track_and_verify_wals_in_manifest: bool = false;
        /// Size of all live logs at which the oldest column family is flushed.
        /// Bytes; 0 is four times the write buffers.
        max_total_wal_size: u64 = 0, changes live;
        /// Size at which a new manifest is begun. Bytes.
        max_manifest_file_size: u64 = 1 << 30, into 1..=u64::MAX;
        /// How concurrent writes are committed. When unset, `enable_pipelined_write`,
        /// `unordered_write` and `allow_concurrent_memtable_write` decide.
        commit_protocol: Option<CommitProtocol> = None;
        /// Log one group of writes while the one before it is inserted.
        enable_pipelined_write: bool = false;
        /// Publish writes when they are logged, and insert them afterwards.
        unordered_write: bool = false;
        /// Hint without effect: there is one sequence of writes, and it has no queue.
        two_write_queues: bool = false;
        /// How writers' records are placed in the log.
        wal_access: SharedAccess = SharedAccess::Auto;
        /// Let the writers of a group insert into the memtable in parallel.
        allow_concurrent_memtable_write: bool = true;
        /// Let waiting writers spin with yields before they sleep.
        enable_write_thread_adaptive_yield: bool = true;
        /// Longest time that a waiting writer yields. Microseconds.
        write_thread_max_yield_usec: u64 = 100;
        /// Duration from which a yield indicates that the cores are busy. Microseconds.
        write_thread_slow_yield_usec: u64 = 3;
        /// Switch and flush all column families together.
        atomic_flush: bool = false;
        /// Memory of all memtables at which one is flushed; without effect with a write buffer
        /// manager. Bytes; 0 is no limit.
        db_write_buffer_size: usize = 0;
        /// Largest size of batches committed as one group, up to 64 MiB; a larger value counts as
        /// 64 MiB. Bytes.
        max_write_batch_group_size_bytes: usize = 1 << 20, into 1..=usize::MAX;
        /// Rate of writes while they are slowed down. Bytes per second; 0 is the rate limiter's
        /// rate or, without one, 16 MiB.
        delayed_write_rate: u64 = 0, changes live;
        /// Number of times in a row that a failed flush or compaction is retried before writes are
        /// refused; 0 is none.
        max_bgerror_resume_count: u32 = i32::MAX as u32;
        /// Longest wait before a failed flush or compaction is retried. Microseconds.
        bgerror_resume_retry_interval: u64 = 1_000_000;
        /// Number of info logs kept, the current one included. Files.
        keep_log_file_num: usize = 1000, in 1..=usize::MAX;
        /// The lowest level of lines in the info log.
        info_log_level: LogLevel = LogLevel::Info;
        /// Directory of the info log; the database's directory when unset.
        db_log_dir: Option<PathBuf> = None;
        /// Size of an info log, without its header, at which a new one is begun. Bytes; 0 is no
        /// limit.
        max_log_file_size: usize = 0;
        /// Age of an info log at which a new one is begun. Seconds; 0 is no limit.
        log_file_time_to_roll: usize = 0;
        /// Hint without effect: syncs cover content and length of files.
        use_fsync: bool = false;
        /// Hint without effect: child processes do not inherit files.
        is_fd_close_on_exec: bool = true;
        /// Tell the system that tables and blob files are read in no order.
        advise_random_on_open: bool = true;
        /// Hint without effect: mutexes spin before they sleep.
        use_adaptive_mutex: bool = false;
        /// Hint without effect: shards of the cache of open tables. Logarithm.
        table_cache_numshardbits: i32 = 6;
        /// Hint without effect: opening reads no tables for statistics.
        skip_stats_update_on_db_open: bool = false;
        /// Hint without effect: the manifest grows as it is written. Bytes.
        manifest_preallocation_size: usize = 4 << 20, changes live;
        /// Write the allocator's statistics to the info log. Without the cargo feature `jemalloc`,
        /// a line says that there are none.
        dump_malloc_stats: bool = false;
        /// Hint without effect: the tables that there are at open are opened by readers. Threads.
        max_file_opening_threads: i32 = 16;
        /// Hint without effect: writers of files choose their buffers. Bytes.
        writable_file_max_buffer_size: u64 = 1 << 20, changes live;
        /// Hint without effect: background threads delete obsolete files.
        avoid_unnecessary_blocking_io: bool = false;
        /// Hint without effect: the manifest always has the database's id.
        write_dbid_to_manifest: bool = true;
        /// Hint without effect: tables are read by positioned reads.
        allow_mmap_reads: bool = false;
        /// Hint without effect: tables are written by appending.
        allow_mmap_writes: bool = false;
        /// Hint without effect: obsolete files are deleted at once. Microseconds.
        delete_obsolete_files_period_micros: u64 = 6 * 3600 * 1_000_000, changes live;
        /// Checksums of whole tables in the manifest.
        file_checksum_gen_factory: FileChecksum = FileChecksum::None;
        /// How often all tables are read to look for damage. Seconds; 0 is never.
        scrub_period_sec: u32 = 0;
        /// Highest rate at which tables are read to look for damage. Bytes per second.
        scrub_bytes_per_second: u64 = 8 << 20, in 1..=1 << 40;
        /// Time from which a read or a write has a line in the info log. Microseconds; 0 is never.
        slow_operation_micros: u64 = 0, changes live;
        /// How often statistics are written to the info log. Seconds; 0 is never.
        stats_dump_period_sec: u32 = 600, changes live;
        /// Hint without effect: statistics are not kept over time. Seconds.
        stats_persist_period_sec: u32 = 600, changes live;
    }
    objects {
        /// Where tables are put, newer data first; the database's directory when empty.
        db_paths: Vec<DbPath> = Vec::new();
        /// The file system; by default the operating system's.
        fs: Arc<dyn Fs> = Arc::new(whitewater_storage::fs::os::OsFs);
        /// The background threads of the environment; by default those of the process.
        pools: Arc<Pools> = Pools::of_process();
        /// The limit to the memory of memtables, shared with other databases.
        write_buffer_manager: Option<Arc<Budget>> = None;
        /// The cache of what tables hold of single keys; may be shared with other databases.
        row_cache: Option<BlockCache> = None;
        /// Limits the rate at which flushes and compactions write; may be shared with other
        /// databases.
        rate_limiter: Option<Arc<RateLimiter>> = None;
        /// Knows and limits the space of tables and blob files; may be shared with other databases.
        sst_file_manager: Option<Arc<Manager>> = None;
        /// The time of day, for the age of archived logs, tables and values.
        clock: Clock = Clock::default();
        /// The listeners that are told what happens in the database.
        listeners: Listeners = Listeners::default();
        /// The logger that receives the info log in place of a file.
        info_logger: Option<Arc<Logger>> = None;
        /// Whether values end with the time at which they were written.
        stamps_values: bool = false;
        /// When the operations of prepared transactions get into memtables.
        write_policy: WritePolicy = WritePolicy::default();
        /// A function called at the sync points of a write, in tests.
        hook: SyncPointHook = SyncPointHook::default();
        /// Collects tickers and histograms, if set.
        statistics: Option<Arc<crate::stats::Statistics>> = None;
        /// How statistics are published to the `metrics` facade.
        metrics: MetricsOptions = MetricsOptions::default();
        /// The corrections that were made to these options.
        corrections: Vec<String> = Vec::new();
    }
}

option_struct! {
    /// Options of one column family.
    #[derive(Clone)]
    pub(crate) struct CfOptions {
        /// The format of new tables. Tables of all formats are read.
        table_factory: TableFormat = TableFormat::BlockBased, check table_format::check_numbers;
        /// Size at which a memtable is switched and flushed. Bytes.
        write_buffer_size: usize = 64 << 20, into 64 << 10..=64 << 30, changes live;
        /// Size of one arena block. Bytes; 0 is an eighth of the write buffer,
        /// 1 MiB at most.
        arena_block_size: usize = 0, into 0..=1 << 30, changes live;
        /// Size of the huge pages that memtables are allocated in, if the system has reserved some.
        /// Bytes; 0 is none.
        memtable_huge_page_size: usize = 0, changes live;
        /// Allocate memtables in transparent huge pages, where the system has them.
        memtable_transparent_huge_pages: bool = true, changes live;
        /// The structure that keeps the entries of a memtable sorted.
        memtable: MemtableKind = MemtableKind::Auto, check memtable::check_numbers;
        /// Size of a memtable's Bloom filter, as a fraction of the write buffer; 0 is no filter.
        memtable_prefix_bloom_size_ratio: f64 = 0.0, into 0.0..=0.25, changes live;
        /// Whether a memtable's Bloom filter contains whole keys.
        memtable_whole_key_filtering: bool = false, changes live;
        /// Size of the checksum of each entry of a memtable. Bytes: 0 (none), 1, 2, 4 or 8.
        memtable_protection_bytes_per_key: u32 = 0, check protection_bytes, changes live;
        /// Number of range deletions in a memtable at which it is flushed; 0 is no limit.
        memtable_max_range_deletions: u32 = 0, changes live;
        /// Hint without effect: the structure of a memtable determines its order.
        paranoid_memory_checks: bool = false, changes live;
        /// Part of a memtable's size below which what is left of full memtables stays in memory
        /// instead of being flushed; 0 flushes always.
        experimental_mempurge_threshold: f64 = 0.0, changes live;
        /// Read each new table after it was written, and compare.
        paranoid_file_checks: bool = false, changes live;
        /// Overwrite values in the active memtable instead of adding entries.
        inplace_update_support: bool = false;
        /// Number of locks that protect values which are overwritten in place.
        inplace_update_num_locks: usize = 10_000, into 0..=1 << 24, changes live;
        /// Number of successive merge operands of one key in a memtable from which the next one is
        /// stored as a value; 0 is no limit.
        max_successive_merges: usize = 0, changes live;
        /// Hint without effect: operands are merged when memory has what that takes.
        strict_max_successive_merges: bool = false, changes live;
        /// What part of a key is its prefix.
        prefix_extractor: Option<PrefixExtractor> = None, changes live;
        /// Number of memtables in memory at which writes stop.
        max_write_buffer_number: i32 = 2, into 2..=i32::MAX, changes live;
        /// Number of full memtables that one flush waits for.
        min_write_buffer_number_to_merge: i32 = 1, into 1..=i32::MAX;
        /// The compaction style, which determines how tables are organized.
        compaction_style: CompactionStyle = CompactionStyle::Level;
        /// Which table of a level is compacted first, with leveled compaction.
        compaction_pri: CompactionPri = CompactionPri::MinOverlappingRatio;
        /// Options of universal compaction.
        compaction_options_universal: UniversalOptions = UniversalOptions::default(),
            changes live;
        /// Options of FIFO compaction.
        compaction_options_fifo: FifoOptions = FifoOptions::default(), changes live;
        /// Age at which data is compacted or, with FIFO compaction, deleted. Seconds; 0 is never,
        /// the default stands for 30 days.
        ttl: u64 = BY_STYLE, changes live;
        /// Age at which a table is rewritten. Seconds; 0 is never. The default stands for 30 days
        /// with universal compaction, and with leveled compaction if there is a compaction filter;
        /// otherwise for never.
        periodic_compaction_seconds: u64 = BY_STYLE, changes live;
        /// Reads in vain, for each byte that a compaction of the tables they looked into rewrites,
        /// at which it begins; 0 is never.
        read_triggered_compaction_threshold: f64 = 0.03, in 0.0..=f64::MAX, changes live;
        /// Number of levels of tables.
        num_levels: usize = 7, into 1..=64;
        /// Number of tables in level 0 at which a compaction starts; negative is never.
        level0_file_num_compaction_trigger: i32 = 4, changes live;
        /// Number of tables in level 0 at which writes are slowed down.
        level0_slowdown_writes_trigger: i32 = 20, into 1..=i32::MAX, changes live;
        /// Number of tables in level 0 at which writes are stopped.
        level0_stop_writes_trigger: i32 = 36, into 1..=i32::MAX, changes live;
        /// Compaction debt at which writes are slowed down. Bytes; 0 is no limit.
        soft_pending_compaction_bytes_limit: u64 = 64 << 30, changes live;
        /// Compaction debt at which writes are stopped. Bytes; 0 is no limit.
        hard_pending_compaction_bytes_limit: u64 = 256 << 30, changes live;
        /// Size of a table in level 1. Bytes; 0 stands for the default.
        target_file_size_base: u64 = 64 << 20, changes live;
        /// Factor by which the size of tables grows from level to level.
        target_file_size_multiplier: i32 = 1, into 1..=i32::MAX, changes live;
        /// Size of level 1. Bytes; 0 stands for the default.
        max_bytes_for_level_base: u64 = 256 << 20, changes live;
        /// Factor by which the size of levels grows from level to level.
        max_bytes_for_level_multiplier: f64 = 10.0, in f64::MIN_POSITIVE..=f64::MAX, changes live;
        /// Additional factors for the growth from each level to the next, from level 0 on; missing
        /// ones are 1. Without effect if level sizes are chosen from the last level.
        max_bytes_for_level_multiplier_additional: Vec<i32> = Vec::new(), check not_negative,
            changes live;
        /// Choose level sizes from the size of the last level.
        level_compaction_dynamic_level_bytes: bool = true;
        /// Largest input of one compaction. Bytes; 0 is 25 tables.
        max_compaction_bytes: u64 = 0, changes live;
        /// Hint without effect: all tables that a compaction needs are counted.
        ignore_max_compaction_bytes_for_input: bool = true, changes live;
        /// Age at which a table of the last level is compacted to drop what only snapshots have
        /// kept in it. Seconds; 0 is at once.
        bottommost_file_compaction_delay: u32 = 0, changes live;
        /// Hint without effect: files have no temperature.
        last_level_temperature: Temperature = Temperature::Unknown, changes live;
        /// Hint without effect: blocks are checked as a whole when they are read.
        block_protection_bytes_per_key: u32 = 0, check protection_bytes, changes live;
        /// Hint without effect: blocks of obsolete tables leave the cache in any case.
        uncache_aggressiveness: u32 = 0, changes live;
        /// Hint without effect: no blocks are compressed as samples.
        sample_for_compression: u64 = 0, changes live;
        /// Compact only when asked to.
        disable_auto_compactions: bool = false, changes live;
        /// Write no filters for tables of the last level that has data.
        optimize_filters_for_hits: bool = false;
        /// Keep the bits of a key together in the Bloom filter of a plain table, if it is not 0.
        /// Without effect on other filters: their bits of a key are in one cache line.
        bloom_locality: u32 = 0;
        /// Hint without effect: the I/O of flushes and compactions is timed whenever statistics are
        /// on.
        report_bg_io_stats: bool = false, changes live;
        /// Hint without effect: iterators seek after eight versions, whatever this is.
        max_sequential_skip_in_iterations: u64 = 8, changes live;
        /// Hint without effect: flushed memtables are not kept. Bytes.
        max_write_buffer_size_to_maintain: i64 = 0;
        /// Put large values into blob files. Values in existing blob files are read, whatever this
        /// option is.
        enable_blob_files: bool = false, changes live;
        /// Size from which a value goes into a blob file. Bytes.
        min_blob_size: u64 = 0, changes live;
        /// Size at which a blob file ends. Bytes.
        blob_file_size: u64 = 256 << 20, changes live;
        /// The first level whose tables have values in blob files.
        blob_file_starting_level: i32 = 0, into 0..=i32::MAX, changes live;
        /// Compression of values in blob files.
        blob_compression_type: CompressionType = CompressionType::None, check codec, changes live;
        /// Parameters of that compression. Values are compressed one by one, without a dictionary.
        blob_compression_opts: CompressionOptions = CompressionOptions::default(), changes live;
        /// Move values out of old blob files when they are compacted.
        enable_blob_garbage_collection: bool = false, changes live;
        /// Fraction of the blob files, from the oldest on, that count as old.
        blob_garbage_collection_age_cutoff: f64 = 0.25, in 0.0..=1.0, changes live;
        /// Fraction of garbage in the old blob files from which on tables that refer to the oldest
        /// of them are compacted; 1 is never.
        blob_garbage_collection_force_threshold: f64 = 1.0, in 0.0..=1.0, changes live;
        /// Which values are put into the blob cache when they are written.
        prepopulate_blob_cache: PrepopulateBlobCache = PrepopulateBlobCache::Disable,
            changes live;
        /// How much compactions read at a time from each blob file. Bytes; 0 is one value.
        blob_compaction_readahead_size: u64 = 0, changes live;
        /// Compression of tables.
        compression: CompressionType = compression::default_type(), check codec, changes live;
        /// Compression by level: of level 0, of the base level, of the one below it, and so on; the
        /// last also applies to deeper levels. `compression` applies when this is empty.
        compression_per_level: Vec<CompressionType> = Vec::new(), check codecs, changes live;
        /// Compression of the last level that has data; the same as other levels' when unset.
        bottommost_compression: Option<CompressionType> = None, check codecs, changes live;
        /// Parameters of compression: levels, dictionaries and threads.
        compression_opts: CompressionOptions = CompressionOptions::default(), changes live;
        /// Parameters of compression for the last level that has data, if they are enabled.
        bottommost_compression_opts: CompressionOptions = CompressionOptions::default(),
            changes live;
    }
    objects {
        /// The order of keys.
        comparator: UserComparator = UserComparator::Bytewise;
        /// Where the column family's tables are put, newer data first; `db_paths` when empty.
        cf_paths: Vec<DbPath> = Vec::new();
        /// The paths that are in force, from both options; the database's directory when empty.
        paths: Vec<DbPath> = Vec::new();
        /// Whether the last level is kept free; copied from the database's options.
        keeps_last_level_free: bool = false;
        /// Whether values end with the time at which they were written.
        values_have_times: bool = false;
        /// Whether the age at which tables are rewritten was left to the default, so that it
        /// depends on whether there is a compaction filter.
        age_follows_filter: bool = false;
        /// Combines merge operands.
        merge_operator: Option<Arc<dyn MergeOperator>> = None;
        /// Removes or changes values when they are compacted.
        compaction_filter: Option<Arc<dyn FilterSource>> = None;
        /// Makes a compaction filter for each job; unused if `compaction_filter` is set.
        compaction_filter_factory: Option<Arc<dyn FilterSource>> = None;
        /// Rules by which a new table is marked for compaction because of its deletions; matching
        /// one of them is enough.
        deletion_triggers: Vec<DeletionTrigger> = Vec::new();
        /// The cache of values in blob files.
        blob_cache: Option<BlockCache> = None;
        /// The layout of tables.
        table: TableOptions = TableOptions::default();
        /// The corrections that were made to these options.
        corrections: Vec<String> = Vec::new();
    }
}

/// The value of an age that means "chosen by the compaction style", the same number as in
/// RocksDB.
pub(crate) const BY_STYLE: u64 = u64::MAX - 1;

// The fields, their defaults and their documentation are declared with `TableOptions`.
option_text!(TableOptions {
    block_size: usize, into 1..=1 << 30, changes live;
    fit_blocks_to_pages: bool, changes live;
    block_restart_interval: usize, into 1..=65_536, changes live;
    index_block_restart_interval: usize, into 1..=65_536, changes live;
    checksum: ChecksumType, changes live;
    format_version: u32, check written_format, changes live;
    index_type: IndexType;
    metadata_block_size: usize, into 1..=1 << 30, changes live;
    partition_filters: bool, changes live;
    data_block_index_type: DataBlockIndexType, changes live;
    data_block_hash_table_util_ratio: f64, changes live;
    filter_policy: Option<FilterPolicy>, changes live;
    whole_key_filtering: bool, changes live;
    optimize_filters_for_memory: bool, changes live;
    cache_index_and_filter_blocks: bool;
    cache_index_and_filter_blocks_with_high_priority: bool;
    pin_l0_filter_and_index_blocks_in_cache: bool;
    pin_top_level_index_and_filter: bool;
    metadata_cache_options: MetadataCacheOptions;
    prepopulate_block_cache: PrepopulateBlockCache, changes live;
    initial_auto_readahead_size: usize, into 0..=1 << 30;
    max_auto_readahead_size: usize, into 0..=1 << 30;
    num_file_reads_for_auto_readahead: u64;
});

use whitewater_storage::checksum::ChecksumType;

fn codec(name: &str, value: &CompressionType) -> Result<()> {
    match value.missing_feature() {
        None => Ok(()),
        Some(feature) => Err(Error::not_supported(format_args!(
            "option {name}: {value:?} is not built in (cargo feature {feature})"
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

fn not_negative(name: &str, values: &[i32]) -> Result<()> {
    match values.iter().find(|value| **value < 0) {
        Some(value) => Err(Error::invalid(format_args!(
            "option {name}: {value} is negative"
        ))),
        None => Ok(()),
    }
}

/// Checks the format version of new tables. A version below 2 is accepted here, because it is
/// corrected.
fn written_format(name: &str, value: &u32) -> Result<()> {
    if (0..=7).contains(value) {
        return Ok(());
    }
    Err(Error::not_supported(format_args!(
        "option {name} = {value}: tables are written in versions 2 to 7"
    )))
}

impl DbOptions {
    /// Checks each option by its row, and the combinations of options.
    ///
    /// # Errors
    /// `InvalidArgument` or `NotSupported` naming the option.
    pub(crate) fn validate(&self) -> Result<()> {
        self.check()?;
        self.check_paths()?;
        self.check_direct_io()?;
        self.check_protocol()
    }

    /// Refuses the combinations of direct I/O and memory maps that RocksDB refuses, although memory
    /// maps are only hints here.
    fn check_direct_io(&self) -> Result<()> {
        if self.allow_mmap_reads && self.use_direct_reads {
            return Err(Error::not_supported(
                "If memory mapped reads (allow_mmap_reads) are enabled then direct I/O reads \
                 (use_direct_reads) must be disabled.",
            ));
        }
        if self.allow_mmap_writes && self.use_direct_io_for_flush_and_compaction {
            return Err(Error::not_supported(
                "If memory mapped writes (allow_mmap_writes) are enabled then direct I/O writes \
                 (use_direct_io_for_flush_and_compaction) must be disabled.",
            ));
        }
        Ok(())
    }

    /// Refuses the combinations that RocksDB refuses, and those that contradict each other.
    fn check_protocol(&self) -> Result<()> {
        if self.atomic_flush && self.protocol() == CommitProtocol::Pipelined {
            return Err(Error::invalid(format_args!(
                "atomic_flush is incompatible with {}",
                self.asked_by("enable_pipelined_write", self.enable_pipelined_write)
            )));
        }
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
        let one_by_one = (
            !self.allow_concurrent_memtable_write,
            "allow_concurrent_memtable_write=false",
        );
        let pipelined = (self.enable_pipelined_write, "enable_pipelined_write=true");
        let unordered = (self.unordered_write, "unordered_write=true");
        let excluded = match protocol {
            CommitProtocol::Ordered => vec![one_by_one, pipelined, unordered],
            CommitProtocol::Grouped => vec![pipelined, unordered],
            CommitProtocol::Pipelined => vec![unordered],
            CommitProtocol::Unordered => vec![one_by_one, pipelined],
        };
        let set = excluded.into_iter().filter(|(set, _)| *set);
        let set: Vec<&str> = set.map(|(_, option)| option).collect();
        if set.is_empty() {
            return Ok(());
        }
        Err(Error::invalid(format_args!(
            "commit_protocol={protocol} is incompatible with {}",
            set.join(" and with ")
        )))
    }

    /// The option that selects the protocol in force: RocksDB's `option` if it is set, otherwise
    /// `commit_protocol`.
    fn asked_by(&self, option: &str, is_set: bool) -> String {
        if is_set {
            option.to_owned()
        } else {
            format!("commit_protocol={}", self.protocol())
        }
    }

    /// Refuses options of a column family that contradict the database's own.
    ///
    /// # Errors
    /// `InvalidArgument` or `NotSupported` naming the options.
    pub(crate) fn check_family(&self, cf: &CfOptions) -> Result<()> {
        if cf.max_successive_merges > 0 && self.protocol() == CommitProtocol::Unordered {
            // An entry can be visible before it is inserted, so no value can be read reliably.
            return Err(Error::invalid(format_args!(
                "max_successive_merges > 0 is incompatible with {}",
                self.asked_by("unordered_write", self.unordered_write)
            )));
        }
        self.write_policy.check_family(cf)?;
        self.check_paths_of(cf)?;
        if cf.compaction_style == CompactionStyle::Fifo && cf.ttl > 0 && self.max_open_files != -1 {
            return Err(Error::not_supported(
                "FIFO compaction with ttl > 0 is only supported with max_open_files = -1",
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

    /// Copies to a column family what it must know of the database's options.
    pub(crate) fn inform(&self, cf: &mut CfOptions) {
        cf.keeps_last_level_free = self.allow_ingest_behind;
        cf.make_room_behind();
        cf.paths = match cf.cf_paths.is_empty() {
            true => self.db_paths.clone(),
            false => cf.cf_paths.clone(),
        };
        cf.fix_level_sizes();
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
            // With one insert at a time, a leader inserts for its group.
            None if !self.allow_concurrent_memtable_write => CommitProtocol::Grouped,
            None => CommitProtocol::Ordered,
        }
    }

    /// These options with the commit protocol that is in force.
    pub(crate) fn in_force(&self) -> Self {
        DbOptions {
            commit_protocol: Some(self.protocol()),
            ..self.clone()
        }
    }

    /// The write buffer manager of a database that is being opened: the shared one, or one of its
    /// own.
    pub(crate) fn budget(&self) -> Option<Arc<Budget>> {
        let own = || (self.db_write_buffer_size > 0).then_some(self.db_write_buffer_size);
        let shared = self.write_buffer_manager.clone();
        shared.or_else(|| Some(Budget::new(own()?, false, None)))
    }

    /// A client of the rate limiter for a database that is being opened.
    pub(crate) fn limiter(&self) -> Option<Arc<Client>> {
        let limiter = self.rate_limiter.clone()?;
        Some(Client::new(limiter, self.statistics.clone()))
    }

    /// The number of threads for flushes and for compactions.
    pub(crate) fn background_threads(&self) -> (usize, usize) {
        let (flushes, compactions) = thread_counts(self.max_background_jobs);
        let given = |n: i32, or: usize| if n > 0 { n as usize } else { or };
        (
            given(self.max_background_flushes, flushes),
            given(self.max_background_compactions, compactions),
        )
    }

    /// The niceness and the number of threads for compactions that reads have asked for. There is
    /// none where other threads that compact are no nicer.
    pub(crate) fn thread_for_reads(&self) -> (i32, usize) {
        let nice = (self.compaction_nice - BACKGROUND_NICE).max(0);
        (nice, usize::from(nice < self.compaction_nice))
    }
}

/// The number of threads for flushes and for compactions, by RocksDB's split of
/// `max_background_jobs`.
fn thread_counts(max_background_jobs: i32) -> (usize, usize) {
    let jobs = max_background_jobs.max(2) as usize;
    let flushes = (jobs / 4).max(1);
    (flushes, jobs - flushes)
}

impl CfOptions {
    /// The representation of memtables that are created now.
    pub(crate) fn memtable_in_force(&self) -> MemtableKind {
        self.memtable
            .resolve(&self.comparator, self.write_buffer_size)
    }

    /// These options, with the actual choice wherever it was left to the database.
    pub(crate) fn in_force(&self) -> Self {
        CfOptions {
            memtable: self.memtable_in_force(),
            ..self.clone()
        }
    }

    /// Checks every option and those of the tables.
    ///
    /// # Errors
    /// `InvalidArgument` or `NotSupported` naming the option.
    pub(crate) fn validate(&self) -> Result<()> {
        self.check()?;
        self.check_paths()?;
        memtable::check_fit(self)?;
        if self.table.index_type == IndexType::HashSearch && self.prefix_extractor.is_none() {
            return Err(Error::invalid(
                "option index_type = kHashSearch needs a prefix_extractor",
            ));
        }
        if self.table.cache_index_and_filter_blocks && self.table.block_cache.is_none() {
            return Err(Error::invalid(
                "option cache_index_and_filter_blocks needs a block cache",
            ));
        }
        let ratio = self.table.data_block_hash_table_util_ratio;
        let hashes = self.table.data_block_index_type == DataBlockIndexType::BinaryAndHash;
        if hashes && !(ratio > 0.0 && ratio.is_finite()) {
            return Err(Error::invalid(format_args!(
                "option data_block_hash_table_util_ratio = {ratio} is not above 0"
            )));
        }
        self.check_compression()?;
        self.check_blob_compression()?;
        self.table.check()
    }

    /// Whether tables may be ingested behind all other data. Compactions then keep out of the last
    /// level, and keep entries that may have to hide what is ingested there. FIFO compaction is
    /// excluded, because its files are ordered by age and not by level.
    pub fn reserves_last_level(&self) -> bool {
        self.keeps_last_level_free && self.compaction_style != CompactionStyle::Fifo
    }

    /// The number of levels, of `num_levels`, that compactions read and write.
    pub fn compacted_levels(&self, num_levels: usize) -> usize {
        if self.reserves_last_level() {
            num_levels.saturating_sub(1).max(1)
        } else {
            num_levels
        }
    }

    /// `max_compaction_bytes`, or RocksDB's 25 tables when it is 0.
    pub fn compaction_bytes(&self) -> u64 {
        match self.max_compaction_bytes {
            0 => self.target_file_size_base.saturating_mul(25),
            limit => limit,
        }
    }

    /// Whether reads run a comparator or a prefix extractor supplied by the user.
    pub fn runs_user_code(&self) -> bool {
        matches!(self.comparator, UserComparator::Custom(_))
            || (self.prefix_extractor.as_ref()).is_some_and(PrefixExtractor::runs_user_code)
    }

    /// The source of compaction filters, if there is one.
    pub fn filter_source(&self) -> Option<&dyn FilterSource> {
        let one = self.compaction_filter.as_deref();
        one.or(self.compaction_filter_factory.as_deref())
    }

    /// The size at which a compaction into `level` starts a new table. A compaction into level 0
    /// writes a single table, so that the tables there differ in age.
    pub fn target_file_size(&self, level: usize) -> u64 {
        if level == 0 {
            return u64::MAX;
        }
        let mut size = self.target_file_size_base;
        for _ in 1..level {
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
        writeln!(f, "rate_limiter={}", self.rate_limiter.is_some())?;
        match &self.row_cache {
            Some(cache) => writeln!(f, "row_cache={}", cache.capacity())?,
            None => writeln!(f, "row_cache=None")?,
        }
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
        let name = |filter: &Option<Arc<dyn FilterSource>>| {
            (filter.as_ref()).map_or_else(|| "none".to_owned(), |f| f.name())
        };
        writeln!(f, "compaction_filter={}", name(&self.compaction_filter))?;
        let factory = name(&self.compaction_filter_factory);
        writeln!(f, "compaction_filter_factory={factory}")?;
        self.table.dump(f)?;
        match &self.table.block_cache {
            Some(block_cache) => writeln!(f, "{BLOCK_CACHE}={}", block_cache.options().print()),
            None => writeln!(f, "no_block_cache=true"),
        }
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
