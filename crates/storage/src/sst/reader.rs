//! Reading tables: opening, point lookups, and what a table knows of itself.
//!
//! An open [`Table`] holds range tombstones and properties in memory, and index
//! and filter unless they are to be in the cache (`metadata`). It reads data
//! blocks (and partitions of index and filter) through the block cache. It is
//! immutable and shared by any number of threads.
//!
//! Types of entries are not judged here: tables whose entries need a layer
//! above (blob references, entities) can be iterated all the same.

use super::TableProperties;
use super::ask::{Answer, TableFilter};
use super::block::{Block, Cursor, Layout};
use super::compress::Dictionary;
use super::events::{BlockKind, BlockStep, TableEvents, timed};
use super::fetch::{BlockFile, Window};
use super::filter::PrefixTransform;
use super::guide::IndexGuide;
use super::handle::BlockHandle;
use super::index::{IndexCursor, IndexFormat};
use super::iter::TableIter;
use super::limits::ReadLimits;
use super::metadata::{MetadataPlacement, Pinned};
use super::open::open;
use crate::cache::{BlockCache, Charge, Priority};
use crate::error::{Error, Result};
use crate::fs::RandomAccessFile;
use crate::iter::BoxedIterator;
use crate::key::{
    InternalComparator, ParsedKey, SequenceNumber, TAG_SIZE, parse_internal_key, tag, user_key,
};
use crate::perf::{self, PerfMetric};
use crate::rangedel::RangeTombstone;
use bytes::Bytes;
use std::cell::Cell;
use std::cmp::Ordering;
use std::collections::BTreeMap;
use std::fmt;
use std::sync::Arc;
use whitewater_concurrent::scratch;

/// What opening a table needs to know.
#[derive(Debug, Clone, Default)]
pub struct TableReaderOptions {
    /// Key order; checked against the file's comparator name.
    pub comparator: InternalComparator,
    /// What prefixes to ask filters for. Those of tables that were written with
    /// one of another name hold other prefixes, and are not asked.
    pub prefix_extractor: Option<Arc<dyn PrefixTransform>>,
    /// Who is told what happens in the table.
    pub events: Option<Arc<dyn TableEvents>>,
    /// Where index and filter blocks stay.
    pub metadata: MetadataPlacement,
    /// Where blocks are cached.
    pub block_cache: Option<BlockCache>,
    /// The manifest's largest sequence number of the file, for ingested files.
    pub largest_seqno: Option<SequenceNumber>,
    /// Number of the file, for messages.
    pub file_number: u64,
}

/// How one read treats blocks.
#[derive(Debug, Clone, Copy)]
pub struct TableReadOptions {
    /// Verify block checksums. Default true.
    pub verify_checksums: bool,
    /// Put blocks read into the cache, and have blocks found there count as used.
    /// Default true.
    pub fill_cache: bool,
    /// Bytes to read ahead in iterators; 0 lets the table decide.
    pub readahead: usize,
    /// What may be asked of the file. Default anything.
    pub limits: ReadLimits,
}

impl Default for TableReadOptions {
    fn default() -> Self {
        TableReadOptions {
            verify_checksums: true,
            fill_cache: true,
            readahead: 0,
            limits: ReadLimits::default(),
        }
    }
}

/// Where blocks come from and go to.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Fetch {
    pub(crate) verify: bool,
    pub(crate) use_cache: bool,
    pub(crate) fill_cache: bool,
    pub(crate) limits: ReadLimits,
}

impl Fetch {
    /// Everything from the file, checked.
    pub(crate) const FROM_FILE: Fetch = Fetch {
        verify: true,
        use_cache: false,
        fill_cache: false,
        limits: ReadLimits {
            memory_only: false,
            deadline: 0,
            timeout: 0,
        },
    };
}

impl From<TableReadOptions> for Fetch {
    fn from(o: TableReadOptions) -> Self {
        Fetch {
            verify: o.verify_checksums,
            use_cache: true,
            fill_cache: o.fill_cache,
            limits: o.limits,
        }
    }
}

