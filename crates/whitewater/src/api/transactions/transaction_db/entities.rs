//! Wide columns of a database with transactions, outside of transactions.

use super::TransactionDB;
use crate::api::column_family::AsColumnFamilyRef;
use crate::api::db::ThreadMode;
use crate::api::options::{ReadOptions, WriteOptions};
use crate::entry::columns::{WideColumn, WideColumns, encode_columns};
use whitewater_storage::Result;
use whitewater_storage::key::ValueType;

/// Wide-column entities, as [`DBCommon::put_entity`](crate::DBCommon::put_entity) tells, outside of
/// transactions. Not in the `rocksdb` crate; RocksDB's names. Writes lock their keys and fail as
/// [`put`](Self::put) does; reads lock nothing.
impl<T: ThreadMode> TransactionDB<T> {
    /// Sets `key` to an entity.
    ///
    /// # Errors
    /// As listed above; `Corruption` for two columns of one name.
    pub fn put_entity<'c, K, I>(&self, key: K, columns: I) -> Result<()>
    where
        K: AsRef<[u8]>,
        I: IntoIterator,
        I::Item: Into<WideColumn<'c>>,
    {
        self.put_entity_opt(key, columns, &WriteOptions::default())
    }

    /// [`put_entity`](Self::put_entity) with options.
    ///
    /// # Errors
    /// As [`put_entity`](Self::put_entity).
    pub fn put_entity_opt<'c, K, I>(
        &self,
        key: K,
        columns: I,
        writeopts: &WriteOptions,
    ) -> Result<()>
    where
        K: AsRef<[u8]>,
        I: IntoIterator,
        I::Item: Into<WideColumn<'c>>,
    {
        let entity = encode_columns(columns)?;
        let (key, ty) = (key.as_ref(), ValueType::WideColumnEntity);
        (self.shared()).write_one(0, ty, key, &entity, &writeopts.spec)
    }

    /// Sets `key` of `cf` to an entity.
    ///
    /// # Errors
    /// As [`put_entity`](Self::put_entity).
    pub fn put_entity_cf<'c, K, I>(
        &self,
        cf: &impl AsColumnFamilyRef,
        key: K,
        columns: I,
    ) -> Result<()>
    where
        K: AsRef<[u8]>,
        I: IntoIterator,
        I::Item: Into<WideColumn<'c>>,
    {
        self.put_entity_cf_opt(cf, key, columns, &WriteOptions::default())
    }

    /// [`put_entity_cf`](Self::put_entity_cf) with options.
    ///
    /// # Errors
    /// As [`put_entity`](Self::put_entity).
    pub fn put_entity_cf_opt<'c, K, I>(
        &self,
        cf: &impl AsColumnFamilyRef,
        key: K,
        columns: I,
        writeopts: &WriteOptions,
    ) -> Result<()>
    where
        K: AsRef<[u8]>,
        I: IntoIterator,
        I::Item: Into<WideColumn<'c>>,
    {
        let entity = encode_columns(columns)?;
        let (cf, ty) = (cf.inner().id(), ValueType::WideColumnEntity);
        (self.shared()).write_one(cf, ty, key.as_ref(), &entity, &writeopts.spec)
    }

    /// The columns of `key`, copied.
    ///
    /// # Errors
    /// As [`DB::get`](crate::DBCommon::get).
    pub fn get_entity<K: AsRef<[u8]>>(&self, key: K) -> Result<Option<WideColumns>> {
        self.db.get_entity(key)
    }

    /// [`get_entity`](Self::get_entity) with options.
    ///
    /// # Errors
    /// As [`DB::get`](crate::DBCommon::get).
    pub fn get_entity_opt<K: AsRef<[u8]>>(
        &self,
        key: K,
        readopts: &ReadOptions,
    ) -> Result<Option<WideColumns>> {
        self.db.get_entity_opt(key, readopts)
    }

    /// The columns of `key` in `cf`, copied.
    ///
    /// # Errors
    /// As [`DB::get`](crate::DBCommon::get).
    pub fn get_entity_cf<K: AsRef<[u8]>>(
        &self,
        cf: &impl AsColumnFamilyRef,
        key: K,
    ) -> Result<Option<WideColumns>> {
        self.db.get_entity_cf(cf, key)
    }

    /// [`get_entity_cf`](Self::get_entity_cf) with options.
    ///
    /// # Errors
    /// As [`DB::get`](crate::DBCommon::get).
    pub fn get_entity_cf_opt<K: AsRef<[u8]>>(
        &self,
        cf: &impl AsColumnFamilyRef,
        key: K,
        readopts: &ReadOptions,
    ) -> Result<Option<WideColumns>> {
        self.db.get_entity_cf_opt(cf, key, readopts)
    }

    /// The columns of `keys`, in their order, as of one moment.
    pub fn multi_get_entity<K, I>(&self, keys: I) -> Vec<Result<Option<WideColumns>>>
    where
        K: AsRef<[u8]>,
        I: IntoIterator<Item = K>,
    {
        self.db.multi_get_entity(keys)
    }

    /// The columns of keys of column families, in their order, as of one moment.
    pub fn multi_get_entity_cf<'a, 'b: 'a, K, I, W>(
        &'a self,
        keys: I,
    ) -> Vec<Result<Option<WideColumns>>>
    where
        K: AsRef<[u8]>,
        I: IntoIterator<Item = (&'b W, K)>,
        W: 'b + AsColumnFamilyRef,
    {
        self.db.multi_get_entity_cf(keys)
    }
}
