//! A tree's memory: pieces named by 32-bit numbers.
//!
//! A piece is named by its distance from the start in *units* of 8 bytes. All
//! of a small tree lies in one region, so that following a name is one
//! addition; a tree that outgrows it gets further regions, each as large as
//! all before it together:
//!
//! ```text
//!  units  0           M           2M                      4M
//!         | region 0  | region 1  | region 2              | ...
//! ```
//!
//! Whether a name lies in region 0 is a branch that is predicted, so it does
//! not lengthen a chain of loads.
//!
//! Threads take pieces from *shards*: one word each that holds the rest of a
//! small range, moved by compare-and-swap. Ranges are a page while the tree is
//! small, and grow with it, so that what is taken is near to what is used: a tree
//! of few keys takes some KiB of its region. Nothing is freed singly, but a piece
//! that nobody else has got to know can go back, as long as no other was taken.
//!
//! # Invariants
//! * M1: a piece lies in one region, which lives as long as the memory; it
//!   overlaps no other piece, and is aligned to 8. Regions that follow each
//!   other in units do not in addresses.
//! * M2: units 0 and 1 are in no piece, so they can mean something else.

use std::cell::Cell;
use std::ptr::NonNull;
use std::sync::OnceLock;
use std::sync::atomic::Ordering;

use crossbeam_utils::CachePadded;
use parking_lot::Mutex;

use crate::cores::cores;
use crate::prefetch;
use crate::region::{HugePages, PLAIN, Region};
use crate::sync::MODELLED;
// These order nothing that readers rely on, so models need not branch on them.
use crate::sync::unmodelled::{AtomicU64, AtomicUsize};

/// Bytes of a unit.
pub(super) const UNIT: usize = 8;

/// Units are below this, so that a name has a bit to spare, and no region
/// exceeds what may be one object: 16 GiB, and 2 GiB where pointers have 32
/// bits.
const MAX_UNITS: u64 = if cfg!(target_pointer_width = "64") {
    1 << 31
} else {
    1 << 28
};

/// Units of the smallest and the largest region 0: 64 KiB and 8 GiB.
const MIN_MAIN: u64 = if cfg!(any(loom, shuttle, miri)) {
    1 << 11
} else {
    1 << 13
};
const MAX_MAIN: u64 = if cfg!(target_pointer_width = "64") {
    1 << 30
} else {
    1 << 25
};

/// Region 0 and its successors: more cannot be needed below [`MAX_UNITS`].
const REGIONS: usize = 24;

/// Units a shard takes at a time, at most: 64 KiB, less in small trees.
const MAX_RANGE: u32 = 8 << 10;

/// Units it takes at a time at first, if not fewer: a page.
const FIRST_RANGE: u64 = (4 << 10) / UNIT as u64;

/// Bytes of the largest piece that is taken for what may turn out in vain.
const MAX_UNDOABLE: usize = 512;

/// The first unit handed out (M2).
const FIRST_UNIT: u32 = 8;

/// The low half of a word.
const LOW: u64 = u32::MAX as u64;

thread_local! {
    /// The number of this thread among all that have used a tree.
    static THREAD: Cell<usize> = const { Cell::new(usize::MAX) };
}

/// The memory of one tree.
#[derive(Debug)]
pub(super) struct Memory {
    /// Start of region 0.
    base: NonNull<u8>,
    /// Units of region 0, a power of two.
    main_units: u32,
    /// Units a shard takes at a time once the tree is large.
    range: u32,
    /// Whether to ask for huge pages.
    huge: HugePages,
    /// Bytes of region 0's pages, less one, and the bytes up to which they are
    /// not what counts, as there are smaller ones.
    page_mask: usize,
    plain: usize,
    /// Where pieces come from; a power of two of them.
    shards: Box<[CachePadded<Shard>]>,
    regions: [OnceLock<Region>; REGIONS],
    /// On lines of its own, as everybody reads the fields above all the time.
    supply: CachePadded<Supply>,
}

// SAFETY: the regions are owned, and what lies in them is shared by the rules
// of the modules that put it there; `base` only repeats region 0's address.
unsafe impl Send for Memory {}
// SAFETY: as for `Send`.
unsafe impl Sync for Memory {}

/// One source of pieces.
#[derive(Debug)]
struct Shard {
    /// What is left of its range: end in the high half, next in the low half,
    /// in units. Written by: allocating threads, by compare-and-swap. Read by
    /// them and by `used_bytes`. Publishes that the range's region is there;
    /// pieces are published by whoever fills them. And that a piece was given back.
    rest: AtomicU64,
    /// Bytes counted by [`Memory::count_garbage`]. Publishes nothing.
    garbage: AtomicUsize,
}

