//! What transactions and databases with transactions are made with.

/// Options of one transaction; those of the public API say what they do.
#[derive(Clone, Debug)]
pub(crate) struct TransactionSpec {
    /// Take a snapshot at once.
    pub snapshot: bool,
    pub deadlock_detect: bool,
    /// The number of waiting transactions that a search for a deadlock looks at.
    pub deadlock_detect_depth: i64,
    /// Milliseconds; below 0 is the database's.
    pub lock_timeout: i64,
    /// Milliseconds; below 0 is never.
    pub expiration: i64,
    /// Bytes; 0 is no limit.
    pub max_write_batch_size: usize,
    /// Whether a commit needs no prepare.
    pub skip_prepare: bool,
}

impl Default for TransactionSpec {
    fn default() -> Self {
        TransactionSpec {
            snapshot: false,
            deadlock_detect: false,
            deadlock_detect_depth: 50,
            lock_timeout: -1,
            expiration: -1,
            max_write_batch_size: 0,
            skip_prepare: true,
        }
    }
}

/// Options of a database with transactions.
#[derive(Clone, Debug)]
pub(crate) struct TransactionDbSpec {
    /// For writes outside of transactions. Milliseconds; below 0 is for ever.
    pub default_lock_timeout: i64,
    /// For transactions that do not say. Milliseconds; below 0 is for ever.
    pub txn_lock_timeout: i64,
    /// The number of keys of a column family that may be locked; below 0 is no limit.
    pub max_num_locks: i64,
    pub num_stripes: usize,
    /// Whether nothing is locked and nothing validated.
    pub skip_concurrency_control: bool,
}

impl Default for TransactionDbSpec {
    fn default() -> Self {
        TransactionDbSpec {
            default_lock_timeout: 1000,
            txn_lock_timeout: 1000,
            max_num_locks: -1,
            num_stripes: 16,
            skip_concurrency_control: false,
        }
    }
}
