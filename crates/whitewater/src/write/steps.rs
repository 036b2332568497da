//! The steps that the protocols share.

use super::env::CommitEnv;
use super::generation::{Generation, Refusal, Reservation};
use super::record::Record;
use super::request::Write;
use crate::perf_context::Step;
use crate::sync_points::Point;
use arc_swap::Guard;
use std::sync::Arc;
use whitewater_storage::key::SequenceNumber;
use whitewater_storage::planted;
use whitewater_storage::{Error, ErrorKind, Result};

/// The leaf of the only key of a write, prefetched before anything else is done: an insert
/// would otherwise wait for it.
pub(crate) struct Prefetched<'k, E: CommitEnv> {
    /// The generation that was current. Drop it before any wait, like that of
    /// [`enter`](super::env::GenerationEnv::enter).
    pub generation: Guard<Arc<Generation>>,
    /// Where the key leads in its memtable.
    pub hint: Option<E::LeafHint<'k>>,
}

/// A reservation and the generation that it is in, which is held until the write is
/// done: that is all C6 takes.
pub(super) struct Reserved<L> {
    pub generation: Guard<Arc<Generation>>,
    pub reservation: Reservation,
    /// The entries as located in `generation`.
    pub located: Option<L>,
}

/// *Reserve*: allocates `count` sequence numbers and, for a record of `payload` bytes, a
/// place in the log.
///
/// # Errors
/// Writes have failed before, or a switch or an extension of the log failed. Then nothing
/// was taken.
pub(super) fn reserve<E: CommitEnv>(
    env: &E,
    count: u64,
    payload: Option<usize>,
) -> Result<Reserved<E::Located>> {
    let _timer = env.step(Step::Reserve);
    loop {
        let generation = env.enter()?;
        match generation.reserve(count, payload) {
            Ok(reservation) => {
                return Ok(Reserved {
                    generation,
                    reservation,
                    located: None,
                });
            }
            Err(refusal) => recover_from(env, generation, refusal)?,
        }
    }
}

/// *Locate* and *reserve* for one write: it must reserve in the generation in which its
/// entries were located.
///
/// # Errors
/// As for [`reserve`], or a comparator panicked.
#[inline]
pub(super) fn locate_and_reserve<E: CommitEnv>(
    env: &E,
    write: &Write<'_>,
    record: Option<&Record<'_>>,
    prefetched: Option<Prefetched<'_, E>>,
) -> Result<Reserved<E::Located>> {
    let count = write.operations.numbers();
    let payload = record.map(Record::len);
    let (generation, hint) = match prefetched {
        Some(prefetched) if env.nothing_due() => (prefetched.generation, prefetched.hint),
        prefetched => {
            drop(prefetched);
            (env.enter()?, None)
        }
    };
    if payload.is_some() && generation.wal.lacks_room() {
        // The reservation may well be refused, and locating takes memory.
        drop(generation);
        return reserve_unlocated(env, count, payload);
    }
    let located = env.locate(&generation, write, hint)?;
    loop {
        let _timer = env.step(Step::Reserve);
        match generation.reserve(count, payload) {
            Ok(reservation) => {
                return Ok(Reserved {
                    generation,
                    reservation,
                    located: Some(located),
                });
            }
            // A long record does not fit in what is allocated. The entries remain
            // located in the same memtables.
            Err(Refusal::NoRoom { upto }) => env.extend_wal(&generation, upto)?,
            Err(refusal) => {
                recover_from(env, generation, refusal)?;
                break;
            }
        }
    }
    // Rare, so the located entries, perhaps of another generation, are abandoned (C6).
    reserve_unlocated(env, count, payload)
}

/// [`reserve`], taken apart and put together: so that what is mostly reserved in
/// [`locate_and_reserve`] need not be in the memory that `reserve` writes to. A processor waits for
/// what is read in other pieces than it was written in, and later writes would wait with it.
#[inline(always)]
fn reserve_unlocated<E: CommitEnv>(
    env: &E,
    count: u64,
    payload: Option<usize>,
) -> Result<Reserved<E::Located>> {
    let Reserved {
        generation,
        reservation,
        ..
    } = reserve(env, count, payload)?;
    Ok(Reserved {
        generation,
        reservation,
        located: None,
    })
}

/// Makes a later attempt to reserve possible.
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
            let wal = generation.wal.clone();
            let replaced = env.replace_full(generation);
            replaced.inspect_err(|_| wal.note_no_successor())
        }
    }
}

