//! Look-ups that return timestamps: what an iterator finds at the key.

use super::reads::read_options;
use crate::border::{Bytes, ErrPtr, List, Out, Result, exports, optional, outcome, strings};
use crate::db::{on_db, open, rocksdb_t};
use crate::families::{family, rocksdb_column_family_handle_t};
use crate::options::rocksdb_readoptions_t;
use libc::c_char;
use whitewater::{ColumnFamilyHandle, Error};

type Db<'a> = Option<&'a rocksdb_t>;
type Handle<'a> = Option<&'a rocksdb_column_family_handle_t>;
type Options<'a> = Option<&'a rocksdb_readoptions_t>;

/// A value and its timestamp.
type Stamped = (Vec<u8>, Vec<u8>);

fn find(
    db: Db<'_>,
    options: Options<'_>,
    family: Option<&ColumnFamilyHandle>,
    key: &[u8],
) -> Result<Option<Stamped>> {
    let (db, mut options) = (open(db)?, read_options(options)?.duplicate());
    options.reset_bounds(None, None);
    options.set_total_order_seek(true);
    on_db!(db, db => {
        let mut iter = match family {
            None => db.raw_iterator_opt(options),
            Some(family) => db.raw_iterator_cf_opt(family, options),
        };
        iter.seek(key);
        iter.status()?;
        let Some(value) = iter.value().filter(|_| iter.key() == Some(key)) else {
            return Ok(None);
        };
        let stamp = iter.timestamp().ok_or_else(|| {
            Error::new(whitewater::ErrorKind::InvalidArgument, "keys have no timestamps")
        })?;
        Ok(Some((value.to_vec(), stamp.to_vec())))
    })
}

fn get(
    found: impl FnOnce() -> Result<Option<Stamped>>,
    len: Out<usize>,
    (ts, tslen): (Out<*mut c_char>, Out<usize>),
    errptr: ErrPtr,
) -> *mut c_char {
    len.set(0);
    ts.set(std::ptr::null_mut());
    tslen.set(0);
    errptr.run(|| {
        let (value, stamp) = found()?.unzip();
        if stamp.is_some() {
            ts.set(optional(stamp, tslen));
        }
        Ok(optional(value, len))
    })
}

/// Where look-ups of several keys leave what they have found.
#[derive(Clone, Copy)]
struct Places {
    values: Out<*mut c_char>,
    lengths: Out<usize>,
    stamps: Out<*mut c_char>,
    stamp_lengths: Out<usize>,
    errs: Out<*mut c_char>,
}

impl Places {
    fn put(self, at: usize, found: Result<Option<Stamped>>) {
        let (value, stamp) = outcome(self.errs, at, found).unzip();
        self.lengths.set_at(at, value.as_ref().map_or(0, Vec::len));
        self.stamp_lengths
            .set_at(at, stamp.as_ref().map_or(0, Vec::len));
        self.values.set_at(at, optional(value, Out::none()));
        self.stamps.set_at(at, optional(stamp, Out::none()));
    }
}

exports! {
    fn rocksdb_get_with_ts(
        db: Db<'_>, options: Options<'_>, key: Bytes, keylen: usize, len: Out<usize>,
        ts: Out<*mut c_char>, tslen: Out<usize>, errptr: ErrPtr,
    ) -> *mut c_char {
        get(|| find(db, options, None, key.of(keylen)), len, (ts, tslen), errptr)
    }
    fn rocksdb_get_cf_with_ts(
        db: Db<'_>, options: Options<'_>, handle: Handle<'_>, key: Bytes, keylen: usize,
        len: Out<usize>, ts: Out<*mut c_char>, tslen: Out<usize>, errptr: ErrPtr,
    ) -> *mut c_char {
        let found = || find(db, options, Some(family(handle)?), key.of(keylen));
        get(found, len, (ts, tslen), errptr)
    }
    fn rocksdb_multi_get_with_ts(
        db: Db<'_>, options: Options<'_>, num: usize, keys: List<Bytes>, lengths: List<usize>,
        values: Out<*mut c_char>, value_lengths: Out<usize>, ts: Out<*mut c_char>,
        ts_lengths: Out<usize>, errs: Out<*mut c_char>,
    ) {
        let (lens, stamps) = (value_lengths, ts);
        let places = Places { values, lengths: lens, stamps, stamp_lengths: ts_lengths, errs };
        for (at, key) in strings(keys, lengths, num).enumerate() {
            places.put(at, find(db, options, None, key));
        }
    }
    fn rocksdb_multi_get_cf_with_ts(
        db: Db<'_>, options: Options<'_>, families: List<Handle<'static>>, num: usize,
        keys: List<Bytes>, lengths: List<usize>, values: Out<*mut c_char>,
        value_lengths: Out<usize>, ts: Out<*mut c_char>, ts_lengths: Out<usize>,
        errs: Out<*mut c_char>,
    ) {
        let (lens, stamps) = (value_lengths, ts);
        let places = Places { values, lengths: lens, stamps, stamp_lengths: ts_lengths, errs };
        let handles = families.of(num).iter();
        for (at, (handle, key)) in handles.zip(strings(keys, lengths, num)).enumerate() {
            let found = family(*handle).and_then(|cf| find(db, options, Some(cf), key));
            places.put(at, found);
        }
    }
}
