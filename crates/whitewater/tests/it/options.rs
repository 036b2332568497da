//! Options: values that are corrected, and changes while a database is open.

use crate::harness::counting::CountingFs;
use crate::harness::{DIR, open_all, set_concurrent_inserts, set_protocol, tiny_on};
use std::path::Path;
use tempfile::TempDir;
use whitewater::fs::mem::MemFs;
use whitewater::{
    Cache, DB, DBCompactionStyle, Env, ErrorKind, MemtableFactory, Options, SliceTransform,
    WaitForCompactOptions,
};

fn open(change: impl FnOnce(&mut Options)) -> (TempDir, DB) {
    let dir = tempfile::tempdir().unwrap();
    let mut opts = Options::default();
    opts.create_if_missing(true);
    set_protocol(&mut opts);
    change(&mut opts);
    let db = DB::open(&opts, dir.path()).unwrap();
    (dir, db)
}

fn number(db: &DB, property: &str) -> u64 {
    let value = db.property_int_value(property).unwrap();
    value.unwrap_or_else(|| panic!("{property}"))
}

fn level0(db: &DB) -> String {
    let value = db.property_value("rocksdb.num-files-at-level0").unwrap();
    value.expect("a level")
}

/// One more table in level 0.
fn add_table(db: &DB, n: u32) {
    db.put(b"low", n.to_be_bytes()).unwrap();
    db.put(b"zoo", n.to_be_bytes()).unwrap();
    db.flush().unwrap();
}

fn refused(db: &DB, changes: &[(&str, &str)], what: &str) {
    let e = db.set_options(changes).unwrap_err();
    assert_eq!(e.kind(), ErrorKind::InvalidArgument, "{changes:?}: {e}");
    assert!(e.to_string().contains(what), "{changes:?}: {e}");
}

#[test]
fn compactions_start_when_they_are_allowed_again() {
    let (_dir, db) = open(|o| o.set_disable_auto_compactions(true));
    for n in 0..6 {
        add_table(&db, n);
    }
    assert_eq!(level0(&db), "6");
    db.set_options(&[("disable_auto_compactions", "false")])
        .unwrap();
    db.wait_for_compact(&WaitForCompactOptions::default())
        .unwrap();
    assert_eq!(level0(&db), "0");
    assert_eq!(db.get(b"low").unwrap().as_deref(), Some(&[0, 0, 0, 5][..]));
}

#[test]
fn a_lower_trigger_counts_at_once() {
    let (_dir, db) = open(|o| o.set_level_zero_file_num_compaction_trigger(100));
    for n in 0..5 {
        add_table(&db, n);
    }
    db.wait_for_compact(&WaitForCompactOptions::default())
        .unwrap();
    assert_eq!(level0(&db), "5");
    db.set_options(&[("level0_file_num_compaction_trigger", "3")])
        .unwrap();
    db.wait_for_compact(&WaitForCompactOptions::default())
        .unwrap();
    assert_eq!(level0(&db), "0");
}

#[test]
fn stalls_are_weighed_anew() {
    let (_dir, db) = open(|o| o.set_disable_auto_compactions(true));
    for n in 0..3 {
        add_table(&db, n);
    }
    let stopped = || number(&db, "rocksdb.is-write-stopped");
    let rate = || number(&db, "rocksdb.actual-delayed-write-rate");
    assert_eq!((stopped(), rate()), (0, 0));
    // No compaction runs, so the tables stay.
    db.cancel_all_background_work(true);
    db.set_options(&[
        ("disable_auto_compactions", "false"),
        ("level0_file_num_compaction_trigger", "2"),
        ("level0_slowdown_writes_trigger", "2"),
        ("level0_stop_writes_trigger", "50"),
    ])
    .unwrap();
    assert_eq!((stopped(), rate()), (0, 16 << 20));
    db.set_db_options(&[("delayed_write_rate", "12345678")])
        .unwrap();
    assert_eq!(rate(), 12_345_678);
    db.set_options(&[("level0_stop_writes_trigger", "3")])
        .unwrap();
    assert_eq!(stopped(), 1);
    // The stop trigger is too low for this value and is corrected, until the value is lowered.
    db.set_options(&[("level0_file_num_compaction_trigger", "1000")])
        .unwrap();
    assert_eq!((stopped(), rate()), (0, 0));
    db.set_options(&[("level0_file_num_compaction_trigger", "2")])
        .unwrap();
    assert_eq!(stopped(), 1);
    db.set_options(&[("disable_auto_compactions", "true")])
        .unwrap();
    assert_eq!((stopped(), rate()), (0, 0));
}

