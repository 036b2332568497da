//! Flags whose values are words, or numbers of a list.

use std::path::{Path, PathBuf};

use super::super::engine::{Failure, Result};
use super::Flags;

impl Flags {
    /// The memtable of `memtablerep`; `None` leaves the choice to the engine.
    ///
    /// # Errors
    /// The representation is unknown, or it needs a prefix and has none.
    pub fn memtable_factory(&self) -> Result<Option<whitewater::MemtableFactory>> {
        use whitewater::MemtableFactory;
        let bucket_count = usize::try_from(self.hash_bucket_count).unwrap_or(0);
        let factory = match self.memtablerep.as_str() {
            "auto" => return Ok(None),
            "skip_list" => MemtableFactory::SkipList,
            "art" => MemtableFactory::Art,
            "vector" => MemtableFactory::Vector,
            // The numbers are RocksDB's defaults.
            "prefix_hash" => MemtableFactory::HashSkipList {
                bucket_count,
                height: 4,
                branching_factor: 4,
            },
            "hash_linkedlist" => MemtableFactory::HashLinkList { bucket_count },
            name => {
                return Err(Failure(format!(
                    "--memtablerep={name}: unknown; there are skip_list, art, vector, prefix_hash, hash_linkedlist and auto"
                )));
            }
        };
        let hashes = matches!(
            factory,
            MemtableFactory::HashSkipList { .. } | MemtableFactory::HashLinkList { .. }
        );
        if hashes && self.prefix_size == 0 {
            return Err(Failure(format!(
                "--memtablerep={} needs a --prefix_size other than 0",
                self.memtablerep
            )));
        }
        Ok(Some(factory))
    }

    /// The protocol of `commit_protocol`; `None` leaves the choice to the engine and to
    /// `enable_pipelined_write` and `unordered_write`.
    ///
    /// # Errors
    /// The protocol is unknown.
    pub fn protocol(&self) -> Result<Option<whitewater::CommitProtocol>> {
        let name = self.commit_protocol.as_str();
        let found = whitewater::CommitProtocol::from_name(name);
        if found.is_none() && !name.is_empty() {
            return Err(Failure(format!(
                "--commit_protocol={name}: unknown; there are ordered, grouped, pipelined and unordered"
            )));
        }
        Ok(found)
    }

    /// Whether writes may be visible before they are inserted.
    fn is_unordered(&self) -> bool {
        let protocol = whitewater::CommitProtocol::from_name(&self.commit_protocol);
        self.unordered_write || protocol == Some(whitewater::CommitProtocol::Unordered)
    }

    /// The write policy of a database with pessimistic transactions.
    ///
    /// # Errors
    /// The policy is unknown.
    pub fn write_policy(&self) -> Result<whitewater::WritePolicy> {
        use whitewater::WritePolicy;
        Ok(match self.txn_write_policy.as_str() {
            "" if self.transaction_db && self.is_unordered() => WritePolicy::WritePrepared,
            "" | "0" | "write_committed" => WritePolicy::WriteCommitted,
            "1" | "write_prepared" => WritePolicy::WritePrepared,
            "2" | "write_unprepared" => WritePolicy::WriteUnprepared,
            name => {
                return Err(Failure(format!(
                    "--txn_write_policy={name}: unknown; there are 0 or write_committed, 1 or write_prepared, and 2 or write_unprepared"
                )));
            }
        })
    }

    /// Whether pessimistic transactions lock nothing.
    pub fn skips_locks(&self) -> bool {
        let as_rocksdb = self.transaction_db && self.is_unordered();
        self.skip_concurrency_control.unwrap_or(as_rocksdb)
    }

    /// How keys get their prefix; `None` if the prefix is the beginning of the key's
    /// number.
    pub fn key_prefix(&self) -> Option<super::super::keygen::Prefix> {
        let per_prefix = u64::try_from(self.keys_per_prefix).unwrap_or(0);
        (per_prefix > 0).then(|| super::super::keygen::Prefix {
            size: usize::try_from(self.prefix_size).unwrap_or(0),
            count: (self.num.unsigned_abs() / per_prefix).max(1),
        })
    }

