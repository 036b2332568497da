//! Walks against a model, and what else an iterator promises; `undecided`: walks beside entries
//! whose writes were undecided.

mod undecided;

use super::*;
use crate::entry::range_tombstones::FragmentedTombstones;
use crate::read::merging::merging_iterator;
use crate::read::model::{History, KEYS, Shown};
use crate::read::nothing::failed_iterator;
use crate::read::testing::{Append, FailingIterator, VecIterator, comparators, no_view};
use rand::rngs::StdRng;
use rand::seq::IndexedRandom;
use rand::{Rng, SeedableRng};
use whitewater_storage::key::{InternalComparator, ValueType, internal_key};
use whitewater_storage::rangedel::RangeTombstone;
use whitewater_storage::sst::ReadLimits;

/// The tombstones belong to no source, so all entries are looked at.
fn parts(source: BoxedIterator, tombstones: FragmentedTombstones) -> DbIterParts {
    let tombstones = HeldTombstones::of_memtable(usize::MAX, Arc::new(tombstones));
    DbIterParts {
        source,
        only_memtable: false,
        statistics: None,
        slow: None,
        tombstones: vec![tombstones],
        comparator: UserComparator::Bytewise,
        merge_operator: Some(Arc::new(Append)),
        base: IteratorBase::new(no_view()),
        buffers: IterBuffers::default(),
        leaves_source: false,
        blob_reads: BlobReads::of_job(ReadLimits::NONE),
        point: (u64::MAX >> 8).into(),
        bounds: Bounds::default(),
        prefix_extractor: None,
        prefix_mode: PrefixMode::Never,
        max_skippable_internal_keys: 0,
        limits: Default::default(),
        versions: None,
        empty_ranges: None,
        snapshot: None,
    }
}

/// A model of the iterator: what there is to show, and where the iterator is.
struct Model<'a> {
    comparator: &'a UserComparator,
    shown: Shown,
    at: Option<usize>,
}

impl Model<'_> {
    fn first_at_or_after(&self, target: &[u8]) -> usize {
        self.shown
            .partition_point(|(k, _)| self.comparator.compare(k, target).is_lt())
    }
    fn past_at_or_before(&self, target: &[u8]) -> usize {
        self.shown
            .partition_point(|(k, _)| self.comparator.compare(k, target).is_le())
    }
    /// Moves to `at`. An entry that fails ends the walk; its failure is returned.
    fn go(&mut self, at: Option<usize>) -> Option<ErrorKind> {
        let outcome = at.and_then(|i| self.shown.get(i)).map(|(_, v)| v);
        self.at = at.filter(|_| matches!(outcome, Some(Ok(_))));
        outcome.and_then(|v| v.clone().err())
    }
    fn entry(&self) -> Option<(&[u8], &[u8])> {
        let (k, v) = &self.shown[self.at?];
        Some((k, v.as_deref().ok()?))
    }
}

fn bound(rng: &mut StdRng) -> Option<Vec<u8>> {
    rng.random_ratio(1, 3)
        .then(|| KEYS.choose(rng).unwrap().to_vec())
}

/// Makes one random movement of both. Returns the failure that the model expects, or `None`
/// when the movement has no effect.
fn step(rng: &mut StdRng, it: &mut DbIter, model: &mut Model<'_>) -> Option<Option<ErrorKind>> {
    let mut target = KEYS.choose(rng).unwrap().to_vec();
    if rng.random_ratio(1, 4) {
        target.push(*[0, b'a', 0xff].choose(rng).unwrap());
    }
    match rng.random_range(0..16) {
        0 => {
            it.seek_to_first();
            Some(model.go(Some(0)))
        }
        1 => {
            it.seek_to_last();
            Some(model.go(model.shown.len().checked_sub(1)))
        }
        2 => {
            it.seek(&target);
            Some(model.go(Some(model.first_at_or_after(&target))))
        }
        3 => {
            it.seek_for_prev(&target);
            Some(model.go(model.past_at_or_before(&target).checked_sub(1)))
        }
        4..10 => {
            it.next();
            model.at.map(|i| model.go(Some(i + 1)))
        }
        _ => {
            it.prev();
            model.at.map(|i| model.go(i.checked_sub(1)))
        }
    }
}

