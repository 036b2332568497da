//! Writes.

use super::{DBCommon, DBInner, DBWithThreadMode, ThreadMode};
use crate::api::column_family::AsColumnFamilyRef;
use crate::api::options::WriteOptions;
use crate::api::write_batch::WriteBatch;
use crate::api::write_batch_with_index::WriteBatchWithIndex;
use crate::column_family::ColumnFamilyData;
use whitewater_storage::Error;
use whitewater_storage::key::ValueType;

const DEFAULT_CF: u32 = 0;

impl<T: ThreadMode, D: DBInner> DBCommon<T, D> {
    fn commit(&self, batch: WriteBatch, writeopts: &WriteOptions) -> Result<(), Error> {
        let (batch, stamped) = batch.into_batch()?;
        self.engine().write(batch, &stamped, &writeopts.spec)
    }

    /// Commits one operation with a timestamp.
    fn commit_version(
        &self,
        cf: &ColumnFamilyData,
        ty: ValueType,
        version: (&[u8], &[u8]),
        value: &[u8],
        writeopts: &WriteOptions,
    ) -> Result<(), Error> {
        let engine = self.engine();
        engine.write_version(cf, ty, version, value, &writeopts.spec)
    }

    /// Commits one operation.
    fn commit_one(
        &self,
        cf: u32,
        ty: ValueType,
        key: &[u8],
        value: &[u8],
        writeopts: &WriteOptions,
    ) -> Result<(), Error> {
        self.engine().write_one(cf, ty, key, value, &writeopts.spec)
    }
}

/// Writing batches and ranges.
impl<T: ThreadMode> DBWithThreadMode<T> {
    /// Removes all keys of `cf` in `[from, to)`.
    ///
    /// # Errors
    /// As [`write`](Self::write).
    pub fn delete_range_cf_opt<K: AsRef<[u8]>>(
        &self,
        cf: &impl AsColumnFamilyRef,
        from: K,
        to: K,
        writeopts: &WriteOptions,
    ) -> Result<(), Error> {
        let cf = cf.inner().id();
        self.commit_one(
            cf,
            ValueType::RangeDeletion,
            from.as_ref(),
            to.as_ref(),
            writeopts,
        )
    }

    /// [`delete_range_cf_opt`](Self::delete_range_cf_opt) with default options.
    ///
    /// # Errors
    /// As [`write`](Self::write).
    ///
    /// # Examples
    /// ```
    /// # let dir = tempfile::tempdir().unwrap();
    /// # let mut options = whitewater::Options::default();
    /// # options.create_if_missing(true);
    /// # options.create_missing_column_families(true);
    /// # let db = whitewater::DB::open_cf(&options, dir.path(), ["users"])?;
    /// let users = db.cf_handle("users").expect("named at open");
    /// for id in ["1", "2", "3"] {
    ///     db.put_cf(&users, id, "")?;
    /// }
    /// db.delete_range_cf(&users, "1", "3")?; // the end is not deleted
    /// assert_eq!(db.get_cf(&users, "2")?, None);
    /// assert_eq!(db.get_cf(&users, "3")?, Some(vec![]));
    /// # Ok::<(), whitewater::Error>(())
    /// ```
    pub fn delete_range_cf<K: AsRef<[u8]>>(
        &self,
        cf: &impl AsColumnFamilyRef,
        from: K,
        to: K,
    ) -> Result<(), Error> {
        self.delete_range_cf_opt(cf, from, to, &WriteOptions::default())
    }

