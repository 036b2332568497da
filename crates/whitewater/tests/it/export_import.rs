//! Column families that move from one database into another.

use crate::harness::{DIR, Db, open_all, tiny_on};
use parking_lot::Mutex;
use std::collections::BTreeMap;
use std::path::Path;
use std::sync::Arc;
use whitewater::checkpoint::Checkpoint;
use whitewater::fs::Fs;
use whitewater::fs::fault::{FaultFs, OpSet, Rule};
use whitewater::fs::mem::MemFs;
use whitewater::{
    ErrorKind, ExportImportFilesMetaData, ImportColumnFamilyOptions, IteratorMode,
    LiveFileMetaData, Options, WaitForCompactOptions,
};

const THERE: &str = "/data/there";
const EXPORT: &str = "/data/export";

type Pairs = BTreeMap<Vec<u8>, Vec<u8>>;

fn file_system() -> MemFs {
    let fs = MemFs::new();
    fs.create_dir_all(Path::new("/data")).unwrap();
    fs.sync_dir(Path::new("/")).unwrap();
    fs
}

fn content(db: &Db, family: &str) -> Pairs {
    let cf = db.cf_handle(family).unwrap();
    let all = db.iterator_cf(&cf, IteratorMode::Start).map(Result::unwrap);
    all.map(|(k, v)| (k.to_vec(), v.to_vec())).collect()
}

/// A database with a column family `one` that has tables in level 0 and in the last level, all
/// kinds of entries and a memtable.
fn filled(options: &Options) -> Db {
    let db = open_all(options, Path::new(DIR)).unwrap();
    db.create_cf("one", options).unwrap();
    let one = db.cf_handle("one").unwrap();
    for round in 0..6u8 {
        for i in 0..1_000u32 {
            let key = (i * 7919 % 2_000).to_be_bytes();
            db.put_cf(&one, key, [round; 60]).unwrap();
            db.put(key, [round; 30]).unwrap();
        }
        let (from, to) = (u32::from(round) * 100, u32::from(round) * 100 + 50);
        db.delete_range_cf(&one, from.to_be_bytes(), to.to_be_bytes())
            .unwrap();
        db.delete_cf(&one, (from + 60).to_be_bytes()).unwrap();
        db.flush_cf(&one).unwrap();
        if round == 4 {
            // What compactions of their own leave depends on when they run.
            db.compact_range_cf(&one, None::<&[u8]>, None::<&[u8]>);
            db.set_options_cf(&one, &[("disable_auto_compactions", "true")])
                .unwrap();
        }
    }
    db.wait_for_compact(&WaitForCompactOptions::default())
        .unwrap();
    for i in 1..200u32 {
        db.put_cf(&one, (i * 10).to_be_bytes(), b"newest").unwrap();
    }
    drop(one);
    db
}

fn export(db: &Db, family: &str, to: &str) -> ExportImportFilesMetaData {
    let cf = db.cf_handle(family).unwrap();
    let checkpoint = Checkpoint::new(db).unwrap();
    checkpoint.export_column_family(&cf, to).unwrap()
}

fn import(
    db: &Db,
    options: &Options,
    move_files: bool,
    exports: &[&ExportImportFilesMetaData],
) -> Result<(), whitewater::Error> {
    let mut how = ImportColumnFamilyOptions::new();
    how.set_move_files(move_files);
    db.create_column_family_with_imports(options, "new", &how, exports)
}

