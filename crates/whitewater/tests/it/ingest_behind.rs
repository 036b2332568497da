//! Tables that are ingested behind everything else in a database.

use crate::harness::{DIR, Db, open_all, tiny_on};
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use whitewater::fs::Fs;
use whitewater::fs::mem::MemFs;
use whitewater::{
    DBCompactionStyle, Error, ErrorKind, IngestExternalFileOptions, IteratorMode, Options,
    SstFileWriter, WaitForCompactOptions, WriteBatch,
};

const OUTSIDE: &str = "/data/outside";

/// The styles that keep a level free.
const STYLES: [DBCompactionStyle; 2] = [DBCompactionStyle::Universal, DBCompactionStyle::Level];

type Model = BTreeMap<Vec<u8>, Vec<u8>>;

fn options(fs: &MemFs, style: DBCompactionStyle, allow: bool) -> Options {
    fs.create_dir_all(Path::new(OUTSIDE)).unwrap();
    let mut o = tiny_on(fs.clone());
    o.set_compaction_style(style);
    o.set_num_levels(4);
    o.set_allow_ingest_behind(allow);
    o
}

fn key(n: u32) -> Vec<u8> {
    format!("{n:05}").into_bytes()
}

/// Writes a table with `value` for each of `keys`, ascending.
fn table(o: &Options, name: &str, keys: impl IntoIterator<Item = u32>, value: &str) -> PathBuf {
    let path = Path::new(OUTSIDE).join(name);
    let mut writer = SstFileWriter::create(o);
    writer.open(&path).unwrap();
    for n in keys {
        writer.put(key(n), value).unwrap();
    }
    writer.finish().unwrap();
    path
}

fn behind(db: &Db, paths: &[&PathBuf]) -> Result<(), Error> {
    let mut opts = IngestExternalFileOptions::default();
    opts.set_ingest_behind(true);
    db.ingest_external_file_opts(&opts, paths.to_vec())
}

fn content(db: &Db) -> Model {
    let all = db.iterator(IteratorMode::Start).map(|e| e.unwrap());
    all.map(|(k, v)| (k.to_vec(), v.to_vec())).collect()
}

fn get(db: &Db, n: u32) -> Option<String> {
    let value = db.get(key(n)).unwrap()?;
    Some(String::from_utf8(value).unwrap())
}

/// The number of entries in the tables of each level.
fn entries_by_level(db: &Db) -> BTreeMap<i32, u64> {
    let mut entries = BTreeMap::new();
    for file in db.live_files().unwrap() {
        *entries.entry(file.level).or_default() += file.num_entries;
    }
    entries
}

fn settle(db: &Db) {
    db.wait_for_compact(&WaitForCompactOptions::default())
        .unwrap();
}

/// Keys 0, 4, 8... are written, 1, 5, 9... were deleted, each of 2, 6, 10... was deleted as a
/// range, and 3, 7, 11... were never written.
fn write_some(db: &Db, n: u32) {
    for i in 0..n {
        let at = i * 4;
        db.put(key(at + 1), "gone").unwrap();
        let mut batch = WriteBatch::default();
        batch.put(key(at), format!("own {i}"));
        batch.delete(key(at + 1));
        batch.delete_range(key(at + 2), key(at + 3));
        db.write(batch).unwrap();
        if i % 40 == 20 {
            db.flush().unwrap();
        }
    }
}

fn expected(n: u32) -> Model {
    let mut model = Model::new();
    for i in 0..n {
        model.insert(key(i * 4), format!("own {i}").into_bytes());
        model.insert(key(i * 4 + 3), b"behind".to_vec());
    }
    model
}

