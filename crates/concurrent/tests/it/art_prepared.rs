//! Entries that are prepared by many threads and get their tags afterwards.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering::SeqCst};
use whitewater_concurrent::art::{Art, Options};

fn split(key: &[u8]) -> (Vec<u8>, u64) {
    let (user_key, tag) = key.split_last_chunk::<8>().unwrap();
    (user_key.to_vec(), u64::from_le_bytes(*tag))
}

/// Hot keys: every key ends up with all its versions, newest first, whichever
/// way one looks.
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
        let mut sweep = tree.sweep();
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

/// Between the way down and the entry the tree becomes another one: nodes grow,
/// prefixes are split, leaves get company.
#[test]
fn what_was_foreseen_may_be_out_of_date() {
    let text = |i: u32| format!("{}/{i:06}", ["", "a", "a/long/prefix", "b"][i as usize % 4]);
    let key = |i: u32| text(i.wrapping_mul(2_654_435_761) % 100_000).into_bytes();
    for ahead in [1, 7, 100, 3000] {
        let tree = Art::new(Options::default());
        let keys: Vec<Vec<u8>> = (0..6000).map(key).collect();
        for (round, chunk) in keys.chunks(ahead).enumerate() {
            let places: Vec<_> = chunk.iter().map(|key| tree.foresee(key)).collect();
            for (i, place) in places.into_iter().enumerate() {
                let tag = (round * ahead + i + 1) as u64;
                let prepared = tree.prepare_foreseen(place, &tag.to_le_bytes());
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
fn what_another_tree_foresaw_is_of_no_use() {
    let (tree, other) = (Art::new(Options::default()), Art::new(Options::default()));
    for key in [b"ab", b"ac", b"bc"] {
        assert!(other.insert(key, 1, b"other"));
    }
    let prepared = tree.prepare_foreseen(other.foresee(b"ab"), b"value");
    assert!(tree.publish(prepared, 1));
    assert_eq!((tree.check(), other.check()), (Ok(1), Ok(3)));
    tree.get(b"ab", 1, &mut |tag, value| {
        assert_eq!((tag, value), (1, b"value".as_slice()));
        true
    });
}

/// Keys are told apart by every byte and by their lengths, whether they are compared
/// by words or by a call.
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
