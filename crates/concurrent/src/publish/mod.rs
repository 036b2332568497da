//! Publication in order: writers finish in any order, and a number moves over the
//! finished prefix.
//!
//! Writers hold disjoint ranges of numbers that together leave no gap (reserving them is
//! done elsewhere). Each writer [`finish`]es its range when it is ready, and [`visible`]
//! moves to the end of a range once all ranges before it are finished. There is no
//! leader, and no writer waits for another one in order to finish. A writer that must not
//! return before its own range is visible calls [`wait`], which sleeps if it takes longer
//! than a moment.
//!
//! A finished range is marked in a ring of slots under its first number. The right to
//! move `visible` from `v` depends on the range that starts at `v + 1`: while it is not
//! marked, only its owner may move `visible`, once it has finished the range; once it is
//! marked, the thread that wins the compare-exchange from `v` does.
//!
//! A range may *await a sync*: it is finished, but must not become visible before its
//! prefix is synced. Only the owner of such a range moves over it. The owner does so when
//! the range is the first that is not visible, and then syncs once for all finished
//! ranges that follow, whether they await a sync or not ([`finish_awaiting_sync`]).
//!
//! `group_commit_delay` decides how long the owner waits for more ranges before it syncs.
//!
//! Invariants:
//! * P1: `visible = v` only if every range up to `v` is finished, and `visible` is always
//!   the end of a range.
//! * P2: no lost advance. A finisher marks its slot, then looks at `visible`;
//!   a mover raises `visible`, then looks at the next slot; a full fence lies
//!   between the two steps on either side, so one of them sees the other.
//! * P3: no lost wake-up. A sleeper sets the bit of its wait bucket, then looks at
//!   `visible`; a mover raises `visible`, then looks at the bits; fences as in P2
//!   (`wait_buckets`).
//! * P4: a slot is marked only for a number below `visible + slots`, so that two live
//!   marks never share a slot. Old marks need no clearing: they end at or below `visible
//!   + 1`.
//! * P5: a range that failed is never finished, so `visible` stays below it until a
//!   restart. Waiters at or above it get an error; those below go on.
//! * P6: `visible` passes a range that awaits a sync only after a sync for it, by its
//!   owner or by the owner of such a range before it.
//! * P7: after a restart, the numbers that it gave up are at or below `visible`, and a
//!   waiter for one of them still gets the error.
//!
//! The ring of marks is InnoDB's `recent_written`. That the visible number moves over a
//! finished prefix is an idea of Pebble and of RocksDB's issue 14627.
//!
//! [`finish`]: Publication::finish
//! [`finish_awaiting_sync`]: Publication::finish_awaiting_sync
//! [`visible`]: Publication::visible
//! [`wait`]: Publication::wait

mod group_commit_delay;
mod wait_buckets;

use crate::sync::{AtomicU64, MODELLED, Mutex, Ordering, fence};
use crate::system;
use crate::waiter::{self, CallSite, YieldPolicy};
use crossbeam_utils::CachePadded;
use group_commit_delay::GroupCommitDelay;
use wait_buckets::WaitBuckets;

/// The number of slots in the ring, a power of two. A writer whose number is further than
/// this beyond `visible` waits before it marks.
const SLOTS: usize = if MODELLED { 4 } else { 1 << 15 };

/// A bit of a mark: the range awaits a sync.
const AWAITING_SYNC: u64 = 1 << 63;

/// A range could not be published, since it or a range below it failed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Failed;

