//! Tables in several directories: `db_paths` and `cf_paths`.

use crate::harness::{DIR, Db, open_all, tiny_on, until};
use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use whitewater::backup::{BackupEngine, BackupEngineOptions};
use whitewater::checkpoint::Checkpoint;
use whitewater::fs::Fs;
use whitewater::fs::fault::{FaultFs, FaultOp, OpSet, Rule};
use whitewater::fs::mem::MemFs;
use whitewater::{
    ColumnFamilyDescriptor, CompactOptions, DB, DBCompactionStyle, DBPath, Env, ErrorKind,
    IteratorMode, Options, SstFileWriter,
};

const FLASH: &str = "/data/flash";
const DISK: &str = "/data/disk";

type Content = BTreeMap<Vec<u8>, Vec<u8>>;

fn paths(of: &[(&str, u64)]) -> Vec<DBPath> {
    let path = |(path, size): &(&str, u64)| DBPath::new(path, *size).unwrap();
    of.iter().map(path).collect()
}

/// Levels 0 and 1 fit into the first path, which is not the database's directory.
fn options(fs: &MemFs) -> Options {
    let mut o = tiny_on(fs.clone());
    o.set_db_paths(&paths(&[(FLASH, 100 << 10), (DISK, 1 << 40)]));
    o
}

fn open(o: &Options) -> Db {
    open_all(o, Path::new(DIR)).unwrap()
}

fn content(db: &Db) -> Content {
    let all = db.iterator(IteratorMode::Start).map(|e| e.unwrap());
    all.map(|(k, v)| (k.to_vec(), v.to_vec())).collect()
}

/// Writes `count` values in an order that makes levels overlap.
fn write(db: &Db, count: u32) {
    for i in 0..count {
        let key = i * 7919 % count;
        db.put(key.to_be_bytes(), [i as u8; 100]).unwrap();
    }
}

/// The tables and blob files in `dir`.
fn files(fs: &MemFs, dir: &str) -> BTreeSet<String> {
    let names = fs.list(Path::new(dir)).unwrap_or_default().into_iter();
    names
        .filter(|name| name.ends_with(".sst") || name.ends_with(".blob"))
        .collect()
}

/// The live tables by directory.
fn live(db: &Db) -> BTreeMap<PathBuf, BTreeSet<String>> {
    let mut live: BTreeMap<PathBuf, BTreeSet<String>> = BTreeMap::new();
    for file in db.live_files().unwrap() {
        let name = file.name.trim_start_matches('/').to_owned();
        live.entry(file.db_path).or_default().insert(name);
    }
    live
}

fn compact(db: &Db) {
    db.try_compact_range_opt(None::<&[u8]>, None::<&[u8]>, &CompactOptions::default())
        .unwrap();
}

/// Compacts by itself until nothing is due.
fn settle(db: &Db) {
    db.flush().unwrap();
    db.wait_for_compact(&Default::default()).unwrap();
}

#[test]
fn levels_are_in_the_paths_that_hold_them() {
    let fs = MemFs::new();
    let o = options(&fs);
    let db = open(&o);
    write(&db, 20_000);
    settle(&db);
    // Compactions may have left nothing above level 2; this table stays in level 0.
    db.set_options(&[("disable_auto_compactions", "true")])
        .unwrap();
    db.put(0u32.to_be_bytes(), b"newest").unwrap();
    db.flush().unwrap();
    for file in db.live_files().unwrap() {
        let wanted = if file.level < 2 { FLASH } else { DISK };
        assert_eq!(file.db_path, Path::new(wanted), "level {}", file.level);
    }
    let (before, live) = (content(&db), live(&db));
    assert_eq!(live.len(), 2, "both paths have tables");
    assert_eq!(before.len(), 20_000);
    assert_eq!(live[Path::new(FLASH)], files(&fs, FLASH));
    assert_eq!(live[Path::new(DISK)], files(&fs, DISK));
    assert!(files(&fs, DIR).is_empty());
    assert_eq!(
        db.get(7u32.to_be_bytes()).unwrap(),
        before.get(&7u32.to_be_bytes()[..]).cloned()
    );
    drop(db);
    let db = open(&o);
    assert!(content(&db) == before);
    let cut = fs.crash_clone(0.0, 1);
    drop(db);
    assert!(
        content(&open(&options(&cut))) == before,
        "after a power cut"
    );
}

