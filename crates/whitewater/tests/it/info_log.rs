//! The info log: its content, its place, and when a new one begins.

use crate::harness::set_protocol;
use serde_json::Value;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex};
use whitewater::{DB, InfoLogger, LogLevel, MemtableFactory, Options, properties};

fn options() -> Options {
    let mut opts = Options::default();
    opts.create_if_missing(true);
    opts.set_disable_auto_compactions(true);
    set_protocol(&mut opts);
    opts
}

fn add_table(db: &DB, n: u32) {
    db.put(b"low", n.to_be_bytes()).unwrap();
    db.put(b"zoo", n.to_be_bytes()).unwrap();
    db.flush().unwrap();
}

/// The events of a log, in their order.
fn events<'a>(lines: impl Iterator<Item = &'a str>) -> Vec<Value> {
    lines
        .filter_map(|line| Some(line.split_once("EVENT_LOG_v1 ")?.1))
        .map(|json| serde_json::from_str(json).unwrap_or_else(|e| panic!("{e}: {json}")))
        .collect()
}

/// The logs in `dir`: the name of each, the current one first.
fn logs(dir: &Path) -> Vec<PathBuf> {
    let entries = std::fs::read_dir(dir).unwrap().map(|e| e.unwrap().path());
    let is_log = |path: &PathBuf| path.to_str().unwrap().contains("LOG");
    let mut paths: Vec<_> = entries.filter(is_log).collect();
    paths.sort();
    paths
}

#[test]
fn options_are_in_rocksdbs_form_and_those_of_created_families_too() {
    let dir = tempfile::tempdir().unwrap();
    #[cfg_attr(
        feature = "multi-threaded-cf",
        expect(unused_mut, reason = "only the single-threaded form needs it")
    )]
    let mut db = DB::open(&options(), dir.path()).unwrap();
    let log = || std::fs::read_to_string(dir.path().join("LOG")).unwrap();
    let jemalloc = i32::from(cfg!(feature = "jemalloc"));
    for line in [
        "Options.create_if_missing: 1",
        "Options.wal_recovery_mode: 2",
        "Options.WAL_ttl_seconds: 0",
        "Options.comparator: leveldb.BytewiseComparator",
        "Options.merge_operator: None",
        "Options.compaction_options_universal.size_ratio: 1",
        "Options.compression_opts.window_bits: -14",
        "Options.max_bytes_for_level_multiplier: 10.000000",
        "Options.ttl: 2592000",
        "  cache_index_and_filter_blocks: 0",
        "  cache_index_and_filter_blocks_with_high_priority: 1",
        "  pin_l0_filter_and_index_blocks_in_cache: 0",
        "  format_version: 5",
        "  index_block_restart_interval: 1",
        "  data_block_index_type: 0",
        "  data_block_hash_table_util_ratio: 0.750000",
        "  no_block_cache: 0",
        "  block_cache_options:\n    capacity : 33554432\n    num_shard_bits : ",
        &format!("Jemalloc supported: {jemalloc}\n"),
    ] {
        assert!(log().contains(line), "{line} in {}", log());
    }
    let mut other = Options::default();
    other.set_ttl(86_400);
    other.add_compact_on_deletion_collector_factory(5, 10, 0.5);
    let mut tables = whitewater::BlockBasedOptions::default();
    tables.set_format_version(4);
    tables.set_cache_index_and_filter_blocks(true);
    other.set_block_based_table_factory(&tables);
    let known = log().len();
    db.create_cf("other", &other).unwrap();
    let new = &log()[known..];
    for line in [
        "--------------- Options for column family [other]:\n",
        "Options.ttl: 86400\n",
        "  cache_index_and_filter_blocks: 1\n",
        "  format_version: 4\n",
        "CompactOnDeletionCollector (Sliding window size = 5 Deletion trigger = 10 Deletion \
         ratio = 0.5)",
    ] {
        assert!(new.contains(line), "{line} in {new}");
    }
    // RocksDB writes this many, too, and no more.
    for n in 0..10 {
        db.create_cf(format!("cf{n}"), &other).unwrap();
    }
    assert_eq!(log().matches("Options.num_levels: 7").count(), 10);
    assert!(log().contains("[cf9]: (skipping printing options"));
}

