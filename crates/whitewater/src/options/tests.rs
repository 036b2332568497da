use super::table::OptionTable;
use super::text::OptionText;
use super::*;
use whitewater_storage::ErrorKind;

/// A text other than `old` that the option accepts.
fn another(name: &str, old: &str) -> String {
    match name {
        "wal_dir" => "/elsewhere/wal".into(),
        "wal_recovery_mode" => "kAbsoluteConsistency".into(),
        "compression" | "bottommost_compression" | "wal_compression" | "blob_compression_type" => {
            "kZSTD".into()
        }
        "blob_garbage_collection_force_threshold" => "0.5".into(),
        "compression_per_level" => "kNoCompression:kLZ4Compression".into(),
        "compression_opts" | "bottommost_compression_opts" | "blob_compression_opts" => {
            let mut options = CompressionOptions::parse(old).expect(name);
            (options.level, options.max_dict_bytes) = (7, 4096);
            (options.strategy, options.checksum) = (1, true);
            options.print()
        }
        "db_log_dir" => "/elsewhere/log".into(),
        "info_log_level" => "WARN_LEVEL".into(),
        "commit_protocol" => "grouped".into(),
        "file_checksum_gen_factory" => "FileChecksumGenCrc32cFactory".into(),
        "wal_access" => "pwrite".into(),
        "memtable" => "art".into(),
        "memtable_prefix_bloom_size_ratio" => "0.125".into(),
        "memtable_protection_bytes_per_key" => "8".into(),
        "prefix_extractor" => "rocksdb.FixedPrefix.4".into(),
        "table_factory" => TableFormat::parse("CuckooTable").unwrap().print(),
        "compaction_style" => "kCompactionStyleUniversal".into(),
        "compaction_pri" => "kRoundRobin".into(),
        "compaction_options_universal" => old.replace("size_ratio=1", "size_ratio=7"),
        "compaction_options_fifo" => old.replace("=false", "=true"),
        "ttl" | "periodic_compaction_seconds" => "86400".into(),
        "max_bytes_for_level_multiplier_additional" => "1:2:3".into(),
        "checksum" => "kCRC32c".into(),
        "filter_policy" => "ribbonfilter:12.5:-1".into(),
        "metadata_cache_options" => old.replace("kFallback", "kFlushedAndSimilar"),
        "prepopulate_block_cache" | "prepopulate_blob_cache" => "kFlushOnly".into(),
        "last_level_temperature" => "kWarm".into(),
        "block_protection_bytes_per_key" => "4".into(),
        "index_type" => "kTwoLevelIndexSearch".into(),
        "data_block_index_type" => "kDataBlockBinaryAndHash".into(),
        "format_version" => "7".into(),
        _ => match old {
            "true" => "false".into(),
            "false" => "true".into(),
            "-1" => "100".into(),
            "0" => "64".into(),
            number => {
                let value: f64 = number.parse().expect(name);
                (value * 2.0).to_string()
            }
        },
    }
}

/// Sets every option from text and reads it back.
fn round_trip(mut options: impl OptionTable) {
    let before = options.to_text();
    for (name, old) in &before {
        let new = another(name, old);
        assert_ne!(&new, old, "{name}");
        options.set(name, &new).unwrap();
        let after = options.to_text();
        let printed = &after.iter().find(|(n, _)| n == name).unwrap().1;
        assert_eq!(printed, &new, "{name}");
        options.check().unwrap_or_else(|e| panic!("{name}: {e}"));
    }
    // Setting each one back shows that no row writes another row's field.
    for (name, old) in &before {
        options.set(name, old).unwrap();
    }
    assert_eq!(options.to_text(), before);
    let err = options.set("no_such_option", "1").unwrap_err();
    assert_eq!(
        err.to_string(),
        "Invalid argument: unknown option no_such_option"
    );
}

#[test]
fn a_quarter_of_the_jobs_flush() {
    assert_eq!(thread_counts(2), (1, 1));
    assert_eq!(thread_counts(0), (1, 1));
    assert_eq!(thread_counts(8), (2, 6));
}

#[test]
fn every_option_is_set_and_read_as_text() {
    round_trip(DbOptions::default());
    round_trip(CfOptions::default());
    round_trip(TableOptions::default());
}

