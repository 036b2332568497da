//! Whitewater: an embedded key-value store, an LSM tree of the RocksDB family.
//!
//! It is built around its write path: many threads write at once, and none of them leads the
//! others. It opens RocksDB databases, and RocksDB opens its; the public API is the `rocksdb`
//! crate's. Version 0.1.0 is not released yet. It runs on Linux on x86-64.
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
//! | read | [`DB::get`](DBCommon::get), [`DB::multi_get`](DBCommon::multi_get), [`ReadOptions`] |
//! | scan | [`DB::iterator`](DBCommon::iterator), [`DBRawIterator`], [`IteratorMode`] |
//! | read one moment | [`DB::snapshot`](DBCommon::snapshot) |
//! | keep several key spaces | the guide on [column families](guide::column_families) |
//! | know what a crash takes | the guide on [durability](guide::durability) |
//! | write faster | the guide on [tuning writes](guide::tuning_writes) |
//! | limit memory | the guide on [memory](guide::memory) |
//! | add without reading first | [merge operators](merge_operator) |
//! | load sorted data | [`SstFileWriter`], [`DB::ingest_external_file`](DBCommon::ingest_external_file) |
//! | copy a database | [`checkpoint`] |
//! | watch it | [`properties`], [`statistics`], [`perf`], [`listener`] |
//! | move from RocksDB | [below](#coming-from-the-rocksdb-crate), and the guide on [migrating](guide::migrating) |
//!
//! # Coming from the `rocksdb` crate
//!
//! Paths, generics and semantics are those of version 0.25; changing the name
//! of the dependency is enough:
//!
//! ```toml
//! rocksdb = { package = "whitewater", version = "0.1" }
//! ```
//!
//! Known differences:
//! * What is not built yet does not exist: its use does not compile. A value
//!   that cannot be honoured (a codec, say) is refused at open, by name.
//! * Nothing is a raw pointer. Traits that had raw pointers in their
//!   signatures have opaque types there.
//! * The function given to [`Options::set_comparator`] must be `Send + Sync`, a
//!   factory given to [`Options::set_compaction_filter_factory`] `Send`: other
//!   threads call them, and nothing but these bounds keeps that safe.
//! * A batch made of damaged bytes is refused before anything is written.
//! * [`ReadOptions`] keep the snapshot they were given alive.
//! * Dropping a column family keeps its handle when it fails.
//! * Hash memtables take concurrent inserts; an iterator sent to a key that has a
//!   prefix ends with it ([`ReadOptions::set_total_order_seek`]).
//! * `set_paranoid_checks(false)` is a hint without effect: damage is never passed
//!   over in silence.
//! * A thread measures nothing for its [`PerfContext`] until it calls
//!   [`perf::set_perf_stats`]. Metrics, tickers and histograms of what this
//!   engine does not have, or does not count, stay 0; their documentation says
//!   so, or `is_collected`.
//! * [`DBCommon::get_updates_since`] fails where logs it needs were deleted, and
//!   [`DBWALIterator`] returns the error that ends it.
//! * [`Error`] knows its kind, the file and the offset, besides the text.
//! * Additions: [`Options::set_fs`] and the [`fs`] module, [`WriteBatchWithIndex`],
//!   [`DBCommon::try_compact_range_opt`], [`listener`]s of events,
//!   [`Options::load_latest_with_errors`], [`ColumnFamilyDescriptor::options_mut`], and setters
//!   of write-path options that the `rocksdb` crate lacks.
//!
//! # Cargo features
//!
//! * `snappy`, `lz4`, `zstd`, `zlib`, `bzip2`: codecs; all of them by default.
//! * `multi-threaded-cf`: [`DB`] is the multi-threaded form.
//! * `metrics`: statistics for the `metrics` facade
//!   (`DB::publish_metrics`, `Options::set_metrics_publish_period_sec`).
//! * `tracing`: events of databases, for the current `tracing` subscriber.
//! * `jemalloc`: the allocator `Jemalloc`, which a program can choose, and its statistics
//!   in LOG ([`Options::set_dump_malloc_stats`]). The `rocksdb` crate's feature
//!   replaces the allocator by itself.
//! * `serde1`: `Serialize` and `Deserialize` of [`DBCompressionType`],
//!   [`DBCompactionStyle`], [`DBRecoveryMode`], [`ReadTier`],
//!   [`BottommostLevelCompaction`] and [`UniversalCompactionStopStyle`], by the
//!   names of their variants, as in the `rocksdb` crate.
//!
//! The other features of the `rocksdb` crate exist, so that dependencies which name
//! them resolve:
//! * `bindgen-runtime`, `bindgen-static`, `lto`, `mt_static`, `rtti` and `valgrind`
//!   say how its C++ is built. None is built here: they change nothing.
//! * `io-uring` links a library for [`ReadOptions::set_async_io`]. That option is a
//!   hint here, and the feature changes nothing.
//! * `raw-ptr` adds the trait `AsRawPtr`, which hands out pointers to C objects.
//!   There are none here: the feature adds nothing, and use of the trait does not
//!   compile.
//!
//! A dependency's own `rocksdb` is replaced by the crate in `crates/rocksdb`, which
//! has that name and re-exports this one; its README says how.

