//! Which tables to compact.

use crate::options::CfOptions;
use crate::version::{TableFile, Version};
use std::sync::Arc;
use whitewater_storage::key::InternalComparator;

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
                f.set_being_compacted(false);
            }
        }
    }
}

/// Level targets and scores of a version.
#[derive(Debug, Clone, Default)]
pub(crate) struct LevelState {
    /// The level that level-0 files are compacted into.
    pub base_level: usize,
    /// Target bytes per level.
    pub target_bytes: Vec<u64>,
    /// (score, level), highest score first; 1.0 and above wants compaction.
    pub scores: Vec<(f64, usize)>,
    /// Estimated bytes that compactions must rewrite until no level is over
    /// its target.
    pub pending_bytes: u64,
}

/// Where the next compaction of each level starts (round robin).
#[derive(Debug, Clone, Default)]
pub(crate) struct CompactCursor {
    /// Internal key per level, empty for the beginning.
    pub next: Vec<Vec<u8>>,
}

/// Computes targets and scores.
pub(crate) fn level_state(version: &Version, options: &CfOptions) -> LevelState {
    let _ = (version, options);
    todo!()
}

/// Picks the most urgent automatic compaction, if any, and marks its inputs.
/// Called with the database mutex held.
pub(crate) fn pick_automatic(
    version: &Arc<Version>,
    options: &CfOptions,
    comparator: &InternalComparator,
    cursor: &mut CompactCursor,
) -> Option<Compaction> {
    let _ = (version, options, comparator, cursor);
    todo!()
}

/// Picks the compaction of the files of `level` that overlap the user keys
/// `[begin, end]` (`None` is open) into `output_level`. `None` when there are
/// no such files; `Some(Err(()))` when some are being compacted: try later.
pub(crate) fn pick_manual(
    version: &Arc<Version>,
    options: &CfOptions,
    comparator: &InternalComparator,
    level: usize,
    output_level: usize,
    begin: Option<&[u8]>,
    end: Option<&[u8]>,
) -> Option<Result<Compaction, ()>> {
    let _ = (
        version,
        options,
        comparator,
        level,
        output_level,
        begin,
        end,
    );
    todo!()
}
