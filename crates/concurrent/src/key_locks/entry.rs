//! A locked key: its holders, and the queue of those that wait for it.

use super::owner::LockOwner;
use super::{LockError, LockMode};
use crate::sync::blocking::{Condvar, MutexGuard, now};
use crate::sync::{Arc, AtomicU8, Ordering};
use std::collections::VecDeque;
use std::time::Instant;

/// Who holds a lock.
#[derive(Debug, Clone)]
pub(super) struct Holder {
    pub id: u64,
    /// The owner, if its locks can be stolen at all.
    expiring: Option<Arc<LockOwner>>,
}

impl Holder {
    pub fn new(owner: &Arc<LockOwner>) -> Self {
        Holder {
            id: owner.id(),
            expiring: owner.expiration().map(|_| Arc::clone(owner)),
        }
    }

    fn expiration(&self) -> Option<Instant> {
        self.expiring.as_ref()?.expiration()
    }
}

const WAITING: u8 = 0;
const GRANTED: u8 = 1;
const FAMILY_GONE: u8 = 2;

/// A thread that waits for a lock.
#[derive(Debug)]
pub(super) struct Waiter {
    pub holder: Holder,
    pub mode: LockMode,
    /// Written by: the thread that takes the waiter out of the queue. Read by: the waiter.
    /// Both hold the shard's lock, which orders them; so it is relaxed and publishes nothing.
    state: AtomicU8,
    /// Notified when the state has changed, or the time at which the waiter may steal.
    changed: Condvar,
}

impl Waiter {
    pub fn new(owner: &Arc<LockOwner>, mode: LockMode) -> Self {
        Waiter {
            holder: Holder::new(owner),
            mode,
            state: AtomicU8::new(WAITING),
            changed: Condvar::new(),
        }
    }

    /// How the wait has ended, if another thread has ended it.
    pub fn outcome(&self) -> Option<Result<(), LockError>> {
        match self.state.load(Ordering::Relaxed) {
            WAITING => None,
            GRANTED => Some(Ok(())),
            _ => Some(Err(LockError::NoFamily)),
        }
    }

    fn end(&self, state: u8) {
        self.state.store(state, Ordering::Relaxed);
        self.changed.notify_one();
    }

    /// Sleeps until it is notified, at most until `until`; may return early. Returns the
    /// time.
    pub fn park<T>(&self, shard: &mut MutexGuard<'_, T>, until: Option<Instant>) -> Instant {
        let Some(until) = until else {
            self.changed.wait(shard);
            return now();
        };
        let timed_out = self.changed.wait_until(shard, until).timed_out();
        if timed_out { until.max(now()) } else { now() }
    }
}

/// What a waiter waits for.
#[derive(Debug, Default)]
pub(super) struct Blockers {
    pub holders: Vec<u64>,
    /// Waiters that get the lock before it. They wait for no other holders.
    pub ahead: Vec<u64>,
    /// Whether a holder may be robbed one day.
    pub expiring: bool,
}

/// A locked key. Recycled, with its memory, once nobody holds it.
#[derive(Debug, Default)]
pub(super) struct Entry {
    pub family: u32,
    pub key: Vec<u8>,
    /// Whether the holder has it exclusively, or several whose locks were restored.
    exclusive: bool,
    pub holders: Vec<Holder>,
    /// In the order of arrival, but for upgrades. The first is one that cannot be granted
    /// the lock now; see [`Entry::settle`].
    pub queue: VecDeque<Arc<Waiter>>,
}

impl Entry {
    /// Gives the memory back that is more than most locks need.
    pub fn recycle(&mut self) {
        self.holders.clear();
        self.key.clear();
        self.key.shrink_to(256);
        self.holders.shrink_to(16);
        self.queue = VecDeque::new();
    }

    pub fn mode(&self) -> LockMode {
        if self.exclusive {
            LockMode::Exclusive
        } else {
            LockMode::Shared
        }
    }

    pub fn is_held_by(&self, id: u64) -> bool {
        self.holders.iter().any(|holder| holder.id == id)
    }

    /// Whether `id` may have the lock together with those that hold it now.
    fn admits(&self, id: u64, mode: LockMode) -> bool {
        let shared = mode == LockMode::Shared && !self.exclusive;
        shared || self.holders.iter().all(|holder| holder.id == id)
    }

    fn add(&mut self, holder: Holder, mode: LockMode) {
        if !self.is_held_by(holder.id) {
            self.holders.push(holder);
        }
        self.exclusive = mode == LockMode::Exclusive;
    }

    /// Takes the lock, if that is possible now and fair. A holder need not care for the
    /// queue.
    pub fn try_take(&mut self, owner: &Arc<LockOwner>, mode: LockMode) -> bool {
        let holds = self.is_held_by(owner.id());
        if holds && (self.exclusive || mode == LockMode::Shared) {
            return true;
        }
        let may = (holds || self.queue.is_empty()) && self.admits(owner.id(), mode);
        if may {
            self.add(Holder::new(owner), mode);
        }
        may
    }

