//! Enums of options.

use crate::db::Bottommost;
use crate::memtable::MemtableKind;
use whitewater_storage::fs::SharedAccess;
use whitewater_storage::sst::CompressionType;
use whitewater_storage::wal::RecoveryMode;

pub use whitewater_storage::checksum::ChecksumType;

/// Compression of tables. RocksDB's numbers.
///
/// `Zlib`, `Bz2` and `Lz4hc` are not built in: options that name them are
/// refused at open.
#[derive(Debug, Copy, Clone, PartialEq, Eq)]
pub enum DBCompressionType {
    /// Not compressed.
    None = 0,
    /// Snappy.
    Snappy = 1,
    /// zlib; refused.
    Zlib = 2,
    /// bzip2; refused.
    Bz2 = 3,
    /// LZ4.
    Lz4 = 4,
    /// LZ4, written with more effort; refused.
    Lz4hc = 5,
    /// Zstandard.
    Zstd = 7,
}

impl From<DBCompressionType> for CompressionType {
    fn from(t: DBCompressionType) -> Self {
        match t {
            DBCompressionType::None => CompressionType::None,
            DBCompressionType::Snappy => CompressionType::Snappy,
            DBCompressionType::Zlib => CompressionType::Zlib,
            DBCompressionType::Bz2 => CompressionType::Bz2,
            DBCompressionType::Lz4 => CompressionType::Lz4,
            DBCompressionType::Lz4hc => CompressionType::Lz4hc,
            DBCompressionType::Zstd => CompressionType::Zstd,
        }
    }
}

/// What keeps the entries of a memtable sorted.
///
/// When none is chosen, it is the radix tree for bytewise order and its
/// reverse, and the skip list for other comparators (and for write buffers
/// over 8 GiB).
#[derive(Debug, Copy, Clone, PartialEq, Eq)]
pub enum MemtableFactory {
    /// An inline skip list: one allocation per entry, concurrent inserts,
    /// lock-free readers, any comparator.
    SkipList,
    /// An adaptive radix tree: faster for nearly everything, bytewise order
    /// and its reverse only; a column family with another comparator is
    /// refused at open.
    Art,
    /// A vector, unsorted until it is read or flushed, for bulk loads: the
    /// cheapest inserts from many threads, any comparator. While it takes
    /// writes, a look-up passes over all its entries and an iterator sorts a
    /// copy; full ones are sorted once.
    Vector,
    /// A hash table of skip lists, one for each prefix in use, any comparator.
    /// Look-ups and iterators inside a prefix are fast. Iterators sent to a
    /// key that has a prefix end with it, unless
    /// [`total_order_seek`](crate::ReadOptions::set_total_order_seek) is set;
    /// those over all keys sort a copy.
    ///
    /// Refused at open without a
    /// [prefix extractor](crate::Options::set_prefix_extractor).
    HashSkipList {
        /// Buckets, 1 to 2^30, of 8 bytes each. RocksDB has 1 000 000.
        bucket_count: usize,
        /// Most levels of a skip list, 1 to 32 (a list does not grow beyond
        /// 12, whatever is given). RocksDB has 4.
        height: i32,
        /// One entry in so many of a level is in the level above, too: 2 to
        /// 65 536. RocksDB has 4.
        branching_factor: i32,
    },
    /// As `HashSkipList`, with linked lists that turn into skip lists at more
    /// than 256 entries: less memory for prefixes with few keys. One thread at
    /// a time inserts into a linked list.
    HashLinkList {
        /// Buckets, 1 to 2^30, of 16 bytes each. RocksDB has 50 000.
        bucket_count: usize,
    },
}

impl From<MemtableFactory> for MemtableKind {
    fn from(factory: MemtableFactory) -> Self {
        match factory {
            MemtableFactory::SkipList => MemtableKind::SkipList,
            MemtableFactory::Art => MemtableKind::Art,
            MemtableFactory::Vector => MemtableKind::Vector,
            MemtableFactory::HashSkipList {
                bucket_count,
                height,
                branching_factor,
            } => MemtableKind::HashSkipList {
                bucket_count,
                height,
                branching_factor,
            },
            MemtableFactory::HashLinkList { bucket_count } => {
                MemtableKind::HashLinkList { bucket_count }
            }
        }
    }
}

/// What recovery does about damaged logs. RocksDB's numbers.
#[derive(Debug, Copy, Clone, PartialEq, Eq)]
pub enum DBRecoveryMode {
    /// An unfinished record at the end is dropped; other damage is an error.
    ///
    /// Many writers fill a log side by side, so a process that dies leaves
    /// holes, with records behind them that were not acknowledged: in the last
    /// log that holds writes, a hole is the end. Zeros that a device returns
    /// instead of a record look the same.
    TolerateCorruptedTailRecords = 0,
    /// Any damage is an error, an unfinished record at the end too.
    AbsoluteConsistency = 1,
    /// Everything before the first damage is kept. The default.
    PointInTime = 2,
    /// Damaged records are skipped and all others kept, without regard to
    /// consistency; for salvage.
    SkipAnyCorruptedRecord = 3,
}

/// How records get into the write-ahead log.
#[derive(Debug, Copy, Clone, PartialEq, Eq, Hash, Default)]
#[non_exhaustive]
pub enum WalAccess {
    /// By a shared mapping of the log file where the file system allows it and
    /// a full disk cannot turn into a signal, by positioned writes elsewhere.
    /// Found out at open. The default.
    #[default]
    Auto,
    /// By a shared mapping: no system call per write. Opening fails with
    /// `NotSupported` where the file system refuses.
    Mapped,
    /// By one `pwrite` call per write.
    Positioned,
}

impl From<WalAccess> for SharedAccess {
    fn from(access: WalAccess) -> Self {
        match access {
            WalAccess::Auto => SharedAccess::Auto,
            WalAccess::Mapped => SharedAccess::Mapped,
            WalAccess::Positioned => SharedAccess::Positioned,
        }
    }
}

impl From<DBRecoveryMode> for RecoveryMode {
    fn from(mode: DBRecoveryMode) -> Self {
        match mode {
            DBRecoveryMode::TolerateCorruptedTailRecords => {
                RecoveryMode::TolerateCorruptedTailRecords
            }
            DBRecoveryMode::AbsoluteConsistency => RecoveryMode::AbsoluteConsistency,
            DBRecoveryMode::PointInTime => RecoveryMode::PointInTime,
            DBRecoveryMode::SkipAnyCorruptedRecord => RecoveryMode::SkipAnyCorruptedRecord,
        }
    }
}

/// Whether a manual compaction rewrites the bottommost level.
#[derive(Debug, Copy, Clone, PartialEq, Eq)]
#[repr(u8)]
pub enum BottommostLevelCompaction {
    /// Never.
    Skip = 0,
    /// When there is a compaction filter. The default.
    IfHaveCompactionFilter,
    /// Always.
    Force,
    /// Always, but not the files this compaction has just made.
    ForceOptimized,
}

impl From<BottommostLevelCompaction> for Bottommost {
    fn from(level: BottommostLevelCompaction) -> Self {
        match level {
            BottommostLevelCompaction::Skip => Bottommost::Skip,
            BottommostLevelCompaction::IfHaveCompactionFilter => Bottommost::IfHaveCompactionFilter,
            BottommostLevelCompaction::Force => Bottommost::Force,
            BottommostLevelCompaction::ForceOptimized => Bottommost::ForceOptimized,
        }
    }
}
