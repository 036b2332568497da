//! Records that stay in memory until the log is flushed.

use super::{after_kill, check_all, put_all};
use crate::harness::{DIR, open_all, tiny_on};
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::thread;
use std::time::Duration;
use whitewater::WriteOptions;
use whitewater::fs::mem::MemFs;

#[test]
fn records_stay_in_memory_until_they_are_flushed() {
    let fs = MemFs::new();
    let mut o = tiny_on(fs.clone());
    o.set_manual_wal_flush(true);
    o.set_write_buffer_size(4 << 20);
    let db = open_all(&o, Path::new(DIR)).unwrap();
    put_all(&db, 0..10);
    assert_eq!(after_kill(&o, &fs).get("k00000").unwrap(), None);
    db.flush_wal(false).unwrap();
    check_all(&after_kill(&o, &fs), 0..10);

    put_all(&db, 10..20);
    let after = after_kill(&o, &fs);
    check_all(&after, 0..10);
    assert_eq!(after.get("k00010").unwrap(), None);

    // A synced write makes everything before it durable.
    let mut synced = WriteOptions::default();
    synced.set_sync(true);
    db.put_opt("synced", "1", &synced).unwrap();
    let mut cut = o.clone();
    cut.set_fs(Arc::new(fs.crash_clone(0.0, 0)));
    check_all(&open_all(&cut, Path::new(DIR)).unwrap(), 0..20);

    // A switch writes out the records in memory.
    put_all(&db, 20..30);
    db.flush().unwrap();
    check_all(&after_kill(&o, &fs), 0..30);

    // More than a megabyte does not stay in memory.
    put_all(&db, 30..31);
    db.put("large", vec![b'x'; 1_100_000]).unwrap();
    check_all(&after_kill(&o, &fs), 0..31);

    put_all(&db, 31..32);
    drop(db);
    check_all(&after_kill(&o, &fs), 0..32);
}

#[test]
fn a_killed_process_leaves_a_prefix_whatever_was_flushed() {
    let fs = MemFs::new();
    let mut o = tiny_on(fs.clone());
    o.set_manual_wal_flush(true);
    let db = open_all(&o, Path::new(DIR)).unwrap();
    let flushed = AtomicU64::new(0);
    let mut kills = Vec::new();
    thread::scope(|scope| {
        let writers: Vec<_> = (0..4)
            .map(|w| {
                let db = &db;
                scope.spawn(move || {
                    for n in 0..2_000u32 {
                        db.put(format!("{w}-{n:05}"), [b'x'; 50]).unwrap();
                    }
                })
            })
            .collect();
        while writers.iter().any(|w| !w.is_finished()) {
            let before = db.latest_sequence_number();
            db.flush_wal(false).unwrap();
            flushed.store(before, Ordering::Relaxed);
            kills.push((before, fs.crash_clone(1.0, 0)));
            thread::sleep(Duration::from_millis(10));
        }
    });
    assert!(!kills.is_empty());
    for (least, left) in kills.into_iter().take(20) {
        let db = open_all(&tiny_on(left), Path::new(DIR)).unwrap();
        let mut entries = 0;
        for w in 0..4 {
            let has = |n: u32| db.get(format!("{w}-{n:05}")).unwrap().is_some();
            let here = (0..2_000).take_while(|n| has(*n)).count() as u32;
            assert!((here..2_000).all(|n| !has(n)), "a prefix of each writer's");
            entries += u64::from(here);
        }
        assert!(entries >= least, "{entries} of {least} flushed");
    }
}
