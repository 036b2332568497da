//! Queries to the filter of a table.
//!
//! A filter holds whole keys, prefixes, or both. A point lookup queries it for the whole key, or
//! for the key's prefix if the filter holds no whole keys. An iterator that keeps to a prefix
//! queries it for that prefix on each seek. Prefixes are used only if the table was written with
//! a prefix extractor of the same name as the reader's. A key without a prefix is never ruled
//! out.

use crate::error::Result;
use crate::key::{MAX_SEQUENCE, seek_key, user_key};
use crate::perf::{self, PerfMetric};
use crate::sst::events::{BlockKind, BlockStep, FilterEvent, timed};
use crate::sst::filter::{Filter, FilterQuery};
use crate::sst::format::block::Block;
use crate::sst::format::handle::BlockHandle;
use crate::sst::options::read_options::{BlockReadOptions, TableReadOptions};
use crate::sst::read::readahead::ReadAhead;
use crate::sst::read::table::Table;
use crate::sst::read::table_filter::FilterBlocks;

/// What the filter says to a lookup.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum FilterAnswer {
    /// The filter could not be queried.
    NotAsked,
    /// The key is not in the table.
    No,
    /// The key may be in the table. If it is, report this event.
    Maybe(FilterEvent),
}

impl Table {
    /// Prefetches the part of the filter that a lookup of the query's key will read. A hint, useful
    /// before several tables are queried.
    #[inline]
    pub fn prefetch_filter(&self, query: &FilterQuery<'_>) {
        if let FilterBlocks::Full(filter) = &self.filter.blocks
            && self.filter.whole_keys
        {
            filter.prefetch(query);
        }
    }

    /// Whether the filter says that `user_key` may be in the table.
    pub fn may_contain(&self, user_key: &[u8]) -> bool {
        let read_options = BlockReadOptions::from(TableReadOptions::default());
        let target = seek_key(user_key, MAX_SEQUENCE);
        let key = self.comparator.user.without_timestamp(user_key);
        self.query_filter(&FilterQuery::new(key), &target, read_options) != FilterAnswer::No
    }

    /// Queries the filter for the key of `query`, which is that of the internal key `lookup`, and
    /// counts the outcome.
    #[inline]
    pub(crate) fn query_filter(
        &self,
        query: &FilterQuery<'_>,
        lookup: &[u8],
        read_options: BlockReadOptions,
    ) -> FilterAnswer {
        if matches!(self.filter.blocks, FilterBlocks::None) {
            return FilterAnswer::NotAsked;
        }
        let answer = if self.filter.whole_keys {
            if self.filter_may_match(query, lookup, read_options) {
                self.report(FilterEvent::FullPositive);
                FilterAnswer::Maybe(FilterEvent::FullTruePositive)
            } else {
                self.report(FilterEvent::Useful);
                FilterAnswer::No
            }
        } else {
            let prefix = self.filter.prefixes.as_ref().map(|t| t.prefix(query.key()));
            match prefix.flatten() {
                None => return FilterAnswer::NotAsked,
                Some(prefix) if self.prefix_may_match(prefix, lookup, read_options) => {
                    FilterAnswer::Maybe(FilterEvent::PrefixTruePositive)
                }
                Some(_) => FilterAnswer::No,
            }
        };
        let metric = match answer {
            FilterAnswer::No => PerfMetric::BloomSstMissCount,
            _ => PerfMetric::BloomSstHitCount,
        };
        perf::count(metric, 1);
        answer
    }

    /// Whether an iterator that seeks to `target`, an internal key, and looks at nothing outside
    /// its prefix, may find something. Partitioned filters cannot answer that for a `backward`
    /// seek: in tables of older RocksDB versions, a partition lacks the prefix of the key before
    /// it.
    pub(crate) fn may_hold_prefix_of(
        &self,
        target: &[u8],
        backward: bool,
        read_options: BlockReadOptions,
    ) -> bool {
        match &self.filter.blocks {
            FilterBlocks::None => return true,
            FilterBlocks::Partitioned(_) if backward => return true,
            FilterBlocks::Cached(cached) if cached.partitioned && backward => return true,
            FilterBlocks::Full(_) | FilterBlocks::Partitioned(_) | FilterBlocks::Cached(_) => {}
        }
        let prefixes = self.filter.prefixes.as_ref();
        let Some(prefix) = prefixes.and_then(|t| t.prefix(user_key(target))) else {
            return true;
        };
        let may = self.prefix_may_match(prefix, target, read_options);
        let metric = if may {
            PerfMetric::BloomSstHitCount
        } else {
            PerfMetric::BloomSstMissCount
        };
        perf::count(metric, 1);
        may
    }

