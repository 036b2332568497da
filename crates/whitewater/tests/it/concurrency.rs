//! Many threads on one database: atomicity, snapshots, order of reads after writes, memtable
//! switches, stalls, closing, and user code that panics.
//!
//! No test asserts on time. A watchdog ends tests that hang.

use crate::harness::walk::{Content, collect};
use crate::harness::{
    DIR, Db, campaign, open_named, strict_protocols, tiny, tiny_on, until, views_hold, watched,
};
use parking_lot::Mutex;
use rand::rngs::StdRng;
use rand::{Rng, SeedableRng};
use std::collections::BTreeSet;
use std::path::Path;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, OnceLock, Weak, mpsc};
use std::thread;
use whitewater::fs::mem::MemFs;
use whitewater::{
    CommitProtocol, ErrorKind, FlushOptions, Options, ReadOptions, SstFileWriter, WriteBatch,
    WriteOptions,
};

fn open(options: &Options, families: &[&str]) -> Db {
    let names: Vec<String> = families.iter().map(|f| (*f).to_owned()).collect();
    open_named(options, Path::new(DIR), &names).expect("opens")
}

/// Sets its flag when dropped, so that other threads end when one panics.
struct Stop<'a>(&'a AtomicBool);

impl Drop for Stop<'_> {
    fn drop(&mut self) {
        self.0.store(true, Ordering::Relaxed);
    }
}

/// Writers write the same number to all keys. Readers must never see two numbers.
#[test]
fn batches_are_seen_whole() {
    if !views_hold() {
        return;
    }
    campaign("batches_are_seen_whole", 1, 2, |seed| {
        watched("batches_are_seen_whole", 200, move || {
            batches_are_whole(seed)
        });
    });
}

fn batches_are_whole(seed: u64) {
    const FAMILIES: [&str; 4] = ["default", "a", "b", "c"];
    let db = &open(&tiny_on(MemFs::new()), &FAMILIES);
    let cfs = &FAMILIES.map(|f| db.cf_handle(f).expect("opened"));
    let keys = &["k1", "k2", "m1"];
    let stop = &AtomicBool::new(false);
    let checks = &AtomicU64::new(0);
    let number = &AtomicU64::new(0);
    thread::scope(|scope| {
        for w in 0..4u64 {
            scope.spawn(move || {
                let _stop = Stop(stop);
                let mut rng = StdRng::seed_from_u64(seed ^ (w << 40));
                for _ in 0..2_500 {
                    let n = number.fetch_add(1, Ordering::Relaxed).to_string();
                    let mut batch = WriteBatch::default();
                    for cf in cfs {
                        for key in keys {
                            batch.put_cf(cf, key, &n);
                        }
                    }
                    // Something to fill memtables with.
                    batch.put_cf(&cfs[rng.random_range(0..4)], format!("z{n}"), [b'z'; 200]);
                    db.write(batch).expect("writes");
                }
            });
        }
        for r in 0..3usize {
            scope.spawn(move || {
                while !stop.load(Ordering::Relaxed) {
                    let snapshot = db.snapshot();
                    let mut options = ReadOptions::default();
                    options.set_snapshot(&snapshot);
                    let mut seen = BTreeSet::new();
                    match r {
                        0 => {
                            let all = cfs.iter().flat_map(|cf| keys.map(|k| (cf, k)));
                            for found in db.multi_get_cf_opt(all, &options) {
                                seen.insert(found.expect("readable"));
                            }
                        }
                        1 => {
                            for cf in cfs {
                                let mut iter = db.raw_iterator_cf_opt(cf, options_at(&snapshot));
                                iter.seek("k");
                                for _ in keys {
                                    seen.insert(iter.value().map(<[u8]>::to_vec));
                                    iter.next();
                                }
                                iter.status().expect("readable");
                            }
                        }
                        // A view of one column family is consistent without a snapshot, too.
                        _ => {
                            let cf = &cfs[checks.load(Ordering::Relaxed) as usize % 4];
                            let mut iter = db.raw_iterator_cf(cf);
                            iter.seek_to_first();
                            for _ in keys {
                                seen.insert(iter.value().map(<[u8]>::to_vec));
                                iter.next();
                            }
                        }
                    }
                    assert_eq!(seen.len(), 1, "reader {r} sees a torn batch: {seen:?}");
                    checks.fetch_add(1, Ordering::Relaxed);
                }
            });
        }
    });
    assert!(checks.load(Ordering::Relaxed) > 0);
}

