//! Which values random options may take.
//!
//! The options themselves, their defaults and whether they can change at run time come
//! from the engine's option tables. This module adds what the tables cannot know: the
//! values that make something happen in a small database, and why some options keep
//! their defaults. An option that is a yes-or-no choice needs no entry here: it is
//! drawn unless it has a reason not to be.

use std::sync::LazyLock;

use rand::Rng;
use rand::seq::IndexedRandom;
use whitewater::option_tables::{self, OptionRow};

/// How likely an option is to keep its default.
const DEFAULT_SHARE: f64 = 0.6;

/// How an option gets its value.
enum Choice {
    /// The default or one of these values.
    Values(&'static [&'static str]),
    /// Always the default, or a value that `RandomOptions` sets itself, for this reason.
    Fixed(&'static str),
}

use Choice::{Fixed, Values};

type Choices = &'static [(&'static str, Choice)];

const HINT: Choice = Fixed("the option is a hint without effect");
const PROTOCOL: Choice = Fixed("the commit protocol is drawn as a whole");
const PATH: Choice = Fixed("all files of a database are expected in its directory");
const DIRECT_IO: Choice = Fixed("a temporary directory may lack direct I/O");
const IN_PLACE: Choice = Fixed("column families with in-place updates have no snapshots");

/// Sizes that replace the defaults, so that a small database flushes and compacts.
pub(super) const SCALED_DOWN: &[(&str, &str)] = &[
    ("max_bytes_for_level_base", "100000"),
    ("target_file_size_base", "50000"),
    ("write_buffer_size", "65536"),
];

/// Options that can change at run time but are not changed then.
const NOT_CHANGED: &[(&str, &str)] = &[(
    "format_version",
    "the check of damaged tables has to know which of them record their place",
)];

#[rustfmt::skip]
const DATABASE_CHOICES: Choices = &[
    ("allow_concurrent_memtable_write", PROTOCOL),
    ("allow_ingest_behind", Fixed("a database has to keep it from its creation on")),
    ("bgerror_resume_retry_interval", Values(&["1000"])),
    ("bytes_per_sync", Values(&["4096"])),
    ("commit_protocol", PROTOCOL),
    ("compaction_nice", Values(&["0", "10"])),
    ("compaction_readahead_size", Values(&["0", "512"])),
    ("create_if_missing", Fixed("every round begins without a database")),
    ("create_missing_column_families", Fixed("every round begins without a database")),
    ("db_log_dir", PATH),
    ("db_write_buffer_size", Values(&["150000"])),
    ("delayed_write_rate", Values(&["1000000"])),
    ("delete_obsolete_files_period_micros", HINT),
    ("enable_pipelined_write", PROTOCOL),
    ("error_if_exists", Fixed("databases are opened again and again")),
    ("file_checksum_gen_factory", Values(&["FileChecksumGenCrc32cFactory"])),
    ("flush_nice", Values(&["0", "10"])),
    ("info_log_level", Values(&["DEBUG_LEVEL", "WARN_LEVEL"])),
    ("keep_log_file_num", Values(&["2"])),
    ("log_file_time_to_roll", Values(&["1"])),
    ("manifest_preallocation_size", HINT),
    ("manual_wal_flush", Fixed("acknowledged writes are expected to survive the process")),
    ("max_background_compactions", Values(&["1", "3"])),
    ("max_background_flushes", Values(&["1", "2"])),
    ("max_background_jobs", Values(&["1", "4"])),
    ("max_bgerror_resume_count", Values(&["0", "3"])),
    ("max_file_opening_threads", HINT),
    ("max_log_file_size", Values(&["20000"])),
    ("max_manifest_file_size", Values(&["2000"])),
    ("max_open_files", Values(&["20", "100"])),
    ("max_subcompactions", Values(&["2", "4"])),
    ("max_total_wal_size", Values(&["50000", "100000"])),
    ("max_write_batch_group_size_bytes", Values(&["1000"])),
    ("recycle_log_file_num", Values(&["1", "3"])),
    ("scrub_bytes_per_second", Values(&["1000000"])),
    ("scrub_period_sec", Values(&["1"])),
    ("slow_operation_micros", Values(&["1", "1000"])),
    ("stats_dump_period_sec", Values(&["1"])),
    ("stats_persist_period_sec", HINT),
    ("table_cache_numshardbits", HINT),
    ("two_write_queues", HINT),
    ("unordered_write", PROTOCOL),
    ("use_direct_io_for_flush_and_compaction", DIRECT_IO),
    ("use_direct_reads", DIRECT_IO),
    ("wal_access", Values(&["pwrite"])),
    ("wal_bytes_per_sync", Values(&["1000", "4096"])),
    ("wal_compression", Values(&["kZSTD"])),
    ("wal_dir", PATH),
    ("wal_recovery_mode", Fixed("checks expect recovery to a point in time")),
    ("wal_size_limit_mb", Values(&["1"])),
    ("wal_ttl_seconds", Values(&["1"])),
    ("writable_file_max_buffer_size", HINT),
    ("write_thread_max_yield_usec", Values(&["0", "1000"])),
    ("write_thread_slow_yield_usec", Values(&["0", "100"])),
];

