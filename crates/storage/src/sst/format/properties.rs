//! The properties block.

use crate::coding::{get_fixed32, get_fixed64, get_varint64, put_varint64};
use crate::error::{Error, Result};
use crate::sst::format::block::{Block, Cursor, EntryLayout};
use crate::sst::format::block_builder::BlockBuilder;
use std::collections::BTreeMap;

/// Names of the properties that are read or written here.
pub(crate) mod name {
    pub(crate) const COLUMN_FAMILY_ID: &str = "rocksdb.column.family.id";
    pub(crate) const COLUMN_FAMILY_NAME: &str = "rocksdb.column.family.name";
    pub(crate) const COMPARATOR: &str = "rocksdb.comparator";
    pub(crate) const COMPRESSION: &str = "rocksdb.compression";
    pub(crate) const CREATION_TIME: &str = "rocksdb.creation.time";
    pub(crate) const DATA_SIZE: &str = "rocksdb.data.size";
    pub(crate) const DATA_RESTART_INTERVAL: &str = "rocksdb.data.block.restart.interval";
    pub(crate) const DB_ID: &str = "rocksdb.creating.db.identity";
    pub(crate) const DELETED_KEYS: &str = "rocksdb.deleted.keys";
    pub(crate) const EXTERNAL_VERSION: &str = "rocksdb.external_sst_file.version";
    pub(crate) const FILE_CREATION_TIME: &str = "rocksdb.file.creation.time";
    pub(crate) const FILE_NUMBER: &str = "rocksdb.original.file.number";
    pub(crate) const FILTER_POLICY: &str = "rocksdb.filter.policy";
    pub(crate) const FILTER_SIZE: &str = "rocksdb.filter.size";
    pub(crate) const FIXED_KEY_LENGTH: &str = "rocksdb.fixed.key.length";
    pub(crate) const FORMAT_VERSION: &str = "rocksdb.format.version";
    pub(crate) const GLOBAL_SEQNO: &str = "rocksdb.external_sst_file.global_seqno";
    pub(crate) const INDEX_DELTA: &str = "rocksdb.index.value.is.delta.encoded";
    pub(crate) const INDEX_PARTITIONS: &str = "rocksdb.index.partitions";
    pub(crate) const INDEX_RESTART_INTERVAL: &str = "rocksdb.index.block.restart.interval";
    pub(crate) const INDEX_SIZE: &str = "rocksdb.index.size";
    pub(crate) const INDEX_TYPE: &str = "rocksdb.block.based.table.index.type";
    pub(crate) const INDEX_USER_KEY: &str = "rocksdb.index.key.is.user.key";
    pub(crate) const LARGEST_SEQNO: &str = "rocksdb.key.largest.seqno";
    pub(crate) const MERGE_OPERANDS: &str = "rocksdb.merge.operands";
    pub(crate) const MERGE_OPERATOR: &str = "rocksdb.merge.operator";
    pub(crate) const NUM_DATA_BLOCKS: &str = "rocksdb.num.data.blocks";
    pub(crate) const NUM_ENTRIES: &str = "rocksdb.num.entries";
    pub(crate) const NUM_FILTER_ENTRIES: &str = "rocksdb.num.filter_entries";
    pub(crate) const NUM_RANGE_DELETIONS: &str = "rocksdb.num.range-deletions";
    pub(crate) const OLDEST_KEY_TIME: &str = "rocksdb.oldest.key.time";
    pub(crate) const PREFIX_EXTRACTOR: &str = "rocksdb.prefix.extractor.name";
    pub(crate) const PREFIX_FILTERING: &str = "rocksdb.block.based.table.prefix.filtering";
    pub(crate) const PROPERTY_COLLECTORS: &str = "rocksdb.property.collectors";
    pub(crate) const RAW_KEY_SIZE: &str = "rocksdb.raw.key.size";
    pub(crate) const RAW_VALUE_SIZE: &str = "rocksdb.raw.value.size";
    pub(crate) const SESSION_ID: &str = "rocksdb.creating.session.identity";
    pub(crate) const SMALLEST_SEQNO: &str = "rocksdb.key.smallest.seqno";
    pub(crate) const TAIL_START: &str = "rocksdb.tail.start.offset";
    pub(crate) const TIMESTAMPS_PERSISTED: &str = "rocksdb.user.defined.timestamps.persisted";
    pub(crate) const TOP_INDEX_SIZE: &str = "rocksdb.top-level.index.size";
    pub(crate) const WHOLE_KEY_FILTERING: &str = "rocksdb.block.based.table.whole.key.filtering";
}

