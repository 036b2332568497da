//! The database, stage by stage of its life.
//!
//! [`Engine`] is the database; the public API around it only converts types and manages
//! lifetimes. It has four parts, each a type with its own invariants and lock order:
//! `commit_path` (with `generations`), [`background`], `files` and `observers`. A method
//! that needs only one of them is a method of that part. The methods of the whole are spread
//! over the files below.
//!
//! * Opening: [`open`], `recover`, `missed_logs` (logs that an opening did not find). Other
//!   ways to open: `read_only`, `secondary` (both are `reader`s), [`ttl`], `trim_history` (as of a
//!   time); `repair`.
//! * Writing: [`writes`]; [`validation`] (optimistic transactions); [`two_phase`] (prepared
//!   transactions); `merge_folding` (merges
//!   stored as values), [`timestamps`]; `switch` (new memtables, a new log, a new
//!   generation), `switch_guard` (the time in which no generation is open); `wal_lock` (writes
//!   wait until it is unlocked); `stalls`, `budget` (a shared limit on the memory of memtables).
//! * Reading: [`reads`], `iterators`, [`merge_operands`], `views` (what reads begin with),
//!   [`updates`] (the logs, as batches), `conflicts` (whether a key has changed).
//! * Flushes and compactions: [`background`] runs them; `flush_request`, `manual`,
//!   `compact_files` and `rearrange` request them; `scheduled_work` finds what is due by time,
//!   `read_triggered` what is by reads.
//! * Column families, tables and options: `column_families`, [`ingest`], `import` and `export`
//!   (of column families), `checkpoint`, [`live_files`] (what checkpoints and backups copy),
//!   [`listing`] (of files, for users), `change` (options of an open database),
//!   [`options_file`].
//! * Failures: [`failure`], `overruling`, `resume`, `auto_resume`; [`integrity`] and [`scrub`] look
//!   for damage.
//! * Files: [`obsolete_files`] (deleting files that nothing needs), `pending_outputs`
//!   (keeping files that jobs write), [`archive`] (of logs), [`space`] (limits to that of
//!   tables), `direct_io`, `data_dirs` (the directories of tables).
//! * Introspection: [`inspect`], `properties`, [`internal_stats`], `stats_dump`,
//!   `write_stats`, `metrics`, `events` (for listeners).
//! * [`state`]: what the database mutex guards. This file has the engine's fields, and
//!   closing.
//!
//! Threads: callers' threads write and read; [`background`] runs flushes and
//! compactions on the threads of the environment. Lock order: `docs/locks.md`.

pub(crate) mod archive;
mod auto_resume;
pub(crate) mod background;
mod budget;
mod change;
mod checkpoint;
mod column_families;
mod commit_path;
pub(crate) mod compact_files;
mod conflicts;
mod data_dirs;
mod direct_io;
mod events;
mod export;
pub(crate) mod failure;
mod files;
mod flush_request;
mod generations;
mod import;
pub(crate) mod ingest;
pub(crate) mod inspect;
pub(crate) mod integrity;
pub(crate) mod internal_stats;
mod iterators;
pub(crate) mod listing;
pub(crate) mod live_files;
mod manual;
mod merge_folding;
pub(crate) mod merge_operands;
#[cfg(feature = "metrics")]
mod metrics;
mod missed_logs;
mod observers;
pub(crate) mod obsolete_files;
pub(crate) mod open;
pub(crate) mod options_file;
mod overruling;
mod pending_outputs;
pub(crate) mod properties;
mod read_only;
mod read_triggered;
mod reader;
pub(crate) mod reads;
mod rearrange;
mod recover;
mod repair;
mod resume;
mod scheduled_work;
pub(crate) mod scrub;
mod secondary;
pub(crate) mod space;
mod stalls;
pub(crate) mod state;
mod stats_dump;
mod switch;
mod switch_guard;
#[cfg(test)]
mod tests;
pub(crate) mod timestamps;
mod trim_history;
pub(crate) mod ttl;
pub(crate) mod two_phase;
pub(crate) mod updates;
pub(crate) mod validation;
mod views;
mod wal_lock;
mod write_stats;
pub(crate) mod writes;

