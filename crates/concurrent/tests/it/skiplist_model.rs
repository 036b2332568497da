//! The list against a `BTreeMap`, with one thread.

use std::cmp::{Ordering, Reverse};
use std::collections::BTreeMap;
use std::ops::Bound::{Excluded, Unbounded};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};

use proptest::collection::vec;
use proptest::prelude::*;
use whitewater_concurrent::arena::ArenaOptions;
use whitewater_concurrent::region::HugePages;
use whitewater_concurrent::skiplist::{Indirect, Iter, KeyOrder, SkipList, Splice};

use crate::order::{Bytewise, ModelKey, split};

type Model = BTreeMap<ModelKey, Vec<u8>>;

/// Keys that are hard to compare: empty, with extreme bytes, prefixes of each other, on
/// both sides of the limit of a one-byte length.
fn user_key() -> impl Strategy<Value = Vec<u8>> {
    let byte = prop_oneof![Just(0_u8), Just(1), Just(0x7f), Just(0xff)];
    prop_oneof![
        8 => vec(byte, 0..4),
        1 => (115_usize..125, any::<u8>()).prop_map(|(len, byte)| vec![byte; len]),
        1 => vec(any::<u8>(), 0..20),
    ]
}

fn tag() -> impl Strategy<Value = u64> {
    prop_oneof![4 => 0_u64..3, 1 => Just(u64::MAX), 1 => any::<u64>()]
}

fn value() -> impl Strategy<Value = Vec<u8>> {
    prop_oneof![
        8 => vec(any::<u8>(), 0..8),
        1 => (120_usize..300, any::<u8>()).prop_map(|(len, byte)| vec![byte; len]),
        1 => (5_000_usize..20_000, any::<u8>()).prop_map(|(len, byte)| vec![byte; len]),
    ]
}

#[derive(Debug, Clone)]
struct Insert {
    user_key: Vec<u8>,
    tag: u64,
    value: Vec<u8>,
    /// `None` for no splice; otherwise one of two.
    splice: Option<usize>,
}

fn inserts() -> impl Strategy<Value = Vec<Insert>> {
    let insert = (user_key(), tag(), value(), proptest::option::of(0..2_usize));
    let insert = insert.prop_map(|(user_key, tag, value, splice)| Insert {
        user_key,
        tag,
        value,
        splice,
    });
    vec(insert, 0..150)
}

/// Builds list and model alike; inserts must agree on what is a duplicate.
fn build(inserts: Vec<Insert>) -> Result<(Arc<SkipList<Bytewise>>, Model), TestCaseError> {
    let list = Arc::new(SkipList::new(Bytewise, 16 << 10));
    let mut model = Model::new();
    let mut splices = [Splice::default(), Splice::default()];
    for Insert {
        user_key,
        tag,
        value,
        splice,
    } in inserts
    {
        let key = (user_key.clone(), Reverse(tag));
        let is_new = !model.contains_key(&key);
        let inserted = match splice {
            None => list.insert(&user_key, tag, &value),
            Some(i) => list.insert_with_splice(&mut splices[i], &user_key, tag, &value),
        };
        prop_assert_eq!(inserted, is_new);
        model.entry(key).or_insert(value);
        prop_assert_eq!(list.len(), model.len());
    }
    prop_assert_eq!(list.check(), Ok(model.len()));
    prop_assert_eq!(list.is_empty(), model.is_empty());
    prop_assert!(list.used_bytes() <= list.allocated_bytes());
    Ok((list, model))
}

fn at(cursor: &Iter<Bytewise>) -> Option<(ModelKey, Vec<u8>)> {
    cursor
        .valid()
        .then(|| (split(cursor.key()), cursor.value().to_vec()))
}

