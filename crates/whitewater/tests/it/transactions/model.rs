//! Random calls on several transactions at once, against a model that knows who holds which key,
//! what has changed since when, and what is prepared. Now and then the database is opened again,
//! or the process dies.

use super::{DIR, POLICY, TxnDb, impatient, options_on, shown};
use crate::harness::campaign;
use rand::rngs::StdRng;
use rand::{Rng, SeedableRng};
use std::collections::BTreeMap;
use whitewater::fs::mem::MemFs;
use whitewater::{
    Error, ErrorKind, IteratorMode, LockMode, Transaction, TransactionOptions, WriteOptions,
    WritePolicy,
};

type Map = BTreeMap<String, String>;

/// What a transaction does to a key.
#[derive(Debug, Clone)]
enum Op {
    Put(String),
    Merge(String),
    Delete,
}

fn apply(map: &mut Map, key: &str, op: &Op) {
    match op {
        Op::Put(value) => _ = map.insert(key.to_owned(), value.clone()),
        Op::Delete => _ = map.remove(key),
        Op::Merge(operand) => {
            let merged = match map.get(key) {
                Some(old) => format!("{old},{operand}"),
                None => operand.clone(),
            };
            map.insert(key.to_owned(), merged);
        }
    }
}

/// How a transaction holds a key.
#[derive(Debug, Clone, Copy)]
struct Held {
    exclusive: bool,
    uses: u32,
    /// The moment since which nobody else has changed the key.
    valid_at: u64,
}

/// The number of writes, the snapshot, and how often each key was used until then.
type Savepoint = (usize, Option<(u64, Map)>, BTreeMap<String, u32>);

#[derive(Debug, Clone, Default)]
struct ModelTxn {
    writes: Vec<(String, Op)>,
    held: BTreeMap<String, Held>,
    snapshot: Option<(u64, Map)>,
    savepoints: Vec<Savepoint>,
    name: String,
    is_prepared: bool,
}

#[derive(Debug, Default)]
struct Model {
    committed: Map,
    /// When each key was changed last.
    changed: BTreeMap<String, u64>,
    now: u64,
    /// Prepared transactions that nobody has, by name. They hold their keys all the same.
    undecided: BTreeMap<String, ModelTxn>,
    names: u32,
}

impl Model {
    fn commit(&mut self, writes: &[(String, Op)]) {
        for (key, op) in writes {
            apply(&mut self.committed, key, op);
            self.now += 1;
            self.changed.insert(key.clone(), self.now);
        }
    }

    /// Rolls a prepared transaction back. If its writes are in memtables, its keys are written.
    fn roll_back_prepared(&mut self, writes: &[(String, Op)]) {
        if POLICY.get() == WritePolicy::WriteCommitted {
            return;
        }
        for (key, _) in writes {
            self.now += 1;
            self.changed.insert(key.clone(), self.now);
        }
    }

    /// All that is in memory is gone. The log has which keys prepared transactions write.
    fn open_again(&mut self) {
        for txn in self.undecided.values_mut() {
            let writes = txn.writes.iter();
            let held = |(key, _): &(String, Op)| {
                let held = Held {
                    exclusive: true,
                    uses: 1,
                    valid_at: 0,
                };
                (key.clone(), held)
            };
            txn.held = writes.map(held).collect();
        }
    }

    /// Whether a transaction beside `own` keeps others from using `key`.
    fn is_in_the_way(
        &self,
        open: &[ModelTxn],
        own: Option<usize>,
        key: &str,
        exclusive: bool,
    ) -> bool {
        let others = open.iter().enumerate().filter(|(i, _)| Some(*i) != own);
        let others = others.map(|(_, txn)| txn).chain(self.undecided.values());
        let mut held = others.filter_map(|txn| txn.held.get(key));
        held.any(|held| held.exclusive || exclusive)
    }

    /// What a use of `key` by transaction `at` of `open` should come to.
    fn use_key(
        &self,
        open: &mut [ModelTxn],
        at: usize,
        key: &str,
        exclusive: bool,
    ) -> Result<(), ErrorKind> {
        let known = open[at].held.get(key).copied();
        let has = known.is_some_and(|held| held.exclusive || !exclusive);
        if !has && self.is_in_the_way(open, Some(at), key, exclusive) {
            return Err(ErrorKind::TimedOut);
        }
        let mut valid_at = known.map_or(u64::MAX, |held| held.valid_at);
        match &open[at].snapshot {
            Some((snapshot, _)) => {
                let changed = self.changed.get(key).copied().unwrap_or(0);
                if valid_at > *snapshot && changed > *snapshot {
                    return Err(ErrorKind::Busy);
                }
                valid_at = valid_at.min(*snapshot);
            }
            None => valid_at = valid_at.min(self.now),
        }
        let held = open[at].held.entry(key.to_owned()).or_insert(Held {
            exclusive: false,
            uses: 0,
            valid_at,
        });
        held.exclusive |= exclusive;
        held.uses += 1;
        held.valid_at = valid_at;
        Ok(())
    }

