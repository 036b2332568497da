//! Ranges of keys that are known to hold nothing visible, for iterators to pass over at once.
//!
//! A program that takes the first key again and again, as a queue does, leaves tombstones before
//! it, and every new iterator would walk over all of them. Here a walk that passed many deleted
//! keys is remembered, wherever the tombstones are, and at most [`MOST`] walks of a database are.
//!
//! A range is proposed by an iterator that has passed many deleted keys in one call, and used by
//! others once one of them has walked over all of it, with nothing undecided, and has found
//! nothing. An iterator that passes it and then some deleted keys beside it extends it over them,
//! unless something was put there since. If a walk came from before all keys, the range tells that
//! nothing is left before it, until something is put there, and so at the other end: who moves to
//! the first key then begins behind the range. Writers end ranges. When one may be relied on, and
//! why, says `concurrent::watched_ranges`, with the invariants E1 to E4. Here are its keys, and how
//! many ranges there are.
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
    start: Vec<u8>,
    end: Vec<u8>,
    /// Whether nothing is visible before `start`, either: the walk that has made the range known
    /// had come from before all keys, and `before` is `None`.
    is_first: bool,
    /// The same at and after `end`, and `behind`.
    is_last: bool,
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

    /// The edges that a walk comes to last and first, going `forward` or backward.
    pub fn edges(&self, forward: bool) -> (&[u8], &[u8]) {
        match forward {
            true => (&self.end, &self.start),
            false => (&self.start, &self.end),
        }
    }

    /// What becomes of the range when `key` is put into the column family.
    fn put(&self, key: &[u8]) -> Effect<KeyRange> {
        let order = |a, b| self.comparator.compare(a, b);
        let narrowed = |before: Option<Vec<u8>>, behind: Option<Vec<u8>>| {
            let mut is_first = self.is_first && before.is_none();
            planted!(EmptyRangeStaysFirst => is_first = self.is_first);
            Effect::Narrows(KeyRange {
                comparator: self.comparator.clone(),
                start: self.start.clone(),
                end: self.end.clone(),
                is_first,
                is_last: self.is_last && behind.is_none(),
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
        let is_first = walk.is_first && self.before.is_none();
        let is_last = walk.is_last && self.behind.is_none();
        let opens = (is_first && !self.is_first) || (is_last && !self.is_last);
        let extends = walk.covers(self) && (opens || !self.covers(walk.start, walk.end));
        (before && behind && extends).then(|| KeyRange {
            comparator: self.comparator.clone(),
            start: walk.start.to_vec(),
            end: walk.end.to_vec(),
            // What an earlier walk has found there may not hold at the point of this one.
            is_first,
            is_last,
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
    /// Whether it began before all keys, or behind all.
    pub is_first: bool,
    pub is_last: bool,
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

    /// Whether it has found nothing in all that `range` says to be empty.
    fn confirms(&self, range: &KeyRange) -> bool {
        let ends = (self.is_first || !range.is_first) && (self.is_last || !range.is_last);
        ends && self.covers(range)
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
            if walk.confirms(range) && range.is_watched_at(upto) {
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

    /// Of the ranges that an iterator of `cf` began with, one before which there is nothing visible
    /// at its `point` either, or behind which there is nothing if not `forward`.
    pub fn at_the_end(
        &self,
        begun_with: &List,
        cf: u32,
        forward: bool,
        point: SequenceNumber,
    ) -> Option<Arc<EmptyRange>> {
        let is_outermost = |range: &KeyRange| {
            if forward {
                range.is_first
            } else {
                range.is_last
            }
        };
        let candidates = begun_with.iter().rev();
        let mut candidates = candidates
            .filter(|range| range.cf == cf && is_outermost(range) && range.is_empty_at(point));
        let found = candidates.next()?;
        // What was put beside it meanwhile, and is visible at the point, has narrowed it.
        let present = self.0.present(found);
        present.filter(|range| is_outermost(range))?;
        Some(found.clone())
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
            is_first: walk.is_first,
            is_last: walk.is_last,
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
mod tests;
