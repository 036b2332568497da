//! Flush: memtables become level-0 tables.
//!
//! A flush waits until all writes in its memtables are visible, so nothing of a failed
//! write gets into a table. A resumption (`db::resume`) flushes memtables that hold failed
//! writes, up to their horizon.
//!
//! With `atomic_flush`, a flush takes the retired memtables of all column families, one
//! flush runs at a time, and the manifest gets its tables as one atomic group. A switch
//! retires all its memtables while it holds the database mutex, so a flush finds whole
//! switches, and with them whole batches.
//!
//! `below` iterates over the entries of a memtable up to a number. `purge` collects garbage in
//! memory instead of writing a table, where that is worth it; `payload` estimates whether it is.

mod below;
mod payload;
mod purge;

use super::finish;
use crate::clock::micros;
use crate::column_family::ColumnFamilyData;
use crate::db::failure::Source;
use crate::db::obsolete_files::Purge;
use crate::db::state::{CfState, DbState};
use crate::db::{Engine, data_dirs};
use crate::info_log::event::Event;
use crate::listener::event::Happened;
use crate::listener::{FlushJobInfo, FlushReason, TableFileCreationReason};
use crate::memtable::Memtable;
use crate::options::text::OptionText;
use crate::panics::{Guarded, caught};
use crate::read::merging::merging_iterator;
use crate::snapshots::Live;
use crate::stats::{Histogram, JobStats, Ticker};
use crate::sync_points::Point;
use crate::table_writer::source::Part;
use crate::table_writer::{Input, OutputContext, OutputSpec, Written, write_tables};
use crate::thread_pools;
use crate::thread_pools::pool::Found;
use crate::trace;
use crate::version::new_tables::NewTables;
use crate::version::{TableFile, Version};
use crate::write::stall::Pressure;
use below::Below;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use std::time::Instant;
use whitewater_concurrent::system;
use whitewater_storage::Result;
use whitewater_storage::key::SequenceNumber;
use whitewater_storage::manifest::{BlobFileMetaData, FileMetaData, VersionEdit};
use whitewater_storage::planted;
use whitewater_storage::sst::IoPriority;

/// The memtables of one column family that are flushed together.
pub(crate) struct FlushJob {
    pub cf: Arc<ColumnFamilyData>,
    /// The memtables, oldest first: the first ones of the column family's `imm`.
    pub memtables: Vec<Arc<Memtable>>,
    /// The column family's log number once they are flushed.
    pub next_log: u64,
    /// Whether they may stay in memory, without their garbage: nobody has asked for a flush.
    pub may_purge: bool,
    /// Why they are flushed.
    pub reason: FlushReason,
}

impl FlushJob {
    /// Whether it only records that logs are not needed. Listeners are not told then.
    fn is_empty(&self) -> bool {
        self.memtables.iter().all(|m| m.is_empty())
    }
}

/// Takes the next flush that is due, if any, and marks it as running. The flush is of one
/// column family, or with `atomic` of all that have something to flush.
///
/// A column family that an ingestion is entering is left to the ingestion: it flushes what
/// is in its way on its own thread, and its caller is told if that fails.
pub(crate) fn pick(state: &mut DbState, atomic: bool) -> Option<Vec<FlushJob>> {
    if atomic && (state.running_flushes > 0 || state.cfs.values().any(|cf| cf.ingesting)) {
        return None;
    }
    // The oldest memtable of the database first: a column family that fills up all the time
    // must not keep other memtables waiting, and their logs alive.
    let due = (state.cfs.values()).filter(|cf| cf.wants_flush() && !cf.ingesting);
    let next = due.min_by_key(|cf| cf.imm[0].id)?;
    let (id, requested) = (next.data.id, next.is_flush_requested());
    let mut jobs = begin(state, id, atomic)?;
    // As in RocksDB, atomic flushes always write tables.
    jobs.iter_mut()
        .for_each(|job| job.may_purge = !requested && !atomic);
    Some(jobs)
}

