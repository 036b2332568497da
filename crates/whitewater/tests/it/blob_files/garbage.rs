//! What compactions leave of blob files.

use super::{
    FRAME, RECORD_HEADER, await_blob_files, blob_files, compact, content, delete_range, large,
    open, options, state,
};
use crate::harness::{Db, until};
use whitewater::fs::mem::MemFs;
use whitewater::statistics::Ticker;
use whitewater::{CompactionDecision, Options};

/// The bytes of the records of `n` values of 500 bytes with keys of 5 bytes.
fn records(n: u64) -> u64 {
    n * (RECORD_HEADER + 5 + 500)
}

fn key(i: u8) -> String {
    format!("key{i:02}")
}

/// Four blob files with ten values each.
fn fill(db: &Db) {
    for file in 0..4 {
        for i in 0..10 {
            db.put(key(file * 10 + i), large(i, 500)).unwrap();
        }
        db.flush().unwrap();
    }
    let size = 4 * FRAME + records(40);
    assert_eq!(state(db), (4, size, 0));
}

fn delete(db: &Db, keys: impl IntoIterator<Item = u8>) {
    for i in keys {
        db.delete(key(i)).unwrap();
    }
    db.flush().unwrap();
}

#[test]
fn garbage_is_what_compactions_drop() {
    let fs = MemFs::new();
    let o = options(&fs);
    let db = open(&o);
    fill(&db);
    delete(&db, 5..25);
    assert_eq!(state(&db).2, 0, "nothing was dropped yet");
    compact(&db);
    // The second file is all garbage, and it is not the oldest.
    assert_eq!(state(&db), (3, 3 * FRAME + records(30), records(10)));
    await_blob_files(&fs, 3);
    drop(db);
    let db = open(&o);
    assert_eq!(state(&db), (3, 3 * FRAME + records(30), records(10)));
    assert_eq!(content(&db).len(), 20);
    let text = db.property_value("rocksdb.blob-stats").unwrap().unwrap();
    let expected = format!(
        "Number of blob files: 3\nTotal size of blob files: {}\n\
         Total size of garbage in blob files: {}\nBlob file space amplification: ",
        3 * FRAME + records(30),
        records(10)
    );
    assert!(text.starts_with(&expected), "{text}");
    delete(&db, 0..40);
    compact(&db);
    assert_eq!(state(&db), (0, 0, 0));
    await_blob_files(&fs, 0);
    drop(db);
    assert_eq!(content(&open(&o)), []);
}

/// A snapshot keeps what it sees.
#[test]
fn values_that_a_snapshot_sees_are_no_garbage() {
    let fs = MemFs::new();
    let db = open(&options(&fs));
    fill(&db);
    let snapshot = db.snapshot();
    delete(&db, 0..40);
    compact(&db);
    assert_eq!((state(&db).0, state(&db).2), (4, 0));
    for i in 0..40 {
        let found = snapshot.get(key(i)).unwrap();
        assert!(found == Some(large(i % 10, 500)), "{i}");
    }
    drop(snapshot);
    compact(&db);
    assert_eq!(state(&db), (0, 0, 0));
}

fn collecting(fs: &MemFs, cutoff: f64) -> Options {
    let mut o = options(fs);
    o.set_enable_blob_gc(true);
    o.set_blob_gc_age_cutoff(cutoff);
    o.enable_statistics();
    o
}

#[test]
fn values_move_out_of_old_files() {
    let fs = MemFs::new();
    let o = collecting(&fs, 0.5);
    let db = open(&o);
    fill(&db);
    let before = content(&db);
    let names = blob_files(&fs);
    compact(&db);
    assert!(content(&db) == before);
    // Those of the two oldest files are in a new one.
    assert_eq!(state(&db), (3, 3 * FRAME + records(40), 0));
    await_blob_files(&fs, 3);
    let left = blob_files(&fs);
    assert_eq!(left[..2], names[2..]);
    assert_eq!(o.get_ticker_count(Ticker::BlobDbGcNumKeysRelocated), 20);
    assert_eq!(o.get_ticker_count(Ticker::BlobDbGcBytesRelocated), 20 * 500);
    // One of three files is less than the half of them, rounded down.
    compact(&db);
    assert_eq!(o.get_ticker_count(Ticker::BlobDbGcNumKeysRelocated), 30);
    assert!(content(&db) == before);
    db.set_options(&[
        ("enable_blob_files", "false"),
        ("blob_garbage_collection_age_cutoff", "1"),
    ])
    .unwrap();
    compact(&db);
    assert_eq!(state(&db), (0, 0, 0), "back in the tables");
    assert!(content(&db) == before);
    drop(db);
    assert!(content(&open(&o)) == before);
    await_blob_files(&fs, 0);
}

