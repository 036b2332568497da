//! Picks of leveled compaction.

use super::{CompactCursor, Compaction, Files, LevelState, Picker, any_busy};
use crate::compact::reason::CompactionReason;
use crate::options::compaction::CompactionPri;
use crate::version::{TableFile, hull, total_bytes};
use std::cmp::Reverse;
use std::sync::Arc;
use whitewater_storage::key::InternalComparator;

/// The smallest number of level-0 files that are worth merging among themselves.
const MIN_FILES_WITHIN_LEVEL0: usize = 4;

/// Where files that are due on their own are compacted to.
#[derive(Clone, Copy)]
enum Way {
    /// Into the next level.
    Down,
    /// Into the next level, or, from the last level with data, into the same level.
    DownOrStay,
    /// Into the same level: they are rewritten where they are.
    Stay,
}

impl Picker<'_> {
    /// Picks the most urgent compaction: of levels that are too full by their scores, then of
    /// single files that are due.
    pub(super) fn leveled(
        &self,
        state: &LevelState,
        comparator: &InternalComparator,
        cursor: &mut CompactCursor,
    ) -> Option<Compaction> {
        if self.levels() < 2 {
            return None;
        }
        self.by_score(state, comparator, cursor)
            .or_else(|| self.by_marks(state))
    }

    fn by_score(
        &self,
        state: &LevelState,
        comparator: &InternalComparator,
        cursor: &mut CompactCursor,
    ) -> Option<Compaction> {
        let mut level0_waits = false;
        for &(score, level) in &state.scores {
            if score < 1.0 {
                break;
            }
            if level == 0 {
                let reason = CompactionReason::LevelL0FilesNum;
                let picked = self.level0(state.base_level, reason);
                let picked = picked.or_else(|| self.within_level0());
                if picked.is_some() {
                    return picked;
                }
                level0_waits = true;
            } else if level0_waits && level == state.base_level {
                // More work on the base level would make level 0 wait even longer.
            } else if let Some(picked) = self.file_of(level, comparator, cursor) {
                return Some(picked);
            }
        }
        None
    }

    fn by_marks(&self, state: &LevelState) -> Option<Compaction> {
        let marks = &state.marks;
        let rewrite = if self.options.level_compaction_dynamic_level_bytes {
            Way::DownOrStay
        } else {
            Way::Stay
        };
        let kinds = [
            (
                &marks.requested,
                Way::Down,
                CompactionReason::FilesMarkedForCompaction,
            ),
            (
                &marks.bottommost,
                Way::Stay,
                CompactionReason::BottommostFiles,
            ),
            (&marks.expired, Way::Down, CompactionReason::Ttl),
            (
                &marks.periodic,
                rewrite,
                CompactionReason::PeriodicCompaction,
            ),
            (
                &marks.forced_blob_gc,
                Way::Stay,
                CompactionReason::ForcedBlobGc,
            ),
        ];
        let picked = kinds.into_iter().find_map(|(places, way, reason)| {
            let mut places = places.iter();
            places.find_map(|&(level, i)| {
                let file = &self.version.levels[level][i];
                self.single(level, file, state.base_level, way, reason)
            })
        });
        picked.or_else(|| self.read_triggered(state))
    }

    /// Picks a file that reads look into too often. In level 0, reads look into the others, too, so
    /// all go down together.
    fn read_triggered(&self, state: &LevelState) -> Option<Compaction> {
        let reason = CompactionReason::ReadTriggered;
        let mut places = state.marks.read_triggered.iter();
        places.find_map(|&(level, i)| match level {
            0 => self.level0(state.base_level, reason),
            _ => {
                let file = &self.version.levels[level][i];
                self.single(level, file, state.base_level, Way::Down, reason)
            }
        })
    }

    /// Picks all of level 0, to compact into the base level.
    fn level0(&self, base_level: usize, reason: CompactionReason) -> Option<Compaction> {
        let files = self.version.levels[0].clone();
        if files.is_empty() || any_busy(&files) {
            return None; // I3
        }
        self.merge_down(0, files, base_level, reason)
    }

    /// Picks the newest files of level 0, to merge them among themselves, so that there are fewer
    /// files while level 0 cannot be compacted down.
    fn within_level0(&self) -> Option<Compaction> {
        let trigger = self.options.level0_file_num_compaction_trigger.max(1) as usize;
        if self.version.num_files(0) < trigger + 2 {
            return None;
        }
        let files = self.level0_span(MIN_FILES_WITHIN_LEVEL0, u64::MAX)?;
        let picked = self.finish(vec![(0, files)], 0, CompactionReason::LevelL0FilesNum)?;
        Some(picked.into_path(self.path_of_level(0)))
    }

    /// Picks a file of `level` and its neighbours, to compact into the next level: the first file,
    /// by priority, that can be compacted.
    fn file_of(
        &self,
        level: usize,
        comparator: &InternalComparator,
        cursor: &mut CompactCursor,
    ) -> Option<Compaction> {
        cursor.next.resize(self.version.levels.len(), Vec::new());
        let next = std::mem::take(&mut cursor.next[level]);
        let files = &self.version.levels[level];
        let first = if next.is_empty() {
            0
        } else {
            files.partition_point(|f| comparator.compare(&f.meta.largest, &next).is_le())
        };
        // Candidates start at the cursor, so that files of equal priority take turns.
        let (before, after) = files.split_at(first);
        let mut candidates: Vec<_> = (after.iter().chain(before))
            .filter(|f| !f.being_compacted())
            .collect();
        match self.options.compaction_pri {
            CompactionPri::ByCompensatedSize => {
                candidates.sort_by_key(|f| Reverse(f.compensated_size()));
            }
            CompactionPri::OldestLargestSeqFirst => {
                candidates.sort_by_key(|f| f.meta.largest_seqno);
            }
            CompactionPri::OldestSmallestSeqFirst => {
                candidates.sort_by_key(|f| f.meta.smallest_seqno);
            }
            CompactionPri::MinOverlappingRatio => {
                let ratio = |f: &&Arc<TableFile>| self.overlap_ratio(level, f);
                let mut rated: Vec<_> = candidates.iter().map(|f| (ratio(f), *f)).collect();
                rated.sort_by(|a, b| a.0.total_cmp(&b.0));
                candidates = rated.into_iter().map(|(_, f)| f).collect();
            }
            CompactionPri::RoundRobin => {}
        }
        let picked = candidates
            .into_iter()
            .find_map(|file| self.around(level, file));
        cursor.next[level] = match &picked {
            Some(c) => c.inputs[0]
                .1
                .last()
                .map_or(next, |f| f.meta.largest.clone()),
            None => next,
        };
        picked
    }

    /// The number of bytes of the next level that compacting `file` rewrites, per byte of `file`.
    fn overlap_ratio(&self, level: usize, file: &TableFile) -> f64 {
        let below = (self.version).overlapping_bytes(level + 1, self.user, file.range());
        below as f64 / file.compensated_size().max(1) as f64
    }

    fn around(&self, level: usize, file: &Arc<TableFile>) -> Option<Compaction> {
        let files = self.clean_cut(level, vec![file.clone()]);
        self.merge_down(level, files, level + 1, CompactionReason::LevelMaxLevelSize)
    }

    /// Picks a file that is due on its own, with all files that must go along.
    fn single(
        &self,
        level: usize,
        file: &Arc<TableFile>,
        base_level: usize,
        way: Way,
        reason: CompactionReason,
    ) -> Option<Compaction> {
        let stays = match way {
            Way::Down => false,
            Way::DownOrStay => level == self.version.last_of(self.levels()),
            Way::Stay => true,
        };
        let output = match level {
            _ if stays => level,
            0 => base_level,
            _ => level + 1,
        };
        if level == 0 && any_busy(&self.version.levels[0]) {
            return None; // I3
        }
        let alone = vec![file.clone()];
        let files = match level {
            0 if stays => alone,
            0 => self.level0_closure(alone),
            _ => self.clean_cut(level, alone),
        };
        if !stays {
            return self.merge_down(level, files, output, reason);
        }
        if any_busy(&files) {
            return None;
        }
        let picked = self.finish(vec![(level, files)], level, reason)?;
        // With the neighbours, data in deeper levels may overlap. Then nothing would be gained, and
        // the files would be due again.
        let useless = reason == CompactionReason::BottommostFiles && !picked.bottommost;
        (!useless).then(|| picked.into_path(self.path_of_level(level)))
    }

    /// Picks `files` of `level` and the files that they overlap in the deeper level `output_level`.
    fn merge_down(
        &self,
        level: usize,
        files: Files,
        output_level: usize,
        reason: CompactionReason,
    ) -> Option<Compaction> {
        if any_busy(&files) {
            return None;
        }
        let below = self.output_inputs(output_level, &files)?;
        let (files, below) = match level {
            0 => (files, below),
            _ => self.grown(level, files, below),
        };
        let moves = below.is_empty() && self.can_move(level, &files, output_level);
        let mut picked = self.finish(
            vec![(level, files), (output_level, below)],
            output_level,
            reason,
        )?;
        // If a request can be answered by dropping entries, the file is rewritten and not moved.
        picked.trivial_move =
            moves && !(reason == CompactionReason::FilesMarkedForCompaction && picked.bottommost);
        Some(picked.into_path(self.path_of_level(output_level)))
    }

    /// Adds files of the start level whose range the output level's inputs cover anyway, as long as
    /// those inputs stay the same and the whole stays small.
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
}
