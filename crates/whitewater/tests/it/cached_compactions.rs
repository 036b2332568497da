//! What is cached of the tables that compactions write.

use crate::harness::{Db, tiny};
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering::Relaxed};
use std::thread;
use std::time::Duration;
use whitewater::compaction_filter::Decision;
use whitewater::fs::mem::MemFs;
use whitewater::statistics::Ticker;
use whitewater::{
    BlockBasedIndexType, BlockBasedOptions, Cache, CompactionOptions, DBCompressionType,
    LruCacheOptions, Options, ReadOptions,
};

const KEYS: u32 = 3000;

fn key(i: u32) -> String {
    format!("key{i:06}")
}

/// Options of a database with blocks of this size that go to `cache`.
fn options(cache: &Cache, block_size: usize, partitioned: bool) -> Options {
    let mut table = BlockBasedOptions::default();
    table.set_block_cache(cache);
    table.set_block_size(block_size);
    if partitioned {
        table.set_index_type(BlockBasedIndexType::TwoLevelIndexSearch);
    }
    let mut o = tiny();
    o.set_fs(Arc::new(MemFs::new()));
    o.enable_statistics();
    o.set_disable_auto_compactions(true);
    o.set_write_buffer_size(4 << 20);
    o.set_block_based_table_factory(&table);
    o
}

/// A cache that has room for everything.
fn large_cache() -> Cache {
    Cache::new_lru_cache(16 << 20)
}

/// Writes every third key with this value into a table of its own, three times, so that a
/// compaction has something to merge.
fn fill(db: &Db, value: u8) {
    for round in 0..3 {
        for i in (round..KEYS).step_by(3) {
            db.put(key(i), [value; 100]).expect("writes");
        }
        db.flush().expect("flushes");
    }
}

fn read(db: &Db, keys: std::ops::Range<u32>, value: u8) {
    for i in keys {
        let found = db.get(key(i)).expect("reads").expect("is there");
        assert_eq!(found, [value; 100], "key {i}");
    }
}

fn compact(db: &Db) {
    db.compact_range(None::<&[u8]>, None::<&[u8]>);
}

/// How often a data block was looked for in the cache in vain while `work` ran.
fn misses(o: &Options, work: impl FnOnce()) -> u64 {
    let before = o.get_ticker_count(Ticker::BlockCacheDataMiss);
    work();
    o.get_ticker_count(Ticker::BlockCacheDataMiss) - before
}

#[test]
fn a_compaction_leaves_cached_what_was_cached() {
    for (partitioned, threads, dictionary) in [(false, 1, 0), (true, 3, 0), (false, 1, 4 << 10)] {
        let cache = large_cache();
        let mut o = options(&cache, 512, partitioned);
        o.set_compression_type(DBCompressionType::Zstd);
        o.set_compression_options_parallel_threads(threads);
        o.set_compression_options(-14, 3, 0, dictionary);
        let db = Db::open(&o, "/db").expect("opens");
        fill(&db, 1);
        read(&db, 0..KEYS, 1);
        compact(&db);
        let case = (partitioned, threads, dictionary);
        assert_eq!(misses(&o, || read(&db, 0..KEYS, 1)), 0, "{case:?}");
        // What they were made of leaves the cache, in the background.
        let only_what_was_written = || cache.get_usage() < 2 * KEYS as usize * 130;
        for _ in 0..20_000 {
            if only_what_was_written() {
                break;
            }
            thread::sleep(Duration::from_millis(1));
        }
        assert!(only_what_was_written(), "{case:?}");
        // Once more, from blocks that a compaction has cached.
        fill(&db, 2);
        read(&db, 0..KEYS, 2);
        compact(&db);
        assert_eq!(misses(&o, || read(&db, 0..KEYS, 2)), 0, "{case:?}");
        assert_eq!(cache.get_pinned_usage(), 0, "{case:?}");
    }
}

