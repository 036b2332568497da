//! Reads logical records.
//!
//! Joins the fragments that [`super::block`] returns into logical records, and decompresses
//! compressed ones. The reader reports damage and can continue; the caller decides what to do
//! ([`RecoveryMode`]).
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

/// How recovery treats damaged logs. Modes and numbers are RocksDB's.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
#[repr(u8)]
pub enum RecoveryMode {
    /// A torn tail is dropped; any other damage is an error.
    TolerateCorruptedTailRecords = 0,
    /// Any damage is an error, even a torn tail.
    AbsoluteConsistency = 1,
    /// Recovery stops at the first damage and keeps everything before it.
    #[default]
    PointInTime = 2,
    /// Recovery skips damaged records and keeps the rest.
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
    /// Bytes contradict their checksum or the format. Reading may continue: the next call resumes
    /// after the damage.
    Corrupt(Error),
}

/// What a log says about the previous log.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Predecessor {
    /// The number of the previous log.
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
    /// Whether damage was reported, so that the next fragments may belong to a damaged record.
    resync: bool,
    predecessor: Option<Predecessor>,
    timestamp_sizes: Vec<(u32, u16)>,
}

impl LogReader {
    /// Reads `file`, whose name has the number `log_number`.
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

    /// Reads the next logical record into `record`, replacing its content, which is unspecified
    /// unless the outcome is [`ReadOutcome::Record`].
    ///
    /// # Errors
    /// Failures of the file system, and `NotSupported` for a log in a compression that this build
    /// does not know. Damage is not an error but a [`ReadOutcome`].
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
                    // The previous record has no end; this one is intact.
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

    /// All fragments were read: the record is complete.
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

    /// The log has ended, inside the record that started at `start` if there is one.
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

    /// Processes a record about the log itself.
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

    /// Whether the damage reported last may be just the log's last write, torn by a power cut. In
    /// a log that syncs every write before the next one, that is a harmless end.
    pub fn is_lost_tail(&self) -> bool {
        self.blocks.lost_tail()
    }

    /// Makes the next record the one directly after the damage reported last, if the damage looks
    /// like a lost sector. Otherwise reading resumes at the next block. Returns whether there is
    /// such a record.
    pub fn read_behind(&mut self) -> bool {
        self.blocks.read_behind()
    }

    /// Whether the damage reported last looks like a record that was not copied, or not
    /// completely, before its writer died, with later records after it. [`super::Segment`] tells
    /// how that can happen.
    pub fn is_hole(&self) -> bool {
        self.blocks.is_hole()
    }

    /// Sets the mark, where [`LogReader::resume`] continues, after the last record read.
    pub fn mark(&mut self) {
        self.blocks.mark();
    }

    /// The offset of the mark, the end of a record; 0 if there is none.
    pub fn marked(&self) -> u64 {
        self.blocks.marked()
    }

    /// Continues at the [mark](LogReader::mark), in a file that may have grown since. `file` begins
    /// at [`LogReader::resume_from`].
    ///
    /// # Errors
    /// Errors of the file.
    pub fn resume(&mut self, file: Box<dyn SequentialFile>) -> Result<()> {
        self.resync = false;
        self.blocks.resume(file)
    }

    /// The offset of the block of the mark.
    pub fn resume_from(&self) -> u64 {
        let mark = self.marked();
        mark - mark % BLOCK_SIZE as u64
    }

    /// The offset of the next block, where a record goes that does not fit into this one.
    pub fn next_block(&self) -> u64 {
        self.resume_from().saturating_add(BLOCK_SIZE as u64)
    }

    /// Whether no record of log `log_number` begins with the bytes `head`, of which there are at
    /// most [`LogReader::HEAD`]: there are too few, or they are zero, or they belong to the log
    /// that used the file before. Most logs look like that after their last record.
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

    /// How many bytes [`LogReader::is_unwritten`] needs.
    pub const HEAD: usize = RECYCLABLE_HEADER_SIZE;

    /// The offset at which the last record read starts.
    pub fn record_offset(&self) -> u64 {
        self.record_offset
    }

    /// The offset directly after the last record read; 0 before the first one.
    pub fn record_end(&self) -> u64 {
        self.record_end
    }

    /// What this log says about the previous log, once that was read.
    pub fn predecessor(&self) -> Option<Predecessor> {
        self.predecessor
    }

    /// The column families whose keys carry user-defined timestamps, and the sizes of these in
    /// bytes, as far as the log was read.
    pub fn timestamp_sizes(&self) -> &[(u32, u16)] {
        &self.timestamp_sizes
    }
}
