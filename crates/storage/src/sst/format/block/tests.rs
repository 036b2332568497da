use super::*;
use crate::key::{InternalComparator, TAG_SIZE};
use crate::sst::format::block_builder::BlockBuilder;
use crate::sst::format::handle::{BlockHandle, TRAILER_LEN, encode_delta};
use proptest::prelude::*;
use std::collections::BTreeMap;

pub(crate) fn build(map: &BTreeMap<Vec<u8>, Vec<u8>>, interval: usize) -> Block {
    let mut b = BlockBuilder::new(interval);
    for (k, v) in map {
        b.add(k, v);
    }
    Block::new(Bytes::copy_from_slice(b.finish())).expect("valid")
}

pub(crate) fn values() -> Cursor {
    Cursor::new(EntryLayout::Values, 0)
}

fn current<'a>(c: &'a Cursor, b: &'a Block) -> Option<(&'a [u8], &'a [u8])> {
    assert!(c.failure().is_none());
    c.valid().then(|| (c.key(b), c.value(b)))
}

pub(crate) fn small_map() -> impl Strategy<Value = BTreeMap<Vec<u8>, Vec<u8>>> {
    let key = prop_oneof![
        proptest::collection::vec(0u8..3, 0..6),
        proptest::collection::vec(any::<u8>(), 0..200),
        proptest::collection::vec(Just(0xffu8), 0..5),
    ];
    let value = proptest::collection::vec(any::<u8>(), 0..200);
    proptest::collection::btree_map(key, value, 0..60)
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(200))]

    #[test]
    fn cursor_agrees_with_a_map(map in small_map(), interval in 1usize..20,
                                probes in proptest::collection::vec(
                                    proptest::collection::vec(0u8..4, 0..6), 0..20)) {
        let block = build(&map, interval);
        let pair = |(k, v): (&Vec<u8>, &Vec<u8>)| (k.clone(), v.clone());
        let mut c = values();
        c.seek_to_first(&block);
        for (k, v) in &map {
            prop_assert_eq!(current(&c, &block), Some((&k[..], &v[..])));
            c.next(&block);
        }
        prop_assert_eq!(current(&c, &block), None);
        c.seek_to_last(&block);
        for (k, v) in map.iter().rev() {
            prop_assert_eq!(current(&c, &block), Some((&k[..], &v[..])));
            c.prev(&block);
        }
        prop_assert_eq!(current(&c, &block), None);
        for p in probes.iter().chain(map.keys()) {
            c.seek(&block, |k| k.cmp(p));
            let want = map.range(p.clone()..).next().map(pair);
            let got = current(&c, &block).map(|(k, v)| (k.to_vec(), v.to_vec()));
            prop_assert_eq!(&got, &want);
            if let Some((k, _)) = want {
                // One step back and forward again.
                c.prev(&block);
                let before = map.range(..k.clone()).next_back().map(pair);
                let got = current(&c, &block).map(|(k, v)| (k.to_vec(), v.to_vec()));
                prop_assert_eq!(&got, &before);
                if before.is_some() {
                    c.next(&block);
                    prop_assert_eq!(current(&c, &block).map(|e| e.0), Some(&k[..]));
                }
            }
        }
    }

    #[test]
    fn damaged_blocks_never_hang_or_panic(map in small_map(), interval in 1usize..20,
                                          at in any::<proptest::sample::Index>(), with in any::<u8>(),
                                          min_key in 0usize..9) {
        let mut bytes = build(&map, interval).data().to_vec();
        let at = at.index(bytes.len());
        bytes[at] = with;
        let Ok(block) = Block::new(bytes.into()) else { return Ok(()); };
        for layout in [
            EntryLayout::Values,
            EntryLayout::Handles,
            EntryLayout::DeltaHandles { first_key: false },
            EntryLayout::DeltaHandles { first_key: true },
        ] {
            let mut c = Cursor::new(layout, min_key);
            let most = block.data().len();
            c.seek_to_first(&block);
            let mut steps = 0;
            while c.valid() {
                prop_assert!(c.key(&block).len() >= min_key);
                c.value(&block);
                c.next(&block);
                steps += 1;
                prop_assert!(steps <= most);
            }
            c.seek_to_last(&block);
            let mut steps = 0;
            while c.valid() {
                c.prev(&block);
                steps += 1;
                prop_assert!(steps <= most);
            }
            c.seek(&block, |k| k.cmp(&[1, 2]));
            if c.valid() {
                c.prev(&block);
            }
        }
    }
}

