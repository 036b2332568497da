//! Writes records to reserved ranges.
//!
//! A [`Segment`] is a log file that many threads write at once. The caller reserves the range of
//! each record beforehand: it starts where its predecessor ends, and [`Segment::end_of`] computes
//! its end from the record's length alone. The bytes are those that a [`super::LogWriter`] would
//! have written for the same records in the same order, except that long records of a
//! [compressed](Segment::compressed) log have more fragments. The file differs in one way only: a
//! crash can leave holes in it. A hole is a reserved record that was not copied, or not completely,
//! with later records after it. [`super::LogReader`] ends there or reports damage.
//!
//! Invariants:
//! * I1: the zeros that fill the rest of a block belong to the record after them, whose writer
//!   writes them: ranges cover the file without gaps.
//! * I2: after a failed write or sync the content of the file is unknown, so every later call
//!   except the cheap queries fails with the first error. A failed extension, or a record beyond
//!   the allocated space, changes nothing and may be tried again.
//! * I3: a closed segment is never extended, because its file may belong to another log by then.

#[cfg(test)]
mod tests;

use super::format::{BLOCK_SIZE, HEADER_SIZE};
use super::frame::{Framing, Parts, header_size, put_compression_note};
use crate::error::{Error, ErrorKind, Result};
use crate::fs::SharedFile;
use std::cell::Cell;
use std::sync::OnceLock;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use whitewater_concurrent::scratch;

const BLOCK: u64 = BLOCK_SIZE as u64;

/// The most bytes of a record that one write has. This bounds the buffer.
const MAX_PIECE: usize = 1 << 20;

/// The largest buffer that a thread keeps after a record, in bytes. Every thread that writes keeps
/// one.
const KEEP_BUFFER: usize = 128 << 10;

thread_local! {
    /// The buffer in which this thread frames its records.
    static BUFFER: Cell<Vec<u8>> = const { Cell::new(Vec::new()) };
}

/// A log file to which many threads write records at reserved ranges.
#[derive(Debug)]
pub struct Segment {
    file: Box<dyn SharedFile>,
    framing: Framing,
    /// Whether its records are [`super::CompressedRecord`]s.
    compressed: bool,
    /// The first failure (I2). Written once, by the call that failed first; read by all later
    /// calls. The cell publishes the error.
    failed: OnceLock<Error>,
    /// The end of the space that [`Segment::extend`] has prepared; [`CLOSED`] after
    /// [`Segment::close`] or [`Segment::give_up`]. Written by: these, from one thread at a time.
    /// Read by: writers (relaxed), to see when to extend. Publishes nothing.
    ready: AtomicU64,
    /// Whether the last [`Segment::extend`] failed, or a next log could not be made. Written by:
    /// `extend`, and the thread that could not make the log (relaxed). Read by: writers (relaxed),
    /// to save useless work. Publishes nothing.
    lacks_room: AtomicBool,
    /// The offset up to which the system was asked to write back. Written and read by the threads
    /// that ask (relaxed; two at once ask for less). Publishes nothing.
    written_back: AtomicU64,
}

/// The value of `ready` in a closed segment (I3). No end of a record comes near it.
const CLOSED: u64 = u64::MAX;

impl Segment {
    /// Writes to `file`, which is new or being recycled. If `recyclable` is set, every header has
    /// the `log_number`. It must be set for a file that was used before.
    pub fn new(file: Box<dyn SharedFile>, log_number: u64, recyclable: bool) -> Self {
        Segment {
            file,
            framing: Framing {
                log_number,
                recyclable,
            },
            compressed: false,
            failed: OnceLock::new(),
            ready: AtomicU64::new(0),
            lacks_room: AtomicBool::new(false),
            written_back: AtomicU64::new(0),
        }
    }

    /// The same segment with compressed records ([`super::CompressedRecord`]).
    /// [`Segment::begin_compressed`] must come before the first one.
    ///
    /// Consecutive fragments of such a record never start at the same offset of their blocks,
    /// because RocksDB before 8.0 cannot read that. If a fragment would fill a whole block and
    /// others follow, it is split in two.
    #[must_use]
    pub fn compressed(mut self) -> Self {
        self.compressed = true;
        self
    }

