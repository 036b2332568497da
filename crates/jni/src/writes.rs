//! Writes of single keys, and of batches.

use crate::batches::Batch;
use crate::border::{Result, bytes, natives, part};
use crate::databases::{database, family};
use crate::handles::{find, find_given};
use crate::per_call::Writes;
use jni::Env;
use jni::objects::JByteArray;
use whitewater::{ColumnFamilyHandle, WriteBatch, WriteOptions};
use whitewater_c_api::on_db;

/// Which database, which options of the write and which column family.
type At = (i64, i64, i64);
/// A part of an array.
type Part<'a, 'l> = (&'a JByteArray<'l>, i32, i32);

/// Writes what `fill` puts into a batch.
fn written(
    (db, options, handle): At,
    fill: impl FnOnce(&mut WriteBatch, Option<&ColumnFamilyHandle>),
) -> Result<()> {
    let db = database(db)?;
    let family = match handle {
        0 => None,
        handle => Some(family(&db, handle)?),
    };
    let mut batch = WriteBatch::new();
    fill(&mut batch, family.as_ref());
    with_options(options, |options| {
        Ok(on_db!(db, db => db.write_batch(&batch, options))?)
    })
}

fn with_options<R>(options: i64, f: impl FnOnce(&WriteOptions) -> Result<R>) -> Result<R> {
    match find_given::<Writes>(options)? {
        Some(options) => f(&options.now().options),
        None => f(&WriteOptions::default()),
    }
}

/// Two parts of arrays.
fn pair(env: &Env<'_>, one: Part<'_, '_>, other: Part<'_, '_>) -> Result<(Vec<u8>, Vec<u8>)> {
    Ok((
        part(env, one.0, one.1, one.2)?,
        part(env, other.0, other.1, other.2)?,
    ))
}

fn put(env: &Env<'_>, at: At, key: Part<'_, '_>, value: Part<'_, '_>) -> Result<()> {
    let (key, value) = pair(env, key, value)?;
    let (db, options, handle) = at;
    let db = database(db)?;
    with_options(options, |options| match handle {
        0 => Ok(on_db!(db, db => db.put_opt(key, value, options))?),
        handle => {
            let family = family(&db, handle)?;
            Ok(on_db!(db, db => db.put_cf_opt(&family, key, value, options))?)
        }
    })
}

fn merge(env: &Env<'_>, at: At, key: Part<'_, '_>, value: Part<'_, '_>) -> Result<()> {
    let (key, value) = pair(env, key, value)?;
    written(at, |batch, family| match family {
        None => batch.merge(key, value),
        Some(family) => batch.merge_cf(family, key, value),
    })
}

fn delete(env: &Env<'_>, at: At, key: Part<'_, '_>) -> Result<()> {
    let key = part(env, key.0, key.1, key.2)?;
    written(at, |batch, family| match family {
        None => batch.delete(key),
        Some(family) => batch.delete_cf(family, key),
    })
}

fn single_delete(env: &Env<'_>, at: At, key: &JByteArray<'_>) -> Result<()> {
    let key = bytes(env, key)?;
    written(at, |batch, family| match family {
        None => batch.single_delete(key),
        Some(family) => batch.single_delete_cf(family, key),
    })
}

fn delete_range(env: &Env<'_>, at: At, from: Part<'_, '_>, to: Part<'_, '_>) -> Result<()> {
    let (from, to) = pair(env, from, to)?;
    written(at, |batch, family| match family {
        None => batch.delete_range(from, to),
        Some(family) => batch.delete_range_cf(family, from, to),
    })
}

natives! {
    fn Java_org_rocksdb_RocksDB_put__J_3BII_3BII<'l>(
        env, db: i64, key: JByteArray<'l>, offset: i32, len: i32, value: JByteArray<'l>,
        value_offset: i32, value_len: i32,
    ) -> () {
        put(env, (db, 0, 0), (&key, offset, len), (&value, value_offset, value_len))
    }
    fn Java_org_rocksdb_RocksDB_put__J_3BII_3BIIJ<'l>(
        env, db: i64, key: JByteArray<'l>, offset: i32, len: i32, value: JByteArray<'l>,
        value_offset: i32, value_len: i32, family: i64,
    ) -> () {
        put(env, (db, 0, family), (&key, offset, len), (&value, value_offset, value_len))
    }
    fn Java_org_rocksdb_RocksDB_put__JJ_3BII_3BII<'l>(
        env, db: i64, options: i64, key: JByteArray<'l>, offset: i32, len: i32,
        value: JByteArray<'l>, value_offset: i32, value_len: i32,
    ) -> () {
        put(env, (db, options, 0), (&key, offset, len), (&value, value_offset, value_len))
    }
    fn Java_org_rocksdb_RocksDB_put__JJ_3BII_3BIIJ<'l>(
        env, db: i64, options: i64, key: JByteArray<'l>, offset: i32, len: i32,
        value: JByteArray<'l>, value_offset: i32, value_len: i32, family: i64,
    ) -> () {
        put(env, (db, options, family), (&key, offset, len), (&value, value_offset, value_len))
    }
    fn Java_org_rocksdb_RocksDB_merge__J_3BII_3BII<'l>(
        env, db: i64, key: JByteArray<'l>, offset: i32, len: i32, value: JByteArray<'l>,
        value_offset: i32, value_len: i32,
    ) -> () {
        merge(env, (db, 0, 0), (&key, offset, len), (&value, value_offset, value_len))
    }
    fn Java_org_rocksdb_RocksDB_merge__J_3BII_3BIIJ<'l>(
        env, db: i64, key: JByteArray<'l>, offset: i32, len: i32, value: JByteArray<'l>,
        value_offset: i32, value_len: i32, family: i64,
    ) -> () {
        merge(env, (db, 0, family), (&key, offset, len), (&value, value_offset, value_len))
    }
    fn Java_org_rocksdb_RocksDB_merge__JJ_3BII_3BII<'l>(
        env, db: i64, options: i64, key: JByteArray<'l>, offset: i32, len: i32,
        value: JByteArray<'l>, value_offset: i32, value_len: i32,
    ) -> () {
        merge(env, (db, options, 0), (&key, offset, len), (&value, value_offset, value_len))
    }
    fn Java_org_rocksdb_RocksDB_merge__JJ_3BII_3BIIJ<'l>(
        env, db: i64, options: i64, key: JByteArray<'l>, offset: i32, len: i32,
        value: JByteArray<'l>, value_offset: i32, value_len: i32, family: i64,
    ) -> () {
        merge(env, (db, options, family), (&key, offset, len), (&value, value_offset, value_len))
    }
}

