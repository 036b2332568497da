//! What snapshots and iterators need of a transaction.

use super::Transaction;
use crate::api::column_family::{AsColumnFamilyRef, ColumnFamilyHandle};
use crate::api::db::DBAccess;
use crate::api::iterator_handle::IteratorHandle;
use crate::api::options::ReadOptions;
use crate::api::pinnable::DBPinnableSlice;
use crate::api::snapshot::SnapshotHandle;
use whitewater_storage::Error;

impl<DB> DBAccess for Transaction<'_, DB> {
    fn create_snapshot(&self) -> SnapshotHandle {
        match self.core.snapshot() {
            Some(snapshot) => SnapshotHandle::new(snapshot),
            None => SnapshotHandle::none(self.core.engine().latest_sequence_number()),
        }
    }

    fn create_iterator(&self, readopts: &ReadOptions) -> IteratorHandle {
        let cf = self.core.engine().default_cf();
        IteratorHandle::over_db(self.core.iter(cf, &readopts.spec))
    }

    fn create_iterator_cf(
        &self,
        cf: &ColumnFamilyHandle,
        readopts: &ReadOptions,
    ) -> IteratorHandle {
        IteratorHandle::over_db(self.core.iter(cf.data(), &readopts.spec))
    }

    fn iterator_is_gone(&self, background_purge: bool) {
        let engine = self.core.engine();
        if background_purge {
            engine.purge_later();
        } else {
            engine.purge_what_was_let_go();
        }
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
