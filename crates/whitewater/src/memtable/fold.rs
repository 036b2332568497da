//! Limiting the merges of a key that lie on each other
//! (`max_successive_merges`).
//!
//! A read goes down through all operands of a key to the value they apply to.
//! Where a memtable limits them, the merge that is one too many is stored as
//! the value it comes to; reads end there. The log keeps the merge.
//!
//! Whoever inserts such a batch has waited until everything before it is
//! inserted (`WriteFlags::reads_own_prefix`), so what is counted and read does not
//! depend on who runs when. Replay of a log does not fold: what it makes is
//! written to tables at once.

use super::Memtable;
use bytes::Bytes;
use whitewater_storage::key::{SEEK_TYPE, SequenceNumber, ValueType, pack_tag};

/// Finds out what a merge comes to.
pub(crate) trait Fold {
    /// The value of `user_key` once `operand` is applied with the number `seq`,
    /// to be stored in `memtable`; `None` if that cannot be told, or not be
    /// stored: the operand is then stored as such.
    fn fold(
        &self,
        memtable: &Memtable,
        user_key: &[u8],
        operand: &[u8],
        seq: SequenceNumber,
    ) -> Option<Bytes>;
}

impl Memtable {
    /// Whether as many merges as may lie on each other are the newest entries
    /// of `user_key` before `seq`.
    pub(super) fn has_enough_merges(&self, user_key: &[u8], seq: SequenceNumber) -> bool {
        self.successive_merges(user_key, seq, self.max_successive_merges)
            == self.max_successive_merges
    }

    /// Merges that are the newest entries of `user_key` before `seq`, counted
    /// up to `most`, at least 1. Range tombstones are not looked at, as in
    /// RocksDB: what they hide is still walked over.
    pub(crate) fn successive_merges(
        &self,
        user_key: &[u8],
        seq: SequenceNumber,
        most: usize,
    ) -> usize {
        let mut merges = 0;
        let newest = pack_tag(seq - 1, SEEK_TYPE);
        self.rep.get(user_key, newest, &mut |tag, _| {
            if tag as u8 != ValueType::Merge as u8 {
                return false;
            }
            merges += 1;
            merges < most
        });
        merges
    }
}
