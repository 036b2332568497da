//! A faster search in an index block: the first eight bytes of every key in one array.
//!
//! A binary search over the entries of a block touches two places in memory per step, and waits
//! for both. Here a search descends a tree of arrays instead. Each step compares the target with
//! [`FAN_OUT`] numbers that lie side by side, and only the numbers of the last two steps are
//! likely to miss the cache. Only keys that agree with the target in all eight bytes are compared
//! as a whole.
//!
//! Beside the prefixes stand the offsets of the data blocks, so that a search, and a walk from the
//! block that it has found, often need not read the index block at all. A block's number is its
//! restart point in the index: how many blocks are before it. The array takes about seventeen bytes
//! per data block. There is one for bytewise order only.

use crate::coding::first_bytes;
use crate::key::{InternalComparator, UserComparator, user_key};
use crate::sst::format::block::Block;
use crate::sst::format::handle::{BlockHandle, TRAILER_LEN};
use crate::sst::format::index_format::IndexFormat;
use std::cmp::Ordering;
use std::ops::Range;
use whitewater_concurrent::prefetch;

/// The first eight bytes of the user keys at the restart points of an index block.
///
/// Invariant: prefixes keep the order. Where two prefixes differ, so do their keys, and in the
/// same direction.
#[derive(Debug)]
pub(crate) struct IndexPrefixArray {
    /// The bytes that all keys begin with. They are not part of the prefixes.
    common: Vec<u8>,
    /// For each key, the eight bytes after the common ones.
    prefixes: Vec<u64>,
    /// The upper levels of the tree: the last of every [`FAN_OUT`] prefixes, then the last of
    /// every [`FAN_OUT`] of these, and so on, until a level has no more than [`FAN_OUT`].
    above: Vec<Vec<u64>>,
    /// The offset of each key's data block, and the end of the last block. Empty unless each
    /// entry is a restart point and each block directly follows the one before it.
    starts: Vec<u64>,
}

/// How many numbers one step compares: two cache lines.
const FAN_OUT: usize = 16;

impl IndexPrefixArray {
    /// The array for an index block. `None` if the order is not bytewise, if the block is too
    /// small to be worth it, or if the block looks damaged: then the search without an array
    /// reports the damage.
    pub(crate) fn new(
        block: &Block,
        format: IndexFormat,
        comparator: &InternalComparator,
    ) -> Option<Self> {
        if !matches!(comparator.user, UserComparator::Bytewise) {
            return None;
        }
        let user = |k| {
            if format.user_keys { k } else { user_key(k) }
        };
        let keys: Option<Vec<&[u8]>> = block
            .restart_keys(format.layout)
            .map(|k| k.map(user))
            .collect();
        let keys = keys.filter(|k| k.len() >= 4 && k.is_sorted())?;
        let (first, last) = (keys.first()?, keys.last()?);
        // All keys share what the first and the last share.
        let shared = first.iter().zip(*last).take_while(|(a, b)| a == b).count();
        let prefixes: Vec<u64> = keys.iter().map(|k| prefix_of(&k[shared..])).collect();
        let mut above: Vec<Vec<u64>> = Vec::new();
        loop {
            let below = above.last().unwrap_or(&prefixes);
            if below.len() <= FAN_OUT {
                break;
            }
            let lasts = below.chunks(FAN_OUT).filter_map(|c| c.last()).copied();
            above.push(lasts.collect());
        }
        Some(IndexPrefixArray {
            common: first[..shared].to_vec(),
            prefixes,
            above,
            starts: starts(block, format).unwrap_or_default(),
        })
    }

    /// The restart points whose keys have to be compared with `target`. Keys before them are
    /// less than `target`, keys after them are not. `block` is the block of this array. `expect` is
    /// told early among which restart points the first candidate will be.
    #[inline]
    pub(crate) fn candidates(
        &self,
        block: &Block,
        target: &[u8],
        expect: impl Fn(Range<usize>),
    ) -> Range<usize> {
        let Some(wanted) = self.prefix(target) else {
            let at = match target < &self.common[..] {
                true => 0,
                false => self.prefixes.len(),
            };
            return at..at;
        };
        let start = self.lower_bound(block, wanted, &expect);
        let end = match self.prefixes.get(start) {
            Some(&c) if c == wanted => match wanted.checked_add(1) {
                Some(above) => self.lower_bound(block, above, &expect),
                None => self.prefixes.len(),
            },
            _ => start,
        };
        start..end
    }

