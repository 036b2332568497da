//! Which blocks stay in a full block cache, and which are refused.

use crate::harness::{Db, tiny};
use std::sync::Arc;
use whitewater::fs::mem::MemFs;
use whitewater::statistics::Ticker;
use whitewater::{
    BlockBasedOptions, BlockBasedTablePinningTier, Cache, DBCompressionType, ErrorKind,
    IteratorMode, LruCacheOptions, Options, ReadOptions,
};

const KEYS: u32 = 600;

fn key(i: u32) -> String {
    format!("key{i:06}")
}

/// A cache of one shard.
fn cache(set: impl FnOnce(&mut LruCacheOptions)) -> Cache {
    let mut options = LruCacheOptions::default();
    options.set_num_shard_bits(0);
    set(&mut options);
    Cache::new_lru_cache_opts(&options)
}

/// A table layout with small blocks that go to `cache`.
fn small_blocks(cache: &Cache) -> BlockBasedOptions {
    let mut table = BlockBasedOptions::default();
    table.set_block_cache(cache);
    table.set_block_size(512);
    table
}

/// A database with this layout and three tables in level 0, and its options, which collect
/// statistics.
fn filled(table: &BlockBasedOptions) -> (Db, Options) {
    let mut o = tiny();
    o.set_fs(Arc::new(MemFs::new()));
    o.enable_statistics();
    o.set_disable_auto_compactions(true);
    o.set_write_buffer_size(1 << 20);
    o.set_block_based_table_factory(table);
    let db = Db::open(&o, "/db").expect("opens");
    for round in 0..3 {
        for i in (round..KEYS).step_by(3) {
            db.put(key(i), [round as u8; 100]).expect("writes");
        }
        db.flush().expect("flushes");
    }
    (db, o)
}

/// Look-ups and iterators find all keys.
fn check(db: &Db) {
    for i in 0..KEYS {
        let value = db.get(key(i)).expect("reads").expect("is there");
        assert_eq!(value, [(i % 3) as u8; 100]);
    }
    let items = db.iterator(IteratorMode::Start);
    assert_eq!(
        items.collect::<Result<Vec<_>, _>>().expect("reads").len(),
        600
    );
}

fn assert_refused<T: std::fmt::Debug>(outcome: Result<T, whitewater::Error>) {
    let e = outcome.expect_err("refused");
    assert_eq!(e.kind(), ErrorKind::Aborted);
    assert!(e.is_memory_limit() && e.is_retryable(), "{e}");
    let text = "Operation aborted: Memory limit reached: \
                Insert failed due to LRU cache being full.";
    assert!(e.to_string().starts_with(text), "{e}");
    assert!(e.file().is_some(), "{e}");
}

#[test]
fn a_strict_limit_refuses_reads_until_blocks_are_released() {
    let cache = cache(|o| {
        o.set_capacity(16 << 10);
        o.set_strict_capacity_limit(true);
    });
    let (db, o) = filled(&small_blocks(&cache));
    let failures = || o.get_ticker_count(Ticker::BlockCacheAddFailures);
    check(&db);
    assert!(cache.get_usage() <= 16 << 10, "{}", cache.get_usage());
    assert_eq!((cache.get_pinned_usage(), failures()), (0, 0));

    // Each iterator holds a block of each table, and stands somewhere else.
    let mut held = Vec::new();
    let refused = loop {
        assert!(held.len() < 100, "never refused");
        let mut iter = db.raw_iterator();
        iter.seek(key(held.len() as u32 * 40 % KEYS));
        match iter.status() {
            Ok(()) => held.push(iter),
            refused => break refused,
        }
    };
    assert!(held.len() > 3, "{}", held.len());
    assert_refused(refused);
    assert!(cache.get_pinned_usage() > 12 << 10);
    assert!(cache.get_usage() <= 16 << 10, "{}", cache.get_usage());

    // The room that is left is for values, until it is used as well.
    let mut values = Vec::new();
    let refused = (0..KEYS).find_map(|i| match db.get_pinned(key(i)) {
        Ok(value) => {
            values.push(value.expect("is there"));
            None
        }
        Err(e) => Some(e),
    });
    assert_refused(refused.map_or(Ok(()), Err));
    let items: Vec<_> = db.iterator(IteratorMode::Start).collect();
    assert_refused(items.into_iter().collect::<Result<Vec<_>, _>>());
    assert!(failures() >= 3, "{}", failures());
    assert!(cache.get_usage() <= 16 << 10, "{}", cache.get_usage());

    // Reads that do not fill the cache are not refused, nor are writes and compactions.
    let mut unfilling = ReadOptions::default();
    unfilling.fill_cache(false);
    for i in 0..KEYS {
        let value = db.get_opt(key(i), &unfilling).expect("reads");
        assert!(value.is_some());
    }
    db.put(key(0), [0; 100]).expect("writes");
    db.flush().expect("flushes");
    db.compact_range(None::<&[u8]>, None::<&[u8]>);

    for value in &values {
        assert_eq!(value.len(), 100);
    }
    drop((held, values));
    assert_eq!(cache.get_pinned_usage(), 0);
    check(&db);
    assert!(cache.get_usage() <= 16 << 10, "{}", cache.get_usage());
}

