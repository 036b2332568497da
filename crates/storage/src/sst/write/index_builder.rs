//! Writes the index of a table: in one block, or in partitions under a top block.
//!
//! Entries are collected while data blocks are filled. The handles of the data blocks are only
//! known when the index is written, because blocks may be compressed late. Separators can omit
//! tags only if no user key spans two data blocks, which is known at the end.

use crate::coding::put_varint32;
use crate::error::Result;
use crate::key::user_key;
use crate::sst::compress::Compressor;
use crate::sst::events::BlockKind;
use crate::sst::format::block::MAX_BLOCK;
use crate::sst::format::block_builder::BlockBuilder;
use crate::sst::format::handle::{BlockHandle, encode_delta};
use crate::sst::options::index_type::IndexType;
use crate::sst::options::table_options::TableOptions;
use crate::sst::write::block_sink::BlockSink;

/// The first format version whose separators may be user keys.
const USER_KEY_VERSION: u32 = 3;

/// The first format version that stores handles as differences.
const DELTA_VERSION: u32 = 4;

/// Approximate bytes of an index entry besides its keys: lengths, handle, restart point.
const OVERHEAD: usize = 14;

/// An entry of the index, still without its handle.
#[derive(Debug)]
pub(crate) struct IndexEntry {
    /// An internal key at or after the last key of the block, and before the first key of the
    /// next block.
    pub(crate) separator: Vec<u8>,
    /// The first internal key of the block; empty when it is not stored.
    pub(crate) first_key: Vec<u8>,
}

impl IndexEntry {
    pub(crate) fn without_first_key(separator: Vec<u8>) -> Self {
        IndexEntry {
            separator,
            first_key: Vec::new(),
        }
    }
}

/// Collects the entries of an index.
pub(crate) struct IndexBuilder {
    kind: IndexType,
    restart_interval: usize,
    partition_size: usize,
    delta: bool,
    /// Whether separators are user keys.
    user_keys: bool,
    entries: Vec<IndexEntry>,
    key_bytes: usize,
    /// The largest allowed size of a block in bytes.
    max_block: usize,
}

/// What was written for an index.
#[derive(Debug, Clone, Copy)]
pub(crate) struct WrittenIndex {
    /// The only block, or the top block.
    pub(crate) handle: BlockHandle,
    /// Bytes of all index blocks.
    pub(crate) size: u64,
    /// The number of partitions; 0 if there is only one block.
    pub(crate) partitions: u64,
    /// Bytes of the top block; 0 if there is only one block.
    pub(crate) top_size: u64,
}

impl IndexBuilder {
    pub(crate) fn new(table: &TableOptions) -> Self {
        IndexBuilder {
            kind: table.index_type,
            restart_interval: match table.index_type {
                // The prefix blocks refer to restart points by number.
                IndexType::HashSearch => 1,
                _ => table.index_block_restart_interval,
            },
            partition_size: table.metadata_block_size,
            delta: table.format_version >= DELTA_VERSION,
            user_keys: table.format_version >= USER_KEY_VERSION,
            entries: Vec::new(),
            key_bytes: 0,
            max_block: MAX_BLOCK,
        }
    }

    /// Limits every block to `max_block` bytes.
    #[cfg(test)]
    pub(crate) fn limit_blocks(&mut self, max_block: usize) {
        self.max_block = max_block;
    }

    /// The largest allowed size of a block in bytes.
    pub(crate) fn max_block(&self) -> usize {
        self.max_block
    }

    /// Records that a user key spans two blocks: separators keep their tags.
    pub(crate) fn user_key_straddles(&mut self) {
        self.user_keys = false;
    }

    /// Whether entries need the first keys of blocks.
    pub(crate) fn wants_first_keys(&self) -> bool {
        self.kind == IndexType::BinarySearchWithFirstKey
    }

    pub(crate) fn push(&mut self, entry: IndexEntry) {
        self.key_bytes += user_key(&entry.separator).len() + entry.first_key.len();
        self.entries.push(entry);
    }

    /// Number of data blocks in the index.
    pub(crate) fn len(&self) -> usize {
        self.entries.len()
    }

    /// The separator of the last data block.
    pub(crate) fn last_separator(&self) -> &[u8] {
        self.entries.last().map_or(&[], |e| &e.separator)
    }

    /// Approximate bytes of the index if it were written now.
    pub(crate) fn estimated_len(&self) -> usize {
        self.key_bytes + OVERHEAD * self.entries.len()
    }

    /// Keys between restart points.
    pub(crate) fn restart_interval(&self) -> usize {
        self.restart_interval
    }

