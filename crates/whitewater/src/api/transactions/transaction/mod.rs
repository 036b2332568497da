//! A transaction.
//!
//! Its methods by file: here how it ends, names, savepoints, snapshots; `reads`; `writes`;
//! `entities`; `iterators`; `access` (what snapshots and iterators need).

mod access;
mod entities;
mod iterators;
mod reads;
mod writes;

use crate::api::write_batch::WriteBatchWithTransaction;
use crate::api::write_batch_with_index::WriteBatchWithIndex;
use crate::txn::transaction::Transaction as Core;
use std::fmt;
use std::marker::PhantomData;
use whitewater_storage::Error;

/// A transaction: writes that are done together when it is committed, or not at all. It sees its
/// own writes; nobody else does before the commit.
///
/// In a [`TransactionDB`](crate::TransactionDB), a write locks its key, and so does a
/// [read for update](Self::get_for_update). The lock lasts until the transaction has ended, and
/// keeps others from writing the key. Other reads lock nothing.
///
/// Dropped before it was committed, it has written nothing. One that is
/// [prepared](Self::prepare) stays prepared then, and keeps its locks.
///
/// It may move to another thread, but is used by one at a time. It cannot outlive its database:
///
/// ```compile_fail
/// # let dir = tempfile::tempdir().unwrap();
/// let db: whitewater::TransactionDB =
///     whitewater::TransactionDB::open_default(dir.path()).unwrap();
/// let transaction = db.transaction();
/// drop(db);
/// drop(transaction);
/// ```
pub struct Transaction<'db, DB> {
    core: Core,
    /// It is of no use without the database, but needs nothing of its type.
    db: PhantomData<fn() -> &'db DB>,
}

impl<DB> fmt::Debug for Transaction<'_, DB> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Transaction {{ id: {} }}", self.core.id())
    }
}

// Makes the borrow of the database last until the transaction is dropped.
impl<DB> Drop for Transaction<'_, DB> {
    fn drop(&mut self) {}
}

