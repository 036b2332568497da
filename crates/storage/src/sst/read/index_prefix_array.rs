//! A shortcut into an index block: eight bytes of every key in one array.
//!
//! Binary search over the entries of a block touches two places in memory per
//! step, and waits for both. Here a search goes down a tree of arrays: each step
//! compares the target with [`FAN_OUT`] numbers that lie side by side, and only
//! those of the last two are seldom in a cache. Only keys that agree with the
//! target in all eight bytes are compared whole.
//!
//! Beside the keys it has where the blocks start, so that the index need not be
//! read at all to find a block. Some seventeen bytes per data block, for bytewise
//! order only.

use crate::key::{InternalComparator, UserComparator, user_key};
use crate::sst::format::block::Block;
use crate::sst::format::handle::{BlockHandle, TRAILER_LEN};
use crate::sst::format::index_format::IndexFormat;
use std::cmp::Ordering;
use std::ops::Range;
use whitewater_concurrent::prefetch;

/// The user keys at the restart points of an index block, cut to eight bytes.
///
/// Invariant: cutting keeps the order. Where two cuts differ, so do the keys,
/// and in the same direction.
#[derive(Debug)]
pub(crate) struct IndexPrefixArray {
    /// What all the keys begin with; not part of the cuts.
    prefix: Vec<u8>,
    cuts: Vec<u64>,
    /// The last of every [`FAN_OUT`] cuts, the last of every so many of these,
    /// and so on, until they are no more than that.
    above: Vec<Vec<u64>>,
    /// Where the block of each cut starts, and where one behind the last would.
    /// Empty unless each entry is a restart point, and each block stands right
    /// behind the one before it.
    starts: Vec<u64>,
}

/// Numbers that are compared in one step: two cache lines.
const FAN_OUT: usize = 16;

impl IndexPrefixArray {
    /// The guide of an index block, or `None` when its order is not bytewise,
    /// it is too small to be worth it or something in it looks wrong: the
    /// search without a guide will tell.
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
        // The keys in between share what the outermost share.
        let shared = first.iter().zip(*last).take_while(|(a, b)| a == b).count();
        let cuts: Vec<u64> = keys.iter().map(|k| cut(&k[shared..])).collect();
        let mut above: Vec<Vec<u64>> = Vec::new();
        loop {
            let below = above.last().unwrap_or(&cuts);
            if below.len() <= FAN_OUT {
                break;
            }
            let lasts = below.chunks(FAN_OUT).filter_map(|c| c.last()).copied();
            above.push(lasts.collect());
        }
        Some(IndexPrefixArray {
            prefix: first[..shared].to_vec(),
            cuts,
            above,
            starts: starts(block, format).unwrap_or_default(),
        })
    }

    /// The restart points whose keys have to be compared with `target`: those
    /// before are less, those after are not. `block` is the one of the guide.
    #[inline]
    pub(crate) fn candidates(&self, block: &Block, target: &[u8]) -> Range<usize> {
        let (head, rest) = match target.split_at_checked(self.prefix.len()) {
            Some(parts) => parts,
            None => (target, &[][..]),
        };
        match head.cmp(&self.prefix) {
            Ordering::Less => return 0..0,
            Ordering::Greater => return self.cuts.len()..self.cuts.len(),
            Ordering::Equal => {}
        }
        let wanted = cut(rest);
        let start = self.lower_bound(block, wanted);
        let end = match self.cuts.get(start) {
            Some(&c) if c == wanted => match wanted.checked_add(1) {
                Some(above) => self.lower_bound(block, above),
                None => self.cuts.len(),
            },
            _ => start,
        };
        start..end
    }

    /// The block of a restart point, if that is the entry of one and the guide
    /// knows where it is.
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

    /// How many cuts are less than `wanted`.
    #[inline]
    fn lower_bound(&self, block: &Block, wanted: u64) -> usize {
        // As many groups of a level as numbers above it are less: all of theirs are.
        let descend = |groups: usize, level: &Vec<u64>| {
            let start = (groups * FAN_OUT).min(level.len());
            start + count_less(&level[start..], wanted)
        };
        let groups = self.above.iter().rev().fold(0, descend);
        // What comes after the search is beside what it ends in.
        let group = groups * FAN_OUT..(groups + 1) * FAN_OUT;
        match self.starts.get(group.clone()) {
            Some(starts) => starts
                .chunks(8)
                .for_each(|line| prefetch::for_reading(line.as_ptr())),
            None => block.expect_restarts(group),
        }
        descend(groups, &self.cuts)
    }

    /// Bytes of memory held.
    pub(crate) fn memory_usage(&self) -> usize {
        let above = self.above.iter().map(Vec::capacity).sum::<usize>();
        let numbers = self.cuts.capacity() + above + self.starts.capacity();
        self.prefix.capacity()
            + numbers * size_of::<u64>()
            + self.above.capacity() * size_of::<Vec<u64>>()
    }
}

/// [`IndexPrefixArray::starts`], if there are to be any.
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

/// How many of the first [`FAN_OUT`] of `numbers` are less than `wanted`: all are
/// looked at, so that nothing waits for a branch.
#[inline]
fn count_less(numbers: &[u64], wanted: u64) -> usize {
    let less = |n: &[u64]| n.iter().map(|&c| usize::from(c < wanted)).sum();
    match numbers.first_chunk::<FAN_OUT>() {
        Some(group) => less(group),
        None => less(numbers),
    }
}

/// The first eight bytes, missing ones as zeros, as a number.
#[inline]
fn cut(key: &[u8]) -> u64 {
    match key.first_chunk::<8>() {
        Some(head) => u64::from_be_bytes(*head),
        None => {
            let mut head = [0; 8];
            head[..key.len()].copy_from_slice(key);
            u64::from_be_bytes(head)
        }
    }
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

    fn guide(block: &Block) -> Option<IndexPrefixArray> {
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
            let guide = guide(&block).expect("large enough");
            let keys: Vec<Vec<u8>> = keys.into_iter().collect();
            for t in targets.iter().map(with).chain(targets.clone()).chain(keys.clone()) {
                let at = guide.candidates(&block, &t);
                prop_assert!(keys[..at.start].iter().all(|k| *k < t));
                prop_assert!(keys[at.end..].iter().all(|k| *k >= t));
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
        let index = guide(&index_of(&blocks, 1)).expect("large enough");
        for (i, &(offset, size)) in blocks.iter().enumerate() {
            assert_eq!(index.handle(i), Some(BlockHandle { offset, size }));
        }
        assert_eq!(index.handle(40), None, "behind the last");
    }

    #[test]
    fn blocks_are_not_known_with_gaps_or_without_restart_points() {
        let mut blocks: Vec<(u64, u64)> = (0..40).map(|i| (i * 105, 100)).collect();
        let shared = guide(&index_of(&blocks, 2)).expect("large enough");
        assert_eq!(shared.handle(3), None);
        blocks[20].0 += 1;
        let aligned = guide(&index_of(&blocks, 1)).expect("large enough");
        assert_eq!(aligned.handle(3), None);
        // A size past all files.
        blocks[20] = (20 * 105, u64::MAX);
        let damaged = guide(&index_of(&blocks, 1)).expect("large enough");
        assert_eq!(damaged.handle(3), None);
    }

    #[test]
    fn small_blocks_have_no_guide() {
        let keys = [b"a".to_vec(), b"b".to_vec()].into_iter().collect();
        assert!(guide(&block(&keys)).is_none());
    }
}
