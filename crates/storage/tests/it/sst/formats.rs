//! Plain and cuckoo tables: written here and read back, and damaged.

use super::files::*;
use std::sync::Arc;
use whitewater_storage::cache::BlockCache;
use whitewater_storage::key::{
    InternalComparator, UserComparator, ValueType, internal_key, seek_key,
};
use whitewater_storage::rangedel::RangeTombstone;
use whitewater_storage::sst::{
    CuckooTableOptions, PlainEncoding, PlainTableOptions, PrefixTransform, Table,
    TableBuilderOptions, TableFormat, TableReadOptions,
};
use whitewater_storage::{ErrorKind, Result};

/// The first four bytes of a key; shorter keys have no prefix.
#[derive(Debug)]
struct Four;

impl PrefixTransform for Four {
    fn name(&self) -> String {
        "rocksdb.FixedPrefix.4".to_owned()
    }

    fn prefix<'a>(&self, user_key: &'a [u8]) -> Option<&'a [u8]> {
        user_key.get(..4)
    }
}

fn plain_formats() -> Vec<TableBuilderOptions> {
    let mut out = Vec::new();
    for encoding_type in [PlainEncoding::Plain, PlainEncoding::Prefix] {
        for (store_index_in_file, bloom_locality) in [(false, 0), (true, 0), (true, 1)] {
            for (prefixes, index_sparseness) in [(false, 16), (true, 16), (true, 0), (true, 1000)] {
                out.push(TableBuilderOptions {
                    format: TableFormat::Plain(PlainTableOptions {
                        encoding_type,
                        store_index_in_file,
                        index_sparseness,
                        ..PlainTableOptions::default()
                    }),
                    prefix_extractor: prefixes.then(|| Arc::new(Four) as Arc<dyn PrefixTransform>),
                    bloom_locality,
                    ..TableBuilderOptions::default()
                });
            }
        }
    }
    out
}

fn cuckoo_formats() -> Vec<TableBuilderOptions> {
    let defaults = CuckooTableOptions::default();
    let formats = [
        defaults,
        CuckooTableOptions {
            use_module_hash: false,
            identity_as_first_hash: true,
            ..defaults
        },
        CuckooTableOptions {
            cuckoo_block_size: 1,
            hash_table_ratio: 0.5,
            ..defaults
        },
        CuckooTableOptions {
            hash_table_ratio: 0.99,
            max_search_depth: 500,
            ..defaults
        },
    ];
    let options = |format| TableBuilderOptions {
        format: TableFormat::Cuckoo(format),
        ..TableBuilderOptions::default()
    };
    formats.map(options).to_vec()
}

/// Entries with versions of keys, tombstones, long keys and large values.
fn mixed_entries() -> Vec<Entry> {
    let mut out = vec![(internal_key(b"", 3, ValueType::Value), b"empty".to_vec())];
    for n in 0..2000u32 {
        let mut key = format!("{:04}-{n:06}", n / 37).into_bytes();
        if n % 50 == 3 {
            key.resize(60 + n as usize % 300, b'x');
        }
        let value = vec![n as u8; if n % 400 == 7 { 9000 } else { n as usize % 40 }];
        if n % 5 == 0 {
            let newer = internal_key(&key, u64::from(n) + 2, ValueType::Deletion);
            out.push((newer, Vec::new()));
        }
        let (seq, ty) = match n % 3 {
            0 => (0, ValueType::Value),
            1 => (u64::from(n), ValueType::Merge),
            _ => (u64::from(n), ValueType::Value),
        };
        out.push((internal_key(&key, seq, ty), value));
    }
    out
}

/// Entries of one size.
fn even_entries(last_level: bool) -> Vec<Entry> {
    let entry = |n: u64| {
        let key = format!("{n:010}").into_bytes();
        if !last_level && n.is_multiple_of(7) {
            return (internal_key(&key, n + 1, ValueType::Deletion), Vec::new());
        }
        let seq = if last_level { 0 } else { n + 1 };
        (internal_key(&key, seq, ValueType::Value), vec![n as u8; 20])
    };
    (0..3000).map(entry).collect()
}

fn check(table: &Arc<Table>, entries: &[Entry]) {
    table.verify().expect("whole");
    let mut it = table.iter(TableReadOptions::default());
    assert!(collect(&mut it).expect("reads") == entries);
    assert!(collect_backward(&mut it).expect("reads") == entries);
    for entry in entries.iter().step_by(17) {
        it.seek(&entry.0);
        assert!(it.valid() && it.key() == entry.0 && it.value() == entry.1);
        it.seek_for_prev(&entry.0);
        assert!(it.valid() && it.key() == entry.0);
        let found = get(table, &entry.0, 1).expect("reads");
        assert_eq!(found, std::slice::from_ref(entry));
        assert!(table.may_contain(user(&entry.0)));
    }
    let absent = get(table, &seek_key(b"0000-99999", 9), 1).expect("reads");
    assert_eq!(absent, []);
    assert_eq!(table.properties().num_entries, entries.len() as u64);
}

