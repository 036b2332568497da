//! Where readers of a table find its cached data blocks without the block cache.
//!
//! A [`Directory`] has a slot for each data block. Where the table's
//! [`IndexPrefixArray`](super::index_prefix_array::IndexPrefixArray) numbers the blocks, that is
//! the slot of this number, which a search of the array prefetches. Else a block's slot is where
//! its offset falls if all blocks had the same size, or the next one. If both are taken, readers
//! search the cache.
//!
//! A slot is an `ArcSwapOption`: a reader says in a word of its own thread that it uses the block,
//! and writes to nothing that other readers touch. Whoever empties the slot, or puts a copy of the
//! block there, counts those readers first. So a block stays in memory while it is read, and its
//! count is right as soon as it has left its slot. A reader that keeps a block for long takes a
//! share of it, which is counted ([`KeptBlock`], [`PinnedValue`](crate::sst::PinnedValue)).
//!
//! Invariants:
//! * D1: a slot holds a block only while the cache does: the cache tells the block to enter and to
//!   leave ([`Placed`]).
//! * D2: a block enters an empty slot, or that of another copy of it, which the cache has let go
//!   and which has not left yet. Only the block that is in a slot empties it. A copy that was
//!   replaced counts as entered until it leaves. The cache asks only about blocks that it holds.

#[cfg(test)]
mod tests;

use crate::cache::{BlockCache, DirectoryCharge, Placed};
use crate::sst::format::block::{Block, LINE};
use crate::sst::format::handle::is_next;
use crate::sst::read::key_samples::KeySamples;
use arc_swap::{ArcSwapOption, Guard};
use bytes::Bytes;
use std::ops::{Deref, Range};
use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};
use std::sync::{Arc, Weak};
use whitewater_concurrent::prefetch;
use whitewater_concurrent::sync::rmw;

/// The slots where a block without a number may be found, one behind the other.
const PROBES: usize = 2;

/// The least bytes of a data block that the number of slots is chosen for, whatever the table says
/// of its blocks.
const LEAST_BLOCK: u64 = 32;

/// The most slots.
const MOST_SLOTS: u64 = 1 << 28;

/// No slot.
const NOWHERE: u32 = u32::MAX;

static EMPTY: Block = Block::empty();

/// The directory of a table.
pub(crate) struct Directory {
    slots: Arc<Slots>,
    /// Not a part of the slots: blocks may drop those under a lock of the cache, and the charge
    /// takes these locks.
    _charge: DirectoryCharge,
}

/// The slots of a directory.
struct Slots {
    slots: Box<[ArcSwapOption<PlacedBlock>]>,
    /// Slots in a byte of the file, in units of 2^-32. `None` if blocks have numbers.
    per_byte: Option<u64>,
}

/// Which data block of a table.
#[derive(Debug, Clone, Copy)]
pub(crate) struct BlockPlace {
    /// Where it begins in the file.
    pub(crate) offset: u64,
    /// How many blocks are before it, if the table numbers them.
    pub(crate) number: Option<u32>,
}

impl Directory {
    /// A directory for this many data blocks with numbers. `None` if the cache has no room for it,
    /// or lets no block be found.
    pub(crate) fn numbered(cache: &BlockCache, blocks: usize) -> Option<Self> {
        Self::with_slots(cache, blocks, None)
    }

    /// A directory for about `blocks` data blocks without numbers, which end at `end`.
    pub(crate) fn by_offset(cache: &BlockCache, blocks: u64, end: u64) -> Option<Self> {
        let count = blocks.min(end / LEAST_BLOCK + 1).clamp(1, MOST_SLOTS);
        let per_byte = (count << 32) / end.max(1);
        Self::with_slots(cache, count as usize + PROBES - 1, Some(per_byte))
    }

    fn with_slots(cache: &BlockCache, all: usize, per_byte: Option<u64>) -> Option<Self> {
        let charge = cache.reserve_directory(all * size_of::<ArcSwapOption<PlacedBlock>>())?;
        Some(Directory {
            slots: Arc::new(Slots {
                slots: (0..all).map(|_| ArcSwapOption::empty()).collect(),
                per_byte,
            }),
            _charge: charge,
        })
    }

    /// The block at `place`, if it can be found here. With `marked`, only if it is marked as used.
    #[inline]
    pub(crate) fn find(&self, place: BlockPlace, marked: bool) -> Option<FoundBlock> {
        self.slots.probe(place).find_map(|(_, slot)| {
            let block = slot.load();
            match &*block {
                Some(b) if b.is_at(place.offset) && (!marked || b.used.load(Ordering::Relaxed)) => {
                    Some(FoundBlock(block))
                }
                _ => None,
            }
        })
    }

