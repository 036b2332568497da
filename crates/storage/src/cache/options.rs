//! Options of a block cache.

/// How a cache is made. The names and defaults are those of RocksDB's LRU cache.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct CacheOptions {
    /// Bytes it may hold, an estimate of the bookkeeping included. 0 keeps
    /// nothing. Default 0.
    pub capacity: usize,
    /// Base-2 logarithm of the number of shards, at most [`MAX_SHARD_BITS`].
    /// Negative: as many as suit the processors and the capacity. Default -1.
    pub num_shard_bits: i32,
    /// Whether blocks that are in use count and stay, and an insertion fails
    /// that they leave no room for. Default false.
    pub strict_capacity_limit: bool,
    /// The part of the capacity, 0 to 1, that blocks of high priority cannot be
    /// driven out of by others. Default 0.5.
    pub high_pri_pool_ratio: f64,
}

/// The most that [`CacheOptions::num_shard_bits`] may be.
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
    /// A capacity, and otherwise the defaults.
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

    /// The same options, each within its range: the nearest value that is, or the
    /// default instead of no number.
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