fn options_at(snapshot: &whitewater::SnapshotWithThreadMode<'_, Db>) -> ReadOptions {
    let mut options = ReadOptions::default();
    options.set_snapshot(snapshot);
    options.set_total_order_seek(true);
    options
}

/// A call that reads several column families without a snapshot reads one state.
#[test]
fn multi_get_over_column_families_reads_one_state() {
    if !views_hold() {
        return;
    }
    watched("multi_get", 120, || {
        let db = &open(&tiny_on(MemFs::new()), &["default", "a"]);
        let cfs = &["default", "a"].map(|f| db.cf_handle(f).expect("opened"));
        let stop = &AtomicBool::new(false);
        thread::scope(|scope| {
            scope.spawn(move || {
                let _stop = Stop(stop);
                for n in 0..6_000u32 {
                    let mut batch = WriteBatch::default();
                    for cf in cfs {
                        batch.put_cf(cf, "k", n.to_be_bytes());
                    }
                    batch.put(n.to_be_bytes(), [0; 100]);
                    db.write(batch).expect("writes");
                }
            });
            scope.spawn(move || {
                while !stop.load(Ordering::Relaxed) {
                    let found = db.multi_get_cf(cfs.iter().map(|cf| (cf, "k")));
                    let found: Vec<_> = found.into_iter().map(|f| f.expect("readable")).collect();
                    assert_eq!(found[0], found[1], "multi_get_cf sees a torn batch");
                }
            });
        });
    });
}

/// The same with a batch that is certain to be written between the look-ups of the first and the
/// last key, because the look-up of a key in the middle waits for it.
#[test]
fn many_keys_are_read_at_one_moment() {
    watched("multi_get", 60, || {
        let (come, came) = mpsc::sync_channel(1);
        let (let_go, gate) = mpsc::sync_channel::<()>(1);
        let gate = Mutex::new(Some(gate));
        let mut options = tiny_on(MemFs::new());
        options.set_memtable_factory(whitewater::MemtableFactory::SkipList);
        // Otherwise nothing would be compared with a key that does not exist.
        options.set_memtable_prefix_bloom_ratio(0.0);
        let compare = move |a: &[u8], b: &[u8]| {
            if a == b"gate" || b == b"gate" {
                let first = gate.lock().take();
                if let Some(gate) = first {
                    come.send(()).expect("awaited");
                    gate.recv().expect("told");
                }
            }
            a.cmp(b)
        };
        options.set_comparator("gated", Box::new(compare));
        let db = &open(&options, &["default", "a"]);
        let cfs = &["default", "a"].map(|f| db.cf_handle(f).expect("opened"));
        let write = |value: &str| {
            let mut batch = WriteBatch::default();
            cfs.iter().for_each(|cf| batch.put_cf(cf, "k", value));
            db.write(batch).expect("writes");
        };
        write("old");
        let found = thread::scope(|scope| {
            let keys = [(&cfs[0], "k"), (&cfs[1], "gate"), (&cfs[1], "k")];
            let reader = scope.spawn(move || db.multi_get_cf(keys));
            came.recv().expect("comes");
            write("new");
            let_go.send(()).expect("waits");
            reader.join().expect("no panic")
        });
        let found: Vec<_> = found.into_iter().map(|f| f.expect("readable")).collect();
        let old = Some(b"old".to_vec());
        assert_eq!(found, [old.clone(), None, old]);
    });
}

