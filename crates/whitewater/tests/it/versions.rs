//! Which version of a key is seen: from memtables and tables, after flushes and compactions,
//! forward and backward, now and at snapshots.
//!
//! Each test is a small case of one rule and is deterministic. `model` mixes them all.

use crate::harness::points::Trap;
use crate::harness::{DIR, Db, open_all, set_memtable, tiny_on, views_hold};
use rand::rngs::StdRng;
use rand::{Rng, SeedableRng};
use std::collections::BTreeMap;
use std::path::Path;
use whitewater::fs::mem::MemFs;
use whitewater::perf::{PerfContext, PerfMetric, PerfStatsLevel, set_perf_stats};
use whitewater::{
    BlockBasedOptions, BottommostLevelCompaction, Cache, CompactOptions, DBCompressionType,
    FlushOptions, IteratorMode, Options, Point, ReadOptions, WaitForCompactOptions, WriteBatch,
};

/// Nothing is compacted unless the test asks for it.
fn options() -> Options {
    let mut o = tiny_on(MemFs::new());
    o.set_disable_auto_compactions(true);
    o.set_compression_type(DBCompressionType::None);
    o
}

fn open(o: &Options) -> Db {
    open_all(o, Path::new(DIR)).expect("opens")
}

fn delete_range(db: &Db, from: &str, to: &str) {
    let mut batch = WriteBatch::default();
    batch.delete_range(from, to);
    db.write(batch).expect("writes");
}

fn single_delete(db: &Db, key: &str) {
    let mut batch = WriteBatch::default();
    batch.single_delete(key);
    db.write(batch).expect("writes");
}

/// Rewrites everything.
fn compact(db: &Db) {
    let mut o = CompactOptions::default();
    o.set_bottommost_level_compaction(BottommostLevelCompaction::Force);
    db.compact_range_opt(None::<&[u8]>, None::<&[u8]>, &o);
}

fn get(db: &Db, key: &str) -> Option<String> {
    let found = db.get(key).expect("readable");
    found.map(|v| String::from_utf8(v).expect("text"))
}

/// `key=value` for all that an iterator shows.
fn scan(db: &Db, mode: IteratorMode<'_>) -> String {
    let pairs = db.iterator(mode).map(|pair| {
        let (k, v) = pair.expect("readable");
        let text = |b: &[u8]| String::from_utf8_lossy(b).into_owned();
        format!("{}={}", text(&k), text(&v))
    });
    pairs.collect::<Vec<_>>().join(" ")
}

fn forward(db: &Db) -> String {
    scan(db, IteratorMode::Start)
}

fn backward(db: &Db) -> String {
    scan(db, IteratorMode::End)
}

/// Newer entries hide older ones, from one table of level 0 to the next.
#[test]
fn a_newer_table_hides_an_older_one() {
    let mut o = options();
    let mut table = BlockBasedOptions::default();
    table.set_block_cache(&Cache::new_lru_cache(1 << 20));
    o.set_block_based_table_factory(&table);
    let db = open(&o);
    // The entries of the first table must not lose their numbers: a snapshot is older.
    let mut older = Some(db.snapshot());
    for value in ["1", "2", "3"] {
        db.put("k", value).expect("writes");
        db.flush().expect("flushes");
        drop(older.take());
        assert_eq!(get(&db, "k").as_deref(), Some(value));
        assert_eq!(forward(&db), format!("k={value}"));
        assert_eq!(backward(&db), format!("k={value}"));
    }
}

/// Memtables that wait for their flush are read, the newest first.
#[test]
fn memtables_that_wait_for_their_flush_are_read_newest_first() {
    let mut o = options();
    o.set_max_write_buffer_number(8);
    let trap = Trap::set(&mut o);
    let db = open(&o);
    let mut nowait = FlushOptions::default();
    nowait.set_wait(false);
    trap.arm(Point::Flushing);
    for value in ["1", "2", "3"] {
        db.put("k", value).expect("writes");
        db.put(format!("only {value}"), "1").expect("writes");
        db.flush_opt(&nowait).expect("asked for");
        if value == "1" {
            trap.wait();
        }
    }
    let seen = (get(&db, "k"), forward(&db));
    trap.release();
    let all = "k=3 only 1=1 only 2=1 only 3=1";
    assert_eq!(seen, (Some("3".to_owned()), all.to_owned()));
}

