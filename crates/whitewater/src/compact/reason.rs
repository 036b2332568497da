//! Why a compaction was picked.

use std::fmt;

/// Why a compaction was picked. Some of it decides how it is run.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum CompactionReason {
    /// Level 0 has too many files.
    LevelL0FilesNum,
    /// A level is larger than its target.
    LevelMaxLevelSize,
    /// Deeper data comes to too small a part of all.
    UniversalSizeAmplification,
    /// Neighbouring sorted runs are of similar size.
    UniversalSizeRatio,
    /// There are too many sorted runs.
    UniversalSortedRunNum,
    /// All files together are too large.
    FifoMaxSize,
    /// Small files are merged.
    FifoReduceNumFiles,
    /// Files are older than their age limit, and are deleted.
    FifoTtl,
    /// A caller asked for it.
    ManualCompaction,
    /// A caller asked for another level.
    ChangeLevel,
    /// Files were marked, for the deletions in them, say.
    FilesMarkedForCompaction,
    /// Files of the last level hold what only snapshots that are gone kept.
    BottommostFiles,
    /// The data of files is older than its age limit.
    Ttl,
    /// Files have not been written anew for long.
    PeriodicCompaction,
}

impl CompactionReason {
    /// RocksDB's word for it, which listeners, LOG and properties show.
    pub fn as_str(self) -> &'static str {
        match self {
            CompactionReason::LevelL0FilesNum => "LevelL0FilesNum",
            CompactionReason::LevelMaxLevelSize => "LevelMaxLevelSize",
            CompactionReason::UniversalSizeAmplification => "UniversalSizeAmplification",
            CompactionReason::UniversalSizeRatio => "UniversalSizeRatio",
            CompactionReason::UniversalSortedRunNum => "UniversalSortedRunNum",
            CompactionReason::FifoMaxSize => "FIFOMaxSize",
            CompactionReason::FifoReduceNumFiles => "FIFOReduceNumFiles",
            CompactionReason::FifoTtl => "FIFOTtl",
            CompactionReason::ManualCompaction => "ManualCompaction",
            CompactionReason::ChangeLevel => "ChangeLevel",
            CompactionReason::FilesMarkedForCompaction => "FilesMarkedForCompaction",
            CompactionReason::BottommostFiles => "BottommostFiles",
            CompactionReason::Ttl => "Ttl",
            CompactionReason::PeriodicCompaction => "PeriodicCompaction",
        }
    }
}

impl fmt::Display for CompactionReason {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}
