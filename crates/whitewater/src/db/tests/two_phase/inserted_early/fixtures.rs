//! Databases that RocksDB wrote with `WRITE_PREPARED` and `WRITE_UNPREPARED`
//! (`testdata/two_phase`): what is read of them is what RocksDB showed, whatever is decided here.

use super::super::fixtures::{copy, files};
use super::super::recovery::{decide, names};
use crate::options::write_policy::WritePolicy;
use crate::{ColumnFamilyDescriptor, DB, ErrorKind, IteratorMode, Options};
use serde_json::Value;
use std::collections::BTreeMap;
use tempfile::TempDir;

/// All but the one that is flushed and has an empty log.
const FIXTURES: [&str; 8] = [
    "wp_compacted",
    "wp_decided",
    "wp_flushed",
    "wp_kept",
    "wp_reopened",
    "wp_unordered",
    "wu_parts",
    "wu_rolled_back",
];

type Content = BTreeMap<String, BTreeMap<String, String>>;

fn expected(name: &str) -> Value {
    let path = concat!(env!("CARGO_MANIFEST_DIR"), "/../../testdata/two_phase");
    let text = std::fs::read(format!("{path}/{name}.json")).unwrap();
    serde_json::from_slice(&text).unwrap()
}

fn content_of(expected: &Value, which: &str) -> Content {
    serde_json::from_value(expected[which].clone()).unwrap()
}

fn content(db: &DB) -> Content {
    let family = |name: &str| {
        let cf = db.cf_handle(name).unwrap();
        let entries = db.iterator_cf(&cf, IteratorMode::Start).map(|entry| {
            let (key, value) = entry.unwrap();
            assert_eq!(db.get_cf(&cf, &key).unwrap().as_deref(), Some(&*value));
            let text = |bytes: &[u8]| String::from_utf8(bytes.to_vec()).unwrap();
            (text(&key), text(&value))
        });
        (name.to_owned(), entries.collect())
    };
    ["default", "other"].map(family).into()
}

fn options(policy: WritePolicy) -> Options {
    let mut options = Options::default();
    options.set_allow_2pc(true);
    options.set_write_policy(policy);
    options
}

fn open(dir: &TempDir, options: &Options) -> Result<DB, crate::Error> {
    DB::open_cf(options, dir.path(), ["default", "other"])
}

fn policy_of(expected: &Value) -> WritePolicy {
    match expected["policy"].as_str().unwrap() {
        "WRITE_PREPARED" => WritePolicy::WritePrepared,
        _ => WritePolicy::WriteUnprepared,
    }
}

fn prepared_in(expected: &Value) -> Vec<String> {
    serde_json::from_value(expected["prepared"].clone()).unwrap()
}

#[test]
fn what_rocksdb_prepared_is_found_and_hidden_until_it_is_decided() {
    for name in FIXTURES {
        let expected = expected(name);
        let options = options(policy_of(&expected));
        for commits in [true, false] {
            let dir = copy(name);
            for round in 0..4 {
                let what = format!("{name}, opening {round}");
                let db = open(&dir, &options).unwrap_or_else(|e| panic!("{what}: {e}"));
                assert_eq!(names(&db), prepared_in(&expected), "{what}");
                assert_eq!(content(&db), content_of(&expected, "content"), "{what}");
                if round == 2 {
                    db.put("later", "1").unwrap();
                    db.delete("later").unwrap();
                    db.flush().unwrap();
                    db.compact_range(None::<&[u8]>, None::<&[u8]>);
                    assert_eq!(content(&db), content_of(&expected, "content"), "{what}");
                }
            }
            let db = open(&dir, &options).unwrap();
            for name in prepared_in(&expected) {
                decide(&db, &name, commits);
            }
            let which = if commits { "committed" } else { "rolled_back" };
            let decided = content_of(&expected, which);
            assert_eq!(content(&db), decided, "{name}, {which}");
            drop(db);
            for _ in 0..2 {
                let db = open(&dir, &options).unwrap();
                assert!(names(&db).is_empty(), "{name}, {which}");
                assert_eq!(content(&db), decided, "{name}, {which}, opened again");
                db.flush().unwrap();
                assert_eq!(content(&db), decided, "{name}, {which}, flushed");
            }
        }
    }
}

