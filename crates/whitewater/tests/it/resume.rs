//! Failures of writes with many in flight, and going on after them.
//!
//! Writers write batches over three column families. Whatever fails, every
//! call returns; a batch whose write failed is nowhere, before a resumption,
//! after it, and at the next open; one that was acknowledged is everywhere.

use crate::harness::points::shake;
use crate::harness::{DIR, Db, open_all, tiny, watched};
use std::collections::BTreeSet;
use std::path::Path;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex};
use whitewater::checkpoint::Checkpoint;
use whitewater::fs::fault::{Fault, FaultFs, FaultOp, OpSet, PathMatch, Rule, When};
use whitewater::fs::mem::MemFs;
use whitewater::{
    CommitProtocol, DBRawIteratorWithThreadMode as DBRawIterator, DBRecoveryMode, ErrorKind,
    Options, Point, Severity, SstFileWriter, WriteBatch, WriteOptions,
};

const FAMILIES: [&str; 3] = ["default", "one", "two"];
const WRITERS: usize = 16;

fn options(fs: Arc<FaultFs>, protocol: CommitProtocol) -> Options {
    let mut options = tiny();
    options.set_fs(fs);
    options.set_commit_protocol(protocol);
    options.set_bgerror_resume_retry_interval(64);
    options
}

fn open(options: &Options) -> Db {
    let db = open_all(options, Path::new(DIR)).unwrap();
    for family in FAMILIES {
        if db.cf_handle(family).is_none() {
            db.create_cf(family, options).unwrap();
        }
    }
    db
}

/// Writes batch `n`: an entry in each family, and a range deletion of nothing.
fn write(db: &Db, n: u64, sync: bool) -> Result<(), whitewater::Error> {
    let mut batch = WriteBatch::default();
    for family in FAMILIES {
        let cf = db.cf_handle(family).unwrap();
        batch.put_cf(&cf, n.to_be_bytes(), vec![n as u8; 100]);
        let mut end = n.to_be_bytes().to_vec();
        end.push(1);
        let mut start = n.to_be_bytes().to_vec();
        start.push(0);
        batch.delete_range_cf(&cf, start, end);
    }
    let mut options = WriteOptions::default();
    options.set_sync(sync);
    db.write_opt(batch, &options)
}

/// The batches that are there, each of which must be whole.
fn batches(db: &Db) -> BTreeSet<u64> {
    let snapshot = db.snapshot();
    let of = |family: &str| -> BTreeSet<u64> {
        let cf = db.cf_handle(family).unwrap();
        let mut it = snapshot.raw_iterator_cf(&cf);
        let mut found = BTreeSet::new();
        it.seek_to_first();
        while it.valid() {
            found.insert(u64::from_be_bytes(it.key().unwrap().try_into().unwrap()));
            it.next();
        }
        it.status().unwrap();
        found
    };
    let found = of(FAMILIES[0]);
    for family in &FAMILIES[1..] {
        assert_eq!(of(family), found, "half a batch");
    }
    for n in &found {
        assert!(db.get(n.to_be_bytes()).unwrap().is_some(), "batch {n}");
    }
    found
}

/// What writers were told.
#[derive(Default)]
struct Told {
    next: AtomicU64,
    acked: Mutex<BTreeSet<u64>>,
    failed: Mutex<BTreeSet<u64>>,
}

impl Told {
    fn tell(&self, n: u64, result: &Result<(), whitewater::Error>) {
        let list = match result {
            Ok(()) => &self.acked,
            Err(_) => &self.failed,
        };
        list.lock().unwrap().insert(n);
    }

    fn write(&self, db: &Db, sync: bool) -> Result<(), whitewater::Error> {
        let n = self.next.fetch_add(1, Ordering::Relaxed);
        let result = write(db, n, sync);
        self.tell(n, &result);
        result
    }

    fn check(&self, db: &Db, what: &str) {
        assert_eq!(batches(db), *self.acked.lock().unwrap(), "{what}");
    }

    /// Writers that go on until they meet a failure, and once more.
    fn storm(&self, db: &Db, sync: impl Fn(usize, u64) -> bool + Sync) {
        let stop = AtomicBool::new(false);
        std::thread::scope(|scope| {
            for t in 0..WRITERS {
                let (stop, sync) = (&stop, &sync);
                scope.spawn(move || {
                    let mut i = 0;
                    while !stop.load(Ordering::Relaxed) {
                        if self.write(db, sync(t, i)).is_err() {
                            stop.store(true, Ordering::Relaxed);
                        }
                        i += 1;
                    }
                    let _ = self.write(db, false);
                });
            }
        });
    }
}

