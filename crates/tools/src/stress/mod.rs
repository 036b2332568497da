//! `stress`: attacks the engine until something gives.
//!
//! * [`kill`]: processes that are killed, and what they leave, also on a [`device`]
//!   that loses its power
//! * [`power_cut`]: machines that lose their power
//! * [`faults`]: file systems that fail
//! * [`corrupt`]: files that change at rest
//! * [`load`]: many more threads than cores
//! * [`simulate`]: the second and third with threads that a seed schedules
//!
//! Beneath them: [`args`] (the command line), [`random_options`] (options by chance), [`key_model`]
//! (keys and values), [`order`] (of keys), [`model`] (what is known of them), [`transient_families`] (column families
//! that come and go), [`worker`] (what a thread does), [`journal`] (who is told of it), [`history`] (prefixes of it), [`store`]
//! (opening, and reading everything), [`script`] and [`shrink`] (what is told of a
//! failure), [`watchdog`] (hangs).

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

/// Runs the command line `args`, whose first is the program's name. Fails with 1
/// when something gave, with 2 when the command line is none.
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

/// A way to attack. See the modules of these names.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Mode {
    /// [`kill`]
    Kill,
    /// [`kill`], with a [`device`]
    Shutdown,
    /// [`power_cut`]
    PowerCut,
    /// [`faults`]
    Faults,
    /// [`corrupt`]
    Corrupt,
}

impl Mode {
    /// Those asked for, or all that need no special rights.
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
            .collect()
    }

    /// Whether it can be: whether its threads share a process, and it is about them.
    fn is_simulated(self) -> bool {
        matches!(self, Mode::PowerCut | Mode::Faults)
    }

    /// Whether a failure leaves files to look at.
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

    /// One round of a mode whose rounds have nothing to do with each other.
    fn round(self, args: &Args, round: u64) -> Result<u64, String> {
        match self {
            Mode::Kill | Mode::Shutdown => {
                unreachable!("its rounds go on where the last one ended")
            }
            Mode::PowerCut => simulate::round(args, round, power_cut::round),
            Mode::Faults => simulate::round(args, round, faults::round),
            Mode::Corrupt => corrupt::round(args, round),
        }
    }

    /// What its rounds count.
    fn counts(self) -> &'static str {
        match self {
            Mode::Kill | Mode::Shutdown => "writes acknowledged",
            Mode::PowerCut => "cuts",
            Mode::Faults => "failures injected",
            Mode::Corrupt => "copies damaged",
        }
    }
}

fn run(args: &Args) -> Result<(), String> {
    // A process that is killed has one given: nobody would remove its own.
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
        // The process that kills this one decides when it ends.
        interrupt::ignore().map_err(|e| format!("signals: {e}"))?;
        return kill::work(args, &dir);
    }
    let hint = "stress: it ends after this round; again: at once, and its files stay";
    interrupt::listen(hint).map_err(|e| format!("signals: {e}"))?;
    if args.load {
        return load::run(args, &dir);
    }
    simulate::check(args)?;
    let begun = Instant::now();
    let modes = Mode::asked(args);
    let mut counted = vec![0; modes.len()];
    let (mut kept, mut kept_there) = (kill::Kept::default(), kill::Kept::default());
    let device = modes
        .contains(&Mode::Shutdown)
        .then(|| Device::create(&dir));
    let device = device.transpose()?;
    // There was no database before the first round that kills.
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
                Mode::Kill => kill::round(args, End::Kill, &dir, rounds, &mut kept),
                Mode::Shutdown => {
                    let device = device.as_ref().expect("made for it");
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
                    let failure = match args.simulate {
                        true => smallest(args, *mode, rounds, what),
                        false => failure(args, *mode, rounds, &dir, &what),
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
    // Rounds of processes come one after the other on one database; all others are
    // what their seeds say.
    let seed = match mode {
        Mode::Kill | Mode::Shutdown => {
            text += &format!("the database is in {}\n", dir.display());
            args.seed
        }
        Mode::PowerCut | Mode::Faults | Mode::Corrupt => args.seed.wrapping_add(round),
    };
    text += "again, though threads may meet differently: ";
    text + &again(args, mode, seed)
}

/// What is said of a simulated round that fails.
fn smallest(args: &Args, mode: Mode, round: u64, what: String) -> String {
    let name = mode.name();
    let mut text = format!("{name} round {round}: {what}\n");
    let seed = args.seed.wrapping_add(round);
    text += &format!("again: {}\n", again(args, mode, seed));
    let smallest = shrink::smallest(args, mode, round, what);
    text += &format!("the smallest found: {}\n", smallest.what);
    for line in &smallest.script {
        text += &format!("    {line}\n");
    }
    let again = again(&smallest.args, mode, smallest.args.seed);
    text + &format!("again: {again}")
}

/// The command line of a round.
fn again(args: &Args, mode: Mode, seed: u64) -> String {
    let name = mode.name();
    let mut text = format!("stress --{name} --seed={seed} --threads={}", args.threads);
    for (flag, value) in [("ops", args.ops), ("life", args.life)] {
        if value > 0 {
            text += &format!(" --{flag}={value}");
        }
    }
    if args.simulate {
        text += " --simulate";
    }
    if !args.without.is_empty() {
        let names: Vec<_> = args.without.iter().map(|o| o.name()).collect();
        text += &format!(" --without={}", names.join(","));
    }
    text
}
