//! Databases with pessimistic transactions.

use super::batches::rocksdb_writebatch_t;
use super::iterator;
use super::reads::{
    all_fail, pinned, put_values, read_options, rocksdb_pinnableslice_t, with_families,
};
use super::writes::write_options;
use super::{family_list, put_handles};
use crate::border::{
    Bytes, ErrPtr, List, Out, Result, Text, array, error, exports, given, optional, strings,
};
use crate::db::{Db, Open, Opening, Pessimistic, open, rocksdb_t, rocksdb_transactiondb_t};
use crate::families::{family, rocksdb_column_family_handle_t};
use crate::held::Held;
use crate::iterator::{Cursor, rocksdb_iterator_t};
use crate::options::values::{Built, fields, made};
use crate::options::{rocksdb_options_t, rocksdb_readoptions_t, rocksdb_writeoptions_t};
use crate::transaction::{Txn, begin_pessimistic, rocksdb_transaction_t, shared};
use libc::c_char;
use std::ptr;
use whitewater::{ErrorKind, TransactionDBOptions, TransactionOptions, WriteBatchWithTransaction};

pub type rocksdb_transactiondb_options_t = Built<TransactionDBOptions>;
pub type rocksdb_transaction_options_t = Built<TransactionOptions>;

type Database<'a> = Option<&'a rocksdb_transactiondb_t>;
type Handle<'a> = Option<&'a rocksdb_column_family_handle_t>;
type Reads<'a> = Option<&'a rocksdb_readoptions_t>;
type Writes<'a> = Option<&'a rocksdb_writeoptions_t>;

/// The database with its transactions.
fn locking(db: &Open) -> Result<&Pessimistic> {
    of(db)
}

fn of(db: &Db) -> Result<&Pessimistic> {
    match db {
        Db::Pessimistic(db) => Ok(db),
        _ => Err(error(
            ErrorKind::InvalidArgument,
            "not a database with pessimistic transactions",
        )),
    }
}

fn create(
    db: Database<'_>,
    options: Reads<'_>,
    handle: Option<Handle<'_>>,
) -> Result<Option<Box<rocksdb_iterator_t>>> {
    let (db, options) = (open(db)?, read_options(options)?.duplicate());
    let family = handle.map(family).transpose()?;
    let cursor = Held::try_new(&*db, |db: &'static Db| {
        let cursor: Box<dyn Cursor> = match family {
            None => Box::new(of(db)?.raw_iterator_opt(options)),
            Some(family) => Box::new(of(db)?.raw_iterator_cf_opt(family, options)),
        };
        Ok::<_, whitewater::Error>(cursor)
    })?;
    Ok(Some(iterator(cursor)))
}

/// The transactions that were prepared, and not decided, when the database was opened.
#[expect(clippy::vec_box, reason = "C gets the boxes")]
fn prepared(db: Database<'_>) -> Result<Vec<Box<rocksdb_transaction_t>>> {
    let db = open(db)?;
    let left = Held::try_new(&*db, |db: &'static Db| {
        Ok::<_, whitewater::Error>(of(db)?.prepared_transactions())
    })?;
    let owned = left.split(|txn| shared(txn.map(Txn::Pessimistic)));
    Ok(owned
        .map(|txn| Box::new(rocksdb_transaction_t::new(txn)))
        .collect())
}

made! {
    rocksdb_transactiondb_options_t = Built::default(), rocksdb_transactiondb_options_create,
        rocksdb_transactiondb_options_destroy;
    rocksdb_transaction_options_t = Built::default(), rocksdb_transaction_options_create,
        rocksdb_transaction_options_destroy;
}

fields! { rocksdb_transactiondb_options_t {
    "max_num_locks": i64 = -1, |o, v| o.set_max_num_locks(v),
        set rocksdb_transactiondb_options_set_max_num_locks;
    "num_stripes": usize = 16, |o, v| o.set_num_stripes(v),
        set rocksdb_transactiondb_options_set_num_stripes;
    "transaction_lock_timeout": i64 = 1000, |o, v| o.set_txn_lock_timeout(v),
        set rocksdb_transactiondb_options_set_transaction_lock_timeout;
    "default_lock_timeout": i64 = 1000, |o, v| o.set_default_lock_timeout(v),
        set rocksdb_transactiondb_options_set_default_lock_timeout;
}}

fields! { rocksdb_transaction_options_t {
    "set_snapshot": u8 = 0, |o, v| o.set_snapshot(v != 0),
        set rocksdb_transaction_options_set_set_snapshot;
    "deadlock_detect": u8 = 0, |o, v| o.set_deadlock_detect(v != 0),
        set rocksdb_transaction_options_set_deadlock_detect;
    "lock_timeout": i64 = -1, |o, v| o.set_lock_timeout(v),
        set rocksdb_transaction_options_set_lock_timeout;
    "expiration": i64 = -1, |o, v| o.set_expiration(v),
        set rocksdb_transaction_options_set_expiration;
    "deadlock_detect_depth": i64 = 50, |o, v| o.set_deadlock_detect_depth(v),
        set rocksdb_transaction_options_set_deadlock_detect_depth;
    "max_write_batch_size": usize = 0, |o, v| o.set_max_write_batch_size(v),
        set rocksdb_transaction_options_set_max_write_batch_size;
    "skip_prepare": u8 = 1, |o, v| o.set_skip_prepare(v != 0),
        set rocksdb_transaction_options_set_skip_prepare;
}}

