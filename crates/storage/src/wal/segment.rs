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
    /// [`Segment::close`]. Written by: these two, from one thread at a time. Read by: writers
    /// (relaxed), to see when to extend. Publishes nothing.
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
        let mut source = Parts::new(parts);
        if len <= room - header {
            self.framing.put_fragment(buf, &mut source, len, true, true);
            return self.file.write_at(at, buf);
        }
        self.put_fragments(buf, at, room, len, source)
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
        self.ready.store(CLOSED, Ordering::Relaxed); // upholds I3
        self.check_not_failed()?;
        self.file.truncate(len)
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

#[cfg(test)]
mod tests {
    use super::super::{LogReader, ReadOutcome};
    use super::*;
    use crate::fs::mem::MemFs;
    use crate::fs::{Fs, SharedOptions};
    use rand::rngs::StdRng;
    use rand::{Rng, SeedableRng};
    use std::path::Path;
    use std::sync::{Arc, Mutex};

    const PATH: &str = "/000001.log";

    fn segment(fs: &MemFs) -> Segment {
        let file = fs
            .open_shared(Path::new(PATH), None, SharedOptions::default())
            .unwrap();
        let segment = Segment::new(file, 1, false);
        segment.extend(1 << 20).unwrap();
        segment
    }

    /// Puts records of `sizes` one behind the other, but for those in `holes`,
    /// of which the first `copied` bytes are there; returns where they begin.
    fn put_all(segment: &Segment, sizes: &[usize], holes: &[usize], copied: usize) -> Vec<u64> {
        let mut at = 0;
        let mut starts = Vec::new();
        for (i, size) in sizes.iter().enumerate() {
            let record: Vec<u8> = (0..*size).map(|n| (n % 251 + 1) as u8).collect();
            if holes.contains(&i) {
                let whole = MemFs::new();
                self::segment(&whole).put(at, &[&record]).unwrap();
                let file = whole.open_random(Path::new(PATH)).unwrap();
                let framed = file.read_at(at, copied).unwrap();
                segment.file.write_at(at, &framed).unwrap();
            } else {
                segment.put(at, &[&record]).unwrap();
            }
            starts.push(at);
            at = Segment::end_of(at, *size, false);
        }
        starts
    }

    /// The number of records read before the end or damage, and whether that
    /// is a hole; `None` for an end.
    fn read(fs: &MemFs) -> (usize, Option<bool>) {
        let file = fs.open_sequential(Path::new(PATH)).unwrap();
        let mut reader = LogReader::new(file, 1);
        let mut record = Vec::new();
        for n in 0.. {
            match reader.read_record(&mut record).unwrap() {
                ReadOutcome::Record => {}
                ReadOutcome::Corrupt(_) => return (n, Some(reader.is_hole())),
                _ => return (n, None),
            }
        }
        unreachable!("a log ends")
    }

    #[test]
    fn holes_are_told_from_damage() {
        // All in one block, and over several.
        for size in [100, 9_000, 31_000] {
            for copied in [0, 3, 7, 16, size - 8] {
                let fs = MemFs::new();
                put_all(&segment(&fs), &[size; 5], &[2], copied);
                assert_eq!(read(&fs), (2, Some(true)), "{size} {copied}");
            }
        }
        for (sizes, holes, expected) in [
            (vec![100; 4], vec![2, 3], (2, None)),
            (vec![100; 5], vec![1, 2], (1, Some(true))),
        ] {
            let fs = MemFs::new();
            put_all(&segment(&fs), &sizes, &holes, 0);
            assert_eq!(read(&fs), expected);
        }
        // A byte that differs.
        let fs = MemFs::new();
        let segment = segment(&fs);
        let starts = put_all(&segment, &[100; 5], &[], 0);
        segment.file.write_at(starts[2] + 50, &[0]).unwrap();
        assert_eq!(read(&fs), (2, Some(false)));
    }