    /// What transaction `txn` reads, over the newest state or over its snapshot.
    fn view(&self, txn: &ModelTxn, at_snapshot: bool) -> Map {
        let mut map = match &txn.snapshot {
            Some((_, then)) if at_snapshot => then.clone(),
            _ => self.committed.clone(),
        };
        for (key, op) in &txn.writes {
            apply(&mut map, key, op);
        }
        map
    }
}

fn kind_of<T>(result: Result<T, Error>) -> Result<(), ErrorKind> {
    result.map(drop).map_err(|e| e.kind())
}

fn contents<'a, D: whitewater::DBAccess>(
    entries: whitewater::DBIteratorWithThreadMode<'a, D>,
) -> Map {
    let text = |bytes: Box<[u8]>| String::from_utf8(bytes.into()).unwrap();
    let entries = entries.map(|entry| entry.map(|(key, value)| (text(key), text(value))));
    entries.collect::<Result<_, _>>().unwrap()
}

/// The calls between two openings.
fn session(db: &TxnDb, model: &mut Model, rng: &mut StdRng) {
    let mut txns: Vec<Transaction<'_, TxnDb>> = Vec::new();
    let mut open: Vec<ModelTxn> = Vec::new();
    for _ in 0..rng.random_range(1..120) {
        if txns.is_empty() || (txns.len() < 4 && rng.random_ratio(1, 8)) {
            let mut o = TransactionOptions::default();
            o.set_lock_timeout(0);
            let with_snapshot = rng.random();
            o.set_snapshot(with_snapshot);
            txns.push(db.transaction_opt(&WriteOptions::default(), &o));
            let snapshot = with_snapshot.then(|| (model.now, model.committed.clone()));
            open.push(ModelTxn {
                snapshot,
                ..ModelTxn::default()
            });
        }
        let at = rng.random_range(0..txns.len());
        if rng.random_ratio(1, 6) {
            end(&mut txns, &mut open, at, model, rng);
        } else if rng.random_ratio(1, 30) {
            decide(db, model, rng);
        } else if open[at].is_prepared {
            let view = model.view(&open[at], false);
            assert_eq!(contents(txns[at].iterator(IteratorMode::Start)), view);
            assert_eq!(
                kind_of(txns[at].put("k", "")),
                Err(ErrorKind::InvalidArgument)
            );
        } else {
            step(db, &txns[at], &mut open, at, model, rng);
        }
    }
    // All that is left is dropped: what is prepared stays.
    drop(txns);
    for txn in open {
        if txn.is_prepared {
            model.undecided.insert(txn.name.clone(), txn);
        }
    }
}

/// One call on the transaction `at`, or outside of transactions.
fn step(
    db: &TxnDb,
    txn: &Transaction<'_, TxnDb>,
    open: &mut [ModelTxn],
    at: usize,
    model: &mut Model,
    rng: &mut StdRng,
) {
    let key = format!("{}", rng.random_range(0..8));
    let value = format!("{}", rng.random_range(0..1000));
    match rng.random_range(0..14) {
        0..5 => {
            let op = match rng.random_range(0..3) {
                0 => Op::Delete,
                1 => Op::Merge(value),
                _ => Op::Put(value),
            };
            let expected = model.use_key(open, at, &key, true);
            let found = match &op {
                Op::Put(value) => txn.put(&key, value),
                Op::Merge(value) => txn.merge(&key, value),
                Op::Delete => txn.delete(&key),
            };
            assert_eq!(kind_of(found), expected, "{key} {op:?}");
            if expected.is_ok() {
                open[at].writes.push((key, op));
            }
        }
        5..7 => {
            let exclusive = rng.random();
            let expected = model.use_key(open, at, &key, exclusive);
            let found = txn.get_for_update(&key, exclusive);
            assert_eq!(kind_of(found.clone()), expected, "{key}");
            if expected.is_ok() {
                let view = model.view(&open[at], false);
                assert_eq!(shown(found), view.get(&key).cloned());
            }
        }
        7 => {
            let view = model.view(&open[at], true);
            assert_eq!(shown(txn.snapshot().get(&key)), view.get(&key).cloned());
            let snapshot = txn.snapshot();
            assert_eq!(contents(snapshot.iterator(IteratorMode::Start)), view);
        }
        8 => {
            let view = model.view(&open[at], false);
            assert_eq!(shown(txn.get(&key)), view.get(&key).cloned());
            assert_eq!(contents(txn.iterator(IteratorMode::Start)), view);
        }
        9 => {
            txn.set_savepoint();
            let uses = open[at]
                .held
                .iter()
                .map(|(key, held)| (key.clone(), held.uses));
            let uses = uses.collect();
            let txn = &mut open[at];
            let savepoint = (txn.writes.len(), txn.snapshot.clone(), uses);
            txn.savepoints.push(savepoint);
        }
        10 => match open[at].savepoints.pop() {
            Some((writes, snapshot, uses)) => {
                txn.rollback_to_savepoint().unwrap();
                open[at].writes.truncate(writes);
                open[at].snapshot = snapshot;
                open[at].held.retain(|key, _| uses.contains_key(key));
                for (key, held) in &mut open[at].held {
                    held.uses = uses[key];
                }
            }
            None => {
                let found = kind_of(txn.rollback_to_savepoint());
                assert_eq!(found, Err(ErrorKind::NotFound));
            }
        },
        11 => {
            txn.set_snapshot();
            open[at].snapshot = Some((model.now, model.committed.clone()));
        }
        12 => {
            let held = model.is_in_the_way(open, None, &key, true);
            let found = kind_of(db.put(&key, &value));
            let expected = if held {
                Err(ErrorKind::TimedOut)
            } else {
                Ok(())
            };
            assert_eq!(found, expected, "{key}");
            if !held {
                model.commit(&[(key, Op::Put(value))]);
            }
        }
        _ => db.flush().unwrap(),
    }
}

