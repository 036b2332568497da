//! Options of the builder of one table.

use crate::key::InternalComparator;
use crate::sst::compress::{CompressionOptions, CompressionType};
use crate::sst::events::TableEvents;
use crate::sst::filter::PrefixTransform;
use crate::sst::options::table_options::TableOptions;
use std::sync::Arc;

/// What a table to be built needs to know besides [`TableOptions`].
#[derive(Debug, Clone, Default)]
pub struct TableBuilderOptions {
    /// EntryLayout.
    pub table: TableOptions,
    /// Key order.
    pub comparator: InternalComparator,
    /// Compression of data and index blocks.
    pub compression: CompressionType,
    /// Options of the codec.
    pub compression_options: CompressionOptions,
    /// Size in bytes that tables are aimed at, 0 for none. So much is held in
    /// memory at most until there is a compression dictionary.
    pub target_file_size: u64,
    /// Column family, for the properties.
    pub column_family_id: u32,
    /// Column family, for the properties.
    pub column_family_name: String,
    /// Merge operator's name, empty for none.
    pub merge_operator: String,
    /// What prefixes the filter gets, and the index of type `HashSearch`.
    pub prefix_extractor: Option<Arc<dyn PrefixTransform>>,
    /// Level that the table is for, by which filters are chosen; -1 for a
    /// flush.
    pub level: i32,
    /// Write no filter, whatever the policy.
    pub skip_filters: bool,
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
    /// The table is made for a database that does not exist or does not know
    /// of it. All its entries must have the number 0; whoever ingests it
    /// decides which number they count as.
    pub external: bool,
    /// Who is told what becomes of blocks.
    pub events: Option<Arc<dyn TableEvents>>,
}
