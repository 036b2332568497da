//! Backups: made, listed, verified, deleted and restored.
//!
//! `excluded`: backups that leave files out. `kinds`: databases with transactions. `sharing`: files that several backups have. `damage`:
//! damaged directories, and failing file operations. `cuts`: power cuts. `restores`: ways to
//! restore.

mod cuts;
mod damage;
mod excluded;
mod kinds;
mod restores;
mod sharing;

use crate::harness::{DIR, Db, open_all, protocols, tiny_on};
use std::collections::BTreeMap;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use whitewater::backup::{BackupEngine, BackupEngineOptions, CreateBackupOptions, RestoreOptions};
use whitewater::fs::Fs;
use whitewater::fs::mem::MemFs;
use whitewater::{Env, ErrorKind, IteratorMode, Options, WriteBatch, WriteOptions};

const BACKUPS: &str = "/data/backups";
const RESTORED: &str = "/data/restored";

type Content = BTreeMap<(String, Vec<u8>), Vec<u8>>;

/// The content of all column families.
fn content(db: &Db, options: &Options) -> Content {
    let mut all = Content::new();
    for name in Db::list_cf(options, db.path()).unwrap() {
        let family = db.cf_handle(&name).unwrap();
        for entry in db.iterator_cf(&family, IteratorMode::Start) {
            let (key, value) = entry.unwrap();
            all.insert((name.clone(), key.into()), value.into());
        }
    }
    all
}

fn engine_options() -> BackupEngineOptions {
    BackupEngineOptions::new(BACKUPS).unwrap()
}

fn engine_on(fs: &MemFs) -> BackupEngine {
    engine_with(fs, &engine_options())
}

fn engine_with(fs: &MemFs, options: &BackupEngineOptions) -> BackupEngine {
    BackupEngine::open(options, &env(fs)).unwrap()
}

fn env(fs: &MemFs) -> Env {
    Env::with_fs(crate::harness::seam::planted_in(Arc::new(fs.clone())))
}

/// The content of a backup, restored to a directory of its own.
fn restored(engine: &mut BackupEngine, fs: &MemFs, id: u32) -> Content {
    engine
        .restore_from_backup(RESTORED, RESTORED, &RestoreOptions::default(), id)
        .unwrap();
    opened(fs, RESTORED)
}

fn opened(fs: &MemFs, dir: &str) -> Content {
    let options = tiny_on(fs.clone());
    content(&open_all(&options, Path::new(dir)).unwrap(), &options)
}

/// All files below a directory, by their paths in it.
fn files_in(fs: &MemFs, dir: &str) -> Vec<String> {
    let mut found = Vec::new();
    for name in fs.list(Path::new(dir)).unwrap() {
        let path = format!("{dir}/{name}");
        match fs.list(Path::new(&path)) {
            Ok(_) => {
                let below = files_in(fs, &path).into_iter();
                found.extend(below.map(|below| format!("{name}/{below}")));
            }
            Err(_) => found.push(name),
        }
    }
    found.sort();
    found
}

/// The files that a directory should have: metadata, and what they name.
fn files_named(engine: &BackupEngine) -> Vec<String> {
    let mut named = Vec::new();
    for backup in engine.get_backup_info() {
        named.push(format!("meta/{}", backup.backup_id));
        let files = engine.get_backup_files(backup.backup_id).unwrap();
        named.extend(files.into_iter().map(|file| file.relative_filename));
    }
    named.sort();
    named.dedup();
    named
}

/// Writes to two column families; tables and logs have some of it.
fn fill(db: &Db, options: &Options, round: u32) {
    if db.cf_handle("two").is_none() {
        db.create_cf("two", options).unwrap();
    }
    let two = db.cf_handle("two").unwrap();
    for i in 0..400u32 {
        let value = [round as u8; 100];
        db.put((round * 131 + i).to_be_bytes(), value).unwrap();
        db.put_cf(&two, (i % 50).to_be_bytes(), value).unwrap();
        if i == 300 {
            db.flush().unwrap();
        }
    }
    db.delete((round * 131).to_be_bytes()).unwrap();
}

