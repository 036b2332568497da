//! Telling what happens in tables, for statistics.

use super::ask::FilterEvent;
use std::fmt;

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

/// Who is told what happens in tables.
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
}
