//! Snapshots of transactions, which `rocksdb_free` gives back.

use super::{bytes, creating, path, put};
use crate::border::Out;
use crate::border::testing::Place;
use crate::db::rocksdb_t;
use crate::exports::testing::*;
use crate::options::rocksdb_readoptions_t;
use crate::options::testing::*;
use crate::transaction::rocksdb_transaction_t;
use std::path::Path;

fn opened(dir: &Path) -> &'static rocksdb_t {
    let (options, mut error) = (creating(), Place::new());
    let locks = rocksdb_transactiondb_options_create();
    let db =
        rocksdb_transactiondb_open(Some(&options), locks.as_deref(), path(dir), error.errptr());
    assert_eq!(error.take(), None);
    Box::leak(db.unwrap())
}

/// Begins a transaction with a snapshot, which takes the place of `old`.
fn begun(
    db: &rocksdb_t,
    old: Option<Box<rocksdb_transaction_t>>,
) -> Option<Box<rocksdb_transaction_t>> {
    let (writes, mut options) = (
        rocksdb_writeoptions_create(),
        rocksdb_transaction_options_create(),
    );
    rocksdb_transaction_options_set_set_snapshot(options.as_deref_mut(), 1);
    rocksdb_transaction_begin(Some(db), writes.as_deref(), options.as_deref(), old)
}

/// What a transaction finds under a key, as its length, or the error.
fn found(
    txn: &rocksdb_transaction_t,
    reads: &rocksdb_readoptions_t,
    key: &'static str,
) -> Result<Option<usize>, String> {
    let (mut error, mut size, (key, keylen)) = (Place::new(), 0, bytes(key));
    let len = Out::testing(&mut size);
    let value = rocksdb_transaction_get(Some(txn), Some(reads), key, keylen, len, error.errptr());
    let there = !value.is_null();
    rocksdb_free(crate::border::Malloced::new(value.cast()));
    match error.take() {
        Some(error) => Err(error),
        None => Ok(there.then_some(size)),
    }
}

#[test]
fn a_freed_snapshot_of_a_transaction_does_not_keep_its_database_open() {
    let dir = tempfile::tempdir().unwrap();
    let db = opened(dir.path());
    let txn = begun(db, None);
    let before = rocksdb_transaction_get_snapshot(txn.as_deref());
    let after = rocksdb_transaction_get_snapshot(txn.as_deref());
    rocksdb_free(before.malloced());
    rocksdb_transaction_destroy(txn);
    rocksdb_transactiondb_close(Some(db));
    rocksdb_free(after.malloced());

    let mut error = Place::new();
    rocksdb_destroy_db(Some(&creating()), path(dir.path()), error.errptr());
    assert_eq!(error.take(), None);
    rocksdb_transactiondb_close(Some(opened(dir.path())));
}

#[test]
fn reads_at_the_snapshot_of_a_transaction_do_not_see_later_writes() {
    let dir = tempfile::tempdir().unwrap();
    let db = opened(dir.path());
    assert_eq!(put(db, "key", "old"), None);
    let (txn, mut reads) = (begun(db, None), rocksdb_readoptions_create().unwrap());
    assert_eq!(put(db, "key", "later"), None);
    let snapshot = rocksdb_transaction_get_snapshot(txn.as_deref());
    assert_eq!(rocksdb_snapshot_get_sequence_number(snapshot.get()), 1);
    rocksdb_readoptions_set_snapshot(Some(&mut reads), snapshot.get());
    rocksdb_free(snapshot.malloced());
    let txn = txn.unwrap();
    assert_eq!(found(&txn, &reads, "key"), Ok(Some("old".len())));
    rocksdb_readoptions_set_snapshot(Some(&mut reads), None);
    assert_eq!(found(&txn, &reads, "key"), Ok(Some("later".len())));
    rocksdb_transaction_destroy(Some(txn));
    rocksdb_transactiondb_close(Some(db));
}

#[test]
fn reads_at_a_snapshot_whose_transaction_is_gone_are_refused() {
    let dir = tempfile::tempdir().unwrap();
    let db = opened(dir.path());
    let (first, mut reads) = (begun(db, None), rocksdb_readoptions_create().unwrap());
    let snapshot = rocksdb_transaction_get_snapshot(first.as_deref());
    // The transaction in its place is another one, with a snapshot of its own.
    let second = begun(db, first);
    let own = rocksdb_transaction_get_snapshot(second.as_deref());
    let second = second.unwrap();

    rocksdb_readoptions_set_snapshot(Some(&mut reads), snapshot.get());
    let refusal = "Invalid argument: the transaction of the snapshot was destroyed";
    assert_eq!(found(&second, &reads, "key"), Err(refusal.into()));
    rocksdb_readoptions_set_snapshot(Some(&mut reads), own.get());
    assert_eq!(found(&second, &reads, "key"), Ok(None));
    rocksdb_free(snapshot.malloced());
    rocksdb_free(own.malloced());
    rocksdb_transaction_destroy(Some(second));
    rocksdb_transactiondb_close(Some(db));
}
