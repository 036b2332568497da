//! A database with pessimistic transactions.
//!
//! Its methods by file: here transactions and their locks, `open`, `reads`, `writes`, `entities`,
//! `iterators`, `families` (creating and dropping column families in both thread modes), `control`
//! (flushes, properties), `access` (what snapshots and iterators need).

mod access;
mod control;
mod entities;
mod families;
mod iterators;
mod open;
mod reads;
mod writes;

use super::{DeadlockPath, LockStatus, Transaction, TransactionOptions, WaitingFor};
use crate::api::db::{DBCommon, DBInner, EngineHandle, ThreadMode};
use crate::api::options::WriteOptions;
use crate::db::Engine;
use crate::txn::database::TransactionDb;
use crate::txn::transaction::Transaction as Core;
use std::fmt;
use std::path::Path;
use std::sync::Arc;

/// How column families of a [`TransactionDB`] are guarded if nobody says:
/// [`SingleThreaded`](crate::SingleThreaded), or with the feature `multi-threaded-cf`
/// [`MultiThreaded`](crate::MultiThreaded).
#[cfg(not(feature = "multi-threaded-cf"))]
type DefaultThreadMode = crate::SingleThreaded;
#[cfg(feature = "multi-threaded-cf")]
type DefaultThreadMode = crate::MultiThreaded;

/// A database with pessimistic transactions: they lock the keys that they write, and those that
/// they read for update.
///
/// Writes outside of transactions lock their keys, too, for as long as the write takes. Reads lock
/// nothing. Dropping it is as dropping a [`DB`](crate::DB).
///
/// ```
/// use whitewater::TransactionDB;
///
/// # fn main() -> Result<(), whitewater::Error> {
/// # let dir = tempfile::tempdir().unwrap();
/// # let path = dir.path();
/// let db: TransactionDB = TransactionDB::open_default(path)?;
/// db.put("checking", "10")?;
///
/// let transfer = db.transaction();
/// // Nobody else can change it before the transaction has ended.
/// let balance = transfer.get_for_update("checking", true)?;
/// assert_eq!(balance.as_deref(), Some(&b"10"[..]));
/// transfer.put("checking", "3")?;
/// transfer.put("savings", "7")?;
/// assert_eq!(db.get("savings")?, None);
/// transfer.commit()?;
/// assert_eq!(db.get("savings")?.as_deref(), Some(&b"7"[..]));
/// # Ok(())
/// # }
/// ```
pub struct TransactionDB<T: ThreadMode = DefaultThreadMode> {
    db: DBCommon<T, TransactionDBInner>,
}

/// An engine and what its transactions share.
#[derive(Debug)]
pub struct TransactionDBInner {
    engine: EngineHandle,
    shared: Arc<TransactionDb>,
}

impl DBInner for TransactionDBInner {
    fn inner(&self) -> &EngineHandle {
        &self.engine
    }

    fn family_created(&self, id: u32) {
        self.shared.add_family(id);
    }

    fn family_dropped(&self, id: u32) {
        self.shared.remove_family(id);
    }
}

impl<T: ThreadMode> fmt::Debug for TransactionDB<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "TransactionDB {{ path: {} }}", self.path().display())
    }
}

/// Transactions.
impl<T: ThreadMode> TransactionDB<T> {
    pub(crate) fn engine(&self) -> &Arc<Engine> {
        self.db.engine()
    }

    /// The database without its transactions: what is written to it takes no locks.
    #[doc(hidden)]
    pub fn base(&self) -> &DBCommon<T, TransactionDBInner> {
        &self.db
    }

    fn shared(&self) -> &Arc<TransactionDb> {
        &self.db.around().shared
    }

