//! Asking the filter of a table.
//!
//! A filter holds whole keys, prefixes, or both. Point look-ups ask for whole
//! keys, and for the key's prefix where there are none; cursors that keep to a
//! prefix ask for it when they are sent to a key. Prefixes count only when the
//! table was written with a transform of the same name as the reader's, and a
//! key without a prefix excludes nothing.

use super::TableProperties;
use super::block::Block;
use super::events::{BlockKind, BlockStep, timed};
use super::fetch::Window;
use super::filter::{Filter, PrefixTransform};
use super::handle::BlockHandle;
use super::hash64::hash64;
use super::properties::name;
use super::reader::{Fetch, Table, TableReadOptions};
use crate::error::Result;
use crate::key::{MAX_SEQUENCE, seek_key, user_key};
use crate::perf::{self, PerfMetric};
use crate::planted::{Bug, planted};
use std::sync::Arc;

/// The filter of a table and how to ask it.
#[derive(Debug)]
pub(crate) struct TableFilter {
    pub(crate) blocks: FilterBlocks,
    /// Whether it holds whole keys.
    pub(crate) whole_keys: bool,
    /// Set when it holds the prefixes that this transform gives.
    pub(crate) prefixes: Option<Arc<dyn PrefixTransform>>,
}

#[derive(Debug)]
pub(crate) enum FilterBlocks {
    None,
    Full(Filter),
    /// An index block over filter blocks, in the encoding of the table's index.
    Partitioned(Block),
    /// In the cache only.
    Cached(CachedFilter),
}

/// A filter that is asked of the cache each time.
#[derive(Debug, Clone, Copy)]
pub(crate) struct CachedFilter {
    pub(crate) handle: BlockHandle,
    pub(crate) partitioned: bool,
}

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

impl TableFilter {
    /// How a filter in a table with such properties may be asked, by a reader
    /// with this transform; the blocks are still to come.
    pub(crate) fn new(
        properties: &TableProperties,
        transform: Option<&Arc<dyn PrefixTransform>>,
    ) -> Self {
        let holds_prefixes = properties.flag(name::PREFIX_FILTERING, true);
        let written_with = properties.raw.get(name::PREFIX_EXTRACTOR);
        let same = |t: &&Arc<dyn PrefixTransform>| {
            let own = written_with.is_some_and(|w| *w == t.name().into_bytes());
            holds_prefixes && (own || planted(Bug::ForeignPrefixesAsked))
        };
        TableFilter {
            blocks: FilterBlocks::None,
            whole_keys: properties.flag(name::WHOLE_KEY_FILTERING, true),
            prefixes: transform.filter(same).cloned(),
        }
    }

    /// Whether it can be of any use.
    pub(crate) fn is_askable(&self) -> bool {
        self.whole_keys || self.prefixes.is_some()
    }

    /// Bytes of memory held.
    pub(crate) fn memory_usage(&self) -> usize {
        match &self.blocks {
            FilterBlocks::None | FilterBlocks::Cached(_) => 0,
            FilterBlocks::Full(f) => f.memory_usage(),
            FilterBlocks::Partitioned(top) => top.data().len(),
        }
    }
}

/// What the filter says to a look-up.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Answer {
    /// There was nothing to ask.
    NotAsked,
    /// The key is not in the table.
    No,
    /// The key may be in the table. Which event it is when it is.
    Maybe(FilterEvent),
}

/// What filters of whole keys are going to be asked: a key's hash.
#[derive(Debug, Clone, Copy)]
pub struct FilterQuestion(u64);

impl FilterQuestion {
    /// About a user key, without its timestamp if such keys have one.
    pub fn new(user_key: &[u8]) -> Self {
        FilterQuestion(hash64(user_key))
    }
}

impl Table {
    /// Asks the processor for the memory of the filter that a look-up of this key
    /// is going to read. A hint, for who asks several tables.
    #[inline]
    pub fn expect(&self, question: FilterQuestion) {
        if let FilterBlocks::Full(filter) = &self.filter.blocks
            && self.filter.whole_keys
        {
            filter.prefetch(question.0);
        }
    }

    /// Whether the filter says that `user_key` may be in the table.
    pub fn may_contain(&self, user_key: &[u8]) -> bool {
        let how = Fetch::from(TableReadOptions::default());
        self.ask_for(&seek_key(user_key, MAX_SEQUENCE), how) != Answer::No
    }

