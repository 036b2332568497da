//! Compactions in parts that run at the same time.

use crate::harness::{DIR, append, tiny_on};
use rand::rngs::StdRng;
use rand::{Rng, SeedableRng};
use std::collections::HashSet;
use std::path::Path;
use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};
use std::sync::{Arc, Mutex};
use whitewater::compaction_filter::Decision;
use whitewater::fs::Fs;
use whitewater::fs::fault::{Fault, FaultFs, FaultOp, OpSet, PathMatch, Rule, When};
use whitewater::fs::mem::MemFs;
use whitewater::listener::{
    CompactionJobInfo, CompactionJobStats, EventListener, SubcompactionJobInfo,
};
use whitewater::{
    BottommostLevelCompaction, CompactOptions, DB, DBCompactionStyle, DBCompressionType, ErrorKind,
    IteratorMode, Options, UniversalCompactOptions, WaitForCompactOptions, WriteBatch,
};

fn options(fs: impl Fs, parts: u32) -> Options {
    let mut o = tiny_on(fs);
    o.set_disable_auto_compactions(true);
    o.set_target_file_size_base(4 << 10);
    o.set_compression_type(DBCompressionType::None);
    o.set_max_subcompactions(parts);
    o
}

fn key(n: u32) -> String {
    format!("key{n:05}")
}

/// Several level-0 tables with entries of every kind.
fn fill(db: &DB, seed: u64) {
    let mut rng = StdRng::seed_from_u64(seed);
    for _ in 0..5 {
        for _ in 0..400 {
            let n = rng.random_range(0..1500);
            let value = "v".repeat(rng.random_range(1..60));
            match rng.random_range(0..20) {
                0 => {
                    let mut batch = WriteBatch::default();
                    batch.delete_range(key(n), key(n + rng.random_range(1..200)));
                    db.write(batch).unwrap();
                }
                1..4 => db.delete(key(n)).unwrap(),
                4..7 => db.merge(key(n), value).unwrap(),
                _ => db.put(key(n), value).unwrap(),
            }
        }
        db.flush().unwrap();
    }
}

/// From level 0 to the last level. Nothing else is compacted.
fn compact(db: &DB) -> Result<(), whitewater::Error> {
    let mut opts = CompactOptions::default();
    opts.set_bottommost_level_compaction(BottommostLevelCompaction::Skip);
    db.try_compact_range_opt(None::<&[u8]>, None::<&[u8]>, &opts)
}

type Content = Vec<(Box<[u8]>, Box<[u8]>)>;

fn content(db: &DB) -> Content {
    let all = db.iterator(IteratorMode::Start);
    all.map(|entry| entry.unwrap()).collect()
}

fn tables(fs: &MemFs) -> Vec<String> {
    let names = fs.list(Path::new(DIR)).unwrap();
    let mut tables: Vec<_> = names.into_iter().filter(|n| n.ends_with(".sst")).collect();
    tables.sort();
    tables
}

/// The number of parts that ran at the same time in each compaction so far, from the info log.
fn parts_logged(fs: &MemFs) -> Vec<usize> {
    let log = whitewater::fs::read_file(fs, &Path::new(DIR).join("LOG"), 1 << 30).unwrap();
    let log = String::from_utf8(log).unwrap();
    let parts = |line: &str| {
        line.split(" in ")
            .nth(1)?
            .split(" parts")
            .next()?
            .parse()
            .ok()
    };
    (log.lines().filter(|l| l.contains("Compacted")))
        .filter_map(parts)
        .collect()
}

