//! The space of tables and blob files, its limit, and slow deletion (`SstFileManager`).

use crate::harness::{DIR, Db, open_all, sizes_in, tiny_unattended, until, watched};
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;
use whitewater::checkpoint::Checkpoint;
use whitewater::fs::Fs;
use whitewater::fs::fault::{Fault, FaultFs, FaultOp, OpSet, PathMatch, Rule, When};
use whitewater::fs::mem::MemFs;
use whitewater::statistics::Ticker;
use whitewater::{
    BottommostLevelCompaction, CompactOptions, DB, DBPath, ErrorKind, Options, Severity,
    SstFileManager,
};
use whitewater_concurrent::system;

fn options(fs: impl Fs, manager: &SstFileManager) -> Options {
    let mut o = tiny_unattended();
    o.set_fs(Arc::new(fs));
    o.set_sst_file_manager(manager);
    o.set_bgerror_resume_retry_interval(64);
    o.set_disable_auto_compactions(true);
    o.set_compression_type(whitewater::DBCompressionType::None);
    o
}

fn open(o: &Options) -> Db {
    open_all(o, Path::new(DIR)).unwrap()
}

/// Writes keys of round `n`, and flushes.
fn fill(db: &Db, n: u8) {
    for i in 0..20_u8 {
        db.put([i], vec![n; 1000]).unwrap();
    }
    db.flush().unwrap();
}

fn assert_holds(db: &Db, n: u8) {
    for i in 0..20_u8 {
        assert_eq!(db.get([i]).unwrap(), Some(vec![n; 1000]), "{i}");
    }
}

fn compact(db: &Db) -> Result<(), whitewater::Error> {
    let cf = db.cf_handle("default").unwrap();
    let how = CompactOptions::default();
    db.try_compact_range_cf_opt(&cf, None::<&[u8]>, None::<&[u8]>, &how)
}

/// The size of the tables in `dir`.
fn size_in(fs: &MemFs, dir: &Path) -> u64 {
    let tables = sizes_in(fs, dir, |name| name.ends_with(".sst"));
    tables.iter().sum()
}

#[test]
fn files_in_all_paths_are_tracked_and_their_trash_goes_with_the_database() {
    let (fs, other) = (MemFs::new(), Path::new("/other"));
    // A byte per second: after the first file, nothing is deleted while the test runs.
    let manager = SstFileManager::with_deletion(1, 100.0, 0);
    let mut o = options(fs.clone(), &manager);
    o.enable_statistics();
    o.set_db_paths(&[
        DBPath::new(DIR, 100_000_000).unwrap(),
        DBPath::new(other, 100_000_000).unwrap(),
    ]);
    let db = open(&o);
    let cf = db.cf_handle("default").unwrap();
    for n in 1..4 {
        fill(&db, n);
        let mut how = CompactOptions::default();
        how.set_target_path_id(1);
        how.set_bottommost_level_compaction(BottommostLevelCompaction::Force);
        (db.try_compact_range_cf_opt(&cf, None::<&[u8]>, None::<&[u8]>, &how)).unwrap();
    }
    until("the first file is deleted", || {
        o.get_ticker_count(Ticker::FilesDeletedFromTrashQueue) == 1
    });
    let trash_in = |dir: &Path| {
        let names = fs.list(dir).unwrap().into_iter();
        names.filter(|name| name.ends_with(".trash")).count()
    };
    assert!(trash_in(Path::new(DIR)) > 0 && trash_in(other) > 0);
    assert!(size_in(&fs, other) > 0);
    let tables = size_in(&fs, Path::new(DIR)) + size_in(&fs, other);
    let trash = manager.get_total_trash_size();
    assert_eq!(manager.get_total_size(), tables + trash);
    drop(cf);
    drop(db);
    assert_eq!(manager.get_total_size(), trash, "only trash is left");
    DB::destroy(&o, DIR).unwrap();
    for dir in [Path::new(DIR), other] {
        assert!(!fs.exists(dir).unwrap(), "{}", dir.display());
    }
}

