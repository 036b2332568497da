//! Opening and closing databases; column families and snapshots.

use crate::border::{Result, byte_arrays, invalid, long_array, longs, natives, text};
use crate::handles::{find, find_given, give_back, give_back_all_of, make, make_of};
use crate::options::Shared;
use crate::per_call::Reads;
use jni::Env;
use jni::objects::{JByteArray, JLongArray, JObjectArray, JString};
use std::sync::Arc;
use std::sync::atomic::{AtomicI64, Ordering};
use whitewater::{ColumnFamilyDescriptor, ColumnFamilyHandle, Error, Options};
use whitewater_c_api::db::{Db, Open, Opening, Plain, Slot};
use whitewater_c_api::families::named;
use whitewater_c_api::held::Held;
use whitewater_c_api::on_db;
use whitewater_c_api::options::rocksdb_options_t;
use whitewater_c_api::snapshot::Moment;

/// An open database.
pub(crate) struct Database {
    slot: Arc<Slot>,
    /// The number that the default column family has, 0 until Java asks. Threads that ask write
    /// and read it; it publishes nothing, the table of numbers does.
    default: AtomicI64,
}

pub(crate) struct Family(pub(crate) ColumnFamilyHandle);

pub(crate) struct Snapshot(pub(crate) Held<Box<dyn Moment + Send + Sync>, Db>);

/// The database of a number.
pub(crate) fn database(handle: i64) -> Result<Open> {
    Ok(find::<Database>(handle)?.slot.open()?)
}

/// The column family of a number, the default one for 0.
pub(crate) fn family(db: &Arc<Db>, handle: i64) -> Result<ColumnFamilyHandle> {
    match find_given::<Family>(handle)? {
        Some(family) => Ok(family.0.clone()),
        None => Ok(on_db!(db, db => db.default_family())),
    }
}

/// A name of a column family.
pub(crate) fn name(bytes: Vec<u8>) -> Result<String> {
    String::from_utf8(bytes).map_err(|_| invalid("a column family's name is not UTF-8"))
}

/// Column families with their options.
fn described(
    env: &mut Env<'_>,
    names: &JObjectArray<'_, JByteArray<'_>>,
    options: &JLongArray<'_>,
) -> Result<Vec<(String, Options)>> {
    let names = byte_arrays(env, names)?.into_iter();
    let pairs = names.zip(longs(env, options)?);
    pairs
        .map(|(bytes, options)| Ok((name(bytes)?, find::<Shared>(options)?.options())))
        .collect()
}

/// Opens a database with `open`, and returns its number and those of its column families.
fn opened(
    options: i64,
    families: Vec<(String, Options)>,
    open: impl FnOnce(&Options, Vec<ColumnFamilyDescriptor>) -> std::result::Result<Plain, Error>,
) -> Result<Vec<i64>> {
    let options = rocksdb_options_t::new(find::<Shared>(options)?.options());
    let opening = Opening::new(Some(&options))?;
    let names: Vec<_> = families.iter().map(|(name, _)| name.clone()).collect();
    let list = families
        .into_iter()
        .map(|(name, options)| ColumnFamilyDescriptor::new(name, options));
    let db = open(&opening.options, list.collect())?;
    let slot = opening.opened(Db::Plain(db)).slot.clone();
    let db = slot.open()?;
    let families = names.iter().map(|name| named(&db, name));
    let families = families.collect::<std::result::Result<Vec<_>, _>>()?;
    drop(db);
    let default = AtomicI64::new(0);
    let database = make(Database { slot, default })?;
    let mut numbers = vec![database];
    for family in families {
        numbers.push(make_of(database, Family(family.0))?);
    }
    Ok(numbers)
}

