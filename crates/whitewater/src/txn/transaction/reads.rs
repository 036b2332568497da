//! Reads: the batch over the database.

use super::Transaction;
use super::keys::KeyUse;
use crate::column_family::ColumnFamilyData;
use crate::entry::answer::Answer;
use crate::options::read::ReadSpec;
use crate::txn::indexed_batch::look_up::{BatchMerger, InBatch, Onto};
use crate::txn::indexed_batch::over_db::BatchOverDb;
use std::sync::Arc;
use whitewater_storage::{Error, Result};

/// How a key is read for update.
#[derive(Debug, Clone, Copy)]
pub(crate) struct ForUpdate {
    /// Nobody else reads it for update meanwhile.
    pub exclusive: bool,
    /// A change since the snapshot is a conflict.
    pub validate: bool,
}

impl Transaction {
    /// The value, or the columns, of `key` with the transaction's own writes, over the newest state
    /// of the database or, if `spec` has one, over a snapshot.
    ///
    /// # Errors
    /// Errors of the batch's look-up and of the database's.
    pub fn get<A: Answer>(
        &self,
        cf: &Arc<ColumnFamilyData>,
        key: &[u8],
        spec: &ReadSpec,
    ) -> Result<Option<A>> {
        let inner = self.inner.borrow();
        (inner.batch).get_over(cf, key, || self.engine.get(cf, key, spec))
    }

    /// [`get`](Self::get) under the lock of the key.
    ///
    /// # Errors
    /// Errors of locking; `Busy` if the key has changed since the snapshot; `InvalidArgument` for
    /// a read at a snapshot that is not validated, and for a timestamp that keys are not validated
    /// at; errors of [`get`](Self::get): the key stays
    /// locked then.
    pub fn get_for_update<A: Answer>(
        &self,
        cf: &Arc<ColumnFamilyData>,
        key: &[u8],
        spec: &ReadSpec,
        how: ForUpdate,
    ) -> Result<Option<A>> {
        if !how.validate && spec.snapshot.is_some() {
            return Err(Error::invalid(
                "If do_validate is false then GetForUpdate with snapshot is not defined.",
            ));
        }
        let stamped = self.read_for_update(cf, spec, how.validate)?;
        let how = KeyUse {
            read_only: true,
            exclusive: how.exclusive,
            validate: how.validate,
        };
        self.use_key(cf, key, how)?;
        self.get(cf, key, stamped.as_ref().unwrap_or(spec))
    }

    /// The values of `keys`, as of one moment, with the transaction's own writes.
    pub fn multi_get<A: Answer>(
        &self,
        keys: &[(&Arc<ColumnFamilyData>, &[u8])],
        spec: &ReadSpec,
    ) -> Vec<Result<Option<A>>> {
        let inner = self.inner.borrow();
        let found: Vec<_> = keys
            .iter()
            .map(|(cf, key)| inner.batch.look_up(cf, key))
            .collect();
        let is_open = |found: &Result<InBatch<'_>>| {
            matches!(
                found,
                Ok(InBatch::NotFound
                    | InBatch::Merge {
                        onto: Onto::Base,
                        ..
                    })
            )
        };
        let open: Vec<_> = keys
            .iter()
            .zip(&found)
            .filter(|(_, found)| is_open(found))
            .map(|(key, _)| *key)
            .collect();
        let mut bases = self.engine.multi_get::<A>(&open, spec).into_iter();
        let resolve = |((cf, key), found): (&(&Arc<ColumnFamilyData>, &[u8]), _)| {
            let base = match is_open(&found) {
                true => bases.next().unwrap_or(Ok(None)),
                false => Ok(None),
            };
            over(found?, cf, key, base)
        };
        keys.iter().zip(found).map(resolve).collect()
    }

    /// An iterator over a column family with the transaction's writes up to now.
    pub fn iter(&self, cf: &Arc<ColumnFamilyData>, spec: &ReadSpec) -> BatchOverDb {
        let inner = self.inner.borrow();
        let cursor = inner.batch.cursor(cf.id, &cf.comparator.user);
        let mut made = BatchOverDb::new(cursor, self.engine.iter(cf, spec));
        if spec.iter_start_ts.is_some() {
            made.fail(Error::not_supported(
                "iter_start_ts in a transaction, whose writes have no timestamps yet",
            ));
        }
        made
    }
}

/// What `found` in the batch makes of `base`, the value in the database.
fn over<A: Answer>(
    found: InBatch<'_>,
    cf: &ColumnFamilyData,
    key: &[u8],
    base: Result<Option<A>>,
) -> Result<Option<A>> {
    let options = cf.options();
    found.over(key, BatchMerger::of(&cf.name, &options), || base)
}
