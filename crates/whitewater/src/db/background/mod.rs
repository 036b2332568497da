//! Background work: flushes and compactions.
//!
//! The threads belong to the [pools](crate::thread_pools), which the databases of an
//! environment share: one pool for flushes, one for compactions, one for compactions to the
//! last level, one for what is due by time. A thread that looks at a database takes one job
//! at a time ([`flush`], [`compaction`]). A job that failed with an I/O error leaves its
//! inputs as they were and nothing of its output, and is retried after a while; other
//! failures stop the database (`db::failure`).

pub(crate) mod compaction;
pub(crate) mod flush;

use crate::column_family::ColumnFamilyData;
use crate::db::Engine;
use crate::db::failure::Source;
use crate::options::{CfOptions, DbOptions};
use crate::table_writer::OutputContext;
use crate::thread_pools::pool::Found;
use crate::thread_pools::{PoolClient, Priority};
use compaction::{compact_bottom, compact_one};
use flush::flush_one;
use std::sync::Arc;
use whitewater_concurrent::system;
use whitewater_storage::key::SequenceNumber;
use whitewater_storage::{ErrorKind, Result};

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
        (0, 1),
    ];
    let warn = |text: &str| engine.info_log.error(text);
    let client: Arc<dyn PoolClient> = engine.clone();
    engine.work.start(&client, wanted, &pools, warn)
}

impl PoolClient for Engine {
    fn run_one(self: Arc<Self>, priority: Priority) -> Found {
        self.on_own_thread(|| match priority {
            Priority::High => flush_one(&self),
            Priority::Low => compact_one(&self),
            Priority::Bottom => compact_bottom(&self),
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
        snapshots: &'a [SequenceNumber],
    ) -> OutputContext<'a> {
        OutputContext {
            fs: &self.files.fs,
            dir: &self.files.dir,
            versions: &self.files.versions,
            db,
            options,
            comparator: &cf.comparator,
            cf_id: cf.id,
            cf_name: &cf.name,
            db_id: &self.files.db_id,
            session_id: &self.files.session_id,
            snapshots,
            limiter: self.limiter.as_ref(),
            gate: Some(&self.gate),
            now: self.options.clock.now(),
            cancel: &self.cancel,
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
        Err(e) => {
            engine.report(source, &e, "a background job");
            // The job may have failed for lack of space.
            engine.purge_obsolete_files();
        }
    }
    engine.work.notify_all();
    engine.done.notify_all();
}
