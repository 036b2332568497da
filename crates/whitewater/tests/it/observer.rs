//! Observers: they see what the database tells, and do not keep it open.

use std::sync::{Arc, Mutex, mpsc};
use whitewater::fs::fault::{Fault, FaultFs, FaultOp, OpSet, PathMatch, Rule, When};
use whitewater::fs::mem::MemFs;
use whitewater::statistics::{Histogram, Ticker};
use whitewater::{CompactionDecision, DB, Options, TransactionDB, WriteOptions, properties};

fn options() -> Options {
    let mut options = Options::default();
    options.create_if_missing(true);
    options.create_missing_column_families(true);
    options.set_disable_auto_compactions(true);
    options
}

#[test]
fn an_observer_sees_figures_until_the_database_is_dropped() {
    let dir = tempfile::tempdir().unwrap();
    let mut options = options();
    options.enable_statistics();
    let families = ["default", "other"].map(|name| (name, options.clone()));
    let db = DB::open_cf_with_opts(&options, dir.path(), families).unwrap();
    let observer = db.observer();
    assert_eq!(observer.path(), dir.path());
    assert!(observer.is_open());
    assert_eq!(observer.column_families(), ["default", "other"]);
    db.put("river", "blue").unwrap();
    db.put_cf(&db.cf_handle("other").unwrap(), "stream", "white")
        .unwrap();
    assert_eq!(observer.latest_sequence_number(), Some(2));
    assert_eq!(observer.ticker(Ticker::NumberKeysWritten), Some(2));
    let writes = observer.histogram(Histogram::DbWrite).unwrap();
    assert_eq!(writes.data().count(), 2);
    db.put("river", "green").unwrap();
    let newer = observer.histogram(Histogram::DbWrite).unwrap();
    assert_eq!(newer.since(&writes).data().count(), 1);
    let entries =
        |cf: &str| observer.property_int_value(cf, properties::NUM_ENTRIES_ACTIVE_MEM_TABLE);
    assert_eq!(
        [entries("default"), entries("other"), entries("no")],
        [Some(2), Some(1), None]
    );
    assert_eq!(observer.property_value("other", "rocksdb.nothing"), None);
    let stats = observer
        .property_map_value("default", "rocksdb.dbstats")
        .unwrap();
    assert_eq!(stats["db.user_keys_written"], "3");
    db.flush().unwrap();
    assert_eq!(observer.live_files().unwrap()[0].num_entries, 1);
    drop(db);
    assert!(!observer.is_open());
    assert_eq!(entries("default"), None);
    assert_eq!(observer.ticker(Ticker::NumberKeysWritten), None);
    assert!(observer.column_families().is_empty() && observer.options().is_empty());
    assert!(observer.live_files().unwrap().is_empty());
    DB::open(&options, dir.path()).expect_err("without its families");
}

#[test]
fn options_are_told_with_their_defaults() {
    let dir = tempfile::tempdir().unwrap();
    let mut options = options();
    options.set_write_buffer_size(1 << 20);
    let db: TransactionDB = TransactionDB::open(&options, &Default::default(), dir.path()).unwrap();
    let all = whitewater::Observer::from(&db).options();
    let find = |cf: Option<&str>, name: &str| {
        let mut found = all.iter();
        let same = found.find(|o| o.column_family.as_deref() == cf && o.name == name);
        same.unwrap_or_else(|| panic!("{name}"))
    };
    let buffer = find(Some("default"), "write_buffer_size");
    assert_eq!(
        (buffer.value.as_str(), buffer.default.as_str()),
        ("1048576", "67108864")
    );
    assert!(buffer.changes_live);
    let jobs = find(None, "max_background_jobs");
    assert_eq!(jobs.value, jobs.default);
    let block = find(Some("default"), "block_based_table_factory.block_size");
    assert_eq!(block.value, "4096");
    assert!(!find(None, "create_if_missing").changes_live);
}

