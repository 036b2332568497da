//! Enums of options.

use crate::db::Bottommost;
use crate::memtable::MemtableKind;
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
}

impl From<MemtableFactory> for MemtableKind {
    fn from(factory: MemtableFactory) -> Self {
        match factory {
            MemtableFactory::SkipList => MemtableKind::SkipList,
            MemtableFactory::Art => MemtableKind::Art,
        }
    }
}

/// What recovery does about damaged logs. RocksDB's numbers.
#[derive(Debug, Copy, Clone, PartialEq, Eq)]
pub enum DBRecoveryMode {
    /// An unfinished record at the end is dropped; other damage is an error.
    TolerateCorruptedTailRecords = 0,
    /// Any damage is an error, an unfinished record at the end too.
    AbsoluteConsistency = 1,
    /// Everything before the first damage is kept. The default.
    PointInTime = 2,
    /// Damaged records are skipped and all others kept, without regard to
    /// consistency; for salvage.
    SkipAnyCorruptedRecord = 3,
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
