//! Batches of writes.

use super::column_family::AsColumnFamilyRef;
use crate::api::batch_timestamps::{StampedAt, restamped};
use crate::db::timestamps::Stamped;
use crate::entry::check_lengths;
use crate::entry::columns::{WideColumn, encode_columns};
use crate::options::read::has_checksums;
use whitewater_storage::batch::{self, Batch, Op};
use whitewater_storage::key::ValueType;
use whitewater_storage::{Error, ErrorKind, Result};

/// A batch for [`DB::write`](crate::DBCommon::write).
///
/// ```
/// use whitewater::WriteBatch;
///
/// let mut batch = WriteBatch::default();
/// batch.put(b"k", b"v");
/// batch.delete(b"old");
/// assert_eq!(batch.len(), 2);
/// assert_eq!(WriteBatch::from_data(batch.data()).len(), 2);
/// ```
pub type WriteBatch = WriteBatchWithTransaction<false>;

/// An atomic batch of writes: after a crash all of them are there or none.
/// Its bytes are RocksDB's. Batches for transactions (`TRANSACTION`) take no
/// range deletions.
#[derive(Debug, Clone)]
pub struct WriteBatchWithTransaction<const TRANSACTION: bool> {
    batch: Batch,
    stamped: Stamped,
    stamped_at: StampedAt,
    /// Bytes given to `from_data` that are not a batch, and why.
    damaged: Option<Box<(Vec<u8>, Error)>>,
    savepoints: Vec<Savepoint>,
}

/// A batch as it was, to be gone back to.
#[derive(Debug, Clone)]
struct Savepoint {
    end: batch::Mark,
    stamped: Stamped,
    is_damaged: bool,
}

/// Receives the operations of a batch on the default column family.
pub trait WriteBatchIterator {
    /// A key and the value put.
    fn put(&mut self, key: &[u8], value: &[u8]);
    /// A key deleted.
    fn delete(&mut self, key: &[u8]);
}

/// Receives the operations of a batch on any column family.
pub trait WriteBatchIteratorCf {
    /// A key and the value put into the column family with this id.
    fn put_cf(&mut self, cf_id: u32, key: &[u8], value: &[u8]);
    /// A key deleted from the column family with this id.
    fn delete_cf(&mut self, cf_id: u32, key: &[u8]);
    /// A key and the operand merged into the column family with this id.
    fn merge_cf(&mut self, cf_id: u32, key: &[u8], value: &[u8]);
}

impl<const TRANSACTION: bool> WriteBatchWithTransaction<TRANSACTION> {
    /// An empty batch.
    pub fn new() -> Self {
        Self::of(Batch::default())
    }

    /// An empty batch with room for `capacity_bytes` bytes.
    pub fn with_capacity_bytes(capacity_bytes: usize) -> Self {
        Self::of(Batch::with_capacity(capacity_bytes))
    }

    /// An empty batch that keeps a checksum of each operation, made of what it
    /// is given: from then on, bytes that change in memory are noticed when the
    /// batch is written, which then fails with `Corruption`. `bytes_per_key` is
    /// RocksDB's `protection_bytes_per_key`: 0 (none) or 8.
    /// [`WriteOptions::set_protection_bytes_per_key`] tells how it goes on.
    ///
    /// # Errors
    /// `InvalidArgument` for other numbers of bytes.
    ///
    /// [`WriteOptions::set_protection_bytes_per_key`]: crate::WriteOptions::set_protection_bytes_per_key
    pub fn with_protection(capacity_bytes: usize, bytes_per_key: usize) -> Result<Self> {
        let mut batch = Batch::with_capacity(capacity_bytes);
        if has_checksums(bytes_per_key)? {
            batch.protect()?;
        }
        Ok(Self::of(batch))
    }

