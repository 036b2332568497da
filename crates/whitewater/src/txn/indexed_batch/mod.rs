//! A write batch whose operations can be looked up and iterated over, alone or over a database:
//! RocksDB's `WriteBatchWithIndex`.
//!
//! The batch's bytes are those of any batch. Beside them, the index has for each column family the
//! keys in its comparator's order, with the newest operation on each; an operation leads to the one
//! before it on the same key. So taking back the last operations undoes the index step by step.
//!
//! Invariants:
//! * B1: iterators see the batch as it was when they were made. They share its contents; whoever
//!   changes the batch meanwhile copies them first, once per iterator at most.
//! * B2: a call that fails has changed nothing, but for a comparator that panics while operations
//!   are taken back. The batch then fails until it is cleared.
//!
//! * [`contents`]: operations and index; `sorted` keeps them sorted.
//! * [`look_up`]: single keys. [`cursor`]: a walk over the keys of a column family; [`entries`]:
//!   over its operations.
//! * [`over_db`]: the iterator that shows a database with the batch applied.

mod contents;
pub(crate) mod cursor;
pub(crate) mod entries;
pub(crate) mod look_up;
pub(crate) mod over_db;
mod sorted;
#[cfg(test)]
mod tests;

use crate::column_family::{ColumnFamilyData, no_timestamp};
use crate::db::timestamps::{Stamped, with_timestamp};
use contents::{Contents, Savepoint};
use std::sync::Arc;
use whitewater_storage::batch::Batch;
use whitewater_storage::key::{UserComparator, ValueType};
use whitewater_storage::{Error, ErrorKind, Result};

/// The bytes that the batch of a transaction has room for at first: a few small operations.
const FIRST_CAPACITY: usize = 256;

/// A batch with an index of its operations.
#[derive(Debug, Clone)]
pub(crate) struct IndexedBatch {
    contents: Arc<Contents>,
    savepoints: Vec<Savepoint>,
    /// Whether the batch begins with an operation that does nothing.
    of_transaction: bool,
    /// Whether operations are not indexed now.
    indexing_disabled: bool,
    /// Set if the index is incomplete.
    broken: Option<Error>,
}

impl Default for IndexedBatch {
    fn default() -> Self {
        Self::new(Batch::default())
    }
}

impl IndexedBatch {
    /// `batch`, which has no operations yet, with an index.
    pub fn new(batch: Batch) -> Self {
        IndexedBatch {
            contents: Arc::new(Contents::of(batch)),
            savepoints: Vec::new(),
            of_transaction: false,
            indexing_disabled: false,
            broken: None,
        }
    }

    /// The batch of a transaction, which begins with an operation that does nothing.
    pub fn of_transaction() -> Self {
        let mut batch = Self {
            of_transaction: true,
            ..Self::new(Batch::with_capacity(FIRST_CAPACITY))
        };
        batch.clear();
        batch
    }

    /// Refuses to go on with an incomplete index.
    fn check(&self) -> Result<()> {
        self.broken.clone().map_or(Ok(()), Err)
    }

    /// Sets `key` of `cf` to `value`.
    ///
    /// # Errors
    /// Errors of [`write`](Self::write).
    pub fn put(&mut self, cf: &ColumnFamilyData, key: &[u8], value: &[u8]) -> Result<()> {
        self.write(cf, ValueType::Value, key, value)
    }

    /// Sets `key` of `cf` to a wide-column entity.
    ///
    /// # Errors
    /// Errors of [`write`](Self::write).
    pub fn put_entity(&mut self, cf: &ColumnFamilyData, key: &[u8], entity: &[u8]) -> Result<()> {
        self.write(cf, ValueType::WideColumnEntity, key, entity)
    }

    /// Deletes `key` of `cf`.
    ///
    /// # Errors
    /// Errors of [`write`](Self::write).
    pub fn delete(&mut self, cf: &ColumnFamilyData, key: &[u8]) -> Result<()> {
        self.write(cf, ValueType::Deletion, key, &[])
    }

