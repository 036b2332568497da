/* The C interface of Whitewater: that of RocksDB. Written by scripts/c-header. */

#ifndef STORAGE_ROCKSDB_INCLUDE_C_H_
#define STORAGE_ROCKSDB_INCLUDE_C_H_

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Which library it is of: crates/c/Cargo.toml. */
#ifndef WHITEWATER_ABI
#define WHITEWATER_ABI 10
#endif

#ifndef ROCKSDB_LIBRARY_API
#define ROCKSDB_LIBRARY_API
#endif

#ifdef __cplusplus
extern "C" {
#endif

typedef struct rocksdb_backup_engine_info_t rocksdb_backup_engine_info_t;
typedef struct rocksdb_backup_engine_options_t rocksdb_backup_engine_options_t;
typedef struct rocksdb_backup_engine_t rocksdb_backup_engine_t;
typedef struct rocksdb_block_based_table_options_t rocksdb_block_based_table_options_t;
typedef struct rocksdb_cache_t rocksdb_cache_t;
typedef struct rocksdb_checkpoint_t rocksdb_checkpoint_t;
typedef struct rocksdb_column_family_handle_t rocksdb_column_family_handle_t;
typedef struct rocksdb_column_family_metadata_t rocksdb_column_family_metadata_t;
typedef struct rocksdb_compaction_service_options_override_t rocksdb_compaction_service_options_override_t;
typedef struct rocksdb_compactionfilter_t rocksdb_compactionfilter_t;
typedef struct rocksdb_compactionfiltercontext_t rocksdb_compactionfiltercontext_t;
typedef struct rocksdb_compactionfilterfactory_t rocksdb_compactionfilterfactory_t;
typedef struct rocksdb_compactionjobinfo_t rocksdb_compactionjobinfo_t;
typedef struct rocksdb_compactionservice_jobinfo_t rocksdb_compactionservice_jobinfo_t;
typedef struct rocksdb_compactionservice_scheduleresponse_t rocksdb_compactionservice_scheduleresponse_t;
typedef struct rocksdb_compactionservice_t rocksdb_compactionservice_t;
typedef struct rocksdb_compactoptions_t rocksdb_compactoptions_t;
typedef struct rocksdb_comparator_t rocksdb_comparator_t;
typedef struct rocksdb_cuckoo_table_options_t rocksdb_cuckoo_table_options_t;
typedef struct rocksdb_dbpath_t rocksdb_dbpath_t;
typedef struct rocksdb_env_t rocksdb_env_t;
typedef struct rocksdb_envoptions_t rocksdb_envoptions_t;
typedef struct rocksdb_eventlistener_t rocksdb_eventlistener_t;
typedef struct rocksdb_export_import_files_metadata_t rocksdb_export_import_files_metadata_t;
typedef struct rocksdb_externalfileingestioninfo_t rocksdb_externalfileingestioninfo_t;
typedef struct rocksdb_fifo_compaction_options_t rocksdb_fifo_compaction_options_t;
typedef struct rocksdb_file_checksum_gen_factory_t rocksdb_file_checksum_gen_factory_t;
typedef struct rocksdb_filterpolicy_t rocksdb_filterpolicy_t;
typedef struct rocksdb_flushjobinfo_t rocksdb_flushjobinfo_t;
typedef struct rocksdb_flushoptions_t rocksdb_flushoptions_t;
typedef struct rocksdb_hyper_clock_cache_options_t rocksdb_hyper_clock_cache_options_t;
typedef struct rocksdb_import_column_family_options_t rocksdb_import_column_family_options_t;
typedef struct rocksdb_ingestexternalfileoptions_t rocksdb_ingestexternalfileoptions_t;
typedef struct rocksdb_iterator_t rocksdb_iterator_t;
typedef struct rocksdb_level_metadata_t rocksdb_level_metadata_t;
typedef struct rocksdb_livefile_t rocksdb_livefile_t;
typedef struct rocksdb_livefiles_t rocksdb_livefiles_t;
typedef struct rocksdb_logger_t rocksdb_logger_t;
typedef struct rocksdb_lru_cache_options_t rocksdb_lru_cache_options_t;
typedef struct rocksdb_memory_allocator_t rocksdb_memory_allocator_t;
typedef struct rocksdb_memory_consumers_t rocksdb_memory_consumers_t;
typedef struct rocksdb_memory_usage_t rocksdb_memory_usage_t;
typedef struct rocksdb_memtableinfo_t rocksdb_memtableinfo_t;
typedef struct rocksdb_mergeoperator_t rocksdb_mergeoperator_t;
typedef struct rocksdb_open_and_compact_options_t rocksdb_open_and_compact_options_t;
typedef struct rocksdb_optimistictransaction_options_t rocksdb_optimistictransaction_options_t;
typedef struct rocksdb_optimistictransactiondb_t rocksdb_optimistictransactiondb_t;
typedef struct rocksdb_options_t rocksdb_options_t;
typedef struct rocksdb_perfcontext_t rocksdb_perfcontext_t;
typedef struct rocksdb_pinnable_handle_t rocksdb_pinnable_handle_t;
typedef struct rocksdb_pinnableslice_t rocksdb_pinnableslice_t;
typedef struct rocksdb_pinnablewidecolumns_t rocksdb_pinnablewidecolumns_t;
typedef struct rocksdb_ratelimiter_t rocksdb_ratelimiter_t;
typedef struct rocksdb_readoptions_t rocksdb_readoptions_t;
typedef struct rocksdb_restore_options_t rocksdb_restore_options_t;
typedef struct rocksdb_slicetransform_t rocksdb_slicetransform_t;
typedef struct rocksdb_snapshot_t rocksdb_snapshot_t;
typedef struct rocksdb_sst_file_manager_t rocksdb_sst_file_manager_t;
typedef struct rocksdb_sst_file_metadata_t rocksdb_sst_file_metadata_t;
typedef struct rocksdb_sst_partitioner_factory_t rocksdb_sst_partitioner_factory_t;
typedef struct rocksdb_sstfilewriter_t rocksdb_sstfilewriter_t;
typedef struct rocksdb_statistics_histogram_data_t rocksdb_statistics_histogram_data_t;
typedef struct rocksdb_status_ptr_t rocksdb_status_ptr_t;
typedef struct rocksdb_subcompactionjobinfo_t rocksdb_subcompactionjobinfo_t;
typedef struct rocksdb_t rocksdb_t;
typedef struct rocksdb_table_properties_collector_factory_t rocksdb_table_properties_collector_factory_t;
typedef struct rocksdb_transaction_options_t rocksdb_transaction_options_t;
typedef struct rocksdb_transaction_t rocksdb_transaction_t;
typedef struct rocksdb_transactiondb_options_t rocksdb_transactiondb_options_t;
typedef struct rocksdb_transactiondb_t rocksdb_transactiondb_t;
typedef struct rocksdb_universal_compaction_options_t rocksdb_universal_compaction_options_t;
typedef struct rocksdb_wait_for_compact_options_t rocksdb_wait_for_compact_options_t;
typedef struct rocksdb_wal_iterator_t rocksdb_wal_iterator_t;
typedef struct rocksdb_wal_readoptions_t rocksdb_wal_readoptions_t;
typedef struct rocksdb_widecolumns_t rocksdb_widecolumns_t;
typedef struct rocksdb_write_buffer_manager_t rocksdb_write_buffer_manager_t;
typedef struct rocksdb_writebatch_t rocksdb_writebatch_t;
typedef struct rocksdb_writebatch_wi_t rocksdb_writebatch_wi_t;
typedef struct rocksdb_writeoptions_t rocksdb_writeoptions_t;
typedef struct rocksdb_writestallcondition_t rocksdb_writestallcondition_t;
typedef struct rocksdb_writestallinfo_t rocksdb_writestallinfo_t;

/* Constants and structs of the C interface, for scripts/c-header. */

typedef struct rocksdb_slice_t {
  const char* data;
  size_t size;
} rocksdb_slice_t;

enum {
  rocksdb_size_approximation_flags_none = 0,
  rocksdb_size_approximation_flags_include_memtable = 1,
  rocksdb_size_approximation_flags_include_files = 2,
};

enum {
  rocksdb_block_based_table_index_type_binary_search = 0,
  rocksdb_block_based_table_index_type_hash_search = 1,
  rocksdb_block_based_table_index_type_two_level_index_search = 2,
};

enum {
  rocksdb_block_based_table_data_block_index_type_binary_search = 0,
  rocksdb_block_based_table_data_block_index_type_binary_search_and_hash = 1,
};

enum {
  rocksdb_block_based_table_index_block_search_type_binary = 0,
  rocksdb_block_based_table_index_block_search_type_interpolation = 1,
};

enum {
  rocksdb_block_based_k_fallback_pinning_tier = 0,
  rocksdb_block_based_k_none_pinning_tier = 1,
  rocksdb_block_based_k_flush_and_similar_pinning_tier = 2,
  rocksdb_block_based_k_all_pinning_tier = 3,
};

enum {
  rocksdb_statistics_level_disable_all = 0,
  rocksdb_statistics_level_except_tickers = 0,
  rocksdb_statistics_level_except_histogram_or_timers = 1,
  rocksdb_statistics_level_except_timers = 2,
  rocksdb_statistics_level_except_detailed_timers = 3,
  rocksdb_statistics_level_except_time_for_mutex = 4,
  rocksdb_statistics_level_all = 5,
};

enum {
  rocksdb_prepopulate_blob_disable = 0,
  rocksdb_prepopulate_blob_flush_only = 1,
};

enum {
  rocksdb_tolerate_corrupted_tail_records_recovery = 0,
  rocksdb_absolute_consistency_recovery = 1,
  rocksdb_point_in_time_recovery = 2,
  rocksdb_skip_any_corrupted_records_recovery = 3,
};

enum {
  rocksdb_no_compression = 0,
  rocksdb_snappy_compression = 1,
  rocksdb_zlib_compression = 2,
  rocksdb_bz2_compression = 3,
  rocksdb_lz4_compression = 4,
  rocksdb_lz4hc_compression = 5,
  rocksdb_xpress_compression = 6,
  rocksdb_zstd_compression = 7,
};

enum {
  rocksdb_level_compaction = 0,
  rocksdb_universal_compaction = 1,
  rocksdb_fifo_compaction = 2,
};

enum {
  rocksdb_k_by_compensated_size_compaction_pri = 0,
  rocksdb_k_oldest_largest_seq_first_compaction_pri = 1,
  rocksdb_k_oldest_smallest_seq_first_compaction_pri = 2,
  rocksdb_k_min_overlapping_ratio_compaction_pri = 3,
  rocksdb_k_round_robin_compaction_pri = 4,
};

enum {
  rocksdb_uninitialized = 0,
  rocksdb_disable = 1,
  rocksdb_enable_count = 2,
  rocksdb_enable_time_except_for_mutex = 3,
  rocksdb_enable_time = 4,
  rocksdb_out_of_bounds = 5,
};

enum {
  rocksdb_user_key_comparison_count = 0,
  rocksdb_block_cache_hit_count = 1,
  rocksdb_block_read_count = 2,
  rocksdb_block_read_byte = 3,
  rocksdb_block_read_time = 4,
  rocksdb_block_checksum_time = 5,
  rocksdb_block_decompress_time = 6,
  rocksdb_get_read_bytes = 7,
  rocksdb_multiget_read_bytes = 8,
  rocksdb_iter_read_bytes = 9,
  rocksdb_internal_key_skipped_count = 10,
  rocksdb_internal_delete_skipped_count = 11,
  rocksdb_internal_recent_skipped_count = 12,
  rocksdb_internal_merge_count = 13,
  rocksdb_get_snapshot_time = 14,
  rocksdb_get_from_memtable_time = 15,
  rocksdb_get_from_memtable_count = 16,
  rocksdb_get_post_process_time = 17,
  rocksdb_get_from_output_files_time = 18,
  rocksdb_seek_on_memtable_time = 19,
  rocksdb_seek_on_memtable_count = 20,
  rocksdb_next_on_memtable_count = 21,
  rocksdb_prev_on_memtable_count = 22,
  rocksdb_seek_child_seek_time = 23,
  rocksdb_seek_child_seek_count = 24,
  rocksdb_seek_min_heap_time = 25,
  rocksdb_seek_max_heap_time = 26,
  rocksdb_seek_internal_seek_time = 27,
  rocksdb_find_next_user_entry_time = 28,
  rocksdb_write_wal_time = 29,
  rocksdb_write_memtable_time = 30,
  rocksdb_write_delay_time = 31,
  rocksdb_write_pre_and_post_process_time = 32,
  rocksdb_db_mutex_lock_nanos = 33,
  rocksdb_db_condition_wait_nanos = 34,
  rocksdb_merge_operator_time_nanos = 35,
  rocksdb_read_index_block_nanos = 36,
  rocksdb_read_filter_block_nanos = 37,
  rocksdb_new_table_block_iter_nanos = 38,
  rocksdb_new_table_iterator_nanos = 39,
  rocksdb_block_seek_nanos = 40,
  rocksdb_find_table_nanos = 41,
  rocksdb_bloom_memtable_hit_count = 42,
  rocksdb_bloom_memtable_miss_count = 43,
  rocksdb_bloom_sst_hit_count = 44,
  rocksdb_bloom_sst_miss_count = 45,
  rocksdb_key_lock_wait_time = 46,
  rocksdb_key_lock_wait_count = 47,
  rocksdb_env_new_sequential_file_nanos = 48,
  rocksdb_env_new_random_access_file_nanos = 49,
  rocksdb_env_new_writable_file_nanos = 50,
  rocksdb_env_reuse_writable_file_nanos = 51,
  rocksdb_env_new_random_rw_file_nanos = 52,
  rocksdb_env_new_directory_nanos = 53,
  rocksdb_env_file_exists_nanos = 54,
  rocksdb_env_get_children_nanos = 55,
  rocksdb_env_get_children_file_attributes_nanos = 56,
  rocksdb_env_delete_file_nanos = 57,
  rocksdb_env_create_dir_nanos = 58,
  rocksdb_env_create_dir_if_missing_nanos = 59,
  rocksdb_env_delete_dir_nanos = 60,
  rocksdb_env_get_file_size_nanos = 61,
  rocksdb_env_get_file_modification_time_nanos = 62,
  rocksdb_env_rename_file_nanos = 63,
  rocksdb_env_link_file_nanos = 64,
  rocksdb_env_lock_file_nanos = 65,
  rocksdb_env_unlock_file_nanos = 66,
  rocksdb_env_new_logger_nanos = 67,
  rocksdb_number_async_seek = 68,
  rocksdb_blob_cache_hit_count = 69,
  rocksdb_blob_read_count = 70,
  rocksdb_blob_read_byte = 71,
  rocksdb_blob_read_time = 72,
  rocksdb_blob_checksum_time = 73,
  rocksdb_blob_decompress_time = 74,
  rocksdb_internal_range_del_reseek_count = 75,
  rocksdb_block_read_cpu_time = 76,
  rocksdb_internal_merge_point_lookup_count = 77,
  rocksdb_data_block_read_byte = 78,
  rocksdb_index_block_read_byte = 79,
  rocksdb_filter_block_read_byte = 80,
  rocksdb_compression_dict_block_read_byte = 81,
  rocksdb_metadata_block_read_byte = 82,
  rocksdb_total_metric_count = 85,
};

enum {
  rocksdb_similar_size_compaction_stop_style = 0,
  rocksdb_total_size_compaction_stop_style = 1,
};

enum {
  rocksdb_compactionservice_jobstatus_success = 0,
  rocksdb_compactionservice_jobstatus_failure = 1,
  rocksdb_compactionservice_jobstatus_aborted = 2,
  rocksdb_compactionservice_jobstatus_use_local = 3,
};

extern ROCKSDB_LIBRARY_API rocksdb_memory_usage_t*
    rocksdb_approximate_memory_usage_create(rocksdb_memory_consumers_t* consumers, char** errptr);
extern ROCKSDB_LIBRARY_API void rocksdb_approximate_memory_usage_destroy(rocksdb_memory_usage_t*
    usage);
extern ROCKSDB_LIBRARY_API uint64_t
    rocksdb_approximate_memory_usage_get_cache_total(rocksdb_memory_usage_t* usage);
extern ROCKSDB_LIBRARY_API uint64_t
    rocksdb_approximate_memory_usage_get_mem_table_readers_total(rocksdb_memory_usage_t* usage);
extern ROCKSDB_LIBRARY_API uint64_t
    rocksdb_approximate_memory_usage_get_mem_table_total(rocksdb_memory_usage_t* usage);
extern ROCKSDB_LIBRARY_API uint64_t
    rocksdb_approximate_memory_usage_get_mem_table_unflushed(rocksdb_memory_usage_t* usage);
extern ROCKSDB_LIBRARY_API void rocksdb_approximate_sizes(rocksdb_t* db, int num, const char* const*
    starts, const size_t* start_lengths, const char* const* ends, const size_t* end_lengths,
    uint64_t* out, char** errptr);
extern ROCKSDB_LIBRARY_API void rocksdb_approximate_sizes_cf(rocksdb_t* db,
    rocksdb_column_family_handle_t* handle, int num, const char* const* starts, const size_t*
    start_lengths, const char* const* ends, const size_t* end_lengths, uint64_t* out, char**
    errptr);
extern ROCKSDB_LIBRARY_API void rocksdb_approximate_sizes_cf_with_flags(rocksdb_t* db,
    rocksdb_column_family_handle_t* handle, int num, const char* const* starts, const size_t*
    start_lengths, const char* const* ends, const size_t* end_lengths, unsigned char flags,
    uint64_t* out, char** errptr);
extern ROCKSDB_LIBRARY_API void rocksdb_backup_engine_close(rocksdb_backup_engine_t* engine);
extern ROCKSDB_LIBRARY_API void rocksdb_backup_engine_create_new_backup(rocksdb_backup_engine_t*
    engine, rocksdb_t* db, char** errptr);
extern ROCKSDB_LIBRARY_API void
    rocksdb_backup_engine_create_new_backup_flush(rocksdb_backup_engine_t* engine, rocksdb_t* db,
    unsigned char flush, char** errptr);
extern ROCKSDB_LIBRARY_API const rocksdb_backup_engine_info_t*
    rocksdb_backup_engine_get_backup_info(rocksdb_backup_engine_t* engine);
extern ROCKSDB_LIBRARY_API uint32_t rocksdb_backup_engine_info_backup_id(const
    rocksdb_backup_engine_info_t* infos, int index);
extern ROCKSDB_LIBRARY_API int rocksdb_backup_engine_info_count(const rocksdb_backup_engine_info_t*
    infos);
extern ROCKSDB_LIBRARY_API void rocksdb_backup_engine_info_destroy(const
    rocksdb_backup_engine_info_t* infos);
extern ROCKSDB_LIBRARY_API uint32_t rocksdb_backup_engine_info_number_files(const
    rocksdb_backup_engine_info_t* infos, int index);
extern ROCKSDB_LIBRARY_API uint64_t rocksdb_backup_engine_info_size(const
    rocksdb_backup_engine_info_t* infos, int index);
extern ROCKSDB_LIBRARY_API int64_t rocksdb_backup_engine_info_timestamp(const
    rocksdb_backup_engine_info_t* infos, int index);
extern ROCKSDB_LIBRARY_API rocksdb_backup_engine_t* rocksdb_backup_engine_open(const
    rocksdb_options_t* options, const char* dir, char** errptr);
extern ROCKSDB_LIBRARY_API rocksdb_backup_engine_t* rocksdb_backup_engine_open_opts(const
    rocksdb_backup_engine_options_t* options, rocksdb_env_t* env, char** errptr);
extern ROCKSDB_LIBRARY_API rocksdb_backup_engine_options_t*
    rocksdb_backup_engine_options_create(const char* dir);
extern ROCKSDB_LIBRARY_API void
    rocksdb_backup_engine_options_destroy(rocksdb_backup_engine_options_t* options);
extern ROCKSDB_LIBRARY_API unsigned char
    rocksdb_backup_engine_options_get_backup_log_files(rocksdb_backup_engine_options_t* options);
extern ROCKSDB_LIBRARY_API uint64_t
    rocksdb_backup_engine_options_get_backup_rate_limit(rocksdb_backup_engine_options_t* options);
extern ROCKSDB_LIBRARY_API uint64_t
    rocksdb_backup_engine_options_get_callback_trigger_interval_size(rocksdb_backup_engine_options_t*
    options);
extern ROCKSDB_LIBRARY_API unsigned char
    rocksdb_backup_engine_options_get_destroy_old_data(rocksdb_backup_engine_options_t* options);
extern ROCKSDB_LIBRARY_API int
    rocksdb_backup_engine_options_get_max_background_operations(rocksdb_backup_engine_options_t*
    options);
extern ROCKSDB_LIBRARY_API int
    rocksdb_backup_engine_options_get_max_valid_backups_to_open(rocksdb_backup_engine_options_t*
    options);
extern ROCKSDB_LIBRARY_API uint64_t
    rocksdb_backup_engine_options_get_restore_rate_limit(rocksdb_backup_engine_options_t* options);
extern ROCKSDB_LIBRARY_API int
    rocksdb_backup_engine_options_get_share_files_with_checksum_naming(rocksdb_backup_engine_options_t*
    options);
extern ROCKSDB_LIBRARY_API unsigned char
    rocksdb_backup_engine_options_get_share_table_files(rocksdb_backup_engine_options_t* options);
extern ROCKSDB_LIBRARY_API unsigned char
    rocksdb_backup_engine_options_get_sync(rocksdb_backup_engine_options_t* options);
extern ROCKSDB_LIBRARY_API void
    rocksdb_backup_engine_options_set_backup_dir(rocksdb_backup_engine_options_t* options, const
    char* dir);
extern ROCKSDB_LIBRARY_API void
    rocksdb_backup_engine_options_set_backup_log_files(rocksdb_backup_engine_options_t* options,
    unsigned char value);
extern ROCKSDB_LIBRARY_API void
    rocksdb_backup_engine_options_set_backup_rate_limit(rocksdb_backup_engine_options_t* options,
    uint64_t value);
extern ROCKSDB_LIBRARY_API void
    rocksdb_backup_engine_options_set_callback_trigger_interval_size(rocksdb_backup_engine_options_t*
    options, uint64_t value);
extern ROCKSDB_LIBRARY_API void
    rocksdb_backup_engine_options_set_destroy_old_data(rocksdb_backup_engine_options_t* options,
    unsigned char value);
extern ROCKSDB_LIBRARY_API void
    rocksdb_backup_engine_options_set_env(rocksdb_backup_engine_options_t* options, rocksdb_env_t*
    env);
extern ROCKSDB_LIBRARY_API void
    rocksdb_backup_engine_options_set_max_background_operations(rocksdb_backup_engine_options_t*
    options, int value);
extern ROCKSDB_LIBRARY_API void
    rocksdb_backup_engine_options_set_max_valid_backups_to_open(rocksdb_backup_engine_options_t*
    options, int value);
extern ROCKSDB_LIBRARY_API void
    rocksdb_backup_engine_options_set_restore_rate_limit(rocksdb_backup_engine_options_t* options,
    uint64_t value);
extern ROCKSDB_LIBRARY_API void
    rocksdb_backup_engine_options_set_share_files_with_checksum_naming(rocksdb_backup_engine_options_t*
    options, int value);
extern ROCKSDB_LIBRARY_API void
    rocksdb_backup_engine_options_set_share_table_files(rocksdb_backup_engine_options_t* options,
    unsigned char value);
extern ROCKSDB_LIBRARY_API void
    rocksdb_backup_engine_options_set_sync(rocksdb_backup_engine_options_t* options, unsigned char
    value);
extern ROCKSDB_LIBRARY_API void rocksdb_backup_engine_purge_old_backups(rocksdb_backup_engine_t*
    engine, uint32_t keep, char** errptr);
extern ROCKSDB_LIBRARY_API void
    rocksdb_backup_engine_restore_db_from_backup(rocksdb_backup_engine_t* engine, const char*
    db_dir, const char* wal_dir, const rocksdb_restore_options_t* options, uint32_t backup_id,
    char** errptr);
extern ROCKSDB_LIBRARY_API void
    rocksdb_backup_engine_restore_db_from_latest_backup(rocksdb_backup_engine_t* engine, const char*
    db_dir, const char* wal_dir, const rocksdb_restore_options_t* options, char** errptr);
extern ROCKSDB_LIBRARY_API void rocksdb_backup_engine_verify_backup(rocksdb_backup_engine_t* engine,
    uint32_t backup_id, char** errptr);
extern ROCKSDB_LIBRARY_API void rocksdb_batched_multi_get_cf(rocksdb_t* db, const
    rocksdb_readoptions_t* options, rocksdb_column_family_handle_t* handle, size_t num, const char*
    const* keys, const size_t* lengths, rocksdb_pinnableslice_t** values, char** errs, bool sorted);
extern ROCKSDB_LIBRARY_API void rocksdb_batched_multi_get_cf_slice(rocksdb_t* db, const
    rocksdb_readoptions_t* options, rocksdb_column_family_handle_t* handle, size_t num, const
    rocksdb_slice_t* keys, rocksdb_pinnableslice_t** values, char** errs, bool sorted);
extern ROCKSDB_LIBRARY_API rocksdb_block_based_table_options_t*
    rocksdb_block_based_options_create(void);
extern ROCKSDB_LIBRARY_API void
    rocksdb_block_based_options_destroy(rocksdb_block_based_table_options_t* options);
extern ROCKSDB_LIBRARY_API void
    rocksdb_block_based_options_set_block_align(rocksdb_block_based_table_options_t* options,
    unsigned char value);
extern ROCKSDB_LIBRARY_API void
    rocksdb_block_based_options_set_block_cache(rocksdb_block_based_table_options_t* options,
    rocksdb_cache_t* cache);
extern ROCKSDB_LIBRARY_API void
    rocksdb_block_based_options_set_block_cache_compressed(rocksdb_block_based_table_options_t*
    options, rocksdb_cache_t* cache);
extern ROCKSDB_LIBRARY_API void
    rocksdb_block_based_options_set_block_restart_interval(rocksdb_block_based_table_options_t*
    options, int value);
extern ROCKSDB_LIBRARY_API void
    rocksdb_block_based_options_set_block_size(rocksdb_block_based_table_options_t* options, size_t
    value);
extern ROCKSDB_LIBRARY_API void
    rocksdb_block_based_options_set_block_size_deviation(rocksdb_block_based_table_options_t*
    options, int value);
extern ROCKSDB_LIBRARY_API void
    rocksdb_block_based_options_set_cache_index_and_filter_blocks(rocksdb_block_based_table_options_t*
    options, unsigned char value);
extern ROCKSDB_LIBRARY_API void
    rocksdb_block_based_options_set_cache_index_and_filter_blocks_with_high_priority(rocksdb_block_based_table_options_t*
    options, unsigned char value);
extern ROCKSDB_LIBRARY_API void
    rocksdb_block_based_options_set_checksum(rocksdb_block_based_table_options_t* options, char
    value);
extern ROCKSDB_LIBRARY_API void
    rocksdb_block_based_options_set_data_block_hash_ratio(rocksdb_block_based_table_options_t*
    options, double value);
extern ROCKSDB_LIBRARY_API void
    rocksdb_block_based_options_set_data_block_index_type(rocksdb_block_based_table_options_t*
    options, int value);
extern ROCKSDB_LIBRARY_API void
    rocksdb_block_based_options_set_filter_policy(rocksdb_block_based_table_options_t* options,
    rocksdb_filterpolicy_t* policy);
extern ROCKSDB_LIBRARY_API void
    rocksdb_block_based_options_set_format_version(rocksdb_block_based_table_options_t* options, int
    value);
extern ROCKSDB_LIBRARY_API void
    rocksdb_block_based_options_set_index_block_restart_interval(rocksdb_block_based_table_options_t*
    options, int value);
extern ROCKSDB_LIBRARY_API void
    rocksdb_block_based_options_set_index_block_search_type(rocksdb_block_based_table_options_t*
    options, int value);
extern ROCKSDB_LIBRARY_API void
    rocksdb_block_based_options_set_index_type(rocksdb_block_based_table_options_t* options, int
    value);
extern ROCKSDB_LIBRARY_API void
    rocksdb_block_based_options_set_metadata_block_size(rocksdb_block_based_table_options_t*
    options, uint64_t value);
extern ROCKSDB_LIBRARY_API void
    rocksdb_block_based_options_set_no_block_cache(rocksdb_block_based_table_options_t* options,
    unsigned char no_cache);
extern ROCKSDB_LIBRARY_API void
    rocksdb_block_based_options_set_optimize_filters_for_memory(rocksdb_block_based_table_options_t*
    options, unsigned char value);
extern ROCKSDB_LIBRARY_API void
    rocksdb_block_based_options_set_partition_filters(rocksdb_block_based_table_options_t* options,
    unsigned char value);
extern ROCKSDB_LIBRARY_API void
    rocksdb_block_based_options_set_partition_pinning_tier(rocksdb_block_based_table_options_t*
    options, int value);
extern ROCKSDB_LIBRARY_API void
    rocksdb_block_based_options_set_pin_l0_filter_and_index_blocks_in_cache(rocksdb_block_based_table_options_t*
    options, unsigned char value);
extern ROCKSDB_LIBRARY_API void
    rocksdb_block_based_options_set_pin_top_level_index_and_filter(rocksdb_block_based_table_options_t*
    options, unsigned char value);
extern ROCKSDB_LIBRARY_API void
    rocksdb_block_based_options_set_separate_key_value_in_data_block(rocksdb_block_based_table_options_t*
    options, unsigned char value);
extern ROCKSDB_LIBRARY_API void
    rocksdb_block_based_options_set_top_level_index_pinning_tier(rocksdb_block_based_table_options_t*
    options, int value);
extern ROCKSDB_LIBRARY_API void
    rocksdb_block_based_options_set_unpartitioned_pinning_tier(rocksdb_block_based_table_options_t*
    options, int value);
extern ROCKSDB_LIBRARY_API void
    rocksdb_block_based_options_set_use_delta_encoding(rocksdb_block_based_table_options_t* options,
    unsigned char value);
extern ROCKSDB_LIBRARY_API void
    rocksdb_block_based_options_set_whole_key_filtering(rocksdb_block_based_table_options_t*
    options, unsigned char value);
extern ROCKSDB_LIBRARY_API rocksdb_cache_t* rocksdb_cache_create_hyper_clock(size_t capacity, size_t
    charge);
extern ROCKSDB_LIBRARY_API rocksdb_cache_t* rocksdb_cache_create_hyper_clock_opts(const
    rocksdb_hyper_clock_cache_options_t* options);
extern ROCKSDB_LIBRARY_API rocksdb_cache_t* rocksdb_cache_create_lru(size_t capacity);
extern ROCKSDB_LIBRARY_API rocksdb_cache_t* rocksdb_cache_create_lru_opts(const
    rocksdb_lru_cache_options_t* options);
extern ROCKSDB_LIBRARY_API rocksdb_cache_t*
    rocksdb_cache_create_lru_with_strict_capacity_limit(size_t capacity);
extern ROCKSDB_LIBRARY_API void rocksdb_cache_destroy(rocksdb_cache_t* cache);
extern ROCKSDB_LIBRARY_API void rocksdb_cache_disown_data(rocksdb_cache_t* cache);
extern ROCKSDB_LIBRARY_API size_t rocksdb_cache_get_capacity(const rocksdb_cache_t* options);
extern ROCKSDB_LIBRARY_API size_t rocksdb_cache_get_occupancy_count(const rocksdb_cache_t* cache);
extern ROCKSDB_LIBRARY_API size_t rocksdb_cache_get_pinned_usage(const rocksdb_cache_t* cache);
extern ROCKSDB_LIBRARY_API size_t rocksdb_cache_get_table_address_count(const rocksdb_cache_t*
    cache);
extern ROCKSDB_LIBRARY_API size_t rocksdb_cache_get_usage(const rocksdb_cache_t* cache);
extern ROCKSDB_LIBRARY_API void rocksdb_cache_set_capacity(rocksdb_cache_t* options, size_t value);
extern ROCKSDB_LIBRARY_API void rocksdb_cancel_all_background_work(rocksdb_t* db, unsigned char
    wait);
extern ROCKSDB_LIBRARY_API void rocksdb_checkpoint_create(rocksdb_checkpoint_t* checkpoint, const
    char* dir, uint64_t log_size, char** errptr);
extern ROCKSDB_LIBRARY_API rocksdb_export_import_files_metadata_t*
    rocksdb_checkpoint_export_column_family(rocksdb_checkpoint_t* checkpoint,
    rocksdb_column_family_handle_t* handle, const char* dir, char** errptr);
extern ROCKSDB_LIBRARY_API rocksdb_checkpoint_t* rocksdb_checkpoint_object_create(rocksdb_t* db,
    char** errptr);
extern ROCKSDB_LIBRARY_API void rocksdb_checkpoint_object_destroy(rocksdb_checkpoint_t* checkpoint);
extern ROCKSDB_LIBRARY_API void rocksdb_close(rocksdb_t* db);
extern ROCKSDB_LIBRARY_API void rocksdb_column_family_handle_destroy(rocksdb_column_family_handle_t*
    handle);
extern ROCKSDB_LIBRARY_API uint32_t
    rocksdb_column_family_handle_get_id(rocksdb_column_family_handle_t* handle);
extern ROCKSDB_LIBRARY_API char*
    rocksdb_column_family_handle_get_name(rocksdb_column_family_handle_t* handle, size_t* len);
extern ROCKSDB_LIBRARY_API void
    rocksdb_column_family_metadata_destroy(rocksdb_column_family_metadata_t* family);
extern ROCKSDB_LIBRARY_API size_t
    rocksdb_column_family_metadata_get_file_count(rocksdb_column_family_metadata_t* family);
extern ROCKSDB_LIBRARY_API size_t
    rocksdb_column_family_metadata_get_level_count(rocksdb_column_family_metadata_t* family);
extern ROCKSDB_LIBRARY_API rocksdb_level_metadata_t*
    rocksdb_column_family_metadata_get_level_metadata(rocksdb_column_family_metadata_t* family,
    size_t at);
extern ROCKSDB_LIBRARY_API char*
    rocksdb_column_family_metadata_get_name(rocksdb_column_family_metadata_t* family);
extern ROCKSDB_LIBRARY_API uint64_t
    rocksdb_column_family_metadata_get_size(rocksdb_column_family_metadata_t* family);
extern ROCKSDB_LIBRARY_API void rocksdb_compact_range(rocksdb_t* db, const char* start, size_t
    start_len, const char* end, size_t end_len);
extern ROCKSDB_LIBRARY_API void rocksdb_compact_range_cf(rocksdb_t* db,
    rocksdb_column_family_handle_t* handle, const char* start, size_t start_len, const char* end,
    size_t end_len);
extern ROCKSDB_LIBRARY_API void rocksdb_compact_range_cf_opt(rocksdb_t* db,
    rocksdb_column_family_handle_t* handle, rocksdb_compactoptions_t* options, const char* start,
    size_t start_len, const char* end, size_t end_len);
extern ROCKSDB_LIBRARY_API void rocksdb_compact_range_opt(rocksdb_t* db, rocksdb_compactoptions_t*
    options, const char* start, size_t start_len, const char* end, size_t end_len);
extern ROCKSDB_LIBRARY_API void
    rocksdb_compaction_service_options_override_add_event_listener(rocksdb_compaction_service_options_override_t*
    options, rocksdb_eventlistener_t* listener);
extern ROCKSDB_LIBRARY_API void
    rocksdb_compaction_service_options_override_add_table_properties_collector_factory(rocksdb_compaction_service_options_override_t*
    options, rocksdb_table_properties_collector_factory_t* factory);
extern ROCKSDB_LIBRARY_API rocksdb_compaction_service_options_override_t*
    rocksdb_compaction_service_options_override_create(void);
extern ROCKSDB_LIBRARY_API rocksdb_compaction_service_options_override_t*
    rocksdb_compaction_service_options_override_create_from_options(rocksdb_options_t* options);
extern ROCKSDB_LIBRARY_API void
    rocksdb_compaction_service_options_override_destroy(rocksdb_compaction_service_options_override_t*
    options);
extern ROCKSDB_LIBRARY_API void
    rocksdb_compaction_service_options_override_set_block_based_table_factory(rocksdb_compaction_service_options_override_t*
    options, rocksdb_block_based_table_options_t* table);
extern ROCKSDB_LIBRARY_API void
    rocksdb_compaction_service_options_override_set_compaction_filter(rocksdb_compaction_service_options_override_t*
    options, rocksdb_compactionfilter_t* filter);
extern ROCKSDB_LIBRARY_API void
    rocksdb_compaction_service_options_override_set_compaction_filter_factory(rocksdb_compaction_service_options_override_t*
    options, rocksdb_compactionfilterfactory_t* factory);
extern ROCKSDB_LIBRARY_API void
    rocksdb_compaction_service_options_override_set_comparator(rocksdb_compaction_service_options_override_t*
    options, rocksdb_comparator_t* comparator);
extern ROCKSDB_LIBRARY_API void
    rocksdb_compaction_service_options_override_set_cuckoo_table_factory(rocksdb_compaction_service_options_override_t*
    options, rocksdb_cuckoo_table_options_t* table);
extern ROCKSDB_LIBRARY_API void
    rocksdb_compaction_service_options_override_set_env(rocksdb_compaction_service_options_override_t*
    options, rocksdb_env_t* env);
extern ROCKSDB_LIBRARY_API void
    rocksdb_compaction_service_options_override_set_file_checksum_gen_factory(rocksdb_compaction_service_options_override_t*
    options, rocksdb_file_checksum_gen_factory_t* factory);
extern ROCKSDB_LIBRARY_API void
    rocksdb_compaction_service_options_override_set_info_log(rocksdb_compaction_service_options_override_t*
    options, rocksdb_logger_t* logger);
extern ROCKSDB_LIBRARY_API void
    rocksdb_compaction_service_options_override_set_merge_operator(rocksdb_compaction_service_options_override_t*
    options, rocksdb_mergeoperator_t* merge_operator);
extern ROCKSDB_LIBRARY_API void
    rocksdb_compaction_service_options_override_set_option(rocksdb_compaction_service_options_override_t*
    options, const char* key, const char* value);
extern ROCKSDB_LIBRARY_API void
    rocksdb_compaction_service_options_override_set_prefix_extractor(rocksdb_compaction_service_options_override_t*
    options, rocksdb_slicetransform_t* transform);
extern ROCKSDB_LIBRARY_API void
    rocksdb_compaction_service_options_override_set_sst_partitioner_factory(rocksdb_compaction_service_options_override_t*
    options, rocksdb_sst_partitioner_factory_t* factory);
extern ROCKSDB_LIBRARY_API void
    rocksdb_compaction_service_options_override_set_statistics(rocksdb_compaction_service_options_override_t*
    options, rocksdb_options_t* from);
extern ROCKSDB_LIBRARY_API rocksdb_compactionfilter_t* rocksdb_compactionfilter_create(void* state,
    void (*destructor)(void*), unsigned char (*filter)(void*, int, const char*, size_t, const char*,
    size_t, char**, size_t*, unsigned char*), const char* (*name)(void*));
extern ROCKSDB_LIBRARY_API void rocksdb_compactionfilter_destroy(rocksdb_compactionfilter_t*
    filter);
extern ROCKSDB_LIBRARY_API void
    rocksdb_compactionfilter_set_ignore_snapshots(rocksdb_compactionfilter_t* filter, unsigned char
    ignore);
extern ROCKSDB_LIBRARY_API unsigned char
    rocksdb_compactionfiltercontext_is_full_compaction(rocksdb_compactionfiltercontext_t* context);
extern ROCKSDB_LIBRARY_API unsigned char
    rocksdb_compactionfiltercontext_is_manual_compaction(rocksdb_compactionfiltercontext_t*
    context);
extern ROCKSDB_LIBRARY_API rocksdb_compactionfilterfactory_t*
    rocksdb_compactionfilterfactory_create(void* state, void (*destructor)(void*),
    rocksdb_compactionfilter_t* (*create)(void*, rocksdb_compactionfiltercontext_t*), const char*
    (*name)(void*));
extern ROCKSDB_LIBRARY_API void
    rocksdb_compactionfilterfactory_destroy(rocksdb_compactionfilterfactory_t* factory);
extern ROCKSDB_LIBRARY_API int rocksdb_compactionjobinfo_base_input_level(const
    rocksdb_compactionjobinfo_t* info);
extern ROCKSDB_LIBRARY_API const char* rocksdb_compactionjobinfo_cf_name(const
    rocksdb_compactionjobinfo_t* info, size_t* len);
extern ROCKSDB_LIBRARY_API uint32_t rocksdb_compactionjobinfo_compaction_reason(const
    rocksdb_compactionjobinfo_t* info);
extern ROCKSDB_LIBRARY_API uint64_t rocksdb_compactionjobinfo_elapsed_micros(const
    rocksdb_compactionjobinfo_t* info);
extern ROCKSDB_LIBRARY_API const char* rocksdb_compactionjobinfo_input_file_at(const
    rocksdb_compactionjobinfo_t* info, size_t at, size_t* len);
extern ROCKSDB_LIBRARY_API size_t rocksdb_compactionjobinfo_input_files_count(const
    rocksdb_compactionjobinfo_t* info);
extern ROCKSDB_LIBRARY_API uint64_t rocksdb_compactionjobinfo_input_records(const
    rocksdb_compactionjobinfo_t* info);
extern ROCKSDB_LIBRARY_API uint64_t rocksdb_compactionjobinfo_num_corrupt_keys(const
    rocksdb_compactionjobinfo_t* info);
extern ROCKSDB_LIBRARY_API size_t rocksdb_compactionjobinfo_num_input_files(const
    rocksdb_compactionjobinfo_t* info);
extern ROCKSDB_LIBRARY_API size_t rocksdb_compactionjobinfo_num_input_files_at_output_level(const
    rocksdb_compactionjobinfo_t* info);
extern ROCKSDB_LIBRARY_API const char* rocksdb_compactionjobinfo_output_file_at(const
    rocksdb_compactionjobinfo_t* info, size_t at, size_t* len);
extern ROCKSDB_LIBRARY_API size_t rocksdb_compactionjobinfo_output_files_count(const
    rocksdb_compactionjobinfo_t* info);
extern ROCKSDB_LIBRARY_API int rocksdb_compactionjobinfo_output_level(const
    rocksdb_compactionjobinfo_t* info);
extern ROCKSDB_LIBRARY_API uint64_t rocksdb_compactionjobinfo_output_records(const
    rocksdb_compactionjobinfo_t* info);
extern ROCKSDB_LIBRARY_API void rocksdb_compactionjobinfo_status(const rocksdb_compactionjobinfo_t*
    info, char** errptr);
extern ROCKSDB_LIBRARY_API uint64_t rocksdb_compactionjobinfo_total_input_bytes(const
    rocksdb_compactionjobinfo_t* info);
extern ROCKSDB_LIBRARY_API uint64_t rocksdb_compactionjobinfo_total_output_bytes(const
    rocksdb_compactionjobinfo_t* info);
extern ROCKSDB_LIBRARY_API rocksdb_compactionservice_t* rocksdb_compactionservice_create(void*
    state, void (*destructor)(void*), rocksdb_compactionservice_scheduleresponse_t*
    (*schedule)(void*, const rocksdb_compactionservice_jobinfo_t*, const char*, size_t), const char*
    name, int (*wait)(void*, const char*, char**, size_t*), void (*cancel)(void*), void
    (*on_installation)(void*, const char*, int));
extern ROCKSDB_LIBRARY_API int rocksdb_compactionservice_jobinfo_t_get_base_input_level(const
    rocksdb_compactionservice_jobinfo_t* info);
extern ROCKSDB_LIBRARY_API uint32_t rocksdb_compactionservice_jobinfo_t_get_cf_id(const
    rocksdb_compactionservice_jobinfo_t* info);
extern ROCKSDB_LIBRARY_API const char* rocksdb_compactionservice_jobinfo_t_get_cf_name(const
    rocksdb_compactionservice_jobinfo_t* info, size_t* len);
extern ROCKSDB_LIBRARY_API int rocksdb_compactionservice_jobinfo_t_get_compaction_reason(const
    rocksdb_compactionservice_jobinfo_t* info);
extern ROCKSDB_LIBRARY_API const char* rocksdb_compactionservice_jobinfo_t_get_db_id(const
    rocksdb_compactionservice_jobinfo_t* info, size_t* len);
extern ROCKSDB_LIBRARY_API const char* rocksdb_compactionservice_jobinfo_t_get_db_name(const
    rocksdb_compactionservice_jobinfo_t* info, size_t* len);
extern ROCKSDB_LIBRARY_API const char* rocksdb_compactionservice_jobinfo_t_get_db_session_id(const
    rocksdb_compactionservice_jobinfo_t* info, size_t* len);
extern ROCKSDB_LIBRARY_API uint64_t rocksdb_compactionservice_jobinfo_t_get_job_id(const
    rocksdb_compactionservice_jobinfo_t* info);
extern ROCKSDB_LIBRARY_API int rocksdb_compactionservice_jobinfo_t_get_output_level(const
    rocksdb_compactionservice_jobinfo_t* info);
extern ROCKSDB_LIBRARY_API int rocksdb_compactionservice_jobinfo_t_get_priority(const
    rocksdb_compactionservice_jobinfo_t* info);
extern ROCKSDB_LIBRARY_API unsigned char
    rocksdb_compactionservice_jobinfo_t_is_bottommost_level(const
    rocksdb_compactionservice_jobinfo_t* info);
extern ROCKSDB_LIBRARY_API unsigned char
    rocksdb_compactionservice_jobinfo_t_is_full_compaction(const
    rocksdb_compactionservice_jobinfo_t* info);
extern ROCKSDB_LIBRARY_API unsigned char
    rocksdb_compactionservice_jobinfo_t_is_manual_compaction(const
    rocksdb_compactionservice_jobinfo_t* info);
extern ROCKSDB_LIBRARY_API rocksdb_compactionservice_scheduleresponse_t*
    rocksdb_compactionservice_scheduleresponse_create(const char* id, int status, char** errptr);
extern ROCKSDB_LIBRARY_API rocksdb_compactionservice_scheduleresponse_t*
    rocksdb_compactionservice_scheduleresponse_create_with_status(int status, char** errptr);
extern ROCKSDB_LIBRARY_API const char*
    rocksdb_compactionservice_scheduleresponse_get_scheduled_job_id(const
    rocksdb_compactionservice_scheduleresponse_t* response, size_t* len);
extern ROCKSDB_LIBRARY_API int rocksdb_compactionservice_scheduleresponse_getstatus(const
    rocksdb_compactionservice_scheduleresponse_t* response);
extern ROCKSDB_LIBRARY_API void
    rocksdb_compactionservice_scheduleresponse_t_destroy(rocksdb_compactionservice_scheduleresponse_t*
    response);
extern ROCKSDB_LIBRARY_API rocksdb_compactoptions_t* rocksdb_compactoptions_create(void);
extern ROCKSDB_LIBRARY_API void rocksdb_compactoptions_destroy(rocksdb_compactoptions_t* options);
extern ROCKSDB_LIBRARY_API unsigned char
    rocksdb_compactoptions_get_allow_write_stall(rocksdb_compactoptions_t* options);
extern ROCKSDB_LIBRARY_API unsigned char
    rocksdb_compactoptions_get_bottommost_level_compaction(rocksdb_compactoptions_t* options);
extern ROCKSDB_LIBRARY_API unsigned char
    rocksdb_compactoptions_get_change_level(rocksdb_compactoptions_t* options);
extern ROCKSDB_LIBRARY_API unsigned char
    rocksdb_compactoptions_get_exclusive_manual_compaction(rocksdb_compactoptions_t* options);
extern ROCKSDB_LIBRARY_API int
    rocksdb_compactoptions_get_max_subcompactions(rocksdb_compactoptions_t* options);
extern ROCKSDB_LIBRARY_API int rocksdb_compactoptions_get_target_level(rocksdb_compactoptions_t*
    options);
extern ROCKSDB_LIBRARY_API int rocksdb_compactoptions_get_target_path_id(rocksdb_compactoptions_t*
    options);
extern ROCKSDB_LIBRARY_API void
    rocksdb_compactoptions_set_allow_write_stall(rocksdb_compactoptions_t* options, unsigned char
    value);
extern ROCKSDB_LIBRARY_API void
    rocksdb_compactoptions_set_bottommost_level_compaction(rocksdb_compactoptions_t* options,
    unsigned char value);
extern ROCKSDB_LIBRARY_API void rocksdb_compactoptions_set_change_level(rocksdb_compactoptions_t*
    options, unsigned char value);
extern ROCKSDB_LIBRARY_API void
    rocksdb_compactoptions_set_exclusive_manual_compaction(rocksdb_compactoptions_t* options,
    unsigned char value);
extern ROCKSDB_LIBRARY_API void
    rocksdb_compactoptions_set_full_history_ts_low(rocksdb_compactoptions_t* options, char* ts,
    size_t len);
extern ROCKSDB_LIBRARY_API void
    rocksdb_compactoptions_set_max_subcompactions(rocksdb_compactoptions_t* options, int value);
extern ROCKSDB_LIBRARY_API void rocksdb_compactoptions_set_target_level(rocksdb_compactoptions_t*
    options, int value);
extern ROCKSDB_LIBRARY_API void rocksdb_compactoptions_set_target_path_id(rocksdb_compactoptions_t*
    options, int value);
extern ROCKSDB_LIBRARY_API rocksdb_comparator_t* rocksdb_comparator_create(void* state, void
    (*destructor)(void*), int (*compare)(void*, const char*, size_t, const char*, size_t), const
    char* (*name)(void*));
extern ROCKSDB_LIBRARY_API void rocksdb_comparator_destroy(rocksdb_comparator_t* comparator);
extern ROCKSDB_LIBRARY_API rocksdb_comparator_t* rocksdb_comparator_with_ts_create(void* state, void
    (*destructor)(void*), int (*compare)(void*, const char*, size_t, const char*, size_t), int
    (*compare_ts)(void*, const char*, size_t, const char*, size_t), int (*without_ts)(void*, const
    char*, size_t, unsigned char, const char*, size_t, unsigned char), const char* (*name)(void*),
    size_t timestamp_size);
extern ROCKSDB_LIBRARY_API rocksdb_column_family_handle_t**
    rocksdb_create_column_families(rocksdb_t* db, const rocksdb_options_t* options, int num, const
    char* const* names, size_t* len, char** errptr);
extern ROCKSDB_LIBRARY_API void
    rocksdb_create_column_families_destroy(rocksdb_column_family_handle_t** list);
extern ROCKSDB_LIBRARY_API rocksdb_column_family_handle_t* rocksdb_create_column_family(rocksdb_t*
    db, const rocksdb_options_t* options, const char* name, char** errptr);
extern ROCKSDB_LIBRARY_API rocksdb_column_family_handle_t*
    rocksdb_create_column_family_with_import(rocksdb_t* db, rocksdb_options_t* options, const char*
    name, rocksdb_import_column_family_options_t* import, rocksdb_export_import_files_metadata_t*
    metadata, char** errptr);
extern ROCKSDB_LIBRARY_API rocksdb_column_family_handle_t*
    rocksdb_create_column_family_with_ttl(rocksdb_t* db, const rocksdb_options_t* options, const
    char* name, int seconds, char** errptr);
extern ROCKSDB_LIBRARY_API rocksdb_env_t* rocksdb_create_default_env(void);
extern ROCKSDB_LIBRARY_API void rocksdb_create_dir_if_missing(rocksdb_env_t* env, const char* path,
    char** errptr);
extern ROCKSDB_LIBRARY_API rocksdb_iterator_t* rocksdb_create_iterator(rocksdb_t* db, const
    rocksdb_readoptions_t* options);
extern ROCKSDB_LIBRARY_API rocksdb_iterator_t* rocksdb_create_iterator_cf(rocksdb_t* db, const
    rocksdb_readoptions_t* options, rocksdb_column_family_handle_t* handle);
extern ROCKSDB_LIBRARY_API void rocksdb_create_iterators(rocksdb_t* db, rocksdb_readoptions_t*
    options, rocksdb_column_family_handle_t** handles, rocksdb_iterator_t** iterators, size_t len,
    char** errptr);
extern ROCKSDB_LIBRARY_API rocksdb_env_t* rocksdb_create_mem_env(void);
extern ROCKSDB_LIBRARY_API const rocksdb_snapshot_t* rocksdb_create_snapshot(rocksdb_t* db);
extern ROCKSDB_LIBRARY_API rocksdb_cuckoo_table_options_t* rocksdb_cuckoo_options_create(void);
extern ROCKSDB_LIBRARY_API void rocksdb_cuckoo_options_destroy(rocksdb_cuckoo_table_options_t*
    options);
extern ROCKSDB_LIBRARY_API void
    rocksdb_cuckoo_options_set_cuckoo_block_size(rocksdb_cuckoo_table_options_t* options, uint32_t
    value);
extern ROCKSDB_LIBRARY_API void
    rocksdb_cuckoo_options_set_hash_ratio(rocksdb_cuckoo_table_options_t* options, double value);
extern ROCKSDB_LIBRARY_API void
    rocksdb_cuckoo_options_set_identity_as_first_hash(rocksdb_cuckoo_table_options_t* options,
    unsigned char value);
extern ROCKSDB_LIBRARY_API void
    rocksdb_cuckoo_options_set_max_search_depth(rocksdb_cuckoo_table_options_t* options, uint32_t
    value);
extern ROCKSDB_LIBRARY_API void
    rocksdb_cuckoo_options_set_use_module_hash(rocksdb_cuckoo_table_options_t* options, unsigned
    char value);
extern ROCKSDB_LIBRARY_API rocksdb_dbpath_t* rocksdb_dbpath_create(const char* path, uint64_t
    target_size);
extern ROCKSDB_LIBRARY_API void rocksdb_dbpath_destroy(rocksdb_dbpath_t* path);
extern ROCKSDB_LIBRARY_API void rocksdb_delete(rocksdb_t* db, const rocksdb_writeoptions_t* options,
    const char* key, size_t keylen, char** errptr);
extern ROCKSDB_LIBRARY_API void rocksdb_delete_cf(rocksdb_t* db, const rocksdb_writeoptions_t*
    options, rocksdb_column_family_handle_t* handle, const char* key, size_t keylen, char** errptr);
extern ROCKSDB_LIBRARY_API void rocksdb_delete_cf_with_ts(rocksdb_t* db, const
    rocksdb_writeoptions_t* options, rocksdb_column_family_handle_t* handle, const char* key, size_t
    keylen, const char* ts, size_t tslen, char** errptr);
extern ROCKSDB_LIBRARY_API void rocksdb_delete_file(rocksdb_t* db, const char* name);
extern ROCKSDB_LIBRARY_API void rocksdb_delete_file_in_range(rocksdb_t* db, const char* start,
    size_t start_len, const char* end, size_t end_len, char** errptr);
extern ROCKSDB_LIBRARY_API void rocksdb_delete_file_in_range_cf(rocksdb_t* db,
    rocksdb_column_family_handle_t* handle, const char* start, size_t start_len, const char* end,
    size_t end_len, char** errptr);
extern ROCKSDB_LIBRARY_API void rocksdb_delete_range_cf(rocksdb_t* db, const rocksdb_writeoptions_t*
    options, rocksdb_column_family_handle_t* handle, const char* start, size_t start_len, const
    char* end, size_t end_len, char** errptr);
extern ROCKSDB_LIBRARY_API void rocksdb_delete_with_ts(rocksdb_t* db, const rocksdb_writeoptions_t*
    options, const char* key, size_t keylen, const char* ts, size_t tslen, char** errptr);
extern ROCKSDB_LIBRARY_API void rocksdb_destroy_db(const rocksdb_options_t* options, const char*
    name, char** errptr);
extern ROCKSDB_LIBRARY_API void rocksdb_disable_file_deletions(rocksdb_t* db, char** errptr);
extern ROCKSDB_LIBRARY_API void rocksdb_disable_manual_compaction(rocksdb_t* db);
extern ROCKSDB_LIBRARY_API void rocksdb_drop_column_family(rocksdb_t* db,
    rocksdb_column_family_handle_t* handle, char** errptr);
extern ROCKSDB_LIBRARY_API void rocksdb_enable_manual_compaction(rocksdb_t* db);
extern ROCKSDB_LIBRARY_API void rocksdb_env_destroy(rocksdb_env_t* env);
extern ROCKSDB_LIBRARY_API int rocksdb_env_get_background_threads(rocksdb_env_t* options);
extern ROCKSDB_LIBRARY_API int rocksdb_env_get_bottom_priority_background_threads(rocksdb_env_t*
    options);
extern ROCKSDB_LIBRARY_API int rocksdb_env_get_high_priority_background_threads(rocksdb_env_t*
    options);
extern ROCKSDB_LIBRARY_API int rocksdb_env_get_low_priority_background_threads(rocksdb_env_t*
    options);
extern ROCKSDB_LIBRARY_API void rocksdb_env_join_all_threads(rocksdb_env_t* env);
extern ROCKSDB_LIBRARY_API void
    rocksdb_env_lower_high_priority_thread_pool_cpu_priority(rocksdb_env_t* env);
extern ROCKSDB_LIBRARY_API void
    rocksdb_env_lower_high_priority_thread_pool_io_priority(rocksdb_env_t* env);
extern ROCKSDB_LIBRARY_API void rocksdb_env_lower_thread_pool_cpu_priority(rocksdb_env_t* env);
extern ROCKSDB_LIBRARY_API void rocksdb_env_lower_thread_pool_io_priority(rocksdb_env_t* env);
extern ROCKSDB_LIBRARY_API void rocksdb_env_set_background_threads(rocksdb_env_t* options, int
    value);
extern ROCKSDB_LIBRARY_API void rocksdb_env_set_bottom_priority_background_threads(rocksdb_env_t*
    options, int value);
extern ROCKSDB_LIBRARY_API void rocksdb_env_set_high_priority_background_threads(rocksdb_env_t*
    options, int value);
extern ROCKSDB_LIBRARY_API void rocksdb_env_set_low_priority_background_threads(rocksdb_env_t*
    options, int value);
extern ROCKSDB_LIBRARY_API rocksdb_envoptions_t* rocksdb_envoptions_create(void);
extern ROCKSDB_LIBRARY_API void rocksdb_envoptions_destroy(rocksdb_envoptions_t* options);
extern ROCKSDB_LIBRARY_API rocksdb_eventlistener_t* rocksdb_eventlistener_create(void* state, void
    (*destructor)(void*), void (*flush_begin)(void*, rocksdb_t*, const rocksdb_flushjobinfo_t*),
    void (*flush_completed)(void*, rocksdb_t*, const rocksdb_flushjobinfo_t*), void
    (*compaction_begin)(void*, rocksdb_t*, const rocksdb_compactionjobinfo_t*), void
    (*compaction_completed)(void*, rocksdb_t*, const rocksdb_compactionjobinfo_t*), void
    (*subcompaction_begin)(void*, const rocksdb_subcompactionjobinfo_t*), void
    (*subcompaction_completed)(void*, const rocksdb_subcompactionjobinfo_t*), void
    (*ingested)(void*, rocksdb_t*, const rocksdb_externalfileingestioninfo_t*), void
    (*failed)(void*, uint32_t, rocksdb_status_ptr_t*), void (*stall)(void*, const
    rocksdb_writestallinfo_t*), void (*sealed)(void*, const rocksdb_memtableinfo_t*));
extern ROCKSDB_LIBRARY_API void rocksdb_eventlistener_destroy(rocksdb_eventlistener_t* listener);
extern ROCKSDB_LIBRARY_API rocksdb_export_import_files_metadata_t*
    rocksdb_export_import_files_metadata_create(void);
extern ROCKSDB_LIBRARY_API void
    rocksdb_export_import_files_metadata_destroy(rocksdb_export_import_files_metadata_t* options);
extern ROCKSDB_LIBRARY_API char*
    rocksdb_export_import_files_metadata_get_db_comparator_name(rocksdb_export_import_files_metadata_t*
    metadata);
extern ROCKSDB_LIBRARY_API rocksdb_livefiles_t*
    rocksdb_export_import_files_metadata_get_files(rocksdb_export_import_files_metadata_t*
    metadata);
extern ROCKSDB_LIBRARY_API void
    rocksdb_export_import_files_metadata_set_db_comparator_name(rocksdb_export_import_files_metadata_t*
    metadata, const char* name);
extern ROCKSDB_LIBRARY_API void
    rocksdb_export_import_files_metadata_set_files(rocksdb_export_import_files_metadata_t* metadata,
    rocksdb_livefiles_t* files);
extern ROCKSDB_LIBRARY_API const char* rocksdb_externalfileingestioninfo_cf_name(const
    rocksdb_externalfileingestioninfo_t* info, size_t* len);
extern ROCKSDB_LIBRARY_API const char* rocksdb_externalfileingestioninfo_internal_file_path(const
    rocksdb_externalfileingestioninfo_t* info, size_t* len);
extern ROCKSDB_LIBRARY_API rocksdb_fifo_compaction_options_t*
    rocksdb_fifo_compaction_options_create(void);
extern ROCKSDB_LIBRARY_API void
    rocksdb_fifo_compaction_options_destroy(rocksdb_fifo_compaction_options_t* options);
extern ROCKSDB_LIBRARY_API unsigned char
    rocksdb_fifo_compaction_options_get_allow_compaction(rocksdb_fifo_compaction_options_t*
    options);
extern ROCKSDB_LIBRARY_API uint64_t
    rocksdb_fifo_compaction_options_get_max_data_files_size(rocksdb_fifo_compaction_options_t*
    options);
extern ROCKSDB_LIBRARY_API uint64_t
    rocksdb_fifo_compaction_options_get_max_table_files_size(rocksdb_fifo_compaction_options_t*
    options);
extern ROCKSDB_LIBRARY_API unsigned char
    rocksdb_fifo_compaction_options_get_use_kv_ratio_compaction(rocksdb_fifo_compaction_options_t*
    options);
extern ROCKSDB_LIBRARY_API void
    rocksdb_fifo_compaction_options_set_allow_compaction(rocksdb_fifo_compaction_options_t* options,
    unsigned char value);
extern ROCKSDB_LIBRARY_API void
    rocksdb_fifo_compaction_options_set_max_data_files_size(rocksdb_fifo_compaction_options_t*
    options, uint64_t value);
extern ROCKSDB_LIBRARY_API void
    rocksdb_fifo_compaction_options_set_max_table_files_size(rocksdb_fifo_compaction_options_t*
    options, uint64_t value);
extern ROCKSDB_LIBRARY_API void
    rocksdb_fifo_compaction_options_set_use_kv_ratio_compaction(rocksdb_fifo_compaction_options_t*
    options, unsigned char value);
extern ROCKSDB_LIBRARY_API rocksdb_file_checksum_gen_factory_t*
    rocksdb_file_checksum_gen_crc32c_factory_create(void);
extern ROCKSDB_LIBRARY_API void
    rocksdb_file_checksum_gen_factory_destroy(rocksdb_file_checksum_gen_factory_t* factory);
extern ROCKSDB_LIBRARY_API rocksdb_filterpolicy_t* rocksdb_filterpolicy_create_bloom(double bits);
extern ROCKSDB_LIBRARY_API rocksdb_filterpolicy_t* rocksdb_filterpolicy_create_bloom_full(double
    bits);
extern ROCKSDB_LIBRARY_API rocksdb_filterpolicy_t* rocksdb_filterpolicy_create_ribbon(double bits);
extern ROCKSDB_LIBRARY_API rocksdb_filterpolicy_t* rocksdb_filterpolicy_create_ribbon_hybrid(double
    bits, int bloom_before_level);
extern ROCKSDB_LIBRARY_API void rocksdb_filterpolicy_destroy(rocksdb_filterpolicy_t* policy);
extern ROCKSDB_LIBRARY_API void rocksdb_flush(rocksdb_t* db, const rocksdb_flushoptions_t* options,
    char** errptr);
extern ROCKSDB_LIBRARY_API void rocksdb_flush_cf(rocksdb_t* db, const rocksdb_flushoptions_t*
    options, rocksdb_column_family_handle_t* handle, char** errptr);
extern ROCKSDB_LIBRARY_API void rocksdb_flush_cfs(rocksdb_t* db, const rocksdb_flushoptions_t*
    options, rocksdb_column_family_handle_t** handles, int len, char** errptr);
extern ROCKSDB_LIBRARY_API void rocksdb_flush_wal(rocksdb_t* db, unsigned char sync, char** errptr);
extern ROCKSDB_LIBRARY_API const char* rocksdb_flushjobinfo_cf_name(const rocksdb_flushjobinfo_t*
    info, size_t* len);
extern ROCKSDB_LIBRARY_API const char* rocksdb_flushjobinfo_file_path(const rocksdb_flushjobinfo_t*
    info, size_t* len);
extern ROCKSDB_LIBRARY_API uint32_t rocksdb_flushjobinfo_flush_reason(const rocksdb_flushjobinfo_t*
    info);
extern ROCKSDB_LIBRARY_API uint64_t rocksdb_flushjobinfo_largest_seqno(const rocksdb_flushjobinfo_t*
    info);
extern ROCKSDB_LIBRARY_API uint64_t rocksdb_flushjobinfo_smallest_seqno(const
    rocksdb_flushjobinfo_t* info);
extern ROCKSDB_LIBRARY_API unsigned char rocksdb_flushjobinfo_triggered_writes_slowdown(const
    rocksdb_flushjobinfo_t* info);
extern ROCKSDB_LIBRARY_API unsigned char rocksdb_flushjobinfo_triggered_writes_stop(const
    rocksdb_flushjobinfo_t* info);
extern ROCKSDB_LIBRARY_API rocksdb_flushoptions_t* rocksdb_flushoptions_create(void);
extern ROCKSDB_LIBRARY_API void rocksdb_flushoptions_destroy(rocksdb_flushoptions_t* options);
extern ROCKSDB_LIBRARY_API unsigned char rocksdb_flushoptions_get_wait(rocksdb_flushoptions_t*
    options);
extern ROCKSDB_LIBRARY_API void rocksdb_flushoptions_set_wait(rocksdb_flushoptions_t* options,
    unsigned char value);
extern ROCKSDB_LIBRARY_API void rocksdb_free(void* memory);
extern ROCKSDB_LIBRARY_API char* rocksdb_get(rocksdb_t* db, const rocksdb_readoptions_t* options,
    const char* key, size_t keylen, size_t* len, char** errptr);
extern ROCKSDB_LIBRARY_API char* rocksdb_get_cf(rocksdb_t* db, const rocksdb_readoptions_t* options,
    rocksdb_column_family_handle_t* handle, const char* key, size_t keylen, size_t* len, char**
    errptr);
extern ROCKSDB_LIBRARY_API char* rocksdb_get_cf_with_ts(rocksdb_t* db, const rocksdb_readoptions_t*
    options, rocksdb_column_family_handle_t* handle, const char* key, size_t keylen, size_t* len,
    char** ts, size_t* tslen, char** errptr);
extern ROCKSDB_LIBRARY_API rocksdb_column_family_metadata_t*
    rocksdb_get_column_family_metadata(rocksdb_t* db);
extern ROCKSDB_LIBRARY_API rocksdb_column_family_metadata_t*
    rocksdb_get_column_family_metadata_cf(rocksdb_t* db, rocksdb_column_family_handle_t* handle);
extern ROCKSDB_LIBRARY_API char* rocksdb_get_db_identity(rocksdb_t* db, size_t* len);
extern ROCKSDB_LIBRARY_API rocksdb_column_family_handle_t*
    rocksdb_get_default_column_family_handle(rocksdb_t* db);
extern ROCKSDB_LIBRARY_API rocksdb_pinnablewidecolumns_t* rocksdb_get_entity_cf(rocksdb_t* db, const
    rocksdb_readoptions_t* options, rocksdb_column_family_handle_t* handle, const char* key, size_t
    keylen, char** errptr);
extern ROCKSDB_LIBRARY_API char* rocksdb_get_full_history_ts_low(rocksdb_t* db,
    rocksdb_column_family_handle_t* handle, size_t* len, char** errptr);
extern ROCKSDB_LIBRARY_API unsigned char rocksdb_get_into_buffer(rocksdb_t* db, const
    rocksdb_readoptions_t* options, const char* key, size_t keylen, char* buffer, size_t size,
    size_t* len, unsigned char* found, char** errptr);
extern ROCKSDB_LIBRARY_API unsigned char rocksdb_get_into_buffer_cf(rocksdb_t* db, const
    rocksdb_readoptions_t* options, rocksdb_column_family_handle_t* handle, const char* key, size_t
    keylen, char* buffer, size_t size, size_t* len, unsigned char* found, char** errptr);
extern ROCKSDB_LIBRARY_API uint64_t rocksdb_get_latest_sequence_number(rocksdb_t* db);
extern ROCKSDB_LIBRARY_API void rocksdb_get_options_from_string(const rocksdb_options_t* base, const
    char* text, rocksdb_options_t* new_options, char** errptr);
extern ROCKSDB_LIBRARY_API rocksdb_pinnableslice_t* rocksdb_get_pinned(rocksdb_t* db, const
    rocksdb_readoptions_t* options, const char* key, size_t keylen, char** errptr);
extern ROCKSDB_LIBRARY_API rocksdb_pinnableslice_t* rocksdb_get_pinned_cf(rocksdb_t* db, const
    rocksdb_readoptions_t* options, rocksdb_column_family_handle_t* handle, const char* key, size_t
    keylen, char** errptr);
extern ROCKSDB_LIBRARY_API rocksdb_pinnable_handle_t* rocksdb_get_pinned_cf_v2(rocksdb_t* db, const
    rocksdb_readoptions_t* options, rocksdb_column_family_handle_t* handle, const char* key, size_t
    keylen, char** errptr);
extern ROCKSDB_LIBRARY_API rocksdb_pinnable_handle_t* rocksdb_get_pinned_v2(rocksdb_t* db, const
    rocksdb_readoptions_t* options, const char* key, size_t keylen, char** errptr);
extern ROCKSDB_LIBRARY_API rocksdb_wal_iterator_t* rocksdb_get_updates_since(rocksdb_t* db, uint64_t
    sequence, const rocksdb_wal_readoptions_t* options, char** errptr);
extern ROCKSDB_LIBRARY_API char* rocksdb_get_with_ts(rocksdb_t* db, const rocksdb_readoptions_t*
    options, const char* key, size_t keylen, size_t* len, char** ts, size_t* tslen, char** errptr);
extern ROCKSDB_LIBRARY_API rocksdb_hyper_clock_cache_options_t*
    rocksdb_hyper_clock_cache_options_create(size_t capacity, size_t charge);
extern ROCKSDB_LIBRARY_API void
    rocksdb_hyper_clock_cache_options_destroy(rocksdb_hyper_clock_cache_options_t* options);
extern ROCKSDB_LIBRARY_API void
    rocksdb_hyper_clock_cache_options_set_capacity(rocksdb_hyper_clock_cache_options_t* options,
    size_t value);
extern ROCKSDB_LIBRARY_API void
    rocksdb_hyper_clock_cache_options_set_estimated_entry_charge(rocksdb_hyper_clock_cache_options_t*
    options, size_t value);
extern ROCKSDB_LIBRARY_API void
    rocksdb_hyper_clock_cache_options_set_memory_allocator(rocksdb_hyper_clock_cache_options_t*
    options, rocksdb_memory_allocator_t* allocator);
extern ROCKSDB_LIBRARY_API void
    rocksdb_hyper_clock_cache_options_set_num_shard_bits(rocksdb_hyper_clock_cache_options_t*
    options, int value);
extern ROCKSDB_LIBRARY_API rocksdb_import_column_family_options_t*
    rocksdb_import_column_family_options_create(void);
extern ROCKSDB_LIBRARY_API void
    rocksdb_import_column_family_options_destroy(rocksdb_import_column_family_options_t* options);
extern ROCKSDB_LIBRARY_API void
    rocksdb_import_column_family_options_set_move_files(rocksdb_import_column_family_options_t*
    options, unsigned char value);
extern ROCKSDB_LIBRARY_API void rocksdb_increase_full_history_ts_low(rocksdb_t* db,
    rocksdb_column_family_handle_t* handle, const char* ts, size_t tslen, char** errptr);
extern ROCKSDB_LIBRARY_API void rocksdb_ingest_external_file(rocksdb_t* db, const char* const*
    files, size_t len, const rocksdb_ingestexternalfileoptions_t* options, char** errptr);
extern ROCKSDB_LIBRARY_API void rocksdb_ingest_external_file_cf(rocksdb_t* db,
    rocksdb_column_family_handle_t* handle, const char* const* files, size_t len, const
    rocksdb_ingestexternalfileoptions_t* options, char** errptr);
extern ROCKSDB_LIBRARY_API rocksdb_ingestexternalfileoptions_t*
    rocksdb_ingestexternalfileoptions_create(void);
extern ROCKSDB_LIBRARY_API void
    rocksdb_ingestexternalfileoptions_destroy(rocksdb_ingestexternalfileoptions_t* options);
extern ROCKSDB_LIBRARY_API void
    rocksdb_ingestexternalfileoptions_set_allow_blocking_flush(rocksdb_ingestexternalfileoptions_t*
    options, unsigned char value);
extern ROCKSDB_LIBRARY_API void
    rocksdb_ingestexternalfileoptions_set_allow_global_seqno(rocksdb_ingestexternalfileoptions_t*
    options, unsigned char value);
extern ROCKSDB_LIBRARY_API void
    rocksdb_ingestexternalfileoptions_set_fail_if_not_bottommost_level(rocksdb_ingestexternalfileoptions_t*
    options, unsigned char value);
extern ROCKSDB_LIBRARY_API void
    rocksdb_ingestexternalfileoptions_set_ingest_behind(rocksdb_ingestexternalfileoptions_t*
    options, unsigned char value);
extern ROCKSDB_LIBRARY_API void
    rocksdb_ingestexternalfileoptions_set_move_files(rocksdb_ingestexternalfileoptions_t* options,
    unsigned char value);
extern ROCKSDB_LIBRARY_API void
    rocksdb_ingestexternalfileoptions_set_snapshot_consistency(rocksdb_ingestexternalfileoptions_t*
    options, unsigned char value);
extern ROCKSDB_LIBRARY_API rocksdb_widecolumns_t* rocksdb_iter_columns(const rocksdb_iterator_t*
    iter);
extern ROCKSDB_LIBRARY_API void rocksdb_iter_destroy(rocksdb_iterator_t* iter);
extern ROCKSDB_LIBRARY_API void rocksdb_iter_get_error(const rocksdb_iterator_t* iter, char**
    errptr);
extern ROCKSDB_LIBRARY_API const char* rocksdb_iter_key(const rocksdb_iterator_t* iter, size_t*
    len);
extern ROCKSDB_LIBRARY_API rocksdb_slice_t rocksdb_iter_key_slice(const rocksdb_iterator_t* iter);
extern ROCKSDB_LIBRARY_API void rocksdb_iter_next(rocksdb_iterator_t* iter);
extern ROCKSDB_LIBRARY_API void rocksdb_iter_prev(rocksdb_iterator_t* iter);
extern ROCKSDB_LIBRARY_API void rocksdb_iter_refresh(const rocksdb_iterator_t* iter, char** errptr);
extern ROCKSDB_LIBRARY_API void rocksdb_iter_seek(rocksdb_iterator_t* iter, const char* key, size_t
    len);
extern ROCKSDB_LIBRARY_API void rocksdb_iter_seek_for_prev(rocksdb_iterator_t* iter, const char*
    key, size_t len);
extern ROCKSDB_LIBRARY_API void rocksdb_iter_seek_to_first(rocksdb_iterator_t* iter);
extern ROCKSDB_LIBRARY_API void rocksdb_iter_seek_to_last(rocksdb_iterator_t* iter);
extern ROCKSDB_LIBRARY_API const char* rocksdb_iter_timestamp(const rocksdb_iterator_t* iter,
    size_t* len);
extern ROCKSDB_LIBRARY_API rocksdb_slice_t rocksdb_iter_timestamp_slice(const rocksdb_iterator_t*
    iter);
extern ROCKSDB_LIBRARY_API unsigned char rocksdb_iter_valid(const rocksdb_iterator_t* iter);
extern ROCKSDB_LIBRARY_API const char* rocksdb_iter_value(const rocksdb_iterator_t* iter, size_t*
    len);
extern ROCKSDB_LIBRARY_API rocksdb_slice_t rocksdb_iter_value_slice(const rocksdb_iterator_t* iter);
extern ROCKSDB_LIBRARY_API rocksdb_memory_allocator_t*
    rocksdb_jemalloc_nodump_allocator_create(char** errptr);
extern ROCKSDB_LIBRARY_API unsigned char rocksdb_key_may_exist(rocksdb_t* db, const
    rocksdb_readoptions_t* options, const char* key, size_t keylen, char** value, size_t* len, const
    char* ts, size_t ts_len, unsigned char* found);
extern ROCKSDB_LIBRARY_API unsigned char rocksdb_key_may_exist_cf(rocksdb_t* db, const
    rocksdb_readoptions_t* options, rocksdb_column_family_handle_t* handle, const char* key, size_t
    keylen, char** value, size_t* len, const char* ts, size_t ts_len, unsigned char* found);
extern ROCKSDB_LIBRARY_API void rocksdb_level_metadata_destroy(rocksdb_level_metadata_t* level);
extern ROCKSDB_LIBRARY_API size_t rocksdb_level_metadata_get_file_count(rocksdb_level_metadata_t*
    level);
extern ROCKSDB_LIBRARY_API int rocksdb_level_metadata_get_level(rocksdb_level_metadata_t* level);
extern ROCKSDB_LIBRARY_API uint64_t rocksdb_level_metadata_get_size(rocksdb_level_metadata_t*
    level);
extern ROCKSDB_LIBRARY_API rocksdb_sst_file_metadata_t*
    rocksdb_level_metadata_get_sst_file_metadata(rocksdb_level_metadata_t* level, size_t at);
extern ROCKSDB_LIBRARY_API char** rocksdb_list_column_families(const rocksdb_options_t* options,
    const char* name, size_t* len, char** errptr);
extern ROCKSDB_LIBRARY_API void rocksdb_list_column_families_destroy(char** list, size_t len);
extern ROCKSDB_LIBRARY_API rocksdb_livefile_t* rocksdb_livefile_create(void);
extern ROCKSDB_LIBRARY_API void rocksdb_livefile_destroy(rocksdb_livefile_t* options);
extern ROCKSDB_LIBRARY_API void rocksdb_livefile_set_column_family_name(rocksdb_livefile_t* file,
    const char* name);
extern ROCKSDB_LIBRARY_API void rocksdb_livefile_set_directory(rocksdb_livefile_t* file, const char*
    dir);
extern ROCKSDB_LIBRARY_API void rocksdb_livefile_set_largest_key(rocksdb_livefile_t* file, const
    char* key, size_t len);
extern ROCKSDB_LIBRARY_API void rocksdb_livefile_set_largest_seqno(rocksdb_livefile_t* file,
    uint64_t number);
extern ROCKSDB_LIBRARY_API void rocksdb_livefile_set_level(rocksdb_livefile_t* file, int level);
extern ROCKSDB_LIBRARY_API void rocksdb_livefile_set_name(rocksdb_livefile_t* file, const char*
    name);
extern ROCKSDB_LIBRARY_API void rocksdb_livefile_set_num_deletions(rocksdb_livefile_t* file,
    uint64_t number);
extern ROCKSDB_LIBRARY_API void rocksdb_livefile_set_num_entries(rocksdb_livefile_t* file, uint64_t
    number);
extern ROCKSDB_LIBRARY_API void rocksdb_livefile_set_size(rocksdb_livefile_t* file, size_t size);
extern ROCKSDB_LIBRARY_API void rocksdb_livefile_set_smallest_key(rocksdb_livefile_t* file, const
    char* key, size_t len);
extern ROCKSDB_LIBRARY_API void rocksdb_livefile_set_smallest_seqno(rocksdb_livefile_t* file,
    uint64_t number);
extern ROCKSDB_LIBRARY_API const rocksdb_livefiles_t* rocksdb_livefiles(rocksdb_t* db);
extern ROCKSDB_LIBRARY_API void rocksdb_livefiles_add(rocksdb_livefiles_t* files,
    rocksdb_livefile_t* file);
extern ROCKSDB_LIBRARY_API const char* rocksdb_livefiles_column_family_name(const
    rocksdb_livefiles_t* files, int index);
extern ROCKSDB_LIBRARY_API int rocksdb_livefiles_count(const rocksdb_livefiles_t* files);
extern ROCKSDB_LIBRARY_API rocksdb_livefiles_t* rocksdb_livefiles_create(void);
extern ROCKSDB_LIBRARY_API uint64_t rocksdb_livefiles_deletions(const rocksdb_livefiles_t* files,
    int index);
extern ROCKSDB_LIBRARY_API void rocksdb_livefiles_destroy(const rocksdb_livefiles_t* files);
extern ROCKSDB_LIBRARY_API const char* rocksdb_livefiles_directory(const rocksdb_livefiles_t* files,
    int index);
extern ROCKSDB_LIBRARY_API uint64_t rocksdb_livefiles_entries(const rocksdb_livefiles_t* files, int
    index);
extern ROCKSDB_LIBRARY_API uint64_t rocksdb_livefiles_largest_seqno(const rocksdb_livefiles_t*
    files, int index);
extern ROCKSDB_LIBRARY_API const char* rocksdb_livefiles_largestkey(const rocksdb_livefiles_t*
    files, int index, size_t* len);
extern ROCKSDB_LIBRARY_API int rocksdb_livefiles_level(const rocksdb_livefiles_t* files, int index);
extern ROCKSDB_LIBRARY_API const char* rocksdb_livefiles_name(const rocksdb_livefiles_t* files, int
    index);
extern ROCKSDB_LIBRARY_API size_t rocksdb_livefiles_size(const rocksdb_livefiles_t* files, int
    index);
extern ROCKSDB_LIBRARY_API uint64_t rocksdb_livefiles_smallest_seqno(const rocksdb_livefiles_t*
    files, int index);
extern ROCKSDB_LIBRARY_API const char* rocksdb_livefiles_smallestkey(const rocksdb_livefiles_t*
    files, int index, size_t* len);
extern ROCKSDB_LIBRARY_API void rocksdb_load_latest_options(const char* path, rocksdb_env_t* env,
    bool ignore_unknown, rocksdb_cache_t* cache, rocksdb_options_t** db_options, size_t* len,
    char*** names, rocksdb_options_t*** family_options, char** errptr);
extern ROCKSDB_LIBRARY_API void rocksdb_load_latest_options_destroy(rocksdb_options_t* db_options,
    char** names, rocksdb_options_t** family_options, size_t len);
extern ROCKSDB_LIBRARY_API rocksdb_logger_t* rocksdb_logger_create_callback_logger(int log_level,
    void (*log)(void*, unsigned int, char*, size_t), void* state);
extern ROCKSDB_LIBRARY_API rocksdb_logger_t* rocksdb_logger_create_stderr_logger(int log_level,
    const char* prefix);
extern ROCKSDB_LIBRARY_API void rocksdb_logger_destroy(rocksdb_logger_t* logger);
extern ROCKSDB_LIBRARY_API rocksdb_lru_cache_options_t* rocksdb_lru_cache_options_create(void);
extern ROCKSDB_LIBRARY_API void rocksdb_lru_cache_options_destroy(rocksdb_lru_cache_options_t*
    options);
extern ROCKSDB_LIBRARY_API void rocksdb_lru_cache_options_set_capacity(rocksdb_lru_cache_options_t*
    options, size_t value);
extern ROCKSDB_LIBRARY_API void
    rocksdb_lru_cache_options_set_memory_allocator(rocksdb_lru_cache_options_t* options,
    rocksdb_memory_allocator_t* allocator);
extern ROCKSDB_LIBRARY_API void
    rocksdb_lru_cache_options_set_num_shard_bits(rocksdb_lru_cache_options_t* options, int value);
extern ROCKSDB_LIBRARY_API void rocksdb_memory_allocator_destroy(rocksdb_memory_allocator_t*
    allocator);
extern ROCKSDB_LIBRARY_API void rocksdb_memory_consumers_add_cache(rocksdb_memory_consumers_t*
    consumers, rocksdb_cache_t* cache);
extern ROCKSDB_LIBRARY_API void rocksdb_memory_consumers_add_db(rocksdb_memory_consumers_t*
    consumers, rocksdb_t* db);
extern ROCKSDB_LIBRARY_API rocksdb_memory_consumers_t* rocksdb_memory_consumers_create(void);
extern ROCKSDB_LIBRARY_API void rocksdb_memory_consumers_destroy(rocksdb_memory_consumers_t*
    consumers);
extern ROCKSDB_LIBRARY_API const char* rocksdb_memtableinfo_cf_name(const rocksdb_memtableinfo_t*
    info, size_t* len);
extern ROCKSDB_LIBRARY_API uint64_t rocksdb_memtableinfo_earliest_seqno(const
    rocksdb_memtableinfo_t* info);
extern ROCKSDB_LIBRARY_API uint64_t rocksdb_memtableinfo_first_seqno(const rocksdb_memtableinfo_t*
    info);
extern ROCKSDB_LIBRARY_API uint64_t rocksdb_memtableinfo_num_deletes(const rocksdb_memtableinfo_t*
    info);
extern ROCKSDB_LIBRARY_API uint64_t rocksdb_memtableinfo_num_entries(const rocksdb_memtableinfo_t*
    info);
extern ROCKSDB_LIBRARY_API void rocksdb_merge(rocksdb_t* db, const rocksdb_writeoptions_t* options,
    const char* key, size_t keylen, const char* value, size_t len, char** errptr);
extern ROCKSDB_LIBRARY_API void rocksdb_merge_cf(rocksdb_t* db, const rocksdb_writeoptions_t*
    options, rocksdb_column_family_handle_t* handle, const char* key, size_t keylen, const char*
    value, size_t len, char** errptr);
extern ROCKSDB_LIBRARY_API rocksdb_mergeoperator_t* rocksdb_mergeoperator_create(void* state, void
    (*destructor)(void*), char* (*full)(void*, const char*, size_t, const char*, size_t, const char*
    const*, const size_t*, int, unsigned char*, size_t*), char* (*partial)(void*, const char*,
    size_t, const char* const*, const size_t*, int, unsigned char*, size_t*), void
    (*delete_value)(void*, const char*, size_t), const char* (*name)(void*));
extern ROCKSDB_LIBRARY_API void rocksdb_mergeoperator_destroy(rocksdb_mergeoperator_t*
    merge_operator);
extern ROCKSDB_LIBRARY_API void rocksdb_multi_get(rocksdb_t* db, const rocksdb_readoptions_t*
    options, size_t num, const char* const* keys, const size_t* lengths, char** values, size_t*
    value_lengths, char** errs);
extern ROCKSDB_LIBRARY_API void rocksdb_multi_get_cf(rocksdb_t* db, const rocksdb_readoptions_t*
    options, const rocksdb_column_family_handle_t* const* families, size_t num, const char* const*
    keys, const size_t* lengths, char** values, size_t* value_lengths, char** errs);
extern ROCKSDB_LIBRARY_API void rocksdb_multi_get_cf_with_ts(rocksdb_t* db, const
    rocksdb_readoptions_t* options, const rocksdb_column_family_handle_t* const* families, size_t
    num, const char* const* keys, const size_t* lengths, char** values, size_t* value_lengths,
    char** ts, size_t* ts_lengths, char** errs);
extern ROCKSDB_LIBRARY_API void rocksdb_multi_get_with_ts(rocksdb_t* db, const
    rocksdb_readoptions_t* options, size_t num, const char* const* keys, const size_t* lengths,
    char** values, size_t* value_lengths, char** ts, size_t* ts_lengths, char** errs);
extern ROCKSDB_LIBRARY_API rocksdb_t* rocksdb_open(const rocksdb_options_t* options, const char*
    name, char** errptr);
extern ROCKSDB_LIBRARY_API char* rocksdb_open_and_compact(const char* db, const char* output_dir,
    const char* input, size_t input_len, size_t* output_len, const
    rocksdb_compaction_service_options_override_t* options, char** errptr);
extern ROCKSDB_LIBRARY_API unsigned char* rocksdb_open_and_compact_canceled_create(void);
extern ROCKSDB_LIBRARY_API void rocksdb_open_and_compact_canceled_destroy(unsigned char* canceled);
extern ROCKSDB_LIBRARY_API void rocksdb_open_and_compact_canceled_set(unsigned char* canceled,
    unsigned char value);
extern ROCKSDB_LIBRARY_API rocksdb_open_and_compact_options_t*
    rocksdb_open_and_compact_options_create(void);
extern ROCKSDB_LIBRARY_API void
    rocksdb_open_and_compact_options_destroy(rocksdb_open_and_compact_options_t* options);
extern ROCKSDB_LIBRARY_API void
    rocksdb_open_and_compact_options_set_allow_resumption(rocksdb_open_and_compact_options_t*
    options, unsigned char allow);
extern ROCKSDB_LIBRARY_API void
    rocksdb_open_and_compact_options_set_canceled(rocksdb_open_and_compact_options_t* options,
    unsigned char* canceled);
extern ROCKSDB_LIBRARY_API char* rocksdb_open_and_compact_with_options(const
    rocksdb_open_and_compact_options_t* options, const char* db, const char* output_dir, const char*
    input, size_t input_len, size_t* output_len, const
    rocksdb_compaction_service_options_override_t* options_override, char** errptr);
extern ROCKSDB_LIBRARY_API rocksdb_t* rocksdb_open_and_trim_history(const rocksdb_options_t*
    options, const char* name, int len, const char* const* names, const rocksdb_options_t* const*
    family_options, rocksdb_column_family_handle_t** handles, char* ts, size_t tslen, char**
    errptr);
extern ROCKSDB_LIBRARY_API rocksdb_t* rocksdb_open_as_secondary(const rocksdb_options_t* options,
    const char* name, const char* secondary, char** errptr);
extern ROCKSDB_LIBRARY_API rocksdb_t* rocksdb_open_as_secondary_column_families(const
    rocksdb_options_t* options, const char* name, const char* secondary, int len, const char* const*
    names, const rocksdb_options_t* const* family_options, rocksdb_column_family_handle_t** handles,
    char** errptr);
extern ROCKSDB_LIBRARY_API rocksdb_t* rocksdb_open_column_families(const rocksdb_options_t* options,
    const char* name, int len, const char* const* names, const rocksdb_options_t* const*
    family_options, rocksdb_column_family_handle_t** handles, char** errptr);
extern ROCKSDB_LIBRARY_API rocksdb_t* rocksdb_open_column_families_with_ttl(const rocksdb_options_t*
    options, const char* name, int len, const char* const* names, const rocksdb_options_t* const*
    family_options, rocksdb_column_family_handle_t** handles, const int* ttls, char** errptr);
extern ROCKSDB_LIBRARY_API rocksdb_t* rocksdb_open_for_read_only(const rocksdb_options_t* options,
    const char* name, unsigned char error_if_wal_file_exists, char** errptr);
extern ROCKSDB_LIBRARY_API rocksdb_t* rocksdb_open_for_read_only_column_families(const
    rocksdb_options_t* options, const char* name, int len, const char* const* names, const
    rocksdb_options_t* const* family_options, rocksdb_column_family_handle_t** handles, unsigned
    char error_if_wal_file_exists, char** errptr);
extern ROCKSDB_LIBRARY_API rocksdb_t* rocksdb_open_with_ttl(const rocksdb_options_t* options, const
    char* name, int seconds, char** errptr);
extern ROCKSDB_LIBRARY_API rocksdb_transaction_t*
    rocksdb_optimistictransaction_begin(rocksdb_optimistictransactiondb_t* db, const
    rocksdb_writeoptions_t* write, const rocksdb_optimistictransaction_options_t* options,
    rocksdb_transaction_t* old);
extern ROCKSDB_LIBRARY_API rocksdb_optimistictransaction_options_t*
    rocksdb_optimistictransaction_options_create(void);
extern ROCKSDB_LIBRARY_API void
    rocksdb_optimistictransaction_options_destroy(rocksdb_optimistictransaction_options_t* options);
extern ROCKSDB_LIBRARY_API void
    rocksdb_optimistictransaction_options_set_set_snapshot(rocksdb_optimistictransaction_options_t*
    options, unsigned char value);
extern ROCKSDB_LIBRARY_API rocksdb_checkpoint_t*
    rocksdb_optimistictransactiondb_checkpoint_object_create(rocksdb_optimistictransactiondb_t* db,
    char** errptr);
extern ROCKSDB_LIBRARY_API void
    rocksdb_optimistictransactiondb_close(rocksdb_optimistictransactiondb_t* db);
extern ROCKSDB_LIBRARY_API void rocksdb_optimistictransactiondb_close_base_db(rocksdb_t* base);
extern ROCKSDB_LIBRARY_API rocksdb_t*
    rocksdb_optimistictransactiondb_get_base_db(rocksdb_optimistictransactiondb_t* db);
extern ROCKSDB_LIBRARY_API rocksdb_optimistictransactiondb_t*
    rocksdb_optimistictransactiondb_open(const rocksdb_options_t* options, const char* name, char**
    errptr);
extern ROCKSDB_LIBRARY_API rocksdb_optimistictransactiondb_t*
    rocksdb_optimistictransactiondb_open_column_families(const rocksdb_options_t* options, const
    char* name, int len, const char* const* names, const rocksdb_options_t* const* family_options,
    rocksdb_column_family_handle_t** handles, char** errptr);
extern ROCKSDB_LIBRARY_API int
    rocksdb_optimistictransactiondb_property_int(rocksdb_optimistictransactiondb_t* db, const char*
    name, uint64_t* out);
extern ROCKSDB_LIBRARY_API char*
    rocksdb_optimistictransactiondb_property_value(rocksdb_optimistictransactiondb_t* db, const
    char* name);
extern ROCKSDB_LIBRARY_API void
    rocksdb_optimistictransactiondb_write(rocksdb_optimistictransactiondb_t* db, const
    rocksdb_writeoptions_t* options, rocksdb_writebatch_t* batch, char** errptr);
extern ROCKSDB_LIBRARY_API void
    rocksdb_options_add_compact_on_deletion_collector_factory(rocksdb_options_t* options, size_t
    window, size_t deletions);
extern ROCKSDB_LIBRARY_API void
    rocksdb_options_add_compact_on_deletion_collector_factory_del_ratio(rocksdb_options_t* options,
    size_t window, size_t deletions, double ratio);
extern ROCKSDB_LIBRARY_API void
    rocksdb_options_add_compact_on_deletion_collector_factory_min_file_size(rocksdb_options_t*
    options, size_t window, size_t deletions, double ratio, uint64_t min_file_size);
extern ROCKSDB_LIBRARY_API void rocksdb_options_add_eventlistener(rocksdb_options_t* options,
    rocksdb_eventlistener_t* listener);
extern ROCKSDB_LIBRARY_API void
    rocksdb_options_add_table_properties_collector_factory(rocksdb_options_t* options,
    rocksdb_table_properties_collector_factory_t* factory);
extern ROCKSDB_LIBRARY_API void rocksdb_options_compaction_readahead_size(rocksdb_options_t*
    options, size_t value);
extern ROCKSDB_LIBRARY_API rocksdb_options_t* rocksdb_options_create(void);
extern ROCKSDB_LIBRARY_API rocksdb_options_t* rocksdb_options_create_copy(rocksdb_options_t*
    options);
extern ROCKSDB_LIBRARY_API void rocksdb_options_destroy(rocksdb_options_t* options);
extern ROCKSDB_LIBRARY_API void rocksdb_options_enable_statistics(rocksdb_options_t* options);
extern ROCKSDB_LIBRARY_API uint64_t rocksdb_options_get_WAL_size_limit_MB(rocksdb_options_t*
    options);
extern ROCKSDB_LIBRARY_API uint64_t rocksdb_options_get_WAL_ttl_seconds(rocksdb_options_t* options);
extern ROCKSDB_LIBRARY_API int
    rocksdb_options_get_access_hint_on_compaction_start(rocksdb_options_t* options);
extern ROCKSDB_LIBRARY_API unsigned char
    rocksdb_options_get_advise_random_on_open(rocksdb_options_t* options);
extern ROCKSDB_LIBRARY_API unsigned char
    rocksdb_options_get_allow_concurrent_memtable_write(rocksdb_options_t* options);
extern ROCKSDB_LIBRARY_API unsigned char rocksdb_options_get_allow_ingest_behind(rocksdb_options_t*
    options);
extern ROCKSDB_LIBRARY_API unsigned char rocksdb_options_get_allow_mmap_reads(rocksdb_options_t*
    options);
extern ROCKSDB_LIBRARY_API unsigned char rocksdb_options_get_allow_mmap_writes(rocksdb_options_t*
    options);
extern ROCKSDB_LIBRARY_API size_t rocksdb_options_get_arena_block_size(rocksdb_options_t* options);
extern ROCKSDB_LIBRARY_API unsigned char rocksdb_options_get_atomic_flush(rocksdb_options_t*
    options);
extern ROCKSDB_LIBRARY_API unsigned char
    rocksdb_options_get_avoid_unnecessary_blocking_io(rocksdb_options_t* options);
extern ROCKSDB_LIBRARY_API uint64_t
    rocksdb_options_get_blob_compaction_readahead_size(rocksdb_options_t* options);
extern ROCKSDB_LIBRARY_API int rocksdb_options_get_blob_compression_type(rocksdb_options_t*
    options);
extern ROCKSDB_LIBRARY_API uint64_t rocksdb_options_get_blob_file_size(rocksdb_options_t* options);
extern ROCKSDB_LIBRARY_API int rocksdb_options_get_blob_file_starting_level(rocksdb_options_t*
    options);
extern ROCKSDB_LIBRARY_API double rocksdb_options_get_blob_gc_age_cutoff(rocksdb_options_t*
    options);
extern ROCKSDB_LIBRARY_API double rocksdb_options_get_blob_gc_force_threshold(rocksdb_options_t*
    options);
extern ROCKSDB_LIBRARY_API uint32_t rocksdb_options_get_bloom_locality(rocksdb_options_t* options);
extern ROCKSDB_LIBRARY_API int rocksdb_options_get_bottommost_compression(rocksdb_options_t*
    options);
extern ROCKSDB_LIBRARY_API unsigned char
    rocksdb_options_get_bottommost_compression_options_use_zstd_dict_trainer(rocksdb_options_t*
    options);
extern ROCKSDB_LIBRARY_API uint64_t rocksdb_options_get_bytes_per_sync(rocksdb_options_t* options);
extern ROCKSDB_LIBRARY_API int rocksdb_options_get_compaction_pri(rocksdb_options_t* options);
extern ROCKSDB_LIBRARY_API size_t rocksdb_options_get_compaction_readahead_size(rocksdb_options_t*
    options);
extern ROCKSDB_LIBRARY_API int rocksdb_options_get_compaction_style(rocksdb_options_t* options);
extern ROCKSDB_LIBRARY_API int rocksdb_options_get_compression(rocksdb_options_t* options);
extern ROCKSDB_LIBRARY_API uint64_t
    rocksdb_options_get_compression_options_max_dict_buffer_bytes(rocksdb_options_t* options);
extern ROCKSDB_LIBRARY_API int
    rocksdb_options_get_compression_options_parallel_threads(rocksdb_options_t* options);
extern ROCKSDB_LIBRARY_API unsigned char
    rocksdb_options_get_compression_options_use_zstd_dict_trainer(rocksdb_options_t* options);
extern ROCKSDB_LIBRARY_API int
    rocksdb_options_get_compression_options_zstd_max_train_bytes(rocksdb_options_t* options);
extern ROCKSDB_LIBRARY_API unsigned char rocksdb_options_get_create_if_missing(rocksdb_options_t*
    options);
extern ROCKSDB_LIBRARY_API unsigned char
    rocksdb_options_get_create_missing_column_families(rocksdb_options_t* options);
extern ROCKSDB_LIBRARY_API size_t rocksdb_options_get_db_write_buffer_size(rocksdb_options_t*
    options);
extern ROCKSDB_LIBRARY_API uint64_t
    rocksdb_options_get_delete_obsolete_files_period_micros(rocksdb_options_t* options);
extern ROCKSDB_LIBRARY_API unsigned char
    rocksdb_options_get_disable_auto_compactions(rocksdb_options_t* options);
extern ROCKSDB_LIBRARY_API unsigned char rocksdb_options_get_enable_blob_files(rocksdb_options_t*
    options);
extern ROCKSDB_LIBRARY_API unsigned char rocksdb_options_get_enable_blob_gc(rocksdb_options_t*
    options);
extern ROCKSDB_LIBRARY_API unsigned char
    rocksdb_options_get_enable_pipelined_write(rocksdb_options_t* options);
extern ROCKSDB_LIBRARY_API unsigned char
    rocksdb_options_get_enable_write_thread_adaptive_yield(rocksdb_options_t* options);
extern ROCKSDB_LIBRARY_API unsigned char rocksdb_options_get_error_if_exists(rocksdb_options_t*
    options);
extern ROCKSDB_LIBRARY_API double
    rocksdb_options_get_experimental_mempurge_threshold(rocksdb_options_t* options);
extern ROCKSDB_LIBRARY_API size_t
    rocksdb_options_get_hard_pending_compaction_bytes_limit(rocksdb_options_t* options);
extern ROCKSDB_LIBRARY_API rocksdb_logger_t* rocksdb_options_get_info_log(rocksdb_options_t*
    options);
extern ROCKSDB_LIBRARY_API int rocksdb_options_get_info_log_level(rocksdb_options_t* options);
extern ROCKSDB_LIBRARY_API size_t rocksdb_options_get_inplace_update_num_locks(rocksdb_options_t*
    options);
extern ROCKSDB_LIBRARY_API unsigned char
    rocksdb_options_get_inplace_update_support(rocksdb_options_t* options);
extern ROCKSDB_LIBRARY_API unsigned char rocksdb_options_get_is_fd_close_on_exec(rocksdb_options_t*
    options);
extern ROCKSDB_LIBRARY_API size_t rocksdb_options_get_keep_log_file_num(rocksdb_options_t* options);
extern ROCKSDB_LIBRARY_API int
    rocksdb_options_get_level0_file_num_compaction_trigger(rocksdb_options_t* options);
extern ROCKSDB_LIBRARY_API int rocksdb_options_get_level0_slowdown_writes_trigger(rocksdb_options_t*
    options);
extern ROCKSDB_LIBRARY_API int rocksdb_options_get_level0_stop_writes_trigger(rocksdb_options_t*
    options);
extern ROCKSDB_LIBRARY_API unsigned char
    rocksdb_options_get_level_compaction_dynamic_level_bytes(rocksdb_options_t* options);
extern ROCKSDB_LIBRARY_API size_t rocksdb_options_get_log_file_time_to_roll(rocksdb_options_t*
    options);
extern ROCKSDB_LIBRARY_API size_t rocksdb_options_get_manifest_preallocation_size(rocksdb_options_t*
    options);
extern ROCKSDB_LIBRARY_API unsigned char rocksdb_options_get_manual_wal_flush(rocksdb_options_t*
    options);
extern ROCKSDB_LIBRARY_API int rocksdb_options_get_max_background_compactions(rocksdb_options_t*
    options);
extern ROCKSDB_LIBRARY_API int rocksdb_options_get_max_background_flushes(rocksdb_options_t*
    options);
extern ROCKSDB_LIBRARY_API int rocksdb_options_get_max_background_jobs(rocksdb_options_t* options);
extern ROCKSDB_LIBRARY_API uint64_t rocksdb_options_get_max_bytes_for_level_base(rocksdb_options_t*
    options);
extern ROCKSDB_LIBRARY_API double
    rocksdb_options_get_max_bytes_for_level_multiplier(rocksdb_options_t* options);
extern ROCKSDB_LIBRARY_API uint64_t rocksdb_options_get_max_compaction_bytes(rocksdb_options_t*
    options);
extern ROCKSDB_LIBRARY_API int rocksdb_options_get_max_file_opening_threads(rocksdb_options_t*
    options);
extern ROCKSDB_LIBRARY_API size_t rocksdb_options_get_max_log_file_size(rocksdb_options_t* options);
extern ROCKSDB_LIBRARY_API size_t rocksdb_options_get_max_manifest_file_size(rocksdb_options_t*
    options);
extern ROCKSDB_LIBRARY_API int rocksdb_options_get_max_open_files(rocksdb_options_t* options);
extern ROCKSDB_LIBRARY_API uint64_t
    rocksdb_options_get_max_sequential_skip_in_iterations(rocksdb_options_t* options);
extern ROCKSDB_LIBRARY_API uint32_t rocksdb_options_get_max_subcompactions(rocksdb_options_t*
    options);
extern ROCKSDB_LIBRARY_API size_t rocksdb_options_get_max_successive_merges(rocksdb_options_t*
    options);
extern ROCKSDB_LIBRARY_API uint64_t rocksdb_options_get_max_total_wal_size(rocksdb_options_t*
    options);
extern ROCKSDB_LIBRARY_API int rocksdb_options_get_max_write_buffer_number(rocksdb_options_t*
    options);
extern ROCKSDB_LIBRARY_API int
    rocksdb_options_get_max_write_buffer_number_to_maintain(rocksdb_options_t* options);
extern ROCKSDB_LIBRARY_API int64_t
    rocksdb_options_get_max_write_buffer_size_to_maintain(rocksdb_options_t* options);
extern ROCKSDB_LIBRARY_API uint32_t
    rocksdb_options_get_memtable_avg_op_scan_flush_trigger(rocksdb_options_t* options);
extern ROCKSDB_LIBRARY_API size_t rocksdb_options_get_memtable_huge_page_size(rocksdb_options_t*
    options);
extern ROCKSDB_LIBRARY_API uint32_t
    rocksdb_options_get_memtable_op_scan_flush_trigger(rocksdb_options_t* options);
extern ROCKSDB_LIBRARY_API double
    rocksdb_options_get_memtable_prefix_bloom_size_ratio(rocksdb_options_t* options);
extern ROCKSDB_LIBRARY_API uint64_t rocksdb_options_get_min_blob_size(rocksdb_options_t* options);
extern ROCKSDB_LIBRARY_API int
    rocksdb_options_get_min_write_buffer_number_to_merge(rocksdb_options_t* options);
extern ROCKSDB_LIBRARY_API int rocksdb_options_get_num_levels(rocksdb_options_t* options);
extern ROCKSDB_LIBRARY_API unsigned char rocksdb_options_get_open_files_async(rocksdb_options_t*
    options);
extern ROCKSDB_LIBRARY_API unsigned char
    rocksdb_options_get_optimize_filters_for_hits(rocksdb_options_t* options);
extern ROCKSDB_LIBRARY_API unsigned char rocksdb_options_get_paranoid_checks(rocksdb_options_t*
    options);
extern ROCKSDB_LIBRARY_API uint64_t
    rocksdb_options_get_periodic_compaction_seconds(rocksdb_options_t* options);
extern ROCKSDB_LIBRARY_API int rocksdb_options_get_prepopulate_blob_cache(rocksdb_options_t*
    options);
extern ROCKSDB_LIBRARY_API size_t rocksdb_options_get_recycle_log_file_num(rocksdb_options_t*
    options);
extern ROCKSDB_LIBRARY_API unsigned char rocksdb_options_get_report_bg_io_stats(rocksdb_options_t*
    options);
extern ROCKSDB_LIBRARY_API unsigned char
    rocksdb_options_get_skip_checking_sst_file_sizes_on_db_open(rocksdb_options_t* options);
extern ROCKSDB_LIBRARY_API unsigned char
    rocksdb_options_get_skip_stats_update_on_db_open(rocksdb_options_t* options);
extern ROCKSDB_LIBRARY_API size_t
    rocksdb_options_get_soft_pending_compaction_bytes_limit(rocksdb_options_t* options);
extern ROCKSDB_LIBRARY_API int rocksdb_options_get_statistics_level(rocksdb_options_t* options);
extern ROCKSDB_LIBRARY_API uint32_t rocksdb_options_get_stats_dump_period_sec(rocksdb_options_t*
    options);
extern ROCKSDB_LIBRARY_API uint32_t rocksdb_options_get_stats_persist_period_sec(rocksdb_options_t*
    options);
extern ROCKSDB_LIBRARY_API int rocksdb_options_get_table_cache_numshardbits(rocksdb_options_t*
    options);
extern ROCKSDB_LIBRARY_API uint64_t rocksdb_options_get_target_file_size_base(rocksdb_options_t*
    options);
extern ROCKSDB_LIBRARY_API int rocksdb_options_get_target_file_size_multiplier(rocksdb_options_t*
    options);
extern ROCKSDB_LIBRARY_API unsigned char
    rocksdb_options_get_track_and_verify_wals_in_manifest(rocksdb_options_t* options);
extern ROCKSDB_LIBRARY_API uint64_t rocksdb_options_get_ttl(rocksdb_options_t* options);
extern ROCKSDB_LIBRARY_API unsigned char rocksdb_options_get_unordered_write(rocksdb_options_t*
    options);
extern ROCKSDB_LIBRARY_API unsigned char rocksdb_options_get_use_adaptive_mutex(rocksdb_options_t*
    options);
extern ROCKSDB_LIBRARY_API unsigned char
    rocksdb_options_get_use_direct_io_for_flush_and_compaction(rocksdb_options_t* options);
extern ROCKSDB_LIBRARY_API unsigned char rocksdb_options_get_use_direct_reads(rocksdb_options_t*
    options);
extern ROCKSDB_LIBRARY_API int rocksdb_options_get_use_fsync(rocksdb_options_t* options);
extern ROCKSDB_LIBRARY_API uint64_t rocksdb_options_get_wal_bytes_per_sync(rocksdb_options_t*
    options);
extern ROCKSDB_LIBRARY_API int rocksdb_options_get_wal_compression(rocksdb_options_t* options);
extern ROCKSDB_LIBRARY_API int rocksdb_options_get_wal_recovery_mode(rocksdb_options_t* options);
extern ROCKSDB_LIBRARY_API uint64_t
    rocksdb_options_get_writable_file_max_buffer_size(rocksdb_options_t* options);
extern ROCKSDB_LIBRARY_API size_t rocksdb_options_get_write_buffer_size(rocksdb_options_t* options);
extern ROCKSDB_LIBRARY_API unsigned char
    rocksdb_options_get_write_dbid_to_manifest(rocksdb_options_t* options);
extern ROCKSDB_LIBRARY_API unsigned char rocksdb_options_get_write_identity_file(rocksdb_options_t*
    options);
extern ROCKSDB_LIBRARY_API void rocksdb_options_increase_parallelism(rocksdb_options_t* options, int
    n);
extern ROCKSDB_LIBRARY_API void rocksdb_options_optimize_for_point_lookup(rocksdb_options_t*
    options, uint64_t block_cache_mb);
extern ROCKSDB_LIBRARY_API void rocksdb_options_optimize_level_style_compaction(rocksdb_options_t*
    options, uint64_t budget);
extern ROCKSDB_LIBRARY_API void
    rocksdb_options_optimize_universal_style_compaction(rocksdb_options_t* options, uint64_t
    budget);
extern ROCKSDB_LIBRARY_API void rocksdb_options_prepare_for_bulk_load(rocksdb_options_t* options);
extern ROCKSDB_LIBRARY_API void rocksdb_options_set_WAL_size_limit_MB(rocksdb_options_t* options,
    uint64_t value);
extern ROCKSDB_LIBRARY_API void rocksdb_options_set_WAL_ttl_seconds(rocksdb_options_t* options,
    uint64_t value);
extern ROCKSDB_LIBRARY_API void
    rocksdb_options_set_access_hint_on_compaction_start(rocksdb_options_t* options, int value);
extern ROCKSDB_LIBRARY_API void rocksdb_options_set_advise_random_on_open(rocksdb_options_t*
    options, unsigned char value);
extern ROCKSDB_LIBRARY_API void
    rocksdb_options_set_allow_concurrent_memtable_write(rocksdb_options_t* options, unsigned char
    value);
extern ROCKSDB_LIBRARY_API void rocksdb_options_set_allow_ingest_behind(rocksdb_options_t* options,
    unsigned char value);
extern ROCKSDB_LIBRARY_API void rocksdb_options_set_allow_mmap_reads(rocksdb_options_t* options,
    unsigned char value);
extern ROCKSDB_LIBRARY_API void rocksdb_options_set_allow_mmap_writes(rocksdb_options_t* options,
    unsigned char value);
extern ROCKSDB_LIBRARY_API void rocksdb_options_set_arena_block_size(rocksdb_options_t* options,
    size_t value);
extern ROCKSDB_LIBRARY_API void rocksdb_options_set_atomic_flush(rocksdb_options_t* options,
    unsigned char value);
extern ROCKSDB_LIBRARY_API void rocksdb_options_set_avoid_unnecessary_blocking_io(rocksdb_options_t*
    options, unsigned char value);
extern ROCKSDB_LIBRARY_API void rocksdb_options_set_blob_cache(rocksdb_options_t* options,
    rocksdb_cache_t* cache);
extern ROCKSDB_LIBRARY_API void
    rocksdb_options_set_blob_compaction_readahead_size(rocksdb_options_t* options, uint64_t value);
extern ROCKSDB_LIBRARY_API void rocksdb_options_set_blob_compression_type(rocksdb_options_t*
    options, int value);
extern ROCKSDB_LIBRARY_API void rocksdb_options_set_blob_file_size(rocksdb_options_t* options,
    uint64_t value);
extern ROCKSDB_LIBRARY_API void rocksdb_options_set_blob_file_starting_level(rocksdb_options_t*
    options, int value);
extern ROCKSDB_LIBRARY_API void rocksdb_options_set_blob_gc_age_cutoff(rocksdb_options_t* options,
    double value);
extern ROCKSDB_LIBRARY_API void rocksdb_options_set_blob_gc_force_threshold(rocksdb_options_t*
    options, double value);
extern ROCKSDB_LIBRARY_API void rocksdb_options_set_block_based_table_factory(rocksdb_options_t*
    options, rocksdb_block_based_table_options_t* table);
extern ROCKSDB_LIBRARY_API void rocksdb_options_set_bloom_locality(rocksdb_options_t* options,
    uint32_t value);
extern ROCKSDB_LIBRARY_API void rocksdb_options_set_bottommost_compression(rocksdb_options_t*
    options, int value);
extern ROCKSDB_LIBRARY_API void
    rocksdb_options_set_bottommost_compression_options(rocksdb_options_t* options, int window_bits,
    int level, int strategy, int max_dict_bytes, unsigned char enabled);
extern ROCKSDB_LIBRARY_API void
    rocksdb_options_set_bottommost_compression_options_max_dict_buffer_bytes(rocksdb_options_t*
    options, uint64_t bytes, unsigned char enabled);
extern ROCKSDB_LIBRARY_API void
    rocksdb_options_set_bottommost_compression_options_use_zstd_dict_trainer(rocksdb_options_t*
    options, unsigned char trainer, unsigned char enabled);
extern ROCKSDB_LIBRARY_API void
    rocksdb_options_set_bottommost_compression_options_zstd_max_train_bytes(rocksdb_options_t*
    options, int bytes, unsigned char enabled);
extern ROCKSDB_LIBRARY_API void rocksdb_options_set_bytes_per_sync(rocksdb_options_t* options,
    uint64_t value);
extern ROCKSDB_LIBRARY_API void rocksdb_options_set_cf_paths(rocksdb_options_t* options, const
    rocksdb_dbpath_t** paths, size_t len);
extern ROCKSDB_LIBRARY_API void rocksdb_options_set_compaction_filter(rocksdb_options_t* options,
    rocksdb_compactionfilter_t* filter);
extern ROCKSDB_LIBRARY_API void rocksdb_options_set_compaction_filter_factory(rocksdb_options_t*
    options, rocksdb_compactionfilterfactory_t* factory);
extern ROCKSDB_LIBRARY_API void rocksdb_options_set_compaction_pri(rocksdb_options_t* options, int
    value);
extern ROCKSDB_LIBRARY_API void rocksdb_options_set_compaction_service(rocksdb_options_t* options,
    rocksdb_compactionservice_t* service);
extern ROCKSDB_LIBRARY_API void rocksdb_options_set_compaction_style(rocksdb_options_t* options, int
    value);
extern ROCKSDB_LIBRARY_API void rocksdb_options_set_comparator(rocksdb_options_t* options,
    rocksdb_comparator_t* comparator);
extern ROCKSDB_LIBRARY_API void rocksdb_options_set_compression(rocksdb_options_t* options, int
    value);
extern ROCKSDB_LIBRARY_API void rocksdb_options_set_compression_options(rocksdb_options_t* options,
    int window_bits, int level, int strategy, int max_dict_bytes);
extern ROCKSDB_LIBRARY_API void
    rocksdb_options_set_compression_options_max_dict_buffer_bytes(rocksdb_options_t* options,
    uint64_t value);
extern ROCKSDB_LIBRARY_API void
    rocksdb_options_set_compression_options_parallel_threads(rocksdb_options_t* options, int value);
extern ROCKSDB_LIBRARY_API void
    rocksdb_options_set_compression_options_use_zstd_dict_trainer(rocksdb_options_t* options,
    unsigned char value);
extern ROCKSDB_LIBRARY_API void
    rocksdb_options_set_compression_options_zstd_max_train_bytes(rocksdb_options_t* options, int
    value);
extern ROCKSDB_LIBRARY_API void rocksdb_options_set_compression_per_level(rocksdb_options_t*
    options, const int* levels, size_t len);
extern ROCKSDB_LIBRARY_API void rocksdb_options_set_create_if_missing(rocksdb_options_t* options,
    unsigned char value);
extern ROCKSDB_LIBRARY_API void
    rocksdb_options_set_create_missing_column_families(rocksdb_options_t* options, unsigned char
    value);
extern ROCKSDB_LIBRARY_API void rocksdb_options_set_cuckoo_table_factory(rocksdb_options_t* options,
    rocksdb_cuckoo_table_options_t* table);
extern ROCKSDB_LIBRARY_API void rocksdb_options_set_db_log_dir(rocksdb_options_t* options, const
    char* dir);
extern ROCKSDB_LIBRARY_API void rocksdb_options_set_db_paths(rocksdb_options_t* options, const
    rocksdb_dbpath_t** paths, size_t len);
extern ROCKSDB_LIBRARY_API void rocksdb_options_set_db_write_buffer_size(rocksdb_options_t* options,
    size_t value);
extern ROCKSDB_LIBRARY_API void
    rocksdb_options_set_delete_obsolete_files_period_micros(rocksdb_options_t* options, uint64_t
    value);
extern ROCKSDB_LIBRARY_API void rocksdb_options_set_disable_auto_compactions(rocksdb_options_t*
    options, int value);
extern ROCKSDB_LIBRARY_API void rocksdb_options_set_dump_malloc_stats(rocksdb_options_t* options,
    unsigned char value);
extern ROCKSDB_LIBRARY_API void rocksdb_options_set_enable_blob_files(rocksdb_options_t* options,
    unsigned char value);
extern ROCKSDB_LIBRARY_API void rocksdb_options_set_enable_blob_gc(rocksdb_options_t* options,
    unsigned char value);
extern ROCKSDB_LIBRARY_API void rocksdb_options_set_enable_pipelined_write(rocksdb_options_t*
    options, unsigned char value);
extern ROCKSDB_LIBRARY_API void
    rocksdb_options_set_enable_write_thread_adaptive_yield(rocksdb_options_t* options, unsigned char
    value);
extern ROCKSDB_LIBRARY_API void rocksdb_options_set_env(rocksdb_options_t* options, rocksdb_env_t*
    env);
extern ROCKSDB_LIBRARY_API void rocksdb_options_set_error_if_exists(rocksdb_options_t* options,
    unsigned char value);
extern ROCKSDB_LIBRARY_API void
    rocksdb_options_set_experimental_mempurge_threshold(rocksdb_options_t* options, double value);
extern ROCKSDB_LIBRARY_API void rocksdb_options_set_fifo_compaction_options(rocksdb_options_t*
    options, rocksdb_fifo_compaction_options_t* fifo);
extern ROCKSDB_LIBRARY_API void rocksdb_options_set_file_checksum_gen_factory(rocksdb_options_t*
    options, rocksdb_file_checksum_gen_factory_t* factory);
extern ROCKSDB_LIBRARY_API void
    rocksdb_options_set_hard_pending_compaction_bytes_limit(rocksdb_options_t* options, size_t
    value);
extern ROCKSDB_LIBRARY_API void rocksdb_options_set_hash_link_list_rep(rocksdb_options_t* options,
    size_t bucket_count);
extern ROCKSDB_LIBRARY_API void rocksdb_options_set_hash_skip_list_rep(rocksdb_options_t* options,
    size_t bucket_count, int height, int branching_factor);
extern ROCKSDB_LIBRARY_API void rocksdb_options_set_info_log(rocksdb_options_t* options,
    rocksdb_logger_t* logger);
extern ROCKSDB_LIBRARY_API void rocksdb_options_set_info_log_level(rocksdb_options_t* options, int
    value);
extern ROCKSDB_LIBRARY_API void rocksdb_options_set_inplace_update_num_locks(rocksdb_options_t*
    options, size_t value);
extern ROCKSDB_LIBRARY_API void rocksdb_options_set_inplace_update_support(rocksdb_options_t*
    options, unsigned char value);
extern ROCKSDB_LIBRARY_API void rocksdb_options_set_is_fd_close_on_exec(rocksdb_options_t* options,
    unsigned char value);
extern ROCKSDB_LIBRARY_API void rocksdb_options_set_keep_log_file_num(rocksdb_options_t* options,
    size_t value);
extern ROCKSDB_LIBRARY_API void
    rocksdb_options_set_level0_file_num_compaction_trigger(rocksdb_options_t* options, int value);
extern ROCKSDB_LIBRARY_API void
    rocksdb_options_set_level0_slowdown_writes_trigger(rocksdb_options_t* options, int value);
extern ROCKSDB_LIBRARY_API void rocksdb_options_set_level0_stop_writes_trigger(rocksdb_options_t*
    options, int value);
extern ROCKSDB_LIBRARY_API void
    rocksdb_options_set_level_compaction_dynamic_level_bytes(rocksdb_options_t* options, unsigned
    char value);
extern ROCKSDB_LIBRARY_API void rocksdb_options_set_log_file_time_to_roll(rocksdb_options_t*
    options, size_t value);
extern ROCKSDB_LIBRARY_API void rocksdb_options_set_manifest_preallocation_size(rocksdb_options_t*
    options, size_t value);
extern ROCKSDB_LIBRARY_API void rocksdb_options_set_manual_wal_flush(rocksdb_options_t* options,
    unsigned char value);
extern ROCKSDB_LIBRARY_API void rocksdb_options_set_max_background_compactions(rocksdb_options_t*
    options, int value);
extern ROCKSDB_LIBRARY_API void rocksdb_options_set_max_background_flushes(rocksdb_options_t*
    options, int value);
extern ROCKSDB_LIBRARY_API void rocksdb_options_set_max_background_jobs(rocksdb_options_t* options,
    int value);
extern ROCKSDB_LIBRARY_API void rocksdb_options_set_max_bytes_for_level_base(rocksdb_options_t*
    options, uint64_t value);
extern ROCKSDB_LIBRARY_API void
    rocksdb_options_set_max_bytes_for_level_multiplier(rocksdb_options_t* options, double value);
extern ROCKSDB_LIBRARY_API void
    rocksdb_options_set_max_bytes_for_level_multiplier_additional(rocksdb_options_t* options, int*
    values, size_t len);
extern ROCKSDB_LIBRARY_API void rocksdb_options_set_max_compaction_bytes(rocksdb_options_t* options,
    uint64_t value);
extern ROCKSDB_LIBRARY_API void rocksdb_options_set_max_file_opening_threads(rocksdb_options_t*
    options, int value);
extern ROCKSDB_LIBRARY_API void rocksdb_options_set_max_log_file_size(rocksdb_options_t* options,
    size_t value);
extern ROCKSDB_LIBRARY_API void rocksdb_options_set_max_manifest_file_size(rocksdb_options_t*
    options, size_t value);
extern ROCKSDB_LIBRARY_API void rocksdb_options_set_max_open_files(rocksdb_options_t* options, int
    value);
extern ROCKSDB_LIBRARY_API void
    rocksdb_options_set_max_sequential_skip_in_iterations(rocksdb_options_t* options, uint64_t
    value);
extern ROCKSDB_LIBRARY_API void rocksdb_options_set_max_subcompactions(rocksdb_options_t* options,
    uint32_t value);
extern ROCKSDB_LIBRARY_API void rocksdb_options_set_max_successive_merges(rocksdb_options_t*
    options, size_t value);
extern ROCKSDB_LIBRARY_API void rocksdb_options_set_max_total_wal_size(rocksdb_options_t* options,
    uint64_t value);
extern ROCKSDB_LIBRARY_API void rocksdb_options_set_max_write_buffer_number(rocksdb_options_t*
    options, int value);
extern ROCKSDB_LIBRARY_API void
    rocksdb_options_set_max_write_buffer_number_to_maintain(rocksdb_options_t* options, int value);
extern ROCKSDB_LIBRARY_API void
    rocksdb_options_set_max_write_buffer_size_to_maintain(rocksdb_options_t* options, int64_t
    value);
extern ROCKSDB_LIBRARY_API void
    rocksdb_options_set_memtable_avg_op_scan_flush_trigger(rocksdb_options_t* options, uint32_t
    value);
extern ROCKSDB_LIBRARY_API void rocksdb_options_set_memtable_huge_page_size(rocksdb_options_t*
    options, size_t value);
extern ROCKSDB_LIBRARY_API void
    rocksdb_options_set_memtable_op_scan_flush_trigger(rocksdb_options_t* options, uint32_t value);
extern ROCKSDB_LIBRARY_API void
    rocksdb_options_set_memtable_prefix_bloom_size_ratio(rocksdb_options_t* options, double value);
extern ROCKSDB_LIBRARY_API void rocksdb_options_set_memtable_vector_rep(rocksdb_options_t* options);
extern ROCKSDB_LIBRARY_API void rocksdb_options_set_memtable_whole_key_filtering(rocksdb_options_t*
    options, unsigned char value);
extern ROCKSDB_LIBRARY_API void rocksdb_options_set_merge_operator(rocksdb_options_t* options,
    rocksdb_mergeoperator_t* merge_operator);
extern ROCKSDB_LIBRARY_API void rocksdb_options_set_min_blob_size(rocksdb_options_t* options,
    uint64_t value);
extern ROCKSDB_LIBRARY_API void rocksdb_options_set_min_level_to_compress(rocksdb_options_t*
    options, int level);
extern ROCKSDB_LIBRARY_API void
    rocksdb_options_set_min_write_buffer_number_to_merge(rocksdb_options_t* options, int value);
extern ROCKSDB_LIBRARY_API void rocksdb_options_set_num_levels(rocksdb_options_t* options, int
    value);
extern ROCKSDB_LIBRARY_API void rocksdb_options_set_open_files_async(rocksdb_options_t* options,
    unsigned char value);
extern ROCKSDB_LIBRARY_API void rocksdb_options_set_optimize_filters_for_hits(rocksdb_options_t*
    options, int value);
extern ROCKSDB_LIBRARY_API void rocksdb_options_set_paranoid_checks(rocksdb_options_t* options,
    unsigned char value);
extern ROCKSDB_LIBRARY_API void rocksdb_options_set_periodic_compaction_seconds(rocksdb_options_t*
    options, uint64_t value);
extern ROCKSDB_LIBRARY_API void rocksdb_options_set_prefix_extractor(rocksdb_options_t* options,
    rocksdb_slicetransform_t* transform);
extern ROCKSDB_LIBRARY_API void rocksdb_options_set_prepopulate_blob_cache(rocksdb_options_t*
    options, int value);
extern ROCKSDB_LIBRARY_API void rocksdb_options_set_ratelimiter(rocksdb_options_t* options,
    rocksdb_ratelimiter_t* limiter);
extern ROCKSDB_LIBRARY_API void rocksdb_options_set_recycle_log_file_num(rocksdb_options_t* options,
    size_t value);
extern ROCKSDB_LIBRARY_API void rocksdb_options_set_report_bg_io_stats(rocksdb_options_t* options,
    int value);
extern ROCKSDB_LIBRARY_API void rocksdb_options_set_row_cache(rocksdb_options_t* options,
    rocksdb_cache_t* cache);
extern ROCKSDB_LIBRARY_API void
    rocksdb_options_set_skip_checking_sst_file_sizes_on_db_open(rocksdb_options_t* options, unsigned
    char value);
extern ROCKSDB_LIBRARY_API void rocksdb_options_set_skip_stats_update_on_db_open(rocksdb_options_t*
    options, unsigned char value);
extern ROCKSDB_LIBRARY_API void
    rocksdb_options_set_soft_pending_compaction_bytes_limit(rocksdb_options_t* options, size_t
    value);
extern ROCKSDB_LIBRARY_API void rocksdb_options_set_sst_file_manager(rocksdb_options_t* options,
    rocksdb_sst_file_manager_t* manager);
extern ROCKSDB_LIBRARY_API void rocksdb_options_set_sst_partitioner_factory(rocksdb_options_t*
    options, rocksdb_sst_partitioner_factory_t* factory);
extern ROCKSDB_LIBRARY_API void rocksdb_options_set_statistics_level(rocksdb_options_t* options, int
    number);
extern ROCKSDB_LIBRARY_API void rocksdb_options_set_stats_dump_period_sec(rocksdb_options_t*
    options, uint32_t value);
extern ROCKSDB_LIBRARY_API void rocksdb_options_set_stats_persist_period_sec(rocksdb_options_t*
    options, uint32_t value);
extern ROCKSDB_LIBRARY_API void rocksdb_options_set_table_cache_numshardbits(rocksdb_options_t*
    options, int value);
extern ROCKSDB_LIBRARY_API void rocksdb_options_set_target_file_size_base(rocksdb_options_t*
    options, uint64_t value);
extern ROCKSDB_LIBRARY_API void rocksdb_options_set_target_file_size_multiplier(rocksdb_options_t*
    options, int value);
extern ROCKSDB_LIBRARY_API void
    rocksdb_options_set_track_and_verify_wals_in_manifest(rocksdb_options_t* options, unsigned char
    value);
extern ROCKSDB_LIBRARY_API void rocksdb_options_set_ttl(rocksdb_options_t* options, uint64_t value);
extern ROCKSDB_LIBRARY_API void rocksdb_options_set_uint64add_merge_operator(rocksdb_options_t*
    options);
extern ROCKSDB_LIBRARY_API void rocksdb_options_set_universal_compaction_options(rocksdb_options_t*
    options, rocksdb_universal_compaction_options_t* universal);
extern ROCKSDB_LIBRARY_API void rocksdb_options_set_unordered_write(rocksdb_options_t* options,
    unsigned char value);
extern ROCKSDB_LIBRARY_API void rocksdb_options_set_use_adaptive_mutex(rocksdb_options_t* options,
    unsigned char value);
extern ROCKSDB_LIBRARY_API void
    rocksdb_options_set_use_direct_io_for_flush_and_compaction(rocksdb_options_t* options, unsigned
    char value);
extern ROCKSDB_LIBRARY_API void rocksdb_options_set_use_direct_reads(rocksdb_options_t* options,
    unsigned char value);
extern ROCKSDB_LIBRARY_API void rocksdb_options_set_use_fsync(rocksdb_options_t* options, int
    value);
extern ROCKSDB_LIBRARY_API void rocksdb_options_set_wal_bytes_per_sync(rocksdb_options_t* options,
    uint64_t value);
extern ROCKSDB_LIBRARY_API void rocksdb_options_set_wal_compression(rocksdb_options_t* options, int
    value);
extern ROCKSDB_LIBRARY_API void rocksdb_options_set_wal_dir(rocksdb_options_t* options, const char*
    dir);
extern ROCKSDB_LIBRARY_API void rocksdb_options_set_wal_recovery_mode(rocksdb_options_t* options,
    int value);
extern ROCKSDB_LIBRARY_API void rocksdb_options_set_writable_file_max_buffer_size(rocksdb_options_t*
    options, uint64_t value);
extern ROCKSDB_LIBRARY_API void rocksdb_options_set_write_buffer_manager(rocksdb_options_t* options,
    rocksdb_write_buffer_manager_t* manager);
extern ROCKSDB_LIBRARY_API void rocksdb_options_set_write_buffer_size(rocksdb_options_t* options,
    size_t value);
extern ROCKSDB_LIBRARY_API void rocksdb_options_set_write_dbid_to_manifest(rocksdb_options_t*
    options, unsigned char value);
extern ROCKSDB_LIBRARY_API void rocksdb_options_set_write_identity_file(rocksdb_options_t* options,
    unsigned char value);
extern ROCKSDB_LIBRARY_API void rocksdb_options_statistics_get_histogram_data(rocksdb_options_t*
    options, uint32_t histogram, rocksdb_statistics_histogram_data_t* data);
extern ROCKSDB_LIBRARY_API char* rocksdb_options_statistics_get_string(rocksdb_options_t* options);
extern ROCKSDB_LIBRARY_API uint64_t rocksdb_options_statistics_get_ticker_count(rocksdb_options_t*
    options, uint32_t ticker);
extern ROCKSDB_LIBRARY_API rocksdb_perfcontext_t* rocksdb_perfcontext_create(void);
extern ROCKSDB_LIBRARY_API void rocksdb_perfcontext_destroy(rocksdb_perfcontext_t* context);
extern ROCKSDB_LIBRARY_API uint64_t rocksdb_perfcontext_metric(rocksdb_perfcontext_t* context, int
    metric);
extern ROCKSDB_LIBRARY_API char* rocksdb_perfcontext_report(rocksdb_perfcontext_t* context, unsigned
    char exclude_zeros);
extern ROCKSDB_LIBRARY_API void rocksdb_perfcontext_reset(rocksdb_perfcontext_t* context);
extern ROCKSDB_LIBRARY_API void rocksdb_pinnable_handle_destroy(rocksdb_pinnable_handle_t* handle);
extern ROCKSDB_LIBRARY_API const char* rocksdb_pinnable_handle_get_value(const
    rocksdb_pinnable_handle_t* handle, size_t* len);
extern ROCKSDB_LIBRARY_API void rocksdb_pinnableslice_destroy(rocksdb_pinnableslice_t* value);
extern ROCKSDB_LIBRARY_API const char* rocksdb_pinnableslice_value(const rocksdb_pinnableslice_t*
    value, size_t* len);
extern ROCKSDB_LIBRARY_API void rocksdb_pinnablewidecolumns_destroy(rocksdb_pinnablewidecolumns_t*
    columns);
extern ROCKSDB_LIBRARY_API const char* rocksdb_pinnablewidecolumns_name(const
    rocksdb_pinnablewidecolumns_t* columns, size_t n, size_t* len);
extern ROCKSDB_LIBRARY_API size_t rocksdb_pinnablewidecolumns_size(const
    rocksdb_pinnablewidecolumns_t* columns);
extern ROCKSDB_LIBRARY_API const char* rocksdb_pinnablewidecolumns_value(const
    rocksdb_pinnablewidecolumns_t* columns, size_t n, size_t* len);
extern ROCKSDB_LIBRARY_API int rocksdb_property_int(rocksdb_t* db, const char* name, uint64_t* out);
extern ROCKSDB_LIBRARY_API int rocksdb_property_int_cf(rocksdb_t* db,
    rocksdb_column_family_handle_t* handle, const char* name, uint64_t* out);
extern ROCKSDB_LIBRARY_API char* rocksdb_property_value(rocksdb_t* db, const char* name);
extern ROCKSDB_LIBRARY_API char* rocksdb_property_value_cf(rocksdb_t* db,
    rocksdb_column_family_handle_t* handle, const char* name);
extern ROCKSDB_LIBRARY_API void rocksdb_put(rocksdb_t* db, const rocksdb_writeoptions_t* options,
    const char* key, size_t keylen, const char* value, size_t len, char** errptr);
extern ROCKSDB_LIBRARY_API void rocksdb_put_cf(rocksdb_t* db, const rocksdb_writeoptions_t* options,
    rocksdb_column_family_handle_t* handle, const char* key, size_t keylen, const char* value,
    size_t len, char** errptr);
extern ROCKSDB_LIBRARY_API void rocksdb_put_cf_with_ts(rocksdb_t* db, const rocksdb_writeoptions_t*
    options, rocksdb_column_family_handle_t* handle, const char* key, size_t keylen, const char* ts,
    size_t tslen, const char* value, size_t len, char** errptr);
extern ROCKSDB_LIBRARY_API void rocksdb_put_entity_cf(rocksdb_t* db, const rocksdb_writeoptions_t*
    options, rocksdb_column_family_handle_t* handle, const char* key, size_t keylen, size_t
    num_columns, const char* const* names, const size_t* name_lengths, const char* const* values,
    const size_t* value_lengths, char** errptr);
extern ROCKSDB_LIBRARY_API void rocksdb_put_with_ts(rocksdb_t* db, const rocksdb_writeoptions_t*
    options, const char* key, size_t keylen, const char* ts, size_t tslen, const char* value, size_t
    len, char** errptr);
extern ROCKSDB_LIBRARY_API rocksdb_ratelimiter_t* rocksdb_ratelimiter_create(int64_t rate, int64_t
    period_us, int fairness);
extern ROCKSDB_LIBRARY_API rocksdb_ratelimiter_t* rocksdb_ratelimiter_create_auto_tuned(int64_t
    rate, int64_t period_us, int fairness);
extern ROCKSDB_LIBRARY_API rocksdb_ratelimiter_t* rocksdb_ratelimiter_create_with_mode(int64_t rate,
    int64_t period_us, int fairness, int mode, bool auto_tuned);
extern ROCKSDB_LIBRARY_API void rocksdb_ratelimiter_destroy(rocksdb_ratelimiter_t* limiter);
extern ROCKSDB_LIBRARY_API rocksdb_readoptions_t* rocksdb_readoptions_create(void);
extern ROCKSDB_LIBRARY_API void rocksdb_readoptions_destroy(rocksdb_readoptions_t* options);
extern ROCKSDB_LIBRARY_API unsigned char rocksdb_readoptions_get_async_io(rocksdb_readoptions_t*
    options);
extern ROCKSDB_LIBRARY_API unsigned char
    rocksdb_readoptions_get_background_purge_on_iterator_cleanup(rocksdb_readoptions_t* options);
extern ROCKSDB_LIBRARY_API uint64_t rocksdb_readoptions_get_deadline(rocksdb_readoptions_t*
    options);
extern ROCKSDB_LIBRARY_API unsigned char rocksdb_readoptions_get_fill_cache(rocksdb_readoptions_t*
    options);
extern ROCKSDB_LIBRARY_API unsigned char
    rocksdb_readoptions_get_ignore_range_deletions(rocksdb_readoptions_t* options);
extern ROCKSDB_LIBRARY_API uint64_t rocksdb_readoptions_get_io_timeout(rocksdb_readoptions_t*
    options);
extern ROCKSDB_LIBRARY_API uint64_t
    rocksdb_readoptions_get_max_skippable_internal_keys(rocksdb_readoptions_t* options);
extern ROCKSDB_LIBRARY_API unsigned char rocksdb_readoptions_get_pin_data(rocksdb_readoptions_t*
    options);
extern ROCKSDB_LIBRARY_API unsigned char
    rocksdb_readoptions_get_prefix_same_as_start(rocksdb_readoptions_t* options);
extern ROCKSDB_LIBRARY_API int rocksdb_readoptions_get_read_tier(rocksdb_readoptions_t* options);
extern ROCKSDB_LIBRARY_API size_t rocksdb_readoptions_get_readahead_size(rocksdb_readoptions_t*
    options);
extern ROCKSDB_LIBRARY_API unsigned char rocksdb_readoptions_get_tailing(rocksdb_readoptions_t*
    options);
extern ROCKSDB_LIBRARY_API unsigned char
    rocksdb_readoptions_get_total_order_seek(rocksdb_readoptions_t* options);
extern ROCKSDB_LIBRARY_API unsigned char
    rocksdb_readoptions_get_verify_checksums(rocksdb_readoptions_t* options);
extern ROCKSDB_LIBRARY_API void rocksdb_readoptions_set_async_io(rocksdb_readoptions_t* options,
    unsigned char value);
extern ROCKSDB_LIBRARY_API void rocksdb_readoptions_set_auto_readahead_size(rocksdb_readoptions_t*
    options, unsigned char value);
extern ROCKSDB_LIBRARY_API void
    rocksdb_readoptions_set_background_purge_on_iterator_cleanup(rocksdb_readoptions_t* options,
    unsigned char value);
extern ROCKSDB_LIBRARY_API void rocksdb_readoptions_set_deadline(rocksdb_readoptions_t* options,
    uint64_t value);
extern ROCKSDB_LIBRARY_API void rocksdb_readoptions_set_fill_cache(rocksdb_readoptions_t* options,
    unsigned char value);
extern ROCKSDB_LIBRARY_API void
    rocksdb_readoptions_set_ignore_range_deletions(rocksdb_readoptions_t* options, unsigned char
    value);
extern ROCKSDB_LIBRARY_API void rocksdb_readoptions_set_io_timeout(rocksdb_readoptions_t* options,
    uint64_t value);
extern ROCKSDB_LIBRARY_API void rocksdb_readoptions_set_iter_start_ts(rocksdb_readoptions_t*
    options, const char* ts, size_t len);
extern ROCKSDB_LIBRARY_API void rocksdb_readoptions_set_iterate_lower_bound(rocksdb_readoptions_t*
    options, const char* key, size_t len);
extern ROCKSDB_LIBRARY_API void rocksdb_readoptions_set_iterate_upper_bound(rocksdb_readoptions_t*
    options, const char* key, size_t len);
extern ROCKSDB_LIBRARY_API void rocksdb_readoptions_set_managed(rocksdb_readoptions_t* options,
    unsigned char managed);
extern ROCKSDB_LIBRARY_API void
    rocksdb_readoptions_set_max_skippable_internal_keys(rocksdb_readoptions_t* options, uint64_t
    value);
extern ROCKSDB_LIBRARY_API void rocksdb_readoptions_set_pin_data(rocksdb_readoptions_t* options,
    unsigned char value);
extern ROCKSDB_LIBRARY_API void rocksdb_readoptions_set_prefix_same_as_start(rocksdb_readoptions_t*
    options, unsigned char value);
extern ROCKSDB_LIBRARY_API void rocksdb_readoptions_set_read_tier(rocksdb_readoptions_t* options,
    int value);
extern ROCKSDB_LIBRARY_API void rocksdb_readoptions_set_readahead_size(rocksdb_readoptions_t*
    options, size_t value);
extern ROCKSDB_LIBRARY_API void rocksdb_readoptions_set_snapshot(rocksdb_readoptions_t* options,
    const rocksdb_snapshot_t* snapshot);
extern ROCKSDB_LIBRARY_API void rocksdb_readoptions_set_tailing(rocksdb_readoptions_t* options,
    unsigned char value);
extern ROCKSDB_LIBRARY_API void rocksdb_readoptions_set_timestamp(rocksdb_readoptions_t* options,
    const char* ts, size_t len);
extern ROCKSDB_LIBRARY_API void rocksdb_readoptions_set_total_order_seek(rocksdb_readoptions_t*
    options, unsigned char value);
extern ROCKSDB_LIBRARY_API void rocksdb_readoptions_set_verify_checksums(rocksdb_readoptions_t*
    options, unsigned char value);
extern ROCKSDB_LIBRARY_API void rocksdb_release_snapshot(rocksdb_t* db, const rocksdb_snapshot_t*
    snapshot);
extern ROCKSDB_LIBRARY_API void rocksdb_repair_db(const rocksdb_options_t* options, const char*
    name, char** errptr);
extern ROCKSDB_LIBRARY_API void rocksdb_reset_status(rocksdb_status_ptr_t* status);
extern ROCKSDB_LIBRARY_API rocksdb_restore_options_t* rocksdb_restore_options_create(void);
extern ROCKSDB_LIBRARY_API void rocksdb_restore_options_destroy(rocksdb_restore_options_t* options);
extern ROCKSDB_LIBRARY_API void
    rocksdb_restore_options_set_keep_log_files(rocksdb_restore_options_t* options, int value);
extern ROCKSDB_LIBRARY_API void rocksdb_set_options(rocksdb_t* db, int num, const char* const* keys,
    const char* const* values, char** errptr);
extern ROCKSDB_LIBRARY_API void rocksdb_set_options_cf(rocksdb_t* db,
    rocksdb_column_family_handle_t* handle, int num, const char* const* keys, const char* const*
    values, char** errptr);
extern ROCKSDB_LIBRARY_API void rocksdb_set_perf_level(int number);
extern ROCKSDB_LIBRARY_API void rocksdb_singledelete(rocksdb_t* db, const rocksdb_writeoptions_t*
    options, const char* key, size_t keylen, char** errptr);
extern ROCKSDB_LIBRARY_API void rocksdb_singledelete_cf(rocksdb_t* db, const rocksdb_writeoptions_t*
    options, rocksdb_column_family_handle_t* handle, const char* key, size_t keylen, char** errptr);
extern ROCKSDB_LIBRARY_API void rocksdb_singledelete_cf_with_ts(rocksdb_t* db, const
    rocksdb_writeoptions_t* options, rocksdb_column_family_handle_t* handle, const char* key, size_t
    keylen, const char* ts, size_t tslen, char** errptr);
extern ROCKSDB_LIBRARY_API void rocksdb_singledelete_with_ts(rocksdb_t* db, const
    rocksdb_writeoptions_t* options, const char* key, size_t keylen, const char* ts, size_t tslen,
    char** errptr);
extern ROCKSDB_LIBRARY_API rocksdb_slicetransform_t*
    rocksdb_slicetransform_create_fixed_prefix(size_t len);
extern ROCKSDB_LIBRARY_API rocksdb_slicetransform_t* rocksdb_slicetransform_create_noop(void);
extern ROCKSDB_LIBRARY_API void rocksdb_slicetransform_destroy(rocksdb_slicetransform_t* transform);
extern ROCKSDB_LIBRARY_API uint64_t rocksdb_snapshot_get_sequence_number(const rocksdb_snapshot_t*
    snapshot);
extern ROCKSDB_LIBRARY_API rocksdb_sst_file_manager_t*
    rocksdb_sst_file_manager_create(rocksdb_env_t* env);
extern ROCKSDB_LIBRARY_API void rocksdb_sst_file_manager_destroy(rocksdb_sst_file_manager_t*
    manager);
extern ROCKSDB_LIBRARY_API int64_t
    rocksdb_sst_file_manager_get_delete_rate_bytes_per_second(rocksdb_sst_file_manager_t* manager);
extern ROCKSDB_LIBRARY_API double
    rocksdb_sst_file_manager_get_max_trash_db_ratio(rocksdb_sst_file_manager_t* manager);
extern ROCKSDB_LIBRARY_API uint64_t
    rocksdb_sst_file_manager_get_total_size(rocksdb_sst_file_manager_t* manager);
extern ROCKSDB_LIBRARY_API uint64_t
    rocksdb_sst_file_manager_get_total_trash_size(rocksdb_sst_file_manager_t* manager);
extern ROCKSDB_LIBRARY_API bool
    rocksdb_sst_file_manager_is_max_allowed_space_reached(rocksdb_sst_file_manager_t* manager);
extern ROCKSDB_LIBRARY_API bool
    rocksdb_sst_file_manager_is_max_allowed_space_reached_including_compactions(rocksdb_sst_file_manager_t*
    manager);
extern ROCKSDB_LIBRARY_API void
    rocksdb_sst_file_manager_set_compaction_buffer_size(rocksdb_sst_file_manager_t* manager,
    uint64_t bytes);
extern ROCKSDB_LIBRARY_API void
    rocksdb_sst_file_manager_set_delete_rate_bytes_per_second(rocksdb_sst_file_manager_t* manager,
    int64_t rate);
extern ROCKSDB_LIBRARY_API void
    rocksdb_sst_file_manager_set_max_allowed_space_usage(rocksdb_sst_file_manager_t* manager,
    uint64_t bytes);
extern ROCKSDB_LIBRARY_API void
    rocksdb_sst_file_manager_set_max_trash_db_ratio(rocksdb_sst_file_manager_t* manager, double
    ratio);
extern ROCKSDB_LIBRARY_API void rocksdb_sst_file_metadata_destroy(rocksdb_sst_file_metadata_t*
    file);
extern ROCKSDB_LIBRARY_API char*
    rocksdb_sst_file_metadata_get_directory(rocksdb_sst_file_metadata_t* file);
extern ROCKSDB_LIBRARY_API char*
    rocksdb_sst_file_metadata_get_largestkey(rocksdb_sst_file_metadata_t* file, size_t* len);
extern ROCKSDB_LIBRARY_API char*
    rocksdb_sst_file_metadata_get_relative_filename(rocksdb_sst_file_metadata_t* file);
extern ROCKSDB_LIBRARY_API uint64_t rocksdb_sst_file_metadata_get_size(rocksdb_sst_file_metadata_t*
    file);
extern ROCKSDB_LIBRARY_API char*
    rocksdb_sst_file_metadata_get_smallestkey(rocksdb_sst_file_metadata_t* file, size_t* len);
extern ROCKSDB_LIBRARY_API void
    rocksdb_sst_partitioner_factory_destroy(rocksdb_sst_partitioner_factory_t* factory);
extern ROCKSDB_LIBRARY_API rocksdb_sst_partitioner_factory_t*
    rocksdb_sst_partitioner_fixed_prefix_factory_create(size_t len);
extern ROCKSDB_LIBRARY_API void rocksdb_sstfilewriter_add(rocksdb_sstfilewriter_t* writer, const
    char* key, size_t keylen, const char* value, size_t len, char** errptr);
extern ROCKSDB_LIBRARY_API rocksdb_sstfilewriter_t* rocksdb_sstfilewriter_create(const
    rocksdb_envoptions_t* env, const rocksdb_options_t* options);
extern ROCKSDB_LIBRARY_API rocksdb_sstfilewriter_t*
    rocksdb_sstfilewriter_create_with_comparator(const rocksdb_envoptions_t* env, const
    rocksdb_options_t* options, const rocksdb_comparator_t* comparator);
extern ROCKSDB_LIBRARY_API void rocksdb_sstfilewriter_delete(rocksdb_sstfilewriter_t* writer, const
    char* key, size_t keylen, char** errptr);
extern ROCKSDB_LIBRARY_API void rocksdb_sstfilewriter_delete_range(rocksdb_sstfilewriter_t* writer,
    const char* start, size_t start_len, const char* end, size_t end_len, char** errptr);
extern ROCKSDB_LIBRARY_API void rocksdb_sstfilewriter_delete_with_ts(rocksdb_sstfilewriter_t*
    writer, const char* key, size_t keylen, const char* ts, size_t tslen, char** errptr);
extern ROCKSDB_LIBRARY_API void rocksdb_sstfilewriter_destroy(rocksdb_sstfilewriter_t* writer);
extern ROCKSDB_LIBRARY_API void rocksdb_sstfilewriter_file_size(rocksdb_sstfilewriter_t* writer,
    uint64_t* size);
extern ROCKSDB_LIBRARY_API void rocksdb_sstfilewriter_finish(rocksdb_sstfilewriter_t* writer, char**
    errptr);
extern ROCKSDB_LIBRARY_API void rocksdb_sstfilewriter_merge(rocksdb_sstfilewriter_t* writer, const
    char* key, size_t keylen, const char* value, size_t len, char** errptr);
extern ROCKSDB_LIBRARY_API void rocksdb_sstfilewriter_open(rocksdb_sstfilewriter_t* writer, const
    char* path, char** errptr);
extern ROCKSDB_LIBRARY_API void rocksdb_sstfilewriter_put(rocksdb_sstfilewriter_t* writer, const
    char* key, size_t keylen, const char* value, size_t len, char** errptr);
extern ROCKSDB_LIBRARY_API void rocksdb_sstfilewriter_put_with_ts(rocksdb_sstfilewriter_t* writer,
    const char* key, size_t keylen, const char* ts, size_t tslen, const char* value, size_t len,
    char** errptr);
extern ROCKSDB_LIBRARY_API rocksdb_statistics_histogram_data_t*
    rocksdb_statistics_histogram_data_create(void);
extern ROCKSDB_LIBRARY_API void
    rocksdb_statistics_histogram_data_destroy(rocksdb_statistics_histogram_data_t* options);
extern ROCKSDB_LIBRARY_API double
    rocksdb_statistics_histogram_data_get_average(rocksdb_statistics_histogram_data_t* data);
extern ROCKSDB_LIBRARY_API uint64_t
    rocksdb_statistics_histogram_data_get_count(rocksdb_statistics_histogram_data_t* data);
extern ROCKSDB_LIBRARY_API double
    rocksdb_statistics_histogram_data_get_max(rocksdb_statistics_histogram_data_t* data);
extern ROCKSDB_LIBRARY_API double
    rocksdb_statistics_histogram_data_get_median(rocksdb_statistics_histogram_data_t* data);
extern ROCKSDB_LIBRARY_API double
    rocksdb_statistics_histogram_data_get_min(rocksdb_statistics_histogram_data_t* data);
extern ROCKSDB_LIBRARY_API double
    rocksdb_statistics_histogram_data_get_p95(rocksdb_statistics_histogram_data_t* data);
extern ROCKSDB_LIBRARY_API double
    rocksdb_statistics_histogram_data_get_p99(rocksdb_statistics_histogram_data_t* data);
extern ROCKSDB_LIBRARY_API double
    rocksdb_statistics_histogram_data_get_std_dev(rocksdb_statistics_histogram_data_t* data);
extern ROCKSDB_LIBRARY_API uint64_t
    rocksdb_statistics_histogram_data_get_sum(rocksdb_statistics_histogram_data_t* data);
extern ROCKSDB_LIBRARY_API void rocksdb_status_ptr_get_error(rocksdb_status_ptr_t* status, char**
    errptr);
extern ROCKSDB_LIBRARY_API int rocksdb_subcompactionjobinfo_base_input_level(const
    rocksdb_subcompactionjobinfo_t* info);
extern ROCKSDB_LIBRARY_API const char* rocksdb_subcompactionjobinfo_cf_name(const
    rocksdb_subcompactionjobinfo_t* info, size_t* len);
extern ROCKSDB_LIBRARY_API uint32_t rocksdb_subcompactionjobinfo_compaction_reason(const
    rocksdb_subcompactionjobinfo_t* info);
extern ROCKSDB_LIBRARY_API int rocksdb_subcompactionjobinfo_output_level(const
    rocksdb_subcompactionjobinfo_t* info);
extern ROCKSDB_LIBRARY_API void rocksdb_subcompactionjobinfo_status(const
    rocksdb_subcompactionjobinfo_t* info, char** errptr);
extern ROCKSDB_LIBRARY_API uint64_t rocksdb_subcompactionjobinfo_thread_id(const
    rocksdb_subcompactionjobinfo_t* info);
extern ROCKSDB_LIBRARY_API void rocksdb_suggest_compact_range(rocksdb_t* db, const char* start,
    size_t start_len, const char* end, size_t end_len, char** errptr);
extern ROCKSDB_LIBRARY_API void rocksdb_suggest_compact_range_cf(rocksdb_t* db,
    rocksdb_column_family_handle_t* handle, const char* start, size_t start_len, const char* end,
    size_t end_len, char** errptr);
extern ROCKSDB_LIBRARY_API void
    rocksdb_table_properties_collector_factory_destroy(rocksdb_table_properties_collector_factory_t*
    factory);
extern ROCKSDB_LIBRARY_API rocksdb_transaction_t* rocksdb_transaction_begin(rocksdb_transactiondb_t*
    db, const rocksdb_writeoptions_t* write, const rocksdb_transaction_options_t* options,
    rocksdb_transaction_t* old);
extern ROCKSDB_LIBRARY_API void rocksdb_transaction_commit(rocksdb_transaction_t* txn, char**
    errptr);
extern ROCKSDB_LIBRARY_API rocksdb_iterator_t*
    rocksdb_transaction_create_iterator(rocksdb_transaction_t* txn, const rocksdb_readoptions_t*
    options);
extern ROCKSDB_LIBRARY_API rocksdb_iterator_t*
    rocksdb_transaction_create_iterator_cf(rocksdb_transaction_t* txn, const rocksdb_readoptions_t*
    options, rocksdb_column_family_handle_t* handle);
extern ROCKSDB_LIBRARY_API void rocksdb_transaction_delete(rocksdb_transaction_t* txn, const char*
    key, size_t keylen, char** errptr);
extern ROCKSDB_LIBRARY_API void rocksdb_transaction_delete_cf(rocksdb_transaction_t* txn,
    rocksdb_column_family_handle_t* handle, const char* key, size_t keylen, char** errptr);
extern ROCKSDB_LIBRARY_API void rocksdb_transaction_destroy(rocksdb_transaction_t* txn);
extern ROCKSDB_LIBRARY_API char* rocksdb_transaction_get(rocksdb_transaction_t* txn, const
    rocksdb_readoptions_t* options, const char* key, size_t keylen, size_t* len, char** errptr);
extern ROCKSDB_LIBRARY_API char* rocksdb_transaction_get_cf(rocksdb_transaction_t* txn, const
    rocksdb_readoptions_t* options, rocksdb_column_family_handle_t* handle, const char* key, size_t
    keylen, size_t* len, char** errptr);
extern ROCKSDB_LIBRARY_API char* rocksdb_transaction_get_for_update(rocksdb_transaction_t* txn,
    const rocksdb_readoptions_t* options, const char* key, size_t keylen, size_t* len, unsigned char
    exclusive, char** errptr);
extern ROCKSDB_LIBRARY_API char* rocksdb_transaction_get_for_update_cf(rocksdb_transaction_t* txn,
    const rocksdb_readoptions_t* options, rocksdb_column_family_handle_t* handle, const char* key,
    size_t keylen, size_t* len, unsigned char exclusive, char** errptr);
extern ROCKSDB_LIBRARY_API char* rocksdb_transaction_get_name(rocksdb_transaction_t* txn, size_t*
    len);
extern ROCKSDB_LIBRARY_API rocksdb_pinnableslice_t*
    rocksdb_transaction_get_pinned(rocksdb_transaction_t* txn, const rocksdb_readoptions_t* options,
    const char* key, size_t keylen, char** errptr);
extern ROCKSDB_LIBRARY_API rocksdb_pinnableslice_t*
    rocksdb_transaction_get_pinned_cf(rocksdb_transaction_t* txn, const rocksdb_readoptions_t*
    options, rocksdb_column_family_handle_t* handle, const char* key, size_t keylen, char** errptr);
extern ROCKSDB_LIBRARY_API rocksdb_pinnableslice_t*
    rocksdb_transaction_get_pinned_for_update(rocksdb_transaction_t* txn, const
    rocksdb_readoptions_t* options, const char* key, size_t keylen, unsigned char exclusive, char**
    errptr);
extern ROCKSDB_LIBRARY_API rocksdb_pinnableslice_t*
    rocksdb_transaction_get_pinned_for_update_cf(rocksdb_transaction_t* txn, const
    rocksdb_readoptions_t* options, rocksdb_column_family_handle_t* handle, const char* key, size_t
    keylen, unsigned char exclusive, char** errptr);
extern ROCKSDB_LIBRARY_API const rocksdb_snapshot_t*
    rocksdb_transaction_get_snapshot(rocksdb_transaction_t* txn);
extern ROCKSDB_LIBRARY_API rocksdb_writebatch_wi_t*
    rocksdb_transaction_get_writebatch_wi(rocksdb_transaction_t* txn);
extern ROCKSDB_LIBRARY_API void rocksdb_transaction_merge(rocksdb_transaction_t* txn, const char*
    key, size_t keylen, const char* value, size_t len, char** errptr);
extern ROCKSDB_LIBRARY_API void rocksdb_transaction_merge_cf(rocksdb_transaction_t* txn,
    rocksdb_column_family_handle_t* handle, const char* key, size_t keylen, const char* value,
    size_t len, char** errptr);
extern ROCKSDB_LIBRARY_API void rocksdb_transaction_multi_get(rocksdb_transaction_t* txn, const
    rocksdb_readoptions_t* options, size_t num, const char* const* keys, const size_t* lengths,
    char** values, size_t* value_lengths, char** errs);
extern ROCKSDB_LIBRARY_API void rocksdb_transaction_multi_get_cf(rocksdb_transaction_t* txn, const
    rocksdb_readoptions_t* options, const rocksdb_column_family_handle_t* const* families, size_t
    num, const char* const* keys, const size_t* lengths, char** values, size_t* value_lengths,
    char** errs);
extern ROCKSDB_LIBRARY_API void rocksdb_transaction_multi_get_for_update(rocksdb_transaction_t* txn,
    const rocksdb_readoptions_t* options, size_t num, const char* const* keys, const size_t*
    lengths, char** values, size_t* value_lengths, char** errs);
extern ROCKSDB_LIBRARY_API void rocksdb_transaction_multi_get_for_update_cf(rocksdb_transaction_t*
    txn, const rocksdb_readoptions_t* options, const rocksdb_column_family_handle_t* const*
    families, size_t num, const char* const* keys, const size_t* lengths, char** values, size_t*
    value_lengths, char** errs);
extern ROCKSDB_LIBRARY_API rocksdb_transaction_options_t* rocksdb_transaction_options_create(void);
extern ROCKSDB_LIBRARY_API void rocksdb_transaction_options_destroy(rocksdb_transaction_options_t*
    options);
extern ROCKSDB_LIBRARY_API void
    rocksdb_transaction_options_set_deadlock_detect(rocksdb_transaction_options_t* options, unsigned
    char value);
extern ROCKSDB_LIBRARY_API void
    rocksdb_transaction_options_set_deadlock_detect_depth(rocksdb_transaction_options_t* options,
    int64_t value);
extern ROCKSDB_LIBRARY_API void
    rocksdb_transaction_options_set_expiration(rocksdb_transaction_options_t* options, int64_t
    value);
extern ROCKSDB_LIBRARY_API void
    rocksdb_transaction_options_set_lock_timeout(rocksdb_transaction_options_t* options, int64_t
    value);
extern ROCKSDB_LIBRARY_API void
    rocksdb_transaction_options_set_max_write_batch_size(rocksdb_transaction_options_t* options,
    size_t value);
extern ROCKSDB_LIBRARY_API void
    rocksdb_transaction_options_set_set_snapshot(rocksdb_transaction_options_t* options, unsigned
    char value);
extern ROCKSDB_LIBRARY_API void
    rocksdb_transaction_options_set_skip_prepare(rocksdb_transaction_options_t* options, unsigned
    char value);
extern ROCKSDB_LIBRARY_API void rocksdb_transaction_prepare(rocksdb_transaction_t* txn, char**
    errptr);
extern ROCKSDB_LIBRARY_API void rocksdb_transaction_put(rocksdb_transaction_t* txn, const char* key,
    size_t keylen, const char* value, size_t len, char** errptr);
extern ROCKSDB_LIBRARY_API void rocksdb_transaction_put_cf(rocksdb_transaction_t* txn,
    rocksdb_column_family_handle_t* handle, const char* key, size_t keylen, const char* value,
    size_t len, char** errptr);
extern ROCKSDB_LIBRARY_API void rocksdb_transaction_rebuild_from_writebatch(rocksdb_transaction_t*
    txn, rocksdb_writebatch_t* batch, char** errptr);
extern ROCKSDB_LIBRARY_API void
    rocksdb_transaction_rebuild_from_writebatch_wi(rocksdb_transaction_t* txn,
    rocksdb_writebatch_wi_t* batch, char** errptr);
extern ROCKSDB_LIBRARY_API void rocksdb_transaction_rollback(rocksdb_transaction_t* txn, char**
    errptr);
extern ROCKSDB_LIBRARY_API void rocksdb_transaction_rollback_to_savepoint(rocksdb_transaction_t*
    txn, char** errptr);
extern ROCKSDB_LIBRARY_API void rocksdb_transaction_set_commit_timestamp(rocksdb_transaction_t* txn,
    uint64_t ts);
extern ROCKSDB_LIBRARY_API void rocksdb_transaction_set_name(rocksdb_transaction_t* txn, const char*
    name, size_t len, char** errptr);
extern ROCKSDB_LIBRARY_API void
    rocksdb_transaction_set_read_timestamp_for_validation(rocksdb_transaction_t* txn, uint64_t ts);
extern ROCKSDB_LIBRARY_API void rocksdb_transaction_set_savepoint(rocksdb_transaction_t* txn);
extern ROCKSDB_LIBRARY_API rocksdb_checkpoint_t*
    rocksdb_transactiondb_checkpoint_object_create(rocksdb_transactiondb_t* db, char** errptr);
extern ROCKSDB_LIBRARY_API void rocksdb_transactiondb_close(rocksdb_transactiondb_t* db);
extern ROCKSDB_LIBRARY_API void rocksdb_transactiondb_close_base_db(rocksdb_t* base);
extern ROCKSDB_LIBRARY_API rocksdb_column_family_handle_t*
    rocksdb_transactiondb_create_column_family(rocksdb_transactiondb_t* db, const rocksdb_options_t*
    options, const char* name, char** errptr);
extern ROCKSDB_LIBRARY_API rocksdb_iterator_t*
    rocksdb_transactiondb_create_iterator(rocksdb_transactiondb_t* db, const rocksdb_readoptions_t*
    options);
extern ROCKSDB_LIBRARY_API rocksdb_iterator_t*
    rocksdb_transactiondb_create_iterator_cf(rocksdb_transactiondb_t* db, const
    rocksdb_readoptions_t* options, rocksdb_column_family_handle_t* handle);
extern ROCKSDB_LIBRARY_API const rocksdb_snapshot_t*
    rocksdb_transactiondb_create_snapshot(rocksdb_transactiondb_t* db);
extern ROCKSDB_LIBRARY_API void rocksdb_transactiondb_delete(rocksdb_transactiondb_t* db, const
    rocksdb_writeoptions_t* options, const char* key, size_t keylen, char** errptr);
extern ROCKSDB_LIBRARY_API void rocksdb_transactiondb_delete_cf(rocksdb_transactiondb_t* db, const
    rocksdb_writeoptions_t* options, rocksdb_column_family_handle_t* handle, const char* key, size_t
    keylen, char** errptr);
extern ROCKSDB_LIBRARY_API void rocksdb_transactiondb_flush(rocksdb_transactiondb_t* db, const
    rocksdb_flushoptions_t* options, char** errptr);
extern ROCKSDB_LIBRARY_API void rocksdb_transactiondb_flush_cf(rocksdb_transactiondb_t* db, const
    rocksdb_flushoptions_t* options, rocksdb_column_family_handle_t* handle, char** errptr);
extern ROCKSDB_LIBRARY_API void rocksdb_transactiondb_flush_cfs(rocksdb_transactiondb_t* db, const
    rocksdb_flushoptions_t* options, rocksdb_column_family_handle_t** handles, int len, char**
    errptr);
extern ROCKSDB_LIBRARY_API void rocksdb_transactiondb_flush_wal(rocksdb_transactiondb_t* db,
    unsigned char sync, char** errptr);
extern ROCKSDB_LIBRARY_API char* rocksdb_transactiondb_get(rocksdb_transactiondb_t* db, const
    rocksdb_readoptions_t* options, const char* key, size_t keylen, size_t* len, char** errptr);
extern ROCKSDB_LIBRARY_API rocksdb_t* rocksdb_transactiondb_get_base_db(rocksdb_transactiondb_t*
    db);
extern ROCKSDB_LIBRARY_API char* rocksdb_transactiondb_get_cf(rocksdb_transactiondb_t* db, const
    rocksdb_readoptions_t* options, rocksdb_column_family_handle_t* handle, const char* key, size_t
    keylen, size_t* len, char** errptr);
extern ROCKSDB_LIBRARY_API rocksdb_pinnableslice_t*
    rocksdb_transactiondb_get_pinned(rocksdb_transactiondb_t* db, const rocksdb_readoptions_t*
    options, const char* key, size_t keylen, char** errptr);
extern ROCKSDB_LIBRARY_API rocksdb_pinnableslice_t*
    rocksdb_transactiondb_get_pinned_cf(rocksdb_transactiondb_t* db, const rocksdb_readoptions_t*
    options, rocksdb_column_family_handle_t* handle, const char* key, size_t keylen, char** errptr);
extern ROCKSDB_LIBRARY_API rocksdb_transaction_t**
    rocksdb_transactiondb_get_prepared_transactions(rocksdb_transactiondb_t* db, size_t* count);
extern ROCKSDB_LIBRARY_API void rocksdb_transactiondb_merge(rocksdb_transactiondb_t* db, const
    rocksdb_writeoptions_t* options, const char* key, size_t keylen, const char* value, size_t len,
    char** errptr);
extern ROCKSDB_LIBRARY_API void rocksdb_transactiondb_merge_cf(rocksdb_transactiondb_t* db, const
    rocksdb_writeoptions_t* options, rocksdb_column_family_handle_t* handle, const char* key, size_t
    keylen, const char* value, size_t len, char** errptr);
extern ROCKSDB_LIBRARY_API void rocksdb_transactiondb_multi_get(rocksdb_transactiondb_t* db, const
    rocksdb_readoptions_t* options, size_t num, const char* const* keys, const size_t* lengths,
    char** values, size_t* value_lengths, char** errs);
extern ROCKSDB_LIBRARY_API void rocksdb_transactiondb_multi_get_cf(rocksdb_transactiondb_t* db,
    const rocksdb_readoptions_t* options, const rocksdb_column_family_handle_t* const* families,
    size_t num, const char* const* keys, const size_t* lengths, char** values, size_t*
    value_lengths, char** errs);
extern ROCKSDB_LIBRARY_API rocksdb_transactiondb_t* rocksdb_transactiondb_open(const
    rocksdb_options_t* options, const rocksdb_transactiondb_options_t* txn_options, const char*
    name, char** errptr);
extern ROCKSDB_LIBRARY_API rocksdb_transactiondb_t* rocksdb_transactiondb_open_column_families(const
    rocksdb_options_t* options, const rocksdb_transactiondb_options_t* txn_options, const char*
    name, int len, const char* const* names, const rocksdb_options_t* const* family_options,
    rocksdb_column_family_handle_t** handles, char** errptr);
extern ROCKSDB_LIBRARY_API rocksdb_transactiondb_options_t*
    rocksdb_transactiondb_options_create(void);
extern ROCKSDB_LIBRARY_API void
    rocksdb_transactiondb_options_destroy(rocksdb_transactiondb_options_t* options);
extern ROCKSDB_LIBRARY_API void
    rocksdb_transactiondb_options_set_default_lock_timeout(rocksdb_transactiondb_options_t* options,
    int64_t value);
extern ROCKSDB_LIBRARY_API void
    rocksdb_transactiondb_options_set_max_num_locks(rocksdb_transactiondb_options_t* options,
    int64_t value);
extern ROCKSDB_LIBRARY_API void
    rocksdb_transactiondb_options_set_num_stripes(rocksdb_transactiondb_options_t* options, size_t
    value);
extern ROCKSDB_LIBRARY_API void
    rocksdb_transactiondb_options_set_transaction_lock_timeout(rocksdb_transactiondb_options_t*
    options, int64_t value);
extern ROCKSDB_LIBRARY_API int rocksdb_transactiondb_property_int(rocksdb_transactiondb_t* db, const
    char* name, uint64_t* out);
extern ROCKSDB_LIBRARY_API char* rocksdb_transactiondb_property_value(rocksdb_transactiondb_t* db,
    const char* name);
extern ROCKSDB_LIBRARY_API void rocksdb_transactiondb_put(rocksdb_transactiondb_t* db, const
    rocksdb_writeoptions_t* options, const char* key, size_t keylen, const char* value, size_t len,
    char** errptr);
extern ROCKSDB_LIBRARY_API void rocksdb_transactiondb_put_cf(rocksdb_transactiondb_t* db, const
    rocksdb_writeoptions_t* options, rocksdb_column_family_handle_t* handle, const char* key, size_t
    keylen, const char* value, size_t len, char** errptr);
extern ROCKSDB_LIBRARY_API void rocksdb_transactiondb_release_snapshot(rocksdb_transactiondb_t* db,
    const rocksdb_snapshot_t* snapshot);
extern ROCKSDB_LIBRARY_API void rocksdb_transactiondb_write(rocksdb_transactiondb_t* db, const
    rocksdb_writeoptions_t* options, rocksdb_writebatch_t* batch, char** errptr);
extern ROCKSDB_LIBRARY_API void rocksdb_try_catch_up_with_primary(rocksdb_t* db, char** errptr);
extern ROCKSDB_LIBRARY_API rocksdb_universal_compaction_options_t*
    rocksdb_universal_compaction_options_create(void);
extern ROCKSDB_LIBRARY_API void
    rocksdb_universal_compaction_options_destroy(rocksdb_universal_compaction_options_t* options);
extern ROCKSDB_LIBRARY_API int
    rocksdb_universal_compaction_options_get_compression_size_percent(rocksdb_universal_compaction_options_t*
    options);
extern ROCKSDB_LIBRARY_API int
    rocksdb_universal_compaction_options_get_max_merge_width(rocksdb_universal_compaction_options_t*
    options);
extern ROCKSDB_LIBRARY_API int
    rocksdb_universal_compaction_options_get_max_size_amplification_percent(rocksdb_universal_compaction_options_t*
    options);
extern ROCKSDB_LIBRARY_API int
    rocksdb_universal_compaction_options_get_min_merge_width(rocksdb_universal_compaction_options_t*
    options);
extern ROCKSDB_LIBRARY_API int
    rocksdb_universal_compaction_options_get_size_ratio(rocksdb_universal_compaction_options_t*
    options);
extern ROCKSDB_LIBRARY_API int
    rocksdb_universal_compaction_options_get_stop_style(rocksdb_universal_compaction_options_t*
    options);
extern ROCKSDB_LIBRARY_API void
    rocksdb_universal_compaction_options_set_compression_size_percent(rocksdb_universal_compaction_options_t*
    options, int value);
extern ROCKSDB_LIBRARY_API void
    rocksdb_universal_compaction_options_set_max_merge_width(rocksdb_universal_compaction_options_t*
    options, int value);
extern ROCKSDB_LIBRARY_API void
    rocksdb_universal_compaction_options_set_max_size_amplification_percent(rocksdb_universal_compaction_options_t*
    options, int value);
extern ROCKSDB_LIBRARY_API void
    rocksdb_universal_compaction_options_set_min_merge_width(rocksdb_universal_compaction_options_t*
    options, int value);
extern ROCKSDB_LIBRARY_API void
    rocksdb_universal_compaction_options_set_size_ratio(rocksdb_universal_compaction_options_t*
    options, int value);
extern ROCKSDB_LIBRARY_API void
    rocksdb_universal_compaction_options_set_stop_style(rocksdb_universal_compaction_options_t*
    options, int value);
extern ROCKSDB_LIBRARY_API void rocksdb_wait_for_compact(rocksdb_t* db,
    rocksdb_wait_for_compact_options_t* options, char** errptr);
extern ROCKSDB_LIBRARY_API rocksdb_wait_for_compact_options_t*
    rocksdb_wait_for_compact_options_create(void);
extern ROCKSDB_LIBRARY_API void
    rocksdb_wait_for_compact_options_destroy(rocksdb_wait_for_compact_options_t* options);
extern ROCKSDB_LIBRARY_API unsigned char
    rocksdb_wait_for_compact_options_get_abort_on_pause(rocksdb_wait_for_compact_options_t*
    options);
extern ROCKSDB_LIBRARY_API unsigned char
    rocksdb_wait_for_compact_options_get_close_db(rocksdb_wait_for_compact_options_t* options);
extern ROCKSDB_LIBRARY_API unsigned char
    rocksdb_wait_for_compact_options_get_flush(rocksdb_wait_for_compact_options_t* options);
extern ROCKSDB_LIBRARY_API uint64_t
    rocksdb_wait_for_compact_options_get_timeout(rocksdb_wait_for_compact_options_t* options);
extern ROCKSDB_LIBRARY_API void
    rocksdb_wait_for_compact_options_set_abort_on_pause(rocksdb_wait_for_compact_options_t* options,
    unsigned char value);
extern ROCKSDB_LIBRARY_API void
    rocksdb_wait_for_compact_options_set_close_db(rocksdb_wait_for_compact_options_t* options,
    unsigned char value);
extern ROCKSDB_LIBRARY_API void
    rocksdb_wait_for_compact_options_set_flush(rocksdb_wait_for_compact_options_t* options, unsigned
    char value);
extern ROCKSDB_LIBRARY_API void
    rocksdb_wait_for_compact_options_set_timeout(rocksdb_wait_for_compact_options_t* options,
    uint64_t value);
extern ROCKSDB_LIBRARY_API void rocksdb_wal_iter_destroy(const rocksdb_wal_iterator_t* iter);
extern ROCKSDB_LIBRARY_API rocksdb_writebatch_t* rocksdb_wal_iter_get_batch(const
    rocksdb_wal_iterator_t* iter, uint64_t* sequence);
extern ROCKSDB_LIBRARY_API void rocksdb_wal_iter_next(rocksdb_wal_iterator_t* iter);
extern ROCKSDB_LIBRARY_API void rocksdb_wal_iter_status(const rocksdb_wal_iterator_t* iter, char**
    errptr);
extern ROCKSDB_LIBRARY_API unsigned char rocksdb_wal_iter_valid(const rocksdb_wal_iterator_t* iter);
extern ROCKSDB_LIBRARY_API void rocksdb_widecolumns_destroy(rocksdb_widecolumns_t* columns);
extern ROCKSDB_LIBRARY_API const char* rocksdb_widecolumns_name(const rocksdb_widecolumns_t*
    columns, size_t n, size_t* len);
extern ROCKSDB_LIBRARY_API size_t rocksdb_widecolumns_size(const rocksdb_widecolumns_t* columns);
extern ROCKSDB_LIBRARY_API const char* rocksdb_widecolumns_value(const rocksdb_widecolumns_t*
    columns, size_t n, size_t* len);
extern ROCKSDB_LIBRARY_API void rocksdb_write(rocksdb_t* db, const rocksdb_writeoptions_t* options,
    rocksdb_writebatch_t* batch, char** errptr);
extern ROCKSDB_LIBRARY_API size_t
    rocksdb_write_buffer_manager_buffer_size(rocksdb_write_buffer_manager_t* manager);
extern ROCKSDB_LIBRARY_API bool
    rocksdb_write_buffer_manager_cost_to_cache(rocksdb_write_buffer_manager_t* manager);
extern ROCKSDB_LIBRARY_API rocksdb_write_buffer_manager_t*
    rocksdb_write_buffer_manager_create(size_t size, bool allow_stall);
extern ROCKSDB_LIBRARY_API rocksdb_write_buffer_manager_t*
    rocksdb_write_buffer_manager_create_with_cache(size_t size, const rocksdb_cache_t* cache, bool
    allow_stall);
extern ROCKSDB_LIBRARY_API void rocksdb_write_buffer_manager_destroy(rocksdb_write_buffer_manager_t*
    manager);
extern ROCKSDB_LIBRARY_API size_t
    rocksdb_write_buffer_manager_dummy_entries_in_cache_usage(rocksdb_write_buffer_manager_t*
    manager);
extern ROCKSDB_LIBRARY_API bool rocksdb_write_buffer_manager_enabled(rocksdb_write_buffer_manager_t*
    manager);
extern ROCKSDB_LIBRARY_API size_t
    rocksdb_write_buffer_manager_memory_usage(rocksdb_write_buffer_manager_t* manager);
extern ROCKSDB_LIBRARY_API size_t
    rocksdb_write_buffer_manager_mutable_memtable_memory_usage(rocksdb_write_buffer_manager_t*
    manager);
extern ROCKSDB_LIBRARY_API void
    rocksdb_write_buffer_manager_set_allow_stall(rocksdb_write_buffer_manager_t* manager, bool
    allow);
extern ROCKSDB_LIBRARY_API void
    rocksdb_write_buffer_manager_set_buffer_size(rocksdb_write_buffer_manager_t* manager, size_t
    size);
extern ROCKSDB_LIBRARY_API void rocksdb_write_writebatch_wi(rocksdb_t* db, const
    rocksdb_writeoptions_t* options, rocksdb_writebatch_wi_t* batch, char** errptr);
extern ROCKSDB_LIBRARY_API void rocksdb_writebatch_clear(rocksdb_writebatch_t* batch);
extern ROCKSDB_LIBRARY_API int rocksdb_writebatch_count(rocksdb_writebatch_t* batch);
extern ROCKSDB_LIBRARY_API rocksdb_writebatch_t* rocksdb_writebatch_create(void);
extern ROCKSDB_LIBRARY_API rocksdb_writebatch_t* rocksdb_writebatch_create_from(const char* data,
    size_t len);
extern ROCKSDB_LIBRARY_API rocksdb_writebatch_t* rocksdb_writebatch_create_with_params(size_t
    reserved, size_t max_bytes, size_t protected, size_t ts_size);
extern ROCKSDB_LIBRARY_API const char* rocksdb_writebatch_data(rocksdb_writebatch_t* batch, size_t*
    len);
extern ROCKSDB_LIBRARY_API void rocksdb_writebatch_delete(rocksdb_writebatch_t* batch, const char*
    key, size_t keylen);
extern ROCKSDB_LIBRARY_API void rocksdb_writebatch_delete_cf(rocksdb_writebatch_t* batch,
    rocksdb_column_family_handle_t* handle, const char* key, size_t keylen);
extern ROCKSDB_LIBRARY_API void rocksdb_writebatch_delete_cf_with_ts(rocksdb_writebatch_t* batch,
    rocksdb_column_family_handle_t* handle, const char* key, size_t keylen, const char* ts, size_t
    tslen);
extern ROCKSDB_LIBRARY_API void rocksdb_writebatch_delete_range(rocksdb_writebatch_t* batch, const
    char* start, size_t start_len, const char* end, size_t end_len);
extern ROCKSDB_LIBRARY_API void rocksdb_writebatch_delete_range_cf(rocksdb_writebatch_t* batch,
    rocksdb_column_family_handle_t* handle, const char* start, size_t start_len, const char* end,
    size_t end_len);
extern ROCKSDB_LIBRARY_API void rocksdb_writebatch_delete_rangev(rocksdb_writebatch_t* batch, int
    num, const char* const* starts, const size_t* start_lengths, const char* const* ends, const
    size_t* end_lengths);
extern ROCKSDB_LIBRARY_API void rocksdb_writebatch_delete_rangev_cf(rocksdb_writebatch_t* batch,
    rocksdb_column_family_handle_t* handle, int num, const char* const* starts, const size_t*
    start_lengths, const char* const* ends, const size_t* end_lengths);
extern ROCKSDB_LIBRARY_API void rocksdb_writebatch_deletev(rocksdb_writebatch_t* batch, int
    num_keys, const char* const* keys, const size_t* key_lengths);
extern ROCKSDB_LIBRARY_API void rocksdb_writebatch_deletev_cf(rocksdb_writebatch_t* batch,
    rocksdb_column_family_handle_t* handle, int num_keys, const char* const* keys, const size_t*
    key_lengths);
extern ROCKSDB_LIBRARY_API void rocksdb_writebatch_destroy(rocksdb_writebatch_t* batch);
extern ROCKSDB_LIBRARY_API void rocksdb_writebatch_iterate(rocksdb_writebatch_t* batch, void* state,
    void (*put)(void*, const char*, size_t, const char*, size_t), void (*deleted)(void*, const
    char*, size_t));
extern ROCKSDB_LIBRARY_API void rocksdb_writebatch_iterate_cf(rocksdb_writebatch_t* batch, void*
    state, void (*put)(void*, uint32_t, const char*, size_t, const char*, size_t), void
    (*deleted)(void*, uint32_t, const char*, size_t), void (*merge)(void*, uint32_t, const char*,
    size_t, const char*, size_t));
extern ROCKSDB_LIBRARY_API void rocksdb_writebatch_iterate_cf_ld(rocksdb_writebatch_t* batch, void*
    state, void (*put)(void*, uint32_t, const char*, size_t, const char*, size_t), void
    (*deleted)(void*, uint32_t, const char*, size_t), void (*merge)(void*, uint32_t, const char*,
    size_t, const char*, size_t), void (*log_data)(void*, const char*, size_t));
extern ROCKSDB_LIBRARY_API void rocksdb_writebatch_iterate_ld(rocksdb_writebatch_t* batch, void*
    state, void (*put)(void*, const char*, size_t, const char*, size_t), void (*deleted)(void*,
    const char*, size_t), void (*log_data)(void*, const char*, size_t));
extern ROCKSDB_LIBRARY_API void rocksdb_writebatch_merge(rocksdb_writebatch_t* batch, const char*
    key, size_t keylen, const char* value, size_t len);
extern ROCKSDB_LIBRARY_API void rocksdb_writebatch_merge_cf(rocksdb_writebatch_t* batch,
    rocksdb_column_family_handle_t* handle, const char* key, size_t keylen, const char* value,
    size_t len);
extern ROCKSDB_LIBRARY_API void rocksdb_writebatch_mergev(rocksdb_writebatch_t* batch, int num_keys,
    const char* const* keys, const size_t* key_lengths, int num_values, const char* const* values,
    const size_t* value_lengths);
extern ROCKSDB_LIBRARY_API void rocksdb_writebatch_mergev_cf(rocksdb_writebatch_t* batch,
    rocksdb_column_family_handle_t* handle, int num_keys, const char* const* keys, const size_t*
    key_lengths, int num_values, const char* const* values, const size_t* value_lengths);
extern ROCKSDB_LIBRARY_API void rocksdb_writebatch_pop_save_point(rocksdb_writebatch_t* batch,
    char** errptr);
extern ROCKSDB_LIBRARY_API void rocksdb_writebatch_put(rocksdb_writebatch_t* batch, const char* key,
    size_t keylen, const char* value, size_t len);
extern ROCKSDB_LIBRARY_API void rocksdb_writebatch_put_cf(rocksdb_writebatch_t* batch,
    rocksdb_column_family_handle_t* handle, const char* key, size_t keylen, const char* value,
    size_t len);
extern ROCKSDB_LIBRARY_API void rocksdb_writebatch_put_cf_with_ts(rocksdb_writebatch_t* batch,
    rocksdb_column_family_handle_t* handle, const char* key, size_t keylen, const char* ts, size_t
    tslen, const char* value, size_t len);
extern ROCKSDB_LIBRARY_API void rocksdb_writebatch_put_entity_cf(rocksdb_writebatch_t* batch,
    rocksdb_column_family_handle_t* handle, const char* key, size_t keylen, size_t num_columns,
    const char* const* names, const size_t* name_lengths, const char* const* values, const size_t*
    value_lengths, char** errptr);
extern ROCKSDB_LIBRARY_API void rocksdb_writebatch_put_log_data(rocksdb_writebatch_t* batch, const
    char* data, size_t len);
extern ROCKSDB_LIBRARY_API void rocksdb_writebatch_putv(rocksdb_writebatch_t* batch, int num_keys,
    const char* const* keys, const size_t* key_lengths, int num_values, const char* const* values,
    const size_t* value_lengths);
extern ROCKSDB_LIBRARY_API void rocksdb_writebatch_putv_cf(rocksdb_writebatch_t* batch,
    rocksdb_column_family_handle_t* handle, int num_keys, const char* const* keys, const size_t*
    key_lengths, int num_values, const char* const* values, const size_t* value_lengths);
extern ROCKSDB_LIBRARY_API void rocksdb_writebatch_rollback_to_save_point(rocksdb_writebatch_t*
    batch, char** errptr);
extern ROCKSDB_LIBRARY_API void rocksdb_writebatch_set_save_point(rocksdb_writebatch_t* batch);
extern ROCKSDB_LIBRARY_API void rocksdb_writebatch_singledelete(rocksdb_writebatch_t* batch, const
    char* key, size_t keylen);
extern ROCKSDB_LIBRARY_API void rocksdb_writebatch_singledelete_cf(rocksdb_writebatch_t* batch,
    rocksdb_column_family_handle_t* handle, const char* key, size_t keylen);
extern ROCKSDB_LIBRARY_API void rocksdb_writebatch_singledelete_cf_with_ts(rocksdb_writebatch_t*
    batch, rocksdb_column_family_handle_t* handle, const char* key, size_t keylen, const char* ts,
    size_t tslen);
extern ROCKSDB_LIBRARY_API void rocksdb_writebatch_update_timestamps(rocksdb_writebatch_t* batch,
    const char* ts, size_t tslen, void* state, size_t (*size_of)(void*, uint32_t), char** errptr);
extern ROCKSDB_LIBRARY_API void rocksdb_writebatch_wi_clear(rocksdb_writebatch_wi_t* batch);
extern ROCKSDB_LIBRARY_API int rocksdb_writebatch_wi_count(rocksdb_writebatch_wi_t* batch);
extern ROCKSDB_LIBRARY_API rocksdb_writebatch_wi_t* rocksdb_writebatch_wi_create(size_t reserved,
    unsigned char overwrite_keys);
extern ROCKSDB_LIBRARY_API rocksdb_writebatch_wi_t* rocksdb_writebatch_wi_create_from(const char*
    data, size_t len);
extern ROCKSDB_LIBRARY_API rocksdb_iterator_t*
    rocksdb_writebatch_wi_create_iterator_with_base(rocksdb_writebatch_wi_t* batch,
    rocksdb_iterator_t* base);
extern ROCKSDB_LIBRARY_API rocksdb_iterator_t*
    rocksdb_writebatch_wi_create_iterator_with_base_cf(rocksdb_writebatch_wi_t* batch,
    rocksdb_iterator_t* base, rocksdb_column_family_handle_t* handle);
extern ROCKSDB_LIBRARY_API rocksdb_iterator_t*
    rocksdb_writebatch_wi_create_iterator_with_base_cf_readopts(rocksdb_writebatch_wi_t* batch,
    rocksdb_iterator_t* base, rocksdb_column_family_handle_t* handle, const rocksdb_readoptions_t*
    options);
extern ROCKSDB_LIBRARY_API rocksdb_iterator_t*
    rocksdb_writebatch_wi_create_iterator_with_base_readopts(rocksdb_writebatch_wi_t* batch,
    rocksdb_iterator_t* base, const rocksdb_readoptions_t* options);
extern ROCKSDB_LIBRARY_API rocksdb_writebatch_wi_t*
    rocksdb_writebatch_wi_create_with_params(rocksdb_comparator_t* comparator, size_t reserved,
    unsigned char overwrite_keys, size_t max_bytes, size_t protected);
extern ROCKSDB_LIBRARY_API const char* rocksdb_writebatch_wi_data(rocksdb_writebatch_wi_t* batch,
    size_t* len);
extern ROCKSDB_LIBRARY_API void rocksdb_writebatch_wi_delete(rocksdb_writebatch_wi_t* batch, const
    char* key, size_t keylen);
extern ROCKSDB_LIBRARY_API void rocksdb_writebatch_wi_delete_cf(rocksdb_writebatch_wi_t* batch,
    rocksdb_column_family_handle_t* handle, const char* key, size_t keylen);
extern ROCKSDB_LIBRARY_API void rocksdb_writebatch_wi_delete_range(rocksdb_writebatch_wi_t* batch,
    const char* start, size_t start_len, const char* end, size_t end_len);
extern ROCKSDB_LIBRARY_API void rocksdb_writebatch_wi_delete_range_cf(rocksdb_writebatch_wi_t*
    batch, rocksdb_column_family_handle_t* handle, const char* start, size_t start_len, const char*
    end, size_t end_len);
extern ROCKSDB_LIBRARY_API void rocksdb_writebatch_wi_delete_rangev(rocksdb_writebatch_wi_t* batch,
    int num, const char* const* starts, const size_t* start_lengths, const char* const* ends, const
    size_t* end_lengths);
extern ROCKSDB_LIBRARY_API void rocksdb_writebatch_wi_delete_rangev_cf(rocksdb_writebatch_wi_t*
    batch, rocksdb_column_family_handle_t* handle, int num, const char* const* starts, const size_t*
    start_lengths, const char* const* ends, const size_t* end_lengths);
extern ROCKSDB_LIBRARY_API void rocksdb_writebatch_wi_deletev(rocksdb_writebatch_wi_t* batch, int
    num_keys, const char* const* keys, const size_t* key_lengths);
extern ROCKSDB_LIBRARY_API void rocksdb_writebatch_wi_deletev_cf(rocksdb_writebatch_wi_t* batch,
    rocksdb_column_family_handle_t* handle, int num_keys, const char* const* keys, const size_t*
    key_lengths);
extern ROCKSDB_LIBRARY_API void rocksdb_writebatch_wi_destroy(rocksdb_writebatch_wi_t* batch);
extern ROCKSDB_LIBRARY_API char* rocksdb_writebatch_wi_get_from_batch(rocksdb_writebatch_wi_t*
    batch, const rocksdb_options_t* options, const char* key, size_t keylen, size_t* len, char**
    errptr);
extern ROCKSDB_LIBRARY_API char*
    rocksdb_writebatch_wi_get_from_batch_and_db(rocksdb_writebatch_wi_t* batch, rocksdb_t* db, const
    rocksdb_readoptions_t* options, const char* key, size_t keylen, size_t* len, char** errptr);
extern ROCKSDB_LIBRARY_API char*
    rocksdb_writebatch_wi_get_from_batch_and_db_cf(rocksdb_writebatch_wi_t* batch, rocksdb_t* db,
    const rocksdb_readoptions_t* options, rocksdb_column_family_handle_t* handle, const char* key,
    size_t keylen, size_t* len, char** errptr);
extern ROCKSDB_LIBRARY_API char* rocksdb_writebatch_wi_get_from_batch_cf(rocksdb_writebatch_wi_t*
    batch, const rocksdb_options_t* options, rocksdb_column_family_handle_t* handle, const char*
    key, size_t keylen, size_t* len, char** errptr);
extern ROCKSDB_LIBRARY_API rocksdb_pinnableslice_t*
    rocksdb_writebatch_wi_get_pinned_from_batch_and_db(rocksdb_writebatch_wi_t* batch, rocksdb_t*
    db, const rocksdb_readoptions_t* options, const char* key, size_t keylen, char** errptr);
extern ROCKSDB_LIBRARY_API rocksdb_pinnableslice_t*
    rocksdb_writebatch_wi_get_pinned_from_batch_and_db_cf(rocksdb_writebatch_wi_t* batch, rocksdb_t*
    db, const rocksdb_readoptions_t* options, rocksdb_column_family_handle_t* handle, const char*
    key, size_t keylen, char** errptr);
extern ROCKSDB_LIBRARY_API void rocksdb_writebatch_wi_iterate(rocksdb_writebatch_wi_t* batch, void*
    state, void (*put)(void*, const char*, size_t, const char*, size_t), void (*deleted)(void*,
    const char*, size_t));
extern ROCKSDB_LIBRARY_API void rocksdb_writebatch_wi_merge(rocksdb_writebatch_wi_t* batch, const
    char* key, size_t keylen, const char* value, size_t len);
extern ROCKSDB_LIBRARY_API void rocksdb_writebatch_wi_merge_cf(rocksdb_writebatch_wi_t* batch,
    rocksdb_column_family_handle_t* handle, const char* key, size_t keylen, const char* value,
    size_t len);
extern ROCKSDB_LIBRARY_API void rocksdb_writebatch_wi_mergev(rocksdb_writebatch_wi_t* batch, int
    num_keys, const char* const* keys, const size_t* key_lengths, int num_values, const char* const*
    values, const size_t* value_lengths);
extern ROCKSDB_LIBRARY_API void rocksdb_writebatch_wi_mergev_cf(rocksdb_writebatch_wi_t* batch,
    rocksdb_column_family_handle_t* handle, int num_keys, const char* const* keys, const size_t*
    key_lengths, int num_values, const char* const* values, const size_t* value_lengths);
extern ROCKSDB_LIBRARY_API void rocksdb_writebatch_wi_put(rocksdb_writebatch_wi_t* batch, const
    char* key, size_t keylen, const char* value, size_t len);
extern ROCKSDB_LIBRARY_API void rocksdb_writebatch_wi_put_cf(rocksdb_writebatch_wi_t* batch,
    rocksdb_column_family_handle_t* handle, const char* key, size_t keylen, const char* value,
    size_t len);
extern ROCKSDB_LIBRARY_API void rocksdb_writebatch_wi_put_log_data(rocksdb_writebatch_wi_t* batch,
    const char* data, size_t len);
extern ROCKSDB_LIBRARY_API void rocksdb_writebatch_wi_putv(rocksdb_writebatch_wi_t* batch, int
    num_keys, const char* const* keys, const size_t* key_lengths, int num_values, const char* const*
    values, const size_t* value_lengths);
extern ROCKSDB_LIBRARY_API void rocksdb_writebatch_wi_putv_cf(rocksdb_writebatch_wi_t* batch,
    rocksdb_column_family_handle_t* handle, int num_keys, const char* const* keys, const size_t*
    key_lengths, int num_values, const char* const* values, const size_t* value_lengths);
extern ROCKSDB_LIBRARY_API void
    rocksdb_writebatch_wi_rollback_to_save_point(rocksdb_writebatch_wi_t* batch, char** errptr);
extern ROCKSDB_LIBRARY_API void rocksdb_writebatch_wi_set_save_point(rocksdb_writebatch_wi_t*
    batch);
extern ROCKSDB_LIBRARY_API void rocksdb_writebatch_wi_singledelete(rocksdb_writebatch_wi_t* batch,
    const char* key, size_t keylen);
extern ROCKSDB_LIBRARY_API void rocksdb_writebatch_wi_singledelete_cf(rocksdb_writebatch_wi_t*
    batch, rocksdb_column_family_handle_t* handle, const char* key, size_t keylen);
extern ROCKSDB_LIBRARY_API void rocksdb_writebatch_wi_update_timestamps(rocksdb_writebatch_wi_t*
    batch, const char* ts, size_t tslen, void* state, size_t (*size_of)(void*, uint32_t), char**
    errptr);
extern ROCKSDB_LIBRARY_API rocksdb_writeoptions_t* rocksdb_writeoptions_create(void);
extern ROCKSDB_LIBRARY_API void rocksdb_writeoptions_destroy(rocksdb_writeoptions_t* options);
extern ROCKSDB_LIBRARY_API void rocksdb_writeoptions_disable_WAL(rocksdb_writeoptions_t* options,
    int value);
extern ROCKSDB_LIBRARY_API unsigned char
    rocksdb_writeoptions_get_disable_WAL(rocksdb_writeoptions_t* options);
extern ROCKSDB_LIBRARY_API unsigned char
    rocksdb_writeoptions_get_ignore_missing_column_families(rocksdb_writeoptions_t* options);
extern ROCKSDB_LIBRARY_API unsigned char rocksdb_writeoptions_get_low_pri(rocksdb_writeoptions_t*
    options);
extern ROCKSDB_LIBRARY_API unsigned char
    rocksdb_writeoptions_get_memtable_insert_hint_per_batch(rocksdb_writeoptions_t* options);
extern ROCKSDB_LIBRARY_API unsigned char
    rocksdb_writeoptions_get_no_slowdown(rocksdb_writeoptions_t* options);
extern ROCKSDB_LIBRARY_API unsigned char rocksdb_writeoptions_get_sync(rocksdb_writeoptions_t*
    options);
extern ROCKSDB_LIBRARY_API void
    rocksdb_writeoptions_set_ignore_missing_column_families(rocksdb_writeoptions_t* options,
    unsigned char value);
extern ROCKSDB_LIBRARY_API void rocksdb_writeoptions_set_low_pri(rocksdb_writeoptions_t* options,
    unsigned char value);
extern ROCKSDB_LIBRARY_API void
    rocksdb_writeoptions_set_memtable_insert_hint_per_batch(rocksdb_writeoptions_t* options,
    unsigned char value);
extern ROCKSDB_LIBRARY_API void rocksdb_writeoptions_set_no_slowdown(rocksdb_writeoptions_t*
    options, unsigned char value);
extern ROCKSDB_LIBRARY_API void rocksdb_writeoptions_set_sync(rocksdb_writeoptions_t* options,
    unsigned char value);
extern ROCKSDB_LIBRARY_API const char* rocksdb_writestallinfo_cf_name(const
    rocksdb_writestallinfo_t* info, size_t* len);
extern ROCKSDB_LIBRARY_API const rocksdb_writestallcondition_t* rocksdb_writestallinfo_cur(const
    rocksdb_writestallinfo_t* info);
extern ROCKSDB_LIBRARY_API const rocksdb_writestallcondition_t* rocksdb_writestallinfo_prev(const
    rocksdb_writestallinfo_t* info);

#if WHITEWATER_ABI == 7 || WHITEWATER_ABI == 8
extern ROCKSDB_LIBRARY_API void rocksdb_enable_file_deletions(rocksdb_t* db, unsigned char force,
    char** errptr);
#endif
#if WHITEWATER_ABI == 10 || WHITEWATER_ABI == 11
extern ROCKSDB_LIBRARY_API void rocksdb_enable_file_deletions(rocksdb_t* db, char** errptr);
#endif

#if WHITEWATER_ABI == 7
extern ROCKSDB_LIBRARY_API void rocksdb_options_set_plain_table_factory(rocksdb_options_t* options,
    uint32_t user_key_length, int bloom_bits_per_key, double hash_table_ratio, size_t
    index_sparseness);
#endif
#if WHITEWATER_ABI == 8 || WHITEWATER_ABI == 10 || WHITEWATER_ABI == 11
extern ROCKSDB_LIBRARY_API void rocksdb_options_set_plain_table_factory(rocksdb_options_t* options,
    uint32_t user_key_length, int bloom_bits_per_key, double hash_table_ratio, size_t
    index_sparseness, size_t huge_page_tlb_size, char encoding, unsigned char full_scan_mode,
    unsigned char store_index_in_file);
#endif

#if WHITEWATER_ABI == 7 || WHITEWATER_ABI == 8 || WHITEWATER_ABI == 10
extern ROCKSDB_LIBRARY_API rocksdb_slicetransform_t* rocksdb_slicetransform_create(void* state, void
    (*destructor)(void*), char* (*transform)(void*, const char*, size_t, size_t*), unsigned char
    (*in_domain)(void*, const char*, size_t), unsigned char (*in_range)(void*, const char*, size_t),
    const char* (*name)(void*));
#endif
#if WHITEWATER_ABI == 11
extern ROCKSDB_LIBRARY_API rocksdb_slicetransform_t* rocksdb_slicetransform_create(void* state, void
    (*destructor)(void*), char* (*transform)(void*, const char*, size_t, size_t*), unsigned char
    (*in_domain)(void*, const char*, size_t), const char* (*name)(void*));
#endif

#ifdef __cplusplus
}
#endif

#endif