    /// [`write`](Self::write) with options.
    ///
    /// # Errors
    /// As [`write`](Self::write); `Incomplete` when the write would have to
    /// wait and may not, `InvalidArgument` for a synced write without a log.
    ///
    /// # Examples
    /// ```
    /// # let dir = tempfile::tempdir().unwrap();
    /// # let db = whitewater::DB::open_default(dir.path())?;
    /// use whitewater::{WriteBatch, WriteOptions};
    ///
    /// let mut batch = WriteBatch::default();
    /// batch.put("river", "blue");
    /// let mut options = WriteOptions::default();
    /// options.set_no_slowdown(true); // fails with `Incomplete` instead of waiting
    /// db.write_opt(batch, &options)?;
    /// assert_eq!(db.get("river")?.as_deref(), Some(&b"blue"[..]));
    /// # Ok::<(), whitewater::Error>(())
    /// ```
    pub fn write_opt(&self, batch: WriteBatch, writeopts: &WriteOptions) -> Result<(), Error> {
        self.commit(batch, writeopts)
    }

    /// Commits all writes of `batch` at once.
    ///
    /// # Errors
    /// `IOError` when the log cannot be written, and from then on for every
    /// write; `Corruption` when the batch came from damaged bytes;
    /// `InvalidArgument` when a column family no longer exists, or a merge
    /// is for one without merge operator. Then nothing was written.
    ///
    /// # Examples
    /// ```
    /// # let dir = tempfile::tempdir().unwrap();
    /// # let db = whitewater::DB::open_default(dir.path())?;
    /// use whitewater::WriteBatch;
    ///
    /// let mut batch = WriteBatch::default();
    /// batch.put("river", "blue");
    /// batch.put("stream", "white");
    /// db.write(batch)?; // both or neither
    /// assert_eq!(db.get("stream")?.as_deref(), Some(&b"white"[..]));
    /// # Ok::<(), whitewater::Error>(())
    /// ```
    pub fn write(&self, batch: WriteBatch) -> Result<(), Error> {
        self.write_opt(batch, &WriteOptions::default())
    }

    /// Commits all writes of `batch` at once, without its index. Not in the `rocksdb` crate.
    ///
    /// # Errors
    /// As [`write`](Self::write); what refused an operation of the batch.
    ///
    /// # Examples
    /// ```
    /// # let dir = tempfile::tempdir().unwrap();
    /// # let db = whitewater::DB::open_default(dir.path())?;
    /// use whitewater::WriteBatchWithIndex;
    ///
    /// let mut batch = WriteBatchWithIndex::default();
    /// batch.put("river", "blue");
    /// db.write_wbwi(batch.clone())?; // a clone, to go on with it
    /// batch.put("stream", "white");
    /// db.write_wbwi(batch)?;
    /// assert_eq!(db.get("stream")?.as_deref(), Some(&b"white"[..]));
    /// # Ok::<(), whitewater::Error>(())
    /// ```
    pub fn write_wbwi(&self, batch: WriteBatchWithIndex) -> Result<(), Error> {
        self.write_wbwi_opt(batch, &WriteOptions::default())
    }

    /// [`write_wbwi`](Self::write_wbwi) with options.
    ///
    /// # Errors
    /// As [`write_wbwi`](Self::write_wbwi).
    pub fn write_wbwi_opt(
        &self,
        batch: WriteBatchWithIndex,
        writeopts: &WriteOptions,
    ) -> Result<(), Error> {
        let (batch, stamped) = batch.into_batch()?;
        (self.engine()).write(batch, &stamped, &writeopts.spec)
    }

    /// [`write`](Self::write) past the log: lost if the process dies before a
    /// flush.
    ///
    /// # Errors
    /// As [`write`](Self::write).
    ///
    /// # Examples
    /// ```
    /// # let dir = tempfile::tempdir().unwrap();
    /// # let db = whitewater::DB::open_default(dir.path())?;
    /// use whitewater::WriteBatch;
    ///
    /// let mut batch = WriteBatch::default();
    /// batch.put("cached", "1");
    /// db.write_without_wal(batch)?;
    /// db.flush()?; // from here on it survives a crash
    /// assert_eq!(db.get("cached")?.as_deref(), Some(&b"1"[..]));
    /// # Ok::<(), whitewater::Error>(())
    /// ```
    pub fn write_without_wal(&self, batch: WriteBatch) -> Result<(), Error> {
        let mut writeopts = WriteOptions::new();
        writeopts.disable_wal(true);
        self.write_opt(batch, &writeopts)
    }
}

