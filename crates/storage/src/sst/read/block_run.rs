//! Entries of one data block that come next whatever else an iterator merges, so that it can take
//! them one after another without asking all that lies between it and the block.

use crate::internal_iterator::Moved;
use crate::planted;
use crate::sst::format::block::{Cursor, LINE};
use crate::sst::format::handle::BlockHandle;
use crate::sst::read::directory::KeptBlock;

/// How many bytes of entries ahead of a walk forward are prefetched: each entry says where the next
/// one is, so the processor does not go ahead by itself.
pub(crate) const AHEAD: usize = 8 * LINE;

/// A position in a data block, which an iterator has
/// [lent](crate::internal_iterator::InternalIterator::lend). It stands on an entry, unless the last
/// movement found damage.
#[derive(Debug)]
pub struct BlockRun {
    pub(crate) handle: BlockHandle,
    pub(crate) block: KeptBlock,
    pub(crate) cursor: Cursor,
    /// Whether user keys are in bytewise order.
    pub(crate) bytewise: bool,
}

impl BlockRun {
    /// Moves to the next entry of the block. If there is none, it stays on the last one. A run also
    /// ends where its block is damaged; the iterator reports the damage once it has the block back.
    #[inline(always)]
    pub fn advance(&mut self) -> Moved {
        let start = self.cursor.end();
        if !self.cursor.next_within(&self.block) {
            return Moved::Ended;
        }
        let end = self.cursor.end();
        // Of a large entry, no more than lies ahead.
        (self.block).expect_entries(end.max(start + AHEAD)..end + AHEAD);
        planted!(VersionTakenForNextKey => return Moved::NextKey);
        if self.bytewise && self.cursor.is_known_greater() {
            return Moved::NextKey;
        }
        Moved::Entry
    }

    /// The internal key.
    #[inline(always)]
    pub fn key(&self) -> &[u8] {
        self.cursor.key(&self.block)
    }

    /// The value.
    #[inline(always)]
    pub fn value(&self) -> &[u8] {
        self.cursor.value(&self.block)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::coding::common_prefix;
    use crate::key::{TAG_SIZE, ValueType, internal_key, user_key};
    use crate::sst::format::block::Block;
    use crate::sst::format::block::EntryLayout;
    use crate::sst::format::block::tests::{build, small_map, values};
    use crate::sst::format::block_builder::BlockBuilder;
    use bytes::Bytes;
    use proptest::prelude::*;
    use std::collections::BTreeSet;

    fn run(block: &Block) -> BlockRun {
        let mut cursor = values();
        cursor.seek_to_first(block);
        BlockRun {
            handle: BlockHandle::default(),
            block: KeptBlock::Own(block.clone()),
            cursor,
            bytewise: false,
        }
    }

    /// A block of internal keys, which have sequence numbers up to 9, and the keys.
    fn internal(users: &BTreeSet<(Vec<u8>, u64)>, interval: usize) -> (Vec<Vec<u8>>, Block) {
        let mut builder = BlockBuilder::new(interval);
        let keys = users.iter().map(|(user, age)| (user, 9 - age));
        let keys = keys.map(|(user, seq)| internal_key(user, seq, ValueType::Value));
        let keys: Vec<_> = keys.collect();
        keys.iter().for_each(|key| builder.add(key, b""));
        let block = Block::new(Bytes::copy_from_slice(builder.finish())).expect("valid");
        (keys, block)
    }

    /// User keys of which many are prefixes of each other, with the ages of versions.
    fn users() -> impl Strategy<Value = BTreeSet<(Vec<u8>, u64)>> {
        let user = proptest::collection::vec(0u8..3, 0..12);
        proptest::collection::btree_set((user, 0u64..3), 1..60)
    }

    #[test]
    fn a_run_that_meets_damage_says_so_to_whom_it_goes_back() {
        let map = (0..50u8).map(|n| (vec![b'k', n], vec![n; 3])).collect();
        let whole = build(&map, 4);
        for at in 0..whole.data().len() - 4 * (whole.num_restarts() + 1) {
            let mut bytes = whole.data().to_vec();
            bytes[at] = 0xff;
            let Ok(damaged) = Block::new(bytes.into()) else {
                continue;
            };
            let mut walk = values();
            walk.seek_to_first(&damaged);
            if !walk.valid() {
                continue;
            }
            let mut run = run(&damaged);
            while walk.valid() {
                assert_eq!(run.key(), walk.key(&damaged), "byte {at}");
                assert_eq!(run.value(), walk.value(&damaged), "byte {at}");
                walk.next(&damaged);
                let moved = Moved::to_entry(walk.valid());
                assert_eq!(run.advance(), moved, "byte {at}");
            }
            assert_eq!(run.cursor.failure(), walk.failure(), "byte {at}");
            assert_eq!(run.cursor.valid(), walk.failure().is_none(), "byte {at}");
        }
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(200))]

