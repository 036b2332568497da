//! The row cache: what is found there, and that it is never stale.

use crate::harness::{Db, tiny};
use rand::rngs::StdRng;
use rand::{Rng, SeedableRng};
use std::collections::BTreeMap;
use std::sync::Arc;
use whitewater::fs::mem::MemFs;
use whitewater::statistics::Ticker;
use whitewater::{Cache, IngestExternalFileOptions, Options, ReadOptions, ReadTier, SstFileWriter};

const DIR: &str = "/db";

fn options(rows: &Cache) -> Options {
    let mut o = tiny();
    o.set_fs(Arc::new(MemFs::new()));
    o.set_row_cache(rows);
    o.enable_statistics();
    o.set_disable_auto_compactions(true);
    o.set_merge_operator_associative("append", |_, existing, operands| {
        let parts: Vec<&[u8]> = existing.into_iter().chain(operands).collect();
        Some(parts.concat())
    });
    o
}

/// Hits and misses so far.
fn counts(o: &Options) -> (u64, u64) {
    let of = |ticker| o.get_ticker_count(ticker);
    (of(Ticker::RowCacheHit), of(Ticker::RowCacheMiss))
}

fn get(db: &Db, key: &str) -> Option<String> {
    let found = db.get(key).expect("reads");
    found.map(|value| String::from_utf8(value).expect("text"))
}

#[test]
fn rows_are_found_again() {
    let rows = Cache::new_lru_cache(1 << 20);
    let o = options(&rows);
    let db = Db::open(&o, DIR).expect("opens");
    for key in ["a", "b", "c"] {
        db.put(key, format!("{key}{}", "-".repeat(1_000))).unwrap();
    }
    db.merge("c", "+").unwrap();
    db.delete("b").unwrap();
    assert!(get(&db, "a").is_some());
    assert_eq!(counts(&o), (0, 0), "no table was asked");
    db.flush().unwrap();
    let mut once = ReadOptions::default();
    once.fill_cache(false);
    assert!(db.get_opt("a", &once).unwrap().is_some());
    assert_eq!((counts(&o), rows.get_usage()), ((0, 1), 0));
    let all = || ["a", "b", "c"].map(|key| get(&db, key));
    let first = all();
    assert_eq!(counts(&o), (0, 4));
    assert!(rows.get_usage() > 2_000, "two values of 1000 bytes");
    assert_eq!(all(), first);
    assert!(first[1].is_none() && first[2].as_deref().unwrap().ends_with('+'));
    assert_eq!(counts(&o), (3, 4));
    // A row needs no block.
    let mut memory = ReadOptions::default();
    memory.set_read_tier(ReadTier::BlockCache);
    assert!(db.get_opt("a", &memory).unwrap().is_some());
    let found = db.multi_get(["a", "b"]);
    assert!(found[0].as_ref().unwrap().is_some() && found[1].as_ref().unwrap().is_none());
    assert_eq!(counts(&o), (6, 4));
    // What no table holds has no row, and iterators use none.
    assert!(get(&db, "bb").is_none() && get(&db, "bb").is_none());
    assert_eq!(db.iterator(whitewater::IteratorMode::Start).count(), 2);
    assert_eq!(counts(&o).0, 6);
}

#[test]
fn rows_take_no_more_than_the_capacity() {
    let rows = Cache::new_lru_cache(20_000);
    let o = options(&rows);
    let db = Db::open(&o, DIR).expect("opens");
    for i in 0..100 {
        db.put(format!("{i}"), "v".repeat(1_000)).unwrap();
    }
    db.flush().unwrap();
    for _ in 0..3 {
        for i in 0..100 {
            assert_eq!(get(&db, &format!("{i}")), Some("v".repeat(1_000)));
            assert!(rows.get_usage() <= 20_000);
        }
    }
    assert!(rows.get_usage() > 0);
}

#[test]
fn snapshots_have_rows_of_their_own() {
    for newest_first in [false, true] {
        let rows = Cache::new_lru_cache(1 << 20);
        let o = options(&rows);
        let db = Db::open(&o, DIR).expect("opens");
        db.put("k", "1").unwrap();
        let first = db.snapshot();
        db.put("k", "2").unwrap();
        let second = db.snapshot();
        db.put("k", "3").unwrap();
        db.flush().unwrap();
        let at = |snapshot| {
            let mut read = ReadOptions::default();
            read.set_snapshot(snapshot);
            db.get_opt("k", &read).unwrap().unwrap()
        };
        for _ in 0..2 {
            let found = if newest_first {
                let newest = db.get("k").unwrap().unwrap();
                let second = at(&second);
                [at(&first), second, newest]
            } else {
                [at(&first), at(&second), db.get("k").unwrap().unwrap()]
            };
            assert_eq!(found, [b"1", b"2", b"3"]);
        }
        assert_eq!(counts(&o), (3, 3));
        // A snapshot that sees all of the table shares the row of newer readers.
        let third = db.snapshot();
        assert_eq!(at(&third), b"3");
        assert_eq!(counts(&o), (4, 3));
    }
}