    /// Prefetches the slots of the blocks with these numbers. A hint.
    #[inline]
    pub(crate) fn expect_slots(&self, numbers: Range<usize>) {
        let start = self.slots.slots.as_ptr();
        let last = numbers.end.saturating_sub(1);
        let each_line = numbers.step_by(LINE / size_of::<ArcSwapOption<PlacedBlock>>());
        // They may begin anywhere in a line.
        for number in each_line.chain([last]) {
            prefetch::for_reading(start.wrapping_add(number));
        }
    }

    /// Prefetches the head of the block at `place`, if it may be found here. A hint. Returns
    /// whether it may.
    #[inline]
    pub(crate) fn expect_head(&self, place: BlockPlace) -> bool {
        let mut may = false;
        for (_, slot) in self.slots.probe(place) {
            if let Some(block) = &*slot.load() {
                block.expect();
                may = true;
            }
        }
        may
    }

    /// Prefetches the first entries of the block at `place`, or behind padding there, if it is
    /// here. A hint. Returns whether it is.
    #[inline]
    pub(crate) fn expect_entries(&self, place: BlockPlace) -> bool {
        let mut here = false;
        for (_, slot) in self.slots.probe(place) {
            if let Some(block) = &*slot.load()
                && is_next(place.offset, block.place.offset)
            {
                block.block.expect_first_entries();
                here = true;
            }
        }
        here
    }

    /// The block at `place`, for the cache. It should be [in a slab](crate::cache::in_slab).
    pub(crate) fn place(
        &self,
        place: BlockPlace,
        block: Block,
        key_samples: Option<KeySamples>,
    ) -> Arc<dyn Placed> {
        Arc::new(PlacedBlock {
            block,
            key_samples,
            place,
            used: AtomicBool::new(false),
            at: AtomicU32::new(NOWHERE),
            slots: Arc::downgrade(&self.slots),
        })
    }
}

impl Slots {
    /// The slots where the block at `place` may be.
    #[inline]
    fn probe(
        &self,
        place: BlockPlace,
    ) -> impl Iterator<Item = (usize, &ArcSwapOption<PlacedBlock>)> {
        let (first, count) = match self.per_byte {
            None => place.number.map_or((0, 0), |number| (number as usize, 1)),
            Some(per_byte) => {
                let last = self.slots.len() - PROBES;
                let first = (u128::from(place.offset) * u128::from(per_byte)) >> 32;
                let first = usize::try_from(first).map_or(last, |first| first.min(last));
                (first, PROBES)
            }
        };
        let slots = self.slots.iter().enumerate();
        slots.skip(first).take(count)
    }
}

/// Whether both are the same block, or none.
fn same(a: &Option<Arc<PlacedBlock>>, b: &Option<Arc<PlacedBlock>>) -> bool {
    a.as_ref().map(Arc::as_ptr) == b.as_ref().map(Arc::as_ptr)
}

/// A cached block that the readers of its table find.
#[derive(Debug)]
pub(crate) struct PlacedBlock {
    block: Block,
    key_samples: Option<KeySamples>,
    place: BlockPlace,
    /// Whether a reader has used the block since eviction last looked at it.
    /// Written and cleared by: [`Placed::mark`] and [`Placed::unmark`], under the lock of the
    /// block's shard or before the block is in it. Read by: readers of the table. Publishes nothing
    /// (relaxed).
    used: AtomicBool,
    /// The block's slot, or [`NOWHERE`]. Written and read by: [`Placed::enter`] and
    /// [`Placed::leave`], one at a time: under the lock of the block's shard, or by the thread
    /// that has taken the block from there. Publishes nothing (relaxed).
    at: AtomicU32,
    slots: Weak<Slots>,
}

impl Placed for PlacedBlock {
    fn bytes(&self) -> &Bytes {
        self.block.data()
    }

    fn enter(self: Arc<Self>) {
        // Without a table, nobody looks.
        let Some(slots) = self.slots.upgrade() else {
            return;
        };
        for (at, slot) in slots.probe(self.place) {
            let mut there = slot.load();
            let is_copy = |other: &Arc<Self>| other.place.offset == self.place.offset;
            while there.as_ref().is_none_or(is_copy) {
                let before = slot.compare_and_swap(&*there, Some(Arc::clone(&self)));
                if same(&before, &there) {
                    self.at.store(at as u32, Ordering::Relaxed);
                    return;
                }
                there = before;
            }
        }
    }

    fn leave(&self) {
        let at = self.at.swap(NOWHERE, Ordering::Relaxed);
        if at != NOWHERE
            && let Some(slots) = self.slots.upgrade()
        {
            // Another copy of the block may be there by now.
            slots.slots[at as usize].compare_and_swap(std::ptr::from_ref(self), None);
        }
    }

    fn is_entered(&self) -> bool {
        self.at.load(Ordering::Relaxed) != NOWHERE && self.slots.strong_count() > 0
    }

