//! Options of tables that are not block-based.

use whitewater_storage::sst;

/// How the keys of plain tables are stored; see [`PlainTableFactoryOptions`].
#[derive(Debug, Copy, Clone, PartialEq, Eq, Default)]
pub enum KeyEncodingType {
    /// Each key is stored whole. The default.
    #[default]
    Plain = 0,
    /// A prefix that keys in a row share is stored once. Without a
    /// [prefix extractor](crate::Options::set_prefix_extractor) the same as `Plain`.
    Prefix = 1,
}

/// The layout of plain tables; see
/// [`Options::set_plain_table_factory`](crate::Options::set_plain_table_factory). The fields are
/// those of the `rocksdb` crate.
#[derive(Debug, Copy, Clone, PartialEq)]
pub struct PlainTableFactoryOptions {
    /// The length of all keys in bytes; 0 if they differ in length, which is RocksDB's default.
    pub user_key_length: u32,
    /// Bits of the Bloom filter per key or prefix, in a file with
    /// [`store_index_in_file`](Self::store_index_in_file); none if it is not above 0. RocksDB's
    /// default is 10.
    pub bloom_bits_per_key: i32,
    /// The number of prefixes per bucket of the index in the file, from 0.01 on, or 0 for one
    /// bucket. Without a [prefix extractor](crate::Options::set_prefix_extractor) it becomes 0, and
    /// LOG says so: RocksDB writes a table with such options, and then refuses to open it.
    /// RocksDB's default is 0.75.
    pub hash_table_ratio: f64,
    /// The number of keys with one prefix per entry of the index in the file, and from one key that
    /// is stored whole to the next; 0 counts as 1. RocksDB's default is 16.
    pub index_sparseness: usize,
    /// A hint without effect: RocksDB allocates the index in huge pages of so many bytes.
    pub huge_page_tlb_size: usize,
    /// How keys are stored.
    pub encoding_type: KeyEncodingType,
    /// A hint without effect: RocksDB makes no index when it opens the table, and refuses all reads
    /// but those from beginning to end.
    pub full_scan_mode: bool,
    /// Whether an index and a Bloom filter are written into the file, so that RocksDB need not make
    /// them when it opens the table. Only the filter is used here.
    pub store_index_in_file: bool,
}

impl PlainTableFactoryOptions {
    pub(super) fn format(&self) -> sst::PlainTableOptions {
        sst::PlainTableOptions {
            user_key_len: self.user_key_length,
            bloom_bits_per_key: self.bloom_bits_per_key,
            hash_table_ratio: self.hash_table_ratio,
            index_sparseness: self.index_sparseness as u64,
            huge_page_tlb_size: self.huge_page_tlb_size as u64,
            encoding_type: match self.encoding_type {
                KeyEncodingType::Plain => sst::PlainEncoding::Plain,
                KeyEncodingType::Prefix => sst::PlainEncoding::Prefix,
            },
            full_scan_mode: self.full_scan_mode,
            store_index_in_file: self.store_index_in_file,
        }
    }
}

/// The layout of cuckoo tables; see
/// [`Options::set_cuckoo_table_factory`](crate::Options::set_cuckoo_table_factory).
#[derive(Debug, Clone, Default)]
pub struct CuckooTableOptions(pub(super) sst::CuckooTableOptions);

impl CuckooTableOptions {
    /// The part of the buckets that is used, 0.01 to 1; others are refused at open. A smaller part
    /// makes larger tables with fewer collisions. Default 0.9.
    pub fn set_hash_ratio(&mut self, ratio: f64) {
        self.0.hash_table_ratio = ratio;
    }

    /// How many keys are moved at most to make room for one. More make tables that are searched in
    /// fewer places, and take longer to write. Default 100.
    pub fn set_max_search_depth(&mut self, depth: u32) {
        self.0.max_search_depth = depth;
    }

    /// How many adjacent buckets a hash leads to, up to 65,536; 0 counts as 1, and more are refused
    /// at open. Default 5.
    pub fn set_cuckoo_block_size(&mut self, size: u32) {
        self.0.cuckoo_block_size = size;
    }

    /// Whether the first 8 bytes of a key are its first hash. Shorter keys are `NotSupported` when
    /// they are flushed: RocksDB reads beyond them. Default `false`.
    pub fn set_identity_as_first_hash(&mut self, flag: bool) {
        self.0.identity_as_first_hash = flag;
    }

    /// Whether hashes are reduced by division. Otherwise the number of buckets is a power of two,
    /// which makes larger tables and faster reads in RocksDB. Default `true`.
    pub fn set_use_module_hash(&mut self, flag: bool) {
        self.0.use_module_hash = flag;
    }
}