fn rule(op: FaultOp, end: &str, n: u64, fault: Fault, sticky: bool) -> Rule {
    Rule {
        ops: OpSet::of(&[op]),
        path: PathMatch::EndsWith(end.to_owned()),
        when: When::Nth(n),
        fault,
        sticky,
    }
}

/// Fails something of the log under 16 writers; resumes, twice; reopens.
fn fail_and_resume(protocol: CommitProtocol, op: FaultOp, fault: Fault, n: u64) {
    let mem = MemFs::new();
    let faulty = FaultFs::new(Arc::new(mem.clone()));
    let options = options(Arc::new(faulty.clone()), protocol);
    let db = open(&options);
    let told = Told::default();
    let syncs = op == FaultOp::Sync;
    for round in 0..2 {
        let what = format!("{protocol} {op:?} {fault:?} {n}, round {round}");
        faulty.add_rule(rule(op, ".log", n, fault, true));
        told.storm(&db, |t, i| syncs && t == 0 && i % 3 == 0);
        let met = !faulty.injected().is_empty();
        assert!(met, "{what}");
        told.check(&db, &format!("{what}: frozen"));
        // A log that cannot grow may have room for some more.
        let mut more = (0..10_000).map(|_| told.write(&db, false));
        let refused = more.find_map(Result::err).expect("refused at last");
        let frozen = db.latest_sequence_number();
        assert_eq!(refused.kind(), ErrorKind::IOError, "{what}");
        if refused.severity() == Severity::HardError {
            assert!(db.flush().is_err(), "{what}: no flush before");
            assert!(!refused.is_retryable());
        }
        assert_eq!(db.latest_sequence_number(), frozen, "{what}");
        told.check(&db, &format!("{what}: refused"));
        let count = db.property_int_value("rocksdb.background-errors");
        assert!(count.unwrap() >= Some(u64::from(refused.severity() >= Severity::HardError)));

        faulty.clear_rules();
        db.resume().unwrap_or_else(|e| panic!("{what}: {e}"));
        told.check(&db, &format!("{what}: resumed"));
        assert!(db.latest_sequence_number() >= frozen);
        for sync in [false, true] {
            told.write(&db, sync)
                .unwrap_or_else(|e| panic!("{what}: writing on: {e}"));
        }
        told.check(&db, &format!("{what}: written on"));
        db.flush().unwrap();
        told.check(&db, &format!("{what}: flushed"));
    }
    // The last write was synced.
    let after_cut = Arc::new(FaultFs::new(Arc::new(mem.crash_clone(0.0, 1))));
    let acked = told.acked.lock().unwrap().clone();
    let cut = open(&self::options(after_cut, protocol));
    assert_eq!(batches(&cut), acked, "after a power cut");
    drop(db);
    let db = open(&options);
    told.check(&db, "reopened");
    told.write(&db, true).unwrap();
}

/// All of them: with unordered writes, too, nothing of a write is seen whose
/// log write failed, and no write is under way when the tests look.
const PROTOCOLS: [CommitProtocol; 4] = [
    CommitProtocol::Ordered,
    CommitProtocol::Grouped,
    CommitProtocol::Pipelined,
    CommitProtocol::Unordered,
];

#[test]
fn writes_go_on_after_a_failed_append() {
    for protocol in PROTOCOLS {
        for fault in [Fault::Eio, Fault::Enospc, Fault::ShortWrite] {
            for n in [1, 20, 300] {
                watched("append", 60, move || {
                    fail_and_resume(protocol, FaultOp::Append, fault, n);
                });
            }
        }
    }
}

#[test]
fn writes_go_on_after_a_failed_sync() {
    for protocol in PROTOCOLS {
        for n in [1, 7] {
            watched("sync", 60, move || {
                fail_and_resume(protocol, FaultOp::Sync, Fault::Eio, n);
            });
        }
    }
}

#[test]
fn writes_go_on_after_a_log_could_not_grow_or_be_made() {
    for protocol in PROTOCOLS {
        for op in [FaultOp::Extend, FaultOp::Create, FaultOp::Truncate] {
            watched("room", 60, move || {
                fail_and_resume(protocol, op, Fault::Enospc, 1);
            });
        }
    }
}

