// What SurrealDB's fork adds. Written by scripts/c-header.

unsafe extern "C" {
    pub fn rocksdb_block_based_options_set_initial_auto_readahead_size(
        options: *mut rocksdb_block_based_table_options_t,
        value: usize,
    );
    pub fn rocksdb_block_based_options_set_max_auto_readahead_size(
        options: *mut rocksdb_block_based_table_options_t,
        value: usize,
    );
    pub fn rocksdb_block_based_options_set_num_file_reads_for_auto_readahead(
        options: *mut rocksdb_block_based_table_options_t,
        value: u64,
    );
    pub fn rocksdb_delete_range_cf_with_ts(
        db: *mut rocksdb_t,
        options: *const rocksdb_writeoptions_t,
        handle: *mut rocksdb_column_family_handle_t,
        start: *const c_char,
        start_len: usize,
        end: *const c_char,
        end_len: usize,
        ts: *const c_char,
        tslen: usize,
        errptr: *mut *mut c_char,
    );
    pub fn rocksdb_delete_range_with_ts(
        db: *mut rocksdb_t,
        options: *const rocksdb_writeoptions_t,
        start: *const c_char,
        start_len: usize,
        end: *const c_char,
        end_len: usize,
        ts: *const c_char,
        tslen: usize,
        errptr: *mut *mut c_char,
    );
    pub fn rocksdb_options_get_initial_table_load_limit(
        options: *mut rocksdb_options_t,
    ) -> c_int;
    pub fn rocksdb_options_set_initial_table_load_limit(
        options: *mut rocksdb_options_t,
        limit: c_int,
    );
    pub fn rocksdb_resume(
        db: *mut rocksdb_t,
        errptr: *mut *mut c_char,
    );
    pub fn rocksdb_writebatch_delete_range_cf_with_ts(
        batch: *mut rocksdb_writebatch_t,
        handle: *mut rocksdb_column_family_handle_t,
        start: *const c_char,
        start_len: usize,
        end: *const c_char,
        end_len: usize,
        ts: *const c_char,
        tslen: usize,
    );
}