#[test]
fn memtables_take_the_size_of_the_options() {
    let (_dir, db) = open(|o| {
        o.set_write_buffer_size(64 << 20);
        o.set_disable_auto_compactions(true);
    });
    let fill = |bytes: usize| {
        let value = vec![7; 4096];
        for n in 0..bytes / 4096 {
            db.put((n as u32).to_be_bytes(), &value).unwrap();
        }
        db.wait_for_compact(&WaitForCompactOptions::default())
            .unwrap();
    };
    fill(1 << 20);
    assert_eq!(level0(&db), "0");
    // Smaller: the active memtable, too, is full at the next write.
    db.set_options(&[("write_buffer_size", "262144")]).unwrap();
    fill(2 << 20);
    let small: u32 = level0(&db).parse().unwrap();
    assert!(small >= 3, "{small}");
    // Larger: memtables that are begun from here on.
    db.set_options(&[("write_buffer_size", "67108864")])
        .unwrap();
    db.flush().unwrap();
    let before = level0(&db);
    fill(2 << 20);
    assert_eq!(level0(&db), before);
}

#[test]
fn tables_are_written_by_the_options_of_their_time() {
    let (_dir, db) = open(|o| {
        o.set_disable_auto_compactions(true);
        o.set_compression_type(whitewater::DBCompressionType::None);
    });
    let table = |db: &DB| {
        for n in 0..2000u32 {
            db.put(n.to_be_bytes(), [1; 64]).unwrap();
        }
        db.flush().unwrap();
        let files = db.live_files().unwrap();
        files.iter().map(|f| f.size).min().unwrap()
    };
    let plain = table(&db);
    db.set_options(&[
        ("compression", "kZSTD"),
        (
            "block_based_table_factory",
            "{block_size=65536;block_restart_interval=8}",
        ),
        ("block_based_table_factory.checksum", "kCRC32c"),
    ])
    .unwrap();
    let packed = table(&db);
    assert!(packed * 4 < plain, "{packed} {plain}");
}

#[test]
fn a_change_is_all_or_nothing() {
    let (_dir, db) = open(|_| {});
    let disabled = || db.property_value("rocksdb.num-files-at-level0").is_ok();
    assert!(disabled());
    for (bad, what) in [
        (("no_such_option", "1"), "no_such_option"),
        (("num_levels", "3"), "num_levels"),
        (("comparator", "x"), "comparator"),
        (("max_background_jobs", "3"), "max_background_jobs"),
        (("target_file_size_base", "big"), "target_file_size_base"),
        (("compression", "kBest"), "compression"),
        (
            ("block_based_table_factory", "{block_size=-1}"),
            "block_size",
        ),
        (
            ("block_based_table_factory", "{no_block_cache=true}"),
            "no_block_cache",
        ),
        (
            ("block_based_table_factory.block_cache", "8M"),
            "block_cache",
        ),
        (
            ("block_based_table_factory2", "8M"),
            "block_based_table_factory2",
        ),
    ] {
        refused(&db, &[("disable_auto_compactions", "true"), bad], what);
    }
    refused(&db, &[], "no options");
    // None of it took effect: compactions go on.
    for n in 0..4 {
        add_table(&db, n);
    }
    db.wait_for_compact(&WaitForCompactOptions::default())
        .unwrap();
    assert_eq!(level0(&db), "0");

    let e = db.set_db_options(&[("max_open_files", "77"), ("wal_dir", "/x")]);
    assert!(e.unwrap_err().to_string().contains("wal_dir"));
    let e = db.set_db_options(&[("write_buffer_size", "77")]);
    assert!(e.unwrap_err().to_string().contains("write_buffer_size"));
}

