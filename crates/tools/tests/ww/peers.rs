//! Databases of RocksDB, and RocksDB's own tool beside this one.
//!
//! The databases are those in `testdata/rocksdb`. Without `/usr/bin/ldb` the
//! comparison with it is skipped, with a line on standard error.

use std::path::Path;
use std::process::Command;

use serde_json::Value;

use super::skip::skip;
use super::{made, output, prints, run_with};

#[test]
fn databases_of_rocksdb_are_shown_exactly() {
    let fixtures = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../testdata/rocksdb");
    for name in [
        "default_options",
        "default_11_1",
        "multi_cf",
        "rangedel_merge",
        "nocomp_crc32c_fv5",
        "filters_partitioned",
        "wal_only",
        "wal_zstd",
    ] {
        let db = fixtures.join(name);
        let text = std::fs::read_to_string(fixtures.join(format!("{name}.json")));
        let content: Value = serde_json::from_str(&text.expect("a fixture")).expect("JSON");
        let families = content["column_families"].as_object().expect("families");
        let listed = prints(&db, "list-column-families {db}");
        assert_eq!(listed.lines().count(), families.len(), "{name}");
        for (family, expected) in families {
            let pairs = expected["entries"].as_array().expect("entries").iter();
            let line = |pair: &Value| {
                let hex = |at: usize| pair[at].as_str().expect("digits").to_uppercase();
                format!("0x{} ==> 0x{}\n", hex(0), hex(1))
            };
            let expected: String = pairs.map(line).collect();
            let found = prints(&db, &format!("--db {{db}} -q --hex --cf {family} scan"));
            assert_eq!(found, expected, "{name} {family}");
        }
        assert_eq!(
            prints(&db, "checkconsistency {db} --checksums -q"),
            "OK\n",
            "{name}"
        );
        prints(&db, "wal-dump {db} -q");
        prints(&db, "--db {db} idump -q");
    }
}

/// What `ldb` prints, if there is one.
fn ldb(db: &Path, line: &str) -> Option<String> {
    let ldb = Path::new("/usr/bin/ldb");
    if !ldb.exists() {
        skip("no /usr/bin/ldb");
        return None;
    }
    let output = Command::new(ldb)
        .arg(format!("--db={}", db.display()))
        .args(line.split_whitespace())
        .output()
        .expect("ldb starts");
    let message = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{line}: {message}");
    Some(String::from_utf8_lossy(&output.stdout).into_owned())
}

#[test]
fn ldb_and_ww_say_the_same() {
    let dir = made();
    let db = dir.path();
    // ldb opens the database to write, and flushes: what it leaves is compared.
    let Some(scan) = ldb(db, "scan --hex") else {
        return;
    };
    // Older versions have a colon for the arrow.
    let ours = prints(db, "--db {db} -q scan --hex");
    assert_eq!(scan.replace(" : ", " ==> "), ours);
    let dump = ldb(db, "dump --hex").expect("ldb is there");
    assert_eq!(dump, prints(db, "--db {db} -q dump --hex"));
    let internal = ldb(db, "idump --hex").expect("ldb is there");
    assert_eq!(internal, prints(db, "--db {db} -q idump --hex"));

    let families = ldb(db, "list_column_families").expect("ldb is there");
    let names = prints(db, "list-column-families {db}");
    let names = names.lines().collect::<Vec<_>>().join(", ");
    assert!(families.contains(&format!("{{{names}}}")), "{families}");

    let manifest = ldb(db, "manifest_dump").expect("ldb is there");
    let facts = |text: &str| {
        let is_fact = |line: &&str| {
            line.starts_with(' ')
                || line.starts_with("comparator")
                || line.starts_with("log number")
        };
        text.lines()
            .filter(is_fact)
            .map(String::from)
            .collect::<Vec<_>>()
    };
    let ours = facts(&prints(db, "manifest_dump {db}"));
    assert_eq!(facts(&manifest), ours);
    assert!(ours.len() >= 6, "{ours:?}");

    let copies = tempfile::tempdir().expect("temporary directory");
    let copy = copies.path().join("copy");
    let load = "--db {db} load --hex --create-if-missing";
    assert_eq!(
        output(load, &run_with(&copy, load, dump.as_bytes())),
        "100 keys loaded\n"
    );
    assert_eq!(ldb(&copy, "dump --hex").expect("ldb is there"), dump);
}
