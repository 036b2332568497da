//! Optimistic transactions: what conflicts, and when it is found.
//!
//! * here: one thread; `races`: what comes between; `simulated`: many threads.

mod races;
mod simulated;

use super::{BUSY, DIR, kind, options, options_on, shown, text};
use whitewater::fs::mem::MemFs;
use whitewater::{
    CommitProtocol, ErrorKind, IngestExternalFileOptions, IteratorMode, MultiThreaded,
    OptimisticTransactionDB, OptimisticTransactionOptions, Options, SstFileWriter, Transaction,
    WriteBatchWithTransaction, WriteOptions,
};

pub(super) type OptDb = OptimisticTransactionDB<MultiThreaded>;
type OptTxn<'a> = Transaction<'a, OptDb>;

fn open() -> OptDb {
    OptDb::open(&quiet(), DIR).unwrap()
}

/// Options whose tables stay where they are.
fn quiet() -> Options {
    let mut o = options();
    o.set_disable_auto_compactions(true);
    o.create_missing_column_families(true);
    o
}

fn with_snapshot(db: &OptDb) -> OptTxn<'_> {
    let mut o = OptimisticTransactionOptions::new();
    o.set_snapshot(true);
    db.transaction_opt(&WriteOptions::default(), &o)
}

fn value(db: &OptDb, key: &str) -> Option<String> {
    shown(db.get(key))
}

fn compact(db: &OptDb) {
    db.compact_range(None::<&[u8]>, None::<&[u8]>);
}

#[test]
fn the_first_to_commit_wins() {
    let db = open();
    let (first, second) = (db.transaction(), db.transaction());
    first.put("k", "first").unwrap();
    second.put("k", "second").unwrap();
    second.put("other", "second").unwrap();
    first.commit().unwrap();
    assert_eq!(text(second.commit()), BUSY);
    assert_eq!(value(&db, "k").as_deref(), Some("first"));
    assert_eq!(value(&db, "other"), None, "nothing of it was written");
}

#[test]
fn a_read_for_update_alone_suffices_for_a_conflict() {
    let db = open();
    db.put("k", "0").unwrap();
    for exclusive in [false, true] {
        let txn = db.transaction();
        assert_eq!(
            shown(txn.get_for_update("k", exclusive)).as_deref(),
            Some("0")
        );
        txn.put("other", "1").unwrap();
        db.put("k", "0").unwrap();
        assert_eq!(text(txn.commit()), BUSY);
        // It writes nothing at all.
        let txn = db.transaction();
        assert_eq!(
            shown(txn.get_for_update("k", exclusive)).as_deref(),
            Some("0")
        );
        db.put("k", "0").unwrap();
        assert_eq!(text(txn.commit()), BUSY);
    }
    assert_eq!(value(&db, "other"), None);
}

#[test]
fn every_kind_of_write_outside_is_a_conflict() {
    let db = OptDb::open_cf(&quiet(), DIR, ["default"]).unwrap();
    let default = db.cf_handle("default").unwrap();
    type Write<'a> = Box<dyn Fn() + 'a>;
    let writes: Vec<(&str, Write<'_>)> = vec![
        ("put", Box::new(|| db.put("k", "1").unwrap())),
        ("delete", Box::new(|| db.delete("k").unwrap())),
        (
            "batch",
            Box::new(|| {
                let mut batch = WriteBatchWithTransaction::<true>::default();
                batch.put("a", "1");
                batch.delete("k");
                db.write(batch).unwrap();
            }),
        ),
        (
            "batch without log",
            Box::new(|| {
                let mut batch = WriteBatchWithTransaction::<true>::default();
                batch.put("k", "1");
                db.write_without_wal(batch).unwrap();
            }),
        ),
        (
            "range",
            Box::new(|| db.delete_range_cf(&default, "j", "l").unwrap()),
        ),
    ];
    for (name, write) in &writes {
        for flushed in [false, true] {
            let (touched, untouched) = (db.transaction(), db.transaction());
            touched.put("k", "2").unwrap();
            untouched.put("l", "2").unwrap();
            write();
            if flushed {
                db.flush().unwrap();
            }
            assert_eq!(text(touched.commit()), BUSY, "{name}, flushed: {flushed}");
            untouched.commit().unwrap();
        }
    }
}

