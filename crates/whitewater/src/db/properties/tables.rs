//! Properties of a column family's tables.

use crate::column_family::{ColumnFamilyData, SuperVersion};
use crate::db::Engine;
use crate::options::compaction::CompactionStyle;
use crate::version::{TableFile, Version};
use std::collections::BTreeMap;
use std::fmt::Write;
use std::sync::Arc;
use whitewater_storage::coding::get_varint64;
use whitewater_storage::key::{self, InternalComparator};
use whitewater_storage::sst::TableProperties;

/// The sums of properties of several tables. Properties that cannot be summed have no
/// value.
#[derive(Debug, Default)]
pub(super) struct Aggregate {
    data_blocks: u64,
    entries: u64,
    deletions: u64,
    merge_operands: u64,
    range_deletions: u64,
    raw_key_size: u64,
    raw_value_size: u64,
    data_size: u64,
    index_size: u64,
    user_key_indexes: u64,
    delta_indexes: u64,
    index_partitions: u64,
    top_level_index_size: u64,
    filter_size: u64,
    filter_entries: u64,
}

impl Aggregate {
    fn add(&mut self, p: &TableProperties) {
        let number = |name: &str| {
            let value = p.raw.get(name);
            value
                .and_then(|v| get_varint64(&mut v.as_slice()))
                .unwrap_or(0)
        };
        self.data_blocks += p.num_data_blocks;
        self.entries += p.num_entries;
        self.deletions += p.num_deletions;
        self.merge_operands += p.num_merge_operands;
        self.range_deletions += p.num_range_deletions;
        self.raw_key_size += p.raw_key_size;
        self.raw_value_size += p.raw_value_size;
        self.data_size += p.data_size;
        self.index_size += p.index_size;
        self.user_key_indexes += number("rocksdb.index.key.is.user.key");
        self.delta_indexes += number("rocksdb.index.value.is.delta.encoded");
        self.index_partitions += number("rocksdb.index.partitions");
        self.top_level_index_size += number("rocksdb.top-level.index.size");
        self.filter_size += p.filter_size;
        self.filter_entries += number("rocksdb.num.filter_entries");
    }

    /// RocksDB's text: a sequence of `name=value`.
    pub fn text(&self) -> String {
        let average = |sum: u64| match self.entries {
            0 => 0.0,
            n => sum as f64 / n as f64,
        };
        let mut out = String::new();
        let mut put = |name: &str, value: &dyn std::fmt::Display| {
            // Writing to a string cannot fail.
            let _ = write!(out, "{name}={value}; ");
        };
        put("# data blocks", &self.data_blocks);
        put("# entries", &self.entries);
        put("# deletions", &self.deletions);
        put("# merge operands", &self.merge_operands);
        put("# range deletions", &self.range_deletions);
        put("raw key size", &self.raw_key_size);
        let of_keys = format!("{:.6}", average(self.raw_key_size));
        put("raw average key size", &of_keys);
        put("raw value size", &self.raw_value_size);
        let of_values = format!("{:.6}", average(self.raw_value_size));
        put("raw average value size", &of_values);
        put("data block size", &self.data_size);
        let index = format!(
            "index block size (user-key? {}, delta-value? {})",
            self.user_key_indexes, self.delta_indexes
        );
        put(&index, &self.index_size);
        if self.index_partitions > 0 {
            put("# index partitions", &self.index_partitions);
            put("top-level index size", &self.top_level_index_size);
        }
        put("filter block size", &self.filter_size);
        put("# entries for filter", &self.filter_entries);
        let tables = self.data_size + self.index_size + self.filter_size;
        put("(estimated) table size", &tables);
        for name in [
            "filter policy name",
            "prefix extractor name",
            "column family ID",
            "column family name",
            "comparator name",
            "merge operator name",
            "property collectors names",
            "SST file compression algo",
            "SST file compression options",
        ] {
            put(name, &"N/A");
        }
        for name in [
            "creation time",
            "time stamp of earliest key",
            "file creation time",
        ] {
            put(name, &0);
        }
        out
    }

