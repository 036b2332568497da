//! Options of a block cache.

/// Options of a block cache. Names and defaults are those of RocksDB's LRU cache.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct CacheOptions {
    /// The most bytes it may hold, including an estimate of the bookkeeping. 0 keeps nothing.
    /// Default 0.
    pub capacity: usize,
    /// Base-2 logarithm of the number of shards, at most [`MAX_SHARD_BITS`].
    /// A negative value chooses a number that suits the processors and the capacity. Default -1.
    pub num_shard_bits: i32,
    /// Whether blocks in use count and stay, and an insertion fails if they leave no room for it.
    /// Default false.
    pub strict_capacity_limit: bool,
    /// The part of the capacity, 0 to 1, from which other blocks cannot evict blocks of high
    /// priority. Default 0.5.
    pub high_pri_pool_ratio: f64,
}

/// The largest value of [`CacheOptions::num_shard_bits`].
pub const MAX_SHARD_BITS: i32 = 19;

impl Default for CacheOptions {
    fn default() -> Self {
        CacheOptions {
            capacity: 0,
            num_shard_bits: -1,
            strict_capacity_limit: false,
            high_pri_pool_ratio: 0.5,
        }
    }
}

impl CacheOptions {
    /// Options with this capacity, and defaults otherwise.
    pub fn with_capacity(capacity: usize) -> Self {
        CacheOptions {
            capacity,
            ..CacheOptions::default()
        }
    }

    /// Whether every option is within its range.
    pub fn is_valid(&self) -> bool {
        self.num_shard_bits <= MAX_SHARD_BITS && (0.0..=1.0).contains(&self.high_pri_pool_ratio)
    }

    /// The same options, each clamped to its range. NaN becomes the default.
    #[must_use]
    pub fn clamped(mut self) -> Self {
        self.num_shard_bits = self.num_shard_bits.min(MAX_SHARD_BITS);
        self.high_pri_pool_ratio = if self.high_pri_pool_ratio.is_nan() {
            CacheOptions::default().high_pri_pool_ratio
        } else {
            self.high_pri_pool_ratio.clamp(0.0, 1.0)
        };
        self
    }
}
