//! What tables report, for statistics.

use std::fmt;
use std::time::Duration;
use whitewater_concurrent::system;

/// The outcome of a query to a filter.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum FilterEvent {
    /// The filter ruled out a key: the lookup skipped the table.
    Useful,
    /// A lookup found its whole key in the filter.
    FullPositive,
    /// A lookup found its whole key in the filter, and then in the table.
    FullTruePositive,
    /// A lookup or an iterator queried the filter for a prefix.
    PrefixChecked,
    /// The prefix was not in the filter: the table was skipped.
    PrefixUseful,
    /// A lookup found its prefix in the filter, and its key in the table.
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

/// The outcome of compressing a block.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum BlockCompression {
    /// It is stored compressed.
    Compressed,
    /// It did not shrink enough, and is stored uncompressed.
    Rejected,
    /// No compression was tried: the table is written without compression.
    Bypassed,
}

/// A step of reading or writing a block whose time can be measured.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum BlockStep {
    /// Getting a block that is not in the cache: reading, checking, decompressing.
    Read,
    /// Appending a block with its checksum to the file of a new table.
    Write,
    /// Compressing a block, whether it got smaller or not.
    Compress,
    /// Decompressing a block.
    Decompress,
}

/// Listens to what happens in tables. The methods with a default do nothing by default.
pub trait TableEvents: fmt::Debug + Send + Sync {
    /// A filter was queried.
    fn filter(&self, event: FilterEvent);
    /// A block of `bytes` bytes was found in the block cache.
    fn cache_hit(&self, kind: BlockKind, bytes: usize);
    /// A block was not in the block cache.
    fn cache_miss(&self, kind: BlockKind);
    /// A block of `bytes` bytes was inserted into the block cache.
    fn cache_add(&self, kind: BlockKind, bytes: usize);
    /// The block cache refused a block, because its capacity is a strict limit.
    fn cache_add_failed(&self);
    /// The checksum of a block was computed after reading it; `matches` says whether it is the
    /// stored one.
    fn checksum(&self, _matches: bool) {}
    /// A block of `from` bytes is to be stored in `to` bytes.
    fn compressed(&self, _outcome: BlockCompression, _from: usize, _to: usize) {}
    /// A block that is stored in `from` bytes was decompressed to `to` bytes.
    fn decompressed(&self, _from: usize, _to: usize) {}
    /// Whether to measure the time of `step`. If not, no clock is read for it.
    fn wants(&self, _step: BlockStep) -> bool {
        false
    }
    /// `step` took `time`.
    fn took(&self, _step: BlockStep, _time: Duration) {}
}

/// Runs `take`, and measures its time as that of `step` if the listener wants it.
#[inline]
pub(crate) fn timed<T>(
    events: Option<&dyn TableEvents>,
    step: BlockStep,
    take: impl FnOnce() -> T,
) -> T {
    let Some(events) = events.filter(|events| events.wants(step)) else {
        return take();
    };
    let start = system::now();
    let taken = take();
    events.took(step, system::since(start));
    taken
}
