//! Failures of the database: how severe they are, and what continues in spite of them.
//!
//! | severity | reads | writes | flushes, compactions | ends by |
//! |---|---|---|---|---|
//! | none | yes | yes | yes | - |
//! | soft | yes | yes; none waits for work that keeps failing | retried with back-off | success |
//! | hard | yes | no | no | a resumption, perhaps [by itself](super::auto_resume) |
//! | fatal | yes | no | no | reopening |
//! | unrecoverable | yes | no | no | repairing what is damaged |
//!
//! [`severity`] has the table of which source and error give which severity. It is
//! RocksDB's with `paranoid_checks`, where an I/O error of a file that is never written
//! again counts as an error of that file alone, as in RocksDB: a failed log or manifest is
//! replaced by a resumption; a failed table is deleted, and written again from inputs that
//! were kept.
//! No file is synced again after a sync of it has failed.
//!
//! The most severe failure counts, and the first among equals. Refused writes report it.
//!
//! Invariants (C5; F4 to F7 are in [`resume`](super::resume)):
//! * F1: a failure is noted before any thread is told of it, so a thread that is told finds
//!   the reason.
//! * F2: while the database is stopped, the request for attention stands, so every writer
//!   that would reserve a place meets the failure.
//! * F3: no log, table or manifest is written or synced again after a write or
//!   sync of it has failed.

use super::Engine;
use super::auto_resume::AutoResume;
use super::overruling::Verdict;
use super::state::DbState;
use crate::stats::{Histogram, Ticker};
use std::fmt;
use std::path::Path;
use std::time::{Duration, Instant};
use whitewater_concurrent::system;
use whitewater_storage::{Error, ErrorKind, Severity};

/// What failed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Source {
    /// Writing, syncing, starting or closing a log.
    Log,
    /// A write that had reserved its place: its log record or its insert.
    Write,
    Flush,
    Compaction,
    /// Recording a change in the manifest.
    Manifest,
}

impl fmt::Display for Source {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Source::Log => "log",
            Source::Write => "write",
            Source::Flush => "flush",
            Source::Compaction => "compaction",
            Source::Manifest => "manifest write",
        })
    }
}

/// The severity of `error` met by `source`. `is_own_dir` tells whether a path is one of the
/// database's directories.
pub(crate) fn severity(
    source: Source,
    error: &Error,
    is_own_dir: impl FnOnce(&Path) -> bool,
) -> Severity {
    match error.kind() {
        // The job ends because the database is closing or the column family was dropped, or it
        // did not begin for lack of room.
        ErrorKind::ShutdownInProgress
        | ErrorKind::ColumnFamilyDropped
        | ErrorKind::CompactionTooLarge => Severity::NoError,
        // A manifest write finds corruption in its checks before it begins; it is not on
        // disk.
        ErrorKind::Corruption if source != Source::Manifest => Severity::UnrecoverableError,
        // A directory whose sync failed must not be synced again, and cannot be replaced.
        ErrorKind::IOError if error.file().is_some_and(is_own_dir) => Severity::FatalError,
        // Another try would write as much.
        ErrorKind::IOError if error.is_space_limit() => Severity::HardError,
        ErrorKind::IOError => match source {
            Source::Flush | Source::Compaction => Severity::SoftError,
            Source::Log | Source::Write => Severity::HardError,
            // What is on disk is unknown, but the next write begins another manifest.
            Source::Manifest => Severity::HardError,
        },
        // Mostly `Aborted`: user code (a compaction filter, a merge operator) panicked in a
        // job, and would panic again. Nothing is damaged, so reopening with other code
        // helps.
        _ => match source {
            Source::Log | Source::Write => Severity::HardError,
            Source::Flush | Source::Compaction | Source::Manifest => Severity::FatalError,
        },
    }
}

/// The number of consecutive failures after which threads that wait for a job are told.
const LASTING: u32 = 4;

/// The failures of a kind of job that is retried after a failure.
#[derive(Debug, Default)]
pub(crate) struct Retry {
    /// The number of failures since the last success.
    row: u32,
    last: Option<Error>,
    /// When the next try is due; `None` if there was no failure since the last success.
    next: Option<Instant>,
    /// The number of failures since the database was opened.
    pub total: u64,
}