    /// The batch that [`data`](Self::data) came from. Bytes that are not a
    /// batch are taken as they are; writing them fails with `Corruption`,
    /// whatever is added to them.
    ///
    /// # Examples
    /// ```
    /// # let dir = tempfile::tempdir().unwrap();
    /// # let db = whitewater::DB::open_default(dir.path())?;
    /// use whitewater::WriteBatch;
    ///
    /// let mut batch = WriteBatch::default();
    /// batch.put("river", "blue");
    /// let bytes = batch.data().to_vec(); // send them, keep them
    /// db.write(WriteBatch::from_data(&bytes))?;
    /// assert_eq!(db.get("river")?.as_deref(), Some(&b"blue"[..]));
    /// # Ok::<(), whitewater::Error>(())
    /// ```
    pub fn from_data(data: &[u8]) -> Self {
        match Batch::from_bytes(data.to_vec()) {
            Ok(batch) => WriteBatchWithTransaction {
                stamped: Stamped::unknown(),
                stamped_at: StampedAt::first(batch.count()),
                ..Self::of(batch)
            },
            Err(error) => WriteBatchWithTransaction {
                batch: Batch::default(),
                stamped: Stamped::default(),
                stamped_at: StampedAt::default(),
                damaged: Some(Box::new((data.to_vec(), error))),
                savepoints: Vec::new(),
            },
        }
    }

    pub(crate) fn of(batch: Batch) -> Self {
        Self::stamped(batch, Stamped::default())
    }

    /// A batch of which `stamped` says what has a timestamp.
    pub(crate) fn stamped(batch: Batch, stamped: Stamped) -> Self {
        WriteBatchWithTransaction {
            stamped_at: StampedAt::first(if stamped.is_empty() { 0 } else { batch.count() }),
            batch,
            stamped,
            damaged: None,
            savepoints: Vec::new(),
        }
    }

    /// The batch to commit, and what in it came with timestamps.
    pub(crate) fn into_batch(self) -> Result<(Batch, Stamped)> {
        match self.damaged {
            None => Ok((self.batch, self.stamped)),
            Some(damaged) => Err(damaged.1),
        }
    }

    /// The batch, if it was made of nothing damaged.
    pub(crate) fn checked(&self) -> Result<&Batch> {
        match &self.damaged {
            None => Ok(&self.batch),
            Some(damaged) => Err(damaged.1.clone()),
        }
    }

    /// Number of operations.
    ///
    /// # Examples
    /// ```
    /// use whitewater::WriteBatch;
    ///
    /// let mut batch = WriteBatch::default();
    /// batch.put("river", "blue");
    /// batch.delete("stream");
    /// assert_eq!(batch.len(), 2);
    /// batch.clear();
    /// assert!(batch.is_empty());
    /// # Ok::<(), whitewater::Error>(())
    /// ```
    pub fn len(&self) -> usize {
        batch::count(self.data()) as usize
    }

    /// Whether there are no operations.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Size in bytes of [`data`](Self::data).
    pub fn size_in_bytes(&self) -> usize {
        self.data().len()
    }

    /// The batch as bytes.
    pub fn data(&self) -> &[u8] {
        match &self.damaged {
            None => self.batch.bytes(),
            Some(damaged) => &damaged.0,
        }
    }

    /// Calls back for puts and deletes, in order. Other operations on the
    /// default column family are passed over; at an operation on another
    /// column family and at a range deletion the iteration ends, as it does in
    /// RocksDB. [`iterate_cf`](Self::iterate_cf) sees more.
    pub fn iterate<T: WriteBatchIterator + ?Sized>(&self, callbacks: &mut T) {
        for op in batch::ops(self.data()) {
            match op {
                Ok(Op::Entry {
                    cf: 0,
                    ty,
                    key,
                    value,
                }) => match ty {
                    ValueType::Value => callbacks.put(key, value),
                    ValueType::Deletion => callbacks.delete(key),
                    ValueType::Merge | ValueType::SingleDeletion => {}
                    _ => return,
                },
                Ok(Op::Entry { .. }) | Err(_) => return,
                Ok(_) => {}
            }
        }
    }

    /// Calls back for puts, deletes and merges, in order, with the id of the
    /// column family (0 is the default one). Single deletions on the default
    /// column family are passed over; at one on another column family and at a
    /// range deletion the iteration ends, as it does in RocksDB.
    pub fn iterate_cf<T: WriteBatchIteratorCf>(&self, callbacks: &mut T) {
        for op in batch::ops(self.data()) {
            match op {
                Ok(Op::Entry { cf, ty, key, value }) => match ty {
                    ValueType::Value => callbacks.put_cf(cf, key, value),
                    ValueType::Deletion => callbacks.delete_cf(cf, key),
                    ValueType::Merge => callbacks.merge_cf(cf, key, value),
                    ValueType::SingleDeletion if cf == 0 => {}
                    _ => return,
                },
                Ok(_) => {}
                Err(_) => return,
            }
        }
    }

