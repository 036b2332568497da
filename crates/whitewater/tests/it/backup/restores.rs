//! Ways to restore a backup.

use super::{
    BACKUPS, Content, RESTORED, content, engine_on, engine_options, engine_with, fill, opened,
};
use crate::harness::{DIR, open_all, tiny_on};
use std::path::Path;
use std::sync::Arc;
use whitewater::backup::{BackupEngine, RestoreMode, RestoreOptions};
use whitewater::fs::Fs;
use whitewater::fs::fault::{FaultFs, FaultOp};
use whitewater::fs::mem::MemFs;
use whitewater::{Env, ErrorKind, IteratorMode};

const LOGS: &str = "/data/logs";

#[test]
fn an_open_database_is_not_restored_over() {
    let fs = MemFs::new();
    let options = tiny_on(fs.clone());
    let db = open_all(&options, Path::new(DIR)).unwrap();
    fill(&db, &options, 1);
    let mut engine = engine_on(&fs);
    engine.create_new_backup(&db).unwrap();
    let before = content(&db, &options);
    let how = RestoreOptions::default();
    let e = engine
        .restore_from_latest_backup(DIR, DIR, &how)
        .unwrap_err();
    assert_eq!(e.kind(), ErrorKind::IOError, "{e}");
    assert_eq!(content(&db, &options), before);
    drop(db);
    assert_eq!(opened(&fs, DIR), before);
    engine.restore_from_latest_backup(DIR, DIR, &how).unwrap();
    assert_eq!(opened(&fs, DIR), before);
}

/// Also if the directory of backups is in that of the database, as RocksDB recommends.
#[test]
fn files_that_are_not_of_a_database_stay() {
    let fs = MemFs::new();
    let options = tiny_on(fs.clone());
    let db = open_all(&options, Path::new(DIR)).unwrap();
    fill(&db, &options, 1);
    let inside = whitewater::backup::BackupEngineOptions::new("/data/db/backups").unwrap();
    let mut engine = engine_with(&fs, &inside);
    engine.create_new_backup(&db).unwrap();
    let then = content(&db, &options);
    fill(&db, &options, 2);
    db.flush().unwrap();
    drop(db);
    for name in ["notes.txt", "000077.sst", "archive/000003.log"] {
        let path = Path::new(DIR).join(name);
        fs.create_dir_all(path.parent().unwrap()).unwrap();
        fs.create(&path).unwrap();
    }
    engine
        .restore_from_latest_backup(DIR, DIR, &RestoreOptions::default())
        .unwrap();
    assert!(fs.exists(&Path::new(DIR).join("notes.txt")).unwrap());
    assert!(!fs.exists(&Path::new(DIR).join("000077.sst")).unwrap());
    assert!(
        !fs.exists(&Path::new(DIR).join("archive/000003.log"))
            .unwrap()
    );
    engine.verify_backup_with_checksum(1).unwrap();
    assert_eq!(opened(&fs, DIR), then);
}

#[test]
fn logs_have_a_directory_of_their_own() {
    let fs = MemFs::new();
    let mut options = tiny_on(fs.clone());
    options.set_wal_dir(LOGS);
    let db = open_all(&options, Path::new(DIR)).unwrap();
    fill(&db, &options, 1);
    let mut engine = engine_on(&fs);
    engine.create_new_backup(&db).unwrap();
    let then = content(&db, &options);
    fill(&db, &options, 2);
    drop(db);
    // A file of another database in the directory of logs is not this one's.
    fs.create(&Path::new(LOGS).join("000078.sst")).unwrap();
    engine
        .restore_from_latest_backup(DIR, LOGS, &RestoreOptions::default())
        .unwrap();
    let logs = |dir: &str| {
        let names = fs.list(Path::new(dir)).unwrap();
        names.iter().filter(|name| name.ends_with(".log")).count()
    };
    assert_eq!(logs(DIR), 0);
    assert!(logs(LOGS) > 0);
    assert!(fs.exists(&Path::new(LOGS).join("000078.sst")).unwrap());
    let db = open_all(&options, Path::new(DIR)).unwrap();
    assert_eq!(content(&db, &options), then);
}

