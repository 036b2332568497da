//! Version edits, encoded and decoded.
//!
//! Fields may come in any order and repeat (the last one wins). Level numbers
//! and file numbers are not judged here: whether they make sense together is
//! the engine's business.

use super::tags::{self, custom};
use crate::coding::{
    get_fixed64, get_length_prefixed, get_varint32, get_varint64, put_length_prefixed,
    put_varint32, put_varint64, varint_len,
};
use crate::error::{Error, Result};
use crate::key::{SequenceNumber, TAG_SIZE};

/// RocksDB knows four paths.
const MAX_PATH_ID: u32 = 3;

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
}

impl VersionEdit {
    /// The record's bytes. New files are written in form 103, blob files under
    /// tags 400 and 401.
    pub fn encode(&self) -> Vec<u8> {
        let mut dst = Vec::with_capacity(64 + 96 * self.new_files.len());
        if let Some(id) = &self.db_id {
            put_varint32(&mut dst, tags::DB_ID);
            put_length_prefixed(&mut dst, id.as_bytes());
        }
        if let Some(name) = &self.comparator {
            put_varint32(&mut dst, tags::COMPARATOR);
            put_length_prefixed(&mut dst, name.as_bytes());
        }
        for (tag, number) in [
            (tags::LOG_NUMBER, self.log_number),
            (tags::PREV_LOG_NUMBER, self.prev_log_number),
            (tags::NEXT_FILE_NUMBER, self.next_file_number),
            (
                tags::MAX_COLUMN_FAMILY,
                self.max_column_family.map(u64::from),
            ),
            (tags::MIN_LOG_NUMBER_TO_KEEP, self.min_log_number_to_keep),
            (tags::LAST_SEQUENCE, self.last_sequence),
        ] {
            if let Some(number) = number {
                put_varint32(&mut dst, tag);
                put_varint64(&mut dst, number);
            }
        }
        for (number, synced) in &self.wal_additions {
            let mut body = Vec::new();
            put_varint64(&mut body, *number);
            if let Some(size) = synced {
                put_varint32(&mut body, WAL_SYNCED_SIZE);
                put_varint64(&mut body, *size);
            }
            put_varint32(&mut body, WAL_END);
            put_varint32(&mut dst, tags::WAL_ADDITION);
            put_length_prefixed(&mut dst, &body);
        }
        if let Some(number) = self.wal_deletion {
            let mut body = Vec::new();
            put_varint64(&mut body, number);
            put_varint32(&mut dst, tags::WAL_DELETION);
            put_length_prefixed(&mut dst, &body);
        }
        if let Some(low) = &self.full_history_ts_low {
            put_varint32(&mut dst, tags::FULL_HISTORY_TS_LOW);
            put_length_prefixed(&mut dst, low);
        }
        for (level, key) in &self.compact_cursors {
            put_varint32(&mut dst, tags::COMPACT_CURSOR);
            put_varint32(&mut dst, *level);
            put_length_prefixed(&mut dst, key);
        }
        for (level, number) in &self.deleted_files {
            put_varint32(&mut dst, tags::DELETED_FILE);
            put_varint32(&mut dst, *level);
            put_varint64(&mut dst, *number);
        }
        for (level, file) in &self.new_files {
            put_new_file(&mut dst, *level, file);
        }
        for file in &self.blob_files {
            put_blob_file(&mut dst, file);
        }
        for garbage in &self.blob_garbage {
            put_blob_garbage(&mut dst, garbage);
        }
        if self.column_family != 0 {
            put_varint32(&mut dst, tags::COLUMN_FAMILY);
            put_varint32(&mut dst, self.column_family);
        }
        if let Some(name) = &self.column_family_add {
            put_varint32(&mut dst, tags::COLUMN_FAMILY_ADD);
            put_length_prefixed(&mut dst, name.as_bytes());
        }
        if self.column_family_drop {
            put_varint32(&mut dst, tags::COLUMN_FAMILY_DROP);
        }
        if let Some(remaining) = self.remaining_in_group {
            put_varint32(&mut dst, tags::IN_ATOMIC_GROUP);
            put_varint32(&mut dst, remaining);
        }
        if let Some(offset) = self.group_start {
            let mut body = Vec::new();
            put_varint64(&mut body, offset);
            put_varint32(&mut dst, tags::GROUP_START);
            put_length_prefixed(&mut dst, &body);
        }
        dst
    }

