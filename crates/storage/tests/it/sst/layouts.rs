//! Every layout that can be written: format versions, kinds of indexes and filters, hash tables in
//! data blocks. Every way of reading returns what was written, and RocksDB's tool agrees if it
//! knows the format.

use super::files::*;
use super::interop;
use std::sync::{Arc, Mutex};
use whitewater_storage::ErrorKind;
use whitewater_storage::key::{MAX_SEQUENCE, ValueType, internal_key, seek_key};
use whitewater_storage::rangedel::RangeTombstone;
use whitewater_storage::sst::{
    BlockKind, CompressionType, DataBlockIndexType, FilterEvent, FilterPolicy, IndexType,
    PrefixTransform, Table, TableBuilder, TableBuilderOptions, TableEvents, TableOptions,
    TableReadOptions,
};

/// The first bytes of a key; shorter keys have no prefix.
#[derive(Debug)]
pub struct Fixed(pub usize);

impl PrefixTransform for Fixed {
    fn name(&self) -> String {
        format!("rocksdb.FixedPrefix.{}", self.0)
    }
    fn prefix<'a>(&self, user_key: &'a [u8]) -> Option<&'a [u8]> {
        user_key.get(..self.0)
    }
}

const INDEXES: [IndexType; 4] = [
    IndexType::BinarySearch,
    IndexType::HashSearch,
    IndexType::TwoLevelIndexSearch,
    IndexType::BinarySearchWithFirstKey,
];

const BLOOM: FilterPolicy = FilterPolicy::Bloom { bits_per_key: 10.0 };
const RIBBON: FilterPolicy = FilterPolicy::Ribbon {
    bloom_equivalent_bits_per_key: 10.0,
    bloom_before_level: 0,
};

/// `versions` entries of each of so many user keys, newest first.
fn entries(keys: u64, versions: u64) -> Vec<Entry> {
    let mut out = Vec::new();
    for i in 0..keys {
        for v in 0..versions {
            let key = internal_key(
                format!("k{:06}", i * 2).as_bytes(),
                90 - v,
                ValueType::Value,
            );
            out.push((
                key,
                format!("value {} of {i} ", v * 7919).repeat(3).into_bytes(),
            ));
        }
    }
    out
}

fn options(table: TableOptions) -> TableBuilderOptions {
    TableBuilderOptions {
        table,
        prefix_extractor: Some(Arc::new(Fixed(4))),
        column_family_name: "default".to_owned(),
        db_id: "0b34ba01-73e2-4ba8-a386-d3b8ef4fc4d5".to_owned(),
        session_id: "ABCDEFGHIJKLMNOPQRST".to_owned(),
        file_number: 12,
        ..TableBuilderOptions::default()
    }
}

/// All layouts to test, with their names.
fn layouts() -> Vec<(String, TableBuilderOptions)> {
    let mut out = Vec::new();
    for format_version in 2..=7 {
        for index_type in INDEXES {
            let two_level = index_type == IndexType::TwoLevelIndexSearch;
            for (filter_policy, interval) in [(BLOOM, 1), (RIBBON, 3)] {
                for partition_filters in [false, true] {
                    if partition_filters && !two_level {
                        continue;
                    }
                    let table = TableOptions {
                        format_version,
                        index_type,
                        partition_filters,
                        metadata_block_size: 300,
                        index_block_restart_interval: interval,
                        filter_policy: Some(filter_policy),
                        data_block_index_type: match interval {
                            1 => DataBlockIndexType::BinaryAndHash,
                            _ => DataBlockIndexType::BinarySearch,
                        },
                        ..TableOptions::default()
                    };
                    let mut o = options(table);
                    if interval == 3 {
                        o.compression = CompressionType::Snappy;
                    }
                    let what = format!(
                        "version {format_version} {index_type:?} {filter_policy:?} \
                         partitions {partition_filters}"
                    );
                    out.push((what, o));
                }
            }
        }
    }
    out
}

