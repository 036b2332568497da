//! Removes the blocks of an obsolete table from the block cache.
//!
//! No reader needs them again, but the cache cannot know that. Blocks that were read often would
//! stay, and blocks of the new tables that a compaction made of this one would be evicted instead.
//! (RocksDB's `uncache_aggressiveness`.) What they have taken of the heap goes back to the system.

use crate::cache::BlockCache;
use crate::sst::format::block::Block;
use crate::sst::format::handle::BlockHandle;
use crate::sst::read::table::Table;
use crate::sst::read::table_filter::FilterBlocks;
use bytes::Bytes;
use std::cell::Cell;
use whitewater_concurrent::heap_trim;

impl Table {
    /// Removes the table's blocks from the cache, as far as they can be found without reading the
    /// file. Blocks of an index that is no longer in memory leave the cache by normal eviction.
    /// Call this once there are no more readers; a reader that still exists reads from the file.
    pub fn evict_blocks(&self) {
        let Some((cache, id)) = &self.cache else {
            return;
        };
        let blocks = Blocks {
            table: self,
            cache,
            id: *id,
            removed: Cell::new(0),
        };
        let index = if self.index_is_cached {
            blocks.take(self.index_handle)
        } else {
            Some(self.index.clone())
        };
        if let Some(index) = index {
            blocks.of_index(&index);
        }
        match &self.filter.blocks {
            FilterBlocks::Partitioned(top) => blocks.remove_all(top),
            FilterBlocks::Cached(filter) if filter.partitioned => {
                if let Some(top) = blocks.take(filter.handle) {
                    blocks.remove_all(&top);
                }
            }
            FilterBlocks::Cached(filter) => drop(blocks.remove(filter.handle)),
            FilterBlocks::None | FilterBlocks::Full(_) => {}
        }
        heap_trim::freed(blocks.removed.get());
    }
}

/// The blocks of a table in the cache.
struct Blocks<'a> {
    table: &'a Table,
    cache: &'a BlockCache,
    id: u64,
    /// Bytes of the blocks that were removed.
    removed: Cell<usize>,
}

impl Blocks<'_> {
    /// Removes the block at `handle`, and returns it if the cache had it.
    fn remove(&self, handle: BlockHandle) -> Option<Bytes> {
        let block = self.cache.remove(self.id, handle.offset)?;
        self.removed.set(self.removed.get() + block.len());
        Some(block)
    }

    fn take(&self, handle: BlockHandle) -> Option<Block> {
        Block::new(self.remove(handle)?).ok()
    }

    /// Removes the blocks that the index block `top` leads to.
    fn of_index(&self, top: &Block) {
        if !self.table.index_format.partitioned {
            return self.remove_all(top);
        }
        self.each(top, |handle| {
            let pinned = self.table.pinned.partitions.get(&handle.offset).cloned();
            let partition = match pinned {
                Some(bytes) => Block::new(bytes).ok(),
                None => self.take(handle),
            };
            if let Some(partition) = partition {
                self.remove_all(&partition);
            }
        });
    }

    fn remove_all(&self, index: &Block) {
        self.each(index, |handle| drop(self.remove(handle)));
    }

    /// Calls `visit` for each entry of an index block, up to the first one that cannot be read.
    fn each(&self, index: &Block, visit: impl Fn(BlockHandle)) {
        let mut cursor = self.table.index_format.cursor(Vec::new());
        cursor.seek_to_first(index);
        while cursor.valid() {
            visit(cursor.handle());
            cursor.next(index);
        }
    }
}