#[test]
fn universal_compaction_puts_large_runs_into_later_paths() {
    let fs = MemFs::new();
    let mut o = options(&fs);
    o.set_compaction_style(DBCompactionStyle::Universal);
    let db = open(&o);
    write(&db, 20_000);
    settle(&db);
    for file in db.live_files().unwrap() {
        if file.db_path == Path::new(FLASH) {
            assert!(file.size < 100 << 10, "{file:?}");
        }
    }
    assert!(!files(&fs, DISK).is_empty());
    assert_eq!(content(&db).len(), 20_000);
}

#[test]
fn a_manual_compaction_writes_to_the_path_it_is_given() {
    let fs = MemFs::new();
    let db = open(&options(&fs));
    write(&db, 2_000);
    let mut to = CompactOptions::default();
    for (id, dir) in [(1, DISK), (0, FLASH), (1, DISK)] {
        to.set_target_path_id(id);
        to.set_bottommost_level_compaction(whitewater::BottommostLevelCompaction::Force);
        db.try_compact_range_opt(None::<&[u8]>, None::<&[u8]>, &to)
            .unwrap();
        let live = live(&db);
        assert_eq!(live.keys().collect::<Vec<_>>(), [Path::new(dir)]);
        assert_eq!(live[Path::new(dir)], files(&fs, dir));
        let other = if dir == DISK { FLASH } else { DISK };
        assert!(files(&fs, other).is_empty(), "obsolete tables are deleted");
    }
    to.set_target_path_id(2);
    let e = db
        .try_compact_range_opt(None::<&[u8]>, None::<&[u8]>, &to)
        .unwrap_err();
    assert_eq!(e.kind(), ErrorKind::InvalidArgument);
    assert!(e.to_string().contains("Invalid target path ID"), "{e}");
}

/// A file on its way to another level stays where it is only if that is its path.
#[test]
fn a_table_that_changes_its_path_is_rewritten_and_not_moved() {
    let fs = MemFs::new();
    let mut o = options(&fs);
    // Everything from level 1 on is in the second path.
    o.set_db_paths(&paths(&[(FLASH, 50 << 10), (DISK, 1 << 40)]));
    o.set_level_zero_file_num_compaction_trigger(1);
    let db = open(&o);
    db.put("a", "1").unwrap();
    settle(&db);
    let all = db.live_files().unwrap();
    assert_eq!(
        (all.len(), all[0].level, all[0].db_path.as_path()),
        (1, 1, Path::new(DISK))
    );
    assert!(files(&fs, FLASH).is_empty());
}