#[test]
fn column_families_change_by_themselves() {
    #[cfg_attr(
        feature = "multi-threaded-cf",
        expect(unused_mut, reason = "only the single-threaded form needs it")
    )]
    let (_dir, mut db) = open(|_| {});
    let mut opts = Options::default();
    opts.set_disable_auto_compactions(true);
    db.create_cf("other", &opts).unwrap();
    let other = db.cf_handle("other").unwrap();
    db.set_options_cf(&other, &[("level0_file_num_compaction_trigger", "2")])
        .unwrap();
    for n in 0..3u32 {
        db.put_cf(&other, b"a", n.to_be_bytes()).unwrap();
        db.flush_cf(&other).unwrap();
        add_table(&db, n);
    }
    db.wait_for_compact(&WaitForCompactOptions::default())
        .unwrap();
    assert_eq!(level0(&db), "3");
    db.set_options_cf(&other, &[("disable_auto_compactions", "false")])
        .unwrap();
    db.wait_for_compact(&WaitForCompactOptions::default())
        .unwrap();
    let files = |name| {
        let cf = db.cf_handle(name).unwrap();
        db.property_value_cf(&cf, "rocksdb.num-files-at-level0")
            .unwrap()
    };
    assert_eq!(files("other").as_deref(), Some("0"));
    assert_eq!(level0(&db), "3");
}

#[test]
fn a_prefix_extractor_changes_under_its_filters() {
    for place in ["memory", "level 0", "deep"] {
        prefix_extractor_changes(place);
    }
}

fn prefix_extractor_changes(place: &str) {
    let (_dir, db) = open(|o| {
        o.set_prefix_extractor(SliceTransform::create_fixed_prefix(4));
        o.set_memtable_prefix_bloom_ratio(0.2);
        let mut table = whitewater::BlockBasedOptions::default();
        table.set_bloom_filter(10.0, false);
        o.set_block_based_table_factory(&table);
    });
    for key in ["aaaa1", "aabb1", "aacc1", "bbbb1"] {
        db.put(key, key).unwrap();
        if place == "deep" {
            db.flush().unwrap();
        }
    }
    match place {
        "level 0" => db.flush().unwrap(),
        "deep" => db.compact_range(None::<&[u8]>, None::<&[u8]>),
        _ => {}
    }
    db.set_options(&[("prefix_extractor", "rocksdb.FixedPrefix.2")])
        .unwrap();
    let walk = || {
        let mut read = whitewater::ReadOptions::default();
        read.set_prefix_same_as_start(true);
        let mut it = db.raw_iterator_opt(read);
        it.seek(b"aaab");
        let mut keys = Vec::new();
        while it.valid() {
            keys.push(String::from_utf8(it.key().unwrap().to_vec()).unwrap());
            it.next();
        }
        it.status().unwrap();
        keys
    };
    // The filter has prefixes of four bytes, and none of them is `aaab`.
    assert_eq!(walk(), ["aabb1", "aacc1"], "{place}");
    db.flush().unwrap();
    assert_eq!(walk(), ["aabb1", "aacc1"], "{place}");
}

#[test]
fn hash_memtables_keep_their_prefix_extractor() {
    let (_dir, db) = open(|o| {
        set_concurrent_inserts(o, false);
        o.set_prefix_extractor(SliceTransform::create_fixed_prefix(2));
        o.set_memtable_factory(MemtableFactory::HashLinkList { bucket_count: 8 });
    });
    refused(
        &db,
        &[("prefix_extractor", "rocksdb.FixedPrefix.1")],
        "prefix_extractor",
    );
    db.set_options(&[("prefix_extractor", "rocksdb.FixedPrefix.2")])
        .unwrap();
}

#[test]
fn background_threads_come_and_go() {
    let (_dir, db) = open(|_| {});
    for jobs in ["8", "2", "16", "1"] {
        db.set_db_options(&[("max_background_jobs", jobs)]).unwrap();
        for n in 0..5 {
            add_table(&db, n);
        }
        db.wait_for_compact(&WaitForCompactOptions::default())
            .unwrap();
        let left: u32 = level0(&db).parse().unwrap();
        assert!(left < 4, "{left}");
    }
    // Closing waits for all of them.
    drop(db);
}

