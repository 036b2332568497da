//! What threads measure of their own calls.

use crate::harness::set_protocol;
use tempfile::TempDir;
use whitewater::perf::set_perf_stats;
use whitewater::{
    BlockBasedOptions, Cache, CompactOptions, DB, MergeOperands, Options, PerfContext, PerfMetric,
    PerfStatsLevel, WriteOptions,
};

/// Measures `calls` at `level`, from 0.
fn measured(level: PerfStatsLevel, calls: impl FnOnce()) -> PerfContext {
    let mut context = PerfContext::default();
    context.reset();
    set_perf_stats(level);
    calls();
    set_perf_stats(PerfStatsLevel::Disable);
    context
}

fn counted(calls: impl FnOnce()) -> PerfContext {
    measured(PerfStatsLevel::EnableCount, calls)
}

fn open(change: impl FnOnce(&mut Options)) -> (TempDir, DB) {
    let dir = tempfile::tempdir().unwrap();
    let mut opts = Options::default();
    opts.create_if_missing(true);
    set_protocol(&mut opts);
    change(&mut opts);
    let db = DB::open(&opts, dir.path()).unwrap();
    (dir, db)
}

fn values<const N: usize>(context: &PerfContext, metrics: [PerfMetric; N]) -> [u64; N] {
    metrics.map(|metric| context.metric(metric))
}

#[test]
fn look_ups_count_where_they_looked() {
    use PerfMetric::*;
    let (_dir, db) = open(|opts| {
        let mut table = BlockBasedOptions::default();
        table.set_bloom_filter(20.0, false);
        table.set_block_cache(&Cache::new_lru_cache(1 << 20));
        opts.set_block_based_table_factory(&table);
    });
    db.put(b"a", b"1").unwrap();
    db.put(b"old", b"12345").unwrap();
    db.flush().unwrap();
    db.put(b"new", b"123").unwrap();
    let of = [
        GetFromMemtableCount,
        GetReadBytes,
        BloomSstHitCount,
        BloomSstMissCount,
        BlockReadCount,
        BlockCacheHitCount,
    ];

    let context = counted(|| assert!(db.get(b"new").unwrap().is_some()));
    assert_eq!(values(&context, of), [1, 3, 0, 0, 0, 0]);
    // Opening the table reads its parts, so it is opened first.
    assert!(db.get(b"old").unwrap().is_some());
    let context = counted(|| assert!(db.get(b"old").unwrap().is_some()));
    assert_eq!(values(&context, of), [1, 5, 1, 0, 0, 1]);
    let context = counted(|| assert!(db.get(b"nil").unwrap().is_none()));
    assert_eq!(values(&context, of), [1, 0, 0, 1, 0, 0]);
    let context = counted(|| {
        let found = db.multi_get([b"old", b"new", b"nil"]);
        assert_eq!(found.iter().flatten().flatten().count(), 2);
    });
    assert_eq!(values(&context, of), [3, 0, 1, 1, 0, 1]);
    assert_eq!(context.metric(MultigetReadBytes), 8);
    assert_eq!(context.metric(GetFromMemtableTime), 0, "only counts");
}

#[test]
fn blocks_that_are_read_are_counted_and_timed() {
    use PerfMetric::*;
    let (_dir, db) = open(|opts| {
        let mut table = BlockBasedOptions::default();
        table.disable_cache();
        opts.set_block_based_table_factory(&table);
        opts.set_compression_type(whitewater::DBCompressionType::Lz4);
    });
    db.put(b"k", vec![7; 100_000]).unwrap();
    db.flush().unwrap();
    assert!(db.get(b"k").unwrap().is_some());
    let context = measured(PerfStatsLevel::EnableTime, || {
        assert_eq!(db.get(b"k").unwrap().unwrap().len(), 100_000);
    });
    assert_eq!(
        values(&context, [BlockReadCount, BlockCacheHitCount]),
        [1, 0]
    );
    let bytes = context.metric(BlockReadByte);
    assert!(bytes > 0 && bytes < 100_000, "compressed: {bytes}");
    for metric in [
        BlockReadTime,
        BlockDecompressTime,
        NewTableBlockIterNanos,
        GetFromOutputFilesTime,
    ] {
        assert!(context.metric(metric) > 0, "{metric:?}");
    }
}

#[test]
fn iterators_count_what_they_pass() {
    use PerfMetric::*;
    let (_dir, db) = open(|_| {});
    // In a table, and below a memtable, so that sources are merged.
    for key in [b"a", b"b", b"c", b"d"] {
        db.put(key, b"1").unwrap();
    }
    db.flush().unwrap();
    db.delete(b"b").unwrap();
    db.put(b"c", b"22").unwrap();
    let scan = || {
        let mut iterator = db.raw_iterator();
        iterator.seek_to_first();
        let mut keys = Vec::new();
        while let Some(key) = iterator.key() {
            keys.push(key.to_vec());
            iterator.next();
        }
        iterator.status().unwrap();
        assert_eq!(keys, [b"a", b"c", b"d"]);
    };
    let context = counted(scan);
    assert_eq!(
        values(
            &context,
            [
                InternalDeleteSkippedCount,
                InternalKeySkippedCount,
                InternalRecentSkippedCount,
                IterReadBytes,
                SeekOnMemtableCount,
                SeekChildSeekCount,
            ]
        ),
        [1, 2, 0, 7, 1, 2]
    );
    assert_eq!(
        values(&context, [NextOnMemtableCount, PrevOnMemtableCount]),
        [2, 0]
    );

    let snapshot = db.snapshot();
    db.put(b"a", b"newer").unwrap();
    let context = counted(|| {
        let mut iterator = snapshot.raw_iterator();
        iterator.seek_to_first();
        assert_eq!(iterator.value(), Some(&b"1"[..]));
    });
    assert_eq!(context.metric(InternalRecentSkippedCount), 1);

    let context = measured(PerfStatsLevel::EnableTime, || {
        let mut iterator = db.raw_iterator();
        iterator.seek_to_last();
        iterator.prev();
        assert_eq!(iterator.key(), Some(&b"c"[..]));
    });
    for metric in [
        SeekInternalSeekTime,
        SeekChildSeekTime,
        FindNextUserEntryTime,
    ] {
        assert!(context.metric(metric) > 0, "{metric:?}");
    }
}

