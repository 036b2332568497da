use super::documentation::WITHOUT_SETTER;
use super::*;
use crate::api::slice_transform::SliceTransform;
use crate::options::text::OptionText;
use whitewater_storage::ErrorKind;
use whitewater_storage::sst::CompressionOptions;

#[test]
fn options_come_from_a_string() {
    let opts = Options::default()
        .get_options_from_string(
            "max_open_files=77;write_buffer_size=1048576;\
             WAL_ttl_seconds=5;WAL_size_limit_MB=6;\
             block_based_table_factory={block_size=8192;no_block_cache=true}",
        )
        .unwrap();
    let db = opts.db_options().unwrap();
    assert_eq!(db.max_open_files, 77);
    assert_eq!((db.wal_ttl_seconds, db.wal_size_limit_mb), (5, 6));
    let cf = opts.cf_options().unwrap();
    assert_eq!(cf.write_buffer_size, 1 << 20);
    assert_eq!(cf.table.block_size, 8192);
    assert!(cf.table.block_cache.is_none());
    assert!(format!("{opts:?}").contains("\nblock_size=8192\n"));
}

#[test]
fn block_caches_come_from_a_string() {
    let cache = |text: &str| {
        let opts = Options::default().get_options_from_string(text)?;
        opts.cf_options().map(|cf| cf.table.block_cache)
    };
    let options = |text: &str| {
        let cache = cache(&format!("block_based_table_factory={text}"));
        cache.expect(text).map(|cache| cache.options().print())
    };
    let all = "{capacity=65536;num_shard_bits=1;strict_capacity_limit=true;\
               high_pri_pool_ratio=0.75}";
    assert_eq!(
        options(&format!("{{block_size=512;block_cache={all}}}")).as_deref(),
        Some(all)
    );
    let default = options("{}").expect("there is one");
    assert!(default.starts_with("{capacity=33554432;"), "{default}");
    assert_eq!(options("{block_cache=nullptr}"), Some(default));
    let small = options("{block_cache=1M}").expect("there is one");
    assert!(small.starts_with("{capacity=1048576;"), "{small}");
    assert_eq!(options("{block_cache=1M;no_block_cache=true}"), None);
    assert_eq!(options("{no_block_cache=true;block_cache=1M}"), None);
    let dotted = cache("block_based_table_factory.block_cache=2K").unwrap();
    assert_eq!(dotted.expect("there is one").capacity(), 2048);
    let e = cache("block_based_table_factory={block_cache={capacity=1;x=2}}").unwrap_err();
    assert!(e.to_string().contains("block_cache"), "{e}");

    let opts = Options::default()
        .get_options_from_string(format!("block_based_table_factory={{block_cache={all}}}"))
        .unwrap();
    let text = format!("{opts:?}");
    assert!(text.contains(&format!("\nblock_cache={all}\n")), "{text}");
}

