//! Reads that the system is told of ahead of time: those of `multi_get`, and those of iterators
//! with `async_io`.

use crate::harness::counting::CountingFs;
use crate::harness::{DIR, tiny_on};
use std::path::Path;
use whitewater::fs::mem::MemFs;
use whitewater::{
    BlockBasedOptions, Cache, CompactOptions, DB, DBCompressionType, ErrorKind, IteratorMode,
    ReadOptions, ReadTier,
};

const KEYS: u32 = 3000;

fn key(i: u32) -> Vec<u8> {
    format!("key{i:06}").into_bytes()
}

/// A database of one table of some 90 blocks, nine of ten keys in it, and what it reads.
fn one_table(table: &BlockBasedOptions) -> (CountingFs, DB) {
    one_table_on(CountingFs::taking_hints(MemFs::new()), table)
}

fn one_table_on(fs: CountingFs, table: &BlockBasedOptions) -> (CountingFs, DB) {
    let mut o = tiny_on(fs.clone());
    o.set_write_buffer_size(64 << 20);
    o.set_compression_type(DBCompressionType::None);
    o.set_disable_auto_compactions(true);
    o.set_block_based_table_factory(table);
    let db = DB::open(&o, Path::new(DIR)).unwrap();
    for i in (0..KEYS).filter(|i| i % 10 != 9) {
        db.put(key(i), [i as u8; 100]).unwrap();
    }
    db.flush().unwrap();
    let mut to_the_last = CompactOptions::default();
    to_the_last.set_change_level(true);
    to_the_last.set_target_level(6);
    db.compact_range_opt(None::<&[u8]>, None::<&[u8]>, &to_the_last);
    (fs, db)
}

fn tables() -> BlockBasedOptions {
    let mut table = BlockBasedOptions::default();
    table.set_bloom_filter(10.0, false);
    table.set_block_cache(&Cache::new_lru_cache(8 << 20));
    table
}

/// A few look-ups, after which those of this thread expect to end in the last level.
fn learn(db: &DB) {
    for _ in 0..8 {
        assert!(db.get(key(0)).unwrap().is_some());
    }
}

fn check(db: &DB, numbers: impl Iterator<Item = u32>, read: &ReadOptions) {
    let numbers: Vec<u32> = numbers.collect();
    let found = db.multi_get_opt(numbers.iter().map(|&i| key(i)), read);
    for (i, found) in numbers.into_iter().zip(found) {
        let expected = (i < KEYS && i % 10 != 9).then(|| vec![i as u8; 100]);
        assert_eq!(found.unwrap(), expected, "key {i}");
    }
}

#[test]
fn the_blocks_of_many_keys_are_announced_unless_they_are_cached() {
    let mut partitioned = tables();
    partitioned.set_index_type(whitewater::BlockBasedIndexType::TwoLevelIndexSearch);
    partitioned.set_partition_filters(true);
    partitioned.set_metadata_block_size(200);
    for table in [tables(), partitioned] {
        let (fs, db) = one_table(&table);
        learn(&db);
        let read = ReadOptions::default();
        let some = || (0..40).map(|n| 200 + n * 50);
        assert_eq!(fs.announced(|| check(&db, some(), &read)), 40);
        assert_eq!(
            fs.announced(|| check(&db, some(), &read)),
            0,
            "all are cached"
        );
        // A key alone has nothing that it could be read beside.
        assert_eq!(fs.announced(|| check(&db, 2555..2556, &read)), 0);
        // The filter rules these out.
        let absent = || (0..20).map(|n| 2309 + n * 30);
        assert!(fs.announced(|| check(&db, absent(), &read)) <= 2);
    }
}

