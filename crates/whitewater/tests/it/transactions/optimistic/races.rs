//! What comes between the validation and the insert of a transaction, and what must not.

#![cfg(target_os = "linux")]

use super::{OptDb, value};
use crate::harness::points::Trap;
use crate::harness::watched;
use crate::races::threads::kernel::until_it_sleeps;
use crate::transactions::{BUSY, DIR, options, options_on, text};
use std::sync::Arc;
use std::thread;
use whitewater::fs::mem::MemFs;
use whitewater::{Options, Point, SstFileWriter, WriteBatchWithTransaction};

fn trapped(mut o: Options) -> (OptDb, Arc<Trap>) {
    o.set_disable_auto_compactions(true);
    let trap = Trap::set(&mut o);
    (OptDb::open_cf(&o, DIR, ["default"]).unwrap(), trap)
}

/// A transaction that has read `k` for update and writes `other` is held up when it has
/// validated; `change`, which others call meanwhile, waits for it.
fn change_waits(o: Options, change: fn(&OptDb)) -> OptDb {
    let (db, trap) = trapped(o);
    db.put("k", "0").unwrap();
    let number = db.latest_sequence_number();
    let txn = db.transaction();
    let read = txn.get_for_update("k", true).unwrap();
    assert_eq!(read.as_deref(), Some(&b"0"[..]));
    txn.put("other", "copy of 0").unwrap();
    trap.arm(Point::Validated);
    thread::scope(|scope| {
        let commit = scope.spawn(move || txn.commit());
        trap.wait();
        until_it_sleeps(scope, || change(&db));
        assert_eq!(db.latest_sequence_number(), number, "nobody has written");
        assert_eq!(value(&db, "k").as_deref(), Some("0"));
        trap.release();
        commit.join().expect("no panic").unwrap();
    });
    assert_eq!(value(&db, "other").as_deref(), Some("copy of 0"));
    db
}

/// Race 23. In RocksDB it comes between, and the transaction commits what it has read of a value
/// that is gone.
#[test]
fn a_plain_put_between_validation_and_insert_is_noticed() {
    let db = watched("a put", 60, || {
        change_waits(options(), |db| db.put("k", "1").unwrap())
    });
    assert_eq!(value(&db, "k").as_deref(), Some("1"));
    let mut changes = db.get_updates_since(1).unwrap();
    let (number, _) = changes.next().unwrap().unwrap();
    assert_eq!(number, 2, "the transaction");
    let (number, batch) = changes.next().unwrap().unwrap();
    assert_eq!((number, batch.len()), (3, 1), "the put");
}

#[test]
fn a_batch_between_validation_and_insert_is_noticed() {
    let db = watched("a batch", 60, || {
        change_waits(options(), |db| {
            let mut batch = WriteBatchWithTransaction::<true>::default();
            batch.put("a", "1");
            batch.delete("k");
            db.write(batch).unwrap();
        })
    });
    assert_eq!(value(&db, "k"), None);
}

#[test]
fn a_range_deletion_between_validation_and_insert_is_noticed() {
    let db = watched("a range deletion", 60, || {
        change_waits(options(), |db| {
            let default = db.cf_handle("default").unwrap();
            db.delete_range_cf(&default, "k", "l").unwrap();
        })
    });
    assert_eq!(value(&db, "k"), None);
}

#[test]
fn another_transaction_between_validation_and_insert_is_noticed() {
    let db = watched("a transaction", 60, || {
        change_waits(options(), |db| {
            let txn = db.transaction();
            // Not validated, but a change.
            txn.put_untracked("k", "1").unwrap();
            txn.commit().unwrap();
        })
    });
    assert_eq!(value(&db, "k").as_deref(), Some("1"));
}

/// Race 24.
#[test]
fn an_ingestion_between_validation_and_insert_is_noticed() {
    let o = options_on(MemFs::new());
    let mut writer = SstFileWriter::create(&o);
    writer.open("/outside.sst").unwrap();
    writer.put("k", "1").unwrap();
    writer.finish().unwrap();
    let db = watched("an ingestion", 60, move || {
        change_waits(o, |db| {
            db.ingest_external_file(vec!["/outside.sst"]).unwrap()
        })
    });
    assert_eq!(value(&db, "k").as_deref(), Some("1"));
}

/// A transaction that uses `k` commits while a write of `k` is held up at `point`.
fn commit_waits(point: Point, change: fn(&OptDb)) {
    let (db, trap) = trapped(options());
    let txn = db.transaction();
    txn.put("k", "2").unwrap();
    trap.arm(point);
    thread::scope(|scope| {
        scope.spawn(|| change(&db));
        trap.wait();
        until_it_sleeps(scope, move || assert_eq!(text(txn.commit()), BUSY));
        trap.release();
    });
    assert_ne!(value(&db, "k").as_deref(), Some("2"));
}

/// Race 28.
#[test]
fn a_write_that_is_not_visible_yet_is_a_conflict() {
    for point in [
        Point::Reserved,
        Point::Appended,
        Point::Inserted,
        Point::Published,
        Point::Visible,
    ] {
        watched("a put in flight", 60, move || {
            commit_waits(point, |db| db.put("k", "1").unwrap());
        });
        watched("a range deletion in flight", 60, move || {
            commit_waits(point, |db| {
                let default = db.cf_handle("default").unwrap();
                db.delete_range_cf(&default, "a", "z").unwrap();
            });
        });
    }
}

/// Race 25: what is flushed between noting a key and the commit is found while the flush is under
/// way, and after.
#[test]
fn a_flush_between_noting_and_commit_hides_no_change() {
    watched("a flush", 60, || {
        let (db, trap) = trapped(options());
        let (during, after, unharmed) = (db.transaction(), db.transaction(), db.transaction());
        during.put("k", "2").unwrap();
        after.put("k", "2").unwrap();
        unharmed.put("l", "2").unwrap();
        db.put("k", "1").unwrap();
        trap.arm(Point::Flushing);
        thread::scope(|scope| {
            let flush = scope.spawn(|| db.flush());
            trap.wait();
            assert_eq!(text(during.commit()), BUSY);
            trap.release();
            flush.join().expect("no panic").unwrap();
        });
        assert_eq!(text(after.commit()), BUSY);
        unharmed.commit().unwrap();
    });
}

/// A switch waits for writers that hold a generation, and a writer that waits for a transaction
/// holds none.
#[test]
fn a_switch_goes_on_while_a_put_waits_for_a_transaction() {
    watched("a switch", 60, || {
        let (db, trap) = trapped(options());
        let txn = db.transaction();
        txn.put("k", "1").unwrap();
        trap.arm(Point::Validated);
        thread::scope(|scope| {
            let commit = scope.spawn(move || txn.commit());
            trap.wait();
            until_it_sleeps(scope, || db.put("k", "2").unwrap());
            db.put("other", "1").unwrap();
            db.flush().unwrap();
            trap.release();
            commit.join().expect("no panic").unwrap();
        });
        assert_eq!(value(&db, "k").as_deref(), Some("2"));
    });
}