/// Every setter with a text form, what it is given and the option's text.
// Long: a table with a row for each setter.
#[test]
fn setters_set_their_own_option_and_no_other() {
    type Setter = fn(&mut Options);
    let with = |change: fn(&mut CompressionOptions)| {
        let mut options = CompressionOptions::default();
        change(&mut options);
        options.print()
    };
    let setters: &[(&str, &str, Setter)] = &[
        ("create_if_missing", "true", |o| o.create_if_missing(true)),
        ("create_missing_column_families", "true", |o| {
            o.create_missing_column_families(true);
        }),
        ("error_if_exists", "true", |o| o.set_error_if_exists(true)),
        ("flush_nice", "3", |o| {
            o.set_background_nice(3, o.db.compaction_nice);
        }),
        ("compaction_nice", "4", |o| {
            o.set_background_nice(o.db.flush_nice, 4);
        }),
        ("allow_ingest_behind", "true", |o| {
            o.set_allow_ingest_behind(true);
        }),
        ("paranoid_checks", "false", |o| o.set_paranoid_checks(false)),
        ("max_background_jobs", "5", |o| o.set_max_background_jobs(5)),
        ("max_background_jobs", "6", |o| o.increase_parallelism(6)),
        #[expect(deprecated, reason = "kept for users of the option")]
        ("max_background_flushes", "7", |o| {
            o.set_max_background_flushes(7)
        }),
        #[expect(deprecated, reason = "kept for users of the option")]
        ("max_background_compactions", "8", |o| {
            o.set_max_background_compactions(8)
        }),
        ("max_subcompactions", "3", |o| o.set_max_subcompactions(3)),
        ("compaction_readahead_size", "3", |o| {
            o.set_compaction_readahead_size(3)
        }),
        ("max_open_files", "99", |o| o.set_max_open_files(99)),
        ("wal_dir", "/wal", |o| o.set_wal_dir("/wal")),
        ("wal_recovery_mode", "kSkipAnyCorruptedRecords", |o| {
            o.set_wal_recovery_mode(DBRecoveryMode::SkipAnyCorruptedRecord);
        }),
        ("allow_2pc", "true", |o| o.set_allow_2pc(true)),
        ("recycle_log_file_num", "3", |o| {
            o.set_recycle_log_file_num(3)
        }),
        ("wal_ttl_seconds", "3", |o| o.set_wal_ttl_seconds(3)),
        ("wal_size_limit_mb", "3", |o| o.set_wal_size_limit_mb(3)),
        ("manual_wal_flush", "true", |o| o.set_manual_wal_flush(true)),
        ("wal_bytes_per_sync", "3", |o| o.set_wal_bytes_per_sync(3)),
        ("bytes_per_sync", "3", |o| o.set_bytes_per_sync(3)),
        ("use_direct_io_for_flush_and_compaction", "true", |o| {
            o.set_use_direct_io_for_flush_and_compaction(true);
        }),
        ("use_direct_reads", "true", |o| o.set_use_direct_reads(true)),
        ("wal_compression", "kZSTD", |o| {
            o.set_wal_compression_type(DBCompressionType::Zstd);
        }),
        ("track_and_verify_wals_in_manifest", "true", |o| {
            o.set_track_and_verify_wals_in_manifest(true);
        }),
        ("keep_log_file_num", "3", |o| o.set_keep_log_file_num(3)),
        ("info_log_level", "FATAL_LEVEL", |o| {
            o.set_log_level(crate::LogLevel::Fatal)
        }),
        ("db_log_dir", "/log", |o| o.set_db_log_dir("/log")),
        ("max_log_file_size", "3", |o| o.set_max_log_file_size(3)),
        ("log_file_time_to_roll", "3", |o| {
            o.set_log_file_time_to_roll(3)
        }),
        ("use_fsync", "true", |o| o.set_use_fsync(true)),
        ("is_fd_close_on_exec", "false", |o| {
            o.set_is_fd_close_on_exec(false)
        }),
        ("advise_random_on_open", "false", |o| {
            o.set_advise_random_on_open(false)
        }),
        ("two_write_queues", "true", |o| o.set_two_write_queues(true)),
        ("use_adaptive_mutex", "true", |o| {
            o.set_use_adaptive_mutex(true)
        }),
        ("table_cache_numshardbits", "3", |o| {
            o.set_table_cache_num_shard_bits(3)
        }),
        ("skip_stats_update_on_db_open", "true", |o| {
            o.set_skip_stats_update_on_db_open(true)
        }),
        ("manifest_preallocation_size", "3", |o| {
            o.set_manifest_preallocation_size(3)
        }),
        ("dump_malloc_stats", "true", |o| {
            o.set_dump_malloc_stats(true)
        }),
        ("max_file_opening_threads", "3", |o| {
            o.set_max_file_opening_threads(3)
        }),
        ("writable_file_max_buffer_size", "3", |o| {
            o.set_writable_file_max_buffer_size(3)
        }),
        ("avoid_unnecessary_blocking_io", "true", |o| {
            o.set_avoid_unnecessary_blocking_io(true)
        }),
        ("write_dbid_to_manifest", "false", |o| {
            o.set_write_dbid_to_manifest(false)
        }),
        ("allow_mmap_reads", "true", |o| o.set_allow_mmap_reads(true)),
        ("allow_mmap_writes", "true", |o| {
            o.set_allow_mmap_writes(true)
        }),
        ("delete_obsolete_files_period_micros", "3", |o| {
            o.set_delete_obsolete_files_period_micros(3)
        }),
        (
            "file_checksum_gen_factory",
            "FileChecksumGenCrc32cFactory",
            |o| o.set_file_checksum(FileChecksum::Crc32c),
        ),
        ("scrub_period_sec", "3", |o| o.set_scrub_period_sec(3)),
        ("scrub_bytes_per_second", "3", |o| {
            o.set_scrub_bytes_per_second(3)
        }),
        ("slow_operation_micros", "3", |o| {
            o.set_slow_operation_micros(3)
        }),
        ("stats_dump_period_sec", "3", |o| {
            o.set_stats_dump_period_sec(3)
        }),
        ("stats_persist_period_sec", "3", |o| {
            o.set_stats_persist_period_sec(3)
        }),
        ("bloom_locality", "3", |o| o.set_bloom_locality(3)),
        (
            "table_factory",
            "{id=PlainTable;user_key_len=8;bloom_bits_per_key=-1;hash_table_ratio=0.5;\
             index_sparseness=3;huge_page_tlb_size=4096;encoding_type=kPrefix;\
             full_scan_mode=true;store_index_in_file=true;}",
            |o| {
                o.set_plain_table_factory(&PlainTableFactoryOptions {
                    user_key_length: 8,
                    bloom_bits_per_key: -1,
                    hash_table_ratio: 0.5,
                    index_sparseness: 3,
                    huge_page_tlb_size: 4096,
                    encoding_type: KeyEncodingType::Prefix,
                    full_scan_mode: true,
                    store_index_in_file: true,
                });
            },
        ),
        (
            "table_factory",
            "{id=CuckooTable;hash_table_ratio=0.5;max_search_depth=7;cuckoo_block_size=3;\
             identity_as_first_hash=true;use_module_hash=false;}",
            |o| {
                let mut factory = CuckooTableOptions::default();
                factory.set_hash_ratio(0.5);
                factory.set_max_search_depth(7);
                factory.set_cuckoo_block_size(3);
                factory.set_identity_as_first_hash(true);
                factory.set_use_module_hash(false);
                o.set_cuckoo_table_factory(&factory);
            },
        ),
        ("report_bg_io_stats", "true", |o| {
            o.set_report_bg_io_stats(true)
        }),
        ("experimental_mempurge_threshold", "0.5", |o| {
            o.set_experimental_mempurge_threshold(0.5)
        }),
        ("max_sequential_skip_in_iterations", "3", |o| {
            o.set_max_sequential_skip_in_iterations(3)
        }),
        ("max_write_buffer_size_to_maintain", "3", |o| {
            o.set_max_write_buffer_size_to_maintain(3)
        }),
        ("max_total_wal_size", "3", |o| o.set_max_total_wal_size(3)),
        ("max_manifest_file_size", "3", |o| {
            o.set_max_manifest_file_size(3)
        }),
        ("commit_protocol", "pipelined", |o| {
            o.set_commit_protocol(crate::CommitProtocol::Pipelined);
        }),
        ("enable_pipelined_write", "true", |o| {
            o.set_enable_pipelined_write(true);
        }),
        ("unordered_write", "true", |o| o.set_unordered_write(true)),
        ("wal_access", "mmap", |o| {
            o.set_wal_access(WalAccess::Mapped)
        }),
        ("allow_concurrent_memtable_write", "false", |o| {
            o.set_allow_concurrent_memtable_write(false);
        }),
        ("enable_write_thread_adaptive_yield", "false", |o| {
            o.set_enable_write_thread_adaptive_yield(false);
        }),
        ("write_thread_max_yield_usec", "3", |o| {
            o.set_write_thread_max_yield_usec(3)
        }),
        ("write_thread_slow_yield_usec", "4", |o| {
            o.set_write_thread_slow_yield_usec(4)
        }),
        ("max_write_batch_group_size_bytes", "3", |o| {
            o.set_max_write_batch_group_size_bytes(3);
        }),
        ("atomic_flush", "true", |o| o.set_atomic_flush(true)),
        ("db_write_buffer_size", "3", |o| {
            o.set_db_write_buffer_size(3)
        }),
        ("max_bgerror_resume_count", "3", |o| {
            o.set_max_bgerror_resume_count(3)
        }),
        ("bgerror_resume_retry_interval", "3", |o| {
            o.set_bgerror_resume_retry_interval(3);
        }),
        ("delayed_write_rate", "3", |o| o.set_delayed_write_rate(3)),
        ("write_buffer_size", "3", |o| o.set_write_buffer_size(3)),
        ("memtable", "art", |o| {
            o.set_memtable_factory(MemtableFactory::Art);
        }),
        ("prefix_extractor", "rocksdb.FixedPrefix.3", |o| {
            o.set_prefix_extractor(SliceTransform::create_fixed_prefix(3));
        }),
        ("memtable_prefix_bloom_size_ratio", "0.2", |o| {
            o.set_memtable_prefix_bloom_ratio(0.2);
        }),
        ("memtable_whole_key_filtering", "true", |o| {
            o.set_memtable_whole_key_filtering(true);
        }),
        ("memtable_protection_bytes_per_key", "4", |o| {
            o.set_memtable_protection_bytes_per_key(4);
        }),
        ("paranoid_file_checks", "true", |o| {
            o.set_paranoid_file_checks(true);
        }),
        ("inplace_update_support", "true", |o| {
            o.set_inplace_update_support(true)
        }),
        ("inplace_update_num_locks", "3", |o| {
            o.set_inplace_update_locks(3)
        }),
        ("max_successive_merges", "3", |o| {
            o.set_max_successive_merges(3)
        }),
        ("arena_block_size", "3", |o| o.set_arena_block_size(3)),
        ("memtable_huge_page_size", "3", |o| {
            o.set_memtable_huge_page_size(3)
        }),
        ("memtable_transparent_huge_pages", "false", |o| {
            o.set_memtable_transparent_huge_pages(false);
        }),
        ("max_write_buffer_number", "3", |o| {
            o.set_max_write_buffer_number(3)
        }),
        ("min_write_buffer_number_to_merge", "3", |o| {
            o.set_min_write_buffer_number_to_merge(3);
        }),
        ("min_write_buffer_number_to_merge", "4", |o| {
            o.set_min_write_buffer_number(4)
        }),
        ("compaction_style", "kCompactionStyleFIFO", |o| {
            o.set_compaction_style(DBCompactionStyle::Fifo);
        }),
        ("compaction_pri", "kRoundRobin", |o| {
            o.set_compaction_pri(CompactionPri::RoundRobin);
        }),
        (
            "compaction_options_universal",
            "{size_ratio=3;min_merge_width=4;max_merge_width=4294967295;\
             max_size_amplification_percent=5;compression_size_percent=-7;\
             stop_style=kCompactionStopStyleSimilarSize;allow_trivial_move=false}",
            |o| {
                let mut universal = UniversalCompactOptions::default();
                universal.set_size_ratio(3);
                universal.set_min_merge_width(4);
                universal.set_max_merge_width(-1);
                universal.set_max_size_amplification_percent(5);
                universal.set_compression_size_percent(-7);
                universal.set_stop_style(UniversalCompactionStopStyle::Similar);
                o.set_universal_compaction_options(&universal);
            },
        ),
        (
            "compaction_options_fifo",
            "{max_table_files_size=3;allow_compaction=false}",
            |o| {
                let mut fifo = FifoCompactOptions::default();
                fifo.set_max_table_files_size(3);
                o.set_fifo_compaction_options(&fifo);
            },
        ),
        ("ttl", "3", |o| o.set_ttl(3)),
        ("read_triggered_compaction_threshold", "0.5", |o| {
            o.set_read_triggered_compaction_threshold(0.5);
        }),
        ("periodic_compaction_seconds", "3", |o| {
            o.set_periodic_compaction_seconds(3);
        }),
        ("num_levels", "3", |o| o.set_num_levels(3)),
        ("level0_file_num_compaction_trigger", "3", |o| {
            o.set_level_zero_file_num_compaction_trigger(3);
        }),
        ("level0_slowdown_writes_trigger", "3", |o| {
            o.set_level_zero_slowdown_writes_trigger(3);
        }),
        ("level0_stop_writes_trigger", "3", |o| {
            o.set_level_zero_stop_writes_trigger(3)
        }),
        ("soft_pending_compaction_bytes_limit", "3", |o| {
            o.set_soft_pending_compaction_bytes_limit(3);
        }),
        ("hard_pending_compaction_bytes_limit", "3", |o| {
            o.set_hard_pending_compaction_bytes_limit(3);
        }),
        ("target_file_size_base", "3", |o| {
            o.set_target_file_size_base(3)
        }),
        ("target_file_size_multiplier", "3", |o| {
            o.set_target_file_size_multiplier(3)
        }),
        ("max_bytes_for_level_base", "3", |o| {
            o.set_max_bytes_for_level_base(3)
        }),
        ("max_bytes_for_level_multiplier", "2.5", |o| {
            o.set_max_bytes_for_level_multiplier(2.5);
        }),
        ("max_bytes_for_level_multiplier_additional", "1:2", |o| {
            o.set_max_bytes_for_level_multiplier_additional(&[1, 2]);
        }),
        ("level_compaction_dynamic_level_bytes", "false", |o| {
            o.set_level_compaction_dynamic_level_bytes(false);
        }),
        ("max_compaction_bytes", "3", |o| {
            o.set_max_compaction_bytes(3)
        }),
        ("disable_auto_compactions", "true", |o| {
            o.set_disable_auto_compactions(true)
        }),
        ("optimize_filters_for_hits", "true", |o| {
            o.set_optimize_filters_for_hits(true)
        }),
        ("compression", "kZSTD", |o| {
            o.set_compression_type(DBCompressionType::Zstd)
        }),
        ("enable_blob_files", "true", |o| {
            o.set_enable_blob_files(true)
        }),
        ("min_blob_size", "3", |o| o.set_min_blob_size(3)),
        ("blob_file_size", "3", |o| o.set_blob_file_size(3)),
        ("blob_compression_type", "kLZ4Compression", |o| {
            o.set_blob_compression_type(DBCompressionType::Lz4);
        }),
        (
            "blob_compression_opts",
            &with(|o| (o.window_bits, o.level, o.strategy) = (-10, 9, 2)),
            |o| o.set_blob_compression_options(-10, 9, 2),
        ),
        ("prepopulate_blob_cache", "kFlushOnly", |o| {
            o.set_prepopulate_blob_cache(PrepopulateBlobCache::FlushOnly);
        }),
        ("enable_blob_garbage_collection", "true", |o| {
            o.set_enable_blob_gc(true)
        }),
        ("blob_garbage_collection_age_cutoff", "0.75", |o| {
            o.set_blob_gc_age_cutoff(0.75);
        }),
        ("blob_garbage_collection_force_threshold", "0.5", |o| {
            o.set_blob_gc_force_threshold(0.5);
        }),
        ("blob_compaction_readahead_size", "3", |o| {
            o.set_blob_compaction_readahead_size(3);
        }),
        ("bottommost_compression", "kLZ4Compression", |o| {
            o.set_bottommost_compression_type(DBCompressionType::Lz4);
        }),
        ("compression_per_level", "kNoCompression:kZSTD", |o| {
            o.set_compression_per_level(&[DBCompressionType::None, DBCompressionType::Zstd]);
        }),
        (
            "compression_per_level",
            "kNoCompression:kNoCompression:kSnappyCompression:kSnappyCompression:kSnappyCompression:kSnappyCompression:kSnappyCompression",
            |o| {
                o.set_min_level_to_compress(-1);
                o.set_min_level_to_compress(2);
            },
        ),
        (
            "compression_opts",
            &with(|o| {
                (o.window_bits, o.level, o.strategy, o.max_dict_bytes) = (-10, 9, 2, 3);
            }),
            |o| o.set_compression_options(-10, 9, 2, 3),
        ),
        (
            "compression_opts",
            &with(|o| o.zstd_max_train_bytes = 3),
            |o| {
                o.set_zstd_max_train_bytes(3);
            },
        ),
        ("compression_opts", &with(|o| o.parallel_threads = 3), |o| {
            o.set_compression_options_parallel_threads(3);
        }),
        (
            "bottommost_compression_opts",
            &with(|o| {
                (o.zstd_max_train_bytes, o.enabled) = (3, true);
            }),
            |o| o.set_bottommost_zstd_max_train_bytes(3, true),
        ),
        (
            "bottommost_compression_opts",
            &with(|o| {
                (o.window_bits, o.level, o.strategy, o.max_dict_bytes) = (-10, 9, 2, 3);
                o.enabled = true;
            }),
            |o| o.set_bottommost_compression_options(-10, 9, 2, 3, true),
        ),
    ];
    let text = |o: &Options| {
        let mut all = o.db.to_text();
        all.extend(o.cf.to_text());
        all
    };
    let before = text(&Options::default());
    for (name, value, set) in setters {
        let mut options = Options::default();
        set(&mut options);
        let mut expected = before.clone();
        let row = expected.iter_mut().find(|(n, _)| n == name).expect(name);
        row.1 = (*value).to_owned();
        assert_eq!(text(&options), expected, "{name}");
    }
    // Every option with a text form has a setter, but for those that the crate has
    // none for, either: they are set as text.
    let unset = before
        .iter()
        .filter(|(n, _)| !setters.iter().any(|(name, _, _)| name == n))
        .map(|(n, _)| *n);
    assert_eq!(unset.collect::<Vec<_>>(), WITHOUT_SETTER);
}

