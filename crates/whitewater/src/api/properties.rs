//! Names of properties, for [`DBCommon::property_value`](crate::DBCommon::property_value)
//! and its relatives.
//!
//! Unknown names read as `None`. Texts have RocksDB's layouts; where figures
//! differ from RocksDB's, `docs/observability.md` says so.
//!
//! ```
//! use whitewater::properties;
//!
//! assert_eq!(properties::STATS, "rocksdb.stats");
//! assert_eq!(&*properties::num_files_at_level(2), "rocksdb.num-files-at-level2");
//! ```

pub use super::prop_name::{PropName, PropertyName};

/// Number of files at `level`.
pub fn num_files_at_level(level: usize) -> PropertyName {
    PropertyName::at_level("num-files-at-level", level)
}

/// Uncompressed by compressed size of the data at `level`; -1 without files.
pub fn compression_ratio_at_level(level: usize) -> PropertyName {
    PropertyName::at_level("compression-ratio-at-level", level)
}

/// Text: properties of the tables at `level`, summed.
pub fn aggregated_table_properties_at_level(level: usize) -> PropertyName {
    PropertyName::at_level("aggregated-table-properties-at-level", level)
}

/// Events that [listeners](crate::listener) were not told of yet, those being
/// told included. Not one of RocksDB's.
pub const NUM_PENDING_EVENTS: &PropName = &PropName::constant(c"whitewater.num-pending-events");
/// Text: the commit protocol in force, by its
/// [name](crate::CommitProtocol::name). Not one of RocksDB's.
pub const COMMIT_PROTOCOL: &PropName = &PropName::constant(c"whitewater.commit-protocol");
/// Map, or a text with a line for each part: what takes memory in this database, in bytes.
///
/// | part | what |
/// |---|---|
/// | `active-memtables` | memtables that take writes, room for further entries included |
/// | `immutable-memtables` | full ones that are not flushed |
/// | `flushed-memtables` | flushed ones that something holds, such as an iterator |
/// | `prepared-transactions` | what prepared transactions have logged |
/// | `table-readers` | indexes, filters and properties of open tables outside the caches |
/// | `logs` | what logs keep until they are flushed, and pages of mapped logs |
/// | `file-metadata` | what is known of table files, in all versions in use |
/// | `caches` | all caches of this database, however many other databases share them; not what is charged to them for memtables |
/// | `kept-for-memtables` | memory of freed memtables of the whole process, kept for new ones for some seconds, and a huge page that is ready for memtables or cached blocks |
/// | `kept-for-cached-blocks` | memory of blocks that have left caches, of the whole process, kept for others |
/// | `total` | the sum |
///
/// Not one of RocksDB's. Takes a look at every cache, open table and file.
pub const MEMORY: &PropName = &PropName::constant(c"whitewater.memory");
/// Text: what the active memtable of the column family is, as
/// [`MemtableFactory`](crate::MemtableFactory) has it: `art`, `skip_list`,
/// `vector` or a hash table with its parameters. Not one of RocksDB's.
pub const MEMTABLE: &PropName = &PropName::constant(c"whitewater.memtable");
/// Text: the error for which writes are refused, until the database is
/// [resumed](crate::DBCommon::resume); empty when they are not. Not one of RocksDB's.
pub const BACKGROUND_ERROR: &PropName = &PropName::constant(c"whitewater.background-error");
/// Map: the condition of writers of the column family (`condition`: `normal`, `delayed` or
/// `stopped`; `cause` and `reason` unless it is normal), and what it is measured by: `memtables`
/// that wait for their flush, `level0-files` and `pending-bytes` of compactions, each with the
/// values from which writes are delayed (`memtables.delay`, ...) and stopped (`memtables.stop`,
/// ...); 0 means never. Not one of RocksDB's.
pub const WRITE_STALL: &PropName = &PropName::constant(c"whitewater.write-stall");
/// Text: column family statistics, then database statistics.
pub const STATS: &PropName = &PropName::constant(c"rocksdb.stats");
/// Text: the table files of every level.
pub const SSTABLES: &PropName = &PropName::constant(c"rocksdb.sstables");
/// Text: column family statistics with the file histogram. The capitals are those of the `rocksdb`
/// crate.
pub const CFSTATS: &PropName = &PropName::constant(c"rocksdb.CFSTATS");
/// Text: column family statistics, level by level.
pub const CFSTATS_NO_FILE_HISTOGRAM: &PropName =
    &PropName::constant(c"rocksdb.cfstats-no-file-histogram");
/// Text: reads per level and their latency.
pub const CF_FILE_HISTOGRAM: &PropName = &PropName::constant(c"rocksdb.cf-file-histogram");
/// Text: statistics of the whole database.
pub const DBSTATS: &PropName = &PropName::constant(c"rocksdb.dbstats");
/// Text: number and size (MB) of files per level.
pub const LEVELSTATS: &PropName = &PropName::constant(c"rocksdb.levelstats");
/// Immutable memtables not flushed yet.
pub const NUM_IMMUTABLE_MEM_TABLE: &PropName =
    &PropName::constant(c"rocksdb.num-immutable-mem-table");
/// Immutable memtables flushed already and still in memory.
pub const NUM_IMMUTABLE_MEM_TABLE_FLUSHED: &PropName =
    &PropName::constant(c"rocksdb.num-immutable-mem-table-flushed");
/// 1 when a flush is pending, else 0.
pub const MEM_TABLE_FLUSH_PENDING: &PropName =
    &PropName::constant(c"rocksdb.mem-table-flush-pending");
/// Flushes running now.
pub const NUM_RUNNING_FLUSHES: &PropName = &PropName::constant(c"rocksdb.num-running-flushes");
/// 1 when a compaction is pending, else 0.
pub const COMPACTION_PENDING: &PropName = &PropName::constant(c"rocksdb.compaction-pending");
/// Compactions running now.
pub const NUM_RUNNING_COMPACTIONS: &PropName =
    &PropName::constant(c"rocksdb.num-running-compactions");