#[test]
fn stalls_are_told_with_what_they_are_measured_by() {
    let dir = tempfile::tempdir().unwrap();
    let mut options = options();
    options.set_disable_auto_compactions(false);
    // Compactions wait until the test is over.
    let (hold, held) = mpsc::channel::<()>();
    let held = Mutex::new(held);
    options.set_compaction_filter("wait", move |_, _, _| {
        let _ = held.lock().unwrap().recv();
        CompactionDecision::Keep
    });
    options.set_level_zero_file_num_compaction_trigger(2);
    options.set_level_zero_slowdown_writes_trigger(2);
    options.set_level_zero_stop_writes_trigger(30);
    let db = DB::open(&options, dir.path()).unwrap();
    let _hold = hold;
    let stall = || {
        db.property_map_value(properties::WRITE_STALL)
            .unwrap()
            .unwrap()
    };
    assert_eq!(stall()["condition"], "normal");
    assert_eq!(stall().get("cause"), None);
    for round in 0..2 {
        db.put("a", format!("{round}")).unwrap();
        db.flush().unwrap();
    }
    let told = stall();
    assert_eq!(told["condition"], "delayed");
    assert_eq!(told["cause"], "l0-file-count-limit");
    assert_eq!(told["reason"], "we have 2 level-0 files");
    let of = |name: &str| told[name].parse::<u64>().unwrap();
    let files = [
        of("level0-files"),
        of("level0-files.delay"),
        of("level0-files.stop"),
    ];
    assert_eq!(files, [2, 2, 30]);
    assert_eq!([of("memtables"), of("memtables.stop")], [0, 2]);
}

#[test]
fn the_error_that_stops_writes_is_told() {
    let faults = FaultFs::new(Arc::new(MemFs::new()));
    let mut options = options();
    options.set_fs(Arc::new(faults.clone()));
    options.set_max_bgerror_resume_count(0);
    let db = DB::open(&options, "/db").unwrap();
    let error = || {
        db.property_value(properties::BACKGROUND_ERROR)
            .unwrap()
            .unwrap()
    };
    assert_eq!(error(), "");
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
    assert_ne!(error(), "");
}

/// The number of times that a histogram has of a sample.
fn sampled(db: &DB, histogram: Histogram) -> Option<u64> {
    let counts = db.observer().sampled_latency(histogram)?;
    Some(counts.data().count())
}

#[test]
fn calls_are_timed_in_a_sample_while_statistics_are_off() {
    const CALLS: usize = 20_000;
    // One in 128, at random.
    let expected = 75..350;
    let dir = tempfile::tempdir().unwrap();
    let db = DB::open(&options(), dir.path()).unwrap();
    (0..CALLS).for_each(|_| db.put("river", "blue").unwrap());
    let writes = sampled(&db, Histogram::DbWrite).unwrap();
    assert!(expected.contains(&writes), "{writes} writes");
    (0..CALLS).for_each(|_| drop(db.get("river").unwrap()));
    let gets = sampled(&db, Histogram::DbGet).unwrap();
    assert!(expected.contains(&gets), "{gets} gets");
    let mut it = db.raw_iterator();
    (0..CALLS).for_each(|_| it.seek("river"));
    drop(it);
    let seeks = sampled(&db, Histogram::DbSeek).unwrap();
    assert!(expected.contains(&seeks), "{seeks} seeks");
    assert_eq!(sampled(&db, Histogram::DbWrite), Some(writes));
    assert_eq!(sampled(&db, Histogram::DbMultiget), Some(0));
    assert_eq!(sampled(&db, Histogram::FlushTime), None);
    drop(db);
    // One that only reads has its own.
    let db = DB::open_for_read_only(&options(), dir.path(), false).unwrap();
    let mut it = db.raw_iterator();
    (0..CALLS).for_each(|_| it.seek("river"));
    drop(it);
    let seeks = sampled(&db, Histogram::DbSeek).unwrap();
    assert!(expected.contains(&seeks), "{seeks} seeks");
}

#[test]
fn no_sample_is_taken_while_statistics_are_on() {
    let dir = tempfile::tempdir().unwrap();
    let mut options = options();
    options.enable_statistics();
    let db = DB::open(&options, dir.path()).unwrap();
    (0..1000).for_each(|_| db.put("river", "blue").unwrap());
    assert_eq!(sampled(&db, Histogram::DbWrite), Some(0));
}