#[test]
fn a_backup_restores_what_the_database_held_then() {
    for flush in [false, true] {
        let fs = MemFs::new();
        let options = tiny_on(fs.clone());
        let db = open_all(&options, Path::new(DIR)).unwrap();
        let mut engine = engine_on(&fs);
        let mut then = Vec::new();
        for round in 0..4 {
            fill(&db, &options, round);
            then.push(content(&db, &options));
            engine.create_new_backup_flush(&db, flush).unwrap();
        }
        db.compact_range(None::<&[u8]>, None::<&[u8]>);
        let info = engine.get_backup_info();
        let ids: Vec<u32> = info.iter().map(|info| info.backup_id).collect();
        assert_eq!(ids, [1, 2, 3, 4]);
        assert!(
            info.iter()
                .all(|i| i.size > 10_000 && i.num_files >= 5 && i.timestamp > 0)
        );
        // Another engine finds the same.
        let mut other = engine_on(&fs);
        assert_eq!(other.get_backup_info(), info);
        assert!(other.get_corrupted_backups().is_empty());
        for (id, then) in (1..).zip(&then) {
            for engine in [&mut engine, &mut other] {
                engine.verify_backup(id).unwrap();
                engine.verify_backup_with_checksum(id).unwrap();
                assert_eq!(restored(engine, &fs, id), *then, "backup {id}");
            }
        }
        let how = RestoreOptions::default();
        engine
            .restore_from_latest_backup(RESTORED, RESTORED, &how)
            .unwrap();
        assert_eq!(opened(&fs, RESTORED), then[3]);
        // The original goes on.
        assert_eq!(content(&db, &options), then[3]);
        let e = engine
            .restore_from_backup(RESTORED, RESTORED, &how, 5)
            .unwrap_err();
        assert_eq!(e.kind(), ErrorKind::NotFound, "{e}");
        assert_eq!(opened(&fs, RESTORED), then[3], "nothing was changed");
    }
}

#[test]
fn only_flushed_writes_without_a_log_are_in_a_backup() {
    let fs = MemFs::new();
    let options = tiny_on(fs.clone());
    let db = open_all(&options, Path::new(DIR)).unwrap();
    let mut unlogged = WriteOptions::default();
    unlogged.disable_wal(true);
    db.put_opt("key", "value", &unlogged).unwrap();
    let mut engine = engine_on(&fs);
    engine.create_new_backup(&db).unwrap();
    engine.create_new_backup_flush(&db, true).unwrap();
    assert_eq!(restored(&mut engine, &fs, 1).len(), 0);
    assert_eq!(restored(&mut engine, &fs, 2).len(), 1);
}

