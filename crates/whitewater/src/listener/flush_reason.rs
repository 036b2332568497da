//! Why memtables are flushed.

/// Why memtables are flushed, with RocksDB's names and numbers: `FlushReason::WalFull as u32` is
/// what RocksDB's C interface returns. Reasons that this engine never has are left out.
///
/// If there are several reasons, the first stands, as in RocksDB.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[non_exhaustive]
#[repr(u32)]
pub enum FlushReason {
    /// A checkpoint, a backup or a list of live files, which copies tables instead of long logs.
    GetLiveFiles = 0x01,
    /// The database closes, and there are writes that bypassed the log.
    ShutDown = 0x02,
    /// An ingestion of tables, which stops writes to the column family.
    ExternalFileIngestion = 0x03,
    /// [`DB::compact_range`](crate::DB::compact_range) or one of its variants.
    ManualCompaction = 0x04,
    /// The memtables of all databases of a
    /// [`WriteBufferManager`](crate::WriteBufferManager) take too much memory.
    WriteBufferManager = 0x05,
    /// The memtable has reached
    /// [`write_buffer_size`](crate::Options::set_write_buffer_size).
    WriteBufferFull = 0x06,
    /// Reads look into the memtable in vain so often that it is flushed, and compacted with tables
    /// ([`set_read_triggered_compaction_threshold`][option]).
    ///
    /// [option]: crate::Options::set_read_triggered_compaction_threshold
    AutoCompaction = 0x09,
    /// The program called [`DB::flush`](crate::DB::flush), or a method that flushes first.
    ManualFlush = 0x0a,
    /// [`DB::resume`](crate::DB::resume), or the database itself, ends a failure that stopped
    /// writes.
    ErrorRecovery = 0x0b,
    /// The flush before has failed.
    ErrorRecoveryRetryFlush = 0x0c,
    /// The logs have reached
    /// [`max_total_wal_size`](crate::Options::set_max_total_wal_size), and the memtables keep
    /// the oldest of them.
    WalFull = 0x0d,
    /// The memtable has as many range deletions as the option `memtable_max_range_deletions`
    /// allows.
    MemtableMaxRangeDeletions = 0x0f,
}

impl FlushReason {
    /// RocksDB's text for the reason, as in the `LOG`: `Write Buffer Full`, `Manual Flush`, ...
    pub const fn as_str(self) -> &'static str {
        match self {
            FlushReason::GetLiveFiles => "Get Live Files",
            FlushReason::ShutDown => "Shut down",
            FlushReason::ExternalFileIngestion => "External File Ingestion",
            FlushReason::ManualCompaction => "Manual Compaction",
            FlushReason::WriteBufferManager => "Write Buffer Manager",
            FlushReason::WriteBufferFull => "Write Buffer Full",
            FlushReason::AutoCompaction => "Auto Compaction",
            FlushReason::ManualFlush => "Manual Flush",
            FlushReason::ErrorRecovery => "Error Recovery",
            FlushReason::ErrorRecoveryRetryFlush => "Error Recovery Retry Flush",
            FlushReason::WalFull => "WAL Full",
            FlushReason::MemtableMaxRangeDeletions => "Memtable Max Range Deletions",
        }
    }

    /// Whether the memtable itself is full. Such memtables wait until there are
    /// `min_write_buffer_number_to_merge` of them, and may be purged in memory; for any other
    /// reason memtables are flushed at once.
    pub(crate) const fn is_fullness(self) -> bool {
        matches!(
            self,
            FlushReason::WriteBufferFull | FlushReason::MemtableMaxRangeDeletions
        )
    }
}
