//! Measures a machine's figures by micro-benchmarks.
//!
//! Each figure is the median of several rounds of a loop that does one thing. Other
//! work on the machine can only make such a loop slower, so a figure from a loaded
//! machine is an upper bound. Figures of what this machine lacks (a second socket,
//! hardware threads) are not measured and keep their old values.

use crate::parameters::{FIGURES, Figure, Parameters};
use atomic_wait::{wait, wake_all, wake_one};
use nix::sched::{CpuSet, sched_setaffinity};
use nix::unistd::Pid;
use rand_xoshiro::Xoshiro256PlusPlus;
use rand_xoshiro::rand_core::{RngCore, SeedableRng};
use serde_json::{Map, Value, json};
use std::fs::File;
use std::hint::black_box;
use std::io::Write;
use std::path::Path;
use std::sync::atomic::{AtomicU32, AtomicU64, Ordering};
use std::thread;
use std::time::{Duration, Instant};
use whitewater_concurrent::art::{Art, Options};
use whitewater_concurrent::region::HugePages;
use whitewater_concurrent::skiplist::{Bytewise, SkipList};

const ROUNDS: usize = 7;
/// The number of entries in the measured runs of `measured/own.json`.
const ENTRIES: u64 = 1_000_000;
const VALUE: [u8; 100] = [7; 100];

/// The reason why a figure could not be measured.
pub type Failure = Box<dyn std::error::Error>;

/// Measures what can be measured; syncs in `directory`, which is on the disk that
/// holds logs. Returns figures in the units of [`FIGURES`]. Calls `tell` with the name
/// of each figure before measuring it.
///
/// # Errors
/// The system refuses to place a thread or to write a file.
pub fn measure(
    directory: &Path,
    tell: &mut dyn FnMut(&str),
) -> Result<Vec<(&'static str, f64)>, Failure> {
    let mut figures = Figures {
        list: Vec::new(),
        tell,
    };
    // This must be read before this thread is bound to one core.
    let cpus = thread::available_parallelism().map_or(1, |n| n.get());
    pin(0)?;
    memory(cpus, &mut figures)?;
    futexes(cpus, &mut figures)?;
    let mut file = tempfile::tempfile_in(directory)?;
    figures.add("write_call", || write_call(&mut file))?;
    figures.add("sync", || sync(&mut file))?;
    figures.add("skip_list_link", || {
        Ok(middle((0..3).map(|_| skip_list()).collect()))
    })?;
    (figures.tell)("art_prepare, art_link");
    let art = (0..3).map(|_| art()).collect::<Vec<_>>();
    figures.push("art_prepare", middle(art.iter().map(|a| a.0).collect()));
    figures.push("art_link", middle(art.iter().map(|a| a.1).collect()));
    Ok(figures.list)
}

/// The figures measured so far, and the callback to announce the next one.
struct Figures<'t> {
    list: Vec<(&'static str, f64)>,
    tell: &'t mut dyn FnMut(&str),
}

impl Figures<'_> {
    fn add(
        &mut self,
        name: &'static str,
        measure: impl FnOnce() -> Result<f64, Failure>,
    ) -> Result<f64, Failure> {
        (self.tell)(name);
        let value = measure()?;
        self.push(name, value);
        Ok(value)
    }

    fn push(&mut self, name: &'static str, value: f64) {
        self.list.push((name, value.max(0.0)));
    }
}

/// Measures loads, atomic operations, calls, copies and cache lines.
fn memory(cpus: usize, figures: &mut Figures<'_>) -> Result<(), Failure> {
    let word = AtomicU64::new(0);
    figures.add("hit", || Ok(chain(64)))?;
    figures.add("atomic", || {
        Ok(each(5_000_000, || word.fetch_add(1, Ordering::SeqCst)))
    })?;
    figures.add("clock", || Ok(each(2_000_000, Instant::now)))?;
    figures.add("yield_call", || Ok(each(200_000, thread::yield_now)))?;
    figures.add("copy_kib", || Ok(copy()))?;
    figures.add("first_touch", || Ok(first_touch()))?;
    figures.add("memory", || Ok(chain(4 << 20)))?;
    if cpus > 1 {
        figures.add("near", || median(|| ping_pong(200_000, 1)))?;
    }
    Ok(())
}

/// Measures sleeping and waking.
fn futexes(cpus: usize, figures: &mut Figures<'_>) -> Result<(), Failure> {
    let futex = AtomicU32::new(0);
    let wait_call = figures.add("wait_call", || Ok(each(200_000, || wait(&futex, 1))))?;
    let wake_call = figures.add("wake_call", || Ok(each(200_000, || wake_one(&futex))))?;
    let wake_each = figures.add("wake_each", || median(|| wake_many(wake_call, cpus - 1)))?;
    // Waking a thread on the waker's own core takes no interrupt, so all of the rest is
    // the context switch.
    let switch = figures.add("context_switch", || {
        let there_and_back = median(|| futex_ping_pong(20_000, 0))?;
        Ok(there_and_back - wait_call - wake_call)
    })?;
    if cpus > 1 {
        figures.add("wake_idle", || {
            let across = median(|| futex_ping_pong(20_000, 1))?;
            Ok(across - wake_call - wake_each - switch)
        })?;
    }
    Ok(())
}

