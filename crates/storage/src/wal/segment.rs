//! Putting records at reserved places.
//!
//! A [`Segment`] is a log file that many threads write at once. Where a record
//! goes is settled before, by whoever hands out places: it starts where its
//! predecessor ends, and [`Segment::end_of`] says where it ends, from its
//! length alone. The bytes are those that a [`super::LogWriter`] would have
//! written for the same records in the same order; nothing in the file tells
//! the two apart, but that a crash can leave holes in this one: records that
//! had a place and were not, or not wholly, copied, with later ones behind
//! them. [`super::LogReader`] ends or reports damage there.
//!
//! Invariants:
//! * I1: the zeros that fill a block's rest belong to the record behind them,
//!   whose writer puts them there: places cover the file without gaps.
//! * I2: after a failed write or sync nobody knows what the file holds, so
//!   every later call but the cheap questions fails with the first error. A
//!   failed extension, and a record beyond what is allocated, change nothing
//!   and may be tried again.

use super::format::BLOCK_SIZE;
use super::frame::{Framing, Parts, header_size};
use crate::error::{Error, ErrorKind, Result};
use crate::fs::SharedFile;
use std::cell::Cell;
use std::sync::OnceLock;
use std::sync::atomic::{AtomicBool, Ordering};

const BLOCK: u64 = BLOCK_SIZE as u64;

/// A record is written in pieces of at most this many bytes, which bounds the
/// buffer.
const MAX_PIECE: usize = 1 << 20;

/// Buffers beyond this are given back after the record that needed them: every
/// thread that writes keeps one.
const KEEP_BUFFER: usize = 128 << 10;

thread_local! {
    /// Where this thread's records are framed.
    static BUFFER: Cell<Vec<u8>> = const { Cell::new(Vec::new()) };
}

/// A log file whose records are put at reserved places, by many threads.
#[derive(Debug)]
pub struct Segment {
    file: Box<dyn SharedFile>,
    framing: Framing,
    /// The first failure (I2). Written once, by whichever call failed first;
    /// read by all later ones. The cell publishes the error.
    failed: OnceLock<Error>,
    /// Written by: [`Segment::close`] (Release). Read by: whoever is about to
    /// extend it (Acquire). Publishes nothing: the callers take turns.
    closed: AtomicBool,
}

impl Segment {
    /// Writes to `file`, which is new or being recycled. `log_number` goes into
    /// every header when `recyclable` is set, and has to be set for a file
    /// that has been used before.
    pub fn new(file: Box<dyn SharedFile>, log_number: u64, recyclable: bool) -> Self {
        Segment {
            file,
            framing: Framing {
                log_number,
                recyclable,
            },
            failed: OnceLock::new(),
            closed: AtomicBool::new(false),
        }
    }

    /// Where a record of `payload_len` bytes ends whose predecessor ended at
    /// `at` (0 for the first one). That is where its successor's place begins.
    ///
    /// The record takes at least 7 bytes (11 if `recyclable`) more than its
    /// payload, and at most those for each block it touches and one byte less
    /// than them in front. `at` is below 2^63.
    #[inline]
    pub const fn end_of(at: u64, payload_len: usize, recyclable: bool) -> u64 {
        let header = header_size(recyclable) as u64;
        let len = payload_len as u64;
        let mut at = at;
        let mut room = BLOCK - at % BLOCK;
        if room < header {
            at += room;
            room = BLOCK;
        }
        if len <= room - header {
            return at + header + len;
        }
        // At least one byte is left for the blocks after this one.
        let left = len - (room - header);
        let per_block = BLOCK - header;
        let full = (left - 1) / per_block;
        at + room + full * BLOCK + header + (left - full * per_block)
    }

    /// Writes the record made of `parts` (concatenated) to its place, which
    /// begins at `at`, where its predecessor ends, and has been reserved for
    /// it. The bytes are the operating system's when this returns, in one write
    /// unless the record is longer than a megabyte.
    ///
    /// # Errors
    /// `InvalidArgument`, with nothing written, when the place is not below
    /// [`Segment::allocated`]; those of the file. After the latter every later
    /// call fails with the same error.
    pub fn put(&self, at: u64, parts: &[&[u8]]) -> Result<()> {
        self.check_not_failed()?;
        let len = parts.iter().map(|p| p.len()).sum();
        // Gone only while the thread ends; then this record has its own.
        let mut buf = BUFFER.try_with(Cell::take).unwrap_or_default();
        buf.clear();
        let result = self.put_with(&mut buf, at, len, parts);
        if buf.capacity() <= KEEP_BUFFER {
            let _ = BUFFER.try_with(|kept| kept.set(buf));
        }
        self.remember(result)
    }

