//! Background work: flushes and compactions.
//!
//! The threads belong to the [pools](crate::thread_pools), which the databases of an
//! environment share: one pool for flushes, one for compactions, one for compactions to the
//! last level, one for read-triggered ones, one for what is due by time. A thread that looks
//! at a database takes one job at a time ([`flush`], [`compaction`]). A job that failed with
//! an I/O error leaves its inputs as they were and nothing of its output, and is retried
//! after a while; other failures stop the database (`db::failure`).
//!
//! [`Background`] is the part of the engine that callers and jobs meet in: it wakes the
//! pools, and those who wait for a job.

pub(crate) mod compaction;
pub(crate) mod flush;

use crate::column_family::ColumnFamilyData;
use crate::db::Engine;
use crate::db::failure::Source;
use crate::db::state::DbState;
use crate::options::{CfOptions, DbOptions};
use crate::perf_context::{self, PerfMetric};
use crate::rate_limiter::Client;
use crate::snapshots::Live;
use crate::table_writer::OutputContext;
use crate::thread_pools::pool::{Found, Waiting};
use crate::thread_pools::{BackgroundWork, PoolClient, Priority};
use compaction::{compact_forwarded, compact_one};
use flush::flush_one;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::Instant;
use whitewater_concurrent::system::{self, Condvar, JoinHandle, Mutex, MutexGuard};
use whitewater_storage::{ErrorKind, Result};

/// The work that is done behind the callers of a database: its place in the pools, its own
/// threads, and who waits for them.
///
/// Both conditions belong to the database mutex. The lock of `threads` is a leaf.
pub(crate) struct Background {
    /// Tells the pools that there may be work.
    pub(in crate::db) work: BackgroundWork,
    /// Notified when a job has ended; callers wait for it.
    done: Condvar,
    /// Notified when the database closes; the scrubbing thread waits for it.
    ends: Condvar,
    /// Threads that closing waits for, besides those of the pools.
    threads: Mutex<Vec<JoinHandle<()>>>,
    /// Set at close: running jobs stop early. Written by: close. Read by: jobs (all
    /// relaxed). Publishes nothing.
    cancel: AtomicBool,
    /// Whether reads have made a compaction worth it that nobody has looked for yet.
    /// Written by: sampled reads, which then wake the threads that compact; these, when they
    /// look. Read by: the same. Publishes nothing (relaxed): they look under the database mutex.
    asked_by_reads: AtomicBool,
    /// Limits the rate of writes of flushes and compactions, if there is a limit.
    limiter: Option<Arc<Client>>,
    /// The number of the latest job, for the info log. Publishes nothing: relaxed.
    jobs: AtomicU64,
}

impl Background {
    /// For a database that is being opened: no pool knows it yet.
    pub fn new(limiter: Option<Arc<Client>>) -> Self {
        Background {
            work: BackgroundWork::default(),
            done: Condvar::new(),
            ends: Condvar::new(),
            threads: Mutex::default(),
            cancel: AtomicBool::new(false),
            asked_by_reads: AtomicBool::new(false),
            limiter,
            jobs: AtomicU64::new(0),
        }
    }

    /// Returns the number of a job that begins.
    pub fn next_job(&self) -> u64 {
        self.jobs.fetch_add(1, Ordering::Relaxed) + 1
    }

    /// Wakes callers that wait for a job.
    pub fn job_has_ended(&self) {
        self.done.notify_all();
    }

    /// Makes threads that compact look what reads have made worth it.
    pub fn ask_for_reads(&self) {
        self.asked_by_reads.store(true, Ordering::Relaxed);
        self.work.notify_all();
    }

    /// Whether to look what reads have made worth it; the caller does.
    pub fn is_asked_by_reads(&self) -> bool {
        self.asked_by_reads.swap(false, Ordering::Relaxed)
    }

    /// Wakes the pools and callers that wait for a job: what they look at has changed.
    pub fn look_again(&self) {
        self.work.notify_all();
        self.done.notify_all();
    }

    /// Waits until a job has ended, or until `deadline` if there is one; returns whether
    /// the deadline has passed. The wait is measured for the caller's perf context.
    pub fn wait_for_job(
        &self,
        state: &mut MutexGuard<'_, DbState>,
        deadline: Option<Instant>,
    ) -> bool {
        let _timer = perf_context::timer(PerfMetric::DbConditionWaitNanos);
        // The caller may be in a callback of this database or of another one.
        let _waiting = Waiting::begin();
        match deadline {
            None => {
                self.done.wait(state);
                false
            }
            Some(deadline) => self.done.wait_until(state, deadline).timed_out(),
        }
    }

