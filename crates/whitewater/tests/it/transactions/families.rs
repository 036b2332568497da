//! Transactions over several column families.

use super::{TIMED_OUT, impatient, kind, open, options, shown, text};
use crate::transactions::{DIR, TxnDb};
use std::path::Path;
use whitewater::{ColumnFamilyDescriptor, ErrorKind, IteratorMode, Options};

fn with_families() -> TxnDb {
    let named = ["default", "one", "two"];
    let named = named.map(|name| ColumnFamilyDescriptor::new(name, options()));
    TxnDb::open_cf_descriptors(&options(), &impatient(), Path::new(DIR), named).unwrap()
}

#[test]
fn a_commit_is_over_all_families_and_equal_keys_have_locks_of_their_own() {
    let db = with_families();
    let (one, two) = (db.cf_handle("one").unwrap(), db.cf_handle("two").unwrap());
    let txn = db.transaction();
    txn.put_cf(&one, "k", "1").unwrap();
    db.put_cf(&two, "k", "outside").unwrap();
    db.put("k", "outside").unwrap();
    assert_eq!(text(db.put_cf(&one, "k", "outside")), TIMED_OUT);
    assert_eq!(kind(db.delete_cf(&one, "k")), ErrorKind::TimedOut);
    assert_eq!(kind(db.merge_cf(&one, "k", "x")), ErrorKind::TimedOut);
    txn.put_cf(&two, "k", "2").unwrap();
    txn.delete("k").unwrap();
    assert_eq!(shown(txn.get_cf(&two, "k")).as_deref(), Some("2"));
    assert_eq!(shown(db.get_cf(&two, "k")).as_deref(), Some("outside"));
    let entries = txn.iterator_cf(&one, IteratorMode::Start);
    assert_eq!(entries.count(), 1);
    txn.commit().unwrap();
    assert_eq!(shown(db.get_cf(&one, "k")).as_deref(), Some("1"));
    assert_eq!(shown(db.get_cf(&two, "k")).as_deref(), Some("2"));
    assert_eq!(shown(db.get("k")), None);
}

#[test]
fn keys_of_several_families_are_read_at_once() {
    let db = with_families();
    let (one, two) = (db.cf_handle("one").unwrap(), db.cf_handle("two").unwrap());
    db.put_cf(&one, "a", "1").unwrap();
    db.put_cf(&two, "a", "2").unwrap();
    let txn = db.transaction();
    txn.put_cf(&two, "b", "own").unwrap();
    txn.delete_cf(&one, "a").unwrap();
    let keys = || [(&one, "a"), (&two, "a"), (&two, "b"), (&one, "b")];
    let found = |all: Vec<_>| all.into_iter().map(shown).collect::<Vec<_>>();
    assert_eq!(
        found(txn.multi_get_cf(keys())),
        [None, Some("2".into()), Some("own".into()), None]
    );
    let outside = [Some("1".into()), Some("2".into()), None, None];
    assert_eq!(found(db.multi_get_cf(keys())), outside);
    let snapshot = db.snapshot();
    assert_eq!(found(snapshot.multi_get_cf(keys())), outside);
    assert_eq!(found(txn.multi_get_cf(vec![(&two, "a"); 40])).len(), 40);
}

#[test]
fn every_call_has_a_form_for_a_family() {
    let db = with_families();
    let one = db.cf_handle("one").unwrap();
    db.put_cf(&one, "single", "0").unwrap();
    let txn = db.transaction();
    txn.put_cf(&one, "a", "1").unwrap();
    txn.merge_cf(&one, "a", "2").unwrap();
    txn.single_delete_cf(&one, "single").unwrap();
    txn.put_untracked_cf(&one, "b", "1").unwrap();
    txn.merge_untracked_cf(&one, "b", "2").unwrap();
    txn.delete_untracked_cf(&one, "c").unwrap();
    txn.single_delete_untracked_cf(&one, "d").unwrap();
    assert_eq!(shown(txn.get_for_update_cf(&one, "e", true)), None);
    let pinned = txn.get_pinned_for_update_cf(&one, "a", true).unwrap();
    assert_eq!(&*pinned.unwrap(), b"1,2");
    assert_eq!(&*txn.get_pinned_cf(&one, "b").unwrap().unwrap(), b"1,2");
    assert_eq!(db.lock_status().len(), 6);
    txn.undo_get_for_update_cf(&one, "e");
    assert_eq!(db.lock_status().len(), 5);
    let one_id = db.lock_status()[0].family;
    assert!(one_id > 0 && db.lock_status().iter().all(|l| l.family == one_id));
    assert_eq!(txn.prefix_iterator_cf(&one, "a").count(), 2);
    assert_eq!(txn.full_iterator_cf(&one, IteratorMode::End).count(), 2);
    let mut raw = txn.raw_iterator_cf(&one);
    raw.seek_to_last();
    assert_eq!(raw.key(), Some(&b"b"[..]));
    drop(raw);
    txn.commit().unwrap();
    assert_eq!(shown(db.get_cf(&one, "a")).as_deref(), Some("1,2"));
    assert_eq!(&*db.get_pinned_cf(&one, "b").unwrap().unwrap(), b"1,2");
    assert_eq!(shown(db.get_cf(&one, "single")), None);
}

