//! The metrics, by RocksDB's names and numbers.

use super::PerfStatsLevel;

macro_rules! metrics {
    ($($(#[doc = $doc:literal])* $name:ident = $number:literal $text:literal,)*) => {
        /// A metric of a thread.
        #[derive(Debug, Copy, Clone, PartialEq, Eq, Hash)]
        #[non_exhaustive]
        #[repr(i32)]
        pub enum PerfMetric {
            $($(#[doc = $doc])* $name = $number,)*
            /// Number of metrics; not a metric.
            TotalMetricCount = 68,
        }

        impl PerfMetric {
            /// Every metric with its name in reports, by number.
            pub const ALL: [(PerfMetric, &'static str); 68] = [$((PerfMetric::$name, $text),)*];
        }
    };
}

metrics! {
    /// Comparisons of user keys. Always 0: memtables and tables do not count them.
    UserKeyComparisonCount = 0 "user_key_comparison_count",
    /// Blocks found in the block cache.
    BlockCacheHitCount = 1 "block_cache_hit_count",
    /// Reads of table files for blocks; one read-ahead brings several blocks.
    BlockReadCount = 2 "block_read_count",
    /// Bytes of these reads.
    BlockReadByte = 3 "block_read_byte",
    /// Time of these reads. Nanoseconds.
    BlockReadTime = 4 "block_read_time",
    /// Time of checking checksums of blocks. Nanoseconds.
    BlockChecksumTime = 5 "block_checksum_time",
    /// Time of decompressing blocks. Nanoseconds.
    BlockDecompressTime = 6 "block_decompress_time",
    /// Bytes of values that look-ups of one key returned.
    GetReadBytes = 7 "get_read_bytes",
    /// Bytes of values that look-ups of many keys returned.
    MultigetReadBytes = 8 "multiget_read_bytes",
    /// Bytes of keys and values at the positions of iterators.
    IterReadBytes = 9 "iter_read_bytes",
    /// Entries that iterators skipped because a newer entry of the same key hides them or deleted
    /// the key. Those that are skipped at once in a memtable do not count.
    InternalKeySkippedCount = 10 "internal_key_skipped_count",
    /// Keys that iterators skipped because their newest visible entry deletes them.
    InternalDeleteSkippedCount = 11 "internal_delete_skipped_count",
    /// Entries that iterators skipped because they are newer than the iterator's snapshot.
    InternalRecentSkippedCount = 12 "internal_recent_skipped_count",
    /// Merge operands that reads applied.
    InternalMergeCount = 13 "internal_merge_count",
    /// Time in which lookups chose their snapshot. Nanoseconds.
    GetSnapshotTime = 14 "get_snapshot_time",
    /// Time of look-ups in memtables. Nanoseconds.
    GetFromMemtableTime = 15 "get_from_memtable_time",
    /// Memtables that lookups searched.
    GetFromMemtableCount = 16 "get_from_memtable_count",
    /// Time of lookups after the answer was found, including merges. Nanoseconds.
    GetPostProcessTime = 17 "get_post_process_time",
    /// Time of look-ups in tables. Nanoseconds.
    GetFromOutputFilesTime = 18 "get_from_output_files_time",
    /// Time of iterators' seeks in memtables. Nanoseconds.
    SeekOnMemtableTime = 19 "seek_on_memtable_time",
    /// Seeks of iterators in memtables.
    SeekOnMemtableCount = 20 "seek_on_memtable_count",
    /// Steps forward of iterators in memtables.
    NextOnMemtableCount = 21 "next_on_memtable_count",
    /// Steps backward of iterators in memtables.
    PrevOnMemtableCount = 22 "prev_on_memtable_count",
    /// Time of the seeks in the sources that an iterator merges. Nanoseconds.
    SeekChildSeekTime = 23 "seek_child_seek_time",
    /// Seeks in the sources that an iterator merges; an iterator with one source merges nothing.
    SeekChildSeekCount = 24 "seek_child_seek_count",
    /// Time of ordering the sources after a seek, to go forward. Nanoseconds.
    SeekMinHeapTime = 25 "seek_min_heap_time",
    /// Time of ordering the sources after a seek, to go backward. Nanoseconds.
    SeekMaxHeapTime = 26 "seek_max_heap_time",
    /// Time of iterators' seeks in all their sources. Nanoseconds.
    SeekInternalSeekTime = 27 "seek_internal_seek_time",
    /// Time in which iterators looked for the next key to show, a step of the source included.
    FindNextUserEntryTime = 28 "find_next_user_entry_time",
    /// Time of writing the log, of the thread that did it. Nanoseconds.
    WriteWalTime = 29 "write_wal_time",
    /// Time of inserting into memtables, of the thread that did it. Nanoseconds.
    WriteMemtableTime = 30 "write_memtable_time",
    /// Time that writes waited for background work. Nanoseconds.
    WriteDelayTime = 31 "write_delay_time",
    /// Time of writes outside of the steps above, waits for other writers included. Nanoseconds.
    WritePreAndPostProcessTime = 32 "write_pre_and_post_process_time",
    /// Time of waiting for the database mutex; only with
    /// [`EnableTime`](super::PerfStatsLevel::EnableTime). Nanoseconds.
    DbMutexLockNanos = 33 "db_mutex_lock_nanos",
    /// Time of waiting for background jobs to end; only with
    /// [`EnableTime`](super::PerfStatsLevel::EnableTime). Nanoseconds.
    DbConditionWaitNanos = 34 "db_condition_wait_nanos",
    /// Time in the merge operator. Nanoseconds.
    MergeOperatorTimeNanos = 35 "merge_operator_time_nanos",
    /// Time of getting partitions of indexes, from the cache or the file. Nanoseconds.
    ReadIndexBlockNanos = 36 "read_index_block_nanos",
    /// Time of getting partitions of filters, from the cache or the file. Nanoseconds.
    ReadFilterBlockNanos = 37 "read_filter_block_nanos",
    /// Time of getting data blocks, from the cache or the file. Nanoseconds.
    NewTableBlockIterNanos = 38 "new_table_block_iter_nanos",
    /// Time of making cursors over tables. Nanoseconds.
    NewTableIteratorNanos = 39 "new_table_iterator_nanos",
    /// Time of seeks within data blocks. Nanoseconds.
    BlockSeekNanos = 40 "block_seek_nanos",
    /// Time of finding open tables, or opening them. Nanoseconds.
    FindTableNanos = 41 "find_table_nanos",
    /// Memtables whose filter said that they may have the key.
    BloomMemtableHitCount = 42 "bloom_memtable_hit_count",
    /// Memtables that were not searched because of their filter.
    BloomMemtableMissCount = 43 "bloom_memtable_miss_count",
    /// Tables whose filter said that they may have the key.
    BloomSstHitCount = 44 "bloom_sst_hit_count",
    /// Tables that were not searched because of their filter.
    BloomSstMissCount = 45 "bloom_sst_miss_count",
    /// Time of waits for locks of keys. Nanoseconds.
    KeyLockWaitTime = 46 "key_lock_wait_time",
    /// Waits for locks of keys.
    KeyLockWaitCount = 47 "key_lock_wait_count",
    /// Always 0: calls of the file system are not timed.
    EnvNewSequentialFileNanos = 48 "env_new_sequential_file_nanos",
    /// Always 0: calls of the file system are not timed.
    EnvNewRandomAccessFileNanos = 49 "env_new_random_access_file_nanos",
    /// Always 0: calls of the file system are not timed.
    EnvNewWritableFileNanos = 50 "env_new_writable_file_nanos",
    /// Always 0: calls of the file system are not timed.
    EnvReuseWritableFileNanos = 51 "env_reuse_writable_file_nanos",
    /// Always 0: calls of the file system are not timed.
    EnvNewRandomRwFileNanos = 52 "env_new_random_rw_file_nanos",
    /// Always 0: calls of the file system are not timed.
    EnvNewDirectoryNanos = 53 "env_new_directory_nanos",
    /// Always 0: calls of the file system are not timed.
    EnvFileExistsNanos = 54 "env_file_exists_nanos",
    /// Always 0: calls of the file system are not timed.
    EnvGetChildrenNanos = 55 "env_get_children_nanos",
    /// Always 0: calls of the file system are not timed.
    EnvGetChildrenFileAttributesNanos = 56 "env_get_children_file_attributes_nanos",
    /// Always 0: calls of the file system are not timed.
    EnvDeleteFileNanos = 57 "env_delete_file_nanos",
    /// Always 0: calls of the file system are not timed.
    EnvCreateDirNanos = 58 "env_create_dir_nanos",
    /// Always 0: calls of the file system are not timed.
    EnvCreateDirIfMissingNanos = 59 "env_create_dir_if_missing_nanos",
    /// Always 0: calls of the file system are not timed.
    EnvDeleteDirNanos = 60 "env_delete_dir_nanos",
    /// Always 0: calls of the file system are not timed.
    EnvGetFileSizeNanos = 61 "env_get_file_size_nanos",
    /// Always 0: calls of the file system are not timed.
    EnvGetFileModificationTimeNanos = 62 "env_get_file_modification_time_nanos",
    /// Always 0: calls of the file system are not timed.
    EnvRenameFileNanos = 63 "env_rename_file_nanos",
    /// Always 0: calls of the file system are not timed.
    EnvLinkFileNanos = 64 "env_link_file_nanos",
    /// Always 0: calls of the file system are not timed.
    EnvLockFileNanos = 65 "env_lock_file_nanos",
    /// Always 0: calls of the file system are not timed.
    EnvUnlockFileNanos = 66 "env_unlock_file_nanos",
    /// Always 0: calls of the file system are not timed.
    EnvNewLoggerNanos = 67 "env_new_logger_nanos",
}

impl PerfMetric {
    /// The lowest level that measures the time of this metric.
    #[inline]
    pub(super) const fn level(self) -> PerfStatsLevel {
        match self {
            PerfMetric::DbMutexLockNanos | PerfMetric::DbConditionWaitNanos => {
                PerfStatsLevel::EnableTime
            }
            _ => PerfStatsLevel::EnableTimeExceptForMutex,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_places_in_the_list() {
        for (place, (metric, name)) in PerfMetric::ALL.iter().enumerate() {
            assert_eq!(*metric as usize, place, "{name}");
        }
        assert_eq!(PerfMetric::ALL.len(), PerfMetric::TotalMetricCount as usize);
    }
}