/// What a snapshot shows does not change while writers, flushes and
/// compactions go on.
#[test]
fn snapshots_do_not_move_under_writers() {
    if !views_hold() {
        return;
    }
    campaign("snapshots_do_not_move_under_writers", 1, 2, |seed| {
        watched("snapshots", 200, move || snapshots_stay(seed));
    });
}

fn snapshots_stay(seed: u64) {
    let db = &open(&tiny_on(MemFs::new()), &["default"]);
    let stop = &AtomicBool::new(false);
    thread::scope(|scope| {
        for w in 0..8u64 {
            scope.spawn(move || {
                let mut rng = StdRng::seed_from_u64(seed ^ (w << 40));
                while !stop.load(Ordering::Relaxed) {
                    let key = format!("k{:03}", rng.random_range(0..300));
                    let done = match rng.random_range(0..20) {
                        0..=13 => db.put(&key, vec![w as u8; rng.random_range(0..300)]),
                        14..=16 => db.delete(&key),
                        17 => db.merge(&key, "m"),
                        18 => {
                            let cf = db.cf_handle("default").expect("always there");
                            db.delete_range_cf(&cf, key.clone(), format!("{key}~"))
                        }
                        _ => {
                            let mut batch = WriteBatch::default();
                            batch.put(&key, "batch");
                            batch.put("other", &key);
                            db.write(batch)
                        }
                    };
                    done.expect("writes");
                }
            });
        }
        scope.spawn(move || {
            let _stop = Stop(stop);
            let mut rng = StdRng::seed_from_u64(seed);
            let scan = |s: &_| collect(db.raw_iterator_opt(options_at(s))).expect("readable");
            for _ in 0..12 {
                let snapshot = db.snapshot();
                let mut held = db.raw_iterator();
                held.seek_to_first();
                let first: Content = scan(&snapshot);
                for _ in 0..3 {
                    match rng.random_range(0..3) {
                        0 => db.flush().expect("flushes"),
                        1 => db.compact_range(None::<&[u8]>, None::<&[u8]>),
                        _ => thread::yield_now(),
                    }
                    assert!(scan(&snapshot) == first, "a snapshot moved");
                    for key in first.keys().step_by(17) {
                        let found = snapshot.get(key).expect("readable");
                        assert_eq!(found.as_ref(), first.get(key));
                    }
                }
                let one = collect_from_here(&mut held);
                held.seek_to_first();
                assert!(one == collect_from_here(&mut held), "an iterator moved");
            }
        });
    });
}

fn collect_from_here(iter: &mut crate::harness::walk::RawIter<'_>) -> Content {
    let mut content = Content::new();
    while let Some((key, value)) = iter.item() {
        content.insert(key.to_vec(), value.to_vec());
        iter.next();
    }
    iter.status().expect("readable");
    content
}

/// A thread that learns of an acknowledged write sees it.
#[test]
fn acknowledged_writes_are_seen_by_whoever_hears_of_them() {
    watched("causality", 120, || {
        let db = &open(&tiny_on(MemFs::new()), &["default"]);
        thread::scope(|scope| {
            for w in 0..6u64 {
                let (tell, hear) = mpsc::sync_channel::<(String, u64)>(64);
                scope.spawn(move || {
                    let mut last = 0;
                    for n in 0..2_000u64 {
                        let key = format!("{w}-{}", n % 50);
                        db.put(&key, n.to_string()).expect("writes");
                        let seen = db.get(&key).expect("readable");
                        assert_eq!(seen, Some(n.to_string().into_bytes()), "own write");
                        let sequence = db.latest_sequence_number();
                        assert!(sequence > last);
                        last = sequence;
                        tell.send((key, n)).expect("the reader lives");
                    }
                });
                scope.spawn(move || {
                    for (key, n) in hear {
                        let seen = db.get(&key).expect("readable").expect("there");
                        let seen: u64 = String::from_utf8(seen)
                            .expect("digits")
                            .parse()
                            .expect("a number");
                        assert!(seen >= n, "{key}: {seen} seen after {n} was acknowledged");
                    }
                });
            }
        });
    });
}

