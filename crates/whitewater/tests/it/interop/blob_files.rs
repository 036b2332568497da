//! Blob files of every codec, written and collected by both engines in turn.
//!
//! RocksDB works with the options in our OPTIONS file: it writes blob files, too, and moves values
//! out of ours.

use super::workload::Workload;
use super::written::compare;
use super::{java, tools};
use crate::content::{self, Content};
use std::path::Path;
use whitewater::{
    ColumnFamilyDescriptor, DB, DBCompressionType, FileChecksum, FlushOptions, Options,
};

/// A name and the codec of the values in blob files.
type Family = (&'static str, DBCompressionType);

const FAMILIES: [Family; 7] = [
    ("default", DBCompressionType::None),
    ("snappy", DBCompressionType::Snappy),
    ("zlib", DBCompressionType::Zlib),
    ("bzip2", DBCompressionType::Bz2),
    ("lz4", DBCompressionType::Lz4),
    ("lz4hc", DBCompressionType::Lz4hc),
    ("zstd", DBCompressionType::Zstd),
];

fn options(codec: DBCompressionType) -> Options {
    let mut o = Options::default();
    o.create_if_missing(true);
    o.create_missing_column_families(true);
    o.set_file_checksum(FileChecksum::Crc32c);
    o.set_enable_blob_files(true);
    o.set_min_blob_size(40);
    o.set_blob_file_size(4_000);
    o.set_blob_compression_type(codec);
    o.set_enable_blob_gc(true);
    o.set_blob_gc_age_cutoff(0.5);
    o.set_blob_gc_force_threshold(0.4);
    o
}

fn open(dir: &Path, families: &[Family]) -> DB {
    let descriptor = |(name, codec): &Family| ColumnFamilyDescriptor::new(*name, options(*codec));
    let descriptors = families.iter().map(descriptor);
    DB::open_cf_descriptors(&options(FAMILIES[0].1), dir, descriptors).expect("opens")
}

fn flush(db: &DB, families: &[Family]) {
    let families: Vec<_> = families.iter().map(|f| content::cf(db, f.0)).collect();
    let families: Vec<_> = families.iter().collect();
    let flushed = db.flush_cfs_opt(&families, &FlushOptions::default());
    flushed.expect("flushes");
}

/// Compacts all families, each of which has blob files.
fn compact(db: &DB, families: &[Family]) {
    for (name, _) in families {
        let cf = content::cf(db, name);
        let count = db.property_int_value_cf(&cf, "rocksdb.num-blob-files");
        assert!(count.expect("can be asked") > Some(0), "{name}");
        content::compact(db, name, true).expect("compacted");
    }
}

/// Writes a database that has blob files of every codec, some of them with garbage.
fn write(dir: &Path, seed: u64, families: &[Family]) -> Content {
    let names: Vec<&str> = families.iter().map(|(name, _)| *name).collect();
    let mut work = Workload::new(seed, &names, 300);
    let db = open(dir, families);
    for round in 0..4 {
        work.run(&db, 400);
        flush(&db, families);
        if round == 1 {
            compact(&db, families);
        }
    }
    work.run(&db, 20);
    content::check(&db, &work.model, "as it was written");
    work.model
}

#[test]
fn tools_read_blob_files_of_every_codec() {
    if !tools::available() {
        return;
    }
    let dir = tempfile::tempdir().expect("a temporary directory");
    let model = write(dir.path(), 71, &FAMILIES);
    tools::check(dir.path());
    compare(&tools::scan(dir.path()), &model, "by ldb");
}

#[test]
fn tools_read_what_a_repair_has_found_again() {
    if !tools::available() {
        return;
    }
    let dir = tempfile::tempdir().expect("a temporary directory");
    let model = write(dir.path(), 79, &FAMILIES);
    let before = tools::files(dir.path(), "blob");
    std::fs::remove_file(dir.path().join("CURRENT")).expect("removed");
    DB::repair(&options(FAMILIES[0].1), dir.path()).expect("repaired");
    assert_eq!(tools::files(dir.path(), "blob"), before);
    tools::check(dir.path());
    compare(&tools::scan(dir.path()), &model, "by ldb");
    let db = open(dir.path(), &FAMILIES);
    compact(&db, &FAMILIES);
    content::check(&db, &model, "and compacted here");
    drop(db);
    compare(&tools::scan(dir.path()), &model, "and compacted here");
}

/// RocksDB 7.8 fails to compress values that do not shrink with zlib and bzip2.
#[test]
fn tools_compact_what_has_blob_files() {
    if !tools::available() {
        return;
    }
    let fails = |f: &Family| matches!(f.1, DBCompressionType::Zlib | DBCompressionType::Bz2);
    let families: Vec<Family> = FAMILIES.into_iter().filter(|f| !fails(f)).collect();
    let dir = tempfile::tempdir().expect("a temporary directory");
    let model = write(dir.path(), 73, &families);
    tools::ldb(dir.path(), &["compact"]);
    compare(&tools::scan(dir.path()), &model, "compacted by RocksDB");
    let db = open(dir.path(), &families);
    content::check(&db, &model, "compacted by RocksDB");
    compact(&db, &families);
    content::check(&db, &model, "and compacted here");
    drop(db);
    tools::check(dir.path());
    compare(&tools::scan(dir.path()), &model, "and compacted here");
}

#[test]
fn the_newest_rocksdb_collects_our_blob_files_and_we_its() {
    let Some(jar) = java::jar() else { return };
    let dir = tempfile::tempdir().expect("a temporary directory");
    let mut model = write(dir.path(), 72, &FAMILIES);
    compare(&java::scan(&jar, dir.path()), &model, "by RocksDB");
    for round in 0..3 {
        model = java::rewrite(&jar, dir.path(), round);
        let db = open(dir.path(), &FAMILIES);
        content::check(&db, &model, "rewritten by RocksDB");
        compact(&db, &FAMILIES);
        content::check(&db, &model, "and compacted here");
        drop(db);
        compare(&java::scan(&jar, dir.path()), &model, "and back");
    }
}