#[test]
fn what_was_written_before_hides_what_comes_in_behind() {
    let n = 200;
    for style in STYLES {
        for compact_first in [false, true] {
            let fs = MemFs::new();
            let o = options(&fs, style, true);
            let db = open_all(&o, Path::new(DIR)).unwrap();
            write_some(&db, n);
            if compact_first {
                db.compact_range(None::<&[u8]>, None::<&[u8]>);
            }
            settle(&db);
            assert!(!entries_by_level(&db).contains_key(&3), "kept free");
            let last = db.latest_sequence_number();
            let before = db.snapshot();
            let path = table(&o, "all", 0..n * 4, "behind");
            behind(&db, &[&path]).unwrap();
            // They were always there.
            assert_eq!(db.latest_sequence_number(), last);
            assert_eq!(before.get(key(3)).unwrap().as_deref(), Some(&b"behind"[..]));
            drop(before);
            assert_eq!(content(&db), expected(n));
            for (at, value) in [
                (0, Some("own 0")),
                (1, None),
                (2, None),
                (3, Some("behind")),
            ] {
                assert_eq!(get(&db, at).as_deref(), value, "{at}");
            }
            let only = u64::from(n * 4);
            assert_eq!(entries_by_level(&db).get(&3), Some(&only));
            // Later writes are newer, too, and no compaction touches it.
            db.put(key(3), "later").unwrap();
            db.delete(key(7)).unwrap();
            db.compact_range(None::<&[u8]>, None::<&[u8]>);
            settle(&db);
            let mut model = expected(n);
            model.insert(key(3), b"later".to_vec());
            model.remove(&key(7));
            assert_eq!(content(&db), model);
            assert_eq!(entries_by_level(&db).get(&3), Some(&only));
            drop(db);
            let db = open_all(&o, Path::new(DIR)).unwrap();
            assert_eq!(content(&db), model);
            assert_eq!(entries_by_level(&db).get(&3), Some(&only));
            drop(db);
            // Without the option everything is merged, and what hid the ingested entries goes.
            let db = open_all(&options(&fs, style, false), Path::new(DIR)).unwrap();
            assert_eq!(content(&db), model);
            db.compact_range(None::<&[u8]>, None::<&[u8]>);
            settle(&db);
            assert_eq!(content(&db), model);
            let left: u64 = entries_by_level(&db).values().sum();
            assert_eq!(left, model.len() as u64);
        }
    }
}

#[test]
fn memtables_are_not_flushed_for_it() {
    let fs = MemFs::new();
    let o = options(&fs, DBCompactionStyle::Universal, true);
    let db = open_all(&o, Path::new(DIR)).unwrap();
    db.put(key(1), "own").unwrap();
    let mut opts = IngestExternalFileOptions::default();
    opts.set_ingest_behind(true);
    opts.set_allow_blocking_flush(false);
    opts.set_allow_global_seqno(false);
    let path = table(&o, "t", 0..3, "behind");
    db.ingest_external_file_opts(&opts, vec![path]).unwrap();
    assert_eq!(get(&db, 1).as_deref(), Some("own"));
    assert_eq!(get(&db, 2).as_deref(), Some("behind"));
    drop(db);
    let db = open_all(&o, Path::new(DIR)).unwrap();
    assert_eq!(get(&db, 1).as_deref(), Some("own"));
    assert_eq!(get(&db, 2).as_deref(), Some("behind"));
}

#[test]
fn others_stay_above_the_last_level() {
    for style in STYLES {
        let fs = MemFs::new();
        let o = options(&fs, style, true);
        let db = open_all(&o, Path::new(DIR)).unwrap();
        // Nothing is in its way, and no snapshot matters: it would get the number 0 on the last
        // level.
        let mut opts = IngestExternalFileOptions::default();
        opts.set_snapshot_consistency(false);
        let path = table(&o, "new", 0..10, "new");
        db.ingest_external_file_opts(&opts, vec![path]).unwrap();
        assert_eq!(entries_by_level(&db), BTreeMap::from([(2, 10)]));
        behind(&db, &[&table(&o, "old", 0..20, "behind")]).unwrap();
        assert_eq!(entries_by_level(&db), BTreeMap::from([(2, 10), (3, 20)]));
        assert_eq!(get(&db, 9).as_deref(), Some("new"));
        assert_eq!(get(&db, 10).as_deref(), Some("behind"));
        // And there is no other way to the last level.
        let mut opts = whitewater::CompactOptions::default();
        opts.set_change_level(true);
        opts.set_target_level(3);
        let e = db
            .try_compact_range_opt(None::<&[u8]>, None::<&[u8]>, &opts)
            .unwrap_err();
        assert_eq!(e.kind(), ErrorKind::InvalidArgument);
        assert_eq!(entries_by_level(&db), BTreeMap::from([(2, 10), (3, 20)]));
    }
}

