//! Properties: the database describes itself, with RocksDB's names and layouts.
//!
//! A property that takes more than the database mutex (opening tables, or dropping objects
//! of which it holds the last reference) is computed without the mutex.
//!
//! `tables` computes the properties of tables, `memory` what takes memory.

pub(crate) mod memory;
mod tables;

use super::Engine;
use super::internal_stats::cf_text;
use super::state::CfState;
use crate::column_family::ColumnFamilyData;
use crate::memtable::Memtable;
use crate::options::text::OptionText;
use crate::write::stall::Pressure;
use crate::write::stall::cause::counts_text;
use std::collections::BTreeMap;
use std::fmt::Write;
use std::sync::Arc;
use tables::Aggregate;

/// The size, in bytes, that a memtable without entries counts as: RocksDB's memtables have
/// a first block.
const EMPTY_MEMTABLE: u64 = 2048;

impl Engine {
    /// Returns a property by RocksDB's name; `None` for unknown names.
    pub fn property(&self, cf: &Arc<ColumnFamilyData>, name: &str) -> Option<String> {
        let Some(name) = name.strip_prefix("rocksdb.") else {
            match name {
                "whitewater.commit-protocol" => return Some(self.options.protocol().to_string()),
                "whitewater.background-error" => {
                    let stopped = Self::check_healthy(&self.lock_state());
                    return Some(stopped.map_or_else(|e| e.to_string(), |()| String::new()));
                }
                "whitewater.memtable" => return self.with_cf(cf, |c| c.mem.kind().print()),
                "whitewater.memory" => {
                    let line = |(part, bytes)| format!("{part}: {bytes}\n");
                    return Some(self.memory_map().into_iter().map(line).collect());
                }
                _ => {}
            }
            return self.property_int(cf, name).map(|v| v.to_string());
        };
        let (base, level) = split_level(name);
        if let Some(level) = level
            && level >= cf.pin().version.levels.len()
        {
            return None;
        }
        match (base, level) {
            ("num-files-at-level", Some(level)) => {
                Some(cf.pin().version.num_files(level).to_string())
            }
            ("compression-ratio-at-level", Some(level)) => {
                Some(format!("{:.6}", self.compression_ratio(cf, level)?))
            }
            ("aggregated-table-properties-at-level", Some(_))
            | ("aggregated-table-properties", None) => {
                Some(self.aggregated_properties(cf, level)?.text())
            }
            ("cf-write-stall-stats", None) => {
                self.with_cf(cf, |c| counts_text(&c.stall.counts.entries()))
            }
            ("db-write-stall-stats", None) => Some(counts_text(&self.commit.stall_counts())),
            ("levelstats", None) => self.with_cf(cf, level_stats),
            ("stats", None) => Some(self.cf_stats(cf)? + &self.db_stats()),
            // The `rocksdb` crate uses the name in capitals.
            ("cfstats" | "CFSTATS", None) => self.cf_stats(cf),
            ("cfstats-no-file-histogram", None) => self.with_cf(cf, cf_text::text),
            ("cf-file-histogram", None) => Some(self.file_histogram(cf)),
            ("dbstats", None) => Some(self.db_stats()),
            ("options-statistics", None) => {
                // Without statistics: empty, as in RocksDB.
                let text = self.options.statistics.as_ref().map(|s| s.to_string());
                Some(text.unwrap_or_default())
            }
            ("blob-stats", None) => self.with_cf(cf, blob_stats),
            ("sstables", None) => Some(tables::list(&cf.pin_owned())),
            _ => self
                .property_int(cf, &format!("rocksdb.{name}"))
                .map(|v| v.to_string()),
        }
    }