/// A resumption that fails leaves the database as it was, and the next one
/// finishes it.
#[test]
fn a_resumption_may_fail_anywhere_and_be_repeated() {
    watched("resumptions", 120, || {
        let mut met = 0;
        for n in 1..200 {
            let mem = MemFs::new();
            let faulty = FaultFs::new(Arc::new(mem.clone()));
            let options = options(Arc::new(faulty.clone()), CommitProtocol::Ordered);
            let db = open(&options);
            let told = Told::default();
            faulty.add_rule(rule(FaultOp::Append, ".log", 30, Fault::Eio, false));
            told.storm(&db, |_, _| false);
            faulty.clear_rules();
            let before = faulty.injected().len();
            faulty.add_rule(Rule {
                ops: OpSet::WRITES,
                path: PathMatch::Any,
                when: When::Nth(n),
                fault: Fault::Enospc,
                sticky: false,
            });
            let first = db.resume();
            faulty.clear_rules();
            let hit = faulty.injected().len() > before;
            told.check(&db, &format!("after operation {n}: {first:?}"));
            match db.resume() {
                Ok(()) => told.write(&db, true).unwrap(),
                Err(e) => assert!(e.severity() >= Severity::FatalError, "{n}: {e}"),
            }
            told.check(&db, &format!("after operation {n}, twice"));
            // What happens to unsynced writes at a power cut is not said here.
            drop(db);
            let db = open(&options);
            let found = batches(&db);
            let acked = told.acked.lock().unwrap();
            assert!(found.is_superset(&acked), "operation {n}");
            if first.is_ok() {
                assert_eq!(found, *acked, "operation {n}: a failed write came back");
            }
            if !hit {
                break;
            }
            met += 1;
        }
        assert!(met > 10, "only {met}");
    });
}

/// Memtables that wait for more to be flushed with.
#[test]
fn a_resumption_makes_tables_of_all_memtables() {
    let mem = MemFs::new();
    let faulty = FaultFs::new(Arc::new(mem.clone()));
    let mut options = options(Arc::new(faulty.clone()), CommitProtocol::Ordered);
    options.set_min_write_buffer_number_to_merge(4);
    options.set_max_write_buffer_number(8);
    let db = open(&options);
    for n in 0..150u64 {
        db.put(n.to_be_bytes(), [1; 1_000]).unwrap();
    }
    let waiting = db.property_int_value("rocksdb.num-immutable-mem-table");
    assert!(waiting.unwrap() > Some(0));
    faulty.add_rule(rule(FaultOp::Append, ".log", 1, Fault::Eio, false));
    db.put("failed", "1").unwrap_err();
    db.resume().unwrap();
    let killed = Arc::new(FaultFs::new(Arc::new(mem.crash_clone(1.0, 0))));
    let left = open(&self::options(killed, CommitProtocol::Ordered));
    for db in [db, left] {
        let missing = (0..150u64).filter(|n| db.get(n.to_be_bytes()).unwrap().is_none());
        assert_eq!(missing.collect::<Vec<_>>(), [0u64; 0]);
        assert_eq!(db.get("failed").unwrap(), None);
    }
}

/// Views from before a resumption do not show failed writes after it.
#[test]
fn old_views_and_snapshots_keep_to_what_they_saw() {
    let faulty = FaultFs::new(Arc::new(MemFs::new()));
    let db = open(&options(Arc::new(faulty.clone()), CommitProtocol::Ordered));
    let told = Told::default();
    for _ in 0..10 {
        told.write(&db, false).unwrap();
    }
    faulty.add_rule(rule(FaultOp::Append, ".log", 50, Fault::Eio, false));
    told.storm(&db, |_, _| false);
    let acked = told.acked.lock().unwrap().clone();
    let snapshot = db.snapshot();
    let mut it = db.raw_iterator();
    it.seek_to_first();
    db.resume().unwrap();
    for _ in 0..100 {
        told.write(&db, false).unwrap();
    }
    db.flush().unwrap();
    db.compact_range(None::<&[u8]>, None::<&[u8]>);
    let mut found = BTreeSet::new();
    while it.valid() {
        found.insert(u64::from_be_bytes(it.key().unwrap().try_into().unwrap()));
        it.next();
    }
    assert_eq!(found, acked);
    let keys = snapshot.iterator(whitewater::IteratorMode::Start);
    let seen: BTreeSet<u64> = keys
        .map(|kv| u64::from_be_bytes((*kv.unwrap().0).try_into().unwrap()))
        .collect();
    assert_eq!(seen, acked);
}

