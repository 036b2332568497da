use super::*;
use crate::mixes::{ALL, LOAD};
use crate::stores::Settings;
use std::path::Path;
use std::sync::RwLock;

type Map = BTreeMap<Vec<u8>, Vec<u8>>;

/// A store for tests: a map behind a lock.
#[derive(Default)]
struct Memory(RwLock<Map>);

impl Store for Memory {
    fn open(_directory: &Path, _settings: &Settings) -> Result<Self> {
        Ok(Self::default())
    }

    fn put(&self, key: &[u8], value: &[u8]) -> Result<()> {
        self.0.write().unwrap().insert(key.to_vec(), value.to_vec());
        Ok(())
    }

    fn get(&self, key: &[u8], see: impl FnOnce(&[u8])) -> Result<bool> {
        Ok(self
            .0
            .read()
            .unwrap()
            .get(key)
            .map(|value| see(value))
            .is_some())
    }

    fn scan(&self, from: &[u8], count: usize, mut see: impl FnMut(&[u8], &[u8])) -> Result<usize> {
        let map = self.0.read().unwrap();
        let entries = map.range(from.to_vec()..).take(count);
        Ok(entries.map(|(key, value)| see(key, value)).count())
    }

    fn pop(&self) -> Result<bool> {
        Ok(self.0.write().unwrap().pop_first().is_some())
    }

    fn settle(&self) -> Result<()> {
        Ok(())
    }
}

fn plan(mix: &'static Mix, operations: u64) -> Plan {
    Plan {
        mix,
        threads: if mix.is_queue() { 1 } else { 3 },
        operations,
        limit: Duration::MAX,
        scan: (1, 100),
        seed: 5,
        warming: false,
    }
}

fn loaded(records: u64) -> (Memory, Acknowledged, Values) {
    let (store, numbers, values) = (
        Memory::default(),
        Acknowledged::from(0),
        Values::new(100, 1),
    );
    let load = plan(Mix::named(LOAD).unwrap(), records);
    let outcome = run(&store, &numbers, &values, &load).unwrap_or_else(|e| panic!("{e}"));
    assert_eq!((outcome.operations, numbers.limit()), (records, records));
    assert_eq!(store.0.read().unwrap().len() as u64, records);
    (store, numbers, values)
}

#[test]
fn mixes_do_what_they_say() {
    let (store, numbers, values) = loaded(1000);
    for mix in &ALL[1..] {
        let outcome = run(&store, &numbers, &values, &plan(mix, 2000));
        let outcome = outcome.unwrap_or_else(|e| panic!("{}: {e}", mix.name));
        let left = if mix.is_queue() {
            numbers.limit()
        } else {
            2000
        };
        assert_eq!(outcome.operations, left, "{}", mix.name);
        for (operation, share) in mix.operations {
            let count = outcome.latencies[operation].count() as f64;
            let expected = left as f64 * f64::from(*share) / 100.0;
            let off = (count - expected).abs();
            assert!(
                off <= expected * 0.05 + 40.0,
                "{}: {count} of {expected}",
                mix.name
            );
        }
    }
    assert!(store.0.read().unwrap().is_empty());
    assert!(numbers.limit() > 1100);
}

#[test]
fn warming_only_reads() {
    let (store, numbers, values) = loaded(100);
    let before = store.0.read().unwrap().clone();
    for mix in ALL.iter().filter(|mix| mix.warmed) {
        let warming = Plan {
            warming: true,
            ..plan(mix, 500)
        };
        assert!(run(&store, &numbers, &values, &warming).is_ok());
    }
    assert_eq!(*store.0.read().unwrap(), before);
}

#[test]
fn a_lost_or_wrong_record_ends_the_run() {
    let (store, numbers, values) = loaded(100);
    let reads = plan(Mix::named("uniform").unwrap(), 5000);
    let lost = store.0.write().unwrap().remove(&key(7)[..]);
    let failure = run(&store, &numbers, &values, &reads).unwrap_err();
    assert_eq!(failure.0, "record 7 was written and is not there");
    store
        .put(&key(7), &lost.unwrap()[1..])
        .unwrap_or_else(|e| panic!("{e}"));
    let failure = run(&store, &numbers, &values, &reads).unwrap_err();
    assert_eq!(failure.0, "record 7 has a value that it never had");
}

#[test]
fn a_run_ends_at_its_time() {
    let (store, numbers, values) = loaded(100);
    let short = Plan {
        limit: Duration::from_millis(30),
        ..plan(Mix::named("a").unwrap(), u64::MAX / 200)
    };
    let outcome = run(&store, &numbers, &values, &short).unwrap_or_else(|e| panic!("{e}"));
    assert!(outcome.operations > 0 && outcome.seconds >= 0.03);
    assert!(outcome.series.windows(2).all(|pair| pair[0].0 < pair[1].0));
}
