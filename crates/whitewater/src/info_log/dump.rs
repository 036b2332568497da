//! The options in the info log, as RocksDB writes them and as readers of its LOG expect them:
//! `Options.name: value`, with 0 and 1 for `false` and `true`, numbers for most enums, and a
//! line for each part of an option that has parts. Table options have lines of their own, with
//! only their names.

use super::InfoLog;
use crate::options::sanitize::hints_without_effect;
use crate::options::table::OptionTable;
use crate::options::text::{OptionText, split_assignments};
use crate::options::{CfOptions, DbOptions};
use std::collections::BTreeMap;
use std::sync::Arc;
use whitewater_storage::sst::CompressionType;

/// The number of column families whose options are written, as in RocksDB. The options file has
/// those of the others.
const MOST_FAMILIES: usize = 10;

/// The options that RocksDB writes with six decimal places.
const FRACTIONS: [&str; 6] = [
    "max_bytes_for_level_multiplier",
    "memtable_prefix_bloom_size_ratio",
    "blob_garbage_collection_age_cutoff",
    "blob_garbage_collection_force_threshold",
    "experimental_mempurge_threshold",
    "data_block_hash_table_util_ratio",
];

/// The enums that RocksDB writes as numbers: the options, with their values in RocksDB's order.
const NUMBERED: [(&str, &[&str]); 6] = [
    (
        "wal_recovery_mode",
        &[
            "kTolerateCorruptedTailRecords",
            "kAbsoluteConsistency",
            "kPointInTimeRecovery",
            "kSkipAnyCorruptedRecords",
        ],
    ),
    (
        "index_type",
        &[
            "kBinarySearch",
            "kHashSearch",
            "kTwoLevelIndexSearch",
            "kBinarySearchWithFirstKey",
        ],
    ),
    (
        "data_block_index_type",
        &["kDataBlockBinarySearch", "kDataBlockBinaryAndHash"],
    ),
    (
        "checksum",
        &["kNoChecksum", "kCRC32c", "kxxHash", "kxxHash64", "kXXH3"],
    ),
    (
        "prepopulate_block_cache",
        &["kDisable", "kFlushOnly", "kFlushAndCompaction"],
    ),
    ("prepopulate_blob_cache", &["kDisable", "kFlushOnly"]),
];

/// Writes the version, the options, and what is built in. If an option leaves a choice to the
/// database, the actual choice is written.
pub(crate) fn opening(
    log: &InfoLog,
    options: &DbOptions,
    families: &BTreeMap<String, Arc<CfOptions>>,
) {
    log.header(&format!(
        "Whitewater version: {}",
        env!("CARGO_PKG_VERSION")
    ));
    let in_force = options.in_force();
    for (name, value) in in_force.to_text() {
        write_all(log, as_in_rocksdb(name, &value));
    }
    let objects = options.to_string();
    let objects = objects.lines().filter_map(|l| l.split_once('='));
    let rows = options.to_text().len();
    for (name, value) in objects.skip(rows) {
        write(log, name, value);
    }
    built_in(log);
    remarks(log, "", &options.corrections, options);
    for (before, (name, options)) in families.iter().enumerate() {
        family(log, name, options, before);
    }
}

/// Writes the options of the column family `name`, which is one of many. `before` is the number
/// of families before it.
pub(crate) fn family(log: &InfoLog, name: &str, options: &CfOptions, before: usize) {
    if before >= MOST_FAMILIES {
        log.header(&format!(
            "--------------- Options for column family [{name}]: \
             (skipping printing options, as there are {before} others)"
        ));
    } else {
        log.header(&format!(
            "--------------- Options for column family [{name}]:"
        ));
        write_family(log, options);
    }
    remarks(log, &format!("[{name}] "), &options.corrections, options);
}

