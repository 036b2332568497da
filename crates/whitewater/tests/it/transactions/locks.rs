//! Who gets a key, and who does not.

use super::{TIMED_OUT, begin, impatient, kind, open, options, text, txn_db_options, value};
use crate::transactions::{DIR, TxnDb};
use std::path::Path;
use whitewater::perf::{PerfMetric, PerfStatsLevel, set_perf_stats};
use whitewater::{ErrorKind, LockMode, PerfContext};

#[test]
fn a_key_that_one_transaction_has_written_is_refused_to_all_others() {
    let db = open();
    db.put("k", "old").unwrap();
    let one = db.transaction();
    one.put("k", "new").unwrap();
    let two = db.transaction();
    assert_eq!(text(two.put("k", "2")), TIMED_OUT);
    assert_eq!(text(two.delete("k")), TIMED_OUT);
    assert_eq!(text(two.merge("k", "2")), TIMED_OUT);
    assert_eq!(text(two.single_delete("k")), TIMED_OUT);
    assert_eq!(text(two.get_for_update("k", true)), TIMED_OUT);
    assert_eq!(text(two.get_for_update("k", false)), TIMED_OUT);
    assert_eq!(text(db.put("k", "2")), TIMED_OUT);
    assert_eq!(kind(db.delete("k")), ErrorKind::TimedOut);
    // Others read what was committed, and lock what is free.
    assert_eq!(two.get("k").unwrap().as_deref(), Some(&b"old"[..]));
    assert_eq!(value(&db, "k").as_deref(), Some("old"));
    two.put("other", "2").unwrap();
    db.put("third", "3").unwrap();
    one.commit().unwrap();
    two.put("k", "2").unwrap();
    two.commit().unwrap();
    assert_eq!(value(&db, "k").as_deref(), Some("2"));
}

#[test]
fn every_write_and_every_read_for_update_locks_a_key_that_does_not_exist() {
    let db = open();
    let one = db.transaction();
    one.put("put", "").unwrap();
    one.delete("delete").unwrap();
    one.single_delete("single_delete").unwrap();
    one.merge("merge", "").unwrap();
    one.get_for_update("read", true).unwrap();
    one.get_for_update("shared", false).unwrap();
    one.put_untracked("put_untracked", "").unwrap();
    one.delete_untracked("delete_untracked").unwrap();
    one.merge_untracked("merge_untracked", "").unwrap();
    one.single_delete_untracked("single_delete_untracked")
        .unwrap();
    let locked: Vec<_> = db
        .lock_status()
        .into_iter()
        .map(|lock| (String::from_utf8(lock.key).unwrap(), lock.mode))
        .collect();
    let expected = [
        ("delete", LockMode::Exclusive),
        ("delete_untracked", LockMode::Exclusive),
        ("merge", LockMode::Exclusive),
        ("merge_untracked", LockMode::Exclusive),
        ("put", LockMode::Exclusive),
        ("put_untracked", LockMode::Exclusive),
        ("read", LockMode::Exclusive),
        ("shared", LockMode::Shared),
        ("single_delete", LockMode::Exclusive),
        ("single_delete_untracked", LockMode::Exclusive),
    ];
    assert_eq!(locked, expected.map(|(key, mode)| (key.to_owned(), mode)));
    assert!(db.lock_status().iter().all(|l| l.holders == [one.id()]));
}

#[test]
fn readers_for_update_share_a_key_and_keep_writers_out() {
    let db = open();
    let (one, two) = (db.transaction(), db.transaction());
    one.get_for_update("k", false).unwrap();
    two.get_for_update("k", false).unwrap();
    assert_eq!(db.lock_status()[0].holders, [one.id(), two.id()]);
    assert_eq!(text(one.put("k", "1")), TIMED_OUT);
    assert_eq!(text(two.get_for_update("k", true)), TIMED_OUT);
    assert_eq!(text(db.put("k", "0")), TIMED_OUT);
    two.rollback().unwrap();
    // The only reader becomes the writer.
    one.put("k", "1").unwrap();
    assert_eq!(text(two.get_for_update("k", false)), TIMED_OUT);
    one.commit().unwrap();
    assert_eq!(value(&db, "k").as_deref(), Some("1"));
}

