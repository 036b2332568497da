//! Switches of memtables and logs while writers are in the middle of a write. Each write goes
//! wholly to one side, nothing is flushed before the writes before it are finished, and only
//! writers that come during the switch wait.

#![cfg(target_os = "linux")]

use super::threads::kernel;
use super::{logs_side_by_side, open, options};
use crate::harness::parallel::{self, NUMBERS, batch, check};
use crate::harness::points::{Trap, shake};
use crate::harness::{Db, campaign, protocols, strict_protocols, watched};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::mpsc;
use std::thread;
use whitewater::fs::mem::MemFs;
use whitewater::{CommitProtocol, FlushOptions, Point, WriteOptions};

fn flush_all(db: &Db, wait: bool) {
    let cfs = parallel::FAMILIES.map(|f| db.cf_handle(f).expect("opened"));
    let mut options = FlushOptions::default();
    options.set_wait(wait);
    let cfs: Vec<_> = cfs.iter().collect();
    db.flush_cfs_opt(&cfs, &options).expect("flushes");
}

/// A switch does not wait for a writer that is held up, but a flush does.
#[test]
fn a_writer_may_be_held_up_over_switches() {
    for protocol in strict_protocols() {
        for point in [Point::Reserved, Point::Appended, Point::Inserted] {
            if point == Point::Inserted && protocol == CommitProtocol::Unordered {
                continue; // visible before that, and no writer waits for it
            }
            for recycled in [0, 2] {
                watched("a switch beside a frozen writer", 60, move || {
                    held_up(protocol, point, recycled);
                });
            }
        }
    }
}

fn held_up(protocol: CommitProtocol, point: Point, recycled: usize) {
    const OTHERS: usize = 6;
    let what = format!("{protocol}, {point:?}, {recycled} recycled");
    let fs = MemFs::new();
    let mut options = options(protocol, fs.clone());
    options.set_recycle_log_file_num(recycled);
    let trap = Trap::set(&mut options);
    let db = &open(&options);
    for n in 1..=5 {
        db.write(batch(db, 0, n)).expect("writes");
    }
    let before = db.latest_sequence_number();
    let mut least = vec![0; OTHERS + 1];
    least[0] = 5;
    trap.arm(point);
    thread::scope(|scope| {
        scope.spawn(|| db.write(batch(db, 0, 6)).expect("writes"));
        assert_eq!(trap.wait(), before + 1, "{what}");
        let (tell, ids) = mpsc::channel();
        for w in 1..=OTHERS {
            // Before the switch, and after it.
            if w == OTHERS / 2 {
                let ids: Vec<u64> = ids.iter().take(w - 1).collect();
                kernel::wait_until_asleep(&ids);
                flush_all(db, false);
                flush_all(db, false);
            }
            let tell = tell.clone();
            scope.spawn(move || {
                tell.send(kernel::id()).expect("heard");
                db.write(batch(db, w, 1)).expect("writes");
            });
        }
        let rest = OTHERS - (OTHERS / 2 - 1);
        kernel::wait_until_asleep(&ids.iter().take(rest).collect::<Vec<_>>());
        // Nothing of it is seen or in a table. If the process is killed now, the write never
        // happened.
        assert_eq!(db.latest_sequence_number(), before, "{what}");
        assert_eq!(db.live_files().expect("known").len(), 0, "{what}");
        let mut killed = options.clone();
        killed.set_fs(Arc::new(fs.crash_clone(1.0, 0)));
        killed.set_failpoints(|_, _| ());
        let left = open(&killed);
        let found = check(&left, &least).unwrap_or_else(|e| panic!("{what}: {e}"));
        let sum: u64 = found.iter().sum();
        assert_eq!(left.latest_sequence_number(), NUMBERS * sum, "{what}");
        if point == Point::Reserved && logs_side_by_side(protocol) {
            assert_eq!(found, least, "{what}: nothing behind a hole counts");
        }
        trap.release();
    });
    least[0] = 6;
    least[1..].fill(1);
    let found = check(db, &least).unwrap_or_else(|e| panic!("{what}: {e}"));
    assert_eq!(found, least);
    flush_all(db, true);
    assert!(!db.live_files().expect("known").is_empty(), "{what}");
    check(db, &least).unwrap_or_else(|e| panic!("{what}, flushed: {e}"));
    let mut killed = options.clone();
    killed.set_fs(Arc::new(fs.crash_clone(1.0, 0)));
    check(&open(&killed), &least).unwrap_or_else(|e| panic!("{what}, killed: {e}"));
}

/// The switching thread is held up while no generation is open. Writers that come sleep, and go on
/// in the next one.
#[test]
fn writers_sleep_while_a_switch_is_held_up() {
    for protocol in protocols() {
        watched("a frozen switch", 60, move || {
            let mut options = options(protocol, MemFs::new());
            let trap = Trap::set(&mut options);
            let db = &open(&options);
            db.write(batch(db, 0, 1)).expect("writes");
            trap.arm(Point::Closed);
            thread::scope(|scope| {
                scope.spawn(|| flush_all(db, true));
                assert_eq!(trap.wait(), NUMBERS, "the last number handed out");
                let (tell, ids) = mpsc::channel();
                for w in 1..8 {
                    let tell = tell.clone();
                    scope.spawn(move || {
                        tell.send(kernel::id()).expect("heard");
                        for n in 1..=3 {
                            db.write(batch(db, w, n)).expect("writes");
                        }
                    });
                }
                let ids: Vec<u64> = ids.iter().take(7).collect();
                kernel::wait_until_asleep(&ids);
                let start: u64 = ids.iter().map(|id| kernel::cpu_nanos(*id)).sum();
                kernel::wait_until_asleep(&ids);
                let spent = ids.iter().map(|id| kernel::cpu_nanos(*id)).sum::<u64>() - start;
                assert!(spent < 5_000_000, "{protocol}: {spent} ns of CPU");
                assert_eq!(db.latest_sequence_number(), NUMBERS);
                assert!(check(db, &[1]).is_ok(), "readers go on");
                trap.release();
            });
            let found = check(db, &[1, 3, 3, 3, 3, 3, 3, 3]).expect("all is there");
            assert_eq!(
                db.latest_sequence_number(),
                NUMBERS * found.iter().sum::<u64>()
            );
        });
    }
}

