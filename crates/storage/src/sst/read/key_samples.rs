//! Where in a cached data block a search begins, known before the block itself is read.
//!
//! Entries lie one behind the other, and each says where the next one is. So a search that begins
//! at a restart point walks over half of an interval, some 900 bytes, and most of these lines are
//! cache misses. Beside a block that readers find in a directory lie samples of its keys: eight
//! bytes of each, those that the table's [`IndexPrefixArray`] would have of it, and where the entry
//! behind it is. The same bytes of the target tell between which samples a search has to look. It
//! may begin in the middle of an interval, because it compares an entry by how many bytes the one
//! before has in common with the target ([`Cursor::seek_behind`]), and that is known of a sample
//! that is less.

use crate::key::{TAG_SIZE, user_key};
use crate::planted;
use crate::sst::format::block::{Block, Cursor, EntryLayout, KnownLess, LINE};
use crate::sst::read::index_prefix_array::IndexPrefixArray;
use std::num::NonZeroUsize;
use std::ops::Range;

/// The most samples of a block. A block of 4 KiB has one to some seven lines.
const MOST: usize = 8;

/// The size up to which the intervals between restart points are not divided, in bytes.
const SMALL_INTERVAL: usize = 8 * LINE;

/// Samples of the keys of a data block, in their order.
#[derive(Debug)]
pub(crate) struct KeySamples {
    prefixes: [u64; MOST],
    /// Where the entry behind each sample begins.
    behind: [u16; MOST],
    /// The lengths of the samples' user keys.
    user_lens: [u16; MOST],
    kept: NonZeroUsize,
}

impl KeySamples {
    /// Those of a block of internal keys. `None` if they tell nothing: the block is small, or
    /// larger than 64 KiB, or has a hash table, or all of its samples begin alike. `None`, too, if
    /// a sample does not begin with what all keys of the index do, as there may be before the first
    /// of these, or cannot be read.
    pub(crate) fn new(block: &Block, index: &IndexPrefixArray) -> Option<Self> {
        let len = block.entries_len();
        if block.has_hash_table() || len > usize::from(u16::MAX) {
            return None;
        }
        let mut samples = KeySamples {
            prefixes: [0; MOST],
            behind: [0; MOST],
            user_lens: [0; MOST],
            kept: NonZeroUsize::MIN,
        };
        let mut kept = 0;
        let mut cursor = Cursor::new(EntryLayout::Values, TAG_SIZE);
        let mut keep = |cursor: &Cursor| {
            let user = user_key(cursor.key(block));
            samples.prefixes[kept] = index.prefix(user)?;
            samples.behind[kept] = u16::try_from(cursor.end()).ok()?;
            samples.user_lens[kept] = u16::try_from(user.len()).ok()?;
            kept += 1;
            Some(())
        };
        let restarts = block.num_restarts();
        if len <= restarts * SMALL_INTERVAL {
            let parts = restarts.min(MOST + 1);
            for nth in 1..parts {
                cursor.seek_to_restart(block, (nth * restarts).div_ceil(parts));
                cursor.valid().then(|| keep(&cursor))??;
            }
        } else {
            let mut nth = 1;
            cursor.seek_to_first(block);
            while cursor.valid() && nth <= MOST {
                if cursor.end() * (MOST + 1) >= len * nth {
                    keep(&cursor)?;
                    nth = cursor.end() * (MOST + 1) / len + 1;
                }
                cursor.next(block);
            }
            cursor.failure().is_none().then_some(())?;
        }
        samples.kept = NonZeroUsize::new(kept)?;
        // In a damaged block, the sample before the target would not be less.
        samples.prefixes[..kept].is_sorted().then_some(())?;
        let all_same = kept > 1 && samples.prefixes[0] == samples.prefixes[kept - 1];
        (!all_same).then_some(samples)
    }

