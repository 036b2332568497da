//! Measures the cost of writing a record and of syncing it, by kind of file.
//!
//! `cargo bench -p whitewater-storage --bench segment -- [puts|syncs|shared] [dir]...`
//! measures in each directory (default: the system's directory for temporary files, and
//! `/dev/shm`), and prints one line per combination. Figures are the least of several runs.
//!
//! * `write_at`: copies 157 or 1,031 bytes to a reserved range; `put`: adds framing and checksum.
//!   The range is reserved by compare-and-exchange, which is part of the time. Times are per record
//!   and thread: processor time, and elapsed time, which includes waiting and other load of the
//!   machine.
//! * warm: the file was extended to its length. cold: it was allocated in a previous use and never
//!   written, so that the first access to each page finds none. recycled: it was written and synced
//!   in a previous use, by the same kind of access, and is still in memory.
//! * sync: writes a record and syncs, repeatedly, in space as `extend` leaves it, a megabyte at a
//!   time: only allocated, initialized, or in a file full of old records.
//! * shared: each thread writes a record, the last one syncs for all and wakes them, repeatedly.
//!   This is an upper bound for a database with synced writes, which does more than that. The
//!   figure is the median of the runs.

use std::hint::black_box;
use std::path::{Path, PathBuf};
use std::sync::Mutex;
use std::sync::atomic::{AtomicU32, AtomicU64, Ordering};
use std::time::Instant;
use whitewater_storage::Result;
use whitewater_storage::fs::os::OsFs;
use whitewater_storage::fs::{Fs, SharedAccess, SharedFile, SharedOptions};
use whitewater_storage::wal::Segment;

/// Bytes put per run.
const LEN: u64 = 48 << 20;

/// Runs per combination.
const RUNS: usize = 7;

/// Syncs per run.
const SYNCS: usize = 1000;

/// How far ahead space is made for syncs.
const STEP: u64 = 1 << 20;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum State {
    Warm,
    Cold,
    Recycled,
}

fn main() -> Result<()> {
    let args: Vec<String> = std::env::args().skip(1).collect();
    if !args.iter().any(|a| a == "--bench") {
        println!("to be run by cargo bench");
        return Ok(());
    }
    let named = |a: &&String| ["puts", "syncs", "shared"].contains(&a.as_str());
    let chosen = |what: &str| !args.iter().any(|a| named(&a)) || args.iter().any(|a| a == what);
    let mut dirs: Vec<PathBuf> = args
        .iter()
        .filter(|a| !a.starts_with("--") && !named(a))
        .map(PathBuf::from)
        .collect();
    if dirs.is_empty() {
        dirs = vec![std::env::temp_dir(), PathBuf::from("/dev/shm")];
    }
    for dir in dirs.iter().filter(|d| d.is_dir()) {
        let dir = tempfile::tempdir_in(dir)
            .map_err(|e| whitewater_storage::Error::io("make a temporary directory", dir, &e))?;
        println!("{}", dir.path().display());
        if chosen("puts") {
            puts(dir.path())?;
        }
        if chosen("syncs") {
            syncs(dir.path())?;
        }
        if chosen("shared") {
            shared(dir.path())?;
        }
    }
    Ok(())
}

fn open(path: &Path, from: Option<&Path>, access: SharedAccess) -> Result<Box<dyn SharedFile>> {
    OsFs.open_shared(path, from, access.into())
}

/// A file with [`LEN`] bytes of space in the given state.
fn file_in(dir: &Path, state: State, access: SharedAccess) -> Result<Box<dyn SharedFile>> {
    let (old, new) = (dir.join("old"), dir.join("new"));
    if state == State::Warm {
        let file = open(&new, None, access)?;
        file.extend(LEN)?;
        return Ok(file);
    }
    if state == State::Recycled {
        let file = open(&old, None, access)?;
        file.extend(LEN)?;
        for at in (0..LEN).step_by(256) {
            file.write_at(at, &[1; 256])?;
        }
        file.sync()?;
    } else {
        open(&old, None, SharedAccess::Positioned)?.extend(LEN)?;
    }
    open(&new, Some(&old), access)
}

