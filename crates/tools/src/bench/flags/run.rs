//! What to run: benchmarks, counts, configurations.

/// Passes these rows, after the rows so far, to the next group.
macro_rules! run {
    ([$($before:tt)*] $next:ident $($rest:ident)*) => {
        $next! { [
            $($before)*
            "What to run" {
                benchmarks: String = DEFAULT_BENCHMARKS,
                    "A comma-separated list of benchmarks that run in this order; each may have a suffix, see below.";
                engine: String = "whitewater",
                    "The engine to drive: whitewater, rocksdb, or both in turn. The latter two need the cargo feature peer-rocksdb. (Not a RocksDB flag.)";
                db: String = "",
                    "The directory of the database. Its content is destroyed first unless use_existing_db is set. Empty: $TEST_TMPDIR/dbbench, or else a temporary directory that is removed at the end.";
                use_existing_db: bool = false,
                    "Use the database that is in the directory. Benchmarks that need a fresh one (fill*) are skipped.";
                num: i64 = 1_000_000,
                    "The number of keys, and of operations of each thread.";
                reads: i64 = -1,
                    "The number of reads of each thread; negative: num.";
                writes: i64 = -1,
                    "The number of writes of each thread; negative: num.";
                deletes: i64 = -1,
                    "The number of deletions of each thread; negative: num.";
                threads: i32 = 1,
                    "The number of threads that run the benchmark concurrently.";
                duration: i32 = 0,
                    "The time in seconds that each random benchmark runs for; it overrides the counts above. 0: run the counts.";
                ops_between_duration_checks: i32 = 1000,
                    "The number of operations after which a thread checks the clock when duration is set.";
                seed: i64 = 0,
                    "The base of the threads' random seeds; 0: taken from the clock and printed.";
            }
            "Several configurations in one run (not RocksDB flags)" {
                sweep: String = "",
                    "Run everything with each of these values of a flag: flag=a|b|c. The flag threads also takes a list directly: --threads=1,2,4.";
                compare: String = "",
                    "Run everything in each of these configurations: flag=a|b, or several flags in each, flag=a,other=b|flag=c,other=d. The word default stands for no change. Ratios are relative to the first.";
                rounds: i32 = 1,
                    "The number of times that a sweep or comparison is repeated, each time in the opposite order; results are medians.";
            }
        ] $($rest)* }
    };
}

pub(super) use run;
