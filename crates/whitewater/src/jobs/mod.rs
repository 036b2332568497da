//! Background threads: flushes and compactions.
//!
//! Flush threads and compaction threads wait on the database mutex's `work`
//! condition; each takes one job at a time. A job that failed with an I/O error
//! leaves its inputs as they were and nothing of its output, and is tried again
//! after a while; other failures stop the database (`db::failure`).

pub(crate) mod rate_limiter;

use crate::compact::pick::{self, Compaction};
use crate::db::Engine;
use crate::db::cf::ColumnFamilyData;
use crate::db::failure::Source;
use crate::db::state::DbState;
use crate::flush::{self, FlushJob};
use crate::options::DbOptions;
use std::any::Any;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::time::Instant;
use whitewater_concurrent::system::{self, JoinHandle, MutexGuard};
use whitewater_storage::{Error, ErrorKind, Result};

/// How many threads flush and how many compact: RocksDB's split of
/// `max_background_jobs`.
pub(crate) fn thread_counts(max_background_jobs: i32) -> (usize, usize) {
    let jobs = max_background_jobs.max(2) as usize;
    let flushes = (jobs / 4).max(1);
    (flushes, jobs - flushes)
}

/// Does one job, waiting for it; returns whether to go on.
type Work = fn(&Arc<Engine>) -> bool;

/// The threads of one kind: what they are called and do, and where they are
/// counted.
struct Kind {
    name: &'static str,
    nice: i32,
    work: Work,
    count: Count,
}

fn kinds(options: &DbOptions) -> [Kind; 2] {
    [
        Kind {
            name: "ww-flush",
            nice: options.flush_nice,
            work: flush_one,
            count: |s| &mut s.flush_threads,
        },
        Kind {
            name: "ww-compact",
            nice: options.compaction_nice,
            work: compact_one,
            count: |s| &mut s.compaction_threads,
        },
    ]
}

/// Starts the threads of a database that is being opened. One of each kind is
/// needed; where the system has no more, the others are missing, and LOG says so.
///
/// # Errors
/// `Aborted` when not even one thread of a kind can be started.
pub(crate) fn start(engine: &Arc<Engine>) -> Result<()> {
    engine.wake_on_release();
    let mut threads = engine.threads.lock();
    for kind in kinds(&engine.options) {
        if let Err(e) = start_kind(engine, &mut threads, &kind) {
            if (kind.count)(&mut engine.state.lock()).running == 0 {
                return Err(e);
            }
            engine.log.error(&format!("{e}; the database does without"));
        }
    }
    Ok(())
}

/// Starts the threads that `options` ask for and that do not run yet. The caller
/// makes `options` those of the database then, or calls this again.
///
/// # Errors
/// `Aborted` when one of them cannot be started: there are to be as many as
/// before then, and those that are too many end.
pub(crate) fn start_more(
    engine: &Arc<Engine>,
    threads: &mut Vec<JoinHandle<()>>,
    options: &DbOptions,
) -> Result<()> {
    // Of those that have ended since there were to be fewer.
    threads.retain(|thread| !thread.is_finished());
    {
        let mut state = engine.state.lock();
        let (flushes, compactions) = options.background_threads();
        state.flush_threads.want_at_least(flushes);
        state.compaction_threads.want_at_least(compactions);
    }
    for kind in kinds(&engine.options) {
        if let Err(e) = start_kind(engine, threads, &kind) {
            engine.state.lock().set_threads();
            engine.work.notify_all();
            return Err(e);
        }
    }
    Ok(())
}

/// Starts the threads of a kind that are wanted and do not run.
fn start_kind(engine: &Arc<Engine>, threads: &mut Vec<JoinHandle<()>>, kind: &Kind) -> Result<()> {
    let &Kind {
        name,
        nice,
        work,
        count,
    } = kind;
    loop {
        // The mutex is free again at the end of this statement.
        let next = take_on(&mut engine.state.lock(), count);
        let Some(i) = next else {
            return Ok(());
        };
        let body = {
            let engine = engine.clone();
            move || {
                engine.own_this_thread();
                be_nice(&engine, nice);
                while work(&engine) {}
            }
        };
        match system::spawn(format!("{name}{i}"), body) {
            Ok(handle) => threads.push(handle),
            Err(e) => {
                let wanted = give_back(&mut engine.state.lock(), count);
                let text = format_args!("starting background thread {name}{i} of {wanted}: {e}");
                return Err(Error::new(ErrorKind::Aborted, text));
            }
        }
    }
}

/// Lowers the priority of the calling thread, and of those that it starts, by
/// `steps`; without them a job still does all it has to.
#[cfg(target_os = "linux")]
fn be_nice(engine: &Engine, steps: i32) {
    if steps > 0
        && let Err(e) = rustix::process::nice(steps)
    {
        let text = format!("a background thread keeps its priority: {e}");
        engine.log.error(&text);
    }
}

/// Other numbers than 0 were refused.
#[cfg(not(target_os = "linux"))]
fn be_nice(_: &Engine, _: i32) {}

/// The threads of one kind.
#[derive(Debug, Default)]
pub(crate) struct ThreadCount {
    /// As many there are to be.
    pub wanted: usize,
    running: usize,
}

impl ThreadCount {
    fn want_at_least(&mut self, threads: usize) {
        self.wanted = self.wanted.max(threads);
    }
}

/// Where the threads of a kind are counted.
type Count = fn(&mut DbState) -> &mut ThreadCount;

