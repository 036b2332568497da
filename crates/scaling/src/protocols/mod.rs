//! Commit protocols as programs for the simulator.
//!
//! Each program follows the steps of the code that it models, and accesses the lines
//! that this code accesses:
//!
//! | program | code |
//! |---|---|
//! | [`waiter`] | `concurrent::waiter` |
//! | [`publication`] | `concurrent::publish` |
//! | [`steps`] | `whitewater::write::{steps, generation}`, `db::writes`, `storage::wal::segment`, the memtables' counters |
//! | [`ordered`] | `write::ordered`; with `sync`, `finish_awaiting_sync` and `concurrent::single_flight` |
//! | [`group`] | `concurrent::group`, `write::group`: grouped and pipelined |
//! | [`unordered`] | `write::unordered`, `concurrent::wait_group` |
//! | [`prepared`] | `write::unordered` with `concurrent::undecided`; RocksDB's WRITE_PREPARED over `unordered_write` |
//! | [`lock`] | `system::Mutex`, RocksDB's `port::Mutex` |
//! | [`combining`] | no code: ordered commit in which one writer reserves, logs, links and publishes for those behind it |
//!
//! [`Dialect`] says how RocksDB's own groups, which the published figures describe,
//! differ from those of this tree.

pub mod combining;
pub mod group;
pub mod group_commit_delay;
pub mod lock;
pub mod ordered;
pub mod prepared;
pub mod publication;
pub mod steps;
pub mod unordered;
pub mod waiter;
pub mod world;

pub use world::{World, Write};

use crate::sim::Thread;

/// How the members of a group are started and notified.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum WakeUp {
    /// One thread does it, for one member after the other.
    Serial,
    /// A tree: each notified member notifies two others.
    Parallel,
    /// About sqrt(n) helpers do it, in groups of 20 and more.
    SquareRoot,
}

/// Whose groups are modelled.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Dialect {
    /// This tree's groups: sleeping members are not woken in order to insert, the outcome is
    /// passed on in the same way, and the log is mapped into memory.
    Own,
    /// RocksDB's groups: all members insert, and are woken if necessary. One thread passes
    /// on the outcome, and the log is written by a system call.
    RocksDb,
    /// RocksDB's groups before concurrent memtables: the leader inserts for all.
    RocksDbSerial,
}

/// A commit protocol.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Protocol {
    /// A leader for each group, one group at a time.
    Grouped(WakeUp),
    /// The next group is logged while this one is inserted.
    Pipelined(WakeUp),
    /// A leader logs, and all members insert.
    Unordered,
    /// Unordered, with snapshots that do not change.
    WritePrepared,
    /// There is no leader.
    Ordered,
    /// There is no leader, but one writer does the steps of the window for those behind it.
    Combining,
}

impl Protocol {
    /// The protocols that predictions are made for.
    pub const ALL: [Protocol; 8] = [
        Protocol::Grouped(WakeUp::Serial),
        Protocol::Grouped(WakeUp::Parallel),
        Protocol::Grouped(WakeUp::SquareRoot),
        Protocol::Pipelined(WakeUp::SquareRoot),
        Protocol::Unordered,
        Protocol::WritePrepared,
        Protocol::Ordered,
        Protocol::Combining,
    ];

    /// The name of the protocol.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Protocol::Grouped(WakeUp::Serial) => "grouped, serial",
            Protocol::Grouped(WakeUp::Parallel) => "grouped, tree",
            Protocol::Grouped(WakeUp::SquareRoot) => "grouped",
            Protocol::Pipelined(WakeUp::Serial) => "pipelined, serial",
            Protocol::Pipelined(WakeUp::Parallel) => "pipelined, tree",
            Protocol::Pipelined(WakeUp::SquareRoot) => "pipelined",
            Protocol::Unordered => "unordered",
            Protocol::WritePrepared => "write-prepared",
            Protocol::Ordered => "ordered",
            Protocol::Combining => "combining",
        }
    }

    /// The protocol of that name, if there is one.
    #[must_use]
    pub fn from_name(name: &str) -> Option<Self> {
        Self::every().find(|protocol| protocol.name() == name)
    }

    /// The names of all protocols.
    pub fn names() -> impl Iterator<Item = &'static str> {
        Self::every().map(Protocol::name)
    }

    fn every() -> impl Iterator<Item = Self> {
        let more = [
            Protocol::Pipelined(WakeUp::Serial),
            Protocol::Pipelined(WakeUp::Parallel),
        ];
        Self::ALL.into_iter().chain(more)
    }
}

/// Commits one write.
pub async fn commit(protocol: Protocol, world: &World, thread: &Thread, write: Write) {
    match protocol {
        Protocol::Grouped(wake_up) => group::commit(world, thread, write, wake_up, false).await,
        Protocol::Pipelined(wake_up) => group::commit(world, thread, write, wake_up, true).await,
        Protocol::Unordered => unordered::commit(world, thread, write).await,
        Protocol::WritePrepared => prepared::commit(world, thread, write).await,
        Protocol::Ordered => ordered::commit(world, thread, write).await,
        Protocol::Combining => combining::commit(world, thread, write).await,
    }
}

#[cfg(test)]
mod tests;