#[test]
fn an_imported_column_family_has_what_was_exported() {
    for (moves, bounds_known) in [(false, true), (true, true), (false, false)] {
        let fs = file_system();
        let o = tiny_on(fs.clone());
        let here = filled(&o);
        let then = content(&here, "one");
        let mut exported = export(&here, "one", EXPORT);
        assert_eq!(
            exported.get_db_comparator_name(),
            "leveldb.BytewiseComparator"
        );
        assert!(!fs.exists(Path::new("/data/export.tmp")).unwrap());
        let levels = exported.get_files().iter().map(|file| file.level);
        assert!(
            levels.clone().min() < levels.clone().max(),
            "one level only"
        );
        // The export stands by itself.
        let one = here.cf_handle("one").unwrap();
        here.put_cf(&one, b"later", b"1").unwrap();
        here.compact_range_cf(&one, None::<&[u8]>, None::<&[u8]>);
        let newest = here.latest_sequence_number();
        if !bounds_known {
            let mut files = exported.get_files().to_vec();
            for file in &mut files {
                file.smallest.clear();
                file.largest.clear();
            }
            exported.set_files(files);
        }

        let there = open_all(&o, Path::new(THERE)).unwrap();
        there.put(b"own", b"1").unwrap();
        import(&there, &o, moves, &[&exported]).unwrap();
        assert_eq!(content(&there, "new"), then);
        // A snapshot from now on sees it, and numbers go on above its own.
        let numbers = exported.get_files().iter().map(|file| file.largest_seqno);
        assert_eq!(there.latest_sequence_number(), numbers.max().unwrap());
        assert!(there.latest_sequence_number() < newest);
        let snapshot = there.snapshot();
        let new = there.cf_handle("new").unwrap();
        let (first, _) = then.first_key_value().unwrap();
        there.put_cf(&new, first, b"overwritten").unwrap();
        assert_eq!(
            snapshot.get_cf(&new, first).unwrap().as_ref(),
            then.get(first)
        );
        assert_eq!(there.get_cf(&new, first).unwrap().unwrap(), b"overwritten");
        drop(snapshot);
        let mut now = then.clone();
        now.insert(first.clone(), b"overwritten".to_vec());
        there.compact_range_cf(&new, None::<&[u8]>, None::<&[u8]>);
        assert_eq!(content(&there, "new"), now);
        // Copies leave the export as it was; moved tables are gone from it.
        let left = fs.list(Path::new(EXPORT)).unwrap().len();
        assert_eq!(left, if moves { 0 } else { exported.get_files().len() });
        drop(new);
        drop(there);
        let cut = fs.crash_clone(0.0, 1);
        for fs in [fs, cut] {
            let there = open_all(&tiny_on(fs), Path::new(THERE)).unwrap();
            assert_eq!(there.get(b"own").unwrap().unwrap(), b"1");
            let mut found = content(&there, "new");
            // This write was not synced.
            found.insert(first.clone(), b"overwritten".to_vec());
            assert_eq!(found, now);
        }
    }
}

/// Each database counts for itself: the same numbers, other entries.
#[test]
fn several_exports_become_one_column_family() {
    let fs = file_system();
    let o = tiny_on(fs.clone());
    let mut all = Pairs::new();
    let mut exports = Vec::new();
    for part in 0..3u8 {
        let dir = format!("/data/part{part}");
        let db = open_all(&o, Path::new(&dir)).unwrap();
        db.create_cf("one", &o).unwrap();
        let one = db.cf_handle("one").unwrap();
        for round in 0..3u8 {
            for i in 0..50u8 {
                db.put_cf(&one, [part, i], [round; 20]).unwrap();
                all.insert(vec![part, i], vec![round; 20]);
            }
            db.flush_cf(&one).unwrap();
        }
        drop(one);
        exports.push(export(&db, "one", &format!("/data/export{part}")));
    }
    let there = open_all(&o, Path::new(THERE)).unwrap();
    let [a, b, c] = &exports[..] else {
        panic!("three exports");
    };
    import(&there, &o, false, &[c, a, b]).unwrap();
    assert_eq!(content(&there, "new"), all);
    let new = there.cf_handle("new").unwrap();
    there.compact_range_cf(&new, None::<&[u8]>, None::<&[u8]>);
    assert_eq!(content(&there, "new"), all);

    let how = ImportColumnFamilyOptions::new();
    let e = there
        .create_column_family_with_imports(&o, "twice", &how, &[a, b, a])
        .unwrap_err();
    assert_eq!(e.kind(), ErrorKind::InvalidArgument);
    assert!(e.to_string().contains("CFs have overlapping ranges"), "{e}");
}

