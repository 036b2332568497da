//! Ranges of keys that are known to hold nothing visible, for iterators to pass over at once.
//!
//! A program that takes the first key again and again, as a queue does, leaves tombstones before
//! it, and every new iterator would walk over all of them. Here a walk that passed many deleted
//! keys is remembered, wherever the tombstones are, and at most [`MOST`] walks of a database are.
//!
//! A range is
//! 1. *proposed* by an iterator that has passed many deleted keys in one call;
//! 2. *watched* from then on: [`EmptyRanges::begin`] notes the last number handed out to writes
//!    afterwards;
//! 3. *known* to be empty once an iterator that began later has walked over all of it, at a point
//!    at or above that number, with nothing undecided, and has found nothing;
//! 4. *ended* by the first write that puts something into it, or when it is forgotten.
//!
//! Invariants:
//! * E1: a write with a number above `watched_above` that puts a key into a range ends the range
//!   before its number is visible. Such a write looks at the list after it has reserved its number,
//!   and the range was in the list when `watched_above` was read from where numbers are reserved.
//! * E2: a range that leaves the list has ended before.
//! * E3: whatever else can make keys visible (ingestion, dropping tables) ends all ranges before it
//!   does, and none is proposed until it is done ([`EmptyRanges::suspend`]). An iterator takes the
//!   list before it pins its super version, and makes known only what that list has. So if a range
//!   has not ended by then, all that was ingested before it was proposed is in the super version.
//!
//! So an iterator at a point at or above `known_from` that finds a range not ended sees no key in
//! it. A key that is visible there, and was not at `known_from`, was put by a write with a larger
//! number, which had ended the range before the iterator's point was taken.
//!
//! Lock order: `changes` is a leaf.

use arc_swap::ArcSwap;
use std::cmp::Ordering;
use std::fmt;
use std::sync::Arc;
use std::sync::atomic::Ordering::Relaxed;
use std::sync::atomic::{AtomicBool, AtomicU64};
use whitewater_concurrent::system::Mutex;
use whitewater_storage::key::{SequenceNumber, UserComparator, ValueType};
use whitewater_storage::planted;

/// The largest number of ranges of one database.
const MOST: usize = 32;

/// The largest number of ranges of which one covers the others. Iterators that began before it was
/// known use the others.
const MOST_COVERED: usize = 3;

/// The number of deleted keys that a walk must have passed to be remembered.
pub(crate) const LONG_WALK: u64 = 16;

const NEVER: SequenceNumber = SequenceNumber::MAX;

/// The user keys from `start` to before `end` in one column family.
pub(crate) struct EmptyRange {
    cf: u32,
    comparator: UserComparator,
    pub start: Vec<u8>,
    pub end: Vec<u8>,
    /// Writes with larger numbers end the range (E1); [`NEVER`] until that holds for some. Written
    /// by: the first thread that watches. Read by: iterators. Publishes nothing (relaxed).
    watched_above: AtomicU64,
    /// The smallest point at which nothing was found; [`NEVER`] before. Written by: an iterator.
    /// Read by: iterators. Publishes nothing (relaxed).
    known_from: AtomicU64,
    /// Written by: writers, and threads that change the list. Read by: iterators. Relaxed: what a
    /// writer stores here is published by the publication of its number, and what a suspension
    /// stores by the super version that it is for.
    ended: AtomicBool,
}

impl EmptyRange {
    /// Whether an iterator at this point sees nothing in the range.
    #[inline]
    pub fn is_empty_at(&self, point: SequenceNumber) -> bool {
        self.known_from.load(Relaxed) <= point && !self.ended.load(Relaxed)
    }

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

    /// Whether all keys between `start` and `end` are in the range.
    fn covers(&self, start: &[u8], end: &[u8]) -> bool {
        self.comparator.compare(&self.start, start) != Ordering::Greater
            && self.comparator.compare(end, &self.end) != Ordering::Greater
    }

    fn has_ended(&self) -> bool {
        self.ended.load(Relaxed)
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
    fn covers(&self, range: &EmptyRange) -> bool {
        self.comparator.compare(self.start, &range.start) != Ordering::Greater
            && self.comparator.compare(&range.end, self.end) != Ordering::Greater
    }
}

/// The ranges of a database, oldest first.
pub(crate) type List = Vec<Arc<EmptyRange>>;

/// See the [module](self).
pub(crate) struct EmptyRanges {
    /// Whether there are ranges. Written by: threads that change the list, before they add to an
    /// empty one, and after they have emptied it. Read by: writers, after they have reserved
    /// (relaxed): the reservation acquires what [`EmptyRanges::begin`] has seen.
    any: AtomicBool,
    list: ArcSwap<List>,
    /// Held by threads that change the list. The number of suspensions.
    changes: Mutex<usize>,
}

impl Default for EmptyRanges {
    fn default() -> Self {
        EmptyRanges {
            any: AtomicBool::new(false),
            list: ArcSwap::default(),
            changes: Mutex::default(),
        }
    }
}

impl fmt::Debug for EmptyRanges {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("EmptyRanges")
            .field("ranges", &self.list.load().len())
            .finish()
    }
}

impl EmptyRanges {
    /// Whether a writer has to call [`EmptyRanges::note`].
    #[inline]
    pub fn any(&self) -> bool {
        self.any.load(Relaxed)
    }