#[test]
fn column_families_have_paths_of_their_own() {
    let fs = MemFs::new();
    let o = options(&fs);
    let mut own = tiny_on(fs.clone());
    own.set_cf_paths(&paths(&[("/data/own", 1 << 40)]));
    let db = Db::open_cf_descriptors(&o, DIR, [ColumnFamilyDescriptor::new("other", o.clone())])
        .unwrap();
    db.create_cf("own", &own).unwrap();
    for name in ["default", "other", "own"] {
        let cf = db.cf_handle(name).unwrap();
        db.put_cf(&cf, "name", name).unwrap();
        db.flush_cf(&cf).unwrap();
    }
    assert_eq!(
        (files(&fs, FLASH).len(), files(&fs, "/data/own").len()),
        (2, 1)
    );
    drop(db);
    let families = || {
        [("default", &o), ("other", &o), ("own", &own)]
            .map(|(name, o)| ColumnFamilyDescriptor::new(name, o.clone()))
    };
    let stray = |dir: &str| {
        let path = Path::new(dir).join("000777.sst");
        let mut file = fs.create(&path).unwrap();
        file.append(b"left by a crash").unwrap();
    };
    stray(FLASH);
    stray(DISK);
    stray("/data/own");
    let db = Db::open_cf_descriptors(&o, DIR, families()).unwrap();
    assert_eq!((files(&fs, FLASH).len(), files(&fs, DISK).len()), (2, 0));
    let cf = db.cf_handle("own").unwrap();
    assert_eq!(
        db.get_cf(&cf, "name").unwrap().as_deref(),
        Some(&b"own"[..])
    );
    db.put_cf(&cf, "more", "1").unwrap();
    db.flush_cf(&cf).unwrap();
    let all = files(&fs, "/data/own");
    assert_eq!(all.len(), 2);
    assert!(
        all.last().unwrap().as_str() > "000777.sst",
        "no number is used twice"
    );
    drop(cf);
    db.drop_cf("own").unwrap();
    // The thread of the flush may hold them a little longer.
    until("the tables go with the family", || {
        files(&fs, "/data/own").is_empty()
    });
}

#[test]
fn too_few_paths_are_an_error_unless_the_files_were_moved_together() {
    let fs = MemFs::new();
    let o = options(&fs);
    let db = open(&o);
    write(&db, 20_000);
    settle(&db);
    let before = content(&db);
    drop(db);
    for (given, said) in [
        (
            vec![(FLASH, 1)],
            "path 1 of column family default, but db_paths and cf_paths give it 1",
        ),
        (vec![(DISK, 1), (FLASH, 1)], "missing from path"),
        (vec![], "path 1 of column family default"),
    ] {
        let mut fewer = tiny_on(fs.clone());
        fewer.set_db_paths(&paths(&given));
        let e = open_all(&fewer, Path::new(DIR)).unwrap_err();
        // Without paths, those of the first path are missed first.
        let missed = e.to_string().contains("is missing") && given.is_empty();
        assert!(e.to_string().contains(said) || missed, "{e}");
        let e = DB::open_for_read_only(&fewer, DIR, false).unwrap_err();
        assert!(e.to_string().contains(".sst"), "{e}");
    }
    assert!(content(&open(&o)) == before);
    // As RocksDB does, it looks for files of the paths that there are not in the last one.
    for dir in [FLASH, DISK] {
        for name in files(&fs, dir) {
            let (from, to) = (Path::new(dir).join(&name), Path::new(DIR).join(&name));
            fs.rename(&from, &to).unwrap();
        }
    }
    let db = open(&tiny_on(fs.clone()));
    assert!(content(&db) == before);
    compact(&db);
    assert!(content(&db) == before);
    // A background job may not have deleted its inputs yet.
    until("all tables are in the one path", || {
        live(&db)[Path::new(DIR)] == files(&fs, DIR)
    });
}

#[test]
fn copies_are_refused_when_files_are_elsewhere() {
    let fs = MemFs::new();
    let mut o = options(&fs);
    let db = open(&o);
    db.put("a", "1").unwrap();
    let copy = |db: &Db| Checkpoint::new(db).unwrap().create_checkpoint("/data/copy");
    let e = copy(&db).unwrap_err();
    assert_eq!(e.kind(), ErrorKind::NotSupported);
    assert!(
        e.to_string().contains("db_paths / cf_paths not supported"),
        "{e}"
    );
    assert!(!fs.exists(Path::new("/data/copy")).unwrap());
    let engine = BackupEngineOptions::new("/data/backups").unwrap();
    let mut engine = BackupEngine::open(&engine, &Env::with_fs(Arc::new(fs.clone()))).unwrap();
    let e = engine.create_new_backup_flush(&db, true).unwrap_err();
    assert_eq!(e.kind(), ErrorKind::NotSupported);
    assert!(engine.get_backup_info().is_empty());
    drop(db);
    // With all files in the database's directory, they are made.
    let other = MemFs::new();
    o.set_fs(Arc::new(other.clone()));
    o.set_db_paths(&paths(&[(DIR, 1 << 40), (DISK, 1 << 40)]));
    let db = open(&o);
    db.put("a", "1").unwrap();
    copy(&db).unwrap();
    let copied = open_all(&tiny_on(other), Path::new("/data/copy")).unwrap();
    assert_eq!(copied.get("a").unwrap().as_deref(), Some(&b"1"[..]));
}

