//! Keys with timestamps: the batch has and shows them without, until they are given one. RocksDB's
//! cases ColumnFamilyWithTimestamp and IndexNoTs, and what follows from them.

use crate::harness::{Db, append, tiny};
use whitewater::{
    ColumnFamilyDescriptor, ErrorKind, IndexedOperation, Options, ReadOptions, WriteBatchWithIndex,
};

fn stamped() -> Options {
    let mut o = tiny();
    o.set_u64_timestamp_comparator();
    o.set_merge_operator_associative("append", append);
    o
}

fn at(time: u64) -> ReadOptions {
    let mut o = ReadOptions::default();
    o.set_timestamp(time.to_le_bytes());
    o
}

/// A database with keys without timestamps by default, and with timestamps in "times".
fn open() -> (tempfile::TempDir, Db) {
    let dir = tempfile::tempdir().unwrap();
    let mut o = tiny();
    o.create_missing_column_families(true);
    let families = [
        ColumnFamilyDescriptor::new("default", o.clone()),
        ColumnFamilyDescriptor::new("times", stamped()),
    ];
    let db = Db::open_cf_descriptors(&o, dir.path(), families).unwrap();
    (dir, db)
}

fn then(db: &Db, key: &str, time: u64) -> Option<String> {
    let cf = db.cf_handle("times").unwrap();
    let found = db.get_cf_opt(&cf, key, &at(time)).unwrap();
    found.map(|value| String::from_utf8(value).unwrap())
}

#[test]
fn keys_get_the_timestamp_of_the_last_call() {
    let (_dir, db) = open();
    let cf = db.cf_handle("times").unwrap();
    let mut batch = WriteBatchWithIndex::new(0, true);
    batch.put("plain", "1");
    batch.put_cf(&cf, "a", "0");
    batch.put_cf(&cf, "a", "1");
    batch.merge_cf(&cf, "k", "2");
    batch.delete_cf(&cf, "gone");
    for time in [3u64, 5] {
        batch.update_timestamps(time.to_le_bytes()).unwrap();
        // The index is as it was.
        assert_eq!(
            batch.get_from_batch_cf(&cf, "a").unwrap(),
            Some(b"1".to_vec())
        );
        let mut operations = batch.iterator_cf(&cf);
        operations.seek_to_first();
        let put = IndexedOperation::Put {
            key: b"a",
            value: b"1",
        };
        assert_eq!(operations.operation(), Some(put));
        operations.next();
        let delete = IndexedOperation::Delete { key: b"gone" };
        assert_eq!(operations.operation(), Some(delete));
    }
    let copy = batch.to_write_batch();
    db.write_wbwi(batch).unwrap();
    assert_eq!(db.get("plain").unwrap(), Some(b"1".to_vec()));
    assert_eq!(
        (then(&db, "a", 4), then(&db, "a", 5)),
        (None, Some("1".into()))
    );
    assert_eq!(then(&db, "k", 5).as_deref(), Some("2"));
    // A copy without the index has the timestamp, too.
    db.write(copy).unwrap();
    assert_eq!(then(&db, "k", 5).as_deref(), Some("2,2"));
    assert_eq!(then(&db, "k", 4), None);
}

#[test]
fn a_batch_with_keys_that_lack_their_timestamp_is_not_written() {
    let (_dir, db) = open();
    let cf = db.cf_handle("times").unwrap();
    let mut batch = WriteBatchWithIndex::new(0, true);
    batch.put_cf(&cf, "a key that is long enough", "1");
    let kind = |refused: Result<(), whitewater::Error>| refused.unwrap_err().kind();
    assert_eq!(
        kind(db.write_wbwi(batch.clone())),
        ErrorKind::InvalidArgument
    );
    let copy = batch.to_write_batch();
    assert_eq!(kind(db.write(copy)), ErrorKind::InvalidArgument);
    let size = batch.update_timestamps([0; 4]);
    assert_eq!(kind(size), ErrorKind::InvalidArgument);
    batch.update_timestamps(4u64.to_le_bytes()).unwrap();
    batch.put_cf(&cf, "b", "1");
    assert_eq!(
        kind(db.write_wbwi(batch.clone())),
        ErrorKind::InvalidArgument
    );
    batch.update_timestamps(4u64.to_le_bytes()).unwrap();
    db.write_wbwi(batch.clone()).unwrap();
    assert_eq!(then(&db, "b", 4).as_deref(), Some("1"));
    // What was cleared needs none.
    batch.clear();
    batch.put("plain", "1");
    db.write_wbwi(batch).unwrap();
}

