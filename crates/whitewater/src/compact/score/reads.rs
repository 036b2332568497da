//! Tables that reads look into in vain so often that compacting them is worth it.
//!
//! RocksDB compares the reads of a file with its size, and its users choose a threshold that has
//! the rest of the compaction in it. Here the threshold is for each byte that the compaction
//! would rewrite, so that a small table above a large level waits until its reads pay for both.
//! Level 0 is judged, and compacted, as a whole: a read that looks into one of its tables looks
//! into the others, too. In the last level with data no read is in vain for want of a compaction.
//!
//! The active memtable is judged with level 0. It is flushed if reads pay for compacting its table
//! as well, and it is not too small for that. Or it is flushed if level 0 is due and not much less
//! than both: what is in the memtable would have all of that compacted once more.

use super::marks::{Place, idle};
use crate::options::CfOptions;
use crate::options::compaction::CompactionStyle;
use crate::version::range::KeyRange;
use crate::version::{TableFile, Version, hull, total_bytes};
use std::sync::Arc;
use whitewater_storage::key::UserComparator;

/// The least number of reads in vain that count: sixteen sampled ones. Of fewer, chance decides,
/// and small tables would be compacted for a single one.
const LEAST_READS: u64 = 16 * 1024;

/// The least bytes that a flush for reads counts for: a log, tables and their syncs take time
/// however little the memtable holds.
const LEAST_BYTES: u64 = 8 << 20;

/// A memtable, as its reads are judged.
pub(crate) struct ReadMemtable<'a> {
    /// The reads that looked into it in vain.
    pub wasted_reads: u64,
    /// Bytes of its entries.
    pub bytes: u64,
    /// Returns its first and its last user key. `None` if they are not known: all keys are in its
    /// range then.
    pub key_span: &'a dyn Fn() -> Option<(Vec<u8>, Vec<u8>)>,
}

/// What reads are judged by.
struct Judge<'a> {
    version: &'a Version,
    options: &'a CfOptions,
    user: &'a UserComparator,
    /// The last level with data.
    last: usize,
}

impl<'a> Judge<'a> {
    /// `None` if reads never cause compactions.
    fn new(version: &'a Version, options: &'a CfOptions, user: &'a UserComparator) -> Option<Self> {
        let never = options.read_triggered_compaction_threshold <= 0.0
            || options.compaction_style != CompactionStyle::Level;
        (!never).then(|| Judge {
            version,
            options,
            user,
            last: version.last_of(options.compacted_levels(version.levels.len())),
        })
    }

    /// Whether `reads` in vain pay for rewriting this many bytes.
    fn pay(&self, reads: u64, bytes: u64) -> bool {
        reads as f64 > self.options.read_triggered_compaction_threshold * bytes as f64
    }

    /// The bytes of the next level with data that a compaction of `range` in `level` rewrites.
    fn bytes_below(&self, level: usize, range: Option<KeyRange<'_>>) -> u64 {
        let next = (level + 1..=self.last).find(|&l| self.version.num_files(l) > 0);
        match (next, range) {
            (Some(next), Some(range)) => self.version.overlapping_bytes(next, self.user, range),
            _ => 0,
        }
    }

    /// Whether the reads that looked into `files` of `level` in vain pay for compacting them into
    /// the next level with data.
    fn pays(&self, level: usize, files: &[Arc<TableFile>]) -> bool {
        let (reads, bytes) = (wasted_reads(files), total_bytes(files));
        reads >= LEAST_READS
            && self.pay(reads, bytes)
            && self.pay(
                reads,
                bytes + self.bytes_below(level, hull(self.user, files.iter())),
            )
    }

    fn level0_pays(&self) -> bool {
        let files = &self.version.levels[0];
        let sources = files.len() + usize::from(self.last > 0);
        sources > 1 && !files.iter().any(|f| f.being_compacted()) && self.pays(0, files)
    }

    /// The most bytes that are compacted for a memtable, for each of its own: as many as leveled
    /// compaction compacts for each byte that it moves down a level. Otherwise a few writes between
    /// many reads would have all data rewritten.
    fn most_amplification(&self) -> f64 {
        1.0 + self.options.max_bytes_for_level_multiplier
    }

