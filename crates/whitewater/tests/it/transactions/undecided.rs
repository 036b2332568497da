//! What `WRITE_PREPARED` has in memtables and tables before it is decided, as its users see it:
//! nothing of it, wherever it is and whenever the look was taken.

use super::two_phase::{names, prepared};
use super::{
    BUSY, DIR, Txn, TxnDb, begin, impatient, options_on, shown, text, value, with_snapshot,
};
use crate::harness::{strict_protocols, until};
use std::collections::BTreeMap;
use std::path::Path;
use whitewater::checkpoint::TransactionDBCheckpoint;
use whitewater::fs::Fs;
use whitewater::fs::mem::MemFs;
use whitewater::{
    ColumnFamilyDescriptor, DBAccess, DBIteratorWithThreadMode, IteratorMode, Options, ReadOptions,
    WriteBatchWithTransaction, WritePolicy, properties,
};

type Map = BTreeMap<String, String>;

const POLICIES: [WritePolicy; 2] = [WritePolicy::WritePrepared, WritePolicy::WriteUnprepared];

fn open_on(options: &Options, policy: WritePolicy) -> TxnDb {
    let mut how = impatient();
    how.set_write_policy(policy);
    let families = TxnDb::list_cf(options, DIR).unwrap_or_else(|_| vec!["default".into()]);
    let families = families.into_iter();
    let families = families.map(|name| ColumnFamilyDescriptor::new(name, options.clone()));
    TxnDb::open_cf_descriptors(options, &how, DIR, families).unwrap()
}

/// A new database in memory with a policy.
fn open(policy: WritePolicy) -> TxnDb {
    open_on(&options_on(MemFs::new()), policy)
}

fn map(of: &[(&str, &str)]) -> Map {
    let owned = |(key, value): &(&str, &str)| (key.to_string(), value.to_string());
    of.iter().map(owned).collect()
}

fn entries<D: DBAccess>(entries: DBIteratorWithThreadMode<'_, D>) -> Vec<(String, String)> {
    let text = |bytes: Box<[u8]>| String::from_utf8(bytes.into()).unwrap();
    let entries = entries.map(|entry| entry.unwrap());
    entries
        .map(|(key, value)| (text(key), text(value)))
        .collect()
}

/// All of the database, by iterators both ways and by reads of each key.
fn contents(db: &TxnDb) -> Map {
    let found: Map = entries(db.iterator(IteratorMode::Start))
        .into_iter()
        .collect();
    let mut backwards = entries(db.iterator(IteratorMode::End));
    backwards.reverse();
    assert_eq!(backwards, found.clone().into_iter().collect::<Vec<_>>());
    for key in "abcdefghk".chars().map(String::from) {
        assert_eq!(value(db, &key), found.get(&key).cloned(), "{key}");
        let many = db.multi_get([&key, "other"]).swap_remove(0);
        assert_eq!(shown(many), found.get(&key).cloned(), "{key}");
    }
    found
}

/// Has everything written to tables, and these compacted.
fn compact(db: &TxnDb) {
    for _ in 0..2 {
        for filler in ["!", "~"] {
            db.put(filler, "").unwrap();
            db.delete(filler).unwrap();
        }
        db.flush().unwrap();
    }
    until("compactions end", || {
        let number = |name| db.property_int_value(name).unwrap().unwrap();
        number(properties::COMPACTION_PENDING) + number(properties::NUM_RUNNING_COMPACTIONS) == 0
    });
}

/// Runs `look` with the data in the memtable, in a table and in the last level.
fn wherever_it_is(db: &TxnDb, look: impl Fn()) {
    look();
    db.flush().unwrap();
    look();
    compact(db);
    look();
}

/// A transaction over what a database has: all kinds of operations, keys more than once.
fn mixed<'a>(db: &'a TxnDb, name: &str) -> Txn<'a> {
    for (key, old) in [("a", "0"), ("b", "0"), ("c", "0"), ("d", "0"), ("f", "0")] {
        db.put(key, old).unwrap();
    }
    let txn = db.transaction();
    txn.set_name(name.as_bytes()).unwrap();
    txn.put("a", "1").unwrap();
    txn.delete("b").unwrap();
    txn.merge("c", "1").unwrap();
    txn.merge("c", "2").unwrap();
    txn.single_delete("d").unwrap();
    txn.put("d", "1").unwrap();
    txn.put("e", "1").unwrap();
    txn.delete("e").unwrap();
    txn.put("e", "2").unwrap();
    txn.delete("f").unwrap();
    txn.merge("f", "1").unwrap();
    txn.merge("g", "1").unwrap();
    txn
}