/// Each policy opens the logs of the other.
#[test]
fn write_unprepared_opens_what_write_prepared_wrote_and_back() {
    for name in FIXTURES {
        let expected = expected(name);
        let dir = copy(name);
        for policy in [WritePolicy::WriteUnprepared, WritePolicy::WritePrepared] {
            let db = open(&dir, &options(policy)).unwrap();
            assert_eq!(names(&db), prepared_in(&expected), "{name}, {policy:?}");
            assert_eq!(content(&db), content_of(&expected, "content"), "{name}");
        }
    }
}

#[test]
fn another_policy_is_refused_in_rocksdbs_words_and_loses_nothing() {
    let text = "WritePrepared/WriteUnprepared txn tag when write_after_commit_ is enabled";
    for name in FIXTURES.iter().filter(|name| name.starts_with("wp")) {
        let dir = copy(name);
        let before = files(&dir);
        for allow in [false, true, false] {
            let mut options = options(WritePolicy::WriteCommitted);
            options.set_allow_2pc(allow);
            let e = open(&dir, &options).unwrap_err();
            assert_eq!(e.kind(), ErrorKind::NotSupported, "{name}");
            assert!(e.to_string().contains(text), "{name}: {e}");
            assert!(files(&dir) == before, "{name}: files changed");
        }
    }
    for name in ["outstanding", "resolved"] {
        let dir = copy(name);
        let before = files(&dir);
        for policy in [WritePolicy::WritePrepared, WritePolicy::WriteUnprepared] {
            let e = open(&dir, &options(policy)).unwrap_err();
            assert_eq!(e.kind(), ErrorKind::NotSupported, "{name}");
            let text = "WriteCommitted txn tag when write_after_commit_ is disabled";
            assert!(e.to_string().contains(text), "{name}: {e}");
            assert!(files(&dir) == before, "{name}: files changed");
        }
    }
}

#[test]
fn what_is_decided_and_flushed_is_opened_by_anyone() {
    let expected = expected("wp_flushed_out");
    let policies = [
        WritePolicy::WriteCommitted,
        WritePolicy::WritePrepared,
        WritePolicy::WriteUnprepared,
    ];
    for policy in policies {
        let dir = copy("wp_flushed_out");
        let mut options = options(policy);
        options.set_allow_2pc(policy != WritePolicy::WriteCommitted);
        let db = open(&dir, &options).unwrap();
        assert!(names(&db).is_empty());
        assert_eq!(content(&db), content_of(&expected, "content"), "{policy:?}");
    }
}

/// They need not be told the write policy. They show what is committed.
#[test]
fn readers_show_what_rocksdb_committed() {
    let families =
        || ["default", "other"].map(|name| ColumnFamilyDescriptor::new(name, Options::default()));
    for name in FIXTURES.iter().filter(|name| name.starts_with("wp")) {
        let dir = copy(name);
        let before = files(&dir);
        let expected = content_of(&expected(name), "content");
        let options = Options::default();
        let db = DB::open_cf_descriptors_read_only(&options, dir.path(), families(), false);
        assert_eq!(content(&db.unwrap()), expected, "{name}, read-only");
        let own = tempfile::tempdir().unwrap();
        let db = DB::open_cf_descriptors_as_secondary(&options, dir.path(), own.path(), families());
        let db = db.unwrap();
        assert_eq!(content(&db), expected, "{name}, secondary");
        db.try_catch_up_with_primary().unwrap();
        assert_eq!(content(&db), expected, "{name}, secondary");
        assert!(files(&dir) == before, "{name}: files changed");
    }
}
