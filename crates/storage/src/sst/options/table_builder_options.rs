//! Options of the builder of one table.

use crate::key::InternalComparator;
use crate::sst::compress::{CompressionOptions, CompressionType};
use crate::sst::events::TableEvents;
use crate::sst::filter::PrefixTransform;
use crate::sst::options::table_format::TableFormat;
use crate::sst::options::table_options::TableOptions;
use std::sync::Arc;

/// Options of building one table.
#[derive(Debug, Clone, Default)]
pub struct TableBuilderOptions {
    /// The format of the table.
    pub format: TableFormat,
    /// The layout of the table, if it is block-based.
    pub table: TableOptions,
    /// The order of keys.
    pub comparator: InternalComparator,
    /// The compression of data and index blocks.
    pub compression: CompressionType,
    /// Options of the compression.
    pub compression_options: CompressionOptions,
    /// The target size of tables in bytes, 0 for none. At most that much is held in memory until
    /// the compression dictionary is made.
    pub target_file_size: u64,
    /// The column family's id, for the properties.
    pub column_family_id: u32,
    /// The column family's name, for the properties.
    pub column_family_name: String,
    /// The merge operator's name, empty for none.
    pub merge_operator: String,
    /// The prefix extractor for the filter and for an index of type `HashSearch`.
    pub prefix_extractor: Option<Arc<dyn PrefixTransform>>,
    /// Whether the filter of a plain table keeps the bits of a key together, if it is not 0.
    pub bloom_locality: u32,
    /// The level that the table is for, which may decide the kind of filter; -1 for a flush.
    pub level: i32,
    /// Whether to write no filter, whatever the policy.
    pub skip_filters: bool,
    /// When the oldest ancestor was created, in Unix seconds.
    pub creation_time: u64,
    /// When the oldest key was written, in Unix seconds; 0 if unknown.
    pub oldest_key_time: u64,
    /// The current time in Unix seconds.
    pub file_creation_time: u64,
    /// The database's id, for the properties.
    pub db_id: String,
    /// The session's id, 20 characters of base 36, for the properties.
    pub session_id: String,
    /// The file's number, for the properties.
    pub file_number: u64,
    /// Whether the table is made outside of a database, to be ingested later. All its entries
    /// must have the sequence number 0; the ingestion decides which number they count as.
    pub external: bool,
    /// Listens to what happens to the blocks.
    pub events: Option<Arc<dyn TableEvents>>,
}
