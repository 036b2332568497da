//! Failing file-system operations, one after another.
//!
//! A scripted run is repeated with its first, second, third, ... changing operation failing, once
//! or from then on. Every call must return, with a result or an error. What was acknowledged must
//! be visible in the process and after reopening. What failed must not be visible in the process.

use crate::harness::points::Trap;
use crate::harness::script::{Driver, SharedJournal, reopen_and_check};
use crate::harness::walk::collect;
use crate::harness::{DIR, open_all, parallel_campaign, tiny, tiny_on, watched};
use std::path::Path;
use std::sync::Arc;
use whitewater::fs::fault::{Fault, FaultFs, FaultOp, OpSet, PathMatch, Rule, When};
use whitewater::fs::mem::MemFs;
use whitewater::{
    BlockBasedOptions, Error, ErrorKind, FlushOptions, Point, WriteBatch, WriteOptions,
};

/// One run. Returns whether the fault happened.
fn run(seed: u64, length: usize, rule: Rule) -> Result<bool, String> {
    let mem = MemFs::new();
    let faulty = FaultFs::new(Arc::new(mem.clone()));
    let journal = SharedJournal::default();
    let mut driver = Driver::new(Arc::new(faulty.clone()), journal.clone(), seed);
    faulty.add_rule(rule);
    driver.run(length);
    driver
        .check_visible()
        .map_err(|e| format!("visible: {e}"))?;
    driver.close();
    let met = faulty.injected();
    if met.is_empty() && !driver.errors.is_empty() {
        let (what, e) = &driver.errors[0];
        return Err(format!("{what} fails without a fault: {e}"));
    }
    let place = format!("injected {:?}", met.first());
    for (what, e) in &driver.errors {
        if !matches!(e.kind(), ErrorKind::IOError) {
            return Err(format!("{place}: {what} fails with {e}"));
        }
    }
    let journal = journal.lock().clone();
    let power_cut = mem.crash_clone(0.0, seed);
    let checks = [(mem, journal.acked), (power_cut, journal.durable)];
    for (i, (fs, least)) in checks.into_iter().enumerate() {
        let (db, _, n) = reopen_and_check(Arc::new(fs), &journal, &journal, least)
            .map_err(|e| format!("{place}, reopened (power cut: {}): {e}", i == 1))?;
        db.put(b"after", b"all")
            .map_err(|e| format!("{place}: writing on: {e}"))?;
        if n > journal.acked + 1 {
            return Err(format!(
                "{place}: batch {n} is there, {} were acknowledged",
                journal.acked
            ));
        }
    }
    Ok(!met.is_empty())
}

/// Fails the operations of `ops` one after another, until none is left: the `first` and every
/// `stride`-th from there.
fn sweep(
    seed: u64,
    length: usize,
    (ops, fault, sticky): (OpSet, Fault, bool),
    (first, stride): (u64, u64),
) -> u64 {
    let mut n = first;
    let mut runs = 0;
    loop {
        let what = format!("seed {seed}: {fault:?} in operation {n}, sticky: {sticky}");
        let rule = Rule {
            ops,
            path: PathMatch::Any,
            when: When::Nth(n),
            fault,
            sticky,
        };
        match watched(&what, 60, move || run(seed, length, rule)) {
            Err(e) => panic!("{what}: {e}"),
            Ok(true) => (n, runs) = (n + stride, runs + 1),
            Ok(false) => return runs,
        }
    }
}

/// An I/O error, a full disk from then on, half a write: each operation meets one of them, and
/// with another seed another one.
#[test]
fn any_changing_operation_may_fail() {
    parallel_campaign("any_changing_operation_may_fail", 1, 2, |seed| {
        let mut runs = 0;
        for (i, (fault, sticky)) in [
            (Fault::Eio, false),
            (Fault::Enospc, true),
            (Fault::ShortWrite, false),
        ]
        .into_iter()
        .enumerate()
        {
            let first = 1 + (seed + i as u64) % 3;
            runs += sweep(seed, 60, (OpSet::WRITES, fault, sticky), (first, 3));
        }
        assert!(runs > 100, "only {runs} runs");
    });
}

