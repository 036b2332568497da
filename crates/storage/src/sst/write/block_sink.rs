//! Appending blocks to the file of a table being built.

use crate::cache::spare;
use crate::checksum::{ChecksumType, block_checksum, context};
use crate::error::Result;
use crate::fs::{BufferedWriter, WritableFile};
use crate::sst::compress::CompressionType;
use crate::sst::events::{BlockKind, BlockStep, TableEvents, timed};
use crate::sst::format::handle::{BlockHandle, TRAILER_LEN};
use crate::sst::write::cache_warmer::CacheWarmer;
use std::collections::BTreeSet;
use std::sync::Arc;

/// The file of a table being built, and how its blocks are sealed.
pub(crate) struct BlockSink {
    pub(crate) file: BufferedWriter,
    checksum: ChecksumType,
    /// Goes into every checksum together with the block's offset; 0 for none.
    base_context: u32,
    offset: u64,
    /// The compressions of the blocks so far, "none" left out.
    compressions: BTreeSet<u8>,
    /// Where blocks are cached as they are written.
    warmer: Option<CacheWarmer>,
    /// Who is told.
    events: Option<Arc<dyn TableEvents>>,
}

impl BlockSink {
    pub(crate) fn new(file: BufferedWriter, checksum: ChecksumType, base_context: u32) -> Self {
        BlockSink {
            file,
            checksum,
            base_context,
            offset: 0,
            compressions: BTreeSet::new(),
            warmer: None,
            events: None,
        }
    }

    /// The same, which caches what it is told to.
    pub(crate) fn with_cache_warmer(mut self, warmer: Option<CacheWarmer>) -> Self {
        self.warmer = warmer;
        self
    }

    /// Whether blocks are cached as they are written.
    pub(crate) fn is_warming(&self) -> bool {
        self.warmer.is_some()
    }

    /// Caches the block that was appended at `handle`, uncompressed, if blocks are
    /// cached.
    pub(crate) fn warm_cache(&self, kind: BlockKind, handle: BlockHandle, raw: &[u8]) {
        if let Some(warmer) = &self.warmer {
            warmer.put(kind, handle, spare::copy(raw));
        }
    }

    /// Ends caching, when the table is whole.
    pub(crate) fn finish_warming(&mut self) {
        if let Some(warmer) = self.warmer.take() {
            warmer.finish();
        }
    }

    /// Has `events` told of each block.
    pub(crate) fn with_events(mut self, events: Option<Arc<dyn TableEvents>>) -> Self {
        self.events = events;
        self
    }

    /// Bytes written so far.
    pub(crate) fn offset(&self) -> u64 {
        self.offset
    }

    /// What goes into every checksum besides the block; 0 for nothing.
    pub(crate) fn base_context(&self) -> u32 {
        self.base_context
    }

    /// The compressions of the blocks so far, in ascending order, "none" left
    /// out.
    pub(crate) fn compressions(&self) -> impl Iterator<Item = u8> {
        self.compressions.iter().copied()
    }

    /// Appends a block that `ty` says how to read, and its trailer.
    pub(crate) fn append(&mut self, payload: &[u8], ty: CompressionType) -> Result<BlockHandle> {
        let events = self.events.clone();
        timed(events.as_deref(), BlockStep::Write, || {
            self.seal(payload, ty)
        })
    }

    fn seal(&mut self, payload: &[u8], ty: CompressionType) -> Result<BlockHandle> {
        let handle = BlockHandle {
            offset: self.offset,
            size: payload.len() as u64,
        };
        let sum = block_checksum(self.checksum, payload, ty as u8)
            .wrapping_add(context(self.base_context, self.offset))
            .to_le_bytes();
        self.file.append(payload)?;
        self.file
            .append(&[ty as u8, sum[0], sum[1], sum[2], sum[3]])?;
        self.offset += (payload.len() + TRAILER_LEN) as u64;
        if ty != CompressionType::None {
            self.compressions.insert(ty as u8);
        }
        Ok(handle)
    }

    /// Appends bytes that are no block.
    pub(crate) fn append_raw(&mut self, bytes: &[u8]) -> Result<()> {
        self.file.append(bytes)?;
        self.offset += bytes.len() as u64;
        Ok(())
    }
}
