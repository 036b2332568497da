//! What conflicts, and what is read at a snapshot.

use super::{BUSY, TIMED_OUT, begin, kind, open, shown, text, value, with_snapshot};
use whitewater::{ErrorKind, ReadOptions};

#[test]
fn a_change_since_the_snapshot_is_a_conflict() {
    let db = open();
    db.put("a", "0").unwrap();
    let txn = with_snapshot(&db);
    db.put("a", "1").unwrap();
    db.delete("b").unwrap();
    assert_eq!(text(txn.put("a", "2")), BUSY);
    assert_eq!(text(txn.delete("a")), BUSY);
    assert_eq!(text(txn.merge("a", "2")), BUSY);
    assert_eq!(text(txn.single_delete("a")), BUSY);
    assert_eq!(text(txn.get_for_update("a", true)), BUSY);
    assert_eq!(kind(txn.get_for_update("a", false)), ErrorKind::Busy);
    assert_eq!(text(txn.put("b", "2")), BUSY);
    // The lock that had been taken for it is free again.
    assert!(db.lock_status().is_empty());
    db.put("a", "3").unwrap();
    txn.put("c", "2").unwrap();
    txn.commit().unwrap();
    assert_eq!(value(&db, "a").as_deref(), Some("3"));
}

#[test]
fn without_a_snapshot_a_change_before_the_lock_is_no_conflict() {
    let db = open();
    let txn = db.transaction();
    db.put("a", "1").unwrap();
    txn.put("a", "2").unwrap();
    assert_eq!(text(db.put("a", "3")), TIMED_OUT);
    txn.commit().unwrap();
    assert_eq!(value(&db, "a").as_deref(), Some("2"));
}

#[test]
fn a_key_that_was_locked_before_a_later_snapshot_does_not_conflict() {
    let db = open();
    db.put("k", "0").unwrap();
    let txn = db.transaction();
    txn.put("k", "1").unwrap();
    db.put("other", "1").unwrap();
    txn.set_snapshot();
    txn.put("k", "2").unwrap();
    db.put("other", "2").unwrap();
    assert_eq!(text(txn.put("other", "3")), BUSY);
    // A snapshot that is taken again, later, makes it fit.
    txn.set_snapshot();
    txn.put("other", "3").unwrap();
    txn.commit().unwrap();
    assert_eq!(value(&db, "k").as_deref(), Some("2"));
    assert_eq!(value(&db, "other").as_deref(), Some("3"));
}

#[test]
fn the_snapshot_shows_the_old_state_with_own_writes() {
    let db = open();
    db.put("a", "0").unwrap();
    let txn = with_snapshot(&db);
    db.put("a", "1").unwrap();
    db.put("new", "1").unwrap();
    txn.put("own", "2").unwrap();
    let snapshot = txn.snapshot();
    assert_eq!(shown(snapshot.get("a")).as_deref(), Some("0"));
    assert_eq!(shown(snapshot.get("new")), None);
    assert_eq!(shown(snapshot.get("own")).as_deref(), Some("2"));
    // The transaction itself reads the newest state.
    assert_eq!(shown(txn.get("a")).as_deref(), Some("1"));
    let keys = |snapshot: &whitewater::SnapshotWithThreadMode<'_, _>| {
        let all = snapshot.iterator(whitewater::IteratorMode::Start);
        all.map(|e| String::from_utf8(e.unwrap().0.into()).unwrap())
            .collect::<Vec<_>>()
    };
    assert_eq!(keys(&snapshot), ["a", "own"]);
    let found = snapshot.multi_get(["a", "new", "own"]);
    let found: Vec<_> = found.into_iter().map(shown).collect();
    assert_eq!(found, [Some("0".into()), None, Some("2".into())]);
    let mut at_snapshot = ReadOptions::default();
    at_snapshot.set_snapshot(&snapshot);
    assert_eq!(shown(txn.get_opt("a", &at_snapshot)).as_deref(), Some("0"));
}

#[test]
fn a_transaction_without_a_snapshot_has_one_that_shows_the_newest_state() {
    let db = open();
    db.put("a", "0").unwrap();
    let txn = db.transaction();
    let snapshot = txn.snapshot();
    assert_eq!(snapshot.sequence_number(), db.snapshot().sequence_number());
    db.put("a", "1").unwrap();
    assert_eq!(shown(snapshot.get("a")).as_deref(), Some("1"));
    let mut options = ReadOptions::default();
    options.set_snapshot(&snapshot);
    assert_eq!(shown(txn.get_opt("a", &options)).as_deref(), Some("1"));
}

#[test]
fn the_next_use_of_a_key_takes_the_snapshot_after_its_lock() {
    let db = open();
    let txn = db.transaction();
    txn.set_snapshot_on_next_operation();
    db.put("a", "1").unwrap();
    db.put("b", "1").unwrap();
    // A plain read takes none.
    txn.get("a").unwrap();
    db.put("a", "2").unwrap();
    txn.get_for_update("a", true).unwrap();
    db.put("b", "2").unwrap();
    assert_eq!(text(txn.put("b", "3")), BUSY);
    assert_eq!(shown(txn.snapshot().get("b")).as_deref(), Some("1"));
    txn.set_snapshot_on_next_operation();
    txn.put("b", "3").unwrap();
    assert_eq!(shown(txn.snapshot().get("a")).as_deref(), Some("2"));
}