use crate::clock::micros;
use crate::column_family::ColumnFamilyData;
use crate::info_log::InfoLog;
use crate::listener::FlushReason;
use crate::options::DbOptions;
use crate::perf_context::{self, PerfMetric, Step, StepTimer};
use crate::slow_operations::{Call, Measured, SlowOperations};
use crate::snapshots::{Live, ReadPoint, SnapshotList};
use crate::stats::{
    self, Histogram, HistogramCounts, SampledLatencies, Statistics, StatsLevel, Stopwatch, Ticker,
    tick, time,
};
use crate::thread_pools::owner;
use crate::thread_pools::pool::Waiting;
use crate::write::env::WalEnv;
use background::Background;
use change::OptionsChange;
use commit_path::CommitPath;
use files::Files;
use observers::Observers;
use reader::Role;
use state::DbState;
use std::fmt;
use std::sync::Arc;
use whitewater_concurrent::system::{self, Mutex, MutexGuard};
use whitewater_concurrent::undecided::Undecided;
use whitewater_storage::planted;
use whitewater_storage::{Error, ErrorKind, Result};

/// What a manual compaction does besides merging.
#[derive(Debug, Clone, Default)]
pub(crate) struct ManualSpec {
    pub bottommost: Bottommost,
    /// No automatic compaction starts while it runs.
    pub exclusive: bool,
    /// The result is moved to `target_level` afterwards.
    pub change_level: bool,
    /// The level that the result is moved to. `None`: the lowest-numbered level that can
    /// hold the files.
    pub target_level: Option<usize>,
    /// The path that the result is written to.
    pub target_path_id: u32,
    /// If not empty, the limit of the history is moved here first.
    pub history_low: Vec<u8>,
}

/// How a manual compaction treats the bottommost level, with RocksDB's meanings.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) enum Bottommost {
    Skip,
    #[default]
    IfHaveCompactionFilter,
    Force,
    ForceOptimized,
}

/// An open database: what guards its state, what everything looks at, and four parts that
/// know nothing of one another. What needs one part only is a method of that part.
pub(crate) struct Engine {
    /// Whether this engine writes the database, or only reads what another one writes.
    role: Role,
    /// The options that the database was opened with. Options that can be changed are read
    /// from `DbState::options`.
    options: DbOptions,
    info_log: Arc<InfoLog>,
    /// How long calls take, while statistics are off.
    latencies: Arc<SampledLatencies>,
    /// Calls that take long.
    slow: Arc<SlowOperations>,
    default_cf: Arc<ColumnFamilyData>,
    snapshots: Arc<SnapshotList>,
    /// The database mutex.
    state: Mutex<DbState>,
    options_change: Mutex<OptionsChange>,

    /// What writes share on their way.
    commit: CommitPath,
    /// Flushes, compactions, and who waits for them.
    background: Background,
    /// Who is told what happens.
    observers: Observers,
    /// Where the database is, and which files it needs. Last, so that it is dropped last:
    /// it has the lock file, and `commit` the log (D2).
    files: Files,
}

impl fmt::Debug for Engine {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Engine")
            .field("dir", &self.files.dir)
            .finish_non_exhaustive()
    }
}

impl Engine {
    /// The current options of the database. A returned value never changes; a change of
    /// options makes a new one.
    pub(crate) fn db_options(&self) -> Arc<DbOptions> {
        self.lock_state().options.clone()
    }

    /// The database's id, as in its IDENTITY file.
    pub fn identity(&self) -> String {
        self.files.db_id.clone()
    }

    /// The column family called "default".
    pub fn default_cf(&self) -> &Arc<ColumnFamilyData> {
        &self.default_cf
    }

    /// Live column families, by id.
    pub fn column_families(&self) -> Vec<Arc<ColumnFamilyData>> {
        self.lock_state()
            .cfs
            .values()
            .map(|cf| cf.data.clone())
            .collect()
    }