/// A flush keeps what hides older tables, because it does not know whether there is something to
/// hide.
#[test]
fn a_flush_keeps_what_hides_older_tables() {
    let db = open(&options());
    let put = |value: &str| {
        for key in ["deleted", "overwritten", "merged", "in range"] {
            db.put(key, value).expect("writes");
        }
    };
    put("old");
    db.flush().expect("flushes");
    db.delete("deleted").expect("writes");
    db.put("overwritten", "new").expect("writes");
    db.merge("merged", "new").expect("writes");
    delete_range(&db, "in", "in s");
    for _ in 0..2 {
        assert_eq!(get(&db, "deleted"), None);
        assert_eq!(get(&db, "overwritten").as_deref(), Some("new"));
        assert_eq!(get(&db, "merged").as_deref(), Some("old,new"));
        assert_eq!(get(&db, "in range"), None);
        assert_eq!(forward(&db), "merged=old,new overwritten=new");
        assert_eq!(backward(&db), "overwritten=new merged=old,new");
        db.flush().expect("flushes");
    }
}

/// Flushes and compactions keep what snapshots see. What is hidden from snapshots stays hidden.
#[test]
fn snapshots_keep_what_they_see() {
    let db = open(&options());
    db.put("put", "1").expect("writes");
    db.merge("merged", "1").expect("writes");
    db.put("in range", "1").expect("writes");
    let first = db.snapshot();
    db.put("put", "2").expect("writes");
    db.merge("merged", "2").expect("writes");
    delete_range(&db, "in", "in s");
    let second = db.snapshot();
    delete_range(&db, "in", "in s");
    db.delete("put").expect("writes");
    db.merge("merged", "3").expect("writes");
    for step in 0..3 {
        let at = |snapshot: &whitewater::SnapshotWithThreadMode<'_, Db>, key| {
            let found = snapshot.get(key).expect("readable");
            found.map(|v| String::from_utf8(v).expect("text"))
        };
        let all = |snapshot| ["put", "merged", "in range"].map(|key| at(snapshot, key));
        let some = |text: &str| Some(text.to_owned());
        assert_eq!(all(&first), [some("1"), some("1"), some("1")], "{step}");
        assert_eq!(all(&second), [some("2"), some("1,2"), None], "{step}");
        assert_eq!(forward(&db), "merged=1,2,3", "step {step}");
        match step {
            0 => db.flush().expect("flushes"),
            _ => compact(&db),
        }
    }
}

/// There may be two snapshots of one moment.
#[test]
fn a_snapshot_outlives_its_twin() {
    let db = open(&options());
    db.put("k", "1").expect("writes");
    let (kept, released) = (db.snapshot(), db.snapshot());
    drop(released);
    db.put("k", "2").expect("writes");
    db.flush().expect("flushes");
    compact(&db);
    let found = kept.get("k").expect("readable");
    assert_eq!(found.as_deref(), Some(&b"1"[..]));
}

/// Range tombstones over entries of deeper levels, under a snapshot that does not see the newer
/// one.
#[test]
fn an_older_range_tombstone_still_hides_what_lies_deeper() {
    let db = open(&options());
    db.put("k", "1").expect("writes");
    db.flush().expect("flushes");
    compact(&db);
    delete_range(&db, "a", "z");
    let snapshot = db.snapshot();
    delete_range(&db, "a", "z");
    db.flush().expect("flushes");
    assert_eq!(snapshot.get("k").expect("readable"), None);
    assert_eq!(snapshot.iterator(IteratorMode::Start).count(), 0);
}

/// A single deletion under a newer value of its key has yet to meet the value that it was written
/// for, in a level below the compaction.
#[test]
fn a_single_deletion_goes_down_to_its_value() {
    let mut o = options();
    o.set_level_compaction_dynamic_level_bytes(false);
    o.set_level_zero_file_num_compaction_trigger(2);
    let db = open(&o);
    db.put("k", "old").expect("writes");
    db.flush().expect("flushes");
    let mut deep = CompactOptions::default();
    deep.set_change_level(true);
    deep.set_target_level(2);
    db.compact_range_opt(None::<&[u8]>, None::<&[u8]>, &deep);
    single_delete(&db, "k");
    db.put("k", "new").expect("writes");
    db.flush().expect("flushes");
    single_delete(&db, "k");
    db.flush().expect("flushes");
    db.set_options(&[("disable_auto_compactions", "false")])
        .expect("can be changed");
    let settled = db.wait_for_compact(&WaitForCompactOptions::default());
    settled.expect("compactions succeed");
    let mut levels: Vec<i32> = (db.live_files().expect("known").iter())
        .map(|f| f.level)
        .collect();
    levels.sort_unstable();
    assert_eq!(get(&db, "k"), None, "tables on levels {levels:?}");
    assert_eq!(levels, [1, 2]);
}

