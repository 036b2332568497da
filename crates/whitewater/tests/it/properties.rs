//! Every property of the API: that it exists, what it means, and the layout of those that tools
//! parse.

use crate::harness::set_protocol;
use std::thread;
use std::time::{Duration, Instant};
use tempfile::TempDir;
use whitewater::properties::{self as names, PropName};
use whitewater::{
    BlockBasedOptions, Cache, CompactOptions, DB, IngestExternalFileOptions, IteratorMode, Options,
    SstFileWriter, WriteOptions,
};

fn open(change: impl FnOnce(&mut Options)) -> (TempDir, DB) {
    let dir = tempfile::tempdir().unwrap();
    let mut options = Options::default();
    options.create_if_missing(true);
    options.set_disable_auto_compactions(true);
    set_protocol(&mut options);
    change(&mut options);
    let db = DB::open(&options, dir.path().join("db")).unwrap();
    (dir, db)
}

fn number(db: &DB, name: &PropName) -> u64 {
    db.property_int_value(name)
        .unwrap()
        .unwrap_or_else(|| panic!("{}", name.as_str()))
}

fn text(db: &DB, name: &PropName) -> String {
    db.property_value(name)
        .unwrap()
        .unwrap_or_else(|| panic!("{}", name.as_str()))
}

/// Two overlapping tables in level 0: 200 values, 100 of which are newer.
fn two_tables(db: &DB) {
    for round in 0..2 {
        for i in 0..100 {
            db.put(format!("key{i:04}"), format!("{round}").repeat(50))
                .unwrap();
        }
        db.flush().unwrap();
    }
}

#[test]
fn every_name_has_a_value() {
    let (_dir, db) = open(|o| o.enable_statistics());
    two_tables(&db);
    for name in [
        names::STATS,
        names::SSTABLES,
        names::CFSTATS,
        names::CFSTATS_NO_FILE_HISTOGRAM,
        names::CF_FILE_HISTOGRAM,
        names::DBSTATS,
        names::LEVELSTATS,
        names::AGGREGATED_TABLE_PROPERTIES,
        names::OPTIONS_STATISTICS,
    ] {
        assert!(!text(&db, name).is_empty(), "{name}");
        assert!(db.property_int_value(name).is_err(), "{name} is a text");
    }
    for name in [
        names::NUM_IMMUTABLE_MEM_TABLE,
        names::NUM_IMMUTABLE_MEM_TABLE_FLUSHED,
        names::MEM_TABLE_FLUSH_PENDING,
        names::NUM_RUNNING_FLUSHES,
        names::COMPACTION_PENDING,
        names::NUM_RUNNING_COMPACTIONS,
        names::BACKGROUND_ERRORS,
        names::CUR_SIZE_ACTIVE_MEM_TABLE,
        names::CUR_SIZE_ALL_MEM_TABLES,
        names::SIZE_ALL_MEM_TABLES,
        names::NUM_ENTRIES_ACTIVE_MEM_TABLE,
        names::NUM_ENTRIES_IMM_MEM_TABLES,
        names::NUM_DELETES_ACTIVE_MEM_TABLE,
        names::NUM_DELETES_IMM_MEM_TABLES,
        names::ESTIMATE_NUM_KEYS,
        names::ESTIMATE_TABLE_READERS_MEM,
        names::IS_FILE_DELETIONS_ENABLED,
        names::NUM_SNAPSHOTS,
        names::OLDEST_SNAPSHOT_TIME,
        names::NUM_LIVE_VERSIONS,
        names::CURRENT_SUPER_VERSION_NUMBER,
        names::ESTIMATE_LIVE_DATA_SIZE,
        names::MIN_LOG_NUMBER_TO_KEEP,
        names::MIN_OBSOLETE_SST_NUMBER_TO_KEEP,
        names::TOTAL_SST_FILES_SIZE,
        names::LIVE_SST_FILES_SIZE,
        names::BASE_LEVEL,
        names::ESTIMATE_PENDING_COMPACTION_BYTES,
        names::ACTUAL_DELAYED_WRITE_RATE,
        names::IS_WRITE_STOPPED,
        names::BLOCK_CACHE_CAPACITY,
        names::BLOCK_CACHE_USAGE,
        names::BLOCK_CACHE_PINNED_USAGE,
    ] {
        assert_eq!(text(&db, name), number(&db, name).to_string(), "{name}");
    }
    // With FIFO compaction only, as in RocksDB.
    assert_eq!(
        db.property_value(names::ESTIMATE_OLDEST_KEY_TIME).unwrap(),
        None
    );
    for level in 0..7 {
        let at = names::num_files_at_level(level);
        let files = if level == 0 { "2" } else { "0" };
        assert_eq!(text(&db, &at), files);
        assert_eq!(db.property_int_value(&at).unwrap(), files.parse().ok());
        assert!(!text(&db, &names::compression_ratio_at_level(level)).is_empty());
        let at = names::aggregated_table_properties_at_level(level);
        assert!(text(&db, &at).starts_with("# data blocks="));
    }
    for name in [
        &*names::num_files_at_level(7),
        &*names::compression_ratio_at_level(7),
        &*names::aggregated_table_properties_at_level(7),
    ] {
        assert_eq!(db.property_value(name).unwrap(), None, "{name}");
    }
    for name in [
        "rocksdb.num-files-at-level",
        "rocksdb.num-snapshots3",
        "rocksdb.",
        "stats",
    ] {
        assert_eq!(db.property_value(name).unwrap(), None, "{name}");
    }
}

