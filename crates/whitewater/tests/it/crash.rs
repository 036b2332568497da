//! A writing process is killed at random, again and again.
//!
//! The test binary starts itself as a child that writes batches from several
//! threads over several column families and acknowledges each over a pipe. The
//! parent kills it, opens the same database and checks that nothing
//! acknowledged is missing, that batches are whole, and that each writer's
//! state and the state of all together are prefixes of what was written.

use crate::harness::walk::collect;
use crate::harness::{Db, campaign, open_all, open_named, tiny};
use rand::rngs::StdRng;
use rand::{Rng, SeedableRng};
use std::collections::BTreeMap;
use std::io::{BufRead, BufReader, Write};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::Duration;
use whitewater::{DBCompressionType, Options, WriteBatch, WriteOptions};

const FAMILIES: [&str; 3] = ["default", "one", "two"];
const WRITERS: u64 = 3;
const CHILD: &str = "WHITEWATER_CRASH_CHILD";

fn options(seed: u64) -> Options {
    let mut o = tiny();
    o.set_recycle_log_file_num([0, 2][(seed % 2) as usize]);
    o.set_max_manifest_file_size([2_000, 1 << 30][(seed / 2 % 2) as usize]);
    if seed.is_multiple_of(3) {
        o.set_wal_compression_type(DBCompressionType::Zstd);
    }
    o.set_wal_size_limit_mb([0, 1][(seed / 5 % 2) as usize]);
    o.set_track_and_verify_wals_in_manifest(seed % 7 < 3);
    o
}

/// What writer `w` stores about its batch `n` in every column family, the key
/// to find its progress and a key that moves.
fn entries(w: u64, n: u64) -> [(String, String); 2] {
    let pad = "x".repeat((n * 37 % 400) as usize);
    [
        (format!("last-{w}"), format!("{n}")),
        (format!("key-{w}-{:03}", n % 97), format!("{n}-{pad}")),
    ]
}

/// One writer's batch: the same entries in every column family, and its number
/// appended to a list of all writers, whose order is commit order.
fn batch(db: &Db, w: u64, n: u64) -> WriteBatch {
    let mut batch = WriteBatch::default();
    for family in FAMILIES {
        let cf = db.cf_handle(family).expect("opened with it");
        for (key, value) in entries(w, n) {
            batch.put_cf(&cf, key, value);
        }
        batch.merge_cf(&cf, format!("order-{}", n / 64), format!("{w}:{n}"));
    }
    batch
}

/// The last batch of each writer in `db`.
fn progress(db: &Db) -> [u64; WRITERS as usize] {
    std::array::from_fn(|w| {
        let text = db.get(format!("last-{w}")).expect("readable");
        text.map_or(0, |t| {
            String::from_utf8(t)
                .expect("digits")
                .parse()
                .expect("a number")
        })
    })
}

/// The child: writes until it is killed.
#[test]
fn crash_child() {
    let Ok(task) = std::env::var(CHILD) else {
        return;
    };
    let (seed, dir) = task.split_once(' ').expect("seed and directory");
    let seed: u64 = seed.parse().expect("a number");
    let names: Vec<String> = FAMILIES.iter().map(|f| (*f).to_owned()).collect();
    let db = open_named(&options(seed), Path::new(dir), &names).expect("opens");
    let first = progress(&db);
    let out = Mutex::new(std::io::stdout());
    thread::scope(|scope| {
        for w in 0..WRITERS {
            let (db, out, first) = (&db, &out, &first);
            scope.spawn(move || {
                let mut rng = StdRng::seed_from_u64(seed ^ (w << 32));
                for n in first[w as usize] + 1.. {
                    let mut options = WriteOptions::default();
                    options.set_sync(rng.random_bool(0.02));
                    db.write_opt(batch(db, w, n), &options).expect("writes");
                    let sequence = db.latest_sequence_number();
                    let mut out = out.lock().expect("no writer panics");
                    writeln!(out, "ack {w} {n} {sequence}").expect("the parent reads");
                    out.flush().expect("the parent reads");
                }
            });
        }
        scope.spawn(|| {
            let mut rng = StdRng::seed_from_u64(seed);
            loop {
                thread::sleep(Duration::from_millis(rng.random_range(1..40)));
                match rng.random_range(0..4) {
                    0 => db.flush().expect("flushes"),
                    1 => {
                        let one = db.cf_handle("one").expect("opened with it");
                        db.flush_cf(&one).expect("flushes");
                    }
                    2 => db.compact_range(None::<&[u8]>, None::<&[u8]>),
                    _ => db.flush_wal(true).expect("syncs"),
                }
            }
        });
    });
}

