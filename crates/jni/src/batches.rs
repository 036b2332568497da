//! Write batches.

use crate::border::{Failure, Result, bytes, int, natives};
use crate::databases::Family;
use crate::handles::{find, give_back, make};
use jni::objects::JByteArray;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};
use whitewater::{Error, WriteBatch};

/// Writes that happen together.
#[derive(Default)]
pub(crate) struct Batch {
    writes: Mutex<WriteBatch>,
    /// How many bytes it may take; 0 is no limit. Setters write it, writers read it; it publishes
    /// nothing.
    limit: AtomicUsize,
}

impl Batch {
    fn writes(&self) -> MutexGuard<'_, WriteBatch> {
        self.writes.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The writes, unless they have grown over their limit. RocksDB drops what is too much.
    pub(crate) fn checked(&self) -> Result<MutexGuard<'_, WriteBatch>> {
        let writes = self.writes();
        match self.limit.load(Ordering::Relaxed) {
            0 => Ok(writes),
            limit if writes.size_in_bytes() <= limit => Ok(writes),
            _ => Err(Failure::Engine(Error::memory_limit("WriteBatch"))),
        }
    }
}

natives! {
    fn Java_org_rocksdb_WriteBatch_newWriteBatch__I<'l>(_env, reserved: i32) -> i64 {
        let writes = WriteBatch::with_capacity_bytes(usize::try_from(reserved).unwrap_or(0));
        make(Batch { writes: Mutex::new(writes), ..Batch::default() })
    }
    fn Java_org_rocksdb_WriteBatch_newWriteBatch___3BI<'l>(
        env, data: JByteArray<'l>, _len: i32,
    ) -> i64 {
        let writes = WriteBatch::from_data(&bytes(env, &data)?);
        make(Batch { writes: Mutex::new(writes), ..Batch::default() })
    }
    fn Java_org_rocksdb_WriteBatch_disposeInternalJni
        Java_org_rocksdb_WriteBatch_disposeInternal<'l>(_env, batch: i64) -> () {
        give_back(batch);
        Ok(())
    }
    fn Java_org_rocksdb_WriteBatch_count0Jni
        Java_org_rocksdb_WriteBatch_count0<'l>(_env, batch: i64) -> i32 {
        int(find::<Batch>(batch)?.writes().len())
    }
    fn Java_org_rocksdb_WriteBatch_clear0Jni
        Java_org_rocksdb_WriteBatch_clear0<'l>(_env, batch: i64) -> () {
        find::<Batch>(batch)?.writes().clear();
        Ok(())
    }
    fn Java_org_rocksdb_WriteBatch_data<'l>(env, batch: i64) -> JByteArray<'l> {
        let found = find::<Batch>(batch)?;
        let writes = found.writes();
        Ok(env.byte_array_from_slice(writes.data())?)
    }
    fn Java_org_rocksdb_WriteBatch_getDataSize<'l>(_env, batch: i64) -> i64 {
        Ok(find::<Batch>(batch)?.writes().size_in_bytes() as i64)
    }
    fn Java_org_rocksdb_WriteBatch_setMaxBytesJni
        Java_org_rocksdb_WriteBatch_setMaxBytes<'l>(_env, batch: i64, bytes: i64) -> () {
        let limit = usize::try_from(bytes).unwrap_or(0);
        find::<Batch>(batch)?.limit.store(limit, Ordering::Relaxed);
        Ok(())
    }
    fn Java_org_rocksdb_WriteBatch_putLogDataJni Java_org_rocksdb_WriteBatch_putLogData<'l>(
        env, batch: i64, data: JByteArray<'l>, _len: i32,
    ) -> () {
        let data = bytes(env, &data)?;
        find::<Batch>(batch)?.writes().put_log_data(data);
        Ok(())
    }
    fn Java_org_rocksdb_WriteBatch_setSavePoint0Jni
        Java_org_rocksdb_WriteBatch_setSavePoint0<'l>(_env, batch: i64) -> () {
        find::<Batch>(batch)?.writes().set_savepoint();
        Ok(())
    }
    fn Java_org_rocksdb_WriteBatch_rollbackToSavePoint0Jni
        Java_org_rocksdb_WriteBatch_rollbackToSavePoint0<'l>(_env, batch: i64) -> () {
        Ok(find::<Batch>(batch)?.writes().rollback_to_savepoint()?)
    }
    fn Java_org_rocksdb_WriteBatch_popSavePointJni
        Java_org_rocksdb_WriteBatch_popSavePoint<'l>(_env, batch: i64) -> () {
        Ok(find::<Batch>(batch)?.writes().pop_savepoint()?)
    }
}

