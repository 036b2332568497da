//! Iterators.

use crate::border::{Result, array, bytes, invalid, long_array, longs, natives, part, put_part};
use crate::databases::{database, family};
use crate::handles::{find, give_back, make_of};
use crate::reads::with_options;
use jni::objects::{JByteArray, JLongArray};
use std::sync::{Mutex, MutexGuard, PoisonError};
use whitewater_c_api::db::Db;
use whitewater_c_api::held::Held;
use whitewater_c_api::iterator::Cursor;

/// An iterator. It goes with its database.
struct Iterator(Mutex<Held<Box<dyn Cursor + Send>, Db>>);

impl Iterator {
    fn cursor(&self) -> MutexGuard<'_, Held<Box<dyn Cursor + Send>, Db>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Has `f` do something to an iterator.
fn with<R>(iterator: i64, f: impl FnOnce(&mut (dyn Cursor + Send)) -> Result<R>) -> Result<R> {
    let found = find::<Iterator>(iterator)?;
    let mut cursor = found.cursor();
    f(&mut **cursor.get_mut())
}

/// Moves an iterator.
fn moved(iterator: i64, f: impl FnOnce(&mut (dyn Cursor + Send))) -> Result<()> {
    with(iterator, |cursor| {
        f(cursor);
        Ok(())
    })
}

fn create(handle: i64, options: i64, family_handle: i64) -> Result<i64> {
    let db = database(handle)?;
    let options = with_options(options, |options| Ok(options.duplicate()))?;
    let family = family(&db, family_handle)?;
    let cursor = Held::try_of(&db, |db: &'static Db| match db {
        Db::Plain(db) => {
            let cursor: Box<dyn Cursor + Send> = Box::new(db.raw_iterator_cf_opt(&family, options));
            Ok(cursor)
        }
        _ => Err(invalid("not a plain database")),
    })?;
    make_of(handle, Iterator(Mutex::new(cursor)))
}

fn key(cursor: &(dyn Cursor + Send)) -> Result<&[u8]> {
    cursor
        .key()
        .ok_or_else(|| invalid("the iterator is at no key"))
}

fn value(cursor: &(dyn Cursor + Send)) -> Result<&[u8]> {
    cursor
        .value()
        .ok_or_else(|| invalid("the iterator is at no key"))
}

natives! {
    fn Java_org_rocksdb_RocksDB_iterator<'l>(_env, db: i64, family: i64, options: i64) -> i64 {
        create(db, options, family)
    }
    fn Java_org_rocksdb_RocksDB_iterators<'l>(
        env, db: i64, families: JLongArray<'l>, options: i64,
    ) -> JLongArray<'l> {
        let families = longs(env, &families)?.into_iter();
        let made = families.map(|family| create(db, options, family));
        let made = made.collect::<Result<Vec<_>>>()?;
        long_array(env, &made)
    }
    fn Java_org_rocksdb_RocksIterator_disposeInternalJni
        Java_org_rocksdb_RocksIterator_disposeInternal<'l>(_env, iterator: i64) -> () {
        give_back(iterator);
        Ok(())
    }
    fn Java_org_rocksdb_RocksIterator_isValid0Jni
        Java_org_rocksdb_RocksIterator_isValid0<'l>(_env, iterator: i64) -> bool {
        with(iterator, |cursor| Ok(cursor.valid()))
    }
    fn Java_org_rocksdb_RocksIterator_seekToFirst0Jni
        Java_org_rocksdb_RocksIterator_seekToFirst0<'l>(_env, iterator: i64) -> () {
        moved(iterator, |cursor| cursor.seek_to_first())
    }
    fn Java_org_rocksdb_RocksIterator_seekToLast0Jni
        Java_org_rocksdb_RocksIterator_seekToLast0<'l>(_env, iterator: i64) -> () {
        moved(iterator, |cursor| cursor.seek_to_last())
    }
    fn Java_org_rocksdb_RocksIterator_next0Jni
        Java_org_rocksdb_RocksIterator_next0<'l>(_env, iterator: i64) -> () {
        moved(iterator, |cursor| cursor.next())
    }
    fn Java_org_rocksdb_RocksIterator_prev0Jni
        Java_org_rocksdb_RocksIterator_prev0<'l>(_env, iterator: i64) -> () {
        moved(iterator, |cursor| cursor.prev())
    }
    fn Java_org_rocksdb_RocksIterator_seek0Jni Java_org_rocksdb_RocksIterator_seek0<'l>(
        env, iterator: i64, target: JByteArray<'l>, _len: i32,
    ) -> () {
        let target = bytes(env, &target)?;
        moved(iterator, |cursor| cursor.seek(&target))
    }
    fn Java_org_rocksdb_RocksIterator_seekByteArray0Jni
        Java_org_rocksdb_RocksIterator_seekByteArray0<'l>(
        env, iterator: i64, target: JByteArray<'l>, offset: i32, len: i32,
    ) -> () {
        let target = part(env, &target, offset, len)?;
        moved(iterator, |cursor| cursor.seek(&target))
    }
    fn Java_org_rocksdb_RocksIterator_seekForPrev0Jni
        Java_org_rocksdb_RocksIterator_seekForPrev0<'l>(
        env, iterator: i64, target: JByteArray<'l>, _len: i32,
    ) -> () {
        let target = bytes(env, &target)?;
        moved(iterator, |cursor| cursor.seek_for_prev(&target))
    }
    fn Java_org_rocksdb_RocksIterator_seekForPrevByteArray0Jni
        Java_org_rocksdb_RocksIterator_seekForPrevByteArray0<'l>(
        env, iterator: i64, target: JByteArray<'l>, offset: i32, len: i32,
    ) -> () {
        let target = part(env, &target, offset, len)?;
        moved(iterator, |cursor| cursor.seek_for_prev(&target))
    }
    fn Java_org_rocksdb_RocksIterator_status0Jni
        Java_org_rocksdb_RocksIterator_status0<'l>(_env, iterator: i64) -> () {
        with(iterator, |cursor| Ok(cursor.status()?))
    }
    fn Java_org_rocksdb_RocksIterator_refresh0Jni
        Java_org_rocksdb_RocksIterator_refresh0<'l>(_env, iterator: i64) -> () {
        with(iterator, |cursor| Ok(cursor.refresh()?))
    }
    fn Java_org_rocksdb_RocksIterator_key0<'l>(env, iterator: i64) -> JByteArray<'l> {
        with(iterator, |cursor| array(env, Some(key(cursor)?)))
    }
    fn Java_org_rocksdb_RocksIterator_value0<'l>(env, iterator: i64) -> JByteArray<'l> {
        with(iterator, |cursor| array(env, Some(value(cursor)?)))
    }
    fn Java_org_rocksdb_RocksIterator_keyByteArray0<'l>(
        env, iterator: i64, place: JByteArray<'l>, offset: i32, len: i32,
    ) -> i32 {
        with(iterator, |cursor| put_part(env, (&place, offset, len), key(cursor)?))
    }
    fn Java_org_rocksdb_RocksIterator_valueByteArray0<'l>(
        env, iterator: i64, place: JByteArray<'l>, offset: i32, len: i32,
    ) -> i32 {
        with(iterator, |cursor| put_part(env, (&place, offset, len), value(cursor)?))
    }
}
