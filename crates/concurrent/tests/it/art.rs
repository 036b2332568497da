//! The radix tree against a `BTreeMap`, and on many threads at once.

use std::cmp::Reverse;
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering};
use std::thread;

use rand::rngs::StdRng;
use rand::seq::SliceRandom;
use rand::{Rng, SeedableRng};
use whitewater_concurrent::art::{self, Art, FlushIter, Iter, Options};

use crate::support::keys::{adversarial, probes, value};
use crate::{OnDrop, order};

type EntryKey = (Vec<u8>, Reverse<u64>);
type Oracle = BTreeMap<EntryKey, Vec<u8>>;
type Entry = (Vec<u8>, u64, Vec<u8>);

fn small() -> Arc<Art> {
    Arc::new(Art::new(Options {
        capacity: 1 << 20,
        ..Options::default()
    }))
}

/// User key and tag.
fn split(internal_key: &[u8]) -> (Vec<u8>, u64) {
    let (key, Reverse(tag)) = order::split(internal_key);
    (key, tag)
}

fn entry<const REVERSED: bool>(iter: &Iter<REVERSED>) -> Option<Entry> {
    iter.valid().then(|| {
        let (key, tag) = split(iter.key());
        (key, tag, iter.value().to_vec())
    })
}

fn flush_entry<const REVERSED: bool>(flush: &FlushIter<REVERSED>) -> Option<Entry> {
    flush.valid().then(|| {
        let (key, tag) = split(flush.key());
        (key, tag, flush.value().to_vec())
    })
}

fn owned(found: Option<(&EntryKey, &Vec<u8>)>) -> Option<Entry> {
    found.map(|((key, tag), value)| (key.clone(), tag.0, value.clone()))
}

/// Compares the results of all reads; `probes` are the keys and tags to read at.
fn assert_same(tree: &Arc<Art>, oracle: &Oracle, probes: &[(Vec<u8>, u64)]) {
    assert_eq!(tree.check(), Ok(oracle.len()));
    let mut iter = tree.iter();
    assert!(!iter.valid());
    iter.seek_to_first();
    for expected in oracle {
        assert_eq!(entry(&iter), owned(Some(expected)));
        iter.next();
    }
    assert!(!iter.valid());
    iter.seek_to_last();
    for expected in oracle.iter().rev() {
        assert_eq!(entry(&iter), owned(Some(expected)));
        iter.prev();
    }
    assert!(!iter.valid());
    assert_flushs(tree, oracle, probes);
    assert_announced_seeks(tree, probes);
    for (key, tag) in probes {
        let at = (key.clone(), Reverse(*tag));
        let mut after = oracle.range(at.clone()..);
        iter.seek(key, *tag);
        assert_eq!(entry(&iter), owned(after.next()));
        // A few steps further, and back again.
        iter.next();
        assert_eq!(entry(&iter), owned(after.next()));
        let mut before = oracle.range(..=at.clone()).rev();
        iter.seek_for_prev(key, *tag);
        let found = owned(before.next());
        assert_eq!(entry(&iter), found);
        iter.prev();
        assert_eq!(entry(&iter), owned(before.next()));
        if iter.valid() {
            iter.next();
            assert_eq!(entry(&iter), found);
        }
        let mut scanned = Vec::new();
        tree.scan_from(key, *tag, &mut |key, tag, value| {
            scanned.push((key.to_vec(), tag, value.to_vec()));
            scanned.len() < 5
        });
        let expected = oracle.range(at.clone()..).take(5);
        assert_eq!(
            scanned,
            expected.filter_map(|e| owned(Some(e))).collect::<Vec<_>>()
        );
        let mut versions = Vec::new();
        tree.get(key, *tag, &mut |tag, value| {
            versions.push((key.clone(), tag, value.to_vec()));
            true
        });
        let expected = oracle.range(at..).take_while(|((k, _), _)| k == key);
        assert_eq!(
            versions,
            expected.filter_map(|e| owned(Some(e))).collect::<Vec<_>>()
        );
    }
}

/// A seek finds the same entry however far it was announced, and whatever was announced before.
fn assert_announced_seeks(tree: &Arc<Art>, probes: &[(Vec<u8>, u64)]) {
    let (mut iter, mut announced) = (tree.iter(), tree.iter());
    let (mut reversed, mut announced_reversed) = (tree.iter_reversed(), tree.iter_reversed());
    for (i, (key, tag)) in probes.iter().enumerate() {
        iter.seek(key, *tag);
        reversed.seek(key, *tag);
        if i % 5 < 4 {
            announced.expect_seek(key);
            announced_reversed.expect_seek(key);
        }
        for _ in 0..i % 4 {
            announced.expect_further();
            announced_reversed.expect_further();
        }
        announced.seek(key, *tag);
        announced_reversed.seek(key, *tag);
        assert_eq!(entry(&announced), entry(&iter));
        assert_eq!(entry(&announced_reversed), entry(&reversed));
    }
}

