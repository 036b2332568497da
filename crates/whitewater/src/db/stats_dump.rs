//! Statistics that are written to LOG every now and then.
//!
//! One thread for each database that writes, which sleeps on a condition of the
//! database mutex until a dump is due, the period changes, or the database
//! closes.

use super::Engine;
use super::internal_stats::cf_text;
use std::sync::Arc;
use std::time::{Duration, Instant};
use whitewater_storage::{Error, ErrorKind, Result};

impl Engine {
    /// Starts the thread.
    ///
    /// # Errors
    /// `Aborted` when it cannot be started.
    pub(super) fn start_stats_dumps(self: &Arc<Self>) -> Result<()> {
        let engine = self.clone();
        let builder = std::thread::Builder::new().name("ww-stats".to_owned());
        let thread = builder
            .spawn(move || engine.dump_stats_until_closed())
            .map_err(|e| {
                let what = format_args!("starting the thread for statistics: {e}");
                Error::new(ErrorKind::Aborted, what)
            })?;
        self.threads.lock().push(thread);
        Ok(())
    }

    fn dump_stats_until_closed(&self) {
        let mut last = Instant::now();
        let mut state = self.state.lock();
        while !state.closing {
            let period = u64::from(state.options.stats_dump_period_sec);
            let due = last + Duration::from_secs(period);
            if period == 0 {
                self.dumps.wait(&mut state);
            } else if due > Instant::now() {
                let _ = self.dumps.wait_until(&mut state, due);
            } else {
                drop(state);
                self.dump_stats();
                last = Instant::now();
                state = self.state.lock();
            }
        }
    }

    /// Writes the database's and all column families' statistics to LOG, and
    /// begins a new interval.
    pub(crate) fn dump_stats(&self) {
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
    }
}
