//! The block cache, and which parts of tables it holds.

/// Passes these rows, after the rows so far, to the next group.
macro_rules! cache {
    ([$($before:tt)*] $next:ident $($rest:ident)*) => {
        $next! { [
            $($before)*
            "Block cache" {
                cache_size: i64 = 8 << 20, "The size of the block cache in bytes; 0 or less: no cache.";
                cache_numshardbits: i32 = -1, "The logarithm of the number of shards of the block cache; negative: the cache decides. This engine takes it as a hint: its cache decides by itself.";
                cache_high_pri_pool_ratio: f64 = 0.0, "The share of the block cache that is reserved for index and filter blocks, 0 to 1.";
                cache_type: String = "lru_cache", "The kind of block cache: lru_cache or hyper_clock_cache. This engine takes it as a hint: it has one kind.";
                cache_index_and_filter_blocks: bool = false, "Keep index and filter blocks in the block cache instead of beside it.";
                pin_l0_filter_and_index_blocks_in_cache: bool = false, "Pin the index and filter blocks of level 0 in the block cache.";
                pin_top_level_index_and_filter: bool = false, "Pin the top-level blocks of partitioned indexes and filters in the block cache.";
                row_cache_size: i64 = 0, "Bytes of the row cache; 0 or less: none.";
                prepopulate_block_cache: i32 = 0, "Put blocks into the cache when they are written: 0 never, 1 by flushes, 2 also by compactions.";
            }
        ] $($rest)* }
    };
}

pub(super) use cache;
