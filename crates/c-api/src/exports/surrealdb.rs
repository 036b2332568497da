//! Functions that SurrealDB's fork of RocksDB 11.0 has and no other: for its crate of the C
//! interface, and not for the library.

use super::batches::rocksdb_writebatch_t;
use super::writes::write_options;
use crate::border::{Bytes, ErrPtr, Result, error, exports};
use crate::db::{Db, on_db, open, rocksdb_t};
use crate::families::{family, rocksdb_column_family_handle_t};
use crate::options::rocksdb_block_based_table_options_t;
use crate::options::rocksdb_options_t;
use crate::options::rocksdb_writeoptions_t;
use crate::options::values::fields;
use whitewater::{ColumnFamilyHandle, ErrorKind, WriteOptions};

type Handle<'a> = Option<&'a rocksdb_column_family_handle_t>;
type Options<'a> = Option<&'a rocksdb_writeoptions_t>;

fields! { rocksdb_block_based_table_options_t {
    "initial_auto_readahead_size": usize = 8192, |o, v| o.set_initial_auto_readahead_size(v),
        set rocksdb_block_based_options_set_initial_auto_readahead_size;
    "max_auto_readahead_size": usize = 262_144, |o, v| o.set_max_auto_readahead_size(v),
        set rocksdb_block_based_options_set_max_auto_readahead_size;
    "num_file_reads_for_auto_readahead": u64 = 2,
        |o, v| o.set_num_file_reads_for_auto_readahead(v),
        set rocksdb_block_based_options_set_num_file_reads_for_auto_readahead;
}}

fn delete(
    db: &Db,
    family: &ColumnFamilyHandle,
    (start, end): (&[u8], &[u8]),
    ts: &[u8],
    options: &WriteOptions,
) -> Result<()> {
    match db {
        Db::Plain(db) => db.delete_range_cf_with_ts_opt(family, start, end, ts, options),
        Db::Optimistic(_) | Db::Pessimistic(_) => Err(error(
            ErrorKind::NotSupported,
            "DeleteRange with a timestamp in a database with transactions",
        )),
    }
}

exports! {
    fn rocksdb_delete_range_with_ts(
        db: Option<&rocksdb_t>, options: Options<'_>, start: Bytes, start_len: usize, end: Bytes,
        end_len: usize, ts: Bytes, tslen: usize, errptr: ErrPtr,
    ) {
        errptr.run(|| {
            let (db, options) = (open(db)?, write_options(options)?);
            let family = on_db!(db, db => db.default_family());
            let range = (start.of(start_len), end.of(end_len));
            delete(&db, &family, range, ts.of(tslen), options)
        });
    }
    fn rocksdb_delete_range_cf_with_ts(
        db: Option<&rocksdb_t>, options: Options<'_>, handle: Handle<'_>, start: Bytes,
        start_len: usize, end: Bytes, end_len: usize, ts: Bytes, tslen: usize, errptr: ErrPtr,
    ) {
        errptr.run(|| {
            let (db, options, family) = (open(db)?, write_options(options)?, family(handle)?);
            let range = (start.of(start_len), end.of(end_len));
            delete(&db, family, range, ts.of(tslen), options)
        });
    }
    fn rocksdb_writebatch_delete_range_cf_with_ts(
        batch: Option<&mut rocksdb_writebatch_t>, handle: Handle<'_>, start: Bytes,
        start_len: usize, end: Bytes, end_len: usize, ts: Bytes, tslen: usize,
    ) {
        if let Some((batch, family)) = batch.zip(handle) {
            let (start, end) = (start.of(start_len), end.of(end_len));
            batch.0.delete_range_cf_with_ts(&family.0, start, end, ts.of(tslen));
        }
    }
    fn rocksdb_resume(db: Option<&rocksdb_t>, errptr: ErrPtr) {
        errptr.run(|| {
            let db = open(db)?;
            on_db!(db, db => db.resume())
        });
    }
    // Its default, 16, opens no fewer tables than are opened here; `open` refuses others.
    fn rocksdb_options_set_initial_table_load_limit(
        options: Option<&mut rocksdb_options_t>, limit: i32,
    ) {
        if let Some(options) = options {
            options.set_fixed("initial_table_load_limit", limit, 16);
        }
    }
    fn rocksdb_options_get_initial_table_load_limit(
        options: Option<&mut rocksdb_options_t>,
    ) -> i32 {
        let kept = options.and_then(|options| options.get("initial_table_load_limit"));
        kept.and_then(|text| text.parse().ok()).unwrap_or(16)
    }
}
