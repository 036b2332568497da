//! Prepared transactions that have written keys with timestamps: the commit gives these, in this
//! process or a later one. RocksDB's cases of write_committed_transaction_ts_test.

use super::{at, get, seen, stamped};
use crate::transactions::{DIR, TIMED_OUT, Txn, TxnDb, impatient, kind, options_on, text, value};
use rand::rngs::StdRng;
use rand::{Rng, SeedableRng};
use std::collections::BTreeMap;
use std::sync::Arc;
use whitewater::fs::fault::{FaultFs, FaultOp, OpSet, Rule};
use whitewater::fs::mem::MemFs;
use whitewater::{
    ColumnFamilyDescriptor, DBWithThreadMode, ErrorKind, MultiThreaded, Options,
    TransactionOptions, WriteOptions,
};

/// The options of keys with timestamps, on `fs`.
fn stamped_on(fs: &MemFs) -> Options {
    let mut o = options_on(fs.clone());
    o.set_u64_timestamp_comparator();
    crate::timestamps::add_merge_operator(&mut o);
    o
}

/// A database with keys without timestamps in its default column family, and with timestamps in
/// "times".
fn open(fs: &MemFs) -> TxnDb {
    let mut o = options_on(fs.clone());
    o.create_missing_column_families(true);
    let families = [
        ColumnFamilyDescriptor::new("default", o.clone()),
        ColumnFamilyDescriptor::new("times", stamped_on(fs)),
    ];
    TxnDb::open_cf_descriptors(&o, &impatient(), DIR, families).unwrap()
}

/// The value of `key` in "times" at a time.
fn then(db: &TxnDb, key: &str, time: u64) -> Option<String> {
    let cf = db.cf_handle("times").unwrap();
    let found = db.get_cf_opt(&cf, key, &at(time)).unwrap();
    found.map(|value| String::from_utf8(value).unwrap())
}

/// A prepared transaction that puts "1" to `key` in both column families.
fn prepared<'a>(db: &'a TxnDb, name: &str, key: &str) -> Txn<'a> {
    let txn = db.transaction();
    txn.put(key, "1").unwrap();
    txn.put_cf(&db.cf_handle("times").unwrap(), key, "1")
        .unwrap();
    txn.set_name(name.as_bytes()).unwrap();
    txn.prepare().unwrap();
    txn
}

/// The prepared transactions that nobody has, by name.
fn left(db: &TxnDb) -> Vec<(String, Txn<'_>)> {
    let all = db.prepared_transactions().into_iter();
    let named = all.map(|txn| (String::from_utf8(txn.get_name().unwrap()).unwrap(), txn));
    let mut named: Vec<_> = named.collect();
    named.sort_by(|a, b| a.0.cmp(&b.0));
    named
}

#[test]
fn the_commit_gives_its_timestamp_to_what_was_prepared() {
    let db = super::open_with(&stamped());
    let txn = db.transaction();
    for (key, value) in [("a", "0"), ("a", "1"), ("k", "1")] {
        txn.put(key, value).unwrap();
    }
    txn.delete("gone").unwrap();
    txn.merge("k", "2").unwrap();
    txn.set_name(b"x").unwrap();
    txn.prepare().unwrap();
    // It reads its writes, whatever time it reads the database at, and nobody else does.
    assert_eq!(seen(&txn, "a", 1).as_deref(), Some("1"));
    assert_eq!(seen(&txn, "k", 1).as_deref(), Some("1,2"));
    assert_eq!(get(&db, "a", u64::MAX), None);
    let other = db.transaction();
    assert_eq!(text(other.put("a", "2")), TIMED_OUT);
    assert_eq!(
        text(txn.commit()),
        "Invalid argument: Must assign a commit timestamp"
    );
    // It is prepared as before, and can be had again.
    let (_, txn) = left(&db).pop().unwrap();
    txn.set_commit_timestamp(5).unwrap();
    txn.commit().unwrap();
    assert_eq!(get(&db, "a", 4), None);
    assert_eq!(get(&db, "a", 5).as_deref(), Some("1"));
    assert_eq!(get(&db, "k", 5).as_deref(), Some("1,2"));
    assert!(db.lock_status().is_empty());
    other.put("a", "2").unwrap();
    super::commit(other, 6);
    assert_eq!(get(&db, "a", 5).as_deref(), Some("1"));
    assert_eq!(get(&db, "a", 6).as_deref(), Some("2"));
}

