//! RocksDB's tools on databases written here.

use super::tools::{self, Placed};
use super::workload::{Op, Workload};
use crate::content::{self, Content, Pairs};
use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;
use whitewater::{
    BlockBasedOptions, ChecksumType, DB, DBCompressionType, FlushOptions, MemtableFactory, Options,
    SliceTransform, WaitForCompactOptions,
};

const FAMILIES: [&str; 3] = ["default", "one", "two"];

#[test]
fn tools_read_what_is_not_compressed() {
    check_compression(DBCompressionType::None);
}

#[test]
fn tools_read_snappy() {
    check_compression(DBCompressionType::Snappy);
}

#[test]
fn tools_read_lz4() {
    check_compression(DBCompressionType::Lz4);
}

#[test]
fn tools_read_lz4hc() {
    check_compression(DBCompressionType::Lz4hc);
}

#[test]
fn tools_read_zlib() {
    check_compression(DBCompressionType::Zlib);
}

#[test]
fn tools_read_bzip2() {
    check_compression(DBCompressionType::Bz2);
}

#[test]
fn tools_read_zstd() {
    check_compression(DBCompressionType::Zstd);
}

/// Memtables that group keys by prefix, and tables that record the prefix extractor.
#[test]
fn tools_read_what_has_prefixes() {
    if !tools::available() {
        return;
    }
    let memtables = [
        MemtableFactory::Vector,
        MemtableFactory::HashSkipList {
            bucket_count: 100,
            height: 4,
            branching_factor: 4,
        },
        MemtableFactory::HashLinkList { bucket_count: 100 },
    ];
    for (seed, memtable) in (31..).zip(memtables) {
        let mut options = options(DBCompressionType::None, ChecksumType::XXH3, true);
        options.set_prefix_extractor(SliceTransform::create_fixed_prefix(3));
        options.set_memtable_factory(memtable);
        let dir = tempfile::tempdir().expect("a temporary directory");
        let mut work = Workload::new(seed, &FAMILIES, 2_000);
        let (tables, _) = write(dir.path(), &options, &mut work);
        tools::check(dir.path());
        compare(&tools::scan(dir.path()), &work.model, "as it was closed");
        let (_, number) = tables["default"][0];
        let file = dir.path().join(format!("{number:06}.sst"));
        let file = format!("--file={}", tools::path(&file));
        let out = tools::run(
            "/usr/bin/sst_dump",
            &[&file[..], "--show_properties", "--command=none"],
        );
        assert!(out.contains("rocksdb.FixedPrefix.3"), "{out}");
    }
}

fn check_compression(compression: DBCompressionType) {
    if !tools::available() {
        return;
    }
    for checksum in [ChecksumType::CRC32c, ChecksumType::XXH3] {
        for bloom in [false, true] {
            println!("{compression:?} {checksum:?} bloom: {bloom}");
            let seed = compression as u64 * 4 + checksum as u64 * 2 + u64::from(bloom);
            check_database(seed, &options(compression, checksum, bloom));
        }
    }
}

/// Small files and levels, so that there are many.
fn options(compression: DBCompressionType, checksum: ChecksumType, bloom: bool) -> Options {
    let mut table = BlockBasedOptions::default();
    table.set_checksum_type(checksum);
    let mut options = Options::default();
    if bloom {
        table.set_bloom_filter(10.0, false);
        options.set_recycle_log_file_num(2);
    }
    options.create_if_missing(true);
    options.create_missing_column_families(true);
    options.set_compression_type(compression);
    options.set_block_based_table_factory(&table);
    options.set_write_buffer_size(64 << 10);
    options.set_target_file_size_base(8 << 10);
    options.set_max_bytes_for_level_base(16 << 10);
    options.set_max_bytes_for_level_multiplier(2.0);
    options.set_level_compaction_dynamic_level_bytes(false);
    options.set_level_zero_file_num_compaction_trigger(2);
    // Reads of these tests would ask for compactions between the list of tables and the close.
    options.set_read_triggered_compaction_threshold(0.0);
    options
}

fn check_database(seed: u64, options: &Options) {
    let dir = tempfile::tempdir().expect("a temporary directory");
    let mut work = Workload::new(seed, &FAMILIES, 2_000);
    let (tables, tail) = write(dir.path(), options, &mut work);

    tools::check(dir.path());
    compare(&tools::scan(dir.path()), &work.model, "as it was closed");
    assert_eq!(tools::manifest_tables(dir.path()), tables);
    check_log(dir.path(), &tail);

    let db = content::open_with(dir.path(), |_| options.clone()).unwrap();
    content::check(&db, &work.model, "reopened");
    for name in FAMILIES {
        content::compact(&db, name, true).unwrap();
    }
    // A manual compaction may leave a level fuller than automatic ones allow, which then move its
    // tables on.
    db.wait_for_compact(&WaitForCompactOptions::default())
        .unwrap();
    content::check(&db, &work.model, "compacted");
    let tables = live_tables(&db);
    drop(db);

    tools::check(dir.path());
    compare(&tools::scan(dir.path()), &work.model, "compacted");
    assert_eq!(tools::manifest_tables(dir.path()), tables);
    compare(
        &table_content(dir.path(), &tables),
        &work.model,
        "in the tables",
    );
    check_upkeep(dir.path(), &work.model);
}

