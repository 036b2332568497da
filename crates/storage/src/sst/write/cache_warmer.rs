//! Inserts the blocks of a table into the block cache while the table is written.
//!
//! Blocks are cached under a cache id that the table will get when it is opened: the cache
//! remembers the id by the properties that identify the table. Unpartitioned indexes and filters,
//! and the top blocks of partitioned ones, are cached when the table is opened, which reads them
//! anyway.

use crate::cache::{BlockCache, FileIdentity, Priority};
use crate::sst::events::BlockKind;
use crate::sst::format::handle::BlockHandle;
use crate::sst::options::caching::PrepopulateBlockCache;
use crate::sst::options::table_builder_options::TableBuilderOptions;
use crate::sst::options::table_options::TableOptions;
use bytes::Bytes;

/// Caches the blocks of one table.
pub(crate) struct CacheWarmer {
    cache: BlockCache,
    id: u64,
    identity: FileIdentity,
    metadata_priority: Priority,
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
        let wanted = match prepopulate_block_cache {
            PrepopulateBlockCache::Disable => false,
            PrepopulateBlockCache::FlushOnly => is_flushed,
            PrepopulateBlockCache::FlushAndCompaction => true,
        };
        if !wanted || options.external || options.session_id.is_empty() {
            return None;
        }
        let cache = block_cache.clone()?;
        Some(CacheWarmer {
            id: cache.new_id(),
            identity: (options.session_id.clone().into(), options.file_number),
            metadata_priority: options.table.metadata_placement(true).priority,
            cache,
        })
    }

    /// Caches the block at `handle`, if there is room.
    pub(crate) fn put(&self, kind: BlockKind, handle: BlockHandle, block: Bytes) {
        let priority = match kind {
            BlockKind::Data => Priority::Low,
            BlockKind::Index | BlockKind::Filter => self.metadata_priority,
        };
        // A cache with a strict limit may refuse it; then the first reader reads it again.
        let _ = self.cache.insert(self.id, handle.offset, block, priority);
    }

    /// Tells the cache which id belongs to the table.
    pub(crate) fn finish(self) {
        self.cache.expect(self.identity, self.id);
    }
}
