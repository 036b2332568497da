//! The structs that describe events to listeners.

use super::FlushReason;
use std::path::PathBuf;
use whitewater_storage::Error;

/// A flush of one column family.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub struct FlushJobInfo {
    /// The id of the column family.
    pub cf_id: u32,
    /// The name of the column family.
    pub cf_name: String,
    /// The job's number in the info log.
    pub job_id: u64,
    /// Why the memtables are flushed. With `atomic_flush`, all column families that are flushed
    /// together have the same reason.
    pub flush_reason: FlushReason,
    /// The number of memtables that are flushed together.
    pub num_memtables: u64,
    /// The number of entries in the memtables, tombstones included.
    pub num_entries: u64,
    /// The number of tombstones in the memtables.
    pub num_deletes: u64,
    /// The memory that the memtables take. Bytes.
    pub memory_usage: u64,
    /// The table that was written; `None` when the flush begins, or if there was nothing left to
    /// write.
    pub file_path: Option<PathBuf>,
    /// The size of the table. Bytes; 0 when there is no table.
    pub file_size: u64,
    /// The smallest sequence number in the table; 0 when there is no table.
    pub smallest_seqno: u64,
    /// The largest sequence number in the table; 0 when there is no table.
    pub largest_seqno: u64,
    /// Whether writes are being slowed down now.
    pub triggered_writes_slowdown: bool,
    /// Whether writes are stopped now.
    pub triggered_writes_stop: bool,
    /// How long it took to write the table. Microseconds; 0 when the flush begins.
    pub elapsed_micros: u64,
}

/// A compaction.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub struct CompactionJobInfo {
    /// The id of the column family.
    pub cf_id: u32,
    /// The name of the column family.
    pub cf_name: String,
    /// The job's number in the info log.
    pub job_id: u64,
    /// How the compaction ended; `Ok` when it begins.
    pub status: Result<(), Error>,
    /// The lowest-numbered level with inputs.
    pub base_input_level: usize,
    /// The level that the compaction writes to.
    pub output_level: usize,
    /// The tables to compact.
    pub input_files: Vec<PathBuf>,
    /// How many of them are on the level that the compaction writes to.
    pub num_input_files_at_output_level: usize,
    /// The tables that were written; empty when the compaction begins or has failed.
    pub output_files: Vec<PathBuf>,
    /// Why the compaction was picked, in RocksDB's words: `LevelL0FilesNum`, `ManualCompaction`,
    /// ...
    pub compaction_reason: &'static str,
    /// Whether files were only moved to another level.
    pub trivial_move: bool,
    /// What the compaction did; all 0 when it begins or has failed.
    pub stats: CompactionJobStats,
}

/// A part of a compaction: a range of its keys. Other parts may run at the same time
/// (`max_subcompactions`). A compaction that rewrites tables has at least one part.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub struct SubcompactionJobInfo {
    /// The id of the column family.
    pub cf_id: u32,
    /// The name of the column family.
    pub cf_name: String,
    /// How the part ended; `Ok` when it begins.
    pub status: Result<(), Error>,
    /// The number of the whole compaction in the info log.
    pub job_id: u64,
    /// The part's place among the parts, counted from 0 in the order of the keys.
    pub subcompaction_job_id: usize,
    /// The operating system's number of the thread that runs the part. 0 on systems other than
    /// Linux.
    pub thread_id: u64,
    /// The lowest-numbered level with inputs.
    pub base_input_level: usize,
    /// The level that the compaction writes to.
    pub output_level: usize,
    /// Why the compaction was picked, as in [`CompactionJobInfo`].
    pub compaction_reason: &'static str,
    /// What the part did; all 0 when it begins or has failed. Tables are inputs of the whole
    /// compaction, so the number of tables read is 0 here, and the bytes read are those of the
    /// part's keys and values.
    pub stats: CompactionJobStats,
}

/// What a compaction did.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct CompactionJobStats {
    /// How long the compaction took. Microseconds.
    pub elapsed_micros: u64,
    /// CPU time of all threads of the compaction. Microseconds.
    pub cpu_micros: u64,
    /// The number of entries read.
    pub num_input_records: u64,
    /// The number of tables read.
    pub num_input_files: u64,
    /// The size of the tables read. Bytes.
    pub total_input_bytes: u64,
    /// The number of entries written.
    pub num_output_records: u64,
    /// The number of tables written.
    pub num_output_files: u64,
    /// The size of the tables written. Bytes.
    pub total_output_bytes: u64,
    /// The number of entries dropped because a newer one hides them.
    pub num_records_replaced: u64,
    /// The number of entries dropped because a range tombstone deletes them.
    pub num_range_deleted_records: u64,
    /// The number of entries that a compaction filter removed.
    pub num_filtered_records: u64,
    /// The number of tombstones dropped because nothing is left for them to delete.
    pub num_expired_deletion_records: u64,
    /// The number of parts that ran at the same time.
    pub num_subcompactions: u64,
}

