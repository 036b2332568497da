//! Writing tables.
//!
//! Data blocks are written as they fill. Index entries, filter hashes and
//! range tombstones are collected and written by [`TableBuilder::finish`], in
//! RocksDB's order: data, filter, index, range tombstones, properties,
//! metaindex, footer. Whether the index can do with user keys is only known
//! once no user key was found to straddle two blocks, that is, at the end.
//!
//! Invariants:
//! * I1: keys ascend strictly; a key that does not is refused, and nothing of
//!   it is written.
//! * I2: after a failed write the builder refuses everything else: the file
//!   is of no use.

use super::block::encode_delta;
use super::block_builder::BlockBuilder;
use super::compress::{CompressionType, Compressor};
use super::filter::BloomBuilder;
use super::footer::{Footer, WRITTEN_VERSION};
use super::handle::BlockHandle;
use super::open::{META_PROPERTIES, META_RANGE_DEL};
use super::properties::name;
use super::{TableOptions, TableProperties};
use crate::checksum::{ChecksumType, block_checksum};
use crate::error::{Error, Result};
use crate::fs::{BufferedWriter, WritableFile};
use crate::key::{
    InternalComparator, SequenceNumber, ValueType, append_internal_key, parse_internal_key,
    user_key,
};
use crate::rangedel::RangeTombstone;
use std::cmp::Ordering;

/// What a table to be built needs to know besides [`TableOptions`].
#[derive(Debug, Clone, Default)]
pub struct TableBuilderOptions {
    /// Layout.
    pub table: TableOptions,
    /// Key order.
    pub comparator: InternalComparator,
    /// Compression of data and index blocks.
    pub compression: CompressionType,
    /// Compression level; `None` is the codec's default.
    pub compression_level: Option<i32>,
    /// Column family, for the properties.
    pub column_family_id: u32,
    /// Column family, for the properties.
    pub column_family_name: String,
    /// Merge operator's name, empty for none.
    pub merge_operator: String,
    /// Prefix extractor's name, empty for none. Only told: filters hold whole
    /// keys.
    pub prefix_extractor: String,
    /// Unix seconds of the oldest ancestor.
    pub creation_time: u64,
    /// Unix seconds of the oldest key, 0 unknown.
    pub oldest_key_time: u64,
    /// Unix seconds now.
    pub file_creation_time: u64,
    /// Database id and session id, for the properties.
    pub db_id: String,
    /// Session id, 20 base-36 characters.
    pub session_id: String,
    /// This file's number, for the properties.
    pub file_number: u64,
}

/// Bytes collected before they go to the file.
const WRITE_BUFFER: usize = 256 << 10;

/// A block may end this many hundredths short of the size asked for, when the
/// next entry would take it past.
const SIZE_DEVIATION: usize = 10;

/// Offsets inside a block are 32 bits, and so are lengths.
const MAX_ENTRY: usize = 1 << 30;

/// Bytes of an index entry besides its key, about: lengths, handle, restart.
const INDEX_OVERHEAD: usize = 14;

/// What the filter block goes by in the metaindex.
const META_FULL_FILTER: &[u8] = b"fullfilter.rocksdb.BuiltinBloomFilter";

/// An entry of the index to be.
#[derive(Debug)]
struct IndexEntry {
    separator: Vec<u8>,
    handle: BlockHandle,
}

/// Writes one table: points in ascending internal order, range tombstones in
/// any order, then [`TableBuilder::finish`].
pub struct TableBuilder {
    options: TableBuilderOptions,
    file: BufferedWriter,
    compressor: Compressor,
    block: BlockBuilder,
    filter: Option<BloomBuilder>,
    index: Vec<IndexEntry>,
    /// Bytes of the separators collected, without tags.
    separator_bytes: usize,
    /// The last key and place of the block that was written but is not in
    /// `index` yet: its separator depends on the key after it.
    pending: Option<IndexEntry>,
    /// Whether some user key stands in two blocks.
    straddles: bool,
    last_key: Vec<u8>,
    tombstones: Vec<RangeTombstone>,
    properties: TableProperties,
    offset: u64,
    failed: Option<Error>,
}

impl std::fmt::Debug for TableBuilder {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("TableBuilder")
            .field("file_number", &self.options.file_number)
            .field("entries", &self.num_entries())
            .field("offset", &self.offset)
            .finish_non_exhaustive()
    }
}

