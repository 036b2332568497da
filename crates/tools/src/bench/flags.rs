//! The flags this program honours: one table that yields the typed [`Flags`],
//! their parsing and their help.
//!
//! Names, meanings and defaults are those of RocksDB's db_bench 7.8, except
//! where a help text says otherwise. Flags that RocksDB knows and this program
//! does not honour are in [`super::known`]; the spelling of a command line
//! (dashes, `=value`, `--noflag`) is [`super::args`]' business.

use super::engine::{Failure, Result};
use super::known::{self, Known};
use super::levels;

/// What follows a flag's name on the command line.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// `--flag`, `--noflag` or `--flag=true`; never takes the next argument.
    Switch,
    /// `--flag=value` or `--flag value`.
    Value,
}

/// One row of [`TABLE`].
#[derive(Debug)]
pub struct Spec {
    /// Heading of the help under which the flag stands.
    pub section: &'static str,
    /// Name, without dashes.
    pub name: &'static str,
    /// Whether a value must follow.
    pub kind: Kind,
    /// What it does, units included.
    pub help: &'static str,
}

/// The flags of a program, as [`super::args`] reads them.
pub trait FlagSet: Default {
    /// Every flag that is honoured, in the order of the help.
    fn table() -> &'static [Spec];

    /// Sets the flag `name` from its text form.
    ///
    /// # Errors
    /// `name` is not in the table, or `text` is not a value of its type.
    fn set(&mut self, name: &str, text: &str) -> Result<()>;

    /// The flag's value as the help prints it; empty for an unknown name.
    fn text_of(&self, name: &str) -> String;

    /// Checks ranges, once all flags are set.
    ///
    /// # Errors
    /// Names the first flag whose value is out of range.
    fn validate(&self) -> Result<()>;

    /// The program whose flags these are.
    const PEER: &'static str;

    /// Flags that only that program honours.
    fn known() -> Vec<Known>;

    /// The name in the table of a flag that has another one, too.
    fn alias(_name: &str) -> Option<&'static str> {
        None
    }
}

/// A type that flags can have.
pub(crate) trait FlagValue: Sized {
    const KIND: Kind = Kind::Value;
    /// What a good value looks like, for error messages.
    const EXPECTED: &'static str;
    fn from_text(text: &str) -> Option<Self>;
    fn to_text(&self) -> String;
}

macro_rules! integer_flag_values {
    ($($ty:ty),*) => {$(
        impl FlagValue for $ty {
            const EXPECTED: &'static str = concat!("an integer (", stringify!($ty), ")");
            fn from_text(text: &str) -> Option<Self> {
                match text.strip_prefix("0x").or_else(|| text.strip_prefix("0X")) {
                    Some(hex) => <$ty>::from_str_radix(hex, 16).ok(),
                    None => text.parse().ok(),
                }
            }
            fn to_text(&self) -> String {
                self.to_string()
            }
        }
    )*};
}
integer_flag_values!(i32, i64, u64);

impl FlagValue for f64 {
    const EXPECTED: &'static str = "a number";
    fn from_text(text: &str) -> Option<Self> {
        text.parse().ok().filter(|value: &f64| value.is_finite())
    }
    fn to_text(&self) -> String {
        self.to_string()
    }
}

impl FlagValue for bool {
    const KIND: Kind = Kind::Switch;
    const EXPECTED: &'static str = "true or false (also t, f, yes, no, y, n, 1, 0)";
    fn from_text(text: &str) -> Option<Self> {
        match text.to_ascii_lowercase().as_str() {
            "true" | "t" | "yes" | "y" | "1" => Some(true),
            "false" | "f" | "no" | "n" | "0" => Some(false),
            _ => None,
        }
    }
    fn to_text(&self) -> String {
        self.to_string()
    }
}

impl FlagValue for String {
    const EXPECTED: &'static str = "text";
    fn from_text(text: &str) -> Option<Self> {
        Some(text.to_owned())
    }
    fn to_text(&self) -> String {
        format!("\"{self}\"")
    }
}

/// Reads a switch's value; `None` if it is not one of the accepted words.
pub fn switch_value(text: &str) -> Option<bool> {
    bool::from_text(text)
}

