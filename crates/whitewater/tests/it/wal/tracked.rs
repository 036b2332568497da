//! Logs that are tracked in the manifest.

use super::{check_all, logs, put_all};
use crate::harness::{DIR, open_all, tiny_on};
use std::path::Path;
use std::sync::Arc;
use whitewater::fs::Fs;
use whitewater::fs::mem::MemFs;
use whitewater::{ErrorKind, Options};

/// A database with two closed logs that were synced and are needed.
fn tracked() -> (MemFs, Options, Vec<String>) {
    let fs = MemFs::new();
    let mut o = tiny_on(fs.clone());
    o.set_track_and_verify_wals_in_manifest(true);
    o.set_max_manifest_file_size(300);
    let db = open_all(&o, Path::new(DIR)).unwrap();
    db.create_cf("keeper", &o).unwrap();
    let keeper = db.cf_handle("keeper").unwrap();
    db.put_cf(&keeper, "old", "1").unwrap();
    for round in 0..2 {
        put_all(&db, round * 10..round * 10 + 10);
        db.flush().unwrap();
    }
    put_all(&db, 20..30);
    db.flush_wal(true).unwrap();
    drop(keeper);
    drop(db);
    let logs = logs(&fs, DIR);
    assert_eq!(logs.len(), 3);
    (fs, o, logs)
}

#[test]
fn tracked_logs_must_be_there() {
    let (fs, o, logs) = tracked();
    let open = |fs: &MemFs, o: &Options| {
        let mut o = o.clone();
        o.set_fs(Arc::new(fs.clone()));
        open_all(&o, Path::new(DIR))
    };
    let mut untracked = o.clone();
    untracked.set_track_and_verify_wals_in_manifest(false);
    for log in &logs[..2] {
        let path = Path::new(DIR).join(log);
        let number = log.trim_start_matches('0').trim_end_matches(".log");
        let left = fs.crash_clone(1.0, 0);
        left.remove(&path).unwrap();
        let e = open(&left, &o).unwrap_err();
        assert_eq!(e.kind(), ErrorKind::Corruption);
        let text = format!("Missing WAL with log number: {number}.");
        assert!(e.to_string().contains(&text), "{e}");

        let left = fs.crash_clone(1.0, 0);
        left.create(&path).unwrap();
        let e = open(&left, &o).unwrap_err();
        assert_eq!(e.kind(), ErrorKind::Corruption);
        assert!(e.to_string().contains("Size mismatch: WAL"), "{e}");
        assert_eq!(e.file(), Some(path.as_path()));
    }
    // The option is not sticky. What was tracked is forgotten when it is off, and when the logs are
    // deleted.
    let db = open(&fs, &untracked).unwrap();
    check_all(&db, 0..30);
    drop(db);
    let db = open(&fs, &o).unwrap();
    check_all(&db, 0..30);
    for round in 0..5 {
        put_all(&db, 0..10);
        db.flush_wal(round % 2 == 0).unwrap();
        db.flush().unwrap();
    }
    drop(db);
    check_all(&open(&fs, &o).unwrap(), 0..30);
}
