//! Reading physical records, and telling the end of a log from damage.
//!
//! A log can end in many ways: at the end of the file, at preallocated zeros, in the middle of a
//! write that a crash cut off, or, in a recycled file, where the records of the file's previous use
//! begin. A crash can also leave holes in a log: records that were not written, or not completely,
//! with complete ones after them. The rules here:
//!
//! * I1: a record is returned only if its checksum is right and, for recyclable types, it carries
//!   this log's number.
//! * I2: zeros end the log only if nothing but zeros follows. (Sectors that a power cut lost read
//!   as zeros, too, and what follows them must not be taken for the continuation.)
//! * I3: bytes that are not a record of this log are a torn tail, or stale (in a recycled file),
//!   only if no valid record of this log follows anywhere. Otherwise they are damage.
//! * I4: after damage, reading resumes at the next block, because lengths cannot be trusted, or at
//!   the valid record in a later block that was found for I3.

use super::format::{
    BLOCK_SIZE, HEADER_SIZE, Header, Purpose, RECYCLABLE_HEADER_SIZE, TYPE_OFFSET, header_size,
    is_recyclable, purpose, record_crc, types,
};
use crate::checksum::mask_crc;
use crate::error::{Error, Result};
use crate::fs::SequentialFile;
use crate::planted;
use std::ops::Range;
use std::path::Path;

/// The least number of bytes that a writer copies at a time.
const WORD: usize = 8;

/// The unit that a disk writes atomically, in bytes.
const SECTOR: usize = 512;

/// What was found at the read position.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Physical {
    /// A valid record. [`BlockReader::payload`] returns its payload.
    Record {
        /// What it is for.
        purpose: Purpose,
        /// The offset of its header.
        offset: u64,
    },
    /// The log ends here.
    End,
    /// The file ends inside the record that starts at `offset`.
    Torn { offset: u64 },
    /// The bytes at `offset` are not a record.
    Damage { offset: u64, what: &'static str },
}

/// The result of examining one header.
enum Verdict {
    Good(Purpose),
    /// A complete record of the file's previous use.
    Stale,
    Torn,
    Bad(&'static str),
}

/// Reads a log block by block.
#[derive(Debug)]
pub(super) struct BlockReader {
    file: Box<dyn SequentialFile>,
    /// The log number that recyclable records of this log carry.
    log_number: u32,
    block: Vec<u8>,
    /// Bytes of `block` in use. Only the last block may have fewer than a whole block.
    len: usize,
    pos: usize,
    block_start: u64,
    next_block_start: u64,
    payload: Range<usize>,
    record_start: usize,
    /// Whether a recyclable record, or at least its header, was read: the tail may be stale.
    recycled: bool,
    /// Whether a plain data record was read: the file was never recycled.
    plain: bool,
    /// Whether any record was read.
    started: bool,
    ended: bool,
    lost_tail: bool,
    /// The position of a valid record after the damage last returned, if some sector of the
    /// damage is zero.
    behind: Option<usize>,
    hole: bool,
    /// Where [`BlockReader::resume`] continues.
    resume_at: u64,
    /// `recycled`, `plain` and `started` at the mark.
    kind: (bool, bool, bool),
}

impl BlockReader {
    pub fn new(file: Box<dyn SequentialFile>, log_number: u64) -> Self {
        BlockReader {
            file,
            log_number: log_number as u32,
            block: vec![0; BLOCK_SIZE],
            // The position is as at the end of a block before the first one.
            len: BLOCK_SIZE,
            pos: BLOCK_SIZE,
            block_start: 0,
            next_block_start: 0,
            payload: 0..0,
            record_start: 0,
            recycled: false,
            plain: false,
            started: false,
            ended: false,
            lost_tail: false,
            behind: None,
            hole: false,
            resume_at: 0,
            kind: (false, false, false),
        }
    }

