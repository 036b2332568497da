//! Reading blocks: the entries of data, index and meta blocks.
//!
//! A [`Block`] holds the bytes, a [`Cursor`] is a position among its entries. Every call of the
//! cursor is given the block. So a cursor can be kept while the block changes, and an index that
//! its table holds can be searched without sharing it. Nothing here knows files or the order of
//! keys: the caller of a search compares stored keys with the target.
//!
//! `cursor` has the cursor and the invariants of reading.

mod cursor;
#[cfg(test)]
pub(crate) mod tests;

pub(crate) use cursor::{Cursor, KnownLess};

use crate::coding::get_varint32;
use crate::error::{Error, Result};
use bytes::Bytes;
use std::ops::Range;
use whitewater_concurrent::prefetch;

/// A flag in the last four bytes of a block: it has a hash table.
pub(crate) const HASH_INDEX_FLAG: u32 = 1 << 31;
const RESERVED_FLAG: u32 = 1 << 30;
const SEPARATED_VALUES_FLAG: u32 = 1 << 28;
const NUM_RESTARTS_MASK: u32 = (1 << 28) - 1;

/// The largest size of a block in bytes: restart points are offsets of 32 bits.
pub(crate) const MAX_BLOCK: usize = u32::MAX as usize;
/// The largest number of restart points of a block.
pub(crate) const MAX_RESTARTS: usize = NUM_RESTARTS_MASK as usize;

/// The number of restart points that are kept beside a block. A block of 4 KiB with entries of
/// about 100 bytes, and the usual 16 of them to a restart point, has two to four.
pub(crate) const FIRST_RESTARTS: usize = 6;

/// The size of a cache line in bytes.
pub(crate) const LINE: usize = 64;

/// The most cache lines that are prefetched of an interval between restart points: every line, or
/// every other line of an interval of up to twice as many.
const MOST_LINES: usize = 32;

/// The uncompressed payload of a block.
#[derive(Debug, Clone)]
pub(crate) struct Block {
    data: Bytes,
    /// Offset of the restart array: where the entries end.
    limit: usize,
    num_restarts: usize,
    /// The first restart points, so that a block with few of them is searched without a look at
    /// the array, which is often a cache miss.
    first_restarts: [u32; FIRST_RESTARTS],
}

impl Block {
    /// The same block in other memory: `copy` returns what it is given.
    pub(crate) fn moved(mut self, copy: impl FnOnce(Bytes) -> Bytes) -> Self {
        let len = self.data.len();
        self.data = copy(std::mem::take(&mut self.data));
        assert_eq!(self.data.len(), len, "a block was changed");
        self
    }

    /// Reads the footer of the block `data`.
    pub(crate) fn new(data: Bytes) -> Result<Self> {
        let bad = |what| Err(Error::corruption(what));
        let Some((rest, footer)) = data.split_last_chunk::<4>() else {
            return bad("block shorter than its footer");
        };
        if data.len() > MAX_BLOCK {
            return bad("block of 4 GiB or more");
        }
        let footer = u32::from_le_bytes(*footer);
        if footer & RESERVED_FLAG != 0 {
            return bad("unknown flag in block footer");
        }
        if footer & SEPARATED_VALUES_FLAG != 0 {
            return Err(Error::not_supported(
                "block that stores keys separately from values",
            ));
        }
        let mut end = rest.len();
        if footer & HASH_INDEX_FLAG != 0 {
            // The buckets and their number follow the restart points.
            let Some((head, buckets)) = rest.split_last_chunk::<2>() else {
                return bad("bad hash index in block");
            };
            let buckets = usize::from(u16::from_le_bytes(*buckets));
            match head.len().checked_sub(buckets) {
                Some(n) => end = n,
                None => return bad("bad hash index in block"),
            }
        }
        let num_restarts = (footer & NUM_RESTARTS_MASK) as usize;
        let Some(limit) = end.checked_sub(4 * num_restarts) else {
            return bad("bad number of restart points in block");
        };
        if num_restarts == 0 && limit > 0 {
            return bad("block without restart points");
        }
        let mut block = Block {
            data,
            limit,
            num_restarts,
            first_restarts: [0; FIRST_RESTARTS],
        };
        for i in 0..FIRST_RESTARTS.min(num_restarts) {
            block.first_restarts[i] = block.stored_restart(i) as u32;
        }
        Ok(block)
    }

    /// A block without entries.
    pub(crate) const fn empty() -> Self {
        Block {
            data: Bytes::new(),
            limit: 0,
            num_restarts: 0,
            first_restarts: [0; FIRST_RESTARTS],
        }
    }

    /// All bytes of the block.
    pub(crate) fn data(&self) -> &Bytes {
        &self.data
    }

    pub(crate) fn num_restarts(&self) -> usize {
        self.num_restarts
    }

    /// Prefetches the offsets of these restart points, up to a cache line of them. A hint.
    #[inline]
    pub(crate) fn expect_restarts(&self, points: Range<usize>) {
        let start = self.data.as_ptr().wrapping_add(self.limit);
        for point in [points.start, points.end.saturating_sub(1)] {
            prefetch::for_reading(start.wrapping_add(4 * point));
        }
    }

    /// Prefetches what a search reads first: the keys at the first restart points. A hint.
    #[inline]
    pub(crate) fn expect_restart_keys(&self) {
        let start = self.data.as_ptr();
        let points = self.num_restarts.min(FIRST_RESTARTS);
        for offset in &self.first_restarts[..points] {
            prefetch::for_reading(start.wrapping_add(*offset as usize));
        }
    }

