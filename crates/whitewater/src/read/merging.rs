//! Many sorted sources as one.
//!
//! The valid children are in a list, ordered by the key that each stands on: smallest first going
//! forward, largest going backward. So as long as one source supplies a run of keys, a step costs
//! one comparison. A child that no longer comes first moves down the list, and there are few
//! sources, so that this takes fewer comparisons than a heap. The list keeps the first bytes of
//! each child's key as a number ([`UserComparator::head`]): most comparisons are of two numbers,
//! and neither key is asked for.
//!
//! Equal internal keys come in the order of the children going forward, and in the reverse of
//! it going backward, so both directions see the same sequence.
//!
//! Invariants:
//! * I1: every child not in the list is past an end; every child in it is valid.
//! * I2: going forward, each child stands on its first entry after the current one in (key,
//!   child) order, but for what [`advance_key`](InternalIterator::advance_key) has left out;
//!   going backward, on its last entry before it.
//! * I3: a failed child empties the list: the iterator is not valid from then on until it is
//!   positioned again.
//! * I4: the head in each place of the list is that of the key on which the child stands, but
//!   while the child's block is lent.

use super::nothing::nothing;
use super::source::Source;
use crate::perf_context::{self, PerfMetric};
use std::cmp::Ordering;
use whitewater_storage::bounds::Bounds;
use whitewater_storage::internal_iterator::{BoxedIterator, InternalIterator, MergedCursor, Moved};
use whitewater_storage::key::{InternalComparator, user_key};
use whitewater_storage::planted;
use whitewater_storage::sst::BlockRun;
use whitewater_storage::{Error, Result};

/// An `InternalIterator` over the union of `children`, in internal order. Of equal keys, those
/// of earlier children come first.
pub(crate) fn merging_iterator(
    comparator: InternalComparator,
    children: Vec<BoxedIterator>,
) -> BoxedIterator {
    merging_memtables(comparator, children, 0)
}

/// [`merging_iterator`] of children the first `memtables` of which are memtables, so that
/// movements in them are counted as such.
pub(crate) fn merging_memtables(
    comparator: InternalComparator,
    mut children: Vec<BoxedIterator>,
    memtables: usize,
) -> BoxedIterator {
    if children.len() < 2 {
        return children.pop().unwrap_or_else(nothing);
    }
    Box::new(MergingIterator {
        order: Vec::with_capacity(children.len()),
        comparator,
        children: children.into_iter().map(Source::new).collect(),
        memtables,
        forward: true,
        error: None,
        switch_key: Vec::new(),
    })
}

/// A valid child's place in the order of the children.
#[derive(Clone, Copy)]
struct Place {
    /// The head of the user key on which the child stands.
    head: u128,
    child: usize,
}

/// How many places a child moves down the list one by one, before the rest is searched.
const NEAR: usize = 8;

/// How many steps further an announced seek is followed in all children before it is made.
const FURTHER: usize = 2;

struct MergingIterator {
    comparator: InternalComparator,
    children: Vec<Source>,
    /// The number of children, from the first on, that are memtables.
    memtables: usize,
    /// The valid children, ordered by key and index in the current direction.
    order: Vec<Place>,
    forward: bool,
    /// The first failure of a child since the last positioning.
    error: Option<Error>,
    /// The current key while the direction changes; kept to reuse its memory.
    switch_key: Vec<u8>,
}

impl MergingIterator {
    /// Whether child `a` comes before child `b` in the current direction.
    #[inline(always)]
    fn before(&self, a: Place, b: Place) -> bool {
        if a.head == b.head {
            return self.before_by_key(a.child, b.child);
        }
        (a.head < b.head) == self.forward
    }

    /// [`before`](Self::before) for keys with the same head.
    #[inline(never)]
    fn before_by_key(&self, a: usize, b: usize) -> bool {
        let (key_of_a, key_of_b) = (self.children[a].key(), self.children[b].key());
        let order = self.comparator.compare(key_of_a, key_of_b).then(a.cmp(&b));
        match self.forward {
            true => order.is_lt(),
            false => order.is_gt(),
        }
    }

