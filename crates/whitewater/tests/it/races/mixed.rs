//! Writes with all kinds of options in flight together: synced or not, without the log, or refused
//! rather than slowed down.

use super::{open, options};
use crate::harness::points::shake;
use crate::harness::{DIR, Db, campaign, protocols, watched};
use rand::rngs::StdRng;
use rand::{Rng, SeedableRng};
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::thread;
use whitewater::fs::mem::MemFs;
use whitewater::fs::{Fs, read_file};
use whitewater::{CommitProtocol, ErrorKind, WriteBatch, WriteOptions};

/// Writers that log and do not sync, that sync, that do not log, and that must not wait.
const KINDS: [&str; 4] = ["plain", "synced", "unlogged", "hurried"];
const EACH: usize = 4;
const WRITERS: usize = KINDS.len() * EACH;
const WRITES: u64 = 150;

#[test]
fn writes_of_all_kinds_keep_their_promises_beside_each_other() {
    const TEST: &str = "writes_of_all_kinds_keep_their_promises_beside_each_other";
    campaign(TEST, 1, 2, |seed| {
        for protocol in protocols() {
            watched(TEST, 120, move || mixed(protocol, seed));
        }
    });
}

fn kind(w: usize) -> &'static str {
    KINDS[w % KINDS.len()]
}

fn key(w: usize, n: u64) -> String {
    format!("{}-{w:02}-{n:04}", kind(w))
}

/// No log holds a key of a writer that does not log.
fn check_logs(fs: &MemFs, what: &str) {
    let dir = Path::new(DIR);
    let names = fs.list(dir).expect("listed");
    for name in names.iter().filter(|n| n.ends_with(".log")) {
        // It may have been dropped meanwhile.
        let Ok(log) = read_file(fs, &dir.join(name), u64::MAX) else {
            continue;
        };
        let found = log.windows(9).any(|part| part == b"unlogged-");
        assert!(!found, "{what}: {name} holds what was not to be logged");
    }
}

fn check_kept(db: &Db, least: &[u64], what: &str) {
    for (w, least) in least.iter().enumerate() {
        for n in 1..=*least {
            let found = db.get(key(w, n)).expect("readable");
            assert!(found.is_some(), "{what}: {} of {least}", key(w, n));
        }
    }
}

fn mixed(protocol: CommitProtocol, seed: u64) {
    let what = format!("{protocol}, seed {seed}");
    let fs = MemFs::new();
    let mut options = options(protocol, fs.clone());
    options.set_recycle_log_file_num((seed % 2) as usize);
    shake(&mut options, seed, 32);
    let db = open(&options);
    // Writes that must survive a power cut, except those without a log.
    let acked: &[AtomicU64; WRITERS] = &Default::default();
    let counts = |kinds: &[&str]| -> Vec<u64> {
        let of = |(w, n): (usize, &AtomicU64)| match kinds.contains(&kind(w)) {
            true => n.load(Ordering::SeqCst),
            false => 0,
        };
        acked.iter().enumerate().map(of).collect()
    };
    let (db, fs, opened, text) = (&db, &fs, &options, &what);
    thread::scope(|scope| {
        for w in 0..WRITERS {
            scope.spawn(move || {
                let mut rng = StdRng::seed_from_u64(seed ^ ((w as u64) << 40));
                let mut options = WriteOptions::default();
                options.set_sync(kind(w) == "synced");
                options.disable_wal(kind(w) == "unlogged");
                options.set_no_slowdown(kind(w) == "hurried");
                for n in 1..=WRITES {
                    let logged = counts(&["plain", "synced"]);
                    let value = vec![b'.'; rng.random_range(0..400)];
                    let mut batch = WriteBatch::default();
                    batch.put(key(w, n), value);
                    match db.write_opt(batch, &options) {
                        Ok(()) => acked[w].store(n, Ordering::SeqCst),
                        Err(e) => {
                            assert_eq!((kind(w), e.kind()), ("hurried", ErrorKind::Incomplete));
                            assert_eq!(db.get(key(w, n)).expect("readable"), None);
                            continue;
                        }
                    }
                    assert!(db.get(key(w, n)).expect("readable").is_some());
                    if kind(w) == "synced" && rng.random_bool(0.05) {
                        // What was acknowledged before a synced write began is as durable as that
                        // write.
                        let mut least = logged;
                        least[w] = n;
                        let mut cut = opened.clone();
                        cut.set_fs(Arc::new(fs.crash_clone(0.0, seed)));
                        check_kept(&open(&cut), &least, &format!("{text}, power cut"));
                        check_logs(fs, text);
                    }
                }
            });
        }
    });
    check_logs(fs, text);
    let all = counts(&["plain", "synced", "unlogged"]);
    let written: u64 = all.iter().sum();
    assert_eq!(written, WRITES * 3 * EACH as u64);
    check_kept(db, &all, text);
    let mut killed = options.clone();
    killed.set_fs(Arc::new(fs.crash_clone(1.0, seed)));
    check_kept(&open(&killed), &counts(&["plain", "synced"]), text);
}