/// Flush iterators: over everything, and started or interrupted anywhere.
fn assert_flushs(tree: &Arc<Art>, oracle: &Oracle, probes: &[(Vec<u8>, u64)]) {
    let mut flush = tree.flush_iter();
    assert!(!flush.valid());
    flush.next();
    assert!(!flush.valid());
    flush.seek_to_first();
    for (i, expected) in oracle.iter().enumerate() {
        assert_eq!(flush_entry(&flush), owned(Some(expected)));
        if i % 50 == 49 {
            flush.prev();
            assert_eq!(flush_entry(&flush), owned(oracle.iter().nth(i - 1)));
            flush.next();
            assert_eq!(flush_entry(&flush), owned(Some(expected)));
        }
        flush.next();
    }
    assert!(!flush.valid());
    flush.next();
    flush.prev();
    assert!(!flush.valid());
    flush.seek_to_last();
    for expected in oracle.iter().rev() {
        assert_eq!(flush_entry(&flush), owned(Some(expected)));
        flush.prev();
    }
    for (key, tag) in probes {
        let at = (key.clone(), Reverse(*tag));
        flush.seek(key, *tag);
        for expected in oracle.range(at.clone()..).take(70) {
            assert_eq!(flush_entry(&flush), owned(Some(expected)));
            flush.next();
        }
        flush.seek_for_prev(key, *tag);
        let found = oracle.range(..=at).next_back();
        assert_eq!(flush_entry(&flush), owned(found));
        if let Some((found, _)) = found {
            flush.next();
            let mut after = oracle.range(found.clone()..).skip(1);
            assert_eq!(flush_entry(&flush), owned(after.next()));
        }
    }
    let mut descending: Vec<_> = oracle.iter().collect();
    descending.sort_by_key(|((key, tag), _)| (Reverse(key), tag));
    let mut flush = tree.flush_iter_reversed();
    flush.seek_to_first();
    for expected in descending {
        assert_eq!(flush_entry(&flush), owned(Some(expected)));
        flush.next();
    }
    assert!(!flush.valid());
}

#[test]
fn an_empty_tree_has_nothing() {
    assert_same(&small(), &Oracle::new(), &[(vec![], 0), (vec![1], 1)]);
}

#[test]
fn adversarial_keys_in_batches_and_prepared() {
    let mut keys = adversarial();
    keys.shuffle(&mut StdRng::seed_from_u64(9));
    let tree = small();
    let mut oracle = Oracle::new();
    for (i, chunk) in keys.chunks(50).enumerate() {
        let tag = |j: usize| (i * 100 + j) as u64;
        let values: Vec<_> = chunk.iter().map(|key| value(key, 1)).collect();
        let entries = || {
            let both = chunk.iter().zip(&values).enumerate();
            both.map(|(j, (key, value))| (&key[..], tag(j), &value[..]))
        };
        // Every second batch is prepared first, some entries twice.
        if i % 2 == 0 {
            assert_eq!(tree.insert_batch(entries()), chunk.len());
            assert_eq!(tree.insert_batch(entries()), 0);
        } else {
            let before = tree.check().unwrap();
            let mut prepared = Vec::new();
            tree.prepare_batch(entries().map(|e| (e.0, e.2)), |p| prepared.push(p));
            let twice: Vec<_> = entries().map(|e| tree.prepare(e.0, b"second")).collect();
            drop(tree.prepare(chunk[0].as_slice(), b"never published"));
            assert_eq!(tree.check(), Ok(before));
            assert_same(&tree, &oracle, &probes(&chunk[..5], 3));
            // For some keys the later entry gets the lower tag.
            for (j, (first, second)) in prepared.into_iter().zip(twice).enumerate() {
                let (low, high) = (tag(j), tag(j) + 50);
                let (a, b) = if j % 2 == 0 { (low, high) } else { (high, low) };
                if j % 3 == 0 {
                    assert!(tree.publish(second, b));
                    assert!(tree.publish(first, a));
                } else {
                    assert!(tree.publish(first, a));
                    assert!(tree.publish(second, b));
                }
                oracle.insert((chunk[j].clone(), Reverse(b)), b"second".to_vec());
                oracle.insert((chunk[j].clone(), Reverse(a)), values[j].clone());
            }
            let vain = tree.prepare(&chunk[0], b"");
            assert!(!tree.publish(vain, tag(0)), "the tag is taken");
            continue;
        }
        for (key, tag, value) in entries() {
            oracle.insert((key.to_vec(), Reverse(tag)), value.to_vec());
        }
    }
    assert_same(&tree, &oracle, &probes(&keys, 100));
}