    /// Whether it adds or deletes logs. Such an edit changes nothing about
    /// column families and their files.
    pub fn is_about_logs(&self) -> bool {
        !self.wal_additions.is_empty() || self.wal_deletion.is_some()
    }

    /// Decodes a record; an empty one is legal.
    ///
    /// # Errors
    /// `Corruption` saying which field is bad.
    pub fn decode(src: &[u8]) -> Result<VersionEdit> {
        let mut edit = VersionEdit::default();
        let mut fields = Fields { src, tag: 0 };
        while !fields.src.is_empty() {
            fields.tag = 0;
            fields.tag = fields.varint32("tag")?;
            edit.decode_field(&mut fields)?;
        }
        Ok(edit)
    }

    /// Decodes the payload of `f.tag`.
    fn decode_field(&mut self, f: &mut Fields<'_>) -> Result<()> {
        match f.tag {
            tags::COMPARATOR => self.comparator = Some(f.text("comparator name")?),
            tags::LOG_NUMBER => self.log_number = Some(f.varint64("log number")?),
            tags::PREV_LOG_NUMBER => {
                self.prev_log_number = Some(f.varint64("previous log number")?);
            }
            tags::NEXT_FILE_NUMBER => {
                self.next_file_number = Some(f.varint64("next file number")?);
            }
            tags::LAST_SEQUENCE => self.last_sequence = Some(f.varint64("last sequence")?),
            tags::MIN_LOG_NUMBER_TO_KEEP => {
                self.min_log_number_to_keep = Some(f.varint64("smallest log number to keep")?);
            }
            tags::MAX_COLUMN_FAMILY => {
                self.max_column_family = Some(f.varint32("largest column family id")?);
            }
            tags::COMPACT_CURSOR => {
                let level = f.varint32("level")?;
                let key = f.internal_key("compaction cursor")?;
                self.compact_cursors.push((level, key));
            }
            tags::DELETED_FILE => {
                let level = f.varint32("level")?;
                let number = f.varint64("file number")?;
                self.deleted_files.push((level, number));
            }
            tags::NEW_FILE | tags::NEW_FILE_2 | tags::NEW_FILE_3 | tags::NEW_FILE_4 => {
                let file = self.decode_new_file(f)?;
                self.new_files.push(file);
            }
            tags::COLUMN_FAMILY => self.column_family = f.varint32("column family id")?,
            tags::COLUMN_FAMILY_ADD => {
                self.column_family_add = Some(f.text("column family name")?);
            }
            tags::COLUMN_FAMILY_DROP => self.column_family_drop = true,
            tags::IN_ATOMIC_GROUP => {
                self.remaining_in_group = Some(f.varint32("atomic group countdown")?);
            }
            tags::BLOB_FILE_ADDITION | tags::OLD_BLOB_FILE_ADDITION => {
                self.blob_files.push(f.blob_file()?);
            }
            tags::BLOB_FILE_GARBAGE | tags::OLD_BLOB_FILE_GARBAGE => {
                self.blob_garbage.push(f.blob_garbage()?);
            }
            tags::FULL_HISTORY_TS_LOW => {
                let low = f.string("oldest timestamp of the full history")?;
                self.full_history_ts_low = Some(low.to_vec());
            }
            tags::DB_ID => self.db_id = Some(f.text("database id")?),
            tags::OLD_WAL_ADDITION => self.wal_additions.push(f.wal_addition()?),
            tags::OLD_WAL_DELETION => self.wal_deletion = Some(f.varint64("log deletion")?),
            tags::WAL_ADDITION => {
                let addition = f.inside("log addition", Fields::wal_addition)?;
                self.wal_additions.push(addition);
            }
            tags::WAL_DELETION => {
                let number = f.inside("log deletion", |f| f.varint64("log number"))?;
                self.wal_deletion = Some(number);
            }
            tags::GROUP_START => {
                let offset = f.inside("start of the group", |f| f.varint64("offset"))?;
                self.group_start = Some(offset);
            }
            tag if tag & tags::IGNORABLE_BIT != 0 => {
                f.string("payload of a field to skip")?;
            }
            _ => return Err(f.bad("unknown tag")),
        }
        Ok(())
    }

