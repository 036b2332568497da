//! Batches that can be read before they are written.

use super::column_family::AsColumnFamilyRef;
use super::db::{DBAccess, DBCommon, DBInner, ThreadMode};
use super::iterator::DBRawIteratorWithThreadMode;
use super::options::ReadOptions;
use super::write_batch::WriteBatch;
use crate::column_family::ColumnFamilyData;
use crate::db::timestamps::Stamped;
use crate::entry::answer::Answer;
use crate::entry::columns::{WideColumn, WideColumns, encode_columns};
use crate::options::read::has_checksums;
use crate::txn::indexed_batch::entries::Entries;
use crate::txn::indexed_batch::{IndexedBatch, check_stamped};
use bytes::Bytes;
use std::sync::Arc;
use whitewater_storage::batch::Batch;
use whitewater_storage::key::{UserComparator, ValueType};
use whitewater_storage::{Error, Result};

const DEFAULT_CF: u32 = 0;

/// A batch of writes with an index, so that it can be read before it is written: alone, or as the
/// database will be once it is written. RocksDB's class of this name; not in the `rocksdb` crate.
///
/// ```
/// use whitewater::{DB, ReadOptions, WriteBatchWithIndex};
///
/// # fn main() -> Result<(), whitewater::Error> {
/// # let dir = tempfile::tempdir().unwrap();
/// let db = DB::open_default(dir.path())?;
/// db.put("river", "blue")?;
/// db.put("stream", "white")?;
///
/// let mut batch = WriteBatchWithIndex::for_db(&db, true);
/// batch.put("lake", "green");
/// batch.delete("stream");
/// assert_eq!(batch.get_from_batch("lake")?.as_deref(), Some(&b"green"[..]));
///
/// let readopts = ReadOptions::default();
/// assert_eq!(batch.get_from_batch_and_db(&db, &readopts, "stream")?, None);
/// let mut keys = batch.iterator_with_base(db.raw_iterator());
/// keys.seek_to_first();
/// assert_eq!(keys.key(), Some(&b"lake"[..]));
/// keys.next();
/// assert_eq!(keys.key(), Some(&b"river"[..]));
/// # drop(keys);
///
/// db.write_wbwi(batch)?; // only now others see it
/// assert_eq!(db.get("stream")?, None);
/// # Ok(())
/// # }
/// ```
///
/// Adding cannot fail. What is refused - a key and value that are too long, keys that were sorted
/// by another comparator before, a comparator that panics - fails in every call that returns a
/// `Result`, until the batch is [cleared](Self::clear).
///
/// Keys with timestamps are added and read without them. Before the batch is written,
/// [`update_timestamps`](Self::update_timestamps) gives one to all of them. Wide columns and single
/// deletions of such keys are refused.
///
/// Iterators see the batch as it was when they were made. The first change after that copies the
/// batch, if one of them still lives.
#[derive(Debug, Clone)]
pub struct WriteBatchWithIndex {
    pub(super) inner: IndexedBatch,
    overwrite_key: bool,
    /// Of the default column family, for calls without a handle.
    pub(super) comparator: UserComparator,
    /// Why an operation was refused.
    refused: Option<Error>,
    /// The timestamp of keys that have one, once all of them do.
    timestamp: Option<Vec<u8>>,
}

impl Default for WriteBatchWithIndex {
    /// `new(0, false)`, as in RocksDB.
    fn default() -> Self {
        Self::new(0, false)
    }
}

/// Making one, and adding to it.
impl WriteBatchWithIndex {
    /// An empty batch with room for `reserved_bytes` bytes, for databases whose default column
    /// family has the bytewise comparator. For others there is [`for_db`](Self::for_db).
    ///
    /// `overwrite_key` says what iterators over the batch alone show of a key: the operations that
    /// decide its value, that is, the last put or deletion and merges after it; or, if it is
    /// `false`, all operations.
    pub fn new(reserved_bytes: usize, overwrite_key: bool) -> Self {
        WriteBatchWithIndex {
            inner: IndexedBatch::new(Batch::with_capacity(reserved_bytes)),
            overwrite_key,
            comparator: UserComparator::Bytewise,
            refused: None,
            timestamp: None,
        }
    }

