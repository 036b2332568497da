//! Compaction filters and their factories, through the options that set them.

use crate::harness::{DIR, Db, append, tiny_on, watched};
use std::collections::BTreeSet;
use std::ffi::{CStr, CString};
use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};
use std::sync::{Arc, Mutex, OnceLock, Weak};
use std::time::Duration;
use whitewater::compaction_filter::{CompactionFilter, Decision};
use whitewater::compaction_filter_factory::{CompactionFilterContext, CompactionFilterFactory};
use whitewater::fs::mem::MemFs;
use whitewater::statistics::Ticker;
use whitewater::{
    BottommostLevelCompaction, CompactOptions, DB, DBCompressionType, ErrorKind, IteratorMode,
    Options, properties,
};

/// Removes entries whose value is `x`, and changes `change` to `changed`.
fn letters(_level: u32, _key: &[u8], value: &[u8]) -> Decision {
    match value {
        b"x" => Decision::Remove,
        b"change" => Decision::Change(b"changed"),
        _ => Decision::Keep,
    }
}

fn manual_only(fs: &MemFs) -> Options {
    let mut o = tiny_on(fs.clone());
    o.set_disable_auto_compactions(true);
    o
}

fn compact(db: &DB, bottommost: BottommostLevelCompaction) -> Result<(), whitewater::Error> {
    let mut opts = CompactOptions::default();
    opts.set_bottommost_level_compaction(bottommost);
    db.try_compact_range_opt(None::<&[u8]>, None::<&[u8]>, &opts)
}

fn content(db: &DB) -> Vec<(String, String)> {
    let text = |bytes: Box<[u8]>| String::from_utf8(bytes.into_vec()).unwrap();
    db.iterator(IteratorMode::Start)
        .map(|entry| entry.unwrap())
        .map(|(key, value)| (text(key), text(value)))
        .collect()
}

fn pairs(of: &[(&str, &str)]) -> Vec<(String, String)> {
    let owned = |(k, v): &(&str, &str)| ((*k).to_owned(), (*v).to_owned());
    of.iter().map(owned).collect()
}

#[test]
fn a_filter_removes_and_changes_but_not_in_flushes() {
    let fs = MemFs::new();
    let mut opts = manual_only(&fs);
    opts.enable_statistics();
    opts.set_compaction_filter("letters", letters);
    let db = DB::open(&opts, DIR).unwrap();
    for (key, value) in [("a", "x"), ("b", "change"), ("c", "keep")] {
        db.put(key, value).unwrap();
    }
    db.merge("d", "x").unwrap();
    db.flush().unwrap();
    let all = pairs(&[("a", "x"), ("b", "change"), ("c", "keep"), ("d", "x")]);
    assert_eq!(content(&db), all);
    // The table could be moved, but the filter is called all the same.
    compact(&db, BottommostLevelCompaction::Skip).unwrap();
    let left = pairs(&[("b", "changed"), ("c", "keep"), ("d", "x")]);
    assert_eq!(content(&db), left);
    assert_eq!(opts.get_ticker_count(Ticker::CompactionKeyDropUser), 1);
    // The merged operands are a value now.
    db.compact_range(None::<&[u8]>, None::<&[u8]>);
    assert_eq!(content(&db), left[..2]);
    let log = db
        .property_value(properties::num_files_at_level(0))
        .unwrap();
    assert_eq!(log.as_deref(), Some("0"));
    drop(db);
    let db = DB::open(&opts, DIR).unwrap();
    assert_eq!(content(&db), left[..2]);
}