/// Makes a type `Flags` with its `TABLE`. Wants `Failure`, `FlagValue`, `Kind`,
/// `Result` and `Spec` in scope.
macro_rules! flags {
    ($( $section:literal { $( $name:ident: $ty:ty = $default:expr, $help:literal; )* } )*) => {
        /// The value of every honoured flag.
        #[derive(Clone, Debug, PartialEq)]
        pub struct Flags {
            $($( #[doc = $help] pub $name: $ty, )*)*
        }

        impl Default for Flags {
            fn default() -> Self {
                Self { $($( $name: $default.into(), )*)* }
            }
        }

        /// Every honoured flag, in the order of the help.
        pub const TABLE: &[Spec] = &[
            $($( Spec {
                section: $section,
                name: stringify!($name),
                kind: <$ty as FlagValue>::KIND,
                help: $help,
            }, )*)*
        ];

        impl Flags {
            /// Sets the flag `name` from its text form.
            ///
            /// # Errors
            /// `name` is not in [`TABLE`], or `text` is not a value of its type.
            pub fn set(&mut self, name: &str, text: &str) -> Result<()> {
                match name {
                    $($( stringify!($name) => {
                        self.$name = <$ty>::from_text(text).ok_or_else(|| {
                            Failure(format!(
                                "--{name}: '{text}' is not {}",
                                <$ty as FlagValue>::EXPECTED,
                            ))
                        })?;
                    } )*)*
                    _ => return Err(Failure(format!("--{name} is not a flag of this program"))),
                }
                Ok(())
            }

            /// The flag's value as the help prints it; empty for a name that is not in [`TABLE`].
            pub fn text_of(&self, name: &str) -> String {
                match name {
                    $($( stringify!($name) => self.$name.to_text(), )*)*
                    _ => String::new(),
                }
            }
        }
    };
}

pub(crate) use flags;

flags! {
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
    "Keys, values and operations" {
        key_size: i32 = 16, "Bytes of each key.";
        value_size: i32 = 100, "Bytes of each value.";
        compression_ratio: f64 = 0.5,
            "Size, relative to the original, to which the generated values can be compressed.";
        batch_size: i64 = 1, "Entries of each write batch.";
        sync: bool = false, "Wait for the log to reach the disk on every write.";
        disable_wal: bool = false, "Write nothing to the log.";
        verify_checksum: bool = true, "Verify checksums of blocks read from files.";
        use_existing_keys: bool = false,
            "Take the keys that are in the database, all held in memory, in place of made ones; num is their number. Needs use_existing_db.";
        value_size_distribution_type: String = "fixed",
            "Sizes of values: fixed (value_size), uniform or normal between value_size_min and value_size_max.";
        value_size_min: i32 = 100, "Bytes of the smallest value, unless sizes are fixed.";
        value_size_max: i32 = 102_400, "Bytes of the largest value, unless sizes are fixed.";
        read_random_exp_range: f64 = 0.0,
            "Skew of keys read at random: key number num * exp(-r), r uniform from 0 to this. 0: no skew.";
        multiread_stride: i64 = 0,
            "Numbers between the keys of a batch of multireadrandom, and of readrandom with batch_size. 0: each at random.";
        multiread_batched: bool = false, "Let multireadrandom read batches by the call that hands values over without a copy.";
        seek_nexts: i32 = 0, "Entries read after each seek of seekrandom.";
        max_scan_distance: i64 = 0,
            "Numbers of keys after the sought one (before it with reverse_iterator) at which an iterator of seekrandom is bounded. 0: no bound.";
        reverse_iterator: bool = false, "Let seekrandom read backwards.";
        prefix_same_as_start: bool = false, "Let iterators end with the prefix of the key they seek.";
        total_order_seek: bool = false, "Let iterators see all keys in order, whatever the memtable.";
        merge_operator: String = "",
            "Merge operator of the database: put, uint64add, stringappend, max or bytesxor. Empty: none.";
        merge_keys: i64 = -1, "Number of keys that mergerandom merges into; negative: num.";
        readwritepercent: i32 = 90, "Percentage of reads of readrandomwriterandom and randomwithverify.";
        deletepercent: i32 = 2, "Percentage of deletions of randomwithverify.";
        mergereadpercent: i32 = 70, "Percentage of merges of readrandommergerandom.";
        numdistinct: i64 = 1000, "Different keys of randomwithverify and randomreplacekeys.";
        use_single_deletes: bool = true, "Let randomreplacekeys delete by single deletions.";
        stddev: f64 = 2000.0, "Standard deviation of the keys that randomreplacekeys picks.";
        key_id_range: i32 = 100_000, "Different ids of timeseries.";
        time_range: u64 = 100_000u64, "Entries of timeseries written after one that make it expire.";
        expire_style: String = "none",
            "What removes expired entries of timeseries: none, or delete: num_deletion_threads of the readers.";
        num_deletion_threads: i32 = 1, "Readers of timeseries that delete, with expire_style=delete.";
        benchmark_write_rate_limit: u64 = 0u64, "Bytes per second that fills, and writers beside readers, write at most; 0: no limit.";
        benchmark_read_rate_limit: u64 = 0u64, "Operations per second that readers of random keys do at most, all together; 0: no limit.";
        writes_per_range_tombstone: i64 = 0, "Writes of a fill, or of a writer beside readers, for each range deletion; 0: none.";
        writes_before_delete_range: i64 = 0, "Writes before the first range deletion.";
        range_tombstone_width: i64 = 100, "Numbers of keys that a range deletion covers.";
        max_num_range_tombstones: i64 = 0, "Range deletions of a thread at most.";
        expand_range_tombstones: bool = false, "Delete the keys one by one in place of each range.";
        finish_after_writes: bool = false, "Let a writer beside readers end after its writes, not before.";
    }
    "mixgraph: reads, writes and scans as in a social graph" {
        mix_get_ratio: f64 = 1.0, "Share of reads.";
        mix_put_ratio: f64 = 0.0, "Share of writes.";
        mix_seek_ratio: f64 = 0.0, "Share of scans.";
        mix_max_scan_len: i64 = 10_000, "Entries of the longest scan.";
        mix_max_value_size: i64 = 1024, "Bytes of the largest value.";
        keyrange_num: i64 = 1, "Ranges of keys that are read by different shares.";
        keyrange_dist_a: f64 = 0.0, "a of the share of a range, a*exp(b*x) + c*exp(d*x).";
        keyrange_dist_b: f64 = 0.0, "b of it.";
        keyrange_dist_c: f64 = 0.0, "c of it.";
        keyrange_dist_d: f64 = 0.0, "d of it.";
        key_dist_a: f64 = 0.0, "a of the power law a*x^b that keys (of a range) are chosen by; 0: all alike.";
        key_dist_b: f64 = 0.0, "b of it.";
        value_theta: f64 = 0.0, "Location of the Pareto distribution of value sizes.";
        value_k: f64 = 0.2615, "Shape of it.";
        value_sigma: f64 = 25.45, "Scale of it.";
        iter_theta: f64 = 0.0, "Location of the Pareto distribution of scan lengths.";
        iter_k: f64 = 2.517, "Shape of it.";
        iter_sigma: f64 = 14.236, "Scale of it.";
        sine_mix_rate: bool = false, "Limit operations per second to a sine, sine_a*sin(sine_b*t + sine_c) + sine_d.";
        sine_mix_rate_interval_milliseconds: u64 = 10_000u64, "Milliseconds between two settings of that limit.";
        sine_mix_rate_noise: f64 = 0.0, "Share of sine_a that is added to the limit, or taken, at random.";
        sine_a: f64 = 1.0, "a of the sine, operations per second.";
        sine_b: f64 = 1.0, "b of it, radians per second.";
        sine_c: f64 = 0.0, "c of it, radians.";
        sine_d: f64 = 1.0, "d of it, operations per second.";
    }
    "Several configurations in one run (not flags of RocksDB's)" {
        sweep: String = "",
            "Run everything with each of these values of a flag: flag=a|b|c. The flag threads takes them directly, too: --threads=1,2,4.";
        compare: String = "",
            "Run everything in each of these configurations: flag=a|b, or several flags each, flag=a,other=b|flag=c,other=d; the word default stands for no change. Ratios are to the first.";
        rounds: i32 = 1,
            "Times that a sweep or comparison is gone through, each time in the opposite order; results are medians.";
    }
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
    }
    "Memtables and the write path" {
        write_buffer_size: i64 = 64 << 20, "Bytes of a memtable before it is flushed.";
        max_write_buffer_number: i32 = 2, "Memtables in memory, active one included, before writes stop.";
        min_write_buffer_number_to_merge: i32 = 1, "Full memtables to gather before a flush.";
        arena_block_size: i64 = 0, "Bytes of a block of a memtable's arena; 0 lets the database choose.";
        memtable_use_huge_page: bool = false, "Make memtables of reserved huge pages of 2 MiB, where there are some.";
        memtable_insert_hint_per_batch: bool = false, "Insert each entry of a batch from the place of the one before on (not a flag of RocksDB's).";
        db_write_buffer_size: i64 = 0, "Bytes of all memtables together at which one is flushed; 0: no limit.";
        cost_write_buffer_to_cache: bool = false, "Charge the memory of memtables to the block cache.";
        memtable_bloom_size_ratio: f64 = 0.0, "Share of a memtable for a Bloom filter, up to 0.25; 0: none.";
        memtable_whole_key_filtering: bool = false, "Put whole keys into the memtable's Bloom filter.";
        memtable_protection_bytes_per_key: i32 = 0, "Bytes of the checksum of each memtable entry: 0 (none), 1, 2, 4 or 8.";
        inplace_update_support: bool = false, "Overwrite values in the active memtable; needs --allow_concurrent_memtable_write=false.";
        inplace_update_num_locks: u64 = 10_000u64, "Locks of the values that are overwritten in a memtable.";
        max_successive_merges: i32 = 0, "Merge operands of a key on each other in a memtable on which the next is stored as a value; 0: no limit.";
        allow_concurrent_memtable_write: bool = true, "Let several writers insert into the memtable at once.";
        enable_write_thread_adaptive_yield: bool = true, "Let waiting writers yield for a while before they block.";
        write_thread_max_yield_usec: u64 = 100u64, "Microseconds that a waiting writer yields at most.";
        write_thread_slow_yield_usec: u64 = 3u64, "Microseconds of a yield which say that cores are busy.";
        enable_pipelined_write: bool = false, "Log one group of writes while the one before it is inserted.";
        unordered_write: bool = false, "Publish writes when they are logged, and insert them after that: snapshots may change.";
        commit_protocol: String = "",
            "How writes are committed: ordered, grouped, pipelined or unordered. Empty: by the two flags before, else ordered. RocksDB takes its own for ordered. (Not a RocksDB flag.)";
        max_write_batch_group_size_bytes: u64 = 1u64 << 20, "Bytes of batches committed as one group, at most. (Not a RocksDB flag.)";
    }
    "Background work" {
        max_background_jobs: i32 = 2, "Flushes and compactions at the same time.";
        max_background_flushes: i32 = -1, "Flushes at the same time; -1: from max_background_jobs.";
        max_background_compactions: i32 = -1, "Compactions at the same time; -1: from max_background_jobs.";
        disable_auto_compactions: bool = false, "Compact only when asked to.";
        level0_file_num_compaction_trigger: i32 = 4, "Level 0 files that start a compaction.";
        level0_slowdown_writes_trigger: i32 = 20, "Level 0 files that slow writes down.";
        delayed_write_rate: u64 = 0_u64, "Bytes per second at which writes begin to be slowed down; 0: 16 MiB.";
        level0_stop_writes_trigger: i32 = 36, "Level 0 files that stop writes.";
        num_levels: i32 = 7, "Levels of the tree.";
        max_bytes_for_level_base: u64 = 256u64 << 20, "Bytes of level 1.";
        max_bytes_for_level_multiplier: f64 = 10.0, "Size of a level over the size of the one above it.";
        target_file_size_base: i64 = 64 << 20, "Bytes of a table file in level 1.";
        target_file_size_multiplier: i32 = 1, "Size of a table file over the size of one a level above.";
        level_compaction_dynamic_level_bytes: bool = true,
            "Take sizes of levels from the last one that has data. (RocksDB's db_bench has false, its library true.)";
        max_compaction_bytes: u64 = 0u64, "Bytes that one compaction reads at most; 0: 25 table files.";
        soft_pending_compaction_bytes_limit: u64 = 64u64 << 30, "Bytes that wait for compaction at which writes are slowed down.";
        hard_pending_compaction_bytes_limit: u64 = 128u64 << 30, "Bytes that wait for compaction at which writes stop.";
    }
    "Tables and files" {
        memtablerep: String = "auto",
            "Memtable: skip_list, art (a radix tree), vector, prefix_hash, hash_linkedlist, or auto: the engine's own choice.";
        hash_bucket_count: i64 = 1 << 20, "Buckets of the memtables prefix_hash and hash_linkedlist.";
        prefix_size: i32 = 0, "Bytes of a key that are its prefix; 0: keys have none.";
        keys_per_prefix: i64 = 0, "Keys that share a prefix, on average; 0: the prefix is the beginning of the key's number.";
        compression_type: String = "snappy", "Compression of blocks: none, snappy, zlib, bzip2, lz4, lz4hc or zstd.";
        compression_level: i32 = 32_767, "Level of the compression; 32767: its default.";
        compression_max_dict_bytes: i32 = 0, "Bytes of a dictionary for the compression; 0: none.";
        min_level_to_compress: i32 = -1, "First level whose tables are compressed; -1: all are.";
        block_size: i32 = 4096, "Bytes of a data block before compression.";
        block_restart_interval: i32 = 16, "Keys between two restart points of a data block.";
        index_block_restart_interval: i32 = 1, "Keys between two restart points of an index block.";
        whole_key_filtering: bool = true, "Put whole keys into the filters of tables.";
        format_version: i32 = 5, "Format version of the tables written.";
        checksum_type: i32 = 4, "Checksum of blocks: 0 none, 1 CRC32c, 2 xxHash, 3 xxHash64, 4 XXH3.";
        bloom_bits: i32 = -1, "Bloom filter bits for each key; 0 or less: no filter.";
        cache_size: i64 = 8 << 20, "Bytes of the block cache; 0 or less: no cache.";
        cache_numshardbits: i32 = -1, "The block cache has 2 to this shards; negative: as many as it likes. A hint for this engine, whose cache chooses itself.";
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
    }
}

/// What `--benchmarks` is when it is not given but another flag is.
pub const DEFAULT_BENCHMARKS: &str = "fillseq,fillrandom,overwrite,readrandom,readmissing,seekrandom,\
     readseq,readreverse,readwhilewriting,deleterandom,compact,levelstats";

impl FlagSet for Flags {
    fn table() -> &'static [Spec] {
        TABLE
    }

    fn set(&mut self, name: &str, text: &str) -> Result<()> {
        if name == "threads" && text.contains(',') {
            self.sweep = format!("threads={}", text.replace(',', "|"));
            return Ok(());
        }
        self.set(name, text)
    }

    fn text_of(&self, name: &str) -> String {
        self.text_of(name)
    }

    fn validate(&self) -> Result<()> {
        self.validate()
    }

    fn alias(name: &str) -> Option<&'static str> {
        match name {
            "wal_size_limit_MB" => Some("wal_size_limit_mb"),
            "json" => Some("json_file"),
            "html" => Some("html_file"),
            _ => None,
        }
    }

    const PEER: &'static str = "RocksDB's db_bench";

    fn known() -> Vec<Known> {
        known::flags().collect()
    }
}

