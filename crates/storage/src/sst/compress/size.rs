//! Checks the uncompressed size that a block claims, before memory is allocated for it.

use super::MAX_BLOCK;
#[cfg(any(
    feature = "snappy",
    feature = "lz4",
    feature = "zlib",
    feature = "zstd"
))]
use crate::cache::spare;
use crate::error::{Error, Result};
#[cfg(any(
    feature = "snappy",
    feature = "lz4",
    feature = "zlib",
    feature = "zstd"
))]
use whitewater_concurrent::slab::class;

/// Refuses a size that is larger than a block can decompress to.
pub(super) fn check_len(claimed: usize, reachable: usize) -> Result<()> {
    if claimed > reachable.min(MAX_BLOCK) {
        return Err(Error::corruption(format_args!(
            "compressed block claims {claimed} bytes, more than it can hold"
        )));
    }
    Ok(())
}

/// `len` zeros; refused if `len` is more than `reachable`.
#[cfg(any(feature = "snappy", feature = "lz4", feature = "zlib"))]
pub(super) fn zeroed(len: usize, reachable: usize) -> Result<Vec<u8>> {
    check_len(len, reachable)?;
    let mut out = for_block(len)?;
    out.resize(len, 0);
    Ok(out)
}

/// An empty buffer for a block of `len` bytes, whose size was checked.
#[cfg(any(
    feature = "snappy",
    feature = "lz4",
    feature = "zlib",
    feature = "zstd"
))]
pub(super) fn for_block(len: usize) -> Result<Vec<u8>> {
    if let Some(spare) = spare::take(len) {
        return Ok(spare);
    }
    let mut out = Vec::new();
    reserve(&mut out, class(len))?;
    Ok(out)
}

pub(super) fn reserve(out: &mut Vec<u8>, len: usize) -> Result<()> {
    out.try_reserve_exact(len)
        .map_err(|_| Error::corruption(format_args!("no memory for a block of {len} bytes")))
}

pub(super) fn expect_len(got: usize, claimed: usize) -> Result<()> {
    if got != claimed {
        return Err(Error::corruption(format_args!(
            "compressed block claims {claimed} bytes and holds {got}"
        )));
    }
    Ok(())
}
