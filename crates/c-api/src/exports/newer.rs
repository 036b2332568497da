//! Functions that RocksDB has got after 7.8 and that are another form of older ones.

use super::batches::rocksdb_writebatch_t;
use super::reads::rocksdb_pinnableslice_t;
use super::reads::{rocksdb_get_pinned, rocksdb_get_pinned_cf};
use crate::border::{
    Bytes, ErrPtr, List, Nothing, Out, OwnedList, Text, array, count, exports, given, lent,
    optional,
};
use crate::callbacks::{Deleted, DeletedCf, PutCf, State, VisitCf, VisitLoggedCf};
use crate::db::{on_db, open, rocksdb_t};
use crate::families::{named, rocksdb_column_family_handle_t};
use crate::iterator::rocksdb_iterator_t;
use crate::options::values::{Built, fields, made};
use crate::options::{rocksdb_options_t, rocksdb_readoptions_t};
use libc::c_char;
use std::ptr;
use whitewater::WaitForCompactOptions;

pub type rocksdb_pinnable_handle_t = rocksdb_pinnableslice_t;
pub type rocksdb_wait_for_compact_options_t = Built<WaitForCompactOptions>;

type Db<'a> = Option<&'a rocksdb_t>;
type Handle<'a> = Option<&'a rocksdb_column_family_handle_t>;
type Reads<'a> = Option<&'a rocksdb_readoptions_t>;

/// Bytes that are lent to C.
#[repr(C)]
pub struct rocksdb_slice_t {
    data: *const c_char,
    size: usize,
}

impl Nothing for rocksdb_slice_t {
    fn nothing() -> Self {
        slice(None)
    }
}

fn slice(bytes: Option<&[u8]>) -> rocksdb_slice_t {
    rocksdb_slice_t {
        data: bytes.map_or(ptr::null(), |bytes| bytes.as_ptr().cast()),
        size: bytes.map_or(0, <[u8]>::len),
    }
}

/// Copies a value into a buffer, if it fits.
fn into_buffer(
    value: Option<Box<rocksdb_pinnableslice_t>>,
    buffer: Out<c_char>,
    size: usize,
    len: Out<usize>,
    found: Out<u8>,
) -> u8 {
    found.set(value.is_some().into());
    let Some(value) = value else {
        len.set(0);
        return 0;
    };
    let bytes = value.bytes();
    len.set(bytes.len());
    if bytes.len() > size {
        return 0;
    }
    buffer.set_all(bytes);
    1
}

made! {
    rocksdb_wait_for_compact_options_t = Built::default(),
        rocksdb_wait_for_compact_options_create, rocksdb_wait_for_compact_options_destroy;
}

fields! { rocksdb_wait_for_compact_options_t {
    "abort_on_pause": u8 = 0, |o, v| o.set_abort_on_pause(v != 0),
        set rocksdb_wait_for_compact_options_set_abort_on_pause,
        get rocksdb_wait_for_compact_options_get_abort_on_pause;
    "flush": u8 = 0, |o, v| o.set_flush(v != 0),
        set rocksdb_wait_for_compact_options_set_flush,
        get rocksdb_wait_for_compact_options_get_flush;
    "close_db": u8 = 0, |_o, _v| (),
        set rocksdb_wait_for_compact_options_set_close_db,
        get rocksdb_wait_for_compact_options_get_close_db;
    "timeout": u64 = 0, |o, v| o.set_timeout(v),
        set rocksdb_wait_for_compact_options_set_timeout,
        get rocksdb_wait_for_compact_options_get_timeout;
}}

