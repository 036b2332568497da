//! Which keys records have.
//!
//! | family | key | value |
//! |---|---|---|
//! | `raft-log` | group, index | entry |
//! | `raft-meta` | group, [`Tag`] | vote, committed, purged, snapshot, name of the state's family |
//! | `raft-state-GROUP-NUMBER` | 0 | last applied log id and membership |
//! | | 1, key | value of the application |
//!
//! Groups and indexes are numbers of eight bytes, big endian, so that the entries of a group lie
//! beside each other in the order of their indexes.

use crate::error::{Error, Result};
use std::ops::{Bound, RangeBounds};

/// The family of all groups' entries.
pub(crate) const LOG: &str = "raft-log";
/// The family of all groups' small records.
pub(crate) const META: &str = "raft-meta";
/// The key, in a state's family, of what was applied last.
pub(crate) const APPLIED: &[u8] = &[0];

/// A small record of a group.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Tag {
    Vote = b'v' as isize,
    Committed = b'c' as isize,
    Purged = b'p' as isize,
    Snapshot = b's' as isize,
    Family = b'f' as isize,
}

impl Tag {
    /// All of them.
    pub const ALL: [Tag; 5] = [
        Tag::Vote,
        Tag::Committed,
        Tag::Purged,
        Tag::Snapshot,
        Tag::Family,
    ];

    /// Its name in errors.
    pub fn name(self) -> &'static str {
        match self {
            Tag::Vote => "the vote",
            Tag::Committed => "the committed log id",
            Tag::Purged => "the purged log id",
            Tag::Snapshot => "the snapshot",
            Tag::Family => "the state's family",
        }
    }
}

/// The key of the entry `index`.
pub(crate) fn entry(group: u64, index: u64) -> Vec<u8> {
    [group.to_be_bytes(), index.to_be_bytes()].concat()
}

/// The key behind all entries of `group`.
pub(crate) fn end_of(group: u64) -> Vec<u8> {
    let mut key = entry(group, u64::MAX);
    key.push(0);
    key
}

/// The index of the entry with `key`.
pub(crate) fn index_of(key: &[u8]) -> Result<u64> {
    let index = key.get(8..).and_then(|index| index.try_into().ok());
    let index = index.ok_or_else(|| Error::new(format!("{key:02x?} is no key of an entry")))?;
    Ok(u64::from_be_bytes(index))
}

/// From which key to which the entries of `range` are, the latter excluded.
pub(crate) fn range(group: u64, range: &impl RangeBounds<u64>) -> (Vec<u8>, Vec<u8>) {
    let behind = |index: u64| match index.checked_add(1) {
        Some(next) => entry(group, next),
        None => end_of(group),
    };
    let from = match range.start_bound() {
        Bound::Included(index) => entry(group, *index),
        Bound::Excluded(index) => behind(*index),
        Bound::Unbounded => entry(group, 0),
    };
    let until = match range.end_bound() {
        Bound::Included(index) => behind(*index),
        Bound::Excluded(index) => entry(group, *index),
        Bound::Unbounded => end_of(group),
    };
    (from, until)
}

/// The key of a small record.
pub(crate) fn meta(group: u64, tag: Tag) -> Vec<u8> {
    let mut key = group.to_be_bytes().to_vec();
    key.push(tag as u8);
    key
}

/// The key of the application's `key` in the state's family.
pub(crate) fn of_application(key: &[u8]) -> Vec<u8> {
    [&[1], key].concat()
}

/// What the names of the families begin with that have had the state of `group`.
pub(crate) fn state_families(group: u64) -> String {
    format!("raft-state-{group}-")
}

/// The name of a family for the state of `group`.
pub(crate) fn state_family(group: u64, number: u64) -> String {
    format!("{}{number}", state_families(group))
}

#[cfg(test)]
mod tests {
    use super::{Tag, end_of, entry, index_of, meta, range};

    #[test]
    fn entries_are_ordered_by_group_and_index() {
        let keys = [
            entry(0, 0),
            entry(0, 255),
            entry(0, 256),
            entry(0, u64::MAX),
            end_of(0),
            entry(1, 0),
            entry(u64::MAX, 1 << 40),
            end_of(u64::MAX),
        ];
        assert!(keys.is_sorted());
        assert_eq!(index_of(&keys[6]).unwrap(), 1 << 40);
        assert!(index_of(&keys[7]).is_err() && index_of(b"short").is_err());
    }

    #[test]
    fn ranges_have_their_ends() {
        let (from, until) = range(7, &(2..=u64::MAX));
        assert_eq!((from, until), (entry(7, 2), end_of(7)));
        assert_eq!(range(7, &..), (entry(7, 0), end_of(7)));
        assert_eq!(range(7, &(2..9)), (entry(7, 2), entry(7, 9)));
    }

    #[test]
    fn small_records_have_keys_of_their_own() {
        let mut keys: Vec<_> = Tag::ALL.map(|tag| meta(1, tag)).into();
        keys.sort();
        keys.dedup();
        assert_eq!(keys.len(), Tag::ALL.len());
    }
}
