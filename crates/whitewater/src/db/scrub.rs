//! Reading all tables at intervals, so that damage is found before the data is needed.
//!
//! One thread (`ww-scrub`) does this if `scrub_period_sec` asks for it. A pass begins when
//! the database is opened and every period from then on, or when the pass before is over.
//! It covers the tables that exist when it begins, skips tables that are gone when their
//! turn comes, and rests after each, so that in the long run it reads no faster than
//! `scrub_bytes_per_second`. Damage is reported in the info log and counted. The database
//! continues, because the damaged data has not been requested yet.

use super::Engine;
use super::integrity::Checks;
use crate::column_family::ColumnFamilyData;
use crate::panics::{Guarded, caught};
use std::path::PathBuf;
use std::sync::Arc;
use std::time::{Duration, Instant};
use whitewater_concurrent::system;
use whitewater_storage::{Error, Result};

/// How far scrubbing has come; see [`DB::scrub_progress`](crate::DBCommon::scrub_progress).
#[derive(Debug, Clone, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct ScrubProgress {
    /// The number of passes over all tables that were finished since the database was
    /// opened.
    pub passes: u64,
    /// The number of tables of the current pass, or of the last one.
    pub tables: u64,
    /// How many of these tables were read.
    pub tables_done: u64,
    /// The number of bytes of all tables that were read since the database was opened.
    pub bytes: u64,
    /// How often a table was found damaged or could not be read, in all passes.
    pub damaged: u64,
    /// The error of the last table that was found damaged or could not be read.
    pub last_error: Option<Error>,
}

impl Engine {
    /// Starts the scrubbing thread, if the options ask for it.
    ///
    /// # Errors
    /// `Aborted` when it cannot be started.
    pub(super) fn start_scrubbing(self: &Arc<Self>) -> Result<()> {
        if self.options.scrub_period_sec == 0 {
            return Ok(());
        }
        self.start_thread("ww-scrub", Engine::scrub_until_closed)
    }

    /// How far scrubbing has come.
    pub(crate) fn scrub_progress(&self) -> ScrubProgress {
        self.observers.scrubbed.lock().clone()
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

    /// Waits until `moment` or until the database closes; returns whether it is still open.
    fn rest_until(&self, moment: Instant) -> bool {
        let mut state = self.state.lock();
        while !state.closing {
            if self.background.rest_until(&mut state, moment) {
                return !state.closing;
            }
        }
        false
    }

    /// Does one pass; returns whether the database is still open.
    fn scrub_all(&self) -> bool {
        let mut due = Vec::new();
        for cf in self.column_families() {
            let view = cf.pin_owned();
            let files = view.version.levels.iter().flatten();
            // Weak references: the data of a column family that is dropped meanwhile must
            // not have to wait for the end of the pass.
            due.extend(files.map(|file| (Arc::downgrade(&cf), file.meta.number)));
        }
        {
            let mut progress = self.observers.scrubbed.lock();
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
        self.observers.scrubbed.lock().passes += 1;
        true
    }

    /// Skips a table of a dropped column family.
    fn skip_table(&self) -> u64 {
        self.observers.scrubbed.lock().tables_done += 1;
        0
    }

    /// Reads table `number`, if it still exists; returns how many bytes were read.
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
        // Logged before it is counted: a caller that sees the count finds the reason in the
        // info log.
        if let Some(e) = &failure {
            let path = file.map_or_else(PathBuf::new, |file| file.path());
            let text = format!("scrubbing [{}] {}: {e}", cf.name, path.display());
            self.info_log.error(&text);
        }
        let mut progress = self.observers.scrubbed.lock();
        progress.tables_done += 1;
        progress.bytes += size;
        if let Some(e) = failure {
            progress.damaged += 1;
            progress.last_error = Some(e);
        }
        size
    }
}
