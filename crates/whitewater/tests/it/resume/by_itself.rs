//! The database resumes by itself after a failure that stopped writes.

use super::{PROTOCOLS, Told, batches, open, options, rule, unattended};
use crate::harness::{seeds, tiny_unattended, watched};
use crate::simulated::in_threads;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;
use whitewater::fs::fault::{Fault, FaultFs, FaultOp, OpSet, PathMatch, Rule, When};
use whitewater::fs::mem::MemFs;
use whitewater::listener::{
    BackgroundErrorInfo, BackgroundErrorReason, BackgroundErrorRecoveryInfo, EventListener,
};
use whitewater::statistics::{Histogram, Ticker};
use whitewater::{
    CommitProtocol, DB, Error, ErrorKind, MultiThreaded, Options, Severity, TransactionDB,
    TransactionDBOptions, WritePolicy,
};
use whitewater_concurrent::system::{self, simulation};

const OUT: u64 = 120;

/// Writes until a write passes.
fn write_at_last(told: &Told, db: &crate::harness::Db, sync: bool, what: &str) {
    while let Err(e) = told.write(db, sync) {
        assert_eq!(e.kind(), ErrorKind::IOError, "{what}");
        assert!(e.severity() <= Severity::HardError, "{what}: {e}");
        system::sleep(Duration::from_micros(100));
    }
}

/// Operations on files of which the name has `part` fail from now on.
fn fail(faulty: &FaultFs, ops: &[FaultOp], part: &str, fault: Fault) {
    faulty.add_rule(Rule {
        ops: OpSet::of(ops),
        path: PathMatch::Contains(part.to_owned()),
        when: When::Nth(1),
        fault,
        sticky: true,
    });
}

/// Fails operations under 16 writers, twice, and reopens.
fn go_on_after(protocol: CommitProtocol, ops: &[FaultOp], part: &str, fault: Fault) {
    let mem = MemFs::new();
    let faulty = FaultFs::new(Arc::new(mem.clone()));
    let options = unattended(Arc::new(faulty.clone()), protocol);
    let db = open(&options);
    let told = Told::default();
    for round in 0..2 {
        let what = format!("{protocol} {ops:?} {part} {fault:?}, round {round}");
        told.write(&db, false).unwrap();
        fail(&faulty, ops, part, fault);
        told.storm(&db, |t, i| t == 0 && i % 3 == 0);
        told.check(&db, &format!("{what}: stopped"));
        faulty.clear_rules();
        write_at_last(&told, &db, false, &what);
        told.check(&db, &format!("{what}: resumed"));
        db.flush().unwrap_or_else(|e| panic!("{what}: flush: {e}"));
        write_at_last(&told, &db, true, &what);
        told.check(&db, &format!("{what}: written on"));
    }
    // The last write was synced.
    let after_cut = Arc::new(FaultFs::new(Arc::new(mem.crash_clone(0.0, 1))));
    let acked = told.acked.lock().unwrap().clone();
    let cut = open(&self::options(after_cut, protocol));
    assert_eq!(batches(&cut), acked, "{protocol}: after a power cut");
    drop(db);
    told.check(&open(&options), "reopened");
}

#[test]
fn writes_go_on_after_a_failed_log() {
    use FaultOp::{Append, Create, Extend, Sync};
    for protocol in PROTOCOLS {
        for (ops, fault) in [
            (vec![Append], Fault::Eio),
            (vec![Append], Fault::ShortWrite),
            (vec![Sync], Fault::Eio),
            (vec![Create, Extend], Fault::Enospc),
        ] {
            watched("failed log", OUT, move || {
                go_on_after(protocol, &ops, ".log", fault);
            });
        }
    }
}

#[test]
fn writes_go_on_once_a_full_disk_has_room() {
    use FaultOp::{Append, Create, Extend};
    for protocol in PROTOCOLS {
        watched("full disk", OUT, move || {
            go_on_after(protocol, &[Append, Create, Extend], "", Fault::Enospc);
        });
    }
}