    /// Makes `owner` a holder beside those that there are, for none but them.
    pub fn restore(&mut self, owner: &Arc<LockOwner>) {
        self.add(Holder::new(owner), LockMode::Exclusive);
    }

    /// Gives up the lock of `id`. The caller settles the entry then.
    pub fn release(&mut self, id: u64) {
        self.holders.retain(|holder| holder.id != id);
    }

    /// Makes an exclusive lock of `id` a shared one. The caller settles the entry then.
    pub fn downgrade(&mut self, id: u64) {
        if self.is_held_by(id) {
            self.exclusive = false;
        }
    }

    /// Puts a waiter into the queue: a holder before the first that wants the lock
    /// exclusively, since that one waits for the holder; others at the end.
    pub fn enqueue(&mut self, waiter: Arc<Waiter>) {
        let mut at = self.queue.len();
        if self.is_held_by(waiter.holder.id) {
            let exclusive = |w: &Arc<Waiter>| w.mode == LockMode::Exclusive;
            at = self.queue.iter().position(exclusive).unwrap_or(at);
        }
        self.queue.insert(at, waiter);
    }

    /// Takes a waiter that gives up out of the queue, and passes the baton on.
    pub fn leave(&mut self, waiter: &Arc<Waiter>) {
        self.queue.retain(|other| !Arc::ptr_eq(other, waiter));
        self.settle();
    }

    /// Gives the lock to those at the head of the queue that can have it now: one that
    /// wants it exclusively, or all readers up to the next of those. To be called whenever
    /// holders or the queue's head have changed (K2).
    pub fn settle(&mut self) {
        while let Some(first) = self.queue.front() {
            if !self.admits(first.holder.id, first.mode) {
                // It sleeps until a time that it knew before its holders were these.
                if self.expiration(first.holder.id).is_some() {
                    first.changed.notify_one();
                }
                break;
            }
            let first = self.queue.pop_front().expect("it was just seen");
            self.add(first.holder.clone(), first.mode);
            first.end(GRANTED);
        }
    }

    /// Whether nobody holds the lock or waits for it.
    pub fn is_free(&self) -> bool {
        self.holders.is_empty() && self.queue.is_empty()
    }

    /// Ends the waits for a family that is removed.
    pub fn end_waits(&mut self) {
        for waiter in self.queue.drain(..) {
            waiter.end(FAMILY_GONE);
        }
    }

    /// From when on the holders beside `id` can be robbed; `None` if never.
    fn expiration(&self, id: u64) -> Option<Instant> {
        let others = self.holders.iter().filter(|holder| holder.id != id);
        others
            .map(Holder::expiration)
            .try_fold(None, |latest, expiration| {
                Some(latest.max(Some(expiration?)))
            })?
    }

    /// When `waiter` may try to steal the lock, if that is after `time`. Only the first in
    /// the queue may.
    pub fn may_steal_at(&self, waiter: &Arc<Waiter>, time: Instant) -> Option<Instant> {
        let first = self.queue.front()?;
        let at = self.expiration(waiter.holder.id)?;
        (Arc::ptr_eq(first, waiter) && at > time).then_some(at)
    }

    /// Robs the holders beside `id` if all of them have expired, and none is protected.
    /// Returns whether there is anything to settle. To be called for the first in the
    /// queue, or without a queue.
    pub fn steal(&mut self, id: u64, time: Instant) -> bool {
        if self.expiration(id).is_none_or(|at| at > time) {
            return false;
        }
        let before = self.holders.len();
        self.holders.retain(|holder| {
            let expiring = holder.expiring.as_ref();
            holder.id == id || !expiring.is_some_and(|owner| owner.steal())
        });
        self.holders.len() < before
    }

    /// What the waiter of `id` waits for; `None` if there is none in the queue.
    ///
    /// One that wants the lock exclusively waits for all before it. A reader waits for the
    /// last such one before it, and so for all that this one waits for: sharers, too.
    pub fn blockers(&self, id: u64) -> Option<Blockers> {
        let exclusive = |w: &Arc<Waiter>| w.mode == LockMode::Exclusive;
        let own = self.queue.iter().position(|w| w.holder.id == id)?;
        let mut end = own;
        if !exclusive(&self.queue[own]) {
            let before = self.queue.range(..own);
            end = before.rev().position(exclusive).map_or(0, |n| own - n);
        }
        let holders = self.holders.iter().map(|holder| holder.id);
        let ahead = self.queue.range(..end).map(|waiter| waiter.holder.id);
        Some(Blockers {
            expiring: self.holders.iter().any(|holder| holder.expiring.is_some()),
            holders: holders.filter(|&holder| holder != id).collect(),
            ahead: ahead.collect(),
        })
    }
}
