//! Writers go on after an operation on the log has failed.

use super::{PROTOCOLS, Told, batches, open, options, rule};
use crate::harness::watched;
use std::sync::Arc;
use whitewater::fs::fault::{Fault, FaultFs, FaultOp};
use whitewater::fs::mem::MemFs;
use whitewater::{CommitProtocol, ErrorKind, Severity};

/// Fails an operation on the log under 16 writers, resumes twice, and reopens.
fn fail_and_resume(protocol: CommitProtocol, op: FaultOp, fault: Fault, n: u64) {
    let mem = MemFs::new();
    let faulty = FaultFs::new(Arc::new(mem.clone()));
    let options = options(Arc::new(faulty.clone()), protocol);
    let db = open(&options);
    let told = Told::default();
    let syncs = op == FaultOp::Sync;
    for round in 0..2 {
        let what = format!("{protocol} {op:?} {fault:?} {n}, round {round}");
        faulty.add_rule(rule(op, ".log", n, fault, true));
        told.storm(&db, |t, i| syncs && t == 0 && i % 3 == 0);
        let met = !faulty.injected().is_empty();
        assert!(met, "{what}");
        told.check(&db, &format!("{what}: frozen"));
        // A log that cannot grow may still have some room.
        let mut more = (0..10_000).map(|_| told.write(&db, false));
        let refused = more.find_map(Result::err).expect("refused at last");
        let frozen = db.latest_sequence_number();
        assert_eq!(refused.kind(), ErrorKind::IOError, "{what}");
        if refused.severity() == Severity::HardError {
            assert!(db.flush().is_err(), "{what}: no flush before");
            assert!(!refused.is_retryable());
        }
        assert_eq!(db.latest_sequence_number(), frozen, "{what}");
        told.check(&db, &format!("{what}: refused"));
        let count = db.property_int_value("rocksdb.background-errors");
        assert!(count.unwrap() >= Some(u64::from(refused.severity() >= Severity::HardError)));

        faulty.clear_rules();
        db.resume().unwrap_or_else(|e| panic!("{what}: {e}"));
        told.check(&db, &format!("{what}: resumed"));
        assert!(db.latest_sequence_number() >= frozen);
        for sync in [false, true] {
            told.write(&db, sync)
                .unwrap_or_else(|e| panic!("{what}: writing on: {e}"));
        }
        told.check(&db, &format!("{what}: written on"));
        db.flush().unwrap();
        told.check(&db, &format!("{what}: flushed"));
    }
    // The last write was synced.
    let after_cut = Arc::new(FaultFs::new(Arc::new(mem.crash_clone(0.0, 1))));
    let acked = told.acked.lock().unwrap().clone();
    let cut = open(&self::options(after_cut, protocol));
    assert_eq!(batches(&cut), acked, "after a power cut");
    drop(db);
    let db = open(&options);
    told.check(&db, "reopened");
    told.write(&db, true).unwrap();
}

#[test]
fn writes_go_on_after_a_failed_append() {
    for protocol in PROTOCOLS {
        for fault in [Fault::Eio, Fault::Enospc, Fault::ShortWrite] {
            for n in [1, 20, 300] {
                watched("append", 60, move || {
                    fail_and_resume(protocol, FaultOp::Append, fault, n);
                });
            }
        }
    }
}

#[test]
fn writes_go_on_after_a_failed_sync() {
    for protocol in PROTOCOLS {
        for n in [1, 7] {
            watched("sync", 60, move || {
                fail_and_resume(protocol, FaultOp::Sync, Fault::Eio, n);
            });
        }
    }
}

#[test]
fn writes_go_on_after_a_log_could_not_grow_or_be_made() {
    for protocol in PROTOCOLS {
        for op in [FaultOp::Extend, FaultOp::Create, FaultOp::Truncate] {
            watched("room", 60, move || {
                fail_and_resume(protocol, op, Fault::Enospc, 1);
            });
        }
    }
}

#[test]
fn compressed_logs_go_on_after_a_failure() {
    for protocol in PROTOCOLS {
        let mem = MemFs::new();
        let faulty = FaultFs::new(Arc::new(mem.clone()));
        let options = |fs| {
            let mut options = options(fs, protocol);
            options.set_wal_compression_type(whitewater::DBCompressionType::Zstd);
            options
        };
        let db = open(&options(Arc::new(faulty.clone())));
        let told = Told::default();
        faulty.add_rule(rule(FaultOp::Append, ".log", 30, Fault::Eio, false));
        told.storm(&db, |_, _| false);
        faulty.clear_rules();
        db.resume().unwrap();
        for _ in 0..10 {
            told.write(&db, true).unwrap();
        }
        let cut = FaultFs::new(Arc::new(mem.crash_clone(0.0, 1)));
        told.check(&open(&options(Arc::new(cut))), "after a power cut");
    }
}
