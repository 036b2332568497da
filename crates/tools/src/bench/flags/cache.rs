//! The block cache, and what of tables is in it.

/// Hands the rows so far and these to the next group.
macro_rules! cache {
    ([$($before:tt)*] $next:ident $($rest:ident)*) => {
        $next! { [
            $($before)*
            "Block cache" {
                cache_size: i64 = 8 << 20, "Bytes of the block cache; 0 or less: no cache.";
                cache_numshardbits: i32 = -1, "The block cache has 2 to this shards; negative: as many as it likes. A hint for this engine, whose cache chooses itself.";
                cache_high_pri_pool_ratio: f64 = 0.0, "Part of the block cache that index and filter blocks cannot be driven out of by others, 0 to 1.";
                cache_type: String = "lru_cache", "Kind of the block cache: lru_cache or hyper_clock_cache. A hint for this engine, which has one kind.";
                cache_index_and_filter_blocks: bool = false, "Keep index and filter blocks in the block cache, not beside it.";
                pin_l0_filter_and_index_blocks_in_cache: bool = false, "Let those of level 0 stay there.";
                pin_top_level_index_and_filter: bool = false, "Let top blocks of partitioned indexes and filters stay there.";
                prepopulate_block_cache: i32 = 0, "Put blocks there as they are written: 0, never; 1, by flushes; 2, by compactions, too.";
            }
        ] $($rest)* }
    };
}

pub(super) use cache;
