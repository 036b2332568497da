//! What it costs to put a record, and to sync one, by kind of file.
//!
//! `cargo bench -p whitewater-storage --bench segment -- [puts|syncs] [dir]...`
//! measures in each directory (default: the system's for temporary files, and
//! `/dev/shm`), on one line per combination. Figures are medians of runs.
//!
//! * `write_at`: copying bytes to a place, 157 or 1,031 of them; `put`: framing
//!   and checksum as well. A place is taken by compare-and-exchange, which is
//!   part of the time. Time is per record and thread.
//! * warm: the file was extended to its length; cold: it was allocated in
//!   another life and never written, so that the first touch of each page finds
//!   none; recycled: written and synced in another life, by the same kind of
//!   access, and still in memory.
//! * sync: put 150 bytes and sync, over and over, in space as `extend` leaves
//!   it: only allocated, initialized, or a file full of old records.

use std::hint::black_box;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};
use whitewater_storage::Result;
use whitewater_storage::fs::os::OsFs;
use whitewater_storage::fs::{Fs, SharedAccess, SharedFile, SharedOptions};
use whitewater_storage::wal::Segment;

/// Bytes put per run.
const LEN: u64 = 48 << 20;

/// Runs per combination of puts.
const RUNS: usize = 7;

/// Syncs per combination.
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
    let chosen = |what: &str| {
        let named = |a: &String| a == "puts" || a == "syncs";
        !args.iter().any(named) || args.iter().any(|a| a == what)
    };
    let mut dirs: Vec<PathBuf> = args
        .iter()
        .filter(|a| !a.starts_with("--") && *a != "puts" && *a != "syncs")
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
                    let mut raw = Vec::new();
                    let mut framed = Vec::new();
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
                    println!(
                        "{access:?} {state:?}, {payload} bytes, {threads} threads: \
                         write_at {:.0} ns, put {:.0} ns",
                        median(&mut raw),
                        median(&mut framed)
                    );
                }
            }
        }
    }
    Ok(())
}

/// Fills the file from `threads` threads; nanoseconds per record and thread.
fn run(payload: usize, threads: usize, put: impl Fn(u64) -> Result<()> + Sync) -> Result<f64> {
    let next = AtomicU64::new(0);
    let work = || -> Result<u64> {
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
                return Ok(done);
            }
            put(at)?;
            done += 1;
        }
    };
    let start = Instant::now();
    let done: Result<u64> = std::thread::scope(|s| {
        let others: Vec<_> = (1..threads).map(|_| s.spawn(work)).collect();
        let mut done = work()?;
        for other in others {
            done += other.join().expect("a thread that puts does not panic")?;
        }
        Ok(done)
    });
    Ok(start.elapsed().as_nanos() as f64 * threads as f64 / done?.max(1) as f64)
}

fn syncs(dir: &Path) -> Result<()> {
    for access in [SharedAccess::Mapped, SharedAccess::Positioned] {
        for (name, initialize, recycled) in [
            ("allocated", false, false),
            ("initialized", true, false),
            ("recycled", false, true),
        ] {
            let file = if recycled {
                file_in(dir, State::Recycled, access)?
            } else {
                let options = SharedOptions { access, initialize };
                OsFs.open_shared(&dir.join("new"), None, options)?
            };
            let segment = Segment::new(file, 1, true);
            let (mut at, mut ready) = (0, 0);
            let (mut syncs, mut puts) = (Vec::new(), Vec::new());
            let mut extending = Duration::ZERO;
            for _ in 0..SYNCS {
                if Segment::end_of(at, 150, true) > ready {
                    let start = Instant::now();
                    ready += STEP;
                    segment.extend(ready)?;
                    extending += start.elapsed();
                }
                let start = Instant::now();
                segment.put(at, &[&[7; 150]])?;
                puts.push(start.elapsed().as_nanos() as f64 / 1000.0);
                at = Segment::end_of(at, 150, true);
                let start = Instant::now();
                segment.sync()?;
                syncs.push(start.elapsed().as_nanos() as f64 / 1000.0);
            }
            let mean = syncs.iter().sum::<f64>() / syncs.len() as f64;
            let first = syncs[0];
            println!(
                "{access:?} {name}: sync {:.0} us, mean {mean:.0}, 99% {:.0}, first {first:.0}; \
                 put {:.1} us; extend {:.0} us",
                median(&mut syncs),
                syncs[SYNCS * 99 / 100],
                median(&mut puts),
                extending.as_secs_f64() * 1e6,
            );
        }
    }
    Ok(())
}

fn median(values: &mut [f64]) -> f64 {
    values.sort_by(f64::total_cmp);
    values[values.len() / 2]
}
