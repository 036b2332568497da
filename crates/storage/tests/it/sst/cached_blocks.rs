//! Cached data blocks that readers find in the directory of their table.

use super::files::*;
use bytes::Bytes;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use whitewater_storage::cache::{BlockCache, CacheOptions};
use whitewater_storage::internal_iterator::{InternalIterator, Moved};
use whitewater_storage::key::{ParsedKey, ValueType, internal_key};
use whitewater_storage::sst::{
    CompressionType, PinnedValue, PrepopulateBlockCache, Table, TableBuilderOptions,
    TableReadOptions, TableValue,
};

const ENTRIES: usize = 4000;

/// Entries of which about 36 fit into a block, and the table of them.
fn table() -> (Vec<Entry>, Vec<u8>) {
    let entries: Vec<Entry> = (0..ENTRIES)
        .map(|i| {
            let key = internal_key(format!("{i:06}").as_bytes(), 7, ValueType::Value);
            (key, format!("{i:0100}").into_bytes())
        })
        .collect();
    let options = TableBuilderOptions {
        compression: CompressionType::None,
        ..TableBuilderOptions::default()
    };
    let bytes = build(options, &entries, &[]);
    (entries, bytes)
}

fn one_shard(capacity: usize) -> BlockCache {
    BlockCache::with_options(CacheOptions {
        capacity,
        num_shard_bits: 0,
        ..CacheOptions::default()
    })
}

fn check(table: &Table, entry: &Entry) {
    let found = get(table, &entry.0, 1).expect("reads");
    assert_eq!(found, std::slice::from_ref(entry));
}

/// The value of `entry`, sharing the block's memory.
fn shared(table: &Table, entry: &Entry) -> PinnedValue {
    let mut kept = None;
    table
        .get(&entry.0, TableReadOptions::default(), &mut |_, value| {
            kept = Some(value.share());
            Ok(false)
        })
        .expect("reads");
    kept.expect("it is there")
}

#[test]
fn a_block_that_is_read_again_and_again_stays_while_others_pass() {
    let (entries, bytes) = table();
    let (table, file) = open_cached(bytes, &one_shard(100 << 10));
    let often = &entries[0];
    check(&table, often);
    check(&table, often);
    let reads = file.reads.lock().unwrap().len();
    let mut others = 0;
    for _ in 0..5 {
        for entry in entries[100..].iter().step_by(36) {
            check(&table, entry);
            others += 1;
            // Of these reads, most only find the mark that one of them has left.
            (0..4).for_each(|_| check(&table, often));
        }
    }
    let reads = file.reads.lock().unwrap().len() - reads;
    assert!(
        reads > others / 2,
        "{reads} of {others}: nothing is evicted"
    );
    assert!(
        reads <= others,
        "{reads} of {others}: the block was evicted"
    );
}

#[test]
fn directories_are_charged_for_the_time_of_their_table_and_a_sixteenth_at_most() {
    let (entries, bytes) = table();
    let cache = one_shard(1 << 20);
    let (table, _) = open_cached(bytes.clone(), &cache);
    assert_eq!(cache.charged(), 0);
    check(&table, &entries[0]);
    let blocks = table.properties().num_data_blocks as usize;
    let directory = blocks * size_of::<usize>();
    assert_eq!(cache.charged(), directory);
    // What is more than a sixteenth, because the capacity was larger, leaves blocks their room.
    cache.set_capacity(4 << 10);
    assert_eq!(cache.charged(), 256);
    cache.set_capacity(1 << 20);
    assert_eq!(cache.charged(), directory);
    drop(table);
    assert_eq!(cache.charged(), 0);

    let small = one_shard(directory * 16 - 1);
    let (table, _) = open_cached(bytes, &small);
    check(&table, &entries[0]);
    check(&table, &entries[0]);
    assert_eq!(small.charged(), 0);
}