#[rustfmt::skip]
const FAMILY_CHOICES: Choices = &[
    ("arena_block_size", Values(&["1024", "16384"])),
    ("blob_compaction_readahead_size", Values(&["1000", "100000"])),
    ("blob_compression_opts", Values(&["{level=1;checksum=true}"])),
    ("blob_compression_type", Values(&["kLZ4Compression", "kZSTD", "kSnappyCompression"])),
    ("blob_file_size", Values(&["1000", "30000"])),
    ("blob_file_starting_level", Values(&["1", "2"])),
    ("blob_garbage_collection_age_cutoff", Values(&["0", "0.5", "1"])),
    ("blob_garbage_collection_force_threshold", Values(&["0", "0.2", "0.7"])),
    ("block_protection_bytes_per_key", HINT),
    ("bloom_locality", Values(&["1"])),
    ("bottommost_compression", Values(&["kZSTD", "kSnappyCompression"])),
    ("bottommost_compression_opts", Values(&["{max_dict_bytes=4000;enabled=true}"])),
    ("bottommost_file_compaction_delay", Values(&["1"])),
    ("compaction_options_fifo", Fixed("FIFO compaction deletes data")),
    ("compaction_options_universal", Values(&[
        "{max_size_amplification_percent=20}",
        "{max_merge_width=2;allow_trivial_move=true}",
    ])),
    ("compaction_pri", Values(&["kRoundRobin", "kOldestSmallestSeqFirst"])),
    // FIFO compaction deletes data.
    ("compaction_style", Values(&["kCompactionStyleUniversal"])),
    ("compression", Values(&[
        "kNoCompression", "kLZ4Compression", "kLZ4HCCompression", "kZSTD", "kZlibCompression",
        "kBZip2Compression",
    ])),
    ("compression_opts", Values(&["{max_dict_bytes=4000;zstd_max_train_bytes=20000;enabled=true}"])),
    ("compression_per_level", Values(&["kNoCompression:kLZ4Compression:kZSTD"])),
    ("disable_auto_compactions", Fixed("writes would stop at level0_stop_writes_trigger for good")),
    ("experimental_mempurge_threshold", Values(&["0.5", "1", "3"])),
    ("hard_pending_compaction_bytes_limit", Values(&["2000000"])),
    ("inplace_update_num_locks", IN_PLACE),
    ("inplace_update_support", IN_PLACE),
    ("last_level_temperature", HINT),
    ("level0_file_num_compaction_trigger", Values(&["1", "2", "8"])),
    ("level0_slowdown_writes_trigger", Values(&["9"])),
    ("level0_stop_writes_trigger", Values(&["12"])),
    ("max_bytes_for_level_base", Values(&["20000", "1000000"])),
    ("max_bytes_for_level_multiplier", Values(&["2", "3"])),
    ("max_bytes_for_level_multiplier_additional", Values(&["1:2:1"])),
    ("max_compaction_bytes", Values(&["50000"])),
    ("max_sequential_skip_in_iterations", HINT),
    ("max_successive_merges", Values(&["2"])),
    ("max_write_buffer_number", Values(&["4"])),
    ("max_write_buffer_size_to_maintain", HINT),
    ("memtable", Fixed("it is drawn together with the prefix extractor that it needs")),
    ("memtable_huge_page_size", Fixed("the system may have no huge pages reserved")),
    ("memtable_max_range_deletions", Values(&["2"])),
    ("memtable_prefix_bloom_size_ratio", Values(&["0.1"])),
    ("memtable_protection_bytes_per_key", Values(&["1", "8"])),
    ("min_blob_size", Values(&["20", "100", "1000"])),
    ("min_write_buffer_number_to_merge", Values(&["2"])),
    ("num_levels", Fixed("a database needs as many levels as its tables are in")),
    ("periodic_compaction_seconds", Values(&["1"])),
    ("prefix_extractor", Fixed("it is drawn for orders of keys that keep prefixes together")),
    ("prepopulate_blob_cache", Fixed("no blob cache is drawn, which it would fill")),
    ("read_triggered_compaction_threshold", Values(&["0", "0.0001", "10"])),
    ("sample_for_compression", HINT),
    ("soft_pending_compaction_bytes_limit", Values(&["200000"])),
    ("table_factory", Fixed("plain tables are drawn for the order of keys and prefix extractor")),
    ("target_file_size_base", Values(&["8000", "300000"])),
    ("target_file_size_multiplier", Values(&["2"])),
    ("ttl", Values(&["1"])),
    ("uncache_aggressiveness", HINT),
    ("write_buffer_size", Values(&["100000", "300000"])),
];

