//! Look-ups.

use crate::border::{Result, array, byte_arrays, longs, natives, part, put_part};
use crate::databases::{database, family};
use crate::handles::find_given;
use crate::per_call::Reads;
use jni::Env;
use jni::objects::{JByteArray, JIntArray, JLongArray, JObjectArray};
use std::sync::Arc;
use whitewater::{DBPinnableSlice, ReadOptions};
use whitewater_c_api::db::Db;
use whitewater_c_api::on_db;

/// What a look-up that finds nothing returns in place of a length.
const NOT_FOUND: i32 = -1;

/// Calls `f` with the options of the number, the default ones for 0.
pub(crate) fn with_options<R>(
    options: i64,
    f: impl FnOnce(&ReadOptions) -> Result<R>,
) -> Result<R> {
    match find_given::<Reads>(options)? {
        Some(options) => f(&options.now().options),
        None => f(&ReadOptions::default()),
    }
}

/// Calls `f` with the value of a key.
fn with_value<R>(
    (db, options, handle): (i64, i64, i64),
    key: &[u8],
    f: impl FnOnce(Option<DBPinnableSlice<'_>>) -> Result<R>,
) -> Result<R> {
    let db = database(db)?;
    with_options(options, |options| {
        if handle == 0 {
            return f(on_db!(db, db => db.get_pinned_opt(key, options))?);
        }
        let family = family(&db, handle)?;
        f(on_db!(db, db => db.get_pinned_cf_opt(&family, key, options))?)
    })
}

/// Copies the value of a key into an array, and returns its length.
fn value_into(
    env: &Env<'_>,
    at: (i64, i64, i64),
    key: (&JByteArray<'_>, i32, i32),
    place: (&JByteArray<'_>, i32, i32),
) -> Result<i32> {
    let key = part(env, key.0, key.1, key.2)?;
    with_value(at, &key, |value| match value {
        Some(value) => put_part(env, place, &value),
        None => Ok(NOT_FOUND),
    })
}

natives! {
    fn Java_org_rocksdb_RocksDB_get__J_3BII<'l>(
        env, db: i64, key: JByteArray<'l>, offset: i32, len: i32,
    ) -> JByteArray<'l> {
        let key = part(env, &key, offset, len)?;
        with_value((db, 0, 0), &key, |value| array(env, value))
    }
    fn Java_org_rocksdb_RocksDB_get__J_3BIIJ<'l>(
        env, db: i64, key: JByteArray<'l>, offset: i32, len: i32, family: i64,
    ) -> JByteArray<'l> {
        let key = part(env, &key, offset, len)?;
        with_value((db, 0, family), &key, |value| array(env, value))
    }
    fn Java_org_rocksdb_RocksDB_get__JJ_3BII<'l>(
        env, db: i64, options: i64, key: JByteArray<'l>, offset: i32, len: i32,
    ) -> JByteArray<'l> {
        let key = part(env, &key, offset, len)?;
        with_value((db, options, 0), &key, |value| array(env, value))
    }
    fn Java_org_rocksdb_RocksDB_get__JJ_3BIIJ<'l>(
        env, db: i64, options: i64, key: JByteArray<'l>, offset: i32, len: i32, family: i64,
    ) -> JByteArray<'l> {
        let key = part(env, &key, offset, len)?;
        with_value((db, options, family), &key, |value| array(env, value))
    }
    fn Java_org_rocksdb_RocksDB_get__J_3BII_3BII<'l>(
        env, db: i64, key: JByteArray<'l>, offset: i32, len: i32, value: JByteArray<'l>,
        value_offset: i32, value_len: i32,
    ) -> i32 {
        value_into(env, (db, 0, 0), (&key, offset, len), (&value, value_offset, value_len))
    }
    fn Java_org_rocksdb_RocksDB_get__J_3BII_3BIIJ<'l>(
        env, db: i64, key: JByteArray<'l>, offset: i32, len: i32, value: JByteArray<'l>,
        value_offset: i32, value_len: i32, family: i64,
    ) -> i32 {
        value_into(env, (db, 0, family), (&key, offset, len), (&value, value_offset, value_len))
    }
    fn Java_org_rocksdb_RocksDB_get__JJ_3BII_3BII<'l>(
        env, db: i64, options: i64, key: JByteArray<'l>, offset: i32, len: i32,
        value: JByteArray<'l>, value_offset: i32, value_len: i32,
    ) -> i32 {
        let place = (&value, value_offset, value_len);
        value_into(env, (db, options, 0), (&key, offset, len), place)
    }
    fn Java_org_rocksdb_RocksDB_get__JJ_3BII_3BIIJ<'l>(
        env, db: i64, options: i64, key: JByteArray<'l>, offset: i32, len: i32,
        value: JByteArray<'l>, value_offset: i32, value_len: i32, family: i64,
    ) -> i32 {
        let place = (&value, value_offset, value_len);
        value_into(env, (db, options, family), (&key, offset, len), place)
    }
    fn Java_org_rocksdb_RocksDB_keyExists<'l>(
        env, db: i64, family: i64, options: i64, key: JByteArray<'l>, offset: i32, len: i32,
    ) -> bool {
        let key = part(env, &key, offset, len)?;
        with_value((db, options, family), &key, |value| Ok(value.is_some()))
    }
}

/// Whether a key may exist, with its value if that is known.
fn may_exist(
    (db, options, handle): (i64, i64, i64),
    key: &[u8],
) -> Result<(bool, Option<Vec<u8>>)> {
    let db = database(db)?;
    with_options(options, |options| {
        let family = family(&db, handle)?;
        let (exists, known) = on_db!(db, db => {
            let (exists, known) = db.key_may_exist_cf_opt_value(&family, key, options);
            (exists, known.map(|known| AsRef::<[u8]>::as_ref(&known).to_vec()))
        });
        Ok((exists, known))
    })
}

