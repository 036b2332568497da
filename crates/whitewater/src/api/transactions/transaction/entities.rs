//! Wide columns in a transaction.

use super::Transaction;
use crate::api::column_family::{AsColumnFamilyRef, ColumnFamilyHandle};
use crate::api::options::ReadOptions;
use crate::column_family::ColumnFamilyData;
use crate::entry::columns::{WideColumn, WideColumns, encode_columns};
use crate::txn::transaction::{Conflicts, ForUpdate};
use std::sync::Arc;
use whitewater_storage::Result;
use whitewater_storage::key::ValueType;

fn copied(found: Result<Option<WideColumns>>) -> Result<Option<WideColumns>> {
    Ok(found?.map(|columns| columns.copied()))
}

/// Wide-column entities, as [`DBCommon::put_entity`](crate::DBCommon::put_entity) tells. Not in the
/// `rocksdb` crate; RocksDB's names. They are written and read as values are, under the same locks,
/// and fail as these do; writes also with `Corruption` for two columns of one name.
impl<DB> Transaction<'_, DB> {
    fn write_entity<'c, I>(
        &self,
        cf: Option<&ColumnFamilyHandle>,
        key: &[u8],
        columns: I,
        conflicts: Conflicts,
    ) -> Result<()>
    where
        I: IntoIterator,
        I::Item: Into<WideColumn<'c>>,
    {
        let entity = encode_columns(columns)?;
        let ty = ValueType::WideColumnEntity;
        self.core
            .write(self.family(cf), ty, key, &entity, conflicts)
    }

    /// Sets `key` to an entity.
    ///
    /// # Errors
    /// As listed above.
    ///
    /// # Examples
    /// ```
    /// # let dir = tempfile::tempdir().unwrap();
    /// # let db: whitewater::TransactionDB = whitewater::TransactionDB::open_default(dir.path())?;
    /// let transaction = db.transaction();
    /// transaction.put_entity("7", [("name", "ada")])?;
    /// let columns = transaction.get_entity("7")?.expect("written above");
    /// assert_eq!(columns.get("name"), Some(&b"ada"[..]));
    /// assert_eq!(db.get_entity("7")?, None);
    /// transaction.commit()?;
    /// assert_eq!(db.get_entity("7")?, Some(columns));
    /// # Ok::<(), whitewater::Error>(())
    /// ```
    pub fn put_entity<'c, K, I>(&self, key: K, columns: I) -> Result<()>
    where
        K: AsRef<[u8]>,
        I: IntoIterator,
        I::Item: Into<WideColumn<'c>>,
    {
        self.write_entity(None, key.as_ref(), columns, Conflicts::Checked)
    }

    /// Sets `key` of `cf` to an entity.
    ///
    /// # Errors
    /// As listed above.
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
        let cf = Some(cf.inner());
        self.write_entity(cf, key.as_ref(), columns, Conflicts::Checked)
    }

    /// [`put_entity`](Self::put_entity), as [`put_untracked`](Self::put_untracked) is to `put`.
    ///
    /// # Errors
    /// As listed above.
    pub fn put_entity_untracked<'c, K, I>(&self, key: K, columns: I) -> Result<()>
    where
        K: AsRef<[u8]>,
        I: IntoIterator,
        I::Item: Into<WideColumn<'c>>,
    {
        self.write_entity(None, key.as_ref(), columns, Conflicts::Ignored)
    }

    /// [`put_entity_untracked`](Self::put_entity_untracked) in `cf`.
    ///
    /// # Errors
    /// As listed above.
    pub fn put_entity_untracked_cf<'c, K, I>(
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
        let cf = Some(cf.inner());
        self.write_entity(cf, key.as_ref(), columns, Conflicts::Ignored)
    }

    /// The columns of `key`, with the transaction's own writes.
    ///
    /// # Errors
    /// As listed above.
    pub fn get_entity<K: AsRef<[u8]>>(&self, key: K) -> Result<Option<WideColumns>> {
        self.get_entity_opt(key, &ReadOptions::default())
    }

    /// [`get_entity`](Self::get_entity) with options.
    ///
    /// # Errors
    /// As listed above.
    pub fn get_entity_opt<K: AsRef<[u8]>>(
        &self,
        key: K,
        readopts: &ReadOptions,
    ) -> Result<Option<WideColumns>> {
        copied((self.core).get(self.family(None), key.as_ref(), &readopts.spec))
    }

    /// [`get_entity`](Self::get_entity) in `cf`.
    ///
    /// # Errors
    /// As listed above.
    pub fn get_entity_cf<K: AsRef<[u8]>>(
        &self,
        cf: &impl AsColumnFamilyRef,
        key: K,
    ) -> Result<Option<WideColumns>> {
        self.get_entity_cf_opt(cf, key, &ReadOptions::default())
    }

    /// [`get_entity_cf`](Self::get_entity_cf) with options.
    ///
    /// # Errors
    /// As listed above.
    pub fn get_entity_cf_opt<K: AsRef<[u8]>>(
        &self,
        cf: &impl AsColumnFamilyRef,
        key: K,
        readopts: &ReadOptions,
    ) -> Result<Option<WideColumns>> {
        copied((self.core).get(cf.inner().data(), key.as_ref(), &readopts.spec))
    }

    fn entity_for_update(
        &self,
        cf: Option<&ColumnFamilyHandle>,
        key: &[u8],
        exclusive: bool,
        readopts: &ReadOptions,
    ) -> Result<Option<WideColumns>> {
        let how = ForUpdate {
            exclusive,
            validate: true,
        };
        let cf = self.family(cf);
        copied(self.core.get_for_update(cf, key, &readopts.spec, how))
    }

    /// The columns of `key`, which nobody else changes until the transaction has ended: as
    /// [`get_for_update`](Self::get_for_update) otherwise.
    ///
    /// # Errors
    /// As listed above.
    pub fn get_entity_for_update<K: AsRef<[u8]>>(
        &self,
        key: K,
        exclusive: bool,
    ) -> Result<Option<WideColumns>> {
        self.get_entity_for_update_opt(key, exclusive, &ReadOptions::default())
    }

    /// [`get_entity_for_update`](Self::get_entity_for_update) with options.
    ///
    /// # Errors
    /// As listed above.
    pub fn get_entity_for_update_opt<K: AsRef<[u8]>>(
        &self,
        key: K,
        exclusive: bool,
        opts: &ReadOptions,
    ) -> Result<Option<WideColumns>> {
        self.entity_for_update(None, key.as_ref(), exclusive, opts)
    }

    /// [`get_entity_for_update`](Self::get_entity_for_update) in `cf`.
    ///
    /// # Errors
    /// As listed above.
    pub fn get_entity_for_update_cf<K: AsRef<[u8]>>(
        &self,
        cf: &impl AsColumnFamilyRef,
        key: K,
        exclusive: bool,
    ) -> Result<Option<WideColumns>> {
        self.get_entity_for_update_cf_opt(cf, key, exclusive, &ReadOptions::default())
    }

    /// [`get_entity_for_update_cf`](Self::get_entity_for_update_cf) with options.
    ///
    /// # Errors
    /// As listed above.
    pub fn get_entity_for_update_cf_opt<K: AsRef<[u8]>>(
        &self,
        cf: &impl AsColumnFamilyRef,
        key: K,
        exclusive: bool,
        opts: &ReadOptions,
    ) -> Result<Option<WideColumns>> {
        self.entity_for_update(Some(cf.inner()), key.as_ref(), exclusive, opts)
    }

    /// The columns of `keys`, in their order, as of one moment.
    pub fn multi_get_entity<K, I>(&self, keys: I) -> Vec<Result<Option<WideColumns>>>
    where
        K: AsRef<[u8]>,
        I: IntoIterator<Item = K>,
    {
        self.multi_get_entity_opt(keys, &ReadOptions::default())
    }

    /// [`multi_get_entity`](Self::multi_get_entity) with options.
    pub fn multi_get_entity_opt<K, I>(
        &self,
        keys: I,
        readopts: &ReadOptions,
    ) -> Vec<Result<Option<WideColumns>>>
    where
        K: AsRef<[u8]>,
        I: IntoIterator<Item = K>,
    {
        let cf = self.family(None);
        let keys: Vec<_> = keys.into_iter().map(|key| (cf, key)).collect();
        self.find_entities(&keys, readopts)
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
        let keys = keys.into_iter();
        let keys: Vec<_> = keys.map(|(cf, key)| (cf.inner().data(), key)).collect();
        self.find_entities(&keys, &ReadOptions::default())
    }

    fn find_entities<K: AsRef<[u8]>>(
        &self,
        keys: &[(&Arc<ColumnFamilyData>, K)],
        readopts: &ReadOptions,
    ) -> Vec<Result<Option<WideColumns>>> {
        let keys: Vec<_> = keys.iter().map(|(cf, key)| (*cf, key.as_ref())).collect();
        let found = self.core.multi_get(&keys, &readopts.spec);
        found.into_iter().map(copied).collect()
    }
}