fn puts(dir: &Path) -> Result<()> {
    for access in [SharedAccess::Mapped, SharedAccess::Positioned] {
        for state in [State::Warm, State::Cold, State::Recycled] {
            for payload in [150, 1024] {
                for threads in [1, 2] {
                    let (mut raw, mut framed) = (Vec::new(), Vec::new());
                    for _ in 0..RUNS {
                        let file = file_in(dir, state, access)?;
                        let record = vec![7; payload + 7];
                        raw.push(run(payload, threads, |at| file.write_at(at, &record))?);
                        drop(file);
                        let segment = Segment::new(file_in(dir, state, access)?, 1, false);
                        let (head, rest) = record[7..].split_at(12);
                        framed.push(run(payload, threads, |at| {
                            segment.put(at, &[black_box(head), rest])
                        })?);
                    }
                    let least = |runs: &[(f64, f64)]| {
                        let of = |f: fn(&(f64, f64)) -> f64| least(runs.iter().map(f));
                        format!("{:.0} ns ({:.0})", of(|r| r.0), of(|r| r.1))
                    };
                    println!(
                        "{access:?} {state:?}, {payload} bytes, {threads} threads: \
                         write_at {}, put {}",
                        least(&raw),
                        least(&framed)
                    );
                }
            }
        }
    }
    Ok(())
}

/// Fills the file from `threads` threads; nanoseconds per record and thread,
/// of processor time and of time on the clock.
fn run(
    payload: usize,
    threads: usize,
    put: impl Fn(u64) -> Result<()> + Sync,
) -> Result<(f64, f64)> {
    let next = AtomicU64::new(0);
    let work = || -> Result<(u64, f64)> {
        let start = processor_time();
        let mut done = 0;
        loop {
            let mut at = next.load(Ordering::Relaxed);
            let end = loop {
                let end = Segment::end_of(at, payload, false);
                match next.compare_exchange_weak(at, end, Ordering::Relaxed, Ordering::Relaxed) {
                    Ok(_) => break end,
                    Err(now) => at = now,
                }
            };
            if end + (payload as u64) + 64 > LEN {
                return Ok((done, processor_time() - start));
            }
            put(at)?;
            done += 1;
        }
    };
    let start = Instant::now();
    let each: Result<Vec<(u64, f64)>> = std::thread::scope(|s| {
        let threads: Vec<_> = (0..threads).map(|_| s.spawn(work)).collect();
        let each = threads.into_iter();
        each.map(|t| t.join().expect("a thread that puts does not panic"))
            .collect()
    });
    let clock = start.elapsed().as_nanos() as f64 * threads as f64;
    let each = each?;
    let done: u64 = each.iter().map(|e| e.0).sum();
    let used: f64 = each.iter().map(|e| e.1).sum();
    Ok((used / done as f64, clock / done as f64))
}

/// Nanoseconds that this thread has had a processor.
fn processor_time() -> f64 {
    let now = rustix::time::clock_gettime(rustix::time::ClockId::ThreadCPUTime);
    now.tv_sec as f64 * 1e9 + now.tv_nsec as f64
}

