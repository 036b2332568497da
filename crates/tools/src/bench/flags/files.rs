//! How files are read and written, and the log.

/// Hands the rows so far and these to the next group.
macro_rules! files {
    ([$($before:tt)*] $next:ident $($rest:ident)*) => {
        $next! { [
            $($before)*
            "Files and the log" {
                readahead_size: i32 = 0, "Bytes that iterators read ahead; 0: as the tables decide.";
                open_files: i32 = -1, "Table files kept open; -1: all.";
                paranoid_checks: bool = true, "Check more, and stop writes after a failed background job.";
                max_total_wal_size: u64 = 0u64, "Bytes of all live logs together at which memtables are flushed; 0: four times the write buffers.";
                wal_dir: String = "", "Directory of the log files; empty: the database's.";
                wal_ttl_seconds: u64 = 0u64, "Age in seconds at which archived logs are deleted; 0: no limit.";
                wal_size_limit_mb: u64 = 0u64, "Size in MiB of the archived logs at which old ones are deleted; 0: no limit. RocksDB's wal_size_limit_MB.";
                manual_wal_flush: bool = false, "Keep log records in memory until something flushes them.";
                wal_bytes_per_sync: u64 = 0u64, "Log bytes after which the system is asked to write them back; 0: never.";
                wal_compression: String = "none", "Compression of log records: none or zstd.";
                track_and_verify_wals_in_manifest: bool = false, "Record synced logs in the manifest, and check them at open.";
                bytes_per_sync: u64 = 0u64, "Bytes of a table after which the system is asked to write them back; 0: never.";
                use_direct_reads: bool = false, "Read tables past the system's page cache.";
                use_direct_io_for_flush_and_compaction: bool = false, "Write tables past the system's page cache.";
            }
        ] $($rest)* }
    };
}

pub(super) use files;
