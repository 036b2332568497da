//! Everything at once: writers, flushes, ingestions, checkpoints, column families that come and go,
//! options that change, logs that fail, and resumptions.
//!
//! What was acknowledged is there at the end, in each checkpoint that began later, and after a
//! crash. What failed is nowhere, and no call hangs.

use crate::harness::points::shake;
use crate::harness::{DIR, Db, open_all, parallel_campaign, protocols, tiny, watched};
use parking_lot::Mutex;
use std::collections::BTreeSet;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering::SeqCst};
use std::thread;
use whitewater::checkpoint::Checkpoint;
use whitewater::fs::Fs;
use whitewater::fs::fault::{Fault, FaultFs, FaultOp, OpSet, PathMatch, Rule, When};
use whitewater::fs::mem::MemFs;
use whitewater::{
    CommitProtocol, FlushOptions, IngestExternalFileOptions, Options, SstFileWriter, WriteBatch,
    WriteOptions,
};

const FAMILIES: [&str; 3] = ["default", "one", "two"];
const WRITERS: u64 = 3;
const BATCHES: u64 = 400;

/// What varies from round to round.
#[derive(Debug, Clone, Copy)]
struct Setup {
    protocol: CommitProtocol,
    atomic: bool,
    archive: bool,
    manual: bool,
    recycled: usize,
    faults: bool,
}

impl Setup {
    fn new(seed: u64) -> Setup {
        let protocols = protocols();
        let protocol = protocols[seed as usize % protocols.len()];
        let bits = seed / protocols.len() as u64;
        Setup {
            protocol,
            atomic: bits & 1 != 0 && protocol != CommitProtocol::Pipelined,
            archive: bits & 2 != 0,
            manual: bits & 4 != 0,
            recycled: if bits & 10 == 0 { 2 } else { 0 },
            faults: bits & 16 == 0,
        }
    }

    fn options(&self, fs: Arc<dyn Fs>) -> Options {
        let mut o = tiny();
        o.set_fs(fs);
        o.set_commit_protocol(self.protocol);
        o.set_atomic_flush(self.atomic);
        o.set_manual_wal_flush(self.manual);
        o.set_recycle_log_file_num(self.recycled);
        o.set_bgerror_resume_retry_interval(64);
        if self.archive {
            o.set_wal_ttl_seconds(1_000_000);
        }
        o
    }
}

fn key(w: u64, n: u64) -> Vec<u8> {
    [&[w as u8][..], &n.to_be_bytes()].concat()
}

/// The batches in `db`. Each must be whole.
fn batches(db: &Db, what: &str) -> BTreeSet<Vec<u8>> {
    let snapshot = db.snapshot();
    let of = |family: &str| -> BTreeSet<Vec<u8>> {
        let cf = db.cf_handle(family).unwrap();
        let mut it = snapshot.raw_iterator_cf(&cf);
        it.seek_to_first();
        let mut found = BTreeSet::new();
        while it.valid() {
            let key = it.key().unwrap();
            if key[0] < 0xff {
                found.insert(key.to_vec());
            }
            it.next();
        }
        it.status().unwrap();
        found
    };
    let found = of(FAMILIES[0]);
    for family in &FAMILIES[1..] {
        let other = of(family);
        let lost: Vec<_> = found.symmetric_difference(&other).collect();
        assert!(lost.is_empty(), "{what}: half batches: {lost:?}");
    }
    found
}

#[derive(Default)]
struct Told {
    acked: Mutex<BTreeSet<Vec<u8>>>,
    failed: Mutex<BTreeSet<Vec<u8>>>,
    ingested: Mutex<BTreeSet<u64>>,
}

impl Told {
    fn check(&self, db: &Db, what: &str) {
        let found = batches(db, what);
        let acked = self.acked.lock();
        let lost: Vec<_> = acked.difference(&found).take(5).collect();
        assert!(lost.is_empty(), "{what}: lost {lost:?}");
        let undead: Vec<_> = found.difference(&acked).take(5).collect();
        assert!(undead.is_empty(), "{what}: failed, but there: {undead:?}");
        let one = db.cf_handle("one").unwrap();
        for n in &*self.ingested.lock() {
            let found = db.get_cf(&one, key(0xff, *n)).unwrap();
            assert_eq!(found.as_deref(), Some(&b"new"[..]), "{what}: {n}");
        }
    }
}

