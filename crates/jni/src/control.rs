//! Flushes, compactions and what else can be asked of an open database.

use crate::border::{bytes_given, invalid, longs, natives, not_implemented, text, texts};
use crate::databases::{database, family};
use crate::handles::{find, give_back, make_of};
use crate::per_call::{Compactions, Flushes};
use jni::objects::{JByteArray, JLongArray, JObjectArray, JString};
use std::path::Path;
use std::{fs, io};
use whitewater::checkpoint::Checkpoint;
use whitewater::{CompactOptions, Error, ErrorKind};
use whitewater_c_api::db::Db;
use whitewater_c_api::held::Held;
use whitewater_c_api::on_db;

/// What makes checkpoints of a database.
pub(crate) struct Checkpoints(pub(crate) Held<Checkpoint<'static>, Db>);

/// Deletes logs without content from a checkpoint. RocksDB 8, whose classes Flink uses, puts none
/// there, and Flink fails on an empty file.
fn leave_out_empty_logs(checkpoint: &Path) -> io::Result<()> {
    for entry in fs::read_dir(checkpoint)? {
        let path = entry?.path();
        if path.extension().is_some_and(|e| e == "log") && fs::metadata(&path)?.len() == 0 {
            fs::remove_file(path)?;
        }
    }
    Ok(())
}

natives! {
    fn Java_org_rocksdb_RocksDB_flush<'l>(
        env, db: i64, options: i64, families: JLongArray<'l>,
    ) -> () {
        let (db, options) = (database(db)?, find::<Flushes>(options)?.now());
        let handles = if families.is_null() { Vec::new() } else { longs(env, &families)? };
        if handles.is_empty() {
            return Ok(on_db!(db, db => db.flush_opt(&options.options))?);
        }
        let families = handles.into_iter().map(|handle| family(&db, handle));
        let families = families.collect::<crate::border::Result<Vec<_>>>()?;
        let list: Vec<_> = families.iter().collect();
        Ok(on_db!(db, db => db.flush_cfs_opt(&list, &options.options))?)
    }
    fn Java_org_rocksdb_RocksDB_flushWal<'l>(_env, db: i64, sync: bool) -> () {
        let db = database(db)?;
        Ok(on_db!(db, db => db.flush_wal(sync))?)
    }
    fn Java_org_rocksdb_RocksDB_syncWal<'l>(_env, db: i64) -> () {
        let db = database(db)?;
        Ok(on_db!(db, db => db.flush_wal(true))?)
    }
    fn Java_org_rocksdb_RocksDB_compactRange<'l>(
        env, db: i64, begin: JByteArray<'l>, _begin_len: i32, end: JByteArray<'l>, _end_len: i32,
        options: i64, handle: i64,
    ) -> () {
        let db = database(db)?;
        let (begin, end) = (bytes_given(env, &begin)?, bytes_given(env, &end)?);
        let options = match options {
            0 => CompactOptions::default(),
            options => find::<Compactions>(options)?.now().options.clone(),
        };
        let family = family(&db, handle)?;
        Ok(on_db!(db, db => db.try_compact_range_cf_opt(&family, begin, end, &options))?)
    }
    fn Java_org_rocksdb_RocksDB_cancelAllBackgroundWork<'l>(_env, db: i64, wait: bool) -> () {
        let db = database(db)?;
        on_db!(db, db => db.cancel_all_background_work(wait));
        Ok(())
    }
    fn Java_org_rocksdb_RocksDB_setOptions<'l>(
        env, db: i64, handle: i64, names: JObjectArray<'l, JString<'l>>,
        values: JObjectArray<'l, JString<'l>>,
    ) -> () {
        let db = database(db)?;
        let (names, values) = (texts(env, &names)?, texts(env, &values)?);
        let pairs: Vec<_> = names.iter().zip(&values).map(|(n, v)| (&**n, &**v)).collect();
        let family = family(&db, handle)?;
        Ok(on_db!(db, db => db.set_options_cf(&family, &pairs))?)
    }
    fn Java_org_rocksdb_RocksDB_setDBOptions<'l>(
        env, db: i64, names: JObjectArray<'l, JString<'l>>, values: JObjectArray<'l, JString<'l>>,
    ) -> () {
        let db = database(db)?;
        let (names, values) = (texts(env, &names)?, texts(env, &values)?);
        let pairs: Vec<_> = names.iter().zip(&values).map(|(n, v)| (&**n, &**v)).collect();
        Ok(on_db!(db, db => db.set_db_options(&pairs))?)
    }
    fn Java_org_rocksdb_RocksDB_disableFileDeletions<'l>(_env, db: i64) -> () {
        let db = database(db)?;
        Ok(on_db!(db, db => db.disable_file_deletions())?)
    }
    fn Java_org_rocksdb_RocksDB_enableFileDeletions__J<'l>(_env, db: i64) -> () {
        let db = database(db)?;
        Ok(on_db!(db, db => db.enable_file_deletions())?)
    }
    fn Java_org_rocksdb_RocksDB_enableFileDeletions__JZ<'l>(_env, db: i64, all: bool) -> () {
        if all {
            return Err(not_implemented("RocksDB.enableFileDeletions with force"));
        }
        let db = database(db)?;
        Ok(on_db!(db, db => db.enable_file_deletions())?)
    }
    fn Java_org_rocksdb_RocksDB_verifyChecksum<'l>(_env, db: i64) -> () {
        let db = database(db)?;
        Ok(on_db!(db, db => db.verify_checksum())?)
    }
    fn Java_org_rocksdb_Checkpoint_newCheckpoint<'l>(_env, handle: i64) -> i64 {
        let db = database(handle)?;
        let checkpoint = Held::try_of(&db, |db: &'static Db| match db {
            Db::Plain(db) => Ok(Checkpoint::new(db)?),
            _ => Err(invalid("not a plain database")),
        })?;
        make_of(handle, Checkpoints(checkpoint))
    }
    fn Java_org_rocksdb_Checkpoint_createCheckpoint<'l>(
        env, checkpoint: i64, path: JString<'l>,
    ) -> () {
        let path = text(env, &path)?;
        find::<Checkpoints>(checkpoint)?.0.get().create_checkpoint(&path)?;
        leave_out_empty_logs(Path::new(&path))
            .map_err(|e| Error::new(ErrorKind::IOError, format_args!("{path}: {e}")).into())
    }
    fn Java_org_rocksdb_Checkpoint_disposeInternalJni
        Java_org_rocksdb_Checkpoint_disposeInternal<'l>(_env, checkpoint: i64) -> () {
        give_back(checkpoint);
        Ok(())
    }
}
