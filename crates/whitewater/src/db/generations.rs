//! The generations that writes go to, one after the other.
//!
//! [`Generations`] knows the current one, closed ones that a thread may still be writing in,
//! and closed ones whose inserts may be pending. What a switch is made of, in which order,
//! is told by [`switch`](super::switch) (S1 to S7).
//!
//! Invariants:
//! * H1: whoever replaces the current generation holds [`Switching`]; this upholds S1.
//! * H2: every generation that was the current one is `retired` as long as a thread holds
//!   it.
//! * H3: every closed generation is `unsettled` until all of it is visible and inserted. One
//!   with a failed insert stays there for good.
//!
//! Lock order: `switching` is an outer lock (1 in `docs/locks.md`), the others are leaves.

use super::wal_lock::WalLock;
use crate::thread_pools::pool::Waiting;
use crate::write::generation::{End, Generation};
use arc_swap::{ArcSwap, Guard};
use std::sync::{Arc, Weak};
use whitewater_concurrent::system::{Mutex, RwLock, RwLockReadGuard, RwLockWriteGuard};
use whitewater_concurrent::wait_group::WaitGroup;
use whitewater_storage::key::SequenceNumber;

/// A switch of generations: held exclusively by the thread that makes it, and shared by
/// threads that wait until it is over.
#[derive(Debug, Default)]
pub(crate) struct Switch;

/// The right to switch (S1). Taken before the manifest lock and the database mutex.
pub(crate) type Switching<'a> = RwLockWriteGuard<'a, Switch>;

/// A closed generation. It does not hold the generation itself, which would keep the
/// memtables alive.
#[derive(Debug)]
struct Unsettled {
    /// The last number allocated before the generation.
    base: SequenceNumber,
    /// The last number allocated in the generation.
    last: SequenceNumber,
    pending: Arc<WaitGroup>,
}

/// See the [module](self).
pub(crate) struct Generations {
    /// The generation that writes go to. Written by: a switch. Read by: writers. Publishes:
    /// the generation.
    current: ArcSwap<Generation>,
    /// Generations before the current one that a thread may still be writing in, for
    /// [`resume`](super::resume).
    retired: Mutex<Vec<Weak<Generation>>>,
    /// Closed generations that may have pending inserts of published writes, oldest first.
    unsettled: Mutex<Vec<Unsettled>>,
    switching: RwLock<Switch>,
    pub(super) wal_lock: WalLock,
}

impl Generations {
    /// Makes `first` the generation that writes go to.
    pub fn new(first: Generation) -> Self {
        Generations {
            current: ArcSwap::from_pointee(first),
            retired: Mutex::default(),
            unsettled: Mutex::default(),
            switching: RwLock::default(),
            wal_lock: WalLock::default(),
        }
    }

    /// Borrows the current generation, without a lock and without counting. Hold it only
    /// while writing (S6).
    #[inline]
    pub fn load(&self) -> Guard<Arc<Generation>> {
        self.current.load()
    }

    /// The current generation, for a thread that holds the right to switch.
    pub fn load_full(&self) -> Arc<Generation> {
        self.current.load_full()
    }

    /// Takes the right to switch, waiting for it and for the end of a lock of the log if
    /// necessary.
    pub fn switching(&self) -> Switching<'_> {
        loop {
            let switching = self.switching_though_locked();
            if !self.wal_lock.is_held() {
                return switching;
            }
            drop(switching);
            self.wal_lock.wait();
        }
    }

    /// Takes the right to switch although the log may be locked, for a thread that ends the lock
    /// or changes nothing.
    pub fn switching_though_locked(&self) -> Switching<'_> {
        self.switching.try_write().unwrap_or_else(|| {
            // The caller may be a background thread, whose pool others need.
            let _waiting = Waiting::begin();
            self.switching.write()
        })
    }

    /// Prevents switches as long as the result is held.
    pub fn hold_switches_off(&self) -> RwLockReadGuard<'_, Switch> {
        self.switching.read()
    }

    /// Whether a thread holds the right to switch.
    pub fn is_switching(&self) -> bool {
        self.switching.try_read().is_none()
    }

    /// Waits until the switch that is under way is over.
    pub fn await_switch(&self) {
        drop(self.switching.read());
    }

    /// Makes `next` the generation that writes go to (H1, H2).
    pub fn replace(&self, next: Generation) {
        // A swap, not a store: it turns the references that writers have borrowed into
        // counted ones (F4 of `resume`).
        let before = self.current.swap(Arc::new(next));
        let mut retired = self.retired.lock();
        retired.retain(|generation| generation.strong_count() > 0);
        retired.push(Arc::downgrade(&before));
    }

    /// Whether a thread may be writing in a generation before the current one. The counts
    /// are read relaxed: a thread that acts on `false` needs an acquire fence.
    pub fn has_writers_before(&self) -> bool {
        let mut retired = self.retired.lock();
        retired.retain(|generation| generation.strong_count() > 0);
        !retired.is_empty()
    }

    /// Tracks `closed`, which ended at `end` (H3).
    pub fn track(&self, closed: &Generation, end: End) {
        self.unsettled.lock().push(Unsettled {
            base: closed.base(),
            last: end.last,
            pending: closed.pending.clone(),
        });
    }

    /// Forgets closed generations of which everything is inserted. `visible` is the visible
    /// number: once all of a generation is visible, no further inserts become pending.
    pub fn forget_settled(&self, visible: SequenceNumber) {
        let mut unsettled = self.unsettled.lock();
        // A generation with a failed insert stays, so that flushes find it.
        unsettled.retain(|g| g.last > visible || !g.pending.is_settled());
    }

    /// Whether no closed generation has a pending or failed insert of a published write.
    pub fn are_settled(&self) -> bool {
        let unsettled = self.unsettled.lock();
        unsettled.iter().all(|g| g.pending.is_settled())
    }

    /// Whether no insert up to `last`, where a generation ended, is pending or has failed.
    /// Asked after `last` was seen to be visible: an insert is counted as pending before its
    /// number is visible.
    pub fn are_settled_up_to(&self, last: SequenceNumber) -> bool {
        let unsettled = self.unsettled.lock();
        let mut theirs = unsettled.iter().filter(|g| g.base < last);
        theirs.all(|g| g.pending.is_settled())
    }

    /// The inserts up to `last`, where a generation ended, to be waited for. Asked after
    /// `last` was seen to be visible.
    pub fn pending_up_to(&self, last: SequenceNumber) -> Vec<Arc<WaitGroup>> {
        let unsettled = self.unsettled.lock();
        let theirs = unsettled.iter().filter(|g| g.base < last);
        theirs.map(|g| g.pending.clone()).collect()
    }
}
