//! Checking that the database's file system can bypass the page cache.
//!
//! This is tried at open with a small file, not left to the first flush: a caller that asks
//! for direct I/O gets it or an error, and never silently something else.

use crate::options::DbOptions;
use std::path::Path;
use whitewater_storage::fs::Fs;
use whitewater_storage::{Error, ErrorKind, Result, filename};

/// A test content that is longer than a block and not a multiple of one.
const PROBE: [u8; 5000] = [0x5a; 5000];

/// Tries what `options` ask for in `dir`, whose lock is held.
///
/// # Errors
/// `NotSupported` naming the option; errors of the file system.
pub(super) fn check(fs: &dyn Fs, dir: &Path, options: &DbOptions) -> Result<()> {
    let (reads, writes) = (
        options.use_direct_reads,
        options.use_direct_io_for_flush_and_compaction,
    );
    if !reads && !writes {
        return Ok(());
    }
    // Its suffix makes the next open remove it, if the process dies here.
    let path = filename::temp(dir, 0);
    let written = named(
        "use_direct_io_for_flush_and_compaction",
        write(fs, &path, writes),
    );
    let outcome = written.and_then(|()| {
        if reads {
            named("use_direct_reads", read(fs, &path))
        } else {
            Ok(())
        }
    });
    if fs.exists(&path)? {
        fs.remove(&path)?;
    }
    outcome
}

fn write(fs: &dyn Fs, path: &Path, direct: bool) -> Result<()> {
    let mut file = if direct {
        fs.create_direct(path)?
    } else {
        fs.create(path)?
    };
    file.append(&PROBE)?;
    file.flush()
}

fn read(fs: &dyn Fs, path: &Path) -> Result<()> {
    let file = fs.open_random_direct(path)?;
    let bytes = file.read_at(1, PROBE.len() - 1)?;
    if bytes[..] == PROBE[1..] {
        Ok(())
    } else {
        Err(Error::corruption_in(
            path,
            1,
            "direct I/O reads other bytes",
        ))
    }
}

fn named(option: &str, outcome: Result<()>) -> Result<()> {
    outcome.map_err(|e| match e.kind() {
        ErrorKind::NotSupported => Error::not_supported(format_args!("option {option}: {e}")),
        _ => e,
    })
}