    /// Continues at the [mark](BlockReader::mark), or at the start of the log if there is none, by
    /// reading `file`, which begins with the block of the mark. Forgets what it found out about
    /// the bytes after the mark.
    ///
    /// # Errors
    /// `Corruption` if the file ends before the mark: it was replaced by another one.
    pub fn resume(&mut self, file: Box<dyn SequentialFile>) -> Result<()> {
        let at = self.resume_at;
        self.file = file;
        (self.recycled, self.plain, self.started) = self.kind;
        (self.ended, self.lost_tail, self.hole) = (false, false, false);
        self.next_block_start = at - at % BLOCK_SIZE as u64;
        self.load_block()?;
        let pos = (at - self.block_start) as usize;
        if pos > self.len {
            let end = self.loaded_end();
            self.ended = true;
            self.pos = self.len;
            return Err(Error::corruption_in(
                self.path(),
                end,
                format_args!("log ends before offset {at}, up to which it was read"),
            ));
        }
        self.pos = pos;
        Ok(())
    }

    pub fn path(&self) -> &Path {
        self.file.path()
    }

    /// The payload of the record last returned.
    pub fn payload(&self) -> &[u8] {
        &self.block[self.payload.clone()]
    }

    /// The offset of the read position: directly after the record last returned.
    pub fn offset(&self) -> u64 {
        self.block_start + self.pos as u64
    }

    /// Sets the mark, where [`BlockReader::resume`] continues, after the record last returned.
    pub fn mark(&mut self) {
        self.resume_at = self.offset();
        self.kind = (self.recycled, self.plain, self.started);
    }

    /// The offset of the mark.
    pub fn marked(&self) -> u64 {
        self.resume_at
    }

    /// The end of the loaded bytes. Once reading has ended, it is the end of the file.
    pub fn loaded_end(&self) -> u64 {
        self.block_start + self.len as u64
    }

    /// Returns the record last returned once more at the next call.
    pub fn unread(&mut self) {
        self.pos = self.record_start;
    }

    /// Whether the block in memory is the file's last.
    fn in_last_block(&self) -> bool {
        self.len < BLOCK_SIZE
    }

    /// [`BlockReader::load_block`], once the content of this block no longer matters. Blocks of
    /// zeros after a block of zeros are skipped, so that a hole, which may be larger than any
    /// disk, is not read.
    fn load_later_block(&mut self) -> Result<bool> {
        if is_zero(&self.block[..self.len]) {
            self.next_block_start += self.file.skip_hole(BLOCK_SIZE as u64)?;
        }
        self.load_block()
    }

    /// Reads the next block; false if the file ends before it.
    fn load_block(&mut self) -> Result<bool> {
        self.block_start = self.next_block_start;
        self.next_block_start += BLOCK_SIZE as u64;
        self.len = 0;
        self.pos = 0;
        while self.len < BLOCK_SIZE {
            match self.file.read(&mut self.block[self.len..])? {
                0 => break,
                n => self.len += n,
            }
        }
        Ok(self.len > 0)
    }

    fn end(&mut self) -> Physical {
        self.ended = true;
        Physical::End
    }

    /// The next physical record.
    pub fn next(&mut self) -> Result<Physical> {
        (self.hole, self.behind) = (false, None);
        while !self.ended {
            let rest = &self.block[self.pos..self.len];
            let Some(header) = Header::parse(rest) else {
                if !self.in_last_block() {
                    // The tail of a block that is too short for a header holds nothing.
                    if !self.load_block()? {
                        return Ok(self.end());
                    }
                    continue;
                }
                let clean = self.recycled || is_zero(rest);
                self.ended = true;
                return Ok(if clean {
                    Physical::End
                } else {
                    Physical::Torn {
                        offset: self.offset(),
                    }
                });
            };
            if is_zero(&rest[..HEADER_SIZE]) {
                match self.skip_zeros()? {
                    Some(outcome) => return Ok(outcome),
                    None => continue,
                }
            }
            return match self.examine(&header) {
                Verdict::Good(purpose) => Ok(self.accept(&header, purpose)),
                Verdict::Stale => self.stale_record(),
                Verdict::Torn => self.no_record(Some(header.ty), None),
                Verdict::Bad(what) => self.no_record(Some(header.ty), Some(what)),
            };
        }
        Ok(Physical::End)
    }

