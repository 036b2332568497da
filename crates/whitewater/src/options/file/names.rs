//! RocksDB's options, by name.
//!
//! * The names that RocksDB 7.8 reads. An options file must have no others, or 7.8 could not
//!   read it.
//! * Options that occur in RocksDB's options files and have no row here, each with the value
//!   that describes what this engine does anyway, or with several such values separated by
//!   bars. Any other value asks for something that is not built and that would change results,
//!   durability, or who can read what is on disk. Options that only measure, hint or check
//!   accept any value.

/// Any value is accepted: the option tunes RocksDB's internals, checks or measures them, or has
/// an effect only together with an option that is refused.
pub(super) const ANY: &str = "*";

/// Any number of ones, separated by colons.
pub(super) const ONES: &str = "1:*";

/// The names that RocksDB 7.8 reads in `[DBOptions]`.
#[rustfmt::skip]
pub(super) const DB_78: &[&str] = &[
    "WAL_size_limit_MB", "WAL_ttl_seconds", "access_hint_on_compaction_start",
    "advise_random_on_open", "allow_2pc", "allow_concurrent_memtable_write", "allow_data_in_errors",
    "allow_fallocate", "allow_ingest_behind", "allow_mmap_reads", "allow_mmap_writes",
    "allow_os_buffer", "atomic_flush", "avoid_flush_during_recovery", "avoid_flush_during_shutdown",
    "avoid_unnecessary_blocking_io", "base_background_compactions", "best_efforts_recovery",
    "bgerror_resume_retry_interval", "bytes_per_sync", "compaction_readahead_size",
    "concurrent_prepare", "create_if_missing", "create_missing_column_families", "db_host_id",
    "db_log_dir", "db_write_buffer_size", "delayed_write_rate",
    "delete_obsolete_files_period_micros", "disableDataSync", "disable_data_sync",
    "dump_malloc_stats", "enable_pipelined_write", "enable_thread_tracking",
    "enable_write_thread_adaptive_yield", "enforce_single_del_contracts", "env", "error_if_exists",
    "experimental_allow_mempurge", "experimental_mempurge_policy",
    "experimental_mempurge_threshold", "fail_if_options_file_error", "file_checksum_gen_factory",
    "flush_verify_memtable_count", "info_log_level", "is_fd_close_on_exec", "keep_log_file_num",
    "listeners", "log_file_time_to_roll", "log_readahead_size", "lowest_used_cache_tier",
    "manifest_preallocation_size", "manual_wal_flush", "max_background_compactions",
    "max_background_flushes", "max_background_jobs", "max_bgerror_resume_count",
    "max_file_opening_threads", "max_log_file_size", "max_manifest_file_size", "max_open_files",
    "max_subcompactions", "max_total_wal_size", "max_write_batch_group_size_bytes",
    "new_table_reader_for_compaction_inputs", "paranoid_checks", "persist_stats_to_disk",
    "preserve_deletes", "random_access_max_buffer_size", "rate_limiter",
    "rate_limiter_bytes_per_sec", "recycle_log_file_num", "seq_per_batch",
    "skip_checking_sst_file_sizes_on_db_open", "skip_log_error_on_recovery",
    "skip_stats_update_on_db_open", "statistics", "stats_dump_period_sec",
    "stats_history_buffer_size", "stats_persist_period_sec", "strict_bytes_per_sync",
    "table_cache_numshardbits", "track_and_verify_wals_in_manifest", "two_write_queues",
    "unordered_write", "use_adaptive_mutex", "use_direct_io_for_flush_and_compaction",
    "use_direct_reads", "use_direct_writes", "use_fsync", "verify_sst_unique_id_in_manifest",
    "wal_bytes_per_sync", "wal_compression", "wal_dir", "wal_filter", "wal_recovery_mode",
    "writable_file_max_buffer_size", "write_dbid_to_manifest", "write_thread_max_yield_usec",
    "write_thread_slow_yield_usec",
];