    fn prefix_may_match(
        &self,
        prefix: &[u8],
        target: &[u8],
        read_options: BlockReadOptions,
    ) -> bool {
        self.report(FilterEvent::PrefixChecked);
        let may = self.filter_may_match(&FilterQuery::new(prefix), target, read_options);
        if !may {
            self.report(FilterEvent::PrefixUseful);
        }
        may
    }

    /// Reports an event to the table's listener, if it has one.
    #[inline]
    pub(crate) fn report(&self, event: FilterEvent) {
        if let Some(events) = &self.file.events {
            events.filter(event);
        }
    }

    /// Whether the filter holds what `query` asks for, near the internal key `target`.
    #[inline]
    pub(crate) fn filter_may_match(
        &self,
        query: &FilterQuery<'_>,
        target: &[u8],
        read_options: BlockReadOptions,
    ) -> bool {
        match &self.filter.blocks {
            FilterBlocks::None => true,
            FilterBlocks::Full(f) => f.may_match(query),
            FilterBlocks::Partitioned(top) => {
                // A filter is a hint: one that cannot be read rules out nothing.
                self.filter_partition(top, target, read_options)
                    .is_none_or(|f| f.may_match(query))
            }
            FilterBlocks::Cached(cached) => {
                let filter = if cached.partitioned {
                    (self.read_filter_top(cached.handle, read_options).ok())
                        .and_then(|top| self.filter_partition(&top, target, read_options))
                } else {
                    self.read_filter(cached.handle, read_options)
                };
                filter.is_none_or(|f| f.may_match(query))
            }
        }
    }

    fn filter_partition(
        &self,
        top: &Block,
        target: &[u8],
        read_options: BlockReadOptions,
    ) -> Option<Filter> {
        let mut cursor = self.index_format.cursor(Vec::new());
        cursor.seek(top, |k| self.compare_index(k, target));
        if !cursor.valid() {
            cursor.status().ok()?;
            cursor.seek_to_last(top);
        }
        if !cursor.valid() {
            return None;
        }
        self.read_filter(cursor.handle(), read_options)
    }

    /// The filter, or the filter partition, at `handle`.
    fn read_filter(&self, handle: BlockHandle, read_options: BlockReadOptions) -> Option<Filter> {
        if let Some(bytes) = self.pinned.partitions.get(&handle.offset) {
            return Some(Filter::new(bytes.clone()));
        }
        let _timer = perf::timer(PerfMetric::ReadFilterBlockNanos);
        if let Some(bytes) = self.cached_block(BlockKind::Filter, handle, read_options) {
            return Some(Filter::new(bytes));
        }
        let readahead = &mut ReadAhead::default();
        let read = || self.file.read_raw(handle, read_options.verify, readahead);
        let events = self.file.events.as_deref();
        let (bytes, ty) = timed(events, BlockStep::Read, || read_options.limits.run(read)).ok()?;
        if ty != 0 {
            return None;
        }
        let bytes = self
            .cache_block(BlockKind::Filter, handle, read_options, bytes)
            .ok()?;
        Some(Filter::new(bytes))
    }

    /// The top block of a partitioned filter.
    pub(crate) fn read_filter_top(
        &self,
        handle: BlockHandle,
        read_options: BlockReadOptions,
    ) -> Result<Block> {
        let _timer = perf::timer(PerfMetric::ReadFilterBlockNanos);
        self.read_block(
            BlockKind::Filter,
            handle,
            read_options,
            &mut ReadAhead::default(),
        )
    }
}