#[test]
fn the_bottommost_level_is_rewritten_for_a_filter() {
    let fs = MemFs::new();
    let db = DB::open(&manual_only(&fs), DIR).unwrap();
    db.put("a", "x").unwrap();
    db.put("b", "y").unwrap();
    compact(&db, BottommostLevelCompaction::Force).unwrap();
    // Without a filter nothing is rewritten.
    let files = || -> BTreeSet<String> {
        let live = db.live_files().unwrap();
        live.into_iter().map(|f| f.name).collect()
    };
    let before = files();
    compact(&db, BottommostLevelCompaction::IfHaveCompactionFilter).unwrap();
    assert_eq!(files(), before);
    drop(db);
    let mut opts = manual_only(&fs);
    opts.set_compaction_filter("letters", letters);
    let db = DB::open(&opts, DIR).unwrap();
    compact(&db, BottommostLevelCompaction::Skip).unwrap();
    assert_eq!(content(&db), pairs(&[("a", "x"), ("b", "y")]));
    compact(&db, BottommostLevelCompaction::IfHaveCompactionFilter).unwrap();
    assert_eq!(content(&db), pairs(&[("b", "y")]));
}

#[test]
fn older_tables_show_nothing_of_what_a_filter_removed() {
    let fs = MemFs::new();
    let mut opts = manual_only(&fs);
    opts.set_num_levels(4);
    opts.set_level_compaction_dynamic_level_bytes(false);
    let db = DB::open(&opts, DIR).unwrap();
    db.put("a", "old").unwrap();
    db.put("z", "old").unwrap();
    compact(&db, BottommostLevelCompaction::Force).unwrap();
    drop(db);
    // Down one level only: what lies below must stay hidden.
    opts.set_disable_auto_compactions(false);
    opts.set_level_zero_file_num_compaction_trigger(1);
    opts.set_compaction_filter("letters", letters);
    let db = DB::open(&opts, DIR).unwrap();
    db.put("a", "x").unwrap();
    db.put("m", "x").unwrap();
    db.flush().unwrap();
    db.put("a", "x").unwrap();
    db.flush().unwrap();
    db.wait_for_compact(&whitewater::WaitForCompactOptions::default())
        .unwrap();
    assert_ne!(db.get("a").unwrap().as_deref(), Some(&b"old"[..]));
    db.compact_range(None::<&[u8]>, None::<&[u8]>);
    assert_eq!(content(&db), pairs(&[("z", "old")]));
}

#[test]
fn snapshots_do_not_hold_a_filter_back() {
    let fs = MemFs::new();
    let mut opts = manual_only(&fs);
    opts.set_compaction_filter("letters", letters);
    let db = DB::open(&opts, DIR).unwrap();
    db.put("a", "x").unwrap();
    db.put("b", "x").unwrap();
    let snapshot = db.snapshot();
    db.put("b", "new").unwrap();
    db.compact_range(None::<&[u8]>, None::<&[u8]>);
    assert_eq!(snapshot.get("a").unwrap(), None);
    // The filter is called for the newest entry, and only for that.
    assert_eq!(snapshot.get("b").unwrap().as_deref(), Some(&b"x"[..]));
    assert_eq!(db.get("b").unwrap().as_deref(), Some(&b"new"[..]));
}

/// Counts the filters that it makes, and their calls.
struct Counting {
    made: Arc<Mutex<Vec<CompactionFilterContext>>>,
    asked: Arc<AtomicUsize>,
    name: CString,
}

struct Counted(Arc<AtomicUsize>);

impl CompactionFilter for Counted {
    fn filter(&mut self, _: u32, _: &[u8], _: &[u8]) -> Decision {
        self.0.fetch_add(1, Relaxed);
        Decision::Keep
    }
    fn name(&self) -> &CStr {
        c"counted"
    }
}

impl CompactionFilterFactory for Counting {
    type Filter = Counted;
    fn create(&mut self, context: CompactionFilterContext) -> Counted {
        self.made.lock().unwrap().push(context);
        Counted(self.asked.clone())
    }
    fn name(&self) -> &CStr {
        &self.name
    }
}