/// The values of several keys, of as many column families.
fn values<'l>(
    env: &mut Env<'l>,
    (db, options): (i64, i64),
    keys: Vec<Vec<u8>>,
    families: Option<Vec<i64>>,
) -> Result<JObjectArray<'l, JByteArray<'l>>> {
    let db: &Arc<Db> = &*database(db)?;
    let handles = families.unwrap_or_else(|| vec![0; keys.len()]);
    let families = handles.into_iter().map(|handle| family(db, handle));
    let families = families.collect::<Result<Vec<_>>>()?;
    let found = with_options(options, |options| {
        let pairs = families.iter().zip(&keys);
        Ok(on_db!(db, db => db.multi_get_cf_opt(pairs, options)))
    })?;
    let list = JObjectArray::<JByteArray<'_>>::new(env, found.len(), JByteArray::null())?;
    for (at, value) in found.into_iter().enumerate() {
        // As in RocksDB, a key that cannot be read is one that was not found.
        if let Ok(Some(value)) = value {
            let element = env.byte_array_from_slice(&value)?;
            list.set_element(env, at, &element)?;
            env.delete_local_ref(element);
        }
    }
    Ok(list)
}

/// Keys, of which Java passes offsets and lengths, too.
fn keys_of(
    env: &mut Env<'_>,
    keys: &JObjectArray<'_, JByteArray<'_>>,
    (offsets, lengths): (&JIntArray<'_>, &JIntArray<'_>),
) -> Result<Vec<Vec<u8>>> {
    let mut keys = byte_arrays(env, keys)?;
    let (mut starts, mut sizes) = (vec![0; keys.len()], vec![0; keys.len()]);
    offsets.get_region(env, 0, &mut starts)?;
    lengths.get_region(env, 0, &mut sizes)?;
    for (key, (start, size)) in keys.iter_mut().zip(starts.into_iter().zip(sizes)) {
        let start = usize::try_from(start).unwrap_or(0).min(key.len());
        key.drain(..start);
        key.truncate(usize::try_from(size).unwrap_or(0));
    }
    Ok(keys)
}

natives! {
    fn Java_org_rocksdb_RocksDB_keyMayExist<'l>(
        env, db: i64, family: i64, options: i64, key: JByteArray<'l>, offset: i32, len: i32,
    ) -> bool {
        let key = part(env, &key, offset, len)?;
        Ok(may_exist((db, options, family), &key)?.0)
    }
    // Two arrays: a byte that says whether the key may exist (1) and its value is known (2).
    fn Java_org_rocksdb_RocksDB_keyMayExistFoundValue<'l>(
        env, db: i64, family: i64, options: i64, key: JByteArray<'l>, offset: i32, len: i32,
    ) -> JObjectArray<'l, JByteArray<'l>> {
        let key = part(env, &key, offset, len)?;
        let (exists, known) = may_exist((db, options, family), &key)?;
        let state = match (exists, &known) {
            (false, _) => 0,
            (true, None) => 1,
            (true, Some(_)) => 2,
        };
        let list = JObjectArray::<JByteArray<'_>>::new(env, 2, JByteArray::null())?;
        let state = env.byte_array_from_slice(&[state])?;
        list.set_element(env, 0, &state)?;
        let known = array(env, known)?;
        list.set_element(env, 1, &known)?;
        Ok(list)
    }
    fn Java_org_rocksdb_RocksDB_multiGet__J_3_3B_3I_3I<'l>(
        env, db: i64, keys: JObjectArray<'l, JByteArray<'l>>, offsets: JIntArray<'l>,
        lengths: JIntArray<'l>,
    ) -> JObjectArray<'l, JByteArray<'l>> {
        let keys = keys_of(env, &keys, (&offsets, &lengths))?;
        values(env, (db, 0), keys, None)
    }
    fn Java_org_rocksdb_RocksDB_multiGet__J_3_3B_3I_3I_3J<'l>(
        env, db: i64, keys: JObjectArray<'l, JByteArray<'l>>, offsets: JIntArray<'l>,
        lengths: JIntArray<'l>, families: JLongArray<'l>,
    ) -> JObjectArray<'l, JByteArray<'l>> {
        let keys = keys_of(env, &keys, (&offsets, &lengths))?;
        let families = longs(env, &families)?;
        values(env, (db, 0), keys, Some(families))
    }
    fn Java_org_rocksdb_RocksDB_multiGet__JJ_3_3B_3I_3I<'l>(
        env, db: i64, options: i64, keys: JObjectArray<'l, JByteArray<'l>>,
        offsets: JIntArray<'l>, lengths: JIntArray<'l>,
    ) -> JObjectArray<'l, JByteArray<'l>> {
        let keys = keys_of(env, &keys, (&offsets, &lengths))?;
        values(env, (db, options), keys, None)
    }
    fn Java_org_rocksdb_RocksDB_multiGet__JJ_3_3B_3I_3I_3J<'l>(
        env, db: i64, options: i64, keys: JObjectArray<'l, JByteArray<'l>>,
        offsets: JIntArray<'l>, lengths: JIntArray<'l>, families: JLongArray<'l>,
    ) -> JObjectArray<'l, JByteArray<'l>> {
        let keys = keys_of(env, &keys, (&offsets, &lengths))?;
        let families = longs(env, &families)?;
        values(env, (db, options), keys, Some(families))
    }
}
