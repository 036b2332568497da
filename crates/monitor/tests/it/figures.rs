//! What is shown equals what the database tells, at rest.

use crate::client::{builder, filled, get, get_json, options, wait_for};
use std::sync::{Arc, Mutex, mpsc};
use whitewater::fs::fault::{Fault, FaultFs, FaultOp, OpSet, PathMatch, Rule, When};
use whitewater::fs::mem::MemFs;
use whitewater::statistics::{Histogram, StatsLevel, Ticker};
use whitewater::{CompactionDecision, DB, Options, WriteOptions, properties};
use whitewater_monitor::api::{
    Databases, Event, File, OptionInForce, Overview, Point, Stall, WritePath,
};

#[test]
fn the_overview_equals_properties_at_rest() {
    let options = options();
    let (_dir, db) = filled(&options);
    let monitor = builder().add(&db).listen("127.0.0.1:0").unwrap();
    let o: Overview = get_json(monitor.address(), "/api/v1/0/overview");
    let int = |name| db.property_int_value(name).unwrap().unwrap();
    assert!(o.statistics && o.database.open && o.error.is_empty());
    assert_eq!(o.database.label, db.path().display().to_string());
    let family = &o.families[0];
    let m = &family.memtables;
    assert_eq!(family.name, "default");
    assert_eq!(m.active_bytes, int(properties::CUR_SIZE_ACTIVE_MEM_TABLE));
    assert_eq!(
        m.active_entries,
        int(properties::NUM_ENTRIES_ACTIVE_MEM_TABLE)
    );
    assert_eq!(
        m.active_deletes,
        int(properties::NUM_DELETES_ACTIVE_MEM_TABLE)
    );
    assert_eq!(m.active_deletes, 1);
    assert_eq!(m.immutable, int(properties::NUM_IMMUTABLE_MEM_TABLE));
    assert_eq!(m.unflushed_bytes, int(properties::CUR_SIZE_ALL_MEM_TABLES));
    assert_eq!(m.all_bytes, int(properties::SIZE_ALL_MEM_TABLES));
    assert_eq!(
        m.kind,
        db.property_value(properties::MEMTABLE).unwrap().unwrap()
    );
    assert_eq!(family.table_bytes, int(properties::LIVE_SST_FILES_SIZE));
    assert_eq!(
        family.all_table_bytes,
        int(properties::TOTAL_SST_FILES_SIZE)
    );
    assert_eq!(family.live_bytes, int(properties::ESTIMATE_LIVE_DATA_SIZE));
    assert_eq!(family.keys, int(properties::ESTIMATE_NUM_KEYS));
    assert_eq!(
        family.table_readers_bytes,
        int(properties::ESTIMATE_TABLE_READERS_MEM)
    );
    let pending = int(properties::ESTIMATE_PENDING_COMPACTION_BYTES);
    assert_eq!(family.pending_compaction_bytes, pending);
    assert_eq!(family.levels.len(), 1);
    let level = properties::num_files_at_level(0);
    let files = int(&level);
    assert_eq!((family.levels[0].files, files), (2, 2));
    assert_eq!(family.levels[0].bytes, family.table_bytes);
    assert_eq!(o.families[1].name, "a\"<b>");
    assert_eq!(o.families[1].memtables.active_entries, 1);
    assert_eq!(o.cache.capacity, int(properties::BLOCK_CACHE_CAPACITY));
    assert_eq!(o.cache.usage, int(properties::BLOCK_CACHE_USAGE));
    assert_eq!(o.totals.keys_written, db.latest_sequence_number());
    let stats = db.property_map_value("rocksdb.dbstats").unwrap().unwrap();
    assert_eq!(o.totals.wal_syncs.to_string(), stats["db.wal_syncs"]);
    assert!(o.totals.wal_syncs >= 3);
    let ticker = |ticker| options.get_ticker_count(ticker);
    assert_eq!(o.cache.kinds[0].hits, ticker(Ticker::BlockCacheHit));
    assert_eq!(o.cache.kinds[0].misses, ticker(Ticker::BlockCacheMiss));
    assert_eq!(
        o.cache.filter_useful,
        Some(ticker(Ticker::BloomFilterUseful))
    );
    let get_latency = o.latencies.iter().find(|l| l.operation == "get").unwrap();
    let data = options.get_histogram_data(Histogram::DbGet);
    assert_eq!((get_latency.total.count, data.count()), (50, 50));
    assert_eq!(
        (get_latency.total.p99, get_latency.total.max),
        (data.p99(), data.max())
    );
    assert_eq!(o.stall.condition, "normal");
    assert_eq!(o.running_flushes + o.running_compactions, 0);
}

