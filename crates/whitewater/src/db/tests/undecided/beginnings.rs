//! Reads that begin beside decisions: which view is pinned, and at which point it is read.

use super::{Db, KINDS, range, some, text};
use crate::column_family::{ColumnFamilyData, SuperVersion};
use crate::db::views::Pinned;
use crate::listener::FlushReason;
use bytes::Bytes;
use std::cell::RefCell;
use std::sync::Arc;

thread_local! {
    /// What happens right after the next view is pinned.
    static THEN: RefCell<Option<Box<dyn FnOnce()>>> = const { RefCell::new(None) };
}

/// A view after whose pinning something happens.
struct Late(Arc<SuperVersion>);

impl Pinned for Late {
    fn now(cf: &ColumnFamilyData) -> Self {
        let view = cf.pin_owned();
        if let Some(then) = THEN.take() {
            then();
        }
        Late(view)
    }
    fn get(&self) -> &SuperVersion {
        &self.0
    }
}

/// The value of "k" by a read in which `then` happens after it has pinned a view.
fn get_late(db: &Arc<Db>, then: impl FnOnce(&Db) + 'static) -> Option<String> {
    let beside = db.clone();
    THEN.set(Some(Box::new(move || then(&beside))));
    let (engine, spec) = (db.engine(), db.now());
    let (view, point) = engine.view::<Late>(db.cf(), &spec);
    assert!(THEN.take().is_none(), "it has happened");
    let found = engine.get_in::<Bytes>(db.cf(), view.get(), b"k", point.at(), &spec);
    found.unwrap().map(|value| text(&value))
}

/// Writes the value from before in a new memtable, and takes both numbers out, as a rollback does.
fn roll_back(db: &Db, number: u64) {
    db.engine()
        .flush_all(FlushReason::ManualFlush, true)
        .unwrap();
    let undo = db.next_number();
    db.undecided().enter([range(undo)]);
    db.put("k", "old");
    db.undecided().decide([number, undo]);
}

/// A view pinned before a rollback, and read after it, would show what was rolled back: the
/// rollback's values are in a later memtable.
#[test]
fn a_rollback_between_view_and_number_shows_nothing_of_the_write() {
    let db = Arc::new(Db::open(&KINDS[1]));
    db.put("k", "old");
    let number = db.undecided_put("k", "never");
    assert_eq!(get_late(&db, move |db| roll_back(db, number)), some("old"));
    assert_eq!(db.value("k", &db.now()), some("old"));
}

/// As before, but all of it comes after the view was pinned, so nothing is undecided before and
/// after.
#[test]
fn a_write_and_its_rollback_between_view_and_number_are_noticed() {
    let db = Arc::new(Db::open(&KINDS[1]));
    db.put("k", "old");
    let found = get_late(&db, |db| {
        let number = db.undecided_put("k", "never");
        roll_back(db, number);
    });
    assert_eq!(found, some("old"));
}

/// What is decided after a view was pinned need not be seen with it, and what is written after it
/// is not.
#[test]
fn a_commit_between_view_and_number_hides_nothing_older() {
    let db = Arc::new(Db::open(&KINDS[1]));
    db.put("k", "1");
    let number = db.undecided_put("k", "2");
    let found = get_late(&db, move |db| {
        db.undecided().decide([number]);
        db.flush();
        db.undecided_put("k", "3");
    });
    assert_eq!(found, some("1"), "the point was taken before the view");
    assert_eq!(db.value("k", &db.now()), some("2"));
}

/// Nothing undecided: the number is loaded after the view was pinned, and no snapshot is taken.
#[test]
fn without_undecided_writes_the_number_is_loaded_last() {
    let db = Arc::new(Db::open(&KINDS[1]));
    db.put("k", "1");
    let found = get_late(&db, |db| {
        assert_eq!(db.engine().snapshots.count(), 0);
        db.put("k", "2");
    });
    assert_eq!(found, some("2"));
    db.undecided_put("k", "3");
    let found = get_late(&db, |db| assert_eq!(db.engine().snapshots.count(), 1));
    assert_eq!((found, db.engine().snapshots.count()), (some("2"), 0));
}
