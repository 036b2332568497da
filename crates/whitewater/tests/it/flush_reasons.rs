//! Why memtables are flushed, as listeners, the log and the statistics tell.

use crate::harness::{Db, protocol, set_protocol, until};
use std::path::Path;
use std::sync::{Arc, Mutex};
use whitewater::checkpoint::Checkpoint;
use whitewater::fs::fault::{Fault, FaultFs, FaultOp, OpSet, PathMatch, Rule, When};
use whitewater::fs::mem::MemFs;
use whitewater::listener::FlushReason::*;
use whitewater::listener::{EventListener, FlushJobInfo, FlushReason};
use whitewater::statistics::Ticker;
use whitewater::{
    CommitProtocol, IngestExternalFileOptions, Options, SstFileWriter, WaitForCompactOptions,
    WriteOptions, properties,
};

const DIR: &str = "/db";

/// The column family and the reason of each flush that has begun, and of each that has ended.
#[derive(Default)]
struct Told {
    begun: Mutex<Vec<(String, FlushReason)>>,
    ended: Mutex<Vec<(String, FlushReason)>>,
}

impl EventListener for Told {
    fn on_flush_begin(&self, info: &FlushJobInfo) {
        let what = (info.cf_name.clone(), info.flush_reason);
        self.begun.lock().unwrap().push(what);
    }
    fn on_flush_completed(&self, info: &FlushJobInfo) {
        let what = (info.cf_name.clone(), info.flush_reason);
        self.ended.lock().unwrap().push(what);
    }
}

/// A database with the families `default` and `other`.
struct Setup {
    fs: Arc<FaultFs>,
    options: Options,
    told: Arc<Told>,
}

impl Setup {
    fn new() -> Setup {
        let fs = Arc::new(FaultFs::new(Arc::new(MemFs::new())));
        let told = Arc::new(Told::default());
        let mut o = Options::default();
        o.create_if_missing(true);
        o.create_missing_column_families(true);
        o.stay_stopped();
        set_protocol(&mut o);
        o.set_fs(fs.clone());
        o.set_disable_auto_compactions(true);
        o.set_write_buffer_size(1 << 20);
        o.set_arena_block_size(4 << 10);
        o.add_event_listener(told.clone());
        o.enable_statistics();
        let options = o;
        Setup { fs, options, told }
    }

    fn open(&self) -> Db {
        Db::open_cf_descriptors(&self.options, DIR, {
            let families = ["default", "other"].into_iter();
            families.map(|name| whitewater::ColumnFamilyDescriptor::new(name, self.options.clone()))
        })
        .unwrap()
    }

    /// Sets an option that has no setter.
    fn set(&mut self, text: &str) {
        self.options = self.options.get_options_from_string(text).unwrap();
    }

    /// What was told of a database on which `work` was done, until it was closed.
    fn reasons(&self, work: impl FnOnce(&Db)) -> Vec<(String, FlushReason)> {
        let db = self.open();
        work(&db);
        drop(db);
        let begun = self.told.begun.lock().unwrap().clone();
        assert_eq!(begun, *self.told.ended.lock().unwrap());
        begun
    }

    fn count(&self, ticker: Ticker) -> u64 {
        self.options.get_ticker_count(ticker)
    }

    fn log(&self) -> String {
        let log = whitewater::fs::read_file(&*self.fs, &Path::new(DIR).join("LOG"), 1 << 30);
        String::from_utf8(log.unwrap()).unwrap()
    }
}

fn of_default(reason: FlushReason) -> Vec<(String, FlushReason)> {
    vec![("default".to_owned(), reason)]
}

fn of_both(reason: FlushReason) -> Vec<(String, FlushReason)> {
    let both = ["default", "other"].into_iter();
    both.map(|name| (name.to_owned(), reason)).collect()
}

/// Fills a memtable of 1 MiB.
fn fill(db: &Db) {
    for n in 0..1_200 {
        db.put(format!("key{n}"), [7; 1_000]).unwrap();
    }
}

fn await_tables(db: &Db, tables: usize) {
    until("tables", || db.live_files().unwrap().len() >= tables);
}

