//! Write batches: what they hold, how they are iterated over, and the hint with which they are
//! inserted.

use crate::harness::{DIR, open_all, set_protocol, tiny_on};
use std::path::Path;
use whitewater::fs::Fs;
use whitewater::fs::mem::MemFs;
use whitewater::{
    DB, Error, ErrorKind, IteratorMode, Options, WideColumns, WriteBatch, WriteBatchHandler,
    WriteBatchIterator, WriteBatchIteratorCf, WriteOptions,
};

/// Notes the operations of a batch as text.
#[derive(Default)]
struct Notes(Vec<String>);

impl WriteBatchIterator for Notes {
    fn put(&mut self, key: &[u8], value: &[u8]) {
        let (key, value) = (key.escape_ascii(), value.escape_ascii());
        self.0.push(format!("put {key}={value}"));
    }
    fn delete(&mut self, key: &[u8]) {
        self.0.push(format!("delete {}", key.escape_ascii()));
    }
}

impl WriteBatchIteratorCf for Notes {
    fn put_cf(&mut self, cf_id: u32, key: &[u8], value: &[u8]) {
        let (key, value) = (key.escape_ascii(), value.escape_ascii());
        self.0.push(format!("{cf_id}: put {key}={value}"));
    }
    fn delete_cf(&mut self, cf_id: u32, key: &[u8]) {
        self.0
            .push(format!("{cf_id}: delete {}", key.escape_ascii()));
    }
    fn merge_cf(&mut self, cf_id: u32, key: &[u8], value: &[u8]) {
        let (key, value) = (key.escape_ascii(), value.escape_ascii());
        self.0.push(format!("{cf_id}: merge {key}+{value}"));
    }
}

#[test]
fn batches_call_back_in_order() {
    let mut batch = WriteBatch::with_capacity_bytes(1 << 10);
    batch.put("a", "1");
    batch.merge("m", "2");
    batch.single_delete("s");
    batch.put_log_data("note");
    batch.delete("b");
    let (mut plain, mut by_cf) = (Notes::default(), Notes::default());
    batch.iterate(&mut plain);
    batch.iterate_cf(&mut by_cf);
    assert_eq!(plain.0, ["put a=1", "delete b"]);
    assert_eq!(by_cf.0, ["0: put a=1", "0: merge m+2", "0: delete b"]);

    // RocksDB's iteration ends at a range deletion.
    batch.delete_range("x", "y");
    batch.put("after", "");
    let mut plain = Notes::default();
    batch.iterate(&mut plain);
    assert_eq!(plain.0, ["put a=1", "delete b"]);

    let copy = WriteBatch::from_data(batch.data());
    assert_eq!(
        (copy.len(), copy.size_in_bytes()),
        (6, batch.size_in_bytes())
    );
    batch.clear();
    assert!(batch.is_empty());
    assert_eq!(batch.size_in_bytes(), 12);
}

#[test]
fn bytes_that_are_no_batch_are_kept_but_not_written() {
    let mut batch = WriteBatch::from_data(b"\x01\x02\x03");
    assert_eq!(batch.data(), b"\x01\x02\x03");
    assert!(batch.is_empty());
    let mut notes = Notes::default();
    batch.iterate(&mut notes);
    assert!(notes.0.is_empty());
    batch.clear();
    assert_eq!(batch.size_in_bytes(), 12);
}

/// With and without the hint, batches are inserted in any order of keys, and later batches
/// overwrite and delete.
#[test]
fn insert_hints_change_nothing_but_the_way() {
    for hint in [true, false] {
        let dir = tempfile::tempdir().unwrap();
        let mut options = Options::default();
        options.create_if_missing(true);
        set_protocol(&mut options);
        options.set_memtable_huge_page_size(2 << 20);
        options.set_arena_block_size(8 << 10);
        let db: DB = DB::open(&options, dir.path()).unwrap();
        let mut hinted = WriteOptions::default();
        hinted.set_memtable_insert_hint_per_batch(hint);
        let orders: [fn(u32) -> u32; 3] = [|i| i, |i| 999 - i, |i| i * 7 % 1000];
        for (round, order) in orders.into_iter().enumerate() {
            let mut batch = WriteBatch::default();
            for i in 0..1000 {
                let key = order(i);
                if round == 2 && key % 10 == 3 {
                    batch.delete(key.to_be_bytes());
                } else {
                    batch.put(key.to_be_bytes(), [round as u8; 30]);
                }
            }
            db.write_opt(batch, &hinted).unwrap();
        }
        let mut expected = (0..1000_u32).filter(|key| key % 10 != 3);
        for entry in db.iterator(IteratorMode::Start) {
            let (key, value) = entry.unwrap();
            assert_eq!(key[..], expected.next().unwrap().to_be_bytes());
            assert_eq!(value[..], [2; 30]);
        }
        assert_eq!(expected.next(), None);
    }
}

