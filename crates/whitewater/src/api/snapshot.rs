//! Snapshots.

use super::column_family::AsColumnFamilyRef;
use super::db::{DB, DBAccess};
use super::iterator::{DBIteratorWithThreadMode, DBRawIteratorWithThreadMode, IteratorMode};
use super::options::ReadOptions;
use super::pinnable::DBPinnableSlice;
use crate::snapshots::SnapshotGuard;
use std::sync::Arc;
use whitewater_storage::Error;

/// A snapshot of [`DB`].
pub type Snapshot<'a> = SnapshotWithThreadMode<'a, DB>;

/// A consistent view of all column families as they were at one moment, until it is dropped.
/// Column families with [in-place updates](crate::Options::set_inplace_update_support) cannot
/// be read through a snapshot.
///
/// ```
/// # fn main() -> Result<(), whitewater::Error> {
/// # let dir = tempfile::tempdir().unwrap();
/// # let path = dir.path();
/// let db = whitewater::DB::open_default(path)?;
/// db.put(b"k", b"then")?;
/// let snapshot = db.snapshot();
/// db.put(b"k", b"now")?;
/// assert_eq!(snapshot.get(b"k")?.as_deref(), Some(&b"then"[..]));
/// assert_eq!(db.get(b"k")?.as_deref(), Some(&b"now"[..]));
/// # Ok(())
/// # }
/// ```
///
/// It cannot outlive the database:
///
/// ```compile_fail
/// # let dir = tempfile::tempdir().unwrap();
/// let db = whitewater::DB::open_default(dir.path()).unwrap();
/// let snapshot = db.snapshot();
/// drop(db);
/// drop(snapshot);
/// ```
pub struct SnapshotWithThreadMode<'a, D: DBAccess> {
    db: &'a D,
    inner: SnapshotHandle,
}

/// What a snapshot stands for; opaque.
#[derive(Debug, Clone)]
pub struct SnapshotHandle {
    /// `None` for that of a transaction without one: reads see the newest state.
    guard: Option<Arc<SnapshotGuard>>,
    sequence: u64,
}

impl SnapshotHandle {
    pub(crate) fn new(guard: impl Into<Arc<SnapshotGuard>>) -> Self {
        let guard = guard.into();
        SnapshotHandle {
            sequence: guard.sequence(),
            guard: Some(guard),
        }
    }

    /// The handle of a transaction without snapshot, made when `visible` was the number of
    /// the last visible write.
    pub(crate) fn none(visible: u64) -> Self {
        SnapshotHandle {
            guard: None,
            sequence: visible,
        }
    }

    pub(crate) fn guard(&self) -> Option<&Arc<SnapshotGuard>> {
        self.guard.as_ref()
    }

    /// The sequence number of the last write it sees.
    pub fn sequence_number(&self) -> u64 {
        self.sequence
    }
}

impl<'a, D: DBAccess> SnapshotWithThreadMode<'a, D> {
    /// Takes a snapshot of `db`.
    pub fn new(db: &'a D) -> Self {
        SnapshotWithThreadMode {
            db,
            inner: db.create_snapshot(),
        }
    }

    pub(crate) fn guard(&self) -> Option<Arc<SnapshotGuard>> {
        self.inner.guard.clone()
    }

    fn at_snapshot(&self, mut readopts: ReadOptions) -> ReadOptions {
        readopts.set_snapshot(self);
        readopts
    }

    /// The sequence number of the last write it sees.
    pub fn sequence_number(&self) -> u64 {
        self.inner.sequence
    }