#[test]
fn a_timestamp_that_was_given_before_the_prepare_counts() {
    let db = super::open_with(&stamped());
    let txn = db.transaction();
    txn.put("a", "1").unwrap();
    txn.set_commit_timestamp(3).unwrap();
    txn.set_name(b"x").unwrap();
    txn.prepare().unwrap();
    txn.commit().unwrap();
    assert_eq!(
        (get(&db, "a", 2), get(&db, "a", 3)),
        (None, Some("1".into()))
    );
    let txn = db.transaction();
    txn.put("a", "2").unwrap();
    txn.set_name(b"y").unwrap();
    txn.prepare().unwrap();
    txn.rollback().unwrap();
    assert_eq!(get(&db, "a", u64::MAX).as_deref(), Some("1"));
    assert!(db.lock_status().is_empty());
}

#[test]
fn a_commit_has_its_timestamp_after_a_recovery_too() {
    let fs = MemFs::new();
    let db = open(&fs);
    let txn = prepared(&db, "committed", "c");
    txn.set_commit_timestamp(23).unwrap();
    txn.commit().unwrap();
    prepared(&db, "rolled back", "r").rollback().unwrap();
    drop(db);
    // The logs are read, and again after a second death.
    let mut left_behind = fs.after_kill();
    for _ in 0..2 {
        let db = open(&left_behind);
        assert_eq!(value(&db, "c").as_deref(), Some("1"));
        assert_eq!(then(&db, "c", 22), None);
        assert_eq!(then(&db, "c", 23).as_deref(), Some("1"));
        assert_eq!((value(&db, "r"), then(&db, "r", u64::MAX)), (None, None));
        assert!(left(&db).is_empty());
        left_behind = left_behind.after_kill();
    }
}

#[test]
fn what_was_prepared_is_committed_at_a_time_by_a_later_process() {
    let fs = MemFs::new();
    let db = open(&fs);
    drop(prepared(&db, "a", "a"));
    drop(prepared(&db, "b", "b"));
    drop(prepared(&db, "c", "c"));
    drop(db);
    let db = open(&fs);
    let cf = db.cf_handle("times").unwrap();
    let mut all = left(&db);
    let (_, c) = all.pop().unwrap();
    let (_, b) = all.pop().unwrap();
    let (name, a) = all.pop().unwrap();
    assert!(all.is_empty());
    assert_eq!(name, "a");
    // Its locks are of keys without timestamps, and so are its writes.
    let other = db.transaction();
    assert_eq!(text(other.put_cf(&cf, "a", "2")), TIMED_OUT);
    assert_eq!(a.get_cf_opt(&cf, "a", &at(1)).unwrap(), Some(b"1".to_vec()));
    assert_eq!(
        text(a.commit()),
        "Invalid argument: Must assign a commit timestamp"
    );
    let (_, a) = left(&db).pop().unwrap();
    a.set_commit_timestamp(23).unwrap();
    a.commit().unwrap();
    b.rollback().unwrap();
    drop((b, c));
    let check = |db: &TxnDb| {
        assert_eq!(value(db, "a").as_deref(), Some("1"));
        assert_eq!((then(db, "a", 22), value(db, "b")), (None, None));
        assert_eq!(then(db, "a", 23).as_deref(), Some("1"));
        assert_eq!(then(db, "b", u64::MAX), None);
        assert_eq!(then(db, "c", u64::MAX), None);
    };
    check(&db);
    drop((cf, other, all));
    drop(db);
    let db = open(&fs);
    check(&db);
    let (name, c) = left(&db).pop().unwrap();
    assert_eq!(name, "c");
    c.set_commit_timestamp(30).unwrap();
    c.commit().unwrap();
    db.flush_cf(&db.cf_handle("times").unwrap()).unwrap();
    assert_eq!(then(&db, "c", 29), None);
    assert_eq!(then(&db, "c", 30).as_deref(), Some("1"));
}

#[test]
fn secondary_and_read_only_instances_see_the_timestamp_of_a_commit() {
    let fs = MemFs::new();
    let db = open(&fs);
    let txn = prepared(&db, "x", "a");
    txn.set_commit_timestamp(9).unwrap();
    txn.commit().unwrap();
    let o = options_on(fs.clone());
    let families = || {
        [
            ColumnFamilyDescriptor::new("default", o.clone()),
            ColumnFamilyDescriptor::new("times", stamped_on(&fs)),
        ]
    };
    type Reader = DBWithThreadMode<MultiThreaded>;
    let read_only = Reader::open_cf_descriptors_read_only(&o, DIR, families(), false).unwrap();
    let mut all = o.clone();
    all.set_max_open_files(-1);
    let own = "/data/secondary";
    let secondary = Reader::open_cf_descriptors_as_secondary(&all, DIR, own, families()).unwrap();
    for reader in [read_only, secondary] {
        let cf = reader.cf_handle("times").unwrap();
        assert_eq!(reader.get_cf_opt(&cf, "a", &at(8)).unwrap(), None);
        let found = reader.get_cf_opt(&cf, "a", &at(9)).unwrap();
        assert_eq!(found.as_deref(), Some(&b"1"[..]));
    }
}

