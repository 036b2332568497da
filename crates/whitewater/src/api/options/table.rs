//! Options of tables, and the block cache.

use super::enums::ChecksumType;
use whitewater_storage::cache::BlockCache;
use whitewater_storage::sst::TableOptions;

/// Bytes of the cache a column family gets that names none. RocksDB's.
const DEFAULT_CACHE_BYTES: usize = 32 << 20;

/// Which block cache a column family uses.
#[derive(Clone, Default)]
pub(crate) enum BlockCacheChoice {
    /// One of its own, of 32 MiB.
    #[default]
    Own,
    /// None.
    None,
    /// This one, shared with whoever else names it.
    Shared(BlockCache),
}

impl BlockCacheChoice {
    pub(crate) fn cache(&self) -> Option<BlockCache> {
        match self {
            BlockCacheChoice::Own => Some(BlockCache::new(DEFAULT_CACHE_BYTES)),
            BlockCacheChoice::None => None,
            BlockCacheChoice::Shared(cache) => Some(cache.clone()),
        }
    }
}

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
    /// Bytes of uncompressed data per block, about. Default 4096.
    pub fn set_block_size(&mut self, size: usize) {
        self.table.block_size = size;
    }

    /// Caches blocks in `cache`, which may serve other column families and
    /// databases too. Default: a cache of 32 MiB for each column family.
    pub fn set_block_cache(&mut self, cache: &Cache) {
        self.cache = BlockCacheChoice::Shared(cache.inner.clone());
    }

    /// Caches no blocks: each read of a file is one of the file system.
    pub fn disable_cache(&mut self) {
        self.cache = BlockCacheChoice::None;
    }

    /// Adds a Bloom filter to each table: 10 bits per key let 1 look-up of a
    /// missing key in 100 through. Default none. `_block_based` chose a format
    /// that RocksDB has given up; it has no effect there either.
    pub fn set_bloom_filter(&mut self, bits_per_key: f64, _block_based: bool) {
        self.table.bloom_bits_per_key = Some(bits_per_key);
    }

    /// Version of the table format. 5 is the one that is written; others are
    /// refused at open. Versions 2 to 7 are read. Default 5.
    pub fn set_format_version(&mut self, version: i32) {
        // A negative version becomes one that is refused.
        self.table.format_version = u32::try_from(version).unwrap_or(u32::MAX);
    }

    /// Keys between restart points of a data block: more make it smaller and
    /// slower to search. 1 or more, default 16.
    pub fn set_block_restart_interval(&mut self, interval: i32) {
        self.table.block_restart_interval = usize::try_from(interval).unwrap_or(0);
    }

    /// Keys between restart points of an index block. 1 or more, default 1.
    pub fn set_index_block_restart_interval(&mut self, interval: i32) {
        self.table.index_block_restart_interval = usize::try_from(interval).unwrap_or(0);
    }

    /// Whether whole keys go into the filter. Default true.
    pub fn set_whole_key_filtering(&mut self, v: bool) {
        self.table.whole_key_filtering = v;
    }

    /// Checksum of blocks. Default XXH3.
    pub fn set_checksum_type(&mut self, checksum_type: ChecksumType) {
        self.table.checksum = checksum_type;
    }
}

/// A cache of uncompressed blocks. Clones share it.
#[derive(Debug, Clone)]
pub struct Cache {
    pub(super) inner: BlockCache,
}

impl Cache {
    /// A cache of `capacity` bytes.
    pub fn new_lru_cache(capacity: usize) -> Cache {
        Cache {
            inner: BlockCache::new(capacity),
        }
    }

    /// A cache with options.
    pub fn new_lru_cache_opts(opts: &LruCacheOptions) -> Cache {
        Cache::new_lru_cache(opts.capacity)
    }

    /// Bytes cached, and bytes charged by a
    /// [`WriteBufferManager`](crate::WriteBufferManager).
    pub fn get_usage(&self) -> usize {
        self.inner.usage()
    }

    /// Changes the capacity in bytes, evicting what no longer fits.
    pub fn set_capacity(&mut self, capacity: usize) {
        self.inner.set_capacity(capacity);
    }
}

/// Options of a [`Cache`].
#[derive(Debug, Clone, Default)]
pub struct LruCacheOptions {
    capacity: usize,
}

impl LruCacheOptions {
    /// Capacity in bytes. Default 0.
    pub fn set_capacity(&mut self, cap: usize) {
        self.capacity = cap;
    }

    /// Base-2 logarithm of the number of shards. A hint: the cache chooses its
    /// shards itself.
    pub fn set_num_shard_bits(&mut self, _val: i32) {}
}
