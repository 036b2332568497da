//! How transactions end, and their names.

use super::{DIR, EXPIRED, TIMED_OUT, begin, impatient, open, options_on, text, value};
use crate::transactions::TxnDb;
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;
use whitewater::fs::fault::{FaultFs, FaultOp, OpSet, Rule};
use whitewater::fs::mem::MemFs;
use whitewater::{ErrorKind, TransactionOptions, WriteOptions};

#[test]
fn a_fresh_transaction_rolls_back_and_can_be_used_on() {
    let db = open();
    let txn = db.transaction();
    txn.rollback().unwrap();
    txn.put("a", "1").unwrap();
    txn.rollback().unwrap();
    txn.rollback().unwrap();
    assert!(txn.get_writebatch().is_empty());
    txn.put("b", "1").unwrap();
    txn.commit().unwrap();
    assert_eq!((value(&db, "a"), value(&db, "b")), (None, Some("1".into())));
}

#[test]
fn a_commit_after_rollback_is_fine_and_empty() {
    let db = open();
    let before = db.snapshot().sequence_number();
    let txn = db.transaction();
    txn.put("a", "1").unwrap();
    txn.rollback().unwrap();
    txn.commit().unwrap();
    db.transaction().commit().unwrap();
    assert_eq!(value(&db, "a"), None);
    assert_eq!(db.snapshot().sequence_number(), before);
}

#[test]
fn a_commit_without_prepare_can_be_ruled_out() {
    let db = open();
    let txn = begin(&db, |o| o.set_skip_prepare(false));
    txn.put("a", "1").unwrap();
    assert_eq!(text(txn.commit()), "Invalid argument: Txn not prepared");
    assert_eq!(value(&db, "a"), None);
    assert!(db.lock_status().is_empty());
}

#[test]
fn a_commit_time_batch_needs_a_prepare() {
    let db = open();
    let txn = db.transaction();
    txn.put("a", "1").unwrap();
    txn.put_at_commit("cat", "dog").unwrap();
    assert_eq!(txn.get("cat").unwrap(), None);
    assert_eq!(
        text(txn.commit()),
        "Invalid argument: Commit-time batch contains values that will not be committed."
    );
    assert_eq!((value(&db, "a"), value(&db, "cat")), (None, None));
}

#[test]
fn after_its_time_a_transaction_is_not_committed() {
    let db = open();
    let txn = begin(&db, |o| o.set_expiration(1));
    txn.put("a", "1").unwrap();
    std::thread::sleep(Duration::from_millis(5));
    // Nobody has taken its locks yet, and rolled back it can be.
    let other = begin(&db, |o| o.set_expiration(1));
    other.put("b", "1").unwrap();
    std::thread::sleep(Duration::from_millis(5));
    other.rollback().unwrap();
    assert_eq!(text(txn.commit()), EXPIRED);
    assert_eq!(value(&db, "a"), None);
    // Time enough, and none at all, do not expire.
    for millis in [600_000, 0, -1] {
        let txn = begin(&db, |o| o.set_expiration(millis));
        txn.put("a", "2").unwrap();
        txn.commit().unwrap();
    }
    assert_eq!(value(&db, "a").as_deref(), Some("2"));
}

#[test]
fn locks_of_an_expired_transaction_are_taken_and_it_writes_nothing() {
    let db = open();
    let robbed = begin(&db, |o| o.set_expiration(1));
    robbed.put("a", "1").unwrap();
    robbed.put("b", "1").unwrap();
    std::thread::sleep(Duration::from_millis(5));
    db.put("a", "2").unwrap();
    assert_eq!(value(&db, "a").as_deref(), Some("2"));
    assert_eq!(
        text(robbed.rollback()),
        "Invalid argument: Two phase transaction is not in state for rollback."
    );
    assert_eq!(
        text(robbed.set_name(b"x")),
        "Invalid argument: Transaction is beyond state for naming."
    );
    assert_eq!(text(robbed.commit()), EXPIRED);
    assert_eq!(value(&db, "a").as_deref(), Some("2"));
    assert_eq!(value(&db, "b"), None);
    assert!(db.lock_status().is_empty());
}

