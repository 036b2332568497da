//! Compactions of files that a caller names, suggested compactions, and moving level 0 down.

use crate::harness::{DIR, Db, open_all, tiny_on};
use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use whitewater::fs::Fs;
use whitewater::fs::fault::{FaultFs, FaultOp, FileKind, OpSet, PathMatch, Rule};
use whitewater::fs::mem::MemFs;
use whitewater::{
    CompactionOptions, DBCompactionStyle, DBCompressionType, DBPath, ErrorKind, IteratorMode,
    Options,
};

fn options(fs: &MemFs) -> Options {
    let mut o = tiny_on(fs.clone());
    o.set_disable_auto_compactions(true);
    o
}

fn open(o: &Options) -> Db {
    open_all(o, Path::new(DIR)).unwrap()
}

/// Flushes a table that overlaps the others.
fn add_table(db: &Db, round: u8) {
    for i in 0..200u32 {
        db.put((i * 7).to_be_bytes(), [round; 100]).unwrap();
    }
    db.put([round], "only here").unwrap();
    db.flush().unwrap();
}

/// The names of the live tables of a level, oldest first.
fn names(db: &Db, level: i32) -> Vec<String> {
    let files = db.live_files().unwrap().into_iter();
    let mut names: Vec<String> = files
        .filter(|file| file.level == level)
        .map(|file| file.name)
        .collect();
    names.sort();
    names
}

fn content(db: &Db) -> BTreeMap<Vec<u8>, Vec<u8>> {
    let all = db.iterator(IteratorMode::Start).map(|e| e.unwrap());
    all.map(|(k, v)| (k.to_vec(), v.to_vec())).collect()
}

#[test]
fn named_tables_go_where_they_are_told() {
    let fs = MemFs::new();
    let db = open(&options(&fs));
    for round in 0..5 {
        add_table(&db, round);
    }
    let before = content(&db);
    let level0 = names(&db, 0);
    assert_eq!(level0.len(), 5);
    let how = CompactionOptions::default();
    // Older tables of level 0 go along, newer ones stay.
    let made = db.compact_files(&how, &level0[2..3], 2).unwrap();
    assert_eq!(
        (made.len(), names(&db, 0).len(), names(&db, 2).len()),
        (1, 2, 1)
    );
    assert_eq!(made[0], Path::new(DIR).join(&names(&db, 2)[0][1..]));
    assert!(fs.exists(&made[0]).unwrap());
    assert!(!fs.exists(&Path::new(DIR).join(&level0[2][1..])).unwrap());
    assert!(content(&db) == before);
    // Tables of level 0 become one there. Whole paths are names, too.
    let whole: Vec<String> = names(&db, 0).iter().map(|n| format!("{DIR}{n}")).collect();
    db.compact_files(&how, whole, 0).unwrap();
    assert_eq!(names(&db, 0).len(), 1);
    // The last table, with what overlaps below.
    let mut small = CompactionOptions::default();
    small.set_output_file_size_limit(4_000);
    small.set_compression(DBCompressionType::None);
    small.set_max_subcompactions(4);
    let made = db.compact_files(&small, names(&db, 0), 3).unwrap();
    assert!(made.len() > 3, "{made:?}");
    assert_eq!(names(&db, 3).len(), made.len());
    assert_eq!(db.live_files().unwrap().len(), made.len());
    assert!(content(&db) == before);
    drop(db);
    assert!(content(&open(&options(&fs))) == before);
}

#[test]
fn a_table_is_moved_only_if_that_is_allowed() {
    for allow in [false, true] {
        let fs = MemFs::new();
        let db = open(&options(&fs));
        add_table(&db, 1);
        let name = names(&db, 0);
        let mut how = CompactionOptions::default();
        how.set_allow_trivial_move(allow);
        let made = db.compact_files(&how, &name, 4).unwrap();
        assert_eq!(names(&db, 4) == name, allow);
        assert_eq!(made, [Path::new(DIR).join(&names(&db, 4)[0][1..])]);
    }
}