#[test]
fn every_property_can_be_asked_for() {
    let (_dir, db) = filled(&options());
    let monitor = builder().add(&db).listen("127.0.0.1:0").unwrap();
    let text = |path: &str| get(monitor.address(), &format!("/api/v1/0/properties/{path}"));
    let levels = text("rocksdb.levelstats");
    assert_eq!(
        Some(levels.body),
        db.property_value(properties::LEVELSTATS).unwrap()
    );
    assert_eq!(text("rocksdb.num-files-at-level0").body, "2");
    assert_eq!(
        text("rocksdb.num-entries-active-mem-table?cf=a%22%3Cb%3E").body,
        "1"
    );
    assert!(text("rocksdb.dbstats?map").body.starts_with("{\"db."));
    assert_eq!(text("rocksdb.nothing").status, 404);
    assert_eq!(text("rocksdb.stats?cf=nothing").status, 404);
}

#[test]
fn rates_follow_the_work() {
    let (_dir, db) = filled(&options());
    let monitor = builder().add(&db).listen("127.0.0.1:0").unwrap();
    let mut synced = WriteOptions::default();
    synced.set_sync(true);
    let points: Vec<Point> = wait_for("a point with writes, syncs and reads", || {
        for i in 0..50 {
            db.put(format!("{i}"), "1").unwrap();
            db.get(format!("{i}")).unwrap();
        }
        db.put_opt("s", "1", &synced).unwrap();
        let points: Vec<Point> = get_json(monitor.address(), "/api/v1/0/series");
        let busy = |p: &Point| p.keys_written > 0.0 && p.wal_syncs > 0.0 && p.get_p99.is_some();
        points.iter().any(busy).then_some(points)
    });
    let busy = points.iter().find(|p| p.wal_syncs > 0.0).unwrap();
    assert!(busy.writes_per_sync.unwrap() >= 1.0, "{busy:?}");
    assert!(
        busy.writes.unwrap() > 0.0 && busy.write_p99.unwrap() > 0.0,
        "{busy:?}"
    );
    assert!(points.is_sorted_by_key(|p| p.unix_ms));
    let last = points.last().unwrap().unix_ms;
    let later: Vec<Point> = get_json(monitor.address(), &format!("/api/v1/0/series?since={last}"));
    assert!(later.iter().all(|p| p.unix_ms > last));
}

#[test]
fn the_write_path_shows_steps_that_are_timed() {
    let options = options();
    options.set_statistics_level(StatsLevel::ExceptTimeForMutex);
    let (_dir, db) = filled(&options);
    let monitor = builder().add(&db).listen("127.0.0.1:0").unwrap();
    let path: WritePath = wait_for("a step", || {
        (0..20).for_each(|i| db.put(format!("{i}"), "1").unwrap());
        let path: WritePath = get_json(monitor.address(), "/api/v1/0/write-path");
        path.timed.then_some(path)
    });
    let names: Vec<_> = path.steps.iter().map(|step| step.name.as_str()).collect();
    assert_eq!(
        names,
        ["locate", "reserve", "append", "insert", "publish", "sync"]
    );
    assert!(path.steps.iter().any(|step| step.writers > 0.0));
    let appended = options.get_histogram_data(Histogram::WriteAppendNanos);
    assert!(path.steps[2].total.count > 0 && path.steps[2].total.count <= appended.count());
    assert_eq!(path.commit_protocol, "ordered");
}

#[test]
fn stalls_are_shown_with_cause_and_thresholds() {
    let mut options = options();
    options.set_disable_auto_compactions(false);
    // Compactions wait until the test is over.
    let (hold, held) = mpsc::channel::<()>();
    let held = Mutex::new(held);
    options.set_compaction_filter("wait", move |_, _, _| {
        let _ = held.lock().unwrap().recv();
        CompactionDecision::Keep
    });
    options.set_level_zero_file_num_compaction_trigger(3);
    options.set_level_zero_slowdown_writes_trigger(3);
    options.set_level_zero_stop_writes_trigger(30);
    let (_dir, db) = filled(&options);
    let _hold = hold;
    let monitor = builder().add(&db).listen("127.0.0.1:0").unwrap();
    db.flush().unwrap();
    let stall: Stall = get_json(monitor.address(), "/api/v1/0/stalls");
    assert_eq!(stall.condition, "delayed");
    assert!(stall.delayed_rate > 0);
    let family = &stall.families[0];
    assert_eq!(family.cause, "l0-file-count-limit");
    assert_eq!(family.reason, "we have 3 level-0 files");
    let limit = family
        .limits
        .iter()
        .find(|l| l.name == "level0-files")
        .unwrap();
    assert_eq!((limit.value, limit.delay, limit.stop), (3, 3, 30));
    let page = get(monitor.address(), "/db/0").body;
    assert!(page.contains("we have 3 level-0 files"), "{page}");
    let event = wait_for("the event", || {
        let events: Vec<Event> = get_json(monitor.address(), "/api/v1/0/events");
        events
            .into_iter()
            .find(|e| e.kind == "stall_conditions_changed")
    });
    assert!(
        event.warning && event.text.contains("we have 3 level-0 files"),
        "{event:?}"
    );
}