/// What a reader saw, and what had been acknowledged before it looked.
struct Seen {
    before: BTreeSet<u64>,
    found: BTreeSet<u64>,
}

/// The batches that an iterator shows from where it is.
fn rest(it: &mut DBRawIterator<'_, Db>) -> BTreeSet<u64> {
    let mut found = BTreeSet::new();
    while it.valid() {
        found.insert(u64::from_be_bytes(it.key().unwrap().try_into().unwrap()));
        it.next();
    }
    it.status().unwrap();
    found
}

/// Readers pin views all the time while writes fail, are hidden and given up,
/// and later ones take numbers above theirs; some use their views only then.
/// None shows a failed write, or lacks an earlier one.
#[test]
fn no_view_from_before_a_failure_shows_it_later() {
    for protocol in PROTOCOLS {
        // Half an unordered batch may be seen while it is written.
        let whole = protocol != CommitProtocol::Unordered;
        for seed in 0..3 {
            watched("views", 120, move || views(protocol, seed, whole));
        }
    }
}

fn views(protocol: CommitProtocol, seed: u64, whole: bool) {
    const ROUNDS: u64 = 5;
    let what = format!("{protocol}, seed {seed}");
    let faulty = FaultFs::new(Arc::new(MemFs::new()));
    let mut options = options(Arc::new(faulty.clone()), protocol);
    shake(&mut options, seed, 16);
    let db = &open(&options);
    let told = &Told::default();
    let over = &AtomicBool::new(false);
    let looks: Vec<Seen> = std::thread::scope(|scope| {
        let acked = || told.acked.lock().unwrap().clone();
        let reader = move |n: u64| {
            let mut seen = Vec::new();
            let mut held = Vec::new();
            while !over.load(Ordering::SeqCst) {
                let before = acked();
                match n {
                    // Kept for later, each over one of the families.
                    0 | 1 if held.len() < 60 => {
                        let family = FAMILIES[held.len() % 3];
                        let cf = db.cf_handle(family).unwrap();
                        let mut it = db.raw_iterator_cf(&cf);
                        it.seek_to_first();
                        let snapshot = (n == 1).then(|| db.snapshot());
                        held.push((before, it, snapshot));
                    }
                    2 if whole => {
                        let found = batches(db);
                        seen.push(Seen { before, found });
                    }
                    // The newest ones, failed or not: pinned, then looked for.
                    _ => {
                        let next = told.next.load(Ordering::Relaxed);
                        let newest = next.saturating_sub(20)..next;
                        let before = newest.clone().filter(|n| before.contains(n)).collect();
                        let found = newest.filter(|n| db.get(n.to_be_bytes()).unwrap().is_some());
                        let found = found.collect();
                        seen.push(Seen { before, found });
                    }
                }
            }
            for (before, mut it, snapshot) in held {
                if let Some(snapshot) = snapshot {
                    let mut later = snapshot.raw_iterator();
                    later.seek_to_first();
                    let found = rest(&mut later);
                    let before = before.clone();
                    seen.push(Seen { before, found });
                }
                let found = rest(&mut it);
                seen.push(Seen { before, found });
            }
            seen
        };
        let readers: Vec<_> = (0..4).map(|n| scope.spawn(move || reader(n))).collect();
        for round in 0..ROUNDS {
            let n = 20 + (seed * 41 + round * 67) % 150;
            faulty.add_rule(rule(FaultOp::Append, ".log", n, Fault::Eio, true));
            told.storm(db, |_, _| false);
            faulty.clear_rules();
            db.resume().unwrap_or_else(|e| panic!("{what}: {e}"));
            for _ in 0..50 {
                told.write(db, false).unwrap();
            }
        }
        over.store(true, Ordering::SeqCst);
        let looks = readers.into_iter().map(|r| r.join().unwrap());
        looks.flatten().collect()
    });
    let failed = told.failed.lock().unwrap();
    assert!(failed.len() as u64 >= ROUNDS, "{what}");
    assert!(looks.len() > 100, "{what}: {} looks", looks.len());
    for Seen { before, found } in &looks {
        let ghosts: Vec<_> = found.intersection(&failed).collect();
        assert!(ghosts.is_empty(), "{what}: failed {ghosts:?} are seen");
        let lost: Vec<_> = before.difference(found).collect();
        assert!(lost.is_empty(), "{what}: {lost:?} are not seen");
    }
    told.check(db, &what);
}

