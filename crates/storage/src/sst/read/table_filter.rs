//! The filter of an open table: its blocks, and which queries it can answer.

use crate::planted;
use crate::sst::filter::{Filter, PrefixTransform};
use crate::sst::format::block::Block;
use crate::sst::format::handle::BlockHandle;
use crate::sst::format::properties::{TableProperties, name};
use std::sync::Arc;

/// The filter of a table, and which queries it can answer.
#[derive(Debug)]
pub(crate) struct TableFilter {
    pub(crate) blocks: FilterBlocks,
    /// Whether it holds whole keys.
    pub(crate) whole_keys: bool,
    /// The prefix extractor whose prefixes the filter holds.
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

/// A filter that is looked up in the cache for each query.
#[derive(Debug, Clone, Copy)]
pub(crate) struct CachedFilter {
    pub(crate) handle: BlockHandle,
    pub(crate) partitioned: bool,
}

impl TableFilter {
    /// A filter whose blocks are not read yet: which queries it can answer, given the table's
    /// properties and the reader's prefix extractor.
    pub(crate) fn new(
        properties: &TableProperties,
        transform: Option<&Arc<dyn PrefixTransform>>,
    ) -> Self {
        let holds_prefixes = properties.flag(name::PREFIX_FILTERING, true);
        let written_with = properties.raw.get(name::PREFIX_EXTRACTOR);
        let same = |t: &&Arc<dyn PrefixTransform>| {
            let mut own = written_with.is_some_and(|w| *w == t.name().into_bytes());
            planted!(ForeignPrefixesAsked => own = true);
            holds_prefixes && own
        };
        TableFilter {
            blocks: FilterBlocks::None,
            whole_keys: properties.flag(name::WHOLE_KEY_FILTERING, true),
            prefixes: transform.filter(same).cloned(),
        }
    }

    /// The same for a plain table: its filter holds prefixes if it was written with a prefix
    /// extractor, and whole keys otherwise.
    pub(crate) fn of_plain_table(
        properties: &TableProperties,
        transform: Option<&Arc<dyn PrefixTransform>>,
    ) -> Self {
        let written_with = properties.raw.get(name::PREFIX_EXTRACTOR);
        let written_with = written_with.filter(|name| !matches!(&name[..], b"" | b"nullptr"));
        let same = |t: &&Arc<dyn PrefixTransform>| written_with == Some(&t.name().into_bytes());
        TableFilter {
            blocks: FilterBlocks::None,
            whole_keys: written_with.is_none(),
            prefixes: transform.filter(same).cloned(),
        }
    }

    /// Whether it can answer any query.
    pub(crate) fn is_usable(&self) -> bool {
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
