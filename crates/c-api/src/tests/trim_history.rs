//! Opening a database as of a time.

use super::{bytes, creating, path};
use crate::border::testing::Place;
use crate::border::{List, Out, Text};
use crate::db::rocksdb_t;
use crate::exports::testing::*;
use crate::families::rocksdb_column_family_handle_t;
use crate::options::rocksdb_options_t;
use crate::options::testing::*;
use std::path::Path;

/// A timestamp of eight bytes in the order of `rocksdb.BytewiseComparator.u64ts`.
const TIMES: [&str; 10] = [
    "\0\0\0\0\0\0\0\0",
    "\u{1}\0\0\0\0\0\0\0",
    "\u{2}\0\0\0\0\0\0\0",
    "\u{3}\0\0\0\0\0\0\0",
    "\u{4}\0\0\0\0\0\0\0",
    "\u{5}\0\0\0\0\0\0\0",
    "\u{6}\0\0\0\0\0\0\0",
    "\u{7}\0\0\0\0\0\0\0",
    "\u{8}\0\0\0\0\0\0\0",
    "\u{9}\0\0\0\0\0\0\0",
];

type Handle = Box<rocksdb_column_family_handle_t>;

/// Opens the database in `dir` as of `time`.
fn trim(dir: &Path, time: &'static str) -> Result<(&'static rocksdb_t, Handle), String> {
    let mut options = creating();
    options.options.set_u64_timestamp_comparator();
    let options: &'static rocksdb_options_t = Box::leak(options);
    let names: &'static [Text] = Box::leak(vec![Text::testing(c"default")].into());
    let all: &'static [Option<&rocksdb_options_t>] = Box::leak(vec![Some(options)].into());
    let (mut error, mut handle) = (Place::new(), None);
    let (ts, tslen) = bytes(time);
    let db = rocksdb_open_and_trim_history(
        Some(options),
        path(dir),
        1,
        List::testing(names),
        List::testing(all),
        Out::testing(&mut handle),
        ts,
        tslen,
        error.errptr(),
    );
    match error.take() {
        Some(error) => Err(error),
        None => Ok((Box::leak(db.unwrap()), handle.unwrap())),
    }
}

fn put(db: &rocksdb_t, handle: &Handle, time: usize, value: &'static str) {
    let (mut error, options) = (Place::new(), rocksdb_writeoptions_create());
    let ((key, keylen), (ts, tslen), (value, len)) =
        (bytes("key"), bytes(TIMES[time]), bytes(value));
    rocksdb_put_cf_with_ts(
        Some(db),
        options.as_deref(),
        Some(handle),
        key,
        keylen,
        ts,
        tslen,
        value,
        len,
        error.errptr(),
    );
    assert_eq!(error.take(), None);
}

/// The length of the newest value.
fn newest(db: &rocksdb_t, handle: &Handle) -> usize {
    let (mut error, mut options) = (Place::new(), rocksdb_readoptions_create());
    let ((key, keylen), (ts, tslen)) = (bytes("key"), bytes(TIMES[9]));
    rocksdb_readoptions_set_timestamp(options.as_deref_mut(), ts, tslen);
    let mut len = 0;
    let value = rocksdb_get_cf(
        Some(db),
        options.as_deref(),
        Some(handle),
        key,
        keylen,
        Out::testing(&mut len),
        error.errptr(),
    );
    assert_eq!(error.take(), None);
    assert!(!value.is_null());
    len
}

#[test]
fn what_is_newer_than_the_time_is_gone() {
    let dir = tempfile::tempdir().unwrap();
    let (db, handle) = trim(dir.path(), TIMES[9]).unwrap();
    put(db, &handle, 3, "blue");
    put(db, &handle, 7, "yellow");
    assert_eq!(newest(db, &handle), "yellow".len());
    rocksdb_column_family_handle_destroy(Some(handle));
    rocksdb_close(Some(db));

    let error = trim(dir.path(), "short").err().unwrap();
    assert!(error.contains("trim_ts has 5 bytes"), "{error}");
    let (db, handle) = trim(dir.path(), TIMES[7]).unwrap();
    assert_eq!(newest(db, &handle), "yellow".len());
    rocksdb_column_family_handle_destroy(Some(handle));
    rocksdb_close(Some(db));

    let (db, handle) = trim(dir.path(), TIMES[6]).unwrap();
    assert_eq!(newest(db, &handle), "blue".len());
    rocksdb_column_family_handle_destroy(Some(handle));
    rocksdb_close(Some(db));
}