/// Where ranges come from.
#[derive(Debug)]
struct Supply {
    /// No model may branch while this is held: it is not a model's lock.
    carve: Mutex<Carve>,
    /// Units carved off the regions, and those of them nobody can use any
    /// more. Written with `carve` locked. Read by: anyone. Publish nothing.
    carved: AtomicUsize,
    lost: AtomicUsize,
}

/// Where the next range begins.
#[derive(Debug)]
struct Carve {
    next: u64,
    /// The end of the region `next` lies in.
    end: u64,
}

impl Memory {
    /// Memory whose region 0 holds about `capacity` bytes (64 KiB to 8 GiB,
    /// rounded up to a power of two; less if the system refuses so much).
    pub(super) fn new(capacity: usize, huge: HugePages) -> Self {
        let units = capacity.div_ceil(UNIT) as u64;
        let mut units = units.clamp(MIN_MAIN, MAX_MAIN).next_power_of_two();
        let main = loop {
            let bytes = units as usize * UNIT;
            match Region::reserve(bytes, huge, true) {
                Some(region) => break region,
                None if units > MIN_MAIN => units /= 2,
                None => break Region::from_heap(bytes),
            }
        };
        let threads = if MODELLED { 1 } else { cores() };
        let shards = (0..threads.max(8).next_power_of_two())
            .map(|_| CachePadded::new(Shard::new()))
            .collect::<Box<[_]>>();
        let range = (units / 128).clamp(64, u64::from(MAX_RANGE)) as u32;
        let base = main.start();
        let (page_mask, plain) = match main.huge().grain() {
            Some(page) if main.starts_plain() => (page - 1, PLAIN),
            Some(page) => (page - 1, 0),
            None => (0, 0),
        };
        let regions = [const { OnceLock::new() }; REGIONS];
        let first = regions[0].set(main);
        debug_assert!(first.is_ok(), "nothing was set before");
        Memory {
            base,
            main_units: units as u32,
            range,
            huge,
            page_mask,
            plain,
            shards,
            regions,
            supply: CachePadded::new(Supply {
                carve: Mutex::new(Carve {
                    next: u64::from(FIRST_UNIT),
                    end: units,
                }),
                carved: AtomicUsize::new(0),
                lost: AtomicUsize::new(0),
            }),
        }
    }

    /// The address of a piece of this memory.
    ///
    /// # Panics
    /// If the unit was never handed out and lies in no region.
    #[inline(always)]
    pub(super) fn at(&self, offset: u32) -> NonNull<u8> {
        if offset < self.main_units {
            // SAFETY: region 0 has that many units, and lives as long as
            // `self`.
            unsafe { self.base.add(offset as usize * UNIT) }
        } else {
            self.far(offset)
        }
    }

    #[cold]
    #[inline(never)]
    fn far(&self, offset: u32) -> NonNull<u8> {
        let times = offset / self.main_units;
        let start = self.main_units << times.ilog2();
        let region = self.regions[1 + times.ilog2() as usize].get();
        let region = region.expect("an allocation lies in a region");
        let bytes = (offset - start) as usize * UNIT;
        assert!(bytes < region.bytes(), "an allocation lies in its region");
        // SAFETY: inside the region, as was just checked.
        unsafe { region.start().add(bytes) }
    }

    /// Asks the processor for the line of a piece.
    #[inline(always)]
    pub(super) fn prefetch(&self, offset: u32, line: usize) {
        let bytes = offset as usize * UNIT + line * 64;
        prefetch::for_reading(self.base.as_ptr().wrapping_add(bytes));
    }

    /// Asks the processor for the lines with the bytes of a piece from `from` to
    /// before `to`. Beyond some lines the rest is left to the processor, which
    /// notices when memory is read in order.
    #[inline(always)]
    pub(super) fn prefetch_bytes(&self, offset: u32, from: usize, to: usize) {
        const LINE: usize = 64;
        const MOST: usize = 16 * LINE;
        let allocation = self.base.as_ptr().wrapping_add(offset as usize * UNIT);
        let start = allocation.addr().wrapping_add(from) & !(LINE - 1);
        let mut line = allocation.wrapping_add(start.wrapping_sub(allocation.addr()));
        let end = allocation.wrapping_add(to.min(from + MOST));
        while line < end {
            prefetch::for_reading(line);
            line = line.wrapping_add(LINE);
        }
    }