/// Tiny memtables, many writers, and column families that come and go: every key is there exactly
/// once, also after reopening.
#[test]
fn a_storm_of_memtable_switches_loses_nothing() {
    campaign("a_storm_of_memtable_switches_loses_nothing", 1, 2, |seed| {
        watched("storm", 250, move || storm(seed));
    });
}

fn storm(seed: u64) {
    const FAMILIES: [&str; 8] = ["default", "a", "b", "c", "d", "e", "f", "g"];
    const WRITES: u32 = 250;
    let fs = MemFs::new();
    let mut options = tiny_on(fs.clone());
    options.set_max_background_jobs(4);
    options.set_max_manifest_file_size(4_000);
    let db = open(&options, &FAMILIES);
    thread::scope(|scope| {
        let db = &db;
        for w in 0..16u32 {
            scope.spawn(move || {
                let mut rng = StdRng::seed_from_u64(seed ^ (u64::from(w) << 40));
                for n in 0..WRITES {
                    let mut batch = WriteBatch::default();
                    for (i, family) in FAMILIES.iter().enumerate() {
                        // Every second batch writes to all of them.
                        if n % 2 == 0 || i as u32 == (n / 2 + w) % 8 {
                            let cf = db.cf_handle(family).expect("opened");
                            batch.merge_cf(
                                &cf,
                                format!("{w:02}-{n:04}"),
                                vec![b'x'; rng.random_range(1..200)],
                            );
                        }
                    }
                    let mut options = WriteOptions::default();
                    options.set_sync(rng.random_bool(0.02));
                    db.write_opt(batch, &options).expect("writes");
                }
            });
        }
        scope.spawn(move || {
            for n in 0..25 {
                let name = format!("brief{}", n % 3);
                db.create_cf(&name, &tiny()).expect("creates");
                let cf = db.cf_handle(&name).expect("created");
                for k in 0..40u32 {
                    db.put_cf(&cf, k.to_be_bytes(), [1; 1_000]).expect("writes");
                }
                if n % 2 == 0 {
                    let mut options = FlushOptions::default();
                    options.set_wait(n % 4 == 0);
                    db.flush_cf_opt(&cf, &options).expect("flushes");
                }
                let iter = db.raw_iterator_cf(&cf);
                db.drop_cf(&name).expect("drops");
                // What the iterator holds outlives the column family.
                assert_eq!(collect(iter).expect("readable").len(), 40);
            }
        });
    });
    let check = |db: &Db| {
        for (i, family) in FAMILIES.iter().enumerate() {
            let cf = db.cf_handle(family).expect("opened");
            let content = collect(db.raw_iterator_cf(&cf)).expect("readable");
            let written = |w: u32, n: u32| n.is_multiple_of(2) || i as u32 == (n / 2 + w) % 8;
            let keys = (0..16).flat_map(|w| (0..WRITES).map(move |n| (w, n)));
            let wanted = keys.filter(|(w, n)| written(*w, *n)).count();
            assert_eq!(content.len(), wanted, "{family}");
            // A key applied twice would have two operands joined by a comma.
            assert!(content.values().all(|v| !v.contains(&b',')), "{family}");
        }
    };
    check(&db);
    drop(db);
    let killed = fs.crash_clone(1.0, seed);
    for fs in [fs, killed] {
        options.set_fs(Arc::new(fs));
        check(&open(&options, &FAMILIES));
    }
}

/// Writers of all kinds together. A writer that is refused gets an error and has written nothing.
#[test]
fn mixed_writers_under_stalls_all_end() {
    campaign("mixed_writers_under_stalls_all_end", 1, 2, |seed| {
        watched("stalls", 200, move || mixed_writers(seed));
    });
}