#[test]
// Long: a line for each setter.
fn table_setters_set_their_own_option() {
    let mut table = BlockBasedOptions::default();
    table.set_block_size(1);
    table.set_fit_blocks_to_pages(false);
    table.set_block_restart_interval(2);
    table.set_index_block_restart_interval(3);
    table.set_checksum_type(ChecksumType::CRC32c);
    table.set_format_version(4);
    table.set_index_type(BlockBasedIndexType::TwoLevelIndexSearch);
    table.set_metadata_block_size(6);
    table.set_partition_filters(true);
    table.set_data_block_index_type(DataBlockIndexType::BinaryAndHash);
    table.set_data_block_hash_ratio(0.5);
    table.set_bloom_filter(5.5, false);
    table.set_whole_key_filtering(false);
    table.set_optimize_filters_for_memory(true);
    table.set_cache_index_and_filter_blocks(true);
    table.set_cache_index_and_filter_blocks_with_high_priority(false);
    table.set_pin_l0_filter_and_index_blocks_in_cache(true);
    table.set_pin_top_level_index_and_filter(false);
    table.set_top_level_index_pinning_tier(BlockBasedTablePinningTier::All);
    table.set_partition_pinning_tier(BlockBasedTablePinningTier::None);
    table.set_unpartitioned_pinning_tier(BlockBasedTablePinningTier::FlushAndSimilar);
    table.set_prepopulate_block_cache(PrepopulateBlockCache::FlushOnly);
    table.set_initial_auto_readahead_size(7);
    table.set_max_auto_readahead_size(8);
    table.set_num_file_reads_for_auto_readahead(9);
    let mut opts = Options::default();
    opts.set_block_based_table_factory(&table);
    let values = |opts: &Options| -> Vec<String> {
        let text = opts.cf.table.to_text();
        text.into_iter().map(|(_, v)| v).collect()
    };
    assert_eq!(
        values(&opts),
        [
            "1",
            "false",
            "2",
            "3",
            "kCRC32c",
            "4",
            "kTwoLevelIndexSearch",
            "6",
            "true",
            "kDataBlockBinaryAndHash",
            "0.5",
            "bloomfilter:5.5",
            "false",
            "true",
            "true",
            "false",
            "true",
            "false",
            "{top_level_index_pinning=kAll;partition_pinning=kNone;\
             unpartitioned_pinning=kFlushedAndSimilar}",
            "kFlushOnly",
            "7",
            "8",
            "9",
        ]
    );
    for (set, text) in [
        (
            (|t| t.set_ribbon_filter(9.5)) as fn(&mut BlockBasedOptions),
            "ribbonfilter:9.5:0",
        ),
        (|t| t.set_hybrid_ribbon_filter(9.5, 3), "ribbonfilter:9.5:3"),
    ] {
        set(&mut table);
        opts.set_block_based_table_factory(&table);
        assert!(values(&opts).contains(&text.to_owned()), "{text}");
    }
}

