use super::*;
use crate::fs::Fs;
use crate::fs::mem::MemFs;
use crate::key::{
    Comparator, InternalComparator, ParsedKey, UserComparator, internal_key, seek_key,
};
use crate::sst::{
    FilterPolicy, IndexType, TableBuilder, TableBuilderOptions, TableOptions, TableReadOptions,
    TableValue,
};
use std::path::Path;

const PATH: &str = "/000042.sst";

/// A table of one entry in [`PATH`], without checksums.
fn build(fs: &MemFs, table: TableOptions, change: impl FnOnce(&mut TableBuilder)) {
    let options = TableBuilderOptions {
        table: TableOptions {
            checksum: ChecksumType::NoChecksum,
            ..table
        },
        ..TableBuilderOptions::default()
    };
    let mut builder = TableBuilder::new(options, fs.create(Path::new(PATH)).unwrap()).unwrap();
    let key = internal_key(b"key-and-time", 5, ValueType::Value);
    builder.add(&key, b"value").unwrap();
    change(&mut builder);
    builder.finish().unwrap();
}

fn open_table(fs: &MemFs, options: TableReaderOptions) -> Result<Table> {
    let file = fs.open_random(Path::new(PATH)).unwrap();
    let size = file.len().unwrap();
    open(file, size, options)
}

/// What would be written could not be read.
#[test]
fn a_table_with_too_large_an_index_is_not_finished() {
    let tombstone = |n: u32| RangeTombstone {
        start: format!("from{n:08}").into_bytes(),
        end: b"to".to_vec(),
        seq: 5,
    };
    let add_more = |builder: &mut TableBuilder, entries, tombstones| {
        for n in 0..entries {
            let key = internal_key(format!("more{n:08}").as_bytes(), 5, ValueType::Value);
            builder.add(&key, &[b'v'; 200]).unwrap();
        }
        for n in 0..tombstones {
            builder.add_range_tombstone(&tombstone(n)).unwrap();
        }
    };
    for index_type in [IndexType::BinarySearch, IndexType::TwoLevelIndexSearch] {
        for (entries, tombstones, too_large) in [
            (300, 0, Some("the index")),
            (0, 300, Some("the range tombstones")),
            (10, 10, None),
        ] {
            let fs = MemFs::new();
            let options = TableBuilderOptions {
                table: TableOptions {
                    block_size: 128,
                    index_type,
                    metadata_block_size: 64,
                    ..TableOptions::default()
                },
                ..TableBuilderOptions::default()
            };
            let file = fs.create(Path::new(PATH)).unwrap();
            let mut builder = TableBuilder::new(options, file).unwrap();
            add_more(&mut builder, entries, tombstones);
            builder.limit_blocks(1000);
            let finished = builder.finish();
            if let Some(what) = too_large {
                let e = finished.unwrap_err();
                assert_eq!(e.kind(), ErrorKind::InvalidArgument, "{e}");
                assert!(e.to_string().contains(what), "{e}");
            } else {
                finished.unwrap();
            }
        }
    }
}

/// Bytewise, with timestamps of four bytes.
struct Timestamped;

impl Comparator for Timestamped {
    fn name(&self) -> &str {
        "leveldb.BytewiseComparator"
    }
    fn compare(&self, a: &[u8], b: &[u8]) -> std::cmp::Ordering {
        a.cmp(b)
    }
    fn timestamp_size(&self) -> usize {
        4
    }
}

#[test]
fn tables_that_lack_the_timestamps_of_their_keys_are_not_supported() {
    let orders = [
        UserComparator::default(),
        UserComparator::Custom(Arc::new(Timestamped)),
    ];
    for persisted in [None, Some(1), Some(0)] {
        let fs = MemFs::new();
        build(&fs, TableOptions::default(), |builder| {
            let properties = builder.properties_mut();
            if let Some(persisted) = persisted {
                properties.set_number(name::TIMESTAMPS_PERSISTED, persisted);
            }
        });
        for order in orders.clone() {
            let has_timestamps = order.timestamp_size() > 0;
            let options = TableReaderOptions {
                comparator: InternalComparator::new(order),
                ..TableReaderOptions::default()
            };
            let opened = open_table(&fs, options);
            if persisted == Some(0) && has_timestamps {
                let e = opened.unwrap_err();
                assert_eq!(e.kind(), ErrorKind::NotSupported, "{e}");
                assert_eq!(e.file(), Some(Path::new(PATH)), "{e}");
            } else {
                opened.unwrap();
            }
        }
    }
}

#[test]
fn filters_of_unknown_policies_are_not_asked() {
    let full = TableOptions {
        filter_policy: Some(FilterPolicy::Bloom { bits_per_key: 10.0 }),
        ..TableOptions::default()
    };
    let partitioned = TableOptions {
        index_type: IndexType::TwoLevelIndexSearch,
        partition_filters: true,
        ..full.clone()
    };
    for (options, name) in [
        (full, META_FULL_FILTER),
        (partitioned, META_PARTITIONED_FILTER),
    ] {
        let fs = MemFs::new();
        build(&fs, options, |_| ());
        let table = open_table(&fs, TableReaderOptions::default()).unwrap();
        let handle = table.metaindex[name];
        let path = Path::new(PATH);
        let size = fs.file_size(path).unwrap() as usize;
        let mut bytes = fs
            .open_random(path)
            .unwrap()
            .read_at(0, size)
            .unwrap()
            .to_vec();
        let mut names = bytes.windows(name.len());
        let at = names.position(|window| window == name).unwrap();
        bytes[at + name.len() - 1] = b'X';
        // What would be a filter without keys, or no index of filters at all.
        let start = handle.offset as usize;
        bytes[start..][..handle.size as usize - 5].fill(0);
        fs.create(path).unwrap().append(&bytes).unwrap();
        let table = open_table(&fs, TableReaderOptions::default()).unwrap();
        let mut found = 0;
        let lookup = seek_key(b"key-and-time", 100);
        let mut visit = |_: ParsedKey<'_>, _: TableValue<'_>| {
            found += 1;
            Ok(false)
        };
        let options = TableReadOptions::default();
        table.get(&lookup, options, &mut visit).unwrap();
        assert_eq!(found, 1);
    }
}