    /// The batch of a transaction, whose default column family is `default`.
    pub(super) fn of(inner: IndexedBatch, default: &ColumnFamilyData) -> Self {
        WriteBatchWithIndex {
            inner,
            comparator: default.comparator.user.clone(),
            ..Self::new(0, true)
        }
    }

    /// An empty batch that sorts keys of the default column family as `db` does. `overwrite_key` is
    /// that of [`new`](Self::new).
    pub fn for_db<T: ThreadMode, D: DBInner>(db: &DBCommon<T, D>, overwrite_key: bool) -> Self {
        WriteBatchWithIndex {
            comparator: db.engine().default_cf().comparator.user.clone(),
            ..Self::new(0, overwrite_key)
        }
    }

    /// [`new`](Self::new) with a checksum of each operation, as
    /// [`WriteBatch::with_protection`](WriteBatch::with_protection) has it. `bytes_per_key` is
    /// RocksDB's `protection_bytes_per_key`: 0 (none) or 8.
    ///
    /// # Errors
    /// `InvalidArgument` for other numbers of bytes.
    pub fn with_protection(
        reserved_bytes: usize,
        overwrite_key: bool,
        bytes_per_key: usize,
    ) -> Result<Self> {
        let mut batch = Batch::with_capacity(reserved_bytes);
        if has_checksums(bytes_per_key)? {
            batch.protect()?;
        }
        Ok(WriteBatchWithIndex {
            inner: IndexedBatch::new(batch),
            ..Self::new(0, overwrite_key)
        })
    }

    /// Refuses everything after an operation was refused.
    pub(super) fn check(&self) -> Result<()> {
        self.refused.clone().map_or(Ok(()), Err)
    }

    fn push(&mut self, ty: ValueType, key: &[u8], value: &[u8]) {
        let family = crate::api::DEFAULT_COLUMN_FAMILY_NAME;
        let pushed = check_stamped(family, &self.comparator, ty).and_then(|()| {
            let family = (DEFAULT_CF, &self.comparator);
            self.inner.write_in(family, ty, key, value)
        });
        self.note(pushed);
    }

    fn note(&mut self, pushed: Result<()>) {
        // What is added has no timestamp yet.
        self.timestamp = None;
        if let (None, Err(e)) = (&self.refused, pushed) {
            self.refused = Some(e);
        }
    }

    /// Sets `key` to `value`.
    pub fn put<K: AsRef<[u8]>, V: AsRef<[u8]>>(&mut self, key: K, value: V) {
        self.push(ValueType::Value, key.as_ref(), value.as_ref());
    }

    /// Sets `key` of `cf` to `value`.
    ///
    /// # Examples
    /// ```
    /// # let dir = tempfile::tempdir().unwrap();
    /// # let mut options = whitewater::Options::default();
    /// # options.create_if_missing(true);
    /// # options.create_missing_column_families(true);
    /// # let db = whitewater::DB::open_cf(&options, dir.path(), ["users"])?;
    /// use whitewater::WriteBatchWithIndex;
    ///
    /// let users = db.cf_handle("users").expect("named at open");
    /// let mut batch = WriteBatchWithIndex::default();
    /// batch.put_cf(&users, "7", "ada");
    /// assert_eq!(batch.get_from_batch_cf(&users, "7")?.as_deref(), Some(&b"ada"[..]));
    /// assert_eq!(batch.get_from_batch("7")?, None); // of the default column family
    /// # Ok::<(), whitewater::Error>(())
    /// ```
    pub fn put_cf<K, V>(&mut self, cf: &impl AsColumnFamilyRef, key: K, value: V)
    where
        K: AsRef<[u8]>,
        V: AsRef<[u8]>,
    {
        let (cf, key, value) = (cf.inner().data(), key.as_ref(), value.as_ref());
        let pushed = self.inner.put(cf, key, value);
        self.note(pushed);
    }

