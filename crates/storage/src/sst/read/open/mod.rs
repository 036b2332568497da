//! Opens a table: reads the footer at the end of the file, then the blocks that it leads to.
//!
//! * `bare`: opens plain and cuckoo tables, whose blocks have no trailers.

mod bare;
#[cfg(test)]
mod tests;

use crate::cache::BlockCache;
use crate::checksum::{ChecksumType, block_checksum, context};
use crate::error::{Error, ErrorKind, Result};
use crate::fs::RandomAccessFile;
use crate::key::{SequenceNumber, TAG_SIZE, ValueType, parse_internal_key};
use crate::rangedel::RangeTombstone;
use crate::sst::compress::Dictionary;
use crate::sst::filter::Filter;
use crate::sst::format::block::{Block, Cursor, EntryLayout};
use crate::sst::format::footer::{FOOTER_LEN, Footer, TableKind};
use crate::sst::format::handle::{BlockHandle, TRAILER_LEN};
use crate::sst::format::index_format::IndexFormat;
use crate::sst::format::metaindex::{
    META_DICTIONARY, META_FULL_FILTER, META_INDEX, META_PARTITIONED_FILTER, META_PROPERTIES,
    META_RANGE_DEL,
};
use crate::sst::format::properties::{External, TableProperties, name};
use crate::sst::options::read_options::TableReaderOptions;
use crate::sst::read::block_file::BlockFile;
use crate::sst::read::metadata_pinning::FoundFilter;
use crate::sst::read::readahead::ReadAhead;
use crate::sst::read::table::{PinnedMetadata, Table, TableData};
use crate::sst::read::table_filter::{FilterBlocks, TableFilter};
use bytes::Bytes;
use std::collections::BTreeMap;
use std::sync::{Arc, OnceLock};

/// How many bytes at the end of the file are read first. Small tables need no more.
const TAIL_READ: u64 = 16 << 10;

/// The value of the index type property for a partitioned index.
const INDEX_PARTITIONED: u32 = 2;
/// The value of the index type property for an index with first keys.
const INDEX_WITH_FIRST_KEY: u32 = 3;

type Metaindex = BTreeMap<Vec<u8>, BlockHandle>;

impl Table {
    /// Opens the table in `file`, which has `size` bytes: footer, properties,
    /// index and filter are read and checked.
    ///
    /// # Errors
    /// `Corruption` naming file and offset, if the file is not a table or is damaged;
    /// `NotSupported` for kinds of tables, format versions and compressions that cannot be read;
    /// `InvalidArgument` if the table was written with another comparator.
    pub fn open(
        file: Arc<dyn RandomAccessFile>,
        size: u64,
        options: TableReaderOptions,
    ) -> Result<Table> {
        open(file, size, options)
    }
}

impl TableProperties {
    /// Reads the properties of the table in `file`, which has `size` bytes. The rest of the table
    /// may be of a kind that cannot be read, and its comparator may be unknown.
    ///
    /// # Errors
    /// `Corruption` naming file and offset; `NotSupported` for kinds of files that cannot be read
    /// at all; errors of reading the file.
    pub fn read(file: Arc<dyn RandomAccessFile>, size: u64) -> Result<Self> {
        crate::sst::read::open::properties(file, size)
    }
}

fn open(file: Arc<dyn RandomAccessFile>, size: u64, options: TableReaderOptions) -> Result<Table> {
    let (footer, mut tail) = read_footer(&*file, size)?;
    let mut opener = Opener {
        file: BlockFile::new(file, size, &footer, options.events.clone()),
        tail: &mut tail,
        bare: footer.kind != TableKind::BlockBased,
    };
    let metaindex = opener.metaindex(footer.metaindex)?;
    let Some(&properties_at) = metaindex.get(META_PROPERTIES) else {
        return Err(opener.bad(footer.metaindex, "table without properties"));
    };
    let properties = opener.properties(properties_at)?;
    let blame = |opener: &Opener<'_>, e| opener.file.blame(e, properties_at);

    check_comparator(&properties, &options).map_err(|e| blame(&opener, e))?;
    check_timestamps(&properties, &options).map_err(|e| blame(&opener, e))?;
    let global_seqno =
        global_seqno(&properties, options.largest_seqno).map_err(|e| blame(&opener, e))?;
    let cache = options.block_cache.clone().map(|cache| {
        let id = cache_id(&cache, &properties);
        (cache, id)
    });
    let found = Found {
        footer,
        properties,
        properties_at,
        metaindex,
        cache,
        global_seqno,
    };
    if opener.bare {
        return bare::open(opener.file, found, &options);
    }
    open_blocks(opener, found, options)
}