natives! {
    fn Java_org_rocksdb_RocksDB_delete__J_3BII<'l>(
        env, db: i64, key: JByteArray<'l>, offset: i32, len: i32,
    ) -> () {
        delete(env, (db, 0, 0), (&key, offset, len))
    }
    fn Java_org_rocksdb_RocksDB_delete__J_3BIIJ<'l>(
        env, db: i64, key: JByteArray<'l>, offset: i32, len: i32, family: i64,
    ) -> () {
        delete(env, (db, 0, family), (&key, offset, len))
    }
    fn Java_org_rocksdb_RocksDB_delete__JJ_3BII<'l>(
        env, db: i64, options: i64, key: JByteArray<'l>, offset: i32, len: i32,
    ) -> () {
        delete(env, (db, options, 0), (&key, offset, len))
    }
    fn Java_org_rocksdb_RocksDB_delete__JJ_3BIIJ<'l>(
        env, db: i64, options: i64, key: JByteArray<'l>, offset: i32, len: i32, family: i64,
    ) -> () {
        delete(env, (db, options, family), (&key, offset, len))
    }
    fn Java_org_rocksdb_RocksDB_singleDelete__J_3BI<'l>(
        env, db: i64, key: JByteArray<'l>, _len: i32,
    ) -> () {
        single_delete(env, (db, 0, 0), &key)
    }
    fn Java_org_rocksdb_RocksDB_singleDelete__J_3BIJ<'l>(
        env, db: i64, key: JByteArray<'l>, _len: i32, family: i64,
    ) -> () {
        single_delete(env, (db, 0, family), &key)
    }
    fn Java_org_rocksdb_RocksDB_singleDelete__JJ_3BI<'l>(
        env, db: i64, options: i64, key: JByteArray<'l>, _len: i32,
    ) -> () {
        single_delete(env, (db, options, 0), &key)
    }
    fn Java_org_rocksdb_RocksDB_singleDelete__JJ_3BIJ<'l>(
        env, db: i64, options: i64, key: JByteArray<'l>, _len: i32, family: i64,
    ) -> () {
        single_delete(env, (db, options, family), &key)
    }
    fn Java_org_rocksdb_RocksDB_deleteRange__J_3BII_3BII<'l>(
        env, db: i64, from: JByteArray<'l>, offset: i32, len: i32, to: JByteArray<'l>,
        to_offset: i32, to_len: i32,
    ) -> () {
        delete_range(env, (db, 0, 0), (&from, offset, len), (&to, to_offset, to_len))
    }
    fn Java_org_rocksdb_RocksDB_deleteRange__J_3BII_3BIIJ<'l>(
        env, db: i64, from: JByteArray<'l>, offset: i32, len: i32, to: JByteArray<'l>,
        to_offset: i32, to_len: i32, family: i64,
    ) -> () {
        delete_range(env, (db, 0, family), (&from, offset, len), (&to, to_offset, to_len))
    }
    fn Java_org_rocksdb_RocksDB_deleteRange__JJ_3BII_3BII<'l>(
        env, db: i64, options: i64, from: JByteArray<'l>, offset: i32, len: i32, to: JByteArray<'l>,
        to_offset: i32, to_len: i32,
    ) -> () {
        delete_range(env, (db, options, 0), (&from, offset, len), (&to, to_offset, to_len))
    }
    fn Java_org_rocksdb_RocksDB_deleteRange__JJ_3BII_3BIIJ<'l>(
        env, db: i64, options: i64, from: JByteArray<'l>, offset: i32, len: i32, to: JByteArray<'l>,
        to_offset: i32, to_len: i32, family: i64,
    ) -> () {
        delete_range(env, (db, options, family), (&from, offset, len), (&to, to_offset, to_len))
    }
    fn Java_org_rocksdb_RocksDB_write0<'l>(_env, db: i64, options: i64, batch: i64) -> () {
        let (db, batch) = (database(db)?, find::<Batch>(batch)?);
        let batch = batch.checked()?;
        with_options(options, |options| Ok(on_db!(db, db => db.write_batch(&batch, options))?))
    }
}