/// Internal keys, few user keys of which are alike in many bytes, with several versions of some.
fn internal_keys() -> impl Strategy<Value = Vec<Vec<u8>>> {
    let user = prop_oneof![
        proptest::collection::vec(0u8..3, 0..6),
        proptest::collection::vec(0u8..2, 7..20),
        Just(b"a key longer than the others, by far".to_vec()),
    ];
    let tag = prop_oneof![0u64..5, Just(u64::MAX), 0x0101_0101..0x0101_0110u64];
    proptest::collection::vec((user, tag), 0..60).prop_map(|keys| {
        let keys = keys.into_iter().map(|(mut key, tag)| {
            key.extend_from_slice(&tag.to_le_bytes());
            key
        });
        let mut keys: Vec<Vec<u8>> = keys.collect();
        keys.sort_by(|a, b| InternalComparator::default().compare(a, b));
        keys.dedup();
        keys
    })
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(500))]

    #[test]
    fn the_bytewise_search_finds_what_the_search_by_whole_keys_finds(
        stored in internal_keys(), interval in 1usize..20, targets in internal_keys(),
    ) {
        let order = InternalComparator::default();
        let mut b = BlockBuilder::new(interval);
        for (i, key) in stored.iter().enumerate() {
            b.add(key, &i.to_le_bytes()[..i % 9]);
        }
        let block = Block::new(Bytes::copy_from_slice(b.finish())).expect("valid");
        let all = 0..block.num_restarts();
        let mut found = Cursor::new(EntryLayout::Values, TAG_SIZE);
        let mut wanted = Cursor::new(EntryLayout::Values, TAG_SIZE);
        for target in targets.iter().chain(&stored) {
            found.seek_bytewise(&block, all.clone(), target);
            wanted.seek(&block, |key| order.compare(key, target));
            prop_assert_eq!(current(&found, &block), current(&wanted, &block));
            // The cursor can move on from there.
            while wanted.valid() {
                wanted.next(&block);
                found.next(&block);
                prop_assert_eq!(current(&found, &block), current(&wanted, &block));
            }
            found.seek_bytewise(&block, all.clone(), target);
            wanted.seek(&block, |key| order.compare(key, target));
            if wanted.valid() {
                wanted.prev(&block);
                found.prev(&block);
                prop_assert_eq!(current(&found, &block), current(&wanted, &block));
            }
        }
    }
}

#[test]
fn handles_round_trip_with_and_without_deltas() {
    // Sizes, and bytes that are empty behind the block.
    let handles: Vec<BlockHandle> = [(100u64, 0u64), (90, 20), (4096, 0), (4096, 0), (7, 0)]
        .iter()
        .scan(1000, |offset, &(size, padding)| {
            let h = BlockHandle {
                offset: *offset,
                size,
            };
            *offset += size + TRAILER_LEN as u64 + padding;
            Some(h)
        })
        .collect();
    for interval in [1, 2, 16] {
        let mut delta = BlockBuilder::new(interval);
        let mut plain = BlockBuilder::new(interval);
        let mut prev: Option<BlockHandle> = None;
        for (i, &h) in handles.iter().enumerate() {
            // The fourth key shares nothing with the third.
            let key = if i < 3 {
                format!("a{i}")
            } else {
                format!("b{i}")
            };
            let (mut full, mut short) = (Vec::new(), Vec::new());
            h.encode(&mut full);
            let prev = prev.replace(h);
            let prev = prev.filter(|prev| prev.end() == Some(h.offset));
            if let Some(prev) = prev {
                encode_delta(prev, h, &mut short);
            }
            delta.add_delta(key.as_bytes(), &full, prev.map(|_| &short[..]));
            plain.add(key.as_bytes(), &full);
        }
        for (b, layout) in [
            (&mut delta, EntryLayout::DeltaHandles { first_key: false }),
            (&mut plain, EntryLayout::Handles),
        ] {
            let block = Block::new(Bytes::copy_from_slice(b.finish())).expect("valid");
            let mut c = Cursor::new(layout, 0);
            c.seek_to_first(&block);
            for h in &handles {
                assert!(c.valid());
                assert_eq!(c.handle(), *h);
                c.next(&block);
            }
            assert!(!c.valid() && c.failure().is_none());
            c.seek_to_last(&block);
            for h in handles.iter().rev() {
                assert_eq!(c.handle(), *h);
                c.prev(&block);
            }
            assert!(!c.valid() && c.failure().is_none());
        }
    }
}

#[test]
fn footers_are_checked() {
    let new = |b: &[u8]| Block::new(Bytes::copy_from_slice(b));
    assert!(new(b"").is_err());
    assert!(new(&[1, 0, 0, 0]).is_err()); // one restart, no room
    assert!(new(&[0, 0, 0, 0]).is_ok());
    assert!(new(&[9, 0, 0, 0, 0]).is_err()); // entries, no restart
    assert!(new(&[0, 0, 0, 0, 1, 0, 0, 0x40]).is_err());
    let e = new(&[0, 0, 0, 0, 1, 0, 0, 0x10]).expect_err("values apart");
    assert_eq!(e.kind(), crate::ErrorKind::NotSupported);
    // A hash index of one bucket, and one that is too large.
    assert!(new(&[0, 0, 0, 0, 255, 1, 0, 1, 0, 0, 0x80]).is_ok());
    assert!(new(&[0, 0, 0, 0, 255, 9, 0, 1, 0, 0, 0x80]).is_err());
    // The hint about uniform keys means nothing here.
    assert!(new(&[0, 0, 0, 0, 1, 0, 0, 0x20]).is_ok());
}
