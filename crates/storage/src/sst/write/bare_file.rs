//! The file of a plain or cuckoo table that is being written: blocks without trailers, and the
//! properties that tables of both formats have.

use crate::error::Result;
use crate::fs::{BufferedWriter, WritableFile};
use crate::key::{SequenceNumber, ValueType};
use crate::sst::format::block_builder::BlockBuilder;
use crate::sst::format::handle::BlockHandle;
use crate::sst::format::metaindex::META_PROPERTIES;
use crate::sst::format::properties::{TableProperties, name};
use crate::sst::options::table_builder_options::TableBuilderOptions;

/// Size of the write buffer in bytes.
const WRITE_BUFFER: usize = 256 << 10;

/// The version of external tables that may have a global sequence number.
const EXTERNAL_VERSION: u32 = 2;

/// A file and how much was written to it.
pub(crate) struct BareFile {
    file: BufferedWriter,
    offset: u64,
    metaindex: Vec<(&'static [u8], BlockHandle)>,
}

impl BareFile {
    pub(crate) fn new(file: Box<dyn WritableFile>) -> Self {
        BareFile {
            file: BufferedWriter::new(file, WRITE_BUFFER),
            offset: 0,
            metaindex: Vec::new(),
        }
    }

    /// Bytes written so far.
    pub(crate) fn offset(&self) -> u64 {
        self.offset
    }

    pub(crate) fn append(&mut self, bytes: &[u8]) -> Result<BlockHandle> {
        let handle = BlockHandle {
            offset: self.offset,
            size: bytes.len() as u64,
        };
        self.file.append(bytes)?;
        self.offset += handle.size;
        Ok(handle)
    }

    /// Appends a block that the metaindex calls `name`. They must come in the order of their names.
    pub(crate) fn append_meta(&mut self, name: &'static [u8], block: &[u8]) -> Result<()> {
        let handle = self.append(block)?;
        self.metaindex.push((name, handle));
        Ok(())
    }

    /// Writes properties, metaindex and footer, and syncs the file.
    pub(crate) fn finish(
        &mut self,
        properties: &TableProperties,
        footer: impl FnOnce(BlockHandle, u64) -> Vec<u8>,
    ) -> Result<()> {
        self.append_meta(META_PROPERTIES, &properties.encode())?;
        let mut block = BlockBuilder::new(1);
        for (name, handle) in &self.metaindex {
            let mut value = Vec::new();
            handle.encode(&mut value);
            block.add(name, &value);
        }
        let metaindex = self.append(block.finish())?;
        self.append(&footer(metaindex, self.offset))?;
        self.file.truncate_to_len()?;
        self.file.sync()
    }
}

/// What a table has, for its properties.
#[derive(Debug, Default)]
pub(crate) struct Counts {
    pub(crate) properties: TableProperties,
    /// Smallest and largest sequence number.
    sequences: Option<(SequenceNumber, SequenceNumber)>,
}

impl Counts {
    /// Counts an entry.
    pub(crate) fn see(&mut self, key: &[u8], value: &[u8], seq: SequenceNumber, ty: ValueType) {
        let p = &mut self.properties;
        p.num_entries += 1;
        p.raw_key_size += key.len() as u64;
        p.raw_value_size += value.len() as u64;
        match ty {
            ValueType::Deletion | ValueType::SingleDeletion | ValueType::DeletionWithTimestamp => {
                p.num_deletions += 1;
            }
            ValueType::Merge => p.num_merge_operands += 1,
            _ => {}
        }
        let (low, high) = self.sequences.unwrap_or((seq, seq));
        self.sequences = Some((low.min(seq), high.max(seq)));
    }

    /// Sets the properties that both formats have. Those in [`TableProperties`] itself are known.
    pub(crate) fn set_properties(&mut self, o: &TableBuilderOptions) {
        let p = &mut self.properties;
        // All data count as one block.
        p.num_data_blocks = 1;
        for (name, value) in [
            (name::NUM_ENTRIES, p.num_entries),
            (name::DELETED_KEYS, p.num_deletions),
            (name::MERGE_OPERANDS, p.num_merge_operands),
            (name::NUM_RANGE_DELETIONS, 0),
            (name::RAW_KEY_SIZE, p.raw_key_size),
            (name::RAW_VALUE_SIZE, p.raw_value_size),
            (name::DATA_SIZE, p.data_size),
            (name::INDEX_SIZE, p.index_size),
            (name::FILTER_SIZE, p.filter_size),
            (name::NUM_DATA_BLOCKS, p.num_data_blocks),
            (name::INDEX_USER_KEY, 0),
            (name::INDEX_DELTA, 0),
            (name::COLUMN_FAMILY_ID, u64::from(o.column_family_id)),
            (name::CREATION_TIME, o.creation_time),
            (name::OLDEST_KEY_TIME, o.oldest_key_time),
            (name::FILE_CREATION_TIME, o.file_creation_time),
            (name::FILE_NUMBER, o.file_number),
        ] {
            p.set_number(name, value);
        }
        for (name, text) in [
            (name::COMPARATOR, o.comparator.user.name()),
            (name::COLUMN_FAMILY_NAME, &o.column_family_name),
            (name::DB_ID, &o.db_id),
            (name::SESSION_ID, &o.session_id),
        ] {
            if !text.is_empty() {
                p.set_bytes(name, text);
            }
        }
        let extractor = o.prefix_extractor.as_ref().map(|e| e.name());
        let extractor = extractor.as_deref().unwrap_or("nullptr");
        p.set_bytes(name::PREFIX_EXTRACTOR, extractor);
        if let Some((smallest, largest)) = self.sequences {
            p.set_number(name::SMALLEST_SEQNO, smallest);
            p.set_number(name::LARGEST_SEQNO, largest);
        }
        if o.external {
            p.set_bytes(name::EXTERNAL_VERSION, EXTERNAL_VERSION.to_le_bytes());
            p.set_bytes(name::GLOBAL_SEQNO, 0u64.to_le_bytes());
        }
    }
}
