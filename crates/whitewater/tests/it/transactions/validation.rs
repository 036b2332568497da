//! Where a change since the snapshot is looked for.

use super::{BUSY, open_with, options, text, value, with_snapshot};
use whitewater::{Options, SliceTransform};

/// Options whose tables stay where they are.
fn quiet() -> Options {
    let mut o = options();
    o.set_disable_auto_compactions(true);
    o
}

#[test]
fn a_change_is_found_in_memtables_and_tables() {
    let db = open_with(&quiet());
    db.put("flushed before", "0").unwrap();
    db.flush().unwrap();
    let txn = with_snapshot(&db);
    db.put("in a table", "1").unwrap();
    db.flush().unwrap();
    db.put("in another table", "1").unwrap();
    db.delete("deleted in it").unwrap();
    db.flush().unwrap();
    db.put("in the memtable", "1").unwrap();
    for key in [
        "in a table",
        "in another table",
        "deleted in it",
        "in the memtable",
    ] {
        assert_eq!(text(txn.put(key, "2")), BUSY, "{key}");
    }
    txn.put("flushed before", "2").unwrap();
    txn.put("not there at all", "2").unwrap();
    txn.commit().unwrap();
    assert_eq!(value(&db, "flushed before").as_deref(), Some("2"));
}

#[test]
fn what_was_written_before_the_snapshot_is_no_change_wherever_it_is() {
    let db = open_with(&quiet());
    for key in ["a", "b", "c"] {
        db.put(key, "0").unwrap();
        db.flush().unwrap();
    }
    db.put("d", "0").unwrap();
    let txn = with_snapshot(&db);
    db.put("other", "1").unwrap();
    db.flush().unwrap();
    for key in ["a", "b", "c", "d"] {
        txn.put(key, "1").unwrap();
    }
    txn.commit().unwrap();
    assert_eq!(value(&db, "a").as_deref(), Some("1"));
}

#[test]
fn a_change_is_found_with_every_memtable() {
    for name in crate::harness::MEMTABLES {
        let mut o = quiet();
        crate::harness::set_memtable(&mut o, name);
        if name != "art" && name != "skip_list" {
            o.set_allow_concurrent_memtable_write(name.starts_with("hash"));
            o.set_commit_protocol(whitewater::CommitProtocol::Grouped);
        }
        let db = open_with(&o);
        db.put("a", "0").unwrap();
        let txn = with_snapshot(&db);
        db.put("changed", "1").unwrap();
        db.delete("deleted").unwrap();
        assert_eq!(text(txn.put("changed", "2")), BUSY, "{name}");
        assert_eq!(text(txn.put("deleted", "2")), BUSY, "{name}");
        txn.put("a", "2").unwrap();
    }
}

#[test]
fn a_change_is_found_through_the_filters_of_memtables_and_tables() {
    let mut o = quiet();
    o.set_prefix_extractor(SliceTransform::create_fixed_prefix(2));
    o.set_memtable_prefix_bloom_ratio(0.1);
    o.set_memtable_whole_key_filtering(true);
    let mut tables = whitewater::BlockBasedOptions::default();
    tables.set_bloom_filter(10.0, false);
    o.set_block_based_table_factory(&tables);
    let db = open_with(&o);
    let txn = with_snapshot(&db);
    db.put("flushed", "1").unwrap();
    db.flush().unwrap();
    db.put("active", "1").unwrap();
    assert_eq!(text(txn.put("flushed", "2")), BUSY);
    assert_eq!(text(txn.put("active", "2")), BUSY);
    txn.put("neither", "2").unwrap();
}

#[test]
fn a_family_that_updates_in_place_cannot_be_validated() {
    let mut o = quiet();
    o.set_inplace_update_support(true);
    o.set_commit_protocol(whitewater::CommitProtocol::Grouped);
    o.set_allow_concurrent_memtable_write(false);
    let db = open_with(&o);
    let txn = with_snapshot(&db);
    let e = txn.put("k", "1").unwrap_err();
    assert_eq!(e.kind(), whitewater::ErrorKind::NotSupported, "{e}");
    assert!(e.to_string().contains("inplace_update_support"), "{e}");
    assert!(db.lock_status().is_empty());
    let txn = db.transaction();
    txn.put("k", "1").unwrap();
    txn.commit().unwrap();
    assert_eq!(value(&db, "k").as_deref(), Some("1"));
}

#[test]
fn a_key_that_came_and_went_since_the_snapshot_has_changed() {
    // X6: nothing is left of it to be read, and yet a flush and a compaction keep its tombstone.
    let mut o = options();
    o.set_level_zero_file_num_compaction_trigger(2);
    let db = open_with(&o);
    let txn = with_snapshot(&db);
    db.put("deleted", "1").unwrap();
    db.delete("deleted").unwrap();
    db.put("single", "1").unwrap();
    let mut batch = whitewater::WriteBatchWithTransaction::<true>::default();
    batch.single_delete("single");
    db.write(batch).unwrap();
    for i in 0..6u32 {
        db.put(format!("other {i}"), "1").unwrap();
        db.flush().unwrap();
    }
    assert_eq!(text(txn.put("deleted", "2")), BUSY);
    assert_eq!(text(txn.put("single", "2")), BUSY);
    assert_eq!(value(&db, "deleted"), None);
    assert_eq!(value(&db, "single"), None);
}

with_write_prepared!(
    a_change_is_found_in_memtables_and_tables,
    what_was_written_before_the_snapshot_is_no_change_wherever_it_is,
    a_change_is_found_with_every_memtable,
    a_change_is_found_through_the_filters_of_memtables_and_tables,
    a_key_that_came_and_went_since_the_snapshot_has_changed,
);
