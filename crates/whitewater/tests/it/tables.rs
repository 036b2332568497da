//! Layouts of tables, chosen by options. The content of a database does not depend on them, and
//! filters save the reads that they promise to save.

use crate::harness::{Db, tiny};
use std::sync::Arc;
use whitewater::fs::mem::MemFs;
use whitewater::statistics::Ticker;
use whitewater::{
    BlockBasedIndexType, BlockBasedOptions, DB, DataBlockIndexType, ErrorKind, IteratorMode,
    Options, ReadOptions, SliceTransform,
};

const DIR: &str = "/db";

fn options(fs: &MemFs, table: &BlockBasedOptions) -> Options {
    let mut o = tiny();
    o.set_fs(Arc::new(fs.clone()));
    o.set_prefix_extractor(SliceTransform::create_fixed_prefix(2));
    o.set_block_based_table_factory(table);
    o.set_disable_auto_compactions(true);
    o.enable_statistics();
    o
}

fn tickers<const N: usize>(o: &Options, tickers: [Ticker; N]) -> [u64; N] {
    tickers.map(|ticker| o.get_ticker_count(ticker))
}

type Change = fn(&mut BlockBasedOptions);

/// What is different about each layout that is tried.
const LAYOUTS: [(&str, Change); 8] = [
    ("version 2", |t| t.set_format_version(2)),
    ("version 6", |t| t.set_format_version(6)),
    ("version 7", |t| t.set_format_version(7)),
    ("two-level index", |t| {
        t.set_index_type(BlockBasedIndexType::TwoLevelIndexSearch);
        t.set_metadata_block_size(128);
    }),
    ("partitioned filters", |t| {
        t.set_index_type(BlockBasedIndexType::TwoLevelIndexSearch);
        t.set_metadata_block_size(128);
        t.set_partition_filters(true);
    }),
    ("hash index", |t| {
        t.set_index_type(BlockBasedIndexType::HashSearch)
    }),
    ("first keys", |t| {
        t.set_index_type(BlockBasedIndexType::BinarySearchWithFirstKey);
        t.set_ribbon_filter(12.0);
    }),
    ("hashed data blocks", |t| {
        t.set_data_block_index_type(DataBlockIndexType::BinaryAndHash);
        t.set_data_block_hash_ratio(0.5);
        t.set_hybrid_ribbon_filter(12.0, -1);
    }),
];

#[test]
fn every_layout_holds_the_same() {
    for (what, change) in LAYOUTS {
        let fs = MemFs::new();
        let mut table = BlockBasedOptions::default();
        table.set_bloom_filter(10.0, false);
        table.set_block_size(512);
        change(&mut table);
        let o = options(&fs, &table);
        let key = |i: u32| format!("{:05}", i * 2);
        let value = |i: u32, round: u32| format!("value {i} of round {round}");
        let db = Db::open(&o, DIR).expect("opens");
        for round in 0..3 {
            for i in (0..1500).filter(|i| i % (round + 1) == 0) {
                db.put(key(i), value(i, round)).expect("writes");
            }
            db.delete(key(round)).expect("writes");
            db.flush().expect("flushes");
        }
        db.compact_range::<&str, &str>(None, Some("01000"));
        drop(db);
        let db = Db::open(&o, DIR).expect("opens again");
        let newest = |i: u32| match i {
            1 | 2 => None,
            _ if i.is_multiple_of(3) => Some(value(i, 2)),
            _ if i.is_multiple_of(2) => Some(value(i, 1)),
            _ => Some(value(i, 0)),
        };
        let mut want = Vec::new();
        for i in 0..1500 {
            let found = db.get(key(i)).expect("reads");
            let wanted = newest(i).map(String::into_bytes);
            assert_eq!(found, wanted, "{i} with {what}");
            let absent = format!("{:05}", i * 2 + 1);
            assert_eq!(db.get(absent).expect("reads"), None, "{what}");
            want.extend(wanted.map(|value| (key(i).into_bytes(), value)));
        }
        let pairs = |mode| -> Vec<(Vec<u8>, Vec<u8>)> {
            let all = db.iterator(mode);
            all.map(|e| e.expect("reads"))
                .map(|(k, v)| (k.to_vec(), v.to_vec()))
                .collect()
        };
        assert_eq!(pairs(IteratorMode::Start), want, "{what}");
        let mut backward = pairs(IteratorMode::End);
        backward.reverse();
        assert_eq!(backward, want, "{what}");
        // One prefix at a time.
        for prefix in ["00", "01", "17", "29", "30"] {
            let mut read = ReadOptions::default();
            read.set_prefix_same_as_start(true);
            let it = &mut db.raw_iterator_opt(read);
            let in_prefix = |(k, _): &&(Vec<u8>, Vec<u8>)| k.starts_with(prefix.as_bytes());
            it.seek(prefix);
            for (k, _) in want.iter().filter(in_prefix) {
                assert_eq!(it.key(), Some(&k[..]), "{what}");
                it.next();
            }
            assert!(!it.valid(), "{prefix} with {what}");
            it.status().expect("no failure");
            it.seek_for_prev(format!("{prefix}999"));
            for (k, _) in want.iter().rev().filter(in_prefix) {
                assert_eq!(it.key(), Some(&k[..]), "{what}");
                it.prev();
            }
            assert!(!it.valid(), "{prefix} with {what}");
        }
    }
}