    /// Examines the record at the read position by its header and checksum.
    fn examine(&self, header: &Header) -> Verdict {
        let rest = &self.block[self.pos..self.len];
        let Some(purpose) = purpose(header.ty) else {
            return Verdict::Bad("unknown record type");
        };
        let recyclable = is_recyclable(header.ty);
        if matches!(purpose, Purpose::Data(_)) {
            if recyclable && self.plain {
                return Verdict::Bad("recyclable record after a plain one");
            }
            if !recyclable && self.recycled {
                return Verdict::Bad("plain record after a recyclable one");
            }
        }
        let size = header.record_size();
        if size > BLOCK_SIZE - self.pos {
            return Verdict::Bad("record length beyond the end of the block");
        }
        let Some(record) = rest.get(..size) else {
            // A record that was cut off has lost bytes that its checksum covers; a complete one
            // has a damaged length or type.
            if is_whole_at_some_length(header, rest) || is_whole_of_some_type(header, rest) {
                return Verdict::Bad("record length or type contradicts its checksum");
            }
            return Verdict::Torn;
        };
        let mut wrong = record_crc(&record[TYPE_OFFSET..]) != header.crc;
        planted!(LogChecksumUnchecked => wrong = false);
        if wrong {
            return Verdict::Bad("checksum mismatch");
        }
        let mut stale = recyclable && !self.carries_our_number(record);
        planted!(StaleRecordAccepted => stale = false);
        if stale {
            return Verdict::Stale;
        }
        if purpose == Purpose::SetCompression && self.started {
            return Verdict::Bad("compression type after the first record");
        }
        Verdict::Good(purpose)
    }

    /// Steps over a valid record and sets `payload` to its payload.
    fn accept(&mut self, header: &Header, purpose: Purpose) -> Physical {
        self.record_start = self.pos;
        self.payload = self.pos + header_size(header.ty)..self.pos + header.record_size();
        let offset = self.offset();
        self.pos = self.payload.end;
        self.started = true;
        if is_recyclable(header.ty) {
            self.recycled = true;
        } else if matches!(purpose, Purpose::Data(_)) {
            self.plain = true;
        }
        Physical::Record { purpose, offset }
    }

    /// Decides what it means that the bytes at the read position, seemingly of type `ty`, are not
    /// a record. `what` is wrong with them; if it is `None`, the file ends inside the record (I3).
    fn no_record(&mut self, ty: Option<u8>, what: Option<&'static str>) -> Result<Physical> {
        let offset = self.offset();
        let ours = ty.is_some_and(is_recyclable)
            && self.carries_our_number(&self.block[self.pos..self.len]);
        // At the start of a file, which may be plain or recyclable, a torn write over the
        // previous use is assumed only if the log number is ours.
        let maybe_stale = self.recycled || (!self.plain && ours);
        if maybe_stale || what.is_none() {
            self.recycled |= maybe_stale;
            if self.resume_at_record()? {
                let what = what.unwrap_or("record length beyond the end of the file");
                return Ok(Physical::Damage { offset, what });
            }
            self.ended = true;
            return Ok(if ours || !maybe_stale {
                Physical::Torn { offset }
            } else {
                Physical::End
            });
        }
        if self.is_cut_short() {
            if !self.skip_zero_blocks()? {
                self.ended = true;
                return Ok(Physical::Torn { offset });
            }
            self.hole = true;
        } else {
            self.hole = self.is_unfinished();
            let behind = self.find_record(self.pos + 1);
            let lost = self.has_lost_sector();
            self.lost_tail = lost && behind.is_none();
            self.behind = behind.filter(|_| lost);
            self.pos = self.len; // upholds I4
        }
        let what = what.unwrap_or_default();
        Ok(Physical::Damage { offset, what })
    }

