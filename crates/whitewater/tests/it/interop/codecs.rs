//! Every codec, with and without a dictionary, in every format version, written here and read by
//! RocksDB, and the reverse.
//!
//! The readers are ldb and sst_dump 7.8 up to version 5, rocksdict (RocksDB 9.8) up to version 6,
//! and rocksdbjni (RocksDB 11.8) for all versions. RocksDB writes with the options in our OPTIONS
//! file, so it has the same codecs.

use super::workload::Workload;
use super::written::compare;
use super::{java, python, tools};
use crate::content::{self, Content};
use std::collections::BTreeMap;
use std::path::Path;
use whitewater::{
    BlockBasedOptions, ColumnFamilyDescriptor, DB, DBCompressionType, FlushOptions, Options,
    properties,
};

/// The name of a family, its codec, and its dictionary: none, raw samples, or trained.
type Codec = (&'static str, DBCompressionType, Dictionary);

#[derive(Clone, Copy, PartialEq)]
enum Dictionary {
    None,
    Samples,
    Trained,
}

const PLAIN: &str = "default";

/// RocksDB uses dictionaries only with some codecs, but the options are set for all.
fn codecs() -> Vec<Codec> {
    use DBCompressionType as C;
    let all = [
        ("none", C::None),
        ("snappy", C::Snappy),
        ("zlib", C::Zlib),
        ("bzip2", C::Bz2),
        ("lz4", C::Lz4),
        ("lz4hc", C::Lz4hc),
        ("zstd", C::Zstd),
    ];
    let mut codecs = vec![(PLAIN, C::None, Dictionary::None)];
    codecs.extend(all.map(|(name, codec)| (name, codec, Dictionary::None)));
    codecs.extend([
        ("none, dictionary", C::None, Dictionary::Samples),
        ("snappy, dictionary", C::Snappy, Dictionary::Samples),
        ("zlib, dictionary", C::Zlib, Dictionary::Samples),
        ("bzip2, dictionary", C::Bz2, Dictionary::Samples),
        ("lz4, dictionary", C::Lz4, Dictionary::Samples),
        ("lz4hc, dictionary", C::Lz4hc, Dictionary::Samples),
        ("zstd, dictionary", C::Zstd, Dictionary::Samples),
        ("zstd, trained", C::Zstd, Dictionary::Trained),
    ]);
    codecs
}

/// The codecs of rocksdict's own RocksDB. Its zlib is built without an allocator, which RocksDB
/// relies on, so it reads no zlib block of any engine.
fn of_rocksdict(codec: &Codec) -> bool {
    codec.1 != DBCompressionType::Zlib
}

fn options(version: i32, (_, codec, dictionary): Codec) -> Options {
    let mut table = BlockBasedOptions::default();
    table.set_format_version(version);
    table.set_block_size(1_000);
    let mut options = Options::default();
    options.create_if_missing(true);
    options.create_missing_column_families(true);
    options.set_compression_type(codec);
    if dictionary != Dictionary::None {
        options.set_compression_options(-14, 32_767, 0, 4_096);
    }
    if dictionary == Dictionary::Trained {
        options.set_zstd_max_train_bytes(65_536);
    }
    options.set_block_based_table_factory(&table);
    options
}

fn open(dir: &Path, version: i32, codecs: &[Codec]) -> DB {
    let families = codecs
        .iter()
        .map(|&codec| ColumnFamilyDescriptor::new(codec.0, options(version, codec)));
    DB::open_cf_descriptors(&options(version, codecs[0]), dir, families).expect("opens")
}

/// Writes a database with a family for each codec. The last writes are in its log.
fn write(dir: &Path, version: i32, codecs: &[Codec], seed: u64) -> Content {
    let names: Vec<&str> = codecs.iter().map(|codec| codec.0).collect();
    let mut work = Workload::new(seed, &names, 400);
    let db = open(dir, version, codecs);
    let families: Vec<_> = names.iter().map(|name| content::cf(&db, name)).collect();
    let families: Vec<_> = families.iter().collect();
    let mut fill = || {
        work.run(&db, 60 * names.len());
        db.flush_cfs_opt(&families, &FlushOptions::default())
            .expect("flushes");
    };
    fill();
    // Compactions make dictionaries.
    for name in &names {
        content::compact(&db, name, true).expect("compacts");
    }
    fill();
    work.run(&db, names.len());
    check_that_codecs_count(&db, dir, codecs);
    let without = without_dictionary(&db, dir, codecs);
    assert_eq!(without, [""; 0]);
    work.model
}

/// Tables are smaller with a codec and have no dictionary where they should not, so this is a test
/// of codecs.
fn check_that_codecs_count(db: &DB, dir: &Path, codecs: &[Codec]) {
    let sizes: BTreeMap<&str, f64> = codecs
        .iter()
        .map(|&(name, ..)| (name, shrunk(db, name)))
        .collect();
    for &(name, codec, dictionary) in codecs {
        let small = codec != DBCompressionType::None;
        assert_eq!(sizes[name] < 0.9, small, "{name}: {sizes:?}");
        if dictionary == Dictionary::None {
            assert!(!has_dictionary(db, dir, name), "{name}");
        }
    }
}

/// The families that should have a table with a dictionary, and have none.
fn without_dictionary(db: &DB, dir: &Path, codecs: &[Codec]) -> Vec<&'static str> {
    let with = codecs.iter().filter(|(_, codec, dictionary)| {
        *dictionary != Dictionary::None && !NO_DICTIONARY.contains(codec)
    });
    with.map(|&(name, ..)| name)
        .filter(|name| !has_dictionary(db, dir, name))
        .collect()
}

