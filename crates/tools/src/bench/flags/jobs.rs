//! Threads of flushes and compactions, and their rate.

/// Hands the rows so far and these to the next group.
macro_rules! jobs {
    ([$($before:tt)*] $next:ident $($rest:ident)*) => {
        $next! { [
            $($before)*
            "Background work" {
                max_background_jobs: i32 = 2, "Flushes and compactions at the same time.";
                max_background_flushes: i32 = -1, "Flushes at the same time; -1: from max_background_jobs.";
                max_background_compactions: i32 = -1, "Compactions at the same time; -1: from max_background_jobs.";
                background_nice: i32 = if cfg!(target_os = "linux") { 5 } else { 0 }, "Niceness of threads that flush and compact, above this process's; 0 to 19.";
                subcompactions: u64 = 1u64, "Threads of one compaction at most.";
                compaction_readahead_size: u64 = 2u64 << 20, "Bytes that compactions read at a time from each table; 0: as the tables decide. (RocksDB 7.8 has 0, later ones this.)";
                rate_limiter_bytes_per_sec: u64 = 0u64, "Bytes per second that flushes and compactions write at most; 0: no limit.";
                rate_limiter_refill_period_us: i64 = 100_000, "Microseconds for which that limit hands out bytes at a time.";
                rate_limiter_auto_tuned: bool = false, "Let that limit follow demand, from a twentieth of it up.";
            }
        ] $($rest)* }
    };
}

pub(super) use jobs;
