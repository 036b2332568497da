//! Event listeners: which events they get, in which order, and what they may do.

use crate::harness::{Db, set_protocol, until};
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, OnceLock};
use tempfile::TempDir;
use whitewater::fs::fault::{Fault, FaultFs, FaultOp, OpSet, PathMatch, Rule, When};
use whitewater::fs::mem::MemFs;
use whitewater::listener::*;
use whitewater::{DB, ErrorKind, IngestExternalFileOptions, Options, SstFileWriter, WriteOptions};

/// Writes down the events that it gets.
#[derive(Default)]
struct Notes {
    lines: Mutex<Vec<String>>,
    flushes: Mutex<Vec<FlushJobInfo>>,
    compactions: Mutex<Vec<CompactionJobInfo>>,
    tables: Mutex<Vec<TableFileCreationInfo>>,
    ingested: Mutex<Vec<ExternalFileIngestionInfo>>,
    errors: Mutex<Vec<BackgroundErrorInfo>>,
}

impl Notes {
    fn line(&self, text: impl Into<String>) {
        self.lines.lock().unwrap().push(text.into());
    }

    /// The lines so far that begin with one of `starts`.
    fn told(&self, starts: &[&str]) -> Vec<String> {
        let lines = self.lines.lock().unwrap();
        let wanted = |line: &&String| starts.iter().any(|start| line.starts_with(start));
        lines.iter().filter(wanted).cloned().collect()
    }
}

impl EventListener for Notes {
    fn on_flush_begin(&self, info: &FlushJobInfo) {
        assert_eq!((&info.file_path, info.file_size), (&None, 0));
        self.line(format!("flush begin {}", info.job_id));
    }
    fn on_flush_completed(&self, info: &FlushJobInfo) {
        self.line(format!("flush end {}", info.job_id));
        self.flushes.lock().unwrap().push(info.clone());
    }
    fn on_compaction_begin(&self, info: &CompactionJobInfo) {
        assert!(info.output_files.is_empty());
        self.line(format!("compaction begin {}", info.job_id));
    }
    fn on_compaction_completed(&self, info: &CompactionJobInfo) {
        self.line(format!("compaction end {}", info.job_id));
        self.compactions.lock().unwrap().push(info.clone());
    }
    fn on_table_file_created(&self, info: &TableFileCreationInfo) {
        self.line(format!("created {}", info.file_path.display()));
        self.tables.lock().unwrap().push(info.clone());
    }
    fn on_table_file_deleted(&self, info: &TableFileDeletionInfo) {
        assert_eq!(info.status, Ok(()));
        self.line(format!("deleted {}", info.file_path.display()));
    }
    fn on_memtable_sealed(&self, info: &MemTableInfo) {
        self.line(format!("sealed {} {}", info.cf_name, info.num_entries));
    }
    fn on_column_family_handle_deletion_started(&self, info: &ColumnFamilyInfo) {
        self.line(format!("dropped {}", info.cf_name));
    }
    fn on_external_file_ingested(&self, info: &ExternalFileIngestionInfo) {
        self.ingested.lock().unwrap().push(info.clone());
    }
    fn on_stall_conditions_changed(&self, info: &WriteStallInfo) {
        let cause = info.cause.as_deref().unwrap_or("nothing");
        self.line(format!("stall {:?} -> {:?}: {cause}", info.prev, info.cur));
    }
    fn on_background_error(&self, info: &BackgroundErrorInfo) {
        self.line(format!("error {:?}", info.reason));
        self.errors.lock().unwrap().push(info.clone());
    }
    fn on_error_recovery_begin(&self, info: &BackgroundErrorRecoveryInfo) {
        self.line(format!("recovery begin auto {}", info.auto_recovery));
    }
    fn on_error_recovery_end(&self, info: &BackgroundErrorRecoveryInfo) {
        let good = info.new_bg_error.is_none();
        self.line(format!("recovery end {good}"));
    }
}

