//! Snapshots.

use crate::held::Held;
use whitewater::{DBAccess, ReadOptions, SnapshotWithThreadMode};

/// A snapshot of a database of any kind.
pub(crate) trait Moment {
    /// Has reads see the snapshot.
    fn apply(&self, options: &mut ReadOptions);
    fn sequence_number(&self) -> u64;
}

impl<D: DBAccess> Moment for SnapshotWithThreadMode<'static, D> {
    fn apply(&self, options: &mut ReadOptions) {
        options.set_snapshot(self);
    }
    fn sequence_number(&self) -> u64 {
        self.sequence_number()
    }
}

/// A snapshot. It keeps its database open.
///
/// A database that updates values in place has no snapshots; reads at one see what is newest.
pub struct rocksdb_snapshot_t(pub(crate) Option<Held<Box<dyn Moment>>>);
