//! Options files between this engine and RocksDB.

use super::tools::{self, copied, ldb};
use crate::fixtures;
use std::path::Path;
use whitewater::{
    BlockBasedOptions, Cache, ColumnFamilyDescriptor, DB, DBCompressionType, Env, Error, ErrorKind,
    MemtableFactory, Options, SliceTransform,
};

fn load(path: &Path, ignore: bool) -> Result<(Options, Vec<ColumnFamilyDescriptor>), Error> {
    let cache = Cache::new_lru_cache(1 << 20);
    Options::load_latest(path, Env::new()?, ignore, cache)
}

/// Options, many of which are not the default.
fn options() -> Options {
    let mut opts = Options::default();
    opts.create_if_missing(true);
    opts.create_missing_column_families(true);
    opts.set_max_background_jobs(3);
    opts.set_wal_ttl_seconds(100);
    opts.set_max_total_wal_size(1 << 20);
    opts.set_write_buffer_size(1 << 20);
    opts.set_compression_type(DBCompressionType::Zstd);
    opts.set_compression_per_level(&[DBCompressionType::None, DBCompressionType::Lz4]);
    opts.set_bottommost_compression_type(DBCompressionType::Zstd);
    opts.set_prefix_extractor(SliceTransform::create_fixed_prefix(2));
    opts.set_memtable_protection_bytes_per_key(8);
    opts.set_memtable_prefix_bloom_ratio(0.1);
    opts.set_max_bytes_for_level_multiplier(7.5);
    let mut table = BlockBasedOptions::default();
    table.set_block_size(8192);
    table.set_bloom_filter(9.5, false);
    opts.set_block_based_table_factory(&table);
    opts
}

/// A database with options and column families of several kinds.
fn made(path: &Path) {
    let mut memtables = Vec::new();
    for (name, factory) in [
        ("vector", MemtableFactory::Vector),
        ("list", MemtableFactory::HashLinkList { bucket_count: 50 }),
        (
            "skips",
            MemtableFactory::HashSkipList {
                bucket_count: 40,
                height: 3,
                branching_factor: 5,
            },
        ),
    ] {
        let mut opts = Options::default();
        opts.set_memtable_factory(factory);
        opts.set_prefix_extractor(SliceTransform::create_fixed_prefix(1));
        memtables.push(ColumnFamilyDescriptor::new(name, opts));
    }
    let mut opts = options();
    opts.set_allow_concurrent_memtable_write(false);
    memtables.push(ColumnFamilyDescriptor::new("default", opts.clone()));
    memtables.push(ColumnFamilyDescriptor::new("o:d#d \\ one", options()));
    let db = DB::open_cf_descriptors(&opts, path, memtables).unwrap();
    db.put(b"key", b"value").unwrap();
    db.flush().unwrap();
}

fn names(families: &[ColumnFamilyDescriptor]) -> Vec<&str> {
    families.iter().map(ColumnFamilyDescriptor::name).collect()
}

/// The options files of a database, the oldest first, and their text.
fn files(path: &Path) -> Vec<(String, String)> {
    let entries = std::fs::read_dir(path).unwrap().map(|e| e.unwrap());
    let mut files: Vec<_> = entries
        .filter_map(|e| {
            let name = e.file_name().into_string().unwrap();
            let text = || std::fs::read_to_string(e.path()).unwrap();
            name.starts_with("OPTIONS-").then(|| (name, text()))
        })
        .collect();
    files.sort();
    files
}

#[test]
fn options_are_loaded_as_they_were() {
    let dir = tempfile::tempdir().unwrap();
    made(dir.path());
    let (opts, families) = load(dir.path(), false).unwrap();
    let all = ["default", "vector", "list", "skips", "o:d#d \\ one"];
    let mut found = names(&families);
    found.sort_unstable();
    let mut expected = all;
    expected.sort_unstable();
    assert_eq!(found, expected);
    let before = files(dir.path()).pop().unwrap();
    let db = DB::open_cf_descriptors(&opts, dir.path(), families).unwrap();
    assert_eq!(db.get(b"key").unwrap().as_deref(), Some(&b"value"[..]));
    drop(db);
    let after = files(dir.path()).pop().unwrap();
    assert!(after.0 > before.0);
    assert_eq!(after.1, before.1);
}

