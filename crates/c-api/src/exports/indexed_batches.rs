//! Write batches with an index.

use super::batches::{batch_functions, protection};
use super::iterator;
use super::reads::{read_options, rocksdb_pinnableslice_t};
use super::refused::refuse_aloud;
use super::writes::write_options;
use crate::border::{
    Bytes, ErrPtr, List, Out, Result, error, exports, given, joined, lent, optional,
};
use crate::callbacks::{Deleted, Put, State, TimestampSize, Visit, rocksdb_comparator_t};
use crate::db::{on_db, open, rocksdb_t};
use crate::families::{family, rocksdb_column_family_handle_t};
use crate::iterator::rocksdb_iterator_t;
use crate::options::{rocksdb_options_t, rocksdb_readoptions_t, rocksdb_writeoptions_t};
use crate::transaction::{lent_batch, rocksdb_transaction_t};
use libc::c_char;
use whitewater::{ErrorKind, WriteBatchWithIndex};

/// Writes that happen together, and can be read before.
pub struct rocksdb_writebatch_wi_t(Kind);

enum Kind {
    Own(WriteBatchWithIndex),
    /// That of a transaction, by its number. `rocksdb_free` gives it back, so it owns nothing.
    Lent(u64),
}

impl rocksdb_writebatch_wi_t {
    fn new(batch: WriteBatchWithIndex) -> Self {
        rocksdb_writebatch_wi_t(Kind::Own(batch))
    }

    /// The batch of a transaction, as it is now.
    pub(super) fn lent(txn: &rocksdb_transaction_t) -> Self {
        rocksdb_writebatch_wi_t(Kind::Lent(txn.lend_batch()))
    }

    /// What `f` returns for the batch.
    ///
    /// # Errors
    /// `InvalidArgument` if its transaction was destroyed.
    pub(super) fn read<R>(&self, f: impl FnOnce(&WriteBatchWithIndex) -> R) -> Result<R> {
        match &self.0 {
            Kind::Own(batch) => Ok(f(batch)),
            Kind::Lent(number) => Ok(f(&*lent_batch(*number)?)),
        }
    }

    /// The batch, to be written to. Unlike in RocksDB, that of a transaction is only read.
    fn writes(&mut self) -> Option<&mut WriteBatchWithIndex> {
        match &mut self.0 {
            Kind::Own(batch) => Some(batch),
            Kind::Lent(_) => {
                refuse_aloud("a write to the batch that a transaction has lent");
                None
            }
        }
    }
}

type Batch<'a> = Option<&'a mut rocksdb_writebatch_wi_t>;
type Handle<'a> = Option<&'a rocksdb_column_family_handle_t>;

batch_functions!(Batch, rocksdb_writebatch_wi_t {
    rocksdb_writebatch_wi_put rocksdb_writebatch_wi_put_cf
    rocksdb_writebatch_wi_putv rocksdb_writebatch_wi_putv_cf
    rocksdb_writebatch_wi_merge rocksdb_writebatch_wi_merge_cf
    rocksdb_writebatch_wi_mergev rocksdb_writebatch_wi_mergev_cf
    rocksdb_writebatch_wi_delete rocksdb_writebatch_wi_delete_cf
    rocksdb_writebatch_wi_deletev rocksdb_writebatch_wi_deletev_cf
    rocksdb_writebatch_wi_singledelete rocksdb_writebatch_wi_singledelete_cf
    rocksdb_writebatch_wi_put_log_data rocksdb_writebatch_wi_clear rocksdb_writebatch_wi_destroy
    rocksdb_writebatch_wi_set_save_point rocksdb_writebatch_wi_rollback_to_save_point
});

