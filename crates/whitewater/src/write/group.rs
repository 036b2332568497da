//! Grouped and pipelined commit: a leader writes the log for its group, whose members
//! insert concurrently.
//!
//! *Grouped* is RocksDB's protocol: a group is appended to the log as one record, inserted
//! by its members in parallel, and published as a whole before the next group starts.
//!
//! *Pipelined* hands leadership on as soon as the group is in the log, so that the log
//! write of the next group overlaps the inserts of this one. RocksDB has a second queue
//! for groups in the log. Here a group reserves before it is appended, so the publication
//! sorts out a group that is inserted before an earlier one: members wait for their own
//! number.
//!
//! If the insert of a member reads its own prefix (`WriteFlags::reads_own_prefix`), the
//! leader inserts for all members, in their order, once earlier groups are done.
//!
//! Writes of two-phase commit are groups of their own, since RocksDB would number what
//! follows them in the same record differently.
//!
//! The mechanism is `concurrent::group`.

use super::admit::admit;
use super::env::CommitEnv;
use super::generation::{Generation, MAX_COUNT, Reservation};
use super::record::header;
use super::request::WriteRequest;
use super::steps::{Reserved, acknowledge, await_prefix, insert_unlocated, reserve};
use crate::sync_points::Point;
use arc_swap::Guard;
use std::sync::Arc;
use whitewater_concurrent::group::{GroupQueue, Members, Prepare, Steps};
use whitewater_storage::batch::HEADER_SIZE;
use whitewater_storage::planted;
use whitewater_storage::wal::CompressedRecord;
use whitewater_storage::{Error, Result};

/// Bytes that a small batch of a leader may be joined by: a small write does not wait for
/// a megabyte of followers. RocksDB's limit.
const SMALL_GROUP_SLACK: usize = 128 << 10;

/// Bytes that a group may reach, whatever the options say. A larger group could have more
/// entries than a generation's tail or a record's header can count. A group of this size
/// takes about as much memory as the largest batch.
pub(crate) const MAX_GROUP_BYTES: usize = 64 << 20;

/// Bytes of the smallest operation that takes a number: its type, and the length of an
/// empty key.
const MIN_ENTRY: usize = 2;

// Only a leader's own batch can be larger, which has a limit of its own.
const _: () = assert!(((MAX_GROUP_BYTES / MIN_ENTRY) as u64) < MAX_COUNT);

/// What the members of a group share: one reservation in one generation (C6).
#[derive(Clone)]
pub(crate) struct WriteGroup {
    pub(super) generation: Arc<Generation>,
    pub(super) reservation: Reservation,
    /// The insert of a member reads its own prefix.
    reads_own_prefix: bool,
}

/// The queue of a database's writers, all of which follow one protocol.
pub(crate) type WriteQueue = GroupQueue<WriteRequest, Error, WriteGroup>;

/// What leaders do in every protocol: form a group, encode, reserve and append.
#[derive(Debug)]
pub(crate) struct Leader<'a, E> {
    pub env: &'a E,
    /// Bytes that a group may reach, if less than [`MAX_GROUP_BYTES`].
    pub max_group_bytes: usize,
}

/// The grouped and the pipelined protocol over an environment.
#[derive(Debug)]
pub(crate) struct Grouped<'a, E> {
    pub leader: Leader<'a, E>,
    /// Members may insert at the same time.
    pub concurrent_inserts: bool,
    /// The next group is appended while this one is inserted.
    pub pipelined: bool,
}

/// Commits `request` through `queue`.
///
/// # Errors
/// Those of admission, for this write alone; those of a reservation, log write or insert of
/// its group, or of an earlier group. No part of the batch is visible then.
pub(crate) fn commit<E: CommitEnv>(
    queue: &WriteQueue,
    steps: &Grouped<'_, E>,
    request: &WriteRequest,
) -> Result<()> {
    let env = steps.leader.env;
    let Some(_admitted) = admit(env, &request.write(), &mut None)? else {
        return Ok(());
    };
    let first = queue.commit(steps, request)?;
    let last = first + request.numbers() - 1;
    acknowledge(env, last)
}

