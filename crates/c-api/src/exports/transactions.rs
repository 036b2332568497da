//! Transactions of either kind.

use super::batches::rocksdb_writebatch_t;
use super::indexed_batches::rocksdb_writebatch_wi_t;
use super::iterator;
use super::reads::rocksdb_pinnableslice_t;
use super::reads::{all_fail, pinned, put_values, read_options, with_families};
use crate::border::{
    Bytes, ErrPtr, List, MallocedHandle, Nothing, Out, Result, exports, given, optional, strings,
};
use crate::families::{family, rocksdb_column_family_handle_t};
use crate::held::Held;
use crate::iterator::{Cursor, rocksdb_iterator_t};
use crate::options::rocksdb_readoptions_t;
use crate::snapshot::rocksdb_snapshot_t;
use crate::transaction::{Txn, on_txn, rocksdb_transaction_t};
use libc::c_char;
use whitewater::WriteBatchWithTransaction;

type Transaction<'a> = Option<&'a rocksdb_transaction_t>;
type Handle<'a> = Option<&'a rocksdb_column_family_handle_t>;
type Options<'a> = Option<&'a rocksdb_readoptions_t>;

fn of(txn: Transaction<'_>) -> Result<&Txn> {
    Ok(given(txn)?.0.get())
}

/// An iterator over the default column family, or another.
fn create(
    txn: Transaction<'_>,
    options: Options<'_>,
    handle: Option<Handle<'_>>,
) -> Result<Option<Box<rocksdb_iterator_t>>> {
    let (txn, options) = (given(txn)?, read_options(options)?.duplicate());
    let family = handle.map(family).transpose()?;
    let cursor = Held::new(&txn.0, |txn: &'static Held<Txn>| {
        on_txn!(txn.get(), txn => {
            let cursor: Box<dyn Cursor> = match family {
                None => Box::new(txn.raw_iterator_opt(options)),
                Some(family) => Box::new(txn.raw_iterator_cf_opt(family, options)),
            };
            cursor
        })
    });
    Ok(Some(iterator(cursor)))
}