fn check(it: &DbIter, model: &Model<'_>, failure: Option<ErrorKind>, seed: u64) {
    let found = it.key().zip(it.value());
    assert_eq!(found, model.entry(), "seed {seed}");
    assert_eq!(it.valid(), model.at.is_some(), "seed {seed}");
    let status = it.status().map_err(|e| e.kind()).err();
    assert_eq!(status, failure, "seed {seed}");
}

#[test]
fn random_walks_match_the_model() {
    for seed in 0..4000 {
        let rng = &mut StdRng::seed_from_u64(seed);
        for comparator in comparators() {
            let failures = rng.random_ratio(1, 3);
            let history = History::random(rng, &comparator, failures);
            for _ in 0..3 {
                let sequence = rng.random_range(0..=history.last);
                let (lower, upper) = (bound(rng), bound(rng));
                let mut it = DbIter::new(DbIterParts {
                    comparator: comparator.clone(),
                    point: sequence.into(),
                    bounds: Bounds::new(lower.clone(), upper.clone()),
                    ..parts(history.merged(rng), history.fragments())
                });
                let mut model = Model {
                    comparator: &comparator,
                    shown: history.scan(sequence, lower.as_deref(), upper.as_deref()),
                    at: None,
                };
                let mut failure = None;
                for _ in 0..30 {
                    if let Some(outcome) = step(rng, &mut it, &mut model) {
                        failure = outcome;
                    }
                    check(&it, &model, failure, seed);
                }
            }
        }
    }
}

#[test]
fn whole_walks_match_the_model_in_both_directions() {
    for seed in 0..1000 {
        let rng = &mut StdRng::seed_from_u64(seed);
        for comparator in comparators() {
            let history = History::random(rng, &comparator, false);
            for sequence in [0, history.last / 2, history.last] {
                let mut it = DbIter::new(DbIterParts {
                    comparator: comparator.clone(),
                    point: sequence.into(),
                    ..parts(history.merged(rng), history.fragments())
                });
                let mut shown = history.scan(sequence, None, None);
                for forward in [true, false] {
                    assert_eq!(walk(&mut it, forward), shown, "seed {seed}");
                    assert_eq!(it.status(), Ok(()));
                    shown.reverse();
                }
            }
        }
    }
}

fn walk(it: &mut DbIter, forward: bool) -> Shown {
    let mut shown = Shown::new();
    if forward {
        it.seek_to_first();
    } else {
        it.seek_to_last();
    }
    while let (Some(k), Some(v)) = (it.key(), it.value()) {
        shown.push((k.to_vec(), Ok(v.to_vec())));
        if forward { it.next() } else { it.prev() }
    }
    shown
}

#[test]
fn failures_of_sources_end_the_walk_and_hide_nothing() {
    for seed in 0..3000 {
        let rng = &mut StdRng::seed_from_u64(seed);
        let comparator = UserComparator::Bytewise;
        let history = History::random(rng, &comparator, false);
        let mut cursors = history.cursors(rng);
        let last = cursors.pop().unwrap();
        let after = rng.random_range(1..30);
        cursors.push(Box::new(FailingIterator::new(last, after)));
        let c = InternalComparator::new(comparator);
        let source = merging_iterator(c, cursors);
        let mut it = DbIter::new(DbIterParts {
            point: history.last.into(),
            ..parts(source, history.fragments())
        });
        let mut shown = history.scan(history.last, None, None);
        for forward in [true, false, true, false] {
            let seen = walk(&mut it, forward);
            match it.status() {
                Ok(()) => assert_eq!(seen, shown, "seed {seed}"),
                Err(e) => {
                    assert!(e.to_string().contains("planted failure"));
                    assert_eq!(seen[..], shown[..seen.len()], "seed {seed}");
                }
            }
            // A failed iterator does not move.
            it.next();
            it.prev();
            assert!(!it.valid());
            shown.reverse();
        }
    }
}

