//! Telling what happens in tables, for statistics.

use std::fmt;
use std::time::{Duration, Instant};

/// What became of asking a filter.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum FilterEvent {
    /// A look-up was spared the table.
    Useful,
    /// A look-up found its whole key in the filter.
    FullPositive,
    /// And then in the table.
    FullTruePositive,
    /// A look-up or a cursor asked for a prefix.
    PrefixChecked,
    /// The prefix was not in the filter: the table was spared.
    PrefixUseful,
    /// A look-up found its prefix in the filter, and its key in the table.
    PrefixTruePositive,
}

/// What a block holds.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum BlockKind {
    /// Entries.
    Data,
    /// The index of a table, or a part of it.
    Index,
    /// The filter of a table, or a part of it.
    Filter,
}

/// What became of a block that was to be compressed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum BlockCompression {
    /// It is stored compressed.
    Compressed,
    /// It did not get small enough, and is stored as it is.
    Rejected,
    /// Nothing was tried: tables like this are not compressed.
    Bypassed,
}

/// What takes time with a block.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum BlockStep {
    /// Getting one that is not in the cache: reading, checking, decompressing.
    Read,
    /// Appending one to the file of a new table, with its checksum.
    Write,
    /// Compressing one, whether it got smaller or not.
    Compress,
    /// Decompressing one.
    Decompress,
}

/// Who is told what happens in tables. What is not of interest need not be
/// listened to: all but the first methods do nothing by default.
pub trait TableEvents: fmt::Debug + Send + Sync {
    /// A filter was asked.
    fn filter(&self, event: FilterEvent);
    /// A block of so many bytes was found in the block cache.
    fn cache_hit(&self, kind: BlockKind, bytes: usize);
    /// A block was not in the block cache.
    fn cache_miss(&self, kind: BlockKind);
    /// A block of so many bytes was put into the block cache.
    fn cache_add(&self, kind: BlockKind, bytes: usize);
    /// A block was refused by a block cache whose capacity is a strict limit.
    fn cache_add_failed(&self);
    /// The checksum of a block that was read was computed, and is the stored one
    /// or not.
    fn checksum(&self, _matches: bool) {}
    /// A block of `from` bytes is to be stored in `to` bytes.
    fn compressed(&self, _outcome: BlockCompression, _from: usize, _to: usize) {}
    /// A block that is stored in `from` bytes was decompressed to `to` bytes.
    fn decompressed(&self, _from: usize, _to: usize) {}
    /// Whether the time of `step` is wanted; if not, no clock is read for it.
    fn wants(&self, _step: BlockStep) -> bool {
        false
    }
    /// A step was taken in so much time.
    fn took(&self, _step: BlockStep, _time: Duration) {}
}

/// Takes `step`, timed if somebody wants that.
#[inline]
pub(crate) fn timed<T>(
    events: Option<&dyn TableEvents>,
    step: BlockStep,
    take: impl FnOnce() -> T,
) -> T {
    let Some(events) = events.filter(|events| events.wants(step)) else {
        return take();
    };
    let start = Instant::now();
    let taken = take();
    events.took(step, start.elapsed());
    taken
}
