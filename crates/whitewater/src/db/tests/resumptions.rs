//! Resumptions beside failures that are reported at the same time: what one of
//! them has set, the other does not undo.

use crate::db::failure::Source;
use crate::write::stall::rate::DelayRate;
use crate::write::stall::{Demand, Pressure};
use crate::{CommitProtocol, DB, Options};
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::{io, thread};
use whitewater_storage::fs::mem::MemFs;
use whitewater_storage::{Error, ErrorKind};

const ROUNDS: usize = 300;

/// A hard failure is reported again and again, and ended again and again, while
/// each write fills a memtable.
#[test]
fn a_failure_that_is_over_leaves_nothing_behind() {
    for protocol in [CommitProtocol::Ordered, CommitProtocol::Pipelined] {
        let mut options = Options::default();
        options.create_if_missing(true);
        options.set_fs(Arc::new(MemFs::new()));
        options.set_commit_protocol(protocol);
        options.set_write_buffer_size(64 << 10);
        options.set_level_zero_slowdown_writes_trigger(10_000);
        options.set_level_zero_stop_writes_trigger(10_000);
        let db = &DB::open(&options, "/db").unwrap();
        let engine = db.engine();
        let broken = Error::io("syncing", Path::new("/db/1.log"), &io::Error::other("EIO"));
        let over = AtomicBool::new(false);
        let resumed = thread::scope(|scope| {
            let writer = scope.spawn(|| {
                let mut written = 0;
                while !over.load(Ordering::SeqCst) {
                    written += u32::from(db.put("k", [7; 100 << 10]).is_ok());
                }
                written
            });
            let resumer = scope.spawn(|| {
                let mut resumed = 0u32;
                while !over.load(Ordering::SeqCst) {
                    resumed += u32::from(db.resume().is_ok());
                }
                resumed
            });
            for round in 0..ROUNDS {
                engine.report(Source::Log, &broken, "a test");
                // Every third one comes while the one before is being ended.
                while round % 3 != 0 && engine.state.lock().failure.stop().is_some() {
                    thread::yield_now();
                }
            }
            over.store(true, Ordering::SeqCst);
            assert!(writer.join().unwrap() > 0, "{protocol}");
            resumer.join().unwrap()
        });
        assert!(resumed as usize > ROUNDS / 3, "{protocol}: {resumed}");
        db.resume().unwrap();
        let full = engine.state.lock().cfs[&0].mem.is_full();
        let asked = engine.attention.load(Ordering::SeqCst);
        assert!(
            asked || !full,
            "{protocol}: nobody switches a full memtable"
        );
        // Stalls are stalls again.
        let mut demand = Demand {
            pressure: Pressure::Stopped,
            behind: false,
            rate: DelayRate::new(0),
            hopeless: None,
        };
        engine.gate.set(demand.clone());
        let e = engine.gate.pass(1, true).unwrap_err();
        assert_eq!(e.kind(), ErrorKind::Incomplete, "{protocol}");
        demand.pressure = Pressure::None;
        engine.gate.set(demand);
        db.put("after", "all").unwrap();
        assert_eq!(db.get("after").unwrap().unwrap(), b"all");
    }
}
