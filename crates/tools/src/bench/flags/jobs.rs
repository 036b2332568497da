//! Threads of flushes and compactions, and their rate.

/// Passes these rows, after the rows so far, to the next group.
macro_rules! jobs {
    ([$($before:tt)*] $next:ident $($rest:ident)*) => {
        $next! { [
            $($before)*
            "Background work" {
                max_background_jobs: i32 = 2, "The number of concurrent flushes and compactions.";
                max_background_flushes: i32 = -1, "The number of concurrent flushes; -1: derived from max_background_jobs.";
                max_background_compactions: i32 = -1, "The number of concurrent compactions; -1: derived from max_background_jobs.";
                background_nice: i32 = if cfg!(target_os = "linux") { 5 } else { 0 }, "How much the niceness of background threads exceeds that of this process; 0 to 19.";
                subcompactions: u64 = 1u64, "The largest number of threads of one compaction.";
                compaction_readahead_size: u64 = 2u64 << 20, "The number of bytes that compactions read at a time from each table; 0: the table iterators decide. (RocksDB 7.8 has 0, later versions have this.)";
                rate_limiter_bytes_per_sec: u64 = 0u64, "The limit in bytes per second for the writes of flushes and compactions; 0: no limit.";
                rate_limiter_refill_period_us: i64 = 100_000, "The interval in microseconds at which the rate limiter refills.";
                rate_limiter_auto_tuned: bool = false, "Let the rate limiter follow the demand, between a twentieth of its limit and the limit.";
            }
        ] $($rest)* }
    };
}

pub(super) use jobs;