#[test]
fn defaults_are_valid() {
    DbOptions::default().validate().unwrap();
    CfOptions::default().validate().unwrap();
}

#[test]
fn a_value_out_of_range_is_refused_by_name() {
    let db = DbOptions {
        keep_log_file_num: 0,
        ..DbOptions::default()
    };
    let err = db.sanitized().validate().unwrap_err();
    assert_eq!(err.kind(), ErrorKind::InvalidArgument);
    assert_eq!(
        err.to_string(),
        "Invalid argument: option keep_log_file_num = 0 is outside 1..=usize::MAX"
    );

    let cf = CfOptions {
        max_bytes_for_level_multiplier: f64::NAN,
        ..CfOptions::default()
    };
    assert!(
        cf.validate()
            .unwrap_err()
            .to_string()
            .contains("multiplier")
    );
}

#[test]
fn what_is_not_built_is_refused_by_name() {
    let refused = [
        (
            "compression_opts",
            CfOptions {
                compression: CompressionType::Zlib,
                compression_opts: CompressionOptions {
                    window_bits: 15,
                    ..CompressionOptions::default()
                },
                ..CfOptions::default()
            },
        ),
        (
            "format_version",
            CfOptions {
                table: TableOptions {
                    format_version: 8,
                    ..TableOptions::default()
                },
                ..CfOptions::default()
            },
        ),
    ];
    for (name, options) in refused {
        let err = options.sanitized().validate().unwrap_err();
        assert_eq!(err.kind(), ErrorKind::NotSupported, "{name}");
        assert!(err.to_string().contains(&format!("option {name}")), "{err}");
    }
}

#[test]
fn the_dump_has_a_line_for_every_option() {
    let text = CfOptions::default().to_string();
    for line in [
        "write_buffer_size=67108864",
        "compression=kSnappyCompression",
        "comparator=leveldb.BytewiseComparator",
        "merge_operator=none",
        "block_size=4096",
        "format_version=5",
    ] {
        assert!(text.lines().any(|l| l == line), "{line} in\n{text}");
    }
    let text = DbOptions::default().to_string();
    assert!(text.lines().any(|l| l == "max_open_files=-1"), "{text}");
    assert!(text.lines().any(|l| l == "wal_dir="), "{text}");
}

#[test]
fn file_size_by_level() {
    let cf = CfOptions {
        target_file_size_base: 10,
        target_file_size_multiplier: 3,
        ..CfOptions::default()
    };
    assert_eq!(
        [0, 1, 2, 3].map(|l| cf.target_file_size(l)),
        [u64::MAX, 10, 30, 90]
    );
}

fn custom() -> UserComparator {
    #[derive(Debug)]
    struct ByLength;
    impl whitewater_storage::key::Comparator for ByLength {
        fn name(&self) -> &str {
            "by_length"
        }
        fn compare(&self, a: &[u8], b: &[u8]) -> std::cmp::Ordering {
            a.len().cmp(&b.len()).then_with(|| a.cmp(b))
        }
    }
    UserComparator::Custom(Arc::new(ByLength))
}

#[test]
fn the_radix_tree_is_the_default_where_it_serves() {
    use MemtableKind::{Art, Auto, SkipList};
    assert_eq!(CfOptions::default().memtable, Auto);
    let resolve = |kind: MemtableKind, by, size| kind.resolve(&by, size);
    assert_eq!(resolve(Auto, UserComparator::Bytewise, 64 << 20), Art);
    assert_eq!(
        resolve(Auto, UserComparator::ReverseBytewise, 64 << 20),
        Art
    );
    assert_eq!(resolve(Auto, custom(), 64 << 20), SkipList);
    assert_eq!(resolve(Auto, UserComparator::Bytewise, 9 << 30), SkipList);
    assert_eq!(
        resolve(SkipList, UserComparator::Bytewise, 64 << 20),
        SkipList
    );
}

#[test]
fn a_radix_tree_is_refused_where_it_cannot_serve() {
    let mut cf = CfOptions {
        memtable: MemtableKind::Art,
        ..CfOptions::default()
    };
    cf.validate().unwrap();
    cf.write_buffer_size = 9 << 30;
    let e = cf.validate().unwrap_err();
    assert!(e.to_string().contains("write_buffer_size"), "{e}");
    cf.write_buffer_size = 64 << 20;
    cf.comparator = UserComparator::ReverseBytewise;
    cf.validate().unwrap();
    cf.comparator = custom();
    let e = cf.validate().unwrap_err();
    assert_eq!(e.kind(), whitewater_storage::ErrorKind::InvalidArgument);
    assert!(e.to_string().contains("option memtable: art"), "{e}");
}

