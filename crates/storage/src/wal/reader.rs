//! Reading records back.

use crate::error::{Error, Result};
use crate::fs::SequentialFile;

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
        /// Bytes from there to the end of the file.
        bytes: u64,
    },
    /// Bytes at an offset contradict their checksum or the format. Reading
    /// may go on: the next call resumes after the damage.
    Corrupt(Error),
}

/// Reads logical records front to back.
#[derive(Debug)]
pub struct LogReader {
    _file: Box<dyn SequentialFile>,
}

impl LogReader {
    /// Reads `file`, whose name carries `log_number`.
    pub fn new(file: Box<dyn SequentialFile>, log_number: u64) -> Self {
        let _ = log_number;
        LogReader { _file: file }
    }

    /// Reads the next logical record into `record`.
    ///
    /// # Errors
    /// Only failures of the file system; damage is a [`ReadOutcome`].
    pub fn read_record(&mut self, record: &mut Vec<u8>) -> Result<ReadOutcome> {
        let _ = record;
        todo!()
    }

    /// The offset at which the last record read starts.
    pub fn record_offset(&self) -> u64 {
        todo!()
    }
}