/// An open table. Shared by many readers.
pub struct Table {
    pub(crate) file: BlockFile,
    pub(crate) comparator: InternalComparator,
    /// The cache and the table's number in it.
    pub(crate) cache: Option<(BlockCache, u64)>,
    pub(crate) properties: TableProperties,
    pub(crate) metaindex: BTreeMap<Vec<u8>, BlockHandle>,
    /// Empty when it is in the cache only.
    pub(crate) index: Block,
    pub(crate) index_is_cached: bool,
    pub(crate) index_handle: BlockHandle,
    pub(crate) index_format: IndexFormat,
    pub(crate) guide: Option<IndexGuide>,
    pub(crate) filter: TableFilter,
    pub(crate) pinned: Pinned,
    /// Of index and filter blocks in the cache.
    pub(crate) metadata_priority: Priority,
    pub(crate) dictionary: Option<Dictionary>,
    pub(crate) tombstones: Vec<RangeTombstone>,
    /// The sequence number of every entry of an ingested file; its entries
    /// say 0.
    pub(crate) global_seqno: Option<SequenceNumber>,
    /// Where the data blocks end.
    pub(crate) data_end: u64,
    pub(crate) file_number: u64,
}

/// Larger key buffers are not kept between lookups, in bytes.
const MAX_KEPT_BUFFER: usize = 64 << 10;

thread_local! {
    /// Key buffers of lookups, kept so that a lookup allocates nothing.
    static BUFFERS: Cell<[Vec<u8>; 2]> = const { Cell::new([Vec::new(), Vec::new()]) };
}

impl Table {
    /// Opens the table in `file`, which has `size` bytes: footer, properties,
    /// index and filter are read and checked.
    ///
    /// # Errors
    /// `Corruption` naming file and offset for bytes that are no table or a
    /// damaged one; `NotSupported` for kinds of tables, format versions and
    /// compressions that are not read; `InvalidArgument` when the table was
    /// written with another comparator.
    pub fn open(
        file: Arc<dyn RandomAccessFile>,
        size: u64,
        options: TableReaderOptions,
    ) -> Result<Table> {
        open(file, size, options)
    }

    /// Finds entries of the user key of `lookup` (an internal seek key), or of
    /// all its versions where keys have timestamps, from `lookup` on, newest
    /// first, and hands each to `visit` until it returns
    /// `false` or the user key ends. The value is a slice of the block and may
    /// be kept. Consults the filter first.
    ///
    /// # Errors
    /// What reading a block met, and what `visit` returns.
    pub fn get(
        &self,
        lookup: &[u8],
        options: TableReadOptions,
        visit: &mut dyn FnMut(ParsedKey<'_>, Bytes) -> Result<bool>,
    ) -> Result<()> {
        let how = Fetch::from(options);
        let answer = self.ask_for(lookup, how);
        if answer == Answer::No {
            return Ok(());
        }
        let [index_buf, key_buf] = scratch::take(&BUFFERS);
        let mut index = IndexCursor::new(self, how, index_buf);
        let mut cursor = Cursor::with_buffer(Layout::Values, TAG_SIZE, key_buf);
        let mut found = false;
        let visit = &mut |key: ParsedKey<'_>, value| {
            found = true;
            visit(key, value)
        };
        let result = self.get_with(lookup, how, &mut index, &mut cursor, visit);
        if let Answer::Maybe(event) = answer
            && found
        {
            self.tell(event);
        }
        let buffers = [index.into_buffer(), cursor.into_buffer()];
        if buffers.iter().all(|b| b.capacity() <= MAX_KEPT_BUFFER) {
            scratch::keep(&BUFFERS, buffers);
        }
        result
    }

