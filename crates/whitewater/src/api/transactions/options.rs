//! Options of transactions and of databases with transactions.

use crate::WritePolicy;
use crate::txn::options::{TransactionDbSpec, TransactionSpec};

/// Options of one transaction of a [`TransactionDB`](crate::TransactionDB).
///
/// ```
/// use whitewater::{TransactionDB, TransactionOptions, WriteOptions};
///
/// # fn main() -> Result<(), whitewater::Error> {
/// # let dir = tempfile::tempdir().unwrap();
/// # let path = dir.path();
/// let db: TransactionDB = TransactionDB::open_default(path)?;
/// let mut options = TransactionOptions::default();
/// options.set_snapshot(true); // what others change from now on conflicts
/// let transaction = db.transaction_opt(&WriteOptions::default(), &options);
/// db.put("river", "blue")?;
/// assert!(transaction.put("river", "white").is_err());
/// # Ok(())
/// # }
/// ```
#[derive(Debug, Clone, Default)]
pub struct TransactionOptions {
    pub(crate) spec: TransactionSpec,
}

impl TransactionOptions {
    /// The defaults.
    pub fn new() -> TransactionOptions {
        TransactionOptions::default()
    }

    /// Whether [`commit`](crate::Transaction::commit) works without
    /// [`prepare`](crate::Transaction::prepare). Otherwise it fails as `InvalidArgument` then.
    /// Default true.
    pub fn set_skip_prepare(&mut self, skip_prepare: bool) {
        self.spec.skip_prepare = skip_prepare;
    }

    /// Whether the transaction takes a snapshot at once. Its writes and its reads for update of
    /// keys that were changed since then fail with `Busy`. Default false: only what is changed
    /// after a key was locked would conflict, and locks keep that from happening.
    pub fn set_snapshot(&mut self, snapshot: bool) {
        self.spec.snapshot = snapshot;
    }

    /// Whether it is found out that transactions wait for each other in a circle. The one that
    /// closes the circle fails with `Busy`, and
    /// [`deadlocks`](crate::TransactionDB::deadlocks) tells of it. Default false: one of them fails
    /// with `TimedOut`, at once if it closes the circle and no other there has a shorter
    /// [timeout](Self::set_lock_timeout). RocksDB waits for the timeout.
    pub fn set_deadlock_detect(&mut self, deadlock_detect: bool) {
        self.spec.deadlock_detect = deadlock_detect;
    }

    /// How long to wait for the lock of a key, in milliseconds. 0 does not wait; below 0 is as
    /// [the database says](TransactionDBOptions::set_txn_lock_timeout). Default -1.
    pub fn set_lock_timeout(&mut self, lock_timeout: i64) {
        self.spec.lock_timeout = lock_timeout;
    }

    /// How long the transaction lives, in milliseconds. After that, it can be neither prepared nor
    /// committed, and others may take its locks. 0 and below are without end. A prepared
    /// transaction does not expire. Default -1.
    pub fn set_expiration(&mut self, expiration: i64) {
        self.spec.expiration = expiration;
    }

    /// How many waiting transactions a search for a circle looks at. A search that is not over
    /// then counts as having found one. Default 50.
    pub fn set_deadlock_detect_depth(&mut self, depth: i64) {
        self.spec.deadlock_detect_depth = depth;
    }

    /// The most bytes that the batch of the transaction's writes may have, with its header of 13
    /// bytes. Writes beyond that fail with `Aborted`. 0 is no limit. Default 0.
    pub fn set_max_write_batch_size(&mut self, size: usize) {
        self.spec.max_write_batch_size = size;
    }

    /// The size of the batch, in bytes, above which the transaction would be written in parts. That
    /// is not built: with a value above 0, writes of the transaction fail with `NotSupported`. 0 is
    /// no limit; below 0 is as
    /// [the database says](TransactionDBOptions::set_default_write_batch_flush_threshold). Not in
    /// the `rocksdb` crate. Default -1.
    pub fn set_write_batch_flush_threshold(&mut self, threshold: i64) {
        self.spec.write_batch_flush_threshold = threshold;
    }
}

/// Options of a [`TransactionDB`](crate::TransactionDB).
///
/// ```
/// use whitewater::{Options, TransactionDB, TransactionDBOptions};
///
/// # fn main() -> Result<(), whitewater::Error> {
/// # let dir = tempfile::tempdir().unwrap();
/// # let path = dir.path();
/// let mut options = Options::default();
/// options.create_if_missing(true);
/// let mut of_transactions = TransactionDBOptions::default();
/// of_transactions.set_txn_lock_timeout(100);
/// let db: TransactionDB = TransactionDB::open(&options, &of_transactions, path)?;
/// # drop(db);
/// # Ok(())
/// # }
/// ```
#[derive(Debug, Clone, Default)]
pub struct TransactionDBOptions {
    pub(crate) spec: TransactionDbSpec,
}

impl TransactionDBOptions {
    /// The defaults.
    pub fn new() -> TransactionDBOptions {
        TransactionDBOptions::default()
    }

    /// How long writes outside of transactions wait for the lock of a key, in milliseconds. 0 does
    /// not wait; below 0 waits without end. Default 1000.
    pub fn set_default_lock_timeout(&mut self, default_lock_timeout: i64) {
        self.spec.default_lock_timeout = default_lock_timeout;
    }

