//! Memory for blocks that are read: of the thread, for what is stored; of the
//! allocator, for what is kept.

use std::cell::Cell;
use std::hint::black_box;
use whitewater_concurrent::scratch;

/// Most bytes that a thread keeps to read into.
pub(super) const MAX_LEN: usize = 64 << 10;

/// How much memory is asked for ahead of blocks that will take it, in bytes.
const AHEAD: usize = 96 << 10;

thread_local! {
    /// What a block is read into to be decompressed or copied: memory that is at
    /// hand already, and gone through before. Empty until the thread reads.
    static READ_INTO: Cell<Vec<u8>> = const { Cell::new(Vec::new()) };
    /// Bytes of blocks read since memory was asked for ahead.
    static SINCE: Cell<usize> = const { Cell::new(0) };
}

/// Has `read` use `len` bytes of at most [`MAX_LEN`], whatever they hold.
pub(super) fn with<T>(len: usize, read: impl FnOnce(&mut [u8]) -> T) -> T {
    // Taken, for a file system may read tables itself.
    let mut scratch = scratch::take(&READ_INTO);
    if scratch.len() < len {
        scratch.resize(len.next_power_of_two(), 0);
    }
    let result = read(&mut scratch[..len]);
    scratch::keep(&READ_INTO, scratch);
    result
}

/// To be called before memory is taken for a block of `len` bytes in the file.
///
/// glibc's allocator extends the memory of all threads but the first page by page,
/// with a system call for each. What it was asked for in one piece and given back
/// it keeps. Others hardly notice.
pub(super) fn reserve_ahead(len: usize) {
    // Compressed blocks will take about twice as much.
    let since = SINCE.get().saturating_add(len);
    SINCE.set(since % (AHEAD / 2));
    if since >= AHEAD / 2 {
        drop(black_box(Vec::<u8>::with_capacity(AHEAD)));
    }
}
