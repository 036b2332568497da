//! Entries of one data block that come next whatever else an iterator merges, so that it can take
//! them one after another without asking all that lies between it and the block.

use super::{Block, Cursor};
use crate::sst::format::handle::BlockHandle;

/// A position in a data block, which an iterator has
/// [lent](crate::internal_iterator::InternalIterator::lend). It stands on an entry, unless the last
/// movement found damage.
#[derive(Debug)]
pub struct BlockRun {
    pub(crate) handle: BlockHandle,
    pub(crate) block: Block,
    pub(crate) cursor: Cursor,
}

impl BlockRun {
    /// Moves to the next entry of the block. Returns `false` if there is none, and then stays on
    /// the last one; or if the block is damaged there, which the iterator tells once it has the
    /// block back.
    #[inline(always)]
    pub fn advance(&mut self) -> bool {
        self.cursor.next_within(&self.block)
    }

    /// The internal key.
    #[inline(always)]
    pub fn key(&self) -> &[u8] {
        self.cursor.key(&self.block)
    }

    /// The value.
    #[inline(always)]
    pub fn value(&self) -> &[u8] {
        self.cursor.value(&self.block)
    }
}
