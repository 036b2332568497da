//! Where the index and filter blocks of open tables are: with the table, or in
//! the block cache.
//!
//! Blocks of a table that are *pinned* stay with it, as all do when the cache is
//! not asked for, and are charged to the cache. Others are cached as data blocks
//! are, and read again after eviction. Partitions always go through the cache,
//! unless they are pinned.

use super::TableOptions;
use super::ask::{CachedFilter, FilterBlocks};
use super::block::Block;
use super::events::BlockKind;
use super::fetch::Window;
use super::guide::IndexGuide;
use super::handle::BlockHandle;
use super::reader::{Fetch, Table, TableReadOptions};
use crate::cache::{Charge, Priority};
use bytes::Bytes;
use std::collections::HashMap;

/// Of which tables a kind of blocks is pinned. RocksDB's numbers.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
#[repr(C)]
pub enum PinningTier {
    /// As older options say: those of
    /// [`pin_top_level_index_and_filter`](TableOptions::pin_top_level_index_and_filter) and
    /// [`pin_l0_filter_and_index_blocks_in_cache`](TableOptions::pin_l0_filter_and_index_blocks_in_cache).
    #[default]
    Fallback = 0,
    /// Of none.
    None = 1,
    /// Of those that flushes wrote, and others of level 0 that are not much
    /// larger than a write buffer.
    FlushAndSimilar = 2,
    /// Of all.
    All = 3,
}

/// What is pinned of which tables.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct MetadataCacheOptions {
    /// The top blocks of partitioned indexes and filters.
    pub top_level_index_pinning: PinningTier,
    /// Their partitions.
    pub partition_pinning: PinningTier,
    /// Indexes and filters that are not partitioned.
    pub unpartitioned_pinning: PinningTier,
}

/// Where the index and filter blocks of one table go. By default they stay with
/// it, except for partitions.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct MetadataPlacement {
    /// Whether blocks that are not pinned are in the cache, if there is one.
    pub in_cache: bool,
    /// Whether top blocks of partitioned indexes and filters are pinned.
    pub top_level: bool,
    /// Whether partitions are.
    pub partitions: bool,
    /// Whether indexes and filters that are not partitioned are.
    pub unpartitioned: bool,
    /// Of those in the cache, partitions among them.
    pub priority: Priority,
}

impl TableOptions {
    /// Where the blocks of a table go, which may come from a flush or not.
    pub fn metadata_placement(&self, flushed: bool) -> MetadataPlacement {
        let l0 = match self.pin_l0_filter_and_index_blocks_in_cache {
            true => PinningTier::FlushAndSimilar,
            false => PinningTier::None,
        };
        let top = match self.pin_top_level_index_and_filter {
            true => PinningTier::All,
            false => PinningTier::None,
        };
        let pinned = |tier, fallback| match (tier, fallback) {
            (PinningTier::Fallback, tier) | (tier, _) => match tier {
                PinningTier::Fallback | PinningTier::None => false,
                PinningTier::FlushAndSimilar => flushed,
                PinningTier::All => true,
            },
        };
        let tiers = &self.metadata_cache_options;
        MetadataPlacement {
            in_cache: self.cache_index_and_filter_blocks,
            top_level: pinned(tiers.top_level_index_pinning, top),
            partitions: pinned(tiers.partition_pinning, l0),
            unpartitioned: pinned(tiers.unpartitioned_pinning, l0),
            priority: match self.cache_index_and_filter_blocks_with_high_priority {
                true => Priority::High,
                false => Priority::Low,
            },
        }
    }
}

impl MetadataPlacement {
    /// Whether top blocks, or blocks that are not partitioned, are in the cache
    /// only.
    fn to_cache(self, partitioned: bool) -> bool {
        let pinned = match partitioned {
            true => self.top_level,
            false => self.unpartitioned,
        };
        self.in_cache && !pinned
    }
}

/// What an open table keeps of its index and filter besides their one block, or
/// top block.
#[derive(Debug, Default)]
pub(crate) struct Pinned {
    /// Partitions by their offset, uncompressed.
    pub(crate) partitions: HashMap<u64, Bytes>,
    /// What the cache is charged for blocks that the table keeps.
    pub(crate) charge: Option<Charge>,
}

