//! Unordered commit: RocksDB's `unordered_write` (seed 003).
//!
//! Writers queue up for the log only. A leader reserves and logs for its
//! group, publishes the group's numbers *before any of it is inserted*, and
//! hands leadership on; then every writer inserts its own batch and returns,
//! without waiting for anybody.
//!
//! What is kept: a write is in the log and inserted when it is acknowledged,
//! so that its caller, and whoever the caller tells, reads it. What is given
//! up: entries with numbers up to `visible` may still be on their way, so a
//! snapshot can change, and a reader can see a part of a batch.
//!
//! Inserts under way are counted per generation ([`Generation::pending`]): the
//! leader counts its members before it publishes them, and each is counted
//! down after its insert. A flush waits for the generations that its memtables
//! belong to; writers in later ones go on meanwhile (RocksDB drains all).
//!
//! An insert that fails is published already. It stops the database, and the
//! memtables that it should be in are not flushed any more, so that the log
//! keeps what they lack.
//!
//! The protocol is refused together with `max_successive_merges`, as in
//! RocksDB: that reads what may not be inserted yet
//! (`DbOptions::check_family`).

use super::CommitEnv;
use super::generation::Generation;
use super::group::{Leader, WriteGroup, WriteQueue};
use super::request::WriteRequest;
use whitewater_concurrent::group::{Members, Prepare};
use whitewater_storage::key::SequenceNumber;
use whitewater_storage::{Error, ErrorKind, Result};

/// The unordered protocol over an environment.
#[derive(Debug)]
pub(crate) struct Unordered<'a, E> {
    pub leader: Leader<'a, E>,
}

/// Commits `request` through `queue`.
///
/// # Errors
/// What the group's log write reported; then no part of the batch is visible.
/// What its own insert reported; then a part of it may be, and the database
/// refuses writes from then on.
pub(crate) fn commit<E: CommitEnv>(
    queue: &WriteQueue,
    steps: &Unordered<'_, E>,
    request: &WriteRequest,
) -> Result<()> {
    let (first, group) = queue.prepare(steps, request)?;
    let env = steps.leader.env;
    let late = Late {
        env,
        generation: &group.generation,
        first,
        open: true,
    };
    let inserted = env.apply(&group.generation, &request.write(), None, first);
    late.end(inserted.as_ref().err());
    inserted.map(|deferred| env.run_deferred(&group.generation, deferred))
}

impl<E: CommitEnv> Prepare for Unordered<'_, E> {
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
        let group = self.leader.prepare(members)?;
        let (pending, reservation) = (&group.generation.pending, group.reservation);
        let inserts = members.len() as u64;
        // Before they are published: whoever sees the number finds them
        // counted (S3, S4 of `db::switch`).
        pending.begin(inserts);
        let publication = self.leader.env.publication();
        let published = publication.finish(reservation.first, reservation.last);
        if published.is_err() || publication.visible() < reservation.last {
            // A write before it failed: nothing is published after it.
            pending.fail(inserts);
            return Err(self.leader.env.failure());
        }
        Ok(group)
    }
}

/// An insert that is published and not made yet. Whoever leaves without
/// [`Late::end`] has panicked.
struct Late<'a, E: CommitEnv> {
    env: &'a E,
    generation: &'a Generation,
    first: SequenceNumber,
    open: bool,
}

impl<E: CommitEnv> Late<'_, E> {
    fn end(mut self, failure: Option<&Error>) {
        self.open = false;
        match failure {
            None => self.generation.pending.end(1),
            Some(e) => self.fail(e),
        }
    }

    /// Stops the database first, so that whoever waited for the insert finds
    /// the reason (F1 of `db::failure`).
    #[cold]
    fn fail(&self, error: &Error) {
        self.env.fail(self.first, error);
        self.generation.pending.fail(1);
    }
}

impl<E: CommitEnv> Drop for Late<'_, E> {
    fn drop(&mut self) {
        if self.open {
            let e = Error::new(
                ErrorKind::Aborted,
                "a writer panicked in the middle of a write",
            );
            self.fail(&e);
        }
    }
}