#[test]
fn a_snapshot_that_was_given_up_conflicts_with_nothing() {
    let db = open();
    let txn = with_snapshot(&db);
    db.put("a", "1").unwrap();
    assert_eq!(text(txn.put("a", "2")), BUSY);
    txn.clear_snapshot();
    txn.put("a", "2").unwrap();
    assert_eq!(shown(txn.snapshot().get("a")).as_deref(), Some("2"));
    txn.set_snapshot_on_next_operation();
    txn.clear_snapshot();
    db.put("b", "1").unwrap();
    txn.put("c", "1").unwrap();
    db.put("b", "2").unwrap();
    txn.put("b", "3").unwrap();
}

#[test]
fn untracked_writes_lock_and_do_not_ask_for_changes() {
    let db = open();
    let txn = with_snapshot(&db);
    db.put("a", "1").unwrap();
    txn.put_untracked("a", "2").unwrap();
    assert_eq!(text(db.put("a", "3")), TIMED_OUT);
    // A tracked write of the same key is still asked: it was never known to be unchanged.
    assert_eq!(text(txn.put("a", "3")), BUSY);
    assert_eq!(text(db.put("a", "3")), TIMED_OUT);
    txn.merge_untracked("a", "+").unwrap();
    assert_eq!(shown(txn.get("a")).as_deref(), Some("2,+"));
    txn.delete_untracked("a").unwrap();
    txn.commit().unwrap();
    assert_eq!(value(&db, "a"), None);
}

#[test]
fn a_read_for_update_need_not_be_validated() {
    let db = open();
    let txn = with_snapshot(&db);
    db.put("a", "1").unwrap();
    let plain = ReadOptions::default();
    let found = txn.get_for_update_unvalidated("a", true, &plain);
    assert_eq!(shown(found).as_deref(), Some("1"));
    assert_eq!(text(db.put("a", "2")), TIMED_OUT);
    let mut at_snapshot = ReadOptions::default();
    at_snapshot.set_snapshot(&txn.snapshot());
    assert_eq!(
        text(txn.get_for_update_unvalidated("a", true, &at_snapshot)),
        "Invalid argument: If do_validate is false then GetForUpdate with snapshot is not defined."
    );
}

#[test]
fn a_failed_validation_of_an_upgrade_leaves_the_shared_lock() {
    let db = open();
    let txn = with_snapshot(&db);
    db.put("k", "1").unwrap();
    let plain = ReadOptions::default();
    txn.get_for_update_unvalidated("k", false, &plain).unwrap();
    assert_eq!(text(txn.put("k", "2")), BUSY);
    let other = db.transaction();
    other.get_for_update("k", false).unwrap();
    assert_eq!(text(other.put("k", "3")), TIMED_OUT);
}

#[test]
fn an_updated_value_is_not_lost_whoever_comes_first() {
    // RocksDB's LostUpdate: two transactions add to one counter.
    let db = open();
    db.put("n", "0").unwrap();
    for with_snapshots in [false, true] {
        let (one, two) = (
            begin(&db, |o| o.set_snapshot(with_snapshots)),
            begin(&db, |o| o.set_snapshot(with_snapshots)),
        );
        let add = |txn: &super::Txn<'_>| -> Result<(), whitewater::Error> {
            let n = txn.get_for_update("n", true)?.unwrap();
            let n: u32 = String::from_utf8(n).unwrap().parse().unwrap();
            txn.put("n", (n + 1).to_string())
        };
        add(&one).unwrap();
        assert_eq!(text(add(&two)), TIMED_OUT);
        one.commit().unwrap();
        match with_snapshots {
            true => assert_eq!(text(add(&two)), BUSY),
            false => add(&two).and_then(|()| two.commit()).unwrap(),
        }
    }
    assert_eq!(value(&db, "n").as_deref(), Some("3"));
}

with_write_prepared!(
    a_change_since_the_snapshot_is_a_conflict,
    without_a_snapshot_a_change_before_the_lock_is_no_conflict,
    a_key_that_was_locked_before_a_later_snapshot_does_not_conflict,
    the_snapshot_shows_the_old_state_with_own_writes,
    a_transaction_without_a_snapshot_has_one_that_shows_the_newest_state,
    the_next_use_of_a_key_takes_the_snapshot_after_its_lock,
    a_snapshot_that_was_given_up_conflicts_with_nothing,
    untracked_writes_lock_and_do_not_ask_for_changes,
    a_read_for_update_need_not_be_validated,
    a_failed_validation_of_an_upgrade_leaves_the_shared_lock,
    an_updated_value_is_not_lost_whoever_comes_first,
);
