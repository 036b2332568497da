//! A database with optimistic transactions.

use super::{OptimisticTransactionOptions, Transaction};
use crate::api::column_family::{AsColumnFamilyRef, ColumnFamilyDescriptor};
use crate::api::db::{DBCommon, DBInner, EngineHandle, ThreadMode};
use crate::api::options::{Options, WriteOptions};
use crate::api::write_batch::WriteBatchWithTransaction;
use crate::db::Engine;
use crate::txn::optimistic::OptimisticDb;
use crate::txn::transaction::Transaction as Core;
use std::path::Path;
use std::sync::Arc;
use whitewater_storage::Error;
use whitewater_storage::key::ValueType;

/// A database with optimistic transactions: they lock nothing, and their commit fails if others
/// have changed what they have written or read for update.
///
/// Everything that a [`DB`](crate::DB) can do, it can do, too. Such writes are changes by others;
/// they wait only for commits of transactions with the same keys.
///
/// ```
/// use whitewater::{ErrorKind, OptimisticTransactionDB};
///
/// # fn main() -> Result<(), whitewater::Error> {
/// # let dir = tempfile::tempdir().unwrap();
/// # let path = dir.path();
/// let db: OptimisticTransactionDB = OptimisticTransactionDB::open_default(path)?;
/// db.put("checking", "10")?;
///
/// let transfer = db.transaction();
/// let balance = transfer.get_for_update("checking", true)?;
/// assert_eq!(balance.as_deref(), Some(&b"10"[..]));
/// transfer.put("checking", "3")?;
/// transfer.put("savings", "7")?;
///
/// db.put("checking", "2")?; // nothing keeps others from it
/// let conflict = transfer.commit().unwrap_err();
/// assert_eq!(conflict.kind(), ErrorKind::Busy); // so it is done again
/// assert_eq!(db.get("savings")?, None);
/// # Ok(())
/// # }
/// ```
#[cfg(not(feature = "multi-threaded-cf"))]
pub type OptimisticTransactionDB<T = crate::SingleThreaded> =
    DBCommon<T, OptimisticTransactionDBInner>;

/// A database with optimistic transactions: they lock nothing, and their commit fails if others
/// have changed what they have written or read for update. Without the feature
/// `multi-threaded-cf` it is [`SingleThreaded`](crate::SingleThreaded).
///
/// Everything that a [`DB`](crate::DB) can do, it can do, too. Such writes are changes by others;
/// they wait only for commits of transactions with the same keys.
#[cfg(feature = "multi-threaded-cf")]
pub type OptimisticTransactionDB<T = crate::MultiThreaded> =
    DBCommon<T, OptimisticTransactionDBInner>;

/// An engine and what its transactions share.
#[derive(Debug)]
pub struct OptimisticTransactionDBInner {
    engine: EngineHandle,
    shared: Arc<OptimisticDb>,
}

impl DBInner for OptimisticTransactionDBInner {
    fn inner(&self) -> &EngineHandle {
        &self.engine
    }
}

/// Opening. Every form fails as opening a [`DB`](crate::DB) does, and with `NotSupported` for
/// [`CommitProtocol::Unordered`](crate::CommitProtocol::Unordered), which shows writes before they
/// are all there.
impl<T: ThreadMode> OptimisticTransactionDB<T> {
    /// Opens the database in the directory `path` with default options, creating it when there is
    /// none.
    ///
    /// # Errors
    /// As listed above.
    ///
    /// # Examples
    /// ```
    /// # let dir = tempfile::tempdir().unwrap();
    /// # let path = dir.path();
    /// use whitewater::OptimisticTransactionDB;
    ///
    /// let db: OptimisticTransactionDB = OptimisticTransactionDB::open_default(path)?;
    /// db.put("river", "blue")?;
    /// # assert!(db.get("river")?.is_some());
    /// # Ok::<(), whitewater::Error>(())
    /// ```
    pub fn open_default<P: AsRef<Path>>(path: P) -> Result<Self, Error> {
        let mut opts = Options::default();
        opts.create_if_missing(true);
        Self::open(&opts, path)
    }