fn owned(entry: Option<(&ModelKey, &Vec<u8>)>) -> Option<(ModelKey, Vec<u8>)> {
    entry.map(|(key, value)| (key.clone(), value.clone()))
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(128))]

    #[test]
    fn walks_agree_in_both_directions(inserts in inserts()) {
        let (list, model) = build(inserts)?;
        let mut cursor = list.iter();
        prop_assert!(!cursor.valid());
        cursor.seek_to_first();
        for entry in &model {
            prop_assert_eq!(at(&cursor), owned(Some(entry)));
            cursor.next();
        }
        prop_assert!(!cursor.valid());
        cursor.seek_to_last();
        for entry in model.iter().rev() {
            prop_assert_eq!(at(&cursor), owned(Some(entry)));
            cursor.prev();
        }
        prop_assert!(!cursor.valid());
    }

    #[test]
    fn seeks_agree(inserts in inserts(), probes in vec((user_key(), tag()), 1..30)) {
        let (list, model) = build(inserts)?;
        let mut cursor = list.iter();
        let present: Vec<_> = model.keys().map(|(key, tag)| (key.clone(), tag.0)).collect();
        for (user_key, tag) in probes.into_iter().chain(present) {
            let key = (user_key.clone(), Reverse(tag));
            cursor.seek(&user_key, tag);
            prop_assert_eq!(at(&cursor), owned(model.range(&key..).next()));
            if cursor.valid() {
                cursor.prev();
                prop_assert_eq!(at(&cursor), owned(model.range(..&key).next_back()));
            }
            cursor.seek_for_prev(&user_key, tag);
            prop_assert_eq!(at(&cursor), owned(model.range(..=&key).next_back()));
            if cursor.valid() {
                cursor.next();
                let after = model.range((Excluded(&key), Unbounded)).next();
                prop_assert_eq!(at(&cursor), owned(after));
            }
        }
    }

    #[test]
    fn scans_agree_and_stop_when_told(
        inserts in inserts(),
        from in user_key(),
        tag in tag(),
        most in 1..20_usize,
    ) {
        let (list, model) = build(inserts)?;
        let mut seen = Vec::new();
        list.scan_from(&from, tag, &mut |key, tag, value| {
            seen.push(((key.to_vec(), Reverse(tag)), value.to_vec()));
            seen.len() < most
        });
        let expected: Vec<_> = model
            .range((from, Reverse(tag))..)
            .take(most)
            .map(|(key, value)| (key.clone(), value.clone()))
            .collect();
        prop_assert_eq!(seen, expected);
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    #[test]
    fn layouts_agree(inserts in inserts(), reverse in any::<bool>()) {
        let (inline, model) = build(inserts)?;
        let arena = ArenaOptions {
            block_size: 16 << 10,
            pages: HugePages::Transparent,
        };
        let list: SkipList<Bytewise, Indirect> = SkipList::with_layout(Bytewise, arena);
        let list = Arc::new(list);
        let mut entries: Vec<_> = model.iter().collect();
        if reverse {
            entries.reverse();
        }
        for ((user_key, tag), value) in entries {
            prop_assert!(list.insert_concurrently(user_key, tag.0, value));
            prop_assert!(!list.insert_concurrently(user_key, tag.0, value));
        }
        prop_assert_eq!(list.check(), Ok(model.len()));
        prop_assert_eq!(list.len(), model.len());
        prop_assert!(list.used_bytes() <= list.allocated_bytes());
        let (mut a, mut b) = (inline.iter(), list.iter());
        a.seek_to_first();
        b.seek_to_first();
        while a.valid() && b.valid() {
            prop_assert_eq!((a.key(), a.value()), (b.key(), b.value()));
            a.next();
            b.next();
        }
        prop_assert_eq!(a.valid(), b.valid());
    }
}

#[test]
fn an_empty_list_has_nothing() {
    let list = Arc::new(SkipList::new(Bytewise, 0));
    let mut cursor = list.iter();
    cursor.seek_to_first();
    assert!(!cursor.valid());
    cursor.seek_to_last();
    assert!(!cursor.valid());
    cursor.seek(b"", 0);
    assert!(!cursor.valid());
    cursor.seek_for_prev(b"\xff", 0);
    assert!(!cursor.valid());
    // Without a current entry, nothing happens.
    cursor.next();
    cursor.prev();
    assert!(!cursor.valid());
    assert!(list.is_empty());
    assert_eq!((list.len(), list.estimate_count_before(b"x", 0)), (0, 0));
    list.scan_from(b"", u64::MAX, &mut |_, _, _| panic!("no entries"));
}

#[test]
fn a_cursor_keeps_the_list_alive() {
    let list = Arc::new(SkipList::new(Bytewise, 4096));
    assert!(list.insert(b"key", 7, b"value"));
    let mut cursor = list.iter();
    drop(list);
    cursor.seek_to_first();
    assert_eq!(cursor.key(), b"key\x07\0\0\0\0\0\0\0");
    assert_eq!(cursor.value(), b"value");
}