/// Batches count up in two families. Each backup holds a prefix of them, with all that was
/// acknowledged before it began.
#[test]
fn a_backup_beside_writers_is_one_moment() {
    for protocol in protocols() {
        let fs = MemFs::new();
        let mut options = tiny_on(fs.clone());
        options.set_commit_protocol(protocol);
        let db = open_all(&options, Path::new(DIR)).unwrap();
        db.create_cf("two", &options).unwrap();
        let two = db.cf_handle("two").unwrap();
        let done = AtomicBool::new(false);
        let acked = [const { AtomicU64::new(0) }; 3];
        let mut engine_options = engine_options();
        engine_options.set_max_background_operations(3);
        let mut engine = engine_with(&fs, &engine_options);
        std::thread::scope(|scope| {
            for (w, acked) in acked.iter().enumerate() {
                let (db, two, done) = (&db, &two, &done);
                scope.spawn(move || {
                    for n in 1u64.. {
                        if done.load(Ordering::SeqCst) {
                            break;
                        }
                        let mut batch = WriteBatch::default();
                        let key = [&[w as u8], &n.to_be_bytes()[..]].concat();
                        batch.put(&key, [1; 60]);
                        batch.put_cf(two, &key, [2; 60]);
                        db.write(batch).unwrap();
                        acked.store(n, Ordering::SeqCst);
                    }
                });
            }
            for round in 1..9u32 {
                let before: Vec<u64> = acked.iter().map(|a| a.load(Ordering::SeqCst)).collect();
                engine.create_new_backup_flush(&db, round % 2 == 0).unwrap();
                let found = restored(&mut engine, &fs, round);
                for family in ["default", "two"] {
                    for (w, least) in before.iter().enumerate() {
                        let own = found.keys().filter(|(f, k)| f == family && k[0] == w as u8);
                        let numbers: Vec<u64> = own
                            .map(|(_, k)| u64::from_be_bytes(k[1..].try_into().unwrap()))
                            .collect();
                        let last = numbers.len() as u64;
                        assert_eq!(numbers, (1..=last).collect::<Vec<_>>(), "{protocol}");
                        assert!(last >= *least, "{protocol}: {last} of {least}");
                    }
                }
                assert_eq!(found.len() % 2, 0, "{protocol}: batches are whole");
            }
            done.store(true, Ordering::SeqCst);
        });
    }
}

#[test]
fn what_the_application_adds_is_kept_with_the_backup() {
    for schema in [1, 2] {
        let fs = MemFs::new();
        let db = open_all(&tiny_on(fs.clone()), Path::new(DIR)).unwrap();
        let mut options = engine_options();
        options.set_schema_version(schema).unwrap();
        let mut engine = engine_with(&fs, &options);
        let mut how = CreateBackupOptions::default();
        let added = b"two\nlines and \xff".to_vec();
        how.set_app_metadata(&added);
        assert_eq!(engine.create_new_backup_opt(&how, &db).unwrap(), 1);
        engine.create_new_backup(&db).unwrap();
        how.set_app_metadata(vec![7; 1 << 20]);
        assert_eq!(engine.create_new_backup_opt(&how, &db).unwrap(), 3);
        how.set_app_metadata(vec![7; (1 << 20) + 1]);
        let e = engine.create_new_backup_opt(&how, &db).unwrap_err();
        assert_eq!(e.kind(), ErrorKind::InvalidArgument, "{e}");
        let other = engine_on(&fs);
        for engine in [&engine, &other] {
            assert_eq!(engine.get_app_metadata(1).unwrap(), added);
            assert_eq!(engine.get_app_metadata(2).unwrap(), b"");
            assert_eq!(engine.get_app_metadata(3).unwrap().len(), 1 << 20);
            let e = engine.get_app_metadata(4).unwrap_err();
            assert_eq!(e.kind(), ErrorKind::NotFound, "{e}");
        }
    }
    let e = engine_options().set_schema_version(3).unwrap_err();
    assert_eq!(e.kind(), ErrorKind::InvalidArgument, "{e}");
}

