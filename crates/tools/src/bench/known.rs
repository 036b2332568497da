//! The flags and benchmarks that RocksDB's db_bench 7.8 has and this program lacks.
//! They are refused by name, so that a run never measures something other than
//! what was asked for.
//!
//! A flag is accepted when its value says that the feature is not used, because
//! then it changes nothing here (`--use_plain_table=false`,
//! `--simcache_size=-1`).

use super::flags::Kind;

/// Switches of features that this build lacks: it always behaves as if they were false.
const OFF_SWITCHES: &str = "\
    adaptive_readahead allow_data_in_errors auto_prefix_mode \
    avoid_flush_during_recovery blob_db_enable_gc blob_db_is_fifo block_align build_info \
    charge_blob_cache charge_compression_dictionary_building_buffer charge_file_metadata \
    charge_filter_construction charge_table_reader \
    enable_cpu_prio enable_io_prio enable_numa file_checksum \
    identity_as_first_hash mmap_read mmap_write \
    persist_stats_to_disk print_malloc_stats rate_limit_auto_wal_flush rate_limit_bg_reads \
    rate_limit_user_ops report_file_operations simulate_hdd \
    universal_incremental use_blob_db \
    use_cache_jemalloc_no_dump_allocator use_cache_memkind_kmem_allocator \
    use_compressed_secondary_cache use_cuckoo_table use_plain_table";

/// Switches for which neither value is certain to describe what this build does.
const OTHER_SWITCHES: &str = "\
    check_flush_compaction_key_order dump_malloc_stats enable_index_compression \
    force_consistency_checks io_uring_enabled optimize_multiget_for_io read_cache_direct_read \
    read_cache_direct_write read_with_latest_user_timestamp ";

/// Flags with a value; after `=`, the value that means "not used", if there is one.
const VALUES: &str = "\
    \
    blob_db_bytes_per_sync \
    blob_db_compression_type blob_db_file_size blob_db_gc_cutoff blob_db_max_db_size=0 \
    blob_db_max_ttl_range=0 blob_db_min_blob_size=0 blob_db_ttl_range_secs \
    \
    block_cache_trace_file= \
    block_cache_trace_max_trace_file_size_in_bytes block_cache_trace_sampling_frequency \
    cache_low_pri_pool_ratio=0 compaction_fadvice \
    compressed_cache_size=-1 compressed_secondary_cache_compress_format_version \
    compressed_secondary_cache_compression_type \
    compressed_secondary_cache_high_pri_pool_ratio=0 \
    compressed_secondary_cache_low_pri_pool_ratio=0 compressed_secondary_cache_numshardbits \
    compressed_secondary_cache_size cuckoo_hash_ratio \
    disable_seek_compaction=0 disposable_entries_batch_size=0 \
    disposable_entries_delete_delay=0 disposable_entries_value_size env_uri= \
    fifo_age_for_warm=0 fifo_compaction_ttl=0 fs_uri= \
    index_shortening_mode initial_auto_readahead_size log_readahead_size=0 \
    max_auto_readahead_size max_write_buffer_number_to_maintain=0 \
    memtable_insert_with_hint_prefix_size=0 mix_accesses=-1 \
    num_bottom_pri_threads=0 num_file_reads_for_auto_readahead num_high_pri_threads=0 \
    num_low_pri_threads=0 num_multi_db=0 persistent_entries_batch_size=0 \
    persistent_entries_value_size preclude_last_level_data_seconds=0 \
    preserve_internal_time_seconds=0 random_access_max_buffer_size \
    read_amp_bytes_per_bit=0 read_cache_path= read_cache_size \
    sample_for_compression=0 secondary_cache_uri= \
    simcache_size=-1 simulate_hybrid_fs_file= simulate_hybrid_hdd_multipliers \
    skip_list_lookahead=0 slow_usecs statistics_string= stats_history_buffer_size \
    thread_status_per_interval=0 trace_file= trace_replay_fast_forward trace_replay_threads \
    transaction_sleep=0 truth_db \
    user_timestamp_size=0";

