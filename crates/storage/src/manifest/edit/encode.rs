//! Encodes an edit.

use super::{BlobFileMetaData, BlobGarbage, FileMetaData, VersionEdit, WAL_END, WAL_SYNCED_SIZE};
use crate::coding::{put_length_prefixed, put_varint32, put_varint64, varint_len};
use crate::manifest::tags::{self, custom};

impl VersionEdit {
    /// The bytes of the record. New files are written in form 103, blob files under the tags 400
    /// and 401.
    // Long: one field after the other, in the order in which RocksDB writes them.
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
        if let Some(ranges) = &self.logs_missed {
            let mut body = Vec::new();
            for (first, end) in ranges {
                put_varint64(&mut body, *first);
                put_varint64(&mut body, *end);
            }
            put_varint32(&mut dst, tags::LOGS_MISSED);
            put_length_prefixed(&mut dst, &body);
        }
        if let Some((number, log)) = self.decided_to {
            let mut body = Vec::new();
            put_varint64(&mut body, number);
            put_varint64(&mut body, log);
            put_varint32(&mut dst, tags::DECIDED_TO);
            put_length_prefixed(&mut dst, &body);
        }
        if let Some(log) = self.undecided_from {
            let mut body = Vec::new();
            put_varint64(&mut body, log);
            put_varint32(&mut dst, tags::UNDECIDED_FROM);
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
}

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
        // Larger ids cannot be read, so there are none here.
        (custom::PATH_ID, file.path_id as u8),
    ] {
        if byte != 0 {
            put_varint32(dst, tag);
            put_length_prefixed(dst, &[byte]);
        }
    }
    if file.timestamps_stripped {
        put_varint32(dst, custom::TIMESTAMPS_PERSISTED);
        put_length_prefixed(dst, &[0]);
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
