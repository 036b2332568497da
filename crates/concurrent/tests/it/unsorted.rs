//! Structures that sort when they are read (append lists, hash tables), against a
//! `BTreeMap`, alone and under many writers.

use crate::OnDrop;
use crate::order::{Bytewise, ModelKey as Key, split};
use rand::rngs::StdRng;
use rand::seq::IndexedRandom;
use rand::{Rng, SeedableRng};
use std::cmp::Reverse;
use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread;
use whitewater_concurrent::append_list::AppendList;
use whitewater_concurrent::hash_buckets::{
    BucketIter, HashLinkList, HashSkipList, LinkIter, LinkListOptions, SkipListOptions,
};
use whitewater_concurrent::sorted_snapshot::{SortedIter, Visit};

type Oracle = BTreeMap<Key, Vec<u8>>;

/// Keys hash by their first byte here; the empty key has a hash of its own.
fn hash(user_key: &[u8]) -> u64 {
    let group = user_key.first().map_or(0, |b| u64::from(*b) + 1);
    group.wrapping_mul(0x9e37_79b9_7f4a_7c15)
}

/// What all these structures can do.
trait Table: Send + Sync + 'static {
    type Cursor;
    fn insert(&self, user_key: &[u8], tag: u64, value: &[u8]) -> bool;
    fn scan(&self, user_key: &[u8], tag: u64, visit: &mut Visit<'_>);
    fn all(&self) -> SortedIter<Bytewise>;
    fn cursor(self: &Arc<Self>) -> Self::Cursor;
    fn seek(cursor: &mut Self::Cursor, key: &Key);
    fn seek_for_prev(cursor: &mut Self::Cursor, key: &Key);
    fn next(cursor: &mut Self::Cursor);
    fn prev(cursor: &mut Self::Cursor);
    fn at(cursor: &Self::Cursor) -> Option<(Key, Vec<u8>)>;
    fn seal(&self);
}

macro_rules! table {
    ($table:ident, $cursor:ident) => {
        impl Table for $table<Bytewise> {
            type Cursor = $cursor<Bytewise>;
            fn insert(&self, user_key: &[u8], tag: u64, value: &[u8]) -> bool {
                $table::insert(self, hash(user_key), user_key, tag, value)
            }
            fn scan(&self, user_key: &[u8], tag: u64, visit: &mut Visit<'_>) {
                self.scan_from(hash(user_key), user_key, tag, visit);
            }
            fn all(&self) -> SortedIter<Bytewise> {
                self.sorted()
            }
            fn cursor(self: &Arc<Self>) -> Self::Cursor {
                self.bucket_iter()
            }
            fn seek(cursor: &mut Self::Cursor, key: &Key) {
                cursor.seek(hash(&key.0), &key.0, key.1.0);
            }
            fn seek_for_prev(cursor: &mut Self::Cursor, key: &Key) {
                cursor.seek_for_prev(hash(&key.0), &key.0, key.1.0);
            }
            fn next(cursor: &mut Self::Cursor) {
                cursor.next();
            }
            fn prev(cursor: &mut Self::Cursor) {
                cursor.prev();
            }
            fn at(cursor: &Self::Cursor) -> Option<(Key, Vec<u8>)> {
                let valid = cursor.valid();
                valid.then(|| (split(cursor.key()), cursor.value().to_vec()))
            }
            fn seal(&self) {
                $table::seal(self);
            }
        }
    };
}
table!(HashSkipList, BucketIter);
table!(HashLinkList, LinkIter);

fn skip_lists(buckets: usize) -> Arc<HashSkipList<Bytewise>> {
    Arc::new(HashSkipList::new(
        Bytewise,
        SkipListOptions {
            buckets,
            height: 4,
            branching: 4,
            arena: 4096.into(),
        },
    ))
}

fn link_lists(buckets: usize, threshold: u32) -> Arc<HashLinkList<Bytewise>> {
    Arc::new(HashLinkList::new(
        Bytewise,
        LinkListOptions {
            buckets,
            threshold,
            arena: 4096.into(),
        },
    ))
}

fn random_key(rng: &mut StdRng) -> Vec<u8> {
    let len = *[0, 1, 2, 2, 3, 20].choose(rng).expect("some");
    let letters = b"abcd\0\xff";
    (0..len)
        .map(|_| *letters.choose(rng).expect("some"))
        .collect()
}

/// All entries of a sorted snapshot, read forward and compared with reading backward.
fn content(mut it: SortedIter<Bytewise>) -> Vec<(Key, Vec<u8>)> {
    let mut forward = Vec::new();
    it.seek_to_first();
    while it.valid() {
        forward.push((split(it.key()), it.value().to_vec()));
        it.next();
    }
    let mut backward = Vec::new();
    it.seek_to_last();
    while it.valid() {
        backward.push((split(it.key()), it.value().to_vec()));
        it.prev();
    }
    backward.reverse();
    assert_eq!(forward, backward);
    forward
}

