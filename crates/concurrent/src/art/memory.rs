//! A tree's memory: allocations that are identified by 32-bit offsets.
//!
//! The offset of an allocation is its distance from the start, in *units* of 8 bytes. All
//! of a small tree lies in one region, so that an offset is turned into an address by one
//! addition. A tree that outgrows the region gets further regions, each as large as all
//! before it together:
//!
//! ```text
//!  units  0           M           2M                      4M
//!         | region 0  | region 1  | region 2              | ...
//! ```
//!
//! Whether an offset lies in region 0 is a branch that the processor predicts, so it does
//! not lengthen a chain of loads.
//!
//! Threads allocate from *shards*. A shard is one word that holds the rest of a small
//! range, and is updated by compare-and-swap. Ranges are a page while the tree is small,
//! and grow with it, so that a tree takes little more than it uses: a tree of few keys
//! takes some KiB of its region. There is no freeing, but an allocation that no other
//! thread knows can be undone, as long as none was made after it in the same shard.
//!
//! # Invariants
//! * M1: an allocation lies in one region, which lives as long as the memory. It overlaps
//!   no other allocation and is aligned to 8. Regions whose units follow each other are
//!   not adjacent in the address space.
//! * M2: units 0 and 1 are in no allocation, so these offsets can have other meanings.

use std::cell::Cell;
use std::ptr::NonNull;
use std::sync::OnceLock;
use std::sync::atomic::Ordering;

use crossbeam_utils::CachePadded;
use parking_lot::Mutex;

use crate::cores::cores;
use crate::prefetch;
use crate::region::{HugePages, Region, ahead};
use crate::sync::MODELLED;
// These order nothing that readers rely on, so models need not branch on them.
use crate::sync::unmodelled::{AtomicU64, AtomicUsize};

/// Bytes of a unit.
pub(super) const UNIT: usize = 8;

/// Offsets are below this, so that they leave a bit unused and no region exceeds the
/// largest size of an object: 16 GiB, and 2 GiB where pointers have 32 bits.
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

/// The number of regions. Below [`MAX_UNITS`] no more can be needed.
const REGIONS: usize = 24;

/// The most units that a shard takes at a time: 64 KiB, less in small trees.
const MAX_RANGE: u32 = 8 << 10;

/// The units that a shard takes at a time at first, unless the most is less: a page.
const FIRST_RANGE: u64 = (4 << 10) / UNIT as u64;

/// Bytes of the largest version that is made although it may have to be undone.
const MAX_UNDOABLE: usize = 512;

/// The first offset handed out (M2).
const FIRST_OFFSET: u32 = 8;

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
    /// The units that a shard takes at a time once the tree is large.
    range: u32,
    /// Whether to ask for huge pages.
    huge: HugePages,
    /// Bytes of region 0's pages, less one, and the bytes at its start that have plain
    /// pages.
    page_mask: usize,
    plain: usize,
    /// The shards; their number is a power of two.
    shards: Box<[CachePadded<Shard>]>,
    regions: [OnceLock<Region>; REGIONS],
    /// On cache lines of its own, since all threads read the fields above all the time.
    supply: CachePadded<Supply>,
}

// SAFETY: the regions are owned, and their contents are shared by the rules of the
// modules that put them there; `base` only repeats region 0's address.
unsafe impl Send for Memory {}
// SAFETY: as for `Send`: shared access follows the rules of those modules, too.
unsafe impl Sync for Memory {}

/// A range that allocations are taken from.
#[derive(Debug)]
struct Shard {
    /// The rest of the shard's range, in units: its end in the high half, the next offset
    /// in the low half.
    /// Written by: allocating threads, by compare-and-swap. Read by: allocating threads
    /// and `used_bytes`. Publishes: that the range's region exists, and that an
    /// allocation was undone. The contents of allocations are published by the threads
    /// that fill them.
    rest: AtomicU64,
    /// Bytes counted by [`Memory::count_garbage`]. Publishes nothing.
    garbage: AtomicUsize,
}

