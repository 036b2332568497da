//! Databases that RocksDB wrote, with their exact content. They are read, compacted and reopened
//! here.
//!
//! The databases and their descriptions are in `testdata/rocksdb`.

use super::content::{self, Pairs, check_family, open_with, unhex};
use super::interop::tools;
use serde_json::Value;
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use tempfile::TempDir;
use whitewater::{ColumnFamilyDescriptor, DB, MergeOperands, Options};

/// A fixture's content.
pub struct Fixture {
    pub families: BTreeMap<String, Family>,
    last_sequence: Option<u64>,
    dropped: Vec<String>,
    /// A copy that may be written to.
    pub dir: TempDir,
}

pub struct Family {
    pub pairs: Pairs,
    absent: Vec<Vec<u8>>,
}

/// The directory of the fixtures.
pub fn directory() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../testdata/rocksdb")
}

impl Fixture {
    /// Copies the fixture.
    pub fn load(name: &str) -> Fixture {
        let source = directory();
        let text = std::fs::read(source.join(format!("{name}.json"))).expect("can be read");
        let json: Value = serde_json::from_slice(&text).expect("valid JSON");
        let families = json["column_families"].as_object().expect("an object");
        let families = families
            .iter()
            .map(|(name, family)| (name.clone(), Family::parse(family)))
            .collect();
        let dir = tempfile::tempdir().expect("a temporary directory");
        content::copy_dir(&source.join(name), dir.path());
        Fixture {
            families,
            last_sequence: json["last_sequence"].as_u64(),
            dropped: list(&json["dropped"]).iter().map(text_of).collect(),
            dir,
        }
    }

    pub fn open(&self) -> DB {
        let db = open_with(self.dir.path(), options_of).unwrap_or_else(|e| panic!("{e}"));
        let names = DB::list_cf(&Options::default(), self.dir.path()).expect("can be listed");
        assert_eq!(names.len(), self.families.len(), "{names:?}");
        for name in &self.dropped {
            assert!(!names.contains(name), "{name} was dropped");
        }
        db
    }

    /// Checks the column families that `when` selects.
    fn check(&self, db: &DB, when: &str) {
        for (name, family) in &self.families {
            check_family(db, name, &family.pairs, &family.absent, when);
        }
    }

    /// Reads, compacts and reopens.
    fn check_life(&self) {
        self.check_untouched();
        let db = self.open();
        if let Some(sequence) = self.last_sequence {
            assert_eq!(db.latest_sequence_number(), sequence);
        }
        self.check(&db, "as RocksDB left it");
        for force in [false, true] {
            for name in self.families.keys() {
                content::compact(&db, name, force).unwrap_or_else(|e| panic!("{name}: {e}"));
            }
            self.check(&db, &format!("compacted, force = {force}"));
        }
        drop(db);
        let db = self.open();
        self.check(&db, "reopened");
        if let Some(sequence) = self.last_sequence {
            assert_eq!(db.latest_sequence_number(), sequence);
        }
        drop(db);
        self.check_untouched();
        if tools::available() {
            tools::check(self.dir.path());
        }
    }

    /// Reads the fixture on a file system that refuses writes, and checks that nothing was written.
    fn check_untouched(&self) {
        let before = bytes_of(self.dir.path());
        // Opening reads the beginning of tables, even of families that are not read.
        let families =
            (self.families.keys()).map(|name| ColumnFamilyDescriptor::new(name, options_of(name)));
        let path = self.dir.path();
        let db = DB::open_cf_descriptors_read_only(&Options::default(), path, families, false)
            .unwrap_or_else(|e| panic!("{e}"));
        self.check(&db, "read-only");
        drop(db);
        assert!(before == bytes_of(path), "files changed");
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

/// Every file of a directory, with its bytes.
fn bytes_of(dir: &Path) -> BTreeMap<PathBuf, Vec<u8>> {
    let entries = std::fs::read_dir(dir).expect("can be listed");
    let read = |path: PathBuf| (path.clone(), std::fs::read(&path).expect("can be read"));
    entries
        .map(|entry| read(entry.expect("can be listed").path()))
        .collect()
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

/// Adds little-endian numbers, as RocksDB's UInt64AddOperator does. An operand of another size
/// counts as zero.
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
            Fixture::load(stringify!($name)).check_life();
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
    wide_blob_ingest,
    compressions,
    ribbon_firstkey_78,
    plain_tables,
    plain_fixed,
    cuckoo_tables,
);

/// This includes what RocksDB has logged, flushed, ingested and dropped.
#[test]
fn a_repair_of_what_rocksdb_left_changes_no_value() {
    for name in [
        "default_options",
        "default_11_1",
        "nocomp_crc32c_fv5",
        "multi_cf",
        "wal_only",
        "wal_zstd",
        "rangedel_merge",
        "filters_partitioned",
        "compressions",
        "ribbon_firstkey_78",
        "plain_tables",
        "cuckoo_tables",
    ] {
        let fixture = Fixture::load(name);
        for times in ["once", "twice"] {
            DB::repair(&Options::default(), fixture.dir.path()).expect("can be repaired");
            let log = std::fs::read_to_string(fixture.dir.path().join("LOG")).expect("is there");
            assert!(!log.contains("Repair: guess"), "{name}: {log}");
            fixture.check(&fixture.open(), &format!("{name}, repaired {times}"));
        }
    }
}

/// A family cannot be read without its merge operator, and the error says so.
#[test]
fn a_missing_merge_operator_is_named() {
    let fixture = Fixture::load("rangedel_merge");
    let db = open_with(fixture.dir.path(), |_| Options::default()).expect("opens");
    let cf = content::cf(&db, "append");
    let merged = unhex("6b6579303030303030");
    let e = db.get_cf(&cf, &merged).expect_err("there is no operator");
    assert!(e.to_string().contains("erge"), "{e}");
    let family = &fixture.families["default"];
    check_family(
        &db,
        "default",
        &family.pairs,
        &family.absent,
        "without operators",
    );
}
