//! Keys with timestamps, which they get when the transaction commits. `two_phase`: prepared ones.

mod two_phase;

use super::optimistic::OptDb;
use super::{BUSY, DIR, TIMED_OUT, Txn, TxnDb, impatient, kind, open_with, options, text};
use crate::timestamps::Model;
use rand::rngs::StdRng;
use rand::{Rng, SeedableRng};
use std::path::Path;
use whitewater::fs::mem::MemFs;
use whitewater::{
    ColumnFamilyDescriptor, Direction, ErrorKind, IteratorMode, Options, ReadOptions,
    WriteBatchWithTransaction,
};

fn stamped() -> Options {
    let mut o = options();
    o.set_u64_timestamp_comparator();
    crate::timestamps::add_merge_operator(&mut o);
    o
}

fn at(time: u64) -> ReadOptions {
    let mut o = ReadOptions::default();
    o.set_timestamp(time.to_le_bytes());
    o
}

fn get(db: &TxnDb, key: &str, time: u64) -> Option<String> {
    let found = db.get_opt(key, &at(time)).unwrap();
    found.map(|value| String::from_utf8(value).unwrap())
}

fn seen(txn: &Txn<'_>, key: &str, time: u64) -> Option<String> {
    let found = txn.get_opt(key, &at(time)).unwrap();
    found.map(|value| String::from_utf8(value).unwrap())
}

fn commit(txn: Txn<'_>, time: u64) {
    txn.set_commit_timestamp(time).unwrap();
    txn.commit().unwrap();
}

#[test]
fn a_commit_gives_all_keys_its_timestamp() {
    let db = open_with(&stamped());
    let txn = db.transaction();
    txn.put("a", "1").unwrap();
    txn.put("k", "1").unwrap();
    assert_eq!(seen(&txn, "a", 3).as_deref(), Some("1"));
    assert_eq!(get(&db, "a", u64::MAX), None);
    commit(txn, 5);
    assert_eq!(
        (get(&db, "a", 4), get(&db, "a", 5)),
        (None, Some("1".into()))
    );
    let txn = db.transaction();
    txn.delete("a").unwrap();
    txn.merge("k", "2").unwrap();
    assert_eq!(seen(&txn, "a", 5), None);
    assert_eq!(seen(&txn, "k", 5).as_deref(), Some("1,2"));
    assert_eq!(seen(&txn, "k", 4).as_deref(), Some("2"));
    assert_eq!(txn.get_commit_timestamp(), None);
    txn.set_commit_timestamp(8).unwrap();
    assert_eq!(txn.get_commit_timestamp(), Some(8));
    txn.commit().unwrap();
    assert_eq!(
        (get(&db, "a", 7), get(&db, "a", 8)),
        (Some("1".into()), None)
    );
    assert_eq!(get(&db, "k", 7).as_deref(), Some("1"));
    assert_eq!(get(&db, "k", 8).as_deref(), Some("1,2"));
}

#[test]
fn what_has_no_timestamp_is_refused() {
    let db = open_with(&stamped());
    let txn = db.transaction();
    txn.put("a", "1").unwrap();
    // The transaction reads the database at a time, as everybody does.
    assert_eq!(kind(txn.get("b")), ErrorKind::InvalidArgument);
    let batch = txn.get_writebatch();
    assert_eq!(
        kind(txn.rebuild_from_writebatch(&batch)),
        ErrorKind::InvalidArgument
    );
    assert_eq!(
        text(txn.commit()),
        "Invalid argument: Must assign a commit timestamp"
    );
    assert_eq!(get(&db, "a", u64::MAX), None);
    // Its lock is gone with it.
    let txn = db.transaction();
    txn.put("a", "2").unwrap();
    let mut versions = at(9);
    versions.set_iter_start_ts(1u64.to_le_bytes());
    let all = txn.iterator_opt(IteratorMode::Start, versions);
    let refused = all.map(|item| item.expect_err("fails").kind()).next();
    assert_eq!(refused, Some(ErrorKind::NotSupported));
    commit(txn, 1);
    assert_eq!(kind(db.put("a", "3")), ErrorKind::InvalidArgument);

    // Timestamps of another size, and transactions that lock nothing.
    let mut other = options();
    other.set_comparator_with_ts(
        "four",
        4,
        Box::new(|a, b| a.cmp(b)),
        Box::new(|a, b| a.cmp(b)),
        Box::new(|a, _, b, _| a.cmp(b)),
    );
    let db = open_with(&other);
    assert_eq!(
        kind(db.transaction().put("a", "1")),
        ErrorKind::InvalidArgument
    );
    let db = OptDb::open(&stamped(), Path::new(DIR)).unwrap();
    let txn = db.transaction();
    assert_eq!(kind(txn.put("a", "1")), ErrorKind::InvalidArgument);
    assert_eq!(kind(txn.set_commit_timestamp(1)), ErrorKind::NotSupported);
    let read = txn.set_read_timestamp_for_validation(1);
    assert_eq!(kind(read), ErrorKind::NotSupported);
}

