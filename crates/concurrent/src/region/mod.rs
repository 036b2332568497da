//! Stretches of address space for memtables, and the pool of those given back.
//!
//! A region is reserved at once and becomes real memory page by page, as it is
//! touched. The first touch of a page costs microseconds, so memory that a tree
//! or an arena has used is kept for the next one (`pool`). Its old contents are
//! garbage to the next owner.
//!
//! *Whole regions* are what an arena's blocks and small trees use: all of one is
//! taken from the pool, and goes back to it.
//!
//! *Regions that grow* are what larger trees use: much address space, of which
//! only a beginning is ever touched. The pool keeps such memory in pieces of
//! `PIECE` bytes, and the region gets one whenever its owner reaches the next
//! border between pieces, so a tree never has more memory than it uses but for
//! the last piece. The first piece has plain pages until the owner has reached
//! its middle: a family with few keys takes some KiB, and no more than half of
//! what is taken is unused later on.
//!
//! # Invariants
//! * R1: a `Region` owns `bytes` bytes from `start` on, readable and
//!   writable, and aligned to a page or at least to 64 bytes, until dropped.
//! * R2: memory of a growing region is only replaced where its owner has not
//!   handed anything out yet.

mod pool;
#[cfg(all(unix, not(any(loom, shuttle, miri))))]
mod system;
#[cfg(all(test, unix, not(any(loom, shuttle, miri))))]
mod tests;

use std::alloc::{Layout, alloc, dealloc, handle_alloc_error};
use std::ops::Range;
use std::ptr::NonNull;

pub use self::pool::{Claim, pool_bytes, pool_limit, set_pool_limit};

/// The size of a transparent huge page on x86-64 and, with 4 KiB pages, on
/// AArch64.
pub const TRANSPARENT: usize = 2 << 20;

/// Bytes by which a region grows that does: a huge page. The processor's tables
/// of such a stretch move with it at once, so no page is copied or faulted in.
pub(crate) const PIECE: usize = TRANSPARENT;

/// Bytes of a growing region that have plain pages, until its owner goes beyond.
pub(crate) const PLAIN: usize = PIECE / 2;

/// Which pages a memtable's memory is to have. Fewer, larger pages make the
/// processor's address cache reach further, which random access over many
/// megabytes feels. Where the system grants none, plain pages serve.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum HugePages {
    /// The system's plain ones. The default.
    #[default]
    Off,
    /// Transparent huge pages: the system is advised to use them for regions
    /// of at least one, which are aligned accordingly.
    Transparent,
    /// Of those that the administrator has reserved, with this many bytes each
    /// (a power of two; Linux: `MAP_HUGETLB`). Where there are not enough of
    /// them, as [`HugePages::Transparent`].
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

/// An exclusively owned stretch of memory (R1).
#[derive(Debug)]
pub(crate) struct Region {
    start: NonNull<u8>,
    bytes: usize,
    /// Bytes from the start that some owner may have written, as of the last
    /// [`Region::release`]: what the region holds of the machine's memory.
    touched: usize,
    huge: HugePages,
    source: Source,
}

