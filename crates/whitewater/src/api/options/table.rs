//! Options of tables.

use super::cache::{BlockCacheChoice, Cache};
use super::enums::{
    BlockBasedIndexType, BlockBasedTablePinningTier, ChecksumType, DataBlockIndexType,
    PrepopulateBlockCache,
};
use whitewater_storage::sst::{FilterPolicy, TableOptions};

/// How table files are laid out and cached; see
/// [`Options::set_block_based_table_factory`](crate::Options::set_block_based_table_factory).
///
/// ```
/// use whitewater::{BlockBasedOptions, Cache, Options};
///
/// let cache = Cache::new_lru_cache(64 << 20);
/// let mut table = BlockBasedOptions::default();
/// table.set_block_cache(&cache);
/// table.set_bloom_filter(10.0, false);
/// table.set_block_size(16 << 10);
/// let mut opts = Options::default();
/// opts.set_block_based_table_factory(&table);
/// assert_eq!(cache.get_usage(), 0);
/// ```
#[derive(Clone, Default)]
pub struct BlockBasedOptions {
    pub(super) table: TableOptions,
    pub(super) cache: BlockCacheChoice,
}

impl BlockBasedOptions {
    /// Bytes of uncompressed data per block, about.
    ///
    /// **Option `block_size`**: bytes, 1 to 1 GiB (others are moved inside), default 4 KiB; can be
    /// changed while the database is open.
    pub fn set_block_size(&mut self, size: usize) {
        self.table.block_size = size;
    }

    /// Cuts data blocks so that few of them lie on more pages of the system's
    /// cache than they have to: a block that ends behind a page has a read wait
    /// for two pages, and keeps two. The size of a block differs from
    /// [`set_block_size`](Self::set_block_size) by up to a half then, and up to
    /// 4% of the file stay empty. For blocks of at least 1 KiB
    /// that are stored in up to four pages of 4 KiB; not for blocks that
    /// several threads compress, or with a dictionary until it is made.
    /// RocksDB reads such tables.
    ///
    /// **Option `fit_blocks_to_pages`**: default `true`; can be changed while the database is open.
    pub fn set_fit_blocks_to_pages(&mut self, v: bool) {
        self.table.fit_blocks_to_pages = v;
    }

    /// Caches blocks in `cache`, which may serve other column families and
    /// databases too. Default: a cache of 32 MiB for each column family.
    /// Fixed while the database is open; the cache's capacity is not.
    pub fn set_block_cache(&mut self, cache: &Cache) {
        self.cache = BlockCacheChoice::Shared(cache.inner.clone());
    }

    /// Caches no blocks: each read of a file is one of the file system. Default: a cache of
    /// 32 MiB for each column family. Fixed while the database is open.
    pub fn disable_cache(&mut self) {
        self.cache = BlockCacheChoice::None;
    }

    /// Adds a Bloom filter to each table: 10 bits per key let 1 look-up of a missing key in 100
    /// through. Less than half a bit is no filter, more than 100 bits count as 100. `_block_based`
    /// chose a format that RocksDB has given up; it has no effect there either.
    ///
    /// **Option `filter_policy`**: default none; can be changed while the database is open.
    ///
    /// The filter holds whole keys, unless
    /// [`set_whole_key_filtering`](Self::set_whole_key_filtering) is off, and
    /// prefixes with a
    /// [prefix extractor](crate::Options::set_prefix_extractor). Whole keys by
    /// their bytes: not for a
    /// [comparator](crate::Options::set_comparator) that calls different bytes
    /// equal. The text form is RocksDB's `filter_policy=bloomfilter:10`.
    ///
    /// # Examples
    /// ```
    /// use whitewater::{BlockBasedOptions, Options};
    ///
    /// let mut tables = BlockBasedOptions::default();
    /// tables.set_bloom_filter(10.0, false);
    /// let mut options = Options::default();
    /// options.set_block_based_table_factory(&tables);
    /// # Ok::<(), whitewater::Error>(())
    /// ```
    pub fn set_bloom_filter(&mut self, bits_per_key: f64, _block_based: bool) {
        self.table.filter_policy = Some(FilterPolicy::Bloom { bits_per_key });
    }

    /// Takes the filter away.
    ///
    /// **Option `filter_policy`**: default none; can be changed while the database is open.
    #[doc(hidden)]
    pub fn clear_filter(&mut self) {
        self.table.filter_policy = None;
    }

