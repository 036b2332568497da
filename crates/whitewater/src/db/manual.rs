//! Compactions that callers request.

use super::state::CfState;
use super::{Bottommost, Engine, ManualSpec};
use crate::column_family::ColumnFamilyData;
use crate::compact::pick::{self, CompactCursor, Compaction};
use crate::listener::FlushReason;
use crate::options::compaction::CompactionStyle;
use crate::panics::{Guarded, caught};
use crate::version::range::KeyRange;
use std::sync::Arc;
use std::time::Duration;
use whitewater_concurrent::system;
use whitewater_storage::{Error, Result};

impl Engine {
    /// Compacts the user keys `[begin, end]` (`None` is open) down to the deepest level
    /// that holds any of them. Universal compaction merges everything, whatever the keys;
    /// FIFO compaction deletes the files that are due.
    ///
    /// # Errors
    /// Errors of reading and writing tables; `InvalidArgument` and `NotSupported` when the
    /// result cannot go to the target level.
    pub fn compact_range(
        self: &Arc<Self>,
        cf: &Arc<ColumnFamilyData>,
        begin: Option<&[u8]>,
        end: Option<&[u8]>,
        spec: &ManualSpec,
    ) -> Result<()> {
        let options = cf.options();
        let levels = options.compacted_levels(options.num_levels);
        if let Some(level) = spec.target_level
            && spec.change_level
            && level >= levels
        {
            return Err(Error::invalid(format_args!(
                "target level {level} exceeds the number of levels, {levels}{}",
                if options.reserves_last_level() {
                    " without the one for what is ingested behind"
                } else {
                    ""
                }
            )));
        }
        if spec.target_path_id > cf.paths.last_id() {
            return Err(Error::invalid("Invalid target path ID"));
        }
        if !spec.history_low.is_empty() {
            self.increase_full_history_ts_low(cf, &spec.history_low)?;
        }
        let user = &cf.comparator.user;
        let begin = begin.map(|key| user.first_version(key));
        let end = end.map(|key| user.last_version(key));
        let (begin, end) = (begin.as_deref(), end.as_deref());
        self.flush_whole_batches(cf, FlushReason::ManualCompaction)?;
        let excludes = usize::from(spec.exclusive);
        self.lock_state().manual_compactions += excludes;
        // A refusal of the requested move has done no harm, and is not a failure.
        let mut refused = Ok(());
        let outcome = caught(Guarded::Job, || {
            match cf.options().compaction_style {
                CompactionStyle::Level => self.compact_levels(cf, begin, end, spec)?,
                CompactionStyle::Universal => self.compact_all(cf, spec.target_path_id)?,
                CompactionStyle::Fifo => self.compact_fifo(cf)?,
            }
            if spec.change_level {
                refused = self.change_level(cf, spec.target_level)?;
            }
            Ok(())
        });
        self.lock_state().manual_compactions -= excludes;
        if let Err(e) = &outcome {
            self.report_to_caller(e, "a manual compaction");
        }
        self.background.look_again();
        if outcome.is_ok() {
            self.purge_obsolete_files();
        }
        outcome.and(refused)
    }

    fn compact_levels(
        &self,
        cf: &Arc<ColumnFamilyData>,
        begin: Option<&[u8]>,
        end: Option<&[u8]>,
        spec: &ManualSpec,
    ) -> Result<()> {
        let bottommost = spec.bottommost;
        // Tables with higher numbers were made since then, by this call among others.
        let next_number = self.files.versions.next_file_number();
        let keeps_new = matches!(
            bottommost,
            Bottommost::IfHaveCompactionFilter | Bottommost::ForceOptimized
        );
        // The level to compact next; after each step, the level that its output went to.
        let mut level = 0;
        loop {
            let mut output = None;
            let mut goes_on = false;
            self.compact_picked(cf, |state| {
                // Looked up at each try: a running compaction may meanwhile have written to
                // a level that was empty before.
                let to = next_level(state, level, bottommost);
                output = to;
                let older_than = (keeps_new && to == Some(level)).then_some(next_number);
                let picked = pick::pick_manual(
                    &state.version,
                    state.options(),
                    &cf.comparator,
                    level,
                    to?,
                    KeyRange::closed(begin, end),
                    older_than,
                );
                // New tables may lie between old ones. Tables that are written here are
                // new.
                goes_on = older_than.is_some() && picked.is_some();
                picked.map(|picked| picked.map(|c| c.into_path(spec.target_path_id)))
            })?;
            match output {
                Some(output) if output > level => level = output,
                Some(_) if goes_on => {}
                _ => return Ok(()),
            }
        }
    }

    fn compact_all(&self, cf: &Arc<ColumnFamilyData>, path_id: u32) -> Result<()> {
        self.compact_picked(cf, |state| {
            let picked = pick::pick_all(&state.version, state.options(), &cf.comparator);
            picked.map(|picked| picked.map(|c| c.into_path(path_id)))
        })
    }

    fn compact_fifo(&self, cf: &Arc<ColumnFamilyData>) -> Result<()> {
        self.look_for_due(&mut self.lock_state());
        self.compact_picked(cf, |state| {
            let mut cursor = CompactCursor::default();
            let (version, moment) = (&state.version, &state.moment);
            pick::pick_automatic(
                version,
                state.options(),
                &cf.comparator,
                &mut cursor,
                moment,
            )
            .map(Ok)
        })
    }