    /// Opens the database in the directory `path`; `opts` are also those of the default column
    /// family.
    ///
    /// # Errors
    /// As listed above.
    pub fn open<P: AsRef<Path>>(opts: &Options, path: P) -> Result<Self, Error> {
        Self::open_cf(opts, path, None::<&str>)
    }

    /// Opens the database with the named column families, with default options, and the default
    /// one.
    ///
    /// # Errors
    /// As listed above.
    ///
    /// # Examples
    /// ```
    /// # let dir = tempfile::tempdir().unwrap();
    /// # let path = dir.path();
    /// use whitewater::{OptimisticTransactionDB, Options};
    ///
    /// let mut opts = Options::default();
    /// opts.create_if_missing(true);
    /// opts.create_missing_column_families(true);
    /// let db: OptimisticTransactionDB = OptimisticTransactionDB::open_cf(&opts, path, ["users"])?;
    /// let users = db.cf_handle("users").expect("opened above");
    /// let transaction = db.transaction();
    /// transaction.put_cf(&users, "7", "ada")?;
    /// transaction.commit()?;
    /// assert_eq!(db.get_cf(&users, "7")?.as_deref(), Some(&b"ada"[..]));
    /// # Ok::<(), whitewater::Error>(())
    /// ```
    pub fn open_cf<P, I, N>(opts: &Options, path: P, cfs: I) -> Result<Self, Error>
    where
        P: AsRef<Path>,
        I: IntoIterator<Item = N>,
        N: AsRef<str>,
    {
        let cfs = ColumnFamilyDescriptor::with_defaults(cfs);
        Self::open_cf_descriptors(opts, path, cfs)
    }

    /// Opens the database with column families by descriptor. The default one is opened with
    /// default options when it is not among them.
    ///
    /// # Errors
    /// As listed above.
    pub fn open_cf_descriptors<P, I>(opts: &Options, path: P, cfs: I) -> Result<Self, Error>
    where
        P: AsRef<Path>,
        I: IntoIterator<Item = ColumnFamilyDescriptor>,
    {
        let path = path.as_ref();
        DBCommon::open_around(opts, path, cfs, |db_options, families| {
            OptimisticDb::check(&db_options)?;
            db_options.fs.create_dir_all(path)?;
            let families = families.into_iter();
            let families = families.map(|(name, options, _)| (name, options)).collect();
            let engine = EngineHandle(Engine::open(path, db_options, families)?);
            let shared = OptimisticDb::new(engine.0.clone());
            Ok(OptimisticTransactionDBInner { engine, shared })
        })
    }
}

/// Transactions.
impl<T: ThreadMode> OptimisticTransactionDB<T> {
    /// Begins a transaction with default options.
    ///
    /// # Examples
    /// ```
    /// # let dir = tempfile::tempdir().unwrap();
    /// # use whitewater::OptimisticTransactionDB;
    /// # let db: OptimisticTransactionDB = OptimisticTransactionDB::open_default(dir.path())?;
    /// let transaction = db.transaction();
    /// transaction.put("river", "blue")?;
    /// assert_eq!(db.get("river")?, None);
    /// transaction.commit()?;
    /// assert_eq!(db.get("river")?.as_deref(), Some(&b"blue"[..]));
    /// # Ok::<(), whitewater::Error>(())
    /// ```
    pub fn transaction(&self) -> Transaction<'_, Self> {
        let options = OptimisticTransactionOptions::default();
        self.transaction_opt(&WriteOptions::default(), &options)
    }

    /// Begins a transaction. `writeopts` are those of its commit.
    ///
    /// # Examples
    /// ```
    /// # let dir = tempfile::tempdir().unwrap();
    /// # use whitewater::OptimisticTransactionDB;
    /// # let db: OptimisticTransactionDB = OptimisticTransactionDB::open_default(dir.path())?;
    /// use whitewater::{OptimisticTransactionOptions, WriteOptions};
    ///
    /// let mut synced = WriteOptions::default();
    /// synced.set_sync(true); // the commit survives a power failure
    /// let transaction = db.transaction_opt(&synced, &OptimisticTransactionOptions::default());
    /// transaction.put("order", "42")?;
    /// transaction.commit()?;
    /// # assert!(db.get("order")?.is_some());
    /// # Ok::<(), whitewater::Error>(())
    /// ```
    pub fn transaction_opt(
        &self,
        writeopts: &WriteOptions,
        otxn_opts: &OptimisticTransactionOptions,
    ) -> Transaction<'_, Self> {
        let core = Core::optimistic(&self.around().shared, &writeopts.spec, &otxn_opts.spec);
        Transaction::new(core)
    }
}