#[test]
fn any_sync_may_fail() {
    parallel_campaign("any_sync_may_fail", 50, 2, |seed| {
        let syncs = OpSet::of(&[FaultOp::Sync, FaultOp::SyncDir]);
        let runs = sweep(seed, 80, (syncs, Fault::Eio, false), (1, 1));
        assert!(runs > 10, "only {runs} runs");
        sweep(seed, 80, (syncs, Fault::Eio, true), (1, 1));
    });
}

#[test]
fn a_failed_log_write_stops_writes_and_not_reads() {
    for (op, fault, syncs) in [
        (FaultOp::Append, Fault::Eio, false),
        (FaultOp::Append, Fault::Eio, true),
        (FaultOp::Append, Fault::ShortWrite, true),
        (FaultOp::Sync, Fault::Eio, true),
    ] {
        let mem = MemFs::new();
        let faulty = FaultFs::new(Arc::new(mem.clone()));
        let options = tiny_on(faulty.clone());
        let db = open_all(&options, Path::new(DIR)).unwrap();
        db.put(b"before", b"1").unwrap();
        let mut sync = WriteOptions::default();
        sync.set_sync(true);
        db.put_opt(b"synced", b"1", &sync).unwrap();
        faulty.add_rule(Rule {
            ops: OpSet::of(&[op]),
            path: PathMatch::EndsWith(".log".into()),
            when: When::Nth(1),
            fault,
            sticky: false,
        });
        let sequence = db.latest_sequence_number();
        let mut failing = WriteOptions::default();
        failing.set_sync(syncs);
        let failed = db.put_opt(b"failed", b"1", &failing).unwrap_err();
        assert_eq!(failed.kind(), ErrorKind::IOError, "{op:?}");
        assert!(failed.to_string().contains(".log"), "{failed}");
        // The rule has fired: now the database refuses, and says why.
        for sync in [true, false] {
            let mut options = WriteOptions::default();
            options.set_sync(sync);
            let refused = db.put_opt(b"refused", b"1", &options).unwrap_err();
            assert_eq!(refused.to_string(), failed.to_string(), "{op:?}");
        }
        let mut unlogged = WriteOptions::default();
        unlogged.disable_wal(true);
        let refused = db.put_opt(b"refused", b"1", &unlogged).unwrap_err();
        assert_eq!(refused.to_string(), failed.to_string(), "{op:?}");
        assert!(db.flush().is_err());
        assert!(db.flush_wal(true).is_err());
        assert!(db.create_cf("refused", &tiny()).is_err());
        assert_eq!(db.latest_sequence_number(), sequence);
        let content = collect(db.raw_iterator()).unwrap();
        let keys: Vec<_> = content.keys().map(Vec::as_slice).collect();
        assert_eq!(keys, [&b"before"[..], b"synced"]);
        assert_eq!(db.get(b"failed").unwrap(), None);
        drop(db);

        let db = open_all(&options, Path::new(DIR)).unwrap();
        assert_eq!(db.get(b"synced").unwrap().as_deref(), Some(&b"1"[..]));
        assert_eq!(db.get(b"refused").unwrap(), None);
        db.put(b"again", b"1").unwrap();
    }
}

/// A database with tables on two levels and the content it holds.
fn with_tables(mem: &MemFs) -> Vec<(Vec<u8>, Vec<u8>)> {
    let mut options = tiny();
    options.set_fs(Arc::new(mem.clone()));
    let db = open_all(&options, Path::new(DIR)).unwrap();
    let mut content = Vec::new();
    for i in 0..300u32 {
        let (k, v) = (format!("key{i:04}").into_bytes(), vec![i as u8; 200]);
        db.put(&k, &v).unwrap();
        content.push((k, v));
        if i == 150 {
            db.flush().unwrap();
            db.compact_range(None::<&[u8]>, None::<&[u8]>);
        }
        if i == 250 {
            db.flush().unwrap();
        }
    }
    content
}

