//! Point reads of a database with transactions. They lock nothing.

use super::TransactionDB;
use crate::api::column_family::AsColumnFamilyRef;
use crate::api::db::ThreadMode;
use crate::api::merge_operands::GetMergeOperandsOptions;
use crate::api::options::ReadOptions;
use crate::api::pinnable::DBPinnableSlice;
use whitewater_storage::Error;

/// Point reads, outside of transactions. They see what was committed, lock nothing, and fail as
/// those of a [`DB`](crate::DBCommon::get).
impl<T: ThreadMode> TransactionDB<T> {
    /// The value of `key`, copied.
    ///
    /// # Errors
    /// As [`DB::get`](crate::DBCommon::get).
    pub fn get<K: AsRef<[u8]>>(&self, key: K) -> Result<Option<Vec<u8>>, Error> {
        self.db.get(key)
    }

    /// The value of `key` in `cf`, copied.
    ///
    /// # Errors
    /// As [`DB::get`](crate::DBCommon::get).
    pub fn get_cf<K: AsRef<[u8]>>(
        &self,
        cf: &impl AsColumnFamilyRef,
        key: K,
    ) -> Result<Option<Vec<u8>>, Error> {
        self.db.get_cf(cf, key)
    }

    /// [`get`](Self::get) with options.
    ///
    /// # Errors
    /// As [`DB::get`](crate::DBCommon::get).
    pub fn get_opt<K: AsRef<[u8]>>(
        &self,
        key: K,
        readopts: &ReadOptions,
    ) -> Result<Option<Vec<u8>>, Error> {
        self.db.get_opt(key, readopts)
    }

    /// [`get_cf`](Self::get_cf) with options.
    ///
    /// # Errors
    /// As [`DB::get`](crate::DBCommon::get).
    pub fn get_cf_opt<K: AsRef<[u8]>>(
        &self,
        cf: &impl AsColumnFamilyRef,
        key: K,
        readopts: &ReadOptions,
    ) -> Result<Option<Vec<u8>>, Error> {
        self.db.get_cf_opt(cf, key, readopts)
    }

    /// The value of `key`, not copied.
    ///
    /// # Errors
    /// As [`DB::get`](crate::DBCommon::get).
    pub fn get_pinned<K: AsRef<[u8]>>(&self, key: K) -> Result<Option<DBPinnableSlice<'_>>, Error> {
        self.db.get_pinned(key)
    }

    /// The value of `key` in `cf`, not copied.
    ///
    /// # Errors
    /// As [`DB::get`](crate::DBCommon::get).
    pub fn get_pinned_cf<K: AsRef<[u8]>>(
        &self,
        cf: &impl AsColumnFamilyRef,
        key: K,
    ) -> Result<Option<DBPinnableSlice<'_>>, Error> {
        self.db.get_pinned_cf(cf, key)
    }

    /// [`get_pinned`](Self::get_pinned) with options.
    ///
    /// # Errors
    /// As [`DB::get`](crate::DBCommon::get).
    pub fn get_pinned_opt<K: AsRef<[u8]>>(
        &self,
        key: K,
        readopts: &ReadOptions,
    ) -> Result<Option<DBPinnableSlice<'_>>, Error> {
        self.db.get_pinned_opt(key, readopts)
    }

    /// [`get_pinned_cf`](Self::get_pinned_cf) with options.
    ///
    /// # Errors
    /// As [`DB::get`](crate::DBCommon::get).
    pub fn get_pinned_cf_opt<K: AsRef<[u8]>>(
        &self,
        cf: &impl AsColumnFamilyRef,
        key: K,
        readopts: &ReadOptions,
    ) -> Result<Option<DBPinnableSlice<'_>>, Error> {
        self.db.get_pinned_cf_opt(cf, key, readopts)
    }

    /// The values of `keys`, in their order, as of one moment.
    pub fn multi_get<K, I>(&self, keys: I) -> Vec<Result<Option<Vec<u8>>, Error>>
    where
        K: AsRef<[u8]>,
        I: IntoIterator<Item = K>,
    {
        self.db.multi_get(keys)
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
        self.db.multi_get_opt(keys, readopts)
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
        self.db.multi_get_cf(keys)
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
        self.db.multi_get_cf_opt(keys, readopts)
    }

    /// The merge operands of `key`, as
    /// [`DBCommon::get_merge_operands`](crate::DBCommon::get_merge_operands) tells.
    ///
    /// # Errors
    /// As there.
    pub fn get_merge_operands<K: AsRef<[u8]>>(
        &self,
        key: K,
        options: &GetMergeOperandsOptions,
    ) -> Result<Vec<DBPinnableSlice<'_>>, Error> {
        self.db.get_merge_operands(key, options)
    }

    /// [`get_merge_operands`](Self::get_merge_operands) in `cf`.
    ///
    /// # Errors
    /// As there.
    pub fn get_merge_operands_cf<K: AsRef<[u8]>>(
        &self,
        cf: &impl AsColumnFamilyRef,
        key: K,
        options: &GetMergeOperandsOptions,
    ) -> Result<Vec<DBPinnableSlice<'_>>, Error> {
        self.db.get_merge_operands_cf(cf, key, options)
    }
}
