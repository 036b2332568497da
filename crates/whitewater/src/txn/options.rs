//! What transactions and databases with transactions are made with.

use crate::options::write_policy::WritePolicy;

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
    /// Bytes of the batch above which it would be written in parts; 0 is never, below 0 is the
    /// database's.
    pub write_batch_flush_threshold: i64,
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
            write_batch_flush_threshold: -1,
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
    pub write_policy: WritePolicy,
    /// Hint without effect: the operands of merges are always rolled back.
    pub rollback_merge_operands: bool,
    /// Hint without effect: each locked key always has a queue of its own.
    pub use_per_key_point_lock_mgr: bool,
    /// Bytes of a batch above which it would be written in parts; 0 and below are never.
    pub default_write_batch_flush_threshold: i64,
}

impl Default for TransactionDbSpec {
    fn default() -> Self {
        TransactionDbSpec {
            default_lock_timeout: 1000,
            txn_lock_timeout: 1000,
            max_num_locks: -1,
            num_stripes: 16,
            skip_concurrency_control: false,
            write_policy: WritePolicy::default(),
            rollback_merge_operands: false,
            use_per_key_point_lock_mgr: false,
            default_write_batch_flush_threshold: 0,
        }
    }
}
