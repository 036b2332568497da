//! Numbers that are visible by their order, but not decided yet.
//!
//! A write whose entries are in memtables before it is known whether they count enters the
//! range of its numbers ([`Undecided::enter`]). Readers pass over versions with such numbers.
//! When the write is decided, its ranges leave ([`Undecided::decide`]), all at one instant.
//!
//! A reader takes the visible number together with the ranges that are undecided at that
//! instant ([`Undecided::at`]). What it has taken does not change, so it reads the same later,
//! whatever is decided meanwhile (the read view of InnoDB, the snapshot of PostgreSQL;
//! RocksDB asks a cache of all commits instead). Most of the time nothing is undecided, and
//! then a reader takes no lock ([`Undecided::none_at`]).
//!
//! Invariant X3: a range is entered before its last number is visible, and leaves only after
//! what decides it has done all of its inserts and is visible. So of the numbers up to the
//! visible one that a reader has taken, those outside of its ranges are decided and inserted,
//! and those in its ranges were not decided when it began.

use crate::sync::{AtomicU64, Mutex, Ordering};
use crossbeam_utils::CachePadded;
use std::fmt;
use std::sync::{Arc, OnceLock};

/// Numbers from the first to the last.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct NumberRange {
    /// The first.
    pub first: u64,
    /// The last; not below the first.
    pub last: u64,
}

/// Ranges that were undecided at one instant, ascending and disjoint, at least one.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct UndecidedRanges(Box<[NumberRange]>);

impl UndecidedRanges {
    /// The ranges, which ascend and do not overlap; `None` if there are none.
    pub fn new(ranges: &[NumberRange]) -> Option<Arc<Self>> {
        (!ranges.is_empty()).then(|| Arc::new(UndecidedRanges(ranges.into())))
    }

    /// The numbers that are in any of `all`; `None` if there are none.
    pub fn union<'a>(all: impl IntoIterator<Item = &'a UndecidedRanges>) -> Option<Arc<Self>> {
        let mut ranges: Vec<NumberRange> =
            all.into_iter().flat_map(|one| &one.0).copied().collect();
        ranges.sort_unstable_by_key(|range| range.first);
        ranges.dedup_by(|next, kept| {
            let joins = next.first <= kept.last.saturating_add(1);
            if joins {
                kept.last = kept.last.max(next.last);
            }
            joins
        });
        Self::new(&ranges)
    }

    /// Whether `number` is in one of the ranges.
    #[inline]
    pub fn contains(&self, number: u64) -> bool {
        let at = self.0.partition_point(|range| range.last < number);
        self.0.get(at).is_some_and(|range| range.first <= number)
    }

    /// The smallest number in them.
    pub fn first(&self) -> u64 {
        self.0[0].first
    }

    /// The ranges, ascending.
    pub fn ranges(&self) -> &[NumberRange] {
        &self.0
    }
}

/// The ranges that are undecided now.
#[derive(Debug)]
pub struct Undecided {
    // One cache line: every change writes both fields, and those who find the state odd take the
    // lock next.
    inner: CachePadded<Inner>,
    on_decide: OnDecide,
}

#[derive(Debug)]
struct Inner {
    ranges: Mutex<Ranges>,
    /// Twice the number of changes of `ranges`, plus one if there are any.
    /// Written by: threads that change `ranges`, under its lock (Release). Read by: readers
    /// that hope for none (Acquire). Publishes: that what has left was visible before (X3).
    state: AtomicU64,
}

/// What is called when ranges have left, with the smallest of their numbers.
#[derive(Default)]
struct OnDecide(OnceLock<Box<dyn Fn(u64) + Send + Sync>>);

impl fmt::Debug for OnDecide {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("OnDecide").finish_non_exhaustive()
    }
}

#[derive(Debug, Default)]
struct Ranges {
    /// Ascending and disjoint.
    list: Vec<NumberRange>,
    /// `list`, for readers, if one has asked since it changed.
    shared: Option<Arc<UndecidedRanges>>,
}

impl Default for Undecided {
    fn default() -> Self {
        Self::new()
    }
}

impl Undecided {
    /// Nothing is undecided.
    pub fn new() -> Self {
        let inner = Inner {
            ranges: Mutex::new(Ranges::default()),
            state: AtomicU64::new(0),
        };
        Undecided {
            inner: CachePadded::new(inner),
            on_decide: OnDecide::default(),
        }
    }

    /// Calls `told` after ranges have left, with the smallest of their numbers. Only the first
    /// call has an effect.
    pub fn on_decide(&self, told: impl Fn(u64) + Send + Sync + 'static) {
        let _ = self.on_decide.0.set(Box::new(told));
    }

    /// Enters ranges. None of their last numbers is visible yet, and they overlap no other.
    pub fn enter(&self, ranges: impl IntoIterator<Item = NumberRange>) {
        let mut locked = self.inner.ranges.lock();
        for range in ranges {
            debug_assert!(range.first <= range.last, "{range:?}");
            // Mostly the end, since numbers grow.
            let at = locked.list.partition_point(|one| one.first < range.first);
            locked.list.insert(at, range);
        }
        self.changed(&mut locked);
    }