fn syncs(dir: &Path) -> Result<()> {
    let mut kinds = Vec::new();
    for payload in [150, 4096] {
        for access in [SharedAccess::Mapped, SharedAccess::Positioned] {
            for space in [Space::Allocated, Space::Initialized, Space::Recycled] {
                kinds.push((payload, access, space, Vec::new()));
            }
        }
    }
    for _ in 0..RUNS {
        for (payload, access, space, runs) in &mut kinds {
            runs.push(sync_run(dir, *payload, *access, *space)?);
        }
    }
    for (payload, access, space, runs) in &mut kinds {
        let least = |of: fn(&SyncRun) -> f64| least(runs.iter().map(of));
        println!(
            "{access:?} {space:?}, {payload} bytes: sync {:.0} us (mean {:.0}, 99% {:.0}, \
             first {:.0}), put {:.1} us, extend {:.0} us",
            least(|r| r.median),
            least(|r| r.mean),
            least(|r| r.high),
            least(|r| r.first),
            least(|r| r.put),
            least(|r| r.extend),
        );
    }
    Ok(())
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Space {
    Allocated,
    Initialized,
    Recycled,
}

/// Microseconds: of syncs, of a put in the middle, and of one extension.
struct SyncRun {
    median: f64,
    mean: f64,
    high: f64,
    first: f64,
    put: f64,
    extend: f64,
}

fn sync_run(dir: &Path, payload: usize, access: SharedAccess, space: Space) -> Result<SyncRun> {
    let file = if space == Space::Recycled {
        file_in(dir, State::Recycled, access)?
    } else {
        let initialize = space == Space::Initialized;
        let options = SharedOptions { access, initialize };
        OsFs.open_shared(&dir.join("new"), None, options)?
    };
    let segment = Segment::new(file, 1, true);
    let record = vec![7; payload];
    let (mut at, mut ready) = (0, 0);
    let (mut syncs, mut puts, mut extensions) = (Vec::new(), Vec::new(), Vec::new());
    for _ in 0..SYNCS {
        let end = Segment::end_of(at, payload, true);
        if end > ready {
            ready += STEP;
            let start = Instant::now();
            segment.extend(ready)?;
            extensions.push(micros(start));
        }
        let start = Instant::now();
        segment.put(at, &[&record])?;
        puts.push(micros(start));
        let start = Instant::now();
        segment.sync()?;
        syncs.push(micros(start));
        at = end;
    }
    Ok(SyncRun {
        mean: syncs.iter().sum::<f64>() / syncs.len() as f64,
        first: syncs[0],
        median: median(&mut syncs),
        high: syncs[SYNCS * 99 / 100],
        put: median(&mut puts),
        extend: median(&mut extensions),
    })
}

/// Threads that share syncs, and rounds of all of them.
const SHARED: [(u32, usize); 5] = [(1, 2000), (2, 2000), (4, 2000), (16, 1500), (64, 1000)];

fn shared(dir: &Path) -> Result<()> {
    let mut rates = [const { Vec::new() }; SHARED.len()];
    for _ in 0..RUNS {
        for ((threads, rounds), rates) in SHARED.iter().zip(&mut rates) {
            rates.push(shared_run(dir, *threads, *rounds)?);
        }
    }
    for ((threads, _), rates) in SHARED.iter().zip(&mut rates) {
        let rate = median(rates);
        println!("{threads} threads share syncs: {rate:.0} records a second");
    }
    Ok(())
}

/// Records a second of `threads`.
fn shared_run(dir: &Path, threads: u32, rounds: usize) -> Result<f64> {
    const PAYLOAD: usize = 150;
    let options = SharedOptions {
        access: SharedAccess::Auto,
        initialize: true,
    };
    let segment = Segment::new(
        OsFs.open_shared(&dir.join("shared"), None, options)?,
        1,
        true,
    );
    segment.extend(LEN)?;
    let record = [7; PAYLOAD];
    let end = Mutex::new(0);
    let (arrived, round) = (AtomicU32::new(0), AtomicU32::new(0));
    let writer = || {
        for _ in 0..rounds {
            let mine = round.load(Ordering::Acquire);
            let at = {
                let mut end = end.lock().expect("nobody panics");
                let at = *end;
                *end = Segment::end_of(at, PAYLOAD, true);
                at
            };
            segment.put(at, &[&record]).unwrap_or_else(give_up);
            if arrived.fetch_add(1, Ordering::AcqRel) + 1 == threads {
                arrived.store(0, Ordering::Relaxed);
                segment.sync().unwrap_or_else(give_up);
                round.fetch_add(1, Ordering::Release);
                atomic_wait::wake_all(&round);
            }
            while round.load(Ordering::Acquire) == mine {
                atomic_wait::wait(&round, mine);
            }
        }
    };
    let start = Instant::now();
    std::thread::scope(|scope| (0..threads).for_each(|_| drop(scope.spawn(writer))));
    let writes = rounds as f64 * f64::from(threads);
    Ok(writes / start.elapsed().as_secs_f64())
}

/// Others may be waiting for this thread.
fn give_up(error: whitewater_storage::Error) {
    eprintln!("{error}");
    std::process::exit(1);
}

fn micros(since: Instant) -> f64 {
    since.elapsed().as_nanos() as f64 / 1000.0
}

/// Whoever else uses the machine makes a run slower, never faster.
fn least(runs: impl Iterator<Item = f64>) -> f64 {
    runs.fold(f64::MAX, f64::min)
}

fn median(values: &mut [f64]) -> f64 {
    values.sort_by(f64::total_cmp);
    values[values.len() / 2]
}
