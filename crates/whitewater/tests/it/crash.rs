//! A writing process is killed at random, again and again.
//!
//! The test binary starts itself as a child that writes batches from several threads over several
//! column families. Some writers are held up at random in the middle of a write, so that the log
//! has holes when the child dies. Acknowledgements go into a file, whose pages outlive the child.
//! The parent kills the child and usually opens the same database. It checks that nothing
//! acknowledged is missing, that batches are whole, and that the state of each writer and of all
//! together is a prefix of what was written.

use crate::harness::parallel::{self, NUMBERS, progress};
use crate::harness::{open_all, open_named, parallel_campaign, points, protocols, tiny};
use rand::rngs::StdRng;
use rand::{Rng, SeedableRng};
use std::fs::File;
use std::os::unix::fs::FileExt;
use std::path::Path;
use std::process::{Command, Stdio};
use std::thread;
use std::time::Duration;
use whitewater::{CommitProtocol, DBCompressionType, Options, WriteOptions};

pub const WRITERS: usize = 8;
const CHILD: &str = "WHITEWATER_CRASH_CHILD";

pub fn options(protocol: CommitProtocol, seed: u64) -> Options {
    let mut o = tiny();
    o.set_commit_protocol(protocol);
    o.set_recycle_log_file_num([0, 2][(seed % 2) as usize]);
    o.set_max_manifest_file_size([2_000, 1 << 30][(seed / 2 % 2) as usize]);
    if seed.is_multiple_of(3) {
        o.set_wal_compression_type(DBCompressionType::Zstd);
    }
    o.set_wal_size_limit_mb([0, 1][(seed / 5 % 2) as usize]);
    o.set_track_and_verify_wals_in_manifest(tracks_logs(seed));
    o
}

/// Whether [`options`] has logs tracked in the manifest.
pub fn tracks_logs(seed: u64) -> bool {
    seed % 7 < 3
}

/// How many writes are synced: few, none, many or all. The same for all kills of one database.
fn sync_share(seed: u64) -> f64 {
    [0.02, 0.0, 0.3, 1.0][(seed / 1_000 % 4) as usize]
}

/// The last batch that was acknowledged to each writer, and the sequence number then.
pub struct Acks(File);

impl Acks {
    pub fn open(db: &Path) -> Acks {
        let mut open = File::options();
        let open = open.read(true).write(true).create(true).truncate(false);
        Acks(open.open(db.with_extension("acks")).expect("opens"))
    }

    /// One call, so that the two are of one acknowledgement.
    fn put(&self, w: usize, n: u64, sequence: u64) {
        let bytes = [n.to_le_bytes(), sequence.to_le_bytes()].concat();
        self.0.write_all_at(&bytes, w as u64 * 16).expect("writes");
    }

    pub fn read(&self) -> ([u64; WRITERS], u64) {
        let mut bytes = [0; WRITERS * 16];
        let _shorter = self.0.read_at(&mut bytes, 0).expect("readable");
        let number = |at| u64::from_le_bytes(*bytes[at..].first_chunk().expect("eight"));
        let sequences = (0..WRITERS).map(|w| number(w * 16 + 8));
        let sequence = sequences.max().expect("writers");
        (std::array::from_fn(|w| number(w * 16)), sequence)
    }
}

/// The child: writes until it is killed.
#[test]
fn crash_child() {
    let Ok(task) = std::env::var(CHILD) else {
        return;
    };
    let words: Vec<_> = task.splitn(4, ' ').collect();
    let protocol = CommitProtocol::from_name(words[0]).expect("a protocol");
    let seed: u64 = words[1].parse().expect("a number");
    let batch = match words[2] {
        "listed" => parallel::batch,
        _ => parallel::unlisted,
    };
    let dir = Path::new(words[3]);
    let mut options = options(protocol, seed);
    points::shake(&mut options, seed, 16);
    let db = open_named(&options, dir, &parallel::names()).expect("opens");
    let first = progress(&db, WRITERS);
    let acks = Acks::open(dir);
    thread::scope(|scope| {
        for w in 0..WRITERS {
            let (db, acks, first) = (&db, &acks, first[w]);
            scope.spawn(move || {
                let mut rng = StdRng::seed_from_u64(seed ^ ((w as u64) << 32));
                for n in first + 1.. {
                    let mut options = WriteOptions::default();
                    options.set_sync(rng.random_bool(sync_share(seed)));
                    db.write_opt(batch(db, w, n), &options).expect("writes");
                    acks.put(w, n, db.latest_sequence_number());
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

/// Starts a child and kills it after `millis`. If `listed`, batches are in lists.
pub fn crash(protocol: CommitProtocol, seed: u64, listed: bool, dir: &Path, millis: u64) {
    let listed = if listed { "listed" } else { "unlisted" };
    let mut child = Command::new(std::env::current_exe().expect("this binary"))
        .args([
            "crash::crash_child",
            "--exact",
            "--nocapture",
            "--test-threads=1",
        ])
        .env(
            CHILD,
            format!("{protocol} {seed} {listed} {}", dir.display()),
        )
        .stdout(Stdio::null())
        .spawn()
        .expect("the child starts");
    thread::sleep(Duration::from_millis(millis));
    let ended = child.try_wait().expect("a child");
    assert_eq!(ended, None, "the child ended by itself");
    child.kill().expect("the child can be killed");
    child.wait().expect("the child was killed");
}

/// Kills writers of one database `kills` times, and returns the batches in it at the end.
fn campaign_on(protocol: CommitProtocol, dir: &Path, first_seed: u64, kills: u64) -> u64 {
    let mut sequence = 0;
    let mut total = vec![0; WRITERS];
    for seed in first_seed..first_seed + kills {
        let mut rng = StdRng::seed_from_u64(seed);
        // Short ones hit the recovery from the kill before.
        crash(protocol, seed, true, dir, rng.random_range(4..90));
        if rng.random_bool(0.2) && seed + 1 < first_seed + kills {
            continue; // a second crash before the check
        }
        let (acked, told) = Acks::open(dir).read();
        let db = open_all(&options(protocol, seed), dir).expect("opens after the crash");
        assert!(
            db.latest_sequence_number() >= told.max(sequence),
            "{protocol}, seed {seed}"
        );
        // A child killed before its first write has acknowledged nothing.
        let least: Vec<u64> = (0..WRITERS).map(|w| acked[w].max(total[w])).collect();
        if db.cf_handle("two").is_some() {
            total = parallel::check(&db, &least)
                .unwrap_or_else(|e| panic!("{protocol}, seed {seed}: {e}"));
        } else {
            let nothing = least.iter().all(|n| *n == 0);
            assert!(nothing, "{protocol}, seed {seed}: families are gone");
        }
        sequence = db.latest_sequence_number();
        // A batch lost before one that is there would leave a gap.
        let batches = total.iter().sum::<u64>();
        assert_eq!(sequence, NUMBERS * batches, "{protocol}, seed {seed}");
    }
    total.iter().sum()
}

/// Each round of the campaign is 20 kills of one database, with each protocol.
#[test]
fn killing_the_process_loses_nothing_acknowledged() {
    parallel_campaign(
        "killing_the_process_loses_nothing_acknowledged",
        1,
        10,
        |seed| {
            for protocol in protocols() {
                let dir = tempfile::tempdir().expect("a temporary directory");
                let path = dir.path().join("db");
                let batches = campaign_on(protocol, &path, seed * 1_000, 20);
                println!("{protocol}, seed {seed}: 20 kills, {batches} batches");
            }
        },
    );
}