    /// Ends the ranges that an operation puts something into. Called by its writer after it has
    /// reserved, and before its number is visible (E1).
    pub fn note(&self, cf: u32, ty: ValueType, user_key: &[u8]) {
        planted!(EmptyRangeOutlivesPut => return);
        use ValueType::{Deletion, DeletionWithTimestamp, RangeDeletion, SingleDeletion};
        if matches!(
            ty,
            Deletion | DeletionWithTimestamp | RangeDeletion | SingleDeletion
        ) {
            return;
        }
        let list = self.list.load();
        let hit = |range: &&Arc<EmptyRange>| {
            range.cf == cf && !range.has_ended() && range.holds(user_key)
        };
        let mut ended = false;
        for range in list.iter().filter(hit) {
            range.ended.store(true, Relaxed);
            ended = true;
        }
        if ended {
            let _changes = self.changes.lock();
            self.replace(self.list.load().iter().cloned());
        }
    }

    /// Ends all ranges, as a write does whose keys are not known.
    pub fn end_all(&self) {
        let _changes = self.changes.lock();
        self.forget();
    }

    /// Ends all ranges, and lets none be watched as long as the result is held.
    pub fn suspend(&self) -> Suspended<'_> {
        let mut suspensions = self.changes.lock();
        *suspensions += 1;
        self.forget();
        Suspended(self)
    }

    /// The ranges that an iterator may use which pins its super version after this. Watches those
    /// that are not watched yet: `reserved` returns the last number that was handed out to a write,
    /// by a read-modify-write that pairs with those of later writers, or `None` if that cannot be
    /// told now.
    #[inline]
    pub fn begin(&self, reserved: impl FnOnce() -> Option<SequenceNumber>) -> Option<Arc<List>> {
        self.any().then(|| self.watch(reserved))
    }

    fn watch(&self, reserved: impl FnOnce() -> Option<SequenceNumber>) -> Arc<List> {
        let list = self.list.load_full();
        let new = |range: &&Arc<EmptyRange>| range.watched_above.load(Relaxed) == NEVER;
        if list.iter().any(|range| new(&range))
            && let Some(last) = reserved()
        {
            for range in list.iter().filter(new) {
                range.watched_above.store(last, Relaxed);
            }
        }
        list
    }

    /// Remembers what an iterator has walked over, which began with the ranges `begun_with`.
    pub fn walked(&self, walk: &Walk<'_>, begun_with: &[Arc<EmptyRange>]) {
        let live = |range: &&Arc<EmptyRange>| range.cf == walk.cf && !range.has_ended();
        for range in begun_with.iter().filter(live) {
            let mut upto = walk.point;
            planted!(EmptyRangeKnownUnwatched => upto = NEVER);
            if walk.covers(range) && range.watched_above.load(Relaxed) <= upto {
                range.known_from.fetch_min(walk.point, Relaxed);
            }
        }
        if walk.passed >= LONG_WALK {
            let list = self.list.load();
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
        let suspensions = self.changes.lock();
        if *suspensions > 0 {
            return;
        }
        let mut ranges = List::clone(&self.list.load());
        let is_covered = |range: &&Arc<EmptyRange>| range.cf == walk.cf && walk.covers(range);
        let covered = ranges.iter().filter(is_covered).count();
        let goes = if covered >= MOST_COVERED {
            ranges.iter().position(|range| is_covered(&range))
        } else {
            (ranges.len() >= MOST).then_some(0)
        };
        if let Some(goes) = goes {
            ranges.remove(goes).ended.store(true, Relaxed); // upholds E2
        }
        ranges.push(Arc::new(EmptyRange {
            cf: walk.cf,
            comparator: walk.comparator.clone(),
            start: walk.start.to_vec(),
            end: walk.end.to_vec(),
            watched_above: AtomicU64::new(NEVER),
            known_from: AtomicU64::new(NEVER),
            ended: AtomicBool::new(false),
        }));
        self.any.store(true, Relaxed);
        self.replace(ranges.into_iter());
    }

    /// Makes the list that of those of `ranges` that have not ended. Called with `changes` held.
    fn replace(&self, ranges: impl Iterator<Item = Arc<EmptyRange>>) {
        let left: List = ranges.filter(|range| !range.has_ended()).collect();
        let none = left.is_empty();
        self.list.store(Arc::new(left));
        if none {
            self.any.store(false, Relaxed);
        }
    }

    /// Ends all ranges. Called with `changes` held.
    fn forget(&self) {
        for range in self.list.load().iter() {
            range.ended.store(true, Relaxed);
        }
        self.replace(std::iter::empty());
    }
}

/// Keeps ranges from being watched; see [`EmptyRanges::suspend`].
pub(crate) struct Suspended<'a>(&'a EmptyRanges);

impl Drop for Suspended<'_> {
    fn drop(&mut self) {
        let mut suspensions = self.0.changes.lock();
        *suspensions -= 1;
        // Iterators from before may have proposed ranges that they alone have found empty.
        self.0.forget();
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
        ranges
            .list
            .load()
            .iter()
            .any(|r| r.holds(key) && r.is_empty_at(point))
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
        assert!(!is_known(&ranges, b"c", NEVER - 1), "nobody watches");
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
        let first = ranges.list.load()[0].clone();
        for i in 0..MOST as u8 {
            walk_over(&ranges, &[b'n', i], &[b'n', i, 1], 30);
        }
        assert_eq!(ranges.list.load().len(), MOST);
        assert!(!first.is_empty_at(30));
        // A queue takes few places.
        for i in 0..=MOST as u8 {
            walk_over(&ranges, b"q", &[b'q', i], 30);
        }
        let list = ranges.list.load();
        let of_queue = list.iter().filter(|r| r.start == b"q");
        assert_eq!(of_queue.count(), MOST_COVERED);
    }
}