    /// Writes the record that says that this log is compressed. Returns where the first data record
    /// begins.
    ///
    /// # Errors
    /// As [`Segment::put`].
    pub fn begin_compressed(&self) -> Result<u64> {
        self.check_not_failed()?;
        let mut note = Vec::with_capacity(HEADER_SIZE + 4);
        put_compression_note(&mut note);
        self.remember(self.file.write_at(0, &note))?;
        Ok(note.len() as u64)
    }

    /// Where a record of `payload_len` bytes ends, in a log that is not
    /// [compressed](Segment::compressed). Its predecessor ends at `at`, which is 0 for the first
    /// record. The next record's range begins at the returned offset.
    ///
    /// The record takes at least 7 bytes (11 if `recyclable`) more than its payload. It takes at
    /// most that for each block it touches, and one byte less than that as padding in front. `at`
    /// is below 2^63.
    #[inline]
    pub const fn end_of(at: u64, payload_len: usize, recyclable: bool) -> u64 {
        end_of(at, payload_len, recyclable, false)
    }

    /// [`Segment::end_of`] for a record of this log. In a [compressed](Segment::compressed) log,
    /// it may take twice as many additional bytes for each block that it fills.
    #[inline]
    pub const fn end_of_record(&self, at: u64, payload_len: usize) -> u64 {
        end_of(at, payload_len, self.framing.recyclable, self.compressed)
    }

