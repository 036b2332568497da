//! Savepoints.

use super::{BUSY, TIMED_OUT, begin, kind, open, shown, text, value, with_snapshot};
use whitewater::ErrorKind;

#[test]
fn what_came_since_the_savepoint_is_undone_and_nothing_else() {
    let db = open();
    db.put("a", "db").unwrap();
    let txn = db.transaction();
    txn.put("a", "1").unwrap();
    txn.put("b", "1").unwrap();
    txn.set_savepoint();
    txn.put("a", "2").unwrap();
    txn.delete("b").unwrap();
    txn.put("c", "2").unwrap();
    txn.set_savepoint();
    txn.merge("a", "3").unwrap();
    txn.rollback_to_savepoint().unwrap();
    assert_eq!(shown(txn.get("a")).as_deref(), Some("2"));
    txn.rollback_to_savepoint().unwrap();
    assert_eq!(shown(txn.get("a")).as_deref(), Some("1"));
    assert_eq!(shown(txn.get("b")).as_deref(), Some("1"));
    assert_eq!(shown(txn.get("c")), None);
    assert_eq!(text(txn.rollback_to_savepoint()), "NotFound: ");
    txn.commit().unwrap();
    assert_eq!(value(&db, "a").as_deref(), Some("1"));
    assert_eq!(value(&db, "c"), None);
}

#[test]
fn keys_that_were_only_used_since_the_savepoint_are_unlocked() {
    let db = open();
    let (txn, other) = (db.transaction(), db.transaction());
    txn.put("written before", "1").unwrap();
    txn.get_for_update("read before", true).unwrap();
    txn.set_savepoint();
    txn.put("written before", "2").unwrap();
    txn.put("read before", "2").unwrap();
    txn.put("after", "2").unwrap();
    txn.get_for_update("read after", false).unwrap();
    txn.rollback_to_savepoint().unwrap();
    for key in ["written before", "read before"] {
        assert_eq!(text(other.put(key, "x")), TIMED_OUT, "{key}");
    }
    for key in ["after", "read after"] {
        other.put(key, "x").unwrap();
    }
    other.commit().unwrap();
    txn.commit().unwrap();
    assert_eq!(value(&db, "written before").as_deref(), Some("1"));
    assert_eq!(value(&db, "read before"), None);
    assert_eq!(value(&db, "after").as_deref(), Some("x"));
}

#[test]
fn locks_of_nested_savepoints_end_with_the_one_they_came_in() {
    // As in RocksDB's SavepointTest3 and 4.
    let db = open();
    let (txn, other) = (db.transaction(), db.transaction());
    txn.set_savepoint();
    txn.put("outer", "1").unwrap();
    txn.set_savepoint();
    txn.put("outer", "2").unwrap();
    txn.put("inner", "2").unwrap();
    txn.rollback_to_savepoint().unwrap();
    assert_eq!(text(other.put("outer", "x")), TIMED_OUT);
    other.put("inner", "x").unwrap();
    txn.rollback_to_savepoint().unwrap();
    other.put("outer", "x").unwrap();
    assert_eq!(kind(txn.rollback_to_savepoint()), ErrorKind::NotFound);
}

#[test]
fn a_savepoint_that_is_forgotten_leaves_its_writes_to_the_one_before() {
    let db = open();
    let (txn, other) = (db.transaction(), db.transaction());
    assert_eq!(text(txn.pop_savepoint()), "NotFound: ");
    txn.put("before", "1").unwrap();
    txn.set_savepoint();
    txn.put("outer", "1").unwrap();
    txn.set_savepoint();
    txn.put("inner", "1").unwrap();
    txn.pop_savepoint().unwrap();
    assert_eq!(shown(txn.get("inner")).as_deref(), Some("1"));
    txn.rollback_to_savepoint().unwrap();
    assert_eq!(shown(txn.get("inner")), None);
    assert_eq!(shown(txn.get("before")).as_deref(), Some("1"));
    other.put("inner", "x").unwrap();
    other.put("outer", "x").unwrap();
    txn.set_savepoint();
    txn.put("kept", "1").unwrap();
    txn.pop_savepoint().unwrap();
    assert_eq!(text(txn.pop_savepoint()), "NotFound: ");
    assert_eq!(text(other.put("kept", "x")), TIMED_OUT);
    txn.commit().unwrap();
    assert_eq!(value(&db, "kept").as_deref(), Some("1"));
}

#[test]
fn a_savepoint_restores_the_snapshot() {
    let db = open();
    let txn = with_snapshot(&db);
    txn.set_savepoint();
    db.put("k", "1").unwrap();
    txn.set_snapshot();
    txn.put("k", "2").unwrap();
    txn.rollback_to_savepoint().unwrap();
    assert_eq!(text(txn.put("k", "2")), BUSY);
    assert_eq!(shown(txn.snapshot().get("k")), None);

    // So it does that of a transaction without one.
    let txn = begin(&db, |_| {});
    txn.set_savepoint();
    txn.set_snapshot();
    db.put("k", "3").unwrap();
    txn.rollback_to_savepoint().unwrap();
    txn.put("k", "4").unwrap();
}

#[test]
fn rollback_forgets_savepoints_too() {
    let db = open();
    let txn = db.transaction();
    txn.put("a", "1").unwrap();
    txn.set_savepoint();
    txn.rollback().unwrap();
    assert_eq!(text(txn.rollback_to_savepoint()), "NotFound: ");
    txn.put("b", "1").unwrap();
    txn.commit().unwrap();
    assert_eq!((value(&db, "a"), value(&db, "b")), (None, Some("1".into())));
}

#[test]
fn an_upgrade_since_the_savepoint_stays_exclusive() {
    // As in RocksDB: the lock is not given back in part.
    let db = open();
    let (txn, other) = (db.transaction(), db.transaction());
    txn.get_for_update("k", false).unwrap();
    txn.set_savepoint();
    txn.put("k", "1").unwrap();
    txn.rollback_to_savepoint().unwrap();
    assert_eq!(text(other.get_for_update("k", false)), TIMED_OUT);
    txn.put("k", "2").unwrap();
    txn.commit().unwrap();
    assert_eq!(value(&db, "k").as_deref(), Some("2"));
}

with_write_prepared!(
    what_came_since_the_savepoint_is_undone_and_nothing_else,
    keys_that_were_only_used_since_the_savepoint_are_unlocked,
    locks_of_nested_savepoints_end_with_the_one_they_came_in,
    a_savepoint_that_is_forgotten_leaves_its_writes_to_the_one_before,
    a_savepoint_restores_the_snapshot,
    rollback_forgets_savepoints_too,
    an_upgrade_since_the_savepoint_stays_exclusive,
);