impl Flags {
    /// Checks the ranges that the workloads rely on.
    ///
    /// # Errors
    /// Names the first flag whose value is out of range.
    pub fn validate(&self) -> Result<()> {
        let at_least = |name: &str, value: i64, least: i64| {
            if value < least {
                return Err(Failure(format!("--{name}={value} is less than {least}")));
            }
            Ok(())
        };
        at_least("num", self.num, 0)?;
        at_least("threads", self.threads.into(), 1)?;
        at_least("rounds", self.rounds.into(), 1)?;
        at_least("key_size", self.key_size.into(), 1)?;
        at_least("value_size", self.value_size.into(), 0)?;
        at_least("batch_size", self.batch_size, 1)?;
        at_least("duration", self.duration.into(), 0)?;
        at_least(
            "ops_between_duration_checks",
            self.ops_between_duration_checks.into(),
            1,
        )?;
        at_least("seek_nexts", self.seek_nexts.into(), 0)?;
        at_least("stats_interval", self.stats_interval, 0)?;
        at_least("stats_interval_seconds", self.stats_interval_seconds, 0)?;
        at_least("report_interval_seconds", self.report_interval_seconds, 0)?;
        at_least("write_buffer_size", self.write_buffer_size, 1)?;
        at_least("arena_block_size", self.arena_block_size, 0)?;
        at_least("db_write_buffer_size", self.db_write_buffer_size, 0)?;
        at_least(
            "max_successive_merges",
            self.max_successive_merges.into(),
            0,
        )?;
        at_least(
            "memtable_protection_bytes_per_key",
            self.memtable_protection_bytes_per_key.into(),
            0,
        )?;
        at_least(
            "max_write_batch_group_size_bytes",
            i64::try_from(self.max_write_batch_group_size_bytes).unwrap_or(i64::MAX),
            1,
        )?;
        self.protocol()?;
        at_least("target_file_size_base", self.target_file_size_base, 1)?;
        at_least(
            "target_file_size_multiplier",
            self.target_file_size_multiplier.into(),
            1,
        )?;
        at_least("readahead_size", self.readahead_size.into(), 0)?;
        at_least(
            "index_block_restart_interval",
            self.index_block_restart_interval.into(),
            1,
        )?;
        at_least(
            "min_level_to_compress",
            self.min_level_to_compress.into(),
            -1,
        )?;
        at_least("block_size", self.block_size.into(), 1)?;
        at_least(
            "block_restart_interval",
            self.block_restart_interval.into(),
            1,
        )?;
        at_least("hash_bucket_count", self.hash_bucket_count, 1)?;
        at_least("prefix_size", self.prefix_size.into(), 0)?;
        at_least("keys_per_prefix", self.keys_per_prefix, 0)?;
        if self.prefix_size > self.key_size {
            return Err(Failure(format!(
                "--prefix_size={} is more than --key_size={}",
                self.prefix_size, self.key_size
            )));
        }
        if self.keys_per_prefix > 0 && self.prefix_size == 0 {
            return Err(Failure("--keys_per_prefix needs --prefix_size".to_owned()));
        }
        self.check_workloads()?;
        self.memtable_factory()?;
        if self.cost_write_buffer_to_cache && self.cache_size <= 0 {
            return Err(Failure(
                "--cost_write_buffer_to_cache needs a cache (--cache_size)".to_owned(),
            ));
        }
        if !(0.0..=1.0).contains(&self.compression_ratio) {
            return Err(Failure(format!(
                "--compression_ratio={} is not between 0 and 1",
                self.compression_ratio
            )));
        }
        self.compression()?;
        self.wal_compression()?;
        self.merge()?;
        for (name, level, levels) in [
            ("perf_level", self.perf_level, levels::PERF_LEVELS),
            ("stats_level", self.stats_level, levels::STATS_LEVELS),
        ] {
            if !levels.contains(&level) {
                return Err(Failure(format!(
                    "--{name}={level} is not between {} and {}",
                    levels.start(),
                    levels.end()
                )));
            }
        }
        if !(0..=4).contains(&self.checksum_type) {
            return Err(Failure(format!(
                "--checksum_type={} is not between 0 and 4",
                self.checksum_type
            )));
        }
        Ok(())
    }