    /// The directory of the backups of the database in `directory`.
    pub fn backups_of(&self, directory: &Path) -> PathBuf {
        match self.backup_dir.as_str() {
            "" => directory.join("backup"),
            named => PathBuf::from(named),
        }
    }

    /// The directory that backups of the database in `directory` are restored to.
    pub fn restored_from(&self, directory: &Path) -> PathBuf {
        match self.restore_dir.as_str() {
            "" => directory.join("restore"),
            named => PathBuf::from(named),
        }
    }

    /// The compression of `compression_type`.
    ///
    /// # Errors
    /// The compression is unknown, or only RocksDB has it.
    pub fn compression(&self) -> Result<Compression> {
        compression_of("compression_type", &self.compression_type)
    }

    /// The compression of `blob_compression_type`.
    ///
    /// # Errors
    /// The compression is unknown, or only RocksDB has it.
    pub fn blob_compression(&self) -> Result<Compression> {
        compression_of("blob_compression_type", &self.blob_compression_type)
    }

    /// The compression of `wal_compression`.
    ///
    /// # Errors
    /// The compression is unknown, or logs do not support it.
    pub fn wal_compression(&self) -> Result<Compression> {
        match self.wal_compression.to_ascii_lowercase().as_str() {
            "none" => Ok(Compression::None),
            "zstd" => Ok(Compression::Zstd),
            name => Err(Failure(format!(
                "--wal_compression={name}: logs have none and zstd"
            ))),
        }
    }

    /// The operator of `merge_operator`; `None` if that is empty.
    ///
    /// # Errors
    /// The merge operator is unknown, or only RocksDB has it.
    pub fn merge(&self) -> Result<Option<MergeOperator>> {
        match self.merge_operator.as_str() {
            "" => Ok(None),
            "put" => Ok(Some(MergeOperator::Put)),
            "uint64add" => Ok(Some(MergeOperator::UInt64Add)),
            "stringappend" => Ok(Some(MergeOperator::StringAppend)),
            "max" => Ok(Some(MergeOperator::Max)),
            "bytesxor" => Ok(Some(MergeOperator::BytesXor)),
            name @ ("put_v1" | "stringappendtest" | "sortlist") => Err(Failure(format!(
                "--merge_operator={name}: RocksDB knows it, this build does not honour it yet; it has {MERGE_OPERATORS}"
            ))),
            name => Err(Failure(format!(
                "--merge_operator={name}: unknown; this build has {MERGE_OPERATORS}"
            ))),
        }
    }

    /// The cache of `cache_type`.
    ///
    /// # Errors
    /// The cache is unknown, or this build lacks it.
    pub fn cache_kind(&self) -> Result<CacheKind> {
        match self.cache_type.as_str() {
            "lru_cache" => Ok(CacheKind::Lru),
            "hyper_clock_cache" => Ok(CacheKind::HyperClock),
            name => Err(Failure(format!(
                "--cache_type={name}: unknown; there are lru_cache and hyper_clock_cache"
            ))),
        }
    }

    /// The multipliers of `max_bytes_for_level_multiplier_additional`.
    ///
    /// # Errors
    /// The value is not a list of numbers, or does not have one for each level.
    pub fn level_multipliers(&self) -> Result<Vec<i32>> {
        const NAME: &str = "max_bytes_for_level_multiplier_additional";
        let text = &self.max_bytes_for_level_multiplier_additional;
        let numbers = numbers(NAME, text)?;
        if !numbers.is_empty() && i32::try_from(numbers.len()) != Ok(self.num_levels) {
            return Err(Failure(format!(
                "--{NAME}={text} has {} numbers for --num_levels={}",
                numbers.len(),
                self.num_levels
            )));
        }
        Ok(numbers)
    }

