//! What is read is the same with and without mempurge.

use super::{count_purges, purging};
use crate::harness::{DIR, Db, MEMTABLES, campaign, open_named, set_memtable, until, views_hold};
use rand::rngs::StdRng;
use rand::{Rng, SeedableRng};
use std::path::Path;
use std::sync::atomic::Ordering;
use whitewater::fs::mem::MemFs;
use whitewater::{IteratorMode, Options, ReadOptions, SnapshotWithThreadMode, WriteBatch};

/// One change, the same for all databases.
fn change(db: &Db, rng: &mut StdRng, n: usize) {
    let families = [db.cf_handle("default"), db.cf_handle("other")];
    let cf = families[rng.random_range(0..2)].as_ref().unwrap();
    let number = rng.random_range(0..40);
    let key = format!("k{number:03}");
    let value = vec![n as u8; rng.random_range(0..600)];
    match rng.random_range(0..100) {
        0..60 => db.put_cf(cf, key, value).unwrap(),
        60..70 => db.delete_cf(cf, key).unwrap(),
        70..82 => db.merge_cf(cf, key, &value[..value.len().min(30)]).unwrap(),
        82..90 => {
            let columns = [("", &value[..]), ("column", b"value")];
            db.put_entity_cf(cf, key, columns).unwrap();
        }
        90..92 => {
            let end = format!("k{:03}", number + rng.random_range(1..5));
            db.delete_range_cf(cf, key, end).unwrap();
        }
        _ => {
            let key = format!("once{:03}", n % 7);
            let mut batch = WriteBatch::default();
            batch.single_delete_cf(cf, &key);
            batch.put_cf(cf, &key, value);
            db.write(batch).unwrap();
        }
    }
}

/// Everything in the database, as it is read at `snapshot`.
fn content(db: &Db, snapshot: Option<&SnapshotWithThreadMode<'_, Db>>) -> Vec<(Vec<u8>, Vec<u8>)> {
    let mut all = Vec::new();
    for name in ["default", "other"] {
        let cf = db.cf_handle(name).unwrap();
        let options = || {
            let mut o = ReadOptions::default();
            o.set_total_order_seek(true);
            if let Some(snapshot) = snapshot {
                o.set_snapshot(snapshot);
            }
            o
        };
        let scan = |mode| {
            let entries = db.iterator_cf_opt(&cf, options(), mode);
            let pair = |(k, v): (Box<[u8]>, Box<[u8]>)| (k.into_vec(), v.into_vec());
            entries.map(|e| pair(e.unwrap())).collect::<Vec<_>>()
        };
        let forward = scan(IteratorMode::Start);
        let mut backward = scan(IteratorMode::End);
        backward.reverse();
        assert_eq!(forward, backward, "{name}");
        for (key, value) in &forward {
            let found = db.get_cf_opt(&cf, key, &options()).unwrap();
            assert_eq!(found.as_ref(), Some(value), "{name}");
        }
        all.extend(forward);
    }
    all
}

fn open(o: &Options) -> Db {
    let names = ["default", "other"].map(str::to_owned);
    open_named(o, Path::new(DIR), &names).unwrap()
}

fn with_memtable(seed: u64, memtable: &str) {
    let (one, two) = (MemFs::new(), MemFs::new());
    let mut flushing = purging(&one);
    flushing.set_experimental_mempurge_threshold(0.0);
    let mut o = purging(&two);
    o.set_experimental_mempurge_threshold(3.0);
    set_memtable(&mut o, memtable);
    let purges = count_purges(&mut o);
    let (right, db) = (open(&flushing), open(&o));
    let mut snapshots = Vec::new();
    let (mut rng, mut twin) = (StdRng::seed_from_u64(seed), StdRng::seed_from_u64(seed));
    for n in 0..2_500 {
        change(&right, &mut twin, n);
        change(&db, &mut rng, n);
        if views_hold() && n % 251 == 0 {
            snapshots.push((right.snapshot(), db.snapshot()));
        }
        if n % 700 == 0 && !snapshots.is_empty() {
            snapshots.remove(0);
        }
        if n % 400 == 399 {
            assert_eq!(content(&db, None), content(&right, None), "{n}");
            for (expected, snapshot) in &snapshots {
                let expected = content(&right, Some(expected));
                assert_eq!(content(&db, Some(snapshot)), expected, "{n}");
            }
        }
    }
    until("a purge", || purges.load(Ordering::SeqCst) > 0);
    drop(snapshots);
    let expected = content(&right, None);
    assert_eq!(content(&db, None), expected);
    db.flush().unwrap();
    assert_eq!(content(&db, None), expected);
    drop(db);
    assert_eq!(content(&open(&o), None), expected);
}

#[test]
fn what_is_read_does_not_depend_on_purges() {
    campaign("mempurge::same", 4_700, 1, |seed| {
        MEMTABLES.iter().for_each(|m| with_memtable(seed, m));
    });
}

/// A snapshot sees the values of its time.
#[test]
fn what_a_snapshot_sees_is_not_purged() {
    let fs = MemFs::new();
    let mut o = purging(&fs);
    let purges = count_purges(&mut o);
    let db = Db::open(&o, DIR).unwrap();
    super::overwrite(&db, 10);
    db.put("hot0", "of the snapshot").unwrap();
    let snapshot = db.snapshot();
    super::purge(&db, &purges, 2);
    let seen = snapshot.get("hot0").unwrap();
    assert_eq!(seen, Some(b"of the snapshot".to_vec()));
    super::check_hot(&db);
}

/// A range deletion goes on to delete what is in tables.
#[test]
fn what_was_deleted_before_a_purge_stays_deleted() {
    let fs = MemFs::new();
    let mut o = purging(&fs);
    let purges = count_purges(&mut o);
    let db = Db::open(&o, DIR).unwrap();
    for key in ["a", "b", "c"] {
        db.put(key, "old").unwrap();
    }
    db.flush().unwrap();
    let mut batch = WriteBatch::default();
    batch.delete_range("a", "b");
    batch.delete("b");
    batch.single_delete("c");
    db.write(batch).unwrap();
    super::purge(&db, &purges, 2);
    for key in ["a", "b", "c"] {
        assert_eq!(db.get(key).unwrap(), None, "{key}");
    }
    db.flush().unwrap();
    db.compact_range::<&[u8], &[u8]>(None, None);
    assert_eq!(db.get("a").unwrap(), None);
    super::check_hot(&db);
}
