//! Options of tables; caches, filters, budgets of memtables.

use crate::border::{natives, not_implemented};
use crate::handles::{find, find_given, give_back, make};
use whitewater::{
    BlockBasedIndexType, BlockBasedOptions, ChecksumType, DataBlockIndexType, Error,
    KeyEncodingType, LruCacheOptions, Options, PlainTableFactoryOptions, WriteBufferManager,
};

pub(crate) struct Cache(pub(crate) whitewater::Cache);

pub(crate) struct WriteBuffers(pub(crate) WriteBufferManager);

/// A Bloom filter of so many bits a key.
struct Bloom(f64);

/// Options of tables.
pub(crate) enum Table {
    BlockBased {
        options: BlockBasedOptions,
        /// What `open` refuses.
        refused: Vec<&'static str>,
    },
    Plain(PlainTableFactoryOptions),
}

impl Table {
    pub(crate) fn set(&self, options: &mut Options) {
        match self {
            Table::Plain(plain) => options.set_plain_table_factory(plain),
            Table::BlockBased {
                options: table,
                refused,
            } => {
                options.set_block_based_table_factory(table);
                for name in refused {
                    let error = Error::not_supported(format_args!("option {name}"));
                    options.refuse_by_name(name, error);
                }
            }
        }
    }
}

fn bytes(size: i64) -> usize {
    usize::try_from(size).unwrap_or(0)
}

fn index_type(number: i8) -> BlockBasedIndexType {
    match number {
        1 => BlockBasedIndexType::HashSearch,
        2 => BlockBasedIndexType::TwoLevelIndexSearch,
        3 => BlockBasedIndexType::BinarySearchWithFirstKey,
        _ => BlockBasedIndexType::BinarySearch,
    }
}

fn checksum(number: i8) -> ChecksumType {
    match number {
        0 => ChecksumType::NoChecksum,
        2 => ChecksumType::XXHash,
        3 => ChecksumType::XXHash64,
        4 => ChecksumType::XXH3,
        _ => ChecksumType::CRC32c,
    }
}

fn lru(capacity: i64, shard_bits: i32) -> LruCacheOptions {
    let mut options = LruCacheOptions::default();
    options.set_capacity(bytes(capacity));
    options.set_num_shard_bits(shard_bits);
    options
}

