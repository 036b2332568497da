//! Damaged tables: reading gives an error or the right content, never anything else.

use super::files::*;
use std::path::Path;
use whitewater_storage::checksum::ChecksumType;
use whitewater_storage::fs::WritableFile;
use whitewater_storage::key::{ValueType, internal_key, seek_key};
use whitewater_storage::rangedel::RangeTombstone;
use whitewater_storage::sst::{
    CompressionType, FilterPolicy, TableBuilder, TableBuilderOptions, TableOptions,
    TableReadOptions,
};
use whitewater_storage::{Error, ErrorKind, Result};

fn entries() -> Vec<Entry> {
    (0..60u64)
        .map(|i| {
            let key = format!("key{:04}", i / 2 * 2);
            let key = internal_key(key.as_bytes(), 100 - i, ValueType::Value);
            (key, format!("value{i}").repeat(3).into_bytes())
        })
        .collect()
}

fn tombstones() -> Vec<RangeTombstone> {
    vec![RangeTombstone {
        start: b"key0003".to_vec(),
        end: b"key0009".to_vec(),
        seq: 33,
    }]
}

fn table(checksum: ChecksumType, compression: CompressionType) -> Vec<u8> {
    let options = TableBuilderOptions {
        table: TableOptions {
            block_size: 256,
            checksum,
            filter_policy: Some(FilterPolicy::Bloom { bits_per_key: 10.0 }),
            ..TableOptions::default()
        },
        compression,
        ..TableBuilderOptions::default()
    };
    build(options, &entries(), &tombstones())
}

/// Opens the table and reads everything in every way. Whatever is read must be right.
fn read_all(bytes: Vec<u8>) -> Result<()> {
    let want = entries();
    let table = open(bytes)?;
    assert_eq!(table.range_tombstones(), tombstones());
    let mut it = table.iter(TableReadOptions::default());
    assert_eq!(collect(&mut it)?, want);
    assert_eq!(collect_backward(&mut it)?, want);
    for e in &want {
        it.seek(&e.0);
        it.status()?;
        assert_eq!((it.key(), it.value()), (&e.0[..], &e.1[..]));
        assert_eq!(get(&table, &e.0, 1)?, std::slice::from_ref(e));
    }
    assert_eq!(get(&table, &seek_key(b"key0001", 200), 1)?, []);
    table.verify()
}

fn check(bytes: Vec<u8>, what: &str) -> bool {
    match read_all(bytes) {
        Ok(()) => false,
        Err(e) => {
            assert!(
                matches!(e.kind(), ErrorKind::Corruption | ErrorKind::NotSupported),
                "{what}: {e}"
            );
            let text = e.to_string();
            assert!(text.contains("/db/000042.sst"), "{what}: {e}");
            assert!(e.offset().is_some(), "{what}: {e}");
            true
        }
    }
}

#[test]
fn every_flipped_bit_is_found_or_harmless() {
    for (checksum, compression) in [
        (ChecksumType::XXH3, CompressionType::None),
        (ChecksumType::CRC32c, CompressionType::Lz4),
        (ChecksumType::XXH3, CompressionType::Zstd),
    ] {
        let good = table(checksum, compression);
        assert!(!check(good.clone(), "whole"));
        let footer = good.len() - 53;
        for at in 0..good.len() {
            // Every bit of the footer, which has no checksum; two elsewhere.
            let step = if at >= footer { 1 } else { 4 };
            for bit in (at % step..8).step_by(step) {
                let mut bad = good.clone();
                bad[at] ^= 1 << bit;
                let found = check(bad, &format!("bit {bit} of byte {at}"));
                assert!(found || at >= footer, "bit {bit} of byte {at} not found");
            }
        }
    }
}

#[test]
fn every_truncation_is_found() {
    let good = table(ChecksumType::XXH3, CompressionType::Snappy);
    for len in 0..good.len() {
        assert!(check(good[..len].to_vec(), "cut"), "cut at {len}");
    }
}

#[test]
fn zeroed_stretches_are_found() {
    let good = table(ChecksumType::CRC32c, CompressionType::None);
    for start in (0..good.len()).step_by(64) {
        let mut bad = good.clone();
        let end = (start + 64).min(good.len());
        bad[start..end].fill(0);
        assert!(check(bad, "zeroed"), "zeroed from {start}");
    }
}

