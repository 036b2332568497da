//! The tags of version edits, as stored. Never reused, never changed.

pub(super) const COMPARATOR: u32 = 1;
pub(super) const LOG_NUMBER: u32 = 2;
pub(super) const NEXT_FILE_NUMBER: u32 = 3;
pub(super) const LAST_SEQUENCE: u32 = 4;
pub(super) const COMPACT_CURSOR: u32 = 5;
pub(super) const DELETED_FILE: u32 = 6;
pub(super) const NEW_FILE: u32 = 7;
pub(super) const PREV_LOG_NUMBER: u32 = 9;
pub(super) const MIN_LOG_NUMBER_TO_KEEP: u32 = 10;
pub(super) const NEW_FILE_2: u32 = 100;
pub(super) const NEW_FILE_3: u32 = 102;
pub(super) const NEW_FILE_4: u32 = 103;
pub(super) const COLUMN_FAMILY: u32 = 200;
pub(super) const COLUMN_FAMILY_ADD: u32 = 201;
pub(super) const COLUMN_FAMILY_DROP: u32 = 202;
pub(super) const MAX_COLUMN_FAMILY: u32 = 203;
pub(super) const IN_ATOMIC_GROUP: u32 = 300;
pub(super) const BLOB_FILE_ADDITION: u32 = 400;
pub(super) const BLOB_FILE_GARBAGE: u32 = 401;

/// Tags with this bit carry one length-prefixed string and may be skipped, except for the four old
/// tags below, whose payload follows directly.
pub(super) const IGNORABLE_BIT: u32 = 8192;
pub(super) const DB_ID: u32 = 8193;
pub(super) const FULL_HISTORY_TS_LOW: u32 = 8198;
/// A tag of this project; RocksDB skips it.
pub(super) const GROUP_START: u32 = IGNORABLE_BIT | 0x1757;
/// Another tag of this project; RocksDB skips it.
pub(super) const LOGS_MISSED: u32 = IGNORABLE_BIT | 0x1758;
/// Another tag of this project; RocksDB skips it.
pub(super) const DECIDED_TO: u32 = IGNORABLE_BIT | 0x1759;
/// Another tag of this project; RocksDB skips it.
pub(super) const UNDECIDED_FROM: u32 = IGNORABLE_BIT | 0x175a;
pub(super) const OLD_BLOB_FILE_ADDITION: u32 = 8194;
pub(super) const OLD_BLOB_FILE_GARBAGE: u32 = 8195;
pub(super) const OLD_WAL_ADDITION: u32 = 8196;
pub(super) const OLD_WAL_DELETION: u32 = 8197;
pub(super) const WAL_ADDITION: u32 = 8199;
pub(super) const WAL_DELETION: u32 = 8200;

/// Fields of a file in form 103: a tag and a length-prefixed string each.
pub(super) mod custom {
    pub const TERMINATE: u32 = 1;
    /// Ends the fields of a blob file, which has fields of its own.
    pub const BLOB_TERMINATE: u32 = 0;
    pub const NEED_COMPACTION: u32 = 2;
    pub const MIN_LOG_NUMBER_TO_KEEP: u32 = 3;
    pub const OLDEST_BLOB_FILE: u32 = 4;
    pub const OLDEST_ANCESTER_TIME: u32 = 5;
    pub const FILE_CREATION_TIME: u32 = 6;
    pub const FILE_CHECKSUM: u32 = 7;
    pub const FILE_CHECKSUM_FUNC_NAME: u32 = 8;
    pub const TEMPERATURE: u32 = 9;
    pub const UNIQUE_ID: u32 = 12;
    pub const EPOCH_NUMBER: u32 = 13;
    pub const COMPENSATED_RANGE_DELETION_SIZE: u32 = 14;
    pub const TAIL_SIZE: u32 = 15;
    pub const TIMESTAMPS_PERSISTED: u32 = 16;
    /// Unknown fields with this bit must not be ignored.
    pub const MANDATORY_BIT: u32 = 64;
    pub const PATH_ID: u32 = 65;
}