/// A commit that fails may be tried again at another time.
#[test]
fn after_a_failed_commit_the_next_one_gives_its_own_timestamp() {
    let fs = MemFs::new();
    let faults = FaultFs::new(Arc::new(fs.clone()));
    let mut o = stamped_on(&fs);
    o.set_fs(Arc::new(faults.clone()));
    let db = TxnDb::open(&o, &impatient(), DIR).unwrap();
    let mut synced = WriteOptions::default();
    synced.set_sync(true);
    let txn = db.transaction_opt(&synced, &TransactionOptions::default());
    txn.put("a", "1").unwrap();
    txn.set_name(b"x").unwrap();
    txn.prepare().unwrap();
    txn.set_commit_timestamp(5).unwrap();
    faults.add_rule(Rule::nth(OpSet::of(&[FaultOp::Sync]), 1));
    assert_eq!(kind(txn.commit()), ErrorKind::IOError);
    faults.clear_rules();
    assert_eq!(get(&db, "a", u64::MAX), None);
    db.resume().unwrap();
    let (_, txn) = left(&db).pop().unwrap();
    txn.set_commit_timestamp(7).unwrap();
    txn.commit().unwrap();
    assert_eq!(get(&db, "a", 6), None);
    assert_eq!(get(&db, "a", 7).as_deref(), Some("1"));
}

#[test]
fn keys_at_the_commit_without_timestamps_are_refused() {
    let fs = MemFs::new();
    let db = open(&fs);
    let txn = prepared(&db, "x", "a");
    let cf = db.cf_handle("times").unwrap();
    txn.put_at_commit_cf(&cf, "b", "1").unwrap();
    txn.set_commit_timestamp(5).unwrap();
    assert_eq!(kind(txn.commit()), ErrorKind::InvalidArgument);
    assert_eq!(then(&db, "a", u64::MAX), None);
    let (_, txn) = left(&db).pop().unwrap();
    txn.rollback().unwrap();
    assert!(db.lock_status().is_empty());
}

/// Transactions of many lives, each ended by a power cut: those that were acknowledged are there,
/// at their times, and those that are prepared are handed out.
#[test]
fn power_cuts_leave_prepared_keys_and_the_times_of_commits() {
    for seed in 0..8 {
        let rng = &mut StdRng::seed_from_u64(seed);
        let mut fs = MemFs::new();
        let mut synced = WriteOptions::default();
        synced.set_sync(true);
        // What "times" holds, and the keys of the prepared transactions by name.
        let mut committed: BTreeMap<(String, u64), String> = BTreeMap::new();
        let mut undecided: BTreeMap<String, Vec<String>> = BTreeMap::new();
        let mut now = 0;
        for life in 0..8 {
            let db = open(&fs);
            let cf = db.cf_handle("times").unwrap();
            for ((key, time), value) in &committed {
                assert_eq!(then(&db, key, *time).as_ref(), Some(value), "seed {seed}");
                assert_eq!(then(&db, key, time - 1), None, "seed {seed}");
            }
            let mut held: BTreeMap<String, Txn<'_>> = left(&db).into_iter().collect();
            assert!(held.keys().eq(undecided.keys()), "seed {seed}, life {life}");
            for step in 0..rng.random_range(1..12) {
                now += 1;
                let name = format!("{life}.{step}");
                let txn = db.transaction_opt(&synced, &TransactionOptions::default());
                let mut keys: Vec<_> = (0..3).map(|n| format!("{name}-{n}")).collect();
                keys.truncate(rng.random_range(1..4));
                for key in &keys {
                    txn.put_cf(&cf, key, "0").unwrap();
                    txn.put_cf(&cf, key, &name).unwrap();
                }
                txn.set_name(name.as_bytes()).unwrap();
                txn.prepare().unwrap();
                undecided.insert(name.clone(), keys);
                held.insert(name, txn);
                if rng.random_bool(0.6) {
                    let at = rng.random_range(0..held.len());
                    let name = held.keys().nth(at).unwrap().clone();
                    let txn = held.remove(&name).unwrap();
                    let keys = undecided.remove(&name).unwrap();
                    if rng.random_bool(0.3) {
                        txn.rollback().unwrap();
                    } else {
                        txn.set_commit_timestamp(now).unwrap();
                        txn.commit().unwrap();
                        let key = |key| ((key, now), name.clone());
                        committed.extend(keys.into_iter().map(key));
                    }
                }
                if rng.random_bool(0.2) {
                    db.flush_cf(&cf).unwrap();
                }
            }
            let keep = [0.0, 0.5, 1.0][rng.random_range(0..3)];
            let cut = fs.crash_clone(keep, rng.random());
            drop((held, cf));
            drop(db);
            fs = cut;
        }
    }
}
