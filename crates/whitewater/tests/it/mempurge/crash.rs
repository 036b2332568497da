//! Crashes while memtables are purged.

use super::{count_purges, purge, purging, retired, tables};
use crate::harness::{DIR, Db, open_all, until};
use std::path::Path;
use std::sync::atomic::Ordering;
use whitewater::WriteOptions;
use whitewater::fs::mem::MemFs;

/// A key that is in a purged memtable and in the first log only. Flushes of other column families
/// let go of what they do not need.
#[test]
fn a_purged_memtable_keeps_the_logs_of_all_that_went_into_it() {
    let fs = MemFs::new();
    let mut o = purging(&fs);
    let purges = count_purges(&mut o);
    let db = Db::open(&o, DIR).unwrap();
    db.create_cf("other", &o).unwrap();
    let other = db.cf_handle("other").unwrap();
    db.put("once", "kept").unwrap();
    for round in 0..3 {
        purge(&db, &purges, 2);
        until("a purged memtable", || retired(&db) == 1);
        db.put_cf(&other, "round", [round]).unwrap();
        db.flush_cf(&other).unwrap();
        // Logs are deleted after a flush.
        db.put_cf(&other, "round", [round]).unwrap();
        db.flush_cf(&other).unwrap();
        for keep in [0.0, 1.0] {
            let cut = fs.crash_clone(keep, round.into());
            let mut o = o.clone();
            o.set_fs(std::sync::Arc::new(cut));
            let db = open_all(&o, Path::new(DIR)).unwrap();
            let found = db.get("once").unwrap();
            assert_eq!(found, Some(b"kept".to_vec()), "round {round}, keep {keep}");
        }
    }
}

/// Of synced writes nothing is lost by a power cut at any time, before, in the middle of and after
/// purges.
#[test]
fn a_power_cut_takes_no_synced_write() {
    let fs = MemFs::new();
    let mut o = purging(&fs);
    let purges = count_purges(&mut o);
    let db = Db::open(&o, DIR).unwrap();
    let mut synced = WriteOptions::default();
    synced.set_sync(true);
    for n in 0..600u32 {
        let key = format!("key{:02}", n % 30);
        let mut value = vec![n as u8; 1_000];
        value.extend(n.to_le_bytes());
        db.put_opt(&key, &value, &synced).unwrap();
        if n % 23 != 0 {
            continue;
        }
        let mut o = o.clone();
        o.set_fs(std::sync::Arc::new(fs.crash_clone(0.3, n.into())));
        let cut = open_all(&o, Path::new(DIR)).unwrap();
        for back in 0..30.min(n + 1) {
            let m = n - back;
            let found = cut.get(format!("key{:02}", m % 30)).unwrap().unwrap();
            assert_eq!(found[1_000..], m.to_le_bytes(), "of {n}");
        }
    }
    assert!(purges.load(Ordering::SeqCst) > 0);
    assert_eq!(tables(&db), 0);
}
