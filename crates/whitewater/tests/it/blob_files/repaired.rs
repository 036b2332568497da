//! Repairs of databases with blob files: which values are lost, which files stay, and what is
//! garbage in them.

use super::{blob_files, compact, content, delete_range, large, open, options, property, state};
use crate::harness::{DIR, Db};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use whitewater::fs::Fs;
use whitewater::fs::fault::{Fault, FaultFs, OpSet, PathMatch, Rule, When};
use whitewater::fs::mem::MemFs;
use whitewater::{ErrorKind, Options};

type Pairs = Vec<(Vec<u8>, Vec<u8>)>;

fn path(name: &str) -> PathBuf {
    Path::new(DIR).join(name)
}

fn bytes(fs: &MemFs, name: &str) -> Vec<u8> {
    let file = fs.open_random(&path(name)).unwrap();
    let len = file.len().unwrap() as usize;
    file.read_at(0, len).unwrap().to_vec()
}

fn replace(fs: &MemFs, name: &str, bytes: &[u8]) {
    let mut file = fs.create(&path(name)).unwrap();
    file.append(bytes).unwrap();
    file.sync().unwrap();
}

fn named(fs: &MemFs, part: &str) -> Vec<String> {
    let mut names = fs.list(Path::new(DIR)).unwrap();
    names.retain(|name| name.contains(part));
    names.sort();
    names
}

fn lost(fs: &MemFs) -> Vec<String> {
    fs.list(&path("lost")).unwrap()
}

/// What the repair has written to the info log.
fn told(fs: &MemFs) -> String {
    String::from_utf8(bytes(fs, "LOG")).unwrap()
}

/// Three blob files with 60 values each, some of which are garbage, and values in tables and in the
/// log.
fn filled(o: &Options) -> (Pairs, (u64, u64, u64)) {
    let db = open(o);
    for file in 0..3u8 {
        for i in 0..60u8 {
            db.put([i, file], large(i ^ file, 300)).unwrap();
            db.put([i, file, 0], "in the table").unwrap();
        }
        db.flush().unwrap();
    }
    delete_range(&db, [10u8], [20u8]);
    db.put([30u8, 1], large(7, 500)).unwrap();
    compact(&db);
    db.put([40u8, 1], "logged").unwrap();
    drop(db);
    // This opening removes tables that were replaced.
    let db = open(o);
    let state = state(&db);
    assert!(state.0 >= 4 && state.2 > 0, "{state:?}");
    (content(&db), state)
}

/// Everything can go on: blobs are collected, and the sums of garbage hold.
fn collects(o: &Options, expected: &Pairs) {
    let mut o = o.clone();
    o.set_enable_blob_gc(true);
    o.set_blob_gc_age_cutoff(1.0);
    let db = open(&o);
    assert!(content(&db) == *expected);
    compact(&db);
    assert!(content(&db) == *expected);
    assert_eq!(state(&db).2, 0);
    delete_range(&db, [0u8], [255u8]);
    compact(&db);
    assert_eq!(property(&db, "num-blob-files"), 0);
}

#[test]
fn blob_files_and_their_garbage_are_found_again() {
    for damage in ["", "CURRENT", "MANIFEST"] {
        let fs = MemFs::new();
        let o = options(&fs);
        let (before, sizes) = filled(&o);
        let files = blob_files(&fs);
        if !damage.is_empty() {
            let damaged = named(&fs, damage);
            damaged
                .iter()
                .for_each(|name| fs.remove(&path(name)).unwrap());
        }
        for _ in 0..2 {
            Db::repair(&o, DIR).unwrap();
            let db = open(&o);
            assert!(content(&db) == before, "{damage}");
            assert_eq!(state(&db), sizes, "{damage}");
        }
        assert_eq!(blob_files(&fs), files, "{damage}");
        collects(&o, &before);
    }
}

#[test]
fn a_damaged_value_is_lost_and_the_others_are_not() {
    let fs = MemFs::new();
    let o = options(&fs);
    let (mut expected, _) = filled(&o);
    let file = blob_files(&fs).remove(0);
    let mut damaged = bytes(&fs, &file);
    // The value of the first record behind header, record header and key.
    damaged[30 + 32 + 2 + 100] ^= 1;
    replace(&fs, &file, &damaged);
    Db::repair(&o, DIR).unwrap();
    expected.retain(|(key, _)| key != &[0, 0]);
    let told = told(&fs);
    assert!(
        told.contains("1 values of ") && told.contains(&file),
        "{told}"
    );
    assert!(told.contains("checksum"), "{told}");
    assert!(blob_files(&fs).contains(&file));
    assert!(!lost(&fs).contains(&file));
    collects(&o, &expected);
}

