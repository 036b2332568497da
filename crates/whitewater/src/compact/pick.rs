//! Which tables to compact.
//!
//! Pure functions over a version; only the marks on picked files are state.
//! Every pick keeps the order of versions: what stays above is newer than what
//! goes down, key by key.
//!
//! Invariants of a pick:
//! * I1: no input was marked before.
//! * I2: a user key at the boundary of two files of a level is in both or in
//!   neither (a *clean cut*): its versions stay together.
//! * I3: from level 0, every file older than an input that overlaps it is an
//!   input too, and one such compaction runs at a time.
//! * I4: all files of the output level that overlap the inputs are inputs, and
//!   no other running compaction writes into that range.

pub(crate) use super::score::{LevelState, level_state};
use crate::options::CfOptions;
use crate::version::range::KeyRange;
use crate::version::{TableFile, Version, hull, total_bytes};
use std::cmp::Ordering;
use std::collections::HashMap;
use std::sync::Arc;
use whitewater_storage::key::{self, InternalComparator, UserComparator};

type Files = Vec<Arc<TableFile>>;

/// A compaction that was picked: its input files are marked until it is dropped.
#[derive(Debug)]
pub(crate) struct Compaction {
    /// The version the inputs were picked from.
    pub version: Arc<Version>,
    /// Input files by level: the start level first, then the output level.
    pub inputs: Vec<(usize, Vec<Arc<TableFile>>)>,
    pub output_level: usize,
    /// No deeper level holds keys in the range of the inputs.
    pub bottommost: bool,
    /// The files can be moved down as they are.
    pub trivial_move: bool,
    /// For the LOG: why it was picked.
    pub reason: &'static str,
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

/// Where the next compaction of each level starts (round robin).
#[derive(Debug, Clone, Default)]
pub(crate) struct CompactCursor {
    /// Internal key per level, empty for the beginning.
    pub next: Vec<Vec<u8>>,
}

/// Picks the most urgent automatic compaction, if any, and marks its inputs.
/// Called with the database mutex held.
pub(crate) fn pick_automatic(
    version: &Arc<Version>,
    options: &CfOptions,
    comparator: &InternalComparator,
    cursor: &mut CompactCursor,
) -> Option<Compaction> {
    let state = level_state(version, options);
    let picker = Picker {
        version,
        options,
        user: &comparator.user,
    };
    let mut level0_waits = false;
    for &(score, level) in &state.scores {
        if score < 1.0 {
            break;
        }
        if level == 0 {
            let picked = picker.level0(state.base_level);
            if picked.is_some() {
                return picked;
            }
            level0_waits = true;
        } else if level0_waits && level == state.base_level {
            // More work on the base level would make level 0 wait longer.
        } else if let Some(picked) = picker.file_of(level, comparator, cursor) {
            return Some(picked);
        }
    }
    None
}

/// Picks the compaction of the files of `level` that overlap the user keys
/// `[begin, end]` (`None` is open) into `output_level`, or into the first
/// level on the way there that overlaps them. `None` when there are no such
/// files; `Some(Err(()))` when some are being compacted: try later.
pub(crate) fn pick_manual(
    version: &Arc<Version>,
    options: &CfOptions,
    comparator: &InternalComparator,
    level: usize,
    output_level: usize,
    begin: Option<&[u8]>,
    end: Option<&[u8]>,
) -> Option<Result<Compaction, ()>> {
    let picker = Picker {
        version,
        options,
        user: &comparator.user,
    };
    let range = KeyRange::closed(begin, end);
    let files = match level {
        0 => picker.level0_closure(version.overlapping(0, picker.user, range)),
        _ => picker.clean_cut(level, version.overlapping(level, picker.user, range)),
    };
    let inputs = hull(picker.user, &files)?;
    let blocked = level == 0 && version.levels[0].iter().any(|f| f.being_compacted());
    if blocked || any_busy(&files) {
        return Some(Err(()));
    }
    let overlaps = |l: &usize| !version.overlapping_span(*l, picker.user, inputs).is_empty();
    let output_level = (level + 1..output_level)
        .find(overlaps)
        .unwrap_or(output_level);
    let below = match output_level == level {
        true => Some(Vec::new()),
        false => picker.output_inputs(output_level, &files),
    };
    let picked = below
        .and_then(|below| picker.finish((level, files), (output_level, below), "ManualCompaction"));
    Some(picked.ok_or(()))
}

fn any_busy(files: &[Arc<TableFile>]) -> bool {
    files.iter().any(|f| f.being_compacted())
}

struct Picker<'a> {
    version: &'a Arc<Version>,
    options: &'a CfOptions,
    user: &'a UserComparator,
}

