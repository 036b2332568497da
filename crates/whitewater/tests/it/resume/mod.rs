//! Failures of writes with many in flight, and resumptions after them.
//!
//! Writers write batches over three column families. Whatever fails, every call returns. A batch
//! whose write failed is nowhere: not before a resumption, not after it, and not at the next open.
//! One that was acknowledged is everywhere.

mod by_itself;
mod failed_logs;
mod retries;
mod steps;
mod updates;
mod views;

use crate::harness::{DIR, Db, open_all, tiny, tiny_unattended};
use std::collections::BTreeSet;
use std::path::Path;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex};
use whitewater::fs::fault::{Fault, FaultFs, FaultOp, OpSet, PathMatch, Rule, When};
use whitewater::{CommitProtocol, Options, WriteBatch, WriteOptions};

const FAMILIES: [&str; 3] = ["default", "one", "two"];
const WRITERS: usize = 16;

fn options(fs: Arc<FaultFs>, protocol: CommitProtocol) -> Options {
    with(tiny(), fs, protocol)
}

/// The same for a database that resumes by itself.
fn unattended(fs: Arc<FaultFs>, protocol: CommitProtocol) -> Options {
    with(tiny_unattended(), fs, protocol)
}

fn with(mut options: Options, fs: Arc<FaultFs>, protocol: CommitProtocol) -> Options {
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

    /// Writers that go on until they meet a failure, and write once more.
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

/// All protocols: with unordered writes, too, nothing of a write is seen whose log write failed,
/// and no write is under way when the tests look.
const PROTOCOLS: [CommitProtocol; 4] = [
    CommitProtocol::Ordered,
    CommitProtocol::Grouped,
    CommitProtocol::Pipelined,
    CommitProtocol::Unordered,
];