/// A backup without logs is completed by the logs that are there.
#[test]
fn logs_that_are_there_can_be_kept() {
    let fs = MemFs::new();
    let mut options = tiny_on(fs.clone());
    options.set_wal_ttl_seconds(3_600);
    options.set_track_and_verify_wals_in_manifest(true);
    let db = open_all(&options, Path::new(DIR)).unwrap();
    let mut of_engine = engine_options();
    of_engine.set_backup_log_files(false);
    let mut engine = engine_with(&fs, &of_engine);
    db.put("tables", "1").unwrap();
    db.flush().unwrap();
    db.put("logs", "1").unwrap();
    engine.create_new_backup(&db).unwrap();
    let files = engine.get_backup_files(1).unwrap();
    assert!(
        files
            .iter()
            .all(|file| !file.relative_filename.ends_with(".log"))
    );
    // What was logged goes to the archive.
    db.flush().unwrap();
    db.put("later", "1").unwrap();
    drop(db);
    let mut how = RestoreOptions::default();
    engine
        .restore_from_latest_backup(RESTORED, RESTORED, &how)
        .unwrap();
    assert_eq!(opened(&fs, RESTORED).len(), 1);
    how.set_keep_log_files(true);
    engine.restore_from_latest_backup(DIR, DIR, &how).unwrap();
    let db = open_all(&options, Path::new(DIR)).unwrap();
    let keys: Vec<_> = db
        .iterator(IteratorMode::Start)
        .map(|e| String::from_utf8(e.unwrap().0.into()).unwrap())
        .collect();
    assert_eq!(keys, ["later", "logs", "tables"]);
}

/// A log that is kept may be longer than what the backup has of it.
#[test]
fn a_kept_log_is_not_replaced() {
    let fs = MemFs::new();
    let options = tiny_on(fs.clone());
    let db = open_all(&options, Path::new(DIR)).unwrap();
    db.put("before", "1").unwrap();
    let mut engine = engine_on(&fs);
    engine.create_new_backup(&db).unwrap();
    db.put("after", "1").unwrap();
    drop(db);
    let mut how = RestoreOptions::default();
    how.set_keep_log_files(true);
    engine.restore_from_latest_backup(DIR, DIR, &how).unwrap();
    assert_eq!(opened(&fs, DIR).len(), 2);
}

/// The number of tables that a restore writes.
fn tables_written(fs: &MemFs, mode: RestoreMode, then: &Content) -> usize {
    let faults = FaultFs::new(Arc::new(fs.clone()));
    let env = Env::with_fs(Arc::new(faults.clone()));
    let mut engine = BackupEngine::open(&engine_options(), &env).unwrap();
    let mut how = RestoreOptions::default();
    how.set_mode(mode);
    faults.start_recording();
    engine.restore_from_latest_backup(DIR, DIR, &how).unwrap();
    let operations = faults.end_recording();
    assert_eq!(opened(&fs.crash_clone(0.0, 1), DIR), *then, "{mode:?}");
    let is_table = |path: &Path| path.extension().is_some_and(|e| e == "sst");
    let written = operations
        .iter()
        .filter(|o| o.op == FaultOp::Create && is_table(&o.path));
    written.count()
}

#[test]
fn tables_that_are_there_can_stay() {
    for mode in [
        RestoreMode::KeepLatestDbSessionIdFiles,
        RestoreMode::VerifyChecksum,
        RestoreMode::PurgeAllFiles,
    ] {
        let fs = MemFs::new();
        let mut options = tiny_on(fs.clone());
        options.set_disable_auto_compactions(true);
        let db = open_all(&options, Path::new(DIR)).unwrap();
        for round in 0..3 {
            fill(&db, &options, round);
        }
        db.flush().unwrap();
        let then = content(&db, &options);
        let mut engine = engine_on(&fs);
        engine.create_new_backup(&db).unwrap();
        let files = engine.get_backup_files(1).unwrap();
        let tables = files
            .iter()
            .filter(|f| f.relative_filename.ends_with(".sst"));
        let tables = tables.count();
        assert!(tables >= 3);
        fill(&db, &options, 7);
        drop(db);
        // One is missing, and one is another table of that number.
        let names = fs.list(Path::new(DIR)).unwrap().into_iter();
        let mut names: Vec<_> = names.filter(|name| name.ends_with(".sst")).collect();
        names.sort();
        let path = |i: usize| Path::new(DIR).join(&names[i]);
        fs.remove(&path(0)).unwrap();
        fs.rename(&path(names.len() - 1), &path(1)).unwrap();
        let expected = match mode {
            RestoreMode::PurgeAllFiles => tables,
            _ => 2,
        };
        assert_eq!(tables_written(&fs, mode, &then), expected, "{mode:?}");
        // All of them are right by then.
        let expected = expected.saturating_sub(2) / (tables - 2).max(1) * tables;
        assert_eq!(tables_written(&fs, mode, &then), expected, "{mode:?}");
        assert_eq!(super::files_in(&fs, BACKUPS), super::files_named(&engine));
    }
}