#[test]
fn memtables_snapshots_and_versions_are_counted() {
    let (_dir, db) = open(|_| {});
    assert_eq!(number(&db, names::NUM_LIVE_VERSIONS), 1);
    db.put(b"a", b"1").unwrap();
    db.delete(b"b").unwrap();
    assert_eq!(number(&db, names::NUM_ENTRIES_ACTIVE_MEM_TABLE), 2);
    assert_eq!(number(&db, names::NUM_DELETES_ACTIVE_MEM_TABLE), 1);
    let active = number(&db, names::CUR_SIZE_ACTIVE_MEM_TABLE);
    assert_eq!(number(&db, names::CUR_SIZE_ALL_MEM_TABLES), active);
    assert_eq!(number(&db, names::SIZE_ALL_MEM_TABLES), active);
    let snapshot = db.snapshot();
    assert_eq!(number(&db, names::NUM_SNAPSHOTS), 1);
    assert!(number(&db, names::OLDEST_SNAPSHOT_TIME) > 0);
    drop(snapshot);
    assert_eq!(number(&db, names::OLDEST_SNAPSHOT_TIME), 0);

    // An iterator holds on to what it reads: memtables and files.
    let number_before = number(&db, names::CURRENT_SUPER_VERSION_NUMBER);
    let iterator = db.iterator(IteratorMode::Start);
    db.flush().unwrap();
    assert!(number(&db, names::CURRENT_SUPER_VERSION_NUMBER) > number_before);
    let unflushed = number(&db, names::CUR_SIZE_ALL_MEM_TABLES);
    assert!(number(&db, names::SIZE_ALL_MEM_TABLES) > unflushed);
    assert_eq!(number(&db, names::NUM_LIVE_VERSIONS), 2);
    drop(iterator);
    // A finished flush frees its memtable a little later.
    let begun = Instant::now();
    while number(&db, names::SIZE_ALL_MEM_TABLES) != unflushed {
        assert!(begun.elapsed() < Duration::from_secs(60), "it is kept");
        thread::yield_now();
    }
    assert_eq!(number(&db, names::NUM_LIVE_VERSIONS), 1);

    db.put(b"c", b"1").unwrap();
    let iterator = db.iterator(IteratorMode::Start);
    db.compact_range(None::<&[u8]>, None::<&[u8]>);
    let mut whole = CompactOptions::default();
    whole.set_bottommost_level_compaction(whitewater::BottommostLevelCompaction::Force);
    db.compact_range_opt(None::<&[u8]>, None::<&[u8]>, &whole);
    // Until the flush before the compactions has let go of its version.
    db.wait_for_compact(&Default::default()).unwrap();
    let live = number(&db, names::LIVE_SST_FILES_SIZE);
    assert!(number(&db, names::TOTAL_SST_FILES_SIZE) > live);
    drop(iterator);
    assert_eq!(number(&db, names::TOTAL_SST_FILES_SIZE), live);
    assert_eq!(number(&db, names::ESTIMATE_LIVE_DATA_SIZE), live);

    assert_eq!(number(&db, names::IS_FILE_DELETIONS_ENABLED), 1);
    assert_eq!(
        number(&db, names::MIN_OBSOLETE_SST_NUMBER_TO_KEEP),
        u64::MAX
    );
}

