//! The open table: what it holds in memory, and how it gets at its blocks.
//!
//! A [`Table`] holds range tombstones and properties in memory, and index and filter unless they
//! are to be in the cache (`metadata_pinning`). It reads data blocks, and partitions of index and
//! filter, through the block cache. It is immutable, and any number of threads share it.
//!
//! The types of entries do not matter here. Tables whose entries need a higher layer (blob
//! references, entities) can be iterated, too.

use crate::cache::{BlockCache, Charge, Priority};
use crate::error::Error;
use crate::key::{InternalComparator, SequenceNumber, tag, user_key};
use crate::rangedel::RangeTombstone;
use crate::sst::compress::Dictionary;
use crate::sst::format::block::{Block, Cursor, KnownLess};
use crate::sst::format::handle::BlockHandle;
use crate::sst::format::index_format::IndexFormat;
use crate::sst::format::properties::TableProperties;
use crate::sst::options::auto_readahead::AutoReadahead;
use crate::sst::read::block_file::BlockFile;
use crate::sst::read::cuckoo_data::CuckooData;
use crate::sst::read::directory::Directory;
use crate::sst::read::index_prefix_array::IndexPrefixArray;
use crate::sst::read::key_samples::KeySamples;
use crate::sst::read::plain_data::PlainData;
use crate::sst::read::table_filter::TableFilter;
use bytes::Bytes;
use std::cmp::Ordering;
use std::collections::{BTreeMap, HashMap};
use std::fmt;
use std::ops::Range;
use std::sync::OnceLock;

/// An open table. Shared by many readers.
pub struct Table {
    pub(crate) file: BlockFile,
    /// How data blocks are read.
    pub(crate) data: TableData,
    pub(crate) comparator: InternalComparator,
    /// The read-ahead of iterators whose caller has chosen no size.
    pub(crate) auto_readahead: AutoReadahead,
    /// The cache, and the table's id in it.
    pub(crate) cache: Option<(BlockCache, u64)>,
    pub(crate) properties: TableProperties,
    pub(crate) metaindex: BTreeMap<Vec<u8>, BlockHandle>,
    /// Empty if the index is only in the cache.
    pub(crate) index: Block,
    pub(crate) index_is_cached: bool,
    pub(crate) index_handle: BlockHandle,
    pub(crate) index_format: IndexFormat,
    pub(crate) index_prefix_array: Option<IndexPrefixArray>,
    pub(crate) filter: TableFilter,
    pub(crate) pinned: PinnedMetadata,
    /// The priority of index and filter blocks in the cache.
    pub(crate) metadata_priority: Priority,
    pub(crate) dictionary: Option<Dictionary>,
    pub(crate) tombstones: Vec<RangeTombstone>,
    /// The sequence number of every entry of an ingested file; its entries
    /// say 0.
    pub(crate) global_seqno: Option<SequenceNumber>,
    /// Where readers find cached data blocks, made when the first one is cached; empty if the cache
    /// has no room for it.
    pub(crate) directory: OnceLock<Option<Directory>>,
    /// Where the data blocks end.
    pub(crate) data_end: u64,
    pub(crate) file_number: u64,
}

/// How the data blocks of a table are read.
#[derive(Debug)]
pub(crate) enum TableData {
    /// As they are in the file: the table is block-based.
    Blocks,
    /// They are made of the data of a plain table.
    Plain(PlainData),
    /// They are made of the data of a cuckoo table.
    Cuckoo(CuckooData),
}

impl TableData {
    /// Bytes of memory held, without the struct itself.
    fn memory_usage(&self) -> usize {
        match self {
            TableData::Blocks => 0,
            TableData::Plain(data) => data.memory_usage(),
            TableData::Cuckoo(data) => data.memory_usage(),
        }
    }
}

/// What an open table keeps of its index and filter besides their only block, or their top block.
#[derive(Debug, Default)]
pub(crate) struct PinnedMetadata {
    /// Partitions by their offset, uncompressed.
    pub(crate) partitions: HashMap<u64, Bytes>,
    /// What the cache is charged for blocks that the table keeps.
    pub(crate) charge: Option<Charge>,
}

impl PinnedMetadata {
    /// Bytes of the partitions.
    pub(crate) fn len(&self) -> usize {
        self.partitions.values().map(Bytes::len).sum()
    }
}

impl Table {
    /// The table's range tombstones, sequence numbers resolved.
    pub fn range_tombstones(&self) -> &[RangeTombstone] {
        &self.tombstones
    }

    /// The table's properties.
    pub fn properties(&self) -> &TableProperties {
        &self.properties
    }

    /// Bytes of memory held by the open table outside the block cache.
    pub fn memory_usage(&self) -> usize {
        let tombstone = |t: &RangeTombstone| {
            size_of::<RangeTombstone>() + t.start.capacity() + t.end.capacity()
        };
        let charged = self.pinned.charge.as_ref().map_or(0, Charge::bytes);
        let held = size_of::<Self>()
            + self.index.data().len()
            + self.data.memory_usage()
            + (self.index_prefix_array.as_ref()).map_or(0, IndexPrefixArray::memory_usage)
            + self.filter.memory_usage()
            + self.properties.memory_usage()
            + self.dictionary.as_ref().map_or(0, Dictionary::memory_usage)
            + self.tombstones.iter().map(tombstone).sum::<usize>()
            + self.metaindex.keys().map(|k| k.len() + 48).sum::<usize>()
            + self.pinned.len();
        held.saturating_sub(charged)
    }
}

