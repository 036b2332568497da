//! Functions that are there to be linked, and refuse by their own names. docs/c-api-absent.tsv says
//! why.

use super::batches::rocksdb_writebatch_t;
use super::indexed_batches::rocksdb_writebatch_wi_t;
use crate::border::{Bytes, ErrPtr, List, Nothing, Out, Text, error, exports};
use crate::callbacks::{Deleted, DeletedCf, Put, PutCf, State};
use crate::db::rocksdb_t;
use crate::families::rocksdb_column_family_handle_t;
use crate::listeners::{
    rocksdb_compactionjobinfo_t, rocksdb_memtableinfo_t, rocksdb_status_ptr_t,
    rocksdb_subcompactionjobinfo_t,
};
use crate::options::{
    rocksdb_cache_t, rocksdb_hyper_clock_cache_options_t, rocksdb_lru_cache_options_t,
    rocksdb_options_t, rocksdb_write_buffer_manager_t, rocksdb_writeoptions_t,
};
use crate::transaction::rocksdb_transaction_t;
use whitewater::{Error, ErrorKind};

/// An allocator; there are none to choose.
pub struct rocksdb_memory_allocator_t(());

type TimestampSize = extern "C" fn(State, u32) -> usize;
type Db<'a> = Option<&'a rocksdb_t>;
type Handle<'a> = Option<&'a rocksdb_column_family_handle_t>;
type Writes<'a> = Option<&'a rocksdb_writeoptions_t>;

fn refusal(function: &str) -> Error {
    error(ErrorKind::NotSupported, function)
}

pub(super) fn refuse<R: Nothing>(function: &str, errptr: ErrPtr) -> R {
    errptr.run(|| Err(refusal(function)))
}

/// Refuses where C is told of no errors: on standard error, as there is no other place.
pub(super) fn refuse_aloud(function: &str) {
    eprintln!("{}", refusal(function));
}

/// Declares functions that refuse aloud.
macro_rules! refused {
    ($($name:ident($($arg:ident: $ty:ty),*) $(-> $ret:ty)?;)*) => {
        $crate::border::exports! {$(
            fn $name($($arg: $ty),*) $(-> $ret)? {
                $crate::exports::refused::refuse_aloud(stringify!($name));
                $crate::border::Nothing::nothing()
            }
        )*}
    };
}
pub(super) use refused;

refused! {
    rocksdb_cache_get_occupancy_count(_cache: Option<&rocksdb_cache_t>) -> usize;
    rocksdb_cache_get_table_address_count(_cache: Option<&rocksdb_cache_t>) -> usize;
    rocksdb_hyper_clock_cache_options_set_memory_allocator(
        _options: Option<&rocksdb_hyper_clock_cache_options_t>,
        _allocator: Option<&rocksdb_memory_allocator_t>
    );
    rocksdb_memtableinfo_earliest_seqno(_info: Option<&rocksdb_memtableinfo_t>) -> u64;
    rocksdb_memtableinfo_first_seqno(_info: Option<&rocksdb_memtableinfo_t>) -> u64;
    rocksdb_compactionjobinfo_num_input_files_at_output_level(
        _info: Option<&rocksdb_compactionjobinfo_t>
    ) -> usize;
    rocksdb_subcompactionjobinfo_thread_id(
        _info: Option<&rocksdb_subcompactionjobinfo_t>
    ) -> u64;
    rocksdb_reset_status(_status: Option<&rocksdb_status_ptr_t>);
    rocksdb_write_buffer_manager_dummy_entries_in_cache_usage(
        _manager: Option<&rocksdb_write_buffer_manager_t>
    ) -> usize;
    rocksdb_write_buffer_manager_mutable_memtable_memory_usage(
        _manager: Option<&rocksdb_write_buffer_manager_t>
    ) -> usize;
    rocksdb_writebatch_iterate_ld(
        _batch: Option<&rocksdb_writebatch_t>, _state: State, _put: Put, _deleted: Deleted,
        _log_data: Deleted
    );
    rocksdb_writebatch_iterate_cf_ld(
        _batch: Option<&rocksdb_writebatch_t>, _state: State, _put: PutCf, _deleted: DeletedCf,
        _merge: PutCf, _log_data: Deleted
    );
}

