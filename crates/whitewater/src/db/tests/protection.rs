//! Batches that are changed in memory.

use crate::db::timestamps::Stamped;
use crate::options::read::WriteSpec;
use crate::write::env::MemtableEnv;
use crate::write::request::{WriteFlags, WriteRequest};
use crate::{CommitProtocol, DB, IteratorMode, Options};
use std::sync::Arc;
use whitewater_storage::ErrorKind;
use whitewater_storage::batch::{Batch, HEADER_SIZE};
use whitewater_storage::fs::mem::MemFs;
use whitewater_storage::key::ValueType;

fn batch() -> Batch {
    let mut batch = Batch::default();
    batch.protect().unwrap();
    batch.push(0, ValueType::Value, b"key", b"value");
    batch.push(0, ValueType::Deletion, b"old", b"");
    batch.push(0, ValueType::RangeDeletion, b"a", b"c");
    batch
}

/// Whichever bit of a protected batch changes, the write fails, none of it is visible
/// anywhere, and the database continues.
#[test]
fn a_batch_that_changed_is_refused() {
    for protocol in [
        CommitProtocol::Ordered,
        CommitProtocol::Grouped,
        CommitProtocol::Pipelined,
        CommitProtocol::Unordered,
    ] {
        for ttl in [false, true] {
            let fs = MemFs::new();
            let mut options = Options::default();
            options.create_if_missing(true);
            options.set_fs(Arc::new(fs.clone()));
            options.set_commit_protocol(protocol);
            let open = || {
                if ttl {
                    let hour = std::time::Duration::from_secs(3600);
                    DB::open_with_ttl(&options, "/db", hour).unwrap()
                } else {
                    DB::open(&options, "/db").unwrap()
                }
            };
            let db = open();
            db.put("old", "value").unwrap();
            let before = db.latest_sequence_number();
            for bit in HEADER_SIZE * 8..batch().bytes().len() * 8 {
                let mut damaged = batch();
                damaged.bytes_mut()[bit / 8] ^= 1 << (bit % 8);
                let spec = WriteSpec::default();
                let e = db
                    .engine()
                    .write(damaged, &Stamped::default(), &spec)
                    .unwrap_err();
                let told = [
                    ErrorKind::Corruption,
                    ErrorKind::NotSupported,
                    ErrorKind::InvalidArgument,
                ];
                assert!(told.contains(&e.kind()), "{protocol} bit {bit}: {e}");
            }
            assert_eq!(db.latest_sequence_number(), before);
            drop(db);
            let db = open();
            let all: Vec<_> = db.iterator(IteratorMode::Start).flatten().collect();
            assert_eq!(all.len(), 1);
            assert_eq!(db.get("old").unwrap().unwrap(), b"value");
            let spec = WriteSpec::default();
            db.engine()
                .write(batch(), &Stamped::default(), &spec)
                .unwrap();
            assert_eq!(db.get("key").unwrap().unwrap(), b"value");
            assert_eq!(db.get("old").unwrap(), None);
        }
    }
}

/// A batch that changes while it waits, or while it is logged, is not inserted.
#[test]
fn a_batch_that_changed_late_is_not_inserted() {
    let mut options = Options::default();
    options.create_if_missing(true);
    options.set_fs(Arc::new(MemFs::new()));
    let db = DB::open(&options, "/db").unwrap();
    let mut damaged = batch();
    *damaged.bytes_mut().last_mut().unwrap() ^= 1;
    let request = WriteRequest::new(damaged, WriteFlags::default());
    let engine = db.engine();
    let generation = engine.commit.generations.load();
    let e = engine
        .insert(&generation, &request.write(), None, 1, &mut None)
        .unwrap_err();
    assert_eq!(e.kind(), ErrorKind::Corruption, "{e}");
    let memtable = engine.state.lock().cfs[&0].mem.clone();
    assert_eq!(memtable.num_entries(), 0);
}