    #[test]
    fn reading_goes_on_where_it_was_marked() {
        let fs = MemFs::new();
        let segment = segment(&fs);
        let from = |at: u64| {
            let mut file = fs.open_sequential(Path::new(PATH)).unwrap();
            let mut before = vec![0; at as usize];
            let mut read = 0;
            while read < before.len() {
                read += file.read(&mut before[read..]).unwrap();
            }
            file
        };
        let mut reader = LogReader::new(from(0), 1);
        let mut record = Vec::new();
        let mut rng = StdRng::seed_from_u64(1);
        let mut at = segment.begin_compressed().unwrap();
        for n in 0..40u8 {
            // Nothing there yet: the reader has looked, and loaded the block.
            assert_eq!(reader.read_record(&mut record).unwrap(), ReadOutcome::Eof);
            let noise: Vec<u8> = (0..3_000).map(|_| rng.random()).collect();
            let compressed = super::super::CompressedRecord::new(&noise).unwrap();
            segment.put(at, &compressed.with_header(&[n; 12])).unwrap();
            at = Segment::end_of(at, compressed.len(), false);
            for _ in 0..2 {
                // Twice: without a mark in between it is read again.
                reader.resume(from(reader.resume_from())).unwrap();
                assert_eq!(
                    reader.read_record(&mut record).unwrap(),
                    ReadOutcome::Record
                );
                assert_eq!(record[..12], [n; 12]);
                assert_eq!(record[12..], noise);
            }
            reader.mark();
            assert_eq!(reader.marked(), at);
        }
        assert!(at > 2 * BLOCK);
    }

    /// Offset in the block and length of each fragment of a log that is not
    /// recyclable, from `at` on.
    fn fragments(log: &[u8], mut at: usize) -> Vec<(usize, usize)> {
        let mut found = Vec::new();
        while at + HEADER_SIZE <= log.len() && log[at + 6] != 0 {
            let len = usize::from(u16::from_le_bytes([log[at + 4], log[at + 5]]));
            found.push((at % BLOCK_SIZE, len));
            at += HEADER_SIZE + len;
            if BLOCK_SIZE - at % BLOCK_SIZE < HEADER_SIZE {
                at = at.next_multiple_of(BLOCK_SIZE);
            }
        }
        found
    }

    #[test]
    fn fragments_of_compressed_records_never_follow_each_other_at_the_same_offset() {
        let most = BLOCK_SIZE - HEADER_SIZE;
        let lengths = [0, 1, 100, most - 7, most - 1, most, most + 1, 2 * most - 7]
            .into_iter()
            .chain([
                2 * most - 1,
                2 * most,
                2 * most + 1,
                3 * most,
                200_000,
                2 << 20,
            ]);
        for start in [0, 4, 11, 100, most - 1, most, most + 1, BLOCK_SIZE - 1] {
            for len in lengths.clone() {
                let fs = MemFs::new();
                let segment = segment(&fs).compressed();
                segment.extend(4 << 20).unwrap();
                let record: Vec<u8> = (0..len).map(|n| (n % 251 + 1) as u8).collect();
                segment.put(start as u64, &[&record]).unwrap();
                let end = segment.end_of_record(start as u64, len);
                segment.put(end, &[]).unwrap();
                let file = fs.open_random(Path::new(PATH)).unwrap();
                let log = file.read_at(0, 4 << 20).unwrap();
                let first = match BLOCK_SIZE - start {
                    room if room < HEADER_SIZE => BLOCK_SIZE,
                    _ => start,
                };
                let mut found = fragments(&log, first);
                assert_eq!(found.pop().map(|f| f.1), Some(0), "{start} {len}");
                let total: usize = found.iter().map(|f| f.1).sum();
                assert_eq!(total, len, "{start}");
                let apart = |two: &[(usize, usize)]| two[0].0 != two[1].0;
                assert!(found.windows(2).all(apart), "{start} {len}: {found:?}");
            }
        }
    }

    #[derive(Debug, Default)]
    struct Hints(Arc<Mutex<Vec<(u64, u64)>>>);

    impl SharedFile for Hints {
        fn write_at(&self, _: u64, _: &[u8]) -> Result<()> {
            Ok(())
        }
        fn extend(&self, _: u64) -> Result<()> {
            Ok(())
        }
        fn allocated(&self) -> u64 {
            u64::MAX
        }
        fn sync(&self) -> Result<()> {
            Ok(())
        }
        fn start_writeback(&self, from: u64, to: u64) {
            self.0.lock().unwrap().push((from, to));
        }
        fn truncate(&self, _: u64) -> Result<()> {
            Ok(())
        }
    }

    #[test]
    fn writing_back_is_asked_for_in_steps() {
        let hints = Hints::default();
        let asked = hints.0.clone();
        let segment = Segment::new(Box::new(hints), 1, false);
        for to in [50, 99, 100, 150, 199, 230, 200, 330] {
            segment.write_back(to, 100);
        }
        assert_eq!(*asked.lock().unwrap(), [(0, 100), (100, 230), (230, 330)]);
    }

    #[test]
    fn a_step_without_end_is_never_written_back() {
        let hints = Hints::default();
        let asked = hints.0.clone();
        let segment = Segment::new(Box::new(hints), 1, false);
        segment.write_back(200, 100);
        segment.write_back(u64::MAX - 1, u64::MAX);
        assert_eq!(*asked.lock().unwrap(), [(0, 200)]);
    }
}
