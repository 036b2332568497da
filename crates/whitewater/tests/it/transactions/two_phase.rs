//! Prepare, commit and rollback within one opening.

use super::{EXPIRED, TIMED_OUT, Txn, begin, kind, open, shown, text, value};
use crate::transactions::TxnDb;
use std::time::Duration;
use whitewater::{DB, ErrorKind, Options, TransactionDBOptions, TransactionOptions, WriteOptions};

/// Begins a transaction called `name` that puts "1" to `keys`, and prepares it.
pub(super) fn prepared<'a>(db: &'a TxnDb, name: &str, keys: &[&str]) -> Txn<'a> {
    let txn = db.transaction();
    txn.set_name(name.as_bytes()).unwrap();
    for key in keys {
        txn.put(key, "1").unwrap();
    }
    txn.prepare().unwrap();
    txn
}

/// A transaction called `name` that puts "1" to `key`, and was prepared before its time was over.
/// On a busy machine the time may be over first; then another one gets more.
pub(super) fn prepared_and_late<'a>(db: &'a TxnDb, name: &str, key: &str) -> Txn<'a> {
    let mut millis = 50;
    loop {
        let txn = begin(db, |o| o.set_expiration(millis));
        txn.set_name(name.as_bytes()).unwrap();
        txn.put(key, "1").unwrap();
        match txn.prepare() {
            Ok(()) => {
                std::thread::sleep(Duration::from_millis(millis as u64 + 1));
                return txn;
            }
            Err(e) => assert_eq!(e.into_string(), EXPIRED),
        }
        millis *= 2;
    }
}

/// The names of the prepared transactions that nobody has; they stay prepared.
pub(super) fn names(db: &TxnDb) -> Vec<String> {
    let all = db.prepared_transactions();
    let name = |txn: &Txn<'_>| String::from_utf8(txn.get_name().unwrap()).unwrap();
    all.iter().map(name).collect()
}

#[test]
fn a_prepared_transaction_is_seen_by_nobody_before_its_commit() {
    let db = open();
    db.put("a", "0").unwrap();
    let txn = prepared(&db, "x", &["a", "b"]);
    assert_eq!((value(&db, "a"), value(&db, "b")), (Some("0".into()), None));
    assert_eq!(text(db.put("a", "2")), TIMED_OUT);
    assert_eq!(shown(txn.get("a")).as_deref(), Some("1"));
    db.put("c", "1").unwrap();
    txn.commit().unwrap();
    assert_eq!(value(&db, "a").as_deref(), Some("1"));
    assert_eq!(value(&db, "b").as_deref(), Some("1"));
    assert!(db.lock_status().is_empty());
}

#[test]
fn a_prepared_transaction_rolls_back_and_has_ended_then() {
    let db = open();
    let txn = prepared(&db, "x", &["a"]);
    txn.rollback().unwrap();
    assert!(db.lock_status().is_empty());
    assert_eq!(value(&db, "a"), None);
    assert_eq!(
        text(txn.put("a", "2")),
        "Invalid argument: Transaction is beyond state for writing."
    );
    assert_eq!(
        text(txn.prepare()),
        "Invalid argument: Transaction has already been rolledback."
    );
    assert_eq!(
        text(txn.rollback()),
        "Invalid argument: Two phase transaction is not in state for rollback."
    );
    assert_eq!(
        text(txn.set_name(b"y")),
        "Invalid argument: Transaction is beyond state for naming."
    );
    assert_eq!(
        text(txn.commit()),
        "Invalid argument: Transaction has already been rolledback."
    );
}

#[test]
fn only_a_transaction_with_a_name_is_prepared_and_only_once() {
    let db = open();
    let txn = begin(&db, |o| o.set_skip_prepare(false));
    txn.put("a", "1").unwrap();
    assert_eq!(
        text(txn.prepare()),
        "Invalid argument: Cannot prepare a transaction that has not been named."
    );
    txn.set_name(b"x").unwrap();
    txn.prepare().unwrap();
    assert_eq!(
        text(txn.prepare()),
        "Invalid argument: Transaction has already been prepared."
    );
    // Unlike RocksDB, which takes the write, inserts it at commit and never logs it.
    assert_eq!(
        text(txn.put("b", "1")),
        "Invalid argument: Transaction is beyond state for writing."
    );
    assert_eq!(
        text(txn.rollback_to_savepoint()),
        "Invalid argument: Transaction is beyond state for rollback."
    );
    txn.commit().unwrap();
    assert_eq!((value(&db, "a"), value(&db, "b")), (Some("1".into()), None));
}

#[test]
fn a_prepared_transaction_does_not_expire() {
    let db = open();
    let txn = prepared_and_late(&db, "x", "a");
    assert_eq!(text(db.put("a", "2")), TIMED_OUT);
    txn.commit().unwrap();
    assert_eq!(value(&db, "a").as_deref(), Some("1"));
    let late = begin(&db, |o| o.set_expiration(1));
    late.set_name(b"late").unwrap();
    late.put("b", "1").unwrap();
    std::thread::sleep(Duration::from_millis(5));
    assert_eq!(text(late.prepare()), EXPIRED);
}

