//! Why a column family stalls writers: RocksDB's conditions, causes and counts.

use crate::options::CfOptions;

/// What writers are subject to.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Default)]
#[repr(u8)]
pub(crate) enum Pressure {
    /// Writers go ahead.
    #[default]
    None = 0,
    /// Writers share a limited rate.
    Delayed = 1,
    /// Writers wait.
    Stopped = 2,
}

/// What there is too much of.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Cause {
    /// Memtables that wait for their flush.
    Memtables,
    /// Tables in level 0.
    Level0Files,
    /// Bytes that compactions have yet to rewrite.
    PendingBytes,
}

impl Cause {
    const ALL: [Cause; 3] = [Cause::Memtables, Cause::Level0Files, Cause::PendingBytes];

    /// RocksDB's name in properties.
    pub fn name(self) -> &'static str {
        match self {
            Cause::Memtables => "memtable-limit",
            Cause::Level0Files => "l0-file-count-limit",
            Cause::PendingBytes => "pending-compaction-bytes",
        }
    }
}

/// The figures of a column family that a stall is decided by.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) struct Load {
    /// Memtables that wait for their flush.
    pub memtables: i32,
    /// Tables in level 0.
    pub level0: i32,
    /// Bytes that compactions have yet to rewrite.
    pub pending: u64,
    /// Bytes in the deepest level that is not empty.
    pub bottom: u64,
}

/// The stall of a column family and its cause, if it has one.
pub(crate) type Stall = Option<(Cause, Pressure)>;

/// The pressure of a stall.
pub(crate) fn pressure(stall: Stall) -> Pressure {
    stall.map_or(Pressure::None, |(_, pressure)| pressure)
}

impl Load {
    /// The stall of a column family with the options `o`, by RocksDB's rules in their order.
    pub fn stall(&self, o: &CfOptions) -> Stall {
        let auto = !o.disable_auto_compactions;
        let level0_over = |limit: i32| auto && limit >= 0 && self.level0 >= limit;
        let pending_over = |limit: u64| auto && limit > 0 && self.pending >= limit;
        let memtables = o.max_write_buffer_number;
        if self.memtables >= memtables.max(1) {
            Some((Cause::Memtables, Pressure::Stopped))
        } else if level0_over(o.level0_stop_writes_trigger) {
            Some((Cause::Level0Files, Pressure::Stopped))
        } else if pending_over(o.hard_pending_compaction_bytes_limit) {
            Some((Cause::PendingBytes, Pressure::Stopped))
        } else if memtables > 3
            && self.memtables >= memtables - 1
            && self.memtables > o.min_write_buffer_number_to_merge
        {
            // With two or three buffers, all are used before a stop.
            Some((Cause::Memtables, Pressure::Delayed))
        } else if level0_over(o.level0_slowdown_writes_trigger) {
            Some((Cause::Level0Files, Pressure::Delayed))
        } else if pending_over(o.soft_pending_compaction_bytes_limit) {
            Some((Cause::PendingBytes, Pressure::Delayed))
        } else {
            None
        }
    }