#[test]
fn table_properties_add_up() {
    let (_dir, db) = open(|o| o.set_compression_type(whitewater::DBCompressionType::None));
    two_tables(&db);
    let all = text(&db, names::AGGREGATED_TABLE_PROPERTIES);
    assert_eq!(
        all,
        text(&db, &names::aggregated_table_properties_at_level(0))
    );
    for part in [
        "# entries=200; ",
        "# deletions=0; ",
        "raw value size=10000; ",
        "raw average value size=50.000000; ",
        "raw key size=3000; ",
        "raw average key size=15.000000; ",
        "filter policy name=N/A; ",
        "column family ID=N/A; ",
    ] {
        assert!(all.contains(part), "{part} in {all}");
    }
    let map = db
        .property_map_value(names::AGGREGATED_TABLE_PROPERTIES)
        .unwrap()
        .unwrap();
    assert_eq!(map["num_entries"], "200");
    assert_eq!(map["raw_value_size"], "10000");
    let ratio = |level| -> f64 {
        let name = names::compression_ratio_at_level(level);
        text(&db, &name).parse().unwrap()
    };
    assert!(ratio(0) > 0.5 && ratio(0) < 1.5, "{}", ratio(0));
    assert_eq!(
        text(&db, &names::compression_ratio_at_level(1)),
        "-1.000000"
    );
    // Of two tables that overlap, the one below is the live data.
    let live = number(&db, names::LIVE_SST_FILES_SIZE);
    let estimate = number(&db, names::ESTIMATE_LIVE_DATA_SIZE);
    assert!(estimate > live / 3 && estimate < live * 2 / 3);
    db.get(b"key0001").unwrap();
    assert!(number(&db, names::ESTIMATE_TABLE_READERS_MEM) > 0);
}

/// The words of the row that begins with `name`.
fn row(stats: &str, name: &str) -> Vec<String> {
    let words = |line: &str| line.split_whitespace().map(str::to_owned).collect();
    let rows = stats.lines().map(words);
    let mut rows = rows.filter(|words: &Vec<String>| words.first().is_some_and(|w| w == name));
    rows.next().unwrap_or_default()
}

#[test]
fn compactions_show_in_rocksdbs_table() {
    let (_dir, db) = open(|_| {});
    two_tables(&db);
    let (low, high) = {
        db.compact_range(None::<&[u8]>, None::<&[u8]>);
        let stats = text(&db, names::CFSTATS);
        (row(&stats, "Low"), row(&stats, "High"))
    };
    // Files, two words of size, and 19 figures behind the name and the score.
    assert_eq!((low.len(), high.len()), (23, 23));
    let stats = text(&db, names::CFSTATS_NO_FILE_HISTOGRAM);
    let mut lines = stats.lines().skip(1);
    assert_eq!(lines.next(), Some("** Compaction Stats [default] **"));
    let header = lines.next().unwrap();
    assert_eq!(
        header,
        "Level    Files   Size     Score Read(GB)  Rn(GB) Rnp1(GB) Write(GB) WPreComp(GB) \
         Wnew(GB) Moved(GB) W-Amp Rd(MB/s) Wr(MB/s) Comp(sec) CompMergeCPU(sec) Comp(cnt) \
         Avg(sec) KeyIn KeyDrop Rblob(GB) Wblob(GB)"
    );
    let rule = lines.next().unwrap();
    assert_eq!(rule, "-".repeat(header.len() + 1));
    let l0 = row(&stats, "L0");
    assert_eq!(
        (&l0[1][..], &l0[17][..]),
        ("0/0", "2"),
        "two flushes: {l0:?}"
    );
    let bottom = row(&stats, "L6");
    let bottom = if bottom.is_empty() {
        row(&stats, "L1")
    } else {
        bottom
    };
    assert_eq!(bottom[1], "1/0", "{bottom:?}");
    let (count, key_in, key_drop) = (&bottom[17], &bottom[19], &bottom[20]);
    assert_eq!(
        (&count[..], &key_in[..], &key_drop[..]),
        ("1", "200", "100")
    );
    let sum = row(&stats, "Sum");
    assert_eq!((&sum[1][..], &sum[17][..]), ("1/0", "3"));
    // Two tables were written, and one more of half their size.
    let write_amp: f64 = sum[11 + 1].parse().unwrap();
    assert!((1.3..=1.7).contains(&write_amp), "{sum:?}");
    for line in [
        "Blob file count: 0, total size: 0.0 GB, garbage size: 0.0 GB, space amp: 0.0",
        "AddFile(Total Files): cumulative 0, interval 0",
        "AddFile(Keys): cumulative 0, interval 0",
        "Flush(GB): cumulative 0.000, interval 0.000",
        "Estimated pending compaction bytes: 0",
    ] {
        assert!(stats.lines().any(|l| l == line), "{line} in {stats}");
    }
    for start in [
        "Uptime(secs): ",
        "Cumulative compaction: 0.00 GB write, ",
        "Interval compaction: 0.00 GB write, ",
        "Write Stall (count): cf-l0-file-count-limit-delays-with-ongoing-compaction: 0, ",
    ] {
        assert!(stats.lines().any(|l| l.starts_with(start)), "{start}");
    }

    let map = db.property_map_value("rocksdb.cfstats").unwrap().unwrap();
    assert_eq!(map["compaction.Sum.CompCount"], "3.000000");
    assert_eq!(map["compaction.L0.KeyIn"], "200.000000");
    assert_eq!(map["compaction.Sum.KeyDrop"], "100.000000");
    assert_eq!(map["compactions.ManualCompaction"], "1");
    assert_eq!(map["total-stops"], "0");
}