#[test]
fn every_layout_round_trips() {
    for (what, options) in layouts() {
        for versions in [1, 60] {
            let given = entries(3000 / versions, versions);
            let table = open(build(options.clone(), &given, &[])).expect("opens");
            table.verify().unwrap_or_else(|e| panic!("{what}: {e}"));
            let mut it = table.iter(TableReadOptions::default());
            assert_eq!(collect(&mut it).expect("reads"), given, "{what}");
            assert_eq!(collect_backward(&mut it).expect("reads"), given, "{what}");
            for (i, (key, value)) in given.iter().enumerate().step_by(7) {
                let found = get(&table, key, 1).expect("reads");
                assert_eq!(found, [(key.clone(), value.clone())], "{i} of {what}");
                it.seek(key);
                assert_eq!(it.key(), key, "{what}");
                it.seek_for_prev(key);
                assert_eq!(it.key(), key, "{what}");
                // The newest entry, from above all of them.
                let newest = get(&table, &seek_key(user(key), MAX_SEQUENCE), 1).expect("reads");
                let first = i - i % versions as usize;
                assert_eq!(newest[0].0, given[first].0, "{what}");
            }
            for i in (0..6000).step_by(11) {
                let absent = seek_key(format!("k{:06}", i | 1).as_bytes(), MAX_SEQUENCE);
                assert_eq!(get(&table, &absent, 1).expect("reads"), [], "{what}");
                it.seek(&absent);
                let next = given.iter().find(|(k, _)| user(k) > user(&absent));
                assert_eq!(
                    it.valid().then(|| it.key()),
                    next.map(|e| &e.0[..]),
                    "{what}"
                );
            }
        }
    }
}

#[test]
fn properties_tell_what_was_written() {
    for (what, options) in layouts() {
        let table = open(build(options.clone(), &entries(3000, 1), &[])).expect("opens");
        let raw = &table.properties().raw;
        let is = |name: &str, value: &[u8]| assert_eq!(raw[name], value, "{name} of {what}");
        let (t, version) = (&options.table, options.table.format_version);
        is("rocksdb.format.version", &[version as u8]);
        is("rocksdb.index.key.is.user.key", &[u8::from(version >= 3)]);
        is(
            "rocksdb.index.value.is.delta.encoded",
            &[u8::from(version >= 4)],
        );
        let index_type = (t.index_type as u32).to_le_bytes();
        is("rocksdb.block.based.table.index.type", &index_type);
        let snappy = options.compression == CompressionType::Snappy;
        is(
            "rocksdb.compression",
            match (version, snappy) {
                (7, true) => b"BuiltinV2;01;",
                (7, false) => b";;",
                (_, true) => b"Snappy",
                (_, false) => b"NoCompression",
            },
        );
        let two_level = t.index_type == IndexType::TwoLevelIndexSearch;
        assert_eq!(raw["rocksdb.index.partitions"] != [0], two_level, "{what}");
        assert_eq!(
            raw["rocksdb.top-level.index.size"] != [0],
            two_level,
            "{what}"
        );
        is(
            "rocksdb.filter.policy",
            match t.filter_policy {
                Some(FilterPolicy::Ribbon { .. }) => b"ribbonfilter",
                _ => b"bloomfilter",
            },
        );
        is("rocksdb.prefix.extractor.name", b"rocksdb.FixedPrefix.4");
        is("rocksdb.block.based.table.prefix.filtering", b"1");
        is("rocksdb.block.based.table.whole.key.filtering", b"1");
        is("rocksdb.key.smallest.seqno", &[90]);
        is("rocksdb.key.largest.seqno", &[90]);
    }
}

#[test]
fn sst_dump_reads_every_layout_it_knows() {
    if !interop::have_tool() {
        return;
    }
    let dir = tempfile::tempdir().expect("a directory");
    let file = dir.path().join("000012.sst");
    let tombstones = [RangeTombstone {
        start: b"k000100".to_vec(),
        end: b"k000200".to_vec(),
        seq: 99,
    }];
    for (what, options) in layouts() {
        if options.table.format_version > 5 {
            continue;
        }
        for versions in [1, 60] {
            let given = entries(3000 / versions, versions);
            let bytes = build(options.clone(), &given, &tombstones);
            std::fs::write(&file, bytes).expect("writes");
            let out = interop::run(&file, &["--command=verify"]);
            assert!(out.contains("The file is ok"), "{what}: {out}");
            interop::assert_scan(&file, &given, &what);
            let out = interop::run(&file, &["--command=none", "--show_properties"]);
            let entries = given.len() + 1;
            assert!(
                out.contains(&format!("# entries: {entries}")),
                "{what}: {out}"
            );
            assert!(!out.to_lowercase().contains("corrupt"), "{what}: {out}");
        }
    }
}

#[test]
fn a_hash_index_needs_prefixes() {
    let table = TableOptions {
        index_type: IndexType::HashSearch,
        ..TableOptions::default()
    };
    let mut without = options(table.clone());
    without.prefix_extractor = None;
    let e = TableBuilder::new(without, Box::new(Sink::default())).expect_err("refused");
    assert_eq!(e.kind(), ErrorKind::InvalidArgument);

    let types = |key: &[u8]| {
        let entry = (internal_key(key, 1, ValueType::Value), b"v".to_vec());
        let table = open(build(options(table.clone()), &[entry], &[])).expect("opens");
        table.properties().raw["rocksdb.block.based.table.index.type"][0]
    };
    assert_eq!(types(b"long enough"), 1);
    assert_eq!(types(b"abc"), 0);
}