#[test]
fn damaged_sources_end_in_an_error_or_a_result_but_end() {
    let c = InternalComparator::default();
    for seed in 0..3000 {
        let rng = &mut StdRng::seed_from_u64(seed);
        let n = rng.random_range(1..60);
        let mut entries = Vec::new();
        for i in 0..n {
            let user = KEYS[..4].choose(rng).unwrap();
            let mut key = internal_key(user, rng.random_range(0..20), ValueType::Value);
            match rng.random_range(0..40) {
                0 => key.truncate(rng.random_range(0..8)),
                1 => *key.iter_mut().nth_back(7).unwrap() = 0x55,
                _ => {}
            }
            entries.push((key, vec![i]));
        }
        let source = VecIterator::unsorted(c.clone(), entries);
        let mut it = DbIter::new(DbIterParts {
            point: rng.random_range(0..20u64).into(),
            ..parts(Box::new(source), FragmentedTombstones::default())
        });
        for _ in 0..20 {
            let target = KEYS.choose(rng).unwrap();
            match rng.random_range(0..8) {
                0 => it.seek_to_first(),
                1 => it.seek_to_last(),
                2 => it.seek(target),
                3 => it.seek_for_prev(target),
                4 | 5 => it.next(),
                _ => it.prev(),
            }
            assert!(!it.valid() || it.status().is_ok());
        }
        for forward in [true, false] {
            let mut keys: Vec<_> = walk(&mut it, forward).into_iter().map(|(k, _)| k).collect();
            if !forward {
                keys.reverse();
            }
            assert!(keys.is_sorted_by(|a, b| a < b), "seed {seed}");
        }
    }
}

fn source(entries: &[(&[u8], u64, ValueType, &[u8])]) -> BoxedIterator {
    let entry = |&(k, seq, ty, v): &(&[u8], _, _, &[u8])| (internal_key(k, seq, ty), v.to_vec());
    let entries = entries.iter().map(entry).collect();
    Box::new(VecIterator::new(InternalComparator::default(), entries))
}

#[test]
fn skipping_too_many_keys_is_incomplete() {
    use ValueType::{Deletion, Value};
    let deleted = |n: u8| {
        let keys: Vec<[u8; 1]> = (0..n).map(|i| [b'b' + i]).collect();
        let mut entries: Vec<(&[u8], u64, ValueType, &[u8])> = vec![(b"a", 1, Value, b"1")];
        entries.extend(keys.iter().map(|k| (&k[..], 5, Deletion, &b""[..])));
        entries.push((b"z", 1, Value, b"26"));
        DbIter::new(DbIterParts {
            max_skippable_internal_keys: 2,
            ..parts(source(&entries), FragmentedTombstones::default())
        })
    };
    for (n, enough) in [(2, true), (3, false)] {
        let mut it = deleted(n);
        it.seek_to_first();
        assert_eq!(it.key(), Some(&b"a"[..]));
        it.next();
        assert_eq!(it.key(), enough.then_some(&b"z"[..]), "{n}");
        assert_eq!(it.status().is_ok(), enough);
        it.seek_to_last();
        assert_eq!(it.key(), Some(&b"z"[..]));
        it.prev();
        assert_eq!(it.key(), enough.then_some(&b"a"[..]), "{n}");
        if let Err(e) = it.status() {
            assert_eq!(e.kind(), ErrorKind::Incomplete);
        }
        // It can be positioned again after the failure.
        it.seek(b"z");
        assert_eq!(it.key(), Some(&b"z"[..]));
        assert_eq!(it.status(), Ok(()));
    }
}

#[test]
fn a_seek_that_a_bound_answers_tells_no_old_failure() {
    let entries: [(&[u8], u64, ValueType, &[u8]); 3] = [
        (b"b", 1, ValueType::Value, b"1"),
        (b"c", 1, ValueType::Value, b"2"),
        (b"d", 1, ValueType::Value, b"3"),
    ];
    // Every third movement fails.
    let failing = FailingIterator::new(source(&entries), 3);
    let source = merging_iterator(InternalComparator::default(), vec![Box::new(failing)]);
    let mut it = DbIter::new(DbIterParts {
        bounds: Bounds::new(Some(b"b".to_vec()), Some(b"e".to_vec())),
        ..parts(source, FragmentedTombstones::default())
    });
    let seeks: [fn(&mut DbIter); 4] = [
        |it| it.seek(b"e"),
        |it| it.seek(b"f"),
        |it| it.seek_for_prev(b"a"),
        |it| it.seek_for_prev(b""),
    ];
    for seek in seeks {
        while it.status().is_ok() {
            if it.valid() { it.next() } else { it.seek(b"b") }
        }
        assert!(!it.valid());
        seek(&mut it);
        assert!(!it.valid());
        assert_eq!(it.status(), Ok(()));
    }
}

