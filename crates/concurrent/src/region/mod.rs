//! Regions of address space for memtables, and the pool of regions that were given back.
//!
//! A region is reserved at once and becomes real memory page by page, as it is touched.
//! The first touch of a page costs microseconds, so memory that a tree or an arena has
//! used is kept for the next one (`pool`). The next owner must treat its contents as
//! garbage.
//!
//! *Whole regions* are for the blocks of an arena and for small trees: such a region is
//! taken from the pool, and goes back to it, as a whole.
//!
//! *Growing regions* are for larger trees: much address space, of which only the
//! beginning is ever touched. The pool keeps such memory in pieces of `PIECE` bytes. The
//! region gets a piece whenever its owner reaches the start of the next one, so a tree
//! never has more memory than it uses, except for the last piece. Before the first piece
//! there may be some plain pages, so that a column family with few keys takes some KiB.
//! They stay plain: collapsing them into a huge page stops their users for milliseconds.
//! They are not kept. Neither is what the region has behind its last whole piece.
//!
//! `system` maps the memory; `demand` tells how much of it was used lately; `ahead` has
//! fresh memory ready.
//!
//! # Invariants
//! * R1: until it is dropped, a `Region` owns `bytes` bytes from `start` on, which are
//!   readable and writable. `start` is aligned to a page or at least to 64 bytes.
//! * R2: memory of a growing region is replaced only where its owner has not handed out
//!   anything yet.

pub(crate) mod ahead;
mod demand;
mod pool;
#[cfg(all(unix, not(any(loom, shuttle, miri))))]
mod system;
#[cfg(all(test, unix, not(any(loom, shuttle, miri))))]
pub(crate) mod tests;

use std::alloc::{Layout, alloc, dealloc, handle_alloc_error};
use std::ops::Range;
use std::ptr::NonNull;
use std::sync::atomic::{AtomicUsize, Ordering};

pub use self::ahead::prepared_bytes;
pub use self::pool::{Claim, pool_bytes, pool_limit, set_pool_limit};

/// The size of a transparent huge page on x86-64 and, with 4 KiB pages, on
/// AArch64.
pub const TRANSPARENT: usize = 2 << 20;

/// Bytes by which a growing region grows: a huge page. Moving a piece moves its page
/// table as a whole, so no page is copied or faulted in.
pub(crate) const PIECE: usize = TRANSPARENT;

/// Bytes of the smallest pages of any system.
const SMALLEST_PAGE: usize = 4096;

/// Bytes at the start of a growing region that have plain pages, if its owner may use very
/// little.
#[cfg(all(target_os = "linux", not(any(loom, shuttle, miri))))]
const PLAIN: usize = PIECE / 2;

/// Which pages the memory of a memtable gets. With fewer and larger pages the processor's
/// TLB covers more memory, which speeds up random access over many megabytes. If the
/// system grants no huge pages, plain pages are used.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum HugePages {
    /// The system's plain pages. The default.
    #[default]
    Off,
    /// Transparent huge pages: the system is advised to use them for regions of at least
    /// one huge page, which are aligned accordingly.
    Transparent,
    /// Huge pages that the administrator has reserved, of this many bytes each (a power
    /// of two; Linux: `MAP_HUGETLB`). If there are not enough of them, as
    /// [`HugePages::Transparent`].
    Reserved(usize),
}

impl HugePages {
    /// The bytes that a region should be a multiple of; `None` for plain pages.
    pub(crate) fn grain(self) -> Option<usize> {
        match self {
            HugePages::Off => None,
            HugePages::Transparent => Some(TRANSPARENT),
            HugePages::Reserved(size) => Some(size.max(TRANSPARENT)),
        }
    }
}

/// Alignment of regions that come from the heap.
const HEAP_ALIGN: usize = 64;

/// An exclusively owned range of memory (R1).
#[derive(Debug)]
pub(crate) struct Region {
    start: NonNull<u8>,
    bytes: usize,
    /// Bytes from the start that some owner may have written, as of the last
    /// [`Region::release`]: the real memory that the region holds.
    touched: usize,
    /// Bytes that the pool counts as used by the region's owner.
    /// Written by: the owner, from one thread at a time. Read by: the same. Publishes
    /// nothing (relaxed).
    in_use: AtomicUsize,
    huge: HugePages,
    source: Source,
}

/// Where a region's memory came from, which decides how it goes back.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Source {
    /// A mapping, which costs nothing until it is touched.
    #[cfg(all(unix, not(any(loom, shuttle, miri))))]
    Map,
    /// A mapping of a growing region.
    #[cfg(all(target_os = "linux", not(any(loom, shuttle, miri))))]
    Growing {
        /// Bytes of plain pages before the first piece.
        plain: usize,
    },
    /// The global allocator.
    Heap,
}

// SAFETY: a region owns its memory, which is not bound to a thread; any thread may unmap
// or free it.
unsafe impl Send for Region {}
// SAFETY: a shared region gives out nothing but its address and length.
unsafe impl Sync for Region {}