/// A range tombstone over many tables is in each of them.
#[test]
fn a_range_tombstone_reaches_over_all_tables_it_is_split_into() {
    let db = open(&options());
    for i in 0..100 {
        db.put(format!("key{i:03}"), "v".repeat(1_000))
            .expect("writes");
    }
    db.flush().expect("flushes");
    let before = db.snapshot();
    delete_range(&db, "key010", "key090");
    db.flush().expect("flushes");
    compact(&db);
    let tables = db.live_files().expect("known").len();
    assert!(tables > 3, "{tables} tables");
    let left: Vec<_> = (0..100)
        .filter(|i| get(&db, &format!("key{i:03}")).is_some())
        .collect();
    assert_eq!(left, (0..10).chain(90..100).collect::<Vec<_>>());
    assert_eq!(db.iterator(IteratorMode::Start).count(), 20);
    assert_eq!(before.iterator(IteratorMode::Start).count(), 100);
}

/// A memtable is asked for its range tombstones, even if it was asked before.
#[test]
fn range_tombstones_are_seen_as_they_come() {
    let db = open(&options());
    for key in ["a", "b", "c"] {
        db.put(key, "1").expect("writes");
    }
    for (from, to, left) in [("a", "b", "b=1 c=1"), ("c", "d", "b=1"), ("b", "c", "")] {
        delete_range(&db, from, to);
        assert_eq!(get(&db, from), None);
        assert_eq!(forward(&db), left);
    }
}

/// Keys that are overwritten many times, and merged down through all levels, show the last value.
#[test]
fn compactions_leave_the_last_value_of_each_key() {
    let mut o = options();
    o.set_disable_auto_compactions(false);
    let db = open(&o);
    let mut rng = StdRng::seed_from_u64(1);
    let mut wanted = BTreeMap::new();
    for n in 0..3_000u32 {
        let key = format!("key{:03}", rng.random_range(0..300));
        let value = format!("{n}-").repeat(rng.random_range(5..100));
        match n % 10 {
            0 => {
                db.delete(&key).expect("writes");
                wanted.remove(&key);
            }
            _ => {
                db.put(&key, &value).expect("writes");
                wanted.insert(key, value);
            }
        }
        if n % 500 == 499 {
            let settled = db.wait_for_compact(&WaitForCompactOptions::default());
            settled.expect("compactions succeed");
            for i in 0..300 {
                let key = format!("key{i:03}");
                assert_eq!(get(&db, &key).as_ref(), wanted.get(&key), "{key}");
            }
            let all = wanted.iter().map(|(k, v)| format!("{k}={v}"));
            assert_eq!(forward(&db), all.collect::<Vec<_>>().join(" "));
        }
    }
    let levels: Vec<i32> = (db.live_files().expect("known").iter())
        .map(|f| f.level)
        .collect();
    assert!(levels.iter().any(|&level| level > 1), "{levels:?}");
}

/// All versions of a key that snapshots keep are in one table, however many.
#[test]
fn versions_of_a_key_are_in_one_table() {
    let db = open(&options());
    let mut snapshots = Vec::new();
    for i in 0..150 {
        for key in ["a", "b", "c"] {
            db.put(key, format!("{i:0600}")).expect("writes");
        }
        snapshots.push(db.snapshot());
    }
    db.flush().expect("flushes");
    compact(&db);
    let mut files = db.live_files().expect("known");
    files.sort_by(|a, b| a.start_key.cmp(&b.start_key));
    assert!(files.len() > 1 && files.iter().all(|f| f.level > 0));
    for pair in files.windows(2) {
        assert!(pair[0].end_key < pair[1].start_key, "{pair:?}");
    }
    drop(snapshots);
}

/// A compaction of a range also takes older tables of level 0 that overlap those in the range.
/// Otherwise their entries would hide newer ones.
#[test]
fn a_compaction_of_a_range_leaves_nothing_older_above_it() {
    let db = open(&options());
    db.put("b", "old").expect("writes");
    db.put("c", "1").expect("writes");
    db.flush().expect("flushes");
    db.put("a", "1").expect("writes");
    db.put("b", "new").expect("writes");
    db.flush().expect("flushes");
    db.compact_range(Some("a"), Some("a"));
    assert_eq!(get(&db, "b").as_deref(), Some("new"));
    assert_eq!(forward(&db), "a=1 b=new c=1");
    let files = db.live_files().expect("known");
    assert!(files.iter().all(|f| f.level > 0), "{files:?}");
}