    /// Deletes `key` of `cf`, which was put once.
    ///
    /// # Errors
    /// Errors of [`write`](Self::write).
    pub fn single_delete(&mut self, cf: &ColumnFamilyData, key: &[u8]) -> Result<()> {
        self.write(cf, ValueType::SingleDeletion, key, &[])
    }

    /// Merges `operand` into `key` of `cf`.
    ///
    /// # Errors
    /// Errors of [`write`](Self::write).
    pub fn merge(&mut self, cf: &ColumnFamilyData, key: &[u8], operand: &[u8]) -> Result<()> {
        self.write(cf, ValueType::Merge, key, operand)
    }

    /// Adds an operation on `cf`: a put, a merge or a deletion of one key.
    ///
    /// # Errors
    /// `InvalidArgument` for an entity in a column family with timestamps, for a key and value that
    /// are too long, for a batch that would be too large and for another comparator than before;
    /// `NotSupported` for a single deletion of a key with timestamps, and for other types of
    /// entries; `Aborted` if the user's comparator panics, now or before.
    pub fn write(
        &mut self,
        cf: &ColumnFamilyData,
        ty: ValueType,
        key: &[u8],
        value: &[u8],
    ) -> Result<()> {
        let comparator = &cf.comparator.user;
        check_stamped(&cf.name, comparator, ty)?;
        self.write_in((cf.id, comparator), ty, key, value)
    }

    /// The size in bytes of the timestamps that keys of the column family `id` are to get; 0 if
    /// none, or if the batch has no indexed operation on it.
    pub fn timestamp_size(&self, id: u32) -> usize {
        self.contents.timestamp_size(id)
    }

    /// The batch with `time` behind the keys that are to have a timestamp; `None` if there are
    /// none. All operations are indexed.
    ///
    /// # Errors
    /// Those of [`with_timestamp`].
    pub fn stamped(&self, time: Option<&[u8]>) -> Result<Option<(Batch, Stamped)>> {
        let size_of = |id| self.timestamp_size(id);
        let missing = "the keys of the batch have no timestamps yet: update_timestamps gives them";
        with_timestamp(self.batch(), size_of, time, missing)
    }

    /// The column families of the batch whose keys are to have timestamps, and the sizes of these
    /// in bytes.
    pub fn stamped_families(&self) -> impl Iterator<Item = (u32, usize)> {
        self.contents.stamped_families()
    }

    /// [`write`](Self::write) to the column family with this id and comparator.
    ///
    /// # Errors
    /// The same.
    pub fn write_in(
        &mut self,
        family: (u32, &UserComparator),
        ty: ValueType,
        key: &[u8],
        value: &[u8],
    ) -> Result<()> {
        use ValueType::{Deletion, Merge, SingleDeletion, Value, WideColumnEntity};
        self.check()?;
        if !matches!(
            ty,
            Value | WideColumnEntity | Deletion | SingleDeletion | Merge
        ) {
            return Err(Error::not_supported(format_args!(
                "entries of type {ty:?} in an indexed batch"
            )));
        }
        let indexed = !self.indexing_disabled;
        self.contents_mut().push(family, ty, key, value, indexed)
    }

    /// A copy that sorts the keys of the column family `id` by `comparator`, unless this does. It
    /// has no savepoints.
    ///
    /// # Errors
    /// `Aborted` if the user's comparator panics.
    pub fn resorted(&self, id: u32, comparator: &UserComparator) -> Result<Option<Self>> {
        self.check()?;
        let contents = self.contents.resorted(id, comparator)?;
        Ok(contents.map(|contents| IndexedBatch {
            contents: Arc::new(contents),
            savepoints: Vec::new(),
            ..self.clone()
        }))
    }

    /// Adds bytes that go to the log only.
    pub fn put_log_data(&mut self, blob: &[u8]) {
        self.contents_mut().batch.push_log_data(blob);
    }