/// The priorities of this process's threads whose name begins with `name`.
#[cfg(target_os = "linux")]
fn priorities(name: &str) -> Vec<i32> {
    let mut found = Vec::new();
    for task in std::fs::read_dir("/proc/self/task").unwrap() {
        // A thread that ends meanwhile is not one of those asked for.
        let Ok(stat) = std::fs::read_to_string(task.unwrap().path().join("stat")) else {
            continue;
        };
        let (head, fields) = stat.rsplit_once(") ").unwrap();
        if head.contains(&format!("({name}")) {
            found.push(fields.split(' ').nth(16).unwrap().parse().unwrap());
        }
    }
    found
}

#[cfg(target_os = "linux")]
#[test]
fn background_threads_can_be_nice() {
    // Values that no other test uses. The test run may have a nice value itself.
    let own = priorities("").into_iter().min().unwrap();
    let (_dir, db) = open(|o| o.set_background_nice(7, 11));
    for n in 0..8 {
        add_table(&db, n);
    }
    db.wait_for_compact(&WaitForCompactOptions::default())
        .unwrap();
    assert!(priorities("ww-flush").contains(&(own + 7).min(19)));
    assert!(priorities("ww-compact").contains(&(own + 11).min(19)));
    drop(db);

    let mut env = Env::mem_env().unwrap();
    env.lower_thread_pool_cpu_priority();
    let mut o = Options::default();
    o.create_if_missing(true);
    o.set_env(&env);
    let db = DB::open(&o, "/data/nice").unwrap();
    for n in 0..8 {
        add_table(&db, n);
    }
    db.wait_for_compact(&WaitForCompactOptions::default())
        .unwrap();
    assert!(priorities("ww-compact").contains(&19));
    drop(db);

    // More than the maximum counts as the maximum.
    o.set_background_nice(0, 20);
    DB::open(&o, "/data/nice").unwrap();
}

#[test]
fn limits_of_open_files_and_logs_change() {
    #[cfg_attr(
        feature = "multi-threaded-cf",
        expect(unused_mut, reason = "only the single-threaded form needs it")
    )]
    let (_dir, mut db) = open(|o| o.set_disable_auto_compactions(true));
    db.create_cf("small", &Options::default()).unwrap();
    db.put_cf(&db.cf_handle("small").unwrap(), b"k", b"v")
        .unwrap();
    for (n, files) in [(0, "20"), (1, "-1"), (2, "30")] {
        add_table(&db, n);
        db.set_db_options(&[("max_open_files", files)]).unwrap();
        add_table(&db, n);
        let found = db.get(b"low").unwrap();
        assert_eq!(found.as_deref(), Some(&n.to_be_bytes()[..]));
    }
    let waiting = || {
        let cf = db.cf_handle("small").unwrap();
        let property = "rocksdb.num-entries-active-mem-table";
        db.property_int_value_cf(&cf, property).unwrap()
    };
    assert_eq!(waiting(), Some(1));
    // The column family that keeps the oldest log is flushed when there is too much log.
    db.set_db_options(&[("max_total_wal_size", "1"), ("wal_bytes_per_sync", "4096")])
        .unwrap();
    db.put(b"a", b"b").unwrap();
    db.put(b"a", b"b").unwrap();
    assert_eq!(waiting(), Some(0));
}

type Setter = fn(&mut Options);

fn log_of(dir: &TempDir) -> String {
    std::fs::read_to_string(dir.path().join("LOG")).unwrap()
}

#[test]
fn what_measures_or_hints_opens_and_log_says_that_it_has_no_effect() {
    let setters: &[(&str, Setter)] = &[
        ("is_fd_close_on_exec", |o| o.set_is_fd_close_on_exec(false)),
        ("allow_mmap_reads", |o| o.set_allow_mmap_reads(true)),
        ("allow_mmap_writes", |o| o.set_allow_mmap_writes(true)),
        ("report_bg_io_stats", |o| o.set_report_bg_io_stats(true)),
        ("paranoid_checks", |o| o.set_paranoid_checks(false)),
    ];
    for (name, set) in setters {
        let (dir, db) = open(set);
        add_table(&db, 7);
        assert!(db.get(b"low").unwrap().is_some(), "{name}");
        let log = log_of(&dir);
        let said = |l: &&str| l.contains(&format!("option {name}=")) && l.contains("is a hint");
        assert_eq!(log.lines().filter(said).count(), 1, "{name}: {log}");
    }
    let (dir, _db) = open(|_| {});
    assert!(!log_of(&dir).contains("is a hint"));
}

