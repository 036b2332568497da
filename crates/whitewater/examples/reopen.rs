//! Opens a database, writes, reads and closes it, again and again for some seconds, and prints
//! what the process holds: nothing of it may grow. Linux only: it reads `/proc/self`.
//!
//! ```sh
//! cargo run --release -p whitewater --example reopen -- 600
//! ```

use std::env::args;
use std::error::Error;
use std::fs;
use std::time::{Duration, Instant};
use whitewater::{BlockBasedOptions, Cache, DB, IteratorMode, Options};

/// How often it is looked at what the process holds.
const LOOKS: u32 = 10;
/// Keys that each round writes, of as many as there are.
const WRITTEN: u64 = 5_000;
const KEYS: u64 = 50_000;
/// After how many rounds the database is removed.
const LIFE: u64 = 50;
/// How much of the resident memory may be chance, in KiB.
const CHANCE: u64 = 16 << 10;

/// Resident memory in KiB, open files, threads.
#[derive(Debug)]
struct Held {
    resident: u64,
    files: usize,
    threads: usize,
}

fn held() -> Result<Held, Box<dyn Error>> {
    let status = fs::read_to_string("/proc/self/status")?;
    let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:"));
    let resident = line.and_then(|line| line.split_whitespace().next());
    Ok(Held {
        resident: resident.ok_or("no VmRSS")?.parse()?,
        files: fs::read_dir("/proc/self/fd")?.count(),
        threads: fs::read_dir("/proc/self/task")?.count(),
    })
}

/// Opens, writes, reads and closes.
fn round(options: &Options, dir: &std::path::Path, number: u64) -> Result<(), Box<dyn Error>> {
    let db = DB::open(options, dir)?;
    let value = |key: u64| [number.to_be_bytes(), key.to_be_bytes()].concat().repeat(8);
    let keys = || (0..WRITTEN).map(|i| (number + i * 7_919) % KEYS);
    for key in keys() {
        db.put(key.to_be_bytes(), value(key))?;
    }
    if number.is_multiple_of(2) {
        db.flush()?;
    }
    for key in keys() {
        let found = db.get_pinned(key.to_be_bytes())?;
        if found.is_none_or(|found| *found != value(key)) {
            return Err(format!("round {number}: another value of key {key}").into());
        }
    }
    let entries = db.iterator(IteratorMode::Start).take(WRITTEN as usize);
    for entry in entries {
        entry?;
    }
    Ok(())
}

fn main() -> Result<(), Box<dyn Error>> {
    let seconds = args().nth(1).ok_or("usage: reopen SECONDS")?.parse()?;
    let dir = tempfile::tempdir()?;
    let mut options = Options::default();
    options.create_if_missing(true);
    options.set_write_buffer_size(1 << 20);
    let mut tables = BlockBasedOptions::default();
    tables.set_block_cache(&Cache::new_lru_cache(8 << 20));
    options.set_block_based_table_factory(&tables);
    let mut looks = Vec::new();
    let mut rounds = 0;
    let began = Instant::now();
    for look in 1..=LOOKS {
        while began.elapsed() < Duration::from_secs(seconds) * look / LOOKS {
            if rounds % LIFE == 0 {
                DB::destroy(&Options::default(), dir.path())?;
            }
            round(&options, dir.path(), rounds)?;
            rounds += 1;
        }
        looks.push(held()?);
        println!("{rounds} rounds: {:?}", looks[looks.len() - 1]);
    }
    // The first look is at what has been made once for all.
    let (first, last) = (&looks[1], &looks[looks.len() - 1]);
    let most = first.resident + first.resident / 10 + CHANCE;
    if last.resident > most || last.files > first.files || last.threads > first.threads {
        return Err(format!("{rounds} rounds: it has grown").into());
    }
    println!("{rounds} rounds without growth");
    Ok(())
}