    /// The place of `child`, which is valid, with the head of its key: upholds I4.
    #[inline(always)]
    fn place_of(&self, child: usize) -> Place {
        let key = user_key(self.children[child].key());
        let head = self.comparator.user.head(key);
        Place { head, child }
    }

    /// Whether child `i` stands on an entry. If it does not, its failure is recorded.
    fn usable(&mut self, i: usize) -> bool {
        if self.children[i].valid() {
            return true;
        }
        if let Err(e) = self.children[i].status() {
            self.error.get_or_insert(e);
        }
        false
    }

    /// Positions every child with `place`, then puts them in order.
    fn position(&mut self, forward: bool, mut place: impl FnMut(usize, &mut Source)) {
        self.forward = forward;
        self.error = None;
        for i in 0..self.children.len() {
            let in_memtable = i < self.memtables;
            let _timer = perf_context::timer(PerfMetric::SeekChildSeekTime);
            let _of_memtable = perf_context::timer_if(in_memtable, PerfMetric::SeekOnMemtableTime);
            perf_context::count(PerfMetric::SeekChildSeekCount, 1);
            perf_context::count(PerfMetric::SeekOnMemtableCount, u64::from(in_memtable));
            place(i, &mut self.children[i]);
        }
        let _timer = perf_context::timer(if forward {
            PerfMetric::SeekMinHeapTime
        } else {
            PerfMetric::SeekMaxHeapTime
        });
        self.rebuild();
    }

    /// Announces a seek to `target`. In each child it waits several times in a row, for memory or
    /// for a file. As it is announced in steps, the waits of all children overlap.
    fn expect(&mut self, target: &[u8]) {
        let children = self.children.iter_mut();
        children.for_each(|child| child.expect_seek(target));
        let (memtables, tables) = self.children.split_at_mut(self.memtables);
        for _ in 0..FURTHER {
            // What tables prefetch has time to arrive while memtables are asked.
            let children = tables.iter_mut().chain(&mut *memtables);
            children.for_each(|child| child.expect_further(target));
        }
    }

    fn rebuild(&mut self) {
        self.order.clear();
        for child in 0..self.children.len() {
            if self.usable(child) {
                self.order.push(self.place_of(child));
            }
        }
        if self.error.is_some() {
            self.order.clear(); // upholds I3
        }
        for position in (0..self.order.len()).rev() {
            self.put_in_place(position);
        }
    }

    /// Puts the child at `position` where it belongs in the rest of the list, which is in order.
    #[inline(always)]
    fn put_in_place(&mut self, mut position: usize) {
        let moved = self.order[position];
        let near = position + NEAR;
        while let Some(&next) = self.order.get(position + 1)
            && self.before(next, moved)
        {
            if position == near {
                return self.put_far(position, moved);
            }
            self.order[position] = next;
            position += 1;
        }
        self.order[position] = moved;
    }

    /// Puts a child into the list behind `position`, where there is room for one.
    #[cold]
    fn put_far(&mut self, position: usize, moved: Place) {
        let rest = &self.order[position + 1..];
        let last = position + rest.partition_point(|&other| self.before(other, moved));
        self.order.copy_within(position + 1..=last, position);
        self.order[last] = moved;
    }

    #[cold]
    fn remove_top(&mut self) {
        let top = self.order[0].child;
        if !self.usable(top) && self.error.is_some() {
            self.order.clear(); // upholds I3
            return;
        }
        self.order.remove(0);
    }

    /// Moves the top child forward by `step`.
    #[inline(always)]
    fn advance_by(&mut self, step: impl FnOnce(&mut Source) -> Moved) -> Moved {
        if !self.forward {
            self.turn();
        }
        let Some(&Place { head, child }) = self.order.first() else {
            return Moved::Ended;
        };
        if child < self.memtables {
            perf_context::count(PerfMetric::NextOnMemtableCount, 1);
        }
        let moved = step(&mut self.children[child]);
        if moved == Moved::Ended {
            self.remove_top();
        } else {
            self.order[0] = self.place_of(child);
            self.put_in_place(0);
        }
        match self.order.first() {
            Some(next) if next.head > head => Moved::NextKey,
            Some(next) if next.child == child => moved,
            Some(_) => Moved::Entry,
            None => Moved::Ended,
        }
    }