/// It once had no effect, and the system read ahead what took the place of what was read again.
#[test]
fn the_system_is_told_that_tables_and_blob_files_are_read_in_no_order_unless_that_is_off() {
    for advises in [true, false] {
        let fs = CountingFs::new(MemFs::new());
        let mut o = tiny_on(fs.clone());
        o.set_enable_blob_files(true);
        o.set_min_blob_size(100);
        if !advises {
            o.set_advise_random_on_open(false);
        }
        let db = open_all(&o, Path::new(DIR)).unwrap();
        db.put("large", [7; 200]).unwrap();
        db.flush().unwrap();
        assert_eq!(db.get("large").unwrap().as_deref(), Some(&[7; 200][..]));
        assert_eq!(fs.advised(), if advises { 2 } else { 0 });
    }
}

#[test]
fn statistics_of_an_allocator_that_is_not_there_are_said_to_be_none() {
    let (dir, db) = open(|o| {
        o.set_dump_malloc_stats(true);
        o.set_stats_dump_period_sec(1);
    });
    let begun = std::time::Instant::now();
    while !log_of(&dir).contains("MALLOC STATS") {
        assert!(begun.elapsed().as_secs() < 60, "no dump");
        std::thread::sleep(std::time::Duration::from_millis(50));
    }
    drop(db);
    let none = log_of(&dir).contains("MALLOC STATS: none");
    assert_eq!(none, cfg!(not(feature = "jemalloc")));
}

#[test]
fn memory_maps_and_direct_io_are_refused_together_as_in_rocksdb() {
    let both: [(&str, Setter); 2] = [
        ("allow_mmap_reads", |o| {
            o.set_allow_mmap_reads(true);
            o.set_use_direct_reads(true);
        }),
        ("allow_mmap_writes", |o| {
            o.set_allow_mmap_writes(true);
            o.set_use_direct_io_for_flush_and_compaction(true);
        }),
    ];
    for (name, set) in both {
        let dir = tempfile::tempdir().unwrap();
        let mut opts = Options::default();
        opts.create_if_missing(true);
        set(&mut opts);
        let e = DB::open(&opts, dir.path()).unwrap_err();
        assert_eq!(e.kind(), ErrorKind::NotSupported, "{name}");
        assert!(e.to_string().contains(name), "{name}: {e}");
    }
}

/// Values with which RocksDB opens, one by one: each is corrected, LOG says to what, and the
/// database works.
#[test]
fn values_that_rocksdb_corrects_are_corrected_and_logged() {
    let corrected = [
        ("target_file_size_base=0", "67108864"),
        ("max_bytes_for_level_base=0", "268435456"),
        ("max_bytes_for_level_multiplier=0", "1"),
        ("target_file_size_multiplier=0", "1"),
        ("level0_file_num_compaction_trigger=0", "1"),
        ("level0_file_num_compaction_trigger=-1", "2147483647"),
        ("write_buffer_size=1", "65536"),
        ("num_levels=0", "2"),
        ("max_write_buffer_number=0", "2"),
        ("memtable_prefix_bloom_size_ratio=7", "0.25"),
        ("max_open_files=3", "20"),
        ("max_background_jobs=100000", "1024"),
        ("max_subcompactions=0", "1"),
        ("max_manifest_file_size=0", "1"),
        ("wal_compression=kSnappyCompression", "kNoCompression"),
        ("memtable_factory=prefix_hash:100", "skip_list"),
        ("block_based_table_factory.block_size=0", "4096"),
        ("block_based_table_factory.metadata_block_size=0", "4096"),
        ("block_based_table_factory.block_restart_interval=0", "1"),
        (
            "block_based_table_factory.index_block_restart_interval=0",
            "1",
        ),
        ("block_based_table_factory.format_version=0", "2"),
        ("block_based_table_factory.format_version=1", "2"),
        ("block_based_table_factory.partition_filters=true", "false"),
    ];
    for (text, to) in corrected {
        let (dir, db) = open(|o| *o = o.get_options_from_string(text).unwrap());
        add_table(&db, 1);
        assert!(db.get(b"zoo").unwrap().is_some(), "{text}");
        let log = log_of(&dir);
        let said = log.lines().filter(|l| l.contains("is corrected to"));
        let said: Vec<_> = said.collect();
        let name = text.split('=').next().unwrap().rsplit('.').next().unwrap();
        let name = name.replace("memtable_factory", "memtable");
        let this = |l: &&&str| l.contains(&name) && l.ends_with(&format!("to {to}"));
        assert_eq!(said.iter().filter(this).count(), 1, "{text}: {said:?}");
        assert!(said.iter().all(|l| l.contains("[WARN]")), "{said:?}");
    }
    let (dir, _db) = open(|_| {});
    assert!(!log_of(&dir).contains("is corrected"));
}

