//! The command line.

use std::path::PathBuf;
use std::time::Duration;

use clap::Parser;
use whitewater_memtable_bench::machine;
use whitewater_tools::page;

use crate::document::Document;
use crate::group::Limit;
use crate::keys::{KEY_SIZE_LEAST, KEY_SIZE_MOST, VALUE_SIZE_LEAST};
use crate::mixes::{self, LOAD, Mix};
use crate::presets::{DEFAULT, Preset, Table};
use crate::rounds::{self, Run};
use crate::sequence::Work;
use crate::stores::{self, Engine};
use crate::{Result, fail, terminal};

/// Runs YCSB's load and mixes A to F, uniform reads, reads of absent keys, overwrites and pops on
/// this project's engine and on other embedded stores, in turn.
#[derive(Debug, Parser)]
#[command(name = "bench-compare", version, max_term_width = 100)]
pub struct Args {
    /// Makes a table of docs/benchmarks.md: options that are not given are those of the table
    #[arg(long)]
    table: Option<Table>,
    /// Makes the table with less data and fewer rounds, in some four minutes
    #[arg(long, requires = "table")]
    quick: bool,
    /// The stores, by name [default: all that are built in]
    #[arg(long, value_delimiter = ',')]
    engines: Vec<String>,
    /// The mixes that follow the load, in this order [default: a to f, c, uniform, absent,
    /// overwrite and pop]
    #[arg(long, value_delimiter = ',')]
    mixes: Vec<String>,
    /// How many records are loaded [default: 2000000]
    #[arg(long)]
    records: Option<u64>,
    /// How many operations a mix has, by all threads together [default: 2000000]
    #[arg(long)]
    operations: Option<u64>,
    /// How many records mixes like `pop` take, by one thread [default: 500000]
    #[arg(long)]
    pops: Option<u64>,
    /// After how many seconds a mix ends, done or not; the load is never cut short [default: 60]
    #[arg(long)]
    seconds: Option<u64>,
    /// How many seconds the mix `tail` lasts [default: 300]
    #[arg(long)]
    tail_seconds: Option<u64>,
    /// How many operations a second the mix `tail` begins [default: half of what the store does
    /// when each thread begins the next when the last has ended]
    #[arg(long)]
    tail_rate: Option<u64>,
    /// How many seconds that is measured [default: 10]
    #[arg(long)]
    peak_seconds: Option<u64>,
    /// Numbers of threads; all is done for each [default: 2]
    #[arg(long, value_delimiter = ',')]
    threads: Vec<usize>,
    /// How often all is done; results are medians [default: 5]
    #[arg(long)]
    rounds: Option<usize>,
    /// Begins no other round that would end after this many seconds [default: no limit]
    #[arg(long)]
    budget_seconds: Option<u64>,
    /// Each mix has a store of its own, loaded for it
    #[arg(long)]
    fresh: bool,
    /// Lets stores settle after the last mix, not after the load
    #[arg(long)]
    settle_last: bool,
    /// Stores that are LSM trees compact everything into one sorted run when they settle
    #[arg(long)]
    compact: bool,
    /// Tables are read past the system's cache; for stores that can do that (whitewater, rocksdb)
    #[arg(long)]
    direct_reads: bool,
    /// The length of keys, in bytes, from 16 to 64 [default: 16]
    #[arg(long)]
    key_size: Option<usize>,
    /// The length of values, in bytes, at least 8 [default: 100]
    #[arg(long)]
    value_size: Option<usize>,
    /// How much memory a store may cache data in, in MiB [default: 512]
    #[arg(long)]
    cache_mib: Option<u64>,
    /// The least number of records of a scan [default: 1]
    #[arg(long)]
    scan_min: Option<u64>,
    /// The most records of a scan; numbers up to it are equally likely [default: 100]
    #[arg(long)]
    scan_max: Option<u64>,
    /// Decides all random numbers
    #[arg(long, default_value_t = 1)]
    seed: u64,
    /// Where stores are put [default: TEST_TMPDIR, or else the system's temporary directory]
    #[arg(long)]
    directory: Option<PathBuf>,
    /// Limits the memory of each store's process, page cache included, in MiB
    #[arg(long)]
    memory_limit_mib: Option<u64>,
    /// Writes the results to this file as JSON
    #[arg(long, default_value = "", hide_default_value = true)]
    json: String,
    /// Writes the results to this file as a page
    #[arg(long, default_value = "", hide_default_value = true)]
    html: String,
    /// The task of a child process
    #[arg(long, hide = true)]
    child: Option<String>,
}