#[test]
fn a_splice_of_another_list_is_reset() {
    let mut splice = Splice::default();
    for round in 0..3_u8 {
        // The earlier list is gone; its nodes must not be accessed.
        let list = SkipList::new(Bytewise, 4096);
        for key in 0..100_u8 {
            assert!(list.insert_with_splice(&mut splice, &[key], 1, &[round]));
            assert!(!list.insert_with_splice(&mut splice, &[key], 1, &[round]));
        }
        assert_eq!(list.len(), 100);
    }
}

#[test]
fn a_splice_serves_any_order() {
    let orders: [fn(u32) -> u32; 4] = [
        |i| i,
        |i| 9_999 - i,
        |i| i * 7_919 % 10_000,
        |i| if i % 2 == 0 { i } else { 9_999 - i / 2 * 2 },
    ];
    for (order, own) in orders.into_iter().flat_map(|o| [(o, true), (o, false)]) {
        let list = SkipList::new(Bytewise, 1 << 20);
        let mut splice = Splice::default();
        for i in 0..10_000 {
            let key = order(i).to_be_bytes();
            // The list's own splice, or the caller's.
            let mut insert = || {
                if own {
                    list.insert(&key, 1, &key)
                } else {
                    list.insert_with_splice(&mut splice, &key, 1, &key)
                }
            };
            assert!(insert());
            assert!(!insert(), "the second one is a duplicate");
        }
        let mut count = 0_u32;
        list.scan_from(b"", 0, &mut |key, _, value| {
            assert_eq!(key, count.to_be_bytes());
            assert_eq!(value, key);
            count += 1;
            true
        });
        assert_eq!((count, list.check()), (10_000, Ok(10_000)));
    }
}

#[test]
fn huge_values_come_back() {
    let list = Arc::new(SkipList::new(Bytewise, 4096));
    let value = vec![0xa5; 3 << 20];
    let user_key = vec![0x5a; 1 << 20];
    assert!(list.insert(&user_key, 1, &value));
    assert!(list.insert(b"", 2, b""));
    let mut cursor = list.iter();
    cursor.seek_to_first();
    assert_eq!((cursor.key().len(), cursor.value().len()), (8, 0));
    cursor.next();
    assert_eq!(split(cursor.key()), (user_key, Reverse(1)));
    assert!(cursor.value() == value);
}

#[test]
fn estimates_have_the_right_magnitude() {
    let list = SkipList::new(Bytewise, 1 << 20);
    for i in 0..20_000_u32 {
        // Fixed heights, with the average distribution of random ones.
        let height = 1 + (i + 1).trailing_zeros() as usize / 2;
        assert!(list.insert_with_height(height, &i.to_be_bytes(), 1, b""));
    }
    for i in (0..20_000_u32).step_by(997) {
        let estimate = list.estimate_count_before(&i.to_be_bytes(), 1);
        let (low, high) = (i as usize / 4, i as usize * 4 + 64);
        assert!((low..=high).contains(&estimate), "{estimate} for {i}");
    }
}

/// Counts comparisons, and panics at one of them if it is set.
#[derive(Default)]
struct Watched {
    comparisons: AtomicUsize,
    /// 0 for no panic.
    panic_at: AtomicUsize,
}

impl KeyOrder for Watched {
    fn compare(&self, a: (&[u8], u64), b: (&[u8], u64)) -> Ordering {
        let now = 1 + self.comparisons.fetch_add(1, Relaxed);
        assert!(now != self.panic_at.load(Relaxed), "a comparison panics");
        Bytewise.compare(a, b)
    }
}

/// An order must not panic. If it does, the list can still be read and written, and the
/// entry is inserted or not.
#[test]
fn an_order_that_panics_does_no_harm() {
    for panic_at in 1..40 {
        for spliced in [false, true] {
            let watched = Arc::new(Watched::default());
            let list = Arc::new(SkipList::new(watched.clone(), 4096));
            let mut splice = Splice::default();
            for key in (0..60_u8).step_by(2) {
                let height = 1 + usize::from(key) % 7 % 4;
                assert!(list.insert_spliced_with_height(&mut splice, height, &[key], 1, b"v"));
            }
            watched.comparisons.store(0, Relaxed);
            watched.panic_at.store(panic_at, Relaxed);
            let insert = |key: u8, splice: &mut Splice| {
                catch_unwind(AssertUnwindSafe(|| {
                    if spliced {
                        list.insert_spliced_with_height(splice, 3, &[key], 1, b"w")
                    } else {
                        list.insert_with_height(3, &[key], 1, b"w")
                    }
                }))
            };
            let failed = [31, 7, 33, 1].map(|key| insert(key, &mut splice).is_err());
            assert!(failed.iter().filter(|&&failed| failed).count() <= 1);
            watched.panic_at.store(0, Relaxed);
            for (key, failed) in [31, 7, 33, 1].into_iter().zip(failed) {
                let again = insert(key, &mut splice).unwrap();
                assert!(failed || !again, "{key} is there");
            }
            assert_eq!(list.check(), Ok(34));
        }
    }
}