impl<DB> Transaction<'_, DB> {
    pub(super) fn new(core: Core) -> Self {
        Transaction {
            core,
            db: PhantomData,
        }
    }

    /// Does all writes at once, with the options that the transaction was made with, and gives its
    /// locks back.
    ///
    /// # Errors
    /// `Busy` if it is optimistic and others have changed a key that it used; `Expired` if
    /// [its time](crate::TransactionOptions::set_expiration) is over; `InvalidArgument` if it
    /// should have been [prepared](crate::TransactionOptions::set_skip_prepare), and if a column
    /// family no longer exists or a merge is for one without merge operator; otherwise as
    /// [`DB::write`](crate::DBWithThreadMode::write). Nothing was written then.
    pub fn commit(self) -> Result<(), Error> {
        self.commit_kept()
    }

    /// [`commit`](Self::commit) of a transaction that is kept.
    ///
    /// # Errors
    /// The same.
    #[doc(hidden)]
    pub fn commit_kept(&self) -> Result<(), Error> {
        self.core.commit()
    }

    /// Sets the timestamp that the commit gives to the keys that the transaction has written in
    /// column families whose keys have
    /// [timestamps of 64 bits](crate::Options::set_u64_timestamp_comparator), 8 bytes in
    /// little-endian order. It is needed if there are such keys, and must be above those of their
    /// other versions. Until then they have no timestamp: the transaction itself reads them
    /// whatever time it reads at. Not in the `rocksdb` crate.
    ///
    /// # Errors
    /// `InvalidArgument` if it is not above the one of
    /// [`set_read_timestamp_for_validation`](Self::set_read_timestamp_for_validation);
    /// `NotSupported` for an optimistic transaction.
    ///
    /// # Examples
    /// ```
    /// # let dir = tempfile::tempdir().unwrap();
    /// use whitewater::{Options, ReadOptions, TransactionDB, TransactionDBOptions};
    ///
    /// let mut options = Options::default();
    /// options.create_if_missing(true);
    /// options.set_u64_timestamp_comparator();
    /// let of_transactions = TransactionDBOptions::default();
    /// let db: TransactionDB = TransactionDB::open(&options, &of_transactions, dir.path())?;
    /// let transaction = db.transaction();
    /// transaction.put("river", "blue")?;
    /// transaction.set_commit_timestamp(7)?;
    /// transaction.commit()?;
    /// let mut at = ReadOptions::default();
    /// at.set_timestamp(7u64.to_le_bytes());
    /// assert_eq!(db.get_opt("river", &at)?.as_deref(), Some(&b"blue"[..]));
    /// # Ok::<(), whitewater::Error>(())
    /// ```
    pub fn set_commit_timestamp(&self, ts: u64) -> Result<(), Error> {
        self.core.set_commit_timestamp(ts)
    }

    /// The timestamp of [`set_commit_timestamp`](Self::set_commit_timestamp). Not in the `rocksdb`
    /// crate.
    pub fn get_commit_timestamp(&self) -> Option<u64> {
        self.core.commit_timestamp()
    }

    /// Lets keys conflict that have a version with a timestamp above `ts`, from now on: what the
    /// transaction writes, and what it reads [for update](Self::get_for_update), which needs this
    /// where keys have timestamps, and then reads at `ts`. Not in the `rocksdb` crate.
    ///
    /// # Errors
    /// `InvalidArgument` if it is below the one before; `NotSupported` for an optimistic
    /// transaction.
    pub fn set_read_timestamp_for_validation(&self, ts: u64) -> Result<(), Error> {
        self.core.set_read_timestamp_for_validation(ts)
    }

    /// Gives the transaction a name of 1 to 512 bytes, which no other live transaction has. It
    /// needs one to be [prepared](Self::prepare).
    ///
    /// # Errors
    /// `InvalidArgument` if it has a name or is prepared, and for names that are too short, too
    /// long or taken.
    pub fn set_name(&self, name: &[u8]) -> Result<(), Error> {
        self.core.set_name(name)
    }

    /// The name; empty without one. Never `None`.
    pub fn get_name(&self) -> Option<Vec<u8>> {
        Some(self.core.name())
    }

    /// Makes sure that the transaction can be committed, also after the database was closed, or has
    /// died: its writes are logged, and nobody sees them yet. With
    /// [`sync`](crate::WriteOptions::set_sync) in its options that holds after a power failure,
    /// too. It can only be committed and rolled back then. Until that, it keeps the log and its
    /// locks, even if it is dropped or the commit fails:
    /// [`prepared_transactions`](crate::TransactionDB::prepared_transactions) hands it out again.
    ///
    /// # Errors
    /// `InvalidArgument` if it has [no name](Self::set_name) or is prepared already; `Expired` if
    /// [its time](crate::TransactionOptions::set_expiration) is over; otherwise as
    /// [`DB::write`](crate::DBWithThreadMode::write). It is not prepared then.
    ///
    /// # Examples
    /// ```
    /// # let dir = tempfile::tempdir().unwrap();
    /// # let db: whitewater::TransactionDB = whitewater::TransactionDB::open_default(dir.path())?;
    /// let transaction = db.transaction();
    /// transaction.set_name(b"payment 7")?;
    /// transaction.put("paid", "7")?;
    /// transaction.prepare()?;
    /// assert_eq!(db.get("paid")?, None);
    /// transaction.commit()?;
    /// assert_eq!(db.get("paid")?.as_deref(), Some(&b"7"[..]));
    /// # Ok::<(), whitewater::Error>(())
    /// ```
    pub fn prepare(&self) -> Result<(), Error> {
        self.core.prepare()
    }

    /// Forgets all writes, and gives the locks back. The transaction can be used on then, unless it
    /// was prepared.
    ///
    /// # Errors
    /// `InvalidArgument` if it has expired and its locks are gone; for a prepared one as
    /// [`DB::write`](crate::DBWithThreadMode::write): it is prepared as before then.
    pub fn rollback(&self) -> Result<(), Error> {
        self.core.rollback()
    }

    /// Remembers how the transaction is now, for
    /// [`rollback_to_savepoint`](Self::rollback_to_savepoint). There may be several.
    ///
    /// # Examples
    /// ```
    /// # let dir = tempfile::tempdir().unwrap();
    /// # let db: whitewater::TransactionDB = whitewater::TransactionDB::open_default(dir.path())?;
    /// let transaction = db.transaction();
    /// transaction.put("river", "blue")?;
    /// transaction.set_savepoint();
    /// transaction.put("river", "white")?;
    /// transaction.rollback_to_savepoint()?;
    /// transaction.commit()?;
    /// assert_eq!(db.get("river")?.as_deref(), Some(&b"blue"[..]));
    /// # Ok::<(), whitewater::Error>(())
    /// ```
    pub fn set_savepoint(&self) {
        self.core.set_savepoint();
    }

    /// Forgets the writes since the last savepoint, and that savepoint. Keys that were used only
    /// since then are unlocked, and the snapshot is the one of that time.
    ///
    /// # Errors
    /// `NotFound` without a savepoint; `InvalidArgument` after [`prepare`](Self::prepare).
    pub fn rollback_to_savepoint(&self) -> Result<(), Error> {
        self.core.rollback_to_savepoint()
    }

    /// Forgets the last savepoint, and keeps what was done since. Not in the `rocksdb` crate.
    ///
    /// # Errors
    /// `NotFound` without a savepoint.
    pub fn pop_savepoint(&self) -> Result<(), Error> {
        self.core.pop_savepoint()
    }

    /// Takes a snapshot: keys that are changed by others from now on conflict with later uses of
    /// them, which fail with `Busy`. Not in the `rocksdb` crate;
    /// [`TransactionOptions::set_snapshot`](crate::TransactionOptions::set_snapshot) takes one at
    /// the beginning.
    pub fn set_snapshot(&self) {
        self.core.set_snapshot();
    }

    /// Lets the next write or read for update take a snapshot, once its key is locked. Not in the
    /// `rocksdb` crate.
    pub fn set_snapshot_on_next_operation(&self) {
        self.core.set_snapshot_on_next_operation();
    }

    /// Gives the snapshot up: later uses of keys conflict with nothing. Not in the `rocksdb`
    /// crate.
    pub fn clear_snapshot(&self) {
        self.core.clear_snapshot();
    }

    /// Sets how long later locks are waited for, in milliseconds. 0 does not wait; below 0 waits
    /// without end. Not in the `rocksdb` crate.
    pub fn set_lock_timeout(&self, milliseconds: i64) {
        self.core.set_lock_timeout(milliseconds);
    }

    /// Number of the transaction in this opening of the database, by which
    /// [`lock_status`](crate::TransactionDB::lock_status) and others name it. Not in the
    /// `rocksdb` crate.
    pub fn id(&self) -> u64 {
        self.core.id()
    }

    /// The writes, as a batch.
    pub fn get_writebatch(&self) -> WriteBatchWithTransaction<true> {
        WriteBatchWithTransaction::of(self.core.batch())
    }

    /// The writes, as a batch with an index: a copy. Not in the `rocksdb` crate.
    ///
    /// # Examples
    /// ```
    /// # let dir = tempfile::tempdir().unwrap();
    /// use whitewater::OptimisticTransactionDB;
    ///
    /// let db: OptimisticTransactionDB = OptimisticTransactionDB::open_default(dir.path())?;
    /// let txn = db.transaction();
    /// txn.put("river", "white")?;
    /// let batch = txn.indexed_batch();
    /// assert_eq!(batch.get_from_batch("river")?.as_deref(), Some(&b"white"[..]));
    /// # Ok::<(), whitewater::Error>(())
    /// ```
    pub fn indexed_batch(&self) -> WriteBatchWithIndex {
        let engine = self.core.engine();
        WriteBatchWithIndex::of(self.core.indexed_batch(), engine.default_cf())
    }

    /// Adds the operations of `writebatch`, as if each had been called.
    ///
    /// # Errors
    /// As [`put`](Self::put); `InvalidArgument` for range deletions and for column families that
    /// do not exist. What came before was added.
    pub fn rebuild_from_writebatch(
        &self,
        writebatch: &WriteBatchWithTransaction<true>,
    ) -> Result<(), Error> {
        self.core.rebuild(writebatch.checked()?)
    }
}
