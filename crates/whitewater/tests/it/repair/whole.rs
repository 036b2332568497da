//! A repair of an undamaged database changes no value. Where it has to guess, it says so.

use super::{Content, bytes, content, files, reopened, replace};
use crate::harness::{DIR, Db, campaign, open_all, open_named, tiny_on};
use rand::rngs::StdRng;
use rand::{Rng, SeedableRng};
use std::path::Path;
use whitewater::fs::Fs;
use whitewater::fs::mem::MemFs;
use whitewater::{BottommostLevelCompaction, CompactOptions, IteratorMode, Options, WriteOptions};

/// Options of a database that flushes and compacts only on request.
fn calm(fs: &MemFs) -> Options {
    let mut o = tiny_on(fs.clone());
    o.set_disable_auto_compactions(true);
    o.set_write_buffer_size(4 << 20);
    o
}

fn names() -> Vec<String> {
    ["default", "other"].map(str::to_owned).to_vec()
}

/// A new database with two column families. What is logged for the second one keeps the log.
fn opened(fs: &MemFs) -> Db {
    let db = open_named(&calm(fs), Path::new(DIR), &names()).unwrap();
    db.put_cf(&db.cf_handle("other").unwrap(), "keeps", "the log")
        .unwrap();
    db
}

fn unlogged() -> WriteOptions {
    let mut options = WriteOptions::default();
    options.disable_wal(true);
    options
}

fn compact(db: &Db) {
    let mut options = CompactOptions::default();
    options.set_bottommost_level_compaction(BottommostLevelCompaction::Force);
    db.compact_range_opt(None::<&[u8]>, None::<&[u8]>, &options);
}

/// Repairs a copy of the files. Returns its content and what LOG says.
fn repaired(fs: &MemFs) -> (Content, String) {
    let fs = fs.crash_clone(1.0, 0);
    let o = calm(&fs);
    Db::repair(&o, DIR).unwrap();
    let log = bytes(&fs, &Path::new(DIR).join("LOG"));
    let log = String::from_utf8(log).unwrap();
    let lines = log.lines().filter(|line| line.contains("Repair"));
    (reopened(&o), lines.collect::<Vec<_>>().join("\n"))
}

/// The content that an opening finds in a copy of the files.
fn found(fs: &MemFs) -> Content {
    reopened(&calm(&fs.crash_clone(1.0, 0)))
}

fn check_whole(fs: &MemFs) {
    let (content, log) = repaired(fs);
    assert_eq!(content, found(fs));
    assert!(!log.contains("guess"), "{log}");
}

#[test]
fn merge_operands_that_a_flush_put_together_count_once() {
    let fs = MemFs::new();
    let db = opened(&fs);
    for operand in ["a", "b", "c"] {
        db.merge("k", operand).unwrap();
    }
    db.flush().unwrap();
    db.merge("k", "d").unwrap();
    let before = content(&db, &names());
    assert_eq!(before["default"][&b"k"[..]], b"a,b,c,d");
    assert_eq!(found(&fs), before);
    check_whole(&fs);
    // Without the manifest it is unknown what was flushed.
    files(&fs, "MANIFEST")
        .iter()
        .for_each(|f| fs.remove(f).unwrap());
    let (_, log) = repaired(&fs);
    assert!(log.contains("guess: no manifest says"), "{log}");
    assert!(log.contains("guess: 3 writes of [default] in log"), "{log}");
}

#[test]
fn a_logged_value_does_not_replace_a_newer_one_that_was_flushed_without_a_log() {
    let fs = MemFs::new();
    let db = opened(&fs);
    db.put("k", "old").unwrap();
    db.put("gone", "old").unwrap();
    db.put_opt("k", "new", &unlogged()).unwrap();
    db.delete_opt("gone", &unlogged()).unwrap();
    db.flush().unwrap();
    // It has the number 0 by then, and the deletion has done its work.
    compact(&db);
    let before = content(&db, &names());
    assert_eq!(before["default"][&b"k"[..]], b"new");
    assert_eq!(before["default"].len(), 1);
    check_whole(&fs);
    // Also without CURRENT: the manifest is there.
    fs.remove(&Path::new(DIR).join("CURRENT")).unwrap();
    let (content, log) = repaired(&fs);
    assert_eq!(content, before);
    assert!(!log.contains("guess"), "{log}");
}

/// Copies the tables of `from` that `to` lacks.
fn add_tables(from: &MemFs, to: &MemFs) -> usize {
    let there = files(to, ".sst");
    let new = files(from, ".sst")
        .into_iter()
        .filter(|f| !there.contains(f));
    new.map(|path| replace(to, &path, &bytes(from, &path)))
        .count()
}

