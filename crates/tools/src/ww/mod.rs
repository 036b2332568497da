//! `ww`: RocksDB's `ldb` and `sst_dump` in one program.
//!
//! [`cli`] has the command line. Each other module has a group of commands with their
//! arguments:
//!
//! * [`point`], [`scan`], [`entity`]: reading and writing keys and wide columns
//! * [`bulk`]: dumping, loading, writing tables from lines, ingesting
//! * [`families`]: column families
//! * [`prepared`]: prepared transactions
//! * [`maintain`]: compaction, repair, checkpoints; [`backups`]
//! * [`inspect`]: live files, properties, sizes
//! * [`serve`]: a page about a database; `top`, with the cargo feature `top`: the same in a
//!   terminal
//! * [`files`], [`check`], [`checksums`]: the files of a directory, their consistency and what
//!   the manifest has of their checksums
//! * [`manifest`], [`wal`], [`sst`], [`idump`], [`options`]: the content of files
//!
//! The commands share [`failure`] (exit codes), [`text`] (keys and values as text),
//! [`session`] (arguments and output), [`open`] (opening databases with their last options)
//! [`state`] (the state that a manifest describes), [`paths`] (the directories of tables) and
//! [`blobs`] (blob files).
//!
//! Data goes to standard output and everything else to standard error. Commands that only
//! read never write to a database's directory, so they work beside a writer.

pub mod backups;
pub mod blobs;
pub mod bulk;
pub mod check;
pub mod checksums;
pub mod cli;
pub mod entity;
pub mod failure;
pub mod families;
pub mod files;
pub mod idump;
pub mod inspect;
pub mod maintain;
pub mod manifest;
pub mod open;
pub mod options;
pub mod paths;
pub mod point;
pub mod prepared;
pub mod scan;
pub mod serve;
pub mod session;
pub mod sst;
pub mod state;
#[cfg(test)]
mod tests;
pub mod text;
#[cfg(feature = "top")]
pub mod top;
pub mod wal;

use std::ffi::OsString;
use std::io::{BufWriter, Write};
use std::process::ExitCode;

use clap::Parser;

use cli::Cli;
use failure::Failure;
use session::Session;

/// Runs the command line `args`, which begins with the program's name.
pub fn main(args: impl Iterator<Item = OsString>) -> ExitCode {
    let cli = match Cli::try_parse_from(args.map(cli::with_dashes)) {
        Ok(cli) => cli,
        Err(e) => {
            // If the text cannot be written, neither can an error message.
            let _ = e.print();
            return ExitCode::from(u8::try_from(e.exit_code()).unwrap_or(failure::USAGE));
        }
    };
    let mut out = BufWriter::new(std::io::stdout().lock());
    let outcome = cli.command.run(&mut Session::new(&cli.global, &mut out));
    let written = out.flush().map_err(Failure::from);
    match outcome.and(written) {
        Ok(()) => ExitCode::SUCCESS,
        Err(failure) => {
            if let Some(message) = failure.message() {
                eprintln!("ww: {message}");
            }
            ExitCode::from(failure.exit_code())
        }
    }
}
