//! `stress`: looks for bugs in the engine under kills, power cuts, faults and load.
//!
//! Modes:
//! * [`kill`]: processes that are killed, optionally on a [`device`] that loses its power
//! * [`power_cut`]: simulated power cuts of a file system in memory
//! * [`faults`]: file systems that fail
//! * [`corrupt`]: files that are damaged at rest
//! * [`load`]: many more threads than cores
//! * [`simulate`]: `power_cut` and `faults` with threads that a seed schedules
//! * [`transactions`]: `kill`, `power_cut`, `faults` and `load` over transactions
//!
//! Parts:
//! * [`args`]: the command line
//! * [`random_options`]: options of databases
//! * [`key_model`], [`order`]: keys, their orders, and values
//! * [`model`]: what a slot may hold
//! * [`transient_families`]: column families that are created and dropped
//! * [`worker`]: what a thread does
//! * [`journal`], [`history`]: reports of writes, and the check that a prefix survived
//! * [`store`]: opening databases and reading all of their content
//! * [`script`], [`shrink`]: the log of a failed round, and smaller rounds that fail
//! * [`watchdog`]: rounds that hang

pub mod args;
pub mod corrupt;
pub mod device;
pub mod faults;
pub mod history;
pub mod journal;
pub mod key_model;
pub mod kill;
pub mod load;
pub mod model;
pub mod order;
pub mod power_cut;
pub mod random_options;
pub mod script;
pub mod shrink;
pub mod simulate;
pub mod store;
pub mod transactions;
pub mod transient_families;
pub mod watchdog;
pub mod worker;

use std::ffi::OsString;
use std::path::Path;
use std::process::ExitCode;
use std::time::{Duration, Instant};

use clap::Parser;

use args::Args;
use device::Device;
use kill::End;
use watchdog::Watchdog;

use crate::interrupt;

/// Runs the command line `args`, which begins with the program's name. The exit code is 1
/// if a bug was found and 2 if the command line is invalid.
pub fn main(args: impl Iterator<Item = OsString>) -> ExitCode {
    let args = Args::parse_from(args);
    match run(&args) {
        Ok(()) => interrupt::exit_code().unwrap_or(ExitCode::SUCCESS),
        Err(what) => {
            eprintln!("{what}");
            ExitCode::FAILURE
        }
    }
}

/// A mode of the tool.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Mode {
    /// See [`kill`].
    Kill,
    /// See [`kill`] and [`device`].
    Shutdown,
    /// See [`power_cut`].
    PowerCut,
    /// See [`faults`].
    Faults,
    /// See [`corrupt`].
    Corrupt,
}

impl Mode {
    /// The modes that `args` asks for; without any, all that need no special rights.
    fn asked(args: &Args) -> Vec<Mode> {
        let all = [
            (Mode::Shutdown, args.shutdown),
            (Mode::Kill, args.kill),
            (Mode::PowerCut, args.power_cut),
            (Mode::Faults, args.faults),
            (Mode::Corrupt, args.corrupt),
        ];
        let none = !all.iter().any(|(_, asked)| *asked);
        let asked = all
            .into_iter()
            .filter(|(mode, asked)| *asked || (none && *mode != Mode::Shutdown));
        let asked = asked.map(|(mode, _)| mode);
        asked
            .filter(|mode| mode.is_simulated() || !args.simulate)
            .filter(|mode| mode.has_transactions() || !args.transactions)
            .collect()
    }

    /// Whether the mode can be simulated: its threads share this process.
    fn is_simulated(self) -> bool {
        matches!(self, Mode::PowerCut | Mode::Faults)
    }

    /// Whether the mode can work on a database with transactions.
    fn has_transactions(self) -> bool {
        matches!(self, Mode::Kill | Mode::PowerCut | Mode::Faults)
    }

    /// Whether a failure leaves files to examine.
    fn has_files(self) -> bool {
        matches!(self, Mode::Kill | Mode::Shutdown)
    }

    fn name(self) -> &'static str {
        match self {
            Mode::Kill => "kill",
            Mode::Shutdown => "shutdown",
            Mode::PowerCut => "power-cut",
            Mode::Faults => "faults",
            Mode::Corrupt => "corrupt",
        }
    }

    /// Runs one round of a mode whose rounds are independent of each other.
    fn round(self, args: &Args, round: u64) -> Result<u64, String> {
        match self {
            Mode::Kill | Mode::Shutdown => {
                unreachable!("each round continues on the database of the last one")
            }
            Mode::PowerCut if args.transactions => {
                simulate::round(args, round, transactions::lives::power_cuts)
            }
            Mode::Faults if args.transactions => {
                simulate::round(args, round, transactions::lives::failures)
            }
            Mode::PowerCut => simulate::round(args, round, power_cut::round),
            Mode::Faults => simulate::round(args, round, faults::round),
            Mode::Corrupt => corrupt::round(args, round),
        }
    }

    /// What the count of a round means.
    fn counts(self) -> &'static str {
        match self {
            Mode::Kill | Mode::Shutdown => "writes acknowledged",
            Mode::PowerCut => "cuts",
            Mode::Faults => "failures injected",
            Mode::Corrupt => "copies damaged",
        }
    }
}

