//! Range tombstones.

use crate::key::SequenceNumber;

/// A range tombstone: deletes every key in `[start, end)` written before `seq`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RangeTombstone {
    /// The first user key of the range.
    pub start: Vec<u8>,
    /// The first user key after the range.
    pub end: Vec<u8>,
    /// Entries with smaller sequence numbers are deleted.
    pub seq: SequenceNumber,
}