/// The failed record may be in the manifest or not, whole or in part.
#[test]
fn writes_go_on_after_a_failed_manifest_write() {
    for protocol in PROTOCOLS {
        for (op, fault) in [
            (FaultOp::Append, Fault::Eio),
            (FaultOp::Append, Fault::ShortWrite),
            (FaultOp::Sync, Fault::Eio),
        ] {
            watched("failed manifest", OUT, move || {
                go_on_after(protocol, &[op], "MANIFEST", fault);
            });
        }
    }
}

/// The manifest has a table of a flush that has failed. The process dies before another manifest
/// is in force.
#[test]
fn a_table_that_a_failed_manifest_write_names_stays() {
    let mem = MemFs::new();
    let faulty = FaultFs::new(Arc::new(mem.clone()));
    let db = open(&unattended(
        Arc::new(faulty.clone()),
        CommitProtocol::Ordered,
    ));
    let told = Told::default();
    told.write(&db, true).unwrap();
    fail(&faulty, &[FaultOp::Sync], "MANIFEST", Fault::Eio);
    assert_eq!(db.flush().unwrap_err().kind(), ErrorKind::IOError);
    // A try or two.
    while faulty.injected().len() < 3 {
        system::sleep(Duration::from_micros(100));
    }
    let killed = Arc::new(FaultFs::new(Arc::new(mem.after_kill())));
    told.check(&open(&options(killed, CommitProtocol::Ordered)), "killed");
    faulty.clear_rules();
    write_at_last(&told, &db, true, "resumed");
    told.check(&db, "resumed");
}

/// Answers questions, and writes down what it is told of recoveries.
struct Notes {
    allows: bool,
    asked: AtomicUsize,
    told: Mutex<Vec<String>>,
}

impl Notes {
    fn new(allows: bool) -> Arc<Self> {
        Arc::new(Notes {
            allows,
            asked: AtomicUsize::new(0),
            told: Mutex::default(),
        })
    }

    fn tell(&self, what: &str, info: &BackgroundErrorRecoveryInfo) {
        let of = |e: &Option<Error>| e.is_some();
        let (old, new) = (of(&info.old_bg_error), of(&info.new_bg_error));
        let line = format!("{what} auto {} old {old} new {new}", info.auto_recovery);
        self.told.lock().unwrap().push(line);
    }

    fn told(&self) -> Vec<String> {
        self.told.lock().unwrap().clone()
    }
}

impl EventListener for Notes {
    fn allows_auto_recovery(&self, info: &BackgroundErrorInfo) -> bool {
        assert_eq!(info.reason, BackgroundErrorReason::WriteCallback);
        assert_eq!(info.error.severity(), Severity::HardError);
        self.asked.fetch_add(1, Ordering::SeqCst);
        self.allows
    }
    fn on_error_recovery_begin(&self, info: &BackgroundErrorRecoveryInfo) {
        self.tell("begin", info);
    }
    fn on_error_recovery_completed(&self, info: &BackgroundErrorRecoveryInfo) {
        self.tell("completed", info);
    }
    fn on_error_recovery_end(&self, info: &BackgroundErrorRecoveryInfo) {
        self.tell("end", info);
    }
}

fn listened(faulty: &FaultFs, notes: &Arc<Notes>) -> Options {
    let mut options = unattended(Arc::new(faulty.clone()), CommitProtocol::Ordered);
    options.add_event_listener(notes.clone());
    options.enable_statistics();
    options
}

#[test]
fn listeners_and_statistics_tell_of_it() {
    let (notes, faulty) = (Notes::new(true), FaultFs::new(Arc::new(MemFs::new())));
    let options = listened(&faulty, &notes);
    let (db, told) = (open(&options), Told::default());
    faulty.add_rule(rule(FaultOp::Append, ".log", 1, Fault::Eio, false));
    told.write(&db, false).unwrap_err();
    write_at_last(&told, &db, false, "resumed");
    drop(db);
    assert_eq!(
        notes.told(),
        [
            "begin auto true old true new false",
            "completed auto true old true new false",
            "end auto true old true new false",
        ]
    );
    assert_eq!(notes.asked.load(Ordering::SeqCst), 1);
    for ticker in [
        Ticker::ErrorHandlerAutoresumeCount,
        Ticker::ErrorHandlerAutoresumeRetryTotalCount,
        Ticker::ErrorHandlerAutoresumeSuccessCount,
    ] {
        assert_eq!(options.get_ticker_count(ticker), 1, "{ticker:?}");
    }
    let tries = options.get_histogram_data(Histogram::ErrorHandlerAutoresumeRetryCount);
    assert_eq!((tries.count(), tries.max()), (1, 1.0));
}