impl Retry {
    /// Notes a failure. The next try is due after a sixty-fourth of `interval` at first,
    /// then after twice as long each time, up to `interval`.
    pub fn fail(&mut self, error: &Error, now: Instant, interval: Duration) {
        let wait = interval.saturating_mul(1 << self.row.min(6)) / 64;
        self.row = self.row.saturating_add(1);
        self.total += 1;
        self.last = Some(error.clone());
        self.next = now.checked_add(wait);
    }

    /// Notes a success; returns how many failures there were before it.
    pub fn succeed(&mut self) -> u32 {
        (self.last, self.next) = (None, None);
        std::mem::take(&mut self.row)
    }

    /// Forgets the failures; returns the last of them.
    pub fn forget(&mut self) -> Option<Error> {
        let last = self.last.take();
        self.succeed();
        last
    }

    /// When the next try is due, if that is after `now`.
    pub fn not_before(&self, now: Instant) -> Option<Instant> {
        self.next.filter(|next| *next > now)
    }

    /// Makes the next try due after `wait`, without a failure.
    pub fn put_off(&mut self, wait: Duration) {
        self.next = system::now().checked_add(wait);
    }

    /// Makes the next try due now.
    pub fn hurry(&mut self) {
        self.next = self.next.map(|next| next.min(system::now()));
    }

    /// The last failure, if there was no success after it.
    pub fn last(&self) -> Option<Error> {
        self.last.clone()
    }

    /// The number of failures since the last success.
    pub fn row(&self) -> u32 {
        self.row
    }

    fn lasting(&self) -> Option<Error> {
        self.last.clone().filter(|_| self.row >= LASTING)
    }
}

/// What has failed in a database.
#[derive(Debug, Default)]
pub(crate) struct Failure {
    /// The failure that stopped the database: hard or worse.
    stop: Option<Error>,
    pub flush: Retry,
    pub compaction: Retry,
    /// The tries to resume after `stop`.
    pub auto: AutoResume,
    /// The number of background failures so far.
    pub count: u64,
}

impl Failure {
    /// The failure that stopped the database: hard or worse.
    pub fn stop(&self) -> Option<&Error> {
        self.stop.as_ref()
    }

    /// The current severity.
    pub fn severity(&self) -> Severity {
        let soft = self.flush.row > 0 || self.compaction.row > 0;
        match &self.stop {
            Some(e) => e.severity(),
            None if soft => Severity::SoftError,
            None => Severity::NoError,
        }
    }

    /// Refuses, for good and with `error`, everything that would change the database.
    pub fn refuse(&mut self, error: Error) {
        self.stop = Some(error);
    }

    /// Why flushes fail, if they fail repeatedly.
    pub fn lasting_flush(&self) -> Option<Error> {
        self.flush.lasting()
    }

    /// Why compactions fail, if they fail repeatedly.
    pub fn lasting_compaction(&self) -> Option<Error> {
        self.compaction.lasting()
    }

    /// Why background jobs fail, if they fail repeatedly and one has failed since
    /// [`Failure::totals`] returned `before`.
    pub fn lasting_since(&self, before: (u64, u64)) -> Option<Error> {
        let flush = self.lasting_flush().filter(|_| self.flush.total > before.0);
        let compaction = || {
            self.lasting_compaction()
                .filter(|_| self.compaction.total > before.1)
        };
        flush.or_else(compaction)
    }

    /// The numbers of failures so far, for [`Failure::lasting_since`].
    pub fn totals(&self) -> (u64, u64) {
        (self.flush.total, self.compaction.total)
    }

    /// Makes the failure that stopped the database fatal: reopening turns out to be
    /// necessary.
    pub fn make_fatal(&mut self) {
        let stop = self.stop.take();
        self.stop = stop.map(|e| {
            let severity = e.severity().max(Severity::FatalError);
            e.with_severity(severity)
        });
    }

    /// Forgets all failures: the database continues.
    pub fn clear(&mut self) {
        self.stop = None;
        self.flush.succeed();
        self.compaction.succeed();
    }

