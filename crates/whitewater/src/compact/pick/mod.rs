//! Which tables to compact.
//!
//! Picks are pure functions over a version; only the marks on picked files are state. Every
//! pick keeps the order of versions: for each key, what stays above is newer than what goes
//! down.
//!
//! * This module: [`Compaction`], and what all picks need.
//! * [`leveled`], [`universal`], [`fifo`]: automatic picks by compaction style.
//! * [`manual`]: picks on request.
//! * `named`: picks of files that a caller names.
//! * `paths`: which directory the output goes to.
//!
//! Invariants of a pick:
//! * I1: no input was marked before.
//! * I2: below level 0, a user key at the boundary of two files of a level is in both or in
//!   neither (a *clean cut*): its versions stay together.
//! * I3: of the files that overlap, those between the newest and the oldest input in age are
//!   inputs, too. From level 0 into a deeper level, every older file that overlaps an input is
//!   one, and with leveled compaction one such compaction runs at a time.
//! * I4: all files of a deeper output level that overlap the inputs are inputs, and no other
//!   running compaction writes into that range.
//! * I5: what is written to level 0 has the epoch number of the oldest input, which by I3 puts
//!   it where its inputs were in age.
//! * I6: if tables may be ingested behind all others, no input and no output is on the last
//!   level, so that everything there has the sequence number 0 and stays below the rest.

mod fifo;
mod leveled;
mod manual;
mod named;
mod paths;
mod universal;

pub(crate) use super::score::{LevelState, Moment, level_state};
pub(crate) use manual::{pick_all, pick_manual, pick_move};
pub(crate) use named::pick_named;

use super::score::{Place, compression_of};
use crate::compact::reason::CompactionReason;
use crate::options::CfOptions;
use crate::options::compaction::CompactionStyle;
use crate::version::range::KeyRange;
use crate::version::{TableFile, Version, hull};
use std::cmp::Ordering;
use std::collections::HashMap;
use std::sync::Arc;
use whitewater_storage::key::{self, InternalComparator, UserComparator};
use whitewater_storage::planted;
use whitewater_storage::sst::CompressionType;
use whitewater_storage::{Error, ErrorKind, Result};

type Files = Vec<Arc<TableFile>>;

/// A compaction that was picked: its input files are marked until it is dropped.
#[derive(Debug)]
pub(crate) struct Compaction {
    /// The version that the inputs were picked from.
    pub version: Arc<Version>,
    /// Input files by level, from the start level to the output level.
    pub inputs: Vec<(usize, Vec<Arc<TableFile>>)>,
    pub output_level: usize,
    /// The path that tables are written to.
    pub path_id: u32,
    /// Nothing older than the inputs holds keys in their range, or will come to do so.
    pub bottommost: bool,
    /// Tables with any keys may be ingested behind all others, so entries that hide older ones are
    /// kept.
    pub open_behind: bool,
    /// The files can become part of the output level as they are.
    pub trivial_move: bool,
    /// The files are deleted, and nothing is written.
    pub deletes: bool,
    /// The outputs are not compressed.
    pub uncompressed: bool,
    /// Why the compaction was picked.
    pub reason: CompactionReason,
    /// What its caller wants different from the options.
    pub wishes: Wishes,
}

/// What a caller wants of the outputs of a compaction, where it differs from the options.
#[derive(Debug, Clone, Default)]
pub(crate) struct Wishes {
    /// The codec of the tables.
    pub compression: Option<CompressionType>,
    /// Start a new table at about this size, but on level 0. Bytes.
    pub max_file_size: Option<u64>,
    /// The largest number of threads; 0 is that of the options.
    pub max_subcompactions: u32,
}

impl Compaction {
    /// Whether nothing older than the inputs holds `user_key`.
    pub fn key_not_below(&self, user: &UserComparator, user_key: &[u8]) -> bool {
        let mut deeper = self.output_level + 1..self.version.levels.len();
        let holds = |level| self.version.may_hold(level, user, user_key);
        // Older files of level 0 may exist beside an output on level 0.
        let mut none_older = || self.output_level > 0 && !deeper.any(holds);
        self.bottommost || (!self.open_behind && none_older())
    }