fn options(listener: Arc<dyn EventListener>) -> Options {
    let mut options = Options::default();
    options.create_if_missing(true);
    options.stay_stopped();
    options.set_disable_auto_compactions(true);
    options.add_event_listener(listener);
    set_protocol(&mut options);
    options
}

fn open(notes: &Arc<Notes>) -> (TempDir, DB) {
    let dir = tempfile::tempdir().unwrap();
    let db = DB::open(&options(notes.clone()), dir.path().join("db")).unwrap();
    (dir, db)
}

#[test]
fn jobs_and_their_files_are_told_in_order() {
    let notes = Arc::new(Notes::default());
    #[cfg_attr(
        feature = "multi-threaded-cf",
        expect(unused_mut, reason = "only the single-threaded form needs it")
    )]
    let (dir, mut db) = open(&notes);
    for round in 0..2 {
        db.put(b"a", format!("{round}")).unwrap();
        db.put(b"b", b"1").unwrap();
        db.delete(b"c").unwrap();
        db.flush().unwrap();
        // The flush returns before its end is told.
        db.wait_for_compact(&Default::default()).unwrap();
    }
    db.compact_range(None::<&[u8]>, None::<&[u8]>);
    db.create_cf("other", &Options::default()).unwrap();
    db.drop_cf("other").unwrap();
    drop(db);

    let told = notes.told(&["flush", "sealed"]);
    assert_eq!(told.len(), 6, "{told:?}");
    for chunk in told.chunks(3) {
        assert_eq!(chunk[0], "sealed default 3");
        let begun = chunk[1].strip_prefix("flush begin ").unwrap();
        assert_eq!(chunk[2], format!("flush end {begun}"));
    }
    let flushes = notes.flushes.lock().unwrap();
    let (first, second) = (&flushes[0], &flushes[1]);
    assert_eq!(first.cf_name, "default");
    assert_eq!((first.num_entries, first.num_deletes), (3, 1));
    assert_eq!((first.smallest_seqno, first.largest_seqno), (1, 3));
    assert_eq!((second.smallest_seqno, second.largest_seqno), (4, 6));
    assert!(first.file_size > 0 && first.memory_usage > 0);
    assert!(!first.triggered_writes_slowdown && !first.triggered_writes_stop);

    let compactions = notes.compactions.lock().unwrap();
    let [compaction] = &compactions[..] else {
        panic!("{compactions:?}");
    };
    assert_eq!(compaction.status, Ok(()));
    assert_eq!(compaction.compaction_reason, "ManualCompaction");
    assert_eq!(compaction.base_input_level, 0);
    assert_eq!(compaction.num_input_files_at_output_level, 0);
    let inputs: Vec<_> = flushes.iter().filter_map(|f| f.file_path.clone()).collect();
    let mut found = compaction.input_files.clone();
    found.sort();
    assert_eq!(found, inputs);
    let stats = compaction.stats;
    assert_eq!((stats.num_input_files, stats.num_output_files), (2, 1));
    assert_eq!((stats.num_input_records, stats.num_output_records), (6, 2));
    assert_eq!(stats.num_records_replaced, 3);
    assert_eq!(stats.num_expired_deletion_records, 1);
    assert_eq!(stats.num_subcompactions, 1);
    assert!(stats.total_output_bytes > 0 && stats.total_input_bytes > stats.total_output_bytes);

    let tables = notes.tables.lock().unwrap();
    let reasons: Vec<_> = tables.iter().map(|t| t.reason).collect();
    use TableFileCreationReason::{Compaction, Flush};
    assert_eq!(reasons, [Flush, Flush, Compaction]);
    assert_eq!(tables[2].file_path, compaction.output_files[0]);
    assert_eq!(tables[2].file_path.parent(), Some(&*dir.path().join("db")));
    let deleted: Vec<_> = inputs
        .iter()
        .map(|p| format!("deleted {}", p.display()))
        .collect();
    let mut told = notes.told(&["deleted"]);
    told.sort();
    assert_eq!(told, deleted);
    assert_eq!(notes.told(&["dropped"]), ["dropped other"]);
    assert_eq!(notes.told(&["error", "recovery", "stall"]), [""; 0]);
}