#[test]
fn it_is_given_up_after_as_many_tries_as_the_option_says() {
    watched("given up", OUT, || {
        let (notes, faulty) = (Notes::new(true), FaultFs::new(Arc::new(MemFs::new())));
        let mut options = listened(&faulty, &notes);
        options.set_max_bgerror_resume_count(3);
        let (db, told) = (open(&options), Told::default());
        fail(
            &faulty,
            &[FaultOp::Append, FaultOp::Create],
            ".log",
            Fault::Eio,
        );
        told.write(&db, false).unwrap_err();
        while notes.told().len() < 2 {
            system::sleep(Duration::from_micros(100));
        }
        faulty.clear_rules();
        for _ in 0..10 {
            let e = told.write(&db, false).unwrap_err();
            assert_eq!(e.severity(), Severity::HardError);
            system::sleep(Duration::from_micros(100));
        }
        assert_eq!(
            notes.told(),
            [
                "begin auto true old true new false",
                "end auto true old true new true",
            ]
        );
        let count = |ticker| options.get_ticker_count(ticker);
        assert_eq!(count(Ticker::ErrorHandlerAutoresumeCount), 1);
        assert_eq!(count(Ticker::ErrorHandlerAutoresumeRetryTotalCount), 3);
        assert_eq!(count(Ticker::ErrorHandlerAutoresumeSuccessCount), 0);
        db.resume().unwrap();
        told.write(&db, true).unwrap();
        told.check(&db, "resumed by hand");
    });
}

#[test]
fn without_tries_the_database_stays_stopped() {
    let faulty = FaultFs::new(Arc::new(MemFs::new()));
    let mut options = unattended(Arc::new(faulty.clone()), CommitProtocol::Ordered);
    options.set_max_bgerror_resume_count(0);
    let (db, told) = (open(&options), Told::default());
    faulty.add_rule(rule(FaultOp::Append, ".log", 1, Fault::Eio, false));
    for _ in 0..20 {
        told.write(&db, false).unwrap_err();
        system::sleep(Duration::from_micros(100));
    }
    db.resume().unwrap();
    told.write(&db, false).unwrap();
    told.check(&db, "resumed by hand");
}

#[test]
fn a_listener_may_keep_the_database_stopped() {
    watched("not allowed", OUT, || {
        let (notes, faulty) = (Notes::new(false), FaultFs::new(Arc::new(MemFs::new())));
        let options = listened(&faulty, &notes);
        let (db, told) = (open(&options), Told::default());
        faulty.add_rule(rule(FaultOp::Append, ".log", 1, Fault::Eio, false));
        told.write(&db, false).unwrap_err();
        while notes.asked.load(Ordering::SeqCst) == 0 {
            system::sleep(Duration::from_micros(100));
        }
        for _ in 0..10 {
            told.write(&db, false).unwrap_err();
            system::sleep(Duration::from_micros(100));
        }
        assert_eq!(notes.told(), [""; 0]);
        db.resume().unwrap();
        told.write(&db, false).unwrap();
        told.check(&db, "resumed by hand");
        assert_eq!(notes.asked.load(Ordering::SeqCst), 1);
    });
}