    /// Changes direction at the current entry, which stays current.
    #[cold]
    fn turn(&mut self) {
        let Some(&Place { child: current, .. }) = self.order.first() else {
            return;
        };
        let forward = !self.forward;
        let mut key = std::mem::take(&mut self.switch_key);
        key.clear();
        key.extend_from_slice(self.children[current].key());
        let comparator = self.comparator.clone();
        let stands_on_key = |child: &Source| {
            child.valid() && comparator.compare(child.key(), &key) == Ordering::Equal
        };
        // The other children go to their nearest entry beyond the current one in (key, child)
        // order: upholds I2.
        self.position(forward, |i, child| match i.cmp(&current) {
            Ordering::Equal => {}
            side if forward => {
                child.seek(&key);
                if side == Ordering::Less && stands_on_key(child) {
                    child.next();
                }
            }
            side => {
                child.seek_for_prev(&key);
                if side == Ordering::Greater && stands_on_key(child) {
                    child.prev();
                }
            }
        });
        self.switch_key = key;
    }
}

impl InternalIterator for MergingIterator {
    fn valid(&self) -> bool {
        !self.order.is_empty()
    }
    fn seek_to_first(&mut self) {
        self.position(true, |_, child| child.seek_to_first());
    }
    fn seek_to_last(&mut self) {
        self.position(false, |_, child| child.seek_to_last());
    }
    fn seek(&mut self, target: &[u8]) {
        self.expect(target);
        self.position(true, |_, child| child.seek(target));
    }
    fn seek_for_prev(&mut self, target: &[u8]) {
        self.position(false, |_, child| child.seek_for_prev(target));
    }
    fn next(&mut self) {
        self.advance();
    }
    fn advance(&mut self) -> Moved {
        self.advance_by(Source::advance)
    }
    fn advance_key(&mut self) -> Moved {
        self.advance_by(Source::advance_key)
    }
    fn prev(&mut self) {
        if self.forward {
            self.turn();
        }
        if let Some(&Place { child, .. }) = self.order.first() {
            self.children[child].prev();
            if child < self.memtables {
                perf_context::count(PerfMetric::PrevOnMemtableCount, 1);
            }
            if self.children[child].valid() {
                self.order[0] = self.place_of(child);
                self.put_in_place(0);
            } else {
                self.remove_top();
            }
        }
    }
    fn key(&self) -> &[u8] {
        self.children[self.order[0].child].key()
    }
    fn value(&self) -> &[u8] {
        self.children[self.order[0].child].value()
    }
    fn keep_to_prefix(&mut self, on: bool) {
        let children = self.children.iter_mut();
        children.for_each(|child| child.keep_to_prefix(on));
    }
    fn keep_within(&mut self, bounds: &Bounds) {
        let children = self.children.iter_mut();
        children.for_each(|child| child.keep_within(bounds));
    }
    fn status(&self) -> Result<()> {
        self.error.clone().map_or(Ok(()), Err)
    }
    fn lend(&mut self) -> Option<BlockRun> {
        let top = self.order.first().filter(|_| self.forward)?.child;
        if top < self.memtables {
            return None;
        }
        if let Some(second) = self.order.get(1) {
            // What comes before the second child's key keeps the child on top: upholds I2.
            let limit = self.children[second.child].key();
            if !self.children[top].block_ends_before(limit) {
                return None;
            }
        }
        self.children[top].lend()
    }
    fn block_ends_before(&self, limit: &[u8]) -> bool {
        (self.order.first()).is_some_and(|top| self.children[top.child].block_ends_before(limit))
    }
    fn take_back(&mut self, run: BlockRun) {
        if let Some(&Place { child, .. }) = self.order.first() {
            self.children[child].take_back(run);
            planted!(HeadLeftBehind => return);
            // After damage the next movement fails, and takes the child off the list.
            if self.children[child].valid() {
                self.order[0] = self.place_of(child);
            }
        }
    }
    fn merged(&mut self) -> Option<&mut dyn MergedCursor> {
        Some(self)
    }
    fn is_cached(&self) -> bool {
        (self.order.first()).is_some_and(|top| self.children[top.child].is_cached())
    }
    fn release(&mut self) -> bool {
        self.order.clear();
        self.error = None;
        self.children.iter_mut().all(Source::release)
    }
}

