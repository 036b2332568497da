//! Filling the block cache with the blocks of a table while it is written.
//!
//! Blocks are cached under the number that the table is going to have in the cache
//! when it is opened: the cache keeps that in mind, by the properties that tell
//! tables apart. Indexes and filters that are not partitioned get there when the
//! table is opened, which reads them anyway; so do the top blocks of others.

use super::builder::TableBuilderOptions;
use super::events::BlockKind;
use super::handle::BlockHandle;
use super::kinds::PrepopulateBlockCache;
use super::properties::name;
use super::{TableOptions, TableProperties};
use crate::cache::{BlockCache, FileIdentity, Priority};
use bytes::Bytes;

/// The place of a table's blocks in the cache.
pub(crate) struct Warmer {
    cache: BlockCache,
    id: u64,
    identity: FileIdentity,
    metadata_priority: Priority,
}

impl Warmer {
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
        Some(Warmer {
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

/// The number of a table in `cache`: a new one, unless its blocks are there.
pub(crate) fn id_in(cache: &BlockCache, properties: &TableProperties) -> u64 {
    let session = properties.raw.get(name::SESSION_ID);
    let number = properties.number(name::FILE_NUMBER);
    let expected = match (session, number) {
        (Some(session), Ok(number)) => cache.expected(session, number),
        _ => None,
    };
    expected.unwrap_or_else(|| cache.new_id())
}