#[test]
fn a_factory_makes_a_filter_for_each_compaction() {
    let fs = MemFs::new();
    let made = Arc::new(Mutex::new(Vec::new()));
    let asked = Arc::new(AtomicUsize::new(0));
    let mut opts = manual_only(&fs);
    opts.set_compaction_filter_factory(Counting {
        made: made.clone(),
        asked: asked.clone(),
        name: c"counting".to_owned(),
    });
    assert!(format!("{opts:?}").contains("compaction_filter_factory=counting"));
    let db = DB::open(&opts, DIR).unwrap();
    for key in ["a", "b", "c"] {
        db.put(key, "v").unwrap();
        db.flush().unwrap();
    }
    assert_eq!(made.lock().unwrap().len(), 0, "flushes do not ask");
    let mut skip = CompactOptions::default();
    skip.set_bottommost_level_compaction(BottommostLevelCompaction::Skip);
    db.try_compact_range_opt(None::<&[u8]>, None::<&[u8]>, &skip)
        .unwrap();
    assert_eq!(asked.load(Relaxed), 3);
    let whole = CompactionFilterContext {
        is_full_compaction: true,
        is_manual_compaction: true,
    };
    assert_eq!(*made.lock().unwrap(), [whole]);
    // This time a part of the tables: only `b`.
    db.put("b", "w").unwrap();
    db.put("n", "w").unwrap();
    db.flush().unwrap();
    db.put("x", "w").unwrap();
    db.flush().unwrap();
    db.try_compact_range_opt(Some("x"), Some("y"), &skip)
        .unwrap();
    let last = *made.lock().unwrap().last().unwrap();
    assert!(!last.is_full_compaction && last.is_manual_compaction);
}

#[test]
fn a_filter_that_panics_in_the_background_stops_writes_until_the_next_opening() {
    let fs = MemFs::new();
    let mut opts = tiny_on(fs.clone());
    opts.set_level_zero_file_num_compaction_trigger(2);
    opts.set_compaction_filter("angry", |_, key, _| {
        assert_ne!(key, b"key50", "expected by the test");
        Decision::Keep
    });
    let db = DB::open(&opts, DIR).unwrap();
    let mut written = 0;
    // Flushes go on until a compaction has failed.
    let failure = loop {
        let put = db.put(format!("key{:02}", written % 100), written.to_string());
        let flushed = put.and_then(|()| {
            written += 1;
            db.flush()
        });
        if let Err(e) = flushed {
            break e;
        }
    };
    assert_eq!(failure.kind(), ErrorKind::Aborted);
    assert_eq!(failure.severity(), whitewater::Severity::FatalError);
    let text = failure.to_string();
    assert!(
        text.contains("the compaction filter angry panicked") && text.contains("expected by"),
        "{text}"
    );
    assert_eq!(
        db.resume().unwrap_err(),
        failure,
        "not without opening anew"
    );
    assert_eq!(db.put("x", "y").unwrap_err(), failure);
    let newest = |key: usize| {
        (0..written)
            .rfind(|i| i % 100 == key)
            .map(|i| i.to_string())
    };
    let check = |db: &DB| {
        for key in 0..100 {
            let value = db.get(format!("key{key:02}")).unwrap();
            let value = value.map(|v| String::from_utf8(v).unwrap());
            assert_eq!(value, newest(key), "{key}");
        }
    };
    check(&db);
    drop(db);
    let db = DB::open(&tiny_on(fs), DIR).unwrap();
    check(&db);
    db.put("x", "y").unwrap();
    compact(&db, BottommostLevelCompaction::Force).unwrap();
    check(&db);
}

#[test]
fn a_filter_that_panics_fails_the_job_and_leaves_nothing_behind() {
    let fs = MemFs::new();
    let mut opts = manual_only(&fs);
    opts.set_compaction_filter("angry", |_, key, _| {
        assert_ne!(key, b"key500", "expected by the test");
        Decision::Keep
    });
    let db = DB::open(&opts, DIR).unwrap();
    for i in 0..1000 {
        db.put(format!("key{i:03}"), vec![b'v'; 100]).unwrap();
    }
    db.flush().unwrap();
    let tables = || {
        let names = whitewater::fs::Fs::list(&fs, DIR.as_ref()).unwrap();
        let mut tables: Vec<_> = names.into_iter().filter(|n| n.ends_with(".sst")).collect();
        tables.sort();
        tables
    };
    let before = tables();
    let e = compact(&db, BottommostLevelCompaction::Force).unwrap_err();
    assert_eq!(e.kind(), ErrorKind::Aborted);
    assert!(e.to_string().contains("angry"), "{e}");
    assert_eq!(tables(), before);
    assert_eq!(db.iterator(IteratorMode::Start).count(), 1000);
    drop(db);
    let mut opts = manual_only(&fs);
    opts.set_merge_operator_associative("append", append);
    let db = DB::open(&opts, DIR).unwrap();
    compact(&db, BottommostLevelCompaction::Force).unwrap();
    assert_eq!(db.iterator(IteratorMode::Start).count(), 1000);
}