/// Marks the flush of all retired memtables of column family `id` as running, and with
/// `atomic` of those of all others. `None` if it has none. The caller knows that no other
/// flush of the column family is running, and with `atomic` that no flush is.
pub(crate) fn begin(state: &mut DbState, id: u32, mut atomic: bool) -> Option<Vec<FlushJob>> {
    let cf = state.cfs.get_mut(&id).filter(|cf| !cf.imm.is_empty())?;
    let reason = cf.take_flush_reason();
    planted!(AtomicFlushOfOne => atomic = false);
    let taken = |cf: &&mut CfState| !cf.imm.is_empty() && (atomic || cf.data.id == id);
    let jobs = state.cfs.values_mut().filter(taken).map(|cf| {
        cf.flushing = true;
        cf.take_flush_reason();
        FlushJob {
            cf: cf.data.clone(),
            memtables: cf.imm.clone(),
            next_log: cf.mem.wal_number(),
            may_purge: false,
            reason,
        }
    });
    let jobs = jobs.collect();
    state.running_flushes += 1;
    Some(jobs)
}

/// Marks `families` as no longer being flushed, by a flush that has failed or not.
pub(crate) fn end(state: &mut DbState, families: &[u32], failed: bool) {
    for id in families {
        if let Some(cf) = state.cfs.get_mut(id) {
            cf.end_flush(failed);
        }
    }
}

/// Writes `memtables` (oldest first) as one level-0 table, or none if nothing is left of
/// them.
pub(crate) fn write_level0(
    ctx: &OutputContext<'_>,
    memtables: &[Arc<Memtable>],
) -> Result<Written> {
    let sweep = |memtable: &Arc<Memtable>| match memtable.horizon() {
        SequenceNumber::MAX => memtable.flush_iter(),
        horizon => Box::new(Below::new(memtable.flush_iter(), horizon)),
    };
    let sources = memtables.iter().rev().map(sweep).collect();
    let mut tombstones = Vec::new();
    for memtable in memtables {
        let mut all = memtable.raw_tombstones()?;
        all.retain(|t| t.seq <= memtable.horizon());
        tombstones.extend(all);
    }
    let spec = OutputSpec {
        level: 0,
        flush: true,
        priority: IoPriority::High,
        bottommost: false,
        path_id: 0,
        compression: ctx.options.flush_compression(),
        max_file_size: u64::MAX,
        max_index_size: usize::MAX,
        epoch_number: ctx.versions.new_epoch_number(ctx.cf_id),
        oldest_ancester_time: ctx.now,
        inline_below: 0,
        grandparents: &[],
        history_low: &[],
        history_upto: &[],
    };
    let input = Input {
        source: merging_iterator(ctx.comparator.clone(), sources),
        tombstones,
        key_not_below: &|_| false,
        filter: None,
        blobs: None,
        counts_garbage: false,
        part: Part::default(),
        abandoned: &AtomicBool::new(false),
    };
    write_tables(ctx, &spec, input)
}

/// Runs `jobs` and installs their tables in one step; returns the number below which logs
/// are now obsolete. `None` if the memtables were purged instead.
pub(crate) fn run(engine: &Engine, jobs: &[FlushJob]) -> Result<Option<u64>> {
    let _span = trace::flush(&engine.files.dir, jobs.len());
    let memtables: Vec<_> = (jobs.iter())
        .flat_map(|job| job.memtables.iter().cloned())
        .collect();
    engine.await_writers(&memtables)?; // upholds S3 of `db::switch`
    memtables.iter().for_each(|m| m.seal());
    engine.settle_empty_memtables();
    if let [job] = jobs
        && purge::in_memory(engine, job)
    {
        return Ok(None);
    }
    // A power cut must not keep newer writes of this column family and lose older ones of
    // others that are only in the log. And archived logs must survive it: without them,
    // lost writes could not be told from writes that were not logged.
    // A prepared section may keep logs in which a decision on another one is durable only
    // with its log: without it, that section would come back beside its entries. Or it would
    // count as committed, if it was inserted when it was prepared and its log is not kept.
    let mut has_others = engine.state.lock().cfs.len() > 1;
    planted!(OtherLogsNotSynced => has_others = false);
    if has_others || engine.options.archives_logs() || engine.commit.sections.were_any() {
        let synced = engine
            .commit
            .wal
            .sync_closed(engine.latest_sequence_number());
        let synced = synced.and_then(|logs| engine.track_synced(logs));
        if let Err(e) = synced {
            engine.report(Source::Log, &e, "syncing the log before a flush");
            return Err(e);
        }
    }
    let last = memtables.iter().map(|m| m.last_number()).max();
    let hook = &engine.options.hook;
    let live = engine.live_for_job()?;
    hook.hit(Point::Flushing, last.unwrap_or(0));
    let _pending = engine.files.expect_outputs();
    if let [job, ..] = jobs
        && engine.options.atomic_flush
    {
        engine.count_atomic_flush(job.reason);
    }
    let mut flushed = Vec::with_capacity(jobs.len());
    for job in jobs {
        // What earlier jobs wrote for this flush is not going to be recorded.
        let written = write_one(engine, job, &job.memtables, &live);
        flushed.push(written.inspect_err(|_| remove(engine, jobs, &flushed))?);
    }
    let opened =
        make_ready(engine, jobs, &flushed).inspect_err(|_| remove(engine, jobs, &flushed))?;
    let min_log = install(engine, jobs, &flushed, opened)?;
    // Before those who wait for the flush go on.
    engine.check_allowed_space();
    tell_ends(engine, jobs, &flushed);
    Ok(Some(min_log))
}

