//! A slab allocator for cached blocks.
//!
//! A block cache reads its blocks at random, so with plain pages most look-ups wait for the
//! processor's TLB before they wait for the block. The heap of the C library cannot be asked for
//! huge pages, and is full of holes when the blocks of deleted tables have left it. Here blocks
//! have memory of their own (Bonwick, *The Slab Allocator*, 1994; the layout is jemalloc's):
//!
//! * A *chunk* (`chunks`) is 2 MiB of address space, one huge page once there are a few chunks. It
//!   is cut into *slabs* of one size. It goes back to the system when all its slabs are free; one
//!   such chunk is kept.
//! * A slab belongs to a *size class* (`class`) and is cut into *pieces* of that size. It goes back
//!   to its chunk when all its pieces are free. The lowest free piece of a class is used next, so
//!   that later slabs become free.
//! * There are sixteen size classes per power of two (`sizes`).
//! * `numbers` finds the lowest slab that has a free piece; `numbered` gives slabs and chunks their
//!   numbers.
//!
//! A thread gives back the pages of free pieces once they are a quarter of what is in use: after
//! much was freed, and when more memory is needed ([`heap_trim`] says when). That breaks huge pages
//! up. Linux's `khugepaged` may put them together again, in time, which takes memory for the free
//! pieces again.
//!
//! # Invariants
//! * S1: a piece that a class has handed out is marked as used until it is dropped, and nothing
//!   else reads or writes its memory.
//! * S2: the memory of a slab stays mapped while one of its pieces is in use: its chunk is kept
//!   while one of its slabs is in use.
//!
//! Locks: a class's lock, then that of the chunks. While they are held, nothing else is locked but
//! the huge page that is ready (`region::ahead`). A chunk is mapped under both, once for hundreds
//! of pieces, and pages of up to `AT_ONCE` slabs are given back under one of them.

mod chunks;
mod class;
mod numbered;
mod numbers;
mod sizes;
#[cfg(test)]
mod tests;

use crate::heap_trim;
use crate::region::{HugePages, Region, ahead};
use chunks::Chunks;
use class::{Class, Place};
use parking_lot::Mutex;
use sizes::{CLASSES, class_of};
use std::fmt;
use std::ops::Deref;
use std::ptr::NonNull;

pub use sizes::{LEAST, MOST, class};

static SLABS: Slabs = Slabs::new();

/// Of so many slabs free pages are given back under one lock.
const AT_ONCE: usize = 32;

/// A copy of `bytes` in a piece of memory. `None` for no more than [`LEAST`] and for more than
/// [`MOST`] bytes, or if the system has no memory.
pub fn copy(bytes: &[u8]) -> Option<Piece> {
    Slabs::copy(&SLABS, bytes)
}

/// What the pieces of this process take of memory.
pub fn usage() -> Usage {
    SLABS.usage()
}

/// The memory of pieces, in bytes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Usage {
    /// What pieces in use take.
    pub used: usize,
    /// What is kept for later pieces.
    pub free: usize,
}

/// Memory that holds a copy of some bytes, until it is dropped.
pub struct Piece {
    /// Its place in a slab (S1).
    start: NonNull<u8>,
    /// The length of the copy; no more than its size class.
    len: u32,
    place: Place,
    slabs: &'static Slabs,
}

// SAFETY: a piece owns its memory (S1), which is not bound to a thread. Its class is locked when it
// goes back.
unsafe impl Send for Piece {}
// SAFETY: a shared piece is only read.
unsafe impl Sync for Piece {}

impl Deref for Piece {
    type Target = [u8];

    #[inline]
    fn deref(&self) -> &[u8] {
        // SAFETY: the piece has at least `len` bytes, which were written when it was made; they
        // are not written again while it is in use (S1), and stay mapped (S2).
        unsafe { std::slice::from_raw_parts(self.start.as_ptr(), self.len as usize) }
    }
}

impl AsRef<[u8]> for Piece {
    fn as_ref(&self) -> &[u8] {
        self
    }
}

impl fmt::Debug for Piece {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Piece").field("len", &self.len).finish()
    }
}

impl Drop for Piece {
    fn drop(&mut self) {
        if cfg!(debug_assertions) {
            // Whoever still reads it shall notice.
            // SAFETY: the piece has at least `len` bytes, which are still its own (S1).
            unsafe { self.start.write_bytes(0xdd, self.len as usize) };
        }
        self.slabs.free(self.place);
    }
}

/// Slabs of all size classes.
struct Slabs {
    classes: [Mutex<Class>; CLASSES],
    chunks: Mutex<Chunks>,
}

impl Slabs {
    const fn new() -> Self {
        Slabs {
            classes: [const { Mutex::new(Class::new()) }; CLASSES],
            chunks: Mutex::new(Chunks::new()),
        }
    }

    fn copy(&'static self, bytes: &[u8]) -> Option<Piece> {
        let class = class_of(bytes.len())?;
        let (mut grown, mut next) = (false, HugePages::Off);
        let (start, place) = {
            let mut slabs = self.classes[class.number].lock();
            slabs.take(class, || {
                let mut chunks = self.chunks.lock();
                let (before, was_kept) = (chunks.count(), chunks.keeps_next());
                let slab = chunks.take(class.kind);
                grown = chunks.count() > before;
                if grown && !was_kept {
                    next = chunks.pages_of_next();
                }
                slab
            })?
        };
        if grown {
            ahead::want(next);
            self.note_growth();
        }
        // SAFETY: the piece is at least as long as its class, which is at least as long as `bytes`,
        // and nobody else has it (S1). What was just allocated does not overlap `bytes`.
        unsafe { start.copy_from_nonoverlapping(NonNull::from(bytes).cast(), bytes.len()) };
        Some(Piece {
            start,
            len: bytes.len() as u32,
            place,
            slabs: self,
        })
    }

    fn free(&self, place: Place) {
        let mut slabs = self.classes[place.class()].lock();
        let emptied = slabs.free(place);
        let returned = emptied.and_then(|slab| self.chunks.lock().free(slab));
        drop(slabs);
        // Unmapped without a lock.
        drop::<Option<Region>>(returned);
    }

    fn usage(&self) -> Usage {
        let mut usage = Usage::default();
        for class in &self.classes {
            class.lock().add_usage(&mut usage);
        }
        usage.free += self.chunks.lock().free_bytes();
        usage
    }

    /// Asks for [`Slabs::trim`] if much is free although more memory was needed: it has other
    /// sizes.
    #[cold]
    fn note_growth(&self) {
        heap_trim::also(|| SLABS.trim());
        let usage = self.usage();
        if usage.keeps_much() {
            heap_trim::freed(usage.free);
        }
    }

    /// Gives back the pages of free pieces, if they are many.
    fn trim(&self) {
        if !self.usage().keeps_much() {
            return;
        }
        for class in &self.classes {
            let mut from = 0;
            while class.lock().trim(from..from + AT_ONCE) {
                from += AT_ONCE;
            }
        }
        self.chunks.lock().trim();
    }
}

impl Usage {
    /// Whether free memory is more than a quarter of what is in use.
    fn keeps_much(self) -> bool {
        self.free > self.used / 4
    }
}
