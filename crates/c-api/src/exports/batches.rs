//! Write batches.

use crate::border::{Bytes, ErrPtr, List, Out, Result, error, exports, given, joined, lent};
use crate::callbacks::{Deleted, Put, State, TimestampSize, Visit, VisitLogged};
use crate::families::rocksdb_column_family_handle_t;
use libc::c_char;
use whitewater::{ErrorKind, WriteBatch};

/// Writes that happen together, and how many bytes they may take; 0 is no limit.
#[derive(Default)]
pub struct rocksdb_writebatch_t(pub(crate) WriteBatch, usize);

impl rocksdb_writebatch_t {
    pub(super) fn new(batch: WriteBatch) -> Self {
        rocksdb_writebatch_t(batch, 0)
    }

    /// The batch, to be written to.
    fn writes(&mut self) -> Option<&mut WriteBatch> {
        Some(&mut self.0)
    }

    /// The batch, unless it has grown over its limit. RocksDB drops what is too much.
    pub(super) fn checked(&self) -> Result<&WriteBatch> {
        match self.1 {
            0 => Ok(&self.0),
            limit if self.0.size_in_bytes() <= limit => Ok(&self.0),
            _ => Err(error(ErrorKind::Aborted, "Memory limit reached")),
        }
    }
}

/// RocksDB's `protection_bytes_per_key`, of which it takes any number for 8.
pub(super) fn protection(bytes: usize) -> usize {
    if bytes == 0 { 0 } else { 8 }
}

type Batch<'a> = Option<&'a mut rocksdb_writebatch_t>;
type Handle<'a> = Option<&'a rocksdb_column_family_handle_t>;

