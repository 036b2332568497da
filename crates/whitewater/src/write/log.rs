//! The write-ahead log of a database: the file being written, older files
//! that still matter, and recycling.
//!
//! Invariants:
//! * L1: `closed` holds, oldest first, logs that were switched out and not
//!   synced yet; a synced write syncs them before the current one (upholds C4).
//! * L2: a log file is deleted or recycled only below the number the manifest
//!   says is needed.
//! * L3: the first record of a log that follows another one is a [`Link`] to
//!   it. Logs are not synced when they are switched out, so a power cut may
//!   lose the tail of one and keep the next; recovery sees the hole by the link.

use std::collections::VecDeque;
use std::path::PathBuf;
use std::sync::Arc;
use whitewater_storage::batch::{self, Batch, Op};
use whitewater_storage::filename;
use whitewater_storage::fs::Fs;
use whitewater_storage::key::SequenceNumber;
use whitewater_storage::wal::LogWriter;
use whitewater_storage::{Error, Result};

/// What a log says about the log before it: a batch without operations whose
/// log data is this. Other engines skip it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Link {
    /// Number of the log before.
    pub log_number: u64,
    /// The last sequence number recorded in it.
    pub last_sequence: SequenceNumber,
}

impl Link {
    const MARK: &[u8] = b"whitewater.previous.log";

    /// The log record.
    fn encode(self) -> Vec<u8> {
        let mut data = Self::MARK.to_vec();
        data.extend_from_slice(&self.log_number.to_le_bytes());
        data.extend_from_slice(&self.last_sequence.to_le_bytes());
        let mut batch = Batch::default();
        batch.push_log_data(&data);
        let mut record = batch.bytes().to_vec();
        record[..8].copy_from_slice(&(self.last_sequence + 1).to_le_bytes());
        record
    }

    /// The link in a log record that was checked, if it is one.
    pub fn decode(record: &[u8]) -> Option<Link> {
        if batch::count(record) != 0 {
            return None;
        }
        let Some(Ok(Op::LogData(data))) = batch::ops(record).next() else {
            return None;
        };
        let numbers = data.strip_prefix(Self::MARK)?;
        let number = |at: usize| Some(u64::from_le_bytes(*numbers.get(at..)?.first_chunk()?));
        Some(Link {
            log_number: number(0)?,
            last_sequence: number(8)?,
        })
    }
}

/// Bytes of a log's file that are reserved at once.
const RESERVE_STEP: u64 = 64 << 20;

/// The logs of an open database.
#[derive(Debug)]
pub(crate) struct Wal {
    fs: Arc<dyn Fs>,
    dir: PathBuf,
    recycle_limit: usize,
    /// Expected size of a log. It is reserved in steps as the log grows, so
    /// that logs nobody writes to reserve nothing.
    expected: u64,
    /// How much of the current log's file has been reserved.
    reserved: u64,
    /// Calls that reserved room. Statistics.
    extends: u64,
    current: Option<LogWriter>,
    /// The last sequence number of the last record; 0 before the first.
    last_sequence: SequenceNumber,
    /// To be written before the current log's first record.
    link: Option<Link>,
    /// Whether the current log's directory entry is durable.
    dir_synced: bool,
    /// L1.
    closed: Vec<LogWriter>,
    /// Number and size of logs older than the current one, oldest first.
    older: VecDeque<(u64, u64)>,
    /// Obsolete logs kept for reuse.
    recyclable: VecDeque<u64>,
}

impl Wal {
    /// No log yet.
    pub fn new(fs: Arc<dyn Fs>, dir: PathBuf, recycle_limit: usize, expected: u64) -> Self {
        Wal {
            fs,
            dir,
            recycle_limit,
            expected,
            reserved: 0,
            extends: 0,
            current: None,
            last_sequence: 0,
            link: None,
            dir_synced: false,
            closed: Vec::new(),
            older: VecDeque::new(),
            recyclable: VecDeque::new(),
        }
    }

    /// Number of the current log.
    pub fn number(&self) -> u64 {
        self.current.as_ref().map_or(0, LogWriter::log_number)
    }

