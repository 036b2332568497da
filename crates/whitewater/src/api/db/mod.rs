//! The database handle.
//!
//! [`DBCommon`] converts types and keeps lifetimes; the work is done by
//! `Engine`. Its methods by file: `open` (opening, listing, destroying), `read_only`, `secondary`
//! and `ttl` (other ways to open), `reads`, `writes`, `entities`, `iterators`, `families` (creating
//! and dropping column families in both thread modes), `import` (the same with exported tables),
//! `control` (flushes, compactions), `ingest` (tables from outside), `inspect` (properties, files),
//! `sizes` (of ranges of keys) and `listing` (files, for copies).
//!
//! Invariant A1: whatever borrows from the database (iterators, snapshots,
//! pinned values, column family handles) is gone before the engine is closed;
//! the borrow checker sees to it.

mod control;
mod entities;
mod families;
mod import;
mod ingest;
mod inspect;
mod iterators;
mod listing;
mod open;
mod read_only;
mod reads;
mod secondary;
mod sizes;
mod ttl;
mod writes;

pub use import::ImportColumnFamilyOptions;
pub(super) use inspect::property_name;
pub use inspect::{ColumnFamilyMetaData, LiveFile, Range};
pub use listing::LiveFilesStorageInfoOptions;
pub use sizes::SizeApproximationOptions;

use super::column_family::{
    AsColumnFamilyRef, BoundColumnFamily, ColumnFamily, ColumnFamilyHandle,
};
use super::iterator_handle::IteratorHandle;
use super::options::ReadOptions;
use super::pinnable::DBPinnableSlice;
use super::snapshot::SnapshotHandle;
use crate::db::Engine;
use std::collections::BTreeMap;
use std::fmt;
use std::marker::PhantomData;
use std::path::PathBuf;
use std::sync::Arc;
use whitewater_concurrent::system::RwLock;
use whitewater_storage::Error;

/// How a database guards its list of column family handles:
/// [`SingleThreaded`] or [`MultiThreaded`]. Not meant to be implemented.
pub trait ThreadMode {
    /// Makes the list.
    #[doc(hidden)]
    fn new_cf_map_internal(cfs: BTreeMap<String, ColumnFamilyHandle>) -> Self;
    /// Forgets all handles.
    #[doc(hidden)]
    fn drop_all_cfs_internal(&mut self);
}

/// Creating and dropping column families takes `&mut` of the database, and
/// handles are plain references. Everything else is as concurrent as in
/// [`MultiThreaded`].
pub struct SingleThreaded {
    cfs: BTreeMap<String, ColumnFamily>,
}

/// Creating and dropping column families takes `&` of the database; the list
/// of handles is behind a lock and handles are in an `Arc`.
pub struct MultiThreaded {
    /// Handles are given out with the lifetime of the borrow.
    cfs: RwLock<BTreeMap<String, Arc<BoundColumnFamily<'static>>>>,
}

impl ThreadMode for SingleThreaded {
    fn new_cf_map_internal(cfs: BTreeMap<String, ColumnFamilyHandle>) -> Self {
        let cfs = cfs.into_iter();
        SingleThreaded {
            cfs: cfs
                .map(|(n, handle)| (n, ColumnFamily { handle }))
                .collect(),
        }
    }
    fn drop_all_cfs_internal(&mut self) {
        self.cfs.clear();
    }
}

impl MultiThreaded {
    fn share(handle: ColumnFamilyHandle) -> Arc<BoundColumnFamily<'static>> {
        Arc::new(BoundColumnFamily {
            handle,
            db: PhantomData,
        })
    }
}

impl ThreadMode for MultiThreaded {
    fn new_cf_map_internal(cfs: BTreeMap<String, ColumnFamilyHandle>) -> Self {
        let cfs = cfs.into_iter();
        MultiThreaded {
            cfs: RwLock::new(cfs.map(|(n, handle)| (n, Self::share(handle))).collect()),
        }
    }
    fn drop_all_cfs_internal(&mut self) {
        self.cfs.get_mut().clear();
    }
}

/// An open engine; closed when dropped. Opaque.
#[derive(Debug)]
pub struct EngineHandle(pub(crate) Arc<Engine>);

impl Drop for EngineHandle {
    fn drop(&mut self) {
        self.0.close();
    }
}

/// What a database handle is made around.
pub trait DBInner {
    /// The engine.
    fn inner(&self) -> &EngineHandle;

    /// A column family was created, and nobody has a handle to it yet.
    #[doc(hidden)]
    fn family_created(&self, _id: u32) {}

    /// A column family was dropped.
    #[doc(hidden)]
    fn family_dropped(&self, _id: u32) {}
}

/// A database without transactions.
#[derive(Debug)]
pub struct DBWithThreadModeInner {
    engine: EngineHandle,
}

impl DBInner for DBWithThreadModeInner {
    fn inner(&self) -> &EngineHandle {
        &self.engine
    }
}

/// A database with its thread mode.
pub type DBWithThreadMode<T> = DBCommon<T, DBWithThreadModeInner>;

/// A database whose column families are created and dropped by one thread.
/// The feature `multi-threaded-cf` makes it [`MultiThreaded`]; both modes are
/// always there as [`DBWithThreadMode`].
///
/// ```
/// use whitewater::{DB, Options};
///
/// # fn main() -> Result<(), whitewater::Error> {
/// # let dir = tempfile::tempdir().unwrap();
/// # let path = dir.path();
/// let db = DB::open_default(path)?;
/// db.put(b"my key", b"my value")?;
/// assert_eq!(db.get(b"my key")?.as_deref(), Some(&b"my value"[..]));
/// db.delete(b"my key")?;
/// assert_eq!(db.get(b"my key")?, None);
/// drop(db);
/// DB::destroy(&Options::default(), path)?;
/// # Ok(())
/// # }
/// ```
#[cfg(not(feature = "multi-threaded-cf"))]
pub type DB = DBWithThreadMode<SingleThreaded>;