    /// The data block of a restart point, if the array has its offset.
    #[inline]
    pub(crate) fn handle(&self, restart: usize) -> Option<BlockHandle> {
        let &[offset, next, ..] = self.starts.get(restart..)? else {
            return None;
        };
        Some(BlockHandle {
            offset,
            size: next - offset - TRAILER_LEN as u64,
        })
    }

    /// The eight bytes that a user key is compared by. `None` if it does not begin with what all
    /// keys of the index do.
    #[inline]
    pub(crate) fn prefix(&self, user_key: &[u8]) -> Option<u64> {
        // A comparison of no bytes would read an address that is none, which takes the processor
        // some 40 ns.
        match self.common.is_empty() {
            true => Some(prefix_of(user_key)),
            false => user_key.strip_prefix(&self.common[..]).map(prefix_of),
        }
    }

    /// How many bytes all keys begin with, which are not part of the eight.
    #[inline]
    pub(crate) fn common_len(&self) -> usize {
        self.common.len()
    }

    /// The number of the data block at `offset`, which is its restart point, if the array numbers
    /// the blocks.
    pub(crate) fn number_of(&self, offset: u64) -> Option<usize> {
        let number = self.starts.partition_point(|&start| start < offset);
        let blocks = self.num_blocks()?;
        (number < blocks && self.starts[number] == offset).then_some(number)
    }

    /// How many data blocks there are, if the array numbers them.
    pub(crate) fn num_blocks(&self) -> Option<usize> {
        self.starts.len().checked_sub(1)
    }

    /// Orders the key at a restart point against `target`, if their prefixes differ.
    #[inline]
    pub(crate) fn order(&self, restart: usize, target: &[u8]) -> Option<Ordering> {
        let order = self.prefixes.get(restart)?.cmp(&self.prefix(target)?);
        order.is_ne().then_some(order)
    }

    /// How many prefixes are less than `wanted`.
    #[inline]
    fn lower_bound(&self, block: &Block, wanted: u64, expect: &impl Fn(Range<usize>)) -> usize {
        // Each smaller number in the level above stands for a group of which all are smaller.
        let descend = |groups: usize, level: &Vec<u64>| {
            let start = (groups * FAN_OUT).min(level.len());
            start + count_less(&level[start..], wanted)
        };
        let groups = self.above.iter().rev().fold(0, descend);
        // The offsets, or the restart points, that the caller reads next.
        let group = groups * FAN_OUT..(groups + 1) * FAN_OUT;
        expect(group.clone());
        match self.starts.get(group.clone()) {
            Some(starts) => starts
                .chunks(8)
                .for_each(|line| prefetch::for_reading(line.as_ptr())),
            None => block.expect_restarts(group),
        }
        descend(groups, &self.prefixes)
    }

    /// Bytes of memory held.
    pub(crate) fn memory_usage(&self) -> usize {
        let above = self.above.iter().map(Vec::capacity).sum::<usize>();
        let numbers = self.prefixes.capacity() + above + self.starts.capacity();
        self.common.capacity()
            + numbers * size_of::<u64>()
            + self.above.capacity() * size_of::<Vec<u64>>()
    }
}

/// [`IndexPrefixArray::starts`], if the block allows them.
fn starts(block: &Block, format: IndexFormat) -> Option<Vec<u64>> {
    if format.partitioned {
        return None;
    }
    let mut cursor = format.cursor(Vec::new());
    let mut starts = Vec::with_capacity(block.num_restarts() + 1);
    let mut end = None;
    cursor.seek_to_first(block);
    while cursor.valid() {
        let handle = cursor.handle();
        let has_gap = end.is_some_and(|end| end != handle.offset);
        if has_gap || !cursor.is_at_restart(block, starts.len()) {
            return None;
        }
        starts.push(handle.offset);
        end = Some(handle.end()?);
        cursor.next(block);
    }
    starts.push(end?);
    let all = cursor.status().is_ok() && starts.len() == block.num_restarts() + 1;
    all.then_some(starts)
}

/// How many of the first [`FAN_OUT`] of `numbers` are less than `wanted`. All of them are
/// compared, so that nothing waits for a branch.
#[inline]
fn count_less(numbers: &[u64], wanted: u64) -> usize {
    let less = |n: &[u64]| n.iter().map(|&c| usize::from(c < wanted)).sum();
    match numbers.first_chunk::<FAN_OUT>() {
        Some(group) => less(group),
        None => less(numbers),
    }
}

