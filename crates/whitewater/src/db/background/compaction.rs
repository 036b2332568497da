//! Running compactions: those that background threads pick, and those that callers request.

use super::finish;
use crate::clock::micros;
use crate::column_family::ColumnFamilyData;
use crate::compact::job;
use crate::compact::part_events::PartEvents;
use crate::compact::pick::{self, Compaction};
use crate::db::Engine;
use crate::db::background::flush::{tell_blob_files, tell_levels, tell_tables};
use crate::db::data_dirs;
use crate::db::events::job_stats;
use crate::db::failure::Source;
use crate::db::obsolete_files::Purge;
use crate::db::state::DbState;
use crate::info_log::event::Event;
use crate::listener::event::Happened;
use crate::listener::{CompactionJobStats, TableFileCreationReason};
use crate::panics::{Guarded, caught};
use crate::stats::JobStats;
use crate::thread_pools::Priority;
use crate::thread_pools::pool::Found;
use crate::trace;
use crate::version::new_tables::NewTables;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::PathBuf;
use std::sync::Arc;
use whitewater_concurrent::system;
use whitewater_storage::manifest::{FileMetaData, VersionEdit};
use whitewater_storage::{Error, ErrorKind, Result};

/// A compaction that was recorded.
struct Done {
    tables: Vec<FileMetaData>,
    moved: bool,
    stats: CompactionJobStats,
}

