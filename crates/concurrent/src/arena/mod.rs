//! A concurrent bump allocator.
//!
//! The arena takes memory from the system in blocks and allocates from these; all of it
//! goes back at once when the arena is dropped. The first block has a few KiB, each
//! further one as much as all before it, up to the regular size. So an arena that is used
//! little takes little, and never takes much more than twice what it has allocated.
//! Single allocations are not freed, and no destructors are run for their contents.
//!
//! One main block serves all threads under one lock. A thread that once finds that lock
//! taken moves to a *shard*: a small bump region that is refilled from the main block. It
//! stays there (in every arena of the process) until it collides in its shard as well. So
//! a single writer pays for one uncontended lock and has no slack, and many writers share
//! only refills.
//!
//! The design follows RocksDB's `ConcurrentArena`, with these differences: a thread that
//! collides takes the next shard in turn instead of asking for its CPU number. Bytes are
//! counted when they are allocated, so slack in shards never shows in
//! [`ConcurrentArena::used_bytes`]. Allocations of more than a sixteenth of a region
//! (there: a quarter) bypass it, which keeps the loss at the ends of blocks and of
//! shards' regions within 5% of what is used, once that is some hundred times a shard's
//! region. Blocks are kept for the next arena ([`crate::region`]).
//!
//! `block` is the blocks that an arena takes from the system.
//!
//! # Invariants
//! * I1: an allocation lies in a block that lives as long as the arena, overlaps no other
//!   allocation and is aligned to [`ALIGN`].
//! * I2: a `Bump` region is owned by the thread that holds the mutex around it.
//!
//! # Locks
//! A shard is locked before main. No lock is taken while main is held.

mod block;

use std::cell::Cell;
use std::fmt;
use std::ptr::NonNull;

use crossbeam_utils::CachePadded;

use self::block::{BLOCK_ALIGN, Block};
use crate::cores::cores;
use crate::once::OnceBox;
use crate::region::HugePages;
use crate::sync::{AtomicUsize, MODELLED, Mutex, MutexGuard, Ordering};

/// Alignment of every allocation, in bytes.
pub const ALIGN: usize = 8;

/// Smallest block taken from the system, in bytes.
const MIN_BLOCK: usize = 4 << 10;
/// Largest block for small allocations, in bytes.
const MAX_BLOCK: usize = 1 << 30;
/// Largest region a shard takes from the main block, in bytes.
const MAX_SHARD_REGION: usize = 128 << 10;

crate::sync::thread_local! {
    /// The number of the shard that this thread uses, plus one; zero as long as the
    /// thread has seen no contention. It is the same for all arenas of the process.
    static SHARD: Cell<usize> = const { Cell::new(0) };
}

/// An arena: many allocations that are freed all at once.
pub struct ConcurrentArena {
    /// The main block, and every block that was taken from the system.
    main: CachePadded<Counted<Main>>,
    /// Created when contention is first seen.
    shards: OnceBox<Shards>,
    /// Bytes taken from the system.
    /// Written by: threads that add a block, with main locked. Read by: any thread.
    /// Publishes nothing.
    allocated: AtomicUsize,
    /// Bytes of a regular block, a multiple of [`ALIGN`].
    block_size: usize,
    /// Bytes a shard takes at a time, a multiple of [`ALIGN`].
    shard_region: usize,
    /// The pages of blocks of the regular size.
    pages: HugePages,
}

/// How an arena takes memory.
#[derive(Clone, Copy, Debug)]
pub struct ArenaOptions {
    /// The regular size of a block in bytes, used once the arena has as many: rounded up
    /// to 8, at least 4 KiB, at most 1 GiB; with huge pages, rounded up to whole pages.
    pub block_size: usize,
    /// The pages of blocks of that size. Smaller blocks have plain pages, so that an
    /// arena with little content takes no huge page.
    pub pages: HugePages,
}

impl ArenaOptions {
    /// The bytes that an arena grows by, once it has as many.
    pub fn growth(&self) -> usize {
        let block_size = self.block_size.clamp(MIN_BLOCK, MAX_BLOCK);
        block_size.next_multiple_of(self.pages.grain().unwrap_or(ALIGN))
    }
}

/// Blocks of this many bytes, on plain pages.
impl From<usize> for ArenaOptions {
    fn from(block_size: usize) -> Self {
        ArenaOptions {
            block_size,
            pages: HugePages::Off,
        }
    }
}

impl ConcurrentArena {
    /// An empty arena, which takes no memory yet.
    pub fn new(options: impl Into<ArenaOptions>) -> Self {
        let ArenaOptions { block_size, pages } = options.into();
        let block_size = block_size
            .clamp(MIN_BLOCK, MAX_BLOCK)
            .next_multiple_of(ALIGN);
        ConcurrentArena {
            main: CachePadded::new(Counted::new(Main::default())),
            shards: OnceBox::new(),
            allocated: AtomicUsize::new(0),
            block_size,
            shard_region: (block_size / 8)
                .min(MAX_SHARD_REGION)
                .next_multiple_of(ALIGN),
            pages,
        }
    }

