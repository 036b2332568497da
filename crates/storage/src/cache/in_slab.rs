//! The memory of data blocks that readers find without the cache: pieces of slabs
//! ([`slab`](whitewater_concurrent::slab)). If there is none, the block lies on the heap.

use super::spare;
use bytes::Bytes;
use whitewater_concurrent::slab;

/// The block in a piece. Its own memory is kept for the next block.
pub(crate) fn moved(block: Bytes) -> Bytes {
    match slab::copy(&block) {
        Some(piece) => {
            spare::keep(block);
            Bytes::from_owner(piece)
        }
        None => block,
    }
}

/// A copy of the block in a piece.
pub(crate) fn copy(block: &[u8]) -> Bytes {
    match slab::copy(block) {
        Some(piece) => Bytes::from_owner(piece),
        None => spare::copy(block),
    }
}