/// The names that RocksDB 7.8 reads in `[CFOptions]`.
#[rustfmt::skip]
pub(super) const FAMILY_78: &[&str] = &[
    "arena_block_size", "blob_cache", "blob_compaction_readahead_size", "blob_compression_type",
    "blob_file_size", "blob_file_starting_level", "blob_garbage_collection_age_cutoff",
    "blob_garbage_collection_force_threshold", "block_based_table_factory", "bloom_locality",
    "bottommost_compression", "bottommost_compression_opts", "bottommost_temperature",
    "check_flush_compaction_key_order", "compaction_filter", "compaction_filter_factory",
    "compaction_measure_io_stats", "compaction_options_fifo", "compaction_options_universal",
    "compaction_pri", "compaction_style", "comparator", "compression", "compression_opts",
    "compression_per_level", "disable_auto_compactions", "enable_blob_files",
    "enable_blob_garbage_collection", "expanded_compaction_factor",
    "experimental_mempurge_threshold", "filter_deletes", "force_consistency_checks",
    "hard_pending_compaction_bytes_limit", "hard_rate_limit",
    "ignore_max_compaction_bytes_for_input", "inplace_update_num_locks", "inplace_update_support",
    "last_level_temperature", "level0_file_num_compaction_trigger",
    "level0_slowdown_writes_trigger", "level0_stop_writes_trigger",
    "level_compaction_dynamic_file_size", "level_compaction_dynamic_level_bytes",
    "max_bytes_for_level_base", "max_bytes_for_level_multiplier",
    "max_bytes_for_level_multiplier_additional", "max_compaction_bytes",
    "max_grandparent_overlap_factor", "max_mem_compaction_level",
    "max_sequential_skip_in_iterations", "max_successive_merges", "max_write_buffer_number",
    "max_write_buffer_number_to_maintain", "max_write_buffer_size_to_maintain", "memtable",
    "memtable_factory", "memtable_huge_page_size", "memtable_insert_with_hint_prefix_extractor",
    "memtable_prefix_bloom_bits", "memtable_prefix_bloom_huge_page_tlb_size",
    "memtable_prefix_bloom_probes", "memtable_prefix_bloom_size_ratio",
    "memtable_protection_bytes_per_key", "memtable_whole_key_filtering", "merge_operator",
    "min_blob_size", "min_partial_merge_operands", "min_write_buffer_number_to_merge", "num_levels",
    "optimize_filters_for_hits", "paranoid_file_checks", "periodic_compaction_seconds",
    "plain_table_factory", "preclude_last_level_data_seconds", "prefix_extractor",
    "prepopulate_blob_cache", "preserve_internal_time_seconds", "purge_redundant_kvs_while_flush",
    "rate_limit_delay_max_milliseconds", "report_bg_io_stats", "sample_for_compression",
    "snap_refresh_nanos", "soft_pending_compaction_bytes_limit", "soft_rate_limit",
    "source_compaction_factor", "sst_partitioner_factory", "table_factory",
    "table_properties_collectors", "target_file_size_base", "target_file_size_multiplier", "ttl",
    "verify_checksums_in_compaction", "write_buffer_size",
];

/// The names that RocksDB 7.8 reads in `[TableOptions/BlockBasedTable]`.
#[rustfmt::skip]
pub(super) const TABLE_78: &[&str] = &[
    "block_align", "block_cache", "block_cache_compressed", "block_restart_interval", "block_size",
    "block_size_deviation", "cache_index_and_filter_blocks",
    "cache_index_and_filter_blocks_with_high_priority", "checksum",
    "data_block_hash_table_util_ratio", "data_block_index_type",
    "detect_filter_construct_corruption", "enable_index_compression", "filter_policy",
    "flush_block_policy_factory", "format_version", "hash_index_allow_collision",
    "index_block_restart_interval", "index_per_partition", "index_shortening", "index_type",
    "initial_auto_readahead_size", "max_auto_readahead_size", "metadata_block_size",
    "no_block_cache", "num_file_reads_for_auto_readahead", "optimize_filters_for_memory",
    "partition_filters", "pin_l0_filter_and_index_blocks_in_cache",
    "pin_top_level_index_and_filter", "prepopulate_block_cache", "read_amp_bytes_per_bit",
    "reserve_table_builder_memory", "reserve_table_reader_memory", "skip_table_builder_flush",
    "verify_compression", "whole_key_filtering",
];