/// Tables that a reader may still open exist as long as the reader.
#[test]
fn a_reader_keeps_its_tables() {
    let mut o = options();
    o.set_max_open_files(10);
    let db = open(&o);
    for round in 0..2 {
        for i in 0..200 {
            db.put(format!("key{i:03}"), "v".repeat(1_000))
                .expect("writes");
        }
        db.flush().expect("flushes");
        compact(&db);
        if round == 0 {
            let tables = db.live_files().expect("known").len();
            assert!(tables > 10, "{tables} tables");
        }
    }
    let mut iter = db.raw_iterator();
    iter.seek_to_first();
    db.put("key000", "new").expect("writes");
    db.flush().expect("flushes");
    compact(&db);
    let mut seen = 0;
    while iter.valid() {
        assert_eq!(iter.value().map(<[u8]>::len), Some(1_000));
        iter.next();
        seen += 1;
    }
    iter.status().expect("readable");
    assert_eq!(seen, 200);
}

/// A snapshot's version is found under any number of newer ones.
#[test]
fn versions_above_a_snapshot_are_passed() {
    if !views_hold() {
        return;
    }
    let db = open(&options());
    db.put("k", "0").expect("writes");
    db.put("l", "0").expect("writes");
    let snapshot = db.snapshot();
    for n in 1..=30 {
        for key in ["k", "l"] {
            db.put(key, n.to_string()).expect("writes");
        }
        for mode in [IteratorMode::Start, IteratorMode::End] {
            let values = snapshot
                .iterator(mode)
                .map(|pair| pair.expect("readable").1);
            let values: Vec<_> = values.collect();
            assert_eq!(
                values,
                [b"0".to_vec().into_boxed_slice(), b"0".to_vec().into()],
                "{n}"
            );
        }
    }
}

/// Both directions, with a turn at each key, over keys in a memtable and in tables, some of them
/// deleted.
#[test]
fn iterators_turn_around_anywhere() {
    let db = open(&options());
    for i in 0..60 {
        db.put(format!("{i:02}"), "1").expect("writes");
        if i % 20 == 19 {
            db.flush().expect("flushes");
        }
    }
    let mut wanted = Vec::new();
    for i in 0..60 {
        match i % 5 {
            0 => db.delete(format!("{i:02}")).expect("writes"),
            1 => db.put(format!("{i:02}"), "2").expect("writes"),
            _ => {}
        }
        if i % 5 != 0 {
            wanted.push(format!("{i:02}").into_bytes());
        }
    }
    let mut everything = ReadOptions::default();
    everything.set_total_order_seek(true);
    let mut iter = db.raw_iterator_opt(everything);
    for (at, key) in wanted.iter().enumerate() {
        for ahead in 0..4 {
            iter.seek(key);
            for _ in 0..ahead {
                iter.next();
            }
            for _ in 0..ahead {
                if iter.valid() {
                    iter.prev();
                }
            }
            if at + ahead < wanted.len() {
                assert_eq!(iter.key(), Some(&key[..]), "{ahead} ahead");
                iter.prev();
                let before = at.checked_sub(1).map(|i| &wanted[i][..]);
                assert_eq!(iter.key(), before, "{ahead} ahead, then back");
            }
        }
    }
    let seen: Vec<_> = (db.iterator(IteratorMode::End))
        .map(|pair| pair.expect("readable").0.into_vec())
        .collect();
    assert!(seen.iter().eq(wanted.iter().rev()));
}

/// A seek that ends between two tables of a level shows the first entry of the second, also if a
/// range tombstone extends the first table beyond its last entry.
#[test]
fn a_seek_goes_on_to_the_next_table() {
    for with_tombstone in [false, true] {
        seek_between_tables(with_tombstone);
    }
}

fn seek_between_tables(with_tombstone: bool) {
    let db = open(&options());
    for i in 0..200 {
        db.put(format!("key{i:03}"), "v".repeat(1_000))
            .expect("writes");
    }
    db.flush().expect("flushes");
    // This snapshot sees no tombstone, and keeps what they delete.
    let snapshot = db.snapshot();
    if with_tombstone {
        delete_range(&db, "key000", "key200");
        db.flush().expect("flushes");
    }
    compact(&db);
    assert!(db.live_files().expect("known").len() > 5);
    let mut iter = snapshot.raw_iterator();
    for i in 0..199 {
        iter.seek(format!("key{i:03}+"));
        let next = format!("key{:03}", i + 1);
        assert_eq!(iter.key(), Some(next.as_bytes()), "behind {i}");
        iter.seek_for_prev(format!("key{i:03}+"));
        assert_eq!(iter.key(), Some(format!("key{i:03}").as_bytes()));
    }
}

