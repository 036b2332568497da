//! A database whose directory is renamed or removed while it is open, on the operating system's
//! file system. Like RocksDB, it holds its directories and files open. What needs no path goes on.
//! What needs one fails with an error that names the path, and changes nothing.

use crate::harness::protocols;
use std::path::Path;
use whitewater::{CommitProtocol, DB, Options, WriteOptions};

fn options(protocol: CommitProtocol) -> Options {
    let mut o = Options::default();
    o.create_if_missing(true);
    o.stay_stopped();
    o.set_commit_protocol(protocol);
    o
}

fn synced() -> WriteOptions {
    let mut synced = WriteOptions::default();
    synced.set_sync(true);
    synced
}

fn assert_holds(db: &DB, keys: &[&str]) {
    for key in keys {
        let value = db.get(key).unwrap();
        assert_eq!(value.as_deref(), Some(key.as_bytes()), "{key}");
    }
}

#[test]
fn synced_writes_go_on_when_the_directory_was_renamed() {
    for protocol in protocols() {
        let place = tempfile::tempdir().unwrap();
        let (here, there) = (place.path().join("here"), place.path().join("there"));
        let db = DB::open(&options(protocol), &here).unwrap();
        db.put("a", "a").unwrap();
        std::fs::rename(&here, &there).unwrap();
        // The first one syncs the name of the log, too.
        db.put_opt("b", "b", &synced()).unwrap();
        db.put_opt("c", "c", &synced()).unwrap();
        db.flush_wal(true).unwrap();
        assert_holds(&db, &["a", "b", "c"]);
        drop(db);
        assert!(!here.exists(), "closing makes nothing in the old place");
        let db = DB::open(&options(protocol), &there).unwrap();
        assert_holds(&db, &["a", "b", "c"]);
    }
}

#[test]
fn synced_writes_go_on_when_the_log_directory_was_renamed() {
    let place = tempfile::tempdir().unwrap();
    let (logs, moved) = (place.path().join("logs"), place.path().join("moved"));
    let mut o = options(CommitProtocol::Ordered);
    o.set_wal_dir(&logs);
    let db = DB::open(&o, place.path().join("db")).unwrap();
    std::fs::rename(&logs, &moved).unwrap();
    db.put_opt("a", "a", &synced()).unwrap();
    drop(db);
    std::fs::rename(&moved, &logs).unwrap();
    let db = DB::open(&o, place.path().join("db")).unwrap();
    assert_holds(&db, &["a"]);
}

#[test]
fn synced_writes_and_reads_go_on_when_the_directory_was_removed() {
    for protocol in protocols() {
        let place = tempfile::tempdir().unwrap();
        let dir = place.path().join("db");
        let db = DB::open(&options(protocol), &dir).unwrap();
        db.put("a", "a").unwrap();
        db.flush().unwrap();
        db.put("b", "b").unwrap();
        assert_holds(&db, &["a", "b"]);
        std::fs::remove_dir_all(&dir).unwrap();
        db.put_opt("c", "c", &synced()).unwrap();
        assert_holds(&db, &["a", "b", "c"]);
        drop(db);
        assert!(!dir.exists());
    }
}

/// New files need the path.
#[test]
fn a_flush_without_the_directory_fails_by_name_and_resumes_when_it_is_back() {
    let place = tempfile::tempdir().unwrap();
    let (here, there) = (place.path().join("here"), place.path().join("there"));
    let db = DB::open(&options(CommitProtocol::Ordered), &here).unwrap();
    db.put("a", "a").unwrap();
    std::fs::rename(&here, &there).unwrap();
    db.put_opt("b", "b", &synced()).unwrap();
    let e = db.flush().unwrap_err();
    assert!(names_a_file_in(e.file(), &here), "{e}");
    assert_holds(&db, &["a", "b"]);
    assert!(!here.exists(), "nothing is made in the old place");
    std::fs::rename(&there, &here).unwrap();
    db.resume().unwrap();
    db.put_opt("c", "c", &synced()).unwrap();
    db.flush().unwrap();
    drop(db);
    let db = DB::open(&options(CommitProtocol::Ordered), &here).unwrap();
    assert_holds(&db, &["a", "b", "c"]);
}

fn names_a_file_in(file: Option<&Path>, dir: &Path) -> bool {
    file.and_then(Path::parent) == Some(dir)
}