#[test]
fn databases_that_share_a_cache_have_rows_of_their_own() {
    let rows = Cache::new_lru_cache(1 << 20);
    let open = |value: &str| {
        let mut o = options(&rows);
        o.set_block_based_table_factory(&{
            let mut table = whitewater::BlockBasedOptions::default();
            table.set_block_cache(&rows); // blocks and rows in one cache
            table
        });
        let db = Db::open(&o, DIR).expect("opens");
        db.put("k", value).unwrap();
        db.flush().unwrap();
        (o, db)
    };
    let all = ["1", "2", "3"].map(|value| (open(value), value));
    for round in 0..3 {
        for ((o, db), value) in &all {
            assert_eq!(get(db, "k").as_deref(), Some(*value), "round {round}");
            assert_eq!(counts(o), (round, 1));
        }
    }
    // The tables of a database that is opened again may have the numbers of others.
    let fs = MemFs::new();
    for round in 0..3 {
        let mut o = options(&rows);
        o.set_fs(Arc::new(fs.clone()));
        let db = Db::open(&o, DIR).expect("opens");
        db.put("k", format!("{round}")).unwrap();
        db.flush().unwrap();
        assert_eq!(get(&db, "k"), Some(format!("{round}")));
        drop(db);
        Db::destroy(&o, DIR).expect("goes");
    }
}

#[test]
fn tables_that_are_closed_keep_their_rows() {
    let rows = Cache::new_lru_cache(1 << 20);
    let mut o = options(&rows);
    o.set_max_open_files(1);
    let db = Db::open(&o, DIR).expect("opens");
    for key in ["a", "b"] {
        db.put(key, key).unwrap();
        db.flush().unwrap();
    }
    for _ in 0..3 {
        for key in ["a", "b"] {
            assert_eq!(get(&db, key).as_deref(), Some(key));
        }
    }
    assert_eq!(counts(&o), (4, 2));
}

#[test]
fn ingested_tables_hide_rows_of_older_ones() {
    let dir = tempfile::tempdir().expect("a directory");
    let rows = Cache::new_lru_cache(1 << 20);
    let mut o = options(&rows);
    o.set_fs(Arc::new(whitewater::fs::os::OsFs));
    let db = Db::open(&o, dir.path().join("db")).expect("opens");
    db.put("k", "old").unwrap();
    db.flush().unwrap();
    assert_eq!(get(&db, "k").as_deref(), Some("old"));
    let before = db.snapshot();
    let path = dir.path().join("table.sst");
    let mut writer = SstFileWriter::create(&o);
    writer.open(&path).expect("opens");
    writer.put("k", "new").expect("adds");
    writer.finish().expect("finishes");
    let take = IngestExternalFileOptions::default();
    db.ingest_external_file_opts(&take, vec![&path])
        .expect("takes it in");
    let mut then = ReadOptions::default();
    then.set_snapshot(&before);
    for _ in 0..2 {
        assert_eq!(get(&db, "k").as_deref(), Some("new"));
        let found = db.get_opt("k", &then).unwrap();
        assert_eq!(found.as_deref(), Some(&b"old"[..]));
    }
}

/// A database with a row cache answers as one without, whatever is written, deleted by ranges,
/// merged, flushed and compacted in between.
#[test]
fn rows_are_never_stale() {
    for seed in 0..20 {
        let rng = &mut StdRng::seed_from_u64(seed);
        let rows = Cache::new_lru_cache(*[1_000, 1 << 20].get(seed as usize % 2).unwrap());
        let mut o = options(&rows);
        o.set_max_open_files(if rng.random() { -1 } else { 1 });
        if rng.random() {
            o.set_comparator(
                "any case",
                Box::new(|a, b| a.to_ascii_lowercase().cmp(&b.to_ascii_lowercase())),
            );
        }
        let any_case = seed > 0 && format!("{o:?}").contains("any case");
        let spell = |rng: &mut StdRng, key: &str| match any_case && rng.random() {
            true => key.to_uppercase(),
            false => key.to_owned(),
        };
        let db = Db::open(&o, DIR).expect("opens");
        let mut model: BTreeMap<String, String> = BTreeMap::new();
        for n in 0..400 {
            let key = format!("k{}", rng.random_range(0..6));
            let written = spell(rng, &key);
            match rng.random_range(0..20) {
                0..3 => {
                    db.put(&written, format!("{n},")).unwrap();
                    model.insert(key, format!("{n},"));
                }
                3..6 => {
                    db.merge(&written, format!("{n},")).unwrap();
                    model.entry(key).or_default().push_str(&format!("{n},"));
                }
                6 => {
                    db.delete(&written).unwrap();
                    model.remove(&key);
                }
                7 if rng.random_bool(0.2) => {
                    let cf = db.cf_handle("default");
                    if let Some(cf) = cf {
                        db.delete_range_cf(&cf, key.as_str(), "k9").unwrap();
                        model.retain(|k, _| *k < key);
                    }
                }
                8 | 9 => db.flush().unwrap(),
                10 => db.compact_range(None::<&[u8]>, None::<&[u8]>),
                _ => {
                    let asked = spell(rng, &key);
                    assert_eq!(
                        get(&db, &asked),
                        model.get(&key).cloned(),
                        "seed {seed}, {n}"
                    );
                }
            }
        }
        assert!(counts(&o).0 > 0 || seed % 2 == 0);
    }
}