#[test]
fn parts_make_what_one_run_makes() {
    for seed in 0..6 {
        let base = MemFs::new();
        let db = DB::open(&options(base.clone(), 1), DIR).unwrap();
        fill(&db, seed);
        let expected = content(&db);
        drop(db);
        for parts in [1, 2, 5, 64] {
            let fs = base.crash_clone(1.0, 0);
            let db = DB::open(&options(fs.clone(), parts), DIR).unwrap();
            let snapshot = db.snapshot();
            db.delete(key(3)).unwrap();
            db.flush().unwrap();
            compact(&db).unwrap();
            let at = |n| parts_logged(&fs).into_iter().max().unwrap_or(1) >= n;
            assert!(at(parts.min(4) as usize), "{:?}", parts_logged(&fs));
            let seen: Content = (snapshot.iterator(IteratorMode::Start))
                .map(|entry| entry.unwrap())
                .collect();
            assert_eq!(seen, expected, "seed {seed}, {parts} parts");
            let live = db.live_files().unwrap();
            // No two tables share a key.
            let mut ranges: Vec<_> = (live.into_iter())
                .map(|f| (f.start_key.unwrap(), f.end_key.unwrap()))
                .collect();
            ranges.sort();
            assert!(ranges.windows(2).all(|w| w[0].1 <= w[1].0));
            drop(snapshot);
            db.put(key(2000), "last").unwrap();
            db.flush().unwrap();
            db.put(key(0), "first").unwrap();
            db.flush().unwrap();
            db.delete(key(2000)).unwrap();
            db.delete(key(0)).unwrap();
            compact(&db).unwrap();
            drop(db);
            let db = DB::open(&options(fs.clone(), parts), DIR).unwrap();
            let mut left = expected.clone();
            left.retain(|(k, _)| ![key(0), key(3)].iter().any(|gone| **k == *gone.as_bytes()));
            assert_eq!(content(&db), left);
            let live = db.live_files().unwrap();
            let entries: u64 = live.iter().map(|f| f.num_entries).sum();
            assert_eq!(entries, left.len() as u64, "nothing dead is left");
        }
    }
}

/// What the options of [`universal`] merge automatically: runs of similar size, so that some go
/// above the oldest one.
#[test]
fn universal_compactions_are_cut_below_level_0() {
    for seed in 0..3 {
        let mut expected = None;
        for parts in [1, 4] {
            let fs = MemFs::new();
            let db = DB::open(&universal(fs.clone(), parts), DIR).unwrap();
            // The oldest run, which is larger than all that follow.
            for n in 0..6000 {
                db.put(key(n), "v".repeat(60)).unwrap();
            }
            db.compact_range(None::<&[u8]>, None::<&[u8]>);
            let oldest = parts_logged(&fs).len();
            let snapshot = db.snapshot();
            fill(&db, seed);
            db.wait_for_compact(&WaitForCompactOptions::default())
                .unwrap();
            let automatic = &parts_logged(&fs)[oldest..];
            if parts > 1 {
                assert!(automatic.iter().any(|&n| n > 1), "{automatic:?}");
            } else {
                assert!(automatic.iter().all(|&n| n == 1), "{automatic:?}");
            }
            let live = db.live_files().unwrap();
            let mut levels: Vec<_> = live.iter().map(|f| f.level).collect();
            levels.sort_unstable();
            levels.dedup();
            assert!(levels.iter().any(|l| (1..6).contains(l)), "{levels:?}");
            let now = content(&db);
            assert_eq!(snapshot.iterator(IteratorMode::Start).count(), 6000);
            assert_eq!(*expected.get_or_insert_with(|| now.clone()), now);
            drop(snapshot);
            db.compact_range(None::<&[u8]>, None::<&[u8]>);
            assert_eq!(content(&db), now);
            let entries: u64 = db.live_files().unwrap().iter().map(|f| f.num_entries).sum();
            assert_eq!(entries, now.len() as u64, "nothing dead is left");
            drop(db);
            let db = DB::open(&universal(fs, parts), DIR).unwrap();
            assert_eq!(content(&db), now);
        }
    }
}

fn universal(fs: impl Fs, parts: u32) -> Options {
    let mut o = options(fs, parts);
    o.set_disable_auto_compactions(false);
    o.set_compaction_style(DBCompactionStyle::Universal);
    o.set_level_zero_file_num_compaction_trigger(3);
    let mut universal = UniversalCompactOptions::default();
    universal.set_max_size_amplification_percent(10_000);
    universal.set_size_ratio(100);
    o.set_universal_compaction_options(&universal);
    o
}

