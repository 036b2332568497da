//! The names of meta blocks in the metaindex.

/// The properties block.
pub(crate) const META_PROPERTIES: &[u8] = b"rocksdb.properties";
/// The block of range tombstones.
pub(crate) const META_RANGE_DEL: &[u8] = b"rocksdb.range_del";
/// The index, from format version 6 on.
pub(crate) const META_INDEX: &[u8] = b"rocksdb.index";
/// The compression dictionary.
pub(crate) const META_DICTIONARY: &[u8] = b"rocksdb.compression_dict";
/// A filter in one block. The name after the dot is the one that RocksDB uses for all of its own
/// filter policies.
pub(crate) const META_FULL_FILTER: &[u8] = b"fullfilter.rocksdb.BuiltinBloomFilter";
/// The top block of a partitioned filter.
pub(crate) const META_PARTITIONED_FILTER: &[u8] = b"partitionedfilter.rocksdb.BuiltinBloomFilter";
/// The prefixes of a hash index.
pub(crate) const META_PREFIXES: &[u8] = b"rocksdb.hashindex.prefixes";
/// For each prefix of a hash index: its length, first data block and number of blocks.
pub(crate) const META_METADATA: &[u8] = b"rocksdb.hashindex.metadata";
