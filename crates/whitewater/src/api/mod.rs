//! The public API: names, generics and semantics of the `rocksdb` crate.
//!
//! A thin layer: it converts types, keeps lifetimes and turns option builders
//! into the engine's options. It holds no state of its own but column family
//! handles.
//!
//! * `db`: the handle, [`options`]: what it is opened with, `env`: threads it shares;
//!   `column_family`, `snapshot`, `iterator`, `iterator_handle`, `iter_range`,
//!   `multi_cf_iterator`, `wal_iterator`, `pinnable`, `wide_columns`, `merge_operands`,
//!   `write_batch`, `batch_handler`, `batch_timestamps`, `write_batch_with_index`,
//!   `sst_file_writer`, [`checkpoint`], [`backup`]: what one gets from it or gives it.
//! * [`compaction_filter`], [`compaction_filter_factory`], [`merge_operator`],
//!   `slice_transform`: user code.
//! * `transactions`: transactions, and databases with them.
//! * [`properties`], [`statistics`], [`perf`], `memory_usage`, `observer`: figures.
//! * `c_str`, `prop_name`: texts as arguments.
//! * `foreign`: what an interface to another language needs beyond this API.
//! * `older_rocksdb`: the API as it was before 0.25, where it was another one.

pub mod backup;
pub(crate) mod batch_handler;
mod batch_timestamps;
pub(crate) mod c_str;
pub mod checkpoint;
pub(crate) mod column_family;
pub mod compaction_filter;
pub mod compaction_filter_factory;
pub(crate) mod db;
pub(crate) mod env;
mod foreign;
pub(crate) mod iter_range;
pub(crate) mod iterator;
pub(crate) mod iterator_handle;
mod memory_usage;
pub(crate) mod merge_operands;
pub mod merge_operator;
pub(crate) mod multi_cf_iterator;
mod observer;
#[doc(hidden)]
pub mod older_rocksdb;
pub(crate) mod options;
pub mod perf;
pub(crate) mod pinnable;
pub(crate) mod prop_name;
pub mod properties;
pub(crate) mod slice_transform;
pub(crate) mod snapshot;
pub(crate) mod sst_file_writer;
pub mod statistics;
pub(crate) mod transactions;
pub(crate) mod wal_iterator;
pub(crate) mod wide_columns;
pub(crate) mod write_batch;
pub(crate) mod write_batch_with_index;

pub use crate::db::inspect::OptionValue;
pub use crate::db::listing::{
    FileChecksumInfo, LiveFileStorageInfo, LiveFileType, WalFile, WalFileType,
};
pub use crate::db::scrub::ScrubProgress;
pub use crate::entry::columns::{DEFAULT_WIDE_COLUMN_NAME, WideColumn, WideColumns};
pub use crate::external::exported::{ExportImportFilesMetaData, LiveFileMetaData};
pub use crate::logger::LogLevel;
pub use crate::memtable::MemTableStats;
pub use batch_handler::WriteBatchHandler;
pub use c_str::CStrLike;
pub use column_family::{
    AsColumnFamilyRef, BoundColumnFamily, ColumnFamily, ColumnFamilyDescriptor, ColumnFamilyHandle,
    ColumnFamilyRef, ColumnFamilyTtl, DEFAULT_COLUMN_FAMILY_NAME,
};
pub use compaction_filter::Decision as CompactionDecision;
pub use db::{
    ColumnFamilyMetaData, DB, DBAccess, DBCommon, DBInner, DBWithThreadMode,
    ImportColumnFamilyOptions, LiveFile, LiveFilesStorageInfoOptions, MultiThreaded, Range,
    SingleThreaded, SizeApproximationOptions, ThreadMode,
};
pub use env::Env;
pub use iter_range::{IterateBounds, PrefixRange};
pub use iterator::{
    DBIterator, DBIteratorWithThreadMode, DBRawIterator, DBRawIteratorWithThreadMode, Direction,
    IteratorMode,
};
pub use merge_operands::GetMergeOperandsOptions;
pub use merge_operator::MergeOperands;
pub use multi_cf_iterator::{AttributeGroupIterator, CoalescingIterator};
pub use observer::Observer;
pub use options::{
    BlockBasedIndexType, BlockBasedOptions, BlockBasedTablePinningTier, BottommostLevelCompaction,
    Cache, ChecksumType, CompactOptions, CompactionOptions, CompactionPri, CuckooTableOptions,
    DBCompactionStyle, DBCompressionType, DBPath, DBRecoveryMode, DataBlockIndexType,
    FifoCompactOptions, FileChecksum, FlushOptions, InfoLogger, IngestExternalFileOptions,
    KeyEncodingType, LruCacheOptions, MemtableFactory, Options, PlainTableFactoryOptions,
    PrepopulateBlobCache, PrepopulateBlockCache, ReadOptions, ReadTier, SstFileManager,
    UniversalCompactOptions, UniversalCompactionStopStyle, WaitForCompactOptions, WalAccess,
    WriteBufferManager, WriteOptions,
};
pub use pinnable::DBPinnableSlice;
pub use slice_transform::SliceTransform;
#[doc(hidden)]
pub use snapshot::SnapshotHandle;
pub use snapshot::{Snapshot, SnapshotWithThreadMode};
pub use sst_file_writer::SstFileWriter;
pub use transactions::{
    DeadlockPath, DeadlockStep, LockMode, LockStatus, OptimisticTransactionDB,
    OptimisticTransactionOptions, Transaction, TransactionDB, TransactionDBOptions,
    TransactionOptions, WaitingFor,
};
pub use wal_iterator::DBWALIterator;
pub use wide_columns::{AttributeGroup, PinnableWideColumns};
pub use write_batch::{
    WriteBatch, WriteBatchIterator, WriteBatchIteratorCf, WriteBatchWithTransaction,
};
pub use write_batch_with_index::{
    IndexedOperation, WriteBatchWithIndex, WriteBatchWithIndexIterator,
};

#[cfg(test)]
mod tests;