/// *Append* for one write.
#[inline]
pub(super) fn append<E: CommitEnv>(
    env: &E,
    generation: &Generation,
    reservation: &Reservation,
    write: &Write<'_>,
    record: Option<&Record<'_>>,
) -> Result<()> {
    match record {
        Some(record) => record.append(env, generation, reservation, write.operations.count()),
        None => Ok(()),
    }
}

/// *Insert* for one write, in the generation of its reservation (C6).
#[inline]
pub(super) fn insert<E: CommitEnv>(
    env: &E,
    generation: &Generation,
    reservation: &Reservation,
    write: &Write<'_>,
    located: Option<E::Located>,
    deferred: &mut E::Deferred,
) -> Result<()> {
    if write.flags.reads_own_prefix {
        await_prefix(env, reservation.first)?; // upholds C7
    }
    env.insert(generation, write, located, reservation.first, deferred)
}

/// *Insert* for a leader or a member of its group, which locates nothing before and so leaves
/// nothing to be done after.
pub(super) fn insert_unlocated<E: CommitEnv>(
    env: &E,
    generation: &Generation,
    write: &Write<'_>,
    first: SequenceNumber,
) -> Result<()> {
    env.insert(generation, write, None, first, &mut E::Deferred::default())?;
    if write.flags.disable_wal {
        env.record_unlogged(write.operations.size());
    }
    Ok(())
}

/// Waits until everything before `first` is in the memtables. The write at `first` must not
/// be finished yet; it is finished only later.
///
/// # Errors
/// An earlier write failed.
#[cold]
pub(super) fn await_prefix<E: CommitEnv>(env: &E, first: SequenceNumber) -> Result<()> {
    let before = first - 1;
    let publication = env.publication();
    planted!(InOrderIgnored => return Ok(()));
    if publication.visible() < before {
        let _timer = env.step(Step::PublishWait);
        env.hit(Point::Waiting, before);
        publication.wait(before).map_err(|_| env.failure())?;
    }
    Ok(())
}

/// Stands for a reserved write until it is published or has failed. A guard dropped
/// before that belongs to a writer that panicked: its reservation is lost, and with it
/// every later write (C5).
pub(super) struct CommitGuard<'a, E: CommitEnv> {
    env: &'a E,
    first: SequenceNumber,
    last: SequenceNumber,
    open: bool,
}

impl<'a, E: CommitEnv> CommitGuard<'a, E> {
    /// For a reservation just made.
    #[inline]
    pub fn new(env: &'a E, reservation: Reservation) -> Self {
        let Reservation {
            mut first, last, ..
        } = reservation;
        planted!(BatchPublishedInHalves => if first < last {
            let _ = env.publication().finish(first, first);
            first += 1;
        });
        CommitGuard {
            env,
            first,
            last,
            open: true,
        }
    }

    /// Runs steps of the write, and fails the write if they fail.
    #[inline]
    pub fn run(&mut self, steps: impl FnOnce() -> Result<()>) -> Result<()> {
        steps().inspect_err(|e| self.fail(e))
    }

    /// *Publish*: the write is in the log and in the memtables. With `sync`, returns when
    /// it is durable, and so visible.
    #[inline]
    pub fn publish(&mut self, sync: bool) -> Result<()> {
        debug_assert!(self.open, "a write that failed is never published");
        let (mut first, last) = (self.first, self.last);
        let publication = self.env.publication();
        planted!(PublishByMaximum => first = first.min(publication.visible() + 1));
        // The whole batch at once: upholds C2 and C3.
        let finished = if sync {
            // A finished write is in the log: C4.
            let durable = |upto| self.env.sync_wal(upto);
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

    /// The write failed.
    #[cold]
    fn fail(&mut self, error: &Error) {
        self.open = false;
        self.env.fail(self.first, error);
    }
}

impl<E: CommitEnv> Drop for CommitGuard<'_, E> {
    fn drop(&mut self) {
        if self.open {
            self.env.fail(self.first, &panicked());
        }
    }
}

/// The failure of a write whose thread panicked after the reservation.
#[cold]
pub(super) fn panicked() -> Error {
    Error::new(
        ErrorKind::Aborted,
        "a writer panicked in the middle of a write",
    )
}

/// *Acknowledge*: waits until a finished write up to `last` is visible, and so everything
/// before it is in the log: upholds C4.
///
/// # Errors
/// This write or an earlier one failed.
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