#[test]
fn a_failed_upgrade_leaves_the_shared_lock() {
    let db = open();
    let (one, two) = (db.transaction(), db.transaction());
    one.get_for_update("k", false).unwrap();
    two.get_for_update("k", false).unwrap();
    assert_eq!(text(one.put("k", "1")), TIMED_OUT);
    two.rollback().unwrap();
    // Still shared by the first: a third reader gets in, a writer does not.
    let three = db.transaction();
    three.get_for_update("k", false).unwrap();
    assert_eq!(text(three.put("k", "3")), TIMED_OUT);
}

#[test]
fn locks_end_with_commit_rollback_and_drop() {
    let db = open();
    let one = db.transaction();
    one.put("k", "1").unwrap();
    one.rollback().unwrap();
    assert!(db.lock_status().is_empty());
    one.put("k", "2").unwrap();
    drop(one);
    assert!(db.lock_status().is_empty());
    assert_eq!(value(&db, "k"), None);
    let one = db.transaction();
    one.put("k", "3").unwrap();
    one.get_for_update("seen", false).unwrap();
    one.commit().unwrap();
    assert!(db.lock_status().is_empty());
    assert_eq!(value(&db, "k").as_deref(), Some("3"));
}

#[test]
fn a_transaction_whose_call_has_timed_out_can_be_used_on() {
    let db = open();
    let holder = db.transaction();
    holder.put("held", "1").unwrap();
    let other = db.transaction();
    other.put("a", "1").unwrap();
    assert_eq!(text(other.put("held", "2")), TIMED_OUT);
    other.put("b", "1").unwrap();
    other.commit().unwrap();
    assert_eq!(
        (value(&db, "a"), value(&db, "held")),
        (Some("1".into()), None)
    );
    assert_eq!(value(&db, "b").as_deref(), Some("1"));
}

#[test]
fn the_timeout_of_a_transaction_is_its_own_or_the_databases() {
    let mut patient = txn_db_options();
    patient.set_txn_lock_timeout(-1);
    patient.set_default_lock_timeout(0);
    let db = TxnDb::open(&options(), &patient, Path::new(DIR)).unwrap();
    let holder = db.transaction();
    holder.put("k", "1").unwrap();
    assert_eq!(text(db.put("k", "2")), TIMED_OUT);
    for timeout in [0, 1] {
        let other = begin(&db, |o| o.set_lock_timeout(timeout));
        assert_eq!(text(other.put("k", "2")), TIMED_OUT);
    }
    let other = db.transaction();
    other.set_lock_timeout(0);
    assert_eq!(text(other.put("k", "2")), TIMED_OUT);
    // Without a limit it waits until the lock is free.
    std::thread::scope(|scope| {
        let waiting = scope.spawn(|| {
            let waiter = db.transaction();
            waiter.put("k", "3").unwrap();
            waiter.commit().unwrap();
        });
        crate::harness::until("nobody waits", || {
            let ids = holder.id()..holder.id() + 10;
            ids.into_iter().any(|id| db.waiting_for(id).is_some())
        });
        holder.commit().unwrap();
        waiting.join().unwrap();
    });
    assert_eq!(value(&db, "k").as_deref(), Some("3"));
}

#[test]
fn beyond_the_limit_of_locks_keys_are_refused_and_shared_ones_count_once() {
    let mut o = impatient();
    o.set_max_num_locks(3);
    let db = TxnDb::open(&options(), &o, Path::new(DIR)).unwrap();
    let (one, two) = (db.transaction(), db.transaction());
    one.get_for_update("a", false).unwrap();
    two.get_for_update("a", false).unwrap();
    one.put("b", "1").unwrap();
    two.put("c", "2").unwrap();
    let limit = "Operation aborted: Failed to acquire lock due to max_num_locks limit";
    assert_eq!(text(one.put("d", "1")), limit);
    assert_eq!(text(db.put("d", "1")), limit);
    // What it has, it may use again.
    one.put("b", "1").unwrap();
    assert_eq!(text(one.put("c", "1")), TIMED_OUT);
    two.rollback().unwrap();
    one.put("d", "1").unwrap();
    assert_eq!(text(two.put("e", "1")), limit);
    one.commit().unwrap();
    two.put("e", "1").unwrap();
}