/// A step within a data block passes the versions that a snapshot keeps there.
#[test]
fn older_versions_in_a_block_are_not_shown() {
    let db = open(&options());
    look_at_versions(&db, || db.flush().expect("flushes"));
}

/// A step to the next data block passes the versions there of the key before, in one table and in
/// one of several sources, from which blocks are lent as well.
#[test]
fn older_versions_in_the_next_block_are_not_shown() {
    let mut tables = BlockBasedOptions::default();
    tables.set_block_size(64);
    for merges in [false, true] {
        let mut o = options();
        o.set_block_based_table_factory(&tables);
        let db = open(&o);
        look_at_versions(&db, || {
            db.flush().expect("flushes");
            if merges {
                db.put("last", "last").expect("writes");
            }
        });
    }
}

/// Writes three versions of some keys, `arranges` them, and looks at each through an iterator.
fn look_at_versions(db: &Db, arranges: impl Fn()) {
    const VERSIONS: [&str; 3] = ["first", "second", "third"];
    let keys: Vec<String> = (0..40).map(|i| format!("key{i:03}")).collect();
    let snapshots = VERSIONS.map(|version| {
        for key in &keys {
            db.put(key, version).expect("writes");
        }
        db.snapshot()
    });
    arranges();
    for (snapshot, version) in snapshots.iter().zip(VERSIONS) {
        let items = snapshot.iterator(IteratorMode::Start);
        let items: Vec<_> = items.collect::<Result<_, _>>().expect("reads");
        let shown = items.iter().map(|(key, value)| (&key[..], &value[..]));
        let expected = keys.iter().map(|key| (key.as_bytes(), version.as_bytes()));
        assert!(shown.eq(expected), "{version}");
    }
}

/// An iterator that merges passes many versions in a radix tree at once: those of a deleted key and
/// of one that is shown.
#[test]
fn a_merging_iterator_passes_the_versions_of_a_memtable_at_once() {
    let mut o = options();
    set_memtable(&mut o, "art");
    o.set_memtable_protection_bytes_per_key(0);
    let db = open(&o);
    let put = |key: &str, value: &str| db.put(key, value).expect("writes");
    for key in ["a", "b", "c", "d"] {
        put(key, "table");
    }
    db.flush().expect("flushes");
    for n in 0..100 {
        put("b", &format!("old {n}"));
        put("c", &format!("old {n}"));
    }
    let snapshot = db.snapshot();
    put("b", "new");
    db.delete("c").expect("deletes");
    type Item = Result<(Box<[u8]>, Box<[u8]>), whitewater::Error>;
    let shown = |item: Item| {
        let (key, value) = item.expect("reads");
        let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
        format!("{}={}", text(&key), text(&value))
    };
    set_perf_stats(PerfStatsLevel::EnableCount);
    let mut perf = PerfContext::default();
    perf.reset();
    let now: Vec<_> = db.iterator(IteratorMode::Start).map(shown).collect();
    let then: Vec<_> = snapshot.iterator(IteratorMode::Start).map(shown).collect();
    set_perf_stats(PerfStatsLevel::Disable);
    // The versions that the snapshot may not see are passed one by one; of the others the table's.
    assert!(perf.metric(PerfMetric::InternalKeySkippedCount) <= 4);
    assert_eq!(perf.metric(PerfMetric::SeekChildSeekCount), 4);
    assert_eq!(now, ["a=table", "b=new", "d=table"]);
    assert_eq!(then, ["a=table", "b=old 99", "c=old 99", "d=table"]);
}

/// Filters of memtables and tables know every key.
#[test]
fn filters_pass_every_key_there_is() {
    let mut o = options();
    o.set_memtable_prefix_bloom_ratio(0.1);
    o.set_memtable_whole_key_filtering(true);
    let mut table = BlockBasedOptions::default();
    table.set_bloom_filter(10.0, false);
    o.set_block_based_table_factory(&table);
    let db = open(&o);
    let mut batch = WriteBatch::default();
    for i in 0..100 {
        match i % 2 {
            0 => db.put(format!("key{i}"), "1").expect("writes"),
            _ => batch.put(format!("key{i}"), "1"),
        }
    }
    db.write(batch).expect("writes");
    for place in ["memtable", "level 0", "last level"] {
        for i in 0..100 {
            let found = get(&db, &format!("key{i}"));
            assert_eq!(found.as_deref(), Some("1"), "key{i} in {place}");
        }
        match place {
            "memtable" => db.flush().expect("flushes"),
            _ => compact(&db),
        }
    }
}
