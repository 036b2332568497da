//! Closing and reopening: in every state of a transaction, and again and again while it fails.

use super::two_phase::{names, prepared};
use super::{DIR, Txn, begin, impatient, kind, options_on, value};
use crate::transactions::TxnDb;
use std::sync::Arc;
use whitewater::fs::fault::{FaultFs, FaultOp, OpSet, Rule};
use whitewater::fs::mem::MemFs;
use whitewater::{ErrorKind, IteratorMode};

fn reopen(fs: &MemFs) -> TxnDb {
    TxnDb::open(&options_on(fs.clone()), &impatient(), DIR).unwrap()
}

/// Everything in the database, as text.
fn content(db: &TxnDb) -> Vec<(String, String)> {
    let all = db.iterator(IteratorMode::Start);
    let text = |bytes: Box<[u8]>| String::from_utf8(bytes.into()).unwrap();
    all.map(|e| e.map(|(k, v)| (text(k), text(v))).unwrap())
        .collect()
}

/// A state in which a transaction may be when the database is closed: its name, how it comes about,
/// and whether the transaction is prepared and whether it is committed then.
type Case = (&'static str, fn(&TxnDb), bool, bool);

fn dropped(txn: Txn<'_>) {
    drop(txn);
}

const CASES: [Case; 11] = [
    ("begun", |db| dropped(begun(db)), false, false),
    (
        "expired",
        |db| {
            let txn = begin(db, |o| o.set_expiration(1));
            txn.put("k", "1").unwrap();
            std::thread::sleep(std::time::Duration::from_millis(2));
            dropped(txn);
        },
        false,
        false,
    ),
    (
        "rolled back",
        |db| begun(db).rollback().unwrap(),
        false,
        false,
    ),
    (
        "turned down",
        |db| {
            let holder = db.transaction();
            holder.put("other", "1").unwrap();
            let txn = begun(db);
            assert_eq!(kind(txn.put("other", "2")), ErrorKind::TimedOut);
            dropped(txn);
        },
        false,
        false,
    ),
    ("committed", |db| begun(db).commit().unwrap(), false, true),
    (
        "prepared",
        |db| dropped(prepared(db, "x", &["k"])),
        true,
        false,
    ),
    (
        "prepared, with a batch for its commit",
        |db| {
            let txn = prepared(db, "x", &["k"]);
            txn.put_at_commit("cat", "dog").unwrap();
            dropped(txn);
        },
        true,
        false,
    ),
    (
        "prepared and flushed",
        |db| {
            let txn = prepared(db, "x", &["k"]);
            db.put("before", "1").unwrap();
            db.flush().unwrap();
            dropped(txn);
        },
        true,
        false,
    ),
    (
        "prepared and had again",
        |db| {
            dropped(prepared(db, "x", &["k"]));
            dropped(db.prepared_transactions().pop().unwrap());
        },
        true,
        false,
    ),
    (
        "prepared and committed",
        |db| prepared(db, "x", &["k"]).commit().unwrap(),
        false,
        true,
    ),
    (
        "prepared and rolled back",
        |db| prepared(db, "x", &["k"]).rollback().unwrap(),
        false,
        false,
    ),
];

fn begun(db: &TxnDb) -> Txn<'_> {
    let txn = db.transaction();
    txn.set_name(b"x").unwrap();
    txn.put("k", "1").unwrap();
    txn
}

/// Race 35.
#[test]
fn a_database_is_closed_in_every_state_of_a_transaction() {
    for (state, bring_about, is_prepared, is_committed) in CASES {
        let fs = MemFs::new();
        let db = reopen(&fs);
        db.put("before", "1").unwrap();
        bring_about(&db);
        let killed = fs.crash_clone(1.0, 1);
        drop(db);
        for (how, fs) in [("closed", fs), ("killed", killed)] {
            let what = format!("{state}, {how}");
            let db = reopen(&fs);
            let expected: &[&str] = if is_prepared { &["x"] } else { &[] };
            assert_eq!(names(&db), expected, "{what}");
            let committed = is_committed.then(|| "1".to_owned());
            assert_eq!(value(&db, "k"), committed, "{what}");
            assert_eq!(value(&db, "before").as_deref(), Some("1"), "{what}");
            assert_eq!((value(&db, "other"), value(&db, "cat")), (None, None));
            // Its name and its key are free unless it is prepared.
            assert_eq!(db.lock_status().len(), expected.len(), "{what}");
            let named = db.transaction().set_name(b"x").is_ok();
            assert_eq!(named, !is_prepared, "{what}");
            for txn in db.prepared_transactions() {
                txn.commit().unwrap();
                assert_eq!(value(&db, "k").as_deref(), Some("1"), "{what}");
            }
        }
    }
}

