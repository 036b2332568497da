//! RocksDB opens what a process left that was killed in the middle of writes, and finds what was
//! acknowledged.
//!
//! If a writer was killed between reserving its place in the log and filling it, the log has a hole
//! of zeros. This engine stops there. RocksDB skips zeros to the end of the block, so it may also
//! show later writes, which were never acknowledged.

use super::{java, python, tools};
use crate::content::{Content, Pairs};
use crate::crash::{Acks, WRITERS, crash, options, tracks_logs};
use crate::harness::parallel::{self, FAMILIES, progress};
use crate::harness::points::Trap;
use crate::harness::walk::collect;
use crate::harness::{Db, campaign, open_named, protocols, watched};
use rand::rngs::StdRng;
use rand::{Rng, SeedableRng};
use std::path::Path;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread;
use whitewater::{CommitProtocol, Options, Point};

/// The content of a copy of the database, as this engine reads it.
fn ours(options: &Options, db: &Path) -> (Content, Vec<u64>) {
    let copy = tools::copied(db);
    let db = open_named(options, copy.path(), &parallel::names()).expect("opens");
    (content(&db), progress(&db, WRITERS))
}

fn content(db: &Db) -> Content {
    let family = |name: &str| {
        let cf = db.cf_handle(name).expect("opened");
        let pairs = collect(db.raw_iterator_cf(&cf)).expect("readable");
        (name.to_owned(), pairs)
    };
    FAMILIES.into_iter().map(family).collect()
}

/// The writer and the batch of an entry: `last-W` = N, `key-W-K` = N-PAD.
fn batch_of(key: &[u8], value: &[u8]) -> (usize, u64) {
    let text = |bytes| std::str::from_utf8(bytes).expect("ASCII");
    let number = |text: &str, at| text.split('-').nth(at).expect("a number").to_owned();
    let w = number(text(key), 1).parse().expect("a number");
    (w, number(text(value), 0).parse().expect("a number"))
}

/// Entries of `theirs` of batches beyond `ours`, which has `found` batches of each writer. All
/// other entries must be the same.
fn beyond(theirs: &Pairs, ours: &Pairs, found: &[u64]) -> Result<usize, String> {
    for key in ours.keys() {
        if !theirs.contains_key(key) {
            return Err(format!("{} is missing", key.escape_ascii()));
        }
    }
    let mut beyond = 0;
    for (key, value) in theirs {
        if ours.get(key) == Some(value) {
            continue;
        }
        let (w, n) = batch_of(key, value);
        if n <= found[w] {
            return Err(format!("{} is of batch {n}", key.escape_ascii()));
        }
        beyond += 1;
    }
    Ok(beyond)
}

#[test]
fn rocksdb_opens_what_a_killed_process_left() {
    const TEST: &str = "rocksdb_opens_what_a_killed_process_left";
    if !tools::available() {
        return;
    }
    let (python, jar) = (python::python(), java::jar());
    campaign(TEST, 1, 6, |seed| {
        for protocol in protocols() {
            let dir = tempfile::tempdir().expect("a temporary directory");
            let db = dir.path().join("db");
            // All column families exist, however early the process is killed. Logs are not tracked:
            // a read-only RocksDB 7.8 fails an assertion of its own when it finds tracked logs and
            // was not told to track.
            let mut options = options(protocol, seed);
            options.set_track_and_verify_wals_in_manifest(false);
            drop(open_named(&options, &db, &parallel::names()).expect("opens"));
            let mut rng = StdRng::seed_from_u64(seed);
            for kill in 0..3 {
                let millis = rng.random_range(30..120);
                let seeds = (seed * 1_000 + kill * 20 + seed % 2..).step_by(2);
                let untracked = seeds.into_iter().find(|s| !tracks_logs(*s));
                crash(
                    protocol,
                    untracked.expect("one of four"),
                    false,
                    &db,
                    millis,
                );
            }
            let (ours, found) = ours(&options, &db);
            let (acked, _) = Acks::open(&db).read();
            assert!(acked.iter().zip(&found).all(|(a, f)| a <= f), "{protocol}");
            // `sst_dump` reads all tables that it finds, also those that were not yet written whole.
            tools::remove_unlisted_tables(&db);
            tools::check(&db);
            let mut readers = vec![("RocksDB's ldb", tools::scan(&db))];
            if let Some(python) = &python {
                readers.push(("rocksdict", python::scan(python, &db)));
            }
            if let Some(jar) = &jar {
                readers.push(("rocksdbjni", java::scan(jar, &db)));
            }
            for (who, theirs) in readers {
                let what = format!("{protocol}, seed {seed}, {who}");
                for family in FAMILIES {
                    let more = beyond(&theirs[family], &ours[family], &found)
                        .unwrap_or_else(|e| panic!("{what}, {family}: {e}"));
                    if more > 0 {
                        println!("{what}, {family}: {more} entries behind a hole");
                    }
                }
            }
        }
    });
}