#[rustfmt::skip]
const TABLE_CHOICES: Choices = &[
    ("block_restart_interval", Values(&["1", "3"])),
    ("block_size", Values(&["100", "1000"])),
    ("checksum", Values(&["kCRC32c", "kxxHash", "kxxHash64"])),
    ("data_block_hash_table_util_ratio", Values(&["0.5", "2"])),
    ("data_block_index_type", Values(&["kDataBlockBinaryAndHash"])),
    ("filter_policy", Values(&["bloomfilter:10:false", "ribbonfilter:10:-1"])),
    ("format_version", Values(&["2", "3", "4", "6", "7", "7"])),
    ("index_block_restart_interval", Values(&["4"])),
    // A hash index needs a prefix extractor.
    ("index_type", Values(&["kTwoLevelIndexSearch", "kBinarySearchWithFirstKey"])),
    ("initial_auto_readahead_size", Values(&["0", "300", "1000000"])),
    ("max_auto_readahead_size", Values(&["0", "1000"])),
    ("metadata_block_size", Values(&["100"])),
    ("metadata_cache_options", Values(&[
        "{top_level_index_pinning=kAll;partition_pinning=kNone}",
        "{unpartitioned_pinning=kFlushedAndSimilar}",
    ])),
    ("num_file_reads_for_auto_readahead", Values(&["0", "1", "10"])),
    ("prepopulate_block_cache", Values(&["kFlushOnly", "kFlushAndCompaction"])),
];

/// An option and the values that it may be given.
pub(super) struct RandomOption {
    pub(super) name: &'static str,
    /// The value that it has when nothing is drawn.
    base: String,
    others: Vec<String>,
    changes_live: bool,
}

/// The options of a database.
pub(super) static DATABASE: LazyLock<Vec<RandomOption>> =
    LazyLock::new(|| random(option_tables::database(), DATABASE_CHOICES));