/// The visible number, and the ranges that are finished beyond it.
#[derive(Debug)]
pub struct Publication {
    /// See P1.
    /// Written by: the mover (Release). Read by: readers, snapshots and waiters
    /// (Acquire). Publishes: everything that was done for the ranges up to it before they
    /// were finished.
    visible: CachePadded<AtomicU64>,
    /// The mark of the range that starts at the slot's number, if that range is finished:
    /// one more than its end, and perhaps [`AWAITING_SYNC`]. Otherwise an old mark (P4).
    /// Written by: the range's owner (Release). Read by: movers (Acquire). Publishes:
    /// what was done for the range.
    slots: Box<[AtomicU64]>,
    /// Where waiters sleep.
    buckets: WaitBuckets,
    /// The first number of the lowest range that failed; `u64::MAX` while none has.
    /// Written by: threads that report a failure (AcqRel), and a restart (Release). Read
    /// by: waiters, before they sleep, and `has_failed` (Acquire). Publishes: the reason,
    /// which the thread that reports the failure stored before.
    failed_at: CachePadded<AtomicU64>,
    /// The largest number that a restart gave up; 0 when there was none.
    /// Written by: a restart, before it raises `visible` (relaxed). Read by:
    /// waiters, after they loaded that (relaxed). Publishes nothing: the
    /// release of `visible` does.
    given_up_to: AtomicU64,
    /// The ranges that restarts gave up, ascending, both ends inclusive (P7).
    given_up: Mutex<Vec<(u64, u64)>>,
    /// For the thread that syncs.
    commit_delay: CachePadded<GroupCommitDelay>,
    policy: YieldPolicy,
    site: CallSite,
}

impl Publication {
    /// A publication whose visible number is `last`, with no range in flight. `policy`
    /// bounds how long a waiter yields before it sleeps.
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

    /// The visible number: every range up to it is finished.
    #[inline]
    pub fn visible(&self) -> u64 {
        // Acquire: pairs with the Release in `raise`, `claim` and `restart`.
        self.visible.load(Ordering::Acquire)
    }

    /// Reports that the range from `first` to `last`, inclusive, is finished.
    ///
    /// # Errors
    /// A range below it failed, and so many ranges follow that one that there is no slot
    /// left.
    pub fn finish(&self, first: u64, last: u64) -> Result<(), Failed> {
        debug_assert!(first <= last);
        let before = first - 1;
        if self.visible() == before {
            // The range is not marked, so no other thread may move from `before` (P1).
            self.raise(before, last);
            return Ok(());
        }
        self.mark(first, last + 1)?;
        fence(Ordering::SeqCst); // P2, with those in `after_raise` and `claim`
        if self.visible() == before {
            self.claim(before);
        }
        Ok(())
    }

