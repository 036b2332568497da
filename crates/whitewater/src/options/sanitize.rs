//! What happens to a value that cannot be used as it is. The rule is the same at open and while
//! the database is open.
//!
//! 1. A value that RocksDB corrects is corrected here to the same value. A program that relies
//!    on the correction (tiny write buffers in tests are the common case) must still be able to
//!    open its database.
//! 2. A number that RocksDB accepts, but that nothing here can honour, becomes the nearest one
//!    that can be honoured (rows with `into`). Where 0 is not a possible size, it becomes the
//!    default. Without prefixes, a plain table gets no hashes of them: RocksDB opens such a
//!    database, and fails when it opens the first table.
//! 3. An option that measures, hints or lets RocksDB check less is accepted, and its
//!    documentation says that it has no effect. Nothing that is read or durable depends on it.
//! 4. Everything else is refused by `validate`: what RocksDB refuses, and what is not built and
//!    would change results, durability or what is on disk.
//!
//! LOG has a line for each correction, and one for each hint without effect that does not have
//! its default.

use super::compaction::CompactionStyle;
use super::table::OptionTable;
use super::{BY_STYLE, CfOptions, DbOptions, table_format};
use crate::options::memtable_kind::MemtableKind;
use whitewater_storage::sst::{CompressionOptions, CompressionType, IndexType, TableOptions};
use whitewater_storage::wal::RecoveryMode;

/// RocksDB's default age for files when none was given. Seconds.
const THIRTY_DAYS: u64 = 30 * 24 * 60 * 60;

impl DbOptions {
    /// These options, corrected.
    #[must_use]
    pub(crate) fn sanitized(self) -> Self {
        let asked = self.to_text();
        let mut corrected = self.corrected();
        corrected.corrections = differences(&asked, &corrected.to_text());
        corrected
    }

    fn corrected(mut self) -> Self {
        if self.max_open_files != -1 {
            self.max_open_files = self.max_open_files.max(20);
        }
        self.move_into_ranges();
        // RocksDB does not compress the log if it has no streaming form of the codec.
        let streams = self.wal_compression == CompressionType::Zstd;
        if !streams || self.wal_compression.missing_feature().is_some() {
            self.wal_compression = CompressionType::None;
        }
        // With a rate limiter, writes to files should be spread evenly.
        if let Some(limiter) = &self.rate_limiter {
            if self.bytes_per_sync == 0 {
                self.bytes_per_sync = 1 << 20;
            }
            if self.delayed_write_rate == 0 {
                self.delayed_write_rate = limiter.rate();
            }
        }
        // Archived logs are kept, so they cannot be reused.
        if self.archives_logs() {
            self.recycle_log_file_num = 0;
        }
        // These two modes take the old tail of a reused file for damage.
        if matches!(
            self.wal_recovery_mode,
            RecoveryMode::TolerateCorruptedTailRecords | RecoveryMode::AbsoluteConsistency
        ) {
            self.recycle_log_file_num = 0;
        }
        self
    }
}

impl CfOptions {
    /// These options, corrected.
    #[must_use]
    pub(crate) fn sanitized(self) -> Self {
        let (asked, asked_tables) = (self.to_text(), self.table.to_text());
        let mut corrected = self.corrected();
        corrected.corrections = differences(&asked, &corrected.to_text());
        let of_tables = differences(&asked_tables, &corrected.table.to_text());
        corrected.corrections.extend(of_tables);
        corrected
    }

    fn corrected(mut self) -> Self {
        self.correct_zeros();
        if self.memtable_prefix_bloom_size_ratio.is_nan() {
            self.memtable_prefix_bloom_size_ratio = 0.0;
        }
        self.move_into_ranges();
        correct_tables(&mut self.table);
        correct_codec(&mut self.compression_opts);
        correct_codec(&mut self.bottommost_compression_opts);
        correct_codec(&mut self.blob_compression_opts);
        if self.memtable.groups_by_prefix() && self.prefix_extractor.is_none() {
            self.memtable = MemtableKind::SkipList;
        }
        table_format::correct(&mut self);
        self.min_write_buffer_number_to_merge = self
            .min_write_buffer_number_to_merge
            .clamp(1, self.max_write_buffer_number - 1);
        let leveled = self.compaction_style == CompactionStyle::Level;
        self.num_levels = self.num_levels.max(if leveled { 2 } else { 1 });
        self.make_room_behind();
        if self.compaction_style == CompactionStyle::Fifo {
            // With FIFO compaction, tables are deleted when there are too many.
            self.level0_slowdown_writes_trigger = i32::MAX;
            self.level0_stop_writes_trigger = i32::MAX;
        }
        if !leveled {
            self.level_compaction_dynamic_level_bytes = false;
        }
        self.fix_level_sizes();
        self.choose_ages();
        self.level0_slowdown_writes_trigger = self
            .level0_slowdown_writes_trigger
            .max(self.level0_file_num_compaction_trigger);
        self.level0_stop_writes_trigger = self
            .level0_stop_writes_trigger
            .max(self.level0_slowdown_writes_trigger);
        let hard = self.hard_pending_compaction_bytes_limit;
        let soft = &mut self.soft_pending_compaction_bytes_limit;
        if *soft == 0 || (hard > 0 && *soft > hard) {
            *soft = hard;
        }
        self
    }

