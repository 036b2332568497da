//! The properties block.

use std::collections::BTreeMap;

/// What a table says about itself.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct TableProperties {
    /// Points and tombstones.
    pub num_entries: u64,
    /// Point and range tombstones.
    pub num_deletions: u64,
    /// Merge operands.
    pub num_merge_operands: u64,
    /// Range tombstones.
    pub num_range_deletions: u64,
    /// Bytes of all internal keys before compression.
    pub raw_key_size: u64,
    /// Bytes of all values before compression.
    pub raw_value_size: u64,
    /// Bytes of data blocks in the file.
    pub data_size: u64,
    /// Bytes of index blocks.
    pub index_size: u64,
    /// Bytes of the filter.
    pub filter_size: u64,
    /// Number of data blocks.
    pub num_data_blocks: u64,
    /// Every property in the file by its full name, undecoded.
    pub raw: BTreeMap<String, Vec<u8>>,
}
