use super::*;
use crate::read::testing::{FailingIterator, VecIterator, comparators, point, table_file};
use rand::rngs::StdRng;
use rand::{Rng, SeedableRng};
use std::collections::HashMap;
use std::sync::atomic::{AtomicUsize, Ordering};
use whitewater_storage::key::{ValueType, internal_key};

type Entries = Vec<(Vec<u8>, Vec<u8>)>;

/// Files in memory, by number. A file without entries here cannot be opened.
#[derive(Clone)]
struct Memory {
    comparator: InternalComparator,
    files: Arc<HashMap<u64, Entries>>,
    opened: Arc<AtomicUsize>,
}

impl OpenCursor for Memory {
    fn open_cursor(
        &self,
        _: &Version,
        file: &TableFile,
        _: Option<BoxedIterator>,
    ) -> Result<BoxedIterator> {
        self.opened.fetch_add(1, Ordering::Relaxed);
        let entries = self.files.get(&file.meta.number);
        let entries = entries.ok_or_else(|| Error::corruption("planted failure"))?;
        let cursor = VecIterator::new(self.comparator.clone(), entries.clone());
        Ok(Box::new(cursor))
    }
}

/// A level of random files, some holding no points at all, over `keys`.
fn level(rng: &mut StdRng, c: &InternalComparator) -> (Arc<Version>, Memory, Entries) {
    let mut all = Entries::new();
    for i in 0..rng.random_range(0..30u8) {
        let key = internal_key(&[b'a' + i / 3], 50 - u64::from(i % 3), ValueType::Value);
        all.push((key, vec![i]));
    }
    all.sort_by(|a, b| c.compare(&a.0, &b.0));
    let mut version = Version::empty(2, Default::default());
    let mut files = HashMap::new();
    let mut rest = &all[..];
    while !rest.is_empty() {
        let (file, after) = rest.split_at(rng.random_range(1..=rest.len().min(6)));
        rest = after;
        let number = files.len() as u64 + 1;
        let (smallest, largest) = (&file[0].0, &file[file.len() - 1].0);
        version.levels[1].push(table_file(number, smallest, largest));
        // A file with only range tombstones has bounds but no points.
        let points = rng.random_ratio(4, 5);
        files.insert(number, if points { file.to_vec() } else { Vec::new() });
    }
    let mut kept: Entries = files.values().flatten().cloned().collect();
    kept.sort_by(|a, b| c.compare(&a.0, &b.0));
    let memory = Memory {
        comparator: c.clone(),
        files: Arc::new(files),
        opened: Arc::default(),
    };
    (Arc::new(version), memory, kept)
}

/// An iterator over level 1.
fn over_level<O: OpenCursor>(
    version: Arc<Version>,
    comparator: InternalComparator,
    opener: O,
) -> LevelIterator<O> {
    let all = 0..version.levels[1].len();
    LevelIterator::new(version, 1, all, comparator, opener)
}

#[test]
fn random_walks_match_the_concatenation() {
    for seed in 0..1000 {
        let rng = &mut StdRng::seed_from_u64(seed);
        for user in comparators() {
            let c = InternalComparator::new(user);
            let (version, memory, entries) = level(rng, &c);
            let mut it = over_level(version, c.clone(), memory.clone());
            let mut whole = VecIterator::new(c, entries);
            for _ in 0..30 {
                let user = [b'a' + rng.random_range(0..11)];
                let target = internal_key(&user, rng.random_range(47..52), ValueType::Value);
                let its: [&mut dyn InternalIterator; 2] = [&mut it, &mut whole];
                let op = rng.random_range(0..10);
                for i in its {
                    match op {
                        0 => i.seek_to_first(),
                        1 => i.seek_to_last(),
                        2 => i.seek(&target),
                        3 => i.seek_for_prev(&target),
                        4..7 if i.valid() => i.next(),
                        7.. if i.valid() => i.prev(),
                        _ => {}
                    }
                }
                assert_eq!(it.valid(), whole.valid(), "seed {seed}");
                if it.valid() {
                    assert_eq!(it.key(), whole.key(), "seed {seed}");
                    assert_eq!(it.value(), whole.value(), "seed {seed}");
                }
                assert_eq!(it.status(), Ok(()));
            }
        }
    }
}