#[test]
fn sources_that_could_not_be_opened_fail_at_first_use() {
    let error = Error::corruption("planted failure");
    let source = failed_iterator(error.clone());
    let mut it = DbIter::new(DbIterParts {
        bounds: Bounds::new(Some(b"b".to_vec()), Some(b"y".to_vec())),
        ..parts(source, FragmentedTombstones::default())
    });
    let uses: [fn(&mut DbIter); 8] = [
        |it| it.seek(b"z"),
        |it| it.seek_for_prev(b"a"),
        DbIter::seek_to_first,
        DbIter::seek_to_last,
        |it| it.seek(b"k"),
        |it| it.seek_for_prev(b"k"),
        DbIter::next,
        DbIter::prev,
    ];
    for used in uses {
        used(&mut it);
        assert!(!it.valid() && it.key().is_none() && it.value().is_none());
        assert_eq!(it.status(), Err(error.clone()));
    }
}

#[test]
fn operands_need_an_operator() {
    let entries = source(&[(b"a", 2, ValueType::Merge, b"x")]);
    let mut it = DbIter::new(DbIterParts {
        merge_operator: None,
        ..parts(entries, FragmentedTombstones::default())
    });
    for seek in [DbIter::seek_to_first, DbIter::seek_to_last] {
        seek(&mut it);
        assert!(!it.valid());
        assert_eq!(it.status().unwrap_err().kind(), ErrorKind::InvalidArgument);
    }
}

/// Counts the calls that it gets.
struct Counting {
    inner: BoxedIterator,
    moves: Arc<std::sync::atomic::AtomicUsize>,
}

impl Counting {
    fn inner(&mut self) -> &mut BoxedIterator {
        self.moves
            .fetch_add(1, std::sync::atomic::Ordering::Relaxed);
        &mut self.inner
    }
}

impl whitewater_storage::internal_iterator::InternalIterator for Counting {
    fn valid(&self) -> bool {
        self.inner.valid()
    }
    fn seek_to_first(&mut self) {
        self.inner().seek_to_first();
    }
    fn seek_to_last(&mut self) {
        self.inner().seek_to_last();
    }
    fn seek(&mut self, target: &[u8]) {
        self.inner().seek(target);
    }
    fn seek_for_prev(&mut self, target: &[u8]) {
        self.inner().seek_for_prev(target);
    }
    fn next(&mut self) {
        self.inner().next();
    }
    fn prev(&mut self) {
        self.inner().prev();
    }
    fn key(&self) -> &[u8] {
        self.inner.key()
    }
    fn value(&self) -> &[u8] {
        self.inner.value()
    }
    fn status(&self) -> Result<()> {
        self.inner.status()
    }
}

#[test]
fn keys_with_many_versions_are_sought_past() {
    let mut entries: Vec<(&[u8], u64, ValueType, &[u8])> = Vec::new();
    for seq in 0..1000 {
        for k in [b"a", b"b", b"c"] {
            entries.push((k, seq, ValueType::Value, b"v"));
        }
    }
    for sequence in [5, 500, 999] {
        let moves = Arc::default();
        let counting = Counting {
            inner: source(&entries),
            moves: Arc::clone(&moves),
        };
        let mut it = DbIter::new(DbIterParts {
            point: sequence.into(),
            ..parts(Box::new(counting), FragmentedTombstones::default())
        });
        assert_eq!(walk(&mut it, true).len(), 3);
        assert_eq!(walk(&mut it, false).len(), 3);
        let moves = moves.load(std::sync::atomic::Ordering::Relaxed);
        assert!(moves < 150, "{moves} moves at {sequence}");
    }
}

#[test]
fn the_upper_bound_stops_reading() {
    let entries = source(&[
        (b"a", 1, ValueType::Value, b"1"),
        (b"c", 1, ValueType::BlobIndex, b"cannot be read"),
    ]);
    let mut it = DbIter::new(DbIterParts {
        bounds: Bounds::new(None, Some(b"b".to_vec())),
        ..parts(entries, FragmentedTombstones::default())
    });
    it.seek_to_first();
    assert_eq!(it.key(), Some(&b"a"[..]));
    it.next();
    assert!(!it.valid());
    assert_eq!(it.status(), Ok(()));
}

