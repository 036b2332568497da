//! The state of one point look-up, fed newest entry first.

use super::merge::MergeOperator;
use bytes::Bytes;
use whitewater_storage::Result;
use whitewater_storage::key::{ParsedKey, SequenceNumber, ValueType};

/// Collects what sources say about one user key, from the newest source to
/// the oldest, until the answer is known.
pub(crate) struct GetContext<'a> {
    _operator: Option<&'a dyn MergeOperator>,
}

impl<'a> GetContext<'a> {
    /// A look-up of `user_key`.
    pub fn new(user_key: &'a [u8], operator: Option<&'a dyn MergeOperator>) -> Self {
        let _ = user_key;
        GetContext {
            _operator: operator,
        }
    }
    /// Notes that a range tombstone at `seq` covers the key (older entries of
    /// this and later sources are deleted by it). Call before the entries of
    /// the same source.
    pub fn cover(&mut self, seq: SequenceNumber) {
        let _ = seq;
        todo!()
    }
    /// Takes the next older entry; `value` is called only if it is kept.
    /// Returns whether older entries are still wanted.
    ///
    /// # Errors
    /// `NotSupported` for entry types the engine does not read yet.
    pub fn entry(
        &mut self,
        seq: SequenceNumber,
        ty: ValueType,
        value: impl FnOnce() -> Bytes,
    ) -> Result<bool> {
        let _ = (seq, ty, value);
        todo!()
    }
    /// [`GetContext::entry`] for a parsed key and a value at hand.
    pub fn parsed(&mut self, key: ParsedKey<'_>, value: Bytes) -> Result<bool> {
        self.entry(key.seq, key.ty, || value)
    }
    /// Whether the answer is known.
    pub fn done(&self) -> bool {
        todo!()
    }
    /// The answer, with pending merge operands applied to nothing when no base
    /// was met.
    pub fn finish(self) -> Result<Option<Bytes>> {
        todo!()
    }
}
