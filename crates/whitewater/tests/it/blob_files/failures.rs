//! Faults, power cuts, and what is left behind.

use super::{blob_files, compact, content, large, open, options, state};
use crate::harness::{DIR, Db, open_all};
use std::path::Path;
use std::sync::Arc;
use whitewater::fs::fault::{Fault, FaultFs, FaultOp, FileKind, OpSet, PathMatch, Rule, When};
use whitewater::fs::mem::MemFs;
use whitewater::{BottommostLevelCompaction, CompactOptions, Error, Options};

/// A rule that fails the `n`-th of `ops` on blob files.
fn on_blob_files(ops: &[FaultOp], n: u64) -> Rule {
    Rule {
        ops: OpSet::of(ops),
        path: PathMatch::Kind(FileKind::Blob),
        when: When::Nth(n),
        fault: Fault::Eio,
        sticky: false,
    }
}

const CHANGES: [FaultOp; 3] = [FaultOp::Create, FaultOp::Append, FaultOp::Sync];

fn faulty(mem: &MemFs) -> (FaultFs, Options) {
    let fs = FaultFs::new(Arc::new(mem.clone()));
    let mut o = options(mem);
    o.set_fs(Arc::new(fs.clone()));
    o.set_blob_file_size(2_000);
    o.set_max_bgerror_resume_count(0);
    (fs, o)
}

fn put_all(db: &Db) {
    for i in 0..10u8 {
        db.put([i], large(i, 500)).unwrap();
    }
}

fn try_compact(db: &Db) -> Result<(), Error> {
    let mut options = CompactOptions::default();
    options.set_bottommost_level_compaction(BottommostLevelCompaction::Force);
    db.try_compact_range_opt(None::<&[u8]>, None::<&[u8]>, &options)
}

#[test]
fn a_failed_flush_leaves_no_blob_file() {
    for n in 1.. {
        let mem = MemFs::new();
        let (fs, o) = faulty(&mem);
        let db = open(&o);
        put_all(&db);
        fs.add_rule(on_blob_files(&CHANGES, n));
        let done = db.flush();
        if fs.injected().is_empty() {
            assert!(n > 6, "only {n} operations");
            done.unwrap();
            break;
        }
        assert!(done.is_err(), "operation {n}");
        assert_eq!(blob_files(&mem), [""; 0], "operation {n}");
        assert_eq!(content(&db).len(), 10, "reads go on");
        drop(db);
        let db = open(&o);
        assert_eq!(content(&db).len(), 10, "operation {n}");
        assert_eq!(state(&db).2, 0);
    }
}

#[test]
fn a_failed_compaction_leaves_the_old_blob_files() {
    for n in 1.. {
        let mem = MemFs::new();
        let (fs, mut o) = faulty(&mem);
        o.set_enable_blob_gc(true);
        o.set_blob_gc_age_cutoff(1.0);
        let db = open(&o);
        put_all(&db);
        db.flush().unwrap();
        let before = blob_files(&mem);
        let ops = [&CHANGES[..], &[FaultOp::ReadAt]].concat();
        fs.add_rule(on_blob_files(&ops, n));
        let done = try_compact(&db);
        if fs.injected().is_empty() {
            assert!(n > 10, "only {n} operations");
            done.unwrap();
            assert!(!blob_files(&mem).contains(&before[0]));
            break;
        }
        assert!(done.is_err(), "operation {n}");
        assert_eq!(blob_files(&mem), before, "operation {n}");
        assert_eq!(content(&db).len(), 10, "operation {n}");
        drop(db);
        assert_eq!(content(&open(&o)).len(), 10, "operation {n}");
    }
}

/// Whatever a power cut leaves of a flush and a compaction, all that was flushed is there, and no
/// file is left over.
#[test]
fn a_power_cut_at_any_sync_keeps_what_was_flushed() {
    let fs = MemFs::new();
    let mut o = options(&fs);
    o.set_blob_file_size(2_000);
    o.set_enable_blob_gc(true);
    o.set_blob_gc_age_cutoff(1.0);
    let cuts = Arc::new(parking_lot::Mutex::new(Vec::new()));
    // The number of the last flush that had ended.
    let flushed = Arc::new(std::sync::atomic::AtomicU8::new(0));
    let (seen, cloned, ended) = (cuts.clone(), fs.clone(), flushed.clone());
    let db = open(&o);
    fs.set_sync_hook(Arc::new(move |at| {
        let ended = ended.load(std::sync::atomic::Ordering::SeqCst);
        for keep in [0.0, 0.5, 1.0] {
            let cut = cloned.crash_clone(keep, at.index);
            seen.lock()
                .push((ended, cut, format!("{at:?}, keep {keep}")));
        }
    }));
    for round in 1..=4u8 {
        for i in 0..10u8 {
            db.put([i], large(round * 10 + i, 500)).unwrap();
        }
        db.flush().unwrap();
        flushed.store(round, std::sync::atomic::Ordering::SeqCst);
        compact(&db);
    }
    fs.clear_sync_hook();
    drop(db);
    let cuts = std::mem::take(&mut *cuts.lock());
    assert!(cuts.len() > 50, "only {}", cuts.len());
    for (least, fs, what) in cuts {
        let mut o = o.clone();
        o.set_fs(Arc::new(fs.clone()));
        let db = open_all(&o, Path::new(DIR)).unwrap_or_else(|e| panic!("{what}: {e}"));
        for i in 0..10u8 {
            let found = db.get([i]).unwrap_or_else(|e| panic!("{what}: {e}"));
            let rounds = (least..=4).map(|round| large(round * 10 + i, 500));
            let fits = rounds
                .into_iter()
                .any(|value| found.as_ref() == Some(&value));
            assert!(fits || least == 0 && found.is_none(), "{what}: key {i}");
        }
        let (files, _, garbage) = state(&db);
        assert_eq!(blob_files(&fs).len() as u64, files, "{what}");
        assert_eq!(garbage, 0, "{what}");
    }
}
