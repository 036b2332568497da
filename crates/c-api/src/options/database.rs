//! Options of databases and column families that are more than one value.

use super::{
    rocksdb_block_based_table_options_t, rocksdb_cache_t, rocksdb_cuckoo_table_options_t,
    rocksdb_dbpath_t, rocksdb_env_t, rocksdb_fifo_compaction_options_t, rocksdb_options_t,
    rocksdb_universal_compaction_options_t,
};
use crate::border::{ErrPtr, List, Text, exports, given};
use crate::callbacks::{
    rocksdb_compactionfilter_t, rocksdb_compactionfilterfactory_t, rocksdb_comparator_t,
    rocksdb_mergeoperator_t, rocksdb_slicetransform_t,
};
use crate::options::compaction::FIFO_OFF;
use crate::options::tables::FIXED;
use crate::options::values::{COMPRESSION, Form};
#[cfg(not(feature = "abi-7"))]
use libc::c_char;
use whitewater::{
    Error, FileChecksum, KeyEncodingType, MemtableFactory, MergeOperands, Options,
    PlainTableFactoryOptions, RateLimiterMode,
};

/// A rate limiter. What it does is the database's.
pub struct rocksdb_ratelimiter_t {
    rate: i64,
    period_us: i64,
    fairness: i32,
    auto_tuned: bool,
    mode: i32,
}

const WRITES: i32 = RateLimiterMode::KWritesOnly as i32;

/// What divides tables by key; there is none to make.
pub struct rocksdb_sst_partitioner_factory_t(());

/// What adds properties to tables; there is none to make.
pub struct rocksdb_table_properties_collector_factory_t(());

/// Has `open` refuse the option `name`, unless it has RocksDB's default.
pub(super) fn fixed(options: &mut Options, name: &str, is_default: bool) {
    if !is_default {
        options.refuse_by_name(name, Error::not_supported(format_args!("option {name}")));
    }
}

/// A kind of checksums of whole files.
pub struct rocksdb_file_checksum_gen_factory_t(FileChecksum);

/// Calls `set` with the options.
pub(super) fn with(options: Option<&mut rocksdb_options_t>, set: impl FnOnce(&mut Options)) {
    if let Some(options) = options {
        set(&mut options.options);
    }
}

/// Numbers of 64 bits, little-endian, that are added up, as in RocksDB's `UInt64AddOperator`.
fn add(_: &[u8], existing: Option<&[u8]>, operands: &MergeOperands<'_>) -> Option<Vec<u8>> {
    let number = |bytes: &[u8]| bytes.try_into().map_or(0, u64::from_le_bytes);
    let first = existing.map_or(0, number);
    let sum = operands
        .iter()
        .fold(first, |sum, next| sum.wrapping_add(number(next)));
    Some(sum.to_le_bytes().to_vec())
}

fn numbers(values: &[i32]) -> String {
    values
        .iter()
        .map(i32::to_string)
        .collect::<Vec<_>>()
        .join(":")
}

