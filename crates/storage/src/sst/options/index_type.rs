//! The kinds of indexes that tables and data blocks can have.

/// The kind of a table's index. The discriminants are on disk.
///
/// This crate searches all kinds by binary search. They differ in what is written, and in what
/// other readers do with it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
#[repr(u32)]
pub enum IndexType {
    /// One index block.
    #[default]
    BinarySearch = 0,
    /// One index block, and two blocks that list the data blocks of each prefix. Written as
    /// [`BinarySearch`](Self::BinarySearch) if some key has no prefix.
    HashSearch = 1,
    /// Index blocks of about
    /// [`metadata_block_size`](crate::sst::TableOptions::metadata_block_size)
    /// bytes, and a top block over them. Only the top block stays with the open table; the
    /// others go through the block cache.
    TwoLevelIndexSearch = 2,
    /// One index block that also holds the first key of each data block, so that a reader may
    /// delay reading the block.
    BinarySearchWithFirstKey = 3,
}

/// The kind of search within data blocks. The values are RocksDB's.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
#[repr(C)]
pub enum DataBlockIndexType {
    /// By binary search over restart points.
    #[default]
    BinarySearch = 0,
    /// Point lookups use a hash table at the end of the block, everything else uses binary
    /// search. Blocks that are too large for a hash table, and blocks of tables with a custom
    /// comparator, have none.
    BinaryAndHash = 1,
}