/// A database and its options. It has one table for each of the prefixes "aa", "cc" and "ee", and
/// each table reaches from "a" to "z".
fn three_tables(change: Change) -> (Db, Options, MemFs) {
    let fs = MemFs::new();
    let mut table = BlockBasedOptions::default();
    table.set_bloom_filter(20.0, false);
    change(&mut table);
    let o = options(&fs, &table);
    let db = Db::open(&o, DIR).expect("opens");
    for prefix in ["aa", "cc", "ee"] {
        db.put("a", "first").expect("writes");
        db.put("z", "last").expect("writes");
        for i in 0..10 {
            db.put(format!("{prefix}{i}"), prefix).expect("writes");
        }
        db.flush().expect("flushes");
    }
    (db, o, fs)
}

#[test]
fn look_ups_ask_for_whole_keys_or_for_prefixes() {
    use Ticker::*;
    let whole = [
        BloomFilterUseful,
        BloomFilterFullPositive,
        BloomFilterFullTruePositive,
    ];
    let prefix = [
        BloomFilterPrefixChecked,
        BloomFilterPrefixUseful,
        BloomFilterPrefixTruePositive,
    ];
    let (db, o, _) = three_tables(|_| {});
    assert_eq!(db.get("cc3").expect("reads").as_deref(), Some(&b"cc"[..]));
    assert_eq!(db.get("cc33").expect("reads"), None);
    assert_eq!(tickers(&o, whole), [1 + 3, 1, 1]);
    assert_eq!(tickers(&o, prefix), [0, 0, 0]);

    let (db, o, _) = three_tables(|t| t.set_whole_key_filtering(false));
    assert_eq!(db.get("cc3").expect("reads").as_deref(), Some(&b"cc"[..]));
    assert_eq!(db.get("dd3").expect("reads"), None);
    assert_eq!(db.get("cc33").expect("reads"), None);
    assert_eq!(tickers(&o, prefix), [2 + 3 + 3, 1 + 3 + 2, 1]);
    // A key without a prefix excludes nothing.
    assert_eq!(db.get("z").expect("reads").as_deref(), Some(&b"last"[..]));
    assert_eq!(tickers(&o, prefix), [8, 6, 1]);
    assert_eq!(tickers(&o, whole), [0, 0, 0]);
}

#[test]
fn iterators_that_keep_to_a_prefix_skip_tables_without_it() {
    use Ticker::*;
    let asked = |o: &Options| tickers(o, [BloomFilterPrefixChecked, BloomFilterPrefixUseful]);
    for compacted in [false, true] {
        let (db, o, _) = three_tables(|_| {});
        if compacted {
            db.compact_range::<&str, &str>(None, None);
        }
        let tables = if compacted { 1 } else { 3 };
        let mut read = ReadOptions::default();
        read.set_prefix_same_as_start(true);
        let it = &mut db.raw_iterator_opt(read);
        it.seek("cc5");
        assert_eq!(it.key(), Some(&b"cc5"[..]));
        it.next();
        assert_eq!(it.key(), Some(&b"cc6"[..]));
        let useful = if compacted { 0 } else { 2 };
        assert_eq!(asked(&o), [tables, useful]);
        it.seek("dd");
        assert!(!it.valid());
        it.status().expect("no failure");
        assert_eq!(asked(&o), [2 * tables, useful + tables]);
        it.seek_for_prev("dd");
        assert!(!it.valid());
        assert_eq!(asked(&o), [3 * tables, useful + 2 * tables]);
        // From here on every key is shown, and no filter is asked.
        let before = asked(&o);
        it.seek("z");
        assert_eq!(it.key(), Some(&b"z"[..]));
        let it = &mut db.raw_iterator();
        it.seek("dd");
        assert_eq!(it.key(), Some(&b"ee0"[..]));
        assert_eq!(asked(&o), before);
    }
}

#[test]
fn filters_of_other_prefixes_are_not_asked() {
    let (db, mut o, _fs) = three_tables(|t| t.set_whole_key_filtering(false));
    drop(db);
    o.set_prefix_extractor(SliceTransform::create_fixed_prefix(1));
    let db = Db::open(&o, DIR).expect("opens");
    assert_eq!(db.get("cc3").expect("reads").as_deref(), Some(&b"cc"[..]));
    assert_eq!(db.get("dd").expect("reads"), None);
    let mut read = ReadOptions::default();
    read.set_prefix_same_as_start(true);
    let it = &mut db.raw_iterator_opt(read);
    it.seek("c");
    assert_eq!(it.key(), Some(&b"cc0"[..]));
    assert_eq!(o.get_ticker_count(Ticker::BloomFilterPrefixChecked), 0);
}