    /// Decodes a new file in any of its four forms.
    fn decode_new_file(&mut self, f: &mut Fields<'_>) -> Result<(u32, FileMetaData)> {
        let mut file = FileMetaData::default();
        let level = f.varint32("level")?;
        file.number = f.varint64("file number")?;
        if f.tag == tags::NEW_FILE_3 {
            file.path_id = f.varint32("path id")?;
            if file.path_id > MAX_PATH_ID {
                return Err(f.bad("path id of a file"));
            }
        }
        file.size = f.varint64("file size")?;
        file.smallest = f.internal_key("smallest key")?;
        file.largest = f.internal_key("largest key")?;
        if f.tag != tags::NEW_FILE {
            file.smallest_seqno = f.varint64("smallest sequence number")?;
            file.largest_seqno = f.varint64("largest sequence number")?;
        }
        if f.tag == tags::NEW_FILE_4 {
            loop {
                let tag = f.varint32("tag of a file's field")?;
                if tag == custom::TERMINATE {
                    break;
                }
                let value = f.string("value of a file's field")?;
                if tag == custom::MIN_LOG_NUMBER_TO_KEEP {
                    let mut rest = value;
                    self.min_log_number_to_keep = Some(
                        get_fixed64(&mut rest)
                            .ok_or_else(|| f.bad("bad smallest log number to keep"))?,
                    );
                } else if !file.set_custom(tag, value) {
                    return Err(f.bad(&format!("bad field {tag} of a file")));
                }
            }
        }
        Ok((level, file))
    }
}

impl FileMetaData {
    /// Sets the custom field `tag`; false when it is malformed or must be, but
    /// is not, understood.
    fn set_custom(&mut self, tag: u32, mut value: &[u8]) -> bool {
        let byte = |value: &[u8]| match value {
            [b] => Some(*b),
            _ => None,
        };
        let number = match tag {
            custom::OLDEST_BLOB_FILE => &mut self.oldest_blob_file,
            custom::OLDEST_ANCESTER_TIME => &mut self.oldest_ancester_time,
            custom::FILE_CREATION_TIME => &mut self.file_creation_time,
            custom::EPOCH_NUMBER => &mut self.epoch_number,
            custom::COMPENSATED_RANGE_DELETION_SIZE => &mut self.compensated_range_deletion_size,
            custom::TAIL_SIZE => &mut self.tail_size,
            custom::NEED_COMPACTION => {
                return byte(value).is_some_and(|b| {
                    self.need_compaction = b == 1;
                    true
                });
            }
            custom::TEMPERATURE => {
                return byte(value).is_some_and(|b| {
                    self.temperature = b;
                    true
                });
            }
            custom::PATH_ID => {
                return byte(value)
                    .filter(|&b| u32::from(b) <= MAX_PATH_ID)
                    .is_some_and(|b| {
                        self.path_id = u32::from(b);
                        true
                    });
            }
            custom::FILE_CHECKSUM => {
                self.file_checksum = value.to_vec();
                return true;
            }
            custom::FILE_CHECKSUM_FUNC_NAME => {
                self.file_checksum_func_name = value.to_vec();
                return true;
            }
            custom::UNIQUE_ID => {
                self.unique_id = match (get_fixed64(&mut value), get_fixed64(&mut value)) {
                    (Some(a), Some(b)) => Some([a, b]),
                    _ => return false,
                };
                return true;
            }
            unknown => return unknown & custom::MANDATORY_BIT == 0,
        };
        match get_varint64(&mut value) {
            Some(v) => {
                *number = v;
                true
            }
            None => false,
        }
    }
}

/// Fields of a log addition.
const WAL_END: u32 = 1;
const WAL_SYNCED_SIZE: u32 = 2;

