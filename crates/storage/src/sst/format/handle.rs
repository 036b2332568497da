//! Where a block stands in its file.

use crate::coding::{get_varint64, put_varint64};

/// Bytes after every block: compression type and checksum.
pub(crate) const TRAILER_LEN: usize = 5;

/// The place of a block; `size` leaves the trailer out.
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

    /// The handle that is all of `src`.
    pub(crate) fn decode_exact(mut src: &[u8]) -> Option<Self> {
        let handle = Self::decode(&mut src)?;
        src.is_empty().then_some(handle)
    }

    /// Offset of the first byte past the block's trailer, unless it lies past
    /// every file.
    #[inline]
    pub(crate) fn end(self) -> Option<u64> {
        self.offset
            .checked_add(self.size)?
            .checked_add(TRAILER_LEN as u64)
    }
}
