//! Batches: those of transactions, which `rocksdb_free` gives back; what visitors are called with;
//! timestamps given later.

use super::{bytes, creating, open, path};
use crate::border::testing::Place;
use crate::border::{Malloced, Out};
use crate::callbacks::State;
use crate::exports::testing::*;
use crate::options::testing::*;
use crate::transaction::rocksdb_transaction_t;
use libc::c_char;
use std::cell::RefCell;

fn put(txn: &rocksdb_transaction_t, key: &'static str) {
    let (mut error, (key, keylen), (value, len)) = (Place::new(), bytes(key), bytes("white"));
    rocksdb_transaction_put(Some(txn), key, keylen, value, len, error.errptr());
    assert_eq!(error.take(), None);
}

#[test]
fn a_batch_of_a_transaction_is_as_it_was_when_it_was_lent_last() {
    let dir = tempfile::tempdir().unwrap();
    let (options, mut error) = (creating(), Place::new());
    let locks = rocksdb_transactiondb_options_create();
    let dir = path(dir.path());
    let db = rocksdb_transactiondb_open(Some(&options), locks.as_deref(), dir, error.errptr());
    let db = &*Box::leak(db.unwrap());
    let writes = rocksdb_writeoptions_create();
    let kind = rocksdb_transaction_options_create();
    let txn = rocksdb_transaction_begin(Some(db), writes.as_deref(), kind.as_deref(), None);
    put(txn.as_ref().unwrap(), "river");
    let first = rocksdb_transaction_get_writebatch_wi(txn.as_deref());
    assert_eq!(rocksdb_writebatch_wi_count(first.get()), 1);
    put(txn.as_ref().unwrap(), "brook");
    assert_eq!(rocksdb_writebatch_wi_count(first.get()), 1, "a copy");
    let second = rocksdb_transaction_get_writebatch_wi(txn.as_deref());
    assert_eq!(
        rocksdb_writebatch_wi_count(first.get()),
        2,
        "the same batch"
    );
    assert_eq!(rocksdb_writebatch_wi_count(second.get()), 2);
    rocksdb_free(first.malloced());

    let ((key, keylen), mut size) = (bytes("brook"), 0);
    let value = rocksdb_writebatch_wi_get_from_batch(
        second.get(),
        Some(&options),
        key,
        keylen,
        Out::testing(&mut size),
        error.errptr(),
    );
    assert_eq!((error.take(), size), (None, 5));
    rocksdb_free(Malloced::new(value.cast()));
    rocksdb_transaction_destroy(txn);
    assert_eq!(rocksdb_writebatch_wi_count(second.get()), 0, "it is gone");
    rocksdb_free(second.malloced());
    rocksdb_transactiondb_close(Some(db));
}

