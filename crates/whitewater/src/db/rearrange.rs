//! RocksDB's experimental calls: suggesting compactions, and moving level 0 down.

use super::Engine;
use super::state::CfState;
use crate::column_family::ColumnFamilyData;
use crate::compact::pick;
use crate::panics::{Guarded, caught};
use crate::version::range::KeyRange;
use std::sync::Arc;
use whitewater_storage::{Error, ErrorKind, Result};

impl Engine {
    /// Makes background threads compact the tables that overlap the user keys `[begin, end]`
    /// (`None` is open), when they find nothing more urgent, but for those of the deepest level
    /// with data. Memtables are not flushed.
    ///
    /// # Errors
    /// The failure that stopped the database; `NotSupported` from an engine that only reads.
    pub fn suggest_compact_range(
        &self,
        cf: &Arc<ColumnFamilyData>,
        begin: Option<&[u8]>,
        end: Option<&[u8]>,
    ) -> Result<()> {
        self.check_writer()?;
        let user = &cf.comparator.user;
        let begin = begin.map(|key| user.first_version(key));
        let end = end.map(|key| user.last_version(key));
        let range = KeyRange::closed(begin.as_deref(), end.as_deref());
        let mut state = self.lock_state();
        Self::check_healthy(&state)?;
        let current = of_family(state.cfs.get_mut(&cf.id), cf)?;
        for level in 0..current.version.last_level() {
            for file in current.version.overlapping(level, user, range) {
                file.suggest_compaction();
            }
        }
        current.score_levels();
        drop(state);
        self.background.work.notify_all();
        Ok(())
    }

    /// Moves all tables of level 0 to `target_level`, without rewriting them.
    ///
    /// # Errors
    /// `InvalidArgument` for a level that does not exist, tables that overlap or are being
    /// compacted, and levels down to the target that have data; those of recording the move.
    pub fn promote_l0(&self, cf: &Arc<ColumnFamilyData>, target_level: i32) -> Result<()> {
        self.check_writer()?;
        let outcome = caught(Guarded::Job, || {
            let picked = {
                let mut state = self.lock_state();
                Self::check_healthy(&state)?;
                let current = of_family(state.cfs.get_mut(&cf.id), cf)?;
                let target = check_promotion(current, cf, target_level)?;
                if current.version.num_files(0) == 0 {
                    return Ok(());
                }
                let (version, options) = (&current.version, current.options());
                let picked = pick::pick_move(version, options, &cf.comparator, 0, target);
                let picked = picked.ok_or_else(|| {
                    Error::new(
                        ErrorKind::Aborted,
                        "a compaction of the column family is running",
                    )
                })?;
                state.running_compactions += 1;
                picked
            };
            let outcome = caught(Guarded::Job, || self.run_compaction(cf, picked).map(drop));
            let _purge = self.compaction_ended(cf);
            outcome
        });
        self.background.look_again();
        outcome
    }
}

fn of_family<'a>(
    current: Option<&'a mut CfState>,
    cf: &ColumnFamilyData,
) -> Result<&'a mut CfState> {
    current.ok_or_else(|| {
        Error::new(
            ErrorKind::ColumnFamilyDropped,
            format_args!("column family {}", cf.name),
        )
    })
}

/// Refuses what RocksDB refuses, in its words. Returns the target.
fn check_promotion(current: &CfState, cf: &ColumnFamilyData, target: i32) -> Result<usize> {
    let levels = current
        .options()
        .compacted_levels(current.version.levels.len());
    let target = usize::try_from(target).unwrap_or(0);
    if target < 1 {
        return Err(Error::invalid("Invalid target level"));
    }
    if target >= levels {
        return Err(Error::invalid("Target level does not exist"));
    }
    let level0 = &current.version.levels[0];
    if current.ingesting || level0.iter().any(|f| f.being_compacted()) {
        return Err(Error::invalid("PromoteL0 called during L0 compaction"));
    }
    let user = &cf.comparator.user;
    let overlaps = |(i, f): (usize, &Arc<crate::version::TableFile>)| {
        let mut later = level0[i + 1..].iter();
        later.any(|g| f.range().overlaps(user, &g.range()))
    };
    if level0.iter().enumerate().any(overlaps) {
        return Err(Error::invalid("L0 has overlapping files"));
    }
    if (1..=target).any(|level| current.version.num_files(level) > 0) {
        return Err(Error::invalid(
            "All levels up to target_level must be empty",
        ));
    }
    Ok(target)
}
