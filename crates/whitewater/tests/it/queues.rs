//! Databases used as queues: the first or the last key is taken again and again.

use crate::harness::points::Trap;
use crate::harness::{seeds, tiny_on};
use crate::simulated::in_threads;
use rand::rngs::StdRng;
use rand::{Rng, SeedableRng};
use std::collections::{BTreeMap, BTreeSet};
use whitewater::fs::mem::MemFs;
use whitewater::perf::{PerfContext, PerfMetric, PerfStatsLevel, set_perf_stats};
use whitewater::{
    CommitProtocol, DB, Direction, IngestExternalFileOptions, IteratorMode, Options, Point,
    ReadOptions, SstFileWriter, WriteBatch,
};
use whitewater_concurrent::system::{Mutex, simulation};

const DIR: &str = "/data/db";

fn key(i: u64) -> Vec<u8> {
    format!("key{i:06}").into_bytes()
}

fn open(fs: &MemFs) -> DB {
    let mut o = tiny_on(fs.clone());
    // Tombstones stay until a test flushes.
    o.set_write_buffer_size(64 << 20);
    o.set_disable_auto_compactions(true);
    DB::open(&o, DIR).unwrap()
}

fn filled(keys: u64) -> DB {
    let db = open(&MemFs::new());
    (0..keys).for_each(|i| db.put(key(i), b"v").unwrap());
    db
}

/// The first key, or the last.
fn end(db: &DB, first: bool) -> Option<Vec<u8>> {
    let mut it = db.raw_iterator();
    if first {
        it.seek_to_first();
    } else {
        it.seek_to_last();
    }
    it.status().unwrap();
    it.key().map(<[u8]>::to_vec)
}

/// Deleted keys that `walk` passes one by one.
fn passed(walk: impl FnOnce()) -> u64 {
    set_perf_stats(PerfStatsLevel::EnableCount);
    let mut context = PerfContext::default();
    context.reset();
    walk();
    context.metric(PerfMetric::InternalDeleteSkippedCount)
}

/// Takes all keys; returns the numbers of tombstones that takes had to pass: the largest of one
/// take, and that of all.
fn drain(db: &DB, keys: u64, first: bool, mut beside: impl FnMut(u64)) -> (u64, u64) {
    let (mut most, mut all) = (0, 0);
    for i in 0..keys {
        let expected = key(if first { i } else { keys - 1 - i });
        let passed = passed(|| assert_eq!(end(db, first), Some(expected.clone())));
        most = most.max(passed);
        all += passed;
        db.delete(&expected).unwrap();
        beside(i);
    }
    assert_eq!(end(db, first), None);
    (most, all)
}

#[test]
fn takes_do_not_get_slower_from_either_end_with_tombstones_in_memory_or_in_tables() {
    for first in [true, false] {
        for flush_every in [u64::MAX, 1, 7, 100] {
            let db = filled(600);
            if flush_every != u64::MAX {
                db.flush().unwrap();
            }
            let (most, all) = drain(&db, 600, first, |i| {
                if i % flush_every == flush_every - 1 {
                    db.flush().unwrap();
                }
            });
            assert!(
                most < 30 && all < 4 * 600,
                "{most} tombstones passed, {all} in all, flush every {flush_every}"
            );
        }
    }
}

#[test]
fn a_key_that_is_put_back_is_found() {
    for flushes in [false, true] {
        let db = filled(200);
        for i in 0..150 {
            assert_eq!(end(&db, true), Some(key(i)));
            db.delete(key(i)).unwrap();
        }
        assert!(
            passed(|| drop(end(&db, true))) < 100,
            "the walk is remembered"
        );
        for back in [149, 70, 3, 0] {
            if flushes {
                db.flush().unwrap();
            }
            db.put(key(back), b"again").unwrap();
            assert_eq!(end(&db, true), Some(key(back)));
            let after = [key(back), b"x".to_vec()].concat();
            let mut it = db.iterator(IteratorMode::From(&after, Direction::Reverse));
            assert_eq!(&*it.next().unwrap().unwrap().0, key(back));
        }
    }
}