/// The functions that batches and indexed batches have in common, by name.
macro_rules! batch_functions {
    ($batch:ident, $reads:ty {
        $put:ident $put_cf:ident $putv:ident $putv_cf:ident
        $merge:ident $merge_cf:ident $mergev:ident $mergev_cf:ident
        $delete:ident $delete_cf:ident $deletev:ident $deletev_cf:ident
        $singledelete:ident $singledelete_cf:ident
        $log_data:ident $clear:ident $destroy:ident
        $save:ident $rollback:ident
    }) => {
        $crate::border::exports! {
            fn $put(batch: $batch<'_>, key: Bytes, keylen: usize, value: Bytes, len: usize) {
                if let Some(batch) = batch.and_then(|batch| batch.writes()) {
                    batch.put(key.of(keylen), value.of(len));
                }
            }
            fn $put_cf(
                batch: $batch<'_>, handle: Handle<'_>, key: Bytes, keylen: usize, value: Bytes,
                len: usize,
            ) {
                let batch = batch.and_then(|batch| batch.writes());
                if let Some((batch, family)) = batch.zip(handle) {
                    batch.put_cf(&family.0, key.of(keylen), value.of(len));
                }
            }
            fn $putv(
                batch: $batch<'_>, num_keys: i32, keys: List<Bytes>, key_lengths: List<usize>,
                num_values: i32, values: List<Bytes>, value_lengths: List<usize>,
            ) {
                if let Some(batch) = batch.and_then(|batch| batch.writes()) {
                    let key = joined(keys, key_lengths, num_keys);
                    batch.put(key, joined(values, value_lengths, num_values));
                }
            }
            fn $putv_cf(
                batch: $batch<'_>, handle: Handle<'_>, num_keys: i32, keys: List<Bytes>,
                key_lengths: List<usize>, num_values: i32, values: List<Bytes>,
                value_lengths: List<usize>,
            ) {
                let batch = batch.and_then(|batch| batch.writes());
                if let Some((batch, family)) = batch.zip(handle) {
                    let key = joined(keys, key_lengths, num_keys);
                    batch.put_cf(&family.0, key, joined(values, value_lengths, num_values));
                }
            }
            fn $merge(batch: $batch<'_>, key: Bytes, keylen: usize, value: Bytes, len: usize) {
                if let Some(batch) = batch.and_then(|batch| batch.writes()) {
                    batch.merge(key.of(keylen), value.of(len));
                }
            }
            fn $merge_cf(
                batch: $batch<'_>, handle: Handle<'_>, key: Bytes, keylen: usize, value: Bytes,
                len: usize,
            ) {
                let batch = batch.and_then(|batch| batch.writes());
                if let Some((batch, family)) = batch.zip(handle) {
                    batch.merge_cf(&family.0, key.of(keylen), value.of(len));
                }
            }
            fn $mergev(
                batch: $batch<'_>, num_keys: i32, keys: List<Bytes>, key_lengths: List<usize>,
                num_values: i32, values: List<Bytes>, value_lengths: List<usize>,
            ) {
                if let Some(batch) = batch.and_then(|batch| batch.writes()) {
                    let key = joined(keys, key_lengths, num_keys);
                    batch.merge(key, joined(values, value_lengths, num_values));
                }
            }
            fn $mergev_cf(
                batch: $batch<'_>, handle: Handle<'_>, num_keys: i32, keys: List<Bytes>,
                key_lengths: List<usize>, num_values: i32, values: List<Bytes>,
                value_lengths: List<usize>,
            ) {
                let batch = batch.and_then(|batch| batch.writes());
                if let Some((batch, family)) = batch.zip(handle) {
                    let key = joined(keys, key_lengths, num_keys);
                    batch.merge_cf(&family.0, key, joined(values, value_lengths, num_values));
                }
            }
            fn $delete(batch: $batch<'_>, key: Bytes, keylen: usize) {
                if let Some(batch) = batch.and_then(|batch| batch.writes()) {
                    batch.delete(key.of(keylen));
                }
            }
            fn $delete_cf(batch: $batch<'_>, handle: Handle<'_>, key: Bytes, keylen: usize) {
                let batch = batch.and_then(|batch| batch.writes());
                if let Some((batch, family)) = batch.zip(handle) {
                    batch.delete_cf(&family.0, key.of(keylen));
                }
            }
            fn $deletev(
                batch: $batch<'_>, num_keys: i32, keys: List<Bytes>, key_lengths: List<usize>,
            ) {
                if let Some(batch) = batch.and_then(|batch| batch.writes()) {
                    batch.delete(joined(keys, key_lengths, num_keys));
                }
            }
            fn $deletev_cf(
                batch: $batch<'_>, handle: Handle<'_>, num_keys: i32, keys: List<Bytes>,
                key_lengths: List<usize>,
            ) {
                let batch = batch.and_then(|batch| batch.writes());
                if let Some((batch, family)) = batch.zip(handle) {
                    batch.delete_cf(&family.0, joined(keys, key_lengths, num_keys));
                }
            }
            fn $singledelete(batch: $batch<'_>, key: Bytes, keylen: usize) {
                if let Some(batch) = batch.and_then(|batch| batch.writes()) {
                    batch.single_delete(key.of(keylen));
                }
            }
            fn $singledelete_cf(batch: $batch<'_>, handle: Handle<'_>, key: Bytes, keylen: usize) {
                let batch = batch.and_then(|batch| batch.writes());
                if let Some((batch, family)) = batch.zip(handle) {
                    batch.single_delete_cf(&family.0, key.of(keylen));
                }
            }
            fn $log_data(batch: $batch<'_>, data: Bytes, len: usize) {
                if let Some(batch) = batch.and_then(|batch| batch.writes()) {
                    batch.put_log_data(data.of(len));
                }
            }
            fn $clear(batch: $batch<'_>) {
                if let Some(batch) = batch.and_then(|batch| batch.writes()) {
                    batch.clear();
                }
            }
            fn $destroy(_batch: Option<Box<$reads>>) {}
            fn $save(batch: $batch<'_>) {
                if let Some(batch) = batch.and_then(|batch| batch.writes()) {
                    batch.set_savepoint();
                }
            }
            fn $rollback(batch: $batch<'_>, errptr: ErrPtr) {
                errptr.run(|| {
                    let batch = given(given(batch)?.writes())?;
                    batch.rollback_to_savepoint()
                });
            }
        }
    };
}
pub(super) use batch_functions;

batch_functions!(Batch, rocksdb_writebatch_t {
    rocksdb_writebatch_put rocksdb_writebatch_put_cf
    rocksdb_writebatch_putv rocksdb_writebatch_putv_cf
    rocksdb_writebatch_merge rocksdb_writebatch_merge_cf
    rocksdb_writebatch_mergev rocksdb_writebatch_mergev_cf
    rocksdb_writebatch_delete rocksdb_writebatch_delete_cf
    rocksdb_writebatch_deletev rocksdb_writebatch_deletev_cf
    rocksdb_writebatch_singledelete rocksdb_writebatch_singledelete_cf
    rocksdb_writebatch_put_log_data rocksdb_writebatch_clear rocksdb_writebatch_destroy
    rocksdb_writebatch_set_save_point rocksdb_writebatch_rollback_to_save_point
});