/// A manual compaction waits for another one. Meanwhile the level that level 0 is compacted to
/// changes. Tables that the other compaction moved to the old level are compacted too.
#[test]
fn a_request_finds_what_another_compaction_moved() {
    let (keep, hold, held, remove) = (0, 1, 2, 3);
    let phase = Arc::new(AtomicUsize::new(keep));
    let mut opts = manual_only(&MemFs::new());
    opts.set_num_levels(3);
    opts.set_level_compaction_dynamic_level_bytes(true);
    opts.set_max_bytes_for_level_base(10_000);
    opts.set_level_zero_file_num_compaction_trigger(2);
    opts.set_compression_type(DBCompressionType::None);
    let seen = phase.clone();
    opts.set_compaction_filter("held", move |_, key: &[u8], _: &[u8]| {
        let waits = key == b"a" && seen.compare_exchange(hold, held, Relaxed, Relaxed).is_ok();
        while waits && seen.load(Relaxed) == held {
            std::thread::yield_now();
        }
        match !waits && seen.load(Relaxed) == remove {
            true => Decision::Remove,
            false => Decision::Keep,
        }
    });
    let db = DB::open(&opts, DIR).unwrap();
    let levels = || -> BTreeSet<i32> {
        let live = db.live_files().unwrap();
        live.iter().map(|file| file.level).collect()
    };
    // This is more than the base level may have, so the base level is one higher.
    for n in 0..60 {
        db.put(format!("m{n:02}"), [b'm'; 1_000]).unwrap();
    }
    compact(&db, BottommostLevelCompaction::Skip).unwrap();
    assert_eq!(levels(), BTreeSet::from([2]));
    // The tables overlap, or they would only be moved.
    for value in ["v", "w"] {
        db.put("a", value).unwrap();
        db.flush().unwrap();
    }
    phase.store(hold, Relaxed);
    db.set_options(&[("disable_auto_compactions", "false")])
        .unwrap();
    while phase.load(Relaxed) != held {
        std::thread::yield_now();
    }
    // It goes to level 1. The others do not, as the last level is empty.
    db.delete_file_in_range("m", "n").unwrap();
    assert_eq!(levels(), BTreeSet::from([0]));
    std::thread::scope(|scope| {
        scope.spawn(|| compact(&db, BottommostLevelCompaction::Force).unwrap());
        // Time for the thread to get to where it waits.
        std::thread::sleep(Duration::from_millis(100));
        phase.store(remove, Relaxed);
    });
    assert_eq!(content(&db), []);
    assert_eq!(levels(), BTreeSet::new());
}

/// Other code drops its handle of the database while the filter uses the database. Closing must not
/// wait for the thread that closes.
#[test]
fn a_filter_may_drop_the_last_handle() {
    let (idle, held, let_go) = (0, 1, 2);
    let phase = Arc::new(AtomicUsize::new(idle));
    let handle: Arc<OnceLock<Weak<DB>>> = Arc::default();
    let fs = MemFs::new();
    let mut opts = tiny_on(fs.clone());
    opts.set_manual_wal_flush(true);
    opts.set_level_zero_file_num_compaction_trigger(2);
    let (seen, weak) = (phase.clone(), handle.clone());
    opts.set_compaction_filter("last", move |_, _: &[u8], _: &[u8]| {
        if let Some(db) = weak.get().and_then(Weak::upgrade) {
            seen.store(held, Relaxed);
            while seen.load(Relaxed) == held {
                std::thread::yield_now();
            }
            assert_eq!(Arc::strong_count(&db), 1);
            drop(db);
        }
        Decision::Keep
    });
    let db = Arc::new(DB::open(&opts, DIR).unwrap());
    handle.set(Arc::downgrade(&db)).unwrap();
    for value in ["v", "w"] {
        db.put("a", value).unwrap();
        db.flush().unwrap();
    }
    while phase.load(Relaxed) != held {
        std::thread::yield_now();
    }
    db.put("b", "buffered").unwrap();
    drop(db);
    phase.store(let_go, Relaxed);
    // Another thread closes the database.
    let db = loop {
        match DB::open(&opts, DIR) {
            Err(e) if e.kind() == ErrorKind::IOError => std::thread::yield_now(),
            opened => break opened.unwrap(),
        }
    };
    assert_eq!(content(&db), pairs(&[("a", "w"), ("b", "buffered")]));
}

