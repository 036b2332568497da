//! Corrections of options that RocksDB makes at open without a word.
//!
//! A program that relies on them (tiny write buffers in tests are the common
//! case) must keep opening its database. What is not corrected here is
//! checked by `validate`.

use super::compaction::CompactionStyle;
use super::{BY_STYLE, CfOptions, DbOptions};
use whitewater_storage::wal::RecoveryMode;

/// RocksDB's age for files that nobody said anything about. Seconds.
const THIRTY_DAYS: u64 = 30 * 24 * 60 * 60;

impl DbOptions {
    /// RocksDB's corrections of database options.
    #[must_use]
    pub(crate) fn sanitized(mut self) -> Self {
        if self.max_open_files != -1 {
            self.max_open_files = self.max_open_files.max(20);
        }
        self.max_background_jobs = self.max_background_jobs.max(1);
        self.max_subcompactions = self.max_subcompactions.max(1);
        // Who limits the rate of writes wants them even.
        if let Some(limiter) = &self.rate_limiter {
            if self.bytes_per_sync == 0 {
                self.bytes_per_sync = 1 << 20;
            }
            if self.delayed_write_rate == 0 {
                self.delayed_write_rate = limiter.rate();
            }
        }
        // Archived logs are kept as they are.
        if self.archives_logs() {
            self.recycle_log_file_num = 0;
        }
        // The two modes read a reused file's old tail as damage.
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
    /// RocksDB's corrections of column family options.
    #[must_use]
    pub(crate) fn sanitized(mut self) -> Self {
        self.write_buffer_size = self.write_buffer_size.clamp(64 << 10, 64 << 30);
        self.memtable_prefix_bloom_size_ratio =
            self.memtable_prefix_bloom_size_ratio.clamp(0.0, 0.25);
        self.max_write_buffer_number = self.max_write_buffer_number.max(2);
        self.min_write_buffer_number_to_merge = self
            .min_write_buffer_number_to_merge
            .clamp(1, self.max_write_buffer_number - 1);
        let leveled = self.compaction_style == CompactionStyle::Level;
        self.num_levels = self.num_levels.max(if leveled { 2 } else { 1 });
        self.make_room_behind();
        if self.compaction_style == CompactionStyle::Fifo {
            // Tables are deleted when there are too many.
            self.level0_slowdown_writes_trigger = i32::MAX;
            self.level0_stop_writes_trigger = i32::MAX;
        }
        if !leveled {
            self.level_compaction_dynamic_level_bytes = false;
        }
        self.choose_ages();
        if self.max_bytes_for_level_multiplier <= 0.0 {
            self.max_bytes_for_level_multiplier = 1.0;
        }
        if self.level0_file_num_compaction_trigger == 0 {
            self.level0_file_num_compaction_trigger = 1;
        }
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

    /// Has enough levels for one to be kept free and another to be compacted
    /// into.
    pub(super) fn make_room_behind(&mut self) {
        if self.reserves_last_level() {
            self.num_levels = self.num_levels.max(3);
        }
    }

    /// Has a compaction filter from here on, which everything is to meet.
    pub(crate) fn filter_added(&mut self) {
        if self.age_follows_filter {
            self.periodic_compaction_seconds = THIRTY_DAYS;
        }
    }

    /// Ages that were left to the compaction style.
    fn choose_ages(&mut self) {
        if self.ttl == BY_STYLE {
            self.ttl = THIRTY_DAYS;
        }
        let filtered = self.filter_source().is_some();
        let periodic = &mut self.periodic_compaction_seconds;
        if self.compaction_style != CompactionStyle::Universal {
            if *periodic == BY_STYLE {
                self.age_follows_filter = self.compaction_style == CompactionStyle::Level;
                *periodic = match self.age_follows_filter && filtered {
                    true => THIRTY_DAYS,
                    false => 0,
                };
            }
            return;
        }
        if *periodic == BY_STYLE {
            *periodic = THIRTY_DAYS;
        }
        // Both mean the same; the stricter counts.
        if *periodic == 0 {
            *periodic = self.ttl;
        } else if self.ttl != 0 {
            *periodic = self.ttl.min(*periodic);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::jobs::rate_limiter::RateLimiter;

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
                rate_limiter: Some(RateLimiter::new(5000, 100, 10, tunes_itself)),
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