/// Full disks do not stop the database: flushes are tried again; a writer that
/// would have to wait for them is told.
#[test]
fn flushes_are_tried_again_when_there_is_room() {
    watched("retries", 60, || {
        let mem = MemFs::new();
        let faulty = FaultFs::new(Arc::new(mem.clone()));
        let mut options = options(Arc::new(faulty.clone()), CommitProtocol::Ordered);
        options.enable_statistics();
        let db = open(&options);
        let told = Told::default();
        faulty.add_rule(rule(FaultOp::Append, ".sst", 1, Fault::Enospc, true));
        let e = loop {
            if let Err(e) = told.write(&db, false) {
                break e;
            }
        };
        assert_eq!(e.kind(), ErrorKind::IOError);
        assert!(e.is_no_space() && e.is_retryable(), "{e}");
        assert!(db.flush().unwrap_err().is_no_space());
        told.check(&db, "full");
        let tables = |fs: &MemFs| {
            let names = whitewater::fs::Fs::list(fs, Path::new(DIR)).unwrap();
            names.iter().filter(|name| name.ends_with(".sst")).count()
        };
        let live = db.live_files().unwrap().len();
        faulty.clear_rules();
        db.resume().unwrap();
        // A family whose flush has just failed once more would stall the write.
        for family in FAMILIES {
            db.flush_cf(&db.cf_handle(family).unwrap()).unwrap();
        }
        told.write(&db, true).unwrap();
        told.check(&db, "room");
        let ticker = whitewater::statistics::Ticker::ErrorHandlerAutoresumeSuccessCount;
        assert!(options.get_ticker_count(ticker) > 0);
        let more = db.live_files().unwrap().len();
        assert!(more > live);
        db.wait_for_compact(&Default::default()).unwrap();
        drop(db);
        let db = open(&options);
        told.check(&db, "reopened");
        let live = db.live_files().unwrap().len();
        assert_eq!(tables(&mem), live, "no partial output");
    });
}

#[test]
fn too_many_retries_stop_writes_until_a_resumption() {
    watched("retries", 60, || {
        let faulty = FaultFs::new(Arc::new(MemFs::new()));
        let mut options = options(Arc::new(faulty.clone()), CommitProtocol::Ordered);
        options.set_max_bgerror_resume_count(2);
        let db = open(&options);
        let told = Told::default();
        told.write(&db, false).unwrap();
        faulty.add_rule(rule(FaultOp::Append, ".sst", 1, Fault::Enospc, true));
        assert!(db.flush().is_err());
        let e = told.write(&db, false).unwrap_err();
        assert_eq!(e.severity(), Severity::HardError);
        assert!(db.resume().is_err(), "still full");
        assert!(told.write(&db, false).is_err());
        faulty.clear_rules();
        db.resume().unwrap();
        told.write(&db, false).unwrap();
        told.check(&db, "resumed");
    });
}

#[test]
fn what_is_not_safe_is_refused_with_the_reason() {
    let faulty = FaultFs::new(Arc::new(MemFs::new()));
    let options = options(Arc::new(faulty.clone()), CommitProtocol::Ordered);
    let db = open(&options);
    let told = Told::default();
    db.resume().unwrap();
    told.write(&db, false).unwrap();
    faulty.add_rule(Rule {
        ops: OpSet::of(&[FaultOp::Sync]),
        path: PathMatch::Contains("MANIFEST".into()),
        when: When::Nth(1),
        fault: Fault::Eio,
        sticky: false,
    });
    assert!(db.flush().is_err());
    let e = db.resume().unwrap_err();
    assert_eq!(e.severity(), Severity::FatalError);
    assert!(e.to_string().contains("MANIFEST"), "{e}");
    assert!(told.write(&db, false).is_err());
    told.check(&db, "refused");
    drop(db);
    let db = open(&options);
    told.check(&db, "reopened");
    db.cancel_all_background_work(true);
    let e = db.resume().unwrap_err();
    assert_eq!(e.kind(), ErrorKind::ShutdownInProgress);
}

