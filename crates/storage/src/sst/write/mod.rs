//! Writing tables. Each file uses only files listed before it.
//!
//! `cache_warmer`: puts blocks into the block cache while they are written. `block_sink`: appends
//! blocks to the file. `data_blocks`: compresses data blocks, with several threads if so
//! configured. `index_builder`: the index. `hash_index_builder`: the prefixes of a hash index.
//! `table_properties`: the properties of a finished table. `table_builder`: the builder.

pub(crate) mod block_sink;
pub(crate) mod cache_warmer;
pub(crate) mod data_blocks;
pub(crate) mod hash_index_builder;
pub(crate) mod index_builder;
pub(crate) mod table_builder;
pub(crate) mod table_properties;
