//! Telling listeners of flushes, compactions and other events.
//!
//! Events are noted where they happen, and a thread of their own passes them to listeners
//! ([`crate::listener`]).

use super::Engine;
use crate::column_family::ColumnFamilyData;
use crate::compact::pick::Compaction;
use crate::event_queue::{EventQueue, Trouble};
use crate::listener::event::Happened;
use crate::listener::{
    CompactionJobInfo, CompactionJobStats, EventListener, TableFileCreationInfo,
    TableFileCreationReason, TableFileDeletionInfo, WriteStallCondition,
};
use crate::stats::JobStats;
use crate::table_writer::merge_rules::Drops;
use crate::version::ObsoleteFile;
use crate::write::stall::Pressure;
use std::sync::Arc;
use whitewater_storage::manifest::FileMetaData;
use whitewater_storage::{Error, ErrorKind, Result};

impl Engine {
    /// Starts to tell listeners of events, if there are listeners.
    ///
    /// # Errors
    /// An error if their thread cannot be started.
    pub(super) fn start_events(self: &Arc<Self>) -> Result<()> {
        let engine = Arc::downgrade(self);
        let warn = move |trouble| {
            let Some(engine) = engine.upgrade() else {
                return;
            };
            match trouble {
                Trouble::Panicked => engine.info_log.error("an event listener panicked"),
                Trouble::Backlog(waiting) => engine.info_log.warn(&format!(
                    "event listeners are slow: {waiting} events wait in memory to be told"
                )),
            }
        };
        let queue = EventQueue::start(&self.files.dir, &self.options.listeners, warn)?;
        self.observers.listen(queue);
        Ok(())
    }

    /// Has `listener` told of what happens from now on, after those that were added before.
    ///
    /// # Errors
    /// `NotSupported` if the database only reads what another one writes; an error if the
    /// listeners' thread cannot be started or has ended.
    pub(crate) fn add_listener(&self, listener: Arc<dyn EventListener>) -> Result<()> {
        let Some(events) = self.observers.events() else {
            let what = "a database that only reads has no events";
            return Err(Error::new(ErrorKind::NotSupported, what));
        };
        events.add(listener)
    }

    /// Notes the tables that the job `job_id` has made for `family`.
    pub(crate) fn note_tables(
        &self,
        family: &ColumnFamilyData,
        job_id: u64,
        reason: TableFileCreationReason,
        tables: &[FileMetaData],
    ) {
        for table in tables {
            self.observers.note(|| {
                Happened::TableFileCreated(TableFileCreationInfo {
                    cf_name: family.name.clone(),
                    file_path: family.paths.table(table),
                    file_size: table.size,
                    job_id,
                    reason,
                })
            });
        }
    }

    /// Notes that the table `file` was deleted, or that deleting it failed.
    pub(super) fn note_deleted(&self, file: &ObsoleteFile, job_id: u64, status: Result<()>) {
        self.observers.note(|| {
            Happened::TableFileDeleted(TableFileDeletionInfo {
                file_path: file.table_path(),
                job_id,
                status,
            })
        });
    }

    /// Returns what listeners are told when `compaction` begins as job `job_id`.
    pub(super) fn compaction_info(
        &self,
        cf: &ColumnFamilyData,
        compaction: &Compaction,
        job_id: u64,
    ) -> Option<CompactionJobInfo> {
        if !self.observers.events().is_some_and(EventQueue::is_heard) {
            return None;
        }
        let inputs = compaction.inputs.iter().flat_map(|(_, files)| files);
        let mut levels = compaction.inputs.iter();
        let at_output = levels.find(|(level, _)| *level == compaction.output_level);
        Some(CompactionJobInfo {
            cf_id: cf.id,
            cf_name: cf.name.clone(),
            job_id,
            status: Ok(()),
            base_input_level: compaction.inputs.first().map_or(0, |(level, _)| *level),
            output_level: compaction.output_level,
            input_files: inputs.map(|f| f.path()).collect(),
            num_input_files_at_output_level: at_output.map_or(0, |(_, files)| files.len()),
            output_files: Vec::new(),
            compaction_reason: compaction.reason.as_str(),
            trivial_move: false,
            stats: CompactionJobStats::default(),
        })
    }
}

/// Returns what listeners are told of a compaction's work.
pub(super) fn job_stats(stats: &JobStats, drops: &Drops, parts: u64) -> CompactionJobStats {
    CompactionJobStats {
        elapsed_micros: stats.micros,
        cpu_micros: stats.cpu_micros,
        num_input_records: stats.records_in,
        num_input_files: stats.files_in,
        total_input_bytes: stats.bytes_read(),
        num_output_records: stats.records_out,
        num_output_files: stats.files_out,
        total_output_bytes: stats.bytes_written,
        num_records_replaced: drops.hidden,
        num_range_deleted_records: drops.range_deleted,
        num_filtered_records: drops.filtered,
        num_expired_deletion_records: drops.obsolete,
        num_subcompactions: parts,
    }
}

/// The condition of writers under `pressure`.
pub(super) fn condition(pressure: Pressure) -> WriteStallCondition {
    match pressure {
        Pressure::None => WriteStallCondition::Normal,
        Pressure::Delayed => WriteStallCondition::Delayed,
        Pressure::Stopped => WriteStallCondition::Stopped,
    }
}
