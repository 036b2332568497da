//! Checkpoints.

use super::column_family::AsColumnFamilyRef;
use super::db::{DBCommon, DBInner, ThreadMode};
use super::transactions::TransactionDB;
use crate::db::Engine;
use crate::external::exported::ExportImportFilesMetaData;
use std::fmt;
use std::marker::PhantomData;
use std::path::Path;
use std::sync::Arc;
use whitewater_storage::Error;

/// Makes checkpoints of an open database: databases in directories of their
/// own, with all that this one holds at a moment during the call. Tables are
/// shared by hard links where both directories are on one file system, so a
/// checkpoint takes little time and room.
///
/// ```
/// use whitewater::{DB, checkpoint::Checkpoint};
///
/// # fn main() -> Result<(), whitewater::Error> {
/// # let dir = tempfile::tempdir().unwrap();
/// let db = DB::open_default(dir.path().join("db"))?;
/// db.put("key", "then")?;
/// Checkpoint::new(&db)?.create_checkpoint(dir.path().join("copy"))?;
/// db.put("key", "now")?;
/// let copy = DB::open_default(dir.path().join("copy"))?;
/// assert_eq!(copy.get("key")?.as_deref(), Some(&b"then"[..]));
/// # Ok(())
/// # }
/// ```
pub struct Checkpoint<'db> {
    engine: Arc<Engine>,
    /// It is of no use without the database.
    _db: PhantomData<&'db ()>,
}

impl fmt::Debug for Checkpoint<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Checkpoint").finish_non_exhaustive()
    }
}

impl<'db> Checkpoint<'db> {
    /// For checkpoints of `db`.
    ///
    /// # Errors
    /// None so far.
    pub fn new<T: ThreadMode, I: DBInner>(db: &'db DBCommon<T, I>) -> Result<Self, Error> {
        Ok(Checkpoint {
            engine: db.engine().clone(),
            _db: PhantomData,
        })
    }

    /// Makes a checkpoint in the directory `path`, which must not exist; its
    /// parent must. Memtables are flushed first. The directory gets its name
    /// when all of it is complete and durable; until then its name ends with
    /// `.tmp`. Writers go on meanwhile.
    ///
    /// # Errors
    /// `InvalidArgument` when `path` exists; `IOError`; the failure that
    /// stopped the database. There is no checkpoint then, unless all that failed
    /// was making its name durable.
    ///
    /// # Examples
    /// ```
    /// # let dir = tempfile::tempdir().unwrap();
    /// # let db = whitewater::DB::open_default(dir.path())?;
    /// use whitewater::DB;
    /// use whitewater::checkpoint::Checkpoint;
    ///
    /// db.put("river", "blue")?;
    /// let copy = dir.path().join("copy");
    /// Checkpoint::new(&db)?.create_checkpoint(&copy)?;
    /// db.put("river", "white")?;
    /// assert_eq!(DB::open_default(&copy)?.get("river")?, Some(b"blue".to_vec()));
    /// # Ok::<(), whitewater::Error>(())
    /// ```
    pub fn create_checkpoint<P: AsRef<Path>>(&self, path: P) -> Result<(), Error> {
        self.create_checkpoint_with_log_size(path, 0)
    }

    /// [`create_checkpoint`](Self::create_checkpoint) that flushes memtables
    /// only if the logs have `log_size_for_flush` bytes or more, and copies the
    /// logs. Writes without a log are in the checkpoint only if memtables are
    /// flushed.
    ///
    /// # Errors
    /// As [`create_checkpoint`](Self::create_checkpoint).
    pub fn create_checkpoint_with_log_size<P: AsRef<Path>>(
        &self,
        path: P,
        log_size_for_flush: u64,
    ) -> Result<(), Error> {
        self.engine
            .create_checkpoint(path.as_ref(), log_size_for_flush)
    }

    /// Puts the tables of the column family `cf` into the directory `export_dir`, which must not
    /// exist; its parent must. The memtables of `cf` are flushed first. Tables are linked where
    /// both directories are on one file system. The directory gets its name when all of it is
    /// complete and durable; until then its name ends with `.tmp`. Writers go on meanwhile.
    ///
    /// The result is what an import needs:
    /// [`create_column_family_with_import`](crate::DB::create_column_family_with_import), here
    /// or in another database, or RocksDB's. It is not in the directory: a program that imports
    /// in another process keeps it.
    ///
    /// # Errors
    /// `InvalidArgument` when `export_dir` exists; `NotSupported` for a column family with
    /// user-defined timestamps or with values in blob files; `IOError`; the failure that stopped
    /// the database. There is no export then, unless all that failed was making its name durable.
    pub fn export_column_family<P: AsRef<Path>>(
        &self,
        cf: &impl AsColumnFamilyRef,
        export_dir: P,
    ) -> Result<ExportImportFilesMetaData, Error> {
        let cf = cf.inner().data();
        self.engine.export_cf(cf, export_dir.as_ref())
    }
}

/// Makes checkpoints of an open [`TransactionDB`](crate::TransactionDB), as [`Checkpoint`] does.
/// Transactions that are not committed are not in them; a checkpoint taken while there are
/// prepared ones must be opened as a `TransactionDB`.
pub struct TransactionDBCheckpoint<'db> {
    checkpoint: Checkpoint<'db>,
}

impl fmt::Debug for TransactionDBCheckpoint<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("TransactionDBCheckpoint")
            .finish_non_exhaustive()
    }
}

impl<'db> TransactionDBCheckpoint<'db> {
    /// For checkpoints of `db`.
    ///
    /// # Errors
    /// None so far.
    pub fn new<T: ThreadMode>(db: &'db TransactionDB<T>) -> Result<Self, Error> {
        let checkpoint = Checkpoint {
            engine: db.engine().clone(),
            _db: PhantomData,
        };
        Ok(TransactionDBCheckpoint { checkpoint })
    }

    /// [`Checkpoint::create_checkpoint`].
    ///
    /// # Errors
    /// The same.
    ///
    /// # Examples
    /// ```
    /// # let dir = tempfile::tempdir().unwrap();
    /// # let db: whitewater::TransactionDB =
    /// #     whitewater::TransactionDB::open_default(dir.path().join("db"))?;
    /// use whitewater::TransactionDB;
    /// use whitewater::checkpoint::TransactionDBCheckpoint;
    ///
    /// db.put("river", "blue")?;
    /// let copy = dir.path().join("copy");
    /// TransactionDBCheckpoint::new(&db)?.create_checkpoint(&copy)?;
    /// let copy: TransactionDB = TransactionDB::open_default(&copy)?;
    /// assert_eq!(copy.get("river")?, Some(b"blue".to_vec()));
    /// # Ok::<(), whitewater::Error>(())
    /// ```
    pub fn create_checkpoint<P: AsRef<Path>>(&self, path: P) -> Result<(), Error> {
        self.checkpoint.create_checkpoint(path)
    }

    /// [`Checkpoint::create_checkpoint_with_log_size`].
    ///
    /// # Errors
    /// The same.
    pub fn create_checkpoint_with_log_size<P: AsRef<Path>>(
        &self,
        path: P,
        log_size_for_flush: u64,
    ) -> Result<(), Error> {
        (self.checkpoint).create_checkpoint_with_log_size(path, log_size_for_flush)
    }
}
