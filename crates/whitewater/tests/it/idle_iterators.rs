//! An iterator leaves its cursors to the next one over the same super version. Nobody notices:
//! each shows the database as it is when it is made, and what is left keeps nothing.

use crate::harness::{DIR, Db, MEMTABLES, open_all, set_memtable, tiny_on};
use rand::rngs::StdRng;
use rand::{Rng, SeedableRng};
use std::collections::BTreeMap;
use std::path::Path;
use whitewater::fs::mem::MemFs;
use whitewater::{
    BlockBasedOptions, Cache, DBRawIteratorWithThreadMode, Options, ReadOptions, WriteBatch,
    properties,
};

type Map = BTreeMap<String, String>;

/// Nothing is compacted unless the test asks for it.
fn options() -> Options {
    let mut o = tiny_on(MemFs::new());
    o.set_disable_auto_compactions(true);
    o
}

fn open(o: &Options) -> Db {
    open_all(o, Path::new(DIR)).expect("opens")
}

fn item<D: whitewater::DBAccess>(
    it: &DBRawIteratorWithThreadMode<'_, D>,
) -> Option<(String, String)> {
    it.status().expect("reads");
    let text = |bytes: &[u8]| String::from_utf8(bytes.to_vec()).expect("text");
    it.item().map(|(key, value)| (text(key), text(value)))
}

/// Moves an iterator about at random, and compares what it shows with `map`.
fn check<D: whitewater::DBAccess>(
    mut it: DBRawIteratorWithThreadMode<'_, D>,
    map: &Map,
    rng: &mut StdRng,
    what: &str,
) {
    let all: Vec<(String, String)> = map.iter().map(|(k, v)| (k.clone(), v.clone())).collect();
    let target = format!("{:03}", rng.random_range(0..60));
    let backward = rng.random();
    let mut at = match (rng.random_range(0..3), backward) {
        (0, false) => {
            it.seek_to_first();
            Some(0)
        }
        (0, true) => {
            it.seek_to_last();
            all.len().checked_sub(1)
        }
        (_, false) => {
            it.seek(&target);
            Some(all.partition_point(|(key, _)| *key < target))
        }
        (_, true) => {
            it.seek_for_prev(&target);
            all.partition_point(|(key, _)| *key <= target)
                .checked_sub(1)
        }
    };
    for _ in 0..rng.random_range(0..70) {
        let expected = at.and_then(|at| all.get(at));
        assert_eq!(item(&it).as_ref(), expected, "{what}");
        if expected.is_none() {
            return;
        }
        if backward {
            it.prev();
            at = at.and_then(|at| at.checked_sub(1));
        } else {
            it.next();
            at = at.map(|at| at + 1);
        }
    }
}

/// One thing that happens between two iterators.
fn change(db: &Db, map: &mut Map, rng: &mut StdRng) {
    let mut key = || format!("{:03}", rng.random_range(0..60));
    let (key, other) = (key(), key());
    match rng.random_range(0..20) {
        0..9 => {
            let value = format!("{key} {}", rng.random::<u32>());
            db.put(&key, &value).expect("writes");
            map.insert(key, value);
        }
        9..14 => {
            db.delete(&key).expect("writes");
            map.remove(&key);
        }
        14 => {
            let mut batch = WriteBatch::default();
            batch.delete_range(&key, &other);
            db.write(batch).expect("writes");
            map.retain(|each, _| *each < key || *each >= other);
        }
        15..17 => db.flush().expect("flushes"),
        17 => db.compact_range(None::<&[u8]>, None::<&[u8]>),
        _ => {}
    }
}