    /// Begins a transaction with default options.
    ///
    /// # Examples
    /// ```
    /// # let dir = tempfile::tempdir().unwrap();
    /// # let db: whitewater::TransactionDB = whitewater::TransactionDB::open_default(dir.path())?;
    /// let transaction = db.transaction();
    /// transaction.put("river", "blue")?;
    /// drop(transaction); // nothing was written
    /// assert_eq!(db.get("river")?, None);
    /// # Ok::<(), whitewater::Error>(())
    /// ```
    pub fn transaction(&self) -> Transaction<'_, Self> {
        self.transaction_opt(&WriteOptions::default(), &TransactionOptions::default())
    }

    /// Begins a transaction. `write_opts` are those of its commit.
    ///
    /// # Examples
    /// ```
    /// # let dir = tempfile::tempdir().unwrap();
    /// # let db: whitewater::TransactionDB = whitewater::TransactionDB::open_default(dir.path())?;
    /// use whitewater::{TransactionOptions, WriteOptions};
    ///
    /// let mut synced = WriteOptions::default();
    /// synced.set_sync(true); // the commit survives a power failure
    /// let mut patient = TransactionOptions::default();
    /// patient.set_lock_timeout(60_000);
    /// let transaction = db.transaction_opt(&synced, &patient);
    /// transaction.put("order", "42")?;
    /// transaction.commit()?;
    /// # assert!(db.get("order")?.is_some());
    /// # Ok::<(), whitewater::Error>(())
    /// ```
    pub fn transaction_opt<'a>(
        &'a self,
        write_opts: &WriteOptions,
        txn_opts: &TransactionOptions,
    ) -> Transaction<'a, Self> {
        let core = Core::pessimistic(self.shared(), &write_opts.spec, &txn_opts.spec);
        Transaction::new(core)
    }

    /// The [prepared](Transaction::prepare) transactions that nobody has, to be committed or rolled
    /// back: those that were prepared before the database was closed, or had died, and those that
    /// were dropped since. By name. They are handed out once; one that is dropped undecided is
    /// there again.
    ///
    /// A prepared transaction holds its locks until it is decided, so others cannot write its keys
    /// meanwhile. If it was prepared before the opening, these are the locks of the keys that it
    /// writes. RocksDB gives such transactions no locks, unless the policy is `WRITE_UNPREPARED`.
    ///
    /// # Examples
    /// ```
    /// # let dir = tempfile::tempdir().unwrap();
    /// # let path = dir.path();
    /// use whitewater::TransactionDB;
    ///
    /// let db: TransactionDB = TransactionDB::open_default(path)?;
    /// let transaction = db.transaction();
    /// transaction.set_name(b"payment 7")?;
    /// transaction.put("paid", "7")?;
    /// transaction.prepare()?;
    /// drop(transaction);
    /// drop(db);
    ///
    /// let db: TransactionDB = TransactionDB::open_default(path)?;
    /// for transaction in db.prepared_transactions() {
    ///     assert_eq!(transaction.get_name().as_deref(), Some(&b"payment 7"[..]));
    ///     transaction.commit()?;
    /// }
    /// assert_eq!(db.get("paid")?.as_deref(), Some(&b"7"[..]));
    /// # Ok::<(), whitewater::Error>(())
    /// ```
    pub fn prepared_transactions(&self) -> Vec<Transaction<'_, Self>> {
        let left = self.shared().take_undecided().into_iter();
        let cores = left.map(|one| Core::undecided(self.shared(), one));
        cores.map(Transaction::new).collect()
    }

    /// All locks that are held now, by column family and key, also those of prepared transactions
    /// that nobody has. Not in the `rocksdb` crate.
    pub fn lock_status(&self) -> Vec<LockStatus> {
        self.shared().locks().lock_status()
    }

    /// The last five deadlocks that transactions with
    /// [`set_deadlock_detect`](TransactionOptions::set_deadlock_detect) have met, the newest
    /// first. Not in the `rocksdb` crate.
    pub fn deadlocks(&self) -> Vec<DeadlockPath> {
        self.shared().locks().deadlocks()
    }

    /// What the transaction with this [id](Transaction::id) waits for; `None` if it does not
    /// wait. Not in the `rocksdb` crate.
    pub fn waiting_for(&self, id: u64) -> Option<WaitingFor> {
        self.shared().locks().waiting_for(id)
    }

    /// The directory that the database was opened in, as it was given.
    pub fn path(&self) -> &Path {
        self.db.path()
    }
}