/// What more than a resumption is needed for stays.
#[test]
fn a_fatal_failure_is_not_resumed_from() {
    let (notes, faulty) = (Notes::new(true), FaultFs::new(Arc::new(MemFs::new())));
    let options = listened(&faulty, &notes);
    let (db, told) = (open(&options), Told::default());
    told.write(&db, true).unwrap();
    faulty.add_rule(Rule {
        ops: OpSet::of(&[FaultOp::SyncDir]),
        path: PathMatch::Any,
        when: When::Nth(1),
        fault: Fault::Eio,
        sticky: false,
    });
    db.flush().unwrap_err();
    for _ in 0..20 {
        let e = told.write(&db, false).unwrap_err();
        assert_eq!(e.severity(), Severity::FatalError);
        system::sleep(Duration::from_micros(100));
    }
    assert_eq!(notes.told(), [""; 0]);
    drop(db);
    told.check(&open(&options), "reopened");
}

/// Callers resume, too, and a column family comes and goes, while logs fail again and again.
#[test]
fn callers_may_resume_and_drop_families_meanwhile() {
    for protocol in PROTOCOLS {
        watched("meanwhile", OUT, move || {
            let faulty = FaultFs::new(Arc::new(MemFs::new()));
            let options = unattended(Arc::new(faulty.clone()), protocol);
            let (db, told) = (&open(&options), Told::default());
            let ended = &AtomicBool::new(false);
            std::thread::scope(|scope| {
                scope.spawn(|| {
                    while !ended.load(Ordering::SeqCst) {
                        let _ = db.resume();
                        system::sleep(Duration::from_micros(300));
                    }
                });
                scope.spawn(|| {
                    while !ended.load(Ordering::SeqCst) {
                        if db.create_cf("passing", &options).is_ok() {
                            let cf = db.cf_handle("passing").expect("just made");
                            let _ = db.put_cf(&cf, "k", "v");
                        }
                        let _ = db.drop_cf("passing");
                        system::sleep(Duration::from_micros(100));
                    }
                });
                for n in 0..40 {
                    let op = [FaultOp::Append, FaultOp::Sync][n % 2];
                    let part = [".log", "MANIFEST"][n / 2 % 2];
                    faulty.add_rule(Rule {
                        path: PathMatch::Contains(part.to_owned()),
                        ..Rule::nth(OpSet::of(&[op]), 1 + n as u64 % 7)
                    });
                    for i in 0..10 {
                        let _ = told.write(db, i % 3 == 0);
                    }
                    faulty.clear_rules();
                    write_at_last(&told, db, n % 2 == 0, "meanwhile");
                }
                ended.store(true, Ordering::SeqCst);
            });
            write_at_last(&told, db, true, "in the end");
            told.check(db, "in the end");
        });
    }
}

#[test]
fn a_database_may_be_closed_meanwhile() {
    for protocol in PROTOCOLS {
        for pause in [0, 50, 1_000] {
            watched("closed", OUT, move || {
                let mem = MemFs::new();
                let faulty = FaultFs::new(Arc::new(mem.clone()));
                let (db, told) = (
                    open(&unattended(Arc::new(faulty.clone()), protocol)),
                    Told::default(),
                );
                told.write(&db, true).unwrap();
                fail(&faulty, &[FaultOp::Append], ".log", Fault::Eio);
                told.storm(&db, |_, _| false);
                system::sleep(Duration::from_micros(pause));
                drop(db);
                faulty.clear_rules();
                let left = batches(&open(&options(Arc::new(faulty), protocol)));
                // Not more than acknowledged and failed, and all that was acknowledged.
                assert!(left.is_superset(&told.acked.lock().unwrap()), "{protocol}");
            });
        }
    }
}