        #[test]
        fn a_run_stays_on_the_last_entry_of_its_block(map in small_map(), interval in 1usize..20,
                                                      back in any::<bool>()) {
            let block = build(&map, interval);
            prop_assume!(!map.is_empty());
            let mut run = run(&block);
            if back && map.len() > 1 {
                // What the cursor remembers of a step back is not what comes next.
                run.cursor.seek_to_last(&block);
                run.cursor.prev(&block);
                prop_assert_eq!(run.advance(), Moved::Entry);
            }
            let passed = if back { map.len() - 1 } else { 0 };
            for (i, (k, v)) in map.iter().enumerate().skip(passed) {
                prop_assert_eq!((run.key(), run.value()), (&k[..], &v[..]));
                prop_assert_eq!(run.advance(), Moved::to_entry(i + 1 < map.len()));
            }
            let last = map.iter().next_back().map(|(k, v)| (&k[..], &v[..]));
            prop_assert!(run.cursor.failure().is_none() && run.cursor.valid());
            prop_assert_eq!(Some((run.key(), run.value())), last);
        }

        #[test]
        fn a_run_calls_a_key_the_next_one_only_if_it_is_greater(
            users in users(),
            interval in 1usize..20,
        ) {
            let (keys, block) = internal(&users, interval);
            let mut run = run(&block);
            run.bytewise = true;
            let mut known = 0;
            for (before, key) in keys.iter().zip(&keys[1..]) {
                let moved = run.advance();
                prop_assert_eq!(run.key(), &key[..]);
                match moved {
                    Moved::NextKey => prop_assert!(user_key(before) < user_key(key)),
                    moved => prop_assert_eq!(moved, Moved::Entry),
                }
                known += usize::from(moved == Moved::NextKey);
            }
            // All whose first own byte is one of the user key, but those that share nothing.
            let shares = |pair: &&[Vec<u8>]| {
                let shared = common_prefix(&pair[0], &pair[1]);
                shared > 0 && shared < user_key(&pair[1]).len()
            };
            if interval > keys.len() {
                prop_assert_eq!(known, keys.windows(2).filter(shares).count());
            }
        }

        #[test]
        fn the_next_key_is_greater_from_wherever_a_run_starts_and_in_damaged_blocks(
            users in users(),
            interval in 1usize..20,
            to in any::<prop::sample::Index>(),
            back in 0usize..20,
            damage in proptest::option::of((any::<prop::sample::Index>(), any::<u8>())),
        ) {
            let (keys, whole) = internal(&users, interval);
            let mut bytes = whole.data().to_vec();
            if let Some((at, byte)) = damage {
                let at = at.index(bytes.len());
                bytes[at] = byte;
            }
            let Ok(block) = Block::new(bytes.into()) else {
                return Ok(());
            };
            let mut cursor = Cursor::new(EntryLayout::Values, TAG_SIZE);
            cursor.seek_bytewise(&block, 0..block.num_restarts(), &keys[to.index(keys.len())]);
            for _ in 0..back {
                if cursor.valid() {
                    cursor.prev(&block);
                }
            }
            prop_assume!(cursor.valid());
            let mut run = run(&block);
            (run.cursor, run.bytewise) = (cursor, true);
            loop {
                let before = run.key().to_vec();
                match run.advance() {
                    Moved::Ended => break,
                    Moved::Entry => {}
                    Moved::NextKey => prop_assert!(user_key(&before) < user_key(run.key())),
                }
            }
        }
    }
}
