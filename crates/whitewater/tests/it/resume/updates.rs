//! Readers of the logs across a resumption.

use super::{options, rule};
use crate::harness::{DIR, watched};
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use whitewater::fs::fault::{Fault, FaultFs, FaultOp};
use whitewater::fs::mem::MemFs;
use whitewater::{CommitProtocol, Point, WriteOptions};

/// A reader that follows the logs across a resumption never misses a write without an error, and
/// sees nothing of failed writes.
#[test]
fn updates_over_a_resumption_go_on_or_say_that_some_are_missing() {
    let mem = MemFs::new();
    let faulty = FaultFs::new(Arc::new(mem.clone()));
    let mut options = options(Arc::new(faulty.clone()), CommitProtocol::Ordered);
    options.set_wal_ttl_seconds(1_000_000);
    let db = whitewater::DB::open(&options, Path::new(DIR)).unwrap();
    let put = |n: u8| db.put([n], b"v");
    let since = |n: u64| db.get_updates_since(n).unwrap();
    let numbers = |it: &mut whitewater::DBWALIterator| -> Result<Vec<u64>, _> {
        it.map(|update| update.map(|(number, _)| number)).collect()
    };
    (0..10).for_each(|n| put(n).unwrap());
    db.flush().unwrap();
    (10..20).for_each(|n| put(n).unwrap());
    let mut late = since(1);
    late.next().unwrap().unwrap();
    let mut prompt = since(1);
    for n in 2..20 {
        assert_eq!(prompt.next().unwrap().unwrap().0, n);
    }
    faulty.add_rule(rule(FaultOp::Sync, ".log", 1, Fault::Eio, false));
    let mut synced = WriteOptions::default();
    synced.set_sync(true);
    db.put_opt("failed", b"v", &synced).unwrap_err();
    faulty.clear_rules();
    assert_eq!(db.latest_sequence_number(), 20);
    db.resume().unwrap();
    (30..33).for_each(|n| put(n).unwrap());
    // The log that it has open holds 21, which failed.
    assert_eq!(numbers(&mut prompt).unwrap(), [20, 22, 23, 24]);
    assert_eq!(numbers(&mut since(20)).unwrap(), [22, 23, 24]);
    for mut it in [late, since(1), since(10)] {
        let e = numbers(&mut it).unwrap_err();
        assert!(e.to_string().contains("Gap in sequence"), "{e}");
    }
}

/// A log that was replaced and still exists at the next open is not archived.
#[test]
fn updates_of_a_later_life_have_no_failed_writes() {
    let faulty = Arc::new(FaultFs::new(Arc::new(MemFs::new())));
    let mut options = options(faulty.clone(), CommitProtocol::Ordered);
    options.set_wal_ttl_seconds(1_000_000);
    let open = || whitewater::DB::open(&options, Path::new(DIR)).unwrap();
    let db = open();
    db.put("before", "v").unwrap();
    db.disable_file_deletions().unwrap();
    faulty.add_rule(rule(FaultOp::Sync, ".log", 1, Fault::Eio, false));
    let mut synced = WriteOptions::default();
    synced.set_sync(true);
    db.put_opt("failed", "v", &synced).unwrap_err();
    db.resume().unwrap();
    db.put("after", "v").unwrap();
    drop(db);
    for life in 0..2 {
        let db = open();
        assert_eq!(db.get("failed").unwrap(), None);
        let e = db.get_updates_since(0).err().unwrap();
        assert!(e.to_string().contains("Gap in sequence"), "{life}: {e}");
        let updates = db.get_updates_since(2).unwrap();
        let numbers: Vec<u64> = updates.map(|update| update.unwrap().0).collect();
        assert_eq!(numbers, [3], "{life}");
    }
}

/// Updates are read beyond a hole that a panicking writer has left.
#[test]
fn updates_go_on_over_a_hole_that_was_given_up() {
    watched("a writer that panics", 60, || {
        let mem = Arc::new(FaultFs::new(Arc::new(MemFs::new())));
        let mut options = options(mem, CommitProtocol::Ordered);
        let (armed, behind) = (AtomicBool::new(false), AtomicBool::new(false));
        let flags = Arc::new((armed, behind));
        let seen = flags.clone();
        options.set_failpoints(move |point, _| match point {
            Point::Reserved if seen.0.swap(false, Ordering::SeqCst) => {
                while !seen.1.load(Ordering::SeqCst) {
                    std::thread::yield_now();
                }
                panic!("planted");
            }
            Point::Waiting => seen.1.store(true, Ordering::SeqCst),
            _ => {}
        });
        let db = &whitewater::DB::open(&options, Path::new(DIR)).unwrap();
        (0..5).for_each(|n| db.put([n], b"v").unwrap());
        let updates = db.get_updates_since(0).unwrap();
        flags.0.store(true, Ordering::SeqCst);
        std::thread::scope(|scope| {
            let panics = scope.spawn(|| db.put("panics", "v"));
            while flags.0.load(Ordering::SeqCst) {
                std::thread::yield_now();
            }
            db.put("behind", "v").unwrap_err();
            panics.join().unwrap_err();
        });
        db.resume().unwrap();
        db.put("later", "v").unwrap();
        let numbers: Vec<u64> = updates.map(|update| update.unwrap().0).collect();
        assert_eq!(numbers, [1, 2, 3, 4, 5, 8]);
    });
}
