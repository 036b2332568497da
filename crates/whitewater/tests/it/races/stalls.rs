//! Stalls: stopped writers sleep and own nothing, those that must not wait are refused at once, all
//! go on when the stall ends, and closing ends it.

#![cfg(target_os = "linux")]

use super::threads::kernel;
use super::{open, options};
use crate::harness::points::Trap;
use crate::harness::{Db, protocols, watched};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::mpsc;
use std::thread;
use whitewater::fs::mem::MemFs;
use whitewater::{CommitProtocol, ErrorKind, Options, Point, WriteOptions};

const WRITERS: u64 = 12;

/// Writes of each writer, of one kilobyte each.
const WRITES: u64 = 120;

/// Options under which writers are stopped while a flush is held up.
fn stalling(protocol: CommitProtocol, fs: &MemFs) -> (Options, Arc<Trap>) {
    let mut options = options(protocol, fs.clone());
    options.set_max_write_buffer_number(2);
    options.set_level_zero_slowdown_writes_trigger(1_000);
    options.set_level_zero_stop_writes_trigger(1_000);
    let trap = Trap::set(&mut options);
    (options, trap)
}

/// Writes far more than the memtables hold, until a write fails. Counts what was acknowledged.
fn write(db: &Db, w: u64, round: u64, acked: &AtomicU64) {
    for n in 0..WRITES {
        if let Err(e) = db.put(format!("{w}-{round}-{n}"), [1; 1_000]) {
            assert_eq!(e.kind(), ErrorKind::ShutdownInProgress, "{e}");
            break;
        }
        acked.fetch_add(1, Ordering::SeqCst);
    }
}

#[test]
fn stopped_writers_own_nothing_and_hurried_ones_are_refused() {
    for protocol in protocols() {
        watched("stalls", 120, move || {
            let fs = MemFs::new();
            let (options, trap) = stalling(protocol, &fs);
            let db = &open(&options);
            let acked = &AtomicU64::new(0);
            for round in 0..4 {
                trap.arm(Point::Flushing);
                thread::scope(|scope| {
                    let (tell, ids) = mpsc::channel();
                    for w in 0..WRITERS {
                        let tell = tell.clone();
                        scope.spawn(move || {
                            tell.send(kernel::id()).expect("heard");
                            write(db, w, round, acked);
                        });
                    }
                    trap.wait();
                    let ids: Vec<u64> = ids.iter().take(WRITERS as usize).collect();
                    kernel::wait_until_asleep(&ids);
                    // Every number that was taken is finished.
                    let sum = acked.load(Ordering::SeqCst);
                    assert_eq!(db.latest_sequence_number(), sum, "{protocol}");
                    assert!(sum < (round + 1) * WRITERS * WRITES, "{protocol}: no stall");
                    let mut hurried = WriteOptions::default();
                    hurried.set_no_slowdown(true);
                    for sync in [false, true] {
                        hurried.set_sync(sync);
                        let e = db.put_opt("hurried", "1", &hurried).expect_err("stalled");
                        assert_eq!(e.kind(), ErrorKind::Incomplete, "{e}");
                    }
                    assert_eq!(db.get("hurried").expect("readable"), None);
                    assert_eq!(db.latest_sequence_number(), sum, "{protocol}");
                    trap.release();
                });
                let all = (round + 1) * WRITERS * WRITES;
                assert_eq!(acked.load(Ordering::SeqCst), all, "{protocol}");
                assert_eq!(db.latest_sequence_number(), all, "{protocol}");
            }
        });
    }
}

#[test]
fn closing_ends_a_stall() {
    for protocol in protocols() {
        watched("closing in a stall", 60, move || {
            let fs = MemFs::new();
            let (mut options, trap) = stalling(protocol, &fs);
            let db = open(&options);
            let acked: Vec<AtomicU64> = (0..WRITERS).map(|_| AtomicU64::new(0)).collect();
            trap.arm(Point::Flushing);
            thread::scope(|scope| {
                let (tell, ids) = mpsc::channel();
                for (w, acked) in (0..).zip(&acked) {
                    let (tell, db) = (tell.clone(), &db);
                    scope.spawn(move || {
                        tell.send(kernel::id()).expect("heard");
                        write(db, w, 0, acked);
                    });
                }
                trap.wait();
                let ids: Vec<u64> = ids.iter().take(WRITERS as usize).collect();
                kernel::wait_until_asleep(&ids);
                // The flush is still held up when the writers end.
                db.cancel_all_background_work(false);
            });
            trap.release();
            drop(db);
            let killed = fs.crash_clone(1.0, 0);
            for fs in [fs, killed] {
                options.set_fs(Arc::new(fs));
                let db = open(&options);
                for (w, acked) in acked.iter().enumerate() {
                    for n in 0..acked.load(Ordering::SeqCst) {
                        let found = db.get(format!("{w}-0-{n}")).expect("readable");
                        assert!(found.is_some(), "{protocol}: {w}-0-{n}");
                    }
                }
            }
        });
    }
}