/// The kind of job that makes a table.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum TableFileCreationReason {
    /// A flush.
    Flush,
    /// A compaction.
    Compaction,
}

/// A table that was made.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub struct TableFileCreationInfo {
    /// The name of the column family.
    pub cf_name: String,
    /// The path of the table.
    pub file_path: PathBuf,
    /// The size of the table. Bytes.
    pub file_size: u64,
    /// The number of the job that made the table.
    pub job_id: u64,
    /// The kind of job that made the table.
    pub reason: TableFileCreationReason,
}

/// A table file that was deleted, or that could not be.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub struct TableFileDeletionInfo {
    /// The path that the file had.
    pub file_path: PathBuf,
    /// The number of the job that deleted the file.
    pub job_id: u64,
    /// Whether the deletion succeeded. If it failed, it is tried again later.
    pub status: Result<(), Error>,
}

/// A memtable that was sealed: it takes no more writes.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub struct MemTableInfo {
    /// The name of the column family.
    pub cf_name: String,
    /// The memtable's number.
    pub id: u64,
    /// The number of entries in it so far, tombstones included.
    pub num_entries: u64,
    /// The number of tombstones in it so far.
    pub num_deletes: u64,
    /// The smallest sequence number of the entries in it so far; 0 if there are none.
    pub first_seqno: u64,
    /// The last sequence number that was given to a write before the memtable was made: what is
    /// in the memtable has higher ones.
    pub earliest_seqno: u64,
}

/// A column family.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub struct ColumnFamilyInfo {
    /// The id of the column family.
    pub cf_id: u32,
    /// The name of the column family.
    pub cf_name: String,
}

/// A table that was ingested.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub struct ExternalFileIngestionInfo {
    /// The name of the column family.
    pub cf_name: String,
    /// The path that the table was ingested from.
    pub external_file_path: PathBuf,
    /// The path of the table in the database.
    pub internal_file_path: PathBuf,
    /// The sequence number that was given to its entries; 0 if none was.
    pub global_seqno: u64,
    /// The level that the table was put into.
    pub level: usize,
}

/// Whether, and how, writers are held back.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum WriteStallCondition {
    /// Writers are not held back.
    Normal,
    /// Writers are limited to a rate.
    Delayed,
    /// Writers wait.
    Stopped,
}

/// A change in how a column family holds writers back.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub struct WriteStallInfo {
    /// The name of the column family.
    pub cf_name: String,
    /// The condition from now on.
    pub cur: WriteStallCondition,
    /// The condition before the change.
    pub prev: WriteStallCondition,
    /// Why writers are held back from now on, in RocksDB's words, such as
    /// `we have 20 level-0 files`; `None` when they are not held back. Not in the `rocksdb` crate.
    pub cause: Option<String>,
}

/// The kind of work that failed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum BackgroundErrorReason {
    /// A flush.
    Flush,
    /// A compaction.
    Compaction,
    /// A write that had already reserved its place, or writing the log.
    WriteCallback,
    /// A write to the manifest.
    ManifestWrite,
}

/// A failure of background work, or of a write.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub struct BackgroundErrorInfo {
    /// The kind of work that failed.
    pub reason: BackgroundErrorReason,
    /// The error, with its severity: from [`HardError`](crate::Severity::HardError) on, writes are
    /// refused.
    pub error: Error,
    /// Whether listeners were asked about this failure
    /// ([`overrules_background_error`](super::EventListener::overrules_background_error)). The
    /// severity of a failure that one of them has overruled is
    /// [`SoftError`](crate::Severity::SoftError).
    pub asked: bool,
}

/// A recovery from a failure.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub struct BackgroundErrorRecoveryInfo {
    /// The error to recover from; `None` if there is none.
    pub old_bg_error: Option<Error>,
    /// The error that remains; `None` when the recovery begins, and after it has succeeded.
    pub new_bg_error: Option<Error>,
    /// Whether the database recovers by itself, by retrying a job or by resuming.
    pub auto_recovery: bool,
}