/// The output of a job.
pub(crate) struct Flushed {
    /// When the job began.
    begun: Instant,
    /// The job's number in the info log.
    number: u64,
    pub tables: Vec<FileMetaData>,
    pub blob_files: Vec<BlobFileMetaData>,
    pub stats: JobStats,
    compression: String,
}

/// Writes the tables of `job`, from `memtables`.
pub(crate) fn write_one(
    engine: &Engine,
    job: &FlushJob,
    memtables: &[Arc<Memtable>],
    live: &Live,
) -> Result<Flushed> {
    let number = engine.background.next_job();
    tell_start(engine, job, number);
    engine.count_flush(job.reason);
    let (db, options) = (engine.db_options(), job.cf.options());
    let ctx = engine.output_context(&job.cf, (&db, &options), live);
    let start = system::now();
    let timer = engine.time(Histogram::FlushTime);
    let written = write_level0(&ctx, memtables)?;
    drop(timer);
    let garbage = written.input_bytes.saturating_sub(written.held.raw_bytes);
    engine.tick(Ticker::FlushWriteBytes, written.bytes());
    engine.tick(Ticker::MemtablePayloadBytesAtFlush, written.input_bytes);
    engine.tick(Ticker::MemtableGarbageBytesAtFlush, garbage);
    Ok(Flushed {
        begun: start,
        number,
        stats: JobStats {
            micros: micros(system::since(start)),
            cpu_micros: micros(written.cpu),
            bytes_written: written.bytes(),
            bytes_written_raw: written.held.raw_bytes,
            blob_bytes_written: written.blob_bytes(),
            records_in: written.input_entries,
            records_out: written.held.entries,
            files_out: written.files.len() as u64,
            count: 1,
            ..JobStats::default()
        },
        tables: written.files,
        blob_files: written.blob_files,
        compression: options.flush_compression().ty.print(),
    })
}

/// Removes files that are not going to be recorded.
pub(crate) fn remove(engine: &Engine, jobs: &[FlushJob], flushed: &[Flushed]) {
    for (job, flushed) in jobs.iter().zip(flushed) {
        let paths = &job.cf.paths;
        engine
            .files
            .remove_outputs(paths, &flushed.tables, &flushed.blob_files);
    }
}

/// Logs the start of `job` as job `number`.
fn tell_start(engine: &Engine, job: &FlushJob, number: u64) {
    engine.info_log.write(&format!(
        "[{}] [JOB {number}] Flushing memtable with next log file: {}",
        job.cf.name, job.next_log
    ));
    let sum = |of: fn(&Memtable) -> u64| job.memtables.iter().map(|m| of(m)).sum::<u64>();
    Event::new(number, "flush_started")
        .number("num_memtables", job.memtables.len())
        .number("num_entries", sum(Memtable::num_entries))
        .number("num_deletes", sum(Memtable::num_deletes))
        .number("memory_usage", sum(|m| m.memory_usage() as u64))
        .text("flush_reason", job.reason.as_str())
        .log(&engine.info_log);
    if !job.is_empty() {
        let begins = || Happened::FlushBegin(info(engine, job, number));
        engine.observers.note(begins);
    }
}

/// Returns what listeners are told when `job` begins.
fn info(engine: &Engine, job: &FlushJob, number: u64) -> FlushJobInfo {
    let sum = |of: fn(&Memtable) -> u64| job.memtables.iter().map(|m| of(m)).sum::<u64>();
    let pressure = engine.commit.gate.pressure();
    FlushJobInfo {
        cf_id: job.cf.id,
        cf_name: job.cf.name.clone(),
        job_id: number,
        flush_reason: job.reason,
        num_memtables: job.memtables.len() as u64,
        num_entries: sum(Memtable::num_entries),
        num_deletes: sum(Memtable::num_deletes),
        memory_usage: sum(|m| m.memory_usage() as u64),
        file_path: None,
        file_size: 0,
        smallest_seqno: 0,
        largest_seqno: 0,
        triggered_writes_slowdown: pressure == Pressure::Delayed,
        triggered_writes_stop: pressure == Pressure::Stopped,
        elapsed_micros: 0,
    }
}

