//! Watches a database that several threads write and read.
//!
//! `cargo run --release -p whitewater-monitor --example watched -- [HOW [SECONDS]]` prints the
//! address of the page and works until the time is over (without a time, for ever). How is `load`
//! (the default), `rest` (nothing is done), `stall` (compactions fall behind) or `failed-sync`
//! (after a while the log cannot be synced). With `cost`, rounds with and without a monitor, whose
//! page is asked for all the time, alternate, and the rates of both are printed.

use std::io::{Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::thread;
use std::time::{Duration, Instant};
use whitewater::fs::fault::{Fault, FaultFs, FaultOp, OpSet, PathMatch, Rule, When};
use whitewater::fs::os::OsFs;
use whitewater::statistics::StatsLevel;
use whitewater::{DB, Options, WriteOptions};
use whitewater_monitor::Monitor;

type Failure = Box<dyn std::error::Error + Send + Sync>;

/// Keys that are written and read.
const KEYS: u64 = 200_000;

fn main() -> Result<(), Failure> {
    let mut arguments = std::env::args().skip(1);
    let how = arguments.next().unwrap_or_else(|| "load".to_owned());
    let seconds = arguments.next().map(|seconds| seconds.parse());
    let time = seconds.transpose()?.map(Duration::from_secs);
    let dir = tempfile::tempdir()?;
    match how.as_str() {
        "cost" => cost(dir.path()),
        how => show(dir.path(), how, time),
    }
}

fn options() -> Options {
    let mut options = Options::default();
    options.create_if_missing(true);
    options.set_write_buffer_size(4 << 20);
    options.set_level_zero_slowdown_writes_trigger(8);
    options.enable_statistics();
    options
}

fn show(dir: &Path, how: &str, time: Option<Duration>) -> Result<(), Failure> {
    let mut options = options();
    options.set_statistics_level(StatsLevel::ExceptTimeForMutex);
    if how == "stall" {
        options.set_write_buffer_size(512 << 10);
        options.set_level_zero_slowdown_writes_trigger(4);
        options.set_level_zero_stop_writes_trigger(12);
        options.set_ratelimiter(2 << 20, 100_000, 10);
    }
    if how == "failed-sync" {
        let faults = FaultFs::new(Arc::new(OsFs));
        faults.add_rule(Rule {
            ops: OpSet::of(&[FaultOp::Sync]),
            path: PathMatch::EndsWith(".log".to_owned()),
            when: When::Nth(500),
            fault: Fault::Eio,
            sticky: true,
        });
        options.set_fs(Arc::new(faults));
        // By default the database would resume with a new log, and there would be little to see.
        options.set_max_bgerror_resume_count(0);
    }
    let db = DB::open(&options, dir)?;
    let monitor = Monitor::builder()
        .add_as(format!("watched: {how}"), &db)
        .listen("127.0.0.1:0")?;
    println!("http://{}/", monitor.address());
    let begin = Instant::now();
    if how != "rest"
        && let Err(e) = work(&db, time)
    {
        println!("the work has ended: {e}");
    }
    // What is left of the time shows the database at rest.
    while time.is_none_or(|time| begin.elapsed() < time) {
        thread::sleep(Duration::from_millis(100));
    }
    Ok(())
}

/// Rates of rounds without and with a monitor in turn.
fn cost(dir: &Path) -> Result<(), Failure> {
    let db = DB::open(&options(), dir)?;
    let time = Some(Duration::from_secs(3));
    work(&db, time)?;
    for round in 1..=5 {
        let without = work(&db, time)?;
        let monitor = Monitor::builder().add(&db).listen("127.0.0.1:0")?;
        let (address, ended) = (monitor.address(), AtomicBool::new(false));
        let with = thread::scope(|scope| {
            scope.spawn(|| {
                while !ended.load(Ordering::Relaxed) {
                    // What a page and Prometheus do, more often than they do it.
                    let _ = ask(address, "/db/0?live");
                    let _ = ask(address, "/metrics");
                    thread::sleep(Duration::from_secs(1));
                }
            });
            let with = work(&db, time);
            ended.store(true, Ordering::Relaxed);
            with
        })?;
        let ratio = with as f64 / without as f64;
        println!("round {round}: {without} operations without, {with} with: {ratio:.3}");
    }
    Ok(())
}

fn ask(address: SocketAddr, path: &str) -> std::io::Result<usize> {
    let mut stream = TcpStream::connect(address)?;
    stream.write_all(format!("GET {path} HTTP/1.1\r\nHost: localhost\r\n\r\n").as_bytes())?;
    let mut answer = Vec::new();
    stream.read_to_end(&mut answer)
}

/// Writes with and without sync, and reads, until `time` is over. The number of operations.
fn work(db: &DB, time: Option<Duration>) -> Result<u64, Failure> {
    let (begin, done) = (Instant::now(), AtomicU64::new(0));
    let running = || time.is_none_or(|time| begin.elapsed() < time);
    let key = |n: u64| format!("key-{:08}", n.wrapping_mul(0x9E37_79B9_7F4A_7C15) % KEYS);
    thread::scope(|scope| {
        let writer = |sync: bool, seed: u64| {
            let (done, running) = (&done, &running);
            move || -> Result<(), Failure> {
                let mut how = WriteOptions::default();
                how.set_sync(sync);
                let mut n = seed;
                while running() {
                    db.put_opt(key(n), vec![b'v'; 100 + (n % 100) as usize], &how)?;
                    done.fetch_add(1, Ordering::Relaxed);
                    n += 1;
                }
                Ok(())
            }
        };
        let reader = |seed: u64| {
            let (done, running) = (&done, &running);
            move || -> Result<(), Failure> {
                let mut n = seed;
                while running() {
                    db.get(key(n))?;
                    done.fetch_add(1, Ordering::Relaxed);
                    n += 3;
                }
                Ok(())
            }
        };
        let mut threads = Vec::new();
        for seed in 0..2 {
            threads.push(scope.spawn(writer(false, seed * 1_000_003)));
            threads.push(scope.spawn(writer(true, seed * 2_000_003)));
        }
        threads.push(scope.spawn(reader(7)));
        for thread in threads {
            thread.join().map_err(|_| "a thread has panicked")??;
        }
        Ok(done.load(Ordering::Relaxed))
    })
}
