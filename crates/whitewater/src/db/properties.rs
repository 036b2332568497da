//! Properties: the database describes itself, in RocksDB's names.

use super::Engine;
use super::cf::ColumnFamilyData;
use super::state::CfState;
use crate::write::stall::Pressure;
use crate::write::stall::cause::counts_text;
use std::fmt::Write;
use std::sync::Arc;

impl Engine {
    /// A property by RocksDB's name; `None` for unknown names.
    pub fn property(&self, cf: &Arc<ColumnFamilyData>, name: &str) -> Option<String> {
        let name = name.strip_prefix("rocksdb.")?;
        if let Some(level) = name.strip_prefix("num-files-at-level") {
            let level: usize = level.parse().ok()?;
            let view = cf.pin();
            return (level < view.version.levels.len())
                .then(|| view.version.num_files(level).to_string());
        }
        match name {
            "cf-write-stall-stats" => self.with_cf(cf, |c| counts_text(&c.stall.counts.entries())),
            "db-write-stall-stats" => Some(counts_text(&self.stall_counts())),
            "levelstats" => self.with_cf(cf, level_stats),
            "stats" | "cfstats" | "CFSTATS" | "cfstats-no-file-histogram" => {
                let mut text = self.with_cf(cf, cf_stats)?;
                if name == "stats" {
                    text.push_str(&self.db_stats());
                }
                Some(text)
            }
            "options-statistics" => self.options.statistics.as_ref().map(|s| s.to_string()),
            "dbstats" => Some(self.db_stats()),
            "sstables" => self.with_cf(cf, table_list),
            _ => self
                .property_int(cf, &format!("rocksdb.{name}"))
                .map(|v| v.to_string()),
        }
    }

    /// A numeric property; `None` for unknown or textual ones.
    pub fn property_int(&self, cf: &Arc<ColumnFamilyData>, name: &str) -> Option<u64> {
        let name = name.strip_prefix("rocksdb.")?;
        let of_cf = |f: &dyn Fn(&CfState) -> u64| self.with_cf(cf, f);
        let usage = |m: &crate::memtable::Memtable| m.memory_usage() as u64;
        match name {
            "num-immutable-mem-table" => of_cf(&|c| c.imm.len() as u64),
            "mem-table-flush-pending" => of_cf(&|c| u64::from(c.wants_flush())),
            "compaction-pending" => of_cf(&|c| u64::from(c.wants_compaction())),
            "cur-size-active-mem-table" => of_cf(&|c| usage(&c.mem)),
            "cur-size-all-mem-tables" | "size-all-mem-tables" => {
                of_cf(&|c| usage(&c.mem) + c.imm.iter().map(|m| usage(m)).sum::<u64>())
            }
            "num-entries-active-mem-table" => of_cf(&|c| c.mem.num_entries()),
            "num-entries-imm-mem-tables" => of_cf(&|c| c.imm.iter().map(|m| m.num_entries()).sum()),
            "num-deletes-active-mem-table" => of_cf(&|c| c.mem.num_deletes()),
            "num-deletes-imm-mem-tables" => of_cf(&|c| c.imm.iter().map(|m| m.num_deletes()).sum()),
            "estimate-num-keys" => Some(self.estimate_num_keys(cf)),
            "estimate-table-readers-mem" => of_cf(&|c| {
                let files = c.version.levels.iter().flatten();
                files
                    .filter_map(|f| f.open.get())
                    .map(|t| t.table.memory_usage() as u64)
                    .sum()
            }),
            "total-sst-files-size" | "live-sst-files-size" | "estimate-live-data-size" => {
                of_cf(&|c| {
                    (0..c.version.levels.len())
                        .map(|l| c.version.level_bytes(l))
                        .sum()
                })
            }
            "base-level" => of_cf(&|c| c.levels.base_level as u64),
            "estimate-pending-compaction-bytes" => of_cf(&|c| c.levels.pending_bytes),
            "current-super-version-number" => Some(cf.pin().number),
            "block-cache-capacity" => Some(
                cf.options
                    .table
                    .block_cache
                    .as_ref()
                    .map_or(0, |c| c.capacity() as u64),
            ),
            "block-cache-usage" => Some(
                cf.options
                    .table
                    .block_cache
                    .as_ref()
                    .map_or(0, |c| c.usage() as u64),
            ),
            "num-running-flushes" => Some(self.lock_state().running_flushes as u64),
            "num-running-compactions" => Some(self.lock_state().running_compactions as u64),
            "background-errors" => Some(self.lock_state().failure.count),
            "min-log-number-to-keep" => Some(self.lock_state().oldest_wal()),
            "num-snapshots" => Some(self.snapshots.count() as u64),
            "oldest-snapshot-time" => Some(self.snapshots.oldest_time()),
            "oldest-snapshot-sequence" => {
                Some(self.snapshots.sequences().first().copied().unwrap_or(0))
            }
            "actual-delayed-write-rate" => Some(self.gate.delayed_rate()),
            "is-write-stopped" => Some(u64::from(self.gate.pressure() == Pressure::Stopped)),
            _ => None,
        }
    }