    /// Whether the current log has no records.
    pub fn is_empty(&self) -> bool {
        self.current.as_ref().is_none_or(LogWriter::is_empty)
    }

    /// Bytes of all logs that may be needed for recovery.
    pub fn total_bytes(&self) -> u64 {
        let current = self.current.as_ref().map_or(0, LogWriter::len);
        current + self.older.iter().map(|(_, size)| size).sum::<u64>()
    }

    /// Calls so far that reserved room in a file.
    pub fn extends(&self) -> u64 {
        self.extends
    }

    /// Starts log `number`; later records go there.
    pub fn roll(&mut self, number: u64) -> Result<()> {
        let path = filename::wal(&self.dir, number);
        let file = match self.recyclable.pop_front() {
            Some(old) => self.fs.reuse(&filename::wal(&self.dir, old), &path)?,
            None => self.fs.create(&path)?,
        };
        self.reserved = 0;
        let next = LogWriter::new(file, number, self.recycle_limit > 0);
        if let Some(last) = self.current.replace(next) {
            // An empty log has nothing to lose; what it would say still holds.
            if !last.is_empty() {
                self.link = Some(Link {
                    log_number: last.log_number(),
                    last_sequence: self.last_sequence,
                });
            }
            self.older.push_back((last.log_number(), last.len()));
            self.closed.push(last);
        }
        self.dir_synced = false;
        Ok(())
    }

    /// Appends one record, a batch whose header is the first part.
    pub fn append(&mut self, parts: &[&[u8]]) -> Result<()> {
        let Some(log) = &mut self.current else {
            return Err(Error::invalid("the database has no log open"));
        };
        if log.len() >= self.reserved && self.reserved < self.expected {
            self.reserved = (log.len() + RESERVE_STEP).min(self.expected);
            log.file_mut().preallocate(self.reserved);
            self.extends += 1;
        }
        if let Some(link) = self.link.take() {
            log.add_record(&[&link.encode()])?;
        }
        log.add_record(parts)?;
        if let Some(header) = parts.first() {
            let end = batch::sequence(header) + u64::from(batch::count(header));
            self.last_sequence = self.last_sequence.max(end.saturating_sub(1));
        }
        Ok(())
    }

    /// Makes everything appended so far durable, oldest log first.
    pub fn sync(&mut self) -> Result<()> {
        self.sync_closed()?;
        if !self.dir_synced {
            self.fs.sync_dir(&self.dir)?;
            self.dir_synced = true;
        }
        match &mut self.current {
            Some(log) => log.sync(),
            None => Ok(()),
        }
    }

    /// Makes the logs before the current one durable. A flush of one column
    /// family calls this first when there are others, or a power cut could
    /// keep the flushed family's later writes and lose the others' earlier ones.
    pub fn sync_closed(&mut self) -> Result<()> {
        if self.closed.is_empty() {
            return Ok(());
        }
        self.fs.sync_dir(&self.dir)?;
        while let Some(log) = self.closed.first_mut() {
            log.sync()?;
            self.closed.remove(0).close()?;
        }
        Ok(())
    }

    /// Forgets logs below `min_needed`, keeping some for reuse; returns the
    /// files to be deleted. Upholds L2 if the number is from the manifest.
    #[must_use]
    pub fn forget_below(&mut self, min_needed: u64) -> Vec<PathBuf> {
        self.closed.retain(|log| log.log_number() >= min_needed);
        let mut obsolete = Vec::new();
        while let Some(&(number, _)) = self.older.front()
            && number < min_needed
        {
            self.older.pop_front();
            if self.recyclable.len() < self.recycle_limit {
                self.recyclable.push_back(number);
            } else {
                obsolete.push(filename::wal(&self.dir, number));
            }
        }
        obsolete
    }

    /// Closes the current log without syncing it.
    pub fn close(&mut self) -> Result<()> {
        self.closed.clear();
        match self.current.take() {
            Some(log) => log.close(),
            None => Ok(()),
        }
    }
}