/// Writers are stalled, the log fails, the database is resumed or closed.
#[test]
fn stalled_writers_outlive_failures_resumptions_and_the_end() {
    for resumes in [true, false] {
        watched("stalled", 60, move || {
            let faulty = FaultFs::new(Arc::new(MemFs::new()));
            let mut options = options(Arc::new(faulty.clone()), CommitProtocol::Ordered);
            options.set_disable_auto_compactions(false);
            options.set_level_zero_file_num_compaction_trigger(100);
            options.set_level_zero_slowdown_writes_trigger(100);
            options.set_level_zero_stop_writes_trigger(100);
            options.set_soft_pending_compaction_bytes_limit(0);
            options.set_hard_pending_compaction_bytes_limit(0);
            let db = open(&options);
            let told = Told::default();
            // Every flush fails for a while: memtables fill up, writers wait.
            faulty.add_rule(rule(FaultOp::Create, ".sst", 1, Fault::Enospc, true));
            told.storm(&db, |_, _| false);
            assert_eq!(
                db.property_int_value("rocksdb.is-write-stopped"),
                Ok(Some(1))
            );
            // Any of the families may have been the one that was full.
            let stops = |family: &&str| -> u64 {
                let cf = db.cf_handle(family).unwrap();
                let stats = db.property_map_value_cf(&cf, "rocksdb.cf-write-stall-stats");
                stats.unwrap().unwrap()["memtable-limit-stops"]
                    .parse()
                    .unwrap()
            };
            assert_ne!(FAMILIES.iter().map(stops).sum::<u64>(), 0);
            let mut impatient = WriteOptions::default();
            impatient.set_no_slowdown(true);
            let e = db.put_opt(b"12345678", b"v", &impatient).unwrap_err();
            assert!(e.is_retryable(), "{e}");
            faulty.add_rule(rule(FaultOp::Append, ".log", 1, Fault::Eio, true));
            let _ = db.flush();
            if resumes {
                faulty.clear_rules();
                db.resume().unwrap();
                db.flush().unwrap();
                told.write(&db, true).unwrap();
                told.check(&db, "resumed");
            }
            drop(db);
            faulty.clear_rules();
            let db = open(&options);
            told.check(&db, "reopened");
        });
    }
}

#[test]
fn compressed_logs_go_on_after_a_failure() {
    for protocol in PROTOCOLS {
        let mem = MemFs::new();
        let faulty = FaultFs::new(Arc::new(mem.clone()));
        let options = |fs| {
            let mut options = options(fs, protocol);
            options.set_wal_compression_type(whitewater::DBCompressionType::Zstd);
            options
        };
        let db = open(&options(Arc::new(faulty.clone())));
        let told = Told::default();
        faulty.add_rule(rule(FaultOp::Append, ".log", 30, Fault::Eio, false));
        told.storm(&db, |_, _| false);
        faulty.clear_rules();
        db.resume().unwrap();
        for _ in 0..10 {
            told.write(&db, true).unwrap();
        }
        let cut = FaultFs::new(Arc::new(mem.crash_clone(0.0, 1)));
        told.check(&open(&options(Arc::new(cut))), "after a power cut");
    }
}

/// Whoever follows the logs over a resumption misses nothing in silence, and
/// sees nothing of failed writes.
#[test]
fn updates_over_a_resumption_go_on_or_say_that_some_are_missing() {
    let mem = MemFs::new();
    let faulty = FaultFs::new(Arc::new(mem.clone()));
    let mut options = options(Arc::new(faulty.clone()), CommitProtocol::Ordered);
    options.set_wal_ttl_seconds(1_000_000);
    let db = whitewater::DB::open(&options, Path::new(DIR)).unwrap();
    let put = |n: u8| db.put([n], b"v");
    let since = |n: u64| db.get_updates_since(n).unwrap();
    let numbers = |it: &mut whitewater::DBWALIterator| -> Result<Vec<u64>, _> {
        it.map(|update| update.map(|(number, _)| number)).collect()
    };
    (0..10).for_each(|n| put(n).unwrap());
    db.flush().unwrap();
    (10..20).for_each(|n| put(n).unwrap());
    let mut late = since(1);
    late.next().unwrap().unwrap();
    let mut prompt = since(1);
    for n in 2..20 {
        assert_eq!(prompt.next().unwrap().unwrap().0, n);
    }
    faulty.add_rule(rule(FaultOp::Sync, ".log", 1, Fault::Eio, false));
    let mut synced = WriteOptions::default();
    synced.set_sync(true);
    db.put_opt("failed", b"v", &synced).unwrap_err();
    faulty.clear_rules();
    assert_eq!(db.latest_sequence_number(), 20);
    db.resume().unwrap();
    (30..33).for_each(|n| put(n).unwrap());
    // The log that it has open holds 21, which failed.
    assert_eq!(numbers(&mut prompt).unwrap(), [20, 22, 23, 24]);
    assert_eq!(numbers(&mut since(20)).unwrap(), [22, 23, 24]);
    for mut it in [late, since(1), since(10)] {
        let e = numbers(&mut it).unwrap_err();
        assert!(e.to_string().contains("Gap in sequence"), "{e}");
    }
}

