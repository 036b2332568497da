//! Getting blocks out of a file: bounds, checksum, decompression, read-ahead.
//!
//! Knows nothing of what blocks hold. Every error names the file and the
//! offset of the block.

use super::compress::{Dictionary, decompress};
use super::events::{BlockStep, TableEvents, timed};
use super::footer::Footer;
use super::handle::{BlockHandle, TRAILER_LEN};
use super::scratch;
use crate::cache::spare;
use crate::checksum::{ChecksumType, block_checksum, context};
use crate::error::{Error, Result};
use crate::fs::RandomAccessFile;
use crate::perf::{self, PerfMetric};
use crate::planted::{Bug, planted};
use bytes::Bytes;
use std::fmt;
use std::sync::Arc;

/// The file of a table and what is needed to read its blocks.
#[derive(Debug)]
pub(crate) struct BlockFile {
    pub(crate) file: Arc<dyn RandomAccessFile>,
    /// Length of the file in bytes: no block ends past it.
    pub(crate) size: u64,
    pub(crate) checksum: ChecksumType,
    pub(crate) base_context: u32,
    /// Who is told.
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

    /// Names the file and the block's offset in an error that does not.
    pub(crate) fn blame(&self, e: Error, handle: BlockHandle) -> Error {
        e.in_file(self.file.path(), Some(handle.offset))
    }