/// Writing batches and ranges, outside of transactions.
impl<T: ThreadMode> OptimisticTransactionDB<T> {
    /// [`write`](Self::write) with options.
    ///
    /// # Errors
    /// As [`DB::write_opt`](crate::DBWithThreadMode::write_opt).
    pub fn write_opt(
        &self,
        batch: WriteBatchWithTransaction<true>,
        writeopts: &WriteOptions,
    ) -> Result<(), Error> {
        let (batch, stamped) = batch.into_batch()?;
        self.engine().write(batch, &stamped, &writeopts.spec)
    }

    /// Commits all writes of `batch` at once.
    ///
    /// # Errors
    /// As [`DB::write`](crate::DBWithThreadMode::write).
    ///
    /// # Examples
    /// ```
    /// # let dir = tempfile::tempdir().unwrap();
    /// # use whitewater::OptimisticTransactionDB;
    /// # let db: OptimisticTransactionDB = OptimisticTransactionDB::open_default(dir.path())?;
    /// use whitewater::WriteBatchWithTransaction;
    ///
    /// let mut batch = WriteBatchWithTransaction::<true>::default();
    /// batch.put("river", "blue");
    /// batch.put("stream", "white");
    /// db.write(batch)?; // both or neither
    /// assert_eq!(db.get("stream")?.as_deref(), Some(&b"white"[..]));
    /// # Ok::<(), whitewater::Error>(())
    /// ```
    pub fn write(&self, batch: WriteBatchWithTransaction<true>) -> Result<(), Error> {
        self.write_opt(batch, &WriteOptions::default())
    }

    /// [`write`](Self::write) that is not logged: lost in a crash, until it is flushed.
    ///
    /// # Errors
    /// As [`write`](Self::write).
    pub fn write_without_wal(&self, batch: WriteBatchWithTransaction<true>) -> Result<(), Error> {
        let mut options = WriteOptions::default();
        options.disable_wal(true);
        self.write_opt(batch, &options)
    }

    /// Removes all keys of `cf` in `[from, to)`. A change of each of them for transactions; it
    /// waits for all that commit. The default column family has a handle if it was named at
    /// [`open_cf`](Self::open_cf).
    ///
    /// # Errors
    /// As [`write`](Self::write).
    pub fn delete_range_cf_opt<K: AsRef<[u8]>>(
        &self,
        cf: &impl AsColumnFamilyRef,
        from: K,
        to: K,
        writeopts: &WriteOptions,
    ) -> Result<(), Error> {
        let (from, to) = (from.as_ref(), to.as_ref());
        let (cf, spec) = (cf.inner().id(), &writeopts.spec);
        let ty = ValueType::RangeDeletion;
        self.engine().write_one(cf, ty, from, to, spec)
    }

    /// [`delete_range_cf_opt`](Self::delete_range_cf_opt) with default options.
    ///
    /// # Errors
    /// As [`write`](Self::write).
    pub fn delete_range_cf<K: AsRef<[u8]>>(
        &self,
        cf: &impl AsColumnFamilyRef,
        from: K,
        to: K,
    ) -> Result<(), Error> {
        self.delete_range_cf_opt(cf, from, to, &WriteOptions::default())
    }
}
