//! Flags that tune RocksDB's own internals. This engine stores these options but does
//! not need them; its documentation of each option says why.

/// Passes these rows, after the rows so far, to the next group.
macro_rules! hints {
    ([$($before:tt)*] $next:ident $($rest:ident)*) => {
        $next! { [
            $($before)*
            "Hints, without effect on this engine" {
                delete_obsolete_files_period_micros: u64 = 0u64, "The time in microseconds between two searches for obsolete files; 0: the engine's default. RocksDB's program ignores it.";
                use_fsync: bool = false, "Sync files with fsync instead of fdatasync.";
                use_adaptive_mutex: bool = false, "Let mutexes spin before they sleep.";
                table_cache_numshardbits: i32 = 4, "The logarithm of the number of shards of the table cache.";
                file_opening_threads: i32 = 16, "The number of threads that open tables when the database is opened.";
                writable_file_max_buffer_size: i32 = 1 << 20, "The size of the write buffer of a file in bytes.";
                bloom_locality: i32 = 0, "Above 0: keep the bits of a key close together in the filters of memtables.";
                max_write_buffer_size_to_maintain: i64 = 0, "The size in bytes of memtables, including flushed ones, that are kept in memory.";
                stats_persist_period_sec: u64 = 600u64, "The time in seconds after which statistics are persisted.";
            }
        ] $($rest)* }
    };
}

pub(super) use hints;
