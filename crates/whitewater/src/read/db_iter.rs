//! User keys and values out of internal ones.

use super::merge::MergeOperator;
use super::rangedel::FragmentedTombstones;
use std::any::Any;
use std::sync::Arc;
use whitewater_storage::Result;
use whitewater_storage::iter::BoxedIterator;
use whitewater_storage::key::{SequenceNumber, UserComparator};

/// What a [`DbIter`] is made of.
pub(crate) struct DbIterParts {
    /// The merged sources.
    pub source: BoxedIterator,
    /// All range tombstones of the sources.
    pub tombstones: FragmentedTombstones,
    pub comparator: UserComparator,
    pub merge_operator: Option<Arc<dyn MergeOperator>>,
    /// Entries above this are not seen.
    pub sequence: SequenceNumber,
    pub lower_bound: Option<Vec<u8>>,
    pub upper_bound: Option<Vec<u8>>,
    pub max_skippable_internal_keys: u64,
    /// Keeps memtables, tables and the snapshot alive.
    pub pins: Vec<Arc<dyn Any + Send + Sync>>,
}

/// The iterator behind the public ones: visible user keys, newest version of
/// each, merges applied, tombstones hidden, bounds kept, both directions.
pub(crate) struct DbIter {
    _parts: DbIterParts,
}

impl DbIter {
    /// An iterator that is not positioned yet.
    pub fn new(parts: DbIterParts) -> Self {
        DbIter { _parts: parts }
    }
    /// Whether it stands on an entry.
    pub fn valid(&self) -> bool {
        todo!()
    }
    /// Moves to the first key within bounds.
    pub fn seek_to_first(&mut self) {
        todo!()
    }
    /// Moves to the last key within bounds.
    pub fn seek_to_last(&mut self) {
        todo!()
    }
    /// Moves to the first key at or after `target`.
    pub fn seek(&mut self, target: &[u8]) {
        let _ = target;
        todo!()
    }
    /// Moves to the last key at or before `target`.
    pub fn seek_for_prev(&mut self, target: &[u8]) {
        let _ = target;
        todo!()
    }
    /// Moves forward; no effect when not valid.
    pub fn next(&mut self) {
        todo!()
    }
    /// Moves backward; no effect when not valid.
    pub fn prev(&mut self) {
        todo!()
    }
    /// The user key, when valid.
    pub fn key(&self) -> Option<&[u8]> {
        todo!()
    }
    /// The value, when valid.
    pub fn value(&self) -> Option<&[u8]> {
        todo!()
    }
    /// The first failure met.
    pub fn status(&self) -> Result<()> {
        todo!()
    }
}