    /// Sets `key` to a wide-column entity, as [`put_entity`](DBCommon::put_entity) tells.
    ///
    /// # Examples
    /// ```
    /// # let dir = tempfile::tempdir().unwrap();
    /// # let db = whitewater::DB::open_default(dir.path())?;
    /// use whitewater::{ReadOptions, WriteBatchWithIndex};
    ///
    /// let mut batch = WriteBatchWithIndex::default();
    /// batch.put_entity("7", [("name", "ada")]);
    /// let columns = batch.get_entity_from_batch_and_db(&db, &ReadOptions::default(), "7")?;
    /// assert_eq!(columns.expect("just put").get("name"), Some(&b"ada"[..]));
    /// # Ok::<(), whitewater::Error>(())
    /// ```
    pub fn put_entity<'c, K, I>(&mut self, key: K, columns: I)
    where
        K: AsRef<[u8]>,
        I: IntoIterator,
        I::Item: Into<WideColumn<'c>>,
    {
        match encode_columns(columns) {
            Ok(entity) => self.push(ValueType::WideColumnEntity, key.as_ref(), &entity),
            Err(e) => self.note(Err(e)),
        }
    }

    /// Sets `key` of `cf` to a wide-column entity.
    pub fn put_entity_cf<'c, K, I>(&mut self, cf: &impl AsColumnFamilyRef, key: K, columns: I)
    where
        K: AsRef<[u8]>,
        I: IntoIterator,
        I::Item: Into<WideColumn<'c>>,
    {
        let cf = cf.inner().data();
        let pushed = encode_columns(columns)
            .and_then(|entity| self.inner.put_entity(cf, key.as_ref(), &entity));
        self.note(pushed);
    }

    /// Merges `value` into `key`.
    pub fn merge<K: AsRef<[u8]>, V: AsRef<[u8]>>(&mut self, key: K, value: V) {
        self.push(ValueType::Merge, key.as_ref(), value.as_ref());
    }

    /// Merges `value` into `key` of `cf`.
    pub fn merge_cf<K, V>(&mut self, cf: &impl AsColumnFamilyRef, key: K, value: V)
    where
        K: AsRef<[u8]>,
        V: AsRef<[u8]>,
    {
        let (cf, key, value) = (cf.inner().data(), key.as_ref(), value.as_ref());
        let pushed = self.inner.merge(cf, key, value);
        self.note(pushed);
    }

    /// Removes `key`; fine when it does not exist.
    pub fn delete<K: AsRef<[u8]>>(&mut self, key: K) {
        self.push(ValueType::Deletion, key.as_ref(), &[]);
    }

    /// Removes `key` of `cf`; fine when it does not exist.
    pub fn delete_cf<K: AsRef<[u8]>>(&mut self, cf: &impl AsColumnFamilyRef, key: K) {
        let pushed = self.inner.delete(cf.inner().data(), key.as_ref());
        self.note(pushed);
    }

    /// Removes `key`, which was put exactly once since it was last removed and never merged;
    /// otherwise the result is undefined.
    pub fn single_delete<K: AsRef<[u8]>>(&mut self, key: K) {
        self.push(ValueType::SingleDeletion, key.as_ref(), &[]);
    }

    /// [`single_delete`](Self::single_delete) in `cf`.
    pub fn single_delete_cf<K: AsRef<[u8]>>(&mut self, cf: &impl AsColumnFamilyRef, key: K) {
        let pushed = (self.inner).single_delete(cf.inner().data(), key.as_ref());
        self.note(pushed);
    }

    /// Adds bytes that go to the write-ahead log and nowhere else. They take no sequence number and
    /// do not count in [`count`](Self::count).
    pub fn put_log_data<V: AsRef<[u8]>>(&mut self, log_data: V) {
        self.inner.put_log_data(log_data.as_ref());
    }