#[test]
fn moves_and_ingestions_are_no_compactions() {
    let (dir, db) = open(|_| {});
    db.put(b"a", b"1").unwrap();
    db.flush().unwrap();
    db.compact_range(None::<&[u8]>, None::<&[u8]>);
    let map = db.property_map_value("rocksdb.cfstats").unwrap().unwrap();
    assert_eq!(map["compaction.Sum.CompCount"], "1.000000", "the flush");
    let moved: f64 = map["compaction.Sum.MovedGB"].parse().unwrap();
    assert!(moved >= 0.0);

    let path = dir.path().join("outside.sst");
    let options = Options::default();
    let mut writer = SstFileWriter::create(&options);
    writer.open(&path).unwrap();
    writer.put(b"x", b"1").unwrap();
    writer.put(b"y", b"1").unwrap();
    writer.finish().unwrap();
    db.ingest_external_file_opts(&IngestExternalFileOptions::default(), vec![&path])
        .unwrap();
    let stats = text(&db, names::CFSTATS);
    for line in [
        "AddFile(Total Files): cumulative 1, interval 1",
        "AddFile(L0 Files): cumulative 0, interval 0",
        "AddFile(Keys): cumulative 2, interval 2",
    ] {
        assert!(stats.lines().any(|l| l == line), "{line} in {stats}");
    }
}

#[test]
fn writes_show_in_the_databases_lines() {
    let line = |stats: &str, start: &str| {
        let found = stats.lines().find(|l| l.starts_with(start));
        found
            .unwrap_or_else(|| panic!("{start} in {stats}"))
            .to_owned()
    };
    for with in [false, true] {
        let (_dir, db) = open(|o| {
            if with {
                o.enable_statistics();
            }
        });
        let mut synced = WriteOptions::default();
        synced.set_sync(true);
        db.put_opt(b"a", b"1", &synced).unwrap();
        db.put(b"b", b"1").unwrap();
        let stats = text(&db, names::DBSTATS);
        assert!(
            stats.starts_with("\n** DB Stats **\nUptime(secs): "),
            "{stats}"
        );
        // Writes are counted by statistics, keys by their numbers.
        let writes = if with {
            "2 writes, 2 keys, "
        } else {
            "0 writes, 2 keys, "
        };
        let start = format!("Cumulative writes: {writes}");
        line(&stats, &start);
        let log = line(&stats, "Cumulative WAL: ");
        assert!(log.contains(", 1 syncs, "), "{log}");
        line(&stats, "Cumulative stall: 00:00:0.000 H:M:S, 0.0 percent");
        line(&stats, &format!("Interval writes: {writes}"));
        line(&stats, "Interval WAL: ");
        line(&stats, "Interval stall: 00:00:0.000 H:M:S, 0.0 percent");
        line(
            &stats,
            "Write Stall (count): write-buffer-manager-limit-stops: 0",
        );
        // The interval ended with the call.
        line(
            &text(&db, names::DBSTATS),
            "Interval writes: 0 writes, 0 keys, ",
        );
        let map = db.property_map_value("rocksdb.dbstats").unwrap().unwrap();
        assert_eq!(
            (&map["db.wal_syncs"][..], &map["db.user_keys_written"][..]),
            ("1", "2")
        );
        assert_ne!(map["db.wal_bytes_written"], "0");
        let all = text(&db, names::STATS);
        assert!(all.contains("** Compaction Stats [default] **"));
        assert!(all.contains("** File Read Latency Histogram By Level [default] **"));
        assert!(all.contains("** DB Stats **"));
    }
}

