//! Why a compaction was picked.

use std::fmt;

/// Why a compaction was picked. Some reasons affect how it is run.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum CompactionReason {
    /// Level 0 has too many files.
    LevelL0FilesNum,
    /// A level is larger than its target.
    LevelMaxLevelSize,
    /// The newer data is too large in relation to the oldest run.
    UniversalSizeAmplification,
    /// Neighbouring sorted runs are of similar size.
    UniversalSizeRatio,
    /// There are too many sorted runs.
    UniversalSortedRunNum,
    /// All files together are too large.
    FifoMaxSize,
    /// Small files are merged to reduce their number.
    FifoReduceNumFiles,
    /// Files are older than their age limit, and are deleted.
    FifoTtl,
    /// A caller requested it.
    ManualCompaction,
    /// A caller requested a move to another level.
    ChangeLevel,
    /// Files were marked for compaction, for example because of the deletions in them.
    FilesMarkedForCompaction,
    /// Files of the last level hold entries that were kept only for snapshots that are gone.
    BottommostFiles,
    /// The data of files is older than its age limit.
    Ttl,
    /// Files have not been rewritten for a long time.
    PeriodicCompaction,
    /// Too much of the oldest blob files is garbage.
    ForcedBlobGc,
    /// Too many reads looked into files in vain.
    ReadTriggered,
}

impl CompactionReason {
    /// RocksDB's name of the reason, which listeners, LOG and properties show.
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
            CompactionReason::ForcedBlobGc => "ForcedBlobGC",
            CompactionReason::ReadTriggered => "ReadTriggered",
        }
    }
}

impl fmt::Display for CompactionReason {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}
