//! Stretches of address space for trees, and the pool of those given back.
//!
//! A region is reserved at once and becomes real memory page by page, as it is
//! touched. The first touch of a page costs microseconds, so a region that a
//! tree has used is kept for the next tree, up to [`pool_limit`] bytes in the
//! whole process. Its old contents are garbage to the next owner.
//!
//! # Invariants
//! * R1: a [`Region`] owns `bytes` bytes from `start` on, readable and
//!   writable, and aligned to a page or at least to 64 bytes, until dropped.

use std::alloc::{Layout, alloc, dealloc, handle_alloc_error};
use std::ptr::NonNull;
use std::sync::atomic::{AtomicUsize, Ordering};

use parking_lot::Mutex;

/// Alignment of regions that come from the heap.
const HEAP_ALIGN: usize = 64;

/// Bytes of touched memory the pool keeps unless told otherwise.
const DEFAULT_POOL_LIMIT: usize = 256 << 20;

/// Regions given back.
static POOL: Mutex<Vec<Region>> = Mutex::new(Vec::new());

/// The most touched bytes the pool keeps. Written by: [`set_pool_limit`].
/// Read by: whoever gives a region back. Publishes nothing.
static POOL_LIMIT: AtomicUsize = AtomicUsize::new(DEFAULT_POOL_LIMIT);

/// The most bytes of touched memory that the process keeps for later trees.
pub fn pool_limit() -> usize {
    POOL_LIMIT.load(Ordering::Relaxed)
}

/// Sets [`pool_limit`] (default: 256 MiB) and gives the system what is over
/// it. Zero turns the pool off.
pub fn set_pool_limit(bytes: usize) {
    POOL_LIMIT.store(bytes, Ordering::Relaxed);
    let mut over = Vec::new();
    let mut pool = POOL.lock();
    while pooled(&pool) > bytes {
        over.extend(pool.pop());
    }
    // The system calls happen after the lock is gone.
    drop(pool);
    drop(over);
}

/// Bytes of touched memory in the pool now.
pub fn pool_bytes() -> usize {
    pooled(&POOL.lock())
}

fn pooled(pool: &[Region]) -> usize {
    pool.iter().map(|region| region.touched).sum()
}

/// An exclusively owned stretch of memory (R1).
#[derive(Debug)]
pub(super) struct Region {
    start: NonNull<u8>,
    bytes: usize,
    /// Bytes from the start that some owner may have written, as of the last
    /// [`Region::release`]: what the region holds of the machine's memory.
    touched: usize,
    huge: bool,
    source: Source,
}

/// Where a region's memory came from, and so how it goes back.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Source {
    /// Mapped: costs nothing until touched.
    #[cfg(all(unix, not(any(loom, shuttle, miri))))]
    Map,
    /// The allocator's.
    Heap,
}

// SAFETY: a region owns its memory, which has no thread; unmapping and
// freeing may be done from any.
unsafe impl Send for Region {}
// SAFETY: a shared region gives out nothing but its address and length.
unsafe impl Sync for Region {}

impl Region {
    /// A region of exactly `bytes` bytes (more than 0), from the pool or the
    /// system; `None` when the system has none. With `huge`, the system is
    /// asked for huge pages.
    pub(super) fn take(bytes: usize, huge: bool) -> Option<Region> {
        let mut pool = POOL.lock();
        let fitting = (0..pool.len()).filter(|&i| {
            let region = &pool[i];
            region.bytes == bytes && region.huge == huge
        });
        // The one with most pages already there.
        if let Some(best) = fitting.max_by_key(|&i| pool[i].touched) {
            return Some(pool.swap_remove(best));
        }
        drop(pool);
        Self::map(bytes, huge)
    }

    /// A region from the allocator.
    ///
    /// Ends the process when there is no memory.
    pub(super) fn from_heap(bytes: usize) -> Region {
        let layout = heap_layout(bytes);
        // SAFETY: the layout's size is not 0, as the caller promises.
        let start = unsafe { alloc(layout) };
        let Some(start) = NonNull::new(start) else {
            handle_alloc_error(layout)
        };
        Region {
            start,
            bytes,
            touched: 0,
            huge: false,
            source: Source::Heap,
        }
    }