/// Large values, and more than the range that was reserved at first.
#[test]
fn a_tree_outgrows_its_range() {
    let tree = Arc::new(Art::new(Options {
        capacity: 0,
        ..Options::default()
    }));
    let mut oracle = Oracle::new();
    let mut rng = StdRng::seed_from_u64(4);
    for i in 0..3_000u64 {
        let key = rng.random::<[u8; 6]>().to_vec();
        let len = if i % 500 == 7 {
            1 << 20
        } else {
            (i % 300) as usize
        };
        let value = vec![i as u8; len];
        assert!(tree.insert(&key, i, &value));
        oracle.insert((key, Reverse(i)), value);
    }
    let huge = vec![1; 9 << 20];
    assert!(tree.insert(b"huge", 1, &huge));
    oracle.insert((b"huge".to_vec(), Reverse(1)), huge);
    assert_same(&tree, &oracle, &[(vec![1], 1), (b"hu".to_vec(), 1)]);
    let bytes: usize = oracle.iter().map(|((k, _), v)| k.len() + v.len() + 8).sum();
    assert!(tree.used_bytes() >= bytes && tree.used_bytes() < bytes + 3_000 * 80);
    assert!(tree.allocated_bytes() >= tree.used_bytes());
    assert!(tree.garbage_bytes() > 0 && tree.garbage_bytes() < 3_000 * 40);
}

/// Memory of a dropped tree is used by the next one, which never shows old contents.
#[test]
fn memory_is_used_again() {
    let _claim = art::Claim::new(64 << 20);
    for round in 0..4u64 {
        let tree = small();
        let mut oracle = Oracle::new();
        for i in 0..2_000u64 {
            let key = (i.wrapping_mul(round * 2 + 0x9e37_79b9_7f4a_7c15) >> 48).to_be_bytes();
            if tree.insert(&key, i, &key) {
                oracle.insert((key.to_vec(), Reverse(i)), key.to_vec());
            }
        }
        assert_same(&tree, &oracle, &[]);
        drop(tree);
        assert!(art::pool_bytes() <= art::pool_limit());
    }
}

#[test]
fn many_versions_in_any_order() {
    for order in 0..4 {
        let mut tags: Vec<u64> = (1..=600).map(|i| i * 2).collect();
        match order {
            0 => {}
            1 => tags.reverse(),
            2 => tags.shuffle(&mut StdRng::seed_from_u64(1)),
            // In order, except that neighbours are swapped.
            _ => tags
                .chunks_mut(8)
                .for_each(|c| c.shuffle(&mut StdRng::seed_from_u64(2))),
        }
        let tree = small();
        let mut oracle = Oracle::new();
        assert!(tree.insert(b"a", 1, b"") && tree.insert(b"hotter", 1, b""));
        oracle.insert((b"a".to_vec(), Reverse(1)), vec![]);
        oracle.insert((b"hotter".to_vec(), Reverse(1)), vec![]);
        for tag in &tags {
            assert!(tree.insert(b"hot", *tag, &value(b"hot", *tag)));
            assert!(!tree.insert(b"hot", *tag, b""));
            oracle.insert((b"hot".to_vec(), Reverse(*tag)), value(b"hot", *tag));
        }
        let probes: Vec<_> = (0..1210).map(|tag| (b"hot".to_vec(), tag)).collect();
        assert_same(&tree, &oracle, &probes);
    }
}