#[test]
fn the_path_of_the_output_is_named() {
    let fs = MemFs::new();
    let mut o = options(&fs);
    let path = |path| DBPath::new(path, 1 << 40).unwrap();
    o.set_db_paths(&[path("/data/flash"), path("/data/disk")]);
    let db = open(&o);
    add_table(&db, 1);
    let mut how = CompactionOptions::default();
    let e = db.compact_files(&how, names(&db, 0), 1).unwrap_err();
    assert_eq!(e.kind(), ErrorKind::NotSupported);
    assert!(
        e.to_string().contains("Automatic output path selection"),
        "{e}"
    );
    how.set_output_path_id(2);
    let e = db.compact_files(&how, names(&db, 0), 1).unwrap_err();
    assert_eq!(e.kind(), ErrorKind::InvalidArgument);
    how.set_output_path_id(1);
    how.set_allow_trivial_move(true);
    let made = db.compact_files(&how, names(&db, 0), 1).unwrap();
    assert!(made[0].starts_with("/data/disk"), "{made:?}");
    assert_eq!(db.live_files().unwrap()[0].db_path, Path::new("/data/disk"));
}

#[test]
fn what_cannot_be_compacted_is_refused_and_nothing_changes() {
    let fs = MemFs::new();
    let mut o = options(&fs);
    let db = open(&o);
    add_table(&db, 1);
    let how = CompactionOptions::default();
    db.compact_files(&how, names(&db, 0), 3).unwrap();
    let name = names(&db, 3);
    let none: [&str; 0] = [];
    let refused = [
        (db.compact_files(&how, none, 3), "at least one file"),
        (db.compact_files(&how, ["/000999.sst"], 3), "does not exist"),
        (
            db.compact_files(&how, ["MANIFEST-000001"], 3),
            "not the name of a table",
        ),
        (
            db.compact_files(&how, &name, 2),
            "Cannot compact file to up level",
        ),
        (db.compact_files(&how, &name, 7), "must between [0, 6]"),
        (db.compact_files(&how, &name, -1), "cannot be negative"),
    ];
    for (outcome, said) in refused {
        let e = outcome.unwrap_err();
        assert_eq!(e.kind(), ErrorKind::InvalidArgument);
        assert!(e.to_string().contains(said), "{e}");
    }
    assert_eq!(names(&db, 3), name);
    db.put("still", "open").unwrap();
    drop(db);
    let reader = Db::open_for_read_only(&o, DIR, false).unwrap();
    let e = reader.compact_files(&how, &name, 4).unwrap_err();
    assert_eq!(e.kind(), ErrorKind::NotSupported, "{e}");
    drop(reader);
    o.set_compaction_style(DBCompactionStyle::Fifo);
    let db = open(&o);
    let e = db.compact_files(&how, &name, 3).unwrap_err();
    assert!(
        e.to_string().contains("Exceed the maximum output level"),
        "{e}"
    );
}

/// A table whose compaction fails can be compacted again.
#[test]
fn a_failure_leaves_the_tables_as_they_were() {
    let fs = MemFs::new();
    let faults = Arc::new(FaultFs::new(Arc::new(fs.clone())));
    let mut o = options(&fs);
    o.set_fs(faults.clone());
    let db = open(&o);
    add_table(&db, 1);
    add_table(&db, 2);
    let (before, tables) = (content(&db), names(&db, 0));
    let mut rule = Rule::nth(OpSet::of(&[FaultOp::Append]), 1);
    rule.path = PathMatch::Kind(FileKind::Table);
    let rule = faults.add_rule(rule);
    let how = CompactionOptions::default();
    let e = db.compact_files(&how, &tables, 1).unwrap_err();
    assert_eq!(e.kind(), ErrorKind::IOError);
    faults.remove_rule(rule);
    assert_eq!(names(&db, 0), tables);
    db.compact_files(&how, &tables, 1).unwrap();
    assert!(content(&db) == before);
}