    /// Each figure, with the values from which it delays and stops writers; 0 if it does not.
    pub fn limits(&self, o: &CfOptions) -> [(&'static str, u64); 9] {
        let number = |n: i32| u64::try_from(n).unwrap_or(0);
        let auto = |n: u64| if o.disable_auto_compactions { 0 } else { n };
        let delay = match o.max_write_buffer_number {
            n if n > 3 => number((n - 1).max(o.min_write_buffer_number_to_merge + 1)),
            _ => 0,
        };
        [
            ("memtables", number(self.memtables)),
            ("memtables.delay", delay),
            ("memtables.stop", number(o.max_write_buffer_number.max(1))),
            ("level0-files", number(self.level0)),
            (
                "level0-files.delay",
                auto(number(o.level0_slowdown_writes_trigger)),
            ),
            (
                "level0-files.stop",
                auto(number(o.level0_stop_writes_trigger)),
            ),
            ("pending-bytes", self.pending),
            (
                "pending-bytes.delay",
                auto(o.soft_pending_compaction_bytes_limit),
            ),
            (
                "pending-bytes.stop",
                auto(o.hard_pending_compaction_bytes_limit),
            ),
        ]
    }

    /// Whether a delay for `cause` is close to a stop.
    pub fn near_stop(&self, cause: Cause, o: &CfOptions) -> bool {
        match cause {
            Cause::Memtables => false,
            Cause::Level0Files => self.level0 >= o.level0_stop_writes_trigger.saturating_sub(2),
            Cause::PendingBytes => {
                let (soft, hard) = (
                    o.soft_pending_compaction_bytes_limit,
                    o.hard_pending_compaction_bytes_limit,
                );
                let gap = hard.saturating_sub(soft);
                hard > 0 && self.pending.saturating_sub(soft) > gap / 4 * 3
            }
        }
    }

    /// Whether compaction is behind, though not yet stalling writers: low-priority writes
    /// are throttled then. RocksDB starts more compactions on this condition.
    pub fn is_behind(&self, o: &CfOptions) -> bool {
        if o.disable_auto_compactions {
            return false;
        }
        let trigger = i64::from(o.level0_file_num_compaction_trigger);
        let slowdown = i64::from(o.level0_slowdown_writes_trigger);
        let quarter = trigger + (slowdown - trigger).max(0) / 4;
        if i64::from(self.level0) >= quarter.min(2 * trigger) {
            return true;
        }
        let soft = o.soft_pending_compaction_bytes_limit;
        if soft == 0 {
            return true;
        }
        let by_limit = soft / 4;
        let limit = match self.bottom {
            0 => by_limit,
            bottom => {
                let two_levels = o.max_bytes_for_level_base.saturating_mul(2);
                by_limit.min((bottom / 8).max(two_levels))
            }
        };
        self.pending >= limit
    }

    /// RocksDB's text for a stall in the LOG; `rate` is in bytes per second.
    pub fn describe(&self, stall: Stall, o: &CfOptions, rate: u64) -> String {
        let Some((cause, pressure)) = stall else {
            return "No write stall any more".to_owned();
        };
        let why = self.reason(cause, o);
        match pressure {
            Pressure::Stopped => format!("Stopping writes because {why}"),
            _ => format!("Stalling writes because {why} rate {rate}"),
        }
    }

    /// RocksDB's text for a cause in the LOG.
    pub fn reason(&self, cause: Cause, o: &CfOptions) -> String {
        match cause {
            Cause::Memtables => format!(
                "we have {} immutable memtables (waiting for flush), max_write_buffer_number is set to {}",
                self.memtables, o.max_write_buffer_number
            ),
            Cause::Level0Files => format!("we have {} level-0 files", self.level0),
            Cause::PendingBytes => {
                format!("of estimated pending compaction bytes {}", self.pending)
            }
        }
    }
}

/// How often a column family was found in each kind of stall.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) struct StallCounts {
    /// By cause; delays, then stops.
    by_cause: [[u64; 2]; 3],
    /// Delays and stops for level 0 while a compaction of it was running.
    with_compaction: [u64; 2],
}

impl StallCounts {
    /// Counts a stall, `compacting` if level 0 is being compacted.
    pub fn count(&mut self, cause: Cause, pressure: Pressure, compacting: bool) {
        let kind = usize::from(pressure == Pressure::Stopped);
        self.by_cause[cause as usize][kind] += 1;
        if cause == Cause::Level0Files && compacting {
            self.with_compaction[kind] += 1;
        }
    }

    /// The number of stalls counted.
    pub fn total(&self) -> u64 {
        self.by_cause.iter().flatten().sum()
    }

    /// Name and count as in RocksDB's property, by name.
    pub fn entries(&self) -> Vec<(String, u64)> {
        let mut entries = Vec::new();
        for (kind, what) in ["delays", "stops"].into_iter().enumerate() {
            let of = |cause: Cause| self.by_cause[cause as usize][kind];
            for cause in Cause::ALL {
                entries.push((format!("{}-{what}", cause.name()), of(cause)));
            }
            entries.push((
                format!("cf-l0-file-count-limit-{what}-with-ongoing-compaction"),
                self.with_compaction[kind],
            ));
            entries.push((format!("total-{what}"), Cause::ALL.map(of).iter().sum()));
        }
        entries.sort();
        entries
    }
}