/// Calls of a visitor: what for, the column family, and lengths.
type Calls = Vec<(&'static str, u32, usize, usize)>;

thread_local! {
    /// The calls of visitors: a batch is visited by the thread that asks.
    static CALLS: RefCell<Calls> = const { RefCell::new(Vec::new()) };
}

fn note(what: &'static str, family: u32, key: usize, value: usize) {
    CALLS.with_borrow_mut(|calls| calls.push((what, family, key, value)));
}

extern "C" fn seen_put(_: State, _: *const c_char, key: usize, _: *const c_char, value: usize) {
    note("put", 0, key, value);
}

extern "C" fn seen_deletion(_: State, _: *const c_char, key: usize) {
    note("delete", 0, key, 0);
}

extern "C" fn seen_log_data(_: State, _: *const c_char, len: usize) {
    note("log", 0, len, 0);
}

extern "C" fn seen_put_cf(
    _: State,
    family: u32,
    _: *const c_char,
    key: usize,
    _: *const c_char,
    value: usize,
) {
    note("put", family, key, value);
}

extern "C" fn seen_merge_cf(
    _: State,
    family: u32,
    _: *const c_char,
    key: usize,
    _: *const c_char,
    value: usize,
) {
    note("merge", family, key, value);
}

extern "C" fn seen_deletion_cf(_: State, family: u32, _: *const c_char, key: usize) {
    note("delete", family, key, 0);
}

#[test]
fn visitors_of_batches_are_called_with_data_for_the_log_in_its_place() {
    let mut batch = rocksdb_writebatch_create();
    let ((river, five), (sea, three)) = (bytes("river"), bytes("sea"));
    let (noted, four) = bytes("note");
    rocksdb_writebatch_put_log_data(batch.as_deref_mut(), noted, four);
    rocksdb_writebatch_put(batch.as_deref_mut(), river, five, sea, three);
    rocksdb_writebatch_merge(batch.as_deref_mut(), sea, three, river, five);
    rocksdb_writebatch_singledelete(batch.as_deref_mut(), sea, three);
    rocksdb_writebatch_put_log_data(batch.as_deref_mut(), sea, three);
    rocksdb_writebatch_delete(batch.as_deref_mut(), sea, three);
    // The iteration ends here, as in RocksDB.
    rocksdb_writebatch_delete_range(batch.as_deref_mut(), river, five, sea, three);
    rocksdb_writebatch_put(batch.as_deref_mut(), sea, three, sea, three);

    let state = State::testing();
    let taken = || CALLS.take();
    let visit = |log_data| {
        let batch = batch.as_deref();
        rocksdb_writebatch_iterate_ld(batch, state, seen_put, seen_deletion, log_data);
        let plain = taken();
        let (put, deleted, merge) = (seen_put_cf, seen_deletion_cf, seen_merge_cf);
        rocksdb_writebatch_iterate_cf_ld(batch, state, put, deleted, merge, log_data);
        (plain, taken())
    };
    let put = ("put", 0, 5, 3);
    let (merge, deletion) = (("merge", 0, 3, 5), ("delete", 0, 3, 0));
    let (first, second) = (("log", 0, 4, 0), ("log", 0, 3, 0));
    let (plain, with_families) = visit(Some(seen_log_data));
    assert_eq!(plain, [first, put, second, deletion]);
    assert_eq!(with_families, [first, put, merge, second, deletion]);
    let (plain, with_families) = visit(None);
    assert_eq!(plain, [put, deletion]);
    assert_eq!(with_families, [put, merge, deletion]);
}

extern "C" fn eight(_: State, _family: u32) -> usize {
    8
}

extern "C" fn four(_: State, _family: u32) -> usize {
    4
}

#[test]
fn an_indexed_batch_is_given_a_timestamp_before_it_is_written() {
    let dir = tempfile::tempdir().unwrap();
    let (mut options, mut error) = (creating(), Place::new());
    options.options.set_u64_timestamp_comparator();
    let db = Some(open(&creating(), dir.path()));
    let name = crate::border::Text::testing(c"stamped");
    let family = rocksdb_create_column_family(db, Some(&options), name, error.errptr());
    let ((key, keylen), (value, len)) = (bytes("river"), bytes("white"));
    let mut batch = rocksdb_writebatch_wi_create(0, 1);
    rocksdb_writebatch_wi_put_cf(
        batch.as_deref_mut(),
        family.as_deref(),
        key,
        keylen,
        value,
        len,
    );
    let mut update = |(ts, tslen): (crate::border::Bytes, usize), size_of| {
        let state = State::testing();
        let batch = batch.as_deref_mut();
        rocksdb_writebatch_wi_update_timestamps(batch, ts, tslen, state, size_of, error.errptr());
        error.take()
    };
    let seven = bytes("\u{7}\0\0\0\0\0\0\0");
    let refusal = "Invalid argument: column family 1 has timestamps of 8 bytes";
    assert_eq!(update(seven, four).as_deref(), Some(refusal));
    let refusal = update(bytes("1234"), eight).unwrap();
    assert!(refusal.contains("timestamp of 4 bytes"), "{refusal}");
    assert_eq!(update(seven, eight), None);
    let writes = rocksdb_writeoptions_create();
    rocksdb_write_writebatch_wi(db, writes.as_deref(), batch.as_deref(), error.errptr());
    assert_eq!(error.take(), None);
    let found = |time: &'static str| {
        let mut reads = rocksdb_readoptions_create();
        let (ts, tslen) = bytes(time);
        rocksdb_readoptions_set_timestamp(reads.as_deref_mut(), ts, tslen);
        let (mut error, mut len) = (Place::new(), 0);
        let value = rocksdb_get_cf(
            db,
            reads.as_deref(),
            family.as_deref(),
            key,
            keylen,
            Out::testing(&mut len),
            error.errptr(),
        );
        assert_eq!(error.take(), None);
        !value.is_null()
    };
    assert!(!found("\u{6}\0\0\0\0\0\0\0"));
    assert!(found("\u{7}\0\0\0\0\0\0\0"));
}

