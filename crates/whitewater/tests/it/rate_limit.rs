//! The rate limiter and direct I/O, through the options that set them.

use crate::harness::{DIR, tiny_on, watched};
use std::path::Path;
use std::sync::Arc;
use whitewater::fs::fault::{Fault, FaultFs, FaultOp, OpSet, PathMatch, Rule, When};
use whitewater::fs::mem::MemFs;
use whitewater::statistics::Ticker;
use whitewater::{
    BlockBasedOptions, DB, DBCompressionType, ErrorKind, FlushOptions, IoPriority, IteratorMode,
    Options, RateLimiterMode, ReadOptions,
};

fn fill(db: &DB, n: u32) {
    for i in 0..n {
        db.put(i.to_be_bytes(), [b'v'; 100]).unwrap();
    }
}

fn table_bytes(db: &DB) -> u64 {
    let live = db.live_files().unwrap();
    live.iter().map(|f| f.size as u64).sum()
}

#[test]
fn flushes_and_compactions_ask_for_what_they_write() {
    let mut opts = tiny_on(MemFs::new());
    opts.set_disable_auto_compactions(true);
    opts.enable_statistics();
    opts.set_ratelimiter(1 << 40, 1000, 10);
    let db = DB::open(&opts, DIR).unwrap();
    let asked = || opts.get_ticker_count(Ticker::RateLimiterBytesWrite);
    assert_eq!(asked(), 0);
    fill(&db, 500);
    db.flush().unwrap();
    let flushed = table_bytes(&db);
    assert_eq!(asked(), flushed);
    db.put(7u32.to_be_bytes(), b"w").unwrap();
    db.flush().unwrap();
    let flushed = table_bytes(&db);
    db.compact_range(None::<&[u8]>, None::<&[u8]>);
    assert_eq!(asked(), flushed + table_bytes(&db));
    let requests = opts.get_ticker_count(Ticker::RateLimiterRequestsWrite);
    assert!(requests >= 3, "{requests}");
    assert_eq!(
        opts.get_ticker_count(Ticker::RateLimiterDelayedRequestsWrite),
        0
    );
}

/// Options whose limiter lets everything through, and counts it.
fn counting(mode: RateLimiterMode) -> Options {
    let mut opts = tiny_on(MemFs::new());
    opts.set_disable_auto_compactions(true);
    opts.set_compression_type(DBCompressionType::None);
    opts.enable_statistics();
    opts.set_ratelimiter_with_mode(1 << 40, 1000, 10, mode, false);
    opts
}

/// What `read` reads of tables and blob files, and what it asks the limiter for. Bytes.
fn during(opts: &Options, read: impl FnOnce()) -> [u64; 3] {
    let counts = || {
        let (tables, charged) = read_and_charged(opts);
        let blobs = opts.get_ticker_count(Ticker::BlobDbBlobFileBytesRead);
        [tables, blobs, charged]
    };
    let before = counts();
    read();
    let after = counts();
    std::array::from_fn(|i| after[i] - before[i])
}

/// What was read from tables, and what the limiter was asked for.
fn read_and_charged(opts: &Options) -> (u64, u64) {
    let count = |ticker| opts.get_ticker_count(ticker);
    let read = count(Ticker::LastLevelReadBytes) + count(Ticker::NonLastLevelReadBytes);
    (read, count(Ticker::RateLimiterBytesRead))
}

#[test]
fn compactions_ask_for_what_they_read_if_reads_are_limited() {
    for mode in [
        RateLimiterMode::KReadsOnly,
        RateLimiterMode::KWritesOnly,
        RateLimiterMode::KAllIo,
    ] {
        let opts = counting(mode);
        let db = DB::open(&opts, DIR).unwrap();
        for _ in 0..2 {
            fill(&db, 500);
            db.flush().unwrap();
        }
        let inputs = table_bytes(&db);
        assert_eq!(
            read_and_charged(&opts).1,
            0,
            "{mode:?}: nothing was compacted"
        );
        db.compact_range(None::<&[u8]>, None::<&[u8]>);
        let (read, charged) = read_and_charged(&opts);
        let written = opts.get_ticker_count(Ticker::RateLimiterBytesWrite);
        assert_eq!(
            written == 0,
            mode == RateLimiterMode::KReadsOnly,
            "{mode:?}"
        );
        match mode {
            RateLimiterMode::KWritesOnly => assert_eq!(charged, 0),
            _ => {
                // All data blocks; not what the tables' openings read.
                assert!(
                    charged >= 2 * 500 * 100 && charged <= read,
                    "{charged} of {read}"
                );
                assert!(charged <= inputs, "{charged} of {inputs}");
            }
        }
    }
}

