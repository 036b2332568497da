//! Range tombstones, fragmented for look-ups.
//!
//! Overlapping tombstones are cut at the boundaries of all of them, so that the fragments do
//! not overlap and a look-up is one binary search. The memory is the sum over fragments of the
//! tombstones that cover them, which is quadratic for tombstones that all nest; this is the
//! price of answering for any sequence number.
//!
//! Where keys have timestamps, so have both ends of a tombstone: that of the deletion. It deletes
//! all versions of its keys that are older than it. A fragment begins and ends before all versions
//! of a key, and a reader passes over tombstones that are newer than its own time.
//!
//! Invariants:
//! * I1: fragments are in key order, `start < end`, and do not overlap.
//! * I2: of a fragment's tombstones, the timestamps descend, and the sequence numbers of equal
//!   timestamps descend strictly; there is at least one.

use std::borrow::Cow;
use std::cmp::Ordering;
use std::collections::BTreeMap;
use std::ops::{Bound, Range};
use whitewater_storage::key::{SequenceNumber, UserComparator};
use whitewater_storage::rangedel::RangeTombstone;

/// Non-overlapping fragments in key order, each with the sequence numbers of the tombstones
/// that cover it, newest first. Immutable.
#[derive(Debug, Default)]
pub(crate) struct FragmentedTombstones {
    fragments: Vec<Fragment>,
    /// The sequence numbers of all fragments, one fragment after the other.
    seqs: Vec<SequenceNumber>,
    /// The timestamps that belong to `seqs`, one after the other; empty if keys have none.
    times: Vec<u8>,
}

/// The largest number of fragments that are looked at to find the end of a stretch.
const STRETCH: usize = 1024;

/// The newest tombstones that a reader sees.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Upto<'a> {
    pub seq: SequenceNumber,
    /// The end of the timestamps that it sees.
    pub time: Bound<&'a [u8]>,
}

impl<'a> Upto<'a> {
    /// Up to `seq`, and to the time that `version` ends with, if `comparator` has timestamps.
    pub fn of_version(comparator: &UserComparator, seq: SequenceNumber, version: &'a [u8]) -> Self {
        let time = match comparator.timestamp_size() {
            0 => Bound::Unbounded,
            _ => Bound::Included(comparator.timestamp(version)),
        };
        Upto { seq, time }
    }

    fn sees(&self, comparator: &UserComparator, seq: SequenceNumber, time: &[u8]) -> bool {
        seq <= self.seq
            && match self.time {
                Bound::Unbounded => true,
                Bound::Included(end) => comparator.compare_timestamps(time, end).is_le(),
                Bound::Excluded(end) => comparator.compare_timestamps(time, end).is_lt(),
            }
    }
}

impl From<SequenceNumber> for Upto<'_> {
    fn from(seq: SequenceNumber) -> Self {
        Upto {
            seq,
            time: Bound::Unbounded,
        }
    }
}

/// The newest tombstone over a user key, and the user keys that have the same answer.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Around<'a> {
    /// The sequence number of the tombstone; 0 if there is none.
    pub seq: SequenceNumber,
    pub start: Bound<&'a [u8]>,
    pub end: Bound<&'a [u8]>,
}

#[derive(Debug)]
struct Fragment {
    /// The first user key covered.
    start: Vec<u8>,
    /// The first user key past the fragment.
    end: Vec<u8>,
    /// The fragment's part of `FragmentedTombstones::seqs`.
    seqs: Range<usize>,
}

/// A tombstone that is to be cut.
struct Whole<'a> {
    /// The first user key covered: before all versions of its key.
    start: Cow<'a, [u8]>,
    /// The first user key past the tombstone.
    end: Cow<'a, [u8]>,
    /// The sequence number and the timestamp.
    number: (SequenceNumber, &'a [u8]),
}

impl<'a> Whole<'a> {
    fn new(t: &'a RangeTombstone, comparator: &UserComparator) -> Self {
        let place = |key: &'a [u8]| match comparator.timestamp_size() {
            0 => Cow::Borrowed(key),
            _ => Cow::Owned(comparator.first_version(comparator.without_timestamp(key))),
        };
        Whole {
            start: place(&t.start),
            end: place(&t.end),
            number: (t.seq, comparator.timestamp(&t.start)),
        }
    }
}