exports! {
    fn rocksdb_transactiondb_open(
        options: Option<&rocksdb_options_t>,
        txn_options: Option<&rocksdb_transactiondb_options_t>, name: Text, errptr: ErrPtr,
    ) -> Option<Box<rocksdb_transactiondb_t>> {
        errptr.run(|| {
            let (opening, txn_options) = (Opening::new(options)?, &given(txn_options)?.options);
            let db = Pessimistic::open(&opening.options, txn_options, name.path())?;
            Ok(Some(opening.opened(Db::Pessimistic(db))))
        })
    }
    fn rocksdb_transactiondb_open_column_families(
        options: Option<&rocksdb_options_t>,
        txn_options: Option<&rocksdb_transactiondb_options_t>, name: Text, len: i32,
        names: List<Text>, family_options: List<Option<&'static rocksdb_options_t>>,
        handles: Out<Option<Box<rocksdb_column_family_handle_t>>>, errptr: ErrPtr,
    ) -> Option<Box<rocksdb_transactiondb_t>> {
        errptr.run(|| {
            let (opening, txn_options) = (Opening::new(options)?, &given(txn_options)?.options);
            let options = &opening.options;
            let families = (len, names, family_options);
            let (path, list) = (name.path(), family_list(families)?);
            let db = Pessimistic::open_cf_descriptors(options, txn_options, path, list)?;
            let db = opening.opened(Db::Pessimistic(db));
            put_handles(&*db.slot.open()?, families, handles)?;
            Ok(Some(db))
        })
    }
    fn rocksdb_transactiondb_close(db: Option<&'static rocksdb_transactiondb_t>) {
        if let Some(db) = db {
            db.close();
        }
    }
    fn rocksdb_transactiondb_get_base_db(db: Database<'_>) -> Option<Box<rocksdb_t>> {
        Some(db?.again())
    }
    fn rocksdb_transactiondb_close_base_db(_base: Option<Box<rocksdb_t>>) {}
    fn rocksdb_transaction_begin(
        db: Database<'_>, write: Writes<'_>, options: Option<&rocksdb_transaction_options_t>,
        old: Option<Box<rocksdb_transaction_t>>,
    ) -> Option<Box<rocksdb_transaction_t>> {
        let (db, write) = (open(db).ok()?, write_options(write).ok()?);
        let txn = shared(begin_pessimistic(&db, write, &options?.options)?);
        match old {
            Some(mut old) => {
                *old = rocksdb_transaction_t::new(txn);
                Some(old)
            }
            None => Some(Box::new(rocksdb_transaction_t::new(txn))),
        }
    }
    fn rocksdb_transactiondb_get_prepared_transactions(
        db: Database<'_>, count: Out<usize>,
    ) -> *mut Box<rocksdb_transaction_t> {
        let prepared = prepared(db).unwrap_or_default();
        count.set(prepared.len());
        if prepared.is_empty() { ptr::null_mut() } else { array(prepared) }
    }
    fn rocksdb_transactiondb_put(
        db: Database<'_>, options: Writes<'_>, key: Bytes, keylen: usize, value: Bytes,
        len: usize, errptr: ErrPtr,
    ) {
        errptr.run(|| {
            let (db, options) = (open(db)?, write_options(options)?);
            locking(&db)?.put_opt(key.of(keylen), value.of(len), options)
        });
    }
    fn rocksdb_transactiondb_put_cf(
        db: Database<'_>, options: Writes<'_>, handle: Handle<'_>, key: Bytes, keylen: usize,
        value: Bytes, len: usize, errptr: ErrPtr,
    ) {
        errptr.run(|| {
            let (db, options, family) = (open(db)?, write_options(options)?, family(handle)?);
            locking(&db)?.put_cf_opt(family, key.of(keylen), value.of(len), options)
        });
    }
    fn rocksdb_transactiondb_merge(
        db: Database<'_>, options: Writes<'_>, key: Bytes, keylen: usize, value: Bytes,
        len: usize, errptr: ErrPtr,
    ) {
        errptr.run(|| {
            let (db, options) = (open(db)?, write_options(options)?);
            locking(&db)?.merge_opt(key.of(keylen), value.of(len), options)
        });
    }
    fn rocksdb_transactiondb_merge_cf(
        db: Database<'_>, options: Writes<'_>, handle: Handle<'_>, key: Bytes, keylen: usize,
        value: Bytes, len: usize, errptr: ErrPtr,
    ) {
        errptr.run(|| {
            let (db, options, family) = (open(db)?, write_options(options)?, family(handle)?);
            locking(&db)?.merge_cf_opt(family, key.of(keylen), value.of(len), options)
        });
    }
    fn rocksdb_transactiondb_delete(
        db: Database<'_>, options: Writes<'_>, key: Bytes, keylen: usize, errptr: ErrPtr,
    ) {
        errptr.run(|| {
            let (db, options) = (open(db)?, write_options(options)?);
            locking(&db)?.delete_opt(key.of(keylen), options)
        });
    }
    fn rocksdb_transactiondb_delete_cf(
        db: Database<'_>, options: Writes<'_>, handle: Handle<'_>, key: Bytes, keylen: usize,
        errptr: ErrPtr,
    ) {
        errptr.run(|| {
            let (db, options, family) = (open(db)?, write_options(options)?, family(handle)?);
            locking(&db)?.delete_cf_opt(family, key.of(keylen), options)
        });
    }
    fn rocksdb_transactiondb_write(
        db: Database<'_>, options: Writes<'_>, batch: Option<&rocksdb_writebatch_t>,
        errptr: ErrPtr,
    ) {
        errptr.run(|| {
            let (db, options) = (open(db)?, write_options(options)?);
            let batch = given(batch)?.checked()?;
            let batch = WriteBatchWithTransaction::<true>::from_data(batch.data());
            locking(&db)?.write_opt(batch, options)
        });
    }
    fn rocksdb_transactiondb_get(
        db: Database<'_>, options: Reads<'_>, key: Bytes, keylen: usize, len: Out<usize>,
        errptr: ErrPtr,
    ) -> *mut c_char {
        len.set(0);
        errptr.run(|| {
            let (db, options) = (open(db)?, read_options(options)?);
            Ok(optional(locking(&db)?.get_pinned_opt(key.of(keylen), options)?, len))
        })
    }
    fn rocksdb_transactiondb_get_cf(
        db: Database<'_>, options: Reads<'_>, handle: Handle<'_>, key: Bytes, keylen: usize,
        len: Out<usize>, errptr: ErrPtr,
    ) -> *mut c_char {
        len.set(0);
        errptr.run(|| {
            let (db, options, family) = (open(db)?, read_options(options)?, family(handle)?);
            let value = locking(&db)?.get_pinned_cf_opt(family, key.of(keylen), options)?;
            Ok(optional(value, len))
        })
    }
    fn rocksdb_transactiondb_get_pinned(
        db: Database<'_>, options: Reads<'_>, key: Bytes, keylen: usize, errptr: ErrPtr,
    ) -> Option<Box<rocksdb_pinnableslice_t>> {
        errptr.run(|| {
            let (db, options, key) = (open(db)?, read_options(options)?, key.of(keylen));
            pinned(&*db, |db: &'static Db| of(db)?.get_pinned_opt(key, options))
        })
    }
    fn rocksdb_transactiondb_get_pinned_cf(
        db: Database<'_>, options: Reads<'_>, handle: Handle<'_>, key: Bytes, keylen: usize,
        errptr: ErrPtr,
    ) -> Option<Box<rocksdb_pinnableslice_t>> {
        errptr.run(|| {
            let (db, options, family) = (open(db)?, read_options(options)?, family(handle)?);
            let key = key.of(keylen);
            pinned(&*db, |db: &'static Db| of(db)?.get_pinned_cf_opt(family, key, options))
        })
    }
    fn rocksdb_transactiondb_multi_get(
        db: Database<'_>, options: Reads<'_>, num: usize, keys: List<Bytes>, lengths: List<usize>,
        values: Out<*mut c_char>, value_lengths: Out<usize>, errs: Out<*mut c_char>,
    ) {
        let get = || {
            let (db, options) = (open(db)?, read_options(options)?);
            Ok(locking(&db)?.multi_get_opt(strings(keys, lengths, num), options))
        };
        let found = get().unwrap_or_else(|e| all_fail(num, &e));
        put_values(found, values, value_lengths, errs);
    }
    fn rocksdb_transactiondb_multi_get_cf(
        db: Database<'_>, options: Reads<'_>, families: List<Handle<'static>>, num: usize,
        keys: List<Bytes>, lengths: List<usize>, values: Out<*mut c_char>,
        value_lengths: Out<usize>, errs: Out<*mut c_char>,
    ) {
        let get = || {
            let (db, options) = (open(db)?, read_options(options)?);
            let keys = with_families(families, strings(keys, lengths, num))?;
            Ok(locking(&db)?.multi_get_cf_opt(keys, options))
        };
        let found = get().unwrap_or_else(|e| all_fail(num, &e));
        put_values(found, values, value_lengths, errs);
    }
    fn rocksdb_transactiondb_create_iterator(
        db: Database<'_>, options: Reads<'_>,
    ) -> Option<Box<rocksdb_iterator_t>> {
        create(db, options, None).ok().flatten()
    }
    fn rocksdb_transactiondb_create_iterator_cf(
        db: Database<'_>, options: Reads<'_>, handle: Handle<'_>,
    ) -> Option<Box<rocksdb_iterator_t>> {
        create(db, options, Some(handle)).ok().flatten()
    }
}