    #[cfg(all(unix, not(any(loom, shuttle, miri))))]
    fn map(bytes: usize, huge: bool) -> Option<Region> {
        use rustix::mm::{MapFlags, ProtFlags, mmap_anonymous};
        let access = ProtFlags::READ | ProtFlags::WRITE;
        #[cfg(any(target_os = "linux", target_os = "android"))]
        let flags = MapFlags::PRIVATE | MapFlags::NORESERVE;
        #[cfg(not(any(target_os = "linux", target_os = "android")))]
        let flags = MapFlags::PRIVATE;
        // SAFETY: a new private mapping at an address the system chooses
        // overlaps nothing that anybody uses.
        let start = unsafe { mmap_anonymous(std::ptr::null_mut(), bytes, access, flags) };
        let start = NonNull::new(start.ok()?.cast::<u8>())?;
        let region = Region {
            start,
            bytes,
            touched: 0,
            huge,
            source: Source::Map,
        };
        #[cfg(any(target_os = "linux", target_os = "android"))]
        if huge {
            use rustix::mm::{Advice, madvise};
            // SAFETY: the mapping was made above, of that length; the advice
            // changes no contents. That it may fail is of no consequence.
            let _ = unsafe { madvise(start.as_ptr().cast(), bytes, Advice::LinuxHugepage) };
        }
        Some(region)
    }

    #[cfg(not(all(unix, not(any(loom, shuttle, miri)))))]
    fn map(_bytes: usize, _huge: bool) -> Option<Region> {
        None
    }

    /// The first byte.
    #[inline(always)]
    pub(super) fn start(&self) -> NonNull<u8> {
        self.start
    }

    /// The length.
    pub(super) fn bytes(&self) -> usize {
        self.bytes
    }

    /// Gives the region back, of which its owner may have written the first
    /// `touched` bytes: to the pool if it has room, else to the system.
    pub(super) fn release(mut self, touched: usize) {
        if self.source == Source::Heap {
            return;
        }
        // Owners before may have written more.
        self.touched = self.touched.max(touched);
        let mut pool = POOL.lock();
        if self.touched > 0 && pooled(&pool) + self.touched <= pool_limit() {
            pool.push(self);
        } else {
            // The system call happens after the lock is gone.
            drop(pool);
            drop(self);
        }
    }
}

impl Drop for Region {
    fn drop(&mut self) {
        match self.source {
            #[cfg(all(unix, not(any(loom, shuttle, miri))))]
            Source::Map => {
                // SAFETY: mapped with this length by `map`, and used by
                // nobody but the owner, who drops it now. An error would mean
                // that nothing was mapped; there is nothing to do about it.
                let _ = unsafe { rustix::mm::munmap(self.start.as_ptr().cast(), self.bytes) };
            }
            Source::Heap => {
                let layout = heap_layout(self.bytes);
                // SAFETY: came from `alloc` with this layout, and only this
                // destructor returns it.
                unsafe { dealloc(self.start.as_ptr(), layout) }
            }
        }
    }
}

fn heap_layout(bytes: usize) -> Layout {
    Layout::from_size_align(bytes, HEAP_ALIGN).expect("regions are far below the limit")
}

#[cfg(all(test, unix, not(any(loom, shuttle, miri))))]
mod tests {
    use super::*;

    /// A page stays touched, however little of the region its next owner uses.
    #[test]
    fn the_pool_remembers_what_was_ever_touched() {
        // No other test has regions of this size.
        const BYTES: usize = 3 << 20;
        let pooled = || {
            let pool = POOL.lock();
            let own = pool.iter().filter(|region| region.bytes == BYTES);
            own.map(|region| region.touched).collect::<Vec<_>>()
        };
        for touched in [2 << 20, 4096, 0, 1 << 20] {
            let region = Region::take(BYTES, false).expect("3 MiB of address space");
            region.release(touched);
            assert_eq!(pooled(), [2 << 20]);
        }
    }
}
