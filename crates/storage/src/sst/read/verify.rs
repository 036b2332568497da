//! Checks a whole table against its checksums, order, index and properties.

use crate::error::Result;
use crate::internal_iterator::InternalIterator;
use crate::key::{parse_internal_key, user_key};
use crate::sst::format::block::Block;
use crate::sst::format::metaindex::META_PROPERTIES;
use crate::sst::format::properties::name;
use crate::sst::options::read_options::BlockReadOptions;
use crate::sst::read::readahead::ReadAhead;
use crate::sst::read::table::{Table, TableData};
use crate::sst::read::table_filter::FilterBlocks;
use crate::sst::read::table_iter::TableIter;
use std::cmp::Ordering;

/// How many bytes are read at a time.
const READAHEAD: usize = 256 << 10;

impl Table {
    /// Reads every block and checks its checksum and order.
    ///
    /// # Errors
    /// `Corruption` naming the first block that is damaged, is out of order, or contradicts the
    /// index or the properties; `NotSupported` if a block's compression cannot be read.
    pub fn verify(&self) -> Result<()> {
        crate::sst::read::verify::verify(self)
    }
}

/// Reads everything from the file, never from the cache.
fn verify(table: &Table) -> Result<()> {
    match &table.data {
        TableData::Blocks => verify_meta_blocks(table)?,
        TableData::Plain(_) => {}
        TableData::Cuckoo(data) => data.verify_hashes(table.file())?,
    }
    let points = verify_points(table)?;
    let tombstones = table.range_tombstones().len() as u64;
    let properties = table.properties();
    if properties.raw.contains_key(name::NUM_ENTRIES)
        && properties.num_entries != points + tombstones
    {
        return Err(table.corrupt(
            table.metaindex[META_PROPERTIES],
            format_args!(
                "table holds {points} points and {tombstones} range tombstones, \
                 its properties say {} entries",
                properties.num_entries
            ),
        ));
    }
    Ok(())
}

/// Checks the checksums of the blocks of a block-based table that are not data.
fn verify_meta_blocks(table: &Table) -> Result<()> {
    for (name, &handle) in &table.metaindex {
        // The properties of an ingested file may have been rewritten in place. They were
        // checked when the table was opened.
        if name != META_PROPERTIES {
            table
                .file()
                .read_raw(handle, true, &mut ReadAhead::default())?;
        }
    }
    table
        .file()
        .read_raw(table.index_handle(), true, &mut ReadAhead::default())?;
    match &table.filter.blocks {
        FilterBlocks::Partitioned(top) => verify_filter_partitions(table, top),
        FilterBlocks::Cached(cached) if cached.partitioned => {
            let top = table.read_filter_top(cached.handle, BlockReadOptions::FROM_FILE)?;
            verify_filter_partitions(table, &top)
        }
        FilterBlocks::None | FilterBlocks::Full(_) | FilterBlocks::Cached(_) => Ok(()),
    }
}

fn verify_filter_partitions(table: &Table, top: &Block) -> Result<()> {
    let mut cursor = table.index_format().cursor(Vec::new());
    cursor.seek_to_first(top);
    while cursor.valid() {
        let readahead = &mut ReadAhead::default();
        table.file().read_raw(cursor.handle(), true, readahead)?;
        cursor.next(top);
    }
    cursor
        .status()
        .map_err(|e| table.file().blame(e, table.index_handle()))
}

/// Checks all points, and returns their number.
fn verify_points(table: &Table) -> Result<u64> {
    let mut iter = TableIter::new(table, BlockReadOptions::FROM_FILE, READAHEAD);
    let mut last: Option<Vec<u8>> = None;
    let mut points = 0;
    iter.seek_to_first();
    while iter.valid() {
        let key = iter.key();
        let handle = iter.block_handle();
        parse_internal_key(key).map_err(|e| table.file().blame(e, handle))?;
        if let Some(last) = &last
            && table.comparator.compare(last, key) != Ordering::Less
        {
            return Err(table.corrupt(handle, "keys out of order"));
        }
        if table.compare_index(iter.separator(), key) == Ordering::Less {
            return Err(table.corrupt(
                handle,
                format_args!(
                    "key {:02x?} is past the block's end in the index",
                    user_key(key)
                ),
            ));
        }
        let last = last.get_or_insert_default();
        last.clear();
        last.extend_from_slice(key);
        points += 1;
        iter.next();
    }
    iter.status()?;
    Ok(points)
}