fn mixed_writers(seed: u64) {
    let fs = MemFs::new();
    let mut options = tiny_on(fs.clone());
    options.set_level_zero_slowdown_writes_trigger(2);
    options.set_level_zero_stop_writes_trigger(3);
    options.set_max_write_buffer_number(2);
    options.set_delayed_write_rate(8 << 20);
    let db = open(&options, &["default", "a"]);
    let refused = &AtomicU64::new(0);
    let written: Vec<BTreeSet<String>> = thread::scope(|scope| {
        let db = &db;
        let writers: Vec<_> = (0..10u64)
            .map(|w| {
                scope.spawn(move || {
                    let mut rng = StdRng::seed_from_u64(seed ^ (w << 40));
                    let mut written = BTreeSet::new();
                    let a = db.cf_handle("a").expect("opened");
                    let mut options = WriteOptions::default();
                    options.set_sync(w == 1);
                    options.disable_wal(w == 2 || w == 3);
                    options.set_no_slowdown(w == 4 || w == 5);
                    for n in 0..250 {
                        let key = format!("{w}-{n:04}");
                        let mut batch = WriteBatch::default();
                        batch.put(&key, vec![w as u8; rng.random_range(1..900)]);
                        batch.put_cf(&a, &key, "a");
                        match db.write_opt(batch, &options) {
                            Ok(()) => _ = written.insert(key),
                            Err(e) => {
                                assert!(w == 4 || w == 5, "{e}");
                                assert_eq!(e.kind(), ErrorKind::Incomplete, "{e}");
                                assert_eq!(db.get(&key).expect("readable"), None);
                                refused.fetch_add(1, Ordering::Relaxed);
                            }
                        }
                    }
                    written
                })
            })
            .collect();
        writers
            .into_iter()
            .map(|w| w.join().expect("no panic"))
            .collect()
    });
    let wanted: BTreeSet<String> = written.into_iter().flatten().collect();
    let check = |db: &Db| {
        for family in ["default", "a"] {
            let cf = db.cf_handle(family).expect("opened");
            let found = collect(db.raw_iterator_cf(&cf)).expect("readable");
            let found: BTreeSet<String> = found
                .into_keys()
                .map(|k| String::from_utf8(k).expect("ASCII"))
                .collect();
            assert!(found == wanted, "{family}");
        }
    };
    check(&db);
    // Closing flushes what bypassed the log.
    drop(db);
    check(&open(&options, &["default", "a"]));
}

/// The handle may be dropped while iterators and snapshots of another clone of it live, and in the
/// middle of background work.
#[test]
fn closing_in_the_middle_of_background_work_ends() {
    watched("closing", 120, || {
        let fs = MemFs::new();
        for round in 0..30u32 {
            let db = Arc::new(open(&tiny_on(fs.clone()), &["default"]));
            let other = db.clone();
            let reader = thread::spawn(move || {
                let snapshot = other.snapshot();
                let mut iter = snapshot.raw_iterator();
                iter.seek_to_first();
                let mut n = 0;
                while iter.valid() {
                    n += 1;
                    iter.next();
                }
                iter.status().expect("readable");
                n
            });
            for n in 0..100u32 {
                db.put(format!("{round:03}-{n:03}"), [round as u8; 700])
                    .expect("writes");
            }
            let mut options = FlushOptions::default();
            options.set_wait(false);
            db.flush_opt(&options).expect("flushes");
            drop(db);
            let n = reader.join().expect("no panic");
            assert!((round * 100..=round * 100 + 100).contains(&n), "{n}");
        }
        let db = open(&tiny_on(fs), &["default"]);
        assert_eq!(collect(db.raw_iterator()).expect("readable").len(), 3_000);
    });
}