#[test]
fn reads_ask_for_what_they_read_if_their_options_say_so() {
    let mut opts = counting(RateLimiterMode::KAllIo);
    let mut table = BlockBasedOptions::default();
    table.disable_cache();
    opts.set_block_based_table_factory(&table);
    let db = DB::open(&opts, DIR).unwrap();
    fill(&db, 500);
    db.flush().unwrap();
    let key = 7u32.to_be_bytes();
    db.get(key).unwrap(); // opens the table
    let reads: [(&str, &dyn Fn(ReadOptions)); 3] = [
        ("get", &|options| {
            assert!(db.get_opt(key, &options).unwrap().is_some());
        }),
        ("multi_get", &|options| {
            let found = db.multi_get_opt([key], &options);
            assert!(found[0].as_ref().unwrap().is_some());
        }),
        ("iterator", &|options| {
            assert_eq!(db.iterator_opt(IteratorMode::Start, options).count(), 500);
        }),
    ];
    for (name, read) in reads {
        let [free, _, charged] = during(&opts, || read(ReadOptions::default()));
        assert!(free > 0, "{name}");
        assert_eq!(charged, 0, "{name}");
        let mut options = ReadOptions::default();
        options.set_rate_limiter_priority(Some(IoPriority::User));
        let same = during(&opts, || read(options));
        assert_eq!(same, [free, 0, free], "{name}");
    }
}

/// Other readers wait for the one that opens a table, whatever their options say.
#[test]
fn opening_a_table_is_not_charged_to_who_reads_it_first() {
    let mut opts = counting(RateLimiterMode::KReadsOnly);
    let mut table = BlockBasedOptions::default();
    table.disable_cache();
    opts.set_block_based_table_factory(&table);
    opts.set_max_open_files(10);
    let db = DB::open(&opts, DIR).unwrap();
    fill(&db, 500);
    db.flush().unwrap();
    drop(db);
    let db = DB::open(&opts, DIR).unwrap();
    let mut options = ReadOptions::default();
    options.set_rate_limiter_priority(Some(IoPriority::Low));
    let read = || {
        db.get_opt(7u32.to_be_bytes(), &options).unwrap();
    };
    let [opening, _, first] = during(&opts, read);
    let [block, _, second] = during(&opts, read);
    assert!(opening > block, "{opening} bytes, then {block}");
    assert_eq!((first, second), (block, block));
}

#[test]
fn values_in_blob_files_are_charged_to_who_reads_them() {
    let mut opts = counting(RateLimiterMode::KReadsOnly);
    opts.set_enable_blob_files(true);
    opts.set_enable_blob_gc(true);
    opts.set_blob_gc_age_cutoff(1.0);
    let db = DB::open(&opts, DIR).unwrap();
    for _ in 0..2 {
        fill(&db, 500);
        db.flush().unwrap();
    }
    let key = 7u32.to_be_bytes();
    db.get(key).unwrap(); // opens the files
    let mut options = ReadOptions::default();
    options.set_rate_limiter_priority(Some(IoPriority::Mid));
    let [tables, blobs, charged] = during(&opts, || {
        db.get_opt(key, &options).unwrap();
    });
    assert!(blobs > 100, "{blobs}");
    assert_eq!(charged, tables + blobs);
    let [_, blobs, charged] = during(&opts, || {
        db.compact_range(None::<&[u8]>, None::<&[u8]>);
    });
    assert!(blobs >= 500 * 100, "{blobs}");
    assert!(charged > blobs, "{charged} of {blobs}");
}