    /// Whether the file in this place of `version` is among the inputs.
    pub fn takes(&self, (level, i): Place) -> bool {
        let file = &self.version.levels[level][i];
        let of_level = self.inputs.iter().filter(|(of, _)| *of == level);
        of_level
            .flat_map(|(_, files)| files)
            .any(|input| Arc::ptr_eq(input, file))
    }
}

impl Drop for Compaction {
    fn drop(&mut self) {
        for (_, files) in &self.inputs {
            for f in files {
                f.set_job(None);
            }
        }
    }
}

impl Compaction {
    /// The inputs and the output level, in RocksDB's words: `4@0 + 2@1 files to L1`.
    pub fn summary(&self) -> String {
        let inputs = self.inputs.iter();
        let inputs: Vec<_> = inputs.map(|(l, f)| format!("{}@{l}", f.len())).collect();
        format!("{} files to L{}", inputs.join(" + "), self.output_level)
    }
}

/// The position at which the next compaction of each level starts (round robin).
#[derive(Debug, Clone, Default)]
pub(crate) struct CompactCursor {
    /// The internal key for each level; empty for the beginning.
    pub next: Vec<Vec<u8>>,
}

/// Picks the most urgent automatic compaction, if any, and marks its inputs.
/// Called with the database mutex held.
pub(crate) fn pick_automatic(
    version: &Arc<Version>,
    options: &CfOptions,
    comparator: &InternalComparator,
    cursor: &mut CompactCursor,
    moment: &Moment,
) -> Option<Compaction> {
    let user = &comparator.user;
    let state = level_state(version, options, user, moment);
    let picker = Picker {
        version,
        options,
        user,
    };
    match options.compaction_style {
        CompactionStyle::Level => picker.leveled(&state, comparator, cursor),
        CompactionStyle::Universal => picker.universal(&state),
        CompactionStyle::Fifo => picker.fifo(moment),
    }
}

/// Picks the files below level 0 that have no user key outside `range`, and that share no user
/// key with a file that has one. So they also contain the older versions of their keys, as far
/// as their level has any. Marks the files as a compaction would. Files that a compaction reads
/// are left out. Called with the database mutex held.
pub(crate) fn pick_within(
    version: &Arc<Version>,
    user: &UserComparator,
    range: KeyRange<'_>,
) -> Vec<(usize, Arc<TableFile>)> {
    let mut picked = Vec::new();
    for level in 1..version.levels.len() {
        let span = version.overlapping_span(level, user, range);
        let files = &version.levels[level][span];
        let within = |f: &TableFile| !f.being_compacted() && range.hull(user, &f.range()) == range;
        let mut inside: Vec<bool> = files.iter().map(|f| within(f)).collect();
        // A file that stays keeps a neighbour that shares a key with it.
        let keeps = |i: usize, j: usize, inside: &[bool]| {
            !inside[j] && files[i].range().overlaps(user, &files[j].range())
        };
        for i in 1..files.len() {
            inside[i] &= !keeps(i, i - 1, &inside);
        }
        for i in (0..files.len().saturating_sub(1)).rev() {
            inside[i] &= !keeps(i, i + 1, &inside);
        }
        let inside = files.iter().zip(inside).filter(|(_, inside)| *inside);
        picked.extend(inside.map(|(f, _)| (level, f.clone())));
    }
    let job = picked.first().map(|(level, f)| (f.meta.number, *level));
    picked.iter().for_each(|(_, f)| f.set_job(job));
    picked
}