#[test]
fn newer_versions_than_the_read_timestamp_conflict() {
    let db = open_with(&stamped());
    let write = |key: &str, time: u64| {
        let txn = db.transaction();
        txn.put(key, time.to_string()).unwrap();
        commit(txn, time);
    };
    write("old", 3);
    write("new", 7);
    for place in ["memory", "a table"] {
        let txn = db.transaction();
        let for_update = |key: &str, time| txn.get_for_update_opt(key, true, &at(time));
        assert_eq!(
            text(txn.get_for_update("old", true)),
            "Invalid argument: read_timestamp must be set for validation"
        );
        txn.set_read_timestamp_for_validation(5).unwrap();
        assert_eq!(
            kind(txn.set_read_timestamp_for_validation(4)),
            ErrorKind::InvalidArgument
        );
        assert_eq!(
            kind(txn.set_commit_timestamp(5)),
            ErrorKind::InvalidArgument
        );
        assert_eq!(
            text(for_update("old", 6)),
            "Invalid argument: Must read from the same read_timestamp"
        );
        assert_eq!(for_update("old", 5), Ok(Some(b"3".to_vec())));
        assert_eq!(text(for_update("new", 5)), BUSY, "{place}");
        assert_eq!(text(txn.put("new", "x")), BUSY, "{place}");
        txn.put_untracked("new", "x").unwrap();
        txn.rollback().unwrap();
        txn.set_read_timestamp_for_validation(7).unwrap();
        assert_eq!(for_update("new", 7), Ok(Some(b"7".to_vec())));
        txn.put("old", "8").unwrap();
        txn.rollback().unwrap();
        drop(txn);
        db.flush().unwrap();
    }
    // A snapshot conflicts as it does without timestamps.
    let txn = super::with_snapshot(&db);
    write("new", 9);
    assert_eq!(text(txn.put("new", "x")), BUSY);
    txn.put("old", "x").unwrap();
}

#[test]
fn a_range_deletion_is_a_newer_version_of_its_keys() {
    let fs = MemFs::new();
    let mut o = super::options_on(fs);
    o.set_u64_timestamp_comparator();
    let default = ColumnFamilyDescriptor::new("default", o.clone());
    let plain = crate::harness::Db::open_cf_descriptors(&o, DIR, [default]).unwrap();
    let cf = plain.cf_handle("default").unwrap();
    plain.put_with_ts("b", 3u64.to_le_bytes(), "3").unwrap();
    let time = 7u64.to_le_bytes();
    plain.delete_range_cf_with_ts(&cf, "a", "c", time).unwrap();
    plain.flush().unwrap();
    drop(cf);
    drop(plain);
    let db = open_with(&o);
    let txn = db.transaction();
    txn.set_read_timestamp_for_validation(6).unwrap();
    assert_eq!(text(txn.put("b", "x")), BUSY);
    assert_eq!(text(txn.put("a", "x")), BUSY);
    txn.put("c", "x").unwrap();
    txn.set_read_timestamp_for_validation(7).unwrap();
    txn.put("b", "x").unwrap();
}

