//! Ranges of keys that are known to hold nothing visible, for iterators to pass over at once.
//!
//! A program that takes the first key again and again, as a queue does, leaves tombstones before
//! it, and every new iterator would walk over all of them. Here a walk that passed many deleted
//! keys is remembered, wherever the tombstones are, and at most [`MOST`] walks of a database are.
//!
//! A range is proposed by an iterator that has passed many deleted keys in one call, and used by
//! others once one of them has walked over all of it, with nothing undecided, and has found
//! nothing. An iterator that passes it and then some deleted keys beside it extends it over them,
//! unless something was put there since. Writers end it. When it may be relied on, and why, says
//! `concurrent::watched_ranges`, with the invariants E1 to E4. Here are its keys, and how many
//! ranges there are.
//!
//! Lock order: changes of the list are a leaf.

use arc_swap::{ArcSwap, Guard};
use std::cmp::Ordering;
use std::fmt;
use std::sync::Arc;
use whitewater_concurrent::watched_ranges::{self, Effect, Lists, Watched, WatchedRanges};
use whitewater_storage::key::{SequenceNumber, UserComparator, ValueType};
use whitewater_storage::planted;

/// The largest number of ranges of one database.
const MOST: usize = 32;

/// The largest number of ranges of which one covers the others. Iterators that began before it was
/// known use the others.
const MOST_COVERED: usize = 3;

/// The number of deleted keys that a walk must have passed to be remembered.
pub(crate) const LONG_WALK: u64 = 16;

/// The number of deleted keys beside a range that a walk must have passed to extend it. To pass one
/// takes about as long as to change the list.
const EXTENSION: u64 = 2;

/// The user keys from `start` to before `end` in one column family.
pub(crate) struct KeyRange {
    cf: u32,
    comparator: UserComparator,
    pub start: Vec<u8>,
    pub end: Vec<u8>,
    /// The last key before `start` that was put since the range is watched, if any.
    before: Option<Vec<u8>>,
    /// The first such key at or after `end`.
    behind: Option<Vec<u8>>,
}

impl KeyRange {
    /// Whether it is a range of the column family `cf`.
    #[inline]
    pub fn is_of(&self, cf: u32) -> bool {
        self.cf == cf
    }

    /// Whether `user_key` is in the range.
    #[inline]
    pub fn holds(&self, user_key: &[u8]) -> bool {
        self.comparator.compare(user_key, &self.end) == Ordering::Less
            && self.comparator.compare(user_key, &self.start) != Ordering::Less
    }

    /// What becomes of the range when `key` is put into the column family.
    fn put(&self, key: &[u8]) -> Effect<KeyRange> {
        let order = |a, b| self.comparator.compare(a, b);
        let narrowed = |before, behind| {
            Effect::Narrows(KeyRange {
                comparator: self.comparator.clone(),
                start: self.start.clone(),
                end: self.end.clone(),
                before,
                behind,
                ..*self
            })
        };
        if order(key, &self.start).is_lt() {
            let nearer = (self.before.as_ref()).is_none_or(|before| order(before, key).is_lt());
            if nearer {
                return narrowed(Some(key.to_vec()), self.behind.clone());
            }
        } else if order(key, &self.end).is_lt() {
            return Effect::Ends;
        } else {
            let nearer = (self.behind.as_ref()).is_none_or(|behind| order(key, behind).is_lt());
            if nearer {
                return narrowed(self.before.clone(), Some(key.to_vec()));
            }
        }
        Effect::None
    }

    /// The range from the start to the end of `walk`, if it is larger and nothing was put there.
    fn extended(&self, walk: &Walk<'_>) -> Option<KeyRange> {
        let order = |a, b| self.comparator.compare(a, b);
        let before = (self.before.as_ref()).is_none_or(|key| order(key, walk.start).is_lt());
        let behind = (self.behind.as_ref()).is_none_or(|key| order(walk.end, key).is_le());
        let extends = walk.covers(self) && !self.covers(walk.start, walk.end);
        (before && behind && extends).then(|| KeyRange {
            comparator: self.comparator.clone(),
            start: walk.start.to_vec(),
            end: walk.end.to_vec(),
            before: self.before.clone(),
            behind: self.behind.clone(),
            ..*self
        })
    }

