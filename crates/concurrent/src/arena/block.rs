//! The blocks that an arena takes from the system.

use std::alloc::{Layout, alloc, dealloc, handle_alloc_error};
use std::mem::ManuallyDrop;
use std::ptr::NonNull;

use crate::region::{HugePages, Region};

/// Blocks from the heap start on a cache line.
pub(super) const BLOCK_ALIGN: usize = 64;

/// Regular blocks of at least this many bytes are regions: mapped, and kept for the next
/// arena. Smaller blocks come from the allocator, which is better at them.
const MIN_REGION: usize = if cfg!(any(loom, shuttle, miri)) {
    usize::MAX
} else {
    256 << 10
};

/// Regions are whole pages; no system that runs this has larger ones unasked.
const PAGE: usize = 64 << 10;

/// Exclusively owned memory; returned on drop.
pub(super) struct Block {
    bytes: usize,
    /// Bytes at the end that were never handed out, and so never touched.
    pub(super) untouched: usize,
    backing: Backing,
}

enum Backing {
    Heap(NonNull<u8>),
    /// Moved out only when the block is dropped.
    Region(ManuallyDrop<Region>),
}

// SAFETY: a `Block` owns its memory, and the system allocator takes memory
// back from any thread.
unsafe impl Send for Block {}

impl Block {
    /// A block for small allocations: of at least `size` bytes, more than 0.
    pub(super) fn regular(size: usize, pages: HugePages) -> Self {
        if size < MIN_REGION && pages == HugePages::Off {
            return Self::from_heap(size);
        }
        let bytes = size.next_multiple_of(pages.grain().unwrap_or(PAGE));
        if let Some(region) = Region::take(bytes, pages) {
            return Block {
                bytes,
                untouched: 0,
                backing: Backing::Region(ManuallyDrop::new(region)),
            };
        }
        match pages {
            // Reserved pages may be much larger, so the size is rounded up again.
            HugePages::Reserved(_) => Self::regular(size, HugePages::Transparent),
            _ => Self::from_heap(size),
        }
    }

    /// A block of exactly `size` bytes, more than 0, which is not worth keeping for
    /// another arena.
    ///
    /// Ends the process when the system has no memory left.
    pub(super) fn from_heap(size: usize) -> Self {
        let layout = layout(size);
        // SAFETY: the layout's size is not 0, as the caller promises.
        let start = unsafe { alloc(layout) };
        let Some(start) = NonNull::new(start) else {
            handle_alloc_error(layout)
        };
        Block {
            bytes: size,
            untouched: 0,
            backing: Backing::Heap(start),
        }
    }

    /// The first byte.
    pub(super) fn start(&self) -> NonNull<u8> {
        match &self.backing {
            Backing::Heap(start) => *start,
            Backing::Region(region) => region.start(),
        }
    }

    /// The length.
    pub(super) fn bytes(&self) -> usize {
        self.bytes
    }
}

impl Drop for Block {
    fn drop(&mut self) {
        match &mut self.backing {
            Backing::Heap(start) => {
                // SAFETY: `start` came from `alloc` with this layout, and only
                // this destructor returns it.
                unsafe { dealloc(start.as_ptr(), layout(self.bytes)) }
            }
            Backing::Region(region) => {
                // SAFETY: only this destructor takes it, and it runs once.
                let region = unsafe { ManuallyDrop::take(region) };
                region.release(self.bytes - self.untouched);
            }
        }
    }
}

fn layout(size: usize) -> Layout {
    Layout::from_size_align(size, BLOCK_ALIGN).expect("size was checked")
}
