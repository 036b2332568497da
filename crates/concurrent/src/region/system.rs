//! Mappings of anonymous, private memory.

use std::ptr::NonNull;

use rustix::mm::{MapFlags, ProtFlags, mmap_anonymous, munmap};

#[cfg(target_os = "linux")]
use super::PIECE;
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

/// A mapping as of [`map_transparent`] or, unless `huge`, of plain pages, both from
/// a multiple of [`TRANSPARENT`] on. With `plain_first` its first piece has plain
/// pages, whatever the system does unasked.
#[cfg(target_os = "linux")]
pub(super) fn map_growing(bytes: usize, huge: bool, plain_first: bool) -> Option<NonNull<u8>> {
    let start = map_aligned(bytes)?;
    let plain = if plain_first { PIECE } else { 0 };
    if plain > 0 {
        // SAFETY: of the mapping made above, which is longer than a piece.
        unsafe { advise(start, plain, libc::MADV_NOHUGEPAGE) };
    }
    if huge {
        // SAFETY: inside the mapping made above.
        let rest = unsafe { start.add(plain) };
        // SAFETY: as above, up to its end.
        unsafe { advise(rest, bytes - plain, libc::MADV_HUGEPAGE) };
    }
    Some(start)
}

/// Linux's `MADV_COLLAPSE`; not every C library has a name for it yet.
#[cfg(target_os = "linux")]
const COLLAPSE: libc::c_int = 25;

/// Takes back what [`map_growing`] has said of the first piece; with `huge`, what is
/// there already is put together to a huge page, where the system can do that
/// (Linux 6.1), or sees to it later.
///
/// # Safety
/// A mapping made by [`map_growing`] must begin at `start`.
#[cfg(target_os = "linux")]
pub(super) unsafe fn enlarge_pages(start: NonNull<u8>, huge: bool) {
    if huge {
        // SAFETY: the caller's promise; such mappings are longer than a piece.
        unsafe { advise(start, PIECE, libc::MADV_HUGEPAGE) };
        // SAFETY: as above. Changes no contents, whoever reads or writes them.
        unsafe { advise(start, PIECE, COLLAPSE) };
    }
}

/// Advises the system on memory. That it may not listen is of no consequence.
///
/// # Safety
/// The bytes must be mapped, and the advice one that changes no contents.
#[cfg(target_os = "linux")]
unsafe fn advise(start: NonNull<u8>, bytes: usize, advice: libc::c_int) {
    // SAFETY: the caller's promise.
    let _ = unsafe { libc::madvise(start.as_ptr().cast(), bytes, advice) };
}

/// Moves the pages of `bytes` bytes from one place to another, in place of what is
/// there. Where the system refuses, the other place has fresh pages.
///
/// Ends the process when the system refuses those, too.
///
/// # Safety
/// Both must be whole pages of mappings made here, that nobody uses. The first is
/// none afterwards.
#[cfg(target_os = "linux")]
pub(super) unsafe fn move_to(from: NonNull<u8>, to: NonNull<u8>, bytes: usize) {
    use rustix::mm::{MremapFlags, mremap_fixed};
    let (old, new) = (from.as_ptr().cast(), to.as_ptr().cast());
    // SAFETY: the caller's promise.
    let moved = unsafe { mremap_fixed(old, bytes, bytes, MremapFlags::MAYMOVE, new) };
    if moved.is_ok() {
        return;
    }
    // SAFETY: the caller's promise: it was not moved.
    unsafe { unmap(from.as_ptr(), bytes) };
    // The system may have unmapped the place before it refused.
    let access = ProtFlags::READ | ProtFlags::WRITE;
    let flags = MapFlags::PRIVATE | MapFlags::NORESERVE | MapFlags::FIXED;
    // SAFETY: the caller's promise: nobody uses what is there.
    if unsafe { mmap_anonymous(new, bytes, access, flags) }.is_err() {
        std::alloc::handle_alloc_error(super::heap_layout(bytes));
    }
}
