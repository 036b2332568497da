//! Runs a picked compaction.

use super::output::OutputContext;
use super::pick::Compaction;
use crate::read::table_cache::TableCache;
use std::sync::Arc;
use whitewater_storage::Result;
use whitewater_storage::manifest::VersionEdit;

/// What a compaction did.
#[derive(Debug, Default)]
pub(crate) struct CompactionResult {
    /// Deleted inputs and new outputs, ready to be recorded.
    pub edit: VersionEdit,
    pub bytes_read: u64,
    pub bytes_written: u64,
}

/// Runs `compaction` (or moves its files, when that is enough). Nothing is
/// recorded: the caller does, and removes the outputs if it cannot.
pub(crate) fn run(
    compaction: &Compaction,
    ctx: &OutputContext<'_>,
    tables: &Arc<TableCache>,
) -> Result<CompactionResult> {
    let _ = (compaction, ctx, tables);
    todo!()
}