#[test]
fn options_files_follow_what_happens() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path();
    let mut opts = Options::default();
    opts.create_if_missing(true);
    #[cfg_attr(
        feature = "multi-threaded-cf",
        expect(unused_mut, reason = "only the single-threaded form needs it")
    )]
    let mut db = DB::open(&opts, path).unwrap();
    let newest = || files(path).pop().unwrap().1;
    assert_eq!(files(path).len(), 1);
    db.create_cf("one", &opts).unwrap();
    assert!(newest().contains("[CFOptions \"one\"]"));
    db.drop_cf("one").unwrap();
    assert!(!newest().contains("[CFOptions \"one\"]"));
    assert_eq!(files(path).len(), 2);
    db.set_options(&[("write_buffer_size", "131072")]).unwrap();
    assert!(newest().contains("\n  write_buffer_size=131072\n"));
    db.set_db_options(&[("max_open_files", "333")]).unwrap();
    assert!(newest().contains("\n  max_open_files=333\n"));
    // A refused change leaves no trace.
    let before = files(path);
    db.set_options(&[("write_buffer_size", "99"), ("num_levels", "3")])
        .unwrap_err();
    assert_eq!(files(path), before);
    assert_eq!(before.len(), 2);
}

#[test]
fn rocksdb_reads_options_files_and_writes_others() {
    if !tools::available() {
        return;
    }
    let dir = tempfile::tempdir().unwrap();
    made(dir.path());
    let ours = files(dir.path()).pop().unwrap().1;
    let listed = ldb(dir.path(), &["list_column_families", "--try_load_options"]);
    assert!(listed.contains("skips"), "{listed}");
    let copy = copied(dir.path());
    // Opens the database with the options of the file, and writes a new one.
    ldb(
        copy.path(),
        &["put", "other", "thing", "--try_load_options"],
    );
    let theirs = files(copy.path()).pop().unwrap().1;
    assert!(theirs.contains("rocksdb_version=7.8.3"), "{theirs}");
    for line in [
        "write_buffer_size=1048576",
        "WAL_ttl_seconds=100",
        "compression=kZSTD",
        "compression_per_level=kNoCompression:kLZ4Compression",
        "prefix_extractor=rocksdb.FixedPrefix.2",
        "block_size=8192",
        "max_background_jobs=3",
        "max_bytes_for_level_multiplier=7.5",
    ] {
        let in_file = |text: &str| text.lines().any(|l| l.trim().starts_with(line));
        assert!(in_file(&ours), "{line} in\n{ours}");
        assert!(in_file(&theirs), "{line} in\n{theirs}");
    }
    // ldb sets a merge operator of its own.
    let e = load(copy.path(), false).err().expect("an option too many");
    assert!(e.to_string().contains("merge_operator="), "{e}");
    let (opts, families) = load(copy.path(), true).unwrap();
    let db = DB::open_cf_descriptors(&opts, copy.path(), families).unwrap();
    assert_eq!(db.get(b"other").unwrap().as_deref(), Some(&b"thing"[..]));
}

#[test]
fn files_of_rocksdb_are_loaded_or_refused_by_name() {
    let fixtures = fixtures::directory();
    for (name, refused) in [
        // Written by 7.8, 9.8 and 11.1.
        ("ribbon_firstkey_78", "option "),
        ("wide_blob_ingest", ""),
        ("default_11_1", ""),
        ("nocomp_crc32c_fv5", ""),
    ] {
        let path = fixtures.join(name);
        match load(&path, false) {
            Ok(_) => assert_eq!(refused, "", "{name}"),
            Err(e) => {
                let text = e.to_string();
                assert!(!refused.is_empty() && text.contains(refused), "{name}: {e}");
                assert!(text.contains("OPTIONS-"), "{name}: {e}");
            }
        }
        let (_, families) = load(&path, true).unwrap();
        assert_eq!(names(&families)[0], "default", "{name}");
    }
    let empty = tempfile::tempdir().unwrap();
    let e = load(empty.path(), true).err().expect("no options file");
    assert_eq!(e.kind(), ErrorKind::NotFound);
}
