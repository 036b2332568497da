//! Column families that come and go while threads write.
//!
//! There are a few names. Whoever gets the turn of a name creates a family under it
//! when there is none, and drops it otherwise; nobody waits for a turn. All others
//! look for what is there before each operation, and may find out in the middle of
//! one that it is gone. What is known of who is there is kept like what slots hold:
//! in [`Slot::presence`], whose changes a thread of their own tells.

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicU32, Ordering::SeqCst};
use std::sync::{Mutex, MutexGuard, PoisonError, TryLockError};

use super::key_model::{Held, Shape, Slot, Version};
use super::model::{Change, Expected};

/// All names.
pub struct TransientFamilies(Vec<Name>);

struct Name {
    /// The family that is there; 0 when none is, or one is about to come or go.
    /// Written by: who has the turn, before a drop and after a creation. Read by:
    /// all threads, before and after they get a handle. Publishes nothing.
    current: AtomicU32,
    turn: Mutex<Turn>,
}

/// What whoever has the turn of a name knows.
#[derive(Debug)]
pub struct Turn {
    presence: Slot,
    /// How many families there were, those that never came included.
    count: u32,
    known: Expected,
}

impl TransientFamilies {
    /// The names of `shape`, in a database that holds `content`. No family has had
    /// a number above that for `next`.
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

    /// The family that is there under a name.
    pub fn current(&self, name: u32) -> Option<u32> {
        let current = self.0[name as usize].current.load(SeqCst);
        (current > 0).then_some(current)
    }

    /// Whether the family `number` is there.
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

    /// What may be there, when nobody works any more; and the highest number of a
    /// family so far.
    pub fn outcome(&self) -> (Expected, Version) {
        let (mut all, mut highest) = (Expected::default(), 0);
        for name in &self.0 {
            let turn = name.turn.lock().unwrap_or_else(PoisonError::into_inner);
            all.merge(&turn.known, |_| true);
            highest = highest.max(turn.count);
        }
        (all, highest)
    }

    /// Nobody finds the family of the name any more.
    pub fn hide(&self, name: u32) {
        self.0[name as usize].current.store(0, SeqCst);
    }

    /// All find the family that `change` of `turn` has made.
    pub fn show(&self, name: u32, change: Change) {
        let number = change
            .held
            .map_or(0, |count| change.slot.transient_family(count));
        self.0[name as usize].current.store(number, SeqCst);
    }
}

impl Turn {
    /// What is there, if that is known.
    pub fn known(&self) -> Option<Held> {
        self.known.known(self.presence)
    }

    /// Another family comes.
    pub fn arrival(&mut self) -> Change {
        self.count += 1;
        Change {
            slot: self.presence,
            held: Some(self.count),
        }
    }

    /// The family goes.
    pub fn departure(&self) -> Change {
        Change {
            slot: self.presence,
            held: None,
        }
    }

    /// `change` has come to pass, or may have.
    pub fn settle(&mut self, change: Change, is_sure: bool) {
        match is_sure {
            true => self.known.apply(&[change]),
            false => self.known.maybe_apply(&[change]),
        }
    }
}