// Long: the arguments, the rounds and the summary of one run.
fn run(args: &Args) -> Result<(), String> {
    // A child process always gets a directory: it could not remove one of its own.
    let (dir, mut temporary) = match &args.dir {
        Some(dir) => (dir.clone(), None),
        None => {
            let made = tempfile::Builder::new().prefix("stress.").tempdir();
            let made = made.map_err(|e| format!("a temporary directory: {e}"))?;
            (made.path().to_owned(), Some(made))
        }
    };
    std::fs::create_dir_all(&dir).map_err(|e| format!("{}: {e}", dir.display()))?;
    if args.worker {
        // The parent decides when this process ends.
        interrupt::ignore().map_err(|e| format!("signals: {e}"))?;
        return if args.transactions {
            transactions::kill::work(args, &dir)
        } else {
            kill::work(args, &dir)
        };
    }
    let hint =
        "stress: ending after this round; press Ctrl-C again to end at once and keep the files";
    interrupt::listen(hint).map_err(|e| format!("signals: {e}"))?;
    if args.load && args.transactions {
        return transactions::lives::load(args, &dir);
    }
    if args.load {
        return load::run(args, &dir);
    }
    simulate::check(args)?;
    let begun = Instant::now();
    let modes = Mode::asked(args);
    let mut counted = vec![0; modes.len()];
    let mut ledger = transactions::ledger::Ledger::default();
    let (mut kept, mut kept_there) = (kill::Kept::default(), kill::Kept::default());
    let device = modes
        .contains(&Mode::Shutdown)
        .then(|| Device::create(&dir));
    let device = device.transpose()?;
    // The database of `--kill` exists from the first such round on.
    let mut made = false;
    let mut rounds = 0;
    while rounds < args.rounds
        && !interrupt::requested()
        && begun.elapsed() < Duration::from_secs(args.seconds)
    {
        for (mode, counted) in modes.iter().zip(&mut counted) {
            if interrupt::requested() {
                break;
            }
            let watch = Watchdog::over(args, &format!("{} round {rounds}", mode.name()));
            let round = match mode {
                Mode::Kill if args.transactions => {
                    transactions::kill::round(args, &dir, rounds, &mut ledger)
                }
                Mode::Kill => kill::round(args, End::Kill, &dir, rounds, &mut kept),
                Mode::Shutdown => {
                    let device = device.as_ref().expect("the mode has a device");
                    let end = End::Cut(device);
                    kill::round(args, end, device.path(), rounds, &mut kept_there)
                }
                _ => mode.round(args, rounds),
            };
            drop(watch);
            match round {
                Ok(count) => {
                    *counted += count;
                    made |= *mode == Mode::Kill;
                }
                Err(what) => {
                    if let Some(temporary) = &mut temporary {
                        temporary.disable_cleanup(mode.has_files());
                    }
                    let failure = if args.simulate {
                        smallest(args, *mode, rounds, what)
                    } else {
                        failure(args, *mode, rounds, &dir, &what)
                    };
                    return Err(failure);
                }
            }
        }
        rounds += 1;
    }
    if made {
        kill::remove(&dir)?;
    }
    for (mode, counted) in modes.iter().zip(counted) {
        let (name, counts) = (mode.name(), mode.counts());
        println!("{name}: {rounds} rounds, {counted} {counts}, nothing wrong");
    }
    Ok(())
}

fn failure(args: &Args, mode: Mode, round: u64, dir: &Path, what: &str) -> String {
    let name = mode.name();
    let mut text = format!("{name} round {round}: {what}\n");
    // Rounds with processes continue on one database; all others depend on their seeds
    // only.
    let seed = match mode {
        Mode::Kill | Mode::Shutdown => {
            text += &format!("the database is in {}\n", dir.display());
            args.seed
        }
        Mode::PowerCut | Mode::Faults | Mode::Corrupt => args.seed.wrapping_add(round),
    };
    text += "to repeat it (threads may interleave differently): ";
    text + &repeat(args, mode, seed)
}

/// The report of a simulated round that failed.
fn smallest(args: &Args, mode: Mode, round: u64, what: String) -> String {
    let name = mode.name();
    let mut text = format!("{name} round {round}: {what}\n");
    let seed = args.seed.wrapping_add(round);
    text += &format!("to repeat it: {}\n", repeat(args, mode, seed));
    let smallest = shrink::smallest(args, mode, round, what);
    text += &format!("the smallest failing round found: {}\n", smallest.what);
    for line in &smallest.script {
        text += &format!("    {line}\n");
    }
    let repeat = repeat(&smallest.args, mode, smallest.args.seed);
    text + &format!("to repeat it: {repeat}")
}

/// The command line that repeats a round.
fn repeat(args: &Args, mode: Mode, seed: u64) -> String {
    let name = mode.name();
    let mut text = format!("stress --{name} --seed={seed} --threads={}", args.threads);
    for (flag, value) in [("ops", args.ops), ("life", args.life)] {
        if value > 0 {
            text += &format!(" --{flag}={value}");
        }
    }
    for (is_set, flag) in [
        (args.transactions, " --transactions"),
        (args.simulate, " --simulate"),
    ] {
        if is_set {
            text += flag;
        }
    }
    if !args.without.is_empty() {
        let names: Vec<_> = args.without.iter().map(|o| o.name()).collect();
        text += &format!(" --without={}", names.join(","));
    }
    text
}