/// Checks that what RocksDB writes to copies of the database is sound, too.
fn check_upkeep(dir: &Path, model: &Content) {
    let copy = tools::copied(dir);
    let checkpoint = copy.path().join("checkpoint");
    let place = format!("--checkpoint_dir={}", tools::path(&checkpoint));
    tools::ldb(copy.path(), &["checkpoint", &place]);
    compare(
        &tools::scan(&checkpoint),
        model,
        "in a checkpoint by RocksDB",
    );

    tools::ldb(copy.path(), &["compact"]);
    compare(&tools::scan(copy.path()), model, "compacted by RocksDB");

    // Repair takes families and sequence numbers from the tables alone.
    let copy = tools::copied(dir);
    tools::ldb(copy.path(), &["repair"]);
    compare(&tools::scan(copy.path()), model, "repaired by RocksDB");
    content::check(&content::open(copy.path()), model, "repaired by RocksDB");
}

/// Writes a database of several levels, with the last writes in the log. Returns its tables and
/// those writes.
fn write(
    dir: &Path,
    options: &Options,
    work: &mut Workload,
) -> (BTreeMap<String, Vec<Placed>>, Vec<Vec<Op>>) {
    let db = DB::open_cf_with_opts(options, dir, FAMILIES.map(|f| (f, options.clone()))).unwrap();
    let flush = || {
        let families = FAMILIES.map(|f| content::cf(&db, f));
        let families: Vec<_> = families.iter().collect();
        db.flush_cfs_opt(&families, &FlushOptions::default())
            .unwrap();
    };
    for _ in 0..10 {
        work.run(&db, 120);
        flush();
    }
    db.wait_for_compact(&WaitForCompactOptions::default())
        .unwrap();
    work.run(&db, 5);
    flush();
    db.wait_for_compact(&WaitForCompactOptions::default())
        .unwrap();
    // Far from filling a memtable.
    work.longest = 500;
    let tail = work.run(&db, 10);
    content::check(&db, &work.model, "as it was written");
    let tables = live_tables(&db);
    let levels: BTreeSet<i32> = tables["default"].iter().map(|t| t.0).collect();
    assert!(levels.len() >= 2, "{levels:?}");
    (tables, tail)
}

fn live_tables(db: &DB) -> BTreeMap<String, Vec<Placed>> {
    let mut tables: BTreeMap<_, _> = FAMILIES.map(|f| (f.to_owned(), Vec::new())).into();
    for file in db.live_files().unwrap() {
        let number = file.name.trim_matches(|c: char| !c.is_ascii_digit());
        let place = (file.level, number.parse().expect("a number"));
        let family: &mut Vec<Placed> = tables.get_mut(&file.column_family_name).expect("listed");
        family.push(place);
    }
    tables.values_mut().for_each(|tables| tables.sort());
    tables
}

/// What `sst_dump` finds in the tables of each family, each key being there
/// once.
fn table_content(dir: &Path, tables: &BTreeMap<String, Vec<Placed>>) -> Content {
    let values = tools::table_values(dir);
    let of_family = |placed: &Vec<Placed>| -> Pairs {
        let tables = placed.iter().map(|(_, number)| &values[number]);
        tables
            .flatten()
            .map(|(k, v)| (k.clone(), v.clone()))
            .collect()
    };
    tables
        .iter()
        .map(|(name, placed)| (name.clone(), of_family(placed)))
        .collect()
}

/// Checks that the logs end with `tail`, one line for each batch.
fn check_log(dir: &Path, tail: &[Vec<Op>]) {
    let logs = tools::files(dir, "log");
    let found: Vec<String> = logs
        .iter()
        .flat_map(|log| tools::log_operations(log))
        .collect();
    let batch = |batch: &Vec<Op>| batch.iter().map(Op::dumped).collect::<Vec<_>>().join(" ");
    let tail: Vec<String> = tail.iter().map(batch).collect();
    assert!(
        found.ends_with(&tail),
        "found {:#?}\nwanted {tail:#?}",
        &found[found.len().saturating_sub(tail.len())..]
    );
}

/// Compares contents and names the first difference.
pub fn compare(found: &Content, wanted: &Content, when: &str) {
    assert!(found.keys().eq(wanted.keys()), "{when}: {:?}", found.keys());
    for (name, wanted) in wanted {
        let found = &found[name];
        for key in wanted.keys().chain(found.keys()) {
            let (f, w) = (found.get(key), wanted.get(key));
            let key = content::hex(key);
            assert!(f == w, "{when}: family {name}, key {key}: {f:?}, not {w:?}");
        }
    }
}
