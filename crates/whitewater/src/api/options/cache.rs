//! Block caches and their options.

use crate::options::cache::parse_block_cache;
use whitewater_storage::Result;
use whitewater_storage::cache::{BlockCache, CacheOptions};

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
    /// This one, shared with all other options that name it.
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

    /// What `text` says as the value of the option `block_cache`.
    ///
    /// # Errors
    /// `InvalidArgument` naming the option and the text, `NotSupported` for caches
    /// that are not built in.
    pub(crate) fn parse(text: &str) -> Result<Self> {
        Ok(
            parse_block_cache(text)?.map_or(BlockCacheChoice::Own, |options| {
                BlockCacheChoice::Shared(BlockCache::with_options(options))
            }),
        )
    }
}

/// A cache of uncompressed blocks. Clones share it.
///
/// There is one kind, whichever function makes it: a sharded cache that a scan
/// does not empty of what is read again and again, as it keeps blocks read once
/// apart from others and remembers some of those it has evicted. (RocksDB has
/// two, a least-recently-used one and a clock.) Unless its capacity is [a strict
/// limit](LruCacheOptions::set_strict_capacity_limit), it never refuses a block that
/// a read needs: blocks in use beside it stay alive when they are evicted. The
/// blocks of a table leave it when a database deletes the table's file.
///
/// A part of it is for blocks of [high
/// priority](crate::BlockBasedOptions::set_cache_index_and_filter_blocks_with_high_priority);
/// see [`LruCacheOptions::set_high_pri_pool_ratio`].
#[derive(Debug, Clone)]
pub struct Cache {
    pub(in crate::api) inner: BlockCache,
}

impl Cache {
    /// A cache of `capacity` bytes: of blocks, with what the allocator gives more
    /// than it is asked for, and of what the cache itself takes for each.
    pub fn new_lru_cache(capacity: usize) -> Cache {
        Cache {
            inner: BlockCache::new(capacity),
        }
    }

    /// A cache with options.
    pub fn new_lru_cache_opts(opts: &LruCacheOptions) -> Cache {
        Cache {
            inner: BlockCache::with_options(opts.inner),
        }
    }

    /// A cache of `capacity` bytes, of the same kind as the others.
    /// `estimated_entry_charge`, with which RocksDB lays out its table, is a
    /// hint that is not needed here.
    pub fn new_hyper_clock_cache(capacity: usize, _estimated_entry_charge: usize) -> Cache {
        Cache::new_lru_cache(capacity)
    }

    /// Bytes of cached blocks that values, iterators and reads under way hold at
    /// this moment, and bytes charged. Looks at every block in the cache.
    pub fn get_pinned_usage(&self) -> usize {
        self.inner.pinned_usage()
    }

    /// Bytes cached, and bytes charged: by a
    /// [`WriteBufferManager`](crate::WriteBufferManager), and for pinned blocks of
    /// [indexes and filters](crate::BlockBasedOptions::set_cache_index_and_filter_blocks).
    pub fn get_usage(&self) -> usize {
        self.inner.usage()
    }

    /// How many entries are cached: blocks, values of blob files and rows, of all databases that
    /// share it. Not in the `rocksdb` crate; RocksDB's name.
    pub fn get_occupancy_count(&self) -> usize {
        self.inner.len()
    }

    /// Whether it is the same cache as `other`.
    pub(crate) fn shares_with(&self, other: &Cache) -> bool {
        self.inner.is_same(&other.inner)
    }

    /// Changes the capacity in bytes, at any time, evicting what no longer fits. The number of
    /// shards stays. The default is what the cache was made with.
    pub fn set_capacity(&mut self, capacity: usize) {
        self.inner.set_capacity(capacity);
    }

    /// Changes whether the capacity is [a strict
    /// limit](LruCacheOptions::set_strict_capacity_limit), at any time. Blocks that
    /// are in use but were evicted before do not count. Default false. Not in the `rocksdb` crate.
    pub fn set_strict_capacity_limit(&mut self, v: bool) {
        self.inner.set_strict_capacity_limit(v);
    }
}

