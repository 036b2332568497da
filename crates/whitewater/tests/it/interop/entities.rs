//! Wide columns, in both directions, with RocksDB through rocksdict, and with the tools of a
//! RocksDB that knows entities as values only.

use super::python::python;
use super::tools;
use crate::content::{hex, unhex};
use rand::rngs::StdRng;
use rand::{Rng, SeedableRng};
use serde_json::Value;
use std::collections::BTreeMap;
use std::path::Path;
use whitewater::{BlockBasedOptions, DB, Options, WriteBatch};

type Pairs = Vec<(Vec<u8>, Vec<u8>)>;
type Entities = BTreeMap<Vec<u8>, Pairs>;

fn options() -> Options {
    let mut options = Options::default();
    options.create_if_missing(true);
    options
}

fn script(python: &str, arguments: &[&str]) -> Entities {
    let script = tools::script("interop_entities.py");
    let out = tools::run(python, &[&[tools::path(&script)], arguments].concat());
    let json: Value = serde_json::from_str(&out).expect("valid JSON");
    let text = |v: &Value| unhex(v.as_str().expect("a string"));
    let pair = |v: &Value| (text(&v[0]), text(&v[1]));
    let keys = json.as_object().expect("keys").iter();
    keys.map(|(key, columns)| {
        let columns = columns.as_array().expect("columns");
        (unhex(key), columns.iter().map(pair).collect())
    })
    .collect()
}

fn scan(db: &DB) -> Entities {
    let mut iterator = db.raw_iterator();
    iterator.seek_to_first();
    let mut found = Entities::new();
    while let Some(key) = iterator.key() {
        let columns = iterator.columns().expect("it stands on a key");
        let owned = |c: whitewater::WideColumn<'_>| (c.name.to_vec(), c.value.to_vec());
        found.insert(key.to_vec(), columns.into_iter().map(owned).collect());
        iterator.next();
    }
    iterator.status().expect("readable");
    for (key, columns) in &found {
        let entity = db.get_entity(key).expect("readable").expect("just shown");
        let entity: Pairs = entity
            .iter()
            .map(|c| (c.name.to_vec(), c.value.to_vec()))
            .collect();
        assert_eq!(&entity, columns);
    }
    found
}

/// Random values, entities and deletions, with a flush in the middle.
fn edit(db: &DB, rng: &mut StdRng, content: &mut Entities) {
    for step in 0..300 {
        let key = format!("k{:03}", rng.random_range(0..60)).into_bytes();
        let mut value = || vec![b'v'; rng.random_range(0..40)];
        let columns: Pairs = ["", "a", "c", "name"]
            .map(|name| (name.as_bytes().to_vec(), value()))
            .to_vec();
        let from = rng.random_range(0..4);
        let columns = &columns[from..];
        match rng.random_range(0..4) {
            0 => db.put_entity(&key, columns).expect("written"),
            1 => {
                let mut batch = WriteBatch::default();
                batch.put_entity(&key, columns.iter().rev());
                db.write(batch).expect("written");
            }
            2 => {
                db.put(&key, &columns[0].1).expect("written");
                content.insert(key, vec![(Vec::new(), columns[0].1.clone())]);
                continue;
            }
            _ => {
                db.delete(&key).expect("written");
                content.remove(&key);
                continue;
            }
        }
        content.insert(key, columns.to_vec());
        if step == 150 {
            db.flush().expect("flushed");
        }
    }
}

#[test]
fn rocksdict_and_this_engine_edit_the_same_entities_in_turn() {
    let Some(python) = python() else { return };
    let rng = &mut StdRng::seed_from_u64(7);
    let dir = tempfile::tempdir().expect("a temporary directory");
    let path = dir.path().join("db");
    let path = tools::path(&path);
    let mut content = Entities::new();
    for round in 0..3 {
        let db = DB::open(&options(), path).expect("opened");
        assert_eq!(scan(&db), content, "round {round}");
        edit(&db, rng, &mut content);
        assert_eq!(scan(&db), content, "round {round}");
        drop(db);
        let copy = tools::copied(Path::new(path));
        assert_eq!(
            script(&python, &["scan", tools::path(copy.path())]),
            content
        );
        content = script(&python, &["edit", path, &round.to_string()]);
    }
}

/// The tools of RocksDB 7.8 print the default column.
#[test]
fn older_tools_see_the_default_columns() {
    if !tools::available() {
        return;
    }
    let dir = tempfile::tempdir().expect("a temporary directory");
    let mut table = BlockBasedOptions::default();
    table.set_format_version(5);
    let mut options = options();
    options.set_block_based_table_factory(&table);
    let db = DB::open(&options, dir.path()).expect("opened");
    db.put_entity("flushed", [("name", "ada"), ("", "default")])
        .expect("written");
    db.put_entity("none", [("name", "ada")]).expect("written");
    db.flush().expect("flushed");
    db.put_entity("logged", [("", "of the log"), ("x", "y")])
        .expect("written");
    drop(db);
    let copy = tools::copied(dir.path());
    let out = tools::ldb(copy.path(), &["scan", "--hex"]);
    let line = |key: &str, value: &str| {
        let hex = |text: &str| hex(text.as_bytes()).to_uppercase();
        format!("0x{} : 0x{}", hex(key), hex(value))
    };
    let lines: Vec<&str> = out.lines().collect();
    let expected = [
        line("flushed", "default"),
        line("logged", "of the log"),
        line("none", ""),
    ];
    assert_eq!(lines, expected);
}