#[test]
fn old_backups_are_purged_and_single_ones_deleted() {
    let fs = MemFs::new();
    let options = tiny_on(fs.clone());
    let db = open_all(&options, Path::new(DIR)).unwrap();
    let mut engine = engine_on(&fs);
    let mut then = vec![Content::new()];
    for round in 0..6 {
        fill(&db, &options, round);
        then.push(content(&db, &options));
        engine.create_new_backup(&db).unwrap();
        db.compact_range(None::<&[u8]>, None::<&[u8]>);
    }
    let ids = |engine: &BackupEngine| -> Vec<u32> {
        engine
            .get_backup_info()
            .iter()
            .map(|i| i.backup_id)
            .collect()
    };
    let check = |engine: &mut BackupEngine, expected: &[u32]| {
        assert_eq!(ids(engine), expected);
        assert_eq!(ids(&engine_on(&fs)), expected);
        assert_eq!(files_in(&fs, BACKUPS), files_named(engine));
        for &id in expected {
            assert_eq!(restored(engine, &fs, id), then[id as usize], "backup {id}");
        }
    };
    check(&mut engine, &[1, 2, 3, 4, 5, 6]);
    engine.delete_backup(3).unwrap();
    check(&mut engine, &[1, 2, 4, 5, 6]);
    for id in [3, 7] {
        let e = engine.delete_backup(id).unwrap_err();
        assert_eq!(e.kind(), ErrorKind::NotFound, "{e}");
    }
    engine.purge_old_backups(9).unwrap();
    engine.purge_old_backups(3).unwrap();
    check(&mut engine, &[4, 5, 6]);
    // The number of the latest one is free again, as in RocksDB.
    engine.delete_backup(6).unwrap();
    engine.create_new_backup(&db).unwrap();
    check(&mut engine, &[4, 5, 6]);
    engine.purge_old_backups(0).unwrap();
    check(&mut engine, &[]);
    let e = engine
        .restore_from_latest_backup(RESTORED, RESTORED, &RestoreOptions::default())
        .unwrap_err();
    assert_eq!(e.kind(), ErrorKind::NotFound, "{e}");
}

#[test]
fn opening_can_destroy_all_backups() {
    let fs = MemFs::new();
    let db = open_all(&tiny_on(fs.clone()), Path::new(DIR)).unwrap();
    let mut engine = engine_on(&fs);
    engine.create_new_backup(&db).unwrap();
    engine.create_new_backup(&db).unwrap();
    fs.create(&Path::new(BACKUPS).join("meta/7")).unwrap();
    let mut options = engine_options();
    options.set_destroy_old_data(true);
    let e = BackupEngine::open_read_only(&options, &env(&fs)).unwrap_err();
    assert_eq!(e.kind(), ErrorKind::InvalidArgument, "{e}");
    let mut engine = engine_with(&fs, &options);
    assert!(files_in(&fs, BACKUPS).is_empty());
    engine.create_new_backup(&db).unwrap();
    assert_eq!(engine.get_backup_info()[0].backup_id, 1);
}

#[test]
fn backups_can_be_in_another_environment() {
    let (fs, elsewhere) = (MemFs::new(), MemFs::new());
    let options = tiny_on(fs.clone());
    let db = open_all(&options, Path::new(DIR)).unwrap();
    fill(&db, &options, 1);
    let mut backups = engine_options();
    backups.set_backup_env(&env(&elsewhere));
    let mut engine = engine_with(&fs, &backups);
    engine.create_new_backup(&db).unwrap();
    assert!(!fs.exists(Path::new(BACKUPS)).unwrap());
    assert!(elsewhere.exists(Path::new(BACKUPS)).unwrap());
    assert_eq!(restored(&mut engine, &fs, 1), content(&db, &options));
}

#[test]
fn progress_is_told_by_bytes() {
    let fs = MemFs::new();
    let options = tiny_on(fs.clone());
    let db = open_all(&options, Path::new(DIR)).unwrap();
    fill(&db, &options, 1);
    for threads in [1, 4] {
        let mut backups = engine_options();
        backups.set_callback_trigger_interval_size(5_000);
        backups.set_max_background_operations(threads);
        backups.set_share_table_files(false);
        let mut engine = engine_with(&fs, &backups);
        let calls = Arc::new(AtomicU64::new(0));
        let mut how = CreateBackupOptions::default();
        let counted = calls.clone();
        how.set_progress_callback(move || {
            counted.fetch_add(1, Ordering::Relaxed);
        });
        engine.create_new_backup_opt(&how, &db).unwrap();
        // All but the file CURRENT is read.
        let size = engine.get_backup_info().last().unwrap().size - 16;
        assert_eq!(calls.load(Ordering::Relaxed), size / 5_000);
        how.set_progress_callback(|| panic!("enough"));
        let e = engine.create_new_backup_opt(&how, &db).unwrap_err();
        assert_eq!(e.kind(), ErrorKind::Aborted, "{e}");
        assert!(e.to_string().contains("enough"), "{e}");
        // The last call comes while the manifest is read.
        let left = AtomicU64::new(size / 5_000);
        how.set_progress_callback(move || {
            assert!(left.fetch_sub(1, Ordering::Relaxed) > 1, "at the end");
        });
        let e = engine.create_new_backup_opt(&how, &db).unwrap_err();
        assert!(e.to_string().contains("at the end"), "{e}");
        let enabled = db.property_int_value(whitewater::properties::IS_FILE_DELETIONS_ENABLED);
        assert_eq!(enabled.unwrap(), Some(1), "{e}");
        assert_eq!(files_in(&fs, BACKUPS), files_named(&engine));
    }
    db.put("goes", "on").unwrap();
}

