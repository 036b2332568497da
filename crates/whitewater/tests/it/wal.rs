//! The log's options: the archive, updates since a number, manual flushes,
//! compression, tracking, recycling, and what a killed process leaves.

use crate::harness::hold::{HOLD, gated};
use crate::harness::hooked::{HookedLogs, LogHook};
use crate::harness::{DIR, Db, open_all, tiny, tiny_on, watched};
use crate::interop::tools;
use rand::rngs::StdRng;
use rand::{RngCore, SeedableRng};
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex};
use std::thread;
use std::time::{Duration, SystemTime};
use whitewater::fs::Fs;
use whitewater::fs::mem::MemFs;
use whitewater::fs::os::OsFs;
use whitewater::statistics::Ticker;
use whitewater::{
    CommitProtocol, DBCompressionType, DBRecoveryMode, ErrorKind, FlushOptions, IteratorMode,
    Options, WriteBatch, WriteBatchIterator, WriteOptions,
};

/// The names of the files in a directory that end with `.log`.
fn logs(fs: &dyn Fs, dir: &str) -> Vec<String> {
    let mut names = match fs.exists(Path::new(dir)).unwrap() {
        true => fs.list(Path::new(dir)).unwrap(),
        false => Vec::new(),
    };
    names.retain(|name| name.ends_with(".log"));
    names.sort();
    names
}

fn archived(fs: &dyn Fs) -> Vec<String> {
    logs(fs, "/data/db/archive")
}

/// Options with an archive that keeps everything.
fn archiving(fs: impl Fs) -> Options {
    let mut o = tiny_on(fs);
    o.set_wal_ttl_seconds(1_000_000);
    o
}

/// Keys put, as text, and what else there is.
#[derive(Default)]
struct Keys(Vec<String>);

impl WriteBatchIterator for Keys {
    fn put(&mut self, key: &[u8], _value: &[u8]) {
        self.0.push(String::from_utf8(key.to_vec()).unwrap());
    }
    fn delete(&mut self, key: &[u8]) {
        self.0.push(format!("-{}", String::from_utf8_lossy(key)));
    }
}

/// Number and keys of each batch since `since`.
fn updates(db: &Db, since: u64) -> Vec<(u64, Vec<String>)> {
    let updates = db.get_updates_since(since).unwrap();
    updates
        .map(|update| {
            let (number, batch) = update.unwrap();
            let mut keys = Keys::default();
            batch.iterate(&mut keys);
            (number, keys.0)
        })
        .collect()
}

/// Waits until there are so many logs in a directory: a flush returns before
/// it has moved or deleted old ones.
fn await_logs(fs: &dyn Fs, dir: &str, count: usize) {
    let mut names = logs(fs, dir);
    for _ in 0..20_000 {
        if names.len() == count {
            break;
        }
        thread::sleep(Duration::from_millis(1));
        names = logs(fs, dir);
    }
    assert_eq!(names.len(), count, "{names:?}");
}

fn await_archived(fs: &dyn Fs, count: usize) {
    await_logs(fs, "/data/db/archive", count);
}

/// A clock ahead of the system's, by more at each look if it is told to run.
///
/// An archive is looked at by whoever is first after some time: a flush that
/// has moved its log there, or a compaction just before. While the clock runs,
/// whoever has moved a log looks, too.
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

    /// So many seconds more at each look.
    fn run(&self, pace: u64) {
        self.pace.store(pace, Ordering::Relaxed);
    }
}

fn put_all(db: &Db, range: std::ops::Range<u32>) {
    for i in range {
        db.put(format!("k{i:05}"), format!("v{i}")).unwrap();
    }
}