/// Picks the file of the number `number`, with its level, and marks it. Nothing older than its
/// entries may be in other files, so that nothing old comes to light without it: no deeper level
/// has files, and on level 0 it is the last. Called with the database mutex held.
///
/// # Errors
/// `InvalidArgument` if something may be older, `Busy` if a compaction reads the file.
pub(crate) fn pick_last(version: &Version, number: u64) -> Result<Option<(usize, Arc<TableFile>)>> {
    let levels = version.levels.iter().enumerate();
    let mut files = levels.flat_map(|(level, files)| files.iter().map(move |f| (level, f)));
    let Some((level, file)) = files.find(|(_, f)| f.meta.number == number) else {
        return Ok(None);
    };
    if version.levels[level + 1..]
        .iter()
        .any(|files| !files.is_empty())
    {
        return Err(Error::invalid("File not in last level"));
    }
    let oldest = version.levels[level].last();
    if level == 0 && oldest.is_some_and(|oldest| oldest.meta.number != number) {
        return Err(Error::invalid("File in level 0, but not oldest"));
    }
    if file.being_compacted() {
        return Err(Error::new(
            ErrorKind::Busy,
            format_args!("table {number} is being compacted"),
        ));
    }
    file.set_job(Some((number, level)));
    Ok(Some((level, file.clone())))
}

fn any_busy(files: &[Arc<TableFile>]) -> bool {
    files.iter().any(|f| f.being_compacted())
}

/// Whether a running compaction may write a table that overlaps `range` of the output level. A
/// compaction's tables span all of its inputs, gaps included, and its inputs are in every
/// version until it is done. A compaction that moves files up to a level also keeps newer data
/// out of the levels that it passes.
pub(crate) fn range_is_busy(
    version: &Version,
    user: &UserComparator,
    output_level: usize,
    range: KeyRange<'_>,
) -> bool {
    let mut running: HashMap<u64, KeyRange<'_>> = HashMap::new();
    let levels = version.levels.iter().enumerate();
    for (level, file) in levels.flat_map(|(level, files)| files.iter().map(move |f| (level, f))) {
        if let Some((job, output)) = file.job()
            && (output == output_level || (output..level).contains(&output_level))
        {
            let whole = running.entry(job).or_insert_with(|| file.range());
            *whole = whole.hull(user, &file.range());
        }
    }
    running.values().any(|whole| whole.overlaps(user, &range))
}

struct Picker<'a> {
    version: &'a Arc<Version>,
    options: &'a CfOptions,
    user: &'a UserComparator,
}

