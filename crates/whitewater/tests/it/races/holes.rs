//! Holes in the log, with records behind them that look valid: of writers that were never
//! acknowledged, or of the file's former life. These do not count, and no later write, crash or
//! recovery brings them back.

#![cfg(target_os = "linux")]

use super::threads::kernel;
use super::{logs_side_by_side, options};
use crate::harness::points::Trap;
use crate::harness::{DIR, Db, open_all, protocols, watched};
use std::path::Path;
use std::sync::Arc;
use std::sync::mpsc;
use std::thread;
use whitewater::fs::mem::MemFs;
use whitewater::fs::{Fs, read_file};
use whitewater::{CommitProtocol, Options, Point};

/// Values of one length, so that later records lie exactly over earlier ones.
fn put(db: &Db, key: &str) {
    assert_eq!(key.len(), 8);
    db.put(key, format!("{key:*<200}")).expect("writes");
}

/// Keys of the database, in order.
fn keys(db: &Db) -> Vec<String> {
    let iter = db.iterator(whitewater::IteratorMode::Start);
    let keys = iter.map(|pair| pair.expect("readable").0);
    keys.map(|k| String::from_utf8(k.into_vec()).expect("ASCII"))
        .collect()
}

/// Whether any log contains `text`.
fn logs_hold(fs: &MemFs, text: &str) -> bool {
    let dir = Path::new(DIR);
    let mut names = fs.list(dir).expect("listed");
    names.retain(|name| name.ends_with(".log"));
    names.iter().any(|name| {
        let log = read_file(fs, &dir.join(name), u64::MAX).expect("readable");
        log.windows(text.len()).any(|part| part == text.as_bytes())
    })
}

fn open(options: &Options, fs: &MemFs) -> Db {
    let mut options = options.clone();
    options.set_fs(Arc::new(fs.clone()));
    options.set_failpoints(|_, _| ());
    open_all(&options, Path::new(DIR)).expect("opens")
}

/// Kills a process whose writer is held up before it has logged, with `behind` others behind it.
/// Returns what is left.
fn hole(options: &mut Options, fs: &MemFs, first: usize, behind: usize) -> MemFs {
    let trap = Trap::set(options);
    let db = &open_all(options, Path::new(DIR)).expect("opens");
    // The first life of the log, if logs are recycled.
    for life in 0..2 {
        for n in 0..first {
            put(db, &format!("old{life}{n:04}"));
        }
        db.flush().expect("flushes");
        // Until the log is deleted, or kept for reuse.
        db.wait_for_compact(&Default::default()).expect("idle");
    }
    for n in 0..4 {
        put(db, &format!("acked{n:03}"));
    }
    trap.arm(Point::Reserved);
    thread::scope(|scope| {
        scope.spawn(|| put(db, "hole0000"));
        trap.wait();
        let (tell, ids) = mpsc::channel();
        for n in 0..behind {
            let tell = tell.clone();
            scope.spawn(move || {
                tell.send(kernel::id()).expect("heard");
                put(db, &format!("stale{n:03}"));
            });
        }
        kernel::wait_until_asleep(&ids.iter().take(behind).collect::<Vec<_>>());
        let left = fs.crash_clone(1.0, 0);
        trap.release();
        left
    })
}

#[test]
fn what_lies_behind_a_hole_never_comes_back() {
    for protocol in protocols() {
        for recycled in [0, 1, 3] {
            for behind in [0, 1, 5] {
                watched("a hole", 60, move || {
                    double_crash(protocol, recycled, behind);
                });
            }
        }
    }
}

fn double_crash(protocol: CommitProtocol, recycled: usize, behind: usize) {
    let what = format!("{protocol}, {recycled} recycled, {behind} behind");
    let fs = MemFs::new();
    let mut options = options(protocol, fs.clone());
    options.set_recycle_log_file_num(recycled);
    let first = 20;
    let mut left = hole(&mut options, &fs, first, behind);
    let stale = logs_hold(&left, "stale000");
    assert_eq!(stale, behind > 0 && logs_side_by_side(protocol), "{what}");
    assert!(!logs_hold(&left, "hole0000"), "{what}");
    let old_life = logs_hold(&left, "old10010") || logs_hold(&left, "old00010");
    assert_eq!(old_life, recycled > 0, "{what}: the log has a former life");

    let mut wanted: Vec<String> = (0..4).map(|n| format!("acked{n:03}")).collect();
    for life in 0..2 {
        wanted.extend((0..first).map(|n| format!("old{life}{n:04}")));
    }
    wanted.sort();
    // Records of the same length are written and killed again and again, without and with a switch
    // to a recycled file.
    for crash in 0..6 {
        let db = open(&options, &left);
        assert_eq!(keys(&db), wanted, "{what}, crash {crash}");
        for n in 0..crash + 1 {
            let key = format!("new{crash}{n:04}");
            put(&db, &key);
            wanted.push(key);
        }
        if crash % 2 == 1 {
            db.flush().expect("flushes");
            put(&db, &format!("new{crash}last"));
            wanted.push(format!("new{crash}last"));
        }
        wanted.sort();
        assert_eq!(keys(&db), wanted, "{what}, crash {crash}");
        left = left.crash_clone(1.0, 0);
    }
    assert_eq!(keys(&open(&options, &left)), wanted, "{what}");
}

/// The process dies again while it recovers from the hole.
#[test]
fn a_hole_is_recovered_from_at_the_second_attempt_alike() {
    for protocol in protocols() {
        for recycled in [0, 2] {
            watched("a hole", 60, move || {
                let fs = MemFs::new();
                let mut options = options(protocol, fs.clone());
                options.set_recycle_log_file_num(recycled);
                let left = hole(&mut options, &fs, 10, 3);
                let wanted = keys(&open(&options, &left.crash_clone(1.0, 0)));
                assert!(!wanted.iter().any(|k| k.starts_with("stale")));
                let attempts = Arc::new(parking_lot::Mutex::new(Vec::new()));
                let (kept, seen) = (attempts.clone(), left.clone());
                left.set_sync_hook(Arc::new(move |_| {
                    kept.lock().push(seen.crash_clone(1.0, 0));
                }));
                drop(open(&options, &left));
                left.clear_sync_hook();
                let attempts = std::mem::take(&mut *attempts.lock());
                assert!(attempts.len() > 2);
                for (i, fs) in attempts.iter().enumerate() {
                    assert_eq!(keys(&open(&options, fs)), wanted, "killed at sync {i}");
                }
            });
        }
    }
}
