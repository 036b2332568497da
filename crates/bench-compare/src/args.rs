//! The command line.

use std::path::PathBuf;

use clap::Parser;
use whitewater_memtable_bench::machine;
use whitewater_tools::page;

use crate::document::Document;
use crate::group::Limit;
use crate::keys::VALUE_SIZE_LEAST;
use crate::mixes::{self, LOAD, Mix};
use crate::rounds::{self, Run};
use crate::sequence::Work;
use crate::stores::{self, Engine};
use crate::{Result, fail, terminal};

/// Runs YCSB's load and mixes A to F, uniform reads, reads of absent keys, overwrites and pops on
/// this project's engine and on other embedded stores, in turn.
#[derive(Debug, Parser)]
#[command(name = "bench-compare", version, max_term_width = 100)]
pub struct Args {
    /// The stores, by name [default: all that are built in]
    #[arg(long, value_delimiter = ',')]
    engines: Vec<String>,
    /// The mixes that follow the load, in this order [default: all]
    #[arg(long, value_delimiter = ',')]
    mixes: Vec<String>,
    /// How many records are loaded
    #[arg(long, default_value_t = 2_000_000)]
    records: u64,
    /// How many operations a mix has, by all threads together
    #[arg(long, default_value_t = 2_000_000)]
    operations: u64,
    /// How many records the mix `pop` takes, by one thread
    #[arg(long, default_value_t = 500_000)]
    pops: u64,
    /// After how many seconds a mix ends, done or not; the load is never cut short
    #[arg(long, default_value_t = 60)]
    seconds: u64,
    /// Numbers of threads; all is done for each
    #[arg(long, value_delimiter = ',', default_value = "2")]
    threads: Vec<usize>,
    /// How often all is done; results are medians
    #[arg(long, default_value_t = 5)]
    rounds: usize,
    /// The length of values, in bytes, at least 8
    #[arg(long, default_value_t = 100)]
    value_size: usize,
    /// How much memory a store may cache data in, in MiB
    #[arg(long, default_value_t = 512)]
    cache_mib: u64,
    /// The least number of records of a scan
    #[arg(long, default_value_t = 1)]
    scan_min: u64,
    /// The most records of a scan; numbers up to it are equally likely
    #[arg(long, default_value_t = 100)]
    scan_max: u64,
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
    let engines = args.engines()?;
    let mixes = args.mixes()?;
    args.check()?;
    let directory = args.directory.clone();
    let directory = directory
        .or_else(|| std::env::var_os("TEST_TMPDIR").map(PathBuf::from))
        .unwrap_or_else(std::env::temp_dir);
    let limit = args.memory_limit_mib.map(|mib| mib << 20);
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
        threads: &args.threads,
        mixes: &mixes,
        rounds: args.rounds,
        work: args.work(),
        directory: &directory,
        limit,
    };
    let document = Document::begin(&run, command());
    for engine in &engines {
        eprintln!("{}: {}", engine.title(), engine.setup());
    }
    let results = run.all(|line| eprintln!("{line}"))?;
    print!("{}", terminal::text(&results, &engines, &args.threads));
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

    fn mixes(&self) -> Result<Vec<String>> {
        let after_load = || {
            mixes::ALL
                .iter()
                .map(|mix| mix.name)
                .filter(|name| *name != LOAD)
        };
        if self.mixes.is_empty() {
            return Ok(after_load().map(str::to_owned).collect());
        }
        for name in &self.mixes {
            if Mix::named(name).is_none() {
                let known: Vec<_> = after_load().collect();
                return fail(format!(
                    "there is no mix {name}; there are {}",
                    known.join(", ")
                ));
            }
        }
        let named = self.mixes.iter().filter(|name| *name != LOAD);
        Ok(named.cloned().collect())
    }

    fn check(&self) -> Result<()> {
        for (name, value) in [
            ("--records", self.records),
            ("--operations", self.operations),
            ("--pops", self.pops),
            ("--seconds", self.seconds),
            ("--rounds", self.rounds as u64),
            ("--cache-mib", self.cache_mib),
            ("--scan-min", self.scan_min),
            ("--memory-limit-mib", self.memory_limit_mib.unwrap_or(1)),
            (
                "--threads",
                self.threads.iter().copied().min().unwrap_or(0) as u64,
            ),
        ] {
            if value == 0 {
                return fail(format!("{name} must be at least 1"));
            }
        }
        if self.scan_max < self.scan_min {
            return fail("--scan-max must not be below --scan-min");
        }
        if self.value_size < VALUE_SIZE_LEAST {
            return fail(format!("--value-size must be at least {VALUE_SIZE_LEAST}"));
        }
        for path in [&self.json, &self.html] {
            page::try_file(path)?;
        }
        Ok(())
    }

    fn work(&self) -> Work {
        Work {
            records: self.records,
            operations: self.operations,
            pops: self.pops,
            seconds: self.seconds,
            value_size: self.value_size,
            cache_bytes: self.cache_mib << 20,
            scan_least: self.scan_min,
            scan_most: self.scan_max,
            seed: self.seed,
        }
    }
}