#[test]
fn locks_of_a_transaction_that_has_time_left_are_not_taken() {
    let db = open();
    let txn = begin(&db, |o| o.set_expiration(600_000));
    txn.put("a", "1").unwrap();
    assert_eq!(text(db.put("a", "2")), TIMED_OUT);
    txn.commit().unwrap();
    assert_eq!(value(&db, "a").as_deref(), Some("1"));
}

#[test]
fn names_are_given_once_and_to_one() {
    let db = open();
    let (one, two) = (db.transaction(), db.transaction());
    assert_eq!(one.get_name(), Some(vec![]));
    let length = "Invalid argument: Transaction name length must be between 1 and 512 chars.";
    assert_eq!(text(one.set_name(b"")), length);
    assert_eq!(text(one.set_name(&[b'x'; 513])), length);
    one.set_name(&[b'x'; 512]).unwrap();
    assert_eq!(one.get_name(), Some(vec![b'x'; 512]));
    assert_eq!(
        text(one.set_name(b"other")),
        "Invalid argument: Transaction has already been named."
    );
    two.set_name(b"two").unwrap();
    let three = db.transaction();
    assert_eq!(
        text(three.set_name(b"two")),
        "Invalid argument: Duplicate txn name two"
    );
    assert_eq!(three.get_name(), Some(vec![]));
    // A rollback keeps the name; the end of the transaction frees it.
    two.rollback().unwrap();
    assert!(three.set_name(b"two").is_err());
    two.commit().unwrap();
    three.set_name(b"two").unwrap();
    drop(three);
    let four = db.transaction();
    four.set_name(b"two").unwrap();
}

#[test]
fn a_commit_whose_write_fails_writes_nothing_and_frees_what_it_had() {
    let fs = FaultFs::new(Arc::new(MemFs::new()));
    let mut o = options_on(MemFs::new());
    o.set_fs(Arc::new(fs.clone()));
    let db = TxnDb::open(&o, &impatient(), Path::new(DIR)).unwrap();
    db.put("a", "0").unwrap();
    let txn = db.transaction();
    txn.put("a", "1").unwrap();
    txn.set_name(b"named").unwrap();
    fs.add_rule(Rule::nth(OpSet::of(&[FaultOp::Append]), 1));
    assert_eq!(text(txn.commit()).split(':').next(), Some("IO error"));
    fs.clear_rules();
    assert_eq!(value(&db, "a").as_deref(), Some("0"));
    assert!(db.lock_status().is_empty());
    let other = db.transaction();
    other.set_name(b"named").unwrap();
}

#[test]
fn a_transaction_moves_to_another_thread() {
    let db = open();
    let txn = db.transaction();
    txn.put("a", "1").unwrap();
    std::thread::scope(|scope| {
        let moved = move || {
            txn.put("b", "1").unwrap();
            txn.commit()
        };
        scope.spawn(moved).join().unwrap().unwrap();
    });
    assert_eq!(value(&db, "a").as_deref(), Some("1"));
    assert_eq!(value(&db, "b").as_deref(), Some("1"));
}

#[test]
fn a_commit_has_the_write_options_of_its_transaction() {
    let db = open();
    let mut impossible = WriteOptions::default();
    impossible.set_sync(true);
    impossible.disable_wal(true);
    let txn = db.transaction_opt(&impossible, &TransactionOptions::default());
    txn.put("a", "1").unwrap();
    let e = txn.commit().unwrap_err();
    assert_eq!(e.kind(), ErrorKind::InvalidArgument, "{e}");
    assert_eq!(value(&db, "a"), None);
}

with_write_prepared!(
    a_fresh_transaction_rolls_back_and_can_be_used_on,
    a_commit_after_rollback_is_fine_and_empty,
    a_commit_without_prepare_can_be_ruled_out,
    a_commit_time_batch_needs_a_prepare,
    after_its_time_a_transaction_is_not_committed,
    locks_of_an_expired_transaction_are_taken_and_it_writes_nothing,
    locks_of_a_transaction_that_has_time_left_are_not_taken,
    names_are_given_once_and_to_one,
    a_commit_whose_write_fails_writes_nothing_and_frees_what_it_had,
    a_transaction_moves_to_another_thread,
    a_commit_has_the_write_options_of_its_transaction,
);