fn put_new_file(dst: &mut Vec<u8>, level: u32, file: &FileMetaData) {
    put_varint32(dst, tags::NEW_FILE_4);
    put_varint32(dst, level);
    put_varint64(dst, file.number);
    put_varint64(dst, file.size);
    put_length_prefixed(dst, &file.smallest);
    put_length_prefixed(dst, &file.largest);
    put_varint64(dst, file.smallest_seqno);
    put_varint64(dst, file.largest_seqno);
    put_custom_number(dst, custom::OLDEST_ANCESTER_TIME, file.oldest_ancester_time);
    put_custom_number(dst, custom::FILE_CREATION_TIME, file.file_creation_time);
    for (tag, number) in [
        (custom::EPOCH_NUMBER, file.epoch_number),
        (custom::OLDEST_BLOB_FILE, file.oldest_blob_file),
        (
            custom::COMPENSATED_RANGE_DELETION_SIZE,
            file.compensated_range_deletion_size,
        ),
        (custom::TAIL_SIZE, file.tail_size),
    ] {
        if number != 0 {
            put_custom_number(dst, tag, number);
        }
    }
    for (tag, byte) in [
        (custom::NEED_COMPACTION, u8::from(file.need_compaction)),
        (custom::TEMPERATURE, file.temperature),
        // Larger ids cannot be read, so none get here.
        (custom::PATH_ID, file.path_id as u8),
    ] {
        if byte != 0 {
            put_varint32(dst, tag);
            put_length_prefixed(dst, &[byte]);
        }
    }
    for (tag, bytes) in [
        (custom::FILE_CHECKSUM, &file.file_checksum),
        (
            custom::FILE_CHECKSUM_FUNC_NAME,
            &file.file_checksum_func_name,
        ),
    ] {
        if !bytes.is_empty() {
            put_varint32(dst, tag);
            put_length_prefixed(dst, bytes);
        }
    }
    if let Some(id) = file.unique_id {
        put_varint32(dst, custom::UNIQUE_ID);
        put_length_prefixed(dst, id.map(u64::to_le_bytes).as_flattened());
    }
    put_varint32(dst, custom::TERMINATE);
}

fn put_blob_file(dst: &mut Vec<u8>, file: &BlobFileMetaData) {
    put_varint32(dst, tags::BLOB_FILE_ADDITION);
    put_varint64(dst, file.number);
    put_varint64(dst, file.count);
    put_varint64(dst, file.bytes);
    put_length_prefixed(dst, &file.checksum_method);
    put_length_prefixed(dst, &file.checksum);
    put_blob_fields(dst, &file.custom);
}

fn put_blob_garbage(dst: &mut Vec<u8>, garbage: &BlobGarbage) {
    put_varint32(dst, tags::BLOB_FILE_GARBAGE);
    put_varint64(dst, garbage.number);
    put_varint64(dst, garbage.count);
    put_varint64(dst, garbage.bytes);
    put_blob_fields(dst, &garbage.custom);
}

fn put_blob_fields(dst: &mut Vec<u8>, fields: &[(u32, Vec<u8>)]) {
    for (tag, value) in fields {
        put_varint32(dst, *tag);
        put_length_prefixed(dst, value);
    }
    put_varint32(dst, custom::BLOB_TERMINATE);
}

fn put_custom_number(dst: &mut Vec<u8>, tag: u32, number: u64) {
    put_varint32(dst, tag);
    put_varint32(dst, varint_len(number) as u32);
    put_varint64(dst, number);
}

/// Takes typed values off a record; errors name what was expected.
struct Fields<'a> {
    src: &'a [u8],
    /// The field being decoded, for errors; 0 between fields.
    tag: u32,
}

impl<'a> Fields<'a> {
    fn bad(&self, what: &str) -> Error {
        Error::corruption(format_args!("version edit, tag {}: {what}", self.tag))
    }

    fn varint32(&mut self, what: &str) -> Result<u32> {
        get_varint32(&mut self.src).ok_or_else(|| self.bad(&format!("bad {what}")))
    }

    fn varint64(&mut self, what: &str) -> Result<u64> {
        get_varint64(&mut self.src).ok_or_else(|| self.bad(&format!("bad {what}")))
    }