    /// Takes ranges out, by their first numbers, all at one instant. What was written at their
    /// numbers, and whatever decides on it, is visible.
    pub fn decide(&self, firsts: impl IntoIterator<Item = u64>) {
        let mut smallest: Option<u64> = None;
        let mut locked = self.inner.ranges.lock();
        for first in firsts {
            let at = locked.list.binary_search_by_key(&first, |one| one.first);
            if let Ok(at) = at {
                locked.list.remove(at);
                smallest = Some(smallest.map_or(first, |one| one.min(first)));
            }
        }
        self.changed(&mut locked);
        drop(locked);
        if let (Some(smallest), Some(told)) = (smallest, self.on_decide.0.get()) {
            told(smallest);
        }
    }

    fn changed(&self, locked: &mut Ranges) {
        locked.shared = None;
        let before = self.inner.state.load(Ordering::Relaxed); // only written under the lock
        let after = ((before >> 1) + 1) << 1 | u64::from(!locked.list.is_empty());
        // Release: pairs with the first load of `none_at`.
        self.inner.state.store(after, Ordering::Release);
    }

    /// What `begin` returns, if no number up to the one that it loads was undecided from before
    /// its beginning on. It loads the visible number last, with Acquire, which pairs with its
    /// publication. What it pins before that belongs in it, too: then the decisions at all of
    /// these numbers, and what was written for them, were there before it was pinned.
    #[inline]
    pub fn none_at<T>(&self, begin: impl FnOnce() -> T) -> Option<T> {
        // Acquire: what has left by then is visible to whatever is loaded next.
        let before = self.inner.state.load(Ordering::Acquire);
        if before & 1 == 1 {
            return None;
        }
        let begun = begin();
        // Relaxed: a range with a visible number was entered before that was published, and so
        // is seen by who has acquired that number.
        (self.inner.state.load(Ordering::Relaxed) == before).then_some(begun)
    }

    /// The number that `visible` returns, and what is undecided at that instant.
    #[inline]
    pub fn at(&self, visible: impl Fn() -> u64) -> (u64, Option<Arc<UndecidedRanges>>) {
        match self.none_at(&visible) {
            Some(number) => (number, None),
            None => self.locked_at(visible),
        }
    }

    #[cold]
    fn locked_at(&self, visible: impl Fn() -> u64) -> (u64, Option<Arc<UndecidedRanges>>) {
        let mut locked = self.inner.ranges.lock();
        // Nothing enters or leaves meanwhile.
        let number = visible();
        if locked.shared.is_none() {
            locked.shared = UndecidedRanges::new(&locked.list);
        }
        (number, locked.shared.clone())
    }

    /// What is undecided now.
    pub fn now(&self) -> Option<Arc<UndecidedRanges>> {
        self.at(|| 0).1
    }
}

#[cfg(all(test, not(any(loom, shuttle))))]
mod tests {
    use super::*;

    fn range(first: u64, last: u64) -> NumberRange {
        NumberRange { first, last }
    }

    #[test]
    fn numbers_are_in_ranges_until_they_are_decided() {
        let undecided = Undecided::new();
        assert_eq!(undecided.at(|| 7), (7, None));
        undecided.enter([range(8, 9), range(12, 12)]);
        undecided.enter([range(4, 5)]);
        let (number, ranges) = undecided.at(|| 12);
        let ranges = ranges.unwrap();
        assert_eq!((number, ranges.first()), (12, 4));
        let found: Vec<u64> = (0..15).filter(|n| ranges.contains(*n)).collect();
        assert_eq!(found, [4, 5, 8, 9, 12]);
        assert_eq!(undecided.none_at(|| 12), None);
        undecided.decide([4, 12]);
        assert_eq!(undecided.now().unwrap().ranges(), [range(8, 9)]);
        undecided.decide([8]);
        assert_eq!(undecided.none_at(|| 13), Some(13));
        assert!(ranges.contains(12), "what was taken stays as it was");
    }

    #[test]
    fn a_union_has_each_number_once() {
        let of = |ranges: &[NumberRange]| UndecidedRanges::new(ranges).unwrap();
        let all = [
            of(&[range(8, 9), range(20, 30)]),
            of(&[range(4, 7), range(12, 12), range(22, 25)]),
            of(&[range(30, 31)]),
        ];
        let union = UndecidedRanges::union(all.iter().map(|one| &**one)).unwrap();
        assert_eq!(union.ranges(), [range(4, 9), range(12, 12), range(20, 31)]);
        assert_eq!(UndecidedRanges::union([]), None);
    }

    #[test]
    fn it_is_told_what_has_left_once_it_has() {
        let undecided = Arc::new(Undecided::new());
        let (told, seen) = std::sync::mpsc::channel();
        let again = Arc::downgrade(&undecided);
        undecided.on_decide(move |first| {
            let now = again.upgrade().unwrap().now();
            told.send((first, now.map(|ranges| ranges.first())))
                .unwrap();
        });
        undecided.enter([range(3, 4), range(7, 7), range(9, 9)]);
        undecided.decide([7, 3]);
        undecided.decide([5]);
        undecided.decide([9]);
        assert_eq!(
            seen.try_iter().collect::<Vec<_>>(),
            [(3, Some(9)), (9, None)]
        );
    }

    #[test]
    fn a_change_while_the_number_is_loaded_is_noticed() {
        let undecided = Undecided::new();
        let late = || {
            undecided.enter([range(3, 4)]);
            4
        };
        assert_eq!(undecided.none_at(late), None);
        undecided.decide([3]);
        let gone_again = || {
            undecided.enter([range(5, 5)]);
            undecided.decide([5]);
            5
        };
        assert_eq!(undecided.none_at(gone_again), None);
        assert_eq!(undecided.at(|| 6), (6, None));
    }
}