    /// Gives the timestamp `ts` to all keys in column families with timestamps. Keys that are added
    /// later have none: before the batch is written it takes another call. RocksDB's
    /// `WriteBatch::UpdateTimestamps`.
    ///
    /// # Errors
    /// `InvalidArgument` if a column family of the batch has timestamps of another size.
    ///
    /// # Examples
    /// ```
    /// # let dir = tempfile::tempdir().unwrap();
    /// use whitewater::{DB, Options, ReadOptions, WriteBatchWithIndex};
    ///
    /// let mut options = Options::default();
    /// options.create_if_missing(true);
    /// options.set_u64_timestamp_comparator();
    /// let db = DB::open(&options, dir.path())?;
    /// let mut batch = WriteBatchWithIndex::for_db(&db, true);
    /// batch.put("river", "blue");
    /// assert_eq!(batch.get_from_batch("river")?.as_deref(), Some(&b"blue"[..]));
    ///
    /// batch.update_timestamps(7u64.to_le_bytes())?;
    /// db.write_wbwi(batch)?;
    /// let mut readopts = ReadOptions::default();
    /// readopts.set_timestamp(6u64.to_le_bytes());
    /// assert_eq!(db.get_opt("river", &readopts)?, None);
    /// readopts.set_timestamp(7u64.to_le_bytes());
    /// assert_eq!(db.get_opt("river", &readopts)?.as_deref(), Some(&b"blue"[..]));
    /// # Ok::<(), whitewater::Error>(())
    /// ```
    pub fn update_timestamps<S: AsRef<[u8]>>(&mut self, ts: S) -> Result<()> {
        self.check()?;
        let ts = ts.as_ref();
        if let Some((id, size)) = (self.inner.stamped_families()).find(|(_, n)| *n != ts.len()) {
            return Err(Error::invalid(format_args!(
                "timestamp of {} bytes for column family {id}, which has timestamps of {size}",
                ts.len()
            )));
        }
        self.timestamp = Some(ts.to_vec());
        Ok(())
    }

    /// The ids of the column families with timestamps that the batch has keys of, and the sizes of
    /// these timestamps in bytes.
    pub fn timestamp_sizes(&self) -> impl Iterator<Item = (u32, usize)> {
        self.inner.stamped_families()
    }

    /// Forgets all operations and savepoints.
    pub fn clear(&mut self) {
        self.timestamp = None;
        self.inner.clear();
        self.refused = None;
    }

    /// Remembers the batch as it is, for [`rollback_to_savepoint`](Self::rollback_to_savepoint).
    ///
    /// # Examples
    /// ```
    /// use whitewater::WriteBatchWithIndex;
    ///
    /// let mut batch = WriteBatchWithIndex::default();
    /// batch.put("river", "blue");
    /// batch.set_savepoint();
    /// batch.put("river", "white");
    /// batch.rollback_to_savepoint()?;
    /// assert_eq!(batch.get_from_batch("river")?.as_deref(), Some(&b"blue"[..]));
    /// assert!(batch.rollback_to_savepoint().is_err()); // there was one
    /// # Ok::<(), whitewater::Error>(())
    /// ```
    pub fn set_savepoint(&mut self) {
        self.inner.set_savepoint();
    }

    /// Removes what was added since the last savepoint, and that savepoint.
    ///
    /// # Errors
    /// `NotFound` without a savepoint.
    pub fn rollback_to_savepoint(&mut self) -> Result<()> {
        self.check()?;
        self.inner.rollback_to_savepoint()
    }

    /// Forgets the last savepoint.
    ///
    /// # Errors
    /// `NotFound` without a savepoint.
    pub fn pop_savepoint(&mut self) -> Result<()> {
        self.inner.pop_savepoint()
    }

    /// Number of operations, also of those that later ones overwrite.
    pub fn count(&self) -> usize {
        self.inner.count() as usize
    }

    /// Whether there are no operations.
    pub fn is_empty(&self) -> bool {
        self.count() == 0
    }

    /// Size in bytes of [`data`](Self::data).
    pub fn size_in_bytes(&self) -> usize {
        self.inner.size()
    }

    /// The batch as bytes, for [`WriteBatch::from_data`]. Keys have no timestamps in it.
    pub fn data(&self) -> &[u8] {
        self.inner.batch().bytes()
    }

    /// A copy without the index. Operations that were refused are not in it. Keys have the
    /// timestamp of [`update_timestamps`](Self::update_timestamps), if that was called last.
    pub fn to_write_batch(&self) -> WriteBatch {
        let stamped = self.inner.stamped(self.timestamp.as_deref());
        match stamped {
            Ok(Some((batch, stamped))) => WriteBatch::stamped(batch, stamped),
            // A database refuses keys without the timestamps that they need.
            _ => WriteBatch::of(self.inner.batch().clone()),
        }
    }