/// Options of a [`Cache`]. The text form of the option `block_cache` has the same
/// ones, with the names and defaults of RocksDB's LRU cache:
///
/// ```
/// use whitewater::Options;
///
/// # fn main() -> Result<(), whitewater::Error> {
/// let opts = Options::default().get_options_from_string(
///     "block_based_table_factory={block_cache={capacity=64M;num_shard_bits=4;\
///      strict_capacity_limit=true;high_pri_pool_ratio=0.3}}",
/// )?;
/// # let _ = opts;
/// # Ok(())
/// # }
/// ```
///
/// A number alone is the capacity (`block_cache=64M`), and `nullptr` is the cache of
/// 32 MiB that each column family has by default. As in RocksDB, options files do
/// not have the option.
#[derive(Debug, Clone, Default)]
pub struct LruCacheOptions {
    inner: CacheOptions,
}

impl LruCacheOptions {
    /// Capacity in bytes. Default 0.
    pub fn set_capacity(&mut self, cap: usize) {
        self.inner.capacity = cap;
    }

    /// Base-2 logarithm of the number of shards, at most 19 (more count as 19).
    /// Each has its part of the capacity, and keeps no block larger than that.
    /// Negative: as many as suit the processors and the capacity. Default -1.
    pub fn set_num_shard_bits(&mut self, val: i32) {
        self.inner.num_shard_bits = val;
    }

    /// Whether the capacity is a strict limit. Then blocks that values, iterators
    /// and reads under way hold are not evicted, and where those and what is charged
    /// to the cache leave no room in a shard, a block that a read needs is refused:
    /// the read fails with [`Aborted`](crate::ErrorKind::Aborted), for which
    /// [`is_memory_limit`](crate::Error::is_memory_limit) is true, and may be tried
    /// again once others have let go. A filter that is refused is not asked. Reads
    /// that do not [fill the cache](crate::ReadOptions::fill_cache), compactions
    /// among them, are never refused, and what they hold does not count. Default
    /// false; [can be changed](Cache::set_strict_capacity_limit) at any time. Not in
    /// the `rocksdb` crate.
    ///
    /// Index and filter blocks that are to be pinned are not where the cache has no
    /// room for them when their table is opened; they are then read when they are
    /// needed. (RocksDB fails to open the table.)
    pub fn set_strict_capacity_limit(&mut self, v: bool) {
        self.inner.strict_capacity_limit = v;
    }

    /// The part of the capacity that blocks of [high
    /// priority](crate::BlockBasedOptions::set_cache_index_and_filter_blocks_with_high_priority)
    /// cannot be driven out of by others, 0 to 1 (what is outside counts as the
    /// nearest of these). What they do not need of it is for all blocks, and what
    /// they have beyond it may be evicted as other blocks. 0 makes them blocks as
    /// others. Default 0.5. Not in the `rocksdb` crate.
    pub fn set_high_pri_pool_ratio(&mut self, v: f64) {
        self.inner.high_pri_pool_ratio = v;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn setters_set_their_own_option() {
        let mut options = LruCacheOptions::default();
        assert_eq!(options.inner, CacheOptions::default());
        options.set_capacity(1 << 20);
        options.set_num_shard_bits(2);
        options.set_strict_capacity_limit(true);
        options.set_high_pri_pool_ratio(0.25);
        let mut cache = Cache::new_lru_cache_opts(&options);
        let expected = CacheOptions {
            capacity: 1 << 20,
            num_shard_bits: 2,
            strict_capacity_limit: true,
            high_pri_pool_ratio: 0.25,
        };
        assert_eq!(cache.inner.options(), expected);
        cache.set_strict_capacity_limit(false);
        assert!(!cache.inner.options().strict_capacity_limit);
    }
}