#[test]
fn what_would_change_results_or_the_disk_is_refused_at_open() {
    for text in [
        "keep_log_file_num=0",
        "block_based_table_factory.format_version=8",
        "block_based_table_factory.index_type=kHashSearch",
        "memtable_protection_bytes_per_key=3",
    ] {
        let dir = tempfile::tempdir().unwrap();
        let mut opts = Options::default().get_options_from_string(text).unwrap();
        opts.create_if_missing(true);
        let e = DB::open(&opts, dir.path()).unwrap_err().to_string();
        let name = text.split('=').next().unwrap().rsplit('.').next().unwrap();
        assert!(e.contains(name), "{text}: {e}");
    }
}

#[test]
fn bulk_loads_do_not_compact() {
    let (_dir, db) = open(|o| o.prepare_for_bulk_load());
    for n in 0..30 {
        add_table(&db, n);
    }
    assert_eq!(level0(&db), "30");
    db.compact_range(None::<&[u8]>, None::<&[u8]>);
    assert_eq!(level0(&db), "0");
    assert_eq!(db.get(b"zoo").unwrap().as_deref(), Some(&[0, 0, 0, 29][..]));
}

#[test]
fn point_look_ups_have_filters_and_a_cache() {
    let (_dir, db) = open(|o| o.optimize_for_point_lookup(3));
    assert_eq!(number(&db, "rocksdb.block-cache-capacity"), 3 << 20);
    add_table(&db, 1);
    assert!(!db.key_may_exist(b"missing"));
    assert!(db.key_may_exist(b"low"));
}

/// Present options of families and of the database are checked against each other, whichever
/// changes, so that the database can always be reopened with them.
#[test]
fn changes_are_checked_against_the_options_at_present() {
    #[cfg_attr(
        feature = "multi-threaded-cf",
        expect(unused_mut, reason = "only the single-threaded form needs it")
    )]
    let (dir, mut db) = open(|o| o.set_max_open_files(100));
    let mut fifo = Options::default();
    fifo.set_compaction_style(DBCompactionStyle::Fifo);
    let in_the_way = |e: whitewater::Error| {
        assert_eq!(e.kind(), ErrorKind::NotSupported, "{e}");
        assert!(e.to_string().contains("max_open_files"), "{e}");
    };
    in_the_way(db.create_cf("fifo", &fifo).unwrap_err());
    db.set_db_options(&[("max_open_files", "-1")]).unwrap();
    db.create_cf("fifo", &fifo).unwrap();
    db.set_options_cf(
        &db.cf_handle("fifo").unwrap(),
        &[("write_buffer_size", "1000000")],
    )
    .unwrap();
    in_the_way(db.set_db_options(&[("max_open_files", "100")]).unwrap_err());
    drop(db);
    let (opts, families) = Options::load_latest(
        dir.path(),
        Env::new().unwrap(),
        false,
        Cache::new_lru_cache(1 << 20),
    )
    .unwrap();
    #[cfg_attr(
        feature = "multi-threaded-cf",
        expect(unused_mut, reason = "only the single-threaded form needs it")
    )]
    let mut db = DB::open_cf_descriptors(&opts, dir.path(), families).unwrap();
    db.drop_cf("fifo").unwrap();
    db.set_db_options(&[("max_open_files", "100")]).unwrap();
    in_the_way(db.create_cf("fifo", &fifo).unwrap_err());
}

