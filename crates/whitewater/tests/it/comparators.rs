//! Comparators of the caller: databases against a model, with merges, range deletions, snapshots
//! and compactions.

use crate::harness::{Db, MEMTABLES, set_memtable, tiny};
use rand::rngs::StdRng;
use rand::{Rng, SeedableRng};
use std::cmp::Ordering;
use std::sync::Arc;
use whitewater::fs::mem::MemFs;
use whitewater::{
    BlockBasedOptions, CommitProtocol, DataBlockIndexType, Options, ReadOptions, SliceTransform,
    WriteBatch,
};

const DIR: &str = "/db";

type Order = fn(&[u8], &[u8]) -> Ordering;

/// Orders that differ from the bytewise one: reversed, by length, by the last byte, and two in
/// which different bytes can be equal (ignoring case, and by length alone).
const ORDERS: [(&str, Order); 5] = [
    ("reverse", |a, b| b.cmp(a)),
    ("by_length", |a, b| {
        a.len().cmp(&b.len()).then_with(|| b.cmp(a))
    }),
    ("by_last", |a, b| {
        a.last().cmp(&b.last()).then_with(|| a.cmp(b))
    }),
    ("without_case", without_case),
    ("length_alone", |a, b| a.len().cmp(&b.len())),
];

fn without_case(a: &[u8], b: &[u8]) -> Ordering {
    a.to_ascii_lowercase().cmp(&b.to_ascii_lowercase())
}

/// Keys as they were last written, and their values, in order.
#[derive(Clone)]
struct Model {
    order: Order,
    entries: Vec<(Vec<u8>, Vec<u8>)>,
}

impl Model {
    fn place(&self, key: &[u8]) -> Result<usize, usize> {
        self.entries.binary_search_by(|(k, _)| (self.order)(k, key))
    }

    fn put(&mut self, key: &[u8], value: &[u8]) {
        match self.place(key) {
            Ok(i) => self.entries[i] = (key.to_vec(), value.to_vec()),
            Err(i) => self.entries.insert(i, (key.to_vec(), value.to_vec())),
        }
    }

    fn merge(&mut self, key: &[u8], operand: &[u8]) {
        let mut value = self
            .get(key)
            .map_or(Vec::new(), |v| [&v, &b","[..]].concat());
        value.extend_from_slice(operand);
        self.put(key, &value);
    }

    fn delete(&mut self, key: &[u8]) {
        if let Ok(i) = self.place(key) {
            self.entries.remove(i);
        }
    }

    fn delete_range(&mut self, from: &[u8], to: &[u8]) {
        let order = self.order;
        self.entries
            .retain(|(k, _)| order(k, from).is_lt() || order(k, to).is_ge());
    }

    fn get(&self, key: &[u8]) -> Option<Vec<u8>> {
        self.place(key).ok().map(|i| self.entries[i].1.clone())
    }
}

fn random_key(rng: &mut StdRng) -> Vec<u8> {
    let len = rng.random_range(1..4);
    (0..len)
        .map(|_| b"abcABC"[rng.random_range(0..6)])
        .collect()
}

/// Compares everything that the database shows with the model.
fn check(db: &Db, model: &Model, mut read: impl FnMut() -> ReadOptions, rng: &mut StdRng) {
    for _ in 0..5 {
        let key = random_key(rng);
        assert_eq!(db.get_opt(&key, &read()), Ok(model.get(&key)), "{key:?}");
    }
    let it = &mut db.raw_iterator_opt(read());
    let mut expected = model.entries.iter();
    it.seek_to_first();
    while let Some((key, value)) = it.item() {
        let (k, v) = expected.next().expect("no more than the model");
        assert_eq!((key, value), (&k[..], &v[..]));
        it.next();
    }
    it.status().expect("no failure");
    assert_eq!(expected.next(), None);
    let mut expected = model.entries.iter().rev();
    it.seek_to_last();
    while let Some((key, value)) = it.item() {
        let (k, v) = expected.next().expect("no more than the model");
        assert_eq!((key, value), (&k[..], &v[..]));
        it.prev();
    }
    it.status().expect("no failure");
    assert_eq!(expected.next(), None);
    let target = random_key(rng);
    it.seek(&target);
    let at = model.place(&target).unwrap_or_else(|i| i);
    let value = |i: usize| model.entries.get(i).map(|(_, v)| &v[..]);
    assert_eq!(it.value(), value(at));
    it.seek_for_prev(&target);
    let at = model.place(&target).map_or_else(|i| i.checked_sub(1), Some);
    assert_eq!(it.value(), at.and_then(value));
}