    /// Corrects options for which 0, or 0 and negative numbers, cannot be used.
    fn correct_zeros(&mut self) {
        let defaults = CfOptions::default();
        if self.target_file_size_base == 0 {
            self.target_file_size_base = defaults.target_file_size_base;
        }
        if self.max_bytes_for_level_base == 0 {
            self.max_bytes_for_level_base = defaults.max_bytes_for_level_base;
        }
        let trigger = &mut self.level0_file_num_compaction_trigger;
        match *trigger {
            0 => *trigger = 1,
            // The number of tables never starts a compaction, so it must not slow writes down,
            // either.
            ..0 => *trigger = i32::MAX,
            1.. => {}
        }
        if self.max_bytes_for_level_multiplier <= 0.0 {
            self.max_bytes_for_level_multiplier = 1.0;
        }
    }

    /// Makes sure that there are enough levels to keep one free and compact into another.
    pub(super) fn make_room_behind(&mut self) {
        if self.reserves_last_level() {
            self.num_levels = self.num_levels.max(3);
        }
    }

    /// Takes into account that a compaction filter was added, which all data is to pass through.
    pub(crate) fn filter_added(&mut self) {
        if self.age_follows_filter {
            self.periodic_compaction_seconds = THIRTY_DAYS;
        }
    }

    /// Chooses the ages that were left to the compaction style.
    fn choose_ages(&mut self) {
        if self.ttl == BY_STYLE {
            self.ttl = THIRTY_DAYS;
        }
        let filtered = self.filter_source().is_some();
        let periodic = &mut self.periodic_compaction_seconds;
        if self.compaction_style != CompactionStyle::Universal {
            if *periodic == BY_STYLE {
                self.age_follows_filter = self.compaction_style == CompactionStyle::Level;
                *periodic = if self.age_follows_filter && filtered {
                    THIRTY_DAYS
                } else {
                    0
                };
            }
            return;
        }
        if *periodic == BY_STYLE {
            *periodic = THIRTY_DAYS;
        }
        // Both options mean the same here; the stricter one applies.
        if *periodic == 0 {
            *periodic = self.ttl;
        } else if self.ttl != 0 {
            *periodic = self.ttl.min(*periodic);
        }
    }
}

/// Corrects table options as RocksDB does.
fn correct_tables(table: &mut TableOptions) {
    let defaults = TableOptions::default();
    if table.block_size == 0 {
        table.block_size = defaults.block_size;
    }
    if table.metadata_block_size == 0 {
        table.metadata_block_size = defaults.metadata_block_size;
    }
    table.move_into_ranges();
    table.format_version = table.format_version.max(2);
    if table.index_type == IndexType::HashSearch {
        table.index_block_restart_interval = 1;
    }
    if table.index_type != IndexType::TwoLevelIndexSearch {
        table.partition_filters = false;
    }
}

/// Corrects the number of threads that compress one table. 0 becomes 1: the thread that writes
/// the table.
fn correct_codec(options: &mut CompressionOptions) {
    options.parallel_threads = options.parallel_threads.clamp(1, 1024);
}

