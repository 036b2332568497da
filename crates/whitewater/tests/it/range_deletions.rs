//! What range deletions cost readers: the number of entries read and skipped, never the time.

use crate::harness::counting::CountingFs;
use crate::harness::{DIR, Db, open_all, tiny_on};
use std::path::Path;
use whitewater::fs::mem::MemFs;
use whitewater::perf::set_perf_stats;
use whitewater::{
    CompactOptions, DBCompressionType, DBRawIteratorWithThreadMode, ErrorKind, Options,
    PerfContext, PerfMetric, PerfStatsLevel, ReadOptions, WriteBatch,
};

type Iter<'a> = DBRawIteratorWithThreadMode<'a, Db>;

fn options(fs: &CountingFs) -> Options {
    let mut o = tiny_on(fs.clone());
    o.set_compression_type(DBCompressionType::None);
    o.set_disable_auto_compactions(true);
    o.set_level_zero_file_num_compaction_trigger(100);
    o
}

fn key(n: u32) -> String {
    format!("{n:06}")
}

fn delete_range(db: &Db, from: u32, to: u32) {
    let mut batch = WriteBatch::default();
    batch.delete_range(key(from), key(to));
    db.write(batch).expect("writes");
}

/// A database whose last level has the keys below `keys`.
fn filled(o: &Options, keys: u32) -> Db {
    let db = open_all(o, Path::new(DIR)).expect("opens");
    for n in 0..keys {
        db.put(key(n), [n as u8; 100]).expect("writes");
    }
    db.flush().expect("flushes");
    db.compact_range_opt(None::<&[u8]>, None::<&[u8]>, &CompactOptions::default());
    db
}

/// What `work` counts, from 0.
fn counted(work: impl FnOnce()) -> PerfContext {
    let mut context = PerfContext::default();
    context.reset();
    set_perf_stats(PerfStatsLevel::EnableCount);
    work();
    set_perf_stats(PerfStatsLevel::Disable);
    context
}

/// Internal keys that were skipped.
fn passed(context: &PerfContext) -> u64 {
    let metrics = [
        PerfMetric::InternalDeleteSkippedCount,
        PerfMetric::InternalKeySkippedCount,
        PerfMetric::InternalRecentSkippedCount,
        PerfMetric::NextOnMemtableCount,
        PerfMetric::PrevOnMemtableCount,
    ];
    metrics.map(|metric| context.metric(metric)).iter().sum()
}

/// An iterator that fails if it looks at more than one key that is not shown.
fn strict(db: &Db) -> Iter<'_> {
    let mut options = ReadOptions::default();
    options.set_max_skippable_internal_keys(1);
    db.raw_iterator_opt(options)
}

/// Seeks into the deleted range `1000..19000`, from both sides.
fn assert_jumps(db: &Db, fs: &CountingFs, when: &str) {
    let (bytes, opens) = fs.during(|| {
        let context = counted(|| {
            let mut it = strict(db);
            it.seek(key(1000));
            assert_eq!(it.key(), Some(key(19_000).as_bytes()), "{when}");
            it.prev();
            assert_eq!(it.key(), Some(key(999).as_bytes()), "{when}");
            it.next();
            assert_eq!(it.key(), Some(key(19_000).as_bytes()), "{when}");
            it.seek_for_prev(key(18_999));
            assert_eq!(it.key(), Some(key(999).as_bytes()), "{when}");
            it.status().expect("no limit was met");
        });
        assert!(passed(&context) < 20, "{when}: {}", passed(&context));
    });
    // Of more than two million: the metadata of some tables, and a block of each.
    assert!(bytes < 256 << 10, "{when}: {bytes} bytes read");
    assert!(opens < 16, "{when}: {opens} tables opened");
}