#[test]
fn the_last_level_can_do_without_filters() {
    for for_hits in [false, true] {
        let (db, mut o, _fs) = three_tables(|_| {});
        drop(db);
        o.set_optimize_filters_for_hits(for_hits);
        let db = Db::open(&o, DIR).expect("opens");
        let asked = || o.get_ticker_count(Ticker::BloomFilterUseful);
        assert_eq!(db.get("b").expect("reads"), None);
        assert_eq!(asked(), 3, "flushes write filters");
        db.compact_range::<&str, &str>(None, None);
        assert_eq!(db.get("b").expect("reads"), None);
        assert_eq!(asked(), if for_hits { 3 } else { 4 });
    }
}

#[test]
fn layouts_that_cannot_be_written_are_refused() {
    let refused = |change: Change, extractor: bool| {
        let mut table = BlockBasedOptions::default();
        change(&mut table);
        let mut o = tiny();
        o.set_fs(Arc::new(MemFs::new()));
        o.set_block_based_table_factory(&table);
        if extractor {
            o.set_prefix_extractor(SliceTransform::create_fixed_prefix(2));
        }
        Db::open(&o, DIR).err().map(|e| e.kind())
    };
    let hash: Change = |t| t.set_index_type(BlockBasedIndexType::HashSearch);
    assert_eq!(refused(hash, true), None);
    let invalid = Some(ErrorKind::InvalidArgument);
    assert_eq!(refused(hash, false), invalid);
    let ratio: Change = |t| {
        t.set_data_block_index_type(DataBlockIndexType::BinaryAndHash);
        t.set_data_block_hash_ratio(0.0);
    };
    assert_eq!(refused(ratio, false), invalid);
    // Without hash tables it is not asked for.
    let unused: Change = |t| t.set_data_block_hash_ratio(0.0);
    assert_eq!(refused(unused, false), None);
    assert_eq!(refused(|t| t.set_ribbon_filter(f64::NAN), false), None);
    for version in [-1, 8] {
        let mut table = BlockBasedOptions::default();
        table.set_format_version(version);
        let mut o = tiny();
        o.set_fs(Arc::new(MemFs::new()));
        o.set_block_based_table_factory(&table);
        let e = Db::open(&o, DIR).expect_err("refused");
        assert_eq!(e.kind(), ErrorKind::NotSupported, "{version}");
    }
}

/// How often the file of a table of about 100 data blocks is read for a walk over it, with these
/// options of tables, and for the same walk with the size of read-ahead given by its own options.
fn reads_of_a_walk(table: &str) -> [u64; 2] {
    let fs = MemFs::new();
    let text = format!(
        "write_buffer_size=1000000;block_based_table_factory={{no_block_cache=true;\
         block_size=1000;{table}}}"
    );
    let mut o = tiny().get_options_from_string(text).unwrap();
    o.set_fs(Arc::new(fs));
    o.set_disable_auto_compactions(true);
    o.set_compression_type(whitewater::DBCompressionType::None);
    o.enable_statistics();
    let db = DB::open(&o, DIR).unwrap();
    for i in 0..1000u32 {
        db.put(i.to_be_bytes(), [b'v'; 90]).unwrap();
    }
    db.flush().unwrap();
    db.get(0u32.to_be_bytes()).unwrap(); // opens the table
    [0, 32 << 10].map(|size| {
        let mut read = ReadOptions::default();
        read.set_readahead_size(size);
        let counts = || {
            let count = [Ticker::NonLastLevelReadCount, Ticker::LastLevelReadCount];
            tickers(&o, count).iter().sum::<u64>()
        };
        let before = counts();
        assert_eq!(db.iterator_opt(IteratorMode::Start, read).count(), 1000);
        counts() - before
    })
}

#[test]
fn iterators_read_ahead_as_far_as_the_tables_options_say() {
    let [default, own] = reads_of_a_walk("");
    // Two blocks, then 8, 16, 32 and 64 KiB.
    assert_eq!(default, 6);
    let [off, still_own] = reads_of_a_walk("max_auto_readahead_size=0");
    assert!(off > 80, "each block is read for itself: {off}");
    assert_eq!(still_own, own);
    assert_eq!(reads_of_a_walk("initial_auto_readahead_size=0"), [off, own]);
    let small = "initial_auto_readahead_size=5000;max_auto_readahead_size=5000";
    let [small, _] = reads_of_a_walk(small);
    assert!((20..off / 2).contains(&small), "{small}");
    let at_once = "initial_auto_readahead_size=262144;num_file_reads_for_auto_readahead=0";
    assert_eq!(reads_of_a_walk(at_once), [1, own]);
}
