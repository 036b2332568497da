//! Logs that are locked: what waits, what goes on, and what ends the lock.

use super::{after_kill, check_all, logs, put_all};
use crate::harness::{DIR, Db, open_all, protocols, tiny_on, until};
use parking_lot::{Condvar, Mutex};
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread;
use whitewater::checkpoint::Checkpoint;
use whitewater::fs::Fs;
use whitewater::fs::fault::{Fault, FaultFs, FaultOp, FileKind, OpSet, PathMatch, Rule};
use whitewater::fs::mem::MemFs;
use whitewater::properties::IS_WRITE_STOPPED;
use whitewater::{ErrorKind, FlushOptions, Options, Point, WriteOptions};

/// The names and the bytes of all logs.
fn bytes_of_logs(fs: &MemFs) -> Vec<(String, Vec<u8>)> {
    let content = |name: String| {
        let file = fs.open_random(&Path::new(DIR).join(&name)).unwrap();
        let len = file.len().unwrap() as usize;
        let bytes = file.read_at(0, len).unwrap().to_vec();
        (name, bytes)
    };
    logs(fs, DIR).into_iter().map(content).collect()
}

fn is_stopped(db: &Db) -> bool {
    db.property_int_value(IS_WRITE_STOPPED).unwrap() == Some(1)
}

/// Everything else that the calling thread has locked is refused at once.
fn check_own_calls(db: &Db) {
    let aborted = |e: whitewater::Error| assert_eq!(e.kind(), ErrorKind::Aborted, "{e}");
    aborted(db.put("k", "mine").unwrap_err());
    aborted(db.flush().unwrap_err());
    aborted(db.create_cf("more", &Options::default()).unwrap_err());
}

#[test]
fn writes_wait_and_logs_stay_until_all_who_have_locked_unlock() {
    for (protocol, buffered) in protocols()
        .into_iter()
        .flat_map(|p| [(p, false), (p, true)])
    {
        let fs = MemFs::new();
        let mut o = tiny_on(fs.clone());
        o.set_commit_protocol(protocol);
        o.set_manual_wal_flush(buffered);
        let db = open_all(&o, Path::new(DIR)).unwrap();
        put_all(&db, 0..20);
        db.lock_wal().unwrap();
        check_all(&after_kill(&o, &fs), 0..20);
        let frozen = (db.latest_sequence_number(), bytes_of_logs(&fs));
        let done = AtomicUsize::new(0);
        thread::scope(|scope| {
            scope.spawn(|| {
                put_all(&db, 20..40);
                done.fetch_add(1, Ordering::Relaxed);
            });
            scope.spawn(|| {
                db.flush().unwrap();
                done.fetch_add(1, Ordering::Relaxed);
            });
            scope
                .spawn(|| {
                    // By a thread that has not locked.
                    assert_eq!(db.unlock_wal().unwrap_err().kind(), ErrorKind::Aborted);
                    let mut impatient = WriteOptions::default();
                    impatient.set_no_slowdown(true);
                    let e = db.put_opt("k", "now", &impatient).unwrap_err();
                    assert_eq!(e.kind(), ErrorKind::Incomplete, "{e}");
                    let mut now = FlushOptions::default();
                    now.set_wait(false);
                    assert_eq!(db.flush_opt(&now).unwrap_err().kind(), ErrorKind::TryAgain);
                    db.lock_wal().unwrap();
                    db.unlock_wal().unwrap();
                })
                .join()
                .unwrap();
            check_own_calls(&db);
            db.lock_wal().unwrap();
            db.unlock_wal().unwrap();
            let copy = format!("{DIR}.copy");
            let checkpoint = Checkpoint::new(&db).unwrap();
            checkpoint.create_checkpoint(Path::new(&copy)).unwrap();
            let copy = open_all(&o, Path::new(&copy)).unwrap();
            check_all(&copy, 0..20);
            assert_eq!(copy.get("k00020").unwrap(), None);
            assert!(is_stopped(&db));
            assert_eq!(db.get_sorted_wal_files().unwrap().len(), frozen.1.len());
            assert!(
                (db.latest_sequence_number(), bytes_of_logs(&fs)) == frozen,
                "{protocol}"
            );
            assert_eq!(done.load(Ordering::Relaxed), 0, "{protocol}");
            db.unlock_wal().unwrap();
        });
        assert!(!is_stopped(&db));
        assert_eq!(db.unlock_wal().unwrap_err().kind(), ErrorKind::Aborted);
        check_all(&db, 0..40);
        drop(db);
        check_all(&open_all(&o, Path::new(DIR)).unwrap(), 0..40);
    }
}