/// The corrections as text, one for each option whose value has changed.
fn differences(
    asked: &[(&'static str, String)],
    corrected: &[(&'static str, String)],
) -> Vec<String> {
    let by_style = BY_STYLE.to_string();
    let both = asked.iter().zip(corrected);
    both.filter(|((_, old), (_, new))| old != new && *old != by_style)
        .map(|((name, old), (_, new))| format!("option {name}={old} is corrected to {new}"))
        .collect()
}

/// Options that are accepted and have no effect: the name, the value that describes what is
/// done, and a description of that.
const HINTS: [(&str, &str, &str); 14] = [
    (
        "paranoid_checks",
        "true",
        "damage is never passed over in silence",
    ),
    (
        "is_fd_close_on_exec",
        "true",
        "child processes do not inherit files",
    ),
    (
        "allow_mmap_reads",
        "false",
        "tables are read by positioned reads",
    ),
    (
        "allow_mmap_writes",
        "false",
        "tables are written by appending",
    ),
    (
        "two_write_queues",
        "false",
        "there is one sequence of writes, and it has no queue",
    ),
    ("flush_nice", "0", "only Linux has priorities of threads"),
    (
        "compaction_nice",
        "0",
        "only Linux has priorities of threads",
    ),
    (
        "report_bg_io_stats",
        "false",
        "statistics time background I/O whenever they are on",
    ),
    (
        "paranoid_memory_checks",
        "false",
        "a memtable's order is what its structure is made of",
    ),
    (
        "strict_max_successive_merges",
        "false",
        "values are merged where memory has what that takes",
    ),
    (
        "last_level_temperature",
        "kUnknown",
        "files have no temperature",
    ),
    (
        "block_protection_bytes_per_key",
        "0",
        "blocks are checked as a whole when they are read",
    ),
    (
        "uncache_aggressiveness",
        "0",
        "blocks of obsolete tables are always removed from the cache",
    ),
    (
        "sample_for_compression",
        "0",
        "no blocks are compressed by way of trial",
    ),
];

/// The hints among `options` that have another value and no effect, one text for each.
pub(crate) fn hints_without_effect(options: &impl OptionTable) -> Vec<String> {
    let options = options.to_text();
    let of = |name: &str| options.iter().find(|(known, _)| *known == name);
    let has_effect = |name: &str| cfg!(target_os = "linux") && name.ends_with("_nice");
    let off = HINTS.iter().filter_map(|(name, always, what)| {
        let (_, value) = of(name).filter(|(_, value)| value != always)?;
        (!has_effect(name)).then(|| format!("option {name}={value} is a hint: {what}"))
    });
    off.collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::rate_limiter::{RateLimiter, RateLimiterMode};

    #[test]
    fn defaults_are_their_own_correction() {
        assert_eq!(
            DbOptions::default().sanitized().to_string(),
            DbOptions::default().to_string()
        );
        let defaults = CfOptions {
            ttl: THIRTY_DAYS,
            periodic_compaction_seconds: 0,
            ..CfOptions::default()
        };
        assert_eq!(
            CfOptions::default().sanitized().to_string(),
            defaults.to_string()
        );
    }

    #[test]
    fn what_rocksdb_corrects_is_corrected() {
        let db = DbOptions {
            max_open_files: 3,
            recycle_log_file_num: 4,
            wal_recovery_mode: RecoveryMode::AbsoluteConsistency,
            ..DbOptions::default()
        }
        .sanitized();
        assert_eq!((db.max_open_files, db.recycle_log_file_num), (20, 0));
        db.validate().unwrap();
        let db = DbOptions {
            recycle_log_file_num: 4,
            wal_size_limit_mb: 1,
            ..DbOptions::default()
        };
        assert_eq!(db.sanitized().recycle_log_file_num, 0);
        let with_limiter = |bytes_per_sync, delayed_write_rate, tunes_itself| {
            let db = DbOptions {
                bytes_per_sync,
                delayed_write_rate,
                rate_limiter: Some(RateLimiter::new(
                    5000,
                    100,
                    10,
                    tunes_itself,
                    RateLimiterMode::KAllIo,
                )),
                ..DbOptions::default()
            }
            .sanitized();
            (db.bytes_per_sync, db.delayed_write_rate)
        };
        assert_eq!(with_limiter(0, 0, false), (1 << 20, 5000));
        assert_eq!(with_limiter(0, 0, true), (1 << 20, 2500));
        assert_eq!(with_limiter(1, 2, false), (1, 2));

        let cf = CfOptions {
            write_buffer_size: 10,
            memtable_prefix_bloom_size_ratio: 3.0,
            max_write_buffer_number: 1,
            min_write_buffer_number_to_merge: 9,
            num_levels: 0,
            max_bytes_for_level_multiplier: -1.0,
            level0_file_num_compaction_trigger: 50,
            soft_pending_compaction_bytes_limit: 0,
            ..CfOptions::default()
        }
        .sanitized();
        assert_eq!(cf.write_buffer_size, 64 << 10);
        assert_eq!(cf.memtable_prefix_bloom_size_ratio, 0.25);
        assert_eq!(cf.max_write_buffer_number, 2);
        assert_eq!(cf.min_write_buffer_number_to_merge, 1);
        assert_eq!(cf.num_levels, 2);
        assert_eq!(cf.max_bytes_for_level_multiplier, 1.0);
        assert_eq!(
            (
                cf.level0_slowdown_writes_trigger,
                cf.level0_stop_writes_trigger
            ),
            (50, 50)
        );
        assert_eq!(cf.soft_pending_compaction_bytes_limit, 256 << 30);
        cf.validate().unwrap();
    }

    #[test]
    fn a_style_has_its_own_corrections() {
        let of = |compaction_style| CfOptions {
            compaction_style,
            num_levels: 0,
            ..CfOptions::default()
        };
        let fifo = of(CompactionStyle::Fifo).sanitized();
        assert_eq!((fifo.num_levels, fifo.ttl), (1, THIRTY_DAYS));
        assert_eq!(fifo.level0_stop_writes_trigger, i32::MAX);
        assert!(!fifo.level_compaction_dynamic_level_bytes);
        fifo.validate().unwrap();
        for (ttl, periodic, expected) in [
            (BY_STYLE, BY_STYLE, THIRTY_DAYS),
            (100, BY_STYLE, 100),
            (100, 50, 50),
            (100, 0, 100),
            (0, 50, 50),
            (0, 0, 0),
        ] {
            let universal = CfOptions {
                ttl,
                periodic_compaction_seconds: periodic,
                ..of(CompactionStyle::Universal)
            }
            .sanitized();
            assert_eq!(universal.num_levels, 1);
            assert_eq!(universal.periodic_compaction_seconds, expected);
        }
    }
}