    /// The live column family `id`.
    pub fn family(&self, id: u32) -> Option<Arc<ColumnFamilyData>> {
        if id == self.default_cf.id {
            return Some(self.default_cf.clone());
        }
        let state = self.lock_state();
        state.cfs.get(&id).map(|cf| cf.data.clone())
    }

    /// The last visible sequence number.
    pub fn latest_sequence_number(&self) -> u64 {
        self.commit.publication.visible()
    }

    /// The info log.
    pub(crate) fn info_log(&self) -> &InfoLog {
        &self.info_log
    }

    /// What a read that begins now sees.
    pub(crate) fn read_point(&self) -> ReadPoint {
        match &self.commit.undecided {
            None => self.latest_sequence_number().into(),
            Some(undecided) => {
                let (sequence, undecided) = undecided.at(|| self.latest_sequence_number());
                ReadPoint {
                    sequence,
                    undecided,
                }
            }
        }
    }

    /// What a flush or compaction that begins now has to keep. Everything that it rewrites is
    /// visible.
    pub(crate) fn live(&self) -> Live {
        let undecided = self.commit.undecided.as_deref().and_then(Undecided::now);
        self.snapshots.live(undecided)
    }

    /// [`live`](Self::live) for a job whose tables count even if the end of the log is lost. A
    /// decision that the job goes by is durable then: otherwise it could be lost, and what the
    /// decided version hides would be missing (X4).
    ///
    /// # Errors
    /// Errors of syncing the log.
    pub(crate) fn live_for_job(&self) -> Result<Live> {
        let live = self.live();
        if self.commit.undecided.is_some() {
            // Asked for afterwards, so it covers all decisions that `live` knows.
            let decision = self.commit.sections.last_decided();
            planted!(DecisionNotDurable => return Ok(live));
            if let Some(decision) = decision {
                // A resumption waits for this before it changes the log.
                let _here = self.commit.generations.load();
                self.sync_wal(decision.last)?;
                self.commit.sections.note_gone_by(decision);
            }
        }
        Ok(live)
    }

    /// Ends background work. Writes that bypassed the log are flushed first, as RocksDB
    /// does; then jobs stop at the next entry they look at. A thread of the database does
    /// not wait for them. If the caller is such a thread and there is something to flush,
    /// another thread does all of this a moment later.
    pub fn cancel_all_background_work(self: &Arc<Self>, wait: bool) {
        self.break_wal_lock();
        // The writes stay marked as unlogged, so that a thread that closes the database
        // meanwhile waits for the flush, too.
        let due = self.commit.has_unlogged() && !self.state.lock().closing;
        if due && self.owns_this_thread() {
            // This thread may be in the middle of the flush.
            let engine = self.clone();
            let cancel = move || engine.cancel_all_background_work(false);
            match system::spawn("ww-cancel".to_owned(), cancel) {
                Ok(_) => return,
                Err(e) => {
                    let text = format!("unlogged writes are not flushed: starting a thread: {e}");
                    self.info_log.error(&text);
                }
            }
        } else if due && let Err(e) = self.flush_all(FlushReason::ShutDown, true) {
            self.info_log
                .error(&format!("flushing unlogged writes failed: {e}"));
        }
        let was_closing = self.state.lock().close();
        self.background.cancel_jobs();
        self.commit.let_writers_through(true);
        self.background.wake_waiters();
        // A thread of the database would wait for itself, or for a thread that waits for
        // it.
        let wait = wait && !self.owns_this_thread();
        {
            let _waiting = wait.then(Waiting::begin);
            self.background.work.end(wait);
        }
        if wait {
            for _ in 0..self.background.join() {
                self.info_log.error("a background thread panicked");
            }
        }
        if !was_closing {
            self.publish_the_rest();
        }
    }

    /// Starts a thread that is waited for when the database is closed.
    ///
    /// # Errors
    /// `Aborted` when it cannot be started.
    fn start_thread(self: &Arc<Self>, name: &str, body: fn(&Engine)) -> Result<()> {
        let engine = self.clone();
        let run = move || {
            engine.own_this_thread();
            body(&engine);
        };
        let thread = system::spawn(name.to_owned(), run).map_err(|e| {
            let what = format!("starting the thread {name}: {e}");
            Error::new(ErrorKind::Aborted, what)
        })?;
        self.background.keep(thread);
        Ok(())
    }

