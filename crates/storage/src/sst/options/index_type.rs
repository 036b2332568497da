//! The kinds of indexes that tables and data blocks can have.

/// How a table finds the data block of a key. The discriminants are on disk.
///
/// All kinds are searched in a binary way here; they differ in what is
/// written, and in what other readers do with it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
#[repr(u32)]
pub enum IndexType {
    /// One index block.
    #[default]
    BinarySearch = 0,
    /// One index block, and blocks that tell for each prefix which data blocks
    /// hold it. Written as [`BinarySearch`](Self::BinarySearch) when some key
    /// has no prefix.
    HashSearch = 1,
    /// Index blocks of about
    /// [`metadata_block_size`](crate::sst::TableOptions::metadata_block_size)
    /// bytes and one over them. Only that one stays with the open table; the
    /// others go through the block cache.
    TwoLevelIndexSearch = 2,
    /// One index block that holds the first key of each data block, too, so
    /// that a reader may put off reading the block.
    BinarySearchWithFirstKey = 3,
}

/// How a key is found in a data block. RocksDB's numbers.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
#[repr(C)]
pub enum DataBlockIndexType {
    /// By binary search over restart points.
    #[default]
    BinarySearch = 0,
    /// Point look-ups by a hash table at the block's end, all else by binary
    /// search. Blocks that are too large for one, and all blocks under
    /// comparators that are not built in, have none.
    BinaryAndHash = 1,
}