    /// The batch to commit.
    pub(crate) fn into_batch(mut self) -> Result<(Batch, Stamped)> {
        self.check()?;
        match self.inner.stamped(self.timestamp.as_deref())? {
            Some(stamped) => Ok(stamped),
            None => Ok((self.inner.take_batch(), Stamped::default())),
        }
    }
}

/// Reading it.
impl WriteBatchWithIndex {
    /// The value of `key` in the batch; `None` when the batch deletes it or does not know it.
    ///
    /// # Errors
    /// `MergeInProgress` when the batch has merges for `key` and no put or deletion before them;
    /// `InvalidArgument` when it has: without a column family there is no merge operator.
    pub fn get_from_batch<K: AsRef<[u8]>>(&self, key: K) -> Result<Option<Vec<u8>>> {
        self.check()?;
        let key = key.as_ref();
        let found = (self.inner).look_up_in(DEFAULT_CF, &self.comparator, key)?;
        copied(found.without_operator(key))
    }

    /// The columns of `key` in the batch, of which a plain value is one; `None` when the batch
    /// deletes it or does not know it.
    ///
    /// # Errors
    /// As [`get_from_batch`](Self::get_from_batch).
    pub fn get_entity_from_batch<K: AsRef<[u8]>>(&self, key: K) -> Result<Option<WideColumns>> {
        self.check()?;
        let key = key.as_ref();
        let found = (self.inner).look_up_in(DEFAULT_CF, &self.comparator, key)?;
        found.without_operator(key)
    }

    /// The columns of `key` of `cf` in the batch, with the merges in it.
    ///
    /// # Errors
    /// As [`get_from_batch_cf`](Self::get_from_batch_cf).
    pub fn get_entity_from_batch_cf<K: AsRef<[u8]>>(
        &self,
        cf: &impl AsColumnFamilyRef,
        key: K,
    ) -> Result<Option<WideColumns>> {
        self.check()?;
        self.inner.get(cf.inner().data(), key.as_ref())
    }

    /// The value of `key` of `cf` in the batch, with the merges in it; `None` when the batch
    /// deletes it or does not know it.
    ///
    /// # Errors
    /// `MergeInProgress` when the batch has merges for `key` and no put or deletion before them;
    /// `InvalidArgument` when `cf` has no merge operator; `Corruption` when that fails.
    pub fn get_from_batch_cf<K: AsRef<[u8]>>(
        &self,
        cf: &impl AsColumnFamilyRef,
        key: K,
    ) -> Result<Option<Vec<u8>>> {
        self.check()?;
        copied(self.inner.get(cf.inner().data(), key.as_ref()))
    }

    /// The value that `key` will have when the batch is written to `db`. A snapshot in `readopts`
    /// concerns the database only.
    ///
    /// # Errors
    /// As [`DBCommon::get`]; `InvalidArgument` for merges without a merge operator.
    ///
    /// # Examples
    /// ```
    /// # let dir = tempfile::tempdir().unwrap();
    /// # let mut options = whitewater::Options::default();
    /// # options.create_if_missing(true);
    /// # options.set_merge_operator_associative("append", |_, existing, operands| {
    /// #     let parts = existing.into_iter().chain(operands);
    /// #     Some(parts.collect::<Vec<_>>().concat())
    /// # });
    /// # let db = whitewater::DB::open(&options, dir.path())?;
    /// use whitewater::{ReadOptions, WriteBatchWithIndex};
    ///
    /// // `options` name a merge operator that appends.
    /// db.put("log", "a")?;
    /// let mut batch = WriteBatchWithIndex::default();
    /// batch.merge("log", "b");
    /// let found = batch.get_from_batch_and_db(&db, &ReadOptions::default(), "log")?;
    /// assert_eq!(found.as_deref(), Some(&b"ab"[..]));
    /// # Ok::<(), whitewater::Error>(())
    /// ```
    pub fn get_from_batch_and_db<T: ThreadMode, D: DBInner, K: AsRef<[u8]>>(
        &self,
        db: &DBCommon<T, D>,
        readopts: &ReadOptions,
        key: K,
    ) -> Result<Option<Vec<u8>>> {
        copied(self.get_over(db, db.engine().default_cf(), readopts, key.as_ref()))
    }

