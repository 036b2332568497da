//! Which failures are retried automatically, which stop writes, and which calls are refused.

use super::{FAMILIES, PROTOCOLS, Told, open, options, rule};
use crate::harness::{DIR, watched};
use std::path::Path;
use std::sync::Arc;
use whitewater::fs::fault::{Fault, FaultFs, FaultOp, OpSet, PathMatch, Rule, When};
use whitewater::fs::mem::MemFs;
use whitewater::{CommitProtocol, ErrorKind, Severity, WriteOptions};

/// A full disk does not stop the database: flushes are retried. A writer that would have to wait
/// for them gets an error.
#[test]
fn flushes_are_tried_again_when_there_is_room() {
    watched("retries", 60, || {
        let mem = MemFs::new();
        let faulty = FaultFs::new(Arc::new(mem.clone()));
        let mut options = options(Arc::new(faulty.clone()), CommitProtocol::Ordered);
        options.enable_statistics();
        let db = open(&options);
        let told = Told::default();
        faulty.add_rule(rule(FaultOp::Append, ".sst", 1, Fault::Enospc, true));
        let e = loop {
            if let Err(e) = told.write(&db, false) {
                break e;
            }
        };
        assert_eq!(e.kind(), ErrorKind::IOError);
        assert!(e.is_no_space() && e.is_retryable(), "{e}");
        assert!(db.flush().unwrap_err().is_no_space());
        told.check(&db, "full");
        let tables = |fs: &MemFs| {
            let names = whitewater::fs::Fs::list(fs, Path::new(DIR)).unwrap();
            names.iter().filter(|name| name.ends_with(".sst")).count()
        };
        let live = db.live_files().unwrap().len();
        faulty.clear_rules();
        db.resume().unwrap();
        // The write would stall on a family whose flush has just failed again.
        for family in FAMILIES {
            db.flush_cf(&db.cf_handle(family).unwrap()).unwrap();
        }
        told.write(&db, true).unwrap();
        told.check(&db, "room");
        let ticker = whitewater::statistics::Ticker::ErrorHandlerAutoresumeSuccessCount;
        assert!(options.get_ticker_count(ticker) > 0);
        let more = db.live_files().unwrap().len();
        assert!(more > live);
        db.wait_for_compact(&Default::default()).unwrap();
        drop(db);
        let db = open(&options);
        told.check(&db, "reopened");
        let live = db.live_files().unwrap().len();
        assert_eq!(tables(&mem), live, "no partial output");
    });
}

/// As if tables were on another file system than the log.
#[test]
fn a_resumption_of_failed_flushes_has_ended_the_failure_or_fails() {
    for protocol in PROTOCOLS {
        watched("resumptions of flushes", 60, move || {
            let faulty = FaultFs::new(Arc::new(MemFs::new()));
            let db = open(&options(Arc::new(faulty.clone()), protocol));
            let told = Told::default();
            for round in 0..3 {
                faulty.add_rule(rule(FaultOp::Append, ".sst", 1, Fault::Enospc, true));
                // All wait for the flush, which fails again and again.
                let e = (0..).find_map(|_| told.write(&db, false).err()).unwrap();
                assert!(e.is_no_space(), "{e}");
                assert!(db.resume().unwrap_err().is_no_space(), "round {round}");
                faulty.clear_rules();
                // A flush that had begun before is no reason to fail.
                db.resume().unwrap();
                told.write(&db, round % 2 == 0).unwrap();
            }
            told.check(&db, "resumed");
        });
    }
}

