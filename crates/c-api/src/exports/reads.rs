//! Look-ups.

use crate::border::{
    Bytes, ErrPtr, List, Out, Result, copied, exports, given, lent, optional, outcome, strings,
};
use crate::db::{Db, on_db, open, rocksdb_t};
use crate::families::{family, rocksdb_column_family_handle_t};
use crate::held::Held;
use crate::options::rocksdb_readoptions_t;
use libc::c_char;
use std::sync::Arc;
use whitewater::{DBPinnableSlice, ReadOptions};

/// A value. One that was read from a database keeps that open.
pub struct rocksdb_pinnableslice_t(Value);

enum Value {
    Pinned(Held<DBPinnableSlice<'static>>),
    Copied(Vec<u8>),
}

impl rocksdb_pinnableslice_t {
    pub(crate) fn copied(value: Vec<u8>) -> Self {
        rocksdb_pinnableslice_t(Value::Copied(value))
    }

    pub(crate) fn bytes(&self) -> &[u8] {
        match &self.0 {
            Value::Pinned(value) => value.get(),
            Value::Copied(value) => value,
        }
    }
}

type Handle<'a> = Option<&'a rocksdb_column_family_handle_t>;
type Options<'a> = Option<&'a rocksdb_readoptions_t>;

pub(crate) fn read_options(options: Options<'_>) -> Result<&ReadOptions> {
    given(options)?.options.checked()
}

/// A value that is there, held.
pub(crate) fn pinned<O: std::any::Any>(
    owner: &Arc<O>,
    get: impl FnOnce(&'static O) -> Result<Option<DBPinnableSlice<'static>>>,
) -> Result<Option<Box<rocksdb_pinnableslice_t>>> {
    let found = Held::try_new(owner, |owner| match get(owner) {
        Ok(Some(value)) => Ok(value),
        Ok(None) => Err(None),
        Err(e) => Err(Some(e)),
    });
    match found {
        Ok(value) => Ok(Some(Box::new(rocksdb_pinnableslice_t(Value::Pinned(
            value,
        ))))),
        Err(None) => Ok(None),
        Err(Some(e)) => Err(e),
    }
}

/// Puts what look-ups have found into lists.
pub(crate) fn put_values(
    found: Vec<Result<Option<Vec<u8>>>>,
    values: Out<*mut c_char>,
    lengths: Out<usize>,
    errs: Out<*mut c_char>,
) {
    for (at, found) in found.into_iter().enumerate() {
        let value = outcome(errs, at, found);
        lengths.set_at(at, value.as_ref().map_or(0, Vec::len));
        values.set_at(at, optional(value, Out::none()));
    }
}

/// The same failure for each of `len` look-ups.
pub(crate) fn all_fail(len: usize, e: &whitewater::Error) -> Vec<Result<Option<Vec<u8>>>> {
    vec![Err(e.clone()); len]
}

/// Column families beside keys.
pub(crate) fn with_families<'a>(
    families: List<Handle<'static>>,
    keys: impl ExactSizeIterator<Item = &'a [u8]>,
) -> Result<Vec<(&'a whitewater::ColumnFamilyHandle, &'a [u8])>> {
    let families = families.of::<'a>(keys.len()).iter();
    families
        .zip(keys)
        .map(|(handle, key)| Ok((family(*handle)?, key)))
        .collect()
}

/// Whether a key may exist; a value that is known is copied. It may if it cannot be looked for.
fn may_exist(
    db: Option<&rocksdb_t>,
    options: Options<'_>,
    handle: Option<Handle<'_>>,
    key: &[u8],
    (value, len, found): (Out<*mut c_char>, Out<usize>, Out<u8>),
) -> u8 {
    found.set(0);
    let (Ok(db), Ok(options)) = (open(db), read_options(options)) else {
        return 1;
    };
    let (exists, known) = on_db!(db, db => match handle {
        None => db.key_may_exist_cf_opt_value(&db.default_family(), key, options),
        Some(handle) => match family(handle) {
            Ok(family) => db.key_may_exist_cf_opt_value(family, key, options),
            Err(_) => return 1,
        },
    });
    // As in RocksDB, the value of a key that surely does not exist is known, too: none.
    let known = known.as_ref().map(AsRef::as_ref);
    if let Some(known) = known.or((!exists).then_some(&[][..])) {
        found.set(1);
        len.set(known.len());
        if !value.is_none() {
            value.set(copied(known));
        }
    }
    exists.into()
}

exports! {
    fn rocksdb_get(
        db: Option<&rocksdb_t>, options: Options<'_>, key: Bytes, keylen: usize, len: Out<usize>,
        errptr: ErrPtr,
    ) -> *mut c_char {
        len.set(0);
        errptr.run(|| {
            let (db, options) = (open(db)?, read_options(options)?);
            Ok(optional(on_db!(db, db => db.get_pinned_opt(key.of(keylen), options))?, len))
        })
    }
    fn rocksdb_get_cf(
        db: Option<&rocksdb_t>, options: Options<'_>, handle: Handle<'_>, key: Bytes,
        keylen: usize, len: Out<usize>, errptr: ErrPtr,
    ) -> *mut c_char {
        len.set(0);
        errptr.run(|| {
            let (db, options, family) = (open(db)?, read_options(options)?, family(handle)?);
            let key = key.of(keylen);
            Ok(optional(on_db!(db, db => db.get_pinned_cf_opt(family, key, options))?, len))
        })
    }
    fn rocksdb_get_pinned(
        db: Option<&rocksdb_t>, options: Options<'_>, key: Bytes, keylen: usize, errptr: ErrPtr,
    ) -> Option<Box<rocksdb_pinnableslice_t>> {
        errptr.run(|| {
            let (db, options, key) = (open(db)?, read_options(options)?, key.of(keylen));
            pinned(&*db, |db: &'static Db| on_db!(&db, db => db.get_pinned_opt(key, options)))
        })
    }
    fn rocksdb_get_pinned_cf(
        db: Option<&rocksdb_t>, options: Options<'_>, handle: Handle<'_>, key: Bytes,
        keylen: usize, errptr: ErrPtr,
    ) -> Option<Box<rocksdb_pinnableslice_t>> {
        errptr.run(|| {
            let (db, options, family) = (open(db)?, read_options(options)?, family(handle)?);
            let key = key.of(keylen);
            pinned(&*db, |db: &'static Db| {
                on_db!(&db, db => db.get_pinned_cf_opt(family, key, options))
            })
        })
    }
    fn rocksdb_pinnableslice_destroy(_value: Option<Box<rocksdb_pinnableslice_t>>) {}
    fn rocksdb_pinnableslice_value(
        value: Option<&rocksdb_pinnableslice_t>, len: Out<usize>,
    ) -> *const c_char {
        lent(value.map(rocksdb_pinnableslice_t::bytes), len)
    }
    fn rocksdb_multi_get(
        db: Option<&rocksdb_t>, options: Options<'_>, num: usize, keys: List<Bytes>,
        lengths: List<usize>, values: Out<*mut c_char>, value_lengths: Out<usize>,
        errs: Out<*mut c_char>,
    ) {
        let get = || {
            let (db, options) = (open(db)?, read_options(options)?);
            let keys = strings(keys, lengths, num);
            Ok(on_db!(db, db => db.multi_get_opt(keys, options)))
        };
        let found = get().unwrap_or_else(|e| all_fail(num, &e));
        put_values(found, values, value_lengths, errs);
    }
    fn rocksdb_multi_get_cf(
        db: Option<&rocksdb_t>, options: Options<'_>, families: List<Handle<'static>>, num: usize,
        keys: List<Bytes>, lengths: List<usize>, values: Out<*mut c_char>,
        value_lengths: Out<usize>, errs: Out<*mut c_char>,
    ) {
        let get = || {
            let (db, options) = (open(db)?, read_options(options)?);
            let keys = with_families(families, strings(keys, lengths, num))?;
            Ok(on_db!(db, db => db.multi_get_cf_opt(keys, options)))
        };
        let found = get().unwrap_or_else(|e| all_fail(num, &e));
        put_values(found, values, value_lengths, errs);
    }
    fn rocksdb_batched_multi_get_cf(
        db: Option<&rocksdb_t>, options: Options<'_>, handle: Handle<'_>, num: usize,
        keys: List<Bytes>, lengths: List<usize>,
        values: Out<Option<Box<rocksdb_pinnableslice_t>>>, errs: Out<*mut c_char>, _sorted: bool,
    ) {
        for (at, key) in strings(keys, lengths, num).enumerate() {
            let get = || {
                let (db, options, family) = (open(db)?, read_options(options)?, family(handle)?);
                pinned(&*db, |db: &'static Db| {
                    on_db!(&db, db => db.get_pinned_cf_opt(family, key, options))
                })
            };
            values.set_at(at, outcome(errs, at, get()));
        }
    }
    fn rocksdb_key_may_exist(
        db: Option<&rocksdb_t>, options: Options<'_>, key: Bytes, keylen: usize,
        value: Out<*mut c_char>, len: Out<usize>, _ts: Bytes, _ts_len: usize, found: Out<u8>,
    ) -> u8 {
        may_exist(db, options, None, key.of(keylen), (value, len, found))
    }
    fn rocksdb_key_may_exist_cf(
        db: Option<&rocksdb_t>, options: Options<'_>, handle: Handle<'_>, key: Bytes,
        keylen: usize, value: Out<*mut c_char>, len: Out<usize>, _ts: Bytes, _ts_len: usize,
        found: Out<u8>,
    ) -> u8 {
        may_exist(db, options, Some(handle), key.of(keylen), (value, len, found))
    }
}