#[test]
fn a_compaction_caches_nothing_that_was_not_cached() {
    let cache = large_cache();
    let o = options(&cache, 512, false);
    let db = Db::open(&o, "/db").expect("opens");
    fill(&db, 1);
    let mut past_the_cache = ReadOptions::default();
    past_the_cache.fill_cache(false);
    for i in 0..KEYS {
        let found = db.get_opt(key(i), &past_the_cache).expect("reads");
        assert_eq!(found.as_deref(), Some(&[1; 100][..]));
    }
    let before = cache.get_usage();
    compact(&db);
    assert!(cache.get_usage() <= before, "{}", cache.get_usage());
    assert!(misses(&o, || read(&db, 0..KEYS, 1)) > 500);
}

#[test]
fn a_compaction_caches_the_part_that_was_cached() {
    let o = options(&large_cache(), 512, false);
    let db = Db::open(&o, "/db").expect("opens");
    fill(&db, 1);
    read(&db, 0..KEYS / 3, 1);
    compact(&db);
    // The block in which the part ends may or may not be.
    assert!(misses(&o, || read(&db, 0..KEYS / 3, 1)) <= 1);
    assert!(misses(&o, || read(&db, KEYS / 3 + 10..KEYS, 1)) > 300);
}

/// Blocks of the usual size lie in memory of their own once readers find them.
#[test]
fn blocks_that_a_compaction_has_cached_are_not_in_use() {
    let cache = large_cache();
    let o = options(&cache, 4096, false);
    let db = Db::open(&o, "/db").expect("opens");
    fill(&db, 1);
    read(&db, 0..KEYS, 1);
    let adds = || o.get_ticker_count(Ticker::BlockCacheDataAdd);
    let before = adds();
    compact(&db);
    assert!(adds() > before + 60, "{before} {}", adds());
    assert!(cache.get_usage() > KEYS as usize * 100);
    assert_eq!(cache.get_pinned_usage(), 0);
    let before = adds();
    assert_eq!(misses(&o, || read(&db, 0..KEYS, 1)), 0);
    assert_eq!((adds(), cache.get_pinned_usage()), (before, 0));
}

#[test]
fn a_compaction_that_fails_leaves_no_blocks_in_the_cache() {
    let cache = large_cache();
    let mut o = options(&cache, 512, false);
    o.set_target_file_size_base(64 << 20);
    let calls = Arc::new(AtomicU32::new(0));
    let seen = Arc::clone(&calls);
    o.set_compaction_filter(
        "fails late",
        move |_level, _key: &[u8], _value: &[u8]| match seen.fetch_add(1, Relaxed) {
            call if call + 1 == KEYS => panic!("planned"),
            _ => Decision::Keep,
        },
    );
    let db = Db::open(&o, "/db").expect("opens");
    fill(&db, 1);
    read(&db, 0..KEYS, 1);
    let adds = || o.get_ticker_count(Ticker::BlockCacheDataAdd);
    let (before, added) = (cache.get_usage(), adds());
    let files = db.live_files().expect("known");
    let names: Vec<_> = files.into_iter().map(|file| file.name).collect();
    db.compact_files(&CompactionOptions::default(), &names, 1)
        .expect_err("the filter panics");
    assert_eq!(calls.load(Relaxed), KEYS);
    assert!(adds() > added);
    assert_eq!(cache.get_usage(), before);
}

#[test]
fn a_compaction_into_a_cache_without_room_fails_nothing() {
    for (strict, block_size) in [(false, 512), (true, 512), (false, 4096), (true, 4096)] {
        let mut small = LruCacheOptions::default();
        small.set_num_shard_bits(0);
        small.set_capacity(24 << 10);
        small.set_strict_capacity_limit(strict);
        let cache = Cache::new_lru_cache_opts(&small);
        let db = Db::open(&options(&cache, block_size, false), "/db").expect("opens");
        for value in 1..4 {
            fill(&db, value);
            read(&db, 0..KEYS, value);
            compact(&db);
            assert_eq!(cache.get_pinned_usage(), 0);
            read(&db, 0..KEYS, value);
            assert!(cache.get_usage() <= 24 << 10, "{}", cache.get_usage());
        }
    }
}