    /// How long transactions that [do not say](TransactionOptions::set_lock_timeout) wait for the
    /// lock of a key, in milliseconds. 0 does not wait; below 0 waits without end. Default 1000.
    pub fn set_txn_lock_timeout(&mut self, txn_lock_timeout: i64) {
        self.spec.txn_lock_timeout = txn_lock_timeout;
    }

    /// How many keys of a column family may be locked at once. Uses of further keys fail with
    /// `Aborted`. A key that several transactions share counts once, and so does one of a prepared
    /// transaction that nobody has. An opening locks the keys of prepared transactions whatever the
    /// limit is. 0 and below are no limit. Default -1.
    pub fn set_max_num_locks(&mut self, max_num_locks: i64) {
        self.spec.max_num_locks = max_num_locks;
    }

    /// The least number of parts of the table of locks, each with a mutex of its own. There are
    /// never fewer than 64, which serve every value up to 64, 0 too; above that the next power of
    /// two is made, up to 65536. So RocksDB's default makes 64, and 100 makes 128. Each takes some
    /// hundred bytes. Default 16.
    pub fn set_num_stripes(&mut self, num_stripes: usize) {
        self.spec.num_stripes = num_stripes;
    }

    /// Whether nothing is locked and nothing validated: transactions are batches that can be read
    /// then, and nothing keeps them from overwriting each other's changes. For callers that keep
    /// them apart themselves. Not in the `rocksdb` crate. Default false.
    pub fn set_skip_concurrency_control(&mut self, skip: bool) {
        self.spec.skip_concurrency_control = skip;
    }

    /// When prepared transactions get into memtables. Not in the `rocksdb` crate. Default
    /// [`WritePolicy::WriteCommitted`].
    ///
    /// Opening fails with `NotSupported` together with
    /// [`CommitProtocol::Unordered`](crate::CommitProtocol::Unordered), which only
    /// [`WritePolicy::WritePrepared`] allows. That policy and [`WritePolicy::WriteUnprepared`]
    /// refuse column families with timestamps, with
    /// [`set_inplace_update_support`](crate::Options::set_inplace_update_support), and with
    /// [`set_max_successive_merges`](crate::Options::set_max_successive_merges) above 0.
    pub fn set_write_policy(&mut self, policy: WritePolicy) {
        self.spec.write_policy = policy;
    }

    /// Hint: merges of a prepared transaction that is rolled back are always undone, as with true.
    /// Not in the `rocksdb` crate. Default false, as in RocksDB, which leaves their operands in the
    /// database then, unless the write policy is [`WritePolicy::WriteCommitted`].
    pub fn set_rollback_merge_operands(&mut self, rollback: bool) {
        self.spec.rollback_merge_operands = rollback;
    }

    /// Hint: each locked key always has a queue of its own, as with true.
    /// Not in the `rocksdb` crate. Default false, as in RocksDB, where a released lock wakes all
    /// that wait for any key of the same stripe then.
    pub fn set_use_per_key_point_lock_mgr(&mut self, per_key: bool) {
        self.spec.use_per_key_point_lock_mgr = per_key;
    }

    /// The size of a transaction's batch, in bytes, above which it would be written in parts, if
    /// the [write policy](Self::set_write_policy) is [`WritePolicy::WriteUnprepared`]. That is not
    /// built: opening fails with `NotSupported` for a value above 0. Not in the `rocksdb` crate.
    /// Default 0: never.
    pub fn set_default_write_batch_flush_threshold(&mut self, threshold: i64) {
        self.spec.default_write_batch_flush_threshold = threshold;
    }
}

/// Options of one transaction of an [`OptimisticTransactionDB`](crate::OptimisticTransactionDB).
///
/// ```
/// use whitewater::{OptimisticTransactionDB, OptimisticTransactionOptions, WriteOptions};
///
/// # fn main() -> Result<(), whitewater::Error> {
/// # let dir = tempfile::tempdir().unwrap();
/// # let path = dir.path();
/// let db: OptimisticTransactionDB = OptimisticTransactionDB::open_default(path)?;
/// let mut options = OptimisticTransactionOptions::default();
/// options.set_snapshot(true); // what others change from now on conflicts
/// let transaction = db.transaction_opt(&WriteOptions::default(), &options);
/// db.put("river", "blue")?;
/// transaction.put("river", "white")?;
/// assert!(transaction.commit().is_err());
/// # Ok(())
/// # }
/// ```
#[derive(Debug, Clone, Default)]
pub struct OptimisticTransactionOptions {
    pub(crate) spec: TransactionSpec,
}

impl OptimisticTransactionOptions {
    /// The defaults.
    pub fn new() -> OptimisticTransactionOptions {
        OptimisticTransactionOptions::default()
    }

    /// Whether the transaction takes a snapshot at once. Its commit then fails with `Busy` if a key
    /// that it has written or read for update was changed since the beginning. Default false: since
    /// it has first written or read the key for update.
    pub fn set_snapshot(&mut self, snapshot: bool) {
        self.spec.snapshot = snapshot;
    }
}
