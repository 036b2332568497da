//! Grouped and pipelined commit: one leader logs for all, members insert side
//! by side.
//!
//! *Grouped* is RocksDB's protocol (seed 000): a group is logged as one
//! record, inserted by its members in parallel, and published as a whole
//! before the next group starts.
//!
//! *Pipelined* hands leadership on as soon as the group is logged, so that the
//! log write of the next group goes on beside the inserts of this one. RocksDB
//! has a second queue for what is logged; here places in the order are taken
//! before the log is written, and the publication puts right that a group may
//! be inserted before one in front of it: members wait for their own number.
//!
//! In a group with a member whose insert reads what is before it
//! (`WriteFlags::reads_own_prefix`), the leader inserts for all, in their order, when
//! the groups before are done.
//!
//! The mechanism is `concurrent::group`.

use super::CommitEnv;
use super::generation::{Generation, MAX_COUNT, Reservation};
use super::request::WriteRequest;
use super::steps::{acknowledge, await_prefix, header, reserve};
use crate::sync_points::Point;
use arc_swap::Guard;
use std::sync::Arc;
use whitewater_concurrent::group::{GroupQueue, Members, Prepare, Steps};
use whitewater_storage::batch::HEADER_SIZE;
use whitewater_storage::planted::{Bug, planted};
use whitewater_storage::wal::CompressedRecord;
use whitewater_storage::{Error, Result};

/// A small leader does not wait for a megabyte of followers: RocksDB's limits.
const SMALL_GROUP_SLACK: usize = 128 << 10;

/// Bytes that a group may reach whatever the options say. Numbers of entries
/// count in a generation's tail and in a record's header, so a group of any
/// size could have too many for them, and for memory: one of this size takes
/// about as much there as the largest batch.
pub(crate) const MAX_GROUP_BYTES: usize = 64 << 20;

/// Bytes of the smallest operation in a batch that takes a number: its type,
/// and the length of an empty key.
const MIN_ENTRY: usize = 2;

// Only a leader's own batch can be larger, and it has a bound of its own.
const _: () = assert!(((MAX_GROUP_BYTES / MIN_ENTRY) as u64) < MAX_COUNT);

/// What a group's members share: one place in one generation (C6).
#[derive(Clone)]
pub(crate) struct WriteGroup {
    pub(super) generation: Arc<Generation>,
    pub(super) reservation: Reservation,
    /// A member's insert reads what is before it.
    reads_own_prefix: bool,
}

/// The queue of a database's writers. All of them follow one protocol.
pub(crate) type WriteQueue = GroupQueue<WriteRequest, Error, WriteGroup>;

/// What all leaders do: put a group together, reserve and log.
#[derive(Debug)]
pub(crate) struct Leader<'a, E> {
    pub env: &'a E,
    /// Bytes a group may reach, if that is less than [`MAX_GROUP_BYTES`].
    pub max_group_bytes: usize,
}

/// The grouped and the pipelined protocol over an environment.
#[derive(Debug)]
pub(crate) struct Grouped<'a, E> {
    pub leader: Leader<'a, E>,
    /// Members may insert at the same time.
    pub concurrent_inserts: bool,
    /// The next group is logged while this one is inserted.
    pub pipelined: bool,
}

/// Commits `request` through `queue`.
///
/// # Errors
/// What the group's log write or inserts reported, or a group's before it;
/// then no part of the batch is visible.
pub(crate) fn commit<E: CommitEnv>(
    queue: &WriteQueue,
    steps: &Grouped<'_, E>,
    request: &WriteRequest,
) -> Result<()> {
    let first = queue.commit(steps, request)?;
    let last = first + u64::from(request.batch.count()) - 1;
    acknowledge(steps.leader.env, last)
}

/// A group's totals.
#[derive(Default)]
struct Sum {
    entries: u64,
    bytes: usize,
    sync: bool,
    disable_wal: bool,
    reads_own_prefix: bool,
}

