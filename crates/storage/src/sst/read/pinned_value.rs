//! Values that keep the memory in which they stand.

use crate::sst::read::directory::PlacedBlock;
use bytes::Bytes;
use std::fmt;
use std::ops::{Deref, Range};
use std::sync::Arc;

/// A value that shares the memory in which it was found, or owns it.
pub struct PinnedValue(Place);

enum Place {
    Bytes(Bytes),
    /// A part of a cached block. The block is counted where its readers look at it first, so that
    /// the count seldom costs a cache miss.
    Block {
        block: Arc<PlacedBlock>,
        at: Range<u32>,
    },
}

impl PinnedValue {
    /// The part `at` of a cached block, which it has.
    #[inline]
    pub(crate) fn in_block(block: Arc<PlacedBlock>, at: Range<usize>) -> Self {
        // Blocks are smaller than 4 GiB.
        let at = at.start as u32..at.end as u32;
        PinnedValue(Place::Block { block, at })
    }

    /// The same as shared bytes.
    #[inline]
    pub fn into_bytes(self) -> Bytes {
        match self.0 {
            Place::Bytes(bytes) => bytes,
            Place::Block { .. } => Bytes::from_owner(self),
        }
    }
}

impl AsRef<[u8]> for PinnedValue {
    fn as_ref(&self) -> &[u8] {
        self
    }
}

impl From<Bytes> for PinnedValue {
    #[inline]
    fn from(bytes: Bytes) -> Self {
        PinnedValue(Place::Bytes(bytes))
    }
}

impl From<Vec<u8>> for PinnedValue {
    #[inline]
    fn from(bytes: Vec<u8>) -> Self {
        Bytes::from(bytes).into()
    }
}

impl Deref for PinnedValue {
    type Target = [u8];

    #[inline]
    fn deref(&self) -> &[u8] {
        match &self.0 {
            Place::Bytes(bytes) => bytes,
            Place::Block { block, at } => &block.data()[at.start as usize..at.end as usize],
        }
    }
}

impl fmt::Debug for PinnedValue {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Debug::fmt(&**self, f)
    }
}
