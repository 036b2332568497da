//! Wide columns.

use super::{bytes, creating, open, path, put};
use crate::border::testing::Place;
use crate::border::{Bytes, ErrPtr, List, Out, Text};
use crate::db::rocksdb_t;
use crate::exports::testing::*;
use crate::families::rocksdb_column_family_handle_t;
use crate::options::testing::*;
use libc::c_char;

type Column = (&'static str, &'static str);

const RIVER: [Column; 3] = [("source", "glacier"), ("", "white"), ("length", "61")];
const SORTED: [Column; 3] = [("", "white"), ("length", "61"), ("source", "glacier")];

/// A list of strings, as C passes it.
fn list(texts: impl Iterator<Item = &'static str>) -> (List<Bytes>, List<usize>) {
    let (texts, lengths): (Vec<_>, Vec<_>) = texts.map(bytes).unzip();
    (List::testing(texts.leak()), List::testing(lengths.leak()))
}

fn put_entity(
    db: Option<&rocksdb_t>,
    handle: Option<&rocksdb_column_family_handle_t>,
    columns: &[Column],
) -> Option<String> {
    let (mut error, writes, (key, keylen)) =
        (Place::new(), rocksdb_writeoptions_create(), bytes("river"));
    let (names, name_lengths) = list(columns.iter().map(|(name, _)| *name));
    let (values, value_lengths) = list(columns.iter().map(|(_, value)| *value));
    rocksdb_put_entity_cf(
        db,
        writes.as_deref(),
        handle,
        key,
        keylen,
        columns.len(),
        names,
        name_lengths,
        values,
        value_lengths,
        error.errptr(),
    );
    error.take()
}

fn get_entity(
    db: Option<&rocksdb_t>,
    handle: Option<&rocksdb_column_family_handle_t>,
    key: &'static str,
    errptr: ErrPtr,
) -> Option<Box<rocksdb_pinnablewidecolumns_t>> {
    let (reads, (key, keylen)) = (rocksdb_readoptions_create(), bytes(key));
    rocksdb_get_entity_cf(db, reads.as_deref(), handle, key, keylen, errptr)
}

/// What a function lends; null is `None`.
fn lent(lend: impl FnOnce(Out<usize>) -> *const c_char) -> Option<String> {
    let mut len = 7;
    let text = lend(Out::testing(&mut len));
    assert!(!text.is_null() || len == 0);
    let text = Bytes::at(text).given(len)?;
    Some(String::from_utf8(text.to_vec()).unwrap())
}

fn pinned(columns: Option<&rocksdb_pinnablewidecolumns_t>) -> Vec<(String, String)> {
    let column = |n| {
        let name = lent(|len| rocksdb_pinnablewidecolumns_name(columns, n, len));
        name.zip(lent(|len| {
            rocksdb_pinnablewidecolumns_value(columns, n, len)
        }))
    };
    let size = rocksdb_pinnablewidecolumns_size(columns);
    assert_eq!(column(size), None, "there is none behind the last");
    (0..size).map(|n| column(n).unwrap()).collect()
}

fn of_iterator(columns: Option<&rocksdb_widecolumns_t>) -> Vec<(String, String)> {
    let column = |n| {
        let name = lent(|len| rocksdb_widecolumns_name(columns, n, len));
        name.zip(lent(|len| rocksdb_widecolumns_value(columns, n, len)))
    };
    let size = rocksdb_widecolumns_size(columns);
    assert_eq!(column(size), None, "there is none behind the last");
    (0..size).map(|n| column(n).unwrap()).collect()
}

fn owned(columns: &[Column]) -> Vec<(String, String)> {
    let columns = columns.iter();
    columns
        .map(|(n, v)| (n.to_string(), v.to_string()))
        .collect()
}