/// RocksDB's text for counts of stalls.
pub(crate) fn counts_text(entries: &[(String, u64)]) -> String {
    let listed: Vec<String> = entries.iter().map(|(k, n)| format!("{k}: {n}")).collect();
    format!("Write Stall (count): {}\n", listed.join(", "))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn options() -> CfOptions {
        CfOptions {
            max_write_buffer_number: 5,
            level0_slowdown_writes_trigger: 20,
            level0_stop_writes_trigger: 36,
            soft_pending_compaction_bytes_limit: 1000,
            hard_pending_compaction_bytes_limit: 2000,
            ..CfOptions::default()
        }
    }

    fn load(memtables: i32, level0: i32, pending: u64) -> Load {
        Load {
            memtables,
            level0,
            pending,
            bottom: 0,
        }
    }

    #[test]
    fn the_strictest_condition_counts() {
        use {Cause::*, Pressure::*};
        let o = options();
        let of = |m, l, p| load(m, l, p).stall(&o);
        assert_eq!(of(3, 19, 999), Option::None);
        assert_eq!(of(5, 36, 2000), Some((Memtables, Stopped)));
        assert_eq!(of(4, 36, 2000), Some((Level0Files, Stopped)));
        assert_eq!(of(4, 35, 2000), Some((PendingBytes, Stopped)));
        assert_eq!(of(4, 35, 1999), Some((Memtables, Delayed)));
        assert_eq!(of(3, 35, 1999), Some((Level0Files, Delayed)));
        assert_eq!(of(3, 19, 1999), Some((PendingBytes, Delayed)));
        let waits = CfOptions {
            min_write_buffer_number_to_merge: 4,
            ..options()
        };
        assert_eq!(load(4, 0, 0).stall(&waits), Option::None, "no flush yet");
        let manual = CfOptions {
            disable_auto_compactions: true,
            ..options()
        };
        assert_eq!(load(3, 99, 9999).stall(&manual), Option::None);
    }

    #[test]
    fn limits_are_those_that_stalls_begin_at() {
        let limits = |o: &CfOptions| load(1, 2, 3).limits(o).map(|(_, n)| n);
        assert_eq!(limits(&options()), [1, 4, 5, 2, 20, 36, 3, 1000, 2000]);
        let waits = CfOptions {
            min_write_buffer_number_to_merge: 4,
            disable_auto_compactions: true,
            ..options()
        };
        assert_eq!(limits(&waits), [1, 5, 5, 2, 0, 0, 3, 0, 0]);
        let two = CfOptions {
            max_write_buffer_number: 2,
            ..options()
        };
        assert_eq!(limits(&two)[..3], [1, 0, 2]);
    }

    #[test]
    fn stops_announce_themselves() {
        let o = options();
        assert!(!load(0, 33, 0).near_stop(Cause::Level0Files, &o));
        assert!(load(0, 34, 0).near_stop(Cause::Level0Files, &o));
        assert!(!load(0, 0, 1750).near_stop(Cause::PendingBytes, &o));
        assert!(load(0, 0, 1751).near_stop(Cause::PendingBytes, &o));
    }

    #[test]
    fn compaction_is_behind_before_writes_stall() {
        let o = options();
        assert!(!load(0, 7, 249).is_behind(&o));
        assert!(load(0, 8, 0).is_behind(&o), "4 + (20 - 4) / 4");
        assert!(load(0, 0, 250).is_behind(&o));
    }

    #[test]
    fn the_log_has_the_words_of_rocksdb() {
        let o = options();
        let of = |load: Load| load.describe(load.stall(&o), &o, 77);
        assert_eq!(
            of(load(5, 0, 0)),
            "Stopping writes because we have 5 immutable memtables (waiting for flush), \
             max_write_buffer_number is set to 5"
        );
        assert_eq!(
            of(load(0, 20, 0)),
            "Stalling writes because we have 20 level-0 files rate 77"
        );
        assert_eq!(
            of(load(0, 0, 2000)),
            "Stopping writes because of estimated pending compaction bytes 2000"
        );
    }

    #[test]
    fn counts_have_the_names_of_rocksdb() {
        let mut counts = StallCounts::default();
        counts.count(Cause::Level0Files, Pressure::Delayed, true);
        counts.count(Cause::Level0Files, Pressure::Stopped, false);
        counts.count(Cause::Memtables, Pressure::Stopped, true);
        assert_eq!(
            counts_text(&counts.entries()),
            "Write Stall (count): cf-l0-file-count-limit-delays-with-ongoing-compaction: 1, \
             cf-l0-file-count-limit-stops-with-ongoing-compaction: 0, l0-file-count-limit-delays: 1, \
             l0-file-count-limit-stops: 1, memtable-limit-delays: 0, memtable-limit-stops: 1, \
             pending-compaction-bytes-delays: 0, pending-compaction-bytes-stops: 0, total-delays: 1, \
             total-stops: 2\n"
        );
    }

    #[test]
    fn the_largest_level_is_no_limit() {
        let o = CfOptions {
            max_bytes_for_level_base: u64::MAX,
            ..options()
        };
        let behind = |pending| {
            Load {
                bottom: 1,
                ..load(0, 0, pending)
            }
            .is_behind(&o)
        };
        assert!(!behind(249));
        assert!(behind(250), "by the limit on pending bytes");
    }
}
