//! Work that becomes due by itself: by time, and by the end of what older versions are kept for.
//!
//! There is no timer. Compaction threads check whenever they look for work, and sleep no
//! longer than until the next file will be too old. The release of a snapshot that keeps
//! something wakes them, and so does the decision on a write that does (X4 of `snapshots`). Reads
//! wake them, too (`db::read_triggered`).

use super::Engine;
use super::state::DbState;
use crate::thread_pools::Priority;
use std::sync::Arc;
use std::time::{Duration, Instant};
use whitewater_concurrent::system;
use whitewater_concurrent::undecided::Undecided;

/// The longest sleep of a compaction thread that waits for a file's age: the database's
/// clock may differ from the one that the thread sleeps by.
const LONGEST_SLEEP: Duration = Duration::from_secs(12 * 60 * 60);

impl Engine {
    /// Finds out what has become due; returns when to look again, if something will become
    /// due.
    pub(crate) fn look_for_due(&self, state: &mut DbState) -> Option<Instant> {
        let now = self.options.clock.now();
        let oldest = self.snapshots.take_released().then(|| {
            // Read first, so that no snapshot and no undecided write that is missed is older.
            let latest = self.latest_sequence_number();
            let oldest = self.live().oldest();
            oldest.map_or(latest, |oldest| oldest.min(latest))
        });
        let reads_ask = self.background.is_asked_by_reads();
        let mut next: Option<u64> = None;
        for cf in state.cfs.values_mut() {
            let aged = cf.levels.marks.next_due.is_some_and(|due| due <= now);
            if let Some(oldest) = oldest {
                cf.moment.oldest_snapshot = oldest;
                cf.moment.files_below = self.files.versions.next_file_number();
            }
            if aged || reads_ask || oldest.is_some() {
                cf.moment.now = now;
                cf.score_levels();
            }
            if cf.options().disable_auto_compactions {
                continue;
            }
            if let Some(due) = cf.levels.marks.next_due {
                next = Some(next.map_or(due, |next| next.min(due)));
            }
        }
        self.watch_snapshots(state);
        next.map(|due| {
            let sleep = Duration::from_secs(due.saturating_sub(now).max(1));
            system::now() + sleep.min(LONGEST_SLEEP)
        })
    }

    /// Tells the list of snapshots which releases matter.
    pub(crate) fn watch_snapshots(&self, state: &DbState) {
        let automatic = state
            .cfs
            .values()
            .filter(|cf| !cf.options().disable_auto_compactions);
        let kept = automatic.map(|cf| cf.levels.marks.kept_by_snapshots);
        self.snapshots.watch(kept.max().unwrap_or(0));
    }

    /// Lets the release of snapshots and decisions on writes wake compaction threads, and that of
    /// files a flush thread.
    pub(crate) fn wake_on_release(self: &Arc<Self>) {
        let engine = Arc::downgrade(self);
        self.files.obsolete.on_release(move || {
            if let Some(engine) = engine.upgrade() {
                engine.background.work.wake(Priority::High);
            }
        });
        let engine = Arc::downgrade(self);
        self.snapshots.on_release(move || {
            if let Some(engine) = engine.upgrade() {
                engine.background.work.notify_all();
            }
        });
        let Some(undecided) = self.commit.undecided.as_deref() else {
            return;
        };
        let engine = Arc::downgrade(self);
        self.snapshots.on_undecided(move |number| {
            let engine = engine.upgrade();
            let undecided = engine.as_ref().and_then(|e| e.commit.undecided.as_deref());
            let ranges = undecided.and_then(Undecided::now);
            ranges.is_some_and(|ranges| ranges.contains(number))
        });
        let snapshots = self.snapshots.clone();
        undecided.on_decide(move |first| snapshots.note_decided(first));
    }
}
