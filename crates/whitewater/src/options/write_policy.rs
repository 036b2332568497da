//! When the operations of a prepared transaction get into memtables.

use whitewater_storage::batch::{Numbering, PrepareKind};

/// When the operations of a prepared transaction get into memtables (RocksDB's
/// `TxnDBWritePolicy`). Fixed while the database is open; another policy may open it once its
/// logs are empty.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
#[non_exhaustive]
pub enum WritePolicy {
    /// At the commit; the default.
    #[default]
    WriteCommitted,
    /// When the transaction is prepared. Readers pass over them until the commit, which is short,
    /// however large the transaction is.
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
}