    /// Asks for the key of `lookup`, an internal key, and counts the outcome.
    #[inline]
    pub(crate) fn ask_for(&self, lookup: &[u8], how: Fetch) -> Answer {
        if matches!(self.filter.blocks, FilterBlocks::None) {
            return Answer::NotAsked;
        }
        let user_key = self.comparator.user.without_timestamp(user_key(lookup));
        let answer = if self.filter.whole_keys {
            if self.filter_may_match(user_key, lookup, how) {
                self.tell(FilterEvent::FullPositive);
                Answer::Maybe(FilterEvent::FullTruePositive)
            } else {
                self.tell(FilterEvent::Useful);
                Answer::No
            }
        } else {
            let prefix = self.filter.prefixes.as_ref().map(|t| t.prefix(user_key));
            match prefix.flatten() {
                None => return Answer::NotAsked,
                Some(prefix) if self.prefix_may_match(prefix, lookup, how) => {
                    Answer::Maybe(FilterEvent::PrefixTruePositive)
                }
                Some(_) => Answer::No,
            }
        };
        let metric = match answer {
            Answer::No => PerfMetric::BloomSstMissCount,
            _ => PerfMetric::BloomSstHitCount,
        };
        perf::count(metric, 1);
        answer
    }

    /// Whether a cursor that is sent to `target`, an internal key, and looks at
    /// nothing outside its prefix, may find something. Going `backward`
    /// partitions cannot be asked: those that older versions of RocksDB wrote
    /// do not know the prefix of the key before them.
    pub(crate) fn may_hold_prefix_of(&self, target: &[u8], backward: bool, how: Fetch) -> bool {
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
        let may = self.prefix_may_match(prefix, target, how);
        let metric = if may {
            PerfMetric::BloomSstHitCount
        } else {
            PerfMetric::BloomSstMissCount
        };
        perf::count(metric, 1);
        may
    }

    fn prefix_may_match(&self, prefix: &[u8], target: &[u8], how: Fetch) -> bool {
        self.tell(FilterEvent::PrefixChecked);
        let may = self.filter_may_match(prefix, target, how);
        if !may {
            self.tell(FilterEvent::PrefixUseful);
        }
        may
    }

    /// Tells of an event, if somebody wants to know.
    #[inline]
    pub(crate) fn tell(&self, event: FilterEvent) {
        if let Some(events) = &self.file.events {
            events.filter(event);
        }
    }

    /// Whether the filter holds `entry`, a key or a prefix, near the internal
    /// key `target`.
    #[inline]
    fn filter_may_match(&self, entry: &[u8], target: &[u8], how: Fetch) -> bool {
        match &self.filter.blocks {
            FilterBlocks::None => true,
            FilterBlocks::Full(f) => f.may_match(entry),
            FilterBlocks::Partitioned(top) => {
                // A filter is a hint: what cannot be read excludes nothing.
                self.filter_partition(top, target, how)
                    .is_none_or(|f| f.may_match(entry))
            }
            FilterBlocks::Cached(cached) => {
                let filter = match cached.partitioned {
                    false => self.read_filter(cached.handle, how),
                    true => (self.read_filter_top(cached.handle, how).ok())
                        .and_then(|top| self.filter_partition(&top, target, how)),
                };
                filter.is_none_or(|f| f.may_match(entry))
            }
        }
    }

    fn filter_partition(&self, top: &Block, target: &[u8], how: Fetch) -> Option<Filter> {
        let mut cursor = self.index_format.cursor(Vec::new());
        cursor.seek(top, |k| self.compare_index(k, target));
        if !cursor.valid() {
            cursor.status().ok()?;
            cursor.seek_to_last(top);
        }
        if !cursor.valid() {
            return None;
        }
        self.read_filter(cursor.handle(), how)
    }

    /// The filter, or the part of one, at `handle`.
    fn read_filter(&self, handle: BlockHandle, how: Fetch) -> Option<Filter> {
        if let Some(bytes) = self.pinned.partitions.get(&handle.offset) {
            return Some(Filter::new(bytes.clone()));
        }
        let _timer = perf::timer(PerfMetric::ReadFilterBlockNanos);
        if let Some(bytes) = self.cached(BlockKind::Filter, handle, how) {
            return Some(Filter::new(bytes));
        }
        let window = &mut Window::default();
        let read = || self.file.read_raw(handle, how.verify, window);
        let events = self.file.events.as_deref();
        let (bytes, ty) = timed(events, BlockStep::Read, || how.limits.run(read)).ok()?;
        if ty != 0 {
            return None;
        }
        let bytes = self.keep(BlockKind::Filter, handle, how, bytes).ok()?;
        Some(Filter::new(bytes))
    }

    /// The top block of a partitioned filter.
    pub(crate) fn read_filter_top(&self, handle: BlockHandle, how: Fetch) -> Result<Block> {
        let _timer = perf::timer(PerfMetric::ReadFilterBlockNanos);
        self.read_block(BlockKind::Filter, handle, how, None, &mut Window::default())
    }
}
