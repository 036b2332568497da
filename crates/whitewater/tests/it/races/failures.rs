//! A log write, a sync or a writer fails while others are in flight. Every writer at or behind the
//! failure fails, and nothing of that is seen or flushed. Readers go on, and the database opens
//! again.

use super::{logs_side_by_side, open, options};
use crate::harness::parallel::{NUMBERS, batch, check};
use crate::harness::points::{Trap, shake};
use crate::harness::{campaign, protocols, watched};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::thread;
use whitewater::fs::fault::{Fault, FaultFs, FaultOp, OpSet, PathMatch, Rule, When};
use whitewater::fs::mem::MemFs;
use whitewater::{CommitProtocol, FlushOptions, Point, WriteOptions};

const WRITERS: usize = 16;

#[test]
fn a_failed_log_call_fails_all_behind_it_and_nothing_else() {
    const TEST: &str = "a_failed_log_call_fails_all_behind_it_and_nothing_else";
    campaign(TEST, 1, 6, |seed| {
        for protocol in protocols() {
            for (op, fault) in [
                (FaultOp::Append, Fault::Eio),
                (FaultOp::Append, Fault::ShortWrite),
                (FaultOp::Sync, Fault::Eio),
            ] {
                watched(TEST, 60, move || fail(protocol, seed, op, fault));
            }
        }
    });
}

fn fail(protocol: CommitProtocol, seed: u64, op: FaultOp, fault: Fault) {
    let what = format!("{protocol}, {op:?} {fault:?}, seed {seed}");
    let mem = MemFs::new();
    let faulty = FaultFs::new(Arc::new(mem.clone()));
    let mut options = options(protocol, faulty.clone());
    options.set_recycle_log_file_num((seed % 2) as usize * 2);
    shake(&mut options, seed, 8);
    let db = open(&options);
    faulty.add_rule(Rule {
        ops: OpSet::of(&[op]),
        path: PathMatch::EndsWith(".log".into()),
        when: When::Nth(if op == FaultOp::Sync {
            seed % 7 + 1
        } else {
            seed * 37 % 200 + 1
        }),
        fault,
        sticky: false,
    });
    let acked: &[AtomicU64; WRITERS] = &Default::default();
    let failed = &AtomicU64::new(0);
    thread::scope(|scope| {
        let db = &db;
        for (w, acked) in acked.iter().enumerate() {
            scope.spawn(move || {
                for n in 1.. {
                    let mut options = WriteOptions::default();
                    options.set_sync((w as u64 + n).is_multiple_of(9));
                    if let Err(_refused) = db.write_opt(batch(db, w, n), &options) {
                        failed.fetch_add(1, Ordering::Relaxed);
                        break;
                    }
                    acked.store(n, Ordering::Relaxed);
                }
                assert!(db.put("late", "").is_err(), "writes are refused for good");
            });
        }
        scope.spawn(move || {
            let one = db.cf_handle("one").expect("opened");
            // Until writes have failed.
            while db.flush_cf(&one).is_ok() {}
        });
    });
    assert_eq!(failed.load(Ordering::Relaxed), WRITERS as u64, "{what}");
    assert_eq!(faulty.injected().len(), 1, "{what}");
    // Exactly what was acknowledged is seen.
    let acked: Vec<u64> = acked.iter().map(|n| n.load(Ordering::Relaxed)).collect();
    let sum: u64 = acked.iter().sum();
    assert_eq!(db.latest_sequence_number(), NUMBERS * sum, "{what}");
    let seen = check(&db, &acked).unwrap_or_else(|e| panic!("{what}: {e}"));
    assert_eq!(seen, acked, "{what}");
    drop(db);
    // Failed writes may be there after a restart: whole, and with everything before them. (After a
    // failed sync the file system may lose what it has not synced.)
    let killed = mem.crash_clone(1.0, seed);
    let mut left = vec![(mem, "closed")];
    if op != FaultOp::Sync {
        left.push((killed, "killed"));
    }
    for (fs, how) in left {
        options.set_fs(Arc::new(fs));
        let db = open(&options);
        let found = check(&db, &acked).unwrap_or_else(|e| panic!("{what}, {how}: {e}"));
        assert!(
            found.iter().zip(&acked).all(|(f, a)| f - a <= 1),
            "{what}, {how}: {found:?}, {acked:?} were acknowledged"
        );
        let sum: u64 = found.iter().sum();
        assert_eq!(db.latest_sequence_number(), NUMBERS * sum, "{what}, {how}");
        db.put("after", "all").expect("writes again");
    }
}

/// A writer panics in the middle of a write. Others have finished behind it, and a flush of their
/// writes was requested. This is only for writers without a leader: a leader's panic ends the
/// process.
#[test]
fn a_flush_waits_for_a_writer_and_fails_with_it() {
    for protocol in protocols().into_iter().filter(|p| logs_side_by_side(*p)) {
        for point in [Point::Reserved, Point::Appended, Point::Inserted] {
            watched("a flush behind a panic", 60, move || {
                panic_at(protocol, point)
            });
        }
    }
}

fn panic_at(protocol: CommitProtocol, point: Point) {
    let what = format!("{protocol}, {point:?}");
    let mem = MemFs::new();
    let mut options = options(protocol, mem.clone());
    let trap = Trap::set(&mut options);
    let db = &open(&options);
    db.write(batch(db, 0, 1)).expect("writes");
    trap.arm(point);
    thread::scope(|scope| {
        let panicked = scope.spawn(|| {
            let write = || db.write(batch(db, 0, 2));
            catch_unwind(AssertUnwindSafe(write)).is_err()
        });
        assert_eq!(trap.wait(), NUMBERS + 1);
        let behind: Vec<_> = (1..6)
            .map(|w| scope.spawn(move || db.write(batch(db, w, 1))))
            .collect();
        // The writers may not be past the log yet. A flush of what they have done so far does as
        // well.
        let mut nowait = FlushOptions::default();
        nowait.set_wait(false);
        for family in ["one", "default"] {
            let cf = db.cf_handle(family).expect("opened");
            db.flush_cf_opt(&cf, &nowait).expect("asked for");
        }
        assert!(db.live_files().expect("known").is_empty(), "{what}");
        trap.kill();
        assert!(panicked.join().expect("caught"), "{what}");
        for writer in behind {
            assert!(writer.join().expect("no panic").is_err(), "{what}");
        }
    });
    assert!(db.flush().is_err(), "{what}");
    assert!(db.live_files().expect("known").is_empty(), "{what}");
    assert_eq!(db.latest_sequence_number(), NUMBERS, "{what}");
    assert_eq!(check(db, &[1, 0, 0, 0, 0, 0]), Ok(vec![1, 0, 0, 0, 0, 0]));
    let mut killed = options.clone();
    killed.set_fs(Arc::new(mem.crash_clone(1.0, 0)));
    let left = open(&killed);
    let found = check(&left, &[1, 0, 0, 0, 0, 0]).unwrap_or_else(|e| panic!("{what}: {e}"));
    if point == Point::Reserved {
        assert_eq!(found, [1, 0, 0, 0, 0, 0], "{what}: behind a hole");
    }
    let sum: u64 = found.iter().sum();
    assert_eq!(left.latest_sequence_number(), NUMBERS * sum, "{what}");
}