/// The largest values that are accepted, where they are multiplied.
#[test]
fn the_largest_sizes_do_no_harm() {
    let (_dir, db) = open(|o| {
        o.set_write_buffer_size(64 << 30);
        o.set_max_write_buffer_number(i32::MAX);
        o.set_max_bytes_for_level_base(u64::MAX);
        o.set_max_bytes_for_level_multiplier(1.0);
        o.set_wal_bytes_per_sync(u64::MAX);
    });
    for n in 0..6 {
        // This makes a writer compare the size of the logs with the limit.
        db.set_db_options(&[("max_total_wal_size", "0")]).unwrap();
        add_table(&db, n);
        add_table(&db, n);
    }
    db.compact_range(None::<&[u8]>, None::<&[u8]>);
    assert_eq!(db.get(b"low").unwrap().as_deref(), Some(&[0, 0, 0, 5][..]));
}

/// The process dies at any change of a file while column families come and go.
#[test]
fn the_newest_options_file_opens_the_database_whenever_the_process_dies() {
    use std::path::Path;
    use std::sync::Arc;
    use whitewater::ColumnFamilyDescriptor;
    use whitewater::fs::fault::{Fault, FaultFs, OpSet, PathMatch, Rule, When};
    use whitewater::fs::mem::MemFs;

    let dir = Path::new("/data/db");
    let options = |fs: Arc<dyn whitewater::fs::Fs>| {
        let mut options = Options::default();
        options.create_if_missing(true);
        options.create_missing_column_families(true);
        options.set_fs(fs);
        options
    };
    let mut seen = [0; 3];
    for n in 1.. {
        let mem = MemFs::new();
        let faulty = FaultFs::new(Arc::new(mem.clone()));
        drop(DB::open(&options(Arc::new(mem.clone())), dir).unwrap());
        faulty.add_rule(Rule {
            ops: OpSet::WRITES,
            path: PathMatch::Any,
            when: When::Nth(n),
            fault: Fault::Eio,
            sticky: true,
        });
        let mut own = Options::default();
        own.set_write_buffer_size(77 << 10);
        let live = || -> Result<(), whitewater::Error> {
            let families = [ColumnFamilyDescriptor::new("opened", own.clone())];
            let options = options(Arc::new(faulty.clone()));
            #[cfg_attr(
                feature = "multi-threaded-cf",
                expect(unused_mut, reason = "only the single-threaded form needs it")
            )]
            let mut db = DB::open_cf_descriptors(&options, dir, families)?;
            db.create_cf("created", &own)?;
            db.drop_cf("opened")?;
            db.create_cf("opened", &own)
        };
        let outcome = live();
        let left: Arc<dyn whitewater::fs::Fs> = Arc::new(mem.crash_clone(1.0, 0));
        let names = DB::list_cf(&options(left.clone()), dir).unwrap();
        let (opts, mut families) = Options::load_latest(
            dir,
            Env::with_fs(left),
            false,
            Cache::new_lru_cache(1 << 20),
        )
        .unwrap();
        let mut loaded: Vec<_> = families.iter().map(ColumnFamilyDescriptor::name).collect();
        loaded.sort_unstable();
        let mut sorted = names.clone();
        sorted.sort();
        assert_eq!(loaded, sorted, "died at change {n}");
        seen[names.len() - 1] += 1;
        for family in families.iter_mut().filter(|f| f.name() != "default") {
            let text = format!("{:?}", family.options_mut());
            assert!(text.contains("\nwrite_buffer_size=78848\n"), "{n}: {text}");
        }
        DB::open_cf_descriptors(&opts, dir, families).unwrap();
        if outcome.is_ok() && faulty.injected().is_empty() {
            break;
        }
    }
    assert!(seen.iter().all(|n| *n > 0), "{seen:?}");
}

#[test]
fn a_nul_in_an_options_string_is_told_as_such_and_not_as_a_wrong_value() {
    let text = "use_fsync=false\0";
    let error = Options::default().get_options_from_string(text);
    let error = error.map(|_| ()).unwrap_err().to_string();
    assert!(
        error.contains("options string must not contain NUL"),
        "{error}"
    );
    assert!(error.contains("byte 15"), "{error}");
}