/// A manual compaction does not rewrite its own output on the last level, unless asked to.
#[test]
fn a_request_asks_a_filter_once_for_each_entry() {
    for (bottommost, first, second) in [
        (BottommostLevelCompaction::Skip, 3, 0),
        (BottommostLevelCompaction::IfHaveCompactionFilter, 3, 3),
        (BottommostLevelCompaction::ForceOptimized, 3, 3),
        (BottommostLevelCompaction::Force, 6, 3),
    ] {
        let asked = Arc::new(AtomicUsize::new(0));
        let mut opts = manual_only(&MemFs::new());
        opts.set_compaction_filter_factory(Counting {
            made: Arc::default(),
            asked: asked.clone(),
            name: c"counting".to_owned(),
        });
        let db = DB::open(&opts, DIR).unwrap();
        for key in ["a", "b", "c"] {
            db.put(key, "v").unwrap();
            db.flush().unwrap();
        }
        compact(&db, bottommost).unwrap();
        assert_eq!(asked.swap(0, Relaxed), first, "{bottommost:?}");
        compact(&db, bottommost).unwrap();
        assert_eq!(asked.swap(0, Relaxed), second, "{bottommost:?}");
        // Next to the tables that lie there, which are older.
        db.put("z", "v").unwrap();
        compact(&db, bottommost).unwrap();
        let third = asked.load(Relaxed);
        let all = bottommost != BottommostLevelCompaction::Skip;
        assert_eq!(
            third,
            if all { second + first / 3 } else { 1 },
            "{bottommost:?}"
        );
    }
}

/// As in RocksDB, unless the request asks for it.
#[test]
fn automatic_compactions_go_on_beside_a_request() {
    watched("a compaction beside a request", 120, || {
        let (idle, held, let_go) = (0, 1, 2);
        let phase = Arc::new(AtomicUsize::new(idle));
        let fs = MemFs::new();
        let mut opts = manual_only(&fs);
        let seen = phase.clone();
        opts.set_compaction_filter("held", move |_, _: &[u8], _: &[u8]| {
            if seen.compare_exchange(idle, held, Relaxed, Relaxed).is_ok() {
                while seen.load(Relaxed) != let_go {
                    std::thread::yield_now();
                }
            }
            Decision::Keep
        });
        let mut beside = tiny_on(fs);
        beside.set_level_zero_file_num_compaction_trigger(2);
        let db = Db::open(&opts, DIR).unwrap();
        db.create_cf("beside", &beside).unwrap();
        db.put("a", "v").unwrap();
        std::thread::scope(|scope| {
            scope.spawn(|| db.compact_range(None::<&[u8]>, None::<&[u8]>));
            while phase.load(Relaxed) != held {
                std::thread::yield_now();
            }
            let cf = db.cf_handle("beside").unwrap();
            for value in ["v", "w"] {
                db.put_cf(&cf, "a", value).unwrap();
                db.flush_cf(&cf).unwrap();
            }
            let level0 = properties::num_files_at_level(0);
            let left = || db.property_value_cf(&cf, &level0).unwrap();
            while left().as_deref() != Some("0") {
                std::thread::yield_now();
            }
            phase.store(let_go, Relaxed);
        });
    });
}
