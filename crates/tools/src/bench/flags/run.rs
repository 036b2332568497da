//! What to run: benchmarks, counts, configurations.

/// Hands the rows so far and these to the next group.
macro_rules! run {
    ([$($before:tt)*] $next:ident $($rest:ident)*) => {
        $next! { [
            $($before)*
            "What to run" {
                benchmarks: String = DEFAULT_BENCHMARKS,
                    "Comma-separated benchmarks, run in this order; each may carry a suffix, see below.";
                engine: String = "whitewater",
                    "Engine to drive: whitewater, rocksdb, or both in turn. The latter two need the cargo feature peer-rocksdb. (Not a RocksDB flag.)";
                db: String = "",
                    "Directory of the database; what is there is destroyed first unless use_existing_db is set. Empty: $TEST_TMPDIR/dbbench, else a temporary directory that is removed at the end.";
                use_existing_db: bool = false,
                    "Keep the database that is in the directory; benchmarks that want a fresh one (fill*) are skipped.";
                num: i64 = 1_000_000,
                    "Number of keys, and of operations of each thread.";
                reads: i64 = -1,
                    "Reads of each thread; negative: num.";
                writes: i64 = -1,
                    "Writes of each thread; negative: num.";
                deletes: i64 = -1,
                    "Deletes of each thread; negative: num.";
                threads: i32 = 1,
                    "Threads that run the benchmark at the same time.";
                duration: i32 = 0,
                    "Seconds to run each random benchmark for; overrides the counts above. 0: run the counts.";
                ops_between_duration_checks: i32 = 1000,
                    "Operations of a thread between two looks at the clock when duration is set.";
                seed: i64 = 0,
                    "Base of the threads' random seeds; 0: taken from the clock and printed.";
            }
            "Several configurations in one run (not flags of RocksDB's)" {
                sweep: String = "",
                    "Run everything with each of these values of a flag: flag=a|b|c. The flag threads takes them directly, too: --threads=1,2,4.";
                compare: String = "",
                    "Run everything in each of these configurations: flag=a|b, or several flags each, flag=a,other=b|flag=c,other=d; the word default stands for no change. Ratios are to the first.";
                rounds: i32 = 1,
                    "Times that a sweep or comparison is gone through, each time in the opposite order; results are medians.";
            }
        ] $($rest)* }
    };
}

pub(super) use run;