#[test]
fn databases_share_a_manager() {
    let (fs, manager) = (MemFs::new(), SstFileManager::new());
    let o = options(fs.clone(), &manager);
    let (a, b) = (Path::new("/a"), Path::new("/b"));
    let dbs = [open_all(&o, a).unwrap(), open_all(&o, b).unwrap()];
    for db in &dbs {
        (1..4).for_each(|n| fill(db, n));
    }
    assert_eq!(manager.get_total_size(), size_in(&fs, a) + size_in(&fs, b));
    compact(&dbs[0]).unwrap();
    assert_eq!(manager.get_total_size(), size_in(&fs, a) + size_in(&fs, b));
    let count = |dir| {
        fs.list(dir)
            .unwrap()
            .iter()
            .filter(|n| n.ends_with(".sst"))
            .count()
    };
    assert_eq!(manager.get_tracked_files().len(), count(a) + count(b));
    drop(dbs);
    assert_eq!(manager.get_total_size(), 0);
    let db = open_all(&o, a).unwrap();
    assert_eq!(manager.get_total_size(), size_in(&fs, a));
    assert_holds(&db, 3);
}

#[test]
fn writes_stop_at_the_limit_and_go_on_below_it() {
    watched("limit", 120, || {
        let (fs, manager) = (MemFs::new(), SstFileManager::new());
        let db = open(&options(fs, &manager));
        fill(&db, 1);
        manager.set_max_allowed_space_usage(manager.get_total_size() + 1000);
        for i in 0..20_u8 {
            db.put([i], [2; 1000]).unwrap();
        }
        // The flush itself is done, and returns before the limit is looked at.
        let _ = db.flush();
        let _ = db.wait_for_compact(&Default::default());
        assert!(manager.is_max_allowed_space_reached());
        for _ in 0..20 {
            let e = db.put("refused", "1").unwrap_err();
            assert!(e.is_space_limit(), "{e}");
            let all = (e.kind(), e.severity());
            assert_eq!(all, (ErrorKind::IOError, Severity::HardError));
            system::sleep(Duration::from_micros(200));
        }
        assert_holds(&db, 2);
        manager.set_max_allowed_space_usage(0);
        while db.put("again", "1").is_err() {
            system::sleep(Duration::from_micros(200));
        }
        assert_eq!(db.get("refused"), Ok(None));
        assert_holds(&db, 2);
        fill(&db, 3);
        assert_holds(&db, 3);
    });
}

#[test]
fn a_compaction_without_room_does_not_begin() {
    let (fs, manager) = (MemFs::new(), SstFileManager::new());
    let mut o = options(fs, &manager);
    o.enable_statistics();
    let db = open(&o);
    (1..4).for_each(|n| fill(&db, n));
    manager.set_max_allowed_space_usage(manager.get_total_size() + 1000);
    let e = compact(&db).unwrap_err();
    assert_eq!(e.kind(), ErrorKind::CompactionTooLarge, "{e}");
    assert_eq!(o.get_ticker_count(Ticker::CompactionCancelled), 1);
    assert!(!manager.is_max_allowed_space_reached_including_compactions());
    db.put("k", "v").unwrap();
    manager.set_max_allowed_space_usage(0);
    compact(&db).unwrap();
    assert_holds(&db, 3);
}

/// It is tried again, however often, and nothing has failed.
#[test]
fn an_automatic_compaction_waits_for_room() {
    watched("room", 120, || {
        let (fs, manager) = (MemFs::new(), SstFileManager::new());
        let mut o = options(fs, &manager);
        o.set_disable_auto_compactions(false);
        o.set_max_bgerror_resume_count(0);
        o.enable_statistics();
        let db = open(&o);
        fill(&db, 1);
        manager.set_max_allowed_space_usage(manager.get_total_size() * 5 / 2);
        fill(&db, 2);
        while o.get_ticker_count(Ticker::CompactionCancelled) < 3 {
            system::sleep(Duration::from_micros(200));
        }
        db.put("k", "v").unwrap();
        let errors = db.property_int_value("rocksdb.background-errors");
        assert_eq!(errors, Ok(Some(0)));
        manager.set_max_allowed_space_usage(0);
        db.wait_for_compact(&Default::default()).unwrap();
        let level0 = db.property_value("rocksdb.num-files-at-level0");
        assert_eq!(level0.unwrap().as_deref(), Some("0"));
        assert_holds(&db, 2);
    });
}

