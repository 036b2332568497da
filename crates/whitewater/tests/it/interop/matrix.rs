//! Tables of every layout that can be written, for RocksDB's tools, for a recent RocksDB and for
//! the newest one. Codecs have their own tests.
//!
//! The lists below have everything that a build can write; a new compression type or filter is one
//! more entry. A database has a column family for each layout, and as many layouts as are needed
//! for every two values of different options to meet. Tables made outside of databases have all
//! possible layouts.

use super::workload::Workload;
use super::written::compare;
use super::{java, python, tools};
use crate::content;
use crate::harness::append;
use rand::rngs::StdRng;
use rand::{Rng, SeedableRng};
use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;
use whitewater::{
    BlockBasedIndexType, BlockBasedOptions, ChecksumType, DB, DBCompactionStyle, DBCompressionType,
    DataBlockIndexType, FifoCompactOptions, FlushOptions, Options, SliceTransform, SstFileWriter,
};

const COMPRESSIONS: [DBCompressionType; 4] = [
    DBCompressionType::None,
    DBCompressionType::Snappy,
    DBCompressionType::Lz4,
    DBCompressionType::Zstd,
];
const CHECKSUMS: [ChecksumType; 5] = [
    ChecksumType::NoChecksum,
    ChecksumType::CRC32c,
    ChecksumType::XXHash,
    ChecksumType::XXHash64,
    ChecksumType::XXH3,
];
const INDEXES: [BlockBasedIndexType; 4] = [
    BlockBasedIndexType::BinarySearch,
    BlockBasedIndexType::HashSearch,
    BlockBasedIndexType::TwoLevelIndexSearch,
    BlockBasedIndexType::BinarySearchWithFirstKey,
];
type Filter = fn(&mut BlockBasedOptions);
const FILTERS: [Filter; 5] = [
    |_| {},
    |t| t.set_bloom_filter(10.0, false),
    |t| t.set_ribbon_filter(10.0),
    |t| {
        t.set_bloom_filter(10.0, false);
        t.set_partition_filters(true);
    },
    |t| {
        t.set_ribbon_filter(10.0);
        t.set_partition_filters(true);
    },
];
/// How many values each of these has, and whether data blocks have hash indexes.
const SIZES: [usize; 5] = [
    COMPRESSIONS.len(),
    CHECKSUMS.len(),
    INDEXES.len(),
    FILTERS.len(),
    2,
];

/// An index into each list.
type Layout = [usize; 5];

/// Options that make tables of a layout and format version.
fn options(version: i32, layout: Layout) -> Options {
    let [compression, checksum, index, filter, hashed] = layout;
    let mut table = BlockBasedOptions::default();
    table.set_format_version(version);
    table.set_checksum_type(CHECKSUMS[checksum]);
    table.set_index_type(INDEXES[index]);
    FILTERS[filter](&mut table);
    if hashed == 1 {
        table.set_data_block_index_type(DataBlockIndexType::BinaryAndHash);
    }
    table.set_block_size(600);
    table.set_metadata_block_size(128);
    let mut options = Options::default();
    options.create_if_missing(true);
    options.create_missing_column_families(true);
    options.set_compression_type(COMPRESSIONS[compression]);
    options.set_block_based_table_factory(&table);
    options.set_prefix_extractor(SliceTransform::create_fixed_prefix(5));
    options.set_merge_operator_associative("append", append);
    options
}

/// Layouts in which every two values of different lists meet.
fn pairwise() -> Vec<Layout> {
    let pairs = |layout: Layout| {
        let two = (0..layout.len()).flat_map(move |b| (0..b).map(move |a| (a, b)));
        two.map(move |(a, b)| (a, layout[a], b, layout[b]))
    };
    let mut missing: BTreeSet<_> = all().into_iter().flat_map(pairs).collect();
    let mut rng = StdRng::seed_from_u64(1);
    let mut layouts = Vec::new();
    while !missing.is_empty() {
        let any = (0..50).map(|_| SIZES.map(|size| rng.random_range(0..size)));
        let gain = |layout: &Layout| pairs(*layout).filter(|p| missing.contains(p)).count();
        let best = any.max_by_key(gain).expect("fifty");
        if gain(&best) > 0 {
            pairs(best).for_each(|pair| _ = missing.remove(&pair));
            layouts.push(best);
        }
    }
    layouts
}

