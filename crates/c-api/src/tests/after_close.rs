//! What is used after its database was closed.

use super::{bytes, creating, open, path, put};
use crate::border::Out;
use crate::border::testing::Place;
use crate::exports::testing::*;
use crate::options::testing::*;

const REFUSAL: &str = "Operation aborted: the database is closed";

#[test]
fn a_closed_database_refuses_and_its_iterator_goes_on() {
    let dir = tempfile::tempdir().unwrap();
    let db = open(&creating(), dir.path());
    assert_eq!(put(db, "key", "value"), None);
    let reads = rocksdb_readoptions_create();
    let mut iter = rocksdb_create_iterator(Some(db), reads.as_deref());
    rocksdb_close(Some(db));
    rocksdb_close(Some(db));

    assert_eq!(put(db, "key", "value").as_deref(), Some(REFUSAL));
    assert!(rocksdb_create_iterator(Some(db), reads.as_deref()).is_none());
    rocksdb_iter_seek_to_first(iter.as_deref_mut());
    assert_eq!(rocksdb_iter_valid(iter.as_deref()), 1);
    rocksdb_iter_destroy(iter);
    rocksdb_close(Some(open(&creating(), dir.path())));
}

#[test]
fn a_snapshot_and_a_value_keep_their_database_open() {
    let dir = tempfile::tempdir().unwrap();
    let db = open(&creating(), dir.path());
    assert_eq!(put(db, "key", "value"), None);
    let (mut reads, mut error) = (rocksdb_readoptions_create().unwrap(), Place::new());
    let snapshot = rocksdb_create_snapshot(Some(db));
    let (key, keylen) = bytes("key");
    let value = rocksdb_get_pinned(Some(db), Some(&reads), key, keylen, error.errptr());
    rocksdb_close(Some(db));

    rocksdb_readoptions_set_snapshot(Some(&mut reads), snapshot.get());
    assert!(rocksdb_get_pinned(Some(db), Some(&reads), key, keylen, error.errptr()).is_none());
    assert_eq!(error.take().as_deref(), Some(REFUSAL));
    assert!(rocksdb_snapshot_get_sequence_number(snapshot.get()) > 0);
    assert_eq!(value.as_ref().unwrap().bytes(), b"value");
    // Another one can be opened there only when all is given back.
    assert!(rocksdb_open(Some(&creating()), path(dir.path()), error.errptr()).is_none());
    assert!(error.take().unwrap().contains("lock"));
    rocksdb_pinnableslice_destroy(value);
    rocksdb_release_snapshot(Some(db), snapshot);
    rocksdb_close(Some(open(&creating(), dir.path())));
}

#[test]
fn a_transaction_of_a_closed_database_can_be_committed() {
    let dir = tempfile::tempdir().unwrap();
    let mut error = Place::new();
    let (options, txn_options) = (creating(), rocksdb_transactiondb_options_create());
    let opened = |error: &mut Place| {
        let (options, txn_options) = (Some(&*options), txn_options.as_deref());
        let db = rocksdb_transactiondb_open(options, txn_options, path(dir.path()), error.errptr());
        &*Box::leak(db.unwrap())
    };
    let (db, writes) = (opened(&mut error), rocksdb_writeoptions_create());
    let begin = rocksdb_transaction_options_create();
    let txn = rocksdb_transaction_begin(Some(db), writes.as_deref(), begin.as_deref(), None);
    let ((key, keylen), (value, len)) = (bytes("key"), bytes("value"));
    rocksdb_transaction_put(txn.as_deref(), key, keylen, value, len, error.errptr());
    rocksdb_transactiondb_close(Some(db));
    rocksdb_transaction_commit(txn.as_deref(), error.errptr());
    assert_eq!(error.take(), None);
    rocksdb_transaction_destroy(txn);

    let (db, reads) = (opened(&mut error), rocksdb_readoptions_create());
    let mut size = 0;
    let found = rocksdb_transactiondb_get(
        Some(db),
        reads.as_deref(),
        key,
        keylen,
        Out::testing(&mut size),
        error.errptr(),
    );
    assert!(!found.is_null());
    assert_eq!(size, 5);
    rocksdb_free(crate::border::Malloced::new(found.cast()));
    rocksdb_transactiondb_close(Some(db));
}

#[test]
fn waiting_for_compactions_closes_the_database_if_asked_to() {
    let dir = tempfile::tempdir().unwrap();
    let db = open(&creating(), dir.path());
    let (mut wait, mut error) = (
        rocksdb_wait_for_compact_options_create().unwrap(),
        Place::new(),
    );
    rocksdb_wait_for_compact_options_set_close_db(Some(&mut wait), 1);
    rocksdb_wait_for_compact(Some(db), Some(&wait), error.errptr());
    assert_eq!(error.take(), None);
    assert_eq!(put(db, "key", "value").as_deref(), Some(REFUSAL));
    let again = open(&creating(), dir.path());
    rocksdb_close(Some(db));
    assert_eq!(put(again, "key", "value"), None);
    rocksdb_close(Some(again));
}