#[test]
fn unknown_names_and_bad_values_are_refused() {
    for bad in [
        "no_such=1",
        "max_open_files=x",
        "max_open_files",
        "block_based_table_factory={x=1}",
    ] {
        let err = Options::default().get_options_from_string(bad).unwrap_err();
        assert_eq!(err.kind(), ErrorKind::InvalidArgument, "{bad}");
    }
}

#[test]
fn an_option_that_is_known_and_not_built_is_not_called_unknown() {
    let refused = |text| {
        Options::default()
            .get_options_from_string(text)
            .unwrap_err()
    };
    let e = refused("best_efforts_recovery=true");
    assert_eq!(e.kind(), ErrorKind::NotSupported);
    let text = "option best_efforts_recovery=true cannot be honoured";
    assert!(e.to_string().ends_with(text), "{e}");
    for hint in [
        "skip_checking_sst_file_sizes_on_db_open=true",
        "target_file_size_is_upper_bound=true",
        "block_based_table_factory={index_shortening=kNoShortening}",
    ] {
        let set = Options::default().get_options_from_string(hint);
        assert!(set.is_ok(), "{hint}: {}", set.unwrap_err());
    }
}

#[test]
fn what_a_setter_cannot_take_is_refused_later_by_name() {
    let mut opts = Options::default();
    opts.set_merge_operator_associative("a\0b", |_, _, _| None);
    let err = opts.cf_options().unwrap_err();
    assert_eq!(err.kind(), ErrorKind::InvalidArgument);
    assert!(err.to_string().contains("merge_operator"), "{err}");

    let mut opts = Options::default();
    opts.set_compaction_filter("a\0b", |_, _, _| crate::CompactionDecision::Keep);
    let err = opts.cf_options().unwrap_err();
    assert_eq!(err.kind(), ErrorKind::InvalidArgument);
    assert!(err.to_string().contains("compaction_filter"), "{err}");

    let mut opts = Options::default();
    opts.set_prefix_extractor(SliceTransform::create("a\0b", |key| key, None));
    let err = opts.cf_options().unwrap_err();
    assert_eq!(err.kind(), ErrorKind::InvalidArgument);
    assert!(err.to_string().contains("prefix_extractor"), "{err}");

    let mut opts = Options::default();
    opts.set_compression_type(DBCompressionType::Zlib);
    opts.set_compression_options(15, 5, 0, 0);
    let err = opts.cf_options().unwrap_err();
    assert_eq!(err.kind(), ErrorKind::NotSupported);
    assert!(err.to_string().contains("window_bits = 15"), "{err}");

    let mut opts = Options::default();
    opts.set_keep_log_file_num(0);
    let err = opts.db_options().unwrap_err();
    assert_eq!(err.kind(), ErrorKind::InvalidArgument);
    assert!(err.to_string().contains("keep_log_file_num"), "{err}");

    let mut opts = Options::default();
    opts.set_ratelimiter(1 << 20, 0, 10);
    let err = opts.db_options().unwrap_err();
    assert_eq!(err.kind(), ErrorKind::InvalidArgument);
    assert!(err.to_string().contains("rate_limiter"), "{err}");

    let mut opts = Options::default();
    opts.set_compression_options(-14, 5, 0, -1);
    let err = opts.cf_options().unwrap_err();
    assert_eq!(err.kind(), ErrorKind::InvalidArgument);
    assert!(err.to_string().contains("max_dict_bytes"), "{err}");
}

