//! Reading records back.
//!
//! Joins the fragments that [`super::block`] hands out into logical records,
//! and decompresses compressed ones. What to do about damage is the caller's
//! business ([`RecoveryMode`]); the reader reports it and can go on.
//!
//! Invariant: a record is returned whole or not at all, in the order in which
//! it was written.

use super::block::{BlockReader, Physical};
use super::decompress;
use super::format::{
    BLOCK_SIZE, FragmentPosition, HEADER_SIZE, Header, Purpose, RECYCLABLE_HEADER_SIZE, ZSTD,
    is_recyclable,
};
use crate::coding::{get_fixed16, get_fixed32, get_fixed64};
use crate::error::{Error, Result};
use crate::fs::SequentialFile;
use crate::key::SequenceNumber;

/// What recovery does about damaged logs. RocksDB's modes and numbers.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
#[repr(u8)]
pub enum RecoveryMode {
    /// A torn tail is cut; any other damage is an error.
    TolerateCorruptedTailRecords = 0,
    /// Any damage is an error, a torn tail included.
    AbsoluteConsistency = 1,
    /// Stop at the first damage and keep everything before it.
    #[default]
    PointInTime = 2,
    /// Skip damaged records and keep the rest.
    SkipAnyCorruptedRecord = 3,
}

/// How reading a log ended.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ReadOutcome {
    /// A record was read.
    Record,
    /// The log ended cleanly.
    Eof,
    /// The log ended inside a record (a torn tail) at `offset`; `bytes` follow.
    TornTail {
        /// Where the unfinished record starts.
        offset: u64,
        /// Bytes from there to the end of the file, whatever they are.
        bytes: u64,
    },
    /// Bytes at an offset contradict their checksum or the format. Reading
    /// may go on: the next call resumes after the damage.
    Corrupt(Error),
}

/// What a log says about the log before it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Predecessor {
    /// Number of the log before.
    pub log_number: u64,
    /// Its size in bytes.
    pub size: u64,
    /// The last sequence number recorded in it.
    pub last_sequence: SequenceNumber,
}

/// Reads logical records front to back.
#[derive(Debug)]
pub struct LogReader {
    blocks: BlockReader,
    is_compressed: bool,
    /// Compressed bytes of the record being read.
    compressed_record: Vec<u8>,
    record_offset: u64,
    record_end: u64,
    /// Damage was reported and the next fragments may belong to what it hit.
    resync: bool,
    predecessor: Option<Predecessor>,
    timestamp_sizes: Vec<(u32, u16)>,
}

impl LogReader {
    /// Reads `file`, whose name carries `log_number`.
    pub fn new(file: Box<dyn SequentialFile>, log_number: u64) -> Self {
        LogReader {
            blocks: BlockReader::new(file, log_number),
            is_compressed: false,
            compressed_record: Vec::new(),
            record_offset: 0,
            record_end: 0,
            resync: false,
            predecessor: None,
            timestamp_sizes: Vec::new(),
        }
    }

    /// Reads the next logical record into `record` (replacing what it holds;
    /// unspecified unless the outcome is [`ReadOutcome::Record`]).
    ///
    /// # Errors
    /// Only failures of the file system, and `NotSupported` for a log in a
    /// compression this build does not know; damage is a [`ReadOutcome`].
    pub fn read_record(&mut self, record: &mut Vec<u8>) -> Result<ReadOutcome> {
        record.clear();
        self.compressed_record.clear();
        let mut start = None;
        loop {
            let (position, offset) = match self.blocks.next()? {
                Physical::Record {
                    purpose: Purpose::Data(position),
                    offset,
                } => (position, offset),
                Physical::Record { purpose, offset } => match self.note(purpose, offset)? {
                    Some(damage) => return Ok(damage),
                    None => continue,
                },
                Physical::End => return Ok(self.at_end(start)),
                Physical::Torn { offset } => return Ok(self.at_end(start.or(Some(offset)))),
                Physical::Damage { offset, what } => {
                    self.resync = true;
                    return Ok(self.corrupt(offset, what));
                }
            };
            match (position, start) {
                (FragmentPosition::Full | FragmentPosition::First, Some(at))
                    if self.gathered(record) > 0 =>
                {
                    // The record before has no end; this one is intact.
                    self.blocks.unread();
                    return Ok(self.corrupt(at, "record without a last fragment"));
                }
                (FragmentPosition::Full | FragmentPosition::First, _) => {
                    self.resync = false;
                    start = Some(offset);
                }
                (FragmentPosition::Middle | FragmentPosition::Last, None) => {
                    if self.resync {
                        continue;
                    }
                    self.resync = true;
                    return Ok(self.corrupt(offset, "fragment without a first fragment"));
                }
                (FragmentPosition::Middle | FragmentPosition::Last, Some(_)) => {}
            }
            let gather = if self.is_compressed {
                &mut self.compressed_record
            } else {
                &mut *record
            };
            gather.extend_from_slice(self.blocks.payload());
            if matches!(position, FragmentPosition::Full | FragmentPosition::Last) {
                return Ok(self.complete(start.unwrap_or(offset), record));
            }
        }
    }

    fn gathered(&self, record: &[u8]) -> usize {
        self.compressed_record.len() + record.len()
    }

    /// All fragments are there: the record is whole.
    fn complete(&mut self, start: u64, record: &mut Vec<u8>) -> ReadOutcome {
        if self.is_compressed
            && let Err(what) = decompress::decompress(&self.compressed_record, record)
        {
            return self.corrupt(start, &what);
        }
        self.record_offset = start;
        self.record_end = self.blocks.offset();
        ReadOutcome::Record
    }