/// After background work was cancelled, waiting calls return.
#[test]
fn cancelled_background_work_leaves_nobody_waiting() {
    watched("cancelling", 120, || {
        let fs = MemFs::new();
        let mut options = tiny_on(fs.clone());
        options.set_level_zero_stop_writes_trigger(3);
        let db = &open(&options, &["default"]);
        let acknowledged = thread::scope(|scope| {
            let writers: Vec<_> = (0..6u32)
                .map(|w| {
                    scope.spawn(move || {
                        let key = |n: u32| format!("{w}-{n}");
                        let writes = (0..1_000).map(|n| db.put(key(n), [0; 1_000]));
                        writes.take_while(Result::is_ok).count()
                    })
                })
                .collect();
            scope.spawn(move || {
                // Whether it gets an error depends on which comes first.
                let _ = db.flush();
                db.cancel_all_background_work(true);
                assert!(db.flush().is_err());
            });
            let counts = writers.into_iter().map(|w| w.join().expect("no panic"));
            counts.collect::<Vec<_>>()
        });
        let check = |db: &Db| {
            for (w, n) in acknowledged.iter().enumerate() {
                for n in 0..*n {
                    let found = db.get(format!("{w}-{n}")).expect("readable");
                    assert!(found.is_some(), "{w}-{n} of {n}");
                }
            }
        };
        check(db);
        let killed = fs.crash_clone(1.0, 0);
        options.set_fs(Arc::new(killed));
        check(&open(&options, &["default"]));
    });
}

/// Which thread calls the merge operator.
#[derive(Debug, Clone, Copy, PartialEq)]
enum Merging {
    /// A thread of the database.
    Flush,
    /// The caller of a flush, which has the right to switch.
    Ingestion,
    /// A writer that has reserved its place.
    Write(CommitProtocol),
}

/// Unlogged writes are flushed before background work ends. The flush or the write that calls the
/// operator must not wait for that.
#[test]
fn cancelling_in_a_merge_operator_waits_for_nobody() {
    use Merging::{Flush, Ingestion, Write};
    watched("cancelling in a merge operator", 120, || {
        for merging in [Flush, Ingestion]
            .into_iter()
            .chain(strict_protocols().into_iter().map(Write))
        {
            cancel_when(merging);
        }
    });
}

fn cancel_when(merging: Merging) {
    let fs = MemFs::new();
    let mut options = tiny_on(fs.clone());
    let handle: Arc<OnceLock<Weak<Db>>> = Arc::default();
    let calls = Arc::new(AtomicU64::new(0));
    let mut unlogged = WriteOptions::default();
    unlogged.disable_wal(true);
    let (weak, counted) = (handle.clone(), calls.clone());
    options.set_merge_operator_associative("cancel", move |key, existing, operands| {
        if let Some(db) = weak.get().and_then(Weak::upgrade)
            && counted.fetch_add(1, Ordering::Relaxed) == 0
        {
            if merging == Merging::Flush {
                // The flush that is running does not include it.
                let mut unlogged = WriteOptions::default();
                unlogged.disable_wal(true);
                db.put_opt("late", "1", &unlogged).expect("writes");
            }
            db.cancel_all_background_work(true);
        }
        crate::harness::append(key, existing, operands)
    });
    if let Merging::Write(protocol) = merging {
        options.set_commit_protocol(protocol);
        options.set_max_successive_merges(1);
    }
    let db = Arc::new(open(&options, &["default"]));
    db.put_opt("unlogged", "1", &unlogged).expect("writes");
    db.put("key", "1").expect("writes");
    db.merge("key", "2").expect("writes");
    handle.set(Arc::downgrade(&db)).expect("once");
    let late = match merging {
        Merging::Flush => {
            // It is cancelled, or ends before that.
            let _ = db.flush();
            Some(b"1".to_vec())
        }
        Merging::Ingestion => {
            let path = Path::new("/table.sst");
            let mut writer = SstFileWriter::create(&options);
            writer.open(path).expect("opens");
            writer.put("key", "3").expect("writes");
            writer.finish().expect("finishes");
            let _ = db.ingest_external_file(vec![path]);
            None
        }
        Merging::Write(_) => {
            db.merge("key", "3").expect("writes");
            None
        }
    };
    until("background work to be cancelled", || {
        assert_eq!(db.get("unlogged"), Ok(Some(b"1".to_vec())));
        db.flush().is_err()
    });
    assert!(calls.load(Ordering::Relaxed) > 0);
    drop(db);
    let killed = fs.crash_clone(1.0, 0);
    let db = open(&tiny_on(killed), &["default"]);
    assert_eq!(db.get("unlogged"), Ok(Some(b"1".to_vec())), "{merging:?}");
    assert_eq!(db.get("late"), Ok(late), "{merging:?}");
}

