//! User code that panics in a read: the call fails, and the caller goes on.

use crate::harness::tiny;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use whitewater::fs::mem::MemFs;
use whitewater::{
    BlockBasedOptions, DB, Error, ErrorKind, IteratorMode, Options, ReadOptions, SliceTransform,
    SstFileWriter, WaitForCompactOptions,
};

fn panicked<T>(outcome: Result<T, Error>) {
    let e = outcome.err().expect("an error");
    assert_eq!(e.kind(), ErrorKind::Aborted, "{e}");
    assert!(e.to_string().contains("planted panic"), "{e}");
}

/// Every way to read fails while `trap` is set, and none of them afterwards.
fn reads_fail_while(db: &DB, trap: &AtomicBool) {
    let mut kept = db.raw_iterator();
    kept.seek_to_first();
    trap.store(true, Ordering::Relaxed);
    panicked(db.get("b"));
    panicked(db.get_pinned("b"));
    panicked(db.multi_get(["b"]).remove(0));
    assert!(db.key_may_exist("b"), "nobody knows");
    let mut fresh = db.raw_iterator();
    fresh.seek("b");
    assert!(!fresh.valid());
    panicked(fresh.status());
    trap.store(false, Ordering::Relaxed);
    // The position of its source is unknown, so it has failed for good.
    fresh.seek("b");
    assert!(!fresh.valid());
    panicked(fresh.status());
    fresh.next();
    panicked(fresh.status());
    // An iterator that was not used meanwhile goes on, and so do all other reads.
    kept.next();
    assert_eq!(kept.key(), Some(&b"b"[..]));
    for key in ["a", "b", "c"] {
        assert_eq!(db.get(key).unwrap().as_deref(), Some(key.as_bytes()));
    }
    let mut again = db.raw_iterator();
    again.seek_for_prev("b");
    assert_eq!(again.key(), Some(&b"b"[..]));
    db.put("d", "d").unwrap();
    db.delete("d").unwrap();
}

fn in_memory_and_in_tables(options: &Options, trap: &AtomicBool) {
    let db = DB::open(options, "/db").unwrap();
    for key in ["a", "b", "c"] {
        db.put(key, key).unwrap();
    }
    reads_fail_while(&db, trap);
    db.flush().unwrap();
    reads_fail_while(&db, trap);
    db.compact_range(None::<&[u8]>, None::<&[u8]>);
    reads_fail_while(&db, trap);
}

#[test]
fn a_comparator_that_panics_fails_the_read_and_not_its_caller() {
    let trap = Arc::new(AtomicBool::new(false));
    let armed = trap.clone();
    let mut options = tiny();
    options.set_fs(Arc::new(MemFs::new()));
    options.set_comparator(
        "trapped",
        Box::new(move |a, b| {
            assert!(!armed.load(Ordering::Relaxed), "planted panic");
            a.cmp(b)
        }),
    );
    in_memory_and_in_tables(&options, &trap);
}

/// Reads in vain are weighed against what a compaction would rewrite, which compares keys.
#[test]
fn a_comparator_that_panics_where_levels_are_scored_fails_nothing() {
    let trap = Arc::new(AtomicBool::new(false));
    let armed = trap.clone();
    let mut options = tiny();
    options.set_fs(Arc::new(MemFs::new()));
    options.set_level_zero_file_num_compaction_trigger(20);
    options.set_read_triggered_compaction_threshold(1e-6);
    let hit = Arc::new(AtomicBool::new(false));
    let seen = hit.clone();
    options.set_comparator(
        "trapped",
        Box::new(move |a, b| {
            if armed.load(Ordering::Relaxed) {
                seen.store(true, Ordering::Relaxed);
                panic!("planted panic");
            }
            a.cmp(b)
        }),
    );
    let db = DB::open(&options, "/db").unwrap();
    let fill = |value: &str| {
        for key in ["a", "b", "c"] {
            db.put(key, value).unwrap();
        }
        db.flush().unwrap();
    };
    fill("1");
    db.compact_range(None::<&[u8]>, None::<&[u8]>);
    db.set_options(&[("disable_auto_compactions", "true")])
        .unwrap();
    fill("2");
    fill("3");
    for _ in 0..40_000 {
        assert_eq!(db.iterator(IteratorMode::Start).count(), 3);
    }
    trap.store(true, Ordering::Relaxed);
    db.set_options(&[("disable_auto_compactions", "false")])
        .unwrap();
    trap.store(false, Ordering::Relaxed);
    assert!(hit.load(Ordering::Relaxed), "nothing was compared");
    fill("4");
    assert_eq!(db.get("b").unwrap().as_deref(), Some(&b"4"[..]));
    db.wait_for_compact(&WaitForCompactOptions::default())
        .unwrap();
}