#[test]
fn tables_of_a_flush_or_compaction_that_did_not_end_do_not_count() {
    let fs = MemFs::new();
    let db = opened(&fs);
    db.merge("k", "a").unwrap();
    db.merge("k", "b").unwrap();
    let before_flush = fs.crash_clone(1.0, 0);
    db.flush().unwrap();
    assert_eq!(add_tables(&fs, &before_flush), 1);
    check_whole(&before_flush);
    db.merge("k", "c").unwrap();
    db.flush().unwrap();
    let before_compaction = fs.crash_clone(1.0, 0);
    compact(&db);
    assert_eq!(add_tables(&fs, &before_compaction), 1);
    check_whole(&before_compaction);
    assert_eq!(found(&before_compaction), content(&db, &names()));
}

/// The manifest in force does not say that they were given up: it begins with the tables that
/// existed when it was begun.
#[test]
fn tables_that_were_given_up_before_the_manifest_was_begun_do_not_count() {
    let fs = MemFs::new();
    let mut o = calm(&fs);
    o.set_max_manifest_file_size(1);
    let db = open_named(&o, Path::new(DIR), &names()).unwrap();
    db.merge("k", "a").unwrap();
    db.put("gone", "v").unwrap();
    db.flush().unwrap();
    db.merge("k", "b").unwrap();
    db.delete("gone").unwrap();
    db.flush().unwrap();
    // This keeps the files.
    let iter = db.iterator(IteratorMode::Start);
    compact(&db);
    db.put("later", "v").unwrap();
    let other = db.cf_handle("other").unwrap();
    db.put_cf(&other, "k", "v").unwrap();
    db.flush_cf(&other).unwrap();
    let died = fs.crash_clone(1.0, 0);
    drop(iter);
    check_whole(&died);
    assert_eq!(found(&died)["default"][&b"k"[..]], b"a,b");
    died.remove(&Path::new(DIR).join("CURRENT")).unwrap();
    let (content, log) = repaired(&died);
    assert_eq!(content, self::content(&db, &names()), "{log}");
}

/// The process died while it wrote a new manifest, and CURRENT, which says so, is gone.
#[test]
fn a_manifest_that_was_never_finished_is_not_taken_for_the_old_one() {
    let fs = MemFs::new();
    let mut o = calm(&fs);
    o.set_max_manifest_file_size(1);
    let db = open_named(&o, Path::new(DIR), &names()).unwrap();
    let other = db.cf_handle("other").unwrap();
    for operand in ["a", "b"] {
        db.merge("k", operand).unwrap();
        db.merge_cf(&other, "k", operand).unwrap();
    }
    // There the two operands are one value with the number 0. The log still has them, for the other
    // family.
    db.flush().unwrap();
    compact(&db);
    let before = fs.crash_clone(1.0, 0);
    let wanted = found(&before);
    assert_eq!(wanted["default"][&b"k"[..]], b"a,b");
    db.flush_cf(&other).unwrap();
    let manifest = files(&fs, "MANIFEST").remove(0);
    let written = bytes(&fs, &manifest);
    add_tables(&fs, &before);
    before.remove(&Path::new(DIR).join("CURRENT")).unwrap();
    for end in 0..=written.len() {
        replace(&before, &manifest, &written[..end]);
        let (content, log) = repaired(&before);
        assert_eq!(content, wanted, "{end} bytes\n{log}");
    }
    // Tables of a compaction that was under way do not count either.
    db.merge("k", "c").unwrap();
    db.flush().unwrap();
    let flushed = fs.crash_clone(1.0, 0);
    compact(&db);
    let wanted = content(&db, &names());
    assert_eq!(wanted["default"][&b"k"[..]], b"a,b,c");
    add_tables(&fs, &flushed);
    flushed.remove(&Path::new(DIR).join("CURRENT")).unwrap();
    let manifest = files(&fs, "MANIFEST").remove(0);
    let written = bytes(&fs, &manifest);
    for end in 0..=written.len() {
        replace(&flushed, &manifest, &written[..end]);
        let (content, log) = repaired(&flushed);
        assert_eq!(content, wanted, "{end} bytes\n{log}");
    }
}

