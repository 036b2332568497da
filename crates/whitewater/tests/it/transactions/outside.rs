//! Writes outside of transactions.

use super::{TIMED_OUT, kind, open, options, text, txn_db_options, value};
use crate::transactions::{DIR, TxnDb};
use std::path::Path;
use whitewater::{ErrorKind, WriteBatch, WriteBatchWithTransaction};

type Batch = WriteBatchWithTransaction<true>;

#[test]
fn a_batch_needs_all_its_keys_and_writes_nothing_without_one() {
    let db = open();
    let holder = db.transaction();
    holder.put("held", "1").unwrap();
    let mut batch = Batch::default();
    batch.put("a", "2");
    batch.put("held", "2");
    batch.put("z", "2");
    assert_eq!(text(db.write(batch.clone())), TIMED_OUT);
    assert_eq!((value(&db, "a"), value(&db, "z")), (None, None));
    let held_before = db.lock_status().len();
    assert_eq!(held_before, 1);
    holder.rollback().unwrap();
    db.write(batch).unwrap();
    assert_eq!(value(&db, "held").as_deref(), Some("2"));
    assert!(db.lock_status().is_empty());
}

#[test]
fn every_operation_of_a_batch_locks_its_key() {
    let db = open();
    let holder = db.transaction();
    holder.put("k", "1").unwrap();
    let refused = |fill: fn(&mut Batch)| {
        let mut batch = Batch::default();
        fill(&mut batch);
        text(db.write(batch))
    };
    assert_eq!(refused(|b| b.put("k", "2")), TIMED_OUT);
    assert_eq!(refused(|b| b.delete("k")), TIMED_OUT);
    assert_eq!(refused(|b| b.merge("k", "2")), TIMED_OUT);
    // RocksDB does not lock this one.
    assert_eq!(refused(|b| b.single_delete("k")), TIMED_OUT);
}

#[test]
fn a_batch_with_a_range_deletion_is_refused() {
    let db = open();
    db.put("b", "1").unwrap();
    let mut ranges = WriteBatch::default();
    ranges.delete_range("a", "c");
    let batch = Batch::from_data(ranges.data());
    assert_eq!(
        text(db.write(batch)),
        "Invalid argument: DeleteRangeCF not implemented"
    );
    assert_eq!(value(&db, "b").as_deref(), Some("1"));
    let damaged = Batch::from_data(b"not a batch");
    assert_eq!(kind(db.write(damaged)), ErrorKind::Corruption);
}

#[test]
fn batches_with_the_same_keys_do_not_wait_in_a_circle() {
    let mut patient = txn_db_options();
    patient.set_default_lock_timeout(-1);
    let db = TxnDb::open(&options(), &patient, Path::new(DIR)).unwrap();
    std::thread::scope(|scope| {
        for t in 0..4u8 {
            let db = &db;
            scope.spawn(move || {
                for _ in 0..200 {
                    let mut batch = Batch::default();
                    let mut keys: Vec<u8> = (0..6).collect();
                    keys.rotate_left(t.into());
                    for key in keys {
                        batch.put([key], [t]);
                        batch.put([key], [t]);
                    }
                    db.write(batch).unwrap();
                }
            });
        }
    });
    let all: Vec<_> = (0..6u8).map(|k| db.get([k]).unwrap()).collect();
    assert!(all.iter().all(|v| v == &all[0]), "{all:?}");
    assert!(db.lock_status().is_empty());
}

#[test]
fn no_addition_is_lost_between_transactions_and_batches() {
    let mut patient = txn_db_options();
    patient.set_txn_lock_timeout(-1);
    patient.set_default_lock_timeout(-1);
    for protocol in crate::harness::strict_protocols() {
        let mut o = options();
        o.set_commit_protocol(protocol);
        let db = TxnDb::open(&o, &patient, Path::new(DIR)).unwrap();
        std::thread::scope(|scope| {
            for t in 0..4 {
                let db = &db;
                scope.spawn(move || {
                    for i in 0..100 {
                        let txn = db.transaction();
                        let found = txn.get_for_update("n", true).unwrap();
                        let n = found.map_or(0, |v| u64::from_le_bytes(v.try_into().unwrap()));
                        txn.put("n", (n + 1).to_le_bytes()).unwrap();
                        // One in ten changes its mind.
                        match (t + i) % 10 {
                            0 => txn.rollback().unwrap(),
                            _ => txn.commit().unwrap(),
                        }
                    }
                });
            }
            let db = &db;
            scope.spawn(move || {
                for i in 0..100u32 {
                    db.put(i.to_be_bytes(), "beside").unwrap();
                }
            });
        });
        let n = db.get("n").unwrap().unwrap();
        assert_eq!(u64::from_le_bytes(n.try_into().unwrap()), 360, "{protocol}");
    }
}

with_write_prepared!(
    a_batch_needs_all_its_keys_and_writes_nothing_without_one,
    every_operation_of_a_batch_locks_its_key,
    a_batch_with_a_range_deletion_is_refused,
    batches_with_the_same_keys_do_not_wait_in_a_circle,
    no_addition_is_lost_between_transactions_and_batches,
);