/// Runs one automatic compaction, if one is due.
pub(super) fn compact_one(engine: &Arc<Engine>) -> Found {
    let Picked { cf, compaction, .. } = {
        let mut state = engine.state.lock();
        if state.closing {
            return Found::Nothing(None);
        }
        let look_again = engine.look_for_due(&mut state);
        let not_before = state.failure.compaction.not_before(system::now());
        // What becomes due by `look_again` has to wait for `not_before`, too.
        let nothing = Found::Nothing(not_before.or(look_again));
        let may_start = state.failure.stop().is_none() && not_before.is_none();
        if !may_start || state.manual_compactions > 0 {
            return nothing;
        }
        // A custom comparator may panic here.
        match catch_unwind(AssertUnwindSafe(|| pick_compaction(&mut state))) {
            Ok(Some(picked)) => match other_pool(engine, &picked) {
                None => picked,
                Some(pool) => {
                    let Picked { cf, compaction, .. } = picked;
                    state.forwarded.push_back((pool, cf, compaction));
                    drop(state);
                    engine.background.work.wake(pool);
                    return Found::Job;
                }
            },
            // What seemed due is not: threads that wait for its end may continue.
            Ok(None) => {
                engine.background.job_has_ended();
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
    engine.background.work.wake(Priority::Low);
    run_picked(engine, cf, compaction)
}

/// The pool that a compaction is left to, if that is not the one for compactions. Called under the
/// database mutex, for which the thread that this wakes waits.
fn other_pool(engine: &Engine, picked: &Picked) -> Option<Priority> {
    let work = &engine.background.work;
    if work.has_bottom() && is_for_bottom(&picked.compaction, engine) {
        return Some(Priority::Bottom);
    }
    // It must not wait there for the compaction of another database: meanwhile nobody else could
    // compact its inputs.
    (picked.for_reads && work.wake_for_reads()).then_some(Priority::Reads)
}

/// Whether a compaction belongs to the pool of lowest priority, if that has threads: it
/// does if it writes to the last level. This is RocksDB's rule.
fn is_for_bottom(compaction: &Compaction, engine: &Engine) -> bool {
    let kept_free = usize::from(engine.options.allow_ingest_behind);
    let levels = compaction.version.levels.len();
    let last = levels.saturating_sub(1 + kept_free);
    let writes = !compaction.trivial_move && !compaction.deletes;
    writes && compaction.output_level > 0 && compaction.output_level == last
}

/// Runs one compaction that was left to `pool`, if there is one.
pub(super) fn compact_forwarded(engine: &Arc<Engine>, pool: Priority) -> Found {
    let forwarded = {
        let queue = &mut engine.state.lock().forwarded;
        let first = queue.iter().position(|(of, ..)| *of == pool);
        first.and_then(|at| queue.remove(at))
    };
    let Some((_, cf, compaction)) = forwarded else {
        return Found::Nothing(None);
    };
    let work = &engine.background.work;
    let _lent = (pool == Priority::Reads).then(|| work.lent());
    // There may be one for another thread.
    work.wake(pool);
    run_picked(engine, cf, compaction)
}

/// Runs a compaction that is already counted as running.
fn run_picked(engine: &Engine, cf: Arc<ColumnFamilyData>, compaction: Compaction) -> Found {
    let outcome = caught(Guarded::Job, || {
        engine.run_compaction(&cf, compaction).map(drop)
    });
    let purge = engine.compaction_ended(&cf);
    // The column family may have been dropped meanwhile; its files are deleted below.
    drop(cf);
    finish(engine, outcome, Source::Compaction);
    drop(purge);
    Found::Job
}

/// An automatic compaction that was picked.
struct Picked {
    cf: Arc<ColumnFamilyData>,
    compaction: Compaction,
    /// Whether reads have made it worth it, whatever else it was picked for.
    for_reads: bool,
}

/// Picks the most urgent automatic compaction of all column families, and counts it as
/// running.
fn pick_compaction(state: &mut DbState) -> Option<Picked> {
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
            let asked = &cf.levels.marks.read_triggered;
            return Some(Picked {
                for_reads: asked.iter().any(|place| compaction.takes(*place)),
                cf: data,
                compaction,
            });
        }
        cf.nothing_to_pick = true;
    }
    None
}

impl Engine {
    /// Runs `compaction` and installs what it made. Returns the paths of the tables that were
    /// written or moved.
    pub(crate) fn run_compaction(
        &self,
        cf: &Arc<ColumnFamilyData>,
        compaction: Compaction,
    ) -> Result<Vec<PathBuf>> {
        let number = self.background.next_job();
        let _span = trace::compaction(&self.files.dir, &cf.name, number, compaction.output_level);
        self.tell_start(cf, &compaction, number);
        let info = self.compaction_info(cf, &compaction, number);
        if let Some(info) = info.clone() {
            self.observers.note(|| Happened::CompactionBegin(info));
        }
        let mut done = None;
        let events = (info.as_ref().zip(self.observers.events()))
            .map(|(info, events)| PartEvents::new(events, info));
        let outcome = self.compact(cf, compaction, number, events, &mut done);
        let tables = done.iter().flat_map(|done| &done.tables);
        let outputs: Vec<PathBuf> = tables.map(|t| cf.paths.table(t)).collect();
        if let Some(mut info) = info {
            match done {
                Some(Done {
                    tables,
                    moved,
                    stats,
                }) => {
                    let reason = TableFileCreationReason::Compaction;
                    if !moved {
                        self.note_tables(cf, number, reason, &tables);
                    }
                    info.output_files.clone_from(&outputs);
                    (info.trivial_move, info.stats) = (moved, stats);
                }
                None => info.status.clone_from(&outcome),
            }
            self.observers.note(|| Happened::CompactionCompleted(info));
        }
        outcome.map(|()| outputs)
    }

    // Long: the order of its steps is what keeps files and readers safe.
    fn compact(
        &self,
        cf: &Arc<ColumnFamilyData>,
        compaction: Compaction,
        number: u64,
        events: Option<PartEvents<'_>>,
        recorded: &mut Option<Done>,
    ) -> Result<()> {
        let start = system::now();
        let live = self.live_for_job()?;
        let (db, options) = (self.db_options(), cf.options());
        let ctx = self.output_context(cf, (&db, &options), &live);
        let _room =
            (self.reserve_for(&cf.paths, &compaction)).inspect_err(|e| self.count_cancelled(e))?;
        let _pending = self.files.expect_outputs();
        let mut done = job::run(&compaction, &ctx, &self.files.tables, events)
            .inspect_err(|e| self.count_cancelled(e))?;
        done.edit.decided_to = self.commit.sections.gone_by();
        let outputs: Vec<_> = done.edit.new_files.iter().map(|(_, f)| f.clone()).collect();
        let mut opened = NewTables::default();
        if !done.moved {
            tell_tables(self, &cf.name, number, &outputs);
            tell_blob_files(self, &cf.name, number, &done.edit.blob_files);
            opened = self
                .open_outputs(cf, &compaction, &done.edit)
                .inspect_err(|_| {
                    let (files, blobs) = (&self.files, &done.edit.blob_files);
                    files.remove_outputs(&cf.paths, &outputs, blobs);
                })?;
        }
        let last = self.latest_sequence_number();
        self.files
            .versions
            .log_and_apply(vec![done.edit], last, &[], &mut |changed| {
                // Declared before the guard, so it is dropped after the mutex is free.
                let mut old = Vec::new();
                opened.hand_over(changed);
                let mut state = self.lock_state();
                for new in changed {
                    let Some(cf) = state.cfs.get_mut(&new.id) else {
                        continue;
                    };
                    old.push(cf.set_version(new.current.clone()));
                    cf.publish();
                }
                self.recompute_stall(&mut state, changed.iter().map(|new| new.id));
            })
            .inspect_err(|e| self.report(Source::Manifest, e, "recording a compaction"))?;
        let micros = micros(system::since(start));
        let stats = JobStats {
            micros: if done.moved { 0 } else { micros },
            ..done.stats
        };
        self.count_compaction(&compaction, &stats, &done.drops);
        self.info_log.write(&format!(
            "[{}] [JOB {number}] Compacted {} in {} parts => {} bytes",
            cf.name,
            compaction.summary(),
            done.parts,
            stats.bytes_written
        ));
        let event = Event::new(number, "compaction_finished")
            .number("compaction_time_micros", micros)
            .number("output_level", compaction.output_level)
            .number("num_output_files", outputs.len())
            .number("total_output_size", stats.bytes_written);
        tell_levels(self, cf, event);
        *recorded = Some(Done {
            tables: outputs,
            moved: done.moved,
            stats: job_stats(&stats, &done.drops, done.parts),
        });
        // Dropping the compaction removes the marks on its files. The scores left out
        // marked files; from here on they count a file that was only moved. The version is
        // dropped after the mutex.
        let old = compaction.version.clone();
        let (output_level, reason) = (compaction.output_level, compaction.reason);
        let mut state = self.lock_state();
        drop(compaction);
        if let Some(cf) = state.cfs.get_mut(&cf.id) {
            cf.stats.add_compaction(output_level, reason, stats);
            cf.score_levels();
        }
        self.recompute_stall(&mut state, [cf.id]);
        drop(state);
        drop(old);
        self.snapshots.note_gone(&live, &self.live());
        self.log_stalls();
        Ok(())
    }

    /// Makes what `compaction` has written durable, and opens it.
    fn open_outputs(
        &self,
        cf: &ColumnFamilyData,
        compaction: &Compaction,
        edit: &VersionEdit,
    ) -> Result<NewTables> {
        let blobs = !edit.blob_files.is_empty();
        let dirs = data_dirs::written(&cf.paths, compaction.path_id, blobs);
        data_dirs::sync_all(&*self.files.fs, dirs)?;
        let mut opened = NewTables::default();
        let with = &compaction.version.open_with;
        opened.open(&self.files.tables, &edit.new_files, &cf.comparator, with)?;
        Ok(opened)
    }

    /// Logs the start of `compaction` as job `number`.
    fn tell_start(&self, cf: &ColumnFamilyData, compaction: &Compaction, number: u64) {
        self.info_log.write(&format!(
            "[{}] [JOB {number}] Compacting {}",
            cf.name,
            compaction.summary()
        ));
        let mut event = Event::new(number, "compaction_started")
            .text("cf_name", &cf.name)
            .text("compaction_reason", compaction.reason.as_str());
        for (level, files) in &compaction.inputs {
            let numbers = files.iter().map(|f| f.meta.number);
            event = event.list(&format!("files_L{level}"), numbers);
        }
        let inputs = compaction.inputs.iter().flat_map(|(_, files)| files);
        event
            .number("input_data_size", inputs.map(|f| f.meta.size).sum::<u64>())
            .log(&self.info_log);
    }

    /// Ends a compaction of `cf`, successful or not: its files are free again. The result
    /// lives until the files that it made obsolete are deleted.
    pub(crate) fn compaction_ended(&self, cf: &ColumnFamilyData) -> Purge<'_> {
        let mut state = self.lock_state();
        state.purges += 1;
        state.running_compactions -= 1;
        if let Some(cf) = state.cfs.get_mut(&cf.id) {
            cf.score_levels();
        }
        drop(state);
        Purge::of(self)
    }
}