    /// Whether all keys between `start` and `end` are in the range.
    fn covers(&self, start: &[u8], end: &[u8]) -> bool {
        self.comparator.compare(&self.start, start) != Ordering::Greater
            && self.comparator.compare(end, &self.end) != Ordering::Greater
    }
}

/// What an iterator has walked over in one call without seeing a key.
pub(crate) struct Walk<'a> {
    pub cf: u32,
    pub comparator: &'a UserComparator,
    /// The first key that it passed.
    pub start: &'a [u8],
    /// The key before which it ended.
    pub end: &'a [u8],
    /// The number of keys that it passed one by one.
    pub passed: u64,
    /// The point at which it reads; nothing was undecided.
    pub point: SequenceNumber,
}

impl Walk<'_> {
    /// Whether all keys of `range` were passed.
    fn covers(&self, range: &KeyRange) -> bool {
        self.comparator.compare(self.start, &range.start) != Ordering::Greater
            && self.comparator.compare(&range.end, self.end) != Ordering::Greater
    }
}

/// A range, and what is known about it.
pub(crate) type EmptyRange = Watched<KeyRange>;

/// The ranges of a database, oldest first.
pub(crate) type List = watched_ranges::List<KeyRange>;

/// Keeps ranges from being proposed.
pub(crate) type Suspended<'a> = watched_ranges::Suspended<'a, KeyRange, Present>;

/// The present list.
#[derive(Default)]
pub(crate) struct Present(ArcSwap<List>);

impl Lists<KeyRange> for Present {
    type Borrowed<'a> = Guard<Arc<List>>;

    #[inline]
    fn load(&self) -> Guard<Arc<List>> {
        self.0.load()
    }

    #[inline]
    fn load_full(&self) -> Arc<List> {
        self.0.load_full()
    }

    fn store(&self, list: Arc<List>) {
        self.0.store(list);
    }
}

/// See the [module](self).
#[derive(Default)]
pub(crate) struct EmptyRanges(WatchedRanges<KeyRange, Present>);

impl fmt::Debug for EmptyRanges {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

impl EmptyRanges {
    /// Whether a writer has to call [`EmptyRanges::note`].
    #[inline]
    pub fn any(&self) -> bool {
        self.0.any()
    }

    /// Ends the ranges that an operation puts something into, and notes what it puts beside others.
    /// Called by its writer after it has reserved, and before its number is visible (E1, E4).
    pub fn note(&self, cf: u32, ty: ValueType, user_key: &[u8]) {
        planted!(EmptyRangeOutlivesPut => return);
        use ValueType::{Deletion, DeletionWithTimestamp, RangeDeletion, SingleDeletion};
        if matches!(
            ty,
            Deletion | DeletionWithTimestamp | RangeDeletion | SingleDeletion
        ) {
            return;
        }
        self.0.put(|range| {
            planted!(EmptyRangeGrowsOverPut => if !range.holds(user_key) { return Effect::None });
            if range.cf == cf {
                range.put(user_key)
            } else {
                Effect::None
            }
        });
    }

    /// Ends all ranges, as a write does whose keys are not known.
    pub fn end_all(&self) {
        self.0.end_all();
    }

    /// Ends all ranges, and lets none be proposed as long as the result is held (E3).
    pub fn suspend(&self) -> Suspended<'_> {
        self.0.suspend()
    }

    /// The ranges that an iterator may use which pins its super version after this. `reserved` is
    /// that of the generation that writes go to.
    #[inline]
    pub fn begin(&self, reserved: impl FnOnce() -> Option<SequenceNumber>) -> Option<Arc<List>> {
        self.0.begin(reserved)
    }

