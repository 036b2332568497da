//! Compressed logs, and what RocksDB before 8.0 makes of them.
//!
//! The reader of RocksDB 7.4 to 7.10 tells a new fragment from the rest of the previous one by its
//! address in a buffer of one block. If two fragments of one record follow each other at the same
//! offset of their blocks, the reader takes the second for an empty rest and skips it (fixed in
//! 8.0, pull request 11198). RocksDB itself rarely writes such records, and this engine never does.

use super::written::compare;
use super::{java, python, tools};
use crate::content::{self, Content, Pairs};
use rand::rngs::StdRng;
use rand::{Rng, SeedableRng};
use std::io::Write;
use std::path::Path;
use std::process::{Command, Stdio};
use whitewater::{DB, DBCompressionType, Options};

/// Bytes that do not compress.
fn noise(rng: &mut StdRng, len: usize) -> Vec<u8> {
    (0..len).map(|_| rng.random()).collect()
}

/// Whether `ldb dump_wal` reads the newest log to its end. Returns its message if not.
fn ldb_reads(db: &Path) -> Result<(), String> {
    let log = tools::files(db, "log").pop().expect("a log");
    let output = Command::new("/usr/bin/ldb")
        .args(["dump_wal", &format!("--walfile={}", tools::path(&log))])
        .output()
        .expect("ldb");
    match output.status.success() {
        true => Ok(()),
        false => Err(String::from_utf8_lossy(&output.stderr).into_owned()),
    }
}

/// Newer RocksDB finds `wanted` in the database.
fn check_newer(db: &Path, wanted: &Content, what: &str) {
    if let Some(python) = python::python() {
        let what = format!("{what}, for rocksdict");
        compare(&python::scan(&python, db), wanted, &what);
    }
    if let Some(jar) = java::jar() {
        let what = format!("{what}, for rocksdbjni");
        compare(&java::scan(&jar, db), wanted, &what);
    }
}

/// Makes ldb write `pairs`, with the options of the database.
fn load(db: &Path, pairs: &[(&str, Vec<u8>)]) {
    let mut ldb = Command::new("/usr/bin/ldb")
        .args(["load", "--hex", "--try_load_options"])
        .arg(format!("--db={}", tools::path(db)))
        .stdin(Stdio::piped())
        .spawn()
        .expect("ldb");
    let mut stdin = ldb.stdin.take().expect("piped");
    for (key, value) in pairs {
        let (key, value) = (tools::hex(key.as_bytes()), tools::hex(value));
        writeln!(stdin, "{key} ==> {value}").expect("ldb reads");
    }
    drop(stdin);
    assert!(ldb.wait().expect("ldb").success());
}

#[test]
fn ldb_does_not_read_all_compressed_records_of_its_own_rocksdb() {
    if !tools::available() {
        return;
    }
    let mut rng = StdRng::seed_from_u64(1);
    // Whether the second record begins at the start of a block.
    for (first, readable) in [(32_706, false), (20_000, true)] {
        let dir = tempfile::tempdir().expect("a temporary directory");
        let flags = ["--benchmarks=fillseq", "--num=0", "--wal_compression=zstd"];
        tools::db_bench(dir.path(), &flags);
        let pairs = [
            ("a", noise(&mut rng, first)),
            ("b", noise(&mut rng, 100_000)),
            ("c", b"behind that".to_vec()),
        ];
        load(dir.path(), &pairs);
        let read = ldb_reads(dir.path());
        assert_eq!(read.is_ok(), readable, "{first}: {read:?}");
        let pairs = pairs.map(|(key, value)| (key.as_bytes().to_vec(), value));
        let wanted = Content::from([("default".to_owned(), pairs.into())]);
        check_newer(dir.path(), &wanted, "by ldb");
        content::check(&content::open(dir.path()), &wanted, "by ldb");
    }
}

/// Records of many lengths, at many offsets of their blocks.
#[test]
fn every_rocksdb_reads_compressed_records_of_every_length() {
    if !tools::available() {
        return;
    }
    let mut rng = StdRng::seed_from_u64(2);
    for recycled in [0, 2] {
        let dir = tempfile::tempdir().expect("a temporary directory");
        let mut options = Options::default();
        options.create_if_missing(true);
        options.set_wal_compression_type(DBCompressionType::Zstd);
        options.set_recycle_log_file_num(recycled);
        let db = DB::open(&options, dir.path()).expect("opens");
        let mut pairs = Pairs::new();
        let lengths = [10_000, 32_000, 45_000, 64_000, 66_000, 150_000, 1_000_000];
        for n in 0..5 * lengths.len() {
            let key = format!("{n:03}").into_bytes();
            let value = noise(&mut rng, lengths[n % lengths.len()]);
            db.put(&key, &value).expect("writes");
            pairs.insert(key, value);
        }
        drop(db);
        let wanted = Content::from([("default".to_owned(), pairs)]);
        let what = format!("{recycled} recycled");
        ldb_reads(dir.path()).unwrap_or_else(|e| panic!("{what}: {e}"));
        compare(&tools::scan(dir.path()), &wanted, &what);
        check_newer(dir.path(), &wanted, &what);
        content::check(&content::open(dir.path()), &wanted, &what);
    }
}
