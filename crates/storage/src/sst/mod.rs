//! Block-based tables: RocksDB's sorted files.
//!
//! [`TableBuilder`] writes one, [`Table`] reads one. The format is in
//! `docs/format/sst.md`.
//!
//! Folder contents, from the bytes up: `handle` (where a block stands),
//! `footer`, `compress`, `fetch` (reading a block: checksum, read-ahead),
//! `block` and `block_builder` (entries and restart points), `properties`,
//! `hash64` and `filter`, `index` (walking index blocks) and
//! `guide` (searching one faster), `open`, `reader`
//! (lookups), `iter`, `verify`, `builder`.

mod block;
mod block_builder;
mod builder;
mod compress;
mod fetch;
mod filter;
mod footer;
mod guide;
mod handle;
mod hash64;
mod index;
mod iter;
mod open;
mod properties;
mod reader;
mod verify;

pub use builder::{TableBuilder, TableBuilderOptions};
pub use compress::CompressionType;
pub use properties::TableProperties;
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
    /// 5 is the one version written so far. Default 5.
    pub format_version: u32,
    /// Bits per key of the Bloom filter; none when unset. Default none.
    pub bloom_bits_per_key: Option<f64>,
    /// Whether whole keys go into the filter. Default true.
    pub whole_key_filtering: bool,
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
            bloom_bits_per_key: None,
            whole_key_filtering: true,
            block_cache: None,
        }
    }
}