#[test]
fn jobs_are_told_in_words_and_as_events() {
    let dir = tempfile::tempdir().unwrap();
    let db = DB::open(&options(), dir.path()).unwrap();
    for n in 0..3 {
        add_table(&db, n);
    }
    db.compact_range(None::<&[u8]>, None::<&[u8]>);
    drop(db);
    let text = std::fs::read_to_string(dir.path().join("LOG")).unwrap();
    assert!(text.contains("Options.max_background_jobs: 2\n"), "{text}");
    assert!(
        text.contains("Options.write_buffer_size: 67108864\n"),
        "{text}"
    );
    // Options of tables are one message of many lines.
    for line in text.lines().filter(|line| !line.starts_with("  ")) {
        let mut words = line.split(' ');
        let time = words.next().unwrap();
        assert_eq!(
            (time.len(), &time[4..5], &time[10..11]),
            (26, "/", "-"),
            "{line}"
        );
        let thread = words.next().unwrap();
        assert!(u64::from_str_radix(thread, 16).is_ok(), "{line}");
    }

    let events = events(text.lines());
    let of = |name: &'static str| events.iter().filter(move |e| e["event"] == name);
    let (started, finished) = (of("flush_started"), of("flush_finished"));
    assert_eq!((started.count(), finished.count()), (3, 3));
    for started in of("flush_started") {
        assert_eq!(started["flush_reason"], "Manual Flush");
        let job = &started["job"];
        assert!(text.contains(&format!("[default] [JOB {job}] Flushing memtable")));
        assert_eq!(started["num_entries"], 2);
        let of_job = |name: &'static str| of(name).filter(|e| e["job"] == *job).count();
        assert_eq!(
            (of_job("table_file_creation"), of_job("flush_finished")),
            (1, 1)
        );
    }
    // The last one is logged while the compaction runs.
    let levels: Vec<_> = of("flush_finished")
        .map(|e| e["lsm_state"][0].clone())
        .collect();
    assert_eq!(levels[..2], [1, 2]);

    let compaction = of("compaction_started").next().unwrap();
    let job = &compaction["job"];
    assert_eq!(compaction["cf_name"], "default");
    assert_eq!(compaction["files_L0"].as_array().unwrap().len(), 3);
    assert!(text.contains(&format!("[default] [JOB {job}] Compacting 3@0 files to L")));
    assert!(text.contains(&format!("[default] [JOB {job}] Compacted 3@0 files to L")));
    let done = of("compaction_finished").next().unwrap();
    assert_eq!(
        (&done["job"], &done["num_output_files"]),
        (job, &Value::from(1))
    );
    assert_eq!(done["lsm_state"][0], 0);
    let mut deleted: Vec<_> = of("table_file_deletion")
        .map(|e| e["file_number"].as_u64())
        .collect();
    let inputs = compaction["files_L0"].as_array().unwrap().iter();
    let mut inputs: Vec<_> = inputs.map(Value::as_u64).collect();
    deleted.sort_unstable();
    inputs.sort_unstable();
    assert_eq!(deleted, inputs);
}

#[test]
fn a_logger_takes_the_place_of_the_file() {
    let dir = tempfile::tempdir().unwrap();
    let lines = Arc::new(Mutex::new(Vec::new()));
    let mut opts = options();
    let taken = lines.clone();
    opts.set_info_logger(InfoLogger::new_callback_logger(
        LogLevel::Info,
        move |level, line| taken.lock().unwrap().push((level, line.to_owned())),
    ));
    let other = {
        let mut other = options();
        other.set_info_logger(opts.get_info_logger());
        other
    };
    let db = DB::open(&opts, dir.path()).unwrap();
    add_table(&db, 1);
    drop(db);
    let count = {
        let lines = lines.lock().unwrap();
        let options = |line: &str| line.contains("Options.max_open_files: -1");
        let header = lines.iter().find(|(_, line)| options(line)).unwrap();
        assert_eq!(header.0, LogLevel::Header);
        let texts = lines.iter().map(|(_, line)| line.as_str());
        let events = events(texts);
        assert!(events.iter().any(|e| e["event"] == "flush_finished"));
        lines.len()
    };
    assert_eq!(logs(dir.path()), [] as [PathBuf; 0]);
    // Shared with other options.
    drop(DB::open(&other, dir.path()).unwrap());
    assert!(lines.lock().unwrap().len() > count);
}

