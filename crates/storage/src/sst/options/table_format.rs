//! The formats of tables that can be written, and the options of the formats other than the
//! block-based one.

use crate::sst::format::plain::PlainEncoding;

/// The format of a table that is written. Tables of every format are read, whatever this is.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub enum TableFormat {
    /// Sorted blocks with an index. Holds every kind of entry, and is the only format with
    /// checksums, compression and a cache for its blocks in the form in which they are stored.
    #[default]
    BlockBased,
    /// One run of entries.
    Plain(PlainTableOptions),
    /// A hash table of buckets of one size.
    Cuckoo(CuckooTableOptions),
}

/// Options of plain tables.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct PlainTableOptions {
    /// The length of all user keys in bytes; 0, the default, if they differ in length.
    pub user_key_len: u32,
    /// Bits of the Bloom filter per key or prefix; none if it is not above 0. Default 10. The
    /// filter is only written together with the index.
    pub bloom_bits_per_key: i32,
    /// The number of prefixes per bucket of the index; 0 for one bucket. Default 0.75.
    pub hash_table_ratio: f64,
    /// The number of keys with one prefix per entry of the index, and between keys that are stored
    /// whole; 0 counts as 1. Default 16.
    pub index_sparseness: u64,
    /// A hint without effect: the page size of huge pages to allocate the index in, in bytes.
    /// Default 0.
    pub huge_page_tlb_size: u64,
    /// How keys are encoded. Tables without a prefix extractor have the encoding *plain*.
    pub encoding_type: PlainEncoding,
    /// A hint without effect: the table is only read from beginning to end. Default `false`.
    pub full_scan_mode: bool,
    /// Whether index and filter are written to the file. Default `false`: RocksDB makes them when
    /// it opens the table.
    pub store_index_in_file: bool,
}

impl Default for PlainTableOptions {
    fn default() -> Self {
        PlainTableOptions {
            user_key_len: 0,
            bloom_bits_per_key: 10,
            hash_table_ratio: 0.75,
            index_sparseness: 16,
            huge_page_tlb_size: 0,
            encoding_type: PlainEncoding::Plain,
            full_scan_mode: false,
            store_index_in_file: false,
        }
    }
}

/// Options of cuckoo tables.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct CuckooTableOptions {
    /// The part of the buckets that is used, above 0 and up to 1. Default 0.9.
    pub hash_table_ratio: f64,
    /// How many keys are moved at most to make room for one. Default 100.
    pub max_search_depth: u32,
    /// How many adjacent buckets a hash leads to, 1 or more. Default 5.
    pub cuckoo_block_size: u32,
    /// Whether the first 8 bytes of a key are its first hash. Default `false`.
    pub identity_as_first_hash: bool,
    /// Whether hashes are reduced by division, so that the number of buckets need not be a power
    /// of two. Default `true`.
    pub use_module_hash: bool,
}

impl Default for CuckooTableOptions {
    fn default() -> Self {
        CuckooTableOptions {
            hash_table_ratio: 0.9,
            max_search_depth: 100,
            cuckoo_block_size: 5,
            identity_as_first_hash: false,
            use_module_hash: true,
        }
    }
}