natives! {
    fn Java_org_rocksdb_RocksDB_version<'l>(_env) -> i32 {
        // RocksDB's whose classes these are: major, minor, patch.
        Ok((10 << 16) | (1 << 8) | 3)
    }
    fn Java_org_rocksdb_RocksDB_open__JLjava_lang_String_2<'l>(
        env, options: i64, path: JString<'l>,
    ) -> i64 {
        let path = text(env, &path)?;
        Ok(opened(options, Vec::new(), |options, _| Plain::open(options, path))?[0])
    }
    fn Java_org_rocksdb_RocksDB_open__JLjava_lang_String_2_3_3B_3J<'l>(
        env, options: i64, path: JString<'l>, names: JObjectArray<'l, JByteArray<'l>>,
        families: JLongArray<'l>,
    ) -> JLongArray<'l> {
        let (path, families) = (text(env, &path)?, described(env, &names, &families)?);
        let numbers = opened(options, families, |options, list| {
            Plain::open_cf_descriptors(options, path, list)
        })?;
        long_array(env, &numbers)
    }
    fn Java_org_rocksdb_RocksDB_openROnly__JLjava_lang_String_2Z<'l>(
        env, options: i64, path: JString<'l>, refuse_logs: bool,
    ) -> i64 {
        let path = text(env, &path)?;
        Ok(opened(options, Vec::new(), |options, _| {
            Plain::open_for_read_only(options, path, refuse_logs)
        })?[0])
    }
    fn Java_org_rocksdb_RocksDB_openROnly__JLjava_lang_String_2_3_3B_3JZ<'l>(
        env, options: i64, path: JString<'l>, names: JObjectArray<'l, JByteArray<'l>>,
        families: JLongArray<'l>, refuse_logs: bool,
    ) -> JLongArray<'l> {
        let (path, families) = (text(env, &path)?, described(env, &names, &families)?);
        let numbers = opened(options, families, |options, list| {
            Plain::open_cf_descriptors_read_only(options, path, list, refuse_logs)
        })?;
        long_array(env, &numbers)
    }
    fn Java_org_rocksdb_RocksDB_openAsSecondary__JLjava_lang_String_2Ljava_lang_String_2<'l>(
        env, options: i64, path: JString<'l>, secondary: JString<'l>,
    ) -> i64 {
        let (path, secondary) = (text(env, &path)?, text(env, &secondary)?);
        Ok(opened(options, Vec::new(), |options, _| {
            Plain::open_as_secondary(options, path, secondary)
        })?[0])
    }
    fn Java_org_rocksdb_RocksDB_openAsSecondary__JLjava_lang_String_2Ljava_lang_String_2_3_3B_3J
        <'l>(
        env, options: i64, path: JString<'l>, secondary: JString<'l>,
        names: JObjectArray<'l, JByteArray<'l>>, families: JLongArray<'l>,
    ) -> JLongArray<'l> {
        let (path, secondary) = (text(env, &path)?, text(env, &secondary)?);
        let families = described(env, &names, &families)?;
        let numbers = opened(options, families, |options, list| {
            Plain::open_cf_descriptors_as_secondary(options, path, secondary, list)
        })?;
        long_array(env, &numbers)
    }
    fn Java_org_rocksdb_RocksDB_tryCatchUpWithPrimary<'l>(_env, db: i64) -> () {
        match &**database(db)? {
            Db::Plain(db) => Ok(db.try_catch_up_with_primary()?),
            _ => Err(invalid("not a secondary database")),
        }
    }
    // What goes with the database goes, too, so that its files are free.
    fn Java_org_rocksdb_RocksDB_closeDatabase
        Java_org_rocksdb_RocksDB_disposeInternalJni
        Java_org_rocksdb_RocksDB_disposeInternal<'l>(
        _env, db: i64,
    ) -> () {
        if let Ok(found) = find::<Database>(db) {
            found.slot.close();
        }
        give_back_all_of(db);
        Ok(())
    }
    fn Java_org_rocksdb_RocksDB_listColumnFamilies<'l>(
        env, options: i64, path: JString<'l>,
    ) -> JObjectArray<'l, JByteArray<'l>> {
        let (options, path) = (find::<Shared>(options)?.options(), text(env, &path)?);
        // As in RocksDB's Java interface, where there is no database there is no column family.
        let names = match std::path::Path::new(&path).join("CURRENT").exists() {
            true => Plain::list_cf(&options, path)?,
            false => Vec::new(),
        };
        let arrays = JObjectArray::<JByteArray<'_>>::new(env, names.len(), JByteArray::null())?;
        for (at, name) in names.iter().enumerate() {
            let array = env.byte_array_from_slice(name.as_bytes())?;
            arrays.set_element(env, at, &array)?;
        }
        Ok(arrays)
    }
    fn Java_org_rocksdb_RocksDB_destroyDB<'l>(env, path: JString<'l>, options: i64) -> () {
        let (options, path) = (find::<Shared>(options)?.options(), text(env, &path)?);
        Ok(Plain::destroy(&options, path)?)
    }
}

/// Makes column families.
fn create(handle: i64, families: Vec<(String, Options)>) -> Result<Vec<i64>> {
    let db = database(handle)?;
    let made = families.into_iter().map(|(name, options)| {
        match &**db {
            Db::Plain(db) => db.create_cf(&name, &options)?,
            _ => return Err(invalid("not a plain database")),
        }
        make_of(handle, Family(named(&db, &name)?.0))
    });
    made.collect()
}