const BEFORE: [(&str, &str); 5] = [("a", "0"), ("b", "0"), ("c", "0"), ("d", "0"), ("f", "0")];
const AFTER: [(&str, &str); 6] = [
    ("a", "1"),
    ("c", "0,1,2"),
    ("d", "1"),
    ("e", "2"),
    ("f", "1"),
    ("g", "1"),
];

#[test]
fn a_prepared_transaction_shows_in_its_own_reads_only() {
    for policy in POLICIES {
        let db = open(policy);
        let txn = mixed(&db, "x");
        txn.prepare().unwrap();
        wherever_it_is(&db, || {
            assert_eq!(contents(&db), map(&BEFORE));
            let own: Map = entries(txn.iterator(IteratorMode::Start))
                .into_iter()
                .collect();
            assert_eq!(own, map(&AFTER), "each operand is merged once");
            assert_eq!(shown(txn.get("c")).as_deref(), Some("0,1,2"));
            assert_eq!(
                shown(txn.get_for_update("c", true)).as_deref(),
                Some("0,1,2")
            );
        });
        txn.commit().unwrap();
        wherever_it_is(&db, || assert_eq!(contents(&db), map(&AFTER)));
    }
}

#[test]
fn a_snapshot_stays_as_it_was_whatever_is_decided() {
    for policy in POLICIES {
        for commits in [true, false] {
            let db = open(policy);
            let txn = mixed(&db, "x");
            let before = db.snapshot();
            txn.prepare().unwrap();
            db.put("k", "1").unwrap();
            let between = db.snapshot();
            let mut from = db.raw_iterator();
            let with_k = [&BEFORE[..], &[("k", "1")]].concat();
            let decided = if commits {
                txn.commit().unwrap();
                [&AFTER[..], &[("k", "1")]].concat()
            } else {
                txn.rollback().unwrap();
                with_k.clone()
            };
            let after = db.snapshot();
            wherever_it_is(&db, || {
                for (snapshot, expected) in [
                    (&before, &BEFORE[..]),
                    (&between, &with_k[..]),
                    (&after, &decided[..]),
                ] {
                    let found = entries(snapshot.iterator(IteratorMode::Start));
                    assert_eq!(found.into_iter().collect::<Map>(), map(expected));
                    for key in ["a", "b", "c", "d", "e", "f", "g", "k"] {
                        let expected = map(expected).get(key).cloned();
                        assert_eq!(shown(snapshot.get(key)), expected, "{key}");
                    }
                }
                assert_eq!(contents(&db), map(&decided));
            });
            // An iterator has a snapshot, too.
            from.seek("c");
            assert_eq!(from.value(), Some(&b"0"[..]));
            from.seek_for_prev("g");
            assert_eq!(from.key(), Some(&b"f"[..]));
            from.refresh().unwrap();
            from.seek("c");
            assert_eq!(
                from.value(),
                Some(if commits { &b"0,1,2"[..] } else { b"0" })
            );
        }
    }
}

#[test]
fn what_is_rolled_back_has_never_been_there() {
    for policy in POLICIES {
        let fs = MemFs::new();
        let db = open_on(&options_on(fs.clone()), policy);
        let txn = mixed(&db, "x");
        txn.prepare().unwrap();
        db.flush().unwrap();
        txn.rollback().unwrap();
        drop(txn);
        wherever_it_is(&db, || assert_eq!(contents(&db), map(&BEFORE)));
        // RocksDB's SingleDeleteAfterRollback: what was put once is gone after one.
        let txn = prepared(&db, "y", &["h"]);
        txn.rollback().unwrap();
        drop(txn);
        let mut batch = WriteBatchWithTransaction::<true>::default();
        batch.put("h", "2");
        batch.single_delete("h");
        batch.single_delete("d");
        db.write(batch).unwrap();
        let mut left = map(&BEFORE);
        left.remove("d");
        wherever_it_is(&db, || assert_eq!(contents(&db), left));
        drop(db);
        let db = open_on(&options_on(fs), policy);
        assert_eq!(contents(&db), left);
        assert!(names(&db).is_empty());
    }
}