    fn retry(&mut self, source: Source) -> &mut Retry {
        match source {
            Source::Flush => &mut self.flush,
            _ => &mut self.compaction,
        }
    }
}

impl Engine {
    /// The severity of `error` met by `source`.
    pub(crate) fn severity(&self, source: Source, error: &Error) -> Severity {
        severity(source, error, |path| self.is_own_dir(path))
    }

    fn is_own_dir(&self, path: &Path) -> bool {
        path == self.files.dir
            || self.options.wal_dir.as_deref() == Some(path)
            || self.files.data_dirs.knows(path)
    }

    /// Notes that `source` met `error` during `what`, and stops what must be stopped, unless a
    /// listener overrules the failure. Then it is tried again.
    pub(crate) fn report(&self, source: Source, error: &Error, what: &str) {
        self.report_as(source, error, what, self.verdict(source, error));
    }

    /// [`Engine::report`] of what listeners were asked about.
    pub(super) fn report_as(&self, source: Source, error: &Error, what: &str, verdict: Verdict) {
        let mut severity = verdict.severity;
        // An error that has a severity is a failure that was reported already.
        if severity == Severity::NoError || error.severity() > Severity::NoError {
            return;
        }
        let mut state = self.state.lock();
        if severity == Severity::SoftError && state.failure.stop.is_some() {
            return; // less severe, and perhaps a consequence
        }
        state.failure.count += 1;
        let mut tried = 0;
        if severity == Severity::SoftError {
            let interval = Duration::from_micros(self.options.bgerror_resume_retry_interval);
            let limit = self.options.max_bgerror_resume_count;
            let retry = state.failure.retry(source);
            retry.fail(error, system::now(), interval);
            tried = retry.row;
            if tried > limit && !verdict.overruled {
                severity = Severity::HardError;
            }
        }
        let told = error.clone().with_severity(severity);
        if severity >= Severity::HardError && severity > state.failure.severity() {
            state.failure.stop = Some(told.clone());
            if tried == 0 {
                self.plan_to_resume(&mut state, source, &told);
            }
        }
        self.recompute_stall(&mut state, []);
        let worst = state.failure.severity();
        if severity >= Severity::HardError {
            // Done while the mutex is held; otherwise a resumption that ends in between
            // would have its gate opened for good.
            self.commit.ask_for_attention(); // upholds F2
            self.commit.let_writers_through(true);
        }
        // Noted while the mutex is held, too: before the thread that forgets the failure
        // reports its end.
        self.observers.note_failure(source, &told, verdict.asked);
        if tried == 1 && severity == Severity::SoftError {
            self.observers.note_recovery(Some(told), true);
        }
        drop(state);
        self.background.look_again();
        self.count_failure(error, tried);
        let stops = if severity >= Severity::HardError {
            "writes are refused"
        } else {
            "it is tried again"
        };
        self.info_log.error(&format!(
            "Background IO error {error}, reason {source} ({what}), severity {severity}, worst {worst}: {stops}"
        ));
    }

    fn count_failure(&self, error: &Error, tried: u32) {
        self.tick(Ticker::ErrorHandlerBgErrorCount, 1);
        if error.kind() == ErrorKind::IOError {
            self.tick(Ticker::ErrorHandlerBgIoErrorCount, 1);
        }
        if tried > 0 {
            self.tick(Ticker::ErrorHandlerBgRetryableIoErrorCount, 1);
        }
        if tried == 1 {
            self.tick(Ticker::ErrorHandlerAutoresumeCount, 1);
        }
        if tried > 1 {
            self.tick(Ticker::ErrorHandlerAutoresumeRetryTotalCount, 1);
        }
    }

    /// Forgets that flushes failed if nothing is left to flush, because the column family
    /// was dropped. If it was dropped in the middle of a try, the failure of that try
    /// counts by itself, and is forgotten at its end.
    pub(crate) fn forgive_flushes(&self, state: &mut DbState) {
        if state.cfs.values().any(|cf| !cf.imm.is_empty()) {
            return;
        }
        let forgotten = state.failure.flush.forget();
        self.note_forgotten(state, forgotten);
    }