    /// Adds a Ribbon filter to each table that a compaction writes, and a
    /// Bloom filter to those of flushes: the same as
    /// [`set_hybrid_ribbon_filter`](Self::set_hybrid_ribbon_filter) with
    /// level 0. Default no filter.
    pub fn set_ribbon_filter(&mut self, bloom_equivalent_bits_per_key: f64) {
        self.set_hybrid_ribbon_filter(bloom_equivalent_bits_per_key, 0);
    }

    /// Adds a filter to each table that is as accurate as a Bloom filter of so
    /// many bits per key: such a filter to levels before `bloom_before_level`,
    /// where a flush counts as level -1, and a Ribbon filter to the others.
    /// That one is about 30 % smaller and takes several times the work to
    /// build; for few keys it would be larger, and the Bloom filter is written.
    /// Bits as for [`set_bloom_filter`](Self::set_bloom_filter). The text form
    /// is RocksDB's `filter_policy=ribbonfilter:10:0`.
    ///
    /// **Option `filter_policy`**: default none; can be changed while the database is open.
    pub fn set_hybrid_ribbon_filter(
        &mut self,
        bloom_equivalent_bits_per_key: f64,
        bloom_before_level: i32,
    ) {
        self.table.filter_policy = Some(FilterPolicy::Ribbon {
            bloom_equivalent_bits_per_key,
            bloom_before_level,
        });
    }

    /// Whether filters should fit the sizes in which memory is handed out. A
    /// hint without effect: filters take exactly the memory they need.
    ///
    /// **Option `optimize_filters_for_memory`**: default `false`; can be changed while the database
    /// is open.
    pub fn set_optimize_filters_for_memory(&mut self, v: bool) {
        self.table.optimize_filters_for_memory = v;
    }

    /// How a table finds the data block of a key.
    ///
    /// **Option `index_type`**: default `kBinarySearch`; fixed while the database is open.
    pub fn set_index_type(&mut self, index_type: BlockBasedIndexType) {
        self.table.index_type = index_type.into();
    }

    /// Bytes of a partition of an index of type
    /// [`TwoLevelIndexSearch`](BlockBasedIndexType::TwoLevelIndexSearch) and of [partitioned
    /// filters](Self::set_partition_filters), about.
    ///
    /// **Option `metadata_block_size`**: bytes, 1 to 1 GiB (others are moved inside), default 4
    /// KiB; can be changed while the database is open.
    pub fn set_metadata_block_size(&mut self, size: usize) {
        self.table.metadata_block_size = size;
    }

    /// Whether filters are in partitions that go through the block cache. Only with an index of
    /// type [`TwoLevelIndexSearch`](BlockBasedIndexType::TwoLevelIndexSearch); with another one
    /// filters are whole, as in RocksDB.
    ///
    /// **Option `partition_filters`**: default `false`; can be changed while the database is open.
    pub fn set_partition_filters(&mut self, size: bool) {
        self.table.partition_filters = size;
    }

    /// Whether index and filter blocks go to the block cache, where they count and may be evicted;
    /// they are read again when they are needed. Otherwise they stay in memory with their open
    /// table, outside of the cache, which is faster. Needs a block cache.
    ///
    /// **Option `cache_index_and_filter_blocks`**: default `false`; fixed while the database is
    /// open.
    ///
    /// A cache should be many times larger than the largest of these blocks: one
    /// that is larger than a shard's part of the cache is not kept, and read each
    /// time. With an index of type
    /// [`TwoLevelIndexSearch`](BlockBasedIndexType::TwoLevelIndexSearch) this only
    /// concerns its top block; its partitions are in the cache anyway.
    ///
    /// Which blocks are pinned, so that they stay with the open table all the same
    /// and take room from others in the cache, say the tiers below.
    pub fn set_cache_index_and_filter_blocks(&mut self, v: bool) {
        self.table.cache_index_and_filter_blocks = v;
    }

    /// Whether index and filter blocks in the cache, partitions among them, have high priority:
    /// data blocks cannot drive them out of [a part of the
    /// cache](crate::LruCacheOptions::set_high_pri_pool_ratio).
    ///
    /// **Option `cache_index_and_filter_blocks_with_high_priority`**: default `true`; fixed while
    /// the database is open.
    pub fn set_cache_index_and_filter_blocks_with_high_priority(&mut self, v: bool) {
        self.table.cache_index_and_filter_blocks_with_high_priority = v;
    }

