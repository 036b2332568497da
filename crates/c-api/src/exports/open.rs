//! Opening, closing, listing, destroying and repairing databases.

use crate::border::{
    Bytes, ErrPtr, List, Malloced, Out, OwnedList, Result, Text, array, copied, count, exports,
    given,
};
use crate::db::{Db, Opening, Plain, rocksdb_t};
use crate::families::{named, rocksdb_column_family_handle_t};
use crate::options::rocksdb_options_t;
use libc::c_char;
use std::sync::Arc;
use std::time::Duration;
use whitewater::{ColumnFamilyDescriptor, ColumnFamilyTtl};

/// Column families as C lists them: names and options.
pub(crate) type Families = (i32, List<Text>, List<Option<&'static rocksdb_options_t>>);

/// The same as descriptors.
pub(crate) fn family_list(families: Families) -> Result<Vec<ColumnFamilyDescriptor>> {
    let (len, names, options) = families;
    let pairs = names.of(count(len)).iter().zip(options.of(count(len)));
    let described = pairs.map(|(name, options)| {
        let options = given(*options)?.options.clone();
        Ok(ColumnFamilyDescriptor::new(name.lossy(), options))
    });
    described.collect()
}

/// Makes handles of the column families `names`.
pub(crate) fn put_handles(
    db: &Arc<Db>,
    (len, names, _): Families,
    handles: Out<Option<Box<rocksdb_column_family_handle_t>>>,
) -> Result<()> {
    for (at, name) in names.of(count(len)).iter().enumerate() {
        handles.set_at(at, Some(named(db, &name.lossy())?));
    }
    Ok(())
}

fn opened(opening: Opening, db: Plain) -> Result<Option<Box<rocksdb_t>>> {
    Ok(Some(opening.opened(Db::Plain(db))))
}

fn opened_with(
    opening: Opening,
    db: Plain,
    families: Families,
    handles: Out<Option<Box<rocksdb_column_family_handle_t>>>,
) -> Result<Option<Box<rocksdb_t>>> {
    let db = opening.opened(Db::Plain(db));
    put_handles(&*db.slot.open()?, families, handles)?;
    Ok(Some(db))
}

/// Seconds as a duration; none or fewer are forever.
pub(super) fn ttl(seconds: i32) -> Duration {
    Duration::from_secs(u64::try_from(seconds).unwrap_or(0))
}

exports! {
    fn rocksdb_open(
        options: Option<&rocksdb_options_t>, name: Text, errptr: ErrPtr,
    ) -> Option<Box<rocksdb_t>> {
        errptr.run(|| {
            let opening = Opening::new(options)?;
            let db = Plain::open(&opening.options, name.path())?;
            opened(opening, db)
        })
    }
    fn rocksdb_open_with_ttl(
        options: Option<&rocksdb_options_t>, name: Text, seconds: i32, errptr: ErrPtr,
    ) -> Option<Box<rocksdb_t>> {
        errptr.run(|| {
            let opening = Opening::new(options)?;
            let db = Plain::open_with_ttl(&opening.options, name.path(), ttl(seconds))?;
            opened(opening, db)
        })
    }
    fn rocksdb_open_for_read_only(
        options: Option<&rocksdb_options_t>, name: Text, error_if_wal_file_exists: u8,
        errptr: ErrPtr,
    ) -> Option<Box<rocksdb_t>> {
        errptr.run(|| {
            let (opening, refuse_logs) = (Opening::new(options)?, error_if_wal_file_exists != 0);
            let db = Plain::open_for_read_only(&opening.options, name.path(), refuse_logs)?;
            opened(opening, db)
        })
    }
    fn rocksdb_open_as_secondary(
        options: Option<&rocksdb_options_t>, name: Text, secondary: Text, errptr: ErrPtr,
    ) -> Option<Box<rocksdb_t>> {
        errptr.run(|| {
            let opening = Opening::new(options)?;
            let db = Plain::open_as_secondary(&opening.options, name.path(), secondary.path())?;
            opened(opening, db)
        })
    }
    fn rocksdb_open_column_families(
        options: Option<&rocksdb_options_t>, name: Text, len: i32, names: List<Text>,
        family_options: List<Option<&'static rocksdb_options_t>>,
        handles: Out<Option<Box<rocksdb_column_family_handle_t>>>, errptr: ErrPtr,
    ) -> Option<Box<rocksdb_t>> {
        errptr.run(|| {
            let (opening, families) = (Opening::new(options)?, (len, names, family_options));
            let options = &opening.options;
            let list = family_list(families)?;
            let db = Plain::open_cf_descriptors(options, name.path(), list)?;
            opened_with(opening, db, families, handles)
        })
    }
    fn rocksdb_open_and_trim_history(
        options: Option<&rocksdb_options_t>, name: Text, len: i32, names: List<Text>,
        family_options: List<Option<&'static rocksdb_options_t>>,
        handles: Out<Option<Box<rocksdb_column_family_handle_t>>>, ts: Bytes, tslen: usize,
        errptr: ErrPtr,
    ) -> Option<Box<rocksdb_t>> {
        errptr.run(|| {
            let (opening, families) = (Opening::new(options)?, (len, names, family_options));
            let (options, list) = (&opening.options, family_list(families)?);
            let db = Plain::open_and_trim_history(options, name.path(), list, ts.of(tslen))?;
            opened_with(opening, db, families, handles)
        })
    }
    fn rocksdb_open_column_families_with_ttl(
        options: Option<&rocksdb_options_t>, name: Text, len: i32, names: List<Text>,
        family_options: List<Option<&'static rocksdb_options_t>>,
        handles: Out<Option<Box<rocksdb_column_family_handle_t>>>, ttls: List<i32>,
        errptr: ErrPtr,
    ) -> Option<Box<rocksdb_t>> {
        errptr.run(|| {
            let (opening, families) = (Opening::new(options)?, (len, names, family_options));
            let options = &opening.options;
            let mut list = family_list(families)?;
            for (family, seconds) in list.iter_mut().zip(ttls.of(count(len))) {
                family.set_ttl(ColumnFamilyTtl::Duration(ttl(*seconds)));
            }
            let db = Plain::open_cf_descriptors_with_ttl(options, name.path(), list, ttl(0))?;
            opened_with(opening, db, families, handles)
        })
    }
    fn rocksdb_open_for_read_only_column_families(
        options: Option<&rocksdb_options_t>, name: Text, len: i32, names: List<Text>,
        family_options: List<Option<&'static rocksdb_options_t>>,
        handles: Out<Option<Box<rocksdb_column_family_handle_t>>>, error_if_wal_file_exists: u8,
        errptr: ErrPtr,
    ) -> Option<Box<rocksdb_t>> {
        errptr.run(|| {
            let (opening, families) = (Opening::new(options)?, (len, names, family_options));
            let options = &opening.options;
            let (list, refuse_logs) = (family_list(families)?, error_if_wal_file_exists != 0);
            let db = Plain::open_cf_descriptors_read_only(options, name.path(), list, refuse_logs)?;
            opened_with(opening, db, families, handles)
        })
    }
    fn rocksdb_open_as_secondary_column_families(
        options: Option<&rocksdb_options_t>, name: Text, secondary: Text, len: i32,
        names: List<Text>, family_options: List<Option<&'static rocksdb_options_t>>,
        handles: Out<Option<Box<rocksdb_column_family_handle_t>>>, errptr: ErrPtr,
    ) -> Option<Box<rocksdb_t>> {
        errptr.run(|| {
            let (opening, families) = (Opening::new(options)?, (len, names, family_options));
            let options = &opening.options;
            let (list, name) = (family_list(families)?, name.path());
            let secondary = secondary.path();
            let db = Plain::open_cf_descriptors_as_secondary(options, name, secondary, list)?;
            opened_with(opening, db, families, handles)
        })
    }
    fn rocksdb_close(db: Option<&'static rocksdb_t>) {
        if let Some(db) = db {
            db.close();
        }
    }
    fn rocksdb_list_column_families(
        options: Option<&rocksdb_options_t>, name: Text, len: Out<usize>, errptr: ErrPtr,
    ) -> *mut *mut c_char {
        len.set(0);
        errptr.run(|| {
            let names = Plain::list_cf(&given(options)?.options, name.path())?;
            len.set(names.len());
            Ok(array(names.iter().map(|name| copied(name.as_bytes())).collect()))
        })
    }
    fn rocksdb_list_column_families_destroy(list: OwnedList<Malloced>, len: usize) {
        list.take(len).into_iter().for_each(Malloced::free);
    }
    fn rocksdb_destroy_db(options: Option<&rocksdb_options_t>, name: Text, errptr: ErrPtr) {
        errptr.run(|| Plain::destroy(&given(options)?.options, name.path()));
    }
    fn rocksdb_repair_db(options: Option<&rocksdb_options_t>, name: Text, errptr: ErrPtr) {
        errptr.run(|| Plain::repair(&given(options)?.options, name.path()));
    }
    fn rocksdb_try_catch_up_with_primary(db: Option<&rocksdb_t>, errptr: ErrPtr) {
        errptr.run(|| match &**crate::db::open(db)? {
            Db::Plain(db) => db.try_catch_up_with_primary(),
            _ => Err(crate::border::invalid("not a secondary database")),
        });
    }
    fn rocksdb_free(memory: Malloced) {
        memory.free();
    }
}
