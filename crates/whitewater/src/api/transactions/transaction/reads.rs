//! Reads of a transaction.

use super::Transaction;
use crate::api::column_family::{AsColumnFamilyRef, ColumnFamilyHandle};
use crate::api::options::ReadOptions;
use crate::api::pinnable::{DBPinnableSlice, pinned};
use crate::column_family::ColumnFamilyData;
use crate::entry::answer::Answer;
use crate::txn::transaction::ForUpdate;
use bytes::Bytes;
use std::sync::Arc;
use whitewater_storage::Error;

/// Reads that lock nothing: the transaction's own writes over the newest state of the database, or
/// over the snapshot of the options. They fail as those of a [`DB`](crate::DBCommon::get), and with
/// `InvalidArgument` for a key with merges of this transaction and no merge operator.
impl<DB> Transaction<'_, DB> {
    pub(super) fn family<'a>(
        &'a self,
        cf: Option<&'a ColumnFamilyHandle>,
    ) -> &'a Arc<ColumnFamilyData> {
        match cf {
            Some(cf) => cf.data(),
            None => self.core.engine().default_cf(),
        }
    }

    fn find<A: Answer>(
        &self,
        cf: Option<&ColumnFamilyHandle>,
        key: &[u8],
        readopts: &ReadOptions,
    ) -> Result<Option<A>, Error> {
        self.core.get(self.family(cf), key, &readopts.spec)
    }

    fn find_for_update<A: Answer>(
        &self,
        cf: Option<&ColumnFamilyHandle>,
        key: &[u8],
        exclusive: bool,
        readopts: &ReadOptions,
    ) -> Result<Option<A>, Error> {
        let how = ForUpdate {
            exclusive,
            validate: true,
        };
        let cf = self.family(cf);
        self.core.get_for_update(cf, key, &readopts.spec, how)
    }

    /// The value of `key`, copied.
    ///
    /// # Errors
    /// As listed above.
    pub fn get<K: AsRef<[u8]>>(&self, key: K) -> Result<Option<Vec<u8>>, Error> {
        self.get_opt(key, &ReadOptions::default())
    }

    /// The value of `key`, not copied if the database has it.
    ///
    /// # Errors
    /// As listed above.
    pub fn get_pinned<K: AsRef<[u8]>>(&self, key: K) -> Result<Option<DBPinnableSlice<'_>>, Error> {
        self.get_pinned_opt(key, &ReadOptions::default())
    }

    /// The value of `key` in `cf`, copied.
    ///
    /// # Errors
    /// As listed above.
    pub fn get_cf<K: AsRef<[u8]>>(
        &self,
        cf: &impl AsColumnFamilyRef,
        key: K,
    ) -> Result<Option<Vec<u8>>, Error> {
        self.get_cf_opt(cf, key, &ReadOptions::default())
    }

    /// The value of `key` in `cf`, not copied if the database has it.
    ///
    /// # Errors
    /// As listed above.
    pub fn get_pinned_cf<K: AsRef<[u8]>>(
        &self,
        cf: &impl AsColumnFamilyRef,
        key: K,
    ) -> Result<Option<DBPinnableSlice<'_>>, Error> {
        self.get_pinned_cf_opt(cf, key, &ReadOptions::default())
    }

    /// [`get`](Self::get) with options.
    ///
    /// # Errors
    /// As listed above.
    pub fn get_opt<K: AsRef<[u8]>>(
        &self,
        key: K,
        readopts: &ReadOptions,
    ) -> Result<Option<Vec<u8>>, Error> {
        self.find(None, key.as_ref(), readopts)
    }

    /// [`get_pinned`](Self::get_pinned) with options.
    ///
    /// # Errors
    /// As listed above.
    pub fn get_pinned_opt<K: AsRef<[u8]>>(
        &self,
        key: K,
        readopts: &ReadOptions,
    ) -> Result<Option<DBPinnableSlice<'_>>, Error> {
        pinned(self.find(None, key.as_ref(), readopts))
    }

    /// [`get_cf`](Self::get_cf) with options.
    ///
    /// # Errors
    /// As listed above.
    pub fn get_cf_opt<K: AsRef<[u8]>>(
        &self,
        cf: &impl AsColumnFamilyRef,
        key: K,
        readopts: &ReadOptions,
    ) -> Result<Option<Vec<u8>>, Error> {
        self.find(Some(cf.inner()), key.as_ref(), readopts)
    }

    /// [`get_pinned_cf`](Self::get_pinned_cf) with options.
    ///
    /// # Errors
    /// As listed above.
    pub fn get_pinned_cf_opt<K: AsRef<[u8]>>(
        &self,
        cf: &impl AsColumnFamilyRef,
        key: K,
        readopts: &ReadOptions,
    ) -> Result<Option<DBPinnableSlice<'_>>, Error> {
        pinned(self.find(Some(cf.inner()), key.as_ref(), readopts))
    }

    /// The values of `keys`, in their order, as of one moment.
    pub fn multi_get<K, I>(&self, keys: I) -> Vec<Result<Option<Vec<u8>>, Error>>
    where
        K: AsRef<[u8]>,
        I: IntoIterator<Item = K>,
    {
        self.multi_get_opt(keys, &ReadOptions::default())
    }

    /// [`multi_get`](Self::multi_get) with options.
    pub fn multi_get_opt<K, I>(
        &self,
        keys: I,
        readopts: &ReadOptions,
    ) -> Vec<Result<Option<Vec<u8>>, Error>>
    where
        K: AsRef<[u8]>,
        I: IntoIterator<Item = K>,
    {
        let cf = self.family(None);
        let keys: Vec<_> = keys.into_iter().map(|key| (cf, key)).collect();
        self.find_all(&keys, readopts)
    }

    /// The values of keys of column families, in their order, as of one moment.
    pub fn multi_get_cf<'a, 'b: 'a, K, I, W>(
        &'a self,
        keys: I,
    ) -> Vec<Result<Option<Vec<u8>>, Error>>
    where
        K: AsRef<[u8]>,
        I: IntoIterator<Item = (&'b W, K)>,
        W: 'b + AsColumnFamilyRef,
    {
        self.multi_get_cf_opt(keys, &ReadOptions::default())
    }

    /// [`multi_get_cf`](Self::multi_get_cf) with options.
    pub fn multi_get_cf_opt<'a, 'b: 'a, K, I, W>(
        &'a self,
        keys: I,
        readopts: &ReadOptions,
    ) -> Vec<Result<Option<Vec<u8>>, Error>>
    where
        K: AsRef<[u8]>,
        I: IntoIterator<Item = (&'b W, K)>,
        W: 'b + AsColumnFamilyRef,
    {
        let keys = keys.into_iter();
        let keys: Vec<_> = keys.map(|(cf, key)| (cf.inner().data(), key)).collect();
        self.find_all(&keys, readopts)
    }

    fn find_all<K: AsRef<[u8]>>(
        &self,
        keys: &[(&Arc<ColumnFamilyData>, K)],
        readopts: &ReadOptions,
    ) -> Vec<Result<Option<Vec<u8>>, Error>> {
        let keys: Vec<_> = keys.iter().map(|(cf, key)| (*cf, key.as_ref())).collect();
        let found = self.core.multi_get(&keys, &readopts.spec);
        let copied = |value: Bytes| value.to_vec();
        found
            .into_iter()
            .map(|found| Ok(found?.map(copied)))
            .collect()
    }
}

