//! The disk is full when the log has to grow. Those writers fail before they have taken anything
//! that others wait for, so the others go on. All go on once there is room.

use super::{open, options};
use crate::harness::parallel::{NUMBERS, batch, check};
use crate::harness::{protocols, watched};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::thread;
use whitewater::fs::fault::{Fault, FaultFs, FaultOp, OpSet, PathMatch, Rule, When};
use whitewater::fs::mem::MemFs;
use whitewater::{CommitProtocol, ErrorKind};

#[test]
fn a_full_disk_refuses_writes_until_there_is_room() {
    for protocol in protocols() {
        watched("a full disk", 120, move || full(protocol));
    }
}

fn full(protocol: CommitProtocol) {
    const WRITERS: usize = 8;
    let mem = MemFs::new();
    let faulty = FaultFs::new(Arc::new(mem.clone()));
    let mut options = options(protocol, faulty.clone());
    // One log, which grows by the smallest step.
    options.set_write_buffer_size(1 << 20);
    let db = open(&options);
    let acked: &[AtomicU64; WRITERS] = &Default::default();
    let mut refused = 0;
    for round in 0..4 {
        faulty.add_rule(Rule {
            ops: OpSet::of(&[FaultOp::Extend]),
            path: PathMatch::EndsWith(".log".into()),
            when: When::Nth(1),
            fault: Fault::Enospc,
            sticky: true,
        });
        thread::scope(|scope| {
            for (w, acked) in acked.iter().enumerate() {
                let db = &db;
                scope.spawn(move || {
                    for n in acked.load(Ordering::Relaxed) + 1.. {
                        if let Err(e) = db.write(batch(db, w, n)) {
                            assert_eq!(e.kind(), ErrorKind::IOError, "{e}");
                            break;
                        }
                        acked.store(n, Ordering::Relaxed);
                    }
                });
            }
        });
        refused += WRITERS;
        let done: Vec<u64> = acked.iter().map(|n| n.load(Ordering::Relaxed)).collect();
        let what = format!("{protocol}, round {round}, after {done:?}");
        let sum: u64 = done.iter().sum();
        assert_eq!(db.latest_sequence_number(), NUMBERS * sum, "{what}");
        assert_eq!(check(&db, &done), Ok(done.clone()), "{what}");
        let mut killed = options.clone();
        killed.set_fs(Arc::new(mem.crash_clone(1.0, 0)));
        assert_eq!(check(&open(&killed), &done), Ok(done), "{what}, killed");
        faulty.clear_rules();
        // Now there is room.
        for (w, acked) in acked.iter().enumerate() {
            let n = acked.load(Ordering::Relaxed) + 1;
            db.write(batch(&db, w, n)).expect("writes");
            acked.store(n, Ordering::Relaxed);
        }
    }
    assert!(refused > 0 && !faulty.injected().is_empty());
}
