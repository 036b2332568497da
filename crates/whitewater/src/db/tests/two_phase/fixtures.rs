//! Databases with prepared transactions that RocksDB wrote (`testdata/two_phase`).

use super::recovery::{decide, get, names};
use crate::{ColumnFamilyDescriptor, DB, ErrorKind, Options};
use std::path::Path;
use tempfile::TempDir;

/// A copy of the fixture `name`.
pub(super) fn copy(name: &str) -> TempDir {
    let from = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../testdata/two_phase");
    let dir = tempfile::tempdir().unwrap();
    for file in std::fs::read_dir(from.join(name)).unwrap() {
        let file = file.unwrap();
        std::fs::copy(file.path(), dir.path().join(file.file_name())).unwrap();
    }
    dir
}

fn open(dir: &TempDir, allow_2pc: bool) -> Result<DB, crate::Error> {
    let mut options = Options::default();
    options.set_allow_2pc(allow_2pc);
    DB::open_cf(&options, dir.path(), ["default", "other"])
}

/// The files of the database but its info logs, with their contents.
pub(super) fn files(dir: &TempDir) -> Vec<(String, Vec<u8>)> {
    let names = std::fs::read_dir(dir.path()).unwrap();
    let names = names.map(|file| file.unwrap().file_name().into_string().unwrap());
    let mut names: Vec<String> = names.filter(|name| !name.starts_with("LO")).collect();
    names.sort();
    let read = |name: String| {
        let bytes = std::fs::read(dir.path().join(&name)).unwrap();
        (name, bytes)
    };
    names.into_iter().map(read).collect()
}

fn other(db: &DB, key: &str) -> Option<Vec<u8>> {
    db.get_cf(&db.cf_handle("other").unwrap(), key).unwrap()
}

fn assert_values(db: &DB, values: &[(&str, Option<&str>)]) {
    for (key, value) in values {
        assert_eq!(get(db, key).as_deref(), *value, "{key}");
    }
}

#[test]
fn a_transaction_that_rocksdb_prepared_is_committed_here() {
    let dir = copy("outstanding");
    let before = files(&dir);
    for _ in 0..2 {
        let e = open(&dir, false).unwrap_err();
        assert_eq!(e.kind(), ErrorKind::NotSupported);
        assert!(e.to_string().contains("WAL contains prepared transactions"));
        assert!(files(&dir) == before, "files changed");
    }
    let decided = [
        ("k0", None),
        ("k1", Some("v1")),
        ("k3", Some("v3")),
        ("k6", Some("v6")),
        ("k7", Some("v7")),
        ("k9", None),
    ];
    for round in 0..3 {
        let db = open(&dir, true).unwrap();
        assert_eq!(names(&db), ["xe"], "round {round}");
        assert_values(&db, &decided);
        assert_values(&db, &[("k5", None)]);
        assert_eq!(other(&db, "k2"), Some(b"v2".to_vec()));
        if round == 2 {
            decide(&db, "xe", true);
        }
    }
    let db = open(&dir, false).unwrap();
    assert_values(&db, &decided);
    assert_values(&db, &[("k5", Some("v5"))]);
    assert_eq!(other(&db, "k2"), None);
}

#[test]
fn a_transaction_whose_log_rocksdb_keeps_for_it_alone_is_not_lost() {
    let dir = copy("kept");
    let before = files(&dir);
    assert!(open(&dir, false).is_err());
    assert!(files(&dir) == before, "files changed");
    let db = open(&dir, true).unwrap();
    assert_eq!(names(&db), ["xa"]);
    assert_values(&db, &[("k0", Some("v0")), ("k1", None), ("k8", Some("v8"))]);
    assert_eq!(other(&db, "c"), Some(b"d".to_vec()));
    db.flush().unwrap();
    drop(db);
    assert!(open(&dir, false).is_err());
    let db = open(&dir, true).unwrap();
    decide(&db, "xa", true);
    drop(db);
    let db = open(&dir, false).unwrap();
    assert_values(&db, &[("k1", Some("v1"))]);
    assert_eq!(other(&db, "k2"), Some(b"v2".to_vec()));
}

#[test]
fn a_log_of_rocksdb_whose_transactions_were_decided_is_opened_by_anyone() {
    for allow in [false, true] {
        let dir = copy("resolved");
        let db = open(&dir, allow).unwrap();
        assert!(names(&db).is_empty());
        let values = [
            ("k0", None),
            ("k1", Some("v1")),
            ("k7", Some("v7")),
            ("k9", None),
        ];
        assert_values(&db, &values);
        assert_eq!(other(&db, "k2"), Some(b"v2".to_vec()));
        // RocksDB's own: 5 and 6 are those of the commit of `xa`.
        assert_eq!(db.latest_sequence_number(), 8);
    }
}

#[test]
fn a_log_that_rocksdb_wrote_under_another_policy_is_refused() {
    let dir = copy("write_prepared");
    let before = files(&dir);
    for allow in [false, true] {
        let e = open(&dir, allow).unwrap_err();
        assert_eq!(e.kind(), ErrorKind::NotSupported);
        let text = "WritePrepared/WriteUnprepared txn tag when write_after_commit_ is enabled";
        assert!(e.to_string().contains(text), "{e}");
        assert!(files(&dir) == before, "files changed");
    }
}

#[test]
fn readers_show_nothing_that_is_prepared() {
    let dir = copy("kept");
    let before = files(&dir);
    let families =
        || ["default", "other"].map(|name| ColumnFamilyDescriptor::new(name, Options::default()));
    let options = Options::default();
    let db = DB::open_cf_descriptors_read_only(&options, dir.path(), families(), false).unwrap();
    let values = [("k0", Some("v0")), ("k1", None), ("k8", Some("v8"))];
    assert_values(&db, &values);
    assert_eq!(other(&db, "k2"), None);
    let own = tempfile::tempdir().unwrap();
    let db = DB::open_cf_descriptors_as_secondary(&options, dir.path(), own.path(), families());
    assert_values(&db.unwrap(), &values);
    assert!(files(&dir) == before, "files changed");
}