#[test]
fn an_older_snapshot_sees_what_was_taken_later() {
    let db = filled(100);
    let before = db.snapshot();
    for i in 0..100 {
        assert_eq!(end(&db, true), Some(key(i)));
        db.delete(key(i)).unwrap();
    }
    let kept = before.iterator(IteratorMode::Start).count();
    assert_eq!(kept, 100);
    let kept = before.iterator(IteratorMode::End).count();
    assert_eq!(kept, 100);
    assert_eq!(end(&db, true), None);
}

#[test]
fn bounds_hold_within_a_range_that_was_taken() {
    let db = filled(300);
    for i in 0..200 {
        assert_eq!(end(&db, true), Some(key(i)));
        db.delete(key(i)).unwrap();
    }
    let keys = |from: u64, to: u64, reverse: bool| {
        let mut options = ReadOptions::default();
        options.set_iterate_lower_bound(key(from));
        options.set_iterate_upper_bound(key(to));
        let mode = if reverse {
            IteratorMode::End
        } else {
            IteratorMode::Start
        };
        let found = db.iterator_opt(mode, options);
        found
            .map(|entry| entry.unwrap().0.to_vec())
            .collect::<Vec<_>>()
    };
    for reverse in [false, true] {
        assert!(keys(50, 150, reverse).is_empty());
        assert!(keys(0, 200, reverse).is_empty());
        assert_eq!(keys(150, 201, reverse), [key(200)]);
        assert_eq!(keys(299, 400, reverse), [key(299)]);
    }
}

#[test]
fn an_ingested_table_shows_in_a_range_that_was_taken() {
    let dir = tempfile::tempdir().unwrap();
    let mut options = Options::default();
    options.create_if_missing(true);
    options.set_allow_ingest_behind(true);
    let db = DB::open(&options, dir.path().join("db")).unwrap();
    (0..200).for_each(|i| db.put(key(2 * i), b"v").unwrap());
    for i in 0..100 {
        assert_eq!(end(&db, true), Some(key(2 * i)));
        db.delete(key(2 * i)).unwrap();
    }
    assert!(
        passed(|| drop(end(&db, true))) < 100,
        "the walk is remembered"
    );
    for (behind, i) in [(true, 51), (false, 21)] {
        let table = dir.path().join(format!("{i}.sst"));
        let mut writer = SstFileWriter::create(&options);
        writer.open(&table).unwrap();
        writer.put(key(i), b"came in").unwrap();
        writer.finish().unwrap();
        let mut how = IngestExternalFileOptions::default();
        how.set_ingest_behind(behind);
        db.ingest_external_file_opts(&how, vec![&table]).unwrap();
        assert_eq!(end(&db, true), Some(key(i)), "behind: {behind}");
    }
}

#[test]
fn queues_beside_each_other_agree_with_a_map() {
    let db = open(&MemFs::new());
    let mut model = BTreeMap::new();
    let queues = 5;
    let entry = |queue: u64, i: u64| key(queue * 100_000 + i);
    for i in 0..400 {
        for queue in 0..queues {
            db.put(entry(queue, i), i.to_le_bytes()).unwrap();
            model.insert(entry(queue, i), i);
            if i % 3 == queue % 3 {
                continue;
            }
            let (from, to) = (entry(queue, 0), entry(queue, 99_999));
            let mut options = ReadOptions::default();
            options.set_iterate_lower_bound(from.clone());
            options.set_iterate_upper_bound(to.clone());
            let newest = i % 7 == 0;
            let mode = if newest {
                IteratorMode::End
            } else {
                IteratorMode::Start
            };
            let found = db.iterator_opt(mode, options).next();
            let found = found.map(|entry| entry.unwrap().0.to_vec());
            let mut range = model.range(from..to);
            let wanted = if newest {
                range.next_back()
            } else {
                range.next()
            };
            assert_eq!(found, wanted.map(|(key, _)| key.clone()));
            let wanted = found.unwrap();
            db.delete(&wanted).unwrap();
            model.remove(&wanted);
        }
        if i % 50 == 49 {
            db.flush().unwrap();
        }
    }
    let left = db.iterator(IteratorMode::Start);
    let left: Vec<_> = left.map(|entry| entry.unwrap().0.to_vec()).collect();
    assert_eq!(left, model.into_keys().collect::<Vec<_>>());
}

