// What crates/c-api has, as bindgen would declare it. Written by scripts/c-header.

pub const rocksdb_size_approximation_flags_none: _bindgen_ty_1 = 0;
pub const rocksdb_size_approximation_flags_include_memtable: _bindgen_ty_1 = 1;
pub const rocksdb_size_approximation_flags_include_files: _bindgen_ty_1 = 2;
pub type _bindgen_ty_1 = libc::c_uint;
pub const rocksdb_block_based_table_index_type_binary_search: _bindgen_ty_2 = 0;
pub const rocksdb_block_based_table_index_type_hash_search: _bindgen_ty_2 = 1;
pub const rocksdb_block_based_table_index_type_two_level_index_search: _bindgen_ty_2 = 2;
pub type _bindgen_ty_2 = libc::c_uint;
pub const rocksdb_block_based_table_data_block_index_type_binary_search: _bindgen_ty_3 = 0;
pub const rocksdb_block_based_table_data_block_index_type_binary_search_and_hash: _bindgen_ty_3 = 1;
pub type _bindgen_ty_3 = libc::c_uint;
pub const rocksdb_block_based_table_index_block_search_type_binary: _bindgen_ty_4 = 0;
pub const rocksdb_block_based_table_index_block_search_type_interpolation: _bindgen_ty_4 = 1;
pub type _bindgen_ty_4 = libc::c_uint;
pub const rocksdb_block_based_k_fallback_pinning_tier: _bindgen_ty_5 = 0;
pub const rocksdb_block_based_k_none_pinning_tier: _bindgen_ty_5 = 1;
pub const rocksdb_block_based_k_flush_and_similar_pinning_tier: _bindgen_ty_5 = 2;
pub const rocksdb_block_based_k_all_pinning_tier: _bindgen_ty_5 = 3;
pub type _bindgen_ty_5 = libc::c_uint;
pub const rocksdb_statistics_level_disable_all: _bindgen_ty_6 = 0;
pub const rocksdb_statistics_level_except_tickers: _bindgen_ty_6 = 0;
pub const rocksdb_statistics_level_except_histogram_or_timers: _bindgen_ty_6 = 1;
pub const rocksdb_statistics_level_except_timers: _bindgen_ty_6 = 2;
pub const rocksdb_statistics_level_except_detailed_timers: _bindgen_ty_6 = 3;
pub const rocksdb_statistics_level_except_time_for_mutex: _bindgen_ty_6 = 4;
pub const rocksdb_statistics_level_all: _bindgen_ty_6 = 5;
pub type _bindgen_ty_6 = libc::c_uint;
pub const rocksdb_prepopulate_blob_disable: _bindgen_ty_7 = 0;
pub const rocksdb_prepopulate_blob_flush_only: _bindgen_ty_7 = 1;
pub type _bindgen_ty_7 = libc::c_uint;
pub const rocksdb_tolerate_corrupted_tail_records_recovery: _bindgen_ty_8 = 0;
pub const rocksdb_absolute_consistency_recovery: _bindgen_ty_8 = 1;
pub const rocksdb_point_in_time_recovery: _bindgen_ty_8 = 2;
pub const rocksdb_skip_any_corrupted_records_recovery: _bindgen_ty_8 = 3;
pub type _bindgen_ty_8 = libc::c_uint;
pub const rocksdb_no_compression: _bindgen_ty_9 = 0;
pub const rocksdb_snappy_compression: _bindgen_ty_9 = 1;
pub const rocksdb_zlib_compression: _bindgen_ty_9 = 2;
pub const rocksdb_bz2_compression: _bindgen_ty_9 = 3;
pub const rocksdb_lz4_compression: _bindgen_ty_9 = 4;
pub const rocksdb_lz4hc_compression: _bindgen_ty_9 = 5;
pub const rocksdb_xpress_compression: _bindgen_ty_9 = 6;
pub const rocksdb_zstd_compression: _bindgen_ty_9 = 7;
pub type _bindgen_ty_9 = libc::c_uint;
pub const rocksdb_level_compaction: _bindgen_ty_10 = 0;
pub const rocksdb_universal_compaction: _bindgen_ty_10 = 1;
pub const rocksdb_fifo_compaction: _bindgen_ty_10 = 2;
pub type _bindgen_ty_10 = libc::c_uint;
pub const rocksdb_k_by_compensated_size_compaction_pri: _bindgen_ty_11 = 0;
pub const rocksdb_k_oldest_largest_seq_first_compaction_pri: _bindgen_ty_11 = 1;
pub const rocksdb_k_oldest_smallest_seq_first_compaction_pri: _bindgen_ty_11 = 2;
pub const rocksdb_k_min_overlapping_ratio_compaction_pri: _bindgen_ty_11 = 3;
pub const rocksdb_k_round_robin_compaction_pri: _bindgen_ty_11 = 4;
pub type _bindgen_ty_11 = libc::c_uint;
pub const rocksdb_uninitialized: _bindgen_ty_12 = 0;
pub const rocksdb_disable: _bindgen_ty_12 = 1;
pub const rocksdb_enable_count: _bindgen_ty_12 = 2;
pub const rocksdb_enable_time_except_for_mutex: _bindgen_ty_12 = 3;
pub const rocksdb_enable_time: _bindgen_ty_12 = 4;
pub const rocksdb_out_of_bounds: _bindgen_ty_12 = 5;
pub type _bindgen_ty_12 = libc::c_uint;
pub const rocksdb_user_key_comparison_count: _bindgen_ty_13 = 0;
pub const rocksdb_block_cache_hit_count: _bindgen_ty_13 = 1;
pub const rocksdb_block_read_count: _bindgen_ty_13 = 2;
pub const rocksdb_block_read_byte: _bindgen_ty_13 = 3;
pub const rocksdb_block_read_time: _bindgen_ty_13 = 4;
pub const rocksdb_block_checksum_time: _bindgen_ty_13 = 5;
pub const rocksdb_block_decompress_time: _bindgen_ty_13 = 6;
pub const rocksdb_get_read_bytes: _bindgen_ty_13 = 7;
pub const rocksdb_multiget_read_bytes: _bindgen_ty_13 = 8;
pub const rocksdb_iter_read_bytes: _bindgen_ty_13 = 9;
pub const rocksdb_internal_key_skipped_count: _bindgen_ty_13 = 10;
pub const rocksdb_internal_delete_skipped_count: _bindgen_ty_13 = 11;
pub const rocksdb_internal_recent_skipped_count: _bindgen_ty_13 = 12;
pub const rocksdb_internal_merge_count: _bindgen_ty_13 = 13;
pub const rocksdb_get_snapshot_time: _bindgen_ty_13 = 14;
pub const rocksdb_get_from_memtable_time: _bindgen_ty_13 = 15;
pub const rocksdb_get_from_memtable_count: _bindgen_ty_13 = 16;
pub const rocksdb_get_post_process_time: _bindgen_ty_13 = 17;
pub const rocksdb_get_from_output_files_time: _bindgen_ty_13 = 18;
pub const rocksdb_seek_on_memtable_time: _bindgen_ty_13 = 19;
pub const rocksdb_seek_on_memtable_count: _bindgen_ty_13 = 20;
pub const rocksdb_next_on_memtable_count: _bindgen_ty_13 = 21;
pub const rocksdb_prev_on_memtable_count: _bindgen_ty_13 = 22;
pub const rocksdb_seek_child_seek_time: _bindgen_ty_13 = 23;
pub const rocksdb_seek_child_seek_count: _bindgen_ty_13 = 24;
pub const rocksdb_seek_min_heap_time: _bindgen_ty_13 = 25;
pub const rocksdb_seek_max_heap_time: _bindgen_ty_13 = 26;
pub const rocksdb_seek_internal_seek_time: _bindgen_ty_13 = 27;
pub const rocksdb_find_next_user_entry_time: _bindgen_ty_13 = 28;
pub const rocksdb_write_wal_time: _bindgen_ty_13 = 29;
pub const rocksdb_write_memtable_time: _bindgen_ty_13 = 30;
pub const rocksdb_write_delay_time: _bindgen_ty_13 = 31;
pub const rocksdb_write_pre_and_post_process_time: _bindgen_ty_13 = 32;
pub const rocksdb_db_mutex_lock_nanos: _bindgen_ty_13 = 33;
pub const rocksdb_db_condition_wait_nanos: _bindgen_ty_13 = 34;
pub const rocksdb_merge_operator_time_nanos: _bindgen_ty_13 = 35;
pub const rocksdb_read_index_block_nanos: _bindgen_ty_13 = 36;
pub const rocksdb_read_filter_block_nanos: _bindgen_ty_13 = 37;
pub const rocksdb_new_table_block_iter_nanos: _bindgen_ty_13 = 38;
pub const rocksdb_new_table_iterator_nanos: _bindgen_ty_13 = 39;
pub const rocksdb_block_seek_nanos: _bindgen_ty_13 = 40;
pub const rocksdb_find_table_nanos: _bindgen_ty_13 = 41;
pub const rocksdb_bloom_memtable_hit_count: _bindgen_ty_13 = 42;
pub const rocksdb_bloom_memtable_miss_count: _bindgen_ty_13 = 43;
pub const rocksdb_bloom_sst_hit_count: _bindgen_ty_13 = 44;
pub const rocksdb_bloom_sst_miss_count: _bindgen_ty_13 = 45;
pub const rocksdb_key_lock_wait_time: _bindgen_ty_13 = 46;
pub const rocksdb_key_lock_wait_count: _bindgen_ty_13 = 47;
pub const rocksdb_env_new_sequential_file_nanos: _bindgen_ty_13 = 48;
pub const rocksdb_env_new_random_access_file_nanos: _bindgen_ty_13 = 49;
pub const rocksdb_env_new_writable_file_nanos: _bindgen_ty_13 = 50;
pub const rocksdb_env_reuse_writable_file_nanos: _bindgen_ty_13 = 51;
pub const rocksdb_env_new_random_rw_file_nanos: _bindgen_ty_13 = 52;
pub const rocksdb_env_new_directory_nanos: _bindgen_ty_13 = 53;
pub const rocksdb_env_file_exists_nanos: _bindgen_ty_13 = 54;
pub const rocksdb_env_get_children_nanos: _bindgen_ty_13 = 55;
pub const rocksdb_env_get_children_file_attributes_nanos: _bindgen_ty_13 = 56;
pub const rocksdb_env_delete_file_nanos: _bindgen_ty_13 = 57;
pub const rocksdb_env_create_dir_nanos: _bindgen_ty_13 = 58;
pub const rocksdb_env_create_dir_if_missing_nanos: _bindgen_ty_13 = 59;
pub const rocksdb_env_delete_dir_nanos: _bindgen_ty_13 = 60;
pub const rocksdb_env_get_file_size_nanos: _bindgen_ty_13 = 61;
pub const rocksdb_env_get_file_modification_time_nanos: _bindgen_ty_13 = 62;
pub const rocksdb_env_rename_file_nanos: _bindgen_ty_13 = 63;
pub const rocksdb_env_link_file_nanos: _bindgen_ty_13 = 64;
pub const rocksdb_env_lock_file_nanos: _bindgen_ty_13 = 65;
pub const rocksdb_env_unlock_file_nanos: _bindgen_ty_13 = 66;
pub const rocksdb_env_new_logger_nanos: _bindgen_ty_13 = 67;
pub const rocksdb_number_async_seek: _bindgen_ty_13 = 68;
pub const rocksdb_blob_cache_hit_count: _bindgen_ty_13 = 69;
pub const rocksdb_blob_read_count: _bindgen_ty_13 = 70;
pub const rocksdb_blob_read_byte: _bindgen_ty_13 = 71;
pub const rocksdb_blob_read_time: _bindgen_ty_13 = 72;
pub const rocksdb_blob_checksum_time: _bindgen_ty_13 = 73;
pub const rocksdb_blob_decompress_time: _bindgen_ty_13 = 74;
pub const rocksdb_internal_range_del_reseek_count: _bindgen_ty_13 = 75;
pub const rocksdb_block_read_cpu_time: _bindgen_ty_13 = 76;
pub const rocksdb_internal_merge_point_lookup_count: _bindgen_ty_13 = 77;
pub const rocksdb_data_block_read_byte: _bindgen_ty_13 = 78;
pub const rocksdb_index_block_read_byte: _bindgen_ty_13 = 79;
pub const rocksdb_filter_block_read_byte: _bindgen_ty_13 = 80;
pub const rocksdb_compression_dict_block_read_byte: _bindgen_ty_13 = 81;
pub const rocksdb_metadata_block_read_byte: _bindgen_ty_13 = 82;
pub const rocksdb_total_metric_count: _bindgen_ty_13 = 85;
pub type _bindgen_ty_13 = libc::c_uint;
pub const rocksdb_similar_size_compaction_stop_style: _bindgen_ty_14 = 0;
pub const rocksdb_total_size_compaction_stop_style: _bindgen_ty_14 = 1;
pub type _bindgen_ty_14 = libc::c_uint;
pub const rocksdb_compactionservice_jobstatus_success: _bindgen_ty_15 = 0;
pub const rocksdb_compactionservice_jobstatus_failure: _bindgen_ty_15 = 1;
pub const rocksdb_compactionservice_jobstatus_aborted: _bindgen_ty_15 = 2;
pub const rocksdb_compactionservice_jobstatus_use_local: _bindgen_ty_15 = 3;
pub type _bindgen_ty_15 = libc::c_uint;

#[repr(C)]
#[derive(Copy, Clone)]
pub struct rocksdb_slice_t {
    pub data: *const c_char,
    pub size: usize,
}
#[repr(C)]
#[derive(Copy, Clone)]
pub struct rocksdb_backup_engine_info_t {
    _unused: [u8; 0],
}
#[repr(C)]
#[derive(Copy, Clone)]
pub struct rocksdb_backup_engine_options_t {
    _unused: [u8; 0],
}
#[repr(C)]
#[derive(Copy, Clone)]
pub struct rocksdb_backup_engine_t {
    _unused: [u8; 0],
}
#[repr(C)]
#[derive(Copy, Clone)]
pub struct rocksdb_block_based_table_options_t {
    _unused: [u8; 0],
}
#[repr(C)]
#[derive(Copy, Clone)]
pub struct rocksdb_cache_t {
    _unused: [u8; 0],
}
#[repr(C)]
#[derive(Copy, Clone)]
pub struct rocksdb_checkpoint_t {
    _unused: [u8; 0],
}
#[repr(C)]
#[derive(Copy, Clone)]
pub struct rocksdb_column_family_handle_t {
    _unused: [u8; 0],
}
#[repr(C)]
#[derive(Copy, Clone)]
pub struct rocksdb_column_family_metadata_t {
    _unused: [u8; 0],
}
#[repr(C)]
#[derive(Copy, Clone)]
pub struct rocksdb_compaction_service_options_override_t {
    _unused: [u8; 0],
}
#[repr(C)]
#[derive(Copy, Clone)]
pub struct rocksdb_compactionfilter_t {
    _unused: [u8; 0],
}
#[repr(C)]
#[derive(Copy, Clone)]
pub struct rocksdb_compactionfiltercontext_t {
    _unused: [u8; 0],
}
#[repr(C)]
#[derive(Copy, Clone)]
pub struct rocksdb_compactionfilterfactory_t {
    _unused: [u8; 0],
}
#[repr(C)]
#[derive(Copy, Clone)]
pub struct rocksdb_compactionjobinfo_t {
    _unused: [u8; 0],
}
#[repr(C)]
#[derive(Copy, Clone)]
pub struct rocksdb_compactionservice_jobinfo_t {
    _unused: [u8; 0],
}
#[repr(C)]
#[derive(Copy, Clone)]
pub struct rocksdb_compactionservice_scheduleresponse_t {
    _unused: [u8; 0],
}
#[repr(C)]
#[derive(Copy, Clone)]
pub struct rocksdb_compactionservice_t {
    _unused: [u8; 0],
}
#[repr(C)]
#[derive(Copy, Clone)]
pub struct rocksdb_compactoptions_t {
    _unused: [u8; 0],
}
#[repr(C)]
#[derive(Copy, Clone)]
pub struct rocksdb_comparator_t {
    _unused: [u8; 0],
}
#[repr(C)]
#[derive(Copy, Clone)]
pub struct rocksdb_cuckoo_table_options_t {
    _unused: [u8; 0],
}
#[repr(C)]
#[derive(Copy, Clone)]
pub struct rocksdb_dbpath_t {
    _unused: [u8; 0],
}
#[repr(C)]
#[derive(Copy, Clone)]
pub struct rocksdb_env_t {
    _unused: [u8; 0],
}
#[repr(C)]
#[derive(Copy, Clone)]
pub struct rocksdb_envoptions_t {
    _unused: [u8; 0],
}
#[repr(C)]
#[derive(Copy, Clone)]
pub struct rocksdb_eventlistener_t {
    _unused: [u8; 0],
}
#[repr(C)]
#[derive(Copy, Clone)]
pub struct rocksdb_export_import_files_metadata_t {
    _unused: [u8; 0],
}
#[repr(C)]
#[derive(Copy, Clone)]
pub struct rocksdb_externalfileingestioninfo_t {
    _unused: [u8; 0],
}
#[repr(C)]
#[derive(Copy, Clone)]
pub struct rocksdb_fifo_compaction_options_t {
    _unused: [u8; 0],
}
#[repr(C)]
#[derive(Copy, Clone)]
pub struct rocksdb_file_checksum_gen_factory_t {
    _unused: [u8; 0],
}
#[repr(C)]
#[derive(Copy, Clone)]
pub struct rocksdb_filterpolicy_t {
    _unused: [u8; 0],
}
#[repr(C)]
#[derive(Copy, Clone)]
pub struct rocksdb_flushjobinfo_t {
    _unused: [u8; 0],
}
#[repr(C)]
#[derive(Copy, Clone)]
pub struct rocksdb_flushoptions_t {
    _unused: [u8; 0],
}
#[repr(C)]
#[derive(Copy, Clone)]
pub struct rocksdb_hyper_clock_cache_options_t {
    _unused: [u8; 0],
}
#[repr(C)]
#[derive(Copy, Clone)]
pub struct rocksdb_import_column_family_options_t {
    _unused: [u8; 0],
}
#[repr(C)]
#[derive(Copy, Clone)]
pub struct rocksdb_ingestexternalfileoptions_t {
    _unused: [u8; 0],
}
#[repr(C)]
#[derive(Copy, Clone)]
pub struct rocksdb_iterator_t {
    _unused: [u8; 0],
}
#[repr(C)]
#[derive(Copy, Clone)]
pub struct rocksdb_level_metadata_t {
    _unused: [u8; 0],
}
#[repr(C)]
#[derive(Copy, Clone)]
pub struct rocksdb_livefile_t {
    _unused: [u8; 0],
}
#[repr(C)]
#[derive(Copy, Clone)]
pub struct rocksdb_livefiles_t {
    _unused: [u8; 0],
}
#[repr(C)]
#[derive(Copy, Clone)]
pub struct rocksdb_logger_t {
    _unused: [u8; 0],
}
#[repr(C)]
#[derive(Copy, Clone)]
pub struct rocksdb_lru_cache_options_t {
    _unused: [u8; 0],
}
#[repr(C)]
#[derive(Copy, Clone)]
pub struct rocksdb_memory_allocator_t {
    _unused: [u8; 0],
}
#[repr(C)]
#[derive(Copy, Clone)]
pub struct rocksdb_memory_consumers_t {
    _unused: [u8; 0],
}
#[repr(C)]
#[derive(Copy, Clone)]
pub struct rocksdb_memory_usage_t {
    _unused: [u8; 0],
}
#[repr(C)]
#[derive(Copy, Clone)]
pub struct rocksdb_memtableinfo_t {
    _unused: [u8; 0],
}
#[repr(C)]
#[derive(Copy, Clone)]
pub struct rocksdb_mergeoperator_t {
    _unused: [u8; 0],
}
#[repr(C)]
#[derive(Copy, Clone)]
pub struct rocksdb_open_and_compact_options_t {
    _unused: [u8; 0],
}
#[repr(C)]
#[derive(Copy, Clone)]
pub struct rocksdb_optimistictransaction_options_t {
    _unused: [u8; 0],
}
#[repr(C)]
#[derive(Copy, Clone)]
pub struct rocksdb_optimistictransactiondb_t {
    _unused: [u8; 0],
}
#[repr(C)]
#[derive(Copy, Clone)]
pub struct rocksdb_options_t {
    _unused: [u8; 0],
}
#[repr(C)]
#[derive(Copy, Clone)]
pub struct rocksdb_perfcontext_t {
    _unused: [u8; 0],
}
#[repr(C)]
#[derive(Copy, Clone)]
pub struct rocksdb_pinnable_handle_t {
    _unused: [u8; 0],
}
#[repr(C)]
#[derive(Copy, Clone)]
pub struct rocksdb_pinnableslice_t {
    _unused: [u8; 0],
}
#[repr(C)]
#[derive(Copy, Clone)]
pub struct rocksdb_pinnablewidecolumns_t {
    _unused: [u8; 0],
}
#[repr(C)]
#[derive(Copy, Clone)]
pub struct rocksdb_ratelimiter_t {
    _unused: [u8; 0],
}
#[repr(C)]
#[derive(Copy, Clone)]
pub struct rocksdb_readoptions_t {
    _unused: [u8; 0],
}
#[repr(C)]
#[derive(Copy, Clone)]
pub struct rocksdb_restore_options_t {
    _unused: [u8; 0],
}
#[repr(C)]
#[derive(Copy, Clone)]
pub struct rocksdb_slicetransform_t {
    _unused: [u8; 0],
}
#[repr(C)]
#[derive(Copy, Clone)]
pub struct rocksdb_snapshot_t {
    _unused: [u8; 0],
}
#[repr(C)]
#[derive(Copy, Clone)]
pub struct rocksdb_sst_file_manager_t {
    _unused: [u8; 0],
}
#[repr(C)]
#[derive(Copy, Clone)]
pub struct rocksdb_sst_file_metadata_t {
    _unused: [u8; 0],
}
#[repr(C)]
#[derive(Copy, Clone)]
pub struct rocksdb_sst_partitioner_factory_t {
    _unused: [u8; 0],
}
#[repr(C)]
#[derive(Copy, Clone)]
pub struct rocksdb_sstfilewriter_t {
    _unused: [u8; 0],
}
#[repr(C)]
#[derive(Copy, Clone)]
pub struct rocksdb_statistics_histogram_data_t {
    _unused: [u8; 0],
}
#[repr(C)]
#[derive(Copy, Clone)]
pub struct rocksdb_status_ptr_t {
    _unused: [u8; 0],
}
#[repr(C)]
#[derive(Copy, Clone)]
pub struct rocksdb_subcompactionjobinfo_t {
    _unused: [u8; 0],
}
#[repr(C)]
#[derive(Copy, Clone)]
pub struct rocksdb_t {
    _unused: [u8; 0],
}
#[repr(C)]
#[derive(Copy, Clone)]
pub struct rocksdb_table_properties_collector_factory_t {
    _unused: [u8; 0],
}
#[repr(C)]
#[derive(Copy, Clone)]
pub struct rocksdb_transaction_options_t {
    _unused: [u8; 0],
}
#[repr(C)]
#[derive(Copy, Clone)]
pub struct rocksdb_transaction_t {
    _unused: [u8; 0],
}
#[repr(C)]
#[derive(Copy, Clone)]
pub struct rocksdb_transactiondb_options_t {
    _unused: [u8; 0],
}
#[repr(C)]
#[derive(Copy, Clone)]
pub struct rocksdb_transactiondb_t {
    _unused: [u8; 0],
}
#[repr(C)]
#[derive(Copy, Clone)]
pub struct rocksdb_universal_compaction_options_t {
    _unused: [u8; 0],
}
#[repr(C)]
#[derive(Copy, Clone)]
pub struct rocksdb_wait_for_compact_options_t {
    _unused: [u8; 0],
}
#[repr(C)]
#[derive(Copy, Clone)]
pub struct rocksdb_wal_iterator_t {
    _unused: [u8; 0],
}
#[repr(C)]
#[derive(Copy, Clone)]
pub struct rocksdb_wal_readoptions_t {
    _unused: [u8; 0],
}
#[repr(C)]
#[derive(Copy, Clone)]
pub struct rocksdb_widecolumns_t {
    _unused: [u8; 0],
}
#[repr(C)]
#[derive(Copy, Clone)]
pub struct rocksdb_write_buffer_manager_t {
    _unused: [u8; 0],
}
#[repr(C)]
#[derive(Copy, Clone)]
pub struct rocksdb_writebatch_t {
    _unused: [u8; 0],
}
#[repr(C)]
#[derive(Copy, Clone)]
pub struct rocksdb_writebatch_wi_t {
    _unused: [u8; 0],
}
#[repr(C)]
#[derive(Copy, Clone)]
pub struct rocksdb_writeoptions_t {
    _unused: [u8; 0],
}
#[repr(C)]
#[derive(Copy, Clone)]
pub struct rocksdb_writestallcondition_t {
    _unused: [u8; 0],
}
#[repr(C)]
#[derive(Copy, Clone)]
pub struct rocksdb_writestallinfo_t {
    _unused: [u8; 0],
}

