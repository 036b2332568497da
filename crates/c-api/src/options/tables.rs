//! Options of tables; caches, paths and environments.

use super::values::{Built, fields, made};
use crate::border::{ErrPtr, Text, exports};
use libc::c_char;
use whitewater::{
    BlockBasedIndexType, BlockBasedOptions, BlockBasedTablePinningTier, Cache, ChecksumType,
    CuckooTableOptions, DBPath, DataBlockIndexType, Env, Error, ErrorKind, LruCacheOptions,
};

pub type rocksdb_block_based_table_options_t = Built<BlockBasedOptions>;
pub type rocksdb_cuckoo_table_options_t = Built<CuckooTableOptions>;
pub type rocksdb_lru_cache_options_t = Built<LruCacheOptions>;
pub type rocksdb_cache_t = Built<Cache>;
pub type rocksdb_env_t = Built<Env>;

/// A directory for tables.
pub struct rocksdb_dbpath_t(pub(crate) DBPath);

/// Options of files of tables; there are none to set.
pub struct rocksdb_envoptions_t(());

/// A kind of filter.
pub enum rocksdb_filterpolicy_t {
    Bloom(f64),
    Ribbon(f64, i32),
}

fn checksum(number: c_char) -> ChecksumType {
    match number {
        0 => ChecksumType::NoChecksum,
        2 => ChecksumType::XXHash,
        3 => ChecksumType::XXHash64,
        4 => ChecksumType::XXH3,
        _ => ChecksumType::CRC32c,
    }
}

fn index_type(number: i32) -> BlockBasedIndexType {
    match number {
        1 => BlockBasedIndexType::HashSearch,
        2 => BlockBasedIndexType::TwoLevelIndexSearch,
        3 => BlockBasedIndexType::BinarySearchWithFirstKey,
        _ => BlockBasedIndexType::BinarySearch,
    }
}

fn tier(number: i32) -> BlockBasedTablePinningTier {
    match number {
        1 => BlockBasedTablePinningTier::None,
        2 => BlockBasedTablePinningTier::FlushAndSimilar,
        3 => BlockBasedTablePinningTier::All,
        _ => BlockBasedTablePinningTier::Fallback,
    }
}

fn data_block_index_type(number: i32) -> DataBlockIndexType {
    match number {
        1 => DataBlockIndexType::BinaryAndHash,
        _ => DataBlockIndexType::BinarySearch,
    }
}

/// Options of tables that change nothing here as long as they have RocksDB's defaults: `open`
/// refuses other values by name.
pub(super) const FIXED: [(&str, i32); 6] = [
    ("block_align", 0),
    ("index_block_search_type", 0),
    ("separate_key_value_in_data_block", 0),
    ("block_size_deviation", 10),
    ("use_delta_encoding", 1),
    ("block_cache_compressed", 0),
];

fn bytes(size: u64) -> usize {
    usize::try_from(size).unwrap_or(usize::MAX)
}

fn cache(capacity: usize, strict: bool) -> Option<Box<rocksdb_cache_t>> {
    let mut options = LruCacheOptions::default();
    options.set_capacity(capacity);
    options.set_strict_capacity_limit(strict);
    Some(with_capacity(Cache::new_lru_cache_opts(&options), capacity))
}

pub(super) fn with_capacity(cache: Cache, capacity: usize) -> Box<rocksdb_cache_t> {
    let mut cache = Box::new(Built::new(cache));
    cache.keep("capacity", capacity);
    cache
}

made! {
    rocksdb_block_based_table_options_t = Built::default(), rocksdb_block_based_options_create,
        rocksdb_block_based_options_destroy;
    rocksdb_cuckoo_table_options_t = Built::default(), rocksdb_cuckoo_options_create,
        rocksdb_cuckoo_options_destroy;
    rocksdb_lru_cache_options_t = Built::default(), rocksdb_lru_cache_options_create,
        rocksdb_lru_cache_options_destroy;
    rocksdb_envoptions_t = rocksdb_envoptions_t(()), rocksdb_envoptions_create,
        rocksdb_envoptions_destroy;
}

