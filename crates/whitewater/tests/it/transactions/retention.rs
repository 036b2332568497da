//! Logs that have prepared transactions stay, whatever happens beside a prepare, a commit and a
//! flush; and what is written about them is in the logs.

use super::two_phase::{names, prepared};
use super::{DIR, impatient, options_on, value};
use crate::harness::points::Trap;
use crate::harness::watched;
use crate::transactions::TxnDb;
use std::sync::Arc;
use std::thread;
use whitewater::fs::mem::MemFs;
use whitewater::{
    DBWithThreadMode, MultiThreaded, Options, Point, TransactionOptions, WriteOptions,
};

/// A database with the column families `default` and `other`, and a trap for its threads.
fn open(fs: &MemFs) -> (TxnDb, Arc<Trap>) {
    let mut o = options_on(fs.clone());
    o.set_disable_auto_compactions(true);
    let trap = Trap::set(&mut o);
    (open_with(&o), trap)
}

fn open_with(o: &Options) -> TxnDb {
    TxnDb::open_cf(o, &impatient(), DIR, ["default", "other"]).unwrap()
}

/// What the next process finds if this one dies now.
fn killed(fs: &MemFs) -> TxnDb {
    open_with(&options_on(fs.crash_clone(1.0, 0)))
}

/// X1: a flush that begins when a prepare is visible, and has not returned, does not let its log go.
#[test]
fn a_prepare_that_has_not_returned_keeps_its_log() {
    watched("a prepare", 60, || {
        let fs = MemFs::new();
        let (db, trap) = open(&fs);
        let other = db.cf_handle("other").unwrap();
        thread::scope(|scope| {
            trap.arm(Point::Visible);
            let prepare = scope.spawn(|| drop(prepared(&db, "x", &["k"])));
            trap.wait();
            db.put("a", "1").unwrap();
            db.put_cf(&other, "a", "1").unwrap();
            db.flush().unwrap();
            db.flush_cf(&other).unwrap();
            trap.release();
            prepare.join().unwrap();
        });
        db.put("b", "1").unwrap();
        db.flush().unwrap();
        let next = killed(&fs);
        assert_eq!(names(&next), ["x"]);
        for txn in next.prepared_transactions() {
            txn.commit().unwrap();
        }
        assert_eq!(value(&next, "k").as_deref(), Some("1"));
    });
}

/// X2: a commit between the two looks of a flush, that at what is prepared and that at memtables.
#[test]
fn a_commit_between_two_looks_keeps_the_log() {
    watched("a flush", 60, || {
        let fs = MemFs::new();
        let (db, trap) = open(&fs);
        let other = db.cf_handle("other").unwrap();
        let txn = prepared(&db, "x", &["k"]);
        db.put_cf(&other, "a", "1").unwrap();
        // From here on, only what is prepared needs the first log.
        db.flush().unwrap();
        db.flush_cf(&other).unwrap();
        db.put_cf(&other, "a", "2").unwrap();
        thread::scope(|scope| {
            trap.arm(Point::Retaining);
            let flush = scope.spawn(|| db.flush_cf(&other));
            trap.wait();
            txn.commit().unwrap();
            trap.release();
            flush.join().unwrap().unwrap();
        });
        db.put_cf(&other, "a", "3").unwrap();
        db.flush_cf(&other).unwrap();
        assert_eq!(value(&killed(&fs), "k").as_deref(), Some("1"));
    });
}

/// X2: what a commit has inserted is in an old log and in a memtable, until that is flushed.
#[test]
fn the_log_of_what_is_committed_stays_until_its_memtable_is_flushed() {
    let fs = MemFs::new();
    let (db, _) = open(&fs);
    let other = db.cf_handle("other").unwrap();
    let txn = prepared(&db, "x", &["k"]);
    db.put_cf(&other, "a", "1").unwrap();
    db.flush().unwrap();
    db.flush_cf(&other).unwrap();
    txn.commit().unwrap();
    for n in ["2", "3"] {
        db.put_cf(&other, "a", n).unwrap();
        db.flush_cf(&other).unwrap();
    }
    assert_eq!(value(&killed(&fs), "k").as_deref(), Some("1"));
    db.flush().unwrap();
    assert_eq!(value(&killed(&fs), "k").as_deref(), Some("1"));
}

/// X2: the log with the section went before the rollback was durable. So a power cut left the
/// rollback, and took what was acknowledged before it.
#[test]
fn a_rollback_keeps_the_log_until_it_is_durable() {
    watched("a flush", 60, || {
        let fs = MemFs::new();
        let (db, trap) = open(&fs);
        let txn = prepared(&db, "x", &["k"]);
        db.put("a", "1").unwrap();
        db.flush_wal(true).unwrap();
        thread::scope(|scope| {
            trap.arm(Point::Flushing);
            let flush = scope.spawn(|| db.flush());
            trap.wait();
            // In the next log, of which nothing is durable.
            db.put("before", "1").unwrap();
            txn.rollback().unwrap();
            trap.release();
            flush.join().unwrap().unwrap();
        });
        let next = open_with(&options_on(fs.crash_clone(0.0, 0)));
        assert_eq!(value(&next, "a").as_deref(), Some("1"));
        assert_eq!(
            (value(&next, "before"), names(&next)),
            (None, vec!["x".to_owned()])
        );
        db.flush_wal(true).unwrap();
        let next = open_with(&options_on(fs.crash_clone(0.0, 0)));
        assert_eq!(value(&next, "before").as_deref(), Some("1"));
        assert!(names(&next).is_empty());
    });
}

/// RocksDB's issue 3976: without the decision in the log, what was decided would come back.
#[test]
fn decisions_are_logged_whatever_the_write_options_say() {
    let fs = MemFs::new();
    let (db, _) = open(&fs);
    let mut unlogged = WriteOptions::default();
    unlogged.disable_wal(true);
    for (name, commits) in [("c", true), ("r", false)] {
        let txn = db.transaction_opt(&unlogged, &TransactionOptions::default());
        txn.set_name(name.as_bytes()).unwrap();
        txn.put(name, "1").unwrap();
        txn.prepare().unwrap();
        match commits {
            true => txn.commit().unwrap(),
            false => txn.rollback().unwrap(),
        }
    }
    let next = killed(&fs);
    assert!(names(&next).is_empty());
    assert_eq!(value(&next, "c").as_deref(), Some("1"));
    assert_eq!(value(&next, "r"), None);
}

/// What asks for updates gets sections and decisions as they are logged.
#[test]
fn updates_have_sections_and_decisions() {
    let fs = MemFs::new();
    let mut o = options_on(fs.clone());
    o.set_wal_ttl_seconds(1_000_000);
    let db = TxnDb::open(&o, &impatient(), DIR).unwrap();
    db.put("a", "1").unwrap();
    let rolls_back = prepared(&db, "r", &["k", "l"]);
    prepared(&db, "c", &["m", "n"]).commit().unwrap();
    rolls_back.rollback().unwrap();
    drop(rolls_back);
    db.put("a", "2").unwrap();
    db.flush().unwrap();
    drop(db);
    let db = DBWithThreadMode::<MultiThreaded>::open(&o, DIR).unwrap();
    let updates = db.get_updates_since(0).unwrap().map(Result::unwrap);
    let found: Vec<_> = updates.map(|(first, batch)| (first, batch.len())).collect();
    // put, two sections, commit of 4 and 5, rollback, put
    assert_eq!(found, [(1, 1), (2, 2), (3, 2), (4, 0), (6, 0), (7, 1)]);
}