exports! {
    fn rocksdb_wait_for_compact(
        db: Db<'_>, options: Option<&rocksdb_wait_for_compact_options_t>, errptr: ErrPtr,
    ) {
        errptr.run(|| {
            let built = given(options)?;
            {
                let db = open(db)?;
                on_db!(db, db => db.wait_for_compact(&built.options))?;
            }
            if built.kept("close_db", 0u8) != 0 {
                given(db)?.slot.close();
            }
            Ok(())
        });
    }
    fn rocksdb_get_db_identity(db: Db<'_>, len: Out<usize>) -> *mut c_char {
        let db = open(db);
        optional(db.ok().and_then(|db| on_db!(db, db => db.get_db_identity()).ok()), len)
    }
    fn rocksdb_iter_key_slice(iter: Option<&rocksdb_iterator_t>) -> rocksdb_slice_t {
        slice(iter.and_then(|iter| iter.0.get().key()))
    }
    fn rocksdb_iter_value_slice(iter: Option<&rocksdb_iterator_t>) -> rocksdb_slice_t {
        slice(iter.and_then(|iter| iter.0.get().value()))
    }
    fn rocksdb_iter_timestamp_slice(iter: Option<&rocksdb_iterator_t>) -> rocksdb_slice_t {
        slice(iter.and_then(|iter| iter.0.get().timestamp()))
    }
    fn rocksdb_get_pinned_v2(
        db: Db<'_>, options: Reads<'_>, key: Bytes, keylen: usize, errptr: ErrPtr,
    ) -> Option<Box<rocksdb_pinnable_handle_t>> {
        rocksdb_get_pinned(db, options, key, keylen, errptr)
    }
    fn rocksdb_get_pinned_cf_v2(
        db: Db<'_>, options: Reads<'_>, handle: Handle<'_>, key: Bytes, keylen: usize,
        errptr: ErrPtr,
    ) -> Option<Box<rocksdb_pinnable_handle_t>> {
        rocksdb_get_pinned_cf(db, options, handle, key, keylen, errptr)
    }
    fn rocksdb_pinnable_handle_get_value(
        handle: Option<&rocksdb_pinnable_handle_t>, len: Out<usize>,
    ) -> *const c_char {
        lent(handle.map(rocksdb_pinnableslice_t::bytes), len)
    }
    fn rocksdb_pinnable_handle_destroy(_handle: Option<Box<rocksdb_pinnable_handle_t>>) {}
    fn rocksdb_get_into_buffer(
        db: Db<'_>, options: Reads<'_>, key: Bytes, keylen: usize, buffer: Out<c_char>, size: usize,
        len: Out<usize>, found: Out<u8>, errptr: ErrPtr,
    ) -> u8 {
        let value = rocksdb_get_pinned(db, options, key, keylen, errptr);
        into_buffer(value, buffer, size, len, found)
    }
    fn rocksdb_get_into_buffer_cf(
        db: Db<'_>, options: Reads<'_>, handle: Handle<'_>, key: Bytes, keylen: usize,
        buffer: Out<c_char>, size: usize, len: Out<usize>, found: Out<u8>, errptr: ErrPtr,
    ) -> u8 {
        let value = rocksdb_get_pinned_cf(db, options, handle, key, keylen, errptr);
        into_buffer(value, buffer, size, len, found)
    }
    fn rocksdb_writebatch_iterate_cf(
        batch: Option<&rocksdb_writebatch_t>, state: State, put: PutCf, deleted: DeletedCf,
        merge: PutCf,
    ) {
        if let Some(batch) = batch {
            batch.0.iterate_cf(&mut VisitCf { state, put, deleted, merge });
        }
    }
    // As in RocksDB, an operation without a function, or damage, ends the visit without a word.
    fn rocksdb_writebatch_iterate_cf_ld(
        batch: Option<&rocksdb_writebatch_t>, state: State, put: PutCf, deleted: DeletedCf,
        merge: PutCf, log_data: Option<Deleted>,
    ) {
        if let Some(batch) = batch {
            let visit = VisitCf { state, put, deleted, merge };
            let _ = batch.0.iterate_all(&mut VisitLoggedCf { visit, log_data });
        }
    }
    fn rocksdb_batched_multi_get_cf_slice(
        db: Db<'_>, options: Reads<'_>, handle: Handle<'_>, num: usize,
        keys: List<rocksdb_slice_t>, values: Out<Option<Box<rocksdb_pinnableslice_t>>>,
        errs: Out<*mut c_char>, _sorted: bool,
    ) {
        for (at, key) in keys.of(num).iter().enumerate() {
            let (key, keylen) = (Bytes::at(key.data), key.size);
            let mut err = std::ptr::null_mut();
            let error = ErrPtr::to(&mut err);
            let found = rocksdb_get_pinned_cf(db, options, handle, key, keylen, error);
            values.set_at(at, found);
            errs.set_at(at, err);
        }
    }
    // All of them or none; RocksDB returns those before the first one that failed.
    fn rocksdb_create_column_families(
        db: Db<'_>, options: Option<&rocksdb_options_t>, num: i32, names: List<Text>,
        len: Out<usize>, errptr: ErrPtr,
    ) -> *mut Option<Box<rocksdb_column_family_handle_t>> {
        let made = errptr.run(|| {
            let (db, options) = (open(db)?, &given(options)?.options);
            let names: Vec<String> = names.of(count(num)).iter().map(|n| n.lossy()).collect();
            on_db!(db, db => db.create_cfs(&names, options))?;
            let handles = names.iter().map(|name| named(&db, name).map(Some));
            handles.collect::<Result<Vec<_>, _>>().map(Some)
        });
        let made = made.unwrap_or_default();
        len.set(made.len());
        array(made)
    }
    // The list alone: its handles are the caller's.
    fn rocksdb_create_column_families_destroy(
        list: OwnedList<Option<Box<rocksdb_column_family_handle_t>>>,
    ) {
        list.free();
    }
}