/// A read fails or is right, and the next one is right.
#[test]
fn any_read_may_fail() {
    let mem = MemFs::new();
    let content = with_tables(&mem);
    let mut n = 1;
    let mut met = 0;
    loop {
        let fs = mem.crash_clone(1.0, 0);
        let faulty = FaultFs::new(Arc::new(fs));
        faulty.add_rule(Rule::nth(OpSet::READS, n));
        let mut options = tiny();
        options.set_fs(Arc::new(faulty.clone()));
        let mut table = BlockBasedOptions::default();
        table.disable_cache();
        table.set_block_size(1024);
        options.set_block_based_table_factory(&table);
        let wanted = content.clone();
        let failed = watched(&format!("read fault {n}"), 60, move || {
            let mut errors: Vec<Error> = Vec::new();
            let mut opened = open_all(&options, Path::new(DIR));
            if let Err(e) = opened {
                errors.push(e);
                opened = open_all(&options, Path::new(DIR));
            }
            let db = opened.expect("the second time nothing fails");
            for (k, v) in wanted.iter().step_by(7) {
                let first = db.get(k);
                let found = first.or_else(|e| {
                    errors.push(e);
                    db.get(k)
                });
                assert_eq!(found.unwrap().as_ref(), Some(v));
            }
            for _ in 0..2 {
                match collect(db.raw_iterator()) {
                    Ok(found) => assert!(found.into_iter().eq(wanted.iter().cloned())),
                    Err(e) => errors.push(e),
                }
            }
            // A compaction that cannot read changes nothing.
            let none = None::<&[u8]>;
            if let Err(e) = db.try_compact_range_opt(none, none, &Default::default()) {
                errors.push(e);
            }
            let found = collect(db.raw_iterator());
            let found = found.or_else(|e| {
                errors.push(e);
                collect(db.raw_iterator())
            });
            assert!(found.unwrap().into_iter().eq(wanted.iter().cloned()));
            drop(db);
            for _ in 0..2 {
                let reopened = open_all(&options, Path::new(DIR));
                match reopened.and_then(|db| collect(db.raw_iterator())) {
                    Ok(found) => assert!(found.into_iter().eq(wanted.iter().cloned())),
                    Err(e) => errors.push(e),
                }
            }
            assert!(errors.len() <= 2, "{errors:?}");
            errors
        });
        for e in &failed {
            assert_eq!(e.kind(), ErrorKind::IOError, "read {n}: {e}");
        }
        if faulty.injected().is_empty() {
            break;
        }
        met += 1;
        n += 1 + n / 20;
    }
    assert!(met > 20, "only {met} faults were met");
}

/// A sync of a directory has failed in another thread. A flush that syncs the same directory later
/// fails, too, because it is unknown which names were lost.
#[test]
fn a_flush_fails_behind_a_failed_sync_of_its_directory() {
    let faulty = FaultFs::new(Arc::new(MemFs::new()));
    let mut options = tiny_on(faulty.clone());
    let trap = Trap::set(&mut options);
    let db = open_all(&options, Path::new(DIR)).unwrap();
    db.put(b"flushed", b"1").unwrap();
    trap.arm(Point::Flushing);
    let mut nowait = FlushOptions::default();
    nowait.set_wait(false);
    db.flush_opt(&nowait).unwrap();
    trap.wait();
    faulty.add_rule(Rule::nth(OpSet::of(&[FaultOp::SyncDir]), 1));
    let mut sync = WriteOptions::default();
    sync.set_sync(true);
    let failed = db.put_opt(b"synced", b"1", &sync);
    trap.release();
    assert_eq!(failed.unwrap_err().kind(), ErrorKind::IOError);
    let running = "rocksdb.num-running-flushes";
    while db.property_int_value(running).unwrap() != Some(0) {
        std::thread::yield_now();
    }
    assert!(db.live_files().unwrap().is_empty(), "it was not recorded");
    assert_eq!(db.get(b"flushed").unwrap().as_deref(), Some(&b"1"[..]));
}

/// Failures of the info log are ignored.
#[test]
fn a_failing_information_log_does_not_matter() {
    let mem = MemFs::new();
    let faulty = FaultFs::new(Arc::new(mem.clone()));
    faulty.add_rule(Rule {
        ops: OpSet::WRITES,
        path: PathMatch::EndsWith("LOG".into()),
        when: When::Nth(1),
        fault: Fault::Enospc,
        sticky: true,
    });
    let mut options = tiny();
    options.set_fs(Arc::new(faulty.clone()));
    let db = open_all(&options, Path::new(DIR)).unwrap();
    let mut batch = WriteBatch::default();
    batch.put(b"k", b"v");
    db.write(batch).unwrap();
    db.flush().unwrap();
    db.compact_range(None::<&[u8]>, None::<&[u8]>);
    assert_eq!(db.get(b"k").unwrap().as_deref(), Some(&b"v"[..]));
    assert!(!faulty.injected().is_empty());
}