#[test]
fn what_callers_ask_for() {
    type Work = fn(&Db);
    let works: [(Work, FlushReason); 4] = [
        (|db| db.flush().unwrap(), ManualFlush),
        (
            |db| {
                let mut o = WaitForCompactOptions::default();
                o.set_flush(true);
                db.wait_for_compact(&o).unwrap();
            },
            ManualFlush,
        ),
        (
            |db| db.compact_range(None::<&[u8]>, None::<&[u8]>),
            ManualCompaction,
        ),
        (
            |db| {
                let checkpoint = Checkpoint::new(db).unwrap();
                checkpoint.create_checkpoint("/copy").unwrap();
            },
            GetLiveFiles,
        ),
    ];
    for (work, reason) in works {
        let setup = Setup::new();
        let told = setup.reasons(|db| {
            db.put("k", "v").unwrap();
            work(db);
        });
        assert_eq!(told, of_default(reason));
        let text = format!(r#""flush_reason":"{}""#, reason.as_str());
        let log = setup.log().replace(": ", ":");
        assert!(log.contains(&text), "{text}: {log}");
    }
}

#[test]
fn unlogged_writes_when_the_database_is_closed() {
    let mut unlogged = WriteOptions::default();
    unlogged.disable_wal(true);
    let told = Setup::new().reasons(|db| db.put_opt("k", "v", &unlogged).unwrap());
    assert_eq!(told.first(), of_default(ShutDown).first());
    assert!(told.iter().all(|(_, reason)| *reason == ShutDown));
}

#[test]
fn tables_that_are_ingested_over_a_memtable() {
    let setup = Setup::new();
    let told = setup.reasons(|db| {
        let mut writer = SstFileWriter::create(&setup.options);
        writer.open("/outside.sst").unwrap();
        writer.put("k", "ingested").unwrap();
        writer.finish().unwrap();
        db.put("k", "v").unwrap();
        let o = IngestExternalFileOptions::default();
        db.ingest_external_file_opts(&o, vec!["/outside.sst"])
            .unwrap();
    });
    assert_eq!(told, of_default(ExternalFileIngestion));
}

#[test]
fn full_memtables() {
    let setup = Setup::new();
    let told = setup.reasons(|db| {
        fill(db);
        await_tables(db, 1);
    });
    assert_eq!(told, of_default(WriteBufferFull));
    assert_eq!(setup.count(Ticker::FlushReasonWriteBufferFull), 1);

    let mut setup = Setup::new();
    setup.set("memtable_max_range_deletions=3");
    let told = setup.reasons(|db| {
        let default = db.cf_handle("default").unwrap();
        for n in 0..3 {
            db.delete_range_cf(&default, format!("k{n}"), format!("k{n}a"))
                .unwrap();
        }
        // Attends to the full memtable.
        db.put("k", "v").unwrap();
        await_tables(db, 1);
    });
    assert_eq!(told, of_default(MemtableMaxRangeDeletions));
    assert_eq!(setup.count(Ticker::FlushReasonMemtableMaxRangeDeletions), 1);
    assert_eq!(setup.count(Ticker::FlushReasonWriteBufferFull), 0);
}

#[test]
fn memory_that_databases_share() {
    let mut setup = Setup::new();
    let manager = whitewater::WriteBufferManager::new_write_buffer_manager(256 << 10, false);
    setup.options.set_write_buffer_manager(&manager);
    let told = setup.reasons(|db| {
        for n in 0..250 {
            db.put(format!("key{n}"), [7; 1_000]).unwrap();
        }
        await_tables(db, 1);
    });
    assert_eq!(told, of_default(WriteBufferManager));
    assert_eq!(setup.count(Ticker::FlushReasonWriteBufferManager), 1);
}

/// The memtable that keeps the oldest log is small; the other one is full.
#[test]
fn logs_that_are_too_large() {
    let mut setup = Setup::new();
    setup.options.set_max_total_wal_size(256 << 10);
    let told = setup.reasons(|db| {
        let other = db.cf_handle("other").unwrap();
        db.put_cf(&other, "k", "v").unwrap();
        for n in 0..300 {
            db.put(format!("key{n}"), [7; 1_000]).unwrap();
        }
        await_tables(db, 2);
    });
    assert!(
        told.iter().all(|(_, reason)| *reason == WalFull),
        "{told:?}"
    );
    assert!(told.iter().any(|(name, _)| name == "other"), "{told:?}");
}

#[test]
fn failures() {
    let fault = |ops, suffix: &str, fault| Rule {
        ops: OpSet::of(&[ops]),
        path: PathMatch::EndsWith(suffix.to_owned()),
        when: When::Nth(1),
        fault,
        sticky: false,
    };
    // A flush that fails is tried again by itself.
    let setup = Setup::new();
    let db = setup.open();
    db.put("k", "v").unwrap();
    setup
        .fs
        .add_rule(fault(FaultOp::Create, ".sst", Fault::Enospc));
    let _ = db.flush();
    await_tables(&db, 1);
    drop(db);
    let of = |reason| of_default(reason).remove(0);
    let begun = setup.told.begun.lock().unwrap().clone();
    assert_eq!(begun, [of(ManualFlush), of(ErrorRecoveryRetryFlush)]);
    let ended = setup.told.ended.lock().unwrap().clone();
    assert_eq!(ended, [of(ErrorRecoveryRetryFlush)]);

    // A resumption flushes what there is.
    let setup = Setup::new();
    let told = setup.reasons(|db| {
        let other = db.cf_handle("other").unwrap();
        db.put("k", "v").unwrap();
        db.put_cf(&other, "k", "v").unwrap();
        setup.fs.add_rule(fault(FaultOp::Sync, ".log", Fault::Eio));
        let mut synced = WriteOptions::default();
        synced.set_sync(true);
        db.put_opt("lost", "v", &synced).unwrap_err();
        db.resume().unwrap();
        let stats = db.property_value(properties::STATS).unwrap().unwrap();
        assert!(stats.contains("Flush(GB)"), "{stats}");
    });
    assert_eq!(told, of_both(ErrorRecovery));
    assert!(setup.count(Ticker::FlushWriteBytes) > 0);
}

#[test]
fn atomic_flushes_have_one_reason() {
    let mut setup = Setup::new();
    setup.options.set_atomic_flush(true);
    if protocol() == Some(CommitProtocol::Pipelined) {
        return; // refused together
    }
    let told = setup.reasons(|db| {
        let other = db.cf_handle("other").unwrap();
        db.put_cf(&other, "k", "v").unwrap();
        fill(db);
        await_tables(db, 2);
    });
    assert_eq!(told, of_both(WriteBufferFull));
    let full = Ticker::AtomicFlushRequestReasonWriteBufferFull;
    assert_eq!(setup.count(full), 1);
    assert_eq!(setup.count(Ticker::AtomicFlushRequestReasonOther), 0);

    let mut setup = Setup::new();
    setup.options.set_atomic_flush(true);
    setup.set("memtable_max_range_deletions=1");
    let told = setup.reasons(|db| {
        let other = db.cf_handle("other").unwrap();
        db.put_cf(&other, "k", "v").unwrap();
        let default = db.cf_handle("default").unwrap();
        db.delete_range_cf(&default, "a", "b").unwrap();
        db.put("k", "v").unwrap();
        await_tables(db, 2);
    });
    assert_eq!(told, of_both(MemtableMaxRangeDeletions));
    let tombstones = Ticker::AtomicFlushRequestReasonMemtableMaxRangeDeletions;
    assert_eq!(setup.count(tombstones), 1);

    let mut setup = Setup::new();
    setup.options.set_atomic_flush(true);
    let told = setup.reasons(|db| {
        db.put("k", "v").unwrap();
        db.flush().unwrap();
    });
    assert_eq!(told, of_default(ManualFlush));
    assert_eq!(setup.count(Ticker::AtomicFlushRequestReasonOther), 1);
}

/// It was kept until something was written: a single full memtable was then flushed, although two
/// are to be merged.
#[test]
fn a_request_to_flush_nothing_was_kept_for_later_memtables() {
    let mut setup = Setup::new();
    setup.options.set_min_write_buffer_number_to_merge(2);
    setup.options.set_max_write_buffer_number(4);
    let told = setup.reasons(|db| {
        db.flush().unwrap();
        fill(db);
        let retired = || db.property_int_value(properties::NUM_IMMUTABLE_MEM_TABLE);
        until("a full memtable", || retired().unwrap() == Some(1));
        fill(db);
        await_tables(db, 1);
        assert_eq!(db.live_files().unwrap().len(), 1);
    });
    assert_eq!(told, of_default(WriteBufferFull));
}

#[test]
fn numbers_and_texts_are_those_of_rocksdb() {
    let known = [
        (GetLiveFiles, 1, "Get Live Files"),
        (ShutDown, 2, "Shut down"),
        (ExternalFileIngestion, 3, "External File Ingestion"),
        (ManualCompaction, 4, "Manual Compaction"),
        (WriteBufferManager, 5, "Write Buffer Manager"),
        (WriteBufferFull, 6, "Write Buffer Full"),
        (AutoCompaction, 9, "Auto Compaction"),
        (ManualFlush, 10, "Manual Flush"),
        (ErrorRecovery, 11, "Error Recovery"),
        (ErrorRecoveryRetryFlush, 12, "Error Recovery Retry Flush"),
        (WalFull, 13, "WAL Full"),
        (
            MemtableMaxRangeDeletions,
            15,
            "Memtable Max Range Deletions",
        ),
    ];
    for (reason, number, text) in known {
        assert_eq!((reason as u32, reason.as_str()), (number, text));
    }
}
