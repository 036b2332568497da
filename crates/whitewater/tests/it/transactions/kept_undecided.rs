//! `WRITE_PREPARED`: what flushes and compactions keep of prepared transactions, and under them.
//!
//! Nobody takes locks here, so that others write the keys of a prepared transaction.

use super::two_phase::prepared;
use super::{DIR, TxnDb, begin, impatient, options_on, value};
use whitewater::fs::mem::MemFs;
use whitewater::{MergeOperands, Options, WriteBatchWithTransaction, WritePolicy, properties};

/// A column family in which two tables of level 0 are compacted.
fn options() -> Options {
    let mut o = options_on(MemFs::new());
    o.set_level_zero_file_num_compaction_trigger(2);
    let joined = |_: &[u8], base: Option<&[u8]>, operands: &MergeOperands| {
        let parts: Vec<&[u8]> = base.into_iter().chain(operands.iter()).collect();
        Some(parts.join(&b","[..]))
    };
    o.set_merge_operator_associative("joined", joined);
    o
}

fn open() -> TxnDb {
    let mut policy = impatient();
    policy.set_write_policy(WritePolicy::WritePrepared);
    policy.set_skip_concurrency_control(true);
    TxnDb::open(&options(), &policy, DIR).unwrap()
}

/// Flushes, and lets everything be compacted to the last level.
fn compact(db: &TxnDb) {
    let number = |name| db.property_int_value(name).unwrap().unwrap();
    db.flush().unwrap();
    // Something to compact with; its key is on both sides of all others.
    for key in ["0", "z"] {
        db.put(key, "0").unwrap();
    }
    db.flush().unwrap();
    let level0 = properties::num_files_at_level(0);
    while db.property_value(&level0).unwrap().unwrap() != "0" {
        assert_eq!(number(properties::BACKGROUND_ERRORS), 0);
        std::thread::yield_now();
    }
}

#[test]
fn a_prepared_transaction_outlives_flush_and_compaction() {
    let db = open();
    db.put("a", "old").unwrap();
    let txn = prepared(&db, "x", &["a", "b"]);
    compact(&db);
    assert_eq!(value(&db, "a").as_deref(), Some("old"));
    assert_eq!(value(&db, "b"), None);
    txn.commit().unwrap();
    assert_eq!(value(&db, "a").as_deref(), Some("1"));
    assert_eq!(value(&db, "b").as_deref(), Some("1"));
}

#[test]
fn what_a_prepared_transaction_hides_is_there_after_its_rollback() {
    for deletes in [false, true] {
        let db = open();
        db.put("a", "old").unwrap();
        let txn = begin(&db, |_| ());
        txn.set_name(b"x").unwrap();
        if deletes {
            txn.delete("a").unwrap();
        } else {
            txn.put("a", "1").unwrap();
        }
        txn.prepare().unwrap();
        compact(&db);
        assert_eq!(value(&db, "a").as_deref(), Some("old"));
        txn.rollback().unwrap();
        assert_eq!(value(&db, "a").as_deref(), Some("old"));
    }
}

/// A rollback writes the value from before once more, above what is rolled back. A flush that lets
/// a single deletion meet that one value alone shows what is older, in a table.
#[test]
fn a_single_deletion_brings_to_light_nothing_that_was_overwritten() {
    let by_batch = |db: &TxnDb| {
        let mut batch = WriteBatchWithTransaction::<true>::default();
        batch.single_delete("a");
        db.write(batch).unwrap();
    };
    let by_commit = |db: &TxnDb| {
        let txn = begin(db, |_| ());
        txn.single_delete("a").unwrap();
        txn.commit().unwrap();
    };
    let by_prepare = |db: &TxnDb| {
        let txn = begin(db, |_| ());
        txn.set_name(b"y").unwrap();
        txn.single_delete("a").unwrap();
        txn.prepare().unwrap();
        txn.commit().unwrap();
    };
    let ways: [&dyn Fn(&TxnDb); 3] = [&by_batch, &by_commit, &by_prepare];
    for delete in ways {
        for flushes_section in [false, true] {
            let db = open();
            db.put("a", "old").unwrap();
            db.flush().unwrap();
            let txn = prepared(&db, "x", &["a"]);
            if flushes_section {
                db.flush().unwrap();
            }
            txn.rollback().unwrap();
            assert_eq!(value(&db, "a").as_deref(), Some("old"));
            delete(&db);
            assert_eq!(value(&db, "a"), None);
            db.flush().unwrap();
            assert_eq!(value(&db, "a"), None);
        }
    }
}

/// The deletion stays in the last level, and the value there keeps its number.
#[test]
fn a_change_hides_an_older_one_that_is_committed_later() {
    let db = open();
    for key in ["a", "b"] {
        db.put(key, "old").unwrap();
    }
    let txn = prepared(&db, "x", &["a", "b"]);
    db.delete("a").unwrap();
    db.put("b", "new").unwrap();
    compact(&db);
    txn.commit().unwrap();
    assert_eq!(value(&db, "a"), None);
    assert_eq!(value(&db, "b").as_deref(), Some("new"));
}

#[test]
fn operands_are_not_merged_with_those_of_a_prepared_transaction() {
    let db = open();
    db.put("m", "a").unwrap();
    let txn = begin(&db, |_| ());
    txn.set_name(b"x").unwrap();
    txn.merge("m", "b").unwrap();
    txn.prepare().unwrap();
    db.merge("m", "c").unwrap();
    compact(&db);
    assert_eq!(value(&db, "m").as_deref(), Some("a,c"));
    txn.commit().unwrap();
    assert_eq!(value(&db, "m").as_deref(), Some("a,b,c"));
}
