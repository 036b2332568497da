//! `db_bench`: RocksDB's benchmark program for this engine, and, with the
//! cargo feature `peer-rocksdb`, for RocksDB itself with the same code.
//!
//! Flags and output are RocksDB's, so that command lines and scripts written
//! for it keep working; a flag that is not honoured is an error, never ignored.
//!
//! The way of a run: [`args`] and [`flags`] read the command line, [`plan`] the
//! list of benchmarks; [`runner`] opens an [`engine`] and starts the threads,
//! each a [`worker`] that runs a [`workload`]; [`report`] formats what their
//! [`stats`] add up to.

use std::ffi::OsString;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use tempfile::TempDir;

pub mod args;
mod binding;
pub mod both;
pub(crate) mod clock;
pub mod contention;
mod counters;
pub mod document;
pub mod engine;
pub mod flags;
mod header;
pub(crate) mod help;
pub mod histogram;
pub mod keygen;
pub mod known;
mod levels;
#[cfg(test)]
mod memory;
mod merge;
pub mod pace;
pub mod perf;
pub mod plan;
pub(crate) mod progress;
pub mod report;
pub mod runner;
pub mod stats;
pub mod tour;
pub mod values;
pub mod worker;
pub mod workload;

use args::Command;
use document::{Column, Document, Row};
use engine::{Engine, Failure, Result};
use flags::Flags;
use runner::Runner;

/// Runs the program with the arguments that follow its name. Errors go to
/// standard error and make the exit code 1.
pub fn main(arguments: impl Iterator<Item = OsString>) -> ExitCode {
    match execute(arguments) {
        Ok(()) => ExitCode::SUCCESS,
        Err(failure) => {
            eprintln!("db_bench: {failure}");
            ExitCode::FAILURE
        }
    }
}

fn execute(arguments: impl Iterator<Item = OsString>) -> Result<()> {
    match args::parse(utf8(arguments)?)? {
        Command::Help => print(&help::text()),
        Command::Version => print(concat!("db_bench ", env!("CARGO_PKG_VERSION"), "\n")),
        Command::Tour => run_tour(),
        Command::Run(flags) => run(&flags),
    }
}

/// Arguments as text.
pub(crate) fn utf8(arguments: impl Iterator<Item = OsString>) -> Result<Vec<String>> {
    arguments
        .map(|argument| {
            argument
                .into_string()
                .map_err(|raw| Failure(format!("argument {raw:?} is not UTF-8")))
        })
        .collect()
}

fn print(text: &str) -> Result<()> {
    Ok(std::io::stdout().write_all(text.as_bytes())?)
}

type Own = binding::own::Database;

fn run_tour() -> Result<()> {
    let base = Base::temporary()?;
    tour::run::<Own>(tour::Size::default(), &base.path, &mut std::io::stdout())
}

fn run(flags: &Flags) -> Result<()> {
    // Everything that can be wrong with the command line comes first.
    plan::parse(&flags.benchmarks)?;
    match flags.engine.as_str() {
        "whitewater" => run_one::<Own>(flags),
        #[cfg(feature = "peer-rocksdb")]
        "rocksdb" => run_one::<binding::peer::Database>(flags),
        #[cfg(feature = "peer-rocksdb")]
        "both" => run_both::<Own, binding::peer::Database>(flags),
        #[cfg(not(feature = "peer-rocksdb"))]
        "rocksdb" | "both" => Err(Failure(format!(
            "--engine={}: RocksDB is not part of this build; build with --features peer-rocksdb",
            flags.engine
        ))),
        other => Err(Failure(format!(
            "--engine={other}: unknown; the engines are whitewater, rocksdb and both"
        ))),
    }
}

fn run_one<E: Engine>(flags: &Flags) -> Result<()> {
    let base = Base::new(flags)?;
    eprint!("{}", header::environment(&E::title()));
    let seed = choose_seed(flags)?;
    let mut output = std::io::stdout();
    let mut runner = Runner::<E>::new(flags, &base.path, seed, &mut output)?;
    runner.print_header()?;
    let document = Document::begin(flags, seed);
    let outcomes = runner.run(&plan::parse(&flags.benchmarks)?)?;
    document.save(&[Column {
        engine: E::title(),
        rows: outcomes.iter().map(Row::of).collect(),
    }])
}

#[cfg(any(test, feature = "peer-rocksdb"))]
fn run_both<A: Engine, B: Engine>(flags: &Flags) -> Result<()> {
    if flags.use_existing_db {
        return Err(Failure(
            "--engine=both runs on fresh databases, not with --use_existing_db".into(),
        ));
    }
    let base = Base::new(flags)?;
    eprint!(
        "{}{}",
        header::environment(&A::title()),
        header::environment(&B::title())
    );
    let seed = choose_seed(flags)?;
    print(&header::summary(flags)?)?;
    let steps = plan::parse(&flags.benchmarks)?;
    let document = Document::begin(flags, seed);
    let columns = both::run::<A, B>(flags, &steps, &base.path, seed, &mut std::io::stdout())?;
    document.save(&columns)
}

fn choose_seed(flags: &Flags) -> Result<u64> {
    if flags.seed != 0 {
        return Ok(flags.seed.unsigned_abs());
    }
    let seed = clock::micros();
    print(&format!("Set seed to {seed} because --seed was 0\n"))?;
    Ok(seed)
}

/// The directory of the database, and what removes it at the end if nobody
/// chose it.
struct Base {
    path: PathBuf,
    _removed_at_the_end: Option<TempDir>,
}

impl Base {
    fn new(flags: &Flags) -> Result<Self> {
        match (flags.db.as_str(), std::env::var_os("TEST_TMPDIR")) {
            ("", None) => Self::temporary(),
            ("", Some(parent)) => Ok(Self::at(Path::new(&parent).join("dbbench"))),
            (path, _) => Ok(Self::at(PathBuf::from(path))),
        }
    }

    fn at(path: PathBuf) -> Self {
        Self {
            path,
            _removed_at_the_end: None,
        }
    }

    fn temporary() -> Result<Self> {
        let directory = match std::env::var_os("TEST_TMPDIR") {
            Some(parent) => tempfile::Builder::new()
                .prefix("dbbench")
                .tempdir_in(parent)?,
            None => tempfile::Builder::new().prefix("dbbench").tempdir()?,
        };
        Ok(Self {
            path: directory.path().join("db"),
            _removed_at_the_end: Some(directory),
        })
    }
}

#[cfg(test)]
mod tests;