fields! { rocksdb_block_based_table_options_t {
    "checksum": c_char = 4, |o, v| o.set_checksum_type(checksum(v)),
        set rocksdb_block_based_options_set_checksum;
    "block_size": usize = 4096, |o, v| o.set_block_size(v),
        set rocksdb_block_based_options_set_block_size;
    "block_restart_interval": i32 = 16, |o, v| o.set_block_restart_interval(v),
        set rocksdb_block_based_options_set_block_restart_interval;
    "index_block_restart_interval": i32 = 1, |o, v| o.set_index_block_restart_interval(v),
        set rocksdb_block_based_options_set_index_block_restart_interval;
    "metadata_block_size": u64 = 4096, |o, v| o.set_metadata_block_size(bytes(v)),
        set rocksdb_block_based_options_set_metadata_block_size;
    "partition_filters": u8 = 0, |o, v| o.set_partition_filters(v != 0),
        set rocksdb_block_based_options_set_partition_filters;
    "optimize_filters_for_memory": u8 = 0, |o, v| o.set_optimize_filters_for_memory(v != 0),
        set rocksdb_block_based_options_set_optimize_filters_for_memory;
    "whole_key_filtering": u8 = 1, |o, v| o.set_whole_key_filtering(v != 0),
        set rocksdb_block_based_options_set_whole_key_filtering;
    "format_version": i32 = 5, |o, v| o.set_format_version(v),
        set rocksdb_block_based_options_set_format_version;
    "index_type": i32 = 0, |o, v| o.set_index_type(index_type(v)),
        set rocksdb_block_based_options_set_index_type;
    "data_block_index_type": i32 = 0,
        |o, v| o.set_data_block_index_type(data_block_index_type(v)),
        set rocksdb_block_based_options_set_data_block_index_type;
    "data_block_hash_ratio": f64 = 0.75, |o, v| o.set_data_block_hash_ratio(v),
        set rocksdb_block_based_options_set_data_block_hash_ratio;
    "cache_index_and_filter_blocks": u8 = 0, |o, v| o.set_cache_index_and_filter_blocks(v != 0),
        set rocksdb_block_based_options_set_cache_index_and_filter_blocks;
    "cache_index_and_filter_blocks_with_high_priority": u8 = 1,
        |o, v| o.set_cache_index_and_filter_blocks_with_high_priority(v != 0),
        set rocksdb_block_based_options_set_cache_index_and_filter_blocks_with_high_priority;
    "pin_l0_filter_and_index_blocks_in_cache": u8 = 0,
        |o, v| o.set_pin_l0_filter_and_index_blocks_in_cache(v != 0),
        set rocksdb_block_based_options_set_pin_l0_filter_and_index_blocks_in_cache;
    "block_size_deviation": i32 = 10, |_o, _v| (),
        set rocksdb_block_based_options_set_block_size_deviation;
    "use_delta_encoding": u8 = 1, |_o, _v| (),
        set rocksdb_block_based_options_set_use_delta_encoding;
    "block_align": u8 = 0, |_o, _v| (), set rocksdb_block_based_options_set_block_align;
    "index_block_search_type": i32 = 0, |_o, _v| (),
        set rocksdb_block_based_options_set_index_block_search_type;
    "separate_key_value_in_data_block": u8 = 0, |_o, _v| (),
        set rocksdb_block_based_options_set_separate_key_value_in_data_block;
    "top_level_index_pinning": i32 = 0, |o, v| o.set_top_level_index_pinning_tier(tier(v)),
        set rocksdb_block_based_options_set_top_level_index_pinning_tier;
    "partition_pinning": i32 = 0, |o, v| o.set_partition_pinning_tier(tier(v)),
        set rocksdb_block_based_options_set_partition_pinning_tier;
    "unpartitioned_pinning": i32 = 3, |o, v| o.set_unpartitioned_pinning_tier(tier(v)),
        set rocksdb_block_based_options_set_unpartitioned_pinning_tier;
    "pin_top_level_index_and_filter": u8 = 1,
        |o, v| o.set_pin_top_level_index_and_filter(v != 0),
        set rocksdb_block_based_options_set_pin_top_level_index_and_filter;
}}