#[test]
fn what_cannot_come_in_behind_is_refused() {
    let fs = MemFs::new();
    let o = options(&fs, DBCompactionStyle::Universal, true);
    let low = table(&o, "low", 0..10, "behind");
    let high = table(&o, "high", 10..20, "behind");
    let across = table(&o, "across", 5..15, "behind");
    let refused = |db: &Db, paths: &[&PathBuf], kind, part: &str| {
        settle(db); // or a compaction may change how many tables there are
        let (before, files) = (content(db), db.live_files().unwrap().len());
        let e = behind(db, paths).unwrap_err();
        assert_eq!(e.kind(), kind, "{e}");
        assert!(e.to_string().contains(part), "{e}");
        assert_eq!(
            (content(db), db.live_files().unwrap().len()),
            (before, files)
        );
    };
    let db = open_all(&o, Path::new(DIR)).unwrap();
    let kind = ErrorKind::NotSupported;
    refused(&db, &[&low, &across], kind, "overlapping ranges");
    behind(&db, &[&high, &low]).unwrap();
    let kind = ErrorKind::InvalidArgument;
    refused(&db, &[&across], kind, "doesn't fit at the last level");
    db.put(key(5), "own").unwrap();
    db.flush().unwrap();
    drop(db);
    // Without the option: everything gets the number 0.
    let without = options(&fs, DBCompactionStyle::Universal, false);
    let db = open_all(&without, Path::new(DIR)).unwrap();
    refused(&db, &[&across], kind, "allow_ingest_behind=false");
    drop(db);

    let fs = MemFs::new();
    let mut without = options(&fs, DBCompactionStyle::Level, false);
    without.set_disable_auto_compactions(true); // what is on level 2 stays
    let path = table(&without, "t", 90..95, "behind");
    let db = open_all(&without, Path::new(DIR)).unwrap();
    let mut opts = IngestExternalFileOptions::default();
    opts.set_snapshot_consistency(false);
    // One on the last level, and one above it with the number 0.
    for (name, n) in [("a", 1), ("b", 2)] {
        let path = table(&without, name, [n], "zero");
        db.ingest_external_file_opts(&opts, vec![path]).unwrap();
        let mut opts = whitewater::CompactOptions::default();
        opts.set_change_level(true);
        opts.set_target_level(2);
        if n == 1 {
            db.compact_range_opt(None::<&[u8]>, None::<&[u8]>, &opts);
        }
    }
    drop(db);
    let with = options(&fs, DBCompactionStyle::Level, true);
    let db = open_all(&with, Path::new(DIR)).unwrap();
    refused(&db, &[&path], kind, "files with 0 seqno");
    drop(db);

    let fs = MemFs::new();
    let fifo = options(&fs, DBCompactionStyle::Fifo, true);
    let path = table(&fifo, "t", 0..5, "behind");
    let db = open_all(&fifo, Path::new(DIR)).unwrap();
    refused(&db, &[&path], ErrorKind::NotSupported, "FIFO");
}

#[test]
fn there_are_levels_enough_and_options_say_so() {
    let fs = MemFs::new();
    let mut o = options(&fs, DBCompactionStyle::Universal, true);
    o.set_num_levels(1);
    let db = open_all(&o, Path::new(DIR)).unwrap();
    let mut other = options(&fs, DBCompactionStyle::Level, false);
    other.set_num_levels(1);
    db.create_cf("other", &other).unwrap();
    let path = table(&o, "t", 0..5, "behind");
    behind(&db, &[&path]).unwrap();
    assert_eq!(entries_by_level(&db), BTreeMap::from([(2, 5)]));
    // The database's option holds for every column family.
    let path = table(&o, "other", 0..5, "behind");
    let mut opts = IngestExternalFileOptions::default();
    opts.set_ingest_behind(true);
    let other = db.cf_handle("other").unwrap();
    db.ingest_external_file_cf_opts(&other, &opts, vec![path])
        .unwrap();
    drop(other);
    // A change of options keeps it.
    db.set_options(&[("level0_file_num_compaction_trigger", "3")])
        .unwrap();
    db.put(key(1), "own").unwrap();
    db.compact_range(None::<&[u8]>, None::<&[u8]>);
    assert_eq!(entries_by_level(&db)[&2], 10, "those of both families");
    drop(db);
    let db = open_all(&o, Path::new(DIR)).unwrap();
    assert_eq!(get(&db, 1).as_deref(), Some("own"));
    assert_eq!(get(&db, 2).as_deref(), Some("behind"));
}
