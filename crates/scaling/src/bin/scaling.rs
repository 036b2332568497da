//! The command line of the scaling model; see the library and `docs/scaling.md`.

use clap::{Parser, Subcommand};
use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use whitewater_scaling::calibrate::{self, Failure};
use whitewater_scaling::parameters::{FIGURES, Parameters, shipped};
use whitewater_scaling::plot::number;
use whitewater_scaling::protocols::world::Memtable;
use whitewater_scaling::protocols::{Dialect, Protocol};
use whitewater_scaling::report::Report;
use whitewater_scaling::run::{Outcome, Plan, run_all};
use whitewater_scaling::sim::NS;
use whitewater_scaling::validate::{self, Check};

/// Predicts how commit protocols and memtables scale on machines that are not
/// available, by a discrete-event simulation that is validated against published and
/// measured curves.
#[derive(Debug, Parser)]
#[command(version)]
struct Arguments {
    #[command(subcommand)]
    command: Command,
}

#[derive(Debug, Subcommand)]
enum Command {
    /// Measures the figures of this machine by micro-benchmarks.
    Calibrate {
        /// A directory on the disk that holds logs.
        #[arg(long, default_value = ".")]
        directory: PathBuf,
        /// The machine whose figures replace those that cannot be measured.
        #[arg(long, default_value = "here")]
        like: String,
        /// The machine file to write.
        #[arg(long)]
        out: Option<PathBuf>,
        /// When and where the figures were measured, for the file.
        #[arg(long, default_value = "on a machine that nobody has described")]
        about: String,
    },
    /// Runs one plan and prints its counts and the cache lines that threads wait for.
    Run(RunArguments),
    /// Compares the model with published and measured figures.
    Validate,
    /// Runs everything and writes tables, charts and predictions.
    Report {
        /// The directory that has `scaling.md` and the folder `scaling`.
        #[arg(long, default_value = "docs")]
        docs: PathBuf,
        /// Makes only a few predictions, prints the tables and writes nothing.
        #[arg(long)]
        quick: bool,
    },
}

#[derive(Debug, clap::Args)]
struct RunArguments {
    /// A machine: one that comes with the program, or a file.
    #[arg(long, default_value = "here")]
    machine: String,
    /// Another value for one of the machine's figures: name=value.
    #[arg(long)]
    set: Vec<String>,
    /// How writes are committed.
    #[arg(long, default_value = "ordered")]
    protocol: String,
    /// Whose groups: own, rocksdb or rocksdb-serial.
    #[arg(long, default_value = "own")]
    dialect: String,
    #[arg(
        long,
        value_delimiter = ',',
        default_value = "1,2,4,8,16,32,64,128,256"
    )]
    threads: Vec<usize>,
    #[arg(long, default_value_t = 1)]
    batch: u64,
    #[arg(long)]
    sync: bool,
    #[arg(long)]
    disable_wal: bool,
    /// The memtable: skip_list or art.
    #[arg(long, default_value = "art")]
    memtable: String,
    #[arg(long, default_value_t = 1)]
    seed: u64,
}

impl RunArguments {
    fn plans(&self) -> Result<Vec<Plan>, Failure> {
        let mut parameters = load(&self.machine)?;
        for setting in &self.set {
            let (name, value) = setting.split_once('=').ok_or("--set takes name=value")?;
            if !parameters.figures.contains_key(name) {
                let names = FIGURES.iter().map(|(name, ..)| *name);
                return Err(unknown("figure", name, names));
            }
            parameters = parameters.with(name, value.parse()?);
        }
        let protocol = Protocol::from_name(&self.protocol)
            .ok_or_else(|| unknown("protocol", &self.protocol, Protocol::names()))?;
        let dialect = match self.dialect.as_str() {
            "own" => Dialect::Own,
            "rocksdb" => Dialect::RocksDb,
            "rocksdb-serial" => Dialect::RocksDbSerial,
            other => {
                let names = ["own", "rocksdb", "rocksdb-serial"];
                return Err(unknown("dialect", other, names.into_iter()));
            }
        };
        let memtable = match self.memtable.as_str() {
            "skip_list" => Memtable::SkipList,
            "art" => Memtable::Art,
            other => return Err(unknown("memtable", other, ["skip_list", "art"].into_iter())),
        };
        let plan = |&threads: &usize| {
            let mut plan = Plan::new(&parameters, protocol, threads);
            plan.dialect = dialect;
            plan.batch = self.batch;
            plan.sync = self.sync;
            plan.log = !self.disable_wal;
            plan.memtable = memtable;
            plan.seed = self.seed;
            plan.settle();
            plan
        };
        Ok(self.threads.iter().map(plan).collect())
    }
}