/// The entries and range tombstones of `history`, distributed over sources by age, newest
/// first.
fn by_age(history: &History, rng: &mut StdRng, c: &InternalComparator) -> DbIterParts {
    let mut cuts: Vec<u64> = (0..rng.random_range(1..5))
        .map(|_| rng.random_range(0..=history.last))
        .collect();
    cuts.extend([0, history.last + 1]);
    cuts.sort_by_key(|cut| std::cmp::Reverse(*cut));
    cuts.dedup();
    let (mut cursors, mut tombstones) = (Vec::<BoxedIterator>::new(), Vec::new());
    for (place, pair) in cuts.windows(2).enumerate() {
        let here = |seq: u64| seq >= pair[1] && seq < pair[0];
        let entries = history.entries.iter().filter(|e| here(e.seq));
        cursors.push(history.source(entries.collect(), rng));
        let mut own = history.tombstones.clone();
        own.retain(|t| here(t.seq));
        let fragments = Arc::new(FragmentedTombstones::new(&own, &c.user));
        if rng.random_ratio(3, 4) || !fragments.is_empty() {
            tombstones.push(HeldTombstones::of_memtable(place, fragments));
        }
    }
    DbIterParts {
        comparator: c.user.clone(),
        tombstones,
        ..parts(
            merging_iterator(c.clone(), cursors),
            FragmentedTombstones::default(),
        )
    }
}

#[test]
fn walks_that_jump_over_what_is_deleted_match_the_model() {
    for seed in 0..4000 {
        let rng = &mut StdRng::seed_from_u64(seed);
        for comparator in comparators() {
            let history = History::random(rng, &comparator, false);
            let c = InternalComparator::new(comparator.clone());
            for _ in 0..3 {
                let sequence = rng.random_range(0..=history.last);
                let (lower, upper) = (bound(rng), bound(rng));
                let mut it = DbIter::new(DbIterParts {
                    point: sequence.into(),
                    bounds: Bounds::new(lower.clone(), upper.clone()),
                    ..by_age(&history, rng, &c)
                });
                let mut model = Model {
                    comparator: &comparator,
                    shown: history.scan(sequence, lower.as_deref(), upper.as_deref()),
                    at: None,
                };
                let mut failure = None;
                for _ in 0..30 {
                    if let Some(outcome) = step(rng, &mut it, &mut model) {
                        failure = outcome;
                    }
                    check(&it, &model, failure, seed);
                }
            }
        }
    }
}

/// Older sources are moved past the tombstone, in both directions.
#[test]
fn keys_under_a_newer_range_tombstone_are_not_looked_at_one_by_one() {
    let c = InternalComparator::default();
    let key = |n: u32| format!("{n:04}").into_bytes();
    let old: Vec<_> = (0..1000)
        .map(|n| (internal_key(&key(n), 5, ValueType::Value), key(n)))
        .collect();
    let cursors = || -> Vec<BoxedIterator> {
        let new = vec![(
            internal_key(&key(500), 50, ValueType::Value),
            b"new".to_vec(),
        )];
        vec![
            Box::new(VecIterator::new(c.clone(), new)),
            Box::new(VecIterator::new(c.clone(), old.clone())),
        ]
    };
    // Two adjacent tombstones are passed together, also around a newer key.
    let tombstones: Vec<_> = [(100, 300), (300, 900)]
        .map(|(start, end)| RangeTombstone {
            start: key(start),
            end: key(end),
            seq: 40,
        })
        .to_vec();
    let fragments = Arc::new(FragmentedTombstones::new(&tombstones, &c.user));
    for (sequence, limit) in [(u64::MAX >> 8, 1), (45, 1), (45, 0)] {
        let mut it = DbIter::new(DbIterParts {
            point: sequence.into(),
            max_skippable_internal_keys: limit,
            tombstones: vec![HeldTombstones::of_memtable(0, fragments.clone())],
            ..parts(
                merging_iterator(c.clone(), cursors()),
                FragmentedTombstones::default(),
            )
        });
        for (forward, end, first) in [(true, 900, 100), (false, 99, 899)] {
            let seek = |it: &mut DbIter, n| {
                if forward {
                    it.seek(&key(n))
                } else {
                    it.seek_for_prev(&key(n))
                }
            };
            seek(&mut it, first);
            if sequence > 50 {
                assert_eq!(it.key(), Some(&key(500)[..]));
                if forward { it.next() } else { it.prev() }
            }
            assert_eq!(it.key(), Some(&key(end)[..]), "{:?}", it.status());
            assert_eq!(it.status(), Ok(()));
            assert!(it.skips.seen < 20, "{}", it.skips.seen);
        }
    }
}

