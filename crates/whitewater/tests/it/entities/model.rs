//! Random operations on values and entities beside a map.

use super::append;
use crate::harness::campaign;
use rand::rngs::StdRng;
use rand::{Rng, SeedableRng};
use std::collections::BTreeMap;
use whitewater::{
    CommitProtocol, DB, MemtableFactory, Options, ReadOptions, WideColumn, WriteBatch,
};

type Columns = BTreeMap<Vec<u8>, Vec<u8>>;
type Model = BTreeMap<Vec<u8>, Columns>;

fn random_options(rng: &mut StdRng) -> Options {
    let mut options = Options::default();
    options.create_if_missing(true);
    options.set_merge_operator_associative("append", append);
    options.set_write_buffer_size(1 << rng.random_range(13..20));
    options.set_max_successive_merges(rng.random_range(0..4));
    options.set_memtable_protection_bytes_per_key(8 * rng.random_range(0..2));
    options.set_enable_blob_files(rng.random());
    options.set_min_blob_size(8);
    options.set_memtable_factory(match rng.random_range(0..3) {
        0 => MemtableFactory::SkipList,
        1 => MemtableFactory::Vector,
        _ => MemtableFactory::Art,
    });
    if rng.random_ratio(1, 3) {
        options.set_allow_concurrent_memtable_write(false);
        options.set_commit_protocol(CommitProtocol::Grouped);
    }
    options
}

fn random_columns(rng: &mut StdRng) -> Columns {
    let names = ["", "a", "b", "name"];
    let chosen = names.iter().filter(|_| rng.random_ratio(2, 3));
    let chosen: Vec<_> = chosen.map(|name| name.as_bytes().to_vec()).collect();
    let value = |rng: &mut StdRng| vec![b'v'; rng.random_range(0..20)];
    chosen.into_iter().map(|name| (name, value(rng))).collect()
}

fn merge(columns: Option<Columns>, operand: &[u8]) -> Columns {
    let mut columns = columns.unwrap_or_default();
    columns.entry(Vec::new()).or_default().extend(operand);
    columns
}

fn as_map(columns: Vec<WideColumn<'_>>) -> Columns {
    let owned = |column: WideColumn<'_>| (column.name.to_vec(), column.value.to_vec());
    columns.into_iter().map(owned).collect()
}

/// The database holds what `model` says, for each kind of read.
fn check(db: &DB, model: &Model, readopts: impl Fn() -> ReadOptions) {
    let mut iterator = db.raw_iterator_opt(readopts());
    iterator.seek_to_first();
    for (key, columns) in model {
        assert_eq!(iterator.key(), Some(&key[..]));
        assert_eq!(&as_map(iterator.columns().unwrap()), columns);
        let default = columns.get(&b""[..]).cloned().unwrap_or_default();
        assert_eq!(iterator.value(), Some(&default[..]));
        let found = db.get_entity_opt(key, &readopts()).unwrap().unwrap();
        assert_eq!(&as_map(found.iter().collect()), columns);
        assert_eq!(db.get_opt(key, &readopts()).unwrap(), Some(default));
        iterator.next();
    }
    assert!(!iterator.valid());
    iterator.status().unwrap();
    iterator.seek_to_last();
    for (key, columns) in model.iter().rev() {
        assert_eq!(iterator.key(), Some(&key[..]));
        assert_eq!(&as_map(iterator.columns().unwrap()), columns);
        iterator.prev();
    }
    assert!(!iterator.valid());
    iterator.status().unwrap();
}

fn step(rng: &mut StdRng, batch: &mut WriteBatch, model: &mut Model) {
    let key = vec![b'k', rng.random_range(0..12)];
    match rng.random_range(0..10) {
        0..4 => {
            let columns = random_columns(rng);
            batch.put_entity(&key, &columns.iter().collect::<Vec<_>>());
            model.insert(key, columns);
        }
        4..6 => {
            let value = vec![b'p'; rng.random_range(0..20)];
            batch.put(&key, &value);
            model.insert(key, Columns::from([(Vec::new(), value)]));
        }
        6..9 => {
            let operand = [rng.random_range(b'a'..=b'z')];
            batch.merge(&key, operand);
            let merged = merge(model.remove(&key), &operand);
            model.insert(key, merged);
        }
        _ => {
            batch.delete(&key);
            model.remove(&key);
        }
    }
}

#[test]
fn values_and_entities_mixed_at_random() {
    campaign("values_and_entities_mixed_at_random", 1, 12, |seed| {
        let rng = &mut StdRng::seed_from_u64(seed);
        let dir = tempfile::tempdir().unwrap();
        let mut model = Model::new();
        for _ in 0..3 {
            let db = DB::open(&random_options(rng), dir.path()).unwrap();
            let mut kept = None;
            for _ in 0..60 {
                let mut batch = WriteBatch::default();
                for _ in 0..rng.random_range(1..6) {
                    step(rng, &mut batch, &mut model);
                }
                db.write(batch).unwrap();
                match rng.random_range(0..20) {
                    0..3 => db.flush().unwrap(),
                    3 => db.compact_range(None::<&[u8]>, None::<&[u8]>),
                    4 if kept.is_none() => kept = Some((db.snapshot(), model.clone())),
                    5..8 => check(&db, &model, ReadOptions::default),
                    _ => {}
                }
            }
            check(&db, &model, ReadOptions::default);
            if let Some((snapshot, then)) = &kept {
                check(&db, then, || {
                    let mut readopts = ReadOptions::default();
                    readopts.set_snapshot(snapshot);
                    readopts
                });
            }
        }
    });
}