/// A manifest has lost its end, which cannot be seen. What was flushed after that is not lost.
#[test]
fn tables_that_hold_what_nothing_else_holds_count_and_log_says_so() {
    for logged in [true, false] {
        let fs = MemFs::new();
        let db = opened(&fs);
        db.put("a", "1").unwrap();
        db.flush().unwrap();
        let early = fs.crash_clone(1.0, 0);
        let options = if logged {
            WriteOptions::default()
        } else {
            unlogged()
        };
        db.put_opt("b", "2", &options).unwrap();
        db.put("c", "3").unwrap();
        let other = db.cf_handle("other").unwrap();
        for family in [None, Some(&other)] {
            match family {
                None => db.flush().unwrap(),
                Some(family) => db.flush_cf(family).unwrap(),
            }
        }
        db.put("d", "in the last log").unwrap();
        let before = content(&db, &names());
        let late = fs.crash_clone(1.0, 0);
        let manifest = files(&early, "MANIFEST").remove(0);
        replace(&late, &manifest, &bytes(&early, &manifest));
        let logs = files(&late, ".log");
        for log in &logs[..logs.len() - 1] {
            late.remove(log).unwrap();
        }
        let (content, log) = repaired(&late);
        assert_eq!(content, before, "logged: {logged}\n{log}");
        assert!(log.contains("guess: "), "{log}");
        assert!(
            log.contains("which the manifest does not name, counts"),
            "{log}"
        );
    }
}

#[test]
fn a_family_that_was_dropped_does_not_come_back_out_of_a_log() {
    let fs = MemFs::new();
    // Each edit begins a manifest, which says nothing of families dropped before.
    let mut o = calm(&fs);
    o.set_max_manifest_file_size(1);
    let all = ["default", "other", "gone"].map(str::to_owned);
    let db = open_named(&o, Path::new(DIR), &all).unwrap();
    db.put_cf(&db.cf_handle("other").unwrap(), "keeps", "the log")
        .unwrap();
    db.put_cf(&db.cf_handle("gone").unwrap(), "k", "v").unwrap();
    db.put("k", "v").unwrap();
    db.drop_cf("gone").unwrap();
    db.flush().unwrap();
    let (content, log) = repaired(&fs);
    assert_eq!(content, found(&fs));
    assert_eq!(content.keys().cloned().collect::<Vec<_>>(), names());
    assert!(log.contains("1 writes of column family "), "{log}");
}

/// A random operation.
fn step(db: &Db, rng: &mut StdRng) {
    let family = db.cf_handle(&names()[rng.random_range(0..2)]).unwrap();
    let key = format!("k{:02}", rng.random_range(0..30));
    let value = format!("{}", rng.random_range(0..1_000));
    let mut options = WriteOptions::default();
    options.disable_wal(rng.random_bool(0.2));
    match rng.random_range(0..100) {
        0..40 => db.put_cf_opt(&family, key, value, &options).unwrap(),
        40..70 => db.merge_cf_opt(&family, key, value, &options).unwrap(),
        70..85 => db.delete_cf_opt(&family, key, &options).unwrap(),
        85..90 => {
            let end = format!("k{:02}", rng.random_range(0..30));
            let (from, to) = (key.clone().min(end.clone()), key.max(end));
            db.delete_range_cf_opt(&family, from, to, &options).unwrap();
        }
        90..97 => db.flush_cf(&family).unwrap(),
        _ => db.compact_range_cf(&family, None::<&[u8]>, None::<&[u8]>),
    }
}

/// Whatever was flushed, compacted, logged or not logged, and whenever the process dies.
#[test]
fn a_repair_changes_no_value_of_a_database_that_an_opening_would_read() {
    const TEST: &str = "a_repair_changes_no_value_of_a_database_that_an_opening_would_read";
    campaign(TEST, 1, 25, |seed| {
        let mut rng = StdRng::seed_from_u64(seed);
        let fs = MemFs::new();
        for _ in 0..3 {
            let mut o = calm(&fs);
            o.set_disable_auto_compactions(rng.random_bool(0.5));
            o.set_max_manifest_file_size(if rng.random_bool(0.5) { 300 } else { 1 << 20 });
            let db = open_named(&o, Path::new(DIR), &names()).unwrap();
            for _ in 0..rng.random_range(20..120) {
                step(&db, &mut rng);
            }
            let died = fs.crash_clone(1.0, seed);
            let wanted = found(&died);
            for current in [true, false] {
                if !current {
                    died.remove(&Path::new(DIR).join("CURRENT")).unwrap();
                }
                let (content, log) = repaired(&died);
                assert_eq!(content, wanted, "CURRENT: {current}\n{log}");
            }
            drop(db);
            assert_eq!(repaired(&fs).0, found(&fs));
        }
        let o = calm(&fs);
        Db::repair(&o, DIR).unwrap();
        let repaired = reopened(&o);
        let db = open_all(&o, Path::new(DIR)).unwrap();
        compact(&db);
        assert_eq!(content(&db, &names()), repaired, "compacted");
    });
}
