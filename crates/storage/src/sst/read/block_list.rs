//! Lists the blocks of a table and the entries of a data block, for tools that show a file. Reading
//! keys needs none of it.

use crate::checksum::ChecksumType;
use crate::error::Result;
use crate::key::{TAG_SIZE, user_key};
use crate::sst::format::block::{Block, Cursor, EntryLayout};
use crate::sst::format::handle::BlockHandle;
use crate::sst::format::metaindex::META_INDEX;
use crate::sst::options::read_options::BlockReadOptions;
use crate::sst::read::index_cursor::IndexCursor;
use crate::sst::read::readahead::ReadAhead;
use crate::sst::read::table::Table;
use crate::sst::read::table_filter::FilterBlocks;

/// The role of a block in its table.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum BlockRole {
    /// Entries.
    Data {
        /// The user key of the block's index entry. No key of the block is greater.
        separator: Vec<u8>,
    },
    /// The index, or the top block of a partitioned index.
    Index,
    /// A partition of the index.
    IndexPartition,
    /// A partition of the filter.
    FilterPartition,
    /// A block that the metaindex names: properties, filter, range tombstones.
    Meta {
        /// Its name in the metaindex.
        name: String,
    },
}

/// A block of a table's file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct BlockInfo {
    /// Its role.
    pub kind: BlockRole,
    /// Its offset in the file, in bytes.
    pub offset: u64,
    /// Its size in the file, in bytes, without the five of compression type and checksum.
    pub size: u64,
}

impl BlockInfo {
    fn new(kind: BlockRole, handle: BlockHandle) -> Self {
        BlockInfo {
            kind,
            offset: handle.offset,
            size: handle.size,
        }
    }

    fn handle(&self) -> BlockHandle {
        BlockHandle {
            offset: self.offset,
            size: self.size,
        }
    }
}

impl Table {
    /// The kind of checksum of the table's blocks.
    pub fn checksum_type(&self) -> ChecksumType {
        self.file.checksum
    }

    /// The blocks of the table in the order of the file, without the metaindex. A plain or cuckoo
    /// table has no data blocks in the file; those that its data are divided into stand for them.
    ///
    /// # Errors
    /// Those of reading the index.
    pub fn blocks(&self) -> Result<Vec<BlockInfo>> {
        let mut blocks = Vec::new();
        if self.is_block_based() {
            blocks.push(BlockInfo::new(BlockRole::Index, self.index_handle));
        }
        for (name, &handle) in &self.metaindex {
            if name != META_INDEX {
                let name = String::from_utf8_lossy(name).into_owned();
                blocks.push(BlockInfo::new(BlockRole::Meta { name }, handle));
            }
        }
        if let FilterBlocks::Partitioned(top) = &self.filter.blocks {
            self.push_handles(top, BlockRole::FilterPartition, &mut blocks)?;
        }
        if self.index_format.partitioned {
            self.push_handles(&self.index, BlockRole::IndexPartition, &mut blocks)?;
        }
        let mut index = IndexCursor::new(self, BlockReadOptions::FROM_FILE, Vec::new());
        index.seek_to_first(self)?;
        while index.valid() {
            let key = index.key(self);
            let separator = if self.index_format.user_keys {
                key
            } else {
                user_key(key)
            };
            let separator = separator.to_vec();
            blocks.push(BlockInfo::new(
                BlockRole::Data { separator },
                index.handle(),
            ));
            index.next(self)?;
        }
        blocks.sort_by_key(|block| block.offset);
        Ok(blocks)
    }

    /// Adds the blocks that the top block `top` points to.
    fn push_handles(&self, top: &Block, kind: BlockRole, to: &mut Vec<BlockInfo>) -> Result<()> {
        let mut cursor = self.index_format.cursor(Vec::new());
        cursor.seek_to_first(top);
        while cursor.valid() {
            to.push(BlockInfo::new(kind.clone(), cursor.handle()));
            cursor.next(top);
        }
        let blame = |e| self.file.blame(e, self.index_handle);
        cursor.status().map_err(blame)
    }

    /// The stored compression type of a block, a number of
    /// [`CompressionType`](crate::sst::CompressionType). The block's checksum is verified.
    ///
    /// # Errors
    /// `Corruption` naming file and offset; errors of reading the file.
    pub fn compression_of(&self, block: &BlockInfo) -> Result<u8> {
        if !self.is_block_based() {
            return Ok(0);
        }
        let readahead = &mut ReadAhead::default();
        let (_, number) = self.file.read_raw(block.handle(), true, readahead)?;
        Ok(number)
    }

    /// Calls `visit` with internal key and value of each entry of a data block, as they are
    /// stored: entries of an ingested file have the sequence number 0.
    ///
    /// # Errors
    /// `Corruption` naming file and offset; errors of reading the file, and of `visit`.
    pub fn entries_of<E: From<crate::Error>>(
        &self,
        block: &BlockInfo,
        mut visit: impl FnMut(&[u8], &[u8]) -> Result<(), E>,
    ) -> Result<(), E> {
        let handle = block.handle();
        let content = self.read_data_block(
            handle,
            BlockReadOptions::FROM_FILE,
            &mut ReadAhead::default(),
        )?;
        let mut cursor = Cursor::new(EntryLayout::Values, TAG_SIZE);
        cursor.seek_to_first(&content);
        while cursor.valid() {
            visit(cursor.key(&content), cursor.value(&content))?;
            cursor.next(&content);
        }
        let blame = |e| self.file.blame(e, handle);
        Ok(cursor.status().map_err(blame)?)
    }
}
