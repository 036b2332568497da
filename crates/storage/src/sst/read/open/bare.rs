//! Opens plain and cuckoo tables.

use super::Found;
use crate::error::{Error, Result};
use crate::sst::filter::Filter;
use crate::sst::format::block::EntryLayout;
use crate::sst::format::cuckoo::CuckooLayout;
use crate::sst::format::footer::TableKind;
use crate::sst::format::handle::BlockHandle;
use crate::sst::format::index_format::IndexFormat;
use crate::sst::format::plain::{BLOOM_BLOCKS, META_PLAIN_BLOOM, PlainCoding};
use crate::sst::format::properties::TableProperties;
use crate::sst::options::caching::MetadataPlacement;
use crate::sst::options::read_options::TableReaderOptions;
use crate::sst::read::block_file::BlockFile;
use crate::sst::read::cuckoo_data::CuckooData;
use crate::sst::read::plain_data::PlainData;
use crate::sst::read::readahead::ReadAhead;
use crate::sst::read::table::{PinnedMetadata, Table, TableData};
use crate::sst::read::table_filter::{FilterBlocks, TableFilter};
use bytes::Bytes;
use std::sync::OnceLock;

/// The index that is made when the table is opened: internal keys and whole handles.
const INDEX_FORMAT: IndexFormat = IndexFormat {
    layout: EntryLayout::Handles,
    user_keys: false,
    partitioned: false,
};

/// Reads the data of the table, and makes its index.
///
/// # Errors
/// `Corruption` naming file and offset; `NotSupported` for tables that cannot be read; errors of
/// reading the file.
pub(super) fn open(file: BlockFile, found: Found, options: &TableReaderOptions) -> Result<Table> {
    let properties = found.properties;
    let in_file = |e: Error| e.in_file(file.file.path(), None);
    let data_end = properties.data_size;
    if data_end > file.size {
        return Err(in_file(Error::corruption(
            "data larger than the file of the table",
        )));
    }
    let comparator = &options.comparator;
    let (data, index) = match found.footer.kind {
        TableKind::Cuckoo => {
            let layout = CuckooLayout::of(&properties).map_err(in_file)?;
            let (data, index) = CuckooData::scan(&file, layout, comparator)?;
            (TableData::Cuckoo(data), index)
        }
        TableKind::Plain | TableKind::BlockBased => {
            let coding = PlainCoding::of(&properties).map_err(in_file)?;
            let (data, index) = PlainData::scan(&file, coding, data_end, comparator)?;
            (TableData::Plain(data), index)
        }
    };
    let mut filter = TableFilter::of_plain_table(&properties, options.prefix_extractor.as_ref());
    if let Some(&handle) = found.metaindex.get(META_PLAIN_BLOOM)
        && filter.is_usable()
        // RocksDB puts keys with their timestamps into the filter.
        && comparator.user.timestamp_size() == 0
    {
        filter.blocks = FilterBlocks::Full(bloom(&file, handle, &properties)?);
    }
    let mut table = Table {
        filter,
        file,
        data,
        comparator: comparator.clone(),
        cache: found.cache,
        properties,
        metaindex: found.metaindex,
        index,
        index_is_cached: false,
        index_handle: BlockHandle::default(),
        index_format: INDEX_FORMAT,
        index_prefix_array: None,
        pinned: PinnedMetadata::default(),
        metadata_priority: options.metadata.priority,
        auto_readahead: options.auto_readahead,
        dictionary: None,
        tombstones: Vec::new(),
        global_seqno: found.global_seqno,
        directory: OnceLock::new(),
        data_end,
        file_number: options.file_number,
    };
    // The index is not in the file, so it cannot be in the cache only.
    table.place_metadata(MetadataPlacement::default(), None);
    Ok(table)
}

/// The Bloom filter at `handle`.
fn bloom(file: &BlockFile, handle: BlockHandle, properties: &TableProperties) -> Result<Filter> {
    let bytes = file.read_bare(handle, &mut ReadAhead::default())?;
    let lines = u32::try_from(properties.number(BLOOM_BLOCKS)?).unwrap_or(u32::MAX);
    Ok(Filter::of_plain_table(
        Bytes::copy_from_slice(&bytes),
        lines,
    ))
}