/// The walk goes both ways, and opens no file that has none of its keys.
#[test]
fn a_walk_within_bounds_shows_all_that_is_there() {
    for seed in 0..1000 {
        let rng = &mut StdRng::seed_from_u64(seed);
        for user in comparators() {
            let c = InternalComparator::new(user.clone());
            let (version, memory, entries) = level(rng, &c);
            let mut ends = [0; 2].map(|_| vec![b'a' + rng.random_range(0..11)]);
            ends.sort_by(|a, b| user.compare(a, b));
            let [start, end] = &ends;
            let is_before = |a: &[u8], b: &[u8]| user.compare(a, b).is_lt();
            let shown =
                |key: &[u8]| !is_before(user_key(key), start) && is_before(user_key(key), end);
            let mut it = over_level(version.clone(), c.clone(), memory.clone());
            it.keep_within(&Bounds::new(Some(start.clone()), Some(end.clone())));
            let before = |user: &[u8]| internal_key(user, 99, ValueType::Value);
            let expected = entries.iter().map(|(key, _)| key.clone());
            let mut expected: Vec<_> = expected.filter(|key| shown(key)).collect();
            let mut found = Vec::new();
            it.seek(&before(start));
            while it.valid() && shown(it.key()) {
                found.push(it.key().to_vec());
                it.next();
            }
            assert_eq!(found, expected, "seed {seed}");
            found.clear();
            expected.reverse();
            if rng.random_bool(0.5) {
                it.seek_for_prev(&before(end))
            } else {
                it.seek_to_last()
            }
            while it.valid() && !is_before(user_key(it.key()), start) {
                if shown(it.key()) {
                    found.push(it.key().to_vec());
                }
                it.prev();
            }
            assert_eq!(found, expected, "seed {seed}");
            let holds = |f: &&Arc<TableFile>| {
                !is_before(user_key(&f.meta.largest), start)
                    && is_before(user_key(&f.meta.smallest), end)
            };
            let most = 2 * version.levels[1].iter().filter(holds).count();
            assert!(memory.opened.load(Ordering::Relaxed) <= most, "seed {seed}");
        }
    }
}

/// An iterator over files of one key each, of which only the first `readable` can be opened.
fn one_key_each(users: &[&[u8]], readable: usize) -> LevelIterator<Memory> {
    let mut version = Version::empty(2, Default::default());
    let mut files = HashMap::new();
    for (user, number) in users.iter().zip(1..) {
        let key = point(user, 5);
        version.levels[1].push(table_file(number, &key, &key));
        if files.len() < readable {
            files.insert(number, vec![(key, Vec::new())]);
        }
    }
    let comparator = InternalComparator::default();
    let memory = Memory {
        comparator: comparator.clone(),
        files: Arc::new(files),
        opened: Arc::default(),
    };
    over_level(Arc::new(version), comparator, memory)
}

#[test]
fn files_are_opened_when_the_walk_gets_to_them() {
    let key = |user: &[u8]| point(user, 5);
    let mut it = one_key_each(&[b"a", b"b", b"c"], 2);
    let opened = it.opener.opened.clone();
    let opened = || opened.load(Ordering::Relaxed);
    assert!(!it.valid() && it.status().is_ok() && opened() == 0);
    it.seek(&key(b"b"));
    assert!(it.valid() && opened() == 1);
    it.seek(&key(b"b"));
    assert!(it.valid() && opened() == 1);
    // The last file cannot be opened.
    it.next();
    assert!(!it.valid() && it.status().is_err());
    it.seek_to_last();
    assert!(!it.valid() && it.status().is_err());
    it.seek_to_first();
    assert!(it.valid() && it.status().is_ok());
}

#[test]
fn a_cursor_is_kept_past_the_ends_and_outside_the_bounds() {
    let key = |user: &[u8]| point(user, 5);
    let mut it = one_key_each(&[b"b"], 1);
    it.seek(&key(b"b"));
    assert!(it.valid());
    it.next();
    assert!(!it.valid() && it.status().is_ok());
    it.seek(&key(b"c"));
    assert!(!it.valid() && it.status().is_ok());
    it.seek_for_prev(&key(b"a"));
    assert!(!it.valid() && it.status().is_ok());
    it.keep_within(&Bounds::new(Some(b"d".to_vec()), None));
    it.seek_to_last();
    assert!(!it.valid() && it.status().is_ok());
    assert!(it.release());
    it.seek_to_first();
    assert!(it.valid(), "its bounds are gone");
    assert_eq!(it.key(), key(b"b"));
    assert_eq!(it.opener.opened.load(Ordering::Relaxed), 1);
}

/// Cursors that fail at their second movement.
struct Fragile(Memory);

impl OpenCursor for Fragile {
    fn open_cursor(
        &self,
        version: &Version,
        file: &TableFile,
        _: Option<BoxedIterator>,
    ) -> Result<BoxedIterator> {
        let cursor = self.0.open_cursor(version, file, None)?;
        Ok(Box::new(FailingIterator::new(cursor, 2)))
    }
}

#[test]
fn a_file_that_fails_midway_is_not_skipped() {
    for seed in 0..200 {
        let rng = &mut StdRng::seed_from_u64(seed);
        let c = InternalComparator::default();
        let (version, memory, entries) = level(rng, &c);
        let mut it = over_level(version, c, Fragile(memory));
        for forward in [true, false] {
            if forward {
                it.seek_to_first();
            } else {
                it.seek_to_last();
            }
            if entries.is_empty() {
                continue;
            }
            if it.valid() {
                if forward { it.next() } else { it.prev() }
            }
            assert!(!it.valid() && it.status().is_err(), "seed {seed}");
        }
    }
}
