//! A transaction reads its own writes over the database.

use super::{begin, kind, open, open_with, options, shown, text, value};
use std::collections::BTreeMap;
use whitewater::{ErrorKind, Options, WriteBatchIteratorCf, WriteBatchWithTransaction};

#[test]
fn own_writes_are_seen_at_once_and_by_nobody_else() {
    let db = open();
    db.put("a", "0").unwrap();
    db.put("b", "0").unwrap();
    let txn = db.transaction();
    txn.put("a", "1").unwrap();
    txn.delete("b").unwrap();
    txn.put("c", "1").unwrap();
    let seen = |key: &str| shown(txn.get(key));
    assert_eq!((seen("a"), seen("b")), (Some("1".into()), None));
    assert_eq!(seen("c").as_deref(), Some("1"));
    assert_eq!(value(&db, "a").as_deref(), Some("0"));
    assert_eq!(value(&db, "b").as_deref(), Some("0"));
    assert_eq!(value(&db, "c"), None);
    assert_eq!(shown(txn.get_for_update("a", true)).as_deref(), Some("1"));
    assert_eq!(&*txn.get_pinned("a").unwrap().unwrap(), b"1");
    let pinned = txn.get_pinned_for_update("c", false).unwrap();
    assert_eq!(&*pinned.unwrap(), b"1");
    txn.commit().unwrap();
    assert_eq!(value(&db, "a").as_deref(), Some("1"));
    assert_eq!(value(&db, "b"), None);
    assert_eq!(value(&db, "c").as_deref(), Some("1"));
}

#[test]
fn a_commit_is_seen_as_a_whole() {
    let db = open();
    let txn = db.transaction();
    for i in 0..100u8 {
        txn.put([i], [i]).unwrap();
    }
    let before = db.snapshot();
    txn.commit().unwrap();
    let after = db.snapshot();
    let count = |s: &whitewater::SnapshotWithThreadMode<'_, _>| {
        s.iterator(whitewater::IteratorMode::Start).count()
    };
    assert_eq!((count(&before), count(&after)), (0, 100));
    assert_eq!(after.sequence_number() - before.sequence_number(), 100);
}

#[test]
fn merges_of_the_transaction_apply_to_what_the_database_has() {
    let db = open();
    db.put("a", "db").unwrap();
    db.merge("m", "db").unwrap();
    let txn = db.transaction();
    for key in ["a", "m", "new"] {
        txn.merge(key, "1").unwrap();
        txn.merge(key, "2").unwrap();
    }
    let seen = |key: &str| shown(txn.get(key)).unwrap();
    assert_eq!(seen("a"), "db,1,2");
    assert_eq!(seen("m"), "db,1,2");
    assert_eq!(seen("new"), "1,2");
    txn.put("a", "own").unwrap();
    txn.merge("a", "3").unwrap();
    txn.delete("m").unwrap();
    txn.merge("m", "3").unwrap();
    assert_eq!((seen("a"), seen("m")), ("own,3".into(), "3".into()));
    assert_eq!(
        shown(txn.get_for_update("a", true)).as_deref(),
        Some("own,3")
    );
    txn.commit().unwrap();
    for (key, expected) in [("a", "own,3"), ("m", "3"), ("new", "1,2")] {
        assert_eq!(value(&db, key).as_deref(), Some(expected));
    }
}

#[test]
fn merges_without_an_operator_are_refused_when_they_are_read_and_committed() {
    let mut o = Options::default();
    o.create_if_missing(true);
    o.set_fs(std::sync::Arc::new(whitewater::fs::mem::MemFs::new()));
    let db = open_with(&o);
    let txn = db.transaction();
    txn.merge("k", "1").unwrap();
    assert_eq!(
        text(txn.get("k")),
        "Invalid argument: Merge_operator must be set for column_family"
    );
    assert_eq!(
        kind(txn.get_for_update("k", true)),
        ErrorKind::InvalidArgument
    );
    let e = text(txn.commit());
    assert!(e.starts_with("Invalid argument: Merge requires "), "{e}");
    assert!(e.ends_with("merge_operator != nullptr`"), "{e}");
    assert!(db.lock_status().is_empty());
    assert_eq!(value(&db, "k"), None);
}

