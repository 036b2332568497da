//! Decodes an edit.

use super::{BlobFileMetaData, BlobGarbage, FileMetaData, VersionEdit, WAL_END, WAL_SYNCED_SIZE};
use crate::coding::{get_fixed64, get_length_prefixed, get_varint32, get_varint64};
use crate::error::{Error, Result};
use crate::key::TAG_SIZE;
use crate::manifest::tags::{self, custom};

/// The largest path id: RocksDB has four paths.
const MAX_PATH_ID: u32 = 3;

impl VersionEdit {
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
    // Long: one arm for each tag of the format.
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
            tags::LOGS_MISSED => {
                self.logs_missed = Some(f.inside("missed logs", Fields::ranges)?);
            }
            tags::DECIDED_TO => {
                let decision = f.inside("last decision", |f| {
                    Ok((f.varint64("sequence number")?, f.varint64("log number")?))
                })?;
                self.decided_to = Some(decision);
            }
            tags::UNDECIDED_FROM => {
                let log = f.inside("first undecided log", |f| f.varint64("log number"))?;
                self.undecided_from = Some(log);
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
    /// Sets the custom field `tag`. Returns false if it is malformed, or if it is unknown and must
    /// not be ignored.
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
            custom::TIMESTAMPS_PERSISTED => {
                return byte(value).is_some_and(|b| {
                    self.timestamps_stripped = b != 1;
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
/// Takes typed values off a record. Errors name what was expected.
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

    /// Decodes a length-prefixed string with `take`. Bytes that it leaves are ignored, as in
    /// RocksDB.
    fn inside<T>(
        &mut self,
        what: &str,
        take: impl FnOnce(&mut Fields<'a>) -> Result<T>,
    ) -> Result<T> {
        let src = self.string(what)?;
        take(&mut Fields { src, tag: self.tag })
    }

    /// Ranges of numbers, up to the end of the bytes.
    fn ranges(&mut self) -> Result<Vec<(u64, u64)>> {
        let mut ranges = Vec::new();
        while !self.src.is_empty() {
            ranges.push((self.varint64("first log")?, self.varint64("end of logs")?));
        }
        Ok(ranges)
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
