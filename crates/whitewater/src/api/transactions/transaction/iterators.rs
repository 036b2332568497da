//! Iterators and snapshots of a transaction.

use super::Transaction;
use crate::api::column_family::AsColumnFamilyRef;
use crate::api::iterator::{
    DBIteratorWithThreadMode, DBRawIteratorWithThreadMode, Direction, IteratorMode,
};
use crate::api::options::ReadOptions;
use crate::api::snapshot::SnapshotWithThreadMode;

/// Iterators over the database with the transaction's writes. One sees the writes that were made
/// before it, and of the database the newest state at that time or the snapshot of its options. A
/// failure to make or move one is the iterator's next item, or the
/// [`status`](DBRawIteratorWithThreadMode::status) of a raw one.
///
/// ```
/// use whitewater::{IteratorMode, TransactionDB};
///
/// # fn main() -> Result<(), whitewater::Error> {
/// # let dir = tempfile::tempdir().unwrap();
/// # let path = dir.path();
/// let db: TransactionDB = TransactionDB::open_default(path)?;
/// db.put("a", "1")?;
/// let transaction = db.transaction();
/// transaction.put("b", "2")?;
/// assert_eq!(transaction.iterator(IteratorMode::Start).count(), 2);
/// assert_eq!(db.iterator(IteratorMode::Start).count(), 1);
/// # Ok(())
/// # }
/// ```
impl<DB> Transaction<'_, DB> {
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

    /// The transaction's snapshot, if it has one
    /// ([`TransactionOptions::set_snapshot`](crate::TransactionOptions::set_snapshot)): reads of it
    /// see the database as it was then, with the transaction's writes. Without one, they see the
    /// newest state.
    ///
    /// It cannot outlive the transaction:
    ///
    /// ```compile_fail
    /// # let dir = tempfile::tempdir().unwrap();
    /// let db: whitewater::TransactionDB =
    ///     whitewater::TransactionDB::open_default(dir.path()).unwrap();
    /// let transaction = db.transaction();
    /// let snapshot = transaction.snapshot();
    /// drop(transaction);
    /// drop(snapshot);
    /// ```
    pub fn snapshot(&self) -> SnapshotWithThreadMode<'_, Self> {
        SnapshotWithThreadMode::new(self)
    }
}