fields! { rocksdb_cuckoo_table_options_t {
    "hash_ratio": f64 = 0.9, |o, v| o.set_hash_ratio(v), set rocksdb_cuckoo_options_set_hash_ratio;
    "max_search_depth": u32 = 100, |o, v| o.set_max_search_depth(v),
        set rocksdb_cuckoo_options_set_max_search_depth;
    "cuckoo_block_size": u32 = 5, |o, v| o.set_cuckoo_block_size(v),
        set rocksdb_cuckoo_options_set_cuckoo_block_size;
    "identity_as_first_hash": u8 = 0, |o, v| o.set_identity_as_first_hash(v != 0),
        set rocksdb_cuckoo_options_set_identity_as_first_hash;
    "use_module_hash": u8 = 1, |o, v| o.set_use_module_hash(v != 0),
        set rocksdb_cuckoo_options_set_use_module_hash;
}}

fields! { rocksdb_lru_cache_options_t {
    "capacity": usize = 0, |o, v| o.set_capacity(v), set rocksdb_lru_cache_options_set_capacity;
    "num_shard_bits": i32 = -1, |o, v| o.set_num_shard_bits(v),
        set rocksdb_lru_cache_options_set_num_shard_bits;
}}

fields! { rocksdb_cache_t {
    "capacity": usize = 0, |cache, v| cache.set_capacity(v),
        set rocksdb_cache_set_capacity, get rocksdb_cache_get_capacity;
}}

fields! { rocksdb_env_t {
    "threads": i32 = 1, |env, n| env.set_background_threads(n),
        set rocksdb_env_set_background_threads, get rocksdb_env_get_background_threads;
    "high": i32 = 1, |env, n| env.set_high_priority_background_threads(n),
        set rocksdb_env_set_high_priority_background_threads,
        get rocksdb_env_get_high_priority_background_threads;
    "low": i32 = 1, |env, n| env.set_low_priority_background_threads(n),
        set rocksdb_env_set_low_priority_background_threads,
        get rocksdb_env_get_low_priority_background_threads;
    "bottom": i32 = 0, |env, n| env.set_bottom_priority_background_threads(n),
        set rocksdb_env_set_bottom_priority_background_threads,
        get rocksdb_env_get_bottom_priority_background_threads;
}}