/// The error for an unknown name, with a list of the valid ones. Names with commas
/// are quoted.
fn unknown<'n>(what: &str, name: &str, names: impl Iterator<Item = &'n str>) -> Failure {
    let quoted = names.map(|name| {
        if name.contains(',') {
            format!("'{name}'")
        } else {
            name.to_owned()
        }
    });
    let names: Vec<_> = quoted.collect();
    format!(
        "there is no {what} {name:?}; there are {}",
        names.join(", ")
    )
    .into()
}

/// Loads a machine that comes with the program, or one from a file.
fn load(machine: &str) -> Result<Parameters, Failure> {
    if !shipped().any(|name| name == machine) && !Path::new(machine).exists() {
        let names = shipped().chain(["files of the same form"]);
        return Err(unknown("machine", machine, names));
    }
    Ok(Parameters::load(machine)?)
}

fn print_check(check: &Check) {
    println!(
        "{:<40} {:<24} {:>9} {:>9} {:<11} {:+.0}%",
        check.what,
        check.id,
        number(check.known),
        number(check.modelled),
        check.unit.name(),
        100.0 * check.error()
    );
}

/// Prints a line for a run, and the cache lines that cost the most.
fn show(plan: &Plan, outcome: &Outcome) {
    let tally = &outcome.tally;
    let each = |count| outcome.each(count);
    println!(
        "T={:<4} {:>10.0} entries/s  group {:.1}  rmw {:.2}  transfers {:.2}  switches {:.3}+{:.3}  \
         futex {:.3}/{:.3}  log {:.3}  syncs {:.4}",
        plan.threads,
        outcome.entries_per_second,
        outcome.group,
        each(tally.rmw),
        each(tally.transfers()),
        each(tally.voluntary),
        each(tally.involuntary),
        each(tally.futex_waits),
        each(tally.futex_wakes),
        each(tally.log_writes),
        each(tally.syncs),
    );
    let mut lines: Vec<_> = tally.lines.iter().collect();
    lines.sort_by_key(|(_, blame)| std::cmp::Reverse(blame.waited));
    for (name, blame) in lines.into_iter().take(4) {
        let waited = each(blame.waited) / NS as f64;
        println!(
            "       {name:<14} {:>7.3} transfers  {waited:>9.1} ns",
            each(blame.transfers)
        );
    }
}

fn main() -> ExitCode {
    match work(Arguments::parse().command) {
        Ok(()) => ExitCode::SUCCESS,
        Err(e) => {
            eprintln!("scaling: {e}");
            ExitCode::FAILURE
        }
    }
}

fn work(command: Command) -> Result<(), Failure> {
    match command {
        Command::Calibrate {
            directory,
            like,
            out,
            about,
        } => {
            let base = load(&like)?;
            let measured = calibrate::measure(&directory, &mut |figure| {
                // Standard error may be closed.
                let _ = writeln!(std::io::stderr(), "measuring {figure}");
            })?;
            print!("{}", calibrate::table(&base, &measured));
            if let Some(out) = out {
                let file = calibrate::file("a machine", &like, &about, &base, &measured);
                std::fs::write(out, format!("{file:#}\n"))?;
            }
        }
        Command::Run(arguments) => {
            let plans = arguments.plans()?;
            for (plan, outcome) in plans.iter().zip(run_all(&plans)) {
                show(plan, &outcome);
            }
        }
        Command::Validate => {
            for check in validate::against_published()? {
                print_check(&check);
            }
            let (about, own) = validate::against_own()?;
            println!("{about}");
            for compared in own {
                print_check(&compared.check());
            }
        }
        Command::Report { docs, quick } => {
            if quick {
                print!("{}", Report::quick()?.text());
            } else {
                Report::make()?.write(&docs)?;
            }
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn refused(arguments: &[&str]) -> String {
        let line = ["scaling", "run"].iter().chain(arguments);
        match Arguments::parse_from(line).command {
            Command::Run(arguments) => arguments.plans().unwrap_err().to_string(),
            other => panic!("{other:?}"),
        }
    }

    #[test]
    fn what_is_unknown_is_answered_with_what_there_is() {
        for (arguments, name, known) in [
            (["--set", "nigh=3"], "figure \"nigh\"", "near"),
            (["--protocol", "order"], "protocol \"order\"", "ordered"),
            (["--protocol", "order"], "protocol", "'pipelined, serial'"),
            (["--dialect", "x"], "dialect \"x\"", "rocksdb-serial"),
            (["--memtable", "tree"], "memtable \"tree\"", "skip_list"),
            (["--machine", "nowhere"], "machine \"nowhere\"", "cores64"),
        ] {
            let message = refused(&arguments);
            assert!(
                message.contains(name) && message.contains(known),
                "{message}"
            );
        }
    }
}