    /// A piece of `bytes` bytes, uninitialized, by its unit.
    ///
    /// # Panics
    /// If the tree would exceed 16 GiB. Nothing is changed then.
    #[inline]
    pub(super) fn allocate(&self, bytes: usize) -> u32 {
        let units = bytes.div_ceil(UNIT).max(1) as u64;
        if units > u64::from(self.range / 4) {
            return self.allocate_large(units);
        }
        let shard = self.shard();
        match shard.take(units) {
            Some(allocation) => allocation,
            None => self.allocate_refill(shard, units),
        }
    }

    /// Whether a piece of so many bytes, and one that costs little, can go
    /// [back](Memory::undo_allocate), mostly.
    #[inline]
    pub(super) fn can_undo(&self, bytes: usize) -> bool {
        bytes <= MAX_UNDOABLE && bytes <= self.range as usize / 4 * UNIT
    }

    /// Takes a piece of so many bytes back that no other thread knows, if it is the
    /// last of its shard; returns whether it is.
    pub(super) fn undo_allocate(&self, offset: u32, bytes: usize) -> bool {
        let units = bytes.div_ceil(UNIT).max(1) as u64;
        // What begins a region does not continue what ends there (M1).
        !self.begins_region(u64::from(offset) + units) && self.shard().undo_allocate(offset, units)
    }

    #[cold]
    #[inline(never)]
    fn allocate_large(&self, units: u64) -> u32 {
        self.carve_off(&mut self.supply.carve.lock(), units) as u32
    }

    /// Takes a piece from a fresh range and leaves the rest to the shard.
    #[cold]
    #[inline(never)]
    fn allocate_refill(&self, shard: &Shard, units: u64) -> u32 {
        let mut carve = self.supply.carve.lock();
        // Another thread may have been here first.
        if let Some(allocation) = shard.take(units) {
            return allocation;
        }
        let range = self.range_at(carve.next);
        if units > range / 4 {
            return self.carve_off(&mut carve, units) as u32;
        }
        let start = self.carve_off(&mut carve, range);
        let end = start + range;
        let mut old = shard.rest.load(Ordering::Relaxed);
        loop {
            let (old_end, old_next) = (old >> 32, old & LOW);
            // A range that follows the last one continues it, unless it is
            // the first of a region (M1).
            let joined = old_end == start && !self.begins_region(start);
            let first = if joined { old_next } else { start };
            // Release: partner of the Acquire in `Shard::take`.
            match shard.rest.compare_exchange_weak(
                old,
                end << 32 | (first + units),
                Ordering::Release,
                Ordering::Relaxed,
            ) {
                Ok(_) => {
                    let wasted = if joined { 0 } else { old_end - old_next };
                    self.supply
                        .lost
                        .fetch_add(wasted as usize, Ordering::Relaxed);
                    return first as u32;
                }
                Err(now) => old = now,
            }
        }
    }

    /// Units that a shard takes at a time when so many have been carved off.
    fn range_at(&self, carved: u64) -> u64 {
        let most = u64::from(self.range);
        (carved / 128)
            .next_power_of_two()
            .clamp(most.min(FIRST_RANGE), most)
    }

    /// Cuts units off the current region, taking the next one if needed.
    fn carve_off(&self, carve: &mut Carve, units: u64) -> u64 {
        if carve.next + units > carve.end {
            // Regions too small for the piece are passed over and never taken.
            let mut start = carve.end;
            while start < units {
                start *= 2;
            }
            assert!(start * 2 <= MAX_UNITS, "the tree has reached 16 GiB");
            let index = 1 + (start / u64::from(self.main_units)).ilog2() as usize;
            let bytes = start as usize * UNIT;
            self.regions[index].get_or_init(|| {
                Region::reserve(bytes, self.huge, false).unwrap_or_else(|| Region::from_heap(bytes))
            });
            (carve.next, carve.end) = (start, start * 2);
        }
        let start = carve.next;
        carve.next += units;
        self.furnish(start, carve.next);
        self.supply
            .carved
            .fetch_add(units as usize, Ordering::Relaxed);
        start
    }

    /// Has the region make ready for units that are about to be handed out for the
    /// first time, all of one region.
    fn furnish(&self, from: u64, to: u64) {
        let (region, start) = match from / u64::from(self.main_units) {
            0 => (0, 0),
            times => (
                1 + times.ilog2() as usize,
                u64::from(self.main_units) << times.ilog2(),
            ),
        };
        if let Some(region) = self.regions[region].get() {
            let bytes = |offset: u64| (offset - start) as usize * UNIT;
            region.furnish(bytes(from)..bytes(to));
        }
    }