struct Round {
    setup: Setup,
    fs: MemFs,
    faulty: FaultFs,
    options: Options,
    db: Db,
    told: Told,
    done: AtomicBool,
    failures: AtomicU64,
}

impl Round {
    fn going(&self) -> bool {
        !self.done.load(SeqCst)
    }

    fn write(&self, w: u64) {
        for n in 0..BATCHES {
            let mut batch = WriteBatch::default();
            let key = key(w, n);
            for family in FAMILIES {
                let cf = self.db.cf_handle(family).unwrap();
                batch.put_cf(&cf, &key, [7; 90]);
            }
            let mut o = WriteOptions::default();
            o.set_sync(n % 7 == w);
            match self.db.write_opt(batch, &o) {
                Ok(()) => self.told.acked.lock().insert(key),
                Err(_) => {
                    self.failures.fetch_add(1, SeqCst);
                    self.told.failed.lock().insert(key)
                }
            };
        }
    }

    fn flush(&self) {
        let mut n = 0;
        while self.going() {
            n += 1;
            let mut o = FlushOptions::default();
            o.set_wait(n % 3 == 0);
            let cfs: Vec<_> = (FAMILIES.iter().take(n % 4).chain([&FAMILIES[n % 3]]))
                .map(|f| self.db.cf_handle(f).unwrap())
                .collect();
            let cfs: Vec<_> = match self.setup.atomic {
                // Batches write to all of them.
                true => FAMILIES
                    .iter()
                    .map(|f| self.db.cf_handle(f).unwrap())
                    .collect(),
                false => cfs,
            };
            let _ = self.db.flush_cfs_opt(&cfs.iter().collect::<Vec<_>>(), &o);
            if n.is_multiple_of(2) {
                let _ = self.db.flush_wal(n.is_multiple_of(4));
            }
            thread::yield_now();
        }
    }

    fn ingest(&self) {
        let one = self.db.cf_handle("one").unwrap();
        for n in 0.. {
            if !self.going() {
                return;
            }
            let path = Path::new("/data/out").join(format!("{n}"));
            let mut plain = self.options.clone();
            plain.set_fs(Arc::new(self.fs.clone()));
            let mut writer = SstFileWriter::create(&plain);
            writer.open(&path).unwrap();
            writer.put(key(0xff, n), "new").unwrap();
            writer.finish().unwrap();
            if n % 3 > 0 && self.db.put_cf(&one, key(0xff, n), "old").is_err() {
                continue;
            }
            let mut o = IngestExternalFileOptions::default();
            o.set_move_files(n % 2 == 0);
            if self
                .db
                .ingest_external_file_cf_opts(&one, &o, vec![&path])
                .is_ok()
            {
                let found = self.db.get_cf(&one, key(0xff, n)).unwrap();
                assert_eq!(found.as_deref(), Some(&b"new"[..]), "{n}");
                self.told.ingested.lock().insert(n);
            }
            thread::yield_now();
        }
    }

    fn copy(&self) {
        for n in 0.. {
            if !self.going() {
                return;
            }
            let acked = self.told.acked.lock().clone();
            let path = format!("/data/copy{n}");
            let made = Checkpoint::new(&self.db)
                .unwrap()
                .create_checkpoint_with_log_size(&path, [0, u64::MAX][n % 2]);
            if made.is_ok() {
                let mut o = self.options.clone();
                o.set_fs(Arc::new(self.fs.clone()));
                o.set_failpoints(|_, _| ());
                let copy = open_all(&o, Path::new(&path)).unwrap();
                let found = batches(&copy, "a checkpoint");
                let lost: Vec<_> = acked.difference(&found).take(5).collect();
                assert!(lost.is_empty(), "a checkpoint lost {lost:?}");
                let failed = self.told.failed.lock();
                let undead: Vec<_> = failed.intersection(&found).take(5).collect();
                assert!(undead.is_empty(), "a checkpoint has {undead:?}");
            }
        }
    }

    fn come_and_go(&self) {
        while self.going() {
            if self.db.create_cf("short", &self.options).is_ok() {
                let cf = self.db.cf_handle("short").unwrap();
                let _ = self.db.put_cf(&cf, "k", [1; 3000]);
                let mut o = FlushOptions::default();
                o.set_wait(false);
                let _ = self.db.flush_cf_opt(&cf, &o);
                drop(cf);
                let mut patience = 1_000;
                while let Err(e) = self.db.drop_cf("short") {
                    if !self.going() {
                        // A failure of the last moment, or one that lasts.
                        patience -= 1;
                        assert!(patience > 0, "{e}, {:?}", self.db.resume());
                        let _ = self.db.resume();
                    }
                    thread::yield_now();
                }
            }
            thread::yield_now();
        }
    }

