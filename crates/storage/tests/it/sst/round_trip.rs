//! Tables that were written here return what was written, in every way of reading.

use super::files::*;
use proptest::prelude::*;
use rand::rngs::StdRng;
use rand::{Rng, SeedableRng};
use std::cmp::Ordering;
use std::sync::Arc;
use whitewater_storage::ErrorKind;
use whitewater_storage::cache::BlockCache;
use whitewater_storage::checksum::ChecksumType;
use whitewater_storage::internal_iterator::InternalIterator;
use whitewater_storage::key::{
    InternalComparator, MAX_SEQUENCE, UserComparator, ValueType, internal_key, seek_key,
};
use whitewater_storage::rangedel::RangeTombstone;
use whitewater_storage::sst::{
    BlockRole, CompressionType, FilterPolicy, IndexType, Table, TableBuilder, TableBuilderOptions,
    TableOptions, TableReadOptions,
};

const COMPRESSIONS: [CompressionType; 4] = [
    CompressionType::None,
    CompressionType::Snappy,
    CompressionType::Lz4,
    CompressionType::Zstd,
];
const CHECKSUMS: [ChecksumType; 2] = [ChecksumType::XXH3, ChecksumType::CRC32c];
const TYPES: [ValueType; 5] = [
    ValueType::Value,
    ValueType::Deletion,
    ValueType::Merge,
    ValueType::SingleDeletion,
    ValueType::BlobIndex,
];

fn user_keys() -> impl Strategy<Value = Vec<u8>> {
    prop_oneof![
        4 => proptest::collection::vec(0u8..3, 0..6),
        2 => proptest::collection::vec(any::<u8>(), 0..40),
        2 => proptest::collection::vec(Just(0xffu8), 0..5),
        1 => proptest::collection::vec(any::<u8>(), 100..300),
    ]
}

/// Unsorted points: many versions of few keys.
fn points() -> impl Strategy<Value = Vec<(Vec<u8>, u64, u8, Vec<u8>)>> {
    let value = prop_oneof![
        proptest::collection::vec(any::<u8>(), 0..50),
        proptest::collection::vec(Just(b'v'), 0..600),
    ];
    proptest::collection::vec((user_keys(), 0u64..20, 0u8..5, value), 0..120)
}

fn sorted(points: Vec<(Vec<u8>, u64, u8, Vec<u8>)>, c: &InternalComparator) -> Vec<Entry> {
    let mut entries: Vec<Entry> = points
        .into_iter()
        .map(|(k, seq, ty, v)| (internal_key(&k, seq, TYPES[usize::from(ty)]), v))
        .collect();
    entries.sort_by(|a, b| c.compare(&a.0, &b.0));
    entries.dedup_by(|a, b| c.compare(&a.0, &b.0) == Ordering::Equal);
    entries
}

fn current(it: &dyn InternalIterator) -> Option<Entry> {
    it.status().expect("no failure");
    it.valid().then(|| (it.key().to_vec(), it.value().to_vec()))
}

