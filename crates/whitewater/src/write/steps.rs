//! The steps that all protocols share: [`reserve`], [`CommitGuard`], [`acknowledge`].

use super::generation::{Generation, Refusal, Reservation};
use super::record::Record;
use super::request::Write;
use super::{CommitEnv, Prefetched};
use crate::perf_context::Step;
use crate::sync_points::Point;
use arc_swap::Guard;
use std::sync::Arc;
use whitewater_storage::batch::HEADER_SIZE;
use whitewater_storage::key::SequenceNumber;
use whitewater_storage::planted::{Bug, planted};
use whitewater_storage::{Error, ErrorKind, Result};

/// A place, and the generation it is in: held until the write is done, which
/// is all that C6 takes.
type Reserved = (Guard<Arc<Generation>>, Reservation);

/// Takes `count` sequence numbers and, for a record of `payload` bytes, a
/// place in the log.
///
/// # Errors
/// Writes have failed before, or a switch or an extension of the log failed;
/// then nothing was taken.
pub(super) fn reserve<E: CommitEnv>(
    env: &E,
    count: u64,
    payload: Option<usize>,
) -> Result<Reserved> {
    let _timer = env.step(Step::Reserve);
    loop {
        let generation = env.enter()?;
        match generation.reserve(count, payload) {
            Ok(reservation) => return Ok((generation, reservation)),
            Err(refusal) => recover_from(env, generation, refusal)?,
        }
    }
}

/// [`reserve`] for one write, with what can be prepared for the generation in
/// which it gets its place.
#[inline]
pub(super) fn reserve_prepared<E: CommitEnv>(
    env: &E,
    write: &Write<'_>,
    prefetched: Option<Prefetched<'_>>,
    payload: Option<usize>,
) -> Result<(Reserved, Option<E::Prepared>)> {
    let (generation, hint) = match prefetched {
        Some(prefetched) if env.is_current() => (prefetched.generation, prefetched.hint),
        prefetched => {
            drop(prefetched);
            (env.enter()?, None)
        }
    };
    if payload.is_some() && generation.wal.lacks_room() {
        // It may well be refused, and what is prepared takes memory.
        drop(generation);
        let reserved = reserve(env, write.operations.numbers(), payload)?;
        return Ok((reserved, None));
    }
    let prepared = env.prepare(&generation, write, hint)?;
    loop {
        let _timer = env.step(Step::Reserve);
        match generation.reserve(write.operations.numbers(), payload) {
            Ok(reservation) => return Ok(((generation, reservation), Some(prepared))),
            // A long record does not fit in what is allocated. What was prepared is
            // as good as before, in the same memtables.
            Err(Refusal::NoRoom { upto }) => env.extend_wal(&generation, upto)?,
            Err(refusal) => {
                recover_from(env, generation, refusal)?;
                break;
            }
        }
    }
    // Seldom, so what was prepared, for another generation perhaps, is left
    // behind (C6).
    let reserved = reserve(env, write.operations.numbers(), payload)?;
    Ok((reserved, None))
}

/// Sees to it that there may be a place next time.
#[cold]
fn recover_from<E: CommitEnv>(
    env: &E,
    generation: Guard<Arc<Generation>>,
    refusal: Refusal,
) -> Result<()> {
    match refusal {
        Refusal::Closed => {
            // The guard would keep the old memtables alive for nothing.
            drop(generation);
            env.await_switch();
            Ok(())
        }
        Refusal::NoRoom { upto } => env.extend_wal(&generation, upto),
        Refusal::Full => {
            let log = generation.wal.clone();
            let renewed = env.replace_full(generation);
            renewed.inspect_err(|_| log.note_no_successor())
        }
    }
}

/// The header of a record.
pub(super) fn header(first: SequenceNumber, count: u32) -> [u8; HEADER_SIZE] {
    let mut header = [0; HEADER_SIZE];
    header[..8].copy_from_slice(&first.to_le_bytes());
    header[8..].copy_from_slice(&count.to_le_bytes());
    header
}