/// A log that was replaced and is still there at the next open does not go to
/// the archive.
#[test]
fn updates_of_a_later_life_have_no_failed_writes() {
    let faulty = Arc::new(FaultFs::new(Arc::new(MemFs::new())));
    let mut options = options(faulty.clone(), CommitProtocol::Ordered);
    options.set_wal_ttl_seconds(1_000_000);
    let open = || whitewater::DB::open(&options, Path::new(DIR)).unwrap();
    let db = open();
    db.put("before", "v").unwrap();
    db.disable_file_deletions().unwrap();
    faulty.add_rule(rule(FaultOp::Sync, ".log", 1, Fault::Eio, false));
    let mut synced = WriteOptions::default();
    synced.set_sync(true);
    db.put_opt("failed", "v", &synced).unwrap_err();
    db.resume().unwrap();
    db.put("after", "v").unwrap();
    drop(db);
    for life in 0..2 {
        let db = open();
        assert_eq!(db.get("failed").unwrap(), None);
        let e = db.get_updates_since(0).err().unwrap();
        assert!(e.to_string().contains("Gap in sequence"), "{life}: {e}");
        let updates = db.get_updates_since(2).unwrap();
        let numbers: Vec<u64> = updates.map(|update| update.unwrap().0).collect();
        assert_eq!(numbers, [3], "{life}");
    }
}

/// A resumption that is killed when its log is there, but not yet recorded,
/// leaves what opens as it did without it.
#[test]
fn a_killed_resumption_is_no_obstacle() {
    for mode in MODES {
        let mem = MemFs::new();
        let faulty = FaultFs::new(Arc::new(mem.clone()));
        let db = open(&options(Arc::new(faulty.clone()), CommitProtocol::Ordered));
        let told = Told::default();
        (0..5).for_each(|_| told.write(&db, false).unwrap());
        faulty.add_rule(rule(FaultOp::Append, ".log", 1, Fault::Eio, false));
        told.write(&db, false).unwrap_err();
        faulty.clear_rules();
        faulty.add_rule(rule(FaultOp::Create, ".sst", 1, Fault::Eio, true));
        faulty.add_rule(rule(FaultOp::Remove, ".log", 1, Fault::Eio, true));
        db.resume().unwrap_err();
        let left = Arc::new(FaultFs::new(Arc::new(mem.crash_clone(1.0, 0))));
        let mut options = options(left, CommitProtocol::Ordered);
        options.set_wal_recovery_mode(mode);
        told.check(&open(&options), &format!("{mode:?}"));
    }
}

const MODES: [DBRecoveryMode; 4] = [
    DBRecoveryMode::TolerateCorruptedTailRecords,
    DBRecoveryMode::AbsoluteConsistency,
    DBRecoveryMode::PointInTime,
    DBRecoveryMode::SkipAnyCorruptedRecord,
];

/// Updates are read on behind a hole that a writer who panicked has left.
#[test]
fn updates_go_on_over_a_hole_that_was_given_up() {
    watched("a writer that panics", 60, || {
        let mem = Arc::new(FaultFs::new(Arc::new(MemFs::new())));
        let mut options = options(mem, CommitProtocol::Ordered);
        let (armed, behind) = (AtomicBool::new(false), AtomicBool::new(false));
        let flags = Arc::new((armed, behind));
        let seen = flags.clone();
        options.set_failpoints(move |point, _| match point {
            Point::Reserved if seen.0.swap(false, Ordering::SeqCst) => {
                while !seen.1.load(Ordering::SeqCst) {
                    std::thread::yield_now();
                }
                panic!("planted");
            }
            Point::Waiting => seen.1.store(true, Ordering::SeqCst),
            _ => {}
        });
        let db = &whitewater::DB::open(&options, Path::new(DIR)).unwrap();
        (0..5).for_each(|n| db.put([n], b"v").unwrap());
        let updates = db.get_updates_since(0).unwrap();
        flags.0.store(true, Ordering::SeqCst);
        std::thread::scope(|scope| {
            let panics = scope.spawn(|| db.put("panics", "v"));
            while flags.0.load(Ordering::SeqCst) {
                std::thread::yield_now();
            }
            db.put("behind", "v").unwrap_err();
            panics.join().unwrap_err();
        });
        db.resume().unwrap();
        db.put("later", "v").unwrap();
        let numbers: Vec<u64> = updates.map(|update| update.unwrap().0).collect();
        assert_eq!(numbers, [1, 2, 3, 4, 5, 8]);
    });
}

