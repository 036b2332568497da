//! Writing tables. Each file uses only files listed before it.
//!
//! `cache_warmer`: puts blocks into the block cache while they are written. `block_sink`: appends
//! blocks to the file. `page_fit`: where data blocks end. `data_blocks`: compresses data blocks,
//! with several threads if so configured. `index_builder`: the index. `hash_index_builder`: the
//! prefixes of a hash index. `table_properties`: the properties of a finished table.
//! `entry_check`: what an entry must meet. `table_builder`: the builder of block-based tables.
//! `bare_file`: the file of another table. `plain_index`: the index of a plain table.
//! `plain_builder`: the builder of plain tables. `cuckoo_places`: the buckets of a cuckoo table.
//! `cuckoo_builder`: the builder of cuckoo tables. `any_builder`: the builder of tables of any
//! format.

pub(crate) mod any_builder;
pub(crate) mod bare_file;
pub(crate) mod block_sink;
pub(crate) mod cache_warmer;
pub(crate) mod cuckoo_builder;
pub(crate) mod cuckoo_places;
pub(crate) mod data_blocks;
pub(crate) mod entry_check;
pub(crate) mod hash_index_builder;
pub(crate) mod index_builder;
pub(crate) mod page_fit;
pub(crate) mod plain_builder;
pub(crate) mod plain_index;
pub(crate) mod table_builder;
pub(crate) mod table_properties;