unsafe extern "C" {
    pub fn rocksdb_approximate_memory_usage_create(
        consumers: *mut rocksdb_memory_consumers_t,
        errptr: *mut *mut c_char,
    ) -> *mut rocksdb_memory_usage_t;
    pub fn rocksdb_approximate_memory_usage_destroy(
        usage: *mut rocksdb_memory_usage_t,
    );
    pub fn rocksdb_approximate_memory_usage_get_cache_total(
        usage: *mut rocksdb_memory_usage_t,
    ) -> u64;
    pub fn rocksdb_approximate_memory_usage_get_mem_table_readers_total(
        usage: *mut rocksdb_memory_usage_t,
    ) -> u64;
    pub fn rocksdb_approximate_memory_usage_get_mem_table_total(
        usage: *mut rocksdb_memory_usage_t,
    ) -> u64;
    pub fn rocksdb_approximate_memory_usage_get_mem_table_unflushed(
        usage: *mut rocksdb_memory_usage_t,
    ) -> u64;
    pub fn rocksdb_approximate_sizes(
        db: *mut rocksdb_t,
        num: c_int,
        starts: *const *const c_char,
        start_lengths: *const usize,
        ends: *const *const c_char,
        end_lengths: *const usize,
        out: *mut u64,
        errptr: *mut *mut c_char,
    );
    pub fn rocksdb_approximate_sizes_cf(
        db: *mut rocksdb_t,
        handle: *mut rocksdb_column_family_handle_t,
        num: c_int,
        starts: *const *const c_char,
        start_lengths: *const usize,
        ends: *const *const c_char,
        end_lengths: *const usize,
        out: *mut u64,
        errptr: *mut *mut c_char,
    );
    pub fn rocksdb_approximate_sizes_cf_with_flags(
        db: *mut rocksdb_t,
        handle: *mut rocksdb_column_family_handle_t,
        num: c_int,
        starts: *const *const c_char,
        start_lengths: *const usize,
        ends: *const *const c_char,
        end_lengths: *const usize,
        flags: c_uchar,
        out: *mut u64,
        errptr: *mut *mut c_char,
    );
    pub fn rocksdb_backup_engine_close(
        engine: *mut rocksdb_backup_engine_t,
    );
    pub fn rocksdb_backup_engine_create_new_backup(
        engine: *mut rocksdb_backup_engine_t,
        db: *mut rocksdb_t,
        errptr: *mut *mut c_char,
    );
    pub fn rocksdb_backup_engine_create_new_backup_flush(
        engine: *mut rocksdb_backup_engine_t,
        db: *mut rocksdb_t,
        flush: c_uchar,
        errptr: *mut *mut c_char,
    );
    pub fn rocksdb_backup_engine_get_backup_info(
        engine: *mut rocksdb_backup_engine_t,
    ) -> *const rocksdb_backup_engine_info_t;
    pub fn rocksdb_backup_engine_info_backup_id(
        infos: *const rocksdb_backup_engine_info_t,
        index: c_int,
    ) -> u32;
    pub fn rocksdb_backup_engine_info_count(
        infos: *const rocksdb_backup_engine_info_t,
    ) -> c_int;
    pub fn rocksdb_backup_engine_info_destroy(
        infos: *const rocksdb_backup_engine_info_t,
    );
    pub fn rocksdb_backup_engine_info_number_files(
        infos: *const rocksdb_backup_engine_info_t,
        index: c_int,
    ) -> u32;
    pub fn rocksdb_backup_engine_info_size(
        infos: *const rocksdb_backup_engine_info_t,
        index: c_int,
    ) -> u64;
    pub fn rocksdb_backup_engine_info_timestamp(
        infos: *const rocksdb_backup_engine_info_t,
        index: c_int,
    ) -> i64;
    pub fn rocksdb_backup_engine_open(
        options: *const rocksdb_options_t,
        dir: *const c_char,
        errptr: *mut *mut c_char,
    ) -> *mut rocksdb_backup_engine_t;
    pub fn rocksdb_backup_engine_open_opts(
        options: *const rocksdb_backup_engine_options_t,
        env: *mut rocksdb_env_t,
        errptr: *mut *mut c_char,
    ) -> *mut rocksdb_backup_engine_t;
    pub fn rocksdb_backup_engine_options_create(
        dir: *const c_char,
    ) -> *mut rocksdb_backup_engine_options_t;
    pub fn rocksdb_backup_engine_options_destroy(
        options: *mut rocksdb_backup_engine_options_t,
    );
    pub fn rocksdb_backup_engine_options_get_backup_log_files(
        options: *mut rocksdb_backup_engine_options_t,
    ) -> c_uchar;
    pub fn rocksdb_backup_engine_options_get_backup_rate_limit(
        options: *mut rocksdb_backup_engine_options_t,
    ) -> u64;
    pub fn rocksdb_backup_engine_options_get_callback_trigger_interval_size(
        options: *mut rocksdb_backup_engine_options_t,
    ) -> u64;
    pub fn rocksdb_backup_engine_options_get_destroy_old_data(
        options: *mut rocksdb_backup_engine_options_t,
    ) -> c_uchar;
    pub fn rocksdb_backup_engine_options_get_max_background_operations(
        options: *mut rocksdb_backup_engine_options_t,
    ) -> c_int;
    pub fn rocksdb_backup_engine_options_get_max_valid_backups_to_open(
        options: *mut rocksdb_backup_engine_options_t,
    ) -> c_int;
    pub fn rocksdb_backup_engine_options_get_restore_rate_limit(
        options: *mut rocksdb_backup_engine_options_t,
    ) -> u64;
    pub fn rocksdb_backup_engine_options_get_share_files_with_checksum_naming(
        options: *mut rocksdb_backup_engine_options_t,
    ) -> c_int;
    pub fn rocksdb_backup_engine_options_get_share_table_files(
        options: *mut rocksdb_backup_engine_options_t,
    ) -> c_uchar;
    pub fn rocksdb_backup_engine_options_get_sync(
        options: *mut rocksdb_backup_engine_options_t,
    ) -> c_uchar;
    pub fn rocksdb_backup_engine_options_set_backup_dir(
        options: *mut rocksdb_backup_engine_options_t,
        dir: *const c_char,
    );
    pub fn rocksdb_backup_engine_options_set_backup_log_files(
        options: *mut rocksdb_backup_engine_options_t,
        value: c_uchar,
    );
    pub fn rocksdb_backup_engine_options_set_backup_rate_limit(
        options: *mut rocksdb_backup_engine_options_t,
        value: u64,
    );
    pub fn rocksdb_backup_engine_options_set_callback_trigger_interval_size(
        options: *mut rocksdb_backup_engine_options_t,
        value: u64,
    );
    pub fn rocksdb_backup_engine_options_set_destroy_old_data(
        options: *mut rocksdb_backup_engine_options_t,
        value: c_uchar,
    );
    pub fn rocksdb_backup_engine_options_set_env(
        options: *mut rocksdb_backup_engine_options_t,
        env: *mut rocksdb_env_t,
    );
    pub fn rocksdb_backup_engine_options_set_max_background_operations(
        options: *mut rocksdb_backup_engine_options_t,
        value: c_int,
    );
    pub fn rocksdb_backup_engine_options_set_max_valid_backups_to_open(
        options: *mut rocksdb_backup_engine_options_t,
        value: c_int,
    );
    pub fn rocksdb_backup_engine_options_set_restore_rate_limit(
        options: *mut rocksdb_backup_engine_options_t,
        value: u64,
    );
    pub fn rocksdb_backup_engine_options_set_share_files_with_checksum_naming(
        options: *mut rocksdb_backup_engine_options_t,
        value: c_int,
    );
    pub fn rocksdb_backup_engine_options_set_share_table_files(
        options: *mut rocksdb_backup_engine_options_t,
        value: c_uchar,
    );
    pub fn rocksdb_backup_engine_options_set_sync(
        options: *mut rocksdb_backup_engine_options_t,
        value: c_uchar,
    );
    pub fn rocksdb_backup_engine_purge_old_backups(
        engine: *mut rocksdb_backup_engine_t,
        keep: u32,
        errptr: *mut *mut c_char,
    );
    pub fn rocksdb_backup_engine_restore_db_from_backup(
        engine: *mut rocksdb_backup_engine_t,
        db_dir: *const c_char,
        wal_dir: *const c_char,
        options: *const rocksdb_restore_options_t,
        backup_id: u32,
        errptr: *mut *mut c_char,
    );
    pub fn rocksdb_backup_engine_restore_db_from_latest_backup(
        engine: *mut rocksdb_backup_engine_t,
        db_dir: *const c_char,
        wal_dir: *const c_char,
        options: *const rocksdb_restore_options_t,
        errptr: *mut *mut c_char,
    );
    pub fn rocksdb_backup_engine_verify_backup(
        engine: *mut rocksdb_backup_engine_t,
        backup_id: u32,
        errptr: *mut *mut c_char,
    );
    pub fn rocksdb_batched_multi_get_cf(
        db: *mut rocksdb_t,
        options: *const rocksdb_readoptions_t,
        handle: *mut rocksdb_column_family_handle_t,
        num: usize,
        keys: *const *const c_char,
        lengths: *const usize,
        values: *mut *mut rocksdb_pinnableslice_t,
        errs: *mut *mut c_char,
        sorted: bool,
    );
    pub fn rocksdb_batched_multi_get_cf_slice(
        db: *mut rocksdb_t,
        options: *const rocksdb_readoptions_t,
        handle: *mut rocksdb_column_family_handle_t,
        num: usize,
        keys: *const rocksdb_slice_t,
        values: *mut *mut rocksdb_pinnableslice_t,
        errs: *mut *mut c_char,
        sorted: bool,
    );
    pub fn rocksdb_block_based_options_create(
    ) -> *mut rocksdb_block_based_table_options_t;
    pub fn rocksdb_block_based_options_destroy(
        options: *mut rocksdb_block_based_table_options_t,
    );
    pub fn rocksdb_block_based_options_set_block_align(
        options: *mut rocksdb_block_based_table_options_t,
        value: c_uchar,
    );
    pub fn rocksdb_block_based_options_set_block_cache(
        options: *mut rocksdb_block_based_table_options_t,
        cache: *mut rocksdb_cache_t,
    );
    pub fn rocksdb_block_based_options_set_block_cache_compressed(
        options: *mut rocksdb_block_based_table_options_t,
        cache: *mut rocksdb_cache_t,
    );
    pub fn rocksdb_block_based_options_set_block_restart_interval(
        options: *mut rocksdb_block_based_table_options_t,
        value: c_int,
    );
    pub fn rocksdb_block_based_options_set_block_size(
        options: *mut rocksdb_block_based_table_options_t,
        value: usize,
    );
    pub fn rocksdb_block_based_options_set_block_size_deviation(
        options: *mut rocksdb_block_based_table_options_t,
        value: c_int,
    );
    pub fn rocksdb_block_based_options_set_cache_index_and_filter_blocks(
        options: *mut rocksdb_block_based_table_options_t,
        value: c_uchar,
    );
    pub fn rocksdb_block_based_options_set_cache_index_and_filter_blocks_with_high_priority(
        options: *mut rocksdb_block_based_table_options_t,
        value: c_uchar,
    );
    pub fn rocksdb_block_based_options_set_checksum(
        options: *mut rocksdb_block_based_table_options_t,
        value: c_char,
    );
    pub fn rocksdb_block_based_options_set_data_block_hash_ratio(
        options: *mut rocksdb_block_based_table_options_t,
        value: f64,
    );
    pub fn rocksdb_block_based_options_set_data_block_index_type(
        options: *mut rocksdb_block_based_table_options_t,
        value: c_int,
    );
    pub fn rocksdb_block_based_options_set_filter_policy(
        options: *mut rocksdb_block_based_table_options_t,
        policy: *mut rocksdb_filterpolicy_t,
    );
    pub fn rocksdb_block_based_options_set_format_version(
        options: *mut rocksdb_block_based_table_options_t,
        value: c_int,
    );
    pub fn rocksdb_block_based_options_set_index_block_restart_interval(
        options: *mut rocksdb_block_based_table_options_t,
        value: c_int,
    );
    pub fn rocksdb_block_based_options_set_index_block_search_type(
        options: *mut rocksdb_block_based_table_options_t,
        value: c_int,
    );
    pub fn rocksdb_block_based_options_set_index_type(
        options: *mut rocksdb_block_based_table_options_t,
        value: c_int,
    );
    pub fn rocksdb_block_based_options_set_metadata_block_size(
        options: *mut rocksdb_block_based_table_options_t,
        value: u64,
    );
    pub fn rocksdb_block_based_options_set_no_block_cache(
        options: *mut rocksdb_block_based_table_options_t,
        no_cache: c_uchar,
    );
    pub fn rocksdb_block_based_options_set_optimize_filters_for_memory(
        options: *mut rocksdb_block_based_table_options_t,
        value: c_uchar,
    );
    pub fn rocksdb_block_based_options_set_partition_filters(
        options: *mut rocksdb_block_based_table_options_t,
        value: c_uchar,
    );
    pub fn rocksdb_block_based_options_set_partition_pinning_tier(
        options: *mut rocksdb_block_based_table_options_t,
        value: c_int,
    );
    pub fn rocksdb_block_based_options_set_pin_l0_filter_and_index_blocks_in_cache(
        options: *mut rocksdb_block_based_table_options_t,
        value: c_uchar,
    );
    pub fn rocksdb_block_based_options_set_pin_top_level_index_and_filter(
        options: *mut rocksdb_block_based_table_options_t,
        value: c_uchar,
    );
    pub fn rocksdb_block_based_options_set_separate_key_value_in_data_block(
        options: *mut rocksdb_block_based_table_options_t,
        value: c_uchar,
    );
    pub fn rocksdb_block_based_options_set_top_level_index_pinning_tier(
        options: *mut rocksdb_block_based_table_options_t,
        value: c_int,
    );
    pub fn rocksdb_block_based_options_set_unpartitioned_pinning_tier(
        options: *mut rocksdb_block_based_table_options_t,
        value: c_int,
    );
    pub fn rocksdb_block_based_options_set_use_delta_encoding(
        options: *mut rocksdb_block_based_table_options_t,
        value: c_uchar,
    );
    pub fn rocksdb_block_based_options_set_whole_key_filtering(
        options: *mut rocksdb_block_based_table_options_t,
        value: c_uchar,
    );
    pub fn rocksdb_cache_create_hyper_clock(
        capacity: usize,
        charge: usize,
    ) -> *mut rocksdb_cache_t;
    pub fn rocksdb_cache_create_hyper_clock_opts(
        options: *const rocksdb_hyper_clock_cache_options_t,
    ) -> *mut rocksdb_cache_t;
    pub fn rocksdb_cache_create_lru(
        capacity: usize,
    ) -> *mut rocksdb_cache_t;
    pub fn rocksdb_cache_create_lru_opts(
        options: *const rocksdb_lru_cache_options_t,
    ) -> *mut rocksdb_cache_t;
    pub fn rocksdb_cache_create_lru_with_strict_capacity_limit(
        capacity: usize,
    ) -> *mut rocksdb_cache_t;
    pub fn rocksdb_cache_destroy(
        cache: *mut rocksdb_cache_t,
    );
    pub fn rocksdb_cache_disown_data(
        cache: *mut rocksdb_cache_t,
    );
    pub fn rocksdb_cache_get_capacity(
        options: *const rocksdb_cache_t,
    ) -> usize;
    pub fn rocksdb_cache_get_occupancy_count(
        cache: *const rocksdb_cache_t,
    ) -> usize;
    pub fn rocksdb_cache_get_pinned_usage(
        cache: *const rocksdb_cache_t,
    ) -> usize;
    pub fn rocksdb_cache_get_table_address_count(
        cache: *const rocksdb_cache_t,
    ) -> usize;
    pub fn rocksdb_cache_get_usage(
        cache: *const rocksdb_cache_t,
    ) -> usize;
    pub fn rocksdb_cache_set_capacity(
        options: *mut rocksdb_cache_t,
        value: usize,
    );
    pub fn rocksdb_cancel_all_background_work(
        db: *mut rocksdb_t,
        wait: c_uchar,
    );
    pub fn rocksdb_checkpoint_create(
        checkpoint: *mut rocksdb_checkpoint_t,
        dir: *const c_char,
        log_size: u64,
        errptr: *mut *mut c_char,
    );
    pub fn rocksdb_checkpoint_export_column_family(
        checkpoint: *mut rocksdb_checkpoint_t,
        handle: *mut rocksdb_column_family_handle_t,
        dir: *const c_char,
        errptr: *mut *mut c_char,
    ) -> *mut rocksdb_export_import_files_metadata_t;
    pub fn rocksdb_checkpoint_object_create(
        db: *mut rocksdb_t,
        errptr: *mut *mut c_char,
    ) -> *mut rocksdb_checkpoint_t;
    pub fn rocksdb_checkpoint_object_destroy(
        checkpoint: *mut rocksdb_checkpoint_t,
    );
    pub fn rocksdb_close(
        db: *mut rocksdb_t,
    );
    pub fn rocksdb_column_family_handle_destroy(
        handle: *mut rocksdb_column_family_handle_t,
    );
    pub fn rocksdb_column_family_handle_get_id(
        handle: *mut rocksdb_column_family_handle_t,
    ) -> u32;
    pub fn rocksdb_column_family_handle_get_name(
        handle: *mut rocksdb_column_family_handle_t,
        len: *mut usize,
    ) -> *mut c_char;
    pub fn rocksdb_column_family_metadata_destroy(
        family: *mut rocksdb_column_family_metadata_t,
    );
    pub fn rocksdb_column_family_metadata_get_file_count(
        family: *mut rocksdb_column_family_metadata_t,
    ) -> usize;
    pub fn rocksdb_column_family_metadata_get_level_count(
        family: *mut rocksdb_column_family_metadata_t,
    ) -> usize;
    pub fn rocksdb_column_family_metadata_get_level_metadata(
        family: *mut rocksdb_column_family_metadata_t,
        at: usize,
    ) -> *mut rocksdb_level_metadata_t;
    pub fn rocksdb_column_family_metadata_get_name(
        family: *mut rocksdb_column_family_metadata_t,
    ) -> *mut c_char;
    pub fn rocksdb_column_family_metadata_get_size(
        family: *mut rocksdb_column_family_metadata_t,
    ) -> u64;
    pub fn rocksdb_compact_range(
        db: *mut rocksdb_t,
        start: *const c_char,
        start_len: usize,
        end: *const c_char,
        end_len: usize,
    );
    pub fn rocksdb_compact_range_cf(
        db: *mut rocksdb_t,
        handle: *mut rocksdb_column_family_handle_t,
        start: *const c_char,
        start_len: usize,
        end: *const c_char,
        end_len: usize,
    );
    pub fn rocksdb_compact_range_cf_opt(
        db: *mut rocksdb_t,
        handle: *mut rocksdb_column_family_handle_t,
        options: *mut rocksdb_compactoptions_t,
        start: *const c_char,
        start_len: usize,
        end: *const c_char,
        end_len: usize,
    );
    pub fn rocksdb_compact_range_opt(
        db: *mut rocksdb_t,
        options: *mut rocksdb_compactoptions_t,
        start: *const c_char,
        start_len: usize,
        end: *const c_char,
        end_len: usize,
    );
    pub fn rocksdb_compaction_service_options_override_add_event_listener(
        options: *mut rocksdb_compaction_service_options_override_t,
        listener: *mut rocksdb_eventlistener_t,
    );
    pub fn rocksdb_compaction_service_options_override_add_table_properties_collector_factory(
        options: *mut rocksdb_compaction_service_options_override_t,
        factory: *mut rocksdb_table_properties_collector_factory_t,
    );
    pub fn rocksdb_compaction_service_options_override_create(
    ) -> *mut rocksdb_compaction_service_options_override_t;
    pub fn rocksdb_compaction_service_options_override_create_from_options(
        options: *mut rocksdb_options_t,
    ) -> *mut rocksdb_compaction_service_options_override_t;
    pub fn rocksdb_compaction_service_options_override_destroy(
        options: *mut rocksdb_compaction_service_options_override_t,
    );
    pub fn rocksdb_compaction_service_options_override_set_block_based_table_factory(
        options: *mut rocksdb_compaction_service_options_override_t,
        table: *mut rocksdb_block_based_table_options_t,
    );
    pub fn rocksdb_compaction_service_options_override_set_compaction_filter(
        options: *mut rocksdb_compaction_service_options_override_t,
        filter: *mut rocksdb_compactionfilter_t,
    );
    pub fn rocksdb_compaction_service_options_override_set_compaction_filter_factory(
        options: *mut rocksdb_compaction_service_options_override_t,
        factory: *mut rocksdb_compactionfilterfactory_t,
    );
    pub fn rocksdb_compaction_service_options_override_set_comparator(
        options: *mut rocksdb_compaction_service_options_override_t,
        comparator: *mut rocksdb_comparator_t,
    );
    pub fn rocksdb_compaction_service_options_override_set_cuckoo_table_factory(
        options: *mut rocksdb_compaction_service_options_override_t,
        table: *mut rocksdb_cuckoo_table_options_t,
    );
    pub fn rocksdb_compaction_service_options_override_set_env(
        options: *mut rocksdb_compaction_service_options_override_t,
        env: *mut rocksdb_env_t,
    );
    pub fn rocksdb_compaction_service_options_override_set_file_checksum_gen_factory(
        options: *mut rocksdb_compaction_service_options_override_t,
        factory: *mut rocksdb_file_checksum_gen_factory_t,
    );
    pub fn rocksdb_compaction_service_options_override_set_info_log(
        options: *mut rocksdb_compaction_service_options_override_t,
        logger: *mut rocksdb_logger_t,
    );
    pub fn rocksdb_compaction_service_options_override_set_merge_operator(
        options: *mut rocksdb_compaction_service_options_override_t,
        merge_operator: *mut rocksdb_mergeoperator_t,
    );
    pub fn rocksdb_compaction_service_options_override_set_option(
        options: *mut rocksdb_compaction_service_options_override_t,
        key: *const c_char,
        value: *const c_char,
    );
    pub fn rocksdb_compaction_service_options_override_set_prefix_extractor(
        options: *mut rocksdb_compaction_service_options_override_t,
        transform: *mut rocksdb_slicetransform_t,
    );
    pub fn rocksdb_compaction_service_options_override_set_sst_partitioner_factory(
        options: *mut rocksdb_compaction_service_options_override_t,
        factory: *mut rocksdb_sst_partitioner_factory_t,
    );
    pub fn rocksdb_compaction_service_options_override_set_statistics(
        options: *mut rocksdb_compaction_service_options_override_t,
        from: *mut rocksdb_options_t,
    );
    pub fn rocksdb_compactionfilter_create(
        state: *mut c_void,
        destructor: Option<unsafe extern "C" fn(*mut c_void)>,
        filter: Option<unsafe extern "C" fn(*mut c_void, c_int, *const c_char, usize, *const c_char, usize, *mut *mut c_char, *mut usize, *mut c_uchar) -> c_uchar>,
        name: Option<unsafe extern "C" fn(*mut c_void) -> *const c_char>,
    ) -> *mut rocksdb_compactionfilter_t;
    pub fn rocksdb_compactionfilter_destroy(
        filter: *mut rocksdb_compactionfilter_t,
    );
    pub fn rocksdb_compactionfilter_set_ignore_snapshots(
        filter: *mut rocksdb_compactionfilter_t,
        ignore: c_uchar,
    );
    pub fn rocksdb_compactionfiltercontext_is_full_compaction(
        context: *mut rocksdb_compactionfiltercontext_t,
    ) -> c_uchar;
    pub fn rocksdb_compactionfiltercontext_is_manual_compaction(
        context: *mut rocksdb_compactionfiltercontext_t,
    ) -> c_uchar;
    pub fn rocksdb_compactionfilterfactory_create(
        state: *mut c_void,
        destructor: Option<unsafe extern "C" fn(*mut c_void)>,
        create: Option<unsafe extern "C" fn(*mut c_void, *mut rocksdb_compactionfiltercontext_t) -> *mut rocksdb_compactionfilter_t>,
        name: Option<unsafe extern "C" fn(*mut c_void) -> *const c_char>,
    ) -> *mut rocksdb_compactionfilterfactory_t;
    pub fn rocksdb_compactionfilterfactory_destroy(
        factory: *mut rocksdb_compactionfilterfactory_t,
    );
    pub fn rocksdb_compactionjobinfo_base_input_level(
        info: *const rocksdb_compactionjobinfo_t,
    ) -> c_int;
    pub fn rocksdb_compactionjobinfo_cf_name(
        info: *const rocksdb_compactionjobinfo_t,
        len: *mut usize,
    ) -> *const c_char;
    pub fn rocksdb_compactionjobinfo_compaction_reason(
        info: *const rocksdb_compactionjobinfo_t,
    ) -> u32;
    pub fn rocksdb_compactionjobinfo_elapsed_micros(
        info: *const rocksdb_compactionjobinfo_t,
    ) -> u64;
    pub fn rocksdb_compactionjobinfo_input_file_at(
        info: *const rocksdb_compactionjobinfo_t,
        at: usize,
        len: *mut usize,
    ) -> *const c_char;
    pub fn rocksdb_compactionjobinfo_input_files_count(
        info: *const rocksdb_compactionjobinfo_t,
    ) -> usize;
    pub fn rocksdb_compactionjobinfo_input_records(
        info: *const rocksdb_compactionjobinfo_t,
    ) -> u64;
    pub fn rocksdb_compactionjobinfo_num_corrupt_keys(
        info: *const rocksdb_compactionjobinfo_t,
    ) -> u64;
    pub fn rocksdb_compactionjobinfo_num_input_files(
        info: *const rocksdb_compactionjobinfo_t,
    ) -> usize;
    pub fn rocksdb_compactionjobinfo_num_input_files_at_output_level(
        info: *const rocksdb_compactionjobinfo_t,
    ) -> usize;
    pub fn rocksdb_compactionjobinfo_output_file_at(
        info: *const rocksdb_compactionjobinfo_t,
        at: usize,
        len: *mut usize,
    ) -> *const c_char;
    pub fn rocksdb_compactionjobinfo_output_files_count(
        info: *const rocksdb_compactionjobinfo_t,
    ) -> usize;
    pub fn rocksdb_compactionjobinfo_output_level(
        info: *const rocksdb_compactionjobinfo_t,
    ) -> c_int;
    pub fn rocksdb_compactionjobinfo_output_records(
        info: *const rocksdb_compactionjobinfo_t,
    ) -> u64;
    pub fn rocksdb_compactionjobinfo_status(
        info: *const rocksdb_compactionjobinfo_t,
        errptr: *mut *mut c_char,
    );
    pub fn rocksdb_compactionjobinfo_total_input_bytes(
        info: *const rocksdb_compactionjobinfo_t,
    ) -> u64;
    pub fn rocksdb_compactionjobinfo_total_output_bytes(
        info: *const rocksdb_compactionjobinfo_t,
    ) -> u64;
    pub fn rocksdb_compactionservice_create(
        state: *mut c_void,
        destructor: Option<unsafe extern "C" fn(*mut c_void)>,
        schedule: Option<unsafe extern "C" fn(*mut c_void, *const rocksdb_compactionservice_jobinfo_t, *const c_char, usize) -> *mut rocksdb_compactionservice_scheduleresponse_t>,
        name: *const c_char,
        wait: Option<unsafe extern "C" fn(*mut c_void, *const c_char, *mut *mut c_char, *mut usize) -> c_int>,
        cancel: Option<unsafe extern "C" fn(*mut c_void)>,
        on_installation: Option<unsafe extern "C" fn(*mut c_void, *const c_char, c_int)>,
    ) -> *mut rocksdb_compactionservice_t;
    pub fn rocksdb_compactionservice_jobinfo_t_get_base_input_level(
        info: *const rocksdb_compactionservice_jobinfo_t,
    ) -> c_int;
    pub fn rocksdb_compactionservice_jobinfo_t_get_cf_id(
        info: *const rocksdb_compactionservice_jobinfo_t,
    ) -> u32;
    pub fn rocksdb_compactionservice_jobinfo_t_get_cf_name(
        info: *const rocksdb_compactionservice_jobinfo_t,
        len: *mut usize,
    ) -> *const c_char;
    pub fn rocksdb_compactionservice_jobinfo_t_get_compaction_reason(
        info: *const rocksdb_compactionservice_jobinfo_t,
    ) -> c_int;
    pub fn rocksdb_compactionservice_jobinfo_t_get_db_id(
        info: *const rocksdb_compactionservice_jobinfo_t,
        len: *mut usize,
    ) -> *const c_char;
    pub fn rocksdb_compactionservice_jobinfo_t_get_db_name(
        info: *const rocksdb_compactionservice_jobinfo_t,
        len: *mut usize,
    ) -> *const c_char;
    pub fn rocksdb_compactionservice_jobinfo_t_get_db_session_id(
        info: *const rocksdb_compactionservice_jobinfo_t,
        len: *mut usize,
    ) -> *const c_char;
    pub fn rocksdb_compactionservice_jobinfo_t_get_job_id(
        info: *const rocksdb_compactionservice_jobinfo_t,
    ) -> u64;
    pub fn rocksdb_compactionservice_jobinfo_t_get_output_level(
        info: *const rocksdb_compactionservice_jobinfo_t,
    ) -> c_int;
    pub fn rocksdb_compactionservice_jobinfo_t_get_priority(
        info: *const rocksdb_compactionservice_jobinfo_t,
    ) -> c_int;
    pub fn rocksdb_compactionservice_jobinfo_t_is_bottommost_level(
        info: *const rocksdb_compactionservice_jobinfo_t,
    ) -> c_uchar;
    pub fn rocksdb_compactionservice_jobinfo_t_is_full_compaction(
        info: *const rocksdb_compactionservice_jobinfo_t,
    ) -> c_uchar;
    pub fn rocksdb_compactionservice_jobinfo_t_is_manual_compaction(
        info: *const rocksdb_compactionservice_jobinfo_t,
    ) -> c_uchar;
    pub fn rocksdb_compactionservice_scheduleresponse_create(
        id: *const c_char,
        status: c_int,
        errptr: *mut *mut c_char,
    ) -> *mut rocksdb_compactionservice_scheduleresponse_t;
    pub fn rocksdb_compactionservice_scheduleresponse_create_with_status(
        status: c_int,
        errptr: *mut *mut c_char,
    ) -> *mut rocksdb_compactionservice_scheduleresponse_t;
    pub fn rocksdb_compactionservice_scheduleresponse_get_scheduled_job_id(
        response: *const rocksdb_compactionservice_scheduleresponse_t,
        len: *mut usize,
    ) -> *const c_char;
    pub fn rocksdb_compactionservice_scheduleresponse_getstatus(
        response: *const rocksdb_compactionservice_scheduleresponse_t,
    ) -> c_int;
    pub fn rocksdb_compactionservice_scheduleresponse_t_destroy(
        response: *mut rocksdb_compactionservice_scheduleresponse_t,
    );
    pub fn rocksdb_compactoptions_create(
    ) -> *mut rocksdb_compactoptions_t;
    pub fn rocksdb_compactoptions_destroy(
        options: *mut rocksdb_compactoptions_t,
    );
    pub fn rocksdb_compactoptions_get_allow_write_stall(
        options: *mut rocksdb_compactoptions_t,
    ) -> c_uchar;
    pub fn rocksdb_compactoptions_get_bottommost_level_compaction(
        options: *mut rocksdb_compactoptions_t,
    ) -> c_uchar;
    pub fn rocksdb_compactoptions_get_change_level(
        options: *mut rocksdb_compactoptions_t,
    ) -> c_uchar;
    pub fn rocksdb_compactoptions_get_exclusive_manual_compaction(
        options: *mut rocksdb_compactoptions_t,
    ) -> c_uchar;
    pub fn rocksdb_compactoptions_get_max_subcompactions(
        options: *mut rocksdb_compactoptions_t,
    ) -> c_int;
    pub fn rocksdb_compactoptions_get_target_level(
        options: *mut rocksdb_compactoptions_t,
    ) -> c_int;
    pub fn rocksdb_compactoptions_get_target_path_id(
        options: *mut rocksdb_compactoptions_t,
    ) -> c_int;
    pub fn rocksdb_compactoptions_set_allow_write_stall(
        options: *mut rocksdb_compactoptions_t,
        value: c_uchar,
    );
    pub fn rocksdb_compactoptions_set_bottommost_level_compaction(
        options: *mut rocksdb_compactoptions_t,
        value: c_uchar,
    );
    pub fn rocksdb_compactoptions_set_change_level(
        options: *mut rocksdb_compactoptions_t,
        value: c_uchar,
    );
    pub fn rocksdb_compactoptions_set_exclusive_manual_compaction(
        options: *mut rocksdb_compactoptions_t,
        value: c_uchar,
    );
    pub fn rocksdb_compactoptions_set_full_history_ts_low(
        options: *mut rocksdb_compactoptions_t,
        ts: *mut c_char,
        len: usize,
    );
    pub fn rocksdb_compactoptions_set_max_subcompactions(
        options: *mut rocksdb_compactoptions_t,
        value: c_int,
    );
    pub fn rocksdb_compactoptions_set_target_level(
        options: *mut rocksdb_compactoptions_t,
        value: c_int,
    );
    pub fn rocksdb_compactoptions_set_target_path_id(
        options: *mut rocksdb_compactoptions_t,
        value: c_int,
    );
    pub fn rocksdb_comparator_create(
        state: *mut c_void,
        destructor: Option<unsafe extern "C" fn(*mut c_void)>,
        compare: Option<unsafe extern "C" fn(*mut c_void, *const c_char, usize, *const c_char, usize) -> c_int>,
        name: Option<unsafe extern "C" fn(*mut c_void) -> *const c_char>,
    ) -> *mut rocksdb_comparator_t;
    pub fn rocksdb_comparator_destroy(
        comparator: *mut rocksdb_comparator_t,
    );
    pub fn rocksdb_comparator_with_ts_create(
        state: *mut c_void,
        destructor: Option<unsafe extern "C" fn(*mut c_void)>,
        compare: Option<unsafe extern "C" fn(*mut c_void, *const c_char, usize, *const c_char, usize) -> c_int>,
        compare_ts: Option<unsafe extern "C" fn(*mut c_void, *const c_char, usize, *const c_char, usize) -> c_int>,
        without_ts: Option<unsafe extern "C" fn(*mut c_void, *const c_char, usize, c_uchar, *const c_char, usize, c_uchar) -> c_int>,
        name: Option<unsafe extern "C" fn(*mut c_void) -> *const c_char>,
        timestamp_size: usize,
    ) -> *mut rocksdb_comparator_t;
    pub fn rocksdb_create_column_families(
        db: *mut rocksdb_t,
        options: *const rocksdb_options_t,
        num: c_int,
        names: *const *const c_char,
        len: *mut usize,
        errptr: *mut *mut c_char,
    ) -> *mut *mut rocksdb_column_family_handle_t;
    pub fn rocksdb_create_column_families_destroy(
        list: *mut *mut rocksdb_column_family_handle_t,
    );
    pub fn rocksdb_create_column_family(
        db: *mut rocksdb_t,
        options: *const rocksdb_options_t,
        name: *const c_char,
        errptr: *mut *mut c_char,
    ) -> *mut rocksdb_column_family_handle_t;
    pub fn rocksdb_create_column_family_with_import(
        db: *mut rocksdb_t,
        options: *mut rocksdb_options_t,
        name: *const c_char,
        import: *mut rocksdb_import_column_family_options_t,
        metadata: *mut rocksdb_export_import_files_metadata_t,
        errptr: *mut *mut c_char,
    ) -> *mut rocksdb_column_family_handle_t;
    pub fn rocksdb_create_column_family_with_ttl(
        db: *mut rocksdb_t,
        options: *const rocksdb_options_t,
        name: *const c_char,
        seconds: c_int,
        errptr: *mut *mut c_char,
    ) -> *mut rocksdb_column_family_handle_t;
    pub fn rocksdb_create_default_env(
    ) -> *mut rocksdb_env_t;
    pub fn rocksdb_create_dir_if_missing(
        env: *mut rocksdb_env_t,
        path: *const c_char,
        errptr: *mut *mut c_char,
    );
    pub fn rocksdb_create_iterator(
        db: *mut rocksdb_t,
        options: *const rocksdb_readoptions_t,
    ) -> *mut rocksdb_iterator_t;
    pub fn rocksdb_create_iterator_cf(
        db: *mut rocksdb_t,
        options: *const rocksdb_readoptions_t,
        handle: *mut rocksdb_column_family_handle_t,
    ) -> *mut rocksdb_iterator_t;
    pub fn rocksdb_create_iterators(
        db: *mut rocksdb_t,
        options: *mut rocksdb_readoptions_t,
        handles: *mut *mut rocksdb_column_family_handle_t,
        iterators: *mut *mut rocksdb_iterator_t,
        len: usize,
        errptr: *mut *mut c_char,
    );
    pub fn rocksdb_create_mem_env(
    ) -> *mut rocksdb_env_t;
    pub fn rocksdb_create_snapshot(
        db: *mut rocksdb_t,
    ) -> *const rocksdb_snapshot_t;
    pub fn rocksdb_cuckoo_options_create(
    ) -> *mut rocksdb_cuckoo_table_options_t;
    pub fn rocksdb_cuckoo_options_destroy(
        options: *mut rocksdb_cuckoo_table_options_t,
    );
    pub fn rocksdb_cuckoo_options_set_cuckoo_block_size(
        options: *mut rocksdb_cuckoo_table_options_t,
        value: u32,
    );
    pub fn rocksdb_cuckoo_options_set_hash_ratio(
        options: *mut rocksdb_cuckoo_table_options_t,
        value: f64,
    );
    pub fn rocksdb_cuckoo_options_set_identity_as_first_hash(
        options: *mut rocksdb_cuckoo_table_options_t,
        value: c_uchar,
    );
    pub fn rocksdb_cuckoo_options_set_max_search_depth(
        options: *mut rocksdb_cuckoo_table_options_t,
        value: u32,
    );
    pub fn rocksdb_cuckoo_options_set_use_module_hash(
        options: *mut rocksdb_cuckoo_table_options_t,
        value: c_uchar,
    );
    pub fn rocksdb_dbpath_create(
        path: *const c_char,
        target_size: u64,
    ) -> *mut rocksdb_dbpath_t;
    pub fn rocksdb_dbpath_destroy(
        path: *mut rocksdb_dbpath_t,
    );
    pub fn rocksdb_delete(
        db: *mut rocksdb_t,
        options: *const rocksdb_writeoptions_t,
        key: *const c_char,
        keylen: usize,
        errptr: *mut *mut c_char,
    );
    pub fn rocksdb_delete_cf(
        db: *mut rocksdb_t,
        options: *const rocksdb_writeoptions_t,
        handle: *mut rocksdb_column_family_handle_t,
        key: *const c_char,
        keylen: usize,
        errptr: *mut *mut c_char,
    );
    pub fn rocksdb_delete_cf_with_ts(
        db: *mut rocksdb_t,
        options: *const rocksdb_writeoptions_t,
        handle: *mut rocksdb_column_family_handle_t,
        key: *const c_char,
        keylen: usize,
        ts: *const c_char,
        tslen: usize,
        errptr: *mut *mut c_char,
    );
    pub fn rocksdb_delete_file(
        db: *mut rocksdb_t,
        name: *const c_char,
    );
    pub fn rocksdb_delete_file_in_range(
        db: *mut rocksdb_t,
        start: *const c_char,
        start_len: usize,
        end: *const c_char,
        end_len: usize,
        errptr: *mut *mut c_char,
    );
    pub fn rocksdb_delete_file_in_range_cf(
        db: *mut rocksdb_t,
        handle: *mut rocksdb_column_family_handle_t,
        start: *const c_char,
        start_len: usize,
        end: *const c_char,
        end_len: usize,
        errptr: *mut *mut c_char,
    );
    pub fn rocksdb_delete_range_cf(
        db: *mut rocksdb_t,
        options: *const rocksdb_writeoptions_t,
        handle: *mut rocksdb_column_family_handle_t,
        start: *const c_char,
        start_len: usize,
        end: *const c_char,
        end_len: usize,
        errptr: *mut *mut c_char,
    );
    pub fn rocksdb_delete_with_ts(
        db: *mut rocksdb_t,
        options: *const rocksdb_writeoptions_t,
        key: *const c_char,
        keylen: usize,
        ts: *const c_char,
        tslen: usize,
        errptr: *mut *mut c_char,
    );
    pub fn rocksdb_destroy_db(
        options: *const rocksdb_options_t,
        name: *const c_char,
        errptr: *mut *mut c_char,
    );
    pub fn rocksdb_disable_file_deletions(
        db: *mut rocksdb_t,
        errptr: *mut *mut c_char,
    );
    pub fn rocksdb_disable_manual_compaction(
        db: *mut rocksdb_t,
    );
    pub fn rocksdb_drop_column_family(
        db: *mut rocksdb_t,
        handle: *mut rocksdb_column_family_handle_t,
        errptr: *mut *mut c_char,
    );
    pub fn rocksdb_enable_file_deletions(
        db: *mut rocksdb_t,
        errptr: *mut *mut c_char,
    );
    pub fn rocksdb_enable_manual_compaction(
        db: *mut rocksdb_t,
    );
    pub fn rocksdb_env_destroy(
        env: *mut rocksdb_env_t,
    );
    pub fn rocksdb_env_get_background_threads(
        options: *mut rocksdb_env_t,
    ) -> c_int;
    pub fn rocksdb_env_get_bottom_priority_background_threads(
        options: *mut rocksdb_env_t,
    ) -> c_int;
    pub fn rocksdb_env_get_high_priority_background_threads(
        options: *mut rocksdb_env_t,
    ) -> c_int;
    pub fn rocksdb_env_get_low_priority_background_threads(
        options: *mut rocksdb_env_t,
    ) -> c_int;
    pub fn rocksdb_env_join_all_threads(
        env: *mut rocksdb_env_t,
    );
    pub fn rocksdb_env_lower_high_priority_thread_pool_cpu_priority(
        env: *mut rocksdb_env_t,
    );
    pub fn rocksdb_env_lower_high_priority_thread_pool_io_priority(
        env: *mut rocksdb_env_t,
    );
    pub fn rocksdb_env_lower_thread_pool_cpu_priority(
        env: *mut rocksdb_env_t,
    );
    pub fn rocksdb_env_lower_thread_pool_io_priority(
        env: *mut rocksdb_env_t,
    );
    pub fn rocksdb_env_set_background_threads(
        options: *mut rocksdb_env_t,
        value: c_int,
    );
    pub fn rocksdb_env_set_bottom_priority_background_threads(
        options: *mut rocksdb_env_t,
        value: c_int,
    );
    pub fn rocksdb_env_set_high_priority_background_threads(
        options: *mut rocksdb_env_t,
        value: c_int,
    );
    pub fn rocksdb_env_set_low_priority_background_threads(
        options: *mut rocksdb_env_t,
        value: c_int,
    );
    pub fn rocksdb_envoptions_create(
    ) -> *mut rocksdb_envoptions_t;
    pub fn rocksdb_envoptions_destroy(
        options: *mut rocksdb_envoptions_t,
    );
    pub fn rocksdb_eventlistener_create(
        state: *mut c_void,
        destructor: Option<unsafe extern "C" fn(*mut c_void)>,
        flush_begin: Option<unsafe extern "C" fn(*mut c_void, *mut rocksdb_t, *const rocksdb_flushjobinfo_t)>,
        flush_completed: Option<unsafe extern "C" fn(*mut c_void, *mut rocksdb_t, *const rocksdb_flushjobinfo_t)>,
        compaction_begin: Option<unsafe extern "C" fn(*mut c_void, *mut rocksdb_t, *const rocksdb_compactionjobinfo_t)>,
        compaction_completed: Option<unsafe extern "C" fn(*mut c_void, *mut rocksdb_t, *const rocksdb_compactionjobinfo_t)>,
        subcompaction_begin: Option<unsafe extern "C" fn(*mut c_void, *const rocksdb_subcompactionjobinfo_t)>,
        subcompaction_completed: Option<unsafe extern "C" fn(*mut c_void, *const rocksdb_subcompactionjobinfo_t)>,
        ingested: Option<unsafe extern "C" fn(*mut c_void, *mut rocksdb_t, *const rocksdb_externalfileingestioninfo_t)>,
        failed: Option<unsafe extern "C" fn(*mut c_void, u32, *mut rocksdb_status_ptr_t)>,
        stall: Option<unsafe extern "C" fn(*mut c_void, *const rocksdb_writestallinfo_t)>,
        sealed: Option<unsafe extern "C" fn(*mut c_void, *const rocksdb_memtableinfo_t)>,
    ) -> *mut rocksdb_eventlistener_t;
    pub fn rocksdb_eventlistener_destroy(
        listener: *mut rocksdb_eventlistener_t,
    );
    pub fn rocksdb_export_import_files_metadata_create(
    ) -> *mut rocksdb_export_import_files_metadata_t;
    pub fn rocksdb_export_import_files_metadata_destroy(
        options: *mut rocksdb_export_import_files_metadata_t,
    );
    pub fn rocksdb_export_import_files_metadata_get_db_comparator_name(
        metadata: *mut rocksdb_export_import_files_metadata_t,
    ) -> *mut c_char;
    pub fn rocksdb_export_import_files_metadata_get_files(
        metadata: *mut rocksdb_export_import_files_metadata_t,
    ) -> *mut rocksdb_livefiles_t;
    pub fn rocksdb_export_import_files_metadata_set_db_comparator_name(
        metadata: *mut rocksdb_export_import_files_metadata_t,
        name: *const c_char,
    );
    pub fn rocksdb_export_import_files_metadata_set_files(
        metadata: *mut rocksdb_export_import_files_metadata_t,
        files: *mut rocksdb_livefiles_t,
    );
    pub fn rocksdb_externalfileingestioninfo_cf_name(
        info: *const rocksdb_externalfileingestioninfo_t,
        len: *mut usize,
    ) -> *const c_char;
    pub fn rocksdb_externalfileingestioninfo_internal_file_path(
        info: *const rocksdb_externalfileingestioninfo_t,
        len: *mut usize,
    ) -> *const c_char;
    pub fn rocksdb_fifo_compaction_options_create(
    ) -> *mut rocksdb_fifo_compaction_options_t;
    pub fn rocksdb_fifo_compaction_options_destroy(
        options: *mut rocksdb_fifo_compaction_options_t,
    );
    pub fn rocksdb_fifo_compaction_options_get_allow_compaction(
        options: *mut rocksdb_fifo_compaction_options_t,
    ) -> c_uchar;
    pub fn rocksdb_fifo_compaction_options_get_max_data_files_size(
        options: *mut rocksdb_fifo_compaction_options_t,
    ) -> u64;
    pub fn rocksdb_fifo_compaction_options_get_max_table_files_size(
        options: *mut rocksdb_fifo_compaction_options_t,
    ) -> u64;
    pub fn rocksdb_fifo_compaction_options_get_use_kv_ratio_compaction(
        options: *mut rocksdb_fifo_compaction_options_t,
    ) -> c_uchar;
    pub fn rocksdb_fifo_compaction_options_set_allow_compaction(
        options: *mut rocksdb_fifo_compaction_options_t,
        value: c_uchar,
    );
    pub fn rocksdb_fifo_compaction_options_set_max_data_files_size(
        options: *mut rocksdb_fifo_compaction_options_t,
        value: u64,
    );
    pub fn rocksdb_fifo_compaction_options_set_max_table_files_size(
        options: *mut rocksdb_fifo_compaction_options_t,
        value: u64,
    );
    pub fn rocksdb_fifo_compaction_options_set_use_kv_ratio_compaction(
        options: *mut rocksdb_fifo_compaction_options_t,
        value: c_uchar,
    );
    pub fn rocksdb_file_checksum_gen_crc32c_factory_create(
    ) -> *mut rocksdb_file_checksum_gen_factory_t;
    pub fn rocksdb_file_checksum_gen_factory_destroy(
        factory: *mut rocksdb_file_checksum_gen_factory_t,
    );
    pub fn rocksdb_filterpolicy_create_bloom(
        bits: f64,
    ) -> *mut rocksdb_filterpolicy_t;
    pub fn rocksdb_filterpolicy_create_bloom_full(
        bits: f64,
    ) -> *mut rocksdb_filterpolicy_t;
    pub fn rocksdb_filterpolicy_create_ribbon(
        bits: f64,
    ) -> *mut rocksdb_filterpolicy_t;
    pub fn rocksdb_filterpolicy_create_ribbon_hybrid(
        bits: f64,
        bloom_before_level: c_int,
    ) -> *mut rocksdb_filterpolicy_t;
    pub fn rocksdb_filterpolicy_destroy(
        policy: *mut rocksdb_filterpolicy_t,
    );
    pub fn rocksdb_flush(
        db: *mut rocksdb_t,
        options: *const rocksdb_flushoptions_t,
        errptr: *mut *mut c_char,
    );
    pub fn rocksdb_flush_cf(
        db: *mut rocksdb_t,
        options: *const rocksdb_flushoptions_t,
        handle: *mut rocksdb_column_family_handle_t,
        errptr: *mut *mut c_char,
    );
    pub fn rocksdb_flush_cfs(
        db: *mut rocksdb_t,
        options: *const rocksdb_flushoptions_t,
        handles: *mut *mut rocksdb_column_family_handle_t,
        len: c_int,
        errptr: *mut *mut c_char,
    );
    pub fn rocksdb_flush_wal(
        db: *mut rocksdb_t,
        sync: c_uchar,
        errptr: *mut *mut c_char,
    );
    pub fn rocksdb_flushjobinfo_cf_name(
        info: *const rocksdb_flushjobinfo_t,
        len: *mut usize,
    ) -> *const c_char;
    pub fn rocksdb_flushjobinfo_file_path(
        info: *const rocksdb_flushjobinfo_t,
        len: *mut usize,
    ) -> *const c_char;
    pub fn rocksdb_flushjobinfo_flush_reason(
        info: *const rocksdb_flushjobinfo_t,
    ) -> u32;
    pub fn rocksdb_flushjobinfo_largest_seqno(
        info: *const rocksdb_flushjobinfo_t,
    ) -> u64;
    pub fn rocksdb_flushjobinfo_smallest_seqno(
        info: *const rocksdb_flushjobinfo_t,
    ) -> u64;
    pub fn rocksdb_flushjobinfo_triggered_writes_slowdown(
        info: *const rocksdb_flushjobinfo_t,
    ) -> c_uchar;
    pub fn rocksdb_flushjobinfo_triggered_writes_stop(
        info: *const rocksdb_flushjobinfo_t,
    ) -> c_uchar;
    pub fn rocksdb_flushoptions_create(
    ) -> *mut rocksdb_flushoptions_t;
    pub fn rocksdb_flushoptions_destroy(
        options: *mut rocksdb_flushoptions_t,
    );
    pub fn rocksdb_flushoptions_get_wait(
        options: *mut rocksdb_flushoptions_t,
    ) -> c_uchar;
    pub fn rocksdb_flushoptions_set_wait(
        options: *mut rocksdb_flushoptions_t,
        value: c_uchar,
    );
    pub fn rocksdb_free(
        memory: *mut c_void,
    );
    pub fn rocksdb_get(
        db: *mut rocksdb_t,
        options: *const rocksdb_readoptions_t,
        key: *const c_char,
        keylen: usize,
        len: *mut usize,
        errptr: *mut *mut c_char,
    ) -> *mut c_char;
    pub fn rocksdb_get_cf(
        db: *mut rocksdb_t,
        options: *const rocksdb_readoptions_t,
        handle: *mut rocksdb_column_family_handle_t,
        key: *const c_char,
        keylen: usize,
        len: *mut usize,
        errptr: *mut *mut c_char,
    ) -> *mut c_char;
    pub fn rocksdb_get_cf_with_ts(
        db: *mut rocksdb_t,
        options: *const rocksdb_readoptions_t,
        handle: *mut rocksdb_column_family_handle_t,
        key: *const c_char,
        keylen: usize,
        len: *mut usize,
        ts: *mut *mut c_char,
        tslen: *mut usize,
        errptr: *mut *mut c_char,
    ) -> *mut c_char;
    pub fn rocksdb_get_column_family_metadata(
        db: *mut rocksdb_t,
    ) -> *mut rocksdb_column_family_metadata_t;
    pub fn rocksdb_get_column_family_metadata_cf(
        db: *mut rocksdb_t,
        handle: *mut rocksdb_column_family_handle_t,
    ) -> *mut rocksdb_column_family_metadata_t;
    pub fn rocksdb_get_db_identity(
        db: *mut rocksdb_t,
        len: *mut usize,
    ) -> *mut c_char;
    pub fn rocksdb_get_default_column_family_handle(
        db: *mut rocksdb_t,
    ) -> *mut rocksdb_column_family_handle_t;
    pub fn rocksdb_get_entity_cf(
        db: *mut rocksdb_t,
        options: *const rocksdb_readoptions_t,
        handle: *mut rocksdb_column_family_handle_t,
        key: *const c_char,
        keylen: usize,
        errptr: *mut *mut c_char,
    ) -> *mut rocksdb_pinnablewidecolumns_t;
    pub fn rocksdb_get_full_history_ts_low(
        db: *mut rocksdb_t,
        handle: *mut rocksdb_column_family_handle_t,
        len: *mut usize,
        errptr: *mut *mut c_char,
    ) -> *mut c_char;
    pub fn rocksdb_get_into_buffer(
        db: *mut rocksdb_t,
        options: *const rocksdb_readoptions_t,
        key: *const c_char,
        keylen: usize,
        buffer: *mut c_char,
        size: usize,
        len: *mut usize,
        found: *mut c_uchar,
        errptr: *mut *mut c_char,
    ) -> c_uchar;
    pub fn rocksdb_get_into_buffer_cf(
        db: *mut rocksdb_t,
        options: *const rocksdb_readoptions_t,
        handle: *mut rocksdb_column_family_handle_t,
        key: *const c_char,
        keylen: usize,
        buffer: *mut c_char,
        size: usize,
        len: *mut usize,
        found: *mut c_uchar,
        errptr: *mut *mut c_char,
    ) -> c_uchar;
    pub fn rocksdb_get_latest_sequence_number(
        db: *mut rocksdb_t,
    ) -> u64;
    pub fn rocksdb_get_options_from_string(
        base: *const rocksdb_options_t,
        text: *const c_char,
        new_options: *mut rocksdb_options_t,
        errptr: *mut *mut c_char,
    );
    pub fn rocksdb_get_pinned(
        db: *mut rocksdb_t,
        options: *const rocksdb_readoptions_t,
        key: *const c_char,
        keylen: usize,
        errptr: *mut *mut c_char,
    ) -> *mut rocksdb_pinnableslice_t;
    pub fn rocksdb_get_pinned_cf(
        db: *mut rocksdb_t,
        options: *const rocksdb_readoptions_t,
        handle: *mut rocksdb_column_family_handle_t,
        key: *const c_char,
        keylen: usize,
        errptr: *mut *mut c_char,
    ) -> *mut rocksdb_pinnableslice_t;
    pub fn rocksdb_get_pinned_cf_v2(
        db: *mut rocksdb_t,
        options: *const rocksdb_readoptions_t,
        handle: *mut rocksdb_column_family_handle_t,
        key: *const c_char,
        keylen: usize,
        errptr: *mut *mut c_char,
    ) -> *mut rocksdb_pinnable_handle_t;
    pub fn rocksdb_get_pinned_v2(
        db: *mut rocksdb_t,
        options: *const rocksdb_readoptions_t,
        key: *const c_char,
        keylen: usize,
        errptr: *mut *mut c_char,
    ) -> *mut rocksdb_pinnable_handle_t;
    pub fn rocksdb_get_updates_since(
        db: *mut rocksdb_t,
        sequence: u64,
        options: *const rocksdb_wal_readoptions_t,
        errptr: *mut *mut c_char,
    ) -> *mut rocksdb_wal_iterator_t;
    pub fn rocksdb_get_with_ts(
        db: *mut rocksdb_t,
        options: *const rocksdb_readoptions_t,
        key: *const c_char,
        keylen: usize,
        len: *mut usize,
        ts: *mut *mut c_char,
        tslen: *mut usize,
        errptr: *mut *mut c_char,
    ) -> *mut c_char;
    pub fn rocksdb_hyper_clock_cache_options_create(
        capacity: usize,
        charge: usize,
    ) -> *mut rocksdb_hyper_clock_cache_options_t;
    pub fn rocksdb_hyper_clock_cache_options_destroy(
        options: *mut rocksdb_hyper_clock_cache_options_t,
    );
    pub fn rocksdb_hyper_clock_cache_options_set_capacity(
        options: *mut rocksdb_hyper_clock_cache_options_t,
        value: usize,
    );
    pub fn rocksdb_hyper_clock_cache_options_set_estimated_entry_charge(
        options: *mut rocksdb_hyper_clock_cache_options_t,
        value: usize,
    );
    pub fn rocksdb_hyper_clock_cache_options_set_memory_allocator(
        options: *mut rocksdb_hyper_clock_cache_options_t,
        allocator: *mut rocksdb_memory_allocator_t,
    );
    pub fn rocksdb_hyper_clock_cache_options_set_num_shard_bits(
        options: *mut rocksdb_hyper_clock_cache_options_t,
        value: c_int,
    );
    pub fn rocksdb_import_column_family_options_create(
    ) -> *mut rocksdb_import_column_family_options_t;
    pub fn rocksdb_import_column_family_options_destroy(
        options: *mut rocksdb_import_column_family_options_t,
    );
    pub fn rocksdb_import_column_family_options_set_move_files(
        options: *mut rocksdb_import_column_family_options_t,
        value: c_uchar,
    );
    pub fn rocksdb_increase_full_history_ts_low(
        db: *mut rocksdb_t,
        handle: *mut rocksdb_column_family_handle_t,
        ts: *const c_char,
        tslen: usize,
        errptr: *mut *mut c_char,
    );
    pub fn rocksdb_ingest_external_file(
        db: *mut rocksdb_t,
        files: *const *const c_char,
        len: usize,
        options: *const rocksdb_ingestexternalfileoptions_t,
        errptr: *mut *mut c_char,
    );
    pub fn rocksdb_ingest_external_file_cf(
        db: *mut rocksdb_t,
        handle: *mut rocksdb_column_family_handle_t,
        files: *const *const c_char,
        len: usize,
        options: *const rocksdb_ingestexternalfileoptions_t,
        errptr: *mut *mut c_char,
    );
    pub fn rocksdb_ingestexternalfileoptions_create(
    ) -> *mut rocksdb_ingestexternalfileoptions_t;
    pub fn rocksdb_ingestexternalfileoptions_destroy(
        options: *mut rocksdb_ingestexternalfileoptions_t,
    );
    pub fn rocksdb_ingestexternalfileoptions_set_allow_blocking_flush(
        options: *mut rocksdb_ingestexternalfileoptions_t,
        value: c_uchar,
    );
    pub fn rocksdb_ingestexternalfileoptions_set_allow_global_seqno(
        options: *mut rocksdb_ingestexternalfileoptions_t,
        value: c_uchar,
    );
    pub fn rocksdb_ingestexternalfileoptions_set_fail_if_not_bottommost_level(
        options: *mut rocksdb_ingestexternalfileoptions_t,
        value: c_uchar,
    );
    pub fn rocksdb_ingestexternalfileoptions_set_ingest_behind(
        options: *mut rocksdb_ingestexternalfileoptions_t,
        value: c_uchar,
    );
    pub fn rocksdb_ingestexternalfileoptions_set_move_files(
        options: *mut rocksdb_ingestexternalfileoptions_t,
        value: c_uchar,
    );
    pub fn rocksdb_ingestexternalfileoptions_set_snapshot_consistency(
        options: *mut rocksdb_ingestexternalfileoptions_t,
        value: c_uchar,
    );
    pub fn rocksdb_iter_columns(
        iter: *const rocksdb_iterator_t,
    ) -> *mut rocksdb_widecolumns_t;
    pub fn rocksdb_iter_destroy(
        iter: *mut rocksdb_iterator_t,
    );
    pub fn rocksdb_iter_get_error(
        iter: *const rocksdb_iterator_t,
        errptr: *mut *mut c_char,
    );
    pub fn rocksdb_iter_key(
        iter: *const rocksdb_iterator_t,
        len: *mut usize,
    ) -> *const c_char;
    pub fn rocksdb_iter_key_slice(
        iter: *const rocksdb_iterator_t,
    ) -> rocksdb_slice_t;
    pub fn rocksdb_iter_next(
        iter: *mut rocksdb_iterator_t,
    );
    pub fn rocksdb_iter_prev(
        iter: *mut rocksdb_iterator_t,
    );
    pub fn rocksdb_iter_refresh(
        iter: *const rocksdb_iterator_t,
        errptr: *mut *mut c_char,
    );
    pub fn rocksdb_iter_seek(
        iter: *mut rocksdb_iterator_t,
        key: *const c_char,
        len: usize,
    );
    pub fn rocksdb_iter_seek_for_prev(
        iter: *mut rocksdb_iterator_t,
        key: *const c_char,
        len: usize,
    );
    pub fn rocksdb_iter_seek_to_first(
        iter: *mut rocksdb_iterator_t,
    );
    pub fn rocksdb_iter_seek_to_last(
        iter: *mut rocksdb_iterator_t,
    );
    pub fn rocksdb_iter_timestamp(
        iter: *const rocksdb_iterator_t,
        len: *mut usize,
    ) -> *const c_char;
    pub fn rocksdb_iter_timestamp_slice(
        iter: *const rocksdb_iterator_t,
    ) -> rocksdb_slice_t;
    pub fn rocksdb_iter_valid(
        iter: *const rocksdb_iterator_t,
    ) -> c_uchar;
    pub fn rocksdb_iter_value(
        iter: *const rocksdb_iterator_t,
        len: *mut usize,
    ) -> *const c_char;
    pub fn rocksdb_iter_value_slice(
        iter: *const rocksdb_iterator_t,
    ) -> rocksdb_slice_t;
    pub fn rocksdb_jemalloc_nodump_allocator_create(
        errptr: *mut *mut c_char,
    ) -> *mut rocksdb_memory_allocator_t;
    pub fn rocksdb_key_may_exist(
        db: *mut rocksdb_t,
        options: *const rocksdb_readoptions_t,
        key: *const c_char,
        keylen: usize,
        value: *mut *mut c_char,
        len: *mut usize,
        ts: *const c_char,
        ts_len: usize,
        found: *mut c_uchar,
    ) -> c_uchar;
    pub fn rocksdb_key_may_exist_cf(
        db: *mut rocksdb_t,
        options: *const rocksdb_readoptions_t,
        handle: *mut rocksdb_column_family_handle_t,
        key: *const c_char,
        keylen: usize,
        value: *mut *mut c_char,
        len: *mut usize,
        ts: *const c_char,
        ts_len: usize,
        found: *mut c_uchar,
    ) -> c_uchar;
    pub fn rocksdb_level_metadata_destroy(
        level: *mut rocksdb_level_metadata_t,
    );
    pub fn rocksdb_level_metadata_get_file_count(
        level: *mut rocksdb_level_metadata_t,
    ) -> usize;
    pub fn rocksdb_level_metadata_get_level(
        level: *mut rocksdb_level_metadata_t,
    ) -> c_int;
    pub fn rocksdb_level_metadata_get_size(
        level: *mut rocksdb_level_metadata_t,
    ) -> u64;
    pub fn rocksdb_level_metadata_get_sst_file_metadata(
        level: *mut rocksdb_level_metadata_t,
        at: usize,
    ) -> *mut rocksdb_sst_file_metadata_t;
    pub fn rocksdb_list_column_families(
        options: *const rocksdb_options_t,
        name: *const c_char,
        len: *mut usize,
        errptr: *mut *mut c_char,
    ) -> *mut *mut c_char;
    pub fn rocksdb_list_column_families_destroy(
        list: *mut *mut c_char,
        len: usize,
    );
    pub fn rocksdb_livefile_create(
    ) -> *mut rocksdb_livefile_t;
    pub fn rocksdb_livefile_destroy(
        options: *mut rocksdb_livefile_t,
    );
    pub fn rocksdb_livefile_set_column_family_name(
        file: *mut rocksdb_livefile_t,
        name: *const c_char,
    );
    pub fn rocksdb_livefile_set_directory(
        file: *mut rocksdb_livefile_t,
        dir: *const c_char,
    );
    pub fn rocksdb_livefile_set_largest_key(
        file: *mut rocksdb_livefile_t,
        key: *const c_char,
        len: usize,
    );
    pub fn rocksdb_livefile_set_largest_seqno(
        file: *mut rocksdb_livefile_t,
        number: u64,
    );
    pub fn rocksdb_livefile_set_level(
        file: *mut rocksdb_livefile_t,
        level: c_int,
    );
    pub fn rocksdb_livefile_set_name(
        file: *mut rocksdb_livefile_t,
        name: *const c_char,
    );
    pub fn rocksdb_livefile_set_num_deletions(
        file: *mut rocksdb_livefile_t,
        number: u64,
    );
    pub fn rocksdb_livefile_set_num_entries(
        file: *mut rocksdb_livefile_t,
        number: u64,
    );
    pub fn rocksdb_livefile_set_size(
        file: *mut rocksdb_livefile_t,
        size: usize,
    );
    pub fn rocksdb_livefile_set_smallest_key(
        file: *mut rocksdb_livefile_t,
        key: *const c_char,
        len: usize,
    );
    pub fn rocksdb_livefile_set_smallest_seqno(
        file: *mut rocksdb_livefile_t,
        number: u64,
    );
    pub fn rocksdb_livefiles(
        db: *mut rocksdb_t,
    ) -> *const rocksdb_livefiles_t;
    pub fn rocksdb_livefiles_add(
        files: *mut rocksdb_livefiles_t,
        file: *mut rocksdb_livefile_t,
    );
    pub fn rocksdb_livefiles_column_family_name(
        files: *const rocksdb_livefiles_t,
        index: c_int,
    ) -> *const c_char;
    pub fn rocksdb_livefiles_count(
        files: *const rocksdb_livefiles_t,
    ) -> c_int;
    pub fn rocksdb_livefiles_create(
    ) -> *mut rocksdb_livefiles_t;
    pub fn rocksdb_livefiles_deletions(
        files: *const rocksdb_livefiles_t,
        index: c_int,
    ) -> u64;
    pub fn rocksdb_livefiles_destroy(
        files: *const rocksdb_livefiles_t,
    );
    pub fn rocksdb_livefiles_directory(
        files: *const rocksdb_livefiles_t,
        index: c_int,
    ) -> *const c_char;
    pub fn rocksdb_livefiles_entries(
        files: *const rocksdb_livefiles_t,
        index: c_int,
    ) -> u64;
    pub fn rocksdb_livefiles_largest_seqno(
        files: *const rocksdb_livefiles_t,
        index: c_int,
    ) -> u64;
    pub fn rocksdb_livefiles_largestkey(
        files: *const rocksdb_livefiles_t,
        index: c_int,
        len: *mut usize,
    ) -> *const c_char;
    pub fn rocksdb_livefiles_level(
        files: *const rocksdb_livefiles_t,
        index: c_int,
    ) -> c_int;
    pub fn rocksdb_livefiles_name(
        files: *const rocksdb_livefiles_t,
        index: c_int,
    ) -> *const c_char;
    pub fn rocksdb_livefiles_size(
        files: *const rocksdb_livefiles_t,
        index: c_int,
    ) -> usize;
    pub fn rocksdb_livefiles_smallest_seqno(
        files: *const rocksdb_livefiles_t,
        index: c_int,
    ) -> u64;
    pub fn rocksdb_livefiles_smallestkey(
        files: *const rocksdb_livefiles_t,
        index: c_int,
        len: *mut usize,
    ) -> *const c_char;
    pub fn rocksdb_load_latest_options(
        path: *const c_char,
        env: *mut rocksdb_env_t,
        ignore_unknown: bool,
        cache: *mut rocksdb_cache_t,
        db_options: *mut *mut rocksdb_options_t,
        len: *mut usize,
        names: *mut *mut *mut c_char,
        family_options: *mut *mut *mut rocksdb_options_t,
        errptr: *mut *mut c_char,
    );
    pub fn rocksdb_load_latest_options_destroy(
        db_options: *mut rocksdb_options_t,
        names: *mut *mut c_char,
        family_options: *mut *mut rocksdb_options_t,
        len: usize,
    );
    pub fn rocksdb_logger_create_callback_logger(
        log_level: c_int,
        log: Option<unsafe extern "C" fn(*mut c_void, c_uint, *mut c_char, usize)>,
        state: *mut c_void,
    ) -> *mut rocksdb_logger_t;
    pub fn rocksdb_logger_create_stderr_logger(
        log_level: c_int,
        prefix: *const c_char,
    ) -> *mut rocksdb_logger_t;
    pub fn rocksdb_logger_destroy(
        logger: *mut rocksdb_logger_t,
    );
    pub fn rocksdb_lru_cache_options_create(
    ) -> *mut rocksdb_lru_cache_options_t;
    pub fn rocksdb_lru_cache_options_destroy(
        options: *mut rocksdb_lru_cache_options_t,
    );
    pub fn rocksdb_lru_cache_options_set_capacity(
        options: *mut rocksdb_lru_cache_options_t,
        value: usize,
    );
    pub fn rocksdb_lru_cache_options_set_memory_allocator(
        options: *mut rocksdb_lru_cache_options_t,
        allocator: *mut rocksdb_memory_allocator_t,
    );
    pub fn rocksdb_lru_cache_options_set_num_shard_bits(
        options: *mut rocksdb_lru_cache_options_t,
        value: c_int,
    );
    pub fn rocksdb_memory_allocator_destroy(
        allocator: *mut rocksdb_memory_allocator_t,
    );
    pub fn rocksdb_memory_consumers_add_cache(
        consumers: *mut rocksdb_memory_consumers_t,
        cache: *mut rocksdb_cache_t,
    );
    pub fn rocksdb_memory_consumers_add_db(
        consumers: *mut rocksdb_memory_consumers_t,
        db: *mut rocksdb_t,
    );
    pub fn rocksdb_memory_consumers_create(
    ) -> *mut rocksdb_memory_consumers_t;
    pub fn rocksdb_memory_consumers_destroy(
        consumers: *mut rocksdb_memory_consumers_t,
    );
    pub fn rocksdb_memtableinfo_cf_name(
        info: *const rocksdb_memtableinfo_t,
        len: *mut usize,
    ) -> *const c_char;
    pub fn rocksdb_memtableinfo_earliest_seqno(
        info: *const rocksdb_memtableinfo_t,
    ) -> u64;
    pub fn rocksdb_memtableinfo_first_seqno(
        info: *const rocksdb_memtableinfo_t,
    ) -> u64;
    pub fn rocksdb_memtableinfo_num_deletes(
        info: *const rocksdb_memtableinfo_t,
    ) -> u64;
    pub fn rocksdb_memtableinfo_num_entries(
        info: *const rocksdb_memtableinfo_t,
    ) -> u64;
    pub fn rocksdb_merge(
        db: *mut rocksdb_t,
        options: *const rocksdb_writeoptions_t,
        key: *const c_char,
        keylen: usize,
        value: *const c_char,
        len: usize,
        errptr: *mut *mut c_char,
    );
    pub fn rocksdb_merge_cf(
        db: *mut rocksdb_t,
        options: *const rocksdb_writeoptions_t,
        handle: *mut rocksdb_column_family_handle_t,
        key: *const c_char,
        keylen: usize,
        value: *const c_char,
        len: usize,
        errptr: *mut *mut c_char,
    );
    pub fn rocksdb_mergeoperator_create(
        state: *mut c_void,
        destructor: Option<unsafe extern "C" fn(*mut c_void)>,
        full: Option<unsafe extern "C" fn(*mut c_void, *const c_char, usize, *const c_char, usize, *const *const c_char, *const usize, c_int, *mut c_uchar, *mut usize) -> *mut c_char>,
        partial: Option<unsafe extern "C" fn(*mut c_void, *const c_char, usize, *const *const c_char, *const usize, c_int, *mut c_uchar, *mut usize) -> *mut c_char>,
        delete_value: Option<unsafe extern "C" fn(*mut c_void, *const c_char, usize)>,
        name: Option<unsafe extern "C" fn(*mut c_void) -> *const c_char>,
    ) -> *mut rocksdb_mergeoperator_t;
    pub fn rocksdb_mergeoperator_destroy(
        merge_operator: *mut rocksdb_mergeoperator_t,
    );
    pub fn rocksdb_multi_get(
        db: *mut rocksdb_t,
        options: *const rocksdb_readoptions_t,
        num: usize,
        keys: *const *const c_char,
        lengths: *const usize,
        values: *mut *mut c_char,
        value_lengths: *mut usize,
        errs: *mut *mut c_char,
    );
    pub fn rocksdb_multi_get_cf(
        db: *mut rocksdb_t,
        options: *const rocksdb_readoptions_t,
        families: *const *const rocksdb_column_family_handle_t,
        num: usize,
        keys: *const *const c_char,
        lengths: *const usize,
        values: *mut *mut c_char,
        value_lengths: *mut usize,
        errs: *mut *mut c_char,
    );
    pub fn rocksdb_multi_get_cf_with_ts(
        db: *mut rocksdb_t,
        options: *const rocksdb_readoptions_t,
        families: *const *const rocksdb_column_family_handle_t,
        num: usize,
        keys: *const *const c_char,
        lengths: *const usize,
        values: *mut *mut c_char,
        value_lengths: *mut usize,
        ts: *mut *mut c_char,
        ts_lengths: *mut usize,
        errs: *mut *mut c_char,
    );
    pub fn rocksdb_multi_get_with_ts(
        db: *mut rocksdb_t,
        options: *const rocksdb_readoptions_t,
        num: usize,
        keys: *const *const c_char,
        lengths: *const usize,
        values: *mut *mut c_char,
        value_lengths: *mut usize,
        ts: *mut *mut c_char,
        ts_lengths: *mut usize,
        errs: *mut *mut c_char,
    );
    pub fn rocksdb_open(
        options: *const rocksdb_options_t,
        name: *const c_char,
        errptr: *mut *mut c_char,
    ) -> *mut rocksdb_t;
    pub fn rocksdb_open_and_compact(
        db: *const c_char,
        output_dir: *const c_char,
        input: *const c_char,
        input_len: usize,
        output_len: *mut usize,
        options: *const rocksdb_compaction_service_options_override_t,
        errptr: *mut *mut c_char,
    ) -> *mut c_char;
    pub fn rocksdb_open_and_compact_canceled_create(
    ) -> *mut c_uchar;
    pub fn rocksdb_open_and_compact_canceled_destroy(
        canceled: *mut c_uchar,
    );
    pub fn rocksdb_open_and_compact_canceled_set(
        canceled: *mut c_uchar,
        value: c_uchar,
    );
    pub fn rocksdb_open_and_compact_options_create(
    ) -> *mut rocksdb_open_and_compact_options_t;
    pub fn rocksdb_open_and_compact_options_destroy(
        options: *mut rocksdb_open_and_compact_options_t,
    );
    pub fn rocksdb_open_and_compact_options_set_allow_resumption(
        options: *mut rocksdb_open_and_compact_options_t,
        allow: c_uchar,
    );
    pub fn rocksdb_open_and_compact_options_set_canceled(
        options: *mut rocksdb_open_and_compact_options_t,
        canceled: *mut c_uchar,
    );
    pub fn rocksdb_open_and_compact_with_options(
        options: *const rocksdb_open_and_compact_options_t,
        db: *const c_char,
        output_dir: *const c_char,
        input: *const c_char,
        input_len: usize,
        output_len: *mut usize,
        options_override: *const rocksdb_compaction_service_options_override_t,
        errptr: *mut *mut c_char,
    ) -> *mut c_char;
    pub fn rocksdb_open_and_trim_history(
        options: *const rocksdb_options_t,
        name: *const c_char,
        len: c_int,
        names: *const *const c_char,
        family_options: *const *const rocksdb_options_t,
        handles: *mut *mut rocksdb_column_family_handle_t,
        ts: *mut c_char,
        tslen: usize,
        errptr: *mut *mut c_char,
    ) -> *mut rocksdb_t;
    pub fn rocksdb_open_as_secondary(
        options: *const rocksdb_options_t,
        name: *const c_char,
        secondary: *const c_char,
        errptr: *mut *mut c_char,
    ) -> *mut rocksdb_t;
    pub fn rocksdb_open_as_secondary_column_families(
        options: *const rocksdb_options_t,
        name: *const c_char,
        secondary: *const c_char,
        len: c_int,
        names: *const *const c_char,
        family_options: *const *const rocksdb_options_t,
        handles: *mut *mut rocksdb_column_family_handle_t,
        errptr: *mut *mut c_char,
    ) -> *mut rocksdb_t;
    pub fn rocksdb_open_column_families(
        options: *const rocksdb_options_t,
        name: *const c_char,
        len: c_int,
        names: *const *const c_char,
        family_options: *const *const rocksdb_options_t,
        handles: *mut *mut rocksdb_column_family_handle_t,
        errptr: *mut *mut c_char,
    ) -> *mut rocksdb_t;
    pub fn rocksdb_open_column_families_with_ttl(
        options: *const rocksdb_options_t,
        name: *const c_char,
        len: c_int,
        names: *const *const c_char,
        family_options: *const *const rocksdb_options_t,
        handles: *mut *mut rocksdb_column_family_handle_t,
        ttls: *const c_int,
        errptr: *mut *mut c_char,
    ) -> *mut rocksdb_t;
    pub fn rocksdb_open_for_read_only(
        options: *const rocksdb_options_t,
        name: *const c_char,
        error_if_wal_file_exists: c_uchar,
        errptr: *mut *mut c_char,
    ) -> *mut rocksdb_t;
    pub fn rocksdb_open_for_read_only_column_families(
        options: *const rocksdb_options_t,
        name: *const c_char,
        len: c_int,
        names: *const *const c_char,
        family_options: *const *const rocksdb_options_t,
        handles: *mut *mut rocksdb_column_family_handle_t,
        error_if_wal_file_exists: c_uchar,
        errptr: *mut *mut c_char,
    ) -> *mut rocksdb_t;
    pub fn rocksdb_open_with_ttl(
        options: *const rocksdb_options_t,
        name: *const c_char,
        seconds: c_int,
        errptr: *mut *mut c_char,
    ) -> *mut rocksdb_t;
    pub fn rocksdb_optimistictransaction_begin(
        db: *mut rocksdb_optimistictransactiondb_t,
        write: *const rocksdb_writeoptions_t,
        options: *const rocksdb_optimistictransaction_options_t,
        old: *mut rocksdb_transaction_t,
    ) -> *mut rocksdb_transaction_t;
    pub fn rocksdb_optimistictransaction_options_create(
    ) -> *mut rocksdb_optimistictransaction_options_t;
    pub fn rocksdb_optimistictransaction_options_destroy(
        options: *mut rocksdb_optimistictransaction_options_t,
    );
    pub fn rocksdb_optimistictransaction_options_set_set_snapshot(
        options: *mut rocksdb_optimistictransaction_options_t,
        value: c_uchar,
    );
    pub fn rocksdb_optimistictransactiondb_checkpoint_object_create(
        db: *mut rocksdb_optimistictransactiondb_t,
        errptr: *mut *mut c_char,
    ) -> *mut rocksdb_checkpoint_t;
    pub fn rocksdb_optimistictransactiondb_close(
        db: *mut rocksdb_optimistictransactiondb_t,
    );
    pub fn rocksdb_optimistictransactiondb_close_base_db(
        base: *mut rocksdb_t,
    );
    pub fn rocksdb_optimistictransactiondb_get_base_db(
        db: *mut rocksdb_optimistictransactiondb_t,
    ) -> *mut rocksdb_t;
    pub fn rocksdb_optimistictransactiondb_open(
        options: *const rocksdb_options_t,
        name: *const c_char,
        errptr: *mut *mut c_char,
    ) -> *mut rocksdb_optimistictransactiondb_t;
    pub fn rocksdb_optimistictransactiondb_open_column_families(
        options: *const rocksdb_options_t,
        name: *const c_char,
        len: c_int,
        names: *const *const c_char,
        family_options: *const *const rocksdb_options_t,
        handles: *mut *mut rocksdb_column_family_handle_t,
        errptr: *mut *mut c_char,
    ) -> *mut rocksdb_optimistictransactiondb_t;
    pub fn rocksdb_optimistictransactiondb_property_int(
        db: *mut rocksdb_optimistictransactiondb_t,
        name: *const c_char,
        out: *mut u64,
    ) -> c_int;
    pub fn rocksdb_optimistictransactiondb_property_value(
        db: *mut rocksdb_optimistictransactiondb_t,
        name: *const c_char,
    ) -> *mut c_char;
    pub fn rocksdb_optimistictransactiondb_write(
        db: *mut rocksdb_optimistictransactiondb_t,
        options: *const rocksdb_writeoptions_t,
        batch: *mut rocksdb_writebatch_t,
        errptr: *mut *mut c_char,
    );
    pub fn rocksdb_options_add_compact_on_deletion_collector_factory(
        options: *mut rocksdb_options_t,
        window: usize,
        deletions: usize,
    );
    pub fn rocksdb_options_add_compact_on_deletion_collector_factory_del_ratio(
        options: *mut rocksdb_options_t,
        window: usize,
        deletions: usize,
        ratio: f64,
    );
    pub fn rocksdb_options_add_compact_on_deletion_collector_factory_min_file_size(
        options: *mut rocksdb_options_t,
        window: usize,
        deletions: usize,
        ratio: f64,
        min_file_size: u64,
    );
    pub fn rocksdb_options_add_eventlistener(
        options: *mut rocksdb_options_t,
        listener: *mut rocksdb_eventlistener_t,
    );
    pub fn rocksdb_options_add_table_properties_collector_factory(
        options: *mut rocksdb_options_t,
        factory: *mut rocksdb_table_properties_collector_factory_t,
    );
    pub fn rocksdb_options_compaction_readahead_size(
        options: *mut rocksdb_options_t,
        value: usize,
    );
    pub fn rocksdb_options_create(
    ) -> *mut rocksdb_options_t;
    pub fn rocksdb_options_create_copy(
        options: *mut rocksdb_options_t,
    ) -> *mut rocksdb_options_t;
    pub fn rocksdb_options_destroy(
        options: *mut rocksdb_options_t,
    );
    pub fn rocksdb_options_enable_statistics(
        options: *mut rocksdb_options_t,
    );
    pub fn rocksdb_options_get_WAL_size_limit_MB(
        options: *mut rocksdb_options_t,
    ) -> u64;
    pub fn rocksdb_options_get_WAL_ttl_seconds(
        options: *mut rocksdb_options_t,
    ) -> u64;
    pub fn rocksdb_options_get_access_hint_on_compaction_start(
        options: *mut rocksdb_options_t,
    ) -> c_int;
    pub fn rocksdb_options_get_advise_random_on_open(
        options: *mut rocksdb_options_t,
    ) -> c_uchar;
    pub fn rocksdb_options_get_allow_concurrent_memtable_write(
        options: *mut rocksdb_options_t,
    ) -> c_uchar;
    pub fn rocksdb_options_get_allow_ingest_behind(
        options: *mut rocksdb_options_t,
    ) -> c_uchar;
    pub fn rocksdb_options_get_allow_mmap_reads(
        options: *mut rocksdb_options_t,
    ) -> c_uchar;
    pub fn rocksdb_options_get_allow_mmap_writes(
        options: *mut rocksdb_options_t,
    ) -> c_uchar;
    pub fn rocksdb_options_get_arena_block_size(
        options: *mut rocksdb_options_t,
    ) -> usize;
    pub fn rocksdb_options_get_atomic_flush(
        options: *mut rocksdb_options_t,
    ) -> c_uchar;
    pub fn rocksdb_options_get_avoid_unnecessary_blocking_io(
        options: *mut rocksdb_options_t,
    ) -> c_uchar;
    pub fn rocksdb_options_get_blob_compaction_readahead_size(
        options: *mut rocksdb_options_t,
    ) -> u64;
    pub fn rocksdb_options_get_blob_compression_type(
        options: *mut rocksdb_options_t,
    ) -> c_int;
    pub fn rocksdb_options_get_blob_file_size(
        options: *mut rocksdb_options_t,
    ) -> u64;
    pub fn rocksdb_options_get_blob_file_starting_level(
        options: *mut rocksdb_options_t,
    ) -> c_int;
    pub fn rocksdb_options_get_blob_gc_age_cutoff(
        options: *mut rocksdb_options_t,
    ) -> f64;
    pub fn rocksdb_options_get_blob_gc_force_threshold(
        options: *mut rocksdb_options_t,
    ) -> f64;
    pub fn rocksdb_options_get_bloom_locality(
        options: *mut rocksdb_options_t,
    ) -> u32;
    pub fn rocksdb_options_get_bottommost_compression(
        options: *mut rocksdb_options_t,
    ) -> c_int;
    pub fn rocksdb_options_get_bottommost_compression_options_use_zstd_dict_trainer(
        options: *mut rocksdb_options_t,
    ) -> c_uchar;
    pub fn rocksdb_options_get_bytes_per_sync(
        options: *mut rocksdb_options_t,
    ) -> u64;
    pub fn rocksdb_options_get_compaction_pri(
        options: *mut rocksdb_options_t,
    ) -> c_int;
    pub fn rocksdb_options_get_compaction_readahead_size(
        options: *mut rocksdb_options_t,
    ) -> usize;
    pub fn rocksdb_options_get_compaction_style(
        options: *mut rocksdb_options_t,
    ) -> c_int;
    pub fn rocksdb_options_get_compression(
        options: *mut rocksdb_options_t,
    ) -> c_int;
    pub fn rocksdb_options_get_compression_options_max_dict_buffer_bytes(
        options: *mut rocksdb_options_t,
    ) -> u64;
    pub fn rocksdb_options_get_compression_options_parallel_threads(
        options: *mut rocksdb_options_t,
    ) -> c_int;
    pub fn rocksdb_options_get_compression_options_use_zstd_dict_trainer(
        options: *mut rocksdb_options_t,
    ) -> c_uchar;
    pub fn rocksdb_options_get_compression_options_zstd_max_train_bytes(
        options: *mut rocksdb_options_t,
    ) -> c_int;
    pub fn rocksdb_options_get_create_if_missing(
        options: *mut rocksdb_options_t,
    ) -> c_uchar;
    pub fn rocksdb_options_get_create_missing_column_families(
        options: *mut rocksdb_options_t,
    ) -> c_uchar;
    pub fn rocksdb_options_get_db_write_buffer_size(
        options: *mut rocksdb_options_t,
    ) -> usize;
    pub fn rocksdb_options_get_delete_obsolete_files_period_micros(
        options: *mut rocksdb_options_t,
    ) -> u64;
    pub fn rocksdb_options_get_disable_auto_compactions(
        options: *mut rocksdb_options_t,
    ) -> c_uchar;
    pub fn rocksdb_options_get_enable_blob_files(
        options: *mut rocksdb_options_t,
    ) -> c_uchar;
    pub fn rocksdb_options_get_enable_blob_gc(
        options: *mut rocksdb_options_t,
    ) -> c_uchar;
    pub fn rocksdb_options_get_enable_pipelined_write(
        options: *mut rocksdb_options_t,
    ) -> c_uchar;
    pub fn rocksdb_options_get_enable_write_thread_adaptive_yield(
        options: *mut rocksdb_options_t,
    ) -> c_uchar;
    pub fn rocksdb_options_get_error_if_exists(
        options: *mut rocksdb_options_t,
    ) -> c_uchar;
    pub fn rocksdb_options_get_experimental_mempurge_threshold(
        options: *mut rocksdb_options_t,
    ) -> f64;
    pub fn rocksdb_options_get_hard_pending_compaction_bytes_limit(
        options: *mut rocksdb_options_t,
    ) -> usize;
    pub fn rocksdb_options_get_info_log(
        options: *mut rocksdb_options_t,
    ) -> *mut rocksdb_logger_t;
    pub fn rocksdb_options_get_info_log_level(
        options: *mut rocksdb_options_t,
    ) -> c_int;
    pub fn rocksdb_options_get_inplace_update_num_locks(
        options: *mut rocksdb_options_t,
    ) -> usize;
    pub fn rocksdb_options_get_inplace_update_support(
        options: *mut rocksdb_options_t,
    ) -> c_uchar;
    pub fn rocksdb_options_get_is_fd_close_on_exec(
        options: *mut rocksdb_options_t,
    ) -> c_uchar;
    pub fn rocksdb_options_get_keep_log_file_num(
        options: *mut rocksdb_options_t,
    ) -> usize;
    pub fn rocksdb_options_get_level0_file_num_compaction_trigger(
        options: *mut rocksdb_options_t,
    ) -> c_int;
    pub fn rocksdb_options_get_level0_slowdown_writes_trigger(
        options: *mut rocksdb_options_t,
    ) -> c_int;
    pub fn rocksdb_options_get_level0_stop_writes_trigger(
        options: *mut rocksdb_options_t,
    ) -> c_int;
    pub fn rocksdb_options_get_level_compaction_dynamic_level_bytes(
        options: *mut rocksdb_options_t,
    ) -> c_uchar;
    pub fn rocksdb_options_get_log_file_time_to_roll(
        options: *mut rocksdb_options_t,
    ) -> usize;
    pub fn rocksdb_options_get_manifest_preallocation_size(
        options: *mut rocksdb_options_t,
    ) -> usize;
    pub fn rocksdb_options_get_manual_wal_flush(
        options: *mut rocksdb_options_t,
    ) -> c_uchar;
    pub fn rocksdb_options_get_max_background_compactions(
        options: *mut rocksdb_options_t,
    ) -> c_int;
    pub fn rocksdb_options_get_max_background_flushes(
        options: *mut rocksdb_options_t,
    ) -> c_int;
    pub fn rocksdb_options_get_max_background_jobs(
        options: *mut rocksdb_options_t,
    ) -> c_int;
    pub fn rocksdb_options_get_max_bytes_for_level_base(
        options: *mut rocksdb_options_t,
    ) -> u64;
    pub fn rocksdb_options_get_max_bytes_for_level_multiplier(
        options: *mut rocksdb_options_t,
    ) -> f64;
    pub fn rocksdb_options_get_max_compaction_bytes(
        options: *mut rocksdb_options_t,
    ) -> u64;
    pub fn rocksdb_options_get_max_file_opening_threads(
        options: *mut rocksdb_options_t,
    ) -> c_int;
    pub fn rocksdb_options_get_max_log_file_size(
        options: *mut rocksdb_options_t,
    ) -> usize;
    pub fn rocksdb_options_get_max_manifest_file_size(
        options: *mut rocksdb_options_t,
    ) -> usize;
    pub fn rocksdb_options_get_max_open_files(
        options: *mut rocksdb_options_t,
    ) -> c_int;
    pub fn rocksdb_options_get_max_sequential_skip_in_iterations(
        options: *mut rocksdb_options_t,
    ) -> u64;
    pub fn rocksdb_options_get_max_subcompactions(
        options: *mut rocksdb_options_t,
    ) -> u32;
    pub fn rocksdb_options_get_max_successive_merges(
        options: *mut rocksdb_options_t,
    ) -> usize;
    pub fn rocksdb_options_get_max_total_wal_size(
        options: *mut rocksdb_options_t,
    ) -> u64;
    pub fn rocksdb_options_get_max_write_buffer_number(
        options: *mut rocksdb_options_t,
    ) -> c_int;
    pub fn rocksdb_options_get_max_write_buffer_number_to_maintain(
        options: *mut rocksdb_options_t,
    ) -> c_int;
    pub fn rocksdb_options_get_max_write_buffer_size_to_maintain(
        options: *mut rocksdb_options_t,
    ) -> i64;
    pub fn rocksdb_options_get_memtable_avg_op_scan_flush_trigger(
        options: *mut rocksdb_options_t,
    ) -> u32;
    pub fn rocksdb_options_get_memtable_huge_page_size(
        options: *mut rocksdb_options_t,
    ) -> usize;
    pub fn rocksdb_options_get_memtable_op_scan_flush_trigger(
        options: *mut rocksdb_options_t,
    ) -> u32;
    pub fn rocksdb_options_get_memtable_prefix_bloom_size_ratio(
        options: *mut rocksdb_options_t,
    ) -> f64;
    pub fn rocksdb_options_get_min_blob_size(
        options: *mut rocksdb_options_t,
    ) -> u64;
    pub fn rocksdb_options_get_min_write_buffer_number_to_merge(
        options: *mut rocksdb_options_t,
    ) -> c_int;
    pub fn rocksdb_options_get_num_levels(
        options: *mut rocksdb_options_t,
    ) -> c_int;
    pub fn rocksdb_options_get_open_files_async(
        options: *mut rocksdb_options_t,
    ) -> c_uchar;
    pub fn rocksdb_options_get_optimize_filters_for_hits(
        options: *mut rocksdb_options_t,
    ) -> c_uchar;
    pub fn rocksdb_options_get_paranoid_checks(
        options: *mut rocksdb_options_t,
    ) -> c_uchar;
    pub fn rocksdb_options_get_periodic_compaction_seconds(
        options: *mut rocksdb_options_t,
    ) -> u64;
    pub fn rocksdb_options_get_prepopulate_blob_cache(
        options: *mut rocksdb_options_t,
    ) -> c_int;
    pub fn rocksdb_options_get_recycle_log_file_num(
        options: *mut rocksdb_options_t,
    ) -> usize;
    pub fn rocksdb_options_get_report_bg_io_stats(
        options: *mut rocksdb_options_t,
    ) -> c_uchar;
    pub fn rocksdb_options_get_skip_checking_sst_file_sizes_on_db_open(
        options: *mut rocksdb_options_t,
    ) -> c_uchar;
    pub fn rocksdb_options_get_skip_stats_update_on_db_open(
        options: *mut rocksdb_options_t,
    ) -> c_uchar;
    pub fn rocksdb_options_get_soft_pending_compaction_bytes_limit(
        options: *mut rocksdb_options_t,
    ) -> usize;
    pub fn rocksdb_options_get_statistics_level(
        options: *mut rocksdb_options_t,
    ) -> c_int;
    pub fn rocksdb_options_get_stats_dump_period_sec(
        options: *mut rocksdb_options_t,
    ) -> u32;
    pub fn rocksdb_options_get_stats_persist_period_sec(
        options: *mut rocksdb_options_t,
    ) -> u32;
    pub fn rocksdb_options_get_table_cache_numshardbits(
        options: *mut rocksdb_options_t,
    ) -> c_int;
    pub fn rocksdb_options_get_target_file_size_base(
        options: *mut rocksdb_options_t,
    ) -> u64;
    pub fn rocksdb_options_get_target_file_size_multiplier(
        options: *mut rocksdb_options_t,
    ) -> c_int;
    pub fn rocksdb_options_get_track_and_verify_wals_in_manifest(
        options: *mut rocksdb_options_t,
    ) -> c_uchar;
    pub fn rocksdb_options_get_ttl(
        options: *mut rocksdb_options_t,
    ) -> u64;
    pub fn rocksdb_options_get_unordered_write(
        options: *mut rocksdb_options_t,
    ) -> c_uchar;
    pub fn rocksdb_options_get_use_adaptive_mutex(
        options: *mut rocksdb_options_t,
    ) -> c_uchar;
    pub fn rocksdb_options_get_use_direct_io_for_flush_and_compaction(
        options: *mut rocksdb_options_t,
    ) -> c_uchar;
    pub fn rocksdb_options_get_use_direct_reads(
        options: *mut rocksdb_options_t,
    ) -> c_uchar;
    pub fn rocksdb_options_get_use_fsync(
        options: *mut rocksdb_options_t,
    ) -> c_int;
    pub fn rocksdb_options_get_wal_bytes_per_sync(
        options: *mut rocksdb_options_t,
    ) -> u64;
    pub fn rocksdb_options_get_wal_compression(
        options: *mut rocksdb_options_t,
    ) -> c_int;
    pub fn rocksdb_options_get_wal_recovery_mode(
        options: *mut rocksdb_options_t,
    ) -> c_int;
    pub fn rocksdb_options_get_writable_file_max_buffer_size(
        options: *mut rocksdb_options_t,
    ) -> u64;
    pub fn rocksdb_options_get_write_buffer_size(
        options: *mut rocksdb_options_t,
    ) -> usize;
    pub fn rocksdb_options_get_write_dbid_to_manifest(
        options: *mut rocksdb_options_t,
    ) -> c_uchar;
    pub fn rocksdb_options_get_write_identity_file(
        options: *mut rocksdb_options_t,
    ) -> c_uchar;
    pub fn rocksdb_options_increase_parallelism(
        options: *mut rocksdb_options_t,
        n: c_int,
    );
    pub fn rocksdb_options_optimize_for_point_lookup(
        options: *mut rocksdb_options_t,
        block_cache_mb: u64,
    );
    pub fn rocksdb_options_optimize_level_style_compaction(
        options: *mut rocksdb_options_t,
        budget: u64,
    );
    pub fn rocksdb_options_optimize_universal_style_compaction(
        options: *mut rocksdb_options_t,
        budget: u64,
    );
    pub fn rocksdb_options_prepare_for_bulk_load(
        options: *mut rocksdb_options_t,
    );
    pub fn rocksdb_options_set_WAL_size_limit_MB(
        options: *mut rocksdb_options_t,
        value: u64,
    );
    pub fn rocksdb_options_set_WAL_ttl_seconds(
        options: *mut rocksdb_options_t,
        value: u64,
    );
    pub fn rocksdb_options_set_access_hint_on_compaction_start(
        options: *mut rocksdb_options_t,
        value: c_int,
    );
    pub fn rocksdb_options_set_advise_random_on_open(
        options: *mut rocksdb_options_t,
        value: c_uchar,
    );
    pub fn rocksdb_options_set_allow_concurrent_memtable_write(
        options: *mut rocksdb_options_t,
        value: c_uchar,
    );
    pub fn rocksdb_options_set_allow_ingest_behind(
        options: *mut rocksdb_options_t,
        value: c_uchar,
    );
    pub fn rocksdb_options_set_allow_mmap_reads(
        options: *mut rocksdb_options_t,
        value: c_uchar,
    );
    pub fn rocksdb_options_set_allow_mmap_writes(
        options: *mut rocksdb_options_t,
        value: c_uchar,
    );
    pub fn rocksdb_options_set_arena_block_size(
        options: *mut rocksdb_options_t,
        value: usize,
    );
    pub fn rocksdb_options_set_atomic_flush(
        options: *mut rocksdb_options_t,
        value: c_uchar,
    );
    pub fn rocksdb_options_set_avoid_unnecessary_blocking_io(
        options: *mut rocksdb_options_t,
        value: c_uchar,
    );
    pub fn rocksdb_options_set_blob_cache(
        options: *mut rocksdb_options_t,
        cache: *mut rocksdb_cache_t,
    );
    pub fn rocksdb_options_set_blob_compaction_readahead_size(
        options: *mut rocksdb_options_t,
        value: u64,
    );
    pub fn rocksdb_options_set_blob_compression_type(
        options: *mut rocksdb_options_t,
        value: c_int,
    );
    pub fn rocksdb_options_set_blob_file_size(
        options: *mut rocksdb_options_t,
        value: u64,
    );
    pub fn rocksdb_options_set_blob_file_starting_level(
        options: *mut rocksdb_options_t,
        value: c_int,
    );
    pub fn rocksdb_options_set_blob_gc_age_cutoff(
        options: *mut rocksdb_options_t,
        value: f64,
    );
    pub fn rocksdb_options_set_blob_gc_force_threshold(
        options: *mut rocksdb_options_t,
        value: f64,
    );
    pub fn rocksdb_options_set_block_based_table_factory(
        options: *mut rocksdb_options_t,
        table: *mut rocksdb_block_based_table_options_t,
    );
    pub fn rocksdb_options_set_bloom_locality(
        options: *mut rocksdb_options_t,
        value: u32,
    );
    pub fn rocksdb_options_set_bottommost_compression(
        options: *mut rocksdb_options_t,
        value: c_int,
    );
    pub fn rocksdb_options_set_bottommost_compression_options(
        options: *mut rocksdb_options_t,
        window_bits: c_int,
        level: c_int,
        strategy: c_int,
        max_dict_bytes: c_int,
        enabled: c_uchar,
    );
    pub fn rocksdb_options_set_bottommost_compression_options_max_dict_buffer_bytes(
        options: *mut rocksdb_options_t,
        bytes: u64,
        enabled: c_uchar,
    );
    pub fn rocksdb_options_set_bottommost_compression_options_use_zstd_dict_trainer(
        options: *mut rocksdb_options_t,
        trainer: c_uchar,
        enabled: c_uchar,
    );
    pub fn rocksdb_options_set_bottommost_compression_options_zstd_max_train_bytes(
        options: *mut rocksdb_options_t,
        bytes: c_int,
        enabled: c_uchar,
    );
    pub fn rocksdb_options_set_bytes_per_sync(
        options: *mut rocksdb_options_t,
        value: u64,
    );
    pub fn rocksdb_options_set_cf_paths(
        options: *mut rocksdb_options_t,
        paths: *mut *const rocksdb_dbpath_t,
        len: usize,
    );
    pub fn rocksdb_options_set_compaction_filter(
        options: *mut rocksdb_options_t,
        filter: *mut rocksdb_compactionfilter_t,
    );
    pub fn rocksdb_options_set_compaction_filter_factory(
        options: *mut rocksdb_options_t,
        factory: *mut rocksdb_compactionfilterfactory_t,
    );
    pub fn rocksdb_options_set_compaction_pri(
        options: *mut rocksdb_options_t,
        value: c_int,
    );
    pub fn rocksdb_options_set_compaction_service(
        options: *mut rocksdb_options_t,
        service: *mut rocksdb_compactionservice_t,
    );
    pub fn rocksdb_options_set_compaction_style(
        options: *mut rocksdb_options_t,
        value: c_int,
    );
    pub fn rocksdb_options_set_comparator(
        options: *mut rocksdb_options_t,
        comparator: *mut rocksdb_comparator_t,
    );
    pub fn rocksdb_options_set_compression(
        options: *mut rocksdb_options_t,
        value: c_int,
    );
    pub fn rocksdb_options_set_compression_options(
        options: *mut rocksdb_options_t,
        window_bits: c_int,
        level: c_int,
        strategy: c_int,
        max_dict_bytes: c_int,
    );
    pub fn rocksdb_options_set_compression_options_max_dict_buffer_bytes(
        options: *mut rocksdb_options_t,
        value: u64,
    );
    pub fn rocksdb_options_set_compression_options_parallel_threads(
        options: *mut rocksdb_options_t,
        value: c_int,
    );
    pub fn rocksdb_options_set_compression_options_use_zstd_dict_trainer(
        options: *mut rocksdb_options_t,
        value: c_uchar,
    );
    pub fn rocksdb_options_set_compression_options_zstd_max_train_bytes(
        options: *mut rocksdb_options_t,
        value: c_int,
    );
    pub fn rocksdb_options_set_compression_per_level(
        options: *mut rocksdb_options_t,
        levels: *const c_int,
        len: usize,
    );
    pub fn rocksdb_options_set_create_if_missing(
        options: *mut rocksdb_options_t,
        value: c_uchar,
    );
    pub fn rocksdb_options_set_create_missing_column_families(
        options: *mut rocksdb_options_t,
        value: c_uchar,
    );
    pub fn rocksdb_options_set_cuckoo_table_factory(
        options: *mut rocksdb_options_t,
        table: *mut rocksdb_cuckoo_table_options_t,
    );
    pub fn rocksdb_options_set_db_log_dir(
        options: *mut rocksdb_options_t,
        dir: *const c_char,
    );
    pub fn rocksdb_options_set_db_paths(
        options: *mut rocksdb_options_t,
        paths: *mut *const rocksdb_dbpath_t,
        len: usize,
    );
    pub fn rocksdb_options_set_db_write_buffer_size(
        options: *mut rocksdb_options_t,
        value: usize,
    );
    pub fn rocksdb_options_set_delete_obsolete_files_period_micros(
        options: *mut rocksdb_options_t,
        value: u64,
    );
    pub fn rocksdb_options_set_disable_auto_compactions(
        options: *mut rocksdb_options_t,
        value: c_int,
    );
    pub fn rocksdb_options_set_dump_malloc_stats(
        options: *mut rocksdb_options_t,
        value: c_uchar,
    );
    pub fn rocksdb_options_set_enable_blob_files(
        options: *mut rocksdb_options_t,
        value: c_uchar,
    );
    pub fn rocksdb_options_set_enable_blob_gc(
        options: *mut rocksdb_options_t,
        value: c_uchar,
    );
    pub fn rocksdb_options_set_enable_pipelined_write(
        options: *mut rocksdb_options_t,
        value: c_uchar,
    );
    pub fn rocksdb_options_set_enable_write_thread_adaptive_yield(
        options: *mut rocksdb_options_t,
        value: c_uchar,
    );
    pub fn rocksdb_options_set_env(
        options: *mut rocksdb_options_t,
        env: *mut rocksdb_env_t,
    );
    pub fn rocksdb_options_set_error_if_exists(
        options: *mut rocksdb_options_t,
        value: c_uchar,
    );
    pub fn rocksdb_options_set_experimental_mempurge_threshold(
        options: *mut rocksdb_options_t,
        value: f64,
    );
    pub fn rocksdb_options_set_fifo_compaction_options(
        options: *mut rocksdb_options_t,
        fifo: *mut rocksdb_fifo_compaction_options_t,
    );
    pub fn rocksdb_options_set_file_checksum_gen_factory(
        options: *mut rocksdb_options_t,
        factory: *mut rocksdb_file_checksum_gen_factory_t,
    );
    pub fn rocksdb_options_set_hard_pending_compaction_bytes_limit(
        options: *mut rocksdb_options_t,
        value: usize,
    );
    pub fn rocksdb_options_set_hash_link_list_rep(
        options: *mut rocksdb_options_t,
        bucket_count: usize,
    );
    pub fn rocksdb_options_set_hash_skip_list_rep(
        options: *mut rocksdb_options_t,
        bucket_count: usize,
        height: c_int,
        branching_factor: c_int,
    );
    pub fn rocksdb_options_set_info_log(
        options: *mut rocksdb_options_t,
        logger: *mut rocksdb_logger_t,
    );
    pub fn rocksdb_options_set_info_log_level(
        options: *mut rocksdb_options_t,
        value: c_int,
    );
    pub fn rocksdb_options_set_inplace_update_num_locks(
        options: *mut rocksdb_options_t,
        value: usize,
    );
    pub fn rocksdb_options_set_inplace_update_support(
        options: *mut rocksdb_options_t,
        value: c_uchar,
    );
    pub fn rocksdb_options_set_is_fd_close_on_exec(
        options: *mut rocksdb_options_t,
        value: c_uchar,
    );
    pub fn rocksdb_options_set_keep_log_file_num(
        options: *mut rocksdb_options_t,
        value: usize,
    );
    pub fn rocksdb_options_set_level0_file_num_compaction_trigger(
        options: *mut rocksdb_options_t,
        value: c_int,
    );
    pub fn rocksdb_options_set_level0_slowdown_writes_trigger(
        options: *mut rocksdb_options_t,
        value: c_int,
    );
    pub fn rocksdb_options_set_level0_stop_writes_trigger(
        options: *mut rocksdb_options_t,
        value: c_int,
    );
    pub fn rocksdb_options_set_level_compaction_dynamic_level_bytes(
        options: *mut rocksdb_options_t,
        value: c_uchar,
    );
    pub fn rocksdb_options_set_log_file_time_to_roll(
        options: *mut rocksdb_options_t,
        value: usize,
    );
    pub fn rocksdb_options_set_manifest_preallocation_size(
        options: *mut rocksdb_options_t,
        value: usize,
    );
    pub fn rocksdb_options_set_manual_wal_flush(
        options: *mut rocksdb_options_t,
        value: c_uchar,
    );
    pub fn rocksdb_options_set_max_background_compactions(
        options: *mut rocksdb_options_t,
        value: c_int,
    );
    pub fn rocksdb_options_set_max_background_flushes(
        options: *mut rocksdb_options_t,
        value: c_int,
    );
    pub fn rocksdb_options_set_max_background_jobs(
        options: *mut rocksdb_options_t,
        value: c_int,
    );
    pub fn rocksdb_options_set_max_bytes_for_level_base(
        options: *mut rocksdb_options_t,
        value: u64,
    );
    pub fn rocksdb_options_set_max_bytes_for_level_multiplier(
        options: *mut rocksdb_options_t,
        value: f64,
    );
    pub fn rocksdb_options_set_max_bytes_for_level_multiplier_additional(
        options: *mut rocksdb_options_t,
        values: *mut c_int,
        len: usize,
    );
    pub fn rocksdb_options_set_max_compaction_bytes(
        options: *mut rocksdb_options_t,
        value: u64,
    );
    pub fn rocksdb_options_set_max_file_opening_threads(
        options: *mut rocksdb_options_t,
        value: c_int,
    );
    pub fn rocksdb_options_set_max_log_file_size(
        options: *mut rocksdb_options_t,
        value: usize,
    );
    pub fn rocksdb_options_set_max_manifest_file_size(
        options: *mut rocksdb_options_t,
        value: usize,
    );
    pub fn rocksdb_options_set_max_open_files(
        options: *mut rocksdb_options_t,
        value: c_int,
    );
    pub fn rocksdb_options_set_max_sequential_skip_in_iterations(
        options: *mut rocksdb_options_t,
        value: u64,
    );
    pub fn rocksdb_options_set_max_subcompactions(
        options: *mut rocksdb_options_t,
        value: u32,
    );
    pub fn rocksdb_options_set_max_successive_merges(
        options: *mut rocksdb_options_t,
        value: usize,
    );
    pub fn rocksdb_options_set_max_total_wal_size(
        options: *mut rocksdb_options_t,
        value: u64,
    );
    pub fn rocksdb_options_set_max_write_buffer_number(
        options: *mut rocksdb_options_t,
        value: c_int,
    );
    pub fn rocksdb_options_set_max_write_buffer_number_to_maintain(
        options: *mut rocksdb_options_t,
        value: c_int,
    );
    pub fn rocksdb_options_set_max_write_buffer_size_to_maintain(
        options: *mut rocksdb_options_t,
        value: i64,
    );
    pub fn rocksdb_options_set_memtable_avg_op_scan_flush_trigger(
        options: *mut rocksdb_options_t,
        value: u32,
    );
    pub fn rocksdb_options_set_memtable_huge_page_size(
        options: *mut rocksdb_options_t,
        value: usize,
    );
    pub fn rocksdb_options_set_memtable_op_scan_flush_trigger(
        options: *mut rocksdb_options_t,
        value: u32,
    );
    pub fn rocksdb_options_set_memtable_prefix_bloom_size_ratio(
        options: *mut rocksdb_options_t,
        value: f64,
    );
    pub fn rocksdb_options_set_memtable_vector_rep(
        options: *mut rocksdb_options_t,
    );
    pub fn rocksdb_options_set_memtable_whole_key_filtering(
        options: *mut rocksdb_options_t,
        value: c_uchar,
    );
    pub fn rocksdb_options_set_merge_operator(
        options: *mut rocksdb_options_t,
        merge_operator: *mut rocksdb_mergeoperator_t,
    );
    pub fn rocksdb_options_set_min_blob_size(
        options: *mut rocksdb_options_t,
        value: u64,
    );
    pub fn rocksdb_options_set_min_level_to_compress(
        options: *mut rocksdb_options_t,
        level: c_int,
    );
    pub fn rocksdb_options_set_min_write_buffer_number_to_merge(
        options: *mut rocksdb_options_t,
        value: c_int,
    );
    pub fn rocksdb_options_set_num_levels(
        options: *mut rocksdb_options_t,
        value: c_int,
    );
    pub fn rocksdb_options_set_open_files_async(
        options: *mut rocksdb_options_t,
        value: c_uchar,
    );
    pub fn rocksdb_options_set_optimize_filters_for_hits(
        options: *mut rocksdb_options_t,
        value: c_int,
    );
    pub fn rocksdb_options_set_paranoid_checks(
        options: *mut rocksdb_options_t,
        value: c_uchar,
    );
    pub fn rocksdb_options_set_periodic_compaction_seconds(
        options: *mut rocksdb_options_t,
        value: u64,
    );
    pub fn rocksdb_options_set_plain_table_factory(
        options: *mut rocksdb_options_t,
        user_key_length: u32,
        bloom_bits_per_key: c_int,
        hash_table_ratio: f64,
        index_sparseness: usize,
        huge_page_tlb_size: usize,
        encoding: c_char,
        full_scan_mode: c_uchar,
        store_index_in_file: c_uchar,
    );
    pub fn rocksdb_options_set_prefix_extractor(
        options: *mut rocksdb_options_t,
        transform: *mut rocksdb_slicetransform_t,
    );
    pub fn rocksdb_options_set_prepopulate_blob_cache(
        options: *mut rocksdb_options_t,
        value: c_int,
    );
    pub fn rocksdb_options_set_ratelimiter(
        options: *mut rocksdb_options_t,
        limiter: *mut rocksdb_ratelimiter_t,
    );
    pub fn rocksdb_options_set_recycle_log_file_num(
        options: *mut rocksdb_options_t,
        value: usize,
    );
    pub fn rocksdb_options_set_report_bg_io_stats(
        options: *mut rocksdb_options_t,
        value: c_int,
    );
    pub fn rocksdb_options_set_row_cache(
        options: *mut rocksdb_options_t,
        cache: *mut rocksdb_cache_t,
    );
    pub fn rocksdb_options_set_skip_checking_sst_file_sizes_on_db_open(
        options: *mut rocksdb_options_t,
        value: c_uchar,
    );
    pub fn rocksdb_options_set_skip_stats_update_on_db_open(
        options: *mut rocksdb_options_t,
        value: c_uchar,
    );
    pub fn rocksdb_options_set_soft_pending_compaction_bytes_limit(
        options: *mut rocksdb_options_t,
        value: usize,
    );
    pub fn rocksdb_options_set_sst_file_manager(
        options: *mut rocksdb_options_t,
        manager: *mut rocksdb_sst_file_manager_t,
    );
    pub fn rocksdb_options_set_sst_partitioner_factory(
        options: *mut rocksdb_options_t,
        factory: *mut rocksdb_sst_partitioner_factory_t,
    );
    pub fn rocksdb_options_set_statistics_level(
        options: *mut rocksdb_options_t,
        number: c_int,
    );
    pub fn rocksdb_options_set_stats_dump_period_sec(
        options: *mut rocksdb_options_t,
        value: u32,
    );
    pub fn rocksdb_options_set_stats_persist_period_sec(
        options: *mut rocksdb_options_t,
        value: u32,
    );
    pub fn rocksdb_options_set_table_cache_numshardbits(
        options: *mut rocksdb_options_t,
        value: c_int,
    );
    pub fn rocksdb_options_set_target_file_size_base(
        options: *mut rocksdb_options_t,
        value: u64,
    );
    pub fn rocksdb_options_set_target_file_size_multiplier(
        options: *mut rocksdb_options_t,
        value: c_int,
    );
    pub fn rocksdb_options_set_track_and_verify_wals_in_manifest(
        options: *mut rocksdb_options_t,
        value: c_uchar,
    );
    pub fn rocksdb_options_set_ttl(
        options: *mut rocksdb_options_t,
        value: u64,
    );
    pub fn rocksdb_options_set_uint64add_merge_operator(
        options: *mut rocksdb_options_t,
    );
    pub fn rocksdb_options_set_universal_compaction_options(
        options: *mut rocksdb_options_t,
        universal: *mut rocksdb_universal_compaction_options_t,
    );
    pub fn rocksdb_options_set_unordered_write(
        options: *mut rocksdb_options_t,
        value: c_uchar,
    );
    pub fn rocksdb_options_set_use_adaptive_mutex(
        options: *mut rocksdb_options_t,
        value: c_uchar,
    );
    pub fn rocksdb_options_set_use_direct_io_for_flush_and_compaction(
        options: *mut rocksdb_options_t,
        value: c_uchar,
    );
    pub fn rocksdb_options_set_use_direct_reads(
        options: *mut rocksdb_options_t,
        value: c_uchar,
    );
    pub fn rocksdb_options_set_use_fsync(
        options: *mut rocksdb_options_t,
        value: c_int,
    );
    pub fn rocksdb_options_set_wal_bytes_per_sync(
        options: *mut rocksdb_options_t,
        value: u64,
    );
    pub fn rocksdb_options_set_wal_compression(
        options: *mut rocksdb_options_t,
        value: c_int,
    );
    pub fn rocksdb_options_set_wal_dir(
        options: *mut rocksdb_options_t,
        dir: *const c_char,
    );
    pub fn rocksdb_options_set_wal_recovery_mode(
        options: *mut rocksdb_options_t,
        value: c_int,
    );
    pub fn rocksdb_options_set_writable_file_max_buffer_size(
        options: *mut rocksdb_options_t,
        value: u64,
    );
    pub fn rocksdb_options_set_write_buffer_manager(
        options: *mut rocksdb_options_t,
        manager: *mut rocksdb_write_buffer_manager_t,
    );
    pub fn rocksdb_options_set_write_buffer_size(
        options: *mut rocksdb_options_t,
        value: usize,
    );
    pub fn rocksdb_options_set_write_dbid_to_manifest(
        options: *mut rocksdb_options_t,
        value: c_uchar,
    );
    pub fn rocksdb_options_set_write_identity_file(
        options: *mut rocksdb_options_t,
        value: c_uchar,
    );
    pub fn rocksdb_options_statistics_get_histogram_data(
        options: *mut rocksdb_options_t,
        histogram: u32,
        data: *mut rocksdb_statistics_histogram_data_t,
    );
    pub fn rocksdb_options_statistics_get_string(
        options: *mut rocksdb_options_t,
    ) -> *mut c_char;
    pub fn rocksdb_options_statistics_get_ticker_count(
        options: *mut rocksdb_options_t,
        ticker: u32,
    ) -> u64;
    pub fn rocksdb_perfcontext_create(
    ) -> *mut rocksdb_perfcontext_t;
    pub fn rocksdb_perfcontext_destroy(
        context: *mut rocksdb_perfcontext_t,
    );
    pub fn rocksdb_perfcontext_metric(
        context: *mut rocksdb_perfcontext_t,
        metric: c_int,
    ) -> u64;
    pub fn rocksdb_perfcontext_report(
        context: *mut rocksdb_perfcontext_t,
        exclude_zeros: c_uchar,
    ) -> *mut c_char;
    pub fn rocksdb_perfcontext_reset(
        context: *mut rocksdb_perfcontext_t,
    );
    pub fn rocksdb_pinnable_handle_destroy(
        handle: *mut rocksdb_pinnable_handle_t,
    );
    pub fn rocksdb_pinnable_handle_get_value(
        handle: *const rocksdb_pinnable_handle_t,
        len: *mut usize,
    ) -> *const c_char;
    pub fn rocksdb_pinnableslice_destroy(
        value: *mut rocksdb_pinnableslice_t,
    );
    pub fn rocksdb_pinnableslice_value(
        value: *const rocksdb_pinnableslice_t,
        len: *mut usize,
    ) -> *const c_char;
    pub fn rocksdb_pinnablewidecolumns_destroy(
        columns: *mut rocksdb_pinnablewidecolumns_t,
    );
    pub fn rocksdb_pinnablewidecolumns_name(
        columns: *const rocksdb_pinnablewidecolumns_t,
        n: usize,
        len: *mut usize,
    ) -> *const c_char;
    pub fn rocksdb_pinnablewidecolumns_size(
        columns: *const rocksdb_pinnablewidecolumns_t,
    ) -> usize;
    pub fn rocksdb_pinnablewidecolumns_value(
        columns: *const rocksdb_pinnablewidecolumns_t,
        n: usize,
        len: *mut usize,
    ) -> *const c_char;
    pub fn rocksdb_property_int(
        db: *mut rocksdb_t,
        name: *const c_char,
        out: *mut u64,
    ) -> c_int;
    pub fn rocksdb_property_int_cf(
        db: *mut rocksdb_t,
        handle: *mut rocksdb_column_family_handle_t,
        name: *const c_char,
        out: *mut u64,
    ) -> c_int;
    pub fn rocksdb_property_value(
        db: *mut rocksdb_t,
        name: *const c_char,
    ) -> *mut c_char;
    pub fn rocksdb_property_value_cf(
        db: *mut rocksdb_t,
        handle: *mut rocksdb_column_family_handle_t,
        name: *const c_char,
    ) -> *mut c_char;
    pub fn rocksdb_put(
        db: *mut rocksdb_t,
        options: *const rocksdb_writeoptions_t,
        key: *const c_char,
        keylen: usize,
        value: *const c_char,
        len: usize,
        errptr: *mut *mut c_char,
    );
    pub fn rocksdb_put_cf(
        db: *mut rocksdb_t,
        options: *const rocksdb_writeoptions_t,
        handle: *mut rocksdb_column_family_handle_t,
        key: *const c_char,
        keylen: usize,
        value: *const c_char,
        len: usize,
        errptr: *mut *mut c_char,
    );
    pub fn rocksdb_put_cf_with_ts(
        db: *mut rocksdb_t,
        options: *const rocksdb_writeoptions_t,
        handle: *mut rocksdb_column_family_handle_t,
        key: *const c_char,
        keylen: usize,
        ts: *const c_char,
        tslen: usize,
        value: *const c_char,
        len: usize,
        errptr: *mut *mut c_char,
    );
    pub fn rocksdb_put_entity_cf(
        db: *mut rocksdb_t,
        options: *const rocksdb_writeoptions_t,
        handle: *mut rocksdb_column_family_handle_t,
        key: *const c_char,
        keylen: usize,
        num_columns: usize,
        names: *const *const c_char,
        name_lengths: *const usize,
        values: *const *const c_char,
        value_lengths: *const usize,
        errptr: *mut *mut c_char,
    );
    pub fn rocksdb_put_with_ts(
        db: *mut rocksdb_t,
        options: *const rocksdb_writeoptions_t,
        key: *const c_char,
        keylen: usize,
        ts: *const c_char,
        tslen: usize,
        value: *const c_char,
        len: usize,
        errptr: *mut *mut c_char,
    );
    pub fn rocksdb_ratelimiter_create(
        rate: i64,
        period_us: i64,
        fairness: c_int,
    ) -> *mut rocksdb_ratelimiter_t;
    pub fn rocksdb_ratelimiter_create_auto_tuned(
        rate: i64,
        period_us: i64,
        fairness: c_int,
    ) -> *mut rocksdb_ratelimiter_t;
    pub fn rocksdb_ratelimiter_create_with_mode(
        rate: i64,
        period_us: i64,
        fairness: c_int,
        mode: c_int,
        auto_tuned: bool,
    ) -> *mut rocksdb_ratelimiter_t;
    pub fn rocksdb_ratelimiter_destroy(
        limiter: *mut rocksdb_ratelimiter_t,
    );
    pub fn rocksdb_readoptions_create(
    ) -> *mut rocksdb_readoptions_t;
    pub fn rocksdb_readoptions_destroy(
        options: *mut rocksdb_readoptions_t,
    );
    pub fn rocksdb_readoptions_get_async_io(
        options: *mut rocksdb_readoptions_t,
    ) -> c_uchar;
    pub fn rocksdb_readoptions_get_background_purge_on_iterator_cleanup(
        options: *mut rocksdb_readoptions_t,
    ) -> c_uchar;
    pub fn rocksdb_readoptions_get_deadline(
        options: *mut rocksdb_readoptions_t,
    ) -> u64;
    pub fn rocksdb_readoptions_get_fill_cache(
        options: *mut rocksdb_readoptions_t,
    ) -> c_uchar;
    pub fn rocksdb_readoptions_get_ignore_range_deletions(
        options: *mut rocksdb_readoptions_t,
    ) -> c_uchar;
    pub fn rocksdb_readoptions_get_io_timeout(
        options: *mut rocksdb_readoptions_t,
    ) -> u64;
    pub fn rocksdb_readoptions_get_max_skippable_internal_keys(
        options: *mut rocksdb_readoptions_t,
    ) -> u64;
    pub fn rocksdb_readoptions_get_pin_data(
        options: *mut rocksdb_readoptions_t,
    ) -> c_uchar;
    pub fn rocksdb_readoptions_get_prefix_same_as_start(
        options: *mut rocksdb_readoptions_t,
    ) -> c_uchar;
    pub fn rocksdb_readoptions_get_read_tier(
        options: *mut rocksdb_readoptions_t,
    ) -> c_int;
    pub fn rocksdb_readoptions_get_readahead_size(
        options: *mut rocksdb_readoptions_t,
    ) -> usize;
    pub fn rocksdb_readoptions_get_tailing(
        options: *mut rocksdb_readoptions_t,
    ) -> c_uchar;
    pub fn rocksdb_readoptions_get_total_order_seek(
        options: *mut rocksdb_readoptions_t,
    ) -> c_uchar;
    pub fn rocksdb_readoptions_get_verify_checksums(
        options: *mut rocksdb_readoptions_t,
    ) -> c_uchar;
    pub fn rocksdb_readoptions_set_async_io(
        options: *mut rocksdb_readoptions_t,
        value: c_uchar,
    );
    pub fn rocksdb_readoptions_set_auto_readahead_size(
        options: *mut rocksdb_readoptions_t,
        value: c_uchar,
    );
    pub fn rocksdb_readoptions_set_background_purge_on_iterator_cleanup(
        options: *mut rocksdb_readoptions_t,
        value: c_uchar,
    );
    pub fn rocksdb_readoptions_set_deadline(
        options: *mut rocksdb_readoptions_t,
        value: u64,
    );
    pub fn rocksdb_readoptions_set_fill_cache(
        options: *mut rocksdb_readoptions_t,
        value: c_uchar,
    );
    pub fn rocksdb_readoptions_set_ignore_range_deletions(
        options: *mut rocksdb_readoptions_t,
        value: c_uchar,
    );
    pub fn rocksdb_readoptions_set_io_timeout(
        options: *mut rocksdb_readoptions_t,
        value: u64,
    );
    pub fn rocksdb_readoptions_set_iter_start_ts(
        options: *mut rocksdb_readoptions_t,
        ts: *const c_char,
        len: usize,
    );
    pub fn rocksdb_readoptions_set_iterate_lower_bound(
        options: *mut rocksdb_readoptions_t,
        key: *const c_char,
        len: usize,
    );
    pub fn rocksdb_readoptions_set_iterate_upper_bound(
        options: *mut rocksdb_readoptions_t,
        key: *const c_char,
        len: usize,
    );
    pub fn rocksdb_readoptions_set_managed(
        options: *mut rocksdb_readoptions_t,
        managed: c_uchar,
    );
    pub fn rocksdb_readoptions_set_max_skippable_internal_keys(
        options: *mut rocksdb_readoptions_t,
        value: u64,
    );
    pub fn rocksdb_readoptions_set_pin_data(
        options: *mut rocksdb_readoptions_t,
        value: c_uchar,
    );
    pub fn rocksdb_readoptions_set_prefix_same_as_start(
        options: *mut rocksdb_readoptions_t,
        value: c_uchar,
    );
    pub fn rocksdb_readoptions_set_read_tier(
        options: *mut rocksdb_readoptions_t,
        value: c_int,
    );
    pub fn rocksdb_readoptions_set_readahead_size(
        options: *mut rocksdb_readoptions_t,
        value: usize,
    );
    pub fn rocksdb_readoptions_set_snapshot(
        options: *mut rocksdb_readoptions_t,
        snapshot: *const rocksdb_snapshot_t,
    );
    pub fn rocksdb_readoptions_set_tailing(
        options: *mut rocksdb_readoptions_t,
        value: c_uchar,
    );
    pub fn rocksdb_readoptions_set_timestamp(
        options: *mut rocksdb_readoptions_t,
        ts: *const c_char,
        len: usize,
    );
    pub fn rocksdb_readoptions_set_total_order_seek(
        options: *mut rocksdb_readoptions_t,
        value: c_uchar,
    );
    pub fn rocksdb_readoptions_set_verify_checksums(
        options: *mut rocksdb_readoptions_t,
        value: c_uchar,
    );
    pub fn rocksdb_release_snapshot(
        db: *mut rocksdb_t,
        snapshot: *const rocksdb_snapshot_t,
    );
    pub fn rocksdb_repair_db(
        options: *const rocksdb_options_t,
        name: *const c_char,
        errptr: *mut *mut c_char,
    );
    pub fn rocksdb_reset_status(
        status: *mut rocksdb_status_ptr_t,
    );
    pub fn rocksdb_restore_options_create(
    ) -> *mut rocksdb_restore_options_t;
    pub fn rocksdb_restore_options_destroy(
        options: *mut rocksdb_restore_options_t,
    );
    pub fn rocksdb_restore_options_set_keep_log_files(
        options: *mut rocksdb_restore_options_t,
        value: c_int,
    );
    pub fn rocksdb_set_options(
        db: *mut rocksdb_t,
        num: c_int,
        keys: *const *const c_char,
        values: *const *const c_char,
        errptr: *mut *mut c_char,
    );
    pub fn rocksdb_set_options_cf(
        db: *mut rocksdb_t,
        handle: *mut rocksdb_column_family_handle_t,
        num: c_int,
        keys: *const *const c_char,
        values: *const *const c_char,
        errptr: *mut *mut c_char,
    );
    pub fn rocksdb_set_perf_level(
        number: c_int,
    );
    pub fn rocksdb_singledelete(
        db: *mut rocksdb_t,
        options: *const rocksdb_writeoptions_t,
        key: *const c_char,
        keylen: usize,
        errptr: *mut *mut c_char,
    );
    pub fn rocksdb_singledelete_cf(
        db: *mut rocksdb_t,
        options: *const rocksdb_writeoptions_t,
        handle: *mut rocksdb_column_family_handle_t,
        key: *const c_char,
        keylen: usize,
        errptr: *mut *mut c_char,
    );
    pub fn rocksdb_singledelete_cf_with_ts(
        db: *mut rocksdb_t,
        options: *const rocksdb_writeoptions_t,
        handle: *mut rocksdb_column_family_handle_t,
        key: *const c_char,
        keylen: usize,
        ts: *const c_char,
        tslen: usize,
        errptr: *mut *mut c_char,
    );
    pub fn rocksdb_singledelete_with_ts(
        db: *mut rocksdb_t,
        options: *const rocksdb_writeoptions_t,
        key: *const c_char,
        keylen: usize,
        ts: *const c_char,
        tslen: usize,
        errptr: *mut *mut c_char,
    );
    pub fn rocksdb_slicetransform_create_fixed_prefix(
        len: usize,
    ) -> *mut rocksdb_slicetransform_t;
    pub fn rocksdb_slicetransform_create_noop(
    ) -> *mut rocksdb_slicetransform_t;
    pub fn rocksdb_slicetransform_destroy(
        transform: *mut rocksdb_slicetransform_t,
    );
    pub fn rocksdb_snapshot_get_sequence_number(
        snapshot: *const rocksdb_snapshot_t,
    ) -> u64;
    pub fn rocksdb_sst_file_manager_create(
        env: *mut rocksdb_env_t,
    ) -> *mut rocksdb_sst_file_manager_t;
    pub fn rocksdb_sst_file_manager_destroy(
        manager: *mut rocksdb_sst_file_manager_t,
    );
    pub fn rocksdb_sst_file_manager_get_delete_rate_bytes_per_second(
        manager: *mut rocksdb_sst_file_manager_t,
    ) -> i64;
    pub fn rocksdb_sst_file_manager_get_max_trash_db_ratio(
        manager: *mut rocksdb_sst_file_manager_t,
    ) -> f64;
    pub fn rocksdb_sst_file_manager_get_total_size(
        manager: *mut rocksdb_sst_file_manager_t,
    ) -> u64;
    pub fn rocksdb_sst_file_manager_get_total_trash_size(
        manager: *mut rocksdb_sst_file_manager_t,
    ) -> u64;
    pub fn rocksdb_sst_file_manager_is_max_allowed_space_reached(
        manager: *mut rocksdb_sst_file_manager_t,
    ) -> bool;
    pub fn rocksdb_sst_file_manager_is_max_allowed_space_reached_including_compactions(
        manager: *mut rocksdb_sst_file_manager_t,
    ) -> bool;
    pub fn rocksdb_sst_file_manager_set_compaction_buffer_size(
        manager: *mut rocksdb_sst_file_manager_t,
        bytes: u64,
    );
    pub fn rocksdb_sst_file_manager_set_delete_rate_bytes_per_second(
        manager: *mut rocksdb_sst_file_manager_t,
        rate: i64,
    );
    pub fn rocksdb_sst_file_manager_set_max_allowed_space_usage(
        manager: *mut rocksdb_sst_file_manager_t,
        bytes: u64,
    );
    pub fn rocksdb_sst_file_manager_set_max_trash_db_ratio(
        manager: *mut rocksdb_sst_file_manager_t,
        ratio: f64,
    );
    pub fn rocksdb_sst_file_metadata_destroy(
        file: *mut rocksdb_sst_file_metadata_t,
    );
    pub fn rocksdb_sst_file_metadata_get_directory(
        file: *mut rocksdb_sst_file_metadata_t,
    ) -> *mut c_char;
    pub fn rocksdb_sst_file_metadata_get_largestkey(
        file: *mut rocksdb_sst_file_metadata_t,
        len: *mut usize,
    ) -> *mut c_char;
    pub fn rocksdb_sst_file_metadata_get_relative_filename(
        file: *mut rocksdb_sst_file_metadata_t,
    ) -> *mut c_char;
    pub fn rocksdb_sst_file_metadata_get_size(
        file: *mut rocksdb_sst_file_metadata_t,
    ) -> u64;
    pub fn rocksdb_sst_file_metadata_get_smallestkey(
        file: *mut rocksdb_sst_file_metadata_t,
        len: *mut usize,
    ) -> *mut c_char;
    pub fn rocksdb_sst_partitioner_factory_destroy(
        factory: *mut rocksdb_sst_partitioner_factory_t,
    );
    pub fn rocksdb_sst_partitioner_fixed_prefix_factory_create(
        len: usize,
    ) -> *mut rocksdb_sst_partitioner_factory_t;
    pub fn rocksdb_sstfilewriter_add(
        writer: *mut rocksdb_sstfilewriter_t,
        key: *const c_char,
        keylen: usize,
        value: *const c_char,
        len: usize,
        errptr: *mut *mut c_char,
    );
    pub fn rocksdb_sstfilewriter_create(
        env: *const rocksdb_envoptions_t,
        options: *const rocksdb_options_t,
    ) -> *mut rocksdb_sstfilewriter_t;
    pub fn rocksdb_sstfilewriter_create_with_comparator(
        env: *const rocksdb_envoptions_t,
        options: *const rocksdb_options_t,
        comparator: *const rocksdb_comparator_t,
    ) -> *mut rocksdb_sstfilewriter_t;
    pub fn rocksdb_sstfilewriter_delete(
        writer: *mut rocksdb_sstfilewriter_t,
        key: *const c_char,
        keylen: usize,
        errptr: *mut *mut c_char,
    );
    pub fn rocksdb_sstfilewriter_delete_range(
        writer: *mut rocksdb_sstfilewriter_t,
        start: *const c_char,
        start_len: usize,
        end: *const c_char,
        end_len: usize,
        errptr: *mut *mut c_char,
    );
    pub fn rocksdb_sstfilewriter_delete_with_ts(
        writer: *mut rocksdb_sstfilewriter_t,
        key: *const c_char,
        keylen: usize,
        ts: *const c_char,
        tslen: usize,
        errptr: *mut *mut c_char,
    );
    pub fn rocksdb_sstfilewriter_destroy(
        writer: *mut rocksdb_sstfilewriter_t,
    );
    pub fn rocksdb_sstfilewriter_file_size(
        writer: *mut rocksdb_sstfilewriter_t,
        size: *mut u64,
    );
    pub fn rocksdb_sstfilewriter_finish(
        writer: *mut rocksdb_sstfilewriter_t,
        errptr: *mut *mut c_char,
    );
    pub fn rocksdb_sstfilewriter_merge(
        writer: *mut rocksdb_sstfilewriter_t,
        key: *const c_char,
        keylen: usize,
        value: *const c_char,
        len: usize,
        errptr: *mut *mut c_char,
    );
    pub fn rocksdb_sstfilewriter_open(
        writer: *mut rocksdb_sstfilewriter_t,
        path: *const c_char,
        errptr: *mut *mut c_char,
    );
    pub fn rocksdb_sstfilewriter_put(
        writer: *mut rocksdb_sstfilewriter_t,
        key: *const c_char,
        keylen: usize,
        value: *const c_char,
        len: usize,
        errptr: *mut *mut c_char,
    );
    pub fn rocksdb_sstfilewriter_put_with_ts(
        writer: *mut rocksdb_sstfilewriter_t,
        key: *const c_char,
        keylen: usize,
        ts: *const c_char,
        tslen: usize,
        value: *const c_char,
        len: usize,
        errptr: *mut *mut c_char,
    );
    pub fn rocksdb_statistics_histogram_data_create(
    ) -> *mut rocksdb_statistics_histogram_data_t;
    pub fn rocksdb_statistics_histogram_data_destroy(
        options: *mut rocksdb_statistics_histogram_data_t,
    );
    pub fn rocksdb_statistics_histogram_data_get_average(
        data: *mut rocksdb_statistics_histogram_data_t,
    ) -> f64;
    pub fn rocksdb_statistics_histogram_data_get_count(
        data: *mut rocksdb_statistics_histogram_data_t,
    ) -> u64;
    pub fn rocksdb_statistics_histogram_data_get_max(
        data: *mut rocksdb_statistics_histogram_data_t,
    ) -> f64;
    pub fn rocksdb_statistics_histogram_data_get_median(
        data: *mut rocksdb_statistics_histogram_data_t,
    ) -> f64;
    pub fn rocksdb_statistics_histogram_data_get_min(
        data: *mut rocksdb_statistics_histogram_data_t,
    ) -> f64;
    pub fn rocksdb_statistics_histogram_data_get_p95(
        data: *mut rocksdb_statistics_histogram_data_t,
    ) -> f64;
    pub fn rocksdb_statistics_histogram_data_get_p99(
        data: *mut rocksdb_statistics_histogram_data_t,
    ) -> f64;
    pub fn rocksdb_statistics_histogram_data_get_std_dev(
        data: *mut rocksdb_statistics_histogram_data_t,
    ) -> f64;
    pub fn rocksdb_statistics_histogram_data_get_sum(
        data: *mut rocksdb_statistics_histogram_data_t,
    ) -> u64;
    pub fn rocksdb_status_ptr_get_error(
        status: *mut rocksdb_status_ptr_t,
        errptr: *mut *mut c_char,
    );
    pub fn rocksdb_subcompactionjobinfo_base_input_level(
        info: *const rocksdb_subcompactionjobinfo_t,
    ) -> c_int;
    pub fn rocksdb_subcompactionjobinfo_cf_name(
        info: *const rocksdb_subcompactionjobinfo_t,
        len: *mut usize,
    ) -> *const c_char;
    pub fn rocksdb_subcompactionjobinfo_compaction_reason(
        info: *const rocksdb_subcompactionjobinfo_t,
    ) -> u32;
    pub fn rocksdb_subcompactionjobinfo_output_level(
        info: *const rocksdb_subcompactionjobinfo_t,
    ) -> c_int;
    pub fn rocksdb_subcompactionjobinfo_status(
        info: *const rocksdb_subcompactionjobinfo_t,
        errptr: *mut *mut c_char,
    );
    pub fn rocksdb_subcompactionjobinfo_thread_id(
        info: *const rocksdb_subcompactionjobinfo_t,
    ) -> u64;
    pub fn rocksdb_suggest_compact_range(
        db: *mut rocksdb_t,
        start: *const c_char,
        start_len: usize,
        end: *const c_char,
        end_len: usize,
        errptr: *mut *mut c_char,
    );
    pub fn rocksdb_suggest_compact_range_cf(
        db: *mut rocksdb_t,
        handle: *mut rocksdb_column_family_handle_t,
        start: *const c_char,
        start_len: usize,
        end: *const c_char,
        end_len: usize,
        errptr: *mut *mut c_char,
    );
    pub fn rocksdb_table_properties_collector_factory_destroy(
        factory: *mut rocksdb_table_properties_collector_factory_t,
    );
    pub fn rocksdb_transaction_begin(
        db: *mut rocksdb_transactiondb_t,
        write: *const rocksdb_writeoptions_t,
        options: *const rocksdb_transaction_options_t,
        old: *mut rocksdb_transaction_t,
    ) -> *mut rocksdb_transaction_t;
    pub fn rocksdb_transaction_commit(
        txn: *mut rocksdb_transaction_t,
        errptr: *mut *mut c_char,
    );
    pub fn rocksdb_transaction_create_iterator(
        txn: *mut rocksdb_transaction_t,
        options: *const rocksdb_readoptions_t,
    ) -> *mut rocksdb_iterator_t;
    pub fn rocksdb_transaction_create_iterator_cf(
        txn: *mut rocksdb_transaction_t,
        options: *const rocksdb_readoptions_t,
        handle: *mut rocksdb_column_family_handle_t,
    ) -> *mut rocksdb_iterator_t;
    pub fn rocksdb_transaction_delete(
        txn: *mut rocksdb_transaction_t,
        key: *const c_char,
        keylen: usize,
        errptr: *mut *mut c_char,
    );
    pub fn rocksdb_transaction_delete_cf(
        txn: *mut rocksdb_transaction_t,
        handle: *mut rocksdb_column_family_handle_t,
        key: *const c_char,
        keylen: usize,
        errptr: *mut *mut c_char,
    );
    pub fn rocksdb_transaction_destroy(
        txn: *mut rocksdb_transaction_t,
    );
    pub fn rocksdb_transaction_get(
        txn: *mut rocksdb_transaction_t,
        options: *const rocksdb_readoptions_t,
        key: *const c_char,
        keylen: usize,
        len: *mut usize,
        errptr: *mut *mut c_char,
    ) -> *mut c_char;
    pub fn rocksdb_transaction_get_cf(
        txn: *mut rocksdb_transaction_t,
        options: *const rocksdb_readoptions_t,
        handle: *mut rocksdb_column_family_handle_t,
        key: *const c_char,
        keylen: usize,
        len: *mut usize,
        errptr: *mut *mut c_char,
    ) -> *mut c_char;
    pub fn rocksdb_transaction_get_for_update(
        txn: *mut rocksdb_transaction_t,
        options: *const rocksdb_readoptions_t,
        key: *const c_char,
        keylen: usize,
        len: *mut usize,
        exclusive: c_uchar,
        errptr: *mut *mut c_char,
    ) -> *mut c_char;
    pub fn rocksdb_transaction_get_for_update_cf(
        txn: *mut rocksdb_transaction_t,
        options: *const rocksdb_readoptions_t,
        handle: *mut rocksdb_column_family_handle_t,
        key: *const c_char,
        keylen: usize,
        len: *mut usize,
        exclusive: c_uchar,
        errptr: *mut *mut c_char,
    ) -> *mut c_char;
    pub fn rocksdb_transaction_get_name(
        txn: *mut rocksdb_transaction_t,
        len: *mut usize,
    ) -> *mut c_char;
    pub fn rocksdb_transaction_get_pinned(
        txn: *mut rocksdb_transaction_t,
        options: *const rocksdb_readoptions_t,
        key: *const c_char,
        keylen: usize,
        errptr: *mut *mut c_char,
    ) -> *mut rocksdb_pinnableslice_t;
    pub fn rocksdb_transaction_get_pinned_cf(
        txn: *mut rocksdb_transaction_t,
        options: *const rocksdb_readoptions_t,
        handle: *mut rocksdb_column_family_handle_t,
        key: *const c_char,
        keylen: usize,
        errptr: *mut *mut c_char,
    ) -> *mut rocksdb_pinnableslice_t;
    pub fn rocksdb_transaction_get_pinned_for_update(
        txn: *mut rocksdb_transaction_t,
        options: *const rocksdb_readoptions_t,
        key: *const c_char,
        keylen: usize,
        exclusive: c_uchar,
        errptr: *mut *mut c_char,
    ) -> *mut rocksdb_pinnableslice_t;
    pub fn rocksdb_transaction_get_pinned_for_update_cf(
        txn: *mut rocksdb_transaction_t,
        options: *const rocksdb_readoptions_t,
        handle: *mut rocksdb_column_family_handle_t,
        key: *const c_char,
        keylen: usize,
        exclusive: c_uchar,
        errptr: *mut *mut c_char,
    ) -> *mut rocksdb_pinnableslice_t;
    pub fn rocksdb_transaction_get_snapshot(
        txn: *mut rocksdb_transaction_t,
    ) -> *const rocksdb_snapshot_t;
    pub fn rocksdb_transaction_get_writebatch_wi(
        txn: *mut rocksdb_transaction_t,
    ) -> *mut rocksdb_writebatch_wi_t;
    pub fn rocksdb_transaction_merge(
        txn: *mut rocksdb_transaction_t,
        key: *const c_char,
        keylen: usize,
        value: *const c_char,
        len: usize,
        errptr: *mut *mut c_char,
    );
    pub fn rocksdb_transaction_merge_cf(
        txn: *mut rocksdb_transaction_t,
        handle: *mut rocksdb_column_family_handle_t,
        key: *const c_char,
        keylen: usize,
        value: *const c_char,
        len: usize,
        errptr: *mut *mut c_char,
    );
    pub fn rocksdb_transaction_multi_get(
        txn: *mut rocksdb_transaction_t,
        options: *const rocksdb_readoptions_t,
        num: usize,
        keys: *const *const c_char,
        lengths: *const usize,
        values: *mut *mut c_char,
        value_lengths: *mut usize,
        errs: *mut *mut c_char,
    );
    pub fn rocksdb_transaction_multi_get_cf(
        txn: *mut rocksdb_transaction_t,
        options: *const rocksdb_readoptions_t,
        families: *const *const rocksdb_column_family_handle_t,
        num: usize,
        keys: *const *const c_char,
        lengths: *const usize,
        values: *mut *mut c_char,
        value_lengths: *mut usize,
        errs: *mut *mut c_char,
    );
    pub fn rocksdb_transaction_multi_get_for_update(
        txn: *mut rocksdb_transaction_t,
        options: *const rocksdb_readoptions_t,
        num: usize,
        keys: *const *const c_char,
        lengths: *const usize,
        values: *mut *mut c_char,
        value_lengths: *mut usize,
        errs: *mut *mut c_char,
    );
    pub fn rocksdb_transaction_multi_get_for_update_cf(
        txn: *mut rocksdb_transaction_t,
        options: *const rocksdb_readoptions_t,
        families: *const *const rocksdb_column_family_handle_t,
        num: usize,
        keys: *const *const c_char,
        lengths: *const usize,
        values: *mut *mut c_char,
        value_lengths: *mut usize,
        errs: *mut *mut c_char,
    );
    pub fn rocksdb_transaction_options_create(
    ) -> *mut rocksdb_transaction_options_t;
    pub fn rocksdb_transaction_options_destroy(
        options: *mut rocksdb_transaction_options_t,
    );
    pub fn rocksdb_transaction_options_set_deadlock_detect(
        options: *mut rocksdb_transaction_options_t,
        value: c_uchar,
    );
    pub fn rocksdb_transaction_options_set_deadlock_detect_depth(
        options: *mut rocksdb_transaction_options_t,
        value: i64,
    );
    pub fn rocksdb_transaction_options_set_expiration(
        options: *mut rocksdb_transaction_options_t,
        value: i64,
    );
    pub fn rocksdb_transaction_options_set_lock_timeout(
        options: *mut rocksdb_transaction_options_t,
        value: i64,
    );
    pub fn rocksdb_transaction_options_set_max_write_batch_size(
        options: *mut rocksdb_transaction_options_t,
        value: usize,
    );
    pub fn rocksdb_transaction_options_set_set_snapshot(
        options: *mut rocksdb_transaction_options_t,
        value: c_uchar,
    );
    pub fn rocksdb_transaction_options_set_skip_prepare(
        options: *mut rocksdb_transaction_options_t,
        value: c_uchar,
    );
    pub fn rocksdb_transaction_prepare(
        txn: *mut rocksdb_transaction_t,
        errptr: *mut *mut c_char,
    );
    pub fn rocksdb_transaction_put(
        txn: *mut rocksdb_transaction_t,
        key: *const c_char,
        keylen: usize,
        value: *const c_char,
        len: usize,
        errptr: *mut *mut c_char,
    );
    pub fn rocksdb_transaction_put_cf(
        txn: *mut rocksdb_transaction_t,
        handle: *mut rocksdb_column_family_handle_t,
        key: *const c_char,
        keylen: usize,
        value: *const c_char,
        len: usize,
        errptr: *mut *mut c_char,
    );
    pub fn rocksdb_transaction_rebuild_from_writebatch(
        txn: *mut rocksdb_transaction_t,
        batch: *mut rocksdb_writebatch_t,
        errptr: *mut *mut c_char,
    );
    pub fn rocksdb_transaction_rebuild_from_writebatch_wi(
        txn: *mut rocksdb_transaction_t,
        batch: *mut rocksdb_writebatch_wi_t,
        errptr: *mut *mut c_char,
    );
    pub fn rocksdb_transaction_rollback(
        txn: *mut rocksdb_transaction_t,
        errptr: *mut *mut c_char,
    );
    pub fn rocksdb_transaction_rollback_to_savepoint(
        txn: *mut rocksdb_transaction_t,
        errptr: *mut *mut c_char,
    );
    pub fn rocksdb_transaction_set_commit_timestamp(
        txn: *mut rocksdb_transaction_t,
        ts: u64,
    );
    pub fn rocksdb_transaction_set_name(
        txn: *mut rocksdb_transaction_t,
        name: *const c_char,
        len: usize,
        errptr: *mut *mut c_char,
    );
    pub fn rocksdb_transaction_set_read_timestamp_for_validation(
        txn: *mut rocksdb_transaction_t,
        ts: u64,
    );
    pub fn rocksdb_transaction_set_savepoint(
        txn: *mut rocksdb_transaction_t,
    );
    pub fn rocksdb_transactiondb_checkpoint_object_create(
        db: *mut rocksdb_transactiondb_t,
        errptr: *mut *mut c_char,
    ) -> *mut rocksdb_checkpoint_t;
    pub fn rocksdb_transactiondb_close(
        db: *mut rocksdb_transactiondb_t,
    );
    pub fn rocksdb_transactiondb_close_base_db(
        base: *mut rocksdb_t,
    );
    pub fn rocksdb_transactiondb_create_column_family(
        db: *mut rocksdb_transactiondb_t,
        options: *const rocksdb_options_t,
        name: *const c_char,
        errptr: *mut *mut c_char,
    ) -> *mut rocksdb_column_family_handle_t;
    pub fn rocksdb_transactiondb_create_iterator(
        db: *mut rocksdb_transactiondb_t,
        options: *const rocksdb_readoptions_t,
    ) -> *mut rocksdb_iterator_t;
    pub fn rocksdb_transactiondb_create_iterator_cf(
        db: *mut rocksdb_transactiondb_t,
        options: *const rocksdb_readoptions_t,
        handle: *mut rocksdb_column_family_handle_t,
    ) -> *mut rocksdb_iterator_t;
    pub fn rocksdb_transactiondb_create_snapshot(
        db: *mut rocksdb_transactiondb_t,
    ) -> *const rocksdb_snapshot_t;
    pub fn rocksdb_transactiondb_delete(
        db: *mut rocksdb_transactiondb_t,
        options: *const rocksdb_writeoptions_t,
        key: *const c_char,
        keylen: usize,
        errptr: *mut *mut c_char,
    );
    pub fn rocksdb_transactiondb_delete_cf(
        db: *mut rocksdb_transactiondb_t,
        options: *const rocksdb_writeoptions_t,
        handle: *mut rocksdb_column_family_handle_t,
        key: *const c_char,
        keylen: usize,
        errptr: *mut *mut c_char,
    );
    pub fn rocksdb_transactiondb_flush(
        db: *mut rocksdb_transactiondb_t,
        options: *const rocksdb_flushoptions_t,
        errptr: *mut *mut c_char,
    );
    pub fn rocksdb_transactiondb_flush_cf(
        db: *mut rocksdb_transactiondb_t,
        options: *const rocksdb_flushoptions_t,
        handle: *mut rocksdb_column_family_handle_t,
        errptr: *mut *mut c_char,
    );
    pub fn rocksdb_transactiondb_flush_cfs(
        db: *mut rocksdb_transactiondb_t,
        options: *const rocksdb_flushoptions_t,
        handles: *mut *mut rocksdb_column_family_handle_t,
        len: c_int,
        errptr: *mut *mut c_char,
    );
    pub fn rocksdb_transactiondb_flush_wal(
        db: *mut rocksdb_transactiondb_t,
        sync: c_uchar,
        errptr: *mut *mut c_char,
    );
    pub fn rocksdb_transactiondb_get(
        db: *mut rocksdb_transactiondb_t,
        options: *const rocksdb_readoptions_t,
        key: *const c_char,
        keylen: usize,
        len: *mut usize,
        errptr: *mut *mut c_char,
    ) -> *mut c_char;
    pub fn rocksdb_transactiondb_get_base_db(
        db: *mut rocksdb_transactiondb_t,
    ) -> *mut rocksdb_t;
    pub fn rocksdb_transactiondb_get_cf(
        db: *mut rocksdb_transactiondb_t,
        options: *const rocksdb_readoptions_t,
        handle: *mut rocksdb_column_family_handle_t,
        key: *const c_char,
        keylen: usize,
        len: *mut usize,
        errptr: *mut *mut c_char,
    ) -> *mut c_char;
    pub fn rocksdb_transactiondb_get_pinned(
        db: *mut rocksdb_transactiondb_t,
        options: *const rocksdb_readoptions_t,
        key: *const c_char,
        keylen: usize,
        errptr: *mut *mut c_char,
    ) -> *mut rocksdb_pinnableslice_t;
    pub fn rocksdb_transactiondb_get_pinned_cf(
        db: *mut rocksdb_transactiondb_t,
        options: *const rocksdb_readoptions_t,
        handle: *mut rocksdb_column_family_handle_t,
        key: *const c_char,
        keylen: usize,
        errptr: *mut *mut c_char,
    ) -> *mut rocksdb_pinnableslice_t;
    pub fn rocksdb_transactiondb_get_prepared_transactions(
        db: *mut rocksdb_transactiondb_t,
        count: *mut usize,
    ) -> *mut *mut rocksdb_transaction_t;
    pub fn rocksdb_transactiondb_merge(
        db: *mut rocksdb_transactiondb_t,
        options: *const rocksdb_writeoptions_t,
        key: *const c_char,
        keylen: usize,
        value: *const c_char,
        len: usize,
        errptr: *mut *mut c_char,
    );
    pub fn rocksdb_transactiondb_merge_cf(
        db: *mut rocksdb_transactiondb_t,
        options: *const rocksdb_writeoptions_t,
        handle: *mut rocksdb_column_family_handle_t,
        key: *const c_char,
        keylen: usize,
        value: *const c_char,
        len: usize,
        errptr: *mut *mut c_char,
    );
    pub fn rocksdb_transactiondb_multi_get(
        db: *mut rocksdb_transactiondb_t,
        options: *const rocksdb_readoptions_t,
        num: usize,
        keys: *const *const c_char,
        lengths: *const usize,
        values: *mut *mut c_char,
        value_lengths: *mut usize,
        errs: *mut *mut c_char,
    );
    pub fn rocksdb_transactiondb_multi_get_cf(
        db: *mut rocksdb_transactiondb_t,
        options: *const rocksdb_readoptions_t,
        families: *const *const rocksdb_column_family_handle_t,
        num: usize,
        keys: *const *const c_char,
        lengths: *const usize,
        values: *mut *mut c_char,
        value_lengths: *mut usize,
        errs: *mut *mut c_char,
    );
    pub fn rocksdb_transactiondb_open(
        options: *const rocksdb_options_t,
        txn_options: *const rocksdb_transactiondb_options_t,
        name: *const c_char,
        errptr: *mut *mut c_char,
    ) -> *mut rocksdb_transactiondb_t;
    pub fn rocksdb_transactiondb_open_column_families(
        options: *const rocksdb_options_t,
        txn_options: *const rocksdb_transactiondb_options_t,
        name: *const c_char,
        len: c_int,
        names: *const *const c_char,
        family_options: *const *const rocksdb_options_t,
        handles: *mut *mut rocksdb_column_family_handle_t,
        errptr: *mut *mut c_char,
    ) -> *mut rocksdb_transactiondb_t;
    pub fn rocksdb_transactiondb_options_create(
    ) -> *mut rocksdb_transactiondb_options_t;
    pub fn rocksdb_transactiondb_options_destroy(
        options: *mut rocksdb_transactiondb_options_t,
    );
    pub fn rocksdb_transactiondb_options_set_default_lock_timeout(
        options: *mut rocksdb_transactiondb_options_t,
        value: i64,
    );
    pub fn rocksdb_transactiondb_options_set_max_num_locks(
        options: *mut rocksdb_transactiondb_options_t,
        value: i64,
    );
    pub fn rocksdb_transactiondb_options_set_num_stripes(
        options: *mut rocksdb_transactiondb_options_t,
        value: usize,
    );
    pub fn rocksdb_transactiondb_options_set_transaction_lock_timeout(
        options: *mut rocksdb_transactiondb_options_t,
        value: i64,
    );
    pub fn rocksdb_transactiondb_property_int(
        db: *mut rocksdb_transactiondb_t,
        name: *const c_char,
        out: *mut u64,
    ) -> c_int;
    pub fn rocksdb_transactiondb_property_value(
        db: *mut rocksdb_transactiondb_t,
        name: *const c_char,
    ) -> *mut c_char;
    pub fn rocksdb_transactiondb_put(
        db: *mut rocksdb_transactiondb_t,
        options: *const rocksdb_writeoptions_t,
        key: *const c_char,
        keylen: usize,
        value: *const c_char,
        len: usize,
        errptr: *mut *mut c_char,
    );
    pub fn rocksdb_transactiondb_put_cf(
        db: *mut rocksdb_transactiondb_t,
        options: *const rocksdb_writeoptions_t,
        handle: *mut rocksdb_column_family_handle_t,
        key: *const c_char,
        keylen: usize,
        value: *const c_char,
        len: usize,
        errptr: *mut *mut c_char,
    );
    pub fn rocksdb_transactiondb_release_snapshot(
        db: *mut rocksdb_transactiondb_t,
        snapshot: *const rocksdb_snapshot_t,
    );
    pub fn rocksdb_transactiondb_write(
        db: *mut rocksdb_transactiondb_t,
        options: *const rocksdb_writeoptions_t,
        batch: *mut rocksdb_writebatch_t,
        errptr: *mut *mut c_char,
    );
    pub fn rocksdb_try_catch_up_with_primary(
        db: *mut rocksdb_t,
        errptr: *mut *mut c_char,
    );
    pub fn rocksdb_universal_compaction_options_create(
    ) -> *mut rocksdb_universal_compaction_options_t;
    pub fn rocksdb_universal_compaction_options_destroy(
        options: *mut rocksdb_universal_compaction_options_t,
    );
    pub fn rocksdb_universal_compaction_options_get_compression_size_percent(
        options: *mut rocksdb_universal_compaction_options_t,
    ) -> c_int;
    pub fn rocksdb_universal_compaction_options_get_max_merge_width(
        options: *mut rocksdb_universal_compaction_options_t,
    ) -> c_int;
    pub fn rocksdb_universal_compaction_options_get_max_size_amplification_percent(
        options: *mut rocksdb_universal_compaction_options_t,
    ) -> c_int;
    pub fn rocksdb_universal_compaction_options_get_min_merge_width(
        options: *mut rocksdb_universal_compaction_options_t,
    ) -> c_int;
    pub fn rocksdb_universal_compaction_options_get_size_ratio(
        options: *mut rocksdb_universal_compaction_options_t,
    ) -> c_int;
    pub fn rocksdb_universal_compaction_options_get_stop_style(
        options: *mut rocksdb_universal_compaction_options_t,
    ) -> c_int;
    pub fn rocksdb_universal_compaction_options_set_compression_size_percent(
        options: *mut rocksdb_universal_compaction_options_t,
        value: c_int,
    );
    pub fn rocksdb_universal_compaction_options_set_max_merge_width(
        options: *mut rocksdb_universal_compaction_options_t,
        value: c_int,
    );
    pub fn rocksdb_universal_compaction_options_set_max_size_amplification_percent(
        options: *mut rocksdb_universal_compaction_options_t,
        value: c_int,
    );
    pub fn rocksdb_universal_compaction_options_set_min_merge_width(
        options: *mut rocksdb_universal_compaction_options_t,
        value: c_int,
    );
    pub fn rocksdb_universal_compaction_options_set_size_ratio(
        options: *mut rocksdb_universal_compaction_options_t,
        value: c_int,
    );
    pub fn rocksdb_universal_compaction_options_set_stop_style(
        options: *mut rocksdb_universal_compaction_options_t,
        value: c_int,
    );
    pub fn rocksdb_wait_for_compact(
        db: *mut rocksdb_t,
        options: *mut rocksdb_wait_for_compact_options_t,
        errptr: *mut *mut c_char,
    );
    pub fn rocksdb_wait_for_compact_options_create(
    ) -> *mut rocksdb_wait_for_compact_options_t;
    pub fn rocksdb_wait_for_compact_options_destroy(
        options: *mut rocksdb_wait_for_compact_options_t,
    );
    pub fn rocksdb_wait_for_compact_options_get_abort_on_pause(
        options: *mut rocksdb_wait_for_compact_options_t,
    ) -> c_uchar;
    pub fn rocksdb_wait_for_compact_options_get_close_db(
        options: *mut rocksdb_wait_for_compact_options_t,
    ) -> c_uchar;
    pub fn rocksdb_wait_for_compact_options_get_flush(
        options: *mut rocksdb_wait_for_compact_options_t,
    ) -> c_uchar;
    pub fn rocksdb_wait_for_compact_options_get_timeout(
        options: *mut rocksdb_wait_for_compact_options_t,
    ) -> u64;
    pub fn rocksdb_wait_for_compact_options_set_abort_on_pause(
        options: *mut rocksdb_wait_for_compact_options_t,
        value: c_uchar,
    );
    pub fn rocksdb_wait_for_compact_options_set_close_db(
        options: *mut rocksdb_wait_for_compact_options_t,
        value: c_uchar,
    );
    pub fn rocksdb_wait_for_compact_options_set_flush(
        options: *mut rocksdb_wait_for_compact_options_t,
        value: c_uchar,
    );
    pub fn rocksdb_wait_for_compact_options_set_timeout(
        options: *mut rocksdb_wait_for_compact_options_t,
        value: u64,
    );
    pub fn rocksdb_wal_iter_destroy(
        iter: *const rocksdb_wal_iterator_t,
    );
    pub fn rocksdb_wal_iter_get_batch(
        iter: *const rocksdb_wal_iterator_t,
        sequence: *mut u64,
    ) -> *mut rocksdb_writebatch_t;
    pub fn rocksdb_wal_iter_next(
        iter: *mut rocksdb_wal_iterator_t,
    );
    pub fn rocksdb_wal_iter_status(
        iter: *const rocksdb_wal_iterator_t,
        errptr: *mut *mut c_char,
    );
    pub fn rocksdb_wal_iter_valid(
        iter: *const rocksdb_wal_iterator_t,
    ) -> c_uchar;
    pub fn rocksdb_widecolumns_destroy(
        columns: *mut rocksdb_widecolumns_t,
    );
    pub fn rocksdb_widecolumns_name(
        columns: *const rocksdb_widecolumns_t,
        n: usize,
        len: *mut usize,
    ) -> *const c_char;
    pub fn rocksdb_widecolumns_size(
        columns: *const rocksdb_widecolumns_t,
    ) -> usize;
    pub fn rocksdb_widecolumns_value(
        columns: *const rocksdb_widecolumns_t,
        n: usize,
        len: *mut usize,
    ) -> *const c_char;
    pub fn rocksdb_write(
        db: *mut rocksdb_t,
        options: *const rocksdb_writeoptions_t,
        batch: *mut rocksdb_writebatch_t,
        errptr: *mut *mut c_char,
    );
    pub fn rocksdb_write_buffer_manager_buffer_size(
        manager: *mut rocksdb_write_buffer_manager_t,
    ) -> usize;
    pub fn rocksdb_write_buffer_manager_cost_to_cache(
        manager: *mut rocksdb_write_buffer_manager_t,
    ) -> bool;
    pub fn rocksdb_write_buffer_manager_create(
        size: usize,
        allow_stall: bool,
    ) -> *mut rocksdb_write_buffer_manager_t;
    pub fn rocksdb_write_buffer_manager_create_with_cache(
        size: usize,
        cache: *const rocksdb_cache_t,
        allow_stall: bool,
    ) -> *mut rocksdb_write_buffer_manager_t;
    pub fn rocksdb_write_buffer_manager_destroy(
        manager: *mut rocksdb_write_buffer_manager_t,
    );
    pub fn rocksdb_write_buffer_manager_dummy_entries_in_cache_usage(
        manager: *mut rocksdb_write_buffer_manager_t,
    ) -> usize;
    pub fn rocksdb_write_buffer_manager_enabled(
        manager: *mut rocksdb_write_buffer_manager_t,
    ) -> bool;
    pub fn rocksdb_write_buffer_manager_memory_usage(
        manager: *mut rocksdb_write_buffer_manager_t,
    ) -> usize;
    pub fn rocksdb_write_buffer_manager_mutable_memtable_memory_usage(
        manager: *mut rocksdb_write_buffer_manager_t,
    ) -> usize;
    pub fn rocksdb_write_buffer_manager_set_allow_stall(
        manager: *mut rocksdb_write_buffer_manager_t,
        allow: bool,
    );
    pub fn rocksdb_write_buffer_manager_set_buffer_size(
        manager: *mut rocksdb_write_buffer_manager_t,
        size: usize,
    );
    pub fn rocksdb_write_writebatch_wi(
        db: *mut rocksdb_t,
        options: *const rocksdb_writeoptions_t,
        batch: *mut rocksdb_writebatch_wi_t,
        errptr: *mut *mut c_char,
    );
    pub fn rocksdb_writebatch_clear(
        batch: *mut rocksdb_writebatch_t,
    );
    pub fn rocksdb_writebatch_count(
        batch: *mut rocksdb_writebatch_t,
    ) -> c_int;
    pub fn rocksdb_writebatch_create(
    ) -> *mut rocksdb_writebatch_t;
    pub fn rocksdb_writebatch_create_from(
        data: *const c_char,
        len: usize,
    ) -> *mut rocksdb_writebatch_t;
    pub fn rocksdb_writebatch_create_with_params(
        reserved: usize,
        max_bytes: usize,
        protected: usize,
        ts_size: usize,
    ) -> *mut rocksdb_writebatch_t;
    pub fn rocksdb_writebatch_data(
        batch: *mut rocksdb_writebatch_t,
        len: *mut usize,
    ) -> *const c_char;
    pub fn rocksdb_writebatch_delete(
        batch: *mut rocksdb_writebatch_t,
        key: *const c_char,
        keylen: usize,
    );
    pub fn rocksdb_writebatch_delete_cf(
        batch: *mut rocksdb_writebatch_t,
        handle: *mut rocksdb_column_family_handle_t,
        key: *const c_char,
        keylen: usize,
    );
    pub fn rocksdb_writebatch_delete_cf_with_ts(
        batch: *mut rocksdb_writebatch_t,
        handle: *mut rocksdb_column_family_handle_t,
        key: *const c_char,
        keylen: usize,
        ts: *const c_char,
        tslen: usize,
    );
    pub fn rocksdb_writebatch_delete_range(
        batch: *mut rocksdb_writebatch_t,
        start: *const c_char,
        start_len: usize,
        end: *const c_char,
        end_len: usize,
    );
    pub fn rocksdb_writebatch_delete_range_cf(
        batch: *mut rocksdb_writebatch_t,
        handle: *mut rocksdb_column_family_handle_t,
        start: *const c_char,
        start_len: usize,
        end: *const c_char,
        end_len: usize,
    );
    pub fn rocksdb_writebatch_delete_rangev(
        batch: *mut rocksdb_writebatch_t,
        num: c_int,
        starts: *const *const c_char,
        start_lengths: *const usize,
        ends: *const *const c_char,
        end_lengths: *const usize,
    );
    pub fn rocksdb_writebatch_delete_rangev_cf(
        batch: *mut rocksdb_writebatch_t,
        handle: *mut rocksdb_column_family_handle_t,
        num: c_int,
        starts: *const *const c_char,
        start_lengths: *const usize,
        ends: *const *const c_char,
        end_lengths: *const usize,
    );
    pub fn rocksdb_writebatch_deletev(
        batch: *mut rocksdb_writebatch_t,
        num_keys: c_int,
        keys: *const *const c_char,
        key_lengths: *const usize,
    );
    pub fn rocksdb_writebatch_deletev_cf(
        batch: *mut rocksdb_writebatch_t,
        handle: *mut rocksdb_column_family_handle_t,
        num_keys: c_int,
        keys: *const *const c_char,
        key_lengths: *const usize,
    );
    pub fn rocksdb_writebatch_destroy(
        batch: *mut rocksdb_writebatch_t,
    );
    pub fn rocksdb_writebatch_iterate(
        batch: *mut rocksdb_writebatch_t,
        state: *mut c_void,
        put: Option<unsafe extern "C" fn(*mut c_void, *const c_char, usize, *const c_char, usize)>,
        deleted: Option<unsafe extern "C" fn(*mut c_void, *const c_char, usize)>,
    );
    pub fn rocksdb_writebatch_iterate_cf(
        batch: *mut rocksdb_writebatch_t,
        state: *mut c_void,
        put: Option<unsafe extern "C" fn(*mut c_void, u32, *const c_char, usize, *const c_char, usize)>,
        deleted: Option<unsafe extern "C" fn(*mut c_void, u32, *const c_char, usize)>,
        merge: Option<unsafe extern "C" fn(*mut c_void, u32, *const c_char, usize, *const c_char, usize)>,
    );
    pub fn rocksdb_writebatch_iterate_cf_ld(
        batch: *mut rocksdb_writebatch_t,
        state: *mut c_void,
        put: Option<unsafe extern "C" fn(*mut c_void, u32, *const c_char, usize, *const c_char, usize)>,
        deleted: Option<unsafe extern "C" fn(*mut c_void, u32, *const c_char, usize)>,
        merge: Option<unsafe extern "C" fn(*mut c_void, u32, *const c_char, usize, *const c_char, usize)>,
        log_data: Option<unsafe extern "C" fn(*mut c_void, *const c_char, usize)>,
    );
    pub fn rocksdb_writebatch_iterate_ld(
        batch: *mut rocksdb_writebatch_t,
        state: *mut c_void,
        put: Option<unsafe extern "C" fn(*mut c_void, *const c_char, usize, *const c_char, usize)>,
        deleted: Option<unsafe extern "C" fn(*mut c_void, *const c_char, usize)>,
        log_data: Option<unsafe extern "C" fn(*mut c_void, *const c_char, usize)>,
    );
    pub fn rocksdb_writebatch_merge(
        batch: *mut rocksdb_writebatch_t,
        key: *const c_char,
        keylen: usize,
        value: *const c_char,
        len: usize,
    );
    pub fn rocksdb_writebatch_merge_cf(
        batch: *mut rocksdb_writebatch_t,
        handle: *mut rocksdb_column_family_handle_t,
        key: *const c_char,
        keylen: usize,
        value: *const c_char,
        len: usize,
    );
    pub fn rocksdb_writebatch_mergev(
        batch: *mut rocksdb_writebatch_t,
        num_keys: c_int,
        keys: *const *const c_char,
        key_lengths: *const usize,
        num_values: c_int,
        values: *const *const c_char,
        value_lengths: *const usize,
    );
    pub fn rocksdb_writebatch_mergev_cf(
        batch: *mut rocksdb_writebatch_t,
        handle: *mut rocksdb_column_family_handle_t,
        num_keys: c_int,
        keys: *const *const c_char,
        key_lengths: *const usize,
        num_values: c_int,
        values: *const *const c_char,
        value_lengths: *const usize,
    );
    pub fn rocksdb_writebatch_pop_save_point(
        batch: *mut rocksdb_writebatch_t,
        errptr: *mut *mut c_char,
    );
    pub fn rocksdb_writebatch_put(
        batch: *mut rocksdb_writebatch_t,
        key: *const c_char,
        keylen: usize,
        value: *const c_char,
        len: usize,
    );
    pub fn rocksdb_writebatch_put_cf(
        batch: *mut rocksdb_writebatch_t,
        handle: *mut rocksdb_column_family_handle_t,
        key: *const c_char,
        keylen: usize,
        value: *const c_char,
        len: usize,
    );
    pub fn rocksdb_writebatch_put_cf_with_ts(
        batch: *mut rocksdb_writebatch_t,
        handle: *mut rocksdb_column_family_handle_t,
        key: *const c_char,
        keylen: usize,
        ts: *const c_char,
        tslen: usize,
        value: *const c_char,
        len: usize,
    );
    pub fn rocksdb_writebatch_put_entity_cf(
        batch: *mut rocksdb_writebatch_t,
        handle: *mut rocksdb_column_family_handle_t,
        key: *const c_char,
        keylen: usize,
        num_columns: usize,
        names: *const *const c_char,
        name_lengths: *const usize,
        values: *const *const c_char,
        value_lengths: *const usize,
        errptr: *mut *mut c_char,
    );
    pub fn rocksdb_writebatch_put_log_data(
        batch: *mut rocksdb_writebatch_t,
        data: *const c_char,
        len: usize,
    );
    pub fn rocksdb_writebatch_putv(
        batch: *mut rocksdb_writebatch_t,
        num_keys: c_int,
        keys: *const *const c_char,
        key_lengths: *const usize,
        num_values: c_int,
        values: *const *const c_char,
        value_lengths: *const usize,
    );
    pub fn rocksdb_writebatch_putv_cf(
        batch: *mut rocksdb_writebatch_t,
        handle: *mut rocksdb_column_family_handle_t,
        num_keys: c_int,
        keys: *const *const c_char,
        key_lengths: *const usize,
        num_values: c_int,
        values: *const *const c_char,
        value_lengths: *const usize,
    );
    pub fn rocksdb_writebatch_rollback_to_save_point(
        batch: *mut rocksdb_writebatch_t,
        errptr: *mut *mut c_char,
    );
    pub fn rocksdb_writebatch_set_save_point(
        batch: *mut rocksdb_writebatch_t,
    );
    pub fn rocksdb_writebatch_singledelete(
        batch: *mut rocksdb_writebatch_t,
        key: *const c_char,
        keylen: usize,
    );
    pub fn rocksdb_writebatch_singledelete_cf(
        batch: *mut rocksdb_writebatch_t,
        handle: *mut rocksdb_column_family_handle_t,
        key: *const c_char,
        keylen: usize,
    );
    pub fn rocksdb_writebatch_singledelete_cf_with_ts(
        batch: *mut rocksdb_writebatch_t,
        handle: *mut rocksdb_column_family_handle_t,
        key: *const c_char,
        keylen: usize,
        ts: *const c_char,
        tslen: usize,
    );
    pub fn rocksdb_writebatch_update_timestamps(
        batch: *mut rocksdb_writebatch_t,
        ts: *const c_char,
        tslen: usize,
        state: *mut c_void,
        size_of: Option<unsafe extern "C" fn(*mut c_void, u32) -> usize>,
        errptr: *mut *mut c_char,
    );
    pub fn rocksdb_writebatch_wi_clear(
        batch: *mut rocksdb_writebatch_wi_t,
    );
    pub fn rocksdb_writebatch_wi_count(
        batch: *mut rocksdb_writebatch_wi_t,
    ) -> c_int;
    pub fn rocksdb_writebatch_wi_create(
        reserved: usize,
        overwrite_keys: c_uchar,
    ) -> *mut rocksdb_writebatch_wi_t;
    pub fn rocksdb_writebatch_wi_create_from(
        data: *const c_char,
        len: usize,
    ) -> *mut rocksdb_writebatch_wi_t;
    pub fn rocksdb_writebatch_wi_create_iterator_with_base(
        batch: *mut rocksdb_writebatch_wi_t,
        base: *mut rocksdb_iterator_t,
    ) -> *mut rocksdb_iterator_t;
    pub fn rocksdb_writebatch_wi_create_iterator_with_base_cf(
        batch: *mut rocksdb_writebatch_wi_t,
        base: *mut rocksdb_iterator_t,
        handle: *mut rocksdb_column_family_handle_t,
    ) -> *mut rocksdb_iterator_t;
    pub fn rocksdb_writebatch_wi_create_iterator_with_base_cf_readopts(
        batch: *mut rocksdb_writebatch_wi_t,
        base: *mut rocksdb_iterator_t,
        handle: *mut rocksdb_column_family_handle_t,
        options: *const rocksdb_readoptions_t,
    ) -> *mut rocksdb_iterator_t;
    pub fn rocksdb_writebatch_wi_create_iterator_with_base_readopts(
        batch: *mut rocksdb_writebatch_wi_t,
        base: *mut rocksdb_iterator_t,
        options: *const rocksdb_readoptions_t,
    ) -> *mut rocksdb_iterator_t;
    pub fn rocksdb_writebatch_wi_create_with_params(
        comparator: *mut rocksdb_comparator_t,
        reserved: usize,
        overwrite_keys: c_uchar,
        max_bytes: usize,
        protected: usize,
    ) -> *mut rocksdb_writebatch_wi_t;
    pub fn rocksdb_writebatch_wi_data(
        batch: *mut rocksdb_writebatch_wi_t,
        len: *mut usize,
    ) -> *const c_char;
    pub fn rocksdb_writebatch_wi_delete(
        batch: *mut rocksdb_writebatch_wi_t,
        key: *const c_char,
        keylen: usize,
    );
    pub fn rocksdb_writebatch_wi_delete_cf(
        batch: *mut rocksdb_writebatch_wi_t,
        handle: *mut rocksdb_column_family_handle_t,
        key: *const c_char,
        keylen: usize,
    );
    pub fn rocksdb_writebatch_wi_delete_range(
        batch: *mut rocksdb_writebatch_wi_t,
        start: *const c_char,
        start_len: usize,
        end: *const c_char,
        end_len: usize,
    );
    pub fn rocksdb_writebatch_wi_delete_range_cf(
        batch: *mut rocksdb_writebatch_wi_t,
        handle: *mut rocksdb_column_family_handle_t,
        start: *const c_char,
        start_len: usize,
        end: *const c_char,
        end_len: usize,
    );
    pub fn rocksdb_writebatch_wi_delete_rangev(
        batch: *mut rocksdb_writebatch_wi_t,
        num: c_int,
        starts: *const *const c_char,
        start_lengths: *const usize,
        ends: *const *const c_char,
        end_lengths: *const usize,
    );
    pub fn rocksdb_writebatch_wi_delete_rangev_cf(
        batch: *mut rocksdb_writebatch_wi_t,
        handle: *mut rocksdb_column_family_handle_t,
        num: c_int,
        starts: *const *const c_char,
        start_lengths: *const usize,
        ends: *const *const c_char,
        end_lengths: *const usize,
    );
    pub fn rocksdb_writebatch_wi_deletev(
        batch: *mut rocksdb_writebatch_wi_t,
        num_keys: c_int,
        keys: *const *const c_char,
        key_lengths: *const usize,
    );
    pub fn rocksdb_writebatch_wi_deletev_cf(
        batch: *mut rocksdb_writebatch_wi_t,
        handle: *mut rocksdb_column_family_handle_t,
        num_keys: c_int,
        keys: *const *const c_char,
        key_lengths: *const usize,
    );
    pub fn rocksdb_writebatch_wi_destroy(
        batch: *mut rocksdb_writebatch_wi_t,
    );
    pub fn rocksdb_writebatch_wi_get_from_batch(
        batch: *mut rocksdb_writebatch_wi_t,
        options: *const rocksdb_options_t,
        key: *const c_char,
        keylen: usize,
        len: *mut usize,
        errptr: *mut *mut c_char,
    ) -> *mut c_char;
    pub fn rocksdb_writebatch_wi_get_from_batch_and_db(
        batch: *mut rocksdb_writebatch_wi_t,
        db: *mut rocksdb_t,
        options: *const rocksdb_readoptions_t,
        key: *const c_char,
        keylen: usize,
        len: *mut usize,
        errptr: *mut *mut c_char,
    ) -> *mut c_char;
    pub fn rocksdb_writebatch_wi_get_from_batch_and_db_cf(
        batch: *mut rocksdb_writebatch_wi_t,
        db: *mut rocksdb_t,
        options: *const rocksdb_readoptions_t,
        handle: *mut rocksdb_column_family_handle_t,
        key: *const c_char,
        keylen: usize,
        len: *mut usize,
        errptr: *mut *mut c_char,
    ) -> *mut c_char;
    pub fn rocksdb_writebatch_wi_get_from_batch_cf(
        batch: *mut rocksdb_writebatch_wi_t,
        options: *const rocksdb_options_t,
        handle: *mut rocksdb_column_family_handle_t,
        key: *const c_char,
        keylen: usize,
        len: *mut usize,
        errptr: *mut *mut c_char,
    ) -> *mut c_char;
    pub fn rocksdb_writebatch_wi_get_pinned_from_batch_and_db(
        batch: *mut rocksdb_writebatch_wi_t,
        db: *mut rocksdb_t,
        options: *const rocksdb_readoptions_t,
        key: *const c_char,
        keylen: usize,
        errptr: *mut *mut c_char,
    ) -> *mut rocksdb_pinnableslice_t;
    pub fn rocksdb_writebatch_wi_get_pinned_from_batch_and_db_cf(
        batch: *mut rocksdb_writebatch_wi_t,
        db: *mut rocksdb_t,
        options: *const rocksdb_readoptions_t,
        handle: *mut rocksdb_column_family_handle_t,
        key: *const c_char,
        keylen: usize,
        errptr: *mut *mut c_char,
    ) -> *mut rocksdb_pinnableslice_t;
    pub fn rocksdb_writebatch_wi_iterate(
        batch: *mut rocksdb_writebatch_wi_t,
        state: *mut c_void,
        put: Option<unsafe extern "C" fn(*mut c_void, *const c_char, usize, *const c_char, usize)>,
        deleted: Option<unsafe extern "C" fn(*mut c_void, *const c_char, usize)>,
    );
    pub fn rocksdb_writebatch_wi_merge(
        batch: *mut rocksdb_writebatch_wi_t,
        key: *const c_char,
        keylen: usize,
        value: *const c_char,
        len: usize,
    );
    pub fn rocksdb_writebatch_wi_merge_cf(
        batch: *mut rocksdb_writebatch_wi_t,
        handle: *mut rocksdb_column_family_handle_t,
        key: *const c_char,
        keylen: usize,
        value: *const c_char,
        len: usize,
    );
    pub fn rocksdb_writebatch_wi_mergev(
        batch: *mut rocksdb_writebatch_wi_t,
        num_keys: c_int,
        keys: *const *const c_char,
        key_lengths: *const usize,
        num_values: c_int,
        values: *const *const c_char,
        value_lengths: *const usize,
    );
    pub fn rocksdb_writebatch_wi_mergev_cf(
        batch: *mut rocksdb_writebatch_wi_t,
        handle: *mut rocksdb_column_family_handle_t,
        num_keys: c_int,
        keys: *const *const c_char,
        key_lengths: *const usize,
        num_values: c_int,
        values: *const *const c_char,
        value_lengths: *const usize,
    );
    pub fn rocksdb_writebatch_wi_put(
        batch: *mut rocksdb_writebatch_wi_t,
        key: *const c_char,
        keylen: usize,
        value: *const c_char,
        len: usize,
    );
    pub fn rocksdb_writebatch_wi_put_cf(
        batch: *mut rocksdb_writebatch_wi_t,
        handle: *mut rocksdb_column_family_handle_t,
        key: *const c_char,
        keylen: usize,
        value: *const c_char,
        len: usize,
    );
    pub fn rocksdb_writebatch_wi_put_log_data(
        batch: *mut rocksdb_writebatch_wi_t,
        data: *const c_char,
        len: usize,
    );
    pub fn rocksdb_writebatch_wi_putv(
        batch: *mut rocksdb_writebatch_wi_t,
        num_keys: c_int,
        keys: *const *const c_char,
        key_lengths: *const usize,
        num_values: c_int,
        values: *const *const c_char,
        value_lengths: *const usize,
    );
    pub fn rocksdb_writebatch_wi_putv_cf(
        batch: *mut rocksdb_writebatch_wi_t,
        handle: *mut rocksdb_column_family_handle_t,
        num_keys: c_int,
        keys: *const *const c_char,
        key_lengths: *const usize,
        num_values: c_int,
        values: *const *const c_char,
        value_lengths: *const usize,
    );
    pub fn rocksdb_writebatch_wi_rollback_to_save_point(
        batch: *mut rocksdb_writebatch_wi_t,
        errptr: *mut *mut c_char,
    );
    pub fn rocksdb_writebatch_wi_set_save_point(
        batch: *mut rocksdb_writebatch_wi_t,
    );
    pub fn rocksdb_writebatch_wi_singledelete(
        batch: *mut rocksdb_writebatch_wi_t,
        key: *const c_char,
        keylen: usize,
    );
    pub fn rocksdb_writebatch_wi_singledelete_cf(
        batch: *mut rocksdb_writebatch_wi_t,
        handle: *mut rocksdb_column_family_handle_t,
        key: *const c_char,
        keylen: usize,
    );
    pub fn rocksdb_writebatch_wi_update_timestamps(
        batch: *mut rocksdb_writebatch_wi_t,
        ts: *const c_char,
        tslen: usize,
        state: *mut c_void,
        size_of: Option<unsafe extern "C" fn(*mut c_void, u32) -> usize>,
        errptr: *mut *mut c_char,
    );
    pub fn rocksdb_writeoptions_create(
    ) -> *mut rocksdb_writeoptions_t;
    pub fn rocksdb_writeoptions_destroy(
        options: *mut rocksdb_writeoptions_t,
    );
    pub fn rocksdb_writeoptions_disable_WAL(
        options: *mut rocksdb_writeoptions_t,
        value: c_int,
    );
    pub fn rocksdb_writeoptions_get_disable_WAL(
        options: *mut rocksdb_writeoptions_t,
    ) -> c_uchar;
    pub fn rocksdb_writeoptions_get_ignore_missing_column_families(
        options: *mut rocksdb_writeoptions_t,
    ) -> c_uchar;
    pub fn rocksdb_writeoptions_get_low_pri(
        options: *mut rocksdb_writeoptions_t,
    ) -> c_uchar;
    pub fn rocksdb_writeoptions_get_memtable_insert_hint_per_batch(
        options: *mut rocksdb_writeoptions_t,
    ) -> c_uchar;
    pub fn rocksdb_writeoptions_get_no_slowdown(
        options: *mut rocksdb_writeoptions_t,
    ) -> c_uchar;
    pub fn rocksdb_writeoptions_get_sync(
        options: *mut rocksdb_writeoptions_t,
    ) -> c_uchar;
    pub fn rocksdb_writeoptions_set_ignore_missing_column_families(
        options: *mut rocksdb_writeoptions_t,
        value: c_uchar,
    );
    pub fn rocksdb_writeoptions_set_low_pri(
        options: *mut rocksdb_writeoptions_t,
        value: c_uchar,
    );
    pub fn rocksdb_writeoptions_set_memtable_insert_hint_per_batch(
        options: *mut rocksdb_writeoptions_t,
        value: c_uchar,
    );
    pub fn rocksdb_writeoptions_set_no_slowdown(
        options: *mut rocksdb_writeoptions_t,
        value: c_uchar,
    );
    pub fn rocksdb_writeoptions_set_sync(
        options: *mut rocksdb_writeoptions_t,
        value: c_uchar,
    );
    pub fn rocksdb_writestallinfo_cf_name(
        info: *const rocksdb_writestallinfo_t,
        len: *mut usize,
    ) -> *const c_char;
    pub fn rocksdb_writestallinfo_cur(
        info: *const rocksdb_writestallinfo_t,
    ) -> *const rocksdb_writestallcondition_t;
    pub fn rocksdb_writestallinfo_prev(
        info: *const rocksdb_writestallinfo_t,
    ) -> *const rocksdb_writestallcondition_t;
}