exports! {
    fn rocksdb_writebatch_wi_create(
        reserved: usize, overwrite_keys: u8,
    ) -> Option<Box<rocksdb_writebatch_wi_t>> {
        let batch = WriteBatchWithIndex::new(reserved, overwrite_keys != 0);
        Some(Box::new(rocksdb_writebatch_wi_t::new(batch)))
    }
    fn rocksdb_writebatch_wi_count(batch: Option<&rocksdb_writebatch_wi_t>) -> i32 {
        let count = batch.and_then(|batch| batch.read(WriteBatchWithIndex::count).ok());
        count.map_or(0, |count| i32::try_from(count).unwrap_or(i32::MAX))
    }
    fn rocksdb_writebatch_wi_data(
        batch: Option<&rocksdb_writebatch_wi_t>, len: Out<usize>,
    ) -> *const c_char {
        len.set(0);
        // What a transaction has lent stays where it is until the transaction is destroyed.
        let data = batch.and_then(|batch| batch.read(|batch| lent(Some(batch.data()), len)).ok());
        data.unwrap_or(std::ptr::null())
    }
    fn rocksdb_writebatch_wi_iterate(
        batch: Option<&rocksdb_writebatch_wi_t>, state: State, put: Put, deleted: Deleted,
    ) {
        if let Some(batch) = batch {
            let _ = batch.read(|batch| {
                batch.to_write_batch().iterate(&mut Visit { state, put, deleted });
            });
        }
    }
    // The batch knows the sizes that C is asked for. It refuses others.
    fn rocksdb_writebatch_wi_update_timestamps(
        batch: Batch<'_>, ts: Bytes, tslen: usize, state: State, size_of: TimestampSize,
        errptr: ErrPtr,
    ) {
        errptr.run(|| {
            let batch = given(given(batch)?.writes())?;
            let other = batch.timestamp_sizes().find(|(id, size)| size_of(state, *id) != *size);
            match other {
                Some((id, size)) => {
                    let text = format!("column family {id} has timestamps of {size} bytes");
                    Err(error(ErrorKind::InvalidArgument, &text))
                }
                None => batch.update_timestamps(ts.of(tslen)),
            }
        });
    }
    fn rocksdb_writebatch_wi_get_from_batch(
        batch: Option<&rocksdb_writebatch_wi_t>, _options: Option<&rocksdb_options_t>, key: Bytes,
        keylen: usize, len: Out<usize>, errptr: ErrPtr,
    ) -> *mut c_char {
        len.set(0);
        errptr.run(|| {
            let value = given(batch)?.read(|batch| batch.get_from_batch(key.of(keylen)))?;
            Ok(optional(value?, len))
        })
    }
    fn rocksdb_writebatch_wi_get_from_batch_cf(
        batch: Option<&rocksdb_writebatch_wi_t>, _options: Option<&rocksdb_options_t>,
        handle: Handle<'_>, key: Bytes, keylen: usize, len: Out<usize>, errptr: ErrPtr,
    ) -> *mut c_char {
        len.set(0);
        errptr.run(|| {
            let (batch, family) = (given(batch)?, family(handle)?);
            let value = batch.read(|batch| batch.get_from_batch_cf(family, key.of(keylen)))?;
            Ok(optional(value?, len))
        })
    }
    fn rocksdb_writebatch_wi_get_from_batch_and_db(
        batch: Option<&rocksdb_writebatch_wi_t>, db: Option<&rocksdb_t>,
        options: Option<&rocksdb_readoptions_t>, key: Bytes, keylen: usize, len: Out<usize>,
        errptr: ErrPtr,
    ) -> *mut c_char {
        len.set(0);
        errptr.run(|| {
            let (batch, db, options) = (given(batch)?, open(db)?, read_options(options)?);
            let key = key.of(keylen);
            let value = batch.read(|batch| on_db!(db, db => {
                batch.sorted_for(db)?.get_from_batch_and_db(db, options, key)
            }))?;
            Ok(optional(value?, len))
        })
    }
    fn rocksdb_writebatch_wi_get_from_batch_and_db_cf(
        batch: Option<&rocksdb_writebatch_wi_t>, db: Option<&rocksdb_t>,
        options: Option<&rocksdb_readoptions_t>, handle: Handle<'_>, key: Bytes, keylen: usize,
        len: Out<usize>, errptr: ErrPtr,
    ) -> *mut c_char {
        len.set(0);
        errptr.run(|| {
            let (batch, db, options) = (given(batch)?, open(db)?, read_options(options)?);
            let (key, family) = (key.of(keylen), family(handle)?);
            let value = batch.read(|batch| on_db!(db, db => {
                batch.sorted_for(db)?.get_from_batch_and_db_cf(db, options, family, key)
            }))?;
            Ok(optional(value?, len))
        })
    }
    fn rocksdb_write_writebatch_wi(
        db: Option<&rocksdb_t>, options: Option<&rocksdb_writeoptions_t>,
        batch: Option<&rocksdb_writebatch_wi_t>, errptr: ErrPtr,
    ) {
        errptr.run(|| {
            let (db, options, batch) = (open(db)?, write_options(options)?, given(batch)?);
            batch.read(|batch| on_db!(db, db => db.write_indexed_batch(batch, options)))?
        });
    }
    fn rocksdb_writebatch_wi_create_iterator_with_base(
        batch: Option<&rocksdb_writebatch_wi_t>, base: Option<Box<rocksdb_iterator_t>>,
    ) -> Option<Box<rocksdb_iterator_t>> {
        let (batch, base) = (batch?, base?);
        batch.read(|batch| iterator(base.0.map(|base| base.with_batch(batch)))).ok()
    }
    // The base is an iterator over the column family.
    fn rocksdb_writebatch_wi_create_iterator_with_base_cf(
        batch: Option<&rocksdb_writebatch_wi_t>, base: Option<Box<rocksdb_iterator_t>>,
        _handle: Handle<'_>,
    ) -> Option<Box<rocksdb_iterator_t>> {
        rocksdb_writebatch_wi_create_iterator_with_base(batch, base)
    }
    // The comparator of the database that the batch is written to takes the place of `_comparator`.
    fn rocksdb_writebatch_wi_create_with_params(
        _comparator: Option<&rocksdb_comparator_t>, reserved: usize, overwrite_keys: u8,
        max_bytes: usize, protected: usize,
    ) -> Option<Box<rocksdb_writebatch_wi_t>> {
        let name = "rocksdb_writebatch_wi_create_with_params";
        if max_bytes != 0 {
            refuse_aloud(&format!("{name}: max_bytes {max_bytes}"));
            return None;
        }
        let (overwrites, protection) = (overwrite_keys != 0, protection(protected));
        match WriteBatchWithIndex::with_protection(reserved, overwrites, protection) {
            Ok(batch) => Some(Box::new(rocksdb_writebatch_wi_t::new(batch))),
            Err(e) => {
                refuse_aloud(&format!("{name}: {e}"));
                None
            }
        }
    }
    // The bounds of the base are those of its own options.
    fn rocksdb_writebatch_wi_create_iterator_with_base_readopts(
        batch: Option<&rocksdb_writebatch_wi_t>, base: Option<Box<rocksdb_iterator_t>>,
        _options: Option<&rocksdb_readoptions_t>,
    ) -> Option<Box<rocksdb_iterator_t>> {
        rocksdb_writebatch_wi_create_iterator_with_base(batch, base)
    }
    fn rocksdb_writebatch_wi_create_iterator_with_base_cf_readopts(
        batch: Option<&rocksdb_writebatch_wi_t>, base: Option<Box<rocksdb_iterator_t>>,
        _handle: Handle<'_>, _options: Option<&rocksdb_readoptions_t>,
    ) -> Option<Box<rocksdb_iterator_t>> {
        rocksdb_writebatch_wi_create_iterator_with_base(batch, base)
    }
    fn rocksdb_writebatch_wi_get_pinned_from_batch_and_db(
        batch: Option<&rocksdb_writebatch_wi_t>, db: Option<&rocksdb_t>,
        options: Option<&rocksdb_readoptions_t>, key: Bytes, keylen: usize, errptr: ErrPtr,
    ) -> Option<Box<rocksdb_pinnableslice_t>> {
        errptr.run(|| {
            let (batch, db, options) = (given(batch)?, open(db)?, read_options(options)?);
            let key = key.of(keylen);
            let value = batch.read(|batch| on_db!(db, db => {
                batch.sorted_for(db)?.get_from_batch_and_db(db, options, key)
            }))??;
            Ok(value.map(|value| Box::new(rocksdb_pinnableslice_t::copied(value))))
        })
    }
    fn rocksdb_writebatch_wi_get_pinned_from_batch_and_db_cf(
        batch: Option<&rocksdb_writebatch_wi_t>, db: Option<&rocksdb_t>,
        options: Option<&rocksdb_readoptions_t>, handle: Handle<'_>, key: Bytes, keylen: usize,
        errptr: ErrPtr,
    ) -> Option<Box<rocksdb_pinnableslice_t>> {
        errptr.run(|| {
            let (batch, db, options) = (given(batch)?, open(db)?, read_options(options)?);
            let (key, family) = (key.of(keylen), family(handle)?);
            let value = batch.read(|batch| on_db!(db, db => {
                batch.sorted_for(db)?.get_from_batch_and_db_cf(db, options, family, key)
            }))??;
            Ok(value.map(|value| Box::new(rocksdb_pinnableslice_t::copied(value))))
        })
    }
}
