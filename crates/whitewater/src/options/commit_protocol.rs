//! How concurrent writes are committed.

use std::fmt;

/// How concurrent writes are committed. Chosen when the database is opened.
///
/// All protocols but [`Unordered`](CommitProtocol::Unordered) give the same guarantees: writes
/// are linearizable, batches are atomic over column families, snapshots are immutable, and a
/// thread reads what it has written, as does any thread that it has told about the write.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
#[non_exhaustive]
pub enum CommitProtocol {
    /// Leaderless; the default. One atomic step gives a writer its sequence numbers and its place
    /// in the log. Writers log and insert in parallel, and the visible number moves over the
    /// finished prefix.
    #[default]
    Ordered,
    /// RocksDB's default. A leader logs for a group, whose members insert in parallel or, without
    /// `allow_concurrent_memtable_write`, one by one. The next group starts when all of them have
    /// finished.
    Grouped,
    /// RocksDB's `enable_pipelined_write`. One group is logged while the group before it is
    /// inserted.
    Pipelined,
    /// RocksDB's `unordered_write`. A write's sequence numbers become visible once it is logged; it
    /// is inserted after that, in parallel with all others.
    ///
    /// These guarantees are relaxed while writes are under way. A snapshot may change, because
    /// entries with numbers up to its own still arrive. A reader may see a part of a batch. Two
    /// readers may see two writes in different orders. An older write of a key may appear below a
    /// merge operand that was read already.
    ///
    /// These guarantees are kept. A write that has returned is seen by all reads that start
    /// afterwards. Each key that is not merged is linearizable by itself. The log is in order, and
    /// recovery restores whole batches. An insert that fails leaves a part of its batch readable
    /// and stops the database's writes.
    Unordered,
}

impl CommitProtocol {
    /// The protocol's name, as used by db_bench and by the options' text form.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            CommitProtocol::Ordered => "ordered",
            CommitProtocol::Grouped => "grouped",
            CommitProtocol::Pipelined => "pipelined",
            CommitProtocol::Unordered => "unordered",
        }
    }

    /// The protocol with the name `name`.
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
