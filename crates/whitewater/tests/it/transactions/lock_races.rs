//! Who gets a key when its lock is stolen, given up or forgotten at the same moment. By a seed:
//! threads run one at a time, and time-outs take no time.

use super::{DIR, Txn, TxnDb, begin, kind, options, shown, txn_db_options};
use crate::harness::seeds;
use crate::simulated::in_threads;
use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;
use whitewater::{ErrorKind, TransactionDBOptions};
use whitewater_concurrent::system;
use whitewater_concurrent::system::simulation;

/// Options of a database in which everybody waits without end for a lock.
fn waiting() -> TransactionDBOptions {
    let mut waiting = txn_db_options();
    waiting.set_default_lock_timeout(-1);
    waiting.set_txn_lock_timeout(-1);
    waiting
}

fn open(how: &TransactionDBOptions) -> TxnDb {
    TxnDb::open(&options(), how, DIR).unwrap()
}

fn sleep(millis: u64) {
    system::sleep(Duration::from_millis(millis));
}

/// Lets others run until `is_true`.
fn until(what: &str, is_true: impl Fn() -> bool) {
    for _ in 0..10_000 {
        if is_true() {
            return;
        }
        sleep(1);
    }
    panic!("never: {what}");
}

/// How the transaction ends whose locks are stolen.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum End {
    Commit,
    Prepare,
    Rollback,
}

/// Ends `txn` as its expiration is over. Returns whether it is committed.
fn end(txn: Txn<'_>, how: End) -> bool {
    let outcome = match how {
        End::Commit => txn.commit(),
        End::Prepare => match txn.prepare() {
            Ok(()) => {
                sleep(5); // it does not expire any more
                txn.commit().expect("what is prepared can be committed");
                Ok(())
            }
            Err(e) => Err(e),
        },
        End::Rollback => match txn.rollback() {
            Ok(()) => return false,
            Err(e) => {
                assert_eq!(e.kind(), ErrorKind::InvalidArgument, "{e}");
                return false;
            }
        },
    };
    match outcome {
        Ok(()) => true,
        Err(e) => {
            assert_eq!(e.kind(), ErrorKind::Expired, "{e}");
            false
        }
    }
}

/// A transaction ends at the moment at which another may steal its locks. Returns whether it was
/// committed.
fn robbery(seed: u64, how: End) -> bool {
    let waiting = waiting();
    let (committed, _) = simulation::run(seed, || {
        let db = &open(&waiting);
        let committed = &AtomicBool::new(false);
        let seen = &Mutex::new(None);
        let robbed = Mutex::new(Some(begin(db, |o| o.set_expiration(10))));
        let begun = &AtomicBool::new(false);
        let robbed = &robbed;
        let owner = move || {
            let txn = robbed.lock().unwrap().take().unwrap();
            txn.set_name(b"x").unwrap();
            txn.put("k", "robbed").unwrap();
            txn.put("l", "robbed").unwrap();
            begun.store(true, Ordering::SeqCst);
            sleep(9 + seed % 2);
            committed.store(end(txn, how), Ordering::SeqCst);
        };
        let thief = move || {
            until("the key is locked", || begun.load(Ordering::SeqCst));
            let txn = db.transaction();
            let found = shown(txn.get_for_update("k", true));
            *seen.lock().unwrap() = Some(found);
            txn.put("k", "thief").unwrap();
            txn.commit().unwrap();
        };
        in_threads(vec![Box::new(owner), Box::new(thief)]);
        let committed = committed.load(Ordering::SeqCst);
        let written = committed.then(|| "robbed".to_owned());
        // All of it or nothing, and before the other had the key.
        assert_eq!(seen.lock().unwrap().take(), Some(written.clone()));
        assert_eq!(shown(db.get("l")), written);
        assert_eq!(shown(db.get("k")).as_deref(), Some("thief"));
        assert!(db.lock_status().is_empty());
        assert!(db.prepared_transactions().is_empty());
        committed
    });
    committed
}

