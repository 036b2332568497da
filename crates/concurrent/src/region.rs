//! Stretches of address space for memtables, and the pool of those given back.
//!
//! A region is reserved at once and becomes real memory page by page, as it is
//! touched. The first touch of a page costs microseconds, so a region that a
//! tree or an arena has used is kept for the next one, up to [`pool_limit`]
//! bytes in the whole process. Its old contents are garbage to the next owner.
//!
//! # Invariants
//! * R1: a `Region` owns `bytes` bytes from `start` on, readable and
//!   writable, and aligned to a page or at least to 64 bytes, until dropped.
//!
//! # Locks
//! The pool's is a leaf: nothing is locked and no system call is made while it
//! is held. It may be taken under any other.

use std::alloc::{Layout, alloc, dealloc, handle_alloc_error};
use std::ptr::NonNull;
use std::sync::atomic::{AtomicUsize, Ordering};

use parking_lot::Mutex;

/// The size of a transparent huge page on x86-64 and, with 4 KiB pages, on
/// AArch64.
pub const TRANSPARENT: usize = 2 << 20;

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

/// Bytes of touched memory the pool keeps unless told otherwise.
const DEFAULT_POOL_LIMIT: usize = 256 << 20;

/// Regions given back, the oldest first.
static POOL: Mutex<Vec<Region>> = Mutex::new(Vec::new());

/// The most touched bytes the pool keeps. Written by: [`set_pool_limit`].
/// Read by: whoever gives a region back. Publishes nothing.
static POOL_LIMIT: AtomicUsize = AtomicUsize::new(DEFAULT_POOL_LIMIT);

/// The most bytes of touched memory that the process keeps for later
/// memtables.
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
        over.push(pool.remove(0));
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
    /// system; `None` when the system has none.
    pub(crate) fn take(bytes: usize, huge: HugePages) -> Option<Region> {
        let region = Self::take_strictly(bytes, huge);
        match huge {
            HugePages::Reserved(_) if region.is_none() => {
                Self::take_strictly(bytes, HugePages::Transparent)
            }
            _ => region,
        }
    }

    /// As [`Region::take`], but `None` when there are not enough reserved
    /// pages, or `bytes` is no multiple of their size.
    pub(crate) fn take_strictly(bytes: usize, huge: HugePages) -> Option<Region> {
        let mut pool = POOL.lock();
        let fitting = (0..pool.len()).filter(|&i| {
            let region = &pool[i];
            region.bytes == bytes && region.huge == huge
        });
        // The one with most pages already there.
        if let Some(best) = fitting.max_by_key(|&i| pool[i].touched) {
            return Some(pool.remove(best));
        }
        drop(pool);
        Self::map(bytes, huge)
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

    /// The first byte.
    #[inline(always)]
    pub(crate) fn start(&self) -> NonNull<u8> {
        self.start
    }

    /// The length.
    pub(crate) fn bytes(&self) -> usize {
        self.bytes
    }

    /// Gives the region back, of which the first `touched` bytes may have been
    /// written: to the pool if it has room, else to the system.
    pub(crate) fn release(mut self, touched: usize) {
        if self.source == Source::Heap {
            return;
        }
        // A former owner may have gone further.
        self.touched = self.touched.max(touched);
        let (touched, limit) = (self.touched, pool_limit());
        if touched == 0 || touched > limit {
            return;
        }
        let mut pool = POOL.lock();
        // The oldest make room: they are the least likely to fit anybody.
        let mut kept = pooled(&pool) + touched;
        let over = pool.iter().take_while(|region| {
            let too_much = kept > limit;
            kept -= if too_much { region.touched } else { 0 };
            too_much
        });
        let over = over.count();
        let over: Vec<_> = pool.drain(..over).collect();
        pool.push(self);
        // The system calls happen after the lock is gone.
        drop(pool);
        drop(over);
    }
}

