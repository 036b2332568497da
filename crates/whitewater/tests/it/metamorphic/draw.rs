//! Random options. Every value is drawn by name, so that a failing case can report its values and
//! try again with the first value of each list.

use super::model::Order;
use crate::harness::{append, set_memtable};
use rand::rngs::StdRng;
use rand::{Rng, SeedableRng};
use std::collections::BTreeSet;
use std::fmt::Debug;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, SystemTime};
use whitewater::compaction_filter::Decision;
use whitewater::fs::mem::MemFs;
use whitewater::{
    BlockBasedIndexType, BlockBasedOptions, Cache, ChecksumType, CommitProtocol, CompactionPri,
    CuckooTableOptions, DBCompactionStyle, DBCompressionType, DBPath, DataBlockIndexType,
    FifoCompactOptions, KeyEncodingType, LruCacheOptions, Options, PlainTableFactoryOptions,
    PrepopulateBlobCache, PrepopulateBlockCache, SliceTransform, SstFileManager,
    UniversalCompactOptions, UniversalCompactionStopStyle, WriteBufferManager,
};

/// Compression types that tables may have.
const CODECS: [DBCompressionType; 4] = [
    DBCompressionType::None,
    DBCompressionType::Snappy,
    DBCompressionType::Lz4,
    DBCompressionType::Zstd,
];

/// Draws values, with names.
pub struct Draw<'a> {
    rng: StdRng,
    plain: &'a BTreeSet<String>,
    /// The drawn values that are not the first of their list.
    pub drawn: Vec<(&'static str, String)>,
}