    fn with_cf<T>(&self, cf: &Arc<ColumnFamilyData>, f: impl FnOnce(&CfState) -> T) -> Option<T> {
        self.lock_state().cfs.get(&cf.id).map(f)
    }

    /// Entries less twice the deletions, as RocksDB estimates.
    fn estimate_num_keys(&self, cf: &Arc<ColumnFamilyData>) -> u64 {
        let view = cf.pin_owned();
        let (mut entries, mut deletes) = (0u64, 0u64);
        for mem in std::iter::once(&view.mem).chain(&view.imm) {
            entries += mem.num_entries();
            deletes += mem.num_deletes();
        }
        for file in view.version.levels.iter().flatten() {
            let cache = view.version.block_cache.as_ref();
            if let Ok(open) = self.tables.open(file, &cf.comparator, cache) {
                entries += open.table.properties().num_entries;
                deletes += open.table.properties().num_deletions;
            }
        }
        entries.saturating_sub(2 * deletes)
    }

    fn db_stats(&self) -> String {
        let wal_bytes = self.log_bytes();
        format!(
            "\n** DB Stats **\nLast sequence: {}\nLive log bytes: {wal_bytes}\n\
             Writes stalled: {} us\nWriters waiting: {}\nSnapshots: {}\n",
            self.latest_sequence_number(),
            self.gate.stall_micros(),
            self.gate.waiting(),
            self.snapshots.count(),
        ) + &counts_text(&self.stall_counts())
    }
}

const MIB: f64 = 1_048_576.0;

/// RocksDB's table of files and megabytes per level.
fn level_stats(cf: &CfState) -> String {
    let mut out = String::from("Level Files Size(MB)\n--------------------\n");
    for level in 0..cf.version.levels.len() {
        let mb = cf.version.level_bytes(level) as f64 / MIB;
        let _ = writeln!(out, "{level:3} {:8} {mb:8.0}", cf.version.num_files(level));
    }
    out
}

fn cf_stats(cf: &CfState) -> String {
    let mut out = format!("\n** Compaction Stats [{}] **\n", cf.data.name);
    out.push_str("Level    Files   Size(MB)   Target(MB)  Score\n");
    out.push_str("---------------------------------------------\n");
    for level in 0..cf.version.levels.len() {
        let score = cf
            .levels
            .scores
            .iter()
            .find(|(_, l)| *l == level)
            .map_or(0.0, |(s, _)| *s);
        let target = match cf.levels.target_bytes.get(level) {
            Some(&t) if level > 0 && t < u64::MAX / 2 => t as f64 / MIB,
            _ => 0.0,
        };
        let _ = writeln!(
            out,
            "  L{level} {:9} {:10.2} {target:12.2} {score:6.2}",
            cf.version.num_files(level),
            cf.version.level_bytes(level) as f64 / MIB,
        );
    }
    let _ = writeln!(
        out,
        "Memtables: 1 active, {} immutable; pending compaction bytes: {}",
        cf.imm.len(),
        cf.levels.pending_bytes
    );
    out.push_str(&counts_text(&cf.stall.counts.entries()));
    out
}

fn table_list(cf: &CfState) -> String {
    let mut out = String::new();
    for (level, files) in cf.version.levels.iter().enumerate() {
        let _ = writeln!(out, "--- level {level} ---");
        for f in files {
            let (first, last) = (
                f.meta.smallest.escape_ascii(),
                f.meta.largest.escape_ascii(),
            );
            let _ = writeln!(out, " {}:{}[{first} .. {last}]", f.meta.number, f.meta.size);
        }
    }
    out
}