/// The time between taking a place and being finished with it. Whoever leaves
/// it in any way but [`CommitGuard::publish`] or [`CommitGuard::fail`] has panicked: the
/// place is lost, and with it every later write (C5).
pub(super) struct CommitGuard<'a, E: CommitEnv> {
    env: &'a E,
    reservation: Reservation,
    open: bool,
}

impl<'a, E: CommitEnv> CommitGuard<'a, E> {
    /// For a place that was taken just now.
    #[inline]
    pub fn new(env: &'a E, mut reservation: Reservation) -> Self {
        if planted(Bug::BatchPublishedInHalves) && reservation.first < reservation.last {
            let _ = env
                .publication()
                .finish(reservation.first, reservation.first);
            reservation.first += 1;
        }
        CommitGuard {
            env,
            reservation,
            open: true,
        }
    }

    /// All of it is in the log and in the memtables. With `sync`, returns when
    /// it is durable, and so visible.
    #[inline]
    pub fn publish(mut self, sync: bool) -> Result<()> {
        let Reservation {
            mut first, last, ..
        } = self.reservation;
        let publication = self.env.publication();
        if planted(Bug::PublishByMaximum) {
            first = first.min(publication.visible() + 1);
        }
        // All of the batch at once: upholds C2 and C3.
        let finished = if sync {
            // What is finished is in the log: C4.
            let durable = |upto| self.env.make_durable(upto);
            publication.finish_awaiting_sync(first, last, durable)
        } else {
            publication.finish(first, last).map(Ok)
        };
        match finished {
            Ok(Ok(())) => self.open = false,
            Ok(Err(e)) => {
                self.fail(&e);
                return Err(e);
            }
            Err(_) => {
                self.open = false;
                return Err(self.env.failure());
            }
        }
        Ok(())
    }

    /// Some of it is not.
    #[cold]
    pub fn fail(mut self, error: &Error) {
        self.open = false;
        self.env.fail(self.reservation.first, error);
    }
}

impl<E: CommitEnv> Drop for CommitGuard<'_, E> {
    fn drop(&mut self) {
        if self.open {
            let e = Error::new(
                ErrorKind::Aborted,
                "a writer panicked in the middle of a write",
            );
            self.env.fail(self.reservation.first, &e);
        }
    }
}

/// Waits until a finished write up to `last` is visible, and so all before it
/// is in the log: upholds C4.
///
/// # Errors
/// This write or one before it failed.
#[inline]
pub(super) fn acknowledge<E: CommitEnv>(env: &E, last: SequenceNumber) -> Result<()> {
    let _timer = env.step(Step::PublishWait);
    env.hit(Point::Published, last);
    if env.publication().visible() < last {
        env.hit(Point::Waiting, last);
        let visible = env.publication().wait(last);
        visible.map_err(|_| env.failure())?;
    }
    env.hit(Point::Visible, last);
    Ok(())
}

/// Waits until everything before `first` is in the memtables; `first` belongs
/// to a write that is finished after this.
///
/// # Errors
/// One of the writes before failed.
#[cold]
pub(super) fn await_prefix<E: CommitEnv>(env: &E, first: SequenceNumber) -> Result<()> {
    let before = first - 1;
    let publication = env.publication();
    if publication.visible() < before && !planted(Bug::InOrderIgnored) {
        let _timer = env.step(Step::PublishWait);
        env.hit(Point::Waiting, before);
        publication.wait(before).map_err(|_| env.failure())?;
    }
    Ok(())
}

/// Logs and inserts one batch at its place, in one generation (C6).
pub(super) fn append_and_insert<E: CommitEnv>(
    env: &E,
    generation: &Generation,
    reservation: &Reservation,
    write: &Write<'_>,
    record: Option<&Record<'_>>,
    prepared: Option<E::Prepared>,
) -> Result<E::DeferredWork> {
    if let Some(record) = record {
        record.log(env, generation, reservation, write.operations.count())?;
    }
    if write.flags.reads_own_prefix {
        await_prefix(env, reservation.first)?; // upholds C7
    }
    env.apply(generation, write, prepared, reservation.first)
}
