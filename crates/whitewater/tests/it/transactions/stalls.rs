//! Stalls of writes while transactions hold locks.

#![cfg(target_os = "linux")]

use super::two_phase::names;
use super::{DIR, TIMED_OUT, Txn, TxnDb, begin, impatient, options_on, text, value};
use crate::harness::points::Trap;
use crate::harness::watched;
use crate::races::threads::kernel::until_it_sleeps;
use std::sync::Arc;
use std::thread;
use whitewater::fs::mem::MemFs;
use whitewater::{ErrorKind, Point, TransactionDBOptions, TransactionOptions, WriteOptions};

/// A database whose writes are stopped once its memtable is full, until the trap is released: it
/// holds up the flush of the memtable before. Transactions are begun before that.
fn stopped(how: &TransactionDBOptions, work: impl FnOnce(&TxnDb, &Trap)) {
    let mut o = options_on(MemFs::new());
    o.set_max_write_buffer_number(2);
    o.set_disable_auto_compactions(true);
    let trap: Arc<Trap> = Trap::set(&mut o);
    let db = TxnDb::open(&o, how, DIR).unwrap();
    work(&db, &trap);
}

/// Fills memtables until a write would have to wait.
fn stop(db: &TxnDb, trap: &Trap) {
    trap.arm(Point::Flushing);
    for n in 0..1_000u32 {
        if let Err(e) = db.put_opt(n.to_be_bytes(), [1; 1_000], &hurried()) {
            assert_eq!(e.kind(), ErrorKind::Incomplete, "{e}");
            trap.wait();
            return;
        }
    }
    panic!("no stall");
}

/// Fails instead of waiting in a stall.
fn hurried() -> WriteOptions {
    let mut options = WriteOptions::default();
    options.set_no_slowdown(true);
    options
}

fn named<'a>(db: &'a TxnDb, name: &str, key: &str, how: &WriteOptions) -> Txn<'a> {
    let txn = db.transaction_opt(how, &TransactionOptions::default());
    txn.set_name(name.as_bytes()).unwrap();
    txn.put(key, name).unwrap();
    txn
}

/// Race 30: locks are held over a stall, which ends without them.
#[test]
fn a_commit_waits_in_a_stall_and_keeps_its_locks() {
    let how = impatient();
    watched("a commit in a stall", 60, move || {
        stopped(&how, |db, trap| {
            let (plain, two_phase) = (begin(db, |_| {}), named(db, "x", "b", &Default::default()));
            plain.put("a", "plain").unwrap();
            two_phase.prepare().unwrap();
            stop(db, trap);
            thread::scope(|scope| {
                until_it_sleeps(scope, move || plain.commit().unwrap());
                until_it_sleeps(scope, move || two_phase.commit().unwrap());
                // Waiting for a lock ends before waiting in the stall begins.
                for key in ["a", "b"] {
                    assert_eq!(text(db.put_opt(key, "2", &hurried())), TIMED_OUT);
                    assert_eq!(value(db, key), None);
                }
                trap.release();
            });
            assert_eq!(value(db, "a").as_deref(), Some("plain"));
            assert_eq!(value(db, "b").as_deref(), Some("x"));
            assert!(db.lock_status().is_empty());
        });
    });
}

/// Race 30: with `no_slowdown`, calls fail at once, and the transaction is what it was.
#[test]
fn a_transaction_that_must_not_wait_in_a_stall_can_be_used_after_it() {
    let how = impatient();
    watched("hurried transactions", 60, move || {
        stopped(&how, |db, trap| {
            let to_prepare = named(db, "to prepare", "a", &hurried());
            let to_commit = named(db, "to commit", "b", &hurried());
            let to_roll_back = named(db, "to roll back", "c", &hurried());
            let plain = named(db, "plain", "d", &hurried());
            to_commit.prepare().unwrap();
            to_roll_back.prepare().unwrap();
            stop(db, trap);
            let incomplete = |result: Result<(), whitewater::Error>| {
                assert_eq!(result.unwrap_err().kind(), ErrorKind::Incomplete);
            };
            incomplete(to_prepare.prepare());
            incomplete(to_roll_back.rollback());
            // Their locks are as before.
            for key in ["a", "c"] {
                assert_eq!(text(db.put(key, "2")), TIMED_OUT);
            }
            // A commit takes the transaction along: the prepared one is handed out again, with its
            // locks, of the other nothing is left.
            incomplete(to_commit.commit());
            incomplete(plain.commit());
            let held: Vec<_> = db.lock_status().into_iter().map(|lock| lock.key).collect();
            assert_eq!(held, [b"a", b"b", b"c"]);
            trap.release();
            db.put("waits", "for the end of the stall").unwrap();

            to_prepare.put("e", "later").unwrap();
            to_prepare.prepare().unwrap();
            to_prepare.commit().unwrap();
            to_roll_back.rollback().unwrap();
            drop(to_roll_back);
            assert_eq!(names(db), ["to commit"]);
            db.prepared_transactions().pop().unwrap().commit().unwrap();
            let found = ["a", "b", "c", "d", "e"].map(|key| value(db, key));
            let found: Vec<_> = found.iter().map(|v| v.as_deref().unwrap_or("-")).collect();
            assert_eq!(found, ["to prepare", "to commit", "-", "-", "later"]);
            assert!(db.lock_status().is_empty());
        });
    });
}

with_write_prepared!(
    a_commit_waits_in_a_stall_and_keeps_its_locks,
    a_transaction_that_must_not_wait_in_a_stall_can_be_used_after_it,
);