    /// The number of column families that are in use at a time.
    pub fn hot_families(&self) -> usize {
        let all = self.num_column_families;
        let hot = match self.num_hot_column_families {
            hot if (1..all).contains(&hot) => hot,
            _ => all,
        };
        usize::try_from(hot).unwrap_or(1)
    }

    /// The shares of `column_family_distribution`; empty if all families have the same.
    ///
    /// # Errors
    /// The value is not a list of percentages of column families.
    pub fn family_shares(&self) -> Result<Vec<i32>> {
        const NAME: &str = "column_family_distribution";
        let text = &self.column_family_distribution;
        let shares = numbers(NAME, text)?;
        let wrong = |what: String| Err(Failure(format!("--{NAME}={text}: {what}")));
        if shares.is_empty() || self.num_column_families <= 1 {
            return Ok(Vec::new());
        }
        if shares.len() != self.hot_families() {
            return wrong(format!(
                "{} percentages for {} column families",
                shares.len(),
                self.hot_families()
            ));
        }
        if shares.iter().any(|share| *share < 0) {
            return wrong("percentages are not negative".into());
        }
        match shares.iter().map(|share| i64::from(*share)).sum::<i64>() {
            100 => Ok(shares),
            sum => wrong(format!("the sum is {sum}, not 100")),
        }
    }
}

/// The compression that the flag `flag` names.
fn compression_of(flag: &str, name: &str) -> Result<Compression> {
    match name.to_ascii_lowercase().as_str() {
        "none" => Ok(Compression::None),
        "snappy" => Ok(Compression::Snappy),
        "lz4" => Ok(Compression::Lz4),
        "zstd" => Ok(Compression::Zstd),
        "zlib" => Ok(Compression::Zlib),
        "bzip2" => Ok(Compression::Bzip2),
        "lz4hc" => Ok(Compression::Lz4hc),
        name => Err(Failure(format!(
            "--{flag}={name}: unknown; this build has none, snappy, zlib, bzip2, lz4, lz4hc and zstd"
        ))),
    }
}

/// Numbers separated by commas.
fn numbers(name: &str, text: &str) -> Result<Vec<i32>> {
    let parts = text.split(',').map(str::trim);
    parts
        .filter(|part| !part.is_empty())
        .map(|part| {
            part.parse()
                .map_err(|_| Failure(format!("--{name}={text}: '{part}' is no number")))
        })
        .collect()
}

/// The kinds of block caches.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CacheKind {
    /// Evicts the least recently used blocks.
    Lru,
    /// A lock-free cache with the clock algorithm.
    HyperClock,
}

/// The compression of table blocks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Compression {
    /// Blocks are not compressed.
    None,
    /// Snappy.
    Snappy,
    /// zlib, at its default level.
    Zlib,
    /// bzip2.
    Bzip2,
    /// LZ4.
    Lz4,
    /// LZ4's slower, denser variant, at its default level.
    Lz4hc,
    /// Zstandard, at its default level.
    Zstd,
}

impl Compression {
    /// The name that RocksDB's db_bench prints in its header.
    pub fn title(self) -> &'static str {
        match self {
            Self::None => "NoCompression",
            Self::Snappy => "Snappy",
            Self::Zlib => "Zlib",
            Self::Bzip2 => "BZip2",
            Self::Lz4 => "LZ4",
            Self::Lz4hc => "LZ4HC",
            Self::Zstd => "ZSTD",
        }
    }
}

/// Merge operators, under the names that RocksDB gives them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum MergeOperator {
    /// The last operand replaces the value.
    Put,
    /// The sum of little-endian 64-bit integers; anything else counts as 0.
    UInt64Add,
    /// Operands joined by commas.
    StringAppend,
    /// The greatest operand.
    Max,
    /// The bitwise exclusive or.
    BytesXor,
}

const MERGE_OPERATORS: &str = "put, uint64add, stringappend, max and bytesxor";
