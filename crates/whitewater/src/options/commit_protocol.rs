//! How concurrent writes are committed.

use std::fmt;

/// How concurrent writes are committed. Chosen at open.
///
/// All but [`Unordered`](CommitProtocol::Unordered) give the same guarantees:
/// writes are linearizable, batches atomic over column families, snapshots
/// immutable, and a thread (or whoever it tells) reads what it has written.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
#[non_exhaustive]
pub enum CommitProtocol {
    /// Leaderless, the default: one atomic step gives a writer its sequence
    /// numbers and its place in the log; writers log and insert side by side,
    /// and the visible number moves over the finished prefix.
    #[default]
    Ordered,
    /// RocksDB's default: a leader logs for a group, whose members insert in
    /// parallel or, without `allow_concurrent_memtable_write`, one by one; the
    /// next group starts when all of them are done.
    Grouped,
    /// RocksDB's `enable_pipelined_write`: the log write of one group goes on
    /// beside the inserts of the one before it.
    Pipelined,
    /// RocksDB's `unordered_write`: a write's sequence numbers count as visible
    /// once it is logged, and it is inserted after that, beside all others.
    ///
    /// Relaxed, while writes are under way: a snapshot may change, since
    /// entries with numbers up to its own still arrive; a reader may see a part
    /// of a batch; two readers may see two writes in different orders; an older
    /// write of a key may appear below a merge operand that was read already.
    /// Kept: a write that has returned is seen by all reads that start then,
    /// each key that is not merged is linearizable by itself, the log is in
    /// order, and recovery restores whole batches. An insert that fails leaves a part of its batch
    /// readable and stops the database.
    Unordered,
}

impl CommitProtocol {
    /// Its name, as db_bench and the options' text form have it.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            CommitProtocol::Ordered => "ordered",
            CommitProtocol::Grouped => "grouped",
            CommitProtocol::Pipelined => "pipelined",
            CommitProtocol::Unordered => "unordered",
        }
    }

    /// The protocol of that name.
    #[must_use]
    pub fn from_name(name: &str) -> Option<Self> {
        [
            CommitProtocol::Ordered,
            CommitProtocol::Grouped,
            CommitProtocol::Pipelined,
            CommitProtocol::Unordered,
        ]
        .into_iter()
        .find(|p| p.name() == name)
    }
}

impl fmt::Display for CommitProtocol {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}