    /// Moves all files of the deepest level with data to the level `target`, or without one
    /// to the lowest-numbered level that is large enough and empty, with only empty levels
    /// in between. The inner result is an error if the files must not go there.
    fn change_level(
        &self,
        cf: &Arc<ColumnFamilyData>,
        target: Option<usize>,
    ) -> Result<Result<()>> {
        let mut refused = Ok(());
        self.compact_picked(cf, |state| {
            let levels = state.options().compacted_levels(state.version.levels.len());
            let from = state.version.last_of(levels);
            let to = target.unwrap_or_else(|| least_level(state, from));
            if to == from || state.version.num_files(from) == 0 {
                return None;
            }
            refused = check_move(state, from, to);
            if refused.is_err() {
                return None;
            }
            let moved = pick::pick_move(&state.version, state.options(), &cf.comparator, from, to);
            Some(moved.ok_or(()))
        })?;
        Ok(refused)
    }

    /// Runs what `pick` finds, if anything. Waits while a running compaction is in its way.
    fn compact_picked(
        &self,
        cf: &Arc<ColumnFamilyData>,
        mut pick: impl FnMut(&CfState) -> Option<Result<Compaction, ()>>,
    ) -> Result<()> {
        let mut held_back = false;
        let picked = self.wait_to_pick(cf, &mut pick, &mut held_back);
        if held_back {
            // Whatever the outcome: a thread may have found that it had to wait.
            self.background.work.notify_all();
        }
        let Some(compaction) = picked? else {
            return Ok(());
        };
        let outcome = caught(Guarded::Job, || {
            self.run_compaction(cf, compaction).map(drop)
        });
        let _purge = self.compaction_ended(cf);
        if outcome.is_ok() {
            self.purge_obsolete_files();
        }
        outcome
    }

    /// Returns what `pick` finds, counted as running, once no running compaction is in its
    /// way. While this waits, no compaction starts in the column family, and `held_back` is
    /// set: others could take the files again and again.
    fn wait_to_pick(
        &self,
        cf: &Arc<ColumnFamilyData>,
        pick: &mut dyn FnMut(&CfState) -> Option<Result<Compaction, ()>>,
        held_back: &mut bool,
    ) -> Result<Option<Compaction>> {
        let mut state = self.lock_state();
        loop {
            Self::check_healthy(&state)?;
            let Some(current) = state.cfs.get_mut(&cf.id) else {
                return Ok(None);
            };
            if current.ingesting {
                self.background.wait_for_job(&mut state, None);
                continue;
            }
            match pick(current) {
                None => return Ok(None),
                Some(Ok(compaction)) => {
                    state.running_compactions += 1;
                    return Ok(Some(compaction));
                }
                // A running compaction uses some of the files.
                Some(Err(())) => {
                    current.requests_waiting += 1;
                    *held_back = true;
                    let soon = system::now() + Duration::from_millis(100);
                    self.background.wait_for_job(&mut state, Some(soon));
                    if let Some(current) = state.cfs.get_mut(&cf.id) {
                        current.requests_waiting -= 1;
                    }
                }
            }
        }
    }
}

/// The level to which a compaction of everything takes what is on `level`: the next one, or
/// the same level if that is the last and must be rewritten.
fn next_level(cf: &CfState, level: usize, bottommost: Bottommost) -> Option<usize> {
    let levels = cf.options().compacted_levels(cf.version.levels.len());
    let last = cf.version.last_of(levels);
    let forced = match bottommost {
        Bottommost::Skip => false,
        Bottommost::IfHaveCompactionFilter => cf.options().filter_source().is_some(),
        Bottommost::Force | Bottommost::ForceOptimized => true,
    };
    match level {
        _ if level > last => None,
        0 => Some((cf.levels.base_level).clamp(1, levels - 1)),
        _ if level < last => Some(level + 1),
        // The deepest level is rewritten in place, if at all.
        _ => forced.then_some(level),
    }
}

/// The lowest-numbered level between level 0 and `from`, both excluded, whose target size
/// can hold what `from` has, provided that it and all levels on the way there are empty;
/// otherwise `from`.
fn least_level(cf: &CfState, from: usize) -> usize {
    let bytes = cf.version.level_bytes(from);
    let limit = |level: usize| cf.levels.target_bytes.get(level).copied();
    let fits = |&level: &usize| {
        cf.version.num_files(level) == 0 && limit(level).is_none_or(|limit| limit >= bytes)
    };
    (1..from).rev().take_while(fits).last().unwrap_or(from)
}

/// Refuses to move the files of `from` to the level `to`, unless all levels on the way are
/// empty. Several files cannot be moved to level 0, where files are told apart by age.
fn check_move(cf: &CfState, from: usize, to: usize) -> Result<()> {
    let mut between = if to < from {
        to..from
    } else {
        from + 1..to + 1
    };
    if between.any(|level| cf.version.num_files(level) > 0) {
        return Err(Error::not_supported(format_args!(
            "Levels between source and target are not empty for a move: from {from} to {to}"
        )));
    }
    if to == 0 && cf.version.num_files(from) > 1 {
        return Err(Error::not_supported(format_args!(
            "level {from} has {} files, which cannot be moved to level 0",
            cf.version.num_files(from)
        )));
    }
    if from == 0 && cf.version.num_files(0) > 1 {
        return Err(Error::not_supported(
            "the files of level 0 may overlap and cannot be moved",
        ));
    }
    Ok(())
}