natives! {
    fn Java_org_rocksdb_BlockBasedTableConfig_newTableFactoryHandle<'l>(
        _env, cache_index_and_filter_blocks: bool, with_high_priority: bool, pin_l0: bool,
        pin_top_level: bool, index: i8, data_block_index: i8, hash_ratio: f64, checksum_type: i8,
        no_cache: bool, cache: i64, persistent_cache: i64, block_size: i64, deviation: i32,
        restarts: i32, index_restarts: i32, metadata_block_size: i64, partition_filters: bool,
        for_memory: bool, delta_encoding: bool, filter: i64, whole_key: bool,
        verify_compression: bool, read_amp: i32, format_version: i32, index_compression: bool,
        block_align: bool, index_shortening: i8, cache_size: i64, cache_shard_bits: i32,
    ) -> i64 {
        let mut options = BlockBasedOptions::default();
        options.set_cache_index_and_filter_blocks(cache_index_and_filter_blocks);
        options.set_cache_index_and_filter_blocks_with_high_priority(with_high_priority);
        options.set_pin_l0_filter_and_index_blocks_in_cache(pin_l0);
        options.set_pin_top_level_index_and_filter(pin_top_level);
        options.set_index_type(index_type(index));
        options.set_data_block_index_type(match data_block_index {
            1 => DataBlockIndexType::BinaryAndHash,
            _ => DataBlockIndexType::BinarySearch,
        });
        options.set_data_block_hash_ratio(hash_ratio);
        options.set_checksum_type(checksum(checksum_type));
        options.set_block_size(bytes(block_size));
        options.set_block_restart_interval(restarts);
        options.set_index_block_restart_interval(index_restarts);
        options.set_metadata_block_size(bytes(metadata_block_size));
        options.set_partition_filters(partition_filters);
        options.set_optimize_filters_for_memory(for_memory);
        options.set_whole_key_filtering(whole_key);
        options.set_format_version(format_version);
        if let Some(bloom) = find_given::<Bloom>(filter)? {
            options.set_bloom_filter(bloom.0, false);
        }
        match find_given::<Cache>(cache)? {
            _ if no_cache => options.disable_cache(),
            Some(cache) => options.set_block_cache(&cache.0),
            None if cache_size > 0 => {
                let lru = lru(cache_size, cache_shard_bits);
                options.set_block_cache(&whitewater::Cache::new_lru_cache_opts(&lru));
            }
            None => options.disable_cache(),
        }
        let refused = [
            ("persistent_cache", persistent_cache == 0),
            ("block_size_deviation", deviation == 10),
            ("use_delta_encoding", delta_encoding),
            ("verify_compression", !verify_compression),
            ("read_amp_bytes_per_bit", read_amp == 0),
            ("enable_index_compression", index_compression),
            ("block_align", !block_align),
            ("index_shortening", index_shortening == 1),
        ];
        let refused = refused.into_iter().filter(|(_, honoured)| !honoured);
        let refused = refused.map(|(name, _)| name).collect();
        make(Table::BlockBased { options, refused })
    }
    fn Java_org_rocksdb_PlainTableConfig_newTableFactoryHandle<'l>(
        _env, key_size: i32, bloom_bits: i32, hash_ratio: f64, sparseness: i32, page_size: i32,
        encoding: i8, full_scan: bool, store_index: bool,
    ) -> i64 {
        make(Table::Plain(PlainTableFactoryOptions {
            user_key_length: key_size as u32,
            bloom_bits_per_key: bloom_bits,
            hash_table_ratio: hash_ratio,
            index_sparseness: bytes(sparseness.into()),
            huge_page_tlb_size: bytes(page_size.into()),
            encoding_type: match encoding {
                0 => KeyEncodingType::Plain,
                _ => KeyEncodingType::Prefix,
            },
            full_scan_mode: full_scan,
            store_index_in_file: store_index,
        }))
    }
    fn Java_org_rocksdb_BloomFilter_createNewBloomFilter<'l>(_env, bits: f64) -> i64 {
        make(Bloom(bits))
    }
    fn Java_org_rocksdb_LRUCache_newLRUCache<'l>(
        _env, capacity: i64, shard_bits: i32, strict: bool, high_ratio: f64, low_ratio: f64,
    ) -> i64 {
        if low_ratio != 0.0 {
            return Err(not_implemented("LRUCache with lowPriPoolRatio"));
        }
        let mut options = lru(capacity, shard_bits);
        options.set_strict_capacity_limit(strict);
        options.set_high_pri_pool_ratio(high_ratio);
        make(Cache(whitewater::Cache::new_lru_cache_opts(&options)))
    }
    fn Java_org_rocksdb_HyperClockCache_newHyperClockCache<'l>(
        _env, capacity: i64, charge: i64, shard_bits: i32, strict: bool,
    ) -> i64 {
        let _ = (charge, shard_bits);
        let mut cache = whitewater::Cache::new_hyper_clock_cache(bytes(capacity), bytes(charge));
        cache.set_strict_capacity_limit(strict);
        make(Cache(cache))
    }
    fn Java_org_rocksdb_Cache_getUsage<'l>(_env, cache: i64) -> i64 {
        Ok(find::<Cache>(cache)?.0.get_usage() as i64)
    }
    fn Java_org_rocksdb_Cache_getPinnedUsage<'l>(_env, cache: i64) -> i64 {
        Ok(find::<Cache>(cache)?.0.get_pinned_usage() as i64)
    }
    fn Java_org_rocksdb_WriteBufferManager_newWriteBufferManager<'l>(
        _env, size: i64, cache: i64, stall: bool,
    ) -> i64 {
        make(WriteBuffers(match find_given::<Cache>(cache)? {
            Some(cache) => {
                let cache = cache.0.clone();
                WriteBufferManager::new_write_buffer_manager_with_cache(bytes(size), stall, cache)
            }
            None => WriteBufferManager::new_write_buffer_manager(bytes(size), stall),
        }))
    }
    fn Java_org_rocksdb_Filter_disposeInternalJni Java_org_rocksdb_Filter_disposeInternal
        Java_org_rocksdb_LRUCache_disposeInternalJni Java_org_rocksdb_LRUCache_disposeInternal
        Java_org_rocksdb_HyperClockCache_disposeInternalJni
        Java_org_rocksdb_WriteBufferManager_disposeInternalJni
        Java_org_rocksdb_WriteBufferManager_disposeInternal<'l>(_env, handle: i64) -> ()
    {
        give_back(handle);
        Ok(())
    }
}