    /// Tells listeners that a failure was forgotten, if one was.
    pub(crate) fn note_forgotten(&self, state: &mut DbState, forgotten: Option<Error>) {
        if let Some(last) = forgotten {
            self.recompute_stall(state, []);
            self.observers.note_recovered(Some(last), None, true);
        }
    }

    /// Notes that a job of `source` succeeded.
    pub(crate) fn report_success(&self, source: Source) {
        let (failures, last) = {
            let mut state = self.state.lock();
            let last = state.failure.retry(source).last.clone();
            let failures = state.failure.retry(source).succeed();
            if failures > 0 {
                self.recompute_stall(&mut state, []);
            }
            (failures, last)
        };
        if failures > 0 {
            self.observers.note_recovered(last, None, true);
            self.tick(Ticker::ErrorHandlerAutoresumeRetryTotalCount, 1);
            self.tick(Ticker::ErrorHandlerAutoresumeSuccessCount, 1);
            if let Some(statistics) = self.statistics() {
                statistics.record(
                    Histogram::ErrorHandlerAutoresumeRetryCount,
                    u64::from(failures),
                );
            }
            self.info_log.write(&format!(
                "Successfully resumed: a {source} succeeded after {failures} failures"
            ));
        }
    }

    /// The failure that stopped the database, if any.
    pub(crate) fn check_healthy(state: &DbState) -> Result<(), Error> {
        match state.failure.stop() {
            Some(e) => Err(e.clone()),
            None if state.closing => Err(Self::shutdown_error()),
            None => Ok(()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io;

    fn io_error(path: &str, errno: io::ErrorKind) -> Error {
        Error::io("writing", Path::new(path), &errno.into())
    }

    #[test]
    fn each_source_has_its_severity() {
        use Severity::*;
        use Source::*;
        let eio = io_error("/db/1.x", io::ErrorKind::Other);
        let full = io_error("/db/1.x", io::ErrorKind::StorageFull);
        let dir = io_error("/db", io::ErrorKind::Other);
        let damage = Error::corruption("bad block");
        let panic = Error::new(ErrorKind::Aborted, "a panic");
        let closing = Engine::shutdown_error();
        let of = |source, e: &Error| severity(source, e, |path| path == Path::new("/db"));
        for (source, wanted) in [
            (
                Log,
                [
                    HardError,
                    HardError,
                    FatalError,
                    UnrecoverableError,
                    HardError,
                ],
            ),
            (
                Write,
                [
                    HardError,
                    HardError,
                    FatalError,
                    UnrecoverableError,
                    HardError,
                ],
            ),
            (
                Flush,
                [
                    SoftError,
                    SoftError,
                    FatalError,
                    UnrecoverableError,
                    FatalError,
                ],
            ),
            (
                Compaction,
                [
                    SoftError,
                    SoftError,
                    FatalError,
                    UnrecoverableError,
                    FatalError,
                ],
            ),
            (
                Manifest,
                [HardError, HardError, FatalError, FatalError, FatalError],
            ),
        ] {
            let found = [&eio, &full, &dir, &damage, &panic].map(|e| of(source, e));
            assert_eq!(found, wanted, "{source}");
            assert_eq!(of(source, &closing), NoError);
        }
    }

    #[test]
    fn retries_back_off_and_are_told_when_they_last() {
        let (e, start) = (io_error("/db/1.sst", io::ErrorKind::Other), system::now());
        let mut retry = Retry::default();
        assert_eq!(retry.not_before(start), None);
        let interval = Duration::from_millis(640);
        let mut waits = Vec::new();
        for row in 1..=8 {
            retry.fail(&e, start, interval);
            let due = retry.not_before(start).unwrap();
            waits.push((due - start).as_millis());
            assert_eq!(retry.lasting().is_some(), row >= LASTING);
        }
        assert_eq!(waits, [10, 20, 40, 80, 160, 320, 640, 640]);
        retry.hurry();
        assert_eq!(retry.not_before(system::now()), None);
        assert_eq!((retry.succeed(), retry.total), (8, 8));
        assert!(retry.lasting().is_none() && retry.next.is_none());
    }
}