#[test]
fn of_a_blob_file_that_is_missing_or_no_blob_file_all_values_are_lost() {
    for missing in [true, false] {
        let fs = MemFs::new();
        let o = options(&fs);
        let (mut expected, _) = filled(&o);
        let file = blob_files(&fs).remove(1);
        if missing {
            fs.remove(&path(&file)).unwrap();
        } else {
            let all = bytes(&fs, &file);
            replace(&fs, &file, &all[..all.len() - 40]);
        }
        Db::repair(&o, DIR).unwrap();
        expected.retain(|(key, value)| key[1] != 1 || value.len() < 300 || key[0] == 30);
        let told = told(&fs);
        let number: u64 = file.trim_end_matches(".blob").parse().unwrap();
        let what = match missing {
            true => format!("blob file #{number} is missing"),
            false => "bad footer of a blob file".to_owned(),
        };
        assert!(told.contains(&what), "{what} in {told}");
        assert!(told.contains(&format!("in blob file #{number}")), "{told}");
        assert_eq!(lost(&fs).contains(&file), !missing);
        collects(&o, &expected);
    }
}

#[test]
fn a_blob_file_that_nothing_refers_to_is_moved_away() {
    let fs = MemFs::new();
    let o = options(&fs);
    let (before, sizes) = filled(&o);
    // As a flush leaves it that did not finish.
    replace(&fs, "000777.blob", &bytes(&fs, &blob_files(&fs)[0]));
    Db::repair(&o, DIR).unwrap();
    assert!(lost(&fs).iter().any(|name| name == "000777.blob"));
    let db = open(&o);
    assert_eq!(state(&db), sizes);
    // Its number is not used again.
    db.put("z", large(1, 400)).unwrap();
    db.flush().unwrap();
    assert!(blob_files(&fs).iter().any(|name| &**name > "000777.blob"));
    drop(db);
    let mut expected = before;
    expected.push((b"z".to_vec(), large(1, 400)));
    collects(&o, &expected);
}

/// Without a manifest, a table counts that a compaction has replaced. What both refer to would
/// become garbage twice, which no manifest can record.
#[test]
fn values_that_two_tables_refer_to_become_garbage_once() {
    let fs = MemFs::new();
    let o = options(&fs);
    let db = open(&o);
    (0..50u8).for_each(|i| db.put([i], large(i, 300)).unwrap());
    db.flush().unwrap();
    let before = content(&db);
    let table = named(&fs, ".sst").remove(0);
    let replaced = bytes(&fs, &table);
    compact(&db);
    drop(db);
    replace(&fs, &table, &replaced);
    let gone = named(&fs, "MANIFEST");
    gone.iter().for_each(|name| fs.remove(&path(name)).unwrap());
    Db::repair(&o, DIR).unwrap();
    assert!(blob_files(&fs).is_empty());
    assert!(told(&fs).contains("move into tables"), "{}", told(&fs));
    collects(&o, &before);
}

/// A repair fails at each of its operations, or the power is cut there. Another repair then
/// succeeds.
#[test]
fn a_repair_with_lost_values_can_be_interrupted() {
    let fs = MemFs::new();
    let o = options(&fs);
    let (mut expected, _) = filled(&o);
    let file = blob_files(&fs).remove(0);
    let mut damaged = bytes(&fs, &file);
    damaged[30 + 32 + 2 + 100] ^= 1;
    replace(&fs, &file, &damaged);
    expected.retain(|(key, _)| key != &[0, 0]);
    let fresh = fs.crash_clone(1.0, 0);
    let mut met = 0;
    for n in 1.. {
        let fs = fresh.crash_clone(1.0, 0);
        let faulty = FaultFs::new(Arc::new(fs.clone()));
        faulty.add_rule(Rule {
            ops: OpSet::WRITES,
            path: PathMatch::Any,
            when: When::Nth(n),
            fault: Fault::Eio,
            sticky: true,
        });
        let mut failing = o.clone();
        failing.set_fs(Arc::new(faulty.clone()));
        let outcome = Db::repair(&failing, DIR);
        if faulty.injected().is_empty() {
            outcome.unwrap();
            break;
        }
        met += 1;
        let left = match n % 2 {
            0 => fs,
            _ => fs.crash_clone(0.0, n),
        };
        let mut o = o.clone();
        o.set_fs(Arc::new(left));
        Db::repair(&o, DIR).unwrap();
        assert!(content(&open(&o)) == expected, "operation {n}");
    }
    assert!(met > 10, "{met} operations");
}

#[test]
fn a_blob_file_where_no_manifest_could_name_it_is_refused() {
    let fs = MemFs::new();
    let mut o = options(&fs);
    filled(&o);
    let dirs = ["/data/first", "/data/second"];
    dirs.iter()
        .for_each(|dir| fs.create_dir_all(Path::new(dir)).unwrap());
    o.set_db_paths(&dirs.map(|dir| whitewater::DBPath::new(dir, 1 << 30).unwrap()));
    let e = Db::repair(&o, DIR).unwrap_err();
    assert_eq!(e.kind(), ErrorKind::InvalidArgument);
    assert!(e.to_string().contains("is not "), "{e}");
}