    /// A command line that sets these flags, without those called `omitted`.
    pub fn command_line(&self, omitted: &[&str]) -> String {
        let defaults = Self::default();
        let mut line = "db_bench".to_owned();
        for spec in TABLE {
            let text = self.text_of(spec.name);
            let changed = text != defaults.text_of(spec.name) || spec.name == "benchmarks";
            if !changed || omitted.contains(&spec.name) {
                continue;
            }
            let text = text.trim_matches('"');
            let plain = |c: char| c.is_ascii_alphanumeric() || "-_./,=:+".contains(c);
            if text.chars().all(plain) {
                line += &format!(" --{}={text}", spec.name);
            } else {
                line += &format!(" '--{}={}'", spec.name, text.replace('\'', "'\\''"));
            }
        }
        line
    }

    /// Whether a file of results is wanted.
    pub fn wants_document(&self) -> bool {
        !self.json_file.is_empty() || !self.html_file.is_empty()
    }

    /// `memtablerep`, read; `None` leaves the choice to the engine.
    ///
    /// # Errors
    /// A representation that is unknown, or that needs a prefix and has none.
    pub fn memtable_factory(&self) -> Result<Option<whitewater::MemtableFactory>> {
        use whitewater::MemtableFactory;
        let bucket_count = usize::try_from(self.hash_bucket_count).unwrap_or(0);
        let factory = match self.memtablerep.as_str() {
            "auto" => return Ok(None),
            "skip_list" => MemtableFactory::SkipList,
            "art" => MemtableFactory::Art,
            "vector" => MemtableFactory::Vector,
            // RocksDB's defaults.
            "prefix_hash" => MemtableFactory::HashSkipList {
                bucket_count,
                height: 4,
                branching_factor: 4,
            },
            "hash_linkedlist" => MemtableFactory::HashLinkList { bucket_count },
            name => {
                return Err(Failure(format!(
                    "--memtablerep={name}: unknown; there are skip_list, art, vector, prefix_hash, hash_linkedlist and auto"
                )));
            }
        };
        let hashes = matches!(
            factory,
            MemtableFactory::HashSkipList { .. } | MemtableFactory::HashLinkList { .. }
        );
        if hashes && self.prefix_size == 0 {
            return Err(Failure(format!(
                "--memtablerep={} needs a --prefix_size other than 0",
                self.memtablerep
            )));
        }
        Ok(Some(factory))
    }