#[test]
fn an_iterator_over_one_memtable_counts_its_movements() {
    use PerfMetric::*;
    let (_dir, db) = open(|_| {});
    for key in [b"a", b"b", b"c"] {
        db.put(key, b"1").unwrap();
    }
    let context = counted(|| {
        let mut iterator = db.raw_iterator();
        iterator.seek(b"b");
        iterator.next();
        iterator.prev();
        iterator.prev();
        assert_eq!(iterator.key(), Some(&b"a"[..]));
    });
    assert_eq!(
        values(
            &context,
            [
                SeekOnMemtableCount,
                SeekChildSeekCount,
                NextOnMemtableCount,
                PrevOnMemtableCount,
                IterReadBytes
            ]
        ),
        [1, 0, 1, 2, 8]
    );
}

#[test]
fn merges_are_counted() {
    let append = |_: &[u8], existing: Option<&[u8]>, operands: &MergeOperands| {
        let mut all = existing.unwrap_or_default().to_vec();
        operands.iter().for_each(|o| all.extend_from_slice(o));
        Some(all)
    };
    let (_dir, db) = open(|opts| opts.set_merge_operator_associative("append", append));
    for operand in [b"x", b"y", b"z"] {
        db.merge(b"k", operand).unwrap();
    }
    let context = measured(PerfStatsLevel::EnableTime, || {
        assert_eq!(db.get(b"k").unwrap().unwrap(), b"xyz");
    });
    assert_eq!(context.metric(PerfMetric::InternalMergeCount), 3);
    assert!(context.metric(PerfMetric::MergeOperatorTimeNanos) > 0);
}

#[test]
fn memtable_filters_are_counted() {
    let (_dir, db) = open(|opts| {
        opts.set_memtable_prefix_bloom_ratio(0.1);
        opts.set_memtable_whole_key_filtering(true);
    });
    db.put(b"k", b"v").unwrap();
    let context = counted(|| {
        assert!(db.get(b"k").unwrap().is_some());
        assert!(db.get(b"other").unwrap().is_none());
    });
    assert_eq!(
        values(
            &context,
            [
                PerfMetric::BloomMemtableHitCount,
                PerfMetric::BloomMemtableMissCount
            ]
        ),
        [1, 1]
    );
}

#[test]
fn writes_time_their_steps() {
    use PerfMetric::*;
    let (_dir, db) = open(|_| {});
    let context = measured(PerfStatsLevel::EnableTime, || db.put(b"a", b"1").unwrap());
    assert!(context.metric(WriteWalTime) > 0);
    assert!(context.metric(WriteMemtableTime) > 0);
    assert_eq!(context.metric(WriteDelayTime), 0, "nobody stalls it");
    let mut without_log = WriteOptions::default();
    without_log.disable_wal(true);
    let context = measured(PerfStatsLevel::EnableTime, || {
        db.put_opt(b"b", b"1", &without_log).unwrap();
    });
    assert_eq!(context.metric(WriteWalTime), 0);
    assert!(context.metric(WriteMemtableTime) > 0);
}

#[test]
fn waits_for_jobs_are_measured_at_the_last_level_only() {
    use PerfMetric::*;
    let (_dir, db) = open(|_| {});
    let flush = || {
        db.put(b"a", b"1").unwrap();
        db.flush().unwrap();
        db.compact_range_opt(None::<&[u8]>, None::<&[u8]>, &CompactOptions::default());
    };
    let context = measured(PerfStatsLevel::EnableTimeExceptForMutex, flush);
    assert_eq!(
        values(&context, [DbMutexLockNanos, DbConditionWaitNanos]),
        [0, 0]
    );
    // A job may have ended before it is waited for.
    let waited = (0..100).any(|_| {
        let context = measured(PerfStatsLevel::EnableTime, flush);
        assert!(context.metric(DbMutexLockNanos) > 0);
        context.metric(DbConditionWaitNanos) > 0
    });
    assert!(waited);
}

#[test]
fn nothing_is_measured_before_a_thread_asks() {
    let (_dir, db) = open(|_| {});
    db.put(b"a", b"1").unwrap();
    db.get(b"a").unwrap();
    let context = PerfContext::default();
    assert_eq!(context.report(true), "");
    let elsewhere = std::thread::spawn(move || {
        counted(|| assert!(db.get(b"a").unwrap().is_some())).report(true)
    });
    assert_eq!(
        elsewhere.join().unwrap(),
        "get_read_bytes = 1, get_from_memtable_count = 1"
    );
    assert_eq!(context.report(true), "");
}
