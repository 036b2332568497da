//! Openings that look for the logs in another directory than the one they are in.
//!
//! RocksDB goes on without them, and gives all back when it is opened with the
//! right `wal_dir`, unless something was flushed meanwhile.

use crate::harness::{DIR, Db, open_all, tiny_on};
use std::path::Path;
use whitewater::fs::mem::MemFs;
use whitewater::fs::{Fs, read_file};
use whitewater::{DB, ErrorKind, Options};

const LOGS: &str = "/data/logs";
const OTHER: &str = "/data/other";

fn options(fs: &MemFs, wal_dir: Option<&str>) -> Options {
    let mut o = tiny_on(fs.clone());
    o.set_wal_dir(wal_dir.unwrap_or_default());
    o
}

fn open(fs: &MemFs, wal_dir: Option<&str>) -> Result<Db, whitewater::Error> {
    open_all(&options(fs, wal_dir), Path::new(DIR))
}

fn put(db: &Db, key: &str) {
    db.put(key, key).expect("writes");
}

fn has(db: &Db, key: &str) -> bool {
    db.get(key).expect("readable").as_deref() == Some(key.as_bytes())
}

/// A database with its logs in `wal_dir`, and a write in them.
fn database(wal_dir: Option<&str>) -> MemFs {
    let fs = MemFs::new();
    let db = open(&fs, wal_dir).expect("opens");
    put(&db, "flushed");
    db.flush().expect("flushes");
    put(&db, "logged");
    drop(db);
    fs
}

fn logs_in(fs: &MemFs, dir: &str) -> Vec<String> {
    let mut names = fs.list(Path::new(dir)).unwrap_or_default();
    names.retain(|name| name.ends_with(".log"));
    names.sort();
    names
}

/// Removes what tells where the logs were.
fn remove_options_files(fs: &MemFs) {
    for name in fs.list(Path::new(DIR)).expect("listed") {
        if name.starts_with("OPTIONS-") {
            fs.remove(&Path::new(DIR).join(name)).expect("removed");
        }
    }
}

fn info_log(fs: &MemFs) -> String {
    let path = Path::new(DIR).join("LOG");
    String::from_utf8(read_file(fs, &path, 1 << 20).expect("read")).expect("text")
}

#[test]
fn an_opening_with_another_wal_dir_names_the_logs_that_it_does_not_see() {
    let places = [
        (Some(LOGS), Some(OTHER)),
        (Some(LOGS), None),
        (None, Some(LOGS)),
    ];
    for (right, wrong) in places {
        let fs = database(right);
        let logs = logs_in(&fs, place_of(right));
        for _ in 0..2 {
            let e = open(&fs, wrong).err().unwrap();
            assert_eq!(e.kind(), ErrorKind::InvalidArgument);
            let text = e.to_string();
            let place = place_of(right);
            assert!(text.contains(&format!("set wal_dir to {place}")), "{text}");
            assert!(logs.iter().any(|log| text.contains(log)), "{text}");
            let read_only = DB::open_for_read_only(&options(&fs, wrong), DIR, false);
            assert!(read_only.is_err());
            let secondary = DB::open_as_secondary(&options(&fs, wrong), DIR, "/data/second");
            assert!(secondary.is_err());
            assert!(DB::repair(&options(&fs, wrong), DIR).is_err());
        }
        assert_eq!(logs_in(&fs, place_of(right)), logs);
        let db = open(&fs, right).expect("opens");
        assert!(has(&db, "flushed") && has(&db, "logged"));
    }
}

fn place_of(wal_dir: Option<&str>) -> &str {
    wal_dir.unwrap_or(DIR)
}

#[test]
fn logs_that_were_moved_to_another_wal_dir_are_replayed_there() {
    let fs = database(Some(LOGS));
    fs.create_dir_all(Path::new(OTHER)).expect("created");
    for name in logs_in(&fs, LOGS) {
        let (from, to) = (Path::new(LOGS).join(&name), Path::new(OTHER).join(&name));
        fs.rename(&from, &to).expect("moved");
    }
    let db = open(&fs, Some(OTHER)).expect("opens");
    assert!(has(&db, "flushed") && has(&db, "logged"));
}