    /// Remembers what an iterator has walked over, which began with the ranges `begun_with`.
    pub fn walked(&self, walk: &Walk<'_>, begun_with: &[Arc<EmptyRange>]) {
        let live = |range: &&Arc<EmptyRange>| range.cf == walk.cf && !range.has_ended();
        let mut extends = None;
        for range in begun_with.iter().filter(live) {
            let mut upto = walk.point;
            planted!(EmptyRangeKnownUnwatched => upto = SequenceNumber::MAX);
            if walk.covers(range) && range.is_watched_at(upto) {
                range.know_from(walk.point);
                extends = Some(range);
            }
        }
        if let Some(range) = extends.filter(|_| walk.passed >= EXTENSION) {
            self.0
                .extend(range, walk.point, |range| range.extended(walk));
        }
        if walk.passed >= LONG_WALK {
            let list = self.0.list();
            let mut live = list.iter().filter(live);
            if !live.any(|range| range.covers(walk.start, walk.end)) {
                self.propose(walk);
            }
        }
    }

    fn propose(&self, walk: &Walk<'_>) {
        if walk.comparator.compare(walk.start, walk.end) != Ordering::Less {
            return;
        }
        let range = KeyRange {
            cf: walk.cf,
            comparator: walk.comparator.clone(),
            start: walk.start.to_vec(),
            end: walk.end.to_vec(),
            before: None,
            behind: None,
        };
        self.0.propose(range, |ranges| {
            let is_covered = |range: &&Arc<EmptyRange>| range.cf == walk.cf && walk.covers(range);
            let covered = ranges.iter().filter(is_covered).count();
            if covered >= MOST_COVERED {
                ranges.iter().position(|range| is_covered(&range))
            } else {
                (ranges.len() >= MOST).then_some(0)
            }
        });
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn walk<'a>(start: &'a [u8], end: &'a [u8], point: SequenceNumber) -> Walk<'a> {
        Walk {
            cf: 0,
            comparator: &UserComparator::Bytewise,
            start,
            end,
            passed: LONG_WALK,
            point,
        }
    }

    fn is_known(ranges: &EmptyRanges, key: &[u8], point: SequenceNumber) -> bool {
        (ranges.0.list().iter()).any(|r| r.holds(key) && r.is_empty_at(point))
    }

    /// Begins with a last number of 20, and walks.
    fn walk_over(ranges: &EmptyRanges, start: &[u8], end: &[u8], point: SequenceNumber) {
        let list = ranges.begin(|| Some(20)).unwrap_or_default();
        ranges.walked(&walk(start, end, point), &list);
    }

    /// The range from `b` to `m`, known to be empty from number 20 on.
    fn known() -> EmptyRanges {
        let ranges = EmptyRanges::default();
        walk_over(&ranges, b"b", b"m", 10);
        walk_over(&ranges, b"b", b"m", 20);
        ranges
    }

    #[test]
    fn a_range_is_known_after_a_second_walk_that_began_when_it_was_watched() {
        let ranges = EmptyRanges::default();
        assert!(ranges.begin(|| Some(20)).is_none());
        ranges.walked(&walk(b"b", b"m", 10), &[]);
        let unwatched = ranges.begin(|| None).expect("there is one");
        ranges.walked(&walk(b"b", b"m", 20), &unwatched);
        assert!(
            !is_known(&ranges, b"c", SequenceNumber::MAX - 1),
            "nobody watches"
        );
        walk_over(&ranges, b"b", b"m", 19);
        assert!(
            !is_known(&ranges, b"c", 30),
            "number 20 may have been missed"
        );
        walk_over(&ranges, b"c", b"m", 20);
        assert!(!is_known(&ranges, b"c", 30), "b was not walked over");
        ranges.walked(&walk(b"a", b"n", 20), &[]);
        assert!(!is_known(&ranges, b"c", 30), "the iterator is older");
        walk_over(&ranges, b"a", b"n", 20);
        assert!(is_known(&ranges, b"b", 20) && is_known(&ranges, b"lll", 20));
        assert!(!is_known(&ranges, b"n", 20) && !is_known(&ranges, b"A", 20));
        assert!(
            !is_known(&ranges, b"c", 19),
            "an older snapshot may see keys"
        );
    }

    #[test]
    fn a_put_ends_the_range_that_it_is_in_and_a_deletion_does_not() {
        let ranges = known();
        ranges.note(0, ValueType::Deletion, b"c");
        ranges.note(1, ValueType::Value, b"c");
        ranges.note(0, ValueType::Value, b"m");
        assert!(is_known(&ranges, b"c", 20));
        ranges.note(0, ValueType::Merge, b"c");
        assert!(!is_known(&ranges, b"c", 30));
        assert!(!ranges.any());
    }

    /// Begins with a last number of 20, and walks over a few keys.
    fn step(ranges: &EmptyRanges, start: &[u8], end: &[u8], point: SequenceNumber) {
        let list = ranges.begin(|| Some(20)).unwrap_or_default();
        let passed = EXTENSION;
        let walk = Walk {
            passed,
            ..walk(start, end, point)
        };
        ranges.walked(&walk, &list);
    }

    #[test]
    fn a_range_is_extended_at_both_ends_by_short_walks_up_to_what_was_put() {
        let ranges = known();
        step(&ranges, b"b", b"n", 30);
        step(&ranges, b"a", b"n", 40);
        assert_eq!(ranges.0.list().len(), 1);
        assert!(is_known(&ranges, b"a", 40) && is_known(&ranges, b"mm", 40));
        assert!(!is_known(&ranges, b"a", 39), "found at 40");
        ranges.note(0, ValueType::Value, b"s");
        ranges.note(0, ValueType::Value, b"p");
        ranges.note(0, ValueType::Value, b"q");
        ranges.note(0, ValueType::Value, b"A");
        step(&ranges, b"a", b"pp", 50);
        step(&ranges, b"A", b"o", 50);
        assert!(!is_known(&ranges, b"n", 50), "p and A were put");
        step(&ranges, b"AA", b"p", 50);
        assert!(is_known(&ranges, b"AA", 50) && is_known(&ranges, b"o", 50));
        ranges.note(0, ValueType::Value, b"n");
        assert!(!is_known(&ranges, b"AA", 60), "n is in the extension");
    }

    #[test]
    fn an_iterator_goes_on_with_the_range_that_it_began_with_when_that_is_extended() {
        let ranges = known();
        let begun_with = ranges.begin(|| Some(20)).expect("there is one");
        step(&ranges, b"b", b"n", 30);
        assert!(begun_with[0].is_empty_at(20));
        ranges.note(0, ValueType::Value, b"mm");
        assert!(!begun_with[0].is_empty_at(20));
    }

    #[test]
    fn nothing_is_known_from_before_a_suspension() {
        let ranges = known();
        let before = ranges.begin(|| Some(20)).expect("there is one");
        let suspended = ranges.suspend();
        assert!(!before[0].is_empty_at(30));
        ranges.walked(&walk(b"b", b"m", 30), &before);
        assert!(!ranges.any(), "nothing is proposed meanwhile");
        drop(suspended);
        walk_over(&ranges, b"b", b"m", 30);
        assert!(ranges.any());
        assert!(!is_known(&ranges, b"c", 30));
    }

    #[test]
    fn the_list_is_bounded_and_what_leaves_it_has_ended() {
        let ranges = known();
        let first = ranges.0.list()[0].clone();
        for i in 0..MOST as u8 {
            walk_over(&ranges, &[b'n', i], &[b'n', i, 1], 30);
        }
        assert_eq!(ranges.0.list().len(), MOST);
        assert!(!first.is_empty_at(30));
        // A queue takes few places, even if the key behind a range is always put after it is found.
        for i in 0..=MOST as u8 {
            walk_over(&ranges, b"q", &[b'q', i], 30);
            ranges.note(0, ValueType::Value, &[b'q', i]);
        }
        let list = ranges.0.list();
        let of_queue = list.iter().filter(|r| r.start == b"q");
        assert_eq!(of_queue.count(), MOST_COVERED);
    }
}