#[test]
fn an_import_that_is_refused_leaves_nothing() {
    let fs = file_system();
    let o = tiny_on(fs.clone());
    let here = filled(&o);
    let good = export(&here, "one", EXPORT);
    let one = here.cf_handle("one").unwrap();
    let again = Checkpoint::new(&here)
        .unwrap()
        .export_column_family(&one, EXPORT)
        .unwrap_err();
    assert!(
        again.to_string().contains("Specified export_dir exists"),
        "{again}"
    );
    let there = open_all(&o, Path::new(THERE)).unwrap();
    let names = || {
        let mut names = fs.list(Path::new(THERE)).unwrap();
        names.retain(|name| name.ends_with(".sst"));
        names
    };
    let refused = |change: &dyn Fn(&mut LiveFileMetaData), kind: ErrorKind, why: &str| {
        let mut bad = good.clone();
        let mut files = good.get_files().to_vec();
        change(files.last_mut().unwrap());
        bad.set_files(files);
        let outcome = import(&there, &o, true, &[&bad]);
        let e = outcome.expect_err(why);
        assert_eq!(e.kind(), kind, "{e}");
        assert!(e.to_string().contains(why), "{e}");
        assert!(there.cf_handle("new").is_none());
        assert_eq!(names(), [""; 0]);
    };
    refused(
        &|f| f.size += 1,
        ErrorKind::Corruption,
        "where the export says",
    );
    refused(&|f| f.level = 99, ErrorKind::InvalidArgument, "num_levels");
    refused(
        &|f| f.name = "/none.sst".into(),
        ErrorKind::IOError,
        "none.sst",
    );
    refused(
        &|f| f.smallest_seqno = f.largest_seqno + 1,
        ErrorKind::InvalidArgument,
        "sequence numbers",
    );
    refused(
        &|f| f.largest = vec![1],
        ErrorKind::Corruption,
        "internal key",
    );
    let swap = |f: &mut LiveFileMetaData| std::mem::swap(&mut f.smallest, &mut f.largest);
    refused(&swap, ErrorKind::Corruption, "File has corrupted keys");

    let how = ImportColumnFamilyOptions::new();
    let mut other = good.clone();
    other.set_db_comparator_name("mine");
    let e = import(&there, &o, true, &[&other]).unwrap_err();
    assert!(e.to_string().contains("Comparator name mismatch"), "{e}");
    let mut empty = good.clone();
    empty.set_files(Vec::new());
    for none in [vec![], vec![&empty], vec![&good, &empty]] {
        let e = import(&there, &o, true, &none).unwrap_err();
        assert!(e.to_string().contains("The list of files is empty"), "{e}");
    }
    let e = there
        .create_column_family_with_import(&o, "default", &how, &good)
        .unwrap_err();
    assert!(e.to_string().contains("already exists"), "{e}");
    assert_eq!(
        fs.list(Path::new(EXPORT)).unwrap().len(),
        good.get_files().len()
    );
    // After all of this it can be imported.
    import(&there, &o, true, &[&good]).unwrap();
    assert_eq!(content(&there, "new"), content(&here, "one"));
}