#[test]
fn another_wal_dir_is_fine_once_no_log_holds_a_write() {
    let fs = database(Some(LOGS));
    // Which turns the log into a table and begins an empty one.
    drop(open(&fs, Some(LOGS)).expect("opens"));
    let db = open(&fs, Some(OTHER)).expect("opens");
    assert!(has(&db, "flushed") && has(&db, "logged"));
    assert!(!info_log(&fs).contains("no log in"));
    put(&db, "later");
    drop(db);
    let e = open(&fs, Some(LOGS)).err().unwrap();
    assert!(e.to_string().contains(OTHER), "{e}");
    assert!(has(&open(&fs, Some(OTHER)).expect("opens"), "later"));
}

/// As where a file system was not mounted.
#[test]
fn logs_that_an_opening_could_not_know_of_come_back() {
    for openings in 1..4 {
        let fs = database(Some(LOGS));
        remove_options_files(&fs);
        for n in 0..openings {
            let db = open(&fs, Some(OTHER)).expect("opens");
            assert!(has(&db, "flushed") && !has(&db, "logged"));
            assert_eq!(info_log(&fs).contains("no log in /data/other"), n == 0);
        }
        let db = open(&fs, Some(LOGS)).expect("opens");
        assert!(has(&db, "flushed") && has(&db, "logged"), "{openings}");
        drop(db);
        let db = open(&fs, Some(LOGS)).expect("opens");
        assert!(has(&db, "logged"), "replayed once");
    }
}

#[test]
fn logs_that_were_passed_over_are_neither_deleted_nor_replayed_as_newer() {
    let fs = database(Some(LOGS));
    let logs = logs_in(&fs, LOGS);
    remove_options_files(&fs);
    let db = open(&fs, Some(OTHER)).expect("opens");
    db.put("logged", "newer").expect("writes");
    db.flush().expect("flushes");
    drop(db);
    drop(open(&fs, Some(OTHER)).expect("opens"));
    let e = open(&fs, Some(LOGS)).err().unwrap();
    assert_eq!(e.kind(), ErrorKind::InvalidArgument);
    assert!(e.to_string().contains("/data/logs/"), "{e}");
    assert!(e.to_string().contains("move the log away"), "{e}");
    assert_eq!(logs_in(&fs, LOGS), logs);
    for name in &logs {
        let to = Path::new("/data").join(name);
        fs.rename(&Path::new(LOGS).join(name), &to).expect("moved");
    }
    let db = open(&fs, Some(LOGS)).expect("opens");
    assert_eq!(
        db.get("logged").expect("readable").expect("there"),
        b"newer"
    );
}

#[test]
fn writes_of_an_opening_that_missed_logs_are_not_deleted_either() {
    let fs = database(Some(LOGS));
    remove_options_files(&fs);
    let db = open(&fs, Some(OTHER)).expect("opens");
    put(&db, "between");
    drop(db);
    let between = logs_in(&fs, OTHER);
    let db = open(&fs, Some(LOGS)).expect("opens");
    assert!(has(&db, "logged"));
    db.flush().expect("flushes");
    drop(db);
    // Its numbers are below those that are needed now.
    drop(open(&fs, Some(OTHER)).expect("opens"));
    let lost = logs_in(&fs, "/data/other/lost");
    assert_eq!(lost, between);
    assert!(info_log(&fs).contains("to /data/other/lost"));
}

#[test]
fn logs_in_two_directories_are_told_apart() {
    let fs = database(Some(LOGS));
    remove_options_files(&fs);
    let db = open(&fs, None).expect("opens");
    put(&db, "between");
    drop(db);
    let e = open(&fs, Some(LOGS)).err().unwrap();
    assert!(
        e.to_string().contains("openings with another wal_dir"),
        "{e}"
    );
    for name in logs_in(&fs, DIR) {
        fs.remove(&Path::new(DIR).join(name)).expect("removed");
    }
    assert!(has(&open(&fs, Some(LOGS)).expect("opens"), "logged"));
}
