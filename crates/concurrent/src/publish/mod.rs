//! Publication in order: many finish, a number moves over the finished prefix.
//!
//! Writers hold disjoint ranges of numbers that together leave no gap (the
//! reservation is somebody else's business). Each [`finish`]es its range at
//! its own time; [`visible`] moves to the end of a range once all before it
//! are finished. Nobody leads and nobody waits for anybody in order to
//! finish; a writer that must not return before its own range is visible
//! [`wait`]s, asleep if it takes longer than a moment.
//!
//! A finished range is marked in a ring of slots under its first number. The
//! right to move `visible` from `v` belongs to whoever finished the range that
//! starts at `v + 1`: while it is not marked, its owner alone may move; once
//! it is marked, whoever wins the compare-exchange from `v`.
//!
//! A range may be *held*: finished, but not to be seen before something slow
//! is settled (a sync). Nobody moves over a held range but its owner, who does
//! so when it has become the first in line, and then settles for all finished
//! ranges that follow, held or not, in one go ([`finish_awaiting_sync`]).
//!
//! Invariants:
//! * P1: `visible = v` only if every range up to `v` is finished, and only
//!   ends of ranges are values of it.
//! * P2: no lost advance. A finisher marks its slot, then looks at `visible`;
//!   a mover raises `visible`, then looks at the next slot; a full fence lies
//!   between the two steps on either side, so one of them sees the other.
//! * P3: no lost wake-up. A sleeper says where it is going to sleep, then looks
//!   at `visible`; a mover raises `visible`, then looks who sleeps; fences as
//!   in P2 (`wait_buckets`).
//! * P4: a slot is marked for a number below `visible + slots` only, so that
//!   two live marks never share one. Old marks need no clearing: they end at
//!   or below `visible + 1`.
//! * P5: a range that failed is never finished, so `visible` stays below it
//!   until a restart; those at or above it are told, those below go on.
//! * P6: `visible` passes a held range only after its owner, or that of a held
//!   range before it, has settled for it.
//! * P7: after a restart, numbers that it gave up are at or below `visible`,
//!   and whoever asks for one of them is still told that it failed.
//!
//! The idea of a ring of marks is InnoDB's `recent_written`; that the visible
//! number moves over a finished prefix is Pebble's and RocksDB issue 14627's.
//!
//! [`finish`]: Publication::finish
//! [`finish_awaiting_sync`]: Publication::finish_awaiting_sync
//! [`visible`]: Publication::visible
//! [`wait`]: Publication::wait

mod group_commit_delay;
mod wait_buckets;

use crate::sync::{AtomicU64, MODELLED, Mutex, Ordering, fence};
use crate::waiter::{self, CallSite, YieldPolicy};
use crossbeam_utils::CachePadded;
use group_commit_delay::GroupCommitDelay;
use std::time::Instant;
use wait_buckets::WaitBuckets;

/// Slots of the ring. Numbers in flight beyond this make their writers wait
/// before they mark; a power of two.
const SLOTS: usize = if MODELLED { 4 } else { 1 << 15 };

/// In a mark: the range is held.
const AWAITING_SYNC: u64 = 1 << 63;

/// A range could not be published: one at or below it failed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Failed;

/// The number that is visible, and what is finished beyond it.
#[derive(Debug)]
pub struct Publication {
    /// See P1.
    /// Written by: the mover (Release). Read by: readers, snapshots and
    /// waiters (Acquire). Publishes: everything that was done for the ranges
    /// up to it before they were finished.
    visible: CachePadded<AtomicU64>,
    /// One beyond the end of the range that starts at the slot's number, if
    /// that is finished, and perhaps [`AWAITING_SYNC`]; otherwise an old mark (P4).
    /// Written by: the range's owner (Release). Read by: movers (Acquire).
    /// Publishes: what was done for the range.
    slots: Box<[AtomicU64]>,
    /// Where waiters sleep.
    buckets: WaitBuckets,
    /// The first number of the lowest range that failed; the maximum while
    /// none has.
    /// Written by: whoever fails (AcqRel). Read by: waiters (Acquire), before
    /// they sleep. Publishes: the reason, which its writer stored before.
    failed_at: CachePadded<AtomicU64>,
    /// The largest number that a restart gave up; 0 when there was none.
    /// Written by: a restart, before it raises `visible` (relaxed). Read by:
    /// waiters, after they loaded that (relaxed). Publishes nothing: the
    /// release of `visible` does.
    given_up_to: AtomicU64,
    /// The ranges that restarts gave up, ascending, both ends inclusive (P7).
    given_up: Mutex<Vec<(u64, u64)>>,
    /// For whoever settles for held ranges.
    commit_delay: CachePadded<GroupCommitDelay>,
    policy: YieldPolicy,
    site: CallSite,
}