    /// An entry, or the start of the block, that is less than a target whose user key begins, after
    /// the `common` bytes of all keys, with the eight bytes `wanted`, and how far the search goes
    /// from there. `None` if several samples begin as the target does.
    #[inline]
    pub(crate) fn before(&self, common: usize, wanted: u64) -> Option<(KnownLess, Range<usize>)> {
        let kept = self.kept.get();
        let count = |is: fn(u64, u64) -> bool| -> usize {
            let prefixes = self.prefixes[..kept].iter();
            prefixes
                .map(|&prefix| usize::from(is(prefix, wanted)))
                .sum()
        };
        let mut less = count(|prefix, wanted| prefix < wanted);
        let not_greater = count(|prefix, wanted| prefix <= wanted);
        if not_greater > less + 1 {
            return None;
        }
        planted!(EqualPrefixesNotCompared => less = not_greater);
        let known = match less.checked_sub(1) {
            None => KnownLess::default(),
            Some(last) => {
                let user_len = usize::from(self.user_lens[last]);
                // The bytes that are missing of a short key count as zeros.
                let same = (self.prefixes[last] ^ wanted).leading_zeros() as usize / 8;
                KnownLess {
                    behind: usize::from(self.behind[last]),
                    user_len,
                    matched: (common + same).min(user_len),
                }
            }
        };
        let end = match self.behind[..kept].get(less) {
            Some(&behind) => usize::from(behind),
            None => usize::MAX,
        };
        Some((known, known.behind..end))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::key::{InternalComparator, seek_key};
    use crate::sst::format::block_builder::BlockBuilder;
    use crate::sst::format::index_format::IndexFormat;
    use bytes::Bytes;
    use proptest::collection::{btree_set, vec};
    use proptest::prelude::*;
    use std::collections::BTreeSet;

    const INDEX: IndexFormat = IndexFormat {
        layout: EntryLayout::Handles,
        user_keys: true,
        partitioned: false,
    };

    fn block(interval: usize, entries: impl Iterator<Item = (Vec<u8>, Vec<u8>)>) -> Block {
        let mut builder = BlockBuilder::new(interval);
        entries.for_each(|(key, value)| builder.add(&key, &value));
        Block::new(Bytes::copy_from_slice(builder.finish())).expect("valid")
    }

    fn index(separators: &BTreeSet<Vec<u8>>) -> IndexPrefixArray {
        let entries = separators.iter().map(|key| (key.clone(), vec![0, 0]));
        IndexPrefixArray::new(&block(1, entries), INDEX, &InternalComparator::default())
            .expect("large enough")
    }

    proptest! {
        #[test]
        fn a_search_from_a_sample_finds_what_a_walk_finds(
            common in vec(any::<u8>(), 0..3),
            suffixes in btree_set(vec(0u8..3, 0..12), 4..90),
            interval in 1usize..19,
            versions in 1u64..4,
            value_len in prop_oneof![0usize..4, 30usize..200],
            targets in vec(vec(0u8..4, 0..14), 0..30),
        ) {
            let with = |suffix: &Vec<u8>| [&common[..], suffix].concat();
            let keys: BTreeSet<Vec<u8>> = suffixes.iter().map(with).collect();
            let index = index(&keys);
            let entries: Vec<Vec<u8>> = (keys.iter())
                .flat_map(|key| (0..versions).rev().map(move |version| seek_key(key, version)))
                .collect();
            let values = (0..).map(|n: usize| vec![n as u8; value_len]);
            let block = block(interval, entries.iter().cloned().zip(values));
            let Some(samples) = KeySamples::new(&block, &index) else {
                return Ok(());
            };
            let mut cursor = Cursor::new(EntryLayout::Values, TAG_SIZE);
            let targets = targets.iter().map(with).chain(keys.iter().cloned());
            let at_all = |key: Vec<u8>| (0..versions + 1).map(move |at| seek_key(&key, at));
            for target in targets.flat_map(at_all) {
                // The keys may happen to have more in common.
                let Some(wanted) = index.prefix(user_key(&target)) else {
                    continue;
                };
                let Some((before, lines)) = samples.before(index.common_len(), wanted) else {
                    continue;
                };
                prop_assert_eq!(before.behind, lines.start);
                cursor.seek_behind(&block, before, &target);
                prop_assert!(cursor.failure().is_none());
                let order = InternalComparator::default();
                let first = entries.iter().position(|key| order.compare(key, &target).is_ge());
                prop_assert_eq!(cursor.valid(), first.is_some());
                if let Some(first) = first {
                    prop_assert_eq!(cursor.key(&block), &entries[first][..]);
                    prop_assert_eq!(cursor.value(&block), &vec![first as u8; value_len][..]);
                }
                // It goes on from there as from anywhere.
                for key in entries.iter().skip(first.map_or(entries.len(), |first| first + 1)) {
                    cursor.next(&block);
                    prop_assert_eq!(cursor.key(&block), &key[..]);
                }
            }
        }

        #[test]
        fn a_search_of_keys_in_any_order_does_not_panic(
            keys in vec(vec(0u8..3, 0..12), 4..90),
            interval in 1usize..19,
            value_len in prop_oneof![0usize..4, 30usize..200],
            targets in vec(vec(0u8..4, 0..14), 0..30),
        ) {
            let separators = (0..9).map(|n| vec![n]).collect();
            let index = index(&separators);
            let entries = keys.iter().map(|key| (seek_key(key, 1), vec![0; value_len]));
            let block = block(interval, entries);
            let Some(samples) = KeySamples::new(&block, &index) else {
                return Ok(());
            };
            let mut cursor = Cursor::new(EntryLayout::Values, TAG_SIZE);
            for target in targets.iter().chain(&keys) {
                let wanted = index.prefix(target).expect("all begin with nothing");
                if let Some((before, _)) = samples.before(index.common_len(), wanted) {
                    prop_assert!(before.matched <= target.len());
                    cursor.seek_behind(&block, before, &seek_key(target, 1));
                    prop_assert!(!cursor.valid() || !cursor.key(&block).is_empty());
                }
            }
        }
    }

    /// Twenty-eight entries of some 140 bytes.
    fn usual() -> (Block, IndexPrefixArray) {
        let key = |n: usize| format!("user{n:04}").into_bytes();
        let separators = (0..9).map(|n| key(n * 1000)).collect();
        let entries = (0..28).map(|n| (seek_key(&key(n), 1), vec![0; 123]));
        (block(16, entries), index(&separators))
    }

    #[test]
    fn a_search_in_a_usual_block_looks_at_a_ninth_of_it() {
        let (block, index) = usual();
        let samples = KeySamples::new(&block, &index).expect("it has restart points");
        assert_eq!(samples.kept.get(), MOST);
        for n in 0..28 {
            let wanted = index.prefix(format!("user{n:04}").as_bytes()).unwrap();
            let (_, lines) = samples.before(index.common_len(), wanted).expect("one key");
            let len = lines.end.min(block.entries_len()) - lines.start;
            assert!(len <= block.entries_len() / MOST + 140, "{len}");
        }
    }

    #[test]
    fn several_samples_that_begin_as_the_target_does_tell_nothing() {
        let (_, index) = usual();
        let keys =
            (0..20).map(|n| format!("user0000{}{n:04}", if n < 6 { "" } else { "same-one" }));
        let entries = keys.map(|key| (seek_key(key.as_bytes(), 1), vec![0; 100]));
        let block = block(16, entries);
        let samples = KeySamples::new(&block, &index).expect("not all begin alike");
        let wanted = index.prefix(b"user0000same-one0007").unwrap();
        assert!(samples.before(index.common_len(), wanted).is_none());
    }

    #[test]
    fn a_damaged_block_whose_keys_are_not_in_order_has_none() {
        // A search for `b` would take the first of them for less, and for as much as three bytes of
        // a target that has one.
        let keys = [&b"b\0\0\0z"[..], b"b\0\0\0y", b"a", b"a\0", b"a\0\0"];
        let keys = [&b"b"[..]].into_iter().chain(keys);
        let entries = keys.map(|key| (seek_key(key, 1), vec![0; 100]));
        let block = block(1, entries);
        let separators = (b'a'..b'j').map(|key| vec![key]).collect();
        assert!(KeySamples::new(&block, &index(&separators)).is_none());
    }

    #[test]
    fn a_block_with_keys_that_do_not_begin_as_the_index_does_has_none() {
        let separators = (0..9).map(|i| format!("user{i}").into_bytes()).collect();
        let keys = ["account", "account2", "user0"].map(|key| seek_key(key.as_bytes(), 1));
        let block = block(1, keys.into_iter().map(|key| (key, b"value".to_vec())));
        let index = index(&separators);
        assert!(KeySamples::new(&block, &index).is_none());
        assert_eq!(index.prefix(b"account"), None);
    }
}