    /// Whether separators are written as user keys.
    pub(crate) fn has_user_keys(&self) -> bool {
        self.user_keys
    }

    /// Whether handles are written as differences.
    pub(crate) fn has_delta_handles(&self) -> bool {
        self.delta
    }

    /// A block of `entries`, which point to `handles`, in the encoding of this index.
    /// `first_keys` says whether the entries hold first keys.
    ///
    /// # Errors
    /// `InvalidArgument` for a block that is too large.
    pub(crate) fn encode(
        &self,
        entries: &[IndexEntry],
        handles: &[BlockHandle],
        first_keys: bool,
    ) -> Result<Vec<u8>> {
        debug_assert_eq!(entries.len(), handles.len());
        let mut encoder = Encoder::new(self, first_keys);
        for (entry, handle) in entries.iter().zip(handles) {
            encoder.add(entry, *handle);
        }
        let block = encoder.block.finish_within(self.max_block, "the index");
        block.map(<[u8]>::to_vec)
    }

    /// Writes the index of the data blocks at `handles`, one for each entry.
    ///
    /// # Errors
    /// The failure of the file; `InvalidArgument` for an index that is too large.
    pub(crate) fn write(
        &self,
        handles: &[BlockHandle],
        sink: &mut BlockSink,
        compressor: &mut Compressor,
    ) -> Result<WrittenIndex> {
        let start = sink.offset();
        let mut append = |sink: &mut BlockSink, payload: &[u8]| {
            let (payload, ty) = compressor.compress(payload)?;
            sink.append(payload, ty)
        };
        if self.kind != IndexType::TwoLevelIndexSearch {
            let block = self.encode(&self.entries, handles, self.wants_first_keys())?;
            let handle = append(sink, &block)?;
            return Ok(WrittenIndex {
                handle,
                size: sink.offset() - start,
                partitions: 0,
                top_size: 0,
            });
        }
        debug_assert_eq!(self.entries.len(), handles.len());
        let (mut top, mut partitions) = (Vec::new(), Vec::new());
        let mut rest = &self.entries[..];
        while !rest.is_empty() {
            let handles = &handles[self.entries.len() - rest.len()..];
            let mut encoder = Encoder::new(self, false);
            let mut n = 0;
            while n < rest.len() && (n == 0 || encoder.block.len() < self.partition_size) {
                encoder.add(&rest[n], handles[n]);
                n += 1;
            }
            let separator = rest[n - 1].separator.clone();
            top.push(IndexEntry::without_first_key(separator));
            let block = encoder.block.finish_within(self.max_block, "the index")?;
            let handle = append(sink, block)?;
            if sink.warms(BlockKind::Index, false) {
                sink.warm_cache(BlockKind::Index, handle, block);
            }
            partitions.push(handle);
            rest = &rest[n..];
        }
        let handle = append(sink, &self.encode(&top, &partitions, false)?)?;
        let top_size = handle.end().unwrap_or(0) - handle.offset;
        Ok(WrittenIndex {
            handle,
            size: sink.offset() - start,
            partitions: top.len() as u64,
            top_size,
        })
    }
}

/// Encodes entries into one block.
struct Encoder<'a> {
    index: &'a IndexBuilder,
    first_keys: bool,
    block: BlockBuilder,
    prev: Option<BlockHandle>,
    full: Vec<u8>,
    delta: Vec<u8>,
}

impl<'a> Encoder<'a> {
    fn new(index: &'a IndexBuilder, first_keys: bool) -> Self {
        Encoder {
            index,
            first_keys,
            block: BlockBuilder::new(index.restart_interval),
            prev: None,
            full: Vec::new(),
            delta: Vec::new(),
        }
    }

    fn add(&mut self, entry: &IndexEntry, handle: BlockHandle) {
        self.full.clear();
        self.delta.clear();
        handle.encode(&mut self.full);
        let prev = self.prev.replace(handle);
        // Differences are of blocks without padding between them.
        let prev = prev.filter(|prev| prev.end() == Some(handle.offset));
        if let Some(prev) = prev {
            encode_delta(prev, handle, &mut self.delta);
        }
        if self.first_keys {
            for value in [&mut self.full, &mut self.delta] {
                put_varint32(value, entry.first_key.len() as u32);
                value.extend_from_slice(&entry.first_key);
            }
        }
        let key = if self.index.user_keys {
            user_key(&entry.separator)
        } else {
            &entry.separator
        };
        if self.index.delta {
            let delta = prev.map(|_| &self.delta[..]);
            self.block.add_delta(key, &self.full, delta);
        } else {
            self.block.add(key, &self.full);
        }
    }
}