#[test]
fn ingested_tables_and_blob_files_are_in_the_first_path() {
    let fs = MemFs::new();
    let mut o = options(&fs);
    o.set_enable_blob_files(true);
    o.set_min_blob_size(50);
    let db = open(&o);
    let mut writer = SstFileWriter::create(&o);
    writer.open("/data/new.sst").unwrap();
    writer.put("ingested", "1").unwrap();
    writer.finish().unwrap();
    db.ingest_external_file(vec!["/data/new.sst"]).unwrap();
    write(&db, 3_000);
    settle(&db);
    let names = files(&fs, FLASH);
    assert!(names.iter().any(|name| name.ends_with(".blob")));
    assert!(files(&fs, DISK).iter().all(|name| name.ends_with(".sst")));
    assert!(files(&fs, DIR).is_empty());
    let before = content(&db);
    assert_eq!(before.len(), 3_001);
    compact(&db);
    drop(db);
    assert!(content(&open(&o)) == before);
}

#[test]
fn readers_find_the_tables_by_their_paths() {
    let fs = MemFs::new();
    let o = options(&fs);
    let db = open(&o);
    write(&db, 20_000);
    settle(&db);
    let before = content(&db);
    let secondary = Db::open_as_secondary(&o, DIR, "/data/secondary").unwrap();
    assert!(content(&secondary) == before);
    db.put("later", "1").unwrap();
    settle(&db);
    secondary.try_catch_up_with_primary().unwrap();
    assert_eq!(content(&secondary).len(), before.len() + 1);
    drop((secondary, db));
    let reader = Db::open_for_read_only(&o, DIR, false).unwrap();
    assert_eq!(content(&reader).len(), before.len() + 1);
    db_is_whole(&reader);
}

fn db_is_whole(db: &Db) {
    db.verify_checksum().unwrap();
}

#[test]
fn destroying_removes_the_paths() {
    let fs = MemFs::new();
    let mut o = options(&fs);
    o.set_cf_paths(&paths(&[("/data/own", 1)]));
    let db = open(&o);
    write(&db, 3_000);
    db.flush().unwrap();
    drop(db);
    assert!(!files(&fs, "/data/own").is_empty());
    let mut kept = fs.create(Path::new("/data/own/notes.txt")).unwrap();
    kept.append(b"not a table").unwrap();
    drop(kept);
    Db::destroy(&o, DIR).unwrap();
    for gone in [DIR, FLASH, DISK] {
        assert!(!fs.exists(Path::new(gone)).unwrap(), "{gone}");
    }
    assert_eq!(fs.list(Path::new("/data/own")).unwrap(), ["notes.txt"]);
    open(&o);
}

#[test]
fn a_repair_finds_tables_in_all_paths() {
    let fs = MemFs::new();
    let mut o = options(&fs);
    let db = open(&o);
    write(&db, 20_000);
    settle(&db);
    // Otherwise a compaction may move all tables to one path.
    db.set_options(&[("disable_auto_compactions", "true")])
        .unwrap();
    o.set_disable_auto_compactions(true);
    write(&db, 100);
    db.flush().unwrap();
    write(&db, 50);
    assert_eq!(live(&db).len(), 2);
    let before = content(&db);
    drop(db);
    fs.remove(&Path::new(DIR).join("CURRENT")).unwrap();
    let e = open_all(&o, Path::new(DIR)).unwrap_err();
    assert_eq!(e.kind(), ErrorKind::Corruption, "{e}");
    Db::repair(&o, DIR).unwrap();
    let db = open(&o);
    assert!(content(&db) == before);
    // It leaves the tables where they are, or writes all of them again to the first path.
    for (dir, names) in live(&db) {
        assert!(names.is_subset(&files(&fs, dir.to_str().unwrap())));
    }
}