    fn mark(&self) {
        if !self.used.load(Ordering::Relaxed) {
            self.used.store(true, Ordering::Relaxed);
        }
    }

    fn unmark(&self) -> bool {
        let was = self.used.load(Ordering::Relaxed);
        self.used.store(false, Ordering::Relaxed);
        was
    }
}

/// A block that was found in a directory, held without being counted.
pub(crate) struct FoundBlock(Guard<Option<Arc<PlacedBlock>>>);

impl Deref for FoundBlock {
    type Target = Block;

    #[inline]
    fn deref(&self) -> &Block {
        // `find` returns blocks only.
        self.0.as_ref().map_or(&EMPTY, |placed| &placed.block)
    }
}

impl FoundBlock {
    /// Prefetches what a search of the block reads first. A hint.
    #[inline]
    pub(crate) fn expect_search(&self) {
        match &*self.0 {
            Some(placed) if placed.key_samples.is_none() => placed.block.expect_restart_keys(),
            // The samples tell the entries, and the search prefetches those.
            _ => {}
        }
    }

    /// Samples of its keys, if it has them.
    #[inline]
    pub(crate) fn key_samples(&self) -> Option<&KeySamples> {
        self.0.as_ref()?.key_samples.as_ref()
    }

    /// A share of the block, which counts as a user of it.
    #[inline]
    pub(crate) fn placed(&self) -> Option<Arc<PlacedBlock>> {
        rmw::shared_writes(2);
        self.0.clone()
    }
}

impl PlacedBlock {
    /// Prefetches what readers look at before the block itself. A hint.
    #[inline]
    fn expect(&self) {
        let start = std::ptr::from_ref(self).cast::<u8>();
        let last = size_of::<Self>() - 1;
        // It may begin anywhere in a line.
        for at in (0..last).step_by(LINE).chain([last]) {
            prefetch::for_reading(start.wrapping_add(at));
        }
    }

    /// Whether it is the block at `offset`. What its readers look at next is prefetched.
    #[inline]
    fn is_at(&self, offset: u64) -> bool {
        self.expect();
        self.place.offset == offset
    }

    /// All bytes of the block.
    #[inline]
    pub(crate) fn data(&self) -> &Bytes {
        self.block.data()
    }
}

/// A data block that a reader holds.
pub(crate) enum DataBlock {
    /// It was found in the table's directory.
    Found(FoundBlock),
    /// It was found in the cache, where it is counted.
    Cached(Block),
    /// It was read. It is counted if it is cached now, else it belongs to the reader.
    Read(Block),
}

impl DataBlock {
    /// Whether it was in the cache.
    #[inline]
    pub(crate) fn was_cached(&self) -> bool {
        !matches!(self, DataBlock::Read(_))
    }

    /// Samples of its keys, if it has them.
    #[inline]
    pub(crate) fn key_samples(&self) -> Option<&KeySamples> {
        match self {
            DataBlock::Found(found) => found.key_samples(),
            DataBlock::Cached(_) | DataBlock::Read(_) => None,
        }
    }

    /// The block, for a reader that keeps it.
    pub(crate) fn keep(self) -> KeptBlock {
        match self {
            DataBlock::Found(FoundBlock(guard)) => match Guard::into_inner(guard) {
                Some(placed) => {
                    rmw::shared_writes(2);
                    KeptBlock::Placed(placed)
                }
                // `find` returns blocks only.
                None => KeptBlock::Own(Block::empty()),
            },
            DataBlock::Cached(block) | DataBlock::Read(block) => KeptBlock::Own(block),
        }
    }
}

impl Deref for DataBlock {
    type Target = Block;

    #[inline]
    fn deref(&self) -> &Block {
        match self {
            DataBlock::Found(found) => found,
            DataBlock::Cached(block) | DataBlock::Read(block) => block,
        }
    }
}

/// A data block that a reader keeps.
#[derive(Debug)]
pub(crate) enum KeptBlock {
    /// It is counted where its readers look at it first, so that the count seldom costs a cache
    /// miss.
    Placed(Arc<PlacedBlock>),
    /// It is not in the directory.
    Own(Block),
}

impl Deref for KeptBlock {
    type Target = Block;

    #[inline(always)]
    fn deref(&self) -> &Block {
        match self {
            KeptBlock::Placed(placed) => &placed.block,
            KeptBlock::Own(block) => block,
        }
    }
}

impl KeptBlock {
    /// Samples of its keys, if it has them.
    #[inline]
    pub(crate) fn key_samples(&self) -> Option<&KeySamples> {
        match self {
            KeptBlock::Placed(placed) => placed.key_samples.as_ref(),
            KeptBlock::Own(_) => None,
        }
    }
}