#[test]
fn a_single_deletion_removes_what_was_put_once() {
    let db = open();
    db.put("a", "0").unwrap();
    let txn = db.transaction();
    txn.single_delete("a").unwrap();
    assert_eq!(shown(txn.get("a")), None);
    txn.put("b", "1").unwrap();
    txn.single_delete("b").unwrap();
    // As RocksDB's randomtransaction does it: removed and put again.
    db.put("c", "0").unwrap();
    txn.single_delete("c").unwrap();
    txn.put("c", "1").unwrap();
    assert_eq!(shown(txn.get("c")).as_deref(), Some("1"));
    txn.commit().unwrap();
    db.flush().unwrap();
    assert_eq!((value(&db, "a"), value(&db, "b")), (None, None));
    assert_eq!(value(&db, "c").as_deref(), Some("1"));
}

#[test]
fn writes_that_are_not_indexed_are_committed_and_not_read() {
    let db = open();
    db.put("a", "0").unwrap();
    let txn = db.transaction();
    txn.disable_indexing();
    txn.put("a", "1").unwrap();
    assert_eq!(shown(txn.get("a")).as_deref(), Some("0"));
    assert!(db.put("a", "2").is_err(), "it is locked all the same");
    txn.enable_indexing();
    txn.put("b", "1").unwrap();
    assert_eq!(shown(txn.get("b")).as_deref(), Some("1"));
    assert_eq!(shown(txn.get("a")).as_deref(), Some("0"));
    txn.commit().unwrap();
    assert_eq!(value(&db, "a").as_deref(), Some("1"));
}

#[test]
fn a_batch_that_would_be_too_large_stays_as_it_was() {
    let db = open();
    // Header and noop are 13 bytes, and a put of such a key and value takes 5.
    let txn = begin(&db, |o| o.set_max_write_batch_size(13 + 2 * 5));
    txn.put("a", "1").unwrap();
    txn.put("b", "1").unwrap();
    assert_eq!(
        text(txn.put("c", "1")),
        "Operation aborted: Memory limit reached"
    );
    assert_eq!(txn.get_writebatch().len(), 2);
    assert_eq!(shown(txn.get("c")), None);
    // Its key stays locked.
    assert_eq!(kind(db.put("c", "2")), ErrorKind::TimedOut);
    txn.commit().unwrap();
    assert_eq!(value(&db, "b").as_deref(), Some("1"));
    assert_eq!(value(&db, "c"), None);
}

#[derive(Default)]
struct Collected(Vec<String>);

impl WriteBatchIteratorCf for Collected {
    fn put_cf(&mut self, cf: u32, key: &[u8], value: &[u8]) {
        let (key, value) = (key.escape_ascii(), value.escape_ascii());
        self.0.push(format!("{cf} put {key} {value}"));
    }
    fn delete_cf(&mut self, cf: u32, key: &[u8]) {
        self.0.push(format!("{cf} delete {}", key.escape_ascii()));
    }
    fn merge_cf(&mut self, cf: u32, key: &[u8], value: &[u8]) {
        let (key, value) = (key.escape_ascii(), value.escape_ascii());
        self.0.push(format!("{cf} merge {key} {value}"));
    }
}

fn operations(batch: &WriteBatchWithTransaction<true>) -> Vec<String> {
    let mut collected = Collected::default();
    batch.iterate_cf(&mut collected);
    collected.0
}