natives! {
    fn Java_org_rocksdb_WriteBatch_putJni__J_3BI_3BI Java_org_rocksdb_WriteBatch_put__J_3BI_3BI<'l>(
        env, batch: i64, first: JByteArray<'l>, _len: i32, second: JByteArray<'l>, _second_len: i32,
    ) -> () {
        let (first, second) = (bytes(env, &first)?, bytes(env, &second)?);
        find::<Batch>(batch)?.writes().put(first, second);
        Ok(())
    }
    fn Java_org_rocksdb_WriteBatch_putJni__J_3BI_3BIJ
        Java_org_rocksdb_WriteBatch_put__J_3BI_3BIJ<'l>(
        env, batch: i64, first: JByteArray<'l>, _len: i32, second: JByteArray<'l>,
        _second_len: i32, family: i64,
    ) -> () {
        let (first, second) = (bytes(env, &first)?, bytes(env, &second)?);
        find::<Batch>(batch)?.writes().put_cf(&find::<Family>(family)?.0, first, second);
        Ok(())
    }
    fn Java_org_rocksdb_WriteBatch_mergeJni__J_3BI_3BI
        Java_org_rocksdb_WriteBatch_merge__J_3BI_3BI<'l>(
        env, batch: i64, first: JByteArray<'l>, _len: i32, second: JByteArray<'l>, _second_len: i32,
    ) -> () {
        let (first, second) = (bytes(env, &first)?, bytes(env, &second)?);
        find::<Batch>(batch)?.writes().merge(first, second);
        Ok(())
    }
    fn Java_org_rocksdb_WriteBatch_mergeJni__J_3BI_3BIJ
        Java_org_rocksdb_WriteBatch_merge__J_3BI_3BIJ<'l>(
        env, batch: i64, first: JByteArray<'l>, _len: i32, second: JByteArray<'l>,
        _second_len: i32, family: i64,
    ) -> () {
        let (first, second) = (bytes(env, &first)?, bytes(env, &second)?);
        find::<Batch>(batch)?.writes().merge_cf(&find::<Family>(family)?.0, first, second);
        Ok(())
    }
    fn Java_org_rocksdb_WriteBatch_deleteJni__J_3BI Java_org_rocksdb_WriteBatch_delete__J_3BI<'l>(
        env, batch: i64, first: JByteArray<'l>, _len: i32,
    ) -> () {
        let first = bytes(env, &first)?;
        find::<Batch>(batch)?.writes().delete(first);
        Ok(())
    }
    fn Java_org_rocksdb_WriteBatch_deleteJni__J_3BIJ Java_org_rocksdb_WriteBatch_delete__J_3BIJ<'l>(
        env, batch: i64, first: JByteArray<'l>, _len: i32, family: i64,
    ) -> () {
        let first = bytes(env, &first)?;
        find::<Batch>(batch)?.writes().delete_cf(&find::<Family>(family)?.0, first);
        Ok(())
    }
    fn Java_org_rocksdb_WriteBatch_singleDeleteJni__J_3BI
        Java_org_rocksdb_WriteBatch_singleDelete__J_3BI<'l>(
        env, batch: i64, first: JByteArray<'l>, _len: i32,
    ) -> () {
        let first = bytes(env, &first)?;
        find::<Batch>(batch)?.writes().single_delete(first);
        Ok(())
    }
    fn Java_org_rocksdb_WriteBatch_singleDeleteJni__J_3BIJ
        Java_org_rocksdb_WriteBatch_singleDelete__J_3BIJ<'l>(
        env, batch: i64, first: JByteArray<'l>, _len: i32, family: i64,
    ) -> () {
        let first = bytes(env, &first)?;
        find::<Batch>(batch)?.writes().single_delete_cf(&find::<Family>(family)?.0, first);
        Ok(())
    }
    fn Java_org_rocksdb_WriteBatch_deleteRangeJni__J_3BI_3BI
        Java_org_rocksdb_WriteBatch_deleteRange__J_3BI_3BI<'l>(
        env, batch: i64, first: JByteArray<'l>, _len: i32, second: JByteArray<'l>, _second_len: i32,
    ) -> () {
        let (first, second) = (bytes(env, &first)?, bytes(env, &second)?);
        find::<Batch>(batch)?.writes().delete_range(first, second);
        Ok(())
    }
    fn Java_org_rocksdb_WriteBatch_deleteRangeJni__J_3BI_3BIJ
        Java_org_rocksdb_WriteBatch_deleteRange__J_3BI_3BIJ<'l>(
        env, batch: i64, first: JByteArray<'l>, _len: i32, second: JByteArray<'l>,
        _second_len: i32, family: i64,
    ) -> () {
        let (first, second) = (bytes(env, &first)?, bytes(env, &second)?);
        find::<Batch>(batch)?.writes().delete_range_cf(&find::<Family>(family)?.0, first, second);
        Ok(())
    }
}
