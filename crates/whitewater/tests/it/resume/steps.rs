//! A resumption may fail or be killed at each of its steps, and leaves what it must.

use super::{PROTOCOLS, Told, batches, open, options, rule, write};
use crate::harness::{DIR, open_all, watched};
use std::collections::BTreeSet;
use std::path::Path;
use std::sync::Arc;
use whitewater::checkpoint::Checkpoint;
use whitewater::fs::fault::{Fault, FaultFs, FaultOp, OpSet, PathMatch, Rule, When};
use whitewater::fs::mem::MemFs;
use whitewater::{CommitProtocol, DBRecoveryMode, Severity, SstFileWriter, WriteOptions};

/// A failed resumption leaves the database as it was, and the next one succeeds.
#[test]
fn a_resumption_may_fail_anywhere_and_be_repeated() {
    watched("resumptions", 120, || {
        let mut met = 0;
        for n in 1..200 {
            let mem = MemFs::new();
            let faulty = FaultFs::new(Arc::new(mem.clone()));
            let options = options(Arc::new(faulty.clone()), CommitProtocol::Ordered);
            let db = open(&options);
            let told = Told::default();
            faulty.add_rule(rule(FaultOp::Append, ".log", 30, Fault::Eio, false));
            told.storm(&db, |_, _| false);
            faulty.clear_rules();
            let before = faulty.injected().len();
            faulty.add_rule(Rule {
                ops: OpSet::WRITES,
                path: PathMatch::Any,
                when: When::Nth(n),
                fault: Fault::Enospc,
                sticky: false,
            });
            let first = db.resume();
            faulty.clear_rules();
            let hit = faulty.injected().len() > before;
            told.check(&db, &format!("after operation {n}: {first:?}"));
            match db.resume() {
                Ok(()) => told.write(&db, true).unwrap(),
                Err(e) => assert!(e.severity() >= Severity::FatalError, "{n}: {e}"),
            }
            told.check(&db, &format!("after operation {n}, twice"));
            // What a power cut does to unsynced writes is not tested here.
            drop(db);
            let db = open(&options);
            let found = batches(&db);
            let acked = told.acked.lock().unwrap();
            assert!(found.is_superset(&acked), "operation {n}");
            if first.is_ok() {
                assert_eq!(found, *acked, "operation {n}: a failed write came back");
            }
            if !hit {
                break;
            }
            met += 1;
        }
        assert!(met > 10, "only {met}");
    });
}

/// Memtables wait until more can be flushed with them.
#[test]
fn a_resumption_makes_tables_of_all_memtables() {
    let mem = MemFs::new();
    let faulty = FaultFs::new(Arc::new(mem.clone()));
    let mut options = options(Arc::new(faulty.clone()), CommitProtocol::Ordered);
    options.set_min_write_buffer_number_to_merge(4);
    options.set_max_write_buffer_number(8);
    let db = open(&options);
    for n in 0..150u64 {
        db.put(n.to_be_bytes(), [1; 1_000]).unwrap();
    }
    let waiting = db.property_int_value("rocksdb.num-immutable-mem-table");
    assert!(waiting.unwrap() > Some(0));
    faulty.add_rule(rule(FaultOp::Append, ".log", 1, Fault::Eio, false));
    db.put("failed", "1").unwrap_err();
    db.resume().unwrap();
    let killed = Arc::new(FaultFs::new(Arc::new(mem.crash_clone(1.0, 0))));
    let left = open(&self::options(killed, CommitProtocol::Ordered));
    for db in [db, left] {
        let missing = (0..150u64).filter(|n| db.get(n.to_be_bytes()).unwrap().is_none());
        assert_eq!(missing.collect::<Vec<_>>(), [0u64; 0]);
        assert_eq!(db.get("failed").unwrap(), None);
    }
}

/// A resumption is killed when its log exists, but is not recorded yet. What it leaves opens as it
/// would without the resumption.
#[test]
fn a_killed_resumption_is_no_obstacle() {
    for mode in MODES {
        let mem = MemFs::new();
        let faulty = FaultFs::new(Arc::new(mem.clone()));
        let db = open(&options(Arc::new(faulty.clone()), CommitProtocol::Ordered));
        let told = Told::default();
        (0..5).for_each(|_| told.write(&db, false).unwrap());
        faulty.add_rule(rule(FaultOp::Append, ".log", 1, Fault::Eio, false));
        told.write(&db, false).unwrap_err();
        faulty.clear_rules();
        faulty.add_rule(rule(FaultOp::Create, ".sst", 1, Fault::Eio, true));
        faulty.add_rule(rule(FaultOp::Remove, ".log", 1, Fault::Eio, true));
        db.resume().unwrap_err();
        let left = Arc::new(FaultFs::new(Arc::new(mem.crash_clone(1.0, 0))));
        let mut options = options(left, CommitProtocol::Ordered);
        options.set_wal_recovery_mode(mode);
        told.check(&open(&options), &format!("{mode:?}"));
    }
}

