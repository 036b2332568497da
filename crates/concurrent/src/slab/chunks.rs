//! Chunks: where slabs come from.

use super::numbered::Numbered;
use super::numbers::Numbers;
use super::sizes::SLABS;
use crate::region::{HugePages, Region, TRANSPARENT, ahead, discard};
use std::ptr::NonNull;

/// The bytes of a chunk: a huge page.
pub(super) const CHUNK: usize = TRANSPARENT;

/// So many chunks have plain pages: a small cache takes what it uses, and a large one wastes no
/// more than a part of a huge page.
const PLAIN: usize = 8;

/// A slab: a part of a chunk.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Slab {
    pub start: NonNull<u8>,
    /// The number of the chunk.
    chunk: u32,
    /// The number of the part.
    part: u32,
    /// Whether the system has its memory, but for pages that it shares with others.
    pub given: bool,
}

// SAFETY: a slab is an address and numbers. Who may use the memory is said by S1.
unsafe impl Send for Slab {}

/// A chunk, and which parts of it are free.
struct Chunk {
    region: Region,
    /// The size of its parts: `SLABS[kind]`.
    kind: usize,
    /// A bit for each free part.
    free: u32,
    /// The free parts whose memory the system has.
    given: u32,
}

/// All chunks.
pub(super) struct Chunks {
    chunks: Numbered<Chunk>,
    /// For each size of parts, the chunks that have a free one.
    with_room: [Numbers; SLABS.len()],
    /// How many chunks there are.
    count: usize,
    /// The free chunk that is kept.
    kept: Option<Region>,
}

impl Chunks {
    pub(super) const fn new() -> Self {
        Chunks {
            chunks: Numbered::new(),
            with_room: [const { Numbers::new() }; SLABS.len()],
            count: 0,
            kept: None,
        }
    }

    /// A slab of `SLABS[kind]` bytes, from the first chunk that has one. `None` if the system has
    /// no memory.
    pub(super) fn take(&mut self, kind: usize) -> Option<Slab> {
        let number = match self.with_room[kind].lowest() {
            Some(number) => number,
            None => self.add(kind)?,
        };
        let chunk = self.chunks.get_mut(number)?;
        let part = chunk.free.trailing_zeros();
        let bit = 1 << part;
        let given = chunk.given & bit != 0;
        chunk.free &= !bit;
        chunk.given &= !bit;
        if chunk.free == 0 {
            self.with_room[kind].remove(number);
        }
        Some(Slab {
            // SAFETY: the part is inside the chunk.
            start: unsafe { chunk.region.start().add(part as usize * SLABS[kind]) },
            chunk: number as u32,
            part,
            given,
        })
    }

    /// The pages of the next chunk.
    pub(super) fn pages_of_next(&self) -> HugePages {
        match self.count {
            ..PLAIN => HugePages::Off,
            _ => HugePages::Transparent,
        }
    }

    /// Whether the next chunk is one that was used before.
    pub(super) fn keeps_next(&self) -> bool {
        self.kept.is_some()
    }

    /// Adds a chunk with parts of this kind. Returns its number.
    fn add(&mut self, kind: usize) -> Option<usize> {
        let pages = self.pages_of_next();
        // The first touch of a huge page takes all of it.
        let given = self.kept.is_none() && pages == HugePages::Off;
        let kept = self.kept.take();
        let region = kept
            .or_else(|| ahead::take(pages))
            .or_else(|| Region::map_or_allocate(CHUNK, pages))?;
        let free = u32::MAX >> (u32::BITS as usize - CHUNK / SLABS[kind]);
        let number = self.chunks.add(Chunk {
            region,
            kind,
            free,
            given: if given { free } else { 0 },
        });
        self.with_room[kind].insert(number);
        self.count += 1;
        Some(number)
    }

    /// How many chunks there are.
    pub(super) fn count(&self) -> usize {
        self.count
    }

    /// Takes back a slab, none of whose pieces is in use. Returns a chunk to give back.
    pub(super) fn free(&mut self, slab: Slab) -> Option<Region> {
        let number = slab.chunk as usize;
        let chunk = self.chunks.get_mut(number)?;
        chunk.free |= 1 << slab.part;
        chunk.given |= u32::from(slab.given) << slab.part;
        if (chunk.free.count_ones() as usize) * SLABS[chunk.kind] < CHUNK {
            self.with_room[chunk.kind].insert(number);
            return None;
        }
        self.with_room[chunk.kind].remove(number);
        self.count -= 1;
        let region = self.chunks.remove(number)?.region;
        self.kept.replace(region)
    }

    /// Free memory that the system has provided.
    pub(super) fn free_bytes(&self) -> usize {
        let parts =
            (self.chunks.iter()).map(|c| (c.free & !c.given).count_ones() as usize * SLABS[c.kind]);
        parts.sum::<usize>() + self.kept.as_ref().map_or(0, Region::bytes)
    }

    /// Gives free memory back to the system.
    pub(super) fn trim(&mut self) {
        self.kept = None;
        for number in 0..self.chunks.end() {
            let Some(chunk) = self.chunks.get_mut(number) else {
                continue;
            };
            let parts = chunk.free & !chunk.given;
            let size = SLABS[chunk.kind];
            for part in (0..CHUNK / size).filter(|part| parts & (1 << part) != 0) {
                // SAFETY: the part is inside the chunk.
                let start = unsafe { chunk.region.start().add(part * size) };
                // SAFETY: the part is free: it belongs to no slab.
                unsafe { discard(start, size) };
            }
            chunk.given = chunk.free;
        }
    }
}
