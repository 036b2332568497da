//! What writes share on their way: admission, the generation that they go to, the log, and
//! the number up to which they are visible.
//!
//! [`Engine`](super::Engine) drives it as the environment of the commit sequence
//! (`writes::env`).
//!
//! Invariants:
//! * K1: a writer that finds no attention asked for, and nothing due, takes no lock here.
//! * K2: whatever needs a writer's attention is done, or visible to who looks for it, before
//!   attention is asked for.
//! * K3: a write that bypasses the log is marked before it is visible.
//!
//! Lock order: the turn of large batches, the turn of writes that read their own prefix, the
//! right to switch ([`Generations`]), the locks of [`Wal`]; the gate is a leaf.

use super::generations::Generations;
use super::two_phase::OutstandingSections;
use super::validation::Validation;
use crate::empty_ranges::EmptyRanges;
use crate::options::DbOptions;
use crate::options::commit_protocol::CommitProtocol;
use crate::write::env::{LargeBatchTurn, PrefixTurn};
use crate::write::generation::Generation;
use crate::write::group::WriteQueue;
use crate::write::request::WriteFlags;
use crate::write::stall::{Pressure, StallGate};
use crate::write::wal::Wal;
use crate::write_buffer_manager::BudgetClient;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, OnceLock};
use std::time::Duration;
use whitewater_concurrent::group::GroupQueue;
use whitewater_concurrent::publish::Publication;
use whitewater_concurrent::single_flight::SingleFlight;
use whitewater_concurrent::system::Mutex;
use whitewater_concurrent::undecided::Undecided;
use whitewater_concurrent::waiter::YieldPolicy;
use whitewater_storage::Result;
use whitewater_storage::key::SequenceNumber;

/// See the [module](self).
pub(crate) struct CommitPath {
    /// How writes are committed.
    pub(super) protocol: CommitProtocol,
    /// The queue of the writers of the protocols with leaders.
    pub(super) queue: WriteQueue,
    pub(super) gate: StallGate,
    /// This database's part of a shared memory budget, if it has one.
    pub(super) budget_client: Option<Arc<BudgetClient>>,
    pub(super) prefix_turn: Mutex<PrefixTurn>,
    pub(super) large_batch_turn: Mutex<LargeBatchTurn>,
    pub(super) generations: Generations,
    pub(super) wal: Wal,
    /// The visible number (C2, C3).
    pub(super) publication: Publication,
    /// The number up to which the logs are durable.
    pub(super) durable: SingleFlight,
    /// The prepared transactions that are not decided.
    pub(super) sections: OutstandingSections,
    /// The numbers whose entries are in memtables before it is decided whether they count, in a
    /// database with a write policy that has such (X3).
    ///
    /// Boxed, since its cache line changes with every such write.
    pub(super) undecided: Option<Box<Undecided>>,
    /// Whether a write of one operation is committed without a batch: there is no leader that
    /// would want one, and its record need not be the end of one.
    pub(super) takes_single_ops: bool,
    /// Where writes meet transactions that commit, in a database with optimistic ones. Set
    /// before the first write.
    pub(super) validation: OnceLock<Arc<Validation>>,
    /// What iterators know to be empty, until writers put something there (E1).
    pub(super) empty_ranges: Arc<EmptyRanges>,
    /// Something needs a writer's attention: a full memtable, a failure, too much log.
    /// Written by: any thread, by read-modify-writes (Release), and the thread that attends
    /// to it (Acquire). Read by: writers (relaxed). Publishes: the cause, which happened
    /// before.
    attention: AtomicBool,
    /// Bytes of logs beyond which a writer has to see to it that old logs become obsolete.
    /// Written by: threads that have changed what the limit depends on, have attended to
    /// the logs or have deleted some, under the database mutex. Read by: writers. Publishes
    /// nothing: relaxed.
    log_limit: AtomicU64,
    /// Whether writes bypassed the log, so that close must flush. Written by: writers
    /// (relaxed, and only the first of them), and a resumption, which has flushed
    /// everything. Read by: close, and reads of what is persisted. Publishes nothing: the
    /// number of an unlogged entry is published after its writer has set this, so a reader
    /// that sees the entry also sees it set (K3).
    unlogged: AtomicBool,
}