#[test]
fn a_database_waits_for_free_space_before_it_resumes() {
    watched("free space", 120, || {
        let (mem, manager) = (MemFs::new(), SstFileManager::new());
        let faulty = FaultFs::new(Arc::new(mem));
        let db = open(&options(faulty.clone(), &manager));
        fill(&db, 1);
        faulty.set_free_space(Some(100));
        faulty.add_rule(Rule {
            ops: OpSet::of(&[FaultOp::Append]),
            path: PathMatch::EndsWith(".log".to_owned()),
            when: When::Nth(1),
            fault: Fault::Enospc,
            sticky: false,
        });
        db.put("k", "v").unwrap_err();
        let made = faulty.count(FaultOp::Create);
        for _ in 0..50 {
            assert!(db.put("k", "v").unwrap_err().is_no_space());
            system::sleep(Duration::from_micros(200));
        }
        assert_eq!(faulty.count(FaultOp::Create), made, "it has tried");
        faulty.set_free_space(Some(1 << 40));
        while db.put("k", "v").is_err() {
            system::sleep(Duration::from_micros(200));
        }
        assert_holds(&db, 1);
    });
}

/// At every moment of slow deletions, a power cut and the death of the process leave a database
/// that holds everything, and whose next opening leaves no trash.
#[test]
fn slow_deletions_may_be_cut_at_any_moment() {
    watched("cuts", 300, || {
        let fs = MemFs::new();
        let manager = SstFileManager::with_deletion(1 << 40, 1.0, 4000);
        let o = options(fs.clone(), &manager);
        let db = open(&o);
        let copies = Arc::new(std::sync::Mutex::new(Vec::new()));
        (1..4).for_each(|n| fill(&db, n));
        let faults = FaultFs::new(Arc::new(fs.clone()));
        drop(db);
        let (seen, mem) = (copies.clone(), fs.clone());
        faults.set_observer(Arc::new(move |op, path: &Path| {
            let is_trash = path.extension().is_some_and(|end| end == "trash");
            if is_trash && matches!(op, FaultOp::Rename | FaultOp::Truncate | FaultOp::Remove) {
                let mut seen = seen.lock().unwrap();
                let n = seen.len() as u64;
                let all = [
                    mem.after_kill(),
                    mem.crash_clone(0.0, n),
                    mem.crash_clone(0.5, n),
                ];
                seen.push(all);
            }
        }));
        let o = options(faults.clone(), &manager);
        let db = open(&o);
        compact(&db).unwrap();
        manager.wait_for_empty_trash();
        assert_eq!(manager.get_total_trash_size(), 0);
        assert_eq!(manager.get_total_size(), size_in(&fs, Path::new(DIR)));
        faults.set_observer(Arc::new(|_, _| ()));
        let copies = std::mem::take(&mut *copies.lock().unwrap());
        assert!(copies.len() > 10, "{}", copies.len());
        for copy in copies.into_iter().flatten() {
            for manager in [
                None,
                Some(SstFileManager::with_deletion(1 << 40, 1.0, 4000)),
            ] {
                let left = copy.after_kill();
                let mut o = tiny_unattended();
                o.set_fs(Arc::new(left.clone()));
                if let Some(manager) = &manager {
                    o.set_sst_file_manager(manager);
                }
                let db = open(&o);
                assert_holds(&db, 3);
                if let Some(manager) = &manager {
                    manager.wait_for_empty_trash();
                }
                let names = left.list(Path::new(DIR)).unwrap();
                assert!(
                    names.iter().all(|name| !name.ends_with(".trash")),
                    "{names:?}"
                );
            }
        }
    });
}

#[test]
fn a_checkpoint_keeps_files_that_are_deleted_slowly() {
    let fs = MemFs::new();
    let manager = SstFileManager::with_deletion(1 << 40, 1.0, 1000);
    let mut o = options(fs.clone(), &manager);
    o.enable_statistics();
    let db = open(&o);
    (1..4).for_each(|n| fill(&db, n));
    let copy = Path::new("/copy");
    Checkpoint::new(&db)
        .unwrap()
        .create_checkpoint(copy)
        .unwrap();
    compact(&db).unwrap();
    manager.wait_for_empty_trash();
    assert_eq!(o.get_ticker_count(Ticker::FilesMarkedTrash), 3);
    assert_eq!(o.get_ticker_count(Ticker::FilesDeletedFromTrashQueue), 3);
    assert_eq!(o.get_ticker_count(Ticker::FilesDeletedImmediately), 0);
    let mut plain = tiny_unattended();
    plain.set_fs(Arc::new(fs));
    let copied = DB::open(&plain, copy).unwrap();
    for i in 0..20_u8 {
        assert_eq!(copied.get([i]).unwrap(), Some(vec![3; 1000]), "{i}");
    }
    assert_holds(&db, 3);
}