impl Region {
    /// A region of exactly `bytes` bytes (more than 0), from the pool or the system.
    /// `None` if the system has none, if there are not enough reserved pages, or if
    /// `bytes` is no multiple of their size.
    pub(crate) fn take(bytes: usize, huge: HugePages) -> Option<Region> {
        let region = pool::take(bytes, huge).or_else(|| Self::map(bytes, huge));
        match &region {
            Some(region) => region.in_use.store(bytes, Ordering::Relaxed),
            None => pool::end_use(bytes),
        }
        region
    }

    /// As [`Region::take`], for an owner that uses the region from the front and
    /// [reports](Region::furnish) how far it has come. If there are not enough reserved
    /// huge pages, transparent ones are used. `plain_first` is for owners that may use
    /// very little.
    pub(crate) fn reserve(bytes: usize, huge: HugePages, plain_first: bool) -> Option<Region> {
        match huge {
            // Reserved pages are set aside for the region as soon as it is mapped.
            HugePages::Reserved(_) => Self::take(bytes, huge)
                .or_else(|| Self::reserve(bytes, HugePages::Transparent, plain_first)),
            _ if bytes <= PIECE => Self::take(bytes, huge),
            _ => Self::map_growing(bytes, huge, plain_first),
        }
    }

    /// A region from the allocator.
    ///
    /// Ends the process when there is no memory.
    pub(crate) fn from_heap(bytes: usize) -> Region {
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
            in_use: AtomicUsize::new(0),
            huge: HugePages::Off,
            source: Source::Heap,
        }
    }

    /// A region of its own, which never was in the pool. `None` if the system has none.
    pub(crate) fn map_or_allocate(bytes: usize, huge: HugePages) -> Option<Region> {
        if cfg!(all(unix, not(any(loom, shuttle, miri)))) {
            Self::map(bytes, huge)
        } else {
            Some(Self::from_heap(bytes))
        }
    }

    #[cfg(all(unix, not(any(loom, shuttle, miri))))]
    fn map(bytes: usize, huge: HugePages) -> Option<Region> {
        let start = match huge {
            HugePages::Off => system::map(bytes)?,
            HugePages::Transparent => system::map_transparent(bytes)?,
            HugePages::Reserved(size) => system::map_reserved(bytes, size)?,
        };
        Some(Region {
            start,
            bytes,
            touched: 0,
            in_use: AtomicUsize::new(0),
            huge,
            source: Source::Map,
        })
    }

    /// A piece that has all of its pages already. `None` if the system has none.
    ///
    /// They are touched, since advice to populate them would hold the system's lock of all mappings
    /// of the process meanwhile. A page fault holds that of this mapping instead (Linux 6.10).
    fn prepared() -> Option<Region> {
        let mut piece = Self::map(PIECE, HugePages::Transparent)?;
        for page in (0..PIECE).step_by(SMALLEST_PAGE) {
            // SAFETY: inside the piece.
            let first = unsafe { piece.start.add(page) };
            // SAFETY: nobody else knows the piece, whose bytes are zeros already.
            unsafe { first.write_volatile(0) };
        }
        piece.touched = PIECE;
        Some(piece)
    }

    #[cfg(not(all(unix, not(any(loom, shuttle, miri)))))]
    fn map(_bytes: usize, _huge: HugePages) -> Option<Region> {
        None
    }

    #[cfg(all(target_os = "linux", not(any(loom, shuttle, miri))))]
    fn map_growing(bytes: usize, huge: HugePages, plain_first: bool) -> Option<Region> {
        let plain = if plain_first { PLAIN } else { 0 };
        let start = system::map_growing(bytes, huge != HugePages::Off, plain)?;
        Some(Region {
            start,
            bytes,
            touched: 0,
            in_use: AtomicUsize::new(0),
            huge,
            source: Source::Growing { plain },
        })
    }

    #[cfg(not(all(target_os = "linux", not(any(loom, shuttle, miri)))))]
    fn map_growing(bytes: usize, huge: HugePages, _plain_first: bool) -> Option<Region> {
        Self::take(bytes, huge)
    }

    /// The first byte.
    #[inline(always)]
    pub(crate) fn start(&self) -> NonNull<u8> {
        self.start
    }

    /// The length.
    pub(crate) fn bytes(&self) -> usize {
        self.bytes
    }

    /// The kind of its pages.
    pub(crate) fn huge(&self) -> HugePages {
        self.huge
    }

    /// Bytes at the start that have plain pages and belong to no piece.
    pub(crate) fn plain(&self) -> usize {
        #[cfg(all(target_os = "linux", not(any(loom, shuttle, miri))))]
        if let Source::Growing { plain } = self.source {
            return plain;
        }
        0
    }

    /// Gets kept memory, and huge pages if they are wanted, for the bytes of `part`. The
    /// owner calls it before it hands out these bytes, which follow all those that it has
    /// handed out, and from one thread at a time. If a piece was needed that the pool did not have,
    /// returns its pages: [`ahead::want`] is to be called for them, with no lock of the owner held.
    #[must_use]
    pub(crate) fn furnish(&self, part: Range<usize>) -> Option<HugePages> {
        #[cfg(all(target_os = "linux", not(any(loom, shuttle, miri))))]
        if let Source::Growing { plain } = self.source {
            let mut runs_short = false;
            let mut at = plain + part.start.saturating_sub(plain).next_multiple_of(PIECE);
            while at < part.end && at + PIECE <= self.bytes {
                self.in_use.fetch_add(PIECE, Ordering::Relaxed);
                let kept = pool::take(PIECE, self.huge);
                runs_short |= kept.is_none();
                let Some(piece) = kept.or_else(|| ahead::take(self.huge)) else {
                    at += PIECE;
                    continue;
                };
                let piece = std::mem::ManuallyDrop::new(piece);
                // SAFETY: inside this region, as was checked.
                let place = unsafe { self.start.add(at) };
                // SAFETY: the piece is owned and whole, and so is its destination, which
                // no other thread knows yet (R2).
                unsafe { system::move_to(piece.start, place, PIECE) };
                at += PIECE;
            }
            return runs_short.then_some(self.huge);
        }
        let _ = part;
        None
    }

    /// Gives back the region, whose first `touched` bytes may have been written: to the
    /// pool if that has room, otherwise to the system.
    pub(crate) fn release(mut self, touched: usize) {
        pool::end_use(std::mem::take(self.in_use.get_mut()));
        match self.source {
            Source::Heap => {}
            #[cfg(all(unix, not(any(loom, shuttle, miri))))]
            Source::Map => {
                // A former owner may have written more.
                self.touched = self.touched.max(touched);
                if self.touched > 0 {
                    pool::give(vec![self]);
                }
            }
            #[cfg(all(target_os = "linux", not(any(loom, shuttle, miri))))]
            Source::Growing { plain } => {
                let pieces = touched.saturating_sub(plain).div_ceil(PIECE);
                pool::give(self.cut(plain, pieces));
            }
        }
    }

    /// Cuts off the first pieces of this region, at most `pieces`, which begin behind `plain`
    /// bytes. The rest goes back to the system.
    #[cfg(all(target_os = "linux", not(any(loom, shuttle, miri))))]
    fn cut(self, plain: usize, pieces: usize) -> Vec<Region> {
        let whole = (self.bytes - plain) / PIECE;
        let pieces = pieces.min(whole).min(pool::room() / PIECE);
        let region = std::mem::ManuallyDrop::new(self);
        let end = plain + pieces * PIECE;
        if plain > 0 {
            // SAFETY: whole pages of this region, which its owner no longer uses.
            unsafe { system::unmap(region.start.as_ptr(), plain) };
        }
        if end < region.bytes {
            // SAFETY: inside the region.
            let rest = unsafe { region.start.add(end) };
            // SAFETY: whole pages of this region, which its owner no longer uses.
            unsafe { system::unmap(rest.as_ptr(), region.bytes - end) };
        }
        let each = (0..pieces).map(|i| Region {
            // SAFETY: inside the region.
            start: unsafe { region.start.add(plain + i * PIECE) },
            bytes: PIECE,
            touched: PIECE,
            in_use: AtomicUsize::new(0),
            huge: region.huge,
            source: Source::Map,
        });
        each.collect()
    }
}

