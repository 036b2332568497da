//! Column families that one engine exports and the other one has afterwards.

use super::java;
use super::tools;
use super::workload::Workload;
use super::written::compare;
use crate::content;
use std::path::Path;
use whitewater::checkpoint::Checkpoint;
use whitewater::{DBWithThreadMode, ImportColumnFamilyOptions, MultiThreaded, Options};

type Db = DBWithThreadMode<MultiThreaded>;

fn options() -> Options {
    let mut options = Options::default();
    options.create_if_missing(true);
    options.set_write_buffer_size(64 << 10);
    options.set_target_file_size_base(16 << 10);
    options
}

fn open(db: &Path, names: &[&str]) -> Db {
    let mut options = options();
    options.create_missing_column_families(true);
    let families = names.iter().map(|name| (*name, options.clone()));
    Db::open_cf_with_opts(&options, db, families).unwrap()
}

/// The family `default` is exported as it stands in `dir/db` and imported into `dir/there` as
/// `new`: RocksDB's check and scan find the same there, with a manifest that has the import as it
/// was recorded.
#[test]
fn rocksdb_reads_a_column_family_that_was_imported() {
    if !tools::available() {
        return;
    }
    let dir = tempfile::tempdir().expect("a temporary directory");
    let path = |name: &str| dir.path().join(name);
    let mut work = Workload::new(41, &["default"], 600);
    drop(open(&path("db"), &["default"]));
    let db = content::open_with(&path("db"), |_| options()).expect("opens");
    work.run(&db, 60);
    db.compact_range(None::<&[u8]>, None::<&[u8]>);
    work.run(&db, 30);
    let export = Checkpoint::new(&db)
        .unwrap()
        .export_column_family(&content::cf(&db, "default"), path("export"))
        .unwrap();
    drop(db);
    let there = open(&path("there"), &["default"]);
    let how = ImportColumnFamilyOptions::new();
    there
        .create_column_family_with_import(&options(), "new", &how, &export)
        .unwrap();
    drop(there);
    let mut expected = work.model.clone();
    let moved = expected.remove("default").expect("it was written to");
    expected.insert("default".to_owned(), Default::default());
    expected.insert("new".to_owned(), moved);
    tools::check(&path("there"));
    compare(&tools::scan(&path("there")), &expected, "ldb");
    if let Some(jar) = java::jar() {
        compare(&java::scan(&jar, &path("there")), &expected, "rocksdbjni");
        let rewritten = java::rewrite(&jar, &path("there"), 42);
        content::check(&content::open(&path("there")), &rewritten, "rewritten");
    }
}

/// What RocksDB has exported is imported here, without bounds, which its Java API does not tell.
#[test]
fn what_rocksdb_has_exported_is_imported() {
    let Some(jar) = java::jar() else {
        return;
    };
    let dir = tempfile::tempdir().expect("a temporary directory");
    let path = |name: &str| dir.path().join(name);
    drop(open(&path("db"), &["default"]));
    let expected = java::rewrite(&jar, &path("db"), 43);
    let (found, export) = java::export(&jar, &path("db"), &path("export"));
    compare(&found_only(&found), &expected, "exported");
    assert!(!export.get_files().is_empty());
    let there = open(&path("there"), &["default"]);
    let mut how = ImportColumnFamilyOptions::new();
    how.set_move_files(true);
    there
        .create_column_family_with_import(&options(), "new", &how, &export)
        .unwrap();
    let mut wanted = content::Content::new();
    wanted.insert("default".to_owned(), Default::default());
    wanted.insert("new".to_owned(), expected["default"].clone());
    drop(there);
    content::check(&content::open(&path("there")), &wanted, "imported");
    // RocksDB has recorded its own import in two steps.
    let mut both = expected.clone();
    both.insert("copy".to_owned(), expected["default"].clone());
    content::check(&content::open(&path("db")), &both, "imported by RocksDB");
}

/// The content without the copy that RocksDB has made.
fn found_only(found: &content::Content) -> content::Content {
    let mut found = found.clone();
    assert!(found.remove("copy").is_some());
    found
}