#[test]
fn a_listener_may_come_when_the_database_is_open() {
    let dir = tempfile::tempdir().unwrap();
    let mut plain = Options::default();
    plain.create_if_missing(true);
    set_protocol(&mut plain);
    let db = DB::open(&plain, dir.path().join("db")).unwrap();
    db.put(b"a", b"1").unwrap();
    db.flush().unwrap();
    let (first, second) = (Arc::new(Notes::default()), Arc::new(Notes::default()));
    db.add_event_listener(first.clone()).unwrap();
    db.put(b"b", b"1").unwrap();
    db.flush().unwrap();
    let observer = db.observer();
    observer.add_event_listener(second.clone()).unwrap();
    db.put(b"c", b"1").unwrap();
    db.flush().unwrap();
    drop(db);
    let seen = |notes: &Notes| notes.told(&["sealed"]).len();
    assert_eq!((seen(&first), seen(&second)), (2, 1));
    let late = observer.add_event_listener(second).unwrap_err();
    assert_eq!(late.kind(), ErrorKind::ShutdownInProgress);
    let reader = DB::open_for_read_only(&plain, dir.path().join("db"), false).unwrap();
    let none = reader.add_event_listener(first).unwrap_err();
    assert_eq!(none.kind(), ErrorKind::NotSupported);
}

#[test]
fn ingested_files_are_told_with_both_names() {
    let notes = Arc::new(Notes::default());
    let (dir, db) = open(&notes);
    let path = dir.path().join("outside.sst");
    let writer_options = Options::default();
    let mut writer = SstFileWriter::create(&writer_options);
    writer.open(&path).unwrap();
    writer.put(b"x", b"1").unwrap();
    writer.finish().unwrap();
    db.ingest_external_file_opts(&IngestExternalFileOptions::default(), vec![&path])
        .unwrap();
    let live = db.live_files().unwrap();
    drop(db);
    let ingested = notes.ingested.lock().unwrap();
    assert_eq!(ingested.len(), 1);
    assert_eq!(ingested[0].external_file_path, path);
    let name = ingested[0].internal_file_path.file_name().unwrap();
    assert_eq!(format!("/{}", name.to_str().unwrap()), live[0].name);
    assert_eq!(ingested[0].level as i32, live[0].level);
}

#[test]
fn stalls_are_told_when_they_begin_and_end() {
    let notes = Arc::new(Notes::default());
    let dir = tempfile::tempdir().unwrap();
    let mut options = options(notes.clone());
    options.set_disable_auto_compactions(false);
    options.set_level_zero_file_num_compaction_trigger(2);
    options.set_level_zero_slowdown_writes_trigger(2);
    options.set_level_zero_stop_writes_trigger(50);
    let db = DB::open(&options, dir.path()).unwrap();
    for _ in 0..2 {
        db.put(b"a", b"1").unwrap();
        db.flush().unwrap();
    }
    db.compact_range(None::<&[u8]>, None::<&[u8]>);
    drop(db);
    assert_eq!(
        notes.told(&["stall"]),
        [
            "stall Normal -> Delayed: we have 2 level-0 files",
            "stall Delayed -> Normal: nothing"
        ]
    );
}

#[test]
fn failures_and_recoveries_are_told() {
    let notes = Arc::new(Notes::default());
    let faults = Arc::new(FaultFs::new(Arc::new(MemFs::new())));
    let mut options = options(notes.clone());
    options.set_fs(faults.clone());
    let db = DB::open(&options, "/db").unwrap();
    db.put(b"a", b"1").unwrap();
    faults.add_rule(Rule {
        ops: OpSet::of(&[FaultOp::Sync]),
        path: PathMatch::EndsWith(".log".to_owned()),
        when: When::Nth(1),
        fault: Fault::Eio,
        sticky: false,
    });
    let mut synced = WriteOptions::default();
    synced.set_sync(true);
    db.put_opt(b"b", b"1", &synced).unwrap_err();
    db.resume().unwrap();
    db.put(b"c", b"1").unwrap();
    drop(db);
    let mut told = notes.told(&["error", "recovery"]);
    // The sync failed, and so did the write that asked for it.
    told.dedup();
    assert_eq!(
        told,
        [
            "error WriteCallback",
            "recovery begin auto false",
            "recovery end true"
        ]
    );
    let errors = notes.errors.lock().unwrap();
    assert_eq!(errors[0].error.severity(), whitewater::Severity::HardError);
}