/// Versions of one key are entries like any others here: the version for an old snapshot
/// is found in few comparisons.
#[test]
fn a_million_versions_are_searched_quickly() {
    const COUNT: u64 = 1_000_000;
    let watched = Arc::new(Watched::default());
    let list = SkipList::new(watched.clone(), 1 << 20);
    let mut splice = Splice::default();
    for tag in 1..=COUNT {
        // With the average distribution of random heights.
        let height = 1 + tag.trailing_zeros() as usize / 2;
        assert!(list.insert_spliced_with_height(&mut splice, height, b"hot", tag * 2, b""));
    }
    for i in 0..10_000 {
        let tag = i * 7_919 % COUNT + 1;
        let before = watched.comparisons.load(Relaxed);
        let mut found = 0;
        list.scan_from(b"hot", tag * 2 + 1, &mut |_, tag, _| {
            found = tag;
            false
        });
        assert_eq!(found, tag * 2);
        let comparisons = watched.comparisons.load(Relaxed) - before;
        // Up to four in each of ten levels, and as many again as a margin.
        assert!(comparisons <= 80, "{comparisons} comparisons");
    }
}

/// Long walks prefetch. They meet every entry, whatever the shape of the upper levels is,
/// wherever they start and however they are interrupted.
#[test]
fn long_walks_meet_everything() {
    const ENTRIES: u32 = 5_000;
    let value_len = |i: u32| if i % 100 == 3 { 3_000 } else { 100 };
    let shapes: [fn(u32) -> usize; 5] = [
        |_| 1,
        |_| 2,
        |i| 1 + (i.trailing_zeros() / 2) as usize,
        |i| if i < 100 { 3 } else { 1 },
        |i| if i % 300 == 7 { 2 } else { 1 },
    ];
    for shape in shapes {
        let list = Arc::new(SkipList::new(Bytewise, 64 << 10));
        // Far from each other in memory, so that prefetching begins.
        for i in (0..ENTRIES).map(|i| i * 7 % ENTRIES) {
            let value = vec![7; value_len(i)];
            assert!(list.insert_with_height(shape(i), &i.to_be_bytes(), 1, &value));
        }
        for mut cursor in [list.iter(), list.flush_iter()] {
            for start in [0, 1, 2, 3, 1_000, ENTRIES - 40] {
                cursor.seek(&u32::to_be_bytes(start), 1);
                for i in start..ENTRIES {
                    assert_eq!(cursor.key()[..4], i.to_be_bytes());
                    assert_eq!(cursor.value(), vec![7; value_len(i)]);
                    if i % 1_000 == 500 {
                        cursor.prev();
                        assert_eq!(cursor.key()[..4], (i - 1).to_be_bytes());
                        cursor.next();
                    }
                    cursor.next();
                }
                assert!(!cursor.valid());
            }
        }
    }
}

/// A cursor that prefetches meets an entry that is inserted right in front of it.
#[test]
fn a_long_walk_meets_what_is_inserted_before_it() {
    const ENTRIES: u32 = 2_000;
    for sweeps in [false, true] {
        let list = Arc::new(SkipList::new(Bytewise, 64 << 10));
        for i in (0..ENTRIES).map(|i| i * 7 % ENTRIES) {
            assert!(list.insert(&(2 * i).to_be_bytes(), 1, &[7; 100]));
        }
        let mut cursor = if sweeps {
            list.flush_iter()
        } else {
            list.iter()
        };
        cursor.seek_to_first();
        for i in 0..ENTRIES {
            assert_eq!(cursor.key()[..4], (2 * i).to_be_bytes());
            let odd = (2 * i + 1).to_be_bytes();
            assert!(list.insert_with_height(1 + i as usize % 3, &odd, 1, &[7; 100]));
            cursor.next();
            assert_eq!(cursor.key()[..4], odd);
            cursor.next();
        }
        assert!(!cursor.valid());
    }
}