static PREFIX_TRAP: AtomicBool = AtomicBool::new(false);

#[test]
fn a_prefix_extractor_that_panics_fails_the_read_and_not_its_caller() {
    fn prefix(key: &[u8]) -> &[u8] {
        assert!(!PREFIX_TRAP.load(Ordering::Relaxed), "planted panic");
        &key[..1]
    }
    let mut options = tiny();
    options.set_fs(Arc::new(MemFs::new()));
    options.set_prefix_extractor(SliceTransform::create("trapped", prefix, None));
    options.set_memtable_prefix_bloom_ratio(0.1);
    let db = DB::open(&options, "/db").unwrap();
    db.put("b", "b").unwrap();
    let mut iter = db.raw_iterator();
    PREFIX_TRAP.store(true, Ordering::Relaxed);
    let mut read = ReadOptions::default();
    read.set_prefix_same_as_start(true);
    let mut within = db.raw_iterator_opt(read);
    within.seek("b");
    panicked(within.status());
    PREFIX_TRAP.store(false, Ordering::Relaxed);
    iter.seek("b");
    assert_eq!(iter.key(), Some(&b"b"[..]));
    assert_eq!(db.get("b").unwrap().as_deref(), Some(&b"b"[..]));
}

#[test]
fn a_comparator_that_panics_ends_the_table_that_is_made_outside() {
    let trap = Arc::new(AtomicBool::new(false));
    let armed = trap.clone();
    let dir = tempfile::tempdir().unwrap();
    let mut options = Options::default();
    options.set_comparator(
        "trapped",
        Box::new(move |a, b| {
            assert!(!armed.load(Ordering::Relaxed), "planted panic");
            a.cmp(b)
        }),
    );
    let path = dir.path().join("made.sst");
    let mut writer = SstFileWriter::create(&options);
    writer.open(&path).unwrap();
    writer.put("a", "1").unwrap();
    trap.store(true, Ordering::Relaxed);
    panicked(writer.put("b", "2"));
    trap.store(false, Ordering::Relaxed);
    // The content of the file is unknown.
    assert!(writer.put("c", "3").is_err() && writer.finish().is_err());
    assert!(!path.exists());
    writer.open(&path).unwrap();
    writer.put("a", "1").unwrap();
    writer.finish().unwrap();
}

/// Each of the comparisons that a step makes.
#[test]
fn a_comparator_that_panics_fails_a_tailing_iterator_wherever_it_is() {
    let left = Arc::new(AtomicUsize::new(usize::MAX));
    let armed = left.clone();
    let mut options = tiny();
    options.set_fs(Arc::new(MemFs::new()));
    options.set_comparator(
        "trapped",
        Box::new(move |a, b| {
            let left = armed.load(Ordering::Relaxed);
            assert!(left > 0, "planted panic");
            armed.store(left - 1, Ordering::Relaxed);
            a.cmp(b)
        }),
    );
    let db = DB::open(&options, "/db").unwrap();
    db.put("a", "a").unwrap();
    let mut met = 0;
    for comparisons in 0..100 {
        left.store(usize::MAX, Ordering::Relaxed);
        let mut read = ReadOptions::default();
        read.set_tailing(true);
        let mut it = db.raw_iterator_opt(read);
        it.seek("a");
        left.store(comparisons, Ordering::Relaxed);
        it.next();
        assert!(!it.valid());
        match it.status() {
            Ok(()) => break,
            failed => panicked(failed),
        }
        met += 1;
    }
    assert!((2..100).contains(&met), "{met}");
    left.store(usize::MAX, Ordering::Relaxed);
}