impl Picker<'_> {
    fn max_compaction_bytes(&self) -> u64 {
        match self.options.max_compaction_bytes {
            0 => self.options.target_file_size_base.saturating_mul(25),
            limit => limit,
        }
    }

    /// All of level 0 into the base level.
    fn level0(&self, base_level: usize) -> Option<Compaction> {
        let files = self.version.levels[0].clone();
        if files.is_empty() || any_busy(&files) {
            return None; // I3
        }
        let below = self.output_inputs(base_level, &files)?;
        self.finish((0, files), (base_level, below), "LevelL0FilesNum")
    }

    /// A file of `level` and its neighbours into the next level: the file that
    /// drags the fewest bytes of the next level along, for its size.
    fn file_of(
        &self,
        level: usize,
        comparator: &InternalComparator,
        cursor: &mut CompactCursor,
    ) -> Option<Compaction> {
        cursor.next.resize(self.version.levels.len(), Vec::new());
        let next = std::mem::take(&mut cursor.next[level]);
        let files = &self.version.levels[level];
        let first = match next.is_empty() {
            true => 0,
            false => files.partition_point(|f| comparator.compare(&f.meta.largest, &next).is_le()),
        };
        // From the cursor on, so that equals take turns.
        let (before, after) = files.split_at(first);
        let mut candidates: Vec<_> = (after.iter().chain(before))
            .filter(|f| !f.being_compacted())
            .map(|f| (self.overlap_ratio(level, f), f))
            .collect();
        candidates.sort_by(|a, b| a.0.total_cmp(&b.0));
        let picked = candidates
            .into_iter()
            .find_map(|(_, file)| self.around(level, file));
        cursor.next[level] = match &picked {
            Some(c) => c.inputs[0]
                .1
                .last()
                .map_or(next, |f| f.meta.largest.clone()),
            None => next,
        };
        picked
    }

    /// Bytes of the next level per byte of `file` that its compaction rewrites.
    fn overlap_ratio(&self, level: usize, file: &TableFile) -> f64 {
        let below = (self.version).overlapping_bytes(level + 1, self.user, file.range());
        let size = file.meta.size + file.meta.compensated_range_deletion_size;
        below as f64 / size.max(1) as f64
    }

    fn around(&self, level: usize, file: &Arc<TableFile>) -> Option<Compaction> {
        let files = self.clean_cut(level, vec![file.clone()]);
        if any_busy(&files) {
            return None;
        }
        let below = self.output_inputs(level + 1, &files)?;
        let (files, below) = self.grown(level, files, below);
        self.finish((level, files), (level + 1, below), "LevelMaxLevelSize")
    }

    /// Adds files of the start level that the output side covers anyway, as
    /// long as it stays the same and the whole stays small.
    fn grown(&self, level: usize, files: Files, below: Files) -> (Files, Files) {
        let all = hull(self.user, files.iter().chain(&below));
        let (Some(all), false) = (all, below.is_empty()) else {
            return (files, below);
        };
        let more = self.version.overlapping(level, self.user, all);
        let more = self.clean_cut(level, more);
        let small = total_bytes(&more) + total_bytes(&below) < self.max_compaction_bytes();
        if more.len() > files.len() && small && !any_busy(&more) {
            let again = self.output_inputs(level + 1, &more);
            if again.is_some_and(|again| again.len() == below.len()) {
                return (more, below);
            }
        }
        (files, below)
    }

    /// The files of `level` that overlap `inputs`, cut cleanly; `None` when one
    /// is being compacted.
    fn output_inputs(&self, level: usize, inputs: &[Arc<TableFile>]) -> Option<Files> {
        let range = hull(self.user, inputs)?;
        let files = self.clean_cut(level, self.version.overlapping(level, self.user, range));
        (!any_busy(&files)).then_some(files)
    }

    /// Adds the neighbours that share a boundary user key (upholds I2).
    /// `level` is not 0.
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

    /// Adds the level-0 files that overlap `files`, and so on (upholds I3).
    fn level0_closure(&self, files: Files) -> Files {
        let mut files = files;
        loop {
            let Some(range) = hull(self.user, &files) else {
                return files;
            };
            let more = self.version.overlapping(0, self.user, range);
            if more.len() == files.len() {
                return more;
            }
            files = more;
        }
    }

    /// Checks what is left of I4 and marks the inputs.
    fn finish(
        &self,
        start: (usize, Files),
        output: (usize, Files),
        reason: &'static str,
    ) -> Option<Compaction> {
        let range = hull(self.user, start.1.iter().chain(&output.1))?;
        let output_level = output.0;
        if self.range_is_busy(output_level, range) {
            return None;
        }
        let deeper = output_level + 1..self.version.levels.len();
        let overlaps = |l| {
            !self
                .version
                .overlapping_span(l, self.user, range)
                .is_empty()
        };
        let compaction = Compaction {
            version: self.version.clone(),
            bottommost: output_level > 0 && !deeper.clone().any(overlaps),
            trivial_move: output.1.is_empty() && self.can_move(&start, output_level),
            inputs: [start, output]
                .into_iter()
                .filter(|(_, files)| !files.is_empty())
                .collect(),
            output_level,
            reason,
        };
        let all = || compaction.inputs.iter().flat_map(|(_, files)| files);
        let job = all().next().map(|f| (f.meta.number, output_level));
        all().for_each(|f| f.set_job(job));
        Some(compaction)
    }

    /// Whether a running compaction may write a table that overlaps `range` of
    /// the output level. Its tables span all of its inputs, gaps included, and
    /// its inputs are in every version until it is done.
    fn range_is_busy(&self, output_level: usize, range: KeyRange<'_>) -> bool {
        let mut running: HashMap<u64, KeyRange<'_>> = HashMap::new();
        for file in self.version.levels.iter().flatten() {
            if let Some((job, output)) = file.job()
                && output == output_level
            {
                let whole = running.entry(job).or_insert_with(|| file.range());
                *whole = whole.hull(self.user, &file.range());
            }
        }
        running
            .values()
            .any(|whole| whole.overlaps(self.user, &range))
    }

    /// Whether the files can become part of `output_level` as they are.
    fn can_move(&self, start: &(usize, Files), output_level: usize) -> bool {
        let (level, files) = start;
        if *level == output_level || (*level == 0 && !self.disjoint(files)) {
            return false;
        }
        let last = output_level + 1 == self.version.levels.len();
        let from = self.options.compression_for(*level, false);
        if self.options.compression_for(output_level, last) != from {
            return false;
        }
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
        self.user.compare(key::user_key(a), key::user_key(b))
    }
}

#[cfg(test)]
mod tests;