/// A database that is lost must not cost the tables that are left.
#[test]
fn a_new_database_does_not_take_paths_that_have_tables() {
    let fs = MemFs::new();
    let o = options(&fs);
    let db = open(&o);
    db.put("a", "1").unwrap();
    db.flush().unwrap();
    drop(db);
    let tables = files(&fs, FLASH);
    let e = open_all(&o, Path::new("/data/new")).unwrap_err();
    assert_eq!(e.kind(), ErrorKind::Corruption);
    assert!(e.to_string().contains("move it away"), "{e}");
    // Nor does it take the directory of another database.
    let mut taken = tiny_on(fs.clone());
    taken.set_db_paths(&paths(&[(DIR, 1 << 40)]));
    let e = open_all(&taken, Path::new("/data/new")).unwrap_err();
    assert_eq!(e.kind(), ErrorKind::InvalidArgument);
    assert!(
        e.to_string().contains("directory of another database"),
        "{e}"
    );
    assert_eq!(files(&fs, FLASH), tables);
    assert_eq!(open(&o).get("a").unwrap().as_deref(), Some(&b"1"[..]));
}

#[test]
fn what_cannot_be_honoured_is_refused() {
    let fs = MemFs::new();
    let mut o = tiny_on(fs.clone());
    let five: Vec<(String, u64)> = (0..5).map(|i| (format!("/data/p{i}"), 1)).collect();
    let five: Vec<(&str, u64)> = five
        .iter()
        .map(|(path, size)| (path.as_str(), *size))
        .collect();
    o.set_db_paths(&paths(&five));
    let e = open_all(&o, Path::new(DIR)).unwrap_err();
    assert_eq!(e.kind(), ErrorKind::NotSupported);
    assert!(e.to_string().contains("More than four DB paths"), "{e}");
    o.set_db_paths(&paths(&five[..2]));
    o.set_compaction_style(DBCompactionStyle::Fifo);
    let e = open_all(&o, Path::new(DIR)).unwrap_err();
    assert_eq!(e.kind(), ErrorKind::NotSupported);
    assert!(e.to_string().contains("More than one DB paths"), "{e}");
    assert!(!fs.exists(Path::new("/data/p0")).unwrap());
    o.set_db_paths(&paths(&five[..1]));
    open(&o);
    assert!(DBPath::new("a\0b", 1).is_err());
}

/// The names of tables are durable before the manifest has them: a path whose sync fails stops
/// the database, as its own directory does.
#[test]
fn a_path_that_cannot_be_synced_stops_the_database() {
    let fs = MemFs::new();
    let faults = Arc::new(FaultFs::new(Arc::new(fs.clone())));
    let mut o = options(&fs);
    o.set_fs(faults.clone());
    let db = open(&o);
    db.put("a", "1").unwrap();
    let rule = Rule::nth(OpSet::of(&[FaultOp::SyncDir]), 1);
    let rule = faults.add_rule(rule);
    let e = db.flush().unwrap_err();
    faults.remove_rule(rule);
    assert_eq!(e.file(), Some(Path::new(FLASH)), "{e}");
    assert!(db.put("b", "2").is_err());
    drop(db);
    let cut = fs.crash_clone(1.0, 1);
    let db = open(&options(&cut));
    assert_eq!(db.get("a").unwrap().as_deref(), Some(&b"1"[..]));
}
