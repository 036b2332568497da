use super::table::OptionTable;
use super::*;
use whitewater_storage::ErrorKind;

/// A text other than `old` that the option accepts.
fn another(name: &str, old: &str) -> String {
    match name {
        "wal_dir" => "/elsewhere/wal".into(),
        "wal_recovery_mode" => "kAbsoluteConsistency".into(),
        "compression" | "bottommost_compression" | "wal_compression" => "kZSTD".into(),
        "compression_per_level" => "kNoCompression:kLZ4Compression".into(),
        "compression_level" => "7".into(),
        "commit_protocol" => "grouped".into(),
        "wal_access" => "pwrite".into(),
        "memtable" => "art".into(),
        "memtable_prefix_bloom_size_ratio" => "0.125".into(),
        "memtable_protection_bytes_per_key" => "8".into(),
        "prefix_extractor" => "rocksdb.FixedPrefix.4".into(),
        "checksum" => "kCRC32c".into(),
        "bloom_bits_per_key" => "12.5".into(),
        // One version is written so far.
        "format_version" => "5".into(),
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
        if *name != "format_version" {
            assert_ne!(&new, old, "{name}");
        }
        options.set(name, &new).unwrap();
        let after = options.to_text();
        let printed = &after.iter().find(|(n, _)| n == name).unwrap().1;
        assert_eq!(printed, &new, "{name}");
        options.check().unwrap_or_else(|e| panic!("{name}: {e}"));
    }
    // And back, so that no row writes another row's field.
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
        max_open_files: -7,
        ..DbOptions::default()
    };
    let err = db.validate().unwrap_err();
    assert_eq!(err.kind(), ErrorKind::InvalidArgument);
    assert_eq!(
        err.to_string(),
        "Invalid argument: option max_open_files = -7 is outside -1..=i32::MAX"
    );

    let mut cf = CfOptions::default();
    cf.table.block_size = 0;
    let err = cf.validate().unwrap_err();
    assert_eq!(err.kind(), ErrorKind::InvalidArgument);
    assert!(err.to_string().contains("block_size = 0"), "{err}");

    let mut cf = CfOptions::default();
    cf.table.bloom_bits_per_key = Some(f64::NAN);
    assert!(cf.validate().is_err());
    cf.max_bytes_for_level_multiplier = f64::NAN;
    assert!(
        cf.validate()
            .unwrap_err()
            .to_string()
            .contains("multiplier")
    );
}

#[test]
fn what_is_not_built_is_refused_by_name() {
    let db = DbOptions {
        wal_compression: CompressionType::Snappy,
        ..DbOptions::default()
    };
    let err = db.validate().unwrap_err();
    assert_eq!(err.kind(), ErrorKind::NotSupported);
    assert!(err.to_string().contains("option wal_compression"), "{err}");
    let refused = [
        (
            "compression",
            CfOptions {
                compression: CompressionType::Zlib,
                ..CfOptions::default()
            },
        ),
        (
            "compression_per_level",
            CfOptions {
                compression_per_level: vec![CompressionType::None, CompressionType::Bz2],
                ..CfOptions::default()
            },
        ),
        (
            "bottommost_compression",
            CfOptions {
                bottommost_compression: Some(CompressionType::Lz4hc),
                ..CfOptions::default()
            },
        ),
        (
            "format_version",
            CfOptions {
                table: TableOptions {
                    format_version: 6,
                    ..TableOptions::default()
                },
                ..CfOptions::default()
            },
        ),
    ];
    for (name, options) in refused {
        let err = options.validate().unwrap_err();
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
fn compression_and_file_size_by_level() {
    let mut cf = CfOptions {
        compression_per_level: vec![CompressionType::None, CompressionType::Lz4],
        bottommost_compression: Some(CompressionType::Zstd),
        target_file_size_base: 10,
        target_file_size_multiplier: 3,
        ..CfOptions::default()
    };
    assert_eq!(cf.compression_for(0, false), CompressionType::None);
    assert_eq!(cf.compression_for(5, false), CompressionType::Lz4);
    assert_eq!(cf.compression_for(5, true), CompressionType::Zstd);
    cf.compression_per_level.clear();
    assert_eq!(cf.compression_for(5, false), CompressionType::Snappy);
    assert_eq!(
        [0, 1, 2, 3].map(|l| cf.target_file_size(l)),
        [10, 10, 30, 90]
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
