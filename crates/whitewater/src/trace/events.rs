//! Listeners' events and lines of the info log as events of `tracing`.

use crate::listener::event::Happened;
use crate::listener::{
    BackgroundErrorRecoveryInfo, CompactionJobInfo, FlushJobInfo, SubcompactionJobInfo,
    TableFileDeletionInfo, WriteStallCondition, WriteStallInfo,
};
use crate::logger::LogLevel;
use std::panic::catch_unwind;
use std::path::Path;
use tracing::{debug, error, info, trace, warn};

/// Emits what happened in the database in `dir`.
pub(crate) fn happened(dir: &Path, event: &Happened) {
    let db = dir.display();
    match event {
        Happened::FlushBegin(info) => {
            let FlushJobInfo {
                cf_name,
                job_id,
                flush_reason,
                num_memtables,
                num_entries,
                ..
            } = info;
            debug!(
                target: "whitewater::flush", %db, cf = cf_name, job = job_id,
                reason = flush_reason.as_str(), memtables = num_memtables, entries = num_entries,
                "flush begins"
            );
        }
        Happened::FlushCompleted(info) => info!(
            target: "whitewater::flush", %db, cf = info.cf_name, job = info.job_id,
            file = info.file_path.as_ref().map(|p| tracing::field::display(p.display())),
            bytes = info.file_size, entries = info.num_entries, micros = info.elapsed_micros,
            "flush completed"
        ),
        Happened::CompactionBegin(info) => debug!(
            target: "whitewater::compaction", %db, cf = info.cf_name, job = info.job_id,
            reason = info.compaction_reason, input_level = info.base_input_level,
            output_level = info.output_level, files = info.input_files.len(),
            "compaction begins"
        ),
        Happened::CompactionCompleted(info) => compacted(dir, info),
        Happened::SubcompactionBegin(info) => debug!(
            target: "whitewater::compaction", %db, cf = info.cf_name, job = info.job_id,
            part = info.subcompaction_job_id, "subcompaction begins"
        ),
        Happened::SubcompactionCompleted(info) => subcompacted(dir, info),
        Happened::TableFileCreated(info) => debug!(
            target: "whitewater::table", %db, cf = info.cf_name, job = info.job_id,
            file = %info.file_path.display(), bytes = info.file_size, reason = ?info.reason,
            "table created"
        ),
        Happened::TableFileDeleted(info) => deleted(dir, info),
        Happened::MemtableSealed(info) => debug!(
            target: "whitewater::memtable", %db, cf = info.cf_name, memtable = info.id,
            entries = info.num_entries, "memtable sealed"
        ),
        Happened::HandleDeletionStarted(info) => info!(
            target: "whitewater::family", %db, cf = info.cf_name, "column family dropped"
        ),
        Happened::Ingested(info) => info!(
            target: "whitewater::ingestion", %db, cf = info.cf_name,
            from = %info.external_file_path.display(), file = %info.internal_file_path.display(),
            level = info.level, seqno = info.global_seqno, "table ingested"
        ),
        Happened::StallChanged(info) => stalled(dir, info),
        Happened::BackgroundError(info) => error!(
            target: "whitewater::error", %db, reason = ?info.reason,
            severity = ?info.error.severity(), error = %info.error, "background error"
        ),
        Happened::RecoveryBegin(info) => warn!(
            target: "whitewater::error", %db, auto = info.auto_recovery,
            error = info.old_bg_error.as_ref().map(tracing::field::display),
            "recovery from an error begins"
        ),
        Happened::RecoveryEnd(info) => recovered(dir, info),
    }
}

fn compacted(dir: &Path, info: &CompactionJobInfo) {
    let (db, stats) = (dir.display(), &info.stats);
    match &info.status {
        Ok(()) => info!(
            target: "whitewater::compaction", %db, cf = info.cf_name, job = info.job_id,
            output_level = info.output_level, moved = info.trivial_move,
            files = info.output_files.len(), bytes_read = stats.total_input_bytes,
            bytes_written = stats.total_output_bytes, micros = stats.elapsed_micros,
            "compaction completed"
        ),
        Err(e) => warn!(
            target: "whitewater::compaction", %db, cf = info.cf_name, job = info.job_id,
            error = %e, "compaction failed"
        ),
    }
}

fn subcompacted(dir: &Path, info: &SubcompactionJobInfo) {
    let (db, stats) = (dir.display(), &info.stats);
    match &info.status {
        Ok(()) => debug!(
            target: "whitewater::compaction", %db, cf = info.cf_name, job = info.job_id,
            part = info.subcompaction_job_id, bytes_written = stats.total_output_bytes,
            micros = stats.elapsed_micros, "subcompaction completed"
        ),
        Err(e) => debug!(
            target: "whitewater::compaction", %db, cf = info.cf_name, job = info.job_id,
            part = info.subcompaction_job_id, error = %e, "subcompaction failed"
        ),
    }
}

fn deleted(dir: &Path, info: &TableFileDeletionInfo) {
    let (db, file) = (dir.display(), info.file_path.display());
    match &info.status {
        Ok(()) => debug!(
            target: "whitewater::table", %db, %file, job = info.job_id, "table deleted"
        ),
        Err(e) => warn!(
            target: "whitewater::table", %db, %file, job = info.job_id, error = %e,
            "table not deleted"
        ),
    }
}

fn stalled(dir: &Path, info: &WriteStallInfo) {
    let (db, cf) = (dir.display(), &info.cf_name);
    match info.cur {
        WriteStallCondition::Normal => info!(
            target: "whitewater::stall", %db, cf, from = ?info.prev, to = ?info.cur,
            "writes are not held back any more"
        ),
        _ => warn!(
            target: "whitewater::stall", %db, cf, from = ?info.prev, to = ?info.cur,
            cause = info.cause,
            "writes are held back"
        ),
    }
}

fn recovered(dir: &Path, info: &BackgroundErrorRecoveryInfo) {
    let db = dir.display();
    match &info.new_bg_error {
        None => info!(
            target: "whitewater::error", %db, auto = info.auto_recovery,
            "recovered from an error"
        ),
        Some(e) => error!(
            target: "whitewater::error", %db, auto = info.auto_recovery, error = %e,
            "recovery from an error has failed"
        ),
    }
}

/// Emits a line of the info log of the database in `dir`. Lines for tools are left out, because
/// their content comes as events.
pub(crate) fn line(dir: &Path, level: LogLevel, text: &str) {
    if !text.starts_with("EVENT_LOG_v1 ") {
        // A panic of the subscriber must not end a job, nor leave a caller's work half done.
        let _ = catch_unwind(|| tell(dir, level, text));
    }
}

fn tell(dir: &Path, level: LogLevel, text: &str) {
    let db = dir.display();
    match level {
        LogLevel::Debug => trace!(target: "whitewater::log", %db, "{text}"),
        LogLevel::Info | LogLevel::Header => debug!(target: "whitewater::log", %db, "{text}"),
        LogLevel::Warn => warn!(target: "whitewater::log", %db, "{text}"),
        LogLevel::Error | LogLevel::Fatal => error!(target: "whitewater::log", %db, "{text}"),
    }
}
