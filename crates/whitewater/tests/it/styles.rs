//! Compaction styles: what each keeps, where it puts it, and when.

use crate::harness::{DIR, Db, campaign, open_all, set_protocol, tiny_on, views_hold};
use rand::rngs::StdRng;
use rand::{Rng, SeedableRng};
use std::collections::BTreeMap;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, UNIX_EPOCH};
use whitewater::compaction_filter::Decision;
use whitewater::fs::mem::MemFs;
use whitewater::{
    BottommostLevelCompaction, CompactOptions, CompactionPri, DBCompactionStyle, ErrorKind,
    FifoCompactOptions, IteratorMode, Options, ReadOptions, SstFileWriter, UniversalCompactOptions,
    UniversalCompactionStopStyle, WaitForCompactOptions, WriteBatch,
};

type Pairs = BTreeMap<Vec<u8>, Vec<u8>>;

fn key(n: u32) -> Vec<u8> {
    format!("key{n:05}").into_bytes()
}

fn wait(db: &Db) {
    let mut options = WaitForCompactOptions::default();
    options.set_abort_on_pause(true);
    db.wait_for_compact(&options).unwrap();
}

/// Files per level, level 0 first.
fn levels(db: &Db) -> Vec<usize> {
    let mut counts = vec![0; 7];
    for file in db.live_files().unwrap() {
        counts[file.level as usize] += 1;
    }
    counts
}

fn compact_with(db: &Db, options: &CompactOptions) -> Result<(), whitewater::Error> {
    db.try_compact_range_opt(None::<&[u8]>, None::<&[u8]>, options)
}

fn compact(db: &Db) {
    compact_with(db, &CompactOptions::default()).unwrap();
}

/// Options of one style, with text for what has no setter.
fn styled(fs: &MemFs, seed: u64, rng: &mut StdRng) -> (String, Options) {
    let mut o = tiny_on(fs.clone());
    o.set_level_zero_file_num_compaction_trigger(rng.random_range(2..5));
    o.set_max_background_jobs(4);
    let kind = seed % 6;
    let name = match kind {
        0 | 1 => {
            let pri = match rng.random_range(0..5) {
                0 => CompactionPri::ByCompensatedSize,
                1 => CompactionPri::OldestLargestSeqFirst,
                2 => CompactionPri::OldestSmallestSeqFirst,
                3 => CompactionPri::MinOverlappingRatio,
                _ => CompactionPri::RoundRobin,
            };
            o.set_compaction_pri(pri);
            o.set_level_compaction_dynamic_level_bytes(kind == 0);
            o.set_max_bytes_for_level_multiplier_additional(&[1, 2, 1]);
            o.add_compact_on_deletion_collector_factory(128, 20, 0.4);
            format!("level, {pri:?}, dynamic {}", kind == 0)
        }
        2..=4 => {
            let num_levels = [1, 3, 7][kind as usize - 2];
            o.set_compaction_style(DBCompactionStyle::Universal);
            o.set_num_levels(num_levels);
            let mut u = UniversalCompactOptions::default();
            u.set_size_ratio(rng.random_range(0..100));
            u.set_max_size_amplification_percent(rng.random_range(20..400));
            u.set_max_merge_width(rng.random_range(2..6));
            u.set_compression_size_percent(rng.random_range(-1..100));
            if rng.random() {
                u.set_stop_style(UniversalCompactionStopStyle::Similar);
            }
            o.set_universal_compaction_options(&u);
            o.add_compact_on_deletion_collector_factory(128, 20, 0.4);
            if rng.random() {
                let text = "compaction_options_universal={allow_trivial_move=true}";
                o = o.get_options_from_string(text).unwrap();
            }
            format!("universal, {num_levels} levels")
        }
        _ => {
            o.set_compaction_style(DBCompactionStyle::Fifo);
            let text = "compaction_options_fifo={allow_compaction=true}";
            o = o.get_options_from_string(text).unwrap();
            "fifo without a limit that matters".to_owned()
        }
    };
    (name, o)
}

/// A snapshot and what it must show.
struct Frozen<'a> {
    snapshot: whitewater::SnapshotWithThreadMode<'a, Db>,
    pairs: Pairs,
}

fn check(db: &Db, pairs: &Pairs, options: impl Fn() -> ReadOptions, what: &str) {
    let found: Result<Pairs, _> = db
        .iterator_opt(IteratorMode::Start, options())
        .map(|item| item.map(|(k, v)| (k.into_vec(), v.into_vec())))
        .collect();
    assert!(found.unwrap() == *pairs, "{what}: a scan differs");
    for n in (0..400).step_by(7) {
        let found = db.get_opt(key(n), &options()).unwrap();
        assert_eq!(found.as_ref(), pairs.get(&key(n)), "{what}: key {n}");
    }
}