    fn change(&self) {
        let mut n = 0u64;
        while self.going() {
            n += 1;
            let jobs = [2, 8, 4, 1][n as usize % 4].to_string();
            let _ = self.db.set_db_options(&[("max_background_jobs", &jobs)]);
            let bytes = (16u64 << (10 + n % 3)).to_string();
            let _ = self.db.set_options(&[("write_buffer_size", &bytes)]);
            self.db.compact_range_cf(
                &self.db.cf_handle(FAMILIES[n as usize % 3]).unwrap(),
                None::<&[u8]>,
                None::<&[u8]>,
            );
            thread::yield_now();
        }
    }

    fn sabotage(&self, seed: u64) {
        let mut n = seed;
        while self.going() {
            n += 1;
            let op = [FaultOp::Append, FaultOp::Sync, FaultOp::Create][n as usize % 3];
            let before = self.failures.load(SeqCst);
            self.faulty.add_rule(Rule {
                ops: OpSet::of(&[op]),
                path: PathMatch::EndsWith(".log".into()),
                when: When::Nth(1 + n % 20),
                fault: Fault::Eio,
                sticky: n.is_multiple_of(2),
            });
            let mut patience = 2_000;
            while self.failures.load(SeqCst) == before && self.going() && patience > 0 {
                patience -= 1;
                thread::yield_now();
            }
            self.faulty.clear_rules();
            while self.db.resume().is_err() {
                thread::yield_now();
            }
        }
    }

    fn read(&self) {
        while self.going() {
            batches(&self.db, "a snapshot");
            thread::yield_now();
        }
    }
}

fn round(seed: u64) {
    let setup = Setup::new(seed);
    let fs = MemFs::new();
    for dir in ["/data", "/data/out"] {
        fs.create_dir_all(Path::new(dir)).unwrap();
    }
    let faulty = FaultFs::new(Arc::new(fs.clone()));
    let mut options = setup.options(Arc::new(faulty.clone()));
    shake(&mut options, seed, 12);
    let db = open_all(&options, Path::new(DIR)).unwrap();
    for family in &FAMILIES[1..] {
        db.create_cf(*family, &options).unwrap();
    }
    let round = Round {
        setup,
        fs,
        faulty,
        options,
        db,
        told: Told::default(),
        done: AtomicBool::new(false),
        failures: AtomicU64::new(0),
    };
    let left = AtomicU64::new(WRITERS);
    thread::scope(|scope| {
        let (round, left) = (&round, &left);
        for w in 0..WRITERS {
            scope.spawn(move || {
                round.write(w);
                if left.fetch_sub(1, SeqCst) == 1 {
                    round.done.store(true, SeqCst);
                }
            });
        }
        scope.spawn(|| round.flush());
        scope.spawn(|| round.ingest());
        scope.spawn(|| round.copy());
        scope.spawn(|| round.come_and_go());
        scope.spawn(|| round.change());
        if setup.protocol != CommitProtocol::Unordered {
            scope.spawn(|| round.read());
        }
        if setup.faults {
            scope.spawn(move || round.sabotage(seed));
        }
    });
    let Round {
        fs,
        options,
        db,
        told,
        ..
    } = round;
    let what = format!("{setup:?}");
    db.resume().unwrap_or_else(|e| panic!("{what}: {e}"));
    told.check(&db, &what);
    db.flush_wal(true).unwrap();
    let mut plain = options.clone();
    plain.set_failpoints(|_, _| ());
    for (keep, cut) in [(1.0, 0), (0.0, 0), (0.5, seed)] {
        plain.set_fs(Arc::new(fs.crash_clone(keep, cut)));
        let left = open_all(&plain, Path::new(DIR)).unwrap();
        told.check(&left, &format!("{what}, after a crash that keeps {keep}"));
    }
    drop(db);
    plain.set_fs(Arc::new(fs));
    let db = open_all(&plain, Path::new(DIR)).unwrap();
    told.check(&db, &format!("{what}, opened anew"));
}

#[test]
fn nothing_is_lost_and_nobody_hangs() {
    parallel_campaign("nothing_is_lost_and_nobody_hangs", 1, 32, |seed| {
        watched(&format!("everything, seed {seed}"), 120, move || {
            round(seed)
        });
    });
}