/// The source of ranges.
#[derive(Debug)]
struct Supply {
    /// No model may branch while this is held, since it is not a model's lock.
    carve: Mutex<Carve>,
    /// Units carved off the regions, and the units among them that are lost: no
    /// allocation can use them.
    /// Written by: threads that hold `carve`. Read by: any thread. Publish nothing.
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
        let page_mask = main.huge().grain().map_or(0, |page| page - 1);
        let plain = main.plain();
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
                    next: u64::from(FIRST_OFFSET),
                    end: units,
                }),
                carved: AtomicUsize::new(0),
                lost: AtomicUsize::new(0),
            }),
        }
    }

    /// The address of an allocation of this memory.
    ///
    /// # Panics
    /// If the offset was never handed out and lies in no region.
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

    /// Prefetches one cache line of an allocation.
    #[inline(always)]
    pub(super) fn prefetch(&self, offset: u32, line: usize) {
        let bytes = offset as usize * UNIT + line * 64;
        prefetch::for_reading(self.base.as_ptr().wrapping_add(bytes));
    }

    /// Prefetches the cache lines with the bytes of an allocation from `from` to before
    /// `to`. Beyond some lines the rest is left to the processor, which detects
    /// sequential reads.
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

    /// Allocates `bytes` uninitialized bytes, and returns the offset.
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

    /// Whether an allocation of `bytes` bytes is cheap, and can usually be
    /// [undone](Memory::undo_allocate).
    #[inline]
    pub(super) fn can_undo(&self, bytes: usize) -> bool {
        bytes <= MAX_UNDOABLE && bytes <= self.range as usize / 4 * UNIT
    }

    /// Undoes an allocation of `bytes` bytes that no other thread knows, if it is the
    /// last one of its shard. Returns whether it is.
    pub(super) fn undo_allocate(&self, offset: u32, bytes: usize) -> bool {
        let units = bytes.div_ceil(UNIT).max(1) as u64;
        // Units at the start of a region do not continue those at the end of the region
        // before (M1).
        !self.begins_region(u64::from(offset) + units) && self.shard().undo_allocate(offset, units)
    }

    #[cold]
    #[inline(never)]
    fn allocate_large(&self, units: u64) -> u32 {
        let (start, missing) = self.carve_off(&mut self.supply.carve.lock(), units);
        prepare_next(missing);
        start as u32
    }

    /// Allocates from a fresh range and leaves the rest to the shard.
    #[cold]
    #[inline(never)]
    fn allocate_refill(&self, shard: &Shard, units: u64) -> u32 {
        let mut carve = self.supply.carve.lock();
        // Another thread may have refilled the shard first.
        if let Some(allocation) = shard.take(units) {
            return allocation;
        }
        let range = self.range_at(carve.next);
        let (start, missing) = match units > range / 4 {
            true => self.carve_off(&mut carve, units),
            false => self.refill(shard, &mut carve, range, units),
        };
        drop(carve);
        prepare_next(missing);
        start as u32
    }

    /// Cuts `range` units off, allocates the first `units` of them, and gives the shard the rest.
    /// Returns as [`Memory::carve_off`].
    fn refill(
        &self,
        shard: &Shard,
        carve: &mut Carve,
        range: u64,
        units: u64,
    ) -> (u64, Option<HugePages>) {
        let (start, missing) = self.carve_off(carve, range);
        let end = start + range;
        let mut old = shard.rest.load(Ordering::Relaxed);
        loop {
            let (old_end, old_next) = (old >> 32, old & LOW);
            // A range that follows the shard's last one continues it, unless it is the
            // first of a region (M1).
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
                    return (first, missing);
                }
                Err(now) => old = now,
            }
        }
    }

    /// The units that a shard takes at a time when `carved` have been carved off.
    fn range_at(&self, carved: u64) -> u64 {
        let most = u64::from(self.range);
        (carved / 128)
            .next_power_of_two()
            .clamp(most.min(FIRST_RANGE), most)
    }

    /// Cuts units off the current region, or off the next one if they do not fit. Returns where
    /// they start, and what [`prepare_next`] needs.
    fn carve_off(&self, carve: &mut Carve, units: u64) -> (u64, Option<HugePages>) {
        if carve.next + units > carve.end {
            // Regions that are too small for the allocation are skipped and never mapped.
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
        let missing = self.furnish(start, carve.next);
        self.supply
            .carved
            .fetch_add(units as usize, Ordering::Relaxed);
        (start, missing)
    }

    /// Has the region prepare memory for units that are about to be handed out for the
    /// first time. All of them are of one region. Returns as [`Region::furnish`].
    fn furnish(&self, from: u64, to: u64) -> Option<HugePages> {
        let (region, start) = match from / u64::from(self.main_units) {
            0 => (0, 0),
            times => (
                1 + times.ilog2() as usize,
                u64::from(self.main_units) << times.ilog2(),
            ),
        };
        let bytes = |offset: u64| (offset - start) as usize * UNIT;
        let region = self.regions[region].get();
        region.and_then(|region| region.furnish(bytes(from)..bytes(to)))
    }

    /// Whether a region other than 0 begins at this offset.
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

    /// Counts bytes that no longer serve a purpose. The count is sharded, since nodes
    /// that grow leave garbage behind all the time.
    pub(super) fn count_garbage(&self, bytes: usize) {
        self.shard().garbage.fetch_add(bytes, Ordering::Relaxed);
    }

    /// Bytes of garbage counted.
    pub(super) fn garbage(&self) -> usize {
        let each = self.shards.iter();
        each.map(|s| s.garbage.load(Ordering::Relaxed)).sum()
    }

    /// Bytes that are allocated. Exact when no allocation is in flight.
    pub(super) fn used_bytes(&self) -> usize {
        let left = self.shards.iter().map(|shard| {
            let rest = shard.rest.load(Ordering::Relaxed);
            ((rest >> 32) - (rest & LOW)) as usize
        });
        let unused = left.sum::<usize>() + self.supply.lost.load(Ordering::Relaxed);
        let carved = self.supply.carved.load(Ordering::Relaxed);
        // Saturating, since the loads are not one snapshot.
        carved.saturating_sub(unused) * UNIT
    }

    /// Bytes taken for allocations, including what lies ready for further ones; whole
    /// pages where these are huge.
    pub(super) fn allocated_bytes(&self) -> usize {
        let carved = self.supply.carved.load(Ordering::Relaxed) * UNIT;
        let whole = |bytes: usize| (bytes + self.page_mask) & !self.page_mask;
        let main = self.main_units as usize * UNIT;
        match carved.checked_sub(self.plain) {
            None => carved,
            Some(behind) if carved <= main => main.min(self.plain + whole(behind)),
            Some(_) => whole(carved),
        }
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

    /// Allocates from the rest of the range, if that is enough.
    #[inline(always)]
    fn take(&self, units: u64) -> Option<u32> {
        let mut rest = self.rest.load(Ordering::Relaxed);
        loop {
            let next = rest & LOW;
            if next + units > rest >> 32 {
                return None;
            }
            // Acquire: partner of the Release that stored the range, so that its region
            // is known here, and of the one in `undo_allocate`. The low half cannot
            // overflow, since it stays below the value of the high half.
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

    /// Adds an allocation to the rest of the range again, if it lies right before that.
    fn undo_allocate(&self, allocation: u32, units: u64) -> bool {
        let rest = self.rest.load(Ordering::Relaxed);
        if rest & LOW != u64::from(allocation) + units {
            return false;
        }
        // Release: partner of the Acquire in `take`. So what was written to the
        // allocation comes before what its next owner writes.
        self.rest
            .compare_exchange(rest, rest - units, Ordering::Release, Ordering::Relaxed)
            .is_ok()
    }
}

/// Has the next piece prepared after one of these pages was needed that was not kept. Called with
/// no lock of the tree or its memory held, since the thread that prepares it may get this core.
fn prepare_next(missing: Option<HugePages>) {
    if let Some(pages) = missing {
        ahead::want(pages);
    }
}

#[cold]
fn number_this_thread() -> usize {
    /// The number of threads numbered so far. Publishes nothing.
    static THREADS: AtomicUsize = AtomicUsize::new(0);
    let thread = crate::system::number()
        .unwrap_or_else(|| THREADS.fetch_add(1, Ordering::Relaxed) & (usize::MAX >> 1));
    THREAD.with(|own| own.set(thread));
    thread
}

#[cfg(all(test, not(any(loom, shuttle))))]
mod tests {
    use super::*;

    /// Makes many small allocations, through several regions: none may begin in one
    /// region and end in the next, which lies elsewhere (M1).
    #[test]
    fn an_allocation_lies_in_one_region() {
        // With large allocations of any size before, ranges end anywhere.
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

    /// The last allocation of a shard can be undone, and its memory is handed out again.
    /// No other one can, nor one that ends with its region.
    #[test]
    fn the_last_allocation_can_be_undone() {
        let memory = Memory::new(0, HugePages::Off);
        let first = memory.allocate(3 * UNIT);
        let second = memory.allocate(5 * UNIT);
        assert!(
            !memory.undo_allocate(first, 3 * UNIT),
            "there is one after it"
        );
        assert!(memory.undo_allocate(second, 5 * UNIT));
        assert!(!memory.undo_allocate(second, 5 * UNIT), "it was undone");
        assert_eq!(memory.used_bytes(), 3 * UNIT);
        assert_eq!(memory.allocate(UNIT), second);
        assert!(memory.undo_allocate(second, UNIT) && memory.undo_allocate(first, 3 * UNIT));
        assert_eq!(memory.used_bytes(), 0);
        // Across the ends of several regions.
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

    /// More threads than shards allocate and undo some allocations: none overlaps
    /// another.
    #[test]
    fn allocations_of_many_threads_that_undo_some_do_not_overlap() {
        let memory = Memory::new(0, HugePages::Off);
        let threads = 3 * memory.shards.len() as u64;
        let write = |offset: u32, units: u64, what: u64| {
            let words = memory.at(offset).cast::<u64>();
            for i in 0..units as usize {
                // SAFETY: inside an allocation of this thread, whose units are words.
                let word = unsafe { words.add(i) };
                // SAFETY: inside an allocation of this thread, whose units are words;
                // aligned to 8.
                unsafe { word.write(what) };
            }
        };
        let read = |offset: u32, units: u64| -> Vec<u64> {
            let words = memory.at(offset).cast::<u64>();
            // SAFETY: all units of the allocation were written, by a thread that has
            // ended or by this one.
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

    /// Pages with old contents are moved into the memory while others allocate from it.
    #[cfg(all(unix, not(any(loom, shuttle, miri))))]
    #[test]
    fn pages_that_are_moved_into_the_memory_replace_nothing_that_was_handed_out() {
        const THREADS: usize = 8;
        const EACH: usize = 3 << 20;
        let _turn = crate::region::tests::TURN.lock();
        let _claim = crate::region::Claim::new(THREADS * EACH + (4 << 20));
        let mut kept = 0;
        for huge in [HugePages::Off, HugePages::Transparent] {
            for round in 0..4 {
                kept = crate::region::pool_bytes().max(kept);
                // So that there are several regions.
                let memory = Memory::new(8 << 20, huge);
                let words = |offset: u32, units: usize| {
                    let start = memory.at(offset).cast::<u64>().as_ptr();
                    // SAFETY: inside an allocation, whose units are words.
                    (0..units).map(move |i| unsafe { start.add(i) })
                };
                let fill = |seed: usize| {
                    let mut made = Vec::new();
                    let mut left = EACH / UNIT;
                    while left > 0 {
                        let units = (1 + (made.len() * 7 + seed) % 250).min(left);
                        let offset = memory.allocate(units * UNIT);
                        // SAFETY: a word of an allocation of this thread.
                        words(offset, units).for_each(|w| unsafe { w.write(u64::from(offset)) });
                        made.push((offset, units));
                        left -= units;
                    }
                    made
                };
                let made: Vec<_> = std::thread::scope(|scope| {
                    let threads = [(); THREADS].map(|()| scope.spawn(|| fill(round)));
                    threads.map(|t| t.join().expect("no panic")).concat()
                });
                for (offset, units) in made {
                    // SAFETY: all threads that wrote have ended.
                    let whole = words(offset, units).all(|w| unsafe { w.read() } == offset.into());
                    assert!(whole, "at {offset}, in round {round}, {huge:?}");
                }
            }
        }
        assert!(kept > 0, "some memory was kept");
    }

    /// Reserved pages that the system lacks are replaced by transparent huge ones.
    #[cfg(all(target_os = "linux", not(any(loom, shuttle, miri))))]
    #[test]
    fn the_next_piece_is_prepared_for_a_memory_that_got_other_pages_than_it_asked_for() {
        const EACH: usize = 64 << 10;
        let _turn = crate::region::tests::TURN.lock();
        // No system has pages of this size.
        let memory = Memory::new(8 << 20, HugePages::Reserved(8 << 10));
        let mut missing = Vec::new();
        for _ in 0..(6 << 20) / EACH {
            let mut carve = memory.supply.carve.lock();
            missing.extend(memory.carve_off(&mut carve, (EACH / UNIT) as u64).1);
        }
        assert!(!missing.is_empty());
        assert!(missing.iter().all(|&pages| pages == HugePages::Transparent));
    }

    /// An allocation that fails leaves everything as it was.
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

    #[cfg(all(target_os = "linux", not(any(loom, shuttle, miri))))]
    #[test]
    fn memory_taken_is_a_mebibyte_of_plain_pages_and_then_whole_huge_pages() {
        const KIB: usize = 1 << 10;
        let memory = Memory::new(8 << 20, HugePages::Transparent);
        // So large an allocation goes through no shard.
        let allocated = (1..=9 * 16).map(|n| {
            memory.allocate(64 * KIB);
            (n * 64 * KIB, memory.allocated_bytes())
        });
        let taken: Vec<_> = allocated
            .filter(|(used, _)| used % (512 * KIB) == 0)
            .collect();
        let in_pages = |half_mibs: usize| match half_mibs {
            1 => 512 * KIB,
            2 => 1024 * KIB,
            3..=6 => 3 << 20,
            7..=10 => 5 << 20,
            11..=14 => 7 << 20,
            15..=16 => 8 << 20,
            _ => 10 << 20,
        };
        let expected: Vec<_> = (1..=18).map(|n| (n * 512 * KIB, in_pages(n))).collect();
        assert_eq!(taken, expected);
    }
}