/// The properties that a table stores about itself.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct TableProperties {
    /// Number of entries: points and range tombstones.
    pub num_entries: u64,
    /// Number of point tombstones and range tombstones.
    pub num_deletions: u64,
    /// Number of merge operands.
    pub num_merge_operands: u64,
    /// Number of range tombstones.
    pub num_range_deletions: u64,
    /// Bytes of all internal keys before compression.
    pub raw_key_size: u64,
    /// Bytes of all values before compression.
    pub raw_value_size: u64,
    /// Bytes of data blocks in the file.
    pub data_size: u64,
    /// Bytes of index blocks.
    pub index_size: u64,
    /// Bytes of the filter.
    pub filter_size: u64,
    /// Number of data blocks.
    pub num_data_blocks: u64,
    /// Every property in the file by its full name, undecoded.
    pub raw: BTreeMap<String, Vec<u8>>,
}

/// Whether a table was made to be ingested.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum External {
    /// The table was not made to be ingested.
    No,
    /// The table was made to be ingested, by a version without global sequence numbers. Its
    /// entries have the number 0.
    Unnumbered,
    /// The table was made to be ingested, and has this global sequence number; 0 means that it
    /// has none yet.
    Numbered(u64),
}

impl TableProperties {
    /// The name of the comparator that the table is sorted by; `None` if the table does not say.
    pub fn comparator(&self) -> Option<String> {
        let name = self.raw.get(name::COMPARATOR)?;
        Some(String::from_utf8_lossy(name).into_owned())
    }

    /// The session of a database that wrote the table; `None` if the table does not say.
    pub fn session_id(&self) -> Option<&str> {
        let id = self.raw.get(name::SESSION_ID)?;
        std::str::from_utf8(id).ok().filter(|id| !id.is_empty())
    }

    /// Whether the table was made to be ingested.
    ///
    /// # Errors
    /// `Corruption` for properties that contradict each other.
    pub fn external(&self) -> Result<External> {
        let version = self.fixed32(name::EXTERNAL_VERSION)?;
        let stored = self.fixed64(name::GLOBAL_SEQNO)?;
        match (version, stored) {
            (None, None) => Ok(External::No),
            (Some(1), None) => Ok(External::Unnumbered),
            (None, Some(_)) => Err(Error::corruption(
                "table has a global sequence number but no external file version",
            )),
            (Some(2..), stored) => Ok(External::Numbered(stored.unwrap_or(0))),
            (Some(version), _) => Err(Error::corruption(format_args!(
                "bad external file version {version}"
            ))),
        }
    }

    /// Reads the properties block.
    pub(crate) fn decode(block: &Block) -> Result<Self> {
        let mut raw = BTreeMap::new();
        let mut cursor = Cursor::new(EntryLayout::Values, 0);
        cursor.seek_to_first(block);
        while cursor.valid() {
            let name = String::from_utf8_lossy(cursor.key(block)).into_owned();
            raw.insert(name, cursor.value(block).to_vec());
            cursor.next(block);
        }
        cursor.status()?;
        let mut p = TableProperties {
            raw,
            ..TableProperties::default()
        };
        p.num_entries = p.number(name::NUM_ENTRIES)?;
        p.num_deletions = p.number(name::DELETED_KEYS)?;
        p.num_merge_operands = p.number(name::MERGE_OPERANDS)?;
        p.num_range_deletions = p.number(name::NUM_RANGE_DELETIONS)?;
        p.raw_key_size = p.number(name::RAW_KEY_SIZE)?;
        p.raw_value_size = p.number(name::RAW_VALUE_SIZE)?;
        p.data_size = p.number(name::DATA_SIZE)?;
        p.index_size = p.number(name::INDEX_SIZE)?;
        p.filter_size = p.number(name::FILTER_SIZE)?;
        p.num_data_blocks = p.number(name::NUM_DATA_BLOCKS)?;
        Ok(p)
    }

