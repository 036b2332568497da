//! Compactions that reads cause.

use crate::harness::{Db, open_all, tiny_on, until};
use std::path::Path;
use std::sync::{Arc, Mutex};
use whitewater::fs::mem::MemFs;
use whitewater::listener::{EventListener, FlushJobInfo, FlushReason};
use whitewater::properties::{NUM_ENTRIES_ACTIVE_MEM_TABLE, num_files_at_level};
use whitewater::{Direction, IteratorMode, Options, WaitForCompactOptions};

const DIR: &str = crate::harness::DIR;

fn options(threshold: f64) -> Options {
    let mut o = tiny_on(MemFs::new());
    o.set_level_zero_file_num_compaction_trigger(20);
    o.set_read_triggered_compaction_threshold(threshold);
    o
}

/// A database with three tables of level 0 over the same keys, of which the oldest has all.
fn open(o: &Options) -> Db {
    let db = open_all(o, Path::new(DIR)).unwrap();
    for table in [1u32, 10, 20] {
        for i in (0..400u32).step_by(table as usize) {
            db.put(i.to_be_bytes(), table.to_be_bytes()).unwrap();
        }
        db.flush().unwrap();
    }
    assert_eq!(level0(&db), 3);
    db
}

fn level0(db: &Db) -> u64 {
    let property = num_files_at_level(0);
    let files = db.property_value(&property).unwrap().unwrap();
    files.parse().unwrap()
}

fn expected(i: u32) -> u32 {
    let newest_first = [20, 10, 1].into_iter();
    let mut tables = newest_first.filter(|table| i.is_multiple_of(*table));
    tables.next().expect("1 divides everything")
}

fn read(db: &Db, i: u32) {
    let found = db.get(i.to_be_bytes()).unwrap().unwrap();
    assert_eq!(found, expected(i).to_be_bytes(), "key {i}");
}

#[test]
fn look_ups_that_pass_tables_in_vain_have_them_compacted() {
    let db = open(&options(0.1));
    until("level 0 is compacted", || {
        (0..400).for_each(|i| read(&db, i));
        level0(&db) == 0
    });
    (0..400).for_each(|i| read(&db, i));
}

#[test]
fn scans_have_the_tables_they_merge_compacted() {
    let db = open(&options(0.1));
    until("level 0 is compacted", || {
        for from in 0..400u32 {
            let from = from.to_be_bytes();
            let mut seen = db.iterator(IteratorMode::From(&from, Direction::Forward));
            assert_eq!(*seen.next().unwrap().unwrap().0, from);
        }
        level0(&db) == 0
    });
    assert_eq!(db.iterator(IteratorMode::Start).count(), 400);
}

/// Reads that the newest table answers, reads of a database with the option off, and reads beside
/// disabled compactions cause nothing.
#[test]
fn nothing_is_compacted_for_reads_that_find_their_key_at_once() {
    let mut manual = options(0.1);
    manual.set_disable_auto_compactions(true);
    for (o, step) in [(options(0.1), 20), (options(0.0), 1), (manual, 1)] {
        let db = open(&o);
        for _ in 0..100 {
            (0..400).step_by(step).for_each(|i| read(&db, i));
        }
        db.wait_for_compact(&WaitForCompactOptions::default())
            .unwrap();
        assert_eq!(level0(&db), 3);
    }
}

/// Why memtables were flushed.
#[derive(Default)]
struct Reasons(Mutex<Vec<FlushReason>>);

impl EventListener for Reasons {
    fn on_flush_begin(&self, info: &FlushJobInfo) {
        self.0.lock().unwrap().push(info.flush_reason);
    }
}

/// A database with a table of all keys in the last level, and each `step`th key in the memtable.
fn open_over_one_table(o: &mut Options, value: &[u8], step: usize) -> (Db, Arc<Reasons>) {
    o.set_write_buffer_size(64 << 20);
    let db = open_all(o, Path::new(DIR)).unwrap();
    for i in 0..400u32 {
        db.put(i.to_be_bytes(), value).unwrap();
    }
    db.compact_range(None::<&[u8]>, None::<&[u8]>);
    assert_eq!(level0(&db), 0);
    drop(db);
    let reasons = Arc::new(Reasons::default());
    o.add_event_listener(reasons.clone());
    let db = open_all(o, Path::new(DIR)).unwrap();
    for i in (0..400u32).step_by(step) {
        db.put(i.to_be_bytes(), b"new").unwrap();
    }
    (db, reasons)
}

fn in_memtable(db: &Db) -> u64 {
    let entries = db.property_int_value(NUM_ENTRIES_ACTIVE_MEM_TABLE);
    entries.unwrap().unwrap()
}

/// Scans merged a memtable that nobody wrote to any more with the last level for ever.
#[test]
fn a_memtable_that_reads_pass_in_vain_is_flushed_and_compacted() {
    let look_up = |db: &Db| {
        for i in 0..400u32 {
            let value = db.get(i.to_be_bytes()).unwrap().unwrap();
            assert_eq!(value == b"new", i % 2 == 0);
        }
    };
    let scan = |db: &Db| {
        for from in 0..400u32 {
            let from = from.to_be_bytes();
            let mut seen = db.iterator(IteratorMode::From(&from, Direction::Forward));
            assert_eq!(*seen.next().unwrap().unwrap().0, from);
        }
    };
    for read in [look_up as fn(&Db), scan as fn(&Db)] {
        let (db, reasons) = open_over_one_table(&mut options(0.1), b"old", 2);
        assert_eq!(in_memtable(&db), 200);
        until("the memtable is compacted", || {
            read(&db);
            in_memtable(&db) == 0 && level0(&db) == 0
        });
        read(&db);
        drop(db); // listeners are told by then
        assert_eq!(*reasons.0.lock().unwrap(), [FlushReason::AutoCompaction]);
    }
}

/// Not flushed are a memtable so small that all data would be rewritten for it, one beside disabled
/// compactions, one with the option off, and one while the log is locked.
#[test]
fn a_memtable_is_not_flushed_for_reads_at_any_price() {
    let mut manual = options(0.1);
    manual.set_disable_auto_compactions(true);
    let large: &[u8] = &[7; 5_000];
    let cases = [
        (options(0.1), large, 400, false),
        (manual, b"old", 2, false),
        (options(0.0), b"old", 2, false),
        (options(0.1), b"old", 2, true),
    ];
    for (mut o, value, step, locked) in cases {
        let (db, reasons) = open_over_one_table(&mut o, value, step);
        let entries = in_memtable(&db);
        if locked {
            db.lock_wal().unwrap();
        }
        for _ in 0..100 {
            for i in 0..400u32 {
                assert!(db.get(i.to_be_bytes()).unwrap().is_some());
            }
        }
        if locked {
            assert_eq!(in_memtable(&db), entries);
            db.unlock_wal().unwrap();
            until("the memtable is flushed", || {
                (0..400u32).for_each(|i| assert!(db.get(i.to_be_bytes()).unwrap().is_some()));
                in_memtable(&db) == 0
            });
            continue;
        }
        db.wait_for_compact(&WaitForCompactOptions::default())
            .unwrap();
        assert_eq!(in_memtable(&db), entries);
        drop(db); // listeners are told by then
        assert_eq!(*reasons.0.lock().unwrap(), []);
    }
}