#[test]
fn a_batch_is_read_over_the_database_at_a_time() {
    let (_dir, db) = open();
    let cf = db.cf_handle("times").unwrap();
    for (key, time, value) in [
        ("a", 1, "a1"),
        ("a", 5, "a5"),
        ("b", 3, "b3"),
        ("d", 2, "d2"),
    ] {
        db.put_cf_with_ts(&cf, key, u64::to_le_bytes(time), value)
            .unwrap();
    }
    let mut batch = WriteBatchWithIndex::new(0, true);
    batch.merge_cf(&cf, "a", "m");
    batch.delete_cf(&cf, "b");
    batch.put_cf(&cf, "c", "c");
    let over = |key: &str, time| {
        let found = batch.get_from_batch_and_db_cf(&db, &at(time), &cf, key);
        found.unwrap().map(|v| String::from_utf8(v).unwrap())
    };
    assert_eq!(over("a", 4).as_deref(), Some("a1,m"));
    assert_eq!(over("a", 5).as_deref(), Some("a5,m"));
    assert_eq!((over("b", 9), over("c", 0)), (None, Some("c".into())));
    assert_eq!((over("d", 1), over("d", 2)), (None, Some("d2".into())));
    let untimed = batch.get_from_batch_and_db_cf(&db, &ReadOptions::default(), &cf, "d");
    assert_eq!(untimed.unwrap_err().kind(), ErrorKind::InvalidArgument);
    let shown = |time| {
        let mut it = batch.iterator_with_base(db.raw_iterator_cf_opt(&cf, at(time)));
        let text = |bytes: &[u8]| String::from_utf8(bytes.to_vec()).unwrap();
        let (mut forward, mut backward) = (Vec::new(), Vec::new());
        it.seek_to_first();
        while let Some((key, value)) = it.item() {
            forward.push(format!("{}={}", text(key), text(value)));
            it.next();
        }
        it.status().unwrap();
        it.seek_to_last();
        while let Some((key, value)) = it.item() {
            backward.insert(0, format!("{}={}", text(key), text(value)));
            it.prev();
        }
        it.status().unwrap();
        assert_eq!(forward, backward);
        forward
    };
    assert_eq!(shown(1), ["a=a1,m", "c=c"]);
    assert_eq!(shown(9), ["a=a5,m", "c=c", "d=d2"]);
    let mut versions = at(9);
    versions.set_iter_start_ts(1u64.to_le_bytes());
    let mut it = batch.iterator_with_base(db.raw_iterator_cf_opt(&cf, versions));
    it.seek_to_first();
    assert_eq!(it.status().unwrap_err().kind(), ErrorKind::NotSupported);
}

#[test]
fn what_keys_with_timestamps_cannot_have_is_refused() {
    let (_dir, db) = open();
    let cf = db.cf_handle("times").unwrap();
    let mut batch = WriteBatchWithIndex::new(0, true);
    batch.single_delete_cf(&cf, "a");
    let refused = batch.get_from_batch("a").unwrap_err();
    assert_eq!(refused.kind(), ErrorKind::NotSupported, "{refused}");
    batch.clear();
    batch.put_entity_cf(&cf, "a", [("name", "value")]);
    let refused = db.write_wbwi(batch).unwrap_err();
    assert_eq!(refused.kind(), ErrorKind::InvalidArgument, "{refused}");
    assert!(
        refused.to_string().contains("column family times"),
        "{refused}"
    );
}

/// What was taken back takes no timestamp with it.
#[test]
fn savepoints_go_with_timestamps() {
    let dir = tempfile::tempdir().unwrap();
    let family = ColumnFamilyDescriptor::new("default", stamped());
    let db = Db::open_cf_descriptors(&stamped(), dir.path(), [family]).unwrap();
    let mut batch = WriteBatchWithIndex::for_db(&db, false);
    batch.put("a", "1");
    batch.set_savepoint();
    batch.put("a", "2");
    batch.put("b", "2");
    batch.update_timestamps(3u64.to_le_bytes()).unwrap();
    batch.rollback_to_savepoint().unwrap();
    db.write_wbwi(batch).unwrap();
    let get = |key, time| db.get_opt(key, &at(time)).unwrap();
    assert_eq!(get("a", 3), Some(b"1".to_vec()));
    assert_eq!((get("a", 2), get("b", 9)), (None, None));
}
