//! Tables that reads look into in vain so often that compacting them is worth it.
//!
//! RocksDB compares the reads of a file with its size, and its users choose a threshold that has
//! the rest of the compaction in it. Here the threshold is for each byte that the compaction
//! would rewrite, so that a small table above a large level waits until its reads pay for both.
//! Level 0 is judged, and compacted, as a whole: a read that looks into one of its tables looks
//! into the others, too. In the last level with data no read is in vain for want of a compaction.

use super::marks::{Place, idle};
use crate::options::CfOptions;
use crate::options::compaction::CompactionStyle;
use crate::version::range::KeyRange;
use crate::version::{TableFile, Version, hull};
use std::sync::Arc;
use whitewater_storage::key::UserComparator;

/// The least number of reads in vain that count: sixteen sampled ones. Of fewer, chance decides,
/// and small tables would be compacted for a single one.
const LEAST_READS: u64 = 16 * 1024;

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

    /// Whether the reads that looked into `files` of `level` in vain pay for compacting them into
    /// the next level with data.
    fn pays(&self, level: usize, files: &[Arc<TableFile>]) -> bool {
        let reads: u64 = files.iter().map(|f| f.wasted_reads()).sum();
        let bytes: u64 = files.iter().map(|f| f.meta.size).sum();
        let threshold = self.options.read_triggered_compaction_threshold;
        let pays_for = |bytes: u64| reads as f64 > threshold * bytes as f64;
        if reads < LEAST_READS || !pays_for(bytes) {
            return false;
        }
        let next = (level + 1..=self.last).find(|&l| self.version.num_files(l) > 0);
        let (Some(next), Some(range)) = (next, hull(self.user, files.iter())) else {
            return true;
        };
        pays_for(bytes + self.version.overlapping_bytes(next, self.user, range))
    }

    fn level0_pays(&self) -> bool {
        let files = &self.version.levels[0];
        let sources = files.len() + usize::from(self.last > 0);
        sources > 1 && !files.iter().any(|f| f.being_compacted()) && self.pays(0, files)
    }
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
