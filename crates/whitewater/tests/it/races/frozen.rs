//! A writer is held up in the middle of a write. The others sleep, their writes are not seen,
//! readers go on, and all writers end once it goes on.

#![cfg(target_os = "linux")]

use super::threads::kernel;
use super::{open, options};
use crate::harness::points::Trap;
use crate::harness::walk::collect;
use crate::harness::{strict_protocols, watched};
use std::sync::mpsc;
use std::thread;
use std::time::Duration;
use whitewater::fs::mem::MemFs;
use whitewater::{CommitProtocol, Point, WriteOptions};

const OTHERS: usize = 16;

/// Milliseconds for which writers are watched while one is held up.
const WATCHED: u64 = 150;

/// Milliseconds of CPU time that they may use together meanwhile.
const IDLE: u64 = 15;

#[test]
fn writers_sleep_while_one_is_held_up_and_readers_go_on() {
    for protocol in strict_protocols() {
        for point in [Point::Reserved, Point::Appended, Point::Inserted] {
            if point == Point::Inserted && protocol == CommitProtocol::Unordered {
                continue; // visible before that, and no writer waits for it
            }
            for synced in [0, 4] {
                watched("a frozen writer", 60, move || {
                    freeze(protocol, point, synced)
                });
            }
        }
    }
}

/// The first `synced` of the others sync.
fn freeze(protocol: CommitProtocol, point: Point, synced: usize) {
    let what = format!("{protocol}, {point:?}, {synced} synced");
    let mut options = options(protocol, MemFs::new());
    let trap = Trap::set(&mut options);
    let db = &open(&options);
    db.put("before", "1").expect("writes");
    let before = db.latest_sequence_number();
    let content = collect(db.raw_iterator()).expect("readable");
    trap.arm(point);
    thread::scope(|scope| {
        scope.spawn(|| db.put("frozen", "1").expect("writes"));
        assert_eq!(trap.wait(), before + 1, "{what}");
        let (tell, ids) = mpsc::channel();
        for w in 0..OTHERS {
            let tell = tell.clone();
            scope.spawn(move || {
                tell.send(kernel::id()).expect("heard");
                let mut options = WriteOptions::default();
                options.set_sync(w < synced);
                db.put_opt(format!("other-{w}"), "1", &options)
                    .expect("writes");
                let found = db.get("frozen").expect("readable").is_some();
                // With unordered commit, it may still be on its way into the memtable.
                assert!(found || protocol == CommitProtocol::Unordered, "order");
            });
        }
        let ids: Vec<u64> = ids.iter().take(OTHERS).collect();
        kernel::wait_until_asleep(&ids);
        let cpu = || ids.iter().map(|id| kernel::cpu_nanos(*id)).sum::<u64>();
        let start = cpu();
        for _ in 0..10 {
            thread::sleep(Duration::from_millis(WATCHED / 10));
            // Readers see what was there before, and nothing else.
            assert_eq!(db.latest_sequence_number(), before, "{what}");
            assert_eq!(db.get("frozen").expect("readable"), None, "{what}");
            let found = collect(db.raw_iterator()).expect("readable");
            assert!(found == content, "{what}");
            let snapshot = db.snapshot();
            assert!(snapshot.get("other-0").expect("readable").is_none());
        }
        let spent = cpu() - start;
        assert!(spent < IDLE * 1_000_000, "{what}: {spent} ns of CPU");
        trap.release();
    });
    assert_eq!(db.latest_sequence_number(), before + 1 + OTHERS as u64);
    for w in 0..OTHERS {
        let found = db.get(format!("other-{w}")).expect("readable");
        assert_eq!(found.as_deref(), Some(&b"1"[..]), "{what}");
    }
}
