//! Read-ahead: decides how much of a file to read for a block, and holds what was read.
//!
//! Knows no file; `block_file` does the reading.

use crate::sst::format::handle::{BlockHandle, TRAILER_LEN};
use bytes::Bytes;
use std::ops::Range;

/// Size of the first read-ahead, in bytes.
const FIRST_READAHEAD: usize = 16 << 10;

/// Size of the largest read-ahead, in bytes.
const MAX_READAHEAD: usize = 256 << 10;

/// How many blocks are read in a row, in either direction, before reading ahead begins.
const SEQUENTIAL_AFTER: u32 = 2;

/// The part of a file that an iterator has read and may need soon.
///
/// Reads ahead once blocks are requested in file order, or in the reverse order, and doubles
/// the size of each read up to [`MAX_READAHEAD`].
#[derive(Debug, Default)]
pub(crate) struct ReadAhead {
    bytes: Bytes,
    offset: u64,
    /// Bytes to read next time. 0 stands for [`FIRST_READAHEAD`].
    size: usize,
    /// The size that the caller chose; 0 if it chose none.
    fixed: usize,
    /// The end of what the system was told to read.
    told: u64,
    last: Option<BlockHandle>,
    /// How many blocks were requested in a row so far.
    run: u32,
    backward: bool,
}

impl ReadAhead {
    /// Reads `readahead` bytes at a time, or a size that adapts if that is 0.
    pub(crate) fn new(readahead: usize) -> Self {
        ReadAhead {
            fixed: readahead,
            ..ReadAhead::default()
        }
    }

    /// Holds `bytes`, which stand at `offset` of the file.
    pub(crate) fn holding(bytes: Bytes, offset: u64) -> Self {
        ReadAhead {
            bytes,
            offset,
            ..ReadAhead::default()
        }
    }

    /// Whether the block is held here as part of a larger buffer, which it would keep alive.
    pub(crate) fn is_wider_than(&self, handle: BlockHandle) -> bool {
        self.bytes.len() > handle.size as usize + TRAILER_LEN && self.get(handle).is_some()
    }

    /// Records that the block at `handle` was used, wherever it came from.
    pub(crate) fn note(&mut self, handle: BlockHandle) {
        let before = self.last.replace(handle);
        let Some(before) = before else {
            return;
        };
        let forward = before.end() == Some(handle.offset);
        let backward = handle.end() == Some(before.offset);
        if before == handle {
            return;
        }
        if (forward || backward) && (self.run == 0 || self.backward == backward) {
            self.run += 1;
            self.backward = backward;
        } else {
            self.run = 0;
            self.size = 0;
        }
    }

    /// The block and its trailer at `handle`, if they are held.
    pub(crate) fn get(&self, handle: BlockHandle) -> Option<Bytes> {
        let start = usize::try_from(handle.offset.checked_sub(self.offset)?).ok()?;
        let len = usize::try_from(handle.size).ok()? + TRAILER_LEN;
        let end = start.checked_add(len)?;
        (end <= self.bytes.len()).then(|| self.bytes.slice(start..end))
    }

    /// The range of the file to read for the block at `handle`, which is not held and lies
    /// within the `file_size` bytes of the file. `None` if no more than the block is to be read.
    pub(crate) fn next_read(&mut self, handle: BlockHandle, file_size: u64) -> Option<Range<u64>> {
        let len = handle.size as usize + TRAILER_LEN;
        let ahead = if self.fixed > 0 {
            self.fixed
        } else if self.run >= SEQUENTIAL_AFTER {
            let size = self.size.max(FIRST_READAHEAD);
            self.size = (size * 2).min(MAX_READAHEAD);
            size
        } else {
            0
        };
        if ahead <= len {
            return None;
        }
        let end = handle.offset + len as u64;
        if self.backward && self.run > 0 {
            return Some(end.saturating_sub(ahead as u64)..end);
        }
        let end = handle.offset.saturating_add(ahead as u64);
        Some(handle.offset..end.min(file_size))
    }

    /// The first part of `range`, a [next read](ReadAhead::next_read), that is enough to read if
    /// the system reads ahead itself, and the range to tell it of. That is told when half of what
    /// was told before is left, so that the system is reading while its reader works.
    pub(crate) fn piece(&mut self, range: Range<u64>) -> (Range<u64>, Range<u64>) {
        let whole = range.end - range.start;
        if whole <= MAX_READAHEAD as u64 || (self.backward && self.run > 0) {
            return (range, 0..0);
        }
        let end = range.start + MAX_READAHEAD as u64;
        let from = self.told.clamp(end, range.end);
        if self.told > end + whole / 2 {
            return (range.start..end, 0..0);
        }
        self.told = range.end;
        (range.start..end, from..range.end)
    }

    /// Holds `bytes`, which were read at `offset` of the file, and nothing else.
    pub(crate) fn fill(&mut self, bytes: Bytes, offset: u64) {
        self.bytes = bytes;
        self.offset = offset;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const KIB: u64 = 1 << 10;

    #[test]
    fn who_reads_much_ahead_reads_pieces_and_tells_of_the_rest_in_time() {
        let mut ahead = ReadAhead::new(2 << 20);
        let size = 5 << 20;
        let mut told = 256 * KIB;
        let mut at = 0;
        while at < size {
            let block = BlockHandle {
                offset: at,
                size: 4_000,
            };
            let range = ahead.next_read(block, size).expect("it reads ahead");
            let (piece, hint) = ahead.piece(range.clone());
            assert_eq!(piece.start, at);
            assert_eq!(piece.end, range.end.min(at + 256 * KIB));
            if !hint.is_empty() {
                assert_eq!(hint, told..range.end, "without gaps");
                told = range.end;
            }
            assert!(told >= range.end.min(piece.end + 768 * KIB), "in time");
            at = piece.end;
        }
        assert_eq!(told, size);
    }

    #[test]
    fn little_is_read_at_once() {
        for fixed in [0, 64 << 10, MAX_READAHEAD] {
            let mut ahead = ReadAhead::new(fixed);
            let range = 4_096..4_096 + 64 * KIB;
            assert_eq!(ahead.piece(range.clone()), (range, 0..0));
        }
    }
}