#[test]
fn events_wait_for_a_slow_listener_and_are_counted() {
    /// Waits in its first event until a test lets it go on.
    struct Slow {
        gate: Mutex<Option<std::sync::mpsc::Receiver<()>>>,
        told: Mutex<Vec<u64>>,
    }
    impl EventListener for Slow {
        fn on_memtable_sealed(&self, info: &MemTableInfo) {
            let gate = self.gate.lock().unwrap().take();
            if let Some(gate) = gate {
                // Released by a message, or because the test has failed.
                let _ = gate.recv();
            }
            self.told.lock().unwrap().push(info.id);
        }
    }
    let (go_on, gate) = std::sync::mpsc::channel();
    let slow = Arc::new(Slow {
        gate: Mutex::new(Some(gate)),
        told: Mutex::default(),
    });
    let fs = MemFs::new();
    let mut o = options(slow.clone());
    o.set_fs(Arc::new(fs.clone()));
    o.set_disable_auto_compactions(true);
    o.set_level_zero_slowdown_writes_trigger(i32::MAX);
    o.set_level_zero_stop_writes_trigger(i32::MAX);
    let dir = std::path::Path::new("/db");
    let db = DB::open(&o, dir).unwrap();
    let pending = || {
        let name = whitewater::properties::NUM_PENDING_EVENTS;
        db.property_int_value(name).unwrap().unwrap()
    };
    assert_eq!(pending(), 0);
    // Neither writers nor flushes wait for it: at least four events for each.
    let flushes = 300;
    for i in 0..flushes {
        db.put(b"key", i.to_string()).unwrap();
        db.flush().unwrap();
    }
    assert!(pending() > 1024, "{}", pending());
    go_on.send(()).unwrap();
    while pending() > 0 {
        std::thread::yield_now();
    }
    let told = slow.told.lock().unwrap().clone();
    assert_eq!(told.len(), flushes);
    assert!(told.is_sorted(), "in order");
    drop(db);
    let log = whitewater::fs::read_file(&fs, &dir.join("LOG"), 1 << 30).unwrap();
    let log = String::from_utf8(log).unwrap();
    let warned = log.matches("events wait in memory").count();
    assert_eq!(warned, 1, "once, as they only get fewer: {log}");
}

#[test]
fn a_listener_may_use_the_database_and_panic() {
    #[derive(Default)]
    struct Writer {
        db: OnceLock<std::sync::Weak<DB>>,
        wrote: Mutex<u32>,
    }
    impl EventListener for Writer {
        fn on_memtable_sealed(&self, _: &MemTableInfo) {
            if let Some(db) = self.db.get().and_then(std::sync::Weak::upgrade) {
                db.put(b"written by", b"a listener").unwrap();
                *self.wrote.lock().unwrap() += 1;
            }
            panic!("expected by the test");
        }
    }
    let (writer, notes) = (Arc::new(Writer::default()), Arc::new(Notes::default()));
    let mut options = options(writer.clone());
    options.add_event_listener(notes.clone());
    let dir = tempfile::tempdir().unwrap();
    let db = Arc::new(DB::open(&options, dir.path()).unwrap());
    writer.db.set(Arc::downgrade(&db)).unwrap();
    db.put(b"a", b"1").unwrap();
    db.flush().unwrap();
    // Queued events are delivered before the end, also to listeners that did not panic.
    while *writer.wrote.lock().unwrap() == 0 || Arc::strong_count(&db) > 1 {
        std::thread::yield_now();
    }
    drop(Arc::into_inner(db));
    assert_eq!(notes.told(&["sealed", "flush end"]).len(), 2);
    let log = std::fs::read_to_string(dir.path().join("LOG")).unwrap();
    assert!(log.contains("an event listener panicked"), "{log}");
    let db = DB::open(&Options::default(), dir.path()).unwrap();
    assert_eq!(db.get(b"written by").unwrap().unwrap(), b"a listener");
}