/// A power cut at any sync of an import leaves the column family with all of its tables or none,
/// and whatever was acknowledged.
#[test]
fn a_power_cut_leaves_an_import_whole_or_undone() {
    for moves in [false, true] {
        let fs = file_system();
        let o = tiny_on(fs.clone());
        let here = filled(&o);
        let then = content(&here, "one");
        let exported = export(&here, "one", EXPORT);
        let there = open_all(&o, Path::new(THERE)).unwrap();
        there.put(b"before", b"1").unwrap();
        there.flush_wal(true).unwrap();
        there.put(b"not synced", b"1").unwrap();
        let cuts = Arc::new(Mutex::new(Vec::new()));
        let (noted, source) = (cuts.clone(), fs.clone());
        fs.set_sync_hook(Arc::new(move |at| {
            for keep in [0.0, 0.5, 1.0] {
                noted.lock().push(source.crash_clone(keep, at.index));
            }
        }));
        import(&there, &o, moves, &[&exported]).unwrap();
        fs.clear_sync_hook();
        cuts.lock().push(fs.crash_clone(0.0, 4));
        let cuts = std::mem::take(&mut *cuts.lock());
        let (mut undone, mut whole) = (0, 0);
        let last = cuts.len() - 1;
        for (i, cut) in cuts.into_iter().enumerate() {
            let o = tiny_on(cut.clone());
            let db = open_all(&o, Path::new(THERE)).unwrap();
            assert_eq!(db.get(b"before").unwrap().unwrap(), b"1");
            match db.cf_handle("new") {
                Some(_) => {
                    assert_eq!(content(&db, "new"), then, "cut {i}");
                    // What was written before the import is not lost without it.
                    assert!(db.get(b"not synced").unwrap().is_some(), "cut {i}");
                    whole += 1;
                }
                None => {
                    assert_ne!(i, last, "an acknowledged import is lost");
                    // It can be done again, from the same tables.
                    import(&db, &o, moves, &[&exported]).unwrap();
                    assert_eq!(content(&db, "new"), then, "cut {i}");
                    undone += 1;
                }
            }
        }
        assert!(undone > 0 && whole > 0, "{undone} undone, {whole} whole");
    }
}

/// A failure of any change to files leaves the column family whole or absent, and the next attempt
/// succeeds.
#[test]
fn a_failed_import_can_be_done_again() {
    let fs = file_system();
    let o = tiny_on(fs.clone());
    let here = filled(&o);
    let then = content(&here, "one");
    drop(open_all(&o, Path::new(THERE)).unwrap());
    let exported = export(&here, "one", EXPORT);
    drop(here);
    let begin = fs.crash_clone(1.0, 0);
    let mut failures = 0;
    for nth in 1.. {
        let fs = begin.crash_clone(1.0, nth);
        let faults = FaultFs::new(Arc::new(fs.clone()));
        let there = open_all(&tiny_on(faults.clone()), Path::new(THERE)).unwrap();
        faults.add_rule(Rule::nth(OpSet::WRITES, nth));
        let moves = nth % 2 == 0;
        let outcome = import(&there, &tiny_on(fs.clone()), moves, &[&exported]);
        let injected = faults.injected().len();
        faults.clear_rules();
        failures += u32::from(outcome.is_err());
        drop(there);
        let o = tiny_on(fs.clone());
        let there = open_all(&o, Path::new(THERE)).unwrap();
        if there.cf_handle("new").is_none() {
            assert!(outcome.is_err(), "an acknowledged import is lost");
            import(&there, &o, true, &[&exported]).unwrap();
        }
        assert_eq!(content(&there, "new"), then, "failure of operation {nth}");
        if injected == 0 {
            break;
        }
    }
    assert!(failures > 5, "{failures} failures");
}

#[test]
fn what_an_import_could_not_restore_is_not_exported() {
    let fs = file_system();
    let mut o = tiny_on(fs.clone());
    o.set_enable_blob_files(true);
    o.set_min_blob_size(10);
    let db = open_all(&o, Path::new(DIR)).unwrap();
    let cf = db.cf_handle("default").unwrap();
    db.put(b"key", [1; 100]).unwrap();
    let checkpoint = Checkpoint::new(&db).unwrap();
    let e = checkpoint.export_column_family(&cf, EXPORT).unwrap_err();
    assert_eq!(e.kind(), ErrorKind::NotSupported, "{e}");
    assert!(e.to_string().contains("blob files"), "{e}");
    assert!(!fs.exists(Path::new(EXPORT)).unwrap());
    // Nothing to export is an export, too, as in RocksDB; but nothing that could be imported.
    db.create_cf("empty", &o).unwrap();
    let empty = db.cf_handle("empty").unwrap();
    let exported = checkpoint.export_column_family(&empty, EXPORT).unwrap();
    assert!(exported.get_files().is_empty());
    let e = import(&db, &o, false, &[&exported]).unwrap_err();
    assert!(e.to_string().contains("The list of files is empty"), "{e}");
}
