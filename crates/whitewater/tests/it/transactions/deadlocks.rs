//! Transactions that wait for each other in a circle.

use super::{Txn, begin, open, text};
use crate::harness::until;
use crate::transactions::TxnDb;
use whitewater::{Error, ErrorKind};

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
/// one, which looks over `depth` waits, asks for key 0. Returns what it got, and what the others
/// got: the one that looks last fails, which need not be the one that has asked last.
fn close_circle(db: &TxnDb, n: usize, depth: i64) -> (Result<(), Error>, Vec<Result<(), Error>>) {
    let (first, closing) = (detecting(db, 50), detecting(db, depth));
    let (first_id, closing_id) = (first.id(), closing.id());
    first.put("0", "").unwrap();
    closing.put(format!("{}", n - 1), "").unwrap();
    let middle: Vec<_> = (1..n - 1).map(|_| detecting(db, 50)).collect();
    for (i, middle) in (1..).zip(&middle) {
        middle.put(format!("{i}"), "").unwrap();
    }
    std::thread::scope(|scope| {
        let mut waiting = vec![scope.spawn(move || first.put("1", ""))];
        for (i, middle) in (1..).zip(middle) {
            waiting.push(scope.spawn(move || middle.put(format!("{}", i + 1), "")));
        }
        until("all but one wait", || {
            let ids = first_id..closing_id + n as u64 + 1;
            ids.filter(|id| db.waiting_for(*id).is_some()).count() == n - 1
        });
        let outcome = closing.put("0", "");
        drop(closing);
        let others = waiting.into_iter().map(|thread| thread.join().unwrap());
        (outcome, others.collect())
    })
}

#[test]
fn a_circle_is_found_and_the_others_go_on() {
    for n in [2, 3, 6] {
        let db = open();
        let (last, mut all) = close_circle(&db, n, 50);
        all.push(last);
        let failed: Vec<_> = all.into_iter().filter_map(Result::err).collect();
        assert!((1..n).contains(&failed.len()), "{n}: {failed:?}");
        assert!(
            failed.iter().all(|e| e.to_string() == DEADLOCK),
            "{failed:?}"
        );
        let path = &db.deadlocks()[0];
        assert!(!path.limit_exceeded);
        assert_eq!(path.steps.len(), n);
        assert!(db.lock_status().is_empty());
    }
}

#[test]
fn a_search_that_is_not_over_in_time_counts_as_a_deadlock() {
    let db = open();
    let (last, others) = close_circle(&db, 6, 2);
    if last.is_err() {
        assert_eq!(text(last), DEADLOCK);
        assert!(db.deadlocks().iter().any(|path| path.limit_exceeded));
    } else {
        // Another one has looked after it, and over the whole circle.
        assert!(others.iter().any(Result::is_err));
        assert!(!db.deadlocks().is_empty());
    }
}

#[test]
fn a_transaction_can_be_used_on_after_a_deadlock() {
    let db = open();
    // The first does not look for deadlocks, so the second finds it.
    let (one, two) = (
        begin(&db, |o| o.set_lock_timeout(60_000)),
        detecting(&db, 50),
    );
    let one_id = one.id();
    one.put("a", "1").unwrap();
    two.put("b", "2").unwrap();
    std::thread::scope(|scope| {
        let waiter = scope.spawn(move || {
            let got = one.put("b", "1");
            got.and_then(|()| one.commit())
        });
        until("it waits", || db.waiting_for(one_id).is_some());
        two.set_lock_timeout(1);
        let e = two.put("a", "2").unwrap_err();
        assert!(
            [ErrorKind::Busy, ErrorKind::TimedOut].contains(&e.kind()),
            "{e}"
        );
        two.put("c", "2").unwrap();
        two.commit().unwrap();
        waiter.join().unwrap().unwrap();
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
    let write = |txn: Txn<'_>, value: &str| txn.put("k", value).and_then(|()| txn.commit());
    let outcomes = std::thread::scope(|scope| {
        let waiter = scope.spawn(move || write(one, "1"));
        until("it waits", || db.waiting_for(one_id).is_some());
        let second = write(two, "2");
        [waiter.join().unwrap(), second]
    });
    // One of them at least, and each with that text.
    let failed: Vec<_> = outcomes.iter().filter_map(|o| o.as_ref().err()).collect();
    assert!(!failed.is_empty() && failed.iter().all(|e| e.to_string() == DEADLOCK));
    let expected = match &outcomes {
        [Ok(()), _] => Some("1"),
        [_, Ok(())] => Some("2"),
        _ => None,
    };
    assert_eq!(super::value(&db, "k").as_deref(), expected);
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

with_write_prepared!(
    a_circle_is_found_and_the_others_go_on,
    a_search_that_is_not_over_in_time_counts_as_a_deadlock,
    a_transaction_can_be_used_on_after_a_deadlock,
    two_readers_that_both_want_to_write_are_a_deadlock,
    who_waits_for_whom_is_told,
);
