//! Databases that RocksDB wrote, with their exact content: read, compacted
//! and reopened here.
//!
//! The fixtures are looked for in the directory that `WHITEWATER_FIXTURES`
//! names, else beside the repository. Without them the tests say so and pass,
//! unless `WHITEWATER_REQUIRE_FIXTURES` is 1.

use super::content::{self, Pairs, check_family, open_with, unhex};
use serde_json::Value;
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use tempfile::TempDir;
use whitewater::{DB, ErrorKind, IteratorMode, MergeOperands, Options};

/// A fixture's content.
struct Fixture {
    families: BTreeMap<String, Family>,
    last_sequence: Option<u64>,
    dropped: Vec<String>,
    /// A copy that may be written to.
    dir: TempDir,
}

struct Family {
    pairs: Pairs,
    absent: Vec<Vec<u8>>,
}

fn directory() -> Option<PathBuf> {
    let dir = match std::env::var_os("WHITEWATER_FIXTURES") {
        Some(dir) => PathBuf::from(dir),
        None => Path::new(env!("CARGO_MANIFEST_DIR")).join("../../../shared/fixtures"),
    };
    if dir.is_dir() {
        return Some(dir);
    }
    let note = format!("no fixtures in {}", dir.display());
    assert!(!content::required("WHITEWATER_REQUIRE_FIXTURES"), "{note}");
    println!("{note}: skipped");
    None
}

impl Fixture {
    /// Copies the fixture; `None` when there are no fixtures here.
    fn load(name: &str) -> Option<Fixture> {
        let source = directory()?;
        let text = std::fs::read(source.join(format!("{name}.json"))).expect("can be read");
        let json: Value = serde_json::from_slice(&text).expect("valid JSON");
        let families = json["column_families"].as_object().expect("an object");
        let families = families
            .iter()
            .map(|(name, family)| (name.clone(), Family::parse(family)))
            .collect();
        let dir = tempfile::tempdir().expect("a temporary directory");
        content::copy_dir(&source.join(name), dir.path());
        Some(Fixture {
            families,
            last_sequence: json["last_sequence"].as_u64(),
            dropped: list(&json["dropped"]).iter().map(text_of).collect(),
            dir,
        })
    }

    fn open(&self) -> DB {
        let db = open_with(self.dir.path(), options_of).unwrap_or_else(|e| panic!("{e}"));
        let names = DB::list_cf(&Options::default(), self.dir.path()).expect("can be listed");
        assert_eq!(names.len(), self.families.len(), "{names:?}");
        for name in &self.dropped {
            assert!(!names.contains(name), "{name} was dropped");
        }
        db
    }

    /// Checks the column families that `when` is about.
    fn check(&self, db: &DB, wanted: impl Fn(&str) -> bool, when: &str) {
        for (name, family) in self.families.iter().filter(|(name, _)| wanted(name)) {
            check_family(db, name, &family.pairs, &family.absent, when);
        }
    }

    /// Reads, compacts and reopens; the families in `unreadable` are left
    /// alone.
    fn check_life(&self, unreadable: &[&str]) {
        let readable = |name: &str| !unreadable.contains(&name);
        let db = self.open();
        if let Some(sequence) = self.last_sequence {
            assert_eq!(db.latest_sequence_number(), sequence);
        }
        self.check(&db, readable, "as RocksDB left it");
        for force in [false, true] {
            for name in self.families.keys().filter(|name| readable(name)) {
                content::compact(&db, name, force).unwrap_or_else(|e| panic!("{name}: {e}"));
            }
            self.check(&db, readable, &format!("compacted, force = {force}"));
        }
        drop(db);
        let db = self.open();
        self.check(&db, readable, "reopened");
        if let Some(sequence) = self.last_sequence {
            assert_eq!(db.latest_sequence_number(), sequence);
        }
    }

    /// Checks that reading and compacting the family fails and says why.
    fn check_refused(&self, name: &str, reason: &str) {
        let refused = |e: whitewater::Error| {
            assert_eq!(e.kind(), ErrorKind::NotSupported, "{name}: {e}");
            assert!(e.to_string().contains(reason), "{name}: {e}");
        };
        let db = self.open();
        let cf = content::cf(&db, name);
        let family = &self.families[name];
        for key in family.pairs.keys() {
            refused(db.get_cf(&cf, key).expect_err("it cannot be read"));
        }
        for mode in [IteratorMode::Start, IteratorMode::End] {
            let first = db.iterator_cf(&cf, mode).next();
            refused(first.expect("not empty").expect_err("it cannot be read"));
        }
        refused(content::compact(&db, name, true).expect_err("it cannot be read"));
    }
}