#[test]
fn without_checksums_damage_is_still_no_panic() {
    let good = table(ChecksumType::XXH3, CompressionType::None);
    let options = TableReadOptions {
        verify_checksums: false,
        ..TableReadOptions::default()
    };
    let mut survived = 0;
    for at in 0..good.len() - 53 {
        for with in [0, 0x7f, 0xff] {
            let mut bad = good.clone();
            bad[at] = with;
            let Ok(table) = open(bad) else { continue };
            let mut it = table.iter(options);
            it.seek_to_first();
            let mut steps = 0;
            while it.valid() {
                it.next();
                steps += 1;
                assert!(steps < good.len());
            }
            it.seek_to_last();
            while it.valid() {
                it.prev();
                steps += 1;
                assert!(steps < 2 * good.len());
            }
            it.seek(&seek_key(b"key0022", 90));
            let found = table.get(&seek_key(b"key0022", 90), options, &mut |_, _| Ok(true));
            survived += usize::from(found.is_ok());
        }
    }
    assert!(survived > 0);
}

/// A file that fails once it holds `room` bytes.
#[derive(Debug)]
struct Full {
    sink: Sink,
    room: u64,
}

impl WritableFile for Full {
    fn append(&mut self, data: &[u8]) -> Result<()> {
        if self.sink.len() + data.len() as u64 > self.room {
            let e = std::io::Error::from(std::io::ErrorKind::StorageFull);
            return Err(Error::io("append", Path::new("/db/000042.sst"), &e));
        }
        self.sink.append(data)
    }
    fn flush(&mut self) -> Result<()> {
        Ok(())
    }
    fn sync(&mut self) -> Result<()> {
        Ok(())
    }
    fn len(&self) -> u64 {
        self.sink.len()
    }
}

#[test]
fn a_failed_write_sticks() {
    let file = |room| {
        let sink = Sink::default();
        Box::new(Full { sink, room })
    };
    let key = |i: u64| internal_key(&i.to_be_bytes(), 1, ValueType::Value);
    let mut noise = 1u32;
    let mut value = || -> Vec<u8> {
        let mut next = || {
            noise = noise.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
            (noise >> 24) as u8
        };
        (0..10_000).map(|_| next()).collect()
    };
    let mut threads = TableBuilderOptions {
        compression: CompressionType::Snappy,
        ..TableBuilderOptions::default()
    };
    threads.compression_options.parallel_threads = 3;
    for options in [TableBuilderOptions::default(), threads] {
        let mut b = TableBuilder::new(options, file(1 << 20)).expect("starts");
        let mut added = 0;
        let e = loop {
            match b.add(&key(added), &value()) {
                Ok(()) => added += 1,
                Err(e) => break e,
            }
            assert!(added < 1000);
        };
        assert_eq!(e.kind(), ErrorKind::IOError);
        assert!(added >= 50);
        assert_eq!(b.add(&key(5000), b""), Err(e.clone()));
        assert_eq!(b.add_range_tombstone(&tombstones()[0]), Err(e.clone()));
        assert_eq!(b.finish().expect_err("no table"), e);
    }

    let mut b = TableBuilder::new(TableBuilderOptions::default(), file(100)).expect("starts");
    b.add(&key(1), b"v").expect("still in memory");
    assert_eq!(b.finish().expect_err("full").kind(), ErrorKind::IOError);
}

#[test]
fn the_bad_block_is_named() {
    let good = table(ChecksumType::XXH3, CompressionType::None);
    let mut bad = good.clone();
    bad[3] ^= 1; // in the first data block
    let table = open(bad).expect("the index is whole");
    let first = &entries()[0];
    let e = get(&table, &first.0, 1).expect_err("first block");
    assert_eq!((e.kind(), e.offset()), (ErrorKind::Corruption, Some(0)));
    assert!(e.to_string().contains("checksum"), "{e}");
    // The rest can be read.
    let last = entries().pop().expect("some");
    assert_eq!(get(&table, &last.0, 1).expect("reads"), [last]);
    let mut it = table.iter(TableReadOptions::default());
    it.seek_to_first();
    assert!(!it.valid());
    assert_eq!(it.status(), Err(e));
    it.seek_to_last();
    assert!(it.valid());
    assert_eq!(it.status(), Ok(()));
}