impl Drop for Region {
    fn drop(&mut self) {
        pool::end_use(*self.in_use.get_mut());
        match self.source {
            #[cfg(all(unix, not(any(loom, shuttle, miri))))]
            Source::Map => {
                // SAFETY: mapped with this length by `map`, or a piece that was cut off.
                // Only the owner used it, who drops it now.
                unsafe { system::unmap(self.start.as_ptr(), self.bytes) };
            }
            #[cfg(all(target_os = "linux", not(any(loom, shuttle, miri))))]
            Source::Growing { .. } => {
                // SAFETY: mapped with this length by `map_growing`. Only the owner used
                // it, who drops it now.
                unsafe { system::unmap(self.start.as_ptr(), self.bytes) };
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

/// Gives the whole pages among `bytes` bytes from `start` on back to the system. Their content is
/// lost.
///
/// # Safety
/// The bytes must be a part of one region, which nobody uses.
pub(crate) unsafe fn discard(start: NonNull<u8>, bytes: usize) {
    #[cfg(all(target_os = "linux", not(any(loom, shuttle, miri))))]
    // SAFETY: by this function's contract.
    unsafe {
        system::discard(start, bytes);
    }
    #[cfg(not(all(target_os = "linux", not(any(loom, shuttle, miri)))))]
    let _ = (start, bytes);
}

fn heap_layout(bytes: usize) -> Layout {
    Layout::from_size_align(bytes, HEAP_ALIGN).expect("regions are far below the limit")
}