    fn get_with(
        &self,
        lookup: &[u8],
        how: Fetch,
        index: &mut IndexCursor,
        cursor: &mut Cursor,
        visit: &mut dyn FnMut(ParsedKey<'_>, Bytes) -> Result<bool>,
    ) -> Result<()> {
        let user = user_key(lookup);
        index.seek(self, lookup)?;
        while index.valid() {
            let handle = index.handle();
            let block = self.read_data_block(handle, how, &mut Window::default())?;
            let timer = perf::timer(PerfMetric::BlockSeekNanos);
            if self.comparator.user.is_builtin() {
                cursor.seek_user_key(&block, user, |k| self.compare(k, lookup));
            } else {
                cursor.seek(&block, |k| self.compare(k, lookup));
            }
            timer.stop();
            while cursor.valid() {
                let key = cursor.key(&block);
                if self.comparator.user.compare_keys(user_key(key), user) != Ordering::Equal {
                    return Ok(());
                }
                let mut parsed = parse_internal_key(key).map_err(|e| self.file.blame(e, handle))?;
                parsed.seq = self.effective_seqno(parsed.seq);
                if !visit(parsed, cursor.shared_value(&block))? {
                    return Ok(());
                }
                cursor.next(&block);
            }
            cursor.status().map_err(|e| self.file.blame(e, handle))?;
            // Only when the separator still is of this user key may the next
            // block begin with it; with user keys as separators never.
            // They may do so if they have timestamps.
            let separator = match self.index_format.user_keys {
                true if self.comparator.user.timestamp_size() == 0 => return Ok(()),
                true => index.key(self),
                false => user_key(index.key(self)),
            };
            if self.comparator.user.compare_keys(separator, user) != Ordering::Equal {
                return Ok(());
            }
            index.next(self)?;
        }
        Ok(())
    }

    /// A cursor over the points of the table.
    pub fn iter(self: &Arc<Self>, options: TableReadOptions) -> BoxedIterator {
        Box::new(TableIter::new(
            Arc::clone(self),
            options.into(),
            options.readahead,
        ))
    }

    /// The table's range tombstones, sequence numbers resolved.
    pub fn range_tombstones(&self) -> &[RangeTombstone] {
        &self.tombstones
    }

    /// What the table says about itself.
    pub fn properties(&self) -> &TableProperties {
        &self.properties
    }

    /// About how many bytes of the file precede the internal key `target`.
    pub fn approximate_offset_of(&self, target: &[u8]) -> u64 {
        let how = Fetch::from(TableReadOptions::default());
        let mut index = IndexCursor::new(self, how, Vec::new());
        match index.seek(self, target) {
            Ok(()) if index.valid() => index.handle().offset,
            _ => self.data_end,
        }
    }

    /// User keys that cut the data of the table into up to `count` parts of
    /// about equal size, ascending: each with the bytes of the data blocks
    /// between the one before it and itself. No entry of those is behind it.
    ///
    /// # Errors
    /// Those of reading the index.
    pub fn anchors(&self, count: usize) -> Result<Vec<(Vec<u8>, u64)>> {
        let how = Fetch::from(TableReadOptions::default());
        let mut index = IndexCursor::new(self, how, Vec::new());
        let step = (self.data_end / count.max(1) as u64).max(1);
        let mut anchors = Vec::new();
        let mut last = (Vec::new(), 0);
        index.seek_to_first(self)?;
        while index.valid() {
            let handle = index.handle();
            let key = match self.index_format.user_keys {
                true => index.key(self),
                false => user_key(index.key(self)),
            };
            last.0.clear();
            last.0.extend_from_slice(key);
            last.1 += handle.size;
            if last.1 >= step {
                anchors.push((last.0.clone(), last.1));
                last.1 = 0;
            }
            index.next(self)?;
        }
        if last.1 > 0 {
            anchors.push(last);
        }
        Ok(anchors)
    }

    /// Bytes of memory held by the open table outside the block cache.
    pub fn memory_usage(&self) -> usize {
        let tombstone = |t: &RangeTombstone| {
            size_of::<RangeTombstone>() + t.start.capacity() + t.end.capacity()
        };
        let charged = self.pinned.charge.as_ref().map_or(0, Charge::bytes);
        let held = size_of::<Self>()
            + self.index.data().len()
            + self.guide.as_ref().map_or(0, IndexGuide::memory_usage)
            + self.filter.memory_usage()
            + self.properties.memory_usage()
            + self.dictionary.as_ref().map_or(0, Dictionary::memory_usage)
            + self.tombstones.iter().map(tombstone).sum::<usize>()
            + self.metaindex.keys().map(|k| k.len() + 48).sum::<usize>()
            + self.pinned.len();
        held.saturating_sub(charged)
    }

    /// Reads every block and checks its checksum and order.
    ///
    /// # Errors
    /// `Corruption` naming the first block that is damaged, out of order or
    /// contradicts the index or the properties; `NotSupported` when a block's
    /// compression is not read.
    pub fn verify(&self) -> Result<()> {
        super::verify::verify(self)
    }
}

/// What cursors over the table use.
impl Table {
    pub(crate) fn file(&self) -> &BlockFile {
        &self.file
    }