    /// Whether a region other than 0 begins at a unit of a range.
    fn begins_region(&self, offset: u64) -> bool {
        offset >= u64::from(self.main_units) && offset.is_power_of_two()
    }

    #[inline(always)]
    fn shard(&self) -> &Shard {
        let mut thread = THREAD.with(Cell::get);
        if thread == usize::MAX {
            thread = number_this_thread();
        }
        &self.shards[thread & (self.shards.len() - 1)]
    }

    /// Counts bytes that serve no purpose any more. By shard, as growing nodes
    /// leave some behind all the time.
    pub(super) fn count_garbage(&self, bytes: usize) {
        self.shard().garbage.fetch_add(bytes, Ordering::Relaxed);
    }

    /// Bytes of garbage counted.
    pub(super) fn garbage(&self) -> usize {
        let each = self.shards.iter();
        each.map(|s| s.garbage.load(Ordering::Relaxed)).sum()
    }

    /// Bytes of pieces handed out. Exact when no allocation is in flight.
    pub(super) fn used_bytes(&self) -> usize {
        let left = self.shards.iter().map(|shard| {
            let rest = shard.rest.load(Ordering::Relaxed);
            ((rest >> 32) - (rest & LOW)) as usize
        });
        let unused = left.sum::<usize>() + self.supply.lost.load(Ordering::Relaxed);
        let carved = self.supply.carved.load(Ordering::Relaxed);
        // Saturating: the loads are not one snapshot.
        carved.saturating_sub(unused) * UNIT
    }

    /// Bytes taken: pieces, and what lies ready for further ones, in whole pages
    /// where these are huge.
    pub(super) fn allocated_bytes(&self) -> usize {
        let carved = self.supply.carved.load(Ordering::Relaxed) * UNIT;
        if carved <= self.plain {
            return carved;
        }
        (carved + self.page_mask) & !self.page_mask
    }
}

impl Drop for Memory {
    fn drop(&mut self) {
        let next = self.supply.carve.get_mut().next as usize;
        let mut start = 0;
        for region in &mut self.regions {
            if let Some(region) = region.take() {
                let bytes = region.bytes();
                region.release((next * UNIT).saturating_sub(start).min(bytes));
                start = if start == 0 { bytes } else { start * 2 };
            } else {
                start *= 2;
            }
        }
    }
}

impl Shard {
    fn new() -> Self {
        Shard {
            rest: AtomicU64::new(0),
            garbage: AtomicUsize::new(0),
        }
    }

    /// A piece of what is left, if that is enough.
    #[inline(always)]
    fn take(&self, units: u64) -> Option<u32> {
        let mut rest = self.rest.load(Ordering::Relaxed);
        loop {
            let next = rest & LOW;
            if next + units > rest >> 32 {
                return None;
            }
            // Acquire: partner of the Release with which the range came, so
            // that its region is known here, and of that in `undo_allocate`. The low half cannot overflow, as
            // it stays below the high half's value.
            match self.rest.compare_exchange_weak(
                rest,
                rest + units,
                Ordering::Acquire,
                Ordering::Relaxed,
            ) {
                Ok(_) => return Some(next as u32),
                Err(now) => rest = now,
            }
        }
    }

    /// Puts a piece before what is left, if it lies right before that.
    fn undo_allocate(&self, allocation: u32, units: u64) -> bool {
        let rest = self.rest.load(Ordering::Relaxed);
        if rest & LOW != u64::from(allocation) + units {
            return false;
        }
        // Release: partner of the Acquire in `take`, by which what was written to the
        // piece comes before what its next owner writes.
        self.rest
            .compare_exchange(rest, rest - units, Ordering::Release, Ordering::Relaxed)
            .is_ok()
    }
}

#[cold]
fn number_this_thread() -> usize {
    /// Threads numbered so far. Publishes nothing.
    static THREADS: AtomicUsize = AtomicUsize::new(0);
    let thread = crate::system::number()
        .unwrap_or_else(|| THREADS.fetch_add(1, Ordering::Relaxed) & (usize::MAX >> 1));
    THREAD.with(|own| own.set(thread));
    thread
}

#[cfg(all(test, not(any(loom, shuttle))))]
mod tests {
    use super::*;