#[test]
fn the_batch_begins_with_a_noop_and_has_all_operations_in_order() {
    let db = open();
    let txn = db.transaction();
    txn.put("a", "1").unwrap();
    txn.put("a", "2").unwrap();
    txn.merge("b", "1").unwrap();
    txn.delete("a").unwrap();
    let batch = txn.get_writebatch();
    assert_eq!(batch.data()[12], 0x0d);
    assert_eq!(batch.len(), 4);
    let expected = ["0 put a 1", "0 put a 2", "0 merge b 1", "0 delete a"];
    assert_eq!(operations(&batch), expected);
}

#[test]
fn rebuilding_adds_the_operations_of_a_batch_with_locks_and_checks() {
    let db = open();
    let txn = db.transaction();
    txn.put("a", "1").unwrap();
    let mut batch = WriteBatchWithTransaction::<true>::default();
    batch.put("b", "2");
    batch.merge("b", "3");
    batch.delete("c");
    batch.single_delete("d");
    batch.put_log_data("not an operation");
    txn.rebuild_from_writebatch(&batch).unwrap();
    assert_eq!(shown(txn.get("b")).as_deref(), Some("2,3"));
    assert_eq!(txn.get_writebatch().len(), 5);
    for key in ["b", "c", "d"] {
        assert_eq!(kind(db.put(key, "0")), ErrorKind::TimedOut, "{key}");
    }
    // A batch of a transaction, with its noop, into another one.
    let other = begin(&db, |o| o.set_snapshot(true));
    let of_txn = txn.get_writebatch();
    assert_eq!(
        kind(other.rebuild_from_writebatch(&of_txn)),
        ErrorKind::TimedOut
    );
    txn.commit().unwrap();
    assert_eq!(
        kind(other.rebuild_from_writebatch(&of_txn)),
        ErrorKind::Busy
    );
    other.set_snapshot();
    other.rebuild_from_writebatch(&of_txn).unwrap();
    assert_eq!(operations(&other.get_writebatch()), operations(&of_txn));
}

#[test]
fn rebuilding_refuses_what_a_transaction_cannot_have() {
    let db = open();
    let txn = db.transaction();
    let mut ranges = whitewater::WriteBatch::default();
    ranges.put("a", "1");
    ranges.delete_range("b", "c");
    let ranges = WriteBatchWithTransaction::<true>::from_data(ranges.data());
    assert_eq!(
        text(txn.rebuild_from_writebatch(&ranges)),
        "Invalid argument: DeleteRangeCF not implemented"
    );
    // What came before was added.
    assert_eq!(shown(txn.get("a")).as_deref(), Some("1"));
    let damaged = WriteBatchWithTransaction::<true>::from_data(b"not a batch");
    assert_eq!(
        kind(txn.rebuild_from_writebatch(&damaged)),
        ErrorKind::Corruption
    );
    let mut nowhere = vec![0; 12];
    nowhere[8] = 1;
    nowhere.extend_from_slice(&[5, 77, 1, b'k', 1, b'v']);
    let nowhere = WriteBatchWithTransaction::<true>::from_data(&nowhere);
    assert_eq!(
        text(txn.rebuild_from_writebatch(&nowhere)),
        "Invalid argument: Column family id not found: 77"
    );
}

#[test]
fn many_keys_are_read_at_once_with_own_writes() {
    let db = open();
    let mut model = BTreeMap::new();
    for i in 0..40u32 {
        let key = format!("{i:02}");
        db.put(&key, "db").unwrap();
        model.insert(key, Some("db".to_owned()));
    }
    let txn = db.transaction();
    for (i, (key, value)) in model.iter_mut().enumerate() {
        *value = match i % 5 {
            0 => txn.put(key, "own").map(|()| Some("own".into())).unwrap(),
            1 => txn.delete(key).map(|()| None).unwrap(),
            2 => txn.merge(key, "m").map(|()| Some("db,m".into())).unwrap(),
            _ => value.take(),
        };
    }
    let found = txn.multi_get(model.keys());
    let found: Vec<_> = found.into_iter().map(shown).collect();
    assert_eq!(found, model.values().cloned().collect::<Vec<_>>());
    let found = txn.multi_get(vec!["02"; 40]);
    assert_eq!(found.len(), 40);
    assert!(
        found
            .into_iter()
            .all(|f| shown(f).as_deref() == Some("db,m"))
    );
    assert!(
        db.multi_get(vec!["02"; 40])
            .into_iter()
            .all(|f| shown(f).as_deref() == Some("db"))
    );
    assert!(txn.multi_get(Vec::<&str>::new()).is_empty());
}