/// Takes from both ends, with keys put anywhere meanwhile, often before all others or behind them,
/// ranges deleted, and iterators and snapshots that look later.
#[test]
fn takes_from_both_ends_agree_with_a_map_whatever_is_put_meanwhile() {
    for seed in seeds(1, 60) {
        let rng = &mut StdRng::seed_from_u64(seed);
        let db = open(&MemFs::new());
        let mut model = BTreeMap::new();
        let mut older = Vec::new();
        let mut snapshots = Vec::new();
        let (mut low, mut high) = (500, 500);
        for step in 0..1_500 {
            match rng.random_range(0..40) {
                0..2 => {
                    low -= 1;
                    db.put(key(low), b"low").unwrap();
                    model.insert(key(low), ());
                }
                2..7 => {
                    high += 1;
                    db.put(key(high), b"high").unwrap();
                    model.insert(key(high), ());
                }
                7 => {
                    let back = key(rng.random_range(low..=high));
                    db.put(&back, b"back").unwrap();
                    model.insert(back, ());
                }
                8 => {
                    for _ in 0..60 {
                        high += 1;
                        db.put(key(high), b"many").unwrap();
                        model.insert(key(high), ());
                    }
                }
                9 => db.flush().unwrap(),
                10 if older.len() < 4 => {
                    let it = db.raw_iterator();
                    older.push((it, model.clone()));
                }
                11 if !older.is_empty() => {
                    let (mut it, model) = older.swap_remove(rng.random_range(0..older.len()));
                    it.seek_to_last();
                    assert_eq!(it.key(), model.keys().next_back().map(|k| &k[..]));
                    it.seek_to_first();
                    assert_eq!(it.key(), model.keys().next().map(|k| &k[..]));
                }
                13 => {
                    let from = rng.random_range(low..=high);
                    let to = key(from + rng.random_range(0..30));
                    let mut batch = WriteBatch::default();
                    batch.delete_range(key(from), to.clone());
                    db.write(batch).unwrap();
                    model.retain(|each, ()| *each < key(from) || *each >= to);
                }
                14 if snapshots.len() < 4 => snapshots.push((db.snapshot(), model.clone())),
                15 if !snapshots.is_empty() => {
                    let at = rng.random_range(0..snapshots.len());
                    let (snapshot, model) = &snapshots[at];
                    let mut it = snapshot.raw_iterator();
                    let from = key(rng.random_range(low..=high));
                    it.seek(&from);
                    let after = model.range(from..).next();
                    assert_eq!(it.key(), after.map(|(k, ())| &k[..]), "seed {seed}, {step}");
                    it.seek_to_first();
                    assert_eq!(it.key(), model.keys().next().map(|k| &k[..]), "seed {seed}");
                    it.seek_to_last();
                    let last = model.keys().next_back();
                    assert_eq!(it.key(), last.map(|k| &k[..]), "seed {seed}");
                    drop(it);
                    if rng.random() {
                        snapshots.swap_remove(at);
                    }
                }
                12 => {
                    let from = key(rng.random_range(low..=high));
                    let mut it = db.raw_iterator();
                    it.seek(&from);
                    let after = model.range(from.clone()..).next();
                    assert_eq!(it.key(), after.map(|(k, ())| &k[..]), "seed {seed}, {step}");
                    it.seek_for_prev(&from);
                    let before = model.range(..=from).next_back();
                    assert_eq!(
                        it.key(),
                        before.map(|(k, ())| &k[..]),
                        "seed {seed}, {step}"
                    );
                }
                other => {
                    let first = other % 3 != 0;
                    let found = end(&db, first);
                    let wanted = match first {
                        true => model.keys().next(),
                        false => model.keys().next_back(),
                    };
                    assert_eq!(found.as_ref(), wanted, "seed {seed}, step {step}");
                    if let Some(found) = found {
                        db.delete(&found).unwrap();
                        model.remove(&found);
                    }
                }
            }
        }
    }
}