/// The first eight bytes of `key` as a number; missing bytes count as zeros.
#[inline]
fn prefix_of(key: &[u8]) -> u64 {
    u64::from_be_bytes(first_bytes(key))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sst::format::block::EntryLayout;
    use crate::sst::format::block_builder::BlockBuilder;
    use bytes::Bytes;
    use proptest::prelude::*;
    use std::collections::BTreeSet;

    const FORMAT: IndexFormat = IndexFormat {
        layout: EntryLayout::Handles,
        user_keys: true,
        partitioned: false,
    };

    fn block(keys: &BTreeSet<Vec<u8>>) -> Block {
        let mut b = BlockBuilder::new(1);
        for k in keys {
            b.add(k, &[0, 0]);
        }
        Block::new(Bytes::copy_from_slice(b.finish())).expect("valid")
    }

    fn array_of(block: &Block) -> Option<IndexPrefixArray> {
        IndexPrefixArray::new(block, FORMAT, &InternalComparator::default())
    }

    proptest! {
        #[test]
        fn candidates_bound_the_target(
            prefix in proptest::collection::vec(any::<u8>(), 0..3),
            suffixes in proptest::collection::btree_set(
                proptest::collection::vec(0u8..3, 0..12), 4..400),
            targets in proptest::collection::vec(
                proptest::collection::vec(0u8..4, 0..14), 0..30),
        ) {
            let with = |s: &Vec<u8>| [&prefix[..], s].concat();
            let keys: BTreeSet<Vec<u8>> = suffixes.iter().map(with).collect();
            let block = block(&keys);
            let array = array_of(&block).expect("large enough");
            let keys: Vec<Vec<u8>> = keys.into_iter().collect();
            for t in targets.iter().map(with).chain(targets.clone()).chain(keys.clone()) {
                let at = array.candidates(&block, &t, |_| ());
                prop_assert!(keys[..at.start].iter().all(|k| *k < t));
                prop_assert!(keys[at.end..].iter().all(|k| *k >= t));
                for (i, key) in keys.iter().enumerate() {
                    let order = array.order(i, &t);
                    prop_assert!(order.is_none_or(|order| order == key.cmp(&t)));
                }
            }
        }
    }

    /// An index over blocks at these offsets, of these sizes.
    fn index_of(blocks: &[(u64, u64)], interval: usize) -> Block {
        let mut b = BlockBuilder::new(interval);
        for (i, &(offset, size)) in blocks.iter().enumerate() {
            let mut value = Vec::new();
            BlockHandle { offset, size }.encode(&mut value);
            b.add(format!("key{i:03}").as_bytes(), &value);
        }
        Block::new(Bytes::copy_from_slice(b.finish())).expect("valid")
    }

    #[test]
    fn blocks_that_follow_each_other_are_known() {
        let blocks: Vec<(u64, u64)> = (0..40).map(|i| (7 + i * 105, 100)).collect();
        let index = array_of(&index_of(&blocks, 1)).expect("large enough");
        for (i, &(offset, size)) in blocks.iter().enumerate() {
            assert_eq!(index.handle(i), Some(BlockHandle { offset, size }));
        }
        assert_eq!(index.handle(40), None, "behind the last");
    }

    #[test]
    fn blocks_are_not_known_with_gaps_or_without_restart_points() {
        let mut blocks: Vec<(u64, u64)> = (0..40).map(|i| (i * 105, 100)).collect();
        let shared = array_of(&index_of(&blocks, 2)).expect("large enough");
        assert_eq!(shared.handle(3), None);
        blocks[20].0 += 1;
        let aligned = array_of(&index_of(&blocks, 1)).expect("large enough");
        assert_eq!(aligned.handle(3), None);
        // A size past all files.
        blocks[20] = (20 * 105, u64::MAX);
        let damaged = array_of(&index_of(&blocks, 1)).expect("large enough");
        assert_eq!(damaged.handle(3), None);
    }

    #[test]
    fn small_blocks_have_no_array() {
        let keys = [b"a".to_vec(), b"b".to_vec()].into_iter().collect();
        assert!(array_of(&block(&keys)).is_none());
    }
}
