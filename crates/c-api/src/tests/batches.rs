//! Batches of transactions, which `rocksdb_free` gives back.

use super::{bytes, creating, path};
use crate::border::testing::Place;
use crate::border::{Malloced, Out};
use crate::exports::testing::*;
use crate::options::testing::*;
use crate::transaction::rocksdb_transaction_t;

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
