//! Reading tables.

use super::TableProperties;
use crate::cache::BlockCache;
use crate::error::Result;
use crate::fs::RandomAccessFile;
use crate::iter::BoxedIterator;
use crate::key::{InternalComparator, ParsedKey, SequenceNumber};
use crate::rangedel::RangeTombstone;
use bytes::Bytes;
use std::sync::Arc;

/// What opening a table needs to know.
#[derive(Debug, Clone)]
pub struct TableReaderOptions {
    /// Key order; checked against the file's comparator name.
    pub comparator: InternalComparator,
    /// Where blocks are cached.
    pub block_cache: Option<BlockCache>,
    /// The manifest's largest sequence number of the file, for ingested files.
    pub largest_seqno: Option<SequenceNumber>,
    /// Number of the file, for messages.
    pub file_number: u64,
}

/// How one read treats blocks.
#[derive(Debug, Clone, Copy)]
pub struct TableReadOptions {
    /// Verify block checksums. Default true.
    pub verify_checksums: bool,
    /// Put blocks read into the cache. Default true.
    pub fill_cache: bool,
    /// Bytes to read ahead in iterators; 0 lets the table decide.
    pub readahead: usize,
}

impl Default for TableReadOptions {
    fn default() -> Self {
        TableReadOptions {
            verify_checksums: true,
            fill_cache: true,
            readahead: 0,
        }
    }
}

/// An open table. Shared by many readers.
#[derive(Debug)]
pub struct Table {
    _file: Arc<dyn RandomAccessFile>,
}

impl Table {
    /// Opens the table in `file`, which has `size` bytes: footer, properties,
    /// index and filter are read and checked.
    pub fn open(
        file: Arc<dyn RandomAccessFile>,
        size: u64,
        options: TableReaderOptions,
    ) -> Result<Table> {
        let _ = (size, options);
        let _ = file;
        todo!()
    }

    /// Finds entries of the user key of `lookup` (an internal seek key) from
    /// `lookup` on, newest first, and hands each to `visit` until it returns
    /// `false` or the user key ends. The value is a slice of the block and may
    /// be kept. Consults the filter first.
    pub fn get(
        &self,
        lookup: &[u8],
        options: TableReadOptions,
        visit: &mut dyn FnMut(ParsedKey<'_>, Bytes) -> Result<bool>,
    ) -> Result<()> {
        let _ = (lookup, options, visit);
        todo!()
    }

    /// Whether the filter says that `user_key` may be in the table.
    pub fn may_contain(&self, user_key: &[u8]) -> bool {
        let _ = user_key;
        todo!()
    }

    /// A cursor over the points of the table.
    pub fn iter(self: &Arc<Self>, options: TableReadOptions) -> BoxedIterator {
        let _ = options;
        todo!()
    }

    /// The table's range tombstones, sequence numbers resolved.
    pub fn range_tombstones(&self) -> &[RangeTombstone] {
        todo!()
    }

    /// What the table says about itself.
    pub fn properties(&self) -> &TableProperties {
        todo!()
    }

    /// About how many bytes of the file precede the internal key `target`.
    pub fn approximate_offset_of(&self, target: &[u8]) -> u64 {
        let _ = target;
        todo!()
    }

    /// Bytes of memory held by the open table outside the block cache.
    pub fn memory_usage(&self) -> usize {
        todo!()
    }

    /// Reads every block and checks its checksum and order.
    pub fn verify(&self) -> Result<()> {
        todo!()
    }
}