#[test]
fn nothing_is_announced_of_what_may_not_be_read() {
    let (fs, db) = one_table(&tables());
    learn(&db);
    let mut cached = ReadOptions::default();
    cached.set_read_tier(ReadTier::BlockCache);
    cached.set_async_io(true);
    let announced = fs.announced(|| {
        for found in db.multi_get_opt([key(500), key(1500)], &cached) {
            assert_eq!(found.unwrap_err().kind(), ErrorKind::Incomplete);
        }
        let mut iter = db.raw_iterator_opt(cached);
        iter.seek(key(700));
        assert!(!iter.valid());
        assert_eq!(iter.status().unwrap_err().kind(), ErrorKind::Incomplete);
    });
    assert_eq!(announced, 0);
}

/// Options of an iterator that reads past the cache, in the background or not.
fn options(in_background: bool) -> ReadOptions {
    let mut read = ReadOptions::default();
    read.set_async_io(in_background);
    read.fill_cache(false);
    read
}

#[test]
fn a_seek_in_the_background_announces_a_block_of_each_table() {
    let (fs, db) = one_table(&tables());
    for from in [0, 1] {
        for i in (0..KEYS / 2).map(|n| 2 * n + from).filter(|i| i % 10 != 9) {
            db.put(key(i), [i as u8; 100]).unwrap();
        }
        db.flush().unwrap();
    }
    for (in_background, each) in [(false, 0), (true, 3)] {
        let mut iter = db.raw_iterator_opt(options(in_background));
        for i in [1200, 300, 2400] {
            assert_eq!(fs.announced(|| iter.seek(key(i))), each);
            assert_eq!(iter.item(), Some((&key(i)[..], &[i as u8; 100][..])));
            iter.next();
            assert_eq!(iter.key(), Some(&key(i + 1)[..]));
        }
        // What stands at its end is still there for the next seek.
        iter.seek(key(KEYS));
        assert!(!iter.valid());
        iter.status().unwrap();
        iter.seek(key(7));
        assert_eq!(iter.key(), Some(&key(7)[..]));
        iter.seek_for_prev(key(19));
        assert_eq!(iter.key(), Some(&key(18)[..]));
    }
}

#[test]
fn a_walk_in_the_background_finds_the_same_and_announces_what_follows() {
    let (fs, db) = one_table(&tables());
    let walk = |in_background| {
        let mut found = Vec::new();
        let announced = fs.announced(|| {
            let entries = db.iterator_opt(IteratorMode::Start, options(in_background));
            found.extend(entries.map(Result::unwrap));
        });
        (announced, found)
    };
    let (none, plain) = walk(false);
    let (some, in_background) = walk(true);
    assert_eq!((none, plain.len()), (0, KEYS as usize * 9 / 10));
    assert!((3..90).contains(&some), "{some} ranges");
    assert_eq!(plain, in_background);
}

#[test]
fn without_a_page_cache_only_single_blocks_are_announced() {
    let (fs, db) = one_table_on(CountingFs::prefetching_blocks(MemFs::new()), &tables());
    learn(&db);
    let announced = fs.announced(|| check(&db, (0..16).map(|n| 160 * n + 41), &options(false)));
    assert_eq!(announced, 16);
    // A source beside the table, so that seeks announce.
    db.put(key(KEYS), b"").unwrap();
    let mut iter = db.raw_iterator_opt(options(true));
    assert_eq!(fs.announced(|| iter.seek(key(1200))), 1);
    assert_eq!(iter.key(), Some(&key(1200)[..]));
    // Nothing is announced of where it stands.
    assert_eq!(fs.announced(|| iter.seek(key(1201))), 0);
    assert_eq!(iter.key(), Some(&key(1201)[..]));
    let walk = || {
        iter.seek_to_first();
        let mut count = 0;
        while iter.valid() {
            (count, ()) = (count + 1, iter.next());
        }
        assert_eq!(count, KEYS * 9 / 10 + 1);
    };
    assert_eq!(fs.announced(walk), 0);
    // A read ahead has the block.
    let mut ahead = options(true);
    ahead.set_readahead_size(64 << 10);
    let mut iter = db.raw_iterator_opt(ahead);
    assert_eq!(fs.announced(|| iter.seek(key(1200))), 0);
    assert_eq!(iter.key(), Some(&key(1200)[..]));
}