/// One random move of a bucket cursor, checked against the oracle.
fn check_cursor<T: Table>(cursor: &mut T::Cursor, oracle: &Oracle, rng: &mut StdRng) {
    let same_bucket = |a: &Key, b: &Key| hash(&a.0) == hash(&b.0);
    let target = (random_key(rng), Reverse(rng.random_range(0..4)));
    let forward = rng.random_bool(0.5);
    let start = if forward {
        T::seek(cursor, &target);
        let mut from = oracle.range(target.clone()..);
        from.find(|(key, _)| same_bucket(key, &target))
    } else {
        T::seek_for_prev(cursor, &target);
        let mut to = oracle.range(..=target.clone()).rev();
        to.find(|(key, _)| same_bucket(key, &target))
    };
    let mut expected = start.map(|(k, v)| (k.clone(), v.clone()));
    for _ in 0..4 {
        assert_eq!(T::at(cursor), expected, "from {target:?}");
        let Some((key, _)) = expected else { return };
        let found = if rng.random_bool(0.5) {
            T::next(cursor);
            let mut rest = oracle.range(key.clone()..).skip(1);
            rest.find(|(k, _)| same_bucket(k, &target))
        } else {
            T::prev(cursor);
            let mut rest = oracle.range(..key.clone()).rev();
            rest.find(|(k, _)| same_bucket(k, &target))
        };
        expected = found.map(|(k, v)| (k.clone(), v.clone()));
    }
}

fn random_operations<T: Table>(table: &Arc<T>, seed: u64) {
    let mut rng = StdRng::seed_from_u64(seed);
    let mut oracle = Oracle::new();
    let mut cursor = table.cursor();
    for i in 0..1500 {
        let key = (random_key(&mut rng), Reverse(rng.random_range(0..4_u64)));
        let value = vec![i as u8; rng.random_range(0..20)];
        let inserted = table.insert(&key.0, key.1.0, &value);
        assert_eq!(inserted, !oracle.contains_key(&key), "{key:?}");
        if inserted {
            oracle.insert(key, value);
        }
        check_cursor::<T>(&mut cursor, &oracle, &mut rng);
        let sought = (random_key(&mut rng), 3);
        let mut first = None;
        table.scan(&sought.0, sought.1, &mut |key, tag, value| {
            first = Some(((key.to_vec(), Reverse(tag)), value.to_vec()));
            false
        });
        let bucket = hash(&sought.0);
        let expected = oracle
            .range((sought.0, Reverse(sought.1))..)
            .find(|(key, _)| hash(&key.0) == bucket)
            .map(|(k, v)| (k.clone(), v.clone()));
        assert_eq!(first, expected);
        if i % 300 == 0 {
            let all: Vec<_> = oracle.clone().into_iter().collect();
            assert_eq!(content(table.all()), all);
        }
    }
    let all: Vec<_> = oracle.into_iter().collect();
    for _ in 0..2 {
        table.seal();
        assert_eq!(content(table.all()), all);
    }
}

#[test]
fn hash_tables_do_what_a_map_does() {
    for seed in 0..4 {
        // The hash above uses at most 8 buckets; among 1000 no two keys share one.
        random_operations(&skip_lists(1000), seed);
        for threshold in [0, 1, 20, 256, u32::MAX] {
            random_operations(&link_lists(1000, threshold), seed);
        }
    }
}

#[test]
fn a_long_linked_list_becomes_a_skip_list() {
    let table = link_lists(1000, 256);
    let mut standing = table.bucket_iter();
    for i in 0..400_u32 {
        let key = [b"a", &i.to_be_bytes()[..]].concat();
        assert!(table.insert(hash(&key), &key, 1, b""));
        if i == 200 {
            standing.seek(hash(b"a"), b"a", u64::MAX);
        }
        assert_eq!(table.converted(), usize::from(i >= 256), "after {i}");
    }
    assert!(!table.insert(hash(b"a"), b"a\0\0\0\x07", 1, b""), "there");
    // A cursor in the old list goes forward in it, and backward in the new one.
    for i in 0..200_u32 {
        assert_eq!(standing.key()[1..5], i.to_be_bytes());
        standing.next();
    }
    for i in (0..200_u32).rev() {
        standing.prev();
        assert_eq!(standing.key()[1..5], i.to_be_bytes());
    }
    standing.prev();
    assert!(!standing.valid());
}

#[test]
fn colliding_buckets_keep_all_their_keys() {
    for table in [link_lists(1, 4), link_lists(2, 256)] {
        for i in 0..200_u8 {
            assert!(table.insert(hash(&[i]), &[i], 1, &[i]));
        }
        let keys: Vec<_> = content(table.sorted())
            .into_iter()
            .map(|(k, _)| k.0[0])
            .collect();
        assert_eq!(keys, (0..200).collect::<Vec<_>>());
    }
}