/// Failures of background jobs so far.
pub const BACKGROUND_ERRORS: &PropName = &PropName::constant(c"rocksdb.background-errors");
/// Bytes of the active memtable.
pub const CUR_SIZE_ACTIVE_MEM_TABLE: &PropName =
    &PropName::constant(c"rocksdb.cur-size-active-mem-table");
/// Bytes of the active and the unflushed immutable memtables.
pub const CUR_SIZE_ALL_MEM_TABLES: &PropName =
    &PropName::constant(c"rocksdb.cur-size-all-mem-tables");
/// Bytes of all memtables, pinned ones included.
pub const SIZE_ALL_MEM_TABLES: &PropName = &PropName::constant(c"rocksdb.size-all-mem-tables");
/// Entries of the active memtable.
pub const NUM_ENTRIES_ACTIVE_MEM_TABLE: &PropName =
    &PropName::constant(c"rocksdb.num-entries-active-mem-table");
/// Entries of the unflushed immutable memtables.
pub const NUM_ENTRIES_IMM_MEM_TABLES: &PropName =
    &PropName::constant(c"rocksdb.num-entries-imm-mem-tables");
/// Deletions in the active memtable.
pub const NUM_DELETES_ACTIVE_MEM_TABLE: &PropName =
    &PropName::constant(c"rocksdb.num-deletes-active-mem-table");
/// Deletions in the unflushed immutable memtables.
pub const NUM_DELETES_IMM_MEM_TABLES: &PropName =
    &PropName::constant(c"rocksdb.num-deletes-imm-mem-tables");
/// About how many keys there are in memtables and files.
pub const ESTIMATE_NUM_KEYS: &PropName = &PropName::constant(c"rocksdb.estimate-num-keys");
/// Bytes held by open tables outside the block cache.
pub const ESTIMATE_TABLE_READERS_MEM: &PropName =
    &PropName::constant(c"rocksdb.estimate-table-readers-mem");
/// 0 when obsolete files are deleted.
pub const IS_FILE_DELETIONS_ENABLED: &PropName =
    &PropName::constant(c"rocksdb.is-file-deletions-enabled");
/// Live snapshots.
pub const NUM_SNAPSHOTS: &PropName = &PropName::constant(c"rocksdb.num-snapshots");
/// Unix second of the oldest live snapshot; 0 for none.
pub const OLDEST_SNAPSHOT_TIME: &PropName = &PropName::constant(c"rocksdb.oldest-snapshot-time");
/// Live versions; many mean long-lived iterators or jobs.
pub const NUM_LIVE_VERSIONS: &PropName = &PropName::constant(c"rocksdb.num-live-versions");
/// Number of the current view of the files; grows with each change.
pub const CURRENT_SUPER_VERSION_NUMBER: &PropName =
    &PropName::constant(c"rocksdb.current-super-version-number");
/// About how many bytes of live data there are.
pub const ESTIMATE_LIVE_DATA_SIZE: &PropName =
    &PropName::constant(c"rocksdb.estimate-live-data-size");
/// Number of the oldest log that is kept.
pub const MIN_LOG_NUMBER_TO_KEEP: &PropName =
    &PropName::constant(c"rocksdb.min-log-number-to-keep");
/// Number of the oldest obsolete table that is kept.
pub const MIN_OBSOLETE_SST_NUMBER_TO_KEEP: &PropName =
    &PropName::constant(c"rocksdb.min-obsolete-sst-number-to-keep");
/// Bytes of all table files, of old versions too.
pub const TOTAL_SST_FILES_SIZE: &PropName = &PropName::constant(c"rocksdb.total-sst-files-size");
/// Bytes of the table files of the current version.
pub const LIVE_SST_FILES_SIZE: &PropName = &PropName::constant(c"rocksdb.live-sst-files-size");
/// The level that level 0 is compacted into.
pub const BASE_LEVEL: &PropName = &PropName::constant(c"rocksdb.base-level");
/// About how many bytes compactions have to rewrite.
pub const ESTIMATE_PENDING_COMPACTION_BYTES: &PropName =
    &PropName::constant(c"rocksdb.estimate-pending-compaction-bytes");
/// Text: properties of all tables, summed.
pub const AGGREGATED_TABLE_PROPERTIES: &PropName =
    &PropName::constant(c"rocksdb.aggregated-table-properties");
/// Bytes per second while writes are slowed down; 0 when not.
pub const ACTUAL_DELAYED_WRITE_RATE: &PropName =
    &PropName::constant(c"rocksdb.actual-delayed-write-rate");
/// 1 when writes are stopped, else 0.
pub const IS_WRITE_STOPPED: &PropName = &PropName::constant(c"rocksdb.is-write-stopped");
/// About the unix second of the oldest key.
pub const ESTIMATE_OLDEST_KEY_TIME: &PropName =
    &PropName::constant(c"rocksdb.estimate-oldest-key-time");
/// Bytes the block cache may hold.
pub const BLOCK_CACHE_CAPACITY: &PropName = &PropName::constant(c"rocksdb.block-cache-capacity");
/// Bytes in the block cache.
pub const BLOCK_CACHE_USAGE: &PropName = &PropName::constant(c"rocksdb.block-cache-usage");
/// Bytes of the block cache that readers pin.
pub const BLOCK_CACHE_PINNED_USAGE: &PropName =
    &PropName::constant(c"rocksdb.block-cache-pinned-usage");
/// Text: the statistics object.
pub const OPTIONS_STATISTICS: &PropName = &PropName::constant(c"rocksdb.options-statistics");
