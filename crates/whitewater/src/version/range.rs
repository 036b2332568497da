//! Ranges of user keys.
//!
//! A file's range is closed at both ends, unless a range tombstone reaches to its end. Then the
//! end is exclusive, and a neighbour may start there.
//!
//! With timestamps, all versions of a key count as one key here: ranges that hold versions of
//! the same key overlap.

use std::cmp::Ordering::{Equal, Greater, Less};
use std::ops::Bound;
use whitewater_storage::key::UserComparator;

/// A range of user keys.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct KeyRange<'a> {
    /// The first key; `None` is unbounded.
    pub start: Option<&'a [u8]>,
    /// The end of the range.
    pub end: Bound<&'a [u8]>,
}

impl<'a> KeyRange<'a> {
    /// All keys from `start` to `end`, both included; `None` is unbounded.
    pub fn closed(start: Option<&'a [u8]>, end: Option<&'a [u8]>) -> Self {
        KeyRange {
            start,
            end: end.map_or(Bound::Unbounded, Bound::Included),
        }
    }

    /// Whether every key of the range is before `key`.
    pub fn ends_before(&self, comparator: &UserComparator, key: &[u8]) -> bool {
        match self.end {
            Bound::Included(end) => comparator.compare_keys(end, key) == Less,
            Bound::Excluded(end) => comparator.compare_keys(end, key) != Greater,
            Bound::Unbounded => false,
        }
    }

    /// Whether the range starts at or before the end `end` of another range.
    pub fn starts_within(&self, comparator: &UserComparator, end: Bound<&[u8]>) -> bool {
        let Some(start) = self.start else { return true };
        match end {
            Bound::Included(end) => comparator.compare_keys(start, end) != Greater,
            Bound::Excluded(end) => comparator.compare_keys(start, end) == Less,
            Bound::Unbounded => true,
        }
    }

    /// Whether the two ranges share a key.
    pub fn overlaps(&self, comparator: &UserComparator, other: &KeyRange<'_>) -> bool {
        self.starts_within(comparator, other.end) && other.starts_within(comparator, self.end)
    }

    /// The smallest range that contains both ranges.
    pub fn hull(&self, comparator: &UserComparator, other: &KeyRange<'a>) -> KeyRange<'a> {
        let start = match (self.start, other.start) {
            (Some(a), Some(b)) if comparator.compare_keys(b, a) == Less => Some(b),
            (Some(a), Some(_)) => Some(a),
            _ => None,
        };
        KeyRange {
            start,
            end: later_end(comparator, self.end, other.end),
        }
    }
}

fn later_end<'a>(
    comparator: &UserComparator,
    a: Bound<&'a [u8]>,
    b: Bound<&'a [u8]>,
) -> Bound<&'a [u8]> {
    let key = |end| match end {
        Bound::Included(k) | Bound::Excluded(k) => Some(k),
        Bound::Unbounded => None,
    };
    let (Some(ka), Some(kb)) = (key(a), key(b)) else {
        return Bound::Unbounded;
    };
    match comparator.compare_keys(ka, kb) {
        Greater => a,
        Less => b,
        Equal if matches!(a, Bound::Included(_)) => a,
        Equal => b,
    }
}
