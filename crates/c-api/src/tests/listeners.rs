//! Listeners.

use super::{creating, open, put};
use crate::border::testing::Place;
use crate::border::{Bytes, Out};
use crate::callbacks::State;
use crate::db::rocksdb_t;
use crate::exports::testing::*;
use crate::listeners::*;
use crate::options::testing::*;
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};

#[test]
fn listeners_are_told_of_flushes_with_their_database_and_are_destroyed_once() {
    static BEGUN: AtomicUsize = AtomicUsize::new(0);
    static FLUSHED: AtomicUsize = AtomicUsize::new(0);
    static DESTROYED: AtomicUsize = AtomicUsize::new(0);
    extern "C" fn destroy(_: State) {
        DESTROYED.fetch_add(1, Ordering::SeqCst);
    }
    extern "C" fn begun(_: State, _: &rocksdb_t, info: &rocksdb_flushjobinfo_t) {
        // RocksDB's numbers while there is no table.
        let smallest = rocksdb_flushjobinfo_smallest_seqno(Some(info));
        let largest = rocksdb_flushjobinfo_largest_seqno(Some(info));
        BEGUN.fetch_add(
            usize::from((smallest, largest) == ((1 << 56) - 1, 0)),
            Ordering::SeqCst,
        );
    }
    extern "C" fn flushed(_: State, db: &rocksdb_t, info: &rocksdb_flushjobinfo_t) {
        let mut len = 0;
        let name = rocksdb_flushjobinfo_cf_name(Some(info), Out::testing(&mut len));
        // The database can be used.
        let open = db.slot.open().is_ok();
        if open && !name.is_null() && len == "default".len() {
            FLUSHED.fetch_add(1, Ordering::SeqCst);
        }
    }

    let listener = rocksdb_eventlistener_create(
        State::testing(),
        Some(destroy),
        Some(begun),
        Some(flushed),
        None,
        None,
        None,
        None,
        None,
        None,
        None,
        None,
    );
    let mut options = creating();
    rocksdb_options_add_eventlistener(Some(&mut options), listener);
    let dirs = [tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap()];
    let dbs = dirs.each_ref().map(|dir| open(&options, dir.path()));
    rocksdb_options_destroy(Some(options));
    for db in dbs {
        let (mut error, flush) = (Place::new(), rocksdb_flushoptions_create());
        assert_eq!(put(db, "key", "value"), None);
        rocksdb_flush(Some(db), flush.as_deref(), error.errptr());
        assert_eq!(error.take(), None);
        assert_eq!(DESTROYED.load(Ordering::SeqCst), 0);
        let before = FLUSHED.load(Ordering::SeqCst);
        // The event comes after the flush, and before closing has ended, when the database is shut.
        while before == 0 && FLUSHED.load(Ordering::SeqCst) == 0 {
            std::thread::yield_now();
        }
        rocksdb_close(Some(db));
    }
    assert!(FLUSHED.load(Ordering::SeqCst) >= 1);
    assert_eq!(BEGUN.load(Ordering::SeqCst), 2);
    assert_eq!(DESTROYED.load(Ordering::SeqCst), 1);
}

#[test]
fn listeners_are_told_the_numbers_of_a_memtable_and_the_thread_of_a_part() {
    static SEALED: Mutex<Vec<(u64, u64)>> = Mutex::new(Vec::new());
    static THREADS: Mutex<Vec<u64>> = Mutex::new(Vec::new());
    extern "C" fn sealed(_: State, info: &rocksdb_memtableinfo_t) {
        let first = rocksdb_memtableinfo_first_seqno(Some(info));
        let earliest = rocksdb_memtableinfo_earliest_seqno(Some(info));
        SEALED.lock().unwrap().push((first, earliest));
    }
    extern "C" fn part(_: State, info: &rocksdb_subcompactionjobinfo_t) {
        let thread = rocksdb_subcompactionjobinfo_thread_id(Some(info));
        THREADS.lock().unwrap().push(thread);
    }

    let listener = rocksdb_eventlistener_create(
        State::testing(),
        None,
        None,
        None,
        None,
        None,
        None,
        Some(part),
        None,
        None,
        None,
        Some(sealed),
    );
    let mut options = creating();
    rocksdb_options_add_eventlistener(Some(&mut options), listener);
    let dir = tempfile::tempdir().unwrap();
    let db = open(&options, dir.path());
    let (mut error, flush) = (Place::new(), rocksdb_flushoptions_create());
    for _ in 0..2 {
        assert_eq!(put(db, "a", "1"), None);
        assert_eq!(put(db, "b", "2"), None);
        rocksdb_flush(Some(db), flush.as_deref(), error.errptr());
        assert_eq!(error.take(), None);
    }
    let (from, to) = (Bytes::testing(b""), Bytes::testing(b"z"));
    rocksdb_compact_range(Some(db), from, 0, to, 1);
    rocksdb_close(Some(db));
    assert_eq!(*SEALED.lock().unwrap(), [(1, 0), (3, 2)]);
    let threads = THREADS.lock().unwrap();
    assert_eq!(threads.len(), 1);
    // Systems other than Linux have no number.
    assert_eq!(threads[0] != 0, cfg!(target_os = "linux"));
}

/// A table is damaged when it is compacted.
#[test]
fn a_listener_that_resets_the_status_keeps_writes_going() {
    static TOLD: AtomicUsize = AtomicUsize::new(0);
    extern "C" fn failed(_: State, reason: u32, status: &mut rocksdb_status_ptr_t) {
        const COMPACTION: u32 = 1;
        let mut error = Place::new();
        rocksdb_status_ptr_get_error(Some(status), error.errptr());
        let text = error.take().unwrap_or_default();
        if reason == COMPACTION && text.contains("Corruption") {
            TOLD.fetch_add(1, Ordering::SeqCst);
        }
        rocksdb_reset_status(Some(status));
        rocksdb_status_ptr_get_error(Some(status), error.errptr());
        assert_eq!(error.take(), None);
    }

    let listener = rocksdb_eventlistener_create(
        State::testing(),
        None,
        None,
        None,
        None,
        None,
        None,
        None,
        None,
        Some(failed),
        None,
        None,
    );
    let mut options = creating();
    rocksdb_options_add_eventlistener(Some(&mut options), listener);
    let dir = tempfile::tempdir().unwrap();
    let db = open(&options, dir.path());
    let (mut error, flush) = (Place::new(), rocksdb_flushoptions_create());
    let mut put_and_flush = || {
        assert_eq!(put(db, "key", "value"), None);
        rocksdb_flush(Some(db), flush.as_deref(), error.errptr());
        assert_eq!(error.take(), None);
    };
    put_and_flush();
    let files = std::fs::read_dir(dir.path()).unwrap();
    let mut files = files.map(|file| file.unwrap().path());
    let table = files.find(|path| path.extension().is_some_and(|e| e == "sst"));
    std::fs::write(table.unwrap(), b"damaged").unwrap();
    // Makes another table: one alone would be moved.
    assert_eq!(put(db, "key", "value"), None);
    let (from, to) = (Bytes::testing(b""), Bytes::testing(b"z"));
    rocksdb_compact_range(Some(db), from, 0, to, 1);
    put_and_flush();
    rocksdb_close(Some(db));
    assert_eq!(TOLD.load(Ordering::SeqCst), 1);
}