/// Logs the ends of `jobs`, and tells listeners of them.
pub(crate) fn tell_ends(engine: &Engine, jobs: &[FlushJob], flushed: &[Flushed]) {
    for (job, flushed) in jobs.iter().zip(flushed) {
        tell_end(engine, job, flushed);
        note_end(engine, job, flushed);
    }
}

/// Tells listeners that `job` is done.
fn note_end(engine: &Engine, job: &FlushJob, flushed: &Flushed) {
    if job.is_empty() {
        return;
    }
    let number = flushed.number;
    let tables = &flushed.tables;
    engine.note_tables(&job.cf, number, TableFileCreationReason::Flush, tables);
    engine.observers.note(|| {
        let mut info = info(engine, job, number);
        info.elapsed_micros = flushed.stats.micros;
        if let Some(table) = tables.first() {
            info.file_path = Some(job.cf.paths.table(table));
            info.file_size = table.size;
            info.smallest_seqno = table.smallest_seqno;
            info.largest_seqno = table.largest_seqno;
        }
        Happened::FlushCompleted(info)
    });
}

/// Logs the end of `job`.
fn tell_end(engine: &Engine, job: &FlushJob, flushed: &Flushed) {
    let number = flushed.number;
    tell_tables(engine, &job.cf.name, number, &flushed.tables);
    tell_blob_files(engine, &job.cf.name, number, &flushed.blob_files);
    engine.info_log.write(&format!(
        "[{}] [JOB {number}] Flush lasted {} microseconds, {} bytes in level 0",
        job.cf.name,
        system::since(flushed.begun).as_micros(),
        flushed.stats.bytes_written
    ));
    let event = Event::new(number, "flush_finished");
    let event = event.text("output_compression", &flushed.compression);
    tell_levels(engine, &job.cf, event);
}

/// Logs the tables that job `number` has made for column family `family`.
pub(crate) fn tell_tables(engine: &Engine, family: &str, number: u64, tables: &[FileMetaData]) {
    for table in tables {
        Event::new(number, "table_file_creation")
            .text("cf_name", family)
            .number("file_number", table.number)
            .number("file_size", table.size)
            .number("smallest_seqno", table.smallest_seqno)
            .number("largest_seqno", table.largest_seqno)
            .text("status", "OK")
            .log(&engine.info_log);
    }
}

/// Logs the blob files that job `number` has made for column family `family`.
pub(crate) fn tell_blob_files(
    engine: &Engine,
    family: &str,
    number: u64,
    files: &[BlobFileMetaData],
) {
    for file in files {
        Event::new(number, "blob_file_creation")
            .text("cf_name", family)
            .number("file_number", file.number)
            .number("total_blob_count", file.count)
            .number("total_blob_bytes", file.bytes)
            .text("status", "OK")
            .log(&engine.info_log);
    }
}

/// Logs `event` of a finished job, with the present state of column family `family`.
pub(crate) fn tell_levels(engine: &Engine, family: &ColumnFamilyData, event: Event) {
    let view = family.pin_owned();
    let levels = 0..view.version.levels.len();
    event
        .list(
            "lsm_state",
            levels.map(|l| view.version.num_files(l) as u64),
        )
        .number("immutable_memtables", view.imm.len())
        .log(&engine.info_log);
}

/// The number of the first log that is needed once `jobs` have made tables of their memtables, and
/// that of the first one that is needed for sections.
fn first_needed_log(engine: &Engine, jobs: &[FlushJob]) -> (u64, Option<u64>) {
    let hook = &engine.options.hook;
    let by_memtables = || {
        let state = engine.state.lock();
        let families = state.cfs.values().map(|cf| {
            let job = jobs.iter().find(|job| job.cf.id == cf.data.id);
            cf.oldest_wal_after(job.map_or(0, |job| job.memtables.len()))
        });
        let next_logs = jobs.iter().map(|job| job.next_log);
        families.chain(next_logs).min().unwrap_or(0)
    };
    // Before the memtables, and after `next_log` was read: X1 and X2 of `db::two_phase`.
    let unsynced = engine.commit.wal.oldest_unsynced();
    let sections = engine.commit.sections.oldest_needed(unsynced);
    hook.hit(Point::Retaining, sections.unwrap_or(0));
    (by_memtables().min(sections.unwrap_or(u64::MAX)), sections)
}