    /// RocksDB's map of the properties that can be summed.
    pub fn entries(&self) -> Vec<(String, u64)> {
        [
            ("data_size", self.data_size),
            ("index_size", self.index_size),
            ("index_partitions", self.index_partitions),
            ("top_level_index_size", self.top_level_index_size),
            ("filter_size", self.filter_size),
            ("raw_key_size", self.raw_key_size),
            ("raw_value_size", self.raw_value_size),
            ("num_data_blocks", self.data_blocks),
            ("num_entries", self.entries),
            ("num_deletions", self.deletions),
            ("num_merge_operands", self.merge_operands),
            ("num_range_deletions", self.range_deletions),
            ("num_filter_entries", self.filter_entries),
        ]
        .map(|(name, n)| (name.to_owned(), n))
        .into()
    }
}

impl Engine {
    /// The summed properties of all tables of `cf`, or of the tables of one level; `None`
    /// when a table cannot be read.
    pub(super) fn aggregated_properties(
        &self,
        cf: &Arc<ColumnFamilyData>,
        level: Option<usize>,
    ) -> Option<Aggregate> {
        let view = cf.pin_owned();
        let mut aggregate = Aggregate::default();
        for (at, files) in view.version.levels.iter().enumerate() {
            if level.is_none_or(|level| level == at) {
                self.each_table(cf, &view.version, files, |_, p| aggregate.add(p))?;
            }
        }
        Some(aggregate)
    }

    /// The ratio of bytes before compression to bytes of files, of `level`; -1 if it has no
    /// files.
    pub(super) fn compression_ratio(
        &self,
        cf: &Arc<ColumnFamilyData>,
        level: usize,
    ) -> Option<f64> {
        let view = cf.pin_owned();
        let (mut raw, mut stored) = (0, 0);
        let files = &view.version.levels[level];
        self.each_table(cf, &view.version, files, |file, p| {
            let bytes = p.raw_key_size + p.raw_value_size;
            if bytes > 0 {
                raw += bytes;
                stored += file.meta.size;
            }
        })?;
        Some(match stored {
            0 => -1.0,
            stored => raw as f64 / stored as f64,
        })
    }

    fn each_table(
        &self,
        cf: &ColumnFamilyData,
        version: &Version,
        files: &[Arc<TableFile>],
        mut see: impl FnMut(&TableFile, &TableProperties),
    ) -> Option<()> {
        for file in files {
            let open = self
                .files
                .tables
                .open(file, &cf.comparator, &version.open_with);
            see(file, open.ok()?.table.properties());
        }
        Some(())
    }

    /// The bytes of memory that open tables of `cf` take outside the block cache.
    pub(in crate::db) fn table_readers_bytes(&self, cf: &ColumnFamilyData) -> u64 {
        let view = cf.pin_owned();
        let files = view.version.levels.iter().flatten();
        files
            .map(|f| self.files.tables.memory_usage(f) as u64)
            .sum()
    }

    /// The bytes of the tables of all versions that still exist.
    /// The bytes of the blob files of all versions that are in use. Each file counts once.
    pub(super) fn total_blob_file_bytes(&self, cf: &Arc<ColumnFamilyData>) -> Option<u64> {
        let mut versions = self.with_cf(cf, |c| c.held.versions())?;
        versions.push(cf.pin_owned().version.clone());
        let files = versions.iter().flat_map(|v| v.blobs.iter());
        let sizes = files.map(|b| (b.file.meta.number, b.file.size()));
        let sizes: BTreeMap<u64, u64> = sizes.collect();
        Some(sizes.values().sum())
    }
    pub(super) fn total_table_bytes(&self, cf: &Arc<ColumnFamilyData>) -> Option<u64> {
        let mut versions = self.with_cf(cf, |c| c.held.versions())?;
        versions.push(cf.pin_owned().version.clone());
        let files = versions.iter().flat_map(|v| v.levels.iter().flatten());
        let sizes: BTreeMap<u64, u64> = files.map(|f| (f.meta.number, f.meta.size)).collect();
        Some(sizes.values().sum())
    }