    /// Frames a record of `len` bytes in `buf`, which is empty, and writes it.
    #[inline]
    fn put_with(&self, buf: &mut Vec<u8>, at: u64, len: usize, parts: &[&[u8]]) -> Result<()> {
        let header = self.framing.header_size();
        let mut room = BLOCK_SIZE - (at % BLOCK) as usize;
        if room < header {
            buf.resize(room, 0); // upholds I1
            room = BLOCK_SIZE;
        }
        let mut source = Parts::new(parts);
        if len <= room - header {
            self.framing.put_fragment(buf, &mut source, len, true, true);
            return self.file.write_at(at, buf);
        }
        self.put_fragments(buf, at, room, len, source)
    }

    /// The same for a record that does not fit the `room` bytes of its block.
    /// Those in front of the block are in `buf`.
    #[cold]
    fn put_fragments(
        &self,
        buf: &mut Vec<u8>,
        mut at: u64,
        mut room: usize,
        len: usize,
        mut source: Parts<'_>,
    ) -> Result<()> {
        // All or nothing, also where there are several pieces.
        let end = Self::end_of(at, len, self.framing.recyclable);
        let allocated = self.file.allocated();
        if end > allocated {
            return Err(Error::invalid(format_args!(
                "record from {at} to {end} in log {} where {allocated} bytes are allocated",
                self.framing.log_number
            )));
        }
        let mut left = len;
        let mut begin = true;
        while begin || left > 0 {
            let length = left.min(room - self.framing.header_size());
            left -= length;
            self.framing
                .put_fragment(buf, &mut source, length, begin, left == 0);
            begin = false;
            room = BLOCK_SIZE;
            if left == 0 || buf.len() + BLOCK_SIZE > MAX_PIECE {
                self.file.write_at(at, buf)?;
                at += buf.len() as u64;
                buf.clear();
            }
        }
        Ok(())
    }

    /// Makes the first `len` bytes of the file usable; see
    /// [`SharedFile::extend`]. From one thread at a time.
    ///
    /// # Errors
    /// Those of the file, or this segment's first failure.
    pub fn extend(&self, len: u64) -> Result<()> {
        self.check_not_failed()?;
        self.file.extend(len)
    }

    /// Records end at or below this.
    #[inline]
    pub fn allocated(&self) -> u64 {
        self.file.allocated()
    }

    /// Makes all records durable that were put before the call.
    ///
    /// # Errors
    /// Those of the file, or this segment's first failure. A failed sync is
    /// final: it is never tried again.
    pub fn sync(&self) -> Result<()> {
        self.check_not_failed()?;
        self.remember(self.file.sync())
    }

    /// Cuts the file at `len`, the end of the last record, without syncing it.
    /// No place is handed out any more; records below `len` may still be put.
    /// From one thread at a time, and not beside [`Segment::extend`], nor
    /// before it.
    ///
    /// # Errors
    /// Those of the file, or this segment's first failure.
    pub fn close(&self, len: u64) -> Result<()> {
        self.closed.store(true, Ordering::Release);
        self.check_not_failed()?;
        self.file.truncate(len)
    }

    /// Whether [`Segment::close`] was called: it is not to be extended then,
    /// for its file may be another log's.
    #[inline]
    pub fn is_closed(&self) -> bool {
        self.closed.load(Ordering::Acquire)
    }

    /// The number given to [`Segment::new`].
    #[inline]
    pub fn log_number(&self) -> u64 {
        self.framing.log_number
    }

    /// Whether records carry the log number, so that the file can be used for
    /// another log later.
    #[inline]
    pub fn is_recyclable(&self) -> bool {
        self.framing.recyclable
    }

    #[inline]
    fn check_not_failed(&self) -> Result<()> {
        match self.failed.get() {
            None => Ok(()),
            Some(first) => Err(first.clone()),
        }
    }

    /// Keeps the first failure (I2).
    #[inline]
    fn remember(&self, result: Result<()>) -> Result<()> {
        result.inspect_err(|e| {
            if e.kind() != ErrorKind::InvalidArgument {
                self.failed.get_or_init(|| e.clone());
            }
        })
    }
}
