//! What is measured and reported.

/// Hands the rows so far and these to the next group.
macro_rules! report {
    ([$($before:tt)*] $next:ident $($rest:ident)*) => {
        $next! { [
            $($before)*
            "What to report" {
                histogram: bool = false, "Time every operation and print the distribution.";
                statistics: bool = false, "Collect the engine's statistics and print them at the end.";
                stats_level: i32 = 3,
                    "What statistics collect: 0 nothing, 1 tickers, 2 sizes too, 3 times of calls too, 4 and 5 times of the steps of calls too.";
                perf_level: i32 = 1,
                    "What threads measure of their own calls, printed after each benchmark: 1 nothing, 2 counts, 4 and 5 times but for mutexes, 6 everything.";
                contention: bool = false,
                    "After each write benchmark, print atomic read-modify-writes (in a build with count-rmw), context switches, futex calls and calls for the log, per operation. Collects tickers. (Not a RocksDB flag.)";
                confidence_interval_only: bool = false,
                    "With a repeat suffix, print only 95% confidence intervals after each run.";
                stats_interval: i64 = 0,
                    "Operations of a thread between two progress lines on standard error. 0: none.";
                stats_interval_seconds: i64 = 0,
                    "Seconds between two progress lines of a thread; overrides stats_interval. 0: none.";
                report_interval_seconds: i64 = 0,
                    "Seconds between two lines of operations per second in report_file. 0: no file.";
                report_file: String = "report.csv", "File for report_interval_seconds.";
                progress_reports: bool = true,
                    "Show a progress bar if standard error is a terminal.";
                json_file: String = "", "File for the results as JSON; empty: none. Also --json. (Not a RocksDB flag.)";
                html_file: String = "",
                    "File for the results as a page with charts; empty: none. Also --html. With --histogram it has latencies. (Not a RocksDB flag.)";
                perf_counters: bool = false,
                    "After each benchmark, print the process's CPU time, context switches and page faults per operation. (Not a RocksDB flag.)";
                report_open_timing: bool = false, "Print how long opening the database took.";
                stats_per_interval: i32 = 0, "Above 0: print the engine's statistics beside the progress lines of the first thread (stats_interval).";
                show_table_properties: bool = false, "With them, print the properties of each level's tables.";
                stats_dump_period_sec: u64 = 600u64, "Seconds between two times that the database writes its statistics to its log; 0: never.";
                use_stderr_info_logger: bool = false, "Write the database's log to standard error.";
            }
        ] $($rest)* }
    };
}

pub(super) use report;
