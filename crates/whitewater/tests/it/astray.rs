//! Openings whose `wal_dir` is not the directory that the logs are in.
//!
//! RocksDB opens without the logs. It has all writes again when it is opened with the right
//! `wal_dir`, unless something was flushed in between.

use crate::harness::{DIR, Db, open_all, tiny_on};
use std::path::Path;
use std::sync::Arc;
use whitewater::fs::fault::{FaultFs, FaultOp, OpSet, Rule};
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

/// A database with a write that is only in its logs, which are in `wal_dir`.
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

/// Removes the files that say where the logs were.
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
    assert!(
        logs_in(&fs, "/data/other/lost").is_empty(),
        "nothing was passed over"
    );
}

#[test]
fn another_wal_dir_is_fine_once_no_log_holds_a_write() {
    let fs = database(Some(LOGS));
    // This opening turns the log into a table and begins an empty one.
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

/// As if a file system was not mounted.
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
    // The log's number is below those that are needed now.
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

/// A database with a second column family that has all its writes in a log in `wal_dir`.
fn two_families(wal_dir: Option<&str>) -> MemFs {
    let fs = MemFs::new();
    let db = open(&fs, wal_dir).expect("opens");
    db.create_cf("two", &options(&fs, wal_dir))
        .expect("created");
    put(&db, "flushed");
    db.flush().expect("flushes");
    let two = db.cf_handle("two").expect("there");
    db.put_cf(&two, "logged", "logged").expect("writes");
    drop(two);
    drop(db);
    fs
}

fn has_logged(db: &Db) -> bool {
    let two = db.cf_handle("two").expect("there");
    let found = db.get_cf(&two, "logged").expect("readable");
    found.as_deref() == Some(&b"logged"[..])
}

/// Moves all logs of `from` to `to`, as if another file system was mounted.
fn move_logs(fs: &MemFs, from: &str, to: &str) {
    fs.create_dir_all(Path::new(to)).expect("created");
    for name in logs_in(fs, from) {
        let (from, to) = (Path::new(from).join(&name), Path::new(to).join(&name));
        fs.rename(&from, &to).expect("moved");
    }
}

const MOUNTED: &str = "/data/mounted";
const HIDDEN: &str = "/data/hidden";

/// A flush of one column family does not make logs obsolete that another one needs.
#[test]
fn missed_logs_are_replayed_for_a_family_while_another_one_was_flushed() {
    let fs = two_families(Some(LOGS));
    move_logs(&fs, LOGS, MOUNTED);
    let db = open(&fs, Some(LOGS)).expect("opens");
    assert!(!has_logged(&db));
    put(&db, "between");
    db.flush().expect("flushes");
    drop(db);
    move_logs(&fs, LOGS, HIDDEN);
    move_logs(&fs, MOUNTED, LOGS);
    let db = open(&fs, Some(LOGS)).expect("opens");
    assert!(has_logged(&db), "{:?}", logs_in(&fs, "/data/logs/lost"));
    assert!(has(&db, "between") && has(&db, "flushed"));
    drop(db);
    let db = open(&fs, Some(LOGS)).expect("opens");
    assert!(has_logged(&db) && has(&db, "between"));
}

#[test]
fn a_repair_knows_which_logs_were_missed() {
    let fs = two_families(Some(LOGS));
    move_logs(&fs, LOGS, MOUNTED);
    let db = open(&fs, Some(LOGS)).expect("opens");
    put(&db, "between");
    db.flush().expect("flushes");
    drop(db);
    move_logs(&fs, LOGS, HIDDEN);
    let beneath = fs.after_kill();
    move_logs(&fs, MOUNTED, LOGS);
    DB::repair(&options(&fs, Some(LOGS)), DIR).expect("repaired");
    let db = open(&fs, Some(LOGS)).expect("opens");
    assert!(has_logged(&db) && has(&db, "between") && has(&db, "flushed"));

    // A repair without these logs does not make them obsolete.
    let fs = beneath;
    DB::repair(&options(&fs, Some(LOGS)), DIR).expect("repaired");
    drop(open(&fs, Some(LOGS)).expect("opens"));
    move_logs(&fs, LOGS, HIDDEN);
    move_logs(&fs, MOUNTED, LOGS);
    let logs = logs_in(&fs, LOGS);
    for repairs in [true, false] {
        let e = match repairs {
            true => DB::repair(&options(&fs, Some(LOGS)), DIR).err().unwrap(),
            false => open(&fs, Some(LOGS)).err().unwrap(),
        };
        assert!(e.to_string().contains("move the log away"), "{e}");
        assert_eq!(logs_in(&fs, LOGS), logs);
    }
}

/// RocksDB's checkpoints are like this: the options file names the directory of the original's
/// logs, and there is no IDENTITY yet.
#[test]
fn an_opening_of_a_copy_that_fails_does_not_make_it_the_original() {
    let fs = two_families(Some(LOGS));
    let copy = Path::new("/data/copy");
    fs.create_dir_all(copy).expect("created");
    for name in fs.list(Path::new(DIR)).expect("listed") {
        if !matches!(name.as_str(), "IDENTITY" | "LOCK" | "LOG") {
            fs.link(&Path::new(DIR).join(&name), &copy.join(&name))
                .expect("linked");
        }
    }
    let o = options(&fs, None);
    let unlisted = DB::open(&o, copy).err().unwrap();
    assert!(unlisted.to_string().contains("two"), "{unlisted}");
    let db = open_all(&o, copy).expect("opens");
    assert!(has(&db, "flushed") && !has_logged(&db));
    drop(db);
    let db = open(&fs, Some(LOGS)).expect("opens");
    assert!(has_logged(&db), "the original's logs are the original's");
}

/// The family's log number in the manifest is older than the logs that were missed, because it had
/// nothing to flush.
#[test]
fn missed_logs_are_replayed_for_a_family_that_was_never_flushed() {
    let fs = MemFs::new();
    let db = open(&fs, Some(LOGS)).expect("opens");
    db.create_cf("two", &options(&fs, None)).expect("created");
    for n in 0..3 {
        put(&db, &n.to_string());
        db.flush().expect("flushes");
    }
    let two = db.cf_handle("two").expect("there");
    db.put_cf(&two, "logged", "logged").expect("writes");
    drop(two);
    drop(db);
    move_logs(&fs, LOGS, MOUNTED);
    for _ in 0..2 {
        let db = open(&fs, Some(LOGS)).expect("opens");
        assert!(!has_logged(&db));
    }
    move_logs(&fs, LOGS, HIDDEN);
    move_logs(&fs, MOUNTED, LOGS);
    let db = open(&fs, Some(LOGS)).expect("opens");
    assert!(has_logged(&db));
}

/// The directory keeps its name, but its files are replaced.
#[test]
fn writes_beneath_a_mounted_file_system_are_not_deleted_either() {
    let fs = database(Some(LOGS));
    move_logs(&fs, LOGS, MOUNTED);
    let db = open(&fs, Some(LOGS)).expect("opens");
    put(&db, "between");
    drop(db);
    let between = logs_in(&fs, LOGS);
    move_logs(&fs, LOGS, HIDDEN);
    move_logs(&fs, MOUNTED, LOGS);
    assert!(has(&open(&fs, Some(LOGS)).expect("opens"), "logged"));
    move_logs(&fs, LOGS, MOUNTED);
    move_logs(&fs, HIDDEN, LOGS);
    drop(open(&fs, Some(LOGS)).expect("opens"));
    assert_eq!(logs_in(&fs, "/data/logs/lost"), between);
}

/// The process dies after each of the steps of an opening.
#[test]
fn missed_logs_come_back_wherever_openings_were_cut_off() {
    // An opening that finds no logs.
    cut_off(|fs| {
        move_logs(fs, LOGS, MOUNTED);
    });
    // An opening that finds the logs that were missed, after a flush of another family.
    cut_off(|fs| {
        move_logs(fs, LOGS, MOUNTED);
        let db = open(fs, Some(LOGS)).expect("opens");
        put(&db, "between");
        db.flush().expect("flushes");
        drop(db);
        move_logs(fs, LOGS, HIDDEN);
        move_logs(fs, MOUNTED, LOGS);
    });
}

fn cut_off(prepare: impl Fn(&MemFs)) {
    for step in 1.. {
        let fs = two_families(Some(LOGS));
        prepare(&fs);
        let faults = FaultFs::new(Arc::new(fs.clone()));
        let steps = [
            FaultOp::Create,
            FaultOp::Sync,
            FaultOp::SyncDir,
            FaultOp::Rename,
            FaultOp::Remove,
        ];
        let mut rule = Rule::nth(OpSet::of(&steps), step);
        rule.sticky = true;
        faults.add_rule(rule);
        let mut o = tiny_on(faults.clone());
        o.set_wal_dir(LOGS);
        drop(open_all(&o, Path::new(DIR)));
        // Another restart: everything is there, whatever the opening before did.
        drop(open(&fs, Some(LOGS)).expect("opens"));
        if !logs_in(&fs, MOUNTED).is_empty() {
            move_logs(&fs, LOGS, HIDDEN);
            move_logs(&fs, MOUNTED, LOGS);
        }
        let db = open(&fs, Some(LOGS)).expect("opens");
        assert!(has_logged(&db), "cut off at step {step}");
        if faults.injected().is_empty() {
            assert!(step > 10);
            return;
        }
    }
}
