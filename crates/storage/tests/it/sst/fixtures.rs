//! Tables that RocksDB wrote.

use super::files::*;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use whitewater_storage::checksum::ChecksumType;
use whitewater_storage::key::{
    InternalComparator, UserComparator, internal_key, parse_internal_key,
};
use whitewater_storage::sst::{Table, TableReadOptions};
use whitewater_storage::{Error, ErrorKind, Result};

/// The directory of the fixtures.
pub fn directory() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../testdata/rocksdb")
}

/// Every table of every fixture.
pub fn tables(dir: &Path) -> Vec<PathBuf> {
    let list = |dir: &Path| -> Vec<PathBuf> {
        let entries = std::fs::read_dir(dir).expect("readable");
        entries.map(|e| e.expect("readable").path()).collect()
    };
    let mut out: Vec<PathBuf> = list(dir)
        .iter()
        .filter(|d| d.is_dir())
        .flat_map(|d| list(d))
        .filter(|p| p.extension().is_some_and(|e| e == "sst"))
        .collect();
    out.sort();
    out
}

pub fn open_file(path: &Path) -> Result<Arc<Table>> {
    let bytes = std::fs::read(path).expect("readable");
    let size = bytes.len() as u64;
    let open = |user: UserComparator| {
        let file = Arc::new(Source {
            bytes: bytes.clone().into(),
            path: path.to_owned(),
            reads: Default::default(),
        });
        Table::open(file, size, reader_options(&InternalComparator::new(user))).map(Arc::new)
    };
    // A plain table does not say which comparator it is sorted by.
    let other_order = |e: &Error| {
        e.kind() == ErrorKind::InvalidArgument || e.to_string().contains("another comparator")
    };
    match open(UserComparator::Bytewise) {
        Err(e) if other_order(&e) => open(UserComparator::ReverseBytewise),
        other => other,
    }
}

#[test]
fn all_fixture_tables_open_and_verify() {
    let dir = directory();
    let mut checked = 0;
    for path in tables(&dir) {
        let verified = open_file(&path).and_then(|t| t.verify());
        verified.unwrap_or_else(|e| panic!("{e}"));
        checked += 1;
    }
    assert!(checked >= 25);
}

#[test]
fn all_fixture_entries_are_found_all_ways() {
    let dir = directory();
    for path in tables(&dir) {
        let Ok(table) = open_file(&path) else {
            continue;
        };
        let mut it = table.iter(TableReadOptions::default());
        let Ok(entries) = collect(&mut it) else {
            continue;
        };
        assert_eq!(collect_backward(&mut it).expect("reads"), entries);
        for e in &entries {
            it.seek(&e.0);
            assert!(it.valid(), "{path:?}");
            assert_eq!((it.key(), it.value()), (&e.0[..], &e.1[..]));
            let found = get(&table, &e.0, 1).expect("reads");
            assert_eq!(found, std::slice::from_ref(e), "{path:?}");
            assert!(table.may_contain(user(&e.0)), "{path:?}");
        }
    }
}

#[test]
fn filters_of_all_kinds_exclude_absent_keys() {
    let dir = directory();
    let mut with_filter = 0;
    for path in tables(&dir) {
        let Ok(table) = open_file(&path) else {
            continue;
        };
        let whole_keys = table
            .properties()
            .raw
            .get("rocksdb.block.based.table.whole.key.filtering")
            .is_none_or(|v| v == b"1");
        // The filter of a plain table with a prefix extractor holds prefixes only.
        let extractor = table.properties().raw.get("rocksdb.prefix.extractor.name");
        let is_plain = table.checksum_type() == ChecksumType::NoChecksum;
        let whole_keys = whole_keys && !(is_plain && extractor.is_some_and(|e| e != b"nullptr"));
        if table.properties().filter_size == 0 || !whole_keys {
            continue;
        }
        let absent = |i: u32| format!("absent key {i}").into_bytes();
        let passed = (0..2000).filter(|&i| table.may_contain(&absent(i))).count();
        println!("{}: {passed} of 2000 absent keys pass", path.display());
        assert!(passed < 400, "{path:?}: {passed}");
        with_filter += 1;
    }
    assert!(with_filter > 0);
}

#[test]
fn ingested_tables_take_the_sequence_number_of_the_manifest() {
    let dir = directory();
    let mut ingested = 0;
    for path in tables(&dir) {
        let mut bytes = std::fs::read(&path).expect("readable");
        let Ok(plain) = open_file(&path) else {
            continue;
        };
        if !plain
            .properties()
            .raw
            .contains_key("rocksdb.external_sst_file.version")
        {
            continue;
        }
        ingested += 1;
        let with_seqno = |bytes: &[u8], seqno| {
            let file = source(bytes.to_vec());
            let size = file.bytes.len() as u64;
            let mut options = reader_options(&InternalComparator::default());
            options.largest_seqno = seqno;
            Table::open(file, size, options).map(Arc::new)
        };
        let table = with_seqno(&bytes, Some(1234)).expect("opens");
        table.verify().expect("whole");
        let mut it = table.iter(TableReadOptions::default());
        let entries = collect(&mut it).expect("reads");
        assert!(!entries.is_empty());
        assert_eq!(collect_backward(&mut it).expect("reads"), entries);
        for (k, v) in &entries {
            let p = parse_internal_key(k).expect("whole");
            assert_eq!(p.seq, 1234);
            it.seek(k);
            assert_eq!(it.key(), k);
            let found = get(&table, k, 9).expect("reads");
            assert_eq!(found, [(k.clone(), v.clone())]);
            // Not there for a reader of the past.
            let before = internal_key(p.user_key, 1233, p.ty);
            assert_eq!(get(&table, &before, 9).expect("reads"), []);
        }

        // Older versions of RocksDB write the number into the file instead,
        // and leave the checksum as it was.
        let name = b"global_seqno";
        let at = bytes.windows(name.len()).position(|w| w == name);
        let at = at.expect("has the property") + name.len();
        assert_eq!(bytes[at..at + 8], [0; 8]);
        bytes[at..at + 8].copy_from_slice(&1234u64.to_le_bytes());
        for seqno in [None, Some(1234)] {
            let table = with_seqno(&bytes, seqno).expect("opens");
            table.verify().expect("whole");
            let mut it = table.iter(TableReadOptions::default());
            assert_eq!(collect(&mut it).expect("reads"), entries);
        }
        let e = with_seqno(&bytes, Some(1235)).expect_err("two numbers");
        assert_eq!(e.kind(), ErrorKind::Corruption);
        bytes[at + 9] ^= 1;
        let e = with_seqno(&bytes, None).expect_err("damage next to it");
        assert_eq!(e.kind(), ErrorKind::Corruption);
    }
    println!("{ingested} ingested tables");
    assert!(ingested > 0);
}