    /// Reports that the range from `first` to `last` is finished, and makes it visible
    /// once it is synced. `sync_prefix` is called when everything before the range is
    /// visible. Its argument is the last number of the finished ranges that follow
    /// without a gap, and it has to sync all of them. It is not called at all if another
    /// caller's sync has covered this range.
    ///
    /// # Errors
    /// The outer one: a range below it failed. The inner one: the error of `sync_prefix`;
    /// the caller must then call [`Publication::fail`].
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
                // What it waits for is slow: spinning gains nothing, and another thread
                // may need the core.
                self.sleep(before)?;
            }
            if self.visible() >= last {
                self.kept(last)?;
                return Ok(Ok(())); // synced by another
            }
        }
        // This range is the first that is not visible, and no other thread moves over a
        // range that awaits a sync (P6).
        let (mut to, mut count) = (last, 1);
        self.commit_delay.wait(|| {
            count += self.pass_marked(&mut to);
            count
        });
        let start = system::now();
        // Before the number moves, and for all ranges that it moves over: upholds P6.
        if let Err(e) = sync_prefix(to) {
            return Ok(Err(e));
        }
        let took = system::since(start);
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

    /// Moves `visible` from `from` to `to`, and on over ranges that are marked and await
    /// no sync (P1, P6).
    ///
    /// The caller has the right to move from `from`.
    fn raise(&self, from: u64, mut to: u64) {
        while let Some(end) = self.marked_after(to) {
            to = end;
        }
        // Release: pairs with `visible`. A plain store is enough, since the right is
        // exclusive.
        self.visible.store(to, Ordering::Release);
        self.after_raise(from, to);
    }

    /// Follows each raise: wakes waiters, and raises again if a range was marked
    /// meanwhile whose owner did not see this raise.
    fn after_raise(&self, from: u64, to: u64) {
        // P2 with the one in `finish`, P3 with the one in `WaitBuckets::sleep`.
        fence(Ordering::SeqCst);
        self.buckets.wake(from, to);
        if self.marked_after(to).is_some() {
            self.claim(to);
        }
    }

    /// Moves on from `from` if a marked range starts behind it and no other thread has
    /// moved on.
    fn claim(&self, mut from: u64) {
        while let Some(mut to) = self.marked_after(from) {
            while let Some(end) = self.marked_after(to) {
                to = end;
            }
            // Release: pairs with `visible`. Relaxed on failure: the thread that moved
            // `visible` goes on with the ranges behind.
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

    /// The end of the finished range behind `last`, if it is marked and awaits no sync.
    #[inline]
    fn marked_after(&self, last: u64) -> Option<u64> {
        self.mark_after(last)
            .and_then(|(end, awaits_sync)| (!awaits_sync).then_some(end))
    }

    /// The end of the finished range behind `last`, if it is marked, and whether it
    /// awaits a sync.
    #[inline]
    fn mark_after(&self, last: u64) -> Option<(u64, bool)> {
        // Acquire: pairs with the mark's store.
        let mark = self.slot(last + 1).load(Ordering::Acquire);
        let end = mark & !AWAITING_SYNC;
        (end > last + 1).then(|| (end - 1, mark != end))
    }

    /// Moves `to` over the finished ranges behind it, whether they await a sync or not.
    /// Returns how many these are.
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

    /// Waits until no range up to `last` is in flight: all of them are visible or were
    /// given up by a restart.
    ///
    /// # Errors
    /// A range at or below `last` failed, and there was no restart since.
    pub fn wait_passed(&self, last: u64) -> Result<(), Failed> {
        match self.wait(last) {
            // `visible` stays below a range that failed (P5), so there was a restart.
            Err(Failed) if self.visible() >= last => Ok(()),
            outcome => outcome,
        }
    }

    /// The result of waiting for `last`, if it is known already.
    fn outcome(&self, last: u64) -> Option<Result<(), Failed>> {
        if self.visible() >= last {
            return Some(self.kept(last));
        }
        // Acquire: pairs with `fail` and `restart`.
        (self.failed_at.load(Ordering::Acquire) <= last).then_some(Err(Failed))
    }

    /// Checks that `last`, which is visible, was finished and not given up (P7).
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

    /// Whether restarts gave up any number from `first` to `last`, inclusive, all of
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

    /// Reports that the range that starts at `first` failed: it will never be finished,
    /// and waiters for it or for a later range get an error (P5).
    pub fn fail(&self, first: u64) {
        // AcqRel: releases the reason to `outcome`; acquires nothing of use.
        self.failed_at.fetch_min(first, Ordering::AcqRel);
        fence(Ordering::SeqCst); // P3, for the failure in place of the number
        self.buckets.wake_all();
    }

    /// Whether some range has failed.
    pub fn has_failed(&self) -> bool {
        // Acquire: pairs with `fail` and `restart`.
        self.failed_at.load(Ordering::Acquire) != u64::MAX
    }

    /// Gives up the numbers above the visible one up to `last`, and clears the failure:
    /// the next range starts behind `last`. Every number handed out must be at most
    /// `last`, and no thread may [`finish`](Self::finish) one of the given-up numbers
    /// afterwards. Threads that wait for one of them, now or later, get an error. It is
    /// for a store that has hidden the effects of these numbers.
    pub fn restart(&self, last: u64) {
        let from = self.visible();
        debug_assert!(last >= from);
        if last > from {
            // Before `visible` is raised: upholds P7.
            self.given_up.lock().push((from + 1, last));
            self.given_up_to.store(last, Ordering::Relaxed);
        }
        // Release: pairs with `visible`.
        self.visible.store(last, Ordering::Release);
        // Release: pairs with `outcome` and `has_failed`.
        self.failed_at.store(u64::MAX, Ordering::Release);
        fence(Ordering::SeqCst); // P3, with the one in `WaitBuckets::sleep`
        self.buckets.wake(from, last);
    }
}

#[cfg(all(test, not(any(loom, shuttle))))]
mod tests;