/// Writes down the events of parts, and the ends of whole compactions.
#[derive(Default)]
struct Told {
    parts: Mutex<Vec<(bool, SubcompactionJobInfo)>>,
    compactions: Mutex<Vec<(CompactionJobInfo, usize)>>,
}

impl EventListener for Told {
    fn on_subcompaction_begin(&self, info: &SubcompactionJobInfo) {
        assert_eq!(info.stats, Default::default());
        self.parts.lock().unwrap().push((true, info.clone()));
    }
    fn on_subcompaction_completed(&self, info: &SubcompactionJobInfo) {
        self.parts.lock().unwrap().push((false, info.clone()));
    }
    fn on_compaction_completed(&self, info: &CompactionJobInfo) {
        let before = self.parts.lock().unwrap().len();
        self.compactions
            .lock()
            .unwrap()
            .push((info.clone(), before));
    }
}

#[test]
fn listeners_are_told_of_each_part() {
    let told = Arc::new(Told::default());
    let faulty = FaultFs::new(Arc::new(MemFs::new()));
    let mut opts = options(faulty.clone(), 4);
    opts.add_event_listener(told.clone());
    let db = DB::open(&opts, DIR).unwrap();
    fill(&db, 1);
    faulty.add_rule(Rule {
        ops: OpSet::of(&[FaultOp::Sync]),
        path: PathMatch::EndsWith(".sst".into()),
        when: When::Nth(1),
        fault: Fault::Eio,
        sticky: false,
    });
    compact(&db).unwrap_err();
    faulty.clear_rules();
    compact(&db).unwrap();
    drop(db);

    let (parts, compactions) = (told.parts.lock().unwrap(), told.compactions.lock().unwrap());
    let outcomes: Vec<_> = compactions.iter().map(|(c, _)| c.status.is_ok()).collect();
    assert_eq!(outcomes[..2], [false, true]);
    let mut failed = 0;
    for (whole, before) in compactions.iter() {
        let of: Vec<_> = (parts.iter().zip(0..))
            .filter(|((_, part), _)| part.job_id == whole.job_id)
            .collect();
        assert!(of.iter().all(|(_, at)| at < before), "told before the end");
        let numbers = |begun| {
            let mut numbers: Vec<_> = (of.iter())
                .filter(|((b, _), _)| *b == begun)
                .map(|((_, part), _)| part.subcompaction_job_id)
                .collect();
            numbers.sort_unstable();
            numbers
        };
        let all: Vec<usize> = (0..of.len() / 2).collect();
        assert_eq!((numbers(true), numbers(false)), (all.clone(), all));
        let ended = || {
            of.iter()
                .filter(|((begun, _), _)| !begun)
                .map(|((_, p), _)| p)
        };
        failed += ended().filter(|part| part.status.is_err()).count();
        if whole.status.is_err() {
            continue;
        }
        assert!(of.len() >= 2 * 2, "parts of {whole:?}");
        if cfg!(target_os = "linux") {
            let threads: HashSet<u64> = ended().map(|part| part.thread_id).collect();
            // Each part has a thread of its own, and none is the thread that tells.
            assert_eq!(threads.len(), of.len() / 2);
            assert!(!threads.contains(&0));
        }
        assert_eq!(ended().count() as u64, whole.stats.num_subcompactions);
        let sum = |of: fn(&CompactionJobStats) -> u64| ended().map(|p| of(&p.stats)).sum::<u64>();
        assert_eq!(sum(|s| s.num_input_records), whole.stats.num_input_records);
        assert_eq!(
            sum(|s| s.num_output_records),
            whole.stats.num_output_records
        );
        assert_eq!(sum(|s| s.num_output_files), whole.stats.num_output_files);
        assert_eq!(
            sum(|s| s.total_output_bytes),
            whole.stats.total_output_bytes
        );
        assert!(ended().all(|p| p.output_level == whole.output_level
            && p.compaction_reason == "ManualCompaction"
            && p.base_input_level == whole.base_input_level));
    }
    assert!(failed >= 1);
}