/// How far a writer and the thread that locks are.
#[derive(Default)]
struct Progress {
    state: Mutex<(bool, bool)>,
    changed: Condvar,
}

impl Progress {
    /// The writer has its place in the log.
    fn reserved(&self) {
        let mut state = self.state.lock();
        state.0 = true;
        self.changed.notify_all();
        while !state.1 {
            self.changed.wait(&mut state);
        }
    }

    fn await_reserved(&self) {
        let mut state = self.state.lock();
        while !state.0 {
            self.changed.wait(&mut state);
        }
    }

    fn let_go(&self) {
        self.state.lock().1 = true;
        self.changed.notify_all();
    }
}

/// The lock waits for them, so that they are in what it keeps.
#[test]
fn writes_that_have_begun_are_in_the_log_when_it_is_locked() {
    let fs = MemFs::new();
    let mut o = tiny_on(fs.clone());
    let progress = Arc::new(Progress::default());
    let hook = progress.clone();
    o.set_failpoints(move |point, number| match point {
        Point::Reserved if number == 1 => hook.reserved(),
        Point::Closed => hook.let_go(),
        _ => {}
    });
    let db = open_all(&o, Path::new(DIR)).unwrap();
    thread::scope(|scope| {
        scope.spawn(|| db.put("k00000", "0").unwrap());
        progress.await_reserved();
        db.lock_wal().unwrap();
        let found = db.get("k00000").unwrap();
        let before = bytes_of_logs(&fs);
        progress.let_go(); // a lock that did not wait has not met the writer
        assert_eq!(found.as_deref(), Some(&b"0"[..]));
        assert!(bytes_of_logs(&fs) == before);
        db.unlock_wal().unwrap();
    });
}

#[test]
fn closing_ends_the_lock_and_loses_nothing() {
    let fs = MemFs::new();
    let o = tiny_on(fs.clone());
    let db = open_all(&o, Path::new(DIR)).unwrap();
    put_all(&db, 0..10);
    let mut unlogged = WriteOptions::default();
    unlogged.disable_wal(true);
    db.put_opt("unlogged", "1", &unlogged).unwrap();
    db.lock_wal().unwrap();
    db.lock_wal().unwrap();
    drop(db);
    let db = open_all(&o, Path::new(DIR)).unwrap();
    check_all(&db, 0..10);
    assert!(db.get("unlogged").unwrap().is_some());

    // The end of background work is the end of the lock, too.
    db.lock_wal().unwrap();
    db.cancel_all_background_work(true);
    assert_eq!(db.unlock_wal().unwrap_err().kind(), ErrorKind::Aborted);
    assert!(!is_stopped(&db));
}

#[test]
fn a_lock_that_fails_does_not_hold() {
    let mem = MemFs::new();
    let faults = Arc::new(FaultFs::new(Arc::new(mem.clone())));
    let mut o = tiny_on(mem.clone());
    o.set_fs(faults.clone());
    o.set_manual_wal_flush(true);
    o.set_max_bgerror_resume_count(0);
    let db = open_all(&o, Path::new(DIR)).unwrap();
    put_all(&db, 0..10);
    faults.add_rule(Rule {
        path: PathMatch::Kind(FileKind::Log),
        fault: Fault::Enospc,
        ..Rule::nth(OpSet::of(&[FaultOp::Append]), 1)
    });
    assert!(db.lock_wal().is_err());
    assert_eq!(db.unlock_wal().unwrap_err().kind(), ErrorKind::Aborted);
    db.resume().unwrap();
    put_all(&db, 10..20);
    db.lock_wal().unwrap();
    db.unlock_wal().unwrap();
    check_all(&db, 0..20);
    drop(db);
    check_all(&open_all(&o, Path::new(DIR)).unwrap(), 0..20);
}

/// Tables that replace others, and logs that nothing needs, go when the log is unlocked.
#[test]
fn a_flush_that_was_due_goes_on_and_its_log_stays() {
    let fs = MemFs::new();
    let o = tiny_on(fs.clone());
    let db = open_all(&o, Path::new(DIR)).unwrap();
    put_all(&db, 0..10);
    let first = logs(&fs, DIR);
    let mut now = FlushOptions::default();
    now.set_wait(false);
    db.disable_file_deletions().unwrap();
    db.flush_opt(&now).unwrap();
    db.lock_wal().unwrap();
    db.enable_file_deletions().unwrap();
    until("the table is there", || {
        !db.live_files().unwrap().is_empty()
    });
    let kept = logs(&fs, DIR);
    assert!(first.iter().all(|log| kept.contains(log)), "{kept:?}");
    db.unlock_wal().unwrap();
    until("the log is gone", || !logs(&fs, DIR).contains(&first[0]));
    check_all(&db, 0..10);
}