fn write_family(log: &InfoLog, options: &CfOptions) {
    let none = || "None".to_owned();
    let merge = options.merge_operator.as_ref();
    let filter = options.compaction_filter.as_ref();
    let factory = options.compaction_filter_factory.as_ref();
    write(log, "comparator", options.comparator.name());
    write(log, "merge_operator", merge.map_or("None", |m| m.name()));
    write(
        log,
        "compaction_filter",
        &filter.map_or_else(none, |f| f.name()),
    );
    let factory = factory.map_or_else(none, |f| f.name());
    write(log, "compaction_filter_factory", &factory);
    write(log, "table_factory", "BlockBasedTable");
    log.header(&format!(
        "           table_factory options: {}",
        tables(options)
    ));
    for (name, value) in options.in_force().to_text() {
        write_all(log, as_in_rocksdb(name, &value));
    }
    write(log, "table_properties_collectors", &collectors(options));
}

/// The table options, a line for each. They are one message, as in RocksDB: readers look for
/// some of these lines behind others, with no timestamp in between.
fn tables(options: &CfOptions) -> String {
    let texts = options.table.to_text().into_iter();
    let mut lines: Vec<String> = texts
        .flat_map(|(name, value)| as_in_rocksdb(name, &value))
        .map(|(name, value)| format!("  {name}: {value}"))
        .collect();
    let cache = options.table.block_cache.as_ref();
    lines.push(format!("  no_block_cache: {}", i32::from(cache.is_none())));
    if let Some(cache) = cache {
        let cache = cache.options();
        lines.push("  block_cache_options:".to_owned());
        for (name, value) in [
            ("capacity", cache.capacity.to_string()),
            ("num_shard_bits", cache.num_shard_bits.to_string()),
            (
                "strict_capacity_limit",
                i32::from(cache.strict_capacity_limit).to_string(),
            ),
        ] {
            lines.push(format!("    {name} : {value}"));
        }
        let ratio = cache.high_pri_pool_ratio;
        lines.push(format!("    high_pri_pool_ratio: {ratio:.3}"));
    }
    lines.join("\n")
}

/// The rules by which tables are marked for compaction, in RocksDB's words.
fn collectors(options: &CfOptions) -> String {
    let each = options.deletion_triggers.iter().map(|t| {
        format!(
            "CompactOnDeletionCollector (Sliding window size = {} Deletion trigger = {} \
             Deletion ratio = {});",
            t.window_size, t.num_dels_trigger, t.deletion_ratio
        )
    });
    each.collect()
}

/// Writes what is built in.
fn built_in(log: &InfoLog) {
    log.header("Compression algorithms supported:");
    for codec in [
        CompressionType::Snappy,
        CompressionType::Zlib,
        CompressionType::Bz2,
        CompressionType::Lz4,
        CompressionType::Lz4hc,
        CompressionType::Zstd,
    ] {
        let there = i32::from(codec.missing_feature().is_none());
        log.header(&format!("\t{} supported: {there}", codec.print()));
    }
    let jemalloc = i32::from(cfg!(feature = "jemalloc"));
    log.header(&format!("Jemalloc supported: {jemalloc}"));
}

/// Writes which options are not in force as they were given.
fn remarks(log: &InfoLog, family: &str, corrections: &[String], options: &impl OptionTable) {
    for correction in corrections {
        log.warn(&format!("{family}{correction}"));
    }
    for hint in hints_without_effect(options) {
        log.write(&format!("{family}{hint}"));
    }
}

fn write(log: &InfoLog, name: &str, value: &str) {
    log.header(&format!("{:>40}: {value}", format!("Options.{name}")));
}

fn write_all(log: &InfoLog, lines: Vec<(String, String)>) {
    for (name, value) in lines {
        write(log, &name, &value);
    }
}