impl FragmentedTombstones {
    /// Makes fragments of `tombstones`, which may come in any order and overlap. Empty and inverted
    /// ranges cover nothing and are left out.
    pub fn new(tombstones: &[RangeTombstone], comparator: &UserComparator) -> Self {
        let compare = |a: &[u8], b: &[u8]| comparator.compare(a, b);
        let whole: Vec<Whole<'_>> = tombstones
            .iter()
            .map(|t| Whole::new(t, comparator))
            .filter(|t| compare(&t.start, &t.end) == Ordering::Less)
            .collect();
        let mut starting: Vec<&Whole<'_>> = whole.iter().collect();
        let mut ending = starting.clone();
        starting.sort_by(|a, b| compare(&a.start, &b.start));
        ending.sort_by(|a, b| compare(&a.end, &b.end));

        let mut result = FragmentedTombstones::default();
        let mut starting = starting.into_iter().peekable();
        let mut ending = ending.into_iter().peekable();
        // For each number, how many of its tombstones cover the current key.
        let mut active: BTreeMap<(SequenceNumber, &[u8]), usize> = BTreeMap::new();
        let mut from: &[u8] = &[];
        while let Some(end) = ending.peek() {
            // The next boundary. A tombstone ends after it starts, so there are ends as long as
            // there are starts.
            let at: &[u8] = match starting.peek() {
                Some(start) if compare(&start.start, &end.end) == Ordering::Less => &start.start,
                _ => &end.end,
            };
            result.push((from, at), &active, comparator);
            while let Some(t) = ending.next_if(|t| compare(&t.end, at) == Ordering::Equal) {
                if let Some(count) = active.get_mut(&t.number) {
                    *count -= 1;
                    if *count == 0 {
                        active.remove(&t.number);
                    }
                }
            }
            while let Some(t) = starting.next_if(|t| compare(&t.start, at) == Ordering::Equal) {
                *active.entry(t.number).or_insert(0) += 1;
            }
            from = at;
        }
        result
    }

    fn push(
        &mut self,
        (start, end): (&[u8], &[u8]),
        active: &BTreeMap<(SequenceNumber, &[u8]), usize>,
        comparator: &UserComparator,
    ) {
        if active.is_empty() {
            return;
        }
        let first = self.seqs.len();
        let newest_first = active.keys().rev();
        match comparator.timestamp_size() {
            0 => self.seqs.extend(newest_first.map(|(seq, _)| seq)),
            size => {
                let mut all: Vec<_> = newest_first.collect();
                // Stable: equal timestamps stay in the order of their numbers.
                all.sort_by(|(_, a), (_, b)| comparator.compare_timestamps(b, a));
                for (seq, time) in all {
                    self.seqs.push(*seq);
                    self.times.extend_from_slice(time);
                    self.times.resize(self.seqs.len() * size, 0);
                }
            }
        }
        self.fragments.push(Fragment {
            start: start.to_vec(),
            end: end.to_vec(),
            seqs: first..self.seqs.len(),
        });
    }

    /// Whether there are no tombstones.
    pub fn is_empty(&self) -> bool {
        self.fragments.is_empty()
    }