#[test]
fn families_come_and_go_with_their_locks() {
    let db = open();
    db.create_cf("new", &options()).unwrap();
    let new = db.cf_handle("new").unwrap();
    let txn = db.transaction();
    txn.put_cf(&new, "k", "1").unwrap();
    assert_eq!(text(db.put_cf(&new, "k", "2")), TIMED_OUT);
    db.drop_cf("new").unwrap();
    assert!(db.cf_handle("new").is_none());
    assert!(db.lock_status().is_empty());
    let other = db.transaction();
    let id = {
        let e = text(other.put_cf(&new, "k", "2"));
        let id = e.strip_prefix("Invalid argument: Column family id not found: ");
        id.unwrap_or_else(|| panic!("{e}")).parse::<u32>().unwrap()
    };
    assert!(id > 0);
    assert_eq!(kind(db.put_cf(&new, "k", "2")), ErrorKind::InvalidArgument);
    // What was written to it can no longer be committed.
    assert_eq!(kind(txn.commit()), ErrorKind::InvalidArgument);
    db.create_cf("new", &options()).unwrap();
    let new = db.cf_handle("new").unwrap();
    let txn = db.transaction();
    txn.put_cf(&new, "k", "3").unwrap();
    txn.commit().unwrap();
    assert_eq!(shown(db.get_cf(&new, "k")).as_deref(), Some("3"));
}

#[test]
fn dropping_a_family_ends_the_waits_for_its_keys() {
    let db = open();
    db.create_cf("gone", &options()).unwrap();
    let gone = db.cf_handle("gone").unwrap();
    let holder = db.transaction();
    holder.put_cf(&gone, "k", "1").unwrap();
    let waiter = super::begin(&db, |o| o.set_lock_timeout(60_000));
    let id = waiter.id();
    std::thread::scope(|scope| {
        let gone = &gone;
        let waiting = scope.spawn(move || waiter.put_cf(gone, "k", "2"));
        crate::harness::until("it waits", || db.waiting_for(id).is_some());
        db.drop_cf("gone").unwrap();
        assert_eq!(kind(waiting.join().unwrap()), ErrorKind::InvalidArgument);
    });
}

#[test]
fn families_are_opened_with_their_options() {
    let mut o = options();
    let named: Vec<_> = ["default", "one"]
        .map(|name| ColumnFamilyDescriptor::new(name, Options::default()))
        .into();
    let db = TxnDb::open_cf_descriptors(&o, &impatient(), Path::new(DIR), named).unwrap();
    let one = db.cf_handle("one").unwrap();
    // These have no merge operator.
    assert_eq!(kind(db.merge_cf(&one, "k", "1")), ErrorKind::NotSupported);
    let txn = db.transaction();
    txn.put_cf(&one, "k", "1").unwrap();
    txn.commit().unwrap();
    drop(one);
    drop(db);
    o.create_missing_column_families(false);
    let mut names = TxnDb::list_cf(&o, DIR).unwrap();
    names.sort();
    assert_eq!(names, ["default", "one"]);
    let db = TxnDb::open_cf(&o, &impatient(), DIR, &names).unwrap();
    let one = db.cf_handle("one").unwrap();
    assert_eq!(shown(db.get_cf(&one, "k")).as_deref(), Some("1"));
}

with_write_prepared!(
    a_commit_is_over_all_families_and_equal_keys_have_locks_of_their_own,
    keys_of_several_families_are_read_at_once,
    every_call_has_a_form_for_a_family,
    families_come_and_go_with_their_locks,
    dropping_a_family_ends_the_waits_for_its_keys,
    families_are_opened_with_their_options,
);