/// Logs of this engine begin with a record about the log before. In the middle of a log, where it
/// may come from another database's log, such a record would end recovery.
#[test]
fn a_note_of_another_log_is_not_logged() {
    let fs = MemFs::new();
    let options = tiny_on(fs.clone());
    let db = open_all(&options, Path::new(DIR)).unwrap();
    db.put("before", "v").unwrap();
    let names = fs.list(Path::new(DIR)).unwrap();
    let number = |name: &String| name.strip_suffix(".log")?.parse::<u64>().ok();
    let log = names.iter().find_map(number).unwrap();
    let mut note = b"whitewater.log.before".to_vec();
    note.extend(log.to_le_bytes());
    note.extend(u64::MAX.to_le_bytes());
    let mut batch = WriteBatch::default();
    batch.put_log_data(&note);
    let last = db.latest_sequence_number();
    db.write(batch).unwrap();
    assert_eq!(db.latest_sequence_number(), last);
    // With an operation it is like any other.
    let mut batch = WriteBatch::default();
    batch.put_log_data(&note);
    batch.put("with", "v");
    db.write(batch).unwrap();
    db.put("behind", "v").unwrap();
    let killed = tiny_on(fs.after_kill());
    let db = open_all(&killed, Path::new(DIR)).unwrap();
    for key in ["before", "with", "behind"] {
        assert!(db.get(key).unwrap().is_some(), "{key}");
    }
}

/// Notes all that a batch may hold.
#[derive(Default)]
struct All {
    notes: Vec<String>,
    most: usize,
}

impl All {
    fn note(&mut self, what: &str, cf: u32, parts: &[&[u8]]) -> Result<(), Error> {
        let parts = parts.iter().map(|part| part.escape_ascii().to_string());
        let parts: Vec<_> = parts.collect();
        self.notes.push(format!("{what} {cf} {}", parts.join(" ")));
        Ok(())
    }
}

impl WriteBatchHandler for All {
    fn put_cf(&mut self, cf: u32, key: &[u8], value: &[u8]) -> Result<(), Error> {
        self.note("put", cf, &[key, value])
    }
    fn timed_put_cf(&mut self, cf: u32, key: &[u8], v: &[u8], time: u64) -> Result<(), Error> {
        self.note(&format!("put at {time}"), cf, &[key, v])
    }
    fn put_entity_cf(&mut self, cf: u32, key: &[u8], entity: &[u8]) -> Result<(), Error> {
        let columns = WideColumns::deserialize(entity)?;
        let values: Vec<&[u8]> = columns.iter().flat_map(|c| [c.name, c.value]).collect();
        self.note("entity", cf, &[&[key][..], &values].concat())
    }
    fn put_blob_index_cf(&mut self, cf: u32, key: &[u8], index: &[u8]) -> Result<(), Error> {
        self.note("blob", cf, &[key, index])
    }
    fn delete_cf(&mut self, cf: u32, key: &[u8]) -> Result<(), Error> {
        self.note("delete", cf, &[key])
    }
    fn single_delete_cf(&mut self, cf: u32, key: &[u8]) -> Result<(), Error> {
        self.note("single", cf, &[key])
    }
    fn delete_range_cf(&mut self, cf: u32, begin: &[u8], end: &[u8]) -> Result<(), Error> {
        self.note("range", cf, &[begin, end])
    }
    fn merge_cf(&mut self, cf: u32, key: &[u8], operand: &[u8]) -> Result<(), Error> {
        self.note("merge", cf, &[key, operand])
    }
    fn log_data(&mut self, blob: &[u8]) {
        let _ = self.note("log", 0, &[blob]);
    }
    fn mark_begin_prepare(&mut self, unprepared: bool) -> Result<(), Error> {
        self.note(&format!("begin {unprepared}"), 0, &[])
    }
    fn mark_end_prepare(&mut self, xid: &[u8]) -> Result<(), Error> {
        self.note("end", 0, &[xid])
    }
    fn mark_commit(&mut self, xid: &[u8]) -> Result<(), Error> {
        self.note("commit", 0, &[xid])
    }
    fn mark_commit_with_timestamp(&mut self, xid: &[u8], time: &[u8]) -> Result<(), Error> {
        self.note("commit", 0, &[xid, time])
    }
    fn mark_rollback(&mut self, xid: &[u8]) -> Result<(), Error> {
        self.note("rollback", 0, &[xid])
    }
    fn mark_noop(&mut self, empty: bool) -> Result<(), Error> {
        self.note(&format!("noop {empty}"), 0, &[])
    }
    fn continues(&mut self) -> bool {
        self.notes.len() < self.most
    }
}