impl<E: CommitEnv> Leader<'_, E> {
    /// Whether `candidate` may join the group of `leader`.
    pub(super) fn admits(
        &self,
        leader: &WriteRequest,
        candidate: &WriteRequest,
        bytes: usize,
    ) -> bool {
        let own = leader.batch.bytes().len();
        let mut limit = self.max_group_bytes.min(MAX_GROUP_BYTES);
        if own <= SMALL_GROUP_SLACK {
            limit = limit.min(own + SMALL_GROUP_SLACK);
        }
        // A synced write in an unsynced group would be acknowledged too early
        // (C4), one without a log in a logged group would be logged.
        (candidate.flags.disable_wal == leader.flags.disable_wal
            || planted(Bug::UnloggedJoinsLogged))
            && (leader.flags.sync || !candidate.flags.sync)
            && bytes.saturating_add(candidate.batch.bytes().len()) <= limit
    }

    /// Reserves and logs.
    pub(super) fn prepare(&self, members: &mut Members<'_, WriteRequest>) -> Result<WriteGroup> {
        let mut sum = Sum::default();
        members.for_each(|request, ticket| {
            *ticket = sum.entries;
            sum.entries += u64::from(request.batch.count());
            sum.bytes += request.batch.body().len();
            sum.sync |= request.flags.sync;
            sum.disable_wal |= request.flags.disable_wal;
            sum.reads_own_prefix |= request.flags.reads_own_prefix;
        });
        let packed = self.pack(&sum, members)?;
        let size = packed
            .as_ref()
            .map_or(HEADER_SIZE + sum.bytes, CompressedRecord::len);
        let payload = (!sum.disable_wal).then_some(size);
        let (generation, reservation) = reserve(self.env, sum.entries.max(1), payload)?;
        self.env.hit(Point::Reserved, reservation.first);
        self.env.grouped(members.len());
        // The next leader waits for this one anyhow.
        self.env.extend_wal_ahead(&generation, reservation.end);
        members.for_each(|_, ticket| *ticket += reservation.first);
        if let Err(e) = self.log(&generation, &reservation, &sum, packed.as_ref(), members) {
            self.env.fail(reservation.first, &e);
            return Err(e);
        }
        Ok(WriteGroup {
            generation: Guard::into_inner(generation),
            reservation,
            reads_own_prefix: sum.reads_own_prefix,
        })
    }

    /// Compresses the group's record, if records are compressed.
    fn pack(
        &self,
        sum: &Sum,
        members: &mut Members<'_, WriteRequest>,
    ) -> Result<Option<CompressedRecord>> {
        if sum.disable_wal || !self.env.packs() {
            return Ok(None);
        }
        let mut bodies: Vec<&[u8]> = Vec::with_capacity(members.len());
        members.for_each(|request, _| bodies.push(request.batch.body()));
        self.env.pack(&bodies)
    }

    /// Logs the group as one record and makes it durable if a member asks.
    fn log(
        &self,
        generation: &Generation,
        reservation: &Reservation,
        sum: &Sum,
        packed: Option<&CompressedRecord>,
        members: &mut Members<'_, WriteRequest>,
    ) -> Result<()> {
        if sum.disable_wal {
            return Ok(());
        }
        let header = header(reservation.first, sum.entries as u32);
        if let Some(packed) = packed {
            let parts = packed.with_header(&header);
            self.env.log(generation, reservation, &parts)?;
        } else {
            let mut parts: Vec<&[u8]> = Vec::with_capacity(members.len() + 1);
            parts.push(&header);
            members.for_each(|request, _| parts.push(request.batch.body()));
            self.env.log(generation, reservation, &parts)?;
        }
        if sum.sync {
            // Groups log one after the other (G1), so all before it is in the
            // log: upholds C4.
            self.env.make_durable(reservation.last)?;
        }
        Ok(())
    }
}

impl<E: CommitEnv> Prepare for Grouped<'_, E> {
    type Request = WriteRequest;
    type Group = WriteGroup;
    type Error = Error;

    fn admits(&self, leader: &WriteRequest, candidate: &WriteRequest, bytes: usize) -> bool {
        self.leader.admits(leader, candidate, bytes)
    }

    fn size(&self, request: &WriteRequest) -> usize {
        request.batch.bytes().len()
    }

    fn prepare(&self, members: &mut Members<'_, WriteRequest>) -> Result<WriteGroup> {
        self.leader.prepare(members)
    }
}

impl<E: CommitEnv> Steps for Grouped<'_, E> {
    fn pipelined(&self) -> bool {
        self.pipelined
    }

    fn parallel(&self, group: &WriteGroup) -> bool {
        self.concurrent_inserts && !group.reads_own_prefix // C7
    }

    fn apply(&self, group: &WriteGroup, request: &WriteRequest, ticket: u64) -> Result<()> {
        let env = self.leader.env;
        if self.pipelined && !self.parallel(group) {
            // One insert at a time, over all groups: the leader applies for
            // all of its own, when the groups before are done.
            await_prefix(env, group.reservation.first)?;
        }
        let applied = env.apply(&group.generation, &request.write(), None, ticket);
        let applied = applied.map(|deferred| env.run_deferred(&group.generation, deferred));
        match planted(Bug::FollowerErrorSwallowed) {
            true => Ok(()),
            false => applied,
        }
    }

    /// Once all members have inserted: upholds C2 and C3.
    fn publish(&self, group: &WriteGroup, failure: Option<&Error>) {
        let Reservation { first, last, .. } = group.reservation;
        match failure {
            Some(e) => self.leader.env.fail(first, e),
            // An error means that a group before it failed; its members learn
            // so when they wait for their numbers.
            None => drop(self.leader.env.publication().finish(first, last)),
        }
    }
}
