//! The races of the write path, one file for each kind: writers that are held up in the middle of a
//! write, switches, failures, holes in the log, power cuts, stalls, and more threads than cores.
//! `docs/testing.md` has the list.
//!
//! All run with every commit protocol, unless one of them promises less (an unordered write is
//! visible before it is inserted). If something cannot happen with a protocol (a leader leaves no
//! hole in the log), the test says so.

mod causality;
mod failures;
mod frozen;
mod full_disk;
mod gaps;
mod holes;
mod mapped;
mod mixed;
mod order;
mod power_cut;
mod stalls;
mod switches;
pub mod threads;

use crate::harness::parallel::names;
use crate::harness::{DIR, Db, open_named, tiny};
use std::path::Path;
use std::sync::Arc;
use whitewater::fs::Fs;
use whitewater::{CommitProtocol, Options};

/// Small options with a protocol, on `fs`.
fn options(protocol: CommitProtocol, fs: impl Fs) -> Options {
    let mut options = tiny();
    options.set_commit_protocol(protocol);
    options.set_fs(Arc::new(fs));
    options
}

/// Opens the database of `options` with the column families of
/// [`crate::harness::parallel`].
fn open(options: &Options) -> Db {
    open_named(options, Path::new(DIR), &names()).expect("opens")
}

/// Whether other writers get into the log while one is held up: leaders do not let them.
fn logs_side_by_side(protocol: CommitProtocol) -> bool {
    protocol == CommitProtocol::Ordered
}