    /// `commit_protocol`, read; `None` leaves the choice to the engine and
    /// `enable_pipelined_write` and `unordered_write`.
    ///
    /// # Errors
    /// A protocol that is unknown.
    pub fn protocol(&self) -> Result<Option<whitewater::CommitProtocol>> {
        let name = self.commit_protocol.as_str();
        let found = whitewater::CommitProtocol::from_name(name);
        if found.is_none() && !name.is_empty() {
            return Err(Failure(format!(
                "--commit_protocol={name}: unknown; there are ordered, grouped, pipelined and unordered"
            )));
        }
        Ok(found)
    }

    /// The memtable as RocksDB's db_bench names it.
    pub fn memtable_title(&self) -> &str {
        match self.memtablerep.as_str() {
            "skip_list" => "SkipListFactory",
            "vector" => "VectorRepFactory",
            "prefix_hash" => "HashSkipListRepFactory",
            "hash_linkedlist" => "HashLinkListRepFactory",
            own => own,
        }
    }

    /// How keys get their prefix; `None` if that is the beginning of their
    /// number.
    pub fn key_prefix(&self) -> Option<super::keygen::Prefix> {
        let per_prefix = u64::try_from(self.keys_per_prefix).unwrap_or(0);
        (per_prefix > 0).then(|| super::keygen::Prefix {
            size: usize::try_from(self.prefix_size).unwrap_or(0),
            count: (self.num.unsigned_abs() / per_prefix).max(1),
        })
    }