    /// The log ended, inside the record that started at `start` if any.
    fn at_end(&self, start: Option<u64>) -> ReadOutcome {
        match start {
            None => ReadOutcome::Eof,
            Some(offset) => ReadOutcome::TornTail {
                offset,
                bytes: self.blocks.loaded_end().saturating_sub(offset),
            },
        }
    }

    fn corrupt(&self, offset: u64, what: &str) -> ReadOutcome {
        ReadOutcome::Corrupt(Error::corruption_in(
            self.blocks.path(),
            offset,
            format_args!("log record: {what}"),
        ))
    }

    /// Takes in a record that is about the log itself.
    fn note(&mut self, purpose: Purpose, offset: u64) -> Result<Option<ReadOutcome>> {
        let mut payload = self.blocks.payload();
        match purpose {
            Purpose::SetCompression => match get_fixed32(&mut payload) {
                Some(ZSTD) if cfg!(feature = "zstd") => self.is_compressed = true,
                Some(other) => {
                    return Err(
                        Error::not_supported(format_args!("log compression type {other}"))
                            .in_file(self.blocks.path(), Some(offset)),
                    );
                }
                None => return Ok(Some(self.corrupt(offset, "short compression type"))),
            },
            Purpose::TimestampSizes => {
                let mut sizes = Vec::with_capacity(payload.len() / 6);
                while let (Some(cf), Some(size)) =
                    (get_fixed32(&mut payload), get_fixed16(&mut payload))
                    && size > 0
                {
                    sizes.push((cf, size));
                    if payload.is_empty() {
                        self.timestamp_sizes.extend(sizes);
                        return Ok(None);
                    }
                }
                return Ok(Some(self.corrupt(offset, "malformed timestamp sizes")));
            }
            Purpose::Predecessor => {
                let mut next = || get_fixed64(&mut payload);
                match (next(), next(), next()) {
                    (Some(log_number), Some(size), Some(last_sequence)) => {
                        self.predecessor = Some(Predecessor {
                            log_number,
                            size,
                            last_sequence,
                        });
                    }
                    _ => return Ok(Some(self.corrupt(offset, "short predecessor information"))),
                }
            }
            Purpose::Ignorable | Purpose::Data(_) => {}
        }
        Ok(None)
    }

    /// Whether the damage reported last may be nothing but the log's last
    /// write, torn by a power cut. For a log whose every write is synced before
    /// the next one that is the harmless end of it.
    pub fn is_lost_tail(&self) -> bool {
        self.blocks.lost_tail()
    }

    /// Lets the next record be the one right behind the damage reported last, if
    /// that looks like a lost sector: reading would go on at the next block
    /// otherwise. Returns whether there is one.
    pub fn read_behind(&mut self) -> bool {
        self.blocks.read_behind()
    }

    /// Whether the damage reported last looks like a record that was not, or
    /// not wholly, copied when its writer died, with later ones behind it:
    /// [`super::Segment`] says how that comes about.
    pub fn is_hole(&self) -> bool {
        self.blocks.is_hole()
    }

    /// [`LogReader::resume`] is to go on behind the last record read.
    pub fn mark(&mut self) {
        self.blocks.mark();
    }

    /// Where the mark is, 0 when there is none: the end of a record.
    pub fn marked(&self) -> u64 {
        self.blocks.marked()
    }

    /// Goes on at the [mark](LogReader::mark), in a file that has been written
    /// to since. `file` begins at [`LogReader::resume_from`].
    ///
    /// # Errors
    /// Those of the file.
    pub fn resume(&mut self, file: Box<dyn SequentialFile>) -> Result<()> {
        self.resync = false;
        self.blocks.resume(file)
    }

    /// Where the block begins that the mark is in.
    pub fn resume_from(&self) -> u64 {
        let mark = self.marked();
        mark - mark % BLOCK_SIZE as u64
    }

    /// Where the next block begins, to which a record that does not fit goes.
    pub fn next_block(&self) -> u64 {
        self.resume_from().saturating_add(BLOCK_SIZE as u64)
    }

    /// Whether no record of log `log_number` begins with the bytes `head`, at most
    /// [`LogReader::HEAD`] of them: it ends there, they are zero, or of the log that
    /// the file was before. That is how most logs look behind what was written.
    pub fn is_unwritten(head: &[u8], log_number: u64) -> bool {
        let is_zero = |bytes: &[u8]| bytes.iter().all(|&b| b == 0);
        if is_zero(&head[..head.len().min(HEADER_SIZE)]) {
            return true;
        }
        let ours = (log_number as u32).to_le_bytes();
        let number = head.get(HEADER_SIZE..RECYCLABLE_HEADER_SIZE);
        let recyclable = Header::parse(head).is_some_and(|header| is_recyclable(header.ty));
        recyclable && number.is_some_and(|number| number != ours)
    }

    /// Bytes that [`LogReader::is_unwritten`] wants to see.
    pub const HEAD: usize = RECYCLABLE_HEADER_SIZE;

    /// The offset at which the last record read starts.
    pub fn record_offset(&self) -> u64 {
        self.record_offset
    }

    /// The offset right behind the last record read (0 before the first).
    pub fn record_end(&self) -> u64 {
        self.record_end
    }

    /// What this log says about the one before it, once that was read.
    pub fn predecessor(&self) -> Option<Predecessor> {
        self.predecessor
    }

    /// Column families whose keys carry user-defined timestamps, and the sizes
    /// of these in bytes, as far as the log was read.
    pub fn timestamp_sizes(&self) -> &[(u32, u16)] {
        &self.timestamp_sizes
    }
}
