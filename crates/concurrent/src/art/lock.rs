//! The lock in a node's state word, or for the root's slot.
//!
//! # Invariants
//! * W1: a word with the locked bit is written by the holder alone.

use crate::sync::{AtomicU32, MODELLED, Ordering, hint, thread};

/// Somebody holds the lock.
const LOCKED: u32 = 1;
/// What the word belongs to has been replaced.
const OBSOLETE: u32 = 2;
/// The lowest bit that is the owner's to use.
pub(super) const FREE_SHIFT: u32 = 2;

/// A lock on a node, or on the root's slot; released on drop.
pub(super) struct Locked<'t> {
    word: &'t AtomicU32,
    /// What the word is to hold, without the lock bit.
    pub(super) state: u32,
}

impl<'t> Locked<'t> {
    /// Waits for the lock of a state word.
    #[inline]
    pub(super) fn wait(word: &'t AtomicU32) -> Self {
        let mut tries = 0;
        loop {
            let state = word.load(Ordering::Relaxed);
            // Acquire: partner of the Release in `drop`, so that all of the
            // former holder's writes are seen.
            let taken = state & LOCKED == 0
                && word
                    .compare_exchange_weak(
                        state,
                        state | LOCKED,
                        Ordering::Acquire,
                        Ordering::Relaxed,
                    )
                    .is_ok();
            if taken {
                return Locked { word, state };
            }
            pause(&mut tries);
        }
    }

    /// Whether the node has been replaced.
    pub(super) fn is_obsolete(&self) -> bool {
        self.state & OBSOLETE != 0
    }

    /// Says that the node has been replaced, for ever (N3).
    pub(super) fn make_obsolete(&mut self) {
        self.state |= OBSOLETE;
    }

    /// Whether it is that word's.
    pub(super) fn is_of(&self, word: &AtomicU32) -> bool {
        std::ptr::eq(self.word, word)
    }
}

impl Drop for Locked<'_> {
    #[inline]
    fn drop(&mut self) {
        // Release: publishes what was written under the lock: to its next
        // holder, and (the count) to readers (N2). A plain store is enough, as
        // nobody else writes to a locked word (W1).
        self.word.store(self.state, Ordering::Release);
    }
}

/// Locks are held for some dozens of nanoseconds, unless the holder is
/// preempted; then its waiters get out of its way.
#[cold]
fn pause(tries: &mut u32) {
    *tries += 1;
    if MODELLED || tries.is_multiple_of(64) {
        thread::yield_now();
    } else {
        hint::spin_loop();
    }
}
