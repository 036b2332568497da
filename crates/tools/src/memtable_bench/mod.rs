//! `memtablerep_bench`: RocksDB's benchmark of memtables alone, for the structures of
//! this project and of other crates.
//!
//! The structures, the workloads and the measurement are in the crate
//! [`whitewater_memtable_bench`]. This module has the command line ([`flags`]), the
//! progress bar, and what is printed and written ([`results`]).

use std::ffi::OsString;
use std::io::Write;
use std::process::ExitCode;

use whitewater_memtable_bench::input::Input;
use whitewater_memtable_bench::machine::Machine;
use whitewater_memtable_bench::structures;
use whitewater_memtable_bench::table::grouped;
use whitewater_memtable_bench::workload::Workload;

use crate::bench::args::{self, Command};
use crate::bench::engine::{Failure, Result};
use crate::bench::help::{self, wrap};
use crate::bench::progress::Progress;
use crate::interrupt::{self, Output};
use crate::page;

pub mod flags;
pub mod results;

use flags::Flags;
use results::Results;

/// Runs the program with the arguments that follow its name. Errors go to standard
/// error and make the exit code 1.
pub fn main(arguments: impl Iterator<Item = OsString>) -> ExitCode {
    if let Err(failure) = execute(arguments, &mut Output(std::io::stdout())) {
        interrupt::note(&format!("memtablerep_bench: {failure}\n"));
        return ExitCode::FAILURE;
    }
    interrupt::exit_code().unwrap_or(ExitCode::SUCCESS)
}

const MORE: &str = "\
More: memtablerep_bench --benchmarks=fillrandom,readrandom --threads=1,2,4,16,64 --html_file=memtables.html
      memtablerep_bench --help
";

fn execute(arguments: impl Iterator<Item = OsString>, output: &mut dyn Write) -> Result<()> {
    let arguments = crate::bench::utf8(arguments)?;
    match args::parse_as::<Flags, _>(arguments)? {
        Command::Help => output.write_all(help_text().as_bytes())?,
        Command::Version => {
            writeln!(output, "memtablerep_bench {}", env!("CARGO_PKG_VERSION"))?;
        }
        Command::Tour => {
            run(&tour(), output)?;
            write!(output, "\n{MORE}")?;
        }
        Command::Run(flags) => run(&flags, output)?,
    }
    output.flush()?;
    Ok(())
}

/// The flags of a run without arguments.
fn tour() -> Flags {
    Flags {
        num: 50_000,
        threads: "1,2,16".to_owned(),
        ..Flags::default()
    }
}

fn run(flags: &Flags, output: &mut dyn Write) -> Result<()> {
    let request = flags.request()?;
    for file in [&flags.json_file, &flags.html_file] {
        page::try_file(file)?;
    }
    let machine = Machine::now();
    writeln!(output, "{}", machine.line())?;
    writeln!(
        output,
        "{} entries, {} keys of {} bytes, values of {}; rounds: {}",
        grouped(flags.num as f64),
        flags.keys,
        flags.key_size,
        flags.value_size,
        flags.rounds
    )?;
    if cfg!(debug_assertions) {
        writeln!(
            output,
            "WARNING: Assertions are enabled; benchmarks unnecessarily slow"
        )?;
    }
    let seed = flags.seed.cast_unsigned();
    let input = Input::new(request.shape, request.spread, seed).map_err(Failure)?;
    let steps = request.plan.steps() as u64;
    let progress = Progress::of(flags.progress_reports, "runs", "", Some(steps));
    let cells = request.plan.run(&input, &mut |step| {
        progress.show(step);
        progress.add(1);
    });
    progress.finish();
    let results = Results::new(flags, machine, cells.map_err(Failure)?);
    output.write_all(results.text().as_bytes())?;
    results.save()
}

/// The text of `--help`.
fn help_text() -> String {
    let mut text = "\
memtablerep_bench: benchmarks of memtable structures, with the flags of RocksDB's program of this name

  memtablerep_bench                                 a tour in under a minute
  memtablerep_bench --benchmarks=fillrandom,readrandom --threads=1,2,16 --structures=art,skip_list
  memtablerep_bench --json_file=memtables.json --html_file=memtables.html

Flags are written as -flag=value, --flag=value or --flag value; switches also as --flag and
--noflag.
"
    .to_owned();
    help::flags::<Flags>(&mut text);
    text += "\nBenchmarks:\n";
    for workload in Workload::ALL {
        let line = format!("{:<22}{}", workload.name(), workload.about());
        wrap(&mut text, "  ", &line);
    }
    text += "\nStructures:\n";
    for kind in structures::ALL {
        let line = format!("{:<22}{}", kind.name, kind.about);
        wrap(&mut text, "  ", &line);
    }
    help::known::<Flags>(&mut text);
    text
}

#[cfg(test)]
mod tests;
