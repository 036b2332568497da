//! Checks of the ranges of values, and of combinations of flags.

use super::super::engine::{Failure, Result};
use super::super::levels;
use super::{Flags, TABLE};

/// The sections of flags that set options of the database.
const OPTION_SECTIONS: &[&str] = &[
    "Memtables and the write path",
    "Background work",
    "Compaction",
    "Tables",
    "Compression",
    "Block cache",
    "Blob files",
    "Files and the log",
    "Hints, without effect on this engine",
];
/// The flags of these sections that also take effect with an options file.
const BESIDE_A_FILE: &[&str] = &[
    "cache_size",
    "cache_numshardbits",
    "cache_type",
    "cache_high_pri_pool_ratio",
    "rate_limiter_bytes_per_sec",
    "rate_limiter_refill_period_us",
    "rate_limiter_auto_tuned",
    // These concern reads, writes and keys.
    "readahead_size",
    "prefix_size",
    "keys_per_prefix",
    "memtable_insert_hint_per_batch",
    "write_batch_protection_bytes_per_key",
];
/// The flags of other sections that set options of the database.
const MORE_OPTIONS: &[&str] = &[
    "merge_operator",
    "use_uint64_comparator",
    "stats_dump_period_sec",
    "use_stderr_info_logger",
];

impl Flags {
    /// Checks the ranges that the workloads rely on.
    ///
    /// # Errors
    /// The first flag whose value is out of range.
    pub fn validate(&self) -> Result<()> {
        self.check_least()?;
        self.check_most()?;
        self.check_keys()?;
        self.check_tables()?;
        self.check_blobs()?;
        self.check_databases()?;
        self.check_workloads()?;
        self.memtable_factory()?;
        self.protocol()?;
        self.compression()?;
        self.wal_compression()?;
        self.merge()?;
        self.level_multipliers()?;
        if self.cost_write_buffer_to_cache && self.cache_size <= 0 {
            return Err(Failure(
                "--cost_write_buffer_to_cache needs a cache (--cache_size)".to_owned(),
            ));
        }
        Ok(())
    }

    /// Checks the numbers that have a lower bound and no upper bound besides that of
    /// their type.
    // Long: a table with a row for each flag.
    fn check_least(&self) -> Result<()> {
        let unsigned = |number: u64| i64::try_from(number).unwrap_or(i64::MAX);
        for (name, value, least) in [
            ("num", self.num, 0),
            ("threads", self.threads.into(), 1),
            ("rounds", self.rounds.into(), 1),
            ("key_size", self.key_size.into(), 1),
            ("value_size", self.value_size.into(), 0),
            ("batch_size", self.batch_size, 1),
            ("duration", self.duration.into(), 0),
            (
                "ops_between_duration_checks",
                self.ops_between_duration_checks.into(),
                1,
            ),
            ("seek_nexts", self.seek_nexts.into(), 0),
            (
                "overwrite_window_size",
                unsigned(self.overwrite_window_size),
                1,
            ),
            (
                "ingest_external_file_batch_size",
                self.ingest_external_file_batch_size.into(),
                1,
            ),
            (
                "ingest_external_file_num_batches",
                self.ingest_external_file_num_batches.into(),
                1,
            ),
            ("stats_interval", self.stats_interval, 0),
            ("stats_interval_seconds", self.stats_interval_seconds, 0),
            ("report_interval_seconds", self.report_interval_seconds, 0),
            ("write_buffer_size", self.write_buffer_size, 1),
            ("arena_block_size", self.arena_block_size, 0),
            ("db_write_buffer_size", self.db_write_buffer_size, 0),
            (
                "max_successive_merges",
                self.max_successive_merges.into(),
                0,
            ),
            (
                "memtable_protection_bytes_per_key",
                self.memtable_protection_bytes_per_key.into(),
                0,
            ),
            (
                "max_write_batch_group_size_bytes",
                unsigned(self.max_write_batch_group_size_bytes),
                1,
            ),
            ("hash_bucket_count", self.hash_bucket_count, 1),
            ("subcompactions", unsigned(self.subcompactions), 1),
            (
                "rate_limiter_refill_period_us",
                self.rate_limiter_refill_period_us,
                1,
            ),
            ("target_file_size_base", self.target_file_size_base, 1),
            (
                "target_file_size_multiplier",
                self.target_file_size_multiplier.into(),
                1,
            ),
            ("readahead_size", self.readahead_size.into(), 0),
            ("metadata_block_size", self.metadata_block_size, 1),
            (
                "index_block_restart_interval",
                self.index_block_restart_interval.into(),
                1,
            ),
            (
                "min_level_to_compress",
                self.min_level_to_compress.into(),
                -1,
            ),
            (
                "compression_max_dict_bytes",
                self.compression_max_dict_bytes.into(),
                0,
            ),
            (
                "compression_zstd_max_train_bytes",
                self.compression_zstd_max_train_bytes.into(),
                0,
            ),
            (
                "compression_parallel_threads",
                self.compression_parallel_threads.into(),
                1,
            ),
            ("block_size", self.block_size.into(), 1),
            (
                "block_restart_interval",
                self.block_restart_interval.into(),
                1,
            ),
            ("prefix_size", self.prefix_size.into(), 0),
            ("keys_per_prefix", self.keys_per_prefix, 0),
            ("num_column_families", self.num_column_families.into(), 1),
            (
                "num_hot_column_families",
                self.num_hot_column_families.into(),
                0,
            ),
            (
                "secondary_update_interval",
                self.secondary_update_interval.into(),
                0,
            ),
            ("bloom_locality", self.bloom_locality.into(), 0),
            (
                "blob_file_starting_level",
                self.blob_file_starting_level.into(),
                0,
            ),
            (
                "writable_file_max_buffer_size",
                self.writable_file_max_buffer_size.into(),
                0,
            ),
        ] {
            if value < least {
                return Err(Failure(format!("--{name}={value} is less than {least}")));
            }
        }
        Ok(())
    }