/// Options for [`run`] with an order.
fn options(name: &str, order: Order) -> Options {
    let mut o: Options = tiny();
    o.set_fs(Arc::new(MemFs::new()));
    o.set_comparator(name, Box::new(order));
    // Both would treat equal keys with different bytes as different.
    o.set_memtable_whole_key_filtering(false);
    o.set_prefix_extractor(SliceTransform::create("none", |key| key, Some(|_| false)));
    let mut table = BlockBasedOptions::default();
    table.set_data_block_index_type(DataBlockIndexType::BinaryAndHash);
    table.set_block_restart_interval(2);
    o.set_block_based_table_factory(&table);
    o
}

fn run(seed: u64, mut o: Options, order: Order) {
    let rng = &mut StdRng::seed_from_u64(seed);
    if rng.random_bool(0.3) {
        o.set_max_subcompactions(3);
    }
    let mut db = Db::open(&o, DIR).expect("opens");
    let mut model = Model {
        order,
        entries: Vec::new(),
    };
    for round in 0..8 {
        let snapshot = db.snapshot();
        let before = model.clone();
        for i in 0..30 {
            let key = random_key(rng);
            match rng.random_range(0..30) {
                0..4 => {
                    model.delete(&key);
                    db.delete(&key).expect("writes");
                }
                4..6 => {
                    let mut ends = [key, random_key(rng)];
                    ends.sort_by(|a, b| order(a, b));
                    let mut batch = WriteBatch::default();
                    batch.delete_range(&ends[0], &ends[1]);
                    db.write(batch).expect("writes");
                    model.delete_range(&ends[0], &ends[1]);
                }
                6 => db.flush().expect("flushes"),
                7 => db.compact_range(None::<&[u8]>, None::<&[u8]>),
                8 => {
                    let mut ends = [key, random_key(rng)];
                    ends.sort_by(|a, b| order(a, b));
                    db.compact_range(Some(&ends[0]), Some(&ends[1]));
                }
                9..14 => {
                    let operand = format!("{round}+{i}");
                    model.merge(&key, operand.as_bytes());
                    db.merge(&key, &operand).expect("writes");
                }
                _ => {
                    let value = format!("{round} {i}");
                    model.put(&key, value.as_bytes());
                    db.put(&key, &value).expect("writes");
                }
            }
            if i % 7 == 0 {
                check(&db, &model, ReadOptions::default, rng);
                let then = || {
                    let mut read = ReadOptions::default();
                    read.set_snapshot(&snapshot);
                    read
                };
                check(&db, &before, then, rng);
            }
        }
        drop(snapshot);
        if rng.random_bool(0.5) {
            drop(db);
            db = Db::open(&o, DIR).expect("opens");
        }
        check(&db, &model, ReadOptions::default, rng);
    }
}

#[test]
fn given_orders_agree_with_a_model() {
    for (name, order) in ORDERS {
        for seed in 0..15 {
            run(seed, options(name, order), order);
        }
    }
}

#[test]
fn memtables_ask_the_order_which_keys_are_equal() {
    for (i, memtable) in MEMTABLES.into_iter().enumerate() {
        if memtable == "art" {
            continue; // serves the built-in orders only
        }
        for (j, (name, order)) in ORDERS.into_iter().enumerate() {
            for protection in [0, 8] {
                let mut o = options(name, order);
                let nothing = SliceTransform::create("none", |key| key, Some(|_| false));
                set_memtable(&mut o, memtable);
                o.set_prefix_extractor(nothing);
                o.set_memtable_protection_bytes_per_key(protection);
                run((i * 10 + j) as u64, o, order);
            }
        }
    }
}

