//! Read-ahead: decides how much of a file to read for a block, and holds what was read.
//!
//! Knows no file; `block_file` does the reading.

use crate::sst::format::handle::{BlockHandle, TRAILER_LEN};
use crate::sst::options::auto_readahead::AutoReadahead;
use bytes::Bytes;
use std::ops::Range;

/// The most that is read at once if the system reads ahead itself, in bytes.
const PIECE: usize = 256 << 10;

/// The part of a file that an iterator has read and may need soon.
///
/// Reads ahead once blocks are requested in file order, or in the reverse order, and doubles
/// the size of each read up to a limit ([`AutoReadahead`]), unless the caller has chosen a size.
#[derive(Debug, Default)]
pub(crate) struct ReadAhead {
    bytes: Bytes,
    offset: u64,
    /// Bytes that were read ahead last. 0 before the first read-ahead of a run of blocks.
    size: usize,
    auto: AutoReadahead,
    /// The size that the caller chose; 0 if it chose none.
    fixed: usize,
    /// Whether the system is always told what will be read next.
    in_background: bool,
    /// The end of what the system was told to read.
    told: u64,
    last: Option<BlockHandle>,
    /// How many blocks were requested in a row so far.
    run: u64,
    backward: bool,
}

impl ReadAhead {
    /// Reads `readahead` bytes at a time, or what `auto` says if that is 0.
    pub(crate) fn new(readahead: usize, auto: AutoReadahead) -> Self {
        ReadAhead {
            fixed: readahead,
            auto,
            ..ReadAhead::default()
        }
    }