/// RocksDB trains a dictionary only if a compaction has enough blocks, which depends on its
/// threads. But each codec must have been read with one in some version.
fn check_that_all_had_dictionaries(without: &[Vec<&'static str>]) {
    let (first, others) = without.split_first().expect("some versions");
    let never = first
        .iter()
        .filter(|name| others.iter().all(|without| without.contains(name)));
    let never: Vec<_> = never.collect();
    assert!(never.is_empty(), "{never:?}");
}

/// Codecs without dictionaries, whatever the options say.
const NO_DICTIONARY: [DBCompressionType; 3] = [
    DBCompressionType::None,
    DBCompressionType::Snappy,
    DBCompressionType::Bz2,
];

/// Whether a table of the family has a block for its dictionary.
fn has_dictionary(db: &DB, dir: &Path, family: &str) -> bool {
    let files = db.live_files().expect("can be listed");
    let mut files = files.iter().filter(|f| f.column_family_name == family);
    files.any(|file| {
        let path = dir.join(file.name.trim_start_matches('/'));
        let table = std::fs::read(path).expect("readable");
        let name = b"rocksdb.compression_dict";
        table.windows(name.len()).any(|bytes| bytes == name)
    })
}

/// Bytes of data blocks per byte of keys and values.
fn shrunk(db: &DB, name: &str) -> f64 {
    let cf = content::cf(db, name);
    let text = db.property_value_cf(&cf, properties::AGGREGATED_TABLE_PROPERTIES);
    let text = text.expect("can be asked").expect("known");
    let number = |key: &str| -> f64 {
        let parts = text.split(';').map(str::trim);
        let part = parts
            .filter_map(|part| part.split_once('='))
            .find(|p| p.0 == key);
        let (_, value) = part.unwrap_or_else(|| panic!("no {key} in {text}"));
        value.parse().expect("a number")
    };
    number("data block size") / (number("raw key size") + number("raw value size"))
}

#[test]
fn ldb_and_sst_dump_read_every_codec_in_every_version() {
    if !tools::available() {
        return;
    }
    let codecs = codecs();
    let mut without = Vec::new();
    for version in 2..=5 {
        let dir = tempfile::tempdir().expect("a temporary directory");
        let model = write(dir.path(), version, &codecs, 300 + version as u64);
        tools::check(dir.path());
        compare(
            &tools::scan(dir.path()),
            &model,
            &format!("version {version}, for ldb"),
        );
        for (name, ..) in &codecs {
            let family = format!("--column_family={name}");
            tools::ldb(dir.path(), &["compact", "--try_load_options", &family]);
        }
        let what = format!("version {version}, compacted by ldb");
        without.push(check_here(dir.path(), version, &codecs, &model, &what));
    }
    check_that_all_had_dictionaries(&without);
}

#[test]
fn rocksdict_reads_and_writes_every_codec_in_every_version() {
    let Some(python) = python::python() else {
        return;
    };
    let codecs: Vec<Codec> = codecs().into_iter().filter(of_rocksdict).collect();
    let mut without = Vec::new();
    for version in 2..=6 {
        let dir = tempfile::tempdir().expect("a temporary directory");
        let seed = 310 + version as u64;
        let model = write(dir.path(), version, &codecs, seed);
        let what = format!("version {version}, for rocksdict");
        compare(&python::scan(&python, dir.path()), &model, &what);
        let model = python::rewrite(&python, dir.path(), seed);
        let what = format!("version {version}, written by rocksdict");
        without.push(check_here(dir.path(), version, &codecs, &model, &what));
    }
    check_that_all_had_dictionaries(&without);
}

/// Every codec and version there is.
#[test]
fn the_newest_rocksdb_reads_and_writes_every_codec_in_every_version() {
    let Some(jar) = java::jar() else { return };
    let codecs = codecs();
    let mut without = Vec::new();
    for version in 2..=7 {
        let dir = tempfile::tempdir().expect("a temporary directory");
        let seed = 320 + version as u64;
        let model = write(dir.path(), version, &codecs, seed);
        let what = format!("version {version}, for rocksdbjni");
        compare(&java::scan(&jar, dir.path()), &model, &what);
        let model = java::rewrite(&jar, dir.path(), seed);
        let what = format!("version {version}, written by rocksdbjni");
        without.push(check_here(dir.path(), version, &codecs, &model, &what));
    }
    check_that_all_had_dictionaries(&without);
}

/// The database is read here as RocksDB left it, with its codecs in use, and again after a
/// compaction. Returns the families that have no dictionary and should.
fn check_here(
    dir: &Path,
    version: i32,
    codecs: &[Codec],
    model: &Content,
    what: &str,
) -> Vec<&'static str> {
    let db = open(dir, version, codecs);
    content::check(&db, model, what);
    check_that_codecs_count(&db, dir, codecs);
    let without = without_dictionary(&db, dir, codecs);
    for (name, ..) in codecs {
        content::compact(&db, name, true).expect("compacts");
    }
    content::check(&db, model, &format!("{what}, compacted here"));
    without
}

