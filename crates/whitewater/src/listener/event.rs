//! Events on their way to the listeners.

use super::EventListener;
use super::info::*;

/// An event, with what listeners are told about it.
#[derive(Debug)]
pub(crate) enum Happened {
    FlushBegin(FlushJobInfo),
    FlushCompleted(FlushJobInfo),
    CompactionBegin(CompactionJobInfo),
    CompactionCompleted(CompactionJobInfo),
    SubcompactionBegin(SubcompactionJobInfo),
    SubcompactionCompleted(SubcompactionJobInfo),
    TableFileCreated(TableFileCreationInfo),
    TableFileDeleted(TableFileDeletionInfo),
    MemtableSealed(MemTableInfo),
    HandleDeletionStarted(ColumnFamilyInfo),
    Ingested(ExternalFileIngestionInfo),
    StallChanged(WriteStallInfo),
    BackgroundError(BackgroundErrorInfo),
    RecoveryBegin(BackgroundErrorRecoveryInfo),
    RecoveryEnd(BackgroundErrorRecoveryInfo),
}

impl Happened {
    /// Calls the listener's method for this event.
    pub fn tell(&self, listener: &dyn EventListener) {
        match self {
            Happened::FlushBegin(info) => listener.on_flush_begin(info),
            Happened::FlushCompleted(info) => listener.on_flush_completed(info),
            Happened::CompactionBegin(info) => listener.on_compaction_begin(info),
            Happened::CompactionCompleted(info) => listener.on_compaction_completed(info),
            Happened::SubcompactionBegin(info) => listener.on_subcompaction_begin(info),
            Happened::SubcompactionCompleted(info) => listener.on_subcompaction_completed(info),
            Happened::TableFileCreated(info) => listener.on_table_file_created(info),
            Happened::TableFileDeleted(info) => listener.on_table_file_deleted(info),
            Happened::MemtableSealed(info) => listener.on_memtable_sealed(info),
            Happened::HandleDeletionStarted(info) => {
                listener.on_column_family_handle_deletion_started(info);
            }
            Happened::Ingested(info) => listener.on_external_file_ingested(info),
            Happened::StallChanged(info) => listener.on_stall_conditions_changed(info),
            Happened::BackgroundError(info) => listener.on_background_error(info),
            Happened::RecoveryBegin(info) => listener.on_error_recovery_begin(info),
            Happened::RecoveryEnd(info) => {
                if info.new_bg_error.is_none() {
                    listener.on_error_recovery_completed(info);
                }
                listener.on_error_recovery_end(info);
            }
        }
    }
}
