//! Which blocks of a table go to the block cache, and which are pinned in memory.

use crate::cache::Priority;

/// Of which tables a kind of blocks is pinned. RocksDB's numbers.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
#[repr(C)]
pub enum PinningTier {
    /// As older options say: those of
    /// [`pin_top_level_index_and_filter`](crate::sst::TableOptions::pin_top_level_index_and_filter) and
    /// [`pin_l0_filter_and_index_blocks_in_cache`](crate::sst::TableOptions::pin_l0_filter_and_index_blocks_in_cache).
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

impl MetadataPlacement {
    /// Whether top blocks, or blocks that are not partitioned, are in the cache
    /// only.
    pub(crate) fn to_cache(self, partitioned: bool) -> bool {
        let pinned = if partitioned {
            self.top_level
        } else {
            self.unpartitioned
        };
        self.in_cache && !pinned
    }
}

/// Which new tables get their blocks into the block cache as they are written.
/// RocksDB's numbers.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
#[repr(C)]
pub enum PrepopulateBlockCache {
    /// None.
    #[default]
    Disable = 0,
    /// Those that flushes write.
    FlushOnly = 1,
    /// Those that flushes and compactions write.
    FlushAndCompaction = 2,
}