#[test]
fn undecided_transactions_outlive_openings_and_compactions() {
    for policy in POLICIES {
        for protocol in strict_protocols() {
            let fs = MemFs::new();
            let mut o = options_on(fs.clone());
            o.set_commit_protocol(protocol);
            let db = open_on(&o, policy);
            mixed(&db, "x").prepare().unwrap();
            db.put("h", "0").unwrap();
            drop(prepared(&db, "y", &["h", "k"]));
            drop(prepared(&db, "z", &["z"]));
            let mut expected = map(&[&BEFORE[..], &[("h", "0")]].concat());
            drop(db);
            for round in 0..3 {
                let db = open_on(&o, policy);
                assert_eq!(contents(&db), expected, "{policy} {protocol} {round}");
                assert_eq!(names(&db), ["x", "y", "z"]);
                if round > 0 {
                    wherever_it_is(&db, || assert_eq!(contents(&db), expected));
                }
                db.put("round", format!("{round}")).unwrap();
                expected.insert("round".into(), format!("{round}"));
            }
            let db = open_on(&o, policy);
            let before = db.snapshot();
            for txn in db.prepared_transactions() {
                match txn.get_name().as_deref() {
                    Some(b"x") => txn.commit().unwrap(),
                    _ => txn.rollback().unwrap(),
                }
            }
            let found = entries(before.iterator(IteratorMode::Start));
            assert_eq!(found.into_iter().collect::<Map>(), expected);
            drop(before);
            let mut decided = map(&AFTER);
            decided.extend(map(&[("h", "0"), ("round", "2")]));
            wherever_it_is(&db, || assert_eq!(contents(&db), decided));
            drop(db);
            let db = open_on(&o, policy);
            assert_eq!(contents(&db), decided);
            assert!(names(&db).is_empty());
        }
    }
}

#[test]
fn decisions_outlive_the_process_wherever_the_section_is() {
    for policy in POLICIES {
        for (flushed_between, flushed_after) in
            [(false, false), (true, false), (false, true), (true, true)]
        {
            let fs = MemFs::new();
            let o = options_on(fs.clone());
            let db = open_on(&o, policy);
            let (x, y) = (mixed(&db, "x"), prepared(&db, "y", &["k"]));
            x.prepare().unwrap();
            drop(prepared(&db, "left", &["l"]));
            if flushed_between {
                db.flush().unwrap();
            }
            x.commit().unwrap();
            y.rollback().unwrap();
            drop(y);
            if flushed_after {
                db.flush().unwrap();
            }
            // The process dies.
            let died = fs.crash_clone(1.0, 1);
            drop(db);
            let o = options_on(died);
            for _ in 0..2 {
                let db = open_on(&o, policy);
                assert_eq!(
                    contents(&db),
                    map(&AFTER),
                    "{flushed_between} {flushed_after}"
                );
                assert_eq!(names(&db), ["left"]);
            }
        }
    }
}

/// RocksDB's validation compares numbers; the section's is below the snapshot's.
#[test]
fn a_commit_since_the_snapshot_conflicts_although_its_number_is_older() {
    for policy in POLICIES {
        for how in 0..3 {
            let db = open(policy);
            db.put("k", "0").unwrap();
            db.put("unchanged", "0").unwrap();
            let other = prepared(&db, "x", &["k"]);
            let txn = with_snapshot(&db);
            let late = begin(&db, |o| o.set_snapshot(true));
            other.commit().unwrap();
            match how {
                0 => {}
                1 => db.flush().unwrap(),
                _ => compact(&db),
            }
            assert_eq!(text(txn.put("k", "2")), BUSY);
            assert_eq!(text(late.get_for_update("k", true)), BUSY);
            txn.put("unchanged", "2").unwrap();
            txn.commit().unwrap();
            let fresh = with_snapshot(&db);
            fresh.put("k", "3").unwrap();
            fresh.commit().unwrap();
            assert_eq!(value(&db, "k").as_deref(), Some("3"));
        }
    }
}

