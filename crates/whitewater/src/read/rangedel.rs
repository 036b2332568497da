//! Range tombstones, fragmented for look-ups.

use whitewater_storage::key::{SequenceNumber, UserComparator};
use whitewater_storage::rangedel::RangeTombstone;

/// Non-overlapping fragments in key order, each with the sequence numbers of
/// the tombstones that cover it, newest first. Immutable.
#[derive(Debug, Default)]
pub(crate) struct FragmentedTombstones {}

impl FragmentedTombstones {
    /// Fragments `tombstones`, which may come in any order and overlap.
    pub fn new(tombstones: &[RangeTombstone], comparator: &UserComparator) -> Self {
        let _ = (tombstones, comparator);
        todo!()
    }
    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        todo!()
    }
    /// The newest tombstone at or below `upto` that covers `user_key`, or 0.
    pub fn max_covering(
        &self,
        comparator: &UserComparator,
        user_key: &[u8],
        upto: SequenceNumber,
    ) -> SequenceNumber {
        let _ = (comparator, user_key, upto);
        todo!()
    }
    /// The fragments as tombstones, start ascending, then newest first.
    pub fn iter(&self) -> impl Iterator<Item = RangeTombstone> + '_ {
        std::iter::empty()
    }
}
