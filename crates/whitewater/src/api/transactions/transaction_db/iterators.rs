//! Iterators and snapshots of a database with transactions.

use super::TransactionDB;
use crate::api::column_family::AsColumnFamilyRef;
use crate::api::db::ThreadMode;
use crate::api::iterator::{
    DBIteratorWithThreadMode, DBRawIteratorWithThreadMode, Direction, IteratorMode,
};
use crate::api::options::ReadOptions;
use crate::api::snapshot::SnapshotWithThreadMode;

/// Iterators, outside of transactions: they see what was committed when they were made. A failure
/// to make or move one is the iterator's next item, or the
/// [`status`](DBRawIteratorWithThreadMode::status) of a raw one.
impl<T: ThreadMode> TransactionDB<T> {
    /// An iterator over the default column family.
    pub fn iterator<'a: 'b, 'b>(
        &'a self,
        mode: IteratorMode<'_>,
    ) -> DBIteratorWithThreadMode<'b, Self> {
        self.iterator_opt(mode, ReadOptions::default())
    }

    /// [`iterator`](Self::iterator) with options.
    pub fn iterator_opt<'a: 'b, 'b>(
        &'a self,
        mode: IteratorMode<'_>,
        readopts: ReadOptions,
    ) -> DBIteratorWithThreadMode<'b, Self> {
        DBIteratorWithThreadMode::new(self.raw_iterator_opt(readopts), mode)
    }

    /// [`iterator_cf`](Self::iterator_cf) with options.
    pub fn iterator_cf_opt<'a: 'b, 'b>(
        &'a self,
        cf_handle: &impl AsColumnFamilyRef,
        readopts: ReadOptions,
        mode: IteratorMode<'_>,
    ) -> DBIteratorWithThreadMode<'b, Self> {
        DBIteratorWithThreadMode::new(self.raw_iterator_cf_opt(cf_handle, readopts), mode)
    }

    /// An iterator over all keys in order, whatever the prefix extractor: see
    /// [`ReadOptions::set_total_order_seek`].
    pub fn full_iterator<'a: 'b, 'b>(
        &'a self,
        mode: IteratorMode<'_>,
    ) -> DBIteratorWithThreadMode<'b, Self> {
        let mut readopts = ReadOptions::default();
        readopts.set_total_order_seek(true);
        self.iterator_opt(mode, readopts)
    }

    /// An iterator over the keys that share the prefix of `prefix`, as that of
    /// [`DB`](crate::DBCommon::prefix_iterator).
    pub fn prefix_iterator<'a: 'b, 'b, P: AsRef<[u8]>>(
        &'a self,
        prefix: P,
    ) -> DBIteratorWithThreadMode<'b, Self> {
        let mut readopts = ReadOptions::default();
        readopts.set_prefix_same_as_start(true);
        let mode = IteratorMode::From(prefix.as_ref(), Direction::Forward);
        self.iterator_opt(mode, readopts)
    }

    /// An iterator over `cf_handle`.
    pub fn iterator_cf<'a: 'b, 'b>(
        &'a self,
        cf_handle: &impl AsColumnFamilyRef,
        mode: IteratorMode<'_>,
    ) -> DBIteratorWithThreadMode<'b, Self> {
        self.iterator_cf_opt(cf_handle, ReadOptions::default(), mode)
    }

    /// [`full_iterator`](Self::full_iterator) over `cf_handle`.
    pub fn full_iterator_cf<'a: 'b, 'b>(
        &'a self,
        cf_handle: &impl AsColumnFamilyRef,
        mode: IteratorMode<'_>,
    ) -> DBIteratorWithThreadMode<'b, Self> {
        let mut readopts = ReadOptions::default();
        readopts.set_total_order_seek(true);
        self.iterator_cf_opt(cf_handle, readopts, mode)
    }

    /// [`prefix_iterator`](Self::prefix_iterator) over `cf_handle`.
    pub fn prefix_iterator_cf<'a, P: AsRef<[u8]>>(
        &'a self,
        cf_handle: &impl AsColumnFamilyRef,
        prefix: P,
    ) -> DBIteratorWithThreadMode<'a, Self> {
        let mut readopts = ReadOptions::default();
        readopts.set_prefix_same_as_start(true);
        let mode = IteratorMode::From(prefix.as_ref(), Direction::Forward);
        self.iterator_cf_opt(cf_handle, readopts, mode)
    }

    /// A raw iterator over the default column family.
    pub fn raw_iterator<'a: 'b, 'b>(&'a self) -> DBRawIteratorWithThreadMode<'b, Self> {
        self.raw_iterator_opt(ReadOptions::default())
    }

    /// A raw iterator over `cf_handle`.
    pub fn raw_iterator_cf<'a: 'b, 'b>(
        &'a self,
        cf_handle: &impl AsColumnFamilyRef,
    ) -> DBRawIteratorWithThreadMode<'b, Self> {
        self.raw_iterator_cf_opt(cf_handle, ReadOptions::default())
    }

    /// [`raw_iterator`](Self::raw_iterator) with options.
    pub fn raw_iterator_opt<'a: 'b, 'b>(
        &'a self,
        readopts: ReadOptions,
    ) -> DBRawIteratorWithThreadMode<'b, Self> {
        DBRawIteratorWithThreadMode::new(self, readopts)
    }

    /// [`raw_iterator_cf`](Self::raw_iterator_cf) with options.
    pub fn raw_iterator_cf_opt<'a: 'b, 'b>(
        &'a self,
        cf_handle: &impl AsColumnFamilyRef,
        readopts: ReadOptions,
    ) -> DBRawIteratorWithThreadMode<'b, Self> {
        DBRawIteratorWithThreadMode::new_cf(self, cf_handle.inner(), readopts)
    }

    /// Takes a snapshot of all column families.
    pub fn snapshot(&self) -> SnapshotWithThreadMode<'_, Self> {
        SnapshotWithThreadMode::new(self)
    }
}