    /// Prefetches the entries from restart point `i` to the next one, which a search walks over:
    /// the address of each depends on the length of the one before. Not if they are large, since
    /// most lines are of values then. A hint.
    #[inline]
    fn expect_interval(&self, i: usize) {
        let (start, end) = (self.restart(i), self.restart(i + 1));
        let lines = end.saturating_sub(start) / LINE;
        if lines > 2 * MOST_LINES {
            return;
        }
        let stride = LINE * lines.div_ceil(MOST_LINES).max(1);
        for at in (start + LINE..end).step_by(stride) {
            prefetch::for_reading(self.data.as_ptr().wrapping_add(at));
        }
    }

    /// Prefetches the entries in a range, which may end past all entries, up to the lines that are
    /// prefetched of an interval. A hint.
    #[inline]
    pub(crate) fn expect_entries(&self, range: Range<usize>) {
        let most = range.start + MOST_LINES * LINE;
        let end = range.end.min(self.limit).min(most);
        // Not `step_by`, which divides.
        let mut at = range.start;
        while at < end {
            prefetch::for_reading(self.data.as_ptr().wrapping_add(at));
            at += LINE;
        }
    }

    /// Prefetches the first entries. A hint.
    #[inline]
    pub(crate) fn expect_first_entries(&self) {
        let start = self.data.as_ptr();
        for line in 0..4 {
            prefetch::for_reading(start.wrapping_add(LINE * line));
        }
    }

    /// Offset of restart point `i`; past the entries when `i` is too large.
    #[inline]
    fn restart(&self, i: usize) -> usize {
        if i >= self.num_restarts {
            return self.limit;
        }
        match self.first_restarts.get(i) {
            Some(&offset) => offset as usize,
            None => self.stored_restart(i),
        }
    }

    /// Offset of restart point `i`, which there is, by the array.
    #[inline]
    fn stored_restart(&self, i: usize) -> usize {
        let at = self.limit + 4 * i;
        match self.data.get(at..at + 4) {
            Some(b) => u32::from_le_bytes([b[0], b[1], b[2], b[3]]) as usize,
            None => self.limit,
        }
    }

    /// Whether the block has a hash table of its keys.
    pub(crate) fn has_hash_table(&self) -> bool {
        !self.buckets().is_empty()
    }

    /// The buckets of the hash table, empty when there is none.
    #[inline]
    fn buckets(&self) -> &[u8] {
        let restarts_end = self.limit + 4 * self.num_restarts;
        // The number of buckets and the footer follow.
        let end = self.data.len().saturating_sub(6);
        self.data.get(restarts_end..end).unwrap_or(&[])
    }

    /// The keys at the restart points, in order; `None` for a key that cannot be read as that of
    /// an entry of `layout`.
    pub(crate) fn restart_keys(&self, layout: EntryLayout) -> impl Iterator<Item = Option<&[u8]>> {
        (0..self.num_restarts).map(move |i| self.restart_key(i, layout))
    }

    /// The key at restart point `i`; `None` if it cannot be read as that of an entry
    /// of `layout`.
    #[inline]
    pub(crate) fn restart_key(&self, i: usize, layout: EntryLayout) -> Option<&[u8]> {
        let entries = self.entries();
        let h = header(entries, self.restart(i), layout.has_value_len())?;
        if h.shared != 0 {
            return None;
        }
        entries.get(h.suffix..)?.get(..h.non_shared)
    }

    /// The bytes of all entries.
    pub(crate) fn entries_len(&self) -> usize {
        self.limit
    }

    #[inline]
    fn entries(&self) -> &[u8] {
        &self.data[..self.limit]
    }

    /// Where the restart points say that entries start.
    #[cfg(feature = "fuzzing")]
    pub(crate) fn restarts(&self) -> impl Iterator<Item = usize> {
        (0..self.num_restarts).map(|i| self.restart(i))
    }
}

/// How the values of a block are stored.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum EntryLayout {
    /// Data and meta blocks: each value has its length in the entry.
    Values,
    /// Index blocks whose entries have value lengths.
    Handles,
    /// Index blocks with delta-encoded handles and no value lengths.
    DeltaHandles {
        /// Whether the first key of the block follows its handle.
        first_key: bool,
    },
}

impl EntryLayout {
    #[inline(always)]
    fn has_value_len(self) -> bool {
        !matches!(self, EntryLayout::DeltaHandles { .. })
    }
}

/// The fixed part of an entry.
#[derive(Clone, Copy)]
struct Header {
    shared: usize,
    non_shared: usize,
    value_len: usize,
    /// Offset of the key's suffix.
    suffix: usize,
}

/// Decodes the header of the entry at `at`. Most lengths take a byte; the value's often takes two.
#[inline(always)]
fn header(entries: &[u8], at: usize, has_value_len: bool) -> Option<Header> {
    if let Some(&[shared, non_shared, low, high]) = entries.get(at..at + 4) {
        let header = |value_len: usize, bytes| Header {
            shared: usize::from(shared),
            non_shared: usize::from(non_shared),
            value_len,
            suffix: at + bytes,
        };
        if shared | non_shared < 0x80 {
            if !has_value_len {
                return Some(header(0, 2));
            }
            if low < 0x80 {
                return Some(header(low.into(), 3));
            }
            if high < 0x80 {
                return Some(header(usize::from(low & 0x7f) | usize::from(high) << 7, 4));
            }
        }
    }
    long_header(entries, at, has_value_len)
}

#[inline(never)]
fn long_header(entries: &[u8], at: usize, has_value_len: bool) -> Option<Header> {
    let mut rest = entries.get(at..)?;
    let shared = get_varint32(&mut rest)? as usize;
    let non_shared = get_varint32(&mut rest)? as usize;
    let value_len = if has_value_len {
        get_varint32(&mut rest)? as usize
    } else {
        0
    };
    Some(Header {
        shared,
        non_shared,
        value_len,
        suffix: entries.len() - rest.len(),
    })
}
