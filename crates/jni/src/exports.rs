//! Column families that are exported, and imported elsewhere; the tables of a database.

use crate::border::{Result, bytes, invalid, longs, natives, text};
use crate::control::Checkpoints;
use crate::databases::{Family, database, name};
use crate::handles::{find, give_back, make, make_of};
use crate::options::Shared;
use jni::objects::{JByteArray, JLongArray, JObject, JObjectArray, JString, JValue};
use jni::{Env, jni_sig, jni_str};
use std::sync::atomic::{AtomicBool, Ordering};
use whitewater::{ExportImportFilesMetaData, ImportColumnFamilyOptions, LiveFileMetaData};
use whitewater_c_api::db::Db;
use whitewater_c_api::families::named;
use whitewater_c_api::on_db;

/// Options of imports: whether files are moved, not linked. Setters write it, imports and getters
/// read it; it publishes nothing.
struct Imports(AtomicBool);

/// What an export tells of its tables.
struct Exported(ExportImportFilesMetaData);

/// Java's object for a table.
fn described<'l>(env: &mut Env<'l>, file: &LiveFileMetaData) -> Result<JObject<'l>> {
    let family = env.byte_array_from_slice(file.column_family_name.as_bytes())?;
    let name = env.new_string(&file.name)?;
    let path = env.new_string(file.db_path.to_string_lossy())?;
    let smallest = env.byte_array_from_slice(&file.smallestkey)?;
    let largest = env.byte_array_from_slice(&file.largestkey)?;
    let checksum = env.byte_array_from_slice(&[])?;
    let arguments = [
        JValue::Object(&family),
        JValue::Int(file.level),
        JValue::Object(&name),
        JValue::Object(&path),
        JValue::Long(file.size as i64),
        JValue::Long(file.smallest_seqno as i64),
        JValue::Long(file.largest_seqno as i64),
        JValue::Object(&smallest),
        JValue::Object(&largest),
        // How often it was read, and whether it is being compacted: not told.
        JValue::Long(0),
        JValue::Bool(false),
        JValue::Long(file.num_entries as i64),
        JValue::Long(file.num_deletions as i64),
        JValue::Object(&checksum),
    ];
    let class = jni_str!("org/rocksdb/LiveFileMetaData");
    let sig = jni_sig!("([BILjava/lang/String;Ljava/lang/String;JJJ[B[BJZJJ[B)V");
    Ok(env.new_object(class, sig, &arguments)?)
}

natives! {
    fn Java_org_rocksdb_RocksDB_getLiveFilesMetaData<'l>(env, db: i64) -> JObjectArray<'l> {
        let files = {
            let db = database(db)?;
            on_db!(db, db => db.get_live_files_metadata())?
        };
        let len = i32::try_from(files.len()).map_err(|_| invalid("too many tables"))?;
        let class = jni_str!("org/rocksdb/LiveFileMetaData");
        let list = env.new_object_array(len, class, JObject::null())?;
        for (at, file) in files.iter().enumerate() {
            env.with_local_frame(16, |env| -> Result<()> {
                let file = described(env, file)?;
                Ok(list.set_element(env, at, &file)?)
            })?;
        }
        Ok(list)
    }
    fn Java_org_rocksdb_Checkpoint_exportColumnFamily<'l>(
        env, checkpoint: i64, family: i64, path: JString<'l>,
    ) -> i64 {
        let path = text(env, &path)?;
        let (checkpoint, family) = (find::<Checkpoints>(checkpoint)?, find::<Family>(family)?);
        make(Exported(checkpoint.0.get().export_column_family(&family.0, path)?))
    }
    fn Java_org_rocksdb_ImportColumnFamilyOptions_newImportColumnFamilyOptions<'l>(_env) -> i64 {
        make(Imports(AtomicBool::new(false)))
    }
    fn Java_org_rocksdb_ImportColumnFamilyOptions_moveFiles<'l>(_env, options: i64) -> bool {
        Ok(find::<Imports>(options)?.0.load(Ordering::Relaxed))
    }
    fn Java_org_rocksdb_ImportColumnFamilyOptions_setMoveFiles<'l>(
        _env, options: i64, moves: bool,
    ) -> () {
        find::<Imports>(options)?.0.store(moves, Ordering::Relaxed);
        Ok(())
    }
    fn Java_org_rocksdb_ExportImportFilesMetaData_disposeInternal
        Java_org_rocksdb_ImportColumnFamilyOptions_disposeInternal<'l>(_env, object: i64) -> () {
        give_back(object);
        Ok(())
    }
    fn Java_org_rocksdb_RocksDB_createColumnFamilyWithImport<'l>(
        env, handle: i64, bytes_of_name: JByteArray<'l>, _len: i32, options: i64, imports: i64,
        exported: JLongArray<'l>,
    ) -> i64 {
        let (db, name) = (database(handle)?, name(bytes(env, &bytes_of_name)?)?);
        let options = find::<Shared>(options)?.options();
        let mut moving = ImportColumnFamilyOptions::new();
        moving.set_move_files(find::<Imports>(imports)?.0.load(Ordering::Relaxed));
        let exported = longs(env, &exported)?.into_iter().map(find::<Exported>);
        let exported = exported.collect::<Result<Vec<_>>>()?;
        let exported: Vec<_> = exported.iter().map(|exported| &exported.0).collect();
        match &**db {
            Db::Plain(db) => {
                db.create_column_family_with_imports(&options, &name, &moving, &exported)?;
            }
            _ => return Err(invalid("not a plain database")),
        }
        make_of(handle, Family(named(&db, &name)?.0))
    }
}
