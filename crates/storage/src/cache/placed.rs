//! Blocks that readers find without the cache.
//!
//! A table may keep a place of its own where readers find its cached blocks. The cache tells such a
//! block when it may be found there: from its insertion until it is evicted or removed. Only the
//! cache knows which blocks are evicted next, so a reader leaves a mark that the block was used.
//! The mark is set already, unless eviction has looked at the block since. So most reads write
//! nothing that other readers read.
//!
//! A block that is cached while its table is written has no place yet, since the table is not open
//! ([`Unplaced`]). Its first reader replaces it by one that has, in the same memory.
//!
//! A cache with a strict limit has to know which blocks are in use, and lets none be found.

use bytes::Bytes;
use std::sync::Arc;
use whitewater_concurrent::slab::Piece;

/// The bytes that an entry of such a block counts more than others: the block's place, with two
/// reference counts, the owner of its memory, and what the allocator adds.
pub(crate) const PLACED_OVERHEAD: usize = 272;

/// A cached block that readers find without the cache.
pub(crate) trait Placed: Send + Sync {
    /// The block. Clones of these bytes do not count as users of the block.
    fn bytes(&self) -> &Bytes;

    /// Lets readers find the block. Called under the lock of the block's shard.
    fn enter(self: Arc<Self>);

    /// Lets readers find the block no longer. Those that have it keep it.
    fn leave(&self);

    /// Whether readers find the block.
    fn is_entered(&self) -> bool;

    /// Marks the block as used. Called under the lock of the block's shard, for reading, or before
    /// the block is inserted.
    fn mark(&self);

    /// Takes the mark away. Returns whether there was one. Called under the lock of the block's
    /// shard, for writing.
    fn unmark(&self) -> bool;

    /// Whether the block has no place yet, so that one with the same memory may replace it.
    fn is_unplaced(&self) -> bool {
        false
    }
}

/// A block in a slab that readers find in the cache only, until it is replaced.
pub(super) struct Unplaced(Bytes);

impl Unplaced {
    pub fn new(block: Piece) -> Self {
        Unplaced(Bytes::from_owner(block))
    }
}

impl Placed for Unplaced {
    fn bytes(&self) -> &Bytes {
        &self.0
    }

    fn enter(self: Arc<Self>) {}

    fn leave(&self) {}

    fn is_entered(&self) -> bool {
        false
    }

    /// Look-ups in the cache are counted there.
    fn mark(&self) {}

    fn unmark(&self) -> bool {
        false
    }

    fn is_unplaced(&self) -> bool {
        true
    }
}

/// The block of an entry. Once it is dropped, readers do not find the block.
pub(super) struct Place(Arc<dyn Placed>);

impl Place {
    pub fn new(block: Arc<dyn Placed>) -> Self {
        Place(block)
    }

    pub fn block(&self) -> &Arc<dyn Placed> {
        &self.0
    }

    /// Whether a reader holds the block. Those that have found it without the cache hold it
    /// uncounted, and are seen only after it has left.
    pub fn is_in_use(&self) -> bool {
        let own = 1 + usize::from(self.0.is_entered());
        Arc::strong_count(&self.0) > own
    }

    /// The block's bytes, which count as a user of the block.
    pub fn share(&self) -> Bytes {
        Bytes::from_owner(Share(Arc::clone(&self.0)))
    }
}

/// A user of a block.
struct Share(Arc<dyn Placed>);

impl AsRef<[u8]> for Share {
    fn as_ref(&self) -> &[u8] {
        self.0.bytes()
    }
}

impl Drop for Place {
    fn drop(&mut self) {
        self.0.leave();
    }
}
