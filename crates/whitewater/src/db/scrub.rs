//! Reading all tables now and then, so that damage is found before it is needed.
//!
//! One thread (`ww-scrub`), if `scrub_period_sec` asks for it. A pass begins when the
//! database is opened and every period from then on, or when the one before is over.
//! It takes the tables that are there when it begins, skips those that are gone when
//! their turn comes, and rests after each, so that it reads no faster than
//! `scrub_bytes_per_second` in the long run. What is damaged is told in LOG and
//! counted; the database goes on, for nothing has asked for what is damaged yet.

use super::Engine;
use super::integrity::Checks;
use crate::column_family::ColumnFamilyData;
use crate::panics::{Guarded, caught};
use std::sync::Arc;
use std::time::{Duration, Instant};
use whitewater_concurrent::system;
use whitewater_storage::{Error, Result, filename};

/// How far scrubbing is; see
/// [`DB::scrub_progress`](crate::DBCommon::scrub_progress).
#[derive(Debug, Clone, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct ScrubProgress {
    /// Passes over all tables that were finished since the database was opened.
    pub passes: u64,
    /// Tables of the present pass, or of the last one.
    pub tables: u64,
    /// Of these, how many were read.
    pub tables_done: u64,
    /// Bytes of all tables read since the database was opened.
    pub bytes: u64,
    /// Times that a table was found damaged or could not be read, in all passes.
    pub damaged: u64,
    /// What was wrong with the last of them.
    pub last_error: Option<Error>,
}

impl Engine {
    /// Starts the thread, if there is to be one.
    ///
    /// # Errors
    /// `Aborted` when it cannot be started.
    pub(super) fn start_scrubbing(self: &Arc<Self>) -> Result<()> {
        if self.options.scrub_period_sec == 0 {
            return Ok(());
        }
        self.start_thread("ww-scrub", Engine::scrub_until_closed)
    }

    fn scrub_until_closed(&self) {
        let period = Duration::from_secs(u64::from(self.options.scrub_period_sec));
        loop {
            let next = system::now() + period;
            if !self.scrub_all() || !self.rest_until(next) {
                return;
            }
        }
    }

    /// Waits; returns whether the database is still open.
    fn rest_until(&self, moment: Instant) -> bool {
        let mut state = self.state.lock();
        while !state.closing {
            if self.ends.wait_until(&mut state, moment).timed_out() {
                return !state.closing;
            }
        }
        false
    }

    /// One pass; returns whether the database is still open.
    fn scrub_all(&self) -> bool {
        let mut due = Vec::new();
        for cf in self.column_families() {
            let view = cf.pin_owned();
            let files = view.version.levels.iter().flatten();
            // What is dropped meanwhile must not have to wait for the end.
            due.extend(files.map(|file| (Arc::downgrade(&cf), file.meta.number)));
        }
        {
            let mut progress = self.scrubbed.lock();
            (progress.tables, progress.tables_done) = (due.len() as u64, 0);
        }
        for (cf, number) in due {
            let begun = system::now();
            let cf = cf.upgrade().filter(|cf| !cf.is_dropped());
            let bytes = cf.map_or_else(|| self.skip_table(), |cf| self.scrub(&cf, number));
            let pause =
                Duration::from_secs_f64(bytes as f64 / self.options.scrub_bytes_per_second as f64);
            if !self.rest_until(begun + pause) {
                return false;
            }
        }
        self.scrubbed.lock().passes += 1;
        true
    }

    /// Passes a table of a family that was dropped.
    fn skip_table(&self) -> u64 {
        self.scrubbed.lock().tables_done += 1;
        0
    }

    /// Reads table `number`, if it is still there; returns how many bytes that were.
    fn scrub(&self, cf: &ColumnFamilyData, number: u64) -> u64 {
        let view = cf.pin_owned();
        let mut files = view.version.levels.iter().flatten();
        let file = files.find(|file| file.meta.number == number);
        let all = Checks {
            blocks: true,
            file: true,
        };
        // A custom comparator may panic.
        let outcome = file.map(|file| {
            caught(Guarded::Job, || {
                self.verify_table(cf, &view.version, file, all)
            })
        });
        let size = file.map_or(0, |file| file.meta.size);
        let failure = outcome.and_then(Result::err);
        // Before it is counted: whoever sees the count finds the reason in LOG.
        if let Some(e) = &failure {
            let path = filename::table(&self.dir, number);
            let text = format!("scrubbing [{}] {}: {e}", cf.name, path.display());
            self.info_log.error(&text);
        }
        let mut progress = self.scrubbed.lock();
        progress.tables_done += 1;
        progress.bytes += size;
        if let Some(e) = failure {
            progress.damaged += 1;
            progress.last_error = Some(e);
        }
        size
    }
}
