//! Whether a compaction is due, and how urgently.
//!
//! This is the only place that decides it, for every compaction style. [`level_state`] derives
//! from a version what picks, stalls and statistics need to know. Which files to compact is
//! decided in [`super::pick`]. The rules are RocksDB's. They are pure functions over a version,
//! the time and the oldest snapshot.
//!
//! * [`leveled`]: targets and scores of leveled compaction;
//! * [`marks`]: single files that are due, by age or on request;
//! * [`reads`]: files that are due because reads look into them in vain.

mod leveled;
mod marks;
mod reads;

pub(crate) use marks::{Marks, Place, expired_tail};
pub(crate) use reads::{ReadMemtable, flush_is_due, is_due_around};

use crate::options::CfOptions;
use crate::options::compaction::CompactionStyle;
use crate::options::compression::Compression;
use crate::version::Version;
use whitewater_storage::key::{SequenceNumber, UserComparator};

/// The circumstances in which a version is judged.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Moment {
    /// The time, in seconds since 1970.
    pub now: u64,
    /// The number below which no snapshot reads. Older entries that were kept only for snapshots
    /// can be dropped. 0 until a snapshot was released.
    pub oldest_snapshot: SequenceNumber,
    /// Files with this number and larger ones were written after that snapshot was gone, so what
    /// they hold was kept for another reason.
    pub files_below: u64,
}

/// The work that is due in a version.
#[derive(Debug, Clone, Default)]
pub(crate) struct LevelState {
    /// The level that level-0 files are compacted into; 0 for styles without such a level.
    pub base_level: usize,
    /// The target size of each level that is compacted, in bytes; `u64::MAX` means no limit. Empty
    /// for styles other than leveled compaction.
    pub target_bytes: Vec<u64>,
    /// Pairs of score and level, the highest score first. A compaction is due from a score of 1.0
    /// on.
    pub scores: Vec<(f64, usize)>,
    /// The estimated number of bytes that compactions must rewrite until no level is over its
    /// target; 0 for styles other than leveled compaction.
    pub pending_bytes: u64,
    /// The number of sorted runs that slow writes down: the files of level 0 and, with universal
    /// compaction, the deeper levels.
    pub runs: usize,
    /// Single files that are due.
    pub marks: Marks,
}

impl LevelState {
    /// Whether there is anything to pick.
    pub fn is_due(&self) -> bool {
        self.score() >= 1.0 || !self.marks.is_empty()
    }

    /// The highest score.
    pub fn score(&self) -> f64 {
        self.scores.first().map_or(0.0, |(score, _)| *score)
    }
}

/// The level that level-0 files are compacted into, if it depends on which levels are in use; 1
/// for styles without such a level.
fn base_level(version: &Version, options: &CfOptions) -> usize {
    match options.compaction_style {
        CompactionStyle::Level => leveled::level_state(version, options).base_level,
        CompactionStyle::Universal | CompactionStyle::Fifo => 1,
    }
}

/// The compression of tables that a compaction of `version` puts into `level`, by RocksDB's
/// rules. The options of the bottommost level apply if no deeper level has tables. Of the types
/// by level, the first is that of level 0; the second is that of the base level, which is 1
/// unless level sizes are dynamic; and the last is that of all deeper levels.
pub(crate) fn compression_of(options: &CfOptions, version: &Version, level: usize) -> Compression {
    let bottommost = (level + 1..version.levels.len()).all(|l| version.num_files(l) == 0);
    options.compression_at(level, bottommost, || base_level(version, options))
}

/// Determines what is due in `version`.
pub(crate) fn level_state(
    version: &Version,
    options: &CfOptions,
    user: &UserComparator,
    moment: &Moment,
) -> LevelState {
    let mut state = match options.compaction_style {
        CompactionStyle::Level => leveled::level_state(version, options),
        CompactionStyle::Universal => universal(version, options),
        CompactionStyle::Fifo => fifo(version, options, moment),
    };
    state.marks = match options.compaction_style {
        CompactionStyle::Level => marks::leveled(version, options, user, moment),
        CompactionStyle::Universal => marks::universal(version, options, moment),
        CompactionStyle::Fifo => marks::fifo(version, options, moment),
    };
    let levels = options.compacted_levels(version.levels.len());
    let deeper = |count: usize| {
        let levels = version.levels.iter().take(levels).skip(1);
        count + levels.filter(|files| !files.is_empty()).count()
    };
    state.runs = match options.compaction_style {
        CompactionStyle::Universal => deeper(version.num_files(0)),
        _ => version.num_files(0),
    };
    state
}

/// The score is the number of idle sorted runs, divided by the number that starts a compaction.
fn universal(version: &Version, options: &CfOptions) -> LevelState {
    let idle = version.levels[0].iter().filter(|f| !f.being_compacted());
    let levels = options.compacted_levels(version.levels.len());
    let deeper = version.levels.iter().take(levels).skip(1);
    let deeper = deeper.filter(|files| files.first().is_some_and(|f| !f.being_compacted()));
    let runs = (idle.count() + deeper.count()) as f64;
    let trigger = f64::from(options.level0_file_num_compaction_trigger.max(1));
    LevelState {
        scores: vec![(runs / trigger, 0)],
        ..LevelState::default()
    }
}

/// The score is the largest of these: the size of all idle files, divided by the limit; with
/// `allow_compaction`, the number of idle files of level 0, divided by the number that starts a
/// compaction; and the number of files that are too old.
fn fifo(version: &Version, options: &CfOptions, moment: &Moment) -> LevelState {
    let fifo = &options.compaction_options_fifo;
    let files = version.levels.iter().flatten();
    let idle = files.filter(|f| !f.being_compacted());
    let bytes: u64 = idle.map(|f| f.meta.size).sum();
    // Unlike with other scores, nothing is due yet exactly at the limit.
    let over = bytes.saturating_sub(1) as f64;
    let mut score = over / fifo.max_table_files_size.max(1) as f64;
    if fifo.allow_compaction {
        let trigger = f64::from(options.level0_file_num_compaction_trigger.max(1));
        let idle = version.levels[0].iter().filter(|f| !f.being_compacted());
        score = score.max(idle.count() as f64 / trigger);
    }
    let expired = marks::expired_tail(version, options, moment);
    LevelState {
        scores: vec![(score.max(expired as f64), 0)],
        ..LevelState::default()
    }
}

#[cfg(test)]
mod tests;
