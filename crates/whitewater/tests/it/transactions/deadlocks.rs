//! Transactions that wait for each other in a circle.

use super::{BUSY, Txn, begin, open, text};
use crate::harness::until;
use crate::transactions::TxnDb;
use whitewater::ErrorKind;

/// The text of a deadlock that was found.
const DEADLOCK: &str = "Resource busy: Deadlock";

/// A transaction that waits long and looks for deadlocks over `depth` waits.
fn detecting(db: &TxnDb, depth: i64) -> Txn<'_> {
    begin(db, |o| {
        o.set_lock_timeout(60_000);
        o.set_deadlock_detect(true);
        o.set_deadlock_detect_depth(depth);
    })
}

/// Makes `n` transactions, each of which has key number i and waits for key i + 1. Then the last
/// one, which looks over `depth` waits, asks for key 0. Returns what it got.
fn close_circle(db: &TxnDb, n: usize, depth: i64) -> Result<(), whitewater::Error> {
    let (first, closing) = (detecting(db, 50), detecting(db, depth));
    let (first_id, closing_id) = (first.id(), closing.id());
    first.put("0", "").unwrap();
    closing.put(format!("{}", n - 1), "").unwrap();
    std::thread::scope(|scope| {
        let mut waiting = Vec::new();
        let middle: Vec<_> = (1..n - 1).map(|_| detecting(db, 50)).collect();
        for (i, middle) in (1..).zip(&middle) {
            middle.put(format!("{i}"), "").unwrap();
        }
        for (i, middle) in (1..).zip(middle) {
            waiting.push(scope.spawn(move || {
                middle.put(format!("{}", i + 1), "").unwrap();
            }));
        }
        waiting.push(scope.spawn(move || first.put("1", "").unwrap()));
        until("all but one wait", || {
            let ids = first_id..closing_id + n as u64 + 1;
            ids.filter(|id| db.waiting_for(*id).is_some()).count() == n - 1
        });
        let outcome = closing.put("0", "");
        drop(closing);
        for thread in waiting {
            thread.join().unwrap();
        }
        outcome
    })
}

#[test]
fn the_one_that_closes_a_circle_fails_and_the_others_go_on() {
    for n in [2, 3, 6] {
        let db = open();
        let outcome = close_circle(&db, n, 50);
        assert_eq!(text(outcome), DEADLOCK, "{n}");
        let path = &db.deadlocks()[0];
        assert!(!path.limit_exceeded);
        assert_eq!(path.steps.len(), n);
        assert!(db.lock_status().is_empty());
    }
}

#[test]
fn a_search_that_is_not_over_in_time_counts_as_a_deadlock() {
    let db = open();
    assert_eq!(text(close_circle(&db, 6, 2)), DEADLOCK);
    assert!(db.deadlocks()[0].limit_exceeded);
}

#[test]
fn a_transaction_can_be_used_on_after_a_deadlock() {
    let db = open();
    let (one, two) = (detecting(&db, 50), detecting(&db, 50));
    let one_id = one.id();
    one.put("a", "1").unwrap();
    two.put("b", "2").unwrap();
    std::thread::scope(|scope| {
        let waiter = scope.spawn(move || {
            one.put("b", "1").unwrap();
            one.commit().unwrap();
        });
        until("it waits", || db.waiting_for(one_id).is_some());
        let e = two.put("a", "2").unwrap_err();
        assert_eq!(
            (e.kind(), e.to_string()),
            (ErrorKind::Busy, DEADLOCK.into())
        );
        two.put("c", "2").unwrap();
        two.commit().unwrap();
        waiter.join().unwrap();
    });
    assert_eq!(super::value(&db, "a").as_deref(), Some("1"));
    assert_eq!(super::value(&db, "b").as_deref(), Some("1"));
    assert_eq!(super::value(&db, "c").as_deref(), Some("2"));
}

#[test]
fn two_readers_that_both_want_to_write_are_a_deadlock() {
    let db = open();
    let (one, two) = (detecting(&db, 50), detecting(&db, 50));
    let one_id = one.id();
    one.get_for_update("k", false).unwrap();
    two.get_for_update("k", false).unwrap();
    std::thread::scope(|scope| {
        let waiter = scope.spawn(move || one.put("k", "1").and_then(|()| one.commit()));
        until("it waits", || db.waiting_for(one_id).is_some());
        assert!(text(two.put("k", "2")).starts_with(BUSY));
        two.rollback().unwrap();
        waiter.join().unwrap().unwrap();
    });
    assert_eq!(super::value(&db, "k").as_deref(), Some("1"));
}

#[test]
fn who_waits_for_whom_is_told() {
    let db = open();
    let (holder, waiter) = (db.transaction(), begin(&db, |o| o.set_lock_timeout(60_000)));
    holder.put("k", "1").unwrap();
    let id = waiter.id();
    assert_eq!(db.waiting_for(id), None);
    std::thread::scope(|scope| {
        let waiting = scope.spawn(move || waiter.put("k", "2").unwrap());
        until("it waits", || db.waiting_for(id).is_some());
        let told = db.waiting_for(id).unwrap();
        assert_eq!((told.family, &told.key[..]), (0, &b"k"[..]));
        assert_eq!(told.owners, [holder.id()]);
        holder.rollback().unwrap();
        waiting.join().unwrap();
    });
    assert_eq!(db.waiting_for(id), None);
}