impl TableBuilder {
    /// Starts a table in the empty `file`.
    ///
    /// # Errors
    /// `NotSupported` for compressions, checksums and format versions that
    /// are not written, `InvalidArgument` for a file that is not empty.
    pub fn new(options: TableBuilderOptions, file: Box<dyn WritableFile>) -> Result<Self> {
        let table = &options.table;
        if table.format_version != WRITTEN_VERSION {
            return Err(Error::not_supported(format_args!(
                "writing tables of format version {}",
                table.format_version
            )));
        }
        if !matches!(table.checksum, ChecksumType::XXH3 | ChecksumType::CRC32c) {
            return Err(Error::not_supported(format_args!(
                "writing tables with checksum {:?}",
                table.checksum
            )));
        }
        if !file.is_empty() {
            return Err(Error::invalid("a table needs an empty file"));
        }
        let filter = match table.bloom_bits_per_key {
            Some(bits) if table.whole_key_filtering => BloomBuilder::new(bits),
            _ => None,
        };
        Ok(TableBuilder {
            compressor: Compressor::new(options.compression, options.compression_level)?,
            block: BlockBuilder::new(table.block_restart_interval),
            filter,
            index: Vec::new(),
            separator_bytes: 0,
            pending: None,
            straddles: false,
            last_key: Vec::new(),
            tombstones: Vec::new(),
            properties: TableProperties::default(),
            offset: 0,
            failed: None,
            file: BufferedWriter::new(file, WRITE_BUFFER),
            options,
        })
    }