    /// The approximate time of the oldest key, in Unix seconds: the time that the oldest
    /// table has, or when it was flushed. As in RocksDB, it is known with FIFO compaction
    /// that does not merge, and while there are tables.
    pub(super) fn oldest_key_time(&self, cf: &Arc<ColumnFamilyData>) -> Option<u64> {
        let view = cf.pin_owned();
        let options = &view.options;
        if options.compaction_style != CompactionStyle::Fifo
            || options.compaction_options_fifo.allow_compaction
        {
            return None;
        }
        let mut oldest = u64::MAX;
        for files in &view.version.levels {
            self.each_table(cf, &view.version, files, |file, p| {
                let told = p.raw.get("rocksdb.oldest.key.time");
                let told = told.and_then(|v| get_varint64(&mut v.as_slice()));
                let time = told.filter(|t| *t > 0);
                oldest = oldest.min(time.unwrap_or(file.meta.oldest_ancester_time));
            })?;
        }
        (oldest > 0 && oldest < u64::MAX).then_some(oldest)
    }
}

/// The bytes of a set of tables that do not overlap, collected from the deepest level up:
/// RocksDB's estimate of the data that is not overwritten.
pub(super) fn live_data_size(version: &Version, comparator: &InternalComparator) -> u64 {
    // Sorted by largest key. Only the comparator knows the order of keys, so this is a
    // sorted list, not a map.
    let mut taken: Vec<&TableFile> = Vec::new();
    let mut bytes = 0;
    for file in version.levels.iter().rev().flatten() {
        let before = |t: &&TableFile| comparator.compare(&t.meta.largest, &file.meta.smallest);
        let at = taken.partition_point(|t| before(t).is_lt());
        let free = taken.get(at).is_none_or(|next| {
            let end = comparator.compare(&file.meta.largest, &next.meta.smallest);
            end.is_lt()
        });
        if free {
            taken.insert(at, file);
            bytes += file.meta.size;
        }
    }
    bytes + version.blobs.live_bytes()
}

/// `rocksdb.sstables`: the files of every level, in RocksDB's layout.
pub(super) fn list(view: &SuperVersion) -> String {
    let mut out = String::new();
    for (level, files) in view.version.levels.iter().enumerate() {
        // Writing to a string cannot fail, here and below.
        let _ = writeln!(out, "--- level {level} --- version# {} ---", view.number);
        for TableFile { meta, .. } in files.iter().map(|f| &**f) {
            let _ = writeln!(
                out,
                " {}:{}[{} .. {}][{} .. {}](0)",
                meta.number,
                meta.size,
                meta.smallest_seqno,
                meta.largest_seqno,
                boundary(&meta.smallest),
                boundary(&meta.largest),
            );
        }
    }
    out
}

/// An internal key: `'6B6579' seq:3, type:1`.
fn boundary(ikey: &[u8]) -> String {
    let mut hex = String::new();
    for byte in key::user_key(ikey) {
        let _ = write!(hex, "{byte:02X}");
    }
    let (seq, ty) = (key::sequence(ikey), key::tag(ikey) as u8);
    format!("'{hex}' seq:{seq}, type:{ty}")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::version::testing::parse_version;

    #[test]
    fn live_data_are_tables_that_nothing_below_overlaps() {
        for (tables, bytes) in [
            ("", 0),
            ("L1: 1:a-c@5 2:d-f@7", 12),
            ("L0: 9:a-z@100\nL1: 1:a-c@5 2:d-f@7", 12),
            ("L0: 9:g-z@100\nL1: 1:a-c@5\nL2: 3:b-d@30 4:e-f@1", 131),
            ("L0: 9:a-c@3 8:b-d@4", 3),
        ] {
            let version = parse_version(tables);
            let found = live_data_size(&version, &InternalComparator::default());
            assert_eq!(found, bytes, "{tables}");
        }
    }
}
