//! Transactions in threads that run one at a time, by a seed. What does not come to an end is
//! found, and time-outs take no time.

use super::{DIR, TxnDb, begin, options, txn_db_options};
use crate::harness::seeds;
use crate::simulated::in_threads;
use rand::rngs::StdRng;
use rand::{Rng, SeedableRng};
use whitewater::{Error, ErrorKind, IteratorMode};
use whitewater_concurrent::system;
use whitewater_concurrent::system::simulation;

/// The number of accounts, and what each has at first.
const ACCOUNTS: u8 = 4;
const AT_FIRST: u64 = 100;

fn number(bytes: &[u8]) -> u64 {
    u64::from_le_bytes(bytes.try_into().unwrap())
}

/// The sum over all accounts, at one moment.
fn sum(db: &TxnDb) -> u64 {
    let all = db.snapshot();
    let all = all.iterator(IteratorMode::Start).map(|e| e.unwrap().1);
    all.map(|v| number(&v)).sum()
}

/// Moves one from an account to another.
fn transfer(db: &TxnDb, rng: &mut StdRng, detect: bool) -> Result<(), Error> {
    let txn = begin(db, |o| {
        o.set_deadlock_detect(detect);
        o.set_lock_timeout(if detect { -1 } else { 5 });
        o.set_snapshot(rng.random());
        o.set_expiration(if rng.random_ratio(1, 4) { 3 } else { -1 });
    });
    let from = rng.random_range(0..ACCOUNTS);
    let to = (from + rng.random_range(1..ACCOUNTS)) % ACCOUNTS;
    let exclusive = rng.random();
    let a = number(&txn.get_for_update([from], exclusive)?.unwrap());
    let b = number(&txn.get_for_update([to], exclusive)?.unwrap());
    txn.put([from], (a - 1).to_le_bytes())?;
    txn.set_savepoint();
    txn.put([to], [0; 8])?;
    if rng.random() {
        txn.rollback_to_savepoint()?;
    }
    txn.put([to], (b + 1).to_le_bytes())?;
    if rng.random_ratio(1, 8) {
        return txn.rollback();
    }
    txn.commit()
}

/// The sum stays what it was at every snapshot, whoever waits, is robbed or is turned down.
fn transfers(seed: u64, detect: bool) {
    let mut waiting = txn_db_options();
    waiting.set_default_lock_timeout(-1);
    simulation::run(seed, || {
        let db = TxnDb::open(&options(), &waiting, DIR).unwrap();
        for account in 0..ACCOUNTS {
            db.put([account], AT_FIRST.to_le_bytes()).unwrap();
        }
        let total = u64::from(ACCOUNTS) * AT_FIRST;
        let mut works: Vec<Box<dyn Fn() + Send + Sync + '_>> = Vec::new();
        for t in 0..3 {
            let db = &db;
            works.push(Box::new(move || {
                let rng = &mut StdRng::seed_from_u64(seed * 10 + t);
                for _ in 0..8 {
                    if let Err(e) = transfer(db, rng, detect) {
                        use ErrorKind::{Busy, Expired, InvalidArgument, TimedOut};
                        let expected = [Busy, Expired, TimedOut, InvalidArgument];
                        assert!(expected.contains(&e.kind()), "{e}");
                    }
                }
            }));
        }
        let reader = &db;
        works.push(Box::new(move || {
            for _ in 0..8 {
                assert_eq!(sum(reader), total);
                reader.flush().unwrap();
            }
        }));
        in_threads(works);
        assert_eq!(sum(&db), total);
        assert!(db.lock_status().is_empty());
    });
}

#[test]
fn transfers_keep_the_sum_while_deadlocks_are_looked_for() {
    for seed in seeds(1, 40) {
        transfers(seed, true);
    }
}

#[test]
fn transfers_keep_the_sum_while_waits_end_by_time() {
    for seed in seeds(1, 40) {
        transfers(seed, false);
    }
}

/// One name, many threads: one of them has it at a time.
#[test]
fn a_name_is_had_by_one_thread_at_a_time() {
    for seed in seeds(1, 40) {
        let how = txn_db_options();
        simulation::run(seed, || {
            let db = TxnDb::open(&options(), &how, DIR).unwrap();
            let had = std::sync::atomic::AtomicU32::new(0);
            let (db, had) = (&db, &had);
            let work = move || {
                use std::sync::atomic::Ordering::SeqCst;
                for _ in 0..5 {
                    let txn = db.transaction();
                    if txn.set_name(b"name").is_ok() {
                        assert_eq!(had.fetch_add(1, SeqCst), 0);
                        system::yield_now();
                        txn.put("k", "v").unwrap();
                        assert_eq!(had.fetch_sub(1, SeqCst), 1);
                        txn.commit().unwrap();
                    }
                }
            };
            in_threads((0..3).map(|_| Box::new(work) as _).collect());
        });
    }
}

with_write_prepared!(
    transfers_keep_the_sum_while_deadlocks_are_looked_for,
    transfers_keep_the_sum_while_waits_end_by_time,
    a_name_is_had_by_one_thread_at_a_time,
);
