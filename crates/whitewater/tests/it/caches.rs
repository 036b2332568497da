//! Block caches as users see them.

use crate::harness::{Db, tiny};
use std::path::Path;
use std::sync::Arc;
use std::thread;
use std::time::Duration;
use whitewater::fs::Fs;
use whitewater::fs::mem::MemFs;
use whitewater::properties::{BLOCK_CACHE_PINNED_USAGE, ESTIMATE_TABLE_READERS_MEM};
use whitewater::statistics::Ticker;
use whitewater::{
    BlockBasedIndexType, BlockBasedOptions, BlockBasedTablePinningTier, Cache, ErrorKind,
    IteratorMode, Options, WriteBatch,
};

/// A database with one table, whose blocks go to `cache`.
fn filled(cache: &Cache) -> Db {
    filled_in(cache, &MemFs::new(), -1)
}

fn filled_in(cache: &Cache, fs: &MemFs, max_open_files: i32) -> Db {
    let mut table = BlockBasedOptions::default();
    table.set_block_cache(cache);
    let mut o = tiny();
    o.set_fs(Arc::new(fs.clone()));
    o.set_block_based_table_factory(&table);
    o.set_max_open_files(max_open_files);
    let db = Db::open(&o, "/db").expect("opens");
    for i in 0..100u32 {
        db.put(i.to_be_bytes(), [7; 1000]).expect("writes");
    }
    db.flush().expect("flushes");
    db
}

#[test]
fn a_cache_is_shared_by_databases_and_knows_what_is_pinned() {
    let cache = Cache::new_hyper_clock_cache(1 << 20, 0);
    assert_eq!(cache.get_usage(), 0);
    let (one, two) = (filled(&cache), filled(&cache));
    let key = 5u32.to_be_bytes();
    one.get(key).expect("reads");
    let after_one = cache.get_usage();
    assert!(after_one >= 1000, "{after_one}");
    two.get(key).expect("reads");
    assert!(cache.get_usage() >= 2 * 1000);
    let property = |db: &Db| {
        db.property_int_value(BLOCK_CACHE_PINNED_USAGE)
            .expect("known")
    };
    assert_eq!((cache.get_pinned_usage(), property(&one)), (0, Some(0)));

    let pinned = two.get_pinned(key).expect("reads").expect("is there");
    let usage = cache.get_pinned_usage();
    assert!((1000..=after_one).contains(&usage), "{usage}");
    assert_eq!(
        property(&one),
        Some(usage as u64),
        "the cache's, not the database's"
    );
    assert_eq!(pinned.len(), 1000);
    drop(pinned);
    assert_eq!(cache.get_pinned_usage(), 0);
}

/// A database in `fs`, all of whose tables but those that an iterator needs are deleted, the
/// iterator, and what the cache held before. Calls `end` before the iterator is dropped.
fn drop_last_iterator(cache: &Cache, fs: &MemFs, max_open_files: i32, end: fn(&Db)) -> (Db, usize) {
    let db = filled_in(cache, fs, max_open_files);
    for i in 0..100u32 {
        db.get(i.to_be_bytes()).expect("reads");
    }
    let all = cache.get_usage();
    assert!(all > 100 * 1000, "{all}");
    let mut iterator = db.raw_iterator();
    iterator.seek_to_first();
    let mut batch = WriteBatch::default();
    batch.delete_range([0], [255]);
    db.write(batch).expect("writes");
    db.compact_range(None::<&[u8]>, None::<&[u8]>);
    end(&db);
    assert!(iterator.valid() && dead_tables(&db, fs) > 0 && cache.get_usage() > all / 2);
    drop(iterator);
    (db, all)
}

/// How many files of tables there are that the database does not need.
fn dead_tables(db: &Db, fs: &MemFs) -> usize {
    let names = fs.list(Path::new("/db")).expect("lists");
    let tables = names.iter().filter(|name| name.ends_with(".sst"));
    tables.count() - db.live_files().expect("lists").len()
}