    /// Writes the record made of `parts` (concatenated) to its reserved range, which begins at
    /// `at`, where its predecessor ends. When this returns, the operating system has the bytes. It
    /// takes one write, unless the record is longer than a megabyte.
    ///
    /// # Errors
    /// `InvalidArgument`, with nothing written, if the range is not below [`Segment::allocated`];
    /// errors of the file, after which every later call fails with the same error.
    pub fn put(&self, at: u64, parts: &[&[u8]]) -> Result<()> {
        self.check_not_failed()?;
        let len = parts.iter().map(|p| p.len()).sum();
        // The buffer is missing only while the thread ends; then this record gets its own.
        let mut buf = scratch::take(&BUFFER);
        buf.clear();
        let result = self.put_with(&mut buf, at, len, parts);
        if buf.capacity() <= KEEP_BUFFER {
            scratch::keep(&BUFFER, buf);
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
        if len <= room - header {
            self.framing.put_full(buf, parts, len);
            return self.file.write_at(at, buf);
        }
        self.put_fragments(buf, at, room, len, Parts::new(parts))
    }

    /// Frames and writes a record that does not fit into the remaining `room` bytes of its block.
    /// `buf` already holds the padding in front.
    #[cold]
    fn put_fragments(
        &self,
        buf: &mut Vec<u8>,
        mut at: u64,
        mut room: usize,
        len: usize,
        mut source: Parts<'_>,
    ) -> Result<()> {
        // Refused as a whole, even if it would be written in several pieces.
        let end = self.end_of_record(at, len);
        let allocated = self.file.allocated();
        if end > allocated {
            return Err(Error::invalid(format_args!(
                "record from {at} to {end} in log {} where {allocated} bytes are allocated",
                self.framing.log_number
            )));
        }
        let mut left = len;
        let mut begin = true;
        let header = self.framing.header_size();
        while begin || left > 0 {
            let mut length = left.min(room - header);
            if self.compressed && room == BLOCK_SIZE && left > length {
                let half = (BLOCK_SIZE - 2 * header) / 2;
                self.framing
                    .put_fragment(buf, &mut source, half, begin, false);
                left -= half;
                begin = false;
                length = BLOCK_SIZE - 2 * header - half;
            }
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

    /// Makes the first `len` bytes of the file usable; see [`SharedFile::extend`]. Does nothing if
    /// the segment is closed. To be called from one thread at a time, and not concurrently with
    /// [`Segment::close`].
    ///
    /// # Errors
    /// Errors of the file, or this segment's first failure.
    pub fn extend(&self, len: u64) -> Result<()> {
        self.check_not_failed()?;
        let ready = self.ready.load(Ordering::Relaxed);
        if ready < len {
            let extended = self.file.extend(len);
            self.lacks_room.store(extended.is_err(), Ordering::Relaxed);
            extended?;
            self.ready.store(len, Ordering::Relaxed);
        }
        Ok(())
    }

    /// Whether an extension takes long enough to be another thread's work; see
    /// [`SharedFile::prepares_memory`].
    pub fn prepares_memory(&self) -> bool {
        self.file.prepares_memory()
    }

    /// Sets whether later extensions initialize their space; see [`SharedFile::initialize`].
    pub fn initialize(&self, on: bool) {
        self.file.initialize(on);
    }

    /// The end of the space that [`Segment::extend`] has prepared. In a recycled file it is less
    /// than [`Segment::allocated`] at first: records may be written beyond it, but the memory is
    /// not prepared there.
    #[inline]
    pub fn ready(&self) -> u64 {
        self.ready.load(Ordering::Relaxed)
    }

    /// Records that the segment cannot grow, and that a next log could not be made.
    pub fn note_no_successor(&self) {
        self.lacks_room.store(true, Ordering::Relaxed);
    }

    /// Whether the last extension failed, or the attempt to make a next log, for example because
    /// the disk is full.
    #[inline]
    pub fn lacks_room(&self) -> bool {
        self.lacks_room.load(Ordering::Relaxed)
    }

    /// Hands the records that the file keeps in memory to the operating system, up to the first
    /// gap.
    ///
    /// # Errors
    /// Errors of the file, or this segment's first failure.
    pub fn flush(&self) -> Result<()> {
        self.check_not_failed()?;
        self.remember(self.file.flush())
    }

    /// Bytes of memory that the file takes; see [`SharedFile::memory_usage`].
    pub fn memory_usage(&self) -> u64 {
        self.file.memory_usage()
    }

    /// Asks the system to write back the bytes before `to`, unless they are fewer than `least`
    /// since the last time. A hint.
    #[inline]
    pub fn write_back(&self, to: u64, least: u64) {
        let from = self.written_back.load(Ordering::Relaxed);
        if to >= from.saturating_add(least) {
            self.written_back.store(to, Ordering::Relaxed);
            self.file.start_writeback(from, to);
        }
    }

    /// Whether [`Segment::close`] was called. A closed segment must not be extended, because its
    /// file may belong to another log.
    #[inline]
    pub fn is_closed(&self) -> bool {
        self.ready() == CLOSED
    }

    /// The allocated space in bytes: records end at or below it.
    #[inline]
    pub fn allocated(&self) -> u64 {
        self.file.allocated()
    }

    /// Makes all records durable that were written before the call.
    ///
    /// # Errors
    /// Errors of the file, or this segment's first failure. A failed sync is final: it is never
    /// tried again.
    pub fn sync(&self) -> Result<()> {
        self.check_not_failed()?;
        self.remember(self.file.sync())
    }

    /// Cuts the file at `len`, the end of the last reserved range, without syncing it. Ranges below
    /// `len` may still be written.
    ///
    /// # Errors
    /// Errors of the file, or this segment's first failure.
    pub fn close(&self, len: u64) -> Result<()> {
        self.give_up();
        self.check_not_failed()?;
        self.file.truncate(len)
    }

    /// Closes the segment without a change of its file, which is to be deleted.
    pub fn give_up(&self) {
        self.ready.store(CLOSED, Ordering::Relaxed); // upholds I3
    }

    /// The number given to [`Segment::new`].
    #[inline]
    pub fn log_number(&self) -> u64 {
        self.framing.log_number
    }

    /// Whether records carry the log number, so that the file can be recycled for another log.
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

/// [`Segment::end_of_record`] for a log of that kind.
#[inline]
const fn end_of(at: u64, payload_len: usize, recyclable: bool, compressed: bool) -> u64 {
    let header = header_size(recyclable) as u64;
    let mut left = payload_len as u64;
    let mut at = at;
    let mut room = BLOCK - at % BLOCK;
    if room < header {
        at += room;
        room = BLOCK;
    }
    if left <= room - header {
        return at + header + left;
    }
    if room < BLOCK || !compressed {
        at += room;
        left -= room - header;
    }
    // The blocks that it fills, and one with the rest, which is at least one byte.
    let (last, full) = (
        BLOCK - header,
        BLOCK - header * if compressed { 2 } else { 1 },
    );
    let blocks = left.saturating_sub(last).div_ceil(full);
    at + blocks * BLOCK + header + (left - blocks * full)
}