exports! {
    fn rocksdb_writebatch_update_timestamps(
        _batch: Option<&rocksdb_writebatch_t>, _ts: Bytes, _tslen: usize, _state: State,
        _size_of: TimestampSize, errptr: ErrPtr,
    ) {
        refuse("rocksdb_writebatch_update_timestamps", errptr)
    }
    fn rocksdb_writebatch_wi_update_timestamps(
        _batch: Option<&rocksdb_writebatch_wi_t>, _ts: Bytes, _tslen: usize, _state: State,
        _size_of: TimestampSize, errptr: ErrPtr,
    ) {
        refuse("rocksdb_writebatch_wi_update_timestamps", errptr)
    }
    fn rocksdb_jemalloc_nodump_allocator_create(
        errptr: ErrPtr,
    ) -> Option<Box<rocksdb_memory_allocator_t>> {
        refuse("rocksdb_jemalloc_nodump_allocator_create", errptr)
    }
    fn rocksdb_memory_allocator_destroy(_allocator: Option<Box<rocksdb_memory_allocator_t>>) {}
    fn rocksdb_lru_cache_options_set_memory_allocator(
        _options: Option<&rocksdb_lru_cache_options_t>,
        _allocator: Option<&rocksdb_memory_allocator_t>,
    ) {
        refuse_aloud("rocksdb_lru_cache_options_set_memory_allocator");
    }
    fn rocksdb_singledelete_with_ts(
        _db: Db<'_>, _options: Writes<'_>, _key: Bytes, _keylen: usize, _ts: Bytes, _tslen: usize,
        errptr: ErrPtr,
    ) {
        refuse("rocksdb_singledelete_with_ts", errptr)
    }
    fn rocksdb_singledelete_cf_with_ts(
        _db: Db<'_>, _options: Writes<'_>, _handle: Handle<'_>, _key: Bytes, _keylen: usize,
        _ts: Bytes, _tslen: usize, errptr: ErrPtr,
    ) {
        refuse("rocksdb_singledelete_cf_with_ts", errptr)
    }
    fn rocksdb_writebatch_singledelete_cf_with_ts(
        _batch: Option<&rocksdb_writebatch_t>, _handle: Handle<'_>, _key: Bytes, _keylen: usize,
        _ts: Bytes, _tslen: usize,
    ) {
        refuse_aloud("rocksdb_writebatch_singledelete_cf_with_ts");
    }
    fn rocksdb_open_and_trim_history(
        _options: Option<&rocksdb_options_t>, _name: Text, _len: i32, _names: List<Text>,
        _family_options: List<Option<&'static rocksdb_options_t>>,
        _handles: Out<Option<Box<rocksdb_column_family_handle_t>>>, _ts: Bytes, _tslen: usize,
        errptr: ErrPtr,
    ) -> Option<Box<rocksdb_t>> {
        refuse("rocksdb_open_and_trim_history", errptr)
    }
    fn rocksdb_create_column_family_with_ttl(
        _db: Db<'_>, _options: Option<&rocksdb_options_t>, _name: Text, _ttl: i32, errptr: ErrPtr,
    ) -> Option<Box<rocksdb_column_family_handle_t>> {
        refuse("rocksdb_create_column_family_with_ttl", errptr)
    }
    fn rocksdb_delete_file(_db: Db<'_>, _name: Text) {
        refuse_aloud("rocksdb_delete_file");
    }
    fn rocksdb_writebatch_wi_create_from(
        _data: Bytes, _len: usize,
    ) -> Option<Box<rocksdb_writebatch_wi_t>> {
        refuse_aloud("rocksdb_writebatch_wi_create_from");
        None
    }
    // RocksDB refuses these four too: an index has no ranges.
    fn rocksdb_writebatch_wi_delete_range(
        _batch: Option<&rocksdb_writebatch_wi_t>, _start: Bytes, _start_len: usize, _end: Bytes,
        _end_len: usize,
    ) {
        refuse_aloud("rocksdb_writebatch_wi_delete_range");
    }
    fn rocksdb_writebatch_wi_delete_range_cf(
        _batch: Option<&rocksdb_writebatch_wi_t>, _handle: Handle<'_>, _start: Bytes,
        _start_len: usize, _end: Bytes, _end_len: usize,
    ) {
        refuse_aloud("rocksdb_writebatch_wi_delete_range_cf");
    }
    fn rocksdb_writebatch_wi_delete_rangev(
        _batch: Option<&rocksdb_writebatch_wi_t>, _num: i32, _starts: List<Bytes>,
        _start_lengths: List<usize>, _ends: List<Bytes>, _end_lengths: List<usize>,
    ) {
        refuse_aloud("rocksdb_writebatch_wi_delete_rangev");
    }
    fn rocksdb_writebatch_wi_delete_rangev_cf(
        _batch: Option<&rocksdb_writebatch_wi_t>, _handle: Handle<'_>, _num: i32,
        _starts: List<Bytes>, _start_lengths: List<usize>, _ends: List<Bytes>,
        _end_lengths: List<usize>,
    ) {
        refuse_aloud("rocksdb_writebatch_wi_delete_rangev_cf");
    }
    fn rocksdb_transaction_get_writebatch_wi(
        _txn: Option<&rocksdb_transaction_t>,
    ) -> Option<Box<rocksdb_writebatch_wi_t>> {
        refuse_aloud("rocksdb_transaction_get_writebatch_wi");
        None
    }
}