/// Makes the names of what each job has written durable, and opens the tables.
pub(crate) fn make_ready(
    engine: &Engine,
    jobs: &[FlushJob],
    flushed: &[Flushed],
) -> Result<NewTables> {
    let dirs = jobs.iter().map(|job| job.cf.paths.first());
    data_dirs::sync_all(&*engine.files.fs, dirs)?;
    let mut opened = NewTables::default();
    for (job, flushed) in jobs.iter().zip(flushed) {
        let files: Vec<_> = flushed.tables.iter().map(|t| (0, t.clone())).collect();
        let view = job.cf.pin_owned();
        let with = &view.version.open_with;
        opened.open(&engine.files.tables, &files, &job.cf.comparator, with)?;
    }
    Ok(opened)
}

/// Records the tables of each job, which are open. Returns the number below which logs are
/// obsolete.
fn install(
    engine: &Engine,
    jobs: &[FlushJob],
    flushed: &[Flushed],
    mut opened: NewTables,
) -> Result<u64> {
    let job_of = |id: u32| jobs.iter().zip(flushed).find(|(job, _)| job.cf.id == id);
    let (mut min_log, sections) = first_needed_log(engine, jobs);
    let undecided_from = (engine.commit.undecided.as_ref()).map(|_| sections.unwrap_or(0));
    planted!(LogDeletedEarly => min_log = jobs[0].next_log);
    let edits = jobs.iter().zip(flushed).map(|(job, flushed)| VersionEdit {
        column_family: job.cf.id,
        log_number: Some(job.next_log),
        prev_log_number: Some(0),
        min_log_number_to_keep: Some(min_log),
        new_files: flushed.tables.iter().map(|t| (0, t.clone())).collect(),
        blob_files: flushed.blob_files.clone(),
        decided_to: engine.commit.sections.gone_by(),
        undecided_from,
        ..VersionEdit::default()
    });
    let mut edits: Vec<_> = edits.collect();
    planted!(LogNumberNotRecorded => edits.iter_mut().for_each(|edit| edit.log_number = None));
    let last = engine.latest_sequence_number();
    engine
        .files
        .versions
        .log_and_apply(edits, last, &[], &mut |changed| {
            // Declared before the guard, so it is dropped after the mutex is free.
            let mut old = Vec::new();
            opened.hand_over(changed);
            let mut state = engine.state.lock();
            for new in changed {
                let Some(cf) = state.cfs.get_mut(&new.id) else {
                    continue;
                };
                let done = job_of(new.id);
                if let Some((job, flushed)) = done {
                    hand_over_reads(job, flushed, &new.current);
                }
                old.push(cf.set_version(new.current.clone()));
                if let Some((job, flushed)) = done {
                    cf.stats.add_flush(flushed.stats);
                    // The job still holds the memtables.
                    cf.imm.drain(..job.memtables.len());
                    cf.held.note_flushed(&job.memtables);
                }
                cf.publish();
            }
            engine.recompute_stall(&mut state, changed.iter().map(|new| new.id));
        })
        .inspect_err(|e| engine.report(Source::Manifest, e, "recording a flush"))?;
    engine.log_stalls();
    Ok(min_log)
}

/// Counts the reads that looked into the memtables of `job` in vain for the table that it has made
/// of them, in `version`. A table that was made for reads is counted as paid for, so that the
/// compaction that it is for is due.
fn hand_over_reads(job: &FlushJob, flushed: &Flushed, version: &Version) {
    let mut reads: u64 = job.memtables.iter().map(|m| m.wasted_reads()).sum();
    if job.reason == FlushReason::AutoCompaction {
        let threshold = job.cf.options().read_triggered_compaction_threshold;
        let bytes: u64 = flushed.tables.iter().map(|made| made.size).sum();
        // No threshold makes sums of such counts overflow.
        reads += (threshold * bytes as f64).min((1u64 << 48) as f64) as u64 + 1;
    }
    let is_made = |file: &&Arc<TableFile>| {
        (flushed.tables.first()).is_some_and(|made| made.number == file.meta.number)
    };
    if let Some(table) = version.levels[0].iter().find(is_made) {
        table.note_wasted_reads(reads);
    }
}

