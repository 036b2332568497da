//! A prepared transaction holds its locks until it is decided: when it was dropped, when its commit
//! or rollback has failed, and when an opening has found it.

use super::two_phase::{names, prepared, prepared_and_late};
use super::{DIR, TIMED_OUT, Txn, begin, impatient, kind, open, options_on, text, value};
use crate::transactions::TxnDb;
use std::sync::Arc;
use std::thread;
use whitewater::fs::fault::{FaultFs, FaultOp, OpSet, Rule};
use whitewater::fs::mem::MemFs;
use whitewater::{
    ErrorKind, LockMode, MergeOperands, Options, TransactionDBOptions, WriteBatchWithTransaction,
};

/// The text of a key that would be one too many.
const LIMIT: &str = "Operation aborted: Failed to acquire lock due to max_num_locks limit";

/// Every key that is locked, with its mode and holders.
fn locked(db: &TxnDb) -> Vec<(String, LockMode, Vec<u64>)> {
    let status = db.lock_status().into_iter();
    let shown = status.map(|lock| {
        let key = String::from_utf8(lock.key).unwrap();
        (key, lock.mode, lock.holders)
    });
    shown.collect()
}

fn exclusive(key: &str, holders: &[u64]) -> (String, LockMode, Vec<u64>) {
    (key.to_owned(), LockMode::Exclusive, holders.to_vec())
}

/// The only prepared transaction that nobody has.
fn left(db: &TxnDb) -> Txn<'_> {
    let mut all = db.prepared_transactions();
    assert_eq!(all.len(), 1);
    all.pop().unwrap()
}

fn decide(txn: Txn<'_>, commits: bool) {
    if commits {
        txn.commit().unwrap();
    } else {
        txn.rollback().unwrap();
    }
}

fn count(_key: &[u8], existing: Option<&[u8]>, operands: &MergeOperands) -> Option<Vec<u8>> {
    let number = |bytes: &[u8]| std::str::from_utf8(bytes).unwrap().parse::<u64>().unwrap();
    let sum: u64 = existing.into_iter().chain(operands).map(number).sum();
    Some(sum.to_string().into_bytes())
}

fn counting(fs: MemFs) -> Options {
    let mut o = options_on(fs);
    o.set_merge_operator_associative("count", count);
    o
}

#[test]
fn a_dropped_transaction_keeps_its_locks_until_it_is_decided() {
    for commits in [true, false] {
        let db = open();
        db.put("k", "old").unwrap();
        let txn = db.transaction();
        txn.set_name(b"x").unwrap();
        txn.get_for_update("read", false).unwrap();
        txn.put("k", "1").unwrap();
        txn.prepare().unwrap();
        let id = txn.id();
        drop(txn);
        let all = [
            exclusive("k", &[id]),
            ("read".to_owned(), LockMode::Shared, vec![id]),
        ];
        for _ in 0..2 {
            assert_eq!(locked(&db), all);
            assert_eq!(text(db.put("k", "2")), TIMED_OUT);
            assert_eq!(text(db.delete("read")), TIMED_OUT);
            let mut batch = WriteBatchWithTransaction::<true>::default();
            batch.put("free", "1");
            batch.put("k", "2");
            assert_eq!(text(db.write(batch)), TIMED_OUT);
            let other = db.transaction();
            assert_eq!(text(other.merge("k", "2")), TIMED_OUT);
            assert_eq!(text(other.get_for_update("k", false)), TIMED_OUT);
            other.get_for_update("read", false).unwrap();
            drop(other);
            // It is handed out with the id by which the locks are known, and dropped again.
            assert_eq!(left(&db).id(), id);
        }
        decide(left(&db), commits);
        assert_eq!(locked(&db), []);
        let shown = if commits { "1" } else { "old" };
        assert_eq!(value(&db, "k").as_deref(), Some(shown));
        db.put("k", "2").unwrap();
        assert_eq!(value(&db, "k").as_deref(), Some("2"));
    }
}

/// What others would write between a failed decision and the next one was lost: a rollback wrote
/// over it, and with `WRITE_PREPARED` a commit did not count after it.
#[test]
fn a_failed_decision_keeps_the_locks() {
    for commits in [true, false] {
        let fs = MemFs::new();
        let fault = FaultFs::new(Arc::new(fs.clone()));
        let mut o = counting(fs.clone());
        o.set_fs(Arc::new(fault.clone()));
        let db = TxnDb::open(&o, &impatient(), DIR).unwrap();
        db.put("sum", "1").unwrap();
        let txn = db.transaction();
        txn.set_name(b"x").unwrap();
        txn.merge("sum", "10").unwrap();
        txn.prepare().unwrap();
        let id = txn.id();
        fault.add_rule(Rule {
            sticky: true,
            ..Rule::nth(OpSet::of(&[FaultOp::Append]), 1)
        });
        let fails = |result| assert_eq!(kind(result), ErrorKind::IOError);
        if commits {
            fails(txn.commit());
        } else {
            fails(txn.rollback());
            fails(txn.rollback());
            drop(txn);
        }
        fault.clear_rules();
        db.resume().unwrap();
        assert_eq!(locked(&db), [exclusive("sum", &[id])]);
        assert_eq!(text(db.merge("sum", "100")), TIMED_OUT);
        assert_eq!(value(&db, "sum").as_deref(), Some("1"));
        decide(left(&db), commits);
        db.merge("sum", "100").unwrap();
        let sum = if commits { "111" } else { "101" };
        assert_eq!(value(&db, "sum").as_deref(), Some(sum));
        assert_eq!(locked(&db), []);
        drop(db);
        let db = TxnDb::open(&counting(fs), &impatient(), DIR).unwrap();
        assert_eq!(value(&db, "sum").as_deref(), Some(sum));
    }
}