#[test]
fn parts_of_a_compaction_collect_together() {
    let fs = MemFs::new();
    let mut o = collecting(&fs, 1.0);
    o.set_max_subcompactions(4);
    o.set_target_file_size_base(1_000);
    o.set_min_blob_size(10);
    let db = open(&o);
    for i in 0..2_000u32 {
        db.put(format!("key{i:05}"), large(i as u8, 40)).unwrap();
        if i % 500 == 499 {
            db.flush().unwrap();
        }
    }
    for i in (0..2_000u32).step_by(3) {
        db.delete(format!("key{i:05}")).unwrap();
    }
    db.flush().unwrap();
    let before = content(&db);
    compact(&db);
    assert!(content(&db) == before);
    let (files, size, garbage) = state(&db);
    let records = before.len() as u64 * (RECORD_HEADER + 8 + 40);
    assert_eq!((size, garbage), (files * FRAME + records, 0));
    assert!(files > 1, "each part has its own");
}

#[test]
fn too_much_garbage_asks_for_a_compaction() {
    let fs = MemFs::new();
    let mut o = collecting(&fs, 0.5);
    o.set_disable_auto_compactions(false);
    o.set_level_zero_file_num_compaction_trigger(100);
    o.set_blob_gc_force_threshold(0.4);
    let db = open(&o);
    fill(&db);
    compact(&db);
    let (files, _, _) = state(&db);
    let oldest = blob_files(&fs)[0].clone();
    // Half of the values of all files, none of which a compaction was asked to drop.
    delete_range(&db, key(0), key(39));
    db.flush().unwrap();
    // The tombstone is above the values: it takes a compaction to count them.
    db.compact_range(Some(key(0)), Some(key(15)));
    until("the oldest file goes", || {
        !blob_files(&fs).contains(&oldest)
    });
    assert!(state(&db).0 <= files);
    assert_eq!(content(&db).len(), 1);
}

#[test]
fn filters_get_and_change_values_in_blob_files() {
    let fs = MemFs::new();
    let mut o = options(&fs);
    o.set_compaction_filter("by first byte", |_, key, value| {
        assert_eq!(value.len(), 500, "the value and not its index");
        match key[4] {
            b'0' => CompactionDecision::Remove,
            b'1' => CompactionDecision::Change(b"small"),
            _ => CompactionDecision::Keep,
        }
    });
    let db = open(&o);
    fill(&db);
    compact(&db);
    let found = content(&db);
    assert_eq!(found.len(), 36);
    let changed = found.iter().filter(|(_, v)| v == b"small").count();
    assert_eq!(changed, 4);
    assert_eq!((state(&db).0, state(&db).2), (4, records(8)));
}

/// A table names only the oldest file that it refers to; younger ones stay with it.
#[test]
fn a_file_stays_while_an_older_one_is_needed() {
    let fs = MemFs::new();
    let db = open(&options(&fs));
    for file in 0..3 {
        for i in 0..10 {
            db.put(key(i * 3 + file), large(i, 500)).unwrap();
        }
        db.flush().unwrap();
    }
    let iter = db.raw_iterator();
    compact(&db);
    assert_eq!(state(&db).0, 3);
    delete(&db, (0..30).filter(|i| i % 3 == 1));
    compact(&db);
    assert_eq!(state(&db), (2, 2 * FRAME + records(20), 0));
    assert_eq!(blob_files(&fs).len(), 3, "the iterator may read it");
    let total = db
        .property_int_value("rocksdb.total-blob-file-size")
        .unwrap();
    assert_eq!(total, Some(3 * FRAME + records(30)));
    drop(iter);
    await_blob_files(&fs, 2);
    assert_eq!(content(&db).len(), 20);
}