exports! {
    fn rocksdb_transaction_destroy(_txn: Option<Box<rocksdb_transaction_t>>) {}
    fn rocksdb_transaction_commit(txn: Transaction<'_>, errptr: ErrPtr) {
        errptr.run(|| on_txn!(of(txn)?, txn => txn.commit_kept()));
    }
    fn rocksdb_transaction_rollback(txn: Transaction<'_>, errptr: ErrPtr) {
        errptr.run(|| on_txn!(of(txn)?, txn => txn.rollback()));
    }
    fn rocksdb_transaction_prepare(txn: Transaction<'_>, errptr: ErrPtr) {
        errptr.run(|| on_txn!(of(txn)?, txn => txn.prepare()));
    }
    fn rocksdb_transaction_set_name(
        txn: Transaction<'_>, name: Bytes, len: usize, errptr: ErrPtr,
    ) {
        errptr.run(|| on_txn!(of(txn)?, txn => txn.set_name(name.of(len))));
    }
    fn rocksdb_transaction_get_name(txn: Transaction<'_>, len: Out<usize>) -> *mut c_char {
        let name = of(txn).ok().and_then(|txn| on_txn!(txn, txn => txn.get_name()));
        optional(name, len)
    }
    fn rocksdb_transaction_set_savepoint(txn: Transaction<'_>) {
        if let Ok(txn) = of(txn) {
            on_txn!(txn, txn => txn.set_savepoint());
        }
    }
    fn rocksdb_transaction_rollback_to_savepoint(txn: Transaction<'_>, errptr: ErrPtr) {
        errptr.run(|| on_txn!(of(txn)?, txn => txn.rollback_to_savepoint()));
    }
    fn rocksdb_transaction_set_commit_timestamp(txn: Transaction<'_>, ts: u64) {
        if let Ok(txn) = of(txn) {
            let _ = on_txn!(txn, txn => txn.set_commit_timestamp(ts));
        }
    }
    fn rocksdb_transaction_set_read_timestamp_for_validation(txn: Transaction<'_>, ts: u64) {
        if let Ok(txn) = of(txn) {
            let _ = on_txn!(txn, txn => txn.set_read_timestamp_for_validation(ts));
        }
    }
    // `rocksdb_free` gives it back.
    fn rocksdb_transaction_get_snapshot(
        txn: Transaction<'_>,
    ) -> MallocedHandle<rocksdb_snapshot_t> {
        txn.map_or_else(Nothing::nothing, |txn| MallocedHandle::new(txn.snapshot()))
    }
    // The batch as it is now, of the transaction until that is destroyed. `rocksdb_free` gives the
    // handle back.
    fn rocksdb_transaction_get_writebatch_wi(
        txn: Transaction<'_>,
    ) -> MallocedHandle<rocksdb_writebatch_wi_t> {
        let lent = txn.map(|txn| MallocedHandle::new(rocksdb_writebatch_wi_t::lent(txn)));
        lent.unwrap_or_else(Nothing::nothing)
    }
    fn rocksdb_transaction_rebuild_from_writebatch(
        txn: Transaction<'_>, batch: Option<&rocksdb_writebatch_t>, errptr: ErrPtr,
    ) {
        errptr.run(|| {
            let batch = given(batch)?.checked()?;
            let batch = WriteBatchWithTransaction::<true>::from_data(batch.data());
            on_txn!(of(txn)?, txn => txn.rebuild_from_writebatch(&batch))
        });
    }
    fn rocksdb_transaction_rebuild_from_writebatch_wi(
        txn: Transaction<'_>, batch: Option<&rocksdb_writebatch_wi_t>, errptr: ErrPtr,
    ) {
        errptr.run(|| {
            let batch = given(batch)?.read(|batch| {
                WriteBatchWithTransaction::<true>::from_data(batch.data())
            })?;
            on_txn!(of(txn)?, txn => txn.rebuild_from_writebatch(&batch))
        });
    }
    fn rocksdb_transaction_put(
        txn: Transaction<'_>, key: Bytes, keylen: usize, value: Bytes, len: usize, errptr: ErrPtr,
    ) {
        errptr.run(|| on_txn!(of(txn)?, txn => txn.put(key.of(keylen), value.of(len))));
    }
    fn rocksdb_transaction_put_cf(
        txn: Transaction<'_>, handle: Handle<'_>, key: Bytes, keylen: usize, value: Bytes,
        len: usize, errptr: ErrPtr,
    ) {
        errptr.run(|| {
            let (key, value) = (key.of(keylen), value.of(len));
            on_txn!(of(txn)?, txn => txn.put_cf(family(handle)?, key, value))
        });
    }
    fn rocksdb_transaction_merge(
        txn: Transaction<'_>, key: Bytes, keylen: usize, value: Bytes, len: usize, errptr: ErrPtr,
    ) {
        errptr.run(|| on_txn!(of(txn)?, txn => txn.merge(key.of(keylen), value.of(len))));
    }
    fn rocksdb_transaction_merge_cf(
        txn: Transaction<'_>, handle: Handle<'_>, key: Bytes, keylen: usize, value: Bytes,
        len: usize, errptr: ErrPtr,
    ) {
        errptr.run(|| {
            let (key, value) = (key.of(keylen), value.of(len));
            on_txn!(of(txn)?, txn => txn.merge_cf(family(handle)?, key, value))
        });
    }
    fn rocksdb_transaction_delete(
        txn: Transaction<'_>, key: Bytes, keylen: usize, errptr: ErrPtr,
    ) {
        errptr.run(|| on_txn!(of(txn)?, txn => txn.delete(key.of(keylen))));
    }
    fn rocksdb_transaction_delete_cf(
        txn: Transaction<'_>, handle: Handle<'_>, key: Bytes, keylen: usize, errptr: ErrPtr,
    ) {
        errptr.run(|| on_txn!(of(txn)?, txn => txn.delete_cf(family(handle)?, key.of(keylen))));
    }
    fn rocksdb_transaction_get(
        txn: Transaction<'_>, options: Options<'_>, key: Bytes, keylen: usize, len: Out<usize>,
        errptr: ErrPtr,
    ) -> *mut c_char {
        len.set(0);
        errptr.run(|| {
            let (options, key) = (read_options(options)?, key.of(keylen));
            Ok(optional(on_txn!(of(txn)?, txn => txn.get_pinned_opt(key, options))?, len))
        })
    }
    fn rocksdb_transaction_get_cf(
        txn: Transaction<'_>, options: Options<'_>, handle: Handle<'_>, key: Bytes, keylen: usize,
        len: Out<usize>, errptr: ErrPtr,
    ) -> *mut c_char {
        len.set(0);
        errptr.run(|| {
            let (options, family, key) = (read_options(options)?, family(handle)?, key.of(keylen));
            let value = on_txn!(of(txn)?, txn => txn.get_pinned_cf_opt(family, key, options));
            Ok(optional(value?, len))
        })
    }
    fn rocksdb_transaction_get_pinned(
        txn: Transaction<'_>, options: Options<'_>, key: Bytes, keylen: usize, errptr: ErrPtr,
    ) -> Option<Box<rocksdb_pinnableslice_t>> {
        errptr.run(|| {
            let (options, key) = (read_options(options)?, key.of(keylen));
            pinned(&given(txn)?.0, |txn: &'static Held<Txn>| {
                on_txn!(txn.get(), txn => txn.get_pinned_opt(key, options))
            })
        })
    }
    fn rocksdb_transaction_get_pinned_cf(
        txn: Transaction<'_>, options: Options<'_>, handle: Handle<'_>, key: Bytes, keylen: usize,
        errptr: ErrPtr,
    ) -> Option<Box<rocksdb_pinnableslice_t>> {
        errptr.run(|| {
            let (options, family, key) = (read_options(options)?, family(handle)?, key.of(keylen));
            pinned(&given(txn)?.0, |txn: &'static Held<Txn>| {
                on_txn!(txn.get(), txn => txn.get_pinned_cf_opt(family, key, options))
            })
        })
    }
    fn rocksdb_transaction_get_for_update(
        txn: Transaction<'_>, options: Options<'_>, key: Bytes, keylen: usize, len: Out<usize>,
        exclusive: u8, errptr: ErrPtr,
    ) -> *mut c_char {
        len.set(0);
        errptr.run(|| {
            let (options, key) = (read_options(options)?, key.of(keylen));
            let exclusive = exclusive != 0;
            let value = on_txn!(of(txn)?, txn => {
                txn.get_pinned_for_update_opt(key, exclusive, options)
            });
            Ok(optional(value?, len))
        })
    }
    fn rocksdb_transaction_get_for_update_cf(
        txn: Transaction<'_>, options: Options<'_>, handle: Handle<'_>, key: Bytes, keylen: usize,
        len: Out<usize>, exclusive: u8, errptr: ErrPtr,
    ) -> *mut c_char {
        len.set(0);
        errptr.run(|| {
            let (options, family, key) = (read_options(options)?, family(handle)?, key.of(keylen));
            let value = on_txn!(of(txn)?, txn => {
                txn.get_pinned_for_update_cf_opt(family, key, exclusive != 0, options)
            });
            Ok(optional(value?, len))
        })
    }
    fn rocksdb_transaction_get_pinned_for_update(
        txn: Transaction<'_>, options: Options<'_>, key: Bytes, keylen: usize, exclusive: u8,
        errptr: ErrPtr,
    ) -> Option<Box<rocksdb_pinnableslice_t>> {
        errptr.run(|| {
            let (options, key) = (read_options(options)?, key.of(keylen));
            let exclusive = exclusive != 0;
            pinned(&given(txn)?.0, |txn: &'static Held<Txn>| {
                on_txn!(txn.get(), txn => txn.get_pinned_for_update_opt(key, exclusive, options))
            })
        })
    }
    fn rocksdb_transaction_get_pinned_for_update_cf(
        txn: Transaction<'_>, options: Options<'_>, handle: Handle<'_>, key: Bytes, keylen: usize,
        exclusive: u8, errptr: ErrPtr,
    ) -> Option<Box<rocksdb_pinnableslice_t>> {
        errptr.run(|| {
            let (options, family, key) = (read_options(options)?, family(handle)?, key.of(keylen));
            pinned(&given(txn)?.0, |txn: &'static Held<Txn>| on_txn!(txn.get(), txn => {
                txn.get_pinned_for_update_cf_opt(family, key, exclusive != 0, options)
            }))
        })
    }
    fn rocksdb_transaction_multi_get(
        txn: Transaction<'_>, options: Options<'_>, num: usize, keys: List<Bytes>,
        lengths: List<usize>, values: Out<*mut c_char>, value_lengths: Out<usize>,
        errs: Out<*mut c_char>,
    ) {
        let get = || {
            let (options, keys) = (read_options(options)?, strings(keys, lengths, num));
            Ok(on_txn!(of(txn)?, txn => txn.multi_get_opt(keys, options)))
        };
        let found = get().unwrap_or_else(|e| all_fail(num, &e));
        put_values(found, values, value_lengths, errs);
    }
    fn rocksdb_transaction_multi_get_cf(
        txn: Transaction<'_>, options: Options<'_>, families: List<Handle<'static>>, num: usize,
        keys: List<Bytes>, lengths: List<usize>, values: Out<*mut c_char>,
        value_lengths: Out<usize>, errs: Out<*mut c_char>,
    ) {
        let get = || {
            let keys = with_families(families, strings(keys, lengths, num))?;
            let options = read_options(options)?;
            Ok(on_txn!(of(txn)?, txn => txn.multi_get_cf_opt(keys, options)))
        };
        let found = get().unwrap_or_else(|e| all_fail(num, &e));
        put_values(found, values, value_lengths, errs);
    }
    fn rocksdb_transaction_create_iterator(
        txn: Transaction<'_>, options: Options<'_>,
    ) -> Option<Box<rocksdb_iterator_t>> {
        create(txn, options, None).ok().flatten()
    }
    fn rocksdb_transaction_create_iterator_cf(
        txn: Transaction<'_>, options: Options<'_>, handle: Handle<'_>,
    ) -> Option<Box<rocksdb_iterator_t>> {
        create(txn, options, Some(handle)).ok().flatten()
    }
    fn rocksdb_transaction_multi_get_for_update(
        txn: Transaction<'_>, options: Options<'_>, num: usize, keys: List<Bytes>,
        lengths: List<usize>, values: Out<*mut c_char>, value_lengths: Out<usize>,
        errs: Out<*mut c_char>,
    ) {
        let get = || {
            let (options, keys) = (read_options(options)?, strings(keys, lengths, num));
            Ok(on_txn!(of(txn)?, txn => {
                keys.map(|key| txn.get_for_update_opt(key, true, options)).collect()
            }))
        };
        let found = get().unwrap_or_else(|e| all_fail(num, &e));
        put_values(found, values, value_lengths, errs);
    }
    fn rocksdb_transaction_multi_get_for_update_cf(
        txn: Transaction<'_>, options: Options<'_>, families: List<Handle<'static>>, num: usize,
        keys: List<Bytes>, lengths: List<usize>, values: Out<*mut c_char>,
        value_lengths: Out<usize>, errs: Out<*mut c_char>,
    ) {
        let get = || {
            let keys = with_families(families, strings(keys, lengths, num))?.into_iter();
            let options = read_options(options)?;
            Ok(on_txn!(of(txn)?, txn => {
                keys.map(|(cf, key)| txn.get_for_update_cf_opt(cf, key, true, options)).collect()
            }))
        };
        let found = get().unwrap_or_else(|e| all_fail(num, &e));
        put_values(found, values, value_lengths, errs);
    }
}