    /// Whether the bytes at the read position are the first bytes of a record, with nothing but
    /// zeros after them in this block. That is what remains in preallocated space of a record
    /// whose writer died while copying it. A record whose last byte was copied is not cut short,
    /// nor is one without space after it: closed logs have no such space.
    fn is_cut_short(&self) -> bool {
        let rest = &self.block[self.pos..self.len];
        let Some(last) = rest.iter().rposition(|&b| b != 0) else {
            return false;
        };
        let size = match Header::parse(rest) {
            Some(header) if last >= TYPE_OFFSET => header.record_size(),
            _ => HEADER_SIZE,
        };
        last + 1 < size
            && size <= BLOCK_SIZE - self.pos
            && (size < rest.len() || !self.in_last_block())
    }

    /// Whether the record at the read position looks as if its writer had not finished copying it:
    /// all of it, or its last bytes, are missing, and a valid record begins where it ends.
    fn is_unfinished(&self) -> bool {
        let Some(next) = self.find_record(self.pos + 1) else {
            return false;
        };
        let place = &self.block[self.pos..next];
        let copied = place
            .iter()
            .rposition(|&b| b != 0)
            .map_or(0, |last| last + 1);
        let fits = match Header::parse(place) {
            Some(header) if copied > TYPE_OFFSET => header.record_size() == place.len(),
            _ => true,
        };
        fits && (copied == 0 || place.len() - copied >= WORD)
    }

    /// Moves on to the next block that is not empty; false if there is none.
    fn skip_zero_blocks(&mut self) -> Result<bool> {
        while !self.in_last_block() && self.load_later_block()? {
            if !is_zero(&self.block[..self.len]) {
                return Ok(true);
            }
        }
        Ok(false)
    }

    /// Decides what it means that a complete record of the previous use stands at the read
    /// position: the end of the log, or a hole in it.
    fn stale_record(&mut self) -> Result<Physical> {
        let offset = self.offset();
        self.recycled = true;
        Ok(if self.resume_at_record()? {
            let what = "record of another log before records of this one";
            Physical::Damage { offset, what }
        } else {
            self.end()
        })
    }

    /// Whether the damage last returned looks like the log's last write, of which a power cut lost
    /// a sector and kept later sectors: nothing valid follows, and a sector of it is zero.
    pub fn lost_tail(&self) -> bool {
        self.lost_tail
    }

    /// Continues at the record after the damage last returned, in the same block, if the damage
    /// looks like a lost sector. Returns whether there is such a record.
    pub fn read_behind(&mut self) -> bool {
        let behind = self.behind.take();
        self.pos = behind.unwrap_or(self.pos);
        behind.is_some()
    }

    /// Whether the damage last returned looks like a hole: a record that was not copied, or not
    /// completely, before its writer died, with later records after it.
    pub fn is_hole(&self) -> bool {
        self.hole
    }

    /// Whether the log ends in this block, and some sector of the block from the read position on
    /// is zero.
    fn has_lost_sector(&self) -> bool {
        let sectors = (self.pos - self.pos % SECTOR..self.len).step_by(SECTOR);
        let rest = |s: usize| &self.block[s.max(self.pos)..(s + SECTOR).min(self.len)];
        self.in_last_block() && sectors.map(rest).any(is_zero)
    }

    /// Whether a valid record of this log follows the bytes at the read position. If so, the read
    /// position moves to where reading resumes (I4); otherwise the file was read to its end.
    fn resume_at_record(&mut self) -> Result<bool> {
        if self.find_record(self.pos + 1).is_some() {
            self.pos = self.len;
            return Ok(true);
        }
        self.resume_in_later_block()
    }

    /// Whether a valid record of this log is in the blocks after this one.
    fn resume_in_later_block(&mut self) -> Result<bool> {
        while !self.in_last_block() && self.load_later_block()? {
            if let Some(at) = self.find_record(0) {
                self.pos = at;
                return Ok(true);
            }
        }
        Ok(false)
    }