    /// The value that `key` of `cf` will have when the batch is written to `db`.
    ///
    /// # Errors
    /// As [`get_from_batch_and_db`](Self::get_from_batch_and_db).
    pub fn get_from_batch_and_db_cf<T: ThreadMode, D: DBInner, K: AsRef<[u8]>>(
        &self,
        db: &DBCommon<T, D>,
        readopts: &ReadOptions,
        cf: &impl AsColumnFamilyRef,
        key: K,
    ) -> Result<Option<Vec<u8>>> {
        copied(self.get_over(db, cf.inner().data(), readopts, key.as_ref()))
    }

    /// The columns that `key` will have when the batch is written to `db`.
    ///
    /// # Errors
    /// As [`get_from_batch_and_db`](Self::get_from_batch_and_db).
    pub fn get_entity_from_batch_and_db<T: ThreadMode, D: DBInner, K: AsRef<[u8]>>(
        &self,
        db: &DBCommon<T, D>,
        readopts: &ReadOptions,
        key: K,
    ) -> Result<Option<WideColumns>> {
        let cf = db.engine().default_cf();
        let found = self.get_over::<_, _, WideColumns>(db, cf, readopts, key.as_ref())?;
        Ok(found.map(|columns| columns.copied()))
    }

    /// The columns that `key` of `cf` will have when the batch is written to `db`.
    ///
    /// # Errors
    /// As [`get_from_batch_and_db`](Self::get_from_batch_and_db).
    pub fn get_entity_from_batch_and_db_cf<T: ThreadMode, D: DBInner, K: AsRef<[u8]>>(
        &self,
        db: &DBCommon<T, D>,
        readopts: &ReadOptions,
        cf: &impl AsColumnFamilyRef,
        key: K,
    ) -> Result<Option<WideColumns>> {
        let cf = cf.inner().data();
        let found = self.get_over::<_, _, WideColumns>(db, cf, readopts, key.as_ref())?;
        Ok(found.map(|columns| columns.copied()))
    }

    fn get_over<T: ThreadMode, D: DBInner, A: Answer>(
        &self,
        db: &DBCommon<T, D>,
        cf: &Arc<ColumnFamilyData>,
        readopts: &ReadOptions,
        key: &[u8],
    ) -> Result<Option<A>> {
        self.check()?;
        let engine = db.engine();
        (self.inner).get_over(cf, key, || engine.get(cf, key, &readopts.spec))
    }

    /// An iterator over the operations on the default column family.
    ///
    /// # Examples
    /// ```
    /// use whitewater::{IndexedOperation, WriteBatchWithIndex};
    ///
    /// let mut batch = WriteBatchWithIndex::new(0, true);
    /// batch.put("river", "blue");
    /// batch.put("river", "white");
    /// batch.delete("lake");
    /// let mut operations = batch.iterator();
    /// operations.seek_to_first();
    /// assert_eq!(operations.operation(), Some(IndexedOperation::Delete { key: b"lake" }));
    /// operations.next();
    /// let last = IndexedOperation::Put { key: b"river", value: b"white" };
    /// assert_eq!(operations.operation(), Some(last));
    /// # Ok::<(), whitewater::Error>(())
    /// ```
    pub fn iterator(&self) -> WriteBatchWithIndexIterator {
        self.entries(DEFAULT_CF, &self.comparator)
    }

    /// An iterator over the operations on `cf`.
    pub fn iterator_cf(&self, cf: &impl AsColumnFamilyRef) -> WriteBatchWithIndexIterator {
        let cf = cf.inner().data();
        self.entries(cf.id, &cf.comparator.user)
    }

    fn entries(&self, id: u32, comparator: &UserComparator) -> WriteBatchWithIndexIterator {
        let cursor = self
            .check()
            .and_then(|()| self.inner.cursor(id, comparator));
        WriteBatchWithIndexIterator {
            entries: Entries::new(cursor, !self.overwrite_key),
        }
    }

