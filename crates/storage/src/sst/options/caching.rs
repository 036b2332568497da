//! Which blocks of a table go to the block cache, and which are pinned in memory.

use crate::cache::Priority;

/// The tables whose blocks of some kind are pinned. The values are RocksDB's.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
#[repr(C)]
pub enum PinningTier {
    /// Older options decide: [`pin_top_level_index_and_filter`] and
    /// [`pin_l0_filter_and_index_blocks_in_cache`].
    ///
    /// [`pin_top_level_index_and_filter`]: crate::sst::TableOptions::pin_top_level_index_and_filter
    /// [`pin_l0_filter_and_index_blocks_in_cache`]:
    /// crate::sst::TableOptions::pin_l0_filter_and_index_blocks_in_cache
    #[default]
    Fallback = 0,
    /// No tables.
    None = 1,
    /// Tables that flushes wrote, and other tables of level 0 that are not much larger than a
    /// write buffer.
    FlushAndSimilar = 2,
    /// All tables.
    All = 3,
}

/// Which index and filter blocks are pinned.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct MetadataCacheOptions {
    /// The top blocks of partitioned indexes and filters.
    pub top_level_index_pinning: PinningTier,
    /// The partitions of indexes and filters.
    pub partition_pinning: PinningTier,
    /// Indexes and filters that are not partitioned.
    pub unpartitioned_pinning: PinningTier,
}

/// Where the index and filter blocks of one table go. By default they stay in memory with the
/// table, except for partitions.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct MetadataPlacement {
    /// Whether blocks that are not pinned go to the cache, if there is one.
    pub in_cache: bool,
    /// Whether top blocks of partitioned indexes and filters are pinned.
    pub top_level: bool,
    /// Whether partitions are pinned.
    pub partitions: bool,
    /// Whether indexes and filters that are not partitioned are pinned.
    pub unpartitioned: bool,
    /// The priority of index and filter blocks in the cache, including partitions.
    pub priority: Priority,
}

impl MetadataPlacement {
    /// Whether a top block, or a block that is not partitioned, is only in the cache.
    pub(crate) fn to_cache(self, partitioned: bool) -> bool {
        let pinned = if partitioned {
            self.top_level
        } else {
            self.unpartitioned
        };
        self.in_cache && !pinned
    }
}

/// Which new tables have all their blocks inserted into the block cache while they are written.
/// Of the other tables that compactions write, the data blocks are inserted most of whose entries
/// were cached. The values are RocksDB's.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
#[repr(C)]
pub enum PrepopulateBlockCache {
    /// No tables.
    #[default]
    Disable = 0,
    /// Tables that flushes write.
    FlushOnly = 1,
    /// Tables that flushes and compactions write.
    FlushAndCompaction = 2,
}