#![forbid(unsafe_code)]

mod api;
mod clock;
mod column_family;
mod compact;
mod db;
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
mod snapshots;
mod stats;
mod sync_points;
mod table_writer;
mod thread_pools;
mod trace;
mod txn;
mod version;
mod write;
mod write_buffer_manager;

pub use api::{
    checkpoint, compaction_filter, compaction_filter_factory, merge_operator, perf, properties,
    statistics,
};

pub use api::{
    AsColumnFamilyRef, BlockBasedIndexType, BlockBasedOptions, BlockBasedTablePinningTier,
    BottommostLevelCompaction, BoundColumnFamily, CStrLike, Cache, ChecksumType, ColumnFamily,
    ColumnFamilyDescriptor, ColumnFamilyHandle, ColumnFamilyMetaData, ColumnFamilyRef,
    ColumnFamilyTtl, CompactOptions, CompactionDecision, CompactionPri, DB, DBAccess, DBCommon,
    DBCompactionStyle, DBCompressionType, DBIterator, DBIteratorWithThreadMode, DBPinnableSlice,
    DBRawIterator, DBRawIteratorWithThreadMode, DBRecoveryMode, DBWALIterator, DBWithThreadMode,
    DEFAULT_COLUMN_FAMILY_NAME, DataBlockIndexType, Direction, Env, FifoCompactOptions,
    FileChecksum, FlushOptions, IndexedOperation, InfoLogger, IngestExternalFileOptions,
    IterateBounds, IteratorMode, LiveFile, LogLevel, LruCacheOptions, MemtableFactory,
    MergeOperands, MultiThreaded, Options, PrefixRange, PrepopulateBlockCache, Range, ReadOptions,
    ReadTier, ScrubProgress, SingleThreaded, SliceTransform, Snapshot, SnapshotWithThreadMode,
    SstFileWriter, ThreadMode, UniversalCompactOptions, UniversalCompactionStopStyle,
    WaitForCompactOptions, WalAccess, WriteBatch, WriteBatchIterator, WriteBatchIteratorCf,
    WriteBatchWithIndex, WriteBatchWithIndexIterator, WriteBatchWithTransaction,
    WriteBufferManager, WriteOptions,
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
pub use perf_context::{PerfContext, PerfMetric, PerfStatsLevel};
#[cfg(feature = "failpoints")]
pub use sync_points::Point;

/// File systems a database can live in; see [`Options::set_fs`].
pub use whitewater_storage::fs;
pub use whitewater_storage::{Error, ErrorKind, Severity};

/// The examples of the README, compiled with the documentation's own.
#[cfg(doctest)]
#[doc = include_str!("../../../README.md")]
struct Readme;
