//! Optimistic transactions beside plain writes, in threads that run one at a time, by a seed.

use super::{DIR, OptDb, options};
use crate::harness::seeds;
use crate::simulated::in_threads;
use rand::rngs::StdRng;
use rand::{Rng, SeedableRng};
use std::sync::atomic::{AtomicU64, Ordering};
use whitewater::{
    ErrorKind, OptimisticTransactionOptions, WriteBatchWithTransaction, WriteOptions,
};
use whitewater_concurrent::system::simulation;

const KEYS: u8 = 3;

fn number(bytes: Option<Vec<u8>>) -> u64 {
    bytes.map_or(0, |b| u64::from_le_bytes(b.try_into().unwrap()))
}

/// Adds one to a key and to the counter beside it; returns whether it was committed.
fn increment(db: &OptDb, rng: &mut StdRng) -> bool {
    let mut o = OptimisticTransactionOptions::default();
    o.set_snapshot(rng.random());
    let txn = db.transaction_opt(&WriteOptions::default(), &o);
    let key = [rng.random_range(0..KEYS)];
    let n = number(txn.get_for_update(key, true).unwrap());
    let copy = [key[0] + 100];
    txn.put(copy, (n + 1).to_le_bytes()).unwrap();
    txn.put(key, (n + 1).to_le_bytes()).unwrap();
    match txn.commit() {
        Ok(()) => true,
        Err(e) => {
            assert_eq!(e.kind(), ErrorKind::Busy, "{e}");
            false
        }
    }
}

/// No increment is lost, whatever plain writes (which add nothing, but change the keys), flushes
/// and compactions come between.
#[test]
fn no_update_is_lost() {
    for seed in seeds(1, 60) {
        simulation::run(seed, || {
            let db = &OptDb::open_cf(&options(), DIR, ["default"]).unwrap();
            let committed = &AtomicU64::new(0);
            let mut works: Vec<Box<dyn Fn() + Send + Sync + '_>> = Vec::new();
            for t in 0..3 {
                works.push(Box::new(move || {
                    let rng = &mut StdRng::seed_from_u64(seed * 10 + t);
                    for _ in 0..8 {
                        let done = increment(db, rng);
                        committed.fetch_add(done.into(), Ordering::SeqCst);
                    }
                }));
            }
            works.push(Box::new(move || {
                for _ in 0..4 {
                    db.flush().unwrap();
                    db.compact_range(None::<&[u8]>, None::<&[u8]>);
                }
            }));
            in_threads(works);
            let sum: u64 = (0..KEYS).map(|k| number(db.get([k]).unwrap())).sum();
            assert_eq!(sum, committed.load(Ordering::SeqCst));
            for key in 0..KEYS {
                assert_eq!(db.get([key]).unwrap(), db.get([key + 100]).unwrap());
            }
        });
    }
}

/// Transactions copy a key that plain writes change. In the order in which everything was written,
/// each copy is of what was there just then.
#[test]
fn a_copy_is_of_what_was_there_when_it_was_written() {
    for seed in seeds(1, 60) {
        simulation::run(seed, || {
            let db = &OptDb::open_cf(&options(), DIR, ["default"]).unwrap();
            let plain = move || {
                for n in 1..=10_u64 {
                    let mut batch = WriteBatchWithTransaction::<true>::default();
                    batch.put("original", n.to_le_bytes());
                    match n % 3 {
                        0 => db.write(batch).unwrap(),
                        1 => db.put("original", n.to_le_bytes()).unwrap(),
                        _ => db.delete("original").unwrap(),
                    }
                }
            };
            let copies = move || {
                for _ in 0..10 {
                    let txn = db.transaction();
                    let original = number(txn.get_for_update("original", true).unwrap());
                    txn.put("copy", original.to_le_bytes()).unwrap();
                    let _ = txn.commit();
                }
            };
            in_threads(vec![Box::new(plain), Box::new(copies), Box::new(copies)]);
            // The log says in which order they were written.
            let mut original = 0;
            for change in db.get_updates_since(0).unwrap() {
                let mut seen = Seen::default();
                change.unwrap().1.iterate(&mut seen);
                original = seen.original.unwrap_or(original);
                if let Some(copy) = seen.copy {
                    assert_eq!(copy, original, "seed {seed}");
                }
            }
        });
    }
}

#[derive(Default)]
struct Seen {
    original: Option<u64>,
    copy: Option<u64>,
}

impl whitewater::WriteBatchIterator for Seen {
    fn put(&mut self, key: &[u8], value: &[u8]) {
        let n = Some(number(Some(value.to_vec())));
        match key {
            b"original" => self.original = n,
            _ => self.copy = n,
        }
    }

    fn delete(&mut self, _key: &[u8]) {
        self.original = Some(0);
    }
}