#[test]
fn batches_with_timestamps_respect_locks() {
    let o = stamped();
    let default = ColumnFamilyDescriptor::new("default", o.clone());
    let db = TxnDb::open_cf_descriptors(&o, &impatient(), DIR, [default]).unwrap();
    let txn = db.transaction();
    txn.put("k", "1").unwrap();
    let cf = db.cf_handle("default").unwrap();
    let batch = |key: &str| {
        let mut batch = WriteBatchWithTransaction::<true>::default();
        batch.put_cf_with_ts(&cf, key, 3u64.to_le_bytes(), "v");
        batch
    };
    assert_eq!(text(db.write(batch("k"))), TIMED_OUT);
    db.write(batch("other")).unwrap();
    commit(txn, 4);
    assert_eq!(get(&db, "k", 9).as_deref(), Some("1"));
    assert_eq!(get(&db, "other", 3).as_deref(), Some("v"));
}

/// What a transaction would commit, over what the database has.
#[test]
fn transactions_agree_with_a_model() {
    for seed in 0..10 {
        let rng = &mut StdRng::seed_from_u64(seed);
        let db = open_with(&stamped());
        let mut model = Model::ascending();
        for now in 1..60 {
            let txn = db.transaction();
            // The transaction's own state at its commit, and older times beside it.
            let mut own = model.clone();
            let mut saved = None;
            for _ in 0..rng.random_range(1..6) {
                let key = format!("k{}", rng.random_range(0..8));
                match rng.random_range(0..8) {
                    0..3 => {
                        let value = vec![b'v'; rng.random_range(0..40)];
                        txn.put(&key, &value).unwrap();
                        own.write(key.as_bytes(), now, Some(value));
                    }
                    3 | 4 => {
                        txn.merge(&key, "m").unwrap();
                        own.merge(key.as_bytes(), now, b"m");
                    }
                    5 => {
                        txn.delete(&key).unwrap();
                        own.write(key.as_bytes(), now, None);
                    }
                    6 => {
                        txn.set_savepoint();
                        saved = Some(own.clone());
                    }
                    _ => {
                        if let Some(saved) = saved.take() {
                            txn.rollback_to_savepoint().unwrap();
                            own = saved;
                        }
                    }
                }
            }
            let expected = own.at(now).into_iter();
            let pairs: Vec<_> = expected.map(|(key, _, value)| (key, value)).collect();
            let walk = |mode| {
                let all = txn.iterator_opt(mode, at(u64::from(now)));
                let owned = all.map(|item| item.unwrap());
                let owned = owned.map(|(key, value)| (key.into_vec(), value.into_vec()));
                owned.collect::<Vec<_>>()
            };
            assert_eq!(walk(IteratorMode::Start), pairs, "seed {seed}, {now}");
            let from = pairs.partition_point(|(key, _)| key < &b"k4".to_vec());
            let found = walk(IteratorMode::From(b"k4", Direction::Forward));
            assert_eq!(found, pairs[from..], "seed {seed}, {now}");
            let mut reversed = pairs.clone();
            reversed.reverse();
            assert_eq!(walk(IteratorMode::End), reversed, "seed {seed}, {now}");
            for key in 0..8 {
                let key = format!("k{key}");
                let found = txn.get_opt(&key, &at(u64::from(now))).unwrap();
                assert_eq!(found, own.get(key.as_bytes(), now), "seed {seed}, {now}");
            }
            if rng.random_bool(0.2) {
                txn.rollback().unwrap();
            } else {
                commit(txn, u64::from(now));
                model = own;
            }
            if rng.random_bool(0.1) {
                db.flush().unwrap();
            }
            let then = rng.random_range(0..=now);
            for key in 0..8 {
                let key = format!("k{key}");
                let found = db.get_opt(&key, &at(u64::from(then))).unwrap();
                assert_eq!(found, model.get(key.as_bytes(), then), "seed {seed}, {now}");
            }
        }
    }
}