/// Single writes. They fail as [`write`](DBWithThreadMode::write) does.
impl<T: ThreadMode, D: DBInner> DBCommon<T, D> {
    /// [`put`](Self::put) with options.
    ///
    /// # Errors
    /// As [`write_opt`](DBWithThreadMode::write_opt).
    ///
    /// # Examples
    /// ```
    /// # let dir = tempfile::tempdir().unwrap();
    /// # let db = whitewater::DB::open_default(dir.path())?;
    /// use whitewater::WriteOptions;
    ///
    /// let mut synced = WriteOptions::default();
    /// synced.set_sync(true);
    /// db.put_opt("order", "42", &synced)?; // survives a power failure
    /// assert_eq!(db.get("order")?.as_deref(), Some(&b"42"[..]));
    /// # Ok::<(), whitewater::Error>(())
    /// ```
    pub fn put_opt<K, V>(&self, key: K, value: V, writeopts: &WriteOptions) -> Result<(), Error>
    where
        K: AsRef<[u8]>,
        V: AsRef<[u8]>,
    {
        let (key, value) = (key.as_ref(), value.as_ref());
        self.commit_one(DEFAULT_CF, ValueType::Value, key, value, writeopts)
    }

    /// [`put_cf`](Self::put_cf) with options.
    ///
    /// # Errors
    /// As [`write_opt`](DBWithThreadMode::write_opt).
    pub fn put_cf_opt<K, V>(
        &self,
        cf: &impl AsColumnFamilyRef,
        key: K,
        value: V,
        writeopts: &WriteOptions,
    ) -> Result<(), Error>
    where
        K: AsRef<[u8]>,
        V: AsRef<[u8]>,
    {
        let (cf, key, value) = (cf.inner().id(), key.as_ref(), value.as_ref());
        self.commit_one(cf, ValueType::Value, key, value, writeopts)
    }

    /// [`merge`](Self::merge) with options.
    ///
    /// # Errors
    /// As [`write_opt`](DBWithThreadMode::write_opt); `NotSupported` where the column family
    /// has no merge operator.
    pub fn merge_opt<K, V>(&self, key: K, value: V, writeopts: &WriteOptions) -> Result<(), Error>
    where
        K: AsRef<[u8]>,
        V: AsRef<[u8]>,
    {
        let (key, value) = (key.as_ref(), value.as_ref());
        self.commit_one(DEFAULT_CF, ValueType::Merge, key, value, writeopts)
    }

    /// [`merge_cf`](Self::merge_cf) with options.
    ///
    /// # Errors
    /// As [`write_opt`](DBWithThreadMode::write_opt); `NotSupported` where the column family
    /// has no merge operator.
    pub fn merge_cf_opt<K, V>(
        &self,
        cf: &impl AsColumnFamilyRef,
        key: K,
        value: V,
        writeopts: &WriteOptions,
    ) -> Result<(), Error>
    where
        K: AsRef<[u8]>,
        V: AsRef<[u8]>,
    {
        let (cf, key, value) = (cf.inner().id(), key.as_ref(), value.as_ref());
        self.commit_one(cf, ValueType::Merge, key, value, writeopts)
    }

    /// [`delete`](Self::delete) with options.
    ///
    /// # Errors
    /// As [`write_opt`](DBWithThreadMode::write_opt).
    pub fn delete_opt<K: AsRef<[u8]>>(
        &self,
        key: K,
        writeopts: &WriteOptions,
    ) -> Result<(), Error> {
        self.commit_one(
            DEFAULT_CF,
            ValueType::Deletion,
            key.as_ref(),
            &[],
            writeopts,
        )
    }

