//! Background threads: flushes and compactions.
//!
//! The threads are those of [`Pools`], which the databases of an environment share: one
//! pool for flushes, one for compactions, one for what is due by time. A thread that
//! looks at a database takes one job at a time. A job that failed with an I/O error
//! leaves its inputs as they were and nothing of its output, and is tried again
//! after a while; other failures stop the database (`db::failure`).

pub(crate) mod flush;

use crate::column_family::ColumnFamilyData;
use crate::compact::pick::{self, Compaction};
use crate::db::Engine;
use crate::db::failure::Source;
use crate::db::state::DbState;
use crate::panics::{Guarded, caught};
use crate::thread_pools::pool::Found;
use crate::thread_pools::{PoolClient, Priority};
use flush::FlushJob;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use whitewater_concurrent::system;
use whitewater_storage::{Error, ErrorKind, Result};

/// Has the threads of its environment work for a database that is being opened.
///
/// # Errors
/// `Aborted` when a pool has no thread and none can be started. Where there are only
/// some of those wanted, LOG says so.
pub(crate) fn start(engine: &Arc<Engine>) -> Result<()> {
    engine.wake_on_release();
    // Threads of a simulation and others do not meet at a lock.
    let pools = match system::is_simulated() {
        true => Arc::default(),
        false => engine.options.pools.clone(),
    };
    let options = &engine.options;
    let (flushes, compactions) = options.background_threads();
    let wanted = [
        (options.flush_nice, flushes),
        (options.compaction_nice, compactions),
        // As many as there are.
        (options.compaction_nice, usize::MAX),
        (0, 1),
    ];
    let warn = |text: &str| engine.log.error(text);
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
        self.log.error("a background thread panicked");
    }
}

/// Runs one flush, if there is one to run.
fn flush_one(engine: &Arc<Engine>) -> Found {
    let jobs = {
        let mut state = engine.state.lock();
        if state.closing {
            return Found::Nothing(None);
        }
        if std::mem::take(&mut state.purge_asked) {
            drop(state);
            engine.purge_obsolete_files();
            return Found::Job;
        }
        let not_before = state.failure.flush.not_before(system::now());
        let may_start = state.failure.stop().is_none();
        let picked = match may_start && not_before.is_none() {
            true => flush::pick(&mut state, engine.options.atomic_flush),
            false => None,
        };
        match picked {
            Some(jobs) => jobs,
            None if may_start && engine.budget_asks(&mut state) => {
                drop(state);
                engine.flush_for_budget();
                return Found::Job;
            }
            None => return Found::Nothing(not_before),
        }
    };
    // There may be one for another thread.
    engine.work.wake(Priority::High);
    let outcome = run_flush(engine, jobs);
    let obsolete_logs = outcome.as_ref().ok().copied();
    finish(engine, outcome.map(drop), Source::Flush);
    let purge = engine.begin_purge();
    end_flush(engine);
    // Last, for this may wait for a switch, during which others wait for the
    // end of flushes.
    if let Some(below) = obsolete_logs {
        engine.purge_obsolete_logs(below);
    }
    drop(purge);
    Found::Job
}

/// Runs `jobs`, and lets others flush the families again. [`end_flush`] comes
/// once its outcome was reported.
fn run_flush(engine: &Engine, jobs: Vec<FlushJob>) -> Result<u64> {
    let outcome = engine.on_own_thread(|| caught(Guarded::Job, || flush::run(engine, &jobs)));
    // Readers' views that still hold the memtables keep them alive; this
    // thread's own references go before the next wait.
    let families: Vec<u32> = jobs.iter().map(|job| job.cf.id).collect();
    drop(jobs);
    flush::end(&mut engine.state.lock(), &families, outcome.is_err());
    engine.done.notify_all();
    outcome
}

/// Once the failure of a flush is counted, for those who ask which failures
/// are to come from what runs.
fn end_flush(engine: &Engine) {
    {
        let mut state = engine.state.lock();
        state.running_flushes -= 1;
        engine.forgive_flushes(&mut state);
    }
    engine.done.notify_all();
    engine.tell_budget();
}

/// Flushes all full memtables of column family `id`, and with atomic flushes of
/// all others, on the caller's thread, who may have the right to switch. Returns
/// the number below which logs are obsolete then, for
/// [`Engine::purge_obsolete_logs`] once the caller has not.
///
/// # Errors
/// Those of the flush, which flush threads try again; the failure that stopped
/// the database.
pub(crate) fn flush_here(engine: &Engine, id: u32) -> Result<Option<u64>> {
    let atomic = engine.options.atomic_flush;
    let jobs = {
        let mut state = engine.state.lock();
        loop {
            Engine::check_healthy(&state)?;
            if state.closing {
                return Err(Engine::shutdown_error());
            }
            // By the marks on families, not by the number of running flushes:
            // one that waits for the switch to end is still among these.
            let flushing = match atomic {
                true => state.cfs.values().any(|cf| cf.flushing),
                false => state.cfs.get(&id).is_some_and(|cf| cf.flushing),
            };
            if !flushing {
                match flush::begin(&mut state, id, atomic) {
                    Some(jobs) => break jobs,
                    None => return Ok(None),
                }
            }
            engine.wait_for_job(&mut state, None);
        }
    };
    let outcome = run_flush(engine, jobs);
    finish(
        engine,
        outcome.as_ref().map(drop).map_err(Error::clone),
        Source::Flush,
    );
    end_flush(engine);
    outcome.map(Some)
}