/// The lines that RocksDB writes for the option `name`, as names and values.
fn as_in_rocksdb(name: &str, value: &str) -> Vec<(String, String)> {
    let one = |value: String| vec![(rocksdb_name(name).to_owned(), value)];
    let list = |name: &str, show: fn(&str) -> String| {
        let parts = value.split(':').filter(|part| !part.is_empty()).enumerate();
        let named = parts.map(|(i, part)| (format!("{name}[{i}]"), show(part)));
        named.collect()
    };
    match name {
        "compression_opts" | "bottommost_compression_opts" | "blob_compression_opts" => {
            parts(name, value, str::to_owned)
        }
        "compaction_options_universal" | "compaction_options_fifo" => parts(name, value, digit),
        "compression_per_level" => list("compression", codec),
        "max_bytes_for_level_multiplier_additional" => {
            list("max_bytes_for_level_multiplier_addtl", str::to_owned)
        }
        "compression" | "bottommost_compression" => one(codec(value)),
        "wal_compression" => {
            let number = CompressionType::parse(value).map(|ty| ty as u8);
            one(number.map_or_else(|| value.to_owned(), |n| n.to_string()))
        }
        name if FRACTIONS.contains(&name) => {
            let number = value.parse::<f64>();
            one(number.map_or_else(|_| value.to_owned(), |n| format!("{n:.6}")))
        }
        name => {
            let numbered = NUMBERED.iter().find(|(known, _)| *known == name);
            let number = numbered.and_then(|(_, all)| all.iter().position(|v| *v == value));
            one(number.map_or_else(|| digit(value), |n| n.to_string()))
        }
    }
}

/// The parts of an option, one line each.
fn parts(name: &str, value: &str, show: fn(&str) -> String) -> Vec<(String, String)> {
    let inner = value.trim_start_matches('{').trim_end_matches('}');
    let parts = split_assignments(inner).unwrap_or_default().into_iter();
    parts
        .map(|(part, value)| (format!("{name}.{part}"), show(value)))
        .collect()
}

/// `true` and `false` as RocksDB writes most of them.
fn digit(value: &str) -> String {
    match value {
        "true" => "1".to_owned(),
        "false" => "0".to_owned(),
        value => value.to_owned(),
    }
}

/// The name that RocksDB gives a codec in LOG.
fn codec(value: &str) -> String {
    let short = match value {
        "kDisableCompressionOption" => "Disabled",
        "kNoCompression" => "NoCompression",
        value => value
            .trim_start_matches('k')
            .trim_end_matches("Compression"),
    };
    short.to_owned()
}

fn rocksdb_name(name: &str) -> &str {
    match name {
        "wal_ttl_seconds" => "WAL_ttl_seconds",
        "wal_size_limit_mb" => "WAL_size_limit_MB",
        name => name,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_are_written_as_rocksdb_writes_them() {
        for (name, value, lines) in [
            ("atomic_flush", "true", "atomic_flush: 1"),
            ("wal_ttl_seconds", "7", "WAL_ttl_seconds: 7"),
            (
                "wal_recovery_mode",
                "kPointInTimeRecovery",
                "wal_recovery_mode: 2",
            ),
            ("wal_compression", "kZSTD", "wal_compression: 7"),
            ("compression", "kLZ4HCCompression", "compression: LZ4HC"),
            (
                "compression",
                "kNoCompression",
                "compression: NoCompression",
            ),
            (
                "bottommost_compression",
                "kDisableCompressionOption",
                "bottommost_compression: Disabled",
            ),
            (
                "compression_per_level",
                "kNoCompression:kZSTD",
                "compression[0]: NoCompression|compression[1]: ZSTD",
            ),
            ("compression_per_level", "", ""),
            (
                "experimental_mempurge_threshold",
                "1",
                "experimental_mempurge_threshold: 1.000000",
            ),
            (
                "compaction_options_fifo",
                "{max_table_files_size=5;allow_compaction=false}",
                "compaction_options_fifo.max_table_files_size: 5|\
                 compaction_options_fifo.allow_compaction: 0",
            ),
            (
                "compression_opts",
                "{enabled=true;level=3}",
                "compression_opts.enabled: true|compression_opts.level: 3",
            ),
            ("index_type", "kTwoLevelIndexSearch", "index_type: 2"),
        ] {
            let written = as_in_rocksdb(name, value).into_iter();
            let written: Vec<_> = written.map(|(n, v)| format!("{n}: {v}")).collect();
            assert_eq!(written.join("|"), lines, "{name}={value}");
        }
    }
}