#[test]
fn closing_while_a_compaction_waits_to_read_loses_nothing() {
    let fs = MemFs::new();
    let mut opts = tiny_on(fs.clone());
    opts.set_level_zero_file_num_compaction_trigger(2);
    opts.enable_statistics();
    // 1,000 bytes, and then nothing for a quarter of an hour.
    let mode = RateLimiterMode::KReadsOnly;
    opts.set_ratelimiter_with_mode(1, 1_000_000_000, 10, mode, false);
    let db = DB::open(&opts, DIR).unwrap();
    for _ in 0..2 {
        fill(&db, 200);
        db.flush().unwrap();
    }
    // Its first read has been let through. The next one waits.
    while opts.get_ticker_count(Ticker::RateLimiterBytesRead) == 0 {
        std::thread::yield_now();
    }
    watched("closing", 120, move || drop(db));
    let db = DB::open(&tiny_on(fs), DIR).unwrap();
    assert_eq!(db.iterator(IteratorMode::Start).count(), 200);
}

#[test]
fn a_clone_of_the_options_shares_the_limiter() {
    let fs = MemFs::new();
    let mut opts = tiny_on(fs.clone());
    opts.set_compression_type(DBCompressionType::None);
    opts.enable_statistics();
    // 20,000 bytes, and then nothing for hours: enough for one of the two.
    opts.set_ratelimiter(1, 20_000_000_000, 10);
    let a = DB::open(&opts.clone(), "/data/a").unwrap();
    let b = DB::open(&opts.clone(), "/data/b").unwrap();
    fill(&a, 120);
    fill(&b, 120);
    a.flush().unwrap();
    let written = opts.get_ticker_count(Ticker::RateLimiterBytesWrite);
    assert!((10_001..20_000).contains(&written), "{written}");
    let mut no_wait = FlushOptions::default();
    no_wait.set_wait(false);
    b.flush_opt(&no_wait).unwrap();
    // Its table is created, and gets no byte.
    let begun = || {
        let names = whitewater::fs::Fs::list(&fs, "/data/b".as_ref()).unwrap();
        names.iter().any(|name| name.ends_with(".sst"))
    };
    while !begun() {
        std::thread::yield_now();
    }
    assert_eq!(b.live_files().unwrap().len(), 0);
    watched("closing", 120, move || {
        drop(b);
        drop(a);
    });
    let b = DB::open(&tiny_on(fs), "/data/b").unwrap();
    assert_eq!(b.iterator(IteratorMode::Start).count(), 120);
}

#[test]
fn closing_while_a_job_waits_loses_nothing() {
    let fs = MemFs::new();
    let mut opts = tiny_on(fs.clone());
    // 1,000 bytes, and then nothing for a quarter of an hour.
    opts.set_compression_type(DBCompressionType::None);
    opts.set_auto_tuned_ratelimiter(2, 1_000_000_000, 10);
    let db = DB::open(&opts, DIR).unwrap();
    let mut no_wait = FlushOptions::default();
    no_wait.set_wait(false);
    fill(&db, 200);
    db.flush_opt(&no_wait).unwrap();
    db.put(b"after", b"the flush began").unwrap();
    watched("closing", 120, move || drop(db));
    let db = DB::open(&tiny_on(fs), DIR).unwrap();
    assert_eq!(db.iterator(IteratorMode::Start).count(), 201);
}

#[test]
fn a_write_that_fails_under_a_limiter_is_reported() {
    let faulty = FaultFs::new(Arc::new(MemFs::new()));
    let mut opts = tiny_on(faulty.clone());
    opts.set_disable_auto_compactions(true);
    opts.set_ratelimiter(1 << 40, 1000, 10);
    opts.set_bytes_per_sync(1);
    let db = DB::open(&opts, DIR).unwrap();
    fill(&db, 100);
    db.flush().unwrap();
    faulty.add_rule(Rule {
        ops: OpSet::of(&[FaultOp::Append]),
        path: PathMatch::EndsWith(".sst".into()),
        when: When::Nth(1),
        fault: Fault::Enospc,
        sticky: false,
    });
    let mut force = whitewater::CompactOptions::default();
    force.set_bottommost_level_compaction(whitewater::BottommostLevelCompaction::Force);
    let compact = || db.try_compact_range_opt(None::<&[u8]>, None::<&[u8]>, &force);
    // The first step may only move the table.
    let e = compact().unwrap_err();
    assert_eq!(e.kind(), ErrorKind::IOError);
    compact().unwrap();
    assert_eq!(db.iterator(IteratorMode::Start).count(), 100);
}

/// Opens with direct I/O, which works or is refused by the option's name.
fn open_direct(opts: &Options, dir: &Path, option: &str) -> Option<DB> {
    match DB::open(opts, dir) {
        Ok(db) => Some(db),
        Err(e) => {
            assert_eq!(e.kind(), ErrorKind::NotSupported, "{e}");
            assert!(e.to_string().contains(option), "{e}");
            None
        }
    }
}