    /// [`delete_cf`](Self::delete_cf) with options.
    ///
    /// # Errors
    /// As [`write_opt`](DBWithThreadMode::write_opt).
    pub fn delete_cf_opt<K: AsRef<[u8]>>(
        &self,
        cf: &impl AsColumnFamilyRef,
        key: K,
        writeopts: &WriteOptions,
    ) -> Result<(), Error> {
        self.commit_one(
            cf.inner().id(),
            ValueType::Deletion,
            key.as_ref(),
            &[],
            writeopts,
        )
    }

    /// Sets `key` to `value`.
    ///
    /// # Errors
    /// As [`write`](DBWithThreadMode::write).
    ///
    /// # Examples
    /// ```
    /// # let dir = tempfile::tempdir().unwrap();
    /// # let db = whitewater::DB::open_default(dir.path())?;
    /// db.put("river", "blue")?;
    /// db.put("river", "white")?;
    /// assert_eq!(db.get("river")?.as_deref(), Some(&b"white"[..]));
    /// # Ok::<(), whitewater::Error>(())
    /// ```
    pub fn put<K, V>(&self, key: K, value: V) -> Result<(), Error>
    where
        K: AsRef<[u8]>,
        V: AsRef<[u8]>,
    {
        self.put_opt(key, value, &WriteOptions::default())
    }

    /// Sets `key` of `cf` to `value`.
    ///
    /// # Errors
    /// As [`write`](DBWithThreadMode::write).
    ///
    /// # Examples
    /// ```
    /// # let dir = tempfile::tempdir().unwrap();
    /// # let mut options = whitewater::Options::default();
    /// # options.create_if_missing(true);
    /// # options.create_missing_column_families(true);
    /// # let db = whitewater::DB::open_cf(&options, dir.path(), ["users"])?;
    /// let users = db.cf_handle("users").expect("named at open");
    /// db.put_cf(&users, "7", "ada")?;
    /// assert_eq!(db.get_cf(&users, "7")?.as_deref(), Some(&b"ada"[..]));
    /// assert_eq!(db.get("7")?, None);
    /// # Ok::<(), whitewater::Error>(())
    /// ```
    pub fn put_cf<K, V>(&self, cf: &impl AsColumnFamilyRef, key: K, value: V) -> Result<(), Error>
    where
        K: AsRef<[u8]>,
        V: AsRef<[u8]>,
    {
        self.put_cf_opt(cf, key, value, &WriteOptions::default())
    }

    /// Merges `value` into `key` by the
    /// [merge operator](crate::Options::set_merge_operator).
    ///
    /// # Errors
    /// As [`write`](DBWithThreadMode::write); `NotSupported` where the column family
    /// has no merge operator.
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
    /// // `options` name a merge operator that appends.
    /// db.put("log", "a")?;
    /// db.merge("log", "b")?;
    /// db.merge("log", "c")?;
    /// assert_eq!(db.get("log")?.as_deref(), Some(&b"abc"[..]));
    /// # Ok::<(), whitewater::Error>(())
    /// ```
    pub fn merge<K, V>(&self, key: K, value: V) -> Result<(), Error>
    where
        K: AsRef<[u8]>,
        V: AsRef<[u8]>,
    {
        self.merge_opt(key, value, &WriteOptions::default())
    }

    /// Merges `value` into `key` of `cf` by its merge operator.
    ///
    /// # Errors
    /// As [`write`](DBWithThreadMode::write); `NotSupported` where the column family
    /// has no merge operator.
    pub fn merge_cf<K, V>(&self, cf: &impl AsColumnFamilyRef, key: K, value: V) -> Result<(), Error>
    where
        K: AsRef<[u8]>,
        V: AsRef<[u8]>,
    {
        self.merge_cf_opt(cf, key, value, &WriteOptions::default())
    }

