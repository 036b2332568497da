//! What must hold however C calls. `after_close`: what is used after its database was closed;
//! `batches`: those of transactions; `entities`: wide columns; `listeners`; `options`: set by name;
//! `snapshots`: of transactions; `trim_history`: opening as of a time; `wrapped`: functions that
//! clients wrap and none of their tests calls.

mod after_close;
mod batches;
mod entities;
mod listeners;
mod options;
mod snapshots;
mod trim_history;
mod wrapped;

use crate::border::testing::Place;
use crate::border::{Bytes, ErrPtr, Out, Text, guard};
use crate::callbacks::State;
use crate::db::rocksdb_t;
use crate::exports::testing::*;
use crate::options::rocksdb_options_t;
use crate::options::testing::*;
use std::ffi::CString;
use std::path::Path;
use std::process::Command;
use std::sync::atomic::{AtomicUsize, Ordering};

fn bytes(text: &'static str) -> (Bytes, usize) {
    (Bytes::testing(text.as_bytes()), text.len())
}

fn path(path: &Path) -> Text {
    let text = CString::new(path.to_str().unwrap()).unwrap();
    Text::testing(Box::leak(text.into_boxed_c_str()))
}

fn creating() -> Box<rocksdb_options_t> {
    let mut options = rocksdb_options_create().unwrap();
    rocksdb_options_set_create_if_missing(Some(&mut options), 1);
    options
}

fn open(options: &rocksdb_options_t, dir: &Path) -> &'static rocksdb_t {
    let mut error = Place::new();
    let db = rocksdb_open(Some(options), path(dir), error.errptr());
    assert_eq!(error.take(), None);
    Box::leak(db.unwrap())
}

fn put(db: &rocksdb_t, key: &'static str, value: &'static str) -> Option<String> {
    let (mut error, options) = (Place::new(), rocksdb_writeoptions_create());
    let ((key, keylen), (value, len)) = (bytes(key), bytes(value));
    rocksdb_put(
        Some(db),
        options.as_deref(),
        key,
        keylen,
        value,
        len,
        error.errptr(),
    );
    error.take()
}

#[test]
fn the_header_is_as_it_is_written_from_the_functions() {
    let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../scripts/c-header");
    let status = Command::new(script).arg("--check").status().unwrap();
    assert!(status.success());
}

#[test]
fn null_handles_are_errors() {
    let mut error = Place::new();
    assert!(rocksdb_open(None, Text::testing(c"nowhere"), error.errptr()).is_none());
    assert_eq!(
        error.take().as_deref(),
        Some("Invalid argument: a handle is null")
    );
    assert_eq!(rocksdb_iter_valid(None), 0);
    rocksdb_close(None);
    rocksdb_iter_destroy(None);
}

#[test]
fn panics_end_at_the_border() {
    let mut error = Place::new();
    let fail = |errptr: ErrPtr| errptr.run(|| -> crate::border::Result<u8> { panic!("oh no") });
    assert_eq!(fail(error.errptr()), 0);
    assert_eq!(
        error.take().as_deref(),
        Some("Operation aborted: panic: oh no")
    );
    assert_eq!(guard(|| -> u64 { panic!("oh no") }), 0);
}

