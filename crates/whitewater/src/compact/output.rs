//! Writes a merged stream into tables.

use crate::options::CfOptions;
use crate::version::set::VersionSet;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use whitewater_storage::Result;
use whitewater_storage::fs::Fs;
use whitewater_storage::iter::BoxedIterator;
use whitewater_storage::key::{InternalComparator, SequenceNumber};
use whitewater_storage::manifest::FileMetaData;
use whitewater_storage::rangedel::RangeTombstone;

/// What every table writer of a database shares.
pub(crate) struct OutputContext<'a> {
    pub fs: &'a Arc<dyn Fs>,
    pub dir: &'a Path,
    pub versions: &'a VersionSet,
    pub options: &'a CfOptions,
    pub comparator: &'a InternalComparator,
    pub cf_id: u32,
    pub cf_name: &'a str,
    pub db_id: &'a str,
    pub session_id: &'a str,
    /// Live snapshots, ascending.
    pub snapshots: &'a [SequenceNumber],
    /// Set when the database is closing: the job stops with `ShutdownInProgress`.
    pub cancel: &'a AtomicBool,
}

/// Where the tables go and what may be dropped on the way.
pub(crate) struct OutputSpec {
    pub level: usize,
    /// Nothing older exists below: tombstones can go, sequence numbers become 0
    /// where no snapshot needs them.
    pub bottommost: bool,
    /// Start a new table at about this many bytes; `u64::MAX` writes one.
    pub max_file_size: u64,
    /// Epoch number of the outputs.
    pub epoch_number: u64,
    /// Unix seconds of the oldest ancestor.
    pub oldest_ancester_time: u64,
}

/// Merges `source` and `tombstones` into new tables, applying the drop rules.
/// On error every file it created is removed. The tables are synced; the
/// directory is not.
pub(crate) fn write_tables(
    ctx: &OutputContext<'_>,
    spec: &OutputSpec,
    source: BoxedIterator,
    tombstones: Vec<RangeTombstone>,
    key_not_below: &dyn Fn(&[u8]) -> bool,
) -> Result<Vec<FileMetaData>> {
    let _ = (ctx, spec, source, tombstones, key_not_below);
    todo!()
}