    /// `compression_type`, read.
    ///
    /// # Errors
    /// A compression that is unknown, or that only RocksDB has.
    pub fn compression(&self) -> Result<Compression> {
        match self.compression_type.to_ascii_lowercase().as_str() {
            "none" => Ok(Compression::None),
            "snappy" => Ok(Compression::Snappy),
            "lz4" => Ok(Compression::Lz4),
            "zstd" => Ok(Compression::Zstd),
            "zlib" => Ok(Compression::Zlib),
            "bzip2" => Ok(Compression::Bzip2),
            "lz4hc" => Ok(Compression::Lz4hc),
            name => Err(Failure(format!(
                "--compression_type={name}: unknown; this build has none, snappy, zlib, bzip2, lz4, lz4hc and zstd"
            ))),
        }
    }

    /// `wal_compression`, read.
    ///
    /// # Errors
    /// A compression that is unknown, or that logs do not have.
    pub fn wal_compression(&self) -> Result<Compression> {
        match self.wal_compression.to_ascii_lowercase().as_str() {
            "none" => Ok(Compression::None),
            "zstd" => Ok(Compression::Zstd),
            name => Err(Failure(format!(
                "--wal_compression={name}: logs have none and zstd"
            ))),
        }
    }

    /// `merge_operator`, read; `None` if it is empty.
    ///
    /// # Errors
    /// A merge operator that is unknown, or that only RocksDB has.
    pub fn merge(&self) -> Result<Option<MergeOperator>> {
        match self.merge_operator.as_str() {
            "" => Ok(None),
            "put" => Ok(Some(MergeOperator::Put)),
            "uint64add" => Ok(Some(MergeOperator::UInt64Add)),
            "stringappend" => Ok(Some(MergeOperator::StringAppend)),
            "max" => Ok(Some(MergeOperator::Max)),
            "bytesxor" => Ok(Some(MergeOperator::BytesXor)),
            name @ ("put_v1" | "stringappendtest" | "sortlist") => Err(Failure(format!(
                "--merge_operator={name}: RocksDB knows it, this build does not honour it yet; it has {MERGE_OPERATORS}"
            ))),
            name => Err(Failure(format!(
                "--merge_operator={name}: unknown; this build has {MERGE_OPERATORS}"
            ))),
        }
    }
}