/// Beside automatic compactions, which take the same tables: a call succeeds or is told so.
#[test]
fn a_call_that_is_in_the_way_of_another_compaction_is_told_so() {
    let fs = MemFs::new();
    let mut o = tiny_on(fs.clone());
    o.set_level_zero_file_num_compaction_trigger(2);
    let db = open(&o);
    let done = AtomicBool::new(false);
    let outcomes = thread::scope(|scope| {
        let caller = scope.spawn(|| {
            let mut outcomes = BTreeSet::new();
            let how = CompactionOptions::default();
            while !done.load(Ordering::Relaxed) {
                for level in [0, 1, 2] {
                    let outcome = db.compact_files(&how, names(&db, level), level + 1);
                    outcomes.insert(outcome.err().map(|e| format!("{:?}", e.kind())));
                }
            }
            outcomes
        });
        for round in 0..60 {
            add_table(&db, round);
        }
        done.store(true, Ordering::Relaxed);
        caller.join().unwrap()
    });
    assert!(outcomes.contains(&None), "some succeed: {outcomes:?}");
    let allowed = [ErrorKind::Aborted, ErrorKind::InvalidArgument].map(|kind| format!("{kind:?}"));
    for kind in outcomes.into_iter().flatten() {
        assert!(allowed.contains(&kind), "{kind}");
    }
    let found = content(&db);
    assert_eq!(found.len(), 260);
    assert!(found[&0u32.to_be_bytes()[..]] == [59; 100]);
}

#[test]
fn suggested_tables_are_compacted_in_the_background() {
    let fs = MemFs::new();
    let mut o = tiny_on(fs.clone());
    o.set_level_zero_file_num_compaction_trigger(100);
    let db = open(&o);
    add_table(&db, 1);
    db.compact_files(&CompactionOptions::default(), names(&db, 0), 3)
        .unwrap();
    add_table(&db, 2);
    let before = content(&db);
    // Nothing overlaps this, and the deepest level is left alone.
    db.suggest_compact_range(Some("zzz"), None::<&str>).unwrap();
    db.wait_for_compact(&Default::default()).unwrap();
    assert_eq!(names(&db, 0).len(), 1);
    db.suggest_compact_range(None::<&str>, None::<&str>)
        .unwrap();
    db.wait_for_compact(&Default::default()).unwrap();
    assert!(names(&db, 0).is_empty());
    assert!(content(&db) == before);
}

#[test]
fn level_0_is_promoted_if_its_tables_do_not_overlap() {
    let fs = MemFs::new();
    let db = open(&options(&fs));
    db.promote_l0(2).unwrap();
    for key in ["c", "a", "b"] {
        db.put(key, "1").unwrap();
        db.flush().unwrap();
    }
    let level0 = names(&db, 0);
    for (level, said) in [
        (0, "Invalid target level"),
        (-1, "Invalid"),
        (7, "does not exist"),
    ] {
        let e = db.promote_l0(level).unwrap_err();
        assert_eq!(e.kind(), ErrorKind::InvalidArgument);
        assert!(e.to_string().contains(said), "{e}");
    }
    db.promote_l0(2).unwrap();
    assert_eq!(names(&db, 2), level0);
    db.put("a", "2").unwrap();
    db.flush().unwrap();
    let e = db.promote_l0(2).unwrap_err();
    assert!(e.to_string().contains("must be empty"), "{e}");
    db.put("a", "3").unwrap();
    db.flush().unwrap();
    let e = db.promote_l0(1).unwrap_err();
    assert!(e.to_string().contains("overlapping"), "{e}");
    drop(db);
    let db = open(&options(&fs));
    assert_eq!(names(&db, 2), level0);
    assert_eq!(db.get("a").unwrap().as_deref(), Some(&b"3"[..]));
}