    /// `bytes` of uninitialized memory aligned to 8, valid until the arena is
    /// dropped. No two calls return the same address, not even for 0 bytes.
    ///
    /// # Panics
    /// If `bytes` exceeds `isize::MAX`. Ends the process when the system has
    /// no memory left.
    #[inline]
    pub fn allocate(&self, bytes: usize) -> NonNull<u8> {
        assert!(bytes <= isize::MAX as usize - BLOCK_ALIGN, "size overflow");
        let size = bytes.max(1).next_multiple_of(ALIGN);
        if SHARD.with(Cell::get) == 0
            && let Some(mut main) = self.main.part.try_lock()
            && let Some(allocation) = main.bump.take(size)
        {
            self.main.tally.count(&main, size);
            return allocation;
        }
        self.allocate_slow(size)
    }

    /// Bytes allocated, each allocation rounded up to 8, without the slack of blocks and
    /// shards. This figure decides about flushes. Exact whenever no allocation is in
    /// flight.
    pub fn used_bytes(&self) -> usize {
        self.sum(|tally| &tally.bytes)
    }

    /// Number of allocations made. Exact whenever none is in flight.
    pub fn allocations(&self) -> usize {
        self.sum(|tally| &tally.allocations)
    }

    /// Bytes taken from the system.
    pub fn allocated_bytes(&self) -> usize {
        self.allocated.load(Ordering::Relaxed)
    }

    fn sum(&self, field: impl Fn(&Tally) -> &AtomicUsize) -> usize {
        let shards = self.shards.get().map_or(&[][..], |s| &s.list);
        let main = field(&self.main.tally).load(Ordering::Relaxed);
        let rest = shards
            .iter()
            .map(|s| field(&s.tally).load(Ordering::Relaxed));
        main + rest.sum::<usize>()
    }

    /// Every case but an allocation from the main block while its lock is free.
    #[cold]
    #[inline(never)]
    fn allocate_slow(&self, size: usize) -> NonNull<u8> {
        if size > largest_allocation(self.block_size) {
            return self.allocate_alone(size);
        }
        let own_shard = SHARD.with(Cell::get);
        if size > largest_allocation(self.shard_region) {
            return self.allocate_main(self.main.part.lock(), size);
        }
        if own_shard == 0
            && let Some(main) = self.main.part.try_lock()
        {
            return self.allocate_main(main, size);
        }
        self.allocate_shard(own_shard, size)
    }

    /// A block of its own for one large allocation.
    fn allocate_alone(&self, size: usize) -> NonNull<u8> {
        let block = Block::from_heap(size);
        let allocation = block.start();
        let mut main = self.main.part.lock();
        self.keep(&mut main, block);
        self.main.tally.count(&main, size);
        allocation
    }

    fn allocate_main(&self, mut main: MutexGuard<'_, Main>, size: usize) -> NonNull<u8> {
        let allocation = self.carve(&mut main, size);
        self.main.tally.count(&main, size);
        allocation
    }

    fn allocate_shard(&self, own_shard: usize, size: usize) -> NonNull<u8> {
        let shards = self.shards.get_or_make(Shards::new);
        let (shard, mut bump) = shards.lock(own_shard);
        let allocation = match bump.take(size) {
            Some(allocation) => allocation,
            None => {
                *bump = self.refill(size);
                bump.take(size)
                    .expect("a region holds two such allocations")
            }
        };
        shard.tally.count(&bump, size);
        allocation
    }

    /// A fresh region for a shard that needs `needed` bytes. The rest of the main block is
    /// taken as a whole if its size is near the usual one, so that little is wasted.
    fn refill(&self, needed: usize) -> Bump {
        let mut main = self.main.part.lock();
        let left = main.bump.left;
        // Less in a small arena. No allocation exceeds a quarter of the largest region.
        let usual = (self.allocated_bytes() / 8)
            .next_multiple_of(ALIGN)
            .max(2 * needed)
            .min(self.shard_region);
        let size = if (usual / 2..usual * 2).contains(&left) {
            left
        } else {
            usual
        };
        let start = self.carve(&mut main, size);
        Bump {
            next: Some(start),
            left: size,
        }
    }

    /// Cuts `size` bytes off the main block, taking a new block if needed.
    fn carve(&self, main: &mut Main, size: usize) -> NonNull<u8> {
        if let Some(allocation) = main.bump.take(size) {
            return allocation;
        }
        let block = self.next_block(size);
        main.record_untouched();
        main.bump = Bump {
            next: Some(block.start()),
            left: block.bytes(),
        };
        main.current = Some(main.blocks.len());
        self.keep(main, block);
        main.bump
            .take(size)
            .expect("regular allocations fit into a quarter block")
    }