/// Compares every way of reading `table` with `entries`.
fn check(
    table: &Arc<Table>,
    entries: &[Entry],
    probes: &[(Vec<u8>, u64)],
    c: &InternalComparator,
) -> Result<(), TestCaseError> {
    table.verify().expect("whole");
    let mut it = table.iter(TableReadOptions::default());
    prop_assert_eq!(collect(&mut it).expect("reads"), entries);
    prop_assert_eq!(collect_backward(&mut it).expect("reads"), entries);

    let targets = probes
        .iter()
        .map(|(k, seq)| seek_key(k, *seq))
        .chain(entries.iter().map(|e| e.0.clone()));
    for target in targets {
        let at = entries.partition_point(|e| c.compare(&e.0, &target) == Ordering::Less);
        it.seek(&target);
        prop_assert_eq!(current(&it), entries.get(at).cloned());
        if it.valid() {
            it.prev();
            let before = at.checked_sub(1).map(|i| &entries[i]);
            prop_assert_eq!(current(&it), before.cloned());
            if it.valid() {
                it.next();
                prop_assert_eq!(current(&it), entries.get(at).cloned());
            }
        }
        let past = entries.partition_point(|e| c.compare(&e.0, &target) != Ordering::Greater);
        it.seek_for_prev(&target);
        let want = past.checked_sub(1).map(|i| &entries[i]);
        prop_assert_eq!(current(&it), want.cloned());

        let want: Vec<Entry> = entries[at..]
            .iter()
            .take_while(|e| user(&e.0) == &target[..target.len() - 8])
            .cloned()
            .collect();
        prop_assert_eq!(&get(table, &target, usize::MAX).expect("reads"), &want);
        let first: Vec<Entry> = want.into_iter().take(1).collect();
        prop_assert_eq!(get(table, &target, 1).expect("reads"), first);
    }
    for (k, _) in entries {
        prop_assert!(table.may_contain(user(k)));
    }
    Ok(())
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(150))]

    #[test]
    fn tables_hold_what_was_put_in(
        points in points(),
        probes in proptest::collection::vec((user_keys(), 0u64..22), 0..20),
        compression in proptest::sample::select(&COMPRESSIONS[..]),
        checksum in proptest::sample::select(&CHECKSUMS[..]),
        block_size in prop_oneof![Just(1usize), 60usize..400, Just(4096)],
        intervals in (1usize..18, 1usize..5),
        bloom in proptest::option::of(1.0f64..20.0),
        reverse in any::<bool>(),
        cached in any::<bool>(),
    ) {
        let user = if reverse { UserComparator::ReverseBytewise } else { UserComparator::Bytewise };
        let c = InternalComparator::new(user);
        let entries = sorted(points, &c);
        let options = TableBuilderOptions {
            table: TableOptions {
                block_size,
                checksum,
                block_restart_interval: intervals.0,
                index_block_restart_interval: intervals.1,
                filter_policy: bloom.map(|bits_per_key| FilterPolicy::Bloom { bits_per_key }),
                ..TableOptions::default()
            },
            comparator: c.clone(),
            compression,
            ..TableBuilderOptions::default()
        };
        let file = source(build(options, &entries, &[]));
        let size = file.bytes.len() as u64;
        let mut options = reader_options(&c);
        options.block_cache = cached.then(|| BlockCache::new(1 << 20));
        let table = Arc::new(Table::open(file, size, options).expect("opens"));
        check(&table, &entries, &probes, &c)?;
    }
}

fn numbered(n: u64) -> Vec<Entry> {
    (0..n)
        .map(|i| {
            let key = internal_key(format!("key{i:08}").as_bytes(), i + 1, ValueType::Value);
            (key, format!("value {i} ").repeat(4).into_bytes())
        })
        .collect()
}

fn with_bloom() -> TableBuilderOptions {
    TableBuilderOptions {
        table: TableOptions {
            filter_policy: Some(FilterPolicy::Bloom { bits_per_key: 10.0 }),
            ..TableOptions::default()
        },
        ..TableBuilderOptions::default()
    }
}

/// Entries whose values a compressor makes half as long, more or less.
fn half_compressible(n: u64) -> Vec<Entry> {
    let mut rng = StdRng::seed_from_u64(7);
    let mut entry = |i: u64| {
        let key = internal_key(format!("key{i:08}").as_bytes(), i + 1, ValueType::Value);
        let mut value = vec![b'v'; rng.random_range(40..60)];
        value.extend((0..50).map(|_| rng.random::<u8>()));
        (key, value)
    };
    (0..n).map(&mut entry).collect()
}