impl Picker<'_> {
    fn max_compaction_bytes(&self) -> u64 {
        self.options.compaction_bytes()
    }

    /// The number of levels that compactions read and write.
    fn levels(&self) -> usize {
        self.options.compacted_levels(self.version.levels.len())
    }

    /// The files of `level` that overlap `inputs`, with a clean cut; `None` when one of them is
    /// being compacted.
    fn output_inputs(&self, level: usize, inputs: &[Arc<TableFile>]) -> Option<Files> {
        let range = hull(self.user, inputs)?;
        let mut files = self.clean_cut(level, self.version.overlapping(level, self.user, range));
        planted!(OverlapMissed => files.pop());
        (!any_busy(&files)).then_some(files)
    }

    /// Adds the neighbours that share a boundary user key (upholds I2). `level` must not be 0.
    fn clean_cut(&self, level: usize, files: Files) -> Files {
        let mut files = files;
        loop {
            let Some(range) = hull(self.user, &files) else {
                return files;
            };
            let more = self.version.overlapping(level, self.user, range);
            if more.len() == files.len() {
                return more;
            }
            files = more;
        }
    }

    /// Adds the level-0 files that overlap `files`, those that overlap the added ones, and so on
    /// (upholds I3).
    fn level0_closure(&self, files: Files) -> Files {
        let mut files = files;
        loop {
            let Some(range) = hull(self.user, &files) else {
                return files;
            };
            let more = self.version.overlapping(0, self.user, range);
            planted!(OlderLevel0Left => return files);
            if more.len() == files.len() {
                return more;
            }
            files = more;
        }
    }

    /// The files of level 0, from the newest on, that an intra-level compaction should merge. Files
    /// are added as long as each further one reduces the work per file that is removed. RocksDB's
    /// rule.
    fn level0_span(&self, min_files: usize, max_bytes_per_file: u64) -> Option<Files> {
        let files = &self.version.levels[0];
        let idle = files.iter().take_while(|f| !f.being_compacted()).count();
        let mut bytes = files.first()?.meta.size;
        let mut per_file = u64::MAX;
        let mut end = 1;
        while end < idle {
            bytes += files[end].meta.size;
            let next = bytes / end as u64;
            if next > per_file || bytes > self.max_compaction_bytes() {
                break;
            }
            per_file = next;
            end += 1;
        }
        let enough = idle > 0 && end >= min_files && per_file < max_bytes_per_file;
        enough.then(|| files[..end].to_vec())
    }

    /// Checks the rest of I4 and marks the inputs, which are given by level.
    fn finish(
        &self,
        inputs: Vec<(usize, Files)>,
        output_level: usize,
        reason: CompactionReason,
    ) -> Option<Compaction> {
        let range = hull(self.user, inputs.iter().flat_map(|(_, files)| files))?;
        if output_level > 0 && range_is_busy(self.version, self.user, output_level, range) {
            return None;
        }
        let mut deeper = output_level + 1..self.version.levels.len();
        let overlaps = |l| {
            let version = self.version;
            !version.overlapping_span(l, self.user, range).is_empty()
        };
        let open_behind = self.options.reserves_last_level();
        let compaction = Compaction {
            version: self.version.clone(),
            open_behind,
            bottommost: !open_behind
                && self.ends_level0(&inputs, output_level)
                && !deeper.any(overlaps),
            trivial_move: false,
            deletes: false,
            uncompressed: false,
            inputs: (inputs.into_iter())
                .filter(|(_, files)| !files.is_empty())
                .collect(),
            output_level,
            path_id: 0,
            reason,
            wishes: Wishes::default(),
        };
        let all = || compaction.inputs.iter().flat_map(|(_, files)| files);
        let job = all().next().map(|f| (f.meta.number, output_level));
        all().for_each(|f| f.set_job(job));
        Some(compaction)
    }

    /// Whether no file of level 0 is older than the output. For outputs in deeper levels, the files
    /// that overlap are inputs (I3).
    fn ends_level0(&self, inputs: &[(usize, Files)], output_level: usize) -> bool {
        let newest_last = |(level, files): &(usize, Files)| match level {
            0 => files.last().map(|f| f.meta.number),
            _ => None,
        };
        let oldest = self.version.levels[0].last().map(|f| f.meta.number);
        output_level > 0 || inputs.first().and_then(newest_last) == oldest
    }

    /// Whether `files` of `level` can become part of `output_level` unchanged. Nothing overlaps
    /// them there.
    fn can_move(&self, level: usize, files: &[Arc<TableFile>], output_level: usize) -> bool {
        if level == output_level || (level == 0 && !self.disjoint(files)) {
            return false;
        }
        let compression = |level| compression_of(self.options, self.version, level).ty;
        if compression(output_level) != compression(level) {
            return false;
        }
        let last = output_level + 1 >= self.levels();
        last || files.iter().all(|f| {
            let below = output_level + 1;
            let bytes = self.version.overlapping_bytes(below, self.user, f.range());
            bytes <= self.max_compaction_bytes()
        })
    }

    /// Whether no two of the files share a user key.
    fn disjoint(&self, files: &[Arc<TableFile>]) -> bool {
        let mut sorted: Vec<&Arc<TableFile>> = files.iter().collect();
        sorted.sort_by(|a, b| self.by_start(a, b));
        let overlap = |w: &[&Arc<TableFile>]| w[0].range().overlaps(self.user, &w[1].range());
        !sorted.windows(2).any(overlap)
    }

    fn by_start(&self, a: &TableFile, b: &TableFile) -> Ordering {
        let (a, b) = (&a.meta.smallest, &b.meta.smallest);
        self.user.compare_keys(key::user_key(a), key::user_key(b))
    }
}

#[cfg(test)]
mod tests;
