//! Writing statistics to the info log at intervals, and publishing them.
//!
//! A thread of the environment does this when a dump is due; it has no other timed work for
//! the database. The same thread publishes statistics to the `metrics` facade, if the
//! options ask for it. The thread that closes the database publishes them once more.

use super::Engine;
use super::internal_stats::cf_text;
use crate::thread_pools::pool::Found;
#[cfg(feature = "metrics")]
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::time::{Duration, Instant};
use whitewater_concurrent::system;

/// When statistics were last written to the info log and published, or when a thread first
/// looked whether that is due.
#[derive(Debug, Default)]
pub(crate) struct Dumped {
    dumped: Option<Instant>,
    published: Option<Instant>,
}

impl Engine {
    /// Dumps and publishes what is due. Called by a thread of the environment.
    pub(crate) fn dump_stats_when_due(self: &Arc<Self>) -> Found {
        let dump_period = {
            let state = self.state.lock();
            if state.closing {
                return Found::Nothing(None);
            }
            state.options.stats_dump_period_sec
        };
        let publish_period = self.options.metrics.period_sec();
        let now = system::now();
        let (dump, publish) = {
            let mut last = self.observers.dumped.lock();
            let dump = due(*last.dumped.get_or_insert(now), dump_period);
            let publish = due(*last.published.get_or_insert(now), publish_period);
            (dump, publish)
        };
        let next = dump.into_iter().chain(publish).min();
        if next.is_none_or(|next| next > now) {
            return Found::Nothing(next);
        }
        if dump.is_some_and(|due| due <= now) {
            self.dump_stats();
            self.observers.dumped.lock().dumped = Some(system::now());
        }
        if publish.is_some_and(|due| due <= now) {
            self.publish_unasked();
            self.observers.dumped.lock().published = Some(system::now());
        }
        Found::Job
    }

    /// Called when the database ends: publishes what was counted since the last time.
    pub(super) fn publish_the_rest(&self) {
        if self.background.work.is_started() && self.options.metrics.period_sec() > 0 {
            self.publish_unasked();
        }
    }

    /// Publishes on a thread that a panicking recorder must not end.
    fn publish_unasked(&self) {
        #[cfg(feature = "metrics")]
        if catch_unwind(AssertUnwindSafe(|| self.publish_metrics())).is_err() {
            self.info_log.error("a recorder of metrics panicked");
        }
    }

    /// Writes the statistics of the database and all column families to the info log, and
    /// begins a new interval.
    pub(crate) fn dump_stats(&self) {
        // Files that readers still held when the last job ended.
        if self.files.obsolete.have_come() {
            self.purge_obsolete_files();
        }
        let mut text = self.db_stats();
        for cf in self.column_families() {
            let part = {
                let mut state = self.lock_state();
                state.cfs.get_mut(&cf.id).map(|cf| {
                    let part = cf_text::text(cf);
                    cf_text::note_dump(cf);
                    part
                })
            };
            if let Some(part) = part {
                text.push_str(&part);
                text.push_str(&self.file_histogram(&cf));
            }
        }
        self.info_log.write("------- DUMPING STATS -------");
        self.info_log.write(&text);
        if let Some(statistics) = self.statistics() {
            self.info_log.write(&format!("STATISTICS:\n{statistics}"));
        }
        if self.options.dump_malloc_stats {
            #[cfg(feature = "jemalloc")]
            self.info_log.write(&crate::malloc::stats_text());
            #[cfg(not(feature = "jemalloc"))]
            self.info_log
                .write("MALLOC STATS: none, built without the cargo feature jemalloc");
        }
    }
}

/// When something that happens every `period` seconds is due; `None` if never.
fn due(last: Instant, period: u32) -> Option<Instant> {
    (period > 0).then(|| last + Duration::from_secs(u64::from(period)))
}
