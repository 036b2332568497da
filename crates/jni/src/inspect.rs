//! Properties and files.

use crate::border::{Failure, natives, not_implemented, text};
use crate::databases::{database, family};
use jni::objects::JString;
use whitewater::{Error, ErrorKind};
use whitewater_c_api::on_db;

/// As in RocksDB, a property that is not known is `NotFound`.
fn unknown(name: &str) -> Failure {
    Error::new(ErrorKind::NotFound, name).into()
}

natives! {
    fn Java_org_rocksdb_RocksDB_getProperty<'l>(
        env, db: i64, handle: i64, name: JString<'l>, _len: i32,
    ) -> JString<'l> {
        let (db, name) = (database(db)?, text(env, &name)?);
        let family = family(&db, handle)?;
        let value = on_db!(db, db => db.property_value_cf(&family, &*name))?;
        Ok(env.new_string(value.ok_or_else(|| unknown(&name))?)?)
    }
    fn Java_org_rocksdb_RocksDB_getLongProperty<'l>(
        env, db: i64, handle: i64, name: JString<'l>, _len: i32,
    ) -> i64 {
        let (db, name) = (database(db)?, text(env, &name)?);
        let family = family(&db, handle)?;
        let value = on_db!(db, db => db.property_int_value_cf(&family, &*name))?;
        Ok(value.ok_or_else(|| unknown(&name))? as i64)
    }
    fn Java_org_rocksdb_RocksDB_getAggregatedLongProperty<'l>(
        env, db: i64, name: JString<'l>, _len: i32,
    ) -> i64 {
        let (db, name) = (database(db)?, text(env, &name)?);
        // Column families may share a cache.
        if name.starts_with("rocksdb.block-cache-") {
            return Err(not_implemented(&format!("RocksDB.getAggregatedLongProperty of {name}")));
        }
        let mut sum = 0;
        for family in on_db!(db, db => db.families()) {
            let value = on_db!(db, db => db.property_int_value_cf(&family, &*name))?;
            sum += value.ok_or_else(|| unknown(&name))?;
        }
        Ok(sum as i64)
    }
    fn Java_org_rocksdb_RocksDB_getLatestSequenceNumber<'l>(_env, db: i64) -> i64 {
        let db = database(db)?;
        Ok(on_db!(db, db => db.latest_sequence_number()) as i64)
    }
    fn Java_org_rocksdb_RocksDB_getName<'l>(env, db: i64) -> JString<'l> {
        let path = {
            let db = database(db)?;
            on_db!(db, db => db.path().to_string_lossy().into_owned())
        };
        Ok(env.new_string(path)?)
    }
}