/// A database whose column families may be created and dropped by many
/// threads; without the feature `multi-threaded-cf` it is [`SingleThreaded`].
#[cfg(feature = "multi-threaded-cf")]
pub type DB = DBWithThreadMode<MultiThreaded>;

/// A database; [`DB`] for most uses. All methods but those on column families
/// of a [`SingleThreaded`] one may be called by many threads at once.
///
/// Dropping it stops background work and closes the database. What was written
/// with [`WriteOptions::disable_wal`](crate::WriteOptions::disable_wal) is
/// flushed first; all other writes are in the log. Dropped on a thread of the
/// database, that is, in a callback such as a compaction filter, it is closed by
/// another thread, and can be opened again a moment later.
pub struct DBCommon<T: ThreadMode, D: DBInner> {
    inner: D,
    cfs: T,
    path: PathBuf,
}

impl<T: ThreadMode, D: DBInner> DBCommon<T, D> {
    pub(crate) fn engine(&self) -> &Arc<Engine> {
        &self.inner.inner().0
    }

    /// What it is made around.
    pub(crate) fn around(&self) -> &D {
        &self.inner
    }
}

impl<T: ThreadMode, D: DBInner> Drop for DBCommon<T, D> {
    fn drop(&mut self) {
        self.cfs.drop_all_cfs_internal();
    }
}

impl<T: ThreadMode, D: DBInner> fmt::Debug for DBCommon<T, D> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Whitewater {{ path: {} }}", self.path().display())
    }
}

/// What snapshots and iterators need of a database. Not meant to be
/// implemented.
pub trait DBAccess {
    /// Takes a snapshot.
    #[doc(hidden)]
    fn create_snapshot(&self) -> SnapshotHandle;

    /// Makes an iterator over the default column family.
    #[doc(hidden)]
    fn create_iterator(&self, readopts: &ReadOptions) -> IteratorHandle;

    /// Makes an iterator over `cf`.
    #[doc(hidden)]
    fn create_iterator_cf(&self, cf: &ColumnFamilyHandle, readopts: &ReadOptions)
    -> IteratorHandle;

    /// Deletes the files that only an iterator kept, which is gone.
    #[doc(hidden)]
    fn iterator_is_gone(&self, background_purge: bool);

    /// [`DBCommon::get_opt`].
    ///
    /// # Errors
    /// As [`DBCommon::get`].
    fn get_opt<K: AsRef<[u8]>>(
        &self,
        key: K,
        readopts: &ReadOptions,
    ) -> Result<Option<Vec<u8>>, Error>;

    /// [`DBCommon::get_cf_opt`].
    ///
    /// # Errors
    /// As [`DBCommon::get`].
    fn get_cf_opt<K: AsRef<[u8]>>(
        &self,
        cf: &impl AsColumnFamilyRef,
        key: K,
        readopts: &ReadOptions,
    ) -> Result<Option<Vec<u8>>, Error>;

    /// [`DBCommon::get_pinned_opt`].
    ///
    /// # Errors
    /// As [`DBCommon::get`].
    fn get_pinned_opt<K: AsRef<[u8]>>(
        &self,
        key: K,
        readopts: &ReadOptions,
    ) -> Result<Option<DBPinnableSlice<'_>>, Error>;

    /// [`DBCommon::get_pinned_cf_opt`].
    ///
    /// # Errors
    /// As [`DBCommon::get`].
    fn get_pinned_cf_opt<K: AsRef<[u8]>>(
        &self,
        cf: &impl AsColumnFamilyRef,
        key: K,
        readopts: &ReadOptions,
    ) -> Result<Option<DBPinnableSlice<'_>>, Error>;

    /// [`DBCommon::multi_get_opt`].
    fn multi_get_opt<K, I>(
        &self,
        keys: I,
        readopts: &ReadOptions,
    ) -> Vec<Result<Option<Vec<u8>>, Error>>
    where
        K: AsRef<[u8]>,
        I: IntoIterator<Item = K>;

    /// [`DBCommon::multi_get_cf_opt`].
    fn multi_get_cf_opt<'b, K, I, W>(
        &self,
        keys_cf: I,
        readopts: &ReadOptions,
    ) -> Vec<Result<Option<Vec<u8>>, Error>>
    where
        K: AsRef<[u8]>,
        I: IntoIterator<Item = (&'b W, K)>,
        W: AsColumnFamilyRef + 'b;
}

impl<T: ThreadMode, D: DBInner> DBAccess for DBCommon<T, D> {
    fn create_snapshot(&self) -> SnapshotHandle {
        SnapshotHandle::new(self.engine().snapshot())
    }

    fn create_iterator(&self, readopts: &ReadOptions) -> IteratorHandle {
        let engine = self.engine();
        IteratorHandle::new(engine.iter(engine.default_cf(), &readopts.spec))
    }

    fn create_iterator_cf(
        &self,
        cf: &ColumnFamilyHandle,
        readopts: &ReadOptions,
    ) -> IteratorHandle {
        IteratorHandle::new(self.engine().iter(cf.data(), &readopts.spec))
    }

    fn iterator_is_gone(&self, background_purge: bool) {
        let engine = self.engine();
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