    /// What [`Fallback`](BlockBasedTablePinningTier::Fallback) means for
    /// [partitions](Self::set_partition_pinning_tier) and [blocks that are not
    /// partitioned](Self::set_unpartitioned_pinning_tier):
    /// [`FlushAndSimilar`](BlockBasedTablePinningTier::FlushAndSimilar) or, when false,
    /// [`None`](BlockBasedTablePinningTier::None).
    ///
    /// **Option `pin_l0_filter_and_index_blocks_in_cache`**: default `false`; fixed while the
    /// database is open.
    pub fn set_pin_l0_filter_and_index_blocks_in_cache(&mut self, v: bool) {
        self.table.pin_l0_filter_and_index_blocks_in_cache = v;
    }

    /// What [`Fallback`](BlockBasedTablePinningTier::Fallback) means for [top
    /// blocks](Self::set_top_level_index_pinning_tier): [`All`](BlockBasedTablePinningTier::All)
    /// or, when false, [`None`](BlockBasedTablePinningTier::None).
    ///
    /// **Option `pin_top_level_index_and_filter`**: default `true`; fixed while the database is
    /// open.
    pub fn set_pin_top_level_index_and_filter(&mut self, v: bool) {
        self.table.pin_top_level_index_and_filter = v;
    }

    /// Of which tables the top blocks of partitioned indexes and filters are pinned, if [they are
    /// in the cache](Self::set_cache_index_and_filter_blocks) at all. The text form of the tiers is
    /// RocksDB's `metadata_cache_options`.
    ///
    /// **Option `metadata_cache_options`**: several parts, each with a default of its own; fixed
    /// while the database is open.
    pub fn set_top_level_index_pinning_tier(&mut self, pinning_tier: BlockBasedTablePinningTier) {
        self.table.metadata_cache_options.top_level_index_pinning = pinning_tier;
    }

    /// Of which tables the partitions of indexes and filters are pinned; those are read when the
    /// table is opened.
    ///
    /// **Option `metadata_cache_options`**: several parts, each with a default of its own; fixed
    /// while the database is open.
    pub fn set_partition_pinning_tier(&mut self, pinning_tier: BlockBasedTablePinningTier) {
        self.table.metadata_cache_options.partition_pinning = pinning_tier;
    }

    /// Of which tables indexes and filters that are not partitioned are pinned, if [they are in the
    /// cache](Self::set_cache_index_and_filter_blocks) at all.
    ///
    /// **Option `metadata_cache_options`**: several parts, each with a default of its own; fixed
    /// while the database is open.
    pub fn set_unpartitioned_pinning_tier(&mut self, pinning_tier: BlockBasedTablePinningTier) {
        self.table.metadata_cache_options.unpartitioned_pinning = pinning_tier;
    }

    /// Which new tables get their blocks into the block cache as they are written: data blocks, and
    /// the partitions of indexes and filters. Good where what was written last is read soon, and
    /// more so with direct I/O. Compactions write what was not asked for, too: good where the cache
    /// has room for most of the database. A change holds for tables to come. Not in the
    /// `rocksdb` crate.
    ///
    /// Whatever this is, a compaction caches the data blocks most of whose entries come from blocks
    /// that were cached, so that it does not leave cold what is read. RocksDB does not.
    ///
    /// **Option `prepopulate_block_cache`**: default `kDisable`; can be changed while the database
    /// is open.
    ///
    /// An options file that names
    /// [`FlushAndCompaction`](PrepopulateBlockCache::FlushAndCompaction) is read by
    /// RocksDB from version 11.1 on.
    ///
    /// Whoever opens the table finds its blocks, unless they were evicted. The cache remembers the
    /// last 1024 tables that had blocks cached while they were written, by compactions as well.
    pub fn set_prepopulate_block_cache(&mut self, v: PrepopulateBlockCache) {
        self.table.prepopulate_block_cache = v;
    }