    /// Checks the numbers that have an upper bound.
    fn check_most(&self) -> Result<()> {
        for (name, value) in [
            ("compression_ratio", self.compression_ratio),
            ("overwrite_probability", self.overwrite_probability),
            ("cache_high_pri_pool_ratio", self.cache_high_pri_pool_ratio),
            (
                "blob_garbage_collection_age_cutoff",
                self.blob_garbage_collection_age_cutoff,
            ),
            (
                "blob_garbage_collection_force_threshold",
                self.blob_garbage_collection_force_threshold,
            ),
        ] {
            if !(0.0..=1.0).contains(&value) {
                return Err(Failure(format!("--{name}={value} is not between 0 and 1")));
            }
        }
        for (name, value, range) in [
            ("perf_level", self.perf_level, levels::PERF_LEVELS),
            ("stats_level", self.stats_level, levels::STATS_LEVELS),
            ("checksum_type", self.checksum_type, 0..=4),
            ("compaction_style", self.compaction_style, 0..=2),
            ("compaction_pri", self.compaction_pri, 0..=4),
            (
                "prepopulate_block_cache",
                self.prepopulate_block_cache,
                0..=2,
            ),
            ("prepopulate_blob_cache", self.prepopulate_blob_cache, 0..=1),
        ] {
            if !range.contains(&value) {
                return Err(Failure(format!(
                    "--{name}={value} is not between {} and {}",
                    range.start(),
                    range.end()
                )));
            }
        }
        for (name, value) in [
            ("stats_dump_period_sec", self.stats_dump_period_sec),
            ("stats_persist_period_sec", self.stats_persist_period_sec),
            ("subcompactions", self.subcompactions),
        ] {
            if u32::try_from(value).is_err() {
                return Err(Failure(format!(
                    "--{name}={value} is more than {}",
                    u32::MAX
                )));
            }
        }
        if i64::try_from(self.rate_limiter_bytes_per_sec).is_err() {
            return Err(Failure(format!(
                "--rate_limiter_bytes_per_sec={} is more than {}",
                self.rate_limiter_bytes_per_sec,
                i64::MAX
            )));
        }
        Ok(())
    }

