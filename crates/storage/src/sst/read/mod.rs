//! Reading tables. Each file uses only files listed before it.
//!
//! `read_buffer`: memory to read blocks into. `readahead`: how much to read at once. `block_file`:
//! fetches blocks: bounds, checksum, decompression. `index_prefix_array`: a faster search in an
//! index block. `key_samples`: where to begin in a cached data block. `table_filter`: the
//! filter of an open table. `plain_data`, `cuckoo_data`: the data of plain and cuckoo tables, made
//! into data blocks. `directory`: where cached data blocks are found without the cache.
//! `block_run`: a block lent with a position in it. `pinned_value`: a value that keeps its block.
//! `table`: the open table. `table_blocks`: its blocks, cached or not. `index_cursor`: walks the
//! index. `filter_reader`: queries the filter. `get`: point lookups. `table_iter`: the iterator.
//! `size_estimates`: offsets and sizes of key ranges. `metadata_pinning`: puts index and filter
//! blocks into memory or into the cache. `open`: opens a table. `verify`: checks a whole table.
//! `block_list`: lists the blocks of a table, for tools. `evict`: removes the blocks of a table
//! from the cache.

pub(crate) mod block_file;
pub(crate) mod block_list;
pub(crate) mod block_run;
pub(crate) mod cuckoo_data;
pub(crate) mod directory;
pub(crate) mod evict;
pub(crate) mod filter_reader;
pub(crate) mod get;
pub(crate) mod index_cursor;
pub(crate) mod index_prefix_array;
pub(crate) mod key_samples;
pub(crate) mod metadata_pinning;
pub(crate) mod open;
pub(crate) mod pinned_value;
pub(crate) mod plain_data;
pub(crate) mod read_buffer;
pub(crate) mod readahead;
pub(crate) mod size_estimates;
pub(crate) mod table;
pub(crate) mod table_blocks;
pub(crate) mod table_filter;
pub(crate) mod table_iter;
pub(crate) mod verify;