    fn string(&mut self, what: &str) -> Result<&'a [u8]> {
        get_length_prefixed(&mut self.src).ok_or_else(|| self.bad(&format!("bad {what}")))
    }

    fn text(&mut self, what: &str) -> Result<String> {
        let bytes = self.string(what)?;
        String::from_utf8(bytes.to_vec()).map_err(|_| self.bad(&format!("{what} is not UTF-8")))
    }

    fn internal_key(&mut self, what: &str) -> Result<Vec<u8>> {
        let key = self.string(what)?;
        if key.len() < TAG_SIZE {
            return Err(self.bad(&format!("{what} of {} bytes", key.len())));
        }
        Ok(key.to_vec())
    }

    fn blob_file(&mut self) -> Result<BlobFileMetaData> {
        Ok(BlobFileMetaData {
            number: self.varint64("blob file number")?,
            count: self.varint64("number of blobs")?,
            bytes: self.varint64("size of blobs")?,
            checksum_method: self.string("blob checksum method")?.to_vec(),
            checksum: self.string("blob checksum")?.to_vec(),
            custom: self.blob_fields()?,
        })
    }

    fn blob_garbage(&mut self) -> Result<BlobGarbage> {
        Ok(BlobGarbage {
            number: self.varint64("blob file number")?,
            count: self.varint64("number of garbage blobs")?,
            bytes: self.varint64("size of garbage blobs")?,
            custom: self.blob_fields()?,
        })
    }

    /// The further fields of a blob file: tag and string, up to tag 0.
    fn blob_fields(&mut self) -> Result<Vec<(u32, Vec<u8>)>> {
        let mut fields = Vec::new();
        loop {
            let tag = self.varint32("tag of a blob file's field")?;
            if tag == custom::BLOB_TERMINATE {
                return Ok(fields);
            }
            if tag & custom::MANDATORY_BIT != 0 {
                return Err(self.bad(&format!("unknown field {tag} of a blob file")));
            }
            let value = self.string("value of a blob file's field")?;
            fields.push((tag, value.to_vec()));
        }
    }

    /// Takes a length-prefixed string apart with `take`; what it leaves is
    /// ignored, as RocksDB does.
    fn inside<T>(
        &mut self,
        what: &str,
        take: impl FnOnce(&mut Fields<'a>) -> Result<T>,
    ) -> Result<T> {
        let src = self.string(what)?;
        take(&mut Fields { src, tag: self.tag })
    }

    /// A log addition: number, synced size, end.
    fn wal_addition(&mut self) -> Result<(u64, Option<u64>)> {
        let number = self.varint64("log number")?;
        let mut synced = None;
        loop {
            match self.varint32("tag of a log's field")? {
                WAL_END => return Ok((number, synced)),
                WAL_SYNCED_SIZE => synced = Some(self.varint64("synced log size")?),
                tag => return Err(self.bad(&format!("unknown field {tag} of a log"))),
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::error::ErrorKind;
    use crate::key::{ValueType, internal_key};

    /// An edit that uses every field that is written.
    fn full() -> VersionEdit {
        VersionEdit {
            comparator: Some("leveldb.BytewiseComparator".into()),
            log_number: Some(12),
            prev_log_number: Some(0),
            next_file_number: Some(1 << 40),
            last_sequence: Some((1 << 56) - 1),
            min_log_number_to_keep: Some(9),
            max_column_family: Some(u32::MAX),
            compact_cursors: vec![(1, internal_key(b"c", 3, ValueType::Value))],
            deleted_files: vec![(0, 7), (6, 300)],
            new_files: vec![
                (
                    6,
                    FileMetaData {
                        number: 301,
                        path_id: 2,
                        size: 1 << 33,
                        smallest: internal_key(b"", 1, ValueType::Deletion),
                        largest: internal_key(b"z", 0, ValueType::Value),
                        smallest_seqno: 0,
                        largest_seqno: 900,
                        need_compaction: true,
                        oldest_blob_file: 4,
                        oldest_ancester_time: 1_700_000_000,
                        file_creation_time: 1_700_000_001,
                        epoch_number: 5,
                        compensated_range_deletion_size: 77,
                        tail_size: 1234,
                        temperature: 8,
                        ..FileMetaData::default()
                    },
                ),
                (
                    0,
                    FileMetaData {
                        smallest: vec![0; 8],
                        largest: vec![1; 9],
                        ..FileMetaData::default()
                    },
                ),
            ],
            column_family: 3,
            column_family_add: Some("more".into()),
            column_family_drop: true,
            remaining_in_group: Some(2),
            group_start: Some(1 << 20),
            db_id: Some("an id".into()),
            blob_files: vec![BlobFileMetaData {
                number: 302,
                count: 5,
                bytes: 1 << 35,
                checksum_method: b"CRC32c".to_vec(),
                checksum: vec![1, 2],
                custom: vec![(2, vec![7]), (5, vec![])],
            }],
            blob_garbage: vec![BlobGarbage {
                number: 300,
                count: 2,
                bytes: 1 << 34,
                custom: vec![(9, vec![8])],
            }],
            full_history_ts_low: Some(7u64.to_le_bytes().to_vec()),
            wal_additions: vec![(40, Some(1 << 34)), (41, None)],
            wal_deletion: Some(39),
        }
    }

    #[test]
    fn every_written_field_reads_back() {
        let edit = full();
        assert_eq!(VersionEdit::decode(&edit.encode()).unwrap(), edit);
        let empty = VersionEdit::default();
        assert!(empty.encode().is_empty());
        assert_eq!(VersionEdit::decode(&[]).unwrap(), empty);
    }

    #[test]
    fn truncations_never_panic_and_give_whole_fields() {
        let bytes = full().encode();
        let mut decoded = 0;
        for n in 0..bytes.len() {
            match VersionEdit::decode(&bytes[..n]) {
                Ok(edit) => {
                    decoded += 1;
                    assert!(bytes.starts_with(&bytes[..n]));
                    assert!(edit.new_files.len() <= 2);
                }
                Err(e) => assert!(e.to_string().contains("version edit, tag"), "{e}"),
            }
        }
        // One per field boundary.
        assert_eq!(decoded, 24);
    }

    #[test]
    fn older_forms_of_new_files_decode() {
        let key = internal_key(b"k", 1, ValueType::Value);
        let with = |tag: u32, fill: &dyn Fn(&mut Vec<u8>)| {
            let mut b = Vec::new();
            put_varint32(&mut b, tag);
            put_varint32(&mut b, 2);
            put_varint64(&mut b, 10);
            if tag == tags::NEW_FILE_3 {
                put_varint32(&mut b, 1);
            }
            put_varint64(&mut b, 99);
            put_length_prefixed(&mut b, &key);
            put_length_prefixed(&mut b, &key);
            fill(&mut b);
            VersionEdit::decode(&b).map(|e| e.new_files[0].clone())
        };
        let seqnos = |b: &mut Vec<u8>| {
            put_varint64(b, 5);
            put_varint64(b, 6);
        };
        let (level, f) = with(tags::NEW_FILE, &|_| {}).unwrap();
        assert_eq!((level, f.number, f.size, f.largest_seqno), (2, 10, 99, 0));
        let (_, f) = with(tags::NEW_FILE_2, &seqnos).unwrap();
        assert_eq!((f.smallest_seqno, f.largest_seqno), (5, 6));
        let (_, f) = with(tags::NEW_FILE_3, &seqnos).unwrap();
        assert_eq!((f.path_id, f.largest_seqno), (1, 6));
        let custom = |tag: u32, value: &'static [u8]| {
            with(tags::NEW_FILE_4, &move |b| {
                seqnos(b);
                put_varint32(b, tag);
                put_length_prefixed(b, value);
                put_varint32(b, custom::TERMINATE);
            })
        };
        let (_, f) = custom(
            custom::UNIQUE_ID,
            &[1, 0, 0, 0, 0, 0, 0, 0, 2, 0, 0, 0, 0, 0, 0, 0],
        )
        .unwrap();
        assert_eq!(f.unique_id, Some([1, 2]));
        let (_, f) = custom(custom::FILE_CHECKSUM_FUNC_NAME, b"Unknown").unwrap();
        assert_eq!(f.file_checksum_func_name, b"Unknown");
        assert!(custom(17, b"opaque").is_ok(), "unknown fields are ignored");
        assert!(custom(66, b"").is_err(), "unless they say otherwise");
        assert!(custom(custom::PATH_ID, &[4]).is_err());
        assert!(custom(custom::NEED_COMPACTION, b"").is_err());
        assert!(custom(custom::TAIL_SIZE, &[0x80]).is_err());
    }

    #[test]
    fn the_first_files_field_three_is_about_the_database() {
        let mut b = Vec::new();
        put_varint32(&mut b, tags::NEW_FILE_4);
        b.extend_from_slice(&[0, 1, 1]);
        put_length_prefixed(&mut b, &[0; 8]);
        put_length_prefixed(&mut b, &[0; 8]);
        b.extend_from_slice(&[0, 0, 3, 8, 42, 0, 0, 0, 0, 0, 0, 0, 1]);
        let edit = VersionEdit::decode(&b).unwrap();
        assert_eq!(edit.min_log_number_to_keep, Some(42));
    }

    #[test]
    fn path_ids_end_at_3_in_every_form() {
        // A fuzzer found that form 102 took any, which was then written cut.
        let form_102 = |path_id: u8| {
            let mut record = vec![102, 0, 7, path_id, 9];
            for key in [b"a", b"b"] {
                put_length_prefixed(&mut record, &internal_key(key, 5, ValueType::Value));
            }
            record.extend([5, 5]);
            VersionEdit::decode(&record)
        };
        let edit = form_102(3).unwrap();
        assert_eq!(edit.new_files[0].1.path_id, 3);
        assert_eq!(VersionEdit::decode(&edit.encode()), Ok(edit));
        assert_eq!(form_102(4).unwrap_err().kind(), ErrorKind::Corruption);
    }

    #[test]
    fn unknown_tags_are_skipped_only_with_the_bit() {
        let tagged = |tag: u32, payload: &[u8]| {
            let mut b = Vec::new();
            put_varint32(&mut b, tag);
            b.extend_from_slice(payload);
            put_varint32(&mut b, tags::LAST_SEQUENCE);
            put_varint64(&mut b, 8);
            VersionEdit::decode(&b)
        };
        for (tag, payload) in [
            (8692, &b"\x03abc"[..]),
            (8199, &[2, 7, 1]),
            (8200, &[1, 5]),
            (tags::OLD_WAL_ADDITION, &[7, 2, 100, 1]),
            (tags::OLD_WAL_DELETION, &[7]),
        ] {
            let edit = tagged(tag, payload).unwrap();
            assert_eq!(edit.last_sequence, Some(8), "{tag}");
            assert!(edit.blob_files.is_empty() && edit.blob_garbage.is_empty());
            let (additions, deletion) = match tag {
                8199 => (vec![(7, None)], None),
                8200 => (vec![], Some(5)),
                tags::OLD_WAL_ADDITION => (vec![(7, Some(100))], None),
                tags::OLD_WAL_DELETION => (vec![], Some(7)),
                _ => (vec![], None),
            };
            assert_eq!(
                (edit.wal_additions, edit.wal_deletion),
                (additions, deletion)
            );
        }
        for (tag, payload) in [
            (
                tags::BLOB_FILE_ADDITION,
                &[1, 2, 3, 0, 1, 9, 5, 1, 1, 0][..],
            ),
            (tags::OLD_BLOB_FILE_ADDITION, &[1, 2, 3, 0, 0, 0]),
            (tags::BLOB_FILE_GARBAGE, &[1, 2, 3, 0]),
            (tags::OLD_BLOB_FILE_GARBAGE, &[1, 2, 3, 0]),
        ] {
            let edit = tagged(tag, payload).unwrap();
            assert_eq!(edit.last_sequence, Some(8), "{tag}");
            let number = (edit.blob_files.iter().map(|f| (f.number, f.count, f.bytes))).chain(
                edit.blob_garbage
                    .iter()
                    .map(|g| (g.number, g.count, g.bytes)),
            );
            assert_eq!(number.collect::<Vec<_>>(), [(1, 2, 3)], "{tag}");
        }
        assert!(tagged(tags::BLOB_FILE_GARBAGE, &[1, 2, 3, 64, 0, 0]).is_err());
        for tag in [0, 8, 101, 104, 204, 301, 402] {
            let e = tagged(tag, b"\x00").unwrap_err();
            assert!(e.to_string().contains("unknown tag"), "{e}");
        }
        let mut latin1 = vec![1];
        put_length_prefixed(&mut latin1, &[0xe9]);
        assert!(VersionEdit::decode(&latin1).is_err());
    }
}