fn drop_family(db: i64, handle: i64) -> Result<()> {
    let db = database(db)?;
    match &**db {
        Db::Plain(plain) => Ok(plain.drop_cf(family(&db, handle)?.family_name())?),
        _ => Err(invalid("not a plain database")),
    }
}

natives! {
    fn Java_org_rocksdb_RocksDB_getDefaultColumnFamily<'l>(_env, db: i64) -> i64 {
        let found = find::<Database>(db)?;
        let known = found.default.load(Ordering::Relaxed);
        if known != 0 {
            return Ok(known);
        }
        let default = make_of(db, Family(family(&*found.slot.open()?, 0)?))?;
        found.default.store(default, Ordering::Relaxed);
        Ok(default)
    }
    fn Java_org_rocksdb_RocksDB_createColumnFamily<'l>(
        env, db: i64, bytes: JByteArray<'l>, _len: i32, options: i64,
    ) -> i64 {
        let name = name(crate::border::bytes(env, &bytes)?)?;
        Ok(create(db, vec![(name, find::<Shared>(options)?.options())])?[0])
    }
    fn Java_org_rocksdb_RocksDB_createColumnFamilies__JJ_3_3B<'l>(
        env, db: i64, options: i64, names: JObjectArray<'l, JByteArray<'l>>,
    ) -> JLongArray<'l> {
        let options = find::<Shared>(options)?;
        let names = byte_arrays(env, &names)?.into_iter();
        let families = names.map(|bytes| Ok((name(bytes)?, options.options())));
        let made = create(db, families.collect::<Result<_>>()?)?;
        long_array(env, &made)
    }
    fn Java_org_rocksdb_RocksDB_createColumnFamilies__J_3J_3_3B<'l>(
        env, db: i64, options: JLongArray<'l>, names: JObjectArray<'l, JByteArray<'l>>,
    ) -> JLongArray<'l> {
        let families = described(env, &names, &options)?;
        let made = create(db, families)?;
        long_array(env, &made)
    }
    fn Java_org_rocksdb_RocksDB_dropColumnFamily<'l>(_env, db: i64, handle: i64) -> () {
        drop_family(db, handle)
    }
    fn Java_org_rocksdb_RocksDB_dropColumnFamilies<'l>(
        env, db: i64, handles: JLongArray<'l>,
    ) -> () {
        longs(env, &handles)?.into_iter().try_for_each(|handle| drop_family(db, handle))
    }
    fn Java_org_rocksdb_ColumnFamilyHandle_getID<'l>(_env, handle: i64) -> i32 {
        Ok(find::<Family>(handle)?.0.family_id() as i32)
    }
    fn Java_org_rocksdb_ColumnFamilyHandle_getName<'l>(env, handle: i64) -> JByteArray<'l> {
        let name = find::<Family>(handle)?.0.family_name().to_owned();
        Ok(env.byte_array_from_slice(name.as_bytes())?)
    }
    fn Java_org_rocksdb_ColumnFamilyHandle_disposeInternalJni
        Java_org_rocksdb_ColumnFamilyHandle_disposeInternal<'l>(_env, handle: i64) -> () {
        give_back(handle);
        Ok(())
    }
    fn Java_org_rocksdb_RocksDB_getSnapshot<'l>(_env, handle: i64) -> i64 {
        let db = database(handle)?;
        let snapshot = Held::try_of(&db, |db: &'static Db| -> Result<_> {
            Ok(match db {
                Db::Plain(db) => {
                    let moment: Box<dyn Moment + Send + Sync> = Box::new(db.snapshot());
                    moment
                }
                _ => return Err(invalid("not a plain database")),
            })
        })?;
        make_of(handle, Snapshot(snapshot))
    }
    fn Java_org_rocksdb_RocksDB_releaseSnapshot<'l>(_env, _db: i64, snapshot: i64) -> () {
        give_back(snapshot);
        Ok(())
    }
    fn Java_org_rocksdb_Snapshot_getSequenceNumber<'l>(_env, snapshot: i64) -> i64 {
        Ok(find::<Snapshot>(snapshot)?.0.get().sequence_number() as i64)
    }
    fn Java_org_rocksdb_ReadOptions_setSnapshot<'l>(_env, options: i64, snapshot: i64) -> () {
        let found = find_given::<Snapshot>(snapshot)?;
        find::<Reads>(options)?.change(|reads| {
            reads.snapshot = snapshot;
            match &found {
                Some(snapshot) => snapshot.0.get().apply(&mut reads.options),
                None => reads.options.reset_snapshot(),
            }
        });
        Ok(())
    }
}