    /// Removes `key`; fine when it does not exist.
    ///
    /// # Errors
    /// As [`write`](DBWithThreadMode::write).
    ///
    /// # Examples
    /// ```
    /// # let dir = tempfile::tempdir().unwrap();
    /// # let db = whitewater::DB::open_default(dir.path())?;
    /// db.put("river", "blue")?;
    /// db.delete("river")?;
    /// db.delete("never written")?;
    /// assert_eq!(db.get("river")?, None);
    /// # Ok::<(), whitewater::Error>(())
    /// ```
    pub fn delete<K: AsRef<[u8]>>(&self, key: K) -> Result<(), Error> {
        self.delete_opt(key, &WriteOptions::default())
    }

    /// Removes `key` of `cf`; fine when it does not exist.
    ///
    /// # Errors
    /// As [`write`](DBWithThreadMode::write).
    ///
    /// # Examples
    /// ```
    /// # let dir = tempfile::tempdir().unwrap();
    /// # let mut options = whitewater::Options::default();
    /// # options.create_if_missing(true);
    /// # options.create_missing_column_families(true);
    /// # let db = whitewater::DB::open_cf(&options, dir.path(), ["users"])?;
    /// let users = db.cf_handle("users").expect("named at open");
    /// db.put_cf(&users, "7", "ada")?;
    /// db.delete_cf(&users, "7")?;
    /// assert_eq!(db.get_cf(&users, "7")?, None);
    /// # Ok::<(), whitewater::Error>(())
    /// ```
    pub fn delete_cf<K: AsRef<[u8]>>(
        &self,
        cf: &impl AsColumnFamilyRef,
        key: K,
    ) -> Result<(), Error> {
        self.delete_cf_opt(cf, key, &WriteOptions::default())
    }
}

/// Writes of versions: the keys of the column family must have timestamps
/// ([`Options::set_comparator_with_ts`](crate::Options::set_comparator_with_ts)).
/// A key's timestamps must not go back from write to write. They fail as
/// [`write`](DBWithThreadMode::write) does, and with `InvalidArgument` for a
/// timestamp of the wrong size and a column family without timestamps.
impl<T: ThreadMode, D: DBInner> DBCommon<T, D> {
    /// Sets the version `ts` of `key` to `value`.
    ///
    /// # Errors
    /// As listed above.
    pub fn put_with_ts<K, V, S>(&self, key: K, ts: S, value: V) -> Result<(), Error>
    where
        K: AsRef<[u8]>,
        V: AsRef<[u8]>,
        S: AsRef<[u8]>,
    {
        self.put_with_ts_opt(key, ts, value, &WriteOptions::default())
    }

    /// [`put_with_ts`](Self::put_with_ts) with options.
    ///
    /// # Errors
    /// As listed above.
    pub fn put_with_ts_opt<K, V, S>(
        &self,
        key: K,
        ts: S,
        value: V,
        writeopts: &WriteOptions,
    ) -> Result<(), Error>
    where
        K: AsRef<[u8]>,
        V: AsRef<[u8]>,
        S: AsRef<[u8]>,
    {
        let version = (key.as_ref(), ts.as_ref());
        let cf = self.engine().default_cf();
        self.commit_version(cf, ValueType::Value, version, value.as_ref(), writeopts)
    }

    /// Sets the version `ts` of `key` of `cf` to `value`.
    ///
    /// # Errors
    /// As listed above.
    pub fn put_cf_with_ts<K, V, S>(
        &self,
        cf: &impl AsColumnFamilyRef,
        key: K,
        ts: S,
        value: V,
    ) -> Result<(), Error>
    where
        K: AsRef<[u8]>,
        V: AsRef<[u8]>,
        S: AsRef<[u8]>,
    {
        self.put_cf_with_ts_opt(cf, key, ts, value, &WriteOptions::default())
    }

    /// [`put_cf_with_ts`](Self::put_cf_with_ts) with options.
    ///
    /// # Errors
    /// As listed above.
    pub fn put_cf_with_ts_opt<K, V, S>(
        &self,
        cf: &impl AsColumnFamilyRef,
        key: K,
        ts: S,
        value: V,
        writeopts: &WriteOptions,
    ) -> Result<(), Error>
    where
        K: AsRef<[u8]>,
        V: AsRef<[u8]>,
        S: AsRef<[u8]>,
    {
        let version = (key.as_ref(), ts.as_ref());
        let cf = cf.inner().data();
        self.commit_version(cf, ValueType::Value, version, value.as_ref(), writeopts)
    }