#[test]
fn some_tables_get_no_filter() {
    let has_filter = |change: fn(&mut TableBuilderOptions)| {
        let mut o = options(TableOptions {
            filter_policy: Some(BLOOM),
            ..TableOptions::default()
        });
        change(&mut o);
        let table = open(build(o, &entries(10, 1), &[])).expect("opens");
        table.properties().filter_size > 0
    };
    assert!(has_filter(|_| {}));
    assert!(has_filter(|o| o.table.whole_key_filtering = false));
    assert!(!has_filter(|o| o.skip_filters = true));
    assert!(!has_filter(|o| o.table.filter_policy = None));
    assert!(!has_filter(|o| {
        o.table.whole_key_filtering = false;
        o.prefix_extractor = None;
    }));
}

/// Counts by event, in the order of their declaration.
#[derive(Debug, Default)]
struct Counts(Mutex<[u64; 6]>);

impl TableEvents for Counts {
    fn filter(&self, event: FilterEvent) {
        self.0.lock().unwrap()[event as usize] += 1;
    }
    fn cache_hit(&self, _: BlockKind, _: usize) {}
    fn cache_miss(&self, _: BlockKind) {}
    fn cache_add(&self, _: BlockKind, _: usize) {}
    fn cache_add_failed(&self) {}
}

#[test]
fn cursors_that_keep_to_a_prefix_find_all_of_it() {
    // Prefixes of one key, of many data blocks, and of those in between.
    let mut given = Vec::new();
    for group in 0..60u64 {
        for i in 0..[1, 3, 40, 300][group as usize % 4] {
            let key = format!("{:04}{i:05}", group * 3);
            let entry = internal_key(key.as_bytes(), 9, ValueType::Value);
            given.push((entry, b"value of a middling length".to_vec()));
        }
    }
    for (partitions, whole_keys) in [(false, false), (true, false), (true, true)] {
        let table = TableOptions {
            block_size: 512,
            index_type: IndexType::TwoLevelIndexSearch,
            metadata_block_size: 40,
            partition_filters: partitions,
            whole_key_filtering: whole_keys,
            filter_policy: Some(FilterPolicy::Bloom { bits_per_key: 20.0 }),
            ..TableOptions::default()
        };
        let bytes = build(options(table), &given, &[]);
        let counts = Arc::new(Counts::default());
        let size = bytes.len() as u64;
        let mut reader = reader_options(&Default::default());
        reader.prefix_extractor = Some(Arc::new(Fixed(4)));
        reader.events = Some(counts.clone());
        let table = Arc::new(Table::open(source(bytes), size, reader).expect("opens"));
        let mut it = table.iter(TableReadOptions::default());
        it.keep_to_prefix(true);
        for prefix in 0..181u64 {
            let prefix = format!("{prefix:04}");
            let has_prefix = |e: &&Entry| e.0.starts_with(prefix.as_bytes());
            for middle in ["", "00000", "00002", "00150", "99999"] {
                let target = seek_key(format!("{prefix}{middle}").as_bytes(), MAX_SEQUENCE);
                let mut all = given.iter().filter(has_prefix);
                let want = all.find(|e| user(&e.0) >= user(&target));
                it.seek(&target);
                if let Some((key, _)) = want {
                    assert_eq!(it.key(), key);
                }
                it.seek_for_prev(&target);
                let mut all = given.iter().rev().filter(has_prefix);
                if let Some((key, _)) = all.find(|e| user(&e.0) < user(&target)) {
                    assert_eq!(it.key(), key);
                }
                it.status().expect("no failure");
            }
        }
        let [_, _, _, checked, useful, _] = *counts.0.lock().unwrap();
        // Partitions are not queried for backward seeks.
        let asked = 181 * 5 * if partitions { 1 } else { 2 };
        assert_eq!(checked, asked);
        assert!(useful > asked / 2, "{useful} of {asked}");
        // A key outside all prefixes, and a cursor that shows everything.
        it.seek(&seek_key(b"003", MAX_SEQUENCE));
        assert!(it.key().starts_with(b"0030"));
        it.keep_to_prefix(false);
        it.seek(&seek_key(b"0001", MAX_SEQUENCE));
        assert!(it.key().starts_with(b"0003"));
        assert_eq!(counts.0.lock().unwrap()[3], asked);
        // Look-ups find every key whatever they ask for.
        for (key, _) in given.iter().step_by(13) {
            assert_eq!(get(&table, key, 1).expect("reads").len(), 1);
            assert!(table.may_contain(user(key)));
        }
        assert!(!table.may_contain(b"0001x"));
    }
}