/// The iterator that was the last to need a table once removed all its blocks from the cache, which
/// took 280 ms of the reader's time.
#[test]
fn tables_and_their_blocks_go_soon_after_the_last_iterator() {
    for max_open_files in [-1, 10] {
        let cache = Cache::new_lru_cache(1 << 20);
        let fs = MemFs::new();
        let (db, all) = drop_last_iterator(&cache, &fs, max_open_files, |_| {});
        // The compaction may have held them, too, for a moment.
        let gone = || dead_tables(&db, &fs) == 0 && cache.get_usage() < all / 10;
        let waited = (0..6000).find(|_| {
            thread::sleep(Duration::from_millis(10));
            gone()
        });
        assert!(waited.is_some(), "{} of {all} bytes", cache.get_usage());
    }
}

/// Background threads remove blocks, but there may be none any longer.
#[test]
fn tables_and_their_blocks_go_with_the_last_iterator_after_background_work_was_cancelled() {
    for max_open_files in [-1, 10] {
        let cache = Cache::new_lru_cache(1 << 20);
        let fs = MemFs::new();
        let cancel = |db: &Db| db.cancel_all_background_work(true);
        let (db, all) = drop_last_iterator(&cache, &fs, max_open_files, cancel);
        assert_eq!(dead_tables(&db, &fs), 0);
        assert!(cache.get_usage() < all / 10, "{}", cache.get_usage());
    }
}

/// A database with `table`'s layout and three tables in level 0, and its options, which collect
/// statistics.
fn counted(table: &BlockBasedOptions) -> (Db, Options) {
    let mut o = tiny();
    o.set_fs(Arc::new(MemFs::new()));
    o.enable_statistics();
    o.set_disable_auto_compactions(true);
    o.set_write_buffer_size(1 << 20);
    o.set_block_based_table_factory(table);
    let db = Db::open(&o, "/db").expect("opens");
    for round in 0..3u32 {
        for i in (round..600).step_by(3) {
            db.put(key(i), [round as u8; 100]).expect("writes");
        }
        db.flush().expect("flushes");
    }
    (db, o)
}

fn key(i: u32) -> String {
    format!("key{i:06}")
}

fn check(db: &Db, what: &str) {
    for i in (0..600).step_by(7) {
        let value = db.get(key(i)).unwrap_or_else(|e| panic!("{what}: {e}"));
        assert_eq!(value.expect(what), [(i % 3) as u8; 100], "{what}");
        assert_eq!(db.get(key(i) + "x").expect(what), None, "{what}");
    }
    let keys = |mode| -> Vec<Vec<u8>> {
        let keys = db.iterator(mode).map(|item| item.expect(what).0);
        keys.map(Vec::from).collect()
    };
    let mut expected: Vec<_> = (0..600).map(|i| key(i).into_bytes()).collect();
    assert!(keys(IteratorMode::Start) == expected, "{what}");
    expected.reverse();
    assert!(keys(IteratorMode::End) == expected, "{what}");
}

