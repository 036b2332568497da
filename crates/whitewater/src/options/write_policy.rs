//! When the operations of a prepared transaction get into memtables.

use super::CfOptions;
use super::commit_protocol::CommitProtocol;
use std::fmt;
use whitewater_storage::batch::{Numbering, PrepareKind};
use whitewater_storage::{Error, Result};

/// When the operations of a prepared transaction get into memtables (RocksDB's
/// `TxnDBWritePolicy`). Fixed while the database is open; another policy may open it once its
/// logs are empty. As text it has RocksDB's name, as in `WRITE_PREPARED`. Not in the `rocksdb`
/// crate.
///
/// ```
/// use whitewater::{Options, TransactionDB, TransactionDBOptions, WritePolicy};
///
/// # fn main() -> Result<(), whitewater::Error> {
/// # let dir = tempfile::tempdir().unwrap();
/// # let path = dir.path();
/// let mut options = Options::default();
/// options.create_if_missing(true);
/// let mut of_transactions = TransactionDBOptions::default();
/// of_transactions.set_write_policy(WritePolicy::WritePrepared);
/// let db: TransactionDB = TransactionDB::open(&options, &of_transactions, path)?;
/// # drop(db);
/// # Ok(())
/// # }
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
#[non_exhaustive]
pub enum WritePolicy {
    /// At the commit; the default.
    #[default]
    WriteCommitted,
    /// When the transaction is prepared. Readers pass over them until the commit, which is short,
    /// however large the transaction is.
    ///
    /// That relies on key locks: what others write to its keys between prepare and decision would
    /// win over its commit, and a rollback would undo it. So a prepared transaction keeps its locks
    /// until it is decided, also if it is dropped, its commit has failed, or the database is opened
    /// again. With [`set_skip_concurrency_control`] there are no locks, and keeping others away is
    /// up to the caller.
    ///
    /// [`set_skip_concurrency_control`]: crate::TransactionDBOptions::set_skip_concurrency_control
    WritePrepared,
    /// As with [`WritePrepared`](WritePolicy::WritePrepared). Transactions that RocksDB has written
    /// in parts before they were prepared are recovered.
    WriteUnprepared,
}

impl WritePolicy {
    /// Whether operations are in memtables before it is decided whether they count.
    pub(crate) fn inserts_undecided(self) -> bool {
        self != WritePolicy::WriteCommitted
    }

    /// How the operations of log records use up sequence numbers.
    pub(crate) fn numbering(self) -> Numbering {
        if self.inserts_undecided() {
            Numbering::PerBatch
        } else {
            Numbering::PerEntry
        }
    }

    /// The kind of the sections that it writes.
    pub(crate) fn prepare_kind(self) -> PrepareKind {
        if self.inserts_undecided() {
            PrepareKind::Persisted
        } else {
            PrepareKind::Committed
        }
    }

    /// Refuses commit protocols that the policy cannot be combined with, in RocksDB's words.
    ///
    /// # Errors
    /// `NotSupported` for unordered commit, unless the policy is
    /// [`WritePrepared`](WritePolicy::WritePrepared).
    pub(crate) fn check_protocol(self, protocol: CommitProtocol) -> Result<()> {
        match (protocol, self) {
            (CommitProtocol::Unordered, WritePolicy::WriteCommitted) => Err(Error::not_supported(
                "WRITE_COMMITTED is incompatible with unordered_writes",
            )),
            (CommitProtocol::Unordered, WritePolicy::WriteUnprepared) => Err(Error::not_supported(
                "WRITE_UNPREPARED is currently incompatible with unordered_writes",
            )),
            _ => Ok(()),
        }
    }

    /// Refuses options of a column family whose memtables do not keep each version as it was
    /// written.
    ///
    /// # Errors
    /// `NotSupported` naming the option.
    pub(crate) fn check_family(self, cf: &CfOptions) -> Result<()> {
        if !self.inserts_undecided() {
            return Ok(());
        }
        if cf.comparator.timestamp_size() > 0 {
            return Err(Error::not_supported(
                "Only WriteCommittedTxn supports timestamp",
            ));
        }
        if cf.inplace_update_support {
            return Err(Error::not_supported(format_args!(
                "inplace_update_support is incompatible with {self}"
            )));
        }
        if cf.max_successive_merges > 0 {
            return Err(Error::not_supported(format_args!(
                "max_successive_merges > 0 is incompatible with {self}"
            )));
        }
        Ok(())
    }
}

impl fmt::Display for WritePolicy {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            WritePolicy::WriteCommitted => "WRITE_COMMITTED",
            WritePolicy::WritePrepared => "WRITE_PREPARED",
            WritePolicy::WriteUnprepared => "WRITE_UNPREPARED",
        })
    }
}