    /// The first position in this block, from `from` on, at which a valid record of this log
    /// starts.
    fn find_record(&self, from: usize) -> Option<usize> {
        (from..self.len).find(|&at| self.is_record_at(at))
    }

    /// Whether a valid data record of this log starts at `at` in the block.
    fn is_record_at(&self, at: usize) -> bool {
        let rest = &self.block[at..self.len];
        if self.recycled && !self.carries_our_number(rest) {
            return false; // a quick check, for files with many stale records
        }
        let Some(header) = Header::parse(rest) else {
            return false;
        };
        let fits = if is_recyclable(header.ty) {
            !self.plain && self.carries_our_number(rest)
        } else {
            !self.recycled
        };
        fits && matches!(purpose(header.ty), Some(Purpose::Data(_)))
            && rest
                .get(TYPE_OFFSET..header.record_size())
                .is_some_and(|covered| record_crc(covered) == header.crc)
    }

    /// Whether the recyclable record at the start of `record` is this log's.
    fn carries_our_number(&self, record: &[u8]) -> bool {
        record.get(HEADER_SIZE..RECYCLABLE_HEADER_SIZE) == Some(&self.log_number.to_le_bytes())
    }

    /// Decides what a header of zeros means (I2). `None` if it was padding, which is skipped.
    fn skip_zeros(&mut self) -> Result<Option<Physical>> {
        const WHAT: &str = "zeros where a record should start";
        let offset = self.offset();
        let pad = self.len - self.pos;
        if !is_zero(&self.block[self.pos..self.len]) {
            return self.no_record(None, Some(WHAT)).map(Some);
        }
        let mut blocks = 0;
        loop {
            if self.in_last_block() || !self.load_later_block()? {
                return Ok(Some(self.end()));
            }
            blocks += 1;
            if !is_zero(&self.block[..self.len]) {
                break;
            }
        }
        // A plain record would have been written into padding that has room for its header.
        let header = if self.plain {
            HEADER_SIZE
        } else {
            RECYCLABLE_HEADER_SIZE
        };
        if blocks == 1 && (pad < header || self.starts_with_unsplit(pad)) {
            return Ok(None);
        }
        if self.recycled {
            match self.find_record(0) {
                Some(at) => self.pos = at,
                None if self.resume_in_later_block()? => {}
                None => return Ok(Some(self.end())),
            }
        }
        self.hole = true;
        Ok(Some(Physical::Damage { offset, what: WHAT }))
    }

    /// Whether the block starts with a record of a kind that is never split and did not fit into
    /// the `pad` bytes before the block.
    fn starts_with_unsplit(&self, pad: usize) -> bool {
        Header::parse(&self.block[..self.len])
            .is_some_and(|h| h.ty >= 10 && purpose(h.ty).is_some() && h.record_size() > pad)
    }
}

/// Whether the header's checksum covers some prefix of `rest`.
fn is_whole_at_some_length(header: &Header, rest: &[u8]) -> bool {
    let least = header_size(header.ty);
    let Some(mut crc) = rest.get(TYPE_OFFSET..least).map(crc32c::crc32c) else {
        return false;
    };
    let payload = rest[least..].chunks(1).map(|byte| {
        crc = crc32c::crc32c_append(crc, byte);
        crc
    });
    payload.map(mask_crc).any(|crc| crc == header.crc)
}

/// Whether the header's checksum fits the bytes after the type if the type is another type of data.
fn is_whole_of_some_type(header: &Header, rest: &[u8]) -> bool {
    (types::FULL..=types::LAST + types::RECYCLABLE).any(|ty| {
        let covered = rest.get(HEADER_SIZE..header_size(ty) + header.length);
        covered.is_some_and(|covered| {
            let crc = crc32c::crc32c_append(crc32c::crc32c(&[ty]), covered);
            mask_crc(crc) == header.crc
        })
    })
}

fn is_zero(bytes: &[u8]) -> bool {
    bytes.iter().all(|&b| b == 0)
}