/// How many data blocks lie on a page of 4 KiB more than they have to, of how many, and how many
/// bytes are empty between data blocks.
fn across_pages(table: &Table) -> (usize, usize, u64) {
    let blocks = table.blocks().expect("reads the index");
    let data = blocks
        .iter()
        .filter(|b| matches!(b.kind, BlockRole::Data { .. }));
    let (mut across, mut all, mut empty, mut end) = (0, 0, 0, 0);
    for block in data {
        empty += block.offset - end;
        end = block.offset + block.size + 5;
        let pages = (end - 1) / 4096 - block.offset / 4096 + 1;
        across += usize::from(pages > (block.size + 5).div_ceil(4096));
        all += 1;
    }
    (across, all, empty)
}

#[test]
fn blocks_fitted_to_pages_are_found_by_every_index() {
    let entries = half_compressible(20_000);
    let indexes = [
        IndexType::BinarySearch,
        IndexType::BinarySearchWithFirstKey,
        IndexType::TwoLevelIndexSearch,
    ];
    for (index_type, interval, format_version, compression) in [
        (indexes[0], 1, 5, CompressionType::Lz4),
        (indexes[0], 16, 5, CompressionType::Lz4),
        (indexes[0], 16, 2, CompressionType::Snappy),
        (indexes[1], 3, 6, CompressionType::Lz4),
        (indexes[2], 1, 5, CompressionType::None),
        (indexes[2], 16, 5, CompressionType::Lz4),
    ] {
        let options = |fit_blocks_to_pages| TableBuilderOptions {
            table: TableOptions {
                index_type,
                index_block_restart_interval: interval,
                format_version,
                fit_blocks_to_pages,
                ..TableOptions::default()
            },
            compression,
            ..TableBuilderOptions::default()
        };
        let what = format!("{index_type:?}, {interval}, {format_version}, {compression:?}");
        let unfitted = open(build(options(false), &entries, &[])).expect("opens");
        let (across, all, empty) = across_pages(&unfitted);
        assert!(
            across > all / 3 && empty == 0,
            "{what}: {across} of {all}, {empty}"
        );
        let table = open(build(options(true), &entries, &[])).expect("opens");
        let (across, all, empty) = across_pages(&table);
        assert!(
            across < all / 8 && empty > 0,
            "{what}: {across} of {all}, {empty}"
        );
        let data = table.properties().data_size;
        assert!(empty < data / 20, "{what}: {empty} of {data}");

        table.verify().expect("whole");
        let mut iter = table.iter(TableReadOptions::default());
        assert!(collect(&mut iter).expect("reads") == entries, "{what}");
        iter.seek_to_last();
        for entry in entries.iter().rev() {
            assert_eq!(iter.key(), entry.0, "{what}");
            iter.prev();
        }
        assert!(!iter.valid());
        for entry in entries.iter().step_by(37) {
            iter.seek(&entry.0);
            assert_eq!(
                (iter.key(), iter.value()),
                (&entry.0[..], &entry.1[..]),
                "{what}"
            );
        }
    }
}