fn check_all(db: &Db, range: std::ops::Range<u32>) {
    for i in range {
        let value = db.get(format!("k{i:05}")).unwrap();
        assert_eq!(value, Some(format!("v{i}").into_bytes()), "k{i:05}");
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

    // Not looked at before half the time has passed, and not old then.
    ahead.set(60);
    put_all(&db, 30..40);
    db.flush().unwrap();
    await_archived(&fs, 4);

    // Recovery ignores the archive and archives what it has replayed.
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
fn updates_come_from_archived_and_live_logs_in_order() {
    let fs = MemFs::new();
    let mut o = archiving(fs);
    o.enable_statistics();
    let db = open_all(&o, Path::new(DIR)).unwrap();
    assert_eq!(updates(&db, 0), []);
    assert_eq!(o.get_ticker_count(Ticker::GetUpdatesSinceCalls), 1);
    assert!(!db.get_updates_since(0).unwrap().valid());
    put_all(&db, 0..3);
    db.flush().unwrap();
    let mut batch = WriteBatch::default();
    batch.put("a", "1");
    batch.put("b", "2");
    db.write(batch).unwrap();
    db.write_without_wal(WriteBatch::default()).unwrap();
    let mut unlogged = WriteBatch::default();
    unlogged.put("unlogged", "1");
    db.write_without_wal(unlogged).unwrap();
    let mut note = WriteBatch::default();
    note.put_log_data("a note");
    db.write(note).unwrap();
    db.delete("a").unwrap();

    let text = |since| {
        let line = |(number, keys): (u64, Vec<String>)| format!("{number}:{}", keys.join(","));
        let lines: Vec<_> = updates(&db, since).into_iter().map(line).collect();
        lines.join(" ")
    };
    assert_eq!(text(0), "1:k00000 2:k00001 3:k00002 4:a,b 7: 8:-a");
    assert_eq!(text(3), "4:a,b 7: 8:-a");
    // As in the rocksdb crate: a batch counts by its first number.
    assert_eq!(text(4), "7: 8:-a");
    assert_eq!(text(6), "7: 8:-a");
    assert_eq!(text(8), "");
    let at_the_end = db.get_updates_since(8).unwrap();
    assert!(at_the_end.valid(), "the batch asked for is there");
    at_the_end.status().unwrap();
    let e = db.get_updates_since(9).unwrap_err();
    assert_eq!(e.kind(), ErrorKind::NotFound);
    assert!(e.to_string().contains("not yet written"), "{e}");

    // An iterator outlives what it reads.
    let mut iter = db.get_updates_since(0).unwrap();
    assert_eq!(iter.next().unwrap().unwrap().0, 1);
    drop(db);
    assert_eq!(iter.count(), 5);
}

#[test]
fn a_log_deleted_under_an_iterator_is_an_error_unless_it_is_open() {
    let fs = MemFs::new();
    let db = open_all(&tiny_on(fs.clone()), Path::new(DIR)).unwrap();
    put_all(&db, 0..10);
    let mut first = db.get_updates_since(0).unwrap();
    assert_eq!(first.next().unwrap().unwrap().0, 1);
    db.flush().unwrap();
    // The log it reads is deleted, but open; the next one is there.
    await_logs(&fs, DIR, 1);
    put_all(&db, 10..12);
    let mut second = db.get_updates_since(10).unwrap();
    let numbers: Vec<u64> = first.by_ref().map(|u| u.unwrap().0).collect();
    assert_eq!(numbers, (2..=12).collect::<Vec<_>>());
    first.status().unwrap();

    // Here it is not.
    assert_eq!(second.next().unwrap().unwrap().0, 11);
    let mut third = db.get_updates_since(10).unwrap();
    db.flush().unwrap();
    put_all(&db, 12..14);
    db.flush().unwrap();
    await_logs(&fs, DIR, 1);
    put_all(&db, 14..15);
    assert_eq!(third.next().unwrap().unwrap().0, 11);
    assert_eq!(third.next().unwrap().unwrap().0, 12);
    let e = third.next().unwrap().unwrap_err();
    assert_eq!(e.kind(), ErrorKind::NotFound);
    assert!(e.to_string().contains("Gap in sequence numbers"), "{e}");
    assert!(!third.valid());
    assert_eq!(third.status().unwrap_err().kind(), ErrorKind::NotFound);
    assert!(third.next().is_none());
}

#[test]
fn a_log_recycled_under_an_iterator_ends_it_with_an_error() {
    let fs = MemFs::new();
    let mut o = tiny_on(fs.clone());
    o.set_recycle_log_file_num(1);
    let db = open_all(&o, Path::new(DIR)).unwrap();
    let value = vec![b'v'; 20_000];
    for i in 0..3 {
        db.put(format!("k{i}"), &value).unwrap();
    }
    let mut iter = db.get_updates_since(0).unwrap();
    assert_eq!(iter.next().unwrap().unwrap().0, 1);
    for round in 0..4 {
        db.put(format!("r{round}"), &value).unwrap();
        db.flush().unwrap();
        await_logs(&fs, DIR, 2);
    }
    let mut last = 1;
    let failure = iter.by_ref().find_map(|update| match update {
        Ok((number, _)) => {
            assert_eq!(number, last + 1, "nothing is passed over");
            last = number;
            None
        }
        Err(e) => Some(e),
    });
    assert!(last < 7);
    let failure = failure.expect("the rest is gone");
    assert!(
        matches!(failure.kind(), ErrorKind::NotFound | ErrorKind::Corruption),
        "{failure}"
    );
}

#[test]
fn what_is_not_visible_is_not_shown() {
    watched("a writer held up", 60, || {
        let fs = gated();
        let db = open_all(&archiving(fs.clone()), Path::new(DIR)).unwrap();
        put_all(&db, 0..3);
        thread::scope(|scope| {
            scope.spawn(|| db.put("held", HOLD).unwrap());
            fs.hook.await_writer();
            let before = db.latest_sequence_number();
            scope.spawn(|| put_all(&db, 3..4));
            scope.spawn(|| put_all(&db, 4..5));
            // They have logged what they put soon, behind the hole.
            for _ in 0..50 {
                assert_eq!(updates(&db, 0).len(), 3);
                thread::sleep(Duration::from_millis(1));
            }
            assert_eq!(db.latest_sequence_number(), before);
            fs.hook.open();
        });
        // A leader may have logged the two as one batch.
        let operations: usize = updates(&db, 0).iter().map(|(_, ops)| ops.len()).sum();
        assert_eq!(operations, 6);
    });
}

/// Eight writers, logged and not, while others flush and one reads updates.
fn read_beside_writers(options: &Options, dir: &Path, unlogged: bool) {
    const WRITERS: u32 = 8;
    const WRITES: u32 = 1_500;
    let db = open_all(options, dir).unwrap();
    let done = AtomicBool::new(false);
    let mut seen: Vec<(u64, Vec<String>)> = Vec::new();
    thread::scope(|scope| {
        let writers: Vec<_> = (0..WRITERS)
            .map(|w| {
                let db = &db;
                scope.spawn(move || {
                    let mut without = WriteOptions::default();
                    without.disable_wal(true);
                    let mut synced = WriteOptions::default();
                    synced.set_sync(true);
                    for n in 0..WRITES {
                        let key = format!("{w}-{n}");
                        let value = vec![b'x'; (n * 7 % 300) as usize];
                        match n % 50 {
                            3 if unlogged => db.put_opt(format!("not-{key}"), &value, &without),
                            7 => db.put_opt(&key, &value, &synced),
                            _ => db.put(&key, &value),
                        }
                        .unwrap();
                    }
                })
            })
            .collect();
        let flusher = scope.spawn(|| {
            while !done.load(Ordering::Relaxed) {
                db.flush().unwrap();
                thread::sleep(Duration::from_millis(5));
            }
        });
        let mut since = 0;
        while writers.iter().any(|w| !w.is_finished()) {
            let visible = db.latest_sequence_number();
            let new = updates(&db, since);
            if let Some((last, keys)) = new.last() {
                since = last + keys.len().max(1) as u64 - 1;
            }
            assert!(unlogged || since >= visible, "{since} of {visible}");
            seen.extend(new);
        }
        done.store(true, Ordering::Relaxed);
        flusher.join().unwrap();
        seen.extend(updates(&db, since));
    });
    assert!(seen.is_sorted_by(|a, b| a.0 + a.1.len() as u64 <= b.0));
    let all = updates(&db, 0);
    let differ = (0..seen.len().max(all.len())).find(|i| seen.get(*i) != all.get(*i));
    let differ = differ.map(|i| (i, seen.get(i), all.get(i), seen.len(), all.len()));
    assert_eq!(differ, None, "in pieces as in one");
    let mut next = BTreeMap::new();
    for key in seen.iter().flat_map(|(_, keys)| keys) {
        let (w, n) = key.split_once('-').unwrap();
        let n: u32 = n.parse().unwrap();
        let expected = next.entry(w.to_owned()).or_insert(0u32);
        if unlogged && *expected % 50 == 3 {
            *expected += 1;
        }
        assert_eq!(n, *expected, "writer {w}");
        *expected += 1;
    }
    assert_eq!(next.len() as u32, WRITERS);
    assert!(next.values().all(|n| *n == WRITES), "{next:?}");
}

#[test]
fn updates_beside_writers_in_memory() {
    for unlogged in [false, true] {
        watched("updates beside writers", 240, move || {
            read_beside_writers(&archiving(MemFs::new()), Path::new(DIR), unlogged);
        });
    }
}

#[test]
fn updates_beside_writers_on_the_real_file_system() {
    for (protocol, packed) in [
        (CommitProtocol::Ordered, false),
        (CommitProtocol::Ordered, true),
        (CommitProtocol::Grouped, true),
        (CommitProtocol::Pipelined, true),
        (CommitProtocol::Unordered, false),
    ] {
        watched("updates beside writers", 240, move || {
            let dir = tempfile::tempdir().unwrap();
            let mut o = archiving(OsFs);
            o.set_commit_protocol(protocol);
            o.set_wal_bytes_per_sync(16 << 10);
            if packed {
                o.set_wal_compression_type(DBCompressionType::Zstd);
            }
            read_beside_writers(&o, dir.path(), false);
        });
    }
}

#[test]
fn updates_with_manual_flushes() {
    watched("updates beside writers", 240, || {
        let mut o = archiving(MemFs::new());
        o.set_manual_wal_flush(true);
        read_beside_writers(&o, Path::new(DIR), false);
    });
}

/// The database as the death of the process leaves it.
fn after_kill(o: &Options, fs: &MemFs) -> Db {
    let mut o = o.clone();
    o.set_fs(Arc::new(fs.crash_clone(1.0, 0)));
    open_all(&o, Path::new(DIR)).unwrap()
}

#[test]
fn records_stay_in_memory_until_they_are_flushed() {
    let fs = MemFs::new();
    let mut o = tiny_on(fs.clone());
    o.set_manual_wal_flush(true);
    o.set_write_buffer_size(4 << 20);
    let db = open_all(&o, Path::new(DIR)).unwrap();
    put_all(&db, 0..10);
    assert_eq!(after_kill(&o, &fs).get("k00000").unwrap(), None);
    db.flush_wal(false).unwrap();
    check_all(&after_kill(&o, &fs), 0..10);

    put_all(&db, 10..20);
    let after = after_kill(&o, &fs);
    check_all(&after, 0..10);
    assert_eq!(after.get("k00010").unwrap(), None);

    // A synced write makes all before it durable.
    let mut synced = WriteOptions::default();
    synced.set_sync(true);
    db.put_opt("synced", "1", &synced).unwrap();
    let mut cut = o.clone();
    cut.set_fs(Arc::new(fs.crash_clone(0.0, 0)));
    check_all(&open_all(&cut, Path::new(DIR)).unwrap(), 0..20);

    // A switch writes out what there is.
    put_all(&db, 20..30);
    db.flush().unwrap();
    check_all(&after_kill(&o, &fs), 0..30);

    // More than a megabyte does not stay.
    put_all(&db, 30..31);
    db.put("large", vec![b'x'; 1_100_000]).unwrap();
    check_all(&after_kill(&o, &fs), 0..31);

    put_all(&db, 31..32);
    drop(db);
    check_all(&after_kill(&o, &fs), 0..32);
}

#[test]
fn a_killed_process_leaves_a_prefix_whatever_was_flushed() {
    let fs = MemFs::new();
    let mut o = tiny_on(fs.clone());
    o.set_manual_wal_flush(true);
    let db = open_all(&o, Path::new(DIR)).unwrap();
    let flushed = AtomicU64::new(0);
    let mut kills = Vec::new();
    thread::scope(|scope| {
        let writers: Vec<_> = (0..4)
            .map(|w| {
                let db = &db;
                scope.spawn(move || {
                    for n in 0..2_000u32 {
                        db.put(format!("{w}-{n:05}"), [b'x'; 50]).unwrap();
                    }
                })
            })
            .collect();
        while writers.iter().any(|w| !w.is_finished()) {
            let before = db.latest_sequence_number();
            db.flush_wal(false).unwrap();
            flushed.store(before, Ordering::Relaxed);
            kills.push((before, fs.crash_clone(1.0, 0)));
            thread::sleep(Duration::from_millis(10));
        }
    });
    assert!(!kills.is_empty());
    for (least, left) in kills.into_iter().take(20) {
        let db = open_all(&tiny_on(left), Path::new(DIR)).unwrap();
        let mut entries = 0;
        for w in 0..4 {
            let has = |n: u32| db.get(format!("{w}-{n:05}")).unwrap().is_some();
            let here = (0..2_000).take_while(|n| has(*n)).count() as u32;
            assert!((here..2_000).all(|n| !has(n)), "a prefix of each writer's");
            entries += u64::from(here);
        }
        assert!(entries >= least, "{entries} of {least} flushed");
    }
}

/// Bytes that do not compress.
fn noise(len: usize) -> Vec<u8> {
    let mut bytes = vec![0; len];
    StdRng::seed_from_u64(7).fill_bytes(&mut bytes);
    bytes
}

#[test]
fn compressed_logs_are_read_back() {
    for protocol in [CommitProtocol::Ordered, CommitProtocol::Grouped] {
        for recycle in [0, 2] {
            let fs = MemFs::new();
            let mut o = tiny_on(fs.clone());
            o.set_commit_protocol(protocol);
            o.set_recycle_log_file_num(recycle);
            o.set_wal_compression_type(DBCompressionType::Zstd);
            let db = open_all(&o, Path::new(DIR)).unwrap();
            put_all(&db, 0..100);
            db.flush().unwrap();
            put_all(&db, 100..200);
            db.flush().unwrap();
            put_all(&db, 200..300);
            db.put("large", vec![b'x'; 60_000]).unwrap();
            // The last log is no longer than its records: compressed ones.
            let killed = after_kill(&o, &fs);
            check_all(&killed, 0..300);
            assert_eq!(killed.get("large").unwrap(), Some(vec![b'x'; 60_000]));
            drop(db);
            let last = Path::new(DIR).join(logs(&fs, DIR).pop().unwrap());
            assert!(fs.file_size(&last).unwrap() < 12_000);

            // A frame that fills whole blocks of the log.
            let db = open_all(&o, Path::new(DIR)).unwrap();
            db.put("noise", noise(150_000)).unwrap();
            let killed = after_kill(&o, &fs);
            assert_eq!(killed.get("noise").unwrap(), Some(noise(150_000)));
            drop(db);
            let last = Path::new(DIR).join(logs(&fs, DIR).pop().unwrap());
            assert!(fs.file_size(&last).unwrap() > 150_000);

            // And by a database that writes plain ones.
            o.set_wal_compression_type(DBCompressionType::None);
            let db = open_all(&o, Path::new(DIR)).unwrap();
            check_all(&db, 0..300);
            put_all(&db, 300..310);
            drop(db);
            check_all(&open_all(&o, Path::new(DIR)).unwrap(), 0..310);
        }
    }
    let mut o = tiny_on(MemFs::new());
    o.set_wal_compression_type(DBCompressionType::Lz4);
    let e = open_all(&o, Path::new(DIR)).unwrap_err();
    assert_eq!(e.kind(), ErrorKind::NotSupported);
    assert!(e.to_string().contains("wal_compression"), "{e}");
}

#[test]
fn rocksdb_reads_compressed_logs() {
    if !tools::available() {
        return;
    }
    for protocol in [CommitProtocol::Ordered, CommitProtocol::Grouped] {
        let dir = tempfile::tempdir().unwrap();
        let mut o = tiny();
        o.set_write_buffer_size(64 << 20);
        o.set_commit_protocol(protocol);
        o.set_wal_compression_type(DBCompressionType::Zstd);
        let db = open_all(&o, dir.path()).unwrap();
        thread::scope(|scope| {
            for w in 0..3u32 {
                let db = &db;
                scope.spawn(move || put_all(db, w * 500..w * 500 + 500));
            }
        });
        // A frame of several blocks of its own, but less than one of the
        // log's: RocksDB 7.8 takes a fragment where the one before it was in
        // its block for the rest of that one, and loses what it holds.
        let mut large = noise(20_000);
        large.resize(300_000, b'x');
        db.put("large", &large).unwrap();
        db.delete("k00000").unwrap();
        let mut batch = WriteBatch::default();
        batch.put("x", "1");
        batch.put("y", "2");
        db.write(batch).unwrap();
        let last = db.latest_sequence_number();
        drop(db);

        let log = logs(&OsFs, dir.path().to_str().unwrap()).pop().unwrap();
        let file = format!("--walfile={}", dir.path().join(log).display());
        let dump = tools::run("/usr/bin/ldb", &["dump_wal", &file, "--header"]);
        let counts: u64 = dump
            .lines()
            .filter_map(|line| line.split(',').nth(1)?.parse::<u64>().ok())
            .sum();
        assert_eq!(counts, last, "{dump}");
        // And it recovers from them.
        let scan = tools::ldb(dir.path(), &["scan", "--max_keys=3"]);
        assert!(scan.contains("k00001"), "{scan}");
        assert!(
            scan.contains("k00002") && !scan.contains("k00000"),
            "{scan}"
        );
        let got = tools::ldb(dir.path(), &["get", "large", "--value_hex"]);
        assert_eq!(got.trim().len(), 2 + 2 * large.len());
        assert_eq!(tools::ldb(dir.path(), &["get", "y"]).trim(), "2");
    }
}

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
    // The option is not sticky, and what was tracked is forgotten when it is
    // off, and when the logs go.
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

#[test]
fn a_hole_that_a_killed_writer_left_is_the_end_of_the_log() {
    watched("a writer held up", 60, || {
        let fs = gated();
        let mut o = tiny_on(fs.clone());
        // A leader that is held up holds up all behind it, and leaves no hole.
        o.set_commit_protocol(CommitProtocol::Ordered);
        let db = open_all(&o, Path::new(DIR)).unwrap();
        put_all(&db, 0..3);
        let killed = thread::scope(|scope| {
            scope.spawn(|| db.put("held", HOLD).unwrap());
            fs.hook.await_writer();
            let end = log_end(&fs);
            scope.spawn(|| put_all(&db, 3..4));
            // Until its record is behind the hole.
            while log_end(&fs) == end {
                thread::yield_now();
            }
            let killed = fs.files.crash_clone(1.0, 0);
            fs.hook.open();
            killed
        });
        drop(db);
        for mode in [
            DBRecoveryMode::TolerateCorruptedTailRecords,
            DBRecoveryMode::PointInTime,
        ] {
            let mut o = tiny_on(killed.crash_clone(1.0, 0));
            o.set_wal_recovery_mode(mode);
            o.set_wal_ttl_seconds(1_000_000);
            let db = open_all(&o, Path::new(DIR)).unwrap();
            check_all(&db, 0..3);
            assert_eq!(db.get("held").unwrap(), None);
            assert_eq!(db.get("k00003").unwrap(), None);
            // The numbers behind the hole are used again, and the archive has
            // nothing of what was dropped.
            put_all(&db, 7..9);
            let keys: Vec<_> = updates(&db, 0)
                .into_iter()
                .map(|(n, k)| (n, k.concat()))
                .collect();
            let expected = [(1, 0), (2, 1), (3, 2), (4, 7), (5, 8)];
            assert_eq!(keys, expected.map(|(n, i)| (n, format!("k{i:05}"))));
        }
    });
}

#[test]
fn a_writer_killed_behind_a_switch_leaves_the_end_of_its_log_missing() {
    watched("a writer held up", 60, || {
        let fs = gated();
        let mut o = tiny_on(fs.clone());
        o.set_commit_protocol(CommitProtocol::Ordered);
        let db = open_all(&o, Path::new(DIR)).unwrap();
        put_all(&db, 0..3);
        let killed = thread::scope(|scope| {
            scope.spawn(|| db.put("held", HOLD).unwrap());
            fs.hook.await_writer();
            let mut at_once = FlushOptions::default();
            at_once.set_wait(false);
            db.flush_opt(&at_once).unwrap();
            let killed = fs.files.crash_clone(1.0, 0);
            fs.hook.open();
            killed
        });
        assert_eq!(logs(&killed, DIR).len(), 2);
        for mode in [
            DBRecoveryMode::TolerateCorruptedTailRecords,
            DBRecoveryMode::PointInTime,
        ] {
            let mut o = tiny_on(killed.crash_clone(1.0, 0));
            o.set_wal_recovery_mode(mode);
            let db = open_all(&o, Path::new(DIR)).unwrap();
            check_all(&db, 0..3);
            assert_eq!(db.get("held").unwrap(), None);
            put_all(&db, 7..9);
        }
        let mut o = tiny_on(killed);
        o.set_wal_recovery_mode(DBRecoveryMode::AbsoluteConsistency);
        let e = open_all(&o, Path::new(DIR)).unwrap_err();
        assert_eq!(e.kind(), ErrorKind::Corruption);
    });
}

/// Whether each extension of a log was to be initialized.
#[derive(Debug, Default)]
struct Asked(Mutex<Vec<bool>>);

impl LogHook for Asked {
    fn initializing(&self, on: bool) {
        self.0.lock().unwrap().push(on);
    }
}

#[test]
fn logs_are_initialized_while_writes_are_synced_one_by_one() {
    let asked = Arc::new(Asked::default());
    let mut o = tiny_on(HookedLogs::new(asked.clone()));
    o.set_write_buffer_size(1 << 20); // 64 KiB at a time
    let db = open_all(&o, Path::new(DIR)).unwrap();
    let mut synced = WriteOptions::default();
    synced.set_sync(true);
    let unsynced = WriteOptions::default();
    let write = |n: u32, options: &WriteOptions| {
        asked.0.lock().unwrap().clear();
        for i in 0..n {
            db.put_opt(format!("{i}"), [b'v'; 1_000], options).unwrap();
        }
        asked.0.lock().unwrap().clone()
    };
    assert_eq!(*asked.0.lock().unwrap(), [false], "nothing is known yet");
    assert_eq!(write(200, &synced), [true; 3]);
    assert!(!write(200, &unsynced).last().unwrap());
    assert!(write(200, &synced).last().unwrap());
    drop(db);
    assert_eq!(
        open_all(&o, Path::new(DIR)).unwrap().get("199").unwrap(),
        Some(vec![b'v'; 1_000])
    );
}

/// The end of what was written to the last log.
fn log_end(fs: &impl Fs) -> usize {
    let last = Path::new(DIR).join(logs(fs, DIR).pop().unwrap());
    let bytes = whitewater::fs::read_file(fs, &last, 1 << 30).unwrap();
    bytes.iter().rposition(|b| *b != 0).unwrap_or(0)
}

#[test]
fn damage_before_acknowledged_writes_is_no_torn_tail() {
    let fs = MemFs::new();
    let mut o = tiny_on(fs.clone());
    o.set_wal_recovery_mode(DBRecoveryMode::TolerateCorruptedTailRecords);
    let db = open_all(&o, Path::new(DIR)).unwrap();
    put_all(&db, 0..10);
    drop(db);
    let log = Path::new(DIR).join(logs(&fs, DIR).pop().unwrap());
    let mut bytes = whitewater::fs::read_file(&fs, &log, 1 << 20).unwrap();
    let at = bytes.windows(6).position(|w| w == b"k00004").unwrap();
    bytes[at] ^= 1;
    fs.create(&log).unwrap().append(&bytes).unwrap();
    let e = open_all(&o, Path::new(DIR)).unwrap_err();
    assert_eq!(e.kind(), ErrorKind::Corruption);
    assert_eq!(e.file(), Some(log.as_path()));
}

#[test]
fn power_cuts_leave_an_archive_without_gaps() {
    for seed in 0..12 {
        let fs = MemFs::new();
        let mut o = archiving(fs.clone());
        // A compaction would record how far the numbers got that are lost here.
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

/// A change of the files records the last number, of writes that were not
/// synced, too: after a power cut nobody gets it again, and readers of the
/// logs go on behind it.
#[test]
fn numbers_that_a_power_cut_took_are_not_used_again() {
    let fs = MemFs::new();
    let mut o = archiving(fs.clone());
    o.set_disable_auto_compactions(true);
    let db = open_all(&o, Path::new(DIR)).unwrap();
    put_all(&db, 0..10);
    db.compact_range(None::<&[u8]>, None::<&[u8]>);
    put_all(&db, 10..20);
    db.delete_file_in_range("k00000", "k00009").unwrap();
    let left = fs.crash_clone(0.0, 1);
    drop(db);
    o.set_fs(Arc::new(left));
    let db = open_all(&o, Path::new(DIR)).unwrap();
    assert_eq!(db.iterator(IteratorMode::Start).count(), 0);
    assert_eq!(db.latest_sequence_number(), 20);
    put_all(&db, 20..22);
    let read = updates(&db, 0);
    let numbers: Vec<u64> = read.iter().map(|(n, _)| *n).collect();
    assert_eq!(numbers, (1..=10).chain(21..=22).collect::<Vec<_>>());
    assert_eq!(read[10].1, ["k00020"]);
}

#[test]
fn options_that_the_log_has_do_not_disturb_one_another() {
    let dir = tempfile::tempdir().unwrap();
    let mut o = tiny();
    o.set_manual_wal_flush(true);
    o.set_wal_compression_type(DBCompressionType::Zstd);
    o.set_recycle_log_file_num(2);
    o.set_wal_bytes_per_sync(4 << 10);
    o.set_track_and_verify_wals_in_manifest(true);
    for round in 0..3u32 {
        let db = open_all(&o, dir.path()).unwrap();
        check_all(&db, 0..round * 1_000);
        put_all(&db, round * 1_000..(round + 1) * 1_000);
        db.flush_wal(true).unwrap();
        assert!(o.get_track_and_verify_wals_in_manifest());
    }
    check_all(&open_all(&o, dir.path()).unwrap(), 0..3_000);
}