/// Iterators one after another, with writes, range deletions, flushes and compactions between
/// them, and some that stay; now, at a snapshot, and with other options.
#[test]
#[expect(
    deprecated,
    reason = "iterators that ignore range deletions have other sources"
)]
fn each_iterator_shows_what_there_is_when_it_is_made() {
    for (seed, memtable) in (0..40).flat_map(|seed| MEMTABLES.map(|memtable| (seed, memtable))) {
        let what = format!("seed {seed}, {memtable}");
        let rng = &mut StdRng::seed_from_u64(seed);
        let mut o = options();
        set_memtable(&mut o, memtable);
        let db = open(&o);
        let mut map = Map::new();
        let snapshot = db.snapshot();
        let mut kept = Vec::new();
        for _ in 0..100 {
            change(&db, &mut map, rng);
            let mut read = ReadOptions::default();
            read.set_total_order_seek(true);
            let kind = rng.random_range(0..12);
            let mut ends = [0; 2].map(|_| format!("{:03}", rng.random_range(0..60)));
            ends.sort();
            let [lower, upper] = ends;
            let bounds = lower..upper;
            match kind {
                0 => read.set_snapshot(&snapshot),
                1 => read.set_ignore_range_deletions(true),
                2 => read.fill_cache(false),
                3 | 6 | 7 => read.set_iterate_range(bounds.clone()),
                _ => {}
            }
            let it = db.raw_iterator_opt(read);
            match kind {
                0 => check(it, &Map::new(), rng, &what),
                1 => walk(it),
                3 | 6 | 7 => {
                    let within = map.range(bounds);
                    let within = within.map(|(k, v)| (k.clone(), v.clone())).collect();
                    check(it, &within, rng, &what);
                }
                4 if kept.len() < 3 => kept.push((it, map.clone())),
                5 if !kept.is_empty() => {
                    let (older, map) = kept.swap_remove(rng.random_range(0..kept.len()));
                    check(older, &map, rng, &what);
                }
                _ => check(it, &map, rng, &what),
            }
        }
    }
}

/// Walks over everything.
fn walk<D: whitewater::DBAccess>(mut it: DBRawIteratorWithThreadMode<'_, D>) {
    it.seek_to_first();
    while it.valid() {
        it.next();
    }
    it.status().expect("reads");
}

/// A database with a cache, which has been walked over.
fn walked() -> (Db, Cache) {
    let cache = Cache::new_lru_cache(1 << 20);
    let mut table = BlockBasedOptions::default();
    table.set_block_cache(&cache);
    let mut o = options();
    o.set_block_based_table_factory(&table);
    let db = open(&o);
    for round in 0..3 {
        for i in 0..50 {
            db.put(format!("{i:03}"), format!("{round}"))
                .expect("writes");
        }
        match round {
            0 => db.compact_range(None::<&[u8]>, None::<&[u8]>),
            1 => db.flush().expect("flushes"),
            _ => {}
        }
    }
    walk(db.raw_iterator());
    (db, cache)
}

#[test]
fn what_is_left_pins_no_blocks_and_no_snapshot() {
    let (db, cache) = walked();
    let mut read = ReadOptions::default();
    read.set_snapshot(&db.snapshot());
    let mut it = db.raw_iterator_opt(read);
    it.seek("020");
    assert!(it.valid());
    assert!(cache.get_pinned_usage() > 0);
    assert_eq!(number(&db, properties::NUM_SNAPSHOTS), 1);
    drop(it);
    assert_eq!(cache.get_pinned_usage(), 0);
    assert_eq!(number(&db, properties::NUM_SNAPSHOTS), 0);
}

fn number(db: &Db, property: &properties::PropName) -> u64 {
    let value = db.property_int_value(property).expect("readable");
    value.expect("known")
}

/// Idle cursors keep no old version, and none of its files.
#[test]
fn what_is_left_goes_with_its_super_version() {
    let (db, _) = walked();
    let before = db.live_files().expect("listed");
    db.flush().expect("flushes");
    walk(db.raw_iterator());
    db.compact_range(None::<&[u8]>, None::<&[u8]>);
    walk(db.raw_iterator());
    assert_eq!(number(&db, properties::NUM_LIVE_VERSIONS), 1);
    let after = db.live_files().expect("listed");
    for file in before {
        assert!(after.iter().all(|other| other.name != file.name));
    }
}

/// The iterator that fails leaves nothing of its failure.
#[test]
fn an_iterator_after_a_failed_one_begins_anew() {
    let (db, _) = walked();
    let mut read = ReadOptions::default();
    read.set_read_tier(whitewater::ReadTier::Persisted);
    let mut failed = db.raw_iterator_opt(read);
    failed.seek_to_first();
    assert!(failed.status().is_err());
    drop(failed);
    let mut limited = ReadOptions::default();
    limited.set_max_skippable_internal_keys(1);
    let mut it = db.raw_iterator_opt(limited);
    it.seek_to_first();
    while it.valid() {
        it.next();
    }
    assert!(it.status().is_err(), "each key has older versions");
    drop(it);
    let mut it = db.raw_iterator();
    it.seek_to_first();
    assert_eq!(item(&it), Some(("000".into(), "2".into())));
}
