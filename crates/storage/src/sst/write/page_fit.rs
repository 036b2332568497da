//! Where data blocks end, so that few of them lie on more pages of the system's cache than they
//! have to.
//!
//! Blocks are cut by their uncompressed size, and follow each other. One that is stored in 3 KiB
//! lies on two pages of 4 KiB three times out of four: a read that finds neither page cached has
//! both read, one that finds only one of them waits for the disk as well, and the block takes two
//! pages of the cache. So a block is cut where its stored form is expected to end at the end of a
//! page, and the few bytes that are left of the page stay empty, up to 4% of the file. RocksDB
//! aligns uncompressed blocks (`block_align`), and blocks to larger units
//! (`super_block_alignment_size`), at their full size and with as much padding as that takes;
//! readers find blocks by the index in any case.

use crate::sst::format::handle::{PAGE, TRAILER_LEN};

/// The most bytes that stay empty at the end of a page.
const MOST_PADDING: u64 = PAGE / 8;

/// One byte of so many that were written stays empty at most.
const BYTES_TO_PADDING: u64 = 25;

/// The least size of blocks that are fitted, in bytes; smaller ones seldom lie on two pages.
const LEAST_SIZE: usize = 1024;

/// The most pages that a block may be stored in to be fitted: one more is little for it.
const MOST_PAGES: f64 = 4.0;

/// The least and the largest part of its size that a fitted block has.
const SHORTEST: f64 = 0.7;
const LONGEST: f64 = 1.5;

/// By how many percent a block may stay below its size, if the next entry would exceed that size.
const SIZE_DEVIATION: usize = 10;

/// When a data block is full.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct BlockLimit {
    /// The size at which it is, in bytes.
    most: usize,
    /// The size from which on it is, if the next entry would exceed `most`.
    nearly: usize,
}

impl BlockLimit {
    /// The limit of blocks of this size, wherever they lie.
    pub(super) fn of_size(size: usize) -> Self {
        BlockLimit {
            most: size,
            nearly: size.saturating_sub(size / 100 * SIZE_DEVIATION),
        }
    }

    /// Whether a block of `len` bytes is full before an entry that makes it grow by up to `by`.
    pub(super) fn is_reached(self, len: usize, by: usize) -> bool {
        len >= self.most || (len > self.nearly && len + by > self.most)
    }
}

/// Learns how much of a block its stored form takes, and fits the next block to the page.
#[derive(Debug)]
pub(super) struct PageFit {
    /// The size of blocks, in bytes.
    size: usize,
    /// Stored bytes for a byte of a block, and how much single blocks deviate from that: moving
    /// averages. `None` before the first block.
    ratio: Option<(f64, f64)>,
    /// Bytes that stay empty.
    empty: u64,
}

impl PageFit {
    /// For blocks of `size` bytes; `None` if they are too small to gain by it.
    pub(super) fn new(size: usize) -> Option<Self> {
        (size >= LEAST_SIZE).then_some(PageFit {
            size,
            ratio: None,
            empty: 0,
        })
    }

    /// Learns that a block of `len` bytes was stored in `stored` bytes.
    pub(super) fn learn(&mut self, len: usize, stored: u64) {
        let this = stored.max(1) as f64 / len as f64;
        let (ratio, deviation) = self.ratio.unwrap_or((this, 0.0));
        let off = this - ratio;
        self.ratio = Some((ratio + off / 8.0, deviation + (off.abs() - deviation) / 4.0));
    }

    /// The bytes that a byte of a block is stored in, and a block of the usual size with its
    /// trailer, if blocks are fitted. Most take less: one that ends before the page does leaves a
    /// few bytes empty, one that ends behind it is on two pages.
    fn stored(&self) -> Option<(f64, f64)> {
        let (ratio, deviation) = self.ratio?;
        let ratio = ratio + deviation;
        let block = ratio * self.size as f64 + TRAILER_LEN as f64;
        (block <= MOST_PAGES * PAGE as f64).then_some((ratio, block))
    }

    /// The limit of a block that begins at `offset` of the file.
    pub(super) fn limit(&self, offset: u64) -> BlockLimit {
        let Some((ratio, block)) = self.stored() else {
            return BlockLimit::of_size(self.size);
        };
        let mut room = (PAGE - offset % PAGE) as f64;
        while room < SHORTEST * block {
            room += PAGE as f64;
        }
        let blocks = (room / block).round().max(1.0);
        let most = (room / blocks - TRAILER_LEN as f64) / ratio;
        let size = self.size as f64;
        let (shortest, longest) = (SHORTEST * size, LONGEST * size);
        BlockLimit {
            most: most.clamp(shortest, longest) as usize,
            nearly: shortest as usize,
        }
    }

