//! Whitewater: an embedded key-value store, an LSM tree of the RocksDB family.
//!
//! Whitewater is built around its write path: many threads write at once, and each does all the
//! work of its own writes instead of waiting for a leader. It opens databases that RocksDB has
//! written, and RocksDB opens those that Whitewater has written. The public API is that of the
//! `rocksdb` crate. Version 0.1.0 is not released yet. Whitewater runs on Linux on x86-64.
//!
//! ```
//! use whitewater::{DB, Options, WriteBatch};
//!
//! # fn main() -> Result<(), Box<dyn std::error::Error>> {
//! let dir = tempfile::tempdir()?;
//! let mut opts = Options::default();
//! opts.create_if_missing(true);
//! let db = DB::open(&opts, dir.path())?;
//!
//! db.put(b"stream", b"white")?;
//! let mut batch = WriteBatch::default();
//! batch.put(b"river", b"blue");
//! batch.delete(b"stream");
//! db.write(batch)?;
//!
//! assert_eq!(db.get(b"river")?.as_deref(), Some(&b"blue"[..]));
//! assert_eq!(db.get(b"stream")?, None);
//! # Ok(())
//! # }
//! ```
//!
//! # Where to begin
//!
//! | to | see |
//! |---|---|
//! | open a database | [`DB::open`](DBWithThreadMode::open), [`Options`] |
//! | write | [`DB::put`](DBCommon::put), [`WriteBatch`], [`WriteOptions`] |
//! | read what is not written yet | [`WriteBatchWithIndex`] |
//! | read | [`DB::get`](DBCommon::get), [`DB::multi_get`](DBCommon::multi_get), [`ReadOptions`] |
//! | scan | [`DB::iterator`](DBCommon::iterator), [`DBRawIterator`], [`IteratorMode`] |
//! | read at one point in time | [`DB::snapshot`](DBCommon::snapshot) |
//! | keep several key spaces | the guide on [column families](guide::column_families) |
//! | know what survives a crash | the guide on [durability](guide::durability) |
//! | write faster | the guide on [tuning writes](guide::tuning_writes) |
//! | limit memory | the guide on [memory](guide::memory) |
//! | keep several named values under a key | [`DB::put_entity`](DBCommon::put_entity), [`WideColumns`] |
//! | update a value without reading it | [merge operators](merge_operator) |
//! | load sorted data | [`SstFileWriter`], [`DB::ingest_external_file`](DBCommon::ingest_external_file) |
//! | write what others must not change meanwhile | the guide on [transactions](guide::transactions), [`TransactionDB`], [`OptimisticTransactionDB`] |
//! | copy a database | [`checkpoint`] |
//! | keep backups of a database | the guide on [backups](guide::backups), [`backup`] |
//! | monitor a database | [`properties`], [`statistics`], [`perf`], [`listener`] |
//! | move from RocksDB | [below](#coming-from-the-rocksdb-crate), and the guide on [migrating](guide::migrating) |
//!
//! # Coming from the `rocksdb` crate
//!
//! Paths, generics and semantics are those of version 0.25, so it is enough to change the name of
//! the dependency:
//!
//! ```toml
//! rocksdb = { package = "whitewater", version = "0.1" }
//! ```
//!
//! Known differences:
//! * What is not implemented is absent, so code that uses it does not compile. An option value
//!   that cannot be honoured, such as a codec that is not built in, is refused at open, with an
//!   error that names it.
//! * There are no raw pointers. Traits whose signatures had them have opaque types instead.
//! * The function given to [`Options::set_comparator`] must be `Send + Sync`, and a factory given
//!   to [`Options::set_compaction_filter_factory`] must be `Send`: other threads call them.
//! * A batch made of damaged bytes is refused before anything is written.
//! * [`ReadOptions`] keep the snapshot that they were given alive.
//! * If dropping a column family fails, its handle stays valid.
//! * Hash memtables accept concurrent inserts. An iterator that seeks to a key with a prefix ends
//!   with that prefix, unless [`ReadOptions::set_total_order_seek`] is set.
//! * `set_paranoid_checks(false)` has no effect: damage is always reported.
//! * A thread's [`PerfContext`] measures nothing until the thread calls [`perf::set_perf_stats`].
//!   Metrics, tickers and histograms of what this engine does not have or does not count stay 0.
//!   Their documentation says so, or `is_collected`.
//! * [`DBCommon::get_updates_since`] fails if logs that it needs were deleted, and
//!   [`DBWALIterator`] returns the error that ends it.
//! * Transactions differ in the points that their
//!   [guide](guide::transactions#differences-from-rocksdb) lists.
//! * An [`Error`] has its kind, the file and the offset, besides the text.
//! * Additions: [`Options::set_fs`] and the [`fs`] module, [`WriteBatchWithIndex`], [`Observer`],
//!   [`DBCommon::add_event_listener`], wide columns
//!   ([`DBCommon::put_entity`]), [`DBCommon::get_merge_operands`], [`WriteBatchHandler`],
//!   [`DBCommon::try_compact_range_opt`], [`listener`]s of events,
//!   [`Options::load_latest_with_errors`], [`ColumnFamilyDescriptor::options_mut`], calls on
//!   transactions that RocksDB has only in C++ ([`Transaction::pop_savepoint`] and others), and
//!   setters of write-path options that the `rocksdb` crate lacks.
//!
//! # Cargo features
//!
//! * `snappy`, `lz4`, `zstd`, `zlib`, `bzip2`: codecs, all on by default.
//! * `multi-threaded-cf`: [`DB`] is the multi-threaded form.
//! * `metrics`: statistics are sent to the `metrics` facade
//!   (`DB::publish_metrics`, `Options::set_metrics_publish_period_sec`).
//! * `tracing`: events of databases are sent to the current `tracing` subscriber.
//! * `jemalloc`: re-exports the allocator `Jemalloc`, which a program can choose, and writes its
//!   statistics to LOG ([`Options::set_dump_malloc_stats`]). The `rocksdb` crate's feature of this
//!   name replaces the allocator without being asked.
//! * `serde1`: `Serialize` and `Deserialize` of [`DBCompressionType`],
//!   [`DBCompactionStyle`], [`DBRecoveryMode`], [`ReadTier`],
//!   [`BottommostLevelCompaction`] and [`UniversalCompactionStopStyle`], by the
//!   names of their variants, as in the `rocksdb` crate.
//!
//! The other features of the `rocksdb` crate exist, so that dependencies which name
//! them resolve:
//! * `bindgen-runtime`, `bindgen-static`, `lto`, `mt_static`, `rtti` and `valgrind` say how
//!   RocksDB's C++ code is built. There is none here, so they change nothing.
//! * `io-uring` links a library for [`ReadOptions::set_async_io`]. That option needs none here, so
//!   the feature changes nothing.
//! * `raw-ptr` adds the trait `AsRawPtr`, which hands out pointers to C objects. There are none
//!   here, so the feature adds nothing, and code that uses the trait does not compile.
//!
//! To replace `rocksdb` in a dependency, use the crate in `crates/rocksdb`, or its sister for 0.22,
//! 0.23 or 0.24. It has that name and version and re-exports this crate; its README says how.

