//! Filling the block cache with the blocks of a table while it is written.
//!
//! Blocks are cached under the number that the table is going to have in the cache
//! when it is opened: the cache keeps that in mind, by the properties that tell
//! tables apart. Indexes and filters that are not partitioned get there when the
//! table is opened, which reads them anyway; so do the top blocks of others.

use crate::cache::{BlockCache, FileIdentity, Priority};
use crate::sst::events::BlockKind;
use crate::sst::format::handle::BlockHandle;
use crate::sst::options::caching::PrepopulateBlockCache;
use crate::sst::options::table_builder_options::TableBuilderOptions;
use crate::sst::options::table_options::TableOptions;
use bytes::Bytes;

/// The place of a table's blocks in the cache.
pub(crate) struct CacheWarmer {
    cache: BlockCache,
    id: u64,
    identity: FileIdentity,
    metadata_priority: Priority,
}

impl CacheWarmer {
    /// Where the blocks of the table go that is to be built, if they are to be
    /// cached.
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
        // A strict cache may refuse it; who needs it reads it, then.
        let _ = self.cache.insert(self.id, handle.offset, block, priority);
    }

    /// Lets the table be found under its number.
    pub(crate) fn finish(self) {
        self.cache.expect(self.identity, self.id);
    }
}