fn all_of(batch: &WriteBatch, most: usize) -> Vec<String> {
    let mut all = All {
        most,
        ..All::default()
    };
    batch.iterate_all(&mut all).unwrap();
    all.notes
}

#[test]
fn a_handler_is_given_all_that_a_batch_holds() {
    let mut batch = WriteBatch::default();
    batch.put("p", "v");
    batch.put_entity("e", [("n", "w"), ("", "d")]);
    batch.merge("m", "o");
    batch.delete("d");
    batch.single_delete("s");
    batch.delete_range("a", "z");
    batch.put_log_data("note");
    let expected = [
        "put 0 p v",
        "entity 0 e  d n w",
        "merge 0 m o",
        "delete 0 d",
        "single 0 s",
        "range 0 a z",
        "log 0 note",
    ];
    assert_eq!(all_of(&batch, 99), expected);
    assert_eq!(all_of(&batch, 3), expected[..3]);
    let has = [
        batch.has_put(),
        batch.has_put_entity(),
        batch.has_merge(),
        batch.has_delete(),
        batch.has_single_delete(),
        batch.has_delete_range(),
    ];
    assert_eq!(has, [true; 6]);
    let has = [
        batch.has_timed_put(),
        batch.has_begin_prepare(),
        batch.has_end_prepare(),
        batch.has_commit(),
        batch.has_rollback(),
    ];
    assert_eq!(has, [false; 5]);
    assert!(!WriteBatch::default().has_put());
}

/// What only RocksDB writes, and the markers of two-phase commit.
#[test]
fn a_handler_is_given_markers_and_rare_records() {
    let record = |parts: &[&[u8]]| parts.concat();
    let body = [
        record(&[&[0x0d]]),
        record(&[&[0x13]]),
        record(&[&[0x19, 2, 1], b"t", &[9], b"v", &7u64.to_le_bytes()]),
        record(&[&[0x11, 1], b"b", &[2], b"ix"]),
        record(&[&[0x17, 3, 1], b"e", &[2, 1, 0]]),
        record(&[&[0x0a, 1], b"x"]),
        record(&[&[0x0b, 1], b"x"]),
        record(&[&[0x15, 1], b"9", &[1], b"x"]),
        record(&[&[0x0c, 1], b"x"]),
        record(&[&[0x0d]]),
    ];
    let mut data = vec![0; 12];
    data[8] = 3;
    data.extend(body.concat());
    let batch = WriteBatch::from_data(&data);
    let expected = [
        "noop true 0 ",
        "begin true 0 ",
        "put at 7 2 t v",
        "blob 0 b ix",
        "entity 3 e",
        "end 0 x",
        "commit 0 x",
        "commit 0 x 9",
        "rollback 0 x",
        "noop true 0 ",
    ];
    assert_eq!(all_of(&batch, 99), expected);
    assert!(batch.has_timed_put() && batch.has_begin_prepare() && batch.has_end_prepare());
    assert!(batch.has_commit() && batch.has_rollback());
}

#[test]
fn a_handler_without_a_method_ends_the_iteration() {
    struct Nothing;
    impl WriteBatchHandler for Nothing {}
    let mut batch = WriteBatch::default();
    batch.put_log_data("note");
    batch.iterate_all(&mut Nothing).unwrap();
    batch.merge("m", "o");
    let error = batch.iterate_all(&mut Nothing).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::InvalidArgument);
    assert!(error.to_string().contains("merge_cf is not handled"));
    let damaged = WriteBatch::from_data(&[0; 5]);
    let error = damaged.iterate_all(&mut Nothing).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Corruption);
    assert!(damaged.verify_checksum().is_err());
}

#[test]
fn savepoints_take_back_what_came_after_them() {
    let mut batch = WriteBatch::with_protection(0, 8).unwrap();
    batch.put("a", "1");
    batch.set_savepoint();
    batch.put_log_data("note");
    batch.put("b", "1");
    batch.set_savepoint();
    batch.put_entity("c", [("x", "1"), ("x", "2")]);
    assert!(batch.verify_checksum().is_err());
    batch.rollback_to_savepoint().unwrap();
    assert_eq!(all_of(&batch, 99), ["put 0 a 1", "log 0 note", "put 0 b 1"]);
    batch.set_savepoint();
    batch.pop_savepoint().unwrap();
    batch.verify_checksum().unwrap();
    batch.rollback_to_savepoint().unwrap();
    assert_eq!(all_of(&batch, 99), ["put 0 a 1"]);
    batch.verify_checksum().unwrap();
    let none = batch.rollback_to_savepoint().unwrap_err();
    assert_eq!(none.kind(), ErrorKind::NotFound);
    assert_eq!(
        batch.pop_savepoint().unwrap_err().kind(),
        ErrorKind::NotFound
    );
    batch.set_savepoint();
    batch.clear();
    assert!(batch.rollback_to_savepoint().is_err());
}