/// Race 35: the log has failed before.
#[test]
fn a_database_whose_log_has_failed_is_closed_with_what_is_prepared() {
    let fs = MemFs::new();
    let fault = FaultFs::new(Arc::new(fs.clone()));
    let mut o = options_on(fs.clone());
    o.set_fs(Arc::new(fault.clone()));
    let db = TxnDb::open(&o, &impatient(), DIR).unwrap();
    let (one, two) = (prepared(&db, "one", &["a"]), prepared(&db, "two", &["b"]));
    let open = begun(&db);
    fault.add_rule(Rule {
        sticky: true,
        ..Rule::nth(OpSet::of(&[FaultOp::Append]), 1)
    });
    assert_eq!(kind(open.prepare()), ErrorKind::IOError);
    assert!(one.commit().is_err());
    drop((two, open));
    drop(db);
    fault.clear_rules();
    let db = reopen(&fs);
    assert_eq!(names(&db), ["one", "two"]);
    assert!(content(&db).is_empty());
}

/// What is in the logs when openings of it fail: three prepared transactions, one in a log that no
/// family needs, and committed and rolled back ones before and behind them.
fn left() -> MemFs {
    let fs = MemFs::new();
    let db = reopen(&fs);
    let old = prepared(&db, "old", &["o"]);
    prepared(&db, "done", &["d"]).commit().unwrap();
    db.put("flushed", "1").unwrap();
    db.flush().unwrap();
    let later = prepared(&db, "later", &["l"]);
    let across = prepared(&db, "across", &["a"]);
    db.put("logged", "1").unwrap();
    prepared(&db, "not done", &["n"]).rollback().unwrap();
    db.flush().unwrap();
    across.commit().unwrap();
    db.put("last", "1").unwrap();
    drop((old, later));
    drop(db);
    fs.crash_clone(1.0, 0)
}

fn assert_as_left(fs: &MemFs, what: &str) {
    let db = reopen(fs);
    assert_eq!(names(&db), ["later", "old"], "{what}");
    let found = content(&db);
    let keys: Vec<_> = found.iter().map(|(key, _)| &key[..]).collect();
    let expected = ["a", "d", "flushed", "last", "logged"];
    assert_eq!(keys, expected, "{what}");
    for txn in db.prepared_transactions() {
        txn.commit().unwrap();
    }
    let all = content(&db).len();
    assert_eq!(all, expected.len() + 2, "{what}");
}

/// Opens `fs`, on which all file operations fail from the `n`th on, as when the process is killed
/// there. Returns whether so many were needed, and what the file system has then.
fn killed_at(fs: &MemFs, n: u64, keeps: f64) -> (bool, MemFs) {
    let fault = FaultFs::new(Arc::new(fs.clone()));
    fault.add_rule(Rule {
        sticky: true,
        ..Rule::nth(OpSet::WRITES, n)
    });
    let mut o = options_on(fs.clone());
    o.set_fs(Arc::new(fault.clone()));
    let opened = TxnDb::open(&o, &impatient(), DIR);
    let failed = opened.is_err();
    let left = fs.crash_clone(keeps, n);
    drop(opened);
    (failed, left)
}

/// Race 34: an opening dies at each of its steps, the one after it at another.
#[test]
fn recovery_that_dies_twice_finds_the_same_the_third_time() {
    let left = left();
    for first in 1.. {
        // What was not synced is lost, or is not.
        let (once_keeps, twice_keeps) = ((first % 2) as f64, (first / 2 % 2) as f64);
        let (failed, once) = killed_at(&left.crash_clone(1.0, 0), first, once_keeps);
        let second = 1 + first * 7 % 20;
        let (_, twice) = killed_at(&once, second, twice_keeps);
        assert_as_left(&twice, &format!("at {first}, then at {second}"));
        if !failed {
            assert!(first > 5, "openings do more than {first} steps");
            break;
        }
    }
}

with_write_prepared!(
    a_database_is_closed_in_every_state_of_a_transaction,
    a_database_whose_log_has_failed_is_closed_with_what_is_prepared,
    recovery_that_dies_twice_finds_the_same_the_third_time,
);