#[test]
fn an_opening_locks_the_keys_of_what_it_finds() {
    for commits in [true, false] {
        let fs = MemFs::new();
        let db = TxnDb::open(&counting(fs.clone()), &impatient(), DIR).unwrap();
        db.put("sum", "1").unwrap();
        let txn = db.transaction();
        txn.set_name(b"x").unwrap();
        txn.get_for_update("read", true).unwrap();
        txn.merge("sum", "10").unwrap();
        txn.put("k", "1").unwrap();
        txn.merge("sum", "20").unwrap();
        txn.prepare().unwrap();
        let dead = fs.crash_clone(1.0, 1);
        drop(txn);
        drop(db);
        let db = TxnDb::open(&counting(dead.clone()), &impatient(), DIR).unwrap();
        let id = left(&db).id();
        // That it has read something is not in the log.
        let both = [exclusive("k", &[id]), exclusive("sum", &[id])];
        assert_eq!(locked(&db), both);
        assert_eq!(text(db.merge("sum", "100")), TIMED_OUT);
        db.put("read", "1").unwrap();
        // Others get ids of their own.
        let other = db.transaction();
        assert_ne!(other.id(), id);
        assert_eq!(text(other.put("k", "2")), TIMED_OUT);
        decide(left(&db), commits);
        other.put("k", "2").unwrap();
        other.commit().unwrap();
        assert_eq!(value(&db, "k").as_deref(), Some("2"));
        db.merge("sum", "100").unwrap();
        let sum = if commits { "131" } else { "101" };
        drop(db);
        let db = TxnDb::open(&counting(dead), &impatient(), DIR).unwrap();
        assert_eq!(value(&db, "sum").as_deref(), Some(sum));
        assert_eq!(value(&db, "k").as_deref(), Some("2"));
        assert_eq!(locked(&db), []);
    }
}

#[test]
fn who_waits_for_a_dropped_transaction_goes_on_when_it_is_decided() {
    for commits in [true, false] {
        let db = &open();
        drop(prepared(db, "x", &["k"]));
        thread::scope(|scope| {
            let waiter = begin(db, |o| o.set_lock_timeout(60_000));
            let id = waiter.id();
            let waits = scope.spawn(move || {
                let found = waiter.get_for_update("k", true).unwrap();
                waiter.put("k", "2").unwrap();
                waiter.commit().unwrap();
                found
            });
            while db.waiting_for(id).is_none() {
                thread::yield_now();
            }
            let txn = left(db);
            assert_eq!(db.waiting_for(id).unwrap().owners, [txn.id()]);
            decide(txn, commits);
            let found = waits.join().unwrap();
            assert_eq!(found.is_some(), commits);
        });
        assert_eq!(value(db, "k").as_deref(), Some("2"));
    }
}

#[test]
fn a_dropped_transaction_does_not_expire() {
    let db = open();
    drop(prepared_and_late(&db, "x", "k"));
    assert_eq!(text(db.put("k", "2")), TIMED_OUT);
    left(&db).commit().unwrap();
    assert_eq!(value(&db, "k").as_deref(), Some("1"));
}

#[test]
fn waiting_for_what_nobody_has_is_no_deadlock_and_with_what_is_had_it_can_be() {
    let db = &open();
    let searching = |milliseconds| {
        begin(db, |o| {
            o.set_deadlock_detect(true);
            o.set_lock_timeout(milliseconds);
        })
    };
    let txn = searching(30_000);
    txn.set_name(b"x").unwrap();
    txn.put("k", "1").unwrap();
    txn.prepare().unwrap();
    drop(txn);
    let other = searching(20);
    other.put("j", "2").unwrap();
    assert_eq!(text(other.put("k", "2")), TIMED_OUT);
    assert!(db.deadlocks().is_empty());
    other.set_lock_timeout(30_000);
    // It looks for deadlocks, and waits as long, as before it was dropped.
    let txn = left(db);
    let id = txn.id();
    thread::scope(|scope| {
        let waits = scope.spawn(move || {
            let had = txn.get_for_update("j", true);
            txn.commit().unwrap();
            had.map(drop)
        });
        while db.waiting_for(id).is_none() {
            thread::yield_now();
        }
        let one = other.put("k", "2");
        drop(other);
        let both = [one, waits.join().unwrap()];
        let refused = both.into_iter().filter_map(Result::err);
        let kinds: Vec<_> = refused.map(|e| e.kind()).collect();
        assert_eq!(kinds, [ErrorKind::Busy]);
        assert_eq!(db.deadlocks().len(), 1);
    });
    assert_eq!(value(db, "k").as_deref(), Some("1"));
    assert_eq!(locked(db), []);
}

