//! What only shows with a hand inside the engine.

use crate::{DB, IteratorMode, MemtableFactory, Options};
use std::sync::Arc;
use whitewater_storage::fs::mem::MemFs;
use whitewater_storage::{Error, ErrorKind};

/// The engine's own error, wherever it came out.
fn assert_corruption(e: &Error) {
    assert_eq!(e.kind(), ErrorKind::Corruption, "{e}");
    assert!(e.to_string().contains("[default]"), "{e}");
    assert!(e.to_string().contains("0x6235 (2 bytes)"), "{e}");
}

/// A damaged entry is met by a look-up, an iterator and a flush; the flush
/// stops writes, and the log has everything.
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
        // A step back leaves the key before it shows it.
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