    /// Merges `value` into `key` of `cf` at `ts`, by the
    /// [merge operator](crate::Options::set_merge_operator): with what readers at `ts` see.
    /// The operator gets the key without its timestamp.
    ///
    /// # Errors
    /// As listed above, and `NotSupported` where `cf` has no merge operator.
    ///
    /// # Examples
    /// ```
    /// # let dir = tempfile::tempdir().unwrap();
    /// # let mut options = whitewater::Options::default();
    /// # options.create_if_missing(true);
    /// # options.set_u64_timestamp_comparator();
    /// # options.set_merge_operator_associative("append", |_, existing, operands| {
    /// #     let parts = existing.into_iter().chain(operands);
    /// #     Some(parts.collect::<Vec<_>>().concat())
    /// # });
    /// # let default = whitewater::ColumnFamilyDescriptor::new("default", options.clone());
    /// # let db = whitewater::DB::open_cf_descriptors(&options, dir.path(), [default])?;
    /// use whitewater::ReadOptions;
    ///
    /// // `options` name a merge operator that appends.
    /// let cf = db.cf_handle("default").expect("always there");
    /// db.put_cf_with_ts(&cf, "log", 1u64.to_le_bytes(), "a")?;
    /// db.merge_cf_with_ts(&cf, "log", 2u64.to_le_bytes(), "b")?;
    /// let mut now = ReadOptions::default();
    /// now.set_timestamp(2u64.to_le_bytes());
    /// assert_eq!(db.get_cf_opt(&cf, "log", &now)?.as_deref(), Some(&b"ab"[..]));
    /// let mut then = ReadOptions::default();
    /// then.set_timestamp(1u64.to_le_bytes());
    /// assert_eq!(db.get_cf_opt(&cf, "log", &then)?.as_deref(), Some(&b"a"[..]));
    /// # Ok::<(), whitewater::Error>(())
    /// ```
    pub fn merge_cf_with_ts<K, V, S>(
        &self,
        cf: &impl AsColumnFamilyRef,
        key: K,
        ts: S,
        value: V,
    ) -> Result<(), Error>
    where
        K: AsRef<[u8]>,
        V: AsRef<[u8]>,
        S: AsRef<[u8]>,
    {
        self.merge_cf_with_ts_opt(cf, key, ts, value, &WriteOptions::default())
    }

    /// [`merge_cf_with_ts`](Self::merge_cf_with_ts) with options.
    ///
    /// # Errors
    /// As [`merge_cf_with_ts`](Self::merge_cf_with_ts).
    pub fn merge_cf_with_ts_opt<K, V, S>(
        &self,
        cf: &impl AsColumnFamilyRef,
        key: K,
        ts: S,
        value: V,
        writeopts: &WriteOptions,
    ) -> Result<(), Error>
    where
        K: AsRef<[u8]>,
        V: AsRef<[u8]>,
        S: AsRef<[u8]>,
    {
        let version = (key.as_ref(), ts.as_ref());
        let cf = cf.inner().data();
        self.commit_version(cf, ValueType::Merge, version, value.as_ref(), writeopts)
    }