/// A merge operator that panics fails only the calls that need it.
#[test]
fn a_panicking_merge_operator_hangs_nobody() {
    watched("panicking merge operator", 120, || {
        let fs = MemFs::new();
        let mut options = tiny_on(fs.clone());
        options.set_merge_operator_associative("append", |key, existing, operands| {
            assert!(key != b"bad", "planted panic");
            crate::harness::append(key, existing, operands)
        });
        let db = &open(&options, &["default"]);
        db.put("bad", "1").expect("writes");
        db.flush().expect("flushes");
        db.put("good", "1").expect("writes");
        db.merge("bad", "2").expect("a merge is only recorded");
        for _ in 0..2 {
            let read = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| db.get("bad")));
            assert!(!matches!(read, Ok(Ok(_))), "a value came out of a panic");
            assert_eq!(
                db.get("good").expect("readable").as_deref(),
                Some(&b"1"[..])
            );
        }
        // A compaction needs the operator and fails, but nothing hangs.
        let compacted = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| {
            db.try_compact_range_opt(None::<&[u8]>, None::<&[u8]>, &Default::default())
        }));
        assert!(!matches!(compacted, Ok(Ok(()))));
        assert_eq!(
            db.get("good").expect("readable").as_deref(),
            Some(&b"1"[..])
        );
        // The failure may have stopped writes, which then return it.
        let _ = db.put("good", "2");
        let _ = db.wait_for_compact(&Default::default());
        let killed = fs.crash_clone(1.0, 0);
        let db = open(&tiny_on(killed), &["default"]);
        assert_eq!(
            db.get("bad").expect("readable").as_deref(),
            Some(&b"1,2"[..])
        );
    });
}

/// A comparator panics in the middle of a group of other writers.
#[test]
fn a_panicking_comparator_hangs_nobody() {
    watched("panicking comparator", 120, || {
        let armed = Arc::new(AtomicBool::new(false));
        let fs = MemFs::new();
        let mut options = tiny_on(fs);
        let trap = armed.clone();
        options.set_memtable_factory(whitewater::MemtableFactory::SkipList);
        options.set_comparator(
            "trapped",
            Box::new(move |a, b| {
                let bad = a.starts_with(b"bad") || b.starts_with(b"bad");
                assert!(!(bad && trap.load(Ordering::Relaxed)), "planted panic");
                a.cmp(b)
            }),
        );
        let db = &open(&options, &["default"]);
        db.put("first", "1").expect("writes");
        armed.store(true, Ordering::Relaxed);
        thread::scope(|scope| {
            for w in 0..6 {
                scope.spawn(move || {
                    for n in 0..50 {
                        let key = if w == 3 && n == 25 {
                            "bad".into()
                        } else {
                            format!("{w}-{n}")
                        };
                        // The panicking writer fails, and with it, for good, the others, but every
                        // call returns.
                        let written =
                            std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| {
                                db.put(&key, "1")
                            }));
                        if key == "bad" {
                            assert!(!matches!(written, Ok(Ok(()))));
                        }
                    }
                });
            }
        });
        assert!(db.put("later", "1").is_err(), "an insert failed half way");
        assert_eq!(
            db.get("first").expect("readable").as_deref(),
            Some(&b"1"[..])
        );
        armed.store(false, Ordering::Relaxed);
        assert_eq!(db.get("bad").expect("readable"), None);
    });
}