/// Writers go on in a full memtable while its switch is prepared, which may take long, but not
/// without limit.
#[test]
fn memtables_do_not_grow_without_bound_while_a_switch_is_held_up() {
    const WRITERS: u64 = 8;
    const WRITES: u64 = 100;
    for protocol in protocols() {
        watched("a slow switch", 60, move || {
            let mut options = options(protocol, MemFs::new());
            let trap = Trap::set(&mut options);
            let db = &open(&options);
            trap.arm(Point::Closing);
            thread::scope(|scope| {
                let (tell, ids) = mpsc::channel();
                for w in 0..WRITERS {
                    let tell = tell.clone();
                    scope.spawn(move || {
                        tell.send(kernel::id()).expect("heard");
                        for n in 0..WRITES {
                            db.put(format!("{w}-{n}"), [1; 1_000]).expect("writes");
                        }
                    });
                }
                trap.wait();
                kernel::wait_until_asleep(&ids.iter().take(WRITERS as usize).collect::<Vec<_>>());
                // Twice 64 KiB, and the tree's overhead.
                let written = db.latest_sequence_number();
                assert!(written < 200, "{protocol}: {written} KB in one memtable");
                trap.release();
            });
            assert_eq!(db.latest_sequence_number(), WRITERS * WRITES, "{protocol}");
        });
    }
}

/// An empty log stays the current one when memtables are switched. It must not if a writer gets
/// into it just before.
#[test]
fn a_log_that_was_empty_is_not_replayed_onto_its_tables() {
    for protocol in protocols() {
        watched("a switch on an empty log", 60, move || {
            let fs = MemFs::new();
            let mut options = options(protocol, fs.clone());
            let trap = Trap::set(&mut options);
            let db = &open(&options);
            db.write(batch(db, 0, 1)).expect("writes");
            // A new log, which is newer than the other families' memtables.
            let one = db.cf_handle("one").expect("opened");
            db.flush_cf(&one).expect("flushes");
            trap.arm(Point::Closing);
            thread::scope(|scope| {
                let flush = scope.spawn(|| flush_all(db, true));
                trap.wait();
                db.write(batch(db, 0, 2)).expect("writes");
                trap.release();
                flush.join().expect("no panic");
            });
            let mut killed = options.clone();
            killed.set_fs(Arc::new(fs.crash_clone(1.0, 0)));
            // A batch applied twice is in the list of batches twice.
            assert_eq!(check(&open(&killed), &[2]), Ok(vec![2]), "{protocol}");
        });
    }
}

/// Constant switches, by full memtables and by flushes, and constant kills: a log that is needed is
/// never gone.
#[test]
fn no_log_is_given_up_early_in_a_storm_of_switches() {
    const TEST: &str = "no_log_is_given_up_early_in_a_storm_of_switches";
    campaign(TEST, 1, 2, |seed| {
        for protocol in protocols() {
            watched("a storm of switches", 120, move || storm(protocol, seed));
        }
    });
}

fn storm(protocol: CommitProtocol, seed: u64) {
    const WRITERS: usize = 8;
    let fs = MemFs::new();
    let mut options = options(protocol, fs.clone());
    options.set_recycle_log_file_num([0, 3][(seed % 2) as usize]);
    shake(&mut options, seed, 32);
    let db = &open(&options);
    let acked: &[AtomicU64; WRITERS] = &Default::default();
    let running = &AtomicU64::new(WRITERS as u64);
    let counts = || acked.iter().map(|n| n.load(Ordering::SeqCst)).collect();
    thread::scope(|scope| {
        for (w, acked) in acked.iter().enumerate() {
            scope.spawn(move || {
                for n in 1..=120 {
                    let mut options = WriteOptions::default();
                    options.set_sync(n % 50 == 7);
                    db.write_opt(batch(db, w, n), &options).expect("writes");
                    acked.store(n, Ordering::SeqCst);
                }
                running.fetch_sub(1, Ordering::SeqCst);
            });
        }
        scope.spawn(|| {
            for n in 0.. {
                if running.load(Ordering::SeqCst) == 0 {
                    break;
                }
                let family = parallel::FAMILIES[n % 3];
                let cf = db.cf_handle(family).expect("opened");
                db.flush_cf(&cf).expect("flushes");
            }
        });
        let mut kills = 0;
        while running.load(Ordering::SeqCst) > 0 {
            let least: Vec<u64> = counts();
            let mut killed = options.clone();
            killed.set_fs(Arc::new(fs.crash_clone(1.0, 0)));
            let left = open(&killed);
            let found = check(&left, &least).unwrap_or_else(|e| panic!("{protocol}: {e}"));
            let sum: u64 = found.iter().sum();
            assert_eq!(left.latest_sequence_number(), NUMBERS * sum, "{protocol}");
            kills += 1;
        }
        println!("{protocol}: {kills} kills");
    });
    let all: Vec<u64> = counts();
    assert_eq!(check(db, &all).expect("all is there"), [120; WRITERS]);
}