    /// Removes the keys of `cf` from `from` to before `to` for readers at `ts` and later, up to
    /// their next versions.
    ///
    /// # Errors
    /// As listed above.
    ///
    /// # Examples
    /// ```
    /// # let dir = tempfile::tempdir().unwrap();
    /// # let mut options = whitewater::Options::default();
    /// # options.create_if_missing(true);
    /// # options.set_u64_timestamp_comparator();
    /// # let default = whitewater::ColumnFamilyDescriptor::new("default", options.clone());
    /// # let db = whitewater::DB::open_cf_descriptors(&options, dir.path(), [default])?;
    /// use whitewater::ReadOptions;
    ///
    /// let at = |time: u64| {
    ///     let mut options = ReadOptions::default();
    ///     options.set_timestamp(time.to_le_bytes());
    ///     options
    /// };
    /// let cf = db.cf_handle("default").expect("always there");
    /// db.put_cf_with_ts(&cf, "b", 1u64.to_le_bytes(), "1")?;
    /// db.delete_range_cf_with_ts(&cf, "a", "c", 2u64.to_le_bytes())?;
    /// assert_eq!(db.get_cf_opt(&cf, "b", &at(2))?, None);
    /// assert_eq!(db.get_cf_opt(&cf, "b", &at(1))?.as_deref(), Some(&b"1"[..]));
    /// # Ok::<(), whitewater::Error>(())
    /// ```
    pub fn delete_range_cf_with_ts<K: AsRef<[u8]>, S: AsRef<[u8]>>(
        &self,
        cf: &impl AsColumnFamilyRef,
        from: K,
        to: K,
        ts: S,
    ) -> Result<(), Error> {
        self.delete_range_cf_with_ts_opt(cf, from, to, ts, &WriteOptions::default())
    }

    /// [`delete_range_cf_with_ts`](Self::delete_range_cf_with_ts) with options.
    ///
    /// # Errors
    /// As listed above.
    pub fn delete_range_cf_with_ts_opt<K: AsRef<[u8]>, S: AsRef<[u8]>>(
        &self,
        cf: &impl AsColumnFamilyRef,
        from: K,
        to: K,
        ts: S,
        writeopts: &WriteOptions,
    ) -> Result<(), Error> {
        let (range, time) = ((from.as_ref(), to.as_ref()), ts.as_ref());
        let cf = cf.inner().data();
        self.engine()
            .delete_versions(cf, range, time, &writeopts.spec)
    }

    /// Removes `key` for readers at `ts` and later, up to its next version.
    ///
    /// # Errors
    /// As listed above.
    pub fn delete_with_ts<K: AsRef<[u8]>, S: AsRef<[u8]>>(
        &self,
        key: K,
        ts: S,
    ) -> Result<(), Error> {
        self.delete_with_ts_opt(key, ts, &WriteOptions::default())
    }

    /// [`delete_with_ts`](Self::delete_with_ts) with options.
    ///
    /// # Errors
    /// As listed above.
    pub fn delete_with_ts_opt<K, S>(
        &self,
        key: K,
        ts: S,
        writeopts: &WriteOptions,
    ) -> Result<(), Error>
    where
        K: AsRef<[u8]>,
        S: AsRef<[u8]>,
    {
        let version = (key.as_ref(), ts.as_ref());
        let cf = self.engine().default_cf();
        self.commit_version(cf, ValueType::Deletion, version, &[], writeopts)
    }

    /// [`delete_with_ts`](Self::delete_with_ts) in `cf`.
    ///
    /// # Errors
    /// As listed above.
    pub fn delete_cf_with_ts<K: AsRef<[u8]>, S: AsRef<[u8]>>(
        &self,
        cf: &impl AsColumnFamilyRef,
        key: K,
        ts: S,
    ) -> Result<(), Error> {
        self.delete_cf_with_ts_opt(cf, key, ts, &WriteOptions::default())
    }

    /// [`delete_cf_with_ts`](Self::delete_cf_with_ts) with options.
    ///
    /// # Errors
    /// As listed above.
    pub fn delete_cf_with_ts_opt<K, S>(
        &self,
        cf: &impl AsColumnFamilyRef,
        key: K,
        ts: S,
        writeopts: &WriteOptions,
    ) -> Result<(), Error>
    where
        K: AsRef<[u8]>,
        S: AsRef<[u8]>,
    {
        let version = (key.as_ref(), ts.as_ref());
        let cf = cf.inner().data();
        self.commit_version(cf, ValueType::Deletion, version, &[], writeopts)
    }
}
