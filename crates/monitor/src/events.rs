//! The last events of a database, for pages and streams.

use crate::api::{Event, Job};
use crate::sample::unix_ms;
use std::collections::VecDeque;
use std::path::Path;
use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};
use whitewater::listener::{
    BackgroundErrorInfo, BackgroundErrorRecoveryInfo, ColumnFamilyInfo, CompactionJobInfo,
    EventListener, ExternalFileIngestionInfo, FlushJobInfo, MemTableInfo, TableFileCreationInfo,
    TableFileDeletionInfo, WriteStallCondition, WriteStallInfo,
};

/// The number of events that are kept.
const KEPT: usize = 1000;

/// A listener that keeps the last events, and knows which jobs run.
#[derive(Debug, Default)]
pub(crate) struct EventLog {
    state: Mutex<State>,
    /// Notified with each event.
    more: Condvar,
}

#[derive(Debug, Default)]
struct State {
    events: VecDeque<Event>,
    /// The number of the last event; events are numbered from 1.
    last: u64,
    jobs: Vec<(Instant, Job)>,
}

impl EventLog {
    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The last events, newest last, `limit` at most.
    pub fn last(&self, limit: usize) -> Vec<Event> {
        let state = self.state();
        let skipped = state.events.len().saturating_sub(limit);
        state.events.iter().skip(skipped).cloned().collect()
    }

    /// The number of the last event.
    pub fn last_number(&self) -> u64 {
        self.state().last
    }

    /// The events after the one numbered `number` that are kept. Waits until there is one, but no
    /// longer than `timeout`.
    pub fn after(&self, number: u64, timeout: Duration) -> Vec<Event> {
        let state = self.state();
        let none = |state: &mut State| state.last <= number;
        let waited = self.more.wait_timeout_while(state, timeout, none);
        let (state, _) = waited.unwrap_or_else(PoisonError::into_inner);
        let newer = state.events.iter().filter(|event| event.number > number);
        newer.cloned().collect()
    }

    /// The jobs that have begun and not ended.
    pub fn jobs(&self) -> Vec<Job> {
        let state = self.state();
        let jobs = state.jobs.iter().map(|(since, job)| Job {
            running_ms: u64::try_from(since.elapsed().as_millis()).unwrap_or(u64::MAX),
            ..job.clone()
        });
        jobs.collect()
    }

    fn note(&self, kind: &str, family: &str, text: String, warning: bool) {
        let mut state = self.state();
        state.last += 1;
        let event = Event {
            number: state.last,
            unix_ms: unix_ms(),
            kind: kind.to_owned(),
            family: family.to_owned(),
            text,
            warning,
        };
        if state.events.len() == KEPT {
            state.events.pop_front();
        }
        state.events.push_back(event);
        self.more.notify_all();
    }

    fn begin(&self, kind: &str, id: u64, family: &str, output_level: usize, text: String) {
        let job = Job {
            kind: kind.to_owned(),
            id,
            family: family.to_owned(),
            running_ms: 0,
            text,
            output_level: u32::try_from(output_level).unwrap_or(u32::MAX),
        };
        self.state().jobs.push((Instant::now(), job));
    }

    fn end(&self, kind: &str, id: u64, family: &str) {
        let same = |job: &Job| job.kind == kind && job.id == id && job.family == family;
        self.state().jobs.retain(|(_, job)| !same(job));
    }
}

/// The name of a file without its directory.
fn name(path: &Path) -> String {
    let name = path.file_name().unwrap_or(path.as_os_str());
    name.to_string_lossy().into_owned()
}

fn ms(micros: u64) -> String {
    format!("{:.1} ms", micros as f64 / 1000.0)
}

impl EventListener for EventLog {
    fn on_flush_begin(&self, info: &FlushJobInfo) {
        let what = format!(
            "{} entries of {} memtables ({} bytes), {}",
            info.num_entries,
            info.num_memtables,
            info.memory_usage,
            info.flush_reason.as_str()
        );
        self.begin("flush", info.job_id, &info.cf_name, 0, what.clone());
        let text = format!("job {}: flush of {what}", info.job_id);
        self.note("flush_begin", &info.cf_name, text, false);
    }

    fn on_flush_completed(&self, info: &FlushJobInfo) {
        self.end("flush", info.job_id, &info.cf_name);
        let text = match &info.file_path {
            Some(path) => format!(
                "job {}: flushed {} entries to {} ({} bytes) in {}",
                info.job_id,
                info.num_entries,
                name(path),
                info.file_size,
                ms(info.elapsed_micros)
            ),
            None => format!("job {}: there was nothing left to flush", info.job_id),
        };
        self.note("flush_completed", &info.cf_name, text, false);
    }

    fn on_compaction_begin(&self, info: &CompactionJobInfo) {
        let what = format!(
            "{} files, level {} to {}, {}",
            info.input_files.len(),
            info.base_input_level,
            info.output_level,
            info.compaction_reason
        );
        let level = info.output_level;
        self.begin(
            "compaction",
            info.job_id,
            &info.cf_name,
            level,
            what.clone(),
        );
        let text = format!("job {}: compaction of {what}", info.job_id);
        self.note("compaction_begin", &info.cf_name, text, false);
    }