/// Reads for update. In a [`TransactionDB`](crate::TransactionDB) they lock the key, whether it
/// exists or not: with `exclusive` for this transaction alone, otherwise together with other
/// readers for update. They fail as writes and as other reads do.
impl<DB> Transaction<'_, DB> {
    /// The value of `key`, copied, which nobody else changes until the transaction has ended.
    ///
    /// # Errors
    /// As listed above.
    ///
    /// # Examples
    /// ```
    /// # let dir = tempfile::tempdir().unwrap();
    /// # let db: whitewater::TransactionDB = whitewater::TransactionDB::open_default(dir.path())?;
    /// let transaction = db.transaction();
    /// let visits = transaction.get_for_update("visits", true)?.map_or(0, |v| v[0]);
    /// transaction.put("visits", [visits + 1])?;
    /// transaction.commit()?; // no visit is lost, whoever else counts
    /// assert_eq!(db.get("visits")?, Some(vec![1]));
    /// # Ok::<(), whitewater::Error>(())
    /// ```
    pub fn get_for_update<K: AsRef<[u8]>>(
        &self,
        key: K,
        exclusive: bool,
    ) -> Result<Option<Vec<u8>>, Error> {
        self.get_for_update_opt(key, exclusive, &ReadOptions::default())
    }

    /// [`get_for_update`](Self::get_for_update), not copied if the database has the value.
    ///
    /// # Errors
    /// As listed above.
    pub fn get_pinned_for_update<K: AsRef<[u8]>>(
        &self,
        key: K,
        exclusive: bool,
    ) -> Result<Option<DBPinnableSlice<'_>>, Error> {
        self.get_pinned_for_update_opt(key, exclusive, &ReadOptions::default())
    }

    /// [`get_for_update`](Self::get_for_update) in `cf`.
    ///
    /// # Errors
    /// As listed above.
    pub fn get_for_update_cf<K: AsRef<[u8]>>(
        &self,
        cf: &impl AsColumnFamilyRef,
        key: K,
        exclusive: bool,
    ) -> Result<Option<Vec<u8>>, Error> {
        self.get_for_update_cf_opt(cf, key, exclusive, &ReadOptions::default())
    }

    /// [`get_pinned_for_update`](Self::get_pinned_for_update) in `cf`.
    ///
    /// # Errors
    /// As listed above.
    pub fn get_pinned_for_update_cf<K: AsRef<[u8]>>(
        &self,
        cf: &impl AsColumnFamilyRef,
        key: K,
        exclusive: bool,
    ) -> Result<Option<DBPinnableSlice<'_>>, Error> {
        self.get_pinned_for_update_cf_opt(cf, key, exclusive, &ReadOptions::default())
    }

    /// [`get_for_update`](Self::get_for_update) with options.
    ///
    /// # Errors
    /// As listed above.
    pub fn get_for_update_opt<K: AsRef<[u8]>>(
        &self,
        key: K,
        exclusive: bool,
        opts: &ReadOptions,
    ) -> Result<Option<Vec<u8>>, Error> {
        self.find_for_update(None, key.as_ref(), exclusive, opts)
    }

    /// [`get_pinned_for_update`](Self::get_pinned_for_update) with options.
    ///
    /// # Errors
    /// As listed above.
    pub fn get_pinned_for_update_opt<K: AsRef<[u8]>>(
        &self,
        key: K,
        exclusive: bool,
        opts: &ReadOptions,
    ) -> Result<Option<DBPinnableSlice<'_>>, Error> {
        pinned(self.find_for_update(None, key.as_ref(), exclusive, opts))
    }

    /// [`get_for_update_cf`](Self::get_for_update_cf) with options.
    ///
    /// # Errors
    /// As listed above.
    pub fn get_for_update_cf_opt<K: AsRef<[u8]>>(
        &self,
        cf: &impl AsColumnFamilyRef,
        key: K,
        exclusive: bool,
        opts: &ReadOptions,
    ) -> Result<Option<Vec<u8>>, Error> {
        self.find_for_update(Some(cf.inner()), key.as_ref(), exclusive, opts)
    }

    /// [`get_pinned_for_update_cf`](Self::get_pinned_for_update_cf) with options.
    ///
    /// # Errors
    /// As listed above.
    pub fn get_pinned_for_update_cf_opt<K: AsRef<[u8]>>(
        &self,
        cf: &impl AsColumnFamilyRef,
        key: K,
        exclusive: bool,
        opts: &ReadOptions,
    ) -> Result<Option<DBPinnableSlice<'_>>, Error> {
        pinned(self.find_for_update(Some(cf.inner()), key.as_ref(), exclusive, opts))
    }

    /// [`get_for_update_opt`](Self::get_for_update_opt) that does not care whether the key was
    /// changed since the transaction's snapshot. Not in the `rocksdb` crate.
    ///
    /// # Errors
    /// As listed above; `InvalidArgument` for a read at a snapshot.
    pub fn get_for_update_unvalidated<K: AsRef<[u8]>>(
        &self,
        key: K,
        exclusive: bool,
        opts: &ReadOptions,
    ) -> Result<Option<Vec<u8>>, Error> {
        let how = ForUpdate {
            exclusive,
            validate: false,
        };
        let cf = self.family(None);
        self.core.get_for_update(cf, key.as_ref(), &opts.spec, how)
    }

    /// Takes one [`get_for_update`](Self::get_for_update) of `key` back: after as many calls as
    /// there were, and if the key was not written, it is unlocked. Reads before the last savepoint
    /// cannot be taken back. Not in the `rocksdb` crate.
    pub fn undo_get_for_update<K: AsRef<[u8]>>(&self, key: K) {
        self.core
            .undo_get_for_update(self.family(None), key.as_ref());
    }

    /// [`undo_get_for_update`](Self::undo_get_for_update) in `cf`. Not in the `rocksdb` crate.
    pub fn undo_get_for_update_cf<K: AsRef<[u8]>>(&self, cf: &impl AsColumnFamilyRef, key: K) {
        let cf = cf.inner().data();
        self.core.undo_get_for_update(cf, key.as_ref());
    }
}
