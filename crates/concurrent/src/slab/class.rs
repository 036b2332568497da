//! The slabs of a size class.

use super::Usage;
use super::chunks::Slab;
use super::sizes::{SLABS, SizeClass};
use crate::region::discard;
use std::ptr::NonNull;

/// Where a piece is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Place {
    class: u8,
    /// Its number in its slab.
    piece: u8,
    /// The number of its slab in the class.
    slab: u32,
}

impl Place {
    /// The number of the size class.
    pub(super) fn class(self) -> usize {
        self.class as usize
    }
}

/// A slab, and which of its pieces are free.
struct Pieces {
    slab: Slab,
    /// A bit for each free piece.
    free: u64,
    /// The free pieces whose pages the system has, but for those that they share with others.
    given: u64,
}

/// The slabs of a size class.
pub(super) struct Class {
    /// The bytes of a piece.
    size: usize,
    /// A bit for each piece of a slab.
    all: u64,
    slabs: Vec<Option<Pieces>>,
    /// The numbers that no slab has.
    unused: Vec<u32>,
    /// No slab below this number has a free piece.
    first: usize,
}

impl Class {
    pub(super) const fn new() -> Self {
        Class {
            size: 0,
            all: 0,
            slabs: Vec::new(),
            unused: Vec::new(),
            first: 0,
        }
    }

    /// The lowest free piece. If there is none, `add` provides another slab.
    pub(super) fn take(
        &mut self,
        class: SizeClass,
        add: impl FnOnce() -> Option<Slab>,
    ) -> Option<(NonNull<u8>, Place)> {
        if self.size == 0 {
            self.size = class.size;
            self.all = u64::MAX >> (u64::BITS as usize - SLABS[class.kind] / class.size);
        }
        let has_room = |s: &Option<Pieces>| s.as_ref().is_some_and(|s| s.free > 0);
        let number = match self.slabs[self.first..].iter().position(has_room) {
            Some(further) => self.first + further,
            None => self.put(add()?),
        };
        self.first = number;
        let pieces = self.slabs[number].as_mut()?;
        let piece = pieces.free.trailing_zeros();
        pieces.free &= !(1 << piece);
        pieces.given &= !(1 << piece);
        // SAFETY: a slab has as many pieces of this size as `all` has bits, one after the other.
        let start = unsafe { pieces.slab.start.add(piece as usize * self.size) };
        let place = Place {
            class: class.number as u8,
            piece: piece as u8,
            slab: number as u32,
        };
        Some((start, place))
    }

    /// Adds a slab, all free. Returns its number.
    fn put(&mut self, slab: Slab) -> usize {
        let pieces = Some(Pieces {
            free: self.all,
            given: if slab.fresh { self.all } else { 0 },
            slab,
        });
        match self.unused.pop() {
            Some(number) => {
                self.slabs[number as usize] = pieces;
                number as usize
            }
            None => {
                self.slabs.push(pieces);
                self.slabs.len() - 1
            }
        }
    }

    /// Takes back a piece. Returns its slab if it is not needed any longer.
    pub(super) fn free(&mut self, place: Place) -> Option<Slab> {
        let number = place.slab as usize;
        let pieces = self.slabs[number].as_mut()?;
        pieces.free |= 1 << place.piece;
        if pieces.free != self.all {
            self.first = self.first.min(number);
            return None;
        }
        self.unused.push(place.slab);
        Some(self.slabs[number].take()?.slab)
    }

    pub(super) fn add_usage(&self, usage: &mut Usage) {
        for pieces in self.slabs.iter().flatten() {
            let count = |bits: u64| bits.count_ones() as usize * self.size;
            usage.used += count(self.all & !pieces.free);
            usage.free += count(pieces.free & !pieces.given);
        }
    }

    /// Gives pages of free pieces back to the system.
    pub(super) fn trim(&mut self) {
        for pieces in self.slabs.iter_mut().flatten() {
            if pieces.free & !pieces.given == 0 {
                continue;
            }
            let mut rest = pieces.free;
            while rest != 0 {
                let from = rest.trailing_zeros();
                let count = (rest >> from).trailing_ones();
                // SAFETY: inside the slab, as in `take`.
                let start = unsafe { pieces.slab.start.add(from as usize * self.size) };
                // SAFETY: the pieces are free, so that nobody has their memory (S1).
                unsafe { discard(start, count as usize * self.size) };
                rest &= u64::MAX.checked_shl(from + count).unwrap_or(0);
            }
            pieces.given = pieces.free;
        }
    }
}