#[test]
fn plain_tables_are_read_as_they_were_written() {
    let entries = mixed_entries();
    for options in plain_formats() {
        println!("{:?}", options.format);
        let bytes = build(options, &entries, &[]);
        check(&open(bytes.clone()).expect("opens"), &entries);
        let cache = BlockCache::new(1 << 20);
        let (table, _) = open_cached(bytes, &cache);
        check(&table, &entries);
        check(&table, &entries);
        table.evict_blocks();
        check(&table, &entries);
    }
}

#[test]
fn cuckoo_tables_are_read_as_they_were_written() {
    for last_level in [false, true] {
        let entries = even_entries(last_level);
        for options in cuckoo_formats() {
            println!("{:?}", options.format);
            let bytes = build(options, &entries, &[]);
            check(&open(bytes.clone()).expect("opens"), &entries);
            let (table, _) = open_cached(bytes, &BlockCache::new(1 << 20));
            check(&table, &entries);
        }
    }
}

#[test]
fn tables_without_entries_have_none() {
    for options in [plain_formats(), cuckoo_formats()].concat() {
        let table = open(build(options, &[], &[])).expect("opens");
        table.verify().expect("whole");
        assert_eq!(
            collect(&mut table.iter(TableReadOptions::default())),
            Ok(vec![])
        );
        assert_eq!(get(&table, &seek_key(b"k", 9), 1), Ok(vec![]));
    }
}

/// RocksDB's plain tables do not say which comparator they are sorted by.
#[test]
fn a_plain_table_in_another_order_is_no_damage() {
    let reverse = InternalComparator::new(UserComparator::ReverseBytewise);
    let options = TableBuilderOptions {
        format: TableFormat::Plain(PlainTableOptions::default()),
        comparator: reverse.clone(),
        ..TableBuilderOptions::default()
    };
    let key = |n: u32| internal_key(format!("{n:05}").as_bytes(), 1, ValueType::Value);
    let entries: Vec<Entry> = (0..1000).rev().map(|n| (key(n), vec![1])).collect();
    let bytes = build(options, &entries, &[]);
    let e = open(bytes.clone()).expect_err("another comparator");
    assert_eq!(e.kind(), ErrorKind::InvalidArgument);
    let (file, size) = (source(bytes.clone()), bytes.len() as u64);
    let table = Table::open(file, size, reader_options(&reverse)).expect("opens");
    check(&Arc::new(table), &entries);
}

#[test]
fn what_a_format_cannot_hold_is_refused() {
    let refused = |options: &TableBuilderOptions, entries: &[Entry]| {
        let sink = Box::new(Sink::default());
        let mut builder = whitewater_storage::sst::TableBuilder::new(options.clone(), sink)?;
        entries.iter().try_for_each(|(k, v)| builder.add(k, v))?;
        builder.finish().map(|_| ())
    };
    let fails = |result: Result<()>, what: &str| {
        let e = result.expect_err(what);
        assert_eq!(e.kind(), ErrorKind::NotSupported, "{e}");
        assert!(e.to_string().contains(what), "{e}");
    };
    let put =
        |key: &[u8], seq, value: &[u8]| (internal_key(key, seq, ValueType::Value), value.to_vec());
    let tombstone = RangeTombstone {
        start: b"a".to_vec(),
        end: b"b".to_vec(),
        seq: 1,
    };
    for options in [&plain_formats()[0], &cuckoo_formats()[0]] {
        let sink = Box::new(Sink::default());
        let mut builder =
            whitewater_storage::sst::TableBuilder::new(options.clone(), sink).expect("starts");
        fails(
            builder.add_range_tombstone(&tombstone),
            "Range deletion unsupported",
        );
    }
    let fixed = TableBuilderOptions {
        format: TableFormat::Plain(PlainTableOptions {
            user_key_len: 2,
            ..PlainTableOptions::default()
        }),
        ..TableBuilderOptions::default()
    };
    fails(refused(&fixed, &[put(b"abc", 1, b"")]), "user_key_len = 2");
    let [cuckoo, identity, ..] = &cuckoo_formats()[..] else {
        panic!("two formats");
    };
    let merge = (internal_key(b"a", 1, ValueType::Merge), vec![]);
    fails(refused(cuckoo, &[merge]), "Unsupported key type 2");
    let two = [put(b"a", 1, b""), put(b"bb", 1, b"")];
    fails(refused(cuckoo, &two), "keys have to be the same size");
    let two = [put(b"a", 1, b""), put(b"b", 1, b"v")];
    fails(refused(cuckoo, &two), "values have to be the same size");
    let two = [put(b"a", 2, b""), put(b"a", 1, b"")];
    fails(refused(cuckoo, &two), "Same key is being inserted again");
    fails(
        refused(identity, &[put(b"a", 1, b"")]),
        "identity_as_first_hash",
    );
    let every: Vec<Entry> = (0..=255u8).map(|byte| put(&[byte], 1, b"")).collect();
    fails(refused(cuckoo, &every), "Unable to find unused key");
}

