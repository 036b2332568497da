//! The builder of block-based tables.
//!
//! Full data blocks go to [`DataBlocks`], which compresses and writes them, and may hold them for
//! a while. So the handle of a block is only known at the end. Index entries, filter hashes and
//! range tombstones are collected, and written by [`BlockTableBuilder::finish`] in RocksDB's order:
//! data, filter, index, dictionary, range tombstones, properties, metaindex, footer.
//!
//! Invariants:
//! * I1: keys ascend strictly. A key that does not is refused, and no part of it is written.
//! * I2: after a failed write the builder refuses every other call, because the file is unusable.

use crate::error::{Error, Result};
use crate::fs::{BufferedWriter, WritableFile};
use crate::key::{SequenceNumber, ValueType, append_internal_key, user_key};
use crate::planted;
use crate::rangedel::RangeTombstone;
use crate::sst::compress::{CompressionType, Compressor};
use crate::sst::events::BlockKind;
use crate::sst::filter::{FilterBuilder, FilterSpec};
use crate::sst::format::block_builder::BlockBuilder;
use crate::sst::format::footer::{CONTEXT_VERSION, Footer, TableKind, VERSIONS};
use crate::sst::format::handle::BlockHandle;
use crate::sst::format::metaindex::{
    META_DICTIONARY, META_FULL_FILTER, META_INDEX, META_METADATA, META_PARTITIONED_FILTER,
    META_PREFIXES, META_PROPERTIES, META_RANGE_DEL,
};
use crate::sst::format::properties::{TableProperties, name};
use crate::sst::options::index_type::{DataBlockIndexType, IndexType};
use crate::sst::options::table_builder_options::TableBuilderOptions;
use crate::sst::write::block_sink::BlockSink;
use crate::sst::write::cache_warmer::CacheWarmer;
use crate::sst::write::data_blocks::DataBlocks;
use crate::sst::write::entry_check::{MAX_ENTRY, check_entry};
use crate::sst::write::hash_index_builder::HashIndexBuilder;
use crate::sst::write::index_builder::{IndexBuilder, IndexEntry};
use crate::sst::write::page_fit::BlockLimit;
use crate::sst::write::table_properties::{base_context, set_index_properties, set_properties};
use std::cmp::Ordering;
use std::mem;

/// Size of the write buffer in bytes.
const WRITE_BUFFER: usize = 256 << 10;

