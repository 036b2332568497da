//! The blocks of an open table: found in its directory, or in the block cache, or read, and cached
//! then.

use crate::cache::{BlockCache, Hit, Priority, in_slab};
use crate::error::Result;
use crate::perf::{self, PerfMetric};
use crate::sst::events::{BlockKind, BlockStep, timed};
use crate::sst::format::block::Block;
use crate::sst::format::handle::BlockHandle;
use crate::sst::options::read_options::BlockReadOptions;
use crate::sst::read::directory::{BlockPlace, DataBlock, Directory, FoundBlock, KeptBlock};
use crate::sst::read::key_samples::KeySamples;
use crate::sst::read::readahead::ReadAhead;
use crate::sst::read::table::{Table, TableData};
use bytes::Bytes;

impl Table {
    /// The data block at `handle`, for a reader that keeps it.
    #[inline]
    pub(crate) fn read_data_block(
        &self,
        handle: BlockHandle,
        read_options: BlockReadOptions,
        readahead: &mut ReadAhead,
    ) -> Result<KeptBlock> {
        let place = self.place_of(handle.offset);
        let block = self.look_at_data_block(place, handle, read_options, readahead)?;
        Ok(block.keep())
    }

    /// The data block at `handle`, for a reader that is soon done with it.
    #[inline]
    pub(crate) fn look_at_data_block(
        &self,
        place: BlockPlace,
        handle: BlockHandle,
        read_options: BlockReadOptions,
        readahead: &mut ReadAhead,
    ) -> Result<DataBlock> {
        let _timer = perf::timer(PerfMetric::NewTableBlockIterNanos);
        if let Some(found) = self.found_block(place, read_options) {
            return Ok(DataBlock::Found(found));
        }
        self.look_further(handle, read_options, readahead)
    }

    /// The data block at `handle`, which is not in the directory.
    #[inline(never)]
    fn look_further(
        &self,
        handle: BlockHandle,
        read_options: BlockReadOptions,
        readahead: &mut ReadAhead,
    ) -> Result<DataBlock> {
        let kind = BlockKind::Data;
        if let Some(bytes) = self.cached_block(kind, handle, read_options) {
            return Ok(DataBlock::Cached(self.parse(handle, bytes)?));
        }
        let bytes = self.load_block(kind, handle, read_options, readahead)?;
        Ok(DataBlock::Read(self.parse(handle, bytes)?))
    }

    /// The data block at `place`, if it is in the directory. A block without a mark that it was
    /// used is left to the cache, which sets the mark, unless the read does not count.
    #[inline]
    fn found_block(&self, place: BlockPlace, read_options: BlockReadOptions) -> Option<FoundBlock> {
        if !read_options.use_cache {
            return None;
        }
        let found = self.directory()?.find(place, read_options.fill_cache)?;
        found.expect_search();
        perf::count(PerfMetric::BlockCacheHitCount, 1);
        if let Some(events) = &self.file.events {
            events.cache_hit(BlockKind::Data, found.data().len());
        }
        Some(found)
    }

    /// Whether blocks can be read in the background.
    pub(crate) fn takes_hints(&self) -> bool {
        self.is_block_based() && self.file.file.takes_hints()
    }

    /// Whether the system keeps what it reads of the table's file.
    pub(crate) fn has_page_cache(&self) -> bool {
        self.file.file.has_page_cache()
    }

    /// Has the data block at `handle` read in the background, unless it is cached, or may not be
    /// read. A hint.
    pub(crate) fn announce_block(&self, handle: BlockHandle, read_options: BlockReadOptions) {
        if !self.takes_hints() || read_options.limits.memory_only {
            return;
        }
        let cached = self.cache.as_ref().filter(|_| read_options.use_cache);
        if cached.is_none_or(|(cache, id)| cache.peek(*id, handle.offset).is_none()) {
            self.file.announce(handle);
        }
    }

    /// The place of the data block at `offset`.
    pub(crate) fn place_of(&self, offset: u64) -> BlockPlace {
        let array = self.index_prefix_array();
        let number = array.and_then(|array| array.number_of(offset));
        BlockPlace {
            offset,
            number: number.and_then(|number| number.try_into().ok()),
        }
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
        let numbered = self.index_prefix_array().and_then(|a| a.num_blocks());
        let new = || match numbered {
            Some(blocks) => Directory::numbered(cache, blocks),
            None => {
                let blocks = self.properties.num_data_blocks;
                Directory::by_offset(cache, blocks, self.data_end)
            }
        };
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
            return self.parse(handle, bytes.clone());
        }
        let _timer = perf::timer(PerfMetric::ReadIndexBlockNanos);
        self.read_block(BlockKind::Index, handle, read_options, readahead)
    }

    /// The block of the index or filter at `handle`.
    pub(crate) fn read_block(
        &self,
        kind: BlockKind,
        handle: BlockHandle,
        read_options: BlockReadOptions,
        readahead: &mut ReadAhead,
    ) -> Result<Block> {
        let bytes = match self.cached_block(kind, handle, read_options) {
            Some(bytes) => bytes,
            None => self.load_block(kind, handle, read_options, readahead)?,
        };
        self.parse(handle, bytes)
    }

    /// Reads a block that is not cached, and caches it, if so configured.
    fn load_block(
        &self,
        kind: BlockKind,
        handle: BlockHandle,
        read_options: BlockReadOptions,
        readahead: &mut ReadAhead,
    ) -> Result<Bytes> {
        // Only data blocks are compressed with it.
        let dictionary = self.dictionary.as_ref();
        let dictionary = dictionary.filter(|_| kind == BlockKind::Data);
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
        self.cache_block(kind, handle, read_options, bytes)
    }

    fn parse(&self, handle: BlockHandle, bytes: Bytes) -> Result<Block> {
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
            let hit = cache.look_up(*id, handle.offset);
            hit.map(|hit| {
                (hit.only_here && kind == BlockKind::Data)
                    .then(|| self.let_find(handle, cache, *id, &hit))
                    .flatten()
                    .unwrap_or(hit.bytes)
            })
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

    /// Lets readers find a data block in the directory that was cached while the table was written.
    /// Returns the block. `None` if there is no directory, or the block is damaged, which its
    /// reader will report.
    fn let_find(
        &self,
        handle: BlockHandle,
        cache: &BlockCache,
        id: u64,
        hit: &Hit,
    ) -> Option<Bytes> {
        let directory = self.directory_in(cache)?;
        let memory = hit.in_slab.clone();
        let memory = memory.unwrap_or_else(|| in_slab::copy(&hit.bytes));
        let block = Block::new(memory).ok()?;
        let samples = self.key_samples(&block);
        let placed = directory.place(self.place_of(handle.offset), block, samples);
        placed.mark();
        cache.insert_placed(id, handle.offset, placed).ok()
    }

    /// Samples of the keys of a data block. An ingested file has none, since its entries do not
    /// count with their own tags.
    fn key_samples(&self, block: &Block) -> Option<KeySamples> {
        let array = self.index_prefix_array()?;
        (self.global_seqno.is_none()).then(|| KeySamples::new(block, array))?
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
                    let block = self.parse(handle, bytes)?.moved(in_slab::moved);
                    let samples = self.key_samples(&block);
                    let block = directory.place(self.place_of(handle.offset), block, samples);
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
}
