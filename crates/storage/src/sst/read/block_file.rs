//! Fetches blocks from a file: bounds, checksum, decompression, read-ahead.
//!
//! Knows nothing of what blocks hold. Every error names the file and the offset of the block.

use crate::cache::spare;
use crate::checksum::{ChecksumType, block_checksum, context};
use crate::error::{Error, Result};
use crate::fs::RandomAccessFile;
use crate::perf::{self, PerfMetric};
use crate::planted;
use crate::sst::compress::{Dictionary, decompress};
use crate::sst::events::{BlockStep, TableEvents, timed};
use crate::sst::format::footer::Footer;
use crate::sst::format::handle::{BlockHandle, TRAILER_LEN};
use crate::sst::read::read_buffer;
use crate::sst::read::readahead::ReadAhead;
use bytes::Bytes;
use std::fmt;
use std::ops::Range;
use std::sync::Arc;

/// The file of a table and what is needed to read its blocks.
#[derive(Debug)]
pub(crate) struct BlockFile {
    pub(crate) file: Arc<dyn RandomAccessFile>,
    /// Length of the file in bytes: no block ends past it.
    pub(crate) size: u64,
    pub(crate) checksum: ChecksumType,
    pub(crate) base_context: u32,
    /// The listener, if there is one.
    pub(crate) events: Option<Arc<dyn TableEvents>>,
}

impl BlockFile {
    pub(crate) fn new(
        file: Arc<dyn RandomAccessFile>,
        size: u64,
        footer: &Footer,
        events: Option<Arc<dyn TableEvents>>,
    ) -> Self {
        BlockFile {
            file,
            size,
            checksum: footer.checksum,
            base_context: footer.base_context,
            events,
        }
    }

    /// Adds the file and the block's offset to an error that lacks them.
    pub(crate) fn blame(&self, e: Error, handle: BlockHandle) -> Error {
        e.in_file(self.file.path(), Some(handle.offset))
    }

    /// The uncompressed payload of the block at `handle`.
    ///
    /// `readahead` may hold its bytes already; otherwise it decides how much to read. With
    /// `detach`, the result does not keep the memory of `readahead` alive.
    pub(crate) fn read(
        &self,
        handle: BlockHandle,
        verify: bool,
        dictionary: Option<&Dictionary>,
        readahead: &mut ReadAhead,
        detach: bool,
    ) -> Result<Bytes> {
        self.check_bounds(handle)?;
        let len = handle.size as usize;
        read_buffer::reserve_ahead(len);
        let whole = match self.read_ahead(handle, readahead)? {
            Some(whole) => whole,
            None if len + TRAILER_LEN <= read_buffer::MAX_LEN => {
                return read_buffer::with(len + TRAILER_LEN, |whole| {
                    self.counting(whole.len(), || self.file.read_into(handle.offset, whole))?;
                    match self.check(handle, verify, whole)? {
                        0 => Ok(spare::copy(&whole[..len])),
                        ty => self.decompress(handle, ty, &whole[..len], dictionary),
                    }
                });
            }
            None => self.read_at(handle.offset, len + TRAILER_LEN)?,
        };
        match self.check(handle, verify, &whole)? {
            0 if detach && readahead.is_wider_than(handle) => Ok(spare::copy(&whole[..len])),
            0 => Ok(whole.slice(..len)),
            ty => self.decompress(handle, ty, &whole[..len], dictionary),
        }
    }

    /// The payload as it is stored, and its compression type.
    pub(crate) fn read_raw(
        &self,
        handle: BlockHandle,
        verify: bool,
        readahead: &mut ReadAhead,
    ) -> Result<(Bytes, u8)> {
        self.check_bounds(handle)?;
        let len = handle.size as usize;
        let whole = match self.read_ahead(handle, readahead)? {
            Some(whole) => whole,
            None => self.read_at(handle.offset, len + TRAILER_LEN)?,
        };
        let ty = self.check(handle, verify, &whole)?;
        Ok((whole.slice(..len), ty))
    }

    /// The bytes at `handle`, which have no trailer.
    pub(crate) fn read_bare(
        &self,
        handle: BlockHandle,
        readahead: &mut ReadAhead,
    ) -> Result<Bytes> {
        match handle.offset.checked_add(handle.size) {
            Some(end) if end <= self.size => {}
            _ => return Err(self.bad(handle, "block handle points past the end of the table")),
        }
        // Read-ahead counts trailers. The last bytes are taken for one.
        if let Some(size) = handle.size.checked_sub(TRAILER_LEN as u64)
            && let Some(whole) = self.read_ahead(BlockHandle { size, ..handle }, readahead)?
        {
            return Ok(whole);
        }
        let whole = self.read_at(handle.offset, handle.size as usize)?;
        if whole.len() as u64 != handle.size {
            return Err(self.bad(handle, "short read of a block"));
        }
        Ok(whole)
    }