/// Compression of table blocks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Compression {
    /// Blocks as they are.
    None,
    /// Snappy.
    Snappy,
    /// zlib, at its default level.
    Zlib,
    /// bzip2.
    Bzip2,
    /// LZ4.
    Lz4,
    /// LZ4 with more effort, at its default level.
    Lz4hc,
    /// Zstandard, at its default level.
    Zstd,
}

impl Compression {
    /// The name that RocksDB's db_bench prints in its header.
    pub fn title(self) -> &'static str {
        match self {
            Self::None => "NoCompression",
            Self::Snappy => "Snappy",
            Self::Zlib => "Zlib",
            Self::Bzip2 => "BZip2",
            Self::Lz4 => "LZ4",
            Self::Lz4hc => "LZ4HC",
            Self::Zstd => "ZSTD",
        }
    }
}

/// Merge operators by the names RocksDB gives them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum MergeOperator {
    /// The last operand wins.
    Put,
    /// Sum of little-endian 64-bit integers; anything else counts as 0.
    UInt64Add,
    /// Operands joined by commas.
    StringAppend,
    /// The greatest operand.
    Max,
    /// Exclusive or of all bytes.
    BytesXor,
}

const MERGE_OPERATORS: &str = "put, uint64add, stringappend, max and bytesxor";

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_flag_can_be_set_to_its_own_default() {
        let defaults = Flags::default();
        let mut flags = Flags::default();
        for spec in TABLE {
            let text = defaults.text_of(spec.name);
            flags
                .set(spec.name, text.trim_matches('"'))
                .expect(spec.name);
        }
        assert_eq!(flags, defaults);
        defaults.validate().expect("defaults are in range");
    }

    #[test]
    fn command_lines_set_what_was_changed() {
        let mut flags = Flags {
            threads: 3,
            benchmarks: "fillseq[X2]".into(),
            html_file: "a.html".into(),
            db: "it's".into(),
            ..Flags::default()
        };
        let line = flags.command_line(&["html_file"]);
        assert_eq!(
            line,
            "db_bench '--benchmarks=fillseq[X2]' '--db=it'\\''s' --threads=3"
        );
        FlagSet::set(&mut flags, "threads", "1,2,4").expect("a list");
        assert_eq!((flags.sweep.as_str(), flags.threads), ("threads=1|2|4", 3));
        FlagSet::set(&mut flags, "threads", "5").expect("a number");
        assert_eq!(flags.threads, 5);
    }

    #[test]
    fn names_are_unique() {
        let mut names: Vec<_> = TABLE.iter().map(|spec| spec.name).collect();
        names.sort_unstable();
        names.dedup();
        assert_eq!(names.len(), TABLE.len());
    }

    #[test]
    fn values_of_the_wrong_type_are_refused_by_name() {
        let mut flags = Flags::default();
        for (name, text) in [
            ("num", "many"),
            ("sync", "maybe"),
            ("threads", "3000000000"),
            ("compression_ratio", "nan"),
        ] {
            let error = flags.set(name, text).expect_err(name).to_string();
            assert!(error.contains(name) && error.contains(text), "{error}");
        }
        flags.set("seed", "0x10").expect("hexadecimal");
        assert_eq!(flags.seed, 16);
    }

    #[test]
    fn ranges_and_names_are_checked() {
        for (name, text) in [
            ("threads", "0"),
            ("num", "-1"),
            ("batch_size", "0"),
            ("memtablerep", "prefix_hash"),
            ("db_write_buffer_size", "-1"),
            ("memtable_protection_bytes_per_key", "-1"),
            ("max_successive_merges", "-1"),
            ("memtablerep", "tree"),
            ("commit_protocol", "leaderless"),
            ("max_write_batch_group_size_bytes", "0"),
            ("prefix_size", "17"),
            ("keys_per_prefix", "5"),
            ("hash_bucket_count", "0"),
            ("compression_type", "xpress"),
            ("compression_type", "brotli"),
            ("merge_operator", "sortlist"),
            ("checksum_type", "5"),
            ("perf_level", "0"),
            ("perf_level", "7"),
            ("stats_level", "6"),
            ("stats_level", "-1"),
            ("compression_ratio", "1.5"),
        ] {
            let mut flags = Flags::default();
            flags.set(name, text).expect("the type is right");
            let error = flags.validate().expect_err(name).to_string();
            assert!(error.contains(name), "{error}");
        }
    }
}
