//! What listeners are told.

use std::path::PathBuf;
use whitewater_storage::Error;

/// A flush of one column family.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub struct FlushJobInfo {
    /// Id of the column family.
    pub cf_id: u32,
    /// Its name.
    pub cf_name: String,
    /// The job's number in the info log.
    pub job_id: u64,
    /// Memtables flushed together.
    pub num_memtables: u64,
    /// Entries in them, tombstones included.
    pub num_entries: u64,
    /// Tombstones in them.
    pub num_deletes: u64,
    /// Bytes of memory they take.
    pub memory_usage: u64,
    /// The table; none when the flush begins, or nothing was left to write.
    pub file_path: Option<PathBuf>,
    /// Bytes of the table; 0 as above.
    pub file_size: u64,
    /// The least and the greatest sequence number in the table; 0 as above.
    pub smallest_seqno: u64,
    /// See `smallest_seqno`.
    pub largest_seqno: u64,
    /// Whether writes are slowed down now.
    pub triggered_writes_slowdown: bool,
    /// Whether writes are stopped now.
    pub triggered_writes_stop: bool,
    /// How long writing the table took. Microseconds; 0 when the flush begins.
    pub elapsed_micros: u64,
}

/// A compaction.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub struct CompactionJobInfo {
    /// Id of the column family.
    pub cf_id: u32,
    /// Its name.
    pub cf_name: String,
    /// The job's number in the info log.
    pub job_id: u64,
    /// How it ended. `Ok` when it begins.
    pub status: Result<(), Error>,
    /// The least level with inputs.
    pub base_input_level: usize,
    /// The level written to.
    pub output_level: usize,
    /// The tables that are compacted.
    pub input_files: Vec<PathBuf>,
    /// The tables that were made of them; none when it begins or has failed.
    pub output_files: Vec<PathBuf>,
    /// Why it was picked, in RocksDB's words: `LevelL0FilesNum`,
    /// `ManualCompaction`, ...
    pub compaction_reason: &'static str,
    /// Whether files were only moved to another level.
    pub trivial_move: bool,
    /// What it did; all 0 when it begins or has failed.
    pub stats: CompactionJobStats,
}

/// A part of a compaction: a range of its keys, beside which others may be merged
/// at the same time (`max_subcompactions`). A compaction that rewrites tables has
/// at least one.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub struct SubcompactionJobInfo {
    /// Id of the column family.
    pub cf_id: u32,
    /// Its name.
    pub cf_name: String,
    /// How it ended. `Ok` when it begins.
    pub status: Result<(), Error>,
    /// The number of the whole compaction in the info log.
    pub job_id: u64,
    /// Which part it is, counted from 0 in the order of the keys.
    pub subcompaction_job_id: usize,
    /// The least level with inputs.
    pub base_input_level: usize,
    /// The level written to.
    pub output_level: usize,
    /// Why the compaction was picked, as in [`CompactionJobInfo`].
    pub compaction_reason: &'static str,
    /// What the part did; all 0 when it begins or has failed. Tables are inputs
    /// of the whole compaction: their number is 0 here, and the bytes read are
    /// those of the part's keys and values.
    pub stats: CompactionJobStats,
}

/// What a compaction did.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct CompactionJobStats {
    /// How long it took. Microseconds.
    pub elapsed_micros: u64,
    /// CPU time of all its threads. Microseconds.
    pub cpu_micros: u64,
    /// Entries read.
    pub num_input_records: u64,
    /// Tables read.
    pub num_input_files: u64,
    /// Bytes of the tables read.
    pub total_input_bytes: u64,
    /// Entries written.
    pub num_output_records: u64,
    /// Tables written.
    pub num_output_files: u64,
    /// Bytes of the tables written.
    pub total_output_bytes: u64,
    /// Entries dropped since a newer one hides them.
    pub num_records_replaced: u64,
    /// Entries dropped that a range tombstone deletes.
    pub num_range_deleted_records: u64,
    /// Entries that a compaction filter removed.
    pub num_filtered_records: u64,
    /// Tombstones dropped since nothing is left for them to delete.
    pub num_expired_deletion_records: u64,
    /// Parts that ran at the same time.
    pub num_subcompactions: u64,
}

/// Who makes a table.
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
    /// Name of the column family.
    pub cf_name: String,
    /// Where it is.
    pub file_path: PathBuf,
    /// Bytes.
    pub file_size: u64,
    /// The number of the job that made it.
    pub job_id: u64,
    /// Who made it.
    pub reason: TableFileCreationReason,
}

/// A table file that was deleted.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub struct TableFileDeletionInfo {
    /// Where it was.
    pub file_path: PathBuf,
    /// The number of the job that deleted it.
    pub job_id: u64,
    /// Whether it is gone; if not, it is tried again later.
    pub status: Result<(), Error>,
}

/// A memtable that was sealed.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub struct MemTableInfo {
    /// Name of the column family.
    pub cf_name: String,
    /// Its number.
    pub id: u64,
    /// Entries in it by now, tombstones included.
    pub num_entries: u64,
    /// Tombstones in it.
    pub num_deletes: u64,
}

/// A column family.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub struct ColumnFamilyInfo {
    /// Its id.
    pub cf_id: u32,
    /// Its name.
    pub cf_name: String,
}

/// A table that came from outside.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub struct ExternalFileIngestionInfo {
    /// Name of the column family.
    pub cf_name: String,
    /// Where it came from.
    pub external_file_path: PathBuf,
    /// Where it is.
    pub internal_file_path: PathBuf,
    /// The sequence number that its entries got; 0 is none.
    pub global_seqno: u64,
    /// The level that it was put into.
    pub level: usize,
}

/// How writers are held back.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum WriteStallCondition {
    /// They are not.
    Normal,
    /// They get a rate.
    Delayed,
    /// They wait.
    Stopped,
}

/// A change in how a column family holds writers back.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub struct WriteStallInfo {
    /// Name of the column family.
    pub cf_name: String,
    /// The condition from now on.
    pub cur: WriteStallCondition,
    /// The one before.
    pub prev: WriteStallCondition,
    /// Why writers are held back from now on, in RocksDB's words, such as `we have
    /// 20 level-0 files`; `None` when they are not. Not in the `rocksdb` crate.
    pub cause: Option<String>,
}

/// What failed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum BackgroundErrorReason {
    /// A flush.
    Flush,
    /// A compaction.
    Compaction,
    /// A write that had its place, or writing the log.
    WriteCallback,
    /// Writing the manifest.
    ManifestWrite,
}

/// A failure of work in the background, or of a write.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub struct BackgroundErrorInfo {
    /// What failed.
    pub reason: BackgroundErrorReason,
    /// The failure, with its severity: from
    /// [`HardError`](crate::Severity::HardError) on, writes are refused.
    pub error: Error,
}

/// A recovery from a failure.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub struct BackgroundErrorRecoveryInfo {
    /// The failure; none if there is nothing to recover from.
    pub old_bg_error: Option<Error>,
    /// What is still wrong; none when it begins, and after success.
    pub new_bg_error: Option<Error>,
    /// Whether the database recovers by itself: a job is tried again.
    pub auto_recovery: bool,
}