#[test]
fn tracked_logs_that_a_resumption_replaced_are_not_missed() {
    for protocol in [CommitProtocol::Ordered, CommitProtocol::Grouped] {
        let memory = MemFs::new();
        let fs = Arc::new(FaultFs::new(Arc::new(memory.clone())));
        let mut o = options(fs.clone(), protocol);
        o.set_track_and_verify_wals_in_manifest(true);
        let db = open(&o);
        // Closed logs that are tracked, and needed.
        for n in 0..10 {
            write(&db, n, true).unwrap();
            if n % 3 == 0 {
                db.flush_cf(&db.cf_handle("one").unwrap()).unwrap();
            }
        }
        fs.add_rule(rule(FaultOp::Append, ".log", 1, Fault::Eio, false));
        write(&db, 10, true).unwrap_err();
        db.resume().unwrap();
        write(&db, 11, false).unwrap();
        let mut killed = options(fs.clone(), protocol);
        killed.set_fs(Arc::new(memory.after_kill()));
        killed.set_track_and_verify_wals_in_manifest(true);
        let expected: BTreeSet<u64> = (0..10).chain([11]).collect();
        assert_eq!(batches(&open(&killed)), expected);
        assert_eq!(batches(&db), expected);
    }
}

/// A dropped family was the only one to need the oldest logs, which the
/// manifest does not know yet: a resumption that gets no further leaves them.
#[test]
fn a_resumption_that_fails_keeps_the_logs_that_the_manifest_names() {
    for protocol in PROTOCOLS {
        for archive in [0, 1_000] {
            let memory = MemFs::new();
            let fs = Arc::new(FaultFs::new(Arc::new(memory.clone())));
            let mut options = options(fs.clone(), protocol);
            options.set_wal_ttl_seconds(archive);
            let db = open(&options);
            let two = db.cf_handle("two").unwrap();
            db.put_cf(&db.cf_handle("one").unwrap(), "old", "1")
                .unwrap();
            for n in 0..2 {
                db.put_cf(&two, [n], "1").unwrap();
                db.flush_cf(&two).unwrap();
            }
            let mut synced = WriteOptions::default();
            synced.set_sync(true);
            db.put_cf_opt(&two, "synced", "1", &synced).unwrap();
            db.drop_cf("one").unwrap();
            fs.add_rule(rule(FaultOp::Append, ".log", 1, Fault::Eio, true));
            db.put_cf(&two, "failed", "1").unwrap_err();
            fs.clear_rules();
            fs.add_rule(rule(FaultOp::Create, ".log", 1, Fault::Enospc, true));
            db.resume().unwrap_err();
            for mode in MODES {
                let mut killed = options.clone();
                killed.set_fs(Arc::new(memory.after_kill()));
                killed.set_wal_recovery_mode(mode);
                let db = open_all(&killed, Path::new(DIR)).unwrap();
                let two = db.cf_handle("two").unwrap();
                let found = db.get_cf(&two, "synced").unwrap();
                assert!(found.is_some(), "{protocol} {archive} {mode:?}");
            }
        }
    }
}

/// The last number may be that of a write which failed.
#[test]
fn the_first_after_a_resumption_may_be_no_write() {
    for protocol in PROTOCOLS {
        let fs = Arc::new(FaultFs::new(Arc::new(MemFs::new())));
        let options = options(fs.clone(), protocol);
        let db = open(&options);
        db.put("before", "1").unwrap();
        fs.add_rule(rule(FaultOp::Append, ".log", 1, Fault::Eio, true));
        db.put("failed", "1").unwrap_err();
        fs.clear_rules();
        db.resume().unwrap();
        let checkpoint = Checkpoint::new(&db).unwrap();
        checkpoint.create_checkpoint("/data/copy").unwrap();
        let mut table = SstFileWriter::create(&options);
        table.open("/data/table").unwrap();
        table.put("ingested", "1").unwrap();
        table.finish().unwrap();
        db.ingest_external_file(vec!["/data/table"]).unwrap();
        db.put("after", "1").unwrap();
        let there = |key: &str| db.get(key).unwrap().is_some();
        let found = ["before", "failed", "ingested", "after"].map(there);
        assert_eq!(found, [true, false, true, true], "{protocol}");
    }
}