    /// How many bytes stay empty behind the last block, which ends at `offset` of the file.
    pub(super) fn pad(&mut self, offset: u64) -> usize {
        let Some((_, block)) = self.stored() else {
            return 0;
        };
        let rest = (PAGE - offset % PAGE) % PAGE;
        let fits_a_block = rest as f64 >= SHORTEST * block;
        let is_too_much = (self.empty + rest) * BYTES_TO_PADDING > offset;
        if rest > MOST_PADDING || fits_a_block || is_too_much {
            return 0;
        }
        self.empty += rest;
        rest as usize
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    /// How many blocks of entries of `entry` bytes lie on a page more than they need, of how many,
    /// and which part of the file is empty, if each is stored in what `stored` says.
    fn lay_out(size: usize, entry: usize, stored: impl Fn(usize, usize) -> u64) -> (usize, f64) {
        const BLOCKS: usize = 1000;
        let mut fit = PageFit::new(size).expect("large enough");
        let (mut offset, mut empty, mut straddle) = (0, 0, 0);
        for nth in 0..BLOCKS {
            let limit = fit.limit(offset);
            let mut len = entry;
            while !limit.is_reached(len, entry) {
                len += entry;
            }
            let end = offset + stored(nth, len) + TRAILER_LEN as u64;
            let pages = (end - 1) / PAGE - offset / PAGE + 1;
            straddle += usize::from(pages > (end - offset).div_ceil(PAGE));
            fit.learn(len, stored(nth, len));
            let padding = fit.pad(end);
            empty += padding;
            offset = end + padding as u64;
        }
        (straddle * 100 / BLOCKS, empty as f64 / offset as f64)
    }

    #[test]
    fn few_blocks_lie_on_a_page_more_than_they_need() {
        for (size, part) in [
            (4096, 1.0),
            (4096, 0.8),
            (4096, 0.65),
            (4096, 0.5),
            (4096, 0.3),
            (8192, 0.5),
            (16384, 0.4),
            (4096, 0.1),
            (1024, 1.0),
            (1024, 0.4),
        ] {
            let (straddle, empty) = lay_out(size, 40, |_, len| (len as f64 * part) as u64);
            assert!(straddle <= 5, "{size}, {part}: {straddle}%");
            assert!(empty < 0.03, "{size}, {part}: {empty}");
        }
    }

    #[test]
    fn blocks_that_compress_differently_take_no_more_space() {
        let stored = |nth: usize, len: usize| len as u64 * (3 + nth as u64 * 7 % 5) / 8;
        let (_, empty) = lay_out(4096, 40, stored);
        assert!(empty < 0.041, "{empty}");
    }

    #[test]
    fn large_entries_are_not_cut_off_from_each_other() {
        let (_, empty) = lay_out(4096, 1500, |_, len| len as u64 / 2);
        assert!(empty < 0.041, "{empty}");
        let mut fit = PageFit::new(4096).expect("large enough");
        fit.learn(4096, 4096);
        let limit = fit.limit(0);
        assert!(
            !limit.is_reached(1500, 5000),
            "a short block before a long one"
        );
        assert!(limit.is_reached(3000, 5000));
    }

    proptest! {
        #[test]
        fn the_size_of_blocks_is_kept_about(
            size in LEAST_SIZE..100_000,
            offset in 0u64..1 << 40,
            blocks in proptest::collection::vec((1usize..100_000, 0u64..100_000), 0..20),
            // How many blocks follow that are stored in nothing.
            nothing in 0usize..30,
        ) {
            let mut fit = PageFit::new(size).expect("large enough");
            for (len, stored) in blocks {
                fit.learn(len, stored);
            }
            for _ in 0..nothing {
                fit.learn(size, 0);
            }
            let BlockLimit { most, nearly } = fit.limit(offset);
            let part = most as f64 / size as f64;
            prop_assert!((0.69..=LONGEST).contains(&part), "{most}");
            prop_assert!(nearly <= most);
            prop_assert!(fit.pad(offset) as u64 <= MOST_PADDING);
        }
    }
}