/// Where a region's memory came from, and so how it goes back.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Source {
    /// Mapped: costs nothing until touched.
    #[cfg(all(unix, not(any(loom, shuttle, miri))))]
    Map,
    /// The same, of a region that grows.
    #[cfg(all(target_os = "linux", not(any(loom, shuttle, miri))))]
    Growing {
        /// Whether its first piece has plain pages at first.
        plain_first: bool,
    },
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
    /// system; `None` when the system has none, when there are not enough
    /// reserved pages, or `bytes` is no multiple of their size.
    pub(crate) fn take(bytes: usize, huge: HugePages) -> Option<Region> {
        pool::take(bytes, huge).or_else(|| Self::map(bytes, huge))
    }

    /// As [`Region::take`], for an owner that uses it from the front and
    /// [says](Region::furnish) how far it has come. With transparent huge pages
    /// where there are not enough reserved ones. `plain_first`: it may come to
    /// use very little.
    pub(crate) fn reserve(bytes: usize, huge: HugePages, plain_first: bool) -> Option<Region> {
        match huge {
            // They are set apart for the region as soon as it is mapped.
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
            huge: HugePages::Off,
            source: Source::Heap,
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
            huge,
            source: Source::Map,
        })
    }

    #[cfg(not(all(unix, not(any(loom, shuttle, miri)))))]
    fn map(_bytes: usize, _huge: HugePages) -> Option<Region> {
        None
    }

    #[cfg(all(target_os = "linux", not(any(loom, shuttle, miri))))]
    fn map_growing(bytes: usize, huge: HugePages, plain_first: bool) -> Option<Region> {
        let start = system::map_growing(bytes, huge != HugePages::Off, plain_first)?;
        Some(Region {
            start,
            bytes,
            touched: 0,
            huge,
            source: Source::Growing { plain_first },
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

    /// What its pages are.
    pub(crate) fn huge(&self) -> HugePages {
        self.huge
    }

    /// Whether its first pages are plain, and it gets larger ones as it grows.
    pub(crate) fn starts_plain(&self) -> bool {
        #[cfg(all(target_os = "linux", not(any(loom, shuttle, miri))))]
        if let Source::Growing { plain_first } = self.source {
            return plain_first;
        }
        false
    }

    /// To be called before an owner hands out the bytes of `part`, the next ones
    /// after all that it has handed out, and by one thread at a time: gets memory
    /// that was kept, and huge pages if they are wanted.
    pub(crate) fn furnish(&self, part: Range<usize>) {
        #[cfg(all(target_os = "linux", not(any(loom, shuttle, miri))))]
        if let Source::Growing { plain_first } = self.source {
            if plain_first && part.start <= PLAIN && PLAIN < part.end {
                // SAFETY: the first piece is inside, as such regions are longer.
                unsafe { system::enlarge_pages(self.start, self.huge != HugePages::Off) };
            }
            let mut at = part.start.next_multiple_of(PIECE);
            if at == 0 && plain_first {
                at = PIECE;
            }
            while at < part.end && at + PIECE <= self.bytes {
                let Some(piece) = pool::take(PIECE, self.huge) else {
                    return;
                };
                let piece = std::mem::ManuallyDrop::new(piece);
                // SAFETY: inside this region, as was checked.
                let place = unsafe { self.start.add(at) };
                // SAFETY: the piece is owned and whole, as is its place, which
                // nobody knows yet (R2).
                unsafe { system::move_to(piece.start, place, PIECE) };
                at += PIECE;
            }
        }
        #[cfg(not(all(target_os = "linux", not(any(loom, shuttle, miri)))))]
        let _ = part;
    }

    /// Gives the region back, of which the first `touched` bytes may have been
    /// written: to the pool if it has room, else to the system.
    pub(crate) fn release(mut self, touched: usize) {
        match self.source {
            Source::Heap => {}
            #[cfg(all(unix, not(any(loom, shuttle, miri))))]
            Source::Map => {
                // A former owner may have gone further.
                self.touched = self.touched.max(touched);
                if self.touched > 0 {
                    pool::give(vec![self]);
                }
            }
            #[cfg(all(target_os = "linux", not(any(loom, shuttle, miri))))]
            Source::Growing { plain_first } => {
                // Of a first piece that is plain, there is too little to keep.
                let little = plain_first && touched <= PLAIN;
                let pieces = if little { 0 } else { touched.div_ceil(PIECE) };
                pool::give(self.cut(pieces));
            }
        }
    }

    /// The first pieces of this region, at most as many as that; the rest goes
    /// back to the system.
    #[cfg(all(target_os = "linux", not(any(loom, shuttle, miri))))]
    fn cut(self, pieces: usize) -> Vec<Region> {
        let pieces = pieces.min(self.bytes / PIECE).min(pool::room() / PIECE);
        let region = std::mem::ManuallyDrop::new(self);
        let kept = pieces * PIECE;
        if kept < region.bytes {
            // SAFETY: inside the region or at its end.
            let rest = unsafe { region.start.add(kept) };
            // SAFETY: whole pages of this region, whose owner is done with them.
            unsafe { system::unmap(rest.as_ptr(), region.bytes - kept) };
        }
        let each = (0..pieces).map(|i| Region {
            // SAFETY: inside the region.
            start: unsafe { region.start.add(i * PIECE) },
            bytes: PIECE,
            touched: PIECE,
            huge: region.huge,
            source: Source::Map,
        });
        each.collect()
    }
}

impl Drop for Region {
    fn drop(&mut self) {
        match self.source {
            #[cfg(all(unix, not(any(loom, shuttle, miri))))]
            Source::Map => {
                // SAFETY: mapped with this length by `map`, or a piece that was
                // cut; used by nobody but the owner, who drops it now.
                unsafe { system::unmap(self.start.as_ptr(), self.bytes) };
            }
            #[cfg(all(target_os = "linux", not(any(loom, shuttle, miri))))]
            Source::Growing { .. } => {
                // SAFETY: as above; by `map_growing`.
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

fn heap_layout(bytes: usize) -> Layout {
    Layout::from_size_align(bytes, HEAP_ALIGN).expect("regions are far below the limit")
}
