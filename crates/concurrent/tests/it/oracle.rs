//! Every sorted structure, in every order that it has, against a `BTreeMap`: alone, and
//! beside 16 writers. Tests 22 to 25 of the write path's list.
//!
//! A structure takes part by an implementation of [`Set`] and one line at the end.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::thread;

use proptest::prelude::*;
use rand::rngs::StdRng;
use rand::seq::SliceRandom;
use rand::{Rng, SeedableRng};
use whitewater_concurrent::skiplist::SkipList;

use crate::OnDrop;
use crate::support::keys::{adversarial, probes, two_letters, value};
use crate::support::order::{By, Bytewise, EntryKey, ReverseBytewise, UserOrder};
use crate::support::set::{Cursor, Set, Tree};

const WRITERS: usize = 16;

type Oracle<S> = BTreeMap<EntryKey<<S as Set>::Order>, Vec<u8>>;
type Key = (Vec<u8>, u64);

fn owned<U: UserOrder>(found: Option<(&EntryKey<U>, &Vec<u8>)>) -> Option<(EntryKey<U>, Vec<u8>)> {
    found.map(|(place, value)| (place.clone(), value.clone()))
}

/// Compares the results of all reads; `probes` are the keys and tags to read at.
fn assert_same<S: Set>(set: &Arc<S>, oracle: &Oracle<S>, probes: &[Key]) {
    assert_eq!(set.check(), Ok(oracle.len()));
    assert_eq!(set.len(), oracle.len());
    let mut cursor = set.cursor();
    assert!(!cursor.valid());
    cursor.seek_to_first();
    for expected in oracle {
        assert_eq!(cursor.entry(), owned(Some(expected)));
        cursor.next();
    }
    assert!(!cursor.valid());
    cursor.seek_to_last();
    for expected in oracle.iter().rev() {
        assert_eq!(cursor.entry(), owned(Some(expected)));
        cursor.prev();
    }
    assert!(!cursor.valid());
    for (key, tag) in probes {
        let at = EntryKey::new(key, *tag);
        let mut after = oracle.range(&at..);
        cursor.seek(key, *tag);
        assert_eq!(cursor.entry(), owned(after.next()));
        // A few steps further, and back again.
        cursor.next();
        assert_eq!(cursor.entry(), owned(after.next()));
        let mut before = oracle.range(..=&at).rev();
        cursor.seek_for_prev(key, *tag);
        let found = owned(before.next());
        assert_eq!(cursor.entry(), found);
        cursor.prev();
        assert_eq!(cursor.entry(), owned(before.next()));
        if cursor.valid() {
            cursor.next();
            assert_eq!(cursor.entry(), found);
        }
        let mut versions = Vec::new();
        set.get(key, *tag, &mut |tag, value| {
            versions.push((EntryKey::new(key, tag), value.to_vec()));
            true
        });
        let expected = oracle.range(&at..).take_while(|(p, _)| p.key == *key);
        let expected: Vec<_> = expected.filter_map(|e| owned(Some(e))).collect();
        assert_eq!(versions, expected);
    }
}

/// Adversarial keys with some versions each, inserted in every way and any order.
fn adversarial_keys<S: Set>() {
    for seed in 0..3 {
        let mut rng = StdRng::seed_from_u64(seed);
        let keys = adversarial();
        let set = S::create();
        let mut oracle = Oracle::<S>::new();
        let mut entries: Vec<Key> = Vec::new();
        for key in &keys {
            entries.extend((0..rng.random_range(1..4)).map(|tag| (key.clone(), tag)));
        }
        entries.shuffle(&mut rng);
        for (i, chunk) in entries.chunks(40).enumerate() {
            let values: Vec<_> = chunk.iter().map(|(key, tag)| value(key, *tag)).collect();
            let each = chunk.iter().zip(&values);
            let each = each.map(|((key, tag), value)| (&key[..], *tag, &value[..]));
            let batch: Vec<_> = each.collect();
            if i % 2 == 0 {
                assert_eq!(set.insert_many(&batch), batch.len());
                assert_eq!(set.insert_many(&batch), 0, "the entry exists already");
            } else {
                for (j, (key, tag, value)) in batch.iter().enumerate() {
                    assert!(set.insert_by(j, key, *tag, value));
                    assert!(
                        !set.insert_by(j + 1, key, *tag, b"another"),
                        "the entry exists already"
                    );
                }
            }
            for (key, tag, value) in batch {
                oracle.insert(EntryKey::new(key, tag), value.to_vec());
            }
        }
        assert_same(&set, &oracle, &probes(&keys, 3));
    }
}

