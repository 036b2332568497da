//! How files are read and written, and the log.

/// Passes these rows, after the rows so far, to the next group.
macro_rules! files {
    ([$($before:tt)*] $next:ident $($rest:ident)*) => {
        $next! { [
            $($before)*
            "Files and the log" {
                readahead_size: i32 = 0, "The number of bytes that iterators read ahead; 0: the table iterators decide.";
                async_io: bool = false, "Have blocks read for iterators in the background.";
                open_files: i32 = -1, "The number of table files that are kept open; -1: all.";
                paranoid_checks: bool = true, "Check more, and stop writes after a failed background job.";
                max_total_wal_size: u64 = 0u64, "The size of all live logs together in bytes at which memtables are flushed; 0: four times the write buffers.";
                wal_dir: String = "", "The directory of the log files; empty: the database's.";
                wal_ttl_seconds: u64 = 0u64, "The age in seconds at which archived logs are deleted; 0: no limit.";
                wal_size_limit_mb: u64 = 0u64, "The size of the archived logs in MiB at which old ones are deleted; 0: no limit. RocksDB's wal_size_limit_MB.";
                manual_wal_flush: bool = false, "Keep log records in memory until they are flushed explicitly.";
                wal_bytes_per_sync: u64 = 0u64, "The number of log bytes after which the system is asked to write them back; 0: never.";
                wal_compression: String = "none", "The compression of log records: none or zstd.";
                track_and_verify_wals_in_manifest: bool = false, "Record synced logs in the manifest and check them when the database is opened.";
                bytes_per_sync: u64 = 0u64, "The number of table bytes after which the system is asked to write them back; 0: never.";
                advise_random_on_open: bool = true, "Tell the system that tables are read in no order, so that it reads nothing ahead by itself.";
                use_direct_reads: bool = false, "Read tables with direct I/O, bypassing the page cache.";
                use_direct_io_for_flush_and_compaction: bool = false, "Write tables with direct I/O, bypassing the page cache.";
            }
        ] $($rest)* }
    };
}

pub(super) use files;