/// A write may have looked for ranges before one was remembered, and become visible afterwards.
#[test]
fn a_put_that_was_under_way_is_found() {
    let mut o = tiny_on(MemFs::new());
    o.set_commit_protocol(CommitProtocol::Ordered);
    o.set_write_buffer_size(64 << 20);
    let trap = Trap::set(&mut o);
    let db = DB::open(&o, DIR).unwrap();
    (0..100).for_each(|i| db.put(key(i), b"v").unwrap());
    (0..50).for_each(|i| db.delete(key(i)).unwrap());
    trap.arm(Point::Inserted);
    std::thread::scope(|scope| {
        let writer = scope.spawn(|| db.put(key(3), b"back"));
        trap.wait();
        for _ in 0..3 {
            assert_eq!(end(&db, true), Some(key(50)), "not visible yet");
        }
        trap.release();
        writer.join().unwrap().unwrap();
    });
    assert_eq!(end(&db, true), Some(key(3)));
}

/// An iterator that does not see a put yet may pass the place of it, and tell afterwards.
#[test]
fn a_put_behind_a_range_that_grows_is_found() {
    let mut o = tiny_on(MemFs::new());
    o.set_commit_protocol(CommitProtocol::Ordered);
    o.set_write_buffer_size(64 << 20);
    let db = DB::open(&o, DIR).unwrap();
    (0..100).for_each(|i| db.put(key(i), b"v").unwrap());
    (0..50).for_each(|i| db.delete(key(i)).unwrap());
    for _ in 0..3 {
        assert_eq!(end(&db, true), Some(key(50)));
    }
    (50..60).for_each(|i| db.delete(key(i)).unwrap());
    let mut older = db.raw_iterator();
    db.put(key(55), b"back").unwrap();
    older.seek_to_first();
    assert_eq!(older.key(), Some(&key(60)[..]), "not visible to it");
    assert_eq!(end(&db, true), Some(key(55)));
}

/// Writers put keys back into what a consumer has taken. What was acknowledged before the consumer
/// looks is not passed over.
#[test]
fn no_acknowledged_key_is_passed_over_beside_writers() {
    for seed in seeds(1, 120) {
        simulation::run(seed, || {
            let mut o = tiny_on(MemFs::new());
            let protocols = [
                CommitProtocol::Ordered,
                CommitProtocol::Grouped,
                CommitProtocol::Pipelined,
                CommitProtocol::Unordered,
            ];
            o.set_commit_protocol(protocols[seed as usize % protocols.len()]);
            o.set_write_buffer_size(64 << 20);
            let db = DB::open(&o, DIR).unwrap();
            (0..60).for_each(|i| db.put(key(i), b"v").unwrap());
            // Keys that are there for sure, and keys that were taken.
            let there: BTreeSet<_> = (0..60).map(key).collect();
            let sets = Mutex::new((there, BTreeSet::new()));
            let producer = |step: u64| {
                let (db, sets) = (&db, &sets);
                move || {
                    for i in 0..12 {
                        let back = key((i * step + seed) % 60);
                        let again = [&back[..], &step.to_be_bytes()].concat();
                        db.put(&again, b"again").unwrap();
                        let (there, taken) = &mut *sets.lock();
                        if !taken.contains(&again) {
                            there.insert(again);
                        }
                    }
                }
            };
            let consumer = || {
                for i in 0..70 {
                    let first = i % 5 != 0;
                    let known = sets.lock().0.clone();
                    let found = end(&db, first);
                    let wanted = if first { known.first() } else { known.last() };
                    let (Some(found), Some(wanted)) = (found.as_ref(), wanted) else {
                        assert_eq!(wanted, None, "seed {seed}: the database looks empty");
                        continue;
                    };
                    let passed_over = if first {
                        found > wanted
                    } else {
                        found < wanted
                    };
                    assert!(
                        !passed_over,
                        "seed {seed}: {wanted:?} was passed over for {found:?}"
                    );
                    db.delete(found).unwrap();
                    let (there, taken) = &mut *sets.lock();
                    there.remove(found);
                    taken.insert(found.clone());
                }
            };
            let (one, two) = (producer(7), producer(11));
            in_threads(vec![Box::new(one), Box::new(two), Box::new(consumer)]);
        });
    }
}
