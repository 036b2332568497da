//! The handle of a block: its position in the file.

use crate::coding::{get_varint64, get_varsigned64, put_varint64, put_varsigned64};

/// The size of the trailer of every block in bytes: compression type and checksum.
pub(crate) const TRAILER_LEN: usize = 5;

/// The unit in which systems cache files, in bytes.
pub(crate) const PAGE: u64 = 4096;

/// The position of a block. `size` does not include the trailer.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) struct BlockHandle {
    pub(crate) offset: u64,
    pub(crate) size: u64,
}

impl BlockHandle {
    /// Appends the handle.
    pub(crate) fn encode(self, dst: &mut Vec<u8>) {
        put_varint64(dst, self.offset);
        put_varint64(dst, self.size);
    }

    /// Takes a handle off the front of `src`.
    #[inline]
    pub(crate) fn decode(src: &mut &[u8]) -> Option<Self> {
        Some(BlockHandle {
            offset: get_varint64(src)?,
            size: get_varint64(src)?,
        })
    }

    /// Decodes a handle that is all of `src`.
    pub(crate) fn decode_exact(mut src: &[u8]) -> Option<Self> {
        let handle = Self::decode(&mut src)?;
        src.is_empty().then_some(handle)
    }

    /// Offset of the first byte after the block's trailer. `None` if it overflows.
    #[inline]
    pub(crate) fn end(self) -> Option<u64> {
        self.offset
            .checked_add(self.size)?
            .checked_add(TRAILER_LEN as u64)
    }

    /// Whether the block is the next one behind `before`.
    #[inline]
    pub(crate) fn follows(self, before: BlockHandle) -> bool {
        (before.end()).is_some_and(|end| is_next(end, self.offset))
    }
}

/// Whether a block at `offset` is the next one behind a block that ends at `end`: at once, or
/// behind padding up to a page.
#[inline]
pub(crate) fn is_next(end: u64, offset: u64) -> bool {
    match offset.checked_sub(end) {
        Some(0) => true,
        Some(padding) => padding < PAGE && offset.is_multiple_of(PAGE),
        None => false,
    }
}

/// Decodes the handle of the block that directly follows the block of `prev`.
#[inline]
pub(crate) fn delta_handle(prev: BlockHandle, src: &mut &[u8]) -> Option<BlockHandle> {
    let grown = get_varsigned64(src)?;
    Some(BlockHandle {
        offset: prev.end()?,
        size: prev.size.checked_add_signed(grown)?,
    })
}

/// Encodes `handle`, whose block directly follows the block of `prev`, for [`delta_handle`].
pub(crate) fn encode_delta(prev: BlockHandle, handle: BlockHandle, dst: &mut Vec<u8>) {
    debug_assert_eq!(handle.offset, prev.offset + prev.size + TRAILER_LEN as u64);
    put_varsigned64(dst, handle.size.wrapping_sub(prev.size) as i64);
}
