use super::*;
use crate::mixes::{ALL, LOAD};
use crate::stores::{End, Settings};
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

    fn pop(&self, end: End, mut see: impl FnMut(&[u8], &[u8])) -> Result<bool> {
        let mut map = self.0.write().unwrap();
        let popped = match end {
            End::First => map.pop_first(),
            End::Last => map.pop_last(),
        };
        Ok(popped.map(|(key, value)| see(&key, &value)).is_some())
    }

    fn settle(&self) -> Result<()> {
        Ok(())
    }
}

fn plan(mix: &'static Mix, operations: u64) -> Plan {
    Plan {
        mix,
        threads: mix.threads(3),
        operations,
        limit: Duration::MAX,
        scan: (1, 100),
        seed: 5,
        warming: false,
        rate: None,
    }
}

fn loaded(records: u64) -> (Memory, Acknowledged, Layout) {
    let (store, numbers, layout) = (
        Memory::default(),
        Acknowledged::from(0),
        Layout::new(16, 100, 1),
    );
    let load = plan(Mix::named(LOAD).unwrap(), records);
    let outcome = run(&store, &numbers, &layout, &load).unwrap_or_else(|e| panic!("{e}"));
    assert_eq!((outcome.operations, numbers.limit()), (records, records));
    assert_eq!(store.0.read().unwrap().len() as u64, records);
    (store, numbers, layout)
}

#[test]
fn mixes_do_what_they_say() {
    let (store, numbers, layout) = loaded(1000);
    for mix in ALL[1..].iter().filter(|mix| mix.queue.is_none()) {
        let outcome = run(&store, &numbers, &layout, &plan(mix, 2000));
        let outcome = outcome.unwrap_or_else(|e| panic!("{}: {e}", mix.name));
        assert_eq!(outcome.operations, 2000, "{}", mix.name);
        for (operation, share) in mix.operations {
            let count = outcome.latencies[operation].count() as f64;
            let expected = 2000.0 * f64::from(*share) / 100.0;
            let off = (count - expected).abs();
            assert!(
                off <= expected * 0.05 + 40.0,
                "{}: {count} of {expected}",
                mix.name
            );
        }
    }
    // Those of d, e and grow.
    assert!(numbers.limit() > 2000);
}

#[test]
fn a_queue_takes_from_its_end_and_keeps_its_length_beside_a_producer() {
    for mix in ALL {
        let Some(queue) = mix.queue else { continue };
        let (store, numbers, layout) = loaded(1000);
        let at = |end| match end {
            End::First => store.0.read().unwrap().keys().next().cloned().unwrap(),
            End::Last => store.0.read().unwrap().keys().last().cloned().unwrap(),
        };
        let (taken, other) = (at(queue.end), at(queue.end.other()));
        let outcome = run(&store, &numbers, &layout, &plan(mix, 400));
        let outcome = outcome.unwrap_or_else(|e| panic!("{}: {e}", mix.name));
        assert_eq!(outcome.operations, 400, "{}", mix.name);
        assert_eq!(outcome.latencies[&Operation::Pop].count(), 400);
        assert!(
            outcome
                .tenths
                .is_some_and(|(first, last)| first > 0.0 && last > 0.0)
        );
        assert_ne!(at(queue.end), taken, "{}", mix.name);
        let added = match queue.produced {
            true => outcome.latencies[&Operation::Insert].count() as usize,
            false => 0,
        };
        assert!(added <= 400);
        assert_eq!(store.0.read().unwrap().len(), 600 + added, "{}", mix.name);
        assert_eq!(at(queue.end.other()) != other, added > 0, "{}", mix.name);
        // To the end, the added ones as well.
        let rest = run(&store, &numbers, &layout, &plan(mix, 2000));
        assert!(rest.is_ok(), "{}: {rest:?}", mix.name);
    }
}

