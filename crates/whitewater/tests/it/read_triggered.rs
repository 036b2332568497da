//! Compactions that reads cause.

use crate::harness::{Db, open_all, tiny_on, until};
use std::path::Path;
use std::sync::{Arc, Mutex};
use whitewater::fs::mem::MemFs;
use whitewater::listener::{CompactionJobInfo, EventListener, FlushJobInfo, FlushReason};
use whitewater::properties::{
    NUM_ENTRIES_ACTIVE_MEM_TABLE, NUM_ENTRIES_IMM_MEM_TABLES, num_files_at_level,
};
use whitewater::{
    CommitProtocol, DBCompressionType, Direction, IteratorMode, Options, WaitForCompactOptions,
};

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

/// Why memtables were flushed and tables compacted.
#[derive(Default)]
struct Reasons {
    flushes: Mutex<Vec<FlushReason>>,
    compactions: Mutex<Vec<&'static str>>,
}

impl EventListener for Reasons {
    fn on_flush_begin(&self, info: &FlushJobInfo) {
        self.flushes.lock().unwrap().push(info.flush_reason);
    }
    fn on_compaction_begin(&self, info: &CompactionJobInfo) {
        let mut compactions = self.compactions.lock().unwrap();
        compactions.push(info.compaction_reason);
    }
}

/// A database with a table of all keys in the last level, and each `step`th key in the memtable.
/// What is told of is what comes then.
fn open_over_one_table(o: &mut Options, value_len: usize, step: usize) -> (Db, Arc<Reasons>) {
    o.set_write_buffer_size(64 << 20);
    o.set_compression_type(DBCompressionType::None);
    o.set_max_bytes_for_level_multiplier(10.0);
    let db = open_all(o, Path::new(DIR)).unwrap();
    for i in 0..400u32 {
        db.put(i.to_be_bytes(), vec![7; value_len]).unwrap();
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

fn in_memtables(db: &Db) -> u64 {
    let properties = [NUM_ENTRIES_ACTIVE_MEM_TABLE, NUM_ENTRIES_IMM_MEM_TABLES];
    let entries = properties.map(|property| db.property_int_value(property));
    entries.map(|n| n.unwrap().unwrap()).iter().sum()
}

fn look_up_all(db: &Db) {
    for i in 0..400u32 {
        assert!(db.get(i.to_be_bytes()).unwrap().is_some(), "key {i}");
    }
}

fn scan_from_all(db: &Db) {
    for from in 0..400u32 {
        let from = from.to_be_bytes();
        let mut seen = db.iterator(IteratorMode::From(&from, Direction::Forward));
        assert_eq!(*seen.next().unwrap().unwrap().0, from);
    }
}

/// Nobody wrote to the memtable any more, and each scan still merged it with the last level.
#[test]
fn a_memtable_that_reads_pass_in_vain_is_flushed_and_compacted() {
    for read in [look_up_all, scan_from_all] {
        let (db, reasons) = open_over_one_table(&mut options(0.001), 3, 2);
        assert_eq!(in_memtables(&db), 200);
        until("the memtable is flushed", || {
            read(&db);
            in_memtables(&db) == 0
        });
        db.wait_for_compact(&WaitForCompactOptions::default())
            .unwrap();
        assert_eq!(level0(&db), 0);
        for i in 0..400u32 {
            let is_new = *db.get(i.to_be_bytes()).unwrap().unwrap() == *b"new";
            assert_eq!(is_new, i % 2 == 0, "key {i}");
        }
        drop(db); // listeners are told by then
        let (flushes, compactions) = (&reasons.flushes, &reasons.compactions);
        assert_eq!(*flushes.lock().unwrap(), [FlushReason::AutoCompaction]);
        let compactions = compactions.lock().unwrap();
        assert_eq!(*compactions, ["ReadTriggered"]);
    }
}

/// Not flushed are a memtable so small that all data would be rewritten for it, one beside disabled
/// compactions, one with the option off, and one of several that are flushed as one.
#[test]
fn a_memtable_is_not_flushed_for_reads_at_any_price() {
    let small = (options(0.001), 5_000, 399);
    let mut manual = (options(0.001), 3, 2);
    manual.0.set_disable_auto_compactions(true);
    let off = (options(0.0), 3, 2);
    let mut atomic = (options(0.001), 3, 2);
    atomic.0.set_atomic_flush(true);
    // Not every protocol takes atomic flushes.
    atomic.0.set_commit_protocol(CommitProtocol::Ordered);
    for (mut o, value_len, step) in [small, manual, off, atomic] {
        let (db, reasons) = open_over_one_table(&mut o, value_len, step);
        let entries = in_memtables(&db);
        (0..300).for_each(|_| look_up_all(&db));
        db.wait_for_compact(&WaitForCompactOptions::default())
            .unwrap();
        assert_eq!(in_memtables(&db), entries);
        drop(db); // listeners are told by then
        assert_eq!(*reasons.flushes.lock().unwrap(), []);
    }
}

#[test]
fn reads_beside_a_locked_log_flush_nothing_until_it_is_unlocked() {
    let (db, _) = open_over_one_table(&mut options(0.001), 3, 2);
    db.lock_wal().unwrap();
    (0..150).for_each(|_| look_up_all(&db));
    assert_eq!(in_memtables(&db), 200);
    db.unlock_wal().unwrap();
    until("the memtable is flushed", || {
        look_up_all(&db);
        in_memtables(&db) == 0
    });
}