#[test]
fn direct_io_works_or_is_refused() {
    let dir = tempfile::tempdir().unwrap();
    let mut opts = Options::default();
    opts.create_if_missing(true);
    opts.set_disable_auto_compactions(true);
    opts.set_max_open_files(20);
    opts.set_use_direct_io_for_flush_and_compaction(true);
    opts.set_use_direct_reads(true);
    opts.set_bytes_per_sync(1 << 20);
    let Some(db) = open_direct(&opts, dir.path(), "use_direct_io_for_flush_and_compaction") else {
        return;
    };
    fill(&db, 30_000);
    db.flush().unwrap();
    fill(&db, 100);
    db.flush().unwrap();
    db.compact_range(None::<&[u8]>, None::<&[u8]>);
    assert_eq!(db.iterator(IteratorMode::Start).count(), 30_000);
    assert_eq!(
        db.get(29_999u32.to_be_bytes()).unwrap().as_deref(),
        Some(&[b'v'; 100][..])
    );
    let sizes = db.live_files().unwrap();
    drop(db);
    for file in sizes {
        let path = dir.path().join(file.name.trim_start_matches('/'));
        let meta = std::fs::metadata(path).unwrap();
        assert_eq!(meta.len(), file.size as u64, "no padding is left");
    }
    // Reading with the page cache returns the same.
    let db = DB::open_default(dir.path()).unwrap();
    assert_eq!(db.iterator(IteratorMode::Start).count(), 30_000);
}

#[test]
fn what_is_read_in_the_background_with_direct_reads_is_what_is_there() {
    const KEYS: u32 = 20_000;
    let value = |i: u32| i.to_le_bytes().repeat(25);
    let dir = tempfile::tempdir().unwrap();
    let mut table = BlockBasedOptions::default();
    table.disable_cache();
    let mut opts = Options::default();
    opts.create_if_missing(true);
    opts.set_disable_auto_compactions(true);
    opts.set_use_direct_reads(true);
    opts.set_block_based_table_factory(&table);
    let Some(db) = open_direct(&opts, dir.path(), "use_direct_reads") else {
        return;
    };
    for every in [1, 3, 7] {
        for i in (0..KEYS).step_by(every) {
            db.put(i.to_be_bytes(), value(i)).unwrap();
        }
        db.flush().unwrap();
        if every == 1 {
            db.compact_range(None::<&[u8]>, None::<&[u8]>);
        }
    }
    std::thread::scope(|scope| {
        for thread in 0..4 {
            let db = &db;
            scope.spawn(move || {
                let mut read = ReadOptions::default();
                read.set_async_io(true);
                let mut iter = db.raw_iterator_opt(read);
                for start in (thread * 20..KEYS - 1000).step_by(500) {
                    let keys: Vec<_> = (0..16).map(|n| start + 60 * n).collect();
                    let found = db.multi_get(keys.iter().map(|i| i.to_be_bytes()));
                    for (i, found) in keys.into_iter().zip(found) {
                        assert_eq!(found.unwrap(), Some(value(i)), "key {i}");
                    }
                    iter.seek(start.to_be_bytes());
                    for i in start..start + 100 {
                        let expected = (&i.to_be_bytes()[..], &value(i)[..]);
                        assert_eq!(iter.item(), Some(expected), "key {i}");
                        iter.next();
                    }
                }
                iter.status().unwrap();
            });
        }
    });
}

#[test]
fn a_file_system_without_direct_io_is_refused_by_the_option() {
    for (reads, option) in [
        (true, "use_direct_reads"),
        (false, "use_direct_io_for_flush_and_compaction"),
    ] {
        let fs = MemFs::new();
        let mut opts = tiny_on(fs.clone());
        opts.set_use_direct_reads(reads);
        opts.set_use_direct_io_for_flush_and_compaction(!reads);
        assert!(open_direct(&opts, Path::new(DIR), option).is_none());
        let names = whitewater::fs::Fs::list(&fs, DIR.as_ref()).unwrap();
        assert!(!names.iter().any(|n| n.ends_with(".dbtmp")), "{names:?}");
        DB::open(&tiny_on(fs), DIR).unwrap();
    }
}
