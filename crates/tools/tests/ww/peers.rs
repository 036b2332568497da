//! Databases of RocksDB, and RocksDB's own tool beside this one.
//!
//! The databases are those in `testdata/rocksdb`. Without `/usr/bin/ldb` the
//! comparison with it is skipped, with a line on standard error.

use std::path::Path;
use std::process::Command;

use serde_json::Value;

use super::skip::skip_without;
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
        "plain_tables",
        "plain_fixed",
        "cuckoo_tables",
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

/// Sections and decisions are dumped in RocksDB's words, and what is only prepared is no part of
/// the database.
#[test]
fn logs_of_two_phase_commit_are_dumped_as_ldb_does() {
    let fixtures = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../testdata/two_phase");
    for (name, log) in [
        ("outstanding", "000004.log"),
        ("resolved", "000004.log"),
        ("kept", "000004.log"),
        ("write_prepared", "000004.log"),
    ] {
        let log = fixtures.join(name).join(log);
        let dump = prints(&log, "wal-dump {db} -q --print-values");
        if name == "outstanding" {
            let lines: Vec<&str> = dump.lines().map(str::trim_end).collect();
            let section = "2,2,32,27,BEGIN_PREPARE(false) PUT(0) : 0x6B31 : 0x7631 \
                           PUT(1) : 0x6B32 : 0x7632 END_PREPARE(0x7861)";
            assert_eq!(lines[1], section);
            assert_eq!(lines[3], "5,0,16,105,COMMIT(0x7861)");
            assert_eq!(lines[5], "7,0,16,166,ROLLBACK(0x7863)");
        }
        let json = prints(&log, "wal-dump {db} -q --json");
        assert!(json.contains("\"transaction\":\"0x7861\""), "{json}");
        let policy = match name {
            "write_prepared" => "--write_committed=false",
            _ => "--write_committed=true",
        };
        let walfile = format!(
            "dump_wal --walfile={} --print_value {policy}",
            log.display()
        );
        if let Some(theirs) = ldb(&fixtures.join(name), &walfile) {
            let theirs = theirs.lines().map(str::trim_end);
            assert!(theirs.eq(dump.lines().map(str::trim_end)), "{name}: {dump}");
        }
    }
    let (db, idump) = (fixtures.join("outstanding"), "--db {db} idump -q --cf");
    let family = |name: &str| prints(&db, &format!("{idump} {name}"));
    assert!(family("default").contains("'k1' seq:5, type:1 => v1"));
    assert!(!family("default").contains("k5"), "prepared only");
    assert!(family("other").contains("'k2' seq:6, type:1 => v2"));
}

/// What `ldb` prints, if there is one.
fn ldb(db: &Path, line: &str) -> Option<String> {
    let ldb = Path::new("/usr/bin/ldb");
    if !ldb.exists() {
        skip_without("/usr/bin/ldb");
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