/// A packaged RocksDB can lack a codec that it claims to have. What it does with a table of RocksDB
/// 7.8 tells which engine is at fault for an unreadable table.
#[test]
fn rocksdict_reads_zlib_of_ours_if_it_reads_zlib_of_rocksdb() {
    let Some(python) = python::python() else {
        return;
    };
    if !tools::available() {
        return;
    }
    let readable = |dir: &Path| {
        let copy = tools::copied(dir);
        python::try_scan(&python, copy.path())
    };
    let theirs = tempfile::tempdir().expect("a temporary directory");
    let flags = [
        "--num=2000",
        "--compression_type=zlib",
        "--benchmarks=fillrandom,flush",
    ];
    tools::db_bench(theirs.path(), &flags);
    let theirs = readable(theirs.path());
    let ours = tempfile::tempdir().expect("a temporary directory");
    let zlib = [(PLAIN, DBCompressionType::Zlib, Dictionary::None)];
    let model = write(ours.path(), 5, &zlib, 330);
    match (theirs, readable(ours.path())) {
        (Ok(_), Ok(found)) => compare(&found, &model, "for rocksdict"),
        (Err(theirs), Err(ours)) => {
            println!("rocksdict has no zlib: {theirs}");
            for said in [&theirs, &ours] {
                assert!(said.contains("compressed block contents: Zlib"), "{said}");
            }
        }
        (theirs, ours) => panic!(
            "of RocksDB 7.8: {:?}, of this engine: {:?}",
            theirs.map(|_| "read"),
            ours.map(|_| "read")
        ),
    }
}