#[test]
fn reads_for_update_are_taken_back_one_by_one() {
    let db = open();
    let (one, other) = (db.transaction(), db.transaction());
    one.get_for_update("k", true).unwrap();
    one.get_for_update("k", true).unwrap();
    one.undo_get_for_update("k");
    assert_eq!(text(other.put("k", "2")), TIMED_OUT);
    one.undo_get_for_update("k");
    other.put("k", "2").unwrap();
    // There is nothing left to take back, and it has no effect on others.
    one.undo_get_for_update("k");
    one.undo_get_for_update("never read");
    assert_eq!(text(one.get_for_update("k", true)), TIMED_OUT);
    other.rollback().unwrap();
    // What was written stays locked.
    one.get_for_update("k", true).unwrap();
    one.put("k", "1").unwrap();
    one.undo_get_for_update("k");
    assert_eq!(text(other.put("k", "2")), TIMED_OUT);
    one.commit().unwrap();
    assert_eq!(value(&db, "k").as_deref(), Some("1"));
}

#[test]
fn reads_before_a_savepoint_are_not_taken_back() {
    let db = open();
    let (one, other) = (db.transaction(), db.transaction());
    one.get_for_update("before", true).unwrap();
    one.set_savepoint();
    one.undo_get_for_update("before");
    assert_eq!(text(other.put("before", "2")), TIMED_OUT);
    one.get_for_update("after", true).unwrap();
    one.undo_get_for_update("after");
    other.put("after", "2").unwrap();
    // Read again since the savepoint: that read is taken back, the one before is not.
    one.get_for_update("before", true).unwrap();
    one.undo_get_for_update("before");
    one.undo_get_for_update("before");
    assert_eq!(text(other.put("before", "2")), TIMED_OUT);
    one.rollback_to_savepoint().unwrap();
    one.undo_get_for_update("before");
    other.put("before", "2").unwrap();
}

#[test]
fn a_database_that_skips_concurrency_control_locks_nothing() {
    let mut o = impatient();
    o.set_skip_concurrency_control(true);
    let db = TxnDb::open(&options(), &o, Path::new(DIR)).unwrap();
    let (one, two) = (begin(&db, |o| o.set_snapshot(true)), db.transaction());
    db.put("k", "0").unwrap();
    one.put("k", "1").unwrap();
    two.put("k", "2").unwrap();
    assert!(db.lock_status().is_empty());
    two.commit().unwrap();
    one.commit().unwrap();
    assert_eq!(value(&db, "k").as_deref(), Some("1"));
}

#[test]
fn waits_for_locks_are_measured() {
    let db = open();
    let holder = db.transaction();
    holder.put("k", "1").unwrap();
    set_perf_stats(PerfStatsLevel::EnableTime);
    let mut context = PerfContext::default();
    context.reset();
    let other = db.transaction();
    other.put("free", "1").unwrap();
    assert_eq!(context.metric(PerfMetric::KeyLockWaitCount), 0);
    assert_eq!(text(other.put("k", "2")), TIMED_OUT);
    assert_eq!(context.metric(PerfMetric::KeyLockWaitCount), 1);
    assert!(context.metric(PerfMetric::KeyLockWaitTime) > 0);
    set_perf_stats(PerfStatsLevel::Disable);
}

with_write_prepared!(
    a_key_that_one_transaction_has_written_is_refused_to_all_others,
    every_write_and_every_read_for_update_locks_a_key_that_does_not_exist,
    readers_for_update_share_a_key_and_keep_writers_out,
    a_failed_upgrade_leaves_the_shared_lock,
    locks_end_with_commit_rollback_and_drop,
    a_transaction_whose_call_has_timed_out_can_be_used_on,
    the_timeout_of_a_transaction_is_its_own_or_the_databases,
    beyond_the_limit_of_locks_keys_are_refused_and_shared_ones_count_once,
    reads_for_update_are_taken_back_one_by_one,
    reads_before_a_savepoint_are_not_taken_back,
    a_database_that_skips_concurrency_control_locks_nothing,
    waits_for_locks_are_measured,
);