fn check_all(db: &Db, pairs: &Pairs, frozen: &[Frozen<'_>], what: &str) {
    check(db, pairs, ReadOptions::default, what);
    for one in frozen {
        let at = || {
            let mut options = ReadOptions::default();
            options.set_snapshot(&one.snapshot);
            options
        };
        check(db, &one.pairs, at, &format!("{what}, at a snapshot"));
    }
}

fn change(db: &Db, pairs: &mut Pairs, rng: &mut StdRng) {
    let n = rng.random_range(0..400);
    match rng.random_range(0..20) {
        0 => {
            let end = n + rng.random_range(1..60);
            let mut batch = WriteBatch::default();
            batch.delete_range(key(n), key(end));
            db.write(batch).unwrap();
            pairs.retain(|k, _| *k < key(n) || *k >= key(end));
        }
        1..=4 => {
            db.delete(key(n)).unwrap();
            pairs.remove(&key(n));
        }
        5 => {
            db.merge(key(n), b"m").unwrap();
            let value = pairs.entry(key(n)).or_default();
            if !value.is_empty() {
                value.push(b',');
            }
            value.push(b'm');
        }
        _ => {
            let value = vec![rng.random_range(b'a'..=b'z'); rng.random_range(1..600)];
            db.put(key(n), &value).unwrap();
            pairs.insert(key(n), value);
        }
    }
}

#[test]
fn every_style_keeps_what_was_written() {
    if !views_hold() {
        return;
    }
    campaign("every_style_keeps_what_was_written", 60, 12, |seed| {
        let mut rng = StdRng::seed_from_u64(seed);
        let fs = MemFs::new();
        let (name, o) = styled(&fs, seed, &mut rng);
        let mut pairs = Pairs::new();
        for opening in 0..3 {
            let what = format!("{name}, seed {seed}, opening {opening}");
            let db = open_all(&o, Path::new(DIR)).unwrap();
            check(&db, &pairs, ReadOptions::default, &what);
            let mut frozen: Vec<Frozen<'_>> = Vec::new();
            for step in 0..1200 {
                change(&db, &mut pairs, &mut rng);
                match rng.random_range(0..200) {
                    0 | 1 if frozen.len() < 4 => frozen.push(Frozen {
                        snapshot: db.snapshot(),
                        pairs: pairs.clone(),
                    }),
                    2 if !frozen.is_empty() => {
                        frozen.swap_remove(rng.random_range(0..frozen.len()));
                    }
                    3..=8 => db.flush().unwrap(),
                    9 => {
                        let mut options = CompactOptions::default();
                        options.set_exclusive_manual_compaction(rng.random());
                        compact_with(&db, &options).unwrap();
                    }
                    10 => check_all(&db, &pairs, &frozen, &format!("{what}, step {step}")),
                    _ => {}
                }
            }
            db.flush().unwrap();
            wait(&db);
            check_all(&db, &pairs, &frozen, &format!("{what}, compacted"));
            let mut force = CompactOptions::default();
            force.set_bottommost_level_compaction(BottommostLevelCompaction::Force);
            compact_with(&db, &force).unwrap();
            check_all(
                &db,
                &pairs,
                &frozen,
                &format!("{what}, compacted on request"),
            );
            frozen.clear();
            wait(&db);
            check_all(&db, &pairs, &frozen, &format!("{what}, without snapshots"));
        }
    });
}

/// A database with a clock that the test sets, and the clock, in seconds since 1970.
fn clocked(fs: &MemFs, set: impl FnOnce(&mut Options)) -> (Db, Arc<AtomicU64>) {
    let now = Arc::new(AtomicU64::new(1_000_000));
    let mut o = tiny_on(fs.clone());
    let clock = now.clone();
    o.set_clock(move || UNIX_EPOCH + Duration::from_secs(clock.load(Ordering::Relaxed)));
    o.set_level_zero_file_num_compaction_trigger(4);
    set(&mut o);
    (open_all(&o, Path::new(DIR)).unwrap(), now)
}

fn put_and_flush(db: &Db, n: u32) {
    db.put(key(n), [b'v'; 1000]).unwrap();
    db.flush().unwrap();
}

#[test]
fn fifo_deletes_the_oldest_tables() {
    let fs = MemFs::new();
    let (db, now) = clocked(&fs, |o| {
        o.set_compaction_style(DBCompactionStyle::Fifo);
        let mut fifo = FifoCompactOptions::default();
        fifo.set_max_table_files_size(10_000);
        o.set_fifo_compaction_options(&fifo);
        o.set_ttl(100);
    });
    for n in 0..40 {
        put_and_flush(&db, n);
        wait(&db);
    }
    let size: usize = db.live_files().unwrap().iter().map(|f| f.size).sum();
    assert!(size <= 10_000, "{size}");
    let held = |db: &Db| -> Vec<u32> {
        let held = (0..50).filter(|n| db.get(key(*n)).unwrap().is_some());
        held.collect()
    };
    let newest = held(&db);
    assert_eq!(newest.last(), Some(&39));
    assert!(newest.windows(2).all(|w| w[1] == w[0] + 1), "{newest:?}");
    assert_eq!(levels(&db)[0], newest.len());
    // By age: these stay until they are too old.
    now.fetch_add(100, Ordering::Relaxed);
    wait(&db);
    assert_eq!(held(&db), newest);
    put_and_flush(&db, 45);
    now.fetch_add(1, Ordering::Relaxed);
    wait(&db);
    assert_eq!(held(&db), [45]);
    // A manual compaction merges nothing and only deletes.
    put_and_flush(&db, 46);
    compact(&db);
    assert_eq!((held(&db), levels(&db)[0]), (vec![45, 46], 2));
}

/// The tables that were ingested last are deleted last.
#[test]
fn fifo_keeps_what_was_ingested_last() {
    let fs = MemFs::new();
    let (db, _) = clocked(&fs, |o| {
        o.set_compaction_style(DBCompactionStyle::Fifo);
        let mut fifo = FifoCompactOptions::default();
        fifo.set_max_table_files_size(4_000);
        o.set_fifo_compaction_options(&fifo);
    });
    (0..3).for_each(|n| put_and_flush(&db, n));
    let options = tiny_on(fs.clone());
    let mut table = SstFileWriter::create(&options);
    table.open("/outside.sst").unwrap();
    table.put(key(9), [b'v'; 1_000]).unwrap();
    table.finish().unwrap();
    db.ingest_external_file(vec!["/outside.sst"]).unwrap();
    wait(&db);
    let held = |n| db.get(key(n)).unwrap().is_some();
    assert_eq!([0, 2, 9].map(held), [false, true, true]);
    assert_eq!(levels(&db)[1..], [0; 6]);
}

/// Tables that are merged to have fewer of them are as old as the youngest one.
#[test]
fn fifo_waits_for_the_youngest_of_what_it_merged() {
    let fs = MemFs::new();
    let (db, now) = clocked(&fs, |o| {
        o.set_compaction_style(DBCompactionStyle::Fifo);
        o.set_level_zero_file_num_compaction_trigger(2);
        let text = "compaction_options_fifo={allow_compaction=true}";
        *o = o.get_options_from_string(text).unwrap();
        o.set_ttl(100);
    });
    put_and_flush(&db, 1);
    now.fetch_add(95, Ordering::Relaxed);
    put_and_flush(&db, 2);
    wait(&db);
    assert_eq!(levels(&db)[0], 1, "merged");
    let held = |n| db.get(key(n)).unwrap().is_some();
    for (seconds, stays) in [(100, true), (1, false)] {
        now.fetch_add(seconds, Ordering::Relaxed);
        wait(&db);
        assert_eq!([1, 2].map(held), [stays; 2], "{seconds} s");
    }
}

#[test]
fn fifo_with_an_age_needs_all_tables_open() {
    let mut o = tiny_on(MemFs::new());
    o.set_compaction_style(DBCompactionStyle::Fifo);
    o.set_max_open_files(100);
    let e = open_all(&o, Path::new(DIR)).err().unwrap();
    assert_eq!(e.kind(), ErrorKind::NotSupported);
    o.set_ttl(0);
    open_all(&o, Path::new(DIR)).unwrap();
}

#[test]
fn tables_are_compacted_by_age() {
    let fs = MemFs::new();
    let (db, now) = clocked(&fs, |o| {
        o.set_ttl(100);
        o.set_periodic_compaction_seconds(1000);
    });
    put_and_flush(&db, 1);
    compact(&db);
    put_and_flush(&db, 1);
    wait(&db);
    assert_eq!(levels(&db), [1, 0, 0, 0, 0, 0, 1]);
    now.fetch_add(100, Ordering::Relaxed);
    wait(&db);
    assert_eq!(levels(&db), [1, 0, 0, 0, 0, 0, 1]);
    now.fetch_add(1, Ordering::Relaxed);
    wait(&db);
    assert_eq!(levels(&db), [0, 0, 0, 0, 0, 0, 1]);
    let name = |db: &Db| db.live_files().unwrap()[0].name.clone();
    let before = name(&db);
    now.fetch_add(1000, Ordering::Relaxed);
    wait(&db);
    assert_eq!(name(&db), before);
    now.fetch_add(1, Ordering::Relaxed);
    wait(&db);
    assert_ne!(name(&db), before);
}

#[test]
fn universal_merges_everything_by_age() {
    let fs = MemFs::new();
    let (db, now) = clocked(&fs, |o| {
        o.set_compaction_style(DBCompactionStyle::Universal);
        o.set_periodic_compaction_seconds(100);
    });
    put_and_flush(&db, 1);
    put_and_flush(&db, 2);
    wait(&db);
    assert_eq!(levels(&db)[0], 2);
    now.fetch_add(101, Ordering::Relaxed);
    wait(&db);
    assert_eq!(levels(&db), [0, 0, 0, 0, 0, 0, 1]);
}

#[test]
fn a_released_snapshot_lets_go_of_what_it_kept() {
    let fs = MemFs::new();
    let (db, _) = clocked(&fs, |_| {});
    for n in 0..20 {
        db.put(key(n), [b'v'; 1000]).unwrap();
    }
    db.flush().unwrap();
    let snapshot = db.snapshot();
    for n in 0..20 {
        db.delete(key(n)).unwrap();
    }
    db.put(key(30), b"stays").unwrap();
    compact(&db);
    wait(&db);
    let entries = |db: &Db| -> u64 {
        let files = db.live_files().unwrap();
        files.iter().map(|f| f.num_entries).sum()
    };
    assert_eq!(entries(&db), 41);
    assert!(snapshot.get(key(3)).unwrap().is_some());
    drop(snapshot);
    wait(&db);
    assert_eq!(entries(&db), 1);
    // Rewritten once, and then left alone.
    let name = db.live_files().unwrap()[0].name.clone();
    drop(db.snapshot());
    wait(&db);
    assert_eq!(db.live_files().unwrap()[0].name, name);
}

#[test]
fn a_table_of_deletions_is_compacted_at_once() {
    let run = |min_file_size: Option<u64>| {
        let fs = MemFs::new();
        let (db, _) = clocked(&fs, |o| {
            o.set_ttl(0);
            if let Some(size) = min_file_size {
                o.add_compact_on_deletion_collector_factory_min_file_size(128, 10, 0.5, size);
            }
        });
        for n in 0..30 {
            db.put(key(n), b"v").unwrap();
        }
        compact(&db);
        for n in 0..15 {
            db.delete(key(n)).unwrap();
        }
        db.flush().unwrap();
        wait(&db);
        let files = db.live_files().unwrap();
        (levels(&db)[0], files.iter().map(|f| f.num_entries).sum())
    };
    assert_eq!(run(None), (1, 45));
    assert_eq!(run(Some(0)), (0, 15));
    assert_eq!(run(Some(500)), (0, 15));
    assert_eq!(run(Some(100_000)), (1, 45), "a small table is left alone");
}

#[test]
fn the_result_of_a_compaction_can_change_its_level() {
    let fs = MemFs::new();
    let (db, _) = clocked(&fs, |o| {
        o.set_level_compaction_dynamic_level_bytes(false);
    });
    let mut move_to = CompactOptions::default();
    move_to.set_change_level(true);
    move_to.set_target_level(4);
    put_and_flush(&db, 1);
    compact_with(&db, &move_to).unwrap();
    assert_eq!(levels(&db), [0, 0, 0, 0, 1, 0, 0]);
    // The smallest level that is meant to hold it.
    move_to.set_target_level(-1);
    compact_with(&db, &move_to).unwrap();
    assert_eq!(levels(&db), [0, 1, 0, 0, 0, 0, 0]);
    move_to.set_target_level(0);
    compact_with(&db, &move_to).unwrap();
    assert_eq!(levels(&db), [1, 0, 0, 0, 0, 0, 0]);
    move_to.set_target_level(7);
    let e = compact_with(&db, &move_to).unwrap_err();
    assert_eq!(e.kind(), ErrorKind::InvalidArgument);
    assert!(e.to_string().contains("target level 7"), "{e}");
    assert_eq!(db.get(key(1)).unwrap().unwrap().len(), 1000);
    drop(db);
    let (db, _) = clocked(&fs, |_| {});
    assert_eq!(db.get(key(1)).unwrap().unwrap().len(), 1000);
}

#[test]
fn universal_goes_to_the_last_level_on_request() {
    let fs = MemFs::new();
    let universal = |levels: i32| {
        move |o: &mut Options| {
            o.optimize_universal_style_compaction(1 << 20);
            o.set_num_levels(levels);
            o.set_min_write_buffer_number_to_merge(1);
            set_protocol(o);
        }
    };
    let (db, _) = clocked(&fs, universal(7));
    put_and_flush(&db, 1);
    put_and_flush(&db, 1);
    compact(&db);
    assert_eq!(levels(&db), [0, 0, 0, 0, 0, 0, 1]);
    drop(db);
    // A database that uses more levels is not opened.
    let mut o = tiny_on(fs.clone());
    universal(1)(&mut o);
    let e = open_all(&o, Path::new(DIR)).err().unwrap();
    assert_eq!(e.kind(), ErrorKind::InvalidArgument);
    let fs = MemFs::new();
    let (db, _) = clocked(&fs, universal(1));
    put_and_flush(&db, 1);
    put_and_flush(&db, 2);
    db.delete(key(1)).unwrap();
    compact(&db);
    assert_eq!(levels(&db)[0], 1);
    assert_eq!(db.live_files().unwrap()[0].num_entries, 1);
}

#[test]
fn a_style_can_follow_another() {
    let fs = MemFs::new();
    let mut pairs = Pairs::new();
    let mut rng = StdRng::seed_from_u64(7);
    let styles = [
        DBCompactionStyle::Level,
        DBCompactionStyle::Universal,
        DBCompactionStyle::Level,
        DBCompactionStyle::Fifo,
        DBCompactionStyle::Universal,
    ];
    for style in styles {
        let (db, _) = clocked(&fs, |o| o.set_compaction_style(style));
        for _ in 0..800 {
            change(&db, &mut pairs, &mut rng);
        }
        db.flush().unwrap();
        wait(&db);
        check(&db, &pairs, ReadOptions::default, &format!("{style:?}"));
    }
}

/// A family without tables has nothing to move, and nothing to wait for.
#[test]
fn changing_the_level_of_nothing_ends() {
    let mut o = tiny_on(MemFs::new());
    o.set_level_compaction_dynamic_level_bytes(false);
    let db = open_all(&o, Path::new(DIR)).unwrap();
    let mut options = CompactOptions::default();
    options.set_change_level(true);
    options.set_target_level(2);
    compact_with(&db, &options).unwrap();
}

/// The caller gets an error that tables cannot move, and the database goes on.
#[test]
fn a_refused_change_of_level_stops_nothing() {
    let mut o = tiny_on(MemFs::new());
    o.set_disable_auto_compactions(true);
    o.set_level_compaction_dynamic_level_bytes(false);
    let db = open_all(&o, Path::new(DIR)).unwrap();
    for n in 0..400 {
        db.put(key(n), [n as u8; 300]).unwrap();
    }
    compact(&db);
    assert!(levels(&db)[1] > 1, "{:?}", levels(&db));
    let mut options = CompactOptions::default();
    options.set_change_level(true);
    options.set_target_level(0);
    let e = compact_with(&db, &options).unwrap_err();
    assert_eq!(e.kind(), ErrorKind::NotSupported, "{e}");
    db.put(b"more", b"of it").unwrap();
    db.flush().unwrap();
}

/// RocksDB's default with a compaction filter: it sees every entry within 30 days.
#[test]
fn tables_are_compacted_by_age_for_a_filter() {
    const DAY: u64 = 24 * 60 * 60;
    let rewritten = |set: fn(&mut Options)| {
        let (db, now) = clocked(&MemFs::new(), |o| {
            o.set_ttl(0);
            set(o);
        });
        put_and_flush(&db, 1);
        compact(&db);
        let name = |db: &Db| db.live_files().unwrap()[0].name.clone();
        let before = name(&db);
        now.fetch_add(30 * DAY, Ordering::Relaxed);
        wait(&db);
        assert_eq!(name(&db), before);
        now.fetch_add(1, Ordering::Relaxed);
        wait(&db);
        name(&db) != before
    };
    assert!(!rewritten(|_| {}));
    assert!(rewritten(|o| {
        o.set_compaction_filter("keep", |_, _: &[u8], _: &[u8]| Decision::Keep);
    }));
    assert!(!rewritten(|o| {
        o.set_compaction_filter("keep", |_, _: &[u8], _: &[u8]| Decision::Keep);
        o.set_periodic_compaction_seconds(0);
    }));
}