/// The text of a machine file: the figures of `like`, replaced by those that were
/// measured. `about` says when and where.
#[must_use]
pub fn file(
    name: &str,
    like: &str,
    about: &str,
    base: &Parameters,
    measured: &[(&'static str, f64)],
) -> Value {
    let unit = |name: &str| {
        FIGURES
            .iter()
            .find(|(n, ..)| *n == name)
            .map_or("ns", |f| f.1)
    };
    let figures: Map<String, Value> = measured
        .iter()
        .map(|(name, value)| {
            let rounded = (value * 100.0).round() / 100.0;
            let source = format!("measured by `scaling calibrate`, {about}");
            (
                (*name).to_owned(),
                json!({ unit(name): rounded, "source": source }),
            )
        })
        .collect();
    let topology = base.topology;
    json!({
        "name": name,
        "about": about,
        "like": like,
        "topology": {
            "sockets": topology.sockets,
            "cores": topology.cores,
            "threads": topology.threads,
        },
        "figures": figures,
    })
}

/// A table of the measured figures, beside those of `base`.
#[must_use]
pub fn table(base: &Parameters, measured: &[(&'static str, f64)]) -> String {
    let mut text = format!(
        "{:<18} {:>12} {:>12}\n",
        "figure", "measured", "in the file"
    );
    for (name, value) in measured {
        let known: Option<&Figure> = base.figures.get(*name);
        let known = known.map_or(0.0, |figure| figure.value);
        text += &format!("{name:<18} {value:>12.1} {known:>12.1}\n");
    }
    text
}

fn pin(cpu: usize) -> Result<(), nix::Error> {
    let mut set = CpuSet::new();
    set.set(cpu)?;
    sched_setaffinity(Pid::from_raw(0), &set)
}

/// The time of one call in nanoseconds.
fn each<T>(count: u64, mut work: impl FnMut() -> T) -> f64 {
    let rounds = (0..ROUNDS).map(|_| {
        let start = Instant::now();
        for _ in 0..count / ROUNDS as u64 {
            black_box(work());
        }
        start.elapsed().as_nanos() as f64 / (count / ROUNDS as u64) as f64
    });
    middle(rounds.collect())
}

fn median(mut work: impl FnMut() -> Result<f64, Failure>) -> Result<f64, Failure> {
    let rounds = (0..ROUNDS).map(|_| work()).collect::<Result<Vec<_>, _>>()?;
    Ok(middle(rounds))
}

fn middle(mut values: Vec<f64>) -> f64 {
    values.sort_by(f64::total_cmp);
    values[values.len() / 2]
}

/// The time to copy a KiB to memory that is not in the cache, as when a log grows.
fn copy() -> f64 {
    const KIB: usize = 64 << 10;
    let from = [1u8; 1024];
    let mut to = vec![0u8; KIB << 10];
    let mut at = 0;
    each(200_000, || {
        to[at << 10..(at + 1) << 10].copy_from_slice(black_box(&from));
        at = (at + 1) % KIB;
    })
}

fn first_touch() -> f64 {
    const PAGES: usize = 8192;
    let mut kept = Vec::new(); // or the next round gets pages that were touched
    let rounds = (0..ROUNDS).map(|_| {
        let mut memory: Vec<u8> = Vec::with_capacity(PAGES * 4096);
        let start = Instant::now();
        memory.resize(PAGES * 4096, 1);
        let filled = start.elapsed().as_nanos() as f64;
        let start = Instant::now();
        memory.fill(2);
        let again = start.elapsed().as_nanos() as f64;
        kept.push(memory);
        (filled - again) / PAGES as f64
    });
    middle(rounds.collect())
}

/// The time of a load in a chain over `lines` cache lines, each of which contains the
/// position of the next.
fn chain(lines: usize) -> f64 {
    const STEPS: usize = 300_000;
    let mut random = Xoshiro256PlusPlus::seed_from_u64(7);
    // The permutation is one cycle through all lines in random order (Sattolo's algorithm).
    let mut next: Vec<[u64; 8]> = (0..lines as u64).map(|at| [at; 8]).collect();
    for at in (1..lines).rev() {
        let other = (random.next_u64() % at as u64) as usize;
        next.swap(at, other);
    }
    let mut at = 0usize;
    let start = Instant::now();
    for _ in 0..STEPS {
        at = next[at][0] as usize;
    }
    black_box(at);
    start.elapsed().as_nanos() as f64 / STEPS as f64
}

/// Half of the round-trip time of a cache line between two cores.
fn ping_pong(rounds: u32, other: usize) -> Result<f64, Failure> {
    let word = AtomicU32::new(0);
    thread::scope(|scope| {
        let partner = scope.spawn(|| {
            pin(other)?;
            for turn in 0..rounds {
                while word.load(Ordering::Acquire) != 2 * turn + 1 {
                    std::hint::spin_loop();
                }
                word.store(2 * turn + 2, Ordering::Release);
            }
            Ok::<_, nix::Error>(())
        });
        let start = Instant::now();
        for turn in 0..rounds {
            word.store(2 * turn + 1, Ordering::Release);
            while word.load(Ordering::Acquire) != 2 * turn + 2 {
                std::hint::spin_loop();
            }
        }
        let time = start.elapsed().as_nanos() as f64;
        partner.join().expect("the partner does not panic")?;
        Ok(time / f64::from(rounds) / 2.0)
    })
}

/// Half of the round-trip time of a wake-up between two threads.
fn futex_ping_pong(rounds: u32, other: usize) -> Result<f64, Failure> {
    let word = AtomicU32::new(0);
    let wait_for = |value: u32| {
        loop {
            let now = word.load(Ordering::Acquire);
            if now == value {
                return;
            }
            wait(&word, now);
        }
    };
    thread::scope(|scope| {
        let partner = scope.spawn(|| {
            pin(other)?;
            for turn in 0..rounds {
                wait_for(2 * turn + 1);
                word.store(2 * turn + 2, Ordering::Release);
                wake_one(&word);
            }
            Ok::<_, nix::Error>(())
        });
        let start = Instant::now();
        for turn in 0..rounds {
            word.store(2 * turn + 1, Ordering::Release);
            wake_one(&word);
            wait_for(2 * turn + 2);
        }
        let time = start.elapsed().as_nanos() as f64;
        partner.join().expect("the partner does not panic")?;
        Ok(time / f64::from(rounds) / 2.0)
    })
}

/// The waker's cost for each of several sleeping threads. The threads sleep on core
/// `other`.
fn wake_many(wake_call: f64, other: usize) -> Result<f64, Failure> {
    const SLEEPERS: u32 = 64;
    let (word, asleep) = (AtomicU32::new(0), AtomicU32::new(0));
    thread::scope(|scope| {
        for _ in 0..SLEEPERS {
            scope.spawn(|| {
                // If pinning is refused, the figure is that of a single core.
                let _ = pin(other);
                asleep.fetch_add(1, Ordering::SeqCst);
                while word.load(Ordering::Acquire) == 0 {
                    wait(&word, 0);
                }
            });
        }
        while asleep.load(Ordering::SeqCst) < SLEEPERS {
            thread::yield_now();
        }
        thread::sleep(Duration::from_millis(20));
        let start = Instant::now();
        word.store(1, Ordering::Release);
        wake_all(&word);
        let time = start.elapsed().as_nanos() as f64;
        Ok((time - wake_call) / f64::from(SLEEPERS))
    })
}

fn write_call(file: &mut File) -> Result<f64, Failure> {
    let record = [3u8; 150];
    let mut failed = None;
    let time = each(50_000, || {
        if let Err(e) = file.write_all(&record) {
            failed = Some(e);
        }
    });
    failed.map_or(Ok(time), |e| Err(e.into()))
}

fn sync(file: &mut File) -> Result<f64, Failure> {
    const SYNCS: usize = 31;
    let mut times = Vec::new();
    for _ in 0..SYNCS {
        file.write_all(&[3u8; 150])?;
        let start = Instant::now();
        file.sync_data()?;
        times.push(start.elapsed().as_nanos() as f64);
    }
    Ok(middle(times))
}

fn keys(seed: u64) -> impl Iterator<Item = [u8; 16]> {
    let mut random = Xoshiro256PlusPlus::seed_from_u64(seed);
    (0..ENTRIES).map(move |_| {
        // As in db_bench, a key is a number followed by zeros.
        let mut key = [b'0'; 16];
        key[..8].copy_from_slice(&(random.next_u64() % ENTRIES).to_be_bytes());
        key
    })
}

fn skip_list() -> f64 {
    let list = SkipList::<Bytewise>::new(Bytewise, 64 << 20);
    let keys: Vec<_> = keys(3).collect();
    let start = Instant::now();
    for (tag, key) in keys.iter().enumerate() {
        black_box(list.insert_concurrently(key, tag as u64 + 1, &VALUE));
    }
    start.elapsed().as_nanos() as f64 / ENTRIES as f64
}

/// The times to prepare and to publish an entry. Neither contains the cost of reading
/// the clock, because both are measured for whole batches.
fn art() -> (f64, f64) {
    const BATCH: usize = 64;
    let tree = Art::new(Options {
        capacity: 128 << 20,
        huge_pages: HugePages::Off,
    });
    let keys: Vec<_> = keys(5).collect();
    let (mut prepare, mut link) = (Duration::ZERO, Duration::ZERO);
    let mut tag = 0;
    for batch in keys.chunks(BATCH) {
        let start = Instant::now();
        let prepared: Vec<_> = batch.iter().map(|key| tree.prepare(key, &VALUE)).collect();
        prepare += start.elapsed();
        let start = Instant::now();
        for entry in prepared {
            tag += 1;
            black_box(tree.publish(entry, tag));
        }
        link += start.elapsed();
    }
    let each = |time: Duration| time.as_nanos() as f64 / ENTRIES as f64;
    (each(prepare), each(link))
}
