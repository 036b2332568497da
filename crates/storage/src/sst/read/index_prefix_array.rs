//! A faster search in an index block: the first eight bytes of every key in one array.
//!
//! A binary search over the entries of a block touches two places in memory per step, and waits
//! for both. Here a search descends a tree of arrays instead. Each step compares the target with
//! [`FAN_OUT`] numbers that lie side by side, and only the numbers of the last two steps are
//! likely to miss the cache. Only keys that agree with the target in all eight bytes are compared
//! as a whole.
//!
//! Beside the prefixes stand the places of the data blocks, so that a search, and a walk from the
//! block that it has found, often need not read the index block at all. A block's number is its
//! restart point in the index: how many blocks are before it. The array takes about seventeen bytes
//! per data block. There is one for bytewise order only.

use crate::coding::first_bytes;
use crate::key::{InternalComparator, UserComparator, user_key};
use crate::sst::format::block::Block;
use crate::sst::format::handle::BlockHandle;
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
    /// Where each key's data block is. Empty unless each entry is a restart point.
    blocks: Vec<Place>,
}

/// The place of a data block in the file, in a number: its offset, and its size in the lowest
/// [`SIZE_BITS`].
#[derive(Debug, Clone, Copy)]
struct Place(u64);

/// Blocks are less than 64 MiB, and begin in the first 256 GiB of the file. Tables with other ones
/// have no places.
const SIZE_BITS: u32 = 26;

impl Place {
    fn new(handle: BlockHandle) -> Option<Self> {
        let fits = handle.size >> SIZE_BITS == 0 && handle.offset.leading_zeros() >= SIZE_BITS;
        fits.then_some(Place(handle.offset << SIZE_BITS | handle.size))
    }

    #[inline]
    fn offset(self) -> u64 {
        self.0 >> SIZE_BITS
    }

    #[inline]
    fn handle(self) -> BlockHandle {
        BlockHandle {
            offset: self.offset(),
            size: self.0 & ((1 << SIZE_BITS) - 1),
        }
    }
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
            blocks: places(block, format).unwrap_or_default(),
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

    /// The data block of a restart point, if the array has its place.
    #[inline]
    pub(crate) fn handle(&self, restart: usize) -> Option<BlockHandle> {
        self.blocks.get(restart).map(|place| place.handle())
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
        let number = self.blocks.partition_point(|place| place.offset() < offset);
        let found = self.blocks.get(number)?;
        (found.offset() == offset).then_some(number)
    }

    /// How many data blocks there are, if the array numbers them.
    pub(crate) fn num_blocks(&self) -> Option<usize> {
        (!self.blocks.is_empty()).then_some(self.blocks.len())
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
        // The places, or the restart points, that the caller reads next.
        let group = groups * FAN_OUT..(groups + 1) * FAN_OUT;
        expect(group.clone());
        match self.blocks.get(group.clone()) {
            Some(places) => places
                .chunks(8)
                .for_each(|line| prefetch::for_reading(line.as_ptr())),
            None => block.expect_restarts(group),
        }
        descend(groups, &self.prefixes)
    }

    /// Bytes of memory held.
    pub(crate) fn memory_usage(&self) -> usize {
        let above = self.above.iter().map(Vec::capacity).sum::<usize>();
        let numbers = self.prefixes.capacity() + above + self.blocks.capacity();
        self.common.capacity()
            + numbers * size_of::<u64>()
            + self.above.capacity() * size_of::<Vec<u64>>()
    }
}

/// [`IndexPrefixArray::blocks`], if the block allows them.
fn places(block: &Block, format: IndexFormat) -> Option<Vec<Place>> {
    if format.partitioned {
        return None;
    }
    let mut cursor = format.cursor(Vec::new());
    let mut places = Vec::with_capacity(block.num_restarts());
    let mut end = 0;
    cursor.seek_to_first(block);
    while cursor.valid() {
        let handle = cursor.handle();
        if handle.offset < end || !cursor.is_at_restart(block, places.len()) {
            return None;
        }
        places.push(Place::new(handle)?);
        end = handle.end()?;
        cursor.next(block);
    }
    let all = cursor.status().is_ok() && places.len() == block.num_restarts();
    all.then_some(places)
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
    fn blocks_are_known_with_and_without_padding_between_them() {
        let place = |i: u64| (7 + i * 105 + i / 7 * 20, 100);
        let blocks: Vec<(u64, u64)> = (0..40).map(place).collect();
        let index = array_of(&index_of(&blocks, 1)).expect("large enough");
        for (i, &(offset, size)) in blocks.iter().enumerate() {
            assert_eq!(index.handle(i), Some(BlockHandle { offset, size }));
            assert_eq!(index.number_of(offset), Some(i));
            assert_eq!(index.number_of(offset + 1), None);
        }
        assert_eq!(index.num_blocks(), Some(40));
        assert_eq!(index.handle(40), None, "behind the last");
    }

    #[test]
    fn blocks_are_not_known_without_restart_points_or_if_they_overlap_or_are_too_large() {
        let mut blocks: Vec<(u64, u64)> = (0..40).map(|i| (i * 105, 100)).collect();
        let shared = array_of(&index_of(&blocks, 2)).expect("large enough");
        assert_eq!(shared.handle(3), None);
        for (nth, place) in [
            (20, (20 * 105 - 1, 100)),
            (20, (20 * 105, u64::MAX)),
            (39, (39 * 105, 1 << SIZE_BITS)),
            (39, (1 << (64 - SIZE_BITS), 100)),
        ] {
            let before = std::mem::replace(&mut blocks[nth], place);
            let damaged = array_of(&index_of(&blocks, 1)).expect("large enough");
            assert_eq!(damaged.handle(3), None, "{place:?}");
            blocks[nth] = before;
        }
        blocks[39] = ((1 << (64 - SIZE_BITS)) - 1, (1 << SIZE_BITS) - 1);
        let far = array_of(&index_of(&blocks, 1)).expect("large enough");
        let (offset, size) = blocks[39];
        assert_eq!(far.handle(39), Some(BlockHandle { offset, size }));
    }

    #[test]
    fn small_blocks_have_no_array() {
        let keys = [b"a".to_vec(), b"b".to_vec()].into_iter().collect();
        assert!(array_of(&block(&keys)).is_none());
    }
}