#[test]
fn values_overwritten_in_place_are_found_under_each_spelling() {
    for protection in [0, 8] {
        let mut o = options("without_case", without_case);
        o.set_allow_concurrent_memtable_write(false);
        o.set_commit_protocol(CommitProtocol::Grouped);
        o.set_inplace_update_support(true);
        o.set_memtable_protection_bytes_per_key(protection);
        let db = Db::open(&o, DIR).expect("opens");
        for (key, value) in [("Key", "first"), ("kEY", "next"), ("keY", "longer value")] {
            db.put(key, value).expect("writes");
            for spelling in ["key", "KEY", key] {
                let found = db.get(spelling).expect("reads");
                assert_eq!(found.as_deref(), Some(value.as_bytes()), "{spelling}");
            }
        }
        db.flush().expect("flushes");
        assert_eq!(db.get("key"), Ok(Some(b"longer value".to_vec())));
    }
}

/// Filters hold bytes. With such an order, a look-up gets what is documented, and iterators are
/// right all the same.
#[test]
fn filters_know_keys_by_their_bytes() {
    let mut o = options("without_case", without_case);
    let mut table = BlockBasedOptions::default();
    table.set_bloom_filter(20.0, false);
    o.set_block_based_table_factory(&table);
    let db = Db::open(&o, DIR).expect("opens");
    db.put("Key", "value").expect("writes");
    db.flush().expect("flushes");
    assert_eq!(db.get("Key"), Ok(Some(b"value".to_vec())));
    let mut it = db.raw_iterator();
    it.seek("kEY");
    assert_eq!(it.item(), Some((&b"Key"[..], &b"value"[..])));
    let no_filter: Vec<_> = ["key", "kEY", "KEY", "keY"]
        .iter()
        .map(|spelling| db.get(spelling).expect("reads"))
        .collect();
    assert!(no_filter.contains(&None), "a filter that hashes bytes");
}

#[test]
fn every_function_that_threads_may_share_is_taken_as_a_comparator() {
    fn named(a: &[u8], b: &[u8]) -> Ordering {
        b.cmp(a)
    }
    let pointer: Order = named;
    let calls = Arc::new(std::sync::atomic::AtomicUsize::new(0));
    let counted = Arc::clone(&calls);
    let counting = move |a: &[u8], b: &[u8]| {
        counted.fetch_add(1, std::sync::atomic::Ordering::Relaxed);
        b.cmp(a)
    };
    type Shared = dyn Fn(&[u8], &[u8]) -> Ordering + Send + Sync;
    let boxed: Box<Shared> = Box::new(counting);
    let given: [&dyn Fn(&mut Options); 3] = [
        &|o| o.set_comparator("backwards", Box::new(named)),
        &|o| o.set_comparator("backwards", Box::new(pointer)),
        &|o| o.set_comparator("backwards", Box::new(|a, b| b.cmp(a))),
    ];
    let mut all: Vec<Options> = (0..4).map(|_| tiny()).collect();
    for (o, give) in all.iter_mut().zip(given) {
        give(o);
    }
    all[3].set_comparator("backwards", boxed);
    for mut o in all {
        o.set_fs(Arc::new(MemFs::new()));
        let db = Db::open(&o, DIR).expect("opens");
        for key in ["a", "c", "b"] {
            db.put(key, key).expect("writes");
        }
        let keys = db.iterator(whitewater::IteratorMode::Start);
        let keys: Vec<_> = keys.map(|item| item.expect("reads").0).collect();
        assert_eq!(
            keys,
            [b"c"[..].into(), b"b"[..].into(), Box::from(&b"a"[..])]
        );
    }
    assert_ne!(calls.load(std::sync::atomic::Ordering::Relaxed), 0);
}

/// A comparator that must not be called is enough for a database of one key.
#[test]
fn a_database_of_one_key_is_written_and_flushed_without_comparisons() {
    for name in MEMTABLES {
        if name == "art" {
            continue; // serves the built-in orders only
        }
        let mut o = tiny();
        o.set_fs(Arc::new(MemFs::new()));
        set_memtable(&mut o, name);
        o.set_comparator(
            "asked for nothing",
            Box::new(|_: &[u8], _: &[u8]| panic!("compared")),
        );
        let db = Db::open(&o, DIR).unwrap();
        db.put("k", "v").unwrap();
        db.flush().unwrap();
        drop(db);
        let db = Db::open(&o, DIR).unwrap();
        assert_eq!(db.live_files().unwrap().len(), 1, "{name}");
    }
}