impl Drop for Region {
    fn drop(&mut self) {
        match self.source {
            #[cfg(all(unix, not(any(loom, shuttle, miri))))]
            Source::Map => {
                // SAFETY: mapped with this length by `map`, and used by
                // nobody but the owner, who drops it now.
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

/// Mappings of anonymous, private memory.
#[cfg(all(unix, not(any(loom, shuttle, miri))))]
mod system {
    use std::ptr::NonNull;

    use rustix::mm::{MapFlags, ProtFlags, mmap_anonymous, munmap};

    use super::TRANSPARENT;

    /// A mapping of plain pages; `None` when the system refuses.
    pub(super) fn map(bytes: usize) -> Option<NonNull<u8>> {
        #[cfg(any(target_os = "linux", target_os = "android"))]
        let flags = MapFlags::PRIVATE | MapFlags::NORESERVE;
        #[cfg(not(any(target_os = "linux", target_os = "android")))]
        let flags = MapFlags::PRIVATE;
        map_with(bytes, flags)
    }

    fn map_with(bytes: usize, flags: MapFlags) -> Option<NonNull<u8>> {
        let access = ProtFlags::READ | ProtFlags::WRITE;
        // SAFETY: a new private mapping at an address the system chooses
        // overlaps nothing that anybody uses.
        let start = unsafe { mmap_anonymous(std::ptr::null_mut(), bytes, access, flags) };
        NonNull::new(start.ok()?.cast::<u8>())
    }

    /// A mapping that begins at a huge page's border and, where the system
    /// has them, has transparent huge pages.
    pub(super) fn map_transparent(bytes: usize) -> Option<NonNull<u8>> {
        if bytes < TRANSPARENT {
            return map(bytes);
        }
        let start = map_aligned(bytes)?;
        #[cfg(any(target_os = "linux", target_os = "android"))]
        {
            use rustix::mm::{Advice, madvise};
            // SAFETY: the mapping was made above, of that length; the advice
            // changes no contents. That it may fail is of no consequence.
            let _ = unsafe { madvise(start.as_ptr().cast(), bytes, Advice::LinuxHugepage) };
        }
        Some(start)
    }

    /// A mapping from a multiple of [`TRANSPARENT`] on: more is mapped, and
    /// what is too much on both sides goes back.
    fn map_aligned(bytes: usize) -> Option<NonNull<u8>> {
        let more = bytes.checked_add(TRANSPARENT)?;
        let start = map(more)?;
        let before = start.as_ptr().align_offset(TRANSPARENT);
        // SAFETY: an offset below `TRANSPARENT` is inside the mapping.
        let aligned = unsafe { start.add(before) };
        // SAFETY: `bytes` more are inside, or the mapping's end.
        let end = unsafe { aligned.add(bytes) };
        if before > 0 {
            // SAFETY: of the mapping made above; nobody knows of it yet. The
            // end of the part is a page's border, as `TRANSPARENT` is.
            unsafe { unmap(start.as_ptr(), before) };
        }
        if before < TRANSPARENT {
            // SAFETY: as above; regions are whole pages.
            unsafe { unmap(end.as_ptr(), TRANSPARENT - before) };
        }
        Some(aligned)
    }

    /// A mapping of reserved huge pages of `size` bytes; `None` when there are
    /// not enough, or `bytes` is no multiple of that.
    pub(super) fn map_reserved(bytes: usize, size: usize) -> Option<NonNull<u8>> {
        #[cfg(any(target_os = "linux", target_os = "android"))]
        {
            /// Where the logarithm of the page's size is in the flags.
            const SIZE_SHIFT: u32 = 26;
            // Of part of a page, the system would map all, and unmap none.
            if !size.is_power_of_two() || !bytes.is_multiple_of(size) {
                return None;
            }
            let size = MapFlags::from_bits_retain(size.trailing_zeros() << SIZE_SHIFT);
            // With a reservation: else the first touch could fail.
            map_with(bytes, MapFlags::PRIVATE | MapFlags::HUGETLB | size)
        }
        #[cfg(not(any(target_os = "linux", target_os = "android")))]
        {
            let _ = (bytes, size);
            None
        }
    }

    /// # Safety
    /// The bytes must be whole pages of mappings made here that nobody uses
    /// any more.
    pub(super) unsafe fn unmap(start: *mut u8, bytes: usize) {
        // SAFETY: the caller's promise. An error would mean that nothing was
        // unmapped; there is nothing to do about it.
        let _ = unsafe { munmap(start.cast(), bytes) };
    }
}

#[cfg(all(test, unix, not(any(loom, shuttle, miri))))]
mod tests {
    use super::*;

    #[test]
    fn regions_for_huge_pages_begin_at_their_border() {
        for bytes in [TRANSPARENT, 3 * TRANSPARENT, TRANSPARENT + 4096] {
            let region = Region::take(bytes, HugePages::Transparent).expect("memory");
            assert!(region.start().addr().get().is_multiple_of(TRANSPARENT));
            for offset in [0, bytes / 2, bytes - 1] {
                let at = region.start().as_ptr().wrapping_add(offset);
                // SAFETY: inside the region.
                unsafe { at.write(7) };
                // SAFETY: just written.
                assert_eq!(unsafe { at.read() }, 7);
            }
        }
    }

    #[test]
    fn reserved_pages_that_are_not_there_are_done_without() {
        // No system has pages of this size.
        let odd = HugePages::Reserved(8 << 10);
        let region = Region::take(2 * TRANSPARENT, odd).expect("memory");
        // SAFETY: inside the region.
        unsafe { region.start().write(7) };
        assert_eq!(region.bytes(), 2 * TRANSPARENT);
        assert!(Region::take_strictly(2 * TRANSPARENT, odd).is_none());
    }

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
            let region = Region::take(BYTES, HugePages::Off).expect("3 MiB of address space");
            region.release(touched);
            assert_eq!(pooled(), [2 << 20]);
        }
    }
}