    fn on_compaction_completed(&self, info: &CompactionJobInfo) {
        self.end("compaction", info.job_id, &info.cf_name);
        let text = match &info.status {
            Err(e) => format!("job {}: compaction failed: {e}", info.job_id),
            Ok(()) if info.trivial_move => format!(
                "job {}: moved {} files to level {}",
                info.job_id,
                info.input_files.len(),
                info.output_level
            ),
            Ok(()) => format!(
                "job {}: compacted {} files ({} bytes) to {} of level {} ({} bytes) in {}",
                info.job_id,
                info.stats.num_input_files,
                info.stats.total_input_bytes,
                info.stats.num_output_files,
                info.output_level,
                info.stats.total_output_bytes,
                ms(info.stats.elapsed_micros)
            ),
        };
        let failed = info.status.is_err();
        self.note("compaction_completed", &info.cf_name, text, failed);
    }

    fn on_table_file_created(&self, info: &TableFileCreationInfo) {
        let text = format!(
            "job {}: made {} ({} bytes)",
            info.job_id,
            name(&info.file_path),
            info.file_size
        );
        self.note("table_file_created", &info.cf_name, text, false);
    }

    fn on_table_file_deleted(&self, info: &TableFileDeletionInfo) {
        let file = name(&info.file_path);
        let text = match &info.status {
            Ok(()) => format!("deleted {file}"),
            Err(e) => format!("deleting {file} failed: {e}"),
        };
        self.note("table_file_deleted", "", text, info.status.is_err());
    }

    fn on_memtable_sealed(&self, info: &MemTableInfo) {
        let text = format!("memtable {} is full: {} entries", info.id, info.num_entries);
        self.note("memtable_sealed", &info.cf_name, text, false);
    }

    fn on_column_family_handle_deletion_started(&self, info: &ColumnFamilyInfo) {
        let text = "the column family was dropped".to_owned();
        self.note("column_family_dropped", &info.cf_name, text, false);
    }

    fn on_external_file_ingested(&self, info: &ExternalFileIngestionInfo) {
        let text = format!(
            "ingested {} as {} into level {}",
            name(&info.external_file_path),
            name(&info.internal_file_path),
            info.level
        );
        self.note("external_file_ingested", &info.cf_name, text, false);
    }

    fn on_stall_conditions_changed(&self, info: &WriteStallInfo) {
        let cause = info.cause.as_deref().unwrap_or("for no known reason");
        let text = match info.cur {
            WriteStallCondition::Normal => "writes go on".to_owned(),
            WriteStallCondition::Delayed => format!("writes are delayed: {cause}"),
            WriteStallCondition::Stopped => format!("writes are stopped: {cause}"),
            other => format!("{other:?}: {cause}"),
        };
        let held = info.cur != WriteStallCondition::Normal;
        self.note("stall_conditions_changed", &info.cf_name, text, held);
    }

    fn on_background_error(&self, info: &BackgroundErrorInfo) {
        let text = format!("{:?} failed: {}", info.reason, info.error);
        self.note("background_error", "", text, true);
    }

    fn on_error_recovery_begin(&self, info: &BackgroundErrorRecoveryInfo) {
        let by = if info.auto_recovery {
            "by itself"
        } else {
            "because it was asked to"
        };
        let text = format!("the database recovers {by}");
        self.note("error_recovery_begin", "", text, false);
    }

    fn on_error_recovery_end(&self, info: &BackgroundErrorRecoveryInfo) {
        let text = match &info.new_bg_error {
            None => "the database has recovered".to_owned(),
            Some(e) => format!("the recovery has failed: {e}"),
        };
        self.note("error_recovery_end", "", text, info.new_bg_error.is_some());
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_last_events_are_kept_and_numbered() {
        let log = EventLog::default();
        assert!(log.after(0, Duration::ZERO).is_empty());
        for n in 1..=KEPT + 5 {
            log.note("kind", "cf", format!("{n}"), false);
        }
        let last: Vec<_> = log
            .last(2)
            .iter()
            .map(|e| (e.number, e.text.clone()))
            .collect();
        assert_eq!(last, [(1004, "1004".to_owned()), (1005, "1005".to_owned())]);
        assert_eq!(log.last(usize::MAX).len(), KEPT);
        assert_eq!(log.after(1003, Duration::ZERO).len(), 2);
        assert_eq!(log.last_number(), 1005);
    }

    #[test]
    fn jobs_are_listed_until_they_end() {
        let log = EventLog::default();
        log.begin("flush", 3, "default", 0, "what".to_owned());
        log.begin("compaction", 3, "default", 2, "what".to_owned());
        log.end("flush", 3, "default");
        let jobs = log.jobs();
        assert_eq!(jobs.len(), 1);
        assert_eq!(
            (jobs[0].kind.as_str(), jobs[0].output_level),
            ("compaction", 2)
        );
    }
}