/// What is known of a table before its index is read.
struct Found {
    footer: Footer,
    properties: TableProperties,
    properties_at: BlockHandle,
    metaindex: Metaindex,
    /// The cache, and the table's id in it.
    cache: Option<(BlockCache, u64)>,
    global_seqno: Option<SequenceNumber>,
}

/// Opens the rest of a block-based table.
fn open_blocks(mut opener: Opener<'_>, found: Found, options: TableReaderOptions) -> Result<Table> {
    let Found {
        footer,
        properties,
        metaindex,
        global_seqno,
        ..
    } = found;
    let index_format =
        index_format(&properties).map_err(|e| opener.file.blame(e, found.properties_at))?;
    let Some(index_handle) = footer.index.or_else(|| metaindex.get(META_INDEX).copied()) else {
        return Err(opener.bad(footer.metaindex, "table without an index"));
    };
    let index = opener.block(index_handle)?;
    let tombstones = match metaindex.get(META_RANGE_DEL) {
        Some(&handle) => opener.tombstones(
            handle,
            global_seqno,
            options.comparator.user.timestamp_size(),
        )?,
        None => Vec::new(),
    };
    let dictionary = match metaindex.get(META_DICTIONARY) {
        Some(&handle) => opener.dictionary(handle)?,
        None => None,
    };
    let filter = TableFilter::new(&properties, options.prefix_extractor.as_ref());
    let found_filter = if filter.is_usable() {
        opener.filter(&metaindex)?
    } else {
        None
    };
    let data_end = match properties.data_size {
        0 => index_handle.offset.min(footer.metaindex.offset),
        n => n.min(opener.file.size),
    };
    let mut table = Table {
        file: opener.file,
        data: TableData::Blocks,
        comparator: options.comparator,
        cache: found.cache,
        properties,
        metaindex,
        index,
        index_is_cached: false,
        index_handle,
        index_format,
        index_prefix_array: None,
        filter,
        pinned: PinnedMetadata::default(),
        metadata_priority: options.metadata.priority,
        auto_readahead: options.auto_readahead,
        dictionary,
        tombstones,
        global_seqno,
        directory: OnceLock::new(),
        data_end,
        file_number: options.file_number,
    };
    table.place_metadata(options.metadata, found_filter);
    Ok(table)
}

/// Reads the properties of the table in `file` without opening it.
fn properties(file: Arc<dyn RandomAccessFile>, size: u64) -> Result<TableProperties> {
    let (footer, mut tail) = read_footer(&*file, size)?;
    let mut opener = Opener {
        file: BlockFile::new(file, size, &footer, None),
        tail: &mut tail,
        bare: footer.kind != TableKind::BlockBased,
    };
    let metaindex = opener.metaindex(footer.metaindex)?;
    match metaindex.get(META_PROPERTIES) {
        Some(&at) => opener.properties(at),
        None => Err(opener.bad(footer.metaindex, "table without properties")),
    }
}

/// Reads the end of the file, and decodes the footer.
fn read_footer(file: &dyn RandomAccessFile, size: u64) -> Result<(Footer, ReadAhead)> {
    let Some(offset) = size.checked_sub(FOOTER_LEN as u64) else {
        return Err(Error::corruption_in(
            file.path(),
            0,
            format_args!("file of {size} bytes is too short for a table"),
        ));
    };
    let tail_len = size.min(TAIL_READ);
    let tail = file.read_at(size - tail_len, tail_len as usize)?;
    let Some(bytes) = tail.last_chunk::<FOOTER_LEN>() else {
        return Err(Error::corruption_in(
            file.path(),
            offset,
            "short read of a footer",
        ));
    };
    let footer = Footer::decode(bytes, offset).map_err(|e| e.in_file(file.path(), Some(offset)))?;
    Ok((footer, ReadAhead::holding(tail, size - tail_len)))
}

fn check_comparator(properties: &TableProperties, options: &TableReaderOptions) -> Result<()> {
    let ours = options.comparator.user.name();
    match properties.raw.get(name::COMPARATOR) {
        Some(theirs) if theirs != ours.as_bytes() => Err(Error::invalid(format_args!(
            "table is sorted by comparator {}, not by {ours}",
            String::from_utf8_lossy(theirs)
        ))),
        _ => Ok(()),
    }
}

