//! Background threads: flushes and compactions.
//!
//! Flush threads and compaction threads wait on the database mutex's `work`
//! condition; each takes one job at a time. A job that failed with an I/O error
//! leaves its inputs as they were and nothing of its output, and is tried again
//! after a while; other failures stop the database (`db::failure`).

use crate::compact::pick::{self, Compaction};
use crate::db::Engine;
use crate::db::cf::ColumnFamilyData;
use crate::db::failure::Source;
use crate::db::state::DbState;
use crate::flush;
use parking_lot::MutexGuard;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::time::Instant;
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

/// Starts the threads.
///
/// # Errors
/// When not even one thread of a kind can be started.
pub(crate) fn start(engine: &Arc<Engine>) -> Result<()> {
    let (flushes, compactions) = engine.options.background_threads();
    let mut threads = engine.threads.lock();
    let kinds: [(usize, &str, Work); 2] = [
        (flushes, "ww-flush", flush_one),
        (compactions, "ww-compact", compact_one),
    ];
    for (count, name, work) in kinds {
        for i in 0..count {
            let engine = engine.clone();
            let body = move || while work(&engine) {};
            match std::thread::Builder::new()
                .name(format!("{name}{i}"))
                .spawn(body)
            {
                Ok(handle) => threads.push(handle),
                // One thread of a kind is needed; more only help.
                Err(e) if i == 0 => {
                    return Err(Error::new(
                        ErrorKind::Aborted,
                        format_args!("starting a background thread: {e}"),
                    ));
                }
                Err(_) => break,
            }
        }
    }
    Ok(())
}

/// Runs one flush; returns whether to go on.
fn flush_one(engine: &Arc<Engine>) -> bool {
    let job = {
        let mut state = engine.state.lock();
        loop {
            if state.closing {
                return false;
            }
            let not_before = state.failure.flush.not_before(Instant::now());
            let may_start = state.failure.stop().is_none();
            if may_start
                && not_before.is_none()
                && let Some(job) = flush::pick(&mut state)
            {
                break job;
            }
            if may_start && engine.budget_asks(&mut state) {
                drop(state);
                engine.flush_for_budget();
                return true;
            }
            wait(engine, &mut state, not_before);
        }
    };
    let outcome = guarded(|| flush::run(engine, &job));
    // Readers' views that still hold the memtables keep them alive; this
    // thread's own references go before the next wait.
    let id = job.cf.id;
    drop(job);
    if let Some(cf) = engine.state.lock().cfs.get_mut(&id) {
        cf.flushing = false;
    }
    finish(engine, outcome, Source::Flush);
    // Once its failure is counted, for those who ask which failures are to come
    // from what runs.
    engine.state.lock().running_flushes -= 1;
    engine.done.notify_all();
    engine.tell_budget();
    true
}

/// Runs one automatic compaction; returns whether to go on.
fn compact_one(engine: &Arc<Engine>) -> bool {
    let (cf, compaction) = {
        let mut state = engine.state.lock();
        loop {
            if state.closing {
                return false;
            }
            let not_before = state.failure.compaction.not_before(Instant::now());
            let may_start = state.failure.stop().is_none() && not_before.is_none();
            if may_start && state.manual_compactions == 0 {
                // A custom comparator may panic here.
                match catch_unwind(AssertUnwindSafe(|| pick_compaction(&mut state))) {
                    Ok(Some(job)) => break job,
                    Ok(None) => {}
                    Err(_) => {
                        drop(state);
                        let e = Error::new(ErrorKind::Aborted, "a comparator panicked");
                        engine.report(Source::Compaction, &e, "picking a compaction");
                        return true;
                    }
                }
            }
            wait(engine, &mut state, not_before);
        }
    };
    let outcome = guarded(|| engine.run_compaction(&cf, compaction));
    engine.state.lock().running_compactions -= 1;
    finish(engine, outcome, Source::Compaction);
    true
}

/// Picks the most urgent automatic compaction of any column family, and
/// counts it as running.
fn pick_compaction(state: &mut DbState) -> Option<(Arc<ColumnFamilyData>, Compaction)> {
    let mut due: Vec<(f64, u32)> = state
        .cfs
        .iter()
        .filter(|(_, cf)| cf.wants_compaction())
        .filter_map(|(id, cf)| Some((cf.levels.scores.first()?.0, *id)))
        .collect();
    due.sort_by(|a, b| b.0.total_cmp(&a.0));
    for (_, id) in due {
        let Some(cf) = state.cfs.get_mut(&id) else {
            continue;
        };
        let (data, version) = (cf.data.clone(), cf.version.clone());
        let picked =
            pick::pick_automatic(&version, &data.options, &data.comparator, &mut cf.cursor);
        if let Some(compaction) = picked {
            state.running_compactions += 1;
            return Some((data, compaction));
        }
    }
    None
}

/// Turns a panic (of a merge operator, say) into an error.
pub(crate) fn guarded(work: impl FnOnce() -> Result<()>) -> Result<()> {
    catch_unwind(AssertUnwindSafe(work))
        .unwrap_or_else(|_| Err(Error::new(ErrorKind::Aborted, "a background job panicked")))
}

/// Waits for work, or until a job that failed may be tried again.
fn wait(engine: &Engine, state: &mut MutexGuard<'_, DbState>, not_before: Option<Instant>) {
    match not_before {
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
        Err(e) => engine.report(source, &e, "a background job"),
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
