//! Histories over unordered commit with `WRITE_PREPARED`.
//!
//! Writes of a database with transactions lock their keys, and the numbers of a write are undecided
//! until it is inserted. So batches and snapshots must be linearizable, as with the strict
//! protocols. Without locks, two batches of the same keys may be decided in another order than
//! that of their numbers: then only what snapshots and iterators show must not change.
//!
//! Snapshots have no numbers in these histories: two of one number may differ, since a decision
//! takes no number.

use super::history::{History, Slots, Violation};
use super::protocol::UNDECIDED;
use super::store::{
    DbIterator, DbSnapshot, FAMILIES, Manner, Places, Store, View, decode, encode, everything,
    write_options,
};
use super::workload::record;
use super::{HANGS, LONG, Round, Setup, WHOLE, rules};
use crate::harness::{DIR, campaign, watched};
use std::path::Path;
use std::sync::atomic::{AtomicU64, Ordering};
use whitewater::{
    ColumnFamilyDescriptor, MultiThreaded, TransactionDB, TransactionDBOptions, WritePolicy,
};

type TxnDb = TransactionDB<MultiThreaded>;

/// A database with transactions and slots.
struct TxnStore<'a> {
    db: &'a TxnDb,
    places: Places<'a>,
    /// In place of the visible number: what was acknowledged need not be below what begins then.
    ticks: AtomicU64,
}

impl Store for TxnStore<'_> {
    fn write(&self, slots: &Slots, manner: Manner) {
        let options = write_options(manner);
        let written = if let ([(slot, number)], false) = (slots.as_slice(), manner.decoys) {
            let (cf, key) = self.places.place(*slot);
            let value = encode(*slot, *number, manner.value_len);
            match number {
                0 => self.db.delete_cf_opt(cf, key, &options),
                _ => self.db.put_cf_opt(cf, key, value, &options),
            }
        } else {
            let batch = self.places.batch(slots, manner);
            self.db.write_opt(batch, &options)
        };
        written.expect("nothing fails here");
    }

    fn get(&self, slot: usize) -> u32 {
        let (cf, key) = self.places.place(slot);
        decode(slot, self.db.get_cf(cf, key).expect("readable").as_deref())
    }

    fn multi_get(&self, slots: &[usize]) -> Slots {
        let places = slots.iter().map(|slot| self.places.place(*slot));
        let found = self.db.multi_get_cf(places);
        let found = found.into_iter().map(|f| f.expect("readable"));
        let found = slots.iter().zip(found);
        found
            .map(|(slot, f)| (*slot, decode(*slot, f.as_deref())))
            .collect()
    }

    fn snapshot(&self) -> Box<dyn View + '_> {
        Box::new(DbSnapshot {
            snapshot: self.db.snapshot(),
            places: &self.places,
            sequence: None,
        })
    }

    fn iterator(&self, family: usize) -> Box<dyn View + '_> {
        let cf = &self.places.cfs[family];
        Box::new(DbIterator {
            iter: self.db.raw_iterator_cf_opt(cf, everything()),
            slots: self.places.slots_of(family).collect(),
        })
    }

    fn latest_sequence(&self) -> u64 {
        self.ticks.fetch_add(1, Ordering::Relaxed)
    }

    fn flush(&self) {
        for cf in &self.places.cfs {
            self.db.flush_cf(cf).expect("flushes");
        }
    }

    /// There is no call for it; compactions run by themselves.
    fn compact(&self) {
        self.flush();
    }
}

fn open(setup: &Setup, seed: u64, locks: bool) -> TxnDb {
    let options = setup.options(UNDECIDED, seed);
    let mut of_transactions = TransactionDBOptions::default();
    of_transactions.set_write_policy(WritePolicy::WritePrepared);
    of_transactions.set_skip_concurrency_control(!locks);
    of_transactions.set_default_lock_timeout(-1);
    let families = FAMILIES.map(|name| ColumnFamilyDescriptor::new(name, options.clone()));
    let path = Path::new(DIR);
    TxnDb::open_cf_descriptors(&options, &of_transactions, path, families).expect("opens")
}

/// Records the histories of `round` with each seed, and checks them.
fn run(
    name: &'static str,
    round: Round,
    rounds: u64,
    locks: bool,
    check: fn(&History) -> Result<(), Violation>,
) {
    campaign(name, 1, rounds, |seed| {
        let checked = watched(name, HANGS, move || {
            let (plan, setup) = ((round.plan)(seed), Setup::new(seed));
            let db = open(&setup, seed, locks);
            let store = TxnStore {
                db: &db,
                places: Places::new(plan.slots, |name| db.cf_handle(name)),
                ticks: AtomicU64::new(1),
            };
            let histories = record(&plan, &store);
            let checked = histories.iter().try_for_each(check);
            checked.map_err(|violation| format!("{violation}\n{setup:?}, {plan:?}"))
        });
        checked.unwrap_or_else(|text| panic!("{text}"));
    });
}

#[test]
fn unordered_writes_that_lock_their_keys_are_linearizable_under_write_prepared() {
    const NAME: &str =
        "unordered_writes_that_lock_their_keys_are_linearizable_under_write_prepared";
    run(NAME, WHOLE, 10, true, WHOLE.check);
    run(NAME, LONG, 2, true, LONG.check);
}

/// And without locks, with which plain unordered writes are caught in a few rounds.
#[test]
fn views_of_unordered_writes_without_locks_stay_under_write_prepared() {
    const NAME: &str = "views_of_unordered_writes_without_locks_stay_under_write_prepared";
    run(NAME, LONG, 2, false, rules::views_stay);
}
