//! Writes of a database with transactions, outside of transactions.

use super::TransactionDB;
use crate::api::column_family::{AsColumnFamilyRef, ColumnFamilyHandle};
use crate::api::db::ThreadMode;
use crate::api::options::WriteOptions;
use crate::api::write_batch::WriteBatchWithTransaction;
use whitewater_storage::Error;
use whitewater_storage::key::ValueType;

/// Writes outside of transactions. Each locks its keys until it is done. It fails with `TimedOut`
/// if a transaction has a key locked for longer than
/// [the timeout](crate::TransactionDBOptions::set_default_lock_timeout), and otherwise as a write
/// to a [`DB`](crate::DBWithThreadMode::write) does.
impl<T: ThreadMode> TransactionDB<T> {
    fn write_one(
        &self,
        cf: Option<&ColumnFamilyHandle>,
        ty: ValueType,
        key: &[u8],
        value: &[u8],
        writeopts: &WriteOptions,
    ) -> Result<(), Error> {
        let cf = cf.map_or(0, ColumnFamilyHandle::id);
        (self.shared()).write_one(cf, ty, key, value, &writeopts.spec)
    }

    /// Sets `key` to `value`.
    ///
    /// # Errors
    /// As listed above.
    ///
    /// # Examples
    /// ```
    /// # let dir = tempfile::tempdir().unwrap();
    /// use whitewater::{ErrorKind, Options, TransactionDB, TransactionDBOptions};
    ///
    /// let mut options = Options::default();
    /// options.create_if_missing(true);
    /// let mut of_transactions = TransactionDBOptions::default();
    /// of_transactions.set_default_lock_timeout(1);
    /// let db: TransactionDB = TransactionDB::open(&options, &of_transactions, dir.path())?;
    ///
    /// let transaction = db.transaction();
    /// transaction.put("river", "blue")?;
    /// let refused = db.put("river", "white").unwrap_err();
    /// assert_eq!(refused.kind(), ErrorKind::TimedOut);
    /// transaction.commit()?;
    /// db.put("river", "white")?;
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
    /// As listed above.
    pub fn put_cf<K, V>(&self, cf: &impl AsColumnFamilyRef, key: K, value: V) -> Result<(), Error>
    where
        K: AsRef<[u8]>,
        V: AsRef<[u8]>,
    {
        self.put_cf_opt(cf, key, value, &WriteOptions::default())
    }

    /// [`put`](Self::put) with options.
    ///
    /// # Errors
    /// As listed above.
    pub fn put_opt<K, V>(&self, key: K, value: V, writeopts: &WriteOptions) -> Result<(), Error>
    where
        K: AsRef<[u8]>,
        V: AsRef<[u8]>,
    {
        let (key, value) = (key.as_ref(), value.as_ref());
        self.write_one(None, ValueType::Value, key, value, writeopts)
    }

    /// [`put_cf`](Self::put_cf) with options.
    ///
    /// # Errors
    /// As listed above.
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
        let (cf, key, value) = (cf.inner(), key.as_ref(), value.as_ref());
        self.write_one(Some(cf), ValueType::Value, key, value, writeopts)
    }

    /// Commits all writes of `batch` at once.
    ///
    /// # Errors
    /// As listed above; `InvalidArgument` for range deletions, which cannot be locked.
    ///
    /// # Examples
    /// ```
    /// # let dir = tempfile::tempdir().unwrap();
    /// # let db: whitewater::TransactionDB = whitewater::TransactionDB::open_default(dir.path())?;
    /// use whitewater::WriteBatchWithTransaction;
    ///
    /// let mut batch = WriteBatchWithTransaction::<true>::default();
    /// batch.put("river", "blue");
    /// batch.put("stream", "white");
    /// db.write(batch)?; // both or neither
    /// assert_eq!(db.get("stream")?.as_deref(), Some(&b"white"[..]));
    /// # Ok::<(), whitewater::Error>(())
    /// ```
    pub fn write(&self, batch: WriteBatchWithTransaction<true>) -> Result<(), Error> {
        self.write_opt(batch, &WriteOptions::default())
    }

    /// [`write`](Self::write) with options.
    ///
    /// # Errors
    /// As [`write`](Self::write).
    pub fn write_opt(
        &self,
        batch: WriteBatchWithTransaction<true>,
        writeopts: &WriteOptions,
    ) -> Result<(), Error> {
        let (batch, stamped) = batch.into_batch()?;
        self.shared().write(batch, &stamped, &writeopts.spec)
    }

    /// Merges `value` into `key` by the [merge operator](crate::Options::set_merge_operator).
    ///
    /// # Errors
    /// As listed above; `NotSupported` where the column family has no merge operator.
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
    /// As [`merge`](Self::merge).
    pub fn merge_cf<K, V>(&self, cf: &impl AsColumnFamilyRef, key: K, value: V) -> Result<(), Error>
    where
        K: AsRef<[u8]>,
        V: AsRef<[u8]>,
    {
        self.merge_cf_opt(cf, key, value, &WriteOptions::default())
    }

    /// [`merge`](Self::merge) with options.
    ///
    /// # Errors
    /// As [`merge`](Self::merge).
    pub fn merge_opt<K, V>(&self, key: K, value: V, writeopts: &WriteOptions) -> Result<(), Error>
    where
        K: AsRef<[u8]>,
        V: AsRef<[u8]>,
    {
        let (key, value) = (key.as_ref(), value.as_ref());
        self.write_one(None, ValueType::Merge, key, value, writeopts)
    }

    /// [`merge_cf`](Self::merge_cf) with options.
    ///
    /// # Errors
    /// As [`merge`](Self::merge).
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
        let (cf, key, value) = (cf.inner(), key.as_ref(), value.as_ref());
        self.write_one(Some(cf), ValueType::Merge, key, value, writeopts)
    }

    /// Removes `key`; fine when it does not exist.
    ///
    /// # Errors
    /// As listed above.
    pub fn delete<K: AsRef<[u8]>>(&self, key: K) -> Result<(), Error> {
        self.delete_opt(key, &WriteOptions::default())
    }

    /// Removes `key` of `cf`; fine when it does not exist.
    ///
    /// # Errors
    /// As listed above.
    pub fn delete_cf<K: AsRef<[u8]>>(
        &self,
        cf: &impl AsColumnFamilyRef,
        key: K,
    ) -> Result<(), Error> {
        self.delete_cf_opt(cf, key, &WriteOptions::default())
    }

    /// [`delete`](Self::delete) with options.
    ///
    /// # Errors
    /// As listed above.
    pub fn delete_opt<K: AsRef<[u8]>>(
        &self,
        key: K,
        writeopts: &WriteOptions,
    ) -> Result<(), Error> {
        self.write_one(None, ValueType::Deletion, key.as_ref(), &[], writeopts)
    }

    /// [`delete_cf`](Self::delete_cf) with options.
    ///
    /// # Errors
    /// As listed above.
    pub fn delete_cf_opt<K: AsRef<[u8]>>(
        &self,
        cf: &impl AsColumnFamilyRef,
        key: K,
        writeopts: &WriteOptions,
    ) -> Result<(), Error> {
        let (cf, key) = (cf.inner(), key.as_ref());
        self.write_one(Some(cf), ValueType::Deletion, key, &[], writeopts)
    }
}
