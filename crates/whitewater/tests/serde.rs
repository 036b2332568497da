//! Enums of options as text (cargo feature `serde1`).

use serde_json::{from_str, to_string};
use whitewater::{
    BottommostLevelCompaction, DBCompactionStyle, DBCompressionType, DBRecoveryMode, ReadTier,
    UniversalCompactionStopStyle,
};

/// Writes each value, compares the text with that of the `rocksdb` crate's serde1, and reads it
/// back.
macro_rules! texts {
    ($($type:ident: $($variant:ident),+;)+) => {$($(
        let text = concat!("\"", stringify!($variant), "\"");
        assert_eq!(to_string(&$type::$variant).unwrap(), text);
        assert_eq!(from_str::<$type>(text).unwrap(), $type::$variant);
    )+)+};
}

#[test]
fn enums_of_options_are_serialized_by_the_names_of_their_variants() {
    texts! {
        ReadTier: All, BlockCache, Persisted, Memtable;
        DBCompressionType: None, Snappy, Zlib, Bz2, Lz4, Lz4hc, Zstd;
        DBCompactionStyle: Level, Universal, Fifo;
        DBRecoveryMode: TolerateCorruptedTailRecords, AbsoluteConsistency, PointInTime, SkipAnyCorruptedRecord;
        UniversalCompactionStopStyle: Similar, Total;
        BottommostLevelCompaction: Skip, IfHaveCompactionFilter, Force, ForceOptimized;
    }
}

#[test]
fn unknown_variants_are_refused_by_name() {
    let error = from_str::<DBCompressionType>("\"Lzma\"").unwrap_err();
    assert!(error.to_string().contains("Lzma"), "{error}");
}