#[test]
fn an_entity_is_read_with_its_columns_in_the_order_of_their_names() {
    let (dir, mut error) = (tempfile::tempdir().unwrap(), Place::new());
    let (options, family) = (creating(), Text::testing(c"rivers"));
    let db = Some(open(&options, dir.path()));
    let rivers = rocksdb_create_column_family(db, Some(&options), family, error.errptr());
    let default = rocksdb_get_default_column_family_handle(db);
    assert_eq!(put_entity(db, rivers.as_deref(), &RIVER), None);
    assert_eq!(put_entity(db, default.as_deref(), &[]), None);
    let found = get_entity(db, rivers.as_deref(), "river", error.errptr());
    assert_eq!(pinned(found.as_deref()), owned(&SORTED));
    rocksdb_pinnablewidecolumns_destroy(found);
    let found = get_entity(db, default.as_deref(), "river", error.errptr());
    assert!(found.is_some(), "an entity may have no columns");
    assert_eq!(pinned(found.as_deref()), []);
    rocksdb_close(db);
    assert_eq!(error.take(), None);
}

#[test]
fn a_plain_value_is_a_column_without_a_name() {
    let (dir, mut error) = (tempfile::tempdir().unwrap(), Place::new());
    let db = open(&creating(), dir.path());
    assert_eq!(put(db, "brook", "clear"), None);
    let default = rocksdb_get_default_column_family_handle(Some(db));
    let found = get_entity(Some(db), default.as_deref(), "brook", error.errptr());
    assert_eq!(pinned(found.as_deref()), owned(&[("", "clear")]));
    rocksdb_close(Some(db));
}

#[test]
fn an_entity_that_is_not_there_is_an_error() {
    let (dir, mut error) = (tempfile::tempdir().unwrap(), Place::new());
    let db = Some(open(&creating(), dir.path()));
    let default = rocksdb_get_default_column_family_handle(db);
    assert!(get_entity(db, default.as_deref(), "lake", error.errptr()).is_none());
    assert_eq!(error.take().as_deref(), Some("NotFound: "));
    rocksdb_close(db);
}

#[test]
fn a_batch_writes_an_entity_and_goes_on_after_one_that_it_refuses() {
    let (dir, mut error) = (tempfile::tempdir().unwrap(), Place::new());
    let db = Some(open(&creating(), dir.path()));
    let default = rocksdb_get_default_column_family_handle(db);
    let mut batch = rocksdb_writebatch_create();
    let mut put = |columns: &'static [Column], error: &mut Place| {
        let (key, keylen) = bytes("river");
        let (names, name_lengths) = list(columns.iter().map(|(name, _)| *name));
        let (values, value_lengths) = list(columns.iter().map(|(_, value)| *value));
        rocksdb_writebatch_put_entity_cf(
            batch.as_deref_mut(),
            default.as_deref(),
            key,
            keylen,
            columns.len(),
            names,
            name_lengths,
            values,
            value_lengths,
            error.errptr(),
        );
        error.take()
    };
    assert_eq!(put(&RIVER, &mut error), None);
    let refusal = "Corruption: Wide columns out of order";
    let twice = put(&[("depth", "4"), ("depth", "5")], &mut error);
    assert_eq!(twice.as_deref(), Some(refusal));
    let writes = rocksdb_writeoptions_create();
    rocksdb_write(db, writes.as_deref(), batch.as_deref(), error.errptr());
    assert_eq!(error.take(), None);
    let found = get_entity(db, default.as_deref(), "river", error.errptr());
    assert_eq!(pinned(found.as_deref()), owned(&SORTED));
    rocksdb_close(db);
}

