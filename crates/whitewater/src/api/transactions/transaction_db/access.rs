//! What snapshots and iterators need of a database with transactions.

use super::TransactionDB;
use crate::api::column_family::{AsColumnFamilyRef, ColumnFamilyHandle};
use crate::api::db::{DBAccess, ThreadMode};
use crate::api::iterator_handle::IteratorHandle;
use crate::api::options::ReadOptions;
use crate::api::pinnable::DBPinnableSlice;
use crate::api::snapshot::SnapshotHandle;
use whitewater_storage::Error;

impl<T: ThreadMode> DBAccess for TransactionDB<T> {
    fn create_snapshot(&self) -> SnapshotHandle {
        self.db.create_snapshot()
    }

    fn create_iterator(&self, readopts: &ReadOptions) -> IteratorHandle {
        self.db.create_iterator(readopts)
    }

    fn create_iterator_cf(
        &self,
        cf: &ColumnFamilyHandle,
        readopts: &ReadOptions,
    ) -> IteratorHandle {
        self.db.create_iterator_cf(cf, readopts)
    }

    fn iterator_is_gone(&self, background_purge: bool) {
        self.db.iterator_is_gone(background_purge);
    }

    fn get_opt<K: AsRef<[u8]>>(
        &self,
        key: K,
        readopts: &ReadOptions,
    ) -> Result<Option<Vec<u8>>, Error> {
        self.get_opt(key, readopts)
    }

    fn get_cf_opt<K: AsRef<[u8]>>(
        &self,
        cf: &impl AsColumnFamilyRef,
        key: K,
        readopts: &ReadOptions,
    ) -> Result<Option<Vec<u8>>, Error> {
        self.get_cf_opt(cf, key, readopts)
    }

    fn get_pinned_opt<K: AsRef<[u8]>>(
        &self,
        key: K,
        readopts: &ReadOptions,
    ) -> Result<Option<DBPinnableSlice<'_>>, Error> {
        self.get_pinned_opt(key, readopts)
    }

    fn get_pinned_cf_opt<K: AsRef<[u8]>>(
        &self,
        cf: &impl AsColumnFamilyRef,
        key: K,
        readopts: &ReadOptions,
    ) -> Result<Option<DBPinnableSlice<'_>>, Error> {
        self.get_pinned_cf_opt(cf, key, readopts)
    }

    fn multi_get_opt<K, I>(
        &self,
        keys: I,
        readopts: &ReadOptions,
    ) -> Vec<Result<Option<Vec<u8>>, Error>>
    where
        K: AsRef<[u8]>,
        I: IntoIterator<Item = K>,
    {
        self.multi_get_opt(keys, readopts)
    }

    fn multi_get_cf_opt<'b, K, I, W>(
        &self,
        keys_cf: I,
        readopts: &ReadOptions,
    ) -> Vec<Result<Option<Vec<u8>>, Error>>
    where
        K: AsRef<[u8]>,
        I: IntoIterator<Item = (&'b W, K)>,
        W: AsColumnFamilyRef + 'b,
    {
        self.multi_get_cf_opt(keys_cf, readopts)
    }
}