#[test]
fn a_logger_gets_lines_from_its_level_on_and_may_panic() {
    let dir = tempfile::tempdir().unwrap();
    let count = Arc::new(Mutex::new(0));
    let mut opts = options();
    let calls = count.clone();
    opts.set_info_logger(InfoLogger::new_callback_logger(
        LogLevel::Warn,
        move |level, line| {
            *calls.lock().unwrap() += 1;
            assert_eq!(level, LogLevel::Header, "{line}");
            std::panic::resume_unwind(Box::new("a logger's own trouble"));
        },
    ));
    let db = DB::open(&opts, dir.path()).unwrap();
    let opened = *count.lock().unwrap();
    assert!(opened > 50, "{opened}");
    add_table(&db, 1);
    db.compact_range(None::<&[u8]>, None::<&[u8]>);
    assert_eq!(db.get(b"low").unwrap().as_deref(), Some(&[0, 0, 0, 1][..]));
    drop(db);
    assert_eq!(*count.lock().unwrap(), opened);
}

#[test]
fn a_full_log_makes_room_for_another() {
    let dir = tempfile::tempdir().unwrap();
    let mut opts = options();
    opts.set_max_log_file_size(300);
    opts.set_keep_log_file_num(3);
    let db = DB::open(&opts, dir.path()).unwrap();
    for n in 0..5 {
        add_table(&db, n);
    }
    drop(db);
    let logs = logs(dir.path());
    assert_eq!(logs.len(), 3, "{logs:?}");
    for log in logs {
        let text = std::fs::read_to_string(&log).unwrap();
        let first = text.lines().next().unwrap();
        assert!(first.contains("Whitewater version:"), "{first}");
    }
}

#[test]
fn logs_may_be_elsewhere_and_say_less() {
    let (dir, elsewhere) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
    let mut opts = options();
    opts.set_db_log_dir(elsewhere.path().join("logs"));
    opts.set_log_level(LogLevel::Error);
    for _ in 0..2 {
        let db = DB::open(&opts, dir.path()).unwrap();
        add_table(&db, 1);
    }
    assert_eq!(logs(dir.path()), [] as [PathBuf; 0]);
    let logs = logs(&elsewhere.path().join("logs"));
    assert_eq!(logs.len(), 2, "{logs:?}");
    let text = std::fs::read_to_string(&logs[0]).unwrap();
    assert!(text.contains("Options.max_open_files"), "{text}");
    assert!(!text.contains("JOB"), "{text}");
}

#[test]
fn statistics_are_written_every_period() {
    use std::sync::mpsc::channel;
    let (dumped, dumps) = channel();
    let dir = tempfile::tempdir().unwrap();
    let mut options = Options::default();
    options.create_if_missing(true);
    options.enable_statistics();
    // Never, until the option changes.
    options.set_stats_dump_period_sec(0);
    let logger = InfoLogger::new_callback_logger(LogLevel::Info, move |_, line| {
        if line.contains("** DB Stats **") || line.starts_with("STATISTICS:\n") {
            let _ = dumped.send(line.to_owned());
        }
    });
    options.set_info_logger(logger);
    let db = DB::open(&options, dir.path()).unwrap();
    db.put(b"a", b"1").unwrap();
    db.flush().unwrap();
    assert!(dumps.try_recv().is_err());
    db.set_db_options(&[("stats_dump_period_sec", "1")])
        .unwrap();
    let first = dumps.recv().unwrap();
    for part in [
        "** DB Stats **",
        "** Compaction Stats [default] **",
        "** File Read Latency Histogram By Level [default] **",
        "Interval writes: 1 writes, 1 keys, ",
    ] {
        assert!(first.contains(part), "{part} in {first}");
    }
    assert!(
        dumps
            .recv()
            .unwrap()
            .contains("rocksdb.number.keys.written COUNT : 1")
    );
    let second = dumps.recv().unwrap();
    assert!(
        second.contains("Interval writes: 0 writes, 0 keys, "),
        "{second}"
    );
    // Closing does not wait for the end of a period.
    drop(db);
}

/// RocksDB does the same: the empty path is the default.
#[test]
fn no_directory_for_logs_is_the_database_s() {
    let dir = tempfile::tempdir().unwrap();
    let mut opts = options();
    opts.set_db_log_dir("/elsewhere");
    opts.set_db_log_dir("");
    let db = DB::open(&opts, dir.path()).unwrap();
    assert_eq!(logs(dir.path()), [dir.path().join("LOG")]);
    drop(db);
}