    /// Returns a numeric property; `None` for unknown or textual ones.
    pub fn property_int(&self, cf: &Arc<ColumnFamilyData>, name: &str) -> Option<u64> {
        if name == "whitewater.num-pending-events" {
            return Some(self.observers.events().map_or(0, |e| e.waiting() as u64));
        }
        let name = name.strip_prefix("rocksdb.")?;
        let of_cf = |f: &dyn Fn(&CfState) -> u64| self.with_cf(cf, f);
        let cache = || cf.options().table.block_cache.clone();
        let blob_cache = || cf.options().blob_cache.clone();
        match name {
            "num-immutable-mem-table" => of_cf(&|c| c.imm.len() as u64),
            // Flushed memtables are dropped at once.
            "num-immutable-mem-table-flushed" => of_cf(&|_| 0),
            "mem-table-flush-pending" => of_cf(&|c| u64::from(c.wants_flush())),
            "compaction-pending" => of_cf(&|c| u64::from(c.wants_compaction())),
            "cur-size-active-mem-table" => of_cf(&|c| usage(&c.mem)),
            "cur-size-all-mem-tables" => of_cf(&unflushed),
            "size-all-mem-tables" => Some(self.memtable_bytes(cf)?.0),
            "num-entries-active-mem-table" => of_cf(&|c| c.mem.num_entries()),
            "num-entries-imm-mem-tables" => of_cf(&|c| c.imm.iter().map(|m| m.num_entries()).sum()),
            "num-deletes-active-mem-table" => of_cf(&|c| c.mem.num_deletes()),
            "num-deletes-imm-mem-tables" => of_cf(&|c| c.imm.iter().map(|m| m.num_deletes()).sum()),
            "estimate-num-keys" => Some(self.estimate_num_keys(cf)),
            "estimate-table-readers-mem" => Some(self.table_readers_bytes(cf)),
            "total-sst-files-size" => self.total_table_bytes(cf),
            "live-sst-files-size" => of_cf(&|c| {
                let levels = 0..c.version.levels.len();
                levels.map(|l| c.version.level_bytes(l)).sum()
            }),
            "estimate-live-data-size" => Some(tables::live_data_size(
                &cf.pin_owned().version,
                &cf.comparator,
            )),
            "estimate-oldest-key-time" => self.oldest_key_time(cf),
            "num-blob-files" => of_cf(&|c| c.version.blobs.count() as u64),
            "total-blob-file-size" => self.total_blob_file_bytes(cf),
            "live-blob-file-size" => of_cf(&|c| c.version.blobs.bytes()),
            "live-blob-file-garbage-size" => of_cf(&|c| c.version.blobs.garbage_bytes()),
            "base-level" => of_cf(&|c| c.levels.base_level as u64),
            "estimate-pending-compaction-bytes" => of_cf(&|c| c.levels.pending_bytes),
            "current-super-version-number" => Some(cf.pin().number),
            "num-live-versions" => {
                let held = self.with_cf(cf, |c| c.held.versions())?;
                Some(held.len() as u64 + 1)
            }
            "block-cache-capacity" => Some(cache()?.capacity() as u64),
            "block-cache-usage" => Some(cache()?.usage() as u64),
            // Blocks that are being read stay in memory when they are evicted, so only
            // memory that is charged from elsewhere is pinned.
            "block-cache-pinned-usage" => Some(cache()?.pinned_usage() as u64),
            "blob-cache-capacity" => Some(blob_cache()?.capacity() as u64),
            "blob-cache-usage" => Some(blob_cache()?.usage() as u64),
            "blob-cache-pinned-usage" => Some(blob_cache()?.pinned_usage() as u64),
            "num-running-flushes" => Some(self.lock_state().running_flushes as u64),
            "num-running-compactions" => Some(self.lock_state().running_compactions as u64),
            "background-errors" => Some(self.lock_state().failure.count),
            "min-log-number-to-keep" => {
                let sections = self.commit.sections.oldest_log().unwrap_or(u64::MAX);
                Some(self.lock_state().oldest_wal().min(sections))
            }
            "min-obsolete-sst-number-to-keep" => Some(self.files.pending.min().unwrap_or(u64::MAX)),
            "is-file-deletions-enabled" => Some(u64::from(self.files.deletions.are_enabled())),
            "num-snapshots" => Some(self.snapshots.count() as u64),
            "oldest-snapshot-time" => Some(self.snapshots.oldest_time()),
            "oldest-snapshot-sequence" => {
                Some(self.snapshots.sequences().first().copied().unwrap_or(0))
            }
            "actual-delayed-write-rate" => Some(self.commit.gate.delayed_rate()),
            "is-write-stopped" => Some(u64::from(self.commit.gate.pressure() == Pressure::Stopped)),
            _ => None,
        }
    }

    /// Returns a property that is a map, by RocksDB's name; `None` for others.
    pub fn property_map(
        &self,
        cf: &Arc<ColumnFamilyData>,
        name: &str,
    ) -> Option<BTreeMap<String, String>> {
        if name == "whitewater.write-stall" {
            let entries = self.with_cf(cf, CfState::stall_entries)?;
            return Some(entries.into_iter().collect());
        }
        if name == "whitewater.memory" {
            return Some(self.memory_map());
        }
        let (base, level) = split_level(name.strip_prefix("rocksdb.")?);
        let numbers = |entries: Vec<(String, u64)>| {
            let text = |(k, n): (String, u64)| (k, n.to_string());
            entries.into_iter().map(text).collect::<Vec<_>>()
        };
        let entries = match (base, level) {
            ("cf-write-stall-stats", None) => {
                numbers(self.with_cf(cf, |c| c.stall.counts.entries())?)
            }
            ("db-write-stall-stats", None) => numbers(self.commit.stall_counts()),
            ("cfstats" | "CFSTATS", None) => self.with_cf(cf, cf_text::map)?,
            ("dbstats", None) => self.db_stats_map(),
            ("aggregated-table-properties-at-level", Some(_))
            | ("aggregated-table-properties", None) => {
                let aggregate: Aggregate = self.aggregated_properties(cf, level)?;
                numbers(aggregate.entries())
            }
            _ => return None,
        };
        Some(entries.into_iter().collect())
    }

