//! The purpose for which a thread reads tables.

use super::Histogram;
use std::cell::Cell;

/// The purpose for which a thread reads tables.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Activity {
    Get,
    MultiGet,
    Iterator,
    Compaction,
    Open,
}

thread_local! {
    static ACTIVITY: Cell<Option<Activity>> = const { Cell::new(None) };
}

/// Ends an activity when it is dropped.
#[derive(Debug)]
#[must_use = "the activity ends when it is dropped"]
pub(crate) struct During(Option<Activity>);

impl Activity {
    /// Begins the activity: until the result is dropped, the calling thread's reads of tables count
    /// as its reads.
    pub fn begin(self) -> During {
        During(ACTIVITY.replace(Some(self)))
    }

    /// The activity of the calling thread, if it has begun one.
    pub fn current() -> Option<Self> {
        ACTIVITY.get()
    }

    /// The histogram for the times of these reads.
    pub fn histogram(self) -> Histogram {
        match self {
            Activity::Get => Histogram::FileReadGetMicros,
            Activity::MultiGet => Histogram::FileReadMultigetMicros,
            Activity::Iterator => Histogram::FileReadDbIteratorMicros,
            Activity::Compaction => Histogram::FileReadCompactionMicros,
            Activity::Open => Histogram::FileReadDbOpenMicros,
        }
    }
}

impl Drop for During {
    fn drop(&mut self) {
        ACTIVITY.set(self.0);
    }
}