    /// Waits until the database closes or `moment` has come; returns whether it has come.
    pub fn rest_until(&self, state: &mut MutexGuard<'_, DbState>, moment: Instant) -> bool {
        self.ends.wait_until(state, moment).timed_out()
    }

    /// Makes running jobs stop early, and rate limits no longer hold.
    pub fn cancel_jobs(&self) {
        self.cancel.store(true, Ordering::Relaxed);
        if let Some(limiter) = &self.limiter {
            limiter.close();
        }
    }

    /// Wakes all that wait for a job or for the end of the database.
    pub fn wake_waiters(&self) {
        self.done.notify_all();
        self.ends.notify_all();
    }

    /// Keeps `thread`, to be waited for when the database is closed.
    pub fn keep(&self, thread: JoinHandle<()>) {
        self.threads.lock().push(thread);
    }

    /// Waits for the threads that were kept; returns how many have panicked.
    pub fn join(&self) -> usize {
        let threads = std::mem::take(&mut *self.threads.lock());
        threads.into_iter().filter_map(|t| t.join().err()).count()
    }
}

/// Makes the threads of the environment work for a database that is being opened.
///
/// # Errors
/// `Aborted` when a pool has no thread and none can be started. If only some of the wanted
/// threads could be started, the info log says so.
pub(crate) fn start(engine: &Arc<Engine>) -> Result<()> {
    engine.wake_on_release();
    // A simulation has pools of its own: its threads and other threads must not meet at a
    // lock.
    let pools = if system::is_simulated() {
        Arc::default()
    } else {
        engine.options.pools.clone()
    };
    let options = &engine.options;
    let (flushes, compactions) = options.background_threads();
    let wanted = [
        (options.flush_nice, flushes),
        (options.compaction_nice, compactions),
        // As many as the pool has.
        (options.compaction_nice, usize::MAX),
        options.thread_for_reads(),
        (0, 1),
    ];
    let warn = |text: &str| engine.info_log.error(text);
    let client: Arc<dyn PoolClient> = engine.clone();
    engine.background.work.start(&client, wanted, &pools, warn)
}

impl PoolClient for Engine {
    fn run_one(self: Arc<Self>, priority: Priority) -> Found {
        self.on_own_thread(|| match priority {
            Priority::High => flush_one(&self),
            Priority::Low => compact_one(&self),
            Priority::Bottom | Priority::Reads => compact_forwarded(&self, priority),
            Priority::Timer => self.dump_stats_when_due(),
        })
    }

    fn note_panic(&self) {
        self.info_log.error("a background thread panicked");
    }
}

impl Engine {
    /// Returns what table writers of column family `cf` need, with the options that hold
    /// for this job.
    pub(crate) fn output_context<'a>(
        &'a self,
        cf: &'a ColumnFamilyData,
        (db, options): (&'a DbOptions, &'a CfOptions),
        live: &'a Live,
    ) -> OutputContext<'a> {
        OutputContext {
            fs: &self.files.fs,
            paths: &cf.paths,
            versions: &self.files.versions,
            db,
            options,
            comparator: &cf.comparator,
            cf_id: cf.id,
            cf_name: &cf.name,
            db_id: &self.files.db_id,
            session_id: &self.files.session_id,
            live,
            limiter: self.background.limiter.as_ref(),
            gate: Some(&self.commit.gate),
            now: self.options.clock.now(),
            cancel: &self.background.cancel,
        }
    }
}

fn finish(engine: &Engine, outcome: Result<()>, source: Source) {
    match outcome {
        // The output for a column family that was dropped meanwhile is obsolete.
        Err(e) if e.kind() == ErrorKind::ColumnFamilyDropped => engine.purge_obsolete_files(),
        Ok(()) => {
            engine.report_success(source);
            engine.purge_obsolete_files();
        }
        Err(e) if e.kind() == ErrorKind::CompactionTooLarge => engine.put_off_compactions(&e),
        Err(e) => {
            engine.report(source, &e, "a background job");
            // The job may have failed for lack of space.
            engine.purge_obsolete_files();
        }
    }
    engine.background.look_again();
}