#[test]
fn a_merge_outside_is_a_conflict() {
    let mut o = quiet();
    o.set_merge_operator_associative("last", |_, _, operands| {
        operands.iter().last().map(<[u8]>::to_vec)
    });
    let db = OptDb::open(&o, DIR).unwrap();
    let txn = db.transaction();
    txn.merge("k", "2").unwrap();
    assert_eq!(shown(txn.get("k")).as_deref(), Some("2"));
    db.merge("k", "1").unwrap();
    assert_eq!(text(txn.commit()), BUSY);
    assert_eq!(value(&db, "k").as_deref(), Some("1"));
}

#[test]
fn without_a_snapshot_only_what_comes_after_the_first_use_conflicts() {
    let db = open();
    let (plain, at_snapshot) = (db.transaction(), with_snapshot(&db));
    db.put("k", "1").unwrap();
    plain.put("k", "2").unwrap();
    at_snapshot.put("k", "3").unwrap();
    assert_eq!(text(at_snapshot.commit()), BUSY);
    plain.commit().unwrap();
    assert_eq!(value(&db, "k").as_deref(), Some("2"));
}

#[test]
fn a_key_keeps_the_smallest_number_that_it_was_used_at() {
    let db = open();
    let txn = db.transaction();
    txn.get_for_update("k", true).unwrap();
    db.put("k", "1").unwrap();
    txn.put("k", "2").unwrap();
    assert_eq!(text(txn.commit()), BUSY);
}

#[test]
fn a_snapshot_shows_the_old_state_and_own_writes() {
    let db = open();
    db.put("k", "0").unwrap();
    let txn = with_snapshot(&db);
    db.put("k", "1").unwrap();
    txn.put("own", "2").unwrap();
    let snapshot = txn.snapshot();
    assert_eq!(shown(snapshot.get("k")).as_deref(), Some("0"));
    assert_eq!(shown(snapshot.get("own")).as_deref(), Some("2"));
    assert_eq!(shown(txn.get("k")).as_deref(), Some("1"));
    assert_eq!(snapshot.iterator(IteratorMode::Start).count(), 2);
    drop(snapshot);
    txn.commit().unwrap();
    assert_eq!(value(&db, "own").as_deref(), Some("2"));
}

#[test]
fn a_later_snapshot_decides_about_later_uses() {
    let db = open();
    let txn = db.transaction();
    db.put("before", "1").unwrap();
    txn.set_snapshot();
    txn.put("before", "2").unwrap();
    db.put("after", "1").unwrap();
    txn.clear_snapshot();
    txn.put("after", "2").unwrap();
    txn.commit().unwrap();
    let txn = db.transaction();
    txn.set_snapshot();
    db.put("after", "3").unwrap();
    txn.put("after", "4").unwrap();
    txn.clear_snapshot();
    assert_eq!(text(txn.commit()), BUSY, "it was noted at the snapshot");
}

#[test]
fn a_snapshot_that_is_wanted_is_taken_at_the_next_use() {
    let db = open();
    let txn = db.transaction();
    txn.set_snapshot_on_next_operation();
    db.put("k", "1").unwrap();
    txn.put("other", "2").unwrap();
    db.put("k", "3").unwrap();
    assert_eq!(shown(txn.snapshot().get("k")).as_deref(), Some("1"));
    txn.get_for_update("k", true).unwrap();
    assert_eq!(text(txn.commit()), BUSY);
}

#[test]
fn what_is_not_tracked_does_not_conflict() {
    let db = open();
    let txn = with_snapshot(&db);
    txn.put_untracked("k", "2").unwrap();
    txn.get("read").unwrap();
    db.put("k", "1").unwrap();
    db.put("read", "1").unwrap();
    txn.commit().unwrap();
    assert_eq!(value(&db, "k").as_deref(), Some("2"));
    // But it is a change for others.
    let (other, txn) = (db.transaction(), db.transaction());
    other.put("k", "4").unwrap();
    txn.put_untracked("k", "3").unwrap();
    txn.commit().unwrap();
    assert_eq!(text(other.commit()), BUSY);
}

#[test]
fn there_is_no_two_phase_commit() {
    let db = open();
    let txn = db.transaction();
    let invalid = "Invalid argument: ";
    assert_eq!(
        text(txn.prepare()),
        format!("{invalid}Two phase commit not supported for optimistic transactions.")
    );
    assert_eq!(
        text(txn.set_name(b"name")),
        format!("{invalid}Optimistic transactions cannot be named.")
    );
    assert_eq!(txn.get_name(), Some(Vec::new()));
    txn.put("k", "1").unwrap();
    txn.commit().unwrap();
    assert_eq!(value(&db, "k").as_deref(), Some("1"));
}

