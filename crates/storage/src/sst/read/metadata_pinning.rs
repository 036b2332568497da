//! Places the index and filter blocks of a table that is being opened: with the table, or in the
//! block cache.
//!
//! Blocks that are *pinned* stay with the table, as all of them do when the cache is not used for
//! index and filter blocks. The cache is charged for pinned blocks. Other blocks are cached like
//! data blocks, and read again after their eviction. Partitions always go through the cache,
//! unless they are pinned.

use crate::sst::events::BlockKind;
use crate::sst::format::block::Block;
use crate::sst::format::handle::BlockHandle;
use crate::sst::options::caching::MetadataPlacement;
use crate::sst::options::read_options::{BlockReadOptions, TableReadOptions};
use crate::sst::read::index_prefix_array::IndexPrefixArray;
use crate::sst::read::readahead::ReadAhead;
use crate::sst::read::table::{PinnedMetadata, Table};
use crate::sst::read::table_filter::{CachedFilter, FilterBlocks};
use bytes::Bytes;
use std::collections::HashMap;

/// The filter of a table that is being opened.
pub(crate) struct FoundFilter {
    pub(crate) blocks: FilterBlocks,
    pub(crate) handle: BlockHandle,
    /// The block at `handle`.
    pub(crate) bytes: Bytes,
}

impl FoundFilter {
    fn is_partitioned(&self) -> bool {
        matches!(self.blocks, FilterBlocks::Partitioned(_))
    }
}

impl Table {
    /// Places index and filter as `placement` says. The table already has the index, but no
    /// filter. Nothing is pinned if a cache with a strict limit has no room for it.
    pub(crate) fn place_metadata(
        &mut self,
        mut placement: MetadataPlacement,
        filter: Option<FoundFilter>,
    ) {
        if placement.partitions {
            self.pin_partitions(filter.as_ref());
        }
        let kept = self.kept_for_cache(&placement, filter.as_ref());
        if let Some((cache, _)) = &self.cache
            && kept > 0
        {
            self.pinned.charge = cache.reserve(kept);
            if self.pinned.charge.is_none() {
                self.pinned = PinnedMetadata::default();
                placement.top_level = false;
                placement.unpartitioned = false;
            }
        }
        if self.cache.is_some() && placement.to_cache(self.index_format.partitioned) {
            let index = std::mem::replace(&mut self.index, Block::empty());
            self.offer_to_cache(BlockKind::Index, self.index_handle, index.data().clone());
            self.index_is_cached = true;
        } else {
            self.index_prefix_array =
                IndexPrefixArray::new(&self.index, self.index_format, &self.comparator);
        }
        let Some(found) = filter else {
            return;
        };
        let partitioned = found.is_partitioned();
        if self.cache.is_some() && placement.to_cache(partitioned) {
            let handle = found.handle;
            self.offer_to_cache(BlockKind::Filter, handle, found.bytes);
            self.filter.blocks = FilterBlocks::Cached(CachedFilter {
                handle,
                partitioned,
            });
        } else {
            self.filter.blocks = found.blocks;
        }
    }

    /// Bytes of the blocks that the table keeps instead of the cache.
    fn kept_for_cache(&self, placement: &MetadataPlacement, filter: Option<&FoundFilter>) -> usize {
        let mut kept = self.pinned.len();
        if placement.in_cache {
            if !placement.to_cache(self.index_format.partitioned) {
                kept += self.index.data().len();
            }
            if let Some(found) = filter
                && !placement.to_cache(found.is_partitioned())
            {
                kept += found.bytes.len();
            }
        }
        kept
    }

    /// Caches a block that was read, if there is room.
    fn offer_to_cache(&self, kind: BlockKind, handle: BlockHandle, bytes: Bytes) {
        let read_options = BlockReadOptions::from(TableReadOptions::default());
        if self.cached_block(kind, handle, read_options).is_none() {
            // If the cache refuses it, the first reader reads it again and gets the error.
            let _ = self.cache_block(kind, handle, read_options, bytes);
        }
    }

    /// Reads all partitions. One that cannot be read is left out: the first reader that needs it
    /// reads it again and reports the error.
    fn pin_partitions(&mut self, filter: Option<&FoundFilter>) {
        let mut partitions = HashMap::new();
        let readahead = &mut ReadAhead::default();
        if self.index_format.partitioned {
            for handle in self.handles_in(&self.index) {
                readahead.note(handle);
                if let Ok(bytes) = self.file.read(handle, true, None, readahead, true) {
                    partitions.insert(handle.offset, bytes);
                }
            }
        }
        if let Some(FilterBlocks::Partitioned(top)) = filter.map(|f| &f.blocks) {
            for handle in self.handles_in(top) {
                readahead.note(handle);
                if let Ok((bytes, 0)) = self.file.read_raw(handle, true, readahead) {
                    partitions.insert(handle.offset, Bytes::copy_from_slice(&bytes));
                }
            }
        }
        self.pinned.partitions = partitions;
    }

    /// The handles in the top block `top`, up to the first one that cannot be read.
    fn handles_in(&self, top: &Block) -> Vec<BlockHandle> {
        let mut cursor = self.index_format.cursor(Vec::new());
        let mut handles = Vec::new();
        cursor.seek_to_first(top);
        while cursor.valid() {
            handles.push(cursor.handle());
            cursor.next(top);
        }
        handles
    }
}