impl Family {
    fn parse(json: &Value) -> Family {
        let bytes = |v: &Value| unhex(v.as_str().expect("a string"));
        let pairs: Pairs = list(&json["entries"])
            .iter()
            .map(|pair| (bytes(&pair[0]), bytes(&pair[1])))
            .collect();
        assert_eq!(pairs.len(), list(&json["entries"]).len());
        Family {
            pairs,
            absent: list(&json["absent"]).iter().map(bytes).collect(),
        }
    }
}

fn list(json: &Value) -> &[Value] {
    json.as_array().map_or(&[], |list| list)
}

fn text_of(json: &Value) -> String {
    json.as_str().expect("a string").to_owned()
}

/// Options with the merge operator that the family of this name was written
/// with.
fn options_of(family: &str) -> Options {
    let mut options = Options::default();
    match family {
        "append" => options.set_merge_operator_associative("StringAppendOperator", append),
        "counter" => options.set_merge_operator_associative("UInt64AddOperator", add),
        _ => {}
    }
    options
}

/// Joins value and operands with commas, as RocksDB's StringAppendOperator.
pub fn append(
    _key: &[u8],
    existing: Option<&[u8]>,
    operands: &MergeOperands<'_>,
) -> Option<Vec<u8>> {
    let parts: Vec<&[u8]> = existing.into_iter().chain(operands).collect();
    Some(parts.join(&b','))
}

/// Adds little-endian numbers, as RocksDB's UInt64AddOperator: one of another
/// size counts as zero.
pub fn add(_key: &[u8], existing: Option<&[u8]>, operands: &MergeOperands<'_>) -> Option<Vec<u8>> {
    let number = |bytes: &[u8]| bytes.try_into().map_or(0, u64::from_le_bytes);
    let sum = existing
        .into_iter()
        .chain(operands)
        .fold(0u64, |sum, bytes| sum.wrapping_add(number(bytes)));
    Some(sum.to_le_bytes().to_vec())
}

/// Tests of fixtures that are wholly readable.
macro_rules! whole {
    ($($name:ident),* $(,)?) => {
        $(#[test] fn $name() {
            let Some(fixture) = Fixture::load(stringify!($name)) else { return };
            fixture.check_life(&[]);
        })*
    };
}

whole!(
    default_options,
    default_11_1,
    nocomp_crc32c_fv5,
    multi_cf,
    wal_only,
    wal_zstd,
    rangedel_merge,
    filters_partitioned,
);

/// RocksDB stored the blocks of the zlib families here as they are, zlib having
/// gained too little.
#[test]
fn compressions() {
    let Some(fixture) = Fixture::load("compressions") else {
        return;
    };
    fixture.check_life(&["bz2"]);
    fixture.check_refused("bz2", "BZip2");
}

#[test]
fn ribbon_firstkey_78() {
    let Some(fixture) = Fixture::load("ribbon_firstkey_78") else {
        return;
    };
    fixture.check_life(&["zlib", "zlib_dict"]);
    fixture.check_refused("zlib", "Zlib");
    fixture.check_refused("zlib_dict", "Zlib");
}

/// Blob files are not built in: the database cannot be opened.
#[test]
fn wide_blob_ingest() {
    let Some(fixture) = Fixture::load("wide_blob_ingest") else {
        return;
    };
    let Err(e) = open_with(fixture.dir.path(), options_of) else {
        panic!("opened a database with blob files");
    };
    assert_eq!(e.kind(), ErrorKind::NotSupported, "{e}");
    assert!(e.to_string().contains("blob"), "{e}");
}

/// Without its merge operator a family cannot be read; it must say so.
#[test]
fn a_missing_merge_operator_is_named() {
    let Some(fixture) = Fixture::load("rangedel_merge") else {
        return;
    };
    let db = open_with(fixture.dir.path(), |_| Options::default()).expect("opens");
    let cf = content::cf(&db, "append");
    let merged = unhex("6b6579303030303030");
    let e = db.get_cf(&cf, &merged).expect_err("there is no operator");
    assert!(e.to_string().contains("erge"), "{e}");
    fixture.check(&db, |name| name == "default", "without operators");
}
