//! Takes the steps with this engine.

use super::{FAMILIES, Shown};
use crate::content::{Content, Pairs, copy_dir};
use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;
use whitewater::{
    ColumnFamilyDescriptor, Error, IteratorMode, MultiThreaded, Options, Transaction,
    TransactionDB, TransactionDBOptions, WritePolicy,
};

type TxnDb = TransactionDB<MultiThreaded>;

/// Takes the steps and closes the database. Returns what was shown.
pub fn run(dir: &Path, policy: WritePolicy, steps: &str) -> Vec<Shown> {
    take(dir, policy, steps, || {})
}

/// Takes the steps and copies the database to `copy` while it is still open, as a killed process
/// would leave it.
pub fn run_and_kill(dir: &Path, policy: WritePolicy, steps: &str, copy: &Path) -> Vec<Shown> {
    take(dir, policy, steps, || copy_dir(dir, copy))
}

fn take(dir: &Path, policy: WritePolicy, steps: &str, before_end: impl FnOnce()) -> Vec<Shown> {
    let mut shown = Vec::new();
    let openings: Vec<&str> = steps.split("reopen\n").collect();
    let (last, before) = openings.split_last().expect("one at least");
    for steps in before {
        Opening::of(&open(dir, policy)).take(steps, &mut shown);
    }
    let db = open(dir, policy);
    Opening::of(&db).take(last, &mut shown);
    before_end();
    shown
}

fn open(dir: &Path, policy: WritePolicy) -> TxnDb {
    let mut options = Options::default();
    options.create_if_missing(true);
    options.create_missing_column_families(true);
    // So that nothing changes while the database is copied. `open_cf` would not pass that on.
    options.set_disable_auto_compactions(true);
    let mut of_transactions = TransactionDBOptions::default();
    of_transactions.set_write_policy(policy);
    let family = |name: &str| ColumnFamilyDescriptor::new(name, options.clone());
    let families = FAMILIES.map(family);
    TxnDb::open_cf_descriptors(&options, &of_transactions, dir, families).expect("opens")
}

/// The time from an opening to the next.
struct Opening<'a> {
    db: &'a TxnDb,
    transactions: BTreeMap<String, Transaction<'a, TxnDb>>,
    /// The names of those that are prepared.
    prepared: BTreeSet<String>,
}

impl<'a> Opening<'a> {
    fn of(db: &'a TxnDb) -> Opening<'a> {
        let name = |txn: &Transaction<'_, TxnDb>| {
            let name = txn.get_name().expect("it has one");
            String::from_utf8(name).expect("it is text")
        };
        let found = db.prepared_transactions().into_iter();
        let transactions: BTreeMap<_, _> = found.map(|txn| (name(&txn), txn)).collect();
        let prepared = transactions.keys().cloned().collect();
        Opening {
            db,
            transactions,
            prepared,
        }
    }

    fn take(mut self, steps: &str, shown: &mut Vec<Shown>) {
        for step in steps.lines() {
            if step == "show" {
                let names = self.prepared.iter().cloned().collect();
                shown.push((names, self.content()));
                continue;
            }
            let done = self.step(step);
            done.unwrap_or_else(|e| panic!("{step}: {e}"));
        }
    }

    fn step(&mut self, step: &str) -> Result<(), Error> {
        let family = |name| self.db.cf_handle(name).expect("it is there");
        let words: Vec<&str> = step.split(' ').collect();
        match words[..] {
            ["put", f, key, value] => self.db.put_cf(&family(f), key, value),
            ["delete", f, key] => self.db.delete_cf(&family(f), key),
            ["flush", f] => self.db.flush_cf(&family(f)),
            ["begin", name] => {
                let txn = self.db.transaction();
                txn.set_name(name.as_bytes())?;
                self.transactions.insert(name.to_owned(), txn);
                Ok(())
            }
            ["prepare", name] => {
                self.prepared.insert(name.to_owned());
                self.transactions[name].prepare()
            }
            ["commit", name] => self.ended(name).commit(),
            ["rollback", name] => self.ended(name).rollback(),
            [name, "put", f, key, value] => self.transactions[name].put_cf(&family(f), key, value),
            [name, "delete", f, key] => self.transactions[name].delete_cf(&family(f), key),
            _ => panic!("{step}"),
        }
    }

    fn ended(&mut self, name: &str) -> Transaction<'a, TxnDb> {
        self.prepared.remove(name);
        self.transactions.remove(name).expect("it was begun")
    }

    /// The content; point reads must agree with the iterator.
    fn content(&self) -> Content {
        let pairs = |name: &str| {
            let family = self.db.cf_handle(name).expect("it is there");
            let found = self.db.iterator_cf(&family, IteratorMode::Start);
            let found: Pairs = found
                .map(|pair| pair.expect("readable"))
                .map(|(key, value)| (key.into_vec(), value.into_vec()))
                .collect();
            for (key, value) in &found {
                let got = self.db.get_cf(&family, key).expect("readable");
                assert_eq!(got.as_ref(), Some(value));
            }
            (name.to_owned(), found)
        };
        FAMILIES.map(pairs).into()
    }
}
