//! Many more threads than cores, writing through flushes, compactions and stalls.
//!
//! For each commit protocol in turn, `--threads` threads write to a database on real files.
//! A write buffer manager that stalls limits the memtables to 32 MiB. The slowest thread
//! must reach a tenth of the mean throughput. Memory may exceed the limit by at most a
//! tenth. At the end, and again after reopening, each thread's last values must be there.

use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
use std::thread;
use std::time::{Duration, Instant};

use rand::rngs::StdRng;
use rand::{Rng, SeedableRng};
use whitewater::statistics::Ticker;
use whitewater::{CommitProtocol, DB, Options, WriteBufferManager, WriteOptions};

use super::args::Args;
use crate::bench::histogram::Latencies;
use crate::interrupt;

/// The limit of the memtables' memory in bytes.
const LIMIT: usize = 32 << 20;
/// The number of keys of each thread.
const KEYS: u64 = 2_000;
/// The interval at which memory is sampled.
const LOOK: Duration = Duration::from_millis(10);

const PROTOCOLS: [CommitProtocol; 4] = [
    CommitProtocol::Ordered,
    CommitProtocol::Grouped,
    CommitProtocol::Pipelined,
    CommitProtocol::Unordered,
];

/// Runs each protocol for its share of `--seconds` and prints a line for each.
///
/// # Errors
/// What went wrong.
pub fn run(args: &Args, dir: &Path) -> Result<(), String> {
    let time = Duration::from_secs(args.seconds) / PROTOCOLS.len() as u32;
    println!(
        "{} threads, {} s each; microseconds, MiB\n{:<10} {:>9} {:>7} {:>7} {:>7} {:>8} {:>8} {:>9} {:>7} {:>6}",
        args.threads,
        time.as_secs(),
        "protocol",
        "writes/s",
        "slowest",
        "mean",
        "fastest",
        "p50",
        "p99",
        "p99.9",
        "stalled",
        "memory"
    );
    for protocol in PROTOCOLS {
        if interrupt::requested() {
            break;
        }
        let dir = dir.join(format!("load-{protocol:?}"));
        let outcome = one(args, &dir, protocol, time);
        outcome.map_err(|e| format!("{protocol:?}: {e}"))?;
        DB::destroy(&Options::default(), &dir).map_err(|e| e.to_string())?;
    }
    Ok(())
}

fn options(protocol: CommitProtocol, memory: &WriteBufferManager) -> Options {
    let mut o = Options::default();
    o.create_if_missing(true);
    o.set_commit_protocol(protocol);
    o.set_write_buffer_manager(memory);
    o.set_write_buffer_size(4 << 20);
    o.set_target_file_size_base(2 << 20);
    o.set_max_bytes_for_level_base(8 << 20);
    o.set_level_zero_slowdown_writes_trigger(8);
    o.set_level_zero_stop_writes_trigger(12);
    o.enable_statistics();
    o
}

/// The work of one thread.
struct Done {
    writes: u64,
    latencies: Latencies,
    /// The last value of each key; 0 for a key that was never written.
    last: Vec<u64>,
}

fn one(args: &Args, dir: &Path, protocol: CommitProtocol, time: Duration) -> Result<(), String> {
    let memory = WriteBufferManager::new_write_buffer_manager(LIMIT, true);
    let o = options(protocol, &memory);
    let db = DB::open(&o, dir).map_err(|e| format!("opening: {e}"))?;
    let over = AtomicBool::new(false);
    let begun = Instant::now();
    let mut most = 0;
    let done = thread::scope(|scope| {
        let (db, over) = (&db, &over);
        let start = |thread| scope.spawn(move || work(args, db, thread, over));
        let threads: Vec<_> = (0..args.threads).map(start).collect();
        while begun.elapsed() < time
            && !interrupt::requested()
            && threads.iter().all(|t| !t.is_finished())
        {
            most = most.max(memory.get_usage());
            thread::sleep(LOOK);
        }
        over.store(true, Relaxed);
        let ended = threads.into_iter().map(|t| match t.join() {
            Ok(done) => done,
            Err(_) => Err("a thread panicked".to_owned()),
        });
        ended.collect::<Result<Vec<_>, String>>()
    })?;
    let seconds = begun.elapsed().as_secs_f64();
    let stalled = o.get_ticker_count(Ticker::StallMicros);
    check(&db, &done)?;
    drop(db);
    let db = DB::open(&o, dir).map_err(|e| format!("reopening: {e}"))?;
    check(&db, &done)?;
    if interrupt::requested() {
        // An interrupted run is too short to detect starvation.
        return Ok(());
    }
    report(protocol, &done, seconds, stalled, most)
}

fn work(args: &Args, db: &DB, thread: u32, over: &AtomicBool) -> Result<Done, String> {
    let mut rng = StdRng::seed_from_u64(args.seed ^ u64::from(thread) << 32);
    let mut done = Done {
        writes: 0,
        latencies: Latencies::default(),
        last: vec![0; KEYS as usize],
    };
    let mut value = vec![0; 1000];
    rng.fill(&mut value[..]);
    let o = WriteOptions::default();
    while !over.load(Relaxed) {
        let key = rng.random_range(0..KEYS);
        let version = done.writes + 1;
        value[..8].copy_from_slice(&version.to_le_bytes());
        let length = rng.random_range(100..=value.len());
        let begun = Instant::now();
        db.put_opt(name(thread, key), &value[..length], &o)
            .map_err(|e| format!("thread {thread}: {e}"))?;
        done.latencies
            .add(u64::try_from(begun.elapsed().as_nanos()).unwrap_or(u64::MAX));
        done.last[key as usize] = version;
        done.writes = version;
    }
    Ok(done)
}

fn name(thread: u32, key: u64) -> String {
    format!("{key:06}-{thread:04}")
}

/// Checks that each thread's last values are there.
fn check(db: &DB, done: &[Done]) -> Result<(), String> {
    for (thread, done) in (0..).zip(done) {
        for (key, &last) in (0..).zip(&done.last) {
            let found = db.get(name(thread, key)).map_err(|e| e.to_string())?;
            let version = |v: Vec<u8>| v.first_chunk().map_or(0, |v| u64::from_le_bytes(*v));
            let found = found.map_or(0, version);
            if found != last {
                let name = name(thread, key);
                return Err(format!("{name}: version {found} instead of {last}"));
            }
        }
    }
    Ok(())
}

fn report(
    protocol: CommitProtocol,
    done: &[Done],
    seconds: f64,
    stalled: u64,
    most: usize,
) -> Result<(), String> {
    let mut all = Latencies::default();
    done.iter().for_each(|d| all.merge(&d.latencies));
    let writes = || done.iter().map(|d| d.writes);
    let (slowest, fastest) = (writes().min().unwrap_or(0), writes().max().unwrap_or(0));
    let mean = all.count() / done.len() as u64;
    println!(
        "{:<10} {:>9.0} {slowest:>7} {mean:>7} {fastest:>7} {:>8.0} {:>8.0} {:>9.0} {:>6.0}% {:>6.1}",
        format!("{protocol:?}"),
        all.count() as f64 / seconds,
        all.micros_at(50.0),
        all.micros_at(99.0),
        all.micros_at(99.9),
        stalled as f64 / 1e4 / (seconds * done.len() as f64),
        most as f64 / f64::from(1 << 20),
    );
    if slowest * 10 < mean {
        return Err(format!(
            "a thread starves: {slowest} writes, {mean} in the mean"
        ));
    }
    if most > LIMIT + LIMIT / 10 {
        return Err(format!("memtables take {most} bytes of {LIMIT}"));
    }
    Ok(())
}
