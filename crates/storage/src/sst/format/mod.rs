//! The encodings of a table's parts. Nothing here reads or writes files.
//!
//! `handle`: the position of a block. `hash64`: RocksDB's hash functions. `footer`: the last
//! bytes of a table. `data_block_hash_index`: the hash table at the end of a data block.
//! `block`: reading the entries of a block; `block_builder`: encoding them. `index_format`: how
//! index blocks are encoded. `metaindex`: names of meta blocks. `properties`: the properties
//! block. `plain`: the entries of plain tables. `cuckoo`: the layout of cuckoo tables.

pub(crate) mod block;
pub(crate) mod block_builder;
pub(crate) mod cuckoo;
pub(crate) mod data_block_hash_index;
pub(crate) mod footer;
pub(crate) mod handle;
pub(crate) mod hash64;
pub(crate) mod index_format;
pub(crate) mod metaindex;
pub(crate) mod plain;
pub(crate) mod properties;
