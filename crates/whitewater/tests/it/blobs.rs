//! A database of RocksDB with a blob file. Its values are read, merged, filtered and deleted, and
//! the file is deleted when nothing refers to it.

use super::content::{self, check_family, open_with};
use super::fixtures::{Fixture, append};
use super::interop::tools;
use std::path::PathBuf;
use whitewater::checkpoint::Checkpoint;
use whitewater::{CompactionDecision, DB, ErrorKind, IteratorMode, Options, ReadOptions, ReadTier};

/// The family with blobs: every other value is one.
const FAMILY: &str = "blob";

fn load() -> Fixture {
    Fixture::load("wide_blob_ingest")
}

/// The fixture's only blob file.
fn blob_file(fixture: &Fixture) -> PathBuf {
    let files = tools::files(fixture.dir.path(), "blob");
    assert_eq!(files.len(), 1);
    files[0].clone()
}

/// Opens the fixture with options for the family with blobs.
fn open(fixture: &Fixture, of_blobs: impl Fn(&mut Options)) -> DB {
    let options = |name: &str| {
        let mut options = Options::default();
        if name == FAMILY {
            of_blobs(&mut options);
        }
        options
    };
    open_with(fixture.dir.path(), options).unwrap_or_else(|e| panic!("{e}"))
}

fn property(db: &DB, name: &str) -> u64 {
    let cf = content::cf(db, FAMILY);
    let value = db.property_int_value_cf(&cf, name).expect("can be asked");
    value.expect("known")
}

fn blob_files(db: &DB) -> u64 {
    property(db, "rocksdb.num-blob-files")
}

fn garbage(db: &DB) -> u64 {
    property(db, "rocksdb.live-blob-file-garbage-size")
}

fn check_tools(fixture: &Fixture) {
    if tools::available() {
        tools::check(fixture.dir.path());
    }
}

#[test]
fn the_blob_file_goes_with_its_last_blob() {
    let fixture = load();
    let path = blob_file(&fixture);
    let mut pairs = fixture.families[FAMILY].pairs.clone();
    let db = fixture.open();
    let size = std::fs::metadata(&path).expect("there").len();
    assert_eq!(property(&db, "rocksdb.live-blob-file-size"), size);
    for name in fixture.families.keys() {
        content::compact(&db, name, true).expect("compacted");
    }
    assert_eq!((blob_files(&db), garbage(&db)), (1, 0));
    let large = pairs.iter().filter(|(_, v)| v.len() == 200);
    let keys: Vec<Vec<u8>> = large.map(|(k, _)| k.clone()).collect();
    let (half, rest) = keys.split_at(keys.len() / 2);
    for key in half {
        db.delete_cf(&content::cf(&db, FAMILY), key)
            .expect("deleted");
        pairs.remove(key);
    }
    content::compact(&db, FAMILY, true).expect("compacted");
    check_family(&db, FAMILY, &pairs, half, "half of the blobs deleted");
    let after_half = garbage(&db);
    assert!(blob_files(&db) == 1 && 0 < after_half && after_half < size);
    drop(db);
    check_tools(&fixture);
    let db = fixture_reopened(&fixture);
    assert_eq!((blob_files(&db), garbage(&db)), (1, after_half));
    check_family(&db, FAMILY, &pairs, half, "reopened");
    // A reader from before keeps the file.
    let mut old = db.raw_iterator_cf(&content::cf(&db, FAMILY));
    for key in rest {
        db.put_cf(&content::cf(&db, FAMILY), key, b"small")
            .expect("put");
    }
    content::compact(&db, FAMILY, true).expect("compacted");
    assert_eq!(blob_files(&db), 0);
    assert!(path.exists(), "an iterator reads it");
    old.seek(&rest[0]);
    assert_eq!(old.value(), Some(&pairs[&rest[0]][..]));
    drop(old);
    for key in rest {
        pairs.insert(key.clone(), b"small".to_vec());
    }
    check_family(&db, FAMILY, &pairs, half, "no blobs left");
    drop(db);
    let db = fixture_reopened(&fixture);
    assert!(!path.exists(), "nothing refers to it");
    check_family(&db, FAMILY, &pairs, half, "without the blob file");
    drop(db);
    check_tools(&fixture);
}

/// Opens the fixture's directory, whatever it has become.
fn fixture_reopened(fixture: &Fixture) -> DB {
    open(fixture, |_| ())
}

#[test]
fn merges_and_filters_get_the_values_of_blobs() {
    let fixture = load();
    let mut pairs = fixture.families[FAMILY].pairs.clone();
    let db = open(&fixture, |options| {
        options.set_merge_operator_associative("StringAppendOperator", append);
        options.set_compaction_filter("large", |_, key, value| match value.len() {
            200 if key.ends_with(b"0") => CompactionDecision::Remove,
            200 if key.ends_with(b"2") => CompactionDecision::Change(b"changed"),
            _ => CompactionDecision::Keep,
        });
    });
    let cf = content::cf(&db, FAMILY);
    let merged: Vec<Vec<u8>> = (pairs.iter())
        .filter(|(k, v)| v.len() == 200 && k.ends_with(b"4"))
        .map(|(k, _)| k.clone())
        .collect();
    assert!(!merged.is_empty());
    for key in &merged {
        db.merge_cf(&cf, key, b"more").expect("merged");
        pairs.get_mut(key).expect("there").extend(b",more");
    }
    check_family(&db, FAMILY, &pairs, &[], "merged in memory");
    content::compact(&db, FAMILY, true).expect("compacted");
    let mut removed = Vec::new();
    pairs.retain(|key, value| {
        let goes = value.len() == 200 && key.ends_with(b"0");
        if value.len() == 200 && key.ends_with(b"2") {
            *value = b"changed".to_vec();
        }
        if goes {
            removed.push(key.clone());
        }
        !goes
    });
    assert!(!removed.is_empty());
    check_family(&db, FAMILY, &pairs, &removed, "filtered");
    assert!(garbage(&db) > 0);
}