    /// An iterator over what `base` shows, with the batch applied to it. Its column family, bounds
    /// and prefixes are those of `base`. It stands nowhere at first, and sees the batch as it is
    /// now; what is added later does not show.
    ///
    /// A batch is applied once: if `base` came from this method, the iterator fails with
    /// `NotSupported`. So it does if `base` shows all versions of keys with timestamps
    /// ([`set_iter_start_ts`](ReadOptions::set_iter_start_ts)). A `base` with
    /// [`set_tailing`](ReadOptions::set_tailing) goes on to see later writes to the database.
    pub fn iterator_with_base<'b, D: DBAccess>(
        &self,
        base: DBRawIteratorWithThreadMode<'b, D>,
    ) -> DBRawIteratorWithThreadMode<'b, D> {
        base.with_batch(|id, comparator| {
            self.check()
                .and_then(|()| self.inner.cursor(id, comparator))
        })
    }
}

fn copied(found: Result<Option<Bytes>>) -> Result<Option<Vec<u8>>> {
    Ok(found?.map(|bytes| bytes.to_vec()))
}

/// An operation of a [`WriteBatchWithIndex`].
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum IndexedOperation<'a> {
    /// Sets a key.
    Put {
        /// The key.
        key: &'a [u8],
        /// Its value.
        value: &'a [u8],
    },
    /// Sets a key to a wide-column entity.
    PutEntity {
        /// The key.
        key: &'a [u8],
        /// The entity, for [`WideColumns::deserialize`].
        entity: &'a [u8],
    },
    /// Merges into a key.
    Merge {
        /// The key.
        key: &'a [u8],
        /// The operand.
        value: &'a [u8],
    },
    /// Deletes a key.
    Delete {
        /// The key.
        key: &'a [u8],
    },
    /// Deletes a key that was put once.
    SingleDelete {
        /// The key.
        key: &'a [u8],
    },
}

/// A cursor over the operations of a [`WriteBatchWithIndex`] on one column family, in the order of
/// its keys, and for equal keys the newest first. It stands nowhere until a `seek` is called, and
/// sees the batch as it was when the cursor was made.
#[derive(Debug)]
pub struct WriteBatchWithIndexIterator {
    entries: Entries,
}

impl WriteBatchWithIndexIterator {
    /// Whether the cursor stands on an operation. `false` past either end and after a failure;
    /// [`status`](Self::status) tells the two apart.
    pub fn valid(&self) -> bool {
        self.entries.valid()
    }

    /// The failure that ended the iteration, if one did.
    ///
    /// # Errors
    /// That failure; the batch's, if an operation was refused.
    pub fn status(&self) -> Result<()> {
        self.entries.status()
    }

    /// Moves to the first operation.
    pub fn seek_to_first(&mut self) {
        self.entries.seek_to_first();
    }

    /// Moves to the last operation.
    pub fn seek_to_last(&mut self) {
        self.entries.seek_to_last();
    }

    /// Moves to the first operation on a key at or after `key`.
    pub fn seek<K: AsRef<[u8]>>(&mut self, key: K) {
        self.entries.seek(key.as_ref());
    }

    /// Moves to the last operation on a key at or before `key`, which is the oldest on that key.
    pub fn seek_for_prev<K: AsRef<[u8]>>(&mut self, key: K) {
        self.entries.seek_for_prev(key.as_ref());
    }

    /// Moves to the next operation; no effect when not [`valid`](Self::valid).
    pub fn next(&mut self) {
        self.entries.next();
    }

    /// Moves to the operation before; no effect when not [`valid`](Self::valid).
    pub fn prev(&mut self) {
        self.entries.prev();
    }

    /// The operation, when valid.
    pub fn operation(&self) -> Option<IndexedOperation<'_>> {
        let (ty, key, value) = self.entries.entry()?;
        Some(match ty {
            ValueType::WideColumnEntity => IndexedOperation::PutEntity { key, entity: value },
            ValueType::Merge => IndexedOperation::Merge { key, value },
            ValueType::Deletion => IndexedOperation::Delete { key },
            ValueType::SingleDeletion => IndexedOperation::SingleDelete { key },
            _ => IndexedOperation::Put { key, value },
        })
    }
}
