//! Picks on request.

use super::{Compaction, Files, Picker, any_busy};
use crate::compact::reason::CompactionReason;
use crate::options::CfOptions;
use crate::version::range::KeyRange;
use crate::version::{TableFile, Version, hull};
use std::sync::Arc;
use whitewater_storage::key::InternalComparator;

/// Picks the compaction of the files of `level` that overlap `range` into `output_level`, or
/// into the first level on the way there that overlaps them. With `older_than`, below level 0,
/// picks only the first run of neighbours with lower numbers. Returns `None` when there are no
/// such files, and `Some(Err(()))` when some are being compacted and the caller should try
/// later.
pub(crate) fn pick_manual(
    version: &Arc<Version>,
    options: &CfOptions,
    comparator: &InternalComparator,
    level: usize,
    output_level: usize,
    range: KeyRange<'_>,
    older_than: Option<u64>,
) -> Option<Result<Compaction, ()>> {
    let picker = Picker {
        version,
        options,
        user: &comparator.user,
    };
    let files = match level {
        0 => picker.level0_closure(version.overlapping(0, picker.user, range)),
        _ => {
            let mut files = version.overlapping(level, picker.user, range);
            if let Some(limit) = older_than {
                let is_older = |f: &Arc<TableFile>| f.meta.number < limit;
                let first = files.into_iter().skip_while(|f| !is_older(f));
                files = first.take_while(is_older).collect();
            }
            picker.clean_cut(level, files)
        }
    };
    let inputs = hull(picker.user, &files)?;
    let blocked = level == 0 && any_busy(&version.levels[0]);
    if blocked || any_busy(&files) {
        return Some(Err(()));
    }
    let overlaps = |l: &usize| !version.overlapping_span(*l, picker.user, inputs).is_empty();
    let output_level = (level + 1..output_level)
        .find(overlaps)
        .unwrap_or(output_level);
    let picked = picker.on_request(level, files, output_level);
    Some(picked.ok_or(()))
}

/// Picks all files of the column family, to compact into the last level that compactions write,
/// for universal compaction. Returns `None` when there are none, and `Some(Err(()))` when some
/// are being compacted and the caller should try later.
pub(crate) fn pick_all(
    version: &Arc<Version>,
    options: &CfOptions,
    comparator: &InternalComparator,
) -> Option<Result<Compaction, ()>> {
    let picker = Picker {
        version,
        options,
        user: &comparator.user,
    };
    let levels = version.levels.iter().enumerate().take(picker.levels());
    let inputs: Vec<(usize, Files)> = levels.map(|(l, files)| (l, files.clone())).collect();
    if inputs.iter().all(|(_, files)| files.is_empty()) {
        return None;
    }
    if inputs.iter().any(|(_, files)| any_busy(files)) {
        return Some(Err(()));
    }
    let last = picker.levels() - 1;
    Some(
        picker
            .finish(inputs, last, CompactionReason::ManualCompaction)
            .ok_or(()),
    )
}

/// Picks the move of all files of `from`, none of which overlap, to the level `to`. There must
/// be no files in between. Returns `None` when a running compaction may write there and the
/// caller should try later.
pub(crate) fn pick_move(
    version: &Arc<Version>,
    options: &CfOptions,
    comparator: &InternalComparator,
    from: usize,
    to: usize,
) -> Option<Compaction> {
    let picker = Picker {
        version,
        options,
        user: &comparator.user,
    };
    if version.levels.iter().flatten().any(|f| f.being_compacted()) {
        return None;
    }
    let inputs = vec![(from, version.levels[from].clone())];
    let mut picked = picker.finish(inputs, to, CompactionReason::ChangeLevel)?;
    picked.trivial_move = true;
    Some(picked)
}

impl Picker<'_> {
    fn on_request(&self, level: usize, files: Files, output_level: usize) -> Option<Compaction> {
        let below = if output_level == level {
            Vec::new()
        } else {
            self.output_inputs(output_level, &files)?
        };
        let moves = below.is_empty() && self.can_move(level, &files, output_level);
        let inputs = vec![(level, files), (output_level, below)];
        let mut picked = self.finish(inputs, output_level, CompactionReason::ManualCompaction)?;
        picked.trivial_move = moves;
        Some(picked)
    }
}