#[test]
fn too_many_retries_stop_writes_until_a_resumption() {
    watched("retries", 60, || {
        let faulty = FaultFs::new(Arc::new(MemFs::new()));
        let mut options = options(Arc::new(faulty.clone()), CommitProtocol::Ordered);
        options.set_max_bgerror_resume_count(2);
        let db = open(&options);
        let told = Told::default();
        told.write(&db, false).unwrap();
        faulty.add_rule(rule(FaultOp::Append, ".sst", 1, Fault::Enospc, true));
        assert!(db.flush().is_err());
        let e = told.write(&db, false).unwrap_err();
        assert_eq!(e.severity(), Severity::HardError);
        assert!(db.resume().is_err(), "still full");
        assert!(told.write(&db, false).is_err());
        faulty.clear_rules();
        db.resume().unwrap();
        told.write(&db, false).unwrap();
        told.check(&db, "resumed");
    });
}

#[test]
fn what_is_not_safe_is_refused_with_the_reason() {
    let faulty = FaultFs::new(Arc::new(MemFs::new()));
    let options = options(Arc::new(faulty.clone()), CommitProtocol::Ordered);
    let db = open(&options);
    let told = Told::default();
    db.resume().unwrap();
    told.write(&db, false).unwrap();
    faulty.add_rule(Rule {
        ops: OpSet::of(&[FaultOp::SyncDir]),
        path: PathMatch::Any,
        when: When::Nth(1),
        fault: Fault::Eio,
        sticky: false,
    });
    assert!(db.flush().is_err());
    let e = db.resume().unwrap_err();
    assert_eq!(e.severity(), Severity::FatalError);
    assert!(e.to_string().contains(DIR), "{e}");
    assert!(told.write(&db, false).is_err());
    told.check(&db, "refused");
    drop(db);
    let db = open(&options);
    told.check(&db, "reopened");
    db.cancel_all_background_work(true);
    let e = db.resume().unwrap_err();
    assert_eq!(e.kind(), ErrorKind::ShutdownInProgress);
}

/// Writers are stalled, the log fails, and the database is resumed or closed.
#[test]
fn stalled_writers_outlive_failures_resumptions_and_the_end() {
    for resumes in [true, false] {
        watched("stalled", 60, move || {
            let faulty = FaultFs::new(Arc::new(MemFs::new()));
            let mut options = options(Arc::new(faulty.clone()), CommitProtocol::Ordered);
            options.set_disable_auto_compactions(false);
            options.set_level_zero_file_num_compaction_trigger(100);
            options.set_level_zero_slowdown_writes_trigger(100);
            options.set_level_zero_stop_writes_trigger(100);
            options.set_soft_pending_compaction_bytes_limit(0);
            options.set_hard_pending_compaction_bytes_limit(0);
            let db = open(&options);
            let told = Told::default();
            // Every flush fails for a while: memtables become full, and writers wait.
            faulty.add_rule(rule(FaultOp::Create, ".sst", 1, Fault::Enospc, true));
            told.storm(&db, |_, _| false);
            assert_eq!(
                db.property_int_value("rocksdb.is-write-stopped"),
                Ok(Some(1))
            );
            // Any of the families may have been the full one.
            let stops = |family: &&str| -> u64 {
                let cf = db.cf_handle(family).unwrap();
                let stats = db.property_map_value_cf(&cf, "rocksdb.cf-write-stall-stats");
                stats.unwrap().unwrap()["memtable-limit-stops"]
                    .parse()
                    .unwrap()
            };
            assert_ne!(FAMILIES.iter().map(stops).sum::<u64>(), 0);
            let mut impatient = WriteOptions::default();
            impatient.set_no_slowdown(true);
            let e = db.put_opt(b"12345678", b"v", &impatient).unwrap_err();
            assert!(e.is_retryable(), "{e}");
            faulty.add_rule(rule(FaultOp::Append, ".log", 1, Fault::Eio, true));
            let _ = db.flush();
            if resumes {
                faulty.clear_rules();
                db.resume().unwrap();
                db.flush().unwrap();
                told.write(&db, true).unwrap();
                told.check(&db, "resumed");
            }
            drop(db);
            faulty.clear_rules();
            let db = open(&options);
            told.check(&db, "reopened");
        });
    }
}
