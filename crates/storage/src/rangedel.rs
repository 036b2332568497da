//! Range tombstones as plain values.

use crate::key::SequenceNumber;

/// Deletes every key in `[start, end)` written before `seq`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RangeTombstone {
    /// First user key covered.
    pub start: Vec<u8>,
    /// First user key past the range.
    pub end: Vec<u8>,
    /// Covers entries with sequence numbers strictly below this one.
    pub seq: SequenceNumber,
}
