//! Writing tables.

use super::{CompressionType, TableOptions, TableProperties};
use crate::error::Result;
use crate::fs::WritableFile;
use crate::key::InternalComparator;
use crate::rangedel::RangeTombstone;

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

/// Writes one table: points in ascending internal order, range tombstones in
/// any order, then [`TableBuilder::finish`].
pub struct TableBuilder {
    _file: Box<dyn WritableFile>,
}

impl TableBuilder {
    /// Starts a table in the empty `file`.
    pub fn new(options: TableBuilderOptions, file: Box<dyn WritableFile>) -> Result<Self> {
        let _ = options;
        Ok(TableBuilder { _file: file })
    }
    /// Adds an entry; internal keys must ascend strictly.
    pub fn add(&mut self, internal_key: &[u8], value: &[u8]) -> Result<()> {
        let _ = (internal_key, value);
        todo!()
    }
    /// Adds a range tombstone; any order.
    pub fn add_range_tombstone(&mut self, tombstone: &RangeTombstone) -> Result<()> {
        let _ = tombstone;
        todo!()
    }
    /// Bytes written so far, about (blocks not yet flushed included).
    pub fn file_size(&self) -> u64 {
        todo!()
    }
    /// Points added so far.
    pub fn num_entries(&self) -> u64 {
        todo!()
    }
    /// Writes index, filter, properties and footer, flushes and syncs the
    /// file. Returns the properties and the file's size.
    pub fn finish(self) -> Result<(TableProperties, u64)> {
        todo!()
    }
}
