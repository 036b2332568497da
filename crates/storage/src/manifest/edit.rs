//! Version edits, encoded and decoded.

use crate::error::Result;
use crate::key::SequenceNumber;

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
    /// Database id (tag 8193).
    pub db_id: Option<String>,
    /// Whether the edit adds or retires blob files (tags 400, 401, 8194,
    /// 8195): the engine refuses such databases by name.
    pub has_blob_files: bool,
}

impl VersionEdit {
    /// The record's bytes. New files are written in form 103.
    pub fn encode(&self) -> Vec<u8> {
        todo!()
    }

    /// Decodes a record; an empty one is legal.
    ///
    /// # Errors
    /// `Corruption` saying which field is bad.
    pub fn decode(src: &[u8]) -> Result<VersionEdit> {
        let _ = src;
        todo!()
    }
}