    /// Small pieces in a row, through several regions: none may begin in one
    /// region and end in the next, which lies elsewhere (M1).
    #[test]
    fn an_allocation_lies_in_one_region() {
        // With large pieces of any size before, ranges end anywhere.
        for large in (0..64).map(|units| (64 + units) * UNIT) {
            let memory = Memory::new(0, HugePages::Off);
            memory.allocate(large);
            while memory.supply.carve.lock().next < 5 * MIN_MAIN {
                let offset = memory.allocate(3 * UNIT);
                let (first, last) = (memory.at(offset), memory.at(offset + 2));
                assert_eq!(last.addr().get() - first.addr().get(), 2 * UNIT);
            }
        }
    }

    /// The last piece of a shard can go back, and is handed out again; no other can,
    /// nor one that ends with its region.
    #[test]
    fn the_last_allocation_can_be_undone() {
        let memory = Memory::new(0, HugePages::Off);
        let first = memory.allocate(3 * UNIT);
        let second = memory.allocate(5 * UNIT);
        assert!(
            !memory.undo_allocate(first, 3 * UNIT),
            "there is one behind it"
        );
        assert!(memory.undo_allocate(second, 5 * UNIT));
        assert!(!memory.undo_allocate(second, 5 * UNIT), "it was given back");
        assert_eq!(memory.used_bytes(), 3 * UNIT);
        assert_eq!(memory.allocate(UNIT), second);
        assert!(memory.undo_allocate(second, UNIT) && memory.undo_allocate(first, 3 * UNIT));
        assert_eq!(memory.used_bytes(), 0);
        // Over the end of several regions.
        let (mut last, mut ends) = (0, 0);
        while memory.supply.carve.lock().next < 5 * MIN_MAIN {
            let offset = memory.allocate(UNIT);
            if memory.begins_region(u64::from(offset)) {
                assert!(memory.undo_allocate(offset, UNIT));
                assert!(!memory.undo_allocate(last, UNIT), "of another region");
                assert_eq!(memory.allocate(UNIT), offset);
                ends += 1;
            }
            last = offset;
        }
        assert!(ends > 0);
    }

    /// More threads than shards take pieces and give some back: none overlaps another.
    #[test]
    fn allocations_of_many_threads_that_undo_some_do_not_overlap() {
        let memory = Memory::new(0, HugePages::Off);
        let threads = 3 * memory.shards.len() as u64;
        let write = |offset: u32, units: u64, what: u64| {
            let words = memory.at(offset).cast::<u64>();
            for i in 0..units as usize {
                // SAFETY: inside a piece of this thread, whose units are words.
                let word = unsafe { words.add(i) };
                // SAFETY: as above; aligned to 8.
                unsafe { word.write(what) };
            }
        };
        let read = |offset: u32, units: u64| -> Vec<u64> {
            let words = memory.at(offset).cast::<u64>();
            // SAFETY: a piece of units that were all written, by a thread that has ended
            // or this one.
            unsafe { std::slice::from_raw_parts(words.as_ptr(), units as usize) }.to_vec()
        };
        let kept: Vec<(u32, u64, u64)> = std::thread::scope(|scope| {
            let all: Vec<_> = (0..threads)
                .map(|t| {
                    let (memory, write) = (&memory, &write);
                    scope.spawn(move || {
                        let mut kept = Vec::new();
                        for i in 0..if cfg!(miri) { 20 } else { 2_000 } {
                            let (units, what) = (1 + (t + i) % 7, t << 32 | i);
                            let bytes = units as usize * UNIT;
                            let offset = memory.allocate(bytes);
                            write(offset, units, what);
                            if i % 3 != 0 || !memory.undo_allocate(offset, bytes) {
                                kept.push((offset, units, what));
                            }
                        }
                        kept
                    })
                })
                .collect();
            all.into_iter().flat_map(|t| t.join().unwrap()).collect()
        });
        for &(offset, units, what) in &kept {
            assert!(
                read(offset, units).iter().all(|word| *word == what),
                "{what:x}"
            );
        }
        let used: u64 = kept.iter().map(|(_, units, _)| units).sum();
        assert_eq!(memory.used_bytes(), used as usize * UNIT);
    }

    /// A piece that cannot be had leaves everything as it was.
    #[test]
    fn memory_survives_an_allocation_that_is_too_large() {
        let memory = Memory::new(0, HugePages::Off);
        let bytes = MAX_UNITS as usize / 2 * UNIT + 1;
        let refused = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| {
            memory.allocate(bytes);
        }));
        assert!(refused.is_err());
        for _ in 0..1_000 {
            // Panics where there is no region.
            memory.at(memory.allocate(UNIT));
        }
        assert_eq!(memory.used_bytes(), 1_000 * UNIT);
    }
}