/// A million versions: the version that an old snapshot reads is found in few steps.
#[test]
fn a_million_versions_are_searched_quickly() {
    const COUNT: u64 = 1_000_000;
    // In order, except that neighbours are swapped, as parallel writers do.
    for disorder in [1, 16] {
        let tree = Arc::new(Art::new(Options::default()));
        let mut tags: Vec<u64> = (1..=COUNT).collect();
        for (i, some) in tags.chunks_mut(disorder).enumerate() {
            some.rotate_left(i % some.len());
        }
        for tag in tags {
            assert!(tree.insert(b"hot", tag * 2, &tag.to_le_bytes()));
        }
        // Myers' jumps need at most three steps per bit of the distance. From a skip node
        // that jumps too far, the path leads through the version below it, which makes it
        // four; versions that arrived late cost one step each.
        let bound = 4 * COUNT.ilog2() as usize + 2 * disorder;
        let mut most = 0;
        for i in 0..COUNT {
            let tag = i.wrapping_mul(0x9e37_79b9) % COUNT + 1;
            let mut found = None;
            tree.get(b"hot", tag * 2 + 1, &mut |tag, value| {
                found = Some((tag, value.to_vec()));
                false
            });
            assert_eq!(found, Some((tag * 2, tag.to_le_bytes().to_vec())));
            most = most.max(tree.version_steps(b"hot", tag * 2 + 1));
        }
        assert!((2..=bound).contains(&most), "{most} steps");
        let mut iter = tree.iter();
        iter.seek_to_last();
        for tag in 1..=COUNT {
            assert_eq!(split(iter.key()).1, tag * 2);
            iter.prev();
        }
        assert!(!iter.valid());
    }
}

/// Walks the whole tree in both directions until it is told to stop: sorted, no entry
/// twice, all values right, and at least all earlier entries.
fn read_until(tree: &Arc<Art>, done: &AtomicBool, published: &AtomicUsize) {
    let mut iter = tree.iter();
    let mut flush = tree.flush_iter();
    loop {
        let last = done.load(Ordering::Acquire);
        for up in [true, false] {
            let there = published.load(Ordering::Acquire);
            let mut count = 0;
            let mut before: Option<EntryKey> = None;
            if up {
                iter.seek_to_first();
            } else {
                iter.seek_to_last();
            }
            while iter.valid() {
                let (key, tag) = split(iter.key());
                assert_eq!(iter.value(), value(&key, tag));
                let here = (key, Reverse(tag));
                let sorted = before.is_none_or(|b| if up { b < here } else { b > here });
                assert!(sorted, "unsorted or twice");
                before = Some(here);
                count += 1;
                if up { iter.next() } else { iter.prev() }
            }
            assert!(count >= there, "{count} seen of {there}");
        }
        let there = published.load(Ordering::Acquire);
        let mut count = 0;
        let mut before: Option<EntryKey> = None;
        flush.seek_to_first();
        while let Some((key, tag, found)) = flush_entry(&flush) {
            assert_eq!(found, value(&key, tag));
            let here = (key, Reverse(tag));
            assert!(before.is_none_or(|b| b < here), "unsorted or twice");
            before = Some(here);
            count += 1;
            flush.next();
        }
        assert!(count >= there, "{count} flush_entry of {there}");
        if last {
            return;
        }
    }
}

/// `writers` threads insert their shares of the keys beside `readers` threads; in the end
/// all entries must be there.
fn stress(keys: &[(Vec<u8>, u64)], writers: usize, readers: usize) {
    let tree = small();
    let done = AtomicBool::new(false);
    let published = AtomicUsize::new(0);
    thread::scope(|scope| {
        for _ in 0..readers {
            scope.spawn(|| read_until(&tree, &done, &published));
        }
        let writing: Vec<_> = (0..writers)
            .map(|writer| {
                let (tree, published) = (&tree, &published);
                scope.spawn(move || {
                    let own = keys.iter().skip(writer).step_by(writers);
                    for (i, (key, tag)) in own.enumerate() {
                        let value = value(key, *tag);
                        let new = match i % 3 {
                            0 => tree.insert(key, *tag, &value),
                            1 => tree.publish(tree.prepare(key, &value), *tag),
                            _ => tree.insert_batch([(&key[..], *tag, &value[..])]) == 1,
                        };
                        assert!(new, "no other thread has this key and tag");
                        published.fetch_add(1, Ordering::Release);
                        let mut seen = false;
                        tree.get(key, *tag, &mut |there, _| {
                            seen = there == *tag;
                            false
                        });
                        assert!(seen, "a thread sees its own write");
                    }
                })
            })
            .collect();
        // Readers stop even if a writer has failed.
        let _done = OnDrop(|| done.store(true, Ordering::Release));
        for writer in writing {
            writer.join().unwrap();
        }
    });
    let entries = keys.iter().cloned().map(|(key, tag)| {
        let value = value(&key, tag);
        ((key, Reverse(tag)), value)
    });
    let oracle: Oracle = entries.collect();
    assert_eq!(oracle.len(), keys.len());
    let some: Vec<_> = keys.iter().step_by(97).cloned().collect();
    assert_same(&tree, &oracle, &some);
}

