//! Named points of a write's way, where tests can stop it.
//!
//! With the cargo feature `failpoints`, which this crate's own tests turn on, a
//! database calls the hook of its options ([`SyncPointHook`]) at each [`Point`]. The
//! hook may block, yield or panic; it holds up whoever reached the point, with
//! whatever that one has at the time. Without the feature there is no hook,
//! and reaching a point is no code at all.

use whitewater_storage::key::SequenceNumber;

/// A point that a write, or the switch of a generation, has reached. The number
/// that comes with it is a sequence number: the write's first one where nothing else
/// is said.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
#[non_exhaustive]
pub enum Point {
    /// It has its numbers and its place in the log, and nothing else. By the
    /// leader of a group, for all of it.
    Reserved,
    /// Its record is in the log. Not reached by writes without one.
    Appended,
    /// Its entries are in the memtables. By each writer of a group.
    Inserted,
    /// About to make a log durable. The number is that of the writes before.
    Syncing,
    /// It counts as finished, and may be visible. The number is its last one,
    /// as for the next two.
    Published,
    /// One before it is not finished, so it will wait, at last asleep. One that
    /// waits before it inserts gives the last number of those before it.
    Waiting,
    /// It is visible. Its caller has not been told.
    Visible,
    /// A switch is prepared, and about to close the current generation. The
    /// number is the last one before that.
    Closing,
    /// The current generation was closed, with the number as the last that it
    /// has handed out, and there is no other yet.
    Closed,
    /// The generation that continues after the number is there.
    Switched,
    /// A flush is about to write memtables that hold nothing beyond the number.
    Flushing,
}

#[cfg(feature = "failpoints")]
type Call = std::sync::Arc<dyn Fn(Point, SequenceNumber) + Send + Sync>;

/// What a database calls at its points.
#[derive(Clone, Default)]
pub(crate) struct SyncPointHook {
    #[cfg(feature = "failpoints")]
    call: Option<Call>,
}

impl SyncPointHook {
    /// Calls `call` at each point.
    #[cfg(feature = "failpoints")]
    pub fn new(call: Call) -> Self {
        SyncPointHook { call: Some(call) }
    }

    /// Says that `point` was hit.
    #[cfg(feature = "failpoints")]
    pub fn hit(&self, point: Point, number: SequenceNumber) {
        if let Some(call) = &self.call {
            call(point, number);
        }
    }

    /// Says nothing to nobody.
    #[cfg(not(feature = "failpoints"))]
    #[inline(always)]
    pub fn hit(&self, _: Point, _: SequenceNumber) {}
}