#[test]
fn the_keys_of_a_batch_are_given_a_timestamp_by_the_size_that_c_tells() {
    let dir = tempfile::tempdir().unwrap();
    let (mut options, mut error) = (creating(), Place::new());
    options.options.set_u64_timestamp_comparator();
    let db = open(&options, dir.path());
    let mut batch = rocksdb_writebatch_create();
    let ((key, keylen), (value, len)) = (bytes("river"), bytes("white"));
    rocksdb_writebatch_put(batch.as_deref_mut(), key, keylen, value, len);
    let mut update = |size_of| {
        let (ts, tslen) = bytes("\u{7}\0\0\0\0\0\0\0");
        let (batch, state) = (batch.as_deref_mut(), State::testing());
        rocksdb_writebatch_update_timestamps(batch, ts, tslen, state, size_of, error.errptr());
        error.take()
    };
    assert!(update(four).unwrap().contains("timestamp of 8 bytes"));
    assert_eq!(update(eight), None);
    let writes = rocksdb_writeoptions_create();
    rocksdb_write(
        Some(db),
        writes.as_deref(),
        batch.as_deref(),
        error.errptr(),
    );
    assert_eq!(error.take(), None);
    let mut reads = rocksdb_readoptions_create();
    let (ts, tslen) = bytes("\u{7}\0\0\0\0\0\0\0");
    rocksdb_readoptions_set_timestamp(reads.as_deref_mut(), ts, tslen);
    let mut len = 0;
    let place = Out::testing(&mut len);
    let value = rocksdb_get(
        Some(db),
        reads.as_deref(),
        key,
        keylen,
        place,
        error.errptr(),
    );
    assert!(!value.is_null());
    assert_eq!(len, 5);
}

#[test]
fn an_indexed_batch_that_has_refused_an_operation_is_not_written_without_it() {
    let dir = tempfile::tempdir().unwrap();
    let (mut options, mut error) = (creating(), Place::new());
    options.options.set_u64_timestamp_comparator();
    let db = open(&creating(), dir.path());
    let name = crate::border::Text::testing(c"stamped");
    let family = rocksdb_create_column_family(Some(db), Some(&options), name, error.errptr());
    let ((key, keylen), (value, len)) = (bytes("river"), bytes("white"));
    let mut batch = rocksdb_writebatch_wi_create(0, 1);
    rocksdb_writebatch_wi_put(batch.as_deref_mut(), key, keylen, value, len);
    // Keys with timestamps have no single deletions.
    let (stamped, family) = (batch.as_deref_mut(), family.as_deref());
    rocksdb_writebatch_wi_singledelete_cf(stamped, family, key, keylen);
    let writes = rocksdb_writeoptions_create();
    rocksdb_write_writebatch_wi(
        Some(db),
        writes.as_deref(),
        batch.as_deref(),
        error.errptr(),
    );
    assert!(error.take().is_some());
    let (reads, mut len) = (rocksdb_readoptions_create(), 0);
    let len = Out::testing(&mut len);
    let value = rocksdb_get(Some(db), reads.as_deref(), key, keylen, len, error.errptr());
    assert!(value.is_null());
}
