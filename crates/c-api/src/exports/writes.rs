//! Writes.

use crate::border::{Bytes, ErrPtr, Result, error, exports, given};
use crate::db::{Db, on_db, open, rocksdb_t};
use crate::exports::batches::rocksdb_writebatch_t;
use crate::families::{family, rocksdb_column_family_handle_t};
use crate::options::rocksdb_writeoptions_t;
use whitewater::{ErrorKind, WriteBatch, WriteOptions};

type Handle<'a> = Option<&'a rocksdb_column_family_handle_t>;
type Options<'a> = Option<&'a rocksdb_writeoptions_t>;

pub(crate) fn write_options(options: Options<'_>) -> Result<&WriteOptions> {
    Ok(&given(options)?.options)
}

exports! {
    fn rocksdb_put(
        db: Option<&rocksdb_t>, options: Options<'_>, key: Bytes, keylen: usize, value: Bytes,
        len: usize, errptr: ErrPtr,
    ) {
        errptr.run(|| {
            let (db, options) = (open(db)?, write_options(options)?);
            on_db!(db, db => db.put_opt(key.of(keylen), value.of(len), options))
        });
    }
    fn rocksdb_put_cf(
        db: Option<&rocksdb_t>, options: Options<'_>, handle: Handle<'_>, key: Bytes,
        keylen: usize, value: Bytes, len: usize, errptr: ErrPtr,
    ) {
        errptr.run(|| {
            let (db, options, family) = (open(db)?, write_options(options)?, family(handle)?);
            on_db!(db, db => db.put_cf_opt(family, key.of(keylen), value.of(len), options))
        });
    }
    fn rocksdb_put_with_ts(
        db: Option<&rocksdb_t>, options: Options<'_>, key: Bytes, keylen: usize, ts: Bytes,
        tslen: usize, value: Bytes, len: usize, errptr: ErrPtr,
    ) {
        errptr.run(|| {
            let (db, options, ts) = (open(db)?, write_options(options)?, ts.of(tslen));
            on_db!(db, db => db.put_with_ts_opt(key.of(keylen), ts, value.of(len), options))
        });
    }
    fn rocksdb_put_cf_with_ts(
        db: Option<&rocksdb_t>, options: Options<'_>, handle: Handle<'_>, key: Bytes,
        keylen: usize, ts: Bytes, tslen: usize, value: Bytes, len: usize, errptr: ErrPtr,
    ) {
        errptr.run(|| {
            let (db, options, family) = (open(db)?, write_options(options)?, family(handle)?);
            let (key, ts, value) = (key.of(keylen), ts.of(tslen), value.of(len));
            on_db!(db, db => db.put_cf_with_ts_opt(family, key, ts, value, options))
        });
    }
    fn rocksdb_merge(
        db: Option<&rocksdb_t>, options: Options<'_>, key: Bytes, keylen: usize, value: Bytes,
        len: usize, errptr: ErrPtr,
    ) {
        errptr.run(|| {
            let (db, options) = (open(db)?, write_options(options)?);
            on_db!(db, db => db.merge_opt(key.of(keylen), value.of(len), options))
        });
    }
    fn rocksdb_merge_cf(
        db: Option<&rocksdb_t>, options: Options<'_>, handle: Handle<'_>, key: Bytes,
        keylen: usize, value: Bytes, len: usize, errptr: ErrPtr,
    ) {
        errptr.run(|| {
            let (db, options, family) = (open(db)?, write_options(options)?, family(handle)?);
            on_db!(db, db => db.merge_cf_opt(family, key.of(keylen), value.of(len), options))
        });
    }
    fn rocksdb_delete(
        db: Option<&rocksdb_t>, options: Options<'_>, key: Bytes, keylen: usize, errptr: ErrPtr,
    ) {
        errptr.run(|| {
            let (db, options) = (open(db)?, write_options(options)?);
            on_db!(db, db => db.delete_opt(key.of(keylen), options))
        });
    }
    fn rocksdb_delete_cf(
        db: Option<&rocksdb_t>, options: Options<'_>, handle: Handle<'_>, key: Bytes,
        keylen: usize, errptr: ErrPtr,
    ) {
        errptr.run(|| {
            let (db, options, family) = (open(db)?, write_options(options)?, family(handle)?);
            on_db!(db, db => db.delete_cf_opt(family, key.of(keylen), options))
        });
    }
    fn rocksdb_delete_with_ts(
        db: Option<&rocksdb_t>, options: Options<'_>, key: Bytes, keylen: usize, ts: Bytes,
        tslen: usize, errptr: ErrPtr,
    ) {
        errptr.run(|| {
            let (db, options, ts) = (open(db)?, write_options(options)?, ts.of(tslen));
            on_db!(db, db => db.delete_with_ts_opt(key.of(keylen), ts, options))
        });
    }
    fn rocksdb_delete_cf_with_ts(
        db: Option<&rocksdb_t>, options: Options<'_>, handle: Handle<'_>, key: Bytes,
        keylen: usize, ts: Bytes, tslen: usize, errptr: ErrPtr,
    ) {
        errptr.run(|| {
            let (db, options, family) = (open(db)?, write_options(options)?, family(handle)?);
            let (key, ts) = (key.of(keylen), ts.of(tslen));
            on_db!(db, db => db.delete_cf_with_ts_opt(family, key, ts, options))
        });
    }
    fn rocksdb_singledelete(
        db: Option<&rocksdb_t>, options: Options<'_>, key: Bytes, keylen: usize, errptr: ErrPtr,
    ) {
        errptr.run(|| {
            let (db, options, mut batch) = (open(db)?, write_options(options)?, WriteBatch::new());
            batch.single_delete(key.of(keylen));
            on_db!(db, db => db.write_batch(&batch, options))
        });
    }
    fn rocksdb_singledelete_cf(
        db: Option<&rocksdb_t>, options: Options<'_>, handle: Handle<'_>, key: Bytes,
        keylen: usize, errptr: ErrPtr,
    ) {
        errptr.run(|| {
            let (db, options, mut batch) = (open(db)?, write_options(options)?, WriteBatch::new());
            batch.single_delete_cf(family(handle)?, key.of(keylen));
            on_db!(db, db => db.write_batch(&batch, options))
        });
    }
    // A deletion does the same where a key was put once, as single deletions ask.
    fn rocksdb_singledelete_with_ts(
        db: Option<&rocksdb_t>, options: Options<'_>, key: Bytes, keylen: usize, ts: Bytes,
        tslen: usize, errptr: ErrPtr,
    ) {
        rocksdb_delete_with_ts(db, options, key, keylen, ts, tslen, errptr);
    }
    fn rocksdb_singledelete_cf_with_ts(
        db: Option<&rocksdb_t>, options: Options<'_>, handle: Handle<'_>, key: Bytes,
        keylen: usize, ts: Bytes, tslen: usize, errptr: ErrPtr,
    ) {
        rocksdb_delete_cf_with_ts(db, options, handle, key, keylen, ts, tslen, errptr);
    }
    fn rocksdb_delete_range_cf(
        db: Option<&rocksdb_t>, options: Options<'_>, handle: Handle<'_>, start: Bytes,
        start_len: usize, end: Bytes, end_len: usize, errptr: ErrPtr,
    ) {
        errptr.run(|| {
            let (db, options, family) = (open(db)?, write_options(options)?, family(handle)?);
            let (start, end) = (start.of(start_len), end.of(end_len));
            match &**db {
                Db::Plain(db) => db.delete_range_cf_opt(family, start, end, options),
                Db::Optimistic(db) => db.delete_range_cf_opt(family, start, end, options),
                Db::Pessimistic(_) => Err(error(
                    ErrorKind::NotSupported,
                    "DeleteRange in a database with pessimistic transactions",
                )),
            }
        });
    }
    fn rocksdb_write(
        db: Option<&rocksdb_t>, options: Options<'_>, batch: Option<&rocksdb_writebatch_t>,
        errptr: ErrPtr,
    ) {
        errptr.run(|| {
            let (db, options, batch) = (open(db)?, write_options(options)?, given(batch)?);
            let batch = batch.checked()?;
            on_db!(db, db => db.write_batch(batch, options))
        });
    }
}