/// What counts is what a setter was given last.
#[test]
fn a_refusal_ends_with_a_value_that_can_be_taken() {
    let mut opts = Options::default();
    opts.set_ratelimiter(0, 100_000, 10);
    opts.set_zstd_max_train_bytes(-1);
    opts.set_bottommost_zstd_max_train_bytes(-1, true);
    opts.set_compaction_filter("a\0b", |_, _: &[u8], _: &[u8]| {
        crate::compaction_filter::Decision::Keep
    });
    let refused = |opts: &Options, what: &str| {
        let e = opts.db_options().unwrap_err();
        assert!(e.to_string().contains(what), "{what} in {e}");
    };
    refused(&opts, "rate_limiter");
    opts.set_ratelimiter(1000, 100_000, 10);
    refused(&opts, "compression_opts: zstd_max_train_bytes");
    // Others of the same option say nothing of this one.
    opts.set_compression_options(-14, 1, 0, 0);
    refused(&opts, "compression_opts: zstd_max_train_bytes");
    opts.set_zstd_max_train_bytes(1);
    refused(&opts, "bottommost_compression_opts");
    opts.set_bottommost_zstd_max_train_bytes(1, true);
    refused(&opts, "compaction_filter");
    opts.set_compaction_filter("ab", |_, _: &[u8], _: &[u8]| {
        crate::compaction_filter::Decision::Keep
    });
    opts.db_options().unwrap();
    opts.cf_options().unwrap();
}

#[test]
fn the_preset_for_universal_compaction_leaves_compression_as_it_is() {
    let mut opts = Options::default();
    opts.set_compression_type(DBCompressionType::None);
    opts.optimize_universal_style_compaction(512 << 20);
    let cf = opts.cf_options().unwrap();
    assert_eq!(
        cf.compression,
        whitewater_storage::sst::CompressionType::None
    );
    assert_eq!(cf.write_buffer_size, 128 << 20);
}
