//! Which writers wait for which: some are held up at one place, and others must not pass them, or
//! must fail with them.

#![cfg(target_os = "linux")]

use super::threads::kernel::until_it_sleeps;
use super::{logs_side_by_side, open, options};
use crate::harness::points::Trap;
use crate::harness::{Db, protocols, strict_protocols, watched};
use parking_lot::{Condvar, Mutex};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::{Duration, Instant};
use whitewater::fs::fault::{FaultFs, FaultOp, OpSet, PathMatch, Rule};
use whitewater::fs::mem::MemFs;
use whitewater::{CommitProtocol, MemtableFactory, Point, WriteBatch, WriteOptions};

fn get(db: &Db, key: &str) -> Option<String> {
    let found = db.get(key).expect("readable");
    found.map(|v| String::from_utf8(v).expect("text"))
}

/// Readers see neither a batch whose second half is still to come, nor writes behind one that is
/// held up.
#[test]
fn nothing_is_seen_of_what_is_not_finished() {
    for protocol in strict_protocols() {
        for point in [Point::Reserved, Point::Appended, Point::Inserted] {
            watched("held up", 60, move || held_up(protocol, point));
        }
    }
}

fn held_up(protocol: CommitProtocol, point: Point) {
    let mut options = options(protocol, MemFs::new());
    let trap = Trap::set(&mut options);
    let db = &open(&options);
    trap.arm(point);
    let seen = thread::scope(|scope| {
        scope.spawn(|| {
            let mut batch = WriteBatch::default();
            batch.put("first", "1");
            batch.put("second", "1");
            db.write(batch).expect("writes");
        });
        trap.wait();
        until_it_sleeps(scope, || db.put("behind", "1").expect("writes"));
        let keys = ["first", "second", "behind"].map(|key| get(db, key));
        let seen = (db.latest_sequence_number(), keys);
        trap.release();
        seen
    });
    assert_eq!(seen, (0, [None, None, None]), "{protocol}, {point:?}");
    assert_eq!(db.latest_sequence_number(), 3);
}

/// Two writes wait for the same leader, and one of them is not to be logged.
#[test]
fn a_write_with_a_log_joins_no_group_without() {
    for protocol in protocols() {
        for unlogged_first in [false, true] {
            watched("mixed groups", 60, move || {
                mixed_group(protocol, unlogged_first);
            });
        }
    }
}

fn mixed_group(protocol: CommitProtocol, unlogged_first: bool) {
    let fs = MemFs::new();
    let mut options = options(protocol, fs.clone());
    let trap = Trap::set(&mut options);
    let db = &open(&options);
    trap.arm(Point::Reserved);
    thread::scope(|scope| {
        scope.spawn(|| db.put("held", "1").expect("writes"));
        trap.wait();
        for unlogged in [unlogged_first, !unlogged_first] {
            until_it_sleeps(scope, move || {
                let mut options = WriteOptions::default();
                options.disable_wal(unlogged);
                let key = if unlogged { "unlogged" } else { "logged" };
                db.put_opt(key, "1", &options).expect("writes");
            });
        }
        trap.release();
    });
    let mut killed = options.clone();
    killed.set_failpoints(|_, _| ());
    killed.set_fs(Arc::new(fs.crash_clone(1.0, 0)));
    let left = open(&killed);
    let found = ["held", "logged", "unlogged"].map(|key| get(&left, key).is_some());
    assert_eq!(found, [true, true, false], "{protocol}");
}

/// A merge that is stored as a value reads everything before it, not only what is already there.
#[test]
fn a_merge_in_order_waits_for_what_is_before_it() {
    for protocol in strict_protocols() {
        watched("a merge in order", 60, move || {
            let mut options = options(protocol, MemFs::new());
            options.set_max_successive_merges(1);
            let trap = Trap::set(&mut options);
            let db = &open(&options);
            db.merge("k", "old").expect("writes");
            trap.arm(Point::Appended);
            thread::scope(|scope| {
                scope.spawn(|| db.put("k", "new").expect("writes"));
                trap.wait();
                until_it_sleeps(scope, || db.merge("k", "merged").expect("writes"));
                trap.release();
            });
            assert_eq!(get(db, "k").as_deref(), Some("new,merged"), "{protocol}");
        });
    }
}

/// An insert that fails, in the middle of a group or alone, fails its write and stops the database.
#[test]
fn a_failed_insert_is_told() {
    for protocol in protocols() {
        for group in [false, true] {
            watched("a failed insert", 60, move || {
                failed_insert(protocol, group)
            });
        }
    }
}

