//! Checks an entry before it goes into a table.

use crate::error::{Error, Result};
use crate::key::{InternalComparator, SequenceNumber, ValueType, parse_internal_key};
use std::cmp::Ordering;

/// The largest entry in bytes. Offsets and lengths inside a block have 32 bits.
pub(crate) const MAX_ENTRY: usize = 1 << 30;

/// Checks that the entry is a point, follows the internal key `last`, which is empty if there is
/// none, and is not too large.
///
/// # Errors
/// `InvalidArgument` otherwise.
pub(crate) fn check_entry(
    comparator: &InternalComparator,
    last: &[u8],
    key: &[u8],
    value: &[u8],
) -> Result<(SequenceNumber, ValueType)> {
    let parsed =
        parse_internal_key(key).map_err(|e| Error::invalid(format_args!("entry refused: {e}")))?;
    let (seq, ty) = (parsed.seq, parsed.ty);
    if ty == ValueType::RangeDeletion {
        return Err(Error::invalid("range tombstone among the points"));
    }
    if key.len().saturating_add(value.len()) >= MAX_ENTRY {
        return Err(Error::invalid("entry of 1 GiB or more"));
    }
    let ascends = last.is_empty() || comparator.compare(last, key) == Ordering::Less;
    if !ascends {
        return Err(Error::invalid("table keys out of order"));
    }
    Ok((seq, ty))
}
