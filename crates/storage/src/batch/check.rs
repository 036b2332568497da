//! What every batch is checked for before its operations count.

use super::{HEADER_SIZE, Op, count, ops, sequence};
use crate::error::{Error, Result};
use crate::key::MAX_SEQUENCE_AT_OPEN;

/// Checks that `rep` is a complete batch with the right count, whose prepared sections are whole:
/// each has its end, none lies in another, and no transaction is decided within one.
///
/// # Errors
/// `Corruption` saying what is wrong.
pub fn check(rep: &[u8]) -> Result<()> {
    if rep.len() < HEADER_SIZE {
        return Err(Error::corruption(format_args!(
            "write batch of {} bytes",
            rep.len()
        )));
    }
    let mut found = 0u64;
    let mut in_section = false;
    for op in ops(rep) {
        match op? {
            Op::Entry { .. } => found += 1,
            Op::LogData(_) | Op::Noop => {}
            Op::BeginPrepare(_) if !in_section => in_section = true,
            Op::EndPrepare(_) if in_section => in_section = false,
            Op::Commit(_) | Op::CommitAt { .. } | Op::Rollback(_) if !in_section => {}
            marker => return Err(misplaced(&marker, in_section)),
        }
    }
    if in_section {
        return Err(Error::corruption(
            "prepared section without its end in a write batch",
        ));
    }
    let stated = count(rep);
    if found != u64::from(stated) {
        return Err(Error::corruption(format_args!(
            "write batch holds {found} operations, its header says {stated}"
        )));
    }
    Ok(())
}

/// [`check`] for a batch in a log, whose entries also have sequence numbers.
///
/// # Errors
/// As [`check`], and `Corruption` for sequence numbers that no entry of a database can have.
pub fn check_logged(rep: &[u8]) -> Result<()> {
    check(rep)?;
    let (first, count) = (sequence(rep), u64::from(count(rep)));
    // A batch of log data alone takes one sequence number.
    match first.checked_add(count.max(1)) {
        Some(next) if next <= MAX_SEQUENCE_AT_OPEN => Ok(()),
        _ => Err(Error::corruption(format_args!(
            "write batch of {count} operations from sequence number {first} on, out of range"
        ))),
    }
}

#[cold]
fn misplaced(marker: &Op<'_>, in_section: bool) -> Error {
    let name = marker.marker().unwrap_or_default();
    let place = if in_section { "inside" } else { "outside of" };
    Error::corruption(format_args!(
        "{name} {place} a prepared section of a write batch"
    ))
}