/// The blocks of the table, and the order of their keys.
impl Table {
    pub(crate) fn file(&self) -> &BlockFile {
        &self.file
    }

    /// Whether the table is block-based. Otherwise it has no filter, the index is in memory only,
    /// and meta blocks have no trailers.
    pub(crate) fn is_block_based(&self) -> bool {
        matches!(self.data, TableData::Blocks)
    }

    pub(crate) fn index(&self) -> &Block {
        &self.index
    }

    /// Whether the index is only in the cache.
    #[inline]
    pub(crate) fn index_is_cached(&self) -> bool {
        self.index_is_cached
    }

    pub(crate) fn index_handle(&self) -> BlockHandle {
        self.index_handle
    }

    pub(crate) fn index_format(&self) -> IndexFormat {
        self.index_format
    }

    pub(crate) fn index_prefix_array(&self) -> Option<&IndexPrefixArray> {
        self.index_prefix_array.as_ref()
    }

    pub(crate) fn global_seqno(&self) -> Option<SequenceNumber> {
        self.global_seqno
    }

    /// Orders a stored internal key against the internal key `target`.
    #[inline]
    pub(crate) fn compare(&self, stored: &[u8], target: &[u8]) -> Ordering {
        if self.global_seqno.is_none() {
            return self.comparator.compare(stored, target);
        }
        self.compare_as_ingested(stored, target)
    }

    /// [`Table::compare`] in a table that was ingested.
    // Not inlined, so that a loop that compares has room for the other case.
    #[inline(never)]
    fn compare_as_ingested(&self, stored: &[u8], target: &[u8]) -> Ordering {
        self.comparator
            .compare_user(user_key(stored), user_key(target))
            .then_with(|| tag(target).cmp(&self.effective_tag(tag(stored))))
    }

    /// Where in a data block with `samples` a search for `user_key` begins, and how far it goes, if
    /// they tell.
    #[inline]
    pub(crate) fn sampled_before(
        &self,
        samples: Option<&KeySamples>,
        user_key: &[u8],
    ) -> Option<(KnownLess, Range<usize>)> {
        // There is one for bytewise order only.
        let (samples, array) = (samples?, self.index_prefix_array()?);
        samples.before(array.common_len(), array.prefix(user_key)?)
    }

    /// Moves `cursor` to the first entry of a data block that is not less than the internal key
    /// `target`. `samples` are the block's.
    #[inline]
    pub(crate) fn seek_in(
        &self,
        cursor: &mut Cursor,
        block: &Block,
        samples: Option<&KeySamples>,
        target: &[u8],
    ) {
        match self.sampled_before(samples, user_key(target)) {
            Some((before, lines)) => {
                block.expect_entries(lines);
                cursor.seek_behind(block, before, target);
            }
            None => self.seek_between(cursor, block, 0..block.num_restarts(), target),
        }
    }

    /// Moves `cursor` to the first entry of a data block that is not less than the internal key
    /// `target`, for a caller that knows that the keys at the restart points before `candidates`
    /// are less, and those after them are not.
    #[inline]
    pub(crate) fn seek_between(
        &self,
        cursor: &mut Cursor,
        block: &Block,
        candidates: Range<usize>,
        target: &[u8],
    ) {
        if self.global_seqno.is_none() && self.comparator.user.is_bytewise() {
            cursor.seek_bytewise(block, candidates, target);
        } else {
            self.seek_by_comparator(cursor, block, candidates, target);
        }
    }

    /// [`Table::seek_between`] in another order than the bytewise one.
    // Not inlined, so that the usual search has room.
    #[inline(never)]
    fn seek_by_comparator(
        &self,
        cursor: &mut Cursor,
        block: &Block,
        candidates: Range<usize>,
        target: &[u8],
    ) {
        cursor.seek_between(block, candidates, |k| self.compare(k, target));
    }

    /// Orders a separator of the index against the internal key `target`.
    #[inline]
    pub(crate) fn compare_index(&self, stored: &[u8], target: &[u8]) -> Ordering {
        if self.index_format.user_keys {
            self.comparator.compare_user(stored, user_key(target))
        } else {
            self.compare(stored, target)
        }
    }

    /// The sequence number of an entry that stores `stored`.
    #[inline]
    pub(crate) fn effective_seqno(&self, stored: SequenceNumber) -> SequenceNumber {
        match self.global_seqno {
            Some(global) if stored == 0 => global,
            _ => stored,
        }
    }

    /// The tag of an entry that stores `stored`.
    #[inline]
    pub(crate) fn effective_tag(&self, stored: u64) -> u64 {
        self.effective_seqno(stored >> 8) << 8 | (stored & 0xff)
    }

    /// A `Corruption` error naming the file and the offset of the block at `handle`.
    pub(crate) fn corrupt(&self, handle: BlockHandle, what: impl fmt::Display) -> Error {
        self.file.blame(Error::corruption(what), handle)
    }
}

impl fmt::Debug for Table {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Table")
            .field("file", &self.file.file.path())
            .field("number", &self.file_number)
            .field("size", &self.file.size)
            .field("entries", &self.properties.num_entries)
            .finish_non_exhaustive()
    }
}