/// The options of a column family.
pub(super) static FAMILY: LazyLock<Vec<RandomOption>> =
    LazyLock::new(|| random(option_tables::column_family(), FAMILY_CHOICES));

/// The options of a column family's tables.
pub(super) static TABLE: LazyLock<Vec<RandomOption>> =
    LazyLock::new(|| random(option_tables::table(), TABLE_CHOICES));

/// The rows that are drawn, with their values.
fn random(rows: Vec<OptionRow>, choices: Choices) -> Vec<RandomOption> {
    let random = rows.into_iter().filter_map(|row| {
        let others = values(&row, choices).ok()?;
        let scaled = SCALED_DOWN.iter().find(|(name, _)| *name == row.name);
        Some(RandomOption {
            name: row.name,
            base: scaled.map_or(row.default, |(_, value)| (*value).to_owned()),
            others,
            changes_live: row.changes_live,
        })
    });
    random.collect()
}

/// The values of `row` other than its default, or why it keeps that (nothing where
/// the list has neither).
fn values(row: &OptionRow, choices: Choices) -> Result<Vec<String>, Option<&'static str>> {
    let choice = choices.iter().find(|(name, _)| *name == row.name);
    match (choice, row.default.as_str()) {
        (Some((_, Values(values))), _) => Ok(values.iter().map(|&v| v.to_owned()).collect()),
        (Some((_, Fixed(reason))), _) => Err(Some(reason)),
        (None, "true") => Ok(vec!["false".to_owned()]),
        (None, "false") => Ok(vec!["true".to_owned()]),
        (None, _) => Err(None),
    }
}

impl RandomOption {
    /// A value for an opening, unless it is the default.
    pub(super) fn draw(&self, rng: &mut impl Rng) -> Option<(&'static str, String)> {
        if rng.random_bool(DEFAULT_SHARE) {
            return None;
        }
        let value = self.others.choose(rng).expect("there is another value");
        Some((self.name, value.clone()))
    }

    /// A value to change the option to at run time.
    pub(super) fn draw_change(&self, rng: &mut impl Rng) -> String {
        let at = rng.random_range(0..=self.others.len());
        self.others.get(at).unwrap_or(&self.base).clone()
    }

    /// Whether the option is changed at run time.
    pub(super) fn is_changed(&self) -> bool {
        self.changes_live && !NOT_CHANGED.iter().any(|(name, _)| *name == self.name)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    type Rows = fn() -> Vec<OptionRow>;

    const TABLES: [(Rows, Choices); 3] = [
        (option_tables::database, DATABASE_CHOICES),
        (option_tables::column_family, FAMILY_CHOICES),
        (option_tables::table, TABLE_CHOICES),
    ];

    #[test]
    fn every_option_is_drawn_or_has_a_reason() {
        for (rows, choices) in TABLES {
            for row in rows() {
                match values(&row, choices) {
                    Ok(values) => {
                        assert!(!values.is_empty(), "{}", row.name);
                        assert!(!values.contains(&row.default), "{}", row.name);
                    }
                    Err(reason) => assert!(
                        reason.is_some(),
                        "option {} is neither drawn nor listed with a reason",
                        row.name
                    ),
                }
            }
        }
    }

    #[test]
    fn every_choice_is_of_an_option_that_exists() {
        for (rows, choices) in TABLES {
            let rows = rows();
            let mut names: Vec<_> = choices.iter().map(|(name, _)| *name).collect();
            for name in &names {
                assert!(rows.iter().any(|row| row.name == *name), "{name}");
            }
            names.dedup();
            assert_eq!(names.len(), choices.len(), "an option is listed twice");
            assert!(names.is_sorted(), "{names:?}");
        }
        let all = || TABLES.iter().flat_map(|(rows, _)| rows());
        let listed = SCALED_DOWN.iter().chain(NOT_CHANGED).map(|(name, _)| *name);
        for name in listed {
            assert!(
                all().any(|row| row.name == name && row.changes_live),
                "{name}"
            );
        }
    }
}
