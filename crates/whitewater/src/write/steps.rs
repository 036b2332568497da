//! The steps that all protocols share: [`reserve`], [`Window`], [`acknowledge`].

use super::generation::{Generation, Place, Refusal};
use super::points::Point;
use super::record::Record;
use super::request::Write;
use super::{Ahead, CommitEnv};
use crate::perf::Step;
use arc_swap::Guard;
use std::sync::Arc;
use whitewater_storage::batch::HEADER_SIZE;
use whitewater_storage::key::SequenceNumber;
use whitewater_storage::planted::{Bug, planted};
use whitewater_storage::{Error, ErrorKind, Result};

/// A place, and the generation it is in: held until the write is done, which
/// is all that C6 takes.
type Reserved = (Guard<Arc<Generation>>, Place);

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
            Ok(place) => return Ok((generation, place)),
            Err(refusal) => overcome(env, generation, refusal)?,
        }
    }
}

/// [`reserve`] for one write, with what can be prepared for the generation in
/// which it gets its place.
#[inline]
pub(super) fn reserve_prepared<E: CommitEnv>(
    env: &E,
    write: &Write<'_>,
    ahead: Option<Ahead<'_>>,
    payload: Option<usize>,
) -> Result<(Reserved, Option<E::Prepared>)> {
    let (generation, foreseen) = match ahead {
        Some(ahead) if env.may_stay() => (ahead.generation, ahead.foreseen),
        ahead => {
            drop(ahead);
            (env.enter()?, None)
        }
    };
    if payload.is_some() && generation.log.lacks_room() {
        // It may well be refused, and what is prepared takes memory.
        drop(generation);
        let reserved = reserve(env, write.operations.numbers(), payload)?;
        return Ok((reserved, None));
    }
    let prepared = env.prepare(&generation, write, foreseen)?;
    loop {
        let _timer = env.step(Step::Reserve);
        match generation.reserve(write.operations.numbers(), payload) {
            Ok(place) => return Ok(((generation, place), Some(prepared))),
            // A long record does not fit in what is allocated. What was prepared is
            // as good as before, in the same memtables.
            Err(Refusal::NoRoom { upto }) => env.make_room(&generation, upto)?,
            Err(refusal) => {
                overcome(env, generation, refusal)?;
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
fn overcome<E: CommitEnv>(
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
        Refusal::NoRoom { upto } => env.make_room(&generation, upto),
        Refusal::Full => {
            let log = generation.log.clone();
            let renewed = env.renew(generation);
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
/// it in any way but [`Window::finish`] or [`Window::fail`] has panicked: the
/// place is lost, and with it every later write (C5).
pub(super) struct Window<'a, E: CommitEnv> {
    env: &'a E,
    place: Place,
    open: bool,
}

impl<'a, E: CommitEnv> Window<'a, E> {
    /// For a place that was taken just now.
    #[inline]
    pub fn open(env: &'a E, mut place: Place) -> Self {
        if planted(Bug::BatchPublishedInHalves) && place.first < place.last {
            let _ = env.publication().finish(place.first, place.first);
            place.first += 1;
        }
        Window {
            env,
            place,
            open: true,
        }
    }

    /// All of it is in the log and in the memtables. With `sync`, returns when
    /// it is durable, and so visible.
    #[inline]
    pub fn finish(mut self, sync: bool) -> Result<()> {
        let Place {
            mut first, last, ..
        } = self.place;
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
        self.env.fail(self.place.first, error);
    }
}

impl<E: CommitEnv> Drop for Window<'_, E> {
    fn drop(&mut self) {
        if self.open {
            let e = Error::new(
                ErrorKind::Aborted,
                "a writer panicked in the middle of a write",
            );
            self.env.fail(self.place.first, &e);
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
    env.reached(Point::Finished, last);
    if env.publication().visible() < last {
        env.reached(Point::Waiting, last);
        let visible = env.publication().wait(last);
        visible.map_err(|_| env.failure())?;
    }
    env.reached(Point::Visible, last);
    Ok(())
}

/// Waits until everything before `first` is in the memtables; `first` belongs
/// to a write that is finished after this.
///
/// # Errors
/// One of the writes before failed.
#[cold]
pub(super) fn await_before<E: CommitEnv>(env: &E, first: SequenceNumber) -> Result<()> {
    let before = first - 1;
    let publication = env.publication();
    if publication.visible() < before && !planted(Bug::InOrderIgnored) {
        let _timer = env.step(Step::PublishWait);
        env.reached(Point::Waiting, before);
        publication.wait(before).map_err(|_| env.failure())?;
    }
    Ok(())
}

/// Logs and inserts one batch at its place, in one generation (C6).
pub(super) fn carry_out<E: CommitEnv>(
    env: &E,
    generation: &Generation,
    place: &Place,
    write: &Write<'_>,
    record: Option<&Record<'_>>,
    prepared: Option<E::Prepared>,
) -> Result<E::Leftover> {
    if let Some(record) = record {
        record.log(env, generation, place, write.operations.count())?;
    }
    if write.terms.in_order {
        await_before(env, place.first)?; // upholds C7
    }
    env.apply(generation, write, prepared, place.first)
}