#[test]
fn a_failed_sync_is_shown() {
    let faults = FaultFs::new(Arc::new(MemFs::new()));
    let mut options = options();
    options.set_fs(Arc::new(faults.clone()));
    options.set_max_bgerror_resume_count(0);
    let db = DB::open(&options, "/db").unwrap();
    let monitor = builder().add_as("mine", &db).listen("127.0.0.1:0").unwrap();
    faults.add_rule(Rule {
        ops: OpSet::of(&[FaultOp::Sync]),
        path: PathMatch::EndsWith(".log".to_owned()),
        when: When::Nth(1),
        fault: Fault::Eio,
        sticky: true,
    });
    let mut synced = WriteOptions::default();
    synced.set_sync(true);
    db.put_opt("a", "1", &synced).unwrap_err();
    let o: Overview = get_json(monitor.address(), "/api/v1/0/overview");
    assert_eq!(o.database.label, "mine");
    assert_ne!(o.error, "");
    assert!(o.background_errors > 0);
    let page = get(monitor.address(), "/db/0").body;
    assert!(page.contains("Writes are refused: "), "{page}");
}

#[test]
fn without_statistics_writes_and_syncs_are_still_known() {
    let mut options = Options::default();
    options.create_if_missing(true);
    options.create_missing_column_families(true);
    let (_dir, db) = filled(&options);
    (0..20_000).for_each(|_| drop(db.get("key").unwrap()));
    let monitor = builder().add(&db).listen("127.0.0.1:0").unwrap();
    let o: Overview = get_json(monitor.address(), "/api/v1/0/overview");
    assert!(!o.statistics && o.cache.kinds.is_empty());
    let gets = o.latencies.iter().find(|l| l.operation == "get");
    let sampled = gets.map_or(0, |gets| gets.total.count);
    assert!((50..500).contains(&sampled), "{sampled}");
    let text = get(monitor.address(), "/metrics").body;
    assert!(
        text.contains("whitewater_db_get_micros_sampled_count"),
        "{text}"
    );
    assert_eq!(o.totals.keys_written, db.latest_sequence_number());
    let stats = db.property_map_value("rocksdb.dbstats").unwrap().unwrap();
    assert_eq!(o.totals.wal_syncs.to_string(), stats["db.wal_syncs"]);
    assert!(o.totals.wal_syncs >= 3);
    assert_eq!((o.rates.writes, o.rates.keys_read), (None, None));
    let page = get(monitor.address(), "/db/0").body;
    assert!(page.contains("Statistics are off"), "{page}");
}

#[test]
fn several_databases_that_come_and_go() {
    let (_first_dir, first) = filled(&options());
    let (_second_dir, second) = filled(&options());
    let builder = builder().add(&first).add_as("second", &second);
    let monitor = builder.listen("127.0.0.1:0").unwrap();
    let list = || get_json::<Databases>(monitor.address(), "/api/v1/databases").databases;
    assert_eq!(
        list().iter().map(|d| d.open).collect::<Vec<_>>(),
        [true, true]
    );
    drop(second);
    assert_eq!(
        list().iter().map(|d| d.open).collect::<Vec<_>>(),
        [true, false]
    );
    let o: Overview = get_json(monitor.address(), "/api/v1/1/overview");
    assert!(!o.database.open && o.families.is_empty());
    assert!(get(monitor.address(), "/").body.contains("second"));
    assert!(
        get(monitor.address(), "/db/1")
            .body
            .contains("The database is closed")
    );
    assert_eq!(get(monitor.address(), "/db/2").status, 404);
    assert_eq!(get(monitor.address(), "/api/v1/2/overview").status, 404);
    assert_eq!(get(monitor.address(), "/metrics").status, 200);
}

#[test]
fn options_and_files_are_listed() {
    let mut options = options();
    options.set_write_buffer_size(1 << 20);
    let (_dir, db) = filled(&options);
    let monitor = builder().add(&db).listen("127.0.0.1:0").unwrap();
    let changed: Vec<OptionInForce> = get_json(monitor.address(), "/api/v1/0/options");
    let buffer = changed
        .iter()
        .find(|o| o.name == "write_buffer_size")
        .unwrap();
    assert_eq!(
        (buffer.value.as_str(), buffer.default.as_str()),
        ("1048576", "67108864")
    );
    assert!(changed.iter().all(|o| o.value != o.default));
    let all: Vec<OptionInForce> = get_json(monitor.address(), "/api/v1/0/options?all");
    assert!(all.len() > changed.len() + 100);
    let files: Vec<File> = get_json(monitor.address(), "/api/v1/0/files");
    let live = db.live_files().unwrap();
    assert_eq!((files.len(), live.len()), (2, 2));
    assert_eq!(files[0].bytes, live[0].size as u64);
    assert_eq!(files[0].entries, live[0].num_entries);
}