/// Ends the transaction `at`, or prepares it.
fn end(
    txns: &mut Vec<Transaction<'_, TxnDb>>,
    open: &mut Vec<ModelTxn>,
    at: usize,
    model: &mut Model,
    rng: &mut StdRng,
) {
    if !open[at].is_prepared && rng.random_ratio(1, 3) {
        model.names += 1;
        let name = format!("{}", model.names);
        txns[at].set_name(name.as_bytes()).unwrap();
        txns[at].prepare().unwrap();
        (open[at].name, open[at].is_prepared) = (name, true);
        return;
    }
    let (txn, left) = (txns.remove(at), open.remove(at));
    match rng.random_range(0..4) {
        0 => {
            txn.rollback().unwrap();
            if left.is_prepared {
                model.roll_back_prepared(&left.writes);
            }
        }
        1 => {
            drop(txn);
            if left.is_prepared {
                model.undecided.insert(left.name.clone(), left);
            }
        }
        _ => {
            txn.commit().unwrap();
            model.commit(&left.writes);
        }
    }
}

/// Decides on some of the prepared transactions that nobody has.
fn decide(db: &TxnDb, model: &mut Model, rng: &mut StdRng) {
    let all = db.prepared_transactions();
    let names = all
        .iter()
        .map(|txn| String::from_utf8(txn.get_name().unwrap()).unwrap());
    let names: Vec<_> = names.collect();
    let mut expected: Vec<_> = model.undecided.keys().cloned().collect();
    expected.sort();
    assert_eq!(names, expected);
    for (txn, name) in all.into_iter().zip(names) {
        match rng.random_range(0..3) {
            0 => {
                txn.commit().unwrap();
                let left = model.undecided.remove(&name).unwrap();
                model.commit(&left.writes);
            }
            1 => {
                txn.rollback().unwrap();
                let left = model.undecided.remove(&name).unwrap();
                model.roll_back_prepared(&left.writes);
            }
            _ => {}
        }
    }
}

/// Checks which keys are locked when nobody has a transaction.
fn check_locks(db: &TxnDb, model: &Model) {
    let mut held = BTreeMap::new();
    for (key, one) in model.undecided.values().flat_map(|txn| &txn.held) {
        let (exclusive, holders) = held.entry(key.clone()).or_insert((false, 0));
        *exclusive |= one.exclusive;
        *holders += 1;
    }
    let found = db.lock_status().into_iter().map(|lock| {
        let exclusive = lock.mode == LockMode::Exclusive;
        let key = String::from_utf8(lock.key).unwrap();
        (key, (exclusive, lock.holders.len()))
    });
    assert_eq!(found.collect::<BTreeMap<_, _>>(), held);
}

#[test]
fn random_calls_on_several_transactions_match_the_model() {
    let name = "random_calls_on_several_transactions_match_the_model";
    campaign(name, 1, 30, |seed| {
        let rng = &mut StdRng::seed_from_u64(seed);
        let (mut fs, mut model) = (MemFs::new(), Model::default());
        for _ in 0..rng.random_range(1..5) {
            let db = TxnDb::open(&options_on(fs.clone()), &impatient(), DIR).unwrap();
            model.open_again();
            check_locks(&db, &model);
            assert_eq!(contents(db.iterator(IteratorMode::Start)), model.committed);
            decide(&db, &mut model, rng);
            session(&db, &mut model, rng);
            if rng.random() {
                decide(&db, &mut model, rng);
            }
            check_locks(&db, &model);
            if rng.random() {
                // The process dies: what the operating system was given is there.
                let left = fs.crash_clone(1.0, seed);
                drop(db);
                fs = left;
            }
        }
        let db = TxnDb::open(&options_on(fs), &impatient(), DIR).unwrap();
        assert_eq!(contents(db.iterator(IteratorMode::Start)), model.committed);
        decide(&db, &mut model, rng);
        assert_eq!(contents(db.iterator(IteratorMode::Start)), model.committed);
    });
}

with_write_prepared!(random_calls_on_several_transactions_match_the_model,);
