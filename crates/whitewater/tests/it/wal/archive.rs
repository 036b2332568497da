//! Logs that are no longer needed go to the archive, and leave it by age and size.

use super::{archiving, await_logs, check_all, logs, put_all, updates};
use crate::harness::{DIR, Db, open_all, tiny_on};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, SystemTime};
use whitewater::fs::Fs;
use whitewater::fs::mem::MemFs;
use whitewater::{DBCompressionType, ErrorKind, Options};

fn archived(fs: &dyn Fs) -> Vec<String> {
    logs(fs, "/data/db/archive")
}

fn await_archived(fs: &dyn Fs, count: usize) {
    await_logs(fs, "/data/db/archive", count);
}

/// A clock ahead of the system's. If it is told to run, it gains time with each look.
///
/// The first thread that comes after some time looks at the archive: a flush that has moved its log
/// there, or a compaction just before. While the clock runs, a thread that has moved a log looks,
/// too.
#[derive(Clone, Default)]
struct Ahead {
    seconds: Arc<AtomicU64>,
    pace: Arc<AtomicU64>,
}

impl Ahead {
    fn clock_of(o: &mut Options) -> Self {
        let ahead = Ahead::default();
        let Ahead { seconds, pace } = ahead.clone();
        o.set_clock(move || {
            let by = seconds.fetch_add(pace.load(Ordering::Relaxed), Ordering::Relaxed);
            SystemTime::now() + Duration::from_secs(by)
        });
        ahead
    }

    fn set(&self, seconds: u64) {
        self.seconds.store(seconds, Ordering::Relaxed);
    }

    /// How many seconds it gains at each look.
    fn run(&self, pace: u64) {
        self.pace.store(pace, Ordering::Relaxed);
    }
}

#[test]
fn obsolete_logs_go_to_the_archive_and_leave_it_by_age() {
    let fs = MemFs::new();
    let mut o = tiny_on(fs.clone());
    o.set_wal_ttl_seconds(100);
    o.set_recycle_log_file_num(4);
    let ahead = Ahead::clock_of(&mut o);
    let db = open_all(&o, Path::new(DIR)).unwrap();
    for round in 0..3 {
        put_all(&db, round * 10..round * 10 + 10);
        db.flush().unwrap();
    }
    await_archived(&fs, 3);
    assert_eq!(logs(&fs, DIR).len(), 1);
    assert_eq!(updates(&db, 0).len(), 30);

    // The archive is not looked at before half the time has passed, and the log is not too old
    // then.
    ahead.set(60);
    put_all(&db, 30..40);
    db.flush().unwrap();
    await_archived(&fs, 4);

    // Recovery ignores the archive, and archives logs that it has replayed.
    put_all(&db, 40..50);
    drop(db);
    let damaged = filename(&archived(&fs)[0]);
    fs.create(&damaged).unwrap().append(b"rubbish").unwrap();
    let db = open_all(&o, Path::new(DIR)).unwrap();
    check_all(&db, 0..50);
    await_archived(&fs, 5);
    assert_eq!(updates(&db, 10).len(), 40);

    ahead.run(1_000);
    put_all(&db, 50..60);
    db.flush().unwrap();
    await_archived(&fs, 0);
    check_all(&db, 0..60);

    let gone = db.get_updates_since(5).unwrap_err();
    assert_eq!(gone.kind(), ErrorKind::Corruption);
    assert!(
        gone.to_string().contains("Gap in sequence number"),
        "{gone}"
    );
    drop(db);
    Db::destroy(&o, Path::new(DIR)).unwrap();
    assert!(!fs.exists(Path::new(DIR)).unwrap());
}

fn filename(log: &str) -> PathBuf {
    Path::new(DIR).join("archive").join(log)
}

#[test]
fn the_archive_keeps_to_its_size() {
    let fs = MemFs::new();
    let mut o = tiny_on(fs.clone());
    o.set_wal_size_limit_mb(1);
    o.set_write_buffer_size(1 << 20);
    let ahead = Ahead::clock_of(&mut o);
    let db = open_all(&o, Path::new(DIR)).unwrap();
    ahead.run(601);
    for round in 1..8 {
        db.put("big", vec![b'x'; 300_000]).unwrap();
        db.flush().unwrap();
        // Three of that size fit.
        await_archived(&fs, round.min(3));
    }
}

#[test]
fn power_cuts_leave_an_archive_without_gaps() {
    for seed in 0..12 {
        let fs = MemFs::new();
        let mut o = archiving(fs.clone());
        // A compaction would record the last of the numbers that are lost here.
        o.set_disable_auto_compactions(true);
        if seed % 2 == 0 {
            o.set_wal_compression_type(DBCompressionType::Zstd);
        }
        let db = open_all(&o, Path::new(DIR)).unwrap();
        for round in 0..4 {
            put_all(&db, round * 10..round * 10 + 10);
            if round < 3 {
                db.flush().unwrap();
            }
        }
        let keep = [0.0, 0.5, 1.0][seed as usize % 3];
        let left = fs.crash_clone(keep, seed);
        drop(db);
        o.set_fs(Arc::new(left));
        let db = open_all(&o, Path::new(DIR)).unwrap();
        check_all(&db, 0..30);
        let last = db.latest_sequence_number();
        put_all(&db, 50..52);
        for since in 0..=last + 2 {
            let numbers: Vec<u64> = updates(&db, since).iter().map(|(n, _)| *n).collect();
            assert_eq!(numbers, (since + 1..=last + 2).collect::<Vec<_>>());
        }
    }
}