/// What is prepared must be had again whatever the limit is. It counts, as every lock does.
#[test]
fn a_limit_of_locks_is_no_obstacle_to_an_opening() {
    let fs = MemFs::new();
    let db = TxnDb::open(&options_on(fs.clone()), &impatient(), DIR).unwrap();
    drop(prepared(&db, "x", &["a", "b", "c"]));
    drop(db);
    let mut limited = impatient();
    limited.set_max_num_locks(2);
    let db = TxnDb::open(&options_on(fs), &limited, DIR).unwrap();
    assert_eq!(locked(&db).len(), 3);
    assert_eq!(text(db.put("d", "1")), LIMIT);
    assert_eq!(text(db.put("a", "2")), TIMED_OUT);
    left(&db).commit().unwrap();
    let txn = db.transaction();
    txn.put("d", "1").unwrap();
    txn.put("e", "1").unwrap();
    assert_eq!(text(txn.put("f", "1")), LIMIT);
    txn.set_name(b"y").unwrap();
    txn.prepare().unwrap();
    drop(txn);
    assert_eq!(text(db.put("f", "1")), LIMIT);
    left(&db).rollback().unwrap();
    db.put("f", "1").unwrap();
}

/// A database that skips concurrency control may have left several transactions with one key.
#[test]
fn transactions_with_one_key_hold_it_together_after_an_opening() {
    let fs = MemFs::new();
    let mut skipping = impatient();
    skipping.set_skip_concurrency_control(true);
    let open = |how: &TransactionDBOptions| {
        let db = TxnDb::open(&options_on(fs.clone()), how, DIR);
        db.unwrap()
    };
    let db = open(&skipping);
    drop(prepared(&db, "x", &["k", "x"]));
    drop(prepared(&db, "y", &["k", "y"]));
    assert_eq!(locked(&db), []);
    drop(db);
    let db = open(&skipping);
    assert_eq!(locked(&db), []);
    assert_eq!(names(&db), ["x", "y"]);
    db.put("free", "1").unwrap();
    drop(db);
    let db = open(&impatient());
    let mut all = db.prepared_transactions();
    let (y, x) = (all.pop().unwrap(), all.pop().unwrap());
    let both = [
        exclusive("k", &[x.id(), y.id()]),
        exclusive("x", &[x.id()]),
        exclusive("y", &[y.id()]),
    ];
    assert_eq!(locked(&db), both);
    assert_eq!(text(db.put("k", "2")), TIMED_OUT);
    let id = y.id();
    x.commit().unwrap();
    assert_eq!(locked(&db), [exclusive("k", &[id]), exclusive("y", &[id])]);
    assert_eq!(text(db.put("k", "2")), TIMED_OUT);
    db.put("x", "2").unwrap();
    y.commit().unwrap();
    assert_eq!(value(&db, "k").as_deref(), Some("1"));
    db.put("k", "2").unwrap();
    assert_eq!(value(&db, "k").as_deref(), Some("2"));
}

#[test]
fn locks_of_a_dropped_family_are_forgotten_with_it() {
    let fs = MemFs::new();
    let o = options_on(fs.clone());
    let db = TxnDb::open(&o, &impatient(), DIR).unwrap();
    db.create_cf("gone", &o).unwrap();
    let txn = db.transaction();
    txn.set_name(b"x").unwrap();
    txn.put_cf(&db.cf_handle("gone").unwrap(), "g", "1")
        .unwrap();
    txn.put("k", "1").unwrap();
    txn.prepare().unwrap();
    drop(txn);
    assert_eq!(locked(&db).len(), 2);
    db.drop_cf("gone").unwrap();
    let id = left(&db).id();
    assert_eq!(locked(&db), [exclusive("k", &[id])]);
    let dead = fs.crash_clone(1.0, 1);
    left(&db).commit().unwrap();
    assert_eq!(locked(&db), []);
    drop(db);
    // The opening does not find the family, either.
    let db = TxnDb::open(&options_on(dead), &impatient(), DIR).unwrap();
    let id = left(&db).id();
    assert_eq!(locked(&db), [exclusive("k", &[id])]);
    left(&db).commit().unwrap();
    assert_eq!(value(&db, "k").as_deref(), Some("1"));
    assert_eq!(locked(&db), []);
}

with_write_prepared!(
    a_dropped_transaction_keeps_its_locks_until_it_is_decided,
    a_failed_decision_keeps_the_locks,
    an_opening_locks_the_keys_of_what_it_finds,
    who_waits_for_a_dropped_transaction_goes_on_when_it_is_decided,
    a_dropped_transaction_does_not_expire,
    waiting_for_what_nobody_has_is_no_deadlock_and_with_what_is_had_it_can_be,
    a_limit_of_locks_is_no_obstacle_to_an_opening,
    transactions_with_one_key_hold_it_together_after_an_opening,
    locks_of_a_dropped_family_are_forgotten_with_it,
);