/// Race 10.
#[test]
fn a_robbed_transaction_writes_nothing_and_one_that_writes_is_not_robbed() {
    for how in [End::Commit, End::Prepare, End::Rollback] {
        let committed: Vec<_> = (1..=40).map(|seed| robbery(seed, how)).collect();
        let both = [true, false].map(|outcome| committed.contains(&outcome));
        assert_eq!(both, [how != End::Rollback, true], "{how:?}");
    }
}

/// Race 12. Behind a reader stands a writer that gives up, and behind that another reader, for whom
/// the key is free then.
#[test]
fn a_reader_gets_a_key_when_the_writer_before_it_gives_up() {
    for seed in seeds(1, 20) {
        let waiting = waiting();
        simulation::run(seed, || {
            let db = &open(&waiting);
            let done = &AtomicBool::new(false);
            let first = begin(db, |_| {});
            first.get_for_update("k", false).unwrap();
            let writer = Mutex::new(Some(begin(db, |o| o.set_lock_timeout(50))));
            let id = writer.lock().unwrap().as_ref().unwrap().id();
            let writer = &writer;
            let gives_up = move || {
                let txn = writer.lock().unwrap().take().unwrap();
                assert_eq!(kind(txn.put("k", "1")), ErrorKind::TimedOut);
                // It is not harmed, and the key is not its own.
                txn.put("other", "1").unwrap();
                txn.commit().unwrap();
            };
            let reads = move || {
                until("the writer waits", || db.waiting_for(id).is_some());
                let txn = db.transaction();
                assert_eq!(txn.get_for_update("k", false).unwrap(), None);
                done.store(true, Ordering::SeqCst);
            };
            in_threads(vec![Box::new(gives_up), Box::new(reads)]);
            assert!(done.load(Ordering::SeqCst));
            assert_eq!(db.lock_status()[0].holders, [first.id()]);
            drop(first);
            assert_eq!(shown(db.get("other")).as_deref(), Some("1"));
        });
    }
}

/// Race 13. Some have the key, some wait for it, and some come later; all come to an end, and the
/// locks of other column families stay.
#[test]
fn a_family_that_is_dropped_leaves_no_waiter_and_no_lock() {
    for seed in seeds(1, 40) {
        let waiting = waiting();
        simulation::run(seed, || {
            let db = &open(&waiting);
            db.create_cf("gone", &options()).unwrap();
            let gone = &db.cf_handle("gone").unwrap();
            let stays = db.transaction();
            stays.put("k", "1").unwrap();
            let waits = move || {
                for _ in 0..3 {
                    let txn = db.transaction();
                    let locked = txn.get_for_update_cf(gone, "k", true);
                    let written = locked.and_then(|_| txn.put_cf(gone, "k", "2"));
                    system::yield_now();
                    if let Err(e) = written.and_then(|()| txn.commit()) {
                        assert_eq!(e.kind(), ErrorKind::InvalidArgument, "{e}");
                    }
                }
            };
            let drops = move || {
                let txn = db.transaction();
                txn.put_cf(gone, "k", "1").unwrap();
                system::yield_now();
                db.drop_cf("gone").unwrap();
                // It unlocks what is no longer there.
                assert_eq!(kind(txn.commit()), ErrorKind::InvalidArgument);
            };
            let writers = (0..3).map(|_| Box::new(waits) as _);
            let mut works: Vec<Box<dyn Fn() + Send + Sync>> = writers.collect();
            works.push(Box::new(drops));
            in_threads(works);
            let left = db.lock_status();
            assert_eq!(left.len(), 1);
            assert_eq!(
                (left[0].family, &left[0].holders[..]),
                (0, &[stays.id()][..])
            );
            stays.commit().unwrap();
        });
    }
}

with_write_prepared!(
    a_robbed_transaction_writes_nothing_and_one_that_writes_is_not_robbed,
    a_reader_gets_a_key_when_the_writer_before_it_gives_up,
    a_family_that_is_dropped_leaves_no_waiter_and_no_lock,
);
