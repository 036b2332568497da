//! Mappings of anonymous, private memory.

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
    // SAFETY: a new private mapping at an address that the system chooses overlaps no
    // memory in use.
    let start = unsafe { mmap_anonymous(std::ptr::null_mut(), bytes, access, flags) };
    NonNull::new(start.ok()?.cast::<u8>())
}

/// A mapping that is aligned to a huge page and, if the system has them, has transparent
/// huge pages.
pub(super) fn map_transparent(bytes: usize) -> Option<NonNull<u8>> {
    if bytes < TRANSPARENT {
        return map(bytes);
    }
    let start = map_aligned(0, bytes)?;
    #[cfg(any(target_os = "linux", target_os = "android"))]
    {
        use rustix::mm::{Advice, madvise};
        // SAFETY: the mapping was made above, with this length; the advice changes no
        // contents. A failure does not matter.
        let _ = unsafe { madvise(start.as_ptr().cast(), bytes, Advice::LinuxHugepage) };
    }
    Some(start)
}

/// A mapping of whole pages that is aligned to [`TRANSPARENT`] behind its first `lead` bytes, which
/// are whole pages, too, and less than a huge page. More is mapped first, and the excess on both
/// sides is unmapped.
fn map_aligned(lead: usize, bytes: usize) -> Option<NonNull<u8>> {
    let more = bytes.checked_add(TRANSPARENT)?;
    let first = map(more)?;
    let before = first.as_ptr().wrapping_add(lead).align_offset(TRANSPARENT);
    // SAFETY: an offset below `TRANSPARENT` is inside the mapping.
    let start = unsafe { first.add(before) };
    // SAFETY: `bytes` further is inside the mapping or its end.
    let end = unsafe { start.add(bytes) };
    if before > 0 {
        // SAFETY: part of the mapping made above, which no other thread knows yet. The part ends at
        // a page boundary, since `lead` is whole pages.
        unsafe { unmap(first.as_ptr(), before) };
    }
    // SAFETY: part of the mapping made above, which no other thread knows yet; regions are whole
    // pages. It is not empty, since `before` is below `TRANSPARENT`.
    unsafe { unmap(end.as_ptr(), TRANSPARENT - before) };
    Some(start)
}

/// A mapping of reserved huge pages of `size` bytes. `None` if there are not enough, or
/// if `bytes` is no multiple of `size`.
pub(super) fn map_reserved(bytes: usize, size: usize) -> Option<NonNull<u8>> {
    #[cfg(any(target_os = "linux", target_os = "android"))]
    {
        /// The position of the page size's logarithm in the flags.
        const SIZE_SHIFT: u32 = 26;
        // The system would map a whole page for a part of one, and would not unmap the
        // part.
        if !size.is_power_of_two() || !bytes.is_multiple_of(size) {
            return None;
        }
        let size = MapFlags::from_bits_retain(size.trailing_zeros() << SIZE_SHIFT);
        // With a reservation, since otherwise the first touch could fail.
        map_with(bytes, MapFlags::PRIVATE | MapFlags::HUGETLB | size)
    }
    #[cfg(not(any(target_os = "linux", target_os = "android")))]
    {
        let _ = (bytes, size);
        None
    }
}

/// # Safety
/// The bytes must be whole pages of mappings made here that are no longer used.
pub(super) unsafe fn unmap(start: *mut u8, bytes: usize) {
    // SAFETY: by this function's contract. An error would mean that nothing was unmapped,
    // and nothing can be done about it.
    let _ = unsafe { munmap(start.cast(), bytes) };
}

/// A mapping like that of [`map_transparent`] or, unless `huge`, of plain pages. It is aligned
/// behind its first `plain` bytes, which have plain pages.
#[cfg(target_os = "linux")]
pub(super) fn map_growing(bytes: usize, huge: bool, plain: usize) -> Option<NonNull<u8>> {
    let start = map_aligned(plain, bytes)?;
    if plain > 0 {
        // Even if the system uses huge pages by default.
        // SAFETY: part of the mapping made above, which is longer than that.
        unsafe { advise(start, plain, libc::MADV_NOHUGEPAGE) };
    }
    if huge {
        // SAFETY: inside the mapping made above.
        let rest = unsafe { start.add(plain) };
        // SAFETY: inside the mapping made above, up to its end.
        unsafe { advise(rest, bytes - plain, libc::MADV_HUGEPAGE) };
    }
    Some(start)
}

/// Advises the system on memory. A failure does not matter.
///
/// # Safety
/// The bytes must be mapped, and the advice one that changes no contents, or the bytes not in use.
#[cfg(target_os = "linux")]
unsafe fn advise(start: NonNull<u8>, bytes: usize, advice: libc::c_int) {
    // SAFETY: by this function's contract.
    let _ = unsafe { libc::madvise(start.as_ptr().cast(), bytes, advice) };
}

/// Gives the whole pages among these bytes back to the system; later they are zeros. A failure does
/// not matter.
///
/// # Safety
/// The bytes must be in mappings made here, and not in use.
#[cfg(target_os = "linux")]
pub(super) unsafe fn discard(start: NonNull<u8>, bytes: usize) {
    let page = rustix::param::page_size();
    let before = start.as_ptr().align_offset(page);
    let whole = bytes.saturating_sub(before) / page * page;
    if whole > 0 {
        // SAFETY: inside the bytes, since something is left behind it.
        let first = unsafe { start.add(before) };
        // SAFETY: whole pages that are not in use, by this function's contract. Others see no
        // difference.
        unsafe { advise(first, whole, libc::MADV_DONTNEED) };
    }
}

/// Moves the pages of `bytes` bytes to another address, and replaces the pages there. If
/// the system refuses, there are fresh pages at that address.
///
/// Ends the process if the system refuses those, too.
///
/// # Safety
/// Both ranges must be whole pages of mappings made here that are not in use. The first
/// is unmapped afterwards.
#[cfg(target_os = "linux")]
pub(super) unsafe fn move_to(from: NonNull<u8>, to: NonNull<u8>, bytes: usize) {
    use rustix::mm::{MremapFlags, mremap_fixed};
    let (old, new) = (from.as_ptr().cast(), to.as_ptr().cast());
    // SAFETY: by this function's contract.
    let moved = unsafe { mremap_fixed(old, bytes, bytes, MremapFlags::MAYMOVE, new) };
    if moved.is_ok() {
        return;
    }
    // SAFETY: by this function's contract; the pages were not moved.
    unsafe { unmap(from.as_ptr(), bytes) };
    // The system may have unmapped the destination before it refused.
    let access = ProtFlags::READ | ProtFlags::WRITE;
    let flags = MapFlags::PRIVATE | MapFlags::NORESERVE | MapFlags::FIXED;
    // SAFETY: by this function's contract: the destination is not in use.
    if unsafe { mmap_anonymous(new, bytes, access, flags) }.is_err() {
        std::alloc::handle_alloc_error(super::heap_layout(bytes));
    }
}