    /// The block and its trailer at `handle`, which lies within the file: taken from `readahead`,
    /// or read together with what follows. `None` if no more than the block is to be read.
    fn read_ahead(&self, handle: BlockHandle, readahead: &mut ReadAhead) -> Result<Option<Bytes>> {
        if let Some(block) = readahead.get(handle) {
            return Ok(Some(block));
        }
        let Some(range) = readahead.next_read(handle, self.size) else {
            return Ok(None);
        };
        let range = match self.file.has_page_cache() {
            true => {
                let (piece, hint) = readahead.piece(range, self.size);
                self.prefetch(hint);
                // A block may be larger.
                piece.start
                    ..piece
                        .end
                        .max(handle.offset + handle.size + TRAILER_LEN as u64)
            }
            false => range,
        };
        let bytes = self.read_at(range.start, (range.end - range.start) as usize)?;
        readahead.fill(bytes, range.start);
        match readahead.get(handle) {
            Some(block) => Ok(Some(block)),
            None => Err(self.bad(handle, "short read of a block")),
        }
    }

    fn check_bounds(&self, handle: BlockHandle) -> Result<()> {
        match handle.end() {
            Some(end) if end <= self.size => Ok(()),
            _ => Err(self.bad(handle, "block handle points past the end of the table")),
        }
    }

    fn bad(&self, handle: BlockHandle, what: impl fmt::Display) -> Error {
        self.blame(Error::corruption(what), handle)
    }

    /// Reads bytes of the file.
    fn read_at(&self, offset: u64, len: usize) -> Result<Bytes> {
        self.counting(len, || self.file.read_at(offset, len))
    }

    /// Has a block read in the background. A hint.
    pub(crate) fn announce(&self, handle: BlockHandle) {
        if self.check_bounds(handle).is_ok() {
            let len = handle.size as usize + TRAILER_LEN;
            self.file.prefetch(handle.offset, len);
        }
    }

    /// Tells the system that it is to read a range, if that is not empty.
    fn prefetch(&self, range: Range<u64>) {
        if !range.is_empty() {
            let len = (range.end - range.start) as usize;
            self.file.prefetch(range.start, len);
        }
    }

    /// Runs `read`, which reads `len` bytes for a block, and counts and times it.
    fn counting<T>(&self, len: usize, read: impl FnOnce() -> Result<T>) -> Result<T> {
        perf::count(PerfMetric::BlockReadCount, 1);
        perf::count(PerfMetric::BlockReadByte, len as u64);
        let _timer = perf::timer(PerfMetric::BlockReadTime);
        read()
    }

    /// Checks `whole`, a block with its trailer, and returns its compression type.
    fn check(&self, handle: BlockHandle, verify: bool, whole: &[u8]) -> Result<u8> {
        let len = handle.size as usize;
        let Some(&[ty, c0, c1, c2, c3]) = whole.get(len..) else {
            return Err(self.bad(handle, "short read of a block"));
        };
        let mut verify = verify && self.checksum != ChecksumType::NoChecksum;
        planted!(BlockChecksumUnchecked => verify = false);
        if verify {
            let _timer = perf::timer(PerfMetric::BlockChecksumTime);
            let stored = u32::from_le_bytes([c0, c1, c2, c3]);
            let computed = block_checksum(self.checksum, &whole[..len], ty)
                .wrapping_add(context(self.base_context, handle.offset));
            if let Some(events) = &self.events {
                events.checksum(stored == computed);
            }
            if stored != computed {
                let what = format!(
                    "block checksum mismatch: stored {stored:#010x}, computed {computed:#010x}"
                );
                return Err(self.bad(handle, what));
            }
        }
        Ok(ty)
    }

    /// Decompresses `raw`, the stored form of a block of compression type `ty`.
    fn decompress(
        &self,
        handle: BlockHandle,
        ty: u8,
        raw: &[u8],
        dictionary: Option<&Dictionary>,
    ) -> Result<Bytes> {
        let timer = perf::timer(PerfMetric::BlockDecompressTime);
        let events = self.events.as_deref();
        let decompressed = timed(events, BlockStep::Decompress, || {
            decompress(ty, raw, dictionary)
        });
        timer.stop();
        match decompressed {
            Ok(block) => {
                if let Some(events) = events {
                    events.decompressed(raw.len(), block.len());
                }
                Ok(block.into())
            }
            Err(e) => Err(self.blame(e, handle)),
        }
    }
}
