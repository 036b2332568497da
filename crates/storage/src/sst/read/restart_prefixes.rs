//! Where in a cached data block a search begins, known before the block itself is read.
//!
//! A search compares keys at restart points first. They lie apart, so each of them is likely to be
//! a cache miss, and only then is it known which entries to read next. Beside a block that readers
//! find in a directory lie eight bytes of each of its first keys at restart points: those that the
//! table's [`IndexPrefixArray`] would have of them. The same bytes of the target tell the entries.
//! Only keys that agree with it in all eight bytes, and those behind the first few restart points,
//! are read and compared.

use crate::key::{TAG_SIZE, user_key};
use crate::planted;
use crate::sst::format::block::{Block, EntryLayout, FIRST_RESTARTS};
use crate::sst::read::index_prefix_array::IndexPrefixArray;
use std::num::NonZeroUsize;
use std::ops::Range;

/// The most keys that are kept: those at the restart points that a block keeps, but for the first
/// one.
const MOST: usize = FIRST_RESTARTS - 1;

/// Prefixes of the keys at the restart points of a data block, from the second point on: a search
/// begins at the first one if the key at the second is not less.
#[derive(Debug)]
pub(crate) struct RestartPrefixes {
    prefixes: [u64; MOST],
    kept: NonZeroUsize,
}

impl RestartPrefixes {
    /// Those of a block of internal keys. `None` if they tell nothing: the block has one restart
    /// point, or a hash table, or all of its prefixes are the same. `None`, too, if a key does not
    /// begin with what all keys of the index do, as there may be before the first of these, or
    /// cannot be read.
    pub(crate) fn new(block: &Block, index: &IndexPrefixArray) -> Option<Self> {
        if block.has_hash_table() {
            return None;
        }
        let kept = NonZeroUsize::new(block.num_restarts().saturating_sub(1).min(MOST))?;
        let mut prefixes = [0; MOST];
        for (point, prefix) in (1..).zip(&mut prefixes[..kept.get()]) {
            let key = block.restart_key(point, EntryLayout::Values)?;
            *prefix = index
                .prefix(user_key(key))
                .filter(|_| key.len() >= TAG_SIZE)?;
        }
        let all_same = kept.get() > 1 && prefixes[0] == prefixes[kept.get() - 1];
        (!all_same).then_some(RestartPrefixes { prefixes, kept })
    }

    /// The restart points of `block` whose keys have to be compared with a target of this prefix.
    /// Keys before them are less than the target, keys after them are not.
    #[inline]
    pub(crate) fn candidates(&self, block: &Block, wanted: u64) -> Range<usize> {
        let kept = &self.prefixes[..self.kept.get()];
        let mut less: usize = kept.iter().map(|&p| usize::from(p < wanted)).sum();
        let not_greater: usize = kept.iter().map(|&p| usize::from(p <= wanted)).sum();
        planted!(EqualPrefixesNotCompared => less = not_greater);
        let start = if less == 0 { 0 } else { less + 1 };
        let end = if not_greater == kept.len() {
            block.num_restarts()
        } else {
            not_greater + 1
        };
        start..end
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

    fn block(interval: usize, entries: impl Iterator<Item = (Vec<u8>, &'static [u8])>) -> Block {
        let mut builder = BlockBuilder::new(interval);
        entries.for_each(|(key, value)| builder.add(&key, value));
        Block::new(Bytes::copy_from_slice(builder.finish())).expect("valid")
    }

    fn index(separators: &BTreeSet<Vec<u8>>) -> IndexPrefixArray {
        let entries = separators.iter().map(|key| (key.clone(), &[0, 0][..]));
        IndexPrefixArray::new(&block(1, entries), INDEX, &InternalComparator::default())
            .expect("large enough")
    }

    proptest! {
        #[test]
        fn candidates_bound_the_target(
            common in vec(any::<u8>(), 0..3),
            suffixes in btree_set(vec(0u8..3, 0..12), 4..60),
            interval in 1usize..9,
            versions in 1u64..4,
            targets in vec(vec(0u8..4, 0..14), 0..30),
        ) {
            let with = |suffix: &Vec<u8>| [&common[..], suffix].concat();
            let keys: BTreeSet<Vec<u8>> = suffixes.iter().map(with).collect();
            let index = index(&keys);
            let entries: Vec<_> = (keys.iter())
                .flat_map(|key| (0..versions).rev().map(move |version| (key, version)))
                .collect();
            let internal = entries.iter().map(|&(key, version)| seek_key(key, version));
            let block = block(interval, internal.map(|key| (key, &b"value"[..])));
            let points: Vec<_> = entries.iter().step_by(interval).map(|entry| entry.0).collect();
            let kept: Vec<_> = points[1..].iter().take(MOST).map(|key| index.prefix(key)).collect();
            let tells = kept.len() == 1 || kept.first() != kept.last();
            let prefixes = RestartPrefixes::new(&block, &index);
            prop_assert_eq!(prefixes.is_some(), tells);
            let Some(prefixes) = prefixes else {
                return Ok(());
            };
            for target in targets.iter().map(with).chain(keys.clone()) {
                // The keys may happen to have more in common.
                let Some(wanted) = index.prefix(&target) else {
                    continue;
                };
                let at = prefixes.candidates(&block, wanted);
                prop_assert!(at.start <= at.end && at.end <= points.len(), "{at:?}");
                prop_assert!(points[..at.start].iter().all(|key| **key < target));
                prop_assert!(points[at.end..].iter().all(|key| **key > target));
            }
        }
    }

    #[test]
    fn a_block_with_keys_that_do_not_begin_as_the_index_does_has_none() {
        let separators = (0..9).map(|i| format!("user{i}").into_bytes()).collect();
        let keys = ["account", "account2", "user0"].map(|key| seek_key(key.as_bytes(), 1));
        let block = block(1, keys.into_iter().map(|key| (key, &b"value"[..])));
        let index = index(&separators);
        assert!(RestartPrefixes::new(&block, &index).is_none());
        assert_eq!(index.prefix(b"account"), None);
    }
}
