//! Reading physical records, and telling the end of a log from damage.
//!
//! A log can end in many ways: at the end of the file, at preallocated zeros,
//! in the middle of a write that a crash cut, or, in a recycled file, where
//! the records of the file's previous life begin. And a crash can leave holes
//! in it: records of which nothing or not all was written, with whole ones
//! behind them. The rules here:
//!
//! * I1: a record is handed out only when its checksum is right and, for
//!   recyclable types, it carries this log's number.
//! * I2: zeros end the log only when nothing but zeros follows. (Sectors that
//!   a power cut lost read as zeros too, and what follows them must not be
//!   taken for the continuation.)
//! * I3: bytes that are no record of this log are a torn tail or stale (in a
//!   recycled file) only when no valid record of this log follows anywhere.
//!   Otherwise they are damage.
//! * I4: after damage, reading resumes at the next block, for lengths are not
//!   to be trusted, or at the valid record in a later one that was found for
//!   I3.

use super::format::{
    BLOCK_SIZE, HEADER_SIZE, Header, Purpose, RECYCLABLE_HEADER_SIZE, TYPE_OFFSET, header_size,
    is_recyclable, purpose, record_crc, types,
};
use crate::checksum::mask_crc;
use crate::error::{Error, Result};
use crate::fs::SequentialFile;
use crate::planted::{Bug, planted};
use std::ops::Range;
use std::path::Path;

/// What a writer copies at a time, at least.
const WORD: usize = 8;

/// What a disk writes atomically.
const SECTOR: usize = 512;

/// What stands at the read position.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Physical {
    /// A good record, whose payload [`BlockReader::payload`] returns.
    Record {
        /// What it is for.
        purpose: Purpose,
        /// Where its header starts.
        offset: u64,
    },
    /// The log ends here.
    End,
    /// The file ends inside the record that starts at `offset`.
    Torn { offset: u64 },
    /// The bytes at `offset` are no record.
    Damage { offset: u64, what: &'static str },
}

/// What looking at one header told.
enum Verdict {
    Good(Purpose),
    /// A whole record of the file's previous life.
    Stale,
    Torn,
    Bad(&'static str),
}

/// Reads a log block by block.
#[derive(Debug)]
pub(super) struct BlockReader {
    file: Box<dyn SequentialFile>,
    /// What recyclable records of this log carry.
    log_number: u32,
    block: Vec<u8>,
    /// Bytes of `block` in use; less than a block only for the last one.
    len: usize,
    pos: usize,
    block_start: u64,
    next_block_start: u64,
    payload: Range<usize>,
    record_start: usize,
    /// A recyclable record was read, if only its header: the tail may be
    /// stale.
    recycled: bool,
    /// A plain data record was read: the file was never recycled.
    plain: bool,
    /// Any record was read.
    started: bool,
    ended: bool,
    lost_tail: bool,
    /// Where a valid record stands behind the damage last returned, if some
    /// sector of that is zero.
    behind: Option<usize>,
    hole: bool,
    /// Where [`BlockReader::resume`] goes on.
    resume_at: u64,
    /// `recycled`, `plain` and `started` there.
    kind: (bool, bool, bool),
}

impl BlockReader {
    pub fn new(file: Box<dyn SequentialFile>, log_number: u64) -> Self {
        BlockReader {
            file,
            log_number: log_number as u32,
            block: vec![0; BLOCK_SIZE],
            // As if at the end of a block before the first one.
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

    /// Goes on at the [mark](BlockReader::mark), the file's start if there is
    /// none, by reading `file`, which begins with the block that the mark is
    /// in. What was found out about the bytes behind it is forgotten.
    ///
    /// # Errors
    /// `Corruption` when the file ends before the mark: it is another one by
    /// now.
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

    /// Payload of the record last returned.
    pub fn payload(&self) -> &[u8] {
        &self.block[self.payload.clone()]
    }

    /// The offset of the read position: right behind the record last returned.
    pub fn offset(&self) -> u64 {
        self.block_start + self.pos as u64
    }

    /// [`BlockReader::resume`] is to go on here: behind the record last returned.
    pub fn mark(&mut self) {
        self.resume_at = self.offset();
        self.kind = (self.recycled, self.plain, self.started);
    }

    /// Where the mark is.
    pub fn marked(&self) -> u64 {
        self.resume_at
    }

    /// The end of what was loaded; the file's end once reading has ended.
    pub fn loaded_end(&self) -> u64 {
        self.block_start + self.len as u64
    }

    /// Makes the record last returned the next one again.
    pub fn unread(&mut self) {
        self.pos = self.record_start;
    }

    /// Whether the block in memory is the file's last.
    fn in_last_block(&self) -> bool {
        self.len < BLOCK_SIZE
    }

    /// [`BlockReader::load_block`] where what is in this one does not matter any
    /// more. Blocks of zeros behind one of zeros mean nothing, so that a hole, which
    /// may be larger than any disk, is not read.
    fn load_later_block(&mut self) -> Result<bool> {
        if is_zero(&self.block[..self.len]) {
            self.next_block_start += self.file.skip_hole(BLOCK_SIZE as u64)?;
        }
        self.load_block()
    }

    /// Reads the next block; false when the file ends before it.
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
                    // A block's tail too short for a header holds nothing.
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

    /// Judges the record at the read position by its header and checksum.
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
            // A record that was cut has lost bytes its checksum covers; one
            // that is whole has a damaged length or type.
            if is_whole_at_some_length(header, rest) || is_whole_of_some_type(header, rest) {
                return Verdict::Bad("record length or type contradicts its checksum");
            }
            return Verdict::Torn;
        };
        let wrong = record_crc(&record[TYPE_OFFSET..]) != header.crc;
        if wrong && !planted(Bug::LogChecksumUnchecked) {
            return Verdict::Bad("checksum mismatch");
        }
        let stale = recyclable && !self.carries_our_number(record);
        if stale && !planted(Bug::StaleRecordAccepted) {
            return Verdict::Stale;
        }
        if purpose == Purpose::SetCompression && self.started {
            return Verdict::Bad("compression type after the first record");
        }
        Verdict::Good(purpose)
    }