    /// Bytes that an iterator reads ahead at first, when it has found blocks in a row that are not
    /// in the cache ([`set_num_file_reads_for_auto_readahead`]). Each further time it is twice as
    /// much, up to [`set_max_auto_readahead_size`]; more than that counts as that. 0: iterators
    /// read ahead only if their options say how much
    /// ([`ReadOptions::set_readahead_size`](crate::ReadOptions::set_readahead_size)).
    ///
    /// **Option `initial_auto_readahead_size`**: bytes, 0 to 1 GiB (others are moved inside),
    /// default 8 KiB; fixed while the database is open.
    ///
    /// [`set_num_file_reads_for_auto_readahead`]: Self::set_num_file_reads_for_auto_readahead
    /// [`set_max_auto_readahead_size`]: Self::set_max_auto_readahead_size
    pub fn set_initial_auto_readahead_size(&mut self, size: usize) {
        self.table.initial_auto_readahead_size = size;
    }

    /// The most bytes that an iterator reads ahead by itself. 0: it does not.
    ///
    /// **Option `max_auto_readahead_size`**: bytes, 0 to 1 GiB (others are moved inside), default
    /// 256 KiB; fixed while the database is open.
    pub fn set_max_auto_readahead_size(&mut self, size: usize) {
        self.table.max_auto_readahead_size = size;
    }

    /// How many blocks an iterator reads in a row, forward or backward, before it reads ahead. 0:
    /// it does from the first block on, wherever it is sent.
    ///
    /// **Option `num_file_reads_for_auto_readahead`**: default 2; fixed while the database is open.
    pub fn set_num_file_reads_for_auto_readahead(&mut self, num_reads: u64) {
        self.table.num_file_reads_for_auto_readahead = num_reads;
    }

    /// How a key is found in a data block.
    ///
    /// **Option `data_block_index_type`**: default `kDataBlockBinarySearch`; can be changed while
    /// the database is open.
    ///
    /// With [`BinaryAndHash`](DataBlockIndexType::BinaryAndHash) each data
    /// block gets a hash table that look-ups ask; blocks over 64 KiB or with
    /// more than 253 restart points, and those of user-defined comparators,
    /// get none.
    pub fn set_data_block_index_type(&mut self, index_type: DataBlockIndexType) {
        self.table.data_block_index_type = index_type;
    }

    /// Keys for each bucket of a data block's hash table: less takes more room and has fewer
    /// collisions. Above 0.
    ///
    /// **Option `data_block_hash_table_util_ratio`**: default 0.75; can be changed while the
    /// database is open.
    pub fn set_data_block_hash_ratio(&mut self, ratio: f64) {
        self.table.data_block_hash_table_util_ratio = ratio;
    }

    /// Version of the table format, 2 to 7; 0 and 1 are corrected to 2, as in RocksDB, and others
    /// refused at open as `NotSupported`. Default 5, which RocksDB reads from 6.6 on; 6 needs
    /// RocksDB 8.6, and 7 one after 10.4. Tables of all these versions are read, whatever is set.
    ///
    /// **Option `format_version`**: default 5; can be changed while the database is open.
    pub fn set_format_version(&mut self, version: i32) {
        // A negative version becomes one that is refused.
        self.table.format_version = u32::try_from(version).unwrap_or(u32::MAX);
    }

    /// Keys between restart points of a data block: more make it smaller and slower to search.
    ///
    /// **Option `block_restart_interval`**: 1 to 65536 (others are moved inside), default 16; can
    /// be changed while the database is open.
    pub fn set_block_restart_interval(&mut self, interval: i32) {
        self.table.block_restart_interval = usize::try_from(interval).unwrap_or(0);
    }

    /// Keys between restart points of an index block.
    ///
    /// **Option `index_block_restart_interval`**: 1 to 65536 (others are moved inside), default 1;
    /// can be changed while the database is open.
    pub fn set_index_block_restart_interval(&mut self, interval: i32) {
        self.table.index_block_restart_interval = usize::try_from(interval).unwrap_or(0);
    }

    /// Whether whole keys go into the filter. When they do not, look-ups ask for their key's
    /// prefix.
    ///
    /// **Option `whole_key_filtering`**: default `true`; can be changed while the database is open.
    pub fn set_whole_key_filtering(&mut self, v: bool) {
        self.table.whole_key_filtering = v;
    }

    /// Checksum of blocks. Default XXH3.
    ///
    /// **Option `checksum`**: default `kXXH3`; can be changed while the database is open.
    pub fn set_checksum_type(&mut self, checksum_type: ChecksumType) {
        self.table.checksum = checksum_type;
    }
}
