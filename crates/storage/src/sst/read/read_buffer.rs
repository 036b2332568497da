//! Memory to read blocks into: a buffer that each thread reuses for stored blocks. Blocks that are
//! kept get memory of their own; here the allocator is prepared for it.

use std::cell::Cell;
use std::hint::black_box;
use whitewater_concurrent::scratch;

/// The largest buffer that a thread keeps, in bytes.
pub(super) const MAX_LEN: usize = 64 << 10;

/// How much memory is requested ahead of the blocks that will use it, in bytes.
const AHEAD: usize = 96 << 10;

thread_local! {
    /// The buffer for a stored block that is to be decompressed or copied. The thread reuses it,
    /// so its memory is mapped and likely to be cached. Empty until the thread reads.
    static READ_INTO: Cell<Vec<u8>> = const { Cell::new(Vec::new()) };
    /// Bytes of blocks read since memory was last requested ahead.
    static SINCE: Cell<usize> = const { Cell::new(0) };
}

/// Calls `read` with a buffer of `len` bytes, at most [`MAX_LEN`], with arbitrary content.
pub(super) fn with<T>(len: usize, read: impl FnOnce(&mut [u8]) -> T) -> T {
    // Taken out of the cell, because a file system may itself read tables.
    let mut scratch = scratch::take(&READ_INTO);
    if scratch.len() < len {
        scratch.resize(len.next_power_of_two(), 0);
    }
    let result = read(&mut scratch[..len]);
    scratch::keep(&READ_INTO, scratch);
    result
}

/// Prepares the allocator for a block of `len` bytes in the file. To be called before memory is
/// allocated for the block.
///
/// glibc's allocator extends the memory of all threads but the first page by page, with a system
/// call for each. It keeps memory that was requested in one piece and freed. For other allocators
/// this costs little.
pub(super) fn reserve_ahead(len: usize) {
    // Compressed blocks will need about twice as much.
    let since = SINCE.get().saturating_add(len);
    SINCE.set(since % (AHEAD / 2));
    if since >= AHEAD / 2 {
        drop(black_box(Vec::<u8>::with_capacity(AHEAD)));
    }
}
