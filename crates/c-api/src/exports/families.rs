//! Creating and dropping column families; their handles.

use super::open::ttl;
use crate::border::{ErrPtr, Out, Text, exports, given, optional};
use crate::db::{on_db, open, rocksdb_t, rocksdb_transactiondb_t};
use crate::families::{family, named, rocksdb_column_family_handle_t};
use crate::options::rocksdb_options_t;
use libc::c_char;

exports! {
    fn rocksdb_create_column_family(
        db: Option<&rocksdb_t>, options: Option<&rocksdb_options_t>, name: Text, errptr: ErrPtr,
    ) -> Option<Box<rocksdb_column_family_handle_t>> {
        errptr.run(|| {
            let (db, name) = (open(db)?, name.lossy());
            on_db!(db, db => db.create_cf(&name, &given(options)?.options))?;
            named(&db, &name).map(Some)
        })
    }
    fn rocksdb_create_column_family_with_ttl(
        db: Option<&rocksdb_t>, options: Option<&rocksdb_options_t>, name: Text, seconds: i32,
        errptr: ErrPtr,
    ) -> Option<Box<rocksdb_column_family_handle_t>> {
        errptr.run(|| {
            let (db, name, options) = (open(db)?, name.lossy(), &given(options)?.options);
            on_db!(db, db => db.create_cf_with_ttl(&name, options, ttl(seconds)))?;
            named(&db, &name).map(Some)
        })
    }
    fn rocksdb_transactiondb_create_column_family(
        db: Option<&rocksdb_transactiondb_t>, options: Option<&rocksdb_options_t>, name: Text,
        errptr: ErrPtr,
    ) -> Option<Box<rocksdb_column_family_handle_t>> {
        rocksdb_create_column_family(db, options, name, errptr)
    }
    fn rocksdb_drop_column_family(
        db: Option<&rocksdb_t>, handle: Option<&rocksdb_column_family_handle_t>, errptr: ErrPtr,
    ) {
        errptr.run(|| {
            let (db, family) = (open(db)?, family(handle)?);
            on_db!(db, db => db.drop_cf_of(family))
        });
    }
    fn rocksdb_column_family_handle_destroy(
        _handle: Option<Box<rocksdb_column_family_handle_t>>,
    ) {}
    fn rocksdb_column_family_handle_get_id(
        handle: Option<&rocksdb_column_family_handle_t>,
    ) -> u32 {
        handle.map_or(0, |handle| handle.0.family_id())
    }
    fn rocksdb_column_family_handle_get_name(
        handle: Option<&rocksdb_column_family_handle_t>, len: Out<usize>,
    ) -> *mut c_char {
        optional(handle.map(|handle| handle.0.family_name()), len)
    }
    fn rocksdb_get_default_column_family_handle(
        db: Option<&rocksdb_t>,
    ) -> Option<Box<rocksdb_column_family_handle_t>> {
        let db = open(db).ok()?;
        Some(Box::new(rocksdb_column_family_handle_t(on_db!(db, db => db.default_family()))))
    }
}