exports! {
    fn rocksdb_filterpolicy_create_bloom(bits: f64) -> Option<Box<rocksdb_filterpolicy_t>> {
        Some(Box::new(rocksdb_filterpolicy_t::Bloom(bits)))
    }
    fn rocksdb_filterpolicy_create_bloom_full(bits: f64) -> Option<Box<rocksdb_filterpolicy_t>> {
        Some(Box::new(rocksdb_filterpolicy_t::Bloom(bits)))
    }
    fn rocksdb_filterpolicy_create_ribbon(bits: f64) -> Option<Box<rocksdb_filterpolicy_t>> {
        Some(Box::new(rocksdb_filterpolicy_t::Ribbon(bits, -1)))
    }
    fn rocksdb_filterpolicy_create_ribbon_hybrid(
        bits: f64, bloom_before_level: i32,
    ) -> Option<Box<rocksdb_filterpolicy_t>> {
        Some(Box::new(rocksdb_filterpolicy_t::Ribbon(bits, bloom_before_level)))
    }
    fn rocksdb_filterpolicy_destroy(_policy: Option<Box<rocksdb_filterpolicy_t>>) {}
    fn rocksdb_block_based_options_set_filter_policy(
        options: Option<&mut rocksdb_block_based_table_options_t>,
        policy: Option<Box<rocksdb_filterpolicy_t>>,
    ) {
        let Some(built) = options else { return };
        match policy.map(|policy| *policy) {
            None => built.options.clear_filter(),
            Some(rocksdb_filterpolicy_t::Bloom(bits)) => {
                built.options.set_bloom_filter(bits, false);
            }
            Some(rocksdb_filterpolicy_t::Ribbon(bits, level)) => {
                built.options.set_hybrid_ribbon_filter(bits, level);
            }
        }
    }
    fn rocksdb_block_based_options_set_no_block_cache(
        options: Option<&mut rocksdb_block_based_table_options_t>, no_cache: u8,
    ) {
        if let Some(built) = options.filter(|_| no_cache != 0) {
            built.options.disable_cache();
        }
    }
    fn rocksdb_block_based_options_set_block_cache(
        options: Option<&mut rocksdb_block_based_table_options_t>, cache: Option<&rocksdb_cache_t>,
    ) {
        if let Some((built, cache)) = options.zip(cache) {
            built.options.set_block_cache(&cache.options);
        }
    }
    fn rocksdb_block_based_options_set_block_cache_compressed(
        options: Option<&mut rocksdb_block_based_table_options_t>, cache: Option<&rocksdb_cache_t>,
    ) {
        if let Some(built) = options {
            built.keep("block_cache_compressed", i32::from(cache.is_some()));
        }
    }
    fn rocksdb_cache_create_lru(capacity: usize) -> Option<Box<rocksdb_cache_t>> {
        cache(capacity, false)
    }
    fn rocksdb_cache_create_lru_with_strict_capacity_limit(
        capacity: usize,
    ) -> Option<Box<rocksdb_cache_t>> {
        cache(capacity, true)
    }
    fn rocksdb_cache_create_lru_opts(
        options: Option<&rocksdb_lru_cache_options_t>,
    ) -> Option<Box<rocksdb_cache_t>> {
        let options = options?;
        let cache = Cache::new_lru_cache_opts(&options.options);
        Some(with_capacity(cache, options.kept("capacity", 0)))
    }
    fn rocksdb_cache_destroy(_cache: Option<Box<rocksdb_cache_t>>) {}
    // RocksDB leaks the cache then, to end faster; here there is nothing to gain.
    fn rocksdb_cache_disown_data(_cache: Option<&rocksdb_cache_t>) {}
    fn rocksdb_cache_get_usage(cache: Option<&rocksdb_cache_t>) -> usize {
        cache.map_or(0, |cache| cache.options.get_usage())
    }
    fn rocksdb_cache_get_occupancy_count(cache: Option<&rocksdb_cache_t>) -> usize {
        cache.map_or(0, |cache| cache.options.get_occupancy_count())
    }
    // RocksDB's number for caches that do not say: its own hash tables say how many places they
    // have.
    fn rocksdb_cache_get_table_address_count(_cache: Option<&rocksdb_cache_t>) -> usize {
        0
    }
    fn rocksdb_cache_get_pinned_usage(cache: Option<&rocksdb_cache_t>) -> usize {
        cache.map_or(0, |cache| cache.options.get_pinned_usage())
    }

    fn rocksdb_dbpath_create(path: Text, target_size: u64) -> Option<Box<rocksdb_dbpath_t>> {
        let path = DBPath::new(path.path(), target_size).ok()?;
        Some(Box::new(rocksdb_dbpath_t(path)))
    }
    fn rocksdb_dbpath_destroy(_path: Option<Box<rocksdb_dbpath_t>>) {}

    fn rocksdb_create_default_env() -> Option<Box<rocksdb_env_t>> {
        Some(Box::new(Built::new(Env::new().ok()?)))
    }
    fn rocksdb_create_mem_env() -> Option<Box<rocksdb_env_t>> {
        Some(Box::new(Built::new(Env::mem_env().ok()?)))
    }
    fn rocksdb_env_destroy(_env: Option<Box<rocksdb_env_t>>) {}
    fn rocksdb_env_join_all_threads(env: Option<&mut rocksdb_env_t>) {
        if let Some(env) = env {
            env.options.join_all_threads();
        }
    }
    fn rocksdb_env_lower_thread_pool_io_priority(env: Option<&mut rocksdb_env_t>) {
        if let Some(env) = env {
            env.options.lower_thread_pool_io_priority();
        }
    }
    fn rocksdb_env_lower_high_priority_thread_pool_io_priority(env: Option<&mut rocksdb_env_t>) {
        if let Some(env) = env {
            env.options.lower_high_priority_thread_pool_io_priority();
        }
    }
    fn rocksdb_env_lower_thread_pool_cpu_priority(env: Option<&mut rocksdb_env_t>) {
        if let Some(env) = env {
            env.options.lower_thread_pool_cpu_priority();
        }
    }
    fn rocksdb_env_lower_high_priority_thread_pool_cpu_priority(env: Option<&mut rocksdb_env_t>) {
        if let Some(env) = env {
            env.options.lower_high_priority_thread_pool_cpu_priority();
        }
    }
    fn rocksdb_create_dir_if_missing(_env: Option<&rocksdb_env_t>, path: Text, errptr: ErrPtr) {
        errptr.run(|| {
            let path = path.path();
            let failed = |e: std::io::Error| {
                Error::new(ErrorKind::IOError, format_args!("While mkdir: {}: {e}", path.display()))
            };
            std::fs::create_dir_all(&path).map_err(failed)
        });
    }
}