#[test]
fn a_seek_finds_the_same_entry_however_far_it_was_announced() {
    let (entries, bytes) = table();
    let cache = one_shard(1 << 20);
    let (table, _) = open_cached(bytes, &cache);
    let (mut plain, mut announced) = [0; 2]
        .map(|_| table.iter(TableReadOptions::default()))
        .into();
    // At first blocks are not cached, then they are in the cache, then in the directory.
    for round in 0..4 {
        for (i, (key, _)) in entries.iter().enumerate().step_by(7) {
            // Every other target lies between two keys, the last one behind all.
            let mut target = key.clone();
            if i % 2 == 1 {
                target.splice(6..6, *b"+");
            }
            announced.expect_seek(&target);
            (0..(i + round) % 4).for_each(|_| announced.expect_further(&target));
            plain.seek(&target);
            announced.seek(&target);
            for step in 0..3 {
                assert_eq!(announced.valid(), plain.valid(), "{i}, step {step}");
                if plain.valid() {
                    assert_eq!(announced.key(), plain.key(), "{i}, step {step}");
                    assert_eq!(announced.value(), plain.value(), "{i}, step {step}");
                    plain.next();
                    announced.next();
                }
            }
        }
    }
}

#[test]
fn a_cache_whose_limit_becomes_strict_knows_which_blocks_are_in_use() {
    let (entries, bytes) = table();
    let cache = one_shard(64 << 10);
    let (table, _) = open_cached(bytes, &cache);
    for entry in &entries {
        check(&table, entry);
        check(&table, entry);
    }
    assert_eq!(cache.pinned_usage(), 0);
    cache.set_strict_capacity_limit(true);
    assert_eq!(cache.pinned_usage(), 0);
    let held: Vec<PinnedValue> = (0..2).map(|i| shared(&table, &entries[i * 1000])).collect();
    assert!(cache.pinned_usage() > 2 * 4096);
    entries.iter().for_each(|entry| check(&table, entry));
    assert!(cache.usage() <= cache.capacity());
    // As many blocks in use as there is room for, and then none.
    let mut all = Vec::new();
    let refused = entries.iter().step_by(36).find_map(|entry| {
        let keep = &mut |_: ParsedKey<'_>, value: TableValue<'_>| {
            all.push(value.share());
            Ok(false)
        };
        table.get(&entry.0, TableReadOptions::default(), keep).err()
    });
    assert!(refused.expect("all blocks do not fit").is_memory_limit());
    assert!(cache.usage() <= cache.capacity());
    assert!(
        held.iter()
            .zip([0, 1000])
            .all(|(v, i)| v[..] == entries[i].1[..])
    );
}

#[test]
fn blocks_that_were_cached_while_they_were_written_come_into_the_directory() {
    let (entries, _) = table();
    let [cold, warm] = [
        PrepopulateBlockCache::Disable,
        PrepopulateBlockCache::FlushOnly,
    ]
    .map(|prepopulate_block_cache| {
        let cache = one_shard(4 << 20);
        let mut options = TableBuilderOptions {
            compression: CompressionType::None,
            level: -1,
            session_id: "0123456789ABCDEFGHIJ".to_owned(),
            file_number: 7,
            ..TableBuilderOptions::default()
        };
        options.table.block_cache = Some(cache.clone());
        options.table.prepopulate_block_cache = prepopulate_block_cache;
        let bytes = build(options, &entries, &[]);
        let (table, file) = open_cached(bytes, &cache);
        let opened = file.reads.lock().unwrap().len();
        for _ in 0..2 {
            entries.iter().for_each(|entry| check(&table, entry));
        }
        let reads = file.reads.lock().unwrap().len() - opened;
        (reads, cache.usage(), cache.len())
    });
    let (reads, usage, len) = cold;
    assert!(reads > 100);
    // They count as much as those that were read, with their places in the directory.
    assert_eq!(warm, (0, usage, len));
}