    pub(crate) fn index(&self) -> &Block {
        &self.index
    }

    /// Whether the index is in the cache only.
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

    pub(crate) fn guide(&self) -> Option<&IndexGuide> {
        self.guide.as_ref()
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
        self.comparator
            .compare_user(user_key(stored), user_key(target))
            .then_with(|| tag(target).cmp(&self.effective_tag(tag(stored))))
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

    /// The sequence number of an entry that says `stored`.
    #[inline]
    pub(crate) fn effective_seqno(&self, stored: SequenceNumber) -> SequenceNumber {
        match self.global_seqno {
            Some(global) if stored == 0 => global,
            _ => stored,
        }
    }

    /// The tag of an entry that says `stored`.
    #[inline]
    pub(crate) fn effective_tag(&self, stored: u64) -> u64 {
        self.effective_seqno(stored >> 8) << 8 | (stored & 0xff)
    }

    /// The data block at `handle`.
    #[inline]
    pub(crate) fn read_data_block(
        &self,
        handle: BlockHandle,
        how: Fetch,
        window: &mut Window,
    ) -> Result<Block> {
        let _timer = perf::timer(PerfMetric::NewTableBlockIterNanos);
        let dictionary = self.dictionary.as_ref();
        self.read_block(BlockKind::Data, handle, how, dictionary, window)
    }

    /// The index block at `handle`.
    pub(crate) fn read_index_block(
        &self,
        handle: BlockHandle,
        how: Fetch,
        window: &mut Window,
    ) -> Result<Block> {
        if how.use_cache
            && let Some(bytes) = self.pinned.partitions.get(&handle.offset)
        {
            return Block::new(bytes.clone()).map_err(|e| self.file.blame(e, handle));
        }
        let _timer = perf::timer(PerfMetric::ReadIndexBlockNanos);
        self.read_block(BlockKind::Index, handle, how, None, window)
    }

    pub(crate) fn read_block(
        &self,
        kind: BlockKind,
        handle: BlockHandle,
        how: Fetch,
        dictionary: Option<&Dictionary>,
        window: &mut Window,
    ) -> Result<Block> {
        let bytes = match self.cached(kind, handle, how) {
            Some(bytes) => bytes,
            None => {
                let detach = how.fill_cache && self.cache.is_some();
                let read = || {
                    self.file
                        .read(handle, how.verify, dictionary, window, detach)
                };
                let events = self.file.events.as_deref();
                let bytes = timed(events, BlockStep::Read, || how.limits.run(read))?;
                self.keep(kind, handle, how, bytes)?
            }
        };
        Block::new(bytes).map_err(|e| self.file.blame(e, handle))
    }

    #[inline]
    pub(crate) fn cached(&self, kind: BlockKind, handle: BlockHandle, how: Fetch) -> Option<Bytes> {
        let (cache, id) = match &self.cache {
            Some(cache) if how.use_cache => cache,
            _ => return None,
        };
        let found = match how.fill_cache {
            true => cache.get(*id, handle.offset),
            false => cache.peek(*id, handle.offset),
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

    /// Caches a block that was read, if it is to be cached, and gives back the one
    /// to use. Fails if the cache has no room and must have.
    pub(crate) fn keep(
        &self,
        kind: BlockKind,
        handle: BlockHandle,
        how: Fetch,
        bytes: Bytes,
    ) -> Result<Bytes> {
        let (cache, id) = match &self.cache {
            Some(cache) if how.fill_cache => cache,
            _ => return Ok(bytes),
        };
        let priority = match kind {
            BlockKind::Data => Priority::Low,
            BlockKind::Index | BlockKind::Filter => self.metadata_priority,
        };
        let kept = cache.insert(*id, handle.offset, bytes, priority);
        if let Some(events) = &self.file.events {
            match &kept {
                Ok(bytes) => events.cache_add(kind, bytes.len()),
                Err(_) => events.cache_add_failed(),
            }
        }
        kept.map_err(|e| self.file.blame(e, handle))
    }

    /// An error at `handle`, with its place.
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