#[test]
fn columns_of_an_iterator_stay_when_it_moves_and_goes() {
    let (dir, mut error) = (tempfile::tempdir().unwrap(), Place::new());
    let db = open(&creating(), dir.path());
    let default = rocksdb_get_default_column_family_handle(Some(db));
    assert_eq!(put(db, "brook", "clear"), None);
    assert_eq!(put_entity(Some(db), default.as_deref(), &RIVER), None);
    let reads = rocksdb_readoptions_create();
    let mut iter = rocksdb_create_iterator(Some(db), reads.as_deref());
    assert!(
        rocksdb_iter_columns(iter.as_deref()).is_none(),
        "it stands nowhere"
    );
    rocksdb_iter_seek_to_first(iter.as_deref_mut());
    let plain = rocksdb_iter_columns(iter.as_deref());
    rocksdb_iter_next(iter.as_deref_mut());
    let entity = rocksdb_iter_columns(iter.as_deref());
    rocksdb_iter_get_error(iter.as_deref(), error.errptr());
    rocksdb_iter_destroy(iter);
    rocksdb_close(Some(db));
    assert_eq!(of_iterator(plain.as_deref()), owned(&[("", "clear")]));
    assert_eq!(of_iterator(entity.as_deref()), owned(&SORTED));
    rocksdb_widecolumns_destroy(plain);
    rocksdb_widecolumns_destroy(entity);
    assert_eq!(error.take(), None);
}

#[test]
fn columns_keep_their_database_open() {
    let (dir, mut error) = (tempfile::tempdir().unwrap(), Place::new());
    let db = Some(open(&creating(), dir.path()));
    let default = rocksdb_get_default_column_family_handle(db);
    assert_eq!(put_entity(db, default.as_deref(), &RIVER), None);
    let found = get_entity(db, default.as_deref(), "river", error.errptr());
    rocksdb_close(db);
    assert_eq!(pinned(found.as_deref()), owned(&SORTED));
    let closed = "Operation aborted: the database is closed";
    assert_eq!(
        put_entity(db, default.as_deref(), &RIVER).as_deref(),
        Some(closed)
    );
    assert!(get_entity(db, default.as_deref(), "river", error.errptr()).is_none());
    assert_eq!(error.take().as_deref(), Some(closed));
    // Another one can be opened there only when all is given back.
    assert!(rocksdb_open(Some(&creating()), path(dir.path()), error.errptr()).is_none());
    assert!(error.take().unwrap().contains("lock"));
    rocksdb_pinnablewidecolumns_destroy(found);
    rocksdb_close(Some(open(&creating(), dir.path())));
}

#[test]
fn null_handles_and_lists_of_columns_are_errors() {
    let (dir, mut error) = (tempfile::tempdir().unwrap(), Place::new());
    let db = Some(open(&creating(), dir.path()));
    let default = rocksdb_get_default_column_family_handle(db);
    let null = "Invalid argument: a handle is null";
    assert_eq!(
        put_entity(None, default.as_deref(), &RIVER).as_deref(),
        Some(null)
    );
    assert_eq!(put_entity(db, None, &RIVER).as_deref(), Some(null));
    let twice = put_entity(
        db,
        default.as_deref(),
        &[("a", "1"), ("b", "2"), ("a", "3")],
    );
    assert_eq!(
        twice.as_deref(),
        Some("Corruption: Wide columns out of order")
    );
    assert!(get_entity(db, None, "river", error.errptr()).is_none());
    assert_eq!(error.take().as_deref(), Some(null));

    let (writes, (key, keylen)) = (rocksdb_writeoptions_create(), bytes("river"));
    let (names, lengths) = list(["length"].into_iter());
    let (writes, handle) = (writes.as_deref(), default.as_deref());
    let (none, place) = (List::null(), error.errptr());
    rocksdb_put_entity_cf(
        db, writes, handle, key, keylen, 1, names, lengths, none, lengths, place,
    );
    let refusal = "Invalid argument: a list of columns is null";
    assert_eq!(error.take().as_deref(), Some(refusal));
    rocksdb_writebatch_put_entity_cf(
        None,
        handle,
        key,
        keylen,
        1,
        names,
        lengths,
        names,
        lengths,
        error.errptr(),
    );
    assert_eq!(error.take().as_deref(), Some(null));
    assert_eq!((pinned(None), of_iterator(None)), (vec![], vec![]));
    assert!(rocksdb_iter_columns(None).is_none());
    rocksdb_pinnablewidecolumns_destroy(None);
    rocksdb_widecolumns_destroy(None);
    rocksdb_close(db);
}