impl DbState {
    /// Has as many threads run as the options ask for, once [`start_kind`] was
    /// called and those that are too many have looked.
    pub fn set_threads(&mut self) {
        let (flushes, compactions) = self.options.background_threads();
        self.flush_threads.wanted = flushes;
        self.compaction_threads.wanted = compactions;
    }
}

/// Counts one more thread, if there are too few; returns how many there were.
fn take_on(state: &mut DbState, count: Count) -> Option<usize> {
    let closing = state.closing;
    let threads = count(state);
    let running = threads.running;
    if closing || running >= threads.wanted {
        return None;
    }
    threads.running += 1;
    Some(running)
}

/// Counts one thread less, for it was not started; returns how many there are to
/// be.
fn give_back(state: &mut DbState, count: Count) -> usize {
    let threads = count(state);
    threads.running -= 1;
    threads.wanted
}

/// Whether the calling thread is to end: at the end of the database, or since
/// there are too many of its kind. It is not counted any more then.
fn is_to_end(state: &mut DbState, count: Count) -> bool {
    let closing = state.closing;
    let threads = count(state);
    let ends = closing || threads.running > threads.wanted;
    threads.running -= usize::from(ends);
    ends
}

/// Runs one flush; returns whether to go on.
fn flush_one(engine: &Arc<Engine>) -> bool {
    let jobs = {
        let mut state = engine.state.lock();
        loop {
            if is_to_end(&mut state, |s| &mut s.flush_threads) {
                return false;
            }
            if std::mem::take(&mut state.purge_asked) {
                drop(state);
                engine.purge_obsolete_files();
                return true;
            }
            let not_before = state.failure.flush.not_before(system::now());
            let may_start = state.failure.stop().is_none();
            if may_start
                && not_before.is_none()
                && let Some(jobs) = flush::pick(&mut state, engine.options.atomic_flush)
            {
                break jobs;
            }
            if may_start && engine.budget_asks(&mut state) {
                drop(state);
                engine.flush_for_budget();
                return true;
            }
            wait(engine, &mut state, not_before);
        }
    };
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
    true
}

/// Runs `jobs`, and lets others flush the families again. [`end_flush`] comes
/// once its outcome was reported.
fn run_flush(engine: &Engine, jobs: Vec<FlushJob>) -> Result<u64> {
    let outcome = engine.on_own_thread(|| guarded_value(|| flush::run(engine, &jobs)));
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

/// Runs one automatic compaction; returns whether to go on.
fn compact_one(engine: &Arc<Engine>) -> bool {
    let (cf, compaction) = {
        let mut state = engine.state.lock();
        loop {
            if is_to_end(&mut state, |s| &mut s.compaction_threads) {
                return false;
            }
            let look_again = engine.look_for_due(&mut state);
            let not_before = state.failure.compaction.not_before(system::now());
            let may_start = state.failure.stop().is_none() && not_before.is_none();
            if may_start && state.manual_compactions == 0 {
                // A custom comparator may panic here.
                match catch_unwind(AssertUnwindSafe(|| pick_compaction(&mut state))) {
                    Ok(Some(job)) => break job,
                    // What seemed due is not: those who wait for its end may go on.
                    Ok(None) => {
                        engine.done.notify_all();
                    }
                    Err(_) => {
                        drop(state);
                        let e = Error::new(ErrorKind::Aborted, "a comparator panicked");
                        engine.report(Source::Compaction, &e, "picking a compaction");
                        return true;
                    }
                }
            }
            // What is due by then has to wait for both.
            wait(engine, &mut state, not_before.or(look_again));
        }
    };
    let outcome = guarded(|| engine.run_compaction(&cf, compaction));
    let purge = engine.compaction_ended(&cf);
    // It may have been dropped meanwhile, and its files are deleted below.
    drop(cf);
    finish(engine, outcome, Source::Compaction);
    drop(purge);
    true
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

/// Turns a panic (of a merge operator, say) into an error.
pub(crate) fn guarded(work: impl FnOnce() -> Result<()>) -> Result<()> {
    guarded_value(work)
}

/// [`guarded`] for work that results in something.
pub(crate) fn guarded_value<T>(work: impl FnOnce() -> Result<T>) -> Result<T> {
    catch_unwind(AssertUnwindSafe(work)).unwrap_or_else(|panic| {
        let text = format_args!("a background job panicked: {}", text_of(&*panic));
        Err(Error::new(ErrorKind::Aborted, text))
    })
}

/// What a panic said, if it said something.
pub(crate) fn text_of(panic: &(dyn Any + Send)) -> &str {
    let text = panic.downcast_ref::<&str>().copied();
    text.or_else(|| panic.downcast_ref::<String>().map(String::as_str))
        .unwrap_or("no message")
}

/// Waits for work, or until `deadline`, when a job that failed may be tried
/// again or a file will be too old.
fn wait(engine: &Engine, state: &mut MutexGuard<'_, DbState>, deadline: Option<Instant>) {
    match deadline {
        None => engine.work.wait(state),
        Some(due) => drop(engine.work.wait_until(state, due)),
    }
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

#[cfg(test)]
mod tests {
    use super::thread_counts;

    #[test]
    fn a_quarter_of_the_jobs_flush() {
        assert_eq!(thread_counts(2), (1, 1));
        assert_eq!(thread_counts(0), (1, 1));
        assert_eq!(thread_counts(8), (2, 6));
    }
}