    /// The uncompressed payload of the block at `handle`.
    ///
    /// `window` may hold its bytes already, and decides how much to read when
    /// it does not. With `detach` the result never keeps the window's memory
    /// alive.
    pub(crate) fn read(
        &self,
        handle: BlockHandle,
        verify: bool,
        dictionary: Option<&Dictionary>,
        window: &mut Window,
        detach: bool,
    ) -> Result<Bytes> {
        self.check_bounds(handle)?;
        let len = handle.size as usize;
        scratch::ask_ahead(len);
        let whole = match window.read(self, handle)? {
            Some(whole) => whole,
            None if len + TRAILER_LEN <= scratch::MOST => {
                return scratch::with(len + TRAILER_LEN, |whole| {
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
            0 if detach && window.is_wider_than(handle) => Ok(spare::copy(&whole[..len])),
            0 => Ok(whole.slice(..len)),
            ty => self.decompress(handle, ty, &whole[..len], dictionary),
        }
    }

    /// The payload as it is stored, and its compression type.
    pub(crate) fn read_raw(
        &self,
        handle: BlockHandle,
        verify: bool,
        window: &mut Window,
    ) -> Result<(Bytes, u8)> {
        self.check_bounds(handle)?;
        let len = handle.size as usize;
        let whole = match window.read(self, handle)? {
            Some(whole) => whole,
            None => self.read_at(handle.offset, len + TRAILER_LEN)?,
        };
        let ty = self.check(handle, verify, &whole)?;
        Ok((whole.slice(..len), ty))
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

    /// Bytes of the file.
    fn read_at(&self, offset: u64, len: usize) -> Result<Bytes> {
        self.counting(len, || self.file.read_at(offset, len))
    }

    /// A `read` of so many bytes for a block, counted.
    fn counting<T>(&self, len: usize, read: impl FnOnce() -> Result<T>) -> Result<T> {
        perf::count(PerfMetric::BlockReadCount, 1);
        perf::count(PerfMetric::BlockReadByte, len as u64);
        let _timer = perf::timer(PerfMetric::BlockReadTime);
        read()
    }

    /// The compression type of a block that was read, payload and trailer.
    fn check(&self, handle: BlockHandle, verify: bool, whole: &[u8]) -> Result<u8> {
        let len = handle.size as usize;
        let Some(&[ty, c0, c1, c2, c3]) = whole.get(len..) else {
            return Err(self.bad(handle, "short read of a block"));
        };
        let verify = verify && !planted(Bug::BlockChecksumUnchecked);
        if verify && self.checksum != ChecksumType::NoChecksum {
            let _timer = perf::timer(PerfMetric::BlockChecksumTime);
            let stored = u32::from_le_bytes([c0, c1, c2, c3]);
            let computed = block_checksum(self.checksum, &whole[..len], ty)
                .wrapping_add(context(self.base_context, handle.offset));
            if let Some(events) = &self.events {
                events.checksum(stored == computed);
            }
            if stored != computed {
                let what = format_args!(
                    "block checksum mismatch: stored {stored:#010x}, computed {computed:#010x}"
                );
                return Err(self.bad(handle, what));
            }
        }
        Ok(ty)
    }

    /// The block that is stored as `raw`, compressed as `ty`.
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

/// First and largest size of reads ahead, in bytes.
const FIRST_WINDOW: usize = 16 << 10;
const MAX_WINDOW: usize = 256 << 10;

/// Blocks read in a row, in either direction, before more is read than asked
/// for.
const SEQUENTIAL_AFTER: u32 = 2;

/// The part of a file that an iterator has read and may need again soon.
///
/// Reads ahead once blocks are asked for in file order, or against it, and
/// doubles what it reads up to [`MAX_WINDOW`].
#[derive(Debug, Default)]
pub(crate) struct Window {
    bytes: Bytes,
    offset: u64,
    /// Bytes to read next time; 0: the default for a start.
    size: usize,
    /// The size asked for by the caller, 0 for none.
    fixed: usize,
    last: Option<BlockHandle>,
    /// Blocks in a row so far.
    run: u32,
    backward: bool,
}

impl Window {
    /// A window that reads `readahead` bytes at a time, or by its own
    /// judgement when that is 0.
    pub(crate) fn new(readahead: usize) -> Self {
        Window {
            fixed: readahead,
            ..Window::default()
        }
    }

    /// A window over `bytes`, which stand at `offset` of the file.
    pub(crate) fn holding(bytes: Bytes, offset: u64) -> Self {
        Window {
            bytes,
            offset,
            ..Window::default()
        }
    }

    /// Whether the block was taken from here and keeps more memory alive than
    /// its own.
    fn is_wider_than(&self, handle: BlockHandle) -> bool {
        self.bytes.len() > handle.size as usize + TRAILER_LEN && self.get(handle).is_some()
    }

    /// Tells the window that the block at `handle` was used, from wherever.
    pub(crate) fn note(&mut self, handle: BlockHandle) {
        let before = self.last.replace(handle);
        let Some(before) = before else {
            return;
        };
        let forward = before.end() == Some(handle.offset);
        let backward = handle.end() == Some(before.offset);
        if before == handle {
            return;
        }
        if (forward || backward) && (self.run == 0 || self.backward == backward) {
            self.run += 1;
            self.backward = backward;
        } else {
            self.run = 0;
            self.size = 0;
        }
    }

    fn get(&self, handle: BlockHandle) -> Option<Bytes> {
        let start = usize::try_from(handle.offset.checked_sub(self.offset)?).ok()?;
        let len = usize::try_from(handle.size).ok()? + TRAILER_LEN;
        let end = start.checked_add(len)?;
        (end <= self.bytes.len()).then(|| self.bytes.slice(start..end))
    }

    /// Block and trailer at `handle`, which lies within the file.
    /// `None` if no more than these are to be read.
    fn read(&mut self, file: &BlockFile, handle: BlockHandle) -> Result<Option<Bytes>> {
        if let Some(block) = self.get(handle) {
            return Ok(Some(block));
        }
        let len = handle.size as usize + TRAILER_LEN;
        let ahead = if self.fixed > 0 {
            self.fixed
        } else if self.run >= SEQUENTIAL_AFTER {
            let size = self.size.max(FIRST_WINDOW);
            self.size = (size * 2).min(MAX_WINDOW);
            size
        } else {
            0
        };
        if ahead <= len {
            return Ok(None);
        }
        let end = handle.offset + len as u64;
        let (start, end) = if self.backward && self.run > 0 {
            (end.saturating_sub(ahead as u64), end)
        } else {
            let end = handle.offset.saturating_add(ahead as u64);
            (handle.offset, end.min(file.size))
        };
        self.bytes = file.read_at(start, (end - start) as usize)?;
        self.offset = start;
        match self.get(handle) {
            Some(block) => Ok(Some(block)),
            None => Err(file.bad(handle, "short read of a block")),
        }
    }
}
