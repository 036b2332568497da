//! The radix tree in reverse bytewise order against a `BTreeMap`.

use std::cmp::Reverse;
use std::collections::BTreeMap;
use std::sync::Arc;

use proptest::prelude::*;
use whitewater_concurrent::art::{Art, Iter, Options};

use crate::order;

type Place = (Reverse<Vec<u8>>, Reverse<u64>);
type Oracle = BTreeMap<Place, Vec<u8>>;

fn here(iter: &Iter<true>) -> Option<(Place, Vec<u8>)> {
    iter.valid().then(|| {
        let (key, tag) = order::split(iter.key());
        ((Reverse(key), tag), iter.value().to_vec())
    })
}

fn owned(found: Option<(&Place, &Vec<u8>)>) -> Option<(Place, Vec<u8>)> {
    found.map(|(place, value)| (place.clone(), value.clone()))
}

fn assert_same(tree: &Arc<Art>, oracle: &Oracle, probes: &[(Vec<u8>, u64)]) {
    let mut iter = tree.iter_falling();
    iter.seek_to_first();
    for expected in oracle {
        assert_eq!(here(&iter), owned(Some(expected)));
        iter.next();
    }
    assert!(!iter.valid());
    iter.seek_to_last();
    for expected in oracle.iter().rev() {
        assert_eq!(here(&iter), owned(Some(expected)));
        iter.prev();
    }
    assert!(!iter.valid());
    for (key, tag) in probes {
        let at = (Reverse(key.clone()), Reverse(*tag));
        let mut after = oracle.range(at.clone()..);
        iter.seek(key, *tag);
        assert_eq!(here(&iter), owned(after.next()));
        iter.next();
        assert_eq!(here(&iter), owned(after.next()));
        let mut before = oracle.range(..=at).rev();
        iter.seek_for_prev(key, *tag);
        let found = owned(before.next());
        assert_eq!(here(&iter), found);
        iter.prev();
        assert_eq!(here(&iter), owned(before.next()));
        if iter.valid() {
            iter.next();
            assert_eq!(here(&iter), found);
        }
    }
}

/// Keys that begin with each other, in a small alphabet and a large one.
fn key() -> impl Strategy<Value = Vec<u8>> {
    prop_oneof![
        prop::collection::vec(prop::sample::select(vec![0u8, b'a', 0xff]), 0..7),
        prop::collection::vec(any::<u8>(), 0..3),
    ]
}

proptest! {
    #[test]
    fn walks_and_seeks_agree_in_reverse_order(
        entries in prop::collection::vec((key(), 0u64..4), 0..300),
        probes in prop::collection::vec((key(), 0u64..5), 0..60),
    ) {
        let tree = Arc::new(Art::new(Options { capacity: 1 << 20, ..Options::default() }));
        let mut oracle = Oracle::new();
        for (i, (key, tag)) in entries.iter().enumerate() {
            if tree.insert(key, *tag, &i.to_le_bytes()) {
                oracle.insert((Reverse(key.clone()), Reverse(*tag)), i.to_le_bytes().to_vec());
            }
        }
        prop_assert_eq!(tree.len(), oracle.len());
        let places: Vec<_> = entries.iter().chain(&probes).cloned().collect();
        assert_same(&tree, &oracle, &places);
    }
}
