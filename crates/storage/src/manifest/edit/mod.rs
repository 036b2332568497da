//! Version edits: what one is, and [encoded](VersionEdit::encode) and
//! [decoded](VersionEdit::decode).
//!
//! Fields may come in any order and repeat (the last one wins). Level numbers
//! and file numbers are not judged here: whether they make sense together is
//! the engine's business.

mod decode;
mod encode;
#[cfg(test)]
mod tests;

use crate::key::SequenceNumber;

/// Fields of a log addition.
const WAL_END: u32 = 1;
const WAL_SYNCED_SIZE: u32 = 2;

/// What the manifest says of one table file.
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
    /// Whether a compaction was asked for when the file was made.
    pub need_compaction: bool,
    /// Oldest blob file referenced; 0 for none.
    pub oldest_blob_file: u64,
    /// Unix seconds of the oldest ancestor; 0 unknown.
    pub oldest_ancester_time: u64,
    /// Unix seconds of creation; 0 unknown.
    pub file_creation_time: u64,
    /// Order of level-0 files; 0 unknown.
    pub epoch_number: u64,
    /// Whole-file checksum, empty when none.
    pub file_checksum: Vec<u8>,
    /// Name of the checksum function, empty when none.
    pub file_checksum_func_name: Vec<u8>,
    /// Unique id, when recorded.
    pub unique_id: Option<[u64; 2]>,
    /// Estimated bytes deleted by the file's range tombstones.
    pub compensated_range_deletion_size: u64,
    /// Bytes from the start of the tail (filters, index, ...) to the end.
    pub tail_size: u64,
    /// Temperature byte.
    pub temperature: u8,
    /// If keys have timestamps, they were left out of the file and of its bounds.
    /// RocksDB also says so of tables whose keys have none.
    pub timestamps_stripped: bool,
}

/// What the manifest says of one blob file.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct BlobFileMetaData {
    /// File number.
    pub number: u64,
    /// Blobs in the file, garbage included.
    pub count: u64,
    /// Bytes of their records: those of the file without header and footer.
    pub bytes: u64,
    /// Name of the whole-file checksum's function, empty when none.
    pub checksum_method: Vec<u8>,
    /// The whole-file checksum, empty when none.
    pub checksum: Vec<u8>,
    /// Fields that are not understood and may be ignored: tag and value.
    pub custom: Vec<(u32, Vec<u8>)>,
}

/// Blobs of one file that became garbage.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct BlobGarbage {
    /// Number of the blob file.
    pub number: u64,
    /// Blobs.
    pub count: u64,
    /// Bytes of their records.
    pub bytes: u64,
    /// Fields that are not understood and may be ignored: tag and value.
    pub custom: Vec<(u32, Vec<u8>)>,
}

/// One record of the manifest. `None` and empty mean: not in the record.
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
    /// Files that left (tag 6): level and number.
    pub deleted_files: Vec<(u32, u64)>,
    /// Files that came (tags 7, 100, 102, 103): level and description.
    pub new_files: Vec<(u32, FileMetaData)>,
    /// The column family this edit is about (tag 200).
    pub column_family: u32,
    /// Set when the edit creates that column family (tag 201).
    pub column_family_add: Option<String>,
    /// Set when the edit drops that column family (tag 202).
    pub column_family_drop: bool,
    /// Edits of the same atomic group still to come (tag 300).
    pub remaining_in_group: Option<u32>,
    /// Where in the manifest the atomic group begins that the edit is in (tag
    /// 14167, this project's own): all of a group is written before it is synced,
    /// so damage behind this offset may be nothing but a power cut's.
    pub group_start: Option<u64>,
    /// Database id (tag 8193).
    pub db_id: Option<String>,
    /// Blob files that came (tags 400, 8194).
    pub blob_files: Vec<BlobFileMetaData>,
    /// Blobs that nothing refers to any more (tags 401, 8195).
    pub blob_garbage: Vec<BlobGarbage>,
    /// Versions with older timestamps than this need not be kept but for the
    /// newest of them (tag 8198).
    pub full_history_ts_low: Option<Vec<u8>>,
    /// Logs that exist (tag 8199): number and, once it was synced, the size in
    /// bytes that was.
    pub wal_additions: Vec<(u64, Option<u64>)>,
    /// Logs with smaller numbers were deleted (tag 8200).
    pub wal_deletion: Option<u64>,
    /// Logs that may exist and were not there when the database was opened (tag
    /// 14168, this project's own): ranges of numbers, each with its first number
    /// and the one behind its last. An edit that has this field has all of them.
    pub logs_missed: Option<Vec<(u64, u64)>>,
}

impl VersionEdit {
    /// Whether it says which logs there are. Such an edit changes nothing about
    /// column families and their files.
    pub fn is_about_logs(&self) -> bool {
        !self.wal_additions.is_empty() || self.wal_deletion.is_some() || self.logs_missed.is_some()
    }
}