exports! {
    fn rocksdb_options_create() -> Option<Box<rocksdb_options_t>> {
        Some(Box::default())
    }
    fn rocksdb_options_destroy(_options: Option<Box<rocksdb_options_t>>) {}
    fn rocksdb_options_create_copy(
        options: Option<&rocksdb_options_t>,
    ) -> Option<Box<rocksdb_options_t>> {
        options.cloned().map(Box::new)
    }
    fn rocksdb_options_set_comparator(
        options: Option<&mut rocksdb_options_t>, comparator: Option<&rocksdb_comparator_t>,
    ) {
        with(options, |options| match comparator {
            Some(comparator) => comparator.set(options),
            None => options.reset_comparator(),
        });
    }
    fn rocksdb_options_set_merge_operator(
        options: Option<&mut rocksdb_options_t>, operator: Option<Box<rocksdb_mergeoperator_t>>,
    ) {
        if let Some(operator) = operator {
            with(options, |options| operator.set(options));
        }
    }
    fn rocksdb_options_set_uint64add_merge_operator(options: Option<&mut rocksdb_options_t>) {
        with(options, |options| {
            options.set_merge_operator_associative("UInt64AddOperator", add);
        });
    }
    fn rocksdb_options_set_compaction_filter(
        options: Option<&mut rocksdb_options_t>, filter: Option<&rocksdb_compactionfilter_t>,
    ) {
        with(options, |options| match filter {
            Some(filter) => options.set_compaction_filter_factory(filter.clone()),
            None => options.clear_compaction_filters(),
        });
    }
    fn rocksdb_options_set_compaction_filter_factory(
        options: Option<&mut rocksdb_options_t>,
        factory: Option<Box<rocksdb_compactionfilterfactory_t>>,
    ) {
        with(options, |options| match factory {
            Some(factory) => options.set_compaction_filter_factory(*factory),
            None => options.clear_compaction_filters(),
        });
    }
    fn rocksdb_options_set_prefix_extractor(
        options: Option<&mut rocksdb_options_t>, transform: Option<Box<rocksdb_slicetransform_t>>,
    ) {
        with(options, |options| match transform {
            Some(transform) => transform.set(options),
            None => options.set_by_name("prefix_extractor", "nullptr"),
        });
    }
    fn rocksdb_options_set_env(
        options: Option<&mut rocksdb_options_t>, env: Option<&rocksdb_env_t>,
    ) {
        if let Some(env) = env {
            with(options, |options| options.set_env(&env.options));
        }
    }
    // The engine always writes the file.
    fn rocksdb_options_get_write_identity_file(options: Option<&rocksdb_options_t>) -> u8 {
        let text = options.and_then(|options| options.get("write_identity_file"));
        text.is_none_or(|text| text == "true").into()
    }
    fn rocksdb_options_set_db_log_dir(options: Option<&mut rocksdb_options_t>, dir: Text) {
        with(options, |options| options.set_db_log_dir(dir.path()));
    }
    fn rocksdb_options_set_wal_dir(options: Option<&mut rocksdb_options_t>, dir: Text) {
        with(options, |options| options.set_wal_dir(dir.path()));
    }
    fn rocksdb_options_set_db_paths(
        options: Option<&mut rocksdb_options_t>, paths: List<Option<&'static rocksdb_dbpath_t>>,
        len: usize,
    ) {
        let paths: Vec<_> = paths.of(len).iter().flatten().map(|path| path.0.clone()).collect();
        with(options, |options| options.set_db_paths(&paths));
    }
    fn rocksdb_options_set_row_cache(
        options: Option<&mut rocksdb_options_t>, cache: Option<&rocksdb_cache_t>,
    ) {
        if let Some(cache) = cache {
            with(options, |options| options.set_row_cache(&cache.options));
        }
    }
    fn rocksdb_options_set_blob_cache(
        options: Option<&mut rocksdb_options_t>, cache: Option<&rocksdb_cache_t>,
    ) {
        if let Some(cache) = cache {
            with(options, |options| options.set_blob_cache(&cache.options));
        }
    }
    fn rocksdb_options_set_block_based_table_factory(
        options: Option<&mut rocksdb_options_t>,
        table: Option<&rocksdb_block_based_table_options_t>,
    ) {
        if let Some(table) = table {
            with(options, |options| {
                options.set_block_based_table_factory(&table.options);
                for (name, default) in FIXED {
                    fixed(options, name, table.kept(name, default) == default);
                }
            });
        }
    }
    fn rocksdb_options_set_cuckoo_table_factory(
        options: Option<&mut rocksdb_options_t>, table: Option<&rocksdb_cuckoo_table_options_t>,
    ) {
        if let Some(table) = table {
            with(options, |options| options.set_cuckoo_table_factory(&table.options));
        }
    }
    fn rocksdb_options_set_memtable_vector_rep(options: Option<&mut rocksdb_options_t>) {
        with(options, |options| options.set_memtable_factory(MemtableFactory::Vector));
    }
    fn rocksdb_options_set_hash_skip_list_rep(
        options: Option<&mut rocksdb_options_t>, bucket_count: usize, height: i32,
        branching_factor: i32,
    ) {
        let kind = MemtableFactory::HashSkipList { bucket_count, height, branching_factor };
        with(options, |options| options.set_memtable_factory(kind));
    }
    fn rocksdb_options_set_hash_link_list_rep(
        options: Option<&mut rocksdb_options_t>, bucket_count: usize,
    ) {
        let kind = MemtableFactory::HashLinkList { bucket_count };
        with(options, |options| options.set_memtable_factory(kind));
    }
    fn rocksdb_options_set_min_level_to_compress(
        options: Option<&mut rocksdb_options_t>, level: i32,
    ) {
        with(options, |options| options.set_min_level_to_compress(level));
    }
    fn rocksdb_options_set_compression_per_level(
        options: Option<&mut rocksdb_options_t>, levels: List<i32>, len: usize,
    ) {
        let names = levels.of(len).iter().map(|level| Form::Enum(COMPRESSION).print(*level));
        let text = names.collect::<Vec<_>>().join(":");
        with(options, |options| options.set_by_name("compression_per_level", &text));
    }
    fn rocksdb_options_set_max_bytes_for_level_multiplier_additional(
        options: Option<&mut rocksdb_options_t>, values: List<i32>, len: usize,
    ) {
        let text = numbers(values.of(len));
        let name = "max_bytes_for_level_multiplier_additional";
        with(options, |options| options.set_by_name(name, &text));
    }
    fn rocksdb_options_set_compression_options(
        options: Option<&mut rocksdb_options_t>, window_bits: i32, level: i32, strategy: i32,
        max_dict_bytes: i32,
    ) {
        with(options, |options| {
            options.set_compression_options(window_bits, level, strategy, max_dict_bytes);
        });
    }
    fn rocksdb_options_set_bottommost_compression_options(
        options: Option<&mut rocksdb_options_t>, window_bits: i32, level: i32, strategy: i32,
        max_dict_bytes: i32, enabled: u8,
    ) {
        with(options, |options| options.set_bottommost_compression_options(
            window_bits, level, strategy, max_dict_bytes, enabled != 0,
        ));
    }
    fn rocksdb_options_set_bottommost_compression_options_zstd_max_train_bytes(
        options: Option<&mut rocksdb_options_t>, bytes: i32, enabled: u8,
    ) {
        with(options, |options| {
            options.set_bottommost_zstd_max_train_bytes(bytes, enabled != 0);
        });
    }
    fn rocksdb_options_set_bottommost_compression_options_use_zstd_dict_trainer(
        options: Option<&mut rocksdb_options_t>, trainer: u8, enabled: u8,
    ) {
        if let Some(options) = options {
            let name = "bottommost_compression_opts.use_zstd_dict_trainer";
            options.set(name, Form::Flag.print(trainer));
            options.set("bottommost_compression_opts.enabled", Form::Flag.print(enabled));
        }
    }
    fn rocksdb_options_get_bottommost_compression_options_use_zstd_dict_trainer(
        options: Option<&rocksdb_options_t>,
    ) -> u8 {
        let name = "bottommost_compression_opts.use_zstd_dict_trainer";
        let text = options.and_then(|options| options.get(name));
        text.is_none_or(|text| text == "true").into()
    }
    fn rocksdb_options_set_bottommost_compression_options_max_dict_buffer_bytes(
        options: Option<&mut rocksdb_options_t>, bytes: u64, enabled: u8,
    ) {
        if let Some(options) = options {
            options.set("bottommost_compression_opts.max_dict_buffer_bytes", bytes.to_string());
            options.set("bottommost_compression_opts.enabled", Form::Flag.print(enabled));
        }
    }
    fn rocksdb_options_set_universal_compaction_options(
        options: Option<&mut rocksdb_options_t>,
        universal: Option<&rocksdb_universal_compaction_options_t>,
    ) {
        if let Some(universal) = universal {
            with(options, |options| options.set_universal_compaction_options(&universal.options));
        }
    }
    fn rocksdb_options_set_fifo_compaction_options(
        options: Option<&mut rocksdb_options_t>, fifo: Option<&rocksdb_fifo_compaction_options_t>,
    ) {
        if let Some(fifo) = fifo {
            with(options, |options| {
                options.set_fifo_compaction_options(&fifo.options);
                for name in FIFO_OFF {
                    fixed(options, name, fifo.kept(name, 0u64) == 0);
                }
            });
        }
    }
    fn rocksdb_ratelimiter_create(
        rate: i64, period_us: i64, fairness: i32,
    ) -> Option<Box<rocksdb_ratelimiter_t>> {
        rocksdb_ratelimiter_create_with_mode(rate, period_us, fairness, WRITES, false)
    }
    fn rocksdb_ratelimiter_create_auto_tuned(
        rate: i64, period_us: i64, fairness: i32,
    ) -> Option<Box<rocksdb_ratelimiter_t>> {
        rocksdb_ratelimiter_create_with_mode(rate, period_us, fairness, WRITES, true)
    }
    fn rocksdb_ratelimiter_create_with_mode(
        rate: i64, period_us: i64, fairness: i32, mode: i32, auto_tuned: bool,
    ) -> Option<Box<rocksdb_ratelimiter_t>> {
        let limiter = rocksdb_ratelimiter_t { rate, period_us, fairness, auto_tuned, mode };
        Some(Box::new(limiter))
    }
    fn rocksdb_ratelimiter_destroy(_limiter: Option<Box<rocksdb_ratelimiter_t>>) {}
    fn rocksdb_options_set_ratelimiter(
        options: Option<&mut rocksdb_options_t>, limiter: Option<&rocksdb_ratelimiter_t>,
    ) {
        let Some(limiter) = limiter else { return };
        let rocksdb_ratelimiter_t { rate, period_us, fairness, auto_tuned, mode } = *limiter;
        let Some(mode) = RateLimiterMode::from_number(mode) else {
            let error = Error::invalid(format_args!("option rate_limiter: mode {mode}"));
            with(options, |options| options.refuse_by_name("rate_limiter", error));
            return;
        };
        with(options, |options| {
            options.set_ratelimiter_with_mode(rate, period_us, fairness, mode, auto_tuned);
        });
    }
    fn rocksdb_file_checksum_gen_crc32c_factory_create(
    ) -> Option<Box<rocksdb_file_checksum_gen_factory_t>> {
        Some(Box::new(rocksdb_file_checksum_gen_factory_t(FileChecksum::Crc32c)))
    }
    fn rocksdb_file_checksum_gen_factory_destroy(
        _factory: Option<Box<rocksdb_file_checksum_gen_factory_t>>,
    ) {}
    fn rocksdb_options_set_file_checksum_gen_factory(
        options: Option<&mut rocksdb_options_t>,
        factory: Option<&rocksdb_file_checksum_gen_factory_t>,
    ) {
        if let Some(factory) = factory {
            with(options, |options| options.set_file_checksum(factory.0));
        }
    }
    fn rocksdb_sst_partitioner_fixed_prefix_factory_create(
        _len: usize,
    ) -> Option<Box<rocksdb_sst_partitioner_factory_t>> {
        Some(Box::new(rocksdb_sst_partitioner_factory_t(())))
    }
    fn rocksdb_sst_partitioner_factory_destroy(
        _factory: Option<Box<rocksdb_sst_partitioner_factory_t>>,
    ) {}
    fn rocksdb_options_set_sst_partitioner_factory(
        options: Option<&mut rocksdb_options_t>,
        factory: Option<&rocksdb_sst_partitioner_factory_t>,
    ) {
        with(options, |options| fixed(options, "sst_partitioner_factory", factory.is_none()));
    }
    fn rocksdb_table_properties_collector_factory_destroy(
        _factory: Option<Box<rocksdb_table_properties_collector_factory_t>>,
    ) {}
    fn rocksdb_options_add_table_properties_collector_factory(
        options: Option<&mut rocksdb_options_t>,
        _factory: Option<&rocksdb_table_properties_collector_factory_t>,
    ) {
        with(options, |options| fixed(options, "table_properties_collector_factories", false));
    }
    fn rocksdb_options_set_cf_paths(
        options: Option<&mut rocksdb_options_t>, paths: List<Option<&'static rocksdb_dbpath_t>>,
        len: usize,
    ) {
        let paths: Vec<_> = paths.of(len).iter().flatten().map(|path| path.0.clone()).collect();
        with(options, |options| options.set_cf_paths(&paths));
    }
    fn rocksdb_options_add_compact_on_deletion_collector_factory_del_ratio(
        options: Option<&mut rocksdb_options_t>, window: usize, deletions: usize, ratio: f64,
    ) {
        with(options, |options| {
            options.add_compact_on_deletion_collector_factory(window, deletions, ratio);
        });
    }
    fn rocksdb_options_add_compact_on_deletion_collector_factory_min_file_size(
        options: Option<&mut rocksdb_options_t>, window: usize, deletions: usize, ratio: f64,
        min_file_size: u64,
    ) {
        with(options, |options| {
            options.add_compact_on_deletion_collector_factory_min_file_size(
                window, deletions, ratio, min_file_size,
            );
        });
    }
    fn rocksdb_options_add_compact_on_deletion_collector_factory(
        options: Option<&mut rocksdb_options_t>, window: usize, deletions: usize,
    ) {
        with(options, |options| {
            options.add_compact_on_deletion_collector_factory(window, deletions, 0.0);
        });
    }
    fn rocksdb_get_options_from_string(
        base: Option<&rocksdb_options_t>, text: Text, new: Option<&mut rocksdb_options_t>,
        errptr: ErrPtr,
    ) {
        errptr.run(|| {
            let mut base = base.cloned().unwrap_or_default().options;
            let options = base.get_options_from_string(text.lossy())?;
            *given(new)? = rocksdb_options_t::new(options);
            Ok(())
        });
    }
}

