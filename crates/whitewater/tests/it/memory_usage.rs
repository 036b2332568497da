//! Memory of databases and caches, as `perf::MemoryUsageBuilder` measures it.

use whitewater::perf::{MemoryUsageBuilder, get_memory_usage_stats};
use whitewater::{BlockBasedOptions, Cache, DB, IteratorMode, Options, properties};

/// A flush returns before it has let go of its memtables.
fn settle(db: &DB) {
    db.wait_for_compact(&Default::default()).unwrap();
}

#[test]
fn memtables_tables_and_caches_add_up() {
    let cache = Cache::new_lru_cache(1 << 20);
    let open = |dir: &tempfile::TempDir| {
        let mut options = Options::default();
        options.create_if_missing(true);
        let mut table = BlockBasedOptions::default();
        table.set_block_cache(&cache);
        options.set_block_based_table_factory(&table);
        DB::open(&options, dir.path()).unwrap()
    };
    let dirs = [tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap()];
    #[cfg_attr(
        feature = "multi-threaded-cf",
        expect(unused_mut, reason = "only the single-threaded form needs it")
    )]
    let (mut a, b) = (open(&dirs[0]), open(&dirs[1]));
    a.create_cf("more", &Options::default()).unwrap();
    let int = |db: &DB, name| db.property_int_value(name).unwrap().unwrap();
    let before = get_memory_usage_stats(Some(&[&a]), None).unwrap();
    let more = a.cf_handle("more").unwrap();
    a.put_cf(&more, b"k", vec![1; 300_000]).unwrap();
    let after = get_memory_usage_stats(Some(&[&a]), None).unwrap();
    // Of all column families.
    assert!(after.mem_table_total >= before.mem_table_total + 300_000);
    assert_eq!(after.mem_table_total, after.mem_table_unflushed);
    assert_eq!((after.mem_table_readers_total, after.cache_total), (0, 0));

    // Flushed, and held by an iterator.
    let iterator = a.iterator_cf(&more, IteratorMode::Start);
    a.flush_cf(&more).unwrap();
    settle(&a);
    a.get_cf(&more, b"k").unwrap();
    let held = get_memory_usage_stats(Some(&[&a]), None).unwrap();
    assert!(held.mem_table_total >= held.mem_table_unflushed + 300_000);
    assert!(held.mem_table_readers_total > 0);
    drop(iterator);
    let freed = get_memory_usage_stats(Some(&[&a]), None).unwrap();
    assert_eq!(freed.mem_table_total, freed.mem_table_unflushed);

    b.put(b"k", vec![1; 10_000]).unwrap();
    b.flush().unwrap();
    settle(&b);
    b.get(b"k").unwrap();
    let both = get_memory_usage_stats(Some(&[&a, &b]), Some(&[&cache])).unwrap();
    assert_eq!(both.cache_total, cache.get_usage() as u64);
    assert!(both.cache_total >= 10_000);
    let mut builder = MemoryUsageBuilder::new().unwrap();
    let again = cache.clone();
    builder.add_db(&a);
    builder.add_db(&b);
    builder.add_db(&b);
    builder.add_cache(&cache);
    builder.add_cache(&again);
    let built = builder.build().unwrap();
    assert_eq!(built.approximate_mem_table_total(), both.mem_table_total);
    assert_eq!(
        built.approximate_mem_table_unflushed(),
        both.mem_table_unflushed
    );
    let readers = built.approximate_mem_table_readers_total();
    assert_eq!(readers, both.mem_table_readers_total);
    assert_eq!(built.approximate_cache_total(), both.cache_total);
    let of_b = int(&b, properties::ESTIMATE_TABLE_READERS_MEM);
    assert!(of_b > 0 && of_b < readers);
}

#[test]
fn a_memtable_without_entries_counts_what_rocksdbs_does() {
    let dir = tempfile::tempdir().unwrap();
    #[cfg_attr(
        feature = "multi-threaded-cf",
        expect(unused_mut, reason = "only the single-threaded form needs it")
    )]
    let mut db = DB::open_default(dir.path()).unwrap();
    let usage = |db: &DB| get_memory_usage_stats(Some(&[db]), None).unwrap();
    let int = |db: &DB, name| db.property_int_value(name).unwrap().unwrap();
    assert_eq!(usage(&db).mem_table_total, 2048);
    assert_eq!(usage(&db).mem_table_unflushed, 2048);
    for name in [
        properties::CUR_SIZE_ACTIVE_MEM_TABLE,
        properties::CUR_SIZE_ALL_MEM_TABLES,
        properties::SIZE_ALL_MEM_TABLES,
    ] {
        assert_eq!(int(&db, name), 2048, "{name}");
    }
    db.create_cf("more", &Options::default()).unwrap();
    assert_eq!(usage(&db).mem_table_total, 4096);
    db.put(b"k", b"v").unwrap();
    assert!(int(&db, properties::CUR_SIZE_ALL_MEM_TABLES) > 2048);
    db.flush().unwrap();
    assert_eq!(int(&db, properties::CUR_SIZE_ALL_MEM_TABLES), 2048);
}
