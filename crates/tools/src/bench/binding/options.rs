//! Turns flags into options; written once for both engines.
//!
//! Options for which the `rocksdb` crate has no setter are set from text
//! (`text_of`), under RocksDB's own names.

use super::super::flags::Flags;

/// The options that are set from text, as `name=value;...`; empty if there are none.
fn text_of(flags: &Flags) -> String {
    let mut text = String::new();
    let mut universal = String::new();
    for (name, flag, value) in [
        (
            "size_ratio",
            "universal_size_ratio",
            flags.universal_size_ratio,
        ),
        (
            "min_merge_width",
            "universal_min_merge_width",
            flags.universal_min_merge_width,
        ),
        (
            "max_merge_width",
            "universal_max_merge_width",
            flags.universal_max_merge_width,
        ),
        (
            "max_size_amplification_percent",
            "universal_max_size_amplification_percent",
            flags.universal_max_size_amplification_percent,
        ),
        (
            "compression_size_percent",
            "universal_compression_size_percent",
            flags.universal_compression_size_percent,
        ),
    ] {
        if flags.is_changed(flag) {
            universal += &format!("{name}={value};");
        }
    }
    if flags.universal_allow_trivial_move {
        universal += "allow_trivial_move=true;";
    }
    if !universal.is_empty() {
        text += &format!("compaction_options_universal={{{universal}}};");
    }
    if flags.compaction_style == FIFO {
        let bytes = (flags.fifo_compaction_max_table_files_size_mb).saturating_mul(1 << 20);
        text += &format!(
            "compaction_options_fifo={{max_table_files_size={bytes};allow_compaction={}}};",
            flags.fifo_compaction_allow_compaction
        );
    }
    let mut codecs = String::new();
    if flags.is_changed("compression_max_dict_buffer_bytes") {
        let bytes = flags.compression_max_dict_buffer_bytes;
        codecs += &format!("max_dict_buffer_bytes={bytes};");
    }
    if !flags.compression_use_zstd_dict_trainer {
        codecs += "use_zstd_dict_trainer=false;";
    }
    if !codecs.is_empty() {
        text += &format!("compression_opts={{{codecs}}};");
    }
    if flags.is_changed("blob_file_starting_level") {
        let level = flags.blob_file_starting_level;
        text += &format!("blob_file_starting_level={level};");
    }
    if flags.prepopulate_blob_cache > 0 {
        text += "prepopulate_blob_cache=kFlushOnly;";
    }
    text
}

/// The number of FIFO compaction in `compaction_style`.
const FIFO: i32 = 2;

