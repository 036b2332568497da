//! Who learns what the database does: listeners, statistics, and users who ask how far
//! something has come.
//!
//! Nothing here decides what the database does next, and only the end of events waits. The
//! locks are leaves.

use super::failure::Source;
use super::internal_stats::db_text::DbStats;
use super::scrub::ScrubProgress;
use super::stats_dump::Dumped;
use crate::column_family::ColumnFamilyData;
use crate::event_queue::EventQueue;
use crate::listener::event::Happened;
use crate::listener::{
    BackgroundErrorInfo, BackgroundErrorReason, BackgroundErrorRecoveryInfo, ColumnFamilyInfo,
    MemTableInfo,
};
use crate::memtable::Memtable;
use std::sync::OnceLock;
use whitewater_concurrent::system::Mutex;
use whitewater_storage::Error;

/// See the [module](self).
pub(crate) struct Observers {
    /// The figures of writes that RocksDB's texts show.
    pub(super) stats: DbStats,
    /// When statistics were last written and published.
    pub(super) dumped: Mutex<Dumped>,
    /// How far scrubbing has come.
    pub(super) scrubbed: Mutex<ScrubProgress>,
    /// The queue of events. Set at the end of opening.
    events: OnceLock<EventQueue>,
}

impl Observers {
    /// Observers of a database whose writes are counted by `stats`. Listeners hear nothing
    /// yet.
    pub fn new(stats: DbStats) -> Self {
        Observers {
            stats,
            dumped: Mutex::default(),
            scrubbed: Mutex::default(),
            events: OnceLock::new(),
        }
    }

    /// Tells listeners of what is noted from now on. If there is a queue already, it stays.
    pub fn listen(&self, queue: EventQueue) {
        let _ = self.events.set(queue);
    }

    /// The queue of events, for a job that notes events of its own.
    pub fn events(&self) -> Option<&EventQueue> {
        self.events.get()
    }

    /// Ends the telling of events. Waits until listeners were told all of them.
    pub fn end_events(&self) {
        if let Some(events) = self.events.get() {
            events.end();
        }
    }

    /// Notes what `event` describes, if there is a listener.
    #[inline]
    pub fn note(&self, event: impl FnOnce() -> Happened) {
        if let Some(events) = self.events.get() {
            events.note(event);
        }
    }

    /// Notes that `memtable` takes no more writes.
    pub fn note_sealed(&self, cf: &ColumnFamilyData, memtable: &Memtable) {
        self.note(|| {
            Happened::MemtableSealed(MemTableInfo {
                cf_name: cf.name.clone(),
                id: memtable.id,
                num_entries: memtable.num_entries(),
                num_deletes: memtable.num_deletes(),
                first_seqno: memtable.first_number().unwrap_or(0),
                earliest_seqno: memtable.begins_after(),
            })
        });
    }

    /// Notes that `cf` was dropped.
    pub fn note_dropped(&self, cf: &ColumnFamilyData) {
        self.note(|| {
            Happened::HandleDeletionStarted(ColumnFamilyInfo {
                cf_id: cf.id,
                cf_name: cf.name.clone(),
            })
        });
    }

    /// Notes the failure that was reported for `source`.
    /// Listeners were `asked` about it, or not.
    pub fn note_failure(&self, source: Source, error: &Error, asked: bool) {
        self.note(|| {
            Happened::BackgroundError(BackgroundErrorInfo {
                reason: source.into(),
                error: error.clone(),
                asked,
            })
        });
    }

    /// Notes that a recovery begins.
    pub fn note_recovery(&self, old: Option<Error>, auto_recovery: bool) {
        self.note(|| {
            Happened::RecoveryBegin(BackgroundErrorRecoveryInfo {
                old_bg_error: old,
                new_bg_error: None,
                auto_recovery,
            })
        });
    }

    /// Notes that a recovery has ended.
    pub fn note_recovered(&self, old: Option<Error>, new: Option<Error>, auto_recovery: bool) {
        self.note(|| {
            Happened::RecoveryEnd(BackgroundErrorRecoveryInfo {
                old_bg_error: old,
                new_bg_error: new,
                auto_recovery,
            })
        });
    }
}

impl From<Source> for BackgroundErrorReason {
    fn from(source: Source) -> Self {
        match source {
            Source::Flush => BackgroundErrorReason::Flush,
            Source::Compaction => BackgroundErrorReason::Compaction,
            Source::Manifest => BackgroundErrorReason::ManifestWrite,
            Source::Log | Source::Write => BackgroundErrorReason::WriteCallback,
        }
    }
}
