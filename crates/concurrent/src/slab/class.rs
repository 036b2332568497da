//! The slabs of a size class.

use super::Usage;
use super::chunks::Slab;
use super::numbered::Numbered;
use super::numbers::Numbers;
use super::sizes::{SLABS, SizeClass};
use crate::region::discard;
use std::ops::Range;
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
    /// The free pieces whose memory the system has, but for pages that they share with others.
    given: u64,
}

/// The slabs of a size class.
pub(super) struct Class {
    /// The bytes of a piece.
    size: usize,
    /// A bit for each piece of a slab.
    all: u64,
    slabs: Numbered<Pieces>,
    /// The slabs that have a free piece.
    with_room: Numbers,
    /// How many pieces are used, and how many are free and not given back.
    used: usize,
    kept: usize,
}

impl Class {
    pub(super) const fn new() -> Self {
        Class {
            size: 0,
            all: 0,
            slabs: Numbered::new(),
            with_room: Numbers::new(),
            used: 0,
            kept: 0,
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
        let number = match self.with_room.lowest() {
            Some(number) => number,
            None => self.put(add()?),
        };
        let pieces = self.slabs.get_mut(number)?;
        let piece = pieces.free.trailing_zeros();
        let bit = 1 << piece;
        self.used += 1;
        self.kept -= usize::from(pieces.given & bit == 0);
        pieces.free &= !bit;
        pieces.given &= !bit;
        if pieces.free == 0 {
            self.with_room.remove(number);
        }
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
        let given = if slab.given { self.all } else { 0 };
        self.kept += (self.all & !given).count_ones() as usize;
        let number = self.slabs.add(Pieces {
            slab,
            free: self.all,
            given,
        });
        self.with_room.insert(number);
        number
    }

    /// Takes back a piece. Returns its slab if it is not needed any longer.
    pub(super) fn free(&mut self, place: Place) -> Option<Slab> {
        let number = place.slab as usize;
        let pieces = self.slabs.get_mut(number)?;
        pieces.free |= 1 << place.piece;
        self.used -= 1;
        self.kept += 1;
        if pieces.free != self.all {
            self.with_room.insert(number);
            return None;
        }
        self.kept -= (self.all & !pieces.given).count_ones() as usize;
        self.with_room.remove(number);
        let pieces = self.slabs.remove(number)?;
        let mut slab = pieces.slab;
        slab.given = pieces.given == self.all;
        Some(slab)
    }

    pub(super) fn add_usage(&self, usage: &mut Usage) {
        usage.used += self.used * self.size;
        usage.free += self.kept * self.size;
    }

    /// Gives pages of free pieces of some slabs back to the system. Returns whether there are slabs
    /// behind them.
    pub(super) fn trim(&mut self, slabs: Range<usize>) -> bool {
        let end = slabs.end.min(self.slabs.end());
        for number in slabs.start..end {
            let Some(pieces) = self.slabs.get_mut(number) else {
                continue;
            };
            let kept = (pieces.free & !pieces.given).count_ones();
            if kept == 0 {
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
            self.kept -= kept as usize;
        }
        end < self.slabs.end()
    }
}