#[test]
fn tombstones_and_properties_come_back() {
    let tombstone = |start: &[u8], end: &[u8], seq| RangeTombstone {
        start: start.to_vec(),
        end: end.to_vec(),
        seq,
    };
    let entries = vec![
        (internal_key(b"a", 9, ValueType::Deletion), vec![]),
        (internal_key(b"a", 3, ValueType::Merge), b"+1".to_vec()),
        (internal_key(b"b", 4, ValueType::Value), b"xyz".to_vec()),
    ];
    let given = [
        tombstone(b"m", b"z", 5),
        tombstone(b"a", b"q", 2),
        tombstone(b"a", b"c", 7),
    ];
    let mut options = with_bloom();
    options.column_family_name = "cf".to_owned();
    options.merge_operator = "Adder".to_owned();
    options.session_id = "ABCDEFGHIJKLMNOPQRST".to_owned();
    options.file_number = 77;
    let table = open(build(options, &entries, &given)).expect("opens");
    table.verify().expect("whole");
    assert_eq!(
        table.range_tombstones(),
        [given[2].clone(), given[1].clone(), given[0].clone()]
    );
    let p = table.properties();
    assert_eq!((p.num_entries, p.num_deletions), (6, 4));
    assert_eq!((p.num_merge_operands, p.num_range_deletions), (1, 3));
    assert_eq!((p.raw_key_size, p.raw_value_size), (6 * 9, 5 + 3));
    assert_eq!(p.num_data_blocks, 1);
    let text = |name: &str| String::from_utf8_lossy(&p.raw[name]).into_owned();
    assert_eq!(text("rocksdb.merge.operator"), "Adder");
    assert_eq!(text("rocksdb.column.family.name"), "cf");
    assert_eq!(text("rocksdb.comparator"), "leveldb.BytewiseComparator");
    assert_eq!(
        text("rocksdb.creating.session.identity"),
        "ABCDEFGHIJKLMNOPQRST"
    );
    assert_eq!(p.raw["rocksdb.original.file.number"], [77]);
    assert_eq!(p.raw["rocksdb.block.based.table.index.type"], [0; 4]);

    // Tombstones alone, and nothing at all.
    let only = open(build(TableBuilderOptions::default(), &[], &given)).expect("opens");
    only.verify().expect("whole");
    assert_eq!(only.range_tombstones().len(), 3);
    let mut it = only.iter(TableReadOptions::default());
    assert_eq!(collect(&mut it).expect("reads"), []);
    assert_eq!(collect_backward(&mut it).expect("reads"), []);
    let empty = open(build(with_bloom(), &[], &[])).expect("opens");
    empty.verify().expect("whole");
    assert_eq!(get(&empty, &seek_key(b"a", 1), 9).expect("reads"), []);
}

#[test]
fn names_of_objects_are_told() {
    let names = |options| {
        let table = open(build(options, &[], &[])).expect("opens");
        let text = |name: &str| String::from_utf8(table.properties().raw[name].clone());
        [
            text("rocksdb.prefix.extractor.name").expect("text"),
            text("rocksdb.merge.operator").expect("text"),
            text("rocksdb.block.based.table.prefix.filtering").expect("text"),
        ]
    };
    let none = names(TableBuilderOptions::default());
    assert_eq!(none, ["nullptr", "nullptr", "0"]);
    let some = names(TableBuilderOptions {
        prefix_extractor: Some(std::sync::Arc::new(super::layouts::Fixed(4))),
        merge_operator: "append".to_owned(),
        ..TableBuilderOptions::default()
    });
    assert_eq!(some, ["rocksdb.FixedPrefix.4", "append", "1"]);
}

#[test]
fn the_builder_refuses_what_it_cannot_write() {
    let start = |options| TableBuilder::new(options, Box::new(Sink::default()));
    let kind = |options| start(options).expect_err("refused").kind();
    let mut options = TableBuilderOptions {
        compression: CompressionType::Zlib,
        ..TableBuilderOptions::default()
    };
    options.compression_options.window_bits = 15;
    assert_eq!(kind(options), ErrorKind::NotSupported);
    let mut options = TableBuilderOptions::default();
    for format_version in [0, 1, 8] {
        options.table.format_version = format_version;
        assert_eq!(kind(options.clone()), ErrorKind::NotSupported);
    }

    let mut b = start(TableBuilderOptions::default()).expect("starts");
    let key = internal_key(b"k", 5, ValueType::Value);
    b.add(&key, b"v").expect("first");
    for bad in [
        key.clone(),
        internal_key(b"k", 6, ValueType::Value),
        internal_key(b"j", 1, ValueType::Value),
        internal_key(b"z", 1, ValueType::RangeDeletion),
        b"short".to_vec(),
    ] {
        let e = b.add(&bad, b"").expect_err("refused");
        assert_eq!(e.kind(), ErrorKind::InvalidArgument, "{e}");
    }
    b.add(&internal_key(b"k", 4, ValueType::Value), b"older")
        .expect("still usable");
    assert_eq!(b.num_entries(), 2);
}