/// Versions of one key in ascending, descending, random and nearly ascending order: a
/// reader at any number sees the newest version up to it.
fn versions_in_any_order<S: Set>() {
    for order in 0..4 {
        let mut tags: Vec<u64> = (1..=600).map(|i| i * 2).collect();
        match order {
            0 => {}
            1 => tags.reverse(),
            2 => tags.shuffle(&mut StdRng::seed_from_u64(1)),
            _ => tags
                .chunks_mut(8)
                .for_each(|c| c.shuffle(&mut StdRng::seed_from_u64(2))),
        }
        let set = S::create();
        let mut oracle = Oracle::<S>::new();
        let hot = tags.iter().map(|tag| (&b"hot"[..], *tag));
        for (i, (key, tag)) in [(&b"a"[..], 1), (b"hotter", 1)]
            .into_iter()
            .chain(hot)
            .enumerate()
        {
            assert!(set.insert_by(i, key, tag, &value(key, tag)));
            oracle.insert(EntryKey::new(key, tag), value(key, tag));
        }
        let probes: Vec<_> = (0..1210).map(|tag| (b"hot".to_vec(), tag)).collect();
        assert_same(&set, &oracle, &probes);
    }
}

fn few_letters() -> impl Strategy<Value = Vec<u8>> {
    let letter = prop_oneof![Just(0u8), Just(b'a'), Just(b'b'), Just(0xff)];
    let long = Just([vec![b'a'; 9], vec![0xff]].concat());
    let piece = prop_oneof![4 => letter.prop_map(|l| vec![l]), 1 => long];
    prop::collection::vec(piece, 0..6).prop_map(|pieces| pieces.concat())
}

fn random_keys<S: Set>() {
    let some = prop::collection::vec((few_letters(), 0u64..4), 0..80);
    let short = prop::collection::vec(any::<u8>(), 0..3);
    let more = prop::collection::vec((short, 0u64..2), 0..120);
    let config = ProptestConfig::with_cases(100);
    proptest!(config, |(entries in some, also in more)| {
        let set = S::create();
        let mut oracle = Oracle::<S>::new();
        for (i, (key, tag)) in entries.iter().chain(&also).enumerate() {
            let place = EntryKey::new(key, *tag);
            let new = !oracle.contains_key(&place);
            prop_assert_eq!(set.insert_by(i, key, *tag, &value(key, *tag)), new);
            oracle.insert(place, value(key, *tag));
        }
        let keys: Vec<_> = entries.into_iter().chain(also).map(|(key, _)| key).collect();
        assert_same(&set, &oracle, &probes(&keys, 4));
    });
}

/// Sequence numbers and the visible number, as in a write path: entry number `s` is
/// `entries[s - 1]`, and `visible` is raised without gaps.
struct Commits {
    keys: Vec<Vec<u8>>,
    next: AtomicU64,
    visible: AtomicU64,
    /// No thread waits for a thread that has failed.
    failed: AtomicBool,
}

impl Commits {
    fn new(keys: Vec<Vec<u8>>) -> Self {
        Commits {
            keys,
            next: AtomicU64::new(1),
            visible: AtomicU64::new(0),
            failed: AtomicBool::new(false),
        }
    }

    fn key(&self, sequence: u64) -> &[u8] {
        &self.keys[sequence as usize - 1]
    }

    /// Takes numbers and inserts their entries until there are no more.
    fn write<S: Set>(&self, set: &S) {
        let _failed = OnDrop(|| self.failed.fetch_or(thread::panicking(), Ordering::Relaxed));
        loop {
            let sequence = self.next.fetch_add(1, Ordering::Relaxed);
            if sequence > self.keys.len() as u64 {
                return;
            }
            let key = self.key(sequence);
            let value = value(key, sequence);
            assert!(set.insert_by(sequence as usize, key, sequence, &value));
            while self.visible.load(Ordering::Acquire) != sequence - 1 {
                assert!(
                    !self.failed.load(Ordering::Relaxed),
                    "another writer failed"
                );
                thread::yield_now();
            }
            self.visible.store(sequence, Ordering::Release);
        }
    }

    /// Exactly what a reader at a published number must see.
    fn at<U: UserOrder>(&self, sequence: u64) -> BTreeMap<EntryKey<U>, Vec<u8>> {
        let each = (1..=sequence).map(|s| {
            let key = self.key(s);
            (EntryKey::new(key, s), value(key, s))
        });
        each.collect()
    }

    /// Reads at published numbers until all are published: whole walks and seeks in both
    /// directions, and single keys.
    fn read<S: Set>(&self, set: &Arc<S>, seed: u64) {
        let _failed = OnDrop(|| self.failed.fetch_or(thread::panicking(), Ordering::Relaxed));
        let mut rng = StdRng::seed_from_u64(seed);
        loop {
            let now = self.visible.load(Ordering::Acquire);
            // The newest snapshot, and an old one.
            for sequence in [now, rng.random_range(0..=now)] {
                let snapshot = self.at::<S::Order>(sequence);
                walk(set, &snapshot, sequence, true);
                walk(set, &snapshot, sequence, false);
                for _ in 0..50 {
                    let any = rng.random_range(0..self.keys.len());
                    ask(set, &snapshot, sequence, &self.keys[any]);
                }
            }
            if now == self.keys.len() as u64 || self.failed.load(Ordering::Relaxed) {
                return;
            }
        }
    }
}

