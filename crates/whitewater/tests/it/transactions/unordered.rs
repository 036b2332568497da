//! `WRITE_PREPARED` over unordered commit: a number is visible before its write is inserted, and
//! undecided until then.

use super::{DIR, TxnDb, impatient, options_on, value};
use crate::harness::points::Trap;
use std::sync::Arc;
use std::thread;
use whitewater::fs::mem::MemFs;
use whitewater::{CommitProtocol, Point, WritePolicy};

fn open() -> (Arc<Trap>, TxnDb) {
    let mut o = options_on(MemFs::new());
    o.set_commit_protocol(CommitProtocol::Unordered);
    let trap = Trap::set(&mut o);
    let mut policy = impatient();
    policy.set_write_policy(WritePolicy::WritePrepared);
    (trap, TxnDb::open(&o, &policy, DIR).unwrap())
}

/// Puts "1" to `a`, which is "old", and calls `meanwhile` when it is inserted and before it counts.
fn held<T>(meanwhile: impl FnOnce(&TxnDb) -> T) -> (TxnDb, T) {
    let (trap, db) = open();
    db.put("a", "old").unwrap();
    trap.arm(Point::Inserted);
    let shown = thread::scope(|s| {
        let writing = s.spawn(|| db.put("a", "1").unwrap());
        trap.wait();
        let shown = meanwhile(&db);
        trap.release();
        writing.join().unwrap();
        shown
    });
    (db, shown)
}

#[test]
fn an_unordered_write_is_seen_once_it_is_inserted() {
    let (db, shown) = held(|db| (db.latest_sequence_number(), value(db, "a")));
    assert_eq!(shown, (2, Some("old".to_owned())), "visible by its number");
    assert_eq!(value(&db, "a").as_deref(), Some("1"));
}

/// What a snapshot has once looked up as old stays so.
#[test]
fn a_snapshot_does_not_get_what_is_inserted_later() {
    let (trap, db) = open();
    db.put("a", "old").unwrap();
    trap.arm(Point::Inserted);
    thread::scope(|s| {
        let writing = s.spawn(|| db.put("a", "1").unwrap());
        trap.wait();
        let snapshot = db.snapshot();
        let shown = snapshot.get("a").unwrap();
        trap.release();
        writing.join().unwrap();
        assert_eq!(shown.as_deref(), Some(&b"old"[..]));
        assert_eq!(snapshot.get("a").unwrap().as_deref(), Some(&b"old"[..]));
    });
    assert_eq!(value(&db, "a").as_deref(), Some("1"));
}

#[test]
fn a_write_decides_its_own_numbers_alone() {
    let (db, shown) = held(|db| {
        db.put("b", "1").unwrap();
        (value(db, "a"), value(db, "b"))
    });
    assert_eq!(shown, (Some("old".to_owned()), Some("1".to_owned())));
    assert_eq!(value(&db, "a").as_deref(), Some("1"));
}
