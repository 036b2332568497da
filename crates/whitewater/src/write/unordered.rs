//! Unordered commit: RocksDB's `unordered_write`.
//!
//! Writers queue up for the log only. A leader reserves and appends for its group,
//! publishes the group's numbers *before any of it is inserted*, and hands leadership on.
//! Then every writer inserts its own batch and returns, without waiting for another.
//!
//! What is kept: an acknowledged write is in the log and inserted, so its caller, and any
//! thread that the caller tells, reads it. What is given up: entries with numbers up to
//! `visible` may not be inserted yet, so a snapshot can change, and a reader can see a
//! part of a batch.
//!
//! Pending inserts are counted per generation ([`Generation::pending`]): the leader counts
//! its members before it publishes them, and each is counted down after its insert. A
//! flush waits for the generations that its memtables belong to; writers in later ones go
//! on meanwhile (RocksDB drains all).
//!
//! A failed insert is published already. It stops the database, and the memtables that
//! lack it are no longer flushed, so that the log keeps what they lack.
//!
//! **Undecided numbers.** In a database with the write policy `WRITE_PREPARED`, nothing of that is
//! given up but the order of two writes of one key that nothing keeps apart. The leader enters the
//! numbers of each member as undecided before it publishes them, and a member decides its own when
//! it has inserted (X3 of `concurrent::undecided`). Readers pass over undecided numbers, so they
//! see whole batches, and a snapshot does not change. The numbers of a failed insert stay
//! undecided: nothing of it is seen. A write of two-phase commit notes what it has to before it is
//! published (X1, X2 of `db::two_phase`), and its numbers stay undecided until its section is
//! decided.
//!
//! The protocol is refused together with `max_successive_merges`, as in RocksDB: that
//! option reads what may not be inserted yet (`DbOptions::check_family`).

use super::admit::admit;
use super::env::CommitEnv;
use super::generation::Generation;
use super::group::{Leader, WriteGroup, WriteQueue};
use super::request::WriteRequest;
use super::steps::{insert_unlocated, panicked};
use whitewater_concurrent::group::{Members, Prepare};
use whitewater_concurrent::undecided::{NumberRange, Undecided};
use whitewater_storage::key::SequenceNumber;
use whitewater_storage::{Error, Result, planted};

/// The unordered protocol over an environment.
#[derive(Debug)]
pub(crate) struct Unordered<'a, E> {
    pub leader: Leader<'a, E>,
}

/// Commits `request` through `queue`.
///
/// # Errors
/// Those of admission, for this write alone; those of the group's reservation and log
/// write: then no part of the batch is visible. Those of its own insert: then a part of it
/// may be, unless its numbers are undecided, and the database refuses writes from then on.
pub(crate) fn commit<E: CommitEnv>(
    queue: &WriteQueue,
    steps: &Unordered<'_, E>,
    request: &WriteRequest,
) -> Result<()> {
    let env = steps.leader.env;
    let write = request.write();
    let Some(_admitted) = admit(env, &write, &mut None)? else {
        return Ok(());
    };
    let (first, group) = queue.prepare(steps, request)?;
    let pending = PendingInsert {
        env,
        generation: &group.generation,
        first,
        decides: is_decided_alone(request),
        open: true,
    };
    planted!(UnorderedDecidedEarly => if let Some(undecided) = env.undecided() {
        undecided.decide([first]);
    });
    let inserted = insert_unlocated(env, &group.generation, &write, first);
    pending.end(inserted.as_ref().err());
    inserted
}

impl<E: CommitEnv> Prepare for Unordered<'_, E> {
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
        let group = self.leader.reserve_and_append(members)?;
        let (pending, reservation) = (&group.generation.pending, group.reservation);
        let env = self.leader.env;
        if let Some(undecided) = env.undecided() {
            let entered = enter(env, undecided, &group.generation, members);
            entered.inspect_err(|e| env.fail(reservation.first, e))?;
        }
        let inserts = members.len() as u64;
        // Before they are published: a thread that sees the number finds them counted (S3,
        // S4 of `db::switch`).
        pending.begin(inserts);
        let publication = env.publication();
        let published = publication.finish(reservation.first, reservation.last);
        if published.is_err() || publication.visible() < reservation.last {
            // An earlier write failed: nothing is published after it.
            if let Some(undecided) = env.undecided() {
                // Nor inserted. A resumption gives the numbers up.
                let mut firsts = Vec::with_capacity(members.len());
                members.for_each(|_, first| firsts.push(*first));
                undecided.decide(firsts);
            }
            pending.fail(inserts);
            return Err(env.failure());
        }
        Ok(group)
    }
}

/// Enters the numbers of a group's members, which are not visible yet: upholds X3.
///
/// # Errors
/// Those of a write of two-phase commit, which is its group's only one.
fn enter<E: CommitEnv>(
    env: &E,
    undecided: &Undecided,
    generation: &Generation,
    members: &mut Members<'_, WriteRequest>,
) -> Result<()> {
    let mut ranges = Vec::with_capacity(members.len());
    let mut noted = Ok(());
    members.for_each(|request, first| match request.section() {
        Some(section) => noted = env.note_section(generation, section, *first),
        None if is_decided_alone(request) => ranges.push(NumberRange {
            first: *first,
            last: *first + request.numbers() - 1,
        }),
        None => {} // without numbers
    });
    planted!(UnorderedNotEntered => ranges.clear());
    if !ranges.is_empty() {
        undecided.enter(ranges);
    }
    noted
}

/// Whether the insert of `request` is all that decides on its numbers.
fn is_decided_alone(request: &WriteRequest) -> bool {
    request.section().is_none() && request.numbers() > 0
}

/// An insert that is published and not done yet. One dropped before
/// [`PendingInsert::end`] belongs to a writer that panicked.
struct PendingInsert<'a, E: CommitEnv> {
    env: &'a E,
    generation: &'a Generation,
    first: SequenceNumber,
    /// Whether its numbers are decided once it is done, where they were entered as undecided.
    decides: bool,
    open: bool,
}

impl<E: CommitEnv> PendingInsert<'_, E> {
    fn end(mut self, failure: Option<&Error>) {
        self.open = false;
        match failure {
            None => {
                // Before a flush may begin, which then need not know of it.
                planted!(UnorderedNotDecided => self.decides = false);
                if let Some(undecided) = self.env.undecided().filter(|_| self.decides) {
                    planted!(UnorderedDecidesAll => {
                        let all = undecided.now();
                        let all = all.iter().flat_map(|all| all.ranges());
                        undecided.decide(all.map(|range| range.first));
                    });
                    undecided.decide([self.first]);
                }
                self.generation.pending.end(1);
            }
            Some(e) => self.fail(e),
        }
    }

    /// Stops the database first, so that threads that wait for the insert find the reason
    /// (F1 of `db::failure`).
    #[cold]
    fn fail(&self, error: &Error) {
        self.env.fail(self.first, error);
        self.generation.pending.fail(1);
    }
}

impl<E: CommitEnv> Drop for PendingInsert<'_, E> {
    fn drop(&mut self) {
        if self.open {
            self.fail(&panicked());
        }
    }
}
