//! Flush: memtables become level-0 tables.
//!
//! A flush waits until all writes in its memtables are visible, so nothing of
//! a failed one gets into a table. A resumption (`db::resume`) flushes
//! memtables that hold failed writes, up to their horizon.

mod below;

use crate::compact::output::{OutputContext, OutputSpec, write_tables};
use crate::db::Engine;
use crate::db::cf::ColumnFamilyData;
use crate::db::failure::Source;
use crate::db::state::DbState;
use crate::memtable::Memtable;
use crate::read::merging::merging_iterator;
use crate::stats::{Histogram, Ticker};
use crate::write::points::Point;
use below::Below;
use std::sync::Arc;
use std::time::{Instant, SystemTime, UNIX_EPOCH};
use whitewater_storage::Result;
use whitewater_storage::key::SequenceNumber;
use whitewater_storage::manifest::{FileMetaData, VersionEdit};

/// Memtables of one column family to be flushed together.
pub(crate) struct FlushJob {
    pub cf: Arc<ColumnFamilyData>,
    /// Oldest first: the first ones of the column family's `imm`.
    pub memtables: Vec<Arc<Memtable>>,
    /// The log number that holds once they are flushed.
    pub next_log: u64,
}

/// Takes the next flush that is due, if any, and marks it as running.
pub(crate) fn pick(state: &mut DbState) -> Option<FlushJob> {
    // The oldest memtable of the database first: a column family that fills up
    // all the time must not keep the others' waiting, and their logs alive.
    let due = state.cfs.values_mut().filter(|cf| cf.wants_flush());
    let cf = due.min_by_key(|cf| cf.imm[0].id)?;
    cf.flushing = true;
    cf.flush_requested = false;
    let memtables = cf.imm.clone();
    let job = FlushJob {
        cf: cf.data.clone(),
        memtables,
        next_log: cf.mem.wal_number(),
    };
    state.running_flushes += 1;
    Some(job)
}

/// Writes `memtables` (oldest first) into one level-0 table, or none if
/// nothing is left of them.
pub(crate) fn write_level0(
    ctx: &OutputContext<'_>,
    memtables: &[Arc<Memtable>],
) -> Result<Vec<FileMetaData>> {
    let sweep = |memtable: &Arc<Memtable>| match memtable.horizon() {
        SequenceNumber::MAX => memtable.sweep(),
        horizon => Box::new(Below::new(memtable.sweep(), horizon)),
    };
    let sources = memtables.iter().rev().map(sweep).collect();
    let mut tombstones = Vec::new();
    for memtable in memtables {
        let mut all = memtable.raw_tombstones()?;
        all.retain(|t| t.seq <= memtable.horizon());
        tombstones.extend(all);
    }
    let now = SystemTime::now()
        .duration_since(UNIX_EPOCH)
        .map_or(0, |d| d.as_secs());
    let spec = OutputSpec {
        level: 0,
        bottommost: false,
        max_file_size: u64::MAX,
        epoch_number: ctx.versions.new_epoch_number(ctx.cf_id),
        oldest_ancester_time: now,
    };
    let source = merging_iterator(ctx.comparator.clone(), sources);
    write_tables(ctx, &spec, source, tombstones, &|_| false)
}

/// Runs `job` and installs its table.
pub(crate) fn run(engine: &Engine, job: &FlushJob) -> Result<()> {
    let start = Instant::now();
    engine.await_writers(&job.memtables)?; // upholds S3 of `db::switch`
    job.memtables.iter().for_each(|m| m.seal());
    engine.settle_empty_memtables();
    // A power cut must not keep this family's newer writes and lose older ones
    // of others that are only in the log. And what is archived must be there
    // afterwards: nobody could tell what is missing from what was not logged.
    if engine.state.lock().cfs.len() > 1 || engine.options.archives_logs() {
        let synced = engine.wal.sync_closed(engine.latest_sequence_number());
        let synced = synced.and_then(|logs| engine.track_synced(logs));
        if let Err(e) = synced {
            engine.report(Source::Log, &e, "syncing the log before a flush");
            return Err(e);
        }
    }
    let last = job.memtables.iter().map(|m| m.last_number()).max();
    let hook = &engine.options.hook;
    hook.reached(Point::Flushing, last.unwrap_or(0));
    let snapshots = engine.snapshots.sequences();
    let ctx = engine.output_context(&job.cf, &snapshots);
    let timer = engine.time(Histogram::FlushTime);
    let tables = write_level0(&ctx, &job.memtables)?;
    drop(timer);
    engine.fs.sync_dir(&engine.dir)?;
    let bytes: u64 = tables.iter().map(|t| t.size).sum();
    engine.tick(Ticker::FlushWriteBytes, bytes);
    let min_log = install(engine, job, tables)?;
    engine.purge_obsolete_logs(min_log);
    engine.log.write(&format!(
        "[{}] Flushed {} memtables into {bytes} bytes of level 0 in {} us",
        job.cf.name,
        job.memtables.len(),
        start.elapsed().as_micros()
    ));
    Ok(())
}

/// Records the table; returns the number below which logs are obsolete.
fn install(engine: &Engine, job: &FlushJob, tables: Vec<FileMetaData>) -> Result<u64> {
    let min_log = {
        let state = engine.state.lock();
        let others = state.cfs.values().filter(|cf| cf.data.id != job.cf.id);
        others
            .map(|cf| cf.oldest_wal())
            .fold(job.next_log, u64::min)
    };
    let edit = VersionEdit {
        column_family: job.cf.id,
        log_number: Some(job.next_log),
        prev_log_number: Some(0),
        min_log_number_to_keep: Some(min_log),
        new_files: tables.into_iter().map(|t| (0, t)).collect(),
        ..VersionEdit::default()
    };
    let last = engine.latest_sequence_number();
    engine
        .versions
        .log_and_apply(vec![edit], last, None, &mut |changed| {
            // Declared first, so dropped after the mutex is free.
            let mut old = Vec::new();
            let mut state = engine.state.lock();
            for new in changed {
                let Some(cf) = state.cfs.get_mut(&new.id) else {
                    continue;
                };
                old.push(cf.set_version(new.current.clone()));
                if new.id == job.cf.id {
                    // The job holds the memtables on.
                    cf.imm.drain(..job.memtables.len());
                }
                cf.publish();
            }
            engine.weigh(&mut state, changed.iter().map(|new| new.id));
        })
        .inspect_err(|e| engine.report(Source::Manifest, e, "recording a flush"))?;
    engine.tell_stalls();
    Ok(min_log)
}