#[test]
fn what_comes_in_without_a_log_shows_without_statistics() {
    let (_dir, db) = open(|_| {});
    let mut unlogged = WriteOptions::default();
    unlogged.disable_wal(true);
    let ingested = || {
        let map = db.property_map_value("rocksdb.dbstats").unwrap().unwrap();
        map["db.user_bytes_written"].parse::<u64>().unwrap()
    };
    let before = ingested();
    for _ in 0..10 {
        db.put_opt(b"k", vec![7; 1 << 20], &unlogged).unwrap();
    }
    let bytes = ingested() - before;
    assert!((10 << 20..11 << 20).contains(&bytes), "{bytes}");
    let stats = text(&db, names::DBSTATS);
    let line = stats.lines().find(|l| l.starts_with("Cumulative writes"));
    assert!(line.unwrap().contains("ingest: 0.01 GB"), "{stats}");
    db.put(b"k", vec![7; 1 << 20]).unwrap();
    assert!(ingested() - before - bytes >= 1 << 20);
}

#[test]
fn levels_and_files_are_listed() {
    let (_dir, db) = open(|_| {});
    db.put(b"a", b"1").unwrap();
    db.delete(b"b").unwrap();
    db.flush().unwrap();
    let levels = text(&db, names::LEVELSTATS);
    let lines: Vec<&str> = levels.lines().collect();
    assert_eq!(
        lines[..3],
        [
            "Level Files Size(MB)",
            "--------------------",
            "  0        1        0"
        ]
    );
    assert_eq!(lines.len(), 9);
    let files = text(&db, names::SSTABLES);
    let mut lines = files.lines();
    let first = lines.next().unwrap();
    assert!(first.starts_with("--- level 0 --- version# ") && first.ends_with(" ---"));
    let file = lines.next().unwrap();
    let live = &db.live_files().unwrap()[0];
    let (number, size) = (live.name[1..7].trim_start_matches('0'), live.size);
    assert_eq!(
        file,
        format!(" {number}:{size}[1 .. 2]['61' seq:1, type:1 .. '62' seq:2, type:0](0)")
    );
    assert!(lines.next().unwrap().starts_with("--- level 1 ---"));
}

#[test]
fn reads_of_files_are_timed_by_level_with_statistics() {
    for with in [false, true] {
        let (_dir, db) = open(|o| {
            if with {
                o.enable_statistics();
            }
            let mut table = BlockBasedOptions::default();
            table.set_block_cache(&Cache::new_lru_cache(0));
            o.set_block_based_table_factory(&table);
        });
        two_tables(&db);
        db.get(b"key0001").unwrap();
        let histogram = text(&db, names::CF_FILE_HISTOGRAM);
        let start = "\n** File Read Latency Histogram By Level [default] **\n";
        assert!(histogram.starts_with(start), "{histogram}");
        let level0 = "** Level 0 read latency histogram (micros):\nCount: ";
        assert_eq!(histogram.contains(level0), with, "{histogram}");
        assert!(!histogram.contains("** Level 1 "));
    }
}

#[test]
fn the_oldest_key_is_known_where_fifo_merges_nothing() {
    let (_dir, db) = open(|o| {
        o.set_compaction_style(whitewater::DBCompactionStyle::Fifo);
        o.set_max_open_files(-1);
    });
    let name = names::ESTIMATE_OLDEST_KEY_TIME;
    assert_eq!(db.property_int_value(name).unwrap(), None, "no table");
    db.put(b"a", b"1").unwrap();
    db.flush().unwrap();
    assert!(number(&db, name) > 1_600_000_000);
}