    /// Steps over a good record and points `payload` at its payload.
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

    /// What it means that the bytes at the read position, seemingly of type
    /// `ty`, are no record: `what` is wrong with them, or, when `None`, the
    /// file ends inside (I3).
    fn no_record(&mut self, ty: Option<u8>, what: Option<&'static str>) -> Result<Physical> {
        let offset = self.offset();
        let ours = ty.is_some_and(is_recyclable)
            && self.carries_our_number(&self.block[self.pos..self.len]);
        // At the start of a file, which may be of either kind, a torn write
        // over the previous life is assumed only where our number stands.
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

    /// Whether the bytes at the read position are the first ones of a record
    /// with nothing but zeros behind them in this block: what is left of a
    /// record in space allocated before, when its writer died copying it. A
    /// record that was copied to its last byte is not cut short, nor is one
    /// with no space behind it: closed logs have none.
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

    /// Whether the record at the read position looks like one that its writer
    /// did not finish copying: there is nothing of it, or nothing of its last
    /// bytes, and a valid one begins where it ends.
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

    /// Moves on to the next block that holds something; false when there is
    /// none.
    fn skip_zero_blocks(&mut self) -> Result<bool> {
        while !self.in_last_block() && self.load_later_block()? {
            if !is_zero(&self.block[..self.len]) {
                return Ok(true);
            }
        }
        Ok(false)
    }

    /// What it means that a whole record of the previous life stands at the
    /// read position: the end of the log, or a hole in it.
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

    /// Whether the damage last returned looks like the log's last write, of
    /// which a power cut lost a sector and kept later ones: nothing valid
    /// follows it, and a sector of it is zero.
    pub fn lost_tail(&self) -> bool {
        self.lost_tail
    }

    /// Goes on at the record behind the damage last returned, in the same block,
    /// if that looks like a lost sector; returns whether there is one.
    pub fn read_behind(&mut self) -> bool {
        let behind = self.behind.take();
        self.pos = behind.unwrap_or(self.pos);
        behind.is_some()
    }

    /// Whether the damage last returned looks like a hole: a record that was
    /// not, or not wholly, copied to its place when its writer died, with later
    /// ones behind it.
    pub fn is_hole(&self) -> bool {
        self.hole
    }

    /// Whether the log ends in this block and some sector of it is zero from
    /// the read position on.
    fn has_lost_sector(&self) -> bool {
        let sectors = (self.pos - self.pos % SECTOR..self.len).step_by(SECTOR);
        let rest = |s: usize| &self.block[s.max(self.pos)..(s + SECTOR).min(self.len)];
        self.in_last_block() && sectors.map(rest).any(is_zero)
    }

    /// Whether a valid record of this log follows the bytes at the read
    /// position. Where reading goes on is then the read position (I4);
    /// otherwise the file was read to its end.
    fn resume_at_record(&mut self) -> Result<bool> {
        if self.find_record(self.pos + 1).is_some() {
            self.pos = self.len;
            return Ok(true);
        }
        self.resume_in_later_block()
    }

    /// The same for valid records in the blocks behind this one.
    fn resume_in_later_block(&mut self) -> Result<bool> {
        while !self.in_last_block() && self.load_later_block()? {
            if let Some(at) = self.find_record(0) {
                self.pos = at;
                return Ok(true);
            }
        }
        Ok(false)
    }

    /// The first place from `from` on in this block at which a valid record of
    /// this log starts.
    fn find_record(&self, from: usize) -> Option<usize> {
        (from..self.len).find(|&at| self.is_record_at(at))
    }

    /// Whether a valid data record of this log starts at `at` in the block.
    fn is_record_at(&self, at: usize) -> bool {
        let rest = &self.block[at..self.len];
        if self.recycled && !self.carries_our_number(rest) {
            return false; // the quick way through a long previous life
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

    /// Judges a header of zeros (I2). `None`: padding was skipped.
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
        // A plain record might have stood in a pad that holds its header.
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

    /// Whether the block starts with a record of a kind that is never split
    /// and that did not fit the `pad` bytes before.
    fn starts_with_unsplit(&self, pad: usize) -> bool {
        Header::parse(&self.block[..self.len])
            .is_some_and(|h| h.ty >= 10 && purpose(h.ty).is_some() && h.record_size() > pad)
    }
}

/// Whether some first part of `rest` is what the header's checksum covers.
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

/// Whether the bytes after the type are what the header's checksum covers for
/// another type of data.
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