/// Sources that keep to a prefix cannot be moved to the end of such a stretch.
#[test]
fn a_stretch_that_ends_without_a_prefix_is_jumped_over_in_parts() {
    let c = InternalComparator::default();
    let key = |n: u32| format!("aa{n:04}").into_bytes();
    let old = (0..1000).map(|n| (internal_key(&key(n), 5, ValueType::Value), key(n)));
    let sources = vec![
        source(&[]),
        Box::new(VecIterator::new(c.clone(), old.collect())),
    ];
    let parts_of = |n: u32| match n {
        0 => (b"a".to_vec(), key(10)),
        99 => (key(990), b"b".to_vec()),
        _ => (key(10 * n), key(10 * n + 10)),
    };
    let tombstones: Vec<_> = (0..100)
        .map(parts_of)
        .map(|(start, end)| RangeTombstone {
            start,
            end,
            seq: 40,
        })
        .collect();
    let fragments = Arc::new(FragmentedTombstones::new(&tombstones, &c.user));
    let mut it = DbIter::new(DbIterParts {
        tombstones: vec![HeldTombstones::of_memtable(0, fragments)],
        prefix_extractor: Some(PrefixExtractor::Fixed(2)),
        prefix_mode: PrefixMode::Always,
        ..parts(
            merging_iterator(c, sources),
            FragmentedTombstones::default(),
        )
    });
    for seek in [DbIter::seek, DbIter::seek_for_prev] {
        seek(&mut it, b"aa0500");
        assert!(!it.valid());
        assert_eq!(it.status(), Ok(()));
        let seen = it.skips.seen;
        assert!((40..70).contains(&seen), "{seen}");
    }
}

/// A source with entries out of order. Its seeks scan one of its blocks and look at no key of
/// the next one, as the seeks of tables do.
struct Damaged {
    blocks: Vec<Vec<Vec<u8>>>,
    at: (usize, usize),
}

impl whitewater_storage::internal_iterator::InternalIterator for Damaged {
    fn valid(&self) -> bool {
        self.at.0 < self.blocks.len()
    }
    fn seek_to_first(&mut self) {
        self.at = (0, 0);
    }
    fn seek_to_last(&mut self) {
        panic!("the test walks forward only")
    }
    fn seek(&mut self, target: &[u8]) {
        let c = InternalComparator::default();
        let found = self.blocks[0]
            .iter()
            .position(|k| c.compare(k, target).is_ge());
        self.at = found.map_or((1, 0), |i| (0, i));
    }
    fn seek_for_prev(&mut self, _: &[u8]) {
        panic!("the test walks forward only")
    }
    fn next(&mut self) {
        self.at.1 += 1;
        if self.at.1 == self.blocks[self.at.0].len() {
            self.at = (self.at.0 + 1, 0);
        }
    }
    fn prev(&mut self) {
        panic!("the test walks forward only")
    }
    fn key(&self) -> &[u8] {
        &self.blocks[self.at.0][self.at.1]
    }
    fn value(&self) -> &[u8] {
        b"v"
    }
    fn status(&self) -> Result<()> {
        Ok(())
    }
}

#[test]
fn a_walk_that_jumps_in_a_damaged_source_ends() {
    let key = |user: &[u8]| internal_key(user, 5, ValueType::Value);
    let damaged = Damaged {
        blocks: vec![vec![key(b"z")], vec![key(b"c"); 10]],
        at: (2, 0),
    };
    let c = InternalComparator::default();
    let sources = vec![source(&[]), Box::new(damaged)];
    let tombstone = RangeTombstone {
        start: b"b".to_vec(),
        end: b"m".to_vec(),
        seq: 50,
    };
    let fragments = Arc::new(FragmentedTombstones::new(&[tombstone], &c.user));
    let mut it = DbIter::new(DbIterParts {
        tombstones: vec![HeldTombstones::of_memtable(0, fragments)],
        ..parts(
            merging_iterator(c, sources),
            FragmentedTombstones::default(),
        )
    });
    it.seek_to_first();
    assert_eq!(it.key(), Some(&b"z"[..]));
    it.next();
    assert!(!it.valid());
    assert_eq!(it.status().unwrap_err().kind(), ErrorKind::Corruption);
}
