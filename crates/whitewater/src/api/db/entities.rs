//! Writing and reading wide columns.

use super::{DBCommon, DBInner, ThreadMode};
use crate::api::column_family::{AsColumnFamilyRef, ColumnFamilyHandle};
use crate::api::options::{ReadOptions, WriteOptions};
use crate::api::wide_columns::{AttributeGroup, PinnableWideColumns};
use crate::column_family::ColumnFamilyData;
use crate::db::timestamps::Stamped;
use crate::entry::columns::{WideColumn, WideColumns, encode_columns};
use std::sync::Arc;
use whitewater_storage::batch::Batch;
use whitewater_storage::key::ValueType;
use whitewater_storage::{Error, Result};

fn copied(found: Result<Option<WideColumns>>) -> Result<Option<WideColumns>> {
    Ok(found?.map(|columns| columns.copied()))
}

/// Wide-column entities: keys with several named values. Not in the `rocksdb` crate; RocksDB's
/// names. An entity replaces what its key was before, a value or an entity, as a whole. Columns may
/// be given in any order and are kept in the order of their names.
///
/// Plain reads and iterators see the value of the default column, the one without a name, which is
/// empty if there is none; merges apply to it and keep the others. Reads of entities see a plain
/// value as a default column. Entities are kept in tables, however large their columns are.
///
/// Writes fail as [`write`](crate::DBWithThreadMode::write) does, with `Corruption` for two columns
/// of one name, with `InvalidArgument` for a column family whose keys have timestamps, and with
/// `NotSupported` in a database with a time to live. Reads fail as [`get`](Self::get) does.
impl<T: ThreadMode, D: DBInner> DBCommon<T, D> {
    fn write_entity<'c, I>(
        &self,
        cf: u32,
        key: &[u8],
        columns: I,
        writeopts: &WriteOptions,
    ) -> Result<()>
    where
        I: IntoIterator,
        I::Item: Into<WideColumn<'c>>,
    {
        let entity = encode_columns(columns)?;
        let ty = ValueType::WideColumnEntity;
        (self.engine()).write_one(cf, ty, key, &entity, &writeopts.spec)
    }

    /// Sets `key` to an entity.
    ///
    /// # Errors
    /// As listed above.
    ///
    /// # Examples
    /// ```
    /// # let dir = tempfile::tempdir().unwrap();
    /// # let db = whitewater::DB::open_default(dir.path())?;
    /// db.put_entity("7", [("name", "ada"), ("", "row 7")])?;
    /// let columns = db.get_entity("7")?.expect("written above");
    /// assert_eq!(columns.get("name"), Some(&b"ada"[..]));
    /// assert_eq!(db.get("7")?.as_deref(), Some(&b"row 7"[..]));
    /// # Ok::<(), whitewater::Error>(())
    /// ```
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
    /// As listed above.
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
        let cf = self.engine().default_cf().id;
        self.write_entity(cf, key.as_ref(), columns, writeopts)
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
        self.put_entity_cf_opt(cf, key, columns, &WriteOptions::default())
    }

    /// [`put_entity_cf`](Self::put_entity_cf) with options.
    ///
    /// # Errors
    /// As listed above.
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
        self.write_entity(cf.inner().id(), key.as_ref(), columns, writeopts)
    }

    /// Sets `key` to an entity in each of several column families, in all of them or in none:
    /// RocksDB's `PutEntity` with attribute groups.
    ///
    /// # Errors
    /// As listed above; `InvalidArgument` without a group.
    ///
    /// # Examples
    /// ```
    /// # let dir = tempfile::tempdir().unwrap();
    /// # let mut options = whitewater::Options::default();
    /// # options.create_if_missing(true);
    /// # options.create_missing_column_families(true);
    /// # let db = whitewater::DB::open_cf(&options, dir.path(), ["hot", "cold"])?;
    /// use whitewater::AttributeGroup;
    ///
    /// let hot = db.cf_handle("hot").expect("named at open");
    /// let cold = db.cf_handle("cold").expect("named at open");
    /// db.put_attribute_groups("7", &[
    ///     AttributeGroup::new(&hot, [("visits", "12")]),
    ///     AttributeGroup::new(&cold, [("born", "1815")]),
    /// ])?;
    /// let found = db.get_attribute_groups("7", [&hot, &cold]);
    /// let cold = found[1].as_ref().unwrap().as_ref().expect("written above");
    /// assert_eq!(cold.get("born"), Some(&b"1815"[..]));
    /// # Ok::<(), whitewater::Error>(())
    /// ```
    pub fn put_attribute_groups<K: AsRef<[u8]>>(
        &self,
        key: K,
        groups: &[AttributeGroup<'_>],
    ) -> Result<()> {
        self.put_attribute_groups_opt(key, groups, &WriteOptions::default())
    }

    /// [`put_attribute_groups`](Self::put_attribute_groups) with options.
    ///
    /// # Errors
    /// As [`put_attribute_groups`](Self::put_attribute_groups).
    pub fn put_attribute_groups_opt<K: AsRef<[u8]>>(
        &self,
        key: K,
        groups: &[AttributeGroup<'_>],
        writeopts: &WriteOptions,
    ) -> Result<()> {
        if groups.is_empty() {
            return Err(Error::invalid(
                "Cannot call this method with empty attribute groups",
            ));
        }
        let mut batch = Batch::default();
        for group in groups {
            let entity = encode_columns(&group.columns)?;
            crate::entry::check_lengths(key.as_ref(), &entity)?;
            let ty = ValueType::WideColumnEntity;
            batch.push(group.cf.id(), ty, key.as_ref(), &entity);
        }
        (self.engine()).write(batch, &Stamped::default(), &writeopts.spec)
    }

    /// The columns of `key`, copied. [`get_pinned_entity`](Self::get_pinned_entity) saves the copy.
    ///
    /// # Errors
    /// As listed above.
    ///
    /// # Examples
    /// ```
    /// # let dir = tempfile::tempdir().unwrap();
    /// # let db = whitewater::DB::open_default(dir.path())?;
    /// db.put("plain", "value")?;
    /// let columns = db.get_entity("plain")?.expect("written above");
    /// assert_eq!(columns.default_column(), Some(&b"value"[..]));
    /// assert_eq!(db.get_entity("nothing")?, None);
    /// # Ok::<(), whitewater::Error>(())
    /// ```
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
        let engine = self.engine();
        copied(engine.get(engine.default_cf(), key.as_ref(), &readopts.spec))
    }

    /// The columns of `key` in `cf`, copied.
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
        let cf = cf.inner().data();
        copied(self.engine().get(cf, key.as_ref(), &readopts.spec))
    }

    /// The columns of `key`, not copied.
    ///
    /// # Errors
    /// As listed above.
    pub fn get_pinned_entity<K: AsRef<[u8]>>(
        &self,
        key: K,
    ) -> Result<Option<PinnableWideColumns<'_>>> {
        self.get_pinned_entity_opt(key, &ReadOptions::default())
    }

    /// [`get_pinned_entity`](Self::get_pinned_entity) with options.
    ///
    /// # Errors
    /// As listed above.
    pub fn get_pinned_entity_opt<K: AsRef<[u8]>>(
        &self,
        key: K,
        readopts: &ReadOptions,
    ) -> Result<Option<PinnableWideColumns<'_>>> {
        let engine = self.engine();
        let found = engine.get(engine.default_cf(), key.as_ref(), &readopts.spec)?;
        Ok(found.map(PinnableWideColumns::new))
    }

    /// The columns of `key` in `cf`, not copied.
    ///
    /// # Errors
    /// As listed above.
    pub fn get_pinned_entity_cf<K: AsRef<[u8]>>(
        &self,
        cf: &impl AsColumnFamilyRef,
        key: K,
    ) -> Result<Option<PinnableWideColumns<'_>>> {
        self.get_pinned_entity_cf_opt(cf, key, &ReadOptions::default())
    }

    /// [`get_pinned_entity_cf`](Self::get_pinned_entity_cf) with options.
    ///
    /// # Errors
    /// As listed above.
    pub fn get_pinned_entity_cf_opt<K: AsRef<[u8]>>(
        &self,
        cf: &impl AsColumnFamilyRef,
        key: K,
        readopts: &ReadOptions,
    ) -> Result<Option<PinnableWideColumns<'_>>> {
        let cf = cf.inner().data();
        let found = self.engine().get(cf, key.as_ref(), &readopts.spec)?;
        Ok(found.map(PinnableWideColumns::new))
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
        let cf = self.engine().default_cf();
        let keys: Vec<_> = keys.into_iter().map(|key| (cf, key)).collect();
        self.multi_get_entity_in(&keys, readopts)
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
        self.multi_get_entity_cf_opt(keys, &ReadOptions::default())
    }

    /// [`multi_get_entity_cf`](Self::multi_get_entity_cf) with options.
    pub fn multi_get_entity_cf_opt<'a, 'b: 'a, K, I, W>(
        &'a self,
        keys: I,
        readopts: &ReadOptions,
    ) -> Vec<Result<Option<WideColumns>>>
    where
        K: AsRef<[u8]>,
        I: IntoIterator<Item = (&'b W, K)>,
        W: 'b + AsColumnFamilyRef,
    {
        let keys = keys.into_iter();
        let keys: Vec<_> = keys.map(|(cf, key)| (cf.inner().data(), key)).collect();
        self.multi_get_entity_in(&keys, readopts)
    }

    /// The columns of `key` in each of `families`, in their order, as of one moment: RocksDB's
    /// `GetEntity` of attribute groups.
    pub fn get_attribute_groups<'a, 'b: 'a, K, I, W>(
        &'a self,
        key: K,
        families: I,
    ) -> Vec<Result<Option<WideColumns>>>
    where
        K: AsRef<[u8]>,
        I: IntoIterator<Item = &'b W>,
        W: 'b + AsColumnFamilyRef,
    {
        self.get_attribute_groups_opt(key, families, &ReadOptions::default())
    }

    /// [`get_attribute_groups`](Self::get_attribute_groups) with options.
    pub fn get_attribute_groups_opt<'a, 'b: 'a, K, I, W>(
        &'a self,
        key: K,
        families: I,
        readopts: &ReadOptions,
    ) -> Vec<Result<Option<WideColumns>>>
    where
        K: AsRef<[u8]>,
        I: IntoIterator<Item = &'b W>,
        W: 'b + AsColumnFamilyRef,
    {
        let families = families.into_iter().map(AsColumnFamilyRef::inner);
        let keys: Vec<_> = families
            .map(|cf: &ColumnFamilyHandle| (cf.data(), key.as_ref()))
            .collect();
        self.multi_get_entity_in(&keys, readopts)
    }

    fn multi_get_entity_in<K: AsRef<[u8]>>(
        &self,
        keys: &[(&Arc<ColumnFamilyData>, K)],
        readopts: &ReadOptions,
    ) -> Vec<Result<Option<WideColumns>>> {
        let keys: Vec<_> = keys.iter().map(|(cf, key)| (*cf, key.as_ref())).collect();
        let found = self.engine().multi_get(&keys, &readopts.spec);
        found.into_iter().map(copied).collect()
    }
}