    /// Marks the calling thread as one that closing waits for.
    pub(crate) fn own_this_thread(&self) {
        owner::set_owner(self.address());
    }

    /// Runs `work`, which may call user code, with the calling thread marked as one that
    /// closing waits for: the thread holds what closing would wait for.
    pub(crate) fn on_own_thread<T>(&self, work: impl FnOnce() -> T) -> T {
        let _before = owner::work_as(self.address());
        work()
    }

    fn owns_this_thread(&self) -> bool {
        owner::owner() == self.address()
    }

    fn address(&self) -> usize {
        std::ptr::from_ref(self).addr()
    }

    /// Ends background work, hands the log to the operating system and releases the lock.
    /// Idempotent; called when the public handle is dropped. If the caller is a thread of
    /// the database (in a callback of the user's), another thread does it a moment later.
    pub fn close(self: &Arc<Self>) {
        if !self.owns_this_thread() {
            return self.close_here();
        }
        let engine = self.clone();
        if let Err(e) = system::spawn("ww-close".to_owned(), move || engine.close_here()) {
            // The lock is released when the last thread has dropped the engine.
            self.info_log
                .error(&format!("starting a thread to close: {e}"));
            self.cancel_all_background_work(false);
            self.end_log();
        }
    }

    fn close_here(self: &Arc<Self>) {
        self.cancel_all_background_work(true);
        // Purge before the versions are dropped, so that the files in them stay.
        self.purge_obsolete_files();
        self.end_log();
        self.observers.end_events();
        if self.files.unlock() {
            self.info_log.write("Shutdown complete");
        }
    }

    fn end_log(&self) {
        if let Err(e) = self.commit.close() {
            self.info_log.error(&format!("closing the log failed: {e}"));
        }
    }

    /// The error for calls after close.
    pub(crate) fn shutdown_error() -> Error {
        Error::new(ErrorKind::ShutdownInProgress, "the database is closing")
    }

    /// Adds `n` to `ticker`, if statistics are on.
    #[inline]
    pub(crate) fn tick(&self, ticker: Ticker, n: u64) {
        tick(self.statistics(), ticker, n);
    }

    /// The statistics, if they are on.
    #[inline]
    pub(crate) fn statistics(&self) -> Option<&Statistics> {
        self.options.statistics.as_deref()
    }

    /// How long calls took of those that were timed; see [`SampledLatencies`].
    pub(crate) fn sampled_latency(&self, histogram: Histogram) -> Option<HistogramCounts> {
        self.latencies.counts(histogram)
    }

    /// Times a call or a job for a histogram, until the returned stopwatch is dropped.
    #[inline]
    pub(crate) fn time(&self, histogram: Histogram) -> Stopwatch<'_> {
        time(self.statistics(), histogram)
    }

    /// Times a call for `histogram` and for the lines about slow ones, until the result is
    /// dropped.
    #[inline]
    pub(crate) fn time_call(
        &self,
        call: Call,
        histogram: Histogram,
    ) -> (Stopwatch<'_>, Option<Box<Measured<'_>>>) {
        let stopwatch = stats::time_call(self.statistics(), &self.latencies, histogram);
        (stopwatch, self.slow.begin(call))
    }

    /// Times a step of a write for the thread's perf context and the histograms, until the
    /// returned timer is dropped.
    #[inline]
    pub(crate) fn step(&self, step: Step) -> StepTimer<'_> {
        perf_context::step(self.statistics(), step)
    }

    /// Locks the database mutex. The wait is measured for the caller's perf context.
    pub(crate) fn lock_state(&self) -> MutexGuard<'_, DbState> {
        let _timer = perf_context::timer(PerfMetric::DbMutexLockNanos);
        match self.statistics() {
            Some(s) if s.includes(StatsLevel::All) => {
                let start = system::now();
                let state = self.state.lock();
                s.add(Ticker::DbMutexWaitMicros, micros(system::since(start)));
                state
            }
            _ => self.state.lock(),
        }
    }
}
