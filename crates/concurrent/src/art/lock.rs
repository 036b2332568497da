//! The lock in a node's state word, or for the slot of the root.
//!
//! # Invariants
//! * W1: a word with the locked bit is written only by the holder.

use crate::sync::{AtomicU32, MODELLED, Ordering, hint, thread};

/// The lock is held.
const LOCKED: u32 = 1;
/// The node that the word belongs to was replaced.
const OBSOLETE: u32 = 2;
/// The lowest bit that the lock does not use.
pub(super) const FREE_SHIFT: u32 = 2;

/// A held lock of a node, or of the root's slot. Released on drop.
pub(super) struct Locked<'t> {
    word: &'t AtomicU32,
    /// The value that the word gets on release, without the lock bit.
    pub(super) state: u32,
}

impl<'t> Locked<'t> {
    /// Waits for the lock of a state word.
    #[inline]
    pub(super) fn wait(word: &'t AtomicU32) -> Self {
        let mut tries = 0;
        loop {
            let state = word.load(Ordering::Relaxed);
            // Acquire: partner of the Release in `drop`, so that all writes of the last
            // holder are seen.
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

    /// Whether the node was replaced.
    pub(super) fn is_obsolete(&self) -> bool {
        self.state & OBSOLETE != 0
    }

    /// Marks the node as replaced, for good (N3).
    pub(super) fn make_obsolete(&mut self) {
        self.state |= OBSOLETE;
    }

    /// Whether this is the lock of `word`.
    pub(super) fn is_of(&self, word: &AtomicU32) -> bool {
        std::ptr::eq(self.word, word)
    }
}

impl Drop for Locked<'_> {
    #[inline]
    fn drop(&mut self) {
        // Release: publishes what was written under the lock, to the next holder and (by
        // the count) to readers (N2). A plain store is enough, since no other thread
        // writes to a locked word (W1).
        self.word.store(self.state, Ordering::Release);
    }
}

/// Locks are held for some dozens of nanoseconds, unless the holder is preempted. Then
/// its waiters yield, so that it can run.
#[cold]
fn pause(tries: &mut u32) {
    *tries += 1;
    if MODELLED || tries.is_multiple_of(64) {
        thread::yield_now();
    } else {
        hint::spin_loop();
    }
}