/// Does what the command line says.
///
/// # Errors
/// What the user must know, in one message.
pub fn run() -> Result<()> {
    let args = Args::parse();
    if let Some(task) = &args.child {
        return rounds::child(task);
    }
    let preset = args.table.map_or(DEFAULT, |table| table.preset(args.quick));
    let engines = args.engines()?;
    let mixes = args.mixes(&preset)?;
    let cannot = engines.iter().find(|engine| !engine.reads_directly());
    if let Some(engine) = cannot.filter(|_| args.direct_reads) {
        return fail(format!(
            "{engine} always reads through the system's cache: with --direct-reads, name others by \
             --engines"
        ));
    }
    let work = args.work(&preset);
    let threads = match args.threads.is_empty() {
        true => preset.threads.to_vec(),
        false => args.threads.clone(),
    };
    let rounds = args.rounds.unwrap_or(preset.rounds);
    let limit = args.memory_limit_mib.or(preset.memory_limit_mib);
    let budget = args.budget_seconds.or(preset.budget_seconds);
    args.check(&work, &threads, rounds)?;
    let directory = args.directory.clone();
    let directory = directory
        .or_else(|| std::env::var_os("TEST_TMPDIR").map(PathBuf::from))
        .unwrap_or_else(std::env::temp_dir);
    let limit = limit.map(|mib| mib << 20);
    if let Some(bytes) = limit {
        if machine::file_system(&directory) == "tmpfs" {
            return fail(format!(
                "{} is in memory (tmpfs): with --memory-limit-mib the files of a store must be on \
                 a disk; name a directory with --directory",
                directory.display()
            ));
        }
        // Says at once that there can be no limit.
        drop(Limit::new(bytes)?);
    }
    let run = Run {
        engines: &engines,
        threads: &threads,
        mixes: &mixes,
        fresh: args.fresh || preset.fresh,
        rounds,
        budget: budget.map(Duration::from_secs),
        work,
        directory: &directory,
        limit,
    };
    let document = Document::begin(&run, command());
    for engine in &engines {
        eprintln!("{}: {}", engine.title(), engine.setup());
    }
    let results = run.all(|line| eprintln!("{line}"))?;
    print!("{}", terminal::text(&results, &engines, &threads));
    println!();
    for note in terminal::NOTES {
        println!("{note}");
    }
    document.save(&results, &args.json, &args.html)
}

/// The command line as it was typed, but for quotes.
fn command() -> String {
    let words: Vec<_> = std::env::args().skip(1).collect();
    format!("bench-compare {}", words.join(" "))
}

impl Args {
    fn engines(&self) -> Result<Vec<Engine>> {
        if self.engines.is_empty() {
            return Ok(stores::ALL.to_vec());
        }
        let engine = |name: &String| match Engine::named(name) {
            Some(engine) => Ok(engine),
            None => {
                let known: Vec<_> = stores::ALL.iter().map(|engine| engine.name()).collect();
                fail(format!(
                    "there is no store {name}; this program was built with {} (others are cargo \
                     features)",
                    known.join(", ")
                ))
            }
        };
        self.engines.iter().map(engine).collect()
    }

    fn mixes(&self, preset: &Preset) -> Result<Vec<String>> {
        if self.mixes.is_empty() {
            return Ok(preset.mixes.iter().map(|name| (*name).to_owned()).collect());
        }
        for name in &self.mixes {
            if Mix::named(name).is_none() {
                let all = mixes::ALL.iter().map(|mix| mix.name);
                let known: Vec<_> = all.filter(|name| *name != LOAD).collect();
                return fail(format!(
                    "there is no mix {name}; there are {}",
                    known.join(", ")
                ));
            }
        }
        let named = self.mixes.iter().filter(|name| *name != LOAD);
        Ok(named.cloned().collect())
    }

    fn check(&self, work: &Work, threads: &[usize], rounds: usize) -> Result<()> {
        for (name, value) in [
            ("--records", work.records),
            ("--operations", work.operations),
            ("--pops", work.pops),
            ("--seconds", work.seconds),
            ("--tail-seconds", work.tail_seconds),
            ("--tail-rate", work.tail_rate.unwrap_or(1)),
            ("--peak-seconds", work.peak_seconds),
            ("--rounds", rounds as u64),
            ("--cache-mib", work.cache_bytes),
            ("--scan-min", work.scan_least),
            ("--memory-limit-mib", self.memory_limit_mib.unwrap_or(1)),
            (
                "--threads",
                threads.iter().copied().min().unwrap_or(0) as u64,
            ),
        ] {
            if value == 0 {
                return fail(format!("{name} must be at least 1"));
            }
        }
        if work.scan_most < work.scan_least {
            return fail("--scan-max must not be below --scan-min");
        }
        if !(KEY_SIZE_LEAST..=KEY_SIZE_MOST).contains(&work.key_size) {
            return fail(format!(
                "--key-size must be from {KEY_SIZE_LEAST} to {KEY_SIZE_MOST}"
            ));
        }
        if work.value_size < VALUE_SIZE_LEAST {
            return fail(format!("--value-size must be at least {VALUE_SIZE_LEAST}"));
        }
        for path in [&self.json, &self.html] {
            page::try_file(path)?;
        }
        Ok(())
    }

    fn work(&self, preset: &Preset) -> Work {
        let work = preset.work(self.seed);
        let cache_bytes = self.cache_mib.map(|mib| mib << 20);
        Work {
            records: self.records.unwrap_or(work.records),
            operations: self.operations.unwrap_or(work.operations),
            pops: self.pops.unwrap_or(work.pops),
            seconds: self.seconds.unwrap_or(work.seconds),
            peak_seconds: self.peak_seconds.unwrap_or(work.peak_seconds),
            tail_seconds: self.tail_seconds.unwrap_or(work.tail_seconds),
            tail_rate: self.tail_rate,
            settle_last: self.settle_last || work.settle_last,
            compact: self.compact,
            direct_reads: self.direct_reads,
            key_size: self.key_size.unwrap_or(work.key_size),
            value_size: self.value_size.unwrap_or(work.value_size),
            cache_bytes: cache_bytes.unwrap_or(work.cache_bytes),
            scan_least: self.scan_min.unwrap_or(work.scan_least),
            scan_most: self.scan_max.unwrap_or(work.scan_most),
            seed: work.seed,
        }
    }
}
