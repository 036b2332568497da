//! What is measured and reported.

/// Passes these rows, after the rows so far, to the next group.
macro_rules! report {
    ([$($before:tt)*] $next:ident $($rest:ident)*) => {
        $next! { [
            $($before)*
            "What to report" {
                histogram: bool = false, "Time every operation and print the distribution.";
                statistics: bool = false, "Collect the engine's statistics and print them at the end.";
                stats_level: i32 = 3,
                    "What statistics include: 0 nothing, 1 tickers, 2 also sizes, 3 also the times of calls, 4 and 5 also the times of the steps of calls.";
                perf_level: i32 = 1,
                    "What threads measure about their own calls and print after each benchmark: 1 nothing, 2 counts, 4 and 5 also times except for mutexes, 6 everything.";
                contention: bool = false,
                    "After each benchmark that only writes or only reads, print the atomic read-modify-writes and reads' writes to shared lines (in a build with count-rmw), system calls that read, context switches, futex calls and log calls per operation. Collects tickers. (Not a RocksDB flag.)";
                confidence_interval_only: bool = false,
                    "With a repeat suffix, print only 95% confidence intervals after each run.";
                stats_interval: i64 = 0,
                    "The number of operations after which a thread prints a progress line on standard error. 0: no progress lines.";
                stats_interval_seconds: i64 = 0,
                    "The time in seconds after which a thread prints a progress line; overrides stats_interval. 0: no progress lines.";
                report_interval_seconds: i64 = 0,
                    "The time in seconds after which a line with the operations per second goes to report_file. 0: no file.";
                report_file: String = "report.csv", "The file for report_interval_seconds.";
                progress_reports: bool = true,
                    "Show a progress bar if standard error is a terminal.";
                json_file: String = "", "The file for the results as JSON; empty: none. Also --json. (Not a RocksDB flag.)";
                html_file: String = "",
                    "The file for the results as a page with charts; empty: none. With --histogram the page has latencies, by percentile and over time. Also --html. (Not a RocksDB flag.)";
                monitor: String = "",
                    "The address on which a page, JSON and metrics of the database are served while it is open, such as 127.0.0.1:9187; with port 0, standard error tells which port it is. Reads and times need --statistics. Empty: none. (Not a RocksDB flag.)";
                perf_counters: bool = false,
                    "After each benchmark, print the CPU time, context switches and page faults of the process per operation. (Not a RocksDB flag.)";
                report_open_timing: bool = false, "Print how long opening the database took.";
                stats_per_interval: i32 = 0, "Above 0: print the engine's statistics with the progress lines of the first thread (stats_interval).";
                show_table_properties: bool = false, "Also print the properties of each level's tables with those statistics.";
                stats_dump_period_sec: u64 = 600u64, "The time in seconds after which the database writes its statistics to its info log; 0: never.";
                use_stderr_info_logger: bool = false, "Write the database's info log to standard error.";
            }
        ] $($rest)* }
    };
}

pub(super) use report;