#[test]
fn a_prepared_transaction_that_is_dropped_can_be_had_again() {
    let db = open();
    drop(prepared(&db, "x", &["k"]));
    let other = db.transaction();
    assert!(other.set_name(b"x").is_err());
    assert_eq!(names(&db), ["x"]);
    assert_eq!(names(&db), ["x"]);
    let txn = db.prepared_transactions().pop().unwrap();
    txn.rollback().unwrap();
    drop(txn);
    assert!(names(&db).is_empty());
    other.set_name(b"x").unwrap();
}

#[test]
fn a_failed_prepare_leaves_the_transaction_to_be_used_on() {
    let db = open();
    let mut impossible = WriteOptions::default();
    impossible.set_sync(true);
    impossible.disable_wal(true);
    let txn = db.transaction_opt(&impossible, &TransactionOptions::default());
    txn.set_name(b"x").unwrap();
    txn.put("a", "1").unwrap();
    assert_eq!(kind(txn.prepare()), ErrorKind::InvalidArgument);
    txn.put("b", "1").unwrap();
    assert_eq!(text(db.put("a", "2")), TIMED_OUT);
    txn.rollback().unwrap();
    db.put("a", "2").unwrap();
    assert!(names(&db).is_empty());
}

#[test]
fn a_transaction_without_writes_can_be_prepared_and_decided() {
    let db = open();
    prepared(&db, "committed", &[]).commit().unwrap();
    let txn = prepared(&db, "rolled back", &[]);
    txn.rollback().unwrap();
    drop(txn);
    assert!(names(&db).is_empty());
}

#[test]
fn a_commit_time_batch_is_visible_with_the_transaction() {
    let db = open();
    let txn = prepared(&db, "x", &["a"]);
    txn.put_at_commit("cat", "dog").unwrap();
    assert_eq!(txn.get("cat").unwrap(), None);
    let before = db.snapshot();
    txn.commit().unwrap();
    let (none, after) = (before.get("cat").unwrap(), value(&db, "cat"));
    assert_eq!((none, after.as_deref()), (None, Some("dog")));
    // A rollback forgets it.
    let txn = prepared(&db, "y", &["a"]);
    txn.put_at_commit("mouse", "cheese").unwrap();
    txn.rollback().unwrap();
    assert_eq!(value(&db, "mouse"), None);
}

#[test]
fn many_threads_prepare_and_decide() {
    for protocol in crate::harness::strict_protocols() {
        let mut o = super::options();
        o.set_commit_protocol(protocol);
        let db = super::open_with(&o);
        std::thread::scope(|scope| {
            for t in 0..4u32 {
                let db = &db;
                scope.spawn(move || {
                    for i in 0..50u32 {
                        let txn = db.transaction();
                        txn.set_name(format!("{t} {i}").as_bytes()).unwrap();
                        txn.put(format!("{t} {i}"), "1").unwrap();
                        txn.prepare().unwrap();
                        match i % 4 {
                            0 => txn.rollback().unwrap(),
                            _ => txn.commit().unwrap(),
                        }
                        assert_eq!(value(db, &format!("{t} {i}")).is_some(), i % 4 > 0);
                    }
                    db.flush().unwrap();
                });
            }
        });
        let all = db.iterator(whitewater::IteratorMode::Start);
        assert_eq!(all.count(), 4 * 37, "{protocol}");
        assert!(db.lock_status().is_empty() && names(&db).is_empty());
    }
}

/// RocksDB 7.8.3 prepared it (`testdata/two_phase`).
#[test]
fn a_transaction_that_rocksdb_prepared_is_had_by_its_name() {
    let from = std::path::Path::new(env!("CARGO_MANIFEST_DIR"));
    let from = from.join("../../testdata/two_phase/outstanding");
    let dir = tempfile::tempdir().unwrap();
    crate::content::copy_dir(&from, dir.path());
    let (options, how) = (Options::default(), TransactionDBOptions::default());
    for commits in [false, true] {
        let db = TxnDb::open_cf(&options, &how, dir.path(), ["default", "other"]).unwrap();
        assert_eq!(names(&db), ["xe"]);
        assert_eq!(value(&db, "k5"), None);
        let txn = db.prepared_transactions().pop().unwrap();
        if commits {
            txn.commit().unwrap();
            assert_eq!(value(&db, "k5").as_deref(), Some("v5"));
        }
    }
    let db = DB::open_cf(&options, dir.path(), ["default", "other"]).unwrap();
    assert_eq!(db.get("k5").unwrap().as_deref(), Some(&b"v5"[..]));
}

with_write_prepared!(
    a_prepared_transaction_is_seen_by_nobody_before_its_commit,
    a_prepared_transaction_rolls_back_and_has_ended_then,
    only_a_transaction_with_a_name_is_prepared_and_only_once,
    a_prepared_transaction_does_not_expire,
    a_prepared_transaction_that_is_dropped_can_be_had_again,
    a_failed_prepare_leaves_the_transaction_to_be_used_on,
    a_transaction_without_writes_can_be_prepared_and_decided,
    a_commit_time_batch_is_visible_with_the_transaction,
    many_threads_prepare_and_decide,
);
