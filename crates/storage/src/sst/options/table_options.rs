//! Options that decide how new tables are laid out and where their blocks are cached.

use crate::cache::{BlockCache, Priority};
use crate::checksum::ChecksumType;
use crate::sst::filter::FilterPolicy;
use crate::sst::options::auto_readahead::AutoReadahead;
use crate::sst::options::caching::{
    MetadataCacheOptions, MetadataPlacement, PinningTier, PrepopulateBlockCache,
};
use crate::sst::options::index_type::{DataBlockIndexType, IndexType};

/// The layout of new tables, which readers take from the file, and where blocks are cached, which
/// readers take from here.
#[derive(Debug, Clone)]
pub struct TableOptions {
    /// Approximate size of a data block in bytes, uncompressed. Default 4096.
    pub block_size: usize,
    /// Whether data blocks are cut so that few of them lie on more pages of the system's cache than
    /// they have to. Default true.
    pub fit_blocks_to_pages: bool,
    /// Keys between restart points of data blocks. Default 16.
    pub block_restart_interval: usize,
    /// Keys between restart points of index blocks. Default 1.
    pub index_block_restart_interval: usize,
    /// Block checksum. Default XXH3.
    pub checksum: ChecksumType,
    /// 2 to 7. From 3 on, the index omits the tags of keys where it can. From 4 on, it stores
    /// block handles as differences. From 5 on, Bloom filters have the new format. From 6 on,
    /// checksums depend on the position of a block. 7 stores the names of compressions in another
    /// way. Default 5, which RocksDB reads from 6.6 on; 6 needs 8.6, and 7 a version after 10.4.
    pub format_version: u32,
    /// The kind of the index. Default binary search.
    pub index_type: IndexType,
    /// Approximate size of a partition of index or filter in bytes. Default 4096.
    pub metadata_block_size: usize,
    /// Whether filters are partitioned, which needs a partitioned index. Default false.
    pub partition_filters: bool,
    /// The kind of search within data blocks. Default binary search.
    pub data_block_index_type: DataBlockIndexType,
    /// Keys per bucket of a data block's hash table. Default 0.75.
    pub data_block_hash_table_util_ratio: f64,
    /// The filter policy. Default none: tables have no filter.
    pub filter_policy: Option<FilterPolicy>,
    /// Whether the filter holds whole keys. Default true.
    pub whole_key_filtering: bool,
    /// Asks that filters fit the size classes of the allocator. It has no effect: filters take
    /// exactly the memory they need. Default false.
    pub optimize_filters_for_memory: bool,
    /// Whether index and filter blocks go to the block cache, where they may be evicted.
    /// Otherwise they stay in memory with the open table. Default false.
    pub cache_index_and_filter_blocks: bool,
    /// Whether index and filter blocks in the cache have high priority. Default
    /// true.
    pub cache_index_and_filter_blocks_with_high_priority: bool,
    /// What [`PinningTier::Fallback`] means for unpartitioned blocks and for partitions: if true,
    /// those of flushed tables are pinned. Default false.
    pub pin_l0_filter_and_index_blocks_in_cache: bool,
    /// What [`PinningTier::Fallback`] means for the top blocks of partitioned indexes and
    /// filters: if true, all are pinned. Default true.
    pub pin_top_level_index_and_filter: bool,
    /// Which index and filter blocks are pinned. By default, the two options before decide.
    pub metadata_cache_options: MetadataCacheOptions,
    /// Which tables have their blocks inserted into the cache while they are written. Default
    /// none.
    pub prepopulate_block_cache: PrepopulateBlockCache,
    /// Size of the first read-ahead of an iterator in bytes; each further one is twice as large.
    /// More than `max_auto_readahead_size` counts as that; 0 reads nothing ahead. Default 8 KiB.
    pub initial_auto_readahead_size: usize,
    /// Size of the largest read-ahead of an iterator in bytes; 0 reads nothing ahead. Default 256
    /// KiB.
    pub max_auto_readahead_size: usize,
    /// How many blocks an iterator reads in a row before it reads ahead. Default 2.
    pub num_file_reads_for_auto_readahead: u64,
    /// Block cache; `None` reads every block from the file.
    pub block_cache: Option<BlockCache>,
}

impl Default for TableOptions {
    fn default() -> Self {
        TableOptions {
            block_size: 4096,
            fit_blocks_to_pages: true,
            block_restart_interval: 16,
            index_block_restart_interval: 1,
            checksum: ChecksumType::XXH3,
            format_version: 5,
            index_type: IndexType::BinarySearch,
            metadata_block_size: 4096,
            partition_filters: false,
            data_block_index_type: DataBlockIndexType::BinarySearch,
            data_block_hash_table_util_ratio: 0.75,
            filter_policy: None,
            whole_key_filtering: true,
            optimize_filters_for_memory: false,
            cache_index_and_filter_blocks: false,
            cache_index_and_filter_blocks_with_high_priority: true,
            pin_l0_filter_and_index_blocks_in_cache: false,
            pin_top_level_index_and_filter: true,
            metadata_cache_options: MetadataCacheOptions::default(),
            prepopulate_block_cache: PrepopulateBlockCache::Disable,
            initial_auto_readahead_size: AutoReadahead::default().initial,
            max_auto_readahead_size: AutoReadahead::default().max,
            num_file_reads_for_auto_readahead: AutoReadahead::default().after,
            block_cache: None,
        }
    }
}

impl TableOptions {
    /// The read-ahead of iterators whose caller has chosen no size.
    pub fn auto_readahead(&self) -> AutoReadahead {
        AutoReadahead {
            initial: self.initial_auto_readahead_size,
            max: self.max_auto_readahead_size,
            after: self.num_file_reads_for_auto_readahead,
        }
    }

    /// Where the index and filter blocks of a table go; `flushed` says whether a flush wrote it.
    pub fn metadata_placement(&self, flushed: bool) -> MetadataPlacement {
        let l0 = if self.pin_l0_filter_and_index_blocks_in_cache {
            PinningTier::FlushAndSimilar
        } else {
            PinningTier::None
        };
        let top = if self.pin_top_level_index_and_filter {
            PinningTier::All
        } else {
            PinningTier::None
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
            priority: if self.cache_index_and_filter_blocks_with_high_priority {
                Priority::High
            } else {
                Priority::Low
            },
        }
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