/// A whole walk: entries up to `sequence` must be the snapshot, and entries beyond must
/// be in order, too.
fn walk<S: Set>(set: &Arc<S>, snapshot: &Oracle<S>, sequence: u64, up: bool) {
    let mut cursor = set.cursor();
    if up {
        cursor.seek_to_first();
    } else {
        cursor.seek_to_last();
    }
    let mut seen = Vec::with_capacity(snapshot.len());
    let mut last: Option<EntryKey<S::Order>> = None;
    while let Some((here, found)) = cursor.entry() {
        let sorted = last.is_none_or(|last| if up { last < here } else { here < last });
        assert!(sorted, "unsorted or twice");
        last = Some(here.clone());
        if here.tag <= sequence {
            seen.push((here, found));
        } else {
            assert_eq!(found, value(&here.key, here.tag));
        }
        if up { cursor.next() } else { cursor.prev() }
    }
    if !up {
        seen.reverse();
    }
    let same = seen.iter().map(|(p, v)| (p, v)).eq(snapshot);
    assert!(same, "not what was published at {sequence}");
}

/// The versions of a key up to `sequence`, found by `get` and both seeks.
fn ask<S: Set>(set: &Arc<S>, snapshot: &Oracle<S>, sequence: u64, key: &[u8]) {
    let at = EntryKey::new(key, sequence);
    let of_key = |p: &&EntryKey<S::Order>| p.key == key;
    let expected: Vec<u64> = snapshot
        .range(&at..)
        .map(|(p, _)| p)
        .take_while(of_key)
        .map(|p| p.tag)
        .collect();
    let mut found = Vec::new();
    set.get(key, sequence, &mut |tag, v| {
        assert_eq!(v, value(key, tag));
        found.push(tag);
        true
    });
    assert_eq!(found, expected, "newest first, at {sequence}");
    let mut cursor = set.cursor();
    cursor.seek(key, sequence);
    let here = cursor.entry::<S::Order>().map(|(place, _)| place);
    let newest = here.clone().filter(|p| p.key == key).map(|p| p.tag);
    assert_eq!(newest, expected.first().copied());
    assert!(here.is_none_or(|here| here >= at), "before what was sought");
    // From the oldest version upwards.
    cursor.seek_for_prev(key, 0);
    let mut rising = Vec::new();
    while let Some((here, _)) = cursor.entry::<S::Order>().filter(|(p, _)| p.key == key) {
        if here.tag <= sequence {
            rising.push(here.tag);
        }
        cursor.prev();
    }
    rising.reverse();
    assert_eq!(rising, expected);
}

/// 16 writers, and readers at published numbers; then everything.
fn commit<S: Set>(keys: Vec<Vec<u8>>) {
    let set = S::create();
    let commits = Commits::new(keys);
    thread::scope(|scope| {
        for _ in 0..WRITERS {
            scope.spawn(|| commits.write(&*set));
        }
        for seed in 0..2 {
            let (set, commits) = (&set, &commits);
            scope.spawn(move || commits.read(set, seed));
        }
    });
    let all = commits.keys.len() as u64;
    let mut places: Vec<Key> = commits
        .keys
        .iter()
        .step_by(7)
        .map(|k| (k.clone(), all / 2))
        .collect();
    places.push((vec![], u64::MAX));
    assert_same(&set, &commits.at(all), &places);
}

fn shuffled(mut keys: Vec<Vec<u8>>, seed: u64) -> Vec<Vec<u8>> {
    keys.shuffle(&mut StdRng::seed_from_u64(seed));
    keys
}

/// All writers add to, grow and split the same few nodes.
fn snapshots_of_two_letters<S: Set>() {
    for seed in 0..2 {
        commit::<S>(shuffled(two_letters(*b"az", 9), seed));
    }
}

/// Nodes grow through all sizes while all threads use them.
fn snapshots_of_growing_nodes<S: Set>() {
    let keys = (0..1500_usize).map(|i| {
        let mut key = vec![b'p'; 1 + i % 3 * 5];
        key.extend([(i >> 8) as u8, i as u8]);
        key
    });
    commit::<S>(shuffled(keys.collect(), 5));
}

fn snapshots_of_adversarial_keys<S: Set>() {
    commit::<S>(shuffled(adversarial(), 6));
}

/// Few keys, so that versions arrive out of order, from all threads at once.
fn snapshots_of_versions<S: Set>() {
    for keys in [1, 3, 40] {
        let all = (0..2_000_usize).map(|i| vec![b'v'; i * i % keys]);
        commit::<S>(all.collect());
    }
}

/// One module of tests for each structure and order.
macro_rules! structures {
    ($($name:ident: $set:ty;)*) => {
        $(mod $name {
            use super::*;

            structures!(@ $set: adversarial_keys versions_in_any_order random_keys
                snapshots_of_two_letters snapshots_of_growing_nodes
                snapshots_of_adversarial_keys snapshots_of_versions);
        })*
    };
    (@ $set:ty: $($test:ident)*) => {
        $(#[test]
        fn $test() {
            super::$test::<$set>();
        })*
    };
}

structures! {
    art: Tree<false>;
    art_reverse: Tree<true>;
    skip_list: SkipList<By<Bytewise>>;
    skip_list_reverse: SkipList<By<ReverseBytewise>>;
}