/// All threads add to, grow and split the same few nodes.
#[test]
fn no_insert_is_lost_in_two_letters() {
    for seed in 0..6 {
        let mut keys: BTreeSet<Vec<u8>> = BTreeSet::new();
        for len in 0..11 {
            for bits in 0..1usize << len {
                keys.insert((0..len).map(|i| b"az"[bits >> i & 1]).collect());
            }
        }
        let mut keys: Vec<_> = keys.into_iter().map(|key| (key, 7)).collect();
        keys.shuffle(&mut StdRng::seed_from_u64(seed));
        stress(&keys, 16, 2);
    }
}

/// Nodes grow through all sizes while all threads use them.
#[test]
fn no_insert_is_lost_in_growing_nodes() {
    for seed in 0..6 {
        let mut keys: Vec<_> = (0..4096u64)
            .map(|i| {
                let mut key = vec![b'p'; 1 + (i % 3) as usize * 5];
                key.push((i >> 8) as u8);
                key.push(i as u8);
                (key, i % 5)
            })
            .collect();
        keys.shuffle(&mut StdRng::seed_from_u64(seed));
        stress(&keys, 16, 2);
    }
}

#[test]
fn no_insert_is_lost_among_adversarial_keys() {
    let mut keys: Vec<_> = adversarial().into_iter().map(|key| (key, 1)).collect();
    let more: Vec<_> = keys.iter().map(|(key, _)| (key.clone(), 2)).collect();
    keys.extend(more);
    keys.shuffle(&mut StdRng::seed_from_u64(3));
    stress(&keys, 16, 2);
}

#[test]
fn no_version_is_lost() {
    for (seed, spread) in [(1, 16), (2, 64), (3, 6000)] {
        let mut keys: Vec<_> = (0..6000u64)
            .map(|tag| (vec![b'h'; (tag % 3) as usize], tag))
            .collect();
        for chunk in keys.chunks_mut(spread) {
            chunk.shuffle(&mut StdRng::seed_from_u64(seed));
        }
        stress(&keys, 16, 2);
    }
}

/// Threads take numbers from one counter, as writers take sequence numbers; a reader at a
/// published number sees exactly the newest version up to it.
#[test]
fn readers_at_a_sequence_see_the_newest_up_to_it() {
    const WRITERS: u64 = 8;
    const EACH: u64 = 500;
    let tree = small();
    let next = AtomicU64::new(1);
    let visible = AtomicU64::new(0);
    // No thread waits for a thread that has failed.
    let failed = AtomicBool::new(false);
    thread::scope(|scope| {
        for _ in 0..WRITERS {
            scope.spawn(|| {
                let _failed = OnDrop(|| failed.fetch_or(thread::panicking(), Ordering::Relaxed));
                for _ in 0..EACH {
                    let prepared = tree.prepare(b"counter", b"");
                    let seq = next.fetch_add(1, Ordering::Relaxed);
                    assert!(tree.publish(prepared, seq));
                    // Publication is in order.
                    while visible.load(Ordering::Acquire) != seq - 1 {
                        assert!(!failed.load(Ordering::Relaxed), "another writer failed");
                        thread::yield_now();
                    }
                    visible.store(seq, Ordering::Release);
                }
            });
        }
        for _ in 0..2 {
            scope.spawn(|| {
                let mut iter = tree.iter();
                while !failed.load(Ordering::Relaxed) {
                    let at = visible.load(Ordering::Acquire);
                    let mut found = 0;
                    tree.get(b"counter", at, &mut |tag, _| {
                        found = tag;
                        false
                    });
                    assert_eq!(found, at);
                    let old = at / 2;
                    iter.seek(b"counter", old);
                    let found = iter.valid().then(|| split(iter.key()).1);
                    assert_eq!(found, (old > 0).then_some(old));
                    iter.seek_for_prev(b"counter", old);
                    if old > 0 {
                        assert_eq!(split(iter.key()).1, old);
                    }
                    if at == WRITERS * EACH {
                        return;
                    }
                }
            });
        }
    });
    assert_eq!(tree.check(), Ok((WRITERS * EACH) as usize));
}

#[test]
#[should_panic(expected = "another tree")]
fn a_prepared_entry_belongs_to_its_tree() {
    let prepared = small().prepare(b"key", b"value");
    small().publish(prepared, 1);
}
