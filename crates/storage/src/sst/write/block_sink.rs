//! Appending blocks to the file of a table being built.

use crate::checksum::{ChecksumType, block_checksum, context};
use crate::error::Result;
use crate::fs::{BufferedWriter, WritableFile};
use crate::sst::compress::CompressionType;
use crate::sst::events::{BlockKind, BlockStep, TableEvents, timed};
use crate::sst::format::handle::{BlockHandle, TRAILER_LEN};
use crate::sst::write::cache_warmer::CacheWarmer;
use std::collections::BTreeSet;
use std::sync::Arc;

/// The file of a table being built. Adds a trailer with a checksum to each block.
pub(crate) struct BlockSink {
    pub(crate) file: BufferedWriter,
    checksum: ChecksumType,
    /// Part of every block's checksum, together with the block's offset; 0 for none.
    base_context: u32,
    offset: u64,
    /// The compressions of the blocks so far, without "none".
    compressions: BTreeSet<u8>,
    /// Caches blocks while they are written, if so configured.
    warmer: Option<CacheWarmer>,
    /// The listener, if there is one.
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

    /// The same sink, which caches blocks with `warmer`.
    pub(crate) fn with_cache_warmer(mut self, warmer: Option<CacheWarmer>) -> Self {
        self.warmer = warmer;
        self
    }

    /// Whether a block is to be [cached](BlockSink::warm_cache); see [`CacheWarmer::wants`].
    pub(crate) fn warms(&self, kind: BlockKind, was_cached: bool) -> bool {
        (self.warmer.as_ref()).is_some_and(|warmer| warmer.wants(kind, was_cached))
    }

    /// Caches `raw`, the uncompressed form of the block that was appended at `handle`.
    pub(crate) fn warm_cache(&mut self, kind: BlockKind, handle: BlockHandle, raw: &[u8]) {
        let Some(warmer) = &mut self.warmer else {
            return;
        };
        let kept = warmer.put(kind, handle, raw);
        if let Some(events) = &self.events {
            match kept {
                true => events.cache_add(kind, raw.len()),
                false => events.cache_add_failed(),
            }
        }
    }

    /// Makes the cached blocks available to readers, once the table is complete.
    pub(crate) fn finish_warming(&mut self) {
        if let Some(warmer) = self.warmer.take() {
            warmer.finish();
        }
    }

    /// The same sink, which reports each block to `events`.
    pub(crate) fn with_events(mut self, events: Option<Arc<dyn TableEvents>>) -> Self {
        self.events = events;
        self
    }

    /// Bytes written so far.
    pub(crate) fn offset(&self) -> u64 {
        self.offset
    }

    /// The part of every checksum that does not come from the block; 0 for none.
    pub(crate) fn base_context(&self) -> u32 {
        self.base_context
    }

    /// The compressions of the blocks so far, in ascending order, without "none".
    pub(crate) fn compressions(&self) -> impl Iterator<Item = u8> {
        self.compressions.iter().copied()
    }

    /// Appends `payload`, a block compressed as `ty`, and its trailer.
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

    /// Appends so many zeros.
    pub(crate) fn pad(&mut self, bytes: usize) -> Result<()> {
        match bytes {
            0 => Ok(()),
            _ => self.append_raw(&vec![0; bytes]),
        }
    }

    /// Appends bytes that are not a block.
    pub(crate) fn append_raw(&mut self, bytes: &[u8]) -> Result<()> {
        self.file.append(bytes)?;
        self.offset += bytes.len() as u64;
        Ok(())
    }
}