    fn with_cf<T>(&self, cf: &Arc<ColumnFamilyData>, f: impl FnOnce(&CfState) -> T) -> Option<T> {
        self.lock_state().cfs.get(&cf.id).map(f)
    }

    /// The bytes of all memtables that are in memory, including flushed ones that are still
    /// held, and the bytes of those that are not flushed.
    pub(super) fn memtable_bytes(&self, cf: &Arc<ColumnFamilyData>) -> Option<(u64, u64)> {
        // Flushed memtables are dropped without the mutex.
        let (held, unflushed) = self.with_cf(cf, |c| (c.held.memtables(), unflushed(c)))?;
        let flushed: u64 = held.iter().map(|mem| usage(mem)).sum();
        Some((flushed + unflushed, unflushed))
    }

    /// The bytes of all memtables, of memtables that are not flushed, and of open tables. Prepared
    /// transactions count as memtables that no flush frees.
    pub(crate) fn memory_usage(&self) -> (u64, u64, u64) {
        let mut sums = (self.commit.sections.memory(), 0, 0);
        for cf in self.column_families() {
            // A column family that was dropped meanwhile counts as 0.
            let (total, unflushed) = self.memtable_bytes(&cf).unwrap_or_default();
            sums.0 += total;
            sums.1 += unflushed;
            sums.2 += self.table_readers_bytes(&cf);
        }
        sums
    }

    fn cf_stats(&self, cf: &Arc<ColumnFamilyData>) -> Option<String> {
        Some(self.with_cf(cf, cf_text::text)? + &self.file_histogram(cf))
    }

    /// How long reads of tables took, by level. Recorded only with statistics.
    pub(super) fn file_histogram(&self, cf: &Arc<ColumnFamilyData>) -> String {
        let latencies = cf.pin().version.open_with.latencies.text();
        let name = &cf.name;
        format!("\n** File Read Latency Histogram By Level [{name}] **\n{latencies}")
    }

    /// The number of entries less twice the number of deletions, as RocksDB estimates.
    fn estimate_num_keys(&self, cf: &Arc<ColumnFamilyData>) -> u64 {
        let view = cf.pin_owned();
        let (mut entries, mut deletes) = (0u64, 0u64);
        for file in view.version.levels.iter().flatten() {
            let with = &view.version.open_with;
            if let Ok(open) = self.files.tables.open(file, &cf.comparator, with) {
                entries += open.table.properties().num_entries;
                deletes += open.table.properties().num_deletions;
            }
        }
        // Not below 0, before the entries in memory are added.
        (entries, deletes) = (entries.saturating_sub(2 * deletes), 0);
        for mem in view.memtables() {
            entries += mem.num_entries();
            deletes += mem.num_deletes();
        }
        entries.saturating_sub(2 * deletes)
    }
}

/// Splits a name from the number at its end, if there is one.
fn split_level(name: &str) -> (&str, Option<usize>) {
    let base = name.trim_end_matches(|c: char| c.is_ascii_digit());
    (base, name[base.len()..].parse().ok())
}

/// The number of bytes that a memtable counts as.
fn usage(mem: &Memtable) -> u64 {
    EMPTY_MEMTABLE + mem.memory_usage() as u64
}

/// The bytes of the memtables that are not flushed.
fn unflushed(cf: &CfState) -> u64 {
    usage(&cf.mem) + cf.imm.iter().map(|m| usage(m)).sum::<u64>()
}

/// RocksDB's text about a column family's blob files.
fn blob_stats(cf: &CfState) -> String {
    let blobs = &cf.version.blobs;
    format!(
        "Number of blob files: {}\nTotal size of blob files: {}\n\
         Total size of garbage in blob files: {}\nBlob file space amplification: {}\n",
        blobs.count(),
        blobs.bytes(),
        blobs.garbage_bytes(),
        blobs.space_amplification()
    )
}

/// RocksDB's table of files and megabytes per level.
fn level_stats(cf: &CfState) -> String {
    let mut out = String::from("Level Files Size(MB)\n--------------------\n");
    for level in 0..cf.version.levels.len() {
        let mb = cf.version.level_bytes(level) as f64 / 1_048_576.0;
        let _ = writeln!(out, "{level:3} {:8} {mb:8.0}", cf.version.num_files(level));
    }
    out
}
