//! The views that reads begin with: what they pin, and at which point they read it.
//!
//! *Pin, then load the number* (V1 of `column_family`). A view pinned first holds everything up
//! to a number loaded later, or ends at a consistent prefix: what a later view has has larger
//! numbers. So far no prefix of numbers was half of something.
//!
//! Where writes may be undecided (`concurrent::undecided`), a prefix can be. What decides on a
//! write has a number of its own, and may be in a later memtable: a rollback's values are. A
//! view from between a write and its rollback, read after both, would show what was rolled back.
//! So there the number alone is enough only if nothing was undecided *from before the view was
//! pinned* until the number was loaded ([`Undecided::none_at`]). Then every write up to that number
//! was decided before the view was pinned, or never undecided, and V1 holds for both.
//!
//! Otherwise the order is reversed: *take the point, then pin*. A point knows what was undecided at
//! its number (X3), and a view pinned later holds at least everything that it sees. That view has
//! newer entries, too, which have larger numbers or are among the undecided. So that no flush or
//! compaction drops in between what newer entries hide, the point is that of a registered snapshot
//! (S1, X4), until the view is pinned.
//!
//! *Number, then horizon* (F5 of `resume`). A view from before a resumption may hold entries of
//! failed writes, with numbers below those that are visible after it. The older memtables of a view
//! have none above the horizon of the active one.

use super::Engine;
use crate::column_family::{ColumnFamilyData, SuperVersion};
use crate::options::read::ReadSpec;
use crate::snapshots::ReadPoint;
use arc_swap::Guard;
use std::sync::Arc;
use whitewater_concurrent::undecided::Undecided;
use whitewater_storage::key::SequenceNumber;
use whitewater_storage::planted;

/// A super version, pinned for a call or for longer.
pub(super) trait Pinned {
    /// Pins the current one of `cf`.
    fn now(cf: &ColumnFamilyData) -> Self;
    /// What is pinned.
    fn get(&self) -> &SuperVersion;
}

impl Pinned for Guard<Arc<SuperVersion>> {
    #[inline]
    fn now(cf: &ColumnFamilyData) -> Self {
        cf.pin()
    }
    #[inline]
    fn get(&self) -> &SuperVersion {
        self
    }
}

impl Pinned for Arc<SuperVersion> {
    #[inline]
    fn now(cf: &ColumnFamilyData) -> Self {
        cf.pin_owned()
    }
    #[inline]
    fn get(&self) -> &SuperVersion {
        self
    }
}

impl Engine {
    /// Pins `cf`, and returns the point to read it at.
    #[inline]
    pub(super) fn view<V: Pinned>(&self, cf: &ColumnFamilyData, spec: &ReadSpec) -> (V, ReadPoint) {
        match &self.commit.undecided {
            None => {
                let view = V::now(cf);
                let point = self.sequence_in(view.get(), spec).into();
                (view, point)
            }
            Some(undecided) => self.view_beside_undecided(undecided, cf, spec),
        }
    }

    /// [`view`](Self::view), where numbers may be `undecided`.
    #[inline(never)]
    pub(super) fn view_beside_undecided<V: Pinned>(
        &self,
        undecided: &Undecided,
        cf: &ColumnFamilyData,
        spec: &ReadSpec,
    ) -> (V, ReadPoint) {
        let (view, mut point) = match &spec.snapshot {
            Some(snapshot) => (V::now(cf), snapshot.point().clone()),
            None => self.newest_view(undecided, cf),
        };
        point.sequence = point.sequence.min(view.get().mem.horizon());
        cf.pass_over_hidden(&mut point);
        (view, point)
    }

    /// Pins `cf`, and returns a point that sees all that is decided.
    fn newest_view<V: Pinned>(
        &self,
        undecided: &Undecided,
        cf: &ColumnFamilyData,
    ) -> (V, ReadPoint) {
        let begin = || {
            let view = V::now(cf);
            (view, self.latest_sequence_number())
        };
        if let Some((view, number)) = undecided.none_at(begin) {
            return (view, number.into());
        }
        // A secondary instance replaces its memtables, whatever snapshots there are.
        let one_age = self.views_of_one_age();
        let registered = self.snapshot();
        let view = V::now(cf);
        drop(one_age);
        (view, registered.point().clone())
    }

    /// The number to read `view` at where nothing is ever undecided. The view was pinned before.
    #[inline]
    pub(super) fn sequence_in(&self, view: &SuperVersion, spec: &ReadSpec) -> SequenceNumber {
        let visible = self.latest_sequence_number();
        planted!(SnapshotReadsNewest => return visible);
        spec.sequence(visible).min(view.mem.horizon())
    }
}