/// Refuses a table whose keys lack the timestamps that the comparator expects. Otherwise the last
/// bytes of the keys would be taken for timestamps.
fn check_timestamps(properties: &TableProperties, options: &TableReaderOptions) -> Result<()> {
    let stripped = properties.raw.contains_key(name::TIMESTAMPS_PERSISTED)
        && properties.number(name::TIMESTAMPS_PERSISTED)? == 0;
    if stripped && options.comparator.user.timestamp_size() > 0 {
        return Err(Error::not_supported(
            "table whose keys' timestamps were not persisted",
        ));
    }
    Ok(())
}

/// The sequence number that replaces the 0 of every entry, if the file was ingested.
fn global_seqno(
    properties: &TableProperties,
    largest_seqno: Option<SequenceNumber>,
) -> Result<Option<SequenceNumber>> {
    let External::Numbered(stored) = properties.external()? else {
        return Ok(None);
    };
    match (stored, largest_seqno.unwrap_or(0)) {
        (s, l) if s != 0 && l != 0 && s != l => Err(Error::corruption(format_args!(
            "table's global sequence number is {s}, the manifest says {l}"
        ))),
        (s, l) => Ok(Some(s.max(l))),
    }
}

fn index_format(properties: &TableProperties) -> Result<IndexFormat> {
    let Some(ty) = properties.fixed32(name::INDEX_TYPE)? else {
        return Err(Error::corruption("table without an index type"));
    };
    if ty > INDEX_WITH_FIRST_KEY {
        return Err(Error::not_supported(format_args!("table index type {ty}")));
    }
    let layout = if properties.number(name::INDEX_DELTA)? != 0 {
        EntryLayout::DeltaHandles {
            first_key: ty == INDEX_WITH_FIRST_KEY,
        }
    } else {
        EntryLayout::Handles
    };
    Ok(IndexFormat {
        layout,
        user_keys: properties.number(name::INDEX_USER_KEY)? != 0,
        partitioned: ty == INDEX_PARTITIONED,
    })
}

/// The id of a table in `cache`: a new one, unless its blocks are cached already.
fn cache_id(cache: &BlockCache, properties: &TableProperties) -> u64 {
    let session = properties.raw.get(name::SESSION_ID);
    let number = properties.number(name::FILE_NUMBER);
    let expected = match (session, number) {
        (Some(session), Ok(number)) => cache.expected(session, number),
        _ => None,
    };
    expected.unwrap_or_else(|| cache.new_id())
}

/// Reads the blocks that an open table holds.
struct Opener<'a> {
    file: BlockFile,
    tail: &'a mut ReadAhead,
    /// Whether blocks have no trailers.
    bare: bool,
}

