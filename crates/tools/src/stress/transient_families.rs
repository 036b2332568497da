//! Column families that are created and dropped while threads write.
//!
//! There are a few names. A thread that gets the turn of a name creates a column family
//! under it, or drops the one that exists. No thread waits for a turn. All other threads
//! look up the existing column families before each operation, and an operation may find
//! that one has been dropped meanwhile. Whether a column family exists is modelled like the
//! content of a slot ([`Slot::presence`]); each name has a journal thread of its own for
//! it.

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicU32, Ordering::SeqCst};
use std::sync::{Mutex, MutexGuard, PoisonError, TryLockError};

use super::key_model::{Held, Shape, Slot, Version};
use super::model::{Change, Expected};

/// All names.
pub struct TransientFamilies(Vec<Name>);

struct Name {
    /// The number of the column family that exists; 0 when there is none or it is being
    /// created or dropped. Written by: the thread that has the turn, before a drop and
    /// after a creation. Read by: all threads, before and after they get a handle.
    /// Publishes nothing.
    current: AtomicU32,
    turn: Mutex<Turn>,
}

/// What the thread that has the turn of a name knows.
#[derive(Debug)]
pub struct Turn {
    presence: Slot,
    /// The number of column families so far, including failed creations.
    count: u32,
    known: Expected,
}

impl TransientFamilies {
    /// The names of `shape` in a database that holds `content`. No earlier column family
    /// has a number above the one for `next`.
    pub fn new(
        shape: Shape,
        content: &BTreeMap<Slot, Version>,
        next: Version,
    ) -> TransientFamilies {
        let names = shape.transient_names().map(|(name, _)| {
            let presence = Slot::presence(name);
            let held = content.get(&presence).copied();
            let mut known = Expected::default();
            known.apply(&[Change {
                slot: presence,
                held,
            }]);
            Name {
                current: AtomicU32::new(held.map_or(0, |count| presence.transient_family(count))),
                turn: Mutex::new(Turn {
                    presence,
                    count: next.max(held.unwrap_or(0)),
                    known,
                }),
            }
        });
        TransientFamilies(names.collect())
    }

    /// The column family that exists under a name.
    pub fn current(&self, name: u32) -> Option<u32> {
        let current = self.0[name as usize].current.load(SeqCst);
        (current > 0).then_some(current)
    }

    /// Whether the column family `number` exists.
    pub fn is_there(&self, number: u32) -> bool {
        let mut names = self.0.iter();
        names.any(|name| name.current.load(SeqCst) == number)
    }

    /// The turn of a name, unless another thread has it.
    pub fn turn(&self, name: u32) -> Option<MutexGuard<'_, Turn>> {
        match self.0[name as usize].turn.try_lock() {
            Ok(turn) => Some(turn),
            Err(TryLockError::Poisoned(turn)) => Some(turn.into_inner()),
            Err(TryLockError::WouldBlock) => None,
        }
    }

    /// Which column families may exist after all threads have stopped, and the highest
    /// count so far.
    pub fn outcome(&self) -> (Expected, Version) {
        let (mut all, mut highest) = (Expected::default(), 0);
        for name in &self.0 {
            let turn = name.turn.lock().unwrap_or_else(PoisonError::into_inner);
            all.merge(&turn.known, |_| true);
            highest = highest.max(turn.count);
        }
        (all, highest)
    }

    /// Hides the column family of a name from all threads.
    pub fn hide(&self, name: u32) {
        self.0[name as usize].current.store(0, SeqCst);
    }

    /// Shows the column family that `change` created to all threads.
    pub fn show(&self, name: u32, change: Change) {
        let number = change
            .held
            .map_or(0, |count| change.slot.transient_family(count));
        self.0[name as usize].current.store(number, SeqCst);
    }
}

impl Turn {
    /// Whether a column family exists and which, if it is certain.
    pub fn known(&self) -> Option<Held> {
        self.known.known(self.presence)
    }

    /// The creation of another column family.
    pub fn arrival(&mut self) -> Change {
        self.count += 1;
        Change {
            slot: self.presence,
            held: Some(self.count),
        }
    }

    /// The drop of the column family.
    pub fn departure(&self) -> Change {
        Change {
            slot: self.presence,
            held: None,
        }
    }

    /// Records that `change` has happened, or that it may have.
    pub fn settle(&mut self, change: Change, is_sure: bool) {
        if is_sure {
            self.known.apply(&[change])
        } else {
            self.known.maybe_apply(&[change])
        }
    }
}