/// RocksDB takes a table whose first key has the sequence number 0 for one of the last level, and
/// forgets numbers and types of the others.
#[test]
fn a_tombstone_behind_a_key_of_number_0_stays_one() {
    let entries = [
        (internal_key(b"a", 0, ValueType::Value), vec![1]),
        (internal_key(b"b", 7, ValueType::Deletion), vec![]),
        (internal_key(b"c", 8, ValueType::Value), vec![2]),
    ];
    let bytes = build(cuckoo_formats()[0].clone(), &entries, &[]);
    check(&open(bytes).expect("opens"), &entries);
}

/// Opens, verifies and reads a table. Nothing may panic.
fn read_whole(bytes: Vec<u8>) -> Result<usize> {
    let table = open(bytes)?;
    let _ = table.verify();
    let mut it = table.iter(TableReadOptions::default());
    let _ = collect_backward(&mut it);
    for n in 0..20 {
        let key = format!("{:04}-{n:06}", n / 37).into_bytes();
        let _ = get(&table, &seek_key(&key, 9), 3);
        it.seek(&seek_key(&key, 9));
        it.seek_for_prev(&seek_key(&key, 9));
    }
    let _ = table.blocks();
    collect(&mut it).map(|entries| entries.len())
}

#[test]
fn no_damage_panics() {
    let mixed: Vec<Entry> = mixed_entries().into_iter().take(12).collect();
    let even: Vec<Entry> = even_entries(false).into_iter().take(12).collect();
    let plain = plain_formats().into_iter().map(|options| (options, &mixed));
    let cuckoo = cuckoo_formats().into_iter().map(|options| (options, &even));
    for (options, entries) in plain.step_by(5).chain(cuckoo.take(2)) {
        let bytes = build(options, entries, &[]);
        assert_eq!(read_whole(bytes.clone()), Ok(entries.len()));
        for at in 0..bytes.len() {
            for change in [0x01, 0xff] {
                let mut damaged = bytes.clone();
                damaged[at] ^= change;
                let _ = read_whole(damaged);
            }
            if at % 8 == 0 {
                let _ = read_whole(bytes[..at].to_vec());
                let _ = read_whole(bytes[at..].to_vec());
            }
        }
    }
}

/// A few bytes of a key that shares a long prefix stand for all of it. Neither the index nor a
/// block may hold the prefix for each of them.
#[test]
fn long_prefixes_do_not_multiply() {
    #[derive(Debug)]
    struct Long;
    impl PrefixTransform for Long {
        fn name(&self) -> String {
            "long".to_owned()
        }
        fn prefix<'a>(&self, user_key: &'a [u8]) -> Option<&'a [u8]> {
            user_key.get(..100_000)
        }
    }
    let options = TableBuilderOptions {
        format: TableFormat::Plain(PlainTableOptions {
            encoding_type: PlainEncoding::Prefix,
            index_sparseness: 1 << 40,
            ..PlainTableOptions::default()
        }),
        prefix_extractor: Some(Arc::new(Long)),
        ..TableBuilderOptions::default()
    };
    let mut key = vec![b'k'; 100_000];
    let entries: Vec<Entry> = (0..20_000u32)
        .map(|n| {
            key.truncate(100_000);
            key.extend_from_slice(&n.to_be_bytes());
            (internal_key(&key, 0, ValueType::Value), vec![])
        })
        .collect();
    let bytes = build(options, &entries, &[]);
    let len = bytes.len();
    assert!(len < 400_000, "{len} bytes");
    let cache = BlockCache::new(64 << 20);
    let (table, _) = open_cached(bytes, &cache);
    assert!(
        table.memory_usage() < 3 * len,
        "{} of {len}",
        table.memory_usage()
    );
    let mut it = table.iter(TableReadOptions::default());
    let mut count = 0;
    it.seek_to_first();
    while it.valid() {
        assert!(it.key() == entries[count].0);
        count += 1;
        it.next();
    }
    assert_eq!(count, entries.len());
    assert!(cache.usage() < 4 * len, "{} of {len}", cache.usage());
    let found = get(&table, &entries[12_345].0, 1).expect("reads");
    assert!(found == entries[12_345..12_346]);
}