#[test]
fn what_was_rolled_back_does_not_conflict() {
    let db = open();
    let txn = db.transaction();
    txn.rollback().unwrap();
    txn.put("k", "1").unwrap();
    txn.rollback().unwrap();
    db.put("k", "2").unwrap();
    txn.put("other", "3").unwrap();
    txn.set_savepoint();
    txn.put("k", "3").unwrap();
    txn.get_for_update("read", true).unwrap();
    db.put("k", "4").unwrap();
    db.put("read", "4").unwrap();
    txn.rollback_to_savepoint().unwrap();
    assert_eq!(text(txn.rollback_to_savepoint()), "NotFound: ");
    txn.commit().unwrap();
    assert_eq!(value(&db, "k").as_deref(), Some("4"));
    assert_eq!(value(&db, "other").as_deref(), Some("3"));
    // Used before the savepoint, too.
    let txn = db.transaction();
    txn.put("k", "5").unwrap();
    txn.set_savepoint();
    txn.put("k", "6").unwrap();
    txn.rollback_to_savepoint().unwrap();
    db.put("k", "7").unwrap();
    assert_eq!(text(txn.commit()), BUSY);
}

#[test]
fn a_snapshot_outlives_a_rollback_and_still_decides() {
    let db = open();
    let txn = with_snapshot(&db);
    txn.put("other", "1").unwrap();
    txn.rollback().unwrap();
    db.put("k", "2").unwrap();
    db.delete("k").unwrap();
    compact(&db);
    txn.put("k", "3").unwrap();
    assert_eq!(text(txn.commit()), BUSY);
}

/// RocksDB fails with `TryAgain` once the memtable is gone.
#[test]
fn a_change_is_found_however_many_flushes_ago_it_was() {
    let db = open();
    let (changed, unchanged) = (with_snapshot(&db), with_snapshot(&db));
    db.put("k", "1").unwrap();
    for i in 0..20 {
        db.put(format!("other {i}"), "1").unwrap();
        db.flush().unwrap();
    }
    changed.put("k", "2").unwrap();
    unchanged.put("not there", "2").unwrap();
    assert_eq!(text(changed.commit()), BUSY);
    unchanged.commit().unwrap();
}

/// Race 26. A compaction to the last level makes numbers 0 and drops tombstones; not of what a
/// transaction may ask for.
#[test]
fn a_change_is_found_after_a_compaction_to_the_last_level() {
    let last = |db: &OptDb| {
        db.flush().unwrap();
        compact(db);
    };
    type Change = fn(&OptDb);
    let changes: [(&str, Change); 4] = [
        ("put", |db| db.put("k", "1").unwrap()),
        ("delete", |db| db.delete("k").unwrap()),
        ("put and delete", |db| {
            db.put("k", "1").unwrap();
            db.delete("k").unwrap();
        }),
        ("range", |db| {
            let default = db.cf_handle("default").unwrap();
            db.delete_range_cf(&default, "a", "z").unwrap();
        }),
    ];
    for (name, change) in changes {
        for existed in [false, true] {
            for snapshot in [false, true] {
                let db = OptDb::open_cf(&quiet(), DIR, ["default"]).unwrap();
                if existed {
                    db.put("k", "0").unwrap();
                    last(&db);
                }
                let txn = if snapshot {
                    with_snapshot(&db)
                } else {
                    db.transaction()
                };
                txn.get_for_update("k", true).unwrap();
                change(&db);
                last(&db);
                assert_eq!(text(txn.commit()), BUSY, "{name}, {existed}, {snapshot}");
            }
        }
    }
}

#[test]
fn a_single_deletion_and_its_put_are_found_after_they_have_met() {
    let db = open();
    let reader = db.transaction();
    reader.get_for_update("k", true).unwrap();
    for write in [true, false] {
        let txn = db.transaction();
        match write {
            true => txn.put("k", "1").unwrap(),
            false => txn.single_delete("k").unwrap(),
        }
        txn.commit().unwrap();
    }
    db.flush().unwrap();
    compact(&db);
    assert_eq!(value(&db, "k"), None);
    assert_eq!(text(reader.commit()), BUSY);
}

#[test]
fn nothing_is_kept_once_nobody_asks() {
    let db = open();
    db.put("other", "0").unwrap();
    let txn = db.transaction();
    txn.get_for_update("k", true).unwrap();
    db.put("k", "1").unwrap();
    db.delete("k").unwrap();
    let deletions = |db: &OptDb| {
        db.flush().unwrap();
        compact(db);
        let files = db.live_files().unwrap();
        files.iter().map(|f| f.num_deletions).sum::<u64>()
    };
    assert_eq!(deletions(&db), 1);
    drop(txn);
    db.put("other", "1").unwrap();
    assert_eq!(deletions(&db), 0);
}

