//! Entries that are prepared by many threads and get their tags afterwards.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering::SeqCst};
use whitewater_concurrent::art::{Art, Options};

fn split(key: &[u8]) -> (Vec<u8>, u64) {
    let (user_key, tag) = key.split_last_chunk::<8>().unwrap();
    (user_key.to_vec(), u64::from_le_bytes(*tag))
}

/// Hot keys: every key ends up with all its versions, newest first, by every way of
/// reading.
#[test]
fn versions_are_in_order_however_late_they_are_linked() {
    for round in 0..30u64 {
        let tree = Arc::new(Art::new(Options::default()));
        let next = AtomicU64::new(1);
        let keys: Vec<Vec<u8>> = (0..1 + round % 3).map(|k| vec![b'k', k as u8]).collect();
        std::thread::scope(|scope| {
            for t in 0..8u64 {
                let (tree, next, keys) = (&tree, &next, &keys);
                scope.spawn(move || {
                    for i in 0..200u64 {
                        let key = &keys[((t + i) % keys.len() as u64) as usize];
                        let value = format!("{t}-{i}");
                        let prepared = tree.prepare(key, value.as_bytes());
                        if (t + i) % 5 == 0 {
                            std::thread::yield_now();
                        }
                        let tag = next.fetch_add(1, SeqCst);
                        if (t * i) % 7 == 0 {
                            std::thread::yield_now();
                        }
                        assert!(tree.publish(prepared, tag));
                    }
                });
            }
        });
        let total = 8 * 200;
        let walk = |tags: Vec<(Vec<u8>, u64)>, what: &str| {
            assert_eq!(tags.len(), total, "{what}, round {round}");
            assert!(
                tags.windows(2)
                    .all(|w| w[0].0 < w[1].0 || (w[0].0 == w[1].0 && w[0].1 > w[1].1)),
                "{what}, round {round}"
            );
        };
        let mut iter = tree.iter();
        iter.seek_to_first();
        let mut tags = Vec::new();
        while iter.valid() {
            tags.push(split(iter.key()));
            iter.next();
        }
        walk(tags, "iter");
        let mut sweep = tree.flush_iter();
        sweep.seek_to_first();
        let mut tags = Vec::new();
        while sweep.valid() {
            tags.push(split(sweep.key()));
            sweep.next();
        }
        walk(tags, "sweep");
        let mut tags = Vec::new();
        for key in &keys {
            tree.get(key, u64::MAX, &mut |tag, _| {
                tags.push((key.clone(), tag));
                true
            });
            for tag in 1..=total as u64 {
                let mut found = None;
                tree.get(key, tag, &mut |tag, _| {
                    found = Some(tag);
                    false
                });
                let newest = tags.iter().filter(|(k, t)| k == key && *t <= tag);
                assert_eq!(found, newest.map(|(_, t)| *t).max(), "at {tag}");
            }
        }
        walk(tags, "get");
    }
}

/// Writers push versions as the newest, and link their skip pointers some writes later,
/// in another order, or never. All versions are found, in few steps.
#[test]
fn skip_pointers_may_be_linked_late_or_never() {
    const COUNT: u64 = 200_000;
    for (threads, open) in [(1, 1), (1, 16), (1, 300), (8, 1), (8, 16)] {
        let tree = Art::new(Options::default());
        let next = AtomicU64::new(1);
        let on_top = AtomicU64::new(0);
        std::thread::scope(|scope| {
            for t in 0..threads {
                let (tree, next, on_top) = (&tree, &next, &on_top);
                scope.spawn(move || {
                    let mut left = Vec::new();
                    for i in 0..COUNT / threads {
                        let value = (t << 32 | i).to_le_bytes();
                        let prepared = tree.prepare(b"hot", &value);
                        let tag = next.fetch_add(1, SeqCst) * 2;
                        match tree.publish_newest(prepared, tag) {
                            Ok(pending) => {
                                on_top.fetch_add(1, SeqCst);
                                left.push(pending);
                            }
                            Err(prepared) => assert!(tree.publish(prepared, tag)),
                        }
                        if left.len() < open {
                            continue;
                        }
                        // The newest first, or in any order.
                        let some = match i % 2 {
                            0 => left.drain(..).rev().collect(),
                            _ => vec![left.swap_remove(i as usize / 2 % left.len())],
                        };
                        for (nth, pending) in some.into_iter().enumerate() {
                            // Some are never linked.
                            if !(i as usize + nth).is_multiple_of(50) {
                                tree.link_skip_pointer(pending);
                            }
                        }
                    }
                });
            }
        });
        assert_eq!(tree.check(), Ok(COUNT as usize));
        assert!(on_top.load(SeqCst) > COUNT / 100, "{threads} threads");
        // Myers' jumps need at most four steps per bit of the distance. Skip pointers
        // that are made before those below them skip nothing, so such versions may have
        // to be passed one by one, at each bit.
        let bound = COUNT.ilog2() as usize * (4 + open * threads as usize);
        for i in (0..COUNT).step_by(if open == 1 { 1 } else { 11 }) {
            let tag = (i.wrapping_mul(0x9e37_79b9) % COUNT + 1) * 2;
            let mut found = 0;
            tree.get(b"hot", tag + 1, &mut |tag, _| {
                found = tag;
                false
            });
            assert_eq!(found, tag);
            let steps = tree.version_steps(b"hot", tag + 1);
            assert!(steps <= bound, "{steps} steps of {bound} at {tag}");
        }
    }
}