    /// The payload of the properties block for [`TableProperties::raw`].
    pub(crate) fn encode(&self) -> Vec<u8> {
        let mut b = BlockBuilder::new(usize::MAX);
        for (name, value) in &self.raw {
            b.add(name.as_bytes(), value);
        }
        b.finish().to_vec()
    }

    /// A varint property, 0 when absent.
    pub(crate) fn number(&self, name: &str) -> Result<u64> {
        match self.raw.get(name) {
            None => Ok(0),
            Some(v) => exact(get_varint64, v).ok_or_else(|| bad(name)),
        }
    }

    /// A fixed 32-bit property.
    pub(crate) fn fixed32(&self, name: &str) -> Result<Option<u32>> {
        let decode = |v: &Vec<u8>| exact(get_fixed32, v).ok_or_else(|| bad(name));
        self.raw.get(name).map(decode).transpose()
    }

    /// A fixed 64-bit property.
    pub(crate) fn fixed64(&self, name: &str) -> Result<Option<u64>> {
        let decode = |v: &Vec<u8>| exact(get_fixed64, v).ok_or_else(|| bad(name));
        self.raw.get(name).map(decode).transpose()
    }

    /// A property that is the text `0` or `1`, `default` when absent.
    pub(crate) fn flag(&self, name: &str, default: bool) -> bool {
        self.raw.get(name).map_or(default, |v| v == b"1")
    }

    /// Sets a varint property.
    pub(crate) fn set_number(&mut self, name: &str, value: u64) {
        let mut v = Vec::new();
        put_varint64(&mut v, value);
        self.raw.insert(name.to_owned(), v);
    }

    /// Sets a property to bytes or text.
    pub(crate) fn set_bytes(&mut self, name: &str, value: impl AsRef<[u8]>) {
        self.raw.insert(name.to_owned(), value.as_ref().to_vec());
    }

    /// Approximate bytes of memory held.
    pub(crate) fn memory_usage(&self) -> usize {
        let entry = |(k, v): (&String, &Vec<u8>)| k.len() + v.len() + 64;
        size_of::<Self>() + self.raw.iter().map(entry).sum::<usize>()
    }
}

fn exact<T>(get: impl Fn(&mut &[u8]) -> Option<T>, mut v: &[u8]) -> Option<T> {
    let out = get(&mut v)?;
    v.is_empty().then_some(out)
}

fn bad(name: &str) -> Error {
    Error::corruption(format_args!("bad table property {name}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn properties_round_trip() {
        let mut p = TableProperties::default();
        p.set_number(name::NUM_ENTRIES, 300);
        p.set_number(name::RAW_KEY_SIZE, 1 << 40);
        p.set_bytes(name::INDEX_TYPE, 2u32.to_le_bytes());
        p.set_bytes(name::GLOBAL_SEQNO, 9u64.to_le_bytes());
        p.set_bytes(name::WHOLE_KEY_FILTERING, "1");
        p.set_bytes(name::PREFIX_FILTERING, "0");
        let block = Block::new(p.encode().into()).expect("valid");
        let q = TableProperties::decode(&block).expect("valid");
        assert_eq!(q.num_entries, 300);
        assert_eq!(q.raw_key_size, 1 << 40);
        assert_eq!(q.raw, p.raw);
        assert_eq!(q.fixed32(name::INDEX_TYPE), Ok(Some(2)));
        assert_eq!(q.fixed64(name::GLOBAL_SEQNO), Ok(Some(9)));
        assert_eq!(q.fixed32(name::EXTERNAL_VERSION), Ok(None));
        assert!(q.fixed32(name::GLOBAL_SEQNO).is_err());
        assert!(q.flag(name::WHOLE_KEY_FILTERING, false));
        assert!(!q.flag(name::PREFIX_FILTERING, true));
        assert!(q.flag("absent", true));
    }
}
