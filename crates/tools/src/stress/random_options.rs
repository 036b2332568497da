//! Options by chance, as text: what RocksDB's options files have, and what only
//! this engine has.
//!
//! The same seed gives the same options. They are printed with each round, so that
//! a failing one can be told by them.

use std::fmt;
use std::sync::Arc;

use rand::rngs::StdRng;
use rand::seq::IndexedRandom;
use rand::{Rng, SeedableRng};
use whitewater::fs::Fs;
use whitewater::{CommitProtocol, Error, MemtableFactory, Options};

use super::key_model::{PERMANENT_FAMILIES, Shape, TRANSIENT_NAMES};
use super::order::Order;

/// A name, and values to choose from, first the one that is not spoken of. What is
/// first in [`FAMILY`] and is not the default either is in [`SMALL`].
type Choice = (&'static str, &'static [&'static str]);

const DATABASE: &[Choice] = &[
    ("atomic_flush", &["false", "true"]),
    ("bgerror_resume_retry_interval", &["1000000", "1000"]),
    ("bytes_per_sync", &["0", "4096"]),
    ("compaction_readahead_size", &["2097152", "0", "512"]),
    ("db_write_buffer_size", &["0", "0", "150000"]),
    ("enable_write_thread_adaptive_yield", &["true", "false"]),
    (
        "file_checksum_gen_factory",
        &["nullptr", "FileChecksumGenCrc32cFactory"],
    ),
    ("keep_log_file_num", &["1000", "2"]),
    ("max_background_flushes", &["-1", "1", "2"]),
    ("max_background_jobs", &["2", "1", "4"]),
    ("max_log_file_size", &["0", "20000"]),
    ("max_manifest_file_size", &["1073741824", "2000"]),
    ("max_open_files", &["-1", "20", "100"]),
    ("max_subcompactions", &["1", "2", "4"]),
    ("max_total_wal_size", &["0", "100000"]),
    ("max_write_batch_group_size_bytes", &["1048576", "1000"]),
    ("recycle_log_file_num", &["0", "1", "3"]),
    ("scrub_period_sec", &["0", "0", "1"]),
    ("stats_dump_period_sec", &["600", "1"]),
    ("track_and_verify_wals_in_manifest", &["false", "true"]),
    ("wal_bytes_per_sync", &["0", "4096"]),
    ("wal_compression", &["kNoCompression", "kZSTD"]),
    ("WAL_size_limit_MB", &["0", "0", "1"]),
    ("WAL_ttl_seconds", &["0", "0", "1"]),
];

/// What makes everything happen with little data.
const SMALL: &str = "level0_file_num_compaction_trigger=4;max_bytes_for_level_base=100000;\
    target_file_size_base=50000;write_buffer_size=65536";

const FAMILY: &[Choice] = &[
    ("arena_block_size", &["0", "1024", "16384"]),
    (
        "bottommost_compression",
        &["kDisableCompressionOption", "kZSTD", "kSnappyCompression"],
    ),
    (
        "compaction_pri",
        &[
            "kMinOverlappingRatio",
            "kRoundRobin",
            "kOldestSmallestSeqFirst",
        ],
    ),
    (
        "compaction_style",
        &[
            "kCompactionStyleLevel",
            "kCompactionStyleLevel",
            "kCompactionStyleUniversal",
        ],
    ),
    (
        "compression",
        &[
            "kSnappyCompression",
            "kNoCompression",
            "kLZ4Compression",
            "kZSTD",
            "kZlibCompression",
        ],
    ),
    (
        "compression_opts",
        &[
            "",
            "",
            "{max_dict_bytes=4000;zstd_max_train_bytes=20000;enabled=true}",
        ],
    ),
    (
        "compression_per_level",
        &["", "", "kNoCompression:kLZ4Compression:kZSTD"],
    ),
    ("level0_file_num_compaction_trigger", &["4", "1", "2", "8"]),
    ("level0_slowdown_writes_trigger", &["20", "9"]),
    ("level0_stop_writes_trigger", &["36", "12"]),
    ("level_compaction_dynamic_level_bytes", &["true", "false"]),
    ("max_bytes_for_level_base", &["100000", "20000", "1000000"]),
    ("max_bytes_for_level_multiplier", &["10", "2", "3"]),
    ("max_compaction_bytes", &["0", "50000"]),
    ("max_successive_merges", &["0", "2"]),
    ("max_write_buffer_number", &["2", "4"]),
    ("memtable_prefix_bloom_size_ratio", &["0", "0.1"]),
    ("memtable_protection_bytes_per_key", &["0", "1", "8"]),
    ("memtable_whole_key_filtering", &["false", "true"]),
    ("min_write_buffer_number_to_merge", &["1", "2"]),
    ("optimize_filters_for_hits", &["false", "true"]),
    ("paranoid_file_checks", &["false", "true"]),
    ("periodic_compaction_seconds", &["", "", "1"]),
    ("soft_pending_compaction_bytes_limit", &["", "200000"]),
    ("target_file_size_base", &["50000", "8000", "300000"]),
    ("target_file_size_multiplier", &["1", "2"]),
    ("ttl", &["", "", "1"]),
    ("write_buffer_size", &["65536", "100000", "300000"]),
];

const TABLE: &[Choice] = &[
    ("block_restart_interval", &["16", "1", "3"]),
    ("block_size", &["4096", "100", "1000"]),
    ("cache_index_and_filter_blocks", &["false", "true"]),
    (
        "cache_index_and_filter_blocks_with_high_priority",
        &["", "true", "false"],
    ),
    ("checksum", &["kXXH3", "kCRC32c", "kxxHash", "kxxHash64"]),
    (
        "data_block_index_type",
        &["kDataBlockBinarySearch", "kDataBlockBinaryAndHash"],
    ),
    (
        "filter_policy",
        &["nullptr", "bloomfilter:10:false", "ribbonfilter:10:-1"],
    ),
    ("format_version", &["6", "2", "3", "4", "5", "7"]),
    ("index_block_restart_interval", &["1", "4"]),
    (
        "index_type",
        &[
            "kBinarySearch",
            "kTwoLevelIndexSearch",
            "kBinarySearchWithFirstKey",
        ],
    ),
    ("metadata_block_size", &["4096", "100"]),
    ("optimize_filters_for_memory", &["", "true", "false"]),
    ("partition_filters", &["false", "true"]),
    (
        "pin_l0_filter_and_index_blocks_in_cache",
        &["", "true", "false"],
    ),
    ("pin_top_level_index_and_filter", &["", "true", "false"]),
    (
        "prepopulate_block_cache",
        &["kDisable", "kFlushOnly", "kFlushAndCompaction"],
    ),
    ("whole_key_filtering", &["true", "false"]),
];

const PROTOCOLS: [CommitProtocol; 4] = [
    CommitProtocol::Ordered,
    CommitProtocol::Grouped,
    CommitProtocol::Pipelined,
    CommitProtocol::Unordered,
];

/// What of a family may change while threads write.
const CHANGES: &[(&str, &str)] = &[
    ("write_buffer_size", "65536"),
    ("write_buffer_size", "200000"),
    ("level0_file_num_compaction_trigger", "1"),
    ("level0_file_num_compaction_trigger", "6"),
    ("target_file_size_base", "10000"),
    ("max_bytes_for_level_base", "30000"),
    ("compression", "kZSTD"),
    ("compression", "kNoCompression"),
    (
        "block_based_table_factory",
        "{block_size=700;checksum=kCRC32c}",
    ),
    (
        "block_based_table_factory",
        "{filter_policy=bloomfilter:8:false}",
    ),
];

/// What of a database may.
const DATABASE_CHANGES: &[(&str, &str)] = &[
    ("delayed_write_rate", "1000000"),
    ("max_background_jobs", "1"),
    ("max_background_jobs", "3"),
    ("max_open_files", "30"),
    ("max_total_wal_size", "50000"),
    ("wal_bytes_per_sync", "1000"),
];

/// The options of a database and of its column families.
#[derive(Debug, Clone, PartialEq)]
pub struct RandomOptions {
    protocol: CommitProtocol,
    database: String,
    /// Those of column families, which take turns with them.
    families: [FamilyOptions; 2],
}

/// The options of a column family.
#[derive(Debug, Clone, PartialEq)]
struct FamilyOptions {
    memtable: &'static str,
    /// What only orders have that keep prefixes together.
    prefix: &'static str,
    text: String,
    /// Bytes of the block cache.
    cache: usize,
}

impl RandomOptions {
    /// Those of `seed`.
    pub fn new(seed: u64) -> RandomOptions {
        let mut rng = StdRng::seed_from_u64(seed);
        let protocol = *PROTOCOLS.choose(&mut rng).expect("there are some");
        let mut database = pick(&mut rng, DATABASE);
        // Refused, as RocksDB does.
        if protocol == CommitProtocol::Pipelined {
            database.retain(|(name, _)| *name != "atomic_flush");
        }
        RandomOptions {
            protocol,
            database: text(&database),
            families: std::array::from_fn(|_| FamilyOptions::new(protocol, &mut rng)),
        }
    }

    /// These options for the column family `number` of a database in `fs`, and for
    /// the database.
    ///
    /// # Errors
    /// Text that this engine does not take.
    pub fn build(&self, fs: Arc<dyn Fs>, shape: Shape, number: u32) -> Result<Options, Error> {
        let family = &self.families[number as usize % self.families.len()];
        let mut o = family.options(&self.database, shape.order(number))?;
        o.create_if_missing(true);
        o.create_missing_column_families(true);
        o.set_fs(fs);
        o.set_commit_protocol(self.protocol);
        Ok(o)
    }

    /// Whether snapshots never change: with every protocol but unordered commit.
    pub fn is_strict(&self) -> bool {
        self.protocol != CommitProtocol::Unordered
    }

    /// Whether all column families are flushed together.
    pub fn is_atomic(&self) -> bool {
        self.database.contains("atomic_flush=true")
    }

    /// Something of a column family to change at run time.
    pub fn change(rng: &mut impl Rng) -> (&'static str, &'static str) {
        *CHANGES.choose(rng).expect("there are some")
    }

    /// Something of a database.
    pub fn database_change(rng: &mut impl Rng) -> (&'static str, &'static str) {
        *DATABASE_CHANGES.choose(rng).expect("there are some")
    }

    /// Whether blocks of tables know where they are.
    pub fn places_blocks(&self) -> bool {
        let knows = |f: &FamilyOptions| {
            let version = f.text.split_once("format_version=").map(|(_, rest)| rest);
            // Version 6 is not spoken of.
            version.is_none_or(|v| v.starts_with('7'))
        };
        self.families.iter().all(knows)
    }
}

impl FamilyOptions {
    fn new(protocol: CommitProtocol, rng: &mut StdRng) -> FamilyOptions {
        let memtables = [
            "art",
            "skip_list",
            "vector",
            "prefix_hash",
            "hash_linkedlist",
        ];
        let memtable = *memtables.choose(rng).expect("there are some");
        let mut family = pick(rng, FAMILY);
        // Refused, as RocksDB does.
        if protocol == CommitProtocol::Unordered {
            family.retain(|(name, _)| *name != "max_successive_merges");
        }
        let mut table = pick(rng, TABLE);
        let cache = *[8 << 20, 20_000, 0].choose(rng).expect("some");
        if cache == 0 {
            table.retain(|(name, _)| !name.contains("filter_blocks"));
        }
        let needs_prefix = memtable.contains("hash");
        let prefix = match rng.random_range(0..3) {
            0 if !needs_prefix => "",
            0 | 1 => "fixed:6",
            _ => "capped:7",
        };
        let (family, table) = (text(&family), text(&table));
        FamilyOptions {
            memtable,
            prefix,
            text: format!("{family};block_based_table_factory={{{table}}}"),
            cache,
        }
    }

    /// These options beside those of the `database`.
    fn options(&self, database: &str, order: Order) -> Result<Options, Error> {
        let mut base = Options::default();
        let mut table = whitewater::BlockBasedOptions::default();
        match self.cache {
            0 => table.disable_cache(),
            bytes => table.set_block_cache(&whitewater::Cache::new_lru_cache(bytes)),
        }
        base.set_block_based_table_factory(&table);
        let prefix = match order.keeps_prefixes() && !self.prefix.is_empty() {
            true => format!("prefix_extractor={}", self.prefix),
            false => String::new(),
        };
        let text = &self.text;
        let mut o = base.get_options_from_string(format!("{SMALL};{database};{text};{prefix}"))?;
        order.set(&mut o);
        o.set_memtable_factory(match self.memtable {
            "vector" => MemtableFactory::Vector,
            "prefix_hash" if order.keeps_prefixes() => MemtableFactory::HashSkipList {
                bucket_count: 100,
                height: 4,
                branching_factor: 4,
            },
            "hash_linkedlist" if order.keeps_prefixes() => {
                MemtableFactory::HashLinkList { bucket_count: 100 }
            }
            "art" if order.keeps_prefixes() => MemtableFactory::Art,
            _ => MemtableFactory::SkipList,
        });
        o.set_merge_operator_associative("stress.last", |_, existing, operands| {
            let last = operands.iter().last().or(existing);
            last.map(<[u8]>::to_vec)
        });
        Ok(o)
    }
}

impl fmt::Display for FamilyOptions {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let FamilyOptions {
            memtable,
            prefix,
            text,
            cache,
        } = self;
        write!(f, "{memtable}, prefix {prefix:?}, cache {cache}; {text}")
    }
}

impl fmt::Display for RandomOptions {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:?}; {}", self.protocol, self.database)?;
        self.families
            .iter()
            .try_for_each(|family| write!(f, "\n  {family}"))
    }
}