/// All layouts.
fn all() -> Vec<Layout> {
    let mut layouts = vec![[0; 5]];
    for (place, size) in SIZES.into_iter().enumerate() {
        let with = |layout: Layout| {
            (0..size).map(move |value| {
                let mut layout = layout;
                layout[place] = value;
                layout
            })
        };
        layouts = layouts.into_iter().flat_map(with).collect();
    }
    layouts
}

/// Writes a database with a family for each layout. The last writes are in its log. Returns the
/// model.
fn write(dir: &Path, version: i32, seed: u64) -> Workload {
    let layouts = pairwise();
    let names = (0..layouts.len()).map(|n| format!("layout{n}"));
    let names: Vec<String> = ["default".to_owned()].into_iter().chain(names).collect();
    let refs: Vec<&str> = names.iter().map(String::as_str).collect();
    let mut work = Workload::new(seed, &refs, 300);
    let default = options(version, [0, 1, 0, 0, 0]);
    let of = [default.clone()].into_iter();
    let of = of.chain(layouts.iter().map(|layout| options(version, *layout)));
    let open = || DB::open_cf_with_opts(&default, dir, refs.iter().copied().zip(of.clone()));
    let db = open().unwrap();
    for _ in 0..2 {
        work.run(&db, 25 * names.len());
        let families: Vec<_> = names.iter().map(|name| content::cf(&db, name)).collect();
        let families: Vec<_> = families.iter().collect();
        db.flush_cfs_opt(&families, &FlushOptions::default())
            .unwrap();
    }
    // Half of the families have one table, with everything that is left.
    for name in names.iter().step_by(2) {
        content::compact(&db, name, true).unwrap();
    }
    work.run(&db, names.len());
    content::check(&db, &work.model, "as it was written");
    drop(db);
    content::check(
        &content::open(dir),
        &work.model,
        "opened with other options",
    );
    work
}

#[test]
fn tools_read_every_two_choices_together() {
    if !tools::available() {
        return;
    }
    for version in 2..=5 {
        let dir = tempfile::tempdir().expect("a temporary directory");
        let work = write(dir.path(), version, 60 + version as u64);
        tools::check(dir.path());
        compare(&tools::scan(dir.path()), &work.model, "for ldb");
    }
}

#[test]
fn a_recent_rocksdb_reads_every_two_choices_together() {
    let Some(python) = python::python() else {
        return;
    };
    for version in 2..=6 {
        let dir = tempfile::tempdir().expect("a temporary directory");
        let work = write(dir.path(), version, 70 + version as u64);
        let found = python::scan(&python, dir.path());
        compare(
            &found,
            &work.model,
            &format!("version {version}, for rocksdict"),
        );
    }
}

#[test]
fn the_newest_rocksdb_reads_every_two_choices_together() {
    let Some(jar) = java::jar() else { return };
    for version in 2..=7 {
        let dir = tempfile::tempdir().expect("a temporary directory");
        let work = write(dir.path(), version, 90 + version as u64);
        let found = java::scan(&jar, dir.path());
        let what = format!("version {version}, for rocksdbjni");
        compare(&found, &work.model, &what);
    }
}

/// Values, deletions and operands in order, with their numbers in RocksDB.
fn entries(seed: u64) -> Vec<(Vec<u8>, u8, Vec<u8>)> {
    let mut rng = StdRng::seed_from_u64(seed);
    let mut entries = vec![(Vec::new(), 1, b"of the empty key".to_vec())];
    for n in 0..40 {
        let key = format!("key{n:04}").into_bytes();
        let (kind, value) = match rng.random_range(0..8) {
            0 => (0, Vec::new()),
            1 => (2, b"operand".to_vec()),
            2 => (1, Vec::new()),
            3 if n == 7 => (1, vec![b'v'; 20_000]),
            _ => (1, vec![b'v'; rng.random_range(1..100)]),
        };
        entries.push((key, kind, value));
    }
    entries
}

