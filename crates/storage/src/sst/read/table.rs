//! The open table: what it holds in memory, and how it gets at its blocks.
//!
//! A [`Table`] holds range tombstones and properties in memory, and index and filter unless they
//! are to be in the cache (`metadata_pinning`). It reads data blocks, and partitions of index and
//! filter, through the block cache. It is immutable, and any number of threads share it.
//!
//! The types of entries do not matter here. Tables whose entries need a higher layer (blob
//! references, entities) can be iterated, too.

use crate::cache::{BlockCache, Charge, Priority};
use crate::error::{Error, Result};
use crate::key::{InternalComparator, SequenceNumber, tag, user_key};
use crate::perf::{self, PerfMetric};
use crate::rangedel::RangeTombstone;
use crate::sst::compress::Dictionary;
use crate::sst::events::{BlockKind, BlockStep, timed};
use crate::sst::format::block::{Block, Cursor};
use crate::sst::format::handle::BlockHandle;
use crate::sst::format::index_format::IndexFormat;
use crate::sst::format::properties::TableProperties;
use crate::sst::options::auto_readahead::AutoReadahead;
use crate::sst::options::read_options::BlockReadOptions;
use crate::sst::read::block_file::BlockFile;
use crate::sst::read::cuckoo_data::CuckooData;
use crate::sst::read::directory::{DataBlock, Directory, FoundBlock, KeptBlock};
use crate::sst::read::index_prefix_array::IndexPrefixArray;
use crate::sst::read::plain_data::PlainData;
use crate::sst::read::readahead::ReadAhead;
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

    /// The data block at `handle`, for a reader that keeps it.
    #[inline]
    pub(crate) fn read_data_block(
        &self,
        handle: BlockHandle,
        read_options: BlockReadOptions,
        readahead: &mut ReadAhead,
    ) -> Result<KeptBlock> {
        let block = self.look_at_data_block(handle, read_options, readahead)?;
        Ok(block.keep())
    }

    /// The data block at `handle`, for a reader that is soon done with it.
    #[inline]
    pub(crate) fn look_at_data_block(
        &self,
        handle: BlockHandle,
        read_options: BlockReadOptions,
        readahead: &mut ReadAhead,
    ) -> Result<DataBlock> {
        let _timer = perf::timer(PerfMetric::NewTableBlockIterNanos);
        if let Some(found) = self.found_block(handle, read_options) {
            return Ok(DataBlock::Found(found));
        }
        let dictionary = self.dictionary.as_ref();
        let read = self.read_block(BlockKind::Data, handle, read_options, dictionary, readahead);
        read.map(DataBlock::Own)
    }

    /// The data block at `handle`, if it is in the directory. A block without a mark that it was
    /// used is left to the cache, which sets the mark, unless the read does not count.
    #[inline]
    fn found_block(
        &self,
        handle: BlockHandle,
        read_options: BlockReadOptions,
    ) -> Option<FoundBlock> {
        if !read_options.use_cache {
            return None;
        }
        let found = self
            .directory()?
            .find(handle.offset, read_options.fill_cache)?;
        found.expect_restart_keys();
        perf::count(PerfMetric::BlockCacheHitCount, 1);
        if let Some(events) = &self.file.events {
            events.cache_hit(BlockKind::Data, found.data().len());
        }
        Some(found)
    }

    /// The directory, once there is one.
    #[inline]
    pub(crate) fn directory(&self) -> Option<&Directory> {
        self.directory.get()?.as_ref()
    }

    /// The directory, which is made if it can be.
    fn directory_in(&self, cache: &BlockCache) -> Option<&Directory> {
        if !self.is_block_based() {
            return None;
        }
        let blocks = self.properties.num_data_blocks;
        let new = || Directory::new(cache, blocks, self.data_end);
        self.directory.get_or_init(new).as_ref()
    }

    /// The index block at `handle`.
    pub(crate) fn read_index_block(
        &self,
        handle: BlockHandle,
        read_options: BlockReadOptions,
        readahead: &mut ReadAhead,
    ) -> Result<Block> {
        if read_options.use_cache
            && let Some(bytes) = self.pinned.partitions.get(&handle.offset)
        {
            return Block::new(bytes.clone()).map_err(|e| self.file.blame(e, handle));
        }
        let _timer = perf::timer(PerfMetric::ReadIndexBlockNanos);
        self.read_block(BlockKind::Index, handle, read_options, None, readahead)
    }

    pub(crate) fn read_block(
        &self,
        kind: BlockKind,
        handle: BlockHandle,
        read_options: BlockReadOptions,
        dictionary: Option<&Dictionary>,
        readahead: &mut ReadAhead,
    ) -> Result<Block> {
        let bytes = match self.cached_block(kind, handle, read_options) {
            Some(bytes) => bytes,
            None => {
                let detach = read_options.fill_cache && self.cache.is_some();
                let file = &self.file;
                let read = || match &self.data {
                    TableData::Blocks => {
                        file.read(handle, read_options.verify, dictionary, readahead, detach)
                    }
                    TableData::Plain(data) => data.load(file, handle, readahead),
                    TableData::Cuckoo(data) => data.load(file, handle),
                };
                let events = self.file.events.as_deref();
                let bytes = timed(events, BlockStep::Read, || read_options.limits.run(read))?;
                self.cache_block(kind, handle, read_options, bytes)?
            }
        };
        Block::new(bytes).map_err(|e| self.file.blame(e, handle))
    }

    #[inline]
    pub(crate) fn cached_block(
        &self,
        kind: BlockKind,
        handle: BlockHandle,
        read_options: BlockReadOptions,
    ) -> Option<Bytes> {
        let (cache, id) = match &self.cache {
            Some(cache) if read_options.use_cache => cache,
            _ => return None,
        };
        let found = if read_options.fill_cache {
            cache.get(*id, handle.offset)
        } else {
            cache.peek(*id, handle.offset)
        };
        if found.is_some() {
            perf::count(PerfMetric::BlockCacheHitCount, 1);
        }
        if let Some(events) = &self.file.events {
            match &found {
                Some(bytes) => events.cache_hit(kind, bytes.len()),
                None => events.cache_miss(kind),
            }
        }
        found
    }

    /// Inserts a block that was read into the cache, if so configured. Returns the block to use.
    /// Fails if the cache has a strict limit and no room.
    pub(crate) fn cache_block(
        &self,
        kind: BlockKind,
        handle: BlockHandle,
        read_options: BlockReadOptions,
        bytes: Bytes,
    ) -> Result<Bytes> {
        let (cache, id) = match &self.cache {
            Some(cache) if read_options.fill_cache => cache,
            _ => return Ok(bytes),
        };
        let kept = match kind {
            BlockKind::Data => match self.directory_in(cache) {
                Some(directory) => {
                    let block = Block::new(bytes).map_err(|e| self.file.blame(e, handle))?;
                    let block = directory.place(handle.offset, block);
                    cache.insert_placed(*id, handle.offset, block)
                }
                None => cache.insert(*id, handle.offset, bytes, Priority::Low),
            },
            BlockKind::Index | BlockKind::Filter => {
                cache.insert(*id, handle.offset, bytes, self.metadata_priority)
            }
        };
        if let Some(events) = &self.file.events {
            match &kept {
                Ok(bytes) => events.cache_add(kind, bytes.len()),
                Err(_) => events.cache_add_failed(),
            }
        }
        kept.map_err(|e| self.file.blame(e, handle))
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