/// `sst_dump` reads all tables of a directory, so the check failed for one that was not finished.
#[test]
fn a_table_that_a_killed_process_did_not_finish_is_not_checked() {
    if !tools::available() {
        return;
    }
    let dir = tempfile::tempdir().expect("a temporary directory");
    let db = Db::open_default(dir.path()).expect("opens");
    db.put("key", "value").expect("writes");
    db.flush().expect("flushes");
    drop(db);
    let table = tools::files(dir.path(), "sst").remove(0);
    let whole = std::fs::read(&table).expect("readable");
    for (name, len) in [("000998.sst", 0), ("000999.sst", whole.len() / 2)] {
        std::fs::write(dir.path().join(name), &whole[..len]).expect("writes");
    }
    std::fs::write(dir.path().join("MANIFEST-001000"), "").expect("writes");
    assert_eq!(tools::remove_unlisted_tables(dir.path()), 2);
    assert_eq!(tools::files(dir.path(), "sst"), [table]);
    tools::check(dir.path());
}

/// A hole made on purpose: a writer stops before it has logged, and others log behind it, one of
/// them into the next block.
#[test]
fn rocksdb_shows_no_more_than_what_lies_behind_a_hole() {
    if !tools::available() {
        return;
    }
    for recycled in [0, 2] {
        watched("a hole", 60, move || hole(recycled));
    }
}

fn hole(recycled: usize) {
    let dir = tempfile::tempdir().expect("a temporary directory");
    let mut options = options(CommitProtocol::Ordered, 0);
    options.set_recycle_log_file_num(recycled);
    options.set_write_buffer_size(1 << 20);
    let trap = Trap::set(&mut options);
    let db = &open_named(&options, dir.path(), &parallel::names()).expect("opens");
    db.put("acked", "1").expect("writes");
    trap.arm(Point::Reserved);
    let logged = &AtomicUsize::new(0);
    let left = thread::scope(|scope| {
        scope.spawn(|| db.put("hole", "1").expect("writes"));
        trap.wait();
        // In this block, over its end, and behind that.
        for (key, len) in [("behind-1", 10), ("behind-2", 40_000), ("behind-3", 10)] {
            scope.spawn(move || {
                db.put(key, vec![b'x'; len]).expect("writes");
                logged.fetch_add(1, Ordering::Relaxed);
            });
            while !logs_hold(dir.path(), key) {
                thread::yield_now();
            }
        }
        assert_eq!(logged.load(Ordering::Relaxed), 0, "nobody was told");
        let left = tools::copied(dir.path());
        trap.release();
        left
    });
    options.set_failpoints(|_, _| ());
    let (ours, _) = ours(&options, left.path());
    let keys = |content: &Content| -> Vec<String> {
        let keys = content["default"].keys().cloned();
        keys.map(|k| String::from_utf8(k).expect("ASCII")).collect()
    };
    assert_eq!(keys(&ours), ["acked"]);
    let mut readers = vec![("ldb", tools::scan(left.path()))];
    if let Some(python) = python::python() {
        readers.push(("rocksdict", python::scan(&python, left.path())));
    }
    if let Some(jar) = java::jar() {
        readers.push(("rocksdbjni", java::scan(&jar, left.path())));
    }
    for (who, theirs) in readers {
        let found = keys(&theirs);
        println!("{recycled} recycled, {who}: {found:?}");
        assert!(found.contains(&"acked".to_owned()), "{who}: {found:?}");
        let known = |k: &String| k == "acked" || k.starts_with("behind-");
        assert!(found.iter().all(known), "{who}: {found:?}");
    }
}

/// Whether a log holds `text`.
fn logs_hold(dir: &Path, text: &str) -> bool {
    let logs = tools::files(dir, "log");
    logs.iter().any(|log| {
        let bytes = std::fs::read(log).expect("readable");
        bytes.windows(text.len()).any(|p| p == text.as_bytes())
    })
}