/// Starts a child, kills it after `millis`, and returns the last batch
/// acknowledged per writer and the largest sequence number told.
fn crash(seed: u64, dir: &Path, millis: u64) -> ([u64; WRITERS as usize], u64) {
    let mut child = Command::new(std::env::current_exe().expect("this binary"))
        .args([
            "crash::crash_child",
            "--exact",
            "--nocapture",
            "--test-threads=1",
        ])
        .env(CHILD, format!("{seed} {}", dir.display()))
        .stdout(Stdio::piped())
        .spawn()
        .expect("the child starts");
    let pipe = BufReader::new(child.stdout.take().expect("piped"));
    let (mut acked, mut sequence) = ([0; WRITERS as usize], 0);
    let killed = AtomicBool::new(false);
    thread::scope(|scope| {
        scope.spawn(|| {
            thread::sleep(Duration::from_millis(millis));
            killed.store(true, Ordering::Relaxed);
            child.kill().expect("the child can be killed");
        });
        for line in pipe.lines() {
            let Ok(line) = line else { break };
            // The last line may be cut short: then it lacks its newline, and
            // its numbers are not to be trusted.
            let mut words = line.split(' ');
            if words.next() != Some("ack") {
                continue;
            }
            let numbers: Vec<u64> = words.filter_map(|w| w.parse().ok()).collect();
            if let [w, n, s] = numbers[..] {
                let last = &mut acked[w as usize];
                *last = (*last).max(n);
                sequence = sequence.max(s);
            }
        }
        assert!(killed.load(Ordering::Relaxed), "the child ended by itself");
    });
    child.wait().expect("the child was killed");
    (acked, sequence)
}

/// What is left is whole, a prefix, and holds all that was acknowledged.
fn check(db: &Db, acked: [u64; WRITERS as usize]) -> [u64; WRITERS as usize] {
    let found = progress(db);
    for w in 0..WRITERS as usize {
        assert!(
            found[w] >= acked[w],
            "writer {w}: batch {} was acknowledged, {} is there",
            acked[w],
            found[w]
        );
    }
    let mut wanted = BTreeMap::new();
    for w in 0..WRITERS {
        for n in found[w as usize].saturating_sub(97) + 1..=found[w as usize] {
            wanted.extend(entries(w, n));
        }
    }
    for family in FAMILIES {
        let cf = db.cf_handle(family).expect("opened with it");
        let content = collect(db.raw_iterator_cf(&cf)).expect("readable");
        let mut lists = Vec::new();
        let mut plain = BTreeMap::new();
        for (key, value) in content {
            let (key, value) = (String::from_utf8(key), String::from_utf8(value));
            let (key, value) = (key.expect("ASCII"), value.expect("ASCII"));
            match key.starts_with("order-") {
                true => lists.push(value),
                false => _ = plain.insert(key, value),
            }
        }
        assert!(
            plain == wanted,
            "{family} is not the result of whole batches: {found:?}"
        );
        // Within a list each writer's numbers rise by one, none is missing.
        let mut seen = vec![0u64; WRITERS as usize];
        for list in &lists {
            let mut last = vec![0u64; WRITERS as usize];
            for item in list.split(',') {
                let (w, n) = item.split_once(':').expect("writer and number");
                let (w, n): (usize, u64) =
                    (w.parse().expect("a number"), n.parse().expect("a number"));
                assert!(
                    last[w] == 0 || n == last[w] + 1,
                    "{family}: {n} after {}",
                    last[w]
                );
                last[w] = n;
                seen[w] += 1;
            }
        }
        assert_eq!(seen, found, "{family}: batches in the lists");
    }
    found
}

/// `rounds` kills of one database.
fn campaign_on(dir: &Path, first_seed: u64, rounds: u64) {
    let mut sequence = 0;
    let mut total = [0; WRITERS as usize];
    for seed in first_seed..first_seed + rounds {
        let millis = StdRng::seed_from_u64(seed).random_range(10..150);
        let (acked, told) = crash(seed, dir, millis);
        let db = open_all(&options(seed), dir).expect("opens after the crash");
        assert!(
            db.latest_sequence_number() >= told.max(sequence),
            "seed {seed}"
        );
        // A child killed before its first write has acknowledged nothing.
        let least = std::array::from_fn(|w| acked[w].max(total[w]));
        if db.cf_handle("two").is_some() {
            total = check(&db, least);
        } else {
            assert_eq!(
                least, [0; WRITERS as usize],
                "seed {seed}: families are gone"
            );
        }
        sequence = db.latest_sequence_number();
        // Nine operations per batch: a batch lost before one that is there
        // would leave a gap.
        assert_eq!(sequence, 9 * total.iter().sum::<u64>(), "seed {seed}");
    }
    eprintln!("{rounds} crashes, {} batches", total.iter().sum::<u64>());
}

#[test]
fn killing_the_process_loses_nothing_acknowledged() {
    // Each of the campaign's rounds is 20 kills of one database.
    campaign(
        "killing_the_process_loses_nothing_acknowledged",
        1,
        5,
        |seed| {
            let dir = tempfile::tempdir().expect("a temporary directory");
            let path: PathBuf = dir.path().join("db");
            campaign_on(&path, seed * 1_000, 20);
        },
    );
}