/// Options of a database that have no row here.
pub(crate) const DB_ANYWAY: &[(&str, &str)] = &[
    ("access_hint_on_compaction_start", ANY),
    ("allow_data_in_errors", ANY),
    ("allow_fallocate", ANY),
    ("allow_os_buffer", ANY),
    ("avoid_flush_during_recovery", ANY),
    // What was written without a log is always flushed when the database is closed.
    ("avoid_flush_during_shutdown", ANY),
    ("background_close_inactive_wals", ANY),
    ("best_efforts_recovery", "false"),
    ("compaction_verify_record_count", ANY),
    ("db_host_id", ANY),
    ("enable_thread_tracking", ANY),
    ("enforce_single_del_contracts", ANY),
    ("enforce_write_buffer_manager_during_recovery", ANY),
    ("fail_if_options_file_error", ANY),
    ("flush_verify_memtable_count", ANY),
    ("follower_catchup_retry_count", ANY),
    ("follower_catchup_retry_wait_ms", ANY),
    ("follower_refresh_catchup_period_ms", ANY),
    ("log_readahead_size", ANY),
    ("lowest_used_cache_tier", ANY),
    ("max_manifest_space_amp_pct", ANY),
    ("metadata_write_temperature", ANY),
    ("open_files_async", ANY),
    ("persist_stats_to_disk", ANY),
    ("prefix_seek_opt_in_only", ANY),
    ("random_access_max_buffer_size", ANY),
    ("skip_checking_sst_file_sizes_on_db_open", ANY),
    ("stats_history_buffer_size", ANY),
    ("strict_bytes_per_sync", ANY),
    ("track_and_verify_wals", "false"),
    ("verify_manifest_content_on_close", ANY),
    ("verify_sst_unique_id_in_manifest", ANY),
    ("wal_filter", "nullptr"),
    ("wal_write_temperature", ANY),
    ("write_identity_file", ANY),
];

/// Options of a column family that have no row here.
pub(crate) const FAMILY_ANYWAY: &[(&str, &str)] = &[
    ("bottommost_temperature", ANY),
    ("cf_allow_ingest_behind", "false"),
    ("check_flush_compaction_key_order", ANY),
    ("compaction_filter", "nullptr"),
    ("compaction_filter_factory", "nullptr"),
    ("compression_manager", "nullptr"),
    ("default_temperature", ANY),
    ("default_write_temperature", ANY),
    ("disallow_memtable_writes", "false"),
    ("force_consistency_checks", ANY),
    ("level_compaction_dynamic_file_size", ANY),
    ("max_write_buffer_number_to_maintain", ANY),
    ("memtable_avg_op_scan_flush_trigger", ANY),
    ("memtable_batch_lookup_optimization", ANY),
    ("memtable_insert_with_hint_prefix_extractor", ANY),
    ("memtable_op_scan_flush_trigger", ANY),
    ("memtable_veirfy_per_key_checksum_on_seek", ANY),
    ("memtable_verify_per_key_checksum_on_seek", ANY),
    ("persist_user_defined_timestamps", "true"),
    ("preclude_last_level_data_seconds", "0"),
    ("preserve_internal_time_seconds", "0"),
    ("sst_partitioner_factory", "nullptr"),
    ("target_file_size_is_upper_bound", ANY),
    ("verify_output_flags", ANY),
];

/// Table options that have no row here.
pub(crate) const TABLE_ANYWAY: &[(&str, &str)] = &[
    ("block_align", ANY),
    ("block_size_deviation", ANY),
    ("decouple_partitioned_filters", ANY),
    ("detect_filter_construct_corruption", ANY),
    ("enable_index_compression", ANY),
    ("fail_if_no_udi_on_open", ANY),
    (
        "flush_block_policy_factory",
        "FlushBlockBySizePolicyFactory",
    ),
    ("index_block_search_type", ANY),
    ("index_shortening", ANY),
    ("metadata_block_size", ANY),
    ("read_amp_bytes_per_bit", ANY),
    ("separate_key_value_in_data_block", "false"),
    ("super_block_alignment_size", ANY),
    ("super_block_alignment_space_overhead_ratio", ANY),
    ("uniform_cv_threshold", ANY),
    ("use_delta_encoding", ANY),
    ("user_defined_index_factory", "nullptr"),
    ("verify_compression", ANY),
];

/// Options that have no row here and accept any value, and that RocksDB can change while the
/// database is open.
pub(crate) const CHANGE_LIVE: &[&str] = &[
    "avoid_flush_during_shutdown",
    "bottommost_temperature",
    "check_flush_compaction_key_order",
    "default_write_temperature",
    "max_manifest_space_amp_pct",
    "memtable_avg_op_scan_flush_trigger",
    "memtable_op_scan_flush_trigger",
    "memtable_veirfy_per_key_checksum_on_seek",
    "memtable_verify_per_key_checksum_on_seek",
    "stats_history_buffer_size",
    "strict_bytes_per_sync",
    "target_file_size_is_upper_bound",
    "verify_manifest_content_on_close",
    "verify_output_flags",
];