/// The lines of level `level` and above in the current log in `dir`, for a database whose options
/// `change` has set and where one table was written.
fn log_of_one_table(level: LogLevel, change: impl Fn(&mut Options)) -> String {
    let dir = tempfile::tempdir().unwrap();
    let mut opts = options();
    opts.set_disable_auto_compactions(false);
    opts.set_level_zero_file_num_compaction_trigger(1);
    opts.set_log_level(level);
    change(&mut opts);
    let db = DB::open(&opts, dir.path()).unwrap();
    add_table(&db, 1);
    // This moves the table out of level 0, which ends the stall.
    db.compact_range(None::<&[u8]>, None::<&[u8]>);
    drop(db);
    std::fs::read_to_string(dir.path().join("LOG")).unwrap()
}

#[test]
fn stops_and_delays_are_warnings_with_their_cause() {
    let stop = |o: &mut Options| {
        o.set_level_zero_slowdown_writes_trigger(1);
        o.set_level_zero_stop_writes_trigger(1);
    };
    let delay = |o: &mut Options| o.set_level_zero_slowdown_writes_trigger(1);
    let stopped = "[WARN] [default] Stopping writes because we have 1 level-0 files\n";
    let delayed = "[WARN] [default] Stalling writes because we have 1 level-0 files rate ";
    for level in [LogLevel::Info, LogLevel::Warn] {
        let text = log_of_one_table(level, stop);
        assert!(text.contains(stopped), "{level:?}: {text}");
        let text = log_of_one_table(level, delay);
        assert!(text.contains(delayed), "{level:?}: {text}");
        let over = text
            .lines()
            .find(|l| l.ends_with("No write stall any more"));
        match (level, over) {
            (LogLevel::Info, Some(line)) => assert!(!line.contains("[WARN]"), "{line}"),
            (_, over) => assert_eq!(over, None, "{level:?}"),
        }
    }
    let text = log_of_one_table(LogLevel::Error, stop);
    assert!(!text.contains("Stopping writes"), "{text}");
}

#[test]
fn log_says_which_protocol_and_memtable_are_in_force_and_options_what_was_asked_for() {
    let opened = |change: &dyn Fn(&mut Options)| {
        let dir = tempfile::tempdir().unwrap();
        let mut opts = Options::default();
        opts.create_if_missing(true);
        change(&mut opts);
        let db = DB::open(&opts, dir.path()).unwrap();
        let told = [properties::COMMIT_PROTOCOL, properties::MEMTABLE]
            .map(|name| db.property_value(name).unwrap().unwrap());
        drop(db);
        let entries = std::fs::read_dir(dir.path()).unwrap();
        let options = entries
            .map(|e| e.unwrap().path())
            .find(|p| p.to_str().unwrap().contains("OPTIONS-"))
            .unwrap();
        let read = |path: PathBuf| std::fs::read_to_string(path).unwrap();
        (told, read(dir.path().join("LOG")), read(options))
    };
    let (told, log, options) = opened(&|_| {});
    assert_eq!(told, ["ordered", "art"]);
    assert!(log.contains(" Options.commit_protocol: ordered\n"), "{log}");
    assert!(log.contains(" Options.memtable: art\n"), "{log}");
    let line = |name: &str| options.lines().find(|l| l.contains(name)).unwrap();
    assert!(line("commit_protocol=").ends_with("commit_protocol="));
    assert!(line(" memtable=").ends_with(" memtable=auto"));

    let (told, log, _) = opened(&|o| {
        o.set_enable_pipelined_write(true);
        o.set_comparator("backwards", Box::new(|a, b| b.cmp(a)));
    });
    assert_eq!(told, ["pipelined", "skip_list"]);
    assert!(log.contains(" Options.commit_protocol: pipelined\n"));
    assert!(log.contains(" Options.memtable: skip_list\n"), "{log}");

    let (told, _, options) = opened(&|o| {
        o.set_allow_concurrent_memtable_write(false);
        o.set_memtable_factory(MemtableFactory::Vector);
    });
    assert_eq!(told, ["grouped", "vector"]);
    assert!(options.contains("memtable_factory=VectorRepFactory"));
}