/// A shape by chance for `threads` threads.
pub fn shape(seed: u64, threads: u32) -> Shape {
    let mut rng = StdRng::seed_from_u64(seed ^ 0x5a5a);
    let order = |rng: &mut StdRng| match rng.random_bool(0.4) {
        true => Order::Bytewise,
        false => *Order::ALL.choose(rng).expect("there are some"),
    };
    Shape {
        families: rng.random_range(1..=PERMANENT_FAMILIES),
        transient: rng.random_range(0..=TRANSIENT_NAMES),
        orders: std::array::from_fn(|_| order(&mut rng)),
        keys: *[200, 1000, 4000].choose(&mut rng).expect("some"),
        threads,
        max_value: *[200, 2000, 40_000].choose(&mut rng).expect("some"),
    }
}

/// A value of each, those that are not the default.
fn pick(rng: &mut StdRng, choices: &[Choice]) -> Vec<(&'static str, &'static str)> {
    let options = choices.iter().map(|(name, values)| {
        let value = values.choose(rng).expect("each has some");
        (*name, *value, values[0])
    });
    let others = options.filter(|(_, value, default)| value != default);
    others.map(|(name, value, _)| (name, value)).collect()
}

fn text(options: &[(&str, &str)]) -> String {
    let parts: Vec<_> = options
        .iter()
        .map(|(name, value)| format!("{name}={value}"))
        .collect();
    parts.join(";")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::stress::store;
    use std::path::Path;
    use whitewater::fs::mem::MemFs;

    #[test]
    fn whatever_is_drawn_opens() {
        let mut seen = std::collections::BTreeSet::new();
        for seed in 0..300 {
            let (options, shape) = (RandomOptions::new(seed), shape(seed, 1));
            assert_eq!(options, RandomOptions::new(seed));
            let memtables = options.families.iter().map(|f| f.memtable);
            seen.extend(memtables.map(|m| (format!("{:?}", options.protocol), m)));
            store::open(Path::new("/db"), Arc::new(MemFs::new()), &options, shape)
                .unwrap_or_else(|e| panic!("{options}: {e}"));
        }
        assert_eq!(seen.len(), 20);
    }
}