#[test]
fn destructors_run_once_when_nothing_uses_the_functions() {
    static DESTROYED: AtomicUsize = AtomicUsize::new(0);
    extern "C" fn destroy(_: State) {
        DESTROYED.fetch_add(1, Ordering::SeqCst);
    }
    extern "C" fn name(_: State) -> Text {
        Text::testing(c"reversed")
    }
    extern "C" fn compare(
        _: State,
        a: *const libc::c_char,
        _: usize,
        b: *const libc::c_char,
        _: usize,
    ) -> libc::c_int {
        // The keys of this test have one byte.
        // SAFETY: it is passed a key of one byte.
        let a = unsafe { *a };
        // SAFETY: as above.
        let b = unsafe { *b };
        i32::from(b) - i32::from(a)
    }

    let dir = tempfile::tempdir().unwrap();
    let comparator =
        rocksdb_comparator_create(State::testing(), Some(destroy), Some(compare), Some(name));
    let mut options = creating();
    rocksdb_options_set_comparator(Some(&mut options), comparator.as_deref());
    let db = open(&options, dir.path());
    rocksdb_comparator_destroy(comparator);
    rocksdb_options_destroy(Some(options));
    assert_eq!((put(db, "a", "1"), put(db, "b", "2")), (None, None));
    let reads = rocksdb_readoptions_create();
    let mut iter = rocksdb_create_iterator(Some(db), reads.as_deref());
    rocksdb_iter_seek_to_first(iter.as_deref_mut());
    let mut len = 0;
    let key = rocksdb_iter_key(iter.as_deref(), Out::testing(&mut len));
    // SAFETY: the iterator stands on a key of one byte.
    assert_eq!(unsafe { *key } as u8, b'b');
    rocksdb_iter_destroy(iter);
    assert_eq!(DESTROYED.load(Ordering::SeqCst), 0);
    rocksdb_close(Some(db));
    assert_eq!(DESTROYED.load(Ordering::SeqCst), 1);
}

#[test]
fn options_are_read_back_as_they_were_set() {
    let mut options = creating();
    assert_eq!(rocksdb_options_get_create_if_missing(Some(&options)), 1);
    assert_eq!(
        rocksdb_options_get_write_buffer_size(Some(&options)),
        64 << 20
    );
    rocksdb_options_set_write_buffer_size(Some(&mut options), 1 << 20);
    rocksdb_options_set_compression(Some(&mut options), 7);
    let copy = rocksdb_options_create_copy(Some(&options)).unwrap();
    rocksdb_options_set_compression(Some(&mut options), 4);
    assert_eq!(rocksdb_options_get_write_buffer_size(Some(&copy)), 1 << 20);
    assert_eq!(rocksdb_options_get_compression(Some(&copy)), 7);
    assert_eq!(rocksdb_options_get_compression(Some(&options)), 4);
    assert_eq!(rocksdb_options_get_write_buffer_size(None), 0);
}

#[test]
fn an_option_that_is_not_built_is_refused_at_open_by_its_name() {
    let dir = tempfile::tempdir().unwrap();
    let (mut options, mut error) = (creating(), Place::new());
    let mut table = rocksdb_block_based_options_create().unwrap();
    rocksdb_block_based_options_set_use_delta_encoding(Some(&mut table), 0);
    rocksdb_options_set_block_based_table_factory(Some(&mut options), Some(&table));
    assert!(rocksdb_open(Some(&options), path(dir.path()), error.errptr()).is_none());
    let refusal = "Not implemented: option use_delta_encoding";
    assert_eq!(error.take().as_deref(), Some(refusal));
}

#[test]
fn a_rate_limiter_has_any_of_the_three_modes_and_no_other() {
    for mode in [0, 1, 2, 3, -1] {
        let dir = tempfile::tempdir().unwrap();
        let (mut options, mut error) = (creating(), Place::new());
        let limiter = rocksdb_ratelimiter_create_with_mode(1 << 30, 100_000, 10, mode, mode == 2);
        rocksdb_options_set_ratelimiter(Some(&mut options), limiter.as_deref());
        rocksdb_ratelimiter_destroy(limiter);
        let db = rocksdb_open(Some(&options), path(dir.path()), error.errptr());
        let refusal = format!("Invalid argument: option rate_limiter: mode {mode}");
        let expected = (!(0..=2).contains(&mode)).then_some(refusal);
        assert_eq!(error.take(), expected);
        assert_eq!(db.is_some(), expected.is_none());
        rocksdb_close(db.map(|db| &*Box::leak(db)));
    }
}