#[test]
fn random_calls_give_what_a_map_gives() {
    use rand::rngs::StdRng;
    use rand::{Rng, SeedableRng};
    crate::harness::campaign("random_calls_give_what_a_map_gives", 1, 20, |seed| {
        let rng = &mut StdRng::seed_from_u64(seed);
        let db = open_with(&options());
        let mut committed = BTreeMap::<String, String>::new();
        for _ in 0..rng.random_range(1..8) {
            let txn = db.transaction();
            let mut now = committed.clone();
            let mut savepoints = Vec::new();
            for _ in 0..rng.random_range(1..80) {
                let key = format!("{}", rng.random_range(0..30));
                let v = format!("{}", rng.random_range(0..100));
                match rng.random_range(0..12) {
                    0..4 => {
                        txn.put(&key, &v).unwrap();
                        now.insert(key, v);
                    }
                    4..6 => {
                        txn.delete(&key).unwrap();
                        now.remove(&key);
                    }
                    6..8 => {
                        txn.merge(&key, &v).unwrap();
                        let merged = now.get(&key).map_or(v.clone(), |old| format!("{old},{v}"));
                        now.insert(key, merged);
                    }
                    8 => {
                        txn.set_savepoint();
                        savepoints.push(now.clone());
                    }
                    9 => match savepoints.pop() {
                        Some(then) => {
                            txn.rollback_to_savepoint().unwrap();
                            now = then;
                        }
                        None => assert_eq!(kind(txn.rollback_to_savepoint()), ErrorKind::NotFound),
                    },
                    10 => assert_eq!(shown(txn.get(&key)), now.get(&key).cloned()),
                    _ => {
                        let all = txn.iterator(whitewater::IteratorMode::Start);
                        let all: Vec<_> = all
                            .map(|e| {
                                e.map(|(k, v)| [k, v].map(|b| String::from_utf8(b.into()).unwrap()))
                            })
                            .collect::<Result<_, _>>()
                            .unwrap();
                        let expected = now.iter().map(|(k, v)| [k.clone(), v.clone()]);
                        assert_eq!(all, expected.collect::<Vec<_>>());
                    }
                }
            }
            if rng.random_ratio(2, 3) {
                txn.commit().unwrap();
                committed = now;
            } else if rng.random() {
                txn.rollback().unwrap();
            }
            assert!(rng.random_ratio(1, 2) || db.flush().is_ok());
        }
        let all = db.iterator(whitewater::IteratorMode::Start).count();
        assert_eq!(all, committed.len());
        for (key, v) in &committed {
            assert_eq!(value(&db, key).as_ref(), Some(v));
        }
    });
}

with_write_prepared!(
    own_writes_are_seen_at_once_and_by_nobody_else,
    a_commit_is_seen_as_a_whole,
    merges_of_the_transaction_apply_to_what_the_database_has,
    merges_without_an_operator_are_refused_when_they_are_read_and_committed,
    a_single_deletion_removes_what_was_put_once,
    writes_that_are_not_indexed_are_committed_and_not_read,
    a_batch_that_would_be_too_large_stays_as_it_was,
    the_batch_begins_with_a_noop_and_has_all_operations_in_order,
    rebuilding_adds_the_operations_of_a_batch_with_locks_and_checks,
    rebuilding_refuses_what_a_transaction_cannot_have,
    many_keys_are_read_at_once_with_own_writes,
    random_calls_give_what_a_map_gives,
);