impl CommitPath {
    /// The way of writes into `first`, the first of which gets the number after `last`.
    pub fn new(
        options: &DbOptions,
        budget_client: Option<Arc<BudgetClient>>,
        wal: Wal,
        (first, last): (Generation, SequenceNumber),
        empty_ranges: Arc<EmptyRanges>,
    ) -> Self {
        let policy = YieldPolicy {
            max_yield: if options.enable_write_thread_adaptive_yield {
                Duration::from_micros(options.write_thread_max_yield_usec)
            } else {
                Duration::ZERO
            },
            slow_yield: Duration::from_micros(options.write_thread_slow_yield_usec),
        };
        CommitPath {
            protocol: options.protocol(),
            queue: GroupQueue::new(policy),
            gate: StallGate::new(),
            budget_client,
            prefix_turn: Mutex::default(),
            large_batch_turn: Mutex::default(),
            generations: Generations::new(first),
            wal,
            takes_single_ops: options.protocol() == CommitProtocol::Ordered
                && !options.write_policy.inserts_undecided(),
            undecided: (options.write_policy.inserts_undecided()).then(Box::default),
            validation: OnceLock::new(),
            publication: Publication::new(last, policy),
            durable: SingleFlight::new(last),
            sections: OutstandingSections::default(),
            attention: AtomicBool::new(false),
            // No limit until all column families exist.
            log_limit: AtomicU64::new(u64::MAX),
            unlogged: AtomicBool::new(false),
            empty_ranges,
        }
    }

    /// Makes the next writer look at what is due (K2).
    #[cold]
    pub fn ask_for_attention(&self) {
        // Release: pairs with `take_attention`. A read-modify-write, so that the thread that
        // clears it sees what every caller has asked for, not only the last of them.
        self.attention.swap(true, Ordering::Release);
    }

    /// Whether something needs a writer's attention.
    #[inline]
    pub fn wants_attention(&self) -> bool {
        self.attention.load(Ordering::Relaxed)
    }

    /// Called before looking at what is due, so that the next writer sees what comes up
    /// meanwhile.
    pub fn take_attention(&self) {
        // Acquire: pairs with `ask_for_attention`. What was done before a request that is
        // cleared here is seen by the caller.
        self.attention.swap(false, Ordering::Acquire);
    }

    /// Whether a write with `flags` may have to wait before it is admitted.
    #[inline]
    pub fn may_stall(&self, flags: &WriteFlags) -> bool {
        flags.low_pri || self.budget_client.is_some() || self.gate.pressure() != Pressure::None
    }

    /// With `open`, ends all stalls, because the database is closing or has failed;
    /// otherwise lets writers be stalled again.
    pub fn let_writers_through(&self, open: bool) {
        self.gate.set_open(open);
        if let Some(budget_client) = &self.budget_client {
            budget_client.set_out(open);
        }
    }

    /// The size of all logs that recovery may need, in bytes.
    pub fn log_bytes(&self) -> u64 {
        let current = self.generations.load().end_so_far();
        let current = current.map_or(0, |end| end.offset);
        self.wal.older_bytes() + current
    }

    /// Sets the size of all logs, in bytes, above which writers attend to them.
    pub fn set_log_limit(&self, limit: u64) {
        self.log_limit.store(limit, Ordering::Relaxed);
    }

    /// Asks for attention if there is too much log now that the current one reaches `end`.
    #[inline]
    pub fn check_log_limit(&self, end: u64) {
        let limit = self.log_limit.load(Ordering::Relaxed);
        if self.wal.older_bytes() + end > limit {
            self.ask_for_attention();
        }
    }

    /// Notes that a write is not in the log (K3).
    pub fn note_unlogged(&self) {
        if !self.has_unlogged() {
            self.unlogged.store(true, Ordering::Relaxed);
        }
    }

    /// Whether memtables may hold writes that are not in the log.
    pub fn has_unlogged(&self) -> bool {
        self.unlogged.load(Ordering::Relaxed)
    }

    /// Notes that all writes are in tables. No thread writes.
    pub fn forget_unlogged(&self) {
        self.unlogged.store(false, Ordering::Relaxed);
    }

    /// Whether everything up to `last`, where a generation ended, is in the memtables.
    pub fn is_inserted(&self, last: SequenceNumber) -> bool {
        // The order of the two checks matters, see `are_settled_up_to`.
        self.publication.visible() >= last && self.generations.are_settled_up_to(last)
    }

    /// Refuses further writes and closes the log. No caller is left, so no write is under
    /// way.
    ///
    /// # Errors
    /// Those of handing the log over and closing it.
    pub fn close(&self) -> Result<()> {
        match self.generations.load().close() {
            Some(end) => self.wal.close(end.offset),
            None => {
                // The log stays as it is, for the next open.
                self.wal.freeze(true);
                Ok(())
            }
        }
    }
}
