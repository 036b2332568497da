//! Compactions that reads cause.

use crate::harness::{Db, open_all, tiny_on, until};
use std::path::Path;
use whitewater::fs::mem::MemFs;
use whitewater::properties::num_files_at_level;
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