    /// A block for allocations of up to `size` bytes, which is at most an eighth of the
    /// regular block, or up to a quarter if that is smaller than 8 KiB.
    fn next_block(&self, size: usize) -> Block {
        let taken = self.allocated_bytes();
        if taken >= self.block_size {
            return Block::regular(self.block_size, self.pages);
        }
        let bytes = taken.max(2 * size).max(MIN_BLOCK).next_power_of_two();
        Block::regular(bytes.min(self.block_size), HugePages::Off)
    }

    fn keep(&self, main: &mut Main, block: Block) {
        let allocated = self.allocated.load(Ordering::Relaxed) + block.bytes();
        self.allocated.store(allocated, Ordering::Relaxed);
        main.blocks.push(block);
    }
}

/// The largest allocation to be taken from a block or a shard's region of `bytes` bytes.
/// What is left at its end and too small is lost: a thirty-second on average. In tiny
/// regions allocations may be larger, up to a quarter.
fn largest_allocation(bytes: usize) -> usize {
    (bytes / 16).max(1 << 10).min(bytes / 4)
}

impl fmt::Debug for ConcurrentArena {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ConcurrentArena")
            .field("used_bytes", &self.used_bytes())
            .field("allocated_bytes", &self.allocated_bytes())
            .finish_non_exhaustive()
    }
}

/// A locked part of the arena, and the count of what it has allocated.
struct Counted<T> {
    part: Mutex<T>,
    tally: Tally,
}

impl<T> Counted<T> {
    fn new(part: T) -> Self {
        Counted {
            part: Mutex::new(part),
            tally: Tally {
                bytes: AtomicUsize::new(0),
                allocations: AtomicUsize::new(0),
            },
        }
    }
}

/// The totals of the allocations from one part of the arena.
struct Tally {
    /// Written by: the holder of the part's lock. Read by: any thread. Publishes nothing.
    bytes: AtomicUsize,
    /// As `bytes`.
    allocations: AtomicUsize,
}

impl Tally {
    /// Counts one allocation. The guard proves that no other thread writes, so no
    /// read-modify-write is needed.
    #[inline]
    fn count<T>(&self, _locked: &MutexGuard<'_, T>, size: usize) {
        let bytes = self.bytes.load(Ordering::Relaxed) + size;
        self.bytes.store(bytes, Ordering::Relaxed);
        let allocations = self.allocations.load(Ordering::Relaxed) + 1;
        self.allocations.store(allocations, Ordering::Relaxed);
    }
}

/// What only the holder of the main lock may access.
#[derive(Default)]
struct Main {
    bump: Bump,
    blocks: Vec<Block>,
    /// The index of the block whose rest is in `bump`.
    current: Option<usize>,
}

impl Main {
    /// Records in the current block how much of it was never handed out.
    fn record_untouched(&mut self) {
        if let Some(current) = self.current {
            self.blocks[current].untouched = self.bump.left;
        }
    }
}

impl Drop for Main {
    fn drop(&mut self) {
        self.record_untouched();
    }
}

/// The rest of a region: `left` bytes from `next` on, owned exclusively.
#[derive(Default)]
struct Bump {
    next: Option<NonNull<u8>>,
    left: usize,
}

// SAFETY: a `Bump` owns the bytes that it points to (I2), and bytes are not bound to a
// thread.
unsafe impl Send for Bump {}

impl Bump {
    /// Cuts off `size` bytes, a multiple of [`ALIGN`] greater than 0.
    #[inline]
    fn take(&mut self, size: usize) -> Option<NonNull<u8>> {
        let allocation = self.next?;
        self.left = self.left.checked_sub(size)?;
        // SAFETY: the region had at least `size` bytes left, so the result is
        // inside its block or one past the end.
        self.next = Some(unsafe { allocation.add(size) });
        Some(allocation)
    }
}

/// The regions of threads that have met contention.
struct Shards {
    /// The shards; their number is a power of two.
    list: Box<[CachePadded<Counted<Bump>>]>,
    /// The shard that the next colliding thread gets. Written and read by: colliding
    /// threads. Publishes nothing.
    turn: AtomicUsize,
}

impl Shards {
    fn new() -> Self {
        let count = if MODELLED {
            2
        } else {
            cores().max(8).next_power_of_two()
        };
        Shards {
            list: (0..count)
                .map(|_| CachePadded::new(Counted::new(Bump::default())))
                .collect(),
            turn: AtomicUsize::new(0),
        }
    }

    /// Locks the thread's own shard. If it has none or finds it taken, locks the next
    /// shard in turn, which becomes its own.
    fn lock(&self, own_shard: usize) -> (&Counted<Bump>, MutexGuard<'_, Bump>) {
        let mask = self.list.len() - 1;
        if own_shard != 0 {
            let shard = &self.list[(own_shard - 1) & mask];
            if let Some(bump) = shard.part.try_lock() {
                return (shard, bump);
            }
        }
        let index = self.turn.fetch_add(1, Ordering::Relaxed) & mask;
        SHARD.with(|own| own.set(index + 1));
        let shard = &self.list[index];
        (shard, shard.part.lock())
    }
}
