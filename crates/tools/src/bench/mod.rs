//! `db_bench`: RocksDB's benchmark program for this engine and, with the cargo
//! feature `peer-rocksdb`, for RocksDB itself with the same code.
//!
//! Flags and output are RocksDB's, so that command lines and scripts written for
//! it keep working. A flag that is not honoured is an error; it is never ignored.
//!
//! A run goes through these modules: [`args`] and [`flags`] read the command line,
//! and [`plan`] reads the list of benchmarks. [`runner`] opens an [`engine`] and
//! starts the threads. Each thread is a [`worker`] that runs a [`workload`].
//! [`report`] formats the sums of their [`stats`].

use std::ffi::OsString;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use tempfile::TempDir;

pub mod args;
pub mod benchmarks;
mod binding;
pub mod both;
pub mod check;
pub mod clock;
pub mod contention;
mod counters;
pub mod document;
pub mod engine;
pub mod expiry;
pub mod families;
pub mod flags;
mod header;
pub(crate) mod help;
pub mod histogram;
pub mod in_force;
mod interval;
pub mod keygen;
pub mod known;
pub mod latency_timeline;
mod levels;
pub mod limit;
#[cfg(test)]
mod memory;
pub(crate) mod merge;
mod meta;
pub mod mix;
pub mod order;
pub mod pace;
pub mod perf;
pub mod plan;
pub(crate) mod progress;
pub mod report;
pub mod runner;
pub mod sources;
pub mod stats;
pub mod sweep;
pub mod timeline;
pub mod tour;
pub mod transactions;
pub mod values;
pub mod worker;
pub mod workload;

use args::Command;
use binding::own;
#[cfg(feature = "peer-rocksdb")]
use binding::peer;
use document::{Column, Document, Row};
use engine::{Engine, Failure, Result};
use flags::Flags;
use runner::Runner;

use crate::interrupt::{self, Output};
use crate::page;

/// Runs the program with the arguments that follow its name. Errors go to standard
/// error and make the exit code 1.
pub fn main(arguments: impl Iterator<Item = OsString>) -> ExitCode {
    let result = execute(arguments);
    if let Err(failure) = &result {
        interrupt::note(&format!("db_bench: {failure}\n"));
        return ExitCode::FAILURE;
    }
    interrupt::exit_code().unwrap_or(ExitCode::SUCCESS)
}

fn execute(arguments: impl Iterator<Item = OsString>) -> Result<()> {
    match args::parse(utf8(arguments)?)? {
        Command::Help => print(&help::text()),
        Command::Version => print(concat!("db_bench ", env!("CARGO_PKG_VERSION"), "\n")),
        Command::Tour => {
            interrupt::listen(HINT)?;
            run_tour()
        }
        Command::Run(flags) => {
            interrupt::listen(HINT)?;
            run(&flags)
        }
    }
}

/// The message after Ctrl-C.
const HINT: &str = "db_bench: it ends with the report of what has run; again: at once, without it";

/// The arguments as text.
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
    Ok(output().write_all(text.as_bytes())?)
}

/// Standard output, which may be closed before the run ends.
fn output() -> Output<std::io::Stdout> {
    Output(std::io::stdout())
}

type Own = own::Database;

/// Calls a function for the engine and the type of database that flags name, and
/// another one if they name both engines.
macro_rules! drive {
    ($flags:expr, $one:ident $arguments:tt $(, $both:ident $both_arguments:tt)?) => {{
        let (engine, flags) = ($flags.engine.as_str(), &$flags);
        match (engine, flags.transaction_db, flags.optimistic_transaction_db) {
            $(
                #[cfg(feature = "peer-rocksdb")]
                ("both", true, _) => {
                    type Own = own::Database<own::Locking>;
                    $both::<Own, peer::Database<peer::Locking>> $both_arguments
                }
                #[cfg(feature = "peer-rocksdb")]
                ("both", _, true) => {
                    type Own = own::Database<own::Optimistic>;
                    $both::<Own, peer::Database<peer::Optimistic>> $both_arguments
                }
                #[cfg(feature = "peer-rocksdb")]
                ("both", ..) => $both::<Own, peer::Database> $both_arguments,
            )?
            #[cfg(feature = "peer-rocksdb")]
            ("rocksdb", true, _) => $one::<peer::Database<peer::Locking>> $arguments,
            #[cfg(feature = "peer-rocksdb")]
            ("rocksdb", _, true) => $one::<peer::Database<peer::Optimistic>> $arguments,
            #[cfg(feature = "peer-rocksdb")]
            ("rocksdb", ..) => $one::<peer::Database> $arguments,
            (_, true, _) => $one::<own::Database<own::Locking>> $arguments,
            (_, _, true) => $one::<own::Database<own::Optimistic>> $arguments,
            _ => $one::<Own> $arguments,
        }
    }};
}

