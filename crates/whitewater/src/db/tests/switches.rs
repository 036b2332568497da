//! Switches beside writers: what is in a flushed memtable is never replayed.

use crate::{
    ColumnFamilyDescriptor, CommitProtocol, DBWithThreadMode, FlushOptions, MergeOperands,
    MultiThreaded, Options, WriteBatch,
};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::thread;
use std::time::Duration;
use whitewater_storage::fs::mem::MemFs;

/// The number of writes of each writer.
const WRITES: u64 = 5_000;

/// Whether switches pause between checking whether the log is empty and closing it.
static SLOW: AtomicBool = AtomicBool::new(false);

/// Called by each switch.
pub(crate) fn pause() {
    if SLOW.load(Ordering::Relaxed) {
        thread::sleep(Duration::from_micros(100));
    }
}

type Db = DBWithThreadMode<MultiThreaded>;

fn sum(_: &[u8], existing: Option<&[u8]>, operands: &MergeOperands<'_>) -> Option<Vec<u8>> {
    let number = |bytes: &[u8]| u64::from_le_bytes(bytes.try_into().expect("8 bytes"));
    let all = existing.into_iter().chain(operands.iter());
    let total: u64 = all.map(number).sum();
    Some(total.to_le_bytes().to_vec())
}

fn open(fs: &MemFs, protocol: CommitProtocol) -> Db {
    let mut options = Options::default();
    options.create_if_missing(true);
    options.create_missing_column_families(true);
    options.set_fs(Arc::new(fs.clone()));
    options.set_commit_protocol(protocol);
    options.set_merge_operator_associative("sum", sum);
    options.set_max_write_buffer_number(8);
    options.set_level_zero_slowdown_writes_trigger(1_000);
    options.set_level_zero_stop_writes_trigger(1_000);
    let families = ["default", "other"];
    let families = families.map(|name| ColumnFamilyDescriptor::new(name, options.clone()));
    Db::open_cf_descriptors(&options, "/db", families).unwrap()
}

/// A memtable is switched right after another one was. So the log that was begun then is
/// still empty when the second switch begins, and no longer empty when it ends.
#[test]
fn writes_that_come_into_an_empty_log_during_a_switch_are_not_replayed() {
    SLOW.store(true, Ordering::Relaxed);
    for protocol in [CommitProtocol::Ordered, CommitProtocol::Pipelined] {
        let fs = MemFs::new();
        let db = open(&fs, protocol);
        let other = db.cf_handle("other").unwrap();
        let default = db.cf_handle("default").unwrap();
        let running = AtomicU64::new(2);
        let one = 1u64.to_le_bytes();
        thread::scope(|s| {
            for _ in 0..2 {
                s.spawn(|| {
                    for n in 0..WRITES {
                        let mut batch = WriteBatch::default();
                        batch.merge("k", one);
                        batch.merge_cf(&other, "k", one);
                        db.write(batch).unwrap();
                        // A pause, so that not every log gets a record at once.
                        (0..n % 4_000).for_each(|_| std::hint::spin_loop());
                    }
                    running.fetch_sub(1, Ordering::Relaxed);
                });
            }
            let mut now = FlushOptions::default();
            now.set_wait(false);
            while running.load(Ordering::Relaxed) > 0 {
                db.flush_cf_opt(&other, &now).unwrap();
                db.flush_cf_opt(&default, &now).unwrap();
            }
        });
        let written = 2 * WRITES;
        db.flush().unwrap();
        // The files as a killed process leaves them.
        let left = fs.crash_clone(1.0, 1);
        drop((other, default));
        drop(db);
        let db = open(&left, protocol);
        let found = db.get("k").unwrap().unwrap();
        assert_eq!(found, written.to_le_bytes(), "{protocol}");
        let other = db.cf_handle("other").unwrap();
        let found = db.get_cf(&other, "k").unwrap().unwrap();
        assert_eq!(found, written.to_le_bytes(), "{protocol}");
    }
}