#[test]
fn a_part_that_fails_leaves_no_tables_of_any() {
    let mem = MemFs::new();
    let faulty = FaultFs::new(Arc::new(mem.clone()));
    let db = DB::open(&options(faulty.clone(), 4), DIR).unwrap();
    for _ in 0..2 {
        for n in 0..1000 {
            db.put(key(n), "v".repeat(50)).unwrap();
        }
        db.flush().unwrap();
    }
    let (before, expected) = (tables(&mem), content(&db));
    for n in [1, 3, 6, 9] {
        faulty.add_rule(Rule {
            ops: OpSet::of(&[FaultOp::Sync]),
            path: PathMatch::EndsWith(".sst".into()),
            when: When::Nth(n),
            fault: Fault::Eio,
            sticky: false,
        });
        let e = compact(&db).unwrap_err();
        assert_eq!(e.kind(), ErrorKind::IOError);
        faulty.clear_rules();
        assert_eq!(tables(&mem), before);
        assert_eq!(content(&db), expected);
    }
    compact(&db).unwrap();
    assert_eq!(content(&db), expected);
}

#[test]
fn each_part_has_a_filter_and_a_panic_ends_all() {
    let mem = MemFs::new();
    let asked = Arc::new(AtomicUsize::new(0));
    let mut opts = options(mem.clone(), 4);
    opts.set_compaction_filter("odd", {
        let asked = asked.clone();
        move |_, key, _| {
            asked.fetch_add(1, Relaxed);
            assert_ne!(key, b"key00700", "expected by the test");
            Decision::Keep
        }
    });
    let db = DB::open(&opts, DIR).unwrap();
    for n in 0..1000 {
        db.put(key(n), "v".repeat(50)).unwrap();
    }
    db.flush().unwrap();
    let before = tables(&mem);
    let e = compact(&db).unwrap_err();
    assert_eq!(e.kind(), ErrorKind::Aborted);
    assert_eq!(tables(&mem), before);
    assert!(asked.load(Relaxed) > 0);
    drop(db);
    let mut opts = options(mem.clone(), 4);
    opts.set_merge_operator_associative("append", append);
    let db = DB::open(&opts, DIR).unwrap();
    compact(&db).unwrap();
    assert_eq!(content(&db).len(), 1000);
}

#[test]
fn closing_ends_all_parts_soon() {
    let keys = 40_000;
    let mem = MemFs::new();
    let asked = Arc::new(AtomicUsize::new(0));
    let (started, has_started) = std::sync::mpsc::channel();
    let (go_on, may_go_on) = std::sync::mpsc::channel();
    let mut opts = options(mem.clone(), 4);
    opts.set_write_buffer_size(16 << 20);
    opts.set_compaction_filter("slow", {
        let asked = asked.clone();
        move |_, _, _| {
            if asked.fetch_add(1, Relaxed) == 0 {
                started.send(()).unwrap();
                may_go_on.recv().unwrap();
            }
            // Nothing is written, so only the reading can be stopped.
            Decision::Remove
        }
    });
    let db = DB::open(&opts, DIR).unwrap();
    for n in 0..keys {
        db.put(key(n), "v".repeat(50)).unwrap();
    }
    db.flush().unwrap();
    let before = tables(&mem);
    std::thread::scope(|scope| {
        let compaction = scope.spawn(|| compact(&db));
        has_started.recv().unwrap();
        db.cancel_all_background_work(false);
        go_on.send(()).unwrap();
        let e = compaction.join().unwrap().unwrap_err();
        assert_eq!(e.kind(), ErrorKind::ShutdownInProgress);
    });
    let asked = asked.load(Relaxed);
    assert!(asked < 4 * 1100, "{asked} of {keys}");
    assert_eq!(tables(&mem), before);
    drop(db);
    let db = DB::open(&options(mem, 4), DIR).unwrap();
    assert_eq!(content(&db).len(), keys as usize);
}
