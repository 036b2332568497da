//! Writing records.
//!
//! Each logical record is assembled, headers and all, in one reusable buffer
//! and handed to the file in one append (one per [`MAX_APPEND`] bytes for
//! giant ones). The writer does not sync on its own, and it does not compress.
//!
//! Invariants:
//! * I1: `block_offset` is the file position modulo the block size.
//! * I2: after a failed append or sync the end of the file is unknown, so
//!   every later append and sync fails with the first error.

use super::format::BLOCK_SIZE;
use super::frame::{Framing, Parts};
use crate::error::{Error, Result};
use crate::fs::WritableFile;

/// A logical record longer than this goes out in several appends, which bounds
/// the buffer.
const MAX_APPEND: usize = 4 << 20;

/// Buffers beyond this are given back after the record that needed them.
const KEEP_BUFFER: usize = 1 << 20;

/// Appends logical records to a log file.
#[derive(Debug)]
pub struct LogWriter {
    file: Box<dyn WritableFile>,
    framing: Framing,
    block_offset: usize,
    buf: Vec<u8>,
    failed: Option<Error>,
}

impl LogWriter {
    /// Writes to `file`, which is empty, being recycled, or ends with a whole
    /// record of the same kind. `log_number` goes into every header when
    /// `recyclable` is set.
    pub fn new(file: Box<dyn WritableFile>, log_number: u64, recyclable: bool) -> Self {
        let block_offset = (file.len() % BLOCK_SIZE as u64) as usize;
        LogWriter {
            file,
            framing: Framing {
                log_number,
                recyclable,
            },
            block_offset,
            buf: Vec::new(),
            failed: None,
        }
    }

    /// Appends one logical record made of `parts` (concatenated) and hands it
    /// to the operating system in one write where possible.
    ///
    /// # Errors
    /// Those of the file; every later call then fails with the same error.
    pub fn add_record(&mut self, parts: &[&[u8]]) -> Result<()> {
        self.check_not_failed()?;
        let mut left: usize = parts.iter().map(|p| p.len()).sum();
        let mut source = Parts::new(parts);
        let mut begin = true;
        self.buf.clear();
        loop {
            let room = self.start_fragment();
            let length = left.min(room);
            left -= length;
            self.framing
                .put_fragment(&mut self.buf, &mut source, length, begin, left == 0);
            self.block_offset += self.framing.header_size() + length; // upholds I1
            if left == 0 {
                break;
            }
            begin = false;
            if self.buf.len() >= MAX_APPEND {
                self.append_buffer()?;
            }
        }
        self.append_buffer()?;
        if self.buf.capacity() > KEEP_BUFFER {
            self.buf = Vec::new();
        }
        Ok(())
    }

    /// Fills the block's tail when no header fits, and returns how many
    /// payload bytes fit behind the next header.
    fn start_fragment(&mut self) -> usize {
        let header = self.framing.header_size();
        let mut rest = BLOCK_SIZE - self.block_offset;
        if rest < header {
            self.buf.resize(self.buf.len() + rest, 0);
            self.block_offset = 0;
            rest = BLOCK_SIZE;
        }
        rest - header
    }

    fn append_buffer(&mut self) -> Result<()> {
        let result = self.file.append(&self.buf);
        self.buf.clear();
        self.remember(result)
    }

    fn check_not_failed(&self) -> Result<()> {
        match &self.failed {
            Some(e) => Err(e.clone()),
            None => Ok(()),
        }
    }

    /// Keeps the first failure (I2).
    fn remember(&mut self, result: Result<()>) -> Result<()> {
        if let Err(e) = &result {
            self.failed.get_or_insert_with(|| e.clone());
        }
        result
    }

    /// Makes everything appended durable.
    ///
    /// # Errors
    /// Those of the file. A failed sync is final: it is never tried again.
    pub fn sync(&mut self) -> Result<()> {
        self.check_not_failed()?;
        let result = self.file.sync();
        self.remember(result)
    }

    /// Bytes in the file so far.
    pub fn len(&self) -> u64 {
        self.file.len()
    }

    /// Whether nothing was written yet.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// The number given to [`LogWriter::new`].
    pub fn log_number(&self) -> u64 {
        self.framing.log_number
    }

    /// Cuts preallocated space off and closes the file (without syncing it).
    ///
    /// # Errors
    /// Those of the file, or the first failure of this writer.
    pub fn close(mut self) -> Result<()> {
        self.check_not_failed()?;
        self.file.flush()?;
        self.file.truncate_to_len()
    }

    /// The file, for syncing it while no record is being added.
    pub fn file_mut(&mut self) -> &mut dyn WritableFile {
        &mut *self.file
    }
}