/// Defines a module with a function `options` over one of the crates. What only one
/// engine has is in the module `own`: its `from_file`, its `set`, which is called
/// last, its `set_write`, and its `watch`, which serves what a database does.
macro_rules! options_binding {
    ($module:ident, $package:ident, $own:path) => {
        #[doc = concat!("Options of the crate `", stringify!($package), "`.")]
        pub mod $module {
            use $package::{
                BlockBasedIndexType, BlockBasedOptions, Cache, ChecksumType, CompactionDecision,
                CompactionPri, DBCompactionStyle, DBCompressionType, DataBlockIndexType,
                InfoLogger, LogLevel, LruCacheOptions, MergeOperands, Options, SliceTransform,
                WriteBufferManager,
            };

            pub use self::own::{
                Watch, backups, set_transactions, set_write, verify, verify_optimistic, watch,
            };
            use super::{FIFO, text_of};
            use crate::bench::engine::Result;
            use crate::bench::flags::{CacheKind, Compression, Flags, MergeOperator};
            use crate::bench::levels::{self, $module as own_levels};
            use crate::bench::{merge, order};
            use $own as own;

            /// The options that the flags ask for.
            ///
            /// # Errors
            /// The engine cannot honour a flag.
            pub fn options(flags: &Flags) -> Result<Options> {
                let cache = cache(flags)?;
                let mut options = match flags.options_file.as_str() {
                    "" => from_flags(flags, cache.as_ref())?,
                    file => own::from_file(file, cache.as_ref())?,
                };
                options.create_if_missing(!flags.keeps_database());
                options.create_missing_column_families(true);
                if flags.rate_limiter_bytes_per_sec > 0 {
                    /// Compactions precede flushes once in this many periods; RocksDB's value.
                    const FAIRNESS: i32 = 10;
                    let rate = i64::try_from(flags.rate_limiter_bytes_per_sec)?;
                    let period = flags.rate_limiter_refill_period_us;
                    if flags.rate_limiter_auto_tuned {
                        options.set_auto_tuned_ratelimiter(rate, period, FAIRNESS)
                    } else {
                        options.set_ratelimiter(rate, period, FAIRNESS)
                    }
                }
                if let Ok(bytes @ 1..) = usize::try_from(flags.row_cache_size) {
                    options.set_row_cache(&Cache::new_lru_cache(bytes));
                }
                if flags.use_keep_filter {
                    options.set_compaction_filter("KeepFilter", |_, _, _| CompactionDecision::Keep);
                }
                // An invalid level is refused here, before threads ask for it.
                own_levels::perf(flags.perf_level)?;
                if flags.statistics {
                    options.enable_statistics();
                    options.set_statistics_level(own_levels::statistics(flags.stats_level)?);
                } else if flags.contention {
                    options.enable_statistics();
                    if let Ok(level) = own_levels::statistics(levels::TICKERS) {
                        options.set_statistics_level(level);
                    }
                }
                Ok(options)
            }

            fn from_flags(flags: &Flags, cache: Option<&Cache>) -> Result<Options> {
                let mut options = Options::default();
                let text = text_of(flags);
                if !text.is_empty() {
                    // This comes first: the peer's copy loses what setters gave it.
                    options = options.get_options_from_string(text)?;
                }
                options.set_max_open_files(flags.open_files);
                options.set_paranoid_checks(flags.paranoid_checks);
                options.set_max_total_wal_size(flags.max_total_wal_size);
                if !flags.wal_dir.is_empty() {
                    options.set_wal_dir(&flags.wal_dir);
                }
                set_logs(&mut options, flags)?;
                set_files(&mut options, flags)?;
                set_memtables(&mut options, flags);
                if let prefix @ 1.. = usize::try_from(flags.prefix_size)? {
                    options.set_prefix_extractor(SliceTransform::create_fixed_prefix(prefix));
                }
                if flags.use_uint64_comparator {
                    options.set_comparator(order::NAME, Box::new(order::compare));
                }
                set_write_buffers(&mut options, flags, cache);
                set_jobs(&mut options, flags)?;
                set_levels(&mut options, flags)?;
                set_compression(&mut options, flags)?;
                set_blobs(&mut options, flags, cache)?;
                options.set_optimize_filters_for_hits(flags.optimize_filters_for_hits);
                options.set_block_based_table_factory(&tables(flags, cache)?);
                set_merge_operator(&mut options, flags.merge()?);
                set_hints(&mut options, flags)?;
                own::set(&mut options, flags)?;
                Ok(options)
            }

            fn set_logs(options: &mut Options, flags: &Flags) -> Result<()> {
                options.set_wal_ttl_seconds(flags.wal_ttl_seconds);
                options.set_wal_size_limit_mb(flags.wal_size_limit_mb);
                options.set_manual_wal_flush(flags.manual_wal_flush);
                options.set_wal_bytes_per_sync(flags.wal_bytes_per_sync);
                options.set_wal_compression_type(match flags.wal_compression()? {
                    Compression::Zstd => DBCompressionType::Zstd,
                    _ => DBCompressionType::None,
                });
                options
                    .set_track_and_verify_wals_in_manifest(flags.track_and_verify_wals_in_manifest);
                Ok(())
            }

            fn set_files(options: &mut Options, flags: &Flags) -> Result<()> {
                options.set_bytes_per_sync(flags.bytes_per_sync);
                options.set_advise_random_on_open(flags.advise_random_on_open);
                options.set_use_direct_reads(flags.use_direct_reads);
                options.set_use_direct_io_for_flush_and_compaction(
                    flags.use_direct_io_for_flush_and_compaction,
                );
                options.set_stats_dump_period_sec(u32::try_from(flags.stats_dump_period_sec)?);
                if flags.use_stderr_info_logger {
                    let logger = InfoLogger::new_stderr_logger(LogLevel::Info, None::<&str>);
                    options.set_info_logger(logger);
                }
                Ok(())
            }

            fn set_hints(options: &mut Options, flags: &Flags) -> Result<()> {
                if flags.delete_obsolete_files_period_micros > 0 {
                    options.set_delete_obsolete_files_period_micros(
                        flags.delete_obsolete_files_period_micros,
                    );
                }
                options.set_use_fsync(flags.use_fsync);
                options.set_use_adaptive_mutex(flags.use_adaptive_mutex);
                options.set_table_cache_num_shard_bits(flags.table_cache_numshardbits);
                options.set_max_file_opening_threads(flags.file_opening_threads);
                options.set_writable_file_max_buffer_size(u64::try_from(
                    flags.writable_file_max_buffer_size,
                )?);
                options.set_bloom_locality(u32::try_from(flags.bloom_locality)?);
                options
                    .set_max_write_buffer_size_to_maintain(flags.max_write_buffer_size_to_maintain);
                options
                    .set_stats_persist_period_sec(u32::try_from(flags.stats_persist_period_sec)?);
                Ok(())
            }

            fn set_memtables(options: &mut Options, flags: &Flags) {
                options.set_write_buffer_size(
                    usize::try_from(flags.write_buffer_size).unwrap_or(usize::MAX),
                );
                options.set_max_write_buffer_number(flags.max_write_buffer_number);
                options
                    .set_min_write_buffer_number_to_merge(flags.min_write_buffer_number_to_merge);
                options.set_arena_block_size(usize::try_from(flags.arena_block_size).unwrap_or(0));
                if flags.memtable_use_huge_page {
                    // This is the size that RocksDB's program asks for.
                    options.set_memtable_huge_page_size(2 << 20);
                }
                options.set_memtable_prefix_bloom_ratio(flags.memtable_bloom_size_ratio);
                options.set_memtable_whole_key_filtering(flags.memtable_whole_key_filtering);
                options.set_inplace_update_support(flags.inplace_update_support);
                options.set_inplace_update_locks(
                    usize::try_from(flags.inplace_update_num_locks).unwrap_or(usize::MAX),
                );
                options.set_max_successive_merges(
                    usize::try_from(flags.max_successive_merges).unwrap_or(0),
                );
                options.set_experimental_mempurge_threshold(flags.experimental_mempurge_threshold);
                options.set_allow_concurrent_memtable_write(flags.allow_concurrent_memtable_write);
                options.set_enable_write_thread_adaptive_yield(
                    flags.enable_write_thread_adaptive_yield,
                );
            }

            #[expect(deprecated, reason = "the setters behind the flags of the same names")]
            fn set_jobs(options: &mut Options, flags: &Flags) -> Result<()> {
                options.set_max_background_jobs(flags.max_background_jobs);
                options.set_max_background_flushes(flags.max_background_flushes);
                options.set_max_background_compactions(flags.max_background_compactions);
                options.set_max_subcompactions(u32::try_from(flags.subcompactions)?);
                options.set_compaction_readahead_size(usize::try_from(
                    flags.compaction_readahead_size,
                )?);
                Ok(())
            }

            fn set_levels(options: &mut Options, flags: &Flags) -> Result<()> {
                options.set_compaction_style(match flags.compaction_style {
                    1 => DBCompactionStyle::Universal,
                    FIFO => DBCompactionStyle::Fifo,
                    _ => DBCompactionStyle::Level,
                });
                options.set_compaction_pri(match flags.compaction_pri {
                    0 => CompactionPri::ByCompensatedSize,
                    1 => CompactionPri::OldestLargestSeqFirst,
                    2 => CompactionPri::OldestSmallestSeqFirst,
                    4 => CompactionPri::RoundRobin,
                    _ => CompactionPri::MinOverlappingRatio,
                });
                options.set_ttl(flags.ttl_seconds);
                options.set_periodic_compaction_seconds(flags.periodic_compaction_seconds);
                options.set_disable_auto_compactions(flags.disable_auto_compactions);
                options.set_report_bg_io_stats(flags.report_bg_io_stats);
                let multipliers = flags.level_multipliers()?;
                if !multipliers.is_empty() {
                    options.set_max_bytes_for_level_multiplier_additional(&multipliers);
                }
                options.set_level_zero_file_num_compaction_trigger(
                    flags.level0_file_num_compaction_trigger,
                );
                options
                    .set_level_zero_slowdown_writes_trigger(flags.level0_slowdown_writes_trigger);
                options.set_level_zero_stop_writes_trigger(flags.level0_stop_writes_trigger);
                options.set_num_levels(flags.num_levels);
                options.set_max_bytes_for_level_base(flags.max_bytes_for_level_base);
                options.set_max_bytes_for_level_multiplier(flags.max_bytes_for_level_multiplier);
                options.set_target_file_size_base(flags.target_file_size_base.unsigned_abs());
                options.set_target_file_size_multiplier(flags.target_file_size_multiplier);
                options.set_level_compaction_dynamic_level_bytes(
                    flags.level_compaction_dynamic_level_bytes,
                );
                options.set_max_compaction_bytes(flags.max_compaction_bytes);
                options.set_soft_pending_compaction_bytes_limit(
                    usize::try_from(flags.soft_pending_compaction_bytes_limit)
                        .unwrap_or(usize::MAX),
                );
                options.set_hard_pending_compaction_bytes_limit(
                    usize::try_from(flags.hard_pending_compaction_bytes_limit)
                        .unwrap_or(usize::MAX),
                );
                Ok(())
            }

            fn set_compression(options: &mut Options, flags: &Flags) -> Result<()> {
                /// The window bits of zlib; RocksDB's default.
                const WINDOW_BITS: i32 = -14;
                let own = Flags::default();
                let kind = compression(flags)?;
                options.set_compression_type(kind);
                if let Ok(first) = usize::try_from(flags.min_level_to_compress) {
                    let levels = 0..usize::try_from(flags.num_levels)?;
                    let kinds: Vec<_> = levels
                        .map(|level| {
                            if level < first {
                                DBCompressionType::None
                            } else {
                                kind
                            }
                        })
                        .collect();
                    options.set_compression_per_level(&kinds);
                }
                let (level, dictionary) =
                    (flags.compression_level, flags.compression_max_dict_bytes);
                if (level, dictionary) != (own.compression_level, own.compression_max_dict_bytes) {
                    options.set_compression_options(WINDOW_BITS, level, 0, dictionary);
                }
                options.set_zstd_max_train_bytes(flags.compression_zstd_max_train_bytes);
                options
                    .set_compression_options_parallel_threads(flags.compression_parallel_threads);
                Ok(())
            }

            fn set_blobs(
                options: &mut Options,
                flags: &Flags,
                cache: Option<&Cache>,
            ) -> Result<()> {
                options.set_enable_blob_files(flags.enable_blob_files);
                options.set_min_blob_size(flags.min_blob_size);
                options.set_blob_file_size(flags.blob_file_size);
                options.set_blob_compression_type(kind_of(flags.blob_compression()?));
                options.set_enable_blob_gc(flags.enable_blob_garbage_collection);
                options.set_blob_gc_age_cutoff(flags.blob_garbage_collection_age_cutoff);
                options.set_blob_gc_force_threshold(flags.blob_garbage_collection_force_threshold);
                options.set_blob_compaction_readahead_size(flags.blob_compaction_readahead_size);
                if !flags.use_blob_cache {
                    return Ok(());
                }
                if flags.use_shared_block_and_blob_cache {
                    // There is one: the flags were checked.
                    if let Some(cache) = cache {
                        options.set_blob_cache(cache);
                    }
                    return Ok(());
                }
                let mut own = LruCacheOptions::default();
                own.set_capacity(usize::try_from(flags.blob_cache_size)?);
                if flags.blob_cache_numshardbits >= 0 {
                    own.set_num_shard_bits(flags.blob_cache_numshardbits);
                }
                options.set_blob_cache(&Cache::new_lru_cache_opts(&own));
                Ok(())
            }

            fn compression(flags: &Flags) -> Result<DBCompressionType> {
                Ok(kind_of(flags.compression()?))
            }

            fn kind_of(compression: Compression) -> DBCompressionType {
                match compression {
                    Compression::None => DBCompressionType::None,
                    Compression::Snappy => DBCompressionType::Snappy,
                    Compression::Zlib => DBCompressionType::Zlib,
                    Compression::Bzip2 => DBCompressionType::Bz2,
                    Compression::Lz4 => DBCompressionType::Lz4,
                    Compression::Lz4hc => DBCompressionType::Lz4hc,
                    Compression::Zstd => DBCompressionType::Zstd,
                }
            }

            fn cache(flags: &Flags) -> Result<Option<Cache>> {
                let bytes = match usize::try_from(flags.cache_size) {
                    Ok(0) | Err(_) => return Ok(None),
                    Ok(bytes) => bytes,
                };
                Ok(Some(match flags.cache_kind()? {
                    CacheKind::HyperClock => {
                        let entry = usize::try_from(flags.block_size)?;
                        Cache::new_hyper_clock_cache(bytes, entry)
                    }
                    CacheKind::Lru => {
                        let mut options = LruCacheOptions::default();
                        options.set_capacity(bytes);
                        if flags.cache_numshardbits >= 0 {
                            options.set_num_shard_bits(flags.cache_numshardbits);
                        }
                        own::set_cache(&mut options, flags);
                        Cache::new_lru_cache_opts(&options)
                    }
                }))
            }

            fn set_write_buffers(options: &mut Options, flags: &Flags, cache: Option<&Cache>) {
                let size = usize::try_from(flags.db_write_buffer_size).unwrap_or(0);
                let manager = match cache {
                    Some(cache) if flags.cost_write_buffer_to_cache => {
                        WriteBufferManager::new_write_buffer_manager_with_cache(
                            size,
                            false,
                            cache.clone(),
                        )
                    }
                    _ if size > 0 => WriteBufferManager::new_write_buffer_manager(size, false),
                    _ => return,
                };
                options.set_write_buffer_manager(&manager);
            }

            fn tables(flags: &Flags, cache: Option<&Cache>) -> Result<BlockBasedOptions> {
                let mut tables = BlockBasedOptions::default();
                tables.set_block_size(usize::try_from(flags.block_size)?);
                tables.set_block_restart_interval(flags.block_restart_interval);
                tables.set_index_block_restart_interval(flags.index_block_restart_interval);
                tables.set_whole_key_filtering(flags.whole_key_filtering);
                tables.set_format_version(flags.format_version);
                tables.set_checksum_type(match flags.checksum_type {
                    0 => ChecksumType::NoChecksum,
                    1 => ChecksumType::CRC32c,
                    2 => ChecksumType::XXHash,
                    3 => ChecksumType::XXHash64,
                    _ => ChecksumType::XXH3,
                });
                match f64::from(flags.bloom_bits) {
                    bits if bits <= 0.0 => {}
                    bits if flags.use_ribbon_filter => tables.set_ribbon_filter(bits),
                    bits => tables.set_bloom_filter(bits, false),
                }
                tables.set_optimize_filters_for_memory(flags.optimize_filters_for_memory);
                if flags.use_hash_search {
                    tables.set_index_type(BlockBasedIndexType::HashSearch);
                }
                if flags.partition_index || flags.partition_index_and_filters {
                    tables.set_index_type(BlockBasedIndexType::TwoLevelIndexSearch);
                    tables.set_metadata_block_size(usize::try_from(flags.metadata_block_size)?);
                    tables.set_partition_filters(flags.partition_index_and_filters);
                }
                tables.set_cache_index_and_filter_blocks(flags.cache_index_and_filter_blocks);
                tables.set_pin_l0_filter_and_index_blocks_in_cache(
                    flags.pin_l0_filter_and_index_blocks_in_cache,
                );
                tables.set_pin_top_level_index_and_filter(flags.pin_top_level_index_and_filter);
                if flags.use_data_block_hash_index {
                    tables.set_data_block_index_type(DataBlockIndexType::BinaryAndHash);
                }
                tables.set_data_block_hash_ratio(flags.data_block_hash_table_util_ratio);
                match cache {
                    None => tables.disable_cache(),
                    Some(cache) => tables.set_block_cache(cache),
                }
                Ok(tables)
            }

            fn set_merge_operator(options: &mut Options, operator: Option<MergeOperator>) {
                let (name, function): (_, fn(&[u8], Option<&[u8]>, &MergeOperands) -> _) =
                    match operator {
                        None => return,
                        Some(MergeOperator::Put) => ("PutOperator", |_, existing, operands| {
                            Some(merge::put(existing, operands.iter()))
                        }),
                        Some(MergeOperator::UInt64Add) => {
                            ("UInt64AddOperator", |_, existing, operands| {
                                Some(merge::uint64_add(existing, operands.iter()))
                            })
                        }
                        Some(MergeOperator::StringAppend) => {
                            ("StringAppendOperator", |_, existing, operands| {
                                Some(merge::string_append(existing, operands.iter()))
                            })
                        }
                        Some(MergeOperator::Max) => ("MaxOperator", |_, existing, operands| {
                            Some(merge::max(existing, operands.iter()))
                        }),
                        Some(MergeOperator::BytesXor) => ("BytesXOR", |_, existing, operands| {
                            Some(merge::bytes_xor(existing, operands.iter()))
                        }),
                    };
                options.set_merge_operator_associative(name, function);
            }
        }
    };
}

options_binding!(own, whitewater, crate::bench::binding::own_options);
#[cfg(feature = "peer-rocksdb")]
options_binding!(peer, rocksdb, crate::bench::binding::peer_options);