/// The entries of the metaindex: names and handles.
type Metaindex = Vec<(&'static [u8], BlockHandle)>;

/// Writes one table: points in ascending internal order, range tombstones in
/// any order, then [`BlockTableBuilder::finish`].
pub(crate) struct BlockTableBuilder {
    options: TableBuilderOptions,
    sink: BlockSink,
    data: DataBlocks,
    /// Compresses index blocks.
    compressor: Compressor,
    block: BlockBuilder,
    /// When `block` is full.
    limit: BlockLimit,
    /// The first key of `block`, if the index needs it.
    first_key: Vec<u8>,
    filter: Option<FilterBuilder>,
    index: IndexBuilder,
    hash_index: Option<HashIndexBuilder>,
    /// The index entry of the last finished block, not yet in `index`. Its separator is still the
    /// block's last key; the final one depends on the next key.
    pending: Option<IndexEntry>,
    last_key: Vec<u8>,
    /// The number of entries in the block being filled, and how many of them were cached.
    entries: usize,
    cached: usize,
    tombstones: Vec<RangeTombstone>,
    properties: TableProperties,
    /// Smallest and largest sequence number.
    sequences: Option<(SequenceNumber, SequenceNumber)>,
    failed: Option<Error>,
}

impl BlockTableBuilder {
    /// Starts a table in the empty `file`.
    ///
    /// # Errors
    /// `NotSupported` for compressions, checksums and format versions that cannot be written;
    /// `InvalidArgument` for an index of type `HashSearch` without a prefix extractor.
    pub(crate) fn new(options: TableBuilderOptions, file: Box<dyn WritableFile>) -> Result<Self> {
        let table = &options.table;
        if !VERSIONS.contains(&table.format_version) {
            return Err(Error::not_supported(format_args!(
                "writing tables of format version {}",
                table.format_version
            )));
        }
        let codec_options = options.compression_options;
        codec_options.check("compression_opts", options.compression)?;
        let hash_index = match (table.index_type, &options.prefix_extractor) {
            (IndexType::HashSearch, Some(e)) => Some(HashIndexBuilder::new(e.clone())),
            (IndexType::HashSearch, None) => {
                return Err(Error::invalid("a hash index needs a prefix extractor"));
            }
            _ => None,
        };
        let codec = options.compression;
        let file = BufferedWriter::new(file, WRITE_BUFFER);
        Ok(BlockTableBuilder {
            sink: BlockSink::new(file, table.checksum, base_context(&options))
                .with_cache_warmer(CacheWarmer::new(&options))
                .with_events(options.events.clone()),
            data: DataBlocks::new(
                codec,
                codec_options,
                options.target_file_size,
                options.events.clone(),
            )?
            .fitted(table),
            compressor: Compressor::new(codec, &codec_options, None)?
                .with_events(options.events.clone()),
            block: BlockBuilder::new(table.block_restart_interval).hashed(hash_ratio(&options)),
            limit: BlockLimit::of_size(table.block_size),
            first_key: Vec::new(),
            filter: filter(&options),
            index: IndexBuilder::new(table),
            hash_index,
            pending: None,
            last_key: Vec::new(),
            entries: 0,
            cached: 0,
            tombstones: Vec::new(),
            properties: TableProperties::default(),
            sequences: None,
            failed: None,
            options,
        })
    }

    /// Adds an entry; internal keys must ascend strictly.
    ///
    /// # Errors
    /// `InvalidArgument` for a key out of order, a range tombstone, or an entry of 1 GiB or more;
    /// a failure of the file, which all later calls return, too.
    pub(crate) fn add(&mut self, internal_key: &[u8], value: &[u8]) -> Result<()> {
        self.check_usable()?;
        let (seq, ty) = check_entry(
            &self.options.comparator,
            &self.last_key,
            internal_key,
            value,
        )?;
        if self.block_is_full(internal_key, value) {
            let result = self.flush_block();
            self.latch(result)?;
        }
        if let Some(pending) = self.pending.take() {
            self.separate(pending, internal_key);
        }
        let mut filter = self.filter.as_mut();
        planted!(TableFilterMissesKey => filter = filter.filter(|_| self.properties.num_entries % 16 < 15));
        if let Some(filter) = filter {
            let user = &self.options.comparator.user;
            filter.add(user.without_timestamp(user_key(internal_key)));
        }
        if let Some(hash_index) = &mut self.hash_index {
            hash_index.add(user_key(internal_key), self.index.len() as u32);
        }
        if self.block.is_empty() && self.index.wants_first_keys() {
            self.first_key = internal_key.to_vec();
        }
        self.block.add(internal_key, value);
        self.entries += 1;
        self.last_key.clear();
        self.last_key.extend_from_slice(internal_key);

        self.see_sequence(seq);
        let p = &mut self.properties;
        p.num_entries += 1;
        p.raw_key_size += internal_key.len() as u64;
        p.raw_value_size += value.len() as u64;
        match ty {
            ValueType::Deletion | ValueType::SingleDeletion | ValueType::DeletionWithTimestamp => {
                p.num_deletions += 1
            }
            ValueType::Merge => p.num_merge_operands += 1,
            _ => {}
        }
        Ok(())
    }

    /// Tells that the entry added last comes from a block that was cached.
    pub(crate) fn note_cached(&mut self) {
        self.cached += 1;
    }

    /// Adds a range tombstone. They may come in any order.
    ///
    /// # Errors
    /// `InvalidArgument` for a range tombstone of 1 GiB or more; an earlier failure.
    pub(crate) fn add_range_tombstone(&mut self, tombstone: &RangeTombstone) -> Result<()> {
        self.check_usable()?;
        if tombstone.start.len().saturating_add(tombstone.end.len()) >= MAX_ENTRY {
            return Err(Error::invalid("range tombstone of 1 GiB or more"));
        }
        self.tombstones.push(tombstone.clone());
        self.see_sequence(tombstone.seq);
        let p = &mut self.properties;
        p.num_entries += 1;
        p.num_deletions += 1;
        p.num_range_deletions += 1;
        p.raw_key_size += tombstone.start.len() as u64 + 8;
        p.raw_value_size += tombstone.end.len() as u64;
        Ok(())
    }

    /// Approximate size of the file in bytes if it were finished now. Blocks that are held until
    /// the compression dictionary is made do not count.
    pub(crate) fn file_size(&self) -> u64 {
        let block = if self.block.is_empty() {
            0
        } else {
            self.block.len()
        };
        let filter = self.filter.as_ref().map_or(0, FilterBuilder::estimated_len);
        let rest = block + self.data.in_flight_bytes() + filter + self.index.estimated_len();
        self.sink.offset() + rest as u64
    }

    /// Approximate size of the index in bytes.
    pub(crate) fn index_size(&self) -> usize {
        self.index.estimated_len()
    }

    /// Limits blocks of the index and of range tombstones to `max_block` bytes.
    #[cfg(test)]
    pub(crate) fn limit_blocks(&mut self, max_block: usize) {
        self.index.limit_blocks(max_block);
    }

    /// The number of points added so far.
    pub(crate) fn num_entries(&self) -> u64 {
        self.properties.num_entries - self.properties.num_range_deletions
    }

    /// Writes index, filter, properties and footer, flushes and syncs the
    /// file. Returns the properties and the file's size.
    ///
    /// # Errors
    /// A failure of the file, now or earlier; `InvalidArgument` for an index or range tombstones
    /// of 4 GiB or more, which could not be read again. The file is unusable then.
    pub(crate) fn finish(mut self) -> Result<(TableProperties, u64)> {
        self.check_usable()?;
        self.flush_block()?;
        if let Some(last) = self.pending.take() {
            self.index.push(last);
        }
        self.data.finish(&mut self.sink)?;
        self.properties.data_size = self.sink.offset();
        let mut metaindex = Metaindex::new();
        self.write_filter(&mut metaindex)?;
        let index = self.write_index(&mut metaindex)?;
        if let Some(dictionary) = self.data.dictionary() {
            let handle = self.sink.append(dictionary, CompressionType::None)?;
            metaindex.push((META_DICTIONARY, handle));
        }
        if let Some(handle) = self.write_tombstones()? {
            metaindex.push((META_RANGE_DEL, handle));
        }
        set_properties(&mut self.properties, &self.options, &self.sink);
        if let Some((smallest, largest)) = self.sequences {
            self.properties.set_number(name::SMALLEST_SEQNO, smallest);
            self.properties.set_number(name::LARGEST_SEQNO, largest);
        }
        let properties = self.properties.encode();
        let handle = self.sink.append(&properties, CompressionType::None)?;
        metaindex.push((META_PROPERTIES, handle));

        let format_version = self.options.table.format_version;
        let index = if format_version < CONTEXT_VERSION {
            Some(index)
        } else {
            metaindex.push((META_INDEX, index));
            None
        };
        metaindex.sort_unstable_by_key(|(name, _)| *name);
        let mut block = BlockBuilder::new(1);
        for (name, handle) in metaindex {
            let mut value = Vec::new();
            handle.encode(&mut value);
            block.add(name, &value);
        }
        let metaindex = self.sink.append(block.finish(), CompressionType::None)?;
        let footer = Footer {
            kind: TableKind::BlockBased,
            format_version,
            checksum: self.options.table.checksum,
            metaindex,
            index,
            base_context: self.sink.base_context(),
        };
        let footer = footer.encode(self.sink.offset());
        self.sink.append_raw(&footer)?;
        self.sink.file.truncate_to_len()?;
        self.sink.file.sync()?;
        self.sink.finish_warming();
        Ok((self.properties, self.sink.offset()))
    }

    /// The properties of the table.
    #[cfg(test)]
    pub(crate) fn properties_mut(&mut self) -> &mut TableProperties {
        &mut self.properties
    }

    fn check_usable(&self) -> Result<()> {
        self.failed.clone().map_or(Ok(()), Err)
    }

    /// Records a failure (I2).
    fn latch(&mut self, result: Result<()>) -> Result<()> {
        if let Err(e) = &result {
            self.failed = Some(e.clone());
        }
        result
    }

    fn see_sequence(&mut self, seq: SequenceNumber) {
        let (low, high) = self.sequences.unwrap_or((seq, seq));
        self.sequences = Some((low.min(seq), high.max(seq)));
    }

    fn block_is_full(&self, key: &[u8], value: &[u8]) -> bool {
        if self.block.is_empty() {
            return false;
        }
        self.limit
            .is_reached(self.block.len(), self.block.grown_by(key, value))
    }

    /// Finishes the block being filled, if any.
    fn flush_block(&mut self) -> Result<()> {
        if self.block.is_empty() {
            return Ok(());
        }
        let separator = self.block.last_key().to_vec();
        let was_cached = 2 * mem::take(&mut self.cached) > mem::take(&mut self.entries);
        self.data
            .add(self.block.finish(), was_cached, &mut self.sink)?;
        self.block.reset();
        self.limit = self.data.limit(&self.sink).unwrap_or(self.limit);
        self.properties.num_data_blocks += 1;
        self.pending = Some(IndexEntry {
            separator,
            first_key: mem::take(&mut self.first_key),
        });
        Ok(())
    }

    /// Adds the entry of the block before the key `next` to the index.
    fn separate(&mut self, mut entry: IndexEntry, next: &[u8]) {
        let comparator = &self.options.comparator;
        if comparator.compare_user(user_key(&entry.separator), user_key(next)) == Ordering::Equal {
            self.index.user_key_straddles();
        } else {
            comparator.shorten_separator(&mut entry.separator, next);
        }
        if let Some(filter) = &mut self.filter {
            filter.end_block(&entry.separator, user_key(next));
        }
        self.index.push(entry);
    }

    fn write_filter(&mut self, metaindex: &mut Metaindex) -> Result<()> {
        let (Some(filter), Some(policy)) = (self.filter.take(), self.options.table.filter_policy)
        else {
            return Ok(());
        };
        let start = self.sink.offset();
        let partitioned = filter.is_partitioned();
        let (parts, entries) = filter.finish(self.index.last_separator());
        let (mut top_entries, mut handles) = (Vec::new(), Vec::new());
        for part in parts {
            let handle = self.sink.append(&part.block, CompressionType::None)?;
            if partitioned && self.sink.warms(BlockKind::Filter, false) {
                self.sink.warm_cache(BlockKind::Filter, handle, &part.block);
            }
            handles.push(handle);
            top_entries.push(IndexEntry::without_first_key(part.separator));
        }
        let Some(only) = handles.first() else {
            return Ok(());
        };
        if partitioned {
            let top = self.index.encode(&top_entries, &handles, false)?;
            let handle = self.sink.append(&top, CompressionType::None)?;
            metaindex.push((META_PARTITIONED_FILTER, handle));
        } else {
            metaindex.push((META_FULL_FILTER, *only));
        }
        let p = &mut self.properties;
        p.set_number(name::NUM_FILTER_ENTRIES, entries);
        p.set_bytes(name::FILTER_POLICY, policy.property_name());
        p.filter_size = self.sink.offset() - start;
        Ok(())
    }

    fn write_index(&mut self, metaindex: &mut Metaindex) -> Result<BlockHandle> {
        let mut kind = self.options.table.index_type;
        if let Some(hash_index) = self.hash_index.take() {
            match hash_index.finish() {
                Some((prefixes, metadata)) => {
                    for (name, block) in [(META_PREFIXES, prefixes), (META_METADATA, metadata)] {
                        let handle = self.sink.append(&block, CompressionType::None)?;
                        metaindex.push((name, handle));
                    }
                }
                None => kind = IndexType::BinarySearch,
            }
        }
        let (handles, sink) = (self.data.handles(), &mut self.sink);
        let written = self.index.write(handles, sink, &mut self.compressor)?;
        set_index_properties(&mut self.properties, &self.index, written, kind);
        Ok(written.handle)
    }

    fn write_tombstones(&mut self) -> Result<Option<BlockHandle>> {
        if self.tombstones.is_empty() {
            return Ok(None);
        }
        let mut entries: Vec<(Vec<u8>, &[u8])> = self
            .tombstones
            .iter()
            .map(|t| (tombstone_key(&t.start, t.seq), &t.end[..]))
            .collect();
        let comparator = &self.options.comparator;
        entries.sort_by(|a, b| comparator.compare(&a.0, &b.0).then_with(|| a.1.cmp(b.1)));
        let mut block = BlockBuilder::new(1);
        for (key, end) in entries {
            block.add(&key, end);
        }
        let block = block.finish_within(self.index.max_block(), "the range tombstones")?;
        self.sink.append(block, CompressionType::None).map(Some)
    }
}

/// The builder of the table's filter, if it gets one.
fn filter(options: &TableBuilderOptions) -> Option<FilterBuilder> {
    let table = &options.table;
    if options.skip_filters {
        return None;
    }
    let partitioned = table.partition_filters && table.index_type == IndexType::TwoLevelIndexSearch;
    FilterBuilder::new(FilterSpec {
        policy: table.filter_policy?,
        format_version: table.format_version,
        level: options.level,
        whole_keys: table.whole_key_filtering,
        prefixes: options.prefix_extractor.as_ref(),
        partition: partitioned.then_some(table.metadata_block_size),
    })
}

/// Keys per bucket of the hash tables of data blocks; `None` if there are none. Comparators that
/// may treat different bytes as equal get none.
fn hash_ratio(options: &TableBuilderOptions) -> Option<f64> {
    let builtin = options.comparator.user.is_builtin();
    let hashed = options.table.data_block_index_type == DataBlockIndexType::BinaryAndHash;
    (hashed && builtin).then_some(options.table.data_block_hash_table_util_ratio)
}

fn tombstone_key(start: &[u8], seq: SequenceNumber) -> Vec<u8> {
    let mut key = Vec::with_capacity(start.len() + 8);
    append_internal_key(&mut key, start, seq, ValueType::RangeDeletion as u8);
    key
}