impl Pinned {
    /// Bytes of the partitions.
    pub(crate) fn len(&self) -> usize {
        self.partitions.values().map(Bytes::len).sum()
    }
}

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
    /// Puts index and filter where `placement` says, of a table that has the index
    /// and no filter yet. Nothing is pinned that a strict cache has no room for.
    pub(crate) fn place(&mut self, mut placement: MetadataPlacement, filter: Option<FoundFilter>) {
        if placement.partitions {
            self.pin_partitions(filter.as_ref());
        }
        let kept = self.kept_for_cache(&placement, filter.as_ref());
        if let Some((cache, _)) = &self.cache
            && kept > 0
        {
            self.pinned.charge = cache.reserve(kept);
            if self.pinned.charge.is_none() {
                self.pinned = Pinned::default();
                placement.top_level = false;
                placement.unpartitioned = false;
            }
        }
        if self.cache.is_some() && placement.to_cache(self.index_format.partitioned) {
            let index = std::mem::replace(&mut self.index, Block::empty());
            self.offer(BlockKind::Index, self.index_handle, index.data().clone());
            self.index_is_cached = true;
        } else {
            self.guide = IndexGuide::new(&self.index, self.index_format, &self.comparator);
        }
        let Some(found) = filter else {
            return;
        };
        let partitioned = found.is_partitioned();
        if self.cache.is_some() && placement.to_cache(partitioned) {
            let handle = found.handle;
            self.offer(BlockKind::Filter, handle, found.bytes);
            self.filter.blocks = FilterBlocks::Cached(CachedFilter {
                handle,
                partitioned,
            });
        } else {
            self.filter.blocks = found.blocks;
        }
    }

    /// Bytes that the table keeps of what would be in the cache otherwise.
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

    /// Caches a block that was read already, if there is room.
    fn offer(&self, kind: BlockKind, handle: BlockHandle, bytes: Bytes) {
        let how = Fetch::from(TableReadOptions::default());
        if self.cached(kind, handle, how).is_none() {
            // Whoever needs it reads it again, and is told then.
            let _ = self.keep(kind, handle, how, bytes);
        }
    }

    /// Reads all partitions. Those that cannot be read are read again, and
    /// reported, when they are needed.
    fn pin_partitions(&mut self, filter: Option<&FoundFilter>) {
        let mut partitions = HashMap::new();
        let window = &mut Window::default();
        if self.index_format.partitioned {
            for handle in self.handles_in(&self.index) {
                window.note(handle);
                if let Ok(bytes) = self.file.read(handle, true, None, window, true) {
                    partitions.insert(handle.offset, bytes);
                }
            }
        }
        if let Some(FilterBlocks::Partitioned(top)) = filter.map(|f| &f.blocks) {
            for handle in self.handles_in(top) {
                window.note(handle);
                if let Ok((bytes, 0)) = self.file.read_raw(handle, true, window) {
                    partitions.insert(handle.offset, Bytes::copy_from_slice(&bytes));
                }
            }
        }
        self.pinned.partitions = partitions;
    }

    /// What the top block `top` points to, as far as it can be read.
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tiers_decide_and_older_options_fill_in() {
        let mut o = TableOptions::default();
        let pins = |o: &TableOptions, flushed| {
            let p = o.metadata_placement(flushed);
            [p.top_level, p.partitions, p.unpartitioned]
        };
        assert!(!o.metadata_placement(true).in_cache);
        assert_eq!(o.metadata_placement(true).priority, Priority::High);
        o.cache_index_and_filter_blocks_with_high_priority = false;
        assert_eq!(o.metadata_placement(false).priority, Priority::Low);
        assert_eq!(pins(&o, true), [true, false, false]);
        o.pin_l0_filter_and_index_blocks_in_cache = true;
        o.pin_top_level_index_and_filter = false;
        assert_eq!(pins(&o, true), [false, true, true]);
        assert_eq!(pins(&o, false), [false, false, false]);
        o.metadata_cache_options = MetadataCacheOptions {
            top_level_index_pinning: PinningTier::FlushAndSimilar,
            partition_pinning: PinningTier::None,
            unpartitioned_pinning: PinningTier::All,
        };
        assert_eq!(pins(&o, true), [true, false, true]);
        assert_eq!(pins(&o, false), [false, false, true]);
    }
}