impl<'a> Draw<'a> {
    pub fn new(seed: u64, plain: &'a BTreeSet<String>) -> Draw<'a> {
        Draw {
            rng: StdRng::seed_from_u64(seed),
            plain,
            drawn: Vec::new(),
        }
    }

    /// One of `choices`, the first if `name` is to be plain. Other draws do not depend on that.
    fn one<T: Clone + Debug>(&mut self, name: &'static str, choices: &[T]) -> T {
        let at = self.rng.random_range(0..choices.len());
        if at == 0 || self.plain.contains(name) {
            return choices[0].clone();
        }
        self.drawn.push((name, format!("{:?}", choices[at])));
        choices[at].clone()
    }

    fn flag(&mut self, name: &'static str) -> bool {
        self.one(name, &[false, true])
    }
}

/// What a database keeps for life.
#[derive(Debug, Clone)]
pub struct Nature {
    pub order: Order,
    pub fifo: bool,
    pub num_levels: i32,
    /// Seconds until values expire.
    pub expiry: Option<u64>,
    /// Compactions drop the keys that begin with "f".
    pub filter: bool,
    /// Logs have a directory of their own.
    pub wal_dir: bool,
    /// The number of directories of tables; 0 is the database's own.
    pub paths: usize,
    /// Tables may be cuckoo tables: keys and values have one length each, and keys one version.
    pub cuckoo: bool,
}

impl Nature {
    pub fn draw(draw: &mut Draw<'_>) -> Nature {
        let orders = [
            Order::Bytewise,
            Order::Bytewise,
            Order::Reverse,
            Order::OwnReverse,
        ];
        let fifo = draw.one("fifo", &[false, false, false, false, false, false, true]);
        let num_levels = draw.one("num_levels", &[7, 2, 3, 5, 40]);
        let mut nature = Nature {
            order: draw.one("comparator", &orders),
            fifo,
            num_levels,
            expiry: (draw.one("expiry", &[0, 0, 0, 0, 100]) > 0).then_some(100),
            filter: draw.one("compaction_filter", &[false, false, true]),
            wal_dir: draw.one("wal_dir", &[false, false, true]),
            // FIFO compaction has one path.
            paths: draw
                .one("paths", &[0, 0, 0, 1, 2, 3])
                .min(if fifo { 1 } else { 3 }),
            cuckoo: draw.one("cuckoo", &[false, false, false, false, false, true]),
        };
        nature.cuckoo &= nature.expiry.is_none();
        nature
    }
}

/// Where tables are put. The target sizes may be others at the next opening.
pub fn paths(o: &mut Options, draw: &mut Draw<'_>, nature: &Nature) {
    let sizes = [0, 30_000, 100_000, 1_000_000];
    let first = draw.one("first_path_size", &sizes);
    let second = draw.one("second_path_size", &sizes);
    let of = [
        ("/data/flash", first),
        ("/data/db", second),
        ("/data/disk", 0),
    ];
    let path = |(path, size): &(&str, u64)| DBPath::new(path, *size).expect("a path");
    let paths: Vec<DBPath> = of[..nature.paths].iter().map(path).collect();
    o.set_db_paths(&paths);
}

/// The time that databases see, in seconds.
pub type Now = Arc<AtomicU64>;

/// Options of the database.
pub fn database(o: &mut Options, draw: &mut Draw<'_>, nature: &Nature, fs: &MemFs, now: &Now) {
    o.create_if_missing(true);
    o.create_missing_column_families(true);
    o.set_fs(Arc::new(fs.clone()));
    let now = now.clone();
    o.set_clock(move || SystemTime::UNIX_EPOCH + Duration::from_secs(now.load(Ordering::Relaxed)));
    let protocols = [
        CommitProtocol::Ordered,
        CommitProtocol::Grouped,
        CommitProtocol::Pipelined,
        CommitProtocol::Unordered,
    ];
    let protocol = draw.one("commit_protocol", &protocols);
    o.set_commit_protocol(protocol);
    let atomic = draw.flag("atomic_flush");
    o.set_atomic_flush(atomic && protocol != CommitProtocol::Pipelined);
    let concurrent = draw.one("allow_concurrent_memtable_write", &[true, false]);
    let needed = matches!(
        protocol,
        CommitProtocol::Ordered | CommitProtocol::Unordered
    );
    o.set_allow_concurrent_memtable_write(concurrent || needed);
    o.set_max_subcompactions(draw.one("max_subcompactions", &[1, 2, 4]));
    o.set_max_background_jobs(draw.one("max_background_jobs", &[2, 1, 4]));
    o.set_max_open_files(draw.one("max_open_files", &[-1, 1, 20]));
    o.set_advise_random_on_open(draw.flag("advise_random_on_open"));
    o.set_avoid_unnecessary_blocking_io(draw.flag("avoid_unnecessary_blocking_io"));
    o.set_compaction_readahead_size(draw.one("compaction_readahead_size", &[2 << 20, 0, 512]));
    o.set_bytes_per_sync(draw.one("bytes_per_sync", &[0, 4_096]));
    o.set_wal_bytes_per_sync(draw.one("wal_bytes_per_sync", &[0, 4_096]));
    o.set_manual_wal_flush(draw.flag("manual_wal_flush"));
    o.set_recycle_log_file_num(draw.one("recycle_log_file_num", &[0, 1, 3]));
    if draw.flag("wal_compression") {
        o.set_wal_compression_type(DBCompressionType::Zstd);
    }
    o.set_track_and_verify_wals_in_manifest(draw.flag("track_and_verify_wals_in_manifest"));
    o.set_wal_size_limit_mb(draw.one("wal_size_limit_mb", &[0, 0, 1]));
    o.set_max_total_wal_size(draw.one("max_total_wal_size", &[0, 100_000]));
    o.set_max_manifest_file_size(draw.one("max_manifest_file_size", &[1 << 30, 1_000]));
    match draw.one("memory", &["none", "own", "manager"]) {
        "own" => o.set_db_write_buffer_size(100_000),
        "manager" => {
            let manager = WriteBufferManager::new_write_buffer_manager(120_000, false);
            o.set_write_buffer_manager(&manager);
        }
        _ => {}
    }
    match draw.one("row_cache", &["none", "small", "large"]) {
        "small" => o.set_row_cache(&Cache::new_lru_cache(1_000)),
        "large" => o.set_row_cache(&Cache::new_lru_cache(1 << 20)),
        _ => {}
    }
    match draw.one("sst_file_manager", &["none", "none", "fast", "slow"]) {
        "fast" => o.set_sst_file_manager(&SstFileManager::new()),
        // As a whole: read-only and secondary instances have files open that become obsolete.
        "slow" => o.set_sst_file_manager(&SstFileManager::with_deletion(1 << 20, 0.5, 0)),
        _ => {}
    }
    let behind = draw.one("allow_ingest_behind", &[false, false, false, true]);
    // Entries of the last level would stay there and not expire.
    o.set_allow_ingest_behind(behind && nature.expiry.is_none());
    o.set_max_write_batch_group_size_bytes(draw.one("max_write_batch_group_size", &[1 << 20, 1]));
}

/// Options of one column family. The options drawn for the database rule some out. Returns the
/// length of its prefixes.
pub fn family(o: &mut Options, draw: &mut Draw<'_>, nature: &Nature) -> Option<usize> {
    o.set_merge_operator_associative("append", append);
    match nature.order {
        Order::Bytewise => {}
        Order::Reverse => o.set_reverse_bytewise_comparator(),
        Order::OwnReverse => o.set_comparator("test.OwnReverse", Box::new(|a, b| b.cmp(a))),
    }
    if nature.filter {
        o.set_compaction_filter("drops f", |_level, key: &[u8], _value: &[u8]| {
            match key.first() {
                Some(b'f') => Decision::Remove,
                _ => Decision::Keep,
            }
        });
    }
    o.set_num_levels(nature.num_levels);
    o.set_write_buffer_size(draw.one("write_buffer_size", &[64 << 10, 100_000, 200_000]));
    o.set_arena_block_size(draw.one("arena_block_size", &[4 << 10, 1 << 10, 0]));
    o.set_target_file_size_base(draw.one("target_file_size_base", &[16 << 10, 4 << 10, 100 << 10]));
    o.set_target_file_size_multiplier(draw.one("target_file_size_multiplier", &[1, 2]));
    o.set_max_bytes_for_level_base(
        draw.one("max_bytes_for_level_base", &[48 << 10, 10 << 10, 1 << 20]),
    );
    o.set_max_bytes_for_level_multiplier(draw.one("level_multiplier", &[3.0, 1.5, 10.0]));
    let trigger = draw.one("level0_file_num_compaction_trigger", &[2, 1, 4, 8]);
    o.set_level_zero_file_num_compaction_trigger(trigger);
    o.set_max_compaction_bytes(draw.one("max_compaction_bytes", &[0, 20_000]));
    o.set_disable_auto_compactions(
        draw.one("disable_auto_compactions", &[false, false, false, true]),
    );
    o.set_max_write_buffer_number(draw.one("max_write_buffer_number", &[2, 4, 6]));
    o.set_min_write_buffer_number_to_merge(draw.one("min_write_buffer_number", &[1, 2, 4]));
    o.set_experimental_mempurge_threshold(draw.one("mempurge_threshold", &[0.0, 1.0, 3.0, 0.4]));
    style(o, draw, nature);
    let prefix = memory(o, draw, nature);
    files(o, draw, prefix.is_some());
    if nature.cuckoo {
        o.set_enable_blob_files(false); // cuckoo tables cannot refer to blob files
    }
    format(o, draw, nature, prefix.is_some());
    prefix
}

/// The format of new tables. Those that are there may have another.
fn format(o: &mut Options, draw: &mut Draw<'_>, nature: &Nature, has_prefix: bool) {
    let formats = ["block", "block", "block", "plain", "prefix", "stored"];
    let drawn = draw.one("table_format", &formats);
    let even = draw.one("even_table_format", &["cuckoo", "bits", "drawn", "cuckoo"]);
    let mut plain = PlainTableFactoryOptions {
        user_key_length: 0,
        bloom_bits_per_key: 10,
        hash_table_ratio: if has_prefix { 0.75 } else { 0.0 },
        index_sparseness: 16,
        huge_page_tlb_size: 0,
        encoding_type: KeyEncodingType::Plain,
        full_scan_mode: false,
        store_index_in_file: false,
    };
    let mut cuckoo = CuckooTableOptions::default();
    match if nature.cuckoo && even != "drawn" {
        even
    } else {
        drawn
    } {
        "plain" => {}
        "prefix" => {
            plain.encoding_type = KeyEncodingType::Prefix;
            plain.index_sparseness = 4;
        }
        "stored" => plain.store_index_in_file = true,
        "cuckoo" => return o.set_cuckoo_table_factory(&cuckoo),
        "bits" => {
            cuckoo.set_use_module_hash(false);
            cuckoo.set_cuckoo_block_size(2);
            cuckoo.set_hash_ratio(0.6);
            return o.set_cuckoo_table_factory(&cuckoo);
        }
        _ => return,
    }
    o.set_plain_table_factory(&plain);
}

/// Whether the options that were drawn for a column family let ranges be deleted in it: new tables
/// are block-based.
pub fn deletes_ranges(draw: &Draw<'_>, nature: &Nature) -> bool {
    let drawn = |name: &str| draw.drawn.iter().find(|(n, _)| *n == name);
    let value = |name: &str| drawn(name).map_or("", |(_, value)| value.trim_matches('"'));
    let drawn = value("table_format");
    let is_block = drawn.is_empty() || drawn == "block";
    is_block && (!nature.cuckoo || value("even_table_format") == "drawn")
}

fn style(o: &mut Options, draw: &mut Draw<'_>, nature: &Nature) {
    o.set_ttl(draw.one("ttl", &[0, 0, 50]));
    o.set_periodic_compaction_seconds(draw.one("periodic_compaction_seconds", &[0, 0, 70]));
    let reads = draw.one("read_triggered_compaction_threshold", &[0.03, 0.0, 1e-6]);
    o.set_read_triggered_compaction_threshold(reads);
    o.set_level_compaction_dynamic_level_bytes(draw.one("dynamic_level_bytes", &[true, false]));
    let pri = [
        CompactionPri::MinOverlappingRatio,
        CompactionPri::ByCompensatedSize,
        CompactionPri::OldestLargestSeqFirst,
        CompactionPri::OldestSmallestSeqFirst,
        CompactionPri::RoundRobin,
    ];
    o.set_compaction_pri(draw.one("compaction_pri", &pri));
    if draw.flag("compact_on_deletion") {
        let size = draw.one("compact_on_deletion_min_file_size", &[0, 2_000]);
        o.add_compact_on_deletion_collector_factory_min_file_size(64, 16, 0.4, size);
    }
    let mut universal = UniversalCompactOptions::default();
    universal.set_size_ratio(draw.one("size_ratio", &[1, 50]));
    universal.set_max_size_amplification_percent(draw.one("max_size_amplification", &[200, 25]));
    universal.set_min_merge_width(draw.one("min_merge_width", &[2, 3]));
    universal.set_max_merge_width(draw.one("max_merge_width", &[i32::MAX, 4]));
    universal.set_compression_size_percent(draw.one("compression_size_percent", &[-1, 0, 50]));
    if draw.flag("stop_style") {
        universal.set_stop_style(UniversalCompactionStopStyle::Similar);
    }
    let is_universal = draw.one("universal", &[false, false, true]);
    if nature.fifo {
        let mut fifo = FifoCompactOptions::default();
        fifo.set_max_table_files_size(u64::MAX);
        o.set_fifo_compaction_options(&fifo);
        o.set_compaction_style(DBCompactionStyle::Fifo);
        o.set_ttl(0);
        o.set_periodic_compaction_seconds(0);
    } else if is_universal {
        o.set_compaction_style(DBCompactionStyle::Universal);
        o.set_universal_compaction_options(&universal);
    }
}

/// Options of memtables, with the prefix extractor that some of them need.
fn memory(o: &mut Options, draw: &mut Draw<'_>, nature: &Nature) -> Option<usize> {
    let memtable = draw.one(
        "memtable",
        &[
            "skip_list",
            "art",
            "vector",
            "hash_skip_list",
            "hash_link_list",
        ],
    );
    let prefix = match draw.one("prefix_extractor", &[0, 1, 2, 3]) {
        0 if memtable.starts_with("hash") => Some(2),
        0 => None,
        length => Some(length),
    };
    if memtable != "art" || nature.order == Order::Bytewise {
        set_memtable(o, memtable);
    }
    if let Some(length) = prefix {
        o.set_prefix_extractor(SliceTransform::create_fixed_prefix(length));
    }
    o.set_memtable_prefix_bloom_ratio(draw.one("memtable_bloom", &[0.0, 0.02, 0.2]));
    o.set_memtable_whole_key_filtering(draw.flag("memtable_whole_key_filtering"));
    o.set_memtable_protection_bytes_per_key(draw.one("memtable_protection", &[0, 1, 8]));
    o.set_paranoid_file_checks(draw.flag("paranoid_file_checks"));
    prefix
}

fn blobs(o: &mut Options, draw: &mut Draw<'_>) {
    o.set_enable_blob_files(draw.flag("enable_blob_files"));
    o.set_min_blob_size(draw.one("min_blob_size", &[0, 30, 200]));
    o.set_blob_file_size(draw.one("blob_file_size", &[256 << 20, 1, 10_000]));
    o.set_blob_compression_type(draw.one("blob_compression_type", &CODECS));
    o.set_enable_blob_gc(draw.flag("enable_blob_gc"));
    o.set_blob_gc_age_cutoff(draw.one("blob_gc_age_cutoff", &[0.25, 0.0, 0.6, 1.0]));
    o.set_blob_gc_force_threshold(draw.one("blob_gc_force_threshold", &[1.0, 0.5, 0.1, 0.0]));
    let ahead = draw.one("blob_compaction_readahead_size", &[0, 1, 5_000]);
    o.set_blob_compaction_readahead_size(ahead);
    o.set_blob_compression_options(-14, draw.one("blob_compression_level", &[32_767, 1, 9]), 0);
    o.set_prepopulate_blob_cache(draw.one(
        "prepopulate_blob_cache",
        &[
            PrepopulateBlobCache::Disable,
            PrepopulateBlobCache::FlushOnly,
        ],
    ));
    match draw.one("blob_cache", &["none", "small", "large"]) {
        "small" => o.set_blob_cache(&Cache::new_lru_cache(1_000)),
        "large" => o.set_blob_cache(&Cache::new_lru_cache(1 << 20)),
        _ => {}
    }
}

fn files(o: &mut Options, draw: &mut Draw<'_>, has_prefix: bool) {
    o.set_compression_type(draw.one("compression", &CODECS));
    if draw.one("compression_per_level", &[false, false, true]) {
        o.set_compression_per_level(&CODECS);
    }
    if let Some(codec) = draw.one("bottommost_compression", &[None, Some(2), Some(3)]) {
        o.set_bottommost_compression_type(CODECS[codec]);
    }
    o.set_optimize_filters_for_hits(draw.flag("optimize_filters_for_hits"));
    blobs(o, draw);
    let mut t = BlockBasedOptions::default();
    t.set_format_version(draw.one("format_version", &[6, 2, 3, 4, 5, 7]));
    t.set_checksum_type(draw.one(
        "checksum",
        &[
            ChecksumType::XXH3,
            ChecksumType::NoChecksum,
            ChecksumType::CRC32c,
            ChecksumType::XXHash,
            ChecksumType::XXHash64,
        ],
    ));
    t.set_block_size(draw.one("block_size", &[4096, 1, 128, 512, 1024]));
    t.set_fit_blocks_to_pages(draw.one("fit_blocks_to_pages", &[true, false]));
    t.set_block_restart_interval(draw.one("block_restart_interval", &[16, 1, 3]));
    t.set_index_block_restart_interval(draw.one("index_block_restart_interval", &[1, 4]));
    t.set_metadata_block_size(draw.one("metadata_block_size", &[4096, 64, 300]));
    match draw.one("index_type", &["binary", "two", "first", "hash"]) {
        "two" => t.set_index_type(BlockBasedIndexType::TwoLevelIndexSearch),
        "first" => t.set_index_type(BlockBasedIndexType::BinarySearchWithFirstKey),
        "hash" if has_prefix => t.set_index_type(BlockBasedIndexType::HashSearch),
        _ => {}
    }
    match draw.one("filter", &["none", "bloom", "ribbon", "hybrid", "coarse"]) {
        "bloom" => t.set_bloom_filter(10.0, false),
        "ribbon" => t.set_ribbon_filter(10.0),
        "hybrid" => t.set_hybrid_ribbon_filter(8.5, 1),
        "coarse" => t.set_bloom_filter(1.0, true),
        _ => {}
    }
    t.set_partition_filters(draw.flag("partition_filters"));
    t.set_optimize_filters_for_memory(draw.flag("optimize_filters_for_memory"));
    t.set_whole_key_filtering(draw.one("whole_key_filtering", &[true, false]));
    if draw.flag("data_block_hash") {
        t.set_data_block_index_type(DataBlockIndexType::BinaryAndHash);
    }
    t.set_data_block_hash_ratio(draw.one("data_block_hash_ratio", &[0.75, 0.1, 3.0]));
    cache(&mut t, draw);
    o.set_block_based_table_factory(&t);
}

/// Where blocks of tables are cached: everything that was read, hardly anything, or nothing.
fn cache(t: &mut BlockBasedOptions, draw: &mut Draw<'_>) {
    let ratio = draw.one("high_pri_pool_ratio", &[0.5, 0.0, 1.0]);
    let held = draw.flag("cache_index_and_filter_blocks");
    let kind = draw.one("block_cache", &["own", "small", "strict", "none"]);
    t.set_cache_index_and_filter_blocks(held && kind != "none");
    match kind {
        "none" => t.disable_cache(),
        "small" => {
            let mut lru = LruCacheOptions::default();
            lru.set_capacity(10_000);
            lru.set_high_pri_pool_ratio(ratio);
            t.set_block_cache(&Cache::new_lru_cache_opts(&lru));
        }
        "strict" => {
            // With room for all blocks in use. Otherwise reads would fail.
            let mut cache = Cache::new_lru_cache(64 << 20);
            cache.set_strict_capacity_limit(true);
            t.set_block_cache(&cache);
        }
        _ => {}
    }
    t.set_cache_index_and_filter_blocks_with_high_priority(
        draw.one("high_priority_index_blocks", &[true, false]),
    );
    t.set_pin_l0_filter_and_index_blocks_in_cache(draw.flag("pin_l0_blocks"));
    t.set_pin_top_level_index_and_filter(draw.one("pin_top_level", &[true, false]));
    t.set_prepopulate_block_cache(draw.one(
        "prepopulate_block_cache",
        &[
            PrepopulateBlockCache::Disable,
            PrepopulateBlockCache::FlushOnly,
            PrepopulateBlockCache::FlushAndCompaction,
        ],
    ));
}

/// Changes of a column family's options at run time.
pub const CHANGES: [(&str, &str); 22] = [
    ("write_buffer_size", "65536"),
    ("write_buffer_size", "131072"),
    ("arena_block_size", "2048"),
    ("memtable_prefix_bloom_size_ratio", "0.1"),
    ("memtable_whole_key_filtering", "true"),
    ("prefix_extractor", "fixed:2"),
    ("prefix_extractor", "fixed:4"),
    ("max_write_buffer_number", "3"),
    ("level0_file_num_compaction_trigger", "1"),
    ("level0_file_num_compaction_trigger", "6"),
    ("target_file_size_base", "5000"),
    ("max_bytes_for_level_base", "30000"),
    ("max_bytes_for_level_multiplier", "2"),
    ("max_compaction_bytes", "40000"),
    ("disable_auto_compactions", "true"),
    ("disable_auto_compactions", "false"),
    ("compression", "kZSTD"),
    ("compression_per_level", "kNoCompression:kLZ4Compression"),
    ("bottommost_compression", "kSnappyCompression"),
    (
        "block_based_table_factory",
        "{block_size=700;checksum=kCRC32c}",
    ),
    (
        "block_based_table_factory",
        "{filter_policy=bloomfilter:8:false}",
    ),
    (
        "block_based_table_factory",
        "{format_version=4;whole_key_filtering=false}",
    ),
];

/// Changes of the database's options at run time.
pub const DB_CHANGES: [(&str, &str); 6] = [
    ("max_background_jobs", "4"),
    ("max_background_jobs", "2"),
    ("max_open_files", "10"),
    ("max_open_files", "-1"),
    ("max_total_wal_size", "60000"),
    ("wal_bytes_per_sync", "1000"),
];

/// The constraint between options of the database and of a family: a value can be stored only if it
/// is visible to be read.
pub fn may_limit_merges(o: &mut Options, draw: &mut Draw<'_>, unordered: bool) {
    let limit = draw.one("max_successive_merges", &[0, 1, 3]);
    o.set_max_successive_merges(if unordered { 0 } else { limit });
}
