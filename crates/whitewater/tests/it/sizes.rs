//! About how many bytes and entries are in a range of keys.

use crate::harness::{DIR, Db, MEMTABLES, open_all, set_memtable, tiny_on};
use std::path::Path;
use whitewater::fs::mem::MemFs;
use whitewater::{ErrorKind, MemTableStats, Options, Range, SizeApproximationOptions};

/// The number of keys in a large memtable.
const KEYS: u32 = 10_000;

fn roomy(memtable: &str) -> Options {
    let mut o = tiny_on(MemFs::new());
    set_memtable(&mut o, memtable);
    o.set_write_buffer_size(64 << 20);
    o
}

fn key(n: u32) -> String {
    format!("k{n:06}")
}

fn put(db: &Db, keys: std::ops::Range<u32>) {
    keys.for_each(|n| db.put(key(n), [b'v'; 20]).unwrap());
}

fn stats(db: &Db, from: &str, to: &str) -> MemTableStats {
    db.get_approximate_memtable_stats(Range::new(from.as_bytes(), to.as_bytes()))
}

#[test]
fn few_entries_of_a_memtable_are_counted() {
    for memtable in MEMTABLES {
        let db = open_all(&roomy(memtable), Path::new(DIR)).unwrap();
        assert_eq!(stats(&db, "a", "z"), MemTableStats::default(), "{memtable}");
        put(&db, 0..100);
        db.delete(key(7)).unwrap();
        for (from, to, count) in [(10, 20, 10), (0, 10, 11), (0, 100, 101), (20, 10, 0)] {
            let found = stats(&db, &key(from), &key(to));
            assert_eq!(found.count, count, "{memtable} {from}..{to}");
            assert!(found.size >= count * 20, "{memtable} {found:?}");
        }
        assert_eq!(stats(&db, "l", "m").size, 0, "{memtable}");
    }
}

#[test]
fn many_entries_of_a_memtable_are_estimated() {
    for memtable in MEMTABLES {
        let db = open_all(&roomy(memtable), Path::new(DIR)).unwrap();
        put(&db, 0..KEYS);
        let all = stats(&db, "k", "l");
        let most = u64::from(KEYS);
        assert!(
            all.count <= most && all.count > most / 4,
            "{memtable} {all:?}"
        );
        let half = stats(&db, &key(0), &key(KEYS / 2)).count;
        assert!((128..=most).contains(&half), "{memtable} {half}");
        if memtable != "skip_list" {
            // Its estimate is one of the order of magnitude.
            assert!(
                (most / 4..most * 3 / 4).contains(&half),
                "{memtable} {half}"
            );
        }
        assert_eq!(stats(&db, &key(100), &key(150)).count, 50, "{memtable}");
    }
}

#[test]
fn an_estimate_knows_reverse_order() {
    let mut o = roomy("art");
    o.set_reverse_bytewise_comparator();
    let db = open_all(&o, Path::new(DIR)).unwrap();
    put(&db, 0..KEYS);
    let half = stats(&db, &key(KEYS), &key(KEYS / 2)).count;
    let most = u64::from(KEYS);
    assert!((most / 4..most * 3 / 4).contains(&half), "{half}");
    assert_eq!(stats(&db, &key(20), &key(10)).count, 10);
}

#[test]
fn range_deletions_count_where_they_begin() {
    let db = open_all(&roomy("art"), Path::new(DIR)).unwrap();
    put(&db, 0..10);
    let cf = db.cf_handle("default").unwrap();
    db.delete_range_cf(&cf, key(2), key(8)).unwrap();
    drop(cf);
    assert_eq!(stats(&db, &key(0), &key(5)).count, 6);
    assert_eq!(stats(&db, &key(5), &key(10)).count, 5);
}

#[test]
fn sizes_have_what_the_options_include() {
    let mut o = roomy("art");
    o.set_enable_blob_files(true);
    o.set_min_blob_size(1_000);
    o.set_disable_auto_compactions(true);
    let db = open_all(&o, Path::new(DIR)).unwrap();
    for n in 0..1_000 {
        db.put(key(n), vec![b'v'; if n % 2 == 0 { 20 } else { 2_000 }])
            .unwrap();
    }
    let whole = [Range::new(b"k", b"l")];
    let with = |set: &dyn Fn(&mut SizeApproximationOptions)| {
        let mut opts = SizeApproximationOptions::default();
        opts.set_include_files(false);
        set(&mut opts);
        db.get_approximate_sizes_opt(&opts, &whole)
            .map(|sizes| sizes[0])
    };
    let in_memory = with(&|o| o.set_include_memtables(true)).unwrap();
    assert!(in_memory > 1_000_000, "{in_memory}");
    assert_eq!(with(&|o| o.set_include_files(true)).unwrap(), 0);
    db.flush().unwrap();
    let files = with(&|o| o.set_include_files(true)).unwrap();
    let blobs = with(&|o| o.set_include_blob_files(true)).unwrap();
    assert!(files > 10_000 && files < 1_000_000, "{files}");
    assert!(blobs > 1_000_000, "{blobs}");
    assert_eq!(with(&|o| o.set_include_memtables(true)).unwrap(), 0);
    let both = with(&|o| {
        o.set_include_files(true);
        o.set_include_blob_files(true);
    });
    assert_eq!(both.unwrap(), files + blobs);
    assert_eq!(db.get_approximate_sizes(&whole)[0], files);
    let e = with(&|_| {}).unwrap_err();
    assert_eq!(e.kind(), ErrorKind::InvalidArgument, "{e}");
}

/// Half of the files at the ends are taken, however much of them is in the range.
#[test]
fn files_at_the_ends_are_not_read_within_the_margin() {
    let mut o = roomy("art");
    o.set_disable_auto_compactions(true);
    let db = open_all(&o, Path::new(DIR)).unwrap();
    for table in 0..10 {
        put(&db, table * 1_000..(table + 1) * 1_000);
        db.flush().unwrap();
    }
    let tables: Vec<u64> = db
        .live_files()
        .unwrap()
        .iter()
        .map(|f| f.size as u64)
        .collect();
    let all: u64 = tables.iter().sum();
    // All of the first nine, and a little of the last one.
    let (from, to) = (key(0), key(9_010));
    let size = |margin| {
        let mut opts = SizeApproximationOptions::default();
        opts.set_files_size_error_margin(margin);
        let range = Range::new(from.as_bytes(), to.as_bytes());
        db.get_approximate_sizes_opt(&opts, &[range]).unwrap()[0]
    };
    let exact = size(-1.0);
    assert_eq!(size(0.0), exact);
    assert_eq!(size(0.05), exact, "the last one is more than that");
    let rough = size(0.5);
    assert!(rough > exact && rough < all, "{exact} {rough} {all}");
    let last = tables.iter().min().copied().unwrap_or(0);
    assert!(rough - exact > last / 4, "{exact} {rough}");
}

#[test]
fn ranges_are_of_all_times_of_a_key() {
    let mut o = roomy("skip_list");
    o.set_u64_timestamp_comparator();
    let db = open_all(&o, Path::new(DIR)).unwrap();
    for ts in 1..=5u64 {
        db.put_with_ts("k", ts.to_le_bytes(), "v").unwrap();
    }
    assert_eq!(stats(&db, "k", "l").count, 5);
    assert_eq!(stats(&db, "j", "k").count, 0);
}