#[test]
fn the_filter_spares_reads_and_the_cache_too() {
    let entries = numbered(5000);
    let bytes = build(with_bloom(), &entries, &[]);
    let cache = BlockCache::new(8 << 20);
    let (table, file) = open_cached(bytes, &cache);
    file.reads.lock().unwrap().clear();
    for i in 0..1000 {
        let found = get(&table, &seek_key(format!("nokey{i}").as_bytes(), 9), 9);
        assert_eq!(found.expect("reads"), []);
    }
    let reads = file.reads.lock().unwrap().len();
    assert!(reads <= 40, "{reads} reads in spite of the filter");

    file.reads.lock().unwrap().clear();
    for _ in 0..3 {
        for e in entries.iter().step_by(50) {
            let found = get(&table, &e.0, 1).expect("reads");
            assert_eq!(found, std::slice::from_ref(e));
        }
    }
    let blocks = table.properties().num_data_blocks;
    let reads = file.reads.lock().unwrap().len() as u64;
    assert!(reads <= blocks, "{reads} reads of {blocks} blocks");
    assert!(cache.usage() > 4096);

    // Without filling the cache nothing is kept.
    let used = cache.usage();
    let (table, _) = open_cached(build(with_bloom(), &entries, &[]), &cache);
    let options = TableReadOptions {
        fill_cache: false,
        ..TableReadOptions::default()
    };
    let mut it = table.iter(options);
    assert_eq!(collect(&mut it).expect("reads").len(), 5000);
    assert_eq!(cache.usage(), used);
}

#[test]
fn scans_read_ahead_in_both_directions() {
    let entries = numbered(20_000);
    let bytes = build(TableBuilderOptions::default(), &entries, &[]);
    let cache = BlockCache::new(64 << 20);
    for backward in [false, true] {
        let (table, file) = open_cached(bytes.clone(), &cache);
        file.reads.lock().unwrap().clear();
        let mut it = table.iter(TableReadOptions::default());
        let all = if backward {
            collect_backward(&mut it)
        } else {
            collect(&mut it)
        };
        assert_eq!(all.expect("reads"), entries);
        let reads = file.reads.lock().unwrap().clone();
        let blocks = table.properties().num_data_blocks as usize;
        assert!(blocks > 200);
        assert!(reads.len() < 20, "{} reads of {blocks} blocks", reads.len());
        let largest = reads.iter().map(|r| r.1).max().expect("some");
        assert_eq!(largest, 256 << 10);
        let total: usize = reads.iter().map(|r| r.1).sum();
        assert!(total <= bytes.len() + (256 << 10), "{total} bytes read");
    }
    // A short look does not read ahead.
    let (table, file) = open_cached(bytes, &cache);
    file.reads.lock().unwrap().clear();
    let mut it = table.iter(TableReadOptions::default());
    it.seek(&entries[5000].0);
    assert!(it.valid());
    let reads = file.reads.lock().unwrap().clone();
    assert_eq!(reads.len(), 1);
    assert!(reads[0].1 < 6000, "{} bytes read", reads[0].1);
}

#[test]
fn offsets_and_memory_are_about_right() {
    let entries = numbered(20_000);
    let bytes = build(with_bloom(), &entries, &[]);
    let size = bytes.len() as u64;
    let table = open(bytes).expect("opens");
    let at = |i: usize| table.approximate_offset_of(&entries[i].0);
    assert_eq!(at(0), 0);
    let data = table.properties().data_size;
    for i in (0..20_000).step_by(1999) {
        let want = data * i as u64 / 20_000;
        assert!(at(i).abs_diff(want) < data / 20, "{} for {want}", at(i));
    }
    assert_eq!(table.approximate_offset_of(&seek_key(b"z", 1)), data);
    let held = table.memory_usage() as u64;
    assert!(held > size - data && held < 2 * (size - data) + 8192);
    assert!(format!("{table:?}").contains("000042.sst"));
}

