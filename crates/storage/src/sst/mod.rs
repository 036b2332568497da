//! Block-based tables: RocksDB's sorted files.
//!
//! [`TableBuilder`] writes one, [`Table`] reads one. The format is in
//! `docs/format/sst.md`.
//!
//! Folder contents, from the bytes up: `handle` (where a block stands),
//! `footer`, `compress`, `limits`, `scratch` and `fetch` (reading a block: checksum, read-ahead),
//! `block` and `block_builder` (entries and restart points), `properties`,
//! `hash64` and `filter`, `index` (walking index blocks) and
//! `guide` (searching one faster), `open`, `reader`
//! (lookups), `metadata` (where index and filter blocks are), `events` (who is told), `ask` (asking
//! the filter), `iter`, `verify`, `layout` (for tools); and for writing `data_blocks` (compressing
//! them), `sink` (appending blocks), `warm` (caching them), `uncache` (the opposite), `index_builder`, `hash_index`, `builder`. `kinds` names the
//! indexes.

mod ask;
mod block;
mod block_builder;
mod block_hash;
mod builder;
mod compress;
mod data_blocks;
mod describe;
mod events;
mod fetch;
mod filter;
mod footer;
#[cfg(feature = "fuzzing")]
pub(crate) mod fuzzing;
mod guide;
mod handle;
mod hash64;
mod hash_index;
mod index;
mod index_builder;
mod iter;
mod kinds;
mod layout;
mod limits;
mod metadata;
mod open;
mod properties;
mod reader;
mod scratch;
mod sink;
mod uncache;
mod verify;
mod warm;

pub use ask::{FilterEvent, FilterQuestion};
pub use builder::{TableBuilder, TableBuilderOptions};
pub(crate) use compress::decompress_value;
pub use compress::{
    CompressionOptions, CompressionType, Compressor, DEFAULT_LEVEL, decompress_block,
};
pub use events::{BlockCompression, BlockKind, BlockStep, TableEvents};
pub use filter::{FilterPolicy, PrefixTransform};
pub use kinds::{DataBlockIndexType, IndexType, PrepopulateBlockCache};
pub use layout::{BlockInfo, BlockRole};
pub use limits::ReadLimits;
pub use metadata::{MetadataCacheOptions, MetadataPlacement, PinningTier};
pub use properties::{External, TableProperties};
pub use reader::{Table, TableReadOptions, TableReaderOptions};

use crate::cache::BlockCache;
use crate::checksum::ChecksumType;

/// How tables are laid out. Read when a table is built; readers follow what
/// the file says.
#[derive(Debug, Clone)]
pub struct TableOptions {
    /// Uncompressed bytes per data block, about. Default 4096.
    pub block_size: usize,
    /// Keys between restart points of data blocks. Default 16.
    pub block_restart_interval: usize,
    /// Keys between restart points of index blocks. Default 1.
    pub index_block_restart_interval: usize,
    /// Block checksum. Default XXH3.
    pub checksum: ChecksumType,
    /// 2 to 7. From 3 on the index does without tags where it can, from 4 on
    /// it holds differences of block handles, from 5 on Bloom filters are of
    /// the new format, from 6 on checksums depend on where a block stands, and
    /// 7 names compressions in another way. Default 5, which RocksDB reads
    /// from 6.6 on; 6 needs 8.6, and 7 a version after 10.4.
    pub format_version: u32,
    /// How data blocks are found. Default binary search.
    pub index_type: IndexType,
    /// Bytes of a partition of index or filter, about. Default 4096.
    pub metadata_block_size: usize,
    /// Whether filters are in partitions; only with an index that is.
    /// Default false.
    pub partition_filters: bool,
    /// How keys are found in data blocks. Default binary search.
    pub data_block_index_type: DataBlockIndexType,
    /// Keys for each bucket of a data block's hash table. Default 0.75.
    pub data_block_hash_table_util_ratio: f64,
    /// The filter; none when unset. Default none.
    pub filter_policy: Option<FilterPolicy>,
    /// Whether whole keys go into the filter. Default true.
    pub whole_key_filtering: bool,
    /// A hint that filters should fit the sizes that memory is handed out in.
    /// Filters take exactly the memory they need here: it changes nothing.
    /// Default false.
    pub optimize_filters_for_memory: bool,
    /// Whether index and filter blocks go to the block cache, where they may be
    /// evicted; otherwise they stay with the open table. Default false.
    pub cache_index_and_filter_blocks: bool,
    /// Whether index and filter blocks in the cache have high priority. Default
    /// true.
    pub cache_index_and_filter_blocks_with_high_priority: bool,
    /// What [`PinningTier::Fallback`] stands for: of blocks that are not
    /// partitioned, and of partitions, those of flushed tables are pinned.
    /// Default false.
    pub pin_l0_filter_and_index_blocks_in_cache: bool,
    /// And: the top blocks of partitioned indexes and filters are. Default true.
    pub pin_top_level_index_and_filter: bool,
    /// Of which tables index and filter blocks are pinned. Default: as the two
    /// before say.
    pub metadata_cache_options: MetadataCacheOptions,
    /// Which tables get their blocks into the cache as they are written. Default
    /// none.
    pub prepopulate_block_cache: PrepopulateBlockCache,
    /// Block cache; `None` reads every block from the file.
    pub block_cache: Option<BlockCache>,
}

impl Default for TableOptions {
    fn default() -> Self {
        TableOptions {
            block_size: 4096,
            block_restart_interval: 16,
            index_block_restart_interval: 1,
            checksum: ChecksumType::XXH3,
            format_version: 5,
            index_type: IndexType::BinarySearch,
            metadata_block_size: 4096,
            partition_filters: false,
            data_block_index_type: DataBlockIndexType::BinarySearch,
            data_block_hash_table_util_ratio: 0.75,
            filter_policy: None,
            whole_key_filtering: true,
            optimize_filters_for_memory: false,
            cache_index_and_filter_blocks: false,
            cache_index_and_filter_blocks_with_high_priority: true,
            pin_l0_filter_and_index_blocks_in_cache: false,
            pin_top_level_index_and_filter: true,
            metadata_cache_options: MetadataCacheOptions::default(),
            prepopulate_block_cache: PrepopulateBlockCache::Disable,
            block_cache: None,
        }
    }
}