/// Many writers beside readers; every announced entry is found.
fn under_many_writers<T: Table>(table: &Arc<T>) {
    const WRITERS: usize = 4;
    const EACH: usize = 4000;
    let announced: [AtomicUsize; WRITERS] = Default::default();
    let key = |writer: usize, i: usize| {
        let mut key = vec![(i % 3) as u8];
        key.extend_from_slice(&((i / 3) as u32).to_be_bytes());
        key.push(writer as u8);
        key
    };
    thread::scope(|scope| {
        for (writer, announced) in announced.iter().enumerate() {
            scope.spawn(move || {
                for i in 0..EACH {
                    assert!(table.insert(&key(writer, i), 1, &(i as u32).to_le_bytes()));
                    announced.store(i + 1, Ordering::Release);
                }
            });
        }
        for reader in 0..2 {
            let announced = &announced;
            scope.spawn(move || {
                let mut rng = StdRng::seed_from_u64(reader);
                let mut cursor = table.cursor();
                for _ in 0..500 {
                    let writer = rng.random_range(0..WRITERS);
                    let upto = announced[writer].load(Ordering::Acquire);
                    if upto == 0 {
                        continue;
                    }
                    let i = rng.random_range(0..upto);
                    let sought = (key(writer, i), Reverse(1));
                    T::seek(&mut cursor, &sought);
                    let value = (i as u32).to_le_bytes().to_vec();
                    assert_eq!(T::at(&cursor), Some((sought.clone(), value)));
                    T::seek_for_prev(&mut cursor, &sought);
                    assert_eq!(T::at(&cursor).expect("there").0, sought);
                    // The keys of a walk ascend.
                    let mut last = sought;
                    for _ in 0..20 {
                        T::next(&mut cursor);
                        let Some((now, _)) = T::at(&cursor) else {
                            break;
                        };
                        assert!(last < now);
                        last = now;
                    }
                }
            });
        }
    });
    table.seal();
    let mut expected: Vec<_> = (0..WRITERS)
        .flat_map(|writer| (0..EACH).map(move |i| key(writer, i)))
        .collect();
    expected.sort();
    let found: Vec<_> = content(table.all()).into_iter().map(|(k, _)| k.0).collect();
    assert!(found == expected);
}

#[test]
fn hash_tables_lose_nothing_under_many_writers() {
    under_many_writers(&skip_lists(100));
    under_many_writers(&skip_lists(1));
    under_many_writers(&link_lists(100, 256));
    under_many_writers(&link_lists(100, 1000));
}

#[test]
fn an_append_list_sorts_what_many_threads_added() {
    const WRITERS: u64 = 4;
    const EACH: u64 = 3000;
    let list = AppendList::new(Bytewise, 4096);
    let done = AtomicUsize::new(0);
    thread::scope(|scope| {
        for writer in 0..WRITERS {
            let (list, done) = (&list, &done);
            scope.spawn(move || {
                let _done = OnDrop(|| done.fetch_add(1, Ordering::Release));
                for i in (0..EACH).step_by(3) {
                    // Three versions of a key at once, oldest first.
                    let key = (i ^ 0x5a5).to_be_bytes();
                    let value = writer.to_le_bytes();
                    let tags = (0..3).map(|v| (&key[..], 4 * v + writer, &value[..]));
                    list.extend(tags);
                    let mut newest = Vec::new();
                    list.get(&key, u64::MAX, &mut |tag, value| {
                        newest.push(tag);
                        assert_eq!(value, (tag % 4).to_le_bytes());
                        tag > 6
                    });
                    assert!(newest.is_sorted_by(|a, b| a > b), "{newest:?}");
                }
            });
        }
        let (list, done) = (&list, &done);
        scope.spawn(move || {
            let mut before = 0;
            while done.load(Ordering::Acquire) < WRITERS as usize {
                let found = content(list.iter());
                assert!(found.is_sorted_by(|a, b| a.0 < b.0));
                assert!(found.len() >= before, "a later snapshot has more");
                before = found.len();
            }
        });
    });
    for sealed in [false, true] {
        if sealed {
            list.seal();
        }
        assert_eq!(content(list.iter()).len() as u64, WRITERS * EACH);
        let mut tags = Vec::new();
        list.get(&(3_u64 ^ 0x5a5).to_be_bytes(), 9, &mut |tag, _| {
            tags.push(tag);
            tags.len() < 9
        });
        assert_eq!(tags, [9, 8, 7, 6, 5, 4, 3, 2, 1], "sealed: {sealed}");
        let mut missing = 0;
        list.get(b"missing", 9, &mut |_, _| {
            missing += 1;
            true
        });
        assert_eq!(missing, 0);
    }
}