/// A group's totals.
#[derive(Default)]
struct Totals {
    /// Entries that the record's header counts.
    entries: u64,
    /// Sequence numbers.
    numbers: u64,
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
        if leader.has_own_record() || candidate.has_own_record() {
            return false;
        }
        let own = leader.logged().bytes().len();
        let mut limit = self.max_group_bytes.min(MAX_GROUP_BYTES);
        if own <= SMALL_GROUP_SLACK {
            limit = limit.min(own + SMALL_GROUP_SLACK);
        }
        // A synced write in an unsynced group would be acknowledged too early (C4); an
        // unlogged write in a logged group would be logged.
        let mut logs_alike = candidate.flags.disable_wal == leader.flags.disable_wal;
        planted!(UnloggedJoinsLogged => logs_alike = true);
        logs_alike
            && (leader.flags.sync || !candidate.flags.sync)
            && bytes.saturating_add(candidate.logged().bytes().len()) <= limit
    }

    /// *Encode*, *reserve* and *append* for a group.
    pub(super) fn reserve_and_append(
        &self,
        members: &mut Members<'_, WriteRequest>,
    ) -> Result<WriteGroup> {
        let mut totals = Totals::default();
        members.for_each(|request, ticket| {
            let logged = request.logged();
            *ticket = totals.numbers;
            totals.entries += u64::from(logged.count());
            totals.numbers += request.numbers();
            totals.bytes += logged.body().len();
            totals.sync |= request.flags.sync;
            totals.disable_wal |= request.flags.disable_wal;
            totals.reads_own_prefix |= request.flags.reads_own_prefix;
        });
        let compressed = self.compress(&totals, members)?;
        let plain = HEADER_SIZE + totals.bytes;
        let size = compressed.as_ref().map_or(plain, CompressedRecord::len);
        let payload = (!totals.disable_wal).then_some(size);
        let reserved = reserve(self.env, totals.numbers.max(1), payload)?;
        let Reserved {
            generation,
            reservation,
            ..
        } = reserved;
        self.env.hit(Point::Reserved, reservation.first);
        self.env.record_group(members.len());
        // The next leader waits for this one anyway.
        self.env.extend_wal_ahead(&generation, reservation.end);
        members.for_each(|_, ticket| *ticket += reservation.first);
        let compressed = compressed.as_ref();
        if let Err(e) = self.append(&generation, &reservation, &totals, compressed, members) {
            self.env.fail(reservation.first, &e);
            return Err(e);
        }
        Ok(WriteGroup {
            generation: Guard::into_inner(generation),
            reservation,
            reads_own_prefix: totals.reads_own_prefix,
        })
    }

    /// Compresses the group's record, if records are compressed.
    fn compress(
        &self,
        totals: &Totals,
        members: &mut Members<'_, WriteRequest>,
    ) -> Result<Option<CompressedRecord>> {
        if totals.disable_wal || !self.env.compresses() {
            return Ok(None);
        }
        let mut bodies: Vec<&[u8]> = Vec::with_capacity(members.len());
        members.for_each(|request, _| bodies.push(request.logged().body()));
        self.env.compress(&bodies)
    }

    /// Appends the group as one record, and makes it durable if a member asks for that.
    fn append(
        &self,
        generation: &Generation,
        reservation: &Reservation,
        totals: &Totals,
        compressed: Option<&CompressedRecord>,
        members: &mut Members<'_, WriteRequest>,
    ) -> Result<()> {
        if totals.disable_wal {
            return Ok(());
        }
        let header = header(reservation.first, totals.entries as u32);
        if let Some(compressed) = compressed {
            let parts = compressed.with_header(&header);
            self.env.append_wal(generation, reservation, &parts)?;
        } else {
            let mut parts: Vec<&[u8]> = Vec::with_capacity(members.len() + 1);
            parts.push(&header);
            members.for_each(|request, _| parts.push(request.logged().body()));
            self.env.append_wal(generation, reservation, &parts)?;
        }
        if totals.sync {
            // Groups are appended one after the other (G1), so everything before it is
            // in the log: upholds C4.
            self.env.sync_wal(reservation.last)?;
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
        request.logged().bytes().len()
    }

    fn prepare(&self, members: &mut Members<'_, WriteRequest>) -> Result<WriteGroup> {
        self.leader.reserve_and_append(members)
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
            // One insert at a time over all groups: the leader inserts for its group once
            // earlier groups are done.
            await_prefix(env, group.reservation.first)?;
        }
        let inserted = insert_unlocated(env, &group.generation, &request.write(), ticket);
        planted!(FollowerErrorSwallowed => return Ok(()));
        inserted
    }

    /// Once all members have inserted: upholds C2 and C3.
    fn publish(&self, group: &WriteGroup, failure: Option<&Error>) {
        let Reservation { first, last, .. } = group.reservation;
        match failure {
            Some(e) => self.leader.env.fail(first, e),
            // An error means that an earlier group failed. The members learn that when they
            // wait for their numbers.
            None => drop(self.leader.env.publication().finish(first, last)),
        }
    }
}