/// Race 24's outcome, without the race.
#[test]
fn an_ingested_table_is_a_change() {
    let fs = MemFs::new();
    for consistent in [true, false] {
        let mut o = options_on(fs.clone());
        o.set_disable_auto_compactions(true);
        let dir = format!("{DIR}{consistent}");
        let db = OptDb::open(&o, &dir).unwrap();
        let (noted, at_snapshot, other) = (db.transaction(), with_snapshot(&db), db.transaction());
        noted.put("k", "2").unwrap();
        other.put("l", "2").unwrap();
        let mut writer = SstFileWriter::create(&o);
        writer.open("/outside.sst").unwrap();
        writer.put("k", "1").unwrap();
        writer.finish().unwrap();
        let mut how = IngestExternalFileOptions::default();
        how.set_snapshot_consistency(consistent);
        db.ingest_external_file_opts(&how, vec!["/outside.sst"])
            .unwrap();
        at_snapshot.get_for_update("k", true).unwrap();
        assert_eq!(text(noted.commit()), BUSY, "{consistent}");
        assert_eq!(text(at_snapshot.commit()), BUSY, "{consistent}");
        other.commit().unwrap();
        assert_eq!(value(&db, "k").as_deref(), Some("1"));
    }
}

/// Race 27.
#[test]
fn write_skew_is_refused_if_reads_are_for_update() {
    let db = open();
    for for_update in [false, true] {
        let read = |txn: &OptTxn<'_>, key| match for_update {
            true => drop(txn.get_for_update(key, false).unwrap()),
            false => drop(txn.get(key).unwrap()),
        };
        let (a, b) = (with_snapshot(&db), with_snapshot(&db));
        read(&a, "x");
        read(&b, "y");
        a.put("y", "1").unwrap();
        b.put("x", "1").unwrap();
        a.commit().unwrap();
        assert_eq!(b.commit().is_ok(), !for_update);
    }
}

#[test]
fn families_are_apart() {
    let db = OptDb::open_cf(&quiet(), DIR, ["default", "a", "b"]).unwrap();
    let (a, b) = (db.cf_handle("a").unwrap(), db.cf_handle("b").unwrap());
    let (in_a, in_b) = (db.transaction(), db.transaction());
    in_a.put_cf(&a, "k", "2").unwrap();
    in_b.put_cf(&b, "k", "2").unwrap();
    in_b.put("k", "2").unwrap();
    db.put_cf(&a, "k", "1").unwrap();
    assert_eq!(text(in_a.commit()), BUSY);
    in_b.commit().unwrap();
    assert_eq!(shown(db.get_cf(&b, "k")).as_deref(), Some("2"));
}

#[test]
fn a_key_of_a_family_that_was_dropped_fails_the_commit() {
    let db = OptDb::open_cf(&quiet(), DIR, ["default", "a"]).unwrap();
    let a = db.cf_handle("a").unwrap();
    let txn = db.transaction();
    txn.get_for_update_cf(&a, "k", true).unwrap();
    txn.put("k", "1").unwrap();
    drop(a);
    db.drop_cf("a").unwrap();
    assert_eq!(
        text(txn.commit()),
        "Invalid argument: Could not access column family 1"
    );
    assert_eq!(value(&db, "k"), None);
}

#[test]
fn writes_that_are_visible_too_early_are_refused() {
    let mut o = options();
    o.set_commit_protocol(CommitProtocol::Unordered);
    assert_eq!(kind(OptDb::open(&o, DIR)), ErrorKind::NotSupported);
}

#[test]
fn what_was_committed_is_there_at_the_next_opening() {
    let fs = MemFs::new();
    let db = OptDb::open(&options_on(fs.clone()), DIR).unwrap();
    let txn = db.transaction();
    txn.put("k", "1").unwrap();
    txn.commit().unwrap();
    let last = db.latest_sequence_number();
    drop(db);
    let db = OptDb::open(&options_on(fs), DIR).unwrap();
    assert_eq!(db.latest_sequence_number(), last);
    let txn = with_snapshot(&db);
    assert_eq!(shown(txn.get_for_update("k", true)).as_deref(), Some("1"));
    txn.put("k", "2").unwrap();
    txn.commit().unwrap();
    assert_eq!(value(&db, "k").as_deref(), Some("2"));
}