#[test]
fn operations_of_the_commit_are_newer_than_the_prepared_ones() {
    for policy in POLICIES {
        let fs = MemFs::new();
        let db = open_on(&options_on(fs.clone()), policy);
        let txn = prepared(&db, "x", &["a", "b"]);
        txn.put_at_commit("b", "2").unwrap();
        txn.put_at_commit("c", "2").unwrap();
        let before = db.snapshot();
        txn.commit().unwrap();
        assert_eq!(entries(before.iterator(IteratorMode::Start)), []);
        let expected = map(&[("a", "1"), ("b", "2"), ("c", "2")]);
        wherever_it_is(&db, || assert_eq!(contents(&db), expected));
        drop(before);
        drop(db);
        let db = open_on(&options_on(fs), policy);
        assert_eq!(contents(&db), expected);
    }
}

/// RocksDB's AtomicCommit.
#[test]
fn a_commit_is_seen_whole_while_tables_are_written() {
    for protocol in strict_protocols() {
        let mut o = options_on(MemFs::new());
        o.set_commit_protocol(protocol);
        let db = open_on(&o, WritePolicy::WritePrepared);
        std::thread::scope(|scope| {
            let db = &db;
            let writer = scope.spawn(move || {
                for i in 0..200u32 {
                    let txn = db.transaction();
                    txn.set_name(&i.to_be_bytes()).unwrap();
                    for key in 0..8u8 {
                        txn.put([key], i.to_be_bytes()).unwrap();
                    }
                    txn.prepare().unwrap();
                    match i % 5 {
                        0 => txn.rollback().unwrap(),
                        _ => txn.commit().unwrap(),
                    }
                }
            });
            while !writer.is_finished() {
                let snapshot = db.snapshot();
                let all = || {
                    let values = (0..8u8).map(|key| snapshot.get([key]).unwrap());
                    values.collect::<Vec<_>>()
                };
                let first = all();
                assert!(
                    first.iter().all(|one| *one == first[0]),
                    "{protocol}: {first:?}"
                );
                let rolled_back = first[0].as_ref().is_some_and(|v| v[3].is_multiple_of(5));
                assert!(!rolled_back || first[0].as_ref().unwrap()[3] > 200);
                db.flush().unwrap();
                assert_eq!(all(), first, "{protocol}");
                let iterated = snapshot.iterator(IteratorMode::Start).map(|e| e.unwrap().1);
                let iterated: Vec<_> = iterated.map(|v| Some(v.to_vec())).collect();
                assert!(iterated.iter().all(|one| *one == first[0]), "{protocol}");
            }
        });
    }
}

#[test]
fn sections_over_families_are_decided_as_one_and_a_dropped_family_is_no_obstacle() {
    for policy in POLICIES {
        let fs = MemFs::new();
        let o = options_on(fs.clone());
        let db = open_on(&o, policy);
        db.create_cf("one", &o).unwrap();
        db.create_cf("two", &o).unwrap();
        for (name, commits) in [("x", true), ("y", false)] {
            let txn = db.transaction();
            txn.set_name(name.as_bytes()).unwrap();
            for family in ["one", "two"] {
                txn.put_cf(&db.cf_handle(family).unwrap(), name, "1")
                    .unwrap();
            }
            txn.put(name, "1").unwrap();
            txn.prepare().unwrap();
            db.flush_cf(&db.cf_handle("one").unwrap()).unwrap();
            if !commits {
                db.drop_cf("two").unwrap();
            }
            match commits {
                true => txn.commit().unwrap(),
                false => txn.rollback().unwrap(),
            }
        }
        let one = db.cf_handle("one").unwrap();
        let look = |db: &TxnDb| {
            let one = db.cf_handle("one").unwrap();
            let found = |key| (value(db, key), shown(db.get_cf(&one, key)));
            assert_eq!(found("x"), (Some("1".into()), Some("1".into())));
            assert_eq!(found("y"), (None, None));
        };
        look(&db);
        db.flush_cf(&one).unwrap();
        look(&db);
        drop(one);
        drop(db);
        look(&open_on(&o, policy));
    }
}

#[test]
fn a_checkpoint_has_undecided_transactions() {
    for policy in POLICIES {
        let fs = MemFs::new();
        fs.create_dir_all(Path::new("/data")).unwrap();
        let o = options_on(fs.clone());
        let db = open_on(&o, policy);
        let txn = mixed(&db, "x");
        txn.prepare().unwrap();
        let checkpoint = TransactionDBCheckpoint::new(&db).unwrap();
        checkpoint.create_checkpoint("/data/copy").unwrap();
        txn.rollback().unwrap();
        let mut how = impatient();
        how.set_write_policy(policy);
        let copy = TxnDb::open(&o, &how, "/data/copy").unwrap();
        assert_eq!(contents(&copy), map(&BEFORE));
        for txn in copy.prepared_transactions() {
            txn.commit().unwrap();
        }
        assert_eq!(contents(&copy), map(&AFTER));
        assert_eq!(contents(&db), map(&BEFORE));
    }
}