#[cfg(feature = "abi-7")]
exports! {
    fn rocksdb_options_set_plain_table_factory(
        options: Option<&mut rocksdb_options_t>, user_key_length: u32, bloom_bits_per_key: i32,
        hash_table_ratio: f64, index_sparseness: usize,
    ) {
        let plain = PlainTableFactoryOptions {
            user_key_length,
            bloom_bits_per_key,
            hash_table_ratio,
            index_sparseness,
            huge_page_tlb_size: 0,
            encoding_type: KeyEncodingType::Plain,
            full_scan_mode: false,
            store_index_in_file: false,
        };
        with(options, |options| options.set_plain_table_factory(&plain));
    }
}

#[cfg(not(feature = "abi-7"))]
exports! {
    fn rocksdb_options_set_plain_table_factory(
        options: Option<&mut rocksdb_options_t>, user_key_length: u32, bloom_bits_per_key: i32,
        hash_table_ratio: f64, index_sparseness: usize, huge_page_tlb_size: usize,
        encoding: c_char, full_scan_mode: u8, store_index_in_file: u8,
    ) {
        let plain = PlainTableFactoryOptions {
            user_key_length,
            bloom_bits_per_key,
            hash_table_ratio,
            index_sparseness,
            huge_page_tlb_size,
            encoding_type: match encoding {
                0 => KeyEncodingType::Plain,
                _ => KeyEncodingType::Prefix,
            },
            full_scan_mode: full_scan_mode != 0,
            store_index_in_file: store_index_in_file != 0,
        };
        with(options, |options| options.set_plain_table_factory(&plain));
    }
}