const MODES: [DBRecoveryMode; 4] = [
    DBRecoveryMode::TolerateCorruptedTailRecords,
    DBRecoveryMode::AbsoluteConsistency,
    DBRecoveryMode::PointInTime,
    DBRecoveryMode::SkipAnyCorruptedRecord,
];

#[test]
fn tracked_logs_that_a_resumption_replaced_are_not_missed() {
    for protocol in [CommitProtocol::Ordered, CommitProtocol::Grouped] {
        let memory = MemFs::new();
        let fs = Arc::new(FaultFs::new(Arc::new(memory.clone())));
        let mut o = options(fs.clone(), protocol);
        o.set_track_and_verify_wals_in_manifest(true);
        let db = open(&o);
        // Closed logs that are tracked and needed.
        for n in 0..10 {
            write(&db, n, true).unwrap();
            if n % 3 == 0 {
                db.flush_cf(&db.cf_handle("one").unwrap()).unwrap();
            }
        }
        fs.add_rule(rule(FaultOp::Append, ".log", 1, Fault::Eio, false));
        write(&db, 10, true).unwrap_err();
        db.resume().unwrap();
        write(&db, 11, false).unwrap();
        let mut killed = options(fs.clone(), protocol);
        killed.set_fs(Arc::new(memory.after_kill()));
        killed.set_track_and_verify_wals_in_manifest(true);
        let expected: BTreeSet<u64> = (0..10).chain([11]).collect();
        assert_eq!(batches(&open(&killed)), expected);
        assert_eq!(batches(&db), expected);
    }
}

/// Only a dropped family needed the oldest logs, which the manifest does not know yet. A resumption
/// that gets no further leaves them.
#[test]
fn a_resumption_that_fails_keeps_the_logs_that_the_manifest_names() {
    for protocol in PROTOCOLS {
        for archive in [0, 1_000] {
            let memory = MemFs::new();
            let fs = Arc::new(FaultFs::new(Arc::new(memory.clone())));
            let mut options = options(fs.clone(), protocol);
            options.set_wal_ttl_seconds(archive);
            let db = open(&options);
            let two = db.cf_handle("two").unwrap();
            db.put_cf(&db.cf_handle("one").unwrap(), "old", "1")
                .unwrap();
            for n in 0..2 {
                db.put_cf(&two, [n], "1").unwrap();
                db.flush_cf(&two).unwrap();
            }
            let mut synced = WriteOptions::default();
            synced.set_sync(true);
            db.put_cf_opt(&two, "synced", "1", &synced).unwrap();
            db.drop_cf("one").unwrap();
            fs.add_rule(rule(FaultOp::Append, ".log", 1, Fault::Eio, true));
            db.put_cf(&two, "failed", "1").unwrap_err();
            fs.clear_rules();
            fs.add_rule(rule(FaultOp::Create, ".log", 1, Fault::Enospc, true));
            db.resume().unwrap_err();
            for mode in MODES {
                let mut killed = options.clone();
                killed.set_fs(Arc::new(memory.after_kill()));
                killed.set_wal_recovery_mode(mode);
                let db = open_all(&killed, Path::new(DIR)).unwrap();
                let two = db.cf_handle("two").unwrap();
                let found = db.get_cf(&two, "synced").unwrap();
                assert!(found.is_some(), "{protocol} {archive} {mode:?}");
            }
        }
    }
}

/// The last number may belong to a failed write.
#[test]
fn the_first_after_a_resumption_may_be_no_write() {
    for protocol in PROTOCOLS {
        let fs = Arc::new(FaultFs::new(Arc::new(MemFs::new())));
        let options = options(fs.clone(), protocol);
        let db = open(&options);
        db.put("before", "1").unwrap();
        fs.add_rule(rule(FaultOp::Append, ".log", 1, Fault::Eio, true));
        db.put("failed", "1").unwrap_err();
        fs.clear_rules();
        db.resume().unwrap();
        let checkpoint = Checkpoint::new(&db).unwrap();
        checkpoint.create_checkpoint("/data/copy").unwrap();
        let mut table = SstFileWriter::create(&options);
        table.open("/data/table").unwrap();
        table.put("ingested", "1").unwrap();
        table.finish().unwrap();
        db.ingest_external_file(vec!["/data/table"]).unwrap();
        db.put("after", "1").unwrap();
        let there = |key: &str| db.get(key).unwrap().is_some();
        let found = ["before", "failed", "ingested", "after"].map(there);
        assert_eq!(found, [true, false, true, true], "{protocol}");
    }
}
