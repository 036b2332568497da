//! Databases with optimistic transactions.

use super::batches::rocksdb_writebatch_t;
use super::writes::{rocksdb_write, write_options};
use super::{family_list, put_handles};
use crate::border::{ErrPtr, List, Out, Text, exports};
use crate::db::{Db, Opening, Optimistic, open, rocksdb_optimistictransactiondb_t, rocksdb_t};
use crate::families::rocksdb_column_family_handle_t;
use crate::options::values::{Built, fields, made};
use crate::options::{rocksdb_options_t, rocksdb_writeoptions_t};
use crate::transaction::{begin_optimistic, rocksdb_transaction_t, shared};
use whitewater::OptimisticTransactionOptions;

pub type rocksdb_optimistictransaction_options_t = Built<OptimisticTransactionOptions>;

made! {
    rocksdb_optimistictransaction_options_t = Built::default(),
        rocksdb_optimistictransaction_options_create, rocksdb_optimistictransaction_options_destroy;
}

fields! { rocksdb_optimistictransaction_options_t {
    "set_snapshot": u8 = 0, |o, v| o.set_snapshot(v != 0),
        set rocksdb_optimistictransaction_options_set_set_snapshot;
}}

exports! {
    fn rocksdb_optimistictransactiondb_open(
        options: Option<&rocksdb_options_t>, name: Text, errptr: ErrPtr,
    ) -> Option<Box<rocksdb_optimistictransactiondb_t>> {
        errptr.run(|| {
            let opening = Opening::new(options)?;
            let db = Optimistic::open(&opening.options, name.path())?;
            Ok(Some(opening.opened(Db::Optimistic(db))))
        })
    }
    fn rocksdb_optimistictransactiondb_open_column_families(
        options: Option<&rocksdb_options_t>, name: Text, len: i32, names: List<Text>,
        family_options: List<Option<&'static rocksdb_options_t>>,
        handles: Out<Option<Box<rocksdb_column_family_handle_t>>>, errptr: ErrPtr,
    ) -> Option<Box<rocksdb_optimistictransactiondb_t>> {
        errptr.run(|| {
            let (opening, families) = (Opening::new(options)?, (len, names, family_options));
            let list = family_list(families)?;
            let db = Optimistic::open_cf_descriptors(&opening.options, name.path(), list)?;
            let db = opening.opened(Db::Optimistic(db));
            put_handles(&*db.slot.open()?, families, handles)?;
            Ok(Some(db))
        })
    }
    fn rocksdb_optimistictransactiondb_close(
        db: Option<&'static rocksdb_optimistictransactiondb_t>,
    ) {
        if let Some(db) = db {
            db.close();
        }
    }
    fn rocksdb_optimistictransactiondb_get_base_db(
        db: Option<&rocksdb_optimistictransactiondb_t>,
    ) -> Option<Box<rocksdb_t>> {
        Some(db?.again())
    }
    fn rocksdb_optimistictransactiondb_close_base_db(_base: Option<Box<rocksdb_t>>) {}
    fn rocksdb_optimistictransactiondb_write(
        db: Option<&rocksdb_optimistictransactiondb_t>, options: Option<&rocksdb_writeoptions_t>,
        batch: Option<&rocksdb_writebatch_t>, errptr: ErrPtr,
    ) {
        rocksdb_write(db, options, batch, errptr);
    }
    fn rocksdb_optimistictransaction_begin(
        db: Option<&rocksdb_optimistictransactiondb_t>, write: Option<&rocksdb_writeoptions_t>,
        options: Option<&rocksdb_optimistictransaction_options_t>,
        old: Option<Box<rocksdb_transaction_t>>,
    ) -> Option<Box<rocksdb_transaction_t>> {
        let (db, write) = (open(db).ok()?, write_options(write).ok()?);
        let txn = shared(begin_optimistic(&db, write, &options?.options)?);
        match old {
            Some(mut old) => {
                *old = rocksdb_transaction_t::new(txn);
                Some(old)
            }
            None => Some(Box::new(rocksdb_transaction_t::new(txn))),
        }
    }
}