#[test]
fn without_a_strict_limit_blocks_in_use_may_exceed_the_capacity() {
    let mut cache = cache(|o| o.set_capacity(16 << 10));
    let (db, o) = filled(&small_blocks(&cache));
    let hold = || -> Vec<_> {
        let values = (0..KEYS).map(|i| db.get_pinned(key(i)));
        values.map_while(Result::ok).collect()
    };
    assert_eq!(hold().len(), KEYS as usize);
    assert_eq!(o.get_ticker_count(Ticker::BlockCacheAddFailures), 0);
    cache.set_strict_capacity_limit(true);
    assert!(hold().len() < KEYS as usize);
    cache.set_strict_capacity_limit(false);
    assert_eq!(hold().len(), KEYS as usize);
}

#[test]
fn tables_open_where_a_strict_cache_has_no_room_for_their_index() {
    for pinned in [false, true] {
        let mut cache = cache(|o| {
            o.set_capacity(1 << 10);
            o.set_strict_capacity_limit(true);
        });
        let mut table = small_blocks(&cache);
        table.set_bloom_filter(10.0, false);
        table.set_cache_index_and_filter_blocks(true);
        if pinned {
            table.set_unpartitioned_pinning_tier(BlockBasedTablePinningTier::All);
        }
        let (db, mut o) = filled(&table);
        assert_refused(db.get(key(7)));
        assert_eq!(cache.get_pinned_usage(), 0, "nothing is charged");
        cache.set_capacity(1 << 20);
        check(&db);
        // Blocks of tables that are opened from now on can be pinned.
        assert!(pinned || cache.get_pinned_usage() == 0);
        drop(db);

        // If there is room, blocks that are to be pinned are pinned.
        o.create_if_missing(false);
        let db = Db::open(&o, "/db").expect("opens");
        check(&db);
        assert_eq!(cache.get_pinned_usage() > 0, pinned);
        drop(db);
        assert_eq!(cache.get_pinned_usage(), 0);
    }
}