#[test]
fn prepared_transactions_are_decided_afterwards() {
    for policy in [
        WritePolicy::WriteCommitted,
        WritePolicy::WritePrepared,
        WritePolicy::WriteUnprepared,
    ] {
        watched("prepared", OUT, move || {
            let mem = MemFs::new();
            let faulty = FaultFs::new(Arc::new(mem.clone()));
            let mut o = unattended(Arc::new(faulty.clone()), CommitProtocol::Ordered);
            let mut how = TransactionDBOptions::default();
            how.set_write_policy(policy);
            let open = |o: &Options| TransactionDB::<MultiThreaded>::open(o, &how, "/db").unwrap();
            let db = open(&o);
            for name in ["commits", "rolls back", "stays"] {
                let txn = db.transaction();
                txn.set_name(name.as_bytes()).unwrap();
                txn.put(name, "1").unwrap();
                txn.prepare().unwrap();
                drop(txn);
            }
            faulty.add_rule(rule(FaultOp::Append, ".log", 1, Fault::Eio, false));
            db.put("failed", "1").unwrap_err();
            while db.put("after", "1").is_err() {
                system::sleep(Duration::from_micros(100));
            }
            for txn in db.prepared_transactions() {
                match txn.get_name().as_deref() {
                    Some(b"commits") => txn.commit().unwrap(),
                    Some(b"rolls back") => txn.rollback().unwrap(),
                    _ => {}
                }
            }
            let seen = |db: &TransactionDB<MultiThreaded>| {
                ["commits", "rolls back", "stays", "failed", "after"]
                    .map(|key| db.get(key).unwrap().is_some())
            };
            assert_eq!(seen(&db), [true, false, false, false, true], "{policy:?}");
            let killed = FaultFs::new(Arc::new(mem.after_kill()));
            o.set_fs(Arc::new(killed));
            let left = open(&o);
            assert_eq!(seen(&left), [true, false, false, false, true], "{policy:?}");
            assert_eq!(left.prepared_transactions().len(), 1, "{policy:?}");
        });
    }
}

/// What was acknowledged and only in memory is in tables then.
#[test]
fn a_log_that_is_written_by_hand_loses_nothing() {
    watched("manual flush", OUT, || {
        let mem = MemFs::new();
        let faulty = FaultFs::new(Arc::new(mem.clone()));
        let mut o = unattended(Arc::new(faulty.clone()), CommitProtocol::Ordered);
        o.set_manual_wal_flush(true);
        let (db, told) = (open(&o), Told::default());
        for _ in 0..10 {
            told.write(&db, false).unwrap();
        }
        faulty.add_rule(rule(FaultOp::Append, ".log", 1, Fault::Eio, false));
        db.flush_wal(true).unwrap_err();
        write_at_last(&told, &db, false, "resumed");
        db.flush_wal(true).unwrap();
        told.check(&db, "resumed");
        let cut = Arc::new(FaultFs::new(Arc::new(mem.crash_clone(0.0, 1))));
        told.check(&open(&options(cut, CommitProtocol::Ordered)), "cut");
    });
}

/// Writers beside a resumption, in orders that seeds decide.
#[test]
fn every_write_passes_in_the_end() {
    for seed in seeds(1, 60) {
        simulation::run(seed, || {
            let faulty = FaultFs::new(Arc::new(MemFs::new()));
            let mut o = tiny_unattended();
            o.set_fs(Arc::new(faulty.clone()));
            let db = DB::open(&o, "/db").unwrap();
            let (op, part) = [
                (FaultOp::Append, ".log"),
                (FaultOp::Append, "MANIFEST"),
                (FaultOp::Extend, ".log"),
                (FaultOp::Append, ".sst"),
            ][seed as usize % 4];
            faulty.add_rule(Rule {
                path: PathMatch::Contains(part.to_owned()),
                ..Rule::nth(OpSet::of(&[op]), 1 + seed % 5)
            });
            let write = |who: u8| {
                for i in 0..60_u8 {
                    while let Err(e) = db.put([who, i], vec![i; 2000]) {
                        assert!(e.severity() <= Severity::HardError, "{e}");
                        system::sleep(Duration::from_millis(1));
                    }
                }
            };
            let flush = || {
                for _ in 0..3 {
                    let _ = db.flush();
                }
            };
            in_threads(vec![
                Box::new(|| write(0)),
                Box::new(|| write(1)),
                Box::new(flush),
            ]);
            for i in 0..60_u8 {
                for who in [0, 1] {
                    assert_eq!(db.get([who, i]), Ok(Some(vec![i; 2000])), "seed {seed}");
                }
            }
        });
    }
}