    fn check_keys(&self) -> Result<()> {
        if self.prefix_size > self.key_size {
            return Err(Failure(format!(
                "--prefix_size={} is more than --key_size={}",
                self.prefix_size, self.key_size
            )));
        }
        if self.keys_per_prefix > 0 && self.prefix_size == 0 {
            return Err(Failure("--keys_per_prefix needs --prefix_size".to_owned()));
        }
        if self.seek_missing_prefix && self.prefix_size <= 8 {
            return Err(Failure(
                "--seek_missing_prefix needs a --prefix_size above 8".to_owned(),
            ));
        }
        if self.use_uint64_comparator && self.key_size != 8 {
            return Err(Failure(
                "--use_uint64_comparator needs --key_size=8".to_owned(),
            ));
        }
        Ok(())
    }

    /// Checks the flags of indexes, filters and their cache.
    fn check_tables(&self) -> Result<()> {
        let partitions = self.partition_index || self.partition_index_and_filters;
        if self.use_hash_search && self.prefix_size == 0 {
            return Err(Failure("--use_hash_search needs --prefix_size".to_owned()));
        }
        for (name, asked) in [
            ("use_hash_search", self.use_hash_search),
            ("index_with_first_key", self.index_with_first_key),
        ] {
            if asked && partitions {
                return Err(Failure(format!(
                    "--{name} does not go with --partition_index and --partition_index_and_filters"
                )));
            }
        }
        if self.use_hash_search && self.index_with_first_key {
            return Err(Failure(
                "--use_hash_search does not go with --index_with_first_key".to_owned(),
            ));
        }
        if self.cache_index_and_filter_blocks && self.cache_size <= 0 {
            return Err(Failure(
                "--cache_index_and_filter_blocks needs a cache (--cache_size)".to_owned(),
            ));
        }
        self.cache_kind().map(drop)
    }

    /// Checks the flags of blob files and their cache.
    fn check_blobs(&self) -> Result<()> {
        self.blob_compression()?;
        let shared = self.use_shared_block_and_blob_cache;
        let wrong = match self {
            flags if !flags.use_blob_cache && flags.prepopulate_blob_cache > 0 => {
                "--prepopulate_blob_cache needs --use_blob_cache"
            }
            flags if !flags.use_blob_cache => return Ok(()),
            flags if shared && flags.cache_size <= 0 => {
                "--use_blob_cache needs a block cache (--cache_size), or one of its own \
                 (--use_shared_block_and_blob_cache=false)"
            }
            flags if !shared && flags.blob_cache_size == 0 => {
                "--use_blob_cache needs a --blob_cache_size above 0"
            }
            _ => return Ok(()),
        };
        Err(Failure(wrong.to_owned()))
    }

    /// Checks the flags of how databases are opened.
    fn check_databases(&self) -> Result<()> {
        self.family_shares()?;
        if self.use_secondary_db {
            let wrong = match self {
                flags if flags.readonly => "does not go with --readonly",
                flags if !flags.use_existing_db => "needs --use_existing_db",
                flags if flags.num_column_families > 1 => {
                    "does not go with --num_column_families above 1"
                }
                _ => "",
            };
            if !wrong.is_empty() {
                return Err(Failure(format!("--use_secondary_db {wrong}")));
            }
        }
        if self.options_file.is_empty() {
            return Ok(());
        }
        if self
            .benchmarks
            .split(',')
            .any(|name| name.trim() == "compact0")
        {
            // It sets options, and then resets them to what the flags say.
            return Err(Failure(
                "benchmark 'compact0' does not go with --options_file".to_owned(),
            ));
        }
        let of_options = |section| OPTION_SECTIONS.contains(&section);
        for spec in TABLE {
            let counts = BESIDE_A_FILE.contains(&spec.name);
            let sets = (of_options(spec.section) && !counts) || MORE_OPTIONS.contains(&spec.name);
            if sets && self.is_changed(spec.name) {
                return Err(Failure(format!(
                    "--{} is an option that --options_file decides",
                    spec.name
                )));
            }
        }
        Ok(())
    }
}
