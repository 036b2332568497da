//! Write batches: what they hold, how they are iterated over, and the hint with which they are
//! inserted.

use crate::harness::{DIR, open_all, set_protocol, tiny_on};
use std::path::Path;
use whitewater::fs::Fs;
use whitewater::fs::mem::MemFs;
use whitewater::{
    DB, IteratorMode, Options, WriteBatch, WriteBatchIterator, WriteBatchIteratorCf, WriteOptions,
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
