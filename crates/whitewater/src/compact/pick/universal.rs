//! Picks of universal compaction.
//!
//! A sorted run is a file of level 0, or all files of a deeper level. Runs are ordered by age,
//! newest first. A pick takes neighbouring runs, and its output goes as deep as it can without
//! passing an older run. The rules are RocksDB's, except for `incremental`.

use super::{Compaction, Files, LevelState, Picker, any_busy};
use crate::compact::reason::CompactionReason;
use crate::options::compaction::StopStyle;
use crate::version::total_bytes;
use std::ops::Range;

/// A sorted run.
struct Run {
    level: usize,
    files: Files,
    bytes: u64,
    /// The size in bytes, with deletions counting for more.
    compensated: u64,
    busy: bool,
}

impl Run {
    fn new(level: usize, files: Files) -> Self {
        Run {
            level,
            bytes: total_bytes(&files),
            compensated: files.iter().map(|f| f.compensated_size()).sum(),
            busy: any_busy(&files),
            files,
        }
    }
}

/// `bytes` increased by `percent`.
fn plus_percent(bytes: u64, percent: u32) -> f64 {
    bytes as f64 * (100.0 + f64::from(percent)) / 100.0
}

impl Picker<'_> {
    /// The pick of the first rule that finds something to merge.
    pub(super) fn universal(&self, state: &LevelState) -> Option<Compaction> {
        let runs = self.runs();
        let trigger = self.options.level0_file_num_compaction_trigger.max(1) as usize;
        let periodic = || {
            let due = !state.marks.periodic.is_empty();
            due.then(|| self.everything_old(&runs, state)).flatten()
        };
        let by_runs = || {
            if runs.len() < trigger {
                return None;
            }
            let size_ratio = self.options.compaction_options_universal.size_ratio;
            let idle = runs.iter().filter(|run| !run.busy).count();
            self.for_space(&runs)
                .or_else(|| {
                    self.neighbours(
                        &runs,
                        size_ratio,
                        usize::MAX,
                        CompactionReason::UniversalSizeRatio,
                    )
                })
                .or_else(|| {
                    let many = (idle + 1).checked_sub(trigger).filter(|n| *n > 1)?;
                    self.neighbours(
                        &runs,
                        u32::MAX,
                        many,
                        CompactionReason::UniversalSortedRunNum,
                    )
                })
        };
        periodic()
            .or_else(by_runs)
            .or_else(|| self.requested(&runs, state))
    }

    /// The sorted runs, newest first.
    fn runs(&self) -> Vec<Run> {
        let levels = &self.version.levels;
        let newest = levels[0].iter().map(|f| Run::new(0, vec![f.clone()]));
        let deeper = levels.iter().enumerate().take(self.levels()).skip(1);
        let deeper = deeper.filter(|(_, files)| !files.is_empty());
        newest
            .chain(deeper.map(|(level, files)| Run::new(level, files.clone())))
            .collect()
    }

    /// The index at which the idle runs at the end of `runs` begin.
    fn idle_tail(runs: &[Run]) -> usize {
        runs.iter().rposition(|run| run.busy).map_or(0, |i| i + 1)
    }

    /// Picks all idle runs from the oldest on, because some file is too old.
    fn everything_old(&self, runs: &[Run], state: &LevelState) -> Option<Compaction> {
        let start = Self::idle_tail(runs);
        let is_due = |run: &Run| {
            state.marks.periodic.iter().any(|&(level, i)| {
                let number = self.version.levels[level][i].meta.number;
                run.files.iter().any(|f| f.meta.number == number)
            })
        };
        // If newer runs are busy, the due file may be among those. Then the oldest run would be
        // rewritten for nothing.
        match &runs[start..] {
            [] => None,
            [only] if !is_due(only) => None,
            _ => self.merge(
                runs,
                start..runs.len(),
                CompactionReason::PeriodicCompaction,
            ),
        }
    }

    /// Picks all idle runs from the oldest on, if those newer than the oldest are too large in
    /// relation to it.
    fn for_space(&self, runs: &[Run]) -> Option<Compaction> {
        let percent = self
            .options
            .compaction_options_universal
            .max_size_amplification_percent;
        let start = Self::idle_tail(runs);
        let (oldest, newer) = runs.get(start..)?.split_last()?;
        let newer_bytes: u64 = newer.iter().map(|run| run.compensated).sum();
        let enough = newer_bytes as f64 * 100.0 >= f64::from(percent) * oldest.bytes as f64;
        let due = !newer.is_empty() && enough;
        due.then(|| {
            self.merge(
                runs,
                start..runs.len(),
                CompactionReason::UniversalSizeAmplification,
            )
        })
        .flatten()
    }

    /// Picks the first neighbouring runs of similar sizes, with a difference of `ratio` percent
    /// allowed; at most `most` runs.
    fn neighbours(
        &self,
        runs: &[Run],
        ratio: u32,
        most: usize,
        reason: CompactionReason,
    ) -> Option<Compaction> {
        let universal = &self.options.compaction_options_universal;
        let most = most.min(universal.max_merge_width as usize);
        let fewest = universal.min_merge_width.max(2) as usize;
        let span = |start: usize| {
            if runs[start].busy || most == 0 {
                return start..start;
            }
            let mut picked = runs[start].compensated;
            let mut end = start + 1;
            while end < runs.len() && end - start < most && !runs[end].busy {
                let next = &runs[end];
                if plus_percent(picked, ratio) < next.bytes as f64 {
                    break;
                }
                picked = match universal.stop_style {
                    StopStyle::TotalSize => picked + next.compensated,
                    StopStyle::SimilarSize if plus_percent(next.bytes, ratio) < picked as f64 => {
                        break;
                    }
                    StopStyle::SimilarSize => next.compensated,
                };
                end += 1;
            }
            start..end
        };
        let span = (0..runs.len()).map(span).find(|s| s.len() >= fewest)?;
        self.merge(runs, span, reason)
    }

    /// Picks files that were made with a request. With one level, picks everything from the first
    /// of them on to the oldest. Otherwise picks the file with what it overlaps in the next level
    /// that has data.
    fn requested(&self, runs: &[Run], state: &LevelState) -> Option<Compaction> {
        if self.levels() == 1 {
            let (_, newer) = runs.split_last()?;
            let start = newer
                .iter()
                .position(|run| !run.busy && run.files.iter().any(|f| f.asks_for_compaction()))?;
            let idle = runs[start..].iter().take_while(|run| !run.busy).count();
            let many = idle > 1;
            return many
                .then(|| {
                    self.merge(
                        runs,
                        start..start + idle,
                        CompactionReason::FilesMarkedForCompaction,
                    )
                })
                .flatten();
        }
        let mut places = state.marks.requested.iter();
        places.find_map(|&(level, i)| {
            if level == 0 && any_busy(&self.version.levels[0]) {
                return None; // I3
            }
            let alone = vec![self.version.levels[level][i].clone()];
            let files = match level {
                0 => self.level0_closure(alone),
                _ => self.clean_cut(level, alone),
            };
            if any_busy(&files) {
                return None;
            }
            let last = self.levels() - 1;
            let with_data = (level + 1..=last).find(|&l| self.version.num_files(l) > 0);
            let output = with_data.unwrap_or(if level == 0 { last } else { level + 1 });
            let below = self.output_inputs(output, &files)?;
            let inputs = vec![(level, files), (output, below)];
            let mut picked =
                self.finish(inputs, output, CompactionReason::FilesMarkedForCompaction)?;
            picked.path_id = self.path_of_size(self.version.level_bytes(output));
            Some(picked)
        })
    }

    /// Merges the runs in `span`, which are idle, into the deepest level above the run that follows
    /// them.
    fn merge(
        &self,
        runs: &[Run],
        span: Range<usize>,
        reason: CompactionReason,
    ) -> Option<Compaction> {
        let output_level = match runs.get(span.end) {
            None => self.levels() - 1,
            Some(older) => older.level.saturating_sub(1),
        };
        let mut inputs: Vec<(usize, Files)> = Vec::new();
        for run in &runs[span.clone()] {
            match inputs.last_mut() {
                Some((level, files)) if *level == run.level => files.extend_from_slice(&run.files),
                _ => inputs.push((run.level, run.files.clone())),
            }
        }
        let all: Files = inputs.iter().flat_map(|(_, files)| files.clone()).collect();
        let moves = self.options.compaction_options_universal.allow_trivial_move
            && output_level > 0
            && reason != CompactionReason::PeriodicCompaction
            && self.disjoint(&all);
        let mut picked = self.finish(inputs, output_level, reason)?;
        picked.trivial_move = moves;
        picked.uncompressed = !self.compresses(runs, span.end);
        // As in RocksDB, all newer runs count for compactions that reduce the number of runs.
        let from = match reason {
            CompactionReason::UniversalSizeRatio | CompactionReason::UniversalSortedRunNum => 0,
            _ => span.start,
        };
        let bytes = runs[from..span.end].iter().map(|run| run.bytes).sum();
        picked.path_id = self.path_of_size(bytes);
        Some(picked)
    }

    /// Whether the output of runs before the run `end` is compressed. It is not if the older runs
    /// are already all the data that should be.
    fn compresses(&self, runs: &[Run], end: usize) -> bool {
        let percent = self
            .options
            .compaction_options_universal
            .compression_size_percent;
        let Ok(percent) = u64::try_from(percent) else {
            return true;
        };
        let bytes = |runs: &[Run]| runs.iter().map(|run| run.bytes).sum::<u64>();
        let (older, all) = (bytes(&runs[end..]), bytes(runs));
        end == runs.len() || older.saturating_mul(100) < all.saturating_mul(percent)
    }
}