    fn push(&mut self, cf: u32, ty: ValueType, key: &[u8], value: &[u8]) {
        match check_lengths(key, value) {
            Ok(()) => self.batch.push(cf, ty, key, value),
            Err(e) => self.refuse(e),
        }
    }

    /// Adding cannot fail; writing the batch does, from now on.
    fn refuse(&mut self, error: Error) {
        self.damaged
            .get_or_insert_with(|| Box::new((self.batch.bytes().to_vec(), error)));
    }

    /// Sets `key` to `value`.
    ///
    /// # Examples
    /// ```
    /// # let dir = tempfile::tempdir().unwrap();
    /// # let db = whitewater::DB::open_default(dir.path())?;
    /// use whitewater::WriteBatch;
    ///
    /// let mut batch = WriteBatch::default();
    /// batch.put("river", "blue");
    /// batch.put("river", "white"); // later entries count
    /// db.write(batch)?;
    /// assert_eq!(db.get("river")?.as_deref(), Some(&b"white"[..]));
    /// # Ok::<(), whitewater::Error>(())
    /// ```
    pub fn put<K, V>(&mut self, key: K, value: V)
    where
        K: AsRef<[u8]>,
        V: AsRef<[u8]>,
    {
        self.push(0, ValueType::Value, key.as_ref(), value.as_ref());
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
    /// let users = db.cf_handle("users").expect("named at open");
    /// use whitewater::WriteBatch;
    ///
    /// let mut batch = WriteBatch::default();
    /// batch.put_cf(&users, "7", "ada");
    /// batch.put("users", "1");
    /// db.write(batch)?;
    /// assert_eq!(db.get_cf(&users, "7")?.as_deref(), Some(&b"ada"[..]));
    /// # Ok::<(), whitewater::Error>(())
    /// ```
    pub fn put_cf<K, V>(&mut self, cf: &impl AsColumnFamilyRef, key: K, value: V)
    where
        K: AsRef<[u8]>,
        V: AsRef<[u8]>,
    {
        let cf = cf.inner().id();
        self.push(cf, ValueType::Value, key.as_ref(), value.as_ref());
    }

    /// Sets `key` to a wide-column entity, as [`put_entity`](crate::DBCommon::put_entity) tells.
    /// With two columns of one name, writing the batch fails with `Corruption`. Not in the
    /// `rocksdb` crate.
    ///
    /// # Examples
    /// ```
    /// # let dir = tempfile::tempdir().unwrap();
    /// # let db = whitewater::DB::open_default(dir.path())?;
    /// use whitewater::WriteBatch;
    ///
    /// let mut batch = WriteBatch::default();
    /// batch.put_entity("7", [("name", "ada"), ("born", "1815")]);
    /// batch.delete("8");
    /// db.write(batch)?;
    /// assert_eq!(db.get_entity("7")?.expect("just written").len(), 2);
    /// # Ok::<(), whitewater::Error>(())
    /// ```
    pub fn put_entity<'c, K, I>(&mut self, key: K, columns: I)
    where
        K: AsRef<[u8]>,
        I: IntoIterator,
        I::Item: Into<WideColumn<'c>>,
    {
        self.push_entity(0, key.as_ref(), encode_columns(columns));
    }

    /// Sets `key` of `cf` to a wide-column entity. As [`put_entity`](Self::put_entity) otherwise.
    pub fn put_entity_cf<'c, K, I>(&mut self, cf: &impl AsColumnFamilyRef, key: K, columns: I)
    where
        K: AsRef<[u8]>,
        I: IntoIterator,
        I::Item: Into<WideColumn<'c>>,
    {
        self.push_entity(cf.inner().id(), key.as_ref(), encode_columns(columns));
    }

    fn push_entity(&mut self, cf: u32, key: &[u8], entity: Result<Vec<u8>>) {
        match entity {
            Ok(entity) => self.push(cf, ValueType::WideColumnEntity, key, &entity),
            Err(e) => self.refuse(e),
        }
    }

    /// Sets the version `ts` of `key` of `cf` to `value`. The keys of `cf` must
    /// have timestamps ([`set_comparator_with_ts`]) of the size of `ts`, or
    /// writing the batch fails with `InvalidArgument`.
    ///
    /// [`set_comparator_with_ts`]: crate::Options::set_comparator_with_ts
    pub fn put_cf_with_ts<K, V, S>(&mut self, cf: &impl AsColumnFamilyRef, key: K, ts: S, value: V)
    where
        K: AsRef<[u8]>,
        V: AsRef<[u8]>,
        S: AsRef<[u8]>,
    {
        let cf = cf.inner().id();
        let (key, ts) = (key.as_ref(), ts.as_ref());
        self.push_version(cf, ValueType::Value, key, ts, value.as_ref());
    }

    /// Removes `key` of `cf` for readers at `ts` and later, up to the next
    /// version. As [`put_cf_with_ts`](Self::put_cf_with_ts) otherwise.
    pub fn delete_cf_with_ts<K: AsRef<[u8]>, S: AsRef<[u8]>>(
        &mut self,
        cf: &impl AsColumnFamilyRef,
        key: K,
        ts: S,
    ) {
        let cf = cf.inner().id();
        self.push_version(cf, ValueType::Deletion, key.as_ref(), ts.as_ref(), &[]);
    }

    /// Merges `value` into `key` of `cf` at `ts`
    /// ([`merge_cf_with_ts`](crate::DBCommon::merge_cf_with_ts)). As
    /// [`put_cf_with_ts`](Self::put_cf_with_ts) otherwise.
    pub fn merge_cf_with_ts<K, V, S>(
        &mut self,
        cf: &impl AsColumnFamilyRef,
        key: K,
        ts: S,
        value: V,
    ) where
        K: AsRef<[u8]>,
        V: AsRef<[u8]>,
        S: AsRef<[u8]>,
    {
        let cf = cf.inner().id();
        let (key, ts) = (key.as_ref(), ts.as_ref());
        self.push_version(cf, ValueType::Merge, key, ts, value.as_ref());
    }

    /// Removes the keys of `cf` from `from` to before `to` for readers at `ts` and later, up to
    /// their next versions. As [`put_cf_with_ts`](Self::put_cf_with_ts) otherwise.
    pub fn delete_range_cf_with_ts<K: AsRef<[u8]>, S: AsRef<[u8]>>(
        &mut self,
        cf: &impl AsColumnFamilyRef,
        from: K,
        to: K,
        ts: S,
    ) {
        let cf = cf.inner().id();
        let ts = ts.as_ref();
        let end = [to.as_ref(), ts].concat();
        self.push_version(cf, ValueType::RangeDeletion, from.as_ref(), ts, &end);
    }

    fn push_version(&mut self, cf: u32, ty: ValueType, key: &[u8], ts: &[u8], value: &[u8]) {
        self.stamped.note(cf, ts.len());
        self.stamped_at.note(self.batch.count());
        self.push(cf, ty, &[key, ts].concat(), value);
    }

    /// Gives the timestamp `ts` to all keys of column families with timestamps, as RocksDB's
    /// `WriteBatch::UpdateTimestamps`: to those that were added without one, and instead of their
    /// own to others. Of a batch made of bytes all such keys must have one. `size_of` returns the
    /// size of a column family's timestamps in bytes, by its id; 0 leaves its keys as they are.
    ///
    /// # Errors
    /// `InvalidArgument`, and the batch stays as it is, if a column family of the batch has
    /// timestamps of another size, a key is too short for its timestamp or too long with it, or the
    /// batch has a savepoint and operations that are not written as this crate does. `Corruption`
    /// if the batch is damaged.
    ///
    /// # Examples
    /// ```
    /// # let dir = tempfile::tempdir().unwrap();
    /// use whitewater::{DB, Options, ReadOptions, WriteBatch};
    ///
    /// let mut options = Options::default();
    /// options.create_if_missing(true);
    /// options.set_u64_timestamp_comparator();
    /// let db = DB::open(&options, dir.path())?;
    /// let mut batch = WriteBatch::default();
    /// batch.put("river", "blue");
    /// batch.update_timestamps(7u64.to_le_bytes(), |_| 8)?;
    /// db.write(batch)?;
    /// let mut readopts = ReadOptions::default();
    /// readopts.set_timestamp(7u64.to_le_bytes());
    /// assert_eq!(db.get_opt("river", &readopts)?.as_deref(), Some(&b"blue"[..]));
    /// # Ok::<(), whitewater::Error>(())
    /// ```
    pub fn update_timestamps<S: AsRef<[u8]>>(
        &mut self,
        ts: S,
        size_of: impl FnMut(u32) -> usize,
    ) -> Result<()> {
        let ts = ts.as_ref();
        let marks: Vec<_> = self
            .savepoints
            .iter()
            .map(|savepoint| savepoint.end)
            .collect();
        let again = restamped(self.checked()?, &self.stamped_at, &marks, ts, size_of)?;
        if again.marks.len() < marks.len() {
            return Err(Error::invalid("a savepoint of the batch is not found"));
        }
        self.batch = again.batch;
        self.stamped_at = again.at;
        self.stamped.restamp(&again.counts, ts.len());
        for (savepoint, (end, counts)) in self.savepoints.iter_mut().zip(again.marks) {
            savepoint.end = end;
            savepoint.stamped.restamp(&counts, ts.len());
        }
        Ok(())
    }

    /// Merges `value` into `key`.
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
    /// use whitewater::WriteBatch;
    ///
    /// // `options` name a merge operator that appends.
    /// let mut batch = WriteBatch::default();
    /// batch.put("log", "a");
    /// batch.merge("log", "b");
    /// db.write(batch)?;
    /// assert_eq!(db.get("log")?.as_deref(), Some(&b"ab"[..]));
    /// # Ok::<(), whitewater::Error>(())
    /// ```
    pub fn merge<K, V>(&mut self, key: K, value: V)
    where
        K: AsRef<[u8]>,
        V: AsRef<[u8]>,
    {
        self.push(0, ValueType::Merge, key.as_ref(), value.as_ref());
    }

    /// Merges `value` into `key` of `cf`.
    pub fn merge_cf<K, V>(&mut self, cf: &impl AsColumnFamilyRef, key: K, value: V)
    where
        K: AsRef<[u8]>,
        V: AsRef<[u8]>,
    {
        let cf = cf.inner().id();
        self.push(cf, ValueType::Merge, key.as_ref(), value.as_ref());
    }

    /// Removes `key`; fine when it does not exist.
    ///
    /// # Examples
    /// ```
    /// # let dir = tempfile::tempdir().unwrap();
    /// # let db = whitewater::DB::open_default(dir.path())?;
    /// use whitewater::WriteBatch;
    ///
    /// db.put("river", "blue")?;
    /// let mut batch = WriteBatch::default();
    /// batch.delete("river");
    /// batch.put("stream", "white");
    /// db.write(batch)?;
    /// assert_eq!(db.get("river")?, None);
    /// # Ok::<(), whitewater::Error>(())
    /// ```
    pub fn delete<K: AsRef<[u8]>>(&mut self, key: K) {
        self.push(0, ValueType::Deletion, key.as_ref(), &[]);
    }

    /// Removes `key` of `cf`; fine when it does not exist.
    pub fn delete_cf<K: AsRef<[u8]>>(&mut self, cf: &impl AsColumnFamilyRef, key: K) {
        self.push(cf.inner().id(), ValueType::Deletion, key.as_ref(), &[]);
    }

    /// Removes `key`, which was put exactly once since it was last removed and
    /// never merged; otherwise the result is undefined.
    ///
    /// # Examples
    /// ```
    /// # let dir = tempfile::tempdir().unwrap();
    /// # let db = whitewater::DB::open_default(dir.path())?;
    /// use whitewater::WriteBatch;
    ///
    /// db.put("once", "1")?; // not put again, not merged into
    /// let mut batch = WriteBatch::default();
    /// batch.single_delete("once");
    /// db.write(batch)?;
    /// assert_eq!(db.get("once")?, None);
    /// # Ok::<(), whitewater::Error>(())
    /// ```
    pub fn single_delete<K: AsRef<[u8]>>(&mut self, key: K) {
        self.push(0, ValueType::SingleDeletion, key.as_ref(), &[]);
    }

    /// [`single_delete`](Self::single_delete) in `cf`.
    pub fn single_delete_cf<K: AsRef<[u8]>>(&mut self, cf: &impl AsColumnFamilyRef, key: K) {
        let cf = cf.inner().id();
        self.push(cf, ValueType::SingleDeletion, key.as_ref(), &[]);
    }

    /// Adds bytes that go to the write-ahead log and nowhere else. They take
    /// no sequence number and do not count in [`len`](Self::len).
    pub fn put_log_data<V: AsRef<[u8]>>(&mut self, log_data: V) {
        self.batch.push_log_data(log_data.as_ref());
    }

    /// Forgets all operations and savepoints.
    pub fn clear(&mut self) {
        self.batch.clear();
        self.stamped.clear();
        self.stamped_at = StampedAt::default();
        self.damaged = None;
        self.savepoints.clear();
    }

    /// Remembers the batch as it is, for [`rollback_to_savepoint`](Self::rollback_to_savepoint).
    /// Not in the `rocksdb` crate.
    ///
    /// # Examples
    /// ```
    /// use whitewater::WriteBatch;
    ///
    /// let mut batch = WriteBatch::default();
    /// batch.put("river", "blue");
    /// batch.set_savepoint();
    /// batch.put("stream", "white");
    /// batch.rollback_to_savepoint()?;
    /// assert_eq!(batch.len(), 1);
    /// assert!(batch.rollback_to_savepoint().is_err()); // there was one
    /// # Ok::<(), whitewater::Error>(())
    /// ```
    pub fn set_savepoint(&mut self) {
        self.savepoints.push(Savepoint {
            end: self.batch.mark(),
            stamped: self.stamped.clone(),
            is_damaged: self.damaged.is_some(),
        });
    }

    /// Removes what was added since the last savepoint, and that savepoint. Not in the `rocksdb`
    /// crate.
    ///
    /// # Errors
    /// `NotFound` without a savepoint.
    pub fn rollback_to_savepoint(&mut self) -> Result<()> {
        let savepoint = self.savepoints.pop().ok_or_else(no_savepoint)?;
        self.batch.take_back(savepoint.end);
        self.stamped = savepoint.stamped;
        self.stamped_at.truncate(self.batch.count());
        if !savepoint.is_damaged {
            self.damaged = None;
        }
        Ok(())
    }

    /// Forgets the last savepoint. Not in the `rocksdb` crate.
    ///
    /// # Errors
    /// `NotFound` without a savepoint.
    pub fn pop_savepoint(&mut self) -> Result<()> {
        self.savepoints.pop().map(drop).ok_or_else(no_savepoint)
    }
}

/// The error for a batch without savepoints, in RocksDB's words, which are none.
fn no_savepoint() -> Error {
    Error::new(ErrorKind::NotFound, "")
}

impl WriteBatchWithTransaction<false> {
    /// Removes all keys in `[from, to)`.
    ///
    /// # Examples
    /// ```
    /// # let dir = tempfile::tempdir().unwrap();
    /// # let db = whitewater::DB::open_default(dir.path())?;
    /// use whitewater::WriteBatch;
    ///
    /// for day in ["2026-05-01", "2026-05-31", "2026-06-01"] {
    ///     db.put(day, "dry")?;
    /// }
    /// let mut batch = WriteBatch::default();
    /// batch.delete_range("2026-05-", "2026-06-");
    /// db.write(batch)?;
    /// assert_eq!(db.get("2026-05-31")?, None);
    /// assert_eq!(db.get("2026-06-01")?.as_deref(), Some(&b"dry"[..]));
    /// # Ok::<(), whitewater::Error>(())
    /// ```
    pub fn delete_range<K: AsRef<[u8]>>(&mut self, from: K, to: K) {
        self.push(0, ValueType::RangeDeletion, from.as_ref(), to.as_ref());
    }

    /// Removes all keys of `cf` in `[from, to)`.
    pub fn delete_range_cf<K: AsRef<[u8]>>(&mut self, cf: &impl AsColumnFamilyRef, from: K, to: K) {
        let cf = cf.inner().id();
        self.push(cf, ValueType::RangeDeletion, from.as_ref(), to.as_ref());
    }
}

impl<const TRANSACTION: bool> Default for WriteBatchWithTransaction<TRANSACTION> {
    fn default() -> Self {
        Self::new()
    }
}