/// RocksDB's WC_WP, WP_WC and the like.
#[test]
fn a_policy_opens_what_another_has_written_once_nothing_is_in_the_log() {
    const ALL: [WritePolicy; 3] = [
        WritePolicy::WriteCommitted,
        WritePolicy::WritePrepared,
        WritePolicy::WriteUnprepared,
    ];
    for from in ALL {
        for to in ALL {
            let fs = MemFs::new();
            let o = options_on(fs.clone());
            let db = open_on(&o, from);
            mixed(&db, "x").commit().unwrap();
            let txn = prepared(&db, "y", &["h"]);
            drop(db.snapshot());
            txn.commit().unwrap();
            drop(db);
            let mut how = impatient();
            how.set_write_policy(to);
            let expected = map(&[&AFTER[..], &[("h", "1")]].concat());
            if (from == ALL[0]) != (to == ALL[0]) {
                let refused = text(TxnDb::open(&o, &how, DIR));
                let end = "the WAL must be emptied before changing the WritePolicy.";
                assert!(refused.starts_with("Not implemented: "), "{refused}");
                assert!(refused.contains(end), "{from} {to}: {refused}");
                let db = open_on(&o, from);
                assert_eq!(contents(&db), expected);
                db.flush().unwrap();
            }
            let db = open_on(&o, to);
            assert_eq!(contents(&db), expected, "{from} {to}");
            db.put("a", "2").unwrap();
            let before = db.snapshot();
            db.put("a", "3").unwrap();
            assert_eq!(shown(before.get("a")).as_deref(), Some("2"));
            compact(&db);
            assert_eq!(shown(before.get("a")).as_deref(), Some("2"));
            assert_eq!(value(&db, "a").as_deref(), Some("3"));
        }
    }
}

#[test]
fn a_reader_at_an_upper_bound_passes_over_what_is_undecided() {
    let db = open(WritePolicy::WritePrepared);
    let txn = mixed(&db, "x");
    txn.prepare().unwrap();
    let mut bounded = ReadOptions::default();
    bounded.set_iterate_lower_bound("b");
    bounded.set_iterate_upper_bound("f");
    let found = || {
        let mut read = ReadOptions::default();
        read.set_iterate_lower_bound("b");
        read.set_iterate_upper_bound("f");
        entries(db.iterator_opt(IteratorMode::End, read))
    };
    let owned = |of: &[(&str, &str)]| -> Vec<(String, String)> {
        of.iter()
            .map(|(k, v)| (k.to_string(), v.to_string()))
            .collect()
    };
    wherever_it_is(&db, || {
        assert_eq!(found(), owned(&[("d", "0"), ("c", "0"), ("b", "0")]));
    });
    txn.commit().unwrap();
    assert_eq!(found(), owned(&[("e", "2"), ("d", "1"), ("c", "0,1,2")]));
}

#[test]
fn a_section_of_many_operations_is_decided_at_once() {
    for commits in [true, false] {
        let db = open(WritePolicy::WritePrepared);
        let keys: Vec<_> = (0..3000u32).map(|i| format!("{i:04}")).collect();
        for key in keys.iter().step_by(2) {
            db.put(key, "old").unwrap();
        }
        let txn = db.transaction();
        txn.set_name(b"x").unwrap();
        for key in &keys {
            txn.put(key, "x".repeat(40)).unwrap();
            txn.merge(key, "y").unwrap();
        }
        txn.prepare().unwrap();
        let count = || db.iterator(IteratorMode::Start).count();
        assert_eq!(count(), 1500);
        let before = db.snapshot();
        match commits {
            true => txn.commit().unwrap(),
            false => txn.rollback().unwrap(),
        }
        let now = if commits { 3000 } else { 1500 };
        wherever_it_is(&db, || {
            assert_eq!(count(), now);
            assert_eq!(before.iterator(IteratorMode::Start).count(), 1500);
        });
    }
}
