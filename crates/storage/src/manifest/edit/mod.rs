//! Version edits, their encoding (`encode`, [`VersionEdit::encode`]) and decoding (`decode`,
//! [`VersionEdit::decode`]).
//!
//! Fields may come in any order and repeat; the last one wins. The engine checks whether level
//! numbers and file numbers make sense together, not this module.

mod decode;
mod encode;
#[cfg(test)]
mod tests;

use crate::key::SequenceNumber;

/// Fields of a log addition.
const WAL_END: u32 = 1;
const WAL_SYNCED_SIZE: u32 = 2;

/// What the manifest says about one table file.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct FileMetaData {
    /// File number.
    pub number: u64,
    /// Path id; only 0 is supported by the engine.
    pub path_id: u32,
    /// Bytes.
    pub size: u64,
    /// Smallest internal key, range tombstones included.
    pub smallest: Vec<u8>,
    /// Largest internal key, range tombstones included.
    pub largest: Vec<u8>,
    /// Smallest sequence number in the file.
    pub smallest_seqno: SequenceNumber,
    /// Largest sequence number in the file.
    pub largest_seqno: SequenceNumber,
    /// Whether the file was marked for compaction when it was made.
    pub need_compaction: bool,
    /// Oldest blob file referenced; 0 for none.
    pub oldest_blob_file: u64,
    /// When the oldest ancestor was created, in Unix seconds; 0 if unknown.
    pub oldest_ancester_time: u64,
    /// When the file was created, in Unix seconds; 0 if unknown.
    pub file_creation_time: u64,
    /// The order of level-0 files; 0 if unknown.
    pub epoch_number: u64,
    /// The whole-file checksum; empty if there is none.
    pub file_checksum: Vec<u8>,
    /// The name of the checksum function; empty if there is none.
    pub file_checksum_func_name: Vec<u8>,
    /// Unique id, when recorded.
    pub unique_id: Option<[u64; 2]>,
    /// Estimated bytes deleted by the file's range tombstones.
    pub compensated_range_deletion_size: u64,
    /// Bytes from the start of the tail (filters, index, ...) to the end.
    pub tail_size: u64,
    /// Temperature byte.
    pub temperature: u8,
    /// Whether timestamps of keys were left out of the file and of its bounds. RocksDB also sets
    /// this for tables whose keys have no timestamps.
    pub timestamps_stripped: bool,
    /// Whether the file is known to have no range tombstones, because this process has written it.
    /// Not recorded.
    pub has_no_range_tombstones: bool,
}

/// What the manifest says about one blob file.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct BlobFileMetaData {
    /// File number.
    pub number: u64,
    /// The number of blobs in the file, including garbage.
    pub count: u64,
    /// Bytes of the records: those of the file without header and footer.
    pub bytes: u64,
    /// The name of the whole-file checksum's function; empty if there is none.
    pub checksum_method: Vec<u8>,
    /// The whole-file checksum; empty if there is none.
    pub checksum: Vec<u8>,
    /// Fields that are not understood and may be ignored: tag and value.
    pub custom: Vec<(u32, Vec<u8>)>,
}

/// Blobs of one file that became garbage.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct BlobGarbage {
    /// Number of the blob file.
    pub number: u64,
    /// The number of blobs that became garbage.
    pub count: u64,
    /// Bytes of the records of these blobs.
    pub bytes: u64,
    /// Fields that are not understood and may be ignored: tag and value.
    pub custom: Vec<(u32, Vec<u8>)>,
}

/// One record of the manifest. `None` or empty means that the record has no such field.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct VersionEdit {
    /// Comparator name (tag 1).
    pub comparator: Option<String>,
    /// WALs with smaller numbers hold nothing of this column family (tag 2).
    pub log_number: Option<u64>,
    /// Always 0 today (tag 9).
    pub prev_log_number: Option<u64>,
    /// Next file number (tag 3).
    pub next_file_number: Option<u64>,
    /// Last sequence number (tag 4).
    pub last_sequence: Option<SequenceNumber>,
    /// WALs with smaller numbers may be deleted (tag 10 or file tag 3).
    pub min_log_number_to_keep: Option<u64>,
    /// Largest column family id ever used (tag 203).
    pub max_column_family: Option<u32>,
    /// Compaction cursors (tag 5): level and internal key.
    pub compact_cursors: Vec<(u32, Vec<u8>)>,
    /// Removed files (tag 6): level and number.
    pub deleted_files: Vec<(u32, u64)>,
    /// Added files (tags 7, 100, 102, 103): level and description.
    pub new_files: Vec<(u32, FileMetaData)>,
    /// The column family this edit is about (tag 200).
    pub column_family: u32,
    /// Set when the edit creates that column family (tag 201).
    pub column_family_add: Option<String>,
    /// Set when the edit drops that column family (tag 202).
    pub column_family_drop: bool,
    /// Edits of the same atomic group still to come (tag 300).
    pub remaining_in_group: Option<u32>,
    /// The offset in the manifest of the atomic group of this edit (tag 14167, of this project). A
    /// whole group is written before it is synced, so damage after this offset may come from a
    /// power cut.
    pub group_start: Option<u64>,
    /// Database id (tag 8193).
    pub db_id: Option<String>,
    /// Added blob files (tags 400, 8194).
    pub blob_files: Vec<BlobFileMetaData>,
    /// Blobs that became garbage (tags 401, 8195).
    pub blob_garbage: Vec<BlobGarbage>,
    /// Of the versions with timestamps older than this, only the newest needs to be kept (tag
    /// 8198).
    pub full_history_ts_low: Option<Vec<u8>>,
    /// Logs that exist (tag 8199): the number and, once the log was synced, its synced size in
    /// bytes.
    pub wal_additions: Vec<(u64, Option<u64>)>,
    /// Logs with smaller numbers were deleted (tag 8200).
    pub wal_deletion: Option<u64>,
    /// Logs that may exist and did not exist when the database was opened (tag 14168, of this
    /// project): ranges of numbers, each with its first number and the one after its last. An edit
    /// with this field lists all of them.
    pub logs_missed: Option<Vec<(u64, u64)>>,
    /// The last decision on a prepared section that tables go by and that is in a log (tag 14169,
    /// of this project): the number of its record, and that of the log. The record is durable.
    pub decided_to: Option<(SequenceNumber, u64)>,
    /// The first log with a prepared section whose operations may be in tables before it is
    /// decided (tag 14170, of this project); 0 if there is none.
    pub undecided_from: Option<u64>,
}

impl VersionEdit {
    /// Whether the edit says which logs there are. Such an edit changes no column family and no
    /// files of one.
    pub fn is_about_logs(&self) -> bool {
        !self.wal_additions.is_empty() || self.wal_deletion.is_some() || self.logs_missed.is_some()
    }
}