/// The number of entries of a source that are passed one by one before it seeks. What is to be
/// passed is often little, and in the current block.
const STEPS: usize = 4;

impl MergingIterator {
    /// Moves child `i` to its first entry that is not before `target`, in the current
    /// direction.
    fn pass(&mut self, i: usize, target: &[u8]) {
        let (comparator, forward) = (&self.comparator, self.forward);
        let is_before = |child: &Source| {
            child.valid() && {
                let order = comparator.compare(child.key(), target);
                if forward {
                    order.is_lt()
                } else {
                    order.is_gt()
                }
            }
        };
        let child = &mut self.children[i];
        for _ in 0..STEPS {
            if !is_before(child) {
                return;
            }
            if forward { child.next() } else { child.prev() }
        }
        if !is_before(child) {
            return;
        }
        perf_context::count(PerfMetric::SeekChildSeekCount, 1);
        if forward {
            child.seek(target)
        } else {
            child.seek_for_prev(target)
        }
        if is_before(child) {
            let e = Error::corruption("internal keys out of order");
            self.error.get_or_insert(e);
        }
    }
}

impl MergedCursor for MergingIterator {
    fn source(&self) -> usize {
        self.order[0].child
    }
    fn pass_older(&mut self, newest: usize, target: &[u8], forward: bool) -> bool {
        let Some(&Place { child: top, .. }) = self.order.first() else {
            return false;
        };
        let order = self.comparator.compare(self.children[top].key(), target);
        let passes = if forward {
            order.is_lt()
        } else {
            order.is_gt()
        };
        if top <= newest || forward != self.forward || !passes {
            return false;
        }
        for i in newest + 1..self.children.len() {
            if self.children[i].valid() {
                self.pass(i, target);
            }
        }
        self.rebuild(); // upholds I2: what was passed is as if it were not there
        true
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::read::testing::{FailingIterator, VecIterator, comparators};
    use rand::rngs::StdRng;
    use rand::{Rng, SeedableRng};
    use whitewater_storage::key::{ValueType, internal_key};

    type Entries = Vec<(Vec<u8>, Vec<u8>)>;

    /// User keys: a zero stands for the end of a key in its head, and the last two have one head.
    const USER_KEYS: [&[u8]; 7] = [
        b"",
        b"a",
        b"a\0",
        b"aa",
        b"\xff",
        b"sixteen bytes...",
        b"sixteen bytes...and more",
    ];

    /// Random sorted children and their union in (key, child) order. Values name the child.
    fn children(rng: &mut StdRng, c: &InternalComparator) -> (Vec<Entries>, Entries) {
        let n = match rng.random() {
            true => rng.random_range(0..6),
            false => rng.random_range(NEAR..3 * NEAR),
        };
        let mut children = vec![Entries::new(); n];
        for (i, child) in children.iter_mut().enumerate() {
            for _ in 0..rng.random_range(0..12) {
                let user = USER_KEYS[rng.random_range(0..USER_KEYS.len())];
                let key = internal_key(user, rng.random_range(0..6), ValueType::Value);
                child.push((key, vec![i as u8]));
            }
            child.sort_by(|a, b| c.compare(&a.0, &b.0));
            child.dedup_by(|a, b| a.0 == b.0);
        }
        let mut union: Entries = children.concat();
        union.sort_by(|a, b| c.compare(&a.0, &b.0).then(a.1.cmp(&b.1)));
        (children, union)
    }

    fn boxed(children: &[Entries], c: &InternalComparator) -> Vec<BoxedIterator> {
        let boxed = |e: &Entries| Box::new(VecIterator::new(c.clone(), e.clone())) as BoxedIterator;
        children.iter().map(boxed).collect()
    }

    #[test]
    fn random_walks_match_the_sorted_union() {
        for seed in 0..3000 {
            let rng = &mut StdRng::seed_from_u64(seed);
            for user in comparators() {
                let c = InternalComparator::new(user);
                let (children, union) = children(rng, &c);
                let mut it = merging_iterator(c.clone(), boxed(&children, &c));
                let mut at: Option<usize> = None;
                for _ in 0..40 {
                    let other: &[u8] = [&b"ab"[..], b"\xff\xff"][rng.random_range(0..2)];
                    let target = internal_key(
                        (USER_KEYS.get(rng.random_range(0..10))).map_or(other, |key| *key),
                        rng.random_range(0..7),
                        ValueType::Value,
                    );
                    let before = |or_at: bool| {
                        union.partition_point(|(k, _)| match c.compare(k, &target) {
                            Ordering::Less => true,
                            Ordering::Equal => or_at,
                            Ordering::Greater => false,
                        })
                    };
                    match (rng.random_range(0..12), at) {
                        (0, _) => {
                            it.seek_to_first();
                            at = Some(0);
                        }
                        (1, _) => {
                            it.seek_to_last();
                            at = union.len().checked_sub(1);
                        }
                        (2, _) => {
                            it.seek(&target);
                            at = Some(before(false));
                        }
                        (3, _) => {
                            it.seek_for_prev(&target);
                            at = before(true).checked_sub(1);
                        }
                        (4..8, Some(i)) => {
                            let moved = it.advance();
                            at = Some(i + 1);
                            let users = union.get(i + 1).map(|after| {
                                let user = |entry: &(Vec<u8>, _)| user_key(&entry.0).to_vec();
                                [user(&union[i]), user(after)]
                            });
                            match (moved, users) {
                                (Moved::Ended, None) | (Moved::Entry, Some(_)) => {}
                                (Moved::NextKey, Some([left, found])) => {
                                    assert!(c.compare_user(&left, &found).is_lt(), "seed {seed}");
                                }
                                other => panic!("seed {seed}: {other:?}"),
                            }
                        }
                        (_, Some(i)) => {
                            it.prev();
                            at = i.checked_sub(1);
                        }
                        _ => {}
                    }
                    at = at.filter(|&i| i < union.len());
                    let expected = at.map(|i| (&union[i].0[..], &union[i].1[..]));
                    let found = it.valid().then(|| (it.key(), it.value()));
                    assert_eq!(found, expected, "seed {seed}");
                    assert_eq!(it.status(), Ok(()));
                }
            }
        }
    }

    #[test]
    fn a_failing_child_stops_the_walk_until_the_next_seek() {
        for seed in 0..500 {
            let rng = &mut StdRng::seed_from_u64(seed);
            let c = InternalComparator::default();
            let (children, union) = children(rng, &c);
            let mut sources = boxed(&children, &c);
            let Some(bad) = sources.pop() else { continue };
            let after = rng.random_range(1..6);
            sources.push(Box::new(FailingIterator::new(bad, after)));
            let mut it = merging_iterator(c, sources);
            for forward in [true, false] {
                let mut expected: Vec<_> = union.iter().map(|(k, v)| (&k[..], &v[..])).collect();
                if forward {
                    it.seek_to_first();
                } else {
                    expected.reverse();
                    it.seek_to_last();
                }
                let mut seen = 0;
                while it.valid() {
                    assert_eq!((it.key(), it.value()), expected[seen], "seed {seed}");
                    seen += 1;
                    if forward { it.next() } else { it.prev() }
                }
                assert!(seen == union.len() || it.status().is_err(), "seed {seed}");
            }
        }
    }
}
