//! The commit sequence.
//!
//! A write goes through ten steps, whatever the protocol. This list owns their names:
//! code, timers ([`Step`](crate::perf_context::Step)), sync points
//! ([`Point`](crate::sync_points::Point)) and documents use the same words.
//!
//! 1. *check*: refuse what could not be applied (`db::writes`).
//! 2. *admit*: wait out write stalls ([`admit`], [`stall`]). A writer that sleeps here
//!    holds nothing that others need.
//! 3. *encode*: make the log record, compressed if the log is ([`record`]).
//! 4. *locate*: find the keys' leaves in the memtables of the current generation and copy
//!    the values, where memtables can. Full memtables are switched before.
//! 5. *reserve*: allocate sequence numbers and a place in the log, in one atomic step
//!    ([`generation`]).
//! 6. *append*: write the record to its place in the log ([`wal`]).
//! 7. *insert*: put the entries into the memtables.
//! 8. *publish*: mark the numbers as finished; the visible number moves over everything
//!    that is finished without a gap (`concurrent::publish`). It passes a write with `sync`
//!    only once that is durable (with a leader, before *insert*).
//! 9. *acknowledge*: wait until the write's last number is visible.
//! 10. *deferred*: do what the insert has left, which no other writer waits for, and return.
//!
//! A write that fails before it has reserved has taken nothing, and concerns its caller
//! alone. A failure from *append* to *publish* stops the database's writes (C5).
//!
//! [`ordered::commit`] shows the sequence on one screen. The steps are written once, in
//! [`steps`], over the traits in [`env`](mod@env), which the database implements, and a fake in the
//! protocols' tests. A protocol decides which thread does a step and which threads wait:
//! in [`ordered`] every writer does all steps itself, [`group`] has leaders, and
//! [`unordered`] has leaders for the log alone.
//!
//! A batch whose insert reads the state before it (`WriteFlags::reads_own_prefix`: merges
//! under `max_successive_merges`) waits between *append* and *insert* until everything
//! before it is finished. It waits for lower numbers only, and no writer waits for higher
//! ones, so there is no cycle. If an earlier write fails, it fails, too. A group with such
//! a batch is inserted by its leader, in the group's order.
//!
//! [`request`] is what is to be written, [`record`] what of it the log gets, [`wal`] the log.
//!
//! `memtable_map` has the memtables of a generation.
//!
//! Invariants:
//! * C1: sequence order is log order is publication order.
//! * C2: `visible = v` only if every entry with a number up to `v` is in its memtable.
//!   Not so in [`unordered`], which publishes before it inserts; readers may pass over what is
//!   undecided there.
//! * C3: `visible` only takes values at ends of batches.
//! * C4: a write is acknowledged only when its record and all records before it were
//!   handed to the operating system; with `sync`, only after a successful sync of its log
//!   and all logs before it. (With `manual_wal_flush` records wait in the process: a
//!   crash of the process loses a suffix of the order.)
//! * C5: the first failed log write or insert stops all later writes. The failed write and
//!   those after it never become visible, and their numbers are not used again, even after
//!   a resumption. (In [`unordered`] a failed insert is visible already, and the inserts
//!   under way beside it succeed or fail on their own.)
//! * C6: a batch goes wholly to the generation of its reservation.
//! * C7: an insert that reads its own prefix begins when everything before it is in the
//!   memtables. There is none in [`unordered`].
//!
//! Why they hold, what shows it, and the invariants of the parts are in
//! `docs/design/write-path.md`.

mod admit;
pub(crate) mod env;
pub(crate) mod generation;
pub(crate) mod group;
mod memtable_map;
pub(crate) mod ordered;
pub(crate) mod record;
pub(crate) mod request;
pub(crate) mod stall;
pub(crate) mod steps;
#[cfg(test)]
mod tests;
pub(crate) mod unordered;
pub(crate) mod wal;

pub(crate) use admit::memory_of;
pub(crate) use memtable_map::MemtableMap;

use crate::options::commit_protocol::CommitProtocol;
use env::CommitEnv;
use group::{Grouped, Leader, WriteQueue};
use request::WriteRequest;
use steps::Prefetched;
use unordered::Unordered;
use whitewater_storage::Result;

/// A commit protocol over an environment.
#[derive(Debug)]
pub(crate) struct Committer<'a, E> {
    pub env: &'a E,
    pub protocol: CommitProtocol,
    /// The writers of the protocols with leaders.
    pub queue: &'a WriteQueue,
    /// Bytes that a group may reach.
    pub max_group_bytes: usize,
    /// Members of a group may insert at the same time.
    pub concurrent_inserts: bool,
}

impl<E: CommitEnv> Committer<'_, E> {
    /// Commits `request`, which was checked. `prefetched`, if set, is of its only key.
    ///
    /// # Errors
    /// No part of the batch is visible then, now or later; but with
    /// [`CommitProtocol::Unordered`], a part of a failed insert may be.
    pub fn commit(
        &self,
        request: &WriteRequest,
        prefetched: Option<Prefetched<'_, E>>,
    ) -> Result<()> {
        let leader = Leader {
            env: self.env,
            max_group_bytes: self.max_group_bytes,
        };
        match self.protocol {
            CommitProtocol::Ordered => ordered::commit(self.env, &request.write(), prefetched),
            CommitProtocol::Grouped | CommitProtocol::Pipelined => {
                let steps = Grouped {
                    leader,
                    concurrent_inserts: self.concurrent_inserts,
                    pipelined: self.protocol == CommitProtocol::Pipelined,
                };
                group::commit(self.queue, &steps, request)
            }
            CommitProtocol::Unordered => {
                unordered::commit(self.queue, &Unordered { leader }, request)
            }
        }
    }
}