impl Publication {
    /// `last` is visible and nothing is in flight. `policy` bounds how long a
    /// waiter yields before it sleeps.
    pub fn new(last: u64, policy: YieldPolicy) -> Self {
        Publication {
            visible: CachePadded::new(AtomicU64::new(last)),
            slots: (0..SLOTS).map(|_| AtomicU64::new(0)).collect(),
            buckets: WaitBuckets::new(),
            failed_at: CachePadded::new(AtomicU64::new(u64::MAX)),
            given_up_to: AtomicU64::new(0),
            given_up: Mutex::new(Vec::new()),
            commit_delay: CachePadded::new(GroupCommitDelay::new()),
            policy,
            site: CallSite::new(),
        }
    }

    /// The last number up to which everything is finished.
    #[inline]
    pub fn visible(&self) -> u64 {
        // Acquire: pairs with the Release in `raise` and `claim`.
        self.visible.load(Ordering::Acquire)
    }

    /// Says that the range from `first` to `last`, inclusive, is finished.
    ///
    /// # Errors
    /// A range below it failed, and so many follow that there is no slot.
    pub fn finish(&self, first: u64, last: u64) -> Result<(), Failed> {
        debug_assert!(first <= last);
        let before = first - 1;
        if self.visible() == before {
            // Not marked: nobody else may move from `before` (P1).
            self.raise(before, last);
            return Ok(());
        }
        self.mark(first, last + 1)?;
        fence(Ordering::SeqCst); // P2, with the one in `raise`
        if self.visible() == before {
            self.claim(before);
        }
        Ok(())
    }

    /// Says that the range from `first` to `last` is finished, and makes it
    /// visible once `settle` has succeeded for it. `settle` is called when all
    /// before it is visible, with the last number of those that are finished
    /// behind it, and for all of them; or not at all, if another's has done.
    ///
    /// # Errors
    /// A range below it failed. The inner one: that of `settle`; the caller
    /// then owes a [`Publication::fail`].
    pub fn finish_awaiting_sync<E>(
        &self,
        first: u64,
        last: u64,
        sync_prefix: impl FnOnce(u64) -> Result<(), E>,
    ) -> Result<Result<(), E>, Failed> {
        let before = first - 1;
        if self.visible() != before {
            self.mark(first, (last + 1) | AWAITING_SYNC)?;
            if self.visible() < before {
                // For something slow: nothing is gained by asking again and
                // again, and somebody else may need the core.
                self.sleep(before)?;
            }
            if self.visible() >= last {
                self.kept(last)?;
                return Ok(Ok(())); // settled by another
            }
        }
        // The first in line, and nobody else moves over a held range (P6).
        let (mut to, mut count) = (last, 1);
        self.commit_delay.wait(|| {
            count += self.pass_marked(&mut to);
            count
        });
        let start = Instant::now();
        // Before the number moves, for all that it moves over: upholds P6.
        if let Err(e) = sync_prefix(to) {
            return Ok(Err(e));
        }
        let took = start.elapsed();
        let behind = self.pass_marked(&mut to.clone());
        self.commit_delay.record_sync(took, count + behind);
        self.raise(before, to);
        Ok(Ok(()))
    }

    /// Marks the range that starts at `first` with `mark`.
    fn mark(&self, first: u64, mark: u64) -> Result<(), Failed> {
        let before = first - 1;
        if before >= self.visible() + SLOTS as u64 {
            self.wait(before - SLOTS as u64 + 1)?; // upholds P4
        }
        // Release: pairs with the load in `mark_after`.
        self.slot(first).store(mark, Ordering::Release);
        Ok(())
    }

    /// Moves `visible` from `from` to `to`, and on over what is marked and not
    /// held (P1, P6).
    ///
    /// The caller has the right to move from `from`.
    fn raise(&self, from: u64, mut to: u64) {
        while let Some(end) = self.marked_after(to) {
            to = end;
        }
        // Release: pairs with `visible`. A plain store: the right is exclusive.
        self.visible.store(to, Ordering::Release);
        self.after_raise(from, to);
    }

    /// What follows each raise: the wake-ups, and another raise if a range was
    /// marked meanwhile whose owner did not see this one.
    fn after_raise(&self, from: u64, to: u64) {
        fence(Ordering::SeqCst); // P2 with the one in `finish`, P3 with that of `WaitBuckets::sleep`
        self.buckets.wake(from, to);
        if self.marked_after(to).is_some() {
            self.claim(to);
        }
    }

    /// Moves on from `from` if a marked range starts behind it and nobody else
    /// has moved on.
    fn claim(&self, mut from: u64) {
        while let Some(mut to) = self.marked_after(from) {
            while let Some(end) = self.marked_after(to) {
                to = end;
            }
            // Release: pairs with `visible`. Relaxed on failure: whoever moved
            // goes on with what is behind.
            let moved =
                self.visible
                    .compare_exchange(from, to, Ordering::Release, Ordering::Relaxed);
            if moved.is_err() {
                return;
            }
            fence(Ordering::SeqCst); // as in `after_raise`
            self.buckets.wake(from, to);
            from = to;
        }
    }

