//! Functions that clients wrap and none of their tests calls.

use super::{bytes, creating, open, path, put};
use crate::border::testing::Place;
use crate::border::{Out, Text};
use crate::exports::testing::*;
use crate::options::testing::*;
use std::fs;
use std::path::Path;

/// The name of the only table.
fn table(dir: &Path) -> Option<&'static std::ffi::CStr> {
    let names = fs::read_dir(dir)
        .unwrap()
        .map(|entry| entry.unwrap().file_name());
    let mut tables = names.filter(|name| name.to_string_lossy().ends_with(".sst"));
    let name = tables.next()?.into_string().unwrap();
    Some(Box::leak(
        std::ffi::CString::new(name).unwrap().into_boxed_c_str(),
    ))
}

#[test]
fn a_table_can_be_deleted_by_its_name() {
    let dir = tempfile::tempdir().unwrap();
    let (db, mut error) = (open(&creating(), dir.path()), Place::new());
    assert_eq!(put(db, "river", "white"), None);
    rocksdb_flush(
        Some(db),
        rocksdb_flushoptions_create().as_deref(),
        error.errptr(),
    );
    let name = table(dir.path()).unwrap();
    rocksdb_delete_file(Some(db), Text::testing(c"000001.log"));
    rocksdb_delete_file(Some(db), Text::testing(name));
    let ((key, keylen), reads, mut len) = (bytes("river"), rocksdb_readoptions_create(), 0);
    let out = Out::testing(&mut len);
    let value = rocksdb_get(Some(db), reads.as_deref(), key, keylen, out, error.errptr());
    assert!(value.is_null() && error.take().is_none());
    rocksdb_close(Some(db));
}

#[test]
fn a_family_is_given_a_time_to_live_where_the_database_has_one() {
    let (plain, stamped) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
    let (options, mut error) = (creating(), Place::new());
    let create = |db, error: &mut Place| {
        let name = Text::testing(c"sessions");
        rocksdb_create_column_family_with_ttl(db, Some(&options), name, 60, error.errptr())
    };
    let db = open(&options, plain.path());
    assert!(create(Some(db), &mut error).is_none());
    let refusal = "Invalid argument: the database was opened without a time to live";
    assert_eq!(error.take().as_deref(), Some(refusal));
    rocksdb_close(Some(db));

    let dir = path(stamped.path());
    let db = rocksdb_open_with_ttl(Some(&options), dir, 60, error.errptr()).unwrap();
    let db = &*Box::leak(db);
    let family = create(Some(db), &mut error);
    assert_eq!((family.is_some(), error.take()), (true, None));
    let (writes, (key, keylen)) = (rocksdb_writeoptions_create(), bytes("river"));
    let (value, len) = bytes("white");
    let (handle, writes) = (family.as_deref(), writes.as_deref());
    rocksdb_put_cf(
        Some(db),
        writes,
        handle,
        key,
        keylen,
        value,
        len,
        error.errptr(),
    );
    let (reads, mut size) = (rocksdb_readoptions_create(), 0);
    let out = Out::testing(&mut size);
    let found = rocksdb_get_pinned_cf(
        Some(db),
        reads.as_deref(),
        handle,
        key,
        keylen,
        error.errptr(),
    );
    rocksdb_pinnableslice_value(found.as_deref(), out);
    assert_eq!((size, error.take()), (5, None), "the time is taken off");
    rocksdb_pinnableslice_destroy(found);
    rocksdb_close(Some(db));
}

#[test]
fn there_is_no_allocator_to_give_to_a_cache() {
    let mut error = Place::new();
    assert!(rocksdb_jemalloc_nodump_allocator_create(error.errptr()).is_none());
    let refusal = "Not implemented: Not compiled with JEMALLOC";
    assert_eq!(error.take().as_deref(), Some(refusal));
}

#[test]
fn a_write_buffer_manager_says_what_is_in_use_and_charged() {
    let dir = tempfile::tempdir().unwrap();
    let (mut options, cache) = (creating(), rocksdb_cache_create_lru(8 << 20));
    let manager = rocksdb_write_buffer_manager_create_with_cache(4 << 20, cache.as_deref(), false);
    let budget = manager.as_deref();
    rocksdb_options_set_write_buffer_manager(Some(&mut options), budget);
    let db = open(&options, dir.path());
    assert_eq!(put(db, "river", "white"), None);
    let used = rocksdb_write_buffer_manager_memory_usage(budget);
    assert_eq!(
        rocksdb_write_buffer_manager_mutable_memtable_memory_usage(budget),
        used
    );
    assert_eq!(
        rocksdb_write_buffer_manager_dummy_entries_in_cache_usage(budget),
        256 << 10
    );
    rocksdb_close(Some(db));
    assert_eq!(
        rocksdb_write_buffer_manager_dummy_entries_in_cache_usage(budget),
        0
    );
}

#[test]
fn a_cache_says_how_many_blocks_it_holds() {
    let dir = tempfile::tempdir().unwrap();
    let cache = rocksdb_cache_create_lru(1 << 20);
    let mut table = rocksdb_block_based_options_create().unwrap();
    rocksdb_block_based_options_set_block_cache(Some(&mut table), cache.as_deref());
    let mut options = creating();
    rocksdb_options_set_block_based_table_factory(Some(&mut options), Some(&table));
    let db = open(&options, dir.path());
    assert_eq!(put(db, "river", "white"), None);
    let (flush, mut error) = (rocksdb_flushoptions_create(), Place::new());
    rocksdb_flush(Some(db), flush.as_deref(), error.errptr());
    assert_eq!(error.take(), None);
    assert_eq!(rocksdb_cache_get_occupancy_count(cache.as_deref()), 0);
    let (reads, (key, keylen), mut len) = (rocksdb_readoptions_create(), bytes("river"), 0);
    let len = Out::testing(&mut len);
    rocksdb_get(Some(db), reads.as_deref(), key, keylen, len, error.errptr());
    assert_eq!(rocksdb_cache_get_occupancy_count(cache.as_deref()), 1);
    // RocksDB's number for a cache that does not say.
    assert_eq!(rocksdb_cache_get_table_address_count(cache.as_deref()), 0);
    rocksdb_close(Some(db));
}