/// There is nothing left to retry.
#[test]
fn a_recovery_ends_when_the_family_that_failed_is_dropped() {
    let notes = Arc::new(Notes::default());
    let faults = Arc::new(FaultFs::new(Arc::new(MemFs::new())));
    let mut options = options(notes.clone());
    options.set_fs(faults.clone());
    options.create_missing_column_families(true);
    let db = Db::open_cf(&options, "/db", ["default", "gone"]).unwrap();
    faults.add_rule(Rule {
        ops: OpSet::of(&[FaultOp::Create]),
        path: PathMatch::EndsWith(".sst".to_owned()),
        when: When::Nth(1),
        fault: Fault::Enospc,
        sticky: true,
    });
    {
        let gone = db.cf_handle("gone").unwrap();
        db.put_cf(&gone, "k", "v").unwrap();
        db.flush_cf(&gone).unwrap_err();
    }
    db.drop_cf("gone").unwrap();
    faults.clear_rules();
    db.put("k", "v").unwrap();
    drop(db);
    let told = notes.told(&["recovery"]);
    assert_eq!(told[..2], ["recovery begin auto true", "recovery end true"]);
    assert_eq!(told.len() % 2, 0, "{told:?}");
}

#[test]
fn a_sealed_memtable_has_the_numbers_of_its_first_entry_and_of_the_last_before_it() {
    /// Writes down name, first and earliest number, and number of entries.
    #[derive(Default)]
    struct Sealed(Mutex<Vec<(String, u64, u64, u64)>>);
    impl EventListener for Sealed {
        fn on_memtable_sealed(&self, info: &MemTableInfo) {
            let numbers = (info.first_seqno, info.earliest_seqno, info.num_entries);
            let (first, earliest, entries) = numbers;
            let line = (info.cf_name.clone(), first, earliest, entries);
            self.0.lock().unwrap().push(line);
        }
    }
    let sealed = Arc::new(Sealed::default());
    let mut o = options(sealed.clone());
    o.set_fs(Arc::new(MemFs::new()));
    let dir = std::path::Path::new("/db");
    #[cfg_attr(
        feature = "multi-threaded-cf",
        expect(unused_mut, reason = "only the single-threaded form needs it")
    )]
    let mut db = DB::open(&o, dir).unwrap();
    db.put(b"a", b"1").unwrap(); // 1
    db.create_cf("other", &Options::default()).unwrap();
    {
        let other = db.cf_handle("other").unwrap();
        db.put(b"a", b"2").unwrap(); // 2
        let mut batch = whitewater::WriteBatch::default();
        batch.put(b"b", b"3"); // 3
        batch.put_cf(&other, b"b", b"4"); // 4
        batch.put_cf(&other, b"c", b"5"); // 5
        db.write(batch).unwrap();
        db.flush().unwrap();
        db.put_cf(&other, b"d", b"6").unwrap(); // 6
        db.flush_cf(&other).unwrap();
        db.delete_range_cf(&other, b"a", b"c").unwrap(); // 7
        db.put(b"z", b"8").unwrap(); // 8
        db.flush_cf(&other).unwrap();
    }
    drop(db);
    let db = DB::open_cf(&o, dir, ["other"]).unwrap(); // writes 8 into a table
    db.put(b"z", b"9").unwrap(); // 9
    db.flush().unwrap();
    drop(db);
    let told = sealed.0.lock().unwrap();
    let told: Vec<_> = told
        .iter()
        .map(|(n, f, e, c)| (&n[..], *f, *e, *c))
        .collect();
    assert_eq!(
        told,
        [
            ("default", 1, 0, 3),
            ("other", 4, 1, 3),
            ("other", 7, 6, 1),
            ("default", 9, 8, 1),
        ]
    );
}