/// Runs one flush, if one is due.
pub(super) fn flush_one(engine: &Arc<Engine>) -> Found {
    let jobs = {
        let mut state = engine.state.lock();
        if state.closing {
            return Found::Nothing(None);
        }
        if engine.purge_is_due(&mut state) {
            state.purges += 1;
            drop(state);
            let purge = Purge::of(engine);
            engine.purge_obsolete_files();
            drop(purge);
            return Found::Job;
        }
        let not_before = state.failure.flush.not_before(system::now());
        if state.failure.stop().is_some() {
            drop(state);
            return engine.resume_when_due();
        }
        Engine::flush_retired_for_reads(&mut state);
        let picked = if not_before.is_none() {
            pick(&mut state, engine.options.atomic_flush)
        } else {
            None
        };
        if picked.is_none()
            && not_before.is_none()
            && let Some(id) = Engine::asked_by_reads(&mut state)
        {
            drop(state);
            engine.flush_for_reads(id);
            return Found::Job;
        }
        match picked {
            Some(jobs) => jobs,
            None if engine.budget_asks(&mut state) => {
                drop(state);
                engine.flush_for_budget();
                return Found::Job;
            }
            None => return Found::Nothing(not_before.into_iter().chain(state.purge_due).min()),
        }
    };
    // There may be a flush for another thread.
    engine.background.work.wake(thread_pools::Priority::High);
    let outcome = run_flush(engine, jobs);
    let obsolete_logs = outcome.as_ref().ok().copied().flatten();
    end_job(engine, outcome);
    let purge = engine.begin_purge();
    end_flush(engine);
    // Last, since this may wait for a switch, and during a switch other threads wait for
    // the end of flushes.
    if let Some(below) = obsolete_logs {
        engine.purge_obsolete_logs(below);
    }
    drop(purge);
    Found::Job
}

/// Runs `jobs`, and lets other threads flush the column families again. The caller calls
/// [`end_flush`] once the outcome was reported.
fn run_flush(engine: &Engine, jobs: Vec<FlushJob>) -> Result<Option<u64>> {
    let outcome = engine.on_own_thread(|| caught(Guarded::Job, || run(engine, &jobs)));
    // Views of readers may keep the memtables alive; this thread's own references are
    // dropped before the next wait.
    let families: Vec<u32> = jobs.iter().map(|job| job.cf.id).collect();
    drop(jobs);
    end(&mut engine.state.lock(), &families, outcome.is_err());
    engine.background.job_has_ended();
    outcome
}

/// Reports `outcome`. A purge says nothing about whether tables can be written again.
fn end_job(engine: &Engine, outcome: Result<Option<u64>>) {
    match outcome {
        Ok(None) => engine.background.look_again(),
        outcome => finish(engine, outcome.map(drop), Source::Flush),
    }
}

/// Ends a flush. Called once its failure is counted, for threads that need to know whether
/// failures of running flushes may still come.
fn end_flush(engine: &Engine) {
    {
        let mut state = engine.state.lock();
        state.running_flushes -= 1;
        engine.forgive_flushes(&mut state);
    }
    engine.background.job_has_ended();
    engine.commit.tell_budget();
}

/// Flushes all retired memtables of column family `id`, and with atomic flushes of all
/// others, on the caller's thread, which may hold the right to switch. Returns the number
/// below which logs are then obsolete, for [`Engine::purge_obsolete_logs`] once the caller
/// does not hold that right.
///
/// # Errors
/// Errors of the flush, which flush threads retry; the failure that stopped the database.
pub(crate) fn flush_here(engine: &Engine, id: u32, reason: FlushReason) -> Result<Option<u64>> {
    let atomic = engine.options.atomic_flush;
    let jobs = {
        let mut state = engine.state.lock();
        loop {
            Engine::check_healthy(&state)?;
            if state.closing {
                return Err(Engine::shutdown_error());
            }
            // This looks at the marks on column families, not at the number of running
            // flushes: that number still includes a flush that waits for the switch to end.
            let flushing = if atomic {
                state.cfs.values().any(|cf| cf.flushing)
            } else {
                state.cfs.get(&id).is_some_and(|cf| cf.flushing)
            };
            if !flushing {
                if let Some(cf) = state.cfs.get_mut(&id) {
                    cf.request_flush(reason);
                }
                match begin(&mut state, id, atomic) {
                    Some(jobs) => break jobs,
                    None => return Ok(None),
                }
            }
            engine.background.wait_for_job(&mut state, None);
        }
    };
    let outcome = run_flush(engine, jobs);
    end_job(engine, outcome.clone());
    end_flush(engine);
    outcome
}