exports! {
    fn rocksdb_writebatch_create() -> Option<Box<rocksdb_writebatch_t>> {
        Some(Box::default())
    }
    fn rocksdb_writebatch_create_from(
        data: Bytes, len: usize,
    ) -> Option<Box<rocksdb_writebatch_t>> {
        Some(Box::new(rocksdb_writebatch_t::new(WriteBatch::from_data(data.of(len)))))
    }
    fn rocksdb_writebatch_count(batch: Option<&rocksdb_writebatch_t>) -> i32 {
        batch.map_or(0, |batch| i32::try_from(batch.0.len()).unwrap_or(i32::MAX))
    }
    fn rocksdb_writebatch_data(
        batch: Option<&rocksdb_writebatch_t>, len: Out<usize>,
    ) -> *const c_char {
        lent(batch.map(|batch| batch.0.data()), len)
    }
    fn rocksdb_writebatch_pop_save_point(batch: Batch<'_>, errptr: ErrPtr) {
        errptr.run(|| given(batch)?.0.pop_savepoint());
    }
    fn rocksdb_writebatch_put_cf_with_ts(
        batch: Batch<'_>, handle: Handle<'_>, key: Bytes, keylen: usize, ts: Bytes, tslen: usize,
        value: Bytes, len: usize,
    ) {
        if let Some((batch, family)) = batch.zip(handle) {
            let (key, ts, value) = (key.of(keylen), ts.of(tslen), value.of(len));
            batch.0.put_cf_with_ts(&family.0, key, ts, value);
        }
    }
    fn rocksdb_writebatch_delete_cf_with_ts(
        batch: Batch<'_>, handle: Handle<'_>, key: Bytes, keylen: usize, ts: Bytes, tslen: usize,
    ) {
        if let Some((batch, family)) = batch.zip(handle) {
            batch.0.delete_cf_with_ts(&family.0, key.of(keylen), ts.of(tslen));
        }
    }
    fn rocksdb_writebatch_singledelete_cf_with_ts(
        batch: Batch<'_>, handle: Handle<'_>, key: Bytes, keylen: usize, ts: Bytes, tslen: usize,
    ) {
        rocksdb_writebatch_delete_cf_with_ts(batch, handle, key, keylen, ts, tslen);
    }
    fn rocksdb_writebatch_delete_range(
        batch: Batch<'_>, start: Bytes, start_len: usize, end: Bytes, end_len: usize,
    ) {
        if let Some(batch) = batch {
            batch.0.delete_range(start.of(start_len), end.of(end_len));
        }
    }
    fn rocksdb_writebatch_delete_range_cf(
        batch: Batch<'_>, handle: Handle<'_>, start: Bytes, start_len: usize, end: Bytes,
        end_len: usize,
    ) {
        if let Some((batch, family)) = batch.zip(handle) {
            batch.0.delete_range_cf(&family.0, start.of(start_len), end.of(end_len));
        }
    }
    fn rocksdb_writebatch_delete_rangev(
        batch: Batch<'_>, num: i32, starts: List<Bytes>, start_lengths: List<usize>,
        ends: List<Bytes>, end_lengths: List<usize>,
    ) {
        if let Some(batch) = batch {
            let (start, end) = (joined(starts, start_lengths, num), joined(ends, end_lengths, num));
            batch.0.delete_range(start, end);
        }
    }
    fn rocksdb_writebatch_delete_rangev_cf(
        batch: Batch<'_>, handle: Handle<'_>, num: i32, starts: List<Bytes>,
        start_lengths: List<usize>, ends: List<Bytes>, end_lengths: List<usize>,
    ) {
        if let Some((batch, family)) = batch.zip(handle) {
            let (start, end) = (joined(starts, start_lengths, num), joined(ends, end_lengths, num));
            batch.0.delete_range_cf(&family.0, start, end);
        }
    }
    fn rocksdb_writebatch_iterate(
        batch: Option<&rocksdb_writebatch_t>, state: State, put: Put, deleted: Deleted,
    ) {
        if let Some(batch) = batch {
            batch.0.iterate(&mut Visit { state, put, deleted });
        }
    }
    // As in RocksDB, an operation without a function, or damage, ends the visit without a word.
    fn rocksdb_writebatch_iterate_ld(
        batch: Option<&rocksdb_writebatch_t>, state: State, put: Put, deleted: Deleted,
        log_data: Option<Deleted>,
    ) {
        if let Some(batch) = batch {
            let visit = Visit { state, put, deleted };
            let _ = batch.0.iterate_all(&mut VisitLogged { visit, log_data });
        }
    }
    fn rocksdb_writebatch_update_timestamps(
        batch: Batch<'_>, ts: Bytes, tslen: usize, state: State, size_of: TimestampSize,
        errptr: ErrPtr,
    ) {
        errptr.run(|| {
            let batch = &mut given(batch)?.0;
            batch.update_timestamps(ts.of(tslen), |family| size_of(state, family))
        });
    }
    // Keys have no place for a timestamp before they have one, so that no size is needed.
    fn rocksdb_writebatch_create_with_params(
        reserved: usize, max_bytes: usize, protected: usize, _ts_size: usize,
    ) -> Option<Box<rocksdb_writebatch_t>> {
        let batch = WriteBatch::with_protection(reserved, protection(protected)).ok()?;
        Some(Box::new(rocksdb_writebatch_t(batch, max_bytes)))
    }
}
