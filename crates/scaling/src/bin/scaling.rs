//! The scaling model: see the library, and `docs/scaling.md`.

use clap::{Parser, Subcommand};
use std::path::PathBuf;
use std::process::ExitCode;
use whitewater_scaling::calibrate::{self, Failure};
use whitewater_scaling::parameters::Parameters;
use whitewater_scaling::validate;

/// Tells how commit protocols and memtables scale on machines that are not at
/// hand: a discrete-event simulation, held against published and measured
/// curves.
#[derive(Debug, Parser)]
#[command(version)]
struct Arguments {
    #[command(subcommand)]
    command: Command,
}

#[derive(Debug, Subcommand)]
enum Command {
    /// Measures this machine's figures by micro-benchmarks.
    Calibrate {
        /// A directory on the disk that logs are on.
        #[arg(long, default_value = ".")]
        directory: PathBuf,
        /// The machine whose figures stand for what cannot be measured.
        #[arg(long, default_value = "here")]
        like: String,
        /// Writes a machine file.
        #[arg(long)]
        out: Option<PathBuf>,
        /// When and where, for the file.
        #[arg(long, default_value = "on a machine that nobody has described")]
        about: String,
    },
    /// Holds the model against published and measured figures.
    Validate,
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
            let base = Parameters::load(&like)?;
            let measured = calibrate::measure(&directory)?;
            print!("{}", calibrate::table(&base, &measured));
            if let Some(out) = out {
                let file = calibrate::file("a machine", &like, &about, &base, &measured);
                std::fs::write(out, format!("{file:#}\n"))?;
            }
        }
        Command::Validate => {
            let checks = validate::against_published()?;
            for c in &checks {
                println!(
                    "{:24} {:12.1} {:12.1} {:+.2}",
                    c.id,
                    c.known,
                    c.modelled,
                    c.error()
                );
            }
            println!("{:?}", validate::errors(&checks));
            let (_, own) = validate::against_own()?;
            let mut last = String::new();
            for c in &own {
                if c.curve() != last {
                    last = c.curve();
                    println!("{last}");
                }
                let k = c.check();
                println!(
                    "   {:6} {:12.1} {:12.1} {:+.2}  inv {:.3}/{:.3} waits {:.3}/{:.3} log {:.3}/{:.3}",
                    k.id,
                    k.known,
                    k.modelled,
                    k.error(),
                    c.point.count("involuntary").unwrap_or(0.) * c.point.plan.batch as f64,
                    c.outcome.each(c.outcome.tally.involuntary),
                    c.point.count("futex_waits").unwrap_or(0.) * c.point.plan.batch as f64,
                    c.outcome.each(c.outcome.tally.futex_waits),
                    c.point.count("log_writes").unwrap_or(0.) * c.point.plan.batch as f64,
                    c.outcome.each(c.outcome.tally.log_writes)
                );
            }
            let all: Vec<_> = own.iter().map(|c| c.check()).collect();
            println!("{:?}", validate::errors(&all));
        }
    }
    Ok(())
}
