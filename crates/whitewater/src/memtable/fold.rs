//! Limiting the successive merges of a key (`max_successive_merges`).
//!
//! A read passes through all operands of a key down to the value that they apply to. A
//! memtable with a limit stores the merge that exceeds it as the resulting value, where
//! reads then end. The log keeps the merge.
//!
//! Such a batch is inserted once everything before it is inserted
//! (`WriteFlags::reads_own_prefix`), so the result does not depend on the order in which
//! threads run. Replay of a log does not fold: its memtables are written to tables at once.

use super::Memtable;
use bytes::Bytes;
use whitewater_storage::key::{SEEK_TYPE, SequenceNumber, ValueType, pack_tag};

/// Computes the value that a merge results in.
pub(crate) trait Fold {
    /// What `user_key` is, as type and stored bytes of a value or of a wide-column entity, once
    /// `operand` is applied with the number `seq`, to be stored in `memtable`. `None` if it cannot
    /// be computed or stored; the operand is then stored as such.
    fn fold(
        &self,
        memtable: &Memtable,
        user_key: &[u8],
        operand: &[u8],
        seq: SequenceNumber,
    ) -> Option<(ValueType, Bytes)>;
}

impl Memtable {
    /// Whether the newest entries of `user_key` before `seq` are as many merges as the limit
    /// allows.
    pub(super) fn has_enough_merges(&self, user_key: &[u8], seq: SequenceNumber) -> bool {
        self.successive_merges(user_key, seq, self.max_successive_merges)
            == self.max_successive_merges
    }

    /// The number of merges that are the newest entries of `user_key` before `seq`, counted
    /// up to `most`, at least 1. As in RocksDB, range tombstones are ignored: reads pass
    /// over the entries that they hide.
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