#[test]
fn what_rocksdb_lets_change_can_change() {
    for (name, live) in [
        ("max_background_jobs", Some(true)),
        ("max_total_wal_size", Some(true)),
        ("delayed_write_rate", Some(true)),
        ("max_open_files", Some(true)),
        ("wal_bytes_per_sync", Some(true)),
        ("wal_dir", Some(false)),
        ("recycle_log_file_num", Some(false)),
        ("db_write_buffer_size", Some(false)),
        ("write_buffer_size", None),
    ] {
        assert_eq!(DbOptions::changes_live(name), live, "{name}");
    }
    for (name, live) in [
        ("write_buffer_size", Some(true)),
        ("level0_stop_writes_trigger", Some(true)),
        ("prefix_extractor", Some(true)),
        ("compression_per_level", Some(true)),
        ("max_successive_merges", Some(true)),
        ("ttl", Some(true)),
        ("periodic_compaction_seconds", Some(true)),
        ("compaction_options_universal", Some(true)),
        ("compaction_options_fifo", Some(true)),
        ("num_levels", Some(false)),
        ("memtable", Some(false)),
        ("inplace_update_support", Some(false)),
        ("min_write_buffer_number_to_merge", Some(false)),
        ("level_compaction_dynamic_level_bytes", Some(false)),
        ("block_size", None),
    ] {
        assert_eq!(CfOptions::changes_live(name), live, "{name}");
    }
    assert_eq!(TableOptions::changes_live("block_size"), Some(true));
}

#[test]
fn a_protocol_blames_the_options_that_exclude_it_and_no_others() {
    use CommitProtocol::{Grouped, Ordered, Pipelined, Unordered};
    let text = |protocol, change: fn(&mut DbOptions)| {
        let mut db = DbOptions {
            commit_protocol: protocol,
            ..DbOptions::default()
        };
        change(&mut db);
        db.validate().map_err(|e| e.to_string())
    };
    let one_by_one = |o: &mut DbOptions| o.allow_concurrent_memtable_write = false;
    let pipelined = |o: &mut DbOptions| o.enable_pipelined_write = true;
    let both = |o: &mut DbOptions| {
        o.allow_concurrent_memtable_write = false;
        o.enable_pipelined_write = true;
    };
    let unordered = |o: &mut DbOptions| o.unordered_write = true;
    let says = |what: &str| Err(format!("Invalid argument: {what}"));
    assert_eq!(
        text(Some(Ordered), one_by_one),
        says("commit_protocol=ordered is incompatible with allow_concurrent_memtable_write=false")
    );
    assert_eq!(
        text(Some(Ordered), both),
        says(
            "commit_protocol=ordered is incompatible with allow_concurrent_memtable_write=false \
             and with enable_pipelined_write=true"
        )
    );
    assert_eq!(
        text(Some(Unordered), pipelined),
        says("commit_protocol=unordered is incompatible with enable_pipelined_write=true")
    );
    assert_eq!(
        text(Some(Pipelined), unordered),
        says("commit_protocol=pipelined is incompatible with unordered_write=true")
    );
    assert_eq!(text(Some(Grouped), one_by_one), Ok(()));
    assert_eq!(text(Some(Pipelined), both), Ok(()));
    // The error names `commit_protocol`, since `enable_pipelined_write` is not set.
    assert_eq!(
        text(Some(Pipelined), |o| o.atomic_flush = true),
        says("atomic_flush is incompatible with commit_protocol=pipelined")
    );
    let db = DbOptions {
        commit_protocol: Some(Unordered),
        ..DbOptions::default()
    };
    let cf = CfOptions {
        max_successive_merges: 1,
        ..CfOptions::default()
    };
    assert_eq!(
        db.check_family(&cf).unwrap_err().to_string(),
        "Invalid argument: max_successive_merges > 0 is incompatible with \
         commit_protocol=unordered"
    );
}
