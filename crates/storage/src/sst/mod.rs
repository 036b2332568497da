//! Tables: RocksDB's sorted files. Block-based ones, and its two other formats.
//!
//! [`TableBuilder`] writes a table, [`Table`] reads one. `docs/format/sst.md` describes the
//! format.
//!
//! The folders are floors. A file imports only from its own folder and from the folders
//! listed before it; `read` and `write` do not know each other. The test `tidy` of this crate
//! checks that, and the order of the files within `format`, `options`, `read` and `write`.
//!
//! 1. `events`: what a table reports for statistics.
//! 2. `format`: the encodings: blocks, block handles, footer, metaindex, properties.
//! 3. `compress`: block compression, a file per codec. `filter`: Bloom and Ribbon filters.
//! 4. `options`: options of tables, of their builder and of their readers.
//! 5. `read`: the open table: lookups, iterators, verification. `write`: the table builder.
//! 6. `fuzzing`: fuzz targets for the parts of a table.

mod compress;
mod events;
mod filter;
mod format;
#[cfg(feature = "fuzzing")]
pub(crate) mod fuzzing;
mod options;
mod read;
mod write;

pub(crate) use compress::decompress_value;
pub use compress::{
    CompressionOptions, CompressionType, Compressor, DEFAULT_LEVEL, decompress_block,
};
pub use events::{BlockCompression, BlockKind, BlockStep, FilterEvent, TableEvents};
pub use filter::{FilterPolicy, FilterQuery, PrefixTransform};
pub use format::plain::PlainEncoding;
pub use format::properties::{External, TableProperties};
pub use options::auto_readahead::AutoReadahead;
pub use options::caching::{
    MetadataCacheOptions, MetadataPlacement, PinningTier, PrepopulateBlockCache,
};
pub use options::index_type::{DataBlockIndexType, IndexType};
pub use options::io_priority::{Charged, IoPriority};
pub use options::read_limits::ReadLimits;
pub use options::read_options::{TableReadOptions, TableReaderOptions};
pub use options::table_builder_options::TableBuilderOptions;
pub use options::table_format::{CuckooTableOptions, PlainTableOptions, TableFormat};
pub use options::table_options::TableOptions;
pub use read::block_list::{BlockInfo, BlockRole};
pub use read::block_run::BlockRun;
pub use read::get::{ExpectedBlock, TableValue};
pub use read::pinned_value::PinnedValue;
pub use read::table::Table;
pub use write::any_builder::TableBuilder;