#[test]
fn index_and_filter_blocks_are_read_again_after_eviction() {
    let mut cache = Cache::new_lru_cache(4 << 20);
    let mut table = BlockBasedOptions::default();
    table.set_block_cache(&cache);
    table.set_block_size(512);
    table.set_bloom_filter(10.0, false);
    let (held, counts) = counted(&table);
    check(&held, "held by tables");
    for ticker in [
        Ticker::BlockCacheIndexHit,
        Ticker::BlockCacheIndexMiss,
        Ticker::BlockCacheFilterHit,
        Ticker::BlockCacheFilterAdd,
    ] {
        assert_eq!(counts.get_ticker_count(ticker), 0, "{ticker}");
    }
    let memory = |db: &Db| {
        let property = db.property_int_value(ESTIMATE_TABLE_READERS_MEM);
        property.expect("known").expect("a number")
    };
    let memory_held = memory(&held);
    drop(held);

    table.set_cache_index_and_filter_blocks(true);
    let (db, counts) = counted(&table);
    check(&db, "in the cache");
    assert!(memory(&db) < memory_held, "{} < {memory_held}", memory(&db));
    assert_eq!(cache.get_pinned_usage(), 0);
    let count = |ticker| counts.get_ticker_count(ticker);
    // One block of each table, read when it was opened.
    for (add, miss, hit, bytes) in [
        (
            Ticker::BlockCacheIndexAdd,
            Ticker::BlockCacheIndexMiss,
            Ticker::BlockCacheIndexHit,
            Ticker::BlockCacheIndexBytesInsert,
        ),
        (
            Ticker::BlockCacheFilterAdd,
            Ticker::BlockCacheFilterMiss,
            Ticker::BlockCacheFilterHit,
            Ticker::BlockCacheFilterBytesInsert,
        ),
    ] {
        assert_eq!((count(add), count(miss)), (3, 3), "{add}");
        assert!(count(hit) > 50, "{hit}");
        assert!(count(bytes) > 500, "{bytes}");
    }
    let sum = |tickers: [Ticker; 3]| tickers.map(count).iter().sum::<u64>();
    let all = [
        (
            Ticker::BlockCacheHit,
            [
                Ticker::BlockCacheDataHit,
                Ticker::BlockCacheIndexHit,
                Ticker::BlockCacheFilterHit,
            ],
        ),
        (
            Ticker::BlockCacheMiss,
            [
                Ticker::BlockCacheDataMiss,
                Ticker::BlockCacheIndexMiss,
                Ticker::BlockCacheFilterMiss,
            ],
        ),
        (
            Ticker::BlockCacheAdd,
            [
                Ticker::BlockCacheDataAdd,
                Ticker::BlockCacheIndexAdd,
                Ticker::BlockCacheFilterAdd,
            ],
        ),
        (
            Ticker::BlockCacheBytesWrite,
            [
                Ticker::BlockCacheDataBytesInsert,
                Ticker::BlockCacheIndexBytesInsert,
                Ticker::BlockCacheFilterBytesInsert,
            ],
        ),
    ];
    for (total, parts) in all {
        assert!(count(total) > 0, "{total}");
        assert_eq!(count(total), sum(parts), "{total}");
    }
    assert!(count(Ticker::BlockCacheBytesRead) > count(Ticker::BlockCacheBytesWrite));

    let before = [Ticker::BlockCacheIndexMiss, Ticker::BlockCacheFilterMiss].map(count);
    cache.set_capacity(0);
    check(&db, "with a cache that keeps nothing");
    let after = [Ticker::BlockCacheIndexMiss, Ticker::BlockCacheFilterMiss].map(count);
    assert!(after[0] > before[0] && after[1] > before[1], "{after:?}");
    cache.set_capacity(4 << 20);
    check(&db, "with a cache that keeps again");
    assert!(count(Ticker::BlockCacheIndexAdd) > 3);
}