fn run_tour() -> Result<()> {
    let base = Base::temporary()?;
    tour::run::<Own>(tour::Size::default(), &base.path, &mut output())
}

fn run(flags: &Flags) -> Result<()> {
    // All checks of the command line come first.
    plan::parse(&flags.benchmarks)?;
    for file in [&flags.json_file, &flags.html_file] {
        page::try_file(file)?;
    }
    if let Some(plan) = sweep::Plan::new(flags)? {
        for cell in &plan.cells {
            plan::parse(&cell.flags.benchmarks)?;
            known_engine(&cell.flags)?;
        }
        return run_sweep(flags, &plan);
    }
    known_engine(flags)?;
    drive!(flags, run_one(flags), run_both(flags))
}

/// # Errors
/// The engine is unknown, or is not part of this build.
fn known_engine(flags: &Flags) -> Result<()> {
    match flags.engine.as_str() {
        "whitewater" => Ok(()),
        "rocksdb" | "both" if cfg!(feature = "peer-rocksdb") => Ok(()),
        "rocksdb" | "both" => Err(Failure(format!(
            "--engine={}: RocksDB is not part of this build; build with --features peer-rocksdb",
            flags.engine
        ))),
        other => Err(Failure(format!(
            "--engine={other}: unknown; the engines are whitewater, rocksdb and both"
        ))),
    }
}

fn run_sweep(flags: &Flags, plan: &sweep::Plan) -> Result<()> {
    let base = Base::new(flags)?;
    interrupt::note(&header::environment(&Own::title()));
    let seed = choose_seed(flags)?;
    let document = Document::begin(flags, seed, &base.path).over(&plan.flag);
    let rounds = usize::try_from(flags.rounds)?;
    let output = &mut output();
    let columns = plan.run(rounds, &base.path, output, |cell, directory, output| {
        drive!(cell.flags, run_part(cell, directory, seed, output))
    })?;
    document.save(&columns)
}

/// Runs one part of a sweep in a directory that is removed afterwards.
fn run_part<E: Engine>(
    cell: &sweep::Cell,
    directory: &Path,
    seed: u64,
    output: &mut (dyn Write + Send),
) -> Result<(String, Vec<runner::Outcome>)> {
    let label = format!("{} {}", cell.configuration, cell.at);
    let mut runner = Runner::<E>::new(&cell.flags, directory, seed, output)?.with_label(label);
    let outcomes = runner.run(&plan::parse(&cell.flags.benchmarks)?)?;
    drop(runner);
    both::remove::<E>(directory, &cell.flags)?;
    Ok((E::title(), outcomes))
}

fn run_one<E: Engine>(flags: &Flags) -> Result<()> {
    let base = Base::new(flags)?;
    interrupt::note(&header::environment(&E::title()));
    let seed = choose_seed(flags)?;
    let mut output = output();
    let mut runner = Runner::<E>::new(flags, &base.path, seed, &mut output)?;
    runner.print_header()?;
    let document = Document::begin(flags, seed, &base.path);
    let outcomes = runner.run(&plan::parse(&flags.benchmarks)?)?;
    document.save(&[Column {
        engine: E::title(),
        rows: outcomes.iter().map(Row::of).collect(),
        ..Column::default()
    }])
}

#[cfg(any(test, feature = "peer-rocksdb"))]
fn run_both<A: Engine, B: Engine>(flags: &Flags) -> Result<()> {
    if flags.keeps_database() {
        return Err(Failure(
            "--engine=both runs on fresh databases, not with --use_existing_db".into(),
        ));
    }
    let base = Base::new(flags)?;
    interrupt::note(&header::environment(&A::title()));
    interrupt::note(&header::environment(&B::title()));
    let seed = choose_seed(flags)?;
    print(&header::summary(flags, &in_force::InForce::default())?)?;
    let steps = plan::parse(&flags.benchmarks)?;
    let document = Document::begin(flags, seed, &base.path);
    let columns = both::run::<A, B>(flags, &steps, &base.path, seed, &mut output())?;
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

/// The directory of the database. If the user did not choose it, it is removed at
/// the end.
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
