//! Named points of a write, where tests can stop it.
//!
//! With the cargo feature `failpoints`, which this crate's own tests turn on, a database
//! calls the hook of its options ([`SyncPointHook`]) at each [`Point`]. The hook may
//! block, yield or panic; it holds up the calling thread with everything that the thread
//! holds at that time. Without the feature there is no hook, and a point is no code at
//! all.

use whitewater_storage::key::SequenceNumber;

/// A point that a write, or the switch of a generation, has reached. The number that
/// comes with it is the write's first sequence number, unless the point says otherwise.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
#[non_exhaustive]
pub enum Point {
    /// The write has its sequence numbers and its place in the log. Hit by the leader of
    /// a group, for all of it.
    Reserved,
    /// The record of the write is in the log. Not hit by writes that are not logged.
    Appended,
    /// The entries of the write are in the memtables. Hit by each writer of a group.
    Inserted,
    /// The log is about to be synced. The number is the last one to become durable.
    Syncing,
    /// The write is finished, and may be visible. The number is its last one, as for
    /// `Waiting` and `Visible`.
    Published,
    /// An earlier write is not finished, so the writer is going to wait, finally asleep.
    /// If it waits before its insert, the number is the last one before its own.
    Waiting,
    /// The write is visible. Its caller has not been told yet.
    Visible,
    /// A switch is prepared, and about to close the current generation. The number is the
    /// last one before that generation.
    Closing,
    /// The current generation is closed, and its successor is not installed. The number
    /// is the last one that it has handed out.
    Closed,
    /// The generation that continues after the number is installed.
    Switched,
    /// A checkpoint is about to copy the manifest. No switch can happen. The number is the visible
    /// one.
    Copying,
    /// Ingested tables are in the version that readers pin, and their numbers are about to be
    /// visible. The number is the last of these.
    Ingesting,
    /// An optimistic transaction has validated its keys, and is about to write. The number is
    /// the visible one.
    Validated,
    /// A flush knows what it has to keep, and is about to write memtables that hold nothing above
    /// the number.
    Flushing,
    /// A flush has purged memtables, and is about to replace them by what is left. Nothing in them
    /// is above the number.
    Purged,
    /// A flush knows which prepared transactions are not decided, and is about to find out
    /// which logs memtables need. The number is that of the oldest log that such a
    /// transaction needs, or 0.
    Retaining,
}

#[cfg(feature = "failpoints")]
type Call = std::sync::Arc<dyn Fn(Point, SequenceNumber) + Send + Sync>;

/// The function that a database calls at sync points.
#[derive(Clone, Default)]
pub(crate) struct SyncPointHook {
    #[cfg(feature = "failpoints")]
    call: Option<Call>,
    /// Whether the database does not resume by itself, because a test looks at it meanwhile.
    #[cfg(feature = "failpoints")]
    stays_stopped: bool,
}

impl SyncPointHook {
    /// Calls `call` at each point.
    #[cfg(feature = "failpoints")]
    pub fn set(&mut self, call: Call) {
        self.call = Some(call);
    }

    /// Keeps the database from resuming by itself.
    #[cfg(feature = "failpoints")]
    pub fn stay_stopped(&mut self) {
        self.stays_stopped = true;
    }

    /// Whether the database may resume by itself.
    #[inline(always)]
    pub fn may_resume(&self) -> bool {
        #[cfg(feature = "failpoints")]
        let may = !self.stays_stopped;
        #[cfg(not(feature = "failpoints"))]
        let may = true;
        may
    }

    /// Calls the hook, if there is one, for a write or a switch that has reached `point`.
    #[cfg(feature = "failpoints")]
    pub fn hit(&self, point: Point, number: SequenceNumber) {
        if let Some(call) = &self.call {
            call(point, number);
        }
    }

    /// Does nothing without the `failpoints` feature.
    #[cfg(not(feature = "failpoints"))]
    #[inline(always)]
    pub fn hit(&self, _: Point, _: SequenceNumber) {}
}