#[test]
fn values_outlive_the_eviction_of_their_block_the_table_and_the_cache() {
    let (entries, bytes) = table();
    let cache = one_shard(1 << 20);
    let (table, _) = open_cached(bytes, &cache);
    let kept: Vec<PinnedValue> = (0..3)
        .flat_map(|_| entries.iter().step_by(500))
        .map(|entry| shared(&table, entry))
        .collect();
    let bytes: Vec<Bytes> = (entries.iter().step_by(500))
        .map(|entry| shared(&table, entry).into_bytes())
        .collect();
    cache.set_capacity(0);
    check(&table, &entries[1]);
    table.evict_blocks();
    drop(table);
    drop(cache);
    for (value, entry) in bytes.iter().zip(entries.iter().step_by(500)) {
        assert_eq!(value[..], entry.1[..]);
    }
    for (value, entry) in kept
        .iter()
        .zip((0..3).flat_map(|_| entries.iter().step_by(500)))
    {
        assert_eq!(value[..], entry.1[..]);
    }
}

#[test]
fn an_iterator_and_what_it_has_lent_keep_a_block_that_is_evicted() {
    let (entries, bytes) = table();
    let cache = one_shard(1 << 20);
    let (table, _) = open_cached(bytes, &cache);
    // Read twice, a block is found in the directory.
    (0..2).for_each(|_| check(&table, &entries[1000]));
    assert_eq!(cache.pinned_usage(), 0);
    let mut it = table.iter(TableReadOptions::default());
    it.seek(&entries[1000].0);
    let pinned = cache.pinned_usage();
    assert!((4096..8192).contains(&pinned), "{pinned}");
    cache.set_strict_capacity_limit(true);
    assert_eq!(cache.pinned_usage(), pinned);
    table.evict_blocks();
    cache.set_capacity(0);
    assert_eq!((it.key(), it.value()), entry(&entries[1000]));
    let mut run = it.lend().expect("a block");
    drop((it, table, cache));
    let mut at = 1000;
    while run.advance() != Moved::Ended {
        at += 1;
        assert_eq!((run.key(), run.value()), entry(&entries[at]));
    }
    assert!((1001..1036).contains(&at), "the block ends at {at}");
}

fn entry((key, value): &Entry) -> (&[u8], &[u8]) {
    (key, value)
}

/// Reads beside everything that takes blocks from under them.
#[test]
fn readers_see_their_entries_whatever_happens_to_the_cache() {
    let (entries, bytes) = table();
    let cache = one_shard(200 << 10);
    let (table, _) = open_cached(bytes.clone(), &cache);
    let (entries, stop) = (&entries, &AtomicBool::new(false));
    let read = |table: Arc<Table>, from: usize| {
        for round in 0..3 {
            for i in 0..ENTRIES {
                // Half of the reads are of one block.
                let at = if i % 2 == 0 {
                    i % 30
                } else {
                    (from + i * 37 + round) % ENTRIES
                };
                check(&table, &entries[at]);
            }
        }
    };
    std::thread::scope(|scope| {
        let changes = scope.spawn(|| {
            let mut turn = 0;
            while !stop.load(Ordering::Relaxed) {
                turn += 1;
                cache.set_capacity([20 << 10, 200 << 10, 1 << 20][turn % 3]);
                if turn % 5 == 0 {
                    table.evict_blocks();
                }
                // Another table in the same cache, which goes with blocks in its directory.
                let (other, _) = open_cached(bytes.clone(), &cache);
                (0..200).for_each(|i| check(&other, &entries[i * 17]));
            }
        });
        let readers = [0, 1000, 2000].map(|from| {
            let table = Arc::clone(&table);
            scope.spawn(move || read(table, from))
        });
        let ended = readers.map(|reader| reader.join());
        stop.store(true, Ordering::Relaxed);
        changes.join().expect("changes");
        ended.into_iter().for_each(|end| end.expect("reads"));
    });
    drop(table);
    assert_eq!(cache.charged(), 0);
    assert_eq!(cache.pinned_usage(), 0);
}
