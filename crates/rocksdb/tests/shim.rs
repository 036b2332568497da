//! What code that knows the `rocksdb` crate finds under that name.

use rocksdb::{ColumnFamilyDescriptor, DB, IteratorMode, Options, WriteBatch, merge_operator};
use std::collections::{BTreeMap, BTreeSet};

/// Features of the `rocksdb` crate 0.25.0.
const FEATURES: [&str; 17] = [
    "bindgen-runtime",
    "bindgen-static",
    "bzip2",
    "default",
    "io-uring",
    "jemalloc",
    "lto",
    "lz4",
    "mt_static",
    "multi-threaded-cf",
    "raw-ptr",
    "rtti",
    "serde1",
    "snappy",
    "valgrind",
    "zlib",
    "zstd",
];

/// Crates for older versions: the version, the manifest, and features of 0.25 that it lacks.
const OLDER: [(&str, &str, &[&str]); 3] = [
    (
        "0.22.0",
        include_str!("../../rocksdb-0.22/Cargo.toml"),
        &[
            "bindgen-runtime",
            "bindgen-static",
            "lto",
            "mt_static",
            "raw-ptr",
        ],
    ),
    (
        "0.23.0",
        include_str!("../../rocksdb-0.23/Cargo.toml"),
        &["raw-ptr"],
    ),
    (
        "0.24.0",
        include_str!("../../rocksdb-0.24/Cargo.toml"),
        &["raw-ptr"],
    ),
];

/// The `[features]` of a manifest: name and what it turns on.
fn features(manifest: &str) -> BTreeMap<String, String> {
    let (_, section) = manifest.split_once("\n[features]\n").unwrap();
    let section = section.split("\n[").next().unwrap();
    let lines = section.lines().filter(|line| !line.starts_with('#'));
    lines
        .filter_map(|line| line.split_once(" = "))
        .map(|(name, list)| (name.to_owned(), list.to_owned()))
        .collect()
}

#[test]
fn every_feature_of_the_rocksdb_crate_exists_here_and_in_whitewater() {
    let shim = features(include_str!("../Cargo.toml"));
    let whitewater = features(include_str!("../../whitewater/Cargo.toml"));
    for name in FEATURES {
        assert!(whitewater.contains_key(name), "whitewater lacks {name}");
        let list = shim.get(name).unwrap_or_else(|| panic!("lacks {name}"));
        if name != "default" {
            assert_eq!(list, &format!("[\"whitewater/{name}\"]"));
        }
    }
}

#[test]
fn the_version_satisfies_what_dependencies_ask_for() {
    assert_eq!(env!("CARGO_PKG_VERSION"), "0.25.0");
}

#[test]
fn each_older_version_has_its_features_and_no_more() {
    let now = features(include_str!("../Cargo.toml"));
    for (version, manifest, without) in OLDER {
        assert!(manifest.contains(&format!("\nversion = \"{version}\"\n")));
        let mut wanted = now.clone();
        wanted.retain(|name, _| !without.contains(&name.as_str()));
        if without.contains(&"bindgen-runtime") {
            let default = wanted.get_mut("default").unwrap();
            *default = default.replace(", \"bindgen-runtime\"", "");
        }
        assert_eq!(features(manifest), wanted, "{version}");
    }
}

#[test]
fn code_written_for_the_rocksdb_crate_runs_under_its_name() {
    fn joined(_: &[u8], old: Option<&[u8]>, more: &rocksdb::MergeOperands) -> Option<Vec<u8>> {
        let mut joined = old.unwrap_or_default().to_vec();
        more.iter().for_each(|part| joined.extend_from_slice(part));
        Some(joined)
    }
    // The traits are where they are there.
    fn is_merge<F: merge_operator::MergeFn>(f: F) -> F {
        f
    }
    let dir = tempfile::tempdir().unwrap();
    let mut options = Options::default();
    options.create_if_missing(true);
    options.create_missing_column_families(true);
    options.set_merge_operator_associative("joined", is_merge(joined));
    let family = ColumnFamilyDescriptor::new("log", options.clone());
    let db = DB::open_cf_descriptors(&options, dir.path(), [family]).unwrap();
    let log = db.cf_handle("log").unwrap();
    let mut batch = WriteBatch::default();
    batch.put_cf(&log, b"a", b"1");
    batch.merge_cf(&log, b"a", b"2");
    db.write(batch).unwrap();
    let all = db.iterator_cf(&log, IteratorMode::Start);
    let all: BTreeSet<_> = all.map(Result::unwrap).collect();
    assert_eq!(all, BTreeSet::from([(b"a"[..].into(), b"12"[..].into())]));
}