    /// Whether `memtable` is to be flushed, and compacted with level 0: level 0 is due anyway, and
    /// its compaction is not much larger then, or the reads that looked into both in vain pay for
    /// both. In the first case the memtable's own bytes need no reads to pay for them: its table is
    /// counted as paid for.
    fn memtable_pays(&self, memtable: &ReadMemtable<'_>) -> bool {
        let files = &self.version.levels[0];
        let has_older = !files.is_empty() || self.last > 0;
        let is_busy = files.iter().any(|f| f.being_compacted());
        if memtable.wasted_reads < LEAST_READS || !has_older || is_busy {
            return false;
        }
        let (reads, bytes) = (
            memtable.wasted_reads + wasted_reads(files),
            memtable.bytes + total_bytes(files),
        );
        // If the compaction of level 0 waits, tables must not pile up there. What was hardly read
        // waits for the next one.
        let most_files = self.options.level0_file_num_compaction_trigger;
        let joins = (files.len() as i64) < i64::from(most_files)
            && self.level0_pays()
            && self.pay(memtable.wasted_reads, memtable.bytes / 4);
        let pays = self.pay(memtable.wasted_reads, memtable.bytes.max(LEAST_BYTES))
            && self.pay(reads, bytes);
        if !joins && !pays {
            return false;
        }
        let span = (memtable.key_span)();
        let (first, last) = span
            .as_ref()
            .map(|(first, last)| (&first[..], &last[..]))
            .unzip();
        let ranges = files.iter().map(|f| f.range());
        let range = ranges.fold(KeyRange::closed(first, last), |a, b| a.hull(self.user, &b));
        let bytes = bytes + self.bytes_below(0, Some(range));
        let of_level0 = total_bytes(files) + self.bytes_below(0, hull(self.user, files.iter()));
        joins && bytes <= of_level0 + of_level0 / 2 && self.pay(reads, bytes - memtable.bytes)
            || pays
                && bytes as f64 <= self.most_amplification() * memtable.bytes as f64
                && self.pay(reads, bytes)
    }
}

fn wasted_reads(files: &[Arc<TableFile>]) -> u64 {
    files.iter().map(|f| f.wasted_reads()).sum()
}

/// The files that are due; the first of level 0 stands for all of that level.
pub(super) fn due(version: &Version, options: &CfOptions, user: &UserComparator) -> Vec<Place> {
    let Some(judge) = Judge::new(version, options, user) else {
        return Vec::new();
    };
    let level0 = judge.level0_pays().then_some((0, 0));
    let deeper = idle(version, 1..judge.last.max(1));
    let deeper = deeper.filter(|((level, _), f)| judge.pays(*level, std::slice::from_ref(f)));
    level0
        .into_iter()
        .chain(deeper.map(|(place, _)| place))
        .collect()
}

/// Whether `memtable`, the active one above the tables of `version`, is to be flushed for reads.
pub(crate) fn flush_is_due(
    version: &Version,
    options: &CfOptions,
    user: &UserComparator,
    memtable: &ReadMemtable<'_>,
) -> bool {
    Judge::new(version, options, user).is_some_and(|judge| judge.memtable_pays(memtable))
}

/// Whether level 0 is due or, given a user key, a file of a deeper level that may hold it.
pub(crate) fn is_due_around(
    version: &Version,
    options: &CfOptions,
    user: &UserComparator,
    user_key: Option<&[u8]>,
) -> bool {
    let Some(judge) = Judge::new(version, options, user) else {
        return false;
    };
    let deeper = |key| {
        let range = KeyRange::closed(Some(key), Some(key));
        (1..judge.last).any(|level| {
            let span = version.overlapping_span(level, user, range);
            let mut files = version.levels[level][span].iter();
            files.any(|f| !f.being_compacted() && judge.pays(level, std::slice::from_ref(f)))
        })
    };
    judge.level0_pays() || user_key.is_some_and(deeper)
}