#[test]
fn tools_read_tables_of_every_layout() {
    if !tools::available() {
        return;
    }
    let dir = tempfile::tempdir().expect("a temporary directory");
    let mut tables = 0;
    for version in 2..=5 {
        for layout in all() {
            tables += 1;
            let options = options(version, layout);
            let path = dir.path().join(format!("{tables:06}.sst"));
            let mut writer = SstFileWriter::create(&options);
            writer.open(&path).unwrap();
            for (key, kind, value) in entries(tables) {
                let done = match kind {
                    0 => writer.delete(key),
                    1 => writer.put(key, value),
                    _ => writer.merge(key, value),
                };
                done.unwrap();
            }
            writer.delete_range("key0100", "key0200").unwrap();
            writer.finish().unwrap();
        }
    }
    let file = format!("--file={}", tools::path(dir.path()));
    for command in ["verify", "check"] {
        let command = format!("--command={command}");
        let out = tools::run("/usr/bin/sst_dump", &[&file, &command, "--verify_checksum"]);
        assert_eq!(out.matches("Process ").count() as u64, tables, "{command}");
    }
    let scan = [file.as_str(), "--command=scan", "--output_hex"];
    let out = tools::run("/usr/bin/sst_dump", &scan);
    let mut seen = 0;
    for table in out.split("Process ").skip(1) {
        let (path, lines) = table.split_once('\n').expect("lines");
        let name = Path::new(path.trim()).file_stem().expect("a name");
        let number: u64 = name.to_str().expect("digits").parse().expect("a number");
        let found: Vec<&str> = lines.lines().filter(|l| l.starts_with('\'')).collect();
        let dump = |(key, kind, value): (Vec<u8>, u8, Vec<u8>)| {
            let (key, value) = (content::hex(&key), content::hex(&value));
            format!("'{key}' seq:0, type:{kind} => {value}").to_uppercase()
        };
        let wanted: Vec<String> = entries(number).into_iter().map(dump).collect();
        let found: Vec<String> = found.iter().map(|l| l.to_uppercase()).collect();
        assert_eq!(found, wanted, "table {number}");
        seen += 1;
    }
    assert_eq!(seen, tables);
}

#[test]
fn databases_of_every_compaction_style_are_read() {
    if !tools::available() {
        return;
    }
    let python = python::python();
    let styles = [
        DBCompactionStyle::Level,
        DBCompactionStyle::Universal,
        DBCompactionStyle::Fifo,
    ];
    for (seed, style) in (80..).zip(styles) {
        for dynamic in [false, true] {
            let dir = tempfile::tempdir().expect("a temporary directory");
            let mut o = options(5, [1, 1, 0, 1, 0]);
            o.set_compaction_style(style);
            o.set_level_compaction_dynamic_level_bytes(dynamic);
            let mut fifo = FifoCompactOptions::default();
            fifo.set_max_table_files_size(1 << 40);
            o.set_fifo_compaction_options(&fifo);
            o.set_write_buffer_size(64 << 10);
            o.set_target_file_size_base(16 << 10);
            o.set_max_bytes_for_level_base(64 << 10);
            let names = ["default", "one"];
            let mut work = Workload::new(seed, &names, 1_000);
            let families = names.map(|name| (name, o.clone()));
            let db = DB::open_cf_with_opts(&o, dir.path(), families).unwrap();
            work.run(&db, 900);
            db.wait_for_compact(&Default::default()).unwrap();
            drop(db);
            tools::check(dir.path());
            let what = format!("{style:?}, {dynamic}");
            compare(&tools::scan(dir.path()), &work.model, &what);
            if let Some(python) = &python {
                compare(&python::scan(python, dir.path()), &work.model, &what);
            }
        }
    }
}

/// Padding between data blocks, also where the index has several entries to a restart point.
#[test]
fn rocksdb_reads_blocks_fitted_to_pages() {
    if !tools::available() {
        return;
    }
    let dir = tempfile::tempdir().expect("a temporary directory");
    let mut model = BTreeMap::new();
    let mut rng = StdRng::seed_from_u64(19);
    for number in 0..20_000 {
        let mut value = vec![b'v'; rng.random_range(40..60)];
        value.extend((0..50).map(|_| rng.random::<u8>()));
        model.insert(format!("key{number:06}").into_bytes(), value);
    }
    let indexes = [INDEXES[0], INDEXES[2], INDEXES[3]];
    for (index, interval) in indexes
        .into_iter()
        .flat_map(|index| [(index, 1), (index, 4)])
    {
        let mut table = BlockBasedOptions::default();
        table.set_index_type(index);
        table.set_index_block_restart_interval(interval);
        let mut options = Options::default();
        options.create_if_missing(true);
        options.set_compression_type(DBCompressionType::Lz4);
        options.set_block_based_table_factory(&table);
        let path = dir.path().join(format!("{index:?}-{interval}"));
        let db = DB::open(&options, &path).expect("opens");
        for (key, value) in &model {
            db.put(key, value).expect("written");
        }
        db.flush().expect("flushed");
        drop(db);
        tools::check(&path);
        let tables = tools::table_values(&path);
        assert!(tables.values().eq([&model]), "{index:?}, {interval}");
    }
}