/// An entry that is prepared with a hint takes no more memory than without one, whether
/// the leaf at the hint is the key's or another's, and however large the value is.
#[test]
fn allocations_made_on_a_wrong_hint_are_undone() {
    for bytes in [0, 100, 487, 488, 489, 5_000, 20_000, 1_000_000] {
        let value = vec![7; bytes];
        let [ahead, plain] = [true, false].map(|ahead| {
            let tree = Art::new(Options::default());
            for i in 0..20_000u32.min(40_000_000 / (1 + bytes as u32)) {
                // Each key twice, in different orders.
                let key = format!("{:05}", i.wrapping_mul(7_919) % 10_007);
                let prepared = if ahead {
                    tree.prepare_with_hint(tree.locate(key.as_bytes()), &value)
                } else {
                    tree.prepare(key.as_bytes(), &value)
                };
                assert!(tree.publish(prepared, i.into()));
            }
            (tree.used_bytes(), tree.garbage_bytes())
        });
        assert_eq!(ahead, plain, "values of {bytes} bytes");
    }
}

/// An entry that cannot be published as the newest is returned intact.
#[test]
fn only_the_newest_is_published_as_the_newest() {
    let tree = Art::new(Options::default());
    // The first version of its key.
    let first = tree.prepare(b"key", b"1");
    let first = tree.publish_newest(first, 1).unwrap_err();
    assert!(tree.publish(first, 1));
    // Another version was published meanwhile.
    let stale = tree.prepare(b"key", b"2");
    let newest = tree.prepare(b"key", b"3");
    let pending = tree.publish_newest(newest, 3).unwrap();
    let stale = tree.publish_newest(stale, 2).unwrap_err();
    assert!(tree.publish(stale, 2));
    tree.link_skip_pointer(pending);
    let mut found = Vec::new();
    tree.get(b"key", u64::MAX, &mut |tag, value| {
        found.push((tag, value.to_vec()));
        true
    });
    let expected = [(3, b"3".to_vec()), (2, b"2".to_vec()), (1, b"1".to_vec())];
    assert_eq!(found, expected);
}

/// Between locating and inserting, the tree changes: nodes grow, prefixes are split,
/// leaves are replaced by nodes.
#[test]
fn a_hint_may_be_out_of_date() {
    let text = |i: u32| format!("{}/{i:06}", ["", "a", "a/long/prefix", "b"][i as usize % 4]);
    let key = |i: u32| text(i.wrapping_mul(2_654_435_761) % 100_000).into_bytes();
    for ahead in [1, 7, 100, 3000] {
        let tree = Art::new(Options::default());
        let keys: Vec<Vec<u8>> = (0..6000).map(key).collect();
        for (round, chunk) in keys.chunks(ahead).enumerate() {
            let places: Vec<_> = chunk.iter().map(|key| tree.locate(key)).collect();
            for (i, place) in places.into_iter().enumerate() {
                let tag = (round * ahead + i + 1) as u64;
                let prepared = tree.prepare_with_hint(place, &tag.to_le_bytes());
                assert!(tree.publish(prepared, tag));
            }
        }
        assert_eq!(tree.check(), Ok(keys.len()));
        for (i, key) in keys.iter().enumerate() {
            let tag = i as u64 + 1;
            let mut found = None;
            tree.get(key, tag, &mut |tag, value| {
                found = Some((tag, value.to_vec()));
                false
            });
            assert_eq!(found, Some((tag, tag.to_le_bytes().to_vec())));
        }
    }
}

#[test]
fn a_hint_of_another_tree_is_ignored() {
    let (tree, other) = (Art::new(Options::default()), Art::new(Options::default()));
    for key in [b"ab", b"ac", b"bc"] {
        assert!(other.insert(key, 1, b"other"));
    }
    let prepared = tree.prepare_with_hint(other.locate(b"ab"), b"value");
    assert!(tree.publish(prepared, 1));
    assert_eq!((tree.check(), other.check()), (Ok(1), Ok(3)));
    tree.get(b"ab", 1, &mut |tag, value| {
        assert_eq!((tag, value), (1, b"value".as_slice()));
        true
    });
}

/// Keys differ by any byte and by their lengths, whether they are compared by words or by
/// `memcmp`.
#[test]
fn a_key_is_found_by_all_of_its_bytes() {
    for len in (1..=70).chain([255, 5000]) {
        let key: Vec<u8> = (0..len).map(|i| i as u8).collect();
        let tree = Art::new(Options::default());
        assert!(tree.insert(&key, 1, b"value"));
        let found = |key: &[u8]| {
            let mut found = 0;
            tree.get(key, 1, &mut |tag, _| {
                found = tag;
                true
            });
            found == 1
        };
        assert!(found(&key));
        assert!(!found(&key[..len - 1]) && !found(&[&key[..], b"x"].concat()));
        for at in 0..len {
            let mut other = key.clone();
            other[at] ^= 0x80;
            assert!(!found(&other), "byte {at} of {len}");
        }
        assert!(!tree.insert(&key, 1, b"again"), "the tag is taken");
    }
}