impl Opener<'_> {
    fn bad(&self, handle: BlockHandle, what: &str) -> Error {
        self.file.blame(Error::corruption(what), handle)
    }

    fn block(&mut self, handle: BlockHandle) -> Result<Block> {
        let bytes = if self.bare {
            Bytes::copy_from_slice(&self.file.read_bare(handle, self.tail)?)
        } else {
            self.file.read(handle, true, None, self.tail, true)?
        };
        Block::new(bytes).map_err(|e| self.file.blame(e, handle))
    }

    fn metaindex(&mut self, handle: BlockHandle) -> Result<Metaindex> {
        let block = self.block(handle)?;
        let mut out = Metaindex::new();
        let mut cursor = Cursor::new(EntryLayout::Values, 0);
        cursor.seek_to_first(&block);
        while cursor.valid() {
            let Some(meta) = BlockHandle::decode_exact(cursor.value(&block)) else {
                return Err(self.bad(handle, "bad block handle in metaindex"));
            };
            out.insert(cursor.key(&block).to_vec(), meta);
            cursor.next(&block);
        }
        cursor.status().map_err(|e| self.file.blame(e, handle))?;
        Ok(out)
    }

    fn properties(&mut self, handle: BlockHandle) -> Result<TableProperties> {
        // The checksum is reported below: a mismatch need not be damage.
        let events = self.file.events.take();
        let block = match self.block(handle) {
            Err(e) if e.kind() == ErrorKind::Corruption && !self.bare => {
                self.rewritten_properties(handle, e)
            }
            other => other,
        };
        let matches = match &block {
            Ok(_) => Some(true),
            Err(e) => (e.kind() == ErrorKind::Corruption).then_some(false),
        };
        if let (Some(events), Some(matches)) = (&events, matches)
            && self.file.checksum != ChecksumType::NoChecksum
            && !self.bare
        {
            events.checksum(matches);
        }
        self.file.events = events;
        let block = block?;
        TableProperties::decode(&block).map_err(|e| self.file.blame(e, handle))
    }

    /// The properties of an ingested file whose global sequence number was changed in place: the
    /// checksum is that of the block with 0 as the number.
    fn rewritten_properties(&mut self, handle: BlockHandle, e: Error) -> Result<Block> {
        let Ok((raw, 0)) = self.file.read_raw(handle, false, self.tail) else {
            return Err(e);
        };
        let Ok(block) = Block::new(Bytes::copy_from_slice(&raw)) else {
            return Err(e);
        };
        let mut cursor = Cursor::new(EntryLayout::Values, 0);
        cursor.seek(&block, |k| k.cmp(name::GLOBAL_SEQNO.as_bytes()));
        let found = cursor.valid() && cursor.key(&block) == name::GLOBAL_SEQNO.as_bytes();
        if !found || cursor.value(&block).len() != 8 {
            return Err(e);
        }
        let mut zeroed = raw.to_vec();
        let at = cursor.value_offset();
        zeroed[at..at + 8].fill(0);
        let trailer = handle.offset + handle.size;
        let stored = self.file.file.read_at(trailer, TRAILER_LEN)?;
        let computed = block_checksum(self.file.checksum, &zeroed, 0)
            .wrapping_add(context(self.file.base_context, handle.offset));
        let unchecked = self.file.checksum == ChecksumType::NoChecksum;
        if unchecked || stored.get(1..) != Some(&computed.to_le_bytes()[..]) {
            return Err(e);
        }
        Ok(block)
    }

    fn dictionary(&mut self, handle: BlockHandle) -> Result<Option<Dictionary>> {
        let (raw, _) = self.file.read_raw(handle, true, self.tail)?;
        if raw.is_empty() {
            return Ok(None);
        }
        let raw = Bytes::copy_from_slice(&raw);
        Ok(Some(Dictionary::new(raw)))
    }

    /// The filter, unless its kind or policy is unknown.
    fn filter(&mut self, meta: &Metaindex) -> Result<Option<FoundFilter>> {
        if let Some(&handle) = meta.get(META_FULL_FILTER) {
            let (raw, ty) = self.file.read_raw(handle, true, self.tail)?;
            if ty == 0 {
                let bytes = Bytes::copy_from_slice(&raw);
                let blocks = FilterBlocks::Full(Filter::new(bytes.clone()));
                return Ok(Some(FoundFilter {
                    blocks,
                    handle,
                    bytes,
                }));
            }
        }
        let Some(&handle) = meta.get(META_PARTITIONED_FILTER) else {
            return Ok(None);
        };
        let top = self.block(handle)?;
        let bytes = top.data().clone();
        Ok(Some(FoundFilter {
            blocks: FilterBlocks::Partitioned(top),
            handle,
            bytes,
        }))
    }

    fn tombstones(
        &mut self,
        handle: BlockHandle,
        global_seqno: Option<SequenceNumber>,
        timestamp_size: usize,
    ) -> Result<Vec<RangeTombstone>> {
        let block = self.block(handle)?;
        let mut out = Vec::new();
        let mut cursor = Cursor::new(EntryLayout::Values, TAG_SIZE);
        cursor.seek_to_first(&block);
        while cursor.valid() {
            let key =
                parse_internal_key(cursor.key(&block)).map_err(|e| self.file.blame(e, handle))?;
            if key.ty != ValueType::RangeDeletion {
                return Err(self.bad(handle, "entry is not a range tombstone"));
            }
            let end = cursor.value(&block);
            if key.user_key.len().min(end.len()) < timestamp_size {
                return Err(self.bad(handle, "range tombstone without timestamp"));
            }
            out.push(RangeTombstone {
                start: key.user_key.to_vec(),
                end: end.to_vec(),
                seq: match global_seqno {
                    Some(global) if key.seq == 0 => global,
                    _ => key.seq,
                },
            });
            cursor.next(&block);
        }
        cursor.status().map_err(|e| self.file.blame(e, handle))?;
        Ok(out)
    }
}
