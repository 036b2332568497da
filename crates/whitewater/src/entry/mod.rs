//! What a stored entry means, for code that reads, merges or rewrites it.
//!
//! * [`payload`]: what an entry's type and bytes say about its key.
//! * [`columns`]: wide columns. [`answer`]: a look-up answers with a value or with columns.
//! * [`blobs`]: following references to values in blob files.
//! * [`get_context`]: the state of one point look-up, fed entry by entry.
//! * [`range_tombstones`]: range tombstones, fragmented for look-ups.

pub(crate) mod answer;
pub(crate) mod blobs;
pub(crate) mod columns;
pub(crate) mod get_context;
pub(crate) mod payload;
pub(crate) mod range_tombstones;

use whitewater_storage::{Error, Result};

/// The size that key and value together must stay below, in bytes. Tables take entries of less
/// than 1 GiB, tag and lengths included.
pub(crate) const MAX_ENTRY: usize = (1 << 30) - 64;

/// Refuses an entry that does not fit into a table.
///
/// # Errors
/// `InvalidArgument` for a key and value of [`MAX_ENTRY`] bytes or more.
pub(crate) fn check_lengths(key: &[u8], value: &[u8]) -> Result<()> {
    let bytes = key.len().saturating_add(value.len());
    if bytes >= MAX_ENTRY {
        return Err(Error::invalid(format_args!(
            "key and value of {bytes} bytes: they must stay below {MAX_ENTRY}"
        )));
    }
    Ok(())
}