/// Benchmarks that RocksDB's db_bench has but that the API makes impossible, with
/// what is missing.
const IMPOSSIBLE: &[(&str, &str)] = &[
    ("compact1", "the API has no call that compacts given files"),
    ("resetstats", "the API has no call that resets statistics"),
    (
        "fillseqdeterministic",
        "the API has no call that compacts given files",
    ),
    (
        "filluniquerandomdeterministic",
        "the API has no call that compacts given files",
    ),
    (
        "acquireload",
        "it measures a processor's loads, and nothing of an engine",
    ),
    ("stats_history", "statistics are not kept over time"),
    ("replay", "the API has no traces of calls"),
    (
        "getmergeoperands",
        "the API has no call that reads merge operands",
    ),
    (
        "readrandomoperands",
        "the API has no call that reads merge operands",
    ),
    (
        "approximatememtablestats",
        "the API has no call that estimates memtables",
    ),
    ("readtorowcache", "there is no row cache"),
    ("block_cache_entry_stats", "the engine lacks the property"),
];

/// Other benchmarks of RocksDB's db_bench that this program does not run.
const BENCHMARKS: &str = "\
    fillanddeleteuniquerandom multireadrandomcoroutine verify cache_report_problems \
    readrandomentity multireadentity multiscan openandcompact";

/// A flag that only RocksDB honours.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Known {
    /// Name, without dashes.
    pub name: &'static str,
    /// Whether a value must follow.
    pub kind: Kind,
    /// The value that is accepted because it means that the feature is not used.
    pub unused: Option<&'static str>,
}

/// Every flag that only RocksDB honours.
pub fn flags() -> impl Iterator<Item = Known> {
    let switches = |words: &'static str, unused| {
        words.split_whitespace().map(move |name| Known {
            name,
            kind: Kind::Switch,
            unused,
        })
    };
    let values = VALUES
        .split_whitespace()
        .map(|word| match word.split_once('=') {
            Some((name, unused)) => Known {
                name,
                kind: Kind::Value,
                unused: Some(unused),
            },
            None => Known {
                name: word,
                kind: Kind::Value,
                unused: None,
            },
        });
    switches(OFF_SWITCHES, Some("false"))
        .chain(switches(OTHER_SWITCHES, None))
        .chain(values)
}

/// The flag called `name`, if only RocksDB honours it.
pub fn flag(name: &str) -> Option<Known> {
    flags().find(|known| known.name == name)
}

/// Every benchmark that only RocksDB runs.
pub fn benchmarks() -> impl Iterator<Item = &'static str> {
    let impossible = IMPOSSIBLE.iter().map(|(name, _)| *name);
    BENCHMARKS.split_whitespace().chain(impossible)
}

/// Why this program cannot run a benchmark of RocksDB; `None` if there is no reason.
pub fn impossible(name: &str) -> Option<&'static str> {
    let row = IMPOSSIBLE.iter().find(|(known, _)| *known == name)?;
    Some(row.1)
}

#[cfg(test)]
mod tests {
    use super::super::{flags::TABLE, plan};
    use super::*;

    #[test]
    fn nothing_is_both_honoured_and_refused() {
        for known in flags() {
            assert!(
                TABLE.iter().all(|spec| spec.name != known.name),
                "{}",
                known.name
            );
        }
        for name in benchmarks() {
            assert!(plan::lookup(name).is_none(), "{name}");
        }
    }

    #[test]
    fn flags_of_later_work_are_refused_unless_unused() {
        for (name, unused) in [("use_blob_db", "false"), ("use_plain_table", "false")] {
            assert_eq!(
                flag(name).and_then(|known| known.unused),
                Some(unused),
                "{name}"
            );
        }
        assert!(flags().count() > 80);
    }
}
