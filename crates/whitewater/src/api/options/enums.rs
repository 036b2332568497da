//! Enums of options.

use crate::db::Bottommost;
use crate::options::compaction;
use crate::options::memtable_kind::MemtableKind;
use whitewater_storage::fs::SharedAccess;
use whitewater_storage::sst::{CompressionType, IndexType};
use whitewater_storage::wal::RecoveryMode;

pub use crate::options::blobs::PrepopulateBlobCache;
pub use whitewater_storage::checksum::ChecksumType;
pub use whitewater_storage::sst::PinningTier as BlockBasedTablePinningTier;
pub use whitewater_storage::sst::{DataBlockIndexType, PrepopulateBlockCache};

/// How a table finds the data block of a key.
///
/// All of them are searched in a binary way here; they differ in what is
/// written, kept in memory, and usable by RocksDB.
#[derive(Debug, Copy, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub enum BlockBasedIndexType {
    /// One index block, kept in memory. The default.
    BinarySearch,
    /// The same, and blocks that tell which data blocks hold which prefix.
    /// Refused at open without a
    /// [prefix extractor](crate::Options::set_prefix_extractor). A table with
    /// a key that has no prefix is written as `BinarySearch`, and its
    /// properties say so. This engine writes the prefixes for RocksDB and
    /// makes no use of them itself.
    HashSearch,
    /// Index blocks of about
    /// [`metadata_block_size`](crate::BlockBasedOptions::set_metadata_block_size)
    /// bytes, which go through the block cache, under one that is kept in
    /// memory: for large tables.
    TwoLevelIndexSearch,
    /// One index block with the first key of each data block in it, with
    /// which RocksDB puts off reading blocks; larger. This engine writes the
    /// keys and makes no use of them itself. The `rocksdb` crate has it only
    /// as the text `index_type=kBinarySearchWithFirstKey`.
    BinarySearchWithFirstKey,
}

impl From<BlockBasedIndexType> for IndexType {
    fn from(index_type: BlockBasedIndexType) -> Self {
        match index_type {
            BlockBasedIndexType::BinarySearch => IndexType::BinarySearch,
            BlockBasedIndexType::HashSearch => IndexType::HashSearch,
            BlockBasedIndexType::TwoLevelIndexSearch => IndexType::TwoLevelIndexSearch,
            BlockBasedIndexType::BinarySearchWithFirstKey => IndexType::BinarySearchWithFirstKey,
        }
    }
}

/// Compression of tables. RocksDB's numbers.
///
/// Each needs the cargo feature of its name (`snappy`, `zlib`, `bzip2`, `lz4` for
/// both LZ4s, `zstd`); all are on by default. Without it, options that name the
/// codec are refused at open as `NotSupported`, and so is reading what it wrote.
#[derive(Debug, Copy, Clone, PartialEq, Eq)]
#[cfg_attr(feature = "serde1", derive(serde::Serialize, serde::Deserialize))]
pub enum DBCompressionType {
    /// Not compressed.
    None = 0,
    /// Snappy.
    Snappy = 1,
    /// zlib.
    Zlib = 2,
    /// bzip2. Slow both ways.
    Bz2 = 3,
    /// LZ4.
    Lz4 = 4,
    /// LZ4, written with more effort and read as fast.
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

/// How the tables of a column family are organized. RocksDB's numbers.
#[derive(Debug, Copy, Clone, PartialEq, Eq)]
#[cfg_attr(feature = "serde1", derive(serde::Serialize, serde::Deserialize))]
pub enum DBCompactionStyle {
    /// Levels of growing size: least space, cheapest reads. The default.
    Level = 0,
    /// Sorted runs that are merged by age: writes are rewritten less often, at
    /// the price of space and reads. See
    /// [`UniversalCompactOptions`](crate::UniversalCompactOptions).
    Universal = 1,
    /// Nothing is merged: the oldest tables are deleted, with all that is in
    /// them, when there is too much. For data that may go, such as caches and
    /// logs. See [`FifoCompactOptions`](crate::FifoCompactOptions).
    Fifo = 2,
}

impl From<DBCompactionStyle> for compaction::CompactionStyle {
    fn from(style: DBCompactionStyle) -> Self {
        match style {
            DBCompactionStyle::Level => compaction::CompactionStyle::Level,
            DBCompactionStyle::Universal => compaction::CompactionStyle::Universal,
            DBCompactionStyle::Fifo => compaction::CompactionStyle::Fifo,
        }
    }
}

/// Which table of a level is compacted first, with levels of growing size.
/// RocksDB's numbers.
#[derive(Debug, Copy, Clone, PartialEq, Eq)]
#[repr(i32)]
pub enum CompactionPri {
    /// The largest, deletions counting for more.
    ByCompensatedSize = 0,
    /// The one whose newest entry is oldest: for updates of a few hot keys.
    OldestLargestSeqFirst = 1,
    /// The one whose oldest entry is oldest: for updates all over the keys.
    OldestSmallestSeqFirst = 2,
    /// The one that overlaps least of the next level, for its size. The default.
    MinOverlappingRatio = 3,
    /// One after the other, in the order of keys.
    RoundRobin = 4,
}

impl From<CompactionPri> for compaction::CompactionPri {
    fn from(pri: CompactionPri) -> Self {
        use compaction::CompactionPri as To;
        match pri {
            CompactionPri::ByCompensatedSize => To::ByCompensatedSize,
            CompactionPri::OldestLargestSeqFirst => To::OldestLargestSeqFirst,
            CompactionPri::OldestSmallestSeqFirst => To::OldestSmallestSeqFirst,
            CompactionPri::MinOverlappingRatio => To::MinOverlappingRatio,
            CompactionPri::RoundRobin => To::RoundRobin,
        }
    }
}

/// What universal compaction compares the size of the next sorted run with.
/// RocksDB's numbers.
#[derive(Debug, Copy, Clone, PartialEq, Eq)]
#[cfg_attr(feature = "serde1", derive(serde::Serialize, serde::Deserialize))]
pub enum UniversalCompactionStopStyle {
    /// The run picked last; neither may be much larger than the other.
    Similar = 0,
    /// All runs picked so far. The default.
    Total = 1,
}

impl From<UniversalCompactionStopStyle> for compaction::StopStyle {
    fn from(style: UniversalCompactionStopStyle) -> Self {
        match style {
            UniversalCompactionStopStyle::Similar => compaction::StopStyle::SimilarSize,
            UniversalCompactionStopStyle::Total => compaction::StopStyle::TotalSize,
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
    /// Becomes `SkipList` without a
    /// [prefix extractor](crate::Options::set_prefix_extractor), as in RocksDB.
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
#[cfg_attr(feature = "serde1", derive(serde::Serialize, serde::Deserialize))]
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
    /// Found out at open. The default. On Linux, ext4 and tmpfs allow it; a file
    /// system on which files share space with copies of them (btrfs, XFS, ZFS)
    /// does not, nor does one that may be on top of such a one (overlay).
    #[default]
    Auto,
    /// By a shared mapping: no system call per write. Opening fails with
    /// `NotSupported` where [`WalAccess::Auto`] would not use one.
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
#[cfg_attr(feature = "serde1", derive(serde::Serialize, serde::Deserialize))]
#[repr(u8)]
pub enum BottommostLevelCompaction {
    /// Never.
    Skip = 0,
    /// When there is a compaction filter, but not the files this compaction has
    /// just made. The default.
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