fn failed_insert(protocol: CommitProtocol, group: bool) {
    let what = format!("{protocol}, group: {group}");
    let armed = Arc::new(AtomicBool::new(false));
    let mut options = options(protocol, MemFs::new());
    options.set_memtable_factory(MemtableFactory::SkipList);
    let planted = armed.clone();
    let compare = move |a: &[u8], b: &[u8]| {
        let bad = a == b"bad" || b == b"bad";
        assert!(!(bad && planted.load(Ordering::Relaxed)), "planted panic");
        a.cmp(b)
    };
    options.set_comparator("trapped", Box::new(compare));
    let trap = Trap::set(&mut options);
    let db = &open(&options);
    db.put("first", "1").expect("writes");
    armed.store(true, Ordering::Relaxed);
    let write = |key: &str| db.put(key, "1").is_ok();
    let told = &Mutex::new(None);
    thread::scope(|scope| {
        if group {
            trap.arm(Point::Reserved);
            scope.spawn(|| write("leads"));
            trap.wait();
            for key in ["other", "bad", "another"] {
                until_it_sleeps(scope, move || {
                    let written = write(key);
                    if key == "bad" {
                        *told.lock() = Some(written);
                    }
                });
            }
            trap.release();
        } else {
            *told.lock() = Some(write("bad"));
        }
    });
    assert_eq!(*told.lock(), Some(false), "{what}: told that it failed");
    assert!(!write("later"), "{what}: refused");
    armed.store(false, Ordering::Relaxed);
    assert_eq!(get(db, "first").as_deref(), Some("1"), "{what}");
    assert_eq!(get(db, "bad"), None, "{what}");
}

/// A write had its entries in the memtables when an earlier one failed. After a resumption it is
/// not there, and its number is not given out again.
#[test]
fn a_write_behind_a_failed_one_stays_hidden() {
    for protocol in protocols().into_iter().filter(|p| logs_side_by_side(*p)) {
        watched("behind a failure", 60, move || behind_a_failure(protocol));
    }
}

fn behind_a_failure(protocol: CommitProtocol) {
    let mem = MemFs::new();
    let faulty = FaultFs::new(Arc::new(mem.clone()));
    let mut options = options(protocol, faulty.clone());
    let trap = Trap::set(&mut options);
    let db = &open(&options);
    db.put("before", "1").expect("writes");
    trap.arm(Point::Reserved);
    thread::scope(|scope| {
        scope.spawn(|| db.put("failed", "1").expect_err("cannot be logged"));
        trap.wait();
        until_it_sleeps(scope, || {
            db.put("behind", "1").expect_err("fails with it");
        });
        faulty.add_rule(Rule {
            ops: OpSet::of(&[FaultOp::Append]),
            path: PathMatch::EndsWith(".log".into()),
            ..Rule::nth(OpSet::ALL, 1)
        });
        trap.release();
    });
    db.resume().expect("goes on");
    let last = db.latest_sequence_number();
    let mut killed = self::options(protocol, mem.crash_clone(1.0, 0));
    killed.set_failpoints(|_, _| ());
    let left = &open(&killed);
    for db in [db, left] {
        let found = ["before", "failed", "behind"].map(|key| get(db, key).is_some());
        assert_eq!(found, [true, false, false], "{protocol}");
        assert!(db.latest_sequence_number() >= last, "{protocol}");
    }
}

/// Where inserts of the key "held" wait.
#[derive(Default)]
struct Gate {
    /// Whether a thread waits, and whether the gate is open.
    state: Mutex<(bool, bool)>,
    changed: Condvar,
}

impl Gate {
    fn pass(&self) {
        let mut state = self.state.lock();
        state.0 = true;
        self.changed.notify_all();
        self.changed.wait_while(&mut state, |state| !state.1);
    }

    fn await_somebody(&self) {
        let mut state = self.state.lock();
        self.changed.wait_while(&mut state, |state| !state.0);
    }

    fn open(&self) {
        self.state.lock().1 = true;
        self.changed.notify_all();
    }
}

/// A write whose insert is under way, visible or not, is in the table that a flush makes of its
/// memtable.
#[test]
fn a_flush_waits_for_inserts_under_way() {
    for protocol in protocols() {
        watched("an insert under way", 60, move || {
            insert_under_way(protocol)
        });
    }
}

fn insert_under_way(protocol: CommitProtocol) {
    let gate = Arc::new(Gate::default());
    let fs = MemFs::new();
    let mut options = options(protocol, fs.clone());
    options.set_memtable_factory(MemtableFactory::SkipList);
    let entrance = gate.clone();
    let compare = move |a: &[u8], b: &[u8]| {
        if a == b"held" || b == b"held" {
            entrance.pass();
        }
        a.cmp(b)
    };
    options.set_comparator("gated", Box::new(compare));
    let db = &open(&options);
    db.put("first", "1").expect("writes");
    let left = thread::scope(|scope| {
        let writer = scope.spawn(|| db.put("held", "1").expect("writes"));
        gate.await_somebody();
        let flush = scope.spawn(|| db.flush().expect("flushes"));
        // Time for a flush that does not wait to end, and for its log to be deleted.
        let begun = Instant::now();
        while !flush.is_finished() && begun.elapsed() < Duration::from_millis(300) {
            thread::sleep(Duration::from_millis(2));
        }
        gate.open();
        writer.join().expect("no panic");
        flush.join().expect("no panic");
        fs.crash_clone(1.0, 0)
    });
    assert_eq!(get(db, "held").as_deref(), Some("1"), "{protocol}");
    options.set_fs(Arc::new(left));
    let db = open(&options);
    assert_eq!(get(&db, "held").as_deref(), Some("1"), "{protocol}, killed");
}