#[test]
fn anchors_cut_a_table_into_even_parts() {
    let entries = numbered(20_000);
    let table = open(build(with_bloom(), &entries, &[])).expect("opens");
    let data = table.properties().data_size;
    for count in [1, 7, 128] {
        let anchors = table.anchors(count).expect("reads the index");
        assert!(
            (1..=count + 1).contains(&anchors.len()),
            "{}",
            anchors.len()
        );
        assert!(anchors.windows(2).all(|w| w[0].0 < w[1].0));
        let sum: u64 = anchors.iter().map(|(_, bytes)| bytes).sum();
        assert!(data.abs_diff(sum) < data / 100, "{sum} of {data}");
        let even = data / count as u64;
        for (key, bytes) in &anchors[..anchors.len() - 1] {
            assert!(bytes.abs_diff(even) < even / 10 + 8192, "{bytes} of {even}");
            assert!(table.approximate_offset_of(&seek_key(key, 1)) > 0);
        }
    }
    assert!(table.anchors(usize::MAX).expect("reads the index").len() > 100);
}

#[test]
fn values_outlive_their_block_and_visitors_may_fail() {
    let entries = numbered(100);
    let table = open(build(with_bloom(), &entries, &[])).expect("opens");
    let mut kept = None;
    table
        .get(&entries[50].0, TableReadOptions::default(), &mut |_, v| {
            kept = Some(v.share());
            Ok(false)
        })
        .expect("reads");
    let result = table.get(&entries[50].0, TableReadOptions::default(), &mut |_, _| {
        Err(whitewater_storage::Error::invalid("enough"))
    });
    assert_eq!(
        result.expect_err("passed on").kind(),
        ErrorKind::InvalidArgument
    );
    drop(table);
    assert_eq!(kept.as_deref(), Some(&entries[50].1[..]));
}

#[test]
fn a_comparator_that_differs_is_refused() {
    let bytes = build(TableBuilderOptions::default(), &numbered(3), &[]);
    let reverse = InternalComparator::new(UserComparator::ReverseBytewise);
    let file = source(bytes);
    let size = file.bytes.len() as u64;
    let e = Table::open(file, size, reader_options(&reverse)).expect_err("refused");
    assert_eq!(e.kind(), ErrorKind::InvalidArgument);
    assert!(e.to_string().contains("leveldb.BytewiseComparator"), "{e}");
}

#[test]
fn versions_of_one_key_may_fill_many_blocks() {
    let mut entries = vec![(internal_key(b"a", 1, ValueType::Value), vec![1; 100])];
    for seq in (1..500u64).rev() {
        entries.push((internal_key(b"k", seq, ValueType::Value), vec![7; 100]));
    }
    entries.push((internal_key(b"l", 1, ValueType::Value), vec![2; 100]));
    let table = open(build(with_bloom(), &entries, &[])).expect("opens");
    table.verify().expect("whole");
    assert_eq!(table.properties().raw["rocksdb.index.key.is.user.key"], [0]);
    let found = get(&table, &seek_key(b"k", MAX_SEQUENCE), usize::MAX).expect("reads");
    assert_eq!(found, entries[1..500]);
    let found = get(&table, &seek_key(b"k", 250), 2).expect("reads");
    assert_eq!(found, entries[250..252]);
    let found = get(&table, &seek_key(b"k", 0), 2).expect("reads");
    assert_eq!(found, []);
}

#[test]
fn many_threads_share_a_table_and_a_small_cache() {
    let entries = numbered(5000);
    let cache = BlockCache::new(64 << 10);
    let (table, _) = open_cached(build(with_bloom(), &entries, &[]), &cache);
    std::thread::scope(|s| {
        for t in 0..4usize {
            let (table, entries) = (&table, &entries);
            s.spawn(move || {
                for i in 0..3000usize {
                    let e = &entries[(i * 7919 + t * 31) % entries.len()];
                    let found = get(table, &e.0, 1).expect("reads");
                    assert_eq!(found, std::slice::from_ref(e));
                }
                let mut it = table.iter(TableReadOptions::default());
                assert_eq!(&collect(&mut it).expect("reads"), entries);
            });
        }
    });
    assert!(cache.usage() <= 64 << 10);
}