    /// Has the system told what will be read next each time something is read ahead.
    #[must_use]
    pub(crate) fn in_background(self, in_background: bool) -> Self {
        ReadAhead {
            in_background,
            ..self
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

    /// Forgets what was read and told. The caller's choices stay.
    pub(crate) fn reset(&mut self) {
        *self = ReadAhead::new(self.fixed, self.auto).in_background(self.in_background);
    }

    /// Whether the block is held here as part of a larger buffer, which it would keep alive.
    pub(crate) fn is_wider_than(&self, handle: BlockHandle) -> bool {
        (self.get(handle)).is_some_and(|block| self.bytes.len() > block.len())
    }

    /// Records that the block at `handle` was used, wherever it came from.
    pub(crate) fn note(&mut self, handle: BlockHandle) {
        let before = self.last.replace(handle);
        let Some(before) = before else {
            return;
        };
        if before == handle {
            return;
        }
        if self.goes_on(before, handle) {
            self.run += 1;
            self.backward = before.follows(handle);
        } else {
            self.run = 0;
            self.size = 0;
            self.told = 0;
        }
    }

    /// Whether the block at `handle` is in a row with the one `before` it, in the direction of the
    /// blocks before that.
    fn goes_on(&self, before: BlockHandle, handle: BlockHandle) -> bool {
        let forward = handle.follows(before);
        let backward = before.follows(handle);
        (forward || backward) && (self.run == 0 || self.backward == backward)
    }

    /// The block and its trailer at `handle`, if they are held.
    pub(crate) fn get(&self, handle: BlockHandle) -> Option<Bytes> {
        let start = usize::try_from(handle.offset.checked_sub(self.offset)?).ok()?;
        let len = usize::try_from(handle.size)
            .ok()?
            .checked_add(TRAILER_LEN)?;
        let end = start.checked_add(len)?;
        (end <= self.bytes.len()).then(|| self.bytes.slice(start..end))
    }

    /// Whether more than the block at `handle` will be read, if it is the next one and not held.
    /// The handle may be damaged.
    pub(crate) fn exceeds(&self, handle: BlockHandle) -> bool {
        let (run, size) = match self.last {
            Some(before) if self.goes_on(before, handle) => (self.run + 1, self.size),
            _ => (0, 0),
        };
        let ahead = match self.fixed {
            0 if run < self.auto.after => 0,
            0 => self.auto.next(size),
            fixed => fixed,
        };
        ahead as u64 > handle.size.saturating_add(TRAILER_LEN as u64)
    }

    /// The range of the file to read for the block at `handle`, which is not held and lies
    /// within the `file_size` bytes of the file. `None` if no more than the block is to be read.
    pub(crate) fn next_read(&mut self, handle: BlockHandle, file_size: u64) -> Option<Range<u64>> {
        let len = handle.size as usize + TRAILER_LEN;
        let ahead = if self.fixed > 0 {
            self.fixed
        } else if self.run >= self.auto.after {
            self.size = self.auto.next(self.size);
            self.size
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
    /// the system reads ahead itself, and the range to tell it of, within the `file_size` bytes of
    /// the file. That is told when half of what was told before is left, so that the system is
    /// reading while its reader works.
    pub(crate) fn piece(&mut self, range: Range<u64>, file_size: u64) -> (Range<u64>, Range<u64>) {
        let whole = range.end - range.start;
        if self.backward && self.run > 0 {
            return (range, 0..0);
        }
        if whole <= PIECE as u64 {
            if !self.in_background {
                return (range, 0..0);
            }
            // The next part may be twice as large.
            let upto = range.end.saturating_add(2 * whole).min(file_size);
            let from = self.told.clamp(range.end, upto);
            self.told = self.told.max(upto);
            return (range, from..upto);
        }
        let end = range.start + PIECE as u64;
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
        let mut ahead = ReadAhead::new(2 << 20, AutoReadahead::default());
        let size = 5 << 20;
        let mut told = 256 * KIB;
        let mut at = 0;
        while at < size {
            let block = BlockHandle {
                offset: at,
                size: 4_000,
            };
            let range = ahead.next_read(block, size).expect("it reads ahead");
            let (piece, hint) = ahead.piece(range.clone(), size);
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

    /// What is read for each of the blocks at `offsets`, which are 1,000 bytes with their trailers.
    fn reads(auto: AutoReadahead, offsets: &[u64]) -> Vec<u64> {
        let mut ahead = ReadAhead::new(0, auto);
        let mut read = Vec::new();
        for &offset in offsets {
            let size = 1000 - TRAILER_LEN as u64;
            let block = BlockHandle { offset, size };
            let exceeds = ahead.exceeds(block);
            ahead.note(block);
            if ahead.get(block).is_some() {
                continue;
            }
            let next = ahead.next_read(block, 1 << 20);
            assert_eq!(exceeds, next.is_some(), "{offset}");
            match next {
                None => read.push(0),
                Some(range) => {
                    let len = range.end - range.start;
                    read.push(len);
                    ahead.fill(vec![0; len as usize].into(), range.start);
                }
            }
        }
        read
    }

    #[test]
    fn a_damaged_handle_is_neither_held_nor_exceeded() {
        let damaged = BlockHandle {
            offset: 0,
            size: u64::MAX,
        };
        for fixed in [0, 1 << 20] {
            let mut ahead = ReadAhead::new(fixed, AutoReadahead::default());
            ahead.fill(vec![0; 100].into(), 0);
            assert_eq!(ahead.get(damaged), None);
            assert!(!ahead.exceeds(damaged));
        }
    }

    #[test]
    fn read_ahead_begins_after_blocks_in_order_and_doubles_up_to_its_limit() {
        let forward: Vec<u64> = (0..40).map(|n| n * 1000).collect();
        let backward: Vec<u64> = (100..140).rev().map(|n| n * 1000).collect();
        for (initial, max, after, expected) in [
            (4000, 16_000, 2, &[0, 0, 4000, 8000, 16_000, 16_000][..]),
            (4000, 9000, 2, &[0, 0, 4000, 8000, 9000, 9000, 9000]),
            // The first size is above the limit.
            (9000, 8000, 0, &[8000; 5]),
            (4000, 16_000, 0, &[4000, 8000, 16_000, 16_000]),
            (
                4000,
                16_000,
                5,
                &[0, 0, 0, 0, 0, 4000, 8000, 16_000, 16_000],
            ),
        ] {
            let auto = AutoReadahead {
                initial,
                max,
                after,
            };
            assert_eq!(reads(auto, &forward), expected, "{auto:?}");
            // The first block of all is read before there is a direction.
            if after > 0 {
                assert_eq!(reads(auto, &backward), expected, "{auto:?} backward");
            }
        }
    }

    #[test]
    fn blocks_behind_padding_to_a_page_are_in_order() {
        let auto = AutoReadahead {
            initial: 9000,
            max: 9000,
            after: 2,
        };
        // Four blocks to a page.
        let forward: Vec<u64> = (0..12).map(|n| n / 4 * 4096 + n % 4 * 1000).collect();
        assert_eq!(reads(auto, &forward), [0, 0, 9000, 9000]);
        let backward: Vec<u64> = forward.into_iter().rev().collect();
        assert_eq!(reads(auto, &backward), [0, 0, 9000, 2000]);
    }

    #[test]
    fn nothing_is_read_ahead_if_a_size_is_0_or_the_blocks_are_not_in_order() {
        let forward: Vec<u64> = (0..10).map(|n| n * 1000).collect();
        let auto = AutoReadahead::default();
        for off in [
            AutoReadahead { initial: 0, ..auto },
            AutoReadahead { max: 0, ..auto },
            AutoReadahead {
                after: u64::MAX,
                ..auto
            },
        ] {
            assert_eq!(reads(off, &forward), [0; 10], "{off:?}");
        }
        assert_eq!(reads(auto, &[0, 3000, 1000, 9000, 7000]), [0; 5]);
        let every_second: Vec<u64> = (0..40).map(|n| n * 2000).collect();
        assert_eq!(reads(auto, &every_second), [0; 40]);
        // Each of them may be the first of a run.
        let at_once = AutoReadahead { after: 0, ..auto };
        assert_eq!(reads(at_once, &[0, 30_000, 100_000]), [8192; 3]);
    }

    #[test]
    fn little_is_read_at_once() {
        for fixed in [0, 64 << 10, PIECE] {
            let mut ahead = ReadAhead::new(fixed, AutoReadahead::default());
            let range = 4_096..4_096 + 64 * KIB;
            assert_eq!(ahead.piece(range.clone(), 1 << 20), (range, 0..0));
        }
    }
}