#[test]
fn a_queue_whose_order_or_values_are_wrong_ends_the_run() {
    let (store, numbers, layout) = loaded(100);
    let pop = plan(Mix::named("pop").unwrap(), 10);
    store
        .put(b"!", b"of no record")
        .unwrap_or_else(|e| panic!("{e}"));
    let failure = run(&store, &numbers, &layout, &pop).unwrap_err();
    assert_eq!(
        failure.0,
        "a record that was taken has a value that it never had"
    );
}

#[test]
fn warming_only_reads() {
    let (store, numbers, layout) = loaded(100);
    let before = store.0.read().unwrap().clone();
    for mix in ALL.iter().filter(|mix| mix.warmed) {
        let warming = Plan {
            warming: true,
            ..plan(mix, 500)
        };
        assert!(run(&store, &numbers, &layout, &warming).is_ok());
    }
    assert_eq!(*store.0.read().unwrap(), before);
}

#[test]
fn a_lost_or_wrong_record_ends_the_run() {
    let (store, numbers, layout) = loaded(100);
    let reads = plan(Mix::named("uniform").unwrap(), 5000);
    let lost = store.0.write().unwrap().remove(&layout.key(7)[..]);
    let failure = run(&store, &numbers, &layout, &reads).unwrap_err();
    assert_eq!(failure.0, "record 7 was written and is not there");
    store
        .put(&layout.key(7), &lost.unwrap()[1..])
        .unwrap_or_else(|e| panic!("{e}"));
    let failure = run(&store, &numbers, &layout, &reads).unwrap_err();
    assert_eq!(failure.0, "record 7 has a value that it never had");
}

#[test]
fn a_run_ends_at_its_time() {
    let (store, numbers, layout) = loaded(100);
    let short = Plan {
        limit: Duration::from_millis(30),
        ..plan(Mix::named("a").unwrap(), u64::MAX / 200)
    };
    let outcome = run(&store, &numbers, &layout, &short).unwrap_or_else(|e| panic!("{e}"));
    assert!(outcome.operations > 0 && outcome.seconds >= 0.03);
    assert!(outcome.series.windows(2).all(|pair| pair[0].0 < pair[1].0));
}

/// A store whose writes take longer than their schedule has.
struct Slow(Memory);

impl Store for Slow {
    fn open(directory: &Path, settings: &Settings) -> Result<Self> {
        Memory::open(directory, settings).map(Self)
    }

    fn put(&self, key: &[u8], value: &[u8]) -> Result<()> {
        thread::sleep(Duration::from_millis(20));
        self.0.put(key, value)
    }

    fn get(&self, key: &[u8], see: impl FnOnce(&[u8])) -> Result<bool> {
        self.0.get(key, see)
    }

    fn scan(&self, from: &[u8], count: usize, see: impl FnMut(&[u8], &[u8])) -> Result<usize> {
        self.0.scan(from, count, see)
    }

    fn pop(&self, end: End, see: impl FnMut(&[u8], &[u8])) -> Result<bool> {
        self.0.pop(end, see)
    }

    fn settle(&self) -> Result<()> {
        Ok(())
    }
}

#[test]
fn all_that_a_slow_store_keeps_waiting_counts_from_when_it_was_due() {
    let (store, numbers, layout) = loaded(100);
    let store = Slow(store);
    let late = Plan {
        rate: Some(1000.0),
        limit: Duration::from_millis(400),
        ..plan(Mix::named("overwrite").unwrap(), u64::MAX)
    };
    let outcome = run(&store, &numbers, &layout, &late).unwrap_or_else(|e| panic!("{e}"));
    // Three threads do at most 20 writes each, and 400 were due.
    assert!(outcome.operations <= 63, "{}", outcome.operations);
    let latencies = &outcome.latencies[&Operation::Update];
    assert_eq!(latencies.count(), 400, "also what was never begun");
    // In a closed loop each would take the 20 ms of its write.
    assert!(latencies.micros_at(50.0) >= 100_000.0);
    assert!(!outcome.over_time[0].points.is_empty());
}