/// Blob values are in no cache.
#[test]
fn blobs_are_read_within_the_limits_of_reads() {
    let fixture = load();
    let db = fixture.open();
    let cf = content::cf(&db, FAMILY);
    let pairs = &fixture.families[FAMILY].pairs;
    let is_blob = |value: &[u8]| value.len() == 200;
    let (blob, _) = pairs.iter().find(|(_, v)| is_blob(v)).expect("a blob");
    let (plain, value) = pairs.iter().find(|(_, v)| !is_blob(v)).expect("a value");
    // The tables' blocks are in the cache then.
    assert!(
        db.iterator_cf(&cf, IteratorMode::Start)
            .all(|kv| kv.is_ok())
    );
    let in_memory = || {
        let mut options = ReadOptions::default();
        options.set_read_tier(ReadTier::BlockCache);
        options
    };
    assert_eq!(
        db.get_cf_opt(&cf, plain, &in_memory()).as_ref(),
        Ok(&Some(value.clone()))
    );
    let refused = db
        .get_cf_opt(&cf, blob, &in_memory())
        .expect_err("is in a file");
    assert_eq!(refused.kind(), ErrorKind::Incomplete);
    for mode in [IteratorMode::Start, IteratorMode::End] {
        let mut found = db.iterator_cf_opt(&cf, in_memory(), mode);
        let refused = found.find_map(Result::err).expect("there are blobs");
        assert_eq!(refused.kind(), ErrorKind::Incomplete);
    }
    let mut late = ReadOptions::default();
    late.set_deadline(1);
    let refused = db.get_cf_opt(&cf, blob, &late).expect_err("it is later");
    assert_eq!(refused.kind(), ErrorKind::TimedOut);
}

#[test]
fn garbage_collection_moves_values_into_tables() {
    let fixture = load();
    let path = blob_file(&fixture);
    let pairs = &fixture.families[FAMILY].pairs;
    let db = open(&fixture, |options| {
        options.set_enable_blob_gc(true);
        options.set_blob_gc_age_cutoff(1.0);
    });
    for name in fixture.families.keys() {
        content::compact(&db, name, true).expect("compacted");
    }
    assert_eq!(blob_files(&db), 0);
    check_family(&db, FAMILY, pairs, &[], "collected");
    drop(db);
    let db = fixture_reopened(&fixture);
    assert!(!path.exists());
    check_family(&db, FAMILY, pairs, &[], "reopened");
    drop(db);
    check_tools(&fixture);
}

#[test]
fn checkpoints_have_blob_files() {
    let fixture = load();
    let target = tempfile::tempdir().expect("a temporary directory");
    let target = target.path().join("checkpoint");
    let db = fixture.open();
    let checkpoint = Checkpoint::new(&db).expect("can be made");
    checkpoint.create_checkpoint(&target).expect("made");
    drop(checkpoint);
    drop(db);
    let copy = content::open(&target);
    for (name, family) in &fixture.families {
        check_family(&copy, name, &family.pairs, &[], "checkpoint");
    }
}

#[test]
fn damaged_and_missing_blobs_are_named() {
    let fixture = load();
    let path = blob_file(&fixture);
    let good = std::fs::read(&path).expect("can be read");
    let pairs = &fixture.families[FAMILY].pairs;
    let (key, _) = pairs.iter().find(|(_, v)| v.len() == 200).expect("a blob");
    let at = (good.windows(key.len()).position(|w| w == key)).expect("its key is in the file");
    // The record's header, its key, and its value.
    for damaged in [at - 5, at, at + key.len() + 3] {
        let mut bytes = good.clone();
        bytes[damaged] ^= 0x40;
        std::fs::write(&path, &bytes).expect("can be written");
        let db = fixture.open();
        let cf = content::cf(&db, FAMILY);
        let e = db.get_cf(&cf, key).expect_err("damaged");
        assert_eq!(e.kind(), ErrorKind::Corruption, "{e}");
        let text = e.to_string();
        assert!(
            text.contains("000012.blob") && text.contains("offset"),
            "{e}"
        );
        let walked: Result<Vec<_>, _> = db.iterator_cf(&cf, IteratorMode::End).collect();
        assert_eq!(walked.expect_err("damaged").kind(), ErrorKind::Corruption);
    }
    std::fs::remove_file(&path).expect("can be removed");
    let Err(e) = open_with(fixture.dir.path(), |_| Options::default()) else {
        panic!("opened without its blob file");
    };
    assert_eq!(e.kind(), ErrorKind::Corruption);
    assert!(e.to_string().contains("000012.blob"), "{e}");
}