#[test]
fn an_order_of_timestamps_that_panics_fails_the_read_and_not_its_caller() {
    let trap = Arc::new(AtomicBool::new(false));
    let armed = trap.clone();
    let split = |key: &[u8]| key.len() - 1;
    let mut options = tiny();
    options.set_fs(Arc::new(MemFs::new()));
    options.set_comparator_with_ts(
        "trapped",
        1,
        Box::new(move |a, b| {
            let ((a, a_time), (b, b_time)) = (a.split_at(split(a)), b.split_at(split(b)));
            a.cmp(b).then(b_time.cmp(a_time))
        }),
        Box::new(move |a, b| {
            assert!(!armed.load(Ordering::Relaxed), "planted panic");
            a.cmp(b)
        }),
        Box::new(move |a, a_has, b, b_has| {
            let end = |key: &[u8], has| if has { split(key) } else { key.len() };
            a[..end(a, a_has)].cmp(&b[..end(b, b_has)])
        }),
    );
    let db = crate::harness::open_all(&options, std::path::Path::new("/db")).unwrap();
    let cf = db.cf_handle("default").unwrap();
    db.put_with_ts("a", [3], "a").unwrap();
    db.increase_full_history_ts_low(&cf, [2]).unwrap();
    let mut read = ReadOptions::default();
    read.set_timestamp([4]);
    assert_eq!(db.get_opt("a", &read).unwrap().as_deref(), Some(&b"a"[..]));
    trap.store(true, Ordering::Relaxed);
    panicked(db.get_opt("a", &read));
    panicked(db.multi_get_opt(["a"], &read).remove(0));
    trap.store(false, Ordering::Relaxed);
    assert_eq!(db.get_opt("a", &read).unwrap().as_deref(), Some(&b"a"[..]));
}

static OLD_PREFIX_TRAP: AtomicBool = AtomicBool::new(false);

/// Memtables and tables keep the one that they were made with.
#[test]
fn a_prefix_extractor_that_is_no_longer_set_may_panic_too() {
    fn prefix(key: &[u8]) -> &[u8] {
        assert!(!OLD_PREFIX_TRAP.load(Ordering::Relaxed), "planted panic");
        &key[..1]
    }
    let mut options = tiny();
    options.set_fs(Arc::new(MemFs::new()));
    options.set_prefix_extractor(SliceTransform::create("trapped", prefix, None));
    options.set_memtable_whole_key_filtering(false);
    options.set_memtable_prefix_bloom_ratio(0.1);
    let mut table = BlockBasedOptions::default();
    table.set_bloom_filter(10.0, false);
    table.set_whole_key_filtering(false);
    options.set_block_based_table_factory(&table);
    for (place, flushed) in [("memtable", false), ("table", true)] {
        let db = DB::open(&options, format!("/{place}")).unwrap();
        db.put("a", "a").unwrap();
        if flushed {
            db.flush().unwrap();
        }
        db.set_options(&[("prefix_extractor", "nullptr")]).unwrap();
        OLD_PREFIX_TRAP.store(true, Ordering::Relaxed);
        panicked(db.get("a"));
        panicked(db.multi_get(["a"]).remove(0));
        assert!(db.key_may_exist("a"), "{place}");
        let mut it = db.raw_iterator();
        it.seek("a");
        assert_eq!(it.key(), Some(&b"a"[..]), "{place}: {:?}", it.status());
        OLD_PREFIX_TRAP.store(false, Ordering::Relaxed);
        assert_eq!(db.get("a").unwrap().as_deref(), Some(&b"a"[..]), "{place}");
    }
}
