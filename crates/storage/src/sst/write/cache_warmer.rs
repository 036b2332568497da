//! Inserts the blocks of a table into the block cache while the table is written: all of them, if
//! the user wants it, else the data blocks of a compaction that were cached where they come from.
//! So a compaction does not leave those cold that readers use.
//!
//! Blocks are cached under a cache id that the table will get when it is opened: the cache
//! remembers the id by the properties that identify the table. Unpartitioned indexes and filters,
//! and the top blocks of partitioned ones, are cached when the table is opened, which reads them
//! anyway.

use crate::cache::{BlockCache, FileIdentity, Priority, spare};
use crate::sst::events::BlockKind;
use crate::sst::format::handle::BlockHandle;
use crate::sst::options::caching::PrepopulateBlockCache;
use crate::sst::options::table_builder_options::TableBuilderOptions;
use crate::sst::options::table_options::TableOptions;
use std::mem;

/// Caches the blocks of one table.
pub(crate) struct CacheWarmer {
    cache: BlockCache,
    /// Whether all blocks are to be cached.
    all: bool,
    id: u64,
    identity: FileIdentity,
    metadata_priority: Priority,
    /// The offsets of the blocks that were cached.
    cached: Vec<u64>,
}

impl CacheWarmer {
    /// For the table to be built; `None` if its blocks are not to be cached.
    pub(crate) fn new(options: &TableBuilderOptions) -> Option<Self> {
        let TableOptions {
            prepopulate_block_cache,
            block_cache,
            ..
        } = &options.table;
        let is_flushed = options.level == -1;
        let all = match prepopulate_block_cache {
            PrepopulateBlockCache::Disable => false,
            PrepopulateBlockCache::FlushOnly => is_flushed,
            PrepopulateBlockCache::FlushAndCompaction => true,
        };
        // What is flushed was in no block before.
        let any = all || !is_flushed;
        if !any || options.external || options.session_id.is_empty() {
            return None;
        }
        let cache = block_cache.clone()?;
        Some(CacheWarmer {
            all,
            id: cache.new_id(),
            identity: (options.session_id.clone().into(), options.file_number),
            metadata_priority: options.table.metadata_placement(true).priority,
            cache,
            cached: Vec::new(),
        })
    }

    /// Whether a block is to be cached. `was_cached`: it is a data block most of whose entries come
    /// from blocks that were.
    pub(crate) fn wants(&self, kind: BlockKind, was_cached: bool) -> bool {
        self.all || (kind == BlockKind::Data && was_cached)
    }

    /// Caches a copy of the block at `handle`, if there is room. Returns whether there is.
    pub(crate) fn put(&mut self, kind: BlockKind, handle: BlockHandle, raw: &[u8]) -> bool {
        let (cache, id, offset) = (&self.cache, self.id, handle.offset);
        self.cached.push(offset);
        // A cache with a strict limit may refuse it; then the first reader reads it again.
        let kept = match kind {
            BlockKind::Data => cache.insert_unplaced(id, offset, raw),
            BlockKind::Index | BlockKind::Filter => {
                cache.insert(id, offset, spare::copy(raw), self.metadata_priority)
            }
        };
        kept.is_ok()
    }

    /// Tells the cache which id belongs to the table, if it may have blocks of it.
    pub(crate) fn finish(mut self) {
        if !mem::take(&mut self.cached).is_empty() {
            self.cache.expect(mem::take(&mut self.identity), self.id);
        }
    }
}

impl Drop for CacheWarmer {
    /// Removes the blocks of a table that was not finished: nobody will look for them.
    fn drop(&mut self) {
        for offset in &self.cached {
            self.cache.remove(self.id, *offset);
        }
    }
}