#[test]
fn a_scan_of_data_does_not_evict_index_and_filter_blocks_of_high_priority() {
    // Misses of index and filter blocks after a scan, with such a pool.
    let misses = |high_priority, ratio| {
        let cache = cache(|o| {
            o.set_capacity(24 << 10);
            o.set_high_pri_pool_ratio(ratio);
        });
        let mut table = small_blocks(&cache);
        table.set_bloom_filter(10.0, false);
        table.set_cache_index_and_filter_blocks(true);
        table.set_cache_index_and_filter_blocks_with_high_priority(high_priority);
        let (db, o) = filled(&table);
        check(&db);
        let count = || {
            let tickers = [Ticker::BlockCacheIndexMiss, Ticker::BlockCacheFilterMiss];
            tickers.map(|t| o.get_ticker_count(t)).iter().sum::<u64>()
        };
        let before = count();
        {
            // The reader has the index by now and asks only for data blocks, each of them several
            // times.
            let mut iter = db.raw_iterator();
            for i in (0..KEYS).cycle().take(20 * KEYS as usize) {
                iter.seek(key(i));
                assert!(iter.valid());
            }
        }
        assert!(o.get_ticker_count(Ticker::BlockCacheDataMiss) > 1000);
        for i in 0..3 {
            assert!(db.get(key(i)).expect("reads").is_some());
        }
        assert!(cache.get_usage() <= 24 << 10, "{}", cache.get_usage());
        count() - before
    };
    assert_eq!(misses(true, 0.5), 0);
    // They do not survive it, like any other blocks.
    assert!(misses(false, 0.5) > 0);
    assert!(misses(true, 0.0) > 0);
}

#[test]
fn flushed_tables_are_cached_as_they_are_written() {
    use whitewater::{BlockBasedIndexType, PrepopulateBlockCache};
    for (partitioned, threads, max_open_files) in [(false, 1, -1), (true, 1, 10), (true, 3, -1)] {
        let cache = cache(|o| o.set_capacity(4 << 20));
        let mut table = small_blocks(&cache);
        table.set_bloom_filter(10.0, false);
        table.set_prepopulate_block_cache(PrepopulateBlockCache::FlushOnly);
        if partitioned {
            table.set_index_type(BlockBasedIndexType::TwoLevelIndexSearch);
            table.set_partition_filters(true);
            table.set_metadata_block_size(128);
        }
        let mut o = tiny();
        o.set_fs(Arc::new(MemFs::new()));
        o.enable_statistics();
        o.set_disable_auto_compactions(true);
        o.set_write_buffer_size(1 << 20);
        o.set_max_open_files(max_open_files);
        o.set_compression_type(DBCompressionType::Lz4);
        o.set_compression_options_parallel_threads(threads);
        o.set_block_based_table_factory(&table);
        let db = Db::open(&o, "/db").expect("opens");
        let fill = |value: u8| {
            (0..KEYS).for_each(|i| db.put(key(i), [value; 100]).expect("writes"));
            db.flush().expect("flushes");
        };
        let all_are = |value: u8| {
            for i in 0..KEYS {
                let found = db.get(key(i)).expect("reads").expect("is there");
                assert_eq!(found, [value; 100]);
            }
            let items = db.iterator(IteratorMode::Start);
            assert_eq!(
                items.collect::<Result<Vec<_>, _>>().expect("reads").len(),
                600
            );
        };
        let misses = || o.get_ticker_count(Ticker::BlockCacheMiss);
        fill(1);
        assert!(cache.get_usage() > 600 * 100, "{}", cache.get_usage());
        all_are(1);
        assert_eq!(misses(), 0, "{partitioned} {threads}");
        assert!(o.get_ticker_count(Ticker::BlockCacheDataHit) >= 600);
        assert_eq!(cache.get_pinned_usage(), 0);

        // Compactions cache everything if they are told to; two tables are not just moved. It
        // can be switched while the database is open.
        let name = "block_based_table_factory.prepopulate_block_cache";
        db.set_options(&[(name, "kFlushAndCompaction")])
            .expect("can be set");
        fill(1);
        db.compact_range(None::<&[u8]>, None::<&[u8]>);
        let before = misses();
        all_are(1);
        assert_eq!(misses(), before, "{partitioned} {threads}");
        db.set_options(&[(name, "kDisable")]).expect("can be set");
        let before = misses();
        fill(2);
        all_are(2);
        assert!(misses() > before + 100);
        db.set_options(&[(name, "kFlushOnly")]).expect("can be set");
        let before = misses();
        fill(3);
        all_are(3);
        assert_eq!(misses(), before);
        assert!(db.set_options(&[(name, "kEverything")]).is_err());
    }
}
