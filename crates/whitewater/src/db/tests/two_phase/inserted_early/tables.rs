//! What flushes and compactions keep of undecided sections, and for how long.

use super::{options, undecided};
use crate::db::Engine;
use crate::db::tests::two_phase::{commit, prepare, roll_back};
use crate::read::level::add_iterators;
use crate::read::merging::merging_iterator;
use crate::{
    BottommostLevelCompaction, CommitProtocol, CompactOptions, DB, Options, WaitForCompactOptions,
};
use whitewater_storage::bounds::Bounds;
use whitewater_storage::fs::mem::MemFs;
use whitewater_storage::key::parse_internal_key;
use whitewater_storage::sst::TableReadOptions;

/// Nothing is compacted unless the test asks for it.
fn calm() -> Options {
    let mut options = options(&MemFs::new(), CommitProtocol::Ordered);
    options.set_disable_auto_compactions(true);
    options
}

/// Writes everything as tables of the last level.
fn compact(db: &DB) {
    db.flush().unwrap();
    let mut options = CompactOptions::default();
    options.set_bottommost_level_compaction(BottommostLevelCompaction::Force);
    db.compact_range_opt(None::<&[u8]>, None::<&[u8]>, &options);
}

/// All versions in tables: key and number.
fn stored(engine: &Engine) -> Vec<String> {
    let view = engine.default_cf().pin_owned();
    let comparator = &engine.default_cf().comparator;
    let mut iterators = Vec::new();
    let options = TableReadOptions::default();
    let tables = &engine.files.tables;
    add_iterators(
        &view.version,
        tables,
        comparator,
        options,
        &Bounds::default(),
        &mut iterators,
        None,
    )
    .unwrap();
    let mut all = merging_iterator(comparator.clone(), iterators);
    let mut found = Vec::new();
    all.seek_to_first();
    while all.valid() {
        let key = parse_internal_key(all.key()).unwrap();
        found.push(format!("{}{}", key.user_key.escape_ascii(), key.seq));
        all.next();
    }
    all.status().unwrap();
    found
}

#[test]
fn tables_have_what_is_undecided_and_what_it_hides() {
    let db = DB::open(&calm(), "/db").unwrap();
    let engine = db.engine();
    for key in ["a", "b", "d"] {
        db.put(key, "old").unwrap();
    }
    let xa = prepare(engine, "xa", &["a", "b", "c"]);
    // Nobody has locked them.
    db.put("b", "new").unwrap();
    db.delete("c").unwrap();
    assert_eq!(undecided(engine), [(4, 4)]);
    for _ in 0..2 {
        compact(&db);
        // What hides an undecided version is there, too, and has its number.
        assert_eq!(stored(engine), ["a4", "a0", "b5", "b4", "c6", "c4", "d0"]);
    }
    commit(engine, &xa);
    let all = ["a", "b", "c", "d"].map(|key| db.get(key).unwrap());
    let value = |text: &str| Some(text.as_bytes().to_vec());
    assert_eq!(all, [value("a"), value("new"), None, value("old")]);
    compact(&db);
    assert_eq!(stored(engine), ["a0", "b0", "d0"]);
}

#[test]
fn a_snapshot_keeps_what_was_undecided_after_the_decision() {
    for commits in [true, false] {
        let db = DB::open(&calm(), "/db").unwrap();
        let engine = db.engine();
        db.put("a", "old").unwrap();
        let xa = prepare(engine, "xa", &["a"]);
        db.put("b", "b").unwrap();
        let snapshot = engine.snapshots.take(1, || engine.read_point());
        // What is deleted is older than the undecided version, or newer.
        if commits {
            commit(engine, &xa);
        } else {
            db.delete("a").unwrap();
            roll_back(engine, &xa);
        }
        db.put("a", "new").unwrap();
        db.flush().unwrap();
        compact(&db);
        let kept = stored(engine);
        assert_eq!(kept[1..], ["a2", "a0", "b3"], "{kept:?}");
        drop(snapshot);
        compact(&db);
        assert_eq!(stored(engine), ["a0", "b0"]);
        assert_eq!(db.get("a").unwrap().unwrap(), b"new");
    }
}

/// Nothing but the decision makes the tables due.
#[test]
fn what_was_kept_for_an_undecided_section_is_compacted_after_the_decision() {
    for commits in [true, false] {
        let fs = MemFs::new();
        let db = DB::open(&options(&fs, CommitProtocol::Ordered), "/db").unwrap();
        let engine = db.engine();
        db.put("a", "old").unwrap();
        let xa = prepare(engine, "xa", &["a"]);
        db.put("b", "b").unwrap();
        compact(&db);
        assert_eq!(stored(engine), ["a2", "a0", "b3"]);
        // A reader that has come and gone wakes nobody.
        drop(engine.snapshots.take(1, || engine.read_point()));
        assert!(!engine.snapshots.take_released());
        if commits {
            commit(engine, &xa);
        } else {
            roll_back(engine, &xa);
        }
        db.wait_for_compact(&WaitForCompactOptions::default())
            .unwrap();
        assert_eq!(stored(engine), ["a0", "b0"], "commits: {commits}");
    }
}

#[test]
fn what_was_kept_for_a_snapshot_beside_a_section_is_compacted_after_its_release() {
    let fs = MemFs::new();
    let db = DB::open(&options(&fs, CommitProtocol::Ordered), "/db").unwrap();
    let engine = db.engine();
    db.put("a", "old").unwrap();
    let xa = prepare(engine, "xa", &["a"]);
    db.put("b", "b").unwrap();
    let snapshot = engine.snapshots.take(1, || engine.read_point());
    commit(engine, &xa);
    compact(&db);
    assert_eq!(stored(engine), ["a2", "a0", "b3"]);
    // No table has a number above the snapshot's; only what was undecided matters.
    assert_eq!(snapshot.sequence(), 3);
    drop(snapshot);
    db.wait_for_compact(&WaitForCompactOptions::default())
        .unwrap();
    assert_eq!(stored(engine), ["a0", "b0"]);
}