/// With a byte per second, it would take hours.
#[test]
fn a_backup_that_waits_for_its_rate_can_be_stopped() {
    let fs = MemFs::new();
    let options = tiny_on(fs.clone());
    let db = open_all(&options, Path::new(DIR)).unwrap();
    fill(&db, &options, 1);
    engine_on(&fs).create_new_backup(&db).unwrap();
    let mut backups = engine_options();
    backups.set_share_table_files(false);
    backups.set_backup_rate_limit(1);
    let mut engine = engine_with(&fs, &backups);
    let stopper = engine.stopper();
    std::thread::scope(|scope| {
        let stopped = scope.spawn(|| engine.create_new_backup(&db));
        let private = Path::new(BACKUPS).join("private/2/MANIFEST-000005");
        crate::harness::until("a file is copied", || {
            stopped.is_finished() || fs.exists(private.parent().unwrap()).unwrap()
        });
        stopper.clone().stop_backup();
        let e = stopped.join().unwrap().unwrap_err();
        assert_eq!(e.kind(), ErrorKind::Incomplete, "{e}");
    });
    let e = engine.create_new_backup(&db).unwrap_err();
    assert_eq!(e.kind(), ErrorKind::Incomplete, "{e}");
    let mut engine = engine_on(&fs);
    assert_eq!(engine.get_backup_info().len(), 1);
    assert_eq!(files_in(&fs, BACKUPS), files_named(&engine));
    engine.create_new_backup(&db).unwrap();
    assert_eq!(restored(&mut engine, &fs, 2), content(&db, &options));
}

#[test]
fn backups_are_counted_in_statistics() {
    use whitewater::statistics::Ticker;
    let fs = MemFs::new();
    let mut options = tiny_on(fs.clone());
    options.enable_statistics();
    options.set_disable_auto_compactions(true);
    let db = open_all(&options, Path::new(DIR)).unwrap();
    fill(&db, &options, 1);
    let mut engine = engine_on(&fs);
    engine.create_new_backup_flush(&db, true).unwrap();
    let size = engine.get_backup_info()[0].size;
    let count = |ticker| options.get_ticker_count(ticker);
    // The manifest is written by the database and read; CURRENT is written.
    assert_eq!(count(Ticker::BackupReadBytes), size - 16);
    let written = |engine: &BackupEngine, id: u32| -> u64 {
        let files = engine.get_backup_files(id).unwrap().into_iter();
        let copied = files.filter(|file| !file.relative_filename.contains("MANIFEST"));
        let copied = copied.filter(|f| id == 1 || f.relative_filename.starts_with("private"));
        copied.map(|file| file.size).sum()
    };
    let first = count(Ticker::BackupWriteBytes);
    assert_eq!(first, written(&engine, 1));
    // Now the tables are shared.
    engine.create_new_backup(&db).unwrap();
    let second = count(Ticker::BackupWriteBytes) - first;
    assert_eq!(second, written(&engine, 2));
    assert!(second < first);
}