#[test]
fn covered_keys_are_jumped_over_wherever_the_range_deletion_is() {
    let fs = CountingFs::new(MemFs::new());
    let mut o = options(&fs);
    o.set_max_open_files(5);
    let db = filled(&o, 20_000);
    // More than `assert_jumps` lets an iterator open. The number depends on when memtables switch.
    let tables = db.live_files().expect("lists").len();
    assert!(tables > 16, "{tables}");
    let kept = db.snapshot();
    delete_range(&db, 1000, 19_000);
    assert_jumps(&db, &fs, "in the memtable");
    db.flush().expect("flushes");
    assert_jumps(&db, &fs, "in a table of level 0");
    let mut down = CompactOptions::default();
    down.set_change_level(true);
    down.set_target_level(2);
    // A table of its own, in which only the range deletion overlaps the others.
    db.compact_range_opt(None::<&[u8]>, None::<&[u8]>, &down);
    assert_eq!(db.iterator(whitewater::IteratorMode::Start).count(), 2000);
    drop(kept);
}

/// Two thousand adjacent range deletions, and one that covers half of them and more.
#[test]
fn many_range_deletions_are_passed_together() {
    let fs = CountingFs::new(MemFs::new());
    let db = filled(&options(&fs), 20_000);
    for n in 1000..3000 {
        delete_range(&db, n, n + 1);
    }
    delete_range(&db, 2000, 19_000);
    assert_jumps(&db, &fs, "in the memtable");
    db.flush().expect("flushes");
    assert_jumps(&db, &fs, "in a table");
    db.put(key(2000), "again").expect("writes");
    let mut it = strict(&db);
    it.seek(key(1000));
    assert_eq!(it.key(), Some(key(2000).as_bytes()));
    it.next();
    assert_eq!(it.key(), Some(key(19_000).as_bytes()));
    it.prev();
    assert_eq!(it.key(), Some(key(2000).as_bytes()));
    it.prev();
    assert_eq!(it.key(), Some(key(999).as_bytes()));
}

/// Bounds and prefixes end a walk within the deleted range.
#[test]
fn a_walk_ends_at_its_bounds_though_they_are_covered() {
    let fs = CountingFs::new(MemFs::new());
    let db = filled(&options(&fs), 20_000);
    delete_range(&db, 1000, 19_000);
    let (bytes, _) = fs.during(|| {
        for (from, to) in [(900, 5000), (1000, 5000), (18_000, 19_100), (2000, 3000)] {
            let shown = (from..to).filter(|n| !(1000..19_000).contains(n));
            let shown: Vec<_> = shown.map(key).collect();
            for forward in [true, false] {
                let mut options = ReadOptions::default();
                options.set_iterate_lower_bound(key(from));
                options.set_iterate_upper_bound(key(to));
                options.set_max_skippable_internal_keys(1);
                let mut it = db.raw_iterator_opt(options);
                let mut found = Vec::new();
                if forward {
                    it.seek_to_first()
                } else {
                    it.seek_to_last()
                }
                while let Some(key) = it.key() {
                    found.push(String::from_utf8_lossy(key).into_owned());
                    if forward { it.next() } else { it.prev() }
                }
                it.status().expect("no limit was met");
                if !forward {
                    found.reverse();
                }
                assert_eq!(found, shown, "{from} to {to}, {forward}");
            }
        }
    });
    assert!(bytes < 512 << 10, "{bytes} bytes read");
}

/// A range deletion in the same source as the keys is no reason to fail, either.
#[test]
fn covered_keys_do_not_count_as_skipped() {
    let fs = CountingFs::new(MemFs::new());
    let db = open_all(&options(&fs), Path::new(DIR)).expect("opens");
    for n in 0..300 {
        db.put(key(n), "v").expect("writes");
    }
    delete_range(&db, 100, 200);
    let mut it = strict(&db);
    it.seek(key(100));
    assert_eq!(it.key(), Some(key(200).as_bytes()));
    it.prev();
    assert_eq!(it.key(), Some(key(99).as_bytes()), "{:?}", it.status());
    // Deletions of single keys are.
    for n in 0..10 {
        db.delete(key(n)).expect("writes");
    }
    let mut it = strict(&db);
    it.seek_to_first();
    let e = it.status().expect_err("more than one is skipped");
    assert_eq!(e.kind(), ErrorKind::Incomplete);
}
