//! What a thread reads tables for.

use super::Histogram;
use std::cell::Cell;

/// What a thread reads tables for.
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
    /// What the calling thread reads until the result is dropped, it reads for
    /// this.
    pub fn begin(self) -> During {
        During(ACTIVITY.replace(Some(self)))
    }

    /// What the calling thread reads for, if it has said so.
    pub fn current() -> Option<Self> {
        ACTIVITY.get()
    }

    /// Where the time of such reads goes.
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
