//! Options of databases and column families that are one value: for each RocksDB's name, how it is
//! written there, the setter and the getter.

use super::values::{
    ACCESS_HINT, COMPACTION_PRI, COMPACTION_STYLE, COMPRESSION,
    Form::{Enum, Flag, Plain},
    LOG_LEVEL, PREPOPULATE, RECOVERY_MODE, options,
};

options! {
    "allow_ingest_behind": Flag,
        set rocksdb_options_set_allow_ingest_behind(u8),
        get rocksdb_options_get_allow_ingest_behind -> u8;
    "compaction_readahead_size": Plain,
        set rocksdb_options_compaction_readahead_size(usize),
        get rocksdb_options_get_compaction_readahead_size -> usize;
    "create_if_missing": Flag,
        set rocksdb_options_set_create_if_missing(u8),
        get rocksdb_options_get_create_if_missing -> u8;
    "create_missing_column_families": Flag,
        set rocksdb_options_set_create_missing_column_families(u8),
        get rocksdb_options_get_create_missing_column_families -> u8;
    "error_if_exists": Flag,
        set rocksdb_options_set_error_if_exists(u8),
        get rocksdb_options_get_error_if_exists -> u8;
    "paranoid_checks": Flag,
        set rocksdb_options_set_paranoid_checks(u8),
        get rocksdb_options_get_paranoid_checks -> u8;
    "info_log_level": Enum(LOG_LEVEL),
        set rocksdb_options_set_info_log_level(i32),
        get rocksdb_options_get_info_log_level -> i32;
    "write_buffer_size": Plain,
        set rocksdb_options_set_write_buffer_size(usize),
        get rocksdb_options_get_write_buffer_size -> usize;
    "db_write_buffer_size": Plain,
        set rocksdb_options_set_db_write_buffer_size(usize),
        get rocksdb_options_get_db_write_buffer_size -> usize;
    "max_open_files": Plain,
        set rocksdb_options_set_max_open_files(i32),
        get rocksdb_options_get_max_open_files -> i32;
    "max_file_opening_threads": Plain,
        set rocksdb_options_set_max_file_opening_threads(i32),
        get rocksdb_options_get_max_file_opening_threads -> i32;
    "max_total_wal_size": Plain,
        set rocksdb_options_set_max_total_wal_size(u64),
        get rocksdb_options_get_max_total_wal_size -> u64;
    "compression_opts.zstd_max_train_bytes": Plain,
        set rocksdb_options_set_compression_options_zstd_max_train_bytes(i32),
        get rocksdb_options_get_compression_options_zstd_max_train_bytes -> i32;
    "compression_opts.use_zstd_dict_trainer": Flag,
        set rocksdb_options_set_compression_options_use_zstd_dict_trainer(u8),
        get rocksdb_options_get_compression_options_use_zstd_dict_trainer -> u8;
    "compression_opts.parallel_threads": Plain,
        set rocksdb_options_set_compression_options_parallel_threads(i32),
        get rocksdb_options_get_compression_options_parallel_threads -> i32;
    "compression_opts.max_dict_buffer_bytes": Plain,
        set rocksdb_options_set_compression_options_max_dict_buffer_bytes(u64),
        get rocksdb_options_get_compression_options_max_dict_buffer_bytes -> u64;
    "num_levels": Plain,
        set rocksdb_options_set_num_levels(i32),
        get rocksdb_options_get_num_levels -> i32;
    "level0_file_num_compaction_trigger": Plain,
        set rocksdb_options_set_level0_file_num_compaction_trigger(i32),
        get rocksdb_options_get_level0_file_num_compaction_trigger -> i32;
    "level0_slowdown_writes_trigger": Plain,
        set rocksdb_options_set_level0_slowdown_writes_trigger(i32),
        get rocksdb_options_get_level0_slowdown_writes_trigger -> i32;
    "level0_stop_writes_trigger": Plain,
        set rocksdb_options_set_level0_stop_writes_trigger(i32),
        get rocksdb_options_get_level0_stop_writes_trigger -> i32;
    "target_file_size_base": Plain,
        set rocksdb_options_set_target_file_size_base(u64),
        get rocksdb_options_get_target_file_size_base -> u64;
    "target_file_size_multiplier": Plain,
        set rocksdb_options_set_target_file_size_multiplier(i32),
        get rocksdb_options_get_target_file_size_multiplier -> i32;
    "max_bytes_for_level_base": Plain,
        set rocksdb_options_set_max_bytes_for_level_base(u64),
        get rocksdb_options_get_max_bytes_for_level_base -> u64;
    "level_compaction_dynamic_level_bytes": Flag,
        set rocksdb_options_set_level_compaction_dynamic_level_bytes(u8),
        get rocksdb_options_get_level_compaction_dynamic_level_bytes -> u8;
    "max_bytes_for_level_multiplier": Plain,
        set rocksdb_options_set_max_bytes_for_level_multiplier(f64),
        get rocksdb_options_get_max_bytes_for_level_multiplier -> f64;
    "skip_stats_update_on_db_open": Flag,
        set rocksdb_options_set_skip_stats_update_on_db_open(u8),
        get rocksdb_options_get_skip_stats_update_on_db_open -> u8;
    "skip_checking_sst_file_sizes_on_db_open": Flag,
        set rocksdb_options_set_skip_checking_sst_file_sizes_on_db_open(u8),
        get rocksdb_options_get_skip_checking_sst_file_sizes_on_db_open -> u8;
    "enable_blob_files": Flag,
        set rocksdb_options_set_enable_blob_files(u8),
        get rocksdb_options_get_enable_blob_files -> u8;
    "min_blob_size": Plain,
        set rocksdb_options_set_min_blob_size(u64),
        get rocksdb_options_get_min_blob_size -> u64;
    "blob_file_size": Plain,
        set rocksdb_options_set_blob_file_size(u64),
        get rocksdb_options_get_blob_file_size -> u64;
    "blob_compression_type": Enum(COMPRESSION),
        set rocksdb_options_set_blob_compression_type(i32),
        get rocksdb_options_get_blob_compression_type -> i32;
    "enable_blob_garbage_collection": Flag,
        set rocksdb_options_set_enable_blob_gc(u8),
        get rocksdb_options_get_enable_blob_gc -> u8;
    "blob_garbage_collection_age_cutoff": Plain,
        set rocksdb_options_set_blob_gc_age_cutoff(f64),
        get rocksdb_options_get_blob_gc_age_cutoff -> f64;
    "blob_garbage_collection_force_threshold": Plain,
        set rocksdb_options_set_blob_gc_force_threshold(f64),
        get rocksdb_options_get_blob_gc_force_threshold -> f64;
    "blob_compaction_readahead_size": Plain,
        set rocksdb_options_set_blob_compaction_readahead_size(u64),
        get rocksdb_options_get_blob_compaction_readahead_size -> u64;
    "blob_file_starting_level": Plain,
        set rocksdb_options_set_blob_file_starting_level(i32),
        get rocksdb_options_get_blob_file_starting_level -> i32;
    "prepopulate_blob_cache": Enum(PREPOPULATE),
        set rocksdb_options_set_prepopulate_blob_cache(i32),
        get rocksdb_options_get_prepopulate_blob_cache -> i32;
    "max_write_buffer_number": Plain,
        set rocksdb_options_set_max_write_buffer_number(i32),
        get rocksdb_options_get_max_write_buffer_number -> i32;
    "min_write_buffer_number_to_merge": Plain,
        set rocksdb_options_set_min_write_buffer_number_to_merge(i32),
        get rocksdb_options_get_min_write_buffer_number_to_merge -> i32;
    "max_write_buffer_number_to_maintain": Plain,
        set rocksdb_options_set_max_write_buffer_number_to_maintain(i32),
        get rocksdb_options_get_max_write_buffer_number_to_maintain -> i32;
    "max_write_buffer_size_to_maintain": Plain,
        set rocksdb_options_set_max_write_buffer_size_to_maintain(i64),
        get rocksdb_options_get_max_write_buffer_size_to_maintain -> i64;
    "enable_pipelined_write": Flag,
        set rocksdb_options_set_enable_pipelined_write(u8),
        get rocksdb_options_get_enable_pipelined_write -> u8;
    "unordered_write": Flag,
        set rocksdb_options_set_unordered_write(u8),
        get rocksdb_options_get_unordered_write -> u8;
    "max_subcompactions": Plain,
        set rocksdb_options_set_max_subcompactions(u32),
        get rocksdb_options_get_max_subcompactions -> u32;
    "max_background_jobs": Plain,
        set rocksdb_options_set_max_background_jobs(i32),
        get rocksdb_options_get_max_background_jobs -> i32;
    "max_background_compactions": Plain,
        set rocksdb_options_set_max_background_compactions(i32),
        get rocksdb_options_get_max_background_compactions -> i32;
    "max_background_flushes": Plain,
        set rocksdb_options_set_max_background_flushes(i32),
        get rocksdb_options_get_max_background_flushes -> i32;
    "max_log_file_size": Plain,
        set rocksdb_options_set_max_log_file_size(usize),
        get rocksdb_options_get_max_log_file_size -> usize;
    "log_file_time_to_roll": Plain,
        set rocksdb_options_set_log_file_time_to_roll(usize),
        get rocksdb_options_get_log_file_time_to_roll -> usize;
    "keep_log_file_num": Plain,
        set rocksdb_options_set_keep_log_file_num(usize),
        get rocksdb_options_get_keep_log_file_num -> usize;
    "recycle_log_file_num": Plain,
        set rocksdb_options_set_recycle_log_file_num(usize),
        get rocksdb_options_get_recycle_log_file_num -> usize;
    "soft_pending_compaction_bytes_limit": Plain,
        set rocksdb_options_set_soft_pending_compaction_bytes_limit(usize),
        get rocksdb_options_get_soft_pending_compaction_bytes_limit -> usize;
    "hard_pending_compaction_bytes_limit": Plain,
        set rocksdb_options_set_hard_pending_compaction_bytes_limit(usize),
        get rocksdb_options_get_hard_pending_compaction_bytes_limit -> usize;
    "max_manifest_file_size": Plain,
        set rocksdb_options_set_max_manifest_file_size(usize),
        get rocksdb_options_get_max_manifest_file_size -> usize;
    "table_cache_numshardbits": Plain,
        set rocksdb_options_set_table_cache_numshardbits(i32),
        get rocksdb_options_get_table_cache_numshardbits -> i32;
    "arena_block_size": Plain,
        set rocksdb_options_set_arena_block_size(usize),
        get rocksdb_options_get_arena_block_size -> usize;
    "use_fsync": Flag,
        set rocksdb_options_set_use_fsync(i32),
        get rocksdb_options_get_use_fsync -> i32;
    "wal_ttl_seconds": Plain,
        set rocksdb_options_set_WAL_ttl_seconds(u64),
        get rocksdb_options_get_WAL_ttl_seconds -> u64;
    "wal_size_limit_mb": Plain,
        set rocksdb_options_set_WAL_size_limit_MB(u64),
        get rocksdb_options_get_WAL_size_limit_MB -> u64;
    "manifest_preallocation_size": Plain,
        set rocksdb_options_set_manifest_preallocation_size(usize),
        get rocksdb_options_get_manifest_preallocation_size -> usize;
    "allow_mmap_reads": Flag,
        set rocksdb_options_set_allow_mmap_reads(u8),
        get rocksdb_options_get_allow_mmap_reads -> u8;
    "allow_mmap_writes": Flag,
        set rocksdb_options_set_allow_mmap_writes(u8),
        get rocksdb_options_get_allow_mmap_writes -> u8;
    "use_direct_reads": Flag,
        set rocksdb_options_set_use_direct_reads(u8),
        get rocksdb_options_get_use_direct_reads -> u8;
    "use_direct_io_for_flush_and_compaction": Flag,
        set rocksdb_options_set_use_direct_io_for_flush_and_compaction(u8),
        get rocksdb_options_get_use_direct_io_for_flush_and_compaction -> u8;
    "is_fd_close_on_exec": Flag,
        set rocksdb_options_set_is_fd_close_on_exec(u8),
        get rocksdb_options_get_is_fd_close_on_exec -> u8;
    "stats_dump_period_sec": Plain,
        set rocksdb_options_set_stats_dump_period_sec(u32),
        get rocksdb_options_get_stats_dump_period_sec -> u32;
    "stats_persist_period_sec": Plain,
        set rocksdb_options_set_stats_persist_period_sec(u32),
        get rocksdb_options_get_stats_persist_period_sec -> u32;
    "advise_random_on_open": Flag,
        set rocksdb_options_set_advise_random_on_open(u8),
        get rocksdb_options_get_advise_random_on_open -> u8;
    "access_hint_on_compaction_start": Enum(ACCESS_HINT),
        set rocksdb_options_set_access_hint_on_compaction_start(i32),
        get rocksdb_options_get_access_hint_on_compaction_start -> i32;
    "use_adaptive_mutex": Flag,
        set rocksdb_options_set_use_adaptive_mutex(u8),
        get rocksdb_options_get_use_adaptive_mutex -> u8;
    "bytes_per_sync": Plain,
        set rocksdb_options_set_bytes_per_sync(u64),
        get rocksdb_options_get_bytes_per_sync -> u64;
    "wal_bytes_per_sync": Plain,
        set rocksdb_options_set_wal_bytes_per_sync(u64),
        get rocksdb_options_get_wal_bytes_per_sync -> u64;
    "writable_file_max_buffer_size": Plain,
        set rocksdb_options_set_writable_file_max_buffer_size(u64),
        get rocksdb_options_get_writable_file_max_buffer_size -> u64;
    "allow_concurrent_memtable_write": Flag,
        set rocksdb_options_set_allow_concurrent_memtable_write(u8),
        get rocksdb_options_get_allow_concurrent_memtable_write -> u8;
    "enable_write_thread_adaptive_yield": Flag,
        set rocksdb_options_set_enable_write_thread_adaptive_yield(u8),
        get rocksdb_options_get_enable_write_thread_adaptive_yield -> u8;
    "max_sequential_skip_in_iterations": Plain,
        set rocksdb_options_set_max_sequential_skip_in_iterations(u64),
        get rocksdb_options_get_max_sequential_skip_in_iterations -> u64;
    "disable_auto_compactions": Flag,
        set rocksdb_options_set_disable_auto_compactions(i32),
        get rocksdb_options_get_disable_auto_compactions -> u8;
    "optimize_filters_for_hits": Flag,
        set rocksdb_options_set_optimize_filters_for_hits(i32),
        get rocksdb_options_get_optimize_filters_for_hits -> u8;
    "delete_obsolete_files_period_micros": Plain,
        set rocksdb_options_set_delete_obsolete_files_period_micros(u64),
        get rocksdb_options_get_delete_obsolete_files_period_micros -> u64;
    "memtable_prefix_bloom_size_ratio": Plain,
        set rocksdb_options_set_memtable_prefix_bloom_size_ratio(f64),
        get rocksdb_options_get_memtable_prefix_bloom_size_ratio -> f64;
    "max_compaction_bytes": Plain,
        set rocksdb_options_set_max_compaction_bytes(u64),
        get rocksdb_options_get_max_compaction_bytes -> u64;
    "memtable_huge_page_size": Plain,
        set rocksdb_options_set_memtable_huge_page_size(usize),
        get rocksdb_options_get_memtable_huge_page_size -> usize;
    "max_successive_merges": Plain,
        set rocksdb_options_set_max_successive_merges(usize),
        get rocksdb_options_get_max_successive_merges -> usize;
    "bloom_locality": Plain,
        set rocksdb_options_set_bloom_locality(u32),
        get rocksdb_options_get_bloom_locality -> u32;
    "inplace_update_support": Flag,
        set rocksdb_options_set_inplace_update_support(u8),
        get rocksdb_options_get_inplace_update_support -> u8;
    "inplace_update_num_locks": Plain,
        set rocksdb_options_set_inplace_update_num_locks(usize),
        get rocksdb_options_get_inplace_update_num_locks -> usize;
    "report_bg_io_stats": Flag,
        set rocksdb_options_set_report_bg_io_stats(i32),
        get rocksdb_options_get_report_bg_io_stats -> u8;
    "avoid_unnecessary_blocking_io": Flag,
        set rocksdb_options_set_avoid_unnecessary_blocking_io(u8),
        get rocksdb_options_get_avoid_unnecessary_blocking_io -> u8;
    "experimental_mempurge_threshold": Plain,
        set rocksdb_options_set_experimental_mempurge_threshold(f64),
        get rocksdb_options_get_experimental_mempurge_threshold -> f64;
    "wal_recovery_mode": Enum(RECOVERY_MODE),
        set rocksdb_options_set_wal_recovery_mode(i32),
        get rocksdb_options_get_wal_recovery_mode -> i32;
    "compression": Enum(COMPRESSION),
        set rocksdb_options_set_compression(i32),
        get rocksdb_options_get_compression -> i32;
    "bottommost_compression": Enum(COMPRESSION),
        set rocksdb_options_set_bottommost_compression(i32),
        get rocksdb_options_get_bottommost_compression -> i32;
    "compaction_style": Enum(COMPACTION_STYLE),
        set rocksdb_options_set_compaction_style(i32),
        get rocksdb_options_get_compaction_style -> i32;
    "atomic_flush": Flag,
        set rocksdb_options_set_atomic_flush(u8),
        get rocksdb_options_get_atomic_flush -> u8;
    "manual_wal_flush": Flag,
        set rocksdb_options_set_manual_wal_flush(u8),
        get rocksdb_options_get_manual_wal_flush -> u8;
    "wal_compression": Enum(COMPRESSION),
        set rocksdb_options_set_wal_compression(i32),
        get rocksdb_options_get_wal_compression -> i32;
    "dump_malloc_stats": Flag, set rocksdb_options_set_dump_malloc_stats(u8);
    "memtable_whole_key_filtering": Flag, set rocksdb_options_set_memtable_whole_key_filtering(u8);
    "open_files_async": Flag,
        set rocksdb_options_set_open_files_async(u8),
        get rocksdb_options_get_open_files_async -> u8;
    "ttl": Plain, set rocksdb_options_set_ttl(u64), get rocksdb_options_get_ttl -> u64;
    "periodic_compaction_seconds": Plain,
        set rocksdb_options_set_periodic_compaction_seconds(u64),
        get rocksdb_options_get_periodic_compaction_seconds -> u64;
    "memtable_op_scan_flush_trigger": Plain,
        set rocksdb_options_set_memtable_op_scan_flush_trigger(u32),
        get rocksdb_options_get_memtable_op_scan_flush_trigger -> u32;
    "memtable_avg_op_scan_flush_trigger": Plain,
        set rocksdb_options_set_memtable_avg_op_scan_flush_trigger(u32),
        get rocksdb_options_get_memtable_avg_op_scan_flush_trigger -> u32;
    "write_dbid_to_manifest": Flag,
        set rocksdb_options_set_write_dbid_to_manifest(u8),
        get rocksdb_options_get_write_dbid_to_manifest -> u8;
    "write_identity_file": Flag,
        set rocksdb_options_set_write_identity_file(u8);
    "track_and_verify_wals_in_manifest": Flag,
        set rocksdb_options_set_track_and_verify_wals_in_manifest(u8),
        get rocksdb_options_get_track_and_verify_wals_in_manifest -> u8;
    "compaction_pri": Enum(COMPACTION_PRI),
        set rocksdb_options_set_compaction_pri(i32),
        get rocksdb_options_get_compaction_pri -> i32;
}