#![forbid(unsafe_code)]

mod api;
mod backups;
mod clock;
mod column_family;
mod compact;
mod db;
mod empty_ranges;
mod entry;
mod event_queue;
mod external;
#[cfg(feature = "fuzzing")]
#[doc(hidden)]
pub mod fuzzing;
#[cfg(any(doc, doctest))]
pub mod guide;
mod info_log;
pub mod listener;
mod logger;
#[cfg(feature = "jemalloc")]
mod malloc;
mod memtable;
mod operators;
mod options;
mod panics;
mod perf_context;
mod rate_limiter;
mod read;
mod session_id;
mod slow_operations;
mod snapshots;
mod sst_file_manager;
mod stats;
mod sync_points;
mod table_writer;
mod thread_pools;
mod trace;
mod txn;
mod version;
mod write;
mod write_buffer_manager;

#[doc(hidden)]
pub use api::SnapshotHandle;
#[doc(hidden)]
pub use api::older_rocksdb;
pub use api::{
    backup, checkpoint, compaction_filter, compaction_filter_factory, merge_operator, perf,
    properties, statistics,
};

pub use api::{
    AsColumnFamilyRef, AttributeGroup, AttributeGroupIterator, BlockBasedIndexType,
    BlockBasedOptions, BlockBasedTablePinningTier, BottommostLevelCompaction, BoundColumnFamily,
    CStrLike, Cache, ChecksumType, CoalescingIterator, ColumnFamily, ColumnFamilyDescriptor,
    ColumnFamilyHandle, ColumnFamilyMetaData, ColumnFamilyRef, ColumnFamilyTtl, CompactOptions,
    CompactionDecision, CompactionOptions, CompactionPri, CuckooTableOptions, DB, DBAccess,
    DBCommon, DBCompactionStyle, DBCompressionType, DBIterator, DBIteratorWithThreadMode, DBPath,
    DBPinnableSlice, DBRawIterator, DBRawIteratorWithThreadMode, DBRecoveryMode, DBWALIterator,
    DBWithThreadMode, DEFAULT_COLUMN_FAMILY_NAME, DEFAULT_WIDE_COLUMN_NAME, DataBlockIndexType,
    DeadlockPath, DeadlockStep, Direction, Env, ExportImportFilesMetaData, FifoCompactOptions,
    FileChecksum, FileChecksumInfo, FlushOptions, GetMergeOperandsOptions,
    ImportColumnFamilyOptions, IndexedOperation, InfoLogger, IngestExternalFileOptions,
    IterateBounds, IteratorMode, KeyEncodingType, LiveFile, LiveFileMetaData, LiveFileStorageInfo,
    LiveFileType, LiveFilesStorageInfoOptions, LockMode, LockStatus, LogLevel, LruCacheOptions,
    MemTableStats, MemtableFactory, MergeOperands, MultiThreaded, Observer,
    OptimisticTransactionDB, OptimisticTransactionOptions, OptionValue, Options,
    PinnableWideColumns, PlainTableFactoryOptions, PrefixRange, PrepopulateBlobCache,
    PrepopulateBlockCache, Range, ReadOptions, ReadTier, ScrubProgress, SingleThreaded,
    SizeApproximationOptions, SliceTransform, Snapshot, SnapshotWithThreadMode, SstFileManager,
    SstFileWriter, ThreadMode, Transaction, TransactionDB, TransactionDBOptions,
    TransactionOptions, UniversalCompactOptions, UniversalCompactionStopStyle,
    WaitForCompactOptions, WaitingFor, WalAccess, WalFile, WalFileType, WideColumn, WideColumns,
    WriteBatch, WriteBatchHandler, WriteBatchIterator, WriteBatchIteratorCf, WriteBatchWithIndex,
    WriteBatchWithIndexIterator, WriteBatchWithTransaction, WriteBufferManager, WriteOptions,
};

/// The allocator jemalloc (cargo feature `jemalloc`). The program chooses it; this crate does
/// not. C code in the process continues to use the system's allocator.
///
/// ```
/// #[global_allocator]
/// static ALLOCATOR: whitewater::Jemalloc = whitewater::Jemalloc;
/// # fn main() {}
/// ```
#[cfg(feature = "jemalloc")]
pub use malloc::Jemalloc;
pub use options::commit_protocol::CommitProtocol;
#[cfg(feature = "option-tables")]
#[doc(hidden)]
pub use options::rows as option_tables;
pub use options::write_policy::WritePolicy;
pub use perf_context::{PerfContext, PerfMetric, PerfStatsLevel};
pub use rate_limiter::RateLimiterMode;
#[cfg(feature = "failpoints")]
pub use sync_points::Point;

/// File systems a database can live in; see [`Options::set_fs`].
pub use whitewater_storage::fs;
pub use whitewater_storage::sst::IoPriority;
pub use whitewater_storage::{Error, ErrorKind, Severity};

/// The examples of the README, compiled with the documentation's own.
#[cfg(doctest)]
#[doc = include_str!("../../../README.md")]
struct Readme;