    /// The end of the finished range behind `last`, if it is marked and not
    /// held.
    #[inline]
    fn marked_after(&self, last: u64) -> Option<u64> {
        self.mark_after(last)
            .and_then(|(end, awaits_sync)| (!awaits_sync).then_some(end))
    }

    /// The end of the finished range behind `last`, if it is marked, and
    /// whether it is held.
    #[inline]
    fn mark_after(&self, last: u64) -> Option<(u64, bool)> {
        // Acquire: pairs with the mark's store.
        let mark = self.slot(last + 1).load(Ordering::Acquire);
        let end = mark & !AWAITING_SYNC;
        (end > last + 1).then(|| (end - 1, mark != end))
    }

    /// Moves `to` over the finished ranges behind it, held or not: how many.
    fn pass_marked(&self, to: &mut u64) -> u64 {
        let mut count = 0;
        while let Some((end, _)) = self.mark_after(*to) {
            *to = end;
            count += 1;
        }
        count
    }

    fn slot(&self, first: u64) -> &AtomicU64 {
        &self.slots[first as usize % SLOTS]
    }

    /// Waits until `last` is visible.
    ///
    /// # Errors
    /// A range at or below `last` failed, and `last` will never be visible.
    pub fn wait(&self, last: u64) -> Result<(), Failed> {
        if self.visible() >= last {
            return self.kept(last);
        }
        let reached = || self.outcome(last);
        if let Some(outcome) = waiter::spin(reached) {
            return outcome;
        }
        if let Some(outcome) = waiter::yield_for(reached, &self.site, self.policy) {
            return outcome;
        }
        self.sleep(last)
    }

    /// Waits until nothing up to `last` is under way any more: all of it is
    /// visible, or was given up by a restart.
    ///
    /// # Errors
    /// A range at or below `last` failed, and nobody has restarted since.
    pub fn wait_passed(&self, last: u64) -> Result<(), Failed> {
        match self.wait(last) {
            // It stays below what failed (P5), so that is over.
            Err(Failed) if self.visible() >= last => Ok(()),
            outcome => outcome,
        }
    }

    /// How waiting for `last` ends, if that is clear.
    fn outcome(&self, last: u64) -> Option<Result<(), Failed>> {
        if self.visible() >= last {
            return Some(self.kept(last));
        }
        // Acquire: pairs with `fail`.
        (self.failed_at.load(Ordering::Acquire) <= last).then_some(Err(Failed))
    }

    /// Whether `last`, which is visible, is so because it was finished (P7).
    #[inline]
    fn kept(&self, last: u64) -> Result<(), Failed> {
        if last > self.given_up_to.load(Ordering::Relaxed) {
            return Ok(());
        }
        if self.gave_up(last, last) {
            Err(Failed)
        } else {
            Ok(())
        }
    }

    /// Whether restarts gave up a number from `first` to `last`, inclusive,
    /// which are visible.
    pub fn gave_up(&self, first: u64, last: u64) -> bool {
        if first > self.given_up_to.load(Ordering::Relaxed) {
            return false;
        }
        let given_up = self.given_up.lock();
        given_up.iter().any(|(f, l)| *f <= last && first <= *l)
    }

    fn sleep(&self, last: u64) -> Result<(), Failed> {
        self.buckets.sleep(last, || self.outcome(last))
    }

    /// Says that the range which starts at `first` failed: it is never
    /// finished, and whoever waits for it or a later one is told so (P5).
    pub fn fail(&self, first: u64) {
        // AcqRel: releases the reason to `outcome`; acquires nothing of use.
        self.failed_at.fetch_min(first, Ordering::AcqRel);
        fence(Ordering::SeqCst); // P3, for the failure in place of the number
        self.buckets.wake_all();
    }

    /// Whether some range has failed.
    pub fn has_failed(&self) -> bool {
        self.failed_at.load(Ordering::Acquire) != u64::MAX
    }

    /// Gives up the numbers from what is visible to `last`, and forgets a
    /// failure: the next range starts behind `last`. Every number handed out is
    /// at most `last`, and nobody is going to [`finish`](Self::finish) one of
    /// them; whoever still waits for one, or does so later, is told that it
    /// failed. For a store that has hidden what was done for them.
    pub fn restart(&self, last: u64) {
        let from = self.visible();
        debug_assert!(last >= from);
        if last > from {
            // Before `visible` is raised: upholds P7.
            self.given_up.lock().push((from + 1, last));
            self.given_up_to.store(last, Ordering::Relaxed);
        }
        // Release: pairs with `visible` and `outcome`.
        self.visible.store(last, Ordering::Release);
        self.failed_at.store(u64::MAX, Ordering::Release);
        fence(Ordering::SeqCst);
        self.buckets.wake(from, last);
    }
}

#[cfg(all(test, not(any(loom, shuttle))))]
mod tests;
