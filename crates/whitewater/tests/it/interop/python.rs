//! A recent RocksDB, through Python's rocksdict.
//!
//! `WHITEWATER_PYTHON` is the path of a Python that has it.

use super::tools;
use super::workload::Workload;
use super::written::compare;
use crate::content::{self, Content, unhex};
use crate::skip::skip_without;
use serde_json::Value;
use std::path::Path;
use std::process::Command;
use whitewater::{BlockBasedOptions, DB, DBCompressionType, Options};

const FAMILIES: [&str; 2] = ["default", "one"];

pub fn python() -> Option<String> {
    let python = std::env::var("WHITEWATER_PYTHON").ok();
    if python.is_none() {
        skip_without("rocksdict (WHITEWATER_PYTHON is not set)");
    }
    python
}

/// Runs the script; returns the content it printed.
fn script(python: &str, arguments: &[&str]) -> Content {
    let script = tools::script("interop.py");
    printed(&tools::run(
        python,
        &[&[tools::path(&script)], arguments].concat(),
    ))
}

/// Content as the scripts print it: family, key and value as JSON.
pub fn printed(out: &str) -> Content {
    let json: Value = serde_json::from_str(out).expect("valid JSON");
    let families = json.as_object().expect("families");
    let text = |v: &Value| unhex(v.as_str().expect("a string"));
    let pairs = |pairs: &Value| {
        let pairs = pairs.as_object().expect("pairs");
        pairs
            .iter()
            .map(|(key, value)| (unhex(key), text(value)))
            .collect()
    };
    families
        .iter()
        .map(|(name, family)| (name.clone(), pairs(family)))
        .collect()
}

pub fn scan(python: &str, db: &Path) -> Content {
    let copy = tools::copied(db);
    script(python, &["scan", tools::path(copy.path())])
}

/// Like [`scan`], for what rocksdict may not be able to read. It then returns rocksdict's message.
pub fn try_scan(python: &str, db: &Path) -> Result<Content, String> {
    let script = tools::script("interop.py");
    let output = Command::new(python)
        .args([&script, Path::new("scan"), db])
        .output()
        .unwrap_or_else(|e| panic!("{python}: {e}"));
    if output.status.success() {
        return Ok(printed(&String::from_utf8_lossy(&output.stdout)));
    }
    Err(String::from_utf8_lossy(&output.stderr).into_owned())
}

/// Makes rocksdict edit the database and rewrite its tables, with the options in its OPTIONS file.
/// Returns the content that it must have.
pub fn rewrite(python: &str, db: &Path, seed: u64) -> Content {
    script(python, &["rewrite", tools::path(db), &seed.to_string()])
}

/// Options that make small files, compressed by `compression`.
fn options(compression: DBCompressionType) -> Options {
    let mut table = BlockBasedOptions::default();
    table.set_bloom_filter(10.0, false);
    let mut options = Options::default();
    options.create_if_missing(true);
    options.create_missing_column_families(true);
    options.set_compression_type(compression);
    options.set_block_based_table_factory(&table);
    options.set_write_buffer_size(64 << 10);
    options.set_target_file_size_base(16 << 10);
    options.set_max_bytes_for_level_base(64 << 10);
    options
}

#[test]
fn rocksdict_reads_and_edits_what_is_written_here() {
    let Some(python) = python() else { return };
    let types = [
        DBCompressionType::None,
        DBCompressionType::Snappy,
        DBCompressionType::Lz4,
        DBCompressionType::Zstd,
    ];
    for (seed, compression) in (21..).zip(types) {
        println!("{compression:?}");
        let dir = tempfile::tempdir().expect("a temporary directory");
        let mut work = Workload::new(seed, &FAMILIES, 1_000);
        let options = options(compression);
        let open = || {
            let families = FAMILIES.map(|name| (name, options.clone()));
            DB::open_cf_with_opts(&options, dir.path(), families).unwrap()
        };
        let db = open();
        work.run(&db, 600);
        db.flush().unwrap();
        work.run(&db, 20);
        drop(db);
        compare(&scan(&python, dir.path()), &work.model, "for rocksdict");

        let seed = seed.to_string();
        work.model = script(&python, &["write", tools::path(dir.path()), &seed]);
        let db = open();
        content::check(&db, &work.model, "edited by rocksdict");
        work.run(&db, 100);
        for name in FAMILIES {
            content::compact(&db, name, true).unwrap();
        }
        work.run(&db, 10);
        drop(db);
        compare(
            &scan(&python, dir.path()),
            &work.model,
            "for rocksdict, again",
        );
    }
}

#[test]
fn what_rocksdict_writes_is_read_here() {
    let Some(python) = python() else { return };
    for seed in ["31", "32"] {
        let dir = tempfile::tempdir().expect("a temporary directory");
        let path = dir.path().join("db");
        let model = script(&python, &["write", tools::path(&path), seed]);
        assert!(model["default"].len() > 100);
        let db = content::open(&path);
        content::check(&db, &model, "as rocksdict left it");
        for name in model.keys() {
            content::compact(&db, name, true).unwrap();
        }
        content::check(&db, &model, "compacted");
        drop(db);
        content::check(&content::open(&path), &model, "reopened");
        compare(&scan(&python, &path), &model, "for rocksdict");
    }
}