/// Overrules failures, or not, and counts how often it was asked, and told afterwards.
struct Judge {
    overrules: bool,
    asked: AtomicUsize,
    told: Mutex<Vec<BackgroundErrorInfo>>,
    recovered: AtomicUsize,
}

impl EventListener for Judge {
    fn overrules_background_error(&self, info: &BackgroundErrorInfo) -> bool {
        assert_eq!(info.reason, BackgroundErrorReason::Compaction);
        assert!(info.error.severity() > whitewater::Severity::HardError);
        self.asked.fetch_add(1, Ordering::SeqCst);
        self.overrules
    }
    fn on_background_error(&self, info: &BackgroundErrorInfo) {
        self.told.lock().unwrap().push(info.clone());
    }
    fn on_error_recovery_completed(&self, _: &BackgroundErrorRecoveryInfo) {
        self.recovered.fetch_add(1, Ordering::SeqCst);
    }
}

fn judged(overrules: bool) -> (Arc<Judge>, Options) {
    let judge = Arc::new(Judge {
        overrules,
        asked: AtomicUsize::new(0),
        told: Mutex::default(),
        recovered: AtomicUsize::new(0),
    });
    let mut o = options(judge.clone());
    o.set_fs(Arc::new(MemFs::new()));
    o.set_bgerror_resume_retry_interval(1);
    (judge, o)
}

/// A merge operator panics, in a compaction on request.
#[test]
fn a_listener_can_overrule_the_failure_of_a_compaction() {
    for overrules in [false, true] {
        let (judge, mut o) = judged(overrules);
        o.set_merge_operator_associative("panics", |_, _, operands| {
            assert!(operands.len() < 2, "expected by the test");
            operands.iter().next().map(<[u8]>::to_vec)
        });
        let db = DB::open(&o, "/db").unwrap();
        for _ in 0..2 {
            db.merge(b"k", b"v").unwrap();
            db.flush().unwrap();
        }
        db.put(b"other", b"v").unwrap();
        db.flush().unwrap();
        db.compact_range(None::<&[u8]>, None::<&[u8]>);
        assert_eq!(db.put(b"z", b"v").is_ok(), overrules);
        assert_eq!(db.flush().is_ok(), overrules);
        drop(db);
        assert_eq!(judge.asked.load(Ordering::SeqCst), 1);
        let told = judge.told.lock().unwrap();
        assert!(told.len() == 1 && told[0].asked, "{told:?}");
        let soft = told[0].error.severity() == whitewater::Severity::SoftError;
        assert_eq!(soft, overrules);
    }
}

/// It panics once, in a compaction that begins by itself.
#[test]
fn a_compaction_whose_failure_was_overruled_is_tried_again() {
    let (judge, mut o) = judged(true);
    o.set_disable_auto_compactions(false);
    o.set_level_zero_file_num_compaction_trigger(2);
    let panicked = Arc::new(AtomicBool::new(false));
    let once = panicked.clone();
    o.set_compaction_filter("panics", move |_, _, _| {
        assert!(once.swap(true, Ordering::SeqCst), "expected by the test");
        whitewater::CompactionDecision::Keep
    });
    let db = DB::open(&o, "/db").unwrap();
    for _ in 0..2 {
        db.put(b"k", b"v").unwrap();
        db.flush().unwrap();
    }
    until("another try", || {
        judge.recovered.load(Ordering::SeqCst) == 1
    });
    assert_eq!(db.live_files().unwrap().len(), 1);
    db.put(b"k", b"w").unwrap();
    drop(db);
    assert!(panicked.load(Ordering::SeqCst));
    assert_eq!(judge.asked.load(Ordering::SeqCst), 1);
}