    /// An iterator over the default column family.
    ///
    /// # Examples
    /// ```
    /// # let dir = tempfile::tempdir().unwrap();
    /// # let db = whitewater::DB::open_default(dir.path())?;
    /// use whitewater::IteratorMode;
    ///
    /// db.put("a", "1")?;
    /// let snapshot = db.snapshot();
    /// db.put("b", "2")?;
    /// assert_eq!(snapshot.iterator(IteratorMode::Start).count(), 1);
    /// # Ok::<(), whitewater::Error>(())
    /// ```
    pub fn iterator(&self, mode: IteratorMode<'_>) -> DBIteratorWithThreadMode<'a, D> {
        self.iterator_opt(mode, ReadOptions::default())
    }

    /// An iterator over `cf_handle`.
    pub fn iterator_cf(
        &self,
        cf_handle: &impl AsColumnFamilyRef,
        mode: IteratorMode<'_>,
    ) -> DBIteratorWithThreadMode<'_, D> {
        self.iterator_cf_opt(cf_handle, ReadOptions::default(), mode)
    }

    /// [`iterator`](Self::iterator) with options.
    pub fn iterator_opt(
        &self,
        mode: IteratorMode<'_>,
        readopts: ReadOptions,
    ) -> DBIteratorWithThreadMode<'a, D> {
        let raw = DBRawIteratorWithThreadMode::new(self.db, self.at_snapshot(readopts));
        DBIteratorWithThreadMode::new(raw, mode)
    }

    /// [`iterator_cf`](Self::iterator_cf) with options.
    pub fn iterator_cf_opt(
        &self,
        cf_handle: &impl AsColumnFamilyRef,
        readopts: ReadOptions,
        mode: IteratorMode<'_>,
    ) -> DBIteratorWithThreadMode<'_, D> {
        let raw = self.raw_iterator_cf_opt(cf_handle, readopts);
        DBIteratorWithThreadMode::new(raw, mode)
    }

    /// A raw iterator over the default column family.
    pub fn raw_iterator(&self) -> DBRawIteratorWithThreadMode<'_, D> {
        self.raw_iterator_opt(ReadOptions::default())
    }

    /// A raw iterator over `cf_handle`.
    pub fn raw_iterator_cf(
        &self,
        cf_handle: &impl AsColumnFamilyRef,
    ) -> DBRawIteratorWithThreadMode<'_, D> {
        self.raw_iterator_cf_opt(cf_handle, ReadOptions::default())
    }

    /// [`raw_iterator`](Self::raw_iterator) with options.
    pub fn raw_iterator_opt(&self, readopts: ReadOptions) -> DBRawIteratorWithThreadMode<'_, D> {
        DBRawIteratorWithThreadMode::new(self.db, self.at_snapshot(readopts))
    }

    /// [`raw_iterator_cf`](Self::raw_iterator_cf) with options.
    pub fn raw_iterator_cf_opt(
        &self,
        cf_handle: &impl AsColumnFamilyRef,
        readopts: ReadOptions,
    ) -> DBRawIteratorWithThreadMode<'_, D> {
        let readopts = self.at_snapshot(readopts);
        DBRawIteratorWithThreadMode::new_cf(self.db, cf_handle.inner(), readopts)
    }

    /// The value of `key`.
    ///
    /// # Errors
    /// As [`DBCommon::get`](crate::DBCommon::get).
    pub fn get<K: AsRef<[u8]>>(&self, key: K) -> Result<Option<Vec<u8>>, Error> {
        self.get_opt(key, ReadOptions::default())
    }

    /// The value of `key` in `cf`.
    ///
    /// # Errors
    /// As [`DBCommon::get`](crate::DBCommon::get).
    pub fn get_cf<K: AsRef<[u8]>>(
        &self,
        cf: &impl AsColumnFamilyRef,
        key: K,
    ) -> Result<Option<Vec<u8>>, Error> {
        self.get_cf_opt(cf, key, ReadOptions::default())
    }

    /// [`get`](Self::get) with options.
    ///
    /// # Errors
    /// As [`DBCommon::get`](crate::DBCommon::get).
    pub fn get_opt<K: AsRef<[u8]>>(
        &self,
        key: K,
        readopts: ReadOptions,
    ) -> Result<Option<Vec<u8>>, Error> {
        self.db.get_opt(key, &self.at_snapshot(readopts))
    }

    /// [`get_cf`](Self::get_cf) with options.
    ///
    /// # Errors
    /// As [`DBCommon::get`](crate::DBCommon::get).
    pub fn get_cf_opt<K: AsRef<[u8]>>(
        &self,
        cf: &impl AsColumnFamilyRef,
        key: K,
        readopts: ReadOptions,
    ) -> Result<Option<Vec<u8>>, Error> {
        self.db.get_cf_opt(cf, key, &self.at_snapshot(readopts))
    }

    /// The value of `key`, not copied.
    ///
    /// # Errors
    /// As [`DBCommon::get`](crate::DBCommon::get).
    pub fn get_pinned<K: AsRef<[u8]>>(&self, key: K) -> Result<Option<DBPinnableSlice<'_>>, Error> {
        self.get_pinned_opt(key, ReadOptions::default())
    }

    /// The value of `key` in `cf`, not copied.
    ///
    /// # Errors
    /// As [`DBCommon::get`](crate::DBCommon::get).
    pub fn get_pinned_cf<K: AsRef<[u8]>>(
        &self,
        cf: &impl AsColumnFamilyRef,
        key: K,
    ) -> Result<Option<DBPinnableSlice<'_>>, Error> {
        self.get_pinned_cf_opt(cf, key, ReadOptions::default())
    }

    /// [`get_pinned`](Self::get_pinned) with options.
    ///
    /// # Errors
    /// As [`DBCommon::get`](crate::DBCommon::get).
    pub fn get_pinned_opt<K: AsRef<[u8]>>(
        &self,
        key: K,
        readopts: ReadOptions,
    ) -> Result<Option<DBPinnableSlice<'_>>, Error> {
        self.db.get_pinned_opt(key, &self.at_snapshot(readopts))
    }

    /// [`get_pinned_cf`](Self::get_pinned_cf) with options.
    ///
    /// # Errors
    /// As [`DBCommon::get`](crate::DBCommon::get).
    pub fn get_pinned_cf_opt<K: AsRef<[u8]>>(
        &self,
        cf: &impl AsColumnFamilyRef,
        key: K,
        readopts: ReadOptions,
    ) -> Result<Option<DBPinnableSlice<'_>>, Error> {
        self.db
            .get_pinned_cf_opt(cf, key, &self.at_snapshot(readopts))
    }

    /// The values of `keys`, in their order.
    pub fn multi_get<K: AsRef<[u8]>, I>(&self, keys: I) -> Vec<Result<Option<Vec<u8>>, Error>>
    where
        I: IntoIterator<Item = K>,
    {
        self.multi_get_opt(keys, ReadOptions::default())
    }

    /// The values of keys of column families, in their order.
    pub fn multi_get_cf<'b, K, I, W>(&self, keys_cf: I) -> Vec<Result<Option<Vec<u8>>, Error>>
    where
        K: AsRef<[u8]>,
        I: IntoIterator<Item = (&'b W, K)>,
        W: AsColumnFamilyRef + 'b,
    {
        self.multi_get_cf_opt(keys_cf, ReadOptions::default())
    }

    /// [`multi_get`](Self::multi_get) with options.
    pub fn multi_get_opt<K, I>(
        &self,
        keys: I,
        readopts: ReadOptions,
    ) -> Vec<Result<Option<Vec<u8>>, Error>>
    where
        K: AsRef<[u8]>,
        I: IntoIterator<Item = K>,
    {
        self.db.multi_get_opt(keys, &self.at_snapshot(readopts))
    }

    /// [`multi_get_cf`](Self::multi_get_cf) with options.
    pub fn multi_get_cf_opt<'b, K, I, W>(
        &self,
        keys_cf: I,
        readopts: ReadOptions,
    ) -> Vec<Result<Option<Vec<u8>>, Error>>
    where
        K: AsRef<[u8]>,
        I: IntoIterator<Item = (&'b W, K)>,
        W: AsColumnFamilyRef + 'b,
    {
        self.db
            .multi_get_cf_opt(keys_cf, &self.at_snapshot(readopts))
    }
}

// Makes the borrow of the database last until the snapshot is dropped.
impl<D: DBAccess> Drop for SnapshotWithThreadMode<'_, D> {
    fn drop(&mut self) {}
}