    /// The contents for a change; a copy of them if an iterator has them (upholds B1).
    fn contents_mut(&mut self) -> &mut Contents {
        Arc::make_mut(&mut self.contents)
    }

    /// Whether operations are indexed from now on. Look-ups and iterators do not see those that
    /// are not.
    pub fn set_indexing(&mut self, enabled: bool) {
        self.indexing_disabled = !enabled;
    }

    /// Remembers the present end of the batch.
    pub fn set_savepoint(&mut self) {
        self.savepoints.push(self.contents.savepoint());
    }

    /// Removes what was added since the last savepoint, and that savepoint.
    ///
    /// # Errors
    /// `NotFound` without a savepoint; `Aborted` if the user's comparator panics, now or before.
    pub fn rollback_to_savepoint(&mut self) -> Result<()> {
        self.check()?;
        let savepoint = self.savepoints.pop().ok_or_else(no_savepoint)?;
        let taken_back = self.contents_mut().take_back(savepoint);
        self.broken = taken_back.clone().err();
        taken_back
    }

    /// Forgets the last savepoint.
    ///
    /// # Errors
    /// `NotFound` without a savepoint.
    pub fn pop_savepoint(&mut self) -> Result<()> {
        self.savepoints.pop().map(drop).ok_or_else(no_savepoint)
    }

    /// The number of savepoints.
    #[cfg(test)]
    pub fn num_savepoints(&self) -> usize {
        self.savepoints.len()
    }

    /// Removes all operations and savepoints.
    pub fn clear(&mut self) {
        self.savepoints.clear();
        self.broken = None;
        let of_transaction = self.of_transaction;
        let contents = match Arc::get_mut(&mut self.contents) {
            Some(contents) => contents,
            None => {
                self.contents = Arc::new(self.contents.empty_like());
                self.contents_mut()
            }
        };
        contents.clear();
        if of_transaction {
            contents.batch.push_noop();
        }
    }

    /// The number of operations that take a sequence number.
    pub fn count(&self) -> u32 {
        self.contents.batch.count()
    }

    /// The number of bytes of the batch.
    pub fn size(&self) -> usize {
        self.contents.batch.bytes().len()
    }

    /// The batch.
    pub fn batch(&self) -> &Batch {
        &self.contents.batch
    }

    /// Takes the batch's bytes out, to be written. Until they are [given back](Self::give_back)
    /// nothing else may be done but [`clear`](Self::clear).
    pub fn lend(&mut self) -> Batch {
        std::mem::take(&mut self.contents_mut().batch)
    }

    /// Takes back what was lent.
    pub fn give_back(&mut self, batch: Batch) {
        self.contents_mut().batch = batch;
    }

    /// Takes the batch out, to be written, and leaves an empty one.
    pub fn take_batch(&mut self) -> Batch {
        let empty = Arc::new(self.contents.empty_like());
        let contents = std::mem::replace(&mut self.contents, empty);
        let batch = match Arc::try_unwrap(contents) {
            Ok(contents) => contents.batch,
            Err(shared) => shared.batch.clone(),
        };
        self.clear();
        batch
    }
}

/// Refuses types of operations that keys with timestamps cannot have.
///
/// # Errors
/// `InvalidArgument` for an entity; `NotSupported` for a single deletion.
pub(crate) fn check_stamped(
    family: &str,
    comparator: &UserComparator,
    ty: ValueType,
) -> Result<()> {
    if comparator.timestamp_size() == 0 {
        return Ok(());
    }
    match ty {
        ValueType::WideColumnEntity => Err(no_timestamp(family)),
        ValueType::SingleDeletion => Err(Error::not_supported(
            "single deletions of keys with timestamps",
        )),
        _ => Ok(()),
    }
}

/// The error for a batch without savepoints, in RocksDB's words, which are none.
fn no_savepoint() -> Error {
    Error::new(ErrorKind::NotFound, "")
}