/// Runs one automatic compaction, if there is one to run.
fn compact_one(engine: &Arc<Engine>) -> Found {
    let (cf, compaction) = {
        let mut state = engine.state.lock();
        if state.closing {
            return Found::Nothing(None);
        }
        let look_again = engine.look_for_due(&mut state);
        let not_before = state.failure.compaction.not_before(system::now());
        // What is due by then has to wait for both.
        let nothing = Found::Nothing(not_before.or(look_again));
        let may_start = state.failure.stop().is_none() && not_before.is_none();
        if !may_start || state.manual_compactions > 0 {
            return nothing;
        }
        // A custom comparator may panic here.
        match catch_unwind(AssertUnwindSafe(|| pick_compaction(&mut state))) {
            Ok(Some(job)) if engine.work.has_bottom() && is_for_bottom(&job.1, engine) => {
                state.forwarded.push_back(job);
                drop(state);
                engine.work.wake(Priority::Bottom);
                return Found::Job;
            }
            Ok(Some(job)) => job,
            // What seemed due is not: those who wait for its end may go on.
            Ok(None) => {
                engine.done.notify_all();
                return nothing;
            }
            Err(_) => {
                drop(state);
                let e = Error::new(ErrorKind::Aborted, "a comparator panicked");
                engine.report(Source::Compaction, &e, "picking a compaction");
                return Found::Job;
            }
        }
    };
    // There may be one for another thread.
    engine.work.wake(Priority::Low);
    run_picked(engine, cf, compaction)
}

/// Whether a compaction is for the pool of lowest priority, if that has threads:
/// one that writes to the last level. RocksDB's rule.
fn is_for_bottom(compaction: &Compaction, engine: &Engine) -> bool {
    let kept_free = usize::from(engine.options.allow_ingest_behind);
    let levels = compaction.version.levels.len();
    let last = levels.saturating_sub(1 + kept_free);
    let writes = !compaction.trivial_move && !compaction.deletes;
    writes && compaction.output_level > 0 && compaction.output_level == last
}

/// Runs one compaction to the last level that was left to this pool, if there is one.
fn compact_bottom(engine: &Arc<Engine>) -> Found {
    let forwarded = engine.state.lock().forwarded.pop_front();
    let Some((cf, compaction)) = forwarded else {
        return Found::Nothing(None);
    };
    // There may be one for another thread.
    engine.work.wake(Priority::Bottom);
    run_picked(engine, cf, compaction)
}

/// Runs a compaction that counts as running.
fn run_picked(engine: &Engine, cf: Arc<ColumnFamilyData>, compaction: Compaction) -> Found {
    let outcome = caught(Guarded::Job, || engine.run_compaction(&cf, compaction));
    let purge = engine.compaction_ended(&cf);
    // It may have been dropped meanwhile, and its files are deleted below.
    drop(cf);
    finish(engine, outcome, Source::Compaction);
    drop(purge);
    Found::Job
}

/// Picks the most urgent automatic compaction of any column family, and
/// counts it as running.
fn pick_compaction(state: &mut DbState) -> Option<(Arc<ColumnFamilyData>, Compaction)> {
    let mut due: Vec<(f64, u32)> = state
        .cfs
        .iter()
        .filter(|(_, cf)| cf.wants_compaction() && cf.requests_waiting == 0)
        .map(|(id, cf)| (cf.levels.score(), *id))
        .collect();
    due.sort_by(|a, b| b.0.total_cmp(&a.0));
    for (_, id) in due {
        let Some(cf) = state.cfs.get_mut(&id) else {
            continue;
        };
        let (data, version) = (cf.data.clone(), cf.version.clone());
        let options = cf.options().clone();
        let picked = pick::pick_automatic(
            &version,
            &options,
            &data.comparator,
            &mut cf.cursor,
            &cf.moment,
        );
        if let Some(compaction) = picked {
            state.running_compactions += 1;
            return Some((data, compaction));
        }
        cf.nothing_to_pick = true;
    }
    None
}

fn finish(engine: &Engine, outcome: Result<()>, source: Source) {
    match outcome {
        // What was made for a column family dropped meanwhile is obsolete.
        Err(e) if e.kind() == ErrorKind::ColumnFamilyDropped => engine.purge_obsolete_files(),
        Ok(()) => {
            engine.report_success(source);
            engine.purge_obsolete_files();
        }
        Err(e) => {
            engine.report(source, &e, "a background job");
            // It may have been for want of room.
            engine.purge_obsolete_files();
        }
    }
    engine.work.notify_all();
    engine.done.notify_all();
}
