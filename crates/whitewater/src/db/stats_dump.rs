//! Statistics that are written to LOG every now and then, and published.
//!
//! One thread for each database that writes, which sleeps on a condition of the
//! database mutex until a dump is due, the period changes, or the database
//! closes. The same thread hands them to the `metrics` facade, if that is asked
//! for, and once more at the end.

use super::Engine;
use super::internal_stats::cf_text;
#[cfg(feature = "metrics")]
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::time::{Duration, Instant};
use whitewater_concurrent::system;
use whitewater_storage::Result;

impl Engine {
    /// Starts the thread.
    ///
    /// # Errors
    /// `Aborted` when it cannot be started.
    pub(super) fn start_stats_dumps(self: &Arc<Self>) -> Result<()> {
        self.start_thread("ww-stats", Engine::dump_stats_until_closed)
    }

    fn dump_stats_until_closed(&self) {
        let (mut dumped, mut published) = (system::now(), system::now());
        let publish_period = self.options.metrics.period_sec();
        let mut state = self.state.lock();
        while !state.closing {
            let dump = due(dumped, state.options.stats_dump_period_sec);
            let publish = due(published, publish_period);
            let now = system::now();
            match dump.into_iter().chain(publish).min() {
                None => self.dumps.wait(&mut state),
                Some(first) if first > now => drop(self.dumps.wait_until(&mut state, first)),
                Some(_) => {
                    drop(state);
                    if dump.is_some_and(|due| due <= now) {
                        self.dump_stats();
                        dumped = system::now();
                    }
                    if publish.is_some_and(|due| due <= now) {
                        self.publish_unasked();
                        published = system::now();
                    }
                    state = self.state.lock();
                }
            }
        }
        drop(state);
        if publish_period > 0 {
            // What was counted since the last time.
            self.publish_unasked();
        }
    }

    /// Publishes on this engine's own thread, which no recorder may end.
    fn publish_unasked(&self) {
        #[cfg(feature = "metrics")]
        if catch_unwind(AssertUnwindSafe(|| self.publish_metrics())).is_err() {
            self.log.error("a recorder of metrics panicked");
        }
    }

    /// Writes the database's and all column families' statistics to LOG, and
    /// begins a new interval.
    pub(crate) fn dump_stats(&self) {
        // What readers held on to when the last job ended.
        if self.obsolete.have_come() {
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
        self.log.write("------- DUMPING STATS -------");
        self.log.write(&text);
        if let Some(statistics) = self.statistics() {
            self.log.write(&format!("STATISTICS:\n{statistics}"));
        }
        #[cfg(feature = "jemalloc")]
        if self.options.dump_malloc_stats {
            self.log.write(&crate::malloc::stats_text());
        }
    }
}

/// When what happens every `period` seconds is due, if ever.
fn due(last: Instant, period: u32) -> Option<Instant> {
    (period > 0).then(|| last + Duration::from_secs(u64::from(period)))
}