#[test]
fn pinned_blocks_stay_and_are_charged() {
    use BlockBasedTablePinningTier as Tier;
    for partitioned in [false, true] {
        for tier in [Tier::Fallback, Tier::None, Tier::FlushAndSimilar, Tier::All] {
            for l0 in [false, true] {
                let what = format!("partitioned {partitioned}, {tier:?}, l0 {l0}");
                let mut cache = Cache::new_lru_cache(4 << 20);
                let mut table = BlockBasedOptions::default();
                table.set_block_cache(&cache);
                table.set_block_size(512);
                table.set_metadata_block_size(128);
                table.set_bloom_filter(10.0, false);
                if partitioned {
                    table.set_index_type(BlockBasedIndexType::TwoLevelIndexSearch);
                    table.set_partition_filters(true);
                }
                table.set_cache_index_and_filter_blocks(true);
                table.set_pin_l0_filter_and_index_blocks_in_cache(l0);
                table.set_pin_top_level_index_and_filter(l0);
                table.set_top_level_index_pinning_tier(tier);
                table.set_partition_pinning_tier(tier);
                table.set_unpartitioned_pinning_tier(tier);
                let (db, counts) = counted(&table);
                check(&db, &what);
                let fallback = tier == Tier::Fallback && l0;
                let flushed = fallback || matches!(tier, Tier::FlushAndSimilar | Tier::All);
                assert_eq!(cache.get_pinned_usage() > 0, flushed, "{what}");
                let misses = || {
                    let tickers = [Ticker::BlockCacheIndexMiss, Ticker::BlockCacheFilterMiss];
                    tickers.map(|t| counts.get_ticker_count(t))
                };
                let before = misses();
                assert_eq!(before == [0, 0], flushed, "{what}: {before:?}");
                let pinned = cache.get_pinned_usage();
                cache.set_capacity(0);
                check(&db, &what);
                assert_eq!(misses() == before, flushed, "{what}");
                assert_eq!(cache.get_pinned_usage(), pinned, "{what}");

                cache.set_capacity(4 << 20);
                db.compact_range(None::<&[u8]>, None::<&[u8]>);
                check(&db, &what);
                // Pinning the top block of a partitioned index falls back to "all".
                let deep = tier == Tier::All || (fallback && partitioned);
                assert_eq!(cache.get_pinned_usage() > 0, deep, "{what}");
                drop(db);
                assert_eq!(cache.get_pinned_usage(), 0, "{what}");
            }
        }
    }
}

#[test]
fn blocks_of_deleted_tables_leave_the_cache() {
    type Layout = fn(&mut BlockBasedOptions);
    let layouts: [(&str, Layout); 4] = [
        ("metadata held by tables", |_| {}),
        ("partitions held by tables", |t| {
            t.set_index_type(BlockBasedIndexType::TwoLevelIndexSearch);
            t.set_partition_filters(true);
        }),
        ("metadata in the cache", |t| {
            t.set_cache_index_and_filter_blocks(true);
        }),
        ("partitions in the cache", |t| {
            t.set_index_type(BlockBasedIndexType::TwoLevelIndexSearch);
            t.set_partition_filters(true);
            t.set_cache_index_and_filter_blocks(true);
        }),
    ];
    for (what, layout) in layouts {
        for max_open_files in [-1, 10] {
            let cache = Cache::new_lru_cache(4 << 20);
            let mut table = BlockBasedOptions::default();
            table.set_block_cache(&cache);
            table.set_block_size(512);
            table.set_metadata_block_size(256);
            table.set_bloom_filter(10.0, false);
            layout(&mut table);
            let (db, _) = counted(&table);
            let limit = max_open_files.to_string();
            db.set_db_options(&[("max_open_files", &limit)])
                .expect(what);
            check(&db, what);
            assert!(cache.get_usage() > 50_000, "{what}: {}", cache.get_usage());
            db.compact_range(None::<&[u8]>, None::<&[u8]>);
            check(&db, what);
            for i in 0..600 {
                db.delete(key(i)).expect(what);
            }
            db.flush().expect(what);
            db.compact_range(None::<&[u8]>, None::<&[u8]>);
            // The compaction thread may still be deleting files.
            for _ in 0..20_000 {
                if cache.get_usage() == 0 {
                    break;
                }
                thread::sleep(Duration::from_millis(1));
            }
            assert_eq!(cache.get_usage(), 0, "{what}, {limit} files");
        }
    }
}

#[test]
fn blocks_cannot_go_to_a_cache_that_is_not_there() {
    let mut table = BlockBasedOptions::default();
    table.set_cache_index_and_filter_blocks(true);
    table.disable_cache();
    let mut o = tiny();
    o.set_fs(Arc::new(MemFs::new()));
    o.set_block_based_table_factory(&table);
    let e = Db::open(&o, "/db").expect_err("refused");
    assert_eq!(e.kind(), ErrorKind::InvalidArgument);
    assert!(
        e.to_string().contains("cache_index_and_filter_blocks"),
        "{e}"
    );
}
