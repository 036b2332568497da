//! Tests that need access to the engine's internals: `idle` iterators, `in_place` updates,
//! `ingestions`, `large` batches, `merges`, `pools` of threads and the
//! `pool_for_reads`, `protection` of entries, what readers have `released`, `resumptions`,
//! `switches`, `threads`, `two_phase` commit, `undecided` writes, `unordered` ones and `versions`.

mod idle;
mod in_place;
mod ingestions;
mod large;
mod merges;
#[cfg(target_os = "linux")]
mod pool_for_reads;
mod pools;
mod protection;
mod released;
mod resumptions;
pub(super) mod switches;
mod threads;
mod two_phase;
mod undecided;
mod unordered;
mod versions;

use crate::memtable::{Home, Inserter, Memtable};
use crate::options::CfOptions;
use crate::{DB, IteratorMode, MemtableFactory, Options, WriteBatch};
use std::sync::Arc;
use whitewater_storage::batch::{self, Op};
use whitewater_storage::filename;
use whitewater_storage::fs::Fs;
use whitewater_storage::fs::mem::MemFs;
use whitewater_storage::wal::{LogReader, ReadOutcome};
use whitewater_storage::{Error, ErrorKind};

/// Checks for the engine's own error, wherever it was returned.
fn assert_corruption(e: &Error) {
    assert_eq!(e.kind(), ErrorKind::Corruption, "{e}");
    assert!(e.to_string().contains("[default]"), "{e}");
    assert!(e.to_string().contains("0x6235 (2 bytes)"), "{e}");
}

/// A look-up, an iterator and a flush meet a damaged entry. The flush stops writes, and the
/// log has everything.
#[test]
fn a_damaged_entry_is_never_read_and_never_flushed() {
    for (factory, bytes) in [
        (MemtableFactory::SkipList, 8),
        (MemtableFactory::Art, 8),
        (MemtableFactory::SkipList, 1),
    ] {
        let fs = MemFs::new();
        let mut options = Options::default();
        options.create_if_missing(true);
        options.set_fs(Arc::new(fs.clone()));
        options.set_memtable_factory(factory);
        options.set_memtable_protection_bytes_per_key(bytes);
        let db = DB::open(&options, "/db").unwrap();
        for key in ["b1", "b2", "b9"] {
            db.put(key, key).unwrap();
        }
        let engine = db.engine();
        let seq = engine.latest_sequence_number();
        let mem = engine.state.lock().cfs[&0].mem.clone();
        mem.insert_damaged(b"b5", seq);

        assert_corruption(&db.get("b5").unwrap_err());
        let all: Vec<_> = db.iterator(IteratorMode::Start).collect();
        assert_eq!(all.len(), 3, "two entries, then the failure");
        assert_corruption(all[2].as_ref().unwrap_err());
        let all: Vec<_> = db.iterator(IteratorMode::End).collect();
        // A step back moves past the key before it shows it.
        assert_corruption(all.last().unwrap().as_ref().unwrap_err());
        assert!(all.len() <= 2);
        assert_eq!(db.get("b9").unwrap().unwrap(), b"b9");

        assert_corruption(&db.flush().unwrap_err());
        assert_corruption(&db.put("c", "c").unwrap_err());
        assert_eq!(db.get("b1").unwrap().unwrap(), b"b1", "reads go on");
        drop(db);
        let db = DB::open(&options, "/db").unwrap();
        assert_eq!(db.get("b5").unwrap(), None);
        let all: Vec<_> = db.iterator(IteratorMode::Start).flatten().collect();
        assert_eq!(all.len(), 3);
        db.put("c", "c").unwrap();
        db.flush().unwrap();
    }
}

/// The entries that an iterator over a memtable shows, byte for byte.
fn shown(memtable: &Memtable) -> Vec<(Vec<u8>, Vec<u8>)> {
    let mut cursor = memtable.iter();
    cursor.seek_to_first();
    let mut all = Vec::new();
    while cursor.valid() {
        all.push((cursor.key().to_vec(), cursor.value().to_vec()));
        cursor.next();
    }
    all
}

/// The log holds what the memtable holds: sequence numbers, types and values. Replayed
/// twice it gives the same as replayed once, and later numbers are new.
#[test]
fn a_replayed_log_gives_the_live_memtable() {
    for factory in [MemtableFactory::SkipList, MemtableFactory::Art] {
        let fs = MemFs::new();
        let mut options = Options::default();
        options.create_if_missing(true);
        options.set_fs(Arc::new(fs.clone()));
        options.set_memtable_factory(factory);
        options.set_merge_operator_associative("last", |_, _, operands| {
            operands.into_iter().last().map(<[u8]>::to_vec)
        });
        let db = DB::open(&options, "/db").unwrap();
        for i in 0..2_000u32 {
            let key = (i.wrapping_mul(2_654_435_761) >> 22).to_be_bytes();
            match i % 5 {
                0 => db.delete(key).unwrap(),
                1 => db.merge(key, i.to_le_bytes()).unwrap(),
                2 => {
                    let mut batch = WriteBatch::default();
                    batch.put(key, i.to_le_bytes());
                    batch.put(b"also", key);
                    db.write(batch).unwrap();
                }
                _ => db.put(key, vec![i as u8; (i % 90) as usize]).unwrap(),
            }
        }
        let live = db.engine().state.lock().cfs[&0].mem.clone();
        let last = db.latest_sequence_number();
        let content: Vec<_> = db.iterator(IteratorMode::Start).flatten().collect();
        drop(db);

        let path = filename::wal("/db".as_ref(), live.wal_number());
        let file = fs.open_sequential(&path).unwrap();
        let mut reader = LogReader::new(file, live.wal_number());
        let home = Home {
            family: "default",
            budget_client: None,
        };
        let replayed = Memtable::new(&CfOptions::default(), home, 0, 0);
        let mut record = Vec::new();
        while matches!(
            reader.read_record(&mut record).unwrap(),
            ReadOutcome::Record
        ) {
            let mut inserter = Inserter::new(false);
            let numbers = batch::sequence(&record)..;
            let entries = batch::ops(&record).filter_map(|op| match op.unwrap() {
                Op::Entry { ty, key, value, .. } => Some((ty, key, value)),
                _ => None,
            });
            for ((ty, key, value), seq) in entries.zip(numbers) {
                inserter.add(&replayed, ty, key, value, seq).unwrap();
            }
            inserter.finish().unwrap();
        }
        assert!(shown(&live).len() > 2_000);
        assert_eq!(shown(&replayed), shown(&live));

        for _ in 0..2 {
            let db = DB::open(&options, "/db").unwrap();
            let again: Vec<_> = db.iterator(IteratorMode::Start).flatten().collect();
            assert_eq!(again, content);
            assert_eq!(db.latest_sequence_number(), last);
        }
        let db = DB::open(&options, "/db").unwrap();
        db.put("new", "").unwrap();
        assert!(db.latest_sequence_number() > last);
    }
}