    /// The newest tombstone up to `upto` that covers `user_key`, or 0.
    pub fn max_covering<'u>(
        &self,
        comparator: &UserComparator,
        user_key: &[u8],
        upto: impl Into<Upto<'u>>,
    ) -> SequenceNumber {
        let started = |f: &Fragment| comparator.compare(&f.start, user_key) != Ordering::Greater;
        let mut place = self.fragments.partition_point(started);
        self.around(comparator, user_key, upto.into(), &mut place)
            .seq
    }

    /// Whether a tombstone over `user_key` has a timestamp above `time`; `None` if there is none
    /// over it.
    pub fn newer_than(
        &self,
        comparator: &UserComparator,
        user_key: &[u8],
        time: &[u8],
    ) -> Option<bool> {
        let seq = SequenceNumber::MAX;
        let newest = self.max_covering(comparator, user_key, seq);
        let upto = Upto {
            seq,
            time: Bound::Included(time),
        };
        let seen = self.max_covering(comparator, user_key, upto);
        (newest > 0).then_some(newest > seen)
    }

    /// The answer for `user_key` at `upto`, and for the keys around it. Looks at the position
    /// `hint` and those beside it before it searches, and stores the position found there, which is
    /// cheap for keys asked about in order.
    pub fn around(
        &self,
        comparator: &UserComparator,
        user_key: &[u8],
        upto: Upto<'_>,
        hint: &mut usize,
    ) -> Around<'_> {
        *hint = self.place(comparator, user_key, *hint);
        let next = self.fragments.get(*hint);
        let end = next.map_or(Bound::Unbounded, |f| Bound::Excluded(&f.start[..]));
        let Some(f) = hint.checked_sub(1).and_then(|i| self.fragments.get(i)) else {
            return Around {
                seq: 0,
                start: Bound::Unbounded,
                end,
            };
        };
        if comparator.compare(user_key, &f.end).is_lt() {
            return Around {
                seq: self.newest(f, upto, comparator),
                start: Bound::Included(&f.start),
                end: Bound::Excluded(&f.end),
            };
        }
        Around {
            seq: 0,
            start: Bound::Included(&f.end),
            end,
        }
    }

    /// The number of fragments that start at or before `user_key`.
    fn place(&self, comparator: &UserComparator, user_key: &[u8], hint: usize) -> usize {
        let started = |f: &Fragment| comparator.compare(&f.start, user_key) != Ordering::Greater;
        let is_here = |place: usize| {
            (place == 0 || self.fragments.get(place - 1).is_some_and(started))
                && self.fragments.get(place).is_none_or(|f| !started(f))
        };
        let near = [hint, hint + 1, hint.saturating_sub(1)];
        let found = near.into_iter().find(|place| is_here(*place));
        found.unwrap_or_else(|| self.fragments.partition_point(started))
    }

    /// The newest tombstone of `fragment` up to `upto`, or 0.
    fn newest(
        &self,
        fragment: &Fragment,
        upto: Upto<'_>,
        comparator: &UserComparator,
    ) -> SequenceNumber {
        let seqs = &self.seqs[fragment.seqs.clone()];
        if self.times.is_empty() {
            let newest = seqs.partition_point(|&seq| seq > upto.seq);
            return seqs.get(newest).copied().unwrap_or(0);
        }
        // The newest number is among the newest timestamps, unless those went back.
        let seen = self.numbers(fragment);
        let seen = seen.filter(|(seq, time)| upto.sees(comparator, *seq, time));
        seen.map(|(seq, _)| seq).max().unwrap_or(0)
    }

    /// The sequence numbers and timestamps of a fragment.
    fn numbers(&self, fragment: &Fragment) -> impl Iterator<Item = (SequenceNumber, &[u8])> {
        let size = self.times.len() / self.seqs.len().max(1);
        let time = move |i: usize| &self.times[i * size..(i + 1) * size];
        fragment.seqs.clone().map(move |i| (self.seqs[i], time(i)))
    }

    /// The end of the adjacent fragments from `place` on that delete something at `upto`. `place`
    /// is the position that [`FragmentedTombstones::around`] found for a covered key. If there are
    /// many fragments, returns the end of some of them.
    pub fn stretch_end(
        &self,
        comparator: &UserComparator,
        place: usize,
        upto: Upto<'_>,
    ) -> Option<&[u8]> {
        let mut last = self.fragments.get(place.checked_sub(1)?)?;
        for next in self.fragments[place..].iter().take(STRETCH) {
            if comparator.compare(&last.end, &next.start).is_ne()
                || self.newest(next, upto, comparator) == 0
            {
                break;
            }
            last = next;
        }
        Some(&last.end)
    }

    /// The same as [`FragmentedTombstones::stretch_end`], in the other direction.
    pub fn stretch_start(
        &self,
        comparator: &UserComparator,
        place: usize,
        upto: Upto<'_>,
    ) -> Option<&[u8]> {
        let place = place.checked_sub(1)?;
        let mut first = self.fragments.get(place)?;
        for before in self.fragments[..place].iter().rev().take(STRETCH) {
            let apart = comparator.compare(&before.end, &first.start).is_ne();
            if apart || self.newest(before, upto, comparator) == 0 {
                break;
            }
            first = before;
        }
        Some(&first.start)
    }

    /// The fragments as tombstones: by start ascending, then newest first.
    pub fn iter(&self, comparator: &UserComparator) -> impl Iterator<Item = RangeTombstone> + '_ {
        let hidden = comparator.timestamp_size();
        self.fragments.iter().flat_map(move |f| {
            let key = move |place: &[u8], time: &[u8]| {
                [&place[..place.len().saturating_sub(hidden)], time].concat()
            };
            self.numbers(f).map(move |(seq, time)| RangeTombstone {
                start: key(&f.start, time),
                end: key(&f.end, time),
                seq,
            })
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::read::cover::is_within;
    use crate::read::testing::comparators;
    use proptest::prelude::*;
    use std::sync::Arc;
    use whitewater_storage::key::MAX_SEQUENCE;
    use whitewater_storage::timestamp::BytewiseWithU64Timestamp;

    fn key() -> impl Strategy<Value = Vec<u8>> {
        proptest::collection::vec(prop_oneof![Just(0u8), Just(b'a'), Just(0xff)], 0..4)
    }

    fn tombstone() -> impl Strategy<Value = RangeTombstone> {
        (key(), key(), 0..12u64).prop_map(|(start, end, seq)| RangeTombstone { start, end, seq })
    }

    fn naive(
        tombstones: &[RangeTombstone],
        c: &UserComparator,
        key: &[u8],
        upto: SequenceNumber,
    ) -> SequenceNumber {
        tombstones
            .iter()
            .filter(|t| t.seq <= upto)
            .filter(|t| c.compare(&t.start, key).is_le() && c.compare(key, &t.end).is_lt())
            .map(|t| t.seq)
            .max()
            .unwrap_or(0)
    }

    proptest! {
        #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::with_cases(1000) })]
        #[test]
        fn fragments_answer_as_the_tombstones_do(
            tombstones in proptest::collection::vec(tombstone(), 0..12),
            probes in proptest::collection::vec((key(), 0..14u64), 1..40),
        ) {
            for c in comparators() {
                let fragments = FragmentedTombstones::new(&tombstones, &c);
                let mut hint = 0;
                for (key, upto) in &probes {
                    let expected = naive(&tombstones, &c, key, *upto);
                    prop_assert_eq!(fragments.max_covering(&c, key, *upto), expected);
                    let near = fragments.around(&c, key, (*upto).into(), &mut hint);
                    prop_assert_eq!(near.seq, expected);
                    // The answer is right for all keys of the range that it gives.
                    for (other, _) in &probes {
                        if is_within(&c, other, near.start, near.end) {
                            prop_assert_eq!(naive(&tombstones, &c, other, *upto), expected);
                        }
                    }
                    prop_assert!(is_within(&c, key, near.start, near.end));
                    // The same is true of a stretch: all of it is covered.
                    if expected > 0 {
                        let end = fragments.stretch_end(&c, hint, (*upto).into()).unwrap();
                        let start = fragments.stretch_start(&c, hint, (*upto).into()).unwrap();
                        prop_assert!(c.compare(start, key).is_le() && c.compare(key, end).is_lt());
                        for (other, _) in &probes {
                            if c.compare(start, other).is_le() && c.compare(other, end).is_lt() {
                                prop_assert!(naive(&tombstones, &c, other, *upto) > 0);
                            }
                        }
                    }
                }
                // Fragments are ordered and disjoint, and cover the same keys.
                let pieces: Vec<_> = fragments.iter(&c).collect();
                for pair in pieces.windows(2) {
                    let same = c.compare(&pair[0].start, &pair[1].start).is_eq();
                    if same {
                        prop_assert!(c.compare(&pair[0].end, &pair[1].end).is_eq());
                        prop_assert!(pair[0].seq > pair[1].seq);
                    } else {
                        prop_assert!(c.compare(&pair[0].end, &pair[1].start).is_le());
                    }
                }
                for (key, upto) in &probes {
                    prop_assert_eq!(
                        naive(&pieces, &c, key, *upto),
                        naive(&tombstones, &c, key, *upto)
                    );
                }
                let again = FragmentedTombstones::new(&pieces, &c);
                prop_assert!(again.iter(&c).eq(pieces.iter().cloned()));
                let legal = tombstones.iter().any(|t| c.compare(&t.start, &t.end).is_lt());
                prop_assert_eq!(fragments.is_empty(), !legal);
            }
        }
    }

    proptest! {
        #![proptest_config(ProptestConfig {
            failure_persistence: None,
            ..ProptestConfig::with_cases(500)
        })]
        #[test]
        fn fragments_with_timestamps_answer_as_the_tombstones_do(
            tombstones in proptest::collection::vec((tombstone(), 0..5u64), 0..12),
            probes in proptest::collection::vec((key(), 0..6u64, 0..14u64, 0..6u64), 1..40),
        ) {
            let c = UserComparator::Custom(Arc::new(BytewiseWithU64Timestamp));
            let at = |key: &[u8], time: u64| [key, &time.to_le_bytes()].concat();
            let all: Vec<_> = tombstones
                .iter()
                .map(|(t, time)| RangeTombstone {
                    start: at(&t.start, *time),
                    end: at(&t.end, *time),
                    seq: t.seq,
                })
                .collect();
            let fragments = FragmentedTombstones::new(&all, &c);
            let again: Vec<_> = fragments.iter(&c).collect();
            let again = FragmentedTombstones::new(&again, &c);
            prop_assert!(again.iter(&c).eq(fragments.iter(&c)));
            let sorted = |w: &[RangeTombstone]| c.compare(&w[0].start, &w[1].start).is_le();
            prop_assert!(fragments.iter(&c).collect::<Vec<_>>().windows(2).all(sorted));
            for (key, version, upto, time) in &probes {
                let covers = |(t, at): &&(RangeTombstone, u64)| {
                    t.seq <= *upto && at <= time && t.start <= *key && *key < t.end
                };
                let expected = tombstones.iter().filter(covers).map(|(t, _)| t.seq).max();
                let end = time.to_le_bytes();
                let seen = Upto { seq: *upto, time: Bound::Included(&end) };
                let found = fragments.max_covering(&c, &at(key, *version), seen);
                prop_assert_eq!(found, expected.unwrap_or(0));
                let before = Upto { seq: *upto, time: Bound::Excluded(&end) };
                let older = tombstones.iter().filter(covers).filter(|(_, at)| at < time);
                let found = fragments.max_covering(&c, &at(key, *version), before);
                prop_assert_eq!(found, older.map(|(t, _)| t.seq).max().unwrap_or(0));
            }
        }
    }

    #[test]
    fn nothing_is_covered_outside() {
        let c = UserComparator::Bytewise;
        let t = |start: &[u8], end: &[u8], seq| RangeTombstone {
            start: start.to_vec(),
            end: end.to_vec(),
            seq,
        };
        let f =
            FragmentedTombstones::new(&[t(b"b", b"d", 5), t(b"z", b"a", 9), t(b"m", b"m", 9)], &c);
        assert_eq!(f.iter(&c).count(), 1);
        for (key, seq) in [
            (&b"a"[..], 0),
            (b"b", 5),
            (b"c\xff", 5),
            (b"d", 0),
            (b"m", 0),
        ] {
            assert_eq!(f.max_covering(&c, key, MAX_SEQUENCE), seq, "{key:?}");
        }
        assert_eq!(f.max_covering(&c, b"b", 4), 0);
        let none = FragmentedTombstones::default();
        assert_eq!(none.max_covering(&c, b"", MAX_SEQUENCE), 0);
    }
}