    /// Adds an entry; internal keys must ascend strictly.
    ///
    /// # Errors
    /// `InvalidArgument` for a key out of order, a range tombstone or an entry
    /// of 1 GiB and more; the failure of the file, then and ever after.
    pub fn add(&mut self, internal_key: &[u8], value: &[u8]) -> Result<()> {
        self.check_usable()?;
        let ty = self.check_entry(internal_key, value)?;
        if self.block_is_full(internal_key, value) {
            let result = self.flush_block();
            self.latch(result)?;
        }
        if let Some(pending) = self.pending.take() {
            self.separate(pending, internal_key);
        }
        if let Some(filter) = &mut self.filter {
            filter.add(user_key(internal_key));
        }
        self.block.add(internal_key, value);
        self.last_key.clear();
        self.last_key.extend_from_slice(internal_key);

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

    /// Adds a range tombstone; any order.
    ///
    /// # Errors
    /// `InvalidArgument` for a range of 1 GiB and more; an earlier failure.
    pub fn add_range_tombstone(&mut self, tombstone: &RangeTombstone) -> Result<()> {
        self.check_usable()?;
        if tombstone.start.len().saturating_add(tombstone.end.len()) >= MAX_ENTRY {
            return Err(Error::invalid("range tombstone of 1 GiB or more"));
        }
        self.tombstones.push(tombstone.clone());
        let p = &mut self.properties;
        p.num_entries += 1;
        p.num_deletions += 1;
        p.num_range_deletions += 1;
        p.raw_key_size += tombstone.start.len() as u64 + 8;
        p.raw_value_size += tombstone.end.len() as u64;
        Ok(())
    }

    /// Bytes the file would have if it were finished now, about.
    pub fn file_size(&self) -> u64 {
        let block = if self.block.is_empty() {
            0
        } else {
            self.block.len()
        };
        let filter = self.filter.as_ref().map_or(0, BloomBuilder::estimated_len);
        let index = self.separator_bytes + INDEX_OVERHEAD * self.index.len();
        self.offset + (block + filter + index) as u64
    }

    /// Points added so far.
    pub fn num_entries(&self) -> u64 {
        self.properties.num_entries - self.properties.num_range_deletions
    }

    /// Writes index, filter, properties and footer, flushes and syncs the
    /// file. Returns the properties and the file's size.
    ///
    /// # Errors
    /// The failure of the file, now or earlier: the file is of no use then.
    pub fn finish(mut self) -> Result<(TableProperties, u64)> {
        self.check_usable()?;
        self.flush_block()?;
        if let Some(last) = self.pending.take() {
            self.push_index(last);
        }
        self.properties.data_size = self.offset;
        let mut metaindex = Vec::new();
        if let Some(handle) = self.write_filter()? {
            metaindex.push((META_FULL_FILTER, handle));
        }
        let index = self.write_index()?;
        if let Some(handle) = self.write_tombstones()? {
            metaindex.push((META_RANGE_DEL, handle));
        }
        self.describe();
        let properties = self.properties.encode();
        let handle = self.write_block(&properties, CompressionType::None)?;
        metaindex.push((META_PROPERTIES, handle));

        metaindex.sort_unstable_by_key(|(name, _)| *name);
        let mut block = BlockBuilder::new(1);
        for (name, handle) in metaindex {
            let mut value = Vec::new();
            handle.encode(&mut value);
            block.add(name, &value);
        }
        let metaindex = self.write_block(block.finish(), CompressionType::None)?;
        let footer = Footer::encode(self.options.table.checksum, metaindex, index);
        self.file.append(&footer)?;
        self.offset += footer.len() as u64;
        self.file.truncate_to_len()?;
        self.file.sync()?;
        Ok((self.properties, self.offset))
    }

    fn check_usable(&self) -> Result<()> {
        self.failed.clone().map_or(Ok(()), Err)
    }

    /// Remembers a failure (I2).
    fn latch(&mut self, result: Result<()>) -> Result<()> {
        if let Err(e) = &result {
            self.failed = Some(e.clone());
        }
        result
    }

    /// Checks order, type and size of an entry (I1).
    fn check_entry(&self, key: &[u8], value: &[u8]) -> Result<ValueType> {
        let ty = parse_internal_key(key)
            .map_err(|e| Error::invalid(format_args!("entry refused: {e}")))?
            .ty;
        if ty == ValueType::RangeDeletion {
            return Err(Error::invalid("range tombstone among the points"));
        }
        if key.len().saturating_add(value.len()) >= MAX_ENTRY {
            return Err(Error::invalid("entry of 1 GiB or more"));
        }
        let ascends = self.last_key.is_empty()
            || self.options.comparator.compare(&self.last_key, key) == Ordering::Less;
        if !ascends {
            return Err(Error::invalid("table keys out of order"));
        }
        Ok(ty)
    }

    fn block_is_full(&self, key: &[u8], value: &[u8]) -> bool {
        if self.block.is_empty() {
            return false;
        }
        let (len, size) = (self.block.len(), self.options.table.block_size);
        let nearly = size.saturating_sub(size / 100 * SIZE_DEVIATION);
        len >= size || (len > nearly && len + self.block.grown_by(key, value) > size)
    }

    /// Writes the block being filled, if any.
    fn flush_block(&mut self) -> Result<()> {
        if self.block.is_empty() {
            return Ok(());
        }
        let separator = self.block.last_key().to_vec();
        let (payload, ty) = self.compressor.compress(self.block.finish())?;
        let checksum = self.options.table.checksum;
        let handle = append_block(&mut self.file, &mut self.offset, checksum, payload, ty)?;
        self.block.reset();
        self.properties.num_data_blocks += 1;
        self.pending = Some(IndexEntry { separator, handle });
        Ok(())
    }

    /// Moves the block before `next` into the index.
    fn separate(&mut self, mut entry: IndexEntry, next: &[u8]) {
        let comparator = &self.options.comparator;
        if comparator.compare_user(user_key(&entry.separator), user_key(next)) == Ordering::Equal {
            self.straddles = true;
        } else {
            comparator.shorten_separator(&mut entry.separator, next);
        }
        self.push_index(entry);
    }

    fn push_index(&mut self, entry: IndexEntry) {
        self.separator_bytes += user_key(&entry.separator).len();
        self.index.push(entry);
    }

    fn write_block(&mut self, payload: &[u8], ty: CompressionType) -> Result<BlockHandle> {
        let checksum = self.options.table.checksum;
        append_block(&mut self.file, &mut self.offset, checksum, payload, ty)
    }

    fn write_filter(&mut self) -> Result<Option<BlockHandle>> {
        let Some(filter) = self.filter.take().filter(|f| f.num_keys() > 0) else {
            return Ok(None);
        };
        let p = &mut self.properties;
        p.set_number(name::NUM_FILTER_ENTRIES, filter.num_keys() as u64);
        p.set_bytes(name::FILTER_POLICY, "bloomfilter");
        let start = self.offset;
        let handle = self.write_block(&filter.finish(), CompressionType::None)?;
        self.properties.filter_size = self.offset - start;
        Ok(Some(handle))
    }

    /// Writes the index, with handles as differences where keys share bytes.
    fn write_index(&mut self) -> Result<BlockHandle> {
        let mut block = BlockBuilder::new(self.options.table.index_block_restart_interval);
        let (mut full, mut delta) = (Vec::new(), Vec::new());
        let mut prev: Option<BlockHandle> = None;
        for entry in &self.index {
            full.clear();
            delta.clear();
            entry.handle.encode(&mut full);
            if let Some(prev) = prev {
                encode_delta(prev, entry.handle, &mut delta);
            }
            let key = if self.straddles {
                &entry.separator
            } else {
                user_key(&entry.separator)
            };
            block.add_delta(key, &full, &delta);
            prev = Some(entry.handle);
        }
        let start = self.offset;
        let (payload, ty) = self.compressor.compress(block.finish())?;
        let checksum = self.options.table.checksum;
        let handle = append_block(&mut self.file, &mut self.offset, checksum, payload, ty)?;
        self.properties.index_size = self.offset - start;
        Ok(handle)
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
        self.write_block(block.finish(), CompressionType::None)
            .map(Some)
    }

    /// Fills in the properties in their stored form.
    fn describe(&mut self) {
        let o = &self.options;
        let p = &mut self.properties;
        for (name, value) in [
            (name::NUM_ENTRIES, p.num_entries),
            (name::DELETED_KEYS, p.num_deletions),
            (name::MERGE_OPERANDS, p.num_merge_operands),
            (name::NUM_RANGE_DELETIONS, p.num_range_deletions),
            (name::RAW_KEY_SIZE, p.raw_key_size),
            (name::RAW_VALUE_SIZE, p.raw_value_size),
            (name::DATA_SIZE, p.data_size),
            (name::INDEX_SIZE, p.index_size),
            (name::FILTER_SIZE, p.filter_size),
            (name::NUM_DATA_BLOCKS, p.num_data_blocks),
            (name::TAIL_START, p.data_size),
            (name::INDEX_USER_KEY, u64::from(!self.straddles)),
            (name::INDEX_DELTA, 1),
            (name::FORMAT_VERSION, u64::from(WRITTEN_VERSION)),
            (name::FIXED_KEY_LENGTH, 0),
            (name::COLUMN_FAMILY_ID, u64::from(o.column_family_id)),
            (name::CREATION_TIME, o.creation_time),
            (name::OLDEST_KEY_TIME, o.oldest_key_time),
            (name::FILE_CREATION_TIME, o.file_creation_time),
            (name::FILE_NUMBER, o.file_number),
        ] {
            p.set_number(name, value);
        }
        let whole_keys = if o.table.whole_key_filtering {
            "1"
        } else {
            "0"
        };
        for (name, text) in [
            (name::COMPARATOR, o.comparator.user.name()),
            (name::COLUMN_FAMILY_NAME, &o.column_family_name),
            (name::MERGE_OPERATOR, or_null(&o.merge_operator)),
            (name::PREFIX_EXTRACTOR, or_null(&o.prefix_extractor)),
            (name::PROPERTY_COLLECTORS, "[]"),
            (name::COMPRESSION, o.compression.property_name()),
            (name::WHOLE_KEY_FILTERING, whole_keys),
            (name::PREFIX_FILTERING, "0"),
        ] {
            p.set_bytes(name, text);
        }
        for (name, text) in [(name::DB_ID, &o.db_id), (name::SESSION_ID, &o.session_id)] {
            if !text.is_empty() {
                p.set_bytes(name, text);
            }
        }
        // Binary search over one index block.
        p.set_bytes(name::INDEX_TYPE, 0u32.to_le_bytes());
    }
}

/// RocksDB's text for "no object" in place of an empty name.
fn or_null(name: &str) -> &str {
    if name.is_empty() { "nullptr" } else { name }
}

fn tombstone_key(start: &[u8], seq: SequenceNumber) -> Vec<u8> {
    let mut key = Vec::with_capacity(start.len() + 8);
    append_internal_key(&mut key, start, seq, ValueType::RangeDeletion as u8);
    key
}

/// Appends a block and its trailer at `offset` and moves that on.
fn append_block(
    file: &mut BufferedWriter,
    offset: &mut u64,
    checksum: ChecksumType,
    payload: &[u8],
    ty: CompressionType,
) -> Result<BlockHandle> {
    let handle = BlockHandle {
        offset: *offset,
        size: payload.len() as u64,
    };
    let sum = block_checksum(checksum, payload, ty as u8).to_le_bytes();
    file.append(payload)?;
    file.append(&[ty as u8, sum[0], sum[1], sum[2], sum[3]])?;
    *offset += payload.len() as u64 + 5;
    Ok(handle)
}
